"""Rows without labels: EM against copies of rows, what it climbs against a formula, and marks of every kind."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB as SklearnGaussianNB

import tallybayes as tb
from tallybayes.errors import LabelError, OptionError
from tallybayes.estimators.semi_supervised import _Climb
from tests.every_estimator import ESTIMATORS, labels

NAMES = [name for name in ESTIMATORS if name != "ComplementNB"]
# whose estimates are the top of what is climbed (with var_smoothing as small as it is)
INEXACT = "shared|Kernel|oas|ledoit|diagonal|GaussianDiscriminant$|AODE|A2DE|Network words|Network mixed, real"
EXACT = [name for name in NAMES if not re.search(INEXACT, name)]
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning"),
]


def some(name: str, seed: int, n: int = 60) -> tuple[Any, Any, Any]:
    """An estimator, a table, and labels of about a third of the rows: at least one of each class."""
    make, data = ESTIMATORS[name]
    rng = np.random.default_rng(seed)
    X, y = data(rng, n), labels(rng, n).astype(object)
    hidden = rng.random(n) < 0.6
    hidden[np.unique(y, return_index=True)[1]] = False
    y[hidden] = None
    return make(), X, y


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 1000), weight=st.sampled_from([1.0, 0.3]))
@settings(max_examples=6)
def test_it_never_falls(name: str, seed: int, weight: float) -> None:
    estimator, X, y = some(name, seed)
    model = tb.SemiSupervised(estimator, tol=0.0, max_iter=15, weight=weight).fit(X, y)
    assert (np.diff(model.loglik_) > 0).all()
    assert np.isfinite(model.loglik_).all()
    assert model.n_iter_ == len(model.loglik_)
    labelled = np.array([v is not None for v in y])
    assert model.estimator_.class_count_.sum() == pytest.approx(labelled.sum() + weight * (~labelled).sum())
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("prior", [None, "laplace", "uniform"])
@given(seed=st.integers(0, 1000))
@settings(max_examples=3)
def test_the_steps_themselves_go_up(name: str, prior: Any, seed: int) -> None:
    """Not because a step down is refused: EM does not take one."""
    estimator, X, y = some(name, seed)
    estimator.set_params(**{"priors" if "priors" in estimator.get_params() else "class_prior": prior})
    hidden = np.array([v is None for v in y])
    first = estimator.fit(X, np.where(hidden, "a", y), np.where(hidden, 0.0, 1.0))
    codes = np.where(hidden, -1, np.searchsorted(["a", "b", "c"], np.where(hidden, "a", y).astype(str)))
    climb = _Climb(first, X, codes.astype(np.int32), hidden, np.ones(60), 0.7)
    model, heights = first, []
    for _ in range(12):
        model = climb.counted(climb.shares(climb.joint(model)))
        heights.append(climb.height(model, climb.joint(model)))
    assert (np.diff(heights) >= -1e-7).all()


@pytest.mark.parametrize("name", ["GaussianNB", "CategoricalNB words", "MultinomialNB", "LinearDiscriminantAnalysis"])
def test_em_is_fitting_on_weighted_copies(name: str) -> None:
    estimator, X, y = some(name, 0)
    hidden = np.array([v is None for v in y])
    w = np.random.default_rng(1).random(60) + 0.5
    model = tb.SemiSupervised(estimator, max_iter=4, tol=0.0, weight=0.5).fit(X, y, sample_weight=w)
    slow = clone(estimator).fit(X[~hidden], y[~hidden].tolist(), w[~hidden])
    for _ in range(4):
        P = slow.predict_proba(X[hidden])
        copies = np.concatenate([X[~hidden], *[X[hidden]] * 3])
        names = [*y[~hidden], *np.repeat(["a", "b", "c"], hidden.sum())]
        weights = np.concatenate([w[~hidden], *(0.5 * w[hidden] * P[:, k] for k in range(3))])
        slow = clone(estimator).fit(copies, names, weights)
    np.testing.assert_allclose(model.predict_proba(X), slow.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(model.estimator_.class_count_, slow.class_count_)


def test_what_is_climbed_by_hand() -> None:
    X = np.array([[0.0], [1.0], [5.0], [6.0], [0.5], [5.2]])
    y = [0, 0, 1, 1, None, None]
    model = tb.SemiSupervised(tb.GaussianNB(var_smoothing=0.0), weight=0.25).fit(X, y)
    inner = model.estimator_
    joint = np.log(inner.class_prior_) + norm.logpdf(X, inner.theta_[:, 0], np.sqrt(inner.var_[:, 0]))
    by_hand = joint[[0, 1], 0].sum() + joint[[2, 3], 1].sum() + 0.25 * logsumexp(joint[4:], axis=1).sum()
    assert model.loglik_[-1] == pytest.approx(by_hand)
    words = np.array([[3, 0], [0, 3], [2, 1], [0, 5]])
    model = tb.SemiSupervised(tb.MultinomialNB(alpha=2.0)).fit(words, ["a", "b", None, None])
    inner = model.estimator_
    joint = inner.class_log_prior_ + words @ inner.feature_log_prob_.T
    by_hand = joint[0, 0] + joint[1, 1] + logsumexp(joint[2:], axis=1).sum() + 2 * inner.feature_log_prob_.sum()
    assert model.loglik_[-1] == pytest.approx(by_hand)
    cats = [["u"], ["v"], ["u"], ["w"]]
    model = tb.SemiSupervised(tb.CategoricalNB(alpha=0.5, unseen="other", class_prior="laplace"))
    inner = model.fit(cats, ["a", "b", None, None]).estimator_
    table = {c: inner.describe(0)[c] for c in "ab"}
    p = np.array([[table[c][v[0]] for c in "ab"] for v in cats])
    joint = inner.class_log_prior_ + np.log(p)
    by_hand = joint[0, 0] + joint[1, 1] + logsumexp(joint[2:], axis=1).sum() + inner.class_log_prior_.sum()
    by_hand += 0.5 * sum(np.log(v) for c in "ab" for v in table[c].values())
    assert model.loglik_[-1] == pytest.approx(by_hand)


def test_without_unlabelled_rows_it_is_the_estimator() -> None:
    X, y = load_iris(return_X_y=True)
    for model in (tb.SemiSupervised(tb.GaussianNB()), tb.SemiSupervised(tb.GaussianNB(), weight=0.0, unlabelled=9)):
        marked = np.append(y, [9] * 5) if model.unlabelled else y
        table = np.vstack([X, X[:5]]) if model.unlabelled else X
        np.testing.assert_array_equal(
            model.fit(table, marked).predict_proba(X), tb.GaussianNB().fit(X, y).predict_proba(X)
        )
        assert model.converged_


def test_it_helps_where_the_model_is_right_and_harms_where_it_is_wrong() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=1000)
    X = rng.normal(size=(1000, 6)) + 0.9 * y[:, None]
    some_labels = np.where(np.arange(1000) < 12, y, -1)
    alone = tb.GaussianNB().fit(X[:12], y[:12]).score(X, y)
    assert tb.SemiSupervised(tb.GaussianNB(), unlabelled=-1).fit(X, some_labels).score(X, y) > alone + 0.03
    # four columns say the same, and nothing of the class: EM explains them instead
    X = np.column_stack(
        [rng.normal(size=1000) + 1.5 * y, rng.normal(size=(1000, 1)) + 0.3 * rng.normal(size=(1000, 4))]
    )
    some_labels = np.where(np.arange(1000) < 40, y, -1)
    alone = tb.GaussianNB().fit(X[:40], y[:40]).score(X, y)
    harmed = tb.SemiSupervised(tb.GaussianNB(), unlabelled=-1).fit(X, some_labels).score(X, y)
    careful = tb.SemiSupervised(tb.GaussianNB(), unlabelled=-1, weight=0.001).fit(X, some_labels).score(X, y)
    assert harmed < alone - 0.15
    assert careful > alone - 0.05


@pytest.mark.parametrize(
    ("y", "mark", "classes"),
    [
        (["a", "b", None, None], None, ["a", "b"]),
        (["a", "b", float("nan"), None], None, ["a", "b"]),
        (["a", "b", -1, -1], -1, ["a", "b"]),
        (["a", "b", "?", "?"], "?", ["a", "b"]),
        ([0, 1, None, None], None, [0, 1]),
        ([0.0, 1.0, np.nan, np.nan], None, [0.0, 1.0]),
        ([0, 1, -1, -1], -1, [0, 1]),
        ([-1, 1, None, None], None, [-1, 1]),
        ([False, True, None, None], None, [False, True]),
        (pd.Series(["a", "b", None, None]), None, ["a", "b"]),
        (pd.Series(["a", "b", pd.NA, pd.NA], dtype="string"), None, ["a", "b"]),
        (pd.Series([0, 1, pd.NA, pd.NA], dtype="Int64"), None, [0, 1]),
        (pd.Series(["a", "b", None, None], dtype="category"), None, ["a", "b"]),
        (pl.Series(["a", "b", None, None]), None, ["a", "b"]),
        (np.array(["a", "b", None, None], dtype=object), None, ["a", "b"]),
        (np.array([["a"], ["b"], [None], [None]], dtype=object), None, ["a", "b"]),
        (pd.Series(["a", "b", pd.NA, "?"], dtype="string"), "?", ["a", "b"]),
    ],
)
def test_marks(y: Any, mark: Any, classes: Any) -> None:
    X = [[0.0], [9.0], [0.4], [8.0]]
    model = tb.SemiSupervised(tb.GaussianNB(), unlabelled=mark).fit(X, y)
    assert model.classes_.tolist() == classes
    assert model.estimator_.class_count_.round(6).tolist() == [2, 2]
    assert model.predict([[1.0], [8.5]]).tolist() == classes


def test_minus_one_is_a_class_unless_declared_otherwise() -> None:
    X = [[0.0], [1.0], [8.0], [9.0]]
    assert tb.GaussianNB().fit(X, [-1, -1, 1, 1]).classes_.tolist() == [-1, 1]
    with pytest.warns(UserWarning, match="-1 is taken as a class"):
        assert tb.SemiSupervised(tb.GaussianNB()).fit(X, [-1, -1, 1, 1]).classes_.tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("options", "y", "error", "why"),
    [
        ({}, [None, None, None], LabelError, "No row has a label"),
        ({"unlabelled": -1}, np.array(["a", "b", -1]), LabelError, "some are '-1'"),
        ({}, [0.5, 1.5, None], LabelError, "continuous"),
        ({}, [0.0, np.inf, np.nan], LabelError, "infinity"),
        ({}, ["a", "b"], LabelError, "X has 3 rows and y has 2"),
        ({}, None, LabelError, "requires y"),
        ({"weight": 1.5}, [0, 1, None], OptionError, "weight must be between 0 and 1; got 1.5"),
        ({"weight": "much"}, [0, 1, None], OptionError, "weight must be between 0 and 1"),
        ({"max_iter": 0}, [0, 1, None], OptionError, "max_iter must be a whole number"),
        ({"tol": -1.0}, [0, 1, None], OptionError, "tol must be"),
        ({"estimator": SklearnGaussianNB()}, [0, 1, None], OptionError, "SelfTrainingClassifier"),
        ({"estimator": tb.ComplementNB()}, [0, 1, None], OptionError, "Use MultinomialNB"),
        ({"estimator": tb.BayesClassifier("fast")}, [0, 1, None], OptionError, "Use NaiveBayes, TAN or AODE"),
    ],
)
def test_what_is_refused(options: Any, y: Any, error: Any, why: str) -> None:
    X = [[0.0], [9.0], [1.0]]
    model = tb.SemiSupervised(tb.GaussianNB()).fit(X, ["u", "v", None])
    before = model.predict_proba(X)
    with pytest.raises(error, match=re.escape(why)):
        model.set_params(**options).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_levels_that_only_unlabelled_rows_have() -> None:
    X, y = [["u"], ["v"], ["w"], ["w"]], ["a", "b", None, "a"]
    model = tb.SemiSupervised(tb.CategoricalNB(unseen="error")).fit([*X, ["z"]], [*y, None])
    assert set(model.estimator_.describe(0)["a"]) == {"u", "v", "w", "z"}
    whole = tb.SemiSupervised(tb.CategoricalNB(unseen="error", alpha=0.0)).fit(
        [[0], [1], [7], [0]], ["a", "b", None, "a"]
    )
    assert np.isfinite(whole.loglik_).all()
    wide = np.random.default_rng(0).normal(size=(12, 40))
    found = tb.SemiSupervised(tb.LinearDiscriminantAnalysis()).fit(wide, [0, 1] * 3 + [None] * 6)
    assert np.isfinite(found.loglik_).all()
    gaps = np.where(
        np.random.default_rng(1).random((40, 3)) < 0.3, np.nan, np.random.default_rng(2).normal(size=(40, 3))
    )
    for inner in (tb.GaussianNB(), tb.QuadraticDiscriminantAnalysis(), tb.NaiveBayes("mdl")):
        found = tb.SemiSupervised(inner).fit(gaps, [0, 1] * 10 + [None] * 20)
        assert (np.diff(found.loglik_) > 0).all()


def test_at_home_in_scikit_learn() -> None:
    X, y = load_iris(return_X_y=True)
    hidden = np.where(np.arange(150) % 3 == 0, y, -1)
    model = tb.SemiSupervised(tb.GaussianNB(), unlabelled=-1).fit(pd.DataFrame(X, columns=list("abcd")), hidden)
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.n_features_in_ == 4
    assert cross_val_score(tb.SemiSupervised(tb.GaussianNB()), X, y, cv=3).mean() > 0.9
    assert model.estimator_.with_prior("uniform").partial_fit(pd.DataFrame(X, columns=list("abcd")), y)
    with pytest.warns(ConvergenceWarning, match="after 2 steps"):
        assert not clone(model).set_params(max_iter=2, tol=0.0).fit(X, hidden).converged_
    fresh = clone(model)
    assert not hasattr(fresh, "classes_")
    for ask in ("predict", "predict_proba", "predict_log_proba", "score_samples"):
        with pytest.raises(NotFittedError):
            getattr(fresh, ask)(X)


def test_rows_of_weight_zero_are_absent_from_what_is_climbed() -> None:
    """With alpha=0 such a row may be impossible in its class, and 0 · −inf is no number."""
    X = [["red"], ["red"], ["green"], ["green"], ["red"], ["green"]]
    y = ["a", "a", "b", "b", "b", None]
    w = [1.0, 1.0, 1.0, 1.0, 0.0, 1.0]
    model = tb.SemiSupervised(tb.NaiveBayes(alpha=0.0)).fit(X, y, sample_weight=w)
    without = tb.SemiSupervised(tb.NaiveBayes(alpha=0.0)).fit(X[:4] + X[5:], y[:4] + y[5:])
    assert np.isfinite(model.loglik_).all()
    np.testing.assert_allclose(model.loglik_, without.loglik_)
    np.testing.assert_allclose(model.predict_proba(X), without.predict_proba(X))


@pytest.mark.parametrize(
    ("mark", "y", "reported"),
    [
        ("unknown", ["a", "b", "Unknown", "Unknown"], "'Unknown' is taken as a class"),
        ("?", ["a", "b", None, "a"], r"the classes are \['a', 'b'\]"),
        (-1, [0, 1, 0, 1], r"No row has the mark unlabelled=-1; the classes are \[0, 1\]"),
        (None, ["a", "b", "", ""], "'' is taken as a class. If it marks rows without a label: unlabelled=''"),
    ],
)
def test_a_mark_that_no_row_has_gives_a_warning(mark: object, y: list[object], reported: str) -> None:
    with pytest.warns(UserWarning, match=reported):
        tb.SemiSupervised(tb.GaussianNB(), unlabelled=mark).fit([[0.0], [9.0], [0.5], [8.0]], y)


def test_a_mark_that_is_there_gives_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for mark in ("unknown", ""):
            tb.SemiSupervised(tb.GaussianNB(), unlabelled=mark).fit([[0.0], [9.0], [0.5]], ["a", "b", mark])


# --- no label at all -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "shape"), [(tb.QuadraticDiscriminantAnalysis(), "full"), (tb.GaussianNB(), "diag")], ids=["QDA", "NB"]
)
def test_a_mixture_is_that_of_scikit_learn(estimator: Any, shape: str) -> None:
    from sklearn.mixture import GaussianMixture

    X = load_iris().data
    for K in (1, 2):
        ours = tb.SemiSupervised(estimator, n_classes=K, max_iter=300).fit(X)
        theirs = GaussianMixture(K, covariance_type=shape, n_init=3, random_state=0, tol=1e-6, max_iter=300).fit(X)
        assert ours.bic_ == pytest.approx(theirs.bic(X), rel=1e-3)
        assert (np.diff(ours.loglik_) > 0).all()
        assert ours.estimator_.class_count_.sum() == pytest.approx(150)


def test_a_mixture_of_levels_finds_two_groups() -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(300) % 2
    rows = [{f"c{j}": "ab"[int(rng.random() < (0.9 if t else 0.1))] for j in range(6)} for t in truth]
    found = tb.SemiSupervised(tb.NaiveBayes(), n_classes=2).fit(rows).predict(rows)
    assert max((found == truth).mean(), (found != truth).mean()) > 0.95
    same = tb.SemiSupervised(tb.NaiveBayes(), n_classes=2).fit(rows).predict(rows)
    assert (found == same).all()


@pytest.mark.parametrize(
    ("options", "y", "says"),
    [
        ({"n_classes": 0}, None, "at least 1"),
        ({"n_classes": 50}, None, "at least 50 rows"),
        ({"n_classes": 2, "n_init": 0}, None, "n_init"),
        ({"n_classes": 2, "weight": 0.5}, None, "need labels"),
        ({"n_classes": 2}, [0, 1] * 5, "without any label"),
    ],
)
def test_wrong_mixtures_are_refused(options: dict[str, Any], y: Any, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        tb.SemiSupervised(tb.GaussianNB(), **options).fit(np.arange(10.0)[:, None], y)
