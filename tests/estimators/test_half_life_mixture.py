"""half_life='auto': a fixed-share mixture of four half-lives, against the same mixture made by hand of four models."""

from __future__ import annotations

import io
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import log_loss

import tallybayes as tb
from tallybayes.engines.sql import to_sql
from tallybayes.errors import LabelError, MergeError, OptionError, TableError
from tallybayes.estimators.half_life_mixture import HALF_LIVES, MIN_LIKELIHOOD, SHARE
from tests.estimators.test_half_life import FADING, near
from tests.every_estimator import LEARNED, labels

Stream = list[tuple[dict[str, Any], Any]]


def turning(n: int, at: int, seed: int = 0) -> Stream:
    """The class depends on a number and a level; the other way round from row `at` on."""
    rng = np.random.default_rng(seed)
    found: Stream = []
    for i in range(n):
        y = int(rng.integers(0, 2))
        side = y if i < at else 1 - y
        level = "red" if rng.random() < 0.3 + 0.4 * side else str(rng.choice(["green", "blue"]))
        found.append(({"x": round(float(rng.normal(side)), 4), "color": level}, y))
    return found


def model(**given: Any) -> tb.NaiveBayes:
    return tb.NaiveBayes("gaussian", schema={"x": "real", "color": "categorical"}, unseen="other", **given)


def learned(stream: Stream, **given: Any) -> tb.NaiveBayes:
    made = model(**{"half_life": "auto", **given})
    for row, y in stream:
        made.learn_one(row, y)
    return made


def prequential_loss(one: Any, stream: Stream) -> float:
    losses = []
    for row, y in stream:
        if one.is_fitted:
            losses.append(-np.log(max(one.predict_proba_one(row).get(y, 0.0), 1e-15)))
        one.learn_one(row, y)
    return float(np.mean(losses))


