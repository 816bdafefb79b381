"""Dates, times, durations and texts of a database: as they are learned here, or one error that says what to do."""

from __future__ import annotations

import sqlite3
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tallybayes as tb
from tallybayes.engines.sql import DatabaseQuery, DatabaseTable
from tallybayes.errors import ExportError, IdentifierColumnWarning, OptionError, TableError
from tests.engines.databases import dialect, quoted
from tests.engines.moments import ARROW, MOMENTS, N, rows, values


def put(db: Any, name: str, kind: str, found: list[Any]) -> None:
    if isinstance(db, sqlite3.Connection):
        db.execute(f"CREATE TABLE {quoted(name)} (v, x, kind)")
        found = [v if v is None or isinstance(v, str) else v.isoformat() for v in found]
    else:
        db.execute(f"CREATE TABLE {quoted(name)} (v {kind}, x double precision, kind text)")
    mark = "%s" if dialect(db) == "postgresql" else "?"
    cursor = db.cursor() if mark == "%s" else db
    t = rows(kind)
    lines = zip(found, t["x"].to_pylist(), t["kind"].to_pylist(), strict=True)
    cursor.executemany(f"INSERT INTO {quoted(name)} VALUES ({mark}, {mark}, {mark})", list(lines))


def made(db: Any, kind: str) -> tb.NaiveBayes:
    """SQLite has no dates: its text is said to be some."""
    said = {"v": "date"} if dialect(db) == "sqlite" and kind != "text" else None
    return tb.NaiveBayes({"real": "gaussian"}, schema=said)


@pytest.mark.parametrize("kind", ARROW)
def test_learned_and_answered_as_here(db: Any, kind: str) -> None:
    t = rows(kind)
    if dialect(db) == "sqlite" and kind in ("interval", "time"):  # no durations, and strings are read as dates only
        put(db, "rows", "text", [None if v is None else str(v) for v in values(kind)])
        with pytest.raises(TableError, match=r"Column 'v' has .*Give dates, or strings of ISO 8601"):
            made(db, kind).learn_from((db, "rows"), "kind")
        return
    put(db, "rows", kind, values(kind))
    here = tb.NaiveBayes({"real": "gaussian"}).fit(t.select(["v", "x"]), t["kind"])
    there = made(db, kind).learn_from((db, "rows"), "kind")
    assert there.schema_.names == here.schema_.names
    np.testing.assert_array_equal(there.class_count_, here.class_count_)
    X = t.select(["v", "x"])
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), rtol=0, atol=1e-12)
    found = here.predict_to((db, "rows"), keep=["kind"]).read_all()
    np.testing.assert_allclose(found["proba_high"].to_numpy(), here.predict_proba(X)[:, 0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["date", "interval", "text"])
def test_what_is_not_counted_there_advises_what_to_do(db: Any, kind: str) -> None:
    if dialect(db) == "sqlite" and kind == "interval":
        pytest.skip("SQLite has no durations")
    put(db, "rows", kind, values(kind))
    model = made(db, kind)
    with pytest.raises(OptionError, match=r"cannot be asked lazily: .* learn_from .* columns="):
        tb.LazyBayes(model, db, "rows", "kind")
    with pytest.raises(OptionError, match="cannot be counted in the database"):
        model.learn_from(DatabaseTable(db, "rows", move="statistics"), "kind")
    with pytest.raises(ExportError, match=r"predict_to|tallybayes serve"):
        tb.export.to_sql(made(db, kind).learn_from((db, "rows"), "kind"), dialect(db), "rows")
    lazy = tb.LazyBayes(tb.NaiveBayes({"real": "gaussian"}), db, "rows", "kind", columns=["x"])
    t = rows(kind)
    here = tb.NaiveBayes({"real": "gaussian"}).fit(t.select(["x"]), t["kind"])
    np.testing.assert_allclose(lazy.predict_proba(t.select(["x"])), here.predict_proba(t.select(["x"])), atol=1e-12)


@pytest.mark.parametrize("kind", MOMENTS)
def test_a_column_whose_values_are_all_missing(db: Any, kind: str) -> None:
    if dialect(db) == "sqlite":
        pytest.skip("a column of SQLite is what its values are")
    put(db, "rows", kind, [None] * N)
    t = rows(kind)
    empty = t.set_column(0, "v", pa.nulls(N, ARROW[kind]))
    here = tb.NaiveBayes({"real": "gaussian"}).fit(empty.select(["v", "x"]), t["kind"])
    there = tb.NaiveBayes({"real": "gaussian"}).learn_from((db, "rows"), "kind")
    assert there.schema_.names == here.schema_.names
    X = empty.select(["v", "x"])
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), rtol=0, atol=1e-12)


def test_an_interval_of_months_is_no_duration() -> None:
    import duckdb

    with duckdb.connect() as db:
        sql = "SELECT INTERVAL (i) MONTH AS v, i % 2 AS kind FROM range(1, 9) t(i)"
        with pytest.raises(TableError, match=r"months or years.*epoch"):
            tb.NaiveBayes("gaussian").learn_from(DatabaseQuery(db, sql), "kind")
        model = tb.NaiveBayes("gaussian").learn_from(
            DatabaseQuery(db, f"SELECT epoch(v) AS v, kind FROM ({sql}) t"), "kind"
        )
        assert model.class_count_.tolist() == [4.0, 4.0]


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMPTZ"])
@pytest.mark.parametrize("end", ["infinity", "-infinity"])
def test_an_infinite_date_is_no_date(kind: str, end: str) -> None:
    import duckdb

    with duckdb.connect() as db:
        day = f"CASE i WHEN 3 THEN '{end}'::{kind} ELSE '2024-02-29'::{kind} END"
        sql = f"SELECT {day} AS v, i % 2 AS kind FROM range(9) t(i)"
        with pytest.raises(TableError, match=r"'v' contains infinity.*isfinite"):
            tb.NaiveBayes("gaussian").learn_from(DatabaseQuery(db, sql), "kind")
        finite = f"SELECT CASE WHEN isfinite(v) THEN v END AS v, kind FROM ({sql}) t"
        assert tb.NaiveBayes("gaussian").learn_from(DatabaseQuery(db, finite), "kind").class_count_.tolist() == [
            5.0,
            4.0,
        ]


def test_uuids_name_rows_and_are_left_out(db: Any) -> None:
    if dialect(db) == "sqlite":
        pytest.skip("SQLite has no UUIDs")
    ids = "uuid()" if dialect(db) == "duckdb" else "gen_random_uuid()"
    series = "range(60) t(i)" if dialect(db) == "duckdb" else "generate_series(0, 59) i"
    db.execute(f"CREATE TABLE rows AS SELECT {ids} AS id, 0.5 + i % 5 AS x, i % 2 AS kind FROM {series}")
    with pytest.warns(IdentifierColumnWarning, match="'id'"):
        model = tb.NaiveBayes("gaussian").learn_from((db, "rows"), "kind")
    assert model.schema_.names == ("x",)
    found = model.predict_to((db, "rows"), keep=["id"]).read_all()
    assert len(set(found["id"].to_pylist())) == 60
