"""What each column adds to the log density of a multivariate Gaussian, in a way that does not depend on their order.

With e = x − μ, P = Σ⁻¹ and R the correlations of Σ, all over the coordinates that are there,

    log N(x) = Σ_j  −½ e_j (P e)_j  −  ½ log(2π Σ_jj)  −  ½ s_j log|R|,        Σ_j s_j = 1

e_j (P e)_j is column j's share of the distance. s_j is its share of the correlation, in proportion to the logarithm of
its variance inflation Σ_jj P_jj (0 for a column that goes with no other). So a column uncorrelated with all others adds
exactly its own log density, and a column in other units adds the same to all classes.
"""

from __future__ import annotations

import numpy as np

from tallybayes.distributions.multivariate.gaussian_parameters import BlockParams, FullParams, WideParams
from tallybayes.distributions.statistics import LOG_2PI
from tallybayes.utils.array_types import Array


@np.errstate(over="ignore", invalid="ignore")
def terms(x: Array, p: BlockParams) -> Array:
    """(n, d, K) of rows that may have missing values (NaN); 0 for these, and for columns that never vary."""
    out = np.zeros((*x.shape, p.K))
    patterns, which = np.unique(~np.isnan(x)[:, p.keep], axis=0, return_inverse=True)
    for i, pattern in enumerate(patterns):
        columns = p.keep[pattern]
        rows = np.flatnonzero(which.reshape(-1) == i)
        if not len(columns):
            continue
        for k in range(p.K):
            away = x[np.ix_(rows, columns)] - p.mean[k, columns] - p.low[k, columns]
            pull, variance, inflation, log_det = _parts(away, pattern, p, k)
            spread = np.log(np.maximum(inflation, 1.0))
            total = float(spread.sum())
            share = spread / total if total > 0 else np.full(len(columns), 1.0 / len(columns))
            fixed = LOG_2PI + np.log(variance) + share * (log_det - np.log(variance).sum())
            said = -0.5 * (away * pull + fixed)
            # of what is larger than any number the sign is lost; the row is impossible, as `score` has it
            out[rows[:, None], columns, k] = np.where(np.isfinite(said), said, -np.inf)
    return out


def _parts(away: Array, pattern: Array, p: BlockParams, k: int) -> tuple[Array, Array, Array, float]:
    """P e, Σ_jj, Σ_jj P_jj and log|Σ|."""
    if isinstance(p, WideParams):
        return _wide(away, p.keep[pattern], p, k)
    assert isinstance(p, FullParams)
    return _full(away, pattern, p, k)


def _full(away: Array, pattern: Array, p: FullParams, k: int) -> tuple[Array, Array, Array, float]:
    whole = p.root(k)[pattern]
    variance = np.square(whole).sum(axis=1)
    if pattern.all():
        inverse = p.factor_of(k)[np.ix_(p.keep, p.keep)]
        log_det = -2 * np.log(np.abs(np.diag(inverse))).sum()
    else:  # Σ_oo = RᵀR without squaring
        r = np.asarray(np.linalg.qr(whole.T, mode="r"))
        inverse = np.linalg.solve(r.T, np.eye(len(r)))
        log_det = 2 * np.log(np.abs(np.diag(r))).sum()
    return (away @ inverse.T) @ inverse, variance, variance * np.square(inverse).sum(axis=0), float(log_det)


def _wide(away: Array, columns: Array, p: WideParams, k: int) -> tuple[Array, Array, Array, float]:
    """With more columns than rows: Σ = D (f I + A diag(s²) Aᵀ) D, A thin and orthonormal."""
    f, left, size = p.thin(columns, k)
    unit, scale = p.unit[columns], p.scale[columns]
    z = away * scale
    gain = 1.0 / (f + size**2) - 1.0 / f
    pull = (z / f + ((z @ left) * gain) @ left.T) * scale
    variance = f + np.square(left) @ size**2
    inflation = variance * (1.0 / f + np.square(left) @ gain)
    log_det = np.log(f + size**2).sum() + (len(columns) - len(size)) * np.log(f) + 2 * np.log(unit).sum()
    return pull, variance * np.square(unit), inflation, float(log_det)
