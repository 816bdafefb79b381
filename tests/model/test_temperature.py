"""One scalar by leave-one-out: the best one against a grid, every answer under it, and what becomes of it later."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.datasets import load_iris

import tallybayes as tb
from tallybayes import _core
from tallybayes.errors import ModelFileError, OptionError
from tallybayes.model import temperature
from tests.every_estimator import ESTIMATORS, LEARNED, labels
from tests.quick import examples

EVERY = {**ESTIMATORS, **LEARNED}
pytestmark = pytest.mark.filterwarnings("ignore")


def counterparts(n: int = 200, copies: int = 4) -> tuple[Any, Any]:
    """Columns that say the same: naive Bayes counts them one by one."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    x = y + rng.normal(size=n) * 1.2
    return np.column_stack([x + 0.05 * rng.normal(size=n) for _ in range(copies)]), np.array(["a", "b", "c"])[y]


def loss(prior: Any, L: Any, y: Any, w: Any, beta: float) -> float:
    return -float(w @ log_softmax(prior + beta * L, axis=1)[np.arange(len(y)), y])


# --- the scalar ----------------------------------------------------------------------------------------------------


@settings(max_examples=examples(25), deadline=None)
@given(seed=st.integers(0, 10**6), size=st.sampled_from([0.01, 1.0, 30.0, 3000.0]), K=st.integers(1, 4))
def test_the_best_temperature_is_the_best_of_a_grid(seed: int, size: float, K: int) -> None:
    rng = np.random.default_rng(seed)
    n = 30
    y, w = rng.integers(0, K, n), rng.choice([0.0, 0.5, 1.0, 3.0], n)
    prior = log_softmax(rng.normal(size=(n, K)), axis=1)
    L = rng.normal(size=(n, K)) * size
    L[np.arange(n), y] += size * rng.normal()
    L[rng.random((n, K)) < 0.1 * (np.arange(K) != y[:, None])] = -np.inf
    beta = temperature.best_temperature(prior, L, y, w)
    assert temperature.MIN_BETA <= beta <= temperature.MAX_BETA
    found = loss(prior, L, y, w, beta)
    grid = np.exp(np.linspace(np.log(temperature.MIN_BETA), np.log(temperature.MAX_BETA), 80))
    assert found <= min(loss(prior, L, y, w, b) for b in grid) * (1 + 1e-9) + 1e-9
    assert found <= loss(prior, L, y, w, 1.0)


def test_rows_that_do_not_inform_about_it() -> None:
    prior, y, w = np.log(np.full((3, 2), 0.5)), np.array([0, 1, 0]), np.ones(3)
    assert temperature.best_temperature(prior, np.zeros((3, 2)), y, w) == 1
    assert temperature.best_temperature(prior, np.full((3, 2), np.nan), y, w) == 1
    impossible = np.array([[-np.inf, 0.0], [0.0, 1.0], [1.0, 0.0]])
    assert (
        temperature.best_temperature(prior, impossible, y, w) == temperature.MAX_BETA
    )  # by the other two, which are right
    wrong = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    assert temperature.best_temperature(prior, wrong, y, w) == temperature.MIN_BETA


@settings(max_examples=examples(40), deadline=None)
@given(seed=st.integers(0, 10**6), n=st.sampled_from([0, 1, 7, 40, 1025]), K=st.integers(1, 5))
def test_the_sums_at_a_temperature(seed: int, n: int, K: int) -> None:
    rng = np.random.default_rng(seed)
    y, w = rng.integers(-1, K, n).astype(np.int32), rng.choice([0.0, 0.5, 1.0, 3.0], n)
    prior, L = log_softmax(rng.normal(size=(n, K)), axis=1), rng.normal(size=(n, K)) * 3
    L[rng.random((n, K)) < 0.1] = -np.inf
    L[rng.random((n, K)) < 0.01] = np.nan
    beta, expected, moved = float(rng.uniform(0.1, 3)), np.zeros(3), False
    for p, own, c, v in zip(prior, L, y, w, strict=True):
        if c < 0 or v == 0 or np.isnan(own).any() or not np.isfinite(own[c]):
            continue
        more = np.where(np.isfinite(own), own - own[c], 0.0)
        share = np.exp(np.where(np.isfinite(own), p + beta * more, -np.inf))
        share /= share.sum()
        mean = share @ more
        expected += v * np.array([-np.log(share[c]), mean, share @ more**2 - mean**2])
        moved |= bool((more != 0).any())
    rows = _core.TemperatureLoss(prior, L, y, w)
    assert rows.flat is not moved
    assert np.allclose(rows.at(beta), expected, rtol=1e-9, atol=1e-9)


