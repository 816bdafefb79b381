"""The workloads of BayesClassifier on many rows, beside LightGBM with as many threads."""

from __future__ import annotations

from typing import Any

import numpy as np

import tallybayes as tb
from tallybayes import _core

from . import data
from .harness import Case, Side, workload
from .workloads import shape

ASKED = 200_000  # rows that are answered
MEGABYTES = 500.0  # the counts of the networks alone may take 256


def boosted() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=_core.threads(), verbose=-1)


def lightgbm(run: Any) -> Side:
    return Side("LightGBM", run)


@workload("BayesClassifier fit, 200,000 rows", ratio=1, megabytes=MEGABYTES, n=200_000)
@workload("BayesClassifier fit, 1,000,000 rows", ratio=1, megabytes=MEGABYTES, n=1_000_000)
def ensemble_fit(shrink: int, n: int) -> Case:
    X, y = data.gaussians(n // shrink, 30, 3)
    return Case(
        shape(len(y), "30 float64", "3 classes"),
        ours=lambda: tb.BayesClassifier().fit(X, y),
        peer=lightgbm(lambda: boosted().fit(X, y)),
    )


@workload("BayesClassifier predict_proba, 200,000 rows", ratio=1, megabytes=MEGABYTES, n=1_000_000)
def ensemble_proba(shrink: int, n: int) -> Case:
    """Of models that have learned n rows: so their tables are as large as they get."""
    X, y = data.gaussians(n // shrink, 30, 3)
    ours, peer = tb.BayesClassifier().fit(X, y), boosted().fit(X, y)
    asked = np.ascontiguousarray(X[: ASKED // shrink])
    return Case(
        shape(len(asked), "30 float64", "3 classes"),
        ours=lambda: ours.predict_proba(asked),
        peer=lightgbm(lambda: peer.predict_proba(asked)),
    )
