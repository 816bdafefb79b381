"""Tables with little or nothing to learn: never worse than the class prior beyond noise, whatever their shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import tallybayes as tb
from tallybayes.ensemble.nested_halves import NestedHalves, wanted

NEW = 1000  # rows that are predicted


def noise(kind: str, n: int, d: int, K: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.choice(K, n + NEW, p=np.r_[0.85, np.full(K - 1, 0.15 / (K - 1))] if kind == "rare" else None)
    y[:K] = np.arange(K)
    X = rng.normal(size=(n + NEW, d))
    if kind == "categories":
        return pd.DataFrame(np.floor(4 * X).astype(int)).astype(str).add_prefix("c"), y
    if kind == "missing":
        X[rng.random(X.shape) < 0.9] = np.nan
    return X, y


def losses(model: Any, X: Any, y: Any) -> Any:
    return -np.log(model.predict_proba(X)[np.arange(len(y)), y])


@pytest.mark.parametrize(
    ("kind", "n", "d", "K"),
    [
        ("numbers", 60, 8, 2),
        ("numbers", 400, 20, 2),
        ("numbers", 100, 300, 2),
        ("numbers", 150, 10, 5),
        ("rare", 300, 30, 3),
        ("categories", 200, 30, 3),
        ("categories", 80, 200, 2),
        ("missing", 300, 30, 2),
    ],
)
@pytest.mark.filterwarnings("ignore::tallybayes.errors.UnseenCategoryWarning")
@pytest.mark.parametrize("seed", [0, 1])
def test_noise_is_predicted_no_worse_than_by_the_class_prior(kind: str, n: int, d: int, K: int, seed: int) -> None:
    X, y = noise(kind, n, d, K, seed)
    learned, asked = (X.iloc[:n], X.iloc[n:]) if hasattr(X, "iloc") else (X[:n], X[n:])
    model = tb.BayesClassifier(members=8).fit(learned, y[:n])
    prior = (np.bincount(y[:n], minlength=K) + 0.5) / (n + K / 2)
    more = losses(model, asked, y[n:]) + np.log(prior[y[n:]])
    spread = np.sqrt((K - 1) / n)  # how well n rows can tell a loss
    assert more.mean() < spread / 2 + 3 * more.std() / np.sqrt(NEW)
    p = model.predictor_.fitted.terms[0].params
    assert p.loss + 2 * p.loss_error + spread / 2 > losses(model, asked, y[n:]).mean()


def test_two_columns_that_matter_are_found_among_many() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150 + NEW, 400))
    y = (rng.random(len(X)) < 1 / (1 + np.exp(-2 * X[:, 7] + 2 * X[:, 300]))).astype(int)
    model = tb.BayesClassifier(members=8).fit(X[:150], y[:150])
    assert losses(model, X[150:], y[150:]).mean() < 0.55
    term = model.fitted_.terms[0]
    used = {term.columns[j] for j in np.flatnonzero(~term.distribution.missing_rule.ignored)}
    assert {7, 300} <= used
    assert len(used) < 20


def test_what_halves_found_counts_less_with_more_rows() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(4000, 10)), rng.integers(0, 2, 4000)
    model = tb.BayesClassifier("fast", members=2).fit(X[:200], y[:200])
    ensemble = model.fitted_.terms[0].distribution
    found = NestedHalves(*ensemble.halves)
    assert found.rows == 200
    assert found.trust < 1
    assert ensemble.judged(100.0) == found
    assert ensemble.judged(400.0).trust == pytest.approx((1 + found.trust) / 2)
    assert ensemble.judged(1e9).trust == pytest.approx(1.0)


FEW = [(19, 3, 2), (45, 16, 5), (1001, 9, 2), (9000, 9001, 2)]
ENOUGH = [(20, 3, 2), (1000, 9, 2), (2000, 2001, 2), (40, 50, 30)]


@pytest.mark.parametrize("shape", FEW + ENOUGH)
def test_halves_are_for_few_rows_or_many_columns(shape: tuple[int, int, int]) -> None:
    """shape: rows, columns, classes."""
    assert wanted(*shape) == (shape in ENOUGH)
