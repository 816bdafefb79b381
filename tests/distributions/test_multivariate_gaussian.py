"""The tally of a Gaussian block, its covariances and its densities, against slow and obvious NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

import tallybayes as tb
from tallybayes.data.encoding import Numbers
from tallybayes.distributions.context import Context
from tallybayes.distributions.multivariate import gaussian_moments
from tallybayes.distributions.multivariate.gaussian_statistics import (
    CompactStatistics,
    PairedStatistics,
    WideStatistics,
)
from tallybayes.distributions.multivariate.multivariate_gaussian import GaussianBlock
from tallybayes.distributions.statistics import arrays_of
from tallybayes.errors import ForgetError, OptionError

seeds = st.integers(0, 10_000)


def rows(seed: int, n: int = 40, d: int = 3, gaps: float = 0.0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3 * rng.normal(size=d)
    X[rng.random(X.shape) < gaps] = np.nan
    return X, rng.integers(0, 3, n).astype(np.int32), rng.integers(1, 4, n).astype(float)


def count(X: Any, y: Any, w: Any, pooled: bool = False, K: int = 3) -> Any:
    return gaussian_moments.count(Numbers(np.ascontiguousarray(X), None), y, w, K, pooled)


def written(s: Any) -> Any:
    """Without the rows of a wide tally."""
    return s.written(False)


def close(a: Any, b: Any, tol: float = 1e-10) -> None:
    assert type(a) is type(b)
    for key, value in arrays_of(a).items():
        other = getattr(b, key)
        np.testing.assert_allclose(value, other, rtol=tol, atol=tol * np.abs(other).max(initial=1.0), err_msg=key)


def pair_oracle(X: Any, y: Any, w: Any, k: int, i: int, j: int) -> tuple[float, float, float]:
    here = (y == k) & ~np.isnan(X[:, i]) & ~np.isnan(X[:, j])
    n = w[here].sum()
    if n == 0:
        return 0.0, 0.0, 0.0
    a, b = (np.average(X[here, c], weights=w[here]) for c in (i, j))
    return n, a, (w[here] * (X[here, i] - a) * (X[here, j] - b)).sum()


@pytest.mark.parametrize("gaps", [0.0, 0.3])
@given(seed=seeds)
def test_the_statistics_are_what_they_are_named(gaps: float, seed: int) -> None:
    X, y, w = rows(seed, gaps=gaps)
    s = count(X, y, w)
    for k in range(3):
        for i in range(3):
            for j in range(3):
                n, mean, product = pair_oracle(X, y, w, k, i, j)
                at = (k, i, j) if isinstance(s, PairedStatistics) else k
                np.testing.assert_allclose(s.n[at], n)
                np.testing.assert_allclose(s.mean[at if isinstance(s, PairedStatistics) else (k, i)], mean, atol=1e-10)
                np.testing.assert_allclose(s.scatter[k, i, j], product, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("gaps", [(0.0, 0.0), (0.3, 0.0), (0.3, 0.3)])
@given(seed=seeds)
def test_adding_and_subtracting(pooled: bool, gaps: tuple[float, float], seed: int) -> None:
    (A, y, w), (B, z, v) = rows(seed, gaps=gaps[0]), rows(seed + 1, 15, gaps=gaps[1])
    a, b = count(A, y, w, pooled), count(B, z, v, pooled)
    whole = count(np.vstack([A, B]), np.concatenate([y, z]), np.concatenate([w, v]), pooled)
    both = gaussian_moments.combine(a, b, 1, pooled)
    close(both, whole)
    left = gaussian_moments.combine(both, b, -1, pooled)
    close(left, a.paired() if isinstance(left, PairedStatistics) else a, 1e-9)
    twice = a.scaled(2.0)
    close(twice, count(A, y, 2 * w, pooled))


@settings(max_examples=5)
@given(seed=seeds)
def test_the_wide_form_is_the_same_tally(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 300)) + 5, rng.integers(0, 3, 60).astype(np.int32)
    w = rng.integers(1, 3, 60).astype(float)
    a, b = count(X[:35], y[:35], w[:35]), count(X[35:], y[35:], w[35:])
    assert isinstance(a, WideStatistics)
    both = gaussian_moments.combine(a, b, 1, False)
    assert isinstance(both, WideStatistics)
    plain = _core_scatter(X, y, w)
    close(written(both), plain)
    left = gaussian_moments.combine(both, b, -1, False)
    close(written(left), _core_scatter(X[:35], y[:35], w[:35]), 1e-9)
    with pytest.raises(ForgetError):
        gaussian_moments.combine(a, b.scaled(100.0), -1, False)


def _core_scatter(X: Any, y: Any, w: Any) -> Any:
    from tallybayes import _core

    n, mean, low, scatter, _ = _core.scatter(_core.Columns(X), y, w, 3, False)
    return CompactStatistics(n, mean, low, scatter)


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("gamma", [0.0, 0.4])
def test_covariances_and_densities(ddof: int, alpha: float, gamma: float) -> None:
    X, y, w = rows(3, 80)
    model = tb.GaussianDiscriminant(own_covariance=alpha, shrinkage=gamma, ddof=ddof).fit(X, y, sample_weight=w)
    own = [np.cov(X[y == k].T, fweights=w[y == k].astype(int), ddof=ddof) for k in range(3)]
    n = np.array([w[y == k].sum() for k in range(3)])
    pooled = sum(c * (m - ddof) for c, m in zip(own, n, strict=True)) / (n.sum() - 3 * ddof)
    joint = model.predict_joint_log_proba(X)
    gone = X.copy()
    gone[::2, 1] = np.nan
    partly = model.predict_joint_log_proba(gone)
    for k in range(3):
        cov = alpha * own[k] + (1 - alpha) * pooled
        cov = (1 - gamma) * cov + gamma * np.trace(cov) / 3 * np.eye(3)
        got = model.covariance_ if alpha == 0 else model.covariance_[k]
        np.testing.assert_allclose(got, cov, rtol=1e-10, atol=1e-12)
        mean = np.average(X[y == k], axis=0, weights=w[y == k])
        np.testing.assert_allclose(model.means_[k], mean)
        log_prior = np.log(n[k] / n.sum())
        np.testing.assert_allclose(joint[:, k], multivariate_normal(mean, cov).logpdf(X) + log_prior, rtol=1e-9)
        some = multivariate_normal(mean[[0, 2]], cov[np.ix_([0, 2], [0, 2])]).logpdf(X[::2][:, [0, 2]])
        np.testing.assert_allclose(partly[::2, k], some + log_prior, rtol=1e-9)
        np.testing.assert_allclose(partly[1::2, k], joint[1::2, k], rtol=1e-12)


def test_missing_values_take_the_pairs_that_are_there() -> None:
    X, y, w = rows(5, 200, gaps=0.2)
    model = tb.QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y, sample_weight=w)
    n, _, product = pair_oracle(X, y, w, 1, 0, 2)
    statistics = model.fitted_.terms[0].statistics
    np.testing.assert_allclose(statistics.n[1][0, 2], n)
    np.testing.assert_allclose(statistics.scatter[1][0, 2], product)
    assert np.isfinite(model.predict_joint_log_proba(X)).all()
    nothing = np.full((1, 3), np.nan)
    np.testing.assert_allclose(model.predict_proba(nothing)[0], model.priors_)


@pytest.mark.parametrize(("alpha", "gamma"), [(0.0, 0.0), (1.0, 0.3), (0.5, 0.3)])
def test_wide_and_dense_give_the_same_answers(alpha: float, gamma: float, monkeypatch: Any) -> None:
    rng = np.random.default_rng(0)
    X, y, new = rng.normal(size=(120, 300)), rng.integers(0, 3, 120), rng.normal(size=(9, 300))
    wide = tb.GaussianDiscriminant(own_covariance=alpha, shrinkage=gamma).fit(X, y)
    assert isinstance(wide.fitted_.terms[0].statistics, WideStatistics)
    monkeypatch.setattr(gaussian_moments, "MIN_WIDE_COLUMNS", 10**9)
    full = tb.GaussianDiscriminant(own_covariance=alpha, shrinkage=gamma).fit(X, y)
    gone = new.copy()
    gone[:, ::7] = np.nan
    for rows_, tol in ((new, 1e-9), (gone, 1e-6)):
        a, b = wide.predict_joint_log_proba(rows_), full.predict_joint_log_proba(rows_)
        np.testing.assert_allclose(a, b, rtol=tol)
        np.testing.assert_array_equal(wide.predict(rows_), full.predict(rows_))
    np.testing.assert_allclose(wide.describe(3)[0]["variance"], full.describe(3)[0]["variance"])
    A, b = wide.quadratic()[:2], full.quadratic()[:2]
    np.testing.assert_allclose(A[0], b[0], rtol=1e-6, atol=1e-6 * np.abs(b[0]).max())


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_wide_and_dense_explain_alike(alpha: float, monkeypatch: Any) -> None:
    rng = np.random.default_rng(1)
    X, y, new = rng.normal(size=(60, 270)), rng.integers(0, 3, 60), rng.normal(size=(5, 270))
    X[:, 1] += 3 * X[:, 0]
    new[1, ::5] = new[2] = np.nan
    wide = tb.GaussianDiscriminant(own_covariance=alpha, shrinkage=0.3).fit(X, y)
    assert isinstance(wide.fitted_.terms[0].statistics, WideStatistics)
    found = wide.explain(new)
    np.testing.assert_allclose(found.log_joint, wide.predict_joint_log_proba(new), rtol=1e-8)
    assert not found.log_likelihood[2].any()
    monkeypatch.setattr(gaussian_moments, "MIN_WIDE_COLUMNS", 10**9)
    full = tb.GaussianDiscriminant(own_covariance=alpha, shrinkage=0.3).fit(X, y).explain(new)
    np.testing.assert_allclose(found.log_likelihood, full.log_likelihood, rtol=1e-6, atol=1e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("far", [1e150, 1e200, -1.7e308, [1e308, -1e308]])
@pytest.mark.parametrize("gap", [False, True])
def test_a_wide_model_answers_what_is_beyond_all_numbers(far: Any, gap: bool) -> None:
    rng = np.random.default_rng(1)
    model = tb.GaussianDiscriminant(own_covariance=0.5, shrinkage=0.3).fit(rng.normal(size=(60, 270)), [0, 1, 2] * 20)
    new = rng.normal(size=(2, 270))
    plain = model.predict_proba(new[1:])
    new[0, :2] = far
    new[0, 5] = np.nan if gap else 0.0
    joint = model.predict_joint_log_proba(new)
    assert (joint[0] < -1e250).all()  # not NaN
    np.testing.assert_allclose(model.explain(new).log_joint, joint, rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(new).sum(axis=1), 1.0)
    np.testing.assert_allclose(model.predict_proba(new)[1:], plain, rtol=1e-12)


def test_samples_have_the_moments_of_the_model() -> None:
    X, y, _ = rows(7, 100)
    for model in (tb.QuadraticDiscriminantAnalysis(), tb.LinearDiscriminantAnalysis()):
        model.fit(X, y)
        drawn, labels = model.sample(40_000, y=1, random_state=0)
        assert (labels == 1).all()
        s = GaussianBlock(own_covariance=1.0 if isinstance(model, tb.QuadraticDiscriminantAnalysis) else 0.0)
        p = s.estimate(model.fitted_.terms[0].statistics, Context(model.fitted_.weight))
        precision = p.factor_of(1)
        z = (drawn - model.means_[1]) @ precision.T
        np.testing.assert_allclose(np.cov(z.T), np.eye(3), atol=0.05)
        np.testing.assert_allclose(z.mean(axis=0), 0, atol=0.05)


@pytest.mark.parametrize(
    "bad",
    [{"own_covariance": 2.0}, {"own_covariance": "some"},
     {"shrinkage": -0.1}, {"shrinkage": "much"}, {"ddof": 2}, {"tol": -1.0},
     {"covariance": "round"}, {"covariance": "spherical", "shrinkage": "auto"},
     {"own_covariance": "auto", "shrinkage": "oas"},
     {"covariance": "spherical", "shrinkage": 0.3}, {"covariance": "spherical", "shrinkage": "oas"}],
)  # fmt: skip
def test_options_that_are_refused(bad: Any) -> None:
    X, y, _ = rows(0)
    with pytest.raises(OptionError):
        tb.GaussianDiscriminant(**bad).fit(X, y)
