"""A regularised Gaussian discriminant over codes: every level of a column stands for a number.

A level of a cut column stands for its place on the line (in units of the standard deviation), or for its normal score
(the normal quantile of its mid-rank); a frequent level of a category for an indicator. The numbers are chosen once, so
that the sums over rows (n, mean and centred scatter of each class) add up like all counts.

Covariance of class k, with S_k its scatter and S the sum of all:
    Σ_k = (1 − γ) [(1 − λ) S_k + λ S] / [(1 − λ) (n_k − 1) + λ (n − K)] + γ D,    D the diagonal of S / (n − K).
λ and γ are chosen by leave-one-out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from threadpoolctl import ThreadpoolController

from tallybayes import _core

Array = NDArray[Any]
Floats = NDArray[np.float64]

CHOICES = (  # of λ and γ
    (1.0, 0.0), (1.0, 0.1), (1.0, 0.5), (0.5, 0.0), (0.5, 0.1), (0.1, 0.0), (0.1, 0.1), (0.02, 0.02), (0.02, 0.2),
    (0.3, 0.5), (0.1, 0.9),
)  # fmt: skip


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looking for the libraries takes milliseconds


def one_thread() -> Any:
    """The same bits for any number of threads."""
    return _controller().limit(limits=1)


@dataclass(frozen=True, eq=False)
class Scale:
    """What the levels stand for: dimension i reads column[i], whose level v (last: missing) is value[start[i] + v]."""

    column: NDArray[np.int32]
    start: NDArray[np.int64]
    value: Floats

    def read(self, codes: Array) -> Floats:
        """(rows, dimensions) of packed codes."""
        out = np.empty((codes.shape[1], len(self.column)))
        for i, j in enumerate(self.column.tolist()):
            own = self.value[self.start[i] : self.start[i + 1]]
            out[:, i] = own[np.minimum(codes[j], len(own) - 1)]
        return out


@dataclass(frozen=True, eq=False)
class Sums:
    """The weight of each class, its mean, and its scatter about the mean."""

    n: Floats
    mean: Floats
    scatter: Floats


def sums(z: Floats, y: Array, w: Floats | None, K: int) -> Sums:
    n, mean, scatter, _ = _core.scatter(_core.Columns(z), y, w, K, False)
    return Sums(n, mean, scatter)


def add(a: Sums, b: Sums, sign: int = 1) -> Sums:
    """Chan's formula, for adding and for taking away."""
    n = a.n + sign * b.n
    n = np.where(n <= 1e-12 * np.maximum(a.n, b.n), 0.0, n)
    share = np.divide(b.n, n, out=np.zeros_like(n), where=n > 0)[:, None]
    between = b.mean - a.mean
    some = (n > 0)[:, None]
    mean = np.where(some, a.mean + sign * share * between, 0.0)
    step = np.einsum("ki,kj->kij", between, between) * (share * a.n[:, None])[:, :, None]
    scatter = np.where(some[:, :, None], a.scatter + sign * b.scatter + sign * step, 0.0)
    if sign < 0:
        at = np.arange(scatter.shape[1])
        scatter[:, at, at] = np.maximum(scatter[:, at, at], 0.0)
    return Sums(n, mean, scatter)


@dataclass(frozen=True, eq=False)
class Normals:
    """log p(z | class) = constant − ½ |root (z − mean)|²."""

    mean: Floats
    root: Floats
    constant: Floats

    def logs(self, z: Floats) -> Floats:
        return np.asarray(_core.quadratic_scores(_core.Columns(z), self.mean, self.root, self.constant))


def normals(s: Sums, lam: float, gam: float) -> Normals | None:
    """None where a covariance has no inverse."""
    found = [_root(_covariance(s, k, lam, gam)[0]) for k in range(len(s.n))]
    if any(f is None for f in found):
        return None
    roots = np.ascontiguousarray(np.stack([f[0] for f in found if f is not None]))
    return Normals(s.mean, roots, np.array([-0.5 * f[1] for f in found if f is not None]))


def _covariance(s: Sums, k: int, lam: float, gam: float) -> tuple[Floats, float]:
    """The covariance of class k, and what its scatter is divided by."""
    N, K = s.n.sum(), (s.n > 0).sum()
    pooled = s.scatter.sum(axis=0)
    below = max((1 - lam) * max(s.n[k] - 1, 0.0) + lam * (N - K), 1e-9)
    out = (1 - gam) * ((1 - lam) * s.scatter[k] + lam * pooled) / below
    at = np.arange(len(out))
    out[at, at] += gam * (np.diag(pooled) / max(N - K, 1.0) + 1e-6) + 1e-8
    return out, below


def _root(m: Floats) -> tuple[Floats, float] | None:
    """The inverse of the Cholesky factor, and the log of the determinant."""
    with one_thread():
        try:
            low = cholesky(m, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            return None
        root = solve_triangular(low, np.eye(len(m)), lower=True, check_finite=False)
    logdet = 2 * float(np.log(np.diag(low)).sum())
    return (root, logdet) if np.isfinite(root).all() and np.isfinite(logdet) else None


def left_out(s: Sums, z: Floats, y: Array, unit: Floats, lam: float, gam: float) -> Floats | None:
    """(rows, classes): log p(z | class) without the row itself, by a rank-one step: with e = z − mean_y and its weight r,
    S_y loses s e eᵀ, s = r n / (n − r), and mean_y moves to z − e n / (n − r)."""
    K, p = s.mean.shape
    out = np.empty((len(z), K))
    n = s.n[y]
    rest = np.maximum(n - unit, 1e-9)
    grow = n / rest
    for k in range(K):
        m, below = _covariance(s, k, lam, gam)
        found = _root(m)
        if found is None:
            return None
        root, logdet = found
        with one_thread():
            own_z = (z - s.mean[k]) @ root.T
            shifts = s.mean @ root.T
        e = own_z + (shifts[k] - shifts[y])
        qz, qe, cross = (np.einsum("ij,ij->i", a, b) for a, b in ((own_z, own_z), (e, e), (own_z, e)))
        own = y == k
        less = np.maximum(below - unit * np.where(own, 1.0, lam), 1e-3 * below)
        scale = (1 - gam) * below / less + gam  # the scatter's share of the covariance is divided by less
        rho = (1 - gam) * np.where(own, 1.0, lam) * unit * grow / less
        left = np.maximum(1 - rho * qe / scale, 1e-3)
        far = np.where(own, grow**2 * qe / scale / left, qz / scale + rho * (cross / scale) ** 2 / left)
        out[:, k] = -0.5 * (logdet + p * np.log(scale) + np.log(left) + far)
    return out if np.isfinite(out).all() else None
