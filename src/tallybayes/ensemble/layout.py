"""Layout: which components an ensemble has, and the bins, super-parents and splits of each, chosen on the first rows.

The layout stays as it is when rows are added or forgotten; models with equal layouts can be merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.schema.inference import ID_SHARE
from tallybayes.distributions.networks.count_tables import Tables
from tallybayes.ensemble.canonical_order import CodedRows, ContentTokens
from tallybayes.ensemble.class_trees import add_class_trees
from tallybayes.ensemble.ensemble_distribution import Component
from tallybayes.ensemble.ensemble_statistics import EnsembleStatistics
from tallybayes.ensemble.gaussian_copula import MAX_DIMENSIONS, column_scores, scores_of
from tallybayes.ensemble.missing_values import NO_BIN
from tallybayes.ensemble.naive import add_naive
from tallybayes.ensemble.networks import add_networks
from tallybayes.ensemble.row_sample import RowSample, first_rows
from tallybayes.errors import OptionError
from tallybayes.utils.array_types import Array, Floats
from tallybayes.utils.cached import cached_property

Batches = Callable[[], Iterator[CodedRows]]

MAX_PAIR_CELLS = 1 << 25  # counts of pairs of columns
INFORMATION_BINS = 6  # of a column, for mutual information
MIN_CANDIDATES = 8  # columns that may be parents, however many columns there are
MAX_WEAK_INFORMATION = 2.0  # nats in all rows, for each column and class but one: of noise, 1 is overfitted
MAX_FALSE = 0.2  # share of noise among the columns that are used, where there are more columns than rows
MANY_LEVELS = 10  # of a category, above which it has a target encoding
REDUNDANT = 0.95  # rank correlation from which two numbers share their stacking weights
MAX_COMPARED = 1 << 12  # numbers that are compared with each other: with more, columns share weights by information
COMPARED_CELLS = 1 << 20  # correlations at a time
LAYOUT_ROWS = 8000  # of the row sample, which find redundant columns and grow class trees
MAX_STACKED_CLASSES = 1000  # a Newton step of stacking takes time cubic, and memory quadratic, in the classes
MAX_GROUPS = 64  # stacking weights of one component; of more columns, similarly informative ones share one
FIELDS: dict[str, type[np.generic]] = {  # arrays that are gathered for an Ensemble
    "binning_column": np.int32, "binning_map": np.uint8, "binning_size": np.int64, "binning_bins": np.int32,
    "child": np.int32, "parent": np.int32, "parents": np.int64, "chain_feature": np.int32, "chain_share": np.float64,
}  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """How much of each component an effort has."""

    networks: int  # whose super-parents are mostly the columns with most information about the class
    uniform_networks: int  # whose super-parents are nearly all columns alike
    naive: int  # binnings of naive Bayes
    class_trees: int
    gaussian: bool
    weighting: str
    target_encoding: bool = True
    neighbors: bool = False
    boosting: int = 0  # multiplies the tries of a search; 0: none
    few_rows: float | None = None  # class trees are for fewer rows, neighbours for more; None: both for any number
    parents: int = 4
    bins: tuple[int, int] = (5, 12)  # of a number in a network: from, to
    naive_bins: tuple[int, int] = (10, 25)
    tree_depth: int = 16
    tree_tries: int = 6  # columns that are tried for each split
    cells_per_row: int = 16  # counts of one back-off chain for each row …
    cells_per_row_and_class: int = 4  # … and for each row and class
    screened_from: float = 1.0  # columns for each row, above which columns without significant information are ignored

    def suited_to(self, columns: CountedColumns) -> Recipe:
        """Class trees or neighbours by the number of rows: see few_rows."""
        if self.few_rows is None:
            return self.for_classes(columns.K)
        few = float(columns.weight.sum()) < self.few_rows
        near = self.neighbors and not few and bool(columns.numeric.any())
        return replace(self, class_trees=self.class_trees if few else 0, neighbors=near).for_classes(columns.K)

    def for_classes(self, K: int) -> Recipe:
        """Of more than MAX_STACKED_CLASSES: a temperature for each component, and nothing that needs stacking."""
        if K <= MAX_STACKED_CLASSES or self.weighting == "none":
            return self
        return replace(self, weighting="temperature", target_encoding=False, boosting=0)


@dataclass(frozen=True, eq=False)
class CountedColumns:
    """The counts and kinds of the columns. The levels of categories are in a canonical order, independent of the order
    of rows; `original_order` leads back."""

    single: Floats  # (classes, all levels)
    sizes: NDArray[np.int64]
    numeric: NDArray[np.bool_]
    missing: NDArray[np.bool_]  # has it missing values?
    weight: Floats  # of each class
    canonical: tuple[NDArray[np.intp], ...]  # of each column: which level is the first, the second, …
    ignored: NDArray[np.bool_]  # an identifier (nearly every row has a value of its own), or noise (without_noise)

    def original_order(self, j: int, values: Array) -> Array:
        """Values of the levels of column j, from canonical order to their own."""
        out = np.empty_like(values)
        out[self.canonical[j]] = values
        return out

    @cached_property
    def d(self) -> int:
        """The number of columns."""
        return len(self.sizes)

    @cached_property
    def K(self) -> int:
        """The number of classes."""
        return len(self.single)

    def split(self, levels: Array | None = None) -> list[Array]:
        """Values of all levels (last axis; the counts by default), column by column."""
        ends = np.cumsum(self.sizes).tolist()
        all_of = self.single if levels is None else levels
        return [all_of[..., end - size : end] for end, size in zip(ends, self.sizes.tolist(), strict=True)]

    def of(self, which: Array) -> CountedColumns:
        """Some of the columns."""
        parts = self.split()
        single = np.ascontiguousarray(np.concatenate([parts[j] for j in which.tolist()], axis=1))
        canonical = tuple(self.canonical[j] for j in which.tolist())
        flags = (self.numeric[which], self.missing[which], self.weight)
        return CountedColumns(single, self.sizes[which], *flags, canonical, self.ignored[which])

    def draw_bins(
        self, turn: NDArray[np.int32], bins: tuple[int, int], mdl: float, seed: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
        """Bins of every level for every member, (members, all levels), and their number, (members, columns)."""
        found = _core.draw_bins(self.single, self.sizes, self.numeric, turn, *bins, mdl, seed)
        first = np.repeat(np.cumsum(self.sizes) - self.sizes, self.sizes)
        whole = np.empty_like(found[0])
        whole[:, np.concatenate(self.canonical) + first] = found[0]
        return whole, np.asarray(found[1])


def columns_of(
    s: EnsembleStatistics, weight: Floats, tokens: ContentTokens, n: int, numeric: NDArray[np.bool_]
) -> CountedColumns:
    """The columns of n rows with these statistics. weight: of each class."""
    sizes, first = s.sizes, np.concatenate([[0], np.cumsum(s.sizes)[:-1]])
    order = tuple(tokens.level_order(j, size) for j, size in enumerate(sizes.tolist()))
    single = s.single[:, np.concatenate([own + at for own, at in zip(order, first, strict=True)])]
    present = np.add.reduceat(single.sum(axis=0), first)
    missing = present < weight.sum() * (1 - 1e-9)
    levels = np.add.reduceat(single.sum(axis=0) > 0, first, dtype=np.int64)
    rows = n * np.minimum(present / max(float(weight.sum()), 1e-300), 1.0)
    ignored = ~numeric & (levels > MANY_LEVELS) & (levels >= ID_SHARE * rows)
    return CountedColumns(np.ascontiguousarray(single), sizes, numeric, missing, weight, order, ignored)


@dataclass(frozen=True, eq=False)
class Information:
    """Mutual information in nats, less its expectation under independence. candidates: possible parents, ascending."""

    with_class: Floats
    candidates: NDArray[np.int64]
    between: Floats  # (columns, candidates): I(x_i; x_j | y)


class ChainBuilder:
    """Binnings and back-off chains as they are gathered, many at a time."""

    def __init__(self, columns: CountedColumns) -> None:
        self.columns = columns
        self.binnings = 0
        self.gathered: dict[str, list[Array]] = {key: [np.empty(0, dtype=kind)] for key, kind in FIELDS.items()}

    def bin(self, column: Array, levels: Array, bins: Array) -> Array:
        """Add binnings of some columns, their maps one after the other; a column with missing values has a bin more."""
        ignored = self.columns.ignored[column]  # no value has a bin, and the map has no place for any
        missing = self.columns.missing[column] & ~ignored
        levels = levels[np.repeat(~ignored, self.columns.sizes[column])]
        bins = np.where(ignored, 1, bins)
        size = np.where(ignored, 0, self.columns.sizes[column]) + 1
        own = np.empty(int(size.sum()), dtype=np.uint8)
        last = np.zeros(len(own), dtype=bool)
        last[np.cumsum(size) - 1] = True
        own[last], own[~last] = np.where(missing, bins, NO_BIN), levels
        self._gather(binning_column=column, binning_map=own, binning_size=size, binning_bins=bins + missing)
        self.binnings += len(column)
        return np.arange(self.binnings - len(column), self.binnings)

    def add(self, child: Array, parent: Array, parents: Array, feature: Array, share: float) -> None:
        """Add chains of some binnings. parents: how many entries of `parent` each chain has."""
        shares = np.full(len(child), share)
        self._gather(child=child, parent=parent, parents=parents, chain_feature=feature, chain_share=shares)

    def _gather(self, **more: Array) -> None:
        for key, own in more.items():
            self.gathered[key].append(own.astype(FIELDS[key], copy=False))

    def arrays(self) -> dict[str, int | Array]:
        """Fields of an Ensemble."""
        all_of = {key: np.concatenate(own) for key, own in self.gathered.items()}
        start = {key: np.concatenate([[0], np.cumsum(all_of.pop(key))]) for key in ("binning_size", "parents")}
        return {
            "columns": self.columns.d,
            **all_of,
            "binning_start": start["binning_size"].astype(np.int64),
            "parent_start": start["parents"].astype(np.int64),
        }


class Draft:
    """The layout of an ensemble, one component after another."""

    DESIGN: ClassVar[int] = 0  # seed of the low-discrepancy design: the same for every random_state

    def __init__(
        self, columns: CountedColumns, recipe: Recipe, known: Information, seed: int, redundant: NDArray[np.int32]
    ) -> None:
        self.columns, self.recipe, self.known, self.seed = columns, recipe, known, seed
        self.chains, self.components = ChainBuilder(columns), list[Component]()
        self.column_group = _groups(known.with_class, redundant)
        self.groups = int(self.column_group.max()) + 1

    def add_component(self, name: str, size: int, share: float) -> Component:
        """Begin a component with so many meta-features."""
        first = self.components[-1].first + self.components[-1].size if self.components else 0
        self.components.append(Component(name, first, size, share))
        return self.components[-1]

    def bin_all(self, maps: Array, bins: Array) -> Array:
        """(members, columns): binnings of all columns for each member."""
        columns = np.tile(np.arange(self.columns.d), len(bins))
        return self.chains.bin(columns, maps.ravel(), bins.ravel()).reshape(bins.shape)


def lay_out(columns: CountedColumns, recipe: Recipe, batches: Batches, sample: RowSample, seed: int) -> dict[str, Any]:
    """The fields of an Ensemble of these columns."""
    recipe, sample = recipe.suited_to(columns), first_rows(sample, LAYOUT_ROWS)
    columns = without_noise(columns, recipe.screened_from)
    draft = Draft(columns, recipe, information(columns, batches), seed, redundant_groups(columns, sample.codes))
    add_networks(draft)
    add_naive(draft)
    add_class_trees(draft, sample)
    encoded = _many_levels(columns) if recipe.target_encoding else np.empty(0, dtype=np.int32)
    if len(encoded):
        draft.add_component("target_encoding", len(encoded), 0.0 if draft.components else 1.0)
    scores = column_scores(columns) if recipe.gaussian or recipe.neighbors else scores_of(())
    dimensions = len(scores.column)
    if recipe.neighbors and dimensions:
        draft.add_component("neighbors", 1, 0.0 if draft.components and recipe.weighting == "features" else 1.0)
    fields = draft.chains.arrays()
    if recipe.gaussian and 0 < dimensions <= MAX_DIMENSIONS:
        draft.add_component("gaussian", 1, 1.0)
        fields |= {"score_column": scores.column, "score_start": scores.start, "score_value": scores.value}
    if not draft.components:
        raise OptionError(
            "None of the components suits this table. Class trees found no column that separates the classes; the "
            f"Gaussian discriminant needs 1 to {MAX_DIMENSIONS} dimensions (numbers and frequent levels) and neighbors "
            f"at least 1, and there are {dimensions}; target encoding needs a category with more than {MANY_LEVELS} "
            "levels. Add 'networks' or 'naive' to parts."
        )
    return {
        **fields,
        "encoded_column": encoded,
        "numeric_column": np.flatnonzero(columns.numeric).astype(np.int32),
        "parts": tuple(tuple(component) for component in draft.components),
        "column_group": draft.column_group,
        "weighting": recipe.weighting,
        "boosting": recipe.boosting,
    }


def _many_levels(columns: CountedColumns) -> NDArray[np.int32]:
    """The categories with a target encoding."""
    first = np.cumsum(columns.sizes) - columns.sizes
    seen = np.add.reduceat(columns.single.sum(axis=0) > 0, first, dtype=np.int64)
    return np.flatnonzero(~columns.numeric & ~columns.ignored & (seen > MANY_LEVELS)).astype(np.int32)


def redundant_groups(columns: CountedColumns, codes: Array) -> NDArray[np.int32]:
    """A group for each column, in their order: numbers whose ranks in the row sample correlate above REDUNDANT."""
    group, numbers = np.arange(columns.d), np.flatnonzero(columns.numeric)
    if not 2 <= len(numbers) <= MAX_COMPARED or codes.shape[1] < 10:
        return group.astype(np.int32)
    here = codes[numbers] != np.iinfo(codes.dtype).max
    rank = np.zeros(here.shape, dtype=np.float32)
    for i, j in enumerate(numbers.tolist()):
        own = codes[j][here[i]].astype(np.intp)
        n = np.bincount(own)
        middle = np.cumsum(n) - n / 2
        rank[i, here[i]] = middle[own] - float(n @ middle) / max(len(own), 1)
    size = np.sqrt((rank * rank).sum(axis=1))
    step = max(1, COMPARED_CELLS // len(numbers))
    for i in range(0, len(numbers), step):
        some, before = slice(i, i + step), slice(i + step)
        alike = np.abs(rank[some] @ rank[before].T) > REDUNDANT * np.maximum(np.outer(size[some], size[before]), 1e-30)
        for a, b in zip(*np.nonzero(np.tril(alike, i - 1)), strict=True):
            one, other = group[numbers[i + a]], group[numbers[b]]
            if one != other:
                group[group == max(one, other)] = min(one, other)
    return np.unique(group, return_inverse=True)[1].astype(np.int32)


def _groups(with_class: Floats, redundant: NDArray[np.int32]) -> NDArray[np.int32]:
    """Which stacking weight of a component each column has: redundant columns share one."""
    d = len(with_class)
    if redundant.max(initial=-1) < MAX_GROUPS:
        return redundant
    out = np.empty(d, dtype=np.int32)
    out[np.argsort(-with_class, kind="stable")] = np.arange(d) * MAX_GROUPS // d
    return out


def _coarse(columns: CountedColumns) -> tuple[Array, Array, Floats, NDArray[np.int64]]:
    """About six bins of each column: maps and numbers of draw_bins, their counts (classes, bins), and bins by column,
    with one for missing values."""
    turn = np.zeros((1, columns.d), dtype=np.int32)
    maps, bins = columns.draw_bins(turn, (INFORMATION_BINS, INFORMATION_BINS), 0.0, 0)
    sizes = (bins[0] + columns.missing).astype(np.int64)
    last, ends = np.cumsum(columns.sizes), np.cumsum(sizes)
    first = np.repeat(last - columns.sizes, columns.sizes)
    level = maps[0][np.concatenate(columns.canonical) + first] + np.repeat(ends - sizes, columns.sizes)
    found = [np.bincount(level, weights=c, minlength=int(ends[-1])) for c in columns.single]
    single = np.asarray(found, dtype=np.float64)
    rest = columns.weight[:, None] - np.add.reduceat(single, ends - sizes, axis=1)
    single[:, (ends - 1)[columns.missing]] = np.maximum(rest, 0.0)[:, columns.missing]
    return maps, bins, single, sizes


def without_noise(columns: CountedColumns, from_ratio: float) -> CountedColumns:
    """Where there are more than from_ratio columns for each row: columns without significant information about the
    class are ignored, but for MIN_CANDIDATES (G-test with a false discovery rate of MAX_FALSE: Benjamini & Hochberg
    1995)."""
    from scipy.special import chdtrc  # lazy import: commands without an ensemble need not wait for it

    rows = float(columns.weight.sum())
    if columns.d <= from_ratio * rows or not rows:
        return columns
    _, _, single, sizes = _coarse(columns)
    value, free, n = _mutual_information(single, sizes)
    p = np.where((free > 0) & ~columns.ignored, chdtrc(np.maximum(free, 1), 2 * n * value), 1.0)
    order = np.argsort(p, kind="stable")
    below = np.flatnonzero(p[order] <= MAX_FALSE * np.arange(1, columns.d + 1) / columns.d)
    noise = np.ones(columns.d, dtype=bool)
    noise[order[: max(below.max(initial=-1) + 1, MIN_CANDIDATES)]] = False
    return replace(columns, ignored=columns.ignored | noise)


def is_weak(columns: CountedColumns) -> bool:
    """Do columns one by one tell so little of the class that bins, parents and weights chosen on noise tell as much?

    The log-loss of n new rows, of noise, exceeds that of the class prior by about columns · (classes − 1).
    """
    _, _, single, sizes = _coarse(columns)
    value, free, n = _mutual_information(single, sizes)
    used = (n > 0) & ~columns.ignored
    information = float((n[used] * value[used] - free[used] / 2).sum())
    return information <= MAX_WEAK_INFORMATION * float(used.sum()) * (columns.K - 1)


def information(columns: CountedColumns, batches: Batches) -> Information:
    """Mutual information on about six bins of each column, less its expectation by chance: degrees of freedom / 2n.

    Where there would be too many pairs, only the columns with most information about the class may be parents.
    """
    d, K = columns.d, columns.K
    maps, bins, single, sizes = _coarse(columns)
    ends = np.cumsum(sizes)
    with_class = _with_class(single, sizes)
    none = np.where(columns.missing, bins[0], NO_BIN).astype(np.uint8)
    luts = [np.append(own, gone) for own, gone in zip(columns.split(maps[0]), none, strict=True)]
    order = np.argsort(-with_class, kind="stable")
    most = max(MIN_CANDIDATES, MAX_PAIR_CELLS // (d * INFORMATION_BINS**2 * K))
    candidates = np.sort(order[~columns.ignored[order]][:most])
    pairs = _pairs(d, candidates)
    between = np.zeros((d, len(candidates)))
    if not len(pairs):
        return Information(with_class, candidates, between)
    tables = Tables(pairs.ravel().astype(np.int32), np.arange(0, 2 * len(pairs) + 1, 2, dtype=np.int64))
    joint: Array | None = None
    for codes, y, w in batches():
        coarse = np.stack([lut[np.minimum(c, len(lut) - 1)] for lut, c in zip(luts, codes, strict=True)])
        if joint is None:
            joint = np.zeros((K, tables.cells(sizes)), dtype=np.uint32 if w is None else np.float64)
        _core.count_tables(coarse, y, w, sizes, tables.columns, tables.starts, joint)
    assert joint is not None
    pair, _ = _core.pair_information(single, joint, sizes, tables.columns, tables.starts)
    seen = np.add.reduceat(single > 0, ends - sizes, axis=1, dtype=np.int64)
    full = np.maximum(seen - 1, 0).T  # (columns, classes)
    free = (full[pairs[:, 0]] * full[pairs[:, 1]]).sum(axis=1)
    value = np.asarray(pair) - free / (2 * max(float(columns.weight.sum()), 1.0))
    place = np.full(d, -1)
    place[candidates] = np.arange(len(candidates))
    for a, b in ((0, 1), (1, 0)):
        here = place[pairs[:, b]] >= 0
        between[pairs[here, a], place[pairs[here, b]]] = value[here]
    return Information(with_class, candidates, between)


def _pairs(d: int, candidates: NDArray[np.int64]) -> NDArray[np.int64]:
    """All pairs i < j of columns of which one is a candidate parent."""
    i, j = np.repeat(np.arange(d), len(candidates)), np.tile(candidates, d)
    parent = np.zeros(d, dtype=bool)
    parent[candidates] = True
    keep = (i < j) | ((i > j) & ~parent[i])
    return np.stack([np.minimum(i, j)[keep], np.maximum(i, j)[keep]], axis=1)


def _with_class(counts: Floats, sizes: NDArray[np.int64]) -> Floats:
    """I(x; y) of each column, bias-corrected and above 0. counts: (classes, levels), column after column."""
    value, free, n = _mutual_information(counts, sizes)
    with np.errstate(over="ignore"):  # rows of next to no weight say nothing
        bias = free / (2 * np.where(n > 0, n, 1.0))
    found = np.maximum(value - bias, 1e-6 * np.maximum(value, 0.0) + 1e-9)
    return np.where(n > 0, found, 1e-9)


def _mutual_information(counts: Floats, sizes: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64], Floats]:
    """I(x; y) in nats, degrees of freedom and weight of each column."""
    first = np.cumsum(sizes) - sizes
    of_class = np.add.reduceat(counts, first, axis=1)  # (classes, columns)
    n = of_class.sum(axis=0)
    whole = np.repeat(np.where(n > 0, n, 1.0), sizes)
    share = counts / whole
    both = np.repeat(np.add.reduceat(share, first, axis=1), sizes, axis=1) * share.sum(axis=0)
    here = (share > 0) & (both > 0)  # a weight may underflow beside the others
    each = np.zeros_like(share)
    each[here] = share[here] * np.log(share[here] / both[here])
    value = np.add.reduceat(each.sum(axis=0), first)
    levels = np.add.reduceat(counts.sum(axis=0) > 0, first, dtype=np.int64)
    free = np.maximum(levels - 1, 0) * np.maximum((of_class > 0).sum(axis=0) - 1, 0)
    return value, free, n
