"""Answers into a file: Parquet, CSV or Arrow, by its ending; whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tallybayes.engines.arrow_batches import reader_errors
from tallybayes.errors import OptionError, TableError

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".parquet", ".pq", ".csv", ".arrow", ".feather", ".ipc")


def write(path: str | os.PathLike[str], tables: Iterator[pa.Table]) -> int:
    """How many rows were written. The file is there when all of them are."""
    path = os.fspath(path)
    ending = os.path.splitext(path)[1].lower()
    if ending not in ENDINGS:
        raise OptionError(f"Answers are written into a file that ends in {', '.join(ENDINGS)}; got {path!r}.")
    part, rows, writer = f"{path}.part", 0, None
    try:
        for table in tables:
            if writer is None:
                with reader_errors(path, "write"):
                    writer = _open(part, ending, table.schema)
            writer.write_table(table.cast(writer_schema(writer, table)))
            rows += table.num_rows
        if writer is None:
            raise TableError("There are no rows to answer for.")
        writer.close()
        os.replace(part, path)
    except BaseException:
        if writer is not None:
            with suppress(Exception):
                writer.close()
        with suppress(OSError):
            os.unlink(part)
        raise
    return rows


def writer_schema(writer: Any, table: pa.Table) -> pa.Schema:
    """The schema of what was written before."""
    return getattr(writer, "schema", table.schema)


def _open(path: str, ending: str, schema: pa.Schema) -> Any:
    import pyarrow as pa

    if ending in (".parquet", ".pq"):
        from pyarrow import parquet

        return parquet.ParquetWriter(path, schema)
    if ending == ".csv":
        from pyarrow import csv

        return csv.CSVWriter(path, schema)
    return pa.ipc.new_file(path, schema)


def stream_of(tables: Iterator[pa.Table], otherwise: pa.Schema) -> pa.RecordBatchReader:
    """A reader of batches that come one after the other. otherwise: the columns, if there are none."""
    import pyarrow as pa

    first = next(tables, None)
    if first is None:
        return pa.RecordBatchReader.from_batches(otherwise, iter(()))

    def batches() -> Iterator[pa.RecordBatch]:
        yield from first.to_batches()
        for table in tables:
            yield from table.cast(first.schema).to_batches()

    return pa.RecordBatchReader.from_batches(first.schema, batches())
