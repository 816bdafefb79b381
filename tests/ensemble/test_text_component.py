"""Texts in a BayesClassifier: a part of its own, smoothed and weighed by leave-one-out."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tallybayes import BayesClassifier, NaiveBayes, compare_models, load, save
from tallybayes.distributions import Words
from tallybayes.ensemble import text_component
from tallybayes.errors import OptionError

FOR = ["free", "money", "win", "prize", "cash", "offer", "click"]
AGAINST = ["lunch", "noon", "meeting", "minutes", "see", "tomorrow", "report"]


def table(n: int, seed: int = 0) -> tuple[list[dict[str, Any]], list[str]]:
    """A number and a text that both tell the class, a category that does not."""
    rng = np.random.default_rng(seed)
    rows, y = [], []
    for _ in range(n):
        spam = bool(rng.random() < 0.4)
        likely, rare = (FOR, AGAINST) if spam else (AGAINST, FOR)
        words = [str(rng.choice(likely if rng.random() < 0.6 else rare)) for _ in range(8)]
        body = " ".join([*words, f"word{rng.integers(10**6)}"])
        rows.append({"size": float(rng.normal(3 + spam)), "body": body, "day": str(rng.choice(["mo", "tu"]))})
        y.append("spam" if spam else "ham")
    return rows, y


def loss(model: Any, rows: Any, y: list[str]) -> float:
    p = model.predict_proba(rows)
    return float(-np.mean(np.log(p[np.arange(len(y)), np.searchsorted(model.classes_, y)])))


@pytest.fixture(scope="module")
def fitted() -> BayesClassifier:
    return BayesClassifier("fast").fit(*table(400))


def test_text_is_a_part_with_a_weight(fitted: BayesClassifier) -> None:
    assert fitted.schema_.kinds == ("real", "text", "categorical")
    (weight,) = fitted.weights_["text"].values()
    assert 0 < weight < 1.5
    assert list(fitted.weights_["networks"]) == ["size", "day"]
    assert "text body: weight" in fitted.summary()


def test_both_together_are_better_than_either(fitted: BayesClassifier) -> None:
    rows, y = table(600, seed=1)
    together = loss(fitted, rows, y)
    for keys in (["body"], ["size", "day"]):
        learned, labels = table(400)
        alone = BayesClassifier("fast").fit([{k: r[k] for k in keys} for r in learned], labels)
        assert together < loss(alone, [{k: r[k] for k in keys} for r in rows], y)


def test_numbers_of_noise_do_not_count_beside_a_text() -> None:
    rng = np.random.default_rng(2)
    learned, y = table(1500)
    rows = [{"body": r["body"], **{f"x{j}": float(rng.normal()) for j in range(6)}} for r in learned]
    model = BayesClassifier("fast").fit(rows, y)
    alone = BayesClassifier("fast").fit([{"body": r["body"]} for r in rows], y)
    assert all(w == 0 for w in model.weights_["networks"].values())
    asked, _ = table(50, seed=3)
    far = [{"body": r["body"], "x0": 9.0} for r in asked]  # with missing values too
    expected = alone.predict_proba([{"body": r["body"]} for r in asked])
    np.testing.assert_allclose(model.predict_proba(far), expected, atol=3e-3)  # the text was weighed twice


def test_a_text_of_noise_does_not_count_beside_numbers() -> None:
    rng = np.random.default_rng(4)
    learned, y = table(300)
    bodies = [" ".join(f"w{k}" for k in rng.integers(0, 500, 8)) for _ in learned]
    rows = [{"body": b, "size": r["size"], "day": r["day"]} for b, r in zip(bodies, learned, strict=True)]
    model = BayesClassifier("fast").fit(rows, y)
    assert model.weights_["text"] == {"body": 0.0}
    alone = BayesClassifier("fast").fit([{"size": r["size"], "day": r["day"]} for r in rows], y)
    asked = [{"size": r["size"], "day": r["day"]} for r in rows]
    np.testing.assert_allclose(model.predict_proba(rows), alone.predict_proba(asked))


def test_the_balance_is_the_best_by_leave_one_out() -> None:
    rng = np.random.default_rng(5)
    y, w = rng.integers(0, 2, 400), rng.choice([0.5, 1.0, 2.0], 400)
    prior = np.log(np.full((400, 2), 0.5))
    known, says = (rng.normal(size=(400, 2)) + size * (y[:, None] == [0, 1]) for size in (1.0, 1.5))
    trust, belief = text_component._balance(prior, 3 * known, says / 2, y, w)

    def left(a: float, b: float) -> float:
        joint = prior + a * 3 * known + b * says / 2
        log = joint - np.logaddexp(joint[:, :1], joint[:, 1:])
        return float(-(w * log[np.arange(400), y]).sum() + np.log(a) ** 2 / 2 + np.log(b) ** 2 / 2)

    best = left(trust, belief)
    for a, b in ((1.05, 1.0), (0.95, 1.0), (1.0, 1.05), (1.0, 0.95), (1.05, 0.95), (0.95, 1.05)):
        assert best < left(a * trust, b * belief)


def test_weight_is_the_best_by_leave_one_out() -> None:
    """No weight nearby tells the rows better, each left out by hand."""
    learned, y = table(60)
    bodies = [r["body"] for r in learned]
    model = BayesClassifier("fast").fit(bodies, y)
    (term,) = model.fitted_.terms
    assert isinstance(term.distribution, Words)
    chosen, alpha = term.distribution.weight, term.distribution.alpha

    def left(weight: float) -> float:
        total = float(np.log(weight)) ** 2 / 2  # the pull towards 1
        for i in range(60):
            rest = [j for j in range(60) if j != i]
            prior = np.bincount([int(y[j] == "spam") for j in rest]) + 0.5
            less = NaiveBayes(
                Words(ngrams=(1, 2), alpha=alpha, weight=weight, length_normalized=True), priors=prior / prior.sum()
            )
            total += loss(less.fit([bodies[j] for j in rest], [y[j] for j in rest]), [bodies[i]], [y[i]])
        return total

    best = left(chosen)
    assert best <= left(chosen * 1.1) + 1e-9
    assert best <= left(chosen / 1.1) + 1e-9


def test_learning_by_adding(fitted: BayesClassifier) -> None:
    rows, y = table(50, seed=2)
    again = fitted.copy().partial_fit(rows, y)
    assert len(again.schema_.levels[1]) > len(fitted.schema_.levels[1])
    asked = table(20, seed=3)[0]
    np.testing.assert_allclose(again.forget(rows, y).predict_proba(asked), fitted.predict_proba(asked), atol=1e-9)
    other = fitted.empty().partial_fit(rows, y)
    merged = fitted.copy().merge(other).predict_proba(asked)
    np.testing.assert_allclose(merged, fitted.copy().partial_fit(rows, y).predict_proba(asked), atol=1e-9)


def test_files_pickles_and_explanations(fitted: BayesClassifier, tmp_path: Path) -> None:
    rows = table(5, seed=4)[0]
    save(fitted, tmp_path / "model")
    for counterpart in (load(tmp_path / "model"), pickle.loads(pickle.dumps(fitted))):
        assert np.array_equal(counterpart.predict_proba(rows), fitted.predict_proba(rows))
    found = fitted.explain(rows)
    np.testing.assert_allclose(found.probability, fitted.predict_proba(rows), atol=1e-12)
    assert "body '" in found.text(0)
    assert fitted.predict_proba_one(rows[0])["spam"] == fitted.predict_proba(rows[:1])[0, 1]
    assert len(fitted.network(0).predict(rows)) == 5


def test_nothing_but_text() -> None:
    rows, y = table(100)
    model = BayesClassifier("fast").fit([r["body"] for r in rows], y)
    assert model.score([r["body"] for r in rows], y) > 0.9
    assert list(model.weights_) == ["text"]
    assert "weight" in model.summary()
    with pytest.raises(OptionError, match="no networks"):
        model.network()


def test_compare_enters_models_that_read_text() -> None:
    board = compare_models(*table(120), folds=2)
    names = {e.name for e in board.entries if not e.error}
    assert {"BayesClassifier", "NaiveBayes", "logistic regression"} <= names
    assert "TAN" not in names
