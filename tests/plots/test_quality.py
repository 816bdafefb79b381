"""Calibration and learning curves against scikit-learn's and our own arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer, load_iris

import tallybayes as tb
from tallybayes.errors import LabelError, OptionError
from tallybayes.plots import CalibrationDisplay, LearningCurvesDisplay

X, y = load_breast_cancer(return_X_y=True)
MODEL = tb.GaussianNB().fit(X[::2], y[::2])
NEW, TRUTH = X[1::2], y[1::2]


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_the_curve_is_that_of_scikit_learn_with_counts(strategy: str) -> None:
    f = CalibrationDisplay.from_estimator(MODEL, NEW, TRUTH, n_bins=5, strategy=strategy).frame("pandas")
    p = MODEL.predict_proba(NEW)[:, 1]
    true, said = calibration_curve(TRUTH, p, n_bins=5, strategy=strategy)
    np.testing.assert_allclose(f["observed"], true)
    np.testing.assert_allclose(f["predicted"], said)
    assert f["count"].sum() == len(TRUTH)
    np.testing.assert_allclose((f["predicted"] * f["count"]).sum(), p.sum())  # the counts belong to the bins
    np.testing.assert_allclose((f["observed"] * f["count"]).sum(), TRUTH.sum())
    for _, row in f.iterrows():
        exact = binomtest(round(row["observed"] * row["count"]), int(row["count"])).proportion_ci(method="wilson")
        assert (row["low"], row["high"]) == pytest.approx((exact.low, exact.high), abs=1e-4)


def test_of_many_classes_the_answer_or_one_label_is_looked_at() -> None:
    data, target = load_iris(return_X_y=True)
    model = tb.LinearDiscriminantAnalysis().fit(data, target)
    p = model.predict_proba(data)
    answer = CalibrationDisplay.from_estimator(model, data, target).frame("pandas")
    np.testing.assert_allclose((answer["observed"] * answer["count"]).sum(), (p.argmax(axis=1) == target).sum())
    one = CalibrationDisplay.from_estimator(model, data, target, label=1).frame("pandas")
    np.testing.assert_allclose((one["observed"] * one["count"]).sum(), (target == 1).sum())
    assert "the predicted class" in CalibrationDisplay.from_estimator(model, data, target).ax_.get_xlabel()


def test_several_models_have_a_line_each() -> None:
    other = tb.LinearDiscriminantAnalysis().fit(X[::2], y[::2])
    made = CalibrationDisplay.from_estimator({"naive": MODEL, "LDA": other}, NEW, TRUTH)
    ax = made.ax_
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["naive", "LDA"]
    f = made.frame("pandas")
    drawn = ax.lines[1]
    np.testing.assert_allclose(drawn.get_xdata(), f[f["model"] == "naive"]["predicted"])
    np.testing.assert_allclose(drawn.get_ydata(), f[f["model"] == "naive"]["observed"])


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"estimator": {}}, OptionError, "at least one"),
        ({"estimator": tb.GaussianNB}, OptionError, "the class GaussianNB"),
        ({"n_bins": 0}, OptionError, "n_bins"),
        ({"strategy": "equal"}, OptionError, "strategy"),
        ({"label": "benign"}, OptionError, "'benign' is not a class"),
        ({"y": ["?"] * len(TRUTH)}, LabelError, "does not know"),
    ],
)
def test_bad_questions_about_calibration(options: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        CalibrationDisplay.from_estimator(**{"estimator": MODEL, "X": NEW, "y": TRUTH, **options})


def test_learning_curves_are_those_of_the_pair() -> None:
    curves = tb.evaluation.learning_curves(tb.GaussianNB(variance="shared"), X, y, sizes=[10, 50, 200], repeats=3)
    made = LearningCurvesDisplay(curves, "log_loss")
    ax = made.ax_
    for m in (0, 1):
        np.testing.assert_allclose(ax.lines[m].get_ydata(), curves.mean("log_loss")[m])
        np.testing.assert_array_equal(ax.lines[m].get_xdata(), [10, 50, 200])
    assert made.frame("dict")["log_loss"].tolist() == curves.mean("log_loss").ravel().tolist()
    crossing = curves.crossing("log_loss")
    assert len(ax.lines) == 2 + (crossing is not None)
    with pytest.raises(OptionError, match="measure"):
        LearningCurvesDisplay(curves, "accuracy")
    with pytest.raises(OptionError, match="measure"):
        LearningCurvesDisplay.from_estimator(tb.GaussianNB(), X, y, measure="accuracy")


def test_where_one_overtakes_there_is_a_line() -> None:
    curves = tb.evaluation.LearningCurves(
        ("first", "second"),
        np.array([10, 100, 1000]),
        np.array([[[0.2, 0.2], [0.2, 0.2], [0.2, 0.2]], [[0.4, 0.4], [0.3, 0.3], [0.1, 0.1]]]),
        np.ones((2, 3, 2)),
        (3, None),
    )
    ax = LearningCurvesDisplay(curves).ax_
    at = curves.crossing("error")
    assert at is not None
    np.testing.assert_allclose(ax.lines[2].get_xdata(), at)
    assert any(f"{at:.0f} rows" in t.get_text() for t in ax.texts)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["first (3 parameters)", "second"]


def test_a_curve_that_led_before_is_ahead_again() -> None:
    a = np.array([[0.2, 0.2, 0.2], [0.1, 0.3, 0.1]])[:, :, None]
    curves = tb.evaluation.LearningCurves(("first", "second"), np.array([10, 100, 1000]), a, a, (None, None))
    assert [t.get_text() for t in LearningCurvesDisplay(curves).ax_.texts] == ["second\nahead again from ≈ 316 rows"]
