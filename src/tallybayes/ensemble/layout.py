"""What an ensemble is made of: which bins each member reads, who its super-parents are, which contexts it looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.column_kinds import ID_SHARE
from tallybayes.distributions.networks.count_tables import Tables
from tallybayes.distributions.networks.joint_counts import GRID
from tallybayes.ensemble.ensemble_distribution import Part
from tallybayes.ensemble.fitting import grows
from tallybayes.ensemble.gaussian_copula import indicators, normal_scores
from tallybayes.ensemble.low_discrepancy import orders, turns
from tallybayes.ensemble.row_sample import KeptRows
from tallybayes.errors import OptionError
from tallybayes.utils.array_types import Array, Floats

CodedRows = tuple[Array, NDArray[np.int32], Floats | None]  # codes, classes, weights
Batches = Callable[[], Iterator[CodedRows]]

NONE = 255
DESIGN = 0  # what all bins and the networks are laid out with: the same for every seed
PAIR_CELLS = 1 << 25  # counts of pairs of columns
CELLS = 1 << 26  # counts of all chains
MANY = 10  # levels of a category from which each counts by itself
FINE = (40, 10_000)  # bins of a number in a network at most, where there are so many rows for each class
TWINS = 0.95  # rank correlation, from which two numbers say the same: they share their weights
PLANES = 64  # weights of one part; of more columns, those that tell about as much share one
DIMENSIONS = 200  # of the Gaussian part, at most
CONTEXT_CELLS = 1 << 17
FIELDS: dict[str, type[np.generic]] = {  # of an Ensemble, and of what array
    "view_column": np.int32, "view_map": np.uint8, "view_size": np.int64, "view_bins": np.int32,
    "child": np.int32, "parent": np.int32, "parents": np.int64, "plane": np.int32, "share": np.float64,
}  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """How much of everything."""

    informed: int  # networks whose super-parents come by what they tell about the class
    even: int  # … of which nearly all columns come alike
    naive: int  # without parents, on finer bins
    contexts: int
    gaussian: bool
    weighting: str
    levels: bool = True  # of categories that have many
    nearest: bool = False  # kept rows
    corrections: int = 0  # so many times as many tries to find them as usual
    few: float | None = None  # rows: contexts are for fewer, nearest rows for more with a number; None: both for any
    parents: int = 4
    bins: tuple[int, int] = (5, 12)
    naive_bins: tuple[int, int] = (10, 25)
    depth: int = 16  # of a context
    tries: int = 6  # columns that are tried for each step of it
    per_row: int = 16  # counts of one chain for each row
    per_class: int = 4  # … and for each row and class

    def of(self, columns: Columns) -> Recipe:
        """What is left of it for these columns and their rows: see few."""
        if self.few is None:
            return self
        few = float(columns.weight.sum()) < self.few
        near = self.nearest and not few and bool(columns.ordered.any())
        return replace(self, contexts=self.contexts if few else 0, nearest=near)


@dataclass(frozen=True, eq=False)
class Columns:
    """What is known of the columns before anything is chosen. The levels of categories are in the order of `canonical`,
    which does not depend on the order of the rows; `actual` of a map leads back."""

    single: Floats  # (classes, all levels)
    sizes: NDArray[np.int64]
    ordered: NDArray[np.bool_]
    missing: NDArray[np.bool_]  # was a value ever missing?
    weight: Floats  # of each class
    canonical: tuple[NDArray[np.intp], ...]  # of each column: which level is the first, the second, …
    ids: NDArray[np.bool_]  # has nearly every row a value of its own? Such a column is ignored

    def actual(self, j: int, values: Array) -> Array:
        """Values of the levels of column j in canonical order, in their own order."""
        out = np.empty_like(values)
        out[self.canonical[j]] = values
        return out

    @property
    def d(self) -> int:
        """How many columns there are."""
        return len(self.sizes)

    @property
    def K(self) -> int:
        """How many classes there are."""
        return len(self.single)

    def split(self, levels: Array | None = None) -> list[Array]:
        """What is known of each level, the last axis, column by column: the counts, or anything else."""
        ends = np.cumsum(self.sizes).tolist()
        all_of = self.single if levels is None else levels
        return [all_of[..., end - size : end] for end, size in zip(ends, self.sizes.tolist(), strict=True)]

    def of(self, which: Array) -> Columns:
        """Some of them."""
        parts = self.split()
        single = np.ascontiguousarray(np.concatenate([parts[j] for j in which.tolist()], axis=1))
        canonical = tuple(self.canonical[j] for j in which.tolist())
        flags = (self.ordered[which], self.missing[which], self.weight)
        return Columns(single, self.sizes[which], *flags, canonical, self.ids[which])


@dataclass(frozen=True, eq=False)
class Information:
    """In nats, less what chance alone would show. able: the columns that may be parents, in ascending order."""

    with_class: Floats
    able: NDArray[np.int64]
    between: Floats  # (columns, able): I(x_i; x_j | y)


class Chains:
    """Views and chains as they are gathered, many at a time."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.views = 0
        self.parts: dict[str, list[Array]] = {key: [np.empty(0, dtype=kind)] for key, kind in FIELDS.items()}

    def view(self, column: Array, levels: Array, bins: Array) -> Array:
        """Views of some columns, their maps one after the other; a missing value has a bin of its own where there ever
        was one."""
        ignored = self.columns.ids[column]  # no value of them has a bin, and their maps have no place for any
        missing = self.columns.missing[column] & ~ignored
        levels = levels[np.repeat(~ignored, self.columns.sizes[column])]
        bins = np.where(ignored, 1, bins)
        size = np.where(ignored, 0, self.columns.sizes[column]) + 1
        own = np.empty(int(size.sum()), dtype=np.uint8)
        last = np.zeros(len(own), dtype=bool)
        last[np.cumsum(size) - 1] = True
        own[last], own[~last] = np.where(missing, bins, NONE), levels
        self._add(view_column=column, view_map=own, view_size=size, view_bins=bins + missing)
        self.views += len(column)
        return np.arange(self.views - len(column), self.views)

    def chain(self, child: Array, parent: Array, parents: Array, plane: Array, share: float) -> None:
        """Chains of some views. parents: how many of `parent`, which has them one after the other, each has."""
        self._add(child=child, parent=parent, parents=parents, plane=plane, share=np.full(len(child), share))

    def _add(self, **parts: Array) -> None:
        for key, part in parts.items():
            self.parts[key].append(part.astype(FIELDS[key], copy=False))

    def arrays(self) -> dict[str, int | Array]:
        """Fields of an Ensemble."""
        all_of = {key: np.concatenate(part) for key, part in self.parts.items()}
        start = {key: np.concatenate([[0], np.cumsum(all_of.pop(key))]) for key in ("view_size", "parents")}
        return {
            "columns": self.columns.d,
            **all_of,
            "view_start": start["view_size"].astype(np.int64),
            "parent_start": start["parents"].astype(np.int64),
        }


