"""The leave-one-out kernel against the definition: every row taken out of the sums, every covariance inverted."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import tallybayes as tb
from tallybayes import _core
from tallybayes.data.encoding import Numbers
from tallybayes.estimators.gaussian_discriminant import left_prior
from tallybayes.model.leave_one_out import full_grid

ALPHAS, GAMMAS = np.array([0.0, 0.4, 1.0]), np.array([0.0, 0.1, 0.6, 1.0])


def oracle(X: Any, y: Any, w: Any, alphas: Any, gammas: Any, ddof: int = 0) -> Any:
    K, (_, d) = y.max() + 1, X.shape
    n = np.bincount(y, weights=w)
    mean = np.stack([w[y == k] @ X[y == k] / n[k] for k in range(K)])
    S = np.stack([(X[y == k] - mean[k]).T * w[y == k] @ (X[y == k] - mean[k]) for k in range(K)])
    e, r = X - mean[y], np.minimum(w, 1.0)
    gone = (r * n[y] / (n[y] - r))[:, None, None] * e[:, :, None] * e[:, None, :]
    loss = np.empty((len(alphas), len(gammas)))
    for a, alpha in enumerate(alphas):
        for g, gamma in enumerate(gammas):
            score = np.empty((len(y), K))
            for k in range(K):
                mine = y == k
                left = n[k] - r * mine
                own = (S[k] - gone * mine[:, None, None]) / (left - ddof)[:, None, None]
                pooled = (S.sum(axis=0) - gone) / (n.sum() - r - ddof * K)[:, None, None]
                cov = alpha * own + (1 - alpha) * pooled
                level = np.trace(cov, axis1=1, axis2=2) / d
                cov = (1 - gamma) * cov + gamma * level[:, None, None] * np.eye(d)
                z = X - mean[k] + np.where(mine, r / left, 0.0)[:, None] * e
                distance = np.einsum("ni,ni->n", z, np.linalg.solve(cov, z[:, :, None])[:, :, 0])
                score[:, k] = np.log(left) - 0.5 * (np.linalg.slogdet(cov)[1] + distance)
            own_score = score[np.arange(len(y)), y]
            loss[a, g] = w @ (np.logaddexp.reduce(score, axis=1) - own_score) / w.sum()
    return loss


def ours(X: Any, y: Any, w: Any, alphas: Any = ALPHAS, gammas: Any = GAMMAS, ddof: int = 0) -> Any:
    model = tb.GaussianDiscriminant(own_covariance=0.5, ddof=ddof).fit(X, y, sample_weight=w)
    block, codes = model.fitted_.terms[0].distribution, y.astype(np.int32)
    s, prior = model.fitted_.terms[0].statistics, left_prior(model.fitted_, None)
    return full_grid.losses(Numbers(X, None), codes, w, s, prior, alphas, gammas, block)  # type: ignore[arg-type]


def table(n: int, d: int, K: int, apart: float = 1.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(n + d)
    y = rng.integers(K, size=n)
    y[: 3 * K] = np.arange(3 * K) % K
    X = rng.normal(size=(n, d)) @ rng.normal(size=(K, d, d))[0] + apart * rng.normal(size=(K, d))[y]
    X[y == 1] *= 1.5
    return X, y


@pytest.fixture(params=[0, 1, 2], ids=["base", "avx2", "avx512"])
def isa(request: Any) -> Any:
    _core.limit_isa(request.param)
    if _core.isa() != request.param:
        _core.limit_isa(2)
        pytest.skip("not on this processor")
    yield request.param
    _core.limit_isa(2)


@cache
def defined(n: int, d: int) -> Any:
    """Slow, and the same for every instruction set."""
    return oracle(*table(n, d, 3), np.ones(n), ALPHAS, GAMMAS)


# few rows: by division; some: series, the rest in single precision; many: the cross terms too
@pytest.mark.parametrize(("n", "d"), [(60, 4), (900, 1), (3000, 5), (9000, 3), (5000, 14)])
def test_losses_are_those_of_the_definition(n: int, d: int, isa: int) -> None:  # noqa: ARG001
    X, y = table(n, d, 3)
    np.testing.assert_allclose(
        ours(X, y, np.ones(n)), defined(n, d), rtol=1e-9, atol=1e-15
    )  # ours may have 1e-58 for 0


def test_outliers_and_distant_classes() -> None:
    X, y = table(9000, 4, 3, apart=30.0)
    X[::500] *= 40.0
    want = oracle(X, y, np.ones(9000), ALPHAS, GAMMAS)
    np.testing.assert_allclose(ours(X, y, np.ones(9000)), want, rtol=1e-9, atol=1e-15)
    X[y == 2] += 1e9  # no row can be mistaken
    assert np.isfinite(ours(X, y, np.ones(9000))[1:, 1:]).all()


@pytest.mark.parametrize("ddof", [0, 1])
def test_weights(ddof: int) -> None:
    X, y = table(800, 3, 3)
    rng = np.random.default_rng(0)
    w = rng.choice([0.25, 0.5, 1.0, 2.0, 7.5], size=800)
    np.testing.assert_allclose(ours(X, y, w, ddof=ddof), oracle(X, y, w, ALPHAS, GAMMAS, ddof), rtol=1e-9)
    many = rng.uniform(0.1, 3.0, size=800)  # more weights below 1 than divisors: off by far less than a row
    np.testing.assert_allclose(ours(X, y, many, ddof=ddof), oracle(X, y, many, ALPHAS, GAMMAS, ddof), rtol=1e-4)


def test_without_shrinkage_the_units_of_columns_do_not_matter() -> None:
    X, y = table(800, 4, 3)
    w = np.random.default_rng(0).choice([0.5, 1.0, 2.0], size=800)
    apart = X * [1e-3, 1.0, 1e3, 1e6]
    want = np.hstack([oracle(X, y, w, ALPHAS, GAMMAS[:1]), oracle(apart, y, w, ALPHAS, GAMMAS[1:])])
    np.testing.assert_allclose(ours(apart, y, w), want, rtol=1e-9)
    farther = X * [1e-12, 1.0, 1e6, 1e12]
    np.testing.assert_allclose(ours(farther, y, w, gammas=GAMMAS[:1]), want[:, :1], rtol=1e-9)


def test_redundant_columns_change_nothing_without_shrinkage() -> None:
    X, y = table(120, 4, 3)
    want = ours(X, y, np.ones(120), gammas=GAMMAS[:1])
    assert np.isfinite(want).all()
    for more in (np.full((120, 1), 3e9), X[:, :1], X @ [[1.0], [2.0], [-1e3], [1e-3]], np.hstack([X * 1e6, X - 1e4])):
        np.testing.assert_allclose(ours(np.hstack([X, more]), y, np.ones(120), gammas=GAMMAS[:1]), want, rtol=1e-7)


@pytest.mark.parametrize("scale", [1e-150, 1e-76, 1e76, 1e150, 6e152, 1e153, 1e154, 1e300])
@pytest.mark.parametrize(
    "options",
    [{}, {"own_covariance": 1.0}, {"own_covariance": "auto"}, {"own_covariance": "auto", "shrinkage": "auto"}],
)
def test_scales_at_the_ends_of_float64_change_nothing_or_are_refused(options: Any, scale: float) -> None:
    X, y = table(60, 4, 3)
    want = tb.GaussianDiscriminant(**options).fit(X, y)
    model = tb.GaussianDiscriminant(**options)
    if scale < 1e151:
        np.testing.assert_allclose(model.fit(X * scale, y).predict_proba(X * scale), want.predict_proba(X), atol=1e-9)
        return
    with pytest.raises(tb.errors.TableError, match="Rescale"):
        model.fit(X * scale, y)


@pytest.mark.parametrize("d", [1, 3, 300])
def test_rows_that_are_all_the_same(d: int) -> None:
    for make in (tb.RegularizedDiscriminantAnalysis, lambda: tb.GaussianDiscriminant(own_covariance="auto")):
        model = make().fit(np.ones((6, d)), [0, 0, 0, 0, 1, 1])
        np.testing.assert_allclose(model.predict_proba(np.ones((1, d))), [[4 / 6, 2 / 6]])


def test_any_number_of_threads_gives_the_same_bits() -> None:
    from threadpoolctl import threadpool_limits

    X, y = table(2000, 6, 4)
    with threadpool_limits(1):
        one = ours(X, y, np.ones(2000))
    with threadpool_limits(3):
        assert ours(X, y, np.ones(2000)).tobytes() == one.tobytes()


def test_other_kinds_of_tables_give_the_same_losses() -> None:
    from scipy import sparse

    X, y = table(500, 4, 3)
    want = tb.RegularizedDiscriminantAnalysis().fit(X, y)
    for other in (np.asfortranarray(X), sparse.csr_matrix(X), [list(row) for row in X]):
        model = tb.RegularizedDiscriminantAnalysis().fit(other, y)
        assert (model.own_covariance_, model.shrinkage_) == (want.own_covariance_, want.shrinkage_)
    holes = np.vstack([X, np.full((5, 4), np.nan)])  # rows without any value take no part
    model = tb.RegularizedDiscriminantAnalysis().fit(holes, np.append(y, [0, 1, 2, 0, 1]))
    assert (model.own_covariance_, model.shrinkage_) == (want.own_covariance_, want.shrinkage_)


def test_what_is_not_there_is_refused() -> None:
    X, y = table(40, 2, 2)
    call: dict[str, Any] = {
        "mean": np.zeros((2, 2)),
        "low": np.zeros((2, 2)),
        "prior": np.zeros(2),
        "row": np.arange(40, dtype=np.uint32),
        "start": np.array([0, 20, 40]),
        "about": np.ones((5, 40)),
        "vector": np.eye(2)[None],
        "value": np.ones((1, 2)),
        "frames": np.array([[0.0], [2.0], [1.0]]),
        "log_det": np.zeros((1, _core.LOG_DET_TERMS, 1)),
        "frame": np.zeros((1, 2, 2), np.int32),
        "gamma": np.array([0.5]),
        "outside": 0,
    }
    columns = Numbers(X, None).columns

    def losses(changed: dict[str, Any]) -> Any:
        c = {**call, **changed}
        rows = _core.LeaveOneOutRows(c["row"], c["start"], c["about"])
        frames = _core.Frames(c["vector"], c["value"], c["frames"], c["log_det"], c["gamma"])
        return _core.leave_one_out_losses(
            columns, c["mean"], c["low"], c["prior"], rows, frames, c["frame"], c["outside"]
        )

    assert np.isfinite(losses({})).all()
    for wrong in (
        {"row": call["row"] + 1},
        {"start": np.array([0, 20, 41])},
        {"frame": call["frame"] + 1},
        {"prior": np.zeros(3)},
        {"low": np.zeros((1, 2))},
        {"start": np.array([0, 40])},
        {"start": np.empty(0, np.int64)},
        {"about": np.ones((5, 39))},
        {"vector": np.eye(3)[None], "value": np.ones((1, 3))},
        {"value": np.ones((2, 2))},
        {"gamma": np.array([0.5, 1.0])},
    ):
        with pytest.raises(ValueError, match=r"is not there|must be"):
            losses(wrong)
    sizes = _core.class_distances(columns, np.where(y == 0, 0, 5).astype(np.int32), np.zeros((1, 2)), np.zeros((1, 2)))
    np.testing.assert_allclose(sizes, np.where(y == 0, np.square(X).sum(axis=1), np.nan))
