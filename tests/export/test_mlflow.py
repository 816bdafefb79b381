"""A model in MLflow and back."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import tallybayes as tb
from tallybayes.errors import ExportError, OptionError
from tallybayes.export.mlflow import Answers, log_model, save_model

mlflow = pytest.importorskip("mlflow")


def mixed() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=40), "b": rng.choice(list("xy"), 40), "c": rng.random(40) < 0.5})
    return X, rng.choice(["u", "v"], 40)


def test_a_model_comes_back_with_its_answers(tmp_path: Path) -> None:
    X, y = mixed()
    model = tb.NaiveBayes().fit(X, y)
    save_model(model, tmp_path / "m")
    found = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    assert found.predict(X).tolist() == model.predict(X).tolist()
    proba = found.predict(X, params={"method": "predict_proba"})
    assert proba.columns.tolist() == ["u", "v"]
    np.testing.assert_array_equal(proba.to_numpy(), model.predict_proba(X))
    gaps = X.assign(a=np.nan, b=None)
    np.testing.assert_array_equal(
        found.predict(gaps, params={"method": "predict_proba"}).to_numpy(), model.predict_proba(gaps)
    )
    inputs = {each.name: (each.type.name, each.required) for each in found.metadata.signature.inputs.inputs}
    assert inputs == {"a": ("double", False), "b": ("string", False), "c": ("boolean", False)}
    assert found.metadata.load_input_example(str(tmp_path / "m")).shape == (5, 3)
    card = next((tmp_path / "m").rglob("model.tb.md")).read_text(encoding="utf-8")
    assert card.startswith("# NaiveBayes")


def test_a_model_without_names_and_an_example_of_ones_own(tmp_path: Path) -> None:
    model = tb.GaussianNB().fit([[1.0], [2.0], [7.0], [8.0]], [0, 0, 1, 1])
    save_model(model, tmp_path / "m", input_example=pd.DataFrame({"x0": [1.0, None]}))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert Answers(model).predict(pd.DataFrame({"x0": [6.5]})).tolist() == [1]
    assert mlflow.pyfunc.load_model(str(tmp_path / "m")).predict(pd.DataFrame({"x0": [1.5]})).tolist() == [0]


@pytest.mark.parametrize("form", ["polars", "pyarrow", "numpy", "sparse"])
def test_the_example_is_drawn_whatever_was_learned(form: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.poisson(2.0, 40).astype(float), "b": rng.poisson(1.0, 40).astype(float)})
    forms = {
        "polars": pl.from_pandas(X),
        "pyarrow": pa.Table.from_pandas(X),
        "numpy": X.to_numpy(),
        "sparse": sparse.csr_matrix(X),
    }
    model = tb.GaussianNB().fit(forms[form], rng.choice(["u", "v"], 40))
    save_model(model, tmp_path / "m")
    found = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    names = ["a", "b"] if form in ("polars", "pyarrow") else ["x0", "x1"]
    assert found.metadata.get_input_schema().input_names() == names
    example = found.metadata.load_input_example(str(tmp_path / "m"))
    assert example.columns.tolist() == names
    assert np.isfinite(example.to_numpy()).all()
    assert found.predict(X.set_axis(names, axis=1)).tolist() == model.predict(forms[form]).tolist()


def test_a_decision_gives_its_answers(tmp_path: Path) -> None:
    X, y = mixed()
    model = tb.BayesDecision(tb.NaiveBayes(), {("u", "v"): 9, ("v", "u"): 1, ("ask", ...): 0.4}).fit(X, y)
    save_model(model, tmp_path / "m")
    found = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    assert found.predict(X).tolist() == model.predict(X).tolist()
    for method in ("predict_proba", "predict_log_proba"):
        expected = getattr(model.estimator_, method)(X)
        np.testing.assert_array_equal(found.predict(X, params={"method": method}).to_numpy(), expected)


def test_texts_and_odd_names(tmp_path: Path) -> None:
    X = pd.DataFrame(
        {"new\nline": ["free money", "win money", "at noon", "noon it is"], "__proto__": [1.0, 2.0, 3.0, 4.0]}
    )
    model = tb.NaiveBayes("gaussian", schema={"new\nline": "text"}).fit(X, ["s", "s", "h", "h"])
    save_model(model, tmp_path / "m")
    assert mlflow.pyfunc.load_model(str(tmp_path / "m")).predict(X).tolist() == model.predict(X).tolist()
    with pytest.raises(ExportError, match="no name"):
        save_model(tb.NaiveBayes().fit(X.set_axis(["", "b"], axis=1), ["s", "s", "h", "h"]), tmp_path / "n")


def test_dates(tmp_path: Path) -> None:
    X = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=60, freq="17h"), "n": np.arange(60.0)})
    y = np.where(X["when"].dt.weekday > 4, "rest", "work")
    model = tb.NaiveBayes("gaussian").fit(X, y)
    save_model(model, tmp_path / "m")
    found = mlflow.pyfunc.load_model(str(tmp_path / "m")).predict(X, params={"method": "predict_proba"})
    np.testing.assert_array_equal(found.to_numpy(), model.predict_proba(X))


def test_it_is_logged_in_a_run(tmp_path: Path, monkeypatch: Any) -> None:
    X, y = mixed()
    model = tb.NaiveBayes().fit(X, y)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    with mlflow.start_run():
        info = log_model(model, "boats")
    assert mlflow.pyfunc.load_model(info.model_uri).predict(X).tolist() == model.predict(X).tolist()


def test_what_is_asked_wrongly_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    X, y = mixed()
    model = tb.NaiveBayes().fit(X, y)
    with pytest.raises(OptionError, match="method must be"):
        Answers(model).predict(X, {"method": "fit"})
    monkeypatch.setitem(sys.modules, "mlflow.pyfunc", None)
    with pytest.raises(OptionError, match="pip install mlflow"):
        save_model(model, tmp_path / "n")
