"""Files → batches of rows. CSV, TSV, Parquet, Arrow and JSON lines, by pyarrow; `-` is standard input.

Why pyarrow, measured on 1,000,000 rows × 21 mixed columns of CSV (160 MB) with two cores, to read all of it in batches:
polars 0.5 s and 310 MB (420 MB for ten times the rows), pyarrow 1.1 s and 150 MB, whatever the length, duckdb 0.9 s and
300 MB. Import beside NumPy (CPU time): pyarrow 0.05 s, polars 0.20 s, duckdb 0.09 s. A command learns while it reads,
so much of the difference in reading disappears; the memory and the start do not. (pyarrow.dataset takes 0.7 s, but runs
ahead of whoever reads slowly, without a bound that could be set: 440 MB on a busy machine.)

Types. Of text the first megabyte decides what a column is: numbers, true or false, or words; whole numbers are read as
numbers with a fraction, since one may come. What `--kind` says, or what the model knows, goes before that: a
categorical column is read as text, so 02139 stays 02139. Files that have types keep them.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Full, Queue
from threading import Event, Thread
from typing import IO, Any

import pyarrow as pa
from pyarrow import csv

from tallybayes.errors import OptionError, TableError, listing

ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
FORMATS = tuple(dict.fromkeys(ENDINGS.values()))
PACKED = (".gz", ".bz2", ".zst", ".lz4")
GAPS = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "#N/A")  # what marks a missing value in text
BATCH_ROWS = 65_536  # rows learned or answered at a time,
BATCH_CELLS = 1 << 21  # and fewer where they are wide
BLOCK = 1 << 20  # bytes of text parsed at a time
AHEAD = 16  # blocks that are read while somebody works on a batch, which is of about 10


@dataclass(frozen=True)
class Text:
    """How text is read. types: columns whose type is known beforehand. target: labels stay the numbers they are.

    learned: the types are those that a model has learned, so no --kind can change them.
    """

    format: str | None = None
    gaps: tuple[str, ...] = GAPS
    types: Mapping[str, pa.DataType] | None = None
    target: str | None = None
    learned: bool = False


@dataclass(frozen=True)
class Rows:
    """The rows of one or more files of the same columns, in order."""

    schema: pa.Schema
    format: str
    paths: tuple[str, ...]
    text: Text
    whole: frozenset[str]  # columns that the first megabyte shows as whole numbers

    @property
    def names(self) -> list[str]:
        return list(self.schema.names)

    def batches(self, columns: Sequence[str], rows: int | None = None) -> Iterator[pa.Table]:
        """Tables of `rows` rows (the last has what is left)."""
        rows = rows or batch_rows(len(columns))
        schema = pa.schema([self.schema.field(name) for name in columns])
        with _ahead(self._read(schema)) as stream:
            yield from _regroup(stream, rows)

    def _read(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for path in self.paths:
            with _Speaking(path, self.names, self.text):
                for batch in _stream(path, self.format, self.text, schema):
                    found = batch.select(schema.names)
                    yield found if found.schema == schema else found.cast(schema)


def batch_rows(columns: int) -> int:
    return max(1000, min(BATCH_ROWS, BATCH_CELLS // max(1, columns)))


def _regroup(stream: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Batches of a fixed number of rows, so that what is learned does not depend on how the file was cut."""
    held: list[pa.RecordBatch] = []
    n = 0
    for batch in stream:
        while n + batch.num_rows >= rows:
            held.append(batch.slice(0, rows - n))
            batch = batch.slice(rows - n)
            yield pa.Table.from_batches(held)
            held, n = [], 0
        if batch.num_rows:
            held.append(batch)
            n += batch.num_rows
    if held:
        yield pa.Table.from_batches(held)