# --- answers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(EVERY))
def test_every_answer_is_under_the_temperature(name: str) -> None:
    make, data = EVERY[name]
    rng = np.random.default_rng(3)
    X, y = data(rng, 45), labels(rng, 45)
    plain, model = make().fit(X, y), make().set_params(tempered=True).fit(X, y)
    start = plain.predictor_.offset
    likelihood = plain.predict_joint_log_proba(X) - start
    joint = start + model.temperature_ * likelihood
    np.testing.assert_allclose(model.predict_joint_log_proba(X), joint, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.predict_log_proba(X), log_softmax(joint, axis=1), rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(model.predict_proba(X), np.exp(log_softmax(joint, axis=1)), atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), model.classes_[np.argmax(model.predict_proba(X), axis=1)])
    np.testing.assert_array_equal(model.score_samples(X), plain.score_samples(X))  # p(x) is not of the classes
    given = [0.2, 0.3, 0.5]
    np.testing.assert_allclose(
        model.predict_log_proba(X, priors=given),
        log_softmax(np.log(given) + model.temperature_ * likelihood, axis=1),
        rtol=1e-9,
        atol=1e-7,
    )
    found = model.explain(X)
    np.testing.assert_allclose(found.log_joint, joint, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.probability, model.predict_proba(X), atol=1e-9)
    # no worse than without, by the rows themselves
    place = np.arange(45), np.searchsorted(model.classes_, y)
    np.testing.assert_array_equal(model.leave_one_out(X, y), model.loo_log_proba_)
    assert model.loo_score_ == pytest.approx(model.loo_log_proba_[place].mean())
    assert model.loo_score_ >= plain.leave_one_out(X, y)[place].mean()
    # without the temperature it is the model that was never tempered, bit for bit
    del model.temperature_
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert not hasattr(plain, "temperature_")


def test_redundant_columns_count_as_one() -> None:
    X, y = counterparts()
    one, four = tb.GaussianNB(tempered=True).fit(X[:, :1], y), tb.GaussianNB(tempered=True).fit(X, y)
    assert one.temperature_ == pytest.approx(1.0, abs=0.15)
    assert four.temperature_ == pytest.approx(0.25, abs=0.05)
    np.testing.assert_allclose(four.predict_proba(X), one.predict_proba(X[:, :1]), atol=0.05)


def test_linear_and_quadratic_forms() -> None:
    X, y = load_iris(return_X_y=True)
    lda = tb.LinearDiscriminantAnalysis(tempered=True).fit(X, y)
    assert lda.temperature_ != 1
    np.testing.assert_allclose(lda.logistic().predict_proba(X), lda.predict_proba(X), atol=1e-9)
    scores = X @ lda.coef_.T + lda.intercept_
    np.testing.assert_allclose(log_softmax(scores, axis=1), lda.predict_log_proba(X), atol=1e-8)
    np.testing.assert_allclose(scores, lda.decision_function(X), atol=1e-8)
    a, b = lda.boundary(0, 2)
    P = lda.predict_log_proba(X)
    np.testing.assert_allclose(X @ a + b, P[:, 0] - P[:, 2], atol=1e-8)
    for model in (tb.QuadraticDiscriminantAnalysis(tempered=True), tb.GaussianNB(tempered=True)):
        A, linear, c = model.fit(X, y).quadratic()
        found = np.einsum("ni,kij,nj->nk", X, A, X) + X @ linear.T + c
        np.testing.assert_allclose(found, model.predict_joint_log_proba(X), atol=1e-6)
    qda = tb.QuadraticDiscriminantAnalysis(tempered=True).fit(X, y)
    np.testing.assert_allclose(log_softmax(qda.decision_function(X), axis=1), qda.predict_log_proba(X), atol=1e-8)


