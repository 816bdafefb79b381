"""table → numbers and codes: what the kernels read. Nothing is copied that is already in the right form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.arrays import Array
from tallybayes.errors import OptionError, TableError
from tallybayes.raw import RawColumn, as_floats, as_strings
from tallybayes.schema import Cuts, Levels, Schema
from tallybayes.source import Table

RAW_LIMIT = 1 << 16  # integer codes below this index their table directly; others go through a dictionary
MISSING, UNSEEN = -1, -2
CUT = ("real", "count")  # kinds that are cut into intervals where levels are wanted
ARROW_COLUMNS = 4  # at a time: a table that must be converted to Arrow first is never there twice


@dataclass(frozen=True)
class Numbers:
    """Numeric columns: one matrix (and which of its columns), or separate arrays. NaN is missing.

    Parameters
    ----------
    matrix : ndarray or None
        A matrix of numbers.
    which : tuple of int or None
        Which of its columns; None takes all.
    arrays : tuple of ndarrays, default=()
        The columns, where there is no matrix.
    """

    matrix: Array | None
    which: tuple[int, ...] | None
    arrays: tuple[Array, ...] = ()

    @cached_property
    def columns(self) -> _core.Columns:
        """Columns of the core: the same numbers, as compiled code reads them."""
        if self.matrix is None:
            return _core.Columns(list(self.arrays))
        whole = _core.Columns(self.matrix)
        return whole if self.which is None else whole.select(list(self.which))

    @property
    def n(self) -> int:
        """int: how many rows there are."""
        return int(self.columns.n)

    @property
    def d(self) -> int:
        """int: how many columns there are."""
        return int(self.columns.d)

    def block(self, span: slice) -> NDArray[np.float64]:
        """Give some rows as float64.

        Parameters
        ----------
        span : slice
            Which rows.

        Returns
        -------
        ndarray of shape (columns, rows)
            Their numbers.
        """
        if self.matrix is None:
            return np.stack([np.asarray(a[span], dtype=np.float64) for a in self.arrays])
        part = self.matrix[span] if self.which is None else self.matrix[span][:, list(self.which)]
        return np.ascontiguousarray(part.T, dtype=np.float64)

    def column(self, j: int) -> NDArray[np.float64]:
        """Give a column as float64: for distributions written in NumPy.

        Parameters
        ----------
        j : int
            Its place among these.

        Returns
        -------
        ndarray of shape (n,)
            NaN where missing.
        """
        if self.matrix is None:
            return np.asarray(self.arrays[j], dtype=np.float64)
        return np.asarray(self.matrix[:, j if self.which is None else self.which[j]], dtype=np.float64)


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
        """int: how many rows there are."""
        return int(self.columns.n)


@dataclass(frozen=True)
class Sparse:
    """A compressed sparse matrix of numbers; what is not stored is zero.

    Parameters
    ----------
    csr : scipy sparse matrix
        The numbers.
    """

    csr: Any

    @cached_property
    def view(self) -> _core.Csr:
        """Csr of the core: the same numbers, as compiled code reads them."""
        return _core.Csr(self.csr.data, self.csr.indices, self.csr.indptr, self.csr.shape[1])

    @property
    def n(self) -> int:
        """int: how many rows there are."""
        return int(self.csr.shape[0])

    def distinct(self) -> Sparse:
        """Store each cell once: for what is not linear in x, two entries of one cell are not their sum.

        Returns
        -------
        Sparse
            With the same numbers.
        """
        if self.csr.has_canonical_format:
            return self
        csr = self.csr.copy()
        csr.sum_duplicates()
        return Sparse(csr)

    def dense_blocks(self, cells: int = 1 << 20) -> list[tuple[slice, Numbers]]:
        """Give row blocks as dense numbers, for distributions that have no sparse form.

        Parameters
        ----------
        cells : int, default=1 << 20
            About how many numbers a block has.

        Returns
        -------
        list of (slice, Numbers)
            Which rows, and their numbers.
        """
        n, d = self.csr.shape
        step = max(1, cells // max(1, d))
        spans = [slice(i, min(n, i + step)) for i in range(0, n, step)]
        return [(span, Numbers(self.csr[span].toarray(), None)) for span in spans]


@dataclass(frozen=True)
class Coded:
    """Columns as codes from several sources, for distributions that look at combinations of levels.

    Parameters
    ----------
    parts : tuple of (Codes, tuple of int)
        Codes, and which columns of the group they are.
    sizes : ndarray of int64
        How many levels the schema knows of each column (0: the table's own integers, as many as there are).
    n : int
        How many rows there are.
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


Data = Numbers | Codes | Sparse | Coded
LARGEST = 2**31 - 1


def rows_of(data: Data, span: slice) -> Data:
    """Some rows of the same data, span.start ≤ span.stop ≤ n. Unseen codes come out as missing ones."""
    if isinstance(data, Sparse):
        return Sparse(data.csr[span])
    if isinstance(data, Codes):
        room = np.full(data.columns.d, LARGEST, dtype=np.int64)
        packed, _ = _core.pack_codes(data.columns, room, data.raw, span.start, span.stop - span.start)
        missing = packed == np.iinfo(packed.dtype).max
        return Codes(_core.Columns(list(np.where(missing, MISSING, packed.astype(np.int64)))))
    if isinstance(data, Coded):
        parts = tuple((rows_of(codes, span), at) for codes, at in data.parts)
        reals = None if data.reals is None else rows_of(data.reals, span)
        return Coded(parts, data.sizes, span.stop - span.start, reals, data.known)  # type: ignore[arg-type]
    if data.matrix is None:
        return Numbers(None, None, tuple(a[span] for a in data.arrays))
    return Numbers(data.matrix[span], data.which)


def numbers(table: Table, schema: Schema, which: Sequence[int], learning: bool = False) -> Numbers:
    """The given columns as numbers. learning: what they are could still be said otherwise."""
    if table.matrix is not None:
        return Numbers(table.matrix, None if len(which) == table.d else tuple(which))
    assert table.columns is not None
    return Numbers(None, None, tuple(_as_number(table.columns[j], schema.name(j), learning) for j in which))


def _as_number(column: RawColumn, name: str, learning: bool) -> Array:
    if column.storage == "numbers":
        return np.asarray(column.values)
    if column.kind == "binary":
        return _truth(column)
    if column.scale is not None:
        return np.asarray(np.append(column.scale, np.nan)[column.values])
    values = column.plain()
    bad = [row for row, v in enumerate(values) if isinstance(v, str | bytes)]
    if not bad:  # categories that are numbers, or nothing but missing values
        return as_floats(values, name)
    row, value = bad[0], values[bad[0]]
    advice = (
        f"Declare it categorical with NaiveBayes(schema={{{name!r}: 'categorical'}}), or mark them missing."
        if learning
        else "The model learned numbers there: give numbers, or mark what is missing (None or NaN)."
    )
    raise TableError(
        f"Column {name!r} has {len(bad)} value(s) that are not numbers (first: {value!r:.60}, row {row}). {advice}",
        column=name,
        row=row,
        value=value,
    )


def _truth(column: RawColumn) -> Array:
    """True and False as 1 and 0, missing as NaN."""
    if column.storage == "coded":
        return np.where(column.values < 0, np.nan, column.values)
    return np.array([np.nan if not isinstance(v, bool | np.bool_) else float(v) for v in column.values])


def levels(
    table: Table, schema: Schema, which: Sequence[int], grow: bool, sizes: Mapping[int, int]
) -> tuple[Codes, Schema]:
    """The given columns as codes of their levels. grow: new labels are appended, else they are unseen.

    Small non-negative integers in a matrix are their own codes; everything else goes through a dictionary. sizes: how
    many codes have been their own so far, for columns that have no dictionary yet.
    """
    raw = _raw_codes(table, schema, which, grow)
    if raw is not None:
        return raw, schema
    arrays, schema = level_codes(table, schema, which, grow, sizes)
    return Codes(_core.Columns(arrays)), schema


def level_codes(
    table: Table, schema: Schema, which: Sequence[int], grow: bool, sizes: Mapping[int, int]
) -> tuple[list[Array], Schema]:
    """The codes as arrays, all of them through a dictionary."""
    columns = _raw_columns(table, which)
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
            arrays[i], known[i] = _column_codes(column, known[i], grow)
    return arrays, schema.with_levels(dict(zip(which, known, strict=True))) if grow else schema


def _integers(size: int, grow: bool) -> Levels:
    """The levels of a column whose codes were its own labels so far."""
    return Levels(range(size)) if grow else _same_integers(size)


@lru_cache(maxsize=64)
def _same_integers(size: int) -> Levels:
    """For asking, which leaves them as they are: made once."""
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


def _column_codes(column: RawColumn, known: Levels, grow: bool) -> tuple[Array, Levels]:
    """The codes of a column that is not in Arrow's form, and its levels with what is new in it."""
    if grow and column.declared:
        known = known.extend(column.declared, declared=True)
    if column.storage == "coded":
        return _translate(column, known), known
    if column.storage == "moments":  # that are taken as labels
        column = RawColumn(as_strings(column.plain()), "objects", "categorical")
    if column.storage == "objects":
        codes, longer = _core.object_codes(column.values, known.known, grow)
    else:  # numbers: 3 and 3.0 are one label
        values = column.values.astype(np.int8) if column.values.dtype.kind == "b" else column.values
        codes, longer = _core.number_codes(_core.Columns([values]), known.known, grow)
    return np.asarray(codes), known.grown(longer)


@dataclass(frozen=True)
class Splitting:
    """How a text becomes words.

    Parameters
    ----------
    analyzer : {'auto', 'word', 'char'}
        What the pieces are made of.
    ngrams : tuple of (int, int)
        How many of these a piece has, at least and at most.
    lowercase : bool
        Whether capitals become small letters first.
    most : int
        How many words have a place of their own.
    cells : int
        How many cells all others share.
    """

    analyzer: str
    ngrams: tuple[int, int]
    lowercase: bool
    most: int
    cells: int


def words(table: Table, schema: Schema, j: int, grow: bool, how: Splitting) -> tuple[Sparse, Schema, bool]:
    """A column of texts as counts: column 0 is 1 where there is a text, column 1 + c counts word c of the schema.

    grow: new words are appended to the schema; else they are left out. Third: new words had to share cells.
    """
    known = schema.levels.get(j, Levels())
    try:
        values, indices, indptr, longer, shared = _core.word_counts(
            _text_values(table, schema, j),
            known.known,
            grow,
            how.analyzer,
            how.ngrams,
            how.lowercase,
            (how.most, how.cells),
        )
    except _core.BadRow as e:
        why, row, _ = e.args
        name = schema.name(j)
        raise TableError(
            f"Column {name!r} cannot be read as text: {why} (row {row}). Correct it, or mark it missing.",
            column=name,
            row=row,
        ) from None
    known = known.grown(longer)
    csr = scipy.sparse.csr_matrix((values, indices, indptr), shape=(table.n, 1 + len(known)))
    return Sparse(csr), schema.with_levels({j: known}) if grow else schema, shared


def _text_values(table: Table, schema: Schema, j: int) -> Any:
    """The texts of a column as the core reads them."""
    column = _raw_columns(table, [j])[0]
    if column.storage == "arrow":
        return column.values.__arrow_c_stream__()
    if column.storage == "objects" and column.kind != "binary":
        return column.values
    values = column.plain()
    bad = next((row for row, v in enumerate(values) if v is not None and not isinstance(v, str)), None)
    if bad is not None:
        name, value = schema.name(j), values[bad]
        raise TableError(
            f"Column {name!r} is text, and has {value!r:.60} (row {bad}), which is none. Give strings, or mark what is "
            "missing (None).",
            column=name,
            row=bad,
            value=value,
        )
    return values


def _raw_codes(table: Table, schema: Schema, which: Sequence[int], grow: bool) -> Codes | None:
    if table.matrix is None or table.matrix.dtype.kind not in "iub" or any(j in schema.levels for j in which):
        return None
    columns = _core.Columns(table.matrix)
    if len(which) < table.d:
        columns = columns.select(list(which))
    if grow:
        low, high = _core.integer_range(columns)
        if low < 0 or high >= RAW_LIMIT:
            return None
    return Codes(columns, raw=True)


def _raw_columns(table: Table, which: Sequence[int]) -> list[RawColumn]:
    if table.columns is not None:
        return [table.columns[j] for j in which]
    if table.matrix is not None:
        return [RawColumn(table.matrix[:, j], "numbers", "real") for j in which]
    by_column = table.csr.tocsc()
    return [RawColumn(by_column[:, [j]].toarray().ravel(), "numbers", "real") for j in which]


def _translate(column: RawColumn, known: Levels) -> Array:
    """Codes of the column's own categories → codes of the schema."""
    codes: Array = np.asarray(column.values)
    whose, to = known.memo  # a frame of one row has all its categories: they are looked up once
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
    """Numeric columns as the numbers of their intervals."""
    sizes, points = _cut_points(schema, tuple(which))
    return Codes(_core.Columns(_core.digitize(_dense(table, schema, which).columns, sizes, points)))


def cut_numbers(data: Numbers, cuts: Sequence[Cuts]) -> Codes:
    """Numbers as those of the intervals of the given cuts, one for each column."""
    sizes = np.array([len(c.points) for c in cuts], dtype=np.int64)
    return Codes(_core.Columns(_core.digitize(data.columns, sizes, np.concatenate([c.points for c in cuts]))))


def _cut_points(schema: Schema, which: tuple[int, ...]) -> tuple[Array, Array]:
    """How many cuts each column has, and all of them; kept with the schema, since every question asks."""
    found: tuple[Array, Array] | None = schema.memo.get(("cuts", which))
    if found is None:
        sizes = np.array([len(schema.cuts[j].points) for j in which], dtype=np.int64)
        points = np.concatenate([schema.cuts[j].points for j in which]) if len(which) else np.empty(0)
        found = schema.memo["cuts", which] = (sizes, points)
    return found


@dataclass(frozen=True)
class _Places:
    """Which of some columns are cut and which have levels, as places among them and as columns; what is known."""

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
    """The given columns as codes: of their intervals where the schema cuts them, else of their levels. The last `reals`
    of them stay numbers."""
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
    stay = _dense(table, schema, real, grow) if reals else None
    return Coded(tuple(parts), known, table.n, stay, places.labels), schema


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
    """The schema with cuts for those of the columns that are numbers: chosen once, from the first rows learned."""
    which = [j for j in columns if j not in schema.cuts and schema.kinds[j] in CUT]
    if not which:
        return schema
    if method is None:  # what is not cut stays real, and is not among these; a file may say otherwise
        raise OptionError(f"Column {schema.name(which[0])!r} is neither cut nor kept real. Fit again.")
    found = find_cuts(_dense(table, schema, which, learning=True), method, bins, y, w, K)
    return replace(schema, cuts={**schema.cuts, **dict(zip(which, found, strict=True))})


def find_cuts(data: Numbers, method: str, bins: int, y: Array, w: Array | None, K: int) -> list[Cuts]:
    """Where each column is cut by these rows, and the range that they have."""
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


def _dense(table: Table, schema: Schema, which: Sequence[int], learning: bool = False) -> Numbers:
    if table.csr is None:
        return numbers(table, schema, which, learning)
    return Numbers(None, None, tuple(np.asarray(c.values, dtype=np.float64) for c in _raw_columns(table, which)))