@contextmanager
def _ahead(stream: Iterator[pa.RecordBatch]) -> Iterator[Iterator[pa.RecordBatch]]:
    """Reads on in another thread, AHEAD blocks and no more."""
    queue: Queue[Any] = Queue(AHEAD)
    stop = Event()

    def put(item: Any) -> None:
        while not stop.is_set():
            with suppress(Full):
                queue.put(item, timeout=0.1)
                return

    def work() -> None:
        try:
            for batch in stream:
                put(batch)
                if stop.is_set():
                    return
            put(None)
        except BaseException as e:  # handed on to who reads
            put(e)

    def take() -> Iterator[pa.RecordBatch]:
        while (item := queue.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item

    thread = Thread(target=work, daemon=True)
    thread.start()
    try:
        yield take()
    finally:
        stop.set()
        thread.join()


# --- opening -----------------------------------------------------------------------------------------------------


def open_rows(paths: Sequence[str], text: Text, scratch: str) -> Rows:
    """Opens files, patterns such as 'part-*.csv', or '-'. scratch: a folder for what comes from a pipe."""
    found = tuple(_one_file(path, scratch) for pattern in paths for path in _expand(pattern))
    formats = {path: text.format or _format_of(path) for path in found}
    if len(set(formats.values())) > 1:
        raise OptionError(f"The files are of different formats: {listing(sorted(set(formats.values())))}.")
    format = formats[found[0]]
    for path in found:
        if os.path.getsize(path) == 0:
            raise TableError(f"{_shown(path)} is empty: not even the names of columns are there.")
    schemas = []
    for path in found:
        with _Speaking(path):
            schemas.append(_schema(path, format, text))
    _check_names(found, [list(s.names) for s in schemas])
    schema, whole = _types(schemas[0], format, text)
    return Rows(schema, format, found, text, whole)


def _schema(path: str, format: str, text: Text) -> pa.Schema:
    """Names and types; of text what the first megabyte shows."""
    if format == "parquet":
        from pyarrow import parquet

        return parquet.read_schema(path).remove_metadata()
    if format == "arrow":
        with pa.memory_map(path) as file:
            return pa.ipc.open_file(file).schema.remove_metadata()
    return _open_text(path, format, text, None).schema


def _stream(path: str, format: str, text: Text, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    if format == "parquet":
        from pyarrow import parquet

        with parquet.ParquetFile(path) as file:
            rows = max(1000, BLOCK // (8 * len(schema.names)))  # a block of numbers
            yield from file.iter_batches(min(BATCH_ROWS, rows), columns=schema.names)
    elif format == "arrow":
        with pa.memory_map(path) as source:
            reader = pa.ipc.open_file(source)
            for k in range(reader.num_record_batches):
                yield reader.get_batch(k)
    else:
        yield from _open_text(path, format, text, schema)


def _open_text(path: str, format: str, text: Text, schema: pa.Schema | None) -> Any:
    """A reader of CSV, TSV or JSON lines; with a schema, of its columns as its types."""
    if format == "jsonl":
        from pyarrow import json

        options = json.ParseOptions(explicit_schema=schema, newlines_in_values=True)
        return json.open_json(path, json.ReadOptions(block_size=BLOCK), options)
    types = {} if schema is None else {"column_types": schema, "include_columns": schema.names}
    return csv.open_csv(
        path,
        csv.ReadOptions(block_size=BLOCK),
        csv.ParseOptions(delimiter="\t" if format == "tsv" else ",", newlines_in_values=True),
        csv.ConvertOptions(null_values=list(text.gaps), strings_can_be_null=True, **types),
    )


def _expand(pattern: str) -> list[str]:
    if pattern == "-" or os.path.exists(pattern):
        return [pattern]
    if glob.has_magic(pattern):
        found = sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
        if found:
            return found
        raise TableError(f"No file matches {pattern!r}.")
    raise TableError(f"There is no file {pattern!r}.")


def _one_file(path: str, scratch: str) -> str:
    """A path that can be read twice: what comes through a pipe is put into a file first."""
    if path == "-":
        return _spool(sys.stdin.buffer, scratch)
    if stat.S_ISDIR(os.stat(path).st_mode):
        raise TableError(f"{path!r} is a folder. Name the files in it: '{path}/*.csv'.")
    if not stat.S_ISREG(os.stat(path).st_mode):
        with open(path, "rb") as pipe:
            return _spool(pipe, scratch)
    return path


def _spool(pipe: IO[bytes], scratch: str) -> str:
    with tempfile.NamedTemporaryFile(dir=scratch, delete=False) as file:
        shutil.copyfileobj(pipe, file, 1 << 20)
    return file.name


def _format_of(path: str) -> str:
    """By the ending of the name; else by the first bytes; else CSV."""
    stem = path.lower()
    for packed in PACKED:
        stem = stem.removesuffix(packed)
    ending = os.path.splitext(stem)[1]
    if ending in ENDINGS:
        return ENDINGS[ending]
    with open(path, "rb") as file:
        head = file.read(64)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"ARROW1"):
        return "arrow"
    return "jsonl" if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else "csv"


def _check_names(paths: Sequence[str], names: Sequence[list[str]]) -> None:
    twice = [name for name in names[0] if names[0].count(name) > 1]
    if twice:
        raise TableError(f"{_shown(paths[0])}: several columns are called {twice[0]!r}. Each needs a name of its own.")
    for path, found in zip(paths[1:], names[1:], strict=True):
        if sorted(found) != sorted(names[0]):
            other = sorted(set(found) ^ set(names[0])) or found
            raise TableError(
                f"{_shown(path)} does not have the columns of {_shown(paths[0])}: {listing(other)} differ."
            )


def _types(schema: pa.Schema, format: str, text: Text) -> tuple[pa.Schema, frozenset[str]]:
    """The types to read with, and the columns that were whole numbers."""
    known = text.types or {}
    if format not in ("csv", "tsv", "jsonl"):
        return schema, frozenset()
    fields, whole = [], set()
    for field in schema:
        type_ = known.get(field.name, field.type)
        if field.name not in known and field.name != text.target and pa.types.is_integer(type_):
            whole.add(field.name)
            type_ = pa.float64()
        elif pa.types.is_null(type_):
            type_ = pa.float64()
        elif pa.types.is_binary(type_):  # text that is not UTF-8: reading it as text says so
            type_ = pa.string()
        if format == "jsonl" and field.name in known and not _json_can(field.type, type_):
            type_ = field.type  # JSON says what it is; the model will say if it cannot take it
        fields.append(pa.field(field.name, type_))
    return pa.schema(fields), frozenset(whole)


def _json_can(found: pa.DataType, wanted: pa.DataType) -> bool:
    numbers = pa.types.is_integer(found) or pa.types.is_floating(found)
    return bool(pa.types.is_null(found) or found == wanted or (numbers and pa.types.is_floating(wanted)))


def as_whole(table: pa.Table, whole: frozenset[str]) -> pa.Table:
    """Columns of whole numbers as integers again, if they all are: the library says something of such columns."""
    for j, name in enumerate(table.column_names):
        if name in whole:
            try:
                table = table.set_column(j, name, table.column(j).cast(pa.int64()))
            except pa.ArrowInvalid:
                continue
    return table


# --- what pyarrow says, in one sentence ----------------------------------------------------------------------------


class _Speaking:
    """Turns pyarrow's errors into a TableError of one line that names the file and the column."""

    def __init__(self, path: str, names: Sequence[str] = (), text: Text | None = None) -> None:
        self.where, self.names, self.text = _shown(path), names, text or Text()

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: Any, error: BaseException | None, __: Any) -> None:
        if isinstance(error, pa.ArrowException):
            raise TableError(f"{self.where}: {self._sentence(str(error))}") from None

    def _sentence(self, text: str) -> str:
        bad = re.search(
            r"CSV column #(\d+)(?: \('.*?'\))?: (?:Row #(\d+): )?CSV conversion error to (.+?): (.*)", text, re.S
        )
        if bad:
            column = self.names[int(bad[1])] if int(bad[1]) < len(self.names) else f"number {bad[1]}"
            value = re.search(r"invalid value '(.*?)'", bad[4], re.S)
            shown = f"{value[1]!r:.60}" if value else bad[4]
            if "UTF8" in bad[4]:
                return f"column {column!r} is not text in UTF-8. Convert the file, for example with iconv -t UTF-8."
            if self.text.learned and column in (self.text.types or {}):
                if column == self.text.target:
                    return f"column {column!r} has {shown}; the classes of the model are {_plain(bad[3])}."
                return (
                    f"column {column!r} has {shown}; the model learned {_plain(bad[3])} in this column. Correct it, or "
                    "if it stands for a gap, say --missing."
                )
            return (
                f"column {column!r} was taken for {_plain(bad[3])} and has {shown}. If it holds words, say --kind "
                f"{column}=categorical; if that stands for a gap, say --missing."
            )
        return re.sub(r"\s+", " ", text)[:300]


def _plain(type_: str) -> str:
    names = {"double": "numbers", "int64": "whole numbers", "bool": "true or false"}
    return names.get(type_, type_)


def _shown(path: str) -> str:
    """Standard input was copied to a file that nobody knows."""
    return "standard input" if os.path.basename(path).startswith("tmp") and "tallybayes-" in path else path
