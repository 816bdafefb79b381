"""Another prior without refitting: given, of each row, or found from unlabelled rows by EM."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tallybayes as tb
from tallybayes.errors import OptionError, TableError
from tallybayes.model import class_shares
from tests.every_estimator import ESTIMATORS, labels

NAMES = list(ESTIMATORS)
ASK = ["predict_joint_log_proba", "predict_log_proba", "predict_proba", "score_samples"]
GIVEN = {"b": 0.3, "a": 0.2, "c": 0.5}


def fitted(name: str, seed: int = 0, **options: Any) -> tuple[Any, Any, Any]:
    make, data = ESTIMATORS[name]
    rng = np.random.default_rng(seed)
    X, y = data(rng, 60), labels(rng, 60)
    return make().set_params(**options).fit(X, y), X, y


def refit(model: Any, X: Any, y: Any, priors: Any) -> Any:
    counterpart = clone(model)
    if "priors" in counterpart.get_params():
        return counterpart.set_params(priors=priors).fit(X, y)
    if priors is None or priors == "uniform":
        return counterpart.set_params(fit_prior=priors is None, class_prior=None).fit(X, y)
    return counterpart.set_params(class_prior=priors).fit(X, y)


@pytest.mark.parametrize("priors", [GIVEN, [0.2, 0.3, 0.5], "uniform", None, [0.5, 0.5, 0.0]], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_with_prior_is_fit_with_that_prior(name: str, priors: Any) -> None:
    model, X, y = fitted(name)
    before = model.predict_joint_log_proba(X)
    other, truth = model.with_prior(priors), refit(model, X, y, priors)
    if name == "ComplementNB" and priors == "uniform":
        truth.set_params(class_prior="uniform").fit(X, y)  # fit_prior=False leaves its rule without a prior
    for ask in ASK:
        np.testing.assert_array_equal(getattr(other, ask)(X), getattr(truth, ask)(X))
    np.testing.assert_array_equal(model.predict_joint_log_proba(X), before)
    assert type(other) is type(model)
    np.testing.assert_array_equal(other.partial_fit(X, y).predict(X), truth.partial_fit(X, y).predict(X))


@pytest.mark.parametrize("name", NAMES)
def test_a_prior_for_the_question_only(name: str) -> None:
    model, X, _ = fitted(name)
    other = model.with_prior(GIVEN)
    for ask in [*ASK, "predict"]:
        for priors in (GIVEN, [0.2, 0.3, 0.5], np.tile([0.2, 0.3, 0.5], (60, 1))):
            np.testing.assert_array_equal(getattr(model, ask)(X, priors=priors), getattr(other, ask)(X))


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 1000))
@settings(max_examples=10)
def test_each_row_has_its_own_prior(name: str, seed: int) -> None:
    """P'(k | x) ∝ P(k | x) P'(k) / P(k), row by row."""
    model, X, _ = fitted(name)
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(3), size=60)
    P[rng.integers(0, 60, 5), rng.integers(0, 3, 5)] = 0.0
    P /= P.sum(axis=1, keepdims=True)
    flat = model.predict_log_proba(X, priors="uniform")
    with np.errstate(divide="ignore"):
        moved = flat + np.log(P)
    truth = moved - logsumexp(moved, axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_log_proba(X, priors=P), truth, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X, priors=P), np.exp(truth), atol=1e-9)
    assert (model.predict(X, priors=P) == model.classes_[truth.argmax(axis=1)]).mean() > 0.98


def test_priors_of_rows_with_missing_values_and_by_label() -> None:
    model, X, _ = fitted("QuadraticDiscriminantAnalysis")
    X[::3, 1] = np.nan
    P = np.random.default_rng(1).dirichlet(np.ones(3), size=60)
    found = model.predict_proba(X, priors=P)
    for i in (0, 1, 3):
        np.testing.assert_allclose(model.with_prior(P[i]).predict_proba(X[i : i + 1])[0], found[i], atol=1e-12)
    for frame in (pd.DataFrame(P, columns=list("abc"))[["c", "a", "b"]], pl.DataFrame(P, schema=list("abc"))):
        np.testing.assert_array_equal(model.predict_proba(X, priors=frame), found)


def test_an_impossible_row_has_the_prior_of_its_question() -> None:
    model = tb.CategoricalNB(alpha=0.0).fit([["u", "v"], ["w", "z"]], ["a", "b"])
    row = [["u", "z"]]
    np.testing.assert_allclose(model.predict_proba(row, priors=[[0.9, 0.1]]), [[0.9, 0.1]])
    np.testing.assert_allclose(model.with_prior([0.2, 0.8]).predict_proba(row), [[0.2, 0.8]])
    np.testing.assert_allclose(model.predict_proba([["u", "v"]], priors=[[0.0, 1.0]]), [[0.0, 1.0]])


def test_one_row_and_streams_keep_the_new_prior() -> None:
    rows = [{"x": 1.0}, {"x": 2.0}, {"x": 6.0}, {"x": 7.0}]
    model = tb.NaiveBayes().fit(rows, ["a", "a", "b", "b"])
    model.predict_proba_one({"x": 3.0})
    other = model.with_prior({"a": 0.99, "b": 0.01})
    truth = tb.NaiveBayes(priors={"a": 0.99, "b": 0.01}).fit(rows, ["a", "a", "b", "b"])
    assert other.predict_proba_one({"x": 4.0}) == truth.predict_proba_one({"x": 4.0})
    other.learn_one({"x": 4.0}, "a")
    truth.learn_one({"x": 4.0}, "a")
    assert other.predict_proba_one({"x": 4.0}) == truth.predict_proba_one({"x": 4.0})
    assert model.class_count_.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("priors", "why"),
    [
        (np.full((59, 3), 1 / 3), "priors are for 59 rows; X has 60"),
        (np.full((60, 2), 1 / 2), "got 2 for 3 classes"),
        (np.vstack([np.full((59, 3), 1 / 3), [[0.5, 0.6, -0.1]]]), "row 59 is [0.5, 0.6, -0.1]"),
        (np.vstack([np.full((59, 3), 1 / 3), [[0.5, 0.6, 0.1]]]), "sum to 1; row 59"),
        (np.full((60, 3), np.nan), "row 0 is [nan, nan, nan]"),
        (pd.DataFrame(np.full((60, 3), 1 / 3)), "must be the classes ['a', 'b', 'c']; got [0, 1, 2]"),
        ([[0.5, 0.5], [1.0]], "priors must be None, 'uniform', 'laplace' or one number per class"),
        ([0.5, 0.5], "got 2 for 3 classes"),
        ("even", "got 'even'"),
        ({"a": 1.0}, "each class once"),
        (np.zeros((1, 1, 3)), "got 3 for 3 classes"),
    ],
)
def test_priors_that_are_refused(priors: Any, why: str) -> None:
    for name in ("GaussianNB", "QuadraticDiscriminantAnalysis", "ComplementNB"):
        model, X, _ = fitted(name)
        for ask in ("predict_proba", "score_samples"):
            with pytest.raises(OptionError, match=re.escape(why)):
                getattr(model, ask)(X, priors=priors)
        if np.ndim(getattr(priors, "values", None)) != 2 and not isinstance(priors, np.ndarray):
            with pytest.raises(OptionError, match=re.escape(why)):
                model.with_prior(priors)


def test_priors_are_routed() -> None:
    model, X, y = fitted("GaussianNB")
    P = np.random.default_rng(0).dirichlet(np.ones(3), size=60)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = tb.GaussianNB().set_predict_proba_request(priors=True)
        pipe = make_pipeline(StandardScaler(), tb.BayesDecision(inner)).fit(X, y)
        np.testing.assert_allclose(pipe.predict_proba(X, priors=P), model.predict_proba(X, priors=P), atol=1e-8)
        np.testing.assert_array_equal(pipe.predict(X, priors=P), model.predict(X, priors=P))


# --- found from unlabelled rows --------------------------------------------------------------------------------


def two_gaussians(rng: np.random.Generator, share: float, n: int) -> tuple[Any, Any]:
    y = (rng.random(n) < share).astype(int)
    return rng.normal(size=(n, 2)) + 1.5 * y[:, None], y


def test_em_against_a_plain_loop() -> None:
    rng = np.random.default_rng(0)
    for counts in (np.zeros(3), np.array([3.0, 0.0, 1.0])):
        L, prior = rng.random((40, 3)), np.array([0.5, 0.3, 0.2])
        found = class_shares.fit_shares(L, prior, counts, 1e-9, 1000)
        for _ in range(20_000):
            r = prior * L
            r /= r.sum(axis=1, keepdims=True)
            prior = (counts + r.sum(axis=0)) / (40 + counts.sum())
        assert found.converged
        np.testing.assert_allclose(found.prior, prior, atol=1e-4)
        assert len(found.loglik) < 100  # not 20,000


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 1000))
@settings(max_examples=10)
def test_the_likelihood_never_falls_and_ends_at_its_top(name: str, seed: int) -> None:
    model, _, _ = fitted(name)
    X = ESTIMATORS[name][1](np.random.default_rng(seed), 30)
    found = model.adapt_prior(X, max_iter=10_000)
    assert (np.diff(found.loglik) >= -1e-9).all()
    assert found.prior.sum() == pytest.approx(1)
    assert found.n_iter == len(found.loglik) - 1
    assert found.converged
    joint = model.predict_joint_log_proba(X, priors=found.prior)
    assert found.loglik[-1] == pytest.approx(logsumexp(joint, axis=1).sum(), abs=1e-6)
    np.testing.assert_allclose(found.model.predict_joint_log_proba(X), joint)
    for k in range(3):  # concave: at the top no mixture with another prior is better
        aside = 0.999 * found.prior + 0.001 * np.eye(3)[k]
        assert logsumexp(model.predict_joint_log_proba(X, priors=aside), axis=1).sum() <= found.loglik[-1] + 1e-6


def test_a_shifted_prior_is_recovered_within_its_standard_error() -> None:
    """Over many samples, (found − truth) / standard error is a standard normal number."""
    rng = np.random.default_rng(3)
    model = tb.LinearDiscriminantAnalysis().fit(*two_gaussians(rng, 0.5, 100_000))
    z = []
    for _ in range(200):
        found = model.adapt_prior(two_gaussians(rng, 0.15, 400)[0])
        z.append((found.prior[1] - 0.15) / found.standard_error[1])
        assert found.standard_error[0] == pytest.approx(found.standard_error[1])
    assert abs(np.mean(z)) < 0.25
    assert 0.85 < np.std(z) < 1.15
    assert found.p_value < 1e-6
    new, y = two_gaussians(rng, 0.15, 2000)
    assert found.model.score(new, y) > model.score(new, y) + 0.01


@pytest.mark.parametrize("priors", [None, "laplace", [0.3, 0.7]])
def test_the_test_holds_its_level(priors: Any) -> None:
    """Nothing moved: p is uniform, also where the old prior was itself counted in a sample of the same size."""
    rng = np.random.default_rng(5)
    p = []
    for _ in range(300):
        X, y = two_gaussians(rng, 0.7, 400)
        model = tb.LinearDiscriminantAnalysis(priors=priors).fit(X, y)
        # p(x | class) as known: the test is of the shares alone
        model.fitted_.terms[0].statistics.mean[:] = [[0.0, 0.0], [1.5, 1.5]]
        model._estimate_and_set(model.fitted_)
        p.append(model.adapt_prior(two_gaussians(rng, 0.7, 400)[0]).p_value)
    assert 0.02 <= np.mean(np.array(p) < 0.05) <= 0.09
    assert 0.4 < np.mean(np.array(p) < 0.5) < 0.6


def test_classes_with_prior_zero_stay_out_and_impossible_rows_have_no_weight() -> None:
    X = [["u"], ["u"], ["v"], ["w"], ["w"]]
    model = tb.CategoricalNB(alpha=0.0, class_prior=[0.5, 0.5, 0.0]).fit(X, ["a", "a", "b", "c", "c"])
    found = model.adapt_prior([["u"], ["u"], ["u"], ["v"], ["w"]])
    assert found.prior.tolist() == [0.75, 0.25, 0.0]
    assert found.n_rows == 4
    assert found.standard_error[2] == 0
    np.testing.assert_allclose(found.standard_error[:2], np.sqrt(0.75 * 0.25 / 4))  # fully labelled: a binomial
    assert found.statistic == pytest.approx(2 * (3 * np.log(0.75 / 0.5) + np.log(0.25 / 0.5)))
    assert "a: 0.500 → 0.750 ± 0.217" in str(found)
    with pytest.raises(TableError, match="No row of X is possible under any class"):
        model.adapt_prior([["w"], ["w"]])


def test_counted_shares_by_hand() -> None:
    """Rows that show their class: the statistic is the G-test of two samples."""
    model = tb.CategoricalNB(alpha=0.0).fit([["u"]] * 30 + [["v"]] * 10, ["a"] * 30 + ["b"] * 10)
    found = model.adapt_prior([["u"]] * 10 + [["v"]] * 20)
    table, both = np.array([[30, 10], [10, 20]]), np.array([40, 30]) / 70
    expected = table.sum(axis=1, keepdims=True) * both
    assert found.statistic == pytest.approx(2 * (table * np.log(table / expected)).sum(), rel=1e-6)


def test_shares_that_cannot_be_distinguished() -> None:
    X = np.array([[0.0], [1.0], [0.0], [1.0], [9.0], [10.0]])
    model = tb.GaussianNB().fit(X, ["a", "a", "b", "b", "c", "c"])
    found = model.adapt_prior([[0.5], [0.4], [9.5], [9.4]])
    assert found.standard_error[:2].tolist() == [np.inf, np.inf]
    assert np.isfinite(found.standard_error[2])
    assert found.prior[2] == pytest.approx(0.5)
    one = tb.GaussianNB().fit(X, ["a"] * 6).adapt_prior(X)
    assert (one.prior.tolist(), one.p_value, one.standard_error.tolist()) == ([1.0], 1.0, [0.0])


def test_a_prior_next_to_nothing() -> None:
    rng = np.random.default_rng(0)
    X, y = two_gaussians(rng, 0.5, 400)
    for least in (1e-320, 1e-250, 1e-12):
        found = tb.GaussianNB(priors=[1 - least, least]).fit(X, y).adapt_prior(X)
        np.testing.assert_allclose(found.prior, tb.GaussianNB().fit(X, y).adapt_prior(X).prior, atol=1e-3)
        assert np.isfinite(found.statistic)
        assert found.converged


@pytest.mark.parametrize("options", [{"tol": v} for v in ("1e-6", -1e-6, np.nan, np.inf, None, True)])
def test_a_tolerance_that_is_none_is_refused(options: dict[str, Any]) -> None:
    model = tb.GaussianNB().fit([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1])
    with pytest.raises(OptionError, match="tol must be a finite number"):
        model.adapt_prior([[1.0]], **options)
    for steps in (0, -1, 2.5, "9", True):
        with pytest.raises(OptionError, match="max_iter must be a whole number"):
            model.adapt_prior([[1.0]], max_iter=steps)


def test_it_warns_when_it_did_not_converge() -> None:
    rng = np.random.default_rng(0)
    model = tb.GaussianNB().fit(*two_gaussians(rng, 0.5, 200))
    with pytest.warns(ConvergenceWarning, match="after 1 steps"):
        assert not model.adapt_prior(two_gaussians(rng, 0.1, 200)[0], max_iter=1).converged
    with pytest.raises(NotFittedError):
        tb.GaussianNB().adapt_prior([[1.0]])
    with pytest.raises(NotFittedError):
        tb.GaussianNB().with_prior("uniform")
