"""Few rows at a time: what a question costs besides its rows. Ours against what it must not exceed, in seconds."""

from __future__ import annotations

import numpy as np
import pandas as pd

import tallybayes as tb

from . import data
from .harness import Case, workload


@workload("one row of a frame, 100 levels", levels=100)
@workload("one row of a frame, 200,000 levels", levels=200_000)
def row_of_many_levels(_: int, levels: int) -> Case:
    """The second may take twice the time of the first."""
    frame = pd.DataFrame({"word": [f"word {i}" for i in range(levels)]})
    model = tb.NaiveBayes().fit(frame, np.arange(levels) % 2)
    row = frame[:1]
    return Case(f"one string column, {levels} levels", lambda: model.predict_proba(row))


@workload("partial_fit of 1,000 known rows, 50,000 levels", seconds=2e-3)
def known_levels(_: int) -> Case:
    frame = pd.DataFrame({"word": [f"word {i}" for i in range(50_000)]})
    y = np.arange(len(frame)) % 2
    model = tb.NaiveBayes().fit(frame, y)
    return Case("one string column", lambda: model.partial_fit(frame[:1000], y[:1000]))


@workload("BayesClassifier predict_proba, few rows", rows=1, make=tb.BayesClassifier)
@workload("BayesClassifier predict_proba, few rows, 100", rows=100, make=tb.BayesClassifier)
@workload("TAN predict_proba, few rows", rows=1, make=tb.TAN)
@workload("TAN predict_proba, few rows, 100", rows=100, make=tb.TAN)
@workload("KDB predict_proba, few rows", rows=1, make=tb.KDB)
@workload("AODE predict_proba, few rows", rows=1, make=tb.AODE)
@workload("LDA predict_proba, few rows", rows=1, make=tb.LinearDiscriminantAnalysis)
@workload("QDA predict_proba, few rows", rows=1, make=tb.QuadraticDiscriminantAnalysis)
def few_rows(_: int, rows: int, make: type[tb.NaiveBayes]) -> Case:
    X, y = data.gaussians(2_000, 20, 3)
    model = make().fit(X, y)
    asked = np.ascontiguousarray(X[:rows])
    return Case(f"{rows} of 20 numbers, 3 classes", lambda: model.predict_proba(asked))