def test_one_row_at_a_time() -> None:
    X, y = counterparts()
    rows = [dict(zip("pqrs", row, strict=True)) for row in X.tolist()]
    model = tb.NaiveBayes(tempered=True).fit(rows, y)
    for _ in range(2):
        said = list(model.predict_proba_one(rows[0]).values())
        np.testing.assert_allclose(said, model.predict_proba(rows[:1])[0], atol=1e-12)
    model.learn_one(rows[0], y[0]).learn_one(rows[1], y[1])
    assert not hasattr(model, "loo_log_proba_")
    np.testing.assert_allclose(
        list(model.predict_proba_one(rows[0]).values()), model.predict_proba(rows[:1])[0], atol=1e-12
    )
    fresh = tb.NaiveBayes(tempered=True)
    for row, label in zip(rows[:30], y[:30], strict=True):
        fresh.learn_one(row, label)
    assert fresh.temperature_ == 1  # one row chose it
    assert not hasattr(fresh, "loo_log_proba_")
    model.temper(rows, y)  # closes the fast path: what it learns next is not in these numbers
    model.learn_one(rows[2], y[2])
    assert not hasattr(model, "loo_log_proba_")


def test_a_row_that_every_class_rules_out_has_the_prior() -> None:
    X, y = [["u"], ["u"], ["v"], ["v"], ["v"]], ["a", "a", "b", "b", "b"]
    model = tb.CategoricalNB(alpha=0, unseen="other").fit(X, y)
    model.temperature_ = 0.3
    np.testing.assert_allclose(model.predict_proba([["w"]]), [[0.4, 0.6]])


# --- what becomes of it --------------------------------------------------------------------------------------------


def test_it_stays_while_rows_come_and_go() -> None:
    X, y = counterparts()
    for change in (
        lambda m: m.partial_fit(X[100:], y[100:]),
        lambda m: m.forget(X[:10], y[:10]),
        lambda m: m.merge(tb.GaussianNB().fit(X[:10], y[:10])),
        lambda m: m.decay(0.9),
    ):
        model = tb.GaussianNB(tempered=True).fit(X[:100], y[:100])
        chosen = model.temperature_
        assert model.loo_log_proba_.shape == (100, 3)
        change(model)
        assert model.temperature_ == chosen
        assert not hasattr(model, "loo_log_proba_")
        assert not hasattr(model, "loo_score_")
    whole = tb.GaussianNB().fit(X, y).temper(X, y)
    assert whole.temperature_ == tb.GaussianNB(tempered=True).fit(X, y).temperature_
    assert whole.loo_score_ == tb.GaussianNB(tempered=True).fit(X, y).loo_score_
    assert not hasattr(whole.fit(X, y), "temperature_")  # tempered is False


def test_the_first_rows_of_a_stream_choose_it() -> None:
    X, y = counterparts()
    model = tb.GaussianNB(tempered=True).partial_fit(X[:90], y[:90])
    assert model.temperature_ == tb.GaussianNB(tempered=True).fit(X[:90], y[:90]).temperature_


def test_copies_priors_and_pickles() -> None:
    X, y = counterparts()
    model = tb.GaussianNB(tempered=True).fit(X, y)
    other = model.with_prior("uniform")
    assert other.temperature_ == model.temperature_
    assert not hasattr(other, "loo_log_proba_")
    np.testing.assert_allclose(other.predict_proba(X), model.predict_proba(X, priors="uniform"), atol=1e-12)
    shifted = model.adapt_prior(X[y != "a"])
    assert shifted.model.temperature_ == model.temperature_
    assert shifted.prior[0] < 0.2
    counterpart = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(counterpart.predict_proba(X), model.predict_proba(X))
    assert not hasattr(clone(model), "temperature_")


