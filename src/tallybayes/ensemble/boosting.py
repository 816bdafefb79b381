"""Gradient-boosted oblivious trees (Friedman 2001; Prokhorenkova et al. 2018) on the residuals of the stack.

Components that look at a few columns at a time and add up cannot learn a rule of many columns without noise, nor a
threshold that several sensors cross together. An oblivious tree of up to DEPTH splits, or MAX_DEPTH
where rows are many, adds to the score of class c
    value(leaf, c) = LEARNING_RATE · log (n_c + PRIOR_PSEUDO_COUNT) / (e_c + PRIOR_PSEUDO_COUNT),
with n_c the sampled rows of class c in the leaf and e_c the number expected there, the sum of P(c) over its rows.
Splits are searched on one half of the rows, and a tree is kept only if it lowers the log-loss of the other half. Where
rows are many, validation rows decide instead; they have no part in the trees until all rows estimate the values again.
Trees are chosen again on the row sample whenever rows are added or removed; they are not sufficient statistics.

Each row is scored by its leaf without LEAVE_OUT_FRACTION of itself. Without all of itself would be exact for one tree.
But earlier trees fitted the other rows of the leaf to this row, so their residuals point against it: after some
trees it is scored worse than a new row, and the search ends too early. (Ordered boosting meets the same
bias in another way.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.schema.inference import ID_SHARE
from tallybayes.distributions.context import Json, plain
from tallybayes.distributions.statistics import Record
from tallybayes.ensemble.missing_values import NO_BIN
from tallybayes.utils.array_types import Array, Floats
from tallybayes.utils.cached import cached_property

if TYPE_CHECKING:
    from tallybayes.ensemble.canonical_order import ContentTokens

_Tree = tuple[NDArray[np.int32], NDArray[np.int32], Floats]  # columns, cuts, values

DEPTH = 6  # splits of one tree; of the first trees where there are many rows
LEARNING_RATE = 0.3  # shrinkage of each tree
PRIOR_PSEUDO_COUNT = 1.0  # pseudo-rows in each leaf, observed and expected alike
SPLIT_RIDGE = 1.0  # of the Newton score of a split
MIN_SPLIT_SCORE = 0.5  # below which a tree is not split further
LEAVE_OUT_FRACTION = 0.85  # of its own weight that a row's leaf is without
PATIENCE_PER_TREE = 0.5  # failed tries in a row that are allowed more for each tree found
MAX_TRIES = 300  # of one search
PATIENCE = 5  # tries in a row that may fail at first
SEARCH_ROWS = 4000  # on which splits are searched
COLUMN_FACTOR = 3.0  # times √columns are candidates for one tree
MIN_BINS, MAX_BINS, ROWS_PER_BIN = 64, 254, 32  # histogram bins of a column, between which it may be split
MAX_RUNS, RUN_ROWS = 6, 16_000  # searches that are averaged: at most, and so that all see so many rows together
# More than MANY_ROWS are searched once, on more of them, by deeper trees where these gain. After many trees even
# partial leave-one-out is pessimistic and ends the search too early, so a share of the rows validates.
MANY_ROWS, MANY_SEARCH_ROWS, MAX_DEPTH = 16_000, 16_000, 12
MANY_LEARNING_RATE, MANY_OWN_SHARE, VALIDATION_SHARE, MANY_TRIES = 0.4, 0.8, 0.2, 500
MIN_LEVEL_ROWS = 5  # of a category's level that may be split off


@dataclass(frozen=True, eq=False)
class BoostedTrees(Record):
    """Binary binnings and one chain without a child per tree, as the core reads them; logs: (nodes, classes)."""

    columns: int
    binning_column: NDArray[np.int32]
    binning_start: NDArray[np.int64]
    binning_map: NDArray[np.uint8]
    parent_start: NDArray[np.int64]
    logs: NDArray[np.float32]

    @property
    def count(self) -> int:
        """The number of trees."""
        return len(self.parent_start) - 1

    @cached_property
    def chains(self) -> _core.Chains:
        """The trees as the core reads them."""
        binnings = len(self.binning_column)
        return _core.Chains(
            self.columns, self.binning_column, self.binning_start, self.binning_map,
            np.full(binnings, 2, dtype=np.int32), np.full(self.count, -1, dtype=np.int32),
            np.arange(binnings, dtype=np.int32), self.parent_start,
        )  # fmt: skip

    @cached_property
    def _total(self) -> _core.ChainOutputs:
        return _core.ChainOutputs(1, np.zeros(self.count, dtype=np.int32), np.ones(self.count))

    @cached_property
    def _by_column(self) -> _core.ChainOutputs:
        return _core.ChainOutputs(self.columns + 1, np.full(self.count, -1, dtype=np.int32), np.ones(self.count))

    def times(self, factor: float) -> BoostedTrees:
        """The same trees, each value times a factor."""
        return self if factor == 1 else replace(self, logs=np.float32(factor) * self.logs)

    def in_class_order(self, which: Array) -> BoostedTrees:
        """The same trees with class which[c] as class c."""
        return replace(self, logs=np.ascontiguousarray(self.logs[:, which]))

    def scores(self, codes: Array) -> Floats:
        """(rows, classes) of packed codes (columns, rows)."""
        return np.asarray(self.chains.terms(self.logs, codes, self._total)[0])

    def by_column(self, codes: Array) -> Floats:
        """(columns + 1, rows, classes): what each split adds goes to its column."""
        return np.asarray(self.chains.terms(self.logs, codes, self._by_column))

    def export_binnings(self) -> list[Json]:
        """The splits, as exports hold them."""
        starts = self.binning_start.tolist()
        return [
            {"column": int(j), "bins": 2, "map": self.binning_map[starts[v] : starts[v + 1]].tolist()}
            for v, j in enumerate(self.binning_column)
        ]

    def export_chains(self, binnings: int) -> list[Json]:
        """The trees, as exports hold them; so many binnings come before theirs."""
        out, first = list[Json](), 0
        for start, end in zip(self.parent_start[:-1].tolist(), self.parent_start[1:].tolist(), strict=True):
            ends = first + np.cumsum(2 ** np.arange(end - start + 1))
            nodes = np.split(self.logs[first : ends[-1]], ends[:-1] - first)
            parents = list(range(binnings + start, binnings + end))
            out.append({"child": -1, "parents": parents, "scale": 1.0, "log": [plain(own) for own in nodes]})
            first = int(ends[-1])
        return out


@dataclass(frozen=True, eq=False)
class BoostingRows:
    """Packed codes (columns, rows) with levels `sizes`; class, weight (0: unused) and hash of each row. numeric: which
    columns are numbers; complete: in which a missing value carries no information; tokens: order the levels."""

    codes: Array
    sizes: NDArray[np.int64]
    numeric: NDArray[np.bool_]
    complete: NDArray[np.bool_]
    y: NDArray[np.int32]
    w: Floats
    key: NDArray[np.uint64]
    tokens: ContentTokens


def boost(rows: BoostingRows, joint: Floats, effort: int) -> tuple[BoostedTrees | None, float]:
    """Trees on the residuals of `joint` (LOO, rows × classes), and by how much they lower the mean log-loss.

    Few rows are searched several times with other halves and the trees averaged, which removes what one search finds
    by chance. Many rows are searched less often, with more patience and, where it gains, depth. effort: multiplies the
    tries; beyond twice as many searches nothing is gained.
    """
    used, longer = max(int((rows.w > 0).sum()), 1), effort > 1
    most = int(np.clip(used // ROWS_PER_BIN, MIN_BINS, MAX_BINS))
    maps = [_histogram_bins(rows, j, most) for j in range(len(rows.codes))]
    bin_of = np.stack([own[np.minimum(c, len(own) - 1)] for own, c in zip(maps, rows.codes, strict=True)])
    bins = np.array([int(own[own != NO_BIN].max(initial=0)) + 1 for own in maps], dtype=np.int32)
    columns = int(np.ceil((COLUMN_FACTOR + longer) * np.sqrt(len(maps))))
    labelled = (rows.y, np.ascontiguousarray(rows.w, dtype=np.float64), rows.key)
    start = np.ascontiguousarray(joint, dtype=np.float64)
    usual = int(np.clip(RUN_ROWS // used, 1, MAX_RUNS))
    many = used > MANY_ROWS
    fewer, runs = MAX_RUNS / usual, 1 if many else usual * (1 + longer)
    patience = round(PATIENCE * (fewer if longer else fewer**0.5))
    found, gain = list[_Tree](), 0.0
    for run in range(runs):
        options = _core.BoostingOptions(
            max_tries=(MANY_TRIES if many else MAX_TRIES) * effort,
            patience=patience,
            depth=DEPTH,
            columns=columns,
            rows=MANY_SEARCH_ROWS if many else SEARCH_ROWS,
            seed=run,
            learning_rate=MANY_LEARNING_RATE if many else LEARNING_RATE,
            pseudo_count=PRIOR_PSEUDO_COUNT,
            ridge=SPLIT_RIDGE,
            min_gain=MIN_SPLIT_SCORE,
            self_weight=MANY_OWN_SHARE if many else LEAVE_OUT_FRACTION,
            patience_per_tree=PATIENCE_PER_TREE,
            max_depth=MAX_DEPTH if many else DEPTH,
            validation_share=VALIDATION_SHARE if many else 0.0,
        )
        own, fell = _core.fit_boosting((bin_of, bins, rows.numeric), labelled, start, options)
        found += own
        gain += fell / runs
    return (_as_chains(found, runs, maps, rows.numeric), gain) if found else (None, 0.0)


def _as_chains(
    found: Sequence[_Tree], runs: int, maps: Sequence[NDArray[np.uint8]], numeric: NDArray[np.bool_]
) -> BoostedTrees:
    """The trees of all runs, averaged. maps: the bin of each level of each column."""
    of = np.concatenate([column for column, _, _ in found])
    levels = np.array([len(own) for own in maps], dtype=np.int64)
    first = np.cumsum(np.insert(levels, 0, 0), dtype=np.int64)
    cuts = (of, np.concatenate([cut for _, cut, _ in found]))
    return BoostedTrees(
        columns=len(maps),
        binning_column=of,
        binning_start=np.cumsum(np.insert(levels[of], 0, 0), dtype=np.int64),
        binning_map=_core.cut_views((np.concatenate(maps), first, numeric), cuts),
        parent_start=np.cumsum([0, *(len(column) for column, _, _ in found)], dtype=np.int64),
        logs=(np.concatenate([value for _, _, value in found]) / runs).astype(np.float32),
    )


def _histogram_bins(rows: BoostingRows, j: int, most: int) -> NDArray[np.uint8]:
    """The bin of each level of column j, and last of a missing value: bin 0, or none in a complete column.

    Numbers have bins of about equal weight; frequent levels of a category have one each, the others share the first.
    """
    size = int(rows.sizes[j])
    n = np.bincount(np.minimum(rows.codes[j], size), weights=rows.w, minlength=size + 1)[:size]
    missing = NO_BIN if rows.complete[j] else 0
    total = float(n.sum())
    if total <= 0:
        return np.full(size + 1, NO_BIN, dtype=np.uint8)
    if rows.numeric[j]:
        place = np.minimum((np.cumsum(n) - n / 2) / total * most, most - 1).astype(np.int64)
        own = np.cumsum(place != np.concatenate([place[:1], place[:-1]])) + 1  # they ascend
        return np.append(own, missing).astype(np.uint8)
    known = int((np.minimum(rows.codes[j], size) < size).sum())
    if (n > 0).sum() > most and (n > 0).sum() >= ID_SHARE * known:  # an identifier
        return np.full(size + 1, NO_BIN, dtype=np.uint8)
    enough = n >= MIN_LEVEL_ROWS
    if enough.sum() > most - 1:  # those with more rows than the first level that has no place
        enough &= n > np.sort(n)[-most]
    order = rows.tokens.level_order(j, size)
    own = np.zeros(size, dtype=np.intp)
    own[order] = np.where(enough[order], np.cumsum(enough[order]), 0)
    return np.append(own, missing).astype(np.uint8)
