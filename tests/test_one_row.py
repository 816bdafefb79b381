"""One row at a time as a dict: the same model, and the same answers, as through a table."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import tallybayes as tb
from tallybayes.distributions.records import arrays_of
from tallybayes.errors import TallybayesError, UnseenCategoryWarning

NAN = float("nan")


def real(rng: Any) -> dict[str, Any]:
    return {"a": rng.normal(), "b": float(rng.normal() * 1e6)}


def words(rng: Any) -> dict[str, Any]:
    return {"a": str(rng.choice(["x", "y", "z"])), "b": str(rng.choice(["p", "q"]))}


def truths(rng: Any) -> dict[str, Any]:
    return {"a": bool(rng.random() < 0.3), "b": bool(rng.random() < 0.6)}


def mixed(rng: Any) -> dict[str, Any]:
    return {"a": real(rng)["a"], "b": words(rng)["a"]}


def everything(rng: Any) -> dict[str, Any]:
    return {**mixed(rng), "c": truths(rng)["a"], "d": int(rng.integers(0, 9))}


def codes(rng: Any) -> dict[str, Any]:
    return {"a": int(rng.integers(0, 4)), "b": int(rng.integers(0, 3))}


MODELS: dict[str, tuple[Any, Any]] = {
    "gaussian": (tb.GaussianNB, real),
    "gaussian, shared, ddof 1": (lambda: tb.GaussianNB(variance="shared", ddof=1, var_smoothing=0.1), real),
    "categorical": (lambda: tb.NaiveBayes(alpha=0.5), words),
    "categorical, other": (lambda: tb.NaiveBayes(unseen="other"), words),
    "categorical codes": (tb.CategoricalNB, codes),
    "categorical codes, at least 6": (lambda: tb.CategoricalNB(min_categories=6), codes),
    "bernoulli": (tb.NaiveBayes, truths),
    "mixed": (tb.NaiveBayes, mixed),
    "everything": (tb.NaiveBayes, everything),
    "kernel": (tb.KernelNB, real),
    "poisson": (tb.PoissonNB, codes),
    "uniform prior": (lambda: tb.NaiveBayes(priors="uniform"), mixed),
    "laplace prior": (lambda: tb.NaiveBayes(priors="laplace"), mixed),
}


def rows_of(data: Any, seed: int, count: int, labels: str = "uvw") -> list[tuple[dict[str, Any], str, float]]:
    """Rows with holes in every form, classes and weights."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(count):
        row = data(rng)
        if i:
            for key in list(row):
                what = rng.random()
                if what < 0.1:
                    row[key] = None
                elif what < 0.15 and isinstance(row[key], float):
                    row[key] = NAN
                elif what < 0.25 and len(row) > 1:
                    del row[key]
        found.append((row, str(rng.choice(list(labels))), float(rng.choice([1.0, 0.5, 2.0]))))
    return found


def same(one: Any, table: Any, row: dict[str, Any]) -> None:
    truth = dict(zip(table.classes_.tolist(), table.predict_proba([row or {"a": None}])[0].tolist(), strict=True))
    assert one.predict_proba_one(row) == pytest.approx(truth, rel=1e-9, abs=1e-15)
    assert truth[one.predict_one(row)] == pytest.approx(max(truth.values()))


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=15)
@given(seed=st.integers(0, 1000))
def test_a_stream_is_a_table(name: str, seed: int) -> None:
    """New classes, new levels, holes and weights, asked at every step."""
    make, data = MODELS[name]
    one, table = make(), make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenCategoryWarning)
        for row, y, w in rows_of(data, seed, 12):
            one.learn_one(row, y, sample_weight=w)
            table.partial_fit([row], [y], sample_weight=[w])
            for probe, _, _ in rows_of(data, seed + 1, 2):
                same(one, table, probe)
        same(one, table, {})
    np.testing.assert_allclose(one.class_count_, table.class_count_)
    assert one.schema_.levels == table.schema_.levels


GIVEN = [None, "uniform", "laplace", [0.2, 0.5, 0.3], {"w": 0.3, "u": 0.2, "v": 0.5}, [0.0, 0.5, 0.5]]


@pytest.mark.parametrize("priors", GIVEN, ids=str)
def test_every_form_of_prior(priors: Any) -> None:
    start = tb.NaiveBayes(priors=priors).partial_fit([{"a": 1.0, "b": "x"}], ["u"], classes=["u", "v", "w"])
    one, table = start.copy(), start.copy()
    for row, y, _ in rows_of(mixed, 3, 15):
        one.learn_one(row, y)
        table.partial_fit([row], [y])
        same(one, table, {"a": 0.5, "b": "x"})


