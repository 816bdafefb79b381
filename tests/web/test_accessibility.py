"""axe finds nothing in the report and the live page: wide, on a phone, in the dark."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tallybayes as tb
from tallybayes.reports import report
from tests.serve.service import serving
from tests.web.browser import browser, without

VIEWS: dict[str, dict[str, Any]] = {
    "wide": {"viewport": {"width": 1280, "height": 900}},
    "phone, dark": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
}


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder, rng = tmp_path_factory.mktemp("axe"), np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "amount_of_credit": rng.gamma(2.0, 800.0, 300).round(),
            "purpose": rng.choice(["car", "radio/tv", "a very long purpose of a loan"], 300),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 300), unit="D"),
        }
    )
    y = pd.Series(np.where(X["amount_of_credit"] + rng.normal(0, 500, 300) > 1500, "bad", "good"), name="risk")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = tb.BayesClassifier().fit(X[:200], y[:200])
        report(model, X[200:], y[200:], train=(X[:200], y[:200])).save(folder / "report.html")
    tb.save(model, folder / "m", notes={"target": "risk"})
    with serving(folder / "m") as service:
        yield {"report": (folder / "report.html").as_uri(), "live": f"http://127.0.0.1:{service.port}/"}


def test_axe_finds_nothing(addresses: dict[str, str]) -> None:
    if find_spec("axe_playwright_python") is None:
        without("no axe-playwright-python: `make test-web` installs it")
    import axe_playwright_python

    axe = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    with browser() as chromium:
        for view, options in VIEWS.items():
            for name, address in addresses.items():
                page = chromium.new_context(bypass_csp=True, **options).new_page()
                page.goto(address)
                page.wait_for_selector("#evidence li")
                page.evaluate(axe)
                found = page.evaluate("axe.run().then(r => r.violations.map(v => [v.id, v.nodes[0].html]))")
                assert found == [], (view, name)
                width = page.evaluate("document.documentElement.scrollWidth")
                assert width <= options["viewport"]["width"], (view, name)
