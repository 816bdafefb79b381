"""The workloads of the Gaussian discriminants."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import blas
from sklearn import discriminant_analysis as sk

import tallybayes as tb

from . import data
from .harness import Case, Side, workload
from .workloads import reading, shape, sklearn


def syrk(X: data.Array) -> Side:
    """The limit of anything that needs all products of columns."""
    return Side("BLAS syrk", lambda: blas.dsyrk(1.0, X.T))


# 200k×100: one matrix is 80 kB, ten are 0.8 MB; 500 columns: 2 MB and 20 MB, once as sums and once as a root.
@workload("LDA fit", ratio=40, of_limit=2.0, n=200_000, d=100, K=10, solver="svd")
@workload("LDA fit, beside lsqr", ratio=4, n=200_000, d=100, K=10, solver="lsqr")
@workload("LDA fit, wide", ratio=15, n=20_000, d=500, K=10, solver="svd")
def lda_fit(shrink: int, n: int, d: int, K: int, solver: str) -> Case:
    X, y = data.gaussians(n // shrink, d, K)
    return Case(
        shape(n // shrink, f"{d} float64", f"{K} classes"),
        ours=lambda: tb.LinearDiscriminantAnalysis().fit(X, y),
        peer=sklearn(lambda: sk.LinearDiscriminantAnalysis(solver=solver).fit(X, y)),
        limit=syrk(X),
    )


@workload("QDA fit", ratio=20, n=200_000, d=100, K=10)
@workload("QDA fit, wide", ratio=7, megabytes=104, n=20_000, d=500, K=10)
def qda_fit(shrink: int, n: int, d: int, K: int) -> Case:
    X, y = data.gaussians(max(n // shrink, 2 * d * K), d, K)
    return Case(
        shape(len(y), f"{d} float64", f"{K} classes"),
        ours=lambda: tb.QuadraticDiscriminantAnalysis().fit(X, y),
        peer=sklearn(lambda: sk.QuadraticDiscriminantAnalysis().fit(X, y)),
        limit=syrk(X),
    )


@workload("LDA predict_proba", ratio=3.5, cls="LinearDiscriminantAnalysis")
@workload("QDA predict_proba", ratio=6, cls="QuadraticDiscriminantAnalysis")
def discriminant_proba(shrink: int, cls: str) -> Case:
    n = 200_000 // shrink
    X, y = data.gaussians(n, 100, 10)
    ours, peer = getattr(tb, cls)().fit(X, y), getattr(sk, cls)().fit(X, y)
    return Case(
        shape(n, "100 float64", "10 classes"),
        ours=lambda: ours.predict_proba(X),
        peer=sklearn(lambda: peer.predict_proba(X)),
        limit=reading(X),
        tolerance=1e-6,
    )


@workload("leave-one-out grid, 11×11", of_limit=1.0, megabytes=64.0)
def leave_one_out(shrink: int) -> Case:
    n = 20_000 // shrink
    X, y = data.gaussians(n, 50, 5)
    model = tb.QuadraticDiscriminantAnalysis().fit(X, y)

    def predictions() -> None:
        for _ in range(40):
            model.predict_proba(X)

    return Case(
        shape(n, "50 float64", "5 classes"),
        ours=lambda: tb.RegularizedDiscriminantAnalysis().fit(X, y),
        limit=Side("40 predict_proba", predictions),
    )


@workload("LDA fit, 5,000 columns of 200 rows", megabytes=64.0, seconds=2.0)
def more_columns_than_rows(shrink: int) -> Case:
    rng = np.random.default_rng(0)
    d = 5_000 // shrink
    X: Any = rng.normal(size=(200, d))
    y = np.arange(200) % 4
    return Case(f"200×{d} float64, 4 classes", ours=lambda: tb.LinearDiscriminantAnalysis().fit(X, y))