def choose(columns: Columns, recipe: Recipe, batches: Batches, kept: KeptRows, seed: int) -> dict[str, Any]:
    """The fields of an Ensemble. kept: its sample of rows."""
    recipe = recipe.of(columns)
    draft = Draft(columns, recipe, information(columns, batches), seed, twins(columns, kept.rows))
    draft.add_networks()
    draft.add_naive()
    draft.add_contexts(kept)
    many = many_levels(columns) if recipe.levels else np.empty(0, dtype=np.int32)
    if len(many):
        draft.add_part("target_encoding", len(many), 0.0 if draft.parts else 1.0)
    line = numbers(columns) if recipe.gaussian or recipe.nearest else {"z_column": np.empty(0, dtype=np.int32)}
    if recipe.nearest and len(line["z_column"]):
        draft.add_part("neighbors", 1, 0.0 if draft.parts and recipe.weighting == "features" else 1.0)
    number = np.flatnonzero(columns.ordered).astype(np.int32)
    fields = {**draft.chains.arrays(), "level_column": many, "number": number}
    if recipe.gaussian and 0 < len(line["z_column"]) <= DIMENSIONS:
        draft.add_part("gaussian", 1, 1.0)
        fields.update(line)
    if not draft.parts:
        raise OptionError(
            "Nothing is left to count. Contexts found no column that tells the classes apart; a Gaussian part is of 1 "
            f"to {DIMENSIONS} numbers and frequent categories, nearest rows of any number of them, and there are "
            f"{len(line['z_column'])}; levels are of "
            f"categories with more than {MANY}. Let 'networks' or 'naive' be among the parts."
        )
    plain = tuple(tuple(part) for part in draft.parts)
    return {
        **fields,
        "parts": plain,
        "plane_of": draft.plane_of,
        "weighting": recipe.weighting,
        "boosting": recipe.corrections,
    }


