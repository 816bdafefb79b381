"""Models from given parameters, the likelihood, rows drawn given columns: against closed forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.datasets import load_iris

import tallybayes as tb
from tallybayes.datasets import load_watermelon
from tallybayes.errors import LabelError, OptionError, TableError
from tests.every_estimator import ESTIMATORS

MEANS = np.array([[0.0, 0.0], [2.0, 1.0]])
SHARED = np.array([[1.0, 0.5], [0.5, 2.0]])
OWN = np.array([SHARED, 2 * SHARED + np.eye(2)])
PRIORS = [0.3, 0.7]
RAIN = (
    {"rain": 0.2, "dry": 0.8},
    {
        "sprinkler": {"rain": {"on": 0.01, "off": 0.99}, "dry": {"on": 0.4, "off": 0.6}},
        "grass": {
            ("rain", "on"): {"wet": 0.99, "dull": 0.01},
            ("rain", "off"): {"wet": 0.8, "dull": 0.2},
            ("dry", "on"): {"wet": 0.9, "dull": 0.1},
            ("dry", "off"): {"wet": 0.0, "dull": 1.0},
        },
    },
    "sprinkler -> grass",
)
MELON = (
    {"ripe": 0.6, "unripe": 0.4},
    {
        "color": {"ripe": {"green": 0.5, "dark": 0.5}, "unripe": {"green": 0.1, "dark": 0.7, "light": 0.2}},
        "sugar": {"ripe": {"mean": 0.6, "variance": 0.04}, "unripe": {"mean": 0.2, "variance": 0.01}},
    },
)
MADE: dict[str, Any] = {
    "shared": lambda: tb.GaussianDiscriminant.from_parameters(MEANS, SHARED, PRIORS, feature_names=["a", "b"]),
    "own": lambda: tb.GaussianDiscriminant.from_parameters(MEANS, OWN, PRIORS, classes=["u", "v"]),
    "naive": lambda: tb.NaiveBayes.from_tables(*MELON),
    "network": lambda: tb.BayesNetwork.from_tables(*RAIN),
}


@pytest.mark.parametrize("cov", [SHARED, OWN], ids=["shared", "own"])
def test_gaussians_are_those_given(cov: Any) -> None:
    model = tb.GaussianDiscriminant.from_parameters(MEANS, cov, PRIORS)
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    both = np.broadcast_to(cov, (2, 2, 2))
    joint = np.column_stack([multivariate_normal(MEANS[k], both[k]).logpdf(X) + np.log(PRIORS[k]) for k in (0, 1)])
    np.testing.assert_allclose(model.predict_joint_log_proba(X), joint, rtol=1e-12)
    np.testing.assert_allclose(model.means_, MEANS, atol=1e-15)
    np.testing.assert_allclose(model.covariance_, cov, rtol=1e-12)
    np.testing.assert_allclose(model.log_likelihood(X, y), joint[np.arange(40), y].sum(), rtol=1e-12)


def test_tables_are_those_given() -> None:
    model = tb.NaiveBayes.from_tables(*MELON)
    for column, table in MELON[1].items():
        for label, own in table.items():
            found = model.describe(column)[label]
            assert {k: v for k, v in found.items() if v} == pytest.approx(own)
    p = model.predict_proba_one({"color": "green", "sugar": 0.4})
    weigh = {
        "ripe": 0.6 * 0.5 * norm(0.6, 0.2).pdf(0.4),
        "unripe": 0.4 * 0.1 * norm(0.2, 0.1).pdf(0.4),
    }
    assert p == pytest.approx({k: v / sum(weigh.values()) for k, v in weigh.items()})
    assert model.predict_proba_one({"color": "light"}) == {"ripe": 0.0, "unripe": 1.0}


def test_networks_are_those_given() -> None:
    model = tb.BayesNetwork.from_tables(*RAIN)
    wet = {"rain": 0.2 * (0.01 * 0.99 + 0.99 * 0.8), "dry": 0.8 * 0.4 * 0.9}
    assert model.predict_proba_one({"grass": "wet"})["rain"] == pytest.approx(wet["rain"] / sum(wet.values()))
    X, y = model.sample(20_000, given={"grass": "wet"}, random_state=0)
    assert {row["grass"] for row in X} == {"wet"}
    assert (y == "rain").mean() == pytest.approx(wet["rain"] / sum(wet.values()), abs=0.01)
    on = [row["sprinkler"] == "on" for row, label in zip(X, y, strict=True) if label == "rain"]
    assert np.mean(on) == pytest.approx(0.01 * 0.99 / (0.01 * 0.99 + 0.99 * 0.8), abs=0.005)
    assert {row["sprinkler"] for row, label in zip(X, y, strict=True) if label == "dry"} == {"on"}


@pytest.mark.parametrize("name", MADE)
def test_they_save_and_refuse_to_learn_more(name: str, tmp_path: Path) -> None:
    model = MADE[name]()
    X, y = model.sample(30, random_state=0)
    tb.save(model, tmp_path / "m.tb")
    again = tb.load(tmp_path / "m.tb")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    columns = [again.schema_.name(j) for j in range(2)]
    row = dict(zip(columns, X[0].values() if isinstance(X[0], dict) else X[0].tolist(), strict=True))
    before = again.predict_proba_one(row)
    other = again.copy()
    for learn in (
        lambda: again.partial_fit(X, y),
        lambda: again.learn_one(row, y[0]),
        lambda: again.forget(X, y),
        lambda: again.forget_one(row, y[0]),
        lambda: again.decay(0.5),
        lambda: again.merge(model),
        lambda: type(model)().fit(X, y).merge(other),
    ):
        with pytest.raises(OptionError, match="given parameters"):
            learn()
    assert again.predict_proba_one(row) == before
    again.fit(X, y).partial_fit(X, y)  # anew, and then more


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: tb.GaussianDiscriminant.from_parameters([[0], [1]], [[1, 2], [2, 1]]), "shape"),
        (lambda: tb.GaussianDiscriminant.from_parameters(MEANS, [[1, 2], [2, 1]]), "positive definite"),
        (lambda: tb.GaussianDiscriminant.from_parameters(MEANS, [[1, 0.1], [0.2, 1]]), "symmetric"),
        (lambda: tb.GaussianDiscriminant.from_parameters(MEANS, SHARED, [0.5, 0.6]), "sum to 1"),
        (lambda: tb.GaussianDiscriminant.from_parameters(MEANS, SHARED, [1.0]), "2 numbers"),
        (lambda: tb.GaussianDiscriminant.from_parameters("x", SHARED), "means must be numbers"),
        (lambda: tb.GaussianDiscriminant.from_parameters(MEANS, SHARED, classes=[1, 1]), "different labels"),
        (lambda: tb.GaussianDiscriminant.from_parameters(MEANS, SHARED, feature_names=["a"]), "2 different names"),
        (lambda: tb.LinearDiscriminantAnalysis.from_parameters(MEANS, SHARED), "GaussianDiscriminant.from_parameters"),
        (lambda: tb.NaiveBayes.from_tables({}, MELON[1]), "priors must be"),
        (lambda: tb.NaiveBayes.from_tables(MELON[0], {}), "tables must be"),
        (lambda: tb.NaiveBayes.from_tables(MELON[0], {"c": {"ripe": {"a": 1.0}}}), "each class"),
        (lambda: tb.NaiveBayes.from_tables({"k": 1.0}, {"c": {"k": {"a": 0.5}}}), "sum to 1; got 0.5"),
        (lambda: tb.NaiveBayes.from_tables({"k": 1.0}, {"c": {"k": {"a": 2.0}}}), "from 0 to 1"),
        (lambda: tb.NaiveBayes.from_tables({"k": 1.0}, {"c": {"k": {"mean": 0, "variance": 0}}}), "above 0"),
        (lambda: tb.BayesNetwork.from_tables(RAIN[0], RAIN[1], "sprinkler -> lawn"), "has no table"),
        (lambda: tb.BayesNetwork.from_tables(RAIN[0], RAIN[1]), "no entry for"),
    ],
)
def test_wrong_parameters_are_refused(make: Any, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        make()


# --- likelihood --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_joint_likelihood_is_prior_and_class_conditional(name: str) -> None:
    make, rows = ESTIMATORS[name]
    X, y = rows(np.random.default_rng(0), 60), np.arange(60) % 3
    model = make().fit(X, y)
    conditional = model.log_likelihood(X, y, kind="conditional")
    np.testing.assert_allclose(conditional, model.predict_log_proba(X)[np.arange(60), y].sum())
    if isinstance(model, tb.BayesClassifier | tb.ComplementNB):
        with pytest.raises(OptionError, match="conditional"):
            model.log_likelihood(X, y)
        return
    joint = model.log_likelihood(X, y)
    parts = [model.log_likelihood(X, y, kind=kind) for kind in ("class_conditional", "prior")]
    np.testing.assert_allclose(joint, sum(parts))
    np.testing.assert_allclose(joint, sum(model.log_likelihood(X, y, by_class=True).values()))
    if not hasattr(model, "temperature_"):
        np.testing.assert_allclose(joint - conditional, model.score_samples(X).sum(), rtol=1e-8, atol=1e-9)
    twice = model.log_likelihood(X, y, sample_weight=np.full(60, 2.0))
    np.testing.assert_allclose(twice, 2 * joint)


def test_the_estimates_maximise_the_joint_likelihood() -> None:
    X, y = load_iris(return_X_y=True)
    lda = tb.LinearDiscriminantAnalysis().fit(X, y)
    best = lda.log_likelihood(X, y)
    for change in (0.97, 1.03):
        other = tb.GaussianDiscriminant.from_parameters(lda.means_, change * lda.covariance_, lda.priors_)
        assert other.log_likelihood(X, y) < best
        other = tb.GaussianDiscriminant.from_parameters(change * lda.means_, lda.covariance_, lda.priors_)
        assert other.log_likelihood(X, y) < best
    assert lda.with_prior([0.4, 0.3, 0.3]).log_likelihood(X, y) < best
    with pytest.raises(LabelError, match="not a class"):
        lda.log_likelihood(X, y + 1)
    with pytest.raises(OptionError, match="kind must be"):
        lda.log_likelihood(X, y, kind="marginal")


# --- rows given some columns -------------------------------------------------------------------------------------


def test_a_gaussian_given_a_column_is_the_conditional_gaussian() -> None:
    model = tb.GaussianDiscriminant.from_parameters(MEANS, OWN, PRIORS)
    X, y = model.sample(20_000, given={"x0": 1.5}, random_state=0)
    assert (X[:, 0] == 1.5).all()
    assert y.mean() == pytest.approx(model.predict_proba([[1.5, np.nan]])[0, 1], abs=0.01)
    for k in (0, 1):
        slope = OWN[k, 0, 1] / OWN[k, 0, 0]
        rest = X[y == k, 1]
        assert rest.mean() == pytest.approx(MEANS[k, 1] + slope * (1.5 - MEANS[k, 0]), abs=0.06)
        assert rest.var() == pytest.approx(OWN[k, 1, 1] - slope * OWN[k, 0, 1], rel=0.05)


@pytest.mark.parametrize("estimator", [tb.NaiveBayes(), tb.TAN(), tb.BayesNetwork("color -> root", cuts=None)])
def test_given_columns_agree_with_rows_that_happen_to_have_them(estimator: Any) -> None:
    rows, ripe = load_watermelon()
    rows = [{k: row[k] for k in ("color", "root", "sound", "sugar")} for row in rows]
    model = estimator.fit(rows, ripe)
    known = {"root": "curly", "sugar": 0.25}
    X, y = model.sample(3000, given=known, random_state=0)
    assert all(row["root"] == "curly" and row["sugar"] == 0.25 for row in X)
    assert (y == model.classes_[0]).mean() == pytest.approx(model.predict_proba([known])[0, 0], abs=0.03)
    every = [{**known, "color": color} for color in model.schema_.levels[0].labels]
    share = np.exp(model.score_samples(every) - model.score_samples([known]))
    drawn = [np.mean([row["color"] == r["color"] for row in X]) for r in every]
    np.testing.assert_allclose(drawn, share, atol=0.04)


def test_wrong_given_columns_are_refused() -> None:
    model = tb.NaiveBayes.from_tables(*MELON)
    with pytest.raises(TableError, match="not a level"):
        model.sample(1, given={"color": "blue"})
    with pytest.raises(TableError, match="numbers"):
        model.sample(1, given={"sugar": "much"})
    with pytest.raises(OptionError, match="dict from column"):
        model.sample(1, given=["color"])
    with pytest.raises(OptionError, match="one value"):
        model.sample(1, given={"color": ["green", "dark"]})
    for estimator in (tb.AODE(schema="categorical"), tb.MultinomialNB()):
        with pytest.raises(OptionError, match="exact marginals"):
            estimator.fit([[0, 1], [1, 0]], [0, 1]).sample(1, given={"x0": 1})
