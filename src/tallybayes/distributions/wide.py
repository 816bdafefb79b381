"""More columns than rows: all that the rows can tell lies in the few directions they span.

x = centre + unit · (U t + rest), U: an orthonormal basis of the span of the centred rows and means. Within the span the
discriminant is an ordinary one on t; outside it every class has the same mean and one variance, the floor of
covariance.py (or what shrinkage gives).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy

from tallybayes.distributions import covariance
from tallybayes.distributions.base import Array, Params, Stats
from tallybayes.distributions.means import EPS

if TYPE_CHECKING:
    from tallybayes.distributions.block import GaussianBlock


def estimate(s: Stats, b: GaussianBlock) -> Params:
    n, mean, low = covariance.class_means(s)
    weight = s["n"]
    K, d = mean.shape
    gamma = b.amount
    within = np.einsum("ij,ij->j", s["rows"], s["rows"]) / max(
        weight.sum() - b.ddof * (weight > 0).sum(), np.finfo(float).tiny
    )
    unit = covariance.units(within, mean, n)
    if gamma > 0:  # shrinkage is towards equal variances in the units of the data
        unit = np.full(d, np.sqrt(np.square(unit).mean()) or 1.0)
    keep = unit > 0
    scale = np.divide(1.0, unit, out=np.zeros(d), where=keep)
    centre = mean[0] + (n * (mean - mean[0])).sum(axis=0) / n.sum(axis=0)
    both = np.concatenate([s["rows"], mean - centre + low])
    both *= scale
    basis, r = scipy.linalg.qr(both.T, mode="economic", overwrite_a=True, check_finite=False)
    thin, place = np.split(r.T, [len(s["rows"])])  # a direction too many does no harm: it has the floor
    outside, factor, constant = _roots(s, b, thin, gamma, int(keep.sum()))
    constant -= 0.5 * (keep.sum() * covariance.LOG_2PI) + np.log(unit[keep]).sum()
    p: Params = {"mean": mean, "low": low, "centre": centre, "unit": unit, "scale": scale}
    p |= {"basis": basis, "place": place, "factor": factor, "keep": np.flatnonzero(keep)}
    p |= {"outside": np.broadcast_to(outside, K).copy(), "constant": np.broadcast_to(constant, K).copy()}
    if b.linear:
        away = place @ factor[0].T
        p |= {"weight": (away @ factor[0]) @ basis.T * scale, "bias": -0.5 * np.square(away).sum(axis=1)}
    return p


def _roots(s: Stats, b: GaussianBlock, thin: Array, gamma: float, d: int) -> tuple[Array, Array, Array]:
    """Variance outside the span, root within it, and −½ log|Σ|, for each class (or once for all)."""
    weight, r = s["n"], thin.shape[1]
    pooled = thin.T @ thin / max(weight.sum() - b.ddof * (weight > 0).sum(), 1e-300)
    shared = 1 if b.linear else len(weight)
    outside, factor, constant = np.empty(shared), np.empty((shared, r, r)), np.empty(shared)
    for k in range(shared):
        mine = thin[s["owner"] == k]
        own = mine.T @ mine / (weight[k] - b.ddof) if weight[k] > b.ddof else np.zeros((r, r))
        cov = b.alpha * own + (1 - b.alpha) * pooled
        level = float(np.trace(cov)) / max(d, 1)
        if gamma > 0:
            cov = (1 - gamma) * cov + gamma * level * np.eye(r)
        outside[k] = max(gamma * level, b.tol**2, 8 * r * EPS)
        lower = covariance.mended(cov, pooled, b.tol) if r else cov
        factor[k] = np.linalg.inv(lower) if r else cov
        constant[k] = -np.log(np.abs(np.diag(lower))).sum() - 0.5 * (d - r) * np.log(outside[k])
    return outside, np.tril(factor), constant


def scores(x: Array, p: Params) -> Array:
    """log p(x | class); NaN for a row with a missing value."""
    z = (x - p["centre"]) * p["scale"]
    t = z @ p["basis"]
    rest = np.square(z - t @ p["basis"].T).sum(axis=1)
    K = len(p["constant"])
    out = np.empty((len(x), K))
    for k in range(K):
        away = (t - p["place"][k]) @ p["factor"][k if len(p["factor"]) > 1 else 0].T
        out[:, k] = p["constant"][k] - 0.5 * (np.square(away).sum(axis=1) + rest / p["outside"][k])
    return out


def thin(p: Params, columns: Array, k: int) -> tuple[float, Array, Array]:
    """f, A and s with Σ_k = D (f I + A diag(s²) Aᵀ) D over the given columns; A has few columns, orthonormal."""
    f = float(p["outside"][k])
    lower = np.linalg.inv(p["factor"][k if len(p["factor"]) > 1 else 0])
    value, vector = np.linalg.eigh(lower @ lower.T - f * np.eye(len(lower)))
    root = p["basis"][columns] @ (vector * np.sqrt(np.maximum(value, 0.0)))
    left, size, _ = np.linalg.svd(root, full_matrices=False)
    return f, left, size


def colour(noise: Array, p: Params, k: int) -> Array:
    """Independent normal numbers → with the covariance of class k."""
    t = noise @ p["basis"]
    rest = (noise - t @ p["basis"].T) * np.sqrt(p["outside"][k])
    factor = p["factor"][k if len(p["factor"]) > 1 else 0]
    return np.asarray((np.linalg.solve(factor, t.T).T @ p["basis"].T + rest) * p["unit"])
