"""Frames of Dask: the same answers as a local fit with the same plan, whatever the partitions are."""

from __future__ import annotations

from typing import Any

import cloudpickle
import dask
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from dask import dataframe as dd

import tallybayes as tb
from tallybayes.engines.partitions import MERGE_FAN_IN
from tallybayes.errors import LabelError, OptionError, TableError
from tests.engines.moments import check_moments
from tests.engines.same import FAMILY, check_same, parts_of
from tests.engines.tables import features, fit, table


@pytest.fixture(autouse=True)
def _here() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


def frame_of(t: pa.Table) -> pd.DataFrame:
    """With truth values that may be missing: of a column of objects Dask would make strings."""
    return t.to_pandas(types_mapper={pa.bool_(): pd.BooleanDtype()}.get)


def dask_frame(parts: list[pa.Table]) -> Any:
    return dd.from_map(frame_of, parts, meta=frame_of(parts[0])[:0])


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("name", list(FAMILY))
def test_counted_in_partitions_is_counted_here(name: str, weight: str | None) -> None:
    check_same(name, dask_frame, weight)


@pytest.mark.parametrize("kind", ["timestamp", "timestamptz", "interval", "text"])
def test_dates_and_texts_are_read_as_here(kind: str) -> None:
    check_moments(kind, dask_frame, lambda found: pa.Table.from_pandas(found.compute()))


def test_workers_may_be_threads() -> None:
    with dask.config.set(scheduler="threads", num_workers=2):
        check_same("AODE", dask_frame, "weight")


def test_work_can_be_sent_to_other_processes() -> None:
    def elsewhere(graph: Any, keys: Any, **_: object) -> Any:
        tasks = graph.__dask_graph__() if hasattr(graph, "__dask_graph__") else graph
        return dask.get(cloudpickle.loads(cloudpickle.dumps(dict(tasks))), keys)

    t = table()
    with dask.config.set(scheduler=elsewhere):
        check_same("TAN", dask_frame, "weight")
        assert len(fit(tb.TAN(), t).predict_to(dask_frame(parts_of(t)))) == sum(map(len, parts_of(t)))


def test_more_partitions_than_are_merged_at_a_time() -> None:
    t = table()
    frame = dd.from_pandas(frame_of(t), npartitions=MERGE_FAN_IN + 3)
    found = tb.AODE().learn_from(frame, "kind", columns=features(t).column_names)
    here = fit(tb.AODE(), t)
    np.testing.assert_array_equal(found.class_count_, here.class_count_)
    np.testing.assert_allclose(found.predict_proba(features(t)), here.predict_proba(features(t)), rtol=0, atol=1e-12)


def test_a_plan_looks_at_all_partitions_or_at_some() -> None:
    sky = [["grey"] * 50, ["red"] * 50, ["clear"] * 50, ["green"] * 50]
    frame = dask_frame([pa.table({"sky": s, "go": ["yes", "no"] * 25}) for s in sky])
    assert len(tb.NaiveBayes().plan(frame, "go", rows=20).schema_.levels[0].labels) == 4
    assert len(tb.NaiveBayes().plan(frame, "go", rows=20, pieces=2).schema_.levels[0].labels) == 2
    assert len(tb.NaiveBayes().plan(frame, "go", rows=500, pieces=2).schema_.levels[0].labels) == 4


def test_answers_are_a_frame_with_the_index_of_the_rows() -> None:
    t = table()
    model = fit(tb.NaiveBayes(), t)
    rows = frame_of(t).set_index(pd.Index(np.arange(600) * 2, name="row"))
    frame = dd.concat([dd.from_pandas(rows[:400], npartitions=2), dd.from_pandas(rows[400:], npartitions=1)])
    answers = model.predict_to(frame, keep=["kind", "colour"])
    assert list(answers.columns) == ["kind", "colour", "prediction", "proba_high", "proba_low", "proba_mid"]
    found = answers.compute()
    assert found.index.equals(rows.index)
    assert found.dtypes.astype(str).to_dict() == answers.dtypes.astype(str).to_dict()
    assert found["prediction"].tolist() == model.predict(features(t)).tolist()
    np.testing.assert_allclose(found["proba_mid"], model.predict_proba(features(t))[:, 2], rtol=0, atol=1e-12)
    sure = answers[answers["proba_low"] > 0.5]
    assert sure["prediction"].value_counts().compute().to_dict() == {"low": len(sure)}
    assert (found["kind"] == rows["kind"]).all()


def test_answers_of_partitions_without_rows_and_into_a_file(tmp_path: Any) -> None:
    t = table()
    model = fit(tb.GaussianNB(), t.select(["length", "width", "weight", "kind"]))
    frame = dask_frame(parts_of(t))
    found = model.predict_to(frame).compute()
    assert len(found) == sum(map(len, parts_of(t)))
    assert model.predict_to(frame, tmp_path / "answers.parquet") == len(found)
    whole = pd.read_parquet(tmp_path / "answers.parquet")
    np.testing.assert_array_equal(whole["prediction"], found["prediction"])


def test_what_workers_refuse_is_raised_here_and_changes_nothing() -> None:
    t = table()
    model = tb.NaiveBayes().learn_from(dask_frame(parts_of(t)), "kind", columns=["length"])
    before = model.class_count_
    gap = t.set_column(5, "kind", pa.array([None] * 600, pa.string()))
    with pytest.raises(LabelError):
        model.learn_from(dask_frame([t, gap]), "kind")
    with pytest.raises(OptionError, match="has a missing value"):
        tb.NaiveBayes().learn_from(dask_frame([t]), "kind", weight="length")
    with pytest.raises(TableError, match="no rows in the Dask frame"):
        model.learn_from(dask_frame([t.slice(0, 0), t.slice(0, 0)]), "kind")
    with pytest.raises(TableError, match="no rows in the Dask frame"):
        tb.AODE().learn_from(dask_frame([t.slice(0, 0)]), "kind")
    with pytest.raises(TableError, match="no column 'nothing'"):
        model.learn_from(dask_frame([t]), "nothing")
    with pytest.raises(OptionError, match="must have names"):
        tb.NaiveBayes().learn_from(dd.from_pandas(pd.DataFrame({0: [1.0], "kind": ["a"]}), npartitions=1), "kind")
    np.testing.assert_array_equal(model.class_count_, before)


def test_categories_and_columns_that_a_partition_knows_nothing_of() -> None:
    rows = pd.DataFrame({"sky": ["grey", "red", None, None], "wind": [1.0, np.nan, np.nan, 2.0], "go": [1, 0, 1, 0]})
    rows["size"] = pd.Categorical(["S", "L", "S", None])
    frame = dd.from_pandas(rows, npartitions=4)
    for model in (tb.NaiveBayes(), tb.AODE()):
        found = model.learn_from(frame, "go").predict_proba(rows.drop(columns="go"))
        here = type(model)().fit(rows.drop(columns="go"), rows["go"])
        np.testing.assert_allclose(found, here.predict_proba(rows.drop(columns="go")), rtol=0, atol=1e-12)
    assert model.predict_to(frame).compute()["prediction"].dtype == np.int64
