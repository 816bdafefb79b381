"""Data for a command: the right columns, read as the model knows them, in batches."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
import typer

from tallybayes.cli import output, start
from tallybayes.cli.column_types import types_of_kinds, types_of_model
from tallybayes.cli.csv_dialect import Said, numbers_in
from tallybayes.cli.formats import FORMATS
from tallybayes.cli.options import Batches, Reading
from tallybayes.cli.table_files import NULL_VALUES, RowFiles, Text, as_whole, open_rows
from tallybayes.errors import OptionError, TableError, TallybayesError, did_you_mean, listing
from tallybayes.estimators.row_memory import names_to_read
from tallybayes.utils.progress import progress

if TYPE_CHECKING:
    from tallybayes.estimators.base import GenerativeClassifier

T = TypeVar("T")


@dataclass(frozen=True)
class Asked:
    """Which data a command is to read, and how. keep: columns to hand on. rows: so many at a time."""

    paths: list[str]
    how: Reading
    target: str | None = None
    drop: list[str] = field(default_factory=list)
    skip_unlabelled: bool = False
    keep: list[str] = field(default_factory=list)
    rows: int | None = None

    @property
    def batch_rows(self) -> int | None:
        """How many rows are read at a time."""
        return self.how.batch_rows if isinstance(self.how, Batches) else self.rows


class Source:
    """Batches of features and labels from some files. used: rows handed on. kept: columns to keep, of this batch."""

    def __init__(self, rows: RowFiles, features: list[str], asked: Asked) -> None:
        self.rows, self.features, self.asked = rows, features, asked
        self.seen = self.used = 0
        self.kept = pa.table({})

    def map(self, what: str, do: Callable[[pa.Table, Any], T]) -> Iterator[T]:
        """Do something with each batch.

        Parameters
        ----------
        what : str
            What is done, for the progress bar.
        do : callable
            Takes the rows of a batch and their labels, None without a target.

        Returns
        -------
        iterator
            What `do` gives for each batch.
        """
        target = self.asked.target
        columns = dict.fromkeys([*self.features, *([target] if target is not None else []), *self.asked.keep])
        with progress(what) as advance:
            for table in self.rows.batches(list(columns), self.asked.batch_rows):
                n, places = table.num_rows, None
                if self.asked.skip_unlabelled and target is not None:
                    places = np.flatnonzero(~table.column(target).is_null(nan_is_null=True).to_numpy())
                    table = table if len(places) == n else table.take(places)
                if table.num_rows:
                    if self.used == 0:
                        table = as_whole(table, self.rows.whole)
                    self.kept = table.select(self.asked.keep)
                    y = table.column(target) if target is not None else None
                    with self._placing(places):
                        done = do(table.select(self.features), y)
                    yield done
                self.seen += n
                self.used += table.num_rows
                advance(n)
        self._tell()

    def _tell(self) -> None:
        if self.seen == 0:
            raise TableError(f"{self.rows.where}: there are no rows.")
        if self.used == 0:
            raise TableError(f"{self.rows.where}: of {self.seen:,} rows none has a class in {self.asked.target!r}.")
        if self.used < self.seen:
            output.note(f"{self.seen - self.used:,} of {self.seen:,} rows have no class and were left out.")

    @contextmanager
    def _placing(self, places: Any) -> Iterator[None]:
        """Errors of the library count rows from the start of a batch; here they say where in the files a row is."""

        def place(found: re.Match[str]) -> str:
            row = int(found[1])
            return self.rows.place(self.seen + (row if places is None else int(places[row])))

        try:
            yield
        except TallybayesError as e:
            raise type(e)(re.sub(r"\brow (\d+)(?=[).,;]| is| cannot)", place, str(e))) from None

    def sample(self, most: int, seed: int = 0) -> tuple[pa.Table, Any, int]:
        """Draw some rows.

        Parameters
        ----------
        most : int
            How many rows at the most.
        seed : int, default=0
            What they are drawn with.

        Returns
        -------
        tuple of (Table of pyarrow, labels, int)
            The rows in their order, each as likely as the other, and how many there were.
        """
        rng = np.random.default_rng(seed)
        held: list[pa.Table] = []
        keys: list[Any] = []
        bound = np.inf
        for X, y in self.map("reading", lambda X, y: (X, y)):
            key = rng.random(X.num_rows)
            keep = np.flatnonzero(key < bound)
            held.append(X.append_column(self.asked.target, y).take(keep))
            keys.append(key[keep])
            if sum(map(len, keys)) > 2 * most:
                held, keys, bound = _smallest(held, keys, most)
        held, _, _ = _smallest(held, keys, most)
        table = pa.concat_tables(held, promote_options="permissive").combine_chunks()
        return table.select(self.features), table.column(self.asked.target), self.used


def _smallest(held: list[pa.Table], keys: list[Any], most: int) -> tuple[list[pa.Table], list[Any], float]:
    """The rows with the `most` smallest keys."""
    key = np.concatenate(keys)
    if len(key) <= most:
        return held, keys, np.inf
    keep = np.sort(np.argpartition(key, most - 1)[:most])
    table = pa.concat_tables(held, promote_options="permissive").take(keep)
    return [table], [key[keep]], float(key[keep].max())


@contextmanager
def fresh_data(asked: Asked, kinds: Mapping[str, str]) -> Iterator[Source]:
    """Data that a model will be made for: every column but the target is a feature."""
    needed = [*([asked.target] if asked.target is not None else []), *kinds, *asked.drop]
    with _opened(asked, types_of_kinds(kinds), needed) as rows:
        _require(rows, needed)
        features = [name for name in rows.names if name not in {asked.target, *asked.drop, *rows.index}]
        if not features:
            raise TableError(f"{rows.where}: there is no column beside the target {asked.target!r}.")
        if "" in features:
            output.note("a column without a name is taken too. If it only numbers the rows, leave it out: --drop ''.")
        yield Source(rows, features, asked)


@contextmanager
def known_data(asked: Asked, model: GenerativeClassifier) -> Iterator[Source]:
    """Data for a model that is there: its columns, read as it knows them; others in the file are left alone."""
    target, names = asked.target, model.schema_.needed_names
    if target is not None and target in (names or ()):
        raise OptionError(f"{target!r} is a column of the model, not its target.")
    needed = [*(names or ()), *([target] if target is not None else []), *asked.drop, *asked.keep]
    types = {**dict.fromkeys(asked.keep, pa.string()), **types_of_model(model, target)}
    with _opened(asked, types, needed, learned=True) as rows:
        _require(rows, needed)
        others = {target, *asked.drop, *asked.keep, *rows.index}
        read = names_to_read(model, rows.names)
        features = list(read) if read is not None else [name for name in rows.names if name not in others]
        yield Source(rows, features, asked)


@contextmanager
def _opened(
    asked: Asked, types: Mapping[str, pa.DataType], needed: list[str], learned: bool = False
) -> Iterator[RowFiles]:
    how = asked.how
    if how.format is not None and how.format not in FORMATS:
        raise typer.BadParameter(f"expected one of {', '.join(FORMATS)}; got {how.format!r}.", param_hint="--format")
    said, words = _said(how), tuple(how.missing or ())
    null_values = words if "" in words else (*NULL_VALUES, *words)
    with start.scratch() as scratch:
        rows = open_rows(
            asked.paths, Text(how.format, null_values, types, asked.target, learned, said, needed), scratch
        )
        for note in rows.notes:
            output.note(note)
        yield rows


def _said(how: Reading) -> Said:
    """What is said of the text, checked."""
    separator = {"tab": "\t", "\\t": "\t", "space": " "}.get(how.separator or "", how.separator)
    if separator is not None and (len(separator) != 1 or separator in '"\r\n' or not separator.isascii()):
        raise typer.BadParameter(
            f"expected one character such as ; or the word tab; got {how.separator!r}.", param_hint="--separator"
        )
    if how.decimal is not None and how.decimal not in (".", ","):
        raise typer.BadParameter(f"expected . or , as the decimal sign; got {how.decimal!r}.", param_hint="--decimal")
    encoding = how.encoding
    if encoding is not None:
        try:
            encoding = codecs.lookup(encoding).name
        except LookupError:
            raise typer.BadParameter(
                f"there is no encoding {encoding!r}. Common ones: utf-8, cp1252, latin-1, utf-16, shift_jis, gb18030.",
                param_hint="--encoding",
            ) from None
    return Said(separator, how.decimal, encoding, False if how.no_header else None)


def _listed(names: list[str]) -> str:
    """As many names as are read at a glance."""
    room, most = 200, 0
    while most < len(names) and (room := room - len(names[most]) - 4) > 0:
        most += 1
    return listing(names, max(1, most))


def _require(rows: RowFiles, names: list[str]) -> None:
    absent = [name for name in dict.fromkeys(names) if name not in rows.names]
    if not absent:
        return
    hint = did_you_mean(absent[0], rows.names)
    if not hint and numbers_in(rows.names, "."):
        hint = " If the first line is no names but a row, say --no-header: the columns are then x0, x1 and so on."
    where = rows.where if len(rows.files) == 1 else "the files"
    raise TableError(f"There is no column {listing(absent)} in {where}. Columns: {_listed(rows.names)}.{hint}")


def target_of(given: str | None, notes: Mapping[str, object]) -> str:
    """The column that holds the classes: as given, or as in the fit."""
    found = given if given is not None else notes.get("target")
    if not isinstance(found, str):
        raise OptionError("The model file does not say which column holds the classes. Say --target.")
    return found
