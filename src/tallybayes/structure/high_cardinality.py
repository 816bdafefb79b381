"""Columns that stand apart in a network: categories of so many levels that no rows fill their tables.

Such a column has the class as its only parent and is nobody's parent, as in naive Bayes. Which columns do is settled on
the first rows and kept in the schema, as cuts are: all who count parts of a table then count the same tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import coded
from tallybayes.data.labels import Target
from tallybayes.data.schema import DistributionChoice, Schema
from tallybayes.data.table import Table
from tallybayes.distributions.networks.joint_counts import count_levels
from tallybayes.model.term import refused

MANY = 256  # levels: a column with no more of them never stands apart
ASSUMED_INTERVALS = 10  # intervals that a number is taken to be cut into
BY_ITSELF = "categorical"  # what the schema says was chosen for such a column
AT_ONCE = 16  # columns that are encoded at a time


def stands_apart(levels: Sequence[int], rows: float, together: int) -> list[bool]:
    """Of columns with so many levels each, which stand apart where sets of `together` columns are counted.

    One does if it has more than MANY levels, and its table with the largest of those columns that have no more levels
    than it has more cells than there are rows. Then so do all columns of more levels.
    """
    out = [False] * len(levels)
    for j, own in enumerate(levels):
        if own > MANY:
            others = sorted((n for i, n in enumerate(levels) if n <= own and i != j), reverse=True)
            out[j] = math.prod([own, *others[: together - 1]]) > rows
    return out


def apart(schema: Schema) -> tuple[int, ...]:
    """The columns that were found to stand apart."""
    chosen = schema.chosen
    return tuple(j for j, k in enumerate(schema.kinds) if k == "categorical" and j in chosen and _by_itself(chosen[j]))


def _by_itself(choice: DistributionChoice) -> bool:
    return choice.name == BY_ITSELF


def set_apart(table: Table, schema: Schema, target: Target, together: int) -> Schema:
    """The schema with a choice for each column that stands apart where sets of `together` columns are counted."""
    columns = [j for j, kind in enumerate(schema.kinds) if kind == "categorical"]
    if not columns or _narrow(table):
        return schema
    there = target.y >= 0
    y = np.where(there, 0, -1).astype(np.int32)
    levels = [2 if kind == "binary" else ASSUMED_INTERVALS for kind in schema.kinds]
    for first in range(0, len(columns), AT_ONCE):
        some = columns[first : first + AT_ONCE]
        for j, own in zip(some, _levels(table, schema, some, y), strict=True):
            levels[j] = own
    rows = float(there.sum() if target.w is None else target.w[there].sum())
    chosen = DistributionChoice(BY_ITSELF, rows=int(there.sum()))
    found = {j: chosen for j, alone in enumerate(stands_apart(levels, rows, together)) if alone}
    return replace(schema, chosen={**schema.chosen, **found}) if found else schema


def _narrow(table: Table) -> bool:
    """Whether it is seen at a glance that no column has many levels: a matrix of small whole numbers."""
    if table.matrix is None or table.matrix.dtype.kind not in "iub":
        return False
    low, high = _core.integer_range(_core.Columns(table.matrix))
    return bool(high - low < MANY)


def _levels(table: Table, schema: Schema, which: Sequence[int], y: NDArray[np.int32]) -> list[int]:
    """How many levels each column has: those that its type lists, and others that rows of y ≥ 0 have."""
    try:
        data, grown = coded(table, schema, which, grow=True, sizes={})
        single, sizes = count_levels(data, y, None, 1)
    except _core.BadValue as e:
        raise refused(e, schema, which, "this model") from None
    met = np.split(single[0] > 0, np.cumsum(sizes)[:-1])
    out = []
    for j, here in zip(which, met, strict=True):
        declared = grown.levels[j].declared if j in grown.levels else frozenset()
        out.append(len(declared.union(np.flatnonzero(here).tolist())))
    return out
