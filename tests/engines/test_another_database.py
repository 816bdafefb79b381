"""A database that somebody else adds: a dialect that says what is abstract, and a connection with its driver."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tallybayes as tb
from tallybayes.engines.sql import LazyBayes, to_sql
from tallybayes.engines.sql.connection import CONNECTIONS, Connection
from tallybayes.engines.sql.sql_dialect import SqlDialect
from tallybayes.errors import OptionError, TableError
from tests.engines.databases import fill
from tests.engines.tables import table


class PlainDialect(SqlDialect):
    """What every dialect must say, and a way of its own to number rows; SQLite understands it."""

    name = "plain"
    double = "REAL"
    text_type = "TEXT"
    fence = " LIMIT -1"
    row_number = "ROW_NUMBER() OVER (ORDER BY NULL)"

    def finite(self, value: float) -> str:
        return f"({value!r})"

    def infinite(self, positive: bool) -> str:
        return "9e999" if positive else "(-9e999)"

    def as_number(self, expression: str) -> str:
        return f"CAST({expression} AS REAL)"

    def exact(self, text: str) -> str:
        return f"{text} COLLATE BINARY"

    def greatest(self, expressions: Sequence[str]) -> str:
        return expressions[0] if len(expressions) == 1 else f"MAX({', '.join(expressions)})"

    def any(self, expression: str) -> str:
        return f"MIN({expression})"


class DriverError(Exception):
    """What the driver raises."""


class Remote:
    """A driver's connection, which has a cursor and no execute."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def cursor(self) -> sqlite3.Cursor:
        return self._db.cursor()


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(Remote, "__module__", "remote.driver")
    monkeypatch.setattr(DriverError, "__module__", "remote.errors")

    class RemoteConnection(Connection):
        dialect = PlainDialect()
        driver = ("remote", "Remote")

        def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
            try:
                return self.raw.cursor().execute(sql, tuple(parameters)).fetchall()
            except sqlite3.Error as e:
                raise DriverError(f"the server said: {e}") from None

        def batches(
            self,
            sql: str,
            parameters: Sequence[object],
            rows: int,  # noqa: ARG002
            kinds: dict[str, str],
        ) -> Iterator[pa.Table]:
            found = self.rows(sql, parameters)
            yield pa.table([pa.array(c) for c in zip(*found, strict=True)], names=list(kinds))

        def kinds(self, relation: str, parameters: Sequence[object] = ()) -> dict[str, str | None]:
            self.rows(f"SELECT * FROM {relation} LIMIT 0", parameters)
            return {"length": "number", "colour": "text", "kind": "text"}

    yield
    del CONNECTIONS["remote", "Remote"]


def rows() -> Any:
    return table(200, missing=False).select(["length", "colour", "kind"])


@pytest.mark.parametrize("make", [
    lambda: tb.NaiveBayes({"real": "gaussian", "categorical": "categorical"}),
    lambda: tb.TAN(cuts="frequency"),
    lambda: tb.AODE(cuts="frequency"),
    lambda: tb.BayesClassifier("fast", members=2, parts=("networks", "naive")),
])  # fmt: skip
def test_a_dialect_with_the_abstract_methods_alone(make: Any) -> None:
    t, db = rows(), sqlite3.connect(":memory:")
    colours = [f"{v} {i % 20}" for i, v in enumerate(t["colour"].to_pylist())]  # more labels than a CASE lists
    t = t.set_column(1, "colour", pa.array(colours))
    fill(db, "rows", t.append_column("i", pa.array(range(200))))
    X = t.drop_columns(["kind"])
    model = make().fit(X, t["kind"].to_pylist())
    found = sorted(db.execute(to_sql(model, PlainDialect(), "rows", keep=["i"])).fetchall())
    np.testing.assert_allclose([row[2:] for row in found], model.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.usefixtures("driver")
def test_a_connection_that_names_its_driver() -> None:
    t, db = rows(), sqlite3.connect(":memory:")
    fill(db, "rows", t)
    X, model = t.drop_columns(["kind"]), tb.NaiveBayes({"real": "gaussian", "categorical": "categorical"})
    whole = model.copy().fit(X, t["kind"].to_pylist())
    learned = model.copy().learn_from((Remote(db), "rows"), "kind")
    lazy = LazyBayes(model, Remote(db), "rows", "kind")
    for found in (learned, lazy):
        np.testing.assert_allclose(found.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-12)
    with pytest.raises(TableError, match=r"Cannot read the table 'other': the server said: no such table"):
        model.learn_from((Remote(db), "other"), "kind")


def test_connections_that_nobody_added_are_refused() -> None:
    with pytest.raises(OptionError, match=r"Remote as a database. Allowed: .*sqlite3.Connection"):
        tb.GaussianNB().learn_from((Remote(sqlite3.connect(":memory:")), "rows"), "kind")
