"""What is summed, and nothing else. fit(A ∪ B) = fit(A) + fit(B): every way of learning is one of these lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions.base import Stats, spread, subtract
from tallybayes.errors import MergeError, listing
from tallybayes.labels import positions, union
from tallybayes.plan import Batch, Group, named
from tallybayes.schema import Levels, Schema

Array = NDArray[Any]
Weights = NDArray[np.float64] | None


@dataclass(frozen=True)
class Tally:
    """The weight of each class, and one set of sums per group of columns."""

    classes: Array
    weight: NDArray[np.float64]
    stats: tuple[Any, ...]

    @property
    def K(self) -> int:
        return len(self.classes)


def count(
    batch: Batch, schema: Schema, groups: Sequence[Group], classes: Array, y: NDArray[np.int32], w: Weights
) -> Tally:
    """The tally of a batch whose classes are numbered 0 … K − 1."""
    K = len(classes)
    stats = []
    for group, data in zip(groups, batch.data, strict=True):
        with named(schema, group.columns):
            stats.append(group.distribution.add(data, y, w, K))
    return Tally(classes, _core.class_weights(y, w, K), tuple(stats))


def combine(a: Tally, b: Tally, groups: Sequence[Group], sign: int = 1) -> Tally:
    """a + b or a − b; classes that only one of them has are zero in the other."""
    classes = union(a.classes, b.classes)
    a, b = reclass(a, groups, classes), reclass(b, groups, classes)
    weight = a.weight + b.weight if sign > 0 else subtract(a.weight, b.weight)
    stats = tuple(g.distribution.combine(x, z, sign) for g, x, z in zip(groups, a.stats, b.stats, strict=True))
    return Tally(classes, weight, stats)


def scale(t: Tally, groups: Sequence[Group], factor: float) -> Tally:
    """Every row learned so far counts `factor` times as much."""
    stats = tuple(g.distribution.scale(s, factor) for g, s in zip(groups, t.stats, strict=True))
    return replace(t, weight=t.weight * factor, stats=stats)


def reclass(t: Tally, groups: Sequence[Group], classes: Array) -> Tally:
    """The same sums over another set of classes."""
    if np.array_equal(t.classes, classes):
        return replace(t, classes=classes)
    to = positions(t.classes, classes).tolist()
    K = len(classes)
    stats = tuple(g.distribution.reclass(s, to, K) for g, s in zip(groups, t.stats, strict=True))
    return Tally(classes, spread(t.weight, to, K), stats)


def relevel(t: Tally, groups: Sequence[Group], own: Schema, union_schema: Schema) -> Tally:
    """The same counts under a schema that numbers the levels in another order."""
    stats = []
    for group, s in zip(groups, t.stats, strict=True):
        if "sizes" in s:
            maps = [
                None if j in own.cuts else _level_map(own.levels.get(j), union_schema.levels.get(j), s, i)
                for i, j in enumerate(group.columns[: len(s["sizes"])])
            ]
            s = group.distribution.relevel(s, maps)
        stats.append(s)
    return replace(t, stats=tuple(stats))


def _level_map(own: Levels | None, shared: Levels | None, s: Stats, i: int) -> list[int] | None:
    if shared is None:
        return None
    index = shared.index()
    labels = range(int(s["sizes"][i])) if own is None else own.labels
    return [index[label] for label in labels]


def union_schema(a: Schema, b: Schema, sizes_a: dict[int, int], sizes_b: dict[int, int]) -> Schema:
    """One schema for two models: a's levels first, then what only b has. Cuts must be the same."""
    if a.d != b.d or a.names != b.names:
        only = sorted(set(a.names or ()) ^ set(b.names or ()))
        if a.names and b.names and not only:
            raise MergeError("The two models have the same columns in another order. Fit both on one order.")
        what = f"Columns only in one of them: {listing(only)}." if only else f"{a.d} and {b.d} columns."
        raise MergeError(f"The two models were fitted on different columns. {what}")
    if a.kinds != b.kinds:
        j = next(i for i in range(a.d) if a.kinds[i] != b.kinds[i])
        raise MergeError(
            f"Column {a.name(j)!r} is {a.kinds[j]} in one model and {b.kinds[j]} in the other. Give both the same "
            "schema."
        )
    for j, cuts in a.cuts.items():
        if j not in b.cuts or not np.array_equal(cuts.points, b.cuts[j].points):
            raise MergeError(
                f"Column {a.name(j)!r} was cut at different points in the two models, and counts of intervals cannot "
                "be cut again. Fit the second one with schema=first.schema_, so that both use the same cuts."
            )
    levels = {}
    for j in sorted(set(a.levels) | set(b.levels)):
        first = a.levels.get(j, Levels(tuple(range(sizes_a.get(j, 0)))))
        second = b.levels.get(j, Levels(tuple(range(sizes_b.get(j, 0)))))
        joined = first.extend(second.labels)
        levels[j] = joined.extend([second.labels[c] for c in sorted(second.declared)], declared=True)
    return replace(a, levels=levels)
