"""Every estimator of the library, with data that suits it: for tests that go over all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tallybayes as tb

Maker = Callable[[], Any]


def real(rng: np.random.Generator, n: int, d: int = 4) -> Any:
    return rng.normal(size=(n, d)) * 3 + rng.integers(0, 3, size=(n, 1))


def counts(rng: np.random.Generator, n: int, d: int = 4) -> Any:
    return rng.poisson(3.0, size=(n, d)).astype(float)


def codes(rng: np.random.Generator, n: int, d: int = 4) -> Any:
    return rng.integers(0, 4, size=(n, d))


def words(rng: np.random.Generator, n: int, d: int = 4) -> Any:
    return np.array(["red", "green", "blue", "grey"], dtype=object)[codes(rng, n, d)]


def mixed(rng: np.random.Generator, n: int) -> Any:
    import pandas as pd

    return pd.DataFrame(
        {
            "length": rng.normal(size=n),
            "color": words(rng, n, 1)[:, 0],
            "alive": rng.random(n) < 0.5,
            "visits": rng.poisson(2.0, n).astype(float),
        }
    )


def dated(rng: np.random.Generator, n: int) -> Any:
    import pandas as pd

    hours = rng.integers(-400_000, 400_000, n)  # from 1924 to 2015
    when = np.where(rng.random(n) < 0.9, np.datetime64("1970-01-01", "s") + hours * np.timedelta64(3600, "s"), None)
    return pd.DataFrame(
        {"when": when.astype("M8[s]"), "wait": hours * np.timedelta64(1, "m"), "length": rng.normal(size=n)}
    )


def as_read(model: Any, X: Any) -> Any:
    """The table as a model reads it: dates as their parts."""
    import pandas as pd

    from tallybayes.data.schema import align
    from tallybayes.data.table import read_table

    if model.schema_.expansion is None:
        return X
    table = align(read_table(X), model.schema_)
    return pd.DataFrame({name: pd.Series(table.values(j), dtype=object) for j, name in enumerate(table.names or ())})


# name: (how to make it, how to make data for it). StreamingBayes is not among them: what these tests ask of every
# estimator (merge, forget, weights, any order of rows) follows from sums, which it has not. Its own tests are in
# tests/estimators/test_streaming_bayes.py, tests/contract/test_estimator_checks.py and tests/hostile/test_sizes.py.
ESTIMATORS: dict[str, tuple[Maker, Callable[..., Any]]] = {
    "GaussianNB": (tb.GaussianNB, real),
    "GaussianNB shared": (lambda: tb.GaussianNB(variance="shared", ddof=1), real),
    "PoissonNB": (tb.PoissonNB, counts),
    "KernelNB": (tb.KernelNB, real),
    "MultinomialNB": (tb.MultinomialNB, counts),
    "ComplementNB": (tb.ComplementNB, counts),
    "BernoulliNB": (lambda: tb.BernoulliNB(binarize=2.0), counts),
    "CategoricalNB codes": (tb.CategoricalNB, codes),
    "CategoricalNB words": (tb.CategoricalNB, words),
    "NaiveBayes real": (tb.NaiveBayes, real),
    "NaiveBayes mixed": (lambda: tb.NaiveBayes(schema={"visits": "count"}), mixed),
    "NaiveBayes dates": (lambda: tb.NaiveBayes("gaussian", schema={"when": "date"}), dated),
    "NaiveBayes log-gaussian": (lambda: tb.NaiveBayes("log-gaussian"), real),
    "NaiveBayes frequency": (lambda: tb.NaiveBayes("frequency"), real),
    "GaussianDiscriminant": (lambda: tb.GaussianDiscriminant(own_covariance=0.6, shrinkage=0.2, ddof=1), real),
    "GaussianDiscriminant diagonal": (lambda: tb.GaussianDiscriminant("diagonal", own_covariance=0.5), real),
    "GaussianDiscriminant spherical": (lambda: tb.GaussianDiscriminant("spherical", own_covariance=1.0), real),
    "GaussianDiscriminant oas": (lambda: tb.GaussianDiscriminant(shrinkage="oas"), real),
    "GaussianDiscriminant diagonal ledoit-wolf": (
        lambda: tb.GaussianDiscriminant("diagonal", own_covariance=0.5, shrinkage="ledoit-wolf"),
        real,
    ),
    "LinearDiscriminantAnalysis ledoit-wolf": (lambda: tb.LinearDiscriminantAnalysis(shrinkage="auto"), real),
    "LinearDiscriminantAnalysis": (tb.LinearDiscriminantAnalysis, real),
    "QuadraticDiscriminantAnalysis": (tb.QuadraticDiscriminantAnalysis, real),
    "AODE words": (tb.AODE, words),
    "AODE codes": (lambda: tb.AODE("categorical", smoothing="laplace", min_count=3, weighting="information"), codes),
    "A2DE": (lambda: tb.AnDE(2, "categorical"), codes),
    "BayesNetwork words": (lambda: tb.BayesNetwork("x0 -> x1 -> x2, x0 -> x2, x3 -> x2"), words),
    "AODE mixed, real": (lambda: tb.AODE(cuts=None), mixed),
    "A2DE mixed, real": (lambda: tb.AnDE(2, cuts=None, smoothing="laplace", weighting="information"), mixed),
    "BayesNetwork mixed, real": (
        lambda: tb.BayesNetwork({"length": ["color", "alive"], "visits": "alive", "alive": "color"}, cuts=None),
        mixed,
    ),
    "BayesNetwork mixed": (
        lambda: tb.BayesNetwork({"length": ["color", "alive"], "alive": "color"}, smoothing="laplace"),
        mixed,
    ),
}
# Cuts and distributions are chosen by the first rows learned: parts agree only if they are given the choice.
CUT = ("NaiveBayes real", "NaiveBayes mixed", "NaiveBayes frequency", "BayesNetwork mixed")
# So is the structure of these: what is learned later is added to it, or relearn() chooses again.
LEARNED: dict[str, tuple[Maker, Callable[..., Any]]] = {
    "SPODE": (tb.SPODE, words),
    "TAN": (tb.TAN, words),
    "TAN real": (lambda: tb.TAN(cuts="frequency", bins=3, smoothing="laplace"), real),
    "SPODE mixed, real": (lambda: tb.SPODE(cuts=None), mixed),
    "TAN mixed, real": (lambda: tb.TAN(cuts=None, smoothing="laplace"), mixed),
    "TAN only real": (lambda: tb.TAN(cuts=None), real),
    "KDB mixed, real": (lambda: tb.KDB(2, cuts=None), mixed),
    "KDB": (lambda: tb.KDB(2), words),
    "KDB all": (lambda: tb.KDB(2, "categorical", select=False), codes),
    "BayesClassifier": (lambda: tb.BayesClassifier(members=4), mixed),
    "BayesClassifier fast": (lambda: tb.BayesClassifier("fast", members=3), words),
    "BayesClassifier laplace": (
        lambda: tb.BayesClassifier(members=3, smoothing="laplace", weighting="temperature"),
        mixed,
    ),
    "BayesClassifier dates": (lambda: tb.BayesClassifier("fast", members=3), dated),
    "TAN dates": (lambda: tb.TAN(cuts=None), dated),
    "BayesClassifier real": (lambda: tb.BayesClassifier(members=4, random_state=3), real),
    "BayesClassifier nearest": (lambda: tb.BayesClassifier("best", members=4, parts=("networks", "neighbors")), real),
    "BayesClassifier nearest, mixed": (
        lambda: tb.BayesClassifier(members=2, parts=("networks", "neighbors"), weighting="temperature"),
        mixed,
    ),
}


def interactions(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """A table and labels for which every component of a BayesClassifier has something to do: a rule of several columns,
    a category with many levels, numbers that count together."""
    import pandas as pd

    east, north = rng.normal(size=(2, n))
    color, shape = rng.choice(["red", "green", "blue"], n), rng.choice(["round", "square"], n)
    town = rng.integers(0, 30, n)
    inside = east**2 + north**2 < 1.2
    rule = ((color == "red") & (shape == "round")) | ((color != "red") & (shape == "square") & (north > 0))
    y = np.where(rng.random(n) < 0.08, rng.integers(0, 3, n), np.where(town % 5 == 0, 2, np.where(rule, 1, inside)))
    X = pd.DataFrame({"east": east, "north": north, "color": color, "shape": shape, "town": town})
    X["town"] = X["town"].map("town {}".format)
    X["noise"] = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n))
    return X, np.array(["a", "b", "c"])[y.astype(int)]


def all_components() -> Any:
    """A BayesClassifier with every component, and few networks."""
    parts = ("networks", "naive", "target_encoding", "gaussian", "neighbors", "class_trees", "boosting")
    return tb.BayesClassifier(members=2, parts=parts)


def labels(rng: np.random.Generator, n: int) -> Any:
    """Three classes, each met at least once."""
    y = np.concatenate([np.arange(3), rng.integers(0, 3, size=n - 3)])
    return np.array(["b", "a", "c"])[rng.permutation(y)]
