"""More columns than rows: all that the rows can tell lies in the few directions they span.

x = centre + unit · (U t + rest), U: an orthonormal basis of the span of the centred rows and means. Within the span the
discriminant is an ordinary one on t; outside it every class has the same mean and one variance, the floor of
covariance.py (or what shrinkage gives).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy

from tallybayes.distributions.multivariate import covariance
from tallybayes.distributions.multivariate.gaussian_parameters import SharedWideParams, WideParams
from tallybayes.distributions.multivariate.gaussian_statistics import WideStatistics
from tallybayes.distributions.statistics import EPS, LOG_2PI, arrays_of
from tallybayes.utils.array_types import Array

if TYPE_CHECKING:
    from tallybayes.distributions.multivariate.multivariate_gaussian import GaussianBlock


def estimate(s: WideStatistics, b: GaussianBlock) -> WideParams:
    n, mean, low = covariance.class_means(s)
    weight = s.n
    K, d = mean.shape
    gamma = b.amount
    within = np.einsum("ij,ij->j", s.rows, s.rows) / max(
        weight.sum() - b.ddof * (weight > 0).sum(), np.finfo(float).tiny
    )
    unit = covariance.units(within, mean, n)
    if gamma > 0:  # shrinkage is towards equal variances in the units of the data
        unit = np.full(d, np.sqrt(np.square(unit).mean()) or 1.0)
    keep = unit > 0
    scale = np.divide(1.0, unit, out=np.zeros(d), where=keep)
    centre = mean[0] + (n * (mean - mean[0])).sum(axis=0) / n.sum(axis=0)
    both = np.concatenate([s.rows, mean - centre + low])
    both *= scale
    basis, r = scipy.linalg.qr(both.T, mode="economic", overwrite_a=True, check_finite=False)
    thin, place = np.split(r.T, [len(s.rows)])  # a direction too many does no harm: it has the floor
    outside, factor, constant = _roots(s, b, thin, gamma, int(keep.sum()))
    constant -= 0.5 * (keep.sum() * LOG_2PI) + np.log(unit[keep]).sum()
    constants, outsides = (np.broadcast_to(a, K).copy() for a in (constant, outside))
    p = WideParams(
        mean, low, factor, constants, np.flatnonzero(keep), centre, unit, scale, basis, place, outsides
    )  # fmt: skip
    return _with_line(p) if b.shared else p


def _with_line(p: WideParams) -> SharedWideParams:
    """See covariance.with_line."""
    away = p.place @ p.factor[0].T
    weight, bias = (away @ p.factor[0]) @ p.basis.T * p.scale, -0.5 * np.square(away).sum(axis=1)
    return SharedWideParams(**arrays_of(p), weight=weight, bias=bias)


def _roots(s: WideStatistics, b: GaussianBlock, thin: Array, gamma: float, d: int) -> tuple[Array, Array, Array]:
    """Variance outside the span, root within it, and −½ log|Σ|, for each class (or once for all)."""
    weight, r = s.n, thin.shape[1]
    pooled = thin.T @ thin / max(weight.sum() - b.ddof * (weight > 0).sum(), 1e-300)
    shared = 1 if b.shared else len(weight)
    outside, factor, constant = np.empty(shared), np.empty((shared, r, r)), np.empty(shared)
    for k in range(shared):
        mine = thin[s.owner == k]
        own = mine.T @ mine / (weight[k] - b.ddof) if weight[k] > b.ddof else np.zeros((r, r))
        cov = b.own_covariance * own + (1 - b.own_covariance) * pooled
        level = float(np.trace(cov)) / max(d, 1)
        if gamma > 0:
            cov = (1 - gamma) * cov + gamma * level * np.eye(r)
        outside[k] = max(gamma * level, b.tol**2, 8 * r * EPS)
        lower = covariance.mended(cov, pooled, b.tol) if r else cov
        factor[k] = np.linalg.inv(lower) if r else cov
        constant[k] = -np.log(np.abs(np.diag(lower))).sum() - 0.5 * (d - r) * np.log(outside[k])
    return outside, np.tril(factor), constant


@np.errstate(over="ignore", invalid="ignore")
def scores(x: Array, p: WideParams) -> Array:
    """log p(x | class); NaN for a row with a missing value."""
    z = (x - p.centre) * p.scale
    t = z @ p.basis
    rest = np.square(z - t @ p.basis.T).sum(axis=1)
    out = np.empty((len(x), p.K))
    for k in range(p.K):
        away = (t - p.place[k]) @ p.factor_of(k).T
        out[:, k] = p.constant[k] - 0.5 * (np.square(away).sum(axis=1) + rest / p.outside[k])
    lost = np.flatnonzero(np.isnan(out).any(axis=1))  # of what is larger than any number the sign is lost: impossible
    out[lost] = np.where(np.isnan(x[lost]).any(axis=1), np.nan, -np.inf)[:, None]
    return out
