"""Data for a command: the right columns, read as the model knows them, in batches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import typer

from tallybayes.cli import say, start
from tallybayes.cli.options import Reading
from tallybayes.cli.settings import types_of_kinds, types_of_model
from tallybayes.cli.tables import FORMATS, GAPS, Rows, Text, as_whole, open_rows
from tallybayes.errors import OptionError, TableError, TallybayesError, listing

T = TypeVar("T")


class Source:
    """Batches of features and labels from some files."""

    def __init__(self, rows: Rows, features: list[str], target: str | None, batch_rows: int | None) -> None:
        self.rows, self.features, self.target, self.batch_rows = rows, features, target, batch_rows
        self.seen = 0

    def map(self, what: str, do: Callable[[pa.Table, Any], T]) -> Iterator[T]:
        """do(X, y) of each batch; y is None without a target. what: for the progress bar."""
        columns = [*self.features, *([self.target] if self.target is not None else [])]
        with say.progress(what) as advance:
            for table in self.rows.batches(columns, self.batch_rows):
                if self.seen == 0:
                    table = as_whole(table, self.rows.whole)
                X = table.select(self.features)
                y = table.column(self.target) if self.target is not None else None
                with rows_from(self.seen):
                    done = do(X, y)
                yield done
                self.seen += table.num_rows
                advance(table.num_rows)
        if self.seen == 0:
            raise TableError(f"{listing(list(self.rows.paths))}: there are no rows.")

    def sample(self, most: int, seed: int = 0) -> tuple[pa.Table, Any, int]:
        """At most so many rows, each as likely as the other, in their order; and how many there were."""
        rng = np.random.default_rng(seed)
        held: list[pa.Table] = []
        keys: list[Any] = []
        bound = np.inf
        for X, y in self.map("reading", lambda X, y: (X, y)):
            key = rng.random(X.num_rows)
            keep = np.flatnonzero(key < bound)
            held.append(X.append_column(self.target, y).take(keep))
            keys.append(key[keep])
            if sum(map(len, keys)) > 2 * most:
                held, keys, bound = _smallest(held, keys, most)
        held, _, _ = _smallest(held, keys, most)
        table = pa.concat_tables(held, promote_options="permissive").combine_chunks()
        return table.select(self.features), table.column(self.target), self.seen


def _smallest(held: list[pa.Table], keys: list[Any], most: int) -> tuple[list[pa.Table], list[Any], float]:
    """The rows with the `most` smallest keys."""
    key = np.concatenate(keys)
    if len(key) <= most:
        return held, keys, np.inf
    keep = np.sort(np.argpartition(key, most - 1)[:most])
    table = pa.concat_tables(held, promote_options="permissive").take(keep)
    return [table], [key[keep]], float(key[keep].max())


@contextmanager
def fresh_data(reading: Reading, target: str | None, kinds: Mapping[str, str]) -> Iterator[Source]:
    """Data that a model will be made for: every column but the target is a feature."""
    with _opened(reading, types_of_kinds(kinds), target) as rows:
        _require(rows, [*([target] if target is not None else []), *kinds, *reading.drop])
        features = [name for name in rows.names if name != target and name not in reading.drop]
        if not features:
            raise TableError(f"{rows.paths[0]}: there is no column beside the target {target!r}.")
        yield Source(rows, features, target, reading.batch_rows)


@contextmanager
def known_data(reading: Reading, model: Any, target: str | None) -> Iterator[Source]:
    """Data for a model that is there: its columns, read as it knows them; others in the file are left alone."""
    if target is not None and target in (model.schema_.names or ()):
        raise OptionError(f"{target!r} is a column of the model, not its target.")
    with _opened(reading, types_of_model(model, target), target, learned=True) as rows:
        _require(rows, [*([target] if target is not None else []), *reading.drop])
        if model.schema_.names is not None:
            features = list(model.schema_.names)
            _require(rows, features)
        else:
            features = [name for name in rows.names if name != target and name not in reading.drop]
        yield Source(rows, features, target, reading.batch_rows)


@contextmanager
def _opened(
    reading: Reading, types: Mapping[str, pa.DataType], target: str | None, learned: bool = False
) -> Iterator[Rows]:
    if reading.format is not None and reading.format not in FORMATS:
        raise typer.BadParameter(
            f"expected one of {', '.join(FORMATS)}; got {reading.format!r}.", param_hint="--format"
        )
    gaps = GAPS if reading.missing is None else tuple(reading.missing)
    with start.scratch() as scratch:
        yield open_rows(reading.paths, Text(reading.format, gaps, types, target, learned), scratch)


def _require(rows: Rows, names: list[str]) -> None:
    absent = [name for name in dict.fromkeys(names) if name not in rows.names]
    if absent:
        where = rows.paths[0] if len(rows.paths) == 1 else "the files"
        raise TableError(f"There is no column {listing(absent)} in {where}. Columns: {listing(rows.names, 20)}.")


@contextmanager
def rows_from(start: int) -> Iterator[None]:
    """Errors of the library count rows from the start of a batch; here from the start of the data."""
    try:
        yield
    except TallybayesError as e:
        if start == 0:
            raise
        text = re.sub(r"\brow (\d+)(?=[).,]| is)", lambda found: f"row {int(found[1]) + start}", str(e))
        raise type(e)(text) from None


def target_of(given: str | None, notes: Mapping[str, Any]) -> str:
    """The column that holds the classes: as given, or as in the fit."""
    found = given if given is not None else notes.get("target")
    if not isinstance(found, str):
        raise OptionError("The model file does not say which column holds the classes. Say --target.")
    return found
