"""What must be true in one session of Spark; test_spark.py runs this file in each mode."""

from __future__ import annotations

import doctest
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyspark
import pytest
from pyarrow import parquet
from pyspark.ml import Pipeline, PipelineModel, Transformer
from pyspark.ml.evaluation import BinaryClassificationEvaluator, MulticlassClassificationEvaluator
from pyspark.ml.feature import IndexToString, StringIndexer, VectorAssembler
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import SparkSession
from sklearn.metrics import roc_auc_score

import tallybayes as tb
from tallybayes.engines.spark_ml import BayesEstimator, BayesTransformer
from tallybayes.errors import LabelError, OptionError, TableError
from tests.engines.moments import ARROW, check_moments
from tests.engines.same import FAMILY, check_same
from tests.engines.tables import features, fit, table

MODE = os.environ["TALLYBAYES_SPARK"]
SHORT = ["NaiveBayes", "TAN", "BayesClassifier"]
PAGE = Path(__file__).parents[2] / "docs" / "spark-and-dask.md"
BLOCK = re.compile(r"^```python spark\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    builder = SparkSession.builder.remote("local[2]") if MODE == "connect" else SparkSession.builder.master(MODE)
    options = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "50",  # several batches in a partition
        "spark.sql.unionOutputPartitioning": "false",  # a partition for each of the frames that in_parts puts together
        "spark.sql.warehouse.dir": "build/spark-warehouse",
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    assert ("connect" in type(session).__module__) == (MODE == "connect")
    yield session
    session.stop()


def in_parts(session: Any, parts: list[pa.Table]) -> Any:
    """One partition for each; of those without rows one that a filter has emptied."""
    some = next(part for part in parts if part.num_rows)
    frame = None
    for part in parts:
        one = session.createDataFrame(part if part.num_rows else some.slice(0, 5)).coalesce(1)
        one = one if part.num_rows else one.filter("rand() < 0")
        frame = one if frame is None else frame.union(one)
    return frame


@pytest.mark.parametrize("name", FAMILY if MODE.startswith("local[") else SHORT)
def test_counted_by_executors_is_counted_here(spark: Any, name: str) -> None:
    check_same(name, lambda parts: in_parts(spark, parts), "weight" if name in SHORT else None)


@pytest.mark.parametrize("kind", [kind for kind in ARROW if kind != "time"])
def test_dates_and_texts_are_read_as_here(spark: Any, kind: str) -> None:
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    check_moments(kind, lambda parts: in_parts(spark, parts), lambda found: found.toArrow())


def test_a_tree_of_merges(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tallybayes.engines.spark.MERGE_FAN_IN", 2)
    t = table()
    frame = spark.createDataFrame(t).repartition(5)
    found = tb.AODE().learn_from(frame, "kind", columns=features(t).column_names)
    here = fit(tb.AODE(), t)
    np.testing.assert_array_equal(found.class_count_, here.class_count_)
    np.testing.assert_allclose(found.predict_proba(features(t)), here.predict_proba(features(t)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("victim", ["worker", "executor"])
def test_a_task_that_is_killed_counts_once(spark: Any, victim: str, tmp_path: Path) -> None:
    if victim == "executor" and "cluster" not in MODE:
        pytest.skip("here the executor is this process")
    if MODE == "connect":
        pytest.skip("its local server tries each task once")
    marker = str(tmp_path / "killed")

    def kill(batches: Any) -> Any:
        from pyspark import TaskContext

        for batch in batches:
            yield batch
            if TaskContext.get().partitionId() == 1 and not os.path.exists(marker):  # type: ignore[union-attr]
                with open(marker, "w"):
                    pass
                if victim == "executor":  # this process ← daemon ← executor
                    with open(f"/proc/{os.getppid()}/stat") as stat:
                        os.kill(int(stat.read().rsplit(")", 1)[1].split()[1]), 9)
                os._exit(1)

    t = table()
    parts = [t.slice(0, 200), t.slice(200, 200), t.slice(400, 200)]
    frame = in_parts(spark, parts)
    plan = tb.NaiveBayes().plan(t, "kind", columns=features(t).column_names)
    found = tb.NaiveBayes().learn_from(frame.mapInArrow(kill, frame.schema), "kind", plan=plan)
    assert os.path.exists(marker)
    here = plan.copy().partial_fit(features(t), t["kind"])
    np.testing.assert_array_equal(found.class_count_, here.class_count_)
    np.testing.assert_allclose(found.predict_proba(features(t)), here.predict_proba(features(t)), rtol=0, atol=1e-12)


def test_answers_are_a_frame_whatever_columns_are_called(spark: Any, tmp_path: Path) -> None:
    t = table()
    names = ["le.ngth", "Colour", "colour", "`wi`dth", "weight", "kind"]
    odd = t.rename_columns(names)
    frame = in_parts(spark, [odd.slice(0, 250), odd.slice(0, 0), odd.slice(250)])
    model = tb.NaiveBayes().learn_from(frame, "kind", columns=names[:4])
    answers = model.predict_to(frame, keep=["kind", "le.ngth"])
    assert answers.columns == ["kind", "le.ngth", "prediction", "proba_high", "proba_low", "proba_mid"]
    found = answers.toArrow()
    X = odd.select(names[:4])
    assert found["kind"].to_pylist() == t["kind"].to_pylist()
    assert found["prediction"].to_pylist() == model.predict(X).tolist()
    np.testing.assert_allclose(found["proba_mid"].to_numpy(), model.predict_proba(X)[:, 2], rtol=0, atol=1e-12)
    assert model.predict_to(frame, tmp_path / "answers.parquet", keep=["kind"]) == 600
    assert parquet.read_table(tmp_path / "answers.parquet")["prediction"].to_pylist() == model.predict(X).tolist()


def test_what_executors_refuse_is_raised_here_and_changes_nothing(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    t = table().select(["length", "weight", "kind"])
    model = tb.NaiveBayes().fit(t.select(["length"]), t["kind"].to_pylist())
    before = model.class_count_
    gap = t.set_column(2, "kind", pa.array([None] * 600, pa.string()))
    with pytest.raises(LabelError):
        model.learn_from(in_parts(spark, [t, gap]), "kind")
    monkeypatch.setattr("tallybayes.engines.spark.MERGE_FAN_IN", 2)
    with pytest.raises(LabelError):
        model.learn_from(in_parts(spark, [t, gap, t]), "kind")
    with pytest.raises(TableError, match="no rows in the Spark frame"):
        model.learn_from(in_parts(spark, [t]).filter("rand() < 0"), "kind")
    with pytest.raises(TableError, match="no rows in the Spark frame"):
        tb.AODE().learn_from(in_parts(spark, [t]).filter("rand() < 0"), "kind")
    with pytest.raises(OptionError, match="Several columns"):
        model.learn_from(spark.sql("select 1 a, 2 a"), "a")
    with pytest.raises(OptionError, match="has no end"):
        model.learn_from(spark.readStream.format("rate").load().toDF("length", "kind"), "kind")
    np.testing.assert_array_equal(model.class_count_, before)


def test_a_plan_looks_at_all_partitions_or_at_some(spark: Any) -> None:
    sky = [["grey"] * 50, ["red"] * 50, ["clear"] * 50, ["green"] * 50]
    frame = in_parts(spark, [pa.table({"sky": s, "go": ["yes", "no"] * 25}) for s in sky])
    assert len(tb.NaiveBayes().plan(frame, "go", rows=20).schema_.levels[0].labels) == 4
    assert len(tb.NaiveBayes().plan(frame, "go", rows=20, pieces=2).schema_.levels[0].labels) == 2


def test_stages_of_a_pipeline_before_and_after_saving(spark: Any, tmp_path: Path) -> None:
    class Longer(Transformer, DefaultParamsWritable, DefaultParamsReadable):  # type: ignore[misc]
        def _transform(self, dataset: Any) -> Any:
            return dataset.withColumn("longer", dataset["length"] * 2)

    Longer.__module__, Longer.__qualname__ = __name__, "Longer"
    globals()["Longer"] = Longer  # where Spark looks for it
    t = table()
    frame = spark.createDataFrame(t)
    learns = BayesEstimator(tb.NaiveBayes(), labelCol="kind", weightCol="weight", inputCols=["longer", "colour"])
    pipeline = Pipeline(stages=[Longer(), learns, IndexToString(inputCol="prediction", outputCol="back")])
    fitted = pipeline.fit(frame)
    last = fitted.stages[1]
    assert isinstance(last, BayesTransformer)
    assert last.model.class_count_.sum() == sum(t["weight"].to_pylist())
    out = fitted.transform(frame)
    assert out.columns == [*t.column_names, "longer", "rawPrediction", "probability", "prediction", "back"]
    found = out.collect()
    rows = pa.table({"longer": pa.compute.multiply(t["length"], 2.0), "colour": t["colour"]})
    assert [row["back"] for row in found] == last.model.predict(rows).tolist()
    assert {row["prediction"] for row in found} <= {0.0, 1.0, 2.0}
    for column, answer in (("probability", last.model.predict_proba), ("rawPrediction", last.model.predict_log_proba)):
        vectors = np.array([row[column].toArray() for row in found])
        np.testing.assert_allclose(vectors, answer(rows), rtol=0, atol=1e-12)
    fitted.save(str(tmp_path / "fitted"))
    assert PipelineModel.load(str(tmp_path / "fitted")).transform(frame).collect() == found
    pipeline.save(str(tmp_path / "pipeline"))
    again = Pipeline.load(str(tmp_path / "pipeline"))
    assert again.getStages()[1].classifier.get_params() == learns.classifier.get_params()
    assert again.fit(frame).transform(frame).collect() == found
    with pytest.raises(OptionError, match=r"no tallybayes\.engines\.spark_ml\.BayesEstimator"):
        BayesEstimator.load(str(tmp_path / "fitted" / "stages" / f"1_{last.uid}"))
    BayesEstimator(last.model, labelCol="kind").save(str(tmp_path / "learned"))  # one that goes on from what it knows
    assert BayesEstimator.load(str(tmp_path / "learned")).classifier.class_count_.sum() == last.model.class_count_.sum()


def test_cross_validation_searches_options_of_the_classifier(spark: Any) -> None:
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, 300)
    t = pa.table({"x": label + rng.normal(size=300), "sky": rng.choice(["a", "b"], 300), "label": label})
    learns = BayesEstimator(tb.NaiveBayes("gaussian"))
    grid = ParamGridBuilder().addGrid(learns.alpha, [1.0, 1e6]).addGrid(learns.priors, [None, "uniform"]).build()
    judge = BinaryClassificationEvaluator()
    search = CrossValidator(
        estimator=learns, estimatorParamMaps=grid, evaluator=judge, numFolds=2, seed=0, parallelism=2
    )
    found = search.fit(spark.createDataFrame(t))
    best = found.bestModel.model
    assert best.feature_names_in_.tolist() == ["x", "sky"]  # not the column of folds
    assert learns.classifier.alpha == 1.0
    assert best.alpha in (1.0, 1e6)
    assert len(set(found.avgMetrics)) > 1
    area = judge.evaluate(found.transform(spark.createDataFrame(t)))
    assert area == pytest.approx(roc_auc_score(label, best.predict_proba(t.select(["x", "sky"]))[:, 1]), abs=1e-9)


def test_labels_that_an_indexer_made_and_labels_that_are_numbers(spark: Any) -> None:
    t = table().drop_columns(["weight"])
    frame = (
        StringIndexer(inputCol="kind", outputCol="label")
        .fit(spark.createDataFrame(t))
        .transform(spark.createDataFrame(t))
    )
    with pytest.raises(OptionError, match="indexed from another column"):
        BayesEstimator(tb.NaiveBayes()).fit(frame)
    names = frame.schema["label"].metadata["ml_attr"]["vals"]
    learns = BayesEstimator(tb.NaiveBayes(), inputCols=["length", "colour"], probabilityCol="", alpha=0.5)
    some = learns.fit(frame.filter("label != 1"))  # a fold without this class: the others stay where they are
    out = some.transform(frame)
    assert some.model.alpha == 0.5
    assert (some.numClasses, out.columns[-2:]) == (3, ["rawPrediction", "prediction"])
    assert {row["rawPrediction"][1] for row in out.collect()} == {-np.inf}
    back = IndexToString(inputCol="prediction", outputCol="back").transform(out).toArrow()["back"].to_pylist()
    here = some.model.predict(t.select(["length", "colour"])).astype(int)
    assert back == [names[k] for k in here]
    years = frame.withColumn("year", (2000 + 10 * frame["label"]).cast("int"))
    out = BayesEstimator(tb.NaiveBayes(), labelCol="year", inputCols=["length"]).fit(years).transform(years)
    assert {row["prediction"] for row in out.collect()} <= {2000.0, 2010.0, 2020.0}
    assert out.first()["probability"].size == 3
    assert MulticlassClassificationEvaluator(labelCol="year", metricName="accuracy").evaluate(out) > 0.3


def test_what_a_stage_refuses(spark: Any, tmp_path: Path) -> None:
    t = table()
    frame = spark.createDataFrame(t)
    with pytest.raises(OptionError, match="has no option 'alpah'"):
        BayesEstimator(tb.NaiveBayes(), alpah=1.0)
    with pytest.raises(OptionError, match="cannot change any more"):
        BayesEstimator(fit(tb.NaiveBayes(), t), labelCol="kind", alpha=3.0).fit(frame)
    both = VectorAssembler(inputCols=["length"], outputCol="v", handleInvalid="keep").transform(frame)
    with pytest.raises(OptionError, match="is a vector"):
        BayesEstimator(tb.NaiveBayes(), labelCol="kind").fit(both)
    model = BayesTransformer(fit(tb.NaiveBayes(), t))
    assert "v" in model.transform(both).columns  # it may be there
    assert model.transform(both).first()["v"].size == 1
    with pytest.raises(OptionError, match="has a column 'prediction' already"):
        model.transform(model.transform(frame).drop("probability", "rawPrediction"))
    with pytest.raises(OptionError, match="no column 'length'"):
        model.transform(frame.drop("length"))
    with pytest.raises(OptionError, match="cannot be saved"):
        BayesEstimator(tb.NaiveBayes(), priors=np.array([1.0, 2.0])).save(str(tmp_path / "e"))


def test_executors_do_without_scikit_learn(spark: Any) -> None:
    def loaded(batches: Any) -> Any:
        for _ in batches:
            pass
        yield pa.record_batch({"ours": ["tallybayes.io" in sys.modules], "theirs": ["sklearn" in sys.modules]})

    t = table()
    frame = spark.createDataFrame(t).repartition(4)
    fit(tb.TAN(), t).learn_from(frame, "kind").predict_to(frame).count()
    found = frame.mapInArrow(loaded, "ours boolean, theirs boolean").collect()
    assert any(row["ours"] for row in found)
    assert not any(row["theirs"] for row in found)


def test_the_page_describes_what_happens(spark: Any) -> None:
    names: dict[str, Any] = {"spark": spark}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False)
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) > 2
    for block in blocks:
        test = doctest.DocTestParser().get_doctest(block, names, PAGE.name, str(PAGE), 0)
        report: list[str] = []
        assert runner.run(test, out=report.append, clear_globs=False).failed == 0, "".join(report)
        names.update(test.globs)
