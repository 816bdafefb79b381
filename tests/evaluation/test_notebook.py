"""What a notebook shows, and the short repr: of every result, with names that would break HTML."""

from __future__ import annotations

import io
import json
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

import tallybayes as tb
from tallybayes.errors import OptionError
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.utils import notebook
from tests.every_estimator import ESTIMATORS

EVIL = '<script>alert("&")</script>'
RNG = np.random.default_rng(3)
FRAME = pd.DataFrame(
    {EVIL: RNG.standard_normal(40), "colour": RNG.choice(["<b>red</b>", "blue"], 40)},
    index=[f"row {i}" for i in range(40)],
)
Y = np.where(FRAME[EVIL] + 0.3 * RNG.standard_normal(40) > 0, "<i>yes</i>", "no")
NB = tb.NaiveBayes().fit(FRAME, Y)


def compared() -> tb.evaluation.Comparison:
    return tb.compare_models(FRAME, Y, folds=2, models={EVIL: DecisionTreeClassifier()})


RESULTS: dict[str, Any] = {
    "Comparison": compared,
    "Schema": lambda: NB.schema_,
    "Graph": lambda: tb.TAN().fit(FRAME, Y).graph_,
    "PriorShift": lambda: NB.adapt_prior(FRAME),
    "Explanation of one row": lambda: NB.explain(FRAME[:1]),
    "Explanation of many rows": lambda: NB.explain(FRAME),
    "Explanation of one class": lambda: tb.NaiveBayes().fit(FRAME, ["a"] * 40).explain(FRAME[:1]),
    "AssumptionReport": lambda: tb.evaluation.check_assumptions(FRAME, Y),
    "FeatureRanking": lambda: NB.explain(),
    "BayesDecision": lambda: tb.BayesDecision(tb.NaiveBayes(), reject=0.2).fit(FRAME, Y),
    "BayesDecision before fit": lambda: tb.BayesDecision(tb.NaiveBayes()),
}


