"""The what-if page and the report in a real browser: Python's answers, row by row; no request, no foreign script."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tallybayes as tb
from tallybayes.datasets import load_census, load_watermelon
from tallybayes.reports import page, report
from tests.web.browser import browser

NASTY = ["<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "\"'`&amp;", "a\u2028b\u2029", "–ü", ""]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as found:
        yield found


class Watched:
    """A page that was opened, and what it did besides showing itself."""

    def __init__(self, chromium: Any, html: str, folder: Path, **options: Any) -> None:
        self.context = chromium.new_context(**options)
        self.page = self.context.new_page()
        self.troubles: list[str] = []
        self.page.on("console", lambda m: self.troubles.append(m.text))
        self.page.on("pageerror", lambda e: self.troubles.append(str(e)))
        self.page.on("dialog", lambda d: (self.troubles.append(d.message), d.dismiss()))
        self.page.on("request", lambda r: None if r.url.startswith("file:") else self.troubles.append(r.url))
        (folder / "page.html").write_text(html, encoding="utf-8")
        self.page.goto((folder / "page.html").as_uri())

    def proba(self) -> list[float]:
        return list(json.loads(self.page.locator("#answers").get_attribute("data-proba")))


def mixed(n: int = 120) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "length": rng.normal(10, 3, n).round(2),
            "color": rng.choice(["red", "green", "blue"], n),
            "alive": rng.random(n) < 0.5,
            "visits": rng.poisson(3.0, n),
        }
    )
    y = np.where(X["length"] + 3 * X["alive"] + rng.normal(0, 2, n) > 11, "yes", "no")
    y[X["color"].to_numpy() == "blue"] = "perhaps"
    return X, y


MODELS = {
    "NaiveBayes": lambda: tb.NaiveBayes(schema={"visits": "count"}),
    "TAN": lambda: tb.TAN(tempered=True),
    "AODE": lambda: tb.AODE(cuts=None),
    "BayesClassifier": tb.BayesClassifier,
}


@pytest.mark.parametrize("name", MODELS)
def test_controls_answer_as_python_does(name: str, chromium: Any, tmp_path: Path) -> None:
    X, y = mixed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MODELS[name]().fit(X, y)
    near = 1e-6 if name == "BayesClassifier" else 1e-9
    shown = Watched(chromium, page(model), tmp_path)
    length, color = shown.page.get_by_label("length", exact=True), shown.page.get_by_label("color", exact=True)
    for row in X.head(6).to_dict("records"):
        length.fill(str(row["length"]))
        color.select_option(label=row["color"])
        shown.page.get_by_label("alive", exact=True).select_option(label=str(row["alive"]).lower())
        shown.page.get_by_label("visits", exact=True).fill(str(row["visits"]))
        np.testing.assert_allclose(shown.proba(), model.predict_proba([row])[0], atol=near, rtol=0)
    shown.page.get_by_label("color is missing").check()
    row["color"] = None
    np.testing.assert_allclose(shown.proba(), model.predict_proba([row])[0], atol=near, rtol=0)
    shown.page.get_by_role("button", name="All missing").click()
    np.testing.assert_allclose(shown.proba(), model.predict_proba([dict.fromkeys(row)])[0], atol=near, rtol=0)
    assert shown.troubles == []


def test_slider_prior_and_evidence_follow(chromium: Any, tmp_path: Path) -> None:
    X, y = mixed()
    model = tb.NaiveBayes(schema={"visits": "count"}).fit(X, y)
    shown = Watched(chromium, page(model), tmp_path)
    shown.page.get_by_role("button", name="All missing").click()
    slider = shown.page.get_by_label("length, slider")
    slider.focus()
    slider.press("ArrowRight")
    value = float(shown.page.get_by_label("length", exact=True).input_value())
    np.testing.assert_allclose(shown.proba(), model.predict_proba([{"length": value}])[0], atol=1e-9)
    shown.page.locator("#for").select_option(label="yes")
    found = model.explain([{"length": value}])
    line = shown.page.locator("#evidence li").first.inner_text()
    factor = float(np.exp(abs(found.values[0, 0, model.classes_.tolist().index("yes")])))
    assert line.startswith(f"length = {value:g}")
    assert float(line.split("\n")[-1].strip("×÷")) == pytest.approx(factor, rel=0.01)
    shown.page.locator("#prior-0").evaluate("e => { e.value = '0.5'; e.dispatchEvent(new Event('input')); }")
    learned = np.exp(model.predictor_.offset)
    prior = np.append(0.5, 0.5 * learned[1:] / learned[1:].sum())
    np.testing.assert_allclose(shown.proba(), model.predict_proba([{"length": value}], priors=prior)[0], atol=1e-9)
    shown.page.get_by_role("button", name="As learned").click()
    np.testing.assert_allclose(shown.proba(), model.predict_proba([{"length": value}])[0], atol=1e-9)
    assert shown.troubles == []


def test_strings_of_the_data_are_only_text(chromium: Any, tmp_path: Path) -> None:
    rows = [{"<b>name": v, "n": float(i)} for i, v in enumerate(NASTY * 4)]
    y = [NASTY[0] if i % 3 else NASTY[1] for i in range(len(rows))]
    model = tb.NaiveBayes().fit(rows, y)
    html = report(model, rows, y, title=NASTY[0]).html
    assert "<script>alert" not in html
    shown = Watched(chromium, html, tmp_path)
    assert shown.page.title() == NASTY[0]
    assert shown.page.locator("img").count() == 0
    control = shown.page.get_by_label("<b>name", exact=True)
    for i, value in enumerate(model.schema_.levels[0].labels):
        control.select_option(index=i)
        number = float(shown.page.get_by_label("n", exact=True).input_value())
        np.testing.assert_allclose(shown.proba(), model.predict_proba([{"<b>name": value, "n": number}])[0], atol=1e-9)
    assert shown.troubles == []


ODD = [
    "__proto__",
    "constructor",
    "a\"b'c",
    "new\nline",
    "",
    "שלום",
    "\u202eback",
    "</script><script>alert(1)</script>",
    "toString",
]


def test_columns_and_classes_of_any_name(chromium: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    X = pd.DataFrame({name: rng.normal(size=60) if i % 2 else rng.choice(ODD, 60) for i, name in enumerate(ODD)})
    y = rng.choice(ODD[:3], 60)
    model = tb.NaiveBayes("gaussian").fit(X[:40], y[:40])
    shown = Watched(chromium, report(model, X[40:], y[40:]).html, tmp_path)
    examples = shown.page.locator("#examples option").count()
    assert examples > 1
    for i in range(1, examples):
        shown.page.locator("#examples").select_option(index=i)
        row = int(shown.page.locator("#examples option").nth(i).inner_text().split(",")[0].removeprefix("row "))
        np.testing.assert_allclose(shown.proba(), model.predict_proba(X[40:].iloc[[row]])[0], atol=1e-9)
    shown.page.get_by_label("__proto__", exact=True).select_option(label="constructor")
    asked = X[40:].iloc[[row]].assign(__proto__="constructor")
    np.testing.assert_allclose(shown.proba(), model.predict_proba(asked)[0], atol=1e-9)
    assert shown.troubles == []


@pytest.mark.parametrize("classes", [1, 50])
def test_one_class_and_many(classes: int, chromium: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    X, y = pd.DataFrame({"a": rng.normal(size=500), "b": rng.choice(list("xyz"), 500)}), np.arange(500) % classes
    model = tb.NaiveBayes("gaussian").fit(X, y)
    shown = Watched(chromium, report(model, X, y).html, tmp_path, viewport={"width": 390, "height": 800})
    shown.page.get_by_label("a", exact=True).fill("0.25")
    shown.page.get_by_label("b", exact=True).select_option(label="y")
    np.testing.assert_allclose(shown.proba(), model.predict_proba([{"a": 0.25, "b": "y"}])[0], atol=1e-9)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert shown.troubles == []


def test_the_policy_stops_what_was_not_written_here(chromium: Any, tmp_path: Path) -> None:
    html = page(tb.NaiveBayes().fit([{"a": "x"}, {"a": "y"}], [0, 1]))
    broken = html.replace(
        "</body>", "<script>document.title = 'in'</script><img src='https://example.com/x.png'></body>"
    )
    shown = Watched(chromium, broken, tmp_path)
    assert shown.page.title() == "NaiveBayes"
    assert len([t for t in shown.troubles if "Content Security Policy" in t]) == 2


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_fits_the_screen(width: int, scheme: str, chromium: Any, tmp_path: Path) -> None:
    X, y = mixed()
    html = report(tb.NaiveBayes(schema={"visits": "count"}).fit(X[:60], y[:60]), X[60:], y[60:]).html
    shown = Watched(chromium, html, tmp_path, viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
    assert shown.page.locator("svg[role=img]").count() >= 3
    dark = shown.page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")
    assert shown.troubles == []


def test_every_control_has_a_name_and_a_place_in_the_order_of_keys(chromium: Any, tmp_path: Path) -> None:
    X, y = mixed()
    shown = Watched(chromium, report(tb.NaiveBayes(schema={"visits": "count"}).fit(X, y), X, y).html, tmp_path)
    nameless = """[...document.querySelectorAll("input, select, button")].filter((e) => !e.hidden && !e.labels?.length
        && !e.getAttribute("aria-label") && !e.textContent).map((e) => e.outerHTML)"""
    assert shown.page.evaluate(nameless) == []
    assert shown.page.evaluate("document.querySelectorAll('[tabindex]:not([tabindex=\"0\"])').length") == 0
    heads = shown.page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map((e) => Number(e.tagName[1]))")
    assert heads[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(heads))


def test_costs_and_the_worst_rows(chromium: Any, tmp_path: Path) -> None:
    X, y = mixed()
    model = tb.NaiveBayes(schema={"visits": "count"}).fit(X[:60], y[:60])
    shown = Watched(chromium, report(model, X[60:], y[60:]).html, tmp_path)
    assert "as 1 false positive." in shown.page.locator("#cost-said").inner_text()
    shown.page.locator("#cost-ratio").evaluate("e => { e.value = '1'; e.dispatchEvent(new Event('input')); }")
    assert "threshold is 0.091" in shown.page.locator("#cost-said").inner_text()
    shown.page.get_by_role("button", name="try it").first.click()
    row = int(shown.page.locator("#row-table tbody th").first.inner_text().removeprefix("try it"))
    asked = X[60:].iloc[[row]]
    np.testing.assert_allclose(shown.proba(), model.predict_proba(asked)[0], atol=1e-9)


def test_a_page_that_follows_its_server(chromium: Any) -> None:
    rows, ripe = load_watermelon()
    model = tb.NaiveBayes().fit(rows, ripe)
    html = page(model, refresh="model.json")
    served = {"text": tb.export.to_json(model)}
    context = chromium.new_context()
    shown = context.new_page()
    shown.clock.install()
    shown.route("http://here.test/", lambda r: r.fulfill(body=html, content_type="text/html"))
    shown.route(
        "http://here.test/model.json", lambda r: r.fulfill(body=served["text"], content_type="application/json")
    )
    shown.goto("http://here.test/")
    shown.get_by_role("button", name="All missing").click()
    with shown.expect_response("**/model.json"):
        shown.clock.run_for(5100)
    model.learn_one({"sugar": 0.3}, "yes")
    served["text"] = tb.export.to_json(model)
    with shown.expect_response("**/model.json"):
        shown.clock.run_for(5100)
    shown.wait_for_function("JSON.parse(document.getElementById('answers').dataset.proba)[1] === 0.5")


def test_a_notebook_shows_it_in_a_frame(chromium: Any, tmp_path: Path) -> None:
    found = report(tb.NaiveBayes().fit([{"a": "x"}, {"a": "y"}], [0, 1]))
    shown = Watched(chromium, f"<!DOCTYPE html><body>{found._repr_html_()}</body>", tmp_path)
    frame = shown.page.frame_locator("iframe")
    frame.locator("#probabilities li").first.wait_for()
    assert shown.troubles == []


def test_on_paper_it_has_no_controls_that_paper_has_not(chromium: Any, tmp_path: Path) -> None:
    X, y = mixed()
    shown = Watched(chromium, report(tb.NaiveBayes(schema={"visits": "count"}).fit(X, y)).html, tmp_path)
    shown.page.emulate_media(media="print")
    assert not shown.page.get_by_role("button").first.is_visible()
    assert len(shown.page.pdf()) > 10_000


def test_tables_fit_on_paper(chromium: Any, tmp_path: Path) -> None:
    rows, y = load_census()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        columns = [f"a_long_name_of_the_column_called_{name}" for name in rows[0]]
        rows = [dict(zip(columns, row.values(), strict=True)) for row in rows[:900]]
        html = report(tb.NaiveBayes().fit(rows[:500], y[:500]), rows[500:], y[500:900]).html
    shown = Watched(chromium, html, tmp_path)
    shown.page.set_viewport_size({"width": 718, "height": 1000})  # A4 between its margins
    shown.page.emulate_media(media="print")
    assert shown.page.evaluate("document.documentElement.scrollWidth") == 718


def test_a_date_has_one_picker(chromium: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    when = pd.date_range("2021-03-27", periods=200, freq="31h")
    X = pd.DataFrame({"when": when, "visits": rng.poisson(300, 200)})
    y = np.where(when.day_of_week >= 5, "weekend", "week")
    model = tb.NaiveBayes("gaussian").fit(X, y)
    shown = Watched(chromium, report(model, X[:60], y[:60]).html, tmp_path)
    assert shown.page.locator("#controls .control").count() == 2
    shown.page.get_by_label("visits, slider").press("ArrowRight")  # a whole number more
    visits = int(shown.page.get_by_label("visits", exact=True).input_value())
    assert visits == round(float(np.median(X["visits"][:60]))) + 1
    shown.page.get_by_label("when", exact=True).fill("2021-05-22T10:00")
    row = pd.DataFrame({"when": [pd.Timestamp("2021-05-22T10:00")], "visits": [visits]})
    np.testing.assert_allclose(shown.proba(), model.predict_proba(row)[0], atol=1e-9)
    shown.page.get_by_label("when is missing").check()
    row["when"] = pd.NaT
    np.testing.assert_allclose(shown.proba(), model.predict_proba(row)[0], atol=1e-9)
    assert shown.troubles == []


def test_many_columns_and_classes_are_searched(chromium: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.array([f"species {v:02d}" for v in np.arange(300) % 60])
    X = pd.DataFrame(rng.normal(size=(300, 40)).round(2), columns=[f"c{i}" for i in range(40)])
    X["c33"] += np.arange(300) % 60
    model = tb.NaiveBayes("gaussian").fit(X, y)
    shown = Watched(
        chromium, report(model, X, y, baseline=False).html, tmp_path, viewport={"width": 390, "height": 800}
    )
    labels = shown.page.locator("#controls .control > label:first-child").all_inner_texts()
    assert labels[0] == "c33"  # the most informative
    assert len(labels) == 24
    other = next(name for name in X.columns if name not in labels)
    shown.page.locator("#more").fill(other)
    assert shown.page.get_by_label(other, exact=True).is_visible()
    assert shown.page.locator("#priors input").count() == 0
    shown.page.locator("#prior-of").fill("species 07")
    assert shown.page.locator("#priors input").count() == 1
    shown.page.locator("#find-class").fill("species 07")
    assert "species 07" in shown.page.locator("#probabilities").inner_text()
    shown.page.locator("#controls .control").last.scroll_into_view_if_needed()
    assert shown.page.locator("#said").bounding_box()["y"] == 0  # it stays in view
    shown.page.locator("#search").fill("species 11")
    seen = shown.page.locator("#row-table tbody tr:visible").all_inner_texts()
    assert seen
    assert all("species 11" in t for t in seen)
    shown.page.emulate_media(media="print")
    assert shown.page.locator("input:visible, select:visible, button:visible").count() == 0
    assert shown.troubles == []


@pytest.mark.parametrize("name", ["NaiveBayes", "BayesClassifier"])
def test_texts_are_entered_in_the_page(name: str, chromium: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    words = np.array(["free", "money", "win", "lunch", "noon", "see", "you", "now"])
    y = np.where(np.arange(120) % 2, "ham", "spam")
    share = {"spam": [4, 4, 3, 1, 1, 1, 2, 3], "ham": [1, 1, 1, 4, 4, 3, 3, 1]}
    texts = [" ".join(rng.choice(words, 6, p=np.array(share[v]) / sum(share[v]))) for v in y]
    X = pd.DataFrame({"message": texts, "length": rng.normal(20, 5, 120).round()})
    schema = {"message": "text"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model: Any = getattr(tb, name)(schema=schema).fit(X[:90], y[:90])
        html = report(model, X[90:], y[90:], baseline=False).html
    shown = Watched(chromium, html, tmp_path)
    message = shown.page.get_by_label("message", exact=True)
    assert message.input_value() in texts  # it starts from a row
    shown.page.get_by_label("length", exact=True).fill("21")
    for text in ("Win FREE money now!", "see you at noon", "unseen"):
        message.fill(text)
        found = model.predict_proba([{"message": text, "length": 21.0}])[0]
        np.testing.assert_allclose(shown.proba(), found, atol=1e-6, rtol=0)
    shown.page.locator("#for").select_option(label="spam")
    message.fill("free money at noon noon")
    shown.page.locator("#words", has_text="money").filter(has_text="noon").wait_for()
    names = shown.page.locator("#words .name").all_inner_texts()
    factors = dict(zip(names, shown.page.locator("#words .value").all_inner_texts(), strict=True))
    for word, rest in (("free", "money at noon noon"), ("noon", "free money at")):
        asked = [{"message": text, "length": 21.0} for text in ("free money at noon noon", rest)]
        odds = np.divide(*model.predict_proba(asked).T[::-1])  # of spam
        times = float(odds[0] / odds[1])
        assert factors[word][0] == ("×" if times > 1 else "÷")
        assert float(factors[word][1:]) == pytest.approx(max(times, 1 / times), rel=0.01)
    shown.page.get_by_label("message is missing").check()
    found = model.predict_proba([{"message": None, "length": 21.0}])[0]
    np.testing.assert_allclose(shown.proba(), found, atol=1e-6, rtol=0)
    assert shown.troubles == []