@pytest.mark.parametrize("value", [2, np.float32(2.0), np.int8(2), np.float64(2.0), True, np.bool_(True)])
def test_numbers_of_every_type(value: Any) -> None:
    one = tb.GaussianNB().fit([{"a": 1.0}, {"a": 3.0}, {"a": 4.0}], [0, 1, 1])
    truth = one.copy().partial_fit([{"a": float(value)}], [0])
    one.predict_proba_one({"a": 1.0})
    same(one.learn_one({"a": value}, 0), truth, {"a": 2.5})
    assert one.predict_proba_one({"a": value}) == pytest.approx(one.predict_proba_one({"a": float(value)}))


@pytest.mark.parametrize("missing", [None, NAN, np.nan, np.float32("nan"), pd.NA, pd.NaT])
@pytest.mark.parametrize("column", ["a", "b"])
def test_missing_in_every_form(missing: Any, column: str) -> None:
    model = tb.NaiveBayes().fit([{"a": 1.0, "b": "x"}, {"a": 3.0, "b": "y"}], [0, 1])
    row = {"a": 1.5, "b": "x"}
    without = {k: v for k, v in row.items() if k != column}
    assert model.predict_proba_one({**row, column: missing}) == pytest.approx(model.predict_proba_one(without))
    twin = model.copy().learn_one(without, 0)
    model.learn_one({**row, column: missing}, 0)
    assert model.predict_proba_one(row) == pytest.approx(twin.predict_proba_one(row))


@pytest.mark.parametrize("y", [0, 0.0, np.int64(0), np.float64(0.0), False])
def test_labels_that_are_equal_are_one_class(y: Any) -> None:
    model = tb.GaussianNB().fit([{"a": 1.0}, {"a": 3.0}], [0, 1])
    model.predict_proba_one({"a": 1.0})
    assert model.learn_one({"a": 1.1}, y).class_count_.tolist() == [2.0, 1.0]


BAD = [
    ({"a": "word"}, 0, 1.0, "not numbers"),
    ({"a": float("inf")}, 0, 1.0, "infinity: column 'a' has inf"),
    ({"a": -float("inf"), "b": "x"}, 0, 1.0, "infinity"),
    ({"a": [1.0]}, 0, 1.0, "nested value"),
    ({"a": 1j}, 0, 1.0, "'a'"),
    ({"a": 10**400}, 0, 1.0, "too large"),
    ({"a": pd.Timestamp("2020-01-01")}, 0, 1.0, "Timestamp"),
    ({"a": 1.0, "b": {"x": 1}}, 0, 1.0, "nested value"),
    ({"a": 1.0, "b": "x", "c": 1}, 0, 1.0, "not there at fit: 'c'"),
    ({"a": 1.0, "b": "x"}, None, 1.0, "missing"),
    ({"a": 1.0, "b": "x"}, "word", 1.0, "mixes int and str"),
    ({"a": 1.0, "b": "x"}, 0.5, 1.0, "continuous"),
    ({"a": 1.0, "b": "x"}, 0, -1.0, "sample_weight"),
    ({"a": 1.0, "b": "x"}, 0, NAN, "sample_weight"),
    ([1.0, "x"], 0, 1.0, "one row as a dict"),
]


@pytest.mark.parametrize(("row", "y", "w", "why"), BAD)
@pytest.mark.parametrize("open_first", [False, True])
def test_a_failed_call_changes_nothing(row: Any, y: Any, w: float, why: str, open_first: bool) -> None:
    model = tb.NaiveBayes().fit([{"a": 1.0, "b": "x"}, {"a": 3.0, "b": "y"}], [0, 1])
    if open_first:
        model.learn_one({"a": 2.0, "b": "x"}, 0)
    before = pickle.dumps(model)
    answer = model.predict_proba_one({"a": 2.0, "b": "x"})
    with pytest.raises(TallybayesError, match=why):
        model.learn_one(row, y, sample_weight=w)
    assert model.predict_proba_one({"a": 2.0, "b": "x"}) == answer
    assert pickle.loads(before).class_count_.tolist() == model.class_count_.tolist()
    was, now = ([arrays_of(t.sums) for t in m.fitted_.terms] for m in (pickle.loads(before), model))
    np.testing.assert_equal(was, now)
    assert pickle.loads(before).schema_ == model.schema_


