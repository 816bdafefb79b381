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

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Full, Queue
from threading import Event, Thread
from typing import Any

import pyarrow as pa
from pyarrow import csv

from tallybayes.cli import csv_dialect, formats
from tallybayes.cli.csv_dialect import BLOCK_BYTES, DAY_PATTERN, SIGNED, Dialect, Said, numbers_in
from tallybayes.cli.file_errors import MAX_BLOCK, Speaking, line_of_row
from tallybayes.data.table import pandas_index
from tallybayes.errors import OptionError, TableError, listing

NULL_VALUES = (
    "",
    "NA",
    "N/A",
    "n/a",
    "NaN",
    "nan",
    "null",
    "NULL",
    "None",
    "#N/A",
)  # what marks a missing value in text
BATCH_ROWS = 65_536  # rows learned or answered at a time,
BATCH_CELLS = 1 << 21  # and fewer where they are wide
MAX_GUESSING_VALUES = 200  # values that show whether a column of words was meant for numbers
MAX_NUMBER_LENGTH = 60  # characters of a cell that may be a number or a day
AHEAD = 16  # blocks that are read while somebody works on a batch, which is of about 10
NOTHING_SAID = Said()
USUAL_DIALECTS = {"csv": Dialect(), "tsv": Dialect(separator="\t")}  # what has a dialect, and the usual one


@dataclass(frozen=True)
class Text:
    """How text is read. types: columns whose type is known beforehand. target: labels stay the numbers they are.

    learned: the types are those that a model has learned, so no --kind can change them. wanted: columns that there have
    to be. declarable: kinds of columns can be declared for it.
    """

    format: str | None = None
    null_values: tuple[str, ...] = NULL_VALUES
    types: Mapping[str, pa.DataType] | None = None
    target: str | None = None
    learned: bool = False
    said: Said = NOTHING_SAID
    wanted: Collection[str] = ()
    declarable: bool = True


@dataclass(frozen=True)
class File:
    """A file of a table. name: what it is called in messages."""

    path: str
    name: str
    format: str
    dialect: Dialect


