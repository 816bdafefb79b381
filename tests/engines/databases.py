"""The same table in every database that is at hand: the three that the library speaks to."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

TYPES = {"double": "double precision", "int64": "bigint", "string": "text", "bool": "boolean"}


def dialect(connection: Any) -> str:
    return {"sqlite3": "sqlite", "psycopg": "postgresql"}.get(type(connection).__module__.split(".")[0], "duckdb")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def fill(connection: Any, name: str, table: pa.Table) -> None:
    """Makes a table with these rows, in any of the databases."""
    columns = ", ".join(f"{quoted(f.name)} {TYPES[str(f.type)]}" for f in table.schema)
    if isinstance(connection, sqlite3.Connection):
        columns = ", ".join(quoted(f.name) for f in table.schema)
    connection.execute(f"CREATE TABLE {quoted(name)} ({columns})")
    insert(connection, name, table)


def insert(connection: Any, name: str, table: pa.Table) -> None:
    rows: Sequence[Any] = list(zip(*(c.to_pylist() for c in table.columns), strict=True))
    mark = "%s" if type(connection).__module__.startswith("psycopg") else "?"
    statement = f"INSERT INTO {quoted(name)} VALUES ({', '.join([mark] * table.num_columns)})"
    if not rows:
        return
    (connection.cursor() if mark == "%s" else connection).executemany(
        statement.replace("%", "%%").replace("%%s", "%s") if mark == "%s" else statement, rows
    )
