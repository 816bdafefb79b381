"""The workloads. To add one, write a function that builds a Case; to add a peer, give it another Side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import naive_bayes as sk
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

import tallybayes as tb
from tallybayes import _core
from tallybayes.distributions import Words

from . import data
from .harness import Case, Side, workload

SKLEARN = "scikit-learn"


def sklearn(run: Any, times: float = 1.0) -> Side:
    return Side(SKLEARN, run, times)


def reading(*arrays: data.Array) -> Side:
    """The limit of anything that must look at all of X: reading it once, with all threads."""
    views = [_core.Columns(a if a.ndim == 2 else [a]) for a in arrays]
    return Side("read X", lambda: [_core.stream(view) for view in views])


def shape(n: int, columns: str, classes: str) -> str:
    """1000000, "50 float64", "5 classes" -> "1M×50 float64, 5 classes"."""
    rows = f"{n / 1e6:g}M" if n >= 1_000_000 else f"{n / 1e3:g}k"
    return f"{rows}×{columns}, {classes}"


# GaussianNB


@workload("GaussianNB fit", ratio=35, of_limit=1.8, n=1_000_000, d=50, K=5, dtype="float64")
@workload("GaussianNB fit, float32", n=1_000_000, d=50, K=5, dtype="float32")
@workload("GaussianNB fit, wide", ratio=22, n=100_000, d=500, K=10, dtype="float64")
def gaussian_fit(shrink: int, n: int, d: int, K: int, dtype: str) -> Case:
    X, y = data.gaussians(n // shrink, d, K, dtype)
    return Case(
        shape(n // shrink, f"{d} {dtype}", f"{K} classes"),
        ours=lambda: tb.GaussianNB().fit(X, y),
        peer=sklearn(lambda: sk.GaussianNB().fit(X, y)),
        limit=reading(X),
    )


@workload("GaussianNB predict_proba", ratio=45, n=1_000_000, d=50, K=5)
@workload("GaussianNB predict_proba, wide", ratio=90, n=100_000, d=500, K=10)
def gaussian_proba(shrink: int, n: int, d: int, K: int) -> Case:
    X, y = data.gaussians(n // shrink, d, K)
    ours, peer = tb.GaussianNB().fit(X, y), sk.GaussianNB().fit(X, y)
    return Case(
        shape(n // shrink, f"{d} float64", f"{K} classes"),
        ours=lambda: ours.predict_proba(X),
        peer=sklearn(lambda: peer.predict_proba(X)),
        limit=reading(X),
        tolerance=1e-6,
    )


@workload("GaussianNB predict", ratio=60)
def gaussian_predict(shrink: int) -> Case:
    n = 1_000_000 // shrink
    X, y = data.gaussians(n, 50, 5)
    ours, peer = tb.GaussianNB().fit(X, y), sk.GaussianNB().fit(X, y)
    return Case(
        shape(n, "50 float64", "5 classes"),
        ours=lambda: ours.predict(X),
        peer=sklearn(lambda: peer.predict(X)),
        limit=reading(X),
        tolerance=0,
    )


# CategoricalNB, and the same columns as a frame


@workload("CategoricalNB fit", ratio=40)
def categorical_fit(shrink: int) -> Case:
    n = 1_000_000 // shrink
    X, y = data.codes(n, 30, V=8, K=4)
    return Case(
        shape(n, "30 int64", "4 classes"),
        ours=lambda: tb.CategoricalNB().fit(X, y),
        peer=sklearn(lambda: sk.CategoricalNB().fit(X, y)),
        limit=reading(X),
    )


@workload("CategoricalNB predict_proba", ratio=35)
def categorical_proba(shrink: int) -> Case:
    n = 1_000_000 // shrink
    X, y = data.codes(n, 30, V=8, K=4)
    ours, peer = tb.CategoricalNB().fit(X, y), sk.CategoricalNB().fit(X, y)
    return Case(
        shape(n, "30 int64", "4 classes"),
        ours=lambda: ours.predict_proba(X),
        peer=sklearn(lambda: peer.predict_proba(X)),
        limit=reading(X),
        tolerance=1e-6,
    )


@workload("NaiveBayes fit, pandas strings", ratio=25, library="pandas", categorical=False)
@workload("NaiveBayes fit, polars strings", ratio=25, library="polars", categorical=False)
@workload("NaiveBayes fit, pyarrow strings", ratio=25, library="pyarrow", categorical=False)
@workload("NaiveBayes fit, pandas categorical", ratio=25, library="pandas", categorical=True)
@workload("NaiveBayes fit, polars categorical", ratio=25, library="polars", categorical=True)
@workload("NaiveBayes fit, pyarrow dictionary", ratio=25, library="pyarrow", categorical=True)
def frame_fit(shrink: int, library: str, categorical: bool) -> Case:
    from sklearn.preprocessing import OrdinalEncoder

    n, fifth = 1_000_000 // shrink, 200_000 // shrink
    X, y = data.codes(n, 30, V=8, K=4)
    table = data.frame(library, X, categorical=categorical)
    # The peer, OrdinalEncoder + CategoricalNB, takes a quarter of a minute for all the rows: it gets a fifth
    # of them, as the pandas frame that it knows best.
    part = data.frame("pandas", X[:fifth], categorical=categorical)
    bytes_of_table = data.buffers(data.frame("pyarrow", X, categorical=categorical))
    del X
    return Case(
        shape(n, "30", "4 classes"),
        ours=lambda: tb.NaiveBayes().fit(table, y),
        peer=Side(
            "OrdinalEncoder",
            lambda: sk.CategoricalNB().fit(OrdinalEncoder().fit_transform(part), y[:fifth]),
            times=5,
        ),
        limit=reading(*bytes_of_table),
    )


# MultinomialNB on sparse counts


@workload("MultinomialNB fit", ratio=4.5)
def multinomial_fit(shrink: int) -> Case:
    n = 200_000 // shrink
    X, y = data.words(n, 50_000, per_row=100, K=20)
    return Case(
        shape(n, "50k CSR", "20 classes"),
        ours=lambda: tb.MultinomialNB().fit(X, y),
        peer=sklearn(lambda: sk.MultinomialNB().fit(X, y)),
        limit=reading(X.data, X.indices),
    )


@workload("MultinomialNB predict_proba", ratio=3.2)
def multinomial_proba(shrink: int) -> Case:
    n = 200_000 // shrink
    X, y = data.words(n, 50_000, per_row=100, K=20)
    ours, peer = tb.MultinomialNB().fit(X, y), sk.MultinomialNB().fit(X, y)
    return Case(
        shape(n, "50k CSR", "20 classes"),
        ours=lambda: ours.predict_proba(X),
        peer=sklearn(lambda: peer.predict_proba(X)),
        limit=reading(X.data, X.indices),
        tolerance=1e-6,
    )


# The counts of 2,000 classes are 800 MB, and so are their logarithms; a dense n×K would be 3,200 MB more.
@workload("MultinomialNB many classes", megabytes=2_500)
def multinomial_many_classes(shrink: int) -> Case:
    n = 200_000 // shrink
    X, y = data.words(n, 50_000, per_row=100, K=2_000 // shrink)
    few = X[: 10_000 // shrink]
    return Case(
        shape(n, "50k CSR", f"{2_000 // shrink} classes"),
        ours=lambda: tb.MultinomialNB().fit(X, y).predict(few),
        once=True,
    )


# Texts and dates


@workload("words fit", ratio=8, megabytes=16, leaner=4)
def words_fit(shrink: int) -> Case:
    texts, y = data.messages(200_000 // shrink, 4)
    ours = tb.NaiveBayes(Words())
    peer = make_pipeline(CountVectorizer(), sk.MultinomialNB())
    for model in (ours, peer):  # the code that a first call reads from the disk is no memory of a fit
        model.fit(texts[:100], y[:100])
    return Case(
        shape(200_000 // shrink, "text", "4 classes"),
        ours=lambda: ours.fit(texts, y),
        peer=Side("CountVectorizer + MultinomialNB", lambda: peer.fit(texts, y)),
    )


@workload("words predict", ratio=8, megabytes=16, leaner=4)
def words_predict(shrink: int) -> Case:
    texts, y = data.messages(200_000 // shrink, 4)
    ours = tb.NaiveBayes(Words()).fit(texts, y)
    peer = make_pipeline(CountVectorizer(), sk.MultinomialNB()).fit(texts, y)
    return Case(
        shape(200_000 // shrink, "text", "4 classes"),
        ours=lambda: ours.predict_proba(texts),
        peer=Side("CountVectorizer + MultinomialNB", lambda: peer.predict_proba(texts)),
        tolerance=1e-6,
    )


@workload("dates fit")
def dates_fit(shrink: int) -> Case:
    n = 1_000_000 // shrink
    X, y = data.moments(n)
    return Case(
        shape(n, "1 datetime", "2 classes"),
        ours=lambda: tb.GaussianNB().fit(X, y),
        limit=reading(X["when"].to_numpy().view(np.int64)),
    )


@workload("dates predict_proba")
def dates_predict(shrink: int) -> Case:
    n = 1_000_000 // shrink
    X, y = data.moments(n)
    ours = tb.GaussianNB().fit(X, y)
    return Case(
        shape(n, "1 datetime", "2 classes"),
        ours=lambda: ours.predict_proba(X),
        limit=reading(X["when"].to_numpy().view(np.int64)),
    )


# One row at a time


@workload("one row: fit")
def iris_fit(_: int) -> Case:
    X, y = load_iris(return_X_y=True)
    return Case(
        "iris, 150×4",
        ours=lambda: tb.GaussianNB().fit(X, y),
        peer=sklearn(lambda: sk.GaussianNB().fit(X, y)),
    )


@workload("one row: predict_proba", ratio=10)
def iris_proba(_: int) -> Case:
    X, y = load_iris(return_X_y=True)
    ours, peer = tb.GaussianNB().fit(X, y), sk.GaussianNB().fit(X, y)
    row = X[70:71]
    return Case(
        "iris, 1×4",
        ours=lambda: ours.predict_proba(row),
        peer=sklearn(lambda: peer.predict_proba(row)),
        tolerance=1e-6,
    )


# Rows as dicts, for streams and services. One call passes 150 rows.


def stream_case(step: Callable[[Any, dict[str, float], str], object]) -> Case:
    """`step` of a model that has learned the rows, on each of them; river's GaussianNB beside ours."""
    from river.naive_bayes import GaussianNB

    rows = data.dicts(150, d=20, K=2)
    ours, peer = tb.GaussianNB(), GaussianNB()

    def each(model: Any) -> None:
        for row, y in rows:
            step(model, row, y)

    for row, y in rows:
        ours.learn_one(row, y)
        peer.learn_one(row, y)
    return Case("20 values, 2 classes", lambda: each(ours), Side("river", lambda: each(peer)), per=len(rows))


