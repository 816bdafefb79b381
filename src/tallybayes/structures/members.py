"""What an ensemble is made of: which bins each member reads, who its super-parents are, which contexts it looks at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tallybayes import _core
from tallybayes.distributions.joint import GRID
from tallybayes.distributions.tables import Tables

Array = NDArray[Any]
Floats = NDArray[np.float64]

NONE = 255
PAIR_CELLS = 1 << 25  # counts of pairs of columns
DIMENSIONS = 200  # of the Gaussian part, at most
INDICATORS = 30  # of one category


@dataclass(frozen=True)
class Plan:
    """How much of everything."""

    members: int  # super-parents drawn by what they tell about the class
    even: int  # … nearly all columns alike
    naive: int  # without parents, on finer cuts
    contexts: int
    gaussian: bool
    weighted: bool
    parents: int = 4
    bins: tuple[int, int] = (5, 12)
    naive_bins: tuple[int, int] = (10, 25)
    levels: int = 16  # of a context
    candidates: int = 6  # for each of them
    cells: int = 1 << 26  # counts in all
    per_row: int = 16  # counts of one chain for each row


@dataclass(frozen=True, eq=False)
class Columns:
    """What is known of the columns before anything is chosen."""

    single: Floats  # (classes, all levels)
    sizes: NDArray[np.int64]
    ordered: NDArray[np.bool_]
    missing: NDArray[np.bool_]  # was a value ever missing?
    middle: list[Floats]  # of the levels of ordered columns: where they are on the line

    @property
    def d(self) -> int:
        return len(self.sizes)

    @property
    def K(self) -> int:
        return len(self.single)

    def split(self) -> list[Floats]:
        return np.split(self.single, np.cumsum(self.sizes)[:-1], axis=1)


class Views:
    """Views and chains as they are gathered."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.column: list[int] = []
        self.maps: list[Array] = []
        self.bins: list[int] = []
        self.child: list[int] = []
        self.parents: list[list[int]] = []
        self.plane: list[int] = []
        self.share: list[float] = []

    def view(self, j: int, levels: Array, bins: int) -> int:
        """A view of column j; a missing value has a bin of its own where there ever was one."""
        missing = bool(self.columns.missing[j]) and bins < NONE - 1
        self.column.append(j)
        self.maps.append(np.append(levels, bins if missing else NONE).astype(np.uint8))
        self.bins.append(bins + missing)
        return len(self.column) - 1

    def chain(self, child: int, parents: list[int], plane: int, share: float) -> None:
        self.child.append(child)
        self.parents.append(parents)
        self.plane.append(plane)
        self.share.append(share)

    def arrays(self) -> dict[str, Any]:
        return {
            "view_column": np.array(self.column, dtype=np.int32),
            "view_start": np.cumsum([0, *map(len, self.maps)]).astype(np.int64),
            "view_map": np.concatenate(self.maps) if self.maps else np.empty(0, dtype=np.uint8),
            "view_bins": np.array(self.bins, dtype=np.int32),
            "child": np.array(self.child, dtype=np.int32),
            "parent": np.array([v for own in self.parents for v in own], dtype=np.int32),
            "parent_start": np.cumsum([0, *map(len, self.parents)]).astype(np.int64),
            "plane": np.array(self.plane, dtype=np.int32),
            "share": np.array(self.share, dtype=np.float64),
            "columns": self.columns.d,
        }


