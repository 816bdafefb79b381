"""Chromium for tests: that of the machine, driven by playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, NoReturn

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
WHERE = "`make test-web` installs it where apt-get may"


def find_chromium() -> str | None:
    """Its path, if it and playwright are there."""
    if find_spec("playwright") is None:
        return None
    return next((path for path in map(shutil.which, NAMES) if path is not None), None)


def without(what: str) -> NoReturn:
    """Skips the test, or fails it under `make test-web`."""
    if os.environ.get("TALLYBAYES_WEB"):
        pytest.fail(what)
    pytest.skip(what)


@contextmanager
def browser() -> Iterator[Any]:
    """A browser without a window; where there is none the test is skipped, or fails if one has to be there."""
    path = find_chromium()
    if path is None:
        without(f"no Chromium, or no playwright: {WHERE}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield chromium
        finally:
            chromium.close()
