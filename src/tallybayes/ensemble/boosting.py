"""Corrections of an ensemble: where classes came more often, or less, than the weighted parts expected.

Parts that look at a few columns at a time, added up with weights, cannot say a rule of many columns without noise, nor
a threshold that several sensors cross together: rows of some corner are then answered wrongly, all in the same way.
A correction is such a corner, or rather all corners of up to DEPTH cuts (cpp/core/ensemble/boosting.hpp):
    value(cell, c) = STEP · log (n_c + WORTH) / (e_c + WORTH),
n_c being the kept rows of class c in the cell, and e_c how many were expected, the sum of P(c) over the cell's rows.
Cuts are searched on one half of the rows, and kept only if the other half is answered better. Like weights, they are
chosen anew on the kept rows, and are no sums.

Each row is corrected by its cell without most of itself. Without all of itself would be right for one correction. But
the other rows of the cell were corrected by what this row is before, so what is left to correct of them speaks against
it: after some corrections it is answered worse than a new row, and the search ends too early.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.column_kinds import ID_SHARE
from tallybayes.distributions.exported import Json, plain
from tallybayes.distributions.records import Record
from tallybayes.utils.array_types import Array, Floats

_Found = tuple[NDArray[np.int32], NDArray[np.int32], Floats]  # columns, cuts, values

NONE = 255
DEPTH = 6  # cuts of one correction
FEW = 5  # rows of a category's level that can be cut off
# STEP, WORTH, ridge and least score of a cut, how much of itself a row is without, and how many more tries may fail for
# each correction that was found
HOW = (0.3, 1.0, 1.0, 0.5, 0.85, 0.5)
TRIES = 300  # of one search
PATIENCE = 5  # of them may fail in a row
ROWS = 4000  # on which cuts are searched
COLUMNS = 3.0  # times the square root of their number are looked at for one correction
BINS, PER_BIN = (64, 254), 32  # of a column, between which it can be cut: at least and at most; rows for each
RUNS = (6, 16_000)  # searches whose corrections are averaged at most, and rows of all of them that are enough


@dataclass(frozen=True, eq=False)
class Corrections(Record):
    """The arrays of cpp/core/ensemble/back_off_chains.hpp, a chain without a child for each correction;
    logs: (rungs, classes), its values. columns: of the table."""

    columns: int
    view_column: NDArray[np.int32]
    view_start: NDArray[np.int64]
    view_map: NDArray[np.uint8]
    parent_start: NDArray[np.int64]
    logs: NDArray[np.float32]

    @property
    def count(self) -> int:
        """Of corrections."""
        return len(self.parent_start) - 1

    @cached_property
    def chains(self) -> _core.Chains:
        """As the core reads them."""
        views = len(self.view_column)
        return _core.Chains(
            self.columns, self.view_column, self.view_start, self.view_map, np.full(views, 2, dtype=np.int32),
            np.full(self.count, -1, dtype=np.int32), np.arange(views, dtype=np.int32), self.parent_start,
        )  # fmt: skip

    @cached_property
    def _whole(self) -> _core.ChainPlanes:
        return _core.ChainPlanes(1, np.zeros(self.count, dtype=np.int32), np.ones(self.count))

    @cached_property
    def _apart(self) -> _core.ChainPlanes:
        return _core.ChainPlanes(self.columns + 1, np.full(self.count, -1, dtype=np.int32), np.ones(self.count))

    def times(self, factor: float) -> Corrections:
        """The same, each value times a factor."""
        return self if factor == 1 else replace(self, logs=np.float32(factor) * self.logs)

    def scores(self, codes: Array) -> Floats:
        """(rows, classes) of packed codes (columns, rows)."""
        return np.asarray(self.chains.terms(self.logs, codes, self._whole)[0])

    def by_column(self, codes: Array) -> Floats:
        """(columns + 1, rows, classes): what each cut adds goes to its column."""
        return np.asarray(self.chains.terms(self.logs, codes, self._apart))

    def export_views(self) -> list[Json]:
        """The cuts, as a file for other languages has them."""
        starts = self.view_start.tolist()
        return [
            {"column": int(j), "bins": 2, "map": self.view_map[starts[v] : starts[v + 1]].tolist()}
            for v, j in enumerate(self.view_column)
        ]

    def export_chains(self, views: int) -> list[Json]:
        """views: so many of others come before these."""
        out, first = list[Json](), 0
        for start, end in zip(self.parent_start[:-1].tolist(), self.parent_start[1:].tolist(), strict=True):
            ends = first + np.cumsum(2 ** np.arange(end - start + 1))
            rungs = np.split(self.logs[first : ends[-1]], ends[:-1] - first)
            parents = list(range(views + start, views + end))
            out.append({"child": -1, "parents": parents, "scale": 1.0, "log": [plain(rung) for rung in rungs]})
            first = int(ends[-1])
        return out


@dataclass(frozen=True, eq=False)
class KeptTable:
    """What corrections are searched on: packed codes (columns, rows) with levels `sizes`, classes, weights (0: takes no
    part) and keys of the rows. ordered: the columns that are numbers; whole: those in which a missing cell says
    nothing."""

    codes: Array
    sizes: NDArray[np.int64]
    ordered: NDArray[np.bool_]
    whole: NDArray[np.bool_]
    y: NDArray[np.int32]
    w: Floats
    key: NDArray[np.uint64]


def find(table: KeptTable, joint: Floats, times: int) -> tuple[Corrections | None, float]:
    """What to add to the scores of such rows, and by how much their mean log-loss falls. joint: of each row, without
    itself. Few rows are searched several times, each time by other halves, and what is found is averaged: what one
    search finds by chance the others do not. Of many rows, where there are fewer searches, each may fail more often.
    times: so many times as many tries as usual; of more than twice as many searches nothing is gained."""
    judges, longer = max(int((table.w > 0).sum()), 1), times > 1
    most = int(np.clip(judges // PER_BIN, *BINS))
    luts = [_bins_of(table, j, most) for j in range(len(table.codes))]
    bin_of = np.stack([lut[np.minimum(c, len(lut) - 1)] for lut, c in zip(luts, table.codes, strict=True)])
    bins = np.array([int(lut[lut != NONE].max(initial=0)) + 1 for lut in luts], dtype=np.int32)
    columns = int(np.ceil((COLUMNS + longer) * np.sqrt(len(luts))))
    rows = (table.y, np.ascontiguousarray(table.w, dtype=np.float64), table.key)
    start = np.ascontiguousarray(joint, dtype=np.float64)
    usual = int(np.clip(RUNS[1] // judges, 1, RUNS[0]))
    fewer, runs = RUNS[0] / usual, usual * (1 + longer)
    size = (TRIES * times, round(PATIENCE * (fewer if longer else fewer**0.5)), DEPTH, columns, ROWS)
    found, gain = list[_Found](), 0.0
    for run in range(runs):
        own, fell = _core.fit_boosting((bin_of, bins, table.ordered), rows, start, (*size, run), HOW)
        found += own
        gain += fell / runs
    if not found:
        return None, 0.0
    of = np.concatenate([column for column, _, _ in found])
    levels = np.array([len(lut) for lut in luts], dtype=np.int64)
    first = np.cumsum(np.insert(levels, 0, 0), dtype=np.int64)
    cuts = (of, np.concatenate([cut for _, cut, _ in found]))
    chosen = Corrections(
        columns=len(luts),
        view_column=of,
        view_start=np.cumsum(np.insert(levels[of], 0, 0), dtype=np.int64),
        view_map=_core.cut_views((np.concatenate(luts), first, table.ordered), cuts),
        parent_start=np.cumsum([0, *(len(column) for column, _, _ in found)], dtype=np.int64),
        logs=(np.concatenate([value for _, _, value in found]) / runs).astype(np.float32),
    )
    return chosen, gain


def _bins_of(table: KeptTable, j: int, most: int) -> NDArray[np.uint8]:
    """The bin of each level of a column, and last that of a missing value: bin 0, unless it says nothing. Numbers have
    bins of about equal weight; of categories the frequent levels have one each, and the others share the first."""
    size = int(table.sizes[j])
    n = np.bincount(np.minimum(table.codes[j], size), weights=table.w, minlength=size + 1)[:size]
    missing = NONE if table.whole[j] else 0
    total = float(n.sum())
    if total <= 0:
        return np.full(size + 1, NONE, dtype=np.uint8)
    if table.ordered[j]:
        place = np.minimum((np.cumsum(n) - n / 2) / total * most, most - 1).astype(np.int64)
        own = np.cumsum(place != np.concatenate([place[:1], place[:-1]])) + 1  # they ascend
        return np.append(own, missing).astype(np.uint8)
    rows = int((np.minimum(table.codes[j], size) < size).sum())
    if (n > 0).sum() > most and (n > 0).sum() >= ID_SHARE * rows:  # nearly every row has a value of its own
        return np.full(size + 1, NONE, dtype=np.uint8)
    enough = n >= FEW
    if enough.sum() > most - 1:  # as many as have more rows than the first that has no place
        enough &= n > np.sort(n)[-most]
    own = np.where(enough, np.cumsum(enough), 0)
    return np.append(own, missing).astype(np.uint8)
