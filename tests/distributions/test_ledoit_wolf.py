"""Ledoit-Wolf shrinkage: scikit-learn's amounts, and the sums that let it add, forget, merge and decay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.datasets import load_wine

import tallybayes as tb
from tallybayes.data.encoding import Numbers
from tallybayes.distributions.multivariate import ledoit_wolf
from tallybayes.distributions.multivariate.diagonal_gaussian import GaussianAxes
from tallybayes.distributions.multivariate.gaussian_statistics import FourthStatistics, WeighedStatistics
from tallybayes.distributions.multivariate.multivariate_gaussian import GaussianBlock
from tallybayes.distributions.statistics import arrays_of
from tallybayes.errors import MergeError, OptionError, TableError
from tests.quick import examples

GDA = tb.GaussianDiscriminant
MODELS = {
    "LDA": lambda: tb.LinearDiscriminantAnalysis(shrinkage="auto"),
    "QDA": lambda: tb.QuadraticDiscriminantAnalysis(shrinkage="auto"),
    "between": lambda: GDA(own_covariance=0.5, shrinkage="ledoit-wolf", ddof=1),
    "diagonal": lambda: GDA("diagonal", own_covariance=1.0, shrinkage="ledoit-wolf"),
    "diagonal, shared": lambda: GDA("diagonal", shrinkage="ledoit-wolf"),
}


def same(a: Any, b: Any, tol: float = 1e-9) -> None:
    np.testing.assert_allclose(a, b, rtol=tol, atol=tol)


def numbers(X: Any) -> Numbers:
    return Numbers(np.ascontiguousarray(X), None)


def test_the_amounts_are_scikit_learns() -> None:
    X, y = load_wine(return_X_y=True)
    model = GDA(own_covariance=1.0, shrinkage="ledoit-wolf").fit(X, y)
    want = []
    for k in range(3):
        mine = X[y == k]
        want.append(ledoit_wolf_shrinkage((mine - mine.mean(axis=0)) / mine.std(axis=0)))
    same(model.shrinkage_, want)


def test_the_amounts_of_a_diagonal_covariance() -> None:
    """γ = Σ_j var(v_j) / Σ_j (v_j − level)²: the least expected squared error of (1 − γ) v + γ level."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)) * [1.0, 1.2, 0.8, 1.5, 1.0], np.arange(60) % 2
    model = GDA("diagonal", own_covariance=1.0, shrinkage="ledoit-wolf").fit(X, y)
    for k in (0, 1):
        square = np.square(X[y == k] - X[y == k].mean(axis=0))
        v = square.mean(axis=0)
        gamma = min(1.0, (square.var(axis=0) / 30).sum() / np.square(v - v.mean()).sum())
        assert 0 < gamma < 1
        same(model.shrinkage_[k], gamma)
        same(np.diag(model.covariance_[k]), (1 - gamma) * v + gamma * v.mean())


