"""Databases where the obvious statement is wrong: collations, odd names and types, far numbers, wide questions."""

from __future__ import annotations

import sqlite3
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tallybayes as tb
from tallybayes.engines.sql import DatabaseQuery, DatabaseTable, LazyBayes, to_sql
from tallybayes.engines.sql.connection import PostgresConnection
from tallybayes.errors import OptionError, TableError
from tests.engines.databases import dialect, fill
from tests.engines.tables import table

NO_ICU = "a build of PostgreSQL without ICU has no collation that takes two texts for one"
NOCASE = {"duckdb": "VARCHAR COLLATE NOCASE", "sqlite": "TEXT COLLATE NOCASE", "postgresql": 'text COLLATE "no case"'}


def mark(connection: Any) -> str:
    return "%s" if dialect(connection) == "postgresql" else "?"


def make(connection: Any, columns: dict[str, str], rows: list[tuple[Any, ...]], name: str = "rows") -> None:
    kinds = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
    connection.execute(f'CREATE TABLE "{name}" ({kinds})')
    many = connection.cursor() if dialect(connection) == "postgresql" else connection
    many.executemany(f'INSERT INTO "{name}" VALUES ({", ".join([mark(connection)] * len(columns))})', rows)


def learned(connection: Any, model: Any, name: str = "rows") -> dict[str, Any]:
    """The model learned in every way that a database has."""
    found = {
        move: model.copy().learn_from(DatabaseTable(connection, name, move=move), "kind")
        for move in ("statistics", "rows")
    }
    return found | {"lazy": LazyBayes(model, connection, name, "kind")}


# --- collations ------------------------------------------------------------------------------------------------------

WORDS = ["a", "A", "a", "A", "ä", "Ä", "b", "B"] * 6
KINDS = ["x", "y", "x", "y", "y", "x", "x", "y"] * 6


@pytest.fixture(params=["collation", "citext"])
def no_case(request: pytest.FixtureRequest, db: Any) -> str:
    """A type of text whose comparison takes two texts for one."""
    connection = db
    if request.param == "citext":
        if dialect(connection) != "postgresql":
            pytest.skip("only PostgreSQL has citext")
        if not connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'citext'").fetchall():
            pytest.skip("this build of PostgreSQL has no citext")
        connection.execute("CREATE EXTENSION IF NOT EXISTS citext")
        return "citext"
    if dialect(connection) == "postgresql":
        try:
            with connection.transaction():
                connection.execute(
                    "CREATE COLLATION IF NOT EXISTS \"no case\" (provider = icu, locale = 'und-u-ks-level1', "
                    "deterministic = false)"
                )
        except Exception as e:
            if "ICU is not supported" not in str(e):
                raise
            pytest.skip(NO_ICU)
    return NOCASE[dialect(connection)]


def test_features_are_distinguished_by_their_bytes(db: Any, no_case: str) -> None:
    make(db, {"word": no_case, "kind": "VARCHAR(9)"}, list(zip(WORDS, KINDS, strict=True)))
    X = pa.table({"word": ["a", "A", "ä", "B"]})
    whole = tb.CategoricalNB().fit(pa.table({"word": WORDS}), KINDS)
    for found in learned(db, tb.CategoricalNB()).values():
        np.testing.assert_allclose(found.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-12)
    network = tb.SPODE("word").fit(pa.table({"word": WORDS, "more": WORDS[::-1]}), KINDS)
    more = {"word": no_case, "more": no_case, "kind": "VARCHAR(9)"}
    make(db, more, list(zip(WORDS, WORDS[::-1], KINDS, strict=True)), "two")
    pairs = pa.table({"word": ["a", "A", "ä", "B"], "more": ["b", "Ä", "A", "a"]})
    for found in learned(db, tb.SPODE("word"), "two").values():
        np.testing.assert_allclose(found.predict_proba(pairs), network.predict_proba(pairs), rtol=0, atol=1e-12)
    for model, name in ((whole, "rows"), (network, "two")):
        rows = pa.table({"word": WORDS} | ({"more": WORDS[::-1]} if name == "two" else {}))
        scored = db.execute(to_sql(model, dialect(db), name, keep=["word"])).fetchall()
        here = sorted(zip(WORDS, model.predict_proba(rows).tolist(), strict=True))
        for (word, _, *proba), (same, expected) in zip(sorted(scored), here, strict=True):
            assert word == same
            np.testing.assert_allclose(proba, expected, rtol=0, atol=1e-9)


