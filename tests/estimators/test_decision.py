"""From posteriors and losses to answers: risks by hand, Chow's rule, losses of each row, bad losses."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import tallybayes as tb
from tallybayes.errors import LabelError, OptionError


class Expansion(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities are its columns."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Expansion:  # noqa: ARG002
        self.classes_, self.weight_ = np.unique(y), sample_weight
        return self

    def predict_proba(self, X: Any, power: Any = None) -> Any:
        P = np.asarray(X, dtype=float)
        P = P if power is None else P ** np.asarray(power)[:, None]
        return P / P.sum(axis=1, keepdims=True)


def decision(classes: Any, **options: Any) -> tb.BayesDecision:
    """Fitted, on any rows: the probabilities come with the question."""
    return tb.BayesDecision(Expansion(), **options).fit(np.eye(len(classes)), classes)


P = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
LOSS = [[0.0, 10.0], [1.0, 0.0], [0.5, 0.5]]


def test_risks_by_hand() -> None:
    risk = [[1.0, 0.9, 0.5], [5.0, 0.5, 0.5], [8.0, 0.2, 0.5]]
    np.testing.assert_allclose(tb.decision.conditional_risk(P, LOSS), risk, rtol=1e-15)
    assert tb.decision.bayes_risk(P, LOSS) == pytest.approx((0.5 + 0.5 + 0.2) / 3)
    assert tb.decision.bayes_risk(P, LOSS, sample_weight=[1, 0, 3]) == pytest.approx((0.5 + 3 * 0.2) / 4)
    model = decision(["no", "yes"], loss=LOSS, answers=["no", "yes", "ask"])
    np.testing.assert_allclose(model.conditional_risk(P), risk, rtol=1e-15)
    assert model.predict(P).tolist() == ["ask", "yes", "yes"]  # of equal risks the first answer
    np.testing.assert_allclose(model.answer_risk(P), [0.5, 0.5, 0.2])
    assert model.bayes_risk(P) == pytest.approx(0.4)
    np.testing.assert_allclose(model.realised_loss(P, ["no", "no", "yes"]), [0.5, 1.0, 0.0])
    assert model.score(P, ["no", "no", "yes"]) == pytest.approx(-0.5)
    assert model.score(P, ["no", "no", "yes"], sample_weight=[0, 1, 1]) == pytest.approx(-0.5)
    assert model.score(P, ["no", "no", "yes"], sample_weight=[0, 2, 1]) == pytest.approx(-2 / 3)


@given(st.integers(0, 10_000))
def test_the_answer_is_the_one_that_costs_least_on_average(seed: int) -> None:
    """Against the definition, in loops."""
    rng = np.random.default_rng(seed)
    n, K, A = rng.integers(1, 6), rng.integers(2, 5), rng.integers(1, 6)
    proba = rng.dirichlet(np.ones(K), size=n)
    loss = rng.normal(size=(A, K)) * 5
    each = rng.random(size=(A, K))
    amount = rng.random(n) * 10
    model = decision(np.arange(K), loss=loss, amount_loss=each, answers=[f"a{i}" for i in range(A)])
    truth = rng.integers(0, K, size=n)
    risk = np.zeros((n, A))
    for i in range(n):
        for a in range(A):
            for j in range(K):
                risk[i, a] += (loss[a, j] + amount[i] * each[a, j]) * proba[i, j]
    np.testing.assert_allclose(model.conditional_risk(proba, amount=amount), risk, atol=1e-12)
    best = risk.argmin(axis=1)
    assert model.predict(proba, amount=amount).tolist() == [f"a{i}" for i in best]
    cost = [loss[best[i], truth[i]] + amount[i] * each[best[i], truth[i]] for i in range(n)]
    np.testing.assert_allclose(model.realised_loss(proba, truth, amount=amount), cost)
    whole = loss + amount[:, None, None] * each
    np.testing.assert_allclose(tb.decision.conditional_risk(proba, whole), risk, atol=1e-12)
    np.testing.assert_allclose(model.conditional_risk(proba, losses=whole), risk, atol=1e-12)
    np.testing.assert_allclose(model.realised_loss(proba, truth, losses=whole), cost)


def test_without_a_loss_it_is_the_estimator() -> None:
    X, y = load_iris(return_X_y=True)
    for inner in (tb.GaussianNB(), LogisticRegression(max_iter=1000)):
        model = tb.BayesDecision(inner).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), clone(inner).fit(X, y).predict(X))
        np.testing.assert_array_equal(model.predict_proba(X), model.estimator_.predict_proba(X))
        assert model.score(X, y) == pytest.approx((model.predict(X) == y).mean() - 1)
        assert model.predict(X).dtype == y.dtype


@pytest.mark.parametrize("cost", [0.0, 0.1, 0.3, 0.5, 1.0])
def test_chow(cost: float) -> None:
    """Reject where max P < 1 − cost, and only there."""
    steps = np.arange(0, 101) / 100
    rows = np.column_stack([steps, 1 - steps])
    model = decision([4, 7], reject=cost)
    rejected = np.maximum(np.arange(0, 101), 100 - np.arange(0, 101)) < round(100 - 100 * cost)
    np.testing.assert_array_equal(model.predict(rows) == -1, rejected)
    assert model.predict(rows).dtype == np.int64
    assert model.answers_.tolist() == [4, 7, -1]
    assert (model.answer_risk(rows) <= cost).all() or cost == 0.0
    loss = model.realised_loss(rows, np.full(len(rows), 4))
    np.testing.assert_array_equal(loss, np.where(rejected, cost, steps < 0.5))


def test_chow_at_the_threshold_with_sums_that_round() -> None:
    rows = [[0.7, 0.2, 0.1], [0.7 - 1e-9, 0.2 + 1e-9, 0.1]]  # 0.2 + 0.1 > 0.3 in floating point
    assert decision(list("abc"), reject=0.3).predict(rows).tolist() == ["a", "reject"]
    scaled = decision(list("abc"), loss=(1 - np.eye(3)) * 1e6, reject=0.3e6)
    assert scaled.predict(rows).tolist() == ["a", "reject"]


@pytest.mark.parametrize(
    ("classes", "options", "answers", "kind"),
    [
        ([0, 1], {}, [0, 1, -1], "i"),
        (np.array([0, 1], dtype=np.uint8), {}, [0, 1, -1], "i"),
        ([0.0, 1.0], {}, [0.0, 1.0, -1.0], "f"),
        (["a", "b"], {}, ["a", "b", "reject"], "U"),
        (np.array(["a", "b"], dtype=object), {}, ["a", "b", "reject"], "O"),
        ([False, True], {}, [False, True, "reject"], "O"),
        ([0, 1], {"reject_label": "?"}, [0, 1, "?"], "O"),
        (["a", "b"], {"reject_label": "a very long label"}, ["a", "b", "a very long label"], "U"),
        ([-1, 1], {"reject_label": 0}, [-1, 1, 0], "i"),
    ],
)
def test_the_label_of_a_rejected_row(classes: Any, options: Any, answers: Any, kind: str) -> None:
    model = decision(classes, reject=0.1, **options)
    assert model.answers_.tolist() == answers
    assert model.answers_.dtype.kind == kind
    assert model.predict([[0.5, 0.5], [1.0, 0.0]]).tolist() == [answers[2], answers[0]]


def test_a_loss_by_labels() -> None:
    truth = [[0.0, 10.0], [1.0, 0.0], [0.5, 0.5]]
    pairs = {("no", "yes"): 10, ("ask", ...): 0.5, ("yes", "no"): 1}
    frame = pd.DataFrame([[10.0, 0.0], [0.5, 0.5], [0.0, 1.0]], index=["no", "ask", "yes"], columns=["yes", "no"])
    for loss in (pairs, frame):
        model = decision(["no", "yes"], loss=loss)
        assert model.loss_.tolist() == truth
        assert model.answers_.tolist() == ["no", "yes", "ask"]
    model = decision([1, 2, 3], loss={(..., 2): 5, (..., ...): 1, (3, ...): 2, (1, 1): -1, (3, 2): 7})
    assert model.loss_.tolist() == [[-1, 5, 1], [1, 0, 1], [2, 7, 0]]
    only = decision(
        ["bad", "good"], loss={("stop", "bad"): 0, ("stop", "good"): 1, ("go", "bad"): 9, ("go", "good"): 0}
    )
    assert only.predict([[0.2, 0.8], [0.05, 0.95]]).tolist() == ["stop", "go"]
    assert only.classes_.tolist() == ["bad", "good"]


def test_a_loss_in_a_table_of_any_kind() -> None:
    """Columns by name; rows by the index, by a column besides, or by place."""
    columns = {"yes": [10.0, 0.0], "no": [0.0, 1.0]}
    truth = [[0.0, 10.0], [1.0, 0.0]]
    for loss in (pl.DataFrame(columns), pd.DataFrame(columns), pl.DataFrame(columns).to_arrow()):
        model = decision(["no", "yes"], loss=loss)
        assert model.loss_.tolist() == truth
        assert model.answers_.tolist() == ["no", "yes"]
        other = decision(["no", "yes"], loss=loss, answers=["pass", "stop"])
        assert other.answers_.tolist() == ["pass", "stop"]
        assert decision(["no", "yes"], amount_loss=loss).predict(P, amount=[9, 0, 0]).tolist() == ["yes", "no", "yes"]
        np.testing.assert_array_equal(
            decision(["no", "yes"]).conditional_risk(P, losses=loss), tb.decision.conditional_risk(P, truth)
        )
    numbered = decision([0, 1], loss=pl.DataFrame({"1": [10.0, 0.0], "0": [0.0, 1.0]}))
    assert numbered.loss_.tolist() == truth
    named = {"answer": ["ask", "yes", "no"], "yes": [0.5, 0.0, 10.0], "no": [0.5, 1.0, 0.0]}
    for loss in (pl.DataFrame(named), pd.DataFrame(named), pd.DataFrame(named).set_index("answer")):
        model = decision(["no", "yes"], loss=loss)
        assert model.loss_.tolist() == [*truth, [0.5, 0.5]]
        assert model.answers_.tolist() == ["no", "yes", "ask"]


def test_answers_without_a_loss_are_classes() -> None:
    rows = [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]
    model = decision(["p", "q"], answers=["q", "p"])
    assert model.predict(rows).tolist() == ["p", "q", "q"]
    assert decision(["p", "q"], answers=["q"]).predict(rows).tolist() == ["q"] * 3
    with pytest.raises(OptionError, match=re.escape("answers must be classes ('p', 'q'); got 'r'")):
        decision(["p", "q"], answers=["q", "r"])


def test_equal_risks_whatever_the_rounding() -> None:
    proba = np.array([[0.6, 0.2, 0.2]])
    loss = [[0.8, 0.3, 0.1], [0.6, 0.7, 0.3]]  # 0.56, to rounding, both
    risk = tb.decision.conditional_risk(proba, loss)[0]
    assert risk[1] < risk[0]
    assert decision(list("abc"), loss=loss, answers=["first", "second"]).predict(proba).tolist() == ["first"]
    gains = np.array([[1.1e8, 2.2e8, -5.5e8 + 1], [0.0, 0.0, 1.0]])  # 0.2 both, one of them of much larger parts
    assert np.diff(tb.decision.conditional_risk(proba, gains)[0])[0] != 0
    for rows in (gains, gains[::-1]):
        assert decision(list("abc"), loss=rows, answers=["first", "second"]).predict(proba).tolist() == ["first"]


def test_amounts() -> None:
    """Passing a fraud costs its amount, looking at a payment costs 5."""
    options = {"loss": {("look", ...): 5, ("pass", ...): 0}, "amount_loss": {("pass", "fraud"): 1}}
    model = decision(["fraud", "ok"], **options)
    rows = [[0.1, 0.9]] * 3
    assert model.predict(rows, amount=[10, 49, 51]).tolist() == ["pass", "pass", "look"]
    np.testing.assert_allclose(model.realised_loss(rows, ["fraud", "ok", "ok"], amount=[10, 49, 51]), [10, 0, 5])
    np.testing.assert_allclose(model.answer_risk(rows, amount=[10, 49, 51]), [1.0, 4.9, 5.0])
    for wrong, why in (
        ({}, "amount_loss needs the amount of each row"),
        ({"amount": [1, 2]}, "one number per row (3 of them); got the shape (2,)"),
        ({"amount": [1, 2, -3]}, "row 2 has -3"),
        ({"amount": [1, np.nan, 3]}, "row 1 has nan"),
        ({"amount": ["a", "b", "c"]}, "amount must be one number per row"),
        ({"amount": [1, 2, 3], "losses": np.zeros((3, 2, 2))}, "not both"),
    ):
        with pytest.raises(OptionError, match=re.escape(why)):
            model.predict(rows, **wrong)
    with pytest.raises(OptionError, match="set amount_loss"):
        decision([0, 1]).predict(P, amount=[1, 2, 3])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"loss": [[0, 1]]}, "loss has 1 rows for 2 answers ('no', 'yes'). Name them with answers=[…]."),
        ({"loss": [[0, 1], [1, 0]], "answers": ["a"]}, "loss has 2 rows for 1 answers ('a')."),
        ({"loss": [[0, 1], [1, 0]], "answers": ["a", "a"]}, "may stand once"),
        ({"loss": [[0, 1, 2], [1, 0, 2]]}, "a column for each of the 2 classes"),
        ({"loss": [0, 1]}, "got the shape (2,)"),
        ({"loss": [[0, float("nan")], [1, 0]]}, "loss[0, 1] is nan"),
        ({"loss": [[0, float("inf")], [1, 0]]}, "a large loss, not an infinite one"),
        ({"loss": [[0, "x"], [1, 0]]}, "loss must be an array of numbers"),
        ({"loss": [[0, 1j], [1, 0]]}, "loss must be an array of numbers"),
        ({"loss": np.zeros((4, 2, 2))}, "predict(X, losses=…)"),
        (
            {"loss": pl.DataFrame({"no": [0.0, 1.0], "maybe": [1.0, 0.0]})},
            "names the truths 'no', 'maybe'; the classes",
        ),
        ({"loss": pd.DataFrame([[0, 1], [1, 0]], index=["a", "a"], columns=["no", "yes"])}, "each answer once"),
        ({"answers": []}, "answers must be classes ('no', 'yes'); got none"),
        ({"loss": {}}, "maps (decision, class) to a number"),
        ({"loss": {"no": 1}}, "maps (decision, class) to a number"),
        ({"loss": {(..., ...): 1, ("ask", "no"): 1}, "amount_loss": {("ask", "?"): 1}}, "names (…, '?')"),
        ({"loss": {("stop", "yes"): 1, ("go", ...): 1}}, "no cost for (decision, class): ('stop', 'no')"),
        ({"loss": {("no", "yes"): 1, ("ask", ...): 1}}, "no cost for (decision, class): ('yes', 'no')"),
        ({"loss": {("no", "maybe"): 1, (..., ...): 1}}, "names (…, 'maybe'); the classes are 'no', 'yes'"),
        ({"loss": {("no", "yes"): 1, ("yes", "no"): 1}, "answers": ["no", "yes"]}, "names its answers itself"),
        ({"amount_loss": {("nope", "yes"): 1}}, "names ('nope', …); the answers are 'no', 'yes'"),
        ({"amount_loss": [[1, 2]]}, "a row for each of the 2 answers"),
        ({"reject": -0.1}, "below every loss (the least is 0): every row would be rejected"),
        ({"reject": float("nan")}, "reject must be None or a finite number"),
        ({"reject": "no"}, "reject must be None or a finite number"),
        ({"reject_label": "?"}, "say what rejecting costs"),
        ({"reject": 0.1, "reject_label": "no"}, "an answer already"),
    ],
)
def test_losses_that_are_refused(options: Any, why: str) -> None:
    model = decision(["no", "yes"], loss={("no", "yes"): 3, ("yes", "no"): 1})
    before = model.predict(P).tolist()
    with pytest.raises(OptionError, match=re.escape(why)):
        model.set_params(**{"loss": None, **options}).fit(P, ["no", "yes", "no"])
    assert model.predict(P).tolist() == before  # the earlier fit is whole


def test_what_is_no_estimator_is_refused() -> None:
    for what, why in (
        (None, "a classifier such as NaiveBayes(); got None"),
        ("GaussianNB", "got 'GaussianNB'"),
        (tb.GaussianNB, "not its class: write GaussianNB()"),
    ):
        with pytest.raises(OptionError, match=re.escape(why)):
            tb.BayesDecision(what).fit(P, ["no", "yes", "no"])


def test_probabilities_and_losses_of_rows_that_are_refused() -> None:
    for proba, why in (
        ([0.5, 0.5], "an array (rows, classes)"),
        ([[0.5, 0.6]], "row 0 is [0.5, 0.6]"),
        ([[0.5, 0.5], [1.5, -0.5]], "row 1"),
        ([[np.nan, 1.0]], "row 0"),
        ("text", "proba must be an array of numbers"),
    ):
        with pytest.raises(OptionError, match=re.escape(why)):
            tb.decision.conditional_risk(proba, [[0, 1], [1, 0]])
    with pytest.raises(OptionError, match="no rows"):
        tb.decision.bayes_risk(np.empty((0, 2)), [[0, 1], [1, 0]])
    for weight in ([0, 0, 0], [1, 2], [1, -1, 1], [1, np.nan, 1], ["a", "b", "c"]):
        for ask in (lambda w: tb.decision.bayes_risk(P, LOSS, w), lambda w: decision([0, 1]).score(P, [0, 1, 0], w)):
            with pytest.raises(OptionError, match=r"sample_weight|sample weight is zero"):
                ask(weight)
    with pytest.raises(OptionError, match="for 2 rows; there are 3"):
        decision([0, 1]).predict(P, losses=np.zeros((2, 2, 2)))
    with pytest.raises(OptionError, match="each of the 2 answers"):
        decision([0, 1]).predict(P, losses=np.zeros((3, 3, 2)))
    with pytest.raises(LabelError, match="y holds '9'; the classes are '0', '1'"):
        decision([0, 1]).score(P, [0, 1, 9])
    with pytest.raises(OptionError, match="LinearSVC gives no probabilities"):
        tb.BayesDecision(LinearSVC()).fit(P, [0, 1, 0])
    with pytest.raises(NotFittedError):
        tb.BayesDecision(tb.GaussianNB()).predict(P)
    assert not hasattr(tb.BayesDecision(tb.GaussianNB()), "classes_")


# --- at home in scikit-learn -----------------------------------------------------------------------------------


def test_searched_piped_and_frozen() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    loss = {(1, 0): 20, (0, 1): 1, ("ask", ...): 0.3}  # 0 is malignant
    pipe = make_pipeline(StandardScaler(), tb.BayesDecision(tb.GaussianNB(), loss=loss))
    search = GridSearchCV(pipe, {"bayesdecision__estimator__var_smoothing": [1e-9, 0.3]}, cv=3, error_score="raise")
    search.fit(X, y)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    assert -1 < search.best_score_ < 0
    fitted = search.best_estimator_
    assert set(fitted.predict(X).tolist()) == {0, 1, "ask"}
    again = clone(fitted).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    inner = tb.GaussianNB().fit(X, y)
    frozen = tb.BayesDecision(FrozenEstimator(inner), loss=loss).fit(X[:2], y[:2])
    np.testing.assert_array_equal(frozen.predict_proba(X), inner.predict_proba(X))
    calibrated = CalibratedClassifierCV(tb.GaussianNB(), cv=3)
    model = tb.BayesDecision(calibrated, loss=loss).fit(X, y)
    assert model.bayes_risk(X) < 0.3
    frame = pd.DataFrame(X).rename(columns=str)
    assert tb.BayesDecision(tb.GaussianNB()).fit(frame, y).feature_names_in_.tolist() == frame.columns.tolist()


def test_better_answers_than_the_most_probable_class() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    loss = {(1, 0): 20, (0, 1): 1}
    found = {}
    for name, options in (("plain", {}), ("decided", {"loss": loss})):
        model = tb.BayesDecision(CalibratedClassifierCV(tb.GaussianNB(), cv=3), **options)
        scored = cross_validate(model, X, y, cv=5, scoring=lambda m, a, b: _cost(m.predict(a), b, loss))
        found[name] = scored["test_score"].mean()
    assert found["decided"] < 0.8 * found["plain"]


def _cost(answer: Any, truth: Any, loss: Any) -> float:
    return float(np.mean([loss.get((a, t), 0) for a, t in zip(answer.tolist(), truth.tolist(), strict=True)]))


def test_amounts_and_weights_are_routed() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=90)
    X = rng.normal(size=(90, 2)) + y[:, None]
    amount, w = rng.random(90) * 20, rng.random(90) + 0.5
    with sklearn.config_context(enable_metadata_routing=True):
        inner = tb.GaussianNB().set_fit_request(sample_weight=True)
        model = tb.BayesDecision(inner, loss={("look", ...): 5, ("pass", ...): 0}, amount_loss={("pass", 1): 1})
        model.set_score_request(amount=True, sample_weight=False).set_predict_request(amount=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        pipe.fit(X, y, sample_weight=w)
        np.testing.assert_allclose(pipe[-1].estimator_.class_count_.sum(), w.sum())
        low, high = (pipe.predict(X, amount=np.full(90, v)) for v in (1.0, 1e6))
        assert set(low) == {"pass"}
        assert (high == "look").mean() > 0.9
        found = GridSearchCV(model, {"loss": [model.loss, {("look", ...): 1, ("pass", ...): 0}]}, cv=3)
        found.fit(X, y, amount=amount, sample_weight=w)
        assert found.best_params_["loss"][("look", ...)] == 1
        each = cross_validate(model, X, y, params={"amount": amount, "sample_weight": w}, cv=3)
        assert (each["test_score"] < 0).all()
        whole = tb.BayesDecision(tb.GaussianNB().set_fit_request(sample_weight=False)).set_score_request(
            losses=True, sample_weight=True
        )
        losses = np.tile(1 - np.eye(2), (90, 1, 1))
        routed = cross_validate(whole, X, y, params={"losses": losses * 3, "sample_weight": np.ones(90)}, cv=3)
        plain = cross_validate(whole, X, y, cv=3)
        np.testing.assert_allclose(routed["test_score"], 3 * plain["test_score"])
        powered = tb.BayesDecision(Expansion().set_predict_proba_request(power=True), reject=0.3).fit(P, [0, 1, 0])
        assert powered.predict([[0.6, 0.4]] * 2, power=[1.0, 9.0]).tolist() == [-1, 0]
    plain = tb.BayesDecision(Expansion()).fit(P, [0, 1, 0], sample_weight=[1, 2, 3])  # routing off: straight through
    assert plain.estimator_.weight_ == [1, 2, 3]


def test_losses_of_rows_that_are_the_same_for_all() -> None:
    """By labels, as the loss of the model itself."""
    own = {("yes", "no"): 5.0, ("no", "yes"): 1.0}
    model = tb.BayesDecision(tb.GaussianNB(), own).fit([[1.0], [2.0], [3.0], [4.0]], ["no", "yes", "no", "yes"])
    X = [[0.0], [2.5], [9.0]]
    np.testing.assert_array_equal(model.conditional_risk(X, losses=own), model.conditional_risk(X))
    cheap = {("yes", "no"): 0.0, ("no", "yes"): 1.0}
    assert model.predict(X, losses=cheap).tolist() == ["yes"] * 3