@workload("one dict: learn_one", ratio=8)
def learn_one(_: int) -> Case:
    return stream_case(lambda model, row, y: model.learn_one(row, y))


@workload("one dict: predict_proba_one", ratio=80)
def predict_one(_: int) -> Case:
    return stream_case(lambda model, row, _: model.predict_proba_one(row))


@workload("one dict: predict, then learn")  # what a predict prepares is of no use to the next
def predict_then_learn(_: int) -> Case:
    return stream_case(lambda model, row, y: (model.predict_proba_one(row), model.learn_one(row, y)))


@workload("one mixed dict: learn_one", seconds=2e-6, learns=True, asks=False)
@workload("one mixed dict: predict_proba_one", seconds=2e-6, learns=False, asks=True)
@workload("one mixed dict: predict, then learn", learns=True, asks=True)
def mixed_dict(_: int, learns: bool, asks: bool) -> Case:
    rows = data.mixed_dicts(150)
    model = tb.NaiveBayes().fit([row for row, _ in rows], [y for _, y in rows])

    def each() -> None:
        for row, y in rows:
            if asks:
                model.predict_proba_one(row)
            if learns:
                model.learn_one(row, y)

    each()
    return Case("7 numbers, 7 words, 6 truths, 2 classes", each, per=len(rows))


