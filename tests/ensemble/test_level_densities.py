"""Information of a column about the class, of a BayesClassifier: by bins, not by levels that few rows have."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tallybayes as tb


def table(K: int, n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A number, a category with log 3 nats, a category with many levels that say the class in half of the rows, and
    noise."""
    rng = np.random.default_rng(K)
    y = np.arange(n) % K
    x = 12 * y / K + 3 * rng.normal(size=n)
    c = (7 * y + rng.integers(0, 3, n)) % 9
    many = np.where(rng.random(n) < 0.5, y % 20, rng.integers(0, 20, n))
    categories = {name: pd.Series(v).astype(str) for name, v in (("c", c), ("many", many))}
    return pd.DataFrame({"x": x, **categories, "noise": rng.normal(size=n)}), y


def information(joint: np.ndarray) -> float:
    """Of a joint distribution (levels, classes), in nats."""
    joint = joint / joint.sum()
    apart = joint.sum(0) * joint.sum(1, keepdims=True)
    each = joint * np.log(np.maximum(joint, 1e-300) / np.maximum(apart, 1e-300))
    return float(each.sum())


@pytest.mark.parametrize(("K", "n", "low"), [(2, 3000, 0.9), (20, 4000, 0.75), (180, 18_000, 0.65)])
def test_information_is_that_of_the_truth(K: int, n: int, low: float) -> None:
    """low: smoothing makes classes of few rows more alike than they are."""
    X, y = table(K, n)
    found = tb.BayesClassifier("fast", members=4).fit(X, y).explain()
    grid = np.linspace(-15, 30, 2000)[:, None]
    density = np.exp(-0.5 * ((grid - 12 * np.arange(K) / K) / 3) ** 2)
    levels = (7 * np.arange(K)[None, :, None] + np.arange(3)) % 9 == np.arange(9)[:, None, None]
    many = 0.5 / 20 + 0.5 * (np.arange(20)[:, None] == np.arange(K) % 20)
    used = many if K >= 20 else many[:, :K]
    truth = {"x": information(density), "c": information(levels.sum(2) / 3), "many": information(used)}
    got = dict(zip(found.names, found.information, strict=True))
    for name, value in truth.items():
        assert low * value < got[name] < 1.1 * value, name
    assert got["noise"] < 0.02
    assert (found.error == 0).all()


def test_without_chains_it_is_laplaces_estimate() -> None:
    X, y = table(3, 300)
    model = tb.BayesClassifier(parts=("gaussian",)).fit(X[["x", "noise"]], y)
    (term,) = model.predictor_.fitted.terms
    found = term.distribution.outcomes(term.params, 0)
    np.testing.assert_allclose(np.exp(found).sum(axis=0), 1.0)


def test_outcomes_are_distributions_and_unseen_levels_have_none() -> None:
    X, y = table(3, 600)
    model = tb.BayesClassifier(members=2).fit(X, y)
    model.partial_fit(X.assign(c="new")[:1], y[:1])
    model.forget(X.assign(c="new")[:1], y[:1])
    (term,) = model.predictor_.fitted.terms
    for j in range(4):
        found = term.distribution.outcomes(term.params, j)
        np.testing.assert_allclose(np.exp(found).sum(axis=0), 1.0)
    assert np.isfinite(model.explain().information).all()