def test_many_labels_are_distinguished_by_their_bytes(db: Any, no_case: str) -> None:
    words = [f"{letter}{i}" for i in range(30) for letter in "wW"] * 2
    kinds = ["x", "y"] * 60
    make(db, {"word": no_case, "kind": "VARCHAR(9)"}, list(zip(words, kinds, strict=True)))
    model = tb.CategoricalNB().fit(pa.table({"word": words}), kinds)
    scored = sorted(db.execute(to_sql(model, dialect(db), "rows", keep=["word"])).fetchall())
    here = sorted(zip(words, model.predict_proba(pa.table({"word": words})).tolist(), strict=True))
    np.testing.assert_allclose([row[2:] for row in scored], [proba for _, proba in here], rtol=0, atol=1e-9)


def test_targets_are_distinguished_by_their_bytes(db: Any, no_case: str) -> None:
    labels = ["a", "A", "b"] * 8
    make(db, {"x": "DOUBLE PRECISION", "kind": no_case}, list(zip(map(float, range(24)), labels, strict=True)))
    X = pa.table({"x": [1.0, 20.0]})
    whole = tb.GaussianNB().fit(pa.table({"x": np.arange(24.0)}), labels)
    for found in learned(db, tb.GaussianNB()).values():
        np.testing.assert_allclose(found.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-12)


def test_a_default_collation_of_duckdb_changes_nothing() -> None:
    import duckdb

    with duckdb.connect() as db:
        db.execute("PRAGMA default_collation='nocase'")
        make(db, {"word": "VARCHAR", "kind": "VARCHAR"}, list(zip(WORDS, KINDS, strict=True)))
        whole = tb.CategoricalNB().fit(pa.table({"word": WORDS}), KINDS)
        X = pa.table({"word": ["a", "A"]})
        for found in learned(db, tb.CategoricalNB()).values():
            np.testing.assert_allclose(found.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-12)
        scored = db.execute(to_sql(whole, "duckdb", "rows", keep=["word"])).fetchall()
        assert {row[0]: round(row[2], 9) for row in scored}["A"] == round(whole.predict_proba(X)[1, 0], 9)


def test_statements_for_postgresql_compare_bytes() -> None:
    model = tb.CategoricalNB().fit(pa.table({"word": WORDS}), KINDS)
    assert 'CASE CAST(t."word" AS text) COLLATE "C" WHEN' in to_sql(model, "postgresql", "rows")


# --- types -----------------------------------------------------------------------------------------------------------


def test_float32_as_categories(db: Any) -> None:
    values = [float(np.float32(v)) for v in (0.1, 0.2, 0.1, 0.7, 0.2, 0.1)]
    make(db, {"x": "REAL", "kind": "VARCHAR(9)"}, list(zip(values, "aabbba", strict=True)))
    model = tb.NaiveBayes(schema={"x": "categorical"})
    X = pa.table({"x": values})
    whole = tb.NaiveBayes(schema={"x": "categorical"}).fit(X, list("aabbba"))
    for found in learned(db, model).values():
        np.testing.assert_allclose(found.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-12)
    scored = sorted(db.execute(to_sql(whole, dialect(db), "rows", keep=["x"])).fetchall())
    np.testing.assert_allclose(
        [row[2:] for row in scored], whole.predict_proba(pa.table({"x": sorted(values)})), rtol=0, atol=1e-9
    )


