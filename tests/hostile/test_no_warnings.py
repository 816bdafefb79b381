"""Numbers of any finite size: an answer or an error of the library, and never a warning of NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.distributions.multivariate.covariance import mended
from tallybayes.errors import TableError, TallybayesError
from tests.hostile.broken_files import from_bytes, to_bytes

Y = np.array(["a", "b", "c", "a", "b", "c", "a", "b", "c", "a", "b", "a"])


@pytest.fixture(autouse=True)
def _no_warning_of_numpy() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def rows(seed: int, n: int = 12, d: int = 3) -> Any:
    return np.random.default_rng(seed).normal(size=(n, d))


def sound(model: Any, X: Any) -> None:
    """Probabilities are such, nothing is NaN, and a file takes it."""
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    for ask in ("predict_log_proba", "predict_joint_log_proba", "score_samples"):
        assert not np.isnan(getattr(model, ask)(X)).any()
    np.testing.assert_array_equal(from_bytes(to_bytes(model)).predict_proba(X), P)


MAKERS: list[Any] = [
    tb.GaussianNB,
    lambda: tb.GaussianNB(tempered=True),
    tb.KernelNB,
    lambda: tb.KernelNB(tempered=True),
    tb.GaussianDiscriminant,
    lambda: tb.GaussianDiscriminant(own_covariance=0.5),
    lambda: tb.GaussianDiscriminant(own_covariance="auto", shrinkage="auto"),
    lambda: tb.GaussianDiscriminant("diagonal", own_covariance=0.5),
    lambda: tb.GaussianDiscriminant("diagonal", own_covariance=0.5, shrinkage="ledoit-wolf"),
    lambda: tb.GaussianDiscriminant("spherical", own_covariance=1.0),
    lambda: tb.GaussianDiscriminant(shrinkage="oas"),
    lambda: tb.LinearDiscriminantAnalysis(shrinkage="auto"),
    tb.QuadraticDiscriminantAnalysis,
    lambda: tb.TAN(cuts=None),
    lambda: tb.BayesClassifier(members=3),
]


@pytest.mark.parametrize("power", [-320, -300, -160, -100, 100, 150, 154, 300, 307])
@pytest.mark.parametrize("make", MAKERS)
def test_one_large_or_small_column_now_or_later(make: Any, power: int) -> None:
    """Learned at once, and added to rows of ordinary size; asked of rows of both kinds."""
    X, far = rows(0), rows(1)
    far[:, 1] *= 10.0**power
    gaps = far.copy()
    gaps[::4, 0] = np.nan
    for learn in (lambda m: m.fit(far, Y), lambda m: m.fit(gaps, Y), lambda m: m.fit(X, Y).partial_fit(far, Y)):
        try:
            model = learn(make())
        except TallybayesError:
            continue
        for asked in (X, far, gaps):
            sound(model, asked)
        model.explain(gaps).text(0)


def test_weights_of_any_size() -> None:
    for make in (tb.GaussianNB, tb.QuadraticDiscriminantAnalysis, lambda: tb.BayesClassifier(members=3)):
        for weight in (1e-300, 1e20, 1e240):
            X = rows(2)
            sound(make().fit(X, Y, sample_weight=np.full(12, weight)), X)
        mixed = np.where(np.arange(12) < 4, 1e-200, 1.0)
        sound(make().fit(rows(3), Y, sample_weight=mixed), rows(3))


@pytest.mark.parametrize("power", [-160, -100, -54, -20])
def test_the_root_of_a_class_hardly_wide_beside_the_others(power: int) -> None:
    """Two rows in four columns: a root was rounded to 0, so that log|Σ| = −∞ and probabilities did not sum to 1."""
    rng = np.random.default_rng(0)
    narrow, wide = rng.normal(size=(2, 4)) * 10.0**power, rng.normal(size=(9, 4))
    unit = np.sqrt(np.square(wide).sum(axis=0))
    root = mended(narrow.T @ narrow, (wide.T @ wide) / unit / unit[:, None], 1e-4)
    assert np.isfinite(root).all()
    assert (np.diag(root) > 0).all()


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_counts_of_any_size(alpha: float) -> None:
    """x log λ and log x! are both too large for a number, and ∞ − ∞ is none."""
    X = np.array([[1e307, 0.0], [1e307, 2.0], [3.0, 1.0], [4.0, 1.0]])
    model = tb.PoissonNB(alpha=alpha).fit(X, [0, 0, 1, 1])
    sound(model, X)
    sound(tb.PoissonNB(alpha=alpha).fit(X[2:], [0, 1]), X)
    assert model.predict(X).tolist() == [0, 0, 1, 1]


def test_spreads_whose_squares_are_nothing() -> None:
    X = np.array([[0.0], [1e-160], [0.0], [1e-165], [0.0], [2e-160]])
    sound(tb.GaussianNB(var_smoothing=0.0).fit(X, [0, 0, 1, 1, 0, 0]), X)


def test_what_is_too_large_is_reported_with_its_column() -> None:
    model = tb.GaussianNB().fit(rows(0), Y)
    before = model.predict_proba(rows(0))
    with pytest.raises(TableError, match="Column 'x1' has values of the size of"):
        model.partial_fit(rows(1) * [1.0, 1e200, 1.0], Y)
    np.testing.assert_array_equal(model.predict_proba(rows(0)), before)