class Balanced(HTMLParser):
    """Every tag that opens closes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, _: Any) -> None:
        if tag not in ("br", "input", "meta", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.mark.parametrize("name", RESULTS)
def test_html_is_whole_and_escaped_and_has_no_colour_of_its_own(name: str) -> None:
    found = RESULTS[name]()
    html = found._repr_html_()
    own = html[html.index('<div class="tallybayes"') :] if 'class="tallybayes"' in html else ""
    assert own or name == "BayesDecision before fit"  # scikit-learn's diagram alone
    parser = Balanced()
    parser.feed(own)
    assert not parser.open
    assert not re.search(r"<script|<b>|<i>", own)
    assert not re.search(r"#[0-9a-f]{3}|rgb\(|white(?!-space)|black", own)  # the page may be light or dark
    assert not re.search(r"\bnan\b", own)


@pytest.mark.parametrize("name", RESULTS)
def test_the_repr_is_short(name: str) -> None:
    text = repr(RESULTS[name]())
    assert len(text) < 200
    assert "\n" not in text or name.startswith("BayesDecision")
    assert text.startswith(name.split()[0])


def test_a_wide_schema_is_short_too() -> None:
    wide = tb.NaiveBayes().fit(RNG.standard_normal((10, 300)), [0, 1] * 5).schema_
    assert repr(wide) == "Schema(300 columns: x0 real, x1 real, x2 real, …)"
    assert "240 more" in wide._repr_html_()
    assert len(str(wide).splitlines()) == 300


def test_what_is_shown_is_what_was_found() -> None:
    board = compared()
    shown = board._repr_html_()
    assert all(f"{e.scores.log_loss.value:.4f}" in shown for e in board.entries if not e.error)
    assert "&lt;script&gt;" in shown
    marked = [line for line in shown.split("<tr")[2:] if "font-weight:bold" in line]
    assert len(marked) == 1
    assert board.best in marked[0]
    assert shown.count("<line") == 4 * sum(not e.error for e in board.entries)  # ± of each score
    assert NB.explain(FRAME[:1])._repr_html_().count("<rect") == NB.schema_.d
    shift = NB.adapt_prior(FRAME)
    assert f"{shift.prior[0]:.3f} ± {shift.standard_error[0]:.3f}" in shift._repr_html_()
    decided = tb.BayesDecision(tb.NaiveBayes(), loss=[[0, 7], [3, 0]]).fit(FRAME, Y)
    assert ">7</td>" in decided._repr_html_()
    assert notebook.table(["a"], []) == notebook.paragraph("") == ""


# --- Comparison ----------------------------------------------------------------------------------------------------


class Raises(DecisionTreeClassifier):  # type: ignore[misc]
    def fit(self, X: Any, y: Any) -> Any:  # noqa: ARG002
        raise RuntimeError("no luck")


class Liar(DecisionTreeClassifier):  # type: ignore[misc]
    def predict_proba(self, X: Any) -> Any:
        return super().predict_proba(X) * np.nan


def test_own_models_stand_beside_the_family() -> None:
    X = RNG.standard_normal((60, 2))
    y = (X[:, 0] > 0).astype(int)
    own = {"tree": DecisionTreeClassifier(), "raises": Raises(), "liar": Liar(), "one net": tb.TAN()}
    found = tb.compare_models(X, y, folds=2, models=own)
    entries = {e.name: e for e in found.entries}
    assert entries["tree"].baseline
    assert not entries["one net"].baseline
    assert np.isfinite(entries["tree"].scores.log_loss.value)  # a tree is sure of itself, and sometimes wrong
    assert entries["raises"].error == "RuntimeError: no luck"
    assert "do not sum to 1" in entries["liar"].error
    assert "Tree is" in found.advice
    assert not hasattr(own["tree"], "classes_")  # what was given is cloned
    frame = found.to_frame("pandas")
    assert frame["model"].tolist() == [e.name for e in found.entries]
    assert frame.set_index("model").loc["raises", "error"] == "RuntimeError: no luck"
    assert frame["log_loss"].isna().sum() == 2


@pytest.mark.parametrize(
    ("models", "why"),
    [
        ([DecisionTreeClassifier()], "models must be a dict from name to classifier"),
        ({"TAN": DecisionTreeClassifier()}, "'TAN' is no name of your own"),
        ({3: DecisionTreeClassifier()}, "3 is no name of your own"),
        ({"tree": DecisionTreeClassifier}, r"not its class: write DecisionTreeClassifier\(\)"),
        ({"tree": "tree"}, "must be a classifier with predict_proba; got 'tree'"),
    ],
)
def test_what_is_no_model(models: Any, why: str) -> None:
    with pytest.raises(OptionError, match=why):
        tb.compare_models(FRAME, Y, models=models)


def test_the_frame_is_of_the_kind_that_was_compared_on() -> None:
    X = FRAME.rename(columns={EVIL: "size"}).reset_index(drop=True)
    assert isinstance(tb.compare_models(X, Y, folds=2).to_frame(), pd.DataFrame)
    assert isinstance(tb.compare_models(pl.from_pandas(X), Y, folds=2).to_frame(), pl.DataFrame)
    assert isinstance(tb.compare_models(X[["size"]].to_numpy(), Y, folds=2).to_frame(), dict)


def test_a_model_that_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]

    class Slow(DecisionTreeClassifier):  # type: ignore[misc]
        def fit(self, X: Any, y: Any) -> Any:
            clock[0] += 11
            return super().fit(X, y)

    monkeypatch.setattr("tallybayes.evaluation.leaderboard.time.perf_counter", lambda: clock[0])
    X = RNG.standard_normal((30, 2))
    y = np.tile(["a", "b", "c"], 10)
    found = tb.compare_models(X, y, folds=3, models={"slow": Slow()}, time_limit=10)
    entries = {e.name: e for e in found.entries}
    assert entries["slow"].error == "stopped: 1 of 3 parts took more than 10 s."
    assert not entries["NaiveBayes"].error
    assert not next(
        e.error
        for e in tb.compare_models(X, y, folds=3, models={"slow": Slow()}, time_limit=99).entries
        if e.name == "slow"
    )
    for wrong in (0, -1, float("nan"), "1", True):
        with pytest.raises(OptionError, match="time_limit must be None or a number of seconds above 0"):
            tb.compare_models(X, y, time_limit=wrong)  # type: ignore[arg-type]


# --- Explanation ---------------------------------------------------------------------------------------------------


def test_frames_keep_the_index() -> None:
    found = NB.explain(FRAME[3:6])
    frame = found.frame()
    assert frame.index.unique().tolist() == ["row 3", "row 4", "row 5"]
    assert frame.loc["row 4", "row"].tolist() == [1] * 6  # the prior and two columns, for two classes
    assert found.against("no").frame().index.equals(frame.index)
    assert "index" not in found.frame("dict")
    assert isinstance(found.frame("polars"), pl.DataFrame)
    pairs = FRAME.set_axis(pd.MultiIndex.from_product([range(20), list("ab")]), axis=0)
    assert len(NB.explain(pairs).frame().loc[(3, "b")]) == 6
    assert NB.explain(pl.from_pandas(FRAME)).frame("pandas").index.equals(pd.RangeIndex(40 * 6))


def test_an_explanation_as_plain_values() -> None:
    found = NB.explain(FRAME[:3].assign(colour=["blue", None, "<b>red</b>"]))
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["classes"] == ["<i>yes</i>", "no"]
    assert plain["against"] is None
    assert [row["index"] for row in plain["rows"]] == ["row 0", "row 1", "row 2"]
    assert plain["rows"][1]["evidence"][1] == {"feature": "colour", "value": None, "contribution": [0.0, 0.0]}
    for i, row in enumerate(plain["rows"]):
        assert row["answer"] == NB.predict(FRAME)[i] or i == 1
        total = np.array(row["prior"]) + np.sum([e["contribution"] for e in row["evidence"]], axis=0)
        assert total == pytest.approx(row["log_odds"])
        assert row["probability"] == pytest.approx(found.probability[i])
    assert found.against("no").to_dict()["against"] == "no"
    sure = (
        tb.NaiveBayes().fit([[1.0], [2.0]], [True, False]).with_prior([1.0, 0.0]).explain(np.array([[1.0]])).to_dict()
    )
    json.dumps(sure, allow_nan=False)
    assert sure["classes"] == [False, True]
    assert sure["rows"][0]["log_odds"] == ["inf", "-inf"]


# --- save ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_model_saves_itself(name: str) -> None:
    make, data = ESTIMATORS[name]
    X, y = data(np.random.default_rng(1), 40), np.tile([0, 1], 20)
    model, file = make().fit(X, y), io.BytesIO()
    if not isinstance(model, GenerativeClassifier):
        pytest.skip("around another estimator: no model file holds it")
    model.save(file)
    file.seek(0)
    assert np.array_equal(tb.load(file).predict_proba(X), model.predict_proba(X))


def test_a_model_saves_itself_with_notes(tmp_path: Any) -> None:
    path = tmp_path / "model.tb"
    NB.save(path, notes={"from": "here"})
    assert tb.io.load_notes(path) == {"from": "here"}
    assert np.array_equal(tb.load(path).predict_proba(FRAME), NB.predict_proba(FRAME))
    file = io.BytesIO()
    NB.save(file)
    tb.save(NB, path)
    assert path.read_bytes() == file.getvalue()


@pytest.mark.parametrize("name", ["PoissonNB", "NaiveBayes mixed", "KernelNB"])
def test_a_notebook_takes_no_samples_to_show_a_model(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, data = ESTIMATORS[name]
    model = make().fit(data(RNG, 30), np.arange(30) % 2)
    assert np.isclose(model.feature_importances_.sum(), 1.0)
    monkeypatch.setattr("tallybayes.explain.ranking.information", None)
    assert "class_count_" in model._repr_html_()


def test_ranking_features_reads_the_sampled_rows_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from tallybayes.distributions import information

    calls, real = [], information._data
    monkeypatch.setattr(information, "_data", lambda d, rows: calls.append(len(rows)) or real(d, rows))
    tb.PoissonNB().fit(RNG.poisson(2.0, (30, 7)), np.arange(30) % 2).explain()
    assert calls == [7]