def test_a_row_of_no_weight_is_no_row() -> None:
    model = tb.NaiveBayes().learn_one({"a": 1.0, "b": "x"}, 0).learn_one({"a": 5.0, "b": "x"}, 1)
    before = model.predict_proba_one({"a": 2.0})
    model.learn_one({"a": 9.0, "b": "new"}, 7, sample_weight=0.0)
    assert model.classes_.tolist() == [0, 1]
    assert model.predict_proba_one({"a": 2.0}) == before


def test_a_level_never_met_is_left_out_with_a_warning() -> None:
    model = tb.NaiveBayes().fit([{"b": "x"}, {"b": "x"}, {"b": "y"}], [0, 0, 1])
    with pytest.warns(UnseenCategoryWarning, match="'b'"):
        assert model.predict_proba_one({"b": "z"}) == pytest.approx({0: 2 / 3, 1: 1 / 3})


def test_a_level_forgotten_is_learned_again() -> None:
    rows, y = [{"b": v} for v in "xxyyz"], [0, 1, 0, 1, 1]
    model = tb.NaiveBayes().fit(rows, y).forget(rows[4:], y[4:])
    model.predict_proba_one({"b": "x"})
    model.learn_one({"b": "z"}, 1)
    same(model, tb.NaiveBayes().fit(rows, y), {"b": "x"})


def test_declared_classes_stay_closed() -> None:
    model = tb.GaussianNB().partial_fit([{"a": 1.0}], [0], classes=[0, 1]).learn_one({"a": 1.0}, 1)
    with pytest.raises(TallybayesError, match="do not exist in the initial classes"):
        model.learn_one({"a": 1.0}, 2)


@pytest.mark.parametrize("how", ["copy", "copy.copy", "deepcopy", "pickle", "add"])
@pytest.mark.parametrize("name", ["gaussian", "categorical", "mixed"])
def test_a_copy_goes_its_own_way(how: str, name: str) -> None:
    make, data = MODELS[name]
    stream = rows_of(data, 5, 30)
    model, truth = make(), make()
    for row, y, w in stream[:15]:
        model.learn_one(row, y, sample_weight=w)
        truth.learn_one(row, y, sample_weight=w)
    twin = {
        "copy": lambda: model.copy(),
        "copy.copy": lambda: copy.copy(model),
        "deepcopy": lambda: copy.deepcopy(model),
        "pickle": lambda: pickle.loads(pickle.dumps(model)),
        "add": lambda: sum([model]),
    }[how]()
    for row, y, w in stream[15:]:
        model.learn_one(row, y, sample_weight=w)
    probe = stream[0][0]
    assert twin.class_count_.tolist() == truth.class_count_.tolist()
    assert twin.predict_proba_one(probe) == pytest.approx(truth.predict_proba_one(probe), rel=1e-12)
    for row, y, w in stream[15:]:
        twin.learn_one(row, y, sample_weight=w)
    assert twin.predict_proba_one(probe) == pytest.approx(model.predict_proba_one(probe), rel=1e-9)


def test_rows_and_tables_take_turns() -> None:
    stream = rows_of(mixed, 8, 40)
    model, truth = tb.NaiveBayes(), tb.NaiveBayes()
    for i, (row, y, _) in enumerate(stream):
        truth.partial_fit([row], [y])
        if i % 3:
            model.learn_one(row, y)
        else:
            model.partial_fit([row], [y])
    gone = stream[10:20]
    model.forget([r for r, _, _ in gone], [y for _, y, _ in gone]).decay(0.5)
    truth.forget([r for r, _, _ in gone], [y for _, y, _ in gone]).decay(0.5)
    same(model, truth, {"a": 0.3, "b": "y"})
    merged = model + model
    model.learn_one({"a": 9.0, "b": "x"}, "u")
    np.testing.assert_allclose(merged.class_count_, 2 * truth.class_count_)


def test_a_model_of_numbered_columns_takes_keys_x0_x1() -> None:
    model = tb.GaussianNB().fit(np.array([[1.0, 2.0], [3.0, 5.0], [2.0, 2.0]]), [0, 1, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict_proba_one({"x1": 5.0, "x0": 3.0})[1] == pytest.approx(1.0)
        assert model.learn_one({"x0": 3.0, "x1": 4.0}, 1).class_count_.tolist() == [2.0, 2.0]


def test_before_the_first_row() -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        tb.GaussianNB().predict_proba_one({"a": 1.0})
    with pytest.raises(TallybayesError, match="0 feature"):
        tb.GaussianNB().learn_one({}, 0)
