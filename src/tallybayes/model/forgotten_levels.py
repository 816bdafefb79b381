"""Levels and words that only forgotten rows had: their names leave the schema.

Where counts can be dropped, codes move together. A network's counts keep their places, and a type that lists its
categories keeps their number, so there the name is replaced by one that says nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.schema import Levels, Schema
from tallybayes.data.stored_column import is_unnamed, unnamed
from tallybayes.distributions.capabilities import DroppedLevels, LevelCounts, LevelWeights, capability
from tallybayes.model.term import Term

if TYPE_CHECKING:
    from tallybayes.model.fitted import Fitted

Weights = NDArray[np.float64]


def without_forgotten(left: Fitted, before: Fitted) -> Fitted:
    """What is left of a model, without the names of levels that had rows before and have none now."""
    levels, terms, changed, calendar = dict(left.schema.levels), list(left.terms), False, _calendar(left.schema)
    for i, (old, new) in enumerate(zip(before.terms, left.terms, strict=True)):
        keep: dict[int, NDArray[np.intp]] = {}
        weights = level_weights(new)
        for j, had in level_weights(old).items():
            if j in left.schema.cuts or j in calendar:
                continue
            has = np.zeros(len(had))
            has[: len(weights[j])] = weights[j][: len(had)]
            gone = np.flatnonzero((had > 0) & (has == 0)).tolist()
            if gone and j not in levels:  # codes are the labels: their number tells the largest one
                keep[j] = np.arange(int(np.flatnonzero(has).max(initial=-1)) + 1)
            elif gone:
                levels[j], keep[j] = _dropped(levels[j], gone, capability(new.distribution, DroppedLevels) is not None)
        changed = changed or bool(keep)
        drops = capability(new.distribution, DroppedLevels)
        if drops is not None and keep:
            every = [keep.get(j) for j in new.columns]
            terms[i] = replace(new, statistics=drops.drop_levels(new.statistics, every), params=None)
    if not changed:
        return left
    return replace(left, schema=replace(left.schema, levels=levels), terms=tuple(terms))


def without_names(given: Schema, before: Schema, left: Schema) -> Schema:
    """A schema, such as a parameter, without the names of levels that a model has forgotten."""
    levels, place = dict(given.levels), {left.name(j): j for j in range(left.d)}
    for j, known in given.levels.items():
        i = place.get(given.name(j), -1)
        if i in before.levels:
            lost = set(before.levels[i].labels) - set(left.levels[i].labels)
            gone = [code for code, label in enumerate(known.labels) if label in lost]
            levels[j] = _dropped(known, gone, can_drop=True)[0] if gone else known
    return replace(given, levels=levels)


def renamed_alike(one: Levels, two: Levels) -> tuple[Levels, Levels]:
    """Two lists in which a name that only one of them has forgotten is again what the other calls it.

    Networks count by code, so copies of one plan must agree on the code of a level.
    """
    a, b = list(one.labels), list(two.labels)
    for code, (mine, theirs) in enumerate(zip(a, b, strict=False)):
        if mine != theirs and is_unnamed(mine, code) and theirs not in a:
            a[code] = theirs
        elif mine != theirs and is_unnamed(theirs, code) and mine not in b:
            b[code] = mine
    return Levels(a, one.declared), Levels(b, two.declared)


def _calendar(schema: Schema) -> frozenset[int]:
    """Columns whose levels are those of the calendar: months, weekdays, hours."""
    found, at = set[int](), 0
    for j, g in enumerate(schema.expansion or ()):
        width = len(g.columns(j))
        found |= set(range(at, at + width)) if g.what not in ("column", "id") else set()
        at += width
    return frozenset(found)


def level_weights(term: Term) -> dict[int, Weights]:
    """The weight of each level, by column."""
    counted, weighed = capability(term.distribution, LevelCounts), capability(term.distribution, LevelWeights)
    if counted is None or weighed is None or term.statistics is None:
        return {}
    parts = np.split(weighed.level_weights(term.statistics), np.cumsum(counted.sizes(term.statistics))[:-1])
    return dict(zip(term.columns, parts, strict=False))


def _dropped(known: Levels, gone: list[int], can_drop: bool) -> tuple[Levels, NDArray[np.intp]]:
    """The levels without some names, and the codes that stay."""
    hidden = [code for code in gone if code in known.declared or not can_drop]
    labels = unnamed(known.labels, hidden)
    lost = set(gone) - set(hidden)
    stay = [code for code in range(len(labels)) if code not in lost]
    to = {code: place for place, code in enumerate(stay)}
    return Levels([labels[code] for code in stay], frozenset(to[c] for c in known.declared)), np.array(
        stay, dtype=np.intp
    )
