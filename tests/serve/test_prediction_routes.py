"""The service answers as Python does, whatever the form of the rows; whatever it cannot take has one clear problem."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import tallybayes as tb
from tallybayes.errors import OptionError
from tallybayes.serve import Limits, Settings, application
from tallybayes.serve import app as service
from tallybayes.serve.prediction_routes import PredictionRoutes

from .service import ARROW, LABELS, ROWS, ask, call, lifespan, melons

CSV = ",".join(ROWS[0]) + "\n" + "".join(",".join(map(str, r.values())) + "\n" for r in ROWS)


def stream(table: pa.Table, compression: str | None = None) -> bytes:
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return out.getvalue()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return melons(tmp_path_factory.mktemp("serve"))


@pytest.fixture(scope="module")
def app(path: Path) -> Any:
    return application(Settings(str(path), limits=Limits(body=200_000, rows=100, columns=50, cells=2000)))


@pytest.fixture(scope="module")
def P(path: Path) -> Any:
    return tb.load(path).predict_proba(ROWS)


# --- answers -----------------------------------------------------------------------------------------------------


def test_one_row_is_answered_to_the_bit(app: Any, P: Any) -> None:
    for row, expected in zip(ROWS, P, strict=True):
        got = ask(app, "/predict", {"row": row}).json
        assert got["probability"] == expected.tolist()
        assert got["prediction"] == ["no", "yes"][expected.argmax()]


@pytest.mark.parametrize("form", ["rows", "columns", "csv", "arrow"])
def test_many_rows_in_every_form(app: Any, P: Any, form: str) -> None:
    bodies: dict[str, tuple[Any, str]] = {
        "rows": ({"rows": ROWS}, "application/json"),
        "columns": ({"columns": {name: [r[name] for r in ROWS] for name in ROWS[0]}}, "application/json"),
        "csv": (CSV.encode(), "text/csv; charset=utf-8"),
        "arrow": (stream(pa.Table.from_pylist(ROWS)), ARROW),
    }
    body, kind = bodies[form]
    got = ask(app, "/predict", body, content_type=kind).json
    np.testing.assert_array_equal(got["probabilities"], P)
    assert got["classes"] == ["no", "yes"]


def test_tables_come_back_if_asked_for(app: Any, P: Any) -> None:
    got = ask(app, "/predict", {"rows": ROWS}, accept=ARROW)
    assert got.headers["content-type"] == ARROW
    table = pa.ipc.open_stream(got.body).read_all()
    assert table.column_names == ["prediction", "P(no)", "P(yes)"]
    np.testing.assert_array_equal(np.column_stack([table.column(1), table.column(2)]), P)
    got = ask(app, "/predict", {"row": ROWS[0]}, accept="text/csv")
    assert got.body.startswith(b'"prediction","P(no)","P(yes)"\n"yes",0.00227')
    assert ask(app, "/predict", {"rows": []}, accept=ARROW).status == 200
    assert ask(app, "/predict", {"rows": ROWS}, accept="image/png").status == 406


def test_rows_and_columns_in_any_order(tmp_path: Path) -> None:
    path = melons(tmp_path)
    app = application(Settings(str(path)))
    expected = tb.NaiveBayes().fit(ROWS, LABELS).predict_proba(ROWS).tolist()
    assert ask(app, "/predict", {"rows": ROWS}).json["probabilities"] == expected
    by_name = {name: [row[name] for row in ROWS] for name in reversed(ROWS[0])}
    assert ask(app, "/predict", {"columns": by_name}).json["probabilities"] == expected
    few = application(Settings(str(path), limits=Limits(rows=3)))
    assert ask(few, "/predict", {"rows": ROWS}).status == 413


def test_dates_as_texts(tmp_path: Path) -> None:
    days = [{"day": f"2024-{m:02d}-{d:02d}", "v": float(m)} for m in range(1, 13) for d in range(1, 20)]
    y = ["warm" if 4 < int(str(r["day"])[5:7]) < 10 else "cold" for r in days]
    table = {"day": pa.array([r["day"] for r in days]).cast(pa.timestamp("s")), "v": pa.array([r["v"] for r in days])}
    model = tb.NaiveBayes().fit(pa.table(table), y)
    tb.save(model, tmp_path / "days.tb")
    app = application(Settings(str(tmp_path / "days.tb")))
    got = ask(app, "/predict", {"rows": days}).json["probabilities"]
    assert got == model.predict_proba(pa.table(table)).tolist()


@pytest.mark.parametrize("body", [{"rows": []}, {"columns": {}}, {"columns": {"density": []}}])
def test_no_rows_no_answers(app: Any, body: Any) -> None:
    assert ask(app, "/predict", body).json["predictions"] == []
    assert ask(app, "/explain", body).json["rows"] == []
    loss = {"loss": {"no": {"*": 1}, "yes": {"*": 1}}}
    assert ask(app, "/decide", {**body, **loss}).json["decisions"] == []


def test_what_is_left_out_is_missing(app: Any, path: Path) -> None:
    model = tb.load(path)
    for row in ({}, {"density": None}, {"density": 0.5}, {"color": "green"}):
        expected = list(model.predict_proba_one(row).values())
        assert ask(app, "/predict", {"row": row}).json["probability"] == expected
        assert ask(app, "/predict", {"rows": [row, {}]}).json["probabilities"][0] == expected
    assert ask(app, "/predict", b"density\n0.5\n\n", content_type="text/csv").json["probabilities"] == [
        list(model.predict_proba_one({"density": 0.5}).values())
    ]


def test_an_unseen_category_is_named_beside_the_prediction(app: Any) -> None:
    for body in ({"row": {"color": "blue"}}, {"rows": [{"color": "blue"}]}, {"columns": {"color": ["blue"]}}):
        (note,) = ask(app, "/predict", body).json["notes"]
        assert note == (
            "Categories that were not seen while learning, in column(s) 'color': their factors are left out."
        )
    assert "notes" in ask(app, "/explain", {"row": {"color": "blue"}}).json


def test_another_prior_for_one_question(app: Any, path: Path) -> None:
    model = tb.load(path)
    for given, prior in (("uniform", "uniform"), ({"no": 0.9, "yes": 0.1}, [0.9, 0.1]), ([0.9, 0.1], [0.9, 0.1])):
        expected = model.predict_proba(ROWS[:2], priors=prior).tolist()
        assert ask(app, "/predict", {"rows": ROWS[:2], "prior": given}).json["probabilities"] == expected
        assert ask(app, "/predict", {"row": ROWS[0], "prior": given}).json["probability"] == expected[0]
        said = ask(app, "/explain", {"row": ROWS[0], "prior": given}).json["rows"][0]
        np.testing.assert_allclose(said["probability"], expected[0], rtol=1e-12)


def test_explanations_add_up(app: Any, path: Path) -> None:
    got = ask(app, "/explain", {"rows": ROWS[:3], "against": "no"}).json
    for said, row in zip(got["rows"], ROWS, strict=False):
        total = np.array(said["prior"]) + np.sum([e["contribution"] for e in said["evidence"]], axis=0)
        np.testing.assert_allclose(said["log_odds"], total)
        assert [e["value"] for e in said["evidence"]] == list(row.values())
    assert got["rows"][0]["text"] == tb.load(path).explain(ROWS[:1], against="no").text()


def test_decisions_are_those_of_python(app: Any) -> None:
    loss = {("yes", "no"): 5.0, ("no", "yes"): 1.0, ("taste", ...): 0.1}
    expected = tb.BayesDecision(tb.NaiveBayes(), loss=loss).fit(ROWS, LABELS)
    body = {"rows": ROWS, "loss": {"yes": {"no": 5}, "no": {"yes": 1}, "taste": {"*": 0.1}}}
    got = ask(app, "/decide", body).json
    assert got["decisions"] == expected.predict(ROWS).tolist()
    np.testing.assert_allclose(got["risks"], expected.conditional_risk(ROWS))
    rejected = ask(app, "/decide", {"row": {}, "loss": {"yes": {"no": 1}, "no": {"yes": 1}}, "reject": 0.1}).json
    assert rejected["decision"] is None
    assert len(rejected["risk"]) == 2


def test_labels_that_are_no_texts(tmp_path: Path) -> None:
    for labels in ([0, 1, 1, 0], [False, True, True, False], [3.0, 4.0, 4.0, 3.0]):
        tb.save(tb.GaussianNB().fit([[1.0], [5.0], [6.0], [2.0]], labels), tmp_path / "m")
        app = application(Settings(str(tmp_path / "m")))
        got = ask(app, "/predict", {"row": {"x0": 1.4}, "prior": {json.dumps(v): 0.5 for v in set(labels)}}).json
        assert got["prediction"] == labels[0]
        assert got["classes"] == sorted(set(labels))
        assert ask(app, "/predict", {"row": {"x0": 1.4}}, accept="text/csv").status == 200
        assert ask(app, "/predict", b"x0\n1.4\n", content_type="text/csv").json["predictions"] == labels[:1]
        assert ask(app, "/model").json["columns"] == [{"name": "x0", "kind": "real"}]


@pytest.mark.parametrize("model", [tb.BayesClassifier(), tb.TAN(), tb.NaiveBayes("kernel"), tb.AODE()], ids=str)
def test_models_without_a_compiled_row(tmp_path: Path, model: Any) -> None:
    model.fit(ROWS, LABELS)
    tb.save(model, tmp_path / "m")
    app = application(Settings(str(tmp_path / "m")))
    P = model.predict_proba(ROWS)
    np.testing.assert_array_equal(ask(app, "/predict", {"rows": ROWS}).json["probabilities"], P)
    np.testing.assert_array_equal(ask(app, "/predict", {"row": ROWS[3]}).json["probability"], P[3])
    assert ask(app, "/explain", {"row": ROWS[3]}).status == 200


# --- refusals ----------------------------------------------------------------------------------------------------

BAD = [
    (b"", 400, "no JSON"),
    (b"\xff\xfe{}", 400, "no JSON"),
    (b'{"row": {"density": NaN}}', 400, "no JSON"),
    (b'{"row": {"density": 1}} x', 400, "trailing"),
    (b'{"row": {"color": "\\ud800"}}', 400, "no JSON"),
    (b'{"row": {"color": "\xff"}}', 400, "no JSON"),
    (b'{"row": {"density": 1e999}}', 422, "out of range"),
    (b'{"row": {"density": 1' + b"0" * 400 + b"}}", 422, "too large"),
    (b'{"row": {"density": 1' + b"0" * 9000 + b"}}", 422, "out of range"),
    (b'{"row": {"density": 1, "density": 2}}', 422, "twice"),
    (b'{"row": {}, "row": {}}', 422, "twice"),
    (b'{"rows": [{"color": "a", "color": "b"}]}', 422, "twice"),
    (b'{"row":' * 20_000, 422, "got `object`"),
    (b"[" * 20_000, 422, "got `array`"),
    (b'{"row": {"density": [1]}}', 422, "got `array`"),
    (b'{"row": null}', 422, "got `null`"),
    (b'{"rows": [null]}', 422, "at `rows[0]`"),
    (b'{"roww": {}}', 422, "unknown field `roww`"),
    (b"{}", 422, "one of row, rows or columns; got none"),
    (b'{"row": {}, "rows": []}', 422, "got row and rows"),
    (b'{"row": {"densty": 1}}', 422, "no column 'densty'"),
    (b'{"rows": [{"densty": 1}]}', 422, "no column 'densty'"),
    (b'{"columns": {"densty": [1]}}', 422, "no column 'densty'"),
    (b'{"columns": {"density": [1], "sugar": [1, 2]}}', 422, "from 1 to 2 values"),
    (b'{"row": {"density": "much"}}', 422, "not numbers"),
    (b'{"rows": [{"color": "a"}, {"color": 3}]}', 422, "mixes numbers"),
    (b'{"row": {}, "prior": "fair"}', 422, "Invalid enum value"),
    (b'{"row": {}, "prior": [1]}', 422, "one share for each class"),
    (b'{"row": {}, "prior": {"maybe": 1}}', 422, "the classes are 'no', 'yes'"),
    (b'{"rows": [' + b",".join([b"{}"] * 101) + b"]}", 413, "100 are taken at a time"),
    (b'{"row": {"color": "' + b"a" * 200_000 + b'"}}', 413, "longer than 200,000 bytes"),
]


@pytest.mark.parametrize(("body", "status", "said"), BAD, ids=[str(b[0][:30]) for b in BAD])
def test_bad_json_has_one_clear_problem(app: Any, body: bytes, status: int, said: str) -> None:
    got = ask(app, "/predict", body)
    assert got.status == status, got
    assert got.headers["content-type"] == "application/problem+json"
    assert got.json["status"] == status
    assert said in got.json["detail"]


def test_a_problem_names_the_cell(app: Any) -> None:
    got = ask(app, "/predict", {"rows": [{"density": 1.0}, {"density": "much"}]}).json
    assert (got["column"], got["row"], got["value"]) == ("density", 1, "'much'")
    got = ask(app, "/predict", b"color,density\na,1\nb,much\n", content_type="text/csv").json
    assert (got["column"], got["row"], got["value"]) == ("density", 1, "'much'")


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"", "text/csv", 400),
        (b"density\n1\n2,3\n", "text/csv", 400),
        (b"density,density\n1,2\n", "text/csv", 422),
        (b"densty\n1\n", "text/csv", 422),
        (b"density\n\xff\n", "text/csv", 422),
        (b"color\n\xff\n", "text/csv", 422),
        (b'color\n"a\n', "text/csv", 400),
        (b",".join([b"x"] * 51) + b"\n", "text/csv", 413),
        (b"density\n" + b"1\n" * 101, "text/csv", 413),
        (b"density\n1\n", "text/csv; charset=latin-1", 415),
        (b"x", ARROW, 400),
        (b"", ARROW, 400),
        (stream(pa.table({"density": [1.0]}))[:-60], ARROW, 400),
        (stream(pa.table({"density": [1.0] * 50}), "zstd"), ARROW, 422),
        (stream(pa.table({"color": pa.array(["a"] * 50).dictionary_encode()}), "lz4"), ARROW, 422),
        (stream(pa.table({"density": pa.nulls(101)})), ARROW, 413),
        (stream(pa.table({"density": [[1.0]]})), ARROW, 422),
        (stream(pa.table({f"x{j}": [1.0] for j in range(51)})), ARROW, 413),
        (b"<row/>", "text/xml", 415),
    ],
)
def test_bad_tables_have_one_clear_problem(app: Any, body: bytes, kind: str, status: int) -> None:
    got = ask(app, "/predict", body, content_type=kind, method="POST")
    assert got.status == status, got
    assert got.json["status"] == status


def test_arrow_with_offsets_out_of_bounds_is_refused(app: Any) -> None:
    """Bytes of a sound stream changed one by one: a problem or an answer, and the process goes on."""
    good = stream(pa.table({"color": ["green", "dark"], "density": [0.5, 0.1]}))
    rng = np.random.default_rng(0)
    seen = set()
    for at in rng.integers(0, len(good), 400).tolist():
        bad = bytearray(good)
        bad[at] = int(rng.integers(0, 256))
        seen.add(ask(app, "/predict", bytes(bad), content_type=ARROW).status)
    assert seen <= {200, 400, 413, 422}
    assert 400 in seen


def test_columns_of_nothing_and_of_one_kind(app: Any, path: Path) -> None:
    nothing = ask(app, "/predict", stream(pa.table({"color": pa.nulls(2)})), content_type=ARROW).json
    assert nothing["probabilities"] == tb.load(path).predict_proba([{}, {}]).tolist()
    empty = stream(pa.table({"color": pa.array([], pa.string())}))
    assert ask(app, "/predict", empty, content_type=ARROW).json["predictions"] == []


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        ({}, "The loss is empty"),
        ({"yes": {}}, "loss of the decision 'yes' is empty"),
        ({"yes": {"no": 1}}, "the class '*' stands for those not named"),
        ({"yes": {"maybe": 1}}, "the classes are 'no', 'yes'"),
    ],
)
def test_bad_losses(app: Any, loss: Any, said: str) -> None:
    got = ask(app, "/decide", {"row": {}, "loss": loss})
    assert got.status == 422
    assert said in got.json["detail"]


def test_an_explanation_may_be_too_long(app: Any) -> None:
    got = ask(app, "/explain", {"rows": [{}] * 100 + [{}] * 0, "against": "no"})
    assert got.status == 200
    got = ask(
        application(Settings(app.state.service.settings.path, limits=Limits(cells=100))),
        "/explain",
        {"rows": [{}] * 20},
    )
    assert got.status == 413
    assert "Send 6 at a time" in got.json["detail"]


@pytest.mark.parametrize(
    ("path_", "method", "status"),
    [("/predict", "GET", 405), ("/predict", "PUT", 405), ("/model", "POST", 405), ("/nothing", "GET", 404),
     ("/model", "OPTIONS", 405), ("/model", "HEAD", 200), ("/learn", "POST", 404), ("/forget", "POST", 404)],
)  # fmt: skip
def test_methods(app: Any, path_: str, method: str, status: int) -> None:
    got = ask(app, path_, b"{}" if method == "POST" else None, method=method)
    assert got.status == status
    assert ("allow" in got.headers) == (status == 405)


def test_a_mistake_of_ours_leaves_no_traceback(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("a secret")

    monkeypatch.setattr(PredictionRoutes, "_predicted", broken)
    got = ask(application(Settings(str(path))), "/predict", {"row": {}})
    assert got.status == 500
    assert b"secret" not in got.body
    assert b"Traceback" not in got.body
    number = got.json["detail"].split()[-1].rstrip(".")
    assert number in caplog.text


def test_too_little_memory_is_reported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PredictionRoutes, "_predicted", lambda *_: bytearray(1 << 62))
    got = ask(application(Settings(str(path))), "/predict", {"row": {}})
    assert got.status == 503
    assert got.json["detail"] == "There is not enough memory for this now. Send fewer rows."


def test_a_decision_is_served_with_its_own_losses(tmp_path: Path) -> None:
    loss = {("yes", "no"): 20, ("no", "yes"): 1, ("taste it", ...): 0.5}
    model = tb.BayesDecision(tb.NaiveBayes(), loss).fit(ROWS, LABELS)
    tb.save(model, tmp_path / "m.tb")
    app = application(Settings(str(tmp_path / "m.tb")))
    got = ask(app, "/decide", {"rows": ROWS}).json
    assert got["decisions"] == model.predict(ROWS).tolist()
    np.testing.assert_array_equal(got["risks"], model.conditional_risk(ROWS))
    other = ask(app, "/decide", {"row": ROWS[0], "loss": {"no": {"yes": 100}, "yes": {"no": 1}}}).json
    assert other["answers"] == ["no", "yes"]
    assert ask(app, "/predict", {"rows": ROWS}).json["probabilities"] == model.predict_proba(ROWS).tolist()
    assert "loss" not in ask(app, "/openapi.json").json["components"]["schemas"]["Decide"]["oneOf"][0]["required"]
    with pytest.raises(OptionError, match="--learn would write the classifier alone"):
        application(Settings(str(tmp_path / "m.tb"), learn=True))


def test_without_losses_anywhere_they_are_asked_for(app: Any) -> None:
    got = ask(app, "/decide", {"row": ROWS[0]})
    assert got.status == 422
    assert "Send what each decision costs" in got.json["detail"]


def test_losses_that_hang_on_an_amount_are_asked_for(tmp_path: Path) -> None:
    model = tb.BayesDecision(tb.NaiveBayes(), amount_loss={("yes", "no"): 1.0}).fit(ROWS, LABELS)
    tb.save(model, tmp_path / "m.tb")
    got = ask(application(Settings(str(tmp_path / "m.tb"))), "/decide", {"row": ROWS[0]})
    assert got.status == 422
    assert "depend on an amount" in got.json["detail"]


def test_texts_in_every_form(tmp_path: Path) -> None:
    texts = ["free money now", "win, free money", "lunch at noon", 'see you "at" noon', ""]
    X = pa.table({"text": texts, "n": [1.0, 2.0, 1.5, 0.5, 1.0]})
    model = tb.NaiveBayes("gaussian", schema={"text": "text"}).fit(X, ["spam", "spam", "ham", "ham", "ham"])
    tb.save(model, tmp_path / "m.tb")
    app = application(Settings(str(tmp_path / "m.tb")))
    expected = model.predict_proba(X).tolist()
    out = io.BytesIO()
    pa.csv.write_csv(X, out)
    bodies: list[tuple[Any, str]] = [
        ({"rows": X.to_pylist()}, "application/json"),
        ({"columns": X.to_pydict()}, "application/json"),
        (out.getvalue(), "text/csv"),
        (stream(X), ARROW),
    ]
    for body, kind in bodies:
        assert ask(app, "/predict", body, content_type=kind).json["probabilities"] == expected
    assert ask(app, "/predict", {"row": X.to_pylist()[1]}).json["probability"] == expected[1]
    said = ask(app, "/explain", {"row": X.to_pylist()[0]}).json["rows"][0]["text"]
    assert "money" in said
    assert ask(app, "/", None).status == 200
    refused = ask(app, "/description", None)
    assert refused.status == 422
    assert "split into words" in refused.json["detail"]


@pytest.mark.parametrize(
    ("asked", "body", "status", "said"),
    [
        ("/predict", {"color": "green"}, 422, 'one row goes under "row", many under "rows"'),
        ("/decide", {"row": {}, "lost": {}}, 422, "row, rows, columns, prior, loss, reject"),
        ("/predict", b'{"row":{"sugar":0.1,"density":1e999}}', 422, "(column 'density')"),
        ("/predict", b'{"rows":[{"sugar":1},{"sugar":[1]}]}', 422, "(column 'sugar')"),
        ("/predict", b'{"columns":{"sugar":[1,-1e999]}}', 422, "(column 'sugar')"),
        ("/predict", {"row": {"Colour": "green"}}, 422, "Did you mean 'color'?"),
        ("/predict", {"row": {}, "prior": {"no": 1}}, 422, "got ['no'], the classes are ['no', 'yes']"),
        ("/predict", {"row": {}, "prior": [1]}, 422, "A prior has one share for each class: got 1 for 2 classes"),
        ("/learn", {"row": {}, "label": "no"}, 404, "started without --learn"),
        ("/examples", None, 404, "started without --learn"),
    ],
)
def test_a_refusal_names_what_goes_there(app: Any, asked: str, body: Any, status: int, said: str) -> None:
    got = ask(app, asked, body)
    assert got.status == status
    assert said in got.json["detail"]


def test_a_cell_that_is_refused_is_named(app: Any) -> None:
    assert ask(app, "/predict", b'{"rows":[{"sugar":1},{"sugar":1e999}]}').json.items() >= {
        ("column", "sugar"),
        ("row", 1),
    }
    form = ask(app, "/predict", b"a=1", content_type="application/x-www-form-urlencoded")
    assert form.json["detail"].endswith("got 'application/x-www-form-urlencoded'.")


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("application/*", "application/json"),
        ("image/png, */*;q=0.1", "application/json"),
        ("text/*", "text/csv"),
        ("TEXT/CSV", "text/csv"),
        ("", "application/json"),
        ("text/html, text/csv;q=0.9, application/json;q=0.8", "text/csv"),
        ("text/csv;q=0, application/json", "application/json"),
        ("text/csv; q=0.1, application/json;charset=utf-8; q=0.5", "application/json"),
    ],
)
def test_the_form_that_is_asked_for(app: Any, accept: str, kind: str) -> None:
    assert ask(app, "/predict", {"row": ROWS[0]}, accept=accept).headers["content-type"] == kind


def test_what_is_explained_and_decided_comes_as_json(app: Any) -> None:
    for path_ in ("/explain", "/decide"):
        assert ask(app, path_, b"density\n0.5\n", content_type="text/csv").status == 415


def test_a_class_that_is_none_is_nothing_to_compare_with(app: Any) -> None:
    got = ask(app, "/explain", {"row": ROWS[0], "against": "maybe"})
    assert got.status == 422
    assert got.json["detail"] == "'maybe' is not a class. The classes are 'no', 'yes'."


def test_a_decision_has_its_notes_too(app: Any) -> None:
    body = {"row": {"color": "blue"}, "loss": {"yes": {"no": 1}, "no": {"yes": 1}}}
    (note,) = ask(app, "/decide", body).json["notes"]
    assert "'color'" in note


def test_evidence_beyond_all_numbers_is_written_in_words(tmp_path: Path) -> None:
    """A level that a class never had rules it out; JSON has no infinity."""
    rows = [{"sky": "clear"}, {"sky": "clear"}, {"sky": "grey"}, {"sky": "clear"}]
    tb.save(tb.NaiveBayes(alpha=0).fit(rows, ["sail", "sail", "stay", "stay"]), tmp_path / "m")
    got = ask(application(Settings(str(tmp_path / "m"))), "/explain", {"row": {"sky": "grey"}}).json
    (said,) = got["rows"]
    assert said["probability"] == [0.0, 1.0]
    assert said["log_odds"] == ["-Infinity", "Infinity"]
    assert said["evidence"][0]["contribution"] == ["-Infinity", "Infinity"]


def test_a_date_that_is_none_is_refused_as_in_python(tmp_path: Path) -> None:
    days = [{"day": f"2024-0{1 + i % 9}-{10 + i}", "n": float(i)} for i in range(12)]
    model = tb.NaiveBayes(schema={"day": "date"}).fit(days, ["a", "b"] * 6)
    tb.save(model, tmp_path / "m")
    app = application(Settings(str(tmp_path / "m")))
    assert ask(app, "/predict", {"rows": days}).json["probabilities"] == model.predict_proba(days).tolist()
    for form in ({"rows": [{"day": "soon"}, {"day": "2024-01-01"}]}, {"columns": {"day": ["soon", "2024-01-01"]}}):
        got = ask(app, "/predict", form)
        assert got.status == 422
        assert "soon" in got.json["detail"]


def test_who_has_left_is_not_answered(path: Path) -> None:
    """In the middle of a body, or before it: nothing is sent, and nothing is counted."""
    app = application(Settings(str(path)))
    begun = {"type": "http.request", "body": b"{", "more_body": True}
    for messages in ([{"type": "http.disconnect"}], [begun, {"type": "http.disconnect"}]):
        assert reported(app, messages) == []
    assert b'status="200"' not in ask(app, "/metrics").body


def test_a_body_in_parts(path: Path) -> None:
    body = json.dumps({"row": ROWS[0]}).encode()
    parts = [{"type": "http.request", "body": body[i : i + 10], "more_body": True} for i in range(0, len(body), 10)]
    start, content = reported(application(Settings(str(path))), [*parts, {"type": "http.request", "body": b""}])
    assert start["status"] == 200
    assert json.loads(content["body"])["prediction"] == "yes"
    small = application(Settings(str(path), limits=Limits(body=25)))
    start, _ = reported(small, parts)
    assert start["status"] == 413


def test_lengths_that_are_none(path: Path) -> None:
    """No server hands these on; the body is what counts."""
    app = application(Settings(str(path), limits=Limits(body=200)))
    for length in ("much", "-1", "9" * 5000):
        assert ask(app, "/predict", {"row": {}}, content_length=length).status == 200
    assert ask(app, "/predict", {"row": {}}, content_length="201").status == 413


def reported(app: Any, messages: list[Any]) -> list[Any]:
    """What is sent for a question whose body comes in these messages."""
    sent: list[Any] = []

    async def receive() -> Any:
        return next(coming)

    async def send(message: Any) -> None:
        sent.append(message)

    coming = iter(messages)
    headers = [(b"host", b"localhost")]
    scope = {"type": "http", "method": "POST", "path": "/predict", "query_string": b"", "headers": headers}
    asyncio.run(app(scope, receive, send))
    return sent


def test_a_service_is_ready_between_start_and_stop(path: Path) -> None:
    async def go() -> list[int]:
        app = application(Settings(str(path)))
        found = [(await call(app, "/readyz")).status]
        async with lifespan(app):
            found.append((await call(app, "/readyz")).status)
        return [*found, (await call(app, "/readyz")).status]

    assert asyncio.run(go()) == [503, 200, 503]


def test_a_model_file_that_is_gone_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "POLL_SECONDS", 0.01)
    path = melons(tmp_path)

    async def go() -> None:
        app = application(Settings(str(path)))
        async with lifespan(app):
            path.unlink()
            looked = asyncio.Event()
            live = app.state.service.live
            true, loop = live.replaced, asyncio.get_running_loop()
            live.replaced = lambda: [true(), loop.call_soon_threadsafe(looked.set)][0]
            await looked.wait()
            assert (await call(app, "/predict", {"row": ROWS[0]})).json["prediction"] == "yes"
            tb.save(tb.NaiveBayes().fit(ROWS, ["yes" if v == "no" else "no" for v in LABELS]), path)
            for _ in range(1000):
                if (await call(app, "/model")).json["generation"] == 2:
                    break
                await asyncio.sleep(0.01)
            assert (await call(app, "/predict", {"row": ROWS[0]})).json["prediction"] == "no"

    asyncio.run(go())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"body": 0}, "The limit body must be a whole number of at least 1; got 0"),
        ({"rows": 1.5}, "The limit rows must be a whole number of at least 1; got 1.5"),
        ({"columns": True}, "The limit columns must be a whole number of at least 1; got True"),
        ({"seconds": 0}, "The limit seconds must be a number above 0; got 0"),
        ({"seconds": "ten"}, "The limit seconds must be a number above 0; got 'ten'"),
    ],
)
def test_limits_that_are_none(options: Any, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        Limits(**options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"workers": 0}, "workers must be at least 1; got 0"),
        ({"snapshot_every": 0}, "snapshot_every must be at least 1; got 0"),
        ({"new_classes": True}, "--new-classes goes with --learn"),
    ],
)
def test_settings_that_are_none(options: Any, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        Settings("model.tb", **options)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# nobody\n", "holds no token. Write lines such as"),
        ("read\n", "line 1: expected 'read TOKEN' or 'learn TOKEN'"),
        ("\nwrite aaaaaaaaaaaaaaaaaaaaaaaa\n", "line 2: expected 'read TOKEN' or 'learn TOKEN'"),
        ("read short\n", "line 1: a token is at least"),
        (f"read {'a' * 20} {'b' * 20}\n", "line 1: a token is at least"),
        (f"learn {'ä' * 20}\n", "line 1: a token is at least"),
    ],
)
def test_files_of_tokens_that_are_none(path: Path, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "tokens").write_text(text)
    with pytest.raises(OptionError, match=said):
        application(Settings(str(path), token_file=str(tmp_path / "tokens")))


@pytest.mark.parametrize("text", ["\ufeffread {}\r\n", "read\t{}  # may predict", "\n  # ours\nread    {}\n"])
def test_files_of_tokens_of_every_editor(path: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "tokens").write_text(text.format("r" * 20), encoding="utf-8")
    app = application(Settings(str(path), token_file=str(tmp_path / "tokens")))
    assert ask(app, "/model", authorization=f"Bearer {'r' * 20}").status == 200
    assert ask(app, "/model").status == 401


def test_the_document_describes_what_tokens_and_examples_need(path: Path, tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text(f"read {'r' * 20}\n")
    app = application(Settings(str(path), token_file=str(tmp_path / "tokens")))
    found = ask(app, "/openapi.json", authorization=f"Bearer {'r' * 20}").json
    assert found["security"] == [{"token": []}]
    assert found["components"]["securitySchemes"]["token"] == {"type": "http", "scheme": "bearer"}
    assert "401" in found["paths"]["/predict"]["post"]["responses"]
    assert "/learn" not in found["paths"]
    assert "security" not in ask(application(Settings(str(path))), "/openapi.json").json


def test_a_row_of_very_many_columns_is_described_in_general(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(6, 2000))
    tb.save(tb.GaussianNB().fit(X, [0, 1] * 3), tmp_path / "m")
    app = application(Settings(str(tmp_path / "m")))
    row = ask(app, "/openapi.json").json["components"]["schemas"]["Row"]
    assert "properties" not in row
    assert ask(app, "/predict", {"row": {f"x{j}": 0.0 for j in range(2000)}}).status == 200


@pytest.mark.parametrize("package", ["msgspec", "starlette", "pyarrow"])
def test_a_service_without_its_packages_names_the_extra(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tb.save(tb.NaiveBayes().fit([{"sky": "clear"}, {"sky": "grey"}], ["sail", "stay"]), tmp_path / "m.tb")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(OptionError, match=rf"{package}.* pip install 'tallybayes\[serve\]'"):
        application(Settings(str(tmp_path / "m.tb")))
