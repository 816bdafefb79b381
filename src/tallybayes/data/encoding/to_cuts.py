"""Discretisation: cut points, and numbers as codes of their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tallybayes import _core
from tallybayes.data.encoding.encoded import Codes, Numbers
from tallybayes.data.encoding.to_numbers import dense
from tallybayes.data.schema import Cuts, Schema
from tallybayes.data.table import Table
from tallybayes.errors import OptionError
from tallybayes.utils.array_types import Array

CUT = ("real", "count")  # kinds that are discretised where levels are wanted


def cut_codes(table: Table, schema: Schema, which: Sequence[int]) -> Codes:
    """Numeric columns as codes of their intervals."""
    sizes, points = _cut_points(schema, tuple(which))
    return Codes(_core.digitize(dense(table, schema, which).columns, sizes, points))


def cut_numbers(data: Numbers, cuts: Sequence[Cuts]) -> Codes:
    """Numbers as codes of intervals; cuts: one for each column."""
    sizes = np.array([len(c.points) for c in cuts], dtype=np.int64)
    return Codes(_core.digitize(data.columns, sizes, np.concatenate([c.points for c in cuts])))


def _cut_points(schema: Schema, which: tuple[int, ...]) -> tuple[Array, Array]:
    """Number of cut points of each column, and all of them; cached in the schema for predictions."""
    found: tuple[Array, Array] | None = schema.memo.get(("cuts", which))
    if found is None:
        sizes = np.array([len(schema.cuts[j].points) for j in which], dtype=np.int64)
        points = np.concatenate([schema.cuts[j].points for j in which]) if len(which) else np.empty(0)
        found = schema.memo["cuts", which] = (sizes, points)
    return found


def learn_cuts(
    table: Table,
    schema: Schema,
    columns: Sequence[int],
    method: str | None,
    bins: int,
    y: Array,
    w: Array | None,
    K: int,
) -> Schema:
    """The schema with cuts of its numeric columns, chosen once on the first rows."""
    which = [j for j in columns if j not in schema.cuts and schema.kinds[j] in CUT]
    if not which:
        return schema
    if method is None:  # only a damaged model file gets here
        raise OptionError(f"Column {schema.name(which[0])!r} is neither cut nor kept real. Fit again.")
    found = find_cuts(dense(table, schema, which, learning=True), method, bins, y, w, K)
    return replace(schema, cuts={**schema.cuts, **dict(zip(which, found, strict=True))})


def find_cuts(data: Numbers, method: str, bins: int, y: Array, w: Array | None, K: int) -> list[Cuts]:
    """Cut points of each column, and its range."""
    if method == "mdl":
        sizes, points = _core.cuts_mdl(data.columns, y, w, K)
    elif method == "width":
        sizes, points = _core.cuts_width(data.columns, y, w, bins)
    else:
        sizes, points = _core.cuts_frequency(data.columns, y, w, bins)
    ends = np.cumsum(sizes)
    cuts = []
    for i in range(data.d):
        x = data.column(i)
        x = x[np.isfinite(x) if w is None else np.isfinite(x) & (w > 0)]
        low, high = (float(x.min()), float(x.max())) if len(x) else (0.0, 0.0)
        cuts.append(Cuts(points[ends[i] - sizes[i] : ends[i]], low, high))
    return cuts
