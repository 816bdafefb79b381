"""Spark, started for real by `make test-engines`: in each of its modes, each in a process of its own."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tallybayes.engines.partitions import add_surveys, in_bulk, survey_from_bytes, survey_part, survey_to_bytes
from tallybayes.engines.spark_ml import BayesEstimator, BayesTransformer, _column, _label_index, _without_folds
from tallybayes.errors import OptionError
from tests.engines.tables import table

ROOT = Path(__file__).parents[2]
WANTED = bool(os.environ.get("TALLYBAYES_ENGINES"))
THERE = importlib.util.find_spec("pyspark") is not None


@pytest.mark.skipif(not WANTED, reason="Spark is started by `make test-engines`")
@pytest.mark.parametrize("mode", ["local[2,4]", "local-cluster[2,1,1024]", "connect"])
def test_spark(mode: str) -> None:
    if not THERE or shutil.which("java") is None:
        pytest.skip(f"SPARK IS NOT TESTED: {'pyspark is' if not THERE else 'Java (17 or later) is'} not installed")
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "tests/engines/spark_cases.py",
        ],
        env={**os.environ, "TALLYBAYES_SPARK": mode, "PYSPARK_PYTHON": sys.executable},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    print(run.stdout[-300:])
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr[-3000:]


WITHOUT_PACKAGE = """
import runpy
import sys


class Without:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "tallybayes":
            raise ModuleNotFoundError("No module named 'tallybayes'", name=name)


sys.meta_path.insert(0, Without)
sys.argv = sys.argv[2:]  # python -m pyspark.daemon pyspark.worker
runpy.run_module(sys.argv[0], run_name="__main__")
"""
LEARN = """
import pyarrow as pa
from pyspark.sql import SparkSession
from tallybayes import NaiveBayes

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
frame = spark.createDataFrame([(1.0, "a"), (2.0, "b")] * 20, "x double, y string")
plan = NaiveBayes("mdl").fit(pa.table({"x": [1.0, 2.0] * 20}), ["a", "b"] * 20)
try:
    NaiveBayes("mdl").learn_from(frame, "y", plan=plan)
except Exception as e:
    print(*e.__notes__, sep="\\n")
"""


@pytest.mark.skipif(not WANTED, reason="Spark is started by `make test-engines`")
def test_executors_without_the_package_are_explained(tmp_path: Path) -> None:
    if not THERE or shutil.which("java") is None:
        pytest.skip(f"SPARK IS NOT TESTED: {'pyspark is' if not THERE else 'Java (17 or later) is'} not installed")
    without = tmp_path / "python"
    without.write_text(f"#!{sys.executable}\n{WITHOUT_PACKAGE}")
    without.chmod(0o755)
    run = subprocess.run(
        [sys.executable, "-c", LEARN],
        env={**os.environ, "PYSPARK_PYTHON": str(without)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert "set PYSPARK_PYTHON" in run.stdout, run.stdout[-3000:] + run.stderr[-3000:]


def test_a_survey_is_sent_and_comes_back() -> None:
    t = table(700)
    parts = [survey_part(in_bulk([t.slice(i, 90), t.slice(0, 0)], 50), 100, i) for i in range(0, 700, 90)]
    sent = [survey_from_bytes(survey_to_bytes(part)) for part in parts if part is not None]
    there, here = add_surveys([None, *sent]), add_surveys(parts)
    assert there is not None
    assert here is not None
    assert there.sample.equals(here.sample)
    np.testing.assert_array_equal(there.key, here.key)
    assert (there.rows, there.most) == (here.rows, here.most) == (700, 100)
    assert {n: v.to_pylist() for n, v in there.labels.items()} == {n: v.to_pylist() for n, v in here.labels.items()}
    many = survey_part(
        [pa.table({"id": [f"{i}" for i in range(100_001)], "b": pa.array([None] * 100_001, pa.string())})], 5, 0
    )
    assert many is not None
    back = survey_from_bytes(survey_to_bytes(many))
    assert back.labels["id"] is None
    assert len(back.labels["b"]) == 0
    assert survey_part([t.slice(0, 0)], 5, 0) is None
    assert add_surveys([]) is None


def test_rows_in_bulk_are_the_same_rows() -> None:
    t = table(100)
    found = list(in_bulk([t.slice(i, 7) for i in range(0, 100, 7)], 20))
    assert [len(part) for part in found] == [21, 21, 21, 21, 16]
    assert pa.concat_tables(found).equals(t)


def test_a_stage_takes_a_classifier() -> None:
    for stage in (lambda: BayesEstimator("NaiveBayes"), lambda: BayesTransformer(3)):  # type: ignore[arg-type]
        with pytest.raises(OptionError, match="of tallybayes" if THERE else "pip install"):
            stage()


def test_the_column_that_splits_rows_is_no_feature() -> None:
    names = ["x", "kind", "w", "CrossValidator_0a1b2c3d4e5f_rand", "TrainValidationSplit_9f8e7d6c5b4a_rand", "x_rand"]
    assert _without_folds(names, ["kind", "w"]) == ["x", "x_rand"]


@pytest.mark.parametrize(
    ("classes", "names", "values", "places", "length"),
    [
        (["no", "yes"], None, [0.0, 1.0], [0, 1], 2),
        ([False, True], None, [0.0, 1.0], [0, 1], 2),
        ([0, 2], None, [0.0, 2.0], [0, 2], 3),
        ([0.0, 1.0], ["a", "b", "c"], [0.0, 1.0], [0, 1], 3),
        ([1, 99], None, [1.0, 99.0], [1, 99], 100),
        ([1, 100], None, [1.0, 100.0], [0, 1], 2),
        ([-1, 1], None, [-1.0, 1.0], [0, 1], 2),
        ([0.5, 1.5], None, [0.5, 1.5], [0, 1], 2),
    ],
)
def test_classes_as_numbers(classes: list[object], names: object, values: object, places: object, length: int) -> None:
    assert _label_index(classes, names) == (values, places, length)  # type: ignore[arg-type]


def test_vectors_have_places_for_classes_that_were_not_learned() -> None:
    index = _label_index([0, 2], None)
    found = _column("proba", np.array([[0.25, 0.75]]), index).to_pylist()
    assert found == [{"type": 1, "size": None, "indices": None, "values": [0.25, 0.0, 0.75]}]
    assert _column("log_proba", np.zeros((1, 2)), index).to_pylist()[0]["values"] == [0.0, -np.inf, 0.0]
    assert _column("best", np.array([1, 0]), index).to_pylist() == [2.0, 0.0]
