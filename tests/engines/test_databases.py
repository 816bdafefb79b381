"""Rows of a database: read, counted there, scored there, asked lazily; the same answers as here."""

from __future__ import annotations

import datetime
import decimal
import sqlite3
import sys
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import tallybayes as tb
from tallybayes.engines.sql import DatabaseQuery, DatabaseTable
from tallybayes.errors import ExportError, LabelError, OptionError, TableError
from tests.engines.databases import dialect, fill, insert, quoted
from tests.engines.tables import table

HOSTILE = 'x"; drop table y; --'


# --- read and counted ------------------------------------------------------------------------------------------------

COUNTED = {
    "NaiveBayes": lambda: tb.NaiveBayes(BY_KIND),
    "frequency": lambda: tb.NaiveBayes("frequency"),
    "AODE": lambda: tb.AODE(cuts="frequency", bins=3),
    "TAN": lambda: tb.TAN(cuts="frequency", bins=3),
    "KDB": lambda: tb.KDB(2, cuts="frequency", bins=3),
    "BayesNetwork": lambda: tb.BayesNetwork({"length": ["colour", "alive"], "alive": "colour"}),
}
BY_KIND = {"real": "gaussian", "categorical": "categorical", "binary": "bernoulli"}
ONLY_HERE = {
    "kernel": lambda: tb.NaiveBayes("kernel"),
    "BayesClassifier": lambda: tb.BayesClassifier("fast", members=2),
    "TAN real": lambda: tb.TAN(cuts=None),
}
IN_PROCESS = "rows: the database runs in this process, where rows cost less than statistics"


def as_here(t: Any, connection: Any) -> Any:
    """SQLite has no booleans: True is 1 there."""
    if dialect(connection) == "sqlite":
        return t.set_column(t.column_names.index("alive"), "alive", t["alive"].cast(pa.int64()))
    return t


@pytest.mark.filterwarnings("ignore::tallybayes.errors.AmbiguousColumnWarning")
@pytest.mark.parametrize("name", [*COUNTED, *ONLY_HERE])
def test_learned_from_a_table_is_learned_here(db: Any, name: str) -> None:
    t = table(300).drop_columns(["weight"])
    fill(db, HOSTILE, t)
    make, here = {**COUNTED, **ONLY_HERE}[name], as_here(t, db)
    X, y = here.drop_columns(["kind"]), here["kind"].to_pylist()
    whole = make().fit(X, y)
    for move in ("auto", "statistics", "rows"):
        source = DatabaseTable(db, HOSTILE, move=move)
        if move == "statistics" and name in ONLY_HERE:
            with pytest.raises(OptionError, match="cannot be counted in the database"):
                make().learn_from(source, "kind")
            continue
        model = make().learn_from(source, "kind")
        near = dialect(db) != "postgresql"  # in this process, where rows cost less
        rows = move == "rows" or name in ONLY_HERE or (move == "auto" and near)
        assert source.choice.startswith("rows" if rows else "statistics")
        np.testing.assert_array_equal(model.class_count_, whole.class_count_)
        np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-12)
    model = make().learn_from((db, HOSTILE), "kind")
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-12)


def test_a_query_with_parameters(db: Any) -> None:
    t = table(300)
    fill(db, "rows", t)
    mark = "%s" if dialect(db) == "postgresql" else "?"
    source = DatabaseQuery(db, f"SELECT length, kind FROM rows WHERE width > {mark}", [1.0], move="statistics")
    model = tb.GaussianNB().learn_from(source, "kind")
    some = t.filter(pa.compute.greater(t["width"], 1.0)) if hasattr(pa, "compute") else None
    assert some is not None
    np.testing.assert_array_equal(
        model.class_count_, tb.GaussianNB().fit(some.select(["length"]), some["kind"].to_pylist()).class_count_
    )
    assert source.choice.startswith("statistics")
    assert (
        tb.GaussianNB()
        .learn_from(DatabaseQuery(db, source.relation[1:-6], [1.0], move="rows"), "kind")
        .class_count_.sum()
        == some.num_rows
    )


def test_a_relation_of_duckdb() -> None:
    with duckdb.connect() as db:
        t = table(200)
        fill(db, "rows", t)
        model = tb.NaiveBayes(BY_KIND).learn_from(db.sql("SELECT length, colour, kind FROM rows"), "kind")
        whole = tb.NaiveBayes(BY_KIND).fit(t.select(["length", "colour"]), t["kind"].to_pylist())
        np.testing.assert_allclose(
            model.predict_proba(t.select(["length", "colour"])),
            whole.predict_proba(t.select(["length", "colour"])),
            atol=1e-12,
        )
        answers = model.predict_to(db.sql("SELECT * FROM rows"), keep=["kind"]).read_all()
        assert answers.num_rows == 200


def test_weights_are_counted_here(db: Any) -> None:
    t = table(200, missing=False)
    fill(db, "rows", t)
    source = DatabaseTable(db, "rows")
    model = tb.GaussianNB().learn_from(source, "kind", columns=["length", "width"], weight="weight")
    whole = tb.GaussianNB().fit(t.select(["length", "width"]), t["kind"].to_pylist(), t["weight"].to_numpy())
    np.testing.assert_allclose(model.class_count_, whole.class_count_)
    assert source.choice == ("rows: rows have weights" if dialect(db) == "postgresql" else IN_PROCESS)


