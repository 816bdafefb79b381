"""Rows as they come, JSON, CSV or Arrow → a Table in the order of the model's columns.

One rule for all forms: columns are found by name, one that is left out is missing in every row, one that the model
does not know is refused (it may be a mistyped name, whose value would be lost without a word).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from csv import reader
from dataclasses import dataclass, replace

import pyarrow as pa
from msgspec import UNSET
from pyarrow import csv

from tallybayes.cli.column_types import type_of_labels
from tallybayes.cli.table_files import NULL_VALUES
from tallybayes.data.schema import Schema, align
from tallybayes.data.table import Table, read_table
from tallybayes.errors import TableError, did_you_mean, listing
from tallybayes.serve.http_errors import HttpError
from tallybayes.serve.request_bodies import JSON, Cell, Question, Row
from tallybayes.serve.service_settings import Limits

CSV = "text/csv"
ARROW = "application/vnd.apache.arrow.stream"
FORMS = (JSON, CSV, ARROW)
BAD_CELL = r"CSV column #(\d+)(?: \('.*?'\))?: (?:Row #(\d+): )?CSV conversion error to (.+?): (.*)"
RECORD_BATCH, DICTIONARY_BATCH = 3, 2  # in the header of a message of Arrow


@dataclass(frozen=True)
class ServedColumns:
    """What a model has learned of its columns, ready for looking up."""

    schema: Schema
    names: tuple[str, ...]
    known: frozenset[str]
    types: Mapping[str, pa.DataType]

    @classmethod
    def of(cls, schema: Schema) -> ServedColumns:
        """Of the schema of a model; columns without names are x0, x1 and so on. Besides the columns that are read
        there are those that are given: dates, as ISO 8601 writes them, and names of rows, which are left out."""
        read = tuple(schema.name(j) for j in range(schema.d))
        types = {}
        for j, name in enumerate(read):
            found = type_of_labels(schema.levels[j].labels) if j in schema.levels else pa.float64()
            if found is not None:
                types[name] = found
        given = [g.name or f"x{j}" for j, g in enumerate(schema.expansion or ()) if g.what != "column"]
        types |= dict.fromkeys(given, pa.string())
        names = tuple(dict.fromkeys((*given, *read)))
        return cls(schema, names, frozenset(names), types)

    def refuse_unknown(self, names: Iterable[str]) -> None:
        """Raises 422 for a name that is no column."""
        unknown = sorted(set(names) - self.known)
        if unknown:
            raise HttpError(
                422,
                f"The model has no column {listing(unknown)}. Its columns: {listing(self.names, 20)}."
                f"{did_you_mean(unknown[0], self.names)}",
                column=unknown[0],
            )

    def table(self, found: Table) -> Table:
        """The columns of a table in the model's order, and missing values for those that it does not have."""
        read = align(replace(found, container="rows"), self.schema)  # as dicts, which may leave columns out
        return replace(read, container="pyarrow", names=self.schema.names)

    def all_missing(self, n: int) -> Table:
        """Rows of which nothing is known."""
        return self.table(Table(n, 0, "pyarrow", (), columns=()))


def rows_of(question: Question, columns: ServedColumns, limits: Limits) -> tuple[Table | None, int]:
    """The rows of a question in JSON, and how many; None: there are none."""
    given = [form for form in ("row", "rows", "columns") if getattr(question, form) is not UNSET]
    if len(given) != 1:
        got = " and ".join(given) or "none of them"
        raise HttpError(422, f"A request has one of row, rows or columns; got {got}.")
    if isinstance(question.row, dict):
        columns.refuse_unknown(question.row)
        return columns.table(read_table([question.row])), 1
    if isinstance(question.rows, list):
        many_rows(len(question.rows), limits)
        return from_rows(question.rows, columns), len(question.rows)
    assert isinstance(question.columns, dict)
    n = _length(question.columns)
    many_rows(n, limits)
    return from_columns(question.columns, n, columns), n


def many_rows(n: int, limits: Limits) -> None:
    """Raises 413 for more rows than are taken at a time."""
    if n > limits.rows:
        raise HttpError(413, f"There are {n:,} rows; {limits.rows:,} are taken at a time. Send them in parts.")


def _length(columns: Mapping[str, Sequence[Cell]]) -> int:
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        name = next(n for n, v in columns.items() if len(v) == min(lengths))
        said = f"The columns have from {min(lengths):,} to {max(lengths):,} values. Send as many in each."
        raise HttpError(422, said, column=name)
    return lengths.pop() if lengths else 0


def from_rows(rows: Sequence[Row], columns: ServedColumns) -> Table | None:
    """Rows as objects. They are turned into columns first, which the library reads four times as fast as dicts."""
    names: set[str] = set().union(*rows)
    columns.refuse_unknown(names)
    by_name = {name: [row.get(name) for row in rows] for name in columns.names if name in names}
    try:
        return from_columns(by_name, len(rows), columns)
    except TableError:  # a sentence about rows is better where there are rows
        return columns.table(read_table(rows)) if names else None


def from_columns(values: Mapping[str, Sequence[Cell]], n: int, columns: ServedColumns) -> Table | None:
    """Columns as lists of plain values."""
    columns.refuse_unknown(values)
    if n == 0:
        return None
    if not values:
        return columns.all_missing(n)
    try:
        found = {name: pa.array(cells) for name, cells in values.items()}
    except (pa.ArrowException, OverflowError):  # mixed, or too large: the library says what is wrong, or takes it
        rows = [dict(zip(values, cells, strict=True)) for cells in zip(*values.values(), strict=True)]
        return columns.table(read_table(rows))
    return _of_arrow(pa.table(found), columns)


