"""Decision boundaries and how priors and losses move them: the numbers behind the picture, and the lines in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import tallybayes as tb
from tallybayes.errors import LabelError, OptionError, TableError
from tallybayes.plots import BoundaryShiftDisplay, DecisionBoundaryDisplay
from tallybayes.plots.gaussians import class_gaussians, ellipse
from tallybayes.plots.plane import smooth_lines
from tests.every_estimator import ESTIMATORS, labels

X, y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[y]


def lines_of(ax: Any) -> list[Any]:
    """The boundary lines of a picture, one list of segments for each scenario."""
    return [c.get_segments() for c in ax.collections if type(c) is LineCollection]


def test_the_frame_is_the_posterior_of_the_two_columns_alone() -> None:
    model = tb.QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, NAMES)
    f = DecisionBoundaryDisplay.from_estimator(model, X, NAMES, features=(0, 3), grid=9).frame("pandas")
    # by hand: the Gaussians of these two columns only, since the others are integrated out
    pick = [0, 3]
    joint = np.column_stack(
        [
            model.priors_[k]
            * multivariate_normal(model.means_[k][pick], model.covariance_[k][np.ix_(pick, pick)]).pdf(f[["x0", "x3"]])
            for k in range(3)
        ]
    )
    expected = joint / joint.sum(axis=1, keepdims=True)
    assert len(f) == 81
    np.testing.assert_allclose(f[[f"P({c})" for c in model.classes_]], expected, rtol=1e-9, atol=1e-12)
    assert f["answer"].tolist() == model.classes_[expected.argmax(axis=1)].tolist()


def test_rest_typical_fixes_the_other_columns_for_any_classifier() -> None:
    model = LogisticRegression(max_iter=1000).fit(X, NAMES)
    f = DecisionBoundaryDisplay.from_estimator(model, X, NAMES, features=(1, 2), rest="typical", grid=5).frame("pandas")
    rows = np.tile(X.mean(axis=0), (25, 1))
    rows[:, 1], rows[:, 2] = f["x1"], f["x2"]
    np.testing.assert_allclose(f[[f"P({c})" for c in model.classes_]], model.predict_proba(rows), atol=1e-12)


def test_boundary_lines_lie_where_two_classes_are_equal_and_each_is_drawn_once() -> None:
    model = tb.LinearDiscriminantAnalysis().fit(X[:, :2], NAMES)
    made = DecisionBoundaryDisplay.from_estimator(model, X[:, :2], NAMES)
    lines = smooth_lines(made.plane, made.plane.log_posterior)
    at = np.concatenate(lines)
    top = np.sort(model.predict_log_proba(at), axis=1)
    assert np.quantile(top[:, -1] - top[:, -2], 0.9) < 0.02  # the grid is not infinitely fine
    assert len(np.unique(at.round(6), axis=0)) > 0.95 * len(at)
    drawn = np.concatenate(lines_of(made.plot().ax_)[0])
    np.testing.assert_allclose(drawn, at)


@pytest.mark.parametrize("shape", ["full", "diagonal"])
def test_ellipses_are_two_standard_deviations_away(shape: str) -> None:
    model = tb.GaussianDiscriminant(shape, own_covariance=1.0).fit(X, NAMES)
    found = class_gaussians(model, "x1", "x2")
    assert found is not None
    for k in range(3):
        rows = X[y == k][:, 1:3]
        cov = np.cov(rows.T, ddof=0) if shape == "full" else np.diag(rows.var(axis=0))
        np.testing.assert_allclose(found[0][k], rows.mean(axis=0))
        np.testing.assert_allclose(found[1][k], cov, rtol=1e-9)
        away = ellipse(found[0][k], found[1][k], 2.0) - found[0][k]
        np.testing.assert_allclose(np.einsum("ij,jk,ik->i", away, np.linalg.inv(cov), away), 4.0)


def test_ellipses_of_mixed_and_of_other_models() -> None:
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 2] > 2, "long", "short")})
    model = tb.NaiveBayes({"b": "kernel"}).fit(frame, NAMES)
    assert class_gaussians(model, "a", "b") is None
    assert class_gaussians(model, "a", "c") is None


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_covariance_of_some_columns_where_there_are_more_columns_than_rows(alpha: float) -> None:
    wide = np.random.default_rng(0).normal(size=(12, 40))
    model = tb.GaussianDiscriminant(own_covariance=alpha).fit(wide, np.repeat([0, 1], 6))
    p = model.predictor_.fitted.terms[0].params
    A, _, _ = model.quadratic()
    for k in (0, 1):
        whole = np.linalg.inv(-2 * A[k])
        np.testing.assert_allclose(
            p.covariance(k, [3, 17, 5]), whole[np.ix_([3, 17, 5], [3, 17, 5])], rtol=1e-4, atol=1e-6
        )


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_has_a_picture(name: str) -> None:
    make, data = ESTIMATORS[name]
    rng = np.random.default_rng(1)
    rows, target = data(rng, 40), labels(rng, 40)
    model = make().fit(rows, target)
    for known in ((rows, target), (None, None)):
        made = DecisionBoundaryDisplay.from_estimator(model, *known, features=(0, 1), grid=7)
        p = np.exp(made.plane.log_posterior)
        np.testing.assert_allclose(p.sum(axis=-1), 1.0, atol=1e-9)
    made.plot()


def test_levels_are_cells() -> None:
    frame = pd.DataFrame({"sky": ["clear", "grey", "grey", "clear"] * 5, "wind": [1.0, 5.0, 6.0, 2.0] * 5})
    model = tb.NaiveBayes().fit(frame, ["sail", "stay", "stay", "sail"] * 5)
    made = DecisionBoundaryDisplay.from_estimator(model, frame, features=("wind", "sky"), grid=11)
    f = made.frame()
    assert set(f["sky"]) == {"clear", "grey"}
    np.testing.assert_allclose(f["P(sail)"], model.predict_proba(f[["sky", "wind"]])[:, 0], atol=1e-12)
    assert [t.get_text() for t in made.ax_.get_yticklabels()] == ["clear", "grey"]
    assert len(lines_of(made.ax_)[0]) > 0


def test_a_prior_shifts_the_boundary_as_refitting_with_it_would() -> None:
    model = tb.LinearDiscriminantAnalysis().fit(X, NAMES)
    prior = [0.7, 0.2, 0.1]
    made = BoundaryShiftDisplay.from_estimator(model, X, NAMES, features=(0, 1), grid=15, priors={"new": prior})
    f = made.frame("pandas")
    other = tb.LinearDiscriminantAnalysis(priors=prior).fit(X, NAMES)
    expected = DecisionBoundaryDisplay.from_estimator(other, X, features=(0, 1), grid=15).frame("pandas")
    assert f[f["scenario"] == "new"]["answer"].tolist() == expected["answer"].tolist()
    base = DecisionBoundaryDisplay.from_estimator(model, X, features=(0, 1), grid=15).frame("pandas")
    assert f[f["scenario"] == "as fitted"]["answer"].tolist() == base["answer"].tolist()
    assert expected["answer"].tolist() != base["answer"].tolist()
    assert len(lines_of(made.plot().ax_)) == 2


def test_a_loss_gives_the_answer_of_least_risk() -> None:
    model = tb.LinearDiscriminantAnalysis().fit(X[:, :2], NAMES)
    loss = {(..., "virginica"): 9.0, (..., ...): 1.0}
    matrix = np.array([[0, 1, 9], [1, 0, 9], [1, 1, 0]])
    made = BoundaryShiftDisplay.from_estimator(model, X[:, :2], grid=12, losses={"dict": loss, "matrix": matrix})
    f = made.frame("pandas")
    p = model.predict_proba(f[f["scenario"] == "dict"][["x0", "x1"]].to_numpy())
    expected = model.classes_[[min(range(3), key=lambda a: sum(matrix[a, t] * row[t] for t in range(3))) for row in p]]
    assert f[f["scenario"] == "dict"]["answer"].tolist() == expected.tolist()
    assert f[f["scenario"] == "matrix"]["answer"].tolist() == expected.tolist()


def test_answers_that_are_no_class_have_regions_too() -> None:
    model = tb.LinearDiscriminantAnalysis().fit(X[:, :2], NAMES)
    loss = {("ask", ...): 0.2, (..., ...): 1.0}
    f = BoundaryShiftDisplay.from_estimator(model, X[:, :2], grid=12, losses={"ask": loss}).frame("pandas")
    part = f[f["scenario"] == "ask"]
    sure = model.predict_proba(part[["x0", "x1"]].to_numpy()).max(axis=1)
    assert ((part["answer"] == "ask") == (sure < 0.8)).all()
    assert (sure < 0.8).any()


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({}, OptionError, "Choose two"),
        ({"features": (0,)}, OptionError, "two columns"),
        ({"features": "x0"}, OptionError, "two columns"),
        ({"features": (0, 0)}, OptionError, "different"),
        ({"features": (0, 9)}, OptionError, "no column 9"),
        ({"features": (0, "width")}, OptionError, "no column 'width'"),
        ({"features": (0, 1), "grid": 1}, OptionError, "grid"),
        ({"features": (0, 1), "grid": 2.5}, OptionError, "grid"),
        ({"features": (0, 1), "rest": "mean"}, OptionError, "rest"),
        ({"features": (0, 1), "y": ["?"] * 150}, LabelError, "does not know"),
        ({"features": (0, 1), "y": NAMES[:3]}, LabelError, "inconsistent"),
        ({"features": (0, 1), "X": None, "y": NAMES}, OptionError, "without X"),
        ({"features": (0, 1), "X": np.full((150, 4), np.nan)}, TableError, "no values"),
        ({"features": (0, 1), "ax": 3}, OptionError, "Axes"),
    ],
)
def test_bad_input_gets_one_clear_error(options: dict[str, Any], error: type[Exception], says: str) -> None:
    model = tb.LinearDiscriminantAnalysis().fit(X, NAMES)
    with pytest.raises(error, match=says):
        DecisionBoundaryDisplay.from_estimator(model, **{"X": X, "y": NAMES, **options})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "either priors"),
        ({"priors": {"a": [1, 0, 0]}, "losses": {"b": np.eye(3)}}, "either priors"),
        ({"priors": [0.3, 0.3, 0.4]}, "dicts from a name"),
        ({"priors": {"a": [0.5, 0.5]}}, "Number of priors"),
        ({"priors": {"a": [0.5, 0.5, np.nan]}}, "non-negative"),
        ({"losses": {"a": np.eye(2)}}, "loss"),
        ({"losses": {"a": "high"}}, "loss"),
        ({"losses": {"a": np.full((3, 3), np.nan)}}, "loss"),
        ({"losses": {"a": {"setosa": 3}}}, "decision, class"),
        ({"losses": {"a": {("setosa", "rose"): 3}}}, "'rose'"),
    ],
)
def test_bad_priors_and_losses(options: dict[str, Any], says: str) -> None:
    model = tb.LinearDiscriminantAnalysis().fit(X, NAMES)
    with pytest.raises(OptionError, match=says):
        BoundaryShiftDisplay.from_estimator(model, X, NAMES, features=(0, 1), grid=5, **options)


def test_other_classifiers_are_refused_what_they_lack() -> None:
    model = LogisticRegression(max_iter=1000).fit(X, NAMES)
    with pytest.raises(OptionError, match="rest='typical'"):
        DecisionBoundaryDisplay.from_estimator(model, X, features=(0, 1))
    with pytest.raises(OptionError, match="Give X"):
        DecisionBoundaryDisplay.from_estimator(model, features=(0, 1))
    two = LogisticRegression(max_iter=1000).fit(X[:, :2], NAMES)
    with pytest.raises(OptionError, match="does not tell"):
        BoundaryShiftDisplay.from_estimator(two, X[:, :2], priors={"a": [0.2, 0.3, 0.5]})


class OnlyShares(LogisticRegression):  # type: ignore[misc]
    """A classifier without logarithms."""

    predict_log_proba = property()  # hasattr is false


def test_a_classifier_that_gives_shares_and_no_logarithms() -> None:
    found = DecisionBoundaryDisplay.from_estimator(
        OnlyShares(max_iter=1000).fit(X, y), X, y, features=(0, 1), rest="typical", grid=20
    )
    plain = LogisticRegression(max_iter=1000).fit(X, y)
    other = DecisionBoundaryDisplay.from_estimator(plain, X, y, features=(0, 1), rest="typical", grid=20)
    np.testing.assert_allclose(found.plane.log_posterior, other.plane.log_posterior, atol=1e-9)


def test_typical_rows_of_dicts_have_the_commonest_word() -> None:
    rows = [{"a": float(a), "b": float(b), "c": "xxy"[i % 3], "n": None} for i, (a, b) in enumerate(X[:, :2])]
    model = tb.NaiveBayes(schema={"n": "categorical"}).fit(rows, NAMES)
    found = DecisionBoundaryDisplay.from_estimator(model, rows, NAMES, features=("a", "b"), rest="typical", grid=5)
    at = {"a": float(found.plane.x.values[1]), "b": float(found.plane.y.values[2]), "c": "x"}
    np.testing.assert_allclose(found.plane.log_posterior[2, 1], model.predict_log_proba([at])[0], atol=1e-9)


def test_a_column_of_one_level() -> None:
    one = [{"a": "x", "b": float(v)} for v in X[:, 0]]
    found = DecisionBoundaryDisplay.from_estimator(tb.NaiveBayes().fit(one, NAMES), features=("a", "b"), grid=5)
    np.testing.assert_array_equal(found.plane.x.edges, [-0.5, 0.5])


def test_more_rows_than_a_picture_shows() -> None:
    many, of = np.tile(X, (40, 1)), np.tile(y, 40)
    found = DecisionBoundaryDisplay.from_estimator(tb.GaussianNB().fit(X, y), many, of, features=(0, 1), grid=5)
    shown = sum(len(c.get_offsets()) for c in found.ax_.collections if c.get_offsets().shape[0] > 1)
    assert 0 < shown < len(many)


def test_a_class_of_prior_0_has_no_other_prior() -> None:
    model = tb.GaussianNB(priors=[0.0, 0.5, 0.5]).fit(X, y)
    with pytest.raises(OptionError, match="A class has prior 0 in this model; its evidence is gone"):
        BoundaryShiftDisplay.from_estimator(model, X, y, features=(0, 1), priors={"even": [1 / 3] * 3}, grid=5)
