"""Ledoit and Wolf's (2004) amount of shrinkage for each class, in units of the class's standard deviations."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.distributions.base import Array, Stats
from tallybayes.distributions.block_tally import dense, rows_of
from tallybayes.encode import Data, Numbers, Sparse
from tallybayes.errors import TableError


def amounts(data: Data, y: Any, w: Any, s: Stats) -> tuple[float, ...]:
    """γ = min(β, δ) / δ,  δ = |S|² − (tr S)² / d,  β = (Σ_i |z_i|⁴ / n − |S|²) / n,  z: standardised rows."""
    s = dense(s, pooled=False)
    if s["n"].ndim == 3:
        raise TableError("Ledoit-Wolf shrinkage needs rows without missing values. shrinkage='oas' takes them.")
    n = s["n"]
    cov = s["scatter"] / np.where(n > 0, n, 1.0)[:, None, None]
    unit = np.sqrt(np.einsum("kii->ki", cov))
    unit = np.where(unit > 0, unit, 1.0)
    fourth = np.zeros(len(n))
    for rows, x in blocks(data):
        used = (y[rows] >= 0) & (True if w is None else w[rows] > 0)
        k = y[rows][used]
        size = np.square((x[used] - s["mean"][k]) / unit[k]).sum(axis=1)
        fourth += np.bincount(k, weights=np.square(size) * (1.0 if w is None else w[rows][used]), minlength=len(n))
    return tuple(_amount(c / u / u[:, None], q, m) for c, u, q, m in zip(cov, unit, fourth, n, strict=True))


def _amount(cov: Array, fourth: float, n: float) -> float:
    square = float(np.square(cov).sum())
    delta = square - float(np.trace(cov)) ** 2 / len(cov)
    if n <= 0 or delta <= 0:
        return 0.0
    return float(np.clip((fourth / n - square) / n, 0.0, delta) / delta)


def blocks(data: Data, cells: int = 1 << 20) -> Any:
    """Row ranges and their values as dense matrices."""
    if isinstance(data, Sparse):
        for span, block in data.dense_blocks(cells):
            yield span, rows_of(block, np.arange(block.n))
        return
    assert isinstance(data, Numbers)
    step = max(1, cells // max(1, data.d))
    for i in range(0, data.n, step):
        span = slice(i, min(data.n, i + step))
        yield span, rows_of(data, np.arange(span.start, span.stop))
