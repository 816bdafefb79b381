"""Tables out: CSV (or JSON lines) to standard output, or a file whose ending says its format.

A file is written beside, synced and renamed, as model files are: an error half way leaves what was there.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from tallybayes.cli import terminal
from tallybayes.cli.formats import ENDINGS
from tallybayes.cli.output import note, plain, printable
from tallybayes.errors import OptionError
from tallybayes.io import atomic_files


def write_tables(tables: Iterator[pa.Table], path: str | None, as_json: bool) -> None:
    """Writes tables of one schema, one after the other."""
    if path is None or path == "-":
        room = terminal.width()
        if room is not None and not as_json:
            whole, lines, hidden = terminal.fitted(tables, room)
            if whole is None:
                _show(lines, hidden)
                return
            tables = whole
        out = sys.stdout.buffer
        for piece in _pieces(tables, "jsonl" if as_json else "csv"):
            out.write(piece)
        out.flush()
        return
    pieces = _pieces(tables, "jsonl" if as_json else format_of(path))
    try:
        atomic_files.write(path, pieces)
    except OSError as e:
        reason = e.__cause__.strerror if isinstance(e.__cause__, OSError) else e.strerror
        raise OSError(e.errno, reason or str(e), path) from e


def _show(lines: Iterator[str], hidden: int) -> None:
    for line in lines:
        print(printable(line))
    if hidden:
        note(f"{hidden:,} columns are not shown, for want of room. A pipe, or -o FILE, gets all of them.")


def format_of(path: str) -> str:
    ending = os.path.splitext(path)[1].lower()
    if ending not in ENDINGS:
        allowed = ", ".join(ENDINGS)
        raise OptionError(f"The name of the file to write, {path!r}, must end in one of {allowed}.")
    return ENDINGS[ending]


class _Pipe(io.RawIOBase):
    """Collects what a writer writes, to be handed on piece by piece."""

    def __init__(self) -> None:
        self.held: list[bytes] = []
        self.at = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self.held.append(piece)
        self.at += len(piece)
        return len(piece)

    def take(self) -> bytes:
        out, self.held = b"".join(self.held), []
        return out


def _pieces(tables: Iterator[pa.Table], format: str) -> Iterator[bytes]:
    if format == "jsonl":
        for table in tables:
            lines = (json.dumps(plain(row), ensure_ascii=False, allow_nan=False) for row in table.to_pylist())
            yield "".join(line + "\n" for line in lines).encode("utf-8")
        return
    pipe, writer = _Pipe(), None
    for table in tables:
        if writer is None:
            writer = _writer(format)(pipe, table.schema)
        writer.write_table(table)
        yield pipe.take()
    if writer is not None:
        writer.close()
        yield pipe.take()


def _writer(format: str) -> Callable[[object, pa.Schema], Any]:
    if format == "parquet":
        from pyarrow import parquet

        return lambda sink, schema: parquet.ParquetWriter(sink, schema)
    if format == "arrow":
        return lambda sink, schema: pa.ipc.new_file(sink, schema)
    from pyarrow import csv

    options = csv.WriteOptions(delimiter="\t" if format == "tsv" else ",", quoting_style="needed")
    return lambda sink, schema: csv.CSVWriter(sink, schema, write_options=options)
