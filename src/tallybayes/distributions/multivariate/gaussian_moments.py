"""The statistics of a GaussianBlock: weight, mean, centred scatter; added and subtracted by Chan's formula.

`count` takes the smallest of the forms in gaussian_statistics.py that serves.

    S(A ∪ B) = S(A) + S(B) + (n_A n_B / n) δ δᵀ,   δ = mean(B) − mean(A);   and backwards for A − B.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Data, Numbers, Sparse
from tallybayes.distributions.context import Weights
from tallybayes.distributions.multivariate.gaussian_statistics import (
    BlockStatistics,
    CompactStatistics,
    PairedStatistics,
    ScatterStatistics,
    WeighedStatistics,
    WideStatistics,
)
from tallybayes.distributions.statistics import EPS, combine_means, exact_sum
from tallybayes.utils.array_types import Array

MIN_WIDE_COLUMNS = 256  # columns from which the wide form is worth its trouble


def count(
    data: Numbers, y: NDArray[np.int32], w: Weights, K: int, pooled: bool, fourth: bool = False
) -> BlockStatistics:
    """fourth: a wide tally keeps the weight of each row."""
    if data.d >= MIN_WIDE_COLUMNS and data.n <= data.d:
        found = _count_wide(data, y, w, K)
        if found is not None:
            return found if fourth else WideStatistics(found.n, found.mean, found.low, found.rows, found.owner)
    n, mean, low, scatter, skipped = _core.scatter(data.columns, y, w, K, pooled)
    if skipped > 0:
        return PairedStatistics(*_core.pairwise_scatter(data.columns, y, w, K, pooled))
    return CompactStatistics(n, mean, low, scatter)


def _count_wide(data: Numbers, y: NDArray[np.int32], w: Weights, K: int) -> WeighedStatistics | None:
    """None if a value is missing."""
    used = np.flatnonzero((y >= 0) & (True if w is None else w > 0))
    x = rows_of(data, used)
    if not np.isfinite(x).all():
        return None
    owner, weight = y[used], np.ones(len(used)) if w is None else w[used]
    n, mean, low = np.zeros(K), np.zeros((K, data.d)), np.zeros((K, data.d))
    for k in np.unique(owner):
        here = owner == k
        first = x[here][0]
        n[k] = weight[here].sum()
        mean[k], low[k] = exact_sum(first, weight[here] @ (x[here] - first) / n[k])
    rows = (x - mean[owner] - low[owner]) * np.sqrt(weight)[:, None]
    return WeighedStatistics(n, mean, low, rows, owner.astype(np.int64), weight).only(np.asarray(rows.any(axis=1)))


def combine(a: BlockStatistics, b: BlockStatistics, sign: int, pooled: bool) -> BlockStatistics:
    if isinstance(a, WideStatistics) and isinstance(b, WideStatistics) and len(a.rows) + len(b.rows) <= a.mean.shape[1]:
        return _combine_wide(a, b, sign)
    return combine_written(a.written(pooled), b.written(pooled), sign, pooled)


def combine_written(a: ScatterStatistics, b: ScatterStatistics, sign: int, pooled: bool) -> ScatterStatistics:
    """Compact if both are, else paired."""
    paired = isinstance(a, PairedStatistics) or isinstance(b, PairedStatistics)
    if paired:
        a, b = a.paired(), b.paired()
    n, mean, low, delta, part = combine_means(a, b, sign)
    weight = a.n * part
    with np.errstate(over="ignore", invalid="ignore"):  # `estimate` refuses what is no number
        if paired:
            cross = weight * delta * delta.swapaxes(1, 2)
            cross = cross.sum(axis=0, keepdims=True) if pooled else cross
        elif pooled:
            cross = ((delta * weight[:, None]).T @ delta)[None]
        else:
            cross = weight[:, None, None] * delta[:, :, None] * delta[:, None, :]
        scatter = a.scatter + sign * (b.scatter + cross)
        scatter = scatter if sign > 0 else _swept(scatter, a.scatter, n, pooled)
    return (PairedStatistics if paired else CompactStatistics)(n, mean, low, scatter)


def _swept(scatter: Array, before: Array, n: Array, pooled: bool) -> Array:
    """Without what rounding leaves of things taken away whole."""
    if n.ndim == 1:
        scatter = scatter * ((n > 0).any() if pooled else (n > 0)[:, None, None])
    else:
        scatter = np.where((n > 0).any(axis=0) if pooled else n > 0, scatter, 0.0)
    old = np.einsum("kii->ki", before)
    new = np.einsum("kii->ki", scatter)
    still = new > 8 * EPS * old
    return np.asarray(scatter * still[:, :, None] * still[:, None, :])


def _combine_wide(a: WideStatistics, b: WideStatistics, sign: int) -> WideStatistics:
    n, mean, low, delta, part = combine_means(a, b, sign)
    step = np.sqrt(a.n * part)[:, None] * delta
    moved = np.flatnonzero(step.any(axis=1))
    rows = np.concatenate([a.rows, b.rows, step[moved]])
    owner = np.concatenate([a.owner, b.owner, moved])
    if sign < 0:
        signs = np.ones(len(rows))
        signs[len(a.rows) :] = -1.0
        rows, owner = _signed(rows, owner, signs, n)
    return WideStatistics(n, mean, low, rows, owner)


def _signed(rows: Array, owner: Array, signs: Array, n: Array) -> tuple[Array, Array]:
    """Rows whose squares add to Σ sign · row rowᵀ, class by class."""
    kept, owners = [rows[:0]], [owner[:0]]
    for k in np.flatnonzero(n > 0):
        mine = owner == k
        if not mine.any():
            continue
        q, r = np.linalg.qr(rows[mine].T)
        value, vector = np.linalg.eigh((r * signs[mine]) @ r.T)
        good = value > 1e-12 * max(float(np.square(r).sum()), np.finfo(float).tiny)
        found = (q @ vector[:, good]).T * np.sqrt(value[good])[:, None]
        kept.append(found)
        owners.append(np.full(len(found), k, dtype=owner.dtype))
    return np.concatenate(kept), np.concatenate(owners)


def rows_of(data: Numbers, rows: Array) -> Array:
    """Some rows as one matrix of float64."""
    if data.matrix is None:
        return np.column_stack([np.asarray(a)[rows].astype(np.float64) for a in data.arrays])
    picked = data.matrix[rows] if data.which is None else data.matrix[np.ix_(rows, np.asarray(data.which))]
    return np.asarray(picked, dtype=np.float64)


def finite_rows(data: Numbers, rows: Array) -> Array:
    """Some rows as one matrix; an infinity is refused."""
    x = rows_of(data, rows)
    if np.isinf(x).any():
        i, j = (int(v) for v in np.argwhere(np.isinf(x))[0])
        raise _core.BadValue("infinite", int(rows[i]), j, float(x[i, j]))
    return x


def blocks(data: Data, cells: int = 1 << 20) -> Iterator[tuple[slice, Array]]:
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