def test_booleans_as_numbers(db: Any) -> None:
    if dialect(db) == "sqlite":
        pytest.skip("SQLite has no booleans")
    rows = [(i % 3 == 0, "ab"[i % 2]) for i in range(30)]
    make(db, {"x": "BOOLEAN", "kind": "VARCHAR(9)"}, rows)
    X = pa.table({"x": [row[0] for row in rows]})
    whole = tb.GaussianNB().fit(X, [row[1] for row in rows])
    for found in learned(db, tb.GaussianNB()).values():
        np.testing.assert_allclose(found.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-12)


def test_padded_text_of_postgresql(db: Any) -> None:
    if dialect(db) != "postgresql":
        pytest.skip("only PostgreSQL pads")
    make(db, {"word": "char(5)", "kind": "char(3)"}, list(zip(WORDS, KINDS, strict=True)))
    X = pa.table({"word": WORDS})
    whole = tb.CategoricalNB().fit(X, KINDS)
    for found in learned(db, tb.CategoricalNB()).values():
        assert found.predict(X).tolist() == whole.predict(X).tolist()
    assert len(db.execute(to_sql(whole, "postgresql", "rows")).fetchall()) == len(WORDS)


@pytest.mark.parametrize("least", [2**60, 2**63, 10**30])
def test_whole_numbers_keep_every_digit(db: Any, monkeypatch: pytest.MonkeyPatch, least: int) -> None:
    if dialect(db) == "sqlite" and least > 2**60:
        pytest.skip("SQLite has integers of 64 bits with a sign")
    monkeypatch.setattr(PostgresConnection, "fetched_rows", 512)
    type_ = {"duckdb": "DECIMAL(38, 0)", "sqlite": "INTEGER", "postgresql": "NUMERIC"}[dialect(db)]
    accounts = [*[None] * 600, *[least + 1, least + 2] * 40]  # more missing ones than are fetched at a time
    make(db, {"account": type_, "kind": "VARCHAR(9)"}, list(zip(accounts, "ab" * 340, strict=True)))
    model = tb.CategoricalNB()
    if least > 2**64:
        for move in ("rows", "statistics"):
            with pytest.raises(TableError, match="64 bits"):
                model.learn_from(DatabaseTable(db, "rows", move=move), "kind")
        return
    for found in learned(db, model).values():
        assert found.predict(pa.table({"account": pa.array([least + 1, least + 2], pa.uint64())})).tolist() == [
            "a",
            "b",
        ]


@pytest.mark.parametrize("bad", ["", "two", "1-2", b"\x01"])
def test_what_is_no_number_in_sqlite_has_no_prediction(bad: Any) -> None:
    db = sqlite3.connect(":memory:")
    X = pa.table({"x": [1.0, 2.0, 8.0, 9.0]})
    for model in (tb.GaussianNB(), tb.NaiveBayes("frequency"), tb.TAN(cuts=None)):
        model.fit(X, ["a", "a", "b", "b"])
        db.execute("DROP TABLE IF EXISTS rows")
        make(db, {"i": "", "x": ""}, [(0, 1.5), (1, bad), (2, "8.5"), (3, None)])
        found = sorted(db.execute(to_sql(model, "sqlite", "rows", keep=["i"])).fetchall())
        assert found[1] == (1, None, None, None)
        np.testing.assert_allclose(
            [found[i][2:] for i in (0, 2, 3)], model.predict_proba([[1.5], [8.5], [np.nan]]), rtol=0, atol=1e-9
        )


def test_text_where_a_model_knows_numbers_is_refused(db: Any) -> None:
    make(db, {"x": "VARCHAR(9)", "kind": "VARCHAR(9)"}, [("", "a"), ("two", "b")])
    model = tb.GaussianNB().fit(pa.table({"x": [1.0, 2.0]}), ["a", "b"])
    for move in ("rows", "statistics"):
        with pytest.raises((TableError, OptionError), match=r"'x'"):
            model.learn_from(DatabaseTable(db, "rows", move=move), "kind")
    with pytest.raises((TableError, OptionError), match=r"'x'"):
        LazyBayes(model, db, "rows", "kind").predict({"x": 1.0})