def choose(columns: Columns, plan: Plan, spans: Any, sample: dict[str, Array], seed: int) -> dict[str, Any]:
    """The fields of an Ensemble. spans: () → iterator of (codes, y, w); sample: rows, row_label, row_weight."""
    rng = np.random.default_rng(seed)
    d, K, n = columns.d, columns.K, float(columns.single.sum() / max(1, columns.d))
    n = max(n, float(sample["row_weight"].sum()))
    views, parts = Views(columns), []
    with_class, between = information(columns, spans, seed)
    narrow = d <= 64
    limit = int(min(max(plan.per_row * n, 4096), 1 << 19, max(plan.cells // max(1, (plan.members + plan.even) * d), 64)))
    halves = [(plan.members, 1.0, 0.5), (plan.even, 10.0, 0.0)]
    planes = 0
    if not plan.weighted or not narrow or not plan.even:
        parts.append(("members", 0, d, 1 / 3, True))
        where, planes = [0, 0], d
    else:
        parts += [("members", 0, d, 1 / 6, True), ("even members", d, d, 1 / 6, True)]
        where, planes = [0, d], 2 * d
    for half, (count, noise, mdl) in enumerate(halves):
        if not count:
            continue
        maps, bins = draw(columns, count, plan.bins, mdl, seed + half)
        together = count if where[0] != where[1] else plan.members + plan.even
        for e in range(count):
            own = [views.view(j, maps[e][j], int(bins[e, j])) for j in range(d)]
            for j, parents in enumerate(super_parents(with_class, between, plan.parents, noise, rng)):
                kept = fitting([own[i] for i in parents], own[j], views.bins, K, limit)
                views.chain(own[j], kept, where[half] + j, 1 / together)
    if plan.naive:
        maps, bins = draw(columns, plan.naive, plan.naive_bins, 0.5, seed + 2)
        parts.append(("naive", planes, d, 0.0, False))
        for e in range(plan.naive):
            for j in range(d):
                views.chain(views.view(j, maps[e][j], int(bins[e, j])), [], planes + j, 1 / plan.naive)
        planes += d
    if plan.contexts:
        grown = contexts(columns, plan, sample, seed)
        if grown:
            parts.append(("contexts", planes, 1, 1 / 3, True))
            for e, splits in enumerate(grown):
                own = [views.view(j, levels, bins) for j, levels, bins in splits]
                views.chain(-1, own, planes + e, 1 / len(grown))
            planes += 1
    fields = views.arrays()
    if plan.gaussian:
        scale = line(columns)
        if 0 < len(scale["z_column"]) <= DIMENSIONS:
            parts.append(("gaussian", planes, 1, 1 / 3, True))
            fields.update(scale)
    return {**fields, "parts": tuple(parts), "weighted": plan.weighted}


def draw(columns: Columns, members: int, bins: tuple[int, int], mdl: float, seed: int) -> tuple[list[list[Array]], Array]:
    """Random bins of every column for every member."""
    maps, count = _core.draw_bins(columns.single, columns.sizes, columns.ordered, members, *bins, mdl, seed)
    ends = np.cumsum(columns.sizes)[:-1]
    return [np.split(m, ends) for m in maps], np.asarray(count)


def fitting(parents: list[int], child: int, bins: list[int], K: int, limit: int) -> list[int]:
    """As many of the parents, in order, as the limit on cells has room for."""
    cells, kept = bins[child] * K, []
    for v in parents:
        if cells * bins[v] > limit:
            break
        cells *= bins[v]
        kept.append(v)
    return kept


def super_parents(
    with_class: Floats, between: Floats, most: int, noise: float, rng: np.random.Generator
) -> list[list[int]]:
    """The parents of each column: the super-parents before it that tell something of it beside the class."""
    key = np.log(with_class) + noise * rng.gumbel(size=len(with_class))
    order = np.argsort(-key, kind="stable")
    chosen = order[:most].tolist()
    rank = {j: r for r, j in enumerate(chosen)}
    return [[i for i in chosen[: rank.get(j, most)] if between[j, i] > 0] for j in range(len(with_class))]


def information(columns: Columns, spans: Any, seed: int) -> tuple[Floats, Floats]:
    """I(x; y) and I(x_i; x_j | y) on about six bins, each less what chance alone would show (degrees of freedom / 2n).

    Where there are too many pairs, only columns that tell much of the class are taken as parents: NaN stands for the
    other pairs.
    """
    d, K = columns.d, columns.K
    maps, bins = draw(columns, 1, (6, 6), 0.0, seed)
    sizes = (bins[0] + columns.missing).astype(np.int64)
    luts = [np.append(m, b if miss else 255).astype(np.uint8) for m, b, miss in zip(maps[0], bins[0], columns.missing, strict=True)]
    n_class = columns.single[:, : int(columns.sizes[0])].sum(axis=1) if d else np.zeros(K)
    coarse = [np.stack([np.bincount(m, weights=c, minlength=b) for c in part]) for m, b, part in zip(maps[0], bins[0], columns.split(), strict=True)]
    n_class = np.maximum.reduce([c.sum(axis=1) for c in coarse])
    for j in np.flatnonzero(columns.missing).tolist():
        coarse[j] = np.concatenate([coarse[j], (n_class - coarse[j].sum(axis=1))[:, None].clip(0)], axis=1)
    with_class = np.array([_with_class(c) for c in coarse])
    most = min(d, max(8, int(PAIR_CELLS // max(1, d * 36 * K))))
    able = np.sort(np.argsort(-with_class, kind="stable")[:most])
    pairs = _pairs(d, able)
    tables = Tables(pairs.ravel().astype(np.int32), np.arange(0, 2 * len(pairs) + 1, 2, dtype=np.int64))
    between = np.full((d, d), np.nan)
    if len(pairs):
        counts: Array | None = None
        for codes, y, w in spans():
            small = np.stack([lut[np.minimum(c, len(lut) - 1)] for lut, c in zip(luts, codes, strict=True)])
            if counts is None:
                counts = np.zeros((K, tables.cells(sizes)), dtype=np.uint32 if w is None else np.float64)
            _core.count_tables(small, y, w, sizes, tables.columns, tables.starts, counts)
        single = np.ascontiguousarray(np.concatenate(coarse, axis=1))
        found, _ = _core.pair_information(single, counts, sizes, tables.columns, tables.starts)
        full = np.stack([(c > 0).sum(axis=1) for c in coarse])  # (d, K)
        free = ((full[pairs[:, 0]] - 1).clip(0) * (full[pairs[:, 1]] - 1).clip(0)).sum(axis=1)
        value = np.asarray(found) - free / (2 * max(float(n_class.sum()), 1.0))
        between[pairs[:, 0], pairs[:, 1]] = between[pairs[:, 1], pairs[:, 0]] = value
    return with_class, between


def _pairs(d: int, able: Array) -> NDArray[np.int64]:
    i, j = np.triu_indices(d, 1)
    if len(able) == d:
        return np.stack([i, j], axis=1)
    good = np.zeros(d, dtype=bool)
    good[able] = True
    keep = good[i] | good[j]
    return np.stack([i[keep], j[keep]], axis=1)


def _with_class(c: Floats) -> float:
    """I(x; y) of counts (classes, levels), corrected, and never zero."""
    n = c.sum()
    if n <= 0:
        return 1e-9
    both = c.sum(axis=1, keepdims=True) * c.sum(axis=0, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(np.where(c > 0, c / n * np.log(c * n / both), 0.0).sum())
    free = max((c.sum(axis=0) > 0).sum() - 1, 0) * max((c.sum(axis=1) > 0).sum() - 1, 0)
    return max(value - free / (2 * n), 1e-6 * max(value, 0.0) + 1e-9)


def contexts(columns: Columns, plan: Plan, sample: dict[str, Array], seed: int) -> list[list[tuple[int, Array, int]]]:
    """The splits of each context that was grown: (column, map, bins)."""
    d, K = columns.d, columns.K
    twice = 2 if columns.ordered.any() else 1
    maps, bins = draw(columns, twice * plan.contexts, (2, 4), 0.0, seed + 3)
    width = int(columns.sizes.max()) + 1
    full = np.full((len(maps), d, width), NONE, dtype=np.uint8)
    for e, own in enumerate(maps):
        for j, levels in enumerate(own):
            full[e, j, : len(levels)] = levels
            full[e, j, len(levels) :] = bins[e, j] if columns.missing[j] else NONE
    count = (bins + columns.missing).astype(np.int32)
    rng = np.random.default_rng(seed + 4)
    of_member = np.arange(plan.contexts)[:, None, None] * (twice * d)
    candidates = of_member + rng.integers(0, twice * d, size=(plan.contexts, plan.levels, plan.candidates))
    w = sample["row_weight"]
    column = np.tile(np.arange(d, dtype=np.int32), len(maps))
    splits = (column, full.reshape(-1, width), np.ascontiguousarray(count.ravel()))
    grown: list[list[tuple[int, Array, int]]] = []
    for e in range(plan.contexts):
        half = grows(sample["row_key"], e)
        weight = None if (w == 1).all() else w[half]
        rows = (np.ascontiguousarray(sample["rows"][:, half]), sample["row_label"][half], weight)
        own = np.asarray(_core.grow_contexts(*rows, K, *splits, candidates[e : e + 1].astype(np.int32), GRID, 1 << 17))[0]
        taken = [s for s in own.tolist() if s >= 0]
        grown.append([(s % d, maps[s // d][s % d], int(bins[s // d, s % d])) for s in taken])
    return grown if any(grown) else []


def grows(key: NDArray[np.uint64], e: int) -> NDArray[np.bool_]:
    """The rows on which context e is grown: half of them. The others judge it."""
    return ((key >> np.uint64(e % 64)) & np.uint64(1)).astype(bool)


def line(columns: Columns) -> dict[str, Array]:
    """What levels stand for in the Gaussian part: normal scores of ordered columns, indicators of frequent levels."""
    column, values = [], []
    for j, counts in enumerate(columns.split()):
        n = counts.sum(axis=0)
        if columns.ordered[j]:
            if (n > 0).sum() < 2:
                continue
            rank = (np.cumsum(n) - n / 2) / n.sum()
            score = ndtri(np.clip(rank, 0.5 / n.sum(), 1 - 0.5 / n.sum()))
            column.append(j)
            values.append(np.append(score, 0.0))
        else:
            frequent = [v for v in np.argsort(-n, kind="stable")[:INDICATORS].tolist() if n[v] >= 3]
            for v in sorted(frequent)[1:]:
                column.append(j)
                values.append((np.arange(len(n) + 1) == v).astype(np.float64))
    return {
        "z_column": np.array(column, dtype=np.int32),
        "z_start": np.cumsum([0, *map(len, values)]).astype(np.int64),
        "z_value": np.concatenate(values) if values else np.empty(0),
    }


def batches(packed: Iterator[tuple[slice, Array, Array]], y: Array, w: Array | None) -> Iterator[tuple[Array, Array, Array | None]]:
    for span, codes, _ in packed:
        yield codes, y[span], None if w is None else w[span]