# --- scored ----------------------------------------------------------------------------------------------------------

SCORED = {
    "NaiveBayes": (lambda: tb.NaiveBayes(), ["length", "colour", "alive", "width"]),
    "other, tempered": (lambda: tb.NaiveBayes(unseen="other", tempered=True), ["length", "colour", "alive", "width"]),
    "frequency": (lambda: tb.NaiveBayes("frequency"), ["length", "colour", "alive", "width"]),
    "TAN": (tb.TAN, ["length", "colour", "alive", "width"]),
    "TAN real": (lambda: tb.TAN(cuts=None), ["length", "colour", "alive", "width"]),
    "KDB": (lambda: tb.KDB(2, cuts="frequency", bins=4), ["length", "colour", "alive", "width"]),
    "SPODE": (lambda: tb.SPODE(tempered=True), ["length", "colour", "alive", "width"]),
    "LDA": (tb.LinearDiscriminantAnalysis, ["length", "width"]),
    "QDA": (tb.QuadraticDiscriminantAnalysis, ["length", "width", "weight"]),
    "RDA": (lambda: tb.RegularizedDiscriminantAnalysis(0.3, 0.2), ["length", "width"]),
    "GaussianNB": (tb.GaussianNB, ["length", "width"]),
    "PoissonNB": (tb.PoissonNB, ["weight"]),
    "MultinomialNB": (tb.MultinomialNB, ["weight"]),
    "BernoulliNB": (lambda: tb.BernoulliNB(binarize=1.0), ["weight"]),
    "CategoricalNB": (tb.CategoricalNB, ["colour", "alive"]),
    "no smoothing": (lambda: tb.CategoricalNB(alpha=0.0), ["colour"]),
    "AODE": (tb.AODE, ["length", "colour", "alive", "width"]),
    "AODE real": (lambda: tb.AODE(cuts=None), ["length", "colour", "alive", "width"]),
    "A2DE": (lambda: tb.AnDE(2, cuts="frequency", bins=3), ["length", "colour", "alive", "width"]),
    "BayesClassifier fast": (lambda: tb.BayesClassifier("fast", members=4), ["length", "colour", "alive", "width"]),
    "BayesClassifier": (lambda: tb.BayesClassifier(members=4), ["length", "colour", "alive", "width"]),
    "Bayes without chains": (lambda: tb.BayesClassifier(parts=("gaussian",)), ["length", "width", "weight"]),
}  # fmt: skip


EXPLAINED = {
    "tempered": (lambda: tb.NaiveBayes(unseen="other", tempered=True), ["length", "colour", "alive", "width"]),
    "PoissonNB": (tb.PoissonNB, ["weight"]),
    "BayesClassifier": (lambda: tb.BayesClassifier(members=4), ["length", "colour", "alive", "width"]),
    "Bayes without chains": (lambda: tb.BayesClassifier(parts=("gaussian",)), ["length", "width", "weight"]),
    "fast": (lambda: tb.BayesClassifier("fast", members=2), ["length", "colour", "alive", "width"]),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(EXPLAINED))