@workload("one mixed dict: learn_one, half_life", seconds=2e-6, half_life=1000.0)
@workload("one mixed dict: decay, then learn_one", seconds=5e-6, factor=0.999)
@workload("one mixed dict: learn_one, then forget_one", seconds=5e-6, forgets=True)
def fading_dict(_: int, half_life: float | None = None, factor: float | None = None, forgets: bool = False) -> Case:
    rows = data.mixed_dicts(150)
    model = tb.NaiveBayes("gaussian", half_life=half_life).fit([row for row, _ in rows], [y for _, y in rows])

    def each() -> None:
        for row, y in rows:
            if factor is not None:
                model.decay(factor)
            model.learn_one(row, y)
            if forgets:
                model.forget_one(row, y)

    each()
    return Case("7 numbers, 7 words, 6 truths, 2 classes", each, per=len(rows))


@workload("one dict: learn_one, unseen level", seconds=2e-5)
def new_levels(_: int) -> Case:
    """A copy of the model each time, or it would grow with the number of calls; its fast path is made first."""
    known, new = ([{"word": f"{what} {i}"} for i in range(n)] for what, n in (("old", 50_000), ("new", 20_000)))
    start = tb.NaiveBayes().fit(known, [i % 2 for i in range(len(known))])

    def learn() -> None:
        model = start.copy()
        model.predict_proba_one(known[0])
        for row in new:
            model.learn_one(row, 1)

    return Case("50,000 levels, then 20,000 more", learn, per=len(new))


