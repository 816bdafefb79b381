"""The page at `/` is the what-if page of the live model, in a real browser where there is one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tallybayes as tb
from tallybayes.serve import Settings, application
from tests.web.browser import browser

from .service import LABELS, ROWS, ask, melons, serving


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as found:
        yield found


def test_the_page_and_what_it_asks_for(tmp_path: Path) -> None:
    app = application(Settings(str(melons(tmp_path))))
    got = ask(app, "/")
    assert got.headers["content-type"] == "text/html; charset=utf-8"
    assert got.headers["content-security-policy"] == "frame-ancestors 'none'"
    assert "connect-src &#x27;self&#x27;" in got.body.decode()
    assert ask(app, "/").body == got.body
    described = ask(app, "/description")
    assert described.json == json.loads(tb.export.to_json(tb.load(tmp_path / "model.tb")))


def test_a_model_without_a_form_for_a_page(tmp_path: Path) -> None:
    tb.save(tb.NaiveBayes("kernel").fit(ROWS, LABELS), tmp_path / "m")
    app = application(Settings(str(tmp_path / "m")))
    assert ask(app, "/").status == 200
    assert ask(app, "/description").status in (200, 422)


def test_the_page_shows_what_the_model_learns(tmp_path: Path, chromium: Any) -> None:
    with serving(melons(tmp_path), "--learn") as service:
        shown = chromium.new_context().new_page()
        problems: list[str] = []
        shown.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
        shown.clock.install()
        shown.goto(f"http://127.0.0.1:{service.port}/")
        shown.get_by_role("button", name="All missing").click()
        shown.wait_for_function("JSON.parse(document.getElementById('answers').dataset.proba)[1] < 0.48")
        with shown.expect_response("**/description"):
            shown.clock.run_for(5100)
        assert service.ask("/learn", {"row": {"sugar": 0.3}, "label": "yes"}).status == 200
        with shown.expect_response("**/description"):
            shown.clock.run_for(5100)
        shown.wait_for_function("JSON.parse(document.getElementById('answers').dataset.proba)[1] === 0.5")
        assert [p for p in problems if "favicon" not in p and "404" not in p] == []
