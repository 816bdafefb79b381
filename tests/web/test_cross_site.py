"""Attacks on a service from a page of another site, in a real browser: none of them changes or reads the model.

The attacker's page is served by a server of its own on another port, which is another origin; for DNS rebinding the
browser is made to believe that the attacker's name has the service's address.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.serve.service import LABELS, ROWS, Running, melons, serving
from tests.web.browser import browser

TOKEN = "t" * 20
LEARN = json.dumps({"row": ROWS[0], "label": "yes", "id": "evil"})
FORGET = json.dumps({"subject": "ann"})
FORM = """(url, b) => {
    const form = document.createElement('form'), input = document.createElement('input'), at = b.lastIndexOf(':');
    Object.assign(form, {method: 'POST', enctype: '%s', action: url, target: 'frame'});
    Object.assign(input, {name: b.slice(0, at) + ': "', value: '"' + b.slice(at + 1)});
    form.append(input);
    document.body.append(form);
    form.submit();
}"""
SOCKET = """(url, b) => new Promise((resolve, reject) => {
    const socket = new WebSocket(url.replace('http', 'ws'));
    socket.onopen = () => { socket.send(b); resolve({type: 'cors', status: 101}); };
    socket.onerror = () => reject(new Error('refused'));
})"""
ATTACKS = {
    "no-cors without a type": "(url, b) => fetch(url, {method: 'POST', mode: 'no-cors', credentials: 'include', "
    "body: new Blob([b])})",
    "no-cors as text": "(url, b) => fetch(url, {method: 'POST', mode: 'no-cors', credentials: 'include', body: b})",
    "no-cors as JSON": "(url, b) => fetch(url, {method: 'POST', mode: 'no-cors', credentials: 'include', "
    "body: new Blob([b], {type: 'application/json'})})",
    "cors as JSON": "(url, b) => fetch(url, {method: 'POST', credentials: 'include', body: b, "
    "headers: {'content-type': 'application/json'}})",
    "beacon": "(url, b) => navigator.sendBeacon(url, new Blob([b]))",
    "cors with PUT": "(url, b) => fetch(url, {method: 'PUT', credentials: 'include', body: b})",
    "form as text": FORM % "text/plain",
    "form": FORM % "application/x-www-form-urlencoded",
    "form in parts": FORM % "multipart/form-data",
    "websocket": SOCKET,
}
PAGE = b"<!doctype html><title>evil</title><body><iframe name='frame'></iframe></body>"


class Evil(BaseHTTPRequestHandler):
    """The attacker's server: one page."""

    def do_GET(self) -> None:
        """Any path."""
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def evil() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()


@pytest.fixture(scope="module", params=["no tokens", "tokens"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Any]]:
    folder = tmp_path_factory.mktemp("cross")
    (folder / "tokens").write_text(f"learn  {TOKEN}   # may also learn and forget\n")
    tokens = request.param == "tokens"
    options = ("--token-file", str(folder / "tokens")) if tokens else ()
    with serving(melons(folder), "--learn", *options) as running:
        named = {"authorization": f"Bearer {TOKEN}"} if tokens else {}
        body = {"row": ROWS[1], "label": LABELS[1], "id": "kept", "subject": "ann"}
        assert running.ask("/learn", body, **named).status == 200
        yield running, named


def examples(service: tuple[Running, Any]) -> list[str]:
    running, named = service
    return [e["id"] for e in running.ask("/examples", **named).json["examples"]]


def test_a_page_of_another_site_changes_nothing(service: tuple[Running, Any], evil: int) -> None:
    """Also where the browser keeps the token, as the password of the service, and sends it along."""
    running, named = service
    with browser() as chromium:
        credentials = {"username": "any", "password": TOKEN} if named else None
        context = chromium.new_context(http_credentials=credentials)
        own = context.new_page()
        assert own.goto(f"http://localhost:{running.port}/").status == 200  # from here on it has the credentials
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{evil}/")
        for host in ("localhost", "127.0.0.1"):
            for path, body in (("learn", LEARN), ("forget", FORGET)):
                for name, attack in ATTACKS.items():
                    said = page.evaluate(
                        f"async ([url, body]) => {{ try {{ const r = await ({attack})(url, body); "
                        "return r && r.type === 'cors' ? r.status : 'opaque'; } catch (e) { return 'refused'; } }",
                        [f"http://{host}:{running.port}/{path}", body],
                    )
                    assert said in ("opaque", "refused"), name
        page.wait_for_timeout(300)  # a beacon and a form have no end to wait for
        same = own.evaluate(
            "async b => (await fetch('learn', {method: 'POST', body: b, "
            "headers: {'content-type': 'application/json'}})).status",
            json.dumps({"row": ROWS[0], "label": "yes", "id": "own"}),
        )
        assert same == 200  # the attacks failed because they came from elsewhere
    assert examples(service) == ["kept", "own"]
    assert running.ask("/forget", {"ids": ["own"]}, **named).json["forgotten"] == 1
    body = {"row": ROWS[0], "label": "yes", "id": "own-2"}
    assert running.ask("/learn", body, **named).status == 200  # from a program, as before
    assert running.ask("/forget", {"ids": ["own-2"]}, **named).json["forgotten"] == 1


def test_a_page_of_another_site_frames_and_reads_nothing(service: tuple[Running, Any], evil: int) -> None:
    running, named = service
    with browser() as chromium:
        credentials = {"username": "any", "password": TOKEN} if named else None
        page = chromium.new_context(http_credentials=credentials).new_page()
        page.goto(f"http://127.0.0.1:{evil}/")
        read = (
            "async url => { try { return await (await fetch(url, {credentials: 'include'})).text(); } "
            "catch { return ''; } }"
        )
        assert page.evaluate(read, f"http://localhost:{running.port}/examples") == ""
        page.evaluate("url => { document.querySelector('iframe').src = url; }", f"http://localhost:{running.port}/")
        page.wait_for_timeout(500)
        assert all("prediction" not in frame.content() for frame in page.frames)


def test_a_name_that_is_rebound_to_our_address_gets_nothing(service: tuple[Running, Any]) -> None:
    """DNS rebinding: to the browser the service is of the attacker's own origin, and it has no token for that name."""
    running, _ = service
    from playwright.sync_api import sync_playwright

    from tests.web.browser import find_chromium, without

    path = find_chromium()
    if path is None:
        without("no Chromium, or no playwright")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--host-resolver-rules=MAP evil.example 127.0.0.1"]
        )
        page = chromium.new_page()
        page.goto(f"http://evil.example:{running.port}/healthz")  # open to all where there are tokens, else refused
        said = page.evaluate(
            """async b => {
                // It has no token for this name; without 'omit' Chromium would wait for a person to type one.
                const headers = {'content-type': 'application/json'};
                const options = {method: 'POST', body: b, headers, credentials: 'omit'};
                const send = p => fetch('/' + p, options).then(r => r.status, () => 401);
                return Promise.all(['learn', 'forget', 'predict'].map(send));
            }""",
            LEARN,
        )
        assert set(said) <= {401, 421}
        chromium.close()
    assert examples(service) == ["kept"]
