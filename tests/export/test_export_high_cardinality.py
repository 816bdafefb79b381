"""Networks with a column that stands apart, as other programs answer: JavaScript, ONNX, SQL, JSON, files."""

from __future__ import annotations

import io
import json
import sqlite3
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tallybayes as tb
from tallybayes.errors import ExportError
from tallybayes.structure.high_cardinality import apart
from tests.javascript import asked, need_javascript
from tests.structure.test_high_cardinality import table

NETWORKS: dict[str, Any] = {
    "AODE": tb.AODE,
    "AnDE": tb.AnDE,
    "TAN": tb.TAN,
    "SPODE": tb.SPODE,
    "KDB": lambda **more: tb.KDB(select=False, **more),
    "KDB, chosen": tb.KDB,
}
BESIDE = ["nothing", "a number", "a date"]


def learned(name: str, beside: str, **options: Any) -> tuple[Any, pd.DataFrame]:
    """A model, and rows to ask: levels that it knows and one that it does not, missing values in each, and in all."""
    X, y = table()
    rng = np.random.default_rng(7)
    if beside == "a number":
        X["size"] = rng.normal(size=len(X)) + y
    if beside == "a date":
        X["when"] = np.datetime64("2024-01-01", "s") + (rng.integers(0, 10**7, len(X)) + 10**6 * y).astype("m8[s]")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = NETWORKS[name](**options).fit(X, y)
    assert [model.schema_.name(j) for j in apart(model.schema_)] == ["wide"]
    rows = X.iloc[:40].astype(object)
    rows.iloc[3, 1] = "unseen value"
    rows = rows.mask(pd.DataFrame(rng.random(rows.shape) < 0.2, rows.index, rows.columns))
    rows.iloc[5] = None
    return model, rows.where(rows.notna(), None)


def plain(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows as JSON has them."""
    return [
        {
            k: None if pd.isna(v) else str(v).replace(" ", "T") if isinstance(v, pd.Timestamp) else v
            for k, v in row.items()
        }
        for row in rows.to_dict("records")
    ]


def expected(model: Any, rows: pd.DataFrame) -> Any:
    if "when" in rows:
        rows = rows.assign(when=pd.to_datetime(rows["when"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.predict_proba(
            [{k: None if pd.isna(v) else v for k, v in r.items()} for r in rows.to_dict("records")]
        )


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("name", NETWORKS)
def test_javascript(name: str, beside: str, tmp_path: Path) -> None:
    need_javascript()
    model, rows = learned(name, beside)
    found = asked(tb.export.to_js(model), plain(rows), "model.proba(row)", tmp_path)
    np.testing.assert_allclose(found, expected(model, rows), atol=1e-9, rtol=0)


@pytest.mark.parametrize("beside", ["nothing", "a number"])
@pytest.mark.parametrize("name", NETWORKS)
def test_onnx(name: str, beside: str) -> None:
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    model, rows = learned(name, beside)
    graph = tb.export.to_onnx(model)
    feeds = {}
    for each in graph.graph.input:
        text = each.type.tensor_type.elem_type == onnx.TensorProto.STRING
        values = ["" if v is None else v for v in rows[each.name]] if text else rows[each.name].astype(float)
        feeds[each.name] = np.array(values, dtype=object if text else float).reshape(-1, 1)
    _, proba = runtime.InferenceSession(graph.SerializeToString()).run(None, feeds)
    np.testing.assert_allclose(proba, expected(model, rows), atol=1e-9, rtol=0)


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("name", NETWORKS)
def test_files(name: str, beside: str) -> None:
    model, rows = learned(name, beside)
    held = io.BytesIO()
    tb.save(model, held)
    counterpart = tb.load(io.BytesIO(held.getvalue()))
    assert np.array_equal(expected(counterpart, rows), expected(model, rows))
    assert json.loads(tb.export.to_json(counterpart)) == json.loads(tb.export.to_json(model))


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("name", NETWORKS)
def test_sql(name: str, beside: str) -> None:
    model, rows = learned(name, beside)
    if beside == "a date":
        with pytest.raises(ExportError, match="dates"):
            tb.export.to_sql(model, "sqlite")
        return
    with sqlite3.connect(":memory:") as there:
        pd.DataFrame(plain(rows)).assign(i=range(len(rows))).to_sql("data", there, index=False)
        there.create_function("ln", 1, lambda x: None if x is None else float(np.log(x)))
        there.create_function("exp", 1, lambda x: None if x is None else float(np.exp(x)))
        answers = pd.read_sql(tb.export.to_sql(model, "sqlite", keep=["i"]), there).sort_values("i")
    found = answers[[c for c in answers if c not in ("i", "prediction")]].to_numpy()
    np.testing.assert_allclose(found, expected(model, rows), atol=1e-9, rtol=0)


@pytest.mark.parametrize("name", NETWORKS)
def test_skl2onnx(name: str) -> None:
    skl2onnx, runtime = pytest.importorskip("skl2onnx"), pytest.importorskip("onnxruntime")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    from tallybayes.export import skl2onnx as ours

    table_, y = table()
    X = table_.apply(lambda c: c.str.extract(r"(\d+)")[0].astype(float)).to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = NETWORKS[name](schema="categorical").fit(X, y)
        assert [model.schema_.name(j) for j in apart(model.schema_)] == ["x1"]
        ours.register()
        pipeline = make_pipeline(FunctionTransformer(), model)
        graph = skl2onnx.to_onnx(pipeline, X[:1], target_opset=17, options={"zipmap": False})
        rows = X[:40].copy()
        rows[3, 1] = 5000.0
        rows[np.random.default_rng(0).random(rows.shape) < 0.2] = np.nan
        answer = pipeline.predict_proba(rows)
    session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    _, proba = session.run(None, {session.get_inputs()[0].name: rows})
    np.testing.assert_allclose(proba, answer, atol=1e-9, rtol=0)
