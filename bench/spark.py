"""Spark in one session: a fit beside that of pyspark.ml, and what a row, a partition and a merge cost.

    python -m bench.spark [rows]

Times are the least of some, the two libraries in turn; those of parts are of the processor. The master is local[2]: a
cluster has more tasks at a time.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import tallybayes as tb
from tallybayes.engines.partitions import compressed, merge_parts

COLUMNS = 10


def least(what: Callable[[], Any], times: int = 3, clock: Callable[[], float] = time.perf_counter) -> float:
    found = []
    for _ in range(times):
        start = clock()
        what()
        found.append(clock() - start)
    return min(found)


def numbers(rows: int) -> pa.Table:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, rows)
    columns = {f"x{j}": np.abs(rng.normal(y, 1.0 + j, rows)) for j in range(COLUMNS)}
    return pa.table({**columns, "label": y.astype(np.float64)})


def session() -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "2g")
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    made = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


def beside(spark: Any, rows: int) -> None:
    """The fit of this library beside that of pyspark.ml, on the same cached frame."""
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.feature import VectorAssembler

    names = [f"x{j}" for j in range(COLUMNS)]
    frame = spark.createDataFrame(numbers(rows)).repartition(4).cache()
    vectors = VectorAssembler(inputCols=names, outputCol="features").transform(frame).cache()
    print(f"{frame.count():,} = {vectors.count():,} rows of {COLUMNS} numbers in 4 partitions")
    start = time.perf_counter()
    plan = tb.GaussianNB().plan(frame, "label", rows=10_000, pieces=2)
    print(f"first contact (executors start Python and import; a plan): {time.perf_counter() - start:.2f} s")
    theirs = NaiveBayes(modelType="gaussian", featuresCol="features", labelCol="label")
    ours = {
        "tallybayes GaussianNB": lambda: tb.GaussianNB().learn_from(frame, "label", plan=plan),
        "tallybayes GaussianNB, no plan given": lambda: tb.GaussianNB().learn_from(frame, "label"),
    }
    contestants = {"pyspark.ml NaiveBayes('gaussian')": lambda: theirs.fit(vectors), **ours}
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(4):
        for name, fit in contestants.items():
            best[name] = min(best[name], least(fit, 1))
    for name, seconds in best.items():
        print(f"{name:40} {seconds:.2f} s")
    model = ours["tallybayes GaussianNB"]()
    print(f"answers for all rows: {least(lambda: model.predict_to(frame).agg({'`proba_1.0`': 'sum'}).collect()):.2f} s")
    few = spark.createDataFrame(numbers(2000))
    times = {
        n: least(lambda n=n: tb.GaussianNB().learn_from(few.repartition(n), "label", plan=plan)) for n in (4, 16, 64)
    }  # type: ignore[misc]
    print("2,000 rows in so many partitions, seconds:", {n: round(s, 2) for n, s in times.items()})


def parts() -> None:
    """What one partition sends, and what merging costs."""
    t = numbers(100_000)
    rng = np.random.default_rng(1)
    for j in range(5):
        t = t.append_column(f"c{j}", pa.array(rng.choice([f"level {i}" for i in range(30)], t.num_rows)))
    for model in (tb.NaiveBayes(), tb.AODE(), tb.LinearDiscriminantAnalysis(), tb.BayesClassifier()):
        columns = [f"x{j}" for j in range(COLUMNS)]
        if not isinstance(model, tb.LinearDiscriminantAnalysis):
            columns += [f"c{j}" for j in range(5)]
        plan = model.plan(t, "label", columns=columns)
        X, y = t.select(columns), t["label"].to_numpy()
        counting = least(lambda plan=plan, X=X, y=y: plan.copy().partial_fit(X, y), 3, time.process_time) / t.num_rows  # type: ignore[misc]
        sent = compressed(tb.to_bytes(plan.copy().partial_fit(X, y)))
        merging = least(lambda sent=sent: merge_parts([sent] * 16), 3, time.process_time) / 16  # type: ignore[misc]
        name = type(model).__name__
        print(
            f"{name:28} {counting * 1e9:7.0f} ns a row {len(sent) / 1e6:7.3f} MB a part {merging * 1e3:7.1f} ms a merge"
        )


def main() -> None:
    parts()
    spark = session()
    try:
        beside(spark, int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
