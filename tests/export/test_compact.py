"""The compact export: small, and the same predictions as Python's."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tallybayes as tb
from tallybayes.export import compact, to_js, to_json
from tests.javascript import asked, need_javascript


def mixed(n: int, d: int, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """Numbers and categories in turn, some with missing values; three classes that depend on several of them."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, d))
    y = np.array(["a", "b", "c"])[np.digitize(z[:, 0] + z[:, 1] * z[:, 2] + rng.normal(size=n) / 2, [-0.6, 0.8])]
    table = {}
    for j in range(d):
        each = z[:, j].round(2) if j % 2 else np.array([f"v{v}" for v in np.digitize(z[:, j], [-1, -0.3, 0.4, 1.2])])
        table[f"x{j}"] = pd.Series(each).where(rng.random(n) > 0.1 * (j % 5 == 4))
    return pd.DataFrame(table), y


def as_rows(table: pd.DataFrame, share: float = 0.0) -> list[dict[str, Any]]:
    """Rows as JSON has them, with a share of the values missing."""
    rng = np.random.default_rng(1)
    return [
        {k: None if v != v or rng.random() < share else v for k, v in row.items()} for row in table.to_dict("records")
    ]


def agrees(model: Any, rows: list[dict[str, Any]], folder: Path) -> None:
    found = asked(to_js(model, compact=True), rows, "[model.proba(row), model.evidence(row)]", folder)
    np.testing.assert_allclose([p for p, _ in found], model.predict_proba(rows), atol=1e-6, rtol=0)
    evidence = np.array([e for _, e in found], dtype=float)
    terms = model.predictor_.terms(model.predictor_.read(rows))
    np.testing.assert_allclose(evidence - evidence[:, :, :1], terms - terms[:, :, :1], atol=1e-5)


def fitted(n: int, d: int, weights: bool = False, **options: Any) -> tuple[Any, pd.DataFrame]:
    X, y = mixed(n, d)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weight = np.random.default_rng(2).uniform(0.2, 2, n) if weights else None
        return tb.BayesClassifier(**options).fit(X, y, sample_weight=weight), X


def test_a_thousand_rows_and_thirty_columns_take_less_than_a_megabyte(tmp_path: Path) -> None:
    need_javascript()
    model, X = fitted(1000, 30)
    assert {"networks", "boosting", "gaussian"} <= set(parts_of(model))
    assert len(to_json(model, compact=True)) <= 1_000_000
    agrees(model, [*as_rows(X[:20]), *as_rows(X[20:40], 0.4), {}], tmp_path)


def parts_of(model: Any) -> list[str]:
    term = model.predictor_.fitted.terms[0]
    names = [part.name for part in term.distribution.components]
    return [*names, "boosting"] if term.params.boosting is not None else names


@pytest.mark.parametrize("effort", ["fast", "balanced", "best"])
def test_every_preset(effort: str, tmp_path: Path) -> None:
    need_javascript()
    model, X = fitted(400, 6, weights=effort == "balanced", effort=effort)
    agrees(model, [*as_rows(X[:15]), *as_rows(X[15:30], 0.4)], tmp_path)


def test_what_was_forgotten_is_gone(tmp_path: Path) -> None:
    need_javascript()
    model, X = fitted(400, 5)
    extra = X[:1].assign(x0="rare")
    model.partial_fit(extra, ["a"]).forget(extra, ["a"])
    agrees(model, [*as_rows(X[:10]), *as_rows(extra)], tmp_path)
    assert "rare" not in json.dumps(tb.export.description(model)["terms"])


def test_the_format_has_a_version(tmp_path: Path) -> None:
    need_javascript()
    model, _ = fitted(60, 3)
    assert set(compact(model)) == {"format", "version", "data"}
    later = {**compact(model), "version": 99}
    attempt = f"await unpack({json.dumps(later)}).catch((e) => {{ model.said = e.message; }});"
    module = f"{to_js(model)}\n{attempt}"
    assert "version 99" in asked(module, [{}], "model.said", tmp_path)[0]


TEXTS = [
    "Free money!! Win free MONEY now, a_b x9 x",
    "lunch at noon; see you at the café, naïve ΣΑΣ ΟΔΟΣ",
    "İstanbul 2024 straße ½ ²³ ⅷ don't",
    "我们在北京吃午饭 hello 東京タワー world ภาษาไทย end",
    "tabs\t\tand\u00a0\u2003spaces \x1c\x1c odd\x85\x85 ones",
    "नमस्ते दुनिया 👍🏽 emoji",
    "",
]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ngrams": (1, 2), "weight": 0.25},
        {"ngrams": (2, 3), "lowercase": False, "model": "complement"},
        {"model": "bernoulli", "alpha": 0.3},
        {"ngrams": (1, 2), "length_normalized": True},
        {"length_normalized": True, "model": "complement", "weight": 0.5},
        {"analyzer": "char", "ngrams": (1, 3)},
        {"analyzer": "word", "model": "complement", "alpha": 0.01},
    ],
    ids=str,
)
def test_texts_are_split_and_scored_as_python_does(options: dict[str, Any], tmp_path: Path) -> None:
    need_javascript()
    from tallybayes.distributions import Words

    rows: list[dict[str, Any]] = [{"text": text, "n": float(i)} for i, text in enumerate(TEXTS * 3)]
    y = ["a" if i % 2 else "b" if i % 3 else "c" for i in range(len(rows))]
    model = tb.NaiveBayes(distributions={"text": Words(**options)}, schema={"text": "text"}).fit(rows, y)
    asking = [*rows[:7], {"text": " ".join(TEXTS[::-1])}, {"text": "unseen only"}, {"text": None}, {}]
    found = asked(to_js(model, compact=True), asking, "model.proba(row)", tmp_path)
    np.testing.assert_allclose(found, model.predict_proba(asking), atol=1e-9, rtol=0)


def test_forgotten_words_are_not_in_the_export() -> None:
    model = tb.NaiveBayes(schema={"t": "text"}).fit([{"t": "keep this"}, {"t": "secretword this"}], ["a", "b"])
    model.forget([{"t": "secretword this"}], ["b"])
    terms = tb.export.model_json.described(model.predictor_, counts=True)["terms"]
    assert terms[0]["words"] == ["keep", "this"]