@pytest.mark.parametrize("name", MODELS)
def test_it_adds_forgets_merges_and_decays(name: str) -> None:
    X, y = load_wine(return_X_y=True)
    w = np.random.default_rng(0).uniform(0.2, 3.0, len(y))
    make = MODELS[name]
    whole = make().fit(X, y, sample_weight=w)
    a, b = slice(0, None, 3), np.arange(len(y)) % 3 > 0
    part = make().fit(X[a], y[a], sample_weight=w[a])
    more = make().fit(X[b], y[b], sample_weight=w[b])
    same(part.copy().partial_fit(X[b], y[b], sample_weight=w[b]).predict_log_proba(X), whole.predict_log_proba(X))
    both = part.copy().merge(more)
    same(both.predict_log_proba(X), whole.predict_log_proba(X))
    same(both.shrinkage_, whole.shrinkage_)
    same(whole.copy().forget(X[b], y[b], sample_weight=w[b]).shrinkage_, part.shrinkage_)
    half = make().fit(X, y, sample_weight=w / 2)
    same(whole.copy().decay(0.5).predict_log_proba(X), half.predict_log_proba(X))
    rest = make().fit(X[y > 0], y[y > 0], sample_weight=w[y > 0])
    same(whole.copy().forget(X[y == 0], y[y == 0], sample_weight=w[y == 0]).shrinkage_, rest.shrinkage_)
    same(make().fit(sparse.csr_matrix(X), y, sample_weight=w).shrinkage_, whole.shrinkage_)


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 1.0, 100.0]), st.sampled_from([1, -1]))
def test_moments_about_another_mean(seed: int, apart: float, sign: int) -> None:
    """Of A ∪ B, and of A ∪ B without B: as counted from the rows."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 30)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d)) + apart * rng.integers(0, 2, size=(n, 1))
    y, w = rng.integers(0, 2, n).astype(np.int32), rng.uniform(0.1, 2.0, n)
    cut = int(rng.integers(1, n))
    for family in (GaussianBlock(gamma="ledoit-wolf"), GaussianAxes(gamma="ledoit-wolf")):
        a, b, both = (family.add(numbers(X[r]), y[r], w[r], 2) for r in (slice(cut), slice(cut, n), slice(n)))
        got, want = (family.combine(a, b), both) if sign > 0 else (family.combine(both, b, -1), a)
        scale = np.abs(X - X.mean(axis=0)).max() ** 4 * n
        assert type(got) is type(want)
        for key, value in arrays_of(got).items():
            np.testing.assert_allclose(value, getattr(want, key), rtol=1e-9, atol=1e-10 * scale)


def test_moments_are_sums_over_rows() -> None:
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(40, 3)) + 5, np.arange(40, dtype=np.int32) % 2, rng.uniform(0.1, 2.0, 40)
    s = GaussianBlock(gamma="ledoit-wolf").add(numbers(X), y, w, 2)
    axes = GaussianAxes(gamma="ledoit-wolf").add(numbers(X), y, w, 2)
    assert isinstance(s, FourthStatistics)
    assert isinstance(axes, ledoit_wolf.MomentStatistics)
    for k in (0, 1):
        e = X[y == k] - np.average(X[y == k], axis=0, weights=w[y == k])
        same(s.third[k], np.einsum("i,ij,il->jl", w[y == k], e**2, e))
        same(s.fourth[k], np.einsum("i,ij,il->jl", w[y == k], e**2, e**2))
        same(axes.m3[k], np.diag(s.third[k]))
        same(axes.m4[k], np.diag(s.fourth[k]))


def test_more_columns_than_rows() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 300)), np.arange(90) % 3
    X[:, :20] += y[:, None]
    w = rng.uniform(0.5, 2.0, 90)
    model = tb.LinearDiscriminantAnalysis(shrinkage="auto").fit(X, y, sample_weight=w)
    s = model.fitted_.terms[0].statistics
    assert isinstance(s, WeighedStatistics)  # no d×d matrix is kept as long as rows do not come in parts
    whole = ledoit_wolf.written(s)
    same(ledoit_wolf.amounts(whole, whole.scatter), model.shrinkage_)
    parts = tb.LinearDiscriminantAnalysis(shrinkage="auto").fit(X[:50], y[:50], sample_weight=w[:50])
    parts.partial_fit(X[50:], y[50:], sample_weight=w[50:])
    same(parts.predict_log_proba(X), model.predict_log_proba(X), 1e-7)
    half = tb.LinearDiscriminantAnalysis(shrinkage="auto").fit(X, y, sample_weight=w / 2)
    same(model.decay(0.5).shrinkage_, half.shrinkage_)


def test_a_column_that_no_longer_varies() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    X[:, 2] = np.where(np.arange(40) < 6, rng.integers(-4, 5, 40) * 1e6, 0.0)
    left = MODELS["QDA"]().fit(X, y).forget(X[:6], y[:6])
    same(left.shrinkage_, MODELS["QDA"]().fit(X[6:], y[6:]).shrinkage_, 1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_a_file_holds_what_is_needed_to_add(name: str, tmp_path: Path) -> None:
    X, y = load_wine(return_X_y=True)
    model = MODELS[name]().fit(X[::2], y[::2])
    tb.save(model, tmp_path / "model.tb")
    again = tb.load(tmp_path / "model.tb")
    for m in (model, again):
        m.partial_fit(X[1::2], y[1::2])
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_what_is_refused() -> None:
    X, y = load_wine(return_X_y=True)
    gaps = X.copy()
    gaps[3, 3] = np.nan
    with pytest.raises(TableError, match="missing"):
        MODELS["LDA"]().fit(gaps, y)
    assert np.isfinite(MODELS["diagonal"]().fit(gaps, y).shrinkage_).all()  # column by column
    for name in ("QDA", "diagonal"):
        for scale in (1e-90, 1e72, 1e100):
            with pytest.raises(TableError, match="other units"):
                MODELS[name]().fit(X * scale, y)
    plain = GDA(own_covariance=1.0).fit(X, y)
    with pytest.raises(MergeError):
        GDA(own_covariance=1.0, shrinkage="ledoit-wolf").fit(X, y).merge(plain)
    with pytest.raises(OptionError, match="Fit again"):
        plain.set_params(shrinkage="ledoit-wolf").partial_fit(X, y)
    with pytest.raises(OptionError, match="Fit again"):  # one scatter for all classes is not one for each
        GDA(own_covariance=0.0).fit(X, y).set_params(own_covariance=1.0).partial_fit(X, y)
