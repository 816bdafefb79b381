"""Covariances from statistics, and their roots: what a Gaussian discriminant is scored with.

Data may leave a covariance without full rank: constant or collinear columns, a class of few rows, more columns than
rows. The rule, which does not depend on units:

1. A column that never varies is left out.
2. Covariances are read in units of the columns' standard deviations within the classes (overall, where that is 0).
   A direction whose variance is below tol² (and tol² of the class's largest) has none: the class takes the pooled
   variance in that direction (a class of one row: all of it).
3. What still has none is given tol²: nearly, but not infinitely, sure.

With missing values each covariance comes from other rows, and together they need not be those of any distribution:
directions of little variance may have none at all, and predictions would be certain and wrong. See `_raised`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from tallybayes import _core
from tallybayes.distributions.multivariate import ledoit_wolf
from tallybayes.distributions.multivariate.gaussian_parameters import FullParams, SharedParams
from tallybayes.distributions.multivariate.gaussian_statistics import (
    BlockStatistics,
    FourthStatistics,
    PairedStatistics,
    ScatterStatistics,
    WeighedStatistics,
)
from tallybayes.distributions.statistics import EPS, LOG_2PI, away, exact_sum
from tallybayes.errors import OptionError, brief, is_number
from tallybayes.utils.array_types import Array

if TYPE_CHECKING:
    from tallybayes.distributions.multivariate.multivariate_gaussian import GaussianBlock


def estimate(statistics: BlockStatistics, b: GaussianBlock) -> FullParams:
    """Means, roots and constants."""
    n, mean, low = class_means(statistics)
    s = statistics.written(b.pooled)
    gamma = class_amounts(statistics, s, b)
    pooled = pooled_covariance(s, b, gamma)
    unit = units(np.diag(pooled), mean, n)
    shrunk = b.ridge > 0 or (b.amount > 0 and bool(pooled.any()))  # every column has a variance
    if shrunk:
        unit = np.where(unit > 0, unit, np.sqrt(np.diag(pooled).mean()) or 1.0)
    keep = np.flatnonzero(unit > 0)
    K, d = mean.shape
    picked: Any = ... if len(keep) == d else np.ix_(keep, keep)
    count = 1 if b.shared else K
    factor, scale = np.empty((count, len(keep), len(keep))), np.empty((count, len(keep)))
    for k in range(count):
        cov = class_covariance(s, b, k, pooled, gamma)
        scale[k] = (np.where(np.diag(cov) > 0, np.sqrt(np.diag(cov)), unit) if shrunk else unit)[keep]
        factor[k] = cov[picked]
    log_det, trace = _core.roots(factor, scale)
    sure = np.isfinite(log_det) & (trace * least(len(keep), b.tol) < 1)
    for k in np.flatnonzero(~sure).tolist():
        cov = class_covariance(s, b, k, pooled, gamma)
        factor[k], log_det[k] = mended_root(cov[picked], scale[k], pooled[picked], b.tol)
    constant = -0.5 * (log_det + len(keep) * LOG_2PI)
    if len(keep) < d:
        whole = np.zeros((count, d, d))
        whole[:, keep[:, None], keep] = factor
        factor = whole
    p = FullParams(mean, low, factor, np.broadcast_to(constant, K).copy(), keep)
    return with_line(p, n) if b.shared else p


def class_means(s: BlockStatistics) -> tuple[Array, Array, Array]:
    """Weight, mean and low (K, d); a class that never saw a column takes the mean of the others."""
    n, mean, low = s.by_column()
    total = n.sum(axis=0)
    centre = mean[np.argmax(n > 0, axis=0), np.arange(mean.shape[1])]
    share = light(n)
    delta = (share * ((mean - centre) + low)).sum(axis=0) / np.where(total > 0, share.sum(axis=0), 1)
    overall, rest = exact_sum(centre, np.where(total > 0, delta, 0.0))
    return n, np.where(n > 0, mean, overall), np.where(n > 0, low, rest)


def light(n: Array) -> Array:
    """Weights over a power of 2, so that none is above 1: the same digits, and no product overflows."""
    most = float(n.max(initial=0.0))
    return np.asarray(np.ldexp(n, -int(np.frexp(most)[1]))) if most > 1 else n


def divided(scatter: Array, n: Array) -> Array:
    """scatter / n, and 0 where nothing was seen."""
    return np.asarray(np.divide(scatter, n, out=np.zeros_like(scatter), where=np.broadcast_to(n > 0, scatter.shape)))


def pooled_covariance(s: ScatterStatistics, b: GaussianBlock, gamma: tuple[float, ...]) -> Array:
    """Σ = Σ_c scatter_c / (n − ddof·K); with shrinkage by class: the weighted mean of what it makes of each class."""
    if not is_number(b.gamma):
        n = s.most_rows()
        parts = (n[k] * own_covariance(s, b, k, gamma[k]) for k in np.flatnonzero(n > 0).tolist())
        return np.asarray(sum(parts, np.zeros(s.scatter.shape[1:])) / (n.sum() or 1.0))
    n = s.n.sum(axis=0)
    cov = divided(s.scatter.sum(axis=0), n - b.ddof * (s.n > 0).sum(axis=0))
    return _raised(cov, n) if isinstance(s, PairedStatistics) else cov


def own_covariance(s: ScatterStatistics, b: GaussianBlock, k: int, gamma: float) -> Array:
    """scatter_k / (n_k − ddof), shrunk by gamma towards its own variances."""
    cov = divided(s.scatter[k], np.asarray(s.n[k] - b.ddof))
    if isinstance(s, PairedStatistics):
        cov = _raised(cov, s.n[k])
    if gamma == 0:
        return cov
    scaled, unit = _correlation(cov)
    level = gamma * np.trace(scaled) / len(unit)
    scaled *= 1 - gamma
    scaled[np.diag_indices(len(unit))] += level
    return np.asarray(scaled * unit * unit[:, None])


def _raised(cov: Array, n: Array) -> Array:
    """A covariance whose entries come from n (d, d) rows each, with no direction below what the missing values blur.

    An entry of the correlation matrix from n_ij of n rows differs from that of all n by a variance of about

        σ_ij² = (1 + r_ij²) (1/n_ij − 1/n).

    Eigenvalues below √(Σ_ij v_i² σ_ij²), v their eigenvector, are raised to it; variances stay. Where no value is
    missing that is 0.
    """
    there = np.flatnonzero(np.diag(cov) > 0)
    each = n[np.ix_(there, there)]
    if len(there) < 2 or (each == each[0, 0]).all():
        return cov
    unit = np.sqrt(np.diag(cov)[there])
    r = np.clip(cov[np.ix_(there, there)] / unit / unit[:, None], -1.0, 1.0)
    few = 1 / np.maximum(each, 1.0)  # of fewer than one row a correlation is known no worse than not at all
    noise = (1 + r * r) * (few - few.min())
    np.fill_diagonal(noise, 0.0)
    value, vector = np.linalg.eigh(r)
    raised = np.maximum(value, np.sqrt(np.square(vector).T @ noise.sum(axis=1)))
    if (raised == value).all():
        return cov
    found = (vector * raised) @ vector.T
    scale = unit / np.sqrt(np.diag(found))
    out = cov.copy()
    out[np.ix_(there, there)] = found * scale * scale[:, None]
    out[there, there] = np.square(unit)
    return out


def _correlation(cov: Array) -> tuple[Array, Array]:
    """In units of its standard deviations (1 where that is 0), and these."""
    unit = np.sqrt(np.diag(cov))
    unit = np.where(unit > 0, unit, 1.0)
    return cov / unit / unit[:, None], unit


def class_amounts(statistics: BlockStatistics, written: ScatterStatistics, b: GaussianBlock) -> tuple[float, ...]:
    """γ towards each class's own variances; 0 where γ is one number, which is shrinkage towards equal variances.

    written: the statistics with their scatter as matrices.
    """
    if isinstance(b.gamma, tuple):
        return b.gamma
    if isinstance(statistics, FourthStatistics | WeighedStatistics):
        return ledoit_wolf.amounts(statistics, written.scatter)
    return _oas_amounts(written) if b.gamma == "oas" else (0.0,) * len(statistics.n)


def _oas_amounts(s: ScatterStatistics) -> tuple[float, ...]:
    found = []
    for scatter, n, rows in zip(s.scatter, s.n, s.mean_rows().tolist(), strict=True):
        scaled, unit = _correlation(divided(scatter, np.asarray(n)))
        with np.errstate(over="ignore"):
            square = float(np.square(scaled).sum())
        # columns that hardly any row has together may have a covariance beyond all measure: it is left out
        amount = oas(square, float(np.trace(scaled)), len(unit), rows) if np.isfinite(square) else 1.0
        found.append(amount)
    return tuple(found)


def check_shrinkage(gamma: object) -> None:
    """'oas', 'ledoit-wolf', one number, or one for each class."""
    numbers = gamma if isinstance(gamma, tuple) else (gamma,)
    if gamma not in ("oas", "ledoit-wolf") and not (numbers and all(is_number(g) and 0 <= g <= 1 for g in numbers)):
        raise OptionError(f"shrinkage must be between 0 and 1, 'oas' or 'ledoit-wolf'; got {brief(gamma)}.")


def oas(sum_of_squares: float, trace: float, d: int, n: float) -> float:
    """Oracle approximating shrinkage (Chen et al. 2010) of a covariance with these tr Σ² and tr Σ."""
    square, mu = sum_of_squares / d**2, trace / d
    down = (n + 1) * (square - mu**2 / d)
    return 1.0 if down <= 0 else min((square + mu**2) / down, 1.0)


def class_covariance(s: ScatterStatistics, b: GaussianBlock, k: int, pooled: Array, gamma: tuple[float, ...]) -> Array:
    """Σ_k(w, γ), before anything is done about its rank; gamma: class_amounts."""
    cov = pooled if b.own_covariance == 0 else own_covariance(s, b, k, gamma[k])
    if 0 < b.own_covariance < 1:
        cov = b.own_covariance * cov + (1 - b.own_covariance) * pooled
    if b.amount > 0 or b.ridge > 0:
        add = b.amount * float(np.trace(cov)) / len(cov)
        cov = (1 - b.ridge) * ((1 - b.amount) * cov + add * np.eye(len(cov))) + b.ridge * np.eye(len(cov))
    return np.asarray(cov)


def units(within: Array, mean: Array, n: Array) -> Array:
    """Standard deviation of each column within the classes; overall where that is 0; 0 where nothing varies."""
    n = light(n)
    total = np.maximum(n.sum(axis=0), np.finfo(float).tiny)
    centre = mean[0] + (n * (mean - mean[0])).sum(axis=0) / total
    with np.errstate(over="ignore", invalid="ignore"):
        between = (n * np.square(mean - centre)).sum(axis=0) / total
    if not np.isfinite(between).all():
        raise _core.BadValue("overflow", 0, int(np.argmin(np.isfinite(between))), float(np.abs(mean).max()))
    with np.errstate(over="ignore"):  # more than any variance: such a column never varies
        dust = np.square(16 * EPS * np.abs(mean).max(axis=0, initial=0.0))
    found = np.where(within > dust, within, np.where(between > dust, between, 0.0))
    return np.asarray(np.sqrt(found))


def least(d: int, tol: float) -> float:
    """The variance below which a direction has none, beside a largest of 1 or more."""
    return max(tol**2, 8 * d * EPS)


def mended_root(cov: Array, unit: Array, pooled: Array, tol: float) -> tuple[Array, float]:
    """(F, log|Σ|): F lower triangular with FᵀF = Σ⁻¹, for a covariance that may lack rank."""
    if len(cov) == 0:
        return np.zeros((0, 0)), 0.0
    lower = mended(cov / unit / unit[:, None], pooled / unit / unit[:, None], tol)
    inverse, _ = scipy.linalg.lapack.dtrtri(lower, lower=1)
    return np.tril(inverse) / unit, 2.0 * float(np.log(np.abs(np.diag(lower))).sum() + np.log(unit).sum())


def mended(cov: Array, pooled: Array, tol: float) -> Array:
    """The lower root of a covariance whose missing variance is taken from the pooled one, and is tol² at least."""
    floor = least(len(cov), tol)
    value, vector = np.linalg.eigh(cov)
    none = value < floor * min(1.0, max(float(value[-1]), np.finfo(float).tiny))
    if none.any():
        empty = vector[:, none]
        there = empty.T @ pooled @ empty
        more, turn = np.linalg.eigh((there + there.T) / 2)
        value = np.concatenate([value[~none], np.maximum(more, floor)])
        vector = np.concatenate([vector[:, ~none], empty @ turn], axis=1)
        value = np.maximum(value, EPS**2 * value.max())  # a root of less would be rounded to 0 beside the largest
    r: Array = np.asarray(np.linalg.qr((vector * np.sqrt(value)).T, mode="r"))
    return np.asarray(r.T * np.where(np.diag(r) < 0, -1.0, 1.0))


def with_line(p: FullParams, n: Array) -> SharedParams:
    """weight (x − centre) + bias: the log joint of a shared covariance without what all classes have in common."""
    n = light(n)
    total = np.maximum(n.sum(axis=0), np.finfo(float).tiny)
    centre = p.mean[0] + (n * (p.mean - p.mean[0])).sum(axis=0) / total
    weight, square = _core.solve_normal(p.factor[0], away(p, centre))  # centre is near: x − centre loses nothing
    return SharedParams(p.mean, p.low, p.factor, p.constant, p.keep, weight, -0.5 * square, centre)