class Draft:
    """Parts and their chains, one part after another."""

    def __init__(
        self, columns: Columns, recipe: Recipe, known: Information, seed: int, group: NDArray[np.int32]
    ) -> None:
        self.columns, self.recipe, self.known, self.seed = columns, recipe, known, seed
        self.chains, self.parts = Chains(columns), list[Part]()
        self.plane_of = planes(known.with_class, group)
        self.width = int(self.plane_of.max()) + 1
        self.all_columns = np.arange(columns.d)

    def add_part(self, name: str, planes: int, centre: float) -> Part:
        """Begin a part of so many planes."""
        first = self.parts[-1].first + self.parts[-1].planes if self.parts else 0
        self.parts.append(Part(name, first, planes, centre))
        return self.parts[-1]

    def add_networks(self) -> None:
        """Informed and even ones: two parts where each part has weights of its own, else one."""
        recipe, rng = self.recipe, np.random.default_rng(DESIGN)
        apart = recipe.weighting == "features"
        for half, (count, noise, mdl) in enumerate(((recipe.informed, 1.0, 0.5), (recipe.even, 10.0, 0.0))):
            if not count:
                continue
            if apart or not self.parts:
                name = "uniform_networks" if half and apart else "networks"
                self.add_part(name, self.width, 0.5 if apart and recipe.even else 1.0)
            order = self.known.able[orders(self.known.with_class[self.known.able], noise, count, recipe.parents, rng)]
            turn = turns(count, self.columns.d, rng, order)
            maps, bins = draw(self.columns, turn, bins_of(self.columns, recipe), mdl, DESIGN + half)
            share = 1 / (count if apart else recipe.informed + recipe.even)
            self._add_networks(maps, bins, order, share)

    def _add_networks(self, maps: Array, bins: Array, order: NDArray[np.intp], share: float) -> None:
        columns, members = self.columns, len(bins)
        own = self._views(maps, bins)
        useful = telling(self.known, order)
        useful &= fitting(order, useful, bins + columns.missing, columns.K, cells_of_one(columns, self.recipe))
        member, _, which = np.nonzero(useful)
        parent = own[member, order[member, which]]
        plane = np.tile(self.parts[-1].first + self.plane_of, members)
        self.chains.chain(own.ravel(), parent, useful.sum(axis=2).ravel(), plane, share)

    def _views(self, maps: Array, bins: Array) -> Array:
        """(members, columns): views of all columns for each member."""
        found = self.chains.view(np.tile(self.all_columns, len(bins)), maps.ravel(), bins.ravel())
        return found.reshape(bins.shape)

    def add_naive(self) -> None:
        """Add the chains of the columns by themselves."""
        count = self.recipe.naive
        if not count:
            return
        turn = turns(count, self.columns.d, np.random.default_rng(DESIGN + 2))
        maps, bins = draw(self.columns, turn, self.recipe.naive_bins, 0.5, DESIGN + 2)
        part = self.add_part("naive", self.width, 0.0 if self.parts else 1.0)
        own = self._views(maps, bins).ravel()
        plane = np.tile(part.first + self.plane_of, count)
        self.chains.chain(own, own[:0], np.zeros(len(own)), plane, 1 / count)

    def add_contexts(self, kept: KeptRows) -> None:
        """Add contexts of classes, grown on the kept rows."""
        grown = contexts(self.columns, self.known.able, self.recipe, kept, self.seed) if self.recipe.contexts else []
        if not grown:
            return
        part = self.add_part("class_trees", 1, 1.0)
        place, levels, size = zip(*(split for splits in grown for split in splits), strict=True)
        own = self.chains.view(np.array(place), np.concatenate(levels), np.array(size))
        depth, planes = np.array([len(splits) for splits in grown]), part.first + np.arange(len(grown))
        self.chains.chain(np.full(len(grown), -1), own, depth, planes, 1 / len(grown))


