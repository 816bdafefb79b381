"""Pipelines that end in a classifier of ours, converted by skl2onnx."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tallybayes as tb
from tallybayes.errors import ExportError, OptionError
from tallybayes.export import skl2onnx as ours

skl2onnx = pytest.importorskip("skl2onnx")
runtime = pytest.importorskip("onnxruntime")

MODELS: dict[str, Any] = {
    "GaussianNB": tb.GaussianNB,
    "NaiveBayes": tb.NaiveBayes,
    "KernelNB": tb.KernelNB,
    "LDA": tb.LinearDiscriminantAnalysis,
    "QDA": tb.QuadraticDiscriminantAnalysis,
    "TAN": tb.TAN,
    "AODE": tb.AODE,
}


def asked(graph: Any, X: Any) -> tuple[Any, Any]:
    session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: X})


@pytest.mark.parametrize("labels", [["no", "yes"], [3, 7]], ids=["strings", "numbers"])
@pytest.mark.parametrize("name", MODELS)
def test_a_pipeline_answers_as_in_python(name: str, labels: list[Any]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = np.array(labels)[(X[:, 0] + rng.normal(size=150) > 0).astype(int)]
    ours.register()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline = make_pipeline(StandardScaler(), MODELS[name]()).fit(X, y)
        graph = skl2onnx.to_onnx(pipeline, X[:1], target_opset=17, options={"zipmap": False})
    asked_rows = rng.normal(size=(40, 4))
    label, proba = asked(graph, asked_rows)
    np.testing.assert_allclose(proba, pipeline.predict_proba(asked_rows), atol=1e-9)
    assert label.tolist() == pipeline.predict(asked_rows).tolist()


def test_missing_values_and_several_parts_of_a_table() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 4))
    y = (X[:, 0] > 0).astype(int)
    steps = ColumnTransformer([("a", StandardScaler(), [0, 1]), ("b", "passthrough", [2, 3])])
    pipeline = make_pipeline(steps, tb.GaussianNB()).fit(X, y)
    ours.register()
    graph = skl2onnx.to_onnx(pipeline, X[:1], target_opset=17, options={"zipmap": False})
    gaps = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    np.testing.assert_allclose(asked(graph, gaps)[1], pipeline.predict_proba(gaps), atol=1e-9)


def test_what_cannot_be_converted_gives_the_reason(monkeypatch: Any) -> None:
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
    ours.register()
    with pytest.raises(ExportError, match="target_opset=17"):
        skl2onnx.to_onnx(make_pipeline(tb.GaussianNB()).fit(X, y), X[:1], target_opset=18)
    with pytest.raises(ExportError, match="floats"):
        skl2onnx.to_onnx(make_pipeline(tb.GaussianNB()).fit(X, y.astype(float)), X[:1], target_opset=17)
    words = tb.NaiveBayes().fit([["x", "u"], ["y", "v"], ["x", "v"]], [0, 1, 0])
    types = [("words", skl2onnx.common.data_types.StringTensorType([None, 2]))]
    with pytest.raises(ExportError, match=r"reads strings: use to_onnx\(model\)"):
        skl2onnx.to_onnx(words, initial_types=types, target_opset=17)
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(OptionError, match="pip install skl2onnx"):
        ours.register()
