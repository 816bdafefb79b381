"""Tables with little or nothing to learn: never worse than the class prior beyond noise, whatever their shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import tallybayes as tb
from tallybayes.ensemble.half_fits import HalfFit, nested_halves, wanted
from tallybayes.ensemble.row_sample import RowSample
from tallybayes.ensemble.stacking import NestedHalves

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
    if kind == "complete":  # what is predicted; of what is learned 99 % is missing
        X[:n][rng.random((n, d)) < 0.99] = np.nan
    if kind == "heavy":
        X = rng.standard_cauchy(size=X.shape)
    if kind == "copies":
        X = X[:, :1] + 0.3 * X
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
        ("complete", 300, 30, 2),
        ("complete", 1500, 30, 2),
        ("heavy", 100, 10, 2),
        ("copies", 80, 10, 2),
        ("numbers", 1500, 60, 3),
        ("categories", 1500, 10, 2),
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
    few = 2 * (K - 1) / n  # four times what the prior itself loses for being estimated
    if kind == "complete":  # the rows that choose have next to no value, these have all
        few = np.sqrt((K - 1) / n) / 2
    assert more.mean() < few + 3 * more.std() / np.sqrt(NEW)
    p = model.predictor_.fitted.terms[0].params
    assert p.loss + 2 * p.loss_error + few > losses(model, asked, y[n:]).mean()


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
    assert found.shrinkage < 1
    assert ensemble.judged(100.0) == pytest.approx(found)
    assert ensemble.judged(400.0).shrinkage == pytest.approx((1 + found.shrinkage) / 2)
    assert ensemble.judged(1e9).shrinkage == pytest.approx(1.0)


@pytest.mark.parametrize(("rows", "columns", "classes"), [(1500, 10, 2), (3000, 40, 5)])
def test_columns_of_noise_are_weak_and_others_are_not(rows: int, columns: int, classes: int) -> None:
    rng = np.random.default_rng(7)
    y = rng.integers(0, classes, rows)
    X = rng.normal(size=(rows, columns))
    noise = tb.BayesClassifier("fast", members=2).fit(X, y).fitted_.terms[0].distribution
    assert noise.halves[0] < 0.5
    X[:, 3] += y
    reported = tb.BayesClassifier("fast", members=2).fit(X, y).fitted_.terms[0].distribution
    assert reported.halves == (1.0, 0.0, 0.0, 0.0)  # no time is spent on them


FEW = [(19, 3, 2), (45, 16, 5), (1001, 9, 2), (9000, 9001, 2)]
ENOUGH = [(20, 3, 2), (1000, 9, 2), (2000, 2001, 2), (40, 50, 30)]


@pytest.mark.parametrize("shape", FEW + ENOUGH)
def test_halves_are_for_few_rows_or_many_columns(shape: tuple[int, int, int]) -> None:
    """shape: rows, columns, classes."""
    assert wanted(*shape) == (shape in ENOUGH)


def test_halves_of_weak_columns_are_for_more_rows() -> None:
    assert wanted(20_000, 9, 2, weak=True)
    assert not wanted(20_001, 9, 2, weak=True)
    assert not wanted(19, 3, 2, weak=True)


@pytest.mark.parametrize(("strength", "low", "high"), [(0.0, 0.0, 0.45), (4.0, 0.85, 1.0)])
def test_shrinkage_is_the_posterior_mean_of_the_square_root(strength: float, low: float, high: float) -> None:
    """The integral over a fine grid, of scores that are known."""
    rng = np.random.default_rng(1)
    n = 60
    y = np.arange(n, dtype=np.int32) % 2
    x = strength * (y - 0.5) + rng.normal(size=n)
    sample = RowSample(
        np.arange(n, dtype=np.uint8)[None, :], y, np.ones(n), np.sort(rng.integers(0, 2**60, n).astype(np.uint64))
    )
    score = np.stack([np.zeros(n), max(strength, 1.0) * x], axis=1)
    found = nested_halves(sample, lambda _: HalfFit(np.log([0.5, 0.5]), lambda codes: score[codes[0]], 0.5))

    def likelihood(t: float) -> float:
        return float(np.exp(-np.logaddexp(0, (1 - 2 * y) * t * score[:, 1]).sum() + n * np.log(2)))

    t = (np.arange(4000) + 0.5) / 4000
    each = np.array([likelihood(v) for v in t])
    expected = (each * np.sqrt(t)).mean() / (each.mean() + 1)  # half of the prior is on 0
    assert found.shrinkage == pytest.approx(expected, abs=0.02)
    assert low <= found.shrinkage <= high