class ByHand:
    """Four models of one half-life each, and their weights."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.models = [make().set_params(half_life=None if np.isinf(h) else h) for h in HALF_LIVES]
        self.weights = np.full(4, 0.25)

    def proba(self, row: dict[str, Any]) -> dict[Any, float]:
        each = [m.predict_proba_one(row) for m in self.models]
        return {c: float(sum(w * p[c] for w, p in zip(self.weights, each, strict=True))) for c in each[0]}

    def learn(self, row: dict[str, Any], y: Any) -> None:
        if self.models[0].is_fitted:
            p = np.array([m.predict_proba_one(row).get(y, 0.0) for m in self.models])
            self.weights = self.weights * np.maximum(p, MIN_LIKELIHOOD)
            self.weights = (1 - SHARE) * self.weights / self.weights.sum() + SHARE / 4
        for m in self.models:
            m.learn_one(row, y)


def test_it_is_a_fixed_share_mixture_of_four_models() -> None:
    by_hand, one = ByHand(model), model(half_life="auto")
    for i, (row, y) in enumerate(turning(900, at=600)):
        if i >= 2:
            assert one.predict_proba_one(row) == pytest.approx(by_hand.proba(row), rel=1e-7, abs=1e-9)
        one.learn_one(row, y)
        by_hand.learn(row, y)
    assert one.one_row == "compiled"
    assert list(one.half_life_weights_.values()) == pytest.approx(by_hand.weights.tolist(), rel=1e-6)
    assert one.half_life_ == 100
    for h, other in zip(HALF_LIVES, by_hand.models, strict=True):
        near(one.at_half_life(h), other, rtol=1e-7)
    asked = [row for row, _ in turning(20, at=0, seed=1)]
    expected = [list(by_hand.proba(row).values()) for row in asked]
    np.testing.assert_allclose(one.predict_proba(asked), expected, rtol=1e-7)


@pytest.mark.parametrize("name", [name for name in FADING if name != "NaiveBayes real"])  # faded rows choose others
def test_every_estimator_that_fades_takes_it(name: str) -> None:
    """In batches: rows of a block are weighed by what the rows before the block say."""
    make, data = FADING[name]
    rng = np.random.default_rng(0)
    X, y = data(rng, 60), labels(rng, 60)
    one = make().set_params(half_life="auto")
    parts = [make().set_params(half_life=None if np.isinf(h) else h) for h in HALF_LIVES]
    for m in (one, *parts):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            m.partial_fit(X[:40], y[:40])
    weights = np.full(4, 0.25)
    at = [[list(m.classes_).index(c) for c in y[40:]] for m in parts]
    p = np.array([m.predict_proba(X[40:])[np.arange(20), a] for m, a in zip(parts, at, strict=True)])
    for column in np.maximum(p, MIN_LIKELIHOOD).T:
        weights = weights * column
        weights = (1 - SHARE) * weights / weights.sum() + SHARE / 4
    for m in (one, *parts):
        m.partial_fit(X[40:], y[40:])
    expected = np.tensordot(weights, np.stack([m.predict_proba(X) for m in parts]), axes=1)
    np.testing.assert_allclose(one.predict_proba(X), expected, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(np.exp(one.predict_log_proba(X)), one.predict_proba(X), rtol=1e-12)
    np.testing.assert_array_equal(one.predict(X), one.classes_[np.argmax(one.predict_proba(X), axis=1)])
    assert one.score(X, y) == pytest.approx(np.mean(one.predict(X) == np.asarray(y)))


@pytest.mark.parametrize("name", ["SPODE", "TAN", "TAN mixed, real", "KDB"])
def test_what_learns_its_structure_has_one_for_all_half_lives(name: str) -> None:
    make, data = LEARNED[name]
    rng = np.random.default_rng(0)
    X, y = data(rng, 90), labels(rng, 90)
    one = make().set_params(half_life="auto").fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    mixed = np.zeros((90, 3))
    for h, weight in one.half_life_weights_.items():
        alone = make().fit(X[:50], y[:50]).empty().set_params(half_life=h).partial_fit(X, y)
        near(one.at_half_life(h), alone, rtol=1e-7)
        mixed += weight * alone.predict_proba(X)
    np.testing.assert_allclose(one.predict_proba(X), mixed, rtol=1e-6, atol=1e-12)
    again = tb.from_bytes(tb.to_bytes(one))
    np.testing.assert_array_equal(again.predict_proba(X), one.predict_proba(X))
    assert one.one_row != "compiled"


def test_dir_passes_over_what_a_mixture_does_not_have() -> None:
    found = learned(turning(20, at=20))
    assert "fit" in dir(found)
    assert "predictor_" not in dir(found)


@pytest.mark.parametrize("name", list(FADING))
def test_a_half_life_without_end_is_none_to_the_bit(name: str) -> None:
    make, data = FADING[name]
    rng = np.random.default_rng(0)
    X, y = data(rng, 40), labels(rng, 40)
    one, other = make().fit(X, y), make().set_params(half_life=float("inf")).fit(X, y)
    np.testing.assert_array_equal(one.predict_log_proba(X), other.predict_log_proba(X))


def test_single_rows_without_end_too() -> None:
    one, other = learned(turning(200, at=100), half_life=None), learned(turning(200, at=100), half_life=float("inf"))
    asked = [row for row, _ in turning(20, at=0, seed=1)]
    np.testing.assert_array_equal(one.predict_log_proba(asked), other.predict_log_proba(asked))
    assert other.one_row == "compiled"
    assert other.half_life_ == float("inf")


def test_without_drift_it_is_within_one_percent_of_the_batch_model() -> None:
    stream, test = turning(4000, at=4000), turning(2000, at=2000, seed=1)
    X, y = [row for row, _ in test], [label for _, label in test]
    batch = model().fit([row for row, _ in stream], [label for _, label in stream])
    assert log_loss(y, learned(stream).predict_proba(X)) < 1.01 * log_loss(y, batch.predict_proba(X))


def shifted(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 6)) + y[:, None] * 0.5, y


def sizes(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    X, y = shifted(rng, n)
    return np.exp(X), y


def counts(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    y = rng.integers(0, 2, n)
    return rng.poisson(2 + 0.6 * y[:, None], (n, 6)).astype(float), y


def equal_levels(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Whether two of eight categories are equal decides."""
    X = rng.integers(0, 4, (n, 8))
    y = np.where(rng.random(n) < 0.2, rng.integers(0, 2, n), X[:, 0] == X[:, 1])
    return np.array(list("abcd"), dtype=object)[X], y


STILL: dict[str, tuple[Callable[[], Any], Callable[[np.random.Generator, int], tuple[Any, Any]]]] = {
    "numbers": (tb.GaussianNB, shifted),
    "bins": (lambda: tb.NaiveBayes("mdl"), shifted),
    "kernel densities": (tb.KernelNB, shifted),
    "log-Gaussians": (lambda: tb.NaiveBayes("log-gaussian"), sizes),
    "counts": (tb.PoissonNB, counts),
    "words": (tb.MultinomialNB, counts),
    "categories": (tb.NaiveBayes, equal_levels),
    "AODE": (tb.AODE, equal_levels),
    "TAN": (tb.TAN, equal_levels),
    "KDB": (tb.KDB, equal_levels),
    "LDA": (tb.LinearDiscriminantAnalysis, shifted),
    "QDA": (tb.QuadraticDiscriminantAnalysis, shifted),
}


