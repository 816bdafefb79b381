"""A model as an ONNX graph: the same answers as Python's in onnxruntime."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tallybayes as tb
from tallybayes.errors import ExportError, OptionError
from tests.every_estimator import ESTIMATORS, LEARNED, as_read, labels
from tests.export.test_compact import as_rows, fitted, parts_of
from tests.export.test_export import as_python_reads, plain_rows

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

EVERY = {**ESTIMATORS, **LEARNED}
JOINT = ("block",)  # forms whose columns share their evidence by a rule that no graph has


def answered(graph: Any, rows: list[list[Any]], mark: str = "") -> Any:
    """Labels and probabilities of rows, and the evidence if the graph has it; what is None is given as missing."""
    feeds = {}
    for j, each in enumerate(graph.graph.input):
        if each.type.tensor_type.elem_type == onnx.TensorProto.STRING:
            feeds[each.name] = np.array([[mark if row[j] is None else row[j]] for row in rows], dtype=object)
        else:
            feeds[each.name] = np.array([[np.nan if row[j] is None else float(row[j])] for row in rows])
    return runtime.InferenceSession(graph.SerializeToString()).run(None, feeds)


@pytest.mark.parametrize("name", EVERY)
def test_onnxruntime_answers_as_python_does(name: str) -> None:
    make, data = EVERY[name]
    rng = np.random.default_rng(8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make().fit(data(rng, 80), labels(rng, 80))
        X = as_read(model, data(rng, 40))
        rows = plain_rows(as_read(model, data(rng, 20))) + plain_rows(X, rng.random(X.shape) < 0.3)
        rows.append([None] * X.shape[1])
        expected = model.predict_proba(as_python_reads(model, rows))
    joint = any(term["form"] in JOINT for term in tb.export.description(model)["terms"])
    if joint:
        with pytest.raises(ExportError, match="evidence"):
            tb.export.to_onnx(model, evidence=True)
    label, proba, *evidence = answered(tb.export.to_onnx(model, evidence=not joint), rows)
    np.testing.assert_allclose(proba, expected, atol=1e-9, rtol=0)
    if not joint:
        own, terms = evidence[0], model.predictor_.terms(model.predictor_.read(as_python_reads(model, rows)))
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(own - own[:, :, :1], terms - terms[:, :, :1], atol=1e-6)
    assert proba.dtype == np.float64
    chosen = expected[np.arange(len(rows)), [model.classes_.tolist().index(v) for v in label]]
    np.testing.assert_allclose(chosen, expected.max(axis=1), atol=1e-9)
    alone = answered(tb.export.to_onnx(model), rows[:20])[1]  # without missing values, which may be another branch
    np.testing.assert_allclose(alone, expected[:20], atol=1e-9)


def test_the_default_classifier_with_every_component() -> None:
    model, X = fitted(400, 6)
    assert {"networks", "uniform_networks", "naive", "gaussian", "boosting"} <= set(parts_of(model))
    rows = [list(row.values()) for row in [*as_rows(X[:20]), *as_rows(X[20:40], 0.4)]]
    graph = tb.export.to_onnx(model, evidence=True)
    _, proba, evidence = answered(graph, rows)
    read = model.predictor_.read(pd.DataFrame(rows, columns=X.columns))
    np.testing.assert_allclose(proba, model.predict_proba(pd.DataFrame(rows, columns=X.columns)), atol=1e-9, rtol=0)
    terms = model.predictor_.terms(read)
    np.testing.assert_allclose(evidence - evidence[:, :, :1], terms - terms[:, :, :1], atol=1e-6)
    assert {p.key: p.value for p in graph.metadata_props}["evidence"] == repr([*X.columns, "(together)"])


@pytest.mark.parametrize("unseen", ["ignore", "other"])
def test_unseen_categories_temperature_and_prior(unseen: str) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.choice(list("xyz"), 90), "b": rng.choice([1, 2, 5], 90), "c": rng.random(90) < 0.5})
    y = np.where(rng.random(90) < 0.3 + 0.4 * (X["a"] == "x"), "yes", "no")
    model = tb.NaiveBayes(schema={"b": "categorical"}, unseen=unseen, tempered=True, priors=[0.3, 0.7]).fit(X, y)
    rows = [["q", 1, True], ["x", 7, None], [None, 2, False], ["z", None, True]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = model.predict_proba([dict(zip("abc", row, strict=True)) for row in rows])
    np.testing.assert_allclose(answered(tb.export.to_onnx(model), rows)[1], expected, atol=1e-12)


def test_values_that_follow_from_others() -> None:
    rng = np.random.default_rng(0)
    town = rng.choice(["Bonn", "Ulm", "Lyon", "Nice"], 700)
    land = np.where(np.isin(town, ["Bonn", "Ulm"]), "de", "fr")
    X = pd.DataFrame({"town": town, "land": land, "n": rng.choice(list("abc"), 700)})
    y = np.where(rng.random(700) < np.where(town == "Ulm", 0.8, 0.3), "yes", "no")
    model = tb.AODE(subsumption=True).fit(X, y)
    found = answered(tb.export.to_onnx(model), plain_rows(X.head(50)))[1]
    np.testing.assert_allclose(found, model.predict_proba(X.head(50)), atol=1e-12)


def test_far_rows_impossible_rows_and_odd_names(tmp_path: Path) -> None:
    names = ["label", "probabilities_2", "tallybayes_t1", "ä b"]
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 4)), columns=names)
    model = tb.GaussianNB().fit(X, np.arange(40) % 2)
    graph = tb.export.to_onnx(model, tmp_path / "m.onnx")
    assert onnx.load(tmp_path / "m.onnx") == graph
    rows = [[1e30, 0.0, 0.0, 0.0], [None] * 4]
    expected = model.predict_proba([dict(zip(names, row, strict=True)) for row in rows])
    label, proba = answered(graph, rows)
    np.testing.assert_allclose(proba, expected, atol=1e-9)
    assert label.dtype == np.int64
    sure = tb.CategoricalNB(alpha=0.0).fit([["a", "u"], ["b", "v"]] * 3, ["k", "l"] * 3)
    rows_ = [["a", "v"], ["a", "u"]]
    np.testing.assert_allclose(
        answered(tb.export.to_onnx(sure), rows_)[1], sure.predict_proba(np.array(rows_, dtype=object))
    )


def test_an_empty_string_that_is_a_category() -> None:
    rows = [{"a": ""}, {"a": "x"}, {"a": "x"}, {"a": ""}]
    model = tb.NaiveBayes().fit(rows, ["k", "l", "l", "k"])
    graph = tb.export.to_onnx(model)
    assert {p.key: p.value for p in graph.metadata_props}["missing"] == "{'a': '∅'}"
    expected = model.predict_proba([{"a": ""}, {"a": None}])
    np.testing.assert_allclose(answered(graph, [[""], [None]], mark="∅")[1], expected, atol=1e-12)


def test_what_has_no_graph_gives_the_reason(monkeypatch: Any) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"c{j}": rng.choice(list("abcdefghij"), 200) for j in range(7)})
    y = rng.integers(0, 2, 200)
    with pytest.raises(ExportError, match="cannot refuse a row"):
        tb.export.to_onnx(tb.NaiveBayes(unseen="error").fit(X, y))
    graph = {"c6": ["c0", "c1", "c2", "c3", "c4"]}
    with pytest.raises(ExportError, match="would take tables"):
        tb.export.to_onnx(tb.BayesNetwork(graph).fit(X, y))
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(OptionError, match=r"tallybayes\[onnx\]"):
        tb.export.to_onnx(tb.NaiveBayes().fit(X, y))


GAP = float("nan")


@pytest.mark.parametrize(
    ("model", "X"),
    [
        (tb.LinearDiscriminantAnalysis(), [[3.0, 3.0]] * 4),  # no column varies
        (tb.KernelNB(), [[GAP, GAP]] * 4),  # no column has a value
        (tb.KernelNB(), [[1.0, GAP], [2.0, GAP], [4.0, GAP], [4.5, GAP]]),
        (tb.NaiveBayes("mdl"), [[1.0, 2.0], [2.0, 1.0], [1.5, 1.0], [1.0, 1.0]]),  # one interval each
        (tb.MultinomialNB(alpha=0.0), [[1.0, 0.0], [2.0, 0.0], [0.0, 3.0], [1.0, 4.0]]),  # shares of 0
    ],
    ids=["constant", "empty", "half empty", "one interval", "impossible"],
)
def test_columns_that_are_uninformative_or_rule_out(model: Any, X: Any) -> None:
    """There is an answer for each row, whatever its columns have to say."""
    model.fit(X, [True, True, False, False])
    asked = [[0.0, 0.0], [3.0, 1.0], [1.0, 0.0]]
    label, share = answered(tb.export.to_onnx(model), asked)
    np.testing.assert_allclose(share, model.predict_proba(asked), atol=1e-12)
    assert label.tolist() == model.predict(asked).astype(int).tolist()  # graphs have no booleans as labels


def test_columns_that_a_graph_cannot_have() -> None:
    frame = pd.DataFrame({"": [1.0, 2.0, 4.0], "b": [1.0, 0.0, 2.0]})
    with pytest.raises(ExportError, match="A column has no name"):
        tb.export.to_onnx(tb.GaussianNB().fit(frame, ["a", "b", "b"]))
    wide = np.random.default_rng(0).normal(size=(6, 1001))
    with pytest.raises(ExportError, match="its 2,002 kernel densities are more than the 2,000 that a graph holds"):
        tb.export.to_onnx(tb.KernelNB().fit(wide, ["a", "b"] * 3))
