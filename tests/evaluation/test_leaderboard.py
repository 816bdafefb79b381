"""compare_models: the leaderboard, its contestants and its advice."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB

import tallybayes as tb
from tallybayes.datasets import load_watermelon
from tallybayes.errors import LabelError, OptionError, TallybayesError
from tallybayes.evaluation.comparison import TEMPERED, _figure
from tallybayes.evaluation.leaderboard import CONTESTANTS, Contestant, Entry
from tallybayes.evaluation.scores import Scores

RNG = np.random.default_rng(0)
Y = RNG.integers(2, size=200)
X = RNG.standard_normal((200, 3)) + Y[:, None]


def entry(found: tb.evaluation.Comparison, name: str) -> dict[str, float]:
    return next(e for e in found.to_dict()["models"] if e["name"] == name)


def test_large_figures_do_not_run_into_each_other() -> None:
    shown = [_figure(v, 7) for v in (0.5, 12.34567, 1031.17, 123456.7, 1.5e9)]
    assert shown == ["0.5000", "12.3457", "1031.17", "123457", "2e+09"]
    assert [_figure(v, 6) for v in (0.0123, 10.5, 1031.17)] == ["0.0123", "10.500", "1031.2"]


def test_the_same_numbers_as_scikit_learn_gives() -> None:
    found = tb.compare_models(X, Y, folds=4)
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    P = cross_val_predict(GaussianNB(), X, Y, cv=cv, method="predict_proba")
    ours = entry(found, "NaiveBayes")
    assert ours["accuracy"] == np.mean(P.argmax(axis=1) == Y)
    assert ours["log_loss"] == pytest.approx(-np.log(P[np.arange(200), Y]).mean(), rel=1e-6)
    share = -np.log(np.bincount(Y) / 200)[Y].mean()
    assert entry(found, "largest class")["log_loss"] == pytest.approx(share, abs=0.01)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    P = cross_val_predict(LogisticRegression(), Z, Y, cv=cv, method="predict_proba")
    assert entry(found, "logistic regression")["log_loss"] == pytest.approx(-np.log(P[np.arange(200), Y]).mean(), 0.01)


def test_discriminants_enter_where_all_columns_are_numbers() -> None:
    names = {e.name for e in tb.compare_models(X, Y, folds=2).entries}
    assert names == {c.name for c in CONTESTANTS}
    mixed = {e.name for e in tb.compare_models(*load_watermelon(), folds=2).entries}
    assert "NaiveBayes, mdl cuts" in mixed
    assert not any("Discriminant" in name for name in mixed)
    words = {e.name for e in tb.compare_models([{"a": "x"}, {"a": "y"}] * 10, ["u", "v"] * 10, folds=2).entries}
    bayes = {"BayesClassifier", "BayesClassifier, fast", "NaiveBayes", "NaiveBayes, tempered"}
    assert words == {*bayes, "logistic regression", "largest class"}  # the other networks need two columns


def test_every_kind_of_table_gives_the_same_board() -> None:
    rows, y = load_watermelon()
    frame = pd.DataFrame(rows)
    boards = [
        tb.compare_models(t, y, folds=3)
        for t in (rows, frame, pl.from_pandas(frame), pa.Table.from_pandas(frame, preserve_index=False))
    ]
    for found in boards[1:]:
        for e in boards[0].entries:
            assert entry(found, e.name)["log_loss"] == pytest.approx(e.scores.log_loss.value, rel=1e-9)


def test_missing_values_and_sparse_tables() -> None:
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    assert not any(e.error for e in tb.compare_models(gaps, Y, folds=2).entries)
    found = tb.compare_models(sparse.csr_matrix(np.maximum(X, 0)), Y, folds=2)
    assert entry(found, "logistic regression")["accuracy"] > 0.6


def test_the_advice_names_the_best_of_the_family() -> None:
    found = tb.compare_models(X, Y)
    ours = [e for e in found.entries if not e.baseline]
    assert found.advice.startswith(f"Use {ours[0].name}: ")
    assert "Largest class is worse by" in found.advice
    assert found.advice in found.text()
    losses = [e.scores.log_loss.value for e in found.entries]
    assert losses == sorted(losses)
    assert json.loads(json.dumps(found.to_dict()))["best"] == found.best


def board(*losses: tuple[str, float, bool]) -> tb.evaluation.Comparison:
    """Of made-up losses, the same for each of 100 rows but for a little noise."""
    noise = np.tile([-0.01, 0.01], 50)
    y, entries = np.zeros(100, int), []
    for name, loss, ensemble in losses:
        own = loss + noise
        scores = Scores.none().add(y, np.log(np.stack([np.exp(-own), 1 - np.exp(-own)], axis=1)))
        entries.append(
            Entry(name, False, scores, np.ones(1), np.ones(1), own + 0.1 * RNG.random(100), ensemble=ensemble)
        )
    return tb.evaluation.Comparison(100, [0, 1], 2, tuple(entries))


def test_the_advice_gives_the_cost_of_a_smaller_model() -> None:
    near = board(("many", 0.3, True), ("some", 0.305, True), ("one", 0.301, False)).advice
    assert near.startswith("Use many: ")
    assert "the best of the smaller models, one, is about as good" in near
    far = board(("many", 0.3, True), ("some", 0.35, True), ("one", 0.5, False), ("two", 0.6, False)).advice
    assert "the best of the smaller models, one, is worse by 0.2" in far
    assert "take that" not in far
    assert "smaller models" not in board(("one", 0.3, False), ("many", 0.5, True)).advice
    assert "smaller models" not in board(("many", 0.3, True), ("some", 0.5, True)).advice


def test_the_advice_explains_what_tempering_does() -> None:
    said = "tempered=True takes NaiveBayes from 0.5 to 0.3: turn it on where probabilities matter."
    assert said in board(("NaiveBayes, tempered", 0.3, False), ("NaiveBayes", 0.5, False)).advice
    assert "tempered=True" not in board(("NaiveBayes", 0.3, False), ("NaiveBayes, tempered", 0.5, False)).advice
    assert "tempered=True" not in board(("NaiveBayes, tempered", 0.3, False), ("TAN", 0.5, False)).advice
    assert any(c.name == f"NaiveBayes{TEMPERED}" for c in CONTESTANTS)


def test_noise_is_not_called_clear() -> None:
    found = tb.compare_models(RNG.standard_normal((60, 2)), RNG.integers(2, size=60))
    assert "Largest class is worse" not in found.advice


def test_a_contestant_that_fails_is_shown_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: tb.data.Schema) -> object:
        raise OptionError("no such luck")

    monkeypatch.setattr("tallybayes.evaluation.leaderboard.CONTESTANTS", [*CONTESTANTS, Contestant("broken", broken)])
    found = tb.compare_models(X, Y, folds=2)
    assert found.entries[-1].error == "no such luck"
    assert "no such luck" in found.text()
    monkeypatch.setattr(
        "tallybayes.evaluation.leaderboard.CONTESTANTS", [Contestant("broken", broken), CONTESTANTS[-1]]
    )
    with pytest.raises(TallybayesError, match="No model can be fitted: no such luck"):
        tb.compare_models(X, Y, folds=2)


def test_rare_classes_are_not_scored_where_they_were_not_learned() -> None:
    y = np.array(["a", "b"] * 20 + ["rare"])
    found = tb.compare_models(RNG.standard_normal((41, 2)), y)
    assert found.unscored == 1
    assert "1 row(s) of classes too rare" in found.text()


def test_what_cannot_be_compared() -> None:
    with pytest.raises(LabelError, match="all rows are of class 'a'"):
        tb.compare_models([[1.0], [2.0]], ["a", "a"])
    with pytest.raises(LabelError, match="one row only"):
        tb.compare_models([[1.0], [2.0]], ["a", "b"])
    with pytest.raises(OptionError, match="folds must be"):
        tb.compare_models(X, Y, folds=1)


def test_watch_hears_each_name() -> None:
    heard: list[str] = []
    tb.compare_models(X[:40], Y[:40], folds=2, watch=heard.append)
    assert heard == [c.name for c in CONTESTANTS]


def test_a_column_that_may_be_the_target_gives_a_warning() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60), "c": rng.choice(list("uvw"), 60)})
    y = rng.choice(["p", "q"], 60)
    for answer in (y, (y == "p").astype(float), np.where(y == "p", rng.uniform(5, 6, 60), rng.uniform(1, 2, 60))):
        found = tb.compare_models(frame.assign(target=answer), y, folds=2)
        assert found.leaking_column == "target"
        assert found.advice.startswith(
            "Column 'target' alone tells the class of every row: it may be the answer itself"
        )
    assert tb.compare_models(frame, y, folds=2).leaking_column is None


def test_one_class_alone_cannot_be_judged() -> None:
    with pytest.raises(LabelError, match="Only one of the 2 classes has more than one row"):
        tb.compare_models([[1.0], [2.0], [3.0], [4.0]], ["a", "b", "b", "b"])


def test_a_model_that_fails_is_there_with_its_reason() -> None:
    from tallybayes.plots import ComparisonDisplay

    found = tb.compare_models(X, Y, models={"bad": tb.GaussianNB(ddof=-5)})
    (bad,) = [e for e in found.to_dict()["models"] if e["name"] == "bad"]
    assert set(bad) == {"name", "baseline", "error"}
    assert "ddof" in bad["error"]
    (note,) = ComparisonDisplay(found).plot().ax_.texts
    assert note.get_text() == "without figures: bad"
    with pytest.raises(OptionError, match=r"measure must be one of log_loss, accuracy, .*; got 'x'"):
        ComparisonDisplay(found, measure="x")


def test_columns_of_a_sparse_table_are_not_looked_at_for_the_answer() -> None:
    counts = np.column_stack([Y, RNG.poisson(1.0, 200)]).astype(float)
    assert tb.compare_models(counts, Y, folds=2).leaking_column == "x0"
    found = tb.compare_models(sparse.csr_matrix(counts), Y, folds=2)
    assert found.entries[0].scores.accuracy.value == 1
    assert found.leaking_column is None
