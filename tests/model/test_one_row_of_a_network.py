"""TAN, KDB, SPODE, AODE, AnDE and given networks, one row at a time: the same bits as through a table of one row."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tallybayes as tb
from tallybayes.distributions.networks import counted_sets
from tallybayes.errors import ForgetError, UnseenCategoryWarning
from tallybayes.model.fast_row import FastRow
from tests.model.test_one_row import same, same_state

NETWORKS: dict[str, Callable[[], Any]] = {
    "TAN": tb.TAN,
    "TAN, laplace": lambda: tb.TAN(smoothing="laplace", alpha=0.3),
    "KDB": lambda: tb.KDB(k=2),
    "SPODE": tb.SPODE,
    "AODE": tb.AODE,
    "AODE, laplace": lambda: tb.AODE(smoothing="laplace", alpha=0.3, min_count=9),
    "AnDE": tb.AnDE,
    "AnDE, laplace": lambda: tb.AnDE(smoothing="laplace", min_count=2),
    "given": lambda: tb.BayesNetwork("town -> job -> age; town -> pay; job -> pay"),
}
START = 60


def rows_of(seed: int, count: int) -> list[tuple[dict[str, Any], str]]:
    """Rows of numbers and words, some with holes."""
    rng, found = np.random.default_rng(seed), []
    for i in range(count):
        y = str(rng.choice(["no", "yes", "why"]))
        row: dict[str, Any] = {"age": float(rng.normal(5 * (y == "yes"))), "pay": int(rng.integers(0, 50))}
        row["town"] = str(rng.choice(list("abc"), p=[0.5, 0.3, 0.2])) + ("x" if y == "why" else "")
        row["job"] = f"{row['town']}{rng.integers(0, 3)}"
        row["noise"] = bool(rng.random() < 0.5)
        if i > 3 and rng.random() < 0.3:
            row[str(rng.choice(list(row)))] = None
        found.append((row, y))
    return found


@pytest.mark.parametrize("name", NETWORKS)
@settings(max_examples=3)
@given(seed=st.integers(0, 1000))
def test_learning_and_forgetting_rows_is_that_of_tables(name: str, seed: int) -> None:
    stream, rng = rows_of(seed, START + 30), np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = NETWORKS[name]().fit([r for r, _ in stream[:START]], [y for _, y in stream[:START]])
        table, learned, fast = one.copy(), stream[:START], 0
        assume(any(getattr(one.fitted_.terms[0].distribution, "parents", [True])))  # else it is naive Bayes
        assert one.one_row == "compiled"
        for row, y in stream[START:]:
            was = one._state.fast_row
            if rng.random() < 0.5 and learned:
                row, y = learned.pop(int(rng.integers(0, len(learned))))
                one.forget_one(row, y)
                table.forget([row], [y])
            else:
                learned.append((row, y))
                one.learn_one(row, y)
                table.partial_fit([row], [y])
            fast += one._state.fast_row is was
            same(one, table, stream[int(rng.integers(0, len(stream)))][0])
        same_state(one, table)
    assert fast > 12  # of 30; the others had a level that came or went


def test_what_a_table_warns_of_it_warns_of() -> None:
    stream = rows_of(1, 80)
    X, y = [r for r, _ in stream], [label for _, label in stream]
    model = tb.TAN().fit(X, y)
    assert model.one_row == "compiled"
    before = tb.to_bytes(model)
    with pytest.raises(ForgetError):
        model.forget_one({**X[0], "town": "nowhere"}, y[0])
    with pytest.raises(ForgetError):
        model.forget_one({**X[0], "age": 5.0 if X[0]["age"] < 0 else -5.0, "job": X[1]["job"], "town": "c"}, "why")
    assert tb.to_bytes(model) == before
    with pytest.warns(UnseenCategoryWarning):
        model.predict_proba_one({**X[0], "town": "nowhere"})
    table = model.copy()
    same_state(model.forget_one(X[5], y[5], sample_weight=0.5), table.forget(X[5:6], y[5:6], sample_weight=[0.5]))
    assert "weights" in model.one_row
    fast = tb.TAN().fit(X, y)
    table = fast.copy()
    assert fast.one_row == "compiled"
    same_state(fast.decay(0.5).learn_one(X[0], y[0]), table.decay(0.5).partial_fit(X[:1], y[:1]))


def test_the_last_row_of_a_level_takes_its_name_away() -> None:
    stream = rows_of(2, 60)
    rare = {**stream[0][0], "town": "lighthouse"}
    model = tb.TAN().fit([r for r, _ in stream] + [rare], [y for _, y in stream] + ["no"])
    assert model.one_row == "compiled"
    model.forget_one(rare, "no")
    assert b"lighthouse" not in tb.to_bytes(model)


@pytest.mark.parametrize("make", [tb.TAN, tb.AODE])
def test_large_and_mixed_networks_go_through_tables(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = rows_of(3, 60)
    X, y = [r for r, _ in stream], [label for _, label in stream]
    monkeypatch.setattr(counted_sets, "FAST_CELLS", 10)
    model = make().fit(X, y)
    assert "more than 10 counts" in model.one_row
    assert not isinstance(model.learn_one(X[0], y[0])._state.fast_row, FastRow)


def test_averages_that_are_not_compiled_go_through_tables() -> None:
    stream = rows_of(4, 80)
    X, y = [r for r, _ in stream], [label for _, label in stream]
    for made in (tb.AODE(weighting="information"), tb.AODE(subsumption=True), tb.AODE(cuts=None)):
        model = made.fit(X, y)
        assert "no compiled form" in model.one_row
        table = model.copy()
        same_state(model.forget_one(X[5], y[5]), table.forget(X[5:6], y[5:6]))
