"""Integers beyond 2⁵³ keep every digit as categories and as labels, also where a value is missing."""

from __future__ import annotations

import decimal
from collections.abc import Callable

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tallybayes import NaiveBayes, SemiSupervised
from tallybayes.data.table import read_table
from tallybayes.errors import TableError
from tallybayes.explain.novelty import hidden

A, B = 1000000000000000001, 1000000000000000002  # one number in float64
VALUES = [A, B] * 29 + [None, None]
Y = ["a", "b"] * 30


def _duckdb(values: list[object], kind: str) -> object:
    numbers = pa.table({"k": pa.array(values, pa.int64())})
    return duckdb.from_arrow(numbers).project(f"k::{kind} as k")


TABLES: dict[str, Callable[[list[object]], object]] = {
    "pandas Int64": lambda v: pd.DataFrame({"k": pd.array(v, dtype="Int64")}),
    "pandas UInt64": lambda v: pd.DataFrame({"k": pd.array(v, dtype="UInt64")}),
    "pandas arrow": lambda v: pd.DataFrame({"k": pd.array(v, dtype="int64[pyarrow]")}),
    "pandas object": lambda v: pd.DataFrame({"k": pd.Series(v, dtype=object)}),
    "pandas category": lambda v: pd.DataFrame({"k": pd.Categorical(pd.array(v, dtype="Int64"))}),
    "arrow int64": lambda v: pa.table({"k": pa.array(v, pa.int64())}),
    "arrow uint64": lambda v: pa.table({"k": pa.array(v, pa.uint64())}),
    "arrow decimal": lambda v: pa.table({"k": pa.array(v, pa.decimal128(38, 0))}),
    "arrow dictionary": lambda v: pa.table({"k": pa.array(v, pa.int64()).dictionary_encode()}),
    "polars Int64": lambda v: pl.DataFrame({"k": v}, schema={"k": pl.Int64}),
    "polars lazy": lambda v: pl.LazyFrame({"k": v}, schema={"k": pl.UInt64}),
    "polars Int128": lambda v: pl.DataFrame({"k": v}, schema={"k": pl.Int128}),
    "duckdb bigint": lambda v: _duckdb(v, "bigint"),
    "duckdb hugeint": lambda v: _duckdb(v, "hugeint"),
    "dicts": lambda v: [{"k": x} for x in v],
    "dicts with NaN": lambda v: [{"k": np.nan if x is None else x} for x in v],
    "dicts of decimals": lambda v: [{"k": None if x is None else decimal.Decimal(x)} for x in v],
    "lists": lambda v: [[x, 0.5] for x in v],
    "lists with NaN": lambda v: [[np.nan if x is None else x, 0.5] for x in v],
    "objects": lambda v: np.array([[x, 0.5] for x in v], dtype=object),
    "masked": lambda v: np.ma.masked_array([[x or 0] for x in v], mask=[[x is None] for x in v], dtype=np.int64),
}


@pytest.fixture(params=TABLES)
def table(request: pytest.FixtureRequest) -> Callable[[list[object]], object]:
    return TABLES[request.param]


def _model(X: object, y: list[str]) -> NaiveBayes:
    column = "k" if not isinstance(X, np.ndarray | list) or isinstance(X[0], dict) else 0
    return NaiveBayes(schema={column: "categorical"}).fit(X, y)


def test_accounts_that_float64_rounds_to_one_number_are_two_levels(table: Callable[[list[object]], object]) -> None:
    m = _model(table(VALUES), Y)
    assert set(m.schema_.levels[0].labels) == {A, B}
    p = m.predict_proba(table([A, B, None]))
    assert p[0, 0] > 0.95
    assert p[1, 0] < 0.05
    np.testing.assert_allclose(p[2], 0.5, atol=1e-9)


def test_rows_one_by_one_answer_as_a_batch_with_a_missing_value(table: Callable[[list[object]], object]) -> None:
    m = _model(table([A, B] * 30), Y)
    batch = m.predict_proba(table([A, B, None]))
    alone = np.vstack([m.predict_proba(table([v])) for v in (A, B)])
    np.testing.assert_array_equal(batch[:2], alone)
    names = m.schema_.names or ("x0",)
    for row, v in zip(batch, (A, B, None), strict=True):
        assert list(m.predict_proba_one({names[0]: v}).values()) == row.tolist()


def test_they_are_numbers_where_numbers_are_wanted() -> None:
    X = pd.DataFrame({"k": pd.array(VALUES, dtype="Int64")})
    plain = X.astype("float64")
    m, expected = NaiveBayes().fit(X, Y), NaiveBayes().fit(plain, Y)
    np.testing.assert_array_equal(m.predict_proba(X), expected.predict_proba(plain))


def test_unlabelled_rows_do_not_round_the_labels() -> None:
    X = np.arange(60.0).reshape(-1, 1)
    for y in (pd.Series(pd.array(VALUES, dtype="Int64")), [np.nan if v is None else v for v in VALUES], VALUES):
        m = SemiSupervised(NaiveBayes(), unlabelled=None).fit(X, y)
        assert set(m.classes_.tolist()) == {A, B}


def test_samples_have_every_digit() -> None:
    X, _ = _model(TABLES["lists"](VALUES), Y).sample(20, random_state=0)
    assert {A, B} >= set(X[:, 0].tolist())


def test_hiding_a_column_keeps_every_digit_of_the_others() -> None:
    table = hidden(read_table(np.array([[A, 1], [B, 2]])), np.array([False, True]))
    assert table.values(0) == [A, B]
    assert table.values(1) == [None, None]


def test_an_integer_of_more_than_64_bits_is_no_category() -> None:
    with pytest.raises(TableError, match=r"Column 'k' is categorical and has the integer .* \(row 1\).*64 bits"):
        NaiveBayes(schema={"k": "categorical"}).fit([{"k": 1}, {"k": 2**70}, {"k": 3}], ["a", "b", "a"])
    m = NaiveBayes(schema={"k": "categorical"}).fit([{"k": A}, {"k": B}, {"k": None}], ["a", "b", "a"])
    np.testing.assert_array_equal(m.predict_proba([{"k": 2**70}]), m.predict_proba([{"k": 7}]))
