"""A column of texts as counts of words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding.encoded import Sparse, Texts
from tallybayes.data.encoding.to_numbers import raw_columns
from tallybayes.data.schema import Levels, Schema
from tallybayes.data.table import Table
from tallybayes.errors import TableError
from tallybayes.utils.array_types import Array


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

    @property
    def way(self) -> tuple[str, tuple[int, int], bool]:
        """tuple: how one text is split, whatever becomes of the words."""
        return self.analyzer, self.ngrams, self.lowercase


def words(table: Table, schema: Schema, j: int, grow: bool, how: Splitting) -> tuple[Sparse, Schema, bool]:
    """A column of texts as counts: column 0 is 1 where there is a text, column 1 + c counts word c of the schema.

    grow: new words are appended to the schema; else they are left out. Third: new words had to share cells.
    """
    known = schema.levels.get(j, Levels())
    with _told(schema, j):
        values, indices, indptr, longer, shared = _core.word_counts(
            _text_values(table, schema, j), known.known, grow, *how.way, (how.most, how.cells)
        )
    known = known.grown(longer)
    csr = scipy.sparse.csr_matrix((values, indices, indptr), shape=(len(indptr) - 1, 1 + len(known)))
    return Sparse(csr), schema.with_levels({j: known}) if grow else schema, shared


def texts(table: Table, schema: Schema, j: int, how: Splitting) -> Texts:
    """A column of texts whose words are looked up when somebody asks."""
    known = schema.levels.get(j, Levels())
    with _told(schema, j):
        held = _core.Texts(_text_values(table, schema, j), how.way)
    return Texts(held, known, how.cells, lambda: words(table, schema, j, False, how)[0])


def word_sums(
    table: Table,
    schema: Schema,
    j: int,
    how: Splitting,
    target: tuple[NDArray[np.int32], Array | None, int],
    once: bool,
) -> tuple[Array, Array, Schema] | None:
    """How often each class has each word (K, words), the weight of its rows that have a text, and the longer schema.

    target: the class and the weight of each row, and how many classes there are. once: a word counts once for a row.
    None if there are more words than may have a place of their own.
    """
    known = schema.levels.get(j, Levels())
    with _told(schema, j):
        found = _core.word_sums(_text_values(table, schema, j), known.known, how.way, how.most, *target, once)
    if found is None:
        return None
    count, rows, longer = found
    return count, rows, schema.with_levels({j: known.grown(longer)})


@contextmanager
def _told(schema: Schema, j: int) -> Iterator[None]:
    """What the core cannot read, with the column's name."""
    try:
        yield
    except _core.BadRow as e:
        why, row, _ = e.args
        name = schema.name(j)
        raise TableError(
            f"Column {name!r} cannot be read as text: {why} (row {row}). Correct it, or mark it missing.",
            column=name,
            row=row,
        ) from None


def _text_values(table: Table, schema: Schema, j: int) -> object:
    """The texts of a column as the core reads them."""
    column = raw_columns(table, [j])[0]
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