@pytest.mark.parametrize("name", ["GaussianNB", "NaiveBayes mixed", "TAN", "AODE words", "LinearDiscriminantAnalysis"])
def test_a_file_keeps_the_temperature(name: str, tmp_path: Path) -> None:
    make, data = EVERY[name]
    rng = np.random.default_rng(3)
    X, y = data(rng, 45), labels(rng, 45)
    model = make().set_params(tempered=True).fit(X, y)
    tb.save(model, tmp_path / "m.tb")
    counterpart = tb.load(tmp_path / "m.tb")
    assert counterpart.temperature_ == model.temperature_
    assert counterpart.tempered is True
    np.testing.assert_array_equal(counterpart.predict_proba(X), model.predict_proba(X))
    assert not hasattr(counterpart, "loo_log_proba_")  # of rows, not of the model


@pytest.mark.parametrize("bad", [0.0, -1.0, 1e9, float("nan"), "hot"])
def test_a_file_with_a_temperature_that_is_none(bad: Any, tmp_path: Path) -> None:
    X, y = counterparts(30)
    model = tb.GaussianNB(tempered=True).fit(X, y)
    model.temperature_ = bad
    with pytest.raises(ModelFileError, match="temperature"):
        tb.save(model, tmp_path / "m.tb")


def test_rows_without_labels() -> None:
    X, y = counterparts()
    some = np.where(np.arange(len(y)) % 2 == 0, y.astype(object), None)
    plain = tb.SemiSupervised(tb.GaussianNB(), max_iter=20).fit(X, some)
    model = tb.SemiSupervised(tb.GaussianNB(tempered=True), max_iter=20).fit(X, some)
    np.testing.assert_array_equal(model.loglik_, plain.loglik_)  # what is climbed is the likelihood itself
    assert model.estimator_.temperature_ < 0.5
    again = plain.estimator_.copy().temper(X[::2], y[::2])
    assert model.estimator_.temperature_ == pytest.approx(again.temperature_)


def test_several_outputs() -> None:
    X, y = counterparts(60)
    Y = np.column_stack([y, np.where(X[:, 0] > 1, "high", "low")])
    model = tb.BayesNetwork(targets=["t", "u"], tempered=True).fit(X, Y)
    assert model.loo_log_proba_.shape == (60, 6)
    np.testing.assert_array_equal(model.leave_one_out(X, Y), model.loo_log_proba_)
    np.testing.assert_allclose(model.predict_joint_proba(X).sum(axis=(1, 2)), 1.0)


def test_a_nomogram_adds_up_under_the_temperature() -> None:
    pytest.importorskip("matplotlib")
    from tallybayes.plots.scales import make_scales

    X, y = counterparts(100, 2)
    model = tb.NaiveBayes(tempered=True).fit(X, y)
    made, start = make_scales(model, 0, 2, None, {"x0": X[0, 0], "x1": X[0, 1]})
    joint = model.predict_joint_log_proba(X[:1])[0]
    assert start + sum(s.mark for s in made) == pytest.approx(joint[0] - joint[2])


@pytest.mark.parametrize("bad", ["yes", 1, None])
def test_it_is_true_or_false(bad: Any) -> None:
    X, y = counterparts(30)
    for make in {type(make()) for make, _ in EVERY.values()}:
        with pytest.raises(OptionError, match="tempered must be True or False"):
            make(tempered=bad).fit(np.abs(X), y)


def test_attributes_of_a_temperature_explain_what_to_turn_on() -> None:
    X, y = load_iris(return_X_y=True)
    model = tb.GaussianNB().fit(X, y)
    for name in ("loo_log_proba_", "loo_score_", "temperature_"):
        assert not hasattr(model, name)
        with pytest.raises(
            AttributeError, match=rf"This GaussianNB has no {name}: it is there after fit with tempered=True"
        ):
            getattr(model, name)
        assert not hasattr(tb.GaussianNB, name)
    tempered = tb.GaussianNB(tempered=True).fit(X, y)
    assert tempered.loo_log_proba_.shape == (150, 3)
    with pytest.raises(AttributeError, match="until other rows are learned"):
        _ = tempered.partial_fit(X[:3], y[:3]).loo_log_proba_
