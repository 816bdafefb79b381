"""The live page at `/`: a control for each column; it asks the server for the prediction and its evidence."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from html import escape
from importlib.resources import files
from typing import Literal

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from tallybayes.data.stored_column import is_unnamed
from tallybayes.errors import TallybayesError
from tallybayes.model.predictor import Predictor
from tallybayes.reports.controls import (
    drawn_values,
    interval_order,
    numbers_of,
    plain_value,
    slider,
    usual_level,
    usual_values,
)
from tallybayes.reports.effects import telling_words
from tallybayes.serve.live import Known, Live
from tallybayes.serve.request_bodies import Cell
from tallybayes.serve.responses import answer, encode
from tallybayes.utils.array_types import Array

WORDS = 8  # that the control of a text starts with
MOST_LEVELS = 2000  # that a control offers
MOST_RANKED = 4000  # columns times classes whose mutual information is computed
DAYS = "days since 1970"  # the part of a date that tells the day
# Nothing but what this server sends may run or be loaded, and nobody may frame the page.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
HTML = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><link rel="stylesheet" href="page.css"><link rel="icon" href="data:,"></head>
<body><header><h1>{title}</h1><p id="learned" class="soft"></p></header>
<main><noscript><p>This page needs JavaScript. <a href="openapi.json">openapi.json</a> describes the service itself.</p>
</noscript></main><script src="page.js"></script></body></html>
"""


class Control(msgspec.Struct, omit_defaults=True):
    """How a column is set on the page. usual: the median or the mode (see reports/controls.py); of a text, words that
    tell the classes apart."""

    name: str
    kind: Literal["number", "category", "text", "date", "datetime-local", "time"]
    usual: Cell = None
    low: float | UnsetType = UNSET
    high: float | UnsetType = UNSET
    step: float | UnsetType = UNSET
    levels: list[Cell] | UnsetType = UNSET
    information: float = 0.0


class Page:
    """Handlers of the page and what it loads."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._made: tuple[Predictor | None, bytes] = (None, b"")
        here, reports = files("tallybayes.serve"), files("tallybayes.reports")
        wording = (reports / "wording.js").read_bytes()
        self._script = b'"use strict";\n' + wording + (here / "page.js").read_bytes()
        self._style = (here / "page.css").read_bytes()

    async def html(self, request: Request) -> Response:
        """The page."""
        known = self._live.known
        title = type(known.model).__name__ + (f": {known.target}" if known.target else "")
        found = answer(request, HTML.format(title=escape(title)).encode(), kind="text/html; charset=utf-8")
        found.headers.update({"content-security-policy": POLICY, "referrer-policy": "no-referrer"})
        return found

    async def script(self, request: Request) -> Response:
        """Its script."""
        return answer(request, self._script, kind="text/javascript; charset=utf-8")

    async def style(self, request: Request) -> Response:
        """Its style."""
        return answer(request, self._style, kind="text/css; charset=utf-8")

    async def controls(self, request: Request) -> Response:
        """What each control offers, the most informative column first; made once for a model as it is."""
        known = self._live.known
        if self._made[0] is not known.model.predictor_:
            made = await asyncio.get_running_loop().run_in_executor(None, controls, known)
            self._made = (known.model.predictor_, encode(made))
        return answer(request, self._made[1])

    async def description(self, request: Request) -> Response:
        """The model as `to_json` writes it."""
        from tallybayes.export import to_json

        found = await asyncio.get_running_loop().run_in_executor(None, to_json, self._live.known.model.predictor_)
        return answer(request, found.encode())


def controls(known: Known) -> list[Control]:
    """A control for each column that a row may have, the most informative first."""
    schema, predictor = known.model.schema_, known.model.predictor_
    drawn, y = drawn_values(predictor.fitted)
    information, usual = _information(known, drawn, y), usual_values(predictor.fitted)
    at = {schema.name(j): j for j in range(schema.d)}
    found: list[Control] = []
    for j, column in enumerate(schema.expansion or ()):
        if column.what == "column" or column.what == "id":
            continue
        parts = [k for k in map(at.get, column.columns(j)) if k is not None]
        made = Control(column.name or f"x{j}", "text")
        made.information = max((information.pop(k, 0.0) for k in parts), default=0.0)
        for k in parts:
            del at[schema.name(k)]
        if column.what in ("date", "datetime"):
            made.kind = "datetime-local" if "hour" in column.parts else "date"
            at_day = next((k for k in parts if schema.name(k).endswith(DAYS)), -1)
            made.usual = _usual_day(at_day, usual, drawn, made.kind)
        elif column.what == "time":
            made.kind = "time"
        found.append(made)
    for name, j in at.items():
        found.append(_control(known, name, j, drawn.get(j), usual, information.get(j, 0.0)))
    return sorted(found, key=lambda control: -control.information)


def _usual_day(j: int, usual: Mapping[int, float | int | None], drawn: Mapping[int, Array], kind: str) -> str | None:
    """The usual day of column j, else the median of those drawn, as a control of this kind takes it."""
    days = usual.get(j, float(np.median(drawn[j])) if len(drawn.get(j, ())) else None)
    if days is None:
        return None
    day = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=math.floor(days))
    return day.strftime("%Y-%m-%d" + ("T12:00" if kind == "datetime-local" else ""))


def _control(
    known: Known, name: str, j: int, drawn: Array | None, usual: Mapping[int, float | int | None], information: float
) -> Control:
    schema, own = known.model.schema_, usual.get(j)
    if schema.kinds[j] == "text":
        return Control(name, "text", " ".join(telling_words(known.model, j)[:WORDS]) or None, information=information)
    if j in schema.levels:
        labels = list(schema.levels[j].labels)
        most = None if j in usual and own is None else usual_level(len(labels), drawn, own)
        levels = [plain_value(v) for code, v in enumerate(labels[:MOST_LEVELS]) if not is_unnamed(v, code)]
        start = None if most is None else plain_value(labels[most])
        levels = [levels[i] for i in interval_order(levels)]
        return Control(name, "category", start, levels=levels, information=information)
    range_ = slider(numbers_of(schema, j, drawn), own)
    start = None if j in usual and own is None else range_.start
    return Control(name, "number", start, range_.low, range_.high, range_.step, information=information)


def _information(known: Known, drawn: dict[int, Array], y: Array) -> dict[int, float]:
    """How informative each column is: its mutual information with the class, or, where that would take long, the share
    of the variance of its drawn values (or codes) that is between the classes."""
    try:
        if len(known.labels) * known.columns.schema.d <= MOST_RANKED:
            found = known.model.explain().information
            return {j: float(value) if math.isfinite(value) else 0.0 for j, value in enumerate(found)}
    except TallybayesError:
        pass
    found = {}
    for j, values in drawn.items():
        if known.model.schema_.kinds[j] == "text":
            continue
        numbers = np.nan_to_num(values.astype(float))
        weight = np.bincount(y)
        means = np.bincount(y, numbers) / np.maximum(weight, 1)
        spread = float(numbers.var())
        found[j] = float(weight @ (means - numbers.mean()) ** 2 / len(y) / spread) if spread > 0 else 0.0
    return found
