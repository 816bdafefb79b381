"""Models with dates, names of rows and texts, exported: the same answers as Python's, or a refusal that says why."""

from __future__ import annotations

import datetime as dt
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tallybayes as tb
from tallybayes.errors import ExportError
from tallybayes.reports import report
from tests.javascript import asked, need_javascript

MODELS: dict[str, Any] = {
    "naive": tb.NaiveBayes,
    "gaussian": lambda: tb.NaiveBayes("gaussian"),
    "tan": tb.TAN,
    "aode": tb.AODE,
    "lda": tb.LinearDiscriminantAnalysis,
    "ensemble": lambda: tb.BayesClassifier("fast", members=2),
}


def dated(n: int = 150, zone: str | None = None) -> tuple[pd.DataFrame, list[str]]:
    rng = np.random.default_rng(4)
    when = pd.Series(pd.date_range("2021-03-27 00:30", periods=n, freq="409min", tz=zone))
    warm = (when.dt.month > 3) & (when.dt.hour > 8)
    table = pd.DataFrame(
        {
            "when": when,
            "v": rng.normal(size=n) + warm,
            "born": (when - pd.to_timedelta(rng.integers(1, 30_000, n), unit="D")).dt.tz_localize(None).dt.date,
            "id": [f"id{i}" for i in range(n)],
        }
    )
    return table, np.where(warm, "warm", "cold").tolist()


def as_json(row: dict[str, Any]) -> dict[str, Any]:
    return {
        k: None if v is None or v is pd.NaT else v.isoformat() if isinstance(v, dt.date) else v for k, v in row.items()
    }