@pytest.mark.parametrize("name", ["tb rows", "tb codes", "tb v0", "tb source"])
def test_tables_that_are_called_as_ours(db: Any, name: str) -> None:
    t = table(60).select(["colour", "alive", "kind"])
    t = t.set_column(1, "alive", pa.array([None if v is None else str(v) for v in t["alive"].to_pylist()]))
    fill(db, name, t)
    X = t.select(["colour", "alive"])
    whole = tb.TAN().fit(X, t["kind"].to_pylist())
    assert LazyBayes(tb.CategoricalNB(), db, name, "kind").predict(X).tolist() == (
        tb.CategoricalNB().fit(X, t["kind"].to_pylist()).predict(X).tolist()
    )
    assert len(db.execute(to_sql(whole, dialect(db), name)).fetchall()) == 60
    if dialect(db) == "duckdb":
        assert tb.CategoricalNB().learn_from(db.table(f'"{name}"'), "kind").class_count_.sum() == 60


@pytest.mark.parametrize("far", [1e150, 1e155, 1e300, -1e300])
def test_numbers_whose_squares_are_too_large(db: Any, far: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    X[:, 0] += np.arange(60) % 2
    make(db, {"x0": "DOUBLE PRECISION", "x1": "DOUBLE PRECISION"}, [(far, 0.1)])
    columns = pa.table({"x0": X[:, 0], "x1": X[:, 1]})
    for model in (tb.GaussianNB(), tb.LinearDiscriminantAnalysis(), tb.QuadraticDiscriminantAnalysis()):
        model.fit(columns, np.arange(60) % 2)
        here = model.predict_proba(pa.table({"x0": [far], "x1": [0.1]}))
        np.testing.assert_allclose(db.execute(to_sql(model, dialect(db), "rows")).fetchall()[0][1:], here[0], atol=1e-9)


@pytest.mark.parametrize("x", [np.inf, -np.inf, -1.0, 5e-324])
def test_numbers_that_the_model_refuses_have_no_prediction(db: Any, x: float) -> None:
    make(db, {"i": "INTEGER", "x": "DOUBLE PRECISION"}, [(0, x), (1, 2.0), (2, None)])
    learned_rows, y = pa.table({"x": [0.0, 3.0, 2.0, 8.0]}), list("abab")
    for model in (tb.PoissonNB(), tb.GaussianNB(), tb.NaiveBayes("frequency"), tb.TAN(cuts=None)):
        model.fit(learned_rows, y)
        found = [row[2:] for row in sorted(db.execute(to_sql(model, dialect(db), "rows", keep=["i"])).fetchall())]
        np.testing.assert_allclose(found[1:], model.predict_proba([{"x": 2.0}, {"x": None}]), rtol=0, atol=1e-9)
        try:
            here = model.predict_proba([{"x": x}])[0]
        except TableError:
            assert found[0] == (None, None)
        else:
            np.testing.assert_allclose(found[0], here, rtol=0, atol=1e-9)


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e100])
def test_numbers_whose_squares_are_too_small(db: Any, size: float) -> None:
    make(
        db, {"i": "INTEGER", "x0": "DOUBLE PRECISION", "x1": "DOUBLE PRECISION"}, [(0, 1e-300, -1e-200), (1, 5e-324, 0)]
    )
    rows = np.array([[-1.0, 1.0], [1.0, -1.0], [2.0, 1.0], [0.0, -1.0]]) * max(size, 1e-100)
    for model in (tb.GaussianNB(), tb.LinearDiscriminantAnalysis(), tb.QuadraticDiscriminantAnalysis()):
        model.fit(pa.table({"x0": rows[:, 0], "x1": rows[:, 1]}), list("aabb"))
        found = sorted(db.execute(to_sql(model, dialect(db), "rows", keep=["i"])).fetchall())
        here = model.predict_proba(pa.table({"x0": [1e-300, 5e-324], "x1": [-1e-200, 0.0]}))
        np.testing.assert_allclose([row[2:] for row in found], here, rtol=0, atol=1e-9)


