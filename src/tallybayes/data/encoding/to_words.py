"""A text column as word counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding.numeric import Sparse, raw_columns
from tallybayes.data.schema import Levels, Schema
from tallybayes.data.table import Table
from tallybayes.errors import TableError
from tallybayes.utils.array_types import Array
from tallybayes.utils.cached import cached_property


@dataclass(frozen=True)
class Texts:
    """A column of texts whose words are read block by block.

    Parameters
    ----------
    held : Texts of the core
        The texts.
    words : Levels
        The vocabulary.
    cells : int
        Number of hashed cells for other words.
    count : callable
        Makes the word counts, on demand.
    """

    held: _core.Texts
    words: Levels
    cells: int
    count: Callable[[], Sparse]

    @cached_property
    def counted(self) -> Sparse:
        """Sparse: the same as counts of words."""
        return self.count()

    @property
    def n(self) -> int:
        """int: number of rows."""
        return len(self.held)


@dataclass(frozen=True)
class Splitting:
    """Tokenisation of a text column.

    Parameters
    ----------
    analyzer : {'auto', 'word', 'char'}
        Unit of the tokens.
    ngrams : tuple of (int, int)
        Smallest and largest n of the n-grams.
    lowercase : bool
        Whether text is lowercased first.
    most : int
        Largest size of the vocabulary.
    cells : int
        Number of hashed cells for all other words.
    """

    analyzer: str
    ngrams: tuple[int, int]
    lowercase: bool
    most: int
    cells: int

    @property
    def way(self) -> tuple[str, tuple[int, int], bool]:
        """tuple: analyzer, ngrams, lowercase: what the tokenizer needs."""
        return self.analyzer, self.ngrams, self.lowercase


def words(table: Table, schema: Schema, j: int, grow: bool, how: Splitting) -> tuple[Sparse, Schema, bool]:
    """Word counts (column 0: whether there is a text), the schema, and whether new words had to share hashed cells."""
    known = schema.levels.get(j, Levels())
    with _named_errors(schema, j):
        values, indices, indptr, longer, shared = _core.word_counts(
            _text_values(table, schema, j), known.known, grow, *how.way, (how.most, how.cells)
        )
    known = known.grown(longer)
    csr = scipy.sparse.csr_matrix((values, indices, indptr), shape=(len(indptr) - 1, 1 + len(known)))
    return Sparse(csr), schema.with_levels({j: known}) if grow else schema, shared


def texts(table: Table, schema: Schema, j: int, how: Splitting) -> Texts:
    """A text column whose words are looked up on demand."""
    known = schema.levels.get(j, Levels())
    with _named_errors(schema, j):
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
    """Word counts by class (K, words), weight of rows with a text, and the schema; None if the vocabulary overflows.

    target: class codes, weights, number of classes. once: a word counts once per row.
    """
    known = schema.levels.get(j, Levels())
    with _named_errors(schema, j):
        found = _core.word_sums(_text_values(table, schema, j), known.known, how.way, how.most, *target, once)
    if found is None:
        return None
    count, rows, longer = found
    return count, rows, schema.with_levels({j: known.grown(longer)})


@contextmanager
def _named_errors(schema: Schema, j: int) -> Iterator[None]:
    """Errors of the core with the column's name."""
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
    """A text column in a form that the core reads."""
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
