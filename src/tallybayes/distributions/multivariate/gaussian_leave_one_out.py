"""Rows of a GaussianBlock judged without themselves: one outer product leaves each covariance.

A row x of class c that leaves with weight u takes, with e = x − mean_c,

    S_c' = S_c − s e eᵀ,   s = u n_c / (n_c − u),   x − mean_c' = e n_c / (n_c − u)

out of the scatter of its class. The covariance of class k becomes B − b e eᵀ, with B the same for all rows of class k
that leave with u, and for all such rows of other classes; with shrinkage γ and ridge ρ,

    G = (1 − ρ)((1 − γ) B + γ m I) + ρ I,   m = (tr B − b |e|²) / d,   a = (1 − ρ)(1 − γ) b,   h = 1 − a eᵀ G⁻¹ e
    zᵀ Σ⁻¹ z = zᵀ G⁻¹ z + a (zᵀ G⁻¹ e)² / h,   log|Σ| = log|G| + log h,   z = x − mean_k'

With shrinkage m is another for each row, so G is read in the eigenvectors of B. Without, G is one matrix, and is read
in the eigenvectors that it has in units of the columns' standard deviations: in the units of the data, the digits of a
column of small numbers would be lost beside one of large numbers.

Where a covariance is without full rank, or would be without the row, its rank is mended (covariance.py): such rows are
estimated again one by one, and so are all rows where values are missing, or shrinkage is by class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.encoding import Numbers
from tallybayes.data.encoding import rows_of as some_rows
from tallybayes.distributions.capabilities import refitted_leave_one_out
from tallybayes.distributions.context import Context
from tallybayes.distributions.multivariate.gaussian_moments import rows_of
from tallybayes.distributions.multivariate.gaussian_parameters import BlockParams
from tallybayes.distributions.multivariate.gaussian_statistics import BlockStatistics, CompactStatistics
from tallybayes.distributions.statistics import EPS, LOG_2PI
from tallybayes.errors import is_number
from tallybayes.utils.array_types import Array
from tallybayes.utils.blas import one_thread

if TYPE_CHECKING:
    from tallybayes.distributions.multivariate.multivariate_gaussian import GaussianBlock

BLOCK_NUMBERS = 1 << 20  # numbers of a block of rows
SAFE = 10.0  # times what counts as full rank


def leave_one_out(
    block: GaussianBlock,
    data: Numbers,
    y: NDArray[np.int32],
    unit: Array,
    s: BlockStatistics,
    p: BlockParams,
    context: Context,
) -> Array:
    out, done = np.empty((data.n, context.K)), np.zeros(data.n, dtype=bool)
    with one_thread():  # small matrices: a team of threads for each is slower than one
        if isinstance(s, CompactStatistics) and is_number(block.gamma) and len(p.keep):
            closed = _Closed(block, s, p.keep)
            for rows in closed.alike(unit, max(1, BLOCK_NUMBERS // data.d)):
                out[rows], done[rows] = closed.scores(rows_of(data, rows), y[rows], unit[rows])
        for i in np.flatnonzero(~done).tolist():
            row = slice(i, i + 1)
            out[row] = refitted_leave_one_out(block, some_rows(data, row), y[row], unit[row], s, p, context)
    return out


@dataclass(frozen=True)
class _Frame:
    """G by its eigenvectors (columns) if it is one matrix, in units of the columns; else B by its own, as it is."""

    vector: Array  # of G: divided by the units, so that G⁻¹ = vector diag(1 / value) vectorᵀ
    value: Array
    log_unit: float  # log|G| is this more than the logs of its values
    least: float  # the least variance in units of the columns' own, over what is full rank for sure


class _Closed:
    def __init__(self, block: GaussianBlock, s: CompactStatistics, keep: Array) -> None:
        self.block, self.keep = block, keep
        self.n, self.mean, self.low = s.n, s.mean[:, keep], s.low[:, keep]
        self.scatter = s.scatter[:, keep][:, :, keep]
        self.pooled = self.scatter.sum(axis=0)
        self.d = s.mean.shape[1]  # shrinkage is towards the mean variance of all columns
        self.known: dict[tuple[int, float, float], _Frame] = {}

    def alike(self, unit: Array, step: int) -> Iterator[Array]:
        """Rows that can be judged with the same eigenvectors: where a covariance mixes two scatters, or one and the
        ridge, those that leave with the same weight."""
        groups = [np.arange(len(unit))]
        if 0 < self.block.own_covariance < 1 or self.block.ridge > 0:
            groups = [np.flatnonzero(unit == u) for u in np.unique(unit)]
        for rows in groups:
            yield from (rows[i : i + step] for i in range(0, len(rows), step))

    def scores(self, x: Array, y: Array, unit: Array) -> tuple[Array, Array]:
        """(rows, K), and for which rows they hold."""
        x = x[:, self.keep]
        left = self.n[y] - unit
        out, fine = np.empty((len(x), len(self.n))), np.isfinite(x).all(axis=1) & (left > 0)
        grow = self.n[y] / np.where(left > 0, left, 1.0)
        e = (x - self.mean[y]) - self.low[y]
        for k in range(len(self.n)):
            for mine in (True, False):
                rows = np.flatnonzero((y == k) == mine)
                if len(rows):
                    z = e[rows] * grow[rows, None] if mine else (x[rows] - self.mean[k]) - self.low[k]
                    frame, scale, share = self.frame(k, mine, unit[rows])
                    out[rows, k], good = self._gaussian(z, e[rows], (unit * grow)[rows], frame, scale, share)
                    fine[rows] &= good
        return out, fine

    def frame(self, k: int, mine: bool, unit: Array) -> tuple[_Frame, Array, Array]:
        """What class k is judged with, by rows of it (or of others) that leave with these weights: B is `scale` times
        the frame, and b is `share` times s."""
        b = self.block
        down = self.n.sum() - unit - b.ddof * (self.n > 0).sum()
        own_down = self.n[k] - unit * mine - b.ddof
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):  # hardly anything left: no rank either
            shared = np.where(down > 0, (1 - b.own_covariance) / np.where(down > 0, down, 1.0), 0.0)
            own = np.where(own_down > 0, b.own_covariance / np.where(own_down > 0, own_down, 1.0), 0.0)
            share = own * mine + shared
            if b.own_covariance == 0:
                return self._made(-1, 0.0, float(shared[0])), shared / shared[0], share
            if b.own_covariance == 1:
                return self._made(k, float(own[0]), 0.0), own / own[0], share
        return self._made(k, float(own[0]), float(shared[0])), np.ones(len(unit)), share

    def _made(self, k: int, own: float, shared: float) -> _Frame:
        if (k, own, shared) not in self.known:
            self.known[k, own, shared] = self._eigen(own * self.scatter[k] + shared * self.pooled)
        return self.known[k, own, shared]

    def _eigen(self, matrix: Array) -> _Frame:
        b, d = self.block, len(matrix)
        level = np.trace(matrix) / self.d
        final = (1 - b.ridge) * ((1 - b.amount) * matrix + b.amount * level * np.eye(d)) + b.ridge * np.eye(d)
        unit = np.sqrt(np.maximum(np.diag(final), 0.0))
        if not (unit > 0).all():
            return _Frame(np.eye(d), np.zeros(d), 0.0, 0.0)
        value, vector = np.linalg.eigh(final / unit / unit[:, None])
        least = value[0] / (value[-1] * d) / (4 * SAFE * max(b.tol**2, 8 * d * EPS))
        if b.amount == 0:
            return _Frame(vector / unit[:, None], value, 2 * float(np.log(unit).sum()), float(least))
        value, vector = np.linalg.eigh(matrix)
        value = np.maximum(value, 0.0)
        smallest = (1 - b.ridge) * ((1 - b.amount) * value[0] + b.amount * level) + b.ridge
        if EPS * value[-1] > 1e-10 * smallest:  # so little shrinkage that the units matter
            least = 0.0
        return _Frame(vector, value, 0.0, float(least))

    def _gaussian(self, z: Array, e: Array, step: Array, f: _Frame, scale: Array, share: Array) -> tuple[Array, Array]:
        """log p, and whether its covariance has full rank for sure."""
        b = self.block
        if not f.least > 1:
            return np.zeros(len(z)), np.zeros(len(z), dtype=bool)
        away = share * step
        G = scale[:, None] * f.value
        if b.amount > 0:
            level = np.maximum(scale * f.value.sum() - away * np.square(e).sum(axis=1), 0.0)[:, None] / self.d
            G = (1 - b.ridge) * ((1 - b.amount) * G + b.amount * level) + b.ridge
        a = (1 - b.ridge) * (1 - b.amount) * away
        tz, te = z @ f.vector, e @ f.vector
        with np.errstate(all="ignore"):
            h = 1 - a * (te * te / G).sum(axis=1)
            distance = (tz * tz / G).sum(axis=1) + a * np.square((tz * te / G).sum(axis=1)) / h
            log_det = np.log(G).sum(axis=1) + f.log_unit + np.log(h)
            found = -0.5 * (log_det + distance + z.shape[1] * LOG_2PI)
        return found, np.isfinite(found) & (h * h * f.least > 1)
