"""
Learn on Spark partitions
=========================

The rows stay on the executors. A plan (kinds of columns, bins) goes to them, each partition is counted with it, and the
statistics are merged into one model, which equals that of a local fit with the same plan. Needs pyspark and Java
(``pip install 'tallybayes[spark]'``); the site shows the output of a build that has them.
"""

# %%
import os
import sys

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pyspark.sql import SparkSession
from sklearn.metrics import log_loss

from tallybayes import NaiveBayes, from_bytes, to_bytes
from tallybayes.datasets import load_census

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # executors need a Python that has tallybayes

rows, income = load_census()
people = pd.DataFrame(rows)[["age", "education", "occupation", "hours-per-week"]].assign(income=income)
new = people[8000:].drop(columns="income")
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
frame = spark.createDataFrame(people[:8000]).repartition(8)

# %%
# One plan, counted on eight partitions by Spark and once here.
plan = NaiveBayes("mdl").plan(people[:2000], "income")
model = NaiveBayes("mdl").learn_from(frame, "income", plan=plan)
local = from_bytes(to_bytes(plan)).partial_fit(people[:8000].drop(columns="income"), people["income"][:8000])
print("rows learned:", model.class_count_.sum())
print("largest difference from the local model:", np.abs(model.predict_proba(new) - local.predict_proba(new)).max())

# %%
# Predictions are a lazy frame of Spark.
answers = model.predict_to(spark.createDataFrame(people[8000:]), keep=["income"])
print("accuracy, counted by Spark:", answers.filter("prediction = income").count() / answers.count())

# %%
# More partitions give the same model; more rows give a better one.
counts = [500, 1000, 2000, 4000, 8000]
losses = []
for n in counts:
    part = NaiveBayes("mdl").learn_from(frame.limit(n), "income", plan=plan)
    losses.append(log_loss(people["income"][8000:], part.predict_proba(new)))
spark.stop()
figure = Figure(figsize=(7, 3), layout="constrained")
axis = figure.subplots()
axis.semilogx(counts, losses, "o-")
axis.set_xticks(counts, [f"{n:,}" for n in counts])
axis.minorticks_off()
axis.set(xlabel="rows learned on Spark", ylabel="log-loss of new rows")
