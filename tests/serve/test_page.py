"""The live page at `/` asks the server, whatever the model; in a real browser where there is one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tallybayes as tb
from tallybayes.reports import whatif
from tallybayes.serve import Settings, application
from tallybayes.serve.store import Example
from tests.web.browser import browser

from .service import LABELS, ROWS, ask, melons, serving

CLASSES, COLUMNS = 200, 300


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as found:
        yield found


def mixed(n: int = 400) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "noise": rng.choice(["<b>x</b>", "y"], n),
            "length": rng.normal(10, 3, n).round(2),
            "color": rng.choice(["red", "green", "blue"], n),
            "visits": rng.poisson(3.0, n),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
        }
    )
    return X, np.where(X["length"] + X["visits"] + rng.normal(0, 2, n) > 12, "yes", "no")


def controls(app: Any) -> dict[str, Any]:
    return {c["name"]: c for c in ask(app, "/controls").json}


def test_the_page_and_its_controls(tmp_path: Path) -> None:
    X, y = mixed()
    tb.save(tb.BayesClassifier("fast").fit(X, y), tmp_path / "m", notes={"target": "<i>late</i>"})
    app = application(Settings(str(tmp_path / "m")))
    got = ask(app, "/")
    assert got.headers["content-type"] == "text/html; charset=utf-8"
    assert "frame-ancestors 'none'" in got.headers["content-security-policy"]
    assert "default-src 'none'" in got.headers["content-security-policy"]
    assert b"&lt;i&gt;late&lt;/i&gt;" in got.body
    assert b"<i>late" not in got.body
    found = controls(app)
    assert next(iter(found)) in ("length", "visits")  # the most informative first
    assert set(found) == set(X.columns)  # one control for a date
    assert found["day"]["kind"] == "date"
    assert abs(pd.Timestamp(found["day"]["usual"]) - X["day"].median()) <= pd.Timedelta(days=3)
    assert found["visits"]["step"] == 1
    assert found["visits"]["usual"] == round(found["visits"]["usual"])
    assert sorted(found["color"]["levels"]) == ["blue", "green", "red"]
    usual = {name: c.get("usual") for name, c in found.items()}
    assert abs(usual["length"] - X["length"].median()) < 0.2
    assert usual["visits"] == X["visits"].median()
    assert usual["color"] == X["color"].mode()[0]
    assert ask(app, "/predict", {"row": usual}).status == 200


def test_what_most_rows_have_not_is_missing_in_a_usual_row(tmp_path: Path) -> None:
    rows = [{"deck": "C" if k % 4 == 0 else None, "age": float(k), "sex": "fm"[k % 3 > 0]} for k in range(60)]
    tb.save(tb.BayesClassifier().fit(rows, [k % 2 for k in range(60)]), tmp_path / "m")
    found = controls(application(Settings(str(tmp_path / "m"))))
    assert "usual" not in found["deck"]
    assert found["sex"]["usual"] == "m"
    assert abs(found["age"]["usual"] - 29.5) <= 1


def test_a_text_starts_with_telling_words(tmp_path: Path) -> None:
    texts = ["free money now", "free prize", "lunch at noon", "see you at lunch"] * 5
    model = tb.BayesClassifier("fast", schema={"t": "text"}).fit(
        [{"t": t} for t in texts], ["spam", "spam", "ham", "ham"] * 5
    )
    tb.save(model, tmp_path / "m")
    (control,) = ask(application(Settings(str(tmp_path / "m"))), "/controls").json
    assert control["kind"] == "text"
    assert {"free", "lunch"} <= set(control["usual"].split())


def test_a_level_that_was_forgotten_is_offered_to_nobody(tmp_path: Path) -> None:
    for model in (tb.NaiveBayes(), tb.BayesClassifier(), tb.TAN()):
        tb.save(model.fit(ROWS, LABELS), tmp_path / "m")
        app = application(Settings(str(tmp_path / "m"), learn=True))
        ledger = app.state.service.learner.ledger
        with ledger.transaction():
            ledger.learn([Example("a", {**ROWS[0], "color": "plum"}, "yes", 0.0)])
        assert "plum" in controls(app)["color"]["levels"]
        ledger.forget(["a"], None)
        assert sorted(controls(app)["color"]["levels"]) == sorted({row["color"] for row in ROWS})
        _, columns = whatif.embedded(ledger.model.predictor_)  # the report's what-if, too
        hidden = whatif.controls(ledger.model.predictor_, columns, [])["columns"][0].get("hidden", [])
        shown = [v for code, v in enumerate(columns[0]["levels"]) if code not in hidden]
        assert sorted(shown) == sorted({row["color"] for row in ROWS})
        ledger.close()
        (tmp_path / "m.sqlite").unlink()


def test_models_of_every_form_have_controls(tmp_path: Path) -> None:
    for model in (tb.NaiveBayes("kernel"), tb.TAN(), tb.AODE(), tb.LinearDiscriminantAnalysis()):
        numbers = [[row["density"], row["sugar"]] for row in ROWS]
        tb.save(
            model.fit(numbers if isinstance(model, tb.LinearDiscriminantAnalysis) else ROWS, LABELS), tmp_path / "m"
        )
        app = application(Settings(str(tmp_path / "m")))
        usual = {name: c.get("usual") for name, c in controls(app).items()}
        assert ask(app, "/explain", {"row": usual}).status == 200


def test_the_description_of_the_model(tmp_path: Path) -> None:
    app = application(Settings(str(melons(tmp_path))))
    assert ask(app, "/description").json == json.loads(tb.export.to_json(tb.load(tmp_path / "model.tb")))


class Shown:
    """The page in a browser, and what went wrong there."""

    def __init__(self, chromium: Any, port: int, **options: Any) -> None:
        self.page = chromium.new_context(**options).new_page()
        self.problems: list[str] = []
        self.page.on("console", lambda m: self.problems.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda e: self.problems.append(str(e)))
        self.page.goto(f"http://127.0.0.1:{port}/")
        self.page.wait_for_selector("#evidence li")

    def wait_for(self, expected: Any) -> None:
        """Until the page shows these probabilities."""
        self.page.wait_for_function(
            "p => JSON.parse(document.body.dataset.proba).every((v, k) => Math.abs(v - p[k]) < 1e-9)",
            arg=np.asarray(expected).tolist(),
        )


def test_the_default_model_in_a_browser(tmp_path: Path, chromium: Any) -> None:
    X, y = mixed()
    model = tb.BayesClassifier().fit(X, y)
    tb.save(model, tmp_path / "m")
    with serving(tmp_path / "m") as service:
        shown = Shown(chromium, service.port, viewport={"width": 390, "height": 700})
        page = shown.page
        page.get_by_role("button", name="All missing").click()
        shown.wait_for(model.predict_proba([{}])[0])
        page.get_by_label("length", exact=True).fill("15.5")
        page.get_by_label("noise", exact=True).select_option(label="<b>x</b>")
        shown.wait_for(model.predict_proba([{"length": 15.5, "noise": "<b>x</b>"}])[0])
        assert page.locator("#evidence li").first.inner_text().startswith("length = 15.5")
        best = model.predict([{"length": 15.5, "noise": "<b>x</b>"}])[0]
        assert page.locator("#prediction").inner_text().startswith(f"{best},")
        page.get_by_label("day", exact=True).fill("2024-03-01")
        row = {"length": 15.5, "noise": "<b>x</b>", "day": "2024-03-01"}
        shown.wait_for(service.ask("/predict", {"row": row}).json["probability"])
        page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
        top = page.locator("#prediction").bounding_box()
        assert 0 <= top["y"] < 200  # the prediction stays in view
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert shown.problems == []


def test_many_classes_and_columns_in_a_browser(tmp_path: Path, chromium: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * CLASSES, COLUMNS))
    y = np.arange(2 * CLASSES) % CLASSES
    X[:, 250] += y  # the one that tells the classes apart
    model = tb.GaussianNB().fit(X, [f"class {k}" for k in y])
    tb.save(model, tmp_path / "m")
    with serving(tmp_path / "m") as service:
        shown = Shown(chromium, service.port)
        page = shown.page
        assert page.locator(".column:visible").count() == 24
        assert page.locator(".column label").first.inner_text() == "x250"
        page.get_by_label("Find a column").fill("x123")
        assert page.locator(".column:visible label").all_inner_texts() == ["x123"]
        assert page.locator("#classes li").count() == 10
        page.get_by_label("Find a class").fill("class 77")
        assert page.locator("#classes li").count() == 1
        assert shown.problems == []


def test_the_page_shows_what_the_model_learns(tmp_path: Path, chromium: Any) -> None:
    with serving(melons(tmp_path), "--learn") as service:
        shown = Shown(chromium, service.port)
        page = shown.page
        page.get_by_role("button", name="All missing").click()
        shown.wait_for([9 / 17, 8 / 17])
        page.wait_for_function("() => document.getElementById('learned').textContent.includes('no (9), yes (8)')")
        assert service.ask("/learn", {"row": {"sugar": 0.3}, "label": "yes"}).status == 200
        shown.wait_for([0.5, 0.5])
        page.wait_for_function("() => document.getElementById('learned').textContent.includes('no (9), yes (9)')")
        assert shown.problems == []


def test_the_words_of_a_text_in_a_browser(tmp_path: Path, chromium: Any) -> None:
    X = pd.DataFrame({"message": ["free money now", "win free money", "lunch at noon", "see you at noon"] * 20})
    model = tb.NaiveBayes(schema={"message": "text"}).fit(X, ["spam", "spam", "ham", "ham"] * 20)
    tb.save(model, tmp_path / "m")
    with serving(tmp_path / "m") as service:
        shown = Shown(chromium, service.port)
        shown.page.get_by_label("message", exact=True).fill("Free lunch")
        shown.wait_for(model.predict_proba([{"message": "Free lunch"}])[0])
        shown.page.wait_for_function("() => document.querySelectorAll('#words li').length === 2")
        shown.page.get_by_label("Evidence for").select_option(label="spam")
        lines = [line.split() for line in shown.page.locator("#words li").all_inner_texts()]
        found = {line[0]: line[-1] for line in lines}
        for word, rest in (("free", "lunch"), ("lunch", "free")):
            odds = np.divide(*model.predict_proba([{"message": "Free lunch"}, {"message": rest}]).T[::-1])
            times = float(odds[0] / odds[1])
            assert found[word][0] == ("×" if times > 1 else "÷")
            assert float(found[word][1:]) == pytest.approx(max(times, 1 / times), rel=0.01)
        assert shown.problems == []