@pytest.mark.parametrize("kind", STILL)
def test_without_drift_every_kind_is_within_one_percent_of_the_batch_model(kind: str) -> None:
    make, data = STILL[kind]
    X, y = data(np.random.default_rng(1), 6000)
    batch, auto = (make().set_params(half_life=h).fit(X[:4000], y[:4000]) for h in (None, "auto"))
    loss, least = (log_loss(y[4000:], m.predict_proba(X[4000:])) for m in (auto, batch))
    assert loss < 1.01 * least


def test_it_follows_an_abrupt_drift() -> None:
    stream = turning(3000, at=1500)
    auto, never = prequential_loss(model(half_life="auto"), stream), prequential_loss(model(), stream)
    best = min(prequential_loss(model(half_life=h), stream) for h in HALF_LIVES[1:])
    assert auto < 0.85 * never
    assert auto < best + 0.02


@pytest.mark.parametrize("way", ["pickle", "file", "copy"])
def test_what_is_kept_goes_on_alike(way: str) -> None:
    stream = turning(500, at=300)
    one = learned(stream[:400])
    if way == "file":
        file = io.BytesIO()
        tb.save(one, file)
        file.seek(0)
        other: Any = tb.load(file)
    else:
        other = pickle.loads(pickle.dumps(one)) if way == "pickle" else one.copy()
    assert other.half_life_weights_ == one.half_life_weights_
    for row, y in stream[400:]:
        one.learn_one(row, y)
        other.learn_one(row, y)
    row = stream[0][0]
    assert other.predict_proba_one(row) == pytest.approx(one.predict_proba_one(row), rel=1e-9)
    assert other.half_life_weights_ == pytest.approx(one.half_life_weights_, rel=1e-9)


def test_merging_adds_the_statistics_of_each_half_life() -> None:
    one, two = learned(turning(300, at=300)), learned(turning(400, at=200, seed=1))
    logs = np.mean([np.log(list(m.half_life_weights_.values())) for m in (one, two)], axis=0)
    sums = {h: one.at_half_life(h).class_count_ + two.at_half_life(h).class_count_ for h in HALF_LIVES}
    for merged in (tb.merge_all([one, two]), one.merge(two)):
        for h in HALF_LIVES:
            np.testing.assert_allclose(merged.at_half_life(h).class_count_, sums[h], rtol=1e-12)
        found = np.array(list(merged.half_life_weights_.values()))
        np.testing.assert_allclose(found, np.exp(logs) / np.exp(logs).sum(), rtol=1e-9)
    with pytest.raises(MergeError, match="half_life='auto'"):
        one.merge(learned(turning(50, at=50), half_life=100))


def test_forgetting_leaves_nothing_of_the_row_at_any_half_life() -> None:
    stream = turning(300, at=300)
    one, never = learned(stream), learned(stream[:200] + stream[201:], half_life=None)
    weights, sizes = one.half_life_weights_, {h: one.at_half_life(h).class_count_.sum() for h in HALF_LIVES[1:]}
    one.forget_one(*stream[200])
    near(one.at_half_life(float("inf")), never)
    for h in HALF_LIVES[1:]:
        share = min(1.0, sizes[h] / 299)
        np.testing.assert_allclose(one.at_half_life(h).class_count_, never.class_count_ * share, rtol=1e-9)
    assert one.half_life_weights_ == weights
    one.learn_one(*stream[200])
    assert one.class_count_.sum() == 300


def test_a_plan_of_it_has_no_rows_at_any_half_life() -> None:
    stream = turning(120, at=60)
    X, y = [row for row, _ in stream], [label for _, label in stream]
    plan = learned(stream).empty()
    one, other = plan.copy().partial_fit(X, y), model(half_life="auto").fit(X, y)
    assert one.half_life_weights_ == other.half_life_weights_
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-12)
    assert "NaiveBayes" in one._repr_html_()


def test_decay_scales_every_half_life() -> None:
    one = learned(turning(300, at=300))
    before = {h: one.at_half_life(h).class_count_ for h in HALF_LIVES}
    one.decay(0.25)
    for h in HALF_LIVES:
        np.testing.assert_allclose(one.at_half_life(h).class_count_, before[h] * 0.25, rtol=1e-12)


