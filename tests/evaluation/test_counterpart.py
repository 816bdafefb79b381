"""twin and learning_curves: the same form, the counts of parameters, where one overtakes the other."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

import tallybayes as tb
from tallybayes.datasets import load_watermelon
from tallybayes.errors import LabelError, OptionError, TableError
from tallybayes.evaluation.counterpart import matching_features
from tallybayes.evaluation.counterpart import paired_learning_curves as curves_module
from tests.every_estimator import ESTIMATORS, labels


@pytest.mark.parametrize("name", [n for n in ESTIMATORS if not re.search("Kernel|log-gaussian|AODE|A2DE|Network", n)])
def test_the_log_odds_are_linear_in_the_features(name: str) -> None:
    make, data = ESTIMATORS[name]
    rng = np.random.default_rng(0)
    X, y = data(rng, 120), labels(rng, 120)
    pipeline = tb.evaluation.discriminative_counterpart(make()).fit(X, y)
    features = pipeline[0].transform(X)
    features = features.toarray() if sparse.issparse(features) else features
    model = make().fit(X, y)
    joint = model.predict_joint_log_proba(X)
    odds = joint[:, 1:] - joint[:, :1]
    design = np.column_stack([features, np.ones(len(features))])
    coefficients = np.linalg.lstsq(design, odds, rcond=None)[0]
    np.testing.assert_allclose(design @ coefficients, odds, atol=1e-10)
    assert np.linalg.matrix_rank(design) == pipeline[0].n_free_ + 1  # no more and no fewer than are counted
    assert np.abs(features).max() < 100
    np.testing.assert_allclose(pipeline.predict_proba(X).sum(axis=1), 1)


def test_the_counterpart_with_much_data_from_the_model_is_the_model() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(20_000) % 2
    X = rng.normal(size=(20_000, 2)) @ np.array([[1.0, 0.5], [0.0, 1.0]]) + y[:, None]
    model = tb.LinearDiscriminantAnalysis().fit(X, y)
    other = tb.evaluation.discriminative_counterpart(model, C=1e6).fit(X, y)
    assert np.abs(other.predict_proba(X) - model.predict_proba(X)).max() < 0.03


@pytest.mark.parametrize(
    ("model", "generative", "discriminative"),
    [
        (tb.LinearDiscriminantAnalysis(), 3 * 4 + 10 + 2, 2 * 5),
        (tb.QuadraticDiscriminantAnalysis(), 3 * 4 + 30 + 2, 2 * 15),
        (tb.GaussianNB(), 24 + 2, 2 * 9),
        (tb.GaussianNB(variance="shared"), 12 + 4 + 2, 2 * 5),
        (tb.GaussianDiscriminant("spherical"), 12 + 1 + 2, 2 * 5),
        (tb.GaussianDiscriminant("spherical", own_covariance=1), 12 + 3 + 2, 2 * 6),
    ],
)
def test_parameters_of_gaussians(model: Any, generative: int, discriminative: int) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 3
    model = clone(model).fit(X, y)
    assert tb.evaluation.count_parameters(model) == generative
    assert tb.evaluation.count_parameters(tb.evaluation.discriminative_counterpart(model).fit(X, y)) == discriminative
    if hasattr(model, "n_parameters_"):
        assert model.n_parameters_ == generative


def test_parameters_of_words() -> None:
    rows, ripe = load_watermelon()
    X = [{k: v for k, v in row.items() if isinstance(v, str)} for row in rows]
    model = tb.NaiveBayes().fit(X, ripe)
    levels = [len({row[k] for row in X}) for k in X[0]]
    free = sum(n - 1 for n in levels)
    # touch has two levels, and so have others: a column of two labels counts as any other
    assert tb.evaluation.count_parameters(model) == 2 * free + 1
    assert tb.evaluation.count_parameters(tb.evaluation.discriminative_counterpart(model).fit(X, ripe)) == free + 1
    iris, kinds = load_iris(return_X_y=True)
    assert tb.evaluation.count_parameters(LogisticRegression(max_iter=1000).fit(iris, kinds)) == 2 * 5
    assert tb.evaluation.count_parameters(LogisticRegression(fit_intercept=False).fit(iris[:100], kinds[:100])) == 4
    with pytest.raises(OptionError, match="counted"):
        tb.evaluation.count_parameters(LogisticRegression())
    with pytest.raises(OptionError, match="no fixed number"):
        tb.evaluation.count_parameters(tb.KernelNB().fit([[1.0], [2.0]], [0, 1]))


def test_missing_and_unseen_values_and_columns_that_never_vary() -> None:
    X = pd.DataFrame(
        {
            "a": [1.0, 2.0, np.nan, 4.0] * 5,
            "c": ["x", "y", None, "x"] * 5,
            "k": 7.0,
            "e": np.nan,
            "b": [True, False] * 10,
        }
    )
    y = [0, 1, 1, 0] * 5
    pipeline = tb.evaluation.discriminative_counterpart(tb.NaiveBayes()).fit(X, y)
    again = pipeline[0].transform(X)
    assert np.isfinite(again.toarray()).all()
    strange = X.iloc[:2].assign(c=["unseen value", None], a=np.nan)
    assert np.isfinite(pipeline.predict_proba(strange)).all()
    np.testing.assert_array_equal(pipeline[0].fit_transform(X, y).toarray(), again.toarray())


@pytest.mark.parametrize(
    "make", [tb.MultinomialNB, tb.PoissonNB, tb.BernoulliNB, tb.GaussianNB, tb.LinearDiscriminantAnalysis]
)
def test_a_sparse_table_has_the_same_counterpart(make: Any) -> None:
    rng = np.random.default_rng(2)
    X, y = rng.poisson(0.8, size=(80, 5)).astype(float), np.arange(80) % 2
    X[:, 0] += y
    dense, thin = (
        tb.evaluation.discriminative_counterpart(make()).fit(X, y),
        tb.evaluation.discriminative_counterpart(make()).fit(sparse.csr_matrix(X), y),
    )
    np.testing.assert_allclose(thin.predict_proba(sparse.csr_matrix(X)), dense.predict_proba(X), atol=1e-3)


def test_a_counterpart_is_at_home_in_scikit_learn() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    fitted = tb.GaussianNB().fit(X, y)
    pipeline = tb.evaluation.discriminative_counterpart(fitted)
    assert isinstance(pipeline, Pipeline)
    assert not hasattr(pipeline[0].estimator, "classes_")
    assert len(cross_val_score(pipeline, X, y, cv=3)) == 3
    assert clone(pipeline).set_params(logistic__C=2.0)[-1].C == 2.0
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        pipeline[0].transform(X)


def test_refusals_of_counterparts() -> None:
    with pytest.raises(OptionError, match="no logistic counterpart"):
        tb.evaluation.discriminative_counterpart(tb.KernelNB()).fit([[1.0], [2.0], [3.0]], [0, 1, 1])
    with pytest.raises(OptionError, match="of this library"):
        tb.evaluation.discriminative_counterpart(LogisticRegression())
    with pytest.raises(OptionError, match="C must"):
        tb.evaluation.discriminative_counterpart(tb.GaussianNB(), C=0)
    with pytest.raises(TableError, match="infinity"):
        tb.evaluation.discriminative_counterpart(tb.GaussianNB()).fit([[1.0], [2.0]], [0, 1]).predict([[np.inf]])


def test_products_of_too_many_columns(monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr(matching_features, "MAX_DENSE_NUMBERS", 1000)
    X = np.random.default_rng(0).normal(size=(40, 10))
    with pytest.raises(TableError, match="All products of 10 columns make 55 features"):
        tb.evaluation.discriminative_counterpart(tb.QuadraticDiscriminantAnalysis()).fit(X, np.arange(40) % 2)


# --- curves ----------------------------------------------------------------------------------------------------


def test_few_rows_favour_the_model_that_is_right_and_many_the_one_that_assumes_less() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(3000) % 2
    X = rng.normal(size=(3000, 30)) + 0.35 * y[:, None]
    X[:, 27:] = X[:, 26:27] + 0.3 * X[:, 27:]  # naive Bayes counts the same evidence four times
    found = tb.evaluation.learning_curves(tb.GaussianNB(variance="shared"), X, y, sizes=[60, 300, 2000], repeats=6)
    lead, spread = found.lead("error")
    assert lead[0] > 2 * spread[0] > 0
    assert lead[-1] < -2 * spread[-1] < 0
    at = found.crossing()
    assert at is not None
    assert 60 < at < 2000
    assert found.parameters == (30 * 2 + 30 + 1, 31)
    assert f"overtakes at about {at:.0f} rows" in found.text()
    assert found.names == ("GaussianNB", "LogisticRegression")


def curves(first: list[float], second: list[float]) -> tb.evaluation.LearningCurves:
    a = np.array([first, second])[:, :, None] + np.array([-0.01, 0.01])
    return tb.evaluation.LearningCurves(("a", "b"), np.array([10, 100, 1000]), a, a, (1, None))


def test_a_curve_that_led_from_the_start_does_not_overtake() -> None:
    assert "b overtakes at about 316 rows" in curves([0.2, 0.2, 0.2], [0.3, 0.3, 0.1]).text()
    back = curves([0.2, 0.2, 0.2], [0.1, 0.3, 0.1]).text()
    assert "b falls behind in between, and is ahead again from about 316 rows" in back
    for always in ([0.1, 0.1, 0.1], [0.1, 0.2, 0.1], [0.2, 0.1, 0.1], [0.1, 0.3, 0.3], [0.1, 0.1, 0.2]):
        assert "overtakes" not in curves([0.2, 0.2, 0.2], always).text()
    assert "overtakes" not in back


def test_crossing_by_hand() -> None:
    assert curves([0.2, 0.2, 0.2], [0.3, 0.3, 0.1]).crossing() == pytest.approx(100 * 10**0.5)
    assert curves([0.2, 0.2, 0.2], [0.3, 0.2, 0.1]).crossing() == pytest.approx(100)
    assert curves([0.2, 0.2, 0.2], [0.1, 0.3, 0.1]).crossing("log_loss") == pytest.approx(100 * 10**0.5)
    assert curves([0.2, 0.2, 0.2], [0.3, 0.1, 0.3]).crossing() is None  # not for good
    assert curves([0.2, 0.2, 0.2], [0.1, 0.1, 0.1]).crossing() is None  # ahead from the start
    assert curves([0.2, 0.2, 0.2], [0.1, 0.2, 0.1]).crossing() is None  # never behind, once level
    assert curves([0.2, 0.2, 0.2], [0.2, 0.1, 0.1]).crossing() is None
    one = curves([0.2, 0.2, 0.2], [0.3, 0.3, 0.1])
    np.testing.assert_allclose(one.standard_error(), 0.01)
    np.testing.assert_allclose(one.lead()[1], 0, atol=1e-12)  # the two go up and down together
    with pytest.raises(OptionError, match="measure"):
        one.mean("recall")


def noisy(second: list[float], noise: float) -> tb.evaluation.LearningCurves:
    a = np.full((2, 3, 4), 0.2)
    a[1] = np.array(second)[:, None] + noise * np.array([-1, 1, -1, 1])
    return tb.evaluation.LearningCurves(("a", "b"), np.array([10, 100, 1000]), a, a, (1, None))


def test_a_crossing_is_more_than_rounding_and_noise() -> None:
    assert noisy([0.3, 0.3, 0.2 - 2.8e-17], 0).crossing() is None
    assert "with 1000 rows they are equal" in noisy([0.3, 0.3, 0.2 - 2.8e-17], 0).text()
    assert noisy([0.2 + 2.8e-17, 0.1, 0.1], 0).crossing() is None
    assert noisy([0.3, 0.3, 0.19], 0.03).crossing() is None  # the standard error of the lead is 0.017
    assert "no difference beyond two standard errors" in noisy([0.3, 0.3, 0.19], 0.03).text()
    assert noisy([0.3, 0.3, 0.19], 0.003).crossing() == pytest.approx(1000 * 10 ** (-1 / 11))
    assert noisy([0.3, 0.19, 0.1], 0.03).winner().tolist() == [0, -1, 1]
    assert noisy([0.3, 0.19, 0.1], 0.03).crossing() is not None


def test_curves_of_any_table_and_any_two_classifiers() -> None:
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    rows, ripe = load_watermelon()
    rows, ripe = rows * 4, list(ripe) * 4
    answers = []
    for X in (rows, pd.DataFrame(rows), pl.DataFrame(rows), pa.Table.from_pylist(rows)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = tb.evaluation.learning_curves(tb.NaiveBayes("gaussian"), X, ripe, sizes=[10, 40], repeats=2)
        answers.append(found.error)
        frame = found.frame()
        assert type(frame) is (dict if X is rows else type(X))
    assert found.frame("pandas").columns.tolist() == ["model", "size", "error", "error_se", "log_loss", "log_loss_se"]
    for other in answers[1:]:
        np.testing.assert_allclose(other, answers[0])
    numbers = np.array([[r["sugar"], r["density"]] for r in rows])
    pair = tb.LinearDiscriminantAnalysis(), tb.LinearDiscriminantAnalysis(shrinkage=0.5)
    two = tb.evaluation.learning_curves(pair, numbers, ripe, repeats=1)
    assert two.names == ("LinearDiscriminantAnalysis 1", "LinearDiscriminantAnalysis 2")
    assert len(two.sizes) <= 8
    assert np.isnan(two.standard_error()).all()
    assert "LinearDiscriminantAnalysis 1" in repr(two)


def test_splits_are_stratified_and_nested() -> None:
    codes = np.repeat([0, 1, 2], [50, 30, 5])
    train, test = curves_module._split(codes, 3, 0.3, np.random.RandomState(0))
    assert sorted([*train, *test]) == list(range(85))
    assert np.bincount(codes[test]).tolist() == [15, 9, 2]
    assert np.bincount(codes[train[:6]]).tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"repeats": 0}, "repeats"),
        ({"test_size": 1.5}, "test_size"),
        ({"sizes": [1]}, "from 4 \\(2 rows of each class\\) to 28"),
        ({"sizes": [29]}, "to 28"),
        ({"sizes": []}, "sizes"),
    ],
)
def test_refusals_of_curves(options: dict[str, Any], match: str) -> None:
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    with pytest.raises(OptionError, match=match):
        tb.evaluation.learning_curves(tb.GaussianNB(), X, y, **options)


def test_refusals_of_pairs_and_labels() -> None:
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    with pytest.raises(OptionError, match="pair"):
        tb.evaluation.learning_curves((tb.GaussianNB(),), X, y)
    with pytest.raises(OptionError, match="of this library"):
        tb.evaluation.learning_curves(LogisticRegression(), X, y)
    with pytest.raises(LabelError, match="two classes"):
        tb.evaluation.learning_curves(tb.GaussianNB(), X, np.zeros(40, dtype=int))
    with pytest.raises(LabelError, match="too few"):
        tb.evaluation.learning_curves(tb.GaussianNB(), X, np.arange(40) == 3)


def test_parameters_of_a_network_are_counted() -> None:
    X = np.array([[0, 0, 0], [1, 1, 0], [0, 2, 1], [1, 0, 1]] * 3)
    y = np.arange(12) % 2
    model = tb.BayesNetwork("x0 -> x1", schema="categorical").fit(X, y)
    assert tb.evaluation.count_parameters(model) == 1 + 2 * (1 + 2 * 2 + 1)  # prior; x0, x1 given x0, x2 of each class
    with pytest.raises(OptionError, match="no fixed number"):
        tb.evaluation.count_parameters(tb.AODE("categorical").fit(X, y))
    with pytest.raises(OptionError, match="no logistic counterpart"):
        tb.evaluation.discriminative_counterpart(tb.AODE("categorical")).fit(X, y)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (tb.BernoulliNB(), 1 + 2 * 2),  # a prior, and a share for each class and column
        (tb.PoissonNB(), 1 + 2 * 2),
        (tb.MultinomialNB(), 1 + 2 * 1),  # shares of a class add to 1
        (
            tb.NaiveBayes("log-gaussian", schema={0: "real", 1: "real"}),
            1 + 2 * 2 * 3,
        ),  # a share of zeros, mean, variance
    ],
    ids=["bernoulli", "poisson", "multinomial", "log-gaussian"],
)
def test_parameters_of_counts(model: Any, expected: int) -> None:
    X = np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0], [1.0, 4.0], [3.0, 1.0], [0.0, 2.0]])
    assert tb.evaluation.count_parameters(model.fit(X, list("aabbab"))) == expected


def test_features_are_learned_by_fit_as_by_fit_transform() -> None:
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    features = tb.evaluation.MatchingFeatures(tb.QuadraticDiscriminantAnalysis())
    assert features.fit(X, y) is features
    np.testing.assert_array_equal(features.transform(X), clone(features).fit_transform(X, y))


def test_a_sparse_table_too_large_to_be_dense() -> None:
    X, y = sparse.csr_matrix((200_000, 1000)), np.arange(200_000) % 2
    with pytest.raises(TableError, match=r"200000 rows of 1000 columns take 1\.6 GB"):
        tb.evaluation.discriminative_counterpart(tb.GaussianNB()).fit(X, y)


def test_parameters_that_nobody_counts_are_not_reported() -> None:
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    found = tb.evaluation.learning_curves((tb.GaussianNB(), KNeighborsClassifier(3)), X, y, repeats=1, sizes=[20])
    assert found.parameters == (tb.evaluation.count_parameters(tb.GaussianNB().fit(X, y)), None)
    assert "GaussianNB: 9" in repr(found)
    assert "KNeighborsClassifier: " not in repr(found)
