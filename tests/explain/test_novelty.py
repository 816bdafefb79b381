"""novelty: the promise on held-out rows, rows with missing values, rows that are strange."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import tallybayes as tb
from tallybayes.errors import OptionError, TableError
from tests.every_estimator import ESTIMATORS, labels


def mixed(n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Columns that depend on each other and are not normal: no model here is right about them."""
    y = rng.integers(0, 3, n)
    a = rng.exponential(size=n) * (1 + y)
    b = a**2 + rng.normal(size=n)
    color = np.where(a > 1, "red", np.where(rng.random(n) < 0.5, "green", "blue")).astype(object)
    return pd.DataFrame({"a": a, "b": b, "color": color}), y


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_false_alarms_are_as_promised_though_the_model_is_wrong(gaps: float) -> None:
    rng = np.random.default_rng(0)
    flagged = []
    for _ in range(12):
        X, y = mixed(700, rng)
        X.loc[rng.random(700) < gaps, "b"] = np.nan
        X.loc[rng.random(700) < gaps, "color"] = None
        score = tb.NaiveBayes(unseen="other").fit(X[:100], y[:100]).novelty(X[100:400])
        p = score.p_value(X[400:])
        flagged.append([(p <= alpha).mean() for alpha in (0.05, 0.2, 0.5)])
    rate = np.mean(flagged, axis=0)
    assert (rate < [0.065, 0.225, 0.53]).all()
    assert (rate > [0.03, 0.15, 0.4]).all()


def test_strange_rows_are_found() -> None:
    rng = np.random.default_rng(1)
    X, y = mixed(600, rng)
    # intervals know nothing far from all others; Gaussians do
    score = tb.NaiveBayes("gaussian", unseen="other").fit(X[:300], y[:300]).novelty(X[300:])
    strange = pd.DataFrame({"a": [0.5, 500.0, np.nan], "b": [1e4, 0.0, -400.0], "color": ["red", "red", None]})
    assert score.is_novel(strange, significance=0.01).all()
    np.testing.assert_allclose(score.p_value(strange), 1 / 301)
    assert not score.is_novel(X[300:301]).any()


def test_p_is_the_rank_among_the_reference() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(130, 2)), np.arange(130) % 2
    model = tb.LinearDiscriminantAnalysis().fit(X[:50], y[:50])
    score = model.novelty(X[50:])
    known, asked = model.score_samples(X[50:]), model.score_samples(X[:7])
    np.testing.assert_allclose(score.p_value(X[:7]), [(1 + (known <= s).sum()) / 81 for s in asked])
    t = score.threshold(0.1)
    assert (known < t).sum() == 7
    assert score.is_novel(X[50:], 0.1).sum() == 7  # a row is at most as likely as itself
    half = np.column_stack([X[:5, 0], np.full(5, np.nan)])
    column = model.score_samples(np.column_stack([X[50:, 0], np.full(80, np.nan)]))
    np.testing.assert_allclose(score.p_value(half), [(1 + (column <= s).sum()) / 81 for s in model.score_samples(half)])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_rows_of_the_model_itself_are_as_rare_as_promised(name: str) -> None:
    make, data = ESTIMATORS[name]
    rng = np.random.default_rng(0)
    model = make().fit(data(rng, 90), labels(rng, 90))
    if name in ("MultinomialNB", "ComplementNB"):
        with pytest.raises(OptionError, match="how many words"):
            model.novelty()
        score = model.novelty(data(rng, 50))
    else:
        score = model.novelty(n=500)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rate = score.is_novel(model.sample(600, random_state=7)[0], significance=0.1).mean()
    if score.drawn:
        assert rate < 0.15  # its standard error is about 0.018
    assert f"against {500 if score.drawn else 50} rows" in repr(score)


def test_the_model_may_learn_on() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    model = tb.GaussianNB().fit(X, y)
    score = model.novelty()
    before = score.p_value(X)
    model.partial_fit(X + 100, y)
    model.learn_one({"x0": 5.0, "x1": 5.0}, 0)
    np.testing.assert_array_equal(score.p_value(X), before)
    np.testing.assert_array_equal(score.score(X), score.model.score_samples(X))


def test_refusals() -> None:
    rng = np.random.default_rng(4)
    X = rng.poisson(2.0, size=(40, 3)).astype(float)
    model = tb.PoissonNB().fit(X, np.arange(40) % 2)
    with pytest.raises(OptionError, match="needs at least 99 reference rows; there are 40"):
        model.novelty(X).is_novel(X, significance=0.01)
    for alpha in (0, 1, "few"):
        with pytest.raises(OptionError, match="significance"):
            model.novelty(X).threshold(alpha)
    with pytest.raises(TableError, match="features"):
        model.novelty(X[:, :2])
    with pytest.raises(OptionError, match="n must be"):
        model.novelty(n=0)
    with pytest.raises(TableError, match="sparse"):
        model.novelty(sparse.csr_matrix(X)).p_value([[1.0, np.nan, 2.0]])
