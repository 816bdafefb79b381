"""A missing value is a column never asked: at fit and at predict, for every distribution and container."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from tallybayes.io import from_bytes, to_bytes

D = 4
CLASSES = np.array(["a", "b", "c"])
# the multinomial and its complement share one vector θ over all columns: leaving a column out is another model
MAKERS: dict[str, Any] = {
    "gaussian": tb.GaussianNB,
    "gaussian, shared": lambda: tb.GaussianNB(variance="shared", ddof=1),
    "kernel": tb.KernelNB,
    "poisson": tb.PoissonNB,
    "bernoulli": lambda: tb.BernoulliNB(binarize=2.0),
    "categorical": tb.CategoricalNB,
    "by kind": lambda: tb.NaiveBayes(schema="categorical"),
    "mdl": lambda: tb.NaiveBayes("mdl"),
    "width": lambda: tb.NaiveBayes("width"),
    "frequency": lambda: tb.NaiveBayes("frequency"),
}


def holes(seed: int, share: float, n: int = 40) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.poisson(3.0, size=(n, D)).astype(float)
    X[:3] = [[1.0] * D, [2.0] * D, [3.0] * D]
    X[3:][rng.random((n - 3, D)) < share] = np.nan
    return X, CLASSES[np.concatenate([[0, 1, 2], rng.integers(0, 3, n - 3)])]


def likelihood(model: Any, X: Any) -> Any:
    """log P(x | class)."""
    return model.predict_joint_log_proba(X) - model.predictor_.fitted.prior


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=10)
@given(seed=st.integers(0, 9999), share=st.sampled_from([0.1, 0.5, 0.95]))
def test_a_missing_value_is_a_column_that_is_not_there(name: str, seed: int, share: float) -> None:
    """The whole is the sum of its columns, each learned from and asked of the rows where it is there."""
    X, y = holes(seed, share)
    got = likelihood(MAKERS[name]().fit(X, y), X)
    total = np.zeros_like(got)
    for j in range(D):
        there = ~np.isnan(X[:, j])
        alone = MAKERS[name]().fit(X[there][:, [j]], y[there])
        total[there] += likelihood(alone, X[there][:, [j]])
    np.testing.assert_allclose(got, total, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", [*MAKERS, "multinomial", "complement"])
def test_nothing_known_leaves_the_prior(name: str) -> None:
    make = {"multinomial": tb.MultinomialNB, "complement": lambda: tb.ComplementNB(class_prior=[0.2, 0.3, 0.5])}
    model = (MAKERS | make)[name]().fit(*holes(1, 0.3))
    empty = np.full((2, D), np.nan)
    np.testing.assert_allclose(model.predict_proba(empty), np.exp([model.predictor_.fitted.prior] * 2))
    if name != "complement":
        np.testing.assert_allclose(model.score_samples(empty), 0.0, atol=1e-12)


@pytest.mark.parametrize("make", [tb.MultinomialNB, tb.ComplementNB])
def test_a_count_that_is_missing_is_a_count_of_zero_to_the_multinomial(make: Any) -> None:
    X, y = holes(2, 0.3)
    with_zeros = np.nan_to_num(X)
    a, b = make().fit(X, y), make().fit(with_zeros, y)
    np.testing.assert_allclose(a.predict_joint_log_proba(X), b.predict_joint_log_proba(with_zeros))


@pytest.mark.parametrize("name", MAKERS)
def test_a_class_that_never_saw_a_column(name: str) -> None:
    X, y = holes(3, 0.0)
    X[y == "b", 1] = np.nan
    model = MAKERS[name]().fit(X, y)
    assert np.isfinite(model.predict_joint_log_proba(X)).all()
    p = model.predict_proba(np.array([[np.nan, v, np.nan, np.nan] for v in (1.0, 2.0, 3.0)]))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (p[:, 1] > 0.01).all()  # not knowing is not denying


FRAME = pd.DataFrame({"real": [1.0, None, 3.0, 4.0, None], "word": ["x", "y", None, "x", "y"]})
FRAME["truth"] = pd.array([True, None, False, None, True], dtype="boolean")
FRAME["whole"] = pd.array([1, 2, None, 4, None], dtype="Int64")
CONTAINERS = {
    "pandas nullable": FRAME,
    "pandas objects": FRAME.astype(object).where(FRAME.notna(), None),
    "pandas with NA": FRAME.astype(object),
    "pandas with NaN": FRAME.astype(object).where(FRAME.notna(), np.nan),
    "pandas category": FRAME.astype({"word": "category"}),
    "polars": pl.from_pandas(FRAME),
    "polars Categorical": pl.from_pandas(FRAME).with_columns(pl.col("word").cast(pl.Categorical)),
    "polars NaN": pl.from_pandas(FRAME).with_columns(pl.col("real").fill_null(float("nan"))),
    "pyarrow": pa.Table.from_pandas(FRAME),
    "pyarrow dictionary": pa.Table.from_pandas(FRAME.astype({"word": "category"})),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_missing_in_every_container(name: str) -> None:
    y = [0, 0, 1, 1, 1]
    rows = [{k: v for k, v in row.items() if pd.notna(v)} for row in FRAME.to_dict("records")]
    X = CONTAINERS[name]
    model, truth = tb.NaiveBayes().fit(X, y), tb.NaiveBayes().fit(rows, y)
    assert model.schema_.kinds == ("real", "categorical", "binary", "real")
    np.testing.assert_allclose(model.predict_proba(X), truth.predict_proba(rows), rtol=1e-12)
    assert truth.describe("word")[0]["x"] == pytest.approx(1 / 2)
    assert truth.describe("truth")[0]["True"] == pytest.approx(2 / 3)


def test_a_column_of_nothing() -> None:
    for empty in (pl.Series([None] * 3), pl.Series([None] * 3, dtype=pl.String), pl.Series([float("nan")] * 3)):
        X = pl.DataFrame({"a": [1.0, 2.0, 9.0], "none": empty})
        model = tb.NaiveBayes().fit(X, [0, 0, 1])
        np.testing.assert_allclose(
            model.predict_proba(X), tb.NaiveBayes().fit(X[["a"]], [0, 0, 1]).predict_proba(X[["a"]])
        )


@pytest.mark.parametrize(
    "model",
    [
        tb.NaiveBayes(),
        tb.NaiveBayes("mdl"),
        tb.NaiveBayes(schema={"none": "count"}),
        tb.KernelNB(),
        tb.LinearDiscriminantAnalysis(),
        tb.TAN(),
        tb.TAN(cuts=None),
    ],
    ids=str,
)
def test_an_empty_column_is_neither_described_nor_drawn(model: Any) -> None:
    X = pd.DataFrame({"a": [1.0, 2.0, 9.0, 7.0], "none": [np.nan] * 4, "zero": [0.0] * 4})
    model.fit(X, [0, 0, 1, 1])
    drawn, _ = model.sample(5, random_state=0)
    assert drawn["none"].isna().all()
    assert drawn[["a", "zero"]].notna().all().all()
    assert model.describe("none") in ({0: {}, 1: {}}, {0: {"any": 1.0}, 1: {"any": 1.0}})
    assert model.describe("zero")[0]


def test_missing_rows_are_forgotten_too() -> None:
    X, y = holes(5, 0.4)
    for make in MAKERS.values():
        model = make().fit(X, y)
        before = model.predict_joint_log_proba(X)
        model.partial_fit(X[:9], y[:9]).forget(X[:9], y[:9])
        np.testing.assert_allclose(model.predict_joint_log_proba(X), before, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("levels", [250, 300])
@pytest.mark.parametrize("make", [tb.TAN, tb.KDB, tb.AODE, tb.BayesClassifier])
def test_missing_numbers_beside_a_category_of_many_levels(make: Any, levels: int) -> None:
    """Codes of both are put side by side in a type that has room for either; what is missing stays missing."""
    rng = np.random.default_rng(0)
    y, f = rng.integers(2, size=12 * levels), rng.choice([1.0, 2.0, 3.0, np.nan], 12 * levels)
    X = pd.DataFrame({"big": [f"level {i % levels}" for i in range(len(y))], "f": f + y})
    model = make().fit(X, y)
    assert model.schema_.levels[0] is not None
    if make is not tb.BayesClassifier:
        assert model.fitted_.terms[0].statistics.joint.sum() == np.isfinite(f).sum()  # the rows that have both
    some, here = X.iloc[:40], np.isnan(f[:40])
    answers = model.predict_proba(some)
    without = model.predict_proba(some[["big"]].to_dict("records"))
    np.testing.assert_allclose(answers[here], without[here], rtol=1e-12)
    assert (answers[~here] != without[~here]).any()
    np.testing.assert_array_equal(from_bytes(to_bytes(model)).predict_proba(some), answers)