def test_far_numbers_are_refused_where_they_are_learned(db: Any) -> None:
    make(db, {"x": "DOUBLE PRECISION", "kind": "VARCHAR(9)"}, [(1.0, "a"), (1e300, "a"), (2.0, "b"), (3.0, "b")])
    for move in ("statistics", "rows"):
        with pytest.raises(TableError):
            tb.GaussianNB().learn_from(DatabaseTable(db, "rows", move=move), "kind")


# --- questions -------------------------------------------------------------------------------------------------------


def test_a_table_that_changes_between_questions(db: Any) -> None:
    t = table(60, missing=False).select(["length", "colour", "kind"])
    fill(db, "rows", t)
    lazy = LazyBayes(tb.NaiveBayes("gaussian"), db, "rows", "kind", columns=["length"])
    for _ in range(8):  # more often than a statement is run before a server prepares it
        before = lazy.predict_proba({"length": 1.0})
    db.execute("ALTER TABLE rows ADD COLUMN more INTEGER")
    np.testing.assert_array_equal(lazy.predict_proba({"length": 1.0}), before)


def test_columns_that_are_added_and_dropped_between_questions(db: Any) -> None:
    make(db, {"x": "REAL", "z": "REAL", "kind": "VARCHAR(9)"}, [(i % 7, i % 5, "ab"[i % 2]) for i in range(50)])
    for model in (tb.NaiveBayes("gaussian"), tb.GaussianNB()):
        lazy = LazyBayes(model, db, "rows", "kind")
        before = lazy.predict_proba({"x": 1.0})
        db.execute("ALTER TABLE rows ADD COLUMN more REAL")  # what was no column at the first question is none later
        np.testing.assert_array_equal(lazy.predict_proba({"x": 1.0}), before)
        with pytest.raises(TableError, match="more"):
            lazy.predict({"x": 1.0, "more": 2.0})
        db.execute("ALTER TABLE rows DROP COLUMN more")
        np.testing.assert_array_equal(lazy.predict_proba({"x": 1.0}), before)
    db.execute("ALTER TABLE rows DROP COLUMN z")
    np.testing.assert_allclose(lazy.predict_proba({"x": 1.0}), before, rtol=0, atol=1e-12)
    with pytest.raises(TableError, match="z"):
        lazy.predict({"x": 1.0, "z": 2.0})


def test_wide_questions_read_the_rows(db: Any) -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, (60, 40)).astype(str)
    t = pa.table({f"x{j}": rows[:, j] for j in range(40)} | {"kind": np.where(rows[:, 0] > "0", "a", "b")})
    fill(db, "rows", t)
    X = t.drop_columns(["kind"])
    lazy = LazyBayes(tb.AODE(), db, "rows", "kind")
    found = lazy.predict_proba(X)
    why = "they are read here faster" if dialect(db) == "sqlite" else "more than 64 tables"
    assert lazy.choice.startswith(f"rows: {why}")
    np.testing.assert_allclose(found, tb.AODE().fit(X, t["kind"].to_pylist()).predict_proba(X), rtol=0, atol=1e-12)
    db.execute("DELETE FROM rows WHERE kind = 'a' AND x1 = '1'")
    left = t.filter(pa.array([row["kind"] != "a" or row["x1"] != "1" for row in t.to_pylist()]))
    whole = tb.AODE().fit(left.drop_columns(["kind"]), left["kind"].to_pylist())
    np.testing.assert_allclose(lazy.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-12)
    db.execute("DELETE FROM rows WHERE kind = 'a'")
    assert lazy.predict_proba(X).shape == (60, 1)


def test_naive_bayes_of_six_hundred_columns(db: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 600))
    t = pa.table({f"x{j}": X[:, j] for j in range(600)} | {"kind": ["a", "b"] * 10})
    fill(db, "rows", t)
    lazy = LazyBayes(tb.GaussianNB(), db, "rows", "kind")
    whole = tb.GaussianNB().fit(t.drop_columns(["kind"]), t["kind"].to_pylist())
    np.testing.assert_allclose(
        lazy.predict_proba(t.drop_columns(["kind"])), whole.predict_proba(t.drop_columns(["kind"])), rtol=0, atol=1e-12
    )
    assert lazy.choice.startswith("rows")
    np.testing.assert_allclose(
        lazy.predict_proba({"x3": 1.0, "x500": 0.5}), whole.predict_proba([{"x3": 1.0, "x500": 0.5}]), atol=1e-12
    )
    counted = "statistics: 0 tables of counts and 2 moments were counted there"
    assert lazy.choice == (
        counted if dialect(db) != "sqlite" else "rows: they are read here faster than this database counts them"
    )


