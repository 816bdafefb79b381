"""The levels of categories that have many: what each level tells of the classes by itself, however rare it is.

Networks read a category in a dozen bins or two, of which the rarest levels share the last. Here every level counts,
from the counts of levels that are there anyway:
    term(c) = log (n(v, c) + r π_c) / ((n(v) + r) π_c),
0 where the value is missing or was never met. The r rows of the class shares π are chosen by leave-one-out for each
column; a level that comes later counts from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.distributions.networks.joint_counts import LevelStatistics
from tallybayes.utils.array_types import Array, Floats

ROWS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 256.0, 1024.0)  # r, to choose from


@dataclass(frozen=True, eq=False)
class LevelTerms:
    """columns: which ones; rows: r of each; prior: π; tables: (levels + 1, classes) of each, the last row of zeros."""

    columns: NDArray[np.int32]
    rows: Floats
    prior: Floats
    tables: tuple[Floats, ...]

    def scores(self, codes: Array, weights: Floats) -> Floats:
        """Give what its columns add together.

        Parameters
        ----------
        codes : ndarray of shape (columns of the table, n)
            Packed codes.
        weights : ndarray
            The weight of each of its columns.

        Returns
        -------
        ndarray of shape (n, K)
            Of each row.
        """
        out = np.zeros((codes.shape[1], len(self.prior)))
        for i, own in enumerate(self.each(codes)):
            out += weights[i] * own
        return out

    def each(self, codes: Array) -> list[Floats]:
        """Give what each column adds, unweighted.

        Parameters
        ----------
        codes : ndarray of shape (columns of the table, n)
            Packed codes.

        Returns
        -------
        list of ndarray of shape (n, K)
            One for each of its columns.
        """
        at = zip(self.columns.tolist(), self.tables, strict=True)
        return [table[np.minimum(codes[j], len(table) - 1)] for j, table in at]


def read(s: LevelStatistics, columns: NDArray[np.int32], rows: Floats, prior: Floats) -> LevelTerms:
    """The terms of a tally, with r and π as they were chosen."""
    tables = []
    for j, r in zip(columns.tolist(), rows.tolist(), strict=True):
        n = _counts(s, j)
        tables.append(_logs(n, n.sum(axis=1), r, prior))
    return LevelTerms(columns, rows, prior, tuple(tables))


def choose(
    s: LevelStatistics,
    columns: NDArray[np.int32],
    codes: Array,
    y: NDArray[np.int32],
    unit: Floats,
    w: Floats,
    prior: Floats,
) -> Floats:
    """r of each column: the one with the least leave-one-out log-loss of rows that weigh w, by the column alone."""
    at, out = np.arange(len(y)), []
    for j in columns.tolist():
        n, total, here = _without(_counts(s, j), codes[j], y, unit)
        own, weight = n[at, y], w * here
        losses = [-float(weight @ np.log((own + r * prior[y]) / (total + r))) for r in ROWS]
        out.append(ROWS[int(np.argmin(losses))])
    return np.array(out)


def leave_one_out(
    terms: LevelTerms, s: LevelStatistics, codes: Array, y: NDArray[np.int32], unit: Floats
) -> Sequence[Floats]:
    """(rows, classes) of each column: its term for rows that are in the tally, each without itself."""
    out = []
    for j, r in zip(terms.columns.tolist(), terms.rows.tolist(), strict=True):
        n, total, here = _without(_counts(s, j), codes[j], y, unit)
        out.append(np.where(here[:, None], _logs(n, total, r, terms.prior), 0.0))
    return out


def _counts(s: LevelStatistics, j: int) -> Floats:
    """(levels + 1, classes); none of what is missing."""
    first = int(s.sizes[:j].sum())
    own = s.single[:, first : first + int(s.sizes[j])].T
    return np.concatenate([own, np.zeros((1, own.shape[1]))])


def _without(n: Floats, code: Array, y: NDArray[np.int32], unit: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """The counts of each row's level without the row, their sum, and whether the row has a level."""
    code = np.minimum(code, len(n) - 1)
    own = n[code]
    own[np.arange(len(y)), y] = np.maximum(own[np.arange(len(y)), y] - unit, 0.0)
    return own, own.sum(axis=1), code < len(n) - 1


def _logs(n: Floats, total: Floats, r: float, prior: Floats) -> Floats:
    return np.asarray(np.log((n + r * prior) / ((total[:, None] + r) * prior)))
