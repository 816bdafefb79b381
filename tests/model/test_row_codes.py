"""One dict for a model of codes: the short way reads what a table of the row would be read as, to the bit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from tallybayes import AODE, KDB, TAN, BayesClassifier, NaiveBayes
from tallybayes.errors import TallybayesError


def table(n: int = 300, seed: int = 0) -> tuple[list[dict[str, Any]], list[str]]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    rows = [
        {
            "size": float(rng.normal(c)),
            "count": int(rng.poisson(2 + c)),
            "colour": ("red", "green", "blue")[int(rng.integers(0, 3)) if rng.random() < 0.5 else c],
            "flag": bool(rng.random() < 0.3 + 0.2 * c),
            "weight": float(rng.normal()) if rng.random() < 0.9 else None,
            "place": f"p{int(rng.integers(0, 300))}",
        }
        for c in y.tolist()
    ]
    return rows, [f"c{c}" for c in y.tolist()]


ROWS, LABELS = table()
MODELS = {
    "ensemble": BayesClassifier(members=4, schema={"count": "real"}).fit(ROWS, LABELS),
    "tree": TAN(schema={"count": "real"}).fit(ROWS, LABELS),
    "two parents": KDB(2, schema={"count": "real"}, smoothing="laplace").fit(ROWS, LABELS),
    "average": AODE(schema={"count": "real"}).fit(ROWS, LABELS),
    "average without what follows": AODE(schema={"count": "real"}, subsumption=True).fit(ROWS, LABELS),
}
ODD: tuple[Any, ...] = (
    None, float("nan"), float("inf"), 1e305, 10**400, 3, -1, 2**60, True, 1.0, "red", "unseen", "", b"red", [1], {},
    np.float64(0.5), np.int64(2), np.bool_(True), np.array([1.0, 2.0]), object(),
)  # fmt: skip


def asked(ask: Any) -> Any:
    """An answer, or the error in its place."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            return ask(), [str(w.message) for w in heard]
        except (TallybayesError, TypeError, ValueError) as error:
            return type(error), str(error)


def same(row: dict[str, Any]) -> None:
    for model in MODELS.values():
        one = asked(lambda model=model: list(model.predict_proba_one(row).values()))
        assert one == asked(lambda model=model: model.predict_proba([row])[0].tolist()), row


def test_it_is_a_table_of_the_row_to_the_bit() -> None:
    for row in ROWS[:40]:
        same(row)
        for model in MODELS.values():
            assert model.predictor_.row_proba({k: v for k, v in row.items() if k != "flag"}) is not None


@pytest.mark.parametrize("name", [*ROWS[0], "other"])
@pytest.mark.parametrize("value", ODD, ids=lambda v: f"{type(v).__name__} {v}".split(" at ")[0])
def test_whatever_a_cell_holds(name: str, value: Any) -> None:
    same({**ROWS[0], name: value})


def test_keys_that_are_left_out() -> None:
    for name in ROWS[1]:
        same({k: v for k, v in ROWS[1].items() if k != name})
    same({})


def test_other_models_have_no_short_way() -> None:
    for model in (NaiveBayes(schema={"count": "real"}), TAN(schema={"count": "real"}, cuts=None)):
        assert model.fit(ROWS, LABELS).predictor_.row_proba(ROWS[0]) is None


def test_it_follows_what_is_learned() -> None:
    model = BayesClassifier(members=4, schema={"count": "real"}).fit(ROWS, LABELS)
    before = model.predict_proba_one(ROWS[0])
    model.partial_fit(*table(200, 1))
    after = model.predict_proba_one(ROWS[0])
    assert after != before
    assert list(after.values()) == model.predict_proba([ROWS[0]])[0].tolist()
