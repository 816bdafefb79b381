"""Types that are rare in tables: read where that makes sense, else refused by an error of ours."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyarrow.dataset import dataset

from tallybayes import CategoricalNB, GaussianNB, NaiveBayes, load
from tallybayes.errors import LabelError, TableError
from tests.command_line import run

N = 60
X = np.arange(float(N)).reshape(-1, 1)
Y = [0, 1] * (N // 2)
DAYS = [dt.date(2020, 1, 1), dt.date(2020, 1, 2)] * (N // 2)


class Broken(dt.tzinfo):
    """A time zone that gives no offset."""


@pytest.mark.filterwarnings("ignore::tallybayes.errors.UnsavableLabelWarning")
@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (pd.cut(np.arange(N), 3), 3),
        (pd.cut(pd.Series(np.arange(N)), 3), 3),
        (pd.qcut(pd.Series(np.arange(N)), 4), 4),
        (pd.cut(np.arange(N), 2, labels=["low", "high"]), 2),
        (pd.Series(pd.Categorical(pd.to_datetime(["2020-01-01", "2020-01-02"] * (N // 2)))), 2),
        (pd.Series(pd.Categorical([b"a", b"b"] * (N // 2))), 2),
        ([b"a", b"b"] * (N // 2), 2),
        (pl.Series([1, 2] * (N // 2), dtype=pl.Int128), 2),
        (np.zeros(N, dtype=[("pad", "i1"), ("y", "i4")])["y"], 1),
    ],
)
def test_labels_that_are_read(y: Any, classes: int) -> None:
    m = NaiveBayes().fit(X, y)
    assert len(m.classes_) == classes
    assert set(m.predict(X).tolist()) <= set(m.classes_.tolist())


@pytest.mark.parametrize(
    "y",
    [pd.Series(pd.Categorical([1, "b"] * (N // 2))), [b"a", "b"] * (N // 2), pa.array([{"a": 1}] * N), pa.array(DAYS)],
)
def test_labels_that_are_refused(y: Any) -> None:
    with pytest.raises(LabelError, match="Unknown label type"):
        NaiveBayes().fit(X, y)


@pytest.mark.parametrize(
    "column",
    [
        pa.array(DAYS).dictionary_encode(),
        pa.array([b"a", b"b"] * (N // 2)).dictionary_encode(),
        pa.array([dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 2)] * (N // 2)).dictionary_encode(),
    ],
)
def test_dictionaries_of_dates_and_bytes_are_as_their_values(column: pa.Array) -> None:
    coded = pa.table({"k": column})
    plain = pa.table({"k": column.cast(column.type.value_type)})
    m, expected = NaiveBayes().fit(coded, Y), NaiveBayes().fit(plain, Y)
    assert m.schema_.kinds == expected.schema_.kinds
    np.testing.assert_array_equal(m.predict_proba(coded), expected.predict_proba(plain))


@pytest.mark.parametrize("unit", ["ps", "fs", "as"])
def test_datetimes_finer_than_nanoseconds(unit: str) -> None:
    values = [np.datetime64(10**15 + i, unit) for i in range(N)]
    rows = [{"t": v} for v in values]
    m = NaiveBayes().fit(rows, Y)
    assert m.predict_proba(rows).shape == (N, 2)
    assert m.predict_proba(np.array(values).reshape(-1, 1)[:3] if m.schema_.names is None else rows[:3]).shape == (3, 2)


def test_a_time_zone_without_an_offset_is_refused() -> None:
    with pytest.raises(TableError, match=r"The time zone of .* gives no offset"):
        NaiveBayes().fit([{"t": dt.datetime(2020, 1, 1 + i % 20, tzinfo=Broken())} for i in range(N)], Y)


def test_fields_of_packed_records() -> None:
    packed = np.zeros(N, dtype=[("pad", "i1"), ("x", "f8"), ("z", "f4")])
    packed["x"] = packed["z"] = np.arange(N)
    for field in ("x", "z"):
        p = NaiveBayes().fit(packed[field].reshape(-1, 1), Y).predict_proba(packed[field].reshape(-1, 1))
        whole = packed[field].copy().reshape(-1, 1)
        np.testing.assert_array_equal(p, NaiveBayes().fit(whole, Y).predict_proba(whole))


@pytest.mark.filterwarnings("ignore::tallybayes.errors.IdentifierColumnWarning")
@pytest.mark.parametrize("distinct", [4, N])
def test_string_views_and_weights(distinct: int) -> None:
    words = [f"w{i % distinct}" for i in range(N)]
    w = [0.0] + [1.0] * (N - 1)
    views = pa.table({"k": pa.array(words, pa.string_view()), "n": np.arange(N)})
    plain = pa.table({"k": words, "n": np.arange(N)})
    m, expected = NaiveBayes().fit(views, Y, sample_weight=w), NaiveBayes().fit(plain, Y, sample_weight=w)
    np.testing.assert_array_equal(m.predict_proba(views), expected.predict_proba(plain))


@pytest.mark.parametrize("make", [pl.Series, pd.Series, lambda v: pa.chunked_array([v]), list])
def test_a_series_of_texts_can_be_sampled(make: Any) -> None:
    texts = ["the cat sat on a mat", "a dog ran off today"] * (N // 2)
    assert len(NaiveBayes().fit(make(texts), Y).sample(5, random_state=0)[0]) == 5


def test_counts_of_boolean_columns() -> None:
    table = pd.DataFrame({"k": [True, False] * (N // 2), "l": [True, True, False] * (N // 3)})
    m, expected = CategoricalNB().fit(table, Y), CategoricalNB().fit(table.astype(int), Y)
    for own, other in zip(m.category_count_, expected.category_count_, strict=True):
        np.testing.assert_array_equal(own, other)
    for own, other in zip(m.feature_log_prob_, expected.feature_log_prob_, strict=True):
        np.testing.assert_allclose(own, other)


@pytest.mark.filterwarnings("ignore::tallybayes.errors.AmbiguousColumnWarning")
@pytest.mark.parametrize("names", [[None], ["id"], ["id", None], ["y"]], ids=str)
def test_a_saved_index_of_pandas_is_no_feature(names: list[str | None], tmp_path: Any) -> None:
    rows = pd.DataFrame({"a": np.arange(N) % 7, "y": Y}).sample(frac=1, random_state=0)
    levels = [rows["y"] if name == "y" else rows.index for name in names]
    frame = rows.drop(columns="y" if "y" in names else []).set_index(pd.MultiIndex.from_arrays(levels, names=names))
    path = tmp_path / "t.parquet"
    frame.to_parquet(path)
    table = parquet.read_table(path)
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
        out.write_table(table)
    assert table.num_columns == 2 + len(names) - ("y" in names)
    assert NaiveBayes().fit(table.drop_columns("y"), table["y"]).feature_names_in_.tolist() == ["a"]
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    for source in (str(path), str(tmp_path / "t.arrow"), table, reader, dataset(path)):
        m = GaussianNB()  # which can learn from a stream
        m.learn_from(source, "y")
        assert m.feature_names_in_.tolist() == ["a"]
    run("fit", path, "-t", "y", "-o", tmp_path / "m.tb")
    assert load(tmp_path / "m.tb").feature_names_in_.tolist() == ["a"]
    if "id" in names:  # asked for by name, it is one
        m = NaiveBayes(schema={"id": "real"})
        m.learn_from(str(path), "y", columns=["a", "id"])
        assert m.feature_names_in_.tolist() == ["a", "id"]
        assert m.predict_to(str(path)).read_all().num_rows == N