# Cuts and kernel densities


@workload("MDL cuts", seconds=0.5)
def mdl_cuts(shrink: int) -> Case:
    n = 1_000_000 // shrink
    X, y = data.gaussians(n, 1, 3)
    codes, flat = y.astype(np.int32), X.ravel()
    return Case(
        shape(n, "1", "3 classes"),
        ours=lambda: _core.cuts_mdl(_core.Columns(X), codes, None, 3),
        limit=Side("NumPy sort", lambda: np.sort(flat)),
    )


def direct_sums(model: Any, X: data.Array, y: data.Array, rows: data.Array) -> data.Array:
    """Kernel naive Bayes as the formula reads: every row against every training value, as in R."""
    joint = np.log(np.bincount(y) / len(y)) * np.ones((len(rows), 1))
    for c in range(joint.shape[1]):
        seen = X[y == c]
        for j in range(X.shape[1]):
            h = model.bandwidth_[c, j]
            z = (rows[:, j, None] - seen[:, j]) / h
            joint[:, c] += np.log(np.exp(-0.5 * z * z).sum(axis=1) / (len(seen) * h * np.sqrt(2 * np.pi)))
    joint = np.exp(joint - joint.max(axis=1, keepdims=True))
    posterior: data.Array = joint / joint.sum(axis=1, keepdims=True)
    return posterior


@workload("KernelNB predict_proba", ratio=20)
def kernel_proba(shrink: int) -> Case:
    X, y = data.gaussians(20_000, 10, 3)
    rows = np.clip(X[: 1_000 // shrink], -2, 2)  # where no plain sum of exponentials is zero
    model = tb.KernelNB().fit(X, y)
    return Case(
        f"{len(rows)} rows, 20k×10 learned",
        ours=lambda: model.predict_proba(rows),
        peer=Side("direct sums in NumPy", lambda: direct_sums(model, X, y, rows)),
        tolerance=1e-6,
    )
