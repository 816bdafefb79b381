"""What can be asked: predict, explain, decide, what the model is, and the document that says all that."""

from __future__ import annotations

import math

import numpy as np
from msgspec import UNSET

import tallybayes
from tallybayes.data.schema import Schema
from tallybayes.data.table import Table
from tallybayes.errors import brief, listening
from tallybayes.serve import responses as a
from tallybayes.serve.http_errors import HttpError, in_words
from tallybayes.serve.live import Known, Live
from tallybayes.serve.openapi import document
from tallybayes.serve.request_bodies import JSON, Decide, Explain, Question, Reader, Row, form_of
from tallybayes.serve.request_tables import ARROW, CSV, FORMS, from_arrow, from_csv, from_plain, rows_of
from tallybayes.serve.service_settings import Settings
from tallybayes.serve.wire import Answer, Request

LEVELS = 100  # of a column that /model lists


class Asking:
    """Handlers of the requests that change nothing."""

    def __init__(self, live: Live, settings: Settings) -> None:
        self._live, self._settings = live, settings
        self._question, self._explain, self._decide = Reader(Question), Reader(Explain), Reader(Decide)
        self._document: tuple[int, bytes] = (0, b"")

    # --- rows --------------------------------------------------------------------------------------------------

    def predict(self, request: Request) -> Answer:
        """Tell P(class | x) of one row or many; as JSON, CSV or Arrow, in and out.

        Parameters
        ----------
        request : Request
            With its body.

        Returns
        -------
        Answer
            What goes back.
        """
        known, form = self._live.known, form_of(request.content_type)
        into = a.form_of_answer(request.accept)
        with listening() as heard:
            plain = from_plain(request.body, known.columns, self._settings.limits) if form == JSON else None
            if plain is not None:
                (table, n), prior, one = plain, None, False
            elif form == JSON:
                question: Question = self._question.read(request.body)
                row = question.row
                if row is not UNSET and question.rows is UNSET and question.columns is UNSET and into == JSON:
                    assert isinstance(row, dict)
                    if question.prior is UNSET:
                        return Answer(_one(known, row, heard), rows=1)
                table, n = rows_of(question, known.columns, self._settings.limits)
                prior, one = a.read_prior(question.prior, known), row is not UNSET
            elif form in (CSV, ARROW):
                read = from_csv if form == CSV else from_arrow
                table, n = read(request.body, known.columns, self._settings.limits)
                prior, one = None, False
            else:
                taken, got = ", ".join(f.decode() for f in FORMS), brief(form.decode("latin-1"))
                raise HttpError(415, f"Rows are taken as {taken}; got {got}.")
            P = a.probabilities(known, table, prior)
        if into != JSON:
            return Answer(a.prediction_table(known, P, into), into, n)
        return Answer(a.encode(a.prediction(known, P, one, _notes(heard))), rows=n)

    def explain(self, request: Request) -> Answer:
        """Tell what each column says for each class, row by row.

        Parameters
        ----------
        request : Request
            With its body.

        Returns
        -------
        Answer
            What goes back.
        """
        known = self._live.known
        question: Explain = self._explain.read(_json(request))
        with listening() as heard:
            table, n = self._rows(question, known)
            cells = n * known.columns.schema.d * len(known.labels)
            if cells > self._settings.limits.cells:
                most = max(1, self._settings.limits.cells // max(1, cells // max(1, n)))
                raise HttpError(413, f"An explanation of {n:,} rows is too long. Send {most:,} at a time.")
            found = a.explanation(known, table, question)
        if heard:
            found["notes"] = _notes(heard)
        return Answer(a.encode(found), rows=n)

    def decide(self, request: Request) -> Answer:
        """Give the answer that is expected to cost least.

        Parameters
        ----------
        request : Request
            With its body.

        Returns
        -------
        Answer
            What goes back.
        """
        known = self._live.known
        question: Decide = self._decide.read(_json(request))
        with listening() as heard:
            table, n = self._rows(question, known)
            P = a.probabilities(known, table, a.read_prior(question.prior, known))
        return Answer(a.encode(a.decision(known, P, question, _notes(heard))), rows=n)

    def _rows(self, question: Question, known: Known) -> tuple[Table | None, int]:
        return rows_of(question, known.columns, self._settings.limits)

    # --- about the model ---------------------------------------------------------------------------------------

    def model(self, _: Request) -> Answer:
        """Tell what is served.

        Parameters
        ----------
        _ : Request
            It says nothing more.

        Returns
        -------
        Answer
            What goes back.
        """
        known = self._live.known
        model, schema = known.model, known.model.schema_
        found = {
            "estimator": type(model).__name__,
            "target": known.target,
            "classes": known.labels,
            "class_count": model.class_count_.tolist(),
            "columns": [_column(schema, j) for j in range(schema.d)],
            "one_row": model.one_row,
            "generation": known.generation,
            "learn": self._settings.learn,
            "version": tallybayes.__version__,
        }
        return Answer(a.encode(found))

    def openapi(self, _: Request) -> Answer:
        """Give the document, made anew when the model is.

        Parameters
        ----------
        _ : Request
            It says nothing more.

        Returns
        -------
        Answer
            What goes back.
        """
        known = self._live.known
        generation, body = self._document
        if generation != known.generation:
            body = a.encode(document(known, self._settings))
            self._document = (known.generation, body)
        return Answer(body)


def _one(known: Known, row: Row, heard: list[str]) -> bytes:
    """One row by the compiled door, where the model has one: a microsecond."""
    if not row.keys() <= known.columns.known:
        known.columns.refuse_unknown(row)
    found = known.model.predict_proba_one(row)
    shares = list(found.values())
    answer: dict[str, object] = {
        "classes": known.labels,
        "prediction": known.labels[shares.index(max(shares))],
        "probability": shares,
    }
    if heard:
        answer["notes"] = _notes(heard)
    return a.encode(answer)


def _notes(heard: list[str]) -> list[str]:
    return list(dict.fromkeys(map(in_words, heard)))


def _json(request: Request) -> bytes:
    if form_of(request.content_type) != JSON:
        raise HttpError(415, "The question is taken as application/json.")
    return request.body


def _column(schema: Schema, j: int) -> dict[str, object]:
    found: dict[str, object] = {"name": schema.name(j), "kind": schema.kinds[j]}
    if j not in schema.levels:
        return found
    labels = schema.levels[j].labels
    shown = [None if isinstance(v, float) and not math.isfinite(v) else v for v in labels[:LEVELS]]
    return found | {"n_levels": len(labels), "levels": [v.item() if isinstance(v, np.generic) else v for v in shown]}
