"""The prior: counted, uniform, Laplace's, given; it moves the posterior and nothing else."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tallybayes as tb
from tallybayes.errors import OptionError

X = np.array([[1.0], [2.0], [2.5], [7.0], [8.0], [4.0]])
Y = np.array(["b", "b", "b", "a", "a", "c"])
GIVEN = [0.2, 0.3, 0.5]
PRIORS: list[tuple[Any, list[float]]] = [
    (None, [2 / 6, 3 / 6, 1 / 6]),
    ("uniform", [1 / 3] * 3),
    ("laplace", [3 / 9, 4 / 9, 2 / 9]),
    (GIVEN, GIVEN),
    (tuple(GIVEN), GIVEN),
    (np.array(GIVEN, dtype=np.float32), GIVEN),
    ({"c": 0.5, "a": 0.2, "b": 0.3}, GIVEN),
]


@pytest.mark.parametrize(("priors", "truth"), PRIORS)
@pytest.mark.parametrize("make", [tb.GaussianNB, tb.PoissonNB, tb.KernelNB, tb.NaiveBayes])
def test_every_form(make: Any, priors: Any, truth: list[float]) -> None:
    model = make(priors=priors).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba([[np.nan]]), [truth], rtol=1e-6)
    base = make(priors="uniform").fit(X, Y)
    moved = base.predict_proba(X) * truth
    np.testing.assert_allclose(model.predict_proba(X), moved / moved.sum(axis=1, keepdims=True), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("make", [tb.MultinomialNB, tb.BernoulliNB, tb.CategoricalNB])
def test_the_names_of_scikit_learn(make: Any) -> None:
    whole = X.astype(int)
    for arguments, truth in (
        ({}, PRIORS[0][1]),
        ({"fit_prior": False}, [1 / 3] * 3),
        ({"class_prior": GIVEN}, GIVEN),
        ({"class_prior": {"a": 0.2, "b": 0.3, "c": 0.5}, "fit_prior": False}, GIVEN),
    ):
        model = make(**arguments).fit(whole, Y)
        np.testing.assert_allclose(np.exp(model.class_log_prior_), truth)


def test_weights_are_counted() -> None:
    w = np.array([0.5, 0.5, 0.0, 1.0, 2.0, 6.0])
    for priors, truth in ((None, [3, 1, 6]), ("laplace", [4, 2, 7])):
        model = tb.GaussianNB(priors=priors).fit(X, Y, sample_weight=w)
        np.testing.assert_allclose(model.class_prior_, np.array(truth) / sum(truth))


def test_a_prior_never_touches_a_shape() -> None:
    one, other = tb.GaussianNB().fit(X, Y), tb.GaussianNB(priors=[0.01, 0.01, 0.98], variance="own").fit(X, Y)
    np.testing.assert_array_equal(one.theta_, other.theta_)
    np.testing.assert_array_equal(one.var_, other.var_)
    shared, moved = (tb.GaussianNB(priors=p, variance="shared").fit(X, Y) for p in (None, [0.01, 0.01, 0.98]))
    np.testing.assert_array_equal(shared.var_, moved.var_)


def test_counted_priors_follow_the_rows() -> None:
    model = tb.GaussianNB(priors="laplace").partial_fit(X[:3], Y[:3]).partial_fit(X[3:], Y[3:])
    np.testing.assert_allclose(model.class_prior_, PRIORS[2][1])
    model.forget(X[:1], Y[:1])
    np.testing.assert_allclose(model.class_prior_, [3 / 8, 3 / 8, 2 / 8])


def test_a_class_with_a_prior_of_zero_is_never_the_answer() -> None:
    model = tb.GaussianNB(priors=[0.5, 0.5, 0.0]).fit(X, Y)
    assert "c" not in model.predict([[4.0], [4.1]])
    assert model.predict_log_proba([[4.0]])[0, 2] == -np.inf
    assert np.isfinite(model.score_samples([[4.0]])).all()


def test_labels_of_any_type_name_a_prior() -> None:
    for y, priors in (([False, True, True], {True: 0.9, False: 0.1}), ([3, 5, 5], {np.int64(5): 0.9, 3: 0.1})):
        model = tb.GaussianNB(priors=priors).fit(X[:3], y)
        np.testing.assert_allclose(model.class_prior_, [0.1, 0.9])


BY_LABEL = {"c": 0.5, "a": 0.2, "b": 0.3}
TABLES: list[Any] = [
    pd.Series(BY_LABEL),
    pd.Series(BY_LABEL.values(), index=pd.CategoricalIndex(list(BY_LABEL))),
    pd.Series(BY_LABEL).rename_axis("y").reset_index(name="proportion"),
    pl.DataFrame({"y": list(BY_LABEL), "proportion": list(BY_LABEL.values())}),
    pa.table({"y": list(BY_LABEL), "proportion": list(BY_LABEL.values())}),
    pd.Series(GIVEN),  # never given an index: numbered, not labelled
    pl.Series(GIVEN),
]


@pytest.mark.parametrize("priors", TABLES)
@pytest.mark.parametrize(
    "make", [tb.GaussianNB, tb.LinearDiscriminantAnalysis, tb.TAN, lambda priors: tb.BernoulliNB(class_prior=priors)]
)
def test_tables_go_by_label(make: Any, priors: Any, tmp_path: Any) -> None:
    """Given to the model, to with_prior and to the question, and after a file and more rows."""
    model = make(priors=priors).fit(X, Y)
    base = make(priors="uniform").fit(X, Y)
    truth = make(priors=GIVEN).fit(X, Y).predict_proba(X)
    moved = base.with_prior(priors)
    tb.save(model, tmp_path / "model")
    for found in (model, moved, tb.load(tmp_path / "model")):
        np.testing.assert_allclose(found.predict_proba(X), truth, rtol=1e-12)
    np.testing.assert_allclose(base.predict_proba(X, priors=priors), truth, rtol=1e-12)
    for more in (model, moved):
        more.partial_fit(X, Y)
    again = make(priors=GIVEN).fit(np.tile(X, (2, 1)), np.tile(Y, 2)).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), again, rtol=1e-7)
    np.testing.assert_allclose(moved.predict_proba(X), again, rtol=1e-7)


def test_value_counts_of_other_rows() -> None:
    """The most frequent class stands first in value_counts, whatever its place in classes_."""
    y = np.array(["ill"] * 3 + ["well"] * 47)
    model = tb.GaussianNB().fit([[0.0], [1.0], [2.0], [3.0]], ["ill", "ill", "well", "well"])
    for shares in (pd.Series(y).value_counts(normalize=True), pl.Series("y", y).value_counts(normalize=True)):
        np.testing.assert_allclose(model.with_prior(shares).class_prior_, [0.06, 0.94])
        np.testing.assert_allclose(model.predict_proba([[np.nan]], priors=shares), [[0.06, 0.94]])
    counts = pd.Series(y).value_counts()
    with pytest.warns(UserWarning, match="Renormalizing"):
        found = tb.LinearDiscriminantAnalysis(priors=counts).fit([[0.0], [1.0], [2.0], [3.5]], y[1:5])
    np.testing.assert_allclose(found.priors_, [0.06, 0.94])


def test_priors_of_each_row_go_by_label() -> None:
    whole = tb.GaussianNB(priors="uniform").fit(X, [1, 1, 1, 0, 0, 2])
    rows = np.array([GIVEN, [0.7, 0.2, 0.1]] * 3)
    truth = whole.predict_proba(X, priors=rows)
    mixed = {"2": rows[:, 2], "0": rows[:, 0], "1": rows[:, 1]}
    for frame in (pd.DataFrame(mixed), pl.DataFrame(mixed), pa.table(mixed), pd.DataFrame(mixed).rename(columns=int)):
        np.testing.assert_array_equal(whole.predict_proba(X, priors=frame), truth)
    for wrong in (pl.DataFrame(mixed).rename({"2": "3"}), pl.DataFrame({"p": [0.5] * 6, "q": [0.5] * 6})):
        with pytest.raises(OptionError, match="columns of priors must be the classes"):
            whole.predict_proba(X, priors=wrong)


def test_wrapped_models_take_priors_by_label() -> None:
    y = [*Y[:5].tolist(), "c"]
    shares = pd.Series(BY_LABEL)
    inner = tb.GaussianNB(priors=shares)
    semi, decided = tb.SemiSupervised(inner).fit(X, y), tb.BayesDecision(inner).fit(X, y)
    for found in (semi.predict_proba([[np.nan]]), decided.predict_proba([[np.nan]])):
        np.testing.assert_allclose(found, [GIVEN])
    np.testing.assert_allclose(semi.predict_proba([[np.nan]], priors=shares), [GIVEN])
    moved = inner.fit(X, y).adapt_prior(X)
    np.testing.assert_allclose(moved.old_prior, GIVEN)


@pytest.mark.parametrize(
    ("priors", "why"),
    [
        ("even", "priors must be None, 'uniform', 'laplace' or one number per class; got 'even'"),
        ([0.5, 0.5], "got 2 for 3 classes (a, b, c)"),
        ([[0.2, 0.3, 0.5]], "got 3 for 3 classes"),
        (0.5, "got 1 for 3 classes"),
        ([0.5, 0.6, -0.1], "Priors must be non-negative"),
        ([0.5, 0.5, float("nan")], "Priors must be non-negative"),
        ([0.5, 0.5, 0.5], "should be 1; got 1.5"),
        ({"a": 0.5, "b": 0.5}, "each class once"),
        (pd.Series({"a": 0.5, "b": 0.5}), "each class once"),
        (pd.Series(GIVEN, index=["a", "b", "b"]), "Each label may stand once"),
        (pl.DataFrame({"y": ["a", "b", "d"], "p": GIVEN}), "['a', 'b', 'd'], the classes are ['a', 'b', 'c']"),
        ({"a": 0.5, "b": 0.3, "d": 0.2}, "['a', 'b', 'd'], the classes are ['a', 'b', 'c']"),
    ],
)
def test_priors_that_are_refused(priors: Any, why: str) -> None:
    model = tb.GaussianNB().fit(X, Y)
    before = model.class_prior_
    with pytest.raises(OptionError, match=re.escape(why)):
        model.set_params(priors=priors).fit(X, Y)
    np.testing.assert_array_equal(model.class_prior_, before)  # the earlier fit is whole