def test_new_classes_and_levels() -> None:
    one = learned(turning(200, at=200))
    for i in range(300):
        one.learn_one({"x": 9.0 + i % 3, "color": "purple"}, 2)
    assert one.predict_one({"x": 9.0, "color": "purple"}) == 2
    assert one.predict_proba([{"x": 0.1, "color": "mauve"}, {}]).shape == (2, 3)
    for h in HALF_LIVES:
        assert one.at_half_life(h).schema_ == one.schema_


def test_the_half_life_may_change_on_the_way() -> None:
    stream = turning(400, at=400)
    one = learned(stream[:200])
    one.set_params(half_life=None)
    for row, y in stream[200:300]:
        one.learn_one(row, y)
    near(one, learned(stream[:300], half_life=None))
    one.set_params(half_life="auto")  # the others start from all rows
    assert set(one.half_life_weights_.values()) == {0.25}
    for row, y in stream[300:]:
        one.learn_one(row, y)
    near(one.at_half_life(float("inf")), learned(stream, half_life=None))
    assert one.at_half_life(100).class_count_.sum() < 150


def test_a_class_that_has_faded_away_comes_back() -> None:
    one = model(half_life="auto")
    for i in range(3):
        one.learn_one({"x": float(i), "color": "red"}, i % 2)
    one.decay(1e-200).decay(1e-49)
    for _ in range(450):
        one.learn_one({"x": 1.0, "color": "red"}, 1)
    one.learn_one({"x": 0.0, "color": "red"}, 0)
    assert np.isfinite(list(one.predict_proba_one({"x": 0.5, "color": "red"}).values())).all()


def test_what_fails_changes_nothing() -> None:
    one = learned(turning(150, at=100))
    before = {h: one.at_half_life(h).class_count_.tolist() for h in HALF_LIVES}
    with pytest.raises(TableError):
        one.learn_one({"x": float("inf"), "color": "red"}, 1)
    with pytest.raises(LabelError):
        one.partial_fit([{"x": 1.0, "color": "red"}], [None])
    assert {h: one.at_half_life(h).class_count_.tolist() for h in HALF_LIVES} == before


NEEDS_ONE: dict[str, Callable[[Any, Any, Any], object]] = {
    "explain": lambda m, X, _: m.explain(X),
    "sample": lambda m, *_: m.sample(3),
    "leave_one_out": lambda m, X, y: m.leave_one_out(X, y),
    "temper": lambda m, X, y: m.temper(X, y),
    "to_json": lambda m, *_: tb.export.to_json(m),
    "to_sql": lambda m, *_: to_sql(m, "sqlite", "t"),
    "to_onnx": lambda m, *_: tb.export.to_onnx(m),
    "to_js": lambda m, *_: tb.export.to_js(m),
    "explain the model": lambda m, *_: m.explain(),
    "log_likelihood": lambda m, X, y: m.log_likelihood(X, y),
    "describe": lambda m, *_: m.describe("x"),
    "predictor_": lambda m, *_: m.predictor_,
}


@pytest.mark.parametrize("what", list(NEEDS_ONE))
def test_what_needs_one_set_of_parameters_is_refused_and_done_at_one_half_life(what: str) -> None:
    stream = turning(60, at=60)
    X, y = [row for row, _ in stream], [label for _, label in stream]
    one = learned(stream)
    with pytest.raises(OptionError, match=r"half_life='auto'.*at_half_life\(\)"):
        NEEDS_ONE[what](one, X, y)
    if what != "to_onnx":  # whose package may not be there
        NEEDS_ONE[what](one.at_half_life(), X, y)


def test_other_refusals() -> None:
    with pytest.raises(OptionError, match="tempered"):
        model(half_life="auto", tempered=True).fit([{"x": 1.0}], [0])
    with pytest.raises(OptionError, match="order"):
        model(half_life="auto").plan([{"x": 1.0, "color": "red"}], [0])
    one = learned(turning(30, at=30))
    with pytest.raises(OptionError, match="rows must be one of inf, 10000, 1000, 100; got 7"):
        one.at_half_life(7)
    with pytest.raises(OptionError, match="at_half_life is for half_life='auto'"):
        learned(turning(30, at=30), half_life=None).at_half_life()
    with pytest.raises(AttributeError, match="half_life='auto'"):
        _ = learned(turning(30, at=30), half_life=5).half_life_weights_
