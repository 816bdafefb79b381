"""Columns that name rows are left out; rows in every form; keys that nobody knows."""

from __future__ import annotations

import uuid
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

import tallybayes as tb
from tallybayes.errors import IdentifierColumnWarning, LabelError, TableError

N = 100
rng = np.random.default_rng(6)
x = rng.normal(size=N)
Y = np.where(x > 0, "a", "b")
NAMES = [f"u{i * 7919 % 10007}" for i in range(N)]
FORMS: dict[str, Any] = {
    "pandas": lambda: pd.DataFrame({"id": NAMES, "x": x}),
    "pandas objects": lambda: pd.DataFrame({"id": np.array(NAMES, dtype=object), "x": x}),
    "pandas categories": lambda: pd.DataFrame({"id": pd.Categorical(NAMES), "x": x}),
    "uuids": lambda: pd.DataFrame({"id": [uuid.UUID(int=i) for i in range(N)], "x": x}),
    "bytes": lambda: pd.DataFrame({"id": [name.encode() for name in NAMES], "x": x}),
    "polars": lambda: pl.DataFrame({"id": NAMES, "x": x}),
    "polars categories": lambda: pl.DataFrame({"id": pl.Series(NAMES, dtype=pl.Categorical), "x": x}),
    "pyarrow": lambda: pa.table({"id": NAMES, "x": x}),
    "pyarrow dictionary": lambda: pa.table({"id": pa.array(NAMES).dictionary_encode(), "x": x}),
    "dicts": lambda: [{"id": name, "x": v} for name, v in zip(NAMES, x, strict=True)],
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("make", [tb.NaiveBayes, tb.BayesClassifier, tb.TAN])
def test_they_are_left_out_with_one_warning(name: str, make: Any) -> None:
    X = FORMS[name]()
    with pytest.warns(IdentifierColumnWarning, match="'id'") as said:
        model = make().fit(X, Y)
    assert sum(w.category is IdentifierColumnWarning for w in said) == 1
    assert model.schema_.names == ("x",)
    assert not model.schema_.levels  # no memory for it
    assert "id: id  left out" in str(model.schema_)
    assert model.feature_names_in_.tolist() == ["id", "x"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = make().fit(pd.DataFrame({"x": x}), Y).predict_proba(pd.DataFrame({"x": x}))
        np.testing.assert_allclose(model.predict_proba(X), alone)
        np.testing.assert_allclose(model.predict_proba(pd.DataFrame({"x": x})), alone)  # it need not be there
        model.partial_fit(X, Y)  # later rows are read alike
    assert model.schema_.names == ("x",)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_first_rows_that_repeat_read_as_the_python_strings(library: Any) -> None:
    """Columns in Arrow's form are looked at in compiled code first; what that cannot settle is looked at in Python."""
    n, pick = 400, np.random.default_rng(7)
    twice = [f"name{i // 2}" for i in range(n)]  # half came before: neither texts nor ids
    words = [f"some words about {i}" for i in range(n)]
    columns = {
        "few": pick.choice(["red", "green", "blue"], n).tolist(),
        "twice": twice,
        "gaps": [None if i % 3 else v for i, v in enumerate(twice)],  # of those that are there few came before
        "text": [v if i % 2 else words[0] for i, v in enumerate(words)],
        "id": [f"u{i}" for i in range(n)],
    }
    objects = pd.DataFrame({name: np.array(values, dtype=object) for name, values in columns.items()})
    y = np.arange(n) % 2
    weighed = (np.arange(n) % 2).astype(float)  # of the rows that count, none has a name that came before
    for weights in (None, weighed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IdentifierColumnWarning)
            want, got = (tb.NaiveBayes().fit(X, y, sample_weight=weights).schema_ for X in (objects, library(columns)))
        assert (got.names, got.kinds, got.expansion) == (want.names, want.kinds, want.expansion)
    assert want.names is not None
    assert "twice" not in want.names  # with these weights it is an id


def test_what_is_declared_goes_first() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = tb.NaiveBayes(schema={"id": "categorical"}).fit(FORMS["polars"](), Y)
        assert len(kept.schema_.levels[0]) == N
        assert tb.NaiveBayes(schema={"id": "id"}).fit(FORMS["polars"](), Y).schema_.names == ("x",)
        assert tb.NaiveBayes(schema={"x": "id"}).fit(FORMS["polars"]()[["x"]].with_columns(z=1.0), Y).schema_.names == (
            "z",
        )
        assert tb.NaiveBayes(schema={1: "id"}).fit(np.column_stack([x, x]), Y).schema_.names == ("x0",)


@pytest.mark.parametrize(
    ("values", "is_id"),
    [
        ([f"v{i}" for i in range(50)], True),
        ([f"v{i}" for i in range(49)], False),  # too few to say
        ([f"v{i % 47}" for i in range(50)], False),  # 94 % of its own
        ([f"v{i}" if i < 60 else None for i in range(100)], True),  # of those that have a value
        ([f"v{i}" if i < 40 else None for i in range(100)], False),
        ([f"v{i % 3000}" for i in range(6000)], False),  # the first 2,000 show nothing, all of them do
        ([f"the {i}th word of a long text" for i in range(100)], False),  # text
        ([float(i) for i in range(100)], False),  # numbers
    ],
)
def test_the_rule(values: list[Any], is_id: bool) -> None:
    rows = [{"v": v, "x": 0.5 * (i % 7)} for i, v in enumerate(values)]
    y = ["a" if i % 2 else "b" for i in range(len(values))]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = tb.NaiveBayes().fit(rows, y)
    assert (model.schema_.names == ("x",)) is is_id
    assert any(w.category is IdentifierColumnWarning for w in said) is is_id


def test_rows_of_no_weight_do_not_count() -> None:
    values = [*(f"v{i}" for i in range(60)), *(["v0"] * 60)]
    rows = [{"v": v, "x": float(i % 5)} for i, v in enumerate(values)]
    for frame in (rows, pd.DataFrame(rows), pl.DataFrame(rows), pa.Table.from_pylist(rows)):
        with pytest.warns(IdentifierColumnWarning):
            model = tb.NaiveBayes("gaussian").fit(frame, ["a", "b"] * 60, sample_weight=[1] * 60 + [0] * 60)
        assert model.schema_.names == ("x",)


def test_nothing_else_is_an_error_and_dates_are_pointed_out() -> None:
    with pytest.raises(TableError, match="in every column \\('id'\\)"):
        tb.NaiveBayes().fit(pd.DataFrame({"id": NAMES}), Y)
    days = [str(np.datetime64("2020-01-01") + i) for i in range(N)]
    with pytest.warns(IdentifierColumnWarning, match="schema={'d': 'date'} reads 'd' as dates"):
        tb.NaiveBayes().fit(pd.DataFrame({"d": days, "x": x}), Y)


def test_models_with_and_without_an_id_do_not_merge_by_accident() -> None:
    with pytest.warns(IdentifierColumnWarning):
        a = tb.NaiveBayes("gaussian").fit(FORMS["pandas"](), Y)
    b = tb.NaiveBayes("gaussian", schema=a.schema_).fit(FORMS["pandas"]().head(20), Y[:20])
    assert a.copy().merge(b).class_count_.sum() == N + 20
    assert a.copy().forget(FORMS["pandas"]().head(20), Y[:20]).class_count_.sum() == N - 20


# --- rows --------------------------------------------------------------------------------------------------------


def test_extra_keys_and_columns_are_ignored_where_documented() -> None:
    X = pd.DataFrame({"x": x, "c": np.where(x > 1, "u", "v")})
    model = tb.NaiveBayes("gaussian").fit(X, Y)
    row = {"x": 0.3, "request": [1, 2]}
    for ask in (lambda m: m.predict_proba_one(row), lambda m: m.learn_one(row, "a")):
        with pytest.raises(TableError):
            ask(model.copy())
    with pytest.raises(TableError, match=r"'request'.*ignore_extra"):
        model.predict([{"x": 0.3, "request": 1}])
    expected = model.predict_proba([{"x": 0.3}])[0].tolist()
    assert model.ignore_extra() is model
    for same in (model, model.copy(), tb.from_bytes(tb.to_bytes(model))):
        assert list(same.predict_proba_one(row).values()) == expected
        np.testing.assert_array_equal(same.predict_proba(X.assign(z=1)), same.predict_proba(X))
        assert same.predict_proba([{"x": 0.3, "request": 1}])[0].tolist() == expected
    assert model.learn_one(row, "a").class_count_.sum() == N + 1
    with pytest.raises(TableError):
        model.ignore_extra(False).predict_proba_one(row)
    with pytest.raises(TableError, match="missing"):
        model.ignore_extra().predict(X[["c"]])


def test_a_row_of_a_frame_without_names() -> None:
    X = pd.DataFrame(rng.normal(size=(N, 3)))
    model = tb.GaussianNB().fit(X, Y)
    assert list(model.predict_proba_one(X.iloc[3]).values()) == model.predict_proba(X.iloc[[3]])[0].tolist()


def test_what_is_read_when_it_is_asked_for() -> None:
    duckdb = pytest.importorskip("duckdb")
    whole = pa.table({"x": x, "c": np.where(x > 1, "u", "v"), "y": Y})
    model = tb.NaiveBayes("gaussian").fit(whole.select(["x", "c"]), Y)
    connection = duckdb.connect()
    connection.register("whole", whole)
    forms: dict[str, Any] = {
        "dataset": lambda names: pa.dataset.dataset(whole.select(names)),
        "reader": lambda names: whole.select(names).to_reader(),
        "duckdb": lambda names: connection.sql(f"SELECT {', '.join(names)} FROM whole"),
        "lazy frame": lambda names: pl.from_arrow(whole.select(names)).lazy(),  # type: ignore[union-attr]
    }
    for form in forms.values():
        other = tb.NaiveBayes("gaussian").fit(form(["x", "c"]), form(["y"]))
        np.testing.assert_array_equal(
            other.predict_proba(form(["x", "c"])), model.predict_proba(whole.select(["x", "c"]))
        )
        assert other.score(form(["x", "c"]), form(["y"])) > 0.9
        with pytest.raises(LabelError, match="one column of labels"):
            tb.NaiveBayes().fit(form(["x"]), form(["c", "y"]))


def test_columns_of_intervals_bytes_and_sparse_ones() -> None:
    cut = pd.DataFrame({"c": pd.cut(x, 4)})
    model = tb.NaiveBayes().fit(cut, Y)
    assert model.schema_.levels[0].labels[0].startswith("(")
    as_type = tb.NaiveBayes(schema=model.schema_).fit(cut.astype("interval"), Y)
    np.testing.assert_array_equal(as_type.predict_proba(cut), model.predict_proba(cut))
    raw = [b"u" if v > 1 else b"v" for v in x]
    for frame in (pd.DataFrame({"b": raw}), pl.DataFrame({"b": raw}), pa.table({"b": raw})):
        assert tb.NaiveBayes().fit(frame, Y).schema_.levels[0].labels in ((b"u", b"v"), (b"v", b"u"))
    thin = pd.DataFrame({"s": pd.arrays.SparseArray(np.where(x > 0, x, 0.0))})
    np.testing.assert_array_equal(
        tb.GaussianNB().fit(thin, Y).predict_proba(thin),
        tb.GaussianNB().fit(thin.to_numpy(), Y).predict_proba(thin.to_numpy()),
    )


def test_nested_values_are_refused_with_the_way_to_them() -> None:
    rows = [{"a": 1.0}, {"a": 2.0, "address": {"city": {"name": "x"}}}]
    with pytest.raises(TableError, match=r"row 1, key 'address\.city\.name'"):
        tb.NaiveBayes().fit(rows, ["a", "b"])
    with pytest.raises(TableError, match=r"row 0, key 'tags\.0'"):
        tb.NaiveBayes().fit([{"tags": ["x"]}], ["a"])
