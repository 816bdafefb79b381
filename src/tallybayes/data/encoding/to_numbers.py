"""Columns as numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from tallybayes.data.column_kinds import looks_like_text
from tallybayes.data.encoding.encoded import Numbers
from tallybayes.data.raw_column import RawColumn, as_floats
from tallybayes.data.schema import Schema
from tallybayes.data.table import Table
from tallybayes.errors import TableError
from tallybayes.utils.array_types import Array

FITTED_ADVICE = "The model learned numbers there: give numbers, or mark what is missing (None or NaN)."
TEXT_ADVICE = "They look like texts: NaiveBayes() reads their words, and CountVectorizer of scikit-learn counts them."


def numbers(table: Table, schema: Schema, which: Sequence[int], learning: bool = False) -> Numbers:
    """Columns as numbers. learning: the user can still declare another kind."""
    if table.matrix is not None:
        return Numbers(table.matrix, None if len(which) == table.d else tuple(which))
    assert table.columns is not None
    return Numbers(None, None, tuple(_as_number(table.columns[j], schema.name(j), learning) for j in which))


def _as_number(column: RawColumn, name: str, learning: bool) -> Array:
    if column.storage == "numbers":
        return np.asarray(column.values)
    if column.kind == "binary":
        return _boolean(column)
    if column.scale is not None:
        return np.asarray(np.append(column.scale, np.nan)[column.values])
    values = column.plain()
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
    by_column = table.csr.tocsc()
    return [RawColumn(by_column[:, [j]].toarray().ravel(), "numbers", "real") for j in which]
