"""Files → batches of rows. CSV, TSV, Parquet, Arrow and JSON lines, by pyarrow; `-` is standard input.

Why pyarrow, measured on 1,000,000 rows × 21 mixed columns of CSV (160 MB) with two cores, to read all of it in batches:
polars 0.46 s and 310 MB (420 MB for ten times the rows), pyarrow 0.70 s and 210 MB, duckdb 0.94 s and 300 MB. And to
import: pyarrow 0.03 s beside NumPy, polars 0.13 s, duckdb 0.08 s. A command learns while pyarrow reads on, so most of
the difference in reading disappears; the memory and the start do not.

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
from dataclasses import dataclass
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds

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
AHEAD = 4  # blocks


@dataclass(frozen=True)
class Rows:
    """The rows of one or more files of the same columns, in order."""

    dataset: ds.FileSystemDataset
    format: str
    paths: tuple[str, ...]
    whole: frozenset[str]  # columns that the first megabyte shows as whole numbers

    @property
    def names(self) -> list[str]:
        return list(self.dataset.schema.names)

    def batches(self, columns: Sequence[str], rows: int | None = None) -> Iterator[pa.Table]:
        """Tables of `rows` rows (the last has what is left)."""
        rows = rows or batch_rows(len(columns))
        scanner = self.dataset.scanner(
            columns=list(columns), batch_readahead=AHEAD, fragment_readahead=1, batch_size=rows, cache_metadata=False
        )
        with self._speaking():
            yield from _regroup(scanner.to_batches(), rows)

    def _speaking(self) -> _Speaking:
        return _Speaking(self)


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


# --- opening -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Text:
    """How text is read. types: columns whose type is known beforehand. target: labels stay the numbers they are."""

    format: str | None = None
    gaps: tuple[str, ...] = GAPS
    types: Mapping[str, pa.DataType] | None = None
    target: str | None = None


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
    reader = _reader(format, text)
    with _Speaking(None, found):
        first = ds.dataset(list(found), format=reader)
        schemas = [fragment.physical_schema for fragment in first.get_fragments()]
    _check_names(found, [s.names for s in schemas])
    schema, whole = _types(schemas[0], format, text)
    with _Speaking(None, found):
        return Rows(ds.dataset(list(found), schema=schema, format=reader), format, found, whole)


def _reader(format: str, text: Text) -> Any:
    if format == "jsonl":
        from pyarrow import json

        return ds.JsonFileFormat(read_options=json.ReadOptions(block_size=BLOCK))
    if format in ("csv", "tsv"):
        return ds.CsvFileFormat(
            parse_options=pa.csv.ParseOptions(delimiter="\t" if format == "tsv" else ",", newlines_in_values=True),
            read_options=pa.csv.ReadOptions(block_size=BLOCK),
            convert_options=pa.csv.ConvertOptions(null_values=list(text.gaps), strings_can_be_null=True),
        )
    return ds.IpcFileFormat() if format == "arrow" else ds.ParquetFileFormat()


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

    def __init__(self, rows: Rows | None, paths: tuple[str, ...] = ()) -> None:
        self.names = rows.names if rows else []
        self.where = _shown((rows.paths if rows else paths)[0]) if len(rows.paths if rows else paths) == 1 else "a file"

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
            return (
                f"column {column!r} was taken for {_plain(bad[3])} and has {shown}. If it holds words, say --kind "
                f"{column}=categorical; if that stands for a gap, say --missing."
            )
        text = re.sub(
            r"^Error creating dataset\. Could not read schema from '.*?'\.? ?(Is this a '\w+' file\?:? ?)?", "", text
        )
        text = re.sub(r"^Could not open \w+ input source '.*?': (\w+: )?", "", text)
        text = re.sub(r"\s*Detail: .*$", "", text, flags=re.S)
        return re.sub(r"\s+", " ", text)[:300]


def _plain(type_: str) -> str:
    names = {"double": "numbers", "int64": "whole numbers", "bool": "true or false"}
    return names.get(type_, type_)


def _shown(path: str) -> str:
    """Standard input was copied to a file that nobody knows."""
    return "standard input" if os.path.basename(path).startswith("tmp") and "tallybayes-" in path else path
