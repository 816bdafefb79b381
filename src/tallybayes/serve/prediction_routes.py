"""Requests that change nothing: predict, explain, decide, and what the model is."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

import tallybayes
from tallybayes.data.schema import Schema
from tallybayes.errors import brief, listening
from tallybayes.serve import responses as a
from tallybayes.serve.http_errors import HttpError, in_words
from tallybayes.serve.live import Known, Live
from tallybayes.serve.request_bodies import JSON, BodyReader, Decide, Explain, Question, Row, form_of, read_body
from tallybayes.serve.request_tables import ARROW, CSV, FORMS, from_arrow, from_csv, rows_of
from tallybayes.serve.service_settings import Settings

LEVELS = 100  # of a column that /model lists
INLINE = 8 << 10  # bytes of a body that is answered at once; longer ones by a thread, so that others need not wait
THREADS = 2
Made = tuple[object, int, str]  # what goes back, of how many rows, its media type


class PredictionRoutes:
    """Handlers of the requests that change nothing."""

    def __init__(self, live: Live, settings: Settings) -> None:
        self._live, self._settings = live, settings
        self._question, self._explain, self._decide = BodyReader(Question), BodyReader(Explain), BodyReader(Decide)
        self.pool = ThreadPoolExecutor(THREADS, "tallybayes")

    async def predict(self, request: Request) -> Response:
        """P(class | x) of one row or many; as JSON, CSV or Arrow, in and out."""
        headers = request.headers
        form, into = form_of(headers.get("content-type")), a.form_of_answer(headers.get("accept"))
        return await self._made(request, lambda body: self._predicted(body, form, into))

    async def explain(self, request: Request) -> Response:
        """The evidence of each column for each class, row by row."""
        _only_json(request)
        return await self._made(request, self._explained)

    async def decide(self, request: Request) -> Response:
        """The decision with the smallest expected loss."""
        _only_json(request)
        return await self._made(request, self._decided)

    async def model(self, request: Request) -> Response:
        """What is served."""
        known = self._live.known
        model, schema = known.model, known.model.schema_
        found = a.Model(
            type(model).__name__,
            known.target,
            known.labels,  # type: ignore[arg-type]
            model.class_count_.tolist(),
            [_column(schema, j) for j in range(schema.d)],
            model.one_row,
            known.generation,
            self._settings.learn,
            tallybayes.__version__,
        )
        return a.answer(request, found)

    async def _made(self, request: Request, make: Callable[[bytes], Made]) -> Response:
        body = await read_body(request, self._settings.limits)
        if len(body) > INLINE:
            found, n, kind = await asyncio.get_running_loop().run_in_executor(self.pool, make, body)
        else:
            found, n, kind = make(body)
        return a.answer(request, found, n, kind)

    def _predicted(self, body: bytes, form: str, into: str) -> Made:
        known, limits = self._live.known, self._settings.limits
        with listening() as heard:
            if form == JSON:
                question: Question = self._question.read(body)
                row = question.row
                if row is not UNSET and question.rows is UNSET and question.columns is UNSET and into == JSON:
                    assert isinstance(row, dict)
                    if question.prior is UNSET:
                        return _one(known, row, heard), 1, JSON
                table, n = rows_of(question, known.columns, limits)
                prior, one = a.read_prior(question.prior, known), row is not UNSET
            elif form in (CSV, ARROW):
                read = from_csv if form == CSV else from_arrow
                table, n = read(body, known.columns, limits)
                prior, one = None, False
            else:
                raise HttpError(415, f"Rows are taken as {', '.join(FORMS)}; got {brief(form)}.")
            P = a.probabilities(known, table, prior)
        if into != JSON:
            return a.prediction_table(known, P, into), n, into
        return a.prediction(known, P, one, _notes(heard)), n, JSON

    def _explained(self, body: bytes) -> Made:
        known, limits = self._live.known, self._settings.limits
        question: Explain = self._explain.read(body)
        with listening() as heard:
            table, n = rows_of(question, known.columns, limits)
            cells = n * known.columns.schema.d * len(known.labels)
            if cells > limits.cells:
                most = max(1, limits.cells // max(1, cells // max(1, n)))
                raise HttpError(413, f"An explanation of {n:,} rows is too long. Send {most:,} at a time.")
            found = a.explanation(known, table, question)
        if heard:
            found.notes = _notes(heard)
        return found, n, JSON

    def _decided(self, body: bytes) -> Made:
        known = self._live.known
        question: Decide = self._decide.read(body)
        with listening() as heard:
            table, n = rows_of(question, known.columns, self._settings.limits)
            P = a.probabilities(known, table, a.read_prior(question.prior, known))
        return a.decision(known, P, question, _notes(heard)), n, JSON


def _one(known: Known, row: Row, heard: list[str]) -> a.Prediction:
    """One row by the compiled fast path, where the model has one: a microsecond."""
    if not row.keys() <= known.columns.known:
        known.columns.refuse_unknown(row)
    shares = list(known.model.predict_proba_one(row).values())
    best = known.labels[shares.index(max(shares))]
    return a.Prediction(known.labels, best, shares, _notes(heard) if heard else UNSET)  # type: ignore[arg-type]


def _notes(heard: list[str]) -> list[str]:
    return list(dict.fromkeys(map(in_words, heard)))


def _only_json(request: Request) -> None:
    if form_of(request.headers.get("content-type")) != JSON:
        raise HttpError(415, "Send the request as application/json.")


def _column(schema: Schema, j: int) -> a.Column:
    if j not in schema.levels:
        return a.Column(schema.name(j), schema.kinds[j])
    labels = schema.levels[j].labels
    shown = [None if isinstance(v, float) and not math.isfinite(v) else v for v in labels[:LEVELS]]
    levels = [v.item() if isinstance(v, np.generic) else v for v in shown]
    return a.Column(schema.name(j), schema.kinds[j], len(labels), levels)
