"""learn_from and predict_to: the same rows, wherever they are, are the same model."""

from __future__ import annotations

import gc
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, dataset, feather, parquet
from sklearn.covariance import OAS

import tallybayes as tb
from tallybayes.engines import RowSource, adapter, open_source, survey_of
from tallybayes.engines.recognise import ADAPTERS
from tallybayes.errors import IdentifierColumnWarning, LabelError, OptionError, TableError
from tests.engines.tables import features, fit, table

MODELS = {
    "NaiveBayes": tb.NaiveBayes,
    "tempered": lambda: tb.NaiveBayes(tempered=True),
    "mdl": lambda: tb.NaiveBayes("mdl"),
    "AODE": tb.AODE,
    "TAN": tb.TAN,
    "KDB": lambda: tb.KDB(1),
    "SPODE": tb.SPODE,
    "BayesClassifier": lambda: tb.BayesClassifier("fast", members=3),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here, t = tmp_path_factory.mktemp("rows"), table()
    parquet.write_table(t.slice(0, 200), here / "a.parquet", row_group_size=50)
    parquet.write_table(t.slice(200), here / "b.parquet", row_group_size=50)
    csv.write_csv(t, here / "t.csv")
    feather.write_feather(t, here / "t.arrow", compression="uncompressed")
    return here


def sources(folder: Path) -> dict[str, Any]:
    t = table()
    return {
        "pattern": str(folder / "*.parquet"),
        "folder": folder,
        "list": [folder / "a.parquet", str(folder / "b.parquet")],
        "csv": folder / "t.csv",
        "arrow": str(folder / "t.arrow"),
        "pandas": t.to_pandas(),
        "polars": pl.DataFrame(t),
        "lazy": pl.DataFrame(t).lazy(),
        "table": t,
        "dataset": dataset.dataset([folder / "a.parquet", folder / "b.parquet"]),
    }


@pytest.mark.parametrize("where", [
    "pattern", "folder", "list", "csv", "arrow", "pandas", "polars", "lazy", "table", "dataset"])  # fmt: skip
def test_every_source_is_the_same_fit(folder: Path, where: str) -> None:
    t = table()
    for name in ("NaiveBayes", "TAN"):
        model = MODELS[name]().learn_from(sources(folder)[where], "kind", weight="weight")
        whole = fit(MODELS[name](), t, weights=True)
        found = model.predict_proba(features(t))
        np.testing.assert_allclose(found, whole.predict_proba(features(t)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", list(MODELS))
def test_what_fits_into_the_sample_is_learned_as_fit_learns_it(folder: Path, name: str) -> None:
    t = table()
    model, whole = MODELS[name]().learn_from(folder, "kind", columns=features(t).column_names), fit(MODELS[name](), t)
    np.testing.assert_array_equal(model.class_count_, whole.class_count_)
    found = model.predict_proba(features(t))
    np.testing.assert_allclose(found, whole.predict_proba(features(t)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", list(MODELS))
def test_parts_counted_with_a_plan_are_the_whole_counted_with_it(name: str) -> None:
    t = table(3000)
    plan = MODELS[name]().plan(t, "kind", columns=features(t).column_names, rows=500)
    assert plan.class_count_.sum() == 0
    y = t["kind"].to_pylist()
    whole = plan.copy().partial_fit(features(t), y)
    parts = [plan.copy().partial_fit(features(t).slice(i, 700), y[i : i + 700]) for i in range(0, 3000, 700)]
    merged = tb.merge_all(tb.from_bytes(tb.to_bytes(part)) for part in parts)
    learned = MODELS[name]().learn_from(t, "kind", columns=features(t).column_names, plan=plan)
    for other in (merged, learned):
        found = other.predict_proba(features(t))
        np.testing.assert_allclose(found, whole.predict_proba(features(t)), rtol=0, atol=1e-12)


def test_a_plan_knows_all_labels_and_levels_that_a_sample_may_miss() -> None:
    t = pa.table({"colour": ["red"] * 500 + ["rare"], "kind": ["common"] * 500 + ["seldom"]})
    for pieces in (None, 1):
        plan = tb.NaiveBayes().plan(t, "kind", rows=3, pieces=pieces)
        assert set(plan.schema_.levels[0].labels) == {"red", "rare"}
        assert plan.classes_.tolist() == ["common", "seldom"]


def test_long_texts_are_no_labels() -> None:
    t = pa.table({"note": [f"{i} " + "words " * 5000 for i in range(600)], "sky": ["grey", "red"] * 300})
    found = survey_of(t, most=3)
    assert found.labels["note"] is None
    assert found.labels["sky"].to_pylist() == ["grey", "red"]


def test_rows_learned_later_add(folder: Path) -> None:
    t = table()
    names = features(t).column_names
    model = (
        tb.NaiveBayes().learn_from(folder / "a.parquet", "kind", columns=names).learn_from(folder / "b.parquet", "kind")
    )
    np.testing.assert_allclose(
        model.predict_proba(features(t)), fit(tb.NaiveBayes(), t).predict_proba(features(t)), rtol=0, atol=1e-12
    )


def test_a_failed_call_changes_nothing() -> None:
    t = table()
    bad = pa.concat_tables([t, t.set_column(5, "kind", pa.array([None] * 600, pa.string()))])
    model = tb.NaiveBayes()
    with pytest.raises(LabelError):
        model.learn_from(bad, "kind")
    assert not hasattr(model, "classes_")
    model.learn_from(t, "kind", columns=["length"])
    before = model.class_count_
    with pytest.raises(LabelError):
        model.learn_from(bad, "kind")
    np.testing.assert_array_equal(model.class_count_, before)


def test_text_columns_are_read_as_declared(tmp_path: Path) -> None:
    path = tmp_path / "zip.csv"
    path.write_text("zip,kind\n02139,1\n10001,0\n02139,1\n")
    model = tb.NaiveBayes(schema={"zip": "categorical"}).learn_from(path, "kind")
    assert model.schema_.levels[0].labels == ("02139", "10001")
    assert model.classes_.tolist() == [0, 1]
    (tmp_path / "more.csv").write_text("zip,kind\n10001,1\n")
    assert model.learn_from(tmp_path / "more.csv", "kind").class_count_.tolist() == [1.0, 3.0]


def test_a_stream_is_read_once() -> None:
    t = table()
    model = tb.NaiveBayes("gaussian").learn_from(t.to_reader(100), "kind")
    assert model.class_count_.sum() == 600
    with pytest.raises(OptionError, match="can be read only once"):
        tb.AODE().learn_from(t.to_reader(100), "kind")
    stream = t.to_reader(100)
    tb.NaiveBayes("gaussian").learn_from(stream, "kind")
    with pytest.raises(TableError, match="read before"):
        tb.NaiveBayes("gaussian").learn_from(stream, "kind")
    plan = tb.AODE().plan(t, "kind")
    assert tb.AODE().learn_from(t.to_reader(100), "kind", plan=plan).class_count_.sum() == 600


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow"])
def test_answers_into_a_file(folder: Path, tmp_path: Path, ending: str) -> None:
    t = table()
    model, out = fit(tb.NaiveBayes(), t), tmp_path / f"answers.{ending}"
    assert model.predict_to(str(folder / "*.parquet"), out, keep=["kind"]) == 600
    read = {"parquet": parquet.read_table, "csv": csv.read_csv, "arrow": feather.read_table}[ending](out)
    assert read.column_names == ["kind", "prediction", "proba_high", "proba_low", "proba_mid"]
    assert read["prediction"].to_pylist() == model.predict(features(t)).tolist()
    np.testing.assert_allclose(read["proba_mid"].to_numpy(), model.predict_proba(features(t))[:, 2], atol=1e-12)
    assert [p.name for p in tmp_path.iterdir()] == [out.name]


def test_answers_as_they_are_read() -> None:
    t = table()
    model = tb.NaiveBayes().learn_from(t, "kind", columns=["length", "colour"])
    found = model.predict_to(pl.DataFrame(t).lazy(), keep=["kind"]).read_all()
    assert found.num_rows == 600
    with pytest.raises(OptionError, match=r"must be|of its own"):
        model.predict_to(t.append_column("prediction", t["kind"]), keep=["prediction"])
    with pytest.raises(OptionError, match=r"ends in"):
        model.predict_to(t, "answers.xls")
    with pytest.raises(TableError, match=r"Cannot write"):
        model.predict_to(t, "no/such/folder/answers.parquet")
    none = model.predict_to(t.slice(0, 0), keep=["kind"]).read_all()
    assert (none.num_rows, none.column_names) == (0, found.column_names)
    plain = tb.GaussianNB().fit(t.select(["length", "width"]).to_pandas().to_numpy(), t["kind"].to_pylist())
    assert plain.predict_to(t.select(["length", "width", "kind"]), keep="kind").read_all().num_rows == 600


def test_a_failed_answer_leaves_no_file(tmp_path: Path) -> None:
    t = table()
    model = tb.NaiveBayes(unseen="error").learn_from(t, "kind", columns=["colour"])
    with pytest.raises(TableError):
        model.predict_to(pa.table({"colour": ["unseen value"]}), tmp_path / "a.parquet")
    assert list(tmp_path.iterdir()) == []


def test_what_is_refused_gives_the_reason(folder: Path) -> None:
    t = table()
    model = tb.NaiveBayes()
    for bad, error, words in [
        ((t, "nothing"), TableError, "no column 'nothing'"),
        ((t.slice(0, 0), "kind"), TableError, "no rows"),
        ((3, "kind"), OptionError, "Cannot read rows from a builtins.int"),
        (([], "kind"), OptionError, "Cannot read rows"),
        ((folder / "none.parquet", "kind"), TableError, "no file"),
        (("-", "kind"), OptionError, "Standard input"),
        ((t.select(["kind"]), "kind"), OptionError, "no column besides"),
    ]:
        with pytest.raises(error, match=words):
            model.learn_from(*bad)
    with pytest.raises(OptionError, match="both"):
        model.learn_from(t, "kind", columns=["kind", "length"])
    for bad, words in (
        (None, "target must be"),
        (3, "target must be"),
        ([], "empty list"),
        (["kind", 3], "target must"),
    ):
        with pytest.raises(OptionError, match=words):
            model.learn_from(t, bad)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="more than once"):
        model.learn_from(t, "kind", columns=["length", "length"])
    assert tb.NaiveBayes().learn_from(t, "kind", columns="length").schema_.names == ("length",)
    with pytest.raises(OptionError, match="Several columns of the stream"):
        model.learn_from(pa.Table.from_arrays([t["kind"], t["kind"]], ["kind", "kind"]).to_reader(), "kind")
    with pytest.raises(OptionError, match="must be numbers"):
        model.learn_from(table(missing=False), "kind", weight="colour")
    with pytest.raises(OptionError, match="has a missing value"):
        model.learn_from(t, "kind", weight="length")
    for more in ({"rows": 0}, {"pieces": 0}, {"rows": "x"}, {"rows": 2.5}):
        with pytest.raises(OptionError, match="whole number"):
            model.plan(t, "kind", **more)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="plan= goes with"):
        model.learn_from(t, "kind", plan=fit(tb.AODE(), t))
    only = t.select(["length", "kind"]).drop_null()
    with pytest.raises(OptionError, match="needs all rows"):
        tb.LinearDiscriminantAnalysis(covariance_estimator=OAS()).learn_from(only, "kind")
    assert not hasattr(model, "classes_")


def test_files_of_one_table_that_differ(tmp_path: Path) -> None:
    t = pa.table({"x": [1, 2, 3, 4], "c": ["a", "b", "a", None], "y": ["p", "q", "p", "q"]})
    parquet.write_table(t, tmp_path / "1.parquet")
    parquet.write_table(t.set_column(0, "x", pa.array([1.5, 2, 3, 4])).select(["y", "c", "x"]), tmp_path / "2.parquet")
    words = t["c"].dictionary_encode()
    parquet.write_table(t.set_column(1, "c", words).slice(0, 2), tmp_path / "3.parquet")
    model = tb.GaussianNB().learn_from(tmp_path, "y", columns=["x"])
    assert model.theta_.tolist() == [[(1 + 3 + 1.5 + 3 + 1) / 5], [(2 + 4 + 2 + 4 + 2) / 5]]
    assert tb.NaiveBayes("gaussian").learn_from(tmp_path, "y").class_count_.tolist() == [5.0, 5.0]
    parquet.write_table(t.set_column(0, "x", pa.array(list("abcd"))), tmp_path / "4.parquet")
    with pytest.raises(TableError, match=r"'x' is int64 in .*1.parquet and string in .*4.parquet"):
        tb.NaiveBayes().learn_from(tmp_path, "y")
    parquet.write_table(t.select(["x", "y"]), tmp_path / "4.parquet")
    with pytest.raises(TableError, match="does not have the columns"):
        tb.NaiveBayes().learn_from(tmp_path, "y")


@pytest.mark.parametrize("make", [tb.CategoricalNB, tb.NaiveBayes, tb.AODE, lambda: tb.TAN(memory="rows")])
def test_categories_that_parquet_stores_as_codes(tmp_path: Path, make: Any) -> None:
    rng = np.random.default_rng(0)
    words = [None if v == 3 else f"w{v}" for v in rng.integers(0, 9, 3000)]
    t = pa.table({
        "word": pa.array([*words[:-1], "late"], pa.large_string()),  # as pandas and polars write texts
        "many": [f"m{v}" for v in rng.integers(0, 1200, 3000)],  # more than are read as codes
        "of a file": pa.array(["x", "y"] * 1500).dictionary_encode(),  # a dictionary there too
        "kind": np.where(rng.random(3000) < 0.5, "a", "b").tolist(),
    })  # fmt: skip
    parquet.write_table(t, tmp_path / "t.parquet", row_group_size=1000)
    feather.write_feather(t, str(tmp_path / "t.arrow"), compression="uncompressed")
    found = make().learn_from(tmp_path / "t.parquet", "kind")
    plain = make().learn_from(tmp_path / "t.arrow", "kind")
    assert found.schema_.levels == plain.schema_.levels  # in their order, and with what is declared
    assert found.schema_.levels[0].declared == frozenset()
    assert found.classes_.tolist() == ["a", "b"]
    X = t.drop_columns(["kind"])
    np.testing.assert_array_equal(found.predict_proba(X), plain.predict_proba(X))
    found.learn_from(tmp_path / "t.parquet", "kind")  # as a fitted model
    plain.learn_from(tmp_path / "t.arrow", "kind")
    np.testing.assert_array_equal(found.predict_proba(X), plain.predict_proba(X))
    found.forget(t.slice(2999).drop_columns(["kind"]), t.slice(2999)["kind"])
    found.forget(t.slice(2999).drop_columns(["kind"]), t.slice(2999)["kind"])
    assert "late" not in found.schema_.levels[0].labels


def test_parquet_that_is_counted_as_codes_is_still_text(tmp_path: Path) -> None:
    t = table(200, missing=False).select(["colour", "kind"])
    parquet.write_table(t, tmp_path / "t.parquet")
    source, seen = open_source(tmp_path / "t.parquet"), []
    read = source.batches
    source.batches = lambda columns, rows: (seen.append(b.schema) or b for b in read(columns, rows))  # type: ignore[method-assign,func-returns-value]
    model = tb.CategoricalNB().learn_from(source, "kind")
    assert [str(f.type) for f in seen[-1]] == ["dictionary<values=string, indices=int32, ordered=0>"] * 2
    answers = model.predict_to(source, keep=["colour"]).read_all()
    assert answers.schema.field("colour").type == pa.string()


def test_a_folder_is_its_parquet_files(tmp_path: Path) -> None:
    t = table()
    with pytest.raises(TableError, match="no Parquet file in the folder"):
        tb.NaiveBayes().learn_from(tmp_path, "kind")
    odd = tmp_path / "od[d]*"
    odd.mkdir()
    parquet.write_table(t, odd / "t.parquet")
    assert tb.NaiveBayes().learn_from(odd, "kind", columns=["length"]).class_count_.sum() == 600
    parquet.write_to_dataset(t, tmp_path / "by value", partition_cols=["kind"])
    model = tb.NaiveBayes().learn_from(tmp_path / "by value", "kind", columns=["length"])
    np.testing.assert_array_equal(model.class_count_, fit(tb.NaiveBayes(), t).class_count_)


def test_a_file_that_breaks_off_is_an_error_of_ours_and_nothing_is_learned(tmp_path: Path) -> None:
    t = pa.table({"x": np.arange(100_000.0), "y": ["a", "b"] * 50_000})
    parquet.write_table(t, tmp_path / "t.parquet", row_group_size=10_000)
    model = tb.GaussianNB().learn_from(tmp_path / "t.parquet", "y")
    data = bytearray((tmp_path / "t.parquet").read_bytes())
    data[len(data) // 2 : len(data) // 2 + 5000] = bytes(5000)
    (tmp_path / "t.parquet").write_bytes(data)
    with pytest.raises(TableError, match=r"Cannot read .*t\.parquet"):
        model.learn_from(tmp_path / "t.parquet", "y")
    assert model.class_count_.tolist() == [50_000.0, 50_000.0]
    with pytest.raises(TableError, match=r"Cannot read the lazy frame: .*conversion"):
        model.learn_from(pl.DataFrame({"x": ["1", "two"], "y": ["a", "b"]}).lazy().cast({"x": pl.Float64}), "y")

    def broken() -> Any:
        yield t.to_batches()[0]
        raise RuntimeError("the line is cut")

    with pytest.raises(RuntimeError, match="the line is cut"):
        model.learn_from(pa.RecordBatchReader.from_batches(t.schema, broken()), "y")
    assert model.class_count_.tolist() == [50_000.0, 50_000.0]


def test_small_row_groups_are_looked_at_until_they_fill_the_sample(tmp_path: Path) -> None:
    t = pa.table({"x": np.arange(5000.0), "c": [f"{i // 100}" for i in range(5000)], "y": ["a", "b"] * 2500})
    parquet.write_table(t, tmp_path / "t.parquet", row_group_size=20)
    for rows, levels in ((10, 2), (1000, 50)):
        plan = tb.NaiveBayes().plan(tmp_path / "t.parquet", "y", rows=rows, pieces=2)
        assert len(plan.schema_.levels[1].labels) == levels


def test_text_is_read_as_text_from_a_source() -> None:
    words = ["the quick brown fox number", "a lazy dog sleeps in the"]
    t = pa.table({"s": [f"{words[i % 2]} {i} and so on for ever" for i in range(40)], "y": ["a", "b"] * 20})
    for model in (tb.NaiveBayes(), tb.NaiveBayes(schema={"s": "text"})):
        whole = model.copy().fit(t.select(["s"]), t["y"].to_pylist())
        learned = model.learn_from(t, "y")
        assert learned.schema_.kinds == ("text",)
        asked = [{"s": "quick dog 3"}, {"s": "lazy"}]
        np.testing.assert_allclose(learned.predict_proba(asked), whole.predict_proba(asked), rtol=0, atol=1e-12)


def test_the_sample_is_random_adds_and_keeps_the_order_of_rows() -> None:
    t = pa.table({"row": np.arange(10_000)})
    whole = survey_of(t.slice(0, 4000), 500, 0)
    whole = whole.add(survey_of(t.slice(4000), 500, 1, whole.bound))
    rows = whole.sample["row"].to_numpy()
    assert len(rows) == 500
    assert whole.rows == 10_000
    assert (np.diff(rows) > 0).all()
    assert abs(rows.mean() - 5000) < 4 * 10_000 / np.sqrt(12 * 500)


def test_nothing_is_imported_to_recognise_a_source(folder: Path) -> None:
    program = f"""
import sys
import tallybayes as tb
tb.AODE().learn_from({str(folder / "*.parquet")!r}, "kind").predict_to({str(folder / "a.parquet")!r}).read_all()
try:
    tb.AODE().learn_from(object(), "kind")
except tb.errors.OptionError:
    pass
print({{"dask", "duckdb", "polars", "psycopg", "pyspark", "sklearn"}} & set(sys.modules))
"""
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"


def test_another_package_can_add_an_adapter() -> None:
    class Mine(pd.DataFrame):
        pass

    module = Mine.__module__.split(".")[0]
    adapter(module, "Mine", "tallybayes.engines.frames:frame")
    try:
        assert isinstance(open_source(Mine({"a": [1.0]})), RowSource)
    finally:
        del ADAPTERS[module, "Mine"]


def test_several_targets() -> None:
    t = table(300)

    def make() -> tb.BayesNetwork:
        return tb.BayesNetwork({"length": ["kind"], "colour": ["alive"]}, targets=["kind", "alive"])

    t = t.select(["length", "colour", "kind", "alive"]).drop_null()
    model, X = make().learn_from(t, ["kind", "alive"]), t.select(["length", "colour"])
    whole = make().fit(X, t.select(["kind", "alive"]).to_pandas())
    assert model.predict(X).tolist() == whole.predict(X).tolist()
    np.testing.assert_array_equal(model.class_count_, whole.class_count_)
    with pytest.raises(OptionError, match="several targets"):
        model.predict_to(t)


@pytest.mark.filterwarnings("error::ResourceWarning", "error::pytest.PytestUnraisableExceptionWarning")
def test_files_leave_no_folder_and_warn_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    days = pa.table({"id": [f"k{i:04}" for i in range(200)], "wind": np.arange(200.0), "go": ["yes", "no"] * 100})
    csv.write_csv(days, tmp_path / "days.csv")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        for make in (tb.NaiveBayes, tb.TAN):
            make().learn_from(tmp_path / "days.csv", "go").predict_to(tmp_path / "days.csv", tmp_path / "out.csv")
        gc.collect()
    assert [w.category for w in heard] == [IdentifierColumnWarning] * 2
    assert not list((tmp_path / "scratch").iterdir())


def test_files_with_names_and_no_rows(tmp_path: Path) -> None:
    """Whether the plan is made on them or was made before."""
    (tmp_path / "t.csv").write_text("a,y\n")
    plan = tb.GaussianNB().fit(pd.DataFrame({"a": [1.0, 2.0, 3.0]}), ["u", "v", "u"])
    for options in ({}, {"plan": plan}):
        model = tb.GaussianNB()
        with pytest.raises(TableError, match=r"There are no rows in .*t\.csv"):
            model.learn_from(tmp_path / "t.csv", "y", **options)
        assert not hasattr(model, "classes_")


def test_a_lazy_frame_of_an_older_polars(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before 1.33 it is collected whole."""
    monkeypatch.delattr(pl.LazyFrame, "collect_batches")
    t = table()
    model = tb.NaiveBayes().learn_from(pl.DataFrame(t).lazy(), "kind", weight="weight")
    found = model.predict_proba(features(t))
    np.testing.assert_allclose(found, fit(tb.NaiveBayes(), t, weights=True).predict_proba(features(t)), atol=1e-12)


def test_files_without_the_packages_that_read_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tallybayes.cli.table_files", None)
    with pytest.raises(OptionError, match=r"To read files pyarrow is needed: pip install 'tallybayes\[files\]'"):
        tb.NaiveBayes().learn_from(folder / "t.csv", "kind")


@pytest.mark.parametrize("late", [0, 1])
def test_a_survey_lists_labels_that_come_late(late: int) -> None:
    from tallybayes.engines import survey_of

    codes = np.append(np.arange(5000) % 3, [3] * late)
    column = pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(["b", "a", "c", "d", "e"]))
    found = survey_of(pa.table({"x": column, "plain": column.cast(pa.string())}), most=10)
    assert found.labels["x"].to_pylist() == found.labels["plain"].to_pylist() == ["b", "a", "c", "d"][: 3 + late]