def test_a_question_in_sqlite_reads_the_columns_that_it_asks_for() -> None:
    db = sqlite3.connect(":memory:")
    t = table(2000, missing=False).select(["length", "width", "colour", "kind"])
    fill(db, "rows", t)
    db.commit()
    run: list[str] = []
    db.set_trace_callback(run.append)
    lazy = LazyBayes(tb.NaiveBayes({"real": "gaussian", "categorical": "categorical"}), db, "rows", "kind")
    whole = tb.NaiveBayes({"real": "gaussian", "categorical": "categorical"}).fit(t.drop_columns(["kind"]), t["kind"])
    run.clear()
    for question in ({"length": 1.0}, {"length": 2.0, "width": None}, {"colour": "red"}, {"width": None}):
        np.testing.assert_allclose(lazy.predict_proba(question), whole.predict_proba([question]), rtol=0, atol=1e-12)
    assert lazy.choice == "rows: they are read here faster than this database counts them"
    whole_table = [statement for statement in run if "LIMIT" not in statement and "PRAGMA" not in statement]
    assert [s for s in whole_table if "typeof" in s] == []
    assert [("length" in s, "width" in s, "colour" in s) for s in whole_table] == [
        (True, False, False), (True, False, False), (False, False, True), (False, False, False),
    ]  # fmt: skip
    db.execute("UPDATE rows SET width = 'word' WHERE rowid > 1500")  # an open transaction, which may be taken back
    lazy.predict({"length": 1.0})
    with pytest.raises(TableError, match="text and numbers"):
        lazy.predict({"width": 1.0})
    db.rollback()
    assert lazy.predict({"width": 1.0}).tolist()


def test_another_connection_to_sqlite_is_seen(tmp_path: Any) -> None:
    db, other = (sqlite3.connect(tmp_path / "rows.db") for _ in range(2))
    make(db, {"x": "", "kind": ""}, [(1.5, "a"), (2.5, "b")])
    db.commit()
    lazy = LazyBayes(tb.NaiveBayes({"real": "gaussian", "categorical": "categorical"}), db, "rows", "kind")
    assert lazy.predict({"x": 1.0}).tolist() == ["a"]
    other.execute("UPDATE rows SET x = 'word ' || kind")
    other.commit()
    assert lazy.predict({"x": "word b"}).tolist() == ["b"]


# --- networks in SQL -------------------------------------------------------------------------------------------------


def coded(n: int, d: int, levels: int, seed: int = 0) -> tuple[Any, list[str]]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    columns: dict[str, Any] = {}
    before = y
    for j in range(d):
        before = (before + rng.integers(0, 2, n) + (rng.random(n) < 0.3) * rng.integers(0, levels, n)) % levels
        columns[f"x{j}"] = [f"v{v}" for v in before]
    return pa.table(columns), np.where(y == 1, "a", "b").tolist()


def test_rows_of_networks_with_many_nulls(db: Any) -> None:
    X, y = coded(300, 12, 5)
    model = tb.TAN().fit(X, y)
    asked = [dict.fromkeys(X.column_names)]  # all missing: the prior
    asked += [{name: "v1" if j == 11 else None for j, name in enumerate(X.column_names)}]
    asked += [{name: None if j in (2, 5, 7) else f"v{j % 5}" for j, name in enumerate(X.column_names)}]
    asked += [{name: f"v{j % 5}" if j % 3 == 0 else None for j, name in enumerate(X.column_names)}]
    make(
        db,
        {"i": "INTEGER"} | dict.fromkeys(X.column_names, "VARCHAR(9)"),
        [(i, *a.values()) for i, a in enumerate(asked)],
    )
    start = time.process_time()
    found = sorted(db.execute(to_sql(model, dialect(db), "rows", keep=["i"])).fetchall())
    assert time.process_time() - start < 5
    here = model.predict_proba(asked)
    for row, expected in zip(found, here, strict=True):
        if row[1] is None:
            assert row[0] in (1, 3)  # refused, with a chain of missing parents
        else:
            np.testing.assert_allclose(row[2:], expected, rtol=0, atol=1e-9)
    assert found[0][1] is not None
    assert found[2][1] is not None


