"""What a reader of rows refuses is an error of ours, with its own first line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tallybayes.errors import TableError

READER_PACKAGES = {"duckdb", "polars", "pyarrow"}  # drivers of databases are added by `Connection`


@contextmanager
def reader_errors(where: str, verb: str = "read") -> Iterator[None]:
    """Inside it rows are read, or written. where: what messages call the place."""
    try:
        yield
    except Exception as e:
        theirs = {base.__module__.split(".")[0].lstrip("_") for base in type(e).__mro__}
        if not theirs & READER_PACKAGES and not isinstance(e, OSError):
            raise
        said = next((line for line in str(e).splitlines() if line.strip()), type(e).__name__)
        raise TableError(f"Cannot {verb} {where}: {said}") from e
