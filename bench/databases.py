"""Rows in a database: counted there beside a fit of what was fetched, and scored there beside predict_proba."""

from __future__ import annotations

from typing import Any

import numpy as np

import tallybayes as tb

from . import data
from .harness import Case, Side, workload
from .workloads import shape


def _database(n: int) -> tuple[Any, Any, list[str]]:
    """A table of 20 numbers, 10 columns of text and a class."""
    import duckdb
    import pyarrow as pa

    X, y = data.gaussians(n, 20, 3)
    words = np.array(["red", "green", "blue", "grey", "black"])
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"x{j}": X[:, j] for j in range(20)}
    columns |= {f"t{j}": words[rng.integers(0, 5, n)] for j in range(10)}
    table = pa.table({**columns, "class": y})
    db = duckdb.connect()
    db.register("arrow", table)
    db.execute("CREATE TABLE data AS SELECT * FROM arrow")
    return db, table, list(columns)


@workload("NaiveBayes from DuckDB, statistics", megabytes=1000.0, move="statistics")
@workload("NaiveBayes from DuckDB, rows", megabytes=1000.0, move="rows")
def counted(shrink: int, move: str) -> Case:
    from tallybayes.engines.sql import DatabaseTable

    n = 1_000_000 // shrink
    db, _, columns = _database(n)

    def fetched() -> object:
        found = db.sql("SELECT * FROM data").to_arrow_table()
        return tb.NaiveBayes("gaussian").fit(found.select(columns), found["class"].to_numpy())

    return Case(
        shape(n, "20 float64, 10 text", f"3 classes, {move} move"),
        ours=lambda: tb.NaiveBayes("gaussian").learn_from(DatabaseTable(db, "data", move=move), "class"),
        peer=Side("fetch all rows, then fit", fetched),
    )


@workload("NaiveBayes scored in DuckDB", megabytes=1000.0)
def scored(shrink: int) -> Case:
    n = 1_000_000 // shrink
    db, table, columns = _database(n)
    X = table.select(columns)
    model = tb.NaiveBayes("gaussian").fit(X, table["class"].to_numpy())
    statement = tb.export.to_sql(model)

    def there() -> object:
        found = db.sql(statement).to_arrow_table()
        return np.column_stack([found.column(k + 1).to_numpy() for k in range(3)])

    return Case(
        shape(n, "20 float64, 10 text", "3 classes"),
        ours=there,
        peer=Side("predict_proba here", lambda: model.predict_proba(X)),
        tolerance=1e-9,
    )


@workload("LazyBayes, one prediction", seconds=0.5, megabytes=200.0)
def lazily(shrink: int) -> Case:
    n = 1_000_000 // shrink
    db, _, columns = _database(n)
    lazy = tb.LazyBayes(tb.NaiveBayes("gaussian"), db, "data", "class", columns=columns)
    return Case(
        shape(n, "4 columns asked of 30", "3 classes"),
        ours=lambda: lazy.predict_proba({"x0": 0.5, "x1": -1.0, "t0": "red", "t1": "blue"}),
    )
