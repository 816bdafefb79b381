"""Runs JavaScript for tests: in Node if there is one, else in Chromium."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ASK = """
import {{ readFileSync }} from "node:fs";
import {{ model }} from "./model.mjs";
const rows = JSON.parse(readFileSync("rows.json", "utf8"));
console.log(JSON.stringify(rows.map((row) => {{ try {{ return {ask}; }} catch (e) {{ return String(e); }} }})));
"""


def asked(module: str, rows: list[Any], ask: str, folder: Path) -> list[Any]:
    """What `ask`, an expression of model and row, is for each row. module: what to_js wrote."""
    node = shutil.which("node")
    if node is None:
        return _in_browser(module, rows, ask)
    (folder / "model.mjs").write_text(module, encoding="utf-8")
    (folder / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    (folder / "ask.mjs").write_text(ASK.format(ask=ask), encoding="utf-8")
    done = subprocess.run([node, "ask.mjs"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: list[Any] = json.loads(done.stdout)
    return found


def _in_browser(module: str, rows: list[Any], ask: str) -> list[Any]:
    from tests.web.browser import browser  # which skips the test where there is none

    code = f"async ([module, rows]) => {{ const {{ model }} = await import(module); return rows.map((row) => {ask}); }}"
    with browser() as chromium:
        page = chromium.new_page()
        page.goto("about:blank")
        url = page.evaluate("(text) => URL.createObjectURL(new Blob([text], {type: 'text/javascript'}))", module)
        found: list[Any] = page.evaluate(code, [url, rows])
    return found


def need_javascript() -> None:
    """Skips a test, and says so, where neither is there."""
    if shutil.which("node") is None:
        from tests.web.browser import find_chromium

        if find_chromium() is None:
            pytest.skip("neither Node nor Chromium: `make test-web` installs it")
