"""Columns of any kind as codes: of intervals where the schema has cuts, else of levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.encoding.encoded import Coded, Codes
from tallybayes.data.encoding.to_cuts import cut_codes
from tallybayes.data.encoding.to_levels import levels
from tallybayes.data.encoding.to_numbers import dense
from tallybayes.data.schema import Levels, Schema
from tallybayes.data.table import Table


@dataclass(frozen=True)
class _Places:
    """Which columns have cuts and which have levels, by position in the group and in the table."""

    cut: tuple[int, ...]
    rest: tuple[int, ...]
    cut_columns: tuple[int, ...]
    rest_columns: tuple[int, ...]
    sizes: NDArray[np.int64]  # 0: the table's own integers
    labels: tuple[Levels | None, ...]


def _places(schema: Schema, which: tuple[int, ...]) -> _Places:
    found: _Places | None = schema.memo.get(("places", which))
    if found is None:
        cut = tuple(i for i, j in enumerate(which) if j in schema.cuts)
        rest = tuple(i for i, j in enumerate(which) if j not in schema.cuts)
        sizes = [len(schema.cuts[j].points) + 1 if j in schema.cuts else len(schema.levels.get(j, ())) for j in which]
        labels = tuple(None if j in schema.cuts else schema.levels.get(j) for j in which)
        cut_columns, rest_columns = tuple(which[i] for i in cut), tuple(which[i] for i in rest)
        found = _Places(cut, rest, cut_columns, rest_columns, np.array(sizes, dtype=np.int64), labels)
        schema.memo["places", which] = found
    return found


def coded(
    table: Table, schema: Schema, which: Sequence[int], grow: bool, sizes: Mapping[int, int], reals: int = 0
) -> tuple[Coded, Schema]:
    """Columns as codes of intervals or levels; the last `reals` of them stay numbers."""
    columns, real = tuple(which[: len(which) - reals]), which[len(which) - reals :]
    places = _places(schema, columns)
    parts: list[tuple[Codes, tuple[int, ...]]] = []
    if places.rest:
        codes, schema = levels(table, schema, places.rest_columns, grow, sizes)
        parts.append((codes, places.rest))
        places = _places(schema, columns)  # it may have grown
    if places.cut:
        parts.append((cut_codes(table, schema, places.cut_columns), places.cut))
    known = places.sizes
    if places.rest and not known.all():
        known = np.array([size or sizes.get(j, 0) for j, size in zip(columns, known.tolist(), strict=True)], np.int64)
    stay = dense(table, schema, real, grow) if reals else None
    return Coded(tuple(parts), known, table.n, stay, places.labels), schema