def many_levels(columns: Columns) -> NDArray[np.int32]:
    """The categories whose levels count each by itself."""
    met = np.add.reduceat(columns.single.sum(axis=0) > 0, np.cumsum(columns.sizes) - columns.sizes, dtype=np.int64)
    return np.flatnonzero(~columns.ordered & ~columns.ids & (met > MANY)).astype(np.int32)


def identifiers(met: NDArray[np.int64], rows: Floats, ordered: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The categories with a value of its own in nearly every row. met: levels; rows: that have a value."""
    return ~ordered & (met > MANY) & (met >= ID_SHARE * rows)


def bins_of(columns: Columns, recipe: Recipe) -> tuple[int, int]:
    """From how many bins to how many a network has of a number: more where every class has rows for them."""
    low, high = recipe.bins
    most = max(high, FINE[0]) if float(columns.weight.sum()) >= FINE[1] * columns.K else high
    return low, most


def cells_of_one(columns: Columns, recipe: Recipe) -> int:
    """How many counts, over all classes, one chain may have: some for each row, and not too many in all."""
    rows = min(recipe.per_row, recipe.per_class * columns.K) * float(columns.weight.sum())
    chains = max(1, (recipe.informed + recipe.even) * columns.d)
    return int(max(min(max(rows, 4096), 1 << 19, CELLS // chains), 64))


def twins(columns: Columns, rows: Array) -> NDArray[np.int32]:
    """A group for each column, in their order: numbers of which one tells the other, by the ranks in the kept rows."""
    group, numbers = np.arange(columns.d), np.flatnonzero(columns.ordered)
    if len(numbers) < 2 or rows.shape[1] < 10:
        return group.astype(np.int32)
    here = rows[numbers] != np.iinfo(rows.dtype).max
    rank = np.zeros(here.shape, dtype=np.float32)
    for i, j in enumerate(numbers.tolist()):
        own = rows[j][here[i]].astype(np.intp)
        n = np.bincount(own)
        middle = np.cumsum(n) - n / 2
        rank[i, here[i]] = middle[own] - float(n @ middle) / max(len(own), 1)
    size = np.sqrt((rank * rank).sum(axis=1))
    alike = np.abs(rank @ rank.T) > TWINS * np.maximum(np.outer(size, size), 1e-30)
    for a, b in zip(*np.nonzero(np.tril(alike, -1)), strict=True):
        one, other = group[numbers[a]], group[numbers[b]]
        group[group == max(one, other)] = min(one, other)
    return np.unique(group, return_inverse=True)[1].astype(np.int32)


def planes(with_class: Floats, group: NDArray[np.int32]) -> NDArray[np.int32]:
    """Which weight each column has: twins share one."""
    d = len(with_class)
    if group.max(initial=-1) < PLANES:
        return group
    out = np.empty(d, dtype=np.int32)
    out[np.argsort(-with_class, kind="stable")] = np.arange(d) * PLANES // d
    return out


def draw(
    columns: Columns, turn: NDArray[np.int32], bins: tuple[int, int], mdl: float, seed: int
) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Bins of every column for every member, by its turn: (members, all levels), the levels in their own order; and how
    many bins each column has, (members, columns)."""
    found = _core.draw_bins(columns.single, columns.sizes, columns.ordered, turn, *bins, mdl, seed)
    first = np.repeat(np.cumsum(columns.sizes) - columns.sizes, columns.sizes)
    whole = np.empty_like(found[0])
    whole[:, np.concatenate(columns.canonical) + first] = found[0]
    return whole, np.asarray(found[1])


def fitting(parents: Array, useful: Array, bins: Array, K: int, limit: int) -> NDArray[np.bool_]:
    """(members, columns, parents): as many of the useful parents, in order, as the limit on counts has room for."""
    each = np.take_along_axis(bins, parents, axis=1)[:, None, :].astype(np.float64)
    cells = np.where(useful, each, 1.0).cumprod(axis=2) * (bins[:, :, None] * float(K))
    return np.asarray(cells <= limit)


def telling(known: Information, order: NDArray[np.intp]) -> NDArray[np.bool_]:
    """(members, columns, parents): which of its super-parents each column has: those before it that tell something of
    it beside the class."""
    members, count = order.shape
    rank = np.full((members, len(known.between)), count)
    np.put_along_axis(rank, order, np.arange(count)[None, :], axis=1)
    before = np.arange(count) < rank[:, :, None]
    place = np.searchsorted(known.able, order)
    return np.asarray(before & (known.between > 0)[:, place].transpose(1, 0, 2))


def information(columns: Columns, batches: Batches) -> Information:
    """Counted on about six bins of each column, each value less its expectation by chance: degrees of freedom / 2n.

    Where there would be too many pairs, only the columns that tell most about the class may be parents.
    """
    d, K = columns.d, columns.K
    maps, bins = draw(columns, np.zeros((1, d), dtype=np.int32), (6, 6), 0.0, 0)
    own, last = bins[0] + columns.missing, np.cumsum(columns.sizes)
    sizes, ends = own.astype(np.int64), np.cumsum(own, dtype=np.int64)
    first = np.repeat(last - columns.sizes, columns.sizes)
    level = maps[0][np.concatenate(columns.canonical) + first] + np.repeat(ends - sizes, columns.sizes)
    found = [np.bincount(level, weights=c, minlength=int(ends[-1])) for c in columns.single]
    single = np.asarray(found, dtype=np.float64)
    rest = columns.weight[:, None] - np.add.reduceat(single, ends - sizes, axis=1)
    single[:, (ends - 1)[columns.missing]] = np.maximum(rest, 0.0)[:, columns.missing]
    with_class = _with_class(single, sizes)
    none = np.where(columns.missing, bins[0], NONE).astype(np.uint8)
    luts = [np.append(own, gone) for own, gone in zip(columns.split(maps[0]), none, strict=True)]
    order = np.argsort(-with_class, kind="stable")
    able = np.sort(order[~columns.ids[order]][: max(8, PAIR_CELLS // (d * 36 * K))])
    pairs = _pairs(d, able)
    between = np.zeros((d, len(able)))
    if not len(pairs):
        return Information(with_class, able, between)
    tables = Tables(pairs.ravel().astype(np.int32), np.arange(0, 2 * len(pairs) + 1, 2, dtype=np.int64))
    joint: Array | None = None
    for codes, y, w in batches():
        coarse = np.stack([lut[np.minimum(c, len(lut) - 1)] for lut, c in zip(luts, codes, strict=True)])
        if joint is None:
            joint = np.zeros((K, tables.cells(sizes)), dtype=np.uint32 if w is None else np.float64)
        _core.count_tables(coarse, y, w, sizes, tables.columns, tables.starts, joint)
    assert joint is not None
    pair, _ = _core.pair_information(single, joint, sizes, tables.columns, tables.starts)
    met = np.add.reduceat(single > 0, ends - sizes, axis=1, dtype=np.int64)
    full = np.maximum(met - 1, 0).T  # (columns, classes)
    free = (full[pairs[:, 0]] * full[pairs[:, 1]]).sum(axis=1)
    value = np.asarray(pair) - free / (2 * max(float(columns.weight.sum()), 1.0))
    place = np.full(d, -1)
    place[able] = np.arange(len(able))
    for a, b in ((0, 1), (1, 0)):
        here = place[pairs[:, b]] >= 0
        between[pairs[here, a], place[pairs[here, b]]] = value[here]
    return Information(with_class, able, between)


def _pairs(d: int, able: NDArray[np.int64]) -> NDArray[np.int64]:
    """All pairs i < j of columns of which one is able."""
    i, j = np.repeat(np.arange(d), len(able)), np.tile(able, d)
    parent = np.zeros(d, dtype=bool)
    parent[able] = True
    keep = (i < j) | ((i > j) & ~parent[i])
    return np.stack([np.minimum(i, j)[keep], np.maximum(i, j)[keep]], axis=1)


def _with_class(counts: Floats, sizes: NDArray[np.int64]) -> Floats:
    """I(x; y) of each column, corrected, and never zero. counts: (classes, levels), column after column."""
    first = np.cumsum(sizes) - sizes
    of_class = np.add.reduceat(counts, first, axis=1)  # (classes, columns)
    n = of_class.sum(axis=0)
    whole = np.repeat(np.where(n > 0, n, 1.0), sizes)
    share = counts / whole
    both = np.repeat(np.add.reduceat(share, first, axis=1), sizes, axis=1) * share.sum(axis=0)
    here = (share > 0) & (both > 0)  # weights so small beside the others that they are none
    each = np.zeros_like(share)
    each[here] = share[here] * np.log(share[here] / both[here])
    value = np.add.reduceat(each.sum(axis=0), first)
    levels = np.add.reduceat(counts.sum(axis=0) > 0, first, dtype=np.int64)
    free = np.maximum(levels - 1, 0) * np.maximum((of_class > 0).sum(axis=0) - 1, 0)
    found = np.maximum(value - free / (2 * np.where(n > 0, n, 1.0)), 1e-6 * np.maximum(value, 0.0) + 1e-9)
    return np.where(n > 0, found, 1e-9)


def contexts(
    columns: Columns, able: Array, recipe: Recipe, kept: KeptRows, seed: int
) -> list[list[tuple[int, Array, int]]]:
    """The splits of each context, (column, map, bins): greedy, each grown on half of the kept rows."""
    if not len(able):
        return []
    some = columns.of(able) if len(able) < columns.d else columns
    twice = 2 if some.ordered.any() else 1  # two ways to cut each column, for each context
    turn = turns(twice * recipe.contexts, some.d, np.random.default_rng(DESIGN + 3))
    maps, bins = draw(some, turn, (2, 4), 0.0, DESIGN + 3)
    of_column = some.split(maps)
    tried = np.random.default_rng(seed).integers(0, twice * some.d, size=(recipe.contexts, recipe.depth, recipe.tries))
    used, candidates = np.unique(
        tried + twice * some.d * np.arange(recipe.contexts)[:, None, None], return_inverse=True
    )
    versions, place = used // some.d, used % some.d  # the way to cut, of all contexts; and the column
    table = np.full((len(used), int(some.sizes.max()) + 1), NONE, dtype=np.uint8)
    for j in np.unique(place).tolist():
        here = np.flatnonzero(place == j)
        table[here, : some.sizes[j]] = of_column[j][versions[here]]
        if some.missing[j]:
            table[here, some.sizes[j] :] = bins[versions[here], j][:, None]
    count = (bins[versions, place] + some.missing[place]).astype(np.int32)
    weight = None if (kept.weight == 1).all() else kept.weight
    found = _core.grow_class_trees(
        np.ascontiguousarray(kept.rows[able]), kept.label, weight, columns.K,
        _core.Splits(place.astype(np.int32), table, count),
        (
            np.ascontiguousarray(candidates.reshape(tried.shape), dtype=np.int32),
            np.stack([grows(kept.key, e) for e in range(recipe.contexts)]),
        ),
        GRID, float(CONTEXT_CELLS),
    )  # fmt: skip

    def split(i: int) -> tuple[int, Array, int]:
        j, version = place[i], versions[i]
        return int(able[j]), of_column[j][version], int(bins[version, j])

    grown = [[split(i) for i in taken if i >= 0] for taken in np.asarray(found).tolist()]
    return grown if any(grown) else []


def numbers(columns: Columns) -> dict[str, Array]:
    """What levels stand for in the Gaussian part: normal scores of ordered columns, indicators of frequent levels but
    the first, which the others tell."""
    column, values = list[int](), list[Array]()
    for j, counts in enumerate(columns.split()):
        n = counts.sum(axis=0)
        if (n > 0).sum() < 2:
            continue
        own = [normal_scores(n)] if columns.ordered[j] else [columns.actual(j, v) for v in indicators(n)[1:]]
        column += [j] * len(own)
        values += [np.append(value, 0.0) for value in own]
    return {
        "z_column": np.array(column, dtype=np.int32),
        "z_start": np.cumsum([0, *map(len, values)]).astype(np.int64),
        "z_value": np.concatenate(values) if values else np.empty(0),
    }
