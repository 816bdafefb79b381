"""Columns as codes of their levels: by a dictionary, or the table's own integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tallybayes import _core
from tallybayes.data.encoding.encoded import MISSING, Codes
from tallybayes.data.encoding.to_numbers import raw_columns
from tallybayes.data.raw_column import RawColumn, as_strings
from tallybayes.data.schema import Levels, Schema
from tallybayes.data.table import Table
from tallybayes.errors import TableError, brief
from tallybayes.utils.array_types import Array

RAW_LIMIT = 1 << 16  # integer codes below this index their table directly; others go through a dictionary
ARROW_COLUMNS = 4  # at a time, so that a table that is converted to Arrow is never in memory twice


def levels(
    table: Table, schema: Schema, which: Sequence[int], grow: bool, sizes: Mapping[int, int]
) -> tuple[Codes, Schema]:
    """Columns as codes of their levels. grow: new labels are appended, else they are unseen.

    Small non-negative integers of a matrix are their own codes. sizes: how many such codes a column has had so far.
    """
    raw = _raw_codes(table, schema, which, grow)
    if raw is not None:
        return raw, schema
    arrays, schema = level_codes(table, schema, which, grow, sizes)
    return Codes(_core.Columns(arrays)), schema


def level_codes(
    table: Table, schema: Schema, which: Sequence[int], grow: bool, sizes: Mapping[int, int]
) -> tuple[list[Array], Schema]:
    """The codes as arrays, all by a dictionary."""
    columns = raw_columns(table, which)
    known = [schema.levels[j] if j in schema.levels else _integers(sizes.get(j, 0), grow) for j in which]
    arrays: list[Array] = [np.empty(0, np.int8)] * len(columns)
    in_arrow = [i for i, c in enumerate(columns) if c.storage == "arrow"]
    for first in range(0, len(in_arrow), ARROW_COLUMNS):
        some = in_arrow[first : first + ARROW_COLUMNS]
        names = [schema.name(which[i]) for i in some]
        found = _arrow_codes([columns[i] for i in some], [known[i] for i in some], grow, names)
        for i, (codes, longer) in zip(some, found, strict=True):
            arrays[i], known[i] = codes, longer
    for i, column in enumerate(columns):
        if column.storage != "arrow":
            arrays[i], known[i] = _column_codes(column, known[i], grow, schema.name(which[i]))
    return arrays, schema.with_levels(dict(zip(which, known, strict=True))) if grow else schema


def _integers(size: int, grow: bool) -> Levels:
    """The levels of a column whose codes were its own labels so far."""
    return Levels(range(size)) if grow else _same_integers(size)


@lru_cache(maxsize=64)
def _same_integers(size: int) -> Levels:
    """For predictions, which do not change them: cached."""
    return Levels(range(size))


def _arrow_codes(
    columns: Sequence[RawColumn], known: Sequence[Levels], grow: bool, names: Sequence[str]
) -> list[tuple[Array, Levels]]:
    streams = [c.values.__arrow_c_stream__() for c in columns]
    try:
        found: Any = _core.arrow_codes_many(streams, [k.known for k in known], grow, [grow] * len(columns))
    except _core.BadRow as e:
        why, row, col = e.args
        raise TableError(
            f"Column {names[col]!r} cannot be read: {why} (row {row}). Correct it, or mark it missing.",
            column=names[col],
            row=row,
        ) from None
    return [
        (np.asarray(codes), own.grown(longer, declared.tolist()))
        for own, codes, longer, declared in zip(known, *found, strict=True)
    ]


def _column_codes(column: RawColumn, known: Levels, grow: bool, name: str) -> tuple[Array, Levels]:
    """The codes of a column that is not in Arrow's form, and its levels with what is new in it."""
    if grow and column.declared:
        known = known.extend(column.declared, declared=True)
    if column.storage == "coded":
        return _translate(column, known), known
    if column.storage == "datetimes":  # declared categorical
        column = RawColumn(as_strings(column.plain()), "objects", "categorical")
    if column.storage == "objects":
        if grow and column.kind == "real":
            _check_integers(column.values, name)
        codes, longer = _core.object_codes(column.values, known.known, grow)
    else:  # numbers: 3 and 3.0 are one label
        values = column.values.astype(np.int8) if column.values.dtype.kind == "b" else column.values
        codes, longer = _core.number_codes(_core.Columns([values]), known.known, grow)
    return np.asarray(codes), known.grown(longer)


def _check_integers(values: Array, name: str) -> None:
    """Refuse integers beyond 64 bits as labels: a model file cannot hold them."""
    for row, v in enumerate(values):
        if isinstance(v, int) and not -(2**63) <= v < 2**64:
            raise TableError(
                f"Column {name!r} is categorical and has the integer {brief(v, 40)} (row {row}), which has more than "
                "64 bits. Turn the column into strings.",
                column=name,
                row=row,
                value=v,
            )


def integer_columns(table: Table, schema: Schema, which: Sequence[int]) -> _core.Columns | None:
    """The columns of a matrix of integers that may be their own codes, if none is below 0 or too large; else None."""
    if table.matrix is None or table.matrix.dtype.kind not in "iub" or any(j in schema.levels for j in which):
        return None
    columns = _core.Columns(table.matrix)
    return columns.select(list(which)) if len(which) < table.d else columns


def _raw_codes(table: Table, schema: Schema, which: Sequence[int], grow: bool) -> Codes | None:
    columns = integer_columns(table, schema, which)
    if columns is None:
        return None
    if grow:
        low, high = _core.integer_range(columns)
        if low < 0 or high >= RAW_LIMIT:
            return None
    return Codes(columns, raw=True)


def _translate(column: RawColumn, known: Levels) -> Array:
    """Codes of the column's own categories → codes of the schema."""
    codes: Array = np.asarray(column.values)
    whose, to = known.memo  # a frame of one row has all its categories: look them up once
    if whose is not column.declared:
        to = _translation(column, known)
        known.memo = (column.declared, to)
    return codes if to is None else to[codes]  # −1, missing, reads the last entry


def _translation(column: RawColumn, known: Levels) -> Array | None:
    """The code of each category; None if it is the same."""
    assert column.declared is not None
    to = np.append(known.find(column.declared), np.int32(MISSING))
    if np.array_equal(to[:-1], np.arange(len(to) - 1)):
        return None
    return to.astype(np.int8) if len(known) <= 127 else to
