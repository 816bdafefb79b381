"""Leave-one-out of diagonal and spherical discriminants: against fitting again without the row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_wine

import tallybayes as tb
from tallybayes import _core
from tallybayes.data.encoding import Numbers
from tallybayes.estimators.gaussian_discriminant import left_prior
from tallybayes.model.leave_one_out import diagonal_grid

GDA = tb.GaussianDiscriminant
ALPHAS, GAMMAS = (0.0, 0.4, 1.0), (0.0, 0.3, 1.0)
WEIGHTS = {
    "one": lambda _, n: np.ones(n),
    "whole": lambda rng, n: rng.integers(0, 4, n).astype(float),
    "part": lambda rng, n: rng.uniform(0.1, 2.5, n),
}


def brute_force(X: Any, y: Any, w: Any, **options: Any) -> float:
    """Fits again for every row that leaves something of its class, and of each of its columns in its class."""
    lost, counted = 0.0, 0.0
    for i in np.flatnonzero(w > 0):
        left = w.copy()
        left[i] -= min(w[i], 1.0)
        same = (y == y[i]) & (left > 0)
        if not same.any() or not (~np.isnan(X[same])).any(axis=0)[~np.isnan(X[i])].all():
            continue
        model = GDA(**options).fit(X, y, sample_weight=left)
        lost -= w[i] * model.predict_log_proba(X[i : i + 1])[0, model.classes_.tolist().index(y[i])]
        counted += w[i]
    return float(lost / counted)


def ours(X: Any, y: Any, w: Any, priors: Any = None, gammas: Any = GAMMAS, **options: Any) -> Any:
    model = GDA(**options).fit(X, y, sample_weight=w)
    axes: Any = model.fitted_.terms[0].distribution
    codes = y.astype(np.int32)
    return diagonal_grid.losses(
        Numbers(X, None),
        codes,
        w,
        model.fitted_.terms[0].statistics,
        left_prior(model.fitted_, priors),
        ALPHAS,
        gammas,
        axes,
    )


def table(n: int, d: int, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, d)) * np.exp(rng.normal(size=(3, d)))[y] + rng.normal(size=(3, d))[y] + 5
    return X, y, rng


def check(X: Any, y: Any, w: Any, covariance: str = "diagonal", priors: Any = None, **options: Any) -> None:
    gammas = GAMMAS if covariance == "diagonal" else (0.0,)
    got = ours(X, y, w, priors, gammas, covariance=covariance, **options)
    for a, alpha in enumerate(ALPHAS):
        for g, gamma in enumerate(gammas):
            more = {"shrinkage": gamma} if covariance == "diagonal" else {}
            want = brute_force(X, y, w, covariance=covariance, own_covariance=alpha, priors=priors, **more, **options)
            np.testing.assert_allclose(got[a, g], want, rtol=1e-9, err_msg=f"alpha {alpha}, gamma {gamma}")


@pytest.mark.parametrize("covariance", ["diagonal", "spherical"])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(("ddof", "priors"), [(0, None), (1, "laplace"), (0, "uniform")])
def test_losses_are_those_of_fitting_again(covariance: str, weights: str, ddof: int, priors: Any) -> None:
    X, y, rng = table(15, 3)
    check(X, y, WEIGHTS[weights](rng, 15), covariance, priors, ddof=ddof)


@pytest.mark.parametrize("covariance", ["diagonal", "spherical"])
def test_a_row_with_missing_values_takes_part_with_what_it_has(covariance: str) -> None:
    X, y, rng = table(20, 3)
    X[rng.random(X.shape) < 0.25] = np.nan
    X[3] = np.nan
    X[y == 1, 2] = np.nan  # a class that never saw a column
    X[(y == 0).nonzero()[0][1:], 0] = np.nan  # and one with a single value in one: its row takes no part
    check(X, y, rng.uniform(0.5, 1.5, 20), covariance)


HARD = {
    "a class of one row, and of two": lambda X, y: (X, np.where(np.arange(len(y)) == 4, 2, np.where(y == 2, 0, y))),
    "constant but for one row": lambda X, y: (np.column_stack([X, 3e6 + (np.arange(len(y)) == 5)]), y),
    "constant in each class": lambda X, y: (np.column_stack([X, y]), y),
    "constant": lambda X, y: (np.column_stack([X, np.full(len(y), 0.1)]), y),
    "columns of all sizes": lambda X, y: (X * [1e-12, 1.0, 1e12], y),
    "few rows": lambda X, y: (X[:6], y[:6]),
}


@pytest.mark.parametrize("hard", HARD)
@pytest.mark.parametrize("ddof", [0, 1])
def test_tables_without_variance(hard: str, ddof: int) -> None:
    X, y, _ = table(16, 3)
    X, y = HARD[hard](X, y)
    check(X, y, np.ones(len(y)), ddof=ddof)


def test_auto_takes_the_best_of_the_grid_and_keeps_it() -> None:
    X, y = load_wine(return_X_y=True)
    grid = np.linspace(0, 1, 11)
    model = GDA("diagonal", own_covariance="auto", shrinkage="auto").fit(X, y)
    axes: Any = model.fitted_.terms[0].distribution
    loss = diagonal_grid.losses(
        Numbers(X, None),
        y.astype(np.int32),
        None,
        model.fitted_.terms[0].statistics,
        left_prior(model.fitted_, None),
        grid,
        grid,
        axes,
    )
    a, g = np.unravel_index(np.argmin(loss), loss.shape)
    assert (model.own_covariance_, model.shrinkage_) == (grid[a], grid[g])
    fixed = GDA("diagonal", own_covariance=grid[a], shrinkage=grid[g]).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), fixed.predict_proba(X))
    for other in (X.tolist(), np.asfortranarray(X), sparse.csr_matrix(X)):
        again = GDA("diagonal", own_covariance="auto", shrinkage="auto").fit(other, y)
        assert (again.own_covariance_, again.shrinkage_) == (model.own_covariance_, model.shrinkage_)
    model.partial_fit(X[:20], y[:20]).forget(X[:20], y[:20])
    assert (model.own_covariance_, model.shrinkage_) == (grid[a], grid[g])
    np.testing.assert_allclose(model.predict_proba(X), fixed.predict_proba(X), atol=1e-9)
    sphere = GDA("spherical", own_covariance="auto").fit(X, y)
    one = diagonal_grid.losses(
        Numbers(X, None),
        y.astype(np.int32),
        None,
        sphere.fitted_.terms[0].statistics,
        left_prior(sphere.fitted_, None),
        grid,
        (0.0,),
        sphere.fitted_.terms[0].distribution,
    )  # type: ignore[arg-type]
    assert sphere.own_covariance_ == grid[np.argmin(one[:, 0])]
    assert GDA("diagonal", shrinkage="auto").fit(X, y).own_covariance_ == 0.0


def test_what_was_chosen_is_in_the_file(tmp_path: Any) -> None:
    X, y = load_wine(return_X_y=True)
    for options in ({"covariance": "diagonal", "shrinkage": "auto"}, {"covariance": "spherical"}):
        model = GDA(own_covariance="auto", **options).fit(X[::2], y[::2])
        tb.save(model, tmp_path / "model.tb")
        again = tb.load(tmp_path / "model.tb")
        assert (again.own_covariance_, again.shrinkage_) == (model.own_covariance_, model.shrinkage_)
        both = [m.partial_fit(X[1::2], y[1::2]).predict_proba(X) for m in (model, again)]
        np.testing.assert_array_equal(*both)
        assert again.own_covariance_ == model.own_covariance_


@pytest.mark.parametrize("isa", [0, 1, 2])
@pytest.mark.parametrize("d", [1, 5, 700])  # more columns than are multiplied together
def test_the_kernel(isa: int, d: int) -> None:
    _core.limit_isa(isa)
    try:
        if _core.isa() != isa:
            pytest.skip("not on this processor")
        rng = np.random.default_rng(d)
        n, K, alphas, gammas = 37, 3, np.array([0.0, 0.3, 1.0]), np.linspace(0, 1, 7)
        away, own = rng.exponential(size=(2, n, K, d)) * np.exp(rng.normal(size=d) * 20)
        shared, there = rng.exponential(size=(n, d)), (rng.random((n, d)) < 0.8)
        level, prior = rng.exponential(size=(n, K + 1)), rng.normal(size=(n, K))
        y, w = rng.integers(K, size=n).astype(np.int32), rng.random(n)
        rows = _core.AxisRows(away, own, shared, level, there.view(np.uint8))
        got = _core.leave_one_out_diagonal(rows, prior, y, w, alphas, gammas)
        for a, alpha in enumerate(alphas):
            for g, gamma in enumerate(gammas):
                v = (1 - gamma) * (alpha * own + (1 - alpha) * shared[:, None])
                v += gamma * (alpha * level[:, :K, None] + (1 - alpha) * level[:, K:, None])
                score = prior - 0.5 * ((np.log(v) + away / v) * there[:, None]).sum(axis=2)
                lost = np.logaddexp.reduce(score, axis=1) - score[np.arange(n), y]
                np.testing.assert_allclose(got[a, g], w @ lost, rtol=1e-11)
        with pytest.raises(ValueError, match="not there"):
            _core.leave_one_out_diagonal(rows, prior, y + 1, w, alphas, gammas)
        with pytest.raises(ValueError, match="must be"):
            _core.leave_one_out_diagonal(rows, prior[1:], y, w, alphas, gammas)
        with pytest.raises(ValueError, match="must be"):
            _core.AxisRows(away, own[1:], shared, level, there.view(np.uint8))
    finally:
        _core.limit_isa(2)


def test_any_number_of_threads_gives_the_same_bits() -> None:
    from threadpoolctl import threadpool_limits

    X, y, _ = table(700, 5)
    with threadpool_limits(1):
        one = ours(X, y, np.ones(700), covariance="diagonal")
    with threadpool_limits(3):
        assert ours(X, y, np.ones(700), covariance="diagonal").tobytes() == one.tobytes()
