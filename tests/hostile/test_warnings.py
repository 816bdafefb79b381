"""A warning points to the line that its reader wrote: in this file, or where scikit-learn called."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import tallybayes as tb
from tallybayes.errors import AmbiguousColumnWarning, UnseenCategoryWarning

PACKAGE = Path(tb.__file__).parent
RNG = np.random.default_rng(0)
Y = np.array(["a", "b"] * 30)
WORDS = pd.DataFrame({"word": ["x", "y", "z"] * 20, "size": RNG.normal(size=60)})
NEW = pd.DataFrame({"word": ["unseen value"] * 4, "size": [0.0] * 4})
CODES = pd.DataFrame({"code": RNG.integers(0, 3, 60), "size": RNG.normal(size=60)})

MODELS: dict[str, Callable[[], Any]] = {
    "naive": tb.NaiveBayes, "tan": tb.TAN, "aode": tb.AODE, "bayes": lambda: tb.BayesClassifier(effort="fast"),
    "network": lambda: tb.BayesNetwork("word -> size"),
}  # fmt: skip


def _where(category: type[Warning], call: Callable[[], Any]) -> list[str]:
    """The files that warnings of this kind point to."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        call()
    return [w.filename for w in said if issubclass(w.category, category)]


ASKED: dict[str, Callable[[Any], Any]] = {
    "predict": lambda m: m.predict(NEW),
    "predict_proba": lambda m: m.predict_proba(NEW),
    "predict_log_proba": lambda m: m.predict_log_proba(NEW),
    "predict_joint_log_proba": lambda m: m.predict_joint_log_proba(NEW),
    "score_samples": lambda m: m.score_samples(NEW),
    "score": lambda m: m.score(NEW, Y[:4]),
    "explain": lambda m: m.explain(NEW),
    "novelty": lambda m: m.novelty(n=50).score(NEW),
    "novelty reference": lambda m: m.novelty(NEW),
    "adapt_prior": lambda m: m.adapt_prior(NEW),
    "one row": lambda m: m.predict_proba_one({"word": "unseen value", "size": 0.0}),
    "decision": lambda m: tb.BayesDecision(m).fit(WORDS, Y).predict(NEW),
    "curves": lambda m: tb.evaluation.learning_curves((m, m), WORDS, Y, sizes=[20], repeats=1),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("way", ["predict", "predict_proba", "score", "explain"])
def test_every_kind_of_model(name: str, way: str) -> None:
    model = MODELS[name]().fit(WORDS, Y)
    assert set(_where(UnseenCategoryWarning, lambda: ASKED[way](model))) == {__file__}


@pytest.mark.parametrize("way", [way for way in ASKED if way not in ("decision", "curves", "one row")])
def test_every_way_to_ask(way: str) -> None:
    model = tb.NaiveBayes().fit(WORDS, Y)
    assert set(_where(UnseenCategoryWarning, lambda: ASKED[way](model))) == {__file__}


@pytest.mark.parametrize("way", ["decision", "curves", "one row"])
def test_ways_through_others(way: str) -> None:
    """Whoever stands between: no line of this library."""
    model = tb.NaiveBayes().fit(WORDS, Y)
    for file in _where(Warning, lambda: ASKED[way](model)):
        assert PACKAGE not in Path(file).parents


LEARNED: dict[str, Callable[[], Any]] = {
    "fit": lambda: tb.NaiveBayes().fit(CODES, Y),
    "partial_fit": lambda: tb.NaiveBayes().partial_fit(CODES, Y),
    "tempered": lambda: tb.NaiveBayes(tempered=True).fit(CODES, Y),
    "discriminant": lambda: tb.TAN().fit(CODES, Y),
    "bayes": lambda: tb.BayesClassifier(effort="fast").fit(CODES, Y),
    "semi": lambda: tb.SemiSupervised(tb.NaiveBayes()).fit(CODES, [*Y[:-1], None]),
    "compare": lambda: tb.compare_models(CODES, Y, folds=2),
}


@pytest.mark.parametrize("way", LEARNED)
def test_every_way_to_learn(way: str) -> None:
    for file in _where(Warning, LEARNED[way]):
        assert file == __file__


@pytest.mark.parametrize("way", ["fit", "partial_fit", "tempered"])
def test_an_ambiguous_column_gives_a_warning(way: str) -> None:
    assert _where(AmbiguousColumnWarning, LEARNED[way]) == [__file__]


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.forget(WORDS.to_numpy()[:, 1:].astype(float), Y),
        lambda m: m.leave_one_out(WORDS.to_numpy()[:, 1:].astype(float), Y),
        lambda m: m.temper(WORDS.to_numpy()[:, 1:].astype(float), Y),
        lambda m: m.partial_fit(WORDS.to_numpy()[:, 1:].astype(float), Y),
        lambda m: m.predict(WORDS.to_numpy()[:, 1:].astype(float)),
        lambda m: m.fit(WORDS[["size"]], Y[:, None]),
        lambda m: m.partial_fit(WORDS[["size"]], Y[:, None]),
    ],
)
def test_names_that_are_not_there_and_columns_of_labels(call: Callable[[Any], Any]) -> None:
    model = tb.GaussianNB().fit(WORDS[["size"]], Y)
    found = _where(UserWarning, lambda: call(model))
    assert found
    assert set(found) == {__file__}


@pytest.mark.parametrize("jobs", [cross_val_score, cross_val_predict])
def test_through_scikit_learn(jobs: Callable[..., Any]) -> None:
    """The line outside this library is scikit-learn's then."""
    rare = WORDS.assign(word=[f"w{i}" for i in range(60)])
    pipe = make_pipeline(FunctionTransformer(), tb.NaiveBayes())
    found = _where(UnseenCategoryWarning, lambda: jobs(pipe, rare, Y, cv=3))
    assert found
    assert not any(PACKAGE in Path(file).parents for file in found)


def test_nothing_warns_by_itself() -> None:
    """errors.warn finds the line; a stacklevel that somebody counted is wrong after the next change."""
    for path in PACKAGE.rglob("*.py"):
        if path.name == "errors.py":
            continue
        calls = [n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Call)]
        assert not [n.lineno for n in calls if ast.unparse(n.func) == "warnings.warn"], path
