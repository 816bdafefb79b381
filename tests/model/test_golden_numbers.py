"""Numbers that are in print, and scikit-learn's on iris."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import naive_bayes as sk
from sklearn.datasets import load_iris

import tallybayes as tb
from tallybayes.datasets import load_census, load_watermelon

ROWS, RIPE = load_watermelon()


def watermelon(**options: Any) -> Any:
    return tb.NaiveBayes(**{"alpha": 0.0, "ddof": 1, "var_smoothing": 0.0, **options}).fit(ROWS, RIPE)


def test_the_table() -> None:
    assert len(ROWS) == 17
    assert RIPE == ["yes"] * 8 + ["no"] * 9
    assert ROWS[0]["density"] == 0.697
    assert ROWS[0]["sugar"] == 0.460


def test_shares_without_and_with_laplace() -> None:
    assert watermelon().describe("color")["yes"]["green"] == pytest.approx(3 / 8)
    assert watermelon(alpha=1.0).describe("color")["yes"]["green"] == pytest.approx((3 + 1) / (8 + 3))
    assert watermelon(alpha=1.0).describe("surface")["no"]["soft"] == pytest.approx((3 + 1) / (9 + 2))
    assert watermelon(priors="laplace").predictor_.fitted.prior[1] == pytest.approx(np.log(9 / 19))
    assert watermelon().predictor_.fitted.prior[1] == pytest.approx(np.log(8 / 17))


@pytest.mark.parametrize(
    ("column", "ripe", "mean", "deviation"),
    [
        ("density", "yes", 0.574, 0.129),
        ("density", "no", 0.496, 0.195),
        ("sugar", "yes", 0.279, 0.101),
        ("sugar", "no", 0.154, 0.108),
    ],
)
def test_moments(column: str, ripe: str, mean: float, deviation: float) -> None:
    found = watermelon().describe(column)[ripe]
    assert round(found["mean"], 3) == mean
    assert round(found["variance"] ** 0.5, 3) == deviation


def test_the_first_melon() -> None:
    """P(x, ripe) = 0.0524 and P(x, not ripe) = 6.86e-5 ."""
    joint = dict(zip(("no", "yes"), np.exp(watermelon().predict_joint_log_proba(ROWS[:1])[0]), strict=True))
    assert joint["yes"] == pytest.approx(0.0524, rel=1e-3)
    assert joint["no"] == pytest.approx(6.86e-5, rel=1e-3)
    assert watermelon().predict(ROWS[:1]).tolist() == ["yes"]
    corrected = watermelon(alpha=1.0)
    assert corrected.predict_one(ROWS[0]) == "yes"
    assert (corrected.predict(ROWS) == RIPE).sum() >= 14


def test_the_watermelons_in_every_container() -> None:
    truth = watermelon(alpha=1.0).predict_joint_log_proba(ROWS)
    for table in (pd.DataFrame(ROWS), pl.DataFrame(ROWS), pl.DataFrame(ROWS).to_arrow()):
        model = tb.NaiveBayes(ddof=1, var_smoothing=0.0).fit(table, RIPE)
        np.testing.assert_allclose(model.predict_joint_log_proba(table), truth, rtol=1e-12)


def test_iris() -> None:
    X, y = load_iris(return_X_y=True)
    ours, theirs = tb.GaussianNB(var_smoothing=0.0).fit(X, y), sk.GaussianNB(var_smoothing=0.0).fit(X, y)
    np.testing.assert_allclose(ours.theta_[0], [5.006, 3.428, 1.462, 0.246])
    np.testing.assert_allclose(ours.var_, theirs.var_, rtol=1e-10)
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-9)
    assert ours.score(X, y) == theirs.score(X, y) == 0.96


def test_census() -> None:
    rows, y = load_census()
    assert len(rows) == len(y) == 10_000
    assert set(y) == {"<=50K", ">50K"}
    assert any(value is None for row in rows for value in row.values())
    model = tb.NaiveBayes(schema={"education-num": "real"}).fit(rows[:8000], y[:8000])
    assert model.score(rows[8000:], y[8000:]) > 0.8