def test_evidence_there_is_evidence_here(db: Any, name: str) -> None:
    t = table(150)
    make, columns = EXPLAINED[name]
    model = make().fit(t.select(columns), t["kind"].to_pylist())
    more = {"length": [None, 1.0], "colour": ["unseen value", None], "alive": [None, True], "width": [None, None]}
    asked = pa.concat_tables([t, pa.table({**more, "weight": [1.0, 2.0], "kind": ["low"] * 2}, schema=t.schema)])
    fill(db, "rows", asked.append_column("i", pa.array(range(asked.num_rows))))
    cursor = db.execute(tb.export.to_sql(model, dialect(db), "rows", keep=["i"], evidence=True))
    found, K = sorted(cursor.fetchall()), len(model.classes_)
    read = asked.select(columns)
    np.testing.assert_allclose([row[2 : 2 + K] for row in found], model.predict_proba(read), rtol=0, atol=1e-9)
    own = np.array([row[2 + K :] for row in found], dtype=float).reshape(len(found), -1, K)
    terms = model.predictor_.terms(model.predictor_.read(read))
    np.testing.assert_allclose(own - own[:, :, :1], terms - terms[:, :, :1], atol=1e-6)
    names = [each[0] for each in cursor.description][2 + K :]
    assert names[0] == f"evidence_{columns[0]}_{model.classes_[0]}"
    assert ("evidence_(together)_high" in names) == name.startswith(("Bayes", "fast"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(SCORED))
def test_scored_there_is_scored_here(db: Any, name: str) -> None:
    t = table(150)
    make, columns = SCORED[name]
    model = make().fit(t.select(columns), t["kind"].to_pylist())
    more = {"length": [None, 1.0], "colour": ["unseen value", None], "alive": [None, True], "width": [None, None]}
    asked = pa.concat_tables([t, pa.table({**more, "weight": [1.0, 2.0], "kind": ["low"] * 2}, schema=t.schema)])
    asked = asked.append_column('row\'s "number"', pa.array(range(asked.num_rows)))
    fill(db, HOSTILE, asked)
    sql = tb.export.to_sql(model, dialect(db), HOSTILE, keep=['row\'s "number"', "alive"])
    found = sorted(db.execute(sql).fetchall())
    proba = np.array([row[3:] for row in found], dtype=float)
    np.testing.assert_allclose(proba, model.predict_proba(asked.select(columns)), rtol=0, atol=1e-9)
    assert [row[2] for row in found] == model.predict(asked.select(columns)).tolist()


def test_unseen_error_gives_null(db: Any) -> None:
    model = tb.NaiveBayes(unseen="error").fit(pa.table({"a": ["u", "v"]}), [True, False])
    fill(db, "rows", pa.table({"a": ["u", "w"]}))
    found = db.execute(tb.export.to_sql(model, dialect(db), "rows", keep="a")).fetchall()
    assert sorted(found)[1] == ("w", None, None, None)


@pytest.mark.parametrize("make", [tb.LinearDiscriminantAnalysis, tb.QuadraticDiscriminantAnalysis])
def test_missing_values_in_columns_of_very_different_units(db: Any, make: Any) -> None:
    rng = np.random.default_rng(5)
    y = np.arange(120) % 3
    scale, centre = np.array([1e-9, 1.0, 1e6, 1e-4, 1e9]), np.array([0.0, 1e5, 1e15, 1.0, -1e9])
    Z = rng.normal(size=(120, 5)) @ rng.normal(size=(5, 5)) + 0.4 * y[:, None]
    X = np.where(rng.random((120, 5)) < 0.2, np.nan, centre + scale * Z)
    t = pa.table({f"x{j}": pa.array(X[:, j], from_pandas=True) for j in range(5)})
    model = make().fit(t, y)
    fill(db, "rows", t.append_column("i", pa.array(range(120))))
    found = sorted(db.execute(tb.export.to_sql(model, dialect(db), "rows", keep=["i"])).fetchall())
    np.testing.assert_allclose([row[2:] for row in found], model.predict_proba(t), rtol=0, atol=1e-11)


def test_log_gaussian_beside_numbers_that_are_not_positive(db: Any) -> None:
    rng = np.random.default_rng(6)
    y = np.arange(90) % 3
    income = np.where(rng.random(90) < 0.2, 0.0, np.exp(3 * rng.normal(size=90) + y))
    t = pa.table({"income": pa.array(np.where(rng.random(90) < 0.1, np.nan, income), from_pandas=True)})
    model = tb.NaiveBayes("log-gaussian").fit(t, y)
    asked = pa.table({"income": pa.array([*t["income"].to_pylist(), 0.0, -3.0, 1e-300, 1e300, None], pa.float64())})
    fill(db, "rows", asked.append_column("i", pa.array(range(95))))
    found = sorted(db.execute(tb.export.to_sql(model, dialect(db), "rows", keep=["i"])).fetchall())
    np.testing.assert_allclose([row[2:] for row in found], model.predict_proba(asked), rtol=0, atol=1e-11)


def test_a_large_block_with_a_missing_value_gives_null(db: Any) -> None:
    rng = np.random.default_rng(0)
    X = pa.table({f"x{j}": rng.normal(size=60) for j in range(8)})
    model = tb.LinearDiscriminantAnalysis().fit(X, rng.integers(0, 2, 60))
    gap = X.set_column(3, "x3", pa.array([None, *X["x3"].to_pylist()[1:]], pa.float64()))
    fill(db, "rows", gap.append_column("i", pa.array(range(60))))
    statement = tb.export.to_sql(model, dialect(db), "rows", keep=["i"])
    assert statement.startswith("/* A row with NULL in a column of the discriminant gets NULL.")
    found = sorted(db.execute(statement).fetchall())
    assert found[0] == (0, None, None, None)
    np.testing.assert_allclose([r[2:] for r in found[1:]], model.predict_proba(X)[1:], rtol=0, atol=1e-9)


@pytest.mark.parametrize(("column", "keep", "named"), [("amounts", [], "amount"), ("amount", ["order_id"], "order_id")])
def test_a_column_that_is_not_there_is_no_text(db: Any, column: str, keep: list[str], named: str) -> None:
    model = tb.GaussianNB().fit(pa.table({"amount": [1.0, 2.0, 8.0, 9.0]}), ["x", "x", "z", "z"])
    fill(db, "rows", pa.table({column: [1.0, 9.0]}))
    with pytest.raises(Exception, match=named):
        db.execute(tb.export.to_sql(model, dialect(db), "rows", keep=keep))


def test_a_column_that_stands_apart_counts(db: Any) -> None:
    rng = np.random.default_rng(0)
    wide = np.r_[np.arange(400), rng.integers(0, 400, 500)]
    a = rng.integers(0, 3, 900)
    columns = {"a": a, "wide": wide, "b": (a + rng.integers(0, 2, 900)) % 3}
    t = pa.table({name: [f"{name}{v}" for v in values] for name, values in columns.items()})
    model = tb.TAN().fit(t, (a + (wide % 3 == 0) > 1).astype(int))
    gaps = t.set_column(0, "a", pa.array([None, *t["a"].to_pylist()[1:]]))
    fill(db, "rows", gaps.append_column("i", pa.array(range(900))))
    found = sorted(db.execute(tb.export.to_sql(model, dialect(db), "rows", keep=["i"])).fetchall())
    np.testing.assert_allclose([row[2:] for row in found], model.predict_proba(gaps), rtol=0, atol=1e-9)


def test_models_with_too_many_cells_advise_what_they_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tallybayes.engines.sql.sql_relations.MAX_CELLS", 5)
    t = table(60, missing=False)
    X, y = t.select(["colour", "alive", "length"]), t["kind"].to_pylist()
    for model in (tb.AODE(cuts="frequency"), tb.BayesClassifier("fast"), tb.BayesClassifier(parts=("networks",))):
        with pytest.raises(ExportError, match="fewer columns or fewer levels") as refused:
            tb.export.to_sql(model.fit(X, y))
        smaller = isinstance(model, tb.BayesClassifier) and model.effort != "fast"
        assert ("effort='fast'" in str(refused.value)) == smaller


def test_a_large_ensemble_is_refused_before_its_tables_are_described(monkeypatch: pytest.MonkeyPatch) -> None:
    t = table(60, missing=False)
    model = tb.BayesClassifier("fast", members=2).fit(t.select(["colour", "alive", "length"]), t["kind"].to_pylist())
    statement = tb.export.to_sql(model)
    monkeypatch.setattr("tallybayes.engines.sql.sql_ensemble.MAX_CELLS", 5)
    monkeypatch.setattr("tallybayes.engines.sql.sql_scores.description", lambda _: pytest.fail("described"))
    with pytest.raises(ExportError, match="fewer columns or fewer levels"):
        tb.export.to_sql(model)
    assert statement.startswith("WITH")


def test_a_comment_where_rows_of_a_network_get_null() -> None:
    rng = np.random.default_rng(0)
    X = pa.table({f"x{j}": [f"v{v}" for v in rng.integers(0, 20, 300)] for j in range(5)})
    chain = {f"x{j + 1}": f"x{j}" for j in range(4)}
    wide = tb.BayesNetwork(chain).fit(X, rng.integers(0, 2, 300))
    assert tb.export.to_sql(wide).startswith("/* A row whose missing parents have more than 4,096 combinations")
    assert tb.export.to_sql(tb.BayesNetwork({"x1": "x0"}).fit(X, rng.integers(0, 2, 300)))[:2] != "/*"


def test_a_kernel_density_is_named_with_what_to_do() -> None:
    X = pa.table({"age": [1.0, 2.0, 3.0, 4.0], "pay": [1.0, 2.0, 3.0, 4.0]})
    model = tb.NaiveBayes({"age": "kernel", "pay": "gaussian"}).fit(X, ["a", "b", "a", "b"])
    with pytest.raises(ExportError, match=r"'age' looks at every value.*NaiveBayes\('mdl', tempered=True\)"):
        tb.export.to_sql(model)


def test_models_without_sql_give_the_reason() -> None:
    t = table(60)
    wide = tb.TAN().fit(t.select(["colour", "alive"]), t["kind"].to_pylist())
    with pytest.raises(ExportError, match=r"This TAN has no SQL: its columns share their evidence, .* predict_to"):
        tb.export.to_sql(wide, evidence=True)
    rng = np.random.default_rng(0)
    near = tb.BayesClassifier("best", members=2, parts=("networks", "neighbors"))
    near.fit(rng.normal(size=(80, 2)), np.arange(80) % 2)
    with pytest.raises(ExportError, match=r"k-nearest neighbours compare each row .* predict_to"):
        tb.export.to_sql(near)
    with pytest.raises(ExportError, match="kernel"):
        tb.export.to_sql(tb.KernelNB().fit([[1.0], [2.0]], ["a", "b"]))
    model = tb.GaussianNB().fit([[1.0], [2.0]], ["a", "b"])
    with pytest.raises(OptionError, match="dialect must be"):
        tb.export.to_sql(model, "oracle")
    with pytest.raises(OptionError, match="of its own"):
        tb.export.to_sql(model, keep=["prediction"])
    with pytest.raises(OptionError, match="NUL"):
        tb.export.to_sql(model, table="a\x00b")


# --- lazily ----------------------------------------------------------------------------------------------------------


def same(lazy: Any, model: Any, X: Any) -> None:
    np.testing.assert_allclose(lazy.predict_proba(X), model.predict_proba(X), rtol=0, atol=1e-12)
    assert lazy.predict(X).tolist() == model.predict(X).tolist()


LAZY = {
    "NaiveBayes": lambda: tb.NaiveBayes(BY_KIND),
    "GaussianNB": tb.GaussianNB,
    "CategoricalNB": tb.CategoricalNB,
    "AODE": tb.AODE,
    "SPODE": lambda: tb.SPODE("colour"),
    "BayesNetwork": lambda: tb.BayesNetwork("colour -> alive"),
}
COLUMNS = {"NaiveBayes": ["length", "colour", "alive", "width"], "GaussianNB": ["length", "width"]}


@pytest.mark.filterwarnings("ignore::tallybayes.errors.AmbiguousColumnWarning")
@pytest.mark.parametrize("name", list(LAZY))
def test_a_lazy_answer_is_that_of_a_fit_on_the_current_rows(db: Any, name: str) -> None:
    columns = COLUMNS.get(name, ["colour", "alive"])
    t = table(300).select([*columns, "kind"])
    if dialect(db) == "sqlite" and "alive" in columns:  # 0 and 1 are numbers there
        words = pa.array([None if v is None else str(v) for v in t["alive"].to_pylist()])
        t = t.set_column(t.column_names.index("alive"), "alive", words)
    fill(db, HOSTILE, t.slice(0, 200))
    lazy = tb.LazyBayes(LAZY[name](), db, HOSTILE, "kind")

    def fitted(rows: Any) -> Any:
        return LAZY[name]().fit(rows.select(columns), rows["kind"].to_pylist())

    X = t.select(columns)
    same(lazy, fitted(t.slice(0, 200)), X)
    insert(db, HOSTILE, t.slice(200))
    same(lazy, fitted(t), X)
    db.execute(f"DELETE FROM {quoted(HOSTILE)} WHERE kind = 'mid'")
    left = t.filter(pa.array([v != "mid" for v in t["kind"].to_pylist()]))
    same(lazy, fitted(left), X)
    new = {
        "length": 50.0,
        "width": 0.0,
        "colour": "purple",
        "alive": t["alive"][0].as_py() if "alive" in columns else None,
    }
    insert(db, HOSTILE, pa.table({name: [new[name]] for name in columns} | {"kind": ["strange"]}, schema=t.schema))
    now = pa.concat_tables(
        [left, pa.table({name: [new[name]] for name in columns} | {"kind": ["strange"]}, schema=t.schema)]
    )
    same(lazy, fitted(now), X)
    one = {name: new[name] for name in columns}
    np.testing.assert_allclose(lazy.predict_proba(one), fitted(now).predict_proba([one]), rtol=0, atol=1e-12)
    reported = lazy.explain(X.slice(0, 3))
    assert str(reported) == str(fitted(now).explain(X.slice(0, 3))) if name != "GaussianNB" else reported is not None


def test_what_is_gone_from_the_table_is_gone_lazily(db: Any) -> None:
    t = table(200, missing=False).select(["colour", "length", "kind"])
    fill(db, "rows", t)
    lazy = tb.LazyBayes(tb.NaiveBayes("gaussian", unseen="error"), db, "rows", "kind")
    asked = {"colour": "red", "length": 1.0}
    assert lazy.predict_proba(asked).shape == (1, 3)
    db.execute("DELETE FROM rows WHERE colour = 'red' OR kind = 'low'")
    with pytest.raises(TableError, match="not seen while learning"):
        lazy.predict(asked)
    assert lazy.predict_proba({"length": 1.0}).shape == (1, 2)


def test_a_plan_knows_what_the_rows_do_not_show(db: Any) -> None:
    t = table(200, missing=False).select(["colour", "length", "kind"])
    fill(db, "rows", t.filter(pa.array([v != "mid" for v in t["kind"].to_pylist()])))
    plan = tb.NaiveBayes("gaussian").plan(t, "kind")
    there, here = (
        tb.NaiveBayes("gaussian").learn_from(DatabaseTable(db, "rows", move=move), "kind", plan=plan)
        for move in ("statistics", "rows")
    )
    assert there.classes_.tolist() == here.classes_.tolist() == ["high", "low", "mid"]
    np.testing.assert_array_equal(there.class_count_, here.class_count_)


def test_weights_of_classes_count(db: Any) -> None:
    t = table(200).select(["colour", "length", "kind"])
    fill(db, "rows", t)
    X = t.select(["colour", "length"])

    def make() -> tb.NaiveBayes:
        return tb.NaiveBayes("gaussian", class_weight={"low": 5.0})

    source = DatabaseTable(db, "rows")
    found, whole = make().learn_from(source, "kind"), make().fit(X, t["kind"].to_pylist())
    np.testing.assert_allclose(found.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-12)
    assert source.choice == ("rows: classes have weights" if dialect(db) == "postgresql" else IN_PROCESS)
    with pytest.raises(OptionError, match="classes have weights"):
        tb.LazyBayes(make(), db, "rows", "kind")


def test_whole_numbers_that_are_equal_as_floats(db: Any) -> None:
    far = 2**53
    t = pa.table({"id": [far, far + 1, far + 1, 3], "kind": ["a", "b", "b", "a"]})
    fill(db, "rows", t)

    def make() -> tb.NaiveBayes:
        return tb.NaiveBayes(schema={"id": "categorical"})

    whole = make().fit(t.select(["id"]), t["kind"].to_pylist())
    for move in ("statistics", "rows"):
        found = make().learn_from(DatabaseTable(db, "rows", move=move), "kind")
        np.testing.assert_allclose(
            found.predict_proba(t.select(["id"])), whole.predict_proba(t.select(["id"])), rtol=0, atol=1e-12
        )


def test_two_readers_at_a_time(db: Any) -> None:
    t = table(100, missing=False).select(["length", "kind"])
    fill(db, "rows", t)
    if dialect(db) == "duckdb":
        pytest.skip("a connection of DuckDB has one result at a time")
    model = tb.GaussianNB().learn_from((db, "rows"), "kind")
    one, two = (DatabaseTable(db, "rows").batches(["length"], 10) for _ in range(2))
    assert next(one)["length"].to_pylist() == next(two)["length"].to_pylist()
    assert sum(len(part) for part in one) == 90
    assert model.predict_to((db, "rows")).read_all().num_rows == 100


def test_what_columns_lazily_are(db: Any) -> None:
    fill(db, "rows", table(30).select(["length", "colour", "kind"]))
    for columns, words in ((["length", "kind"], "both"), ([], "no feature"), (["no"], "no column 'no'")):
        with pytest.raises((OptionError, TableError), match=words):
            tb.LazyBayes(tb.NaiveBayes("gaussian"), db, "rows", "kind", columns=columns)


def test_tan_with_its_tree_is_counted_anew(db: Any) -> None:
    t = table(300).select(["colour", "length", "kind"])
    fill(db, "rows", t)
    first = tb.TAN(cuts="frequency", bins=3).fit(
        t.slice(0, 100).select(["colour", "length"]), t["kind"].to_pylist()[:100]
    )
    lazy = tb.LazyBayes(first, db, "rows", "kind")
    again = first.empty().partial_fit(t.select(["colour", "length"]), t["kind"].to_pylist())
    same(lazy, again, t.select(["colour", "length"]))


def test_only_what_is_asked_is_counted(db: Any) -> None:
    t = table(100).select(["length", "width", "colour", "kind"])
    fill(db, "rows", t)
    lazy = tb.LazyBayes(tb.NaiveBayes(BY_KIND), db, "rows", "kind")
    counted = lazy.model_for({"length": 1.0}).fitted_
    by_name = {counted.schema.name(j): term for term in counted.terms for j in term.columns}
    assert by_name["length"].statistics.n[:, 0].sum() > 0
    assert by_name["width"].statistics.n[:, 1].sum() == 0
    assert by_name["colour"].statistics.count.sum() == 0
    whole = tb.NaiveBayes(BY_KIND).fit(t.drop_columns(["kind"]), t["kind"].to_pylist())
    np.testing.assert_allclose(lazy.predict_proba({"length": 1.0}), whole.predict_proba([{"length": 1.0}]), atol=1e-12)


def test_a_table_in_memory_is_asked_lazily() -> None:
    t = table(200).select(["length", "colour", "kind"])
    frame = t.to_pandas()
    lazy = tb.LazyBayes(tb.NaiveBayes(BY_KIND), None, frame, "kind")
    same(
        lazy,
        tb.NaiveBayes(BY_KIND).fit(t.select(["length", "colour"]), t["kind"].to_pylist()),
        t.select(["length", "colour"]),
    )


def test_numbers_far_from_zero_keep_their_variance(db: Any) -> None:
    rng = np.random.default_rng(0)
    t = pa.table({"x": 1e9 + rng.normal(size=400), "kind": rng.choice(["a", "b"], 400)})
    fill(db, "rows", t)
    lazy = tb.LazyBayes(tb.GaussianNB(), db, "rows", "kind")
    found = lazy.predict_proba(t.select(["x"]))
    np.testing.assert_allclose(
        found, tb.GaussianNB().fit(t.select(["x"]), t["kind"].to_pylist()).predict_proba(t.select(["x"])), atol=1e-9
    )


def test_lazily_refused(db: Any) -> None:
    t = table(60)
    fill(db, "rows", t)
    for model, why in (
        (tb.TAN(), "chooses"),
        (tb.BayesClassifier("fast"), "chooses"),
        (tb.LinearDiscriminantAnalysis(), "no table"),
    ):
        with pytest.raises(OptionError, match=why):
            tb.LazyBayes(model, db, "rows", "kind", columns=["length", "width"])
    with pytest.raises(OptionError, match="takes a classifier"):
        tb.LazyBayes("NaiveBayes", db, "rows", "kind")  # type: ignore[type-var]
    with pytest.raises(TableError, match="no column 'nothing'"):
        tb.LazyBayes(tb.NaiveBayes(), db, "rows", "nothing")
    with pytest.raises(OptionError, match="as a database"):
        tb.LazyBayes(tb.NaiveBayes(), object(), "rows", "kind")


# --- what nobody expects ---------------------------------------------------------------------------------------------


def test_a_table_is_only_a_table(db: Any) -> None:
    fill(db, "y", table(10))
    t = table(50).rename_columns(["select", 'quo"te', "from", "O'Hara %s ?", "group", "order by 1; --"])
    fill(db, HOSTILE, t)
    columns = [name for name in t.column_names if name not in ("group", "order by 1; --")]
    columns = [name for name in columns if not (name == "from" and dialect(db) == "sqlite")]
    model = tb.NaiveBayes(BY_KIND).learn_from((db, HOSTILE), "order by 1; --", columns=columns)
    whole = tb.NaiveBayes(BY_KIND).fit(t.select(columns), t["order by 1; --"].to_pylist())
    np.testing.assert_allclose(
        model.predict_proba(t.select(columns)), whole.predict_proba(t.select(columns)), atol=1e-12
    )
    lazy = tb.LazyBayes(tb.NaiveBayes(BY_KIND), db, HOSTILE, "order by 1; --", columns=columns)
    same(lazy, whole, t.select(columns))
    found = db.execute(tb.export.to_sql(model, dialect(db), HOSTILE)).fetchall()
    assert len(found) == 50
    assert db.execute("SELECT COUNT(*) FROM y").fetchall() == [(10,)]


def test_an_empty_table_and_one_class(db: Any) -> None:
    t = table(30).select(["length", "colour", "kind"])
    fill(db, "rows", t.slice(0, 0))
    with pytest.raises(TableError, match="no rows"):
        tb.NaiveBayes().learn_from((db, "rows"), "kind")
    with pytest.raises(TableError, match="no rows"):
        tb.LazyBayes(tb.NaiveBayes(BY_KIND), db, "rows", "kind")
    one = t.filter(pa.array([v == "low" for v in t["kind"].to_pylist()]))
    insert(db, "rows", one)
    lazy = tb.LazyBayes(tb.NaiveBayes(BY_KIND), db, "rows", "kind")
    assert lazy.predict_proba({"length": 1.0}).tolist() == [[1.0]]
    assert db.execute(tb.export.to_sql(lazy.model_for(t.select(["length", "colour"])), dialect(db), "rows")).fetchall()[
        0
    ] == (
        "low",
        1.0,
    )
    db.execute("DELETE FROM rows")
    with pytest.raises(TableError, match="no rows"):
        lazy.predict({"length": 1.0})


def test_a_row_without_a_label(db: Any) -> None:
    t = table(30).select(["length", "kind"])
    fill(db, "rows", t)
    insert(db, "rows", pa.table({"length": [1.0], "kind": pa.array([None], pa.string())}))
    for move in ("statistics", "rows"):
        with pytest.raises(LabelError, match="label"):
            tb.GaussianNB().learn_from(DatabaseTable(db, "rows", move=move), "kind")


def test_columns_of_all_null(db: Any) -> None:
    t = table(30).select(["length", "colour", "kind"])
    t = t.set_column(0, "length", pa.nulls(30, pa.float64())).set_column(1, "colour", pa.nulls(30, pa.string()))
    fill(db, "rows", t)
    model = tb.NaiveBayes(BY_KIND).learn_from((db, "rows"), "kind")
    np.testing.assert_allclose(model.predict_proba(t.select(["length", "colour"]))[0], model.class_count_ / 30)


@pytest.mark.parametrize(
    "value", [decimal.Decimal("1.5"), datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), b"x"]
)
def test_types_of_every_kind(db: Any, value: Any) -> None:
    if dialect(db) == "sqlite" and not isinstance(value, bytes):
        pytest.skip("SQLite has numbers, text and blobs")
    kind = {"Decimal": "DECIMAL(10, 2)", "date": "DATE", "datetime": "TIMESTAMP", "bytes": "BLOB"}[type(value).__name__]
    kind = "bytea" if kind == "BLOB" and dialect(db) == "postgresql" else kind
    db.execute(f"CREATE TABLE rows (x {kind}, kind VARCHAR(10))")
    mark = "%s" if dialect(db) == "postgresql" else "?"
    for label in ("a", "b"):
        db.execute(f"INSERT INTO rows VALUES ({mark}, {mark})", (value, label))
    if isinstance(value, decimal.Decimal):
        for move in ("statistics", "rows"):
            assert tb.GaussianNB().learn_from(DatabaseTable(db, "rows", move=move), "kind").theta_.tolist() == [
                [1.5],
                [1.5],
            ]
        return
    if isinstance(value, datetime.date):
        source = DatabaseTable(db, "rows")
        model = tb.NaiveBayes("gaussian").learn_from(source, "kind")
        assert model.schema_.names == ("x: days since 1970",)
        held = source.choice.startswith("rows: the column 'x' holds dates")
        assert held if dialect(db) == "postgresql" else source.choice == IN_PROCESS
        return
    with pytest.raises(TableError, match=r"Column 'x' .* is of type"):
        tb.NaiveBayes().learn_from((db, "rows"), "kind")


