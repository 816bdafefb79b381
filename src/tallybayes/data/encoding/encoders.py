"""Columns of a table as numbers, or as codes: of levels, of intervals between cut points (discretisation), or both."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding.encoded import MISSING, Coded, Codes, Numbers
from tallybayes.data.raw_column import RawColumn, as_floats, as_strings
from tallybayes.data.schema import Cuts, Levels, Schema
from tallybayes.data.schema.inference import looks_like_text
from tallybayes.data.table import Table
from tallybayes.errors import OptionError, TableError, brief, require_memory
from tallybayes.utils.array_types import Array

RAW_LIMIT = 1 << 16  # integer codes below this index their table directly; others go through a dictionary
ARROW_COLUMNS = 4  # at a time, so that a table that is converted to Arrow is never in memory twice


FITTED_ADVICE = "The model learned numbers there: give numbers, or mark what is missing (None or NaN)."
TEXT_ADVICE = "They look like texts: NaiveBayes() reads their words, and CountVectorizer of scikit-learn counts them."


def numbers(table: Table, schema: Schema, which: Sequence[int], learning: bool = False) -> Numbers:
    """Columns as numbers. learning: the user can still declare another kind."""
    if table.matrix is not None:
        return Numbers(table.matrix, None if tuple(which) == tuple(range(table.d)) else tuple(which))
    assert table.columns is not None
    return Numbers(None, None, tuple(_as_number(table.columns[j], schema, j, learning) for j in which))


def _as_number(column: RawColumn, schema: Schema, j: int, learning: bool) -> Array:
    if column.storage == "numbers":
        return np.asarray(column.values)
    if column.kind == "binary":
        return _boolean(column)
    if column.scale is not None:
        return np.asarray(np.append(column.scale, np.nan)[column.values])
    name, values = schema.name(j), column.plain()
    bad = [row for row, v in enumerate(values) if isinstance(v, str | bytes)]
    if not bad:  # categories that are numbers, or nothing but missing values
        return as_floats(values, name)
    row, value = bad[0], values[bad[0]]
    advice = FITTED_ADVICE
    if learning:
        advice = TEXT_ADVICE if looks_like_text(column) else _declare(name)
    raise TableError(
        f"Column {name!r} has {len(bad)} value(s) that are not numbers (first: {value!r:.60}, row {row}). {advice}",
        column=name,
        row=row,
        value=value,
    )


def _declare(name: str) -> str:
    return f"Declare it categorical with NaiveBayes(schema={{{name!r}: 'categorical'}}), or mark them missing."


@contextmanager
def kinds_are_settled() -> Iterator[None]:
    """After the first rows: errors advise to change the values, for the kinds are fixed."""
    try:
        yield
    except TableError as e:
        advice = (
            [] if e.column is None else [said for said in (TEXT_ADVICE, _declare(e.column)) if str(e).endswith(said)]
        )
        if not advice:
            raise
        said = str(e).removesuffix(advice[0]) + FITTED_ADVICE
        raise TableError(said, column=e.column, row=e.row, value=e.value) from None


def _boolean(column: RawColumn) -> Array:
    """Booleans as 1 and 0; missing values as NaN."""
    if column.storage == "coded":
        return np.where(column.values < 0, np.nan, column.values)
    return np.array([np.nan if not isinstance(v, bool | np.bool_) else float(v) for v in column.values])


def dense(table: Table, schema: Schema, which: Sequence[int], learning: bool = False) -> Numbers:
    """The same, also for a sparse matrix: its columns become dense."""
    if table.csr is None:
        return numbers(table, schema, which, learning)
    return Numbers(None, None, tuple(np.asarray(c.values, dtype=np.float64) for c in raw_columns(table, which)))


def raw_columns(table: Table, which: Sequence[int]) -> list[RawColumn]:
    """Columns of a table of any form."""
    if table.columns is not None:
        return [table.columns[j] for j in which]
    if table.matrix is not None:
        return [RawColumn(table.matrix[:, j], "numbers", "real") for j in which]
    require_memory(
        2 * table.n * len(which),  # the columns, and what is made of them
        f"Making {len(which):,} sparse columns of {table.n:,} rows dense",
        "MultinomialNB, ComplementNB, BernoulliNB and NaiveBayes read sparse tables as they are.",
    )
    return [RawColumn(x, "numbers", "real") for x in _dense_columns(table.csr.tocsc(), which)]


def _dense_columns(by_column: Any, which: Sequence[int]) -> Iterator[Array]:
    """Columns of a CSC matrix. scipy's own way takes 0.1 ms for each, which is minutes for a million."""
    by_column.sum_duplicates()
    start, row, value = by_column.indptr, by_column.indices, by_column.data
    for j in which:
        x = np.zeros(by_column.shape[0], dtype=value.dtype)
        own = slice(start[j], start[j + 1])
        x[row[own]] = value[own]
        yield x


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
    points: Sequence[float] = (),
) -> Schema:
    """The schema with cuts of its numeric columns, given or chosen once on the first rows."""
    which = [j for j in columns if j not in schema.cuts and schema.kinds[j] in CUT]
    if not which:
        return schema
    if method is None:  # only a damaged model file gets here
        raise OptionError(f"Column {schema.name(which[0])!r} is neither cut nor kept real. Fit again.")
    found = find_cuts(dense(table, schema, which, learning=True), method, bins, y, w, K, points)
    return replace(schema, cuts={**schema.cuts, **dict(zip(which, found, strict=True))})


def outward(low: float, high: float) -> tuple[float, float]:
    """The range of a column, widened to round numbers: its ends stay when rows are forgotten, and tell no value."""
    wide = (high - low) or abs(high)
    if wide == 0 or not 1e-290 < wide < 1e290:
        return low, high
    step = float(f"1e{math.floor(math.log10(wide))}") / 5
    return math.floor(low / step) * step, math.ceil(high / step) * step


def find_cuts(
    data: Numbers, method: str, bins: int, y: Array, w: Array | None, K: int, given: Sequence[float] = ()
) -> list[Cuts]:
    """Cut points of each column, and its range. given: those of every column."""
    if given:
        sizes, points = np.full(data.d, len(given)), np.tile(np.asarray(given, dtype=np.float64), data.d)
    elif method == "mdl":
        sizes, points = _core.cuts_mdl(data.columns, y, w, K)
    elif method == "width":
        sizes, points = _core.cuts_width(data.columns, y, w, bins)
    else:
        sizes, points = _core.cuts_frequency(data.columns, y, w, bins)
    if not given:  # chosen on rows, they stay when rows are forgotten: rounded, they tell no value
        points = _core.round_cuts(data.columns, y, w, sizes, points)
    ends = np.cumsum(sizes)
    cuts = []
    for i in range(data.d):
        x = data.column(i)
        x = x[np.isfinite(x) if w is None else np.isfinite(x) & (w > 0)]
        low, high = outward(float(x.min()), float(x.max())) if len(x) else (0.0, 0.0)
        cuts.append(Cuts(points[ends[i] - sizes[i] : ends[i]], low, high))
    return cuts


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
