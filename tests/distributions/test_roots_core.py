"""Roots of inverse covariances, eigenvectors of many small matrices, threads: beside SciPy, with any number of them."""

from __future__ import annotations

import os
import threading
import warnings
from typing import Any

import numpy as np
import pytest
import scipy
from threadpoolctl import threadpool_limits

import tallybayes as tb
from tallybayes import _core


def covariances(K: int, d: int, graded: float = 0.0) -> Any:
    rng = np.random.default_rng(d)
    A = rng.normal(size=(K, d, 2 * d + 1)) * np.logspace(0, graded, d)[:, None]
    return A @ A.swapaxes(1, 2)


def units(S: Any) -> Any:
    return np.ascontiguousarray(np.sqrt(np.einsum("kii->ki", S)))


@pytest.mark.parametrize("d", [1, 2, 11, 12, 48, 49, 100, 260])
@pytest.mark.parametrize("K", [1, 2, 5])
def test_roots(K: int, d: int) -> None:
    S = covariances(K, d, graded=3.0)
    F = S.copy()
    log_det, trace = _core.roots(F, units(S))
    for k in range(K):
        assert not np.triu(F[k], 1).any()
        np.testing.assert_allclose(F[k] @ S[k] @ F[k].T, np.eye(d), atol=1e-9)
        np.testing.assert_allclose(log_det[k], np.linalg.slogdet(S[k])[1], rtol=1e-12)
        scaled = S[k] / units(S)[k] / units(S)[k][:, None]
        np.testing.assert_allclose(trace[k], np.trace(np.linalg.inv(scaled)), rtol=1e-9)


def test_a_root_loses_no_more_than_lapack() -> None:
    """Nearly collinear columns: F S Fᵀ is as near to the identity as with a root from LAPACK."""
    rng = np.random.default_rng(0)
    d = 60
    A = rng.normal(size=(d, 200))
    A[d // 2 :] = A[: d // 2] + 1e-5 * A[d // 2 :]
    S = A @ A.T
    F = S[None].copy()
    _core.roots(F, units(S[None]))
    lower = np.linalg.inv(scipy.linalg.cholesky(S, lower=True))

    def error(root: Any) -> float:
        return float(np.abs(root @ S @ root.T - np.eye(d)).max())

    assert error(F[0]) < 10 * error(lower)


def test_what_is_not_positive_has_no_root() -> None:
    for bad in (np.diag([1.0, -1.0]), np.ones((2, 2)), np.full((2, 2), np.nan)):
        log_det, _ = _core.roots(np.stack([np.eye(2), bad]), np.ones((2, 2)))
        assert log_det[0] == 0
        assert np.isnan(log_det[1])


def test_normal_equations() -> None:
    for d, K in ((1, 1), (7, 3), (200, 10)):
        S = covariances(1, d)
        F, a = S.copy(), np.random.default_rng(1).normal(size=(K, d))
        _core.roots(F, units(S))
        weight, square = _core.solve_normal(F[0], a)
        want = np.linalg.solve(S[0], a.T).T
        np.testing.assert_allclose(weight, want, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(square, (a * want).sum(axis=1), rtol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3, 10, 50, 101])
@pytest.mark.parametrize("count", [1, 4, 7])
def test_eigenvectors(count: int, d: int) -> None:
    A = np.random.default_rng(d).normal(size=(count, d, d))
    low_rank = A[:, :, : max(1, d // 3)]
    for S in (A + A.swapaxes(1, 2), low_rank @ low_rank.swapaxes(1, 2), np.zeros((count, d, d))):
        value, vector = _core.eigen(np.ascontiguousarray(S))
        np.testing.assert_allclose(np.sort(value), np.linalg.eigvalsh(S), atol=1e-12 * d)
        np.testing.assert_allclose(vector @ vector.swapaxes(1, 2), np.broadcast_to(np.eye(d), S.shape), atol=1e-12)
        np.testing.assert_allclose(vector.swapaxes(1, 2) * value[:, None] @ vector, S, atol=1e-12 * d)


def test_eigenvectors_of_very_small_numbers() -> None:
    for e in np.logspace(-150, -308, 80).tolist():
        value, _ = _core.eigen(np.array([[[1.0, e, 0.0], [e, 2.0, e], [0.0, e, 3.0]]]))
        np.testing.assert_allclose(np.sort(value[0]), [1, 2, 3], rtol=1e-12)
    A = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    for scale in (1e-300, 1e-307, 1e300):
        value, _ = _core.eigen(A[None] * scale)
        np.testing.assert_allclose(np.sort(value[0]) / scale, np.linalg.eigvalsh(A), rtol=1e-12)
    assert np.isfinite(_core.eigen(A[None] * 1e-320)[0]).all()


def test_the_same_bits_for_any_number_of_threads() -> None:
    one, many = covariances(1, 300), covariances(9, 60)

    def everything() -> bytes:
        F, G = one.copy(), many.copy()
        parts = [*_core.roots(F, units(one)), F, *_core.roots(G, units(many)), G, *_core.eigen(many)]
        parts += _core.solve_normal(F[0], np.ascontiguousarray(one[0, :40]))
        return b"".join(part.tobytes() for part in parts)

    with threadpool_limits(1):
        want = everything()
    for threads in (2, 3, 5):
        with threadpool_limits(threads):
            assert everything() == want


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="must be"):
        _core.roots(np.ones((1, 2, 3)), np.ones((1, 2)))
    with pytest.raises(ValueError, match="must be"):
        _core.roots(np.ones((1, 2, 2)), np.ones((2, 2)))
    with pytest.raises(ValueError, match="must be"):
        _core.solve_normal(np.ones((2, 2)), np.ones((1, 3)))
    with pytest.raises(ValueError, match="must be"):
        _core.eigen(np.ones((1, 2, 3)))


def big() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(60_000, 8)), np.arange(60_000) % 3


def answers(X: Any, y: Any) -> bytes:
    return b"".join(
        m.fit(X, y).predict_proba(X).tobytes() for m in (tb.GaussianNB(), tb.QuadraticDiscriminantAnalysis())
    )


def test_a_forked_child_has_threads_of_its_own() -> None:
    X, y = big()
    want = answers(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: that is what is tested
        child = os.fork()
    if child == 0:
        os._exit(0 if answers(X, y) == want else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert answers(X, y) == want


def test_several_callers_at_once() -> None:
    X, y = big()
    want, found = answers(X, y), []
    callers = [threading.Thread(target=lambda: found.append(answers(X, y))) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert found == [want] * 4