def test_text_among_numbers_in_sqlite() -> None:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE rows (x, kind)")
    db.executemany("INSERT INTO rows VALUES (?, ?)", [(1.5, "a"), ("two", "b")])
    with pytest.raises(TableError, match="text and numbers"):
        tb.NaiveBayes().learn_from((db, "rows"), "kind")


@pytest.mark.parametrize(
    ("first", "late", "kind"), [(1.5, "two", "text and numbers"), ("one", 2, "text and numbers"), (1, b"2", "BLOB")]
)
def test_a_late_row_of_sqlite_that_is_of_another_kind(first: object, late: object, kind: str) -> None:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE rows (x, kind)")
    db.executemany("INSERT INTO rows VALUES (?, ?)", [(first, "ab"[i % 2]) for i in range(1500)])
    model = tb.NaiveBayes("gaussian").learn_from((db, "rows"), "kind")
    db.execute("INSERT INTO rows VALUES (?, 'a')", (late,))
    for learner in (model, tb.NaiveBayes("gaussian"), tb.AODE()):
        with pytest.raises(TableError, match=f"Column 'x' is of type {kind}"):
            learner.learn_from((db, "rows"), "kind")
    assert model.class_count_.tolist() == [750.0, 750.0]
    lazy = tb.LazyBayes(tb.NaiveBayes("gaussian"), db, "rows", "kind")
    with pytest.raises(TableError, match=kind):
        lazy.predict({"x": first})


