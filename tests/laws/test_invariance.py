"""Predictions depend on what a table says, not on how it is written down: for every estimator the same probabilities
for rows, columns and classes in another order, other names of classes, levels and columns, and numbers in another unit.

The tables are large enough for every component of a BayesClassifier, and for the samples and halves of NaiveBayes. Out
of scope: columns or levels that could be exchanged without a change of the table, new rows with a number between two
learned ones (cuts are rounded to decimal numbers), and distributions of counts, whose unit is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tallybayes as tb
from tests.every_estimator import ESTIMATORS, LEARNED, all_components, dated, interactions, mixed, real

N = 400
OTHERS: dict[str, tuple[Callable[[], Any], Any]] = {
    "every component": (all_components, interactions),
    "default": (lambda: tb.BayesClassifier(members=4), interactions),
    "best": (lambda: tb.BayesClassifier("best", members=4), interactions),
    "fast": (lambda: tb.BayesClassifier("fast"), interactions),
    "temperature": (lambda: tb.BayesClassifier(members=4, weighting="temperature"), interactions),
    "NaiveBayes of a sample": (tb.NaiveBayes, interactions),
}
ALL = {**ESTIMATORS, **LEARNED, **OTHERS}
COUNTING = ("PoissonNB", "MultinomialNB", "ComplementNB", "BernoulliNB", "NaiveBayes mixed")  # a count has no unit
BY_NAME = ("NaiveBayes mixed", "NaiveBayes dates", "BayesNetwork")  # options name columns
CLASSES = {"a": "z1", "b": "a9", "c": "m5"}


@cache
def table(name: str) -> tuple[Any, Any, Any]:
    """A table for an estimator, the classes of its rows, and what the estimator predicts for them."""
    make, data = ALL[name]
    rng = np.random.default_rng(5)
    if data is interactions:
        X, y = interactions(rng, 1500 if make is tb.NaiveBayes else N)
    else:
        found = data(rng, N)
        X = found if data in (mixed, dated) else pd.DataFrame(found, columns=[f"x{j}" for j in range(found.shape[1])])
        score = rng.normal(size=N)
        for column in X:
            own = X[column] if data is real else pd.Series(pd.factorize(X[column], sort=True)[0])
            score += rng.normal() * ((own - own.mean()) / own.std()).to_numpy()
        y = np.array(["a", "b", "c"])[np.digitize(score, np.quantile(score, [0.3, 0.65]))]
    return X, y, make().fit(X, y).predict_proba(X)


def renamed_levels(X: Any) -> Any:
    rng, out = np.random.default_rng(1), X.copy()
    for column in texts(X):
        found = sorted(X[column].unique())
        names = dict(zip(found, (f"level {i}" for i in rng.permutation(len(found))), strict=True))
        out[column] = X[column].map(names)
    return out


def texts(X: Any) -> list[str]:
    return [column for column in X if not pd.api.types.is_numeric_dtype(X[column]) and X[column].dtype.kind not in "mM"]


def other_units(X: Any) -> Any:
    return X.assign(**{column: 37.3 * X[column] for column in X if X[column].dtype.kind == "f"})


def variants(name: str, X: Any, y: Any) -> Iterator[tuple[str, Any, Any]]:
    rng = np.random.default_rng(2)
    order = rng.permutation(len(y))
    yield "rows", X.iloc[order], y[order]
    yield "columns", X.iloc[:, rng.permutation(X.shape[1])], y
    yield "classes", X, np.array([CLASSES[label] for label in y])
    if texts(X):
        yield "levels", renamed_levels(X), y
    if not name.startswith(BY_NAME):
        yield "names", X.set_axis([f"{(7 * j + 3) % 11} {j}" for j in range(X.shape[1])], axis=1), y
    if not name.startswith(COUNTING):
        yield "units", other_units(X), y


@pytest.mark.parametrize("what", ["rows", "columns", "classes", "levels", "names", "units"])
@pytest.mark.parametrize("name", list(ALL))
def test_the_same_table_in_other_words_gives_the_same_predictions(name: str, what: str) -> None:
    X, y, expected = table(name)
    for kind, Z, labels in variants(name, X, y):
        if kind == what:
            model = ALL[name][0]().fit(Z, labels)
            found = pd.DataFrame(model.predict_proba(Z), columns=model.classes_, index=Z.index).loc[X.index]
            found = found[[CLASSES[label] for label in "abc"] if kind == "classes" else list("abc")]
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_levels_and_columns_that_are_alike_keep_their_rows_apart() -> None:
    """Of two exchangeable columns with two exchangeable levels each, (p, q) and (q, p) are different rows."""
    pairs = [(a, b) for a in "pq" for b in "pq"] * 40
    X = pd.DataFrame(pairs, columns=["one", "two"])
    y = np.where(X["one"] == X["two"], "same", "other")
    model = tb.BayesClassifier("fast").fit(X, y)
    (term,) = model.fitted_.terms
    assert len(term.statistics.sample_label) == 4
    order = np.random.default_rng(0).permutation(len(y))
    again = tb.BayesClassifier("fast").fit(X.iloc[order], y[order])
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=0, atol=1e-9)
