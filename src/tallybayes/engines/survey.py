"""Survey: what has to be agreed on before rows are counted in many places, and itself adds.

A random sample of the rows, each as likely as the other, is what cuts, distributions, structures and temperatures are
chosen on: as many rows as it may have, or all of them while there are no more. Beside it the labels of text columns,
all of them up to a bound. The survey of two sets of rows is the sum of their surveys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

FIRST_ROWS = 4096  # that mostly have every label
MAX_LABELS = 100_000  # labels of a column that are agreed on beforehand; others are met while counting
MAX_LABEL_BYTES = 1 << 24  # and no more than this much of them: texts are no labels


@dataclass(frozen=True)
class Survey:
    """A uniform sample of a source, and the distinct labels of its text columns, from which a plan is made.

    Parameters
    ----------
    sample : pyarrow.Table
        The rows, in their order.
    key : ndarray of shape (n,)
        A random number from 0 to 1 for each row; the sample has the rows with the smallest.
    rows : int
        How many rows there were.
    labels : dict from str to pyarrow.Array or None
        The distinct values of each text column; None where there are too many.
    most : int
        How many rows the sample may have.
    """

    sample: pa.Table
    key: NDArray[np.float64]
    rows: int
    labels: Mapping[str, pa.Array | None]
    most: int

    @property
    def bound(self) -> float:
        """float: rows with a larger key have no place any more."""
        return float(self.key.max()) if len(self.key) >= self.most else 1.0

    def add(self, other: Survey) -> Survey:
        """Return the survey of both sets of rows.

        Parameters
        ----------
        other : Survey
            Of rows that come after these, with the same columns.

        Returns
        -------
        Survey
            Of all of them.
        """
        import pyarrow as pa

        key = np.concatenate([self.key, other.key])
        tables = [t for t in (self.sample, other.sample) if t.num_rows] or [self.sample]
        table = pa.concat_tables(tables, promote_options="permissive").unify_dictionaries().combine_chunks()
        if len(key) > self.most:
            keep = np.sort(np.argpartition(key, self.most - 1)[: self.most])
            table, key = table.take(keep), key[keep]
        labels = {name: _together(self.labels.get(name), other.labels.get(name)) for name in self.labels}
        return Survey(table, key, self.rows + other.rows, labels, self.most)


def survey_of(table: pa.Table, most: int, part: int = 0, bound: float = 1.0) -> Survey:
    """Sample a table, and list the labels of its text columns.

    Parameters
    ----------
    table : pyarrow.Table
        The rows.
    most : int
        How many of them the sample may have.
    part : int, default=0
        Which part of a larger whole they are: the parts draw different numbers.
    bound : float, default=1.0
        Rows whose number is larger have no place in the whole.

    Returns
    -------
    Survey
        Of these rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tallybayes.engines import survey_of
    >>> parts = [survey_of(pa.table({"sky": sky}), most=3, part=i) for i, sky in enumerate((["grey"], ["red", "grey"]))]
    >>> whole = parts[0].add(parts[1])
    >>> whole.rows, whole.sample["sky"].to_pylist(), whole.labels["sky"].to_pylist()
    (3, ['grey', 'red', 'grey'], ['grey', 'red'])
    """
    key = np.random.default_rng((0, part)).random(table.num_rows)
    sample = table
    if bound < 1 or table.num_rows > most:
        keep = np.flatnonzero(key < bound)
        if len(keep) > most:
            keep = np.sort(keep[np.argpartition(key[keep], most - 1)[:most]])
        sample, key = table.take(keep), key[keep]
    return Survey(sample, key, table.num_rows, {n: _labels(table.column(n)) for n in _texts(table)}, most)


def _texts(table: pa.Table) -> list[str]:
    import pyarrow as pa

    def text(kind: pa.DataType) -> bool:
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))

    return [field.name for field in table.schema if text(field.type)]


def _labels(column: pa.ChunkedArray) -> pa.Array | None:
    import pyarrow as pa

    found = _distinct(column).drop_null()
    found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    if pa.types.is_dictionary(found.type):
        found = found.dictionary_decode()
    return found.cast(pa.large_string()) if len(found) <= MAX_LABELS and found.nbytes <= MAX_LABEL_BYTES else None


def _distinct(column: pa.ChunkedArray) -> pa.Array:
    """Its values in the order of the rows. Arrow hashes each row; where codes show that the first rows have all values,
    these are enough."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type) and column.num_chunks == 1 and len(column) > FIRST_ROWS:
        held = column.chunk(0)
        codes, n = held.indices.fill_null(0).to_numpy(zero_copy_only=False), len(held.dictionary)
        if (
            n
            and (np.bincount(codes, minlength=n) > 0).tolist()
            == (np.bincount(codes[:FIRST_ROWS], minlength=n) > 0).tolist()
        ):
            column = column.slice(0, FIRST_ROWS)
    return column.unique()


def _together(a: pa.Array | None, b: pa.Array | None) -> pa.Array | None:
    import pyarrow as pa

    return None if a is None or b is None else _labels(pa.chunked_array([a, b]))
