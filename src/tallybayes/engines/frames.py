"""Sources that are in memory or streams already: data frames, lazy frames, readers, datasets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from tallybayes.data.raw_column import check_arrow
from tallybayes.data.table import pandas_index
from tallybayes.engines.arrow_batches import reader_errors
from tallybayes.engines.partitions import in_bulk, unique_names
from tallybayes.engines.source import ColumnRoles, RowSource, batch_rows, expanded
from tallybayes.engines.survey import Survey, survey_of
from tallybayes.errors import TableError, TallybayesError

if TYPE_CHECKING:
    import pyarrow as pa

Read = Callable[[Sequence[str], int], Iterator[Any]]


class FrameSource(RowSource):
    """Anything whose batches are read by a function."""

    def __init__(self, names: Sequence[str], read: Read, where: str, total: int | None = None) -> None:
        self._names, self._read, self.where, self.total = unique_names(names, where), read, where, total

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        yield from self._read(columns, rows)


class StreamSource(RowSource):
    """A stream of batches. Its first rows may be looked at before it is read."""

    once = True
    where = "the stream"

    def __init__(self, stream: Any) -> None:
        self._stream, self._names = stream, unique_names(stream.schema.names, self.where)
        self.index = frozenset(pandas_index(stream.schema))
        self._held: list[Any] = []

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    def head(self, roles: ColumnRoles) -> Survey:
        """Look at the first rows, and hold them until all are read.

        Parameters
        ----------
        roles : ColumnRoles
            Which columns are what.

        Returns
        -------
        Survey
            Of the first batch that has rows.
        """
        with reader_errors(self.where):
            for table in self._tables(roles.columns):
                self._held.append(table)
                if table.num_rows:
                    return survey_of(table, batch_rows(len(roles.columns)))
        raise self.no_rows()

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        yield from in_bulk(chain(self._held, self._tables(columns)), rows)
        self._held = []

    def no_rows(self) -> TallybayesError:
        """Make the error of a stream without rows.

        Returns
        -------
        TableError
            To be raised.
        """
        return TableError("There are no rows in the stream, or they were read before: it can be read only once.")

    def _tables(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        import pyarrow as pa

        for batch in self._stream:
            yield checked(pa.Table.from_batches([batch]).select(list(columns)))


def checked(table: pa.Table) -> pa.Table:
    """The table, unless pyarrow would read outside of its buffers."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        check_arrow(column, name)
    return table


def frame(source: Any) -> RowSource:
    """A data frame of pandas or polars, or a table of pyarrow."""
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    table = source
    if not isinstance(source, pa.Table):
        table = pa.table(source) if isinstance(source, pa.RecordBatch) else nw.from_native(source).to_arrow()

    sound = set[str]()

    def read(columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        chosen = table.select(list(columns))
        checked(chosen.select([name for name in columns if name not in sound]))
        sound.update(columns)
        for start in range(0, chosen.num_rows, rows):
            yield chosen.slice(start, rows)

    found = FrameSource(table.column_names, read, "the table", table.num_rows)
    found.index = frozenset(pandas_index(table.schema))
    return found


def reader(source: Any) -> RowSource:
    """A reader of record batches."""
    return StreamSource(source)


def dataset(source: Any) -> RowSource:
    """A dataset of pyarrow."""
    import pyarrow as pa

    def read(columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        scanner = source.scanner(columns=list(columns), batch_size=rows, batch_readahead=4, fragment_readahead=1)
        for batch in scanner.to_batches():
            yield checked(pa.Table.from_batches([batch]))

    found = FrameSource(source.schema.names, read, "the dataset", source.count_rows())
    found.files = tuple(getattr(source, "files", ()))
    found.index = frozenset(pandas_index(source.schema))
    return found


def lazy_frame(source: Any) -> RowSource:
    """A lazy frame of polars: it is collected batch by batch."""
    import polars as pl

    oldest = pl.CompatLevel.oldest()

    def read(columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        chosen = source.select([pl.col(name) for name in columns])
        if not hasattr(chosen, "collect_batches"):  # polars before 1.33
            yield chosen.collect().to_arrow(compat_level=oldest)
            return
        for batch in chosen.collect_batches(chunk_size=rows, maintain_order=True):
            yield batch.to_arrow(compat_level=oldest)

    found = FrameSource(source.collect_schema().names(), read, "the lazy frame")
    scans = re.findall(r"SCAN \[(.*)\]", source.explain(optimized=False))
    found.files = expanded(name for listed in scans for name in (listed, *listed.split(", ")))
    return found
