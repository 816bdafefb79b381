"""Columns of a table as numbers, dense or sparse, and where they are cut (discretisation)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.raw_column import RawColumn, as_floats
from tallybayes.data.schema import Cuts, Schema
from tallybayes.data.schema.inference import looks_like_text
from tallybayes.data.table import Table
from tallybayes.errors import OptionError, TableError, require_memory
from tallybayes.utils.array_types import Array
from tallybayes.utils.cached import cached_property

CUT = ("real", "count")  # kinds that are discretised where levels are wanted
MAX_BINS = 1_000_000  # of a column
WIDE_BLOCK = 32  # rows of a sparse table that are made dense at once, however many columns it has
FITTED_ADVICE = "The model learned numbers there: give numbers, or mark what is missing (None or NaN)."
TEXT_ADVICE = "They look like texts: NaiveBayes() reads their words, and CountVectorizer of scikit-learn counts them."


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

    columns: _core.Columns = field(init=False, repr=False, compare=False)  # the same, as compiled code reads them
    n: int = field(init=False, compare=False)  # rows
    d: int = field(init=False, compare=False)  # columns

    def __post_init__(self) -> None:
        whole = _core.Columns(list(self.arrays) if self.matrix is None else self.matrix)
        columns = whole if self.which is None else whole.select(list(self.which))
        vars(self).update(columns=columns, n=int(columns.n), d=int(columns.d))

    def block(self, span: slice) -> NDArray[np.float64]:
        """Some rows as float64.

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
        """A column as float64, for distributions written in NumPy.

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
class Sparse:
    """A compressed sparse matrix of numbers; entries that are not stored are zero.

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
        """int: number of rows."""
        return int(self.csr.shape[0])

    @property
    def d(self) -> int:
        """int: number of columns."""
        return int(self.csr.shape[1])

    def distinct(self) -> Sparse:
        """The same with each cell stored once, for what is not linear in x.

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

    def dense_blocks(self, cells: int = 1 << 20) -> Iterator[tuple[slice, Numbers]]:
        """Row blocks as dense numbers, one after the other, for distributions that have no sparse form.

        Parameters
        ----------
        cells : int, default=1 << 20
            About how many numbers a block has; of a very wide table more, since each block costs what a row costs.

        Returns
        -------
        iterator of (slice, Numbers)
            Which rows, and their numbers.
        """
        n, d = self.csr.shape
        step = max(WIDE_BLOCK, cells // max(1, d))
        for i in range(0, n, step):
            span = slice(i, min(n, i + step))
            yield span, Numbers(self.csr[span].toarray(), None)


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