def test_numbers_of_sqlite_that_come_late_or_change_their_type() -> None:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE rows (gap, whole, kind)")
    rows = [(None, 3, "ab"[i % 2]) for i in range(1500)] + [(0.5, 0.25, "b"), (2, 7, "a"), (None, None, "b")]
    db.executemany("INSERT INTO rows VALUES (?, ?, ?)", rows)
    found = tb.GaussianNB().learn_from((db, "rows"), "kind")
    table = pa.table({"gap": [r[0] for r in rows], "whole": [None if r[1] is None else float(r[1]) for r in rows]})
    whole = tb.GaussianNB().fit(table, [r[2] for r in rows])
    np.testing.assert_allclose(found.theta_, whole.theta_, rtol=1e-12)
    np.testing.assert_allclose(found.var_, whole.var_, rtol=1e-12)


def test_sqlite_reads_the_rows_of_a_plan_once(monkeypatch: pytest.MonkeyPatch) -> None:
    t = table(300)
    db = sqlite3.connect(":memory:")
    fill(db, "rows", t)
    X = t.select(["length", "colour"])
    run: list[str] = []
    source, fitted = DatabaseTable(db, "rows"), tb.AODE().fit(X, t["kind"].to_pylist())
    db.set_trace_callback(run.append)
    for most, times in ((1 << 20, 1), (0, 2)):
        monkeypatch.setattr(sys.modules[DatabaseTable.__module__], "MAX_KEPT_BYTES", most)
        run.clear()
        found = tb.AODE().learn_from(source, "kind", columns=["length", "colour"])
        np.testing.assert_allclose(found.predict_proba(X), fitted.predict_proba(X), rtol=0, atol=1e-12)
        assert sum("typeof" not in sql and "LIMIT" not in sql for sql in run) == times
    db.execute("DELETE FROM rows WHERE kind = 'low'")  # nothing is kept from one call to the next
    assert tb.AODE().learn_from(source, "kind", columns=["length", "colour"]).classes_.tolist() == ["high", "mid"]