@dataclass(frozen=True)
class RowFiles:
    """The rows of one or more files of the same columns, in order."""

    schema: pa.Schema
    files: tuple[File, ...]
    text: Text
    whole: frozenset[str]  # columns that the first megabyte shows as whole numbers
    notes: tuple[str, ...]  # what was guessed, and what may have been meant otherwise
    index: frozenset[str]  # columns that hold a saved index of pandas: no features unless asked for
    starts: list[int] = dataclasses.field(default_factory=list)  # the first row of each file that was read so far

    @property
    def names(self) -> list[str]:
        """The columns, in the order of the file."""
        return list(self.schema.names)

    @property
    def where(self) -> str:
        """What messages call the file."""
        return listing([file.name for file in self.files]) if len(self.files) > 1 else self.files[0].name

    def batches(self, columns: Sequence[str], rows: int | None = None) -> Iterator[pa.Table]:
        """Read the rows as tables.

        Parameters
        ----------
        columns : sequence of str
            Which columns.
        rows : int or None, default=None
            How many rows a table has; None takes them as they come.

        Returns
        -------
        iterator of Table of pyarrow
            The last has what is left.
        """
        rows = rows or batch_rows(len(columns))
        schema = pa.schema([self.schema.field(name) for name in columns])
        with ahead(self._read(schema)) as stream:
            yield from regroup(stream, rows)

    def _read(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        self.starts.clear()
        n = 0
        for file in self.files:
            self.starts.append(n)
            with Speaking(file.path, file.name, file.dialect, self.names, self.text):
                for batch in _stream(file, self.text, schema):
                    found = batch.select(schema.names)
                    n += found.num_rows
                    yield found if found.schema == schema else found.cast(schema)

    def place(self, row: int) -> str:
        """Return where a row is.

        Parameters
        ----------
        row : int
            Its number, counted from 0 over all.

        Returns
        -------
        str
            In the words of somebody who opens the file in an editor.
        """
        k = max(k for k, start in enumerate(self.starts) if start <= row)
        file, within = self.files[k], row - self.starts[k]
        line = line_of_row(file.path, file.dialect, within) if file.format in USUAL_DIALECTS else None
        of = f" of {file.name}" if len(self.files) > 1 else ""
        return f"row {within + 1}{of}" if line is None else f"row {within + 1}, line {line}{of}"


def batch_rows(columns: int) -> int:
    return max(1000, min(BATCH_ROWS, BATCH_CELLS // max(1, columns)))


def regroup(stream: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
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
def ahead(stream: Iterator[object], most: int = AHEAD) -> Iterator[Iterator[object]]:
    """Reads on in another thread, so many blocks and no more."""
    queue: Queue[object] = Queue(most)
    stop = Event()

    def put(item: object) -> None:
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

    def take() -> Iterator[Any]:
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


def open_rows(paths: Sequence[str], text: Text, scratch: str) -> RowFiles:
    """Opens files, patterns such as 'part-*.csv', or '-'. scratch: a folder for what has to be copied or unpacked."""
    found = formats.find(list(paths), text.format, scratch)
    different = sorted({file.format for file in found})
    if len(different) > 1:
        raise OptionError(f"The files are of different formats: {listing(different)}.")
    files, guesses = [], []
    for path, name, format in found:
        how, guessed = Dialect(), None
        with Speaking(path, name, how):
            if format in USUAL_DIALECTS:
                usual = USUAL_DIALECTS[format]
                how, guessed = csv_dialect.guess(path, name, usual, text.said, text.null_values, text.wanted)
        files.append(File(path, name, format, how))
        guesses.append(f"{name}: {guessed}" if guessed else None)
    firsts = [_first(file, text) for file in files]
    _check_names(files, [list(first.schema.names) for first in firsts])
    schema, whole = _types(_together(files, [first.schema for first in firsts]), files[0].format, text)
    odd = _odd_words(firsts[0], files[0], text) if files[0].format in USUAL_DIALECTS else []
    index = frozenset(name for first in firsts for name in pandas_index(first.schema))
    return RowFiles(schema.remove_metadata(), tuple(files), text, whole, tuple(filter(None, [*guesses, *odd])), index)


def _first(file: File, text: Text) -> pa.Table:
    """Names and types, and of text the rows of the first megabyte, which shows them."""
    with Speaking(file.path, file.name, file.dialect, (), text):
        if file.format == "parquet":
            from pyarrow import parquet

            return parquet.read_schema(file.path).empty_table()
        if file.format == "arrow":
            with pa.memory_map(file.path) as source:
                return pa.ipc.open_file(source).schema.empty_table()
        for block in _blocks():
            try:
                reader = _open_text(file, text, None, block)
                if file.format == "jsonl":
                    return reader.schema.empty_table()
                return pa.Table.from_batches([reader.read_next_batch()], reader.schema)
            except StopIteration:
                return reader.schema.empty_table()
            except pa.ArrowInvalid as e:
                if not _needs_larger_block(e, block):
                    raise
        raise AssertionError  # pragma: no cover: the last block is returned or raised


def _stream(file: File, text: Text, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    if file.format == "parquet":
        from pyarrow import parquet

        with parquet.ParquetFile(file.path, pre_buffer=False) as source:  # it would hold the whole file
            rows = max(1000, BLOCK_BYTES // (8 * len(schema.names)))  # a block of numbers
            for batch in source.iter_batches(min(BATCH_ROWS, rows), columns=schema.names):
                batch.validate(full=True)  # Parquet does not say whether its strings are UTF-8
                yield batch
    elif file.format == "arrow":
        with pa.memory_map(file.path) as source:
            reader = pa.ipc.open_file(source)
            for k in range(reader.num_record_batches):
                batch = reader.get_batch(k)
                batch.validate(full=True)  # pyarrow follows offsets that point outside
                yield batch
    else:
        yield from _text_batches(file, text, schema)


def _blocks() -> Iterator[int]:
    """How much text is read at once: more where a row is longer."""
    block = BLOCK_BYTES
    while block <= MAX_BLOCK:
        yield block
        block *= 8


def _needs_larger_block(error: pa.ArrowInvalid, block: int) -> bool:
    return "straddl" in str(error) and 8 * block <= MAX_BLOCK


def _text_batches(file: File, text: Text, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a text; from where a row does not fit into a block, read again with a larger one."""
    done = 0
    for block in _blocks():
        skip = done
        try:
            for batch in _open_text(file, text, schema, block):
                new = batch.slice(min(skip, batch.num_rows))
                skip -= batch.num_rows - new.num_rows
                done += new.num_rows
                if new.num_rows:
                    yield new
            return
        except pa.ArrowInvalid as e:
            if not _needs_larger_block(e, block):
                raise


def _open_text(file: File, text: Text, schema: pa.Schema | None, block: int) -> Any:
    """A reader of CSV, TSV or JSON lines; with a schema, of its columns as its types."""
    if file.format == "jsonl":
        from pyarrow import json

        options = json.ParseOptions(explicit_schema=schema, newlines_in_values=True)
        return json.open_json(file.path, json.ReadOptions(block_size=block), options)
    how = file.dialect
    names = None if how.header else csv_dialect.names_of(csv_dialect.width(file.path, how))
    types = {} if schema is None else {"column_types": schema, "include_columns": schema.names}
    return csv.open_csv(
        file.path,
        csv.ReadOptions(block_size=block, encoding=how.encoding, column_names=names),
        csv.ParseOptions(delimiter=how.separator, newlines_in_values=True),
        csv.ConvertOptions(
            null_values=list(text.null_values), strings_can_be_null=True, decimal_point=how.decimal, **types
        ),
    )


def _check_names(files: Sequence[File], names: Sequence[list[str]]) -> None:
    twice = [name for name in names[0] if names[0].count(name) > 1]
    if twice:
        raise TableError(f"{files[0].name}: several columns are called {twice[0]!r}. Each needs a name of its own.")
    for file, found in zip(files[1:], names[1:], strict=True):
        if sorted(found) != sorted(names[0]):
            other = sorted(set(found) ^ set(names[0])) or found
            raise TableError(f"{file.name} does not have the columns of {files[0].name}: {listing(other)} differ.")


def _together(files: Sequence[File], schemas: Sequence[pa.Schema]) -> pa.Schema:
    """The columns of the first file; of files that have types, as one that holds what all of them have."""
    if files[0].format in ("csv", "tsv", "jsonl"):
        return schemas[0]
    fields = []
    for field in schemas[0]:
        type_ = field.type
        for file, schema in zip(files[1:], schemas[1:], strict=True):
            other = schema.field(field.name).type
            if other != type_:
                type_ = _both(type_, other)
            if type_ is None:
                raise TableError(
                    f"Column {field.name!r} is {field.type} in {files[0].name} and {other} in {file.name}. Write it as "
                    "one type."
                )
        fields.append(pa.field(field.name, type_))
    return pa.schema(fields)


def _both(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """A type that holds the values of both; None if there is none."""
    a, b = (t.value_type if pa.types.is_dictionary(t) else t for t in (a, b))
    try:
        joined = pa.unify_schemas([pa.schema([("x", a)]), pa.schema([("x", b)])], promote_options="permissive")
    except pa.ArrowException:
        return None
    return joined.field("x").type


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
    larger = pa.types.is_floating(found) and pa.types.is_uint64(wanted)  # how pyarrow takes integers from 2⁶³ on
    return bool(pa.types.is_null(found) or found == wanted or larger or (numbers and pa.types.is_floating(wanted)))


def as_whole(table: pa.Table, whole: frozenset[str]) -> pa.Table:
    """Columns of whole numbers as integers again, if they all are: the library says something of such columns."""
    for j, name in enumerate(table.column_names):
        if name in whole:
            try:
                table = table.set_column(j, name, table.column(j).cast(pa.int64()))
            except pa.ArrowInvalid:
                continue
    return table


def _odd_words(first: pa.Table, file: File, text: Text) -> list[str]:
    """Columns of numbers that a few words make categories, which nobody may have meant. What is declared is meant."""
    notes = []
    for name in first.column_names:
        column = first.column(name)
        if name in (text.types or {}) or name == text.target or not pa.types.is_string(column.type):
            continue
        cells = [cell for cell in column.to_pylist() if cell is not None]
        found = max((".", ","), key=lambda decimal: numbers_in(cells[:MAX_GUESSING_VALUES], decimal))
        if 2 * numbers_in(cells[:MAX_GUESSING_VALUES], found) <= len(cells[:MAX_GUESSING_VALUES]):
            notes += _not_read(name, cells)
            continue
        odd = [cell for cell in cells if not numbers_in([cell], found)]
        if found != file.dialect.decimal:
            notes.append(_other_decimals(name, cells, found))
        elif odd:
            notes.append(_words_among_numbers(name, odd, len(cells)))
    return notes


def _not_read(name: str, cells: list[str]) -> list[str]:
    """A note if most of the first cells are numbers or days, in a form that is not read as such."""
    for form, what, plain in (
        (SIGNED, "numbers with other signs", "plain, as 1200.50"),
        (DAY_PATTERN, "days", "as 2025-01-31"),
    ):
        like = [cell for cell in cells[:MAX_GUESSING_VALUES] if len(cell) <= MAX_NUMBER_LENGTH and form.fullmatch(cell)]
        if 2 * len(like) > len(cells[:MAX_GUESSING_VALUES]):
            odd = [cell for cell in like if not numbers_in([cell], ".")]
            return [
                f"column {name!r} is taken for categories: {len(odd):,} of the first "
                f"{len(cells[:MAX_GUESSING_VALUES]):,} values look like {what}, such as {odd[0]!r:.60}. "
                f"To have them read so, write them {plain}; if it is meant so, "
                f"--kind {name}=categorical."
            ]
    return []


def _words_among_numbers(name: str, odd: list[str], n: int) -> str:
    return (
        f"column {name!r} is taken for categories: {len(odd):,} of the first {n:,} values are no numbers, the first is "
        f"{odd[0]!r:.60}. If that stands for a missing value, say --missing {odd[0]!r:.60}; if it is meant so, --kind "
        f"{name}=categorical."
    )


def _other_decimals(name: str, cells: list[str], found: str) -> str:
    odd = [cell for cell in cells if found in cell]
    return (
        f"column {name!r} is taken for categories: {len(odd):,} of the first {len(cells):,} values have a {found!r}, "
        f"such as {odd[0]!r:.60}. If that is the decimal sign, say --decimal {found}; if it is meant so, --kind "
        f"{name}=categorical."
    )
