"""A column of texts as counts of words."""

from __future__ import annotations

from dataclasses import dataclass, replace

import scipy

from tallybayes import _core
from tallybayes.encode.data import Sparse
from tallybayes.encode.to_numbers import raw_columns
from tallybayes.errors import TableError
from tallybayes.schema import Levels, Schema
from tallybayes.source import Table


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


def words(
    table: Table, schema: Schema, j: int, grow: bool, how: Splitting, span: slice | None = None
) -> tuple[Sparse, Schema, bool]:
    """A column of texts as counts: column 0 is 1 where there is a text, column 1 + c counts word c of the schema.

    grow: new words are appended to the schema; else they are left out. span: of these rows alone. Third: new words had
    to share cells.
    """
    known = schema.levels.get(j, Levels())
    try:
        values, indices, indptr, longer, shared = _core.word_counts(
            _text_values(table, schema, j, span),
            known.known,
            grow,
            how.analyzer,
            how.ngrams,
            how.lowercase,
            (how.most, how.cells),
        )
    except _core.BadRow as e:
        why, row, _ = e.args
        row += 0 if span is None else span.start
        name = schema.name(j)
        raise TableError(
            f"Column {name!r} cannot be read as text: {why} (row {row}). Correct it, or mark it missing.",
            column=name,
            row=row,
        ) from None
    known = known.grown(longer)
    csr = scipy.sparse.csr_matrix((values, indices, indptr), shape=(len(indptr) - 1, 1 + len(known)))
    return Sparse(csr), schema.with_levels({j: known}) if grow else schema, shared


def _text_values(table: Table, schema: Schema, j: int, span: slice | None) -> object:
    """The texts of a column as the core reads them; span: of these rows alone."""
    column = raw_columns(table, [j])[0]
    if span is not None:
        by_place = getattr(column.values, "iloc", column.values)
        column = replace(column, values=by_place[span])
    if column.storage == "arrow":
        return column.values.__arrow_c_stream__()
    if column.storage == "objects" and column.kind != "binary":
        return column.values
    values = column.plain()
    bad = next((row for row, v in enumerate(values) if v is not None and not isinstance(v, str)), None)
    if bad is not None:
        name, value = schema.name(j), values[bad]
        bad += 0 if span is None else span.start
        raise TableError(
            f"Column {name!r} is text, and has {value!r:.60} (row {bad}), which is none. Give strings, or mark what is "
            "missing (None).",
            column=name,
            row=bad,
            value=value,
        )
    return values
