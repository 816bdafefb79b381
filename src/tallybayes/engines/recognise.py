"""What a source is, by the names of its type: nothing is imported that is not loaded."""

from __future__ import annotations

from importlib import import_module
from os import PathLike

from tallybayes.engines.arrow_batches import reader_errors
from tallybayes.engines.source import RowSource
from tallybayes.errors import OptionError

# (package, class) of a thing → 'module:function' that makes a RowSource of it.
ADAPTERS: dict[tuple[str, str], str] = {
    ("polars", "LazyFrame"): "tallybayes.engines.frames:lazy_frame",
    ("polars", "DataFrame"): "tallybayes.engines.frames:frame",
    ("pandas", "DataFrame"): "tallybayes.engines.frames:frame",
    ("pyarrow", "Table"): "tallybayes.engines.frames:frame",
    ("pyarrow", "RecordBatch"): "tallybayes.engines.frames:frame",
    ("pyarrow", "RecordBatchReader"): "tallybayes.engines.frames:reader",
    ("pyarrow", "Dataset"): "tallybayes.engines.frames:dataset",
    ("dask", "DataFrame"): "tallybayes.engines.dask:frame",
    ("pyspark", "DataFrame"): "tallybayes.engines.spark:frame",
    ("duckdb", "DuckDBPyRelation"): "tallybayes.engines.sql.database:relation",
}


def adapter(package: str, name: str, where: str) -> None:
    """Register the function that makes a row source of the instances of a class.

    Parameters
    ----------
    package : str
        The first part of the module that the class is in; a leading underscore does not count.
    name : str
        The name of the class, or of one of its bases.
    where : str
        'module:function': the function takes the instance and returns a RowSource. It is imported when it is needed.

    Examples
    --------
    >>> from tallybayes.engines import adapter
    >>> adapter("mypackage", "Frame", "mypackage.bayes:source_of")
    """
    ADAPTERS[package, name] = where


def open_source(source: object) -> RowSource:
    """Make a row source of anything that `learn_from` accepts.

    Parameters
    ----------
    source : str, path, list of these, data frame, lazy frame, dataset, relation, (connection, table) or RowSource
        Where rows are.

    Returns
    -------
    RowSource
        What the verbs read.

    Raises
    ------
    OptionError
        If it is nothing that is known.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tallybayes.engines import open_source
    >>> open_source(pa.table({"wind": [2.0, 9.5], "go": ["yes", "no"]})).names
    ('wind', 'go')
    """
    if isinstance(source, RowSource):
        return source
    where = _home(source)
    if where is None:
        known = ", ".join(sorted({f"{package}.{name}" for package, name in ADAPTERS}))
        raise OptionError(
            f"Cannot read rows from a {type(source).__module__}.{type(source).__name__}. Allowed: paths and patterns "
            f"of files, (connection, table name), {known}."
        )
    module, _, function = where.partition(":")
    with reader_errors(f"the {type(source).__name__}"):
        made: RowSource = getattr(import_module(module), function)(source)
    return made


def _home(source: object) -> str | None:
    several = isinstance(source, list | tuple) and len(source) > 0
    if isinstance(source, str | PathLike) or (several and all(isinstance(p, str | PathLike) for p in source)):  # type: ignore[attr-defined]
        return "tallybayes.engines.files:files"
    if isinstance(source, tuple) and len(source) == 2 and hasattr(source[0], "cursor"):
        return "tallybayes.engines.sql.database:database"
    for base in type(source).__mro__:
        where = ADAPTERS.get((base.__module__.split(".")[0].lstrip("_"), base.__name__))
        if where is not None:
            return where
    return None
