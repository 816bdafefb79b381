"""class_weight, var_smoothing='auto', feature_importances_ and is_fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.naive_bayes import GaussianNB as TheirGaussianNB

import tallybayes as tb
from tallybayes.errors import MergeError, OptionError
from tests.every_estimator import ESTIMATORS, LEARNED, labels

ALL = {**ESTIMATORS, **LEARNED}


@pytest.mark.parametrize("name", list(ALL))
def test_a_dict_is_a_weight_for_each_row(name: str) -> None:
    make, data = ALL[name]
    rng = np.random.default_rng(0)
    X, y = data(rng, 80), labels(rng, 80)
    weights = {"a": 2.0, "c": 0.5}
    by_class = make().set_params(class_weight=weights).fit(X, y)
    by_row = make().fit(X, y, sample_weight=[weights.get(label, 1.0) for label in y])
    np.testing.assert_allclose(by_class.predict_joint_log_proba(X), by_row.predict_joint_log_proba(X), rtol=1e-12)


@pytest.mark.parametrize("model", [tb.GaussianNB, tb.NaiveBayes, tb.BayesClassifier, tb.LinearDiscriminantAnalysis])
def test_balanced_classes_weigh_the_same(model: Any, tmp_path: Any) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[:120], y[:120]
    fitted = model(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(fitted.class_count_, 40.0)
    assert fitted.class_weight_ == pytest.approx({0: 0.8, 1: 0.8, 2: 2.0})
    with pytest.raises(OptionError, match="'balanced' needs all rows at once"):
        fitted.partial_fit(X[:5], y[:5])
    with pytest.raises(OptionError, match="'balanced' needs all rows at once"):
        model(class_weight="balanced").learn_one({"x0": 1.0}, 0)
    tb.save(fitted, tmp_path / "m")
    again = tb.load(tmp_path / "m")
    again.forget(X[:7], y[:7])
    np.testing.assert_allclose(again.class_count_, [34.4, 40.0, 40.0])
    with pytest.raises(MergeError, match="weigh the classes differently"):
        fitted.merge(model().fit(X, y))


def test_parts_with_a_dict_add_up() -> None:
    X, y = load_iris(return_X_y=True)
    weights = {0: 3.0}
    whole = tb.GaussianNB(class_weight=weights).fit(X, y)
    parts = tb.GaussianNB(class_weight=weights).partial_fit(X[:75], y[:75]).partial_fit(X[75:], y[75:])
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X))
    parts.learn_one({f"x{j}": 1.0 for j in range(4)}, 0)
    assert parts.class_count_[0] == 153.0


@pytest.mark.parametrize("given", ["even", 3, {0: -1.0}, {0: "x"}, {0: float("nan")}, [1, 2]])
def test_what_is_no_weight_is_refused(given: Any) -> None:
    with pytest.raises(OptionError, match="class_weight must be"):
        tb.GaussianNB(class_weight=given).fit([[1.0], [2.0]], [0, 1])


def test_smoothing_by_leave_one_out_is_better_than_either() -> None:
    X, y = load_digits(return_X_y=True)
    train, test = np.arange(len(y)) % 3 > 0, np.arange(len(y)) % 3 == 0
    plain, theirs = tb.GaussianNB().fit(X[train], y[train]), TheirGaussianNB().fit(X[train], y[train])
    best = tb.GaussianNB(var_smoothing="auto").fit(X[train], y[train])
    assert best.score(X[test], y[test]) > max(m.score(X[test], y[test]) for m in (plain, theirs))
    assert best.var_smoothing_ > 1e-3
    mixed = tb.NaiveBayes("gaussian", var_smoothing="auto").fit(X[train], y[train])
    np.testing.assert_allclose(mixed.predict_proba(X[test]), best.predict_proba(X[test]))


def test_the_chosen_smoothing_has_the_least_loss(tmp_path: Any) -> None:
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    model = tb.GaussianNB(var_smoothing="auto").fit(X, y)

    def loss(s: float) -> float:
        log = tb.GaussianNB(var_smoothing=s).fit(X, y).leave_one_out(X, y)
        return -float(log[np.arange(len(y)), y].mean())

    assert loss(model.var_smoothing_) == min(loss(s) for s in (1e-9, 1e-3, 1e-2, 0.1, 0.3, 1.0))
    tb.save(model, tmp_path / "m")
    again = tb.load(tmp_path / "m").partial_fit(X[:9], y[:9]).forget(X[:9], y[:9])
    assert again.var_smoothing_ == model.var_smoothing_
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X))
    for bad in ("best", -1.0, None):
        with pytest.raises(OptionError, match="var_smoothing must be a number of at least 0, or 'auto'"):
            tb.GaussianNB(var_smoothing=bad).fit(X, y)  # type: ignore[arg-type]


def test_importances_and_is_fitted() -> None:
    X, y = load_iris(return_X_y=True)
    model = tb.NaiveBayes()
    assert not model.is_fitted
    assert not hasattr(model, "feature_importances_")
    model.fit(np.column_stack([X, np.zeros(len(y))]), y)
    assert model.is_fitted
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.feature_importances_[4] == 0
    assert np.argmax(model.feature_importances_) in (2, 3)
    assert tb.GaussianNB().fit([[1.0], [1.0]], [0, 1]).feature_importances_.tolist() == [1.0]


@pytest.mark.parametrize("model", [tb.NaiveBayes, tb.GaussianNB, tb.BayesClassifier])
@pytest.mark.parametrize(
    ("named", "y"), [("Ja", ["ja", "nein"] * 10), ("1", [0, 1] * 10), ("maybe", ["ja", "nein"] * 10)]
)
def test_a_weight_of_no_class_is_refused(model: Any, named: str, y: list[object]) -> None:
    X = np.arange(40.0).reshape(20, 2)
    fitted = model().fit(X, y)
    fitted.class_weight = {named: 50}
    with pytest.raises(OptionError, match=rf"names \['{named}'\], and the classes are \[{y[0]!r}, {y[1]!r}\]"):
        fitted.fit(X, y)
    assert fitted.class_count_.tolist() == [10.0, 10.0]
    assert model(class_weight={y[0]: 2, y[1]: 3, named: 50}).fit(X, y).class_count_.tolist() == [20.0, 30.0]


def test_a_weight_of_a_class_to_come_is_kept_and_a_misspelled_one_is_refused() -> None:
    model = tb.GaussianNB(class_weight={"ja": 50}).partial_fit([[1.0], [2.0]], ["nein", "nein"])
    assert model.partial_fit([[3.0]], ["ja"]).class_count_.tolist() == [50.0, 2.0]
    table = {"x": [float(i) for i in range(9)], "y": ["nein"] * 8 + ["ja"]}
    frame = pd.DataFrame(table)
    assert tb.NaiveBayes(class_weight={"ja": 50}).learn_from(frame, "y").class_count_.tolist() == [50.0, 8.0]
    for misspelled in (
        lambda: tb.GaussianNB(class_weight={"Ja": 50}).partial_fit([[1.0], [2.0]], ["ja", "nein"]),
        lambda: tb.GaussianNB(class_weight={"1": 50}).partial_fit([[1.0], [2.0]], [0, 1]),
        lambda: tb.GaussianNB(class_weight={"j": 50}).partial_fit([[1.0]], ["ja"], classes=["ja", "nein"]),
        lambda: tb.GaussianNB(class_weight={"Ja": 50}).learn_one({"x": 1.0}, "ja"),
        lambda: tb.NaiveBayes(class_weight={"Ja": 50}).learn_from(frame, "y"),
    ):
        with pytest.raises(OptionError, match="the classes are"):
            misspelled()


@pytest.mark.parametrize("weights", ["balanced", {"A": 2.0, "B": 3.0, "C": 5.0}, {"A": 0.5, "B": 0.3, "C": 0.2}])
def test_leave_one_out_is_forget_of_the_row_with_the_weight_of_its_class(weights: Any) -> None:
    X, y = np.array([[1.0], [2.0], [3.5], [4.0], [5.0], [6.0], [7.0], [9.0]]), np.array(list("AAAABBBC"))
    for model in (tb.GaussianNB(class_weight=weights), tb.NaiveBayes("kernel", class_weight=weights)):
        left = np.exp(model.fit(X, y).leave_one_out(X, y))
        for i in range(len(y)):
            other = model.copy().forget(X[i : i + 1], y[i : i + 1])
            want = dict(zip(other.classes_, other.predict_proba(X[i : i + 1])[0], strict=True))
            np.testing.assert_allclose(left[i], [want.get(k, 0.0) for k in "ABC"], rtol=0, atol=1e-9)
