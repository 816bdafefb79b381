"""Columns of a table as codes: of levels, of intervals between cut points, or both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding.numeric import Numbers, dense, raw_columns
from tallybayes.data.raw_column import RawColumn, as_strings
from tallybayes.data.schema import Cuts, Levels, Schema
from tallybayes.data.table import Table
from tallybayes.errors import TableError, brief
from tallybayes.utils.array_types import Array

MISSING, UNSEEN = -1, -2
RAW_LIMIT = 1 << 16  # integer codes below this index their table directly; others go through a dictionary
ARROW_COLUMNS = 4  # at a time, so that a table that is converted to Arrow is never in memory twice


@dataclass(frozen=True)
class Codes:
    """Integer codes: −1 missing, −2 unseen.

    Parameters
    ----------
    columns : Columns of the core
        The codes of each column.
    raw : bool, default=False
        Whether they are the table's own non-negative integers.
    """

    columns: _core.Columns
    raw: bool = False

    @property
    def n(self) -> int:
        """int: number of rows."""
        return int(self.columns.n)


@dataclass(frozen=True)
class Coded:
    """Codes of columns of several types, for distributions over combinations of levels.

    Parameters
    ----------
    parts : tuple of (Codes, tuple of int)
        Codes, and which columns of the group they are.
    sizes : ndarray of int64
        Number of levels of each column in the schema (0: the table's own integers).
    n : int
        Number of rows.
    reals : Numbers, default=None
        The last columns of the group, where they stay numbers.
    known : tuple of Levels or None, default=()
        The labels behind the codes, None for intervals and for the table's own integers.
    """

    parts: tuple[tuple[Codes, tuple[int, ...]], ...]
    sizes: NDArray[np.int64]
    n: int
    reals: Numbers | None = None
    known: tuple[Levels | None, ...] = ()

    def reordered(self, order: NDArray[np.intp]) -> Coded:
        """The same columns in another order; none of them stays a number.

        Parameters
        ----------
        order : ndarray of int, of shape (columns,)
            The place of the first column, of the second, ….

        Returns
        -------
        Coded
            The columns in this order.
        """
        assert self.reals is None
        place = np.argsort(order)
        parts = []
        for codes, at in self.parts:
            to = place[list(at)]
            own = np.argsort(to)
            parts.append((Codes(codes.columns.select(own.tolist()), codes.raw), tuple(to[own].tolist())))
        known = tuple(self.known[j] for j in order.tolist()) if self.known else ()
        return Coded(tuple(parts), self.sizes[order], self.n, None, known)


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
    if grow:
        check_binary(schema, which)
    return Codes(_core.Columns(arrays)), schema


def check_binary(schema: Schema, columns: Sequence[int]) -> None:
    """TableError if a binary column has a third value."""
    for j in columns:
        if schema.kinds[j] == "binary" and j in schema.levels and len(schema.levels[j]) > 2:
            labels = ", ".join(repr(v) for v in schema.levels[j].labels[:4])
            raise TableError(
                f"Column {schema.name(j)!r} is binary but has {len(schema.levels[j])} values ({labels}). Declare it "
                f"categorical with schema={{{schema.name(j)!r}: 'categorical'}}."
            )


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
        found = _arrow_codes(
            [columns[i] for i in some], [known[i] for i in some], grow, schema, [which[i] for i in some]
        )
        for i, (codes, longer) in zip(some, found, strict=True):
            arrays[i], known[i] = codes, longer
    for i, column in enumerate(columns):
        if column.storage != "arrow":
            try:
                arrays[i], known[i] = _column_codes(column, known[i], grow, schema, which[i])
            except _core.BadValue as e:
                why, row, _, value = e.args  # each column was read alone, as the first
                raise _core.BadValue(why, row, i, value) from None
    return arrays, schema.with_levels(dict(zip(which, known, strict=True))) if grow else schema


def _integers(size: int, grow: bool) -> Levels:
    """The levels of a column whose codes were its own labels so far."""
    return Levels(range(size)) if grow else _same_integers(size)


@lru_cache(maxsize=64)
def _same_integers(size: int) -> Levels:
    """For predictions, which do not change them: cached."""
    return Levels(range(size))


def _arrow_codes(
    columns: Sequence[RawColumn], known: Sequence[Levels], grow: bool, schema: Schema, which: Sequence[int]
) -> list[tuple[Array, Levels]]:
    streams = [c.values.__arrow_c_stream__() for c in columns]
    try:
        declare = [grow and c.declared is not None for c in columns]
        found: Any = _core.arrow_codes_many(streams, [k.known for k in known], grow, declare)
    except _core.BadRow as e:
        why, row, col = e.args
        name = schema.name(which[col])
        raise TableError(
            f"Column {name!r} cannot be read: {why} (row {row}). Correct it, or mark it missing.",
            column=name,
            row=row,
        ) from None
    return [
        (np.asarray(codes), own.grown(longer, declared.tolist()))
        for own, codes, longer, declared in zip(known, *found, strict=True)
    ]


def _column_codes(column: RawColumn, known: Levels, grow: bool, schema: Schema, j: int) -> tuple[Array, Levels]:
    """The codes of a column that is not in Arrow's form, and its levels with what is new in it."""
    if grow and column.declared:
        known = known.extend(column.declared, declared=True)
    if column.storage == "coded":
        return _translate(column, known), known
    if column.storage == "datetimes":  # declared categorical
        column = RawColumn(as_strings(column.plain()), "objects", "categorical")
    if column.storage == "objects":
        if grow and column.kind == "real":
            _check_integers(column.values, schema.name(j))
        codes, longer = _core.object_codes(column.values, known.known, grow)
    else:  # numbers: 3 and 3.0 are one label
        values = column.values.astype(np.int8) if column.values.dtype.kind == "b" else column.values
        codes, longer = _core.number_codes(_core.Columns([values]), known.known, grow)
    return np.asarray(codes), known.grown(longer)


def _check_integers(values: Array, name: str) -> None:
    for row, v in enumerate(values):
        check_integer(v, name, row)


def check_integer(v: object, name: str, row: int | None = None) -> None:
    """Refuse an integer beyond 64 bits as a label: a model file cannot hold it."""
    if isinstance(v, int) and not -(2**63) <= v < 2**64:
        where = "" if row is None else f" (row {row})"
        raise TableError(
            f"Column {name!r} is categorical and has the integer {brief(v, 40)}{where}, which has more than 64 bits. "
            "Turn the column into strings.",
            column=name,
            row=row,
            value=v,
        )


def integer_columns(table: Table, schema: Schema, which: Sequence[int]) -> _core.Columns | None:
    """The columns of a matrix of integers that may be their own codes, if none is below 0 or too large; else None."""
    if table.matrix is None or table.matrix.dtype.kind not in "iub" or any(j in schema.levels for j in which):
        return None
    columns = _core.Columns(table.matrix)
    return columns if tuple(which) == tuple(range(table.d)) else columns.select(list(which))


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
