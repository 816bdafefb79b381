"""Requests that no client of ours sends: other sites, foreign names, files, scripts. Raw HTTP, and a browser where that
decides what happens; tests/web/test_cross_site.py has pages of other sites."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tallybayes as tb
from tests.web.browser import browser

from .service import ROWS, Running, melons, serving
from .test_process import raw

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(1)>'


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(melons(tmp_path_factory.mktemp("attacks")), "--learn") as found:
        yield found


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "2130706433", "0"],
)
def test_names_that_are_rebound_to_our_address(running: Running, host: str) -> None:
    for path, body in (("/predict", {"row": {}}), ("/learn", {"row": ROWS[0], "label": "yes"}), ("/", None)):
        for port in ("", f":{running.port}"):
            assert running.ask(path, body, host=host + port).status == 421
    assert running.ask("/examples").json["count"] == 0


@pytest.mark.parametrize("path", ["/learn", "/forget", "/predict", "/examples"])
def test_a_preflight_allows_nothing(running: Running, path: str) -> None:
    found = running.ask(
        path, None, "OPTIONS", origin="http://evil.example", access_control_request_method="POST",
        access_control_request_headers="content-type", access_control_request_private_network="true",
    )  # fmt: skip
    assert found.status in (403, 405)
    assert not [name for name in found.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", [b"/", b"/learn", b"/predict"])
def test_no_websocket_is_opened(running: Running, path: bytes) -> None:
    said = raw(
        running,
        b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" % path,
    )
    assert said.startswith(b"HTTP/1.1 ")
    assert b" 101 " not in said.split(b"\r\n")[0]


@pytest.mark.parametrize(
    "path",
    [
        b"/../../../../etc/passwd",
        b"/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        b"/page.js/../../../../etc/passwd",
        b"/..%5c..%5cetc%5cpasswd",
        b"//etc/passwd",
        b"/page.js%00",
        b"/model.tb",
        b"/model.tb.sqlite",
        b"/page.py",
    ],
)
def test_no_file_is_served(running: Running, path: bytes) -> None:
    said = raw(running, b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % path)
    assert said.split()[1] in (b"400", b"404")
    assert b"root:" not in said


def test_what_is_echoed_is_no_page(running: Running) -> None:
    """Each text that a refusal repeats comes as JSON, which a browser does not take for anything else."""
    answers = [
        running.ask("/predict", {"row": {SCRIPT: 1}}),
        running.ask("/predict", {"rows": [{"density": SCRIPT}]}),
        running.ask("/predict", {"row": {}, "prior": {SCRIPT: 1.0}}),
        running.ask("/predict", {SCRIPT: 1}),
        running.ask("/predict", b"x", content_type=SCRIPT),
        running.ask("/explain", {"row": {}, "against": SCRIPT}),
        running.ask("/decide", {"row": {}, "loss": {"yes": {SCRIPT: 1}}}),
        running.ask("/learn", {"row": {}, "label": SCRIPT}),
        running.ask(f"/examples?after={SCRIPT}"),
        running.ask(f"/{SCRIPT}"),
        running.ask("/model", host=SCRIPT),
    ]
    for found in answers:
        assert 400 <= found.status < 500
        assert found.headers["content-type"] == "application/problem+json"
        assert found.headers["x-content-type-options"] == "nosniff"


def test_a_path_adds_no_header(running: Running) -> None:
    said = raw(running, b"GET /x%0d%0aSet-Cookie:%20a=b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert b"set-cookie" not in said.partition(b"\r\n\r\n")[0].lower()


def test_names_of_the_model_and_of_the_path_run_nowhere(tmp_path: Path) -> None:
    """Columns, levels, classes and the target of the live page, and a refusal that is looked at."""
    rows = [{SCRIPT: IMAGE if i % 3 else SCRIPT, IMAGE: float(i % 5)} for i in range(30)]
    model = tb.BayesClassifier("fast").fit(rows, [SCRIPT if i % 2 else IMAGE for i in range(30)])
    tb.save(model, tmp_path / "m", notes={"target": SCRIPT})
    with serving(tmp_path / "m") as service, browser() as chromium:
        page = chromium.new_page()
        troubles: list[Any] = []
        page.on("dialog", lambda d: (troubles.append(d.message), d.dismiss()))
        page.on("pageerror", lambda e: troubles.append(str(e)))
        page.goto(f"http://localhost:{service.port}/")
        page.wait_for_selector("#evidence li")
        assert SCRIPT in page.locator("body").inner_text()
        assert page.locator("img").count() == 0
        for path in (SCRIPT, IMAGE, f"?{SCRIPT}", f"#{IMAGE}", f"examples?after={SCRIPT}"):
            page.goto(f"http://localhost:{service.port}/{path}")
            assert page.locator("img").count() == 0
        assert troubles == []
