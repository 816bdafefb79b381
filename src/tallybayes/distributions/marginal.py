"""Gaussians with coordinates missing: integrated out exactly, one factorisation per pattern and class.

log p(x_o | c) = −½ log|2π Σ_oo| − ½ (x_o − μ_o)ᵀ Σ_oo⁻¹ (x_o − μ_o),   o: the coordinates that are there
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from tallybayes.distributions import covariance, wide
from tallybayes.distributions.base import Array, Params


def scores(x: Array, p: Params) -> Array:
    """(n, K) of rows with missing values (NaN)."""
    K = len(p["constant"])
    out = np.empty((len(x), K))
    here = ~np.isnan(x)[:, p["keep"]]
    patterns, which = np.unique(here, axis=0, return_inverse=True)
    which = which.reshape(-1)
    own = len(p["factor"]) > 1
    whole = None if "basis" in p else [covariance.root(p, k) for k in range(len(p["factor"]))]
    for i, pattern in enumerate(patterns):
        rows = np.flatnonzero(which == i)
        columns = p["keep"][pattern]
        seen = x[np.ix_(rows, columns)]
        for k in range(K):
            away = seen - p["mean"][k, columns] - p["low"][k, columns]
            if whole is None:
                out[rows, k] = _wide(away, columns, p, k)
                continue
            if k == 0 or own:
                # rows of L for these coordinates: Σ_oo = L_o L_oᵀ, and R of its QR is a root without squaring
                r = np.linalg.qr(whole[k if own else 0][pattern].T, mode="r")
                half = np.log(np.abs(np.diag(r))).sum() + 0.5 * len(columns) * covariance.LOG_2PI
            z = scipy.linalg.solve_triangular(r, away.T, trans="T") if len(columns) else away.T
            out[rows, k] = -half - 0.5 * _length(z)
    return out


def _length(z: Array) -> Array:
    """|z|² of each column; ∞ where it is larger than any number, or ∞ − ∞ on the way to it."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.square(z).sum(axis=0)
    return np.where(np.isnan(found), np.inf, found)


def _wide(away: Array, columns: Array, p: Params, k: int) -> Array:
    """The same with Σ = D (f I + U N Uᵀ) D: the thin directions of U over the coordinates that are there."""
    f, left, size = wide.thin(p, columns, k)
    z = away * p["scale"][columns]
    t = z @ left
    rest = np.square(z - t @ left.T).sum(axis=1)
    log_det = np.log(f + size**2).sum() + (len(columns) - len(size)) * np.log(f) + 2 * np.log(p["unit"][columns]).sum()
    distance = (np.square(t) / (f + size**2)).sum(axis=1) + rest / f
    return np.asarray(-0.5 * (log_det + len(columns) * covariance.LOG_2PI + distance))


def variance(p: Params, k: int, j: int) -> float:
    """Σ_k[j, j]."""
    return float(sub_covariance(p, k, [j])[0, 0])


def sub_covariance(p: Params, k: int, columns: Sequence[int]) -> Array:
    """Σ_k[columns, columns]; 0 for a column that never varies."""
    which = np.asarray(columns, dtype=np.intp)
    if "basis" not in p:
        lower = np.zeros((len(p["mean"][k]), len(p["keep"])))
        lower[p["keep"]] = covariance.root(p, k)
        return np.asarray(lower[which] @ lower[which].T)
    u, unit = p["basis"][which], p["unit"][which]
    lower = np.linalg.inv(p["factor"][k if len(p["factor"]) > 1 else 0])
    inside = (u @ lower) @ (u @ lower).T
    return np.asarray((inside + p["outside"][k] * (np.eye(len(which)) - u @ u.T)) * unit * unit[:, None])
