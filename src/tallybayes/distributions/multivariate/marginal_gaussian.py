"""Gaussians with coordinates missing: integrated out exactly, one decomposition per pattern and class.

log p(x_o | c) = −½ log|2π Σ_oo| − ½ (x_o − μ_o)ᵀ Σ_oo⁻¹ (x_o − μ_o),   o: the coordinates that are there

The core scores full covariances (cpp/core/discriminant/marginal_scores.cpp); here are those of few directions.
"""

from __future__ import annotations

import numpy as np

from tallybayes import _core
from tallybayes.data.encoding import Numbers
from tallybayes.distributions.multivariate.gaussian_moments import finite_rows
from tallybayes.distributions.multivariate.gaussian_parameters import BlockParams, WideParams
from tallybayes.distributions.statistics import LOG_2PI
from tallybayes.utils.array_types import Array


def scores(data: Numbers, rows: Array, p: BlockParams) -> Array:
    """(len(rows), K) of rows with missing values (NaN)."""
    if not isinstance(p, WideParams):
        return _core.marginal_scores(data.columns, rows, p.mean, p.low, p.factor, p.constant)
    x = finite_rows(data, rows)
    out = np.empty((len(x), p.K))
    patterns, which = np.unique(~np.isnan(x)[:, p.keep], axis=0, return_inverse=True)
    which = which.reshape(-1)
    for i, pattern in enumerate(patterns):
        same = np.flatnonzero(which == i)
        columns = p.keep[pattern]
        seen = x[np.ix_(same, columns)]
        for k in range(p.K):
            out[same, k] = _wide(seen, columns, p, k)
    return out


@np.errstate(over="ignore", invalid="ignore")
def _wide(x: Array, columns: Array, p: WideParams, k: int) -> Array:
    """With Σ = D (f I + U N Uᵀ) D: the thin directions of U over the coordinates that are there."""
    f, left, size = p.thin(columns, k)
    z = (x - p.mean[k, columns] - p.low[k, columns]) * p.scale[columns]
    t = z @ left
    rest = np.square(z - t @ left.T).sum(axis=1)
    log_det = np.log(f + size**2).sum() + (len(columns) - len(size)) * np.log(f) + 2 * np.log(p.unit[columns]).sum()
    distance = (np.square(t) / (f + size**2)).sum(axis=1) + rest / f
    distance[np.isnan(distance)] = np.inf  # of what is larger than any number the sign is lost: impossible
    return np.asarray(-0.5 * (log_det + len(columns) * LOG_2PI + distance))
