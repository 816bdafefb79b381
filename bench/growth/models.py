"""The estimators, the tables that suit them, and the peers that have the same model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tallybayes as tb

from .points import Shape

Table = Any
Made = Any
BLOCK = 50_000


@dataclass(frozen=True)
class Model:
    """How it is made for tables of a shape, what suits it, and its peers by name."""

    make: Callable[[Shape], Made]
    data: str  # "real", "counts", "codes" or "mixed"
    peers: dict[str, Callable[[Shape], Made]] = field(default_factory=dict)
    axes: tuple[str, ...] = ("rows", "columns", "classes", "missing", "batch", "threads", "kind")


def _sklearn(module: str, name: str, **options: object) -> dict[str, Callable[[Shape], Made]]:
    def make(_: Shape) -> Made:
        from importlib import import_module

        return getattr(import_module(f"sklearn.{module}"), name)(**options)

    return {"scikit-learn": make}


def _lightgbm(_: Shape) -> Made:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1)


def _codes(make: Callable[..., Made], **options: object) -> Callable[[Shape], Made]:
    """Whole numbers are categories, in an array and in a frame."""
    return lambda _: make(schema="categorical", **options)


def _chain(shape: Shape) -> Made:
    graph = {f"x{j}": f"x{j - 1}" for j in range(1, shape.columns)}
    return tb.BayesNetwork(graph, schema="categorical")


LEVELS = ("rows", "columns", "classes", "levels", "missing", "batch", "threads", "kind")
MODELS: dict[str, Model] = {
    "GaussianNB": Model(lambda _: tb.GaussianNB(), "real", _sklearn("naive_bayes", "GaussianNB")),
    "PoissonNB": Model(lambda _: tb.PoissonNB(), "counts"),
    "KernelNB": Model(lambda _: tb.KernelNB(), "real"),
    "MultinomialNB": Model(lambda _: tb.MultinomialNB(), "counts", _sklearn("naive_bayes", "MultinomialNB")),
    "ComplementNB": Model(lambda _: tb.ComplementNB(), "counts", _sklearn("naive_bayes", "ComplementNB")),
    "BernoulliNB": Model(
        lambda _: tb.BernoulliNB(binarize=2), "counts", _sklearn("naive_bayes", "BernoulliNB", binarize=2)
    ),
    "CategoricalNB": Model(lambda _: tb.CategoricalNB(), "codes", _sklearn("naive_bayes", "CategoricalNB"), LEVELS),
    "NaiveBayes": Model(lambda _: tb.NaiveBayes(), "mixed", {}, LEVELS),
    "LinearDiscriminantAnalysis": Model(
        lambda _: tb.LinearDiscriminantAnalysis(),
        "real",
        _sklearn("discriminant_analysis", "LinearDiscriminantAnalysis", solver="lsqr"),
    ),
    "QuadraticDiscriminantAnalysis": Model(
        lambda _: tb.QuadraticDiscriminantAnalysis(reg_param=0.1),
        "real",
        _sklearn("discriminant_analysis", "QuadraticDiscriminantAnalysis", reg_param=0.1),
    ),
    "GaussianDiscriminant": Model(lambda _: tb.GaussianDiscriminant(shrinkage=0.1), "real"),
    "RegularizedDiscriminantAnalysis": Model(lambda _: tb.RegularizedDiscriminantAnalysis(0.5, 0.1), "real"),
    "BayesNetwork": Model(_chain, "codes", {}, LEVELS),
    "SPODE": Model(_codes(tb.SPODE), "codes", {}, LEVELS),
    "TAN": Model(_codes(tb.TAN), "codes", {}, LEVELS),
    "KDB": Model(_codes(tb.KDB), "codes", {}, LEVELS),
    "AODE": Model(_codes(tb.AODE), "codes", {}, LEVELS),
    "AnDE": Model(_codes(tb.AnDE), "codes", {}, LEVELS),
    "BayesClassifier": Model(lambda _: tb.BayesClassifier(), "mixed", {"LightGBM": _lightgbm}, LEVELS),
}


def table(model: Model, shape: Shape, rows: int, seed: int) -> tuple[Table, Any]:
    """X and y of a shape, the same every time. Every class is there, and every level where there are rows enough."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % shape.classes
    rng.shuffle(y)
    if model.data == "mixed":
        return _mixed(shape, rng, y), y
    X = _array(model.data, shape, rng, y)
    if model.data == "codes" and shape.levels != Shape.levels:
        X[:, 0] = rng.permutation(np.arange(rows) % shape.levels)
    if shape.missing:
        X = X.astype(np.float64)
        for a in range(0, rows, BLOCK):
            X[a : a + BLOCK][rng.random(X[a : a + BLOCK].shape) < shape.missing] = np.nan
    return X, y


def _array(data: str, shape: Shape, rng: np.random.Generator, y: Any) -> Any:
    n, d, K = len(y), shape.columns, shape.classes
    X = np.empty((n, d), np.int64 if data == "codes" else np.float64)
    centre = rng.normal(size=(K, d))
    for a in range(0, n, BLOCK):
        part = slice(a, a + BLOCK)
        c = centre[y[part]]
        if data == "real":
            X[part] = c + rng.normal(size=c.shape)
        elif data == "counts":
            X[part] = rng.poisson(1.0 + np.abs(c))
        else:
            X[part] = np.where(rng.random(c.shape) < 0.2, (c * 100).astype(int) % 8, rng.integers(8, size=c.shape))
    return X


def _mixed(shape: Shape, rng: np.random.Generator, y: Any) -> Any:
    """Half of the columns numbers, half words, in a frame."""
    import pandas as pd

    n, half = len(y), max(1, shape.columns // 2)
    numbers = _array("real", Shape(columns=half, classes=shape.classes), rng, y)
    words = {}
    for j in range(shape.columns - half):
        many = shape.levels if j == 0 else Shape.levels
        code = np.where(rng.random(n) < 0.2, (y * 7 + j) % many, rng.integers(many, size=n))
        if many > Shape.levels:
            code = rng.permutation(np.arange(n) % many)
        words[f"w{j}"] = pd.Categorical.from_codes(code, [f"word {v}" for v in range(many)])
    frame = pd.DataFrame({**{f"x{j}": numbers[:, j] for j in range(half)}, **words})
    return frame.mask(rng.random(frame.shape) < shape.missing) if shape.missing else frame


def as_kind(model: Model, X: Table, kind: str) -> Table | None:
    """The same table as it may come; None where this is no way for it to come."""
    import pandas as pd

    mixed = model.data == "mixed"
    if kind in ("plain", "weights", "missing", "one dict"):
        return X
    if kind == "float32":
        return None if mixed or model.data == "codes" else X.astype(np.float32)
    if kind == "fortran":
        return None if mixed else np.asfortranarray(X)
    frame = X if mixed else pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    if kind == "pandas":
        return None if mixed else frame
    if kind == "strings":  # labels in place of codes or categories, as they come out of a file
        if model.data not in ("codes", "mixed"):
            return None
        coded = frame.columns if not mixed else [c for c in frame.columns if frame[c].dtype == "category"]
        return frame.assign(**{c: ("word " + frame[c].astype(str)).astype("str") for c in coded})
    if kind == "polars":
        import polars as pl

        return pl.from_pandas(frame)
    import pyarrow as pa

    return pa.Table.from_pandas(frame)