def _of_arrow(table: pa.Table, columns: ServedColumns) -> Table | None:
    """A table of pyarrow: a column without any value has no type, and is left out like one that is not there."""
    if table.num_rows == 0:
        return None
    names = table.column_names
    twice = [name for name in names if names.count(name) > 1] if len(set(names)) < len(names) else []
    if twice:
        raise HttpError(422, f"Several columns are called {twice[0]!r:.80}. Each needs a name of its own.")
    columns.refuse_unknown(names)
    kept = table.select([f.name for f in table.schema if not pa.types.is_null(f.type)])
    return columns.table(read_table(kept)) if kept.num_columns else columns.all_missing(table.num_rows)


# --- CSV ---------------------------------------------------------------------------------------------------------


def from_csv(body: bytes, columns: ServedColumns, limits: Limits) -> tuple[Table | None, int]:
    """CSV in UTF-8 with commas and a line of names; a column is read as what the model knows it to be."""
    width = body.split(b"\n", 1)[0].count(b",") + 1
    _many_columns(width, limits)
    if body.count(b'"') % 2:  # the reader would take all that follows for one cell
        raise HttpError(400, "The body is no table in CSV: a quote is not closed.")
    try:
        table = csv.read_csv(
            pa.py_buffer(body),
            csv.ReadOptions(use_threads=False, block_size=len(body) + 1),  # as one block: any length of row
            csv.ParseOptions(newlines_in_values=True),
            csv.ConvertOptions(
                null_values=list(NULL_VALUES), strings_can_be_null=True, column_types=dict(columns.types)
            ),
        )
    except (pa.ArrowException, UnicodeDecodeError) as e:
        raise _bad_csv(str(e), body) from None
    many_rows(table.num_rows, limits)
    return _of_arrow(table, columns), table.num_rows


def _bad_csv(text: str, body: bytes) -> HttpError:
    bad = re.search(BAD_CELL, text, re.S)
    if bad:
        value = re.search(r"invalid value '(.*)'", bad[4], re.S)
        names = next(reader([body.split(b"\n", 1)[0].decode("utf-8", "replace").strip("\ufeff\r")]), [])
        name = names[int(bad[1])] if int(bad[1]) < len(names) else f"number {int(bad[1]) + 1}"
        row = None if bad[2] is None else int(bad[2]) - 2
        said = f"has {value[1]!r:.60}" if value else "has a value"
        where = "" if row is None else f" (row {row})"
        return HttpError(
            422,
            f"Column {name!r:.80} {said}{where}, and the model learned {_in_words(bad[3])} there.",
            column=name,
            row=row,
            value=value[1] if value else None,
        )
    return HttpError(400, f"The body is no table in CSV (UTF-8, commas, names in the first line): {text:.300}")


def _in_words(kind: str) -> str:
    return {"double": "numbers", "bool": "true or false", "string": "text"}.get(kind, kind)


def _many_columns(n: int, limits: Limits) -> None:
    if n > limits.columns:
        raise HttpError(413, f"There are {n:,} columns; {limits.columns:,} are taken.")


# --- Arrow -------------------------------------------------------------------------------------------------------


def from_arrow(body: bytes, columns: ServedColumns, limits: Limits) -> tuple[Table | None, int]:
    """A stream of Arrow IPC, checked to the last offset: it comes from anybody."""
    try:
        _refuse_compressed(body)
        reader = pa.ipc.open_stream(pa.py_buffer(body))
        _many_columns(len(reader.schema.names), limits)
        batches, n = [], 0
        for batch in reader:
            n += batch.num_rows
            many_rows(n, limits)
            batch.validate(full=True)
            batches.append(batch)
        table = pa.Table.from_batches(batches, reader.schema)
    except (pa.ArrowException, OSError, OverflowError, UnicodeDecodeError) as e:
        raise HttpError(400, f"The body is no stream of Arrow IPC: {e!s:.300}") from None
    return _of_arrow(table, columns), table.num_rows


def _refuse_compressed(body: bytes) -> None:
    """A few compressed bytes can stand for gigabytes, and pyarrow has no bound on what it unpacks."""
    for message in pa.ipc.MessageReader.open_stream(pa.py_buffer(body)):
        if _compressed(bytes(message.metadata)):
            raise HttpError(422, "The Arrow stream is compressed. Send it plain.")


def _compressed(meta: bytes) -> bool:
    """Whether the flatbuffer of a message, which pyarrow has verified, says that its body is compressed."""
    (message,) = struct.unpack_from("<I", meta)
    kind, header = _field(meta, message, 1), _field(meta, message, 2)
    if not kind or not header or meta[kind] not in (RECORD_BATCH, DICTIONARY_BATCH):
        return False
    table = _follow(meta, header)
    if meta[kind] == DICTIONARY_BATCH:
        inside = _field(meta, table, 1)
        table = _follow(meta, inside) if inside else table
    return _field(meta, table, 3) != 0


def _field(meta: bytes, table: int, number: int) -> int:
    """Where a field of a table of a flatbuffer is; 0: it is not there."""
    vtable = table - struct.unpack_from("<i", meta, table)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", meta, vtable)[0]:
        return 0
    (offset,) = struct.unpack_from("<H", meta, vtable + 4 + 2 * number)
    return table + offset if offset else 0


def _follow(meta: bytes, at: int) -> int:
    return int(at + struct.unpack_from("<I", meta, at)[0])
