"""A BayesDecision in the model file: the same answers, and nothing that a file could make it do."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB as Peer

import tallybayes as tb
from tallybayes.datasets import load_watermelon
from tallybayes.errors import ModelFileError, OptionError
from tallybayes.io import load_classifier
from tallybayes.io.model_document import from_document, to_document

ROWS, RIPE = load_watermelon()
LOSS = {("yes", "no"): 20, ("no", "yes"): 1, ("taste it", ...): 0.5}
MODELS: dict[str, Any] = {
    "no loss": lambda: tb.BayesDecision(tb.NaiveBayes()),
    "by labels": lambda: tb.BayesDecision(tb.NaiveBayes(tempered=True), LOSS),
    "reject": lambda: tb.BayesDecision(tb.TAN(), reject=0.2),
    "reject, named": lambda: tb.BayesDecision(tb.AODE(), [[0, 9], [1, 0]], reject=0.4, reject_label="ask"),
    "a table": lambda: tb.BayesDecision(tb.NaiveBayes(), pd.DataFrame({"yes": [1, 0], "no": [0, 5]}, ["no", "yes"])),
    "frozen": lambda: tb.BayesDecision(FrozenEstimator(tb.NaiveBayes(priors=[0.3, 0.7]).fit(ROWS, RIPE)), LOSS),
    "ensemble": lambda: tb.BayesDecision(tb.BayesClassifier("fast", members=2), LOSS),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_decision_comes_back_with_its_answers(name: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MODELS[name]().fit(ROWS, RIPE)
    tb.save(model, tmp_path / "m.tb", notes={"target": "ripe"}, card=True)
    found = tb.load(tmp_path / "m.tb")
    assert isinstance(found, tb.BayesDecision)
    assert found.predict(ROWS).tolist() == model.predict(ROWS).tolist()
    np.testing.assert_array_equal(found.conditional_risk(ROWS), model.conditional_risk(ROWS))
    np.testing.assert_array_equal(found.predict_proba(ROWS), model.predict_proba(ROWS))
    assert found.answers_.tolist() == model.answers_.tolist()
    assert found.answers_.dtype == model.answers_.dtype
    assert found.score(ROWS, RIPE) == model.score(ROWS, RIPE)
    assert tb.io.load_notes(tmp_path / "m.tb") == {"target": "ripe"}
    assert tb.to_bytes(tb.from_bytes(tb.to_bytes(found))) == tb.to_bytes(found)
    assert "What each answer costs" in (tmp_path / "m.tb.md").read_text()
    again = found.fit(ROWS, RIPE)  # what comes back can be fitted again
    assert again.predict(ROWS).tolist() == model.predict(ROWS).tolist()


def test_amounts_come_back_too(tmp_path: Path) -> None:
    each = {("yes", "no"): 1.0}
    model = tb.BayesDecision(tb.NaiveBayes(), LOSS, amount_loss=each).fit(ROWS, RIPE)
    tb.save(model, tmp_path / "m.tb")
    amount = np.arange(len(ROWS), dtype=float)
    found = tb.load(tmp_path / "m.tb").predict(ROWS, amount=amount)
    assert found.tolist() == model.predict(ROWS, amount=amount).tolist()


def test_numbers_as_classes_and_as_answers() -> None:
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 3
    model = tb.BayesDecision(tb.GaussianNB(), np.ones((3, 3)) - np.eye(3), reject=0.9).fit(X, y)
    found = tb.from_bytes(tb.to_bytes(model))
    assert found.answers_.tolist() == [0, 1, 2, -1]
    assert found.predict(X).dtype == model.predict(X).dtype


def test_what_cannot_be_saved_gives_the_reason(tmp_path: Path) -> None:
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
    for inner in (Peer(), LogisticRegression()):
        with pytest.raises(OptionError, match="only classifiers of tallybayes"):
            tb.save(tb.BayesDecision(inner).fit(X, y), tmp_path / "m.tb")
    with pytest.raises(OptionError, match="not fitted"):
        tb.save(tb.BayesDecision(tb.NaiveBayes()), tmp_path / "m.tb")
    with pytest.raises(OptionError, match="BayesDecision"):
        tb.save(type("BayesDecision", (LogisticRegression,), {})().fit(X, y), tmp_path / "m.tb")  # somebody else's
    assert list(tmp_path.iterdir()) == []


def test_the_classifier_inside(tmp_path: Path) -> None:
    model = tb.BayesDecision(tb.NaiveBayes(), LOSS).fit(ROWS, RIPE)
    tb.save(model, tmp_path / "m.tb")
    inside = load_classifier(tmp_path / "m.tb")
    np.testing.assert_array_equal(inside.predict_proba(ROWS), model.predict_proba(ROWS))
    with pytest.raises(OptionError, match="with its losses"):
        load_classifier(tmp_path / "m.tb", changing=True)
    assert "What if?" in tb.report(model, ROWS, RIPE).html


BREAKS: list[Any] = [
    lambda d: d.update(frozen=1),
    lambda d: d.update(answers=[]),
    lambda d: d.update(answers=["a", "a", "b"]),
    lambda d: d.update(answers=[["a"], "b", "c"]),
    lambda d: d.update(reject="much"),
    lambda d: d.update(reject={"float": "nan"}),
    lambda d: d.update(loss=None),
    lambda d: d.update(estimator=None),
    lambda d: d.update(estimator=dict(d)),
    lambda d: d.pop("reject_label"),
    lambda d: d.update(more=1),
    lambda d: d["estimator"].update({"class": "BayesDecision"}),
]


@pytest.mark.parametrize("number", range(len(BREAKS)))
def test_whatever_a_file_holds_is_a_model_or_one_error(number: int) -> None:
    model = tb.BayesDecision(tb.NaiveBayes(), LOSS).fit(ROWS, RIPE)
    header, arrays = to_document(model, {})
    broken: Any = copy.deepcopy(header)
    BREAKS[number](broken["model"])
    with pytest.raises(ModelFileError):
        from_document(broken, [a.copy() for a in arrays])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_losses_that_are_no_numbers_are_refused(value: float) -> None:
    header, arrays = to_document(tb.BayesDecision(tb.NaiveBayes(), LOSS).fit(ROWS, RIPE), {})
    at = header["model"]["loss"]["array"]  # type: ignore[index]
    arrays = [a.copy() for a in arrays]
    arrays[at][0, 0] = value
    with pytest.raises(ModelFileError, match="finite"):
        from_document(header, arrays)
