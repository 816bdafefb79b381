"""What belongs to no column is a line by itself, in everything that tells evidence; all lines sum to the log-odds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from tallybayes.plots import EvidenceDisplay
from tests.command_line import run
from tests.quick import examples

NAME = "(together)"


def rows(n: int, seed: int, classes: int = 2) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"size": rng.normal(size=n), "age": rng.normal(size=n), "color": rng.choice(list("abc"), n)})
    y = ((X["size"] + (X["color"] == "a") + rng.normal(size=n)) * 0.7).round().clip(0, classes - 1).astype(int)
    return X, y.map("class {}".format).to_numpy()


@pytest.fixture(scope="module")
def model() -> Any:
    return tb.BayesClassifier(members=4).fit(*rows(400, 0))


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["fast", "balanced"]), st.integers(2, 4), st.booleans(), st.booleans())
def test_lines_sum_to_the_log_odds(seed: int, effort: str, classes: int, gaps: bool, tempered: bool) -> None:
    X, y = rows(60, seed, classes)
    Z = rows(20, seed + 1)[0]
    if gaps:
        Z = Z.mask(np.random.default_rng(seed).random(Z.shape) < 0.4)
    model = tb.BayesClassifier(effort, members=2, tempered=tempered).fit(X, y)
    found = model.explain(Z)
    assert found.names == ("size", "age", "color", NAME)
    P = np.clip(model.predict_proba(Z), 1e-300, 1)
    lines = found.prior + found.values[:, :3].sum(axis=1) + found.values[:, 3]
    if P.shape[1] > 1:
        np.testing.assert_allclose(lines, found.log_odds, atol=1e-9)
        for k in range(P.shape[1]):
            rest = np.delete(P, k, axis=1).sum(axis=1)
            np.testing.assert_allclose(lines[:, k], np.log(P[:, k] / rest), atol=1e-6)


def test_it_is_the_same_for_all_whole_rows_and_the_columns_have_none_of_it(model: Any) -> None:
    X, _ = rows(50, 1)
    reported = model.explain(X).log_likelihood
    assert np.ptp(reported[:, 3], axis=0).max() < 1e-5
    p, ensemble = model.predictor_.fitted.terms[0].params, model._ensemble()
    trees = ensemble.child < 0
    shares = p.class_weight / p.class_weight.sum()
    expected = p.biases + p.chain_weights[trees].sum() * np.log(shares) + p.weights[-1] * p.gaussian.constant
    np.testing.assert_allclose(reported[0, 3], expected, atol=0.01)
    empty = model.explain(X[:1].assign(size=np.nan, age=np.nan, color=None)).log_likelihood
    np.testing.assert_array_equal(empty, 0.0)


def test_every_face_shows_it(model: Any, tmp_path: Path) -> None:
    X, _ = rows(3, 2)
    found = model.explain(X)
    says = found.values[0, 3, found.class_number(0, None)]
    (line,) = (line for line in found.text(0).splitlines() if "together:" in line)
    assert ("×" in line) == (says >= 0)
    assert NAME not in found.text(0)
    frame = found.frame()
    own = frame[frame["feature"] == NAME]
    assert (own["value"] == "").all()
    np.testing.assert_array_equal(own["contribution"], found.values[:, 3].ravel())
    last = found.to_dict()["rows"][0]["evidence"][-1]  # type: ignore[index]
    assert (last["feature"], last["value"], last["contribution"]) == (NAME, None, found.values[0, 3].tolist())
    assert NAME in model.explain(X[:1])._repr_html_()
    display = EvidenceDisplay.from_explanation(found)
    assert display.names[-1] == NAME
    assert display.prior + display.evidence.sum() == pytest.approx(display.total)
    assert NAME in [label.get_text() for label in display.plot().ax_.get_yticklabels()]
    model.save(tmp_path / "a.tally")
    X.to_csv(tmp_path / "x.csv", index=False)
    reported = json.loads(run("explain", tmp_path / "a.tally", tmp_path / "x.csv", "--json").stdout)
    assert {line["feature"] for line in reported} == {"(prior)", "size", "age", "color", NAME}


def test_words_of_texts_stand_beside_it() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    words = [" ".join(rng.choice(["win", "free"] if k else ["noon", "lunch"], 3)) for k in y]
    data = pd.DataFrame({"size": rng.normal(size=60) + y, "body": words})
    model = tb.BayesClassifier(members=2, schema={"body": "text"}).fit(data, y)
    found = model.explain(data[:2])
    assert found.names == ("size", "body", NAME)
    alone = found.words(0)
    assert alone.names[-1] == NAME
    np.testing.assert_allclose(alone.log_odds[0], found.log_odds[0], atol=1e-9)
    assert "  together:" not in found.text(0)  # nothing: its factor is 1


def test_models_without_it_have_no_such_line() -> None:
    X, y = rows(60, 0)
    found = tb.NaiveBayes().fit(X, y).explain(X)
    assert found.names == ("size", "age", "color")
    assert "  together:" not in found.text(0)
