"""Kernel densities, one row at a time: the same bits as through a table of one row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from tallybayes.errors import ForgetError
from tallybayes.model.fast_row import FastRow
from tests.model.test_one_row import same, same_state
from tests.quick import examples

SHAPES = ("normal", "rounded", "lognormal", "cauchy", "clusters")


def values(rng: Any, shape: str, size: tuple[int, int]) -> Any:
    if shape == "lognormal":
        return rng.lognormal(0, 3, size)
    if shape == "cauchy":
        return rng.standard_cauchy(size)
    if shape == "clusters":
        return np.round(rng.integers(0, 5, size) * 1e4 + rng.normal(size=size), 3)
    return np.round(rng.normal(size=size), 1 if shape == "rounded" else 9)


def as_row(x: Any) -> dict[str, float]:
    return {f"c{j}": float(v) for j, v in enumerate(x)}


@pytest.mark.parametrize("n", [60, 1200])  # all cells are computed, or the one that is asked for
@settings(max_examples=examples(6), deadline=None)
@given(seed=st.integers(0, 10**6), shape=st.sampled_from(SHAPES), rule=st.sampled_from(["silverman", "scott"]))
def test_learning_and_forgetting_rows_is_that_of_tables(n: int, seed: int, shape: str, rule: str) -> None:
    rng = np.random.default_rng(seed)
    X = values(rng, shape, (n, 2))
    X[1:][rng.random((n - 1, 2)) < 0.05] = np.nan
    rows, y = [as_row(x) for x in X], rng.integers(0, 2, n).tolist()
    one = tb.KernelNB(bandwidth=rule).fit(rows, y)
    table, left, fast = one.copy(), list(range(n)), 0
    assert one.one_row == "compiled"
    for _ in range(30):
        was = one._state.fast_row
        if rng.random() < 0.6:
            i = left.pop(int(rng.integers(len(left))))
            one.forget_one(rows[i], y[i])
            table.forget([rows[i]], [y[i]])
        else:
            row, c, w = as_row(X[0] + rng.normal(size=2)), int(rng.integers(2)), float(rng.choice([1.0, 0.5]))
            one.learn_one(row, c, sample_weight=w)
            table.partial_fit([row], [c], sample_weight=[w])
        fast += one._state.fast_row is was
        for x in (X[rng.integers(n)], rng.normal(size=2) * 10, np.full(2, np.nanmax(X) * 3)):
            same(one, table, as_row(x))
    same_state(one, table)
    assert fast == 30


def test_a_row_asked_often_has_the_bits_of_the_table() -> None:
    """After some questions all cells are computed; the answer stays."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(900, 1)), rng.integers(0, 2, 900)
    one = tb.KernelNB().fit([as_row(x) for x in X], y)
    assert one.one_row == "compiled"
    one.forget_one(as_row(X[0]), y[0])
    truth = one.copy().predict_proba([as_row([0.3])])[0].tolist()
    assert {tuple(one.predict_proba_one({"c0": 0.3}).values()) for _ in range(150)} == {tuple(truth)}


def test_what_a_table_warns_of_it_warns_of() -> None:
    rows, y = [as_row([x]) for x in (1.0, 2.0, 2.0, 5.0, 6.0, 7.0)], ["a", "a", "a", "b", "b", "b"]
    model = tb.KernelNB().fit(rows, y)
    assert model.one_row == "compiled"
    before = tb.to_bytes(model)
    for row, label, w in ((1.5, "a", 1.0), (5.0, "a", 1.0), (1.0, "a", 2.0)):
        with pytest.raises(ForgetError):
            model.forget_one({"c0": row}, label, sample_weight=w)
    assert tb.to_bytes(model) == before
    table = model.copy().forget(rows[:1], ["a"])
    same_state(model.forget_one(rows[0], "a"), table)  # one distinct value is left: through the table
    assert "fewer than two distinct values" in model.one_row
    same(model, table, {"c0": 3.0})
    assert "deviation of all rows" in tb.KernelNB(bandwidth=0.2).fit(rows, y).one_row
    model = tb.KernelNB().fit(rows, y)
    table = model.copy().decay(0.5).partial_fit(rows[:1], ["a"])
    assert isinstance(model._state.fast_row, FastRow) or model.one_row == "compiled"
    same_state(model.decay(0.5).learn_one(rows[0], "a"), table)
