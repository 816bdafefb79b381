"""sample: the table that went in comes out, the same for the same seed, and with the model's parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import tallybayes as tb
from tallybayes.errors import LabelError, OptionError
from tests.every_estimator import ESTIMATORS, labels

rng = np.random.default_rng(0)
Y = labels(rng, 90)
FRAME = ESTIMATORS["NaiveBayes mixed"][1](rng, 90)
N = 40_000


@pytest.mark.parametrize(
    "kind", [pd.DataFrame, pl.DataFrame, pa.Table, list], ids=["pandas", "polars", "pyarrow", "rows"]
)
def test_the_kind_of_table_that_went_in(kind: Any) -> None:
    X: Any = {
        pd.DataFrame: FRAME,
        pl.DataFrame: pl.DataFrame(FRAME),
        pa.Table: pa.Table.from_pandas(FRAME),
        list: FRAME.to_dict("records"),
    }[kind]
    model = tb.NaiveBayes(schema={"visits": "count"}).fit(X, Y)
    drawn, y = model.sample(25, random_state=1)
    assert isinstance(drawn, kind)
    frame = pd.DataFrame(drawn) if kind is list else pa.table(drawn).to_pandas()
    assert list(frame.columns) == list(FRAME.columns)
    assert set(frame["color"]) <= {"red", "green", "blue", "grey"}
    assert frame["alive"].dtype == bool
    assert (frame["visits"] == frame["visits"].round()).all()
    assert frame["length"].dtype == float
    assert y.shape == (25,)
    assert model.predict(drawn).shape == (25,)  # and may go in again
    model.partial_fit(drawn, y)


def test_arrays_sparse_and_numbered_columns() -> None:
    X = rng.poisson(2.0, size=(90, 3)).astype(float)
    assert isinstance(tb.GaussianNB().fit(X, Y).sample(5)[0], np.ndarray)
    words = np.array(["p", "q"], dtype=object)[(X > 1).astype(int)]
    assert tb.NaiveBayes().fit(words, Y).sample(5)[0].dtype == object
    loose, _ = tb.MultinomialNB().fit(sparse.csr_matrix(X), Y).sample(5)
    assert sparse.issparse(loose)
    assert loose.shape == (5, 3)
    numbered, _ = tb.GaussianNB().fit(pd.DataFrame(X), Y).sample(5)
    assert isinstance(numbered, pd.DataFrame)
    assert list(numbered.columns) == [0, 1, 2]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_same_for_the_same_seed(name: str) -> None:
    make, data = ESTIMATORS[name]
    model = make().fit(data(rng, 90), Y)
    first, second, other = (model.sample(30, random_state=s) for s in (3, 3, 4))
    np.testing.assert_array_equal(np.asarray(first[0]), np.asarray(second[0]))
    np.testing.assert_array_equal(first[1], second[1])
    assert not np.array_equal(np.asarray(first[0]), np.asarray(other[0]))
    state = np.random.RandomState(0)
    assert not np.array_equal(model.sample(30, random_state=state)[0], model.sample(30, random_state=state)[0])


# the complement rule is no density; a model that shrinks its covariances would shrink those of its sample again
AVERAGED = (
    "AODE words",
    "AODE codes",
    "A2DE",
    "AODE mixed, real",
    "A2DE mixed, real",
)  # a mean of networks is no network: a sample of it has another mean
SHRUNKEN = ("GaussianDiscriminant", "GaussianDiscriminant diagonal", "GaussianDiscriminant diagonal ledoit-wolf")
# the parts of a date that is drawn are those of one day, not each drawn by itself
NO_FIXED_POINT = ("ComplementNB", "NaiveBayes dates", *SHRUNKEN, *AVERAGED)


@pytest.mark.parametrize("name", [n for n in ESTIMATORS if n not in NO_FIXED_POINT])
def test_a_model_of_its_sample_is_the_model(name: str) -> None:
    """Refitted on a large sample, every density is that of the model within a few standard errors."""
    make, data = ESTIMATORS[name]
    X = data(np.random.default_rng(1), 90)  # the same whichever tests ran before
    model = make().fit(X, Y)
    if name.startswith("NaiveBayes"):
        make = lambda: tb.NaiveBayes(model.distributions, model.schema_)  # noqa: E731
    again = make().fit(*model.sample(N, random_state=0))
    np.testing.assert_allclose(again.class_count_ / N, np.exp(model.predictor_.fitted.prior), atol=5 / np.sqrt(4 * N))
    wrong = np.abs(again.predict_proba(X) - model.predict_proba(X))
    wide = 0.12 if name in ("KernelNB", "BayesNetwork words") else 0.06  # wider kernels; many cells, few rows in each
    assert wrong.max() < wide
    assert wrong.mean() < wide / 5


def test_moments_of_a_sample() -> None:
    X = rng.normal(size=(90, 2)) * [1.0, 100.0] + 5
    model = tb.GaussianNB().fit(X, Y)
    drawn, y = model.sample(N, y="a", random_state=0)
    assert set(y) == {"a"}
    mean, var = model.theta_[0], model.var_[0]
    np.testing.assert_array_less(np.abs(drawn.mean(axis=0) - mean), 4 * np.sqrt(var / N))
    np.testing.assert_array_less(np.abs(drawn.var(axis=0) - var), 4 * var * np.sqrt(2 / N))


def test_a_class_for_each_row() -> None:
    X = np.array([[0.0], [1.0], [100.0], [101.0]])
    model = tb.GaussianNB().fit(X, [True, True, False, False])
    drawn, y = model.sample(3, y=[False, True, False], random_state=0)
    assert y.tolist() == [False, True, False]
    np.testing.assert_array_equal(drawn.ravel() > 50, [True, False, True])
    with pytest.raises(LabelError, match=r"7 is not a class of this model. Classes: False, True"):
        model.sample(3, y=7)
    with pytest.raises(OptionError, match="one label or 3 of them; got the shape"):
        model.sample(3, y=[True, False])
    for n in (0, -1, 2.0, "3"):
        with pytest.raises(OptionError, match="n must be a whole number"):
            model.sample(n)


def test_priors_decide_how_often_a_class_is_drawn() -> None:
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 2]
    for priors in ([0.0, 0.25, 0.75], {0: 0.0, 1: 0.25, 2: 0.75}):
        _, drawn = tb.GaussianNB(priors=priors).fit(X, y).sample(2000, random_state=0)
        assert np.bincount(drawn, minlength=3)[0] == 0
        assert np.bincount(drawn)[1] == pytest.approx(500, abs=80)
    rounded = tb.GaussianNB(priors=[0.3333333] * 3).fit(X, y)  # a sum of 0.9999999 is taken as 1
    assert len(rounded.sample(10, random_state=0)[1]) == 10


def test_a_column_that_was_never_there_is_missing_in_the_sample() -> None:
    rows = [{"a": None, "b": 1.0}, {"a": None, "b": 2.0}]
    for given in (None, {"a": "categorical"}):
        drawn, _ = tb.NaiveBayes(schema=given).fit(rows, [0, 1]).sample(3, random_state=0)
        assert all(row["a"] is None or isinstance(row["a"], float) for row in drawn)


def test_cut_numbers_are_drawn_inside_their_intervals() -> None:
    X = np.concatenate([np.linspace(0, 1, 50), np.linspace(10, 11, 50)])[:, None]
    model = tb.NaiveBayes("mdl", alpha=0.0).fit(X, [0] * 50 + [1] * 50)
    drawn, y = model.sample(500, random_state=0)
    cuts = model.schema_.cuts[0]
    assert (cuts.low, cuts.high) == (0.0, 12.0)  # the range of the rows, widened to round numbers
    assert drawn.min() >= 0.0
    assert drawn.max() <= 12.0
    np.testing.assert_array_equal(drawn[:, 0] > cuts.points[0], y == 1)
