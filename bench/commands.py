"""Workloads of the command line, each a process from its start to its end, imports and all."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tallybayes as tb
from tallybayes.datasets import load_watermelon

from . import data
from .harness import Case, Side, workload

# What a practised user writes without us: read, codes for the words, two naive Bayes models, a pickle.
FIT = """
import pickle, sys
import numpy as np
from sklearn.naive_bayes import CategoricalNB, GaussianNB
path, out = sys.argv[1:]
{read}
pickle.dump((GaussianNB().fit(numbers, y), CategoricalNB().fit(codes, y)), open(out, "wb"))
"""
POLARS = """
import polars as pl
import polars.selectors as cs
table = pl.read_csv(path)
y = table["label"].cast(pl.Enum(table["label"].unique().sort())).to_physical().to_numpy()
X = table.drop("label")
numbers = X.select(cs.numeric()).to_numpy()
words = X.select(cs.string())
codes = words.select(pl.col(c).cast(pl.Enum(words[c].unique().sort())).to_physical() for c in words.columns).to_numpy()
"""
PANDAS = """
import pandas as pd
from sklearn.preprocessing import OrdinalEncoder
table = pd.read_csv(path)
y, X = table["label"], table.drop(columns="label")
numbers = X.select_dtypes("number").to_numpy()
codes = OrdinalEncoder(dtype=np.int64).fit_transform(X.select_dtypes(exclude="number"))
"""
PEERS = {"polars": POLARS, "pandas": PANDAS}
SAME = ("--model", "NaiveBayes", "--set", "distributions=gaussian")  # as the peers have it


def command(*args: object) -> list[str]:
    return [sys.executable, "-m", "tallybayes", *map(str, args)]


def as_users() -> dict[str, str]:
    """The environment without the memory pool that the benchmark sets for what it measures within its own process, and
    with compiled modules kept, as they are where nobody said otherwise."""
    without = ("ARROW_DEFAULT_MEMORY_POOL", "PYTHONDONTWRITEBYTECODE")
    return {key: value for key, value in os.environ.items() if key not in without}


def run(args: list[str]) -> None:
    subprocess.run(args, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=as_users())


def peak(args: list[str]) -> float:
    """The largest resident memory of a process, in megabytes (Linux; a program that ends sooner than we look: 0)."""
    most = 0
    with subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=as_users()) as process:
        status = Path(f"/proc/{process.pid}/status")
        while process.poll() is None:
            lines = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
            most = max(most, int(lines[0].split()[1]) if lines else 0)
            time.sleep(0.005)
    if process.returncode:
        raise RuntimeError(f"{args[2:5]} ended with status {process.returncode}")
    return most * 1024 / 1e6


@workload("CSV to model file, beside polars", ratio=1.8, megabytes=300, peer="polars")
@workload("CSV to model file, beside pandas", ratio=8, megabytes=300, peer="pandas")
@workload("CSV to model file, BayesClassifier", megabytes=600, peer="", model=())
def csv_to_model(shrink: int, peer: str, model: tuple[str, ...] = SAME) -> Case:
    folder = tempfile.TemporaryDirectory()
    path, out = Path(folder.name) / "data.csv", Path(folder.name) / "model"
    n = 1_000_000 // shrink
    data.mixed_csv(path, n)
    ours = command("fit", path, "--target", "label", "-o", out, *model)
    script = [sys.executable, "-c", FIT.format(read=PEERS.get(peer)), str(path), str(out)]
    return Case(
        f"{n / 1e6:g}M×20 mixed, 3 classes",
        ours=lambda _=folder: run(ours),  # type: ignore[misc]  # the folder lives as long as the case
        peer=Side(f"{peer} + scikit-learn", lambda: run(script)) if peer else None,
        peak=lambda: peak(ours),
    )


@workload("CSV to model file, ten times as long", megabytes=300)
def long_csv_to_model(shrink: int) -> Case:
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "data.csv"
    n = 1_000_000 // shrink
    data.mixed_csv(path, n, copies=10)
    ours = command("fit", path, "--target", "label", "-o", Path(folder.name) / "model", *SAME)
    return Case(
        f"{n / 1e5:g}M×20 mixed, 3 classes",
        ours=lambda _=folder: run(ours),  # type: ignore[misc]
        once=True,
        peak=lambda: peak(ours),
    )


@workload("tallybayes --help", seconds=0.3, megabytes=300)
def help_(_: int) -> Case:
    return Case("a process", ours=lambda: run(command("--help")), peak=lambda: peak(command("--help")))


ONE_ROW = """
import sys
from tallybayes import load
load(sys.argv[1]).predict_proba_one({})
"""


@workload("a process that loads a model and answers one row", seconds=0.35, megabytes=300)
def answer_one(_: int) -> Case:
    folder = tempfile.TemporaryDirectory()
    rows, y = load_watermelon()
    model = Path(folder.name) / "model.tb"
    tb.save(tb.NaiveBayes().fit(rows, y), model)
    ours = [sys.executable, "-c", ONE_ROW.replace("{}", repr(rows[0])), str(model)]
    numpy = [sys.executable, "-c", "import numpy"]
    return Case(
        "Python, import to answer",
        ours=lambda _=folder: run(ours),  # type: ignore[misc]
        limit=Side("import numpy", lambda: run(numpy)),
        peak=lambda: peak(ours),
    )


@workload("tallybayes predict, ten rows", seconds=0.8, megabytes=300)
def predict_ten(_: int) -> Case:
    folder = tempfile.TemporaryDirectory()
    rows, y = load_watermelon()
    model, table = Path(folder.name) / "model.tb", Path(folder.name) / "ten.csv"
    tb.save(tb.NaiveBayes().fit(rows, y), model)
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows[:10])]
    table.write_text("\n".join(lines) + "\n")
    ours = command("predict", model, table)
    return Case("a process", ours=lambda _=folder: run(ours), peak=lambda: peak(ours))  # type: ignore[misc]