def test_a_column_that_changes_its_kind_is_seen() -> None:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE rows (x, kind)")
    db.executemany("INSERT INTO rows VALUES (?, ?)", [(1.5, "a"), (2.5, "b")])
    lazy = tb.LazyBayes(tb.NaiveBayes(BY_KIND), db, "rows", "kind")
    assert lazy.predict({"x": 1.0}).tolist() == ["a"]
    db.execute("UPDATE rows SET x = 'word ' || kind")
    assert lazy.predict({"x": "word b"}).tolist() == ["b"]


@pytest.mark.parametrize("text", [False, True])
def test_wide_tables(db: Any, text: bool) -> None:
    # a page of PostgreSQL holds no more; SQLite adds no 1,000 terms at once; DuckDB binds in quadratic time
    d = {"postgresql": 700, "sqlite": 1200, "duckdb": 600}[dialect(db)]
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (8, d)).astype(float)
    t = pa.table({f"x{j}": pa.array([str(v) for v in rows[:, j]] if text else rows[:, j]) for j in range(d)})
    fill(db, "rows", t.append_column("kind", pa.array(list("abababab"))))
    source = DatabaseTable(db, "rows")
    model = tb.NaiveBayes("gaussian").learn_from(source, "kind")
    assert source.choice.startswith("rows: more than" if dialect(db) == "postgresql" else "rows: the database runs in")
    np.testing.assert_array_equal(
        model.predict_proba(t), tb.NaiveBayes("gaussian").fit(t, list("abababab")).predict_proba(t)
    )
    found = [row[1:] for row in db.execute(tb.export.to_sql(model, dialect(db), "rows")).fetchall()]
    np.testing.assert_allclose(found, model.predict_proba(t), rtol=0, atol=1e-9)