def quiet_fit(make: Any, X: Any, y: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make().fit(X, y)


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        *((name, None) for name in MODELS),
        *((n, z) for n in ("naive", "lda") for z in ("UTC", "Europe/Berlin", "+05:30")),
    ],
)
def test_javascript_reads_dates_as_python_does(name: str, zone: str | None, tmp_path: Path) -> None:
    need_javascript()
    table, y = dated(zone=zone)
    model = quiet_fit(MODELS[name], table, y)
    rows = [as_json(row) for row in table.iloc[::3].to_dict("records")]
    rows += [
        {"when": "2021-03-28T00:59:59.999999+00:00"},  # an hour is left out there
        {"when": "2021-10-31T01:00:00Z", "v": 0.5},
        {"when": "2021-10-31 00:30:00-0330", "id": None},
        {"when": "1969-12-31T23:59:59.5"},
        {"when": "2021-04-30", "born": "0001-01-01"},
        {"born": "9999-12-31T12:00", "when": None},
        {"when: days since 1970": 18_800.25, "v": 1.0},
        {},
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [list(model.predict_proba_one(row).values()) for row in rows]
    found = asked(tb.export.to_js(model), rows, "model.proba(row)", tmp_path)
    np.testing.assert_allclose(np.array(found, dtype=float), expected, atol=1e-9, rtol=0)


def test_times_of_day_and_durations(tmp_path: Path) -> None:
    need_javascript()
    rows = [{"at": dt.time(h % 24, 7 * h % 60, 30), "wait": dt.timedelta(hours=h)} for h in range(60)]
    model = quiet_fit(tb.GaussianNB, rows, [h % 3 == 0 for h in range(60)])
    given = [{"at": r["at"].isoformat(), "wait: days": r["wait"].total_seconds() / 86_400} for r in rows]  # type: ignore[attr-defined]
    found = asked(tb.export.to_js(model), given, "model.proba(row)", tmp_path)
    np.testing.assert_allclose(found, model.predict_proba(rows), atol=1e-9, rtol=0)


def test_what_is_no_date_is_refused(tmp_path: Path) -> None:
    need_javascript()
    table, y = dated()
    model = quiet_fit(tb.NaiveBayes, table, y)
    rows = [{"when": v} for v in ("soon", "2021-02-29", "2021-01-01T25:00", 7, True, "2021-13-01")]
    ask = "(() => { try { return model.proba(row); } catch (e) { return String(e); } })()"
    for said in asked(tb.export.to_js(model), rows, ask, tmp_path):
        assert 'give a date such as "2024-02-29"' in said
    for row in rows:
        with pytest.raises(ValueError, match="when"):
            model.predict_proba_one(row)
    (reported,) = asked(tb.export.to_js(model), [{"day": 1}], ask, tmp_path)
    assert 'no column "day"' in reported


def test_dates_of_javascript(tmp_path: Path) -> None:
    need_javascript()
    table, y = dated(zone="Europe/Berlin")
    model = quiet_fit(tb.NaiveBayes, table, y)
    (found,) = asked(tb.export.to_js(model), [{}], "model.proba({when: new Date(1620000000123)})", tmp_path)
    moment = dt.datetime.fromtimestamp(1_620_000_000.123, dt.UTC)
    np.testing.assert_allclose(found, list(model.predict_proba_one({"when": moment}).values()), atol=1e-9)


def test_json_describes_what_becomes_of_each_column() -> None:
    table, y = dated(zone="Europe/Berlin")
    found = json.loads(tb.export.to_json(quiet_fit(tb.NaiveBayes, table, y)))
    when, born, name = found["given"]
    assert (when["name"], when["what"], when["zone"]) == ("when", "datetime", "Europe/Berlin")
    assert when["parts"]["month"] == "when: month"
    assert (born["what"], born["zone"]) == ("date", None)
    assert name == {"name": "id", "what": "id", "parts": {}, "zone": None}
    parts = [*when["parts"].values(), "v", *born["parts"].values()]
    assert [column["name"] for column in found["columns"]] == parts
    assert json.loads(tb.export.to_json(quiet_fit(tb.NaiveBayes, table[["v"]], y)))["given"] == []


@pytest.mark.parametrize("name", [name for name in MODELS if name != "ensemble"])
def test_a_graph_takes_the_parts_of_dates(name: str) -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    table, y = dated(zone="Europe/Berlin")
    model = quiet_fit(MODELS[name], table, y)
    graph = tb.export.to_onnx(model)
    session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    wall = table["when"].dt
    born = pd.to_datetime(table["born"])
    local = wall.tz_localize(None)
    epoch, day = pd.Timestamp(1970, 1, 1), pd.Timedelta(days=1)
    parts: dict[str, Any] = {
        "when: days since 1970": (local - epoch) / day,
        "when: year": wall.year,
        "when: month": wall.strftime("%b"),
        "when: weekday": wall.strftime("%a"),
        "when: hour": wall.hour,
        "born: days since 1970": (born - epoch) / day,
        "born: year": born.dt.year,
        "born: month": born.dt.strftime("%b"),
        "born: weekday": born.dt.strftime("%a"),
        "v": table["v"],
    }
    numbers = {"month": (wall.month, born.dt.month), "weekday": (wall.day_of_week + 1, born.dt.day_of_week + 1)}
    feed = {}
    for each in session.get_inputs():
        values = parts[each.name]
        column, _, part = each.name.partition(": ")
        if each.type == "tensor(double)" and part in numbers:
            values = numbers[part][column == "born"]
        feed[each.name] = np.asarray(values, dtype=object if "string" in each.type else float)[:, None]
    _, found = session.run(None, feed)
    np.testing.assert_allclose(found, model.predict_proba(table), atol=1e-9, rtol=0)


def test_skl2onnx_refuses_what_does_not_come_as_it_is_read() -> None:
    convert = pytest.importorskip("skl2onnx")
    from skl2onnx.common.data_types import DoubleTensorType

    from tallybayes.export import skl2onnx

    skl2onnx.register()
    table, y = dated()
    for columns in (["when", "v"], ["v", "id"]):
        model = quiet_fit(tb.LinearDiscriminantAnalysis, table[columns], y)
        with pytest.raises(ExportError, match="is a date, or names rows"):
            convert.to_onnx(model, initial_types=[("X", DoubleTensorType([None, 2]))], target_opset=17)


@pytest.mark.parametrize("make", [lambda s: tb.NaiveBayes(schema=s), lambda s: tb.BayesClassifier("fast", schema=s)])
def test_texts_have_the_compact_form_alone(make: Any) -> None:
    rows = [{"note": f"a word or {i % 7} more of <b>them</b>", "v": float(i % 5)} for i in range(60)]
    y = ["a" if i % 2 else "b" for i in range(60)]
    model = quiet_fit(lambda: make({"note": "text"}), rows, y)
    exports = [tb.export.to_json, tb.export.to_js]
    try:
        import onnx  # noqa: F401

        exports.append(tb.export.to_onnx)
    except ImportError:
        pass
    for export in exports:
        with pytest.raises(ExportError, match=r"a text is split into words by tables of characters.*Columns: note"):
            export(model)
    assert "This page cannot compute predictions: " not in report(model, rows, y).html  # it has the compact form
