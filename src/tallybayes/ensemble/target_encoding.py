"""Smoothed target encoding of categories with many levels (Micci-Barreca 2001), as log-odds against the prior.

Networks read a category in a dozen or two bins, of which the rarest levels share the last. Here every level has its
own term, from the counts of levels that the model has anyway:
    term(c) = log (n(v, c) + r π_c) / ((n(v) + r) π_c),
and 0 for a missing or unseen value. The pseudo-count r of the class prior π is chosen by leave-one-out for each column;
a level first seen in a later batch counts from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tallybayes.distributions.context import Json, plain
from tallybayes.distributions.networks.joint_counts import LevelStatistics
from tallybayes.utils.array_types import Array, Floats

PSEUDO_COUNTS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 256.0, 1024.0)  # r, to choose from


@dataclass(frozen=True, eq=False)
class TargetEncoding:
    """columns; pseudo_counts: r of each; prior: π; tables: (levels + 1, classes) of each, the last row of zeros."""

    columns: NDArray[np.int32]
    pseudo_counts: Floats
    prior: Floats
    tables: tuple[Floats, ...]

    def in_class_order(self, which: Array) -> TargetEncoding:
        """The same with class which[c] as class c."""
        return replace(self, prior=self.prior[which], tables=tuple(table[:, which] for table in self.tables))

    def by_column(self, codes: Array) -> list[Floats]:
        """(rows, classes) of each column, unweighted."""
        at = zip(self.columns.tolist(), self.tables, strict=True)
        return [table[np.minimum(codes[j], len(table) - 1)] for j, table in at]

    def export(self, weights: Floats) -> list[Json]:
        """The weighted tables, as exports hold them."""
        each = zip(self.columns.tolist(), weights, self.tables, strict=True)
        return [{"column": j, "log": plain(w * table[:-1])} for j, w, table in each]


def encode(s: LevelStatistics, columns: NDArray[np.int32], pseudo_counts: Floats, prior: Floats) -> TargetEncoding:
    """The encoding of some columns with r and π as chosen."""
    tables = []
    for j, r in zip(columns.tolist(), pseudo_counts.tolist(), strict=True):
        n = _counts(s, j)
        tables.append(_log_lift(n, n.sum(axis=1), r, prior))
    return TargetEncoding(columns, pseudo_counts, prior, tuple(tables))


def choose(
    s: LevelStatistics,
    columns: NDArray[np.int32],
    codes: Array,
    y: NDArray[np.int32],
    unit: Floats,
    w: Floats,
    prior: Floats,
) -> TargetEncoding:
    """The encoding with the r of least leave-one-out log-loss for each column, by the column alone."""
    chosen = []
    for j in columns.tolist():
        own, total, weight, share = _alike(_counts(s, j), codes[j], y, unit, w, prior)
        losses = [-float((weight * np.log((own + r * share) / (total + r))).sum()) for r in PSEUDO_COUNTS]
        chosen.append(PSEUDO_COUNTS[int(np.argmin(losses))])
    return encode(s, columns, np.array(chosen), prior)


def _alike(
    n: Floats, code: Array, y: NDArray[np.int32], unit: Floats, w: Floats, prior: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Without a row: the count of its class in its level, that of all classes; its weight and the share of its class.

    Rows of one level and class are taken together where all are left out alike.
    """
    if not (unit == 1).all():
        left, total, here = _without(n, code, y, unit)
        return left[np.arange(len(y)), y], total, w * here, prior[y]
    cell = np.minimum(code, len(n) - 1).astype(np.intp) * n.shape[1] + y
    weight: Floats = np.asarray(np.bincount(cell, w, minlength=n.size), dtype=np.float64).reshape(n.shape)[:-1]
    at = np.nonzero(weight)
    own = np.maximum(n[at] - 1.0, 0.0)
    return own, n.sum(axis=1)[at[0]] - n[at] + own, weight[at], prior[at[1]]


def leave_one_out(
    encoding: TargetEncoding, s: LevelStatistics, codes: Array, y: NDArray[np.int32], unit: Floats
) -> Sequence[Floats]:
    """(rows, classes) of each column: its leave-one-out term for learned rows."""
    out = []
    for j, r in zip(encoding.columns.tolist(), encoding.pseudo_counts.tolist(), strict=True):
        n, total, here = _without(_counts(s, j), codes[j], y, unit)
        out.append(np.where(here[:, None], _log_lift(n, total, r, encoding.prior), 0.0))
    return out


def _counts(s: LevelStatistics, j: int) -> Floats:
    """(levels + 1, classes); the last row, of missing values, is 0."""
    first = int(s.sizes[:j].sum())
    own = s.single[:, first : first + int(s.sizes[j])].T
    return np.concatenate([own, np.zeros((1, own.shape[1]))])


def _without(n: Floats, code: Array, y: NDArray[np.int32], unit: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """The counts of each row's level without the row, their sum, and whether the row has a level."""
    code = np.minimum(code, len(n) - 1)
    own = n[code]
    own[np.arange(len(y)), y] = np.maximum(own[np.arange(len(y)), y] - unit, 0.0)
    return own, own.sum(axis=1), code < len(n) - 1


def _log_lift(n: Floats, total: Floats, r: float, prior: Floats) -> Floats:
    return np.asarray(np.log((n + r * prior) / ((total[:, None] + r) * prior)))
