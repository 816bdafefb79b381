"""Gaussians with coordinates missing: integrated out exactly, one factorisation per pattern and class.

log p(x_o | c) = −½ log|2π Σ_oo| − ½ (x_o − μ_o)ᵀ Σ_oo⁻¹ (x_o − μ_o),   o: the coordinates that are there
"""

from __future__ import annotations

import numpy as np
import scipy

from tallybayes.arrays import Array
from tallybayes.distributions.block_params import BlockParams, FullParams, WideParams
from tallybayes.distributions.means import LOG_2PI


def scores(x: Array, p: BlockParams) -> Array:
    """(n, K) of rows with missing values (NaN)."""
    out = np.empty((len(x), p.K))
    patterns, which = np.unique(~np.isnan(x)[:, p.keep], axis=0, return_inverse=True)
    which = which.reshape(-1)
    whole = [p.root(k) for k in range(len(p.factor))] if isinstance(p, FullParams) else []
    for i, pattern in enumerate(patterns):
        rows = np.flatnonzero(which == i)
        columns = p.keep[pattern]
        seen = x[np.ix_(rows, columns)]
        # rows of L for these coordinates: Σ_oo = L_o L_oᵀ, and R of its QR is a root without squaring
        roots = [np.asarray(np.linalg.qr(lower[pattern].T, mode="r")) for lower in whole]
        for k in range(p.K):
            away = seen - p.mean[k, columns] - p.low[k, columns]
            if isinstance(p, WideParams):
                out[rows, k] = _wide(away, columns, p, k)
            else:
                out[rows, k] = _full(away, roots[k if len(roots) > 1 else 0])
    return out


def _full(away: Array, r: Array) -> Array:
    """With Σ = RᵀR."""
    half = np.log(np.abs(np.diag(r))).sum() + 0.5 * len(r) * LOG_2PI
    z = scipy.linalg.solve_triangular(r, away.T, trans="T") if len(r) else away.T
    return np.asarray(-half - 0.5 * _length(z))


def _length(z: Array) -> Array:
    """|z|² of each column; ∞ where it is larger than any number, or ∞ − ∞ on the way to it."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.square(z).sum(axis=0)
    return np.where(np.isnan(found), np.inf, found)


def _wide(away: Array, columns: Array, p: WideParams, k: int) -> Array:
    """The same with Σ = D (f I + U N Uᵀ) D: the thin directions of U over the coordinates that are there."""
    f, left, size = p.thin(columns, k)
    z = away * p.scale[columns]
    t = z @ left
    rest = np.square(z - t @ left.T).sum(axis=1)
    log_det = np.log(f + size**2).sum() + (len(columns) - len(size)) * np.log(f) + 2 * np.log(p.unit[columns]).sum()
    distance = (np.square(t) / (f + size**2)).sum(axis=1) + rest / f
    return np.asarray(-0.5 * (log_det + len(columns) * LOG_2PI + distance))