def test_infinity_is_refused_wherever_it_is_counted() -> None:
    db = duckdb.connect()
    db.execute("CREATE TABLE rows AS SELECT CAST(i AS DOUBLE) AS x, 'ab'[1 + i % 2] AS kind FROM range(2000) t(i)")
    db.execute("INSERT INTO rows VALUES ('infinity'::DOUBLE, 'a')")
    for move in ("statistics", "rows"):
        with pytest.raises(TableError, match="infinity"):
            tb.GaussianNB().learn_from(DatabaseTable(db, "rows", move=move), "kind")
    with pytest.raises(TableError, match="infinity"):
        tb.LazyBayes(tb.GaussianNB(), db, "rows", "kind").predict({"x": 1.0})


def test_what_the_database_refuses_is_an_error_of_ours(db: Any) -> None:
    with pytest.raises(TableError, match="Cannot read the table 'nowhere'"):
        tb.NaiveBayes().learn_from((db, "nowhere"), "kind")
    with pytest.raises(TableError, match="Cannot read the query"):
        DatabaseQuery(db, "SELEC 1")
    with pytest.raises(OptionError, match="Query"):
        tb.NaiveBayes().learn_from((db, "SELECT 1 AS x, 2 AS y"), "y")
    fill(db, "rows", table(30).select(["length", "kind"]))  # an open transaction goes on
    for sql in ("SELECT * FROM rows;", "SELECT * FROM rows -- all of them", " SELECT * FROM rows ; \n"):
        assert tb.GaussianNB().learn_from(DatabaseQuery(db, sql), "kind").class_count_.sum() == 30