@pytest.mark.parametrize("network", [tb.AODE, tb.TAN, lambda **o: tb.AnDE(2, **o)], ids=["AODE", "TAN", "AnDE"])
def test_networks_of_real_columns_alone(db: Any, network: Any) -> None:
    rng, y = np.random.default_rng(0), np.arange(60) % 2
    X = pa.table({"x": rng.normal(size=60) + y, "z": rng.normal(size=60)})
    model = network(cuts=None).fit(X, y)
    rows = [(0.5, 1.0), (-3.0, None), (1e155, 2.0), (None, None)]
    columns = {"x": "DOUBLE PRECISION", "z": "DOUBLE PRECISION"}
    make(db, columns, rows)
    found = {row[:2]: row[-2:] for row in db.execute(to_sql(model, dialect(db), "rows", keep=["x", "z"])).fetchall()}
    asked = pa.table({"x": [x for x, _ in found], "z": pa.array([z for _, z in found], pa.float64())})
    np.testing.assert_allclose(list(found.values()), model.predict_proba(asked), rtol=0, atol=1e-9)


@pytest.mark.parametrize("levels", [17, 300])
def test_networks_of_many_levels(db: Any, levels: int) -> None:
    rng = np.random.default_rng(1)
    n = 4 * levels
    wide = np.r_[np.arange(levels), rng.integers(0, levels, n - levels)]
    y = np.where(rng.random(n) < 0.3, rng.integers(0, 2, n), wide % 2)
    X = pa.table({"wide": [f"w{v}" for v in wide], "x": [f"v{v}" for v in (wide + rng.integers(0, 2, n)) % 3]})
    model = tb.SPODE("wide").fit(X, y)
    asked = pa.table({"wide": ["w0", None, "unseen", "w16"], "x": ["v1", "v2", "v0", None]})
    fill(db, "rows", asked.append_column("i", pa.array(range(4))))
    start = time.process_time()
    found = sorted(db.execute(to_sql(model, dialect(db), "rows", keep=["i"])).fetchall())
    assert time.process_time() - start < 5
    np.testing.assert_allclose([row[2:] for row in found], model.predict_proba(asked), rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["TAN", "KDB", "TAN real"])
def test_every_pattern_of_missing_values(db: Any, name: str) -> None:
    t = table(150).select(["length", "colour", "alive", "width"])
    y = table(150)["kind"].to_pylist()
    model = {"TAN": tb.TAN(), "KDB": tb.KDB(2, cuts="frequency", bins=3), "TAN real": tb.TAN(cuts=None)}[name].fit(t, y)
    row = t.slice(3, 1).to_pylist()[0]
    asked = [{c: None if i >> j & 1 else row[c] for j, c in enumerate(row)} for i in range(16)]
    rows = pa.Table.from_pylist(
        [{**a, "i": i} for i, a in enumerate(asked)], t.schema.append(pa.field("i", pa.int64()))
    )
    fill(db, "rows", rows)
    found = sorted(db.execute(to_sql(model, dialect(db), "rows", keep=["i"])).fetchall())
    np.testing.assert_allclose([row[2:] for row in found], model.predict_proba(rows.select(t.column_names)), atol=1e-9)


def test_a_query_is_read_once_for_each_question_about_its_types() -> None:
    db = sqlite3.connect(":memory:")
    fill(db, "rows", table(40, missing=False).select(["length", "kind"]))
    model = tb.GaussianNB().learn_from(DatabaseQuery(db, "SELECT length, kind, length AS more FROM rows"), "kind")
    assert model.class_count_.sum() == 40
