"""Rows of a GaussianBlock judged without themselves: one outer product leaves each covariance.

A row x of class c that leaves with weight u takes, with e = x − mean_c,

    S_c' = S_c − s e eᵀ,   s = u n_c / (n_c − u),   x − mean_c' = e n_c / (n_c − u)

out of the scatter of its class. The covariance of class l becomes B − b e eᵀ, with B the same for all rows of class l
that leave with u, and for all rows of other classes; in the eigenvectors of B, with shrinkage γ and ridge ρ,

    G = (1 − ρ)((1 − γ) B + γ m I) + ρ I,   m = (tr B − b |e|²) / d,   a = (1 − ρ)(1 − γ) b,   h = 1 − a eᵀ G⁻¹ e
    zᵀ Σ⁻¹ z = zᵀ G⁻¹ z + a (zᵀ G⁻¹ e)² / h,   log|Σ| = log|G| + log h,   z = x − mean_l'

Where a covariance is without full rank, or would be without the row, its rank is mended (covariance.py): such rows, rows
of tallies with gaps, and shrinkage by class are estimated again one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.distributions.base import Array, Context, Distribution, Params, Stats
from tallybayes.distributions.block_tally import rows_of
from tallybayes.distributions.covariance import EPS, LOG_2PI
from tallybayes.encode import Numbers
from tallybayes.encode import rows_of as some_rows
from tallybayes.errors import is_number

if TYPE_CHECKING:
    from tallybayes.distributions.block import GaussianBlock

CELLS = 1 << 20  # numbers of a block of rows
SAFE = 10.0  # times what counts as full rank


def left_out(
    block: GaussianBlock, data: Numbers, y: NDArray[np.int32], unit: Array, s: Stats, p: Params, context: Context
) -> Array:
    out, done = np.empty((data.n, context.K)), np.zeros(data.n, dtype=bool)
    if "scatter" in s and s["n"].ndim == 1 and is_number(block.gamma) and len(p["keep"]):
        closed = _Closed(block, s, p["keep"])
        step = max(1, CELLS // data.d)
        for u in np.unique(unit).tolist():
            frames = closed.frames(u)
            rows = np.flatnonzero(unit == u)
            for some in np.split(rows, range(step, len(rows), step)):
                out[some], done[some] = closed.scores(rows_of(data, some), y[some], u, frames)
    for i in np.flatnonzero(~done).tolist():
        row = slice(i, i + 1)
        out[row] = Distribution.left_out(block, some_rows(data, row), y[row], unit[row], s, p, context)
    return out


@dataclass(frozen=True)
class _Frame:
    """B by its eigenvectors (columns), and b / s."""

    vector: Array
    value: Array
    share: float
    least: float  # the least variance in units of the columns' own, relative to what is full rank


class _Closed:
    def __init__(self, block: GaussianBlock, s: Stats, keep: Array) -> None:
        self.block, self.keep = block, keep
        self.n, self.mean = s["n"], s["mean"][:, keep]
        self.scatter = s["scatter"][:, keep][:, :, keep]
        self.pooled = self.scatter.sum(axis=0)
        self.d = s["mean"].shape[1]  # shrinkage is towards the mean variance of all columns

    def frames(self, u: float) -> dict[tuple[bool, int], _Frame]:
        """(is the row of class l?, l) → what it is judged with; one for all where all share a covariance."""
        b, K = self.block, len(self.n)
        down = self.n.sum() - u - b.ddof * (self.n > 0).sum()
        shared = (1 - b.alpha) / down if down > 0 else 0.0
        if b.linear:
            one = self._frame(shared * self.pooled, shared)
            return {(mine, l): one for mine in (True, False) for l in range(K)}
        out = {}
        for mine in (True, False):
            for l in range(K):
                own_down = self.n[l] - u * mine - b.ddof
                own = b.alpha / own_down if own_down > 0 else 0.0
                out[mine, l] = self._frame(own * self.scatter[l] + shared * self.pooled, own * mine + shared)
        return out

    def _frame(self, matrix: Array, share: float) -> _Frame:
        b, d = self.block, len(matrix)
        value, vector = np.linalg.eigh(matrix)
        final = (1 - b.ridge) * ((1 - b.amount) * matrix + b.amount * np.trace(matrix) / self.d * np.eye(d))
        final = final + b.ridge * np.eye(d)
        unit = np.sqrt(np.diag(final))
        if not (unit > 0).all():
            return _Frame(vector, value, share, 0.0)
        scaled = np.linalg.eigvalsh(final / unit / unit[:, None])
        least = scaled[0] / (scaled[-1] * d) / (4 * SAFE * max(b.tol**2, 8 * d * EPS))
        return _Frame(vector, np.maximum(value, 0.0), share, float(least))

    def scores(self, x: Array, y: Array, u: float, frames: dict[tuple[bool, int], _Frame]) -> tuple[Array, Array]:
        """(rows, K), and for which rows they hold."""
        x = x[:, self.keep]
        out, fine = np.empty((len(x), len(self.n))), np.isfinite(x).all(axis=1)
        grow = self.n[y] / np.where(self.n[y] > u, self.n[y] - u, 1.0)
        fine &= (self.n[y] > u) | (u == 0)
        e = x - self.mean[y]
        for l in range(len(self.n)):
            for mine, frame in self._two(frames, l):
                rows = np.arange(len(x)) if mine is None else np.flatnonzero((y == l) == mine)
                own = (y[rows] == l)[:, None]
                z = np.where(own, e[rows] * grow[rows, None], x[rows] - self.mean[l])
                out[rows, l], good = self._gaussian(z, e[rows], u * grow[rows], frame)
                fine[rows] &= good
        return out, fine

    def _two(self, frames: dict[tuple[bool, int], _Frame], l: int) -> Iterator[tuple[bool | None, _Frame]]:
        if self.block.linear:
            yield None, frames[True, l]
            return
        for mine in (True, False):
            yield mine, frames[mine, l]

    def _gaussian(self, z: Array, e: Array, step: Array, f: _Frame) -> tuple[Array, Any]:
        """log p, and whether its covariance has full rank for sure."""
        b = self.block
        if f.least <= 1:
            return np.zeros(len(z)), False
        away = f.share * step
        level = np.maximum(f.value.sum() - away * np.square(e).sum(axis=1), 0.0)[:, None] / self.d
        G = (1 - b.ridge) * ((1 - b.amount) * f.value + b.amount * level) + b.ridge
        a = (1 - b.ridge) * (1 - b.amount) * away
        tz, te = z @ f.vector, e @ f.vector
        with np.errstate(all="ignore"):
            h = 1 - a * (te * te / G).sum(axis=1)
            distance = (tz * tz / G).sum(axis=1) + a * np.square((tz * te / G).sum(axis=1)) / h
            log_det = np.log(G).sum(axis=1) + np.log(h)
            found = -0.5 * (log_det + distance + z.shape[1] * LOG_2PI)
        return found, np.isfinite(found) & (h * h * f.least > 1)
