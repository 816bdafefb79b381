"""Files as a source, by name or pattern: CSV, TSV, Parquet, Arrow and JSON lines, as the command line reads them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from glob import escape
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import finalize

from tallybayes.data.table import TEXT_AS_DICTIONARY
from tallybayes.engines.arrow_batches import reader_errors
from tallybayes.engines.partitions import spread_evenly
from tallybayes.engines.source import ColumnRoles, RowSource, expanded
from tallybayes.errors import OptionError, TableError

if TYPE_CHECKING:
    import pyarrow as pa

    from tallybayes.cli.table_files import RowFiles, Text
    from tallybayes.data.schema import Schema
    from tallybayes.estimators.base import GenerativeClassifier

Model = TypeVar("Model", bound="GenerativeClassifier")

MAX_CODED_LEVELS = 1024  # writers of Parquet give up dictionaries of about a megabyte


def files(source: Any) -> RowSource:
    """A source of one or more files: a path, a pattern, or several of them."""
    paths = [os.fspath(p) for p in ([source] if isinstance(source, str | os.PathLike) else source)]
    if "-" in paths:
        raise OptionError("Standard input can be read only once. Write the rows into a file first.")
    try:
        from tallybayes.cli.table_files import Text
    except ImportError as e:
        raise OptionError(f"To read files pyarrow is needed: pip install 'tallybayes[files]' ({e}).") from e
    if len(paths) == 1 and os.path.isdir(paths[0]) and _by_value(paths[0]):
        from pyarrow import dataset as datasets

        from tallybayes.engines.frames import dataset

        return dataset(datasets.dataset(paths[0], format="parquet", partitioning="hive"))
    return FileSource([_inside(path) for path in paths], Text())


def _inside(path: str) -> str:
    """A folder stands for all Parquet files in it."""
    if not os.path.isdir(path):
        return path
    if not any(name.endswith(".parquet") for _, _, names in os.walk(path) for name in names):
        raise TableError(f"There is no Parquet file in the folder {path!r}. Of others give a pattern: {path}/*.csv")
    return os.path.join(escape(path), "**", "*.parquet")


def _by_value(path: str) -> bool:
    """Whether folders hold a column in their names, as in year=2026/."""
    return any("=" in name for _, folders, _ in os.walk(path) for name in folders)


class FileSource(RowSource):
    """Files of the same columns, in order."""

    def __init__(self, paths: Sequence[str], text: Text) -> None:
        from tallybayes.cli.table_files import open_rows

        scratch = mkdtemp(prefix="tallybayes-")  # for what has to be unpacked; gone with this object
        finalize(self, rmtree, scratch, ignore_errors=True)
        self.paths, self.text = list(paths), text
        self.rows: RowFiles = open_rows(self.paths, text, scratch)
        self.where, self.index = self.rows.where, self.rows.index
        self.files = expanded(self.paths)
        self._parquet = self.rows.files[0].format == "parquet"
        self._as_dictionaries: frozenset[str] = frozenset()  # columns of text that are read as Parquet stores them
        self.total = sum(self._open(f.path).metadata.num_rows for f in self.rows.files) if self._parquet else None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.rows.names)

    def with_model_types(self, model: GenerativeClassifier, roles: ColumnRoles) -> RowSource:
        """Read columns of text as a model knows them: 02139 stays 02139.

        Parameters
        ----------
        model : GenerativeClassifier
            A fitted model.
        roles : ColumnRoles
            Which columns are what.

        Returns
        -------
        RowSource
            The same files otherwise.
        """
        if self.rows.files[0].format in ("parquet", "arrow"):
            return self
        import pyarrow as pa

        from tallybayes.cli.column_types import types_of_model

        types = types_of_model(model, roles.target[0] if len(roles.target) == 1 else None)
        kept = {name: pa.string() for name in roles.keep if name not in types}
        return FileSource(self.paths, replace(self.text, types={**kept, **types}, learned=True))

    def with_declared_kinds(self, kinds: Mapping[str, str] | None, target: Sequence[str]) -> RowSource:
        if self.rows.files[0].format in ("parquet", "arrow"):
            return self
        from tallybayes.cli.column_types import types_of_kinds

        one = target[0] if len(target) == 1 else None
        types = types_of_kinds(kinds or {})
        return FileSource(self.paths, replace(self.text, types=types, target=one, declarable=kinds is not None))

    def count(self, plan: Model, roles: ColumnRoles) -> Model:
        """Count all rows with a plan, reading categories of Parquet as codes.

        Parameters
        ----------
        plan : classifier
            A model with schema, cuts and structure.
        roles : ColumnRoles
            Which columns are what.

        Returns
        -------
        classifier
            A model of these rows alone.
        """
        if not self._parquet or plan.memory != "sums":
            return super().count(plan, roles)
        self._as_dictionaries = frozenset(name for name in _categories(plan, roles) if self._is_text(name))
        try:
            return super().count(plan, roles)
        finally:
            self._as_dictionaries = frozenset()

    def _is_text(self, name: str) -> bool:
        import pyarrow as pa

        found = self.rows.schema.field(name).type
        return bool(pa.types.is_string(found) or pa.types.is_large_string(found))

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        if not self._parquet:
            yield from self.rows.batches(columns, rows)
            return
        groups = [(f.path, None) for f in self.rows.files]
        yield from self._groups(groups, columns, rows)

    def pieces(self, columns: Sequence[str], rows: int, most: int, least: int) -> Iterator[pa.Table]:
        """Read some pieces.

        Parameters
        ----------
        columns : sequence of str
            Which columns.
        rows : int
            How many rows a table has at the most.
        most : int
            How many pieces at the most,
        least : int
            unless they have fewer rows than this: then more.

        Returns
        -------
        iterator of Table of pyarrow
            Row groups of Parquet, evenly spread; of other formats all rows.
        """
        if not self._parquet:
            yield from self.batches(columns, rows)
            return
        every = [(f.path, g) for f in self.rows.files for g in range(self._open(f.path).metadata.num_row_groups)]
        most = max(most, -(-least * len(every) // max(1, self.total or 0)))  # small ones are many
        chosen = [every[i] for i in spread_evenly(len(every), most)]
        yield from self._groups([(path, [g]) for path, g in chosen], columns, rows)

    def _groups(
        self, groups: Sequence[tuple[str, list[int] | None]], columns: Sequence[str], rows: int
    ) -> Iterator[pa.Table]:
        import pyarrow as pa

        from tallybayes.cli.table_files import ahead

        schema = pa.schema([self._field(name) for name in columns])

        def read() -> Iterator[pa.Table]:
            for path, which in groups:
                with reader_errors(path), self._open(path) as source:
                    more = {} if which is None else {"row_groups": which}
                    for batch in source.iter_batches(rows, columns=list(columns), **more):
                        batch.validate(full=True)  # Parquet does not say whether its strings are UTF-8
                        table = pa.Table.from_batches([batch]).select(list(columns))
                        yield table if table.schema.equals(schema, check_metadata=True) else table.cast(schema)

        with ahead(read(), 2) as stream:
            yield from stream

    def _field(self, name: str) -> pa.Field:
        import pyarrow as pa

        field = self.rows.schema.field(name)
        if name not in self._as_dictionaries:
            return field
        return pa.field(name, pa.dictionary(pa.int32(), pa.string()), metadata=TEXT_AS_DICTIONARY)

    def _open(self, path: str) -> Any:
        """Without the buffer that would hold the whole file before its first row."""
        from pyarrow import parquet

        return parquet.ParquetFile(path, pre_buffer=False, read_dictionary=sorted(self._as_dictionaries) or None)


def _categories(plan: GenerativeClassifier, roles: ColumnRoles) -> list[str]:
    """The target, and the features that are categories of so few levels that they are stored as codes."""
    schema = plan.fitted_.schema
    found = [name for name in roles.target if len(plan.fitted_.classes) <= MAX_CODED_LEVELS]
    if schema.expansion is not None or schema.names is None:  # texts that are dates are not read by level
        return found
    names = zip(schema.names, schema.kinds, strict=True)
    few = {name for j, (name, kind) in enumerate(names) if kind == "categorical" and _is_coded(schema, j)}
    return [*found, *(name for name in roles.features if name in few)]


def _is_coded(schema: Schema, j: int) -> bool:
    return j in schema.levels and 0 < len(schema.levels[j]) <= MAX_CODED_LEVELS
