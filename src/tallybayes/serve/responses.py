"""Answers of a model to rows, as plain values that JSON can hold, or as a table."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray
from pyarrow import csv

from tallybayes.decision import Losses
from tallybayes.errors import listing
from tallybayes.estimators.loss import read_loss
from tallybayes.estimators.predicting import other_start
from tallybayes.serve.http_errors import HttpError
from tallybayes.serve.request_bodies import JSON, Decide, Explain, Question
from tallybayes.serve.request_tables import ARROW, CSV

if TYPE_CHECKING:
    from tallybayes.data.table import Table
    from tallybayes.serve.live import Known

Floats = NDArray[np.float64]
encode = msgspec.json.Encoder().encode
REST = "*"  # of the truths, in a loss


def label_text(label: object) -> str:
    """A class as the key of a JSON object."""
    return label if isinstance(label, str) else encode(label).decode()


def read_prior(given: object, known: Known) -> object:
    """The prior of a question as the library takes it; None: the model's own."""
    if given is UNSET:
        return None
    if not isinstance(given, Mapping):
        return given
    return {_class_of(name, known, "The prior names"): share for name, share in given.items()}


def _class_of(name: str, known: Known, who: str) -> object:
    if name not in known.by_text:
        raise HttpError(422, f"{who} {name!r:.80}; the classes are {', '.join(map(repr, list(known.by_text)[:20]))}.")
    return known.by_text[name]


def probabilities(known: Known, table: Table | None, prior: object) -> Floats:
    """P(class | x) of each row."""
    predictor = known.model.predictor_
    start = other_start(predictor.fitted, prior)
    if table is None:
        return np.empty((0, predictor.fitted.K))
    found: Floats = predictor.answer(predictor.read(table), "proba", start)
    return found


def prediction(known: Known, P: Floats, one: bool, notes: list[str]) -> dict[str, object]:
    """The body of an answer to /predict."""
    labels = known.labels
    best = [labels[k] for k in P.argmax(axis=1).tolist()] if len(P) else []
    if one:
        found: dict[str, object] = {"classes": labels, "prediction": best[0], "probability": P[0].tolist()}
    else:
        found = {"classes": labels, "predictions": best, "probabilities": P.tolist()}
    if notes:
        found["notes"] = notes
    return found


def prediction_table(known: Known, P: Floats, form: bytes) -> bytes:
    """The same as a table, with the columns 'prediction' and 'P(label)'."""
    labels = known.labels
    best = pa.array([labels[k] for k in P.argmax(axis=1).tolist()] if len(P) else [], _type(labels))
    columns = [best, *(pa.array(P[:, k]) for k in range(len(labels)))]
    table = pa.Table.from_arrays(columns, names=["prediction", *(f"P({label_text(v)})" for v in labels)])
    out = io.BytesIO()
    if form == CSV:
        csv.write_csv(table, out)
    else:
        with pa.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table)
    return out.getvalue()


def _type(labels: list[object]) -> pa.DataType:
    return pa.array(labels).type


def form_of_answer(accept: bytes | None) -> bytes:
    """JSON unless another form is asked for; the one that is named first."""
    if accept is None or accept == b"*/*":
        return JSON
    accept = accept.lower()
    places = {form: accept.find(form) for form in (JSON, CSV, ARROW)}
    named = {form: at for form, at in places.items() if at >= 0}
    if named:
        return min(named, key=lambda form: named[form])
    if b"*/*" in accept or b"application/*" in accept:
        return JSON
    if b"text/*" in accept:
        return CSV
    raise HttpError(406, "Answers are application/json, text/csv or application/vnd.apache.arrow.stream.")


# --- explanations ------------------------------------------------------------------------------------------------


def explanation(known: Known, table: Table | None, question: Explain) -> dict[str, object]:
    """The body of an answer to /explain: what each column adds to the log-odds of each class."""
    against = None if isinstance(question.against, UnsetType) else question.against
    found: dict[str, object] = {"classes": known.labels, "rows": []}
    if against is not None and against not in known.labels:
        raise HttpError(422, f"{against!r:.80} is not a class. The classes are {listing(known.labels, 20)}.")
    model = known.model if question.prior is UNSET else known.model.with_prior(read_prior(question.prior, known))
    if table is not None:
        said = model.explain(table, against=against)
        values = [said.cells(j) for j in range(len(said.names))]
        best = said.probability.argmax(axis=1).tolist()
        found["rows"] = [
            {
                "prediction": known.labels[best[i]],
                "probability": said.probability[i].tolist(),
                "prior": _numbers(said.prior[i]),
                "log_odds": _numbers(said.log_odds[i]),
                "evidence": [
                    {"column": name, "value": _finite(values[j][i]), "contribution": _numbers(said.values[i, j])}
                    for j, name in enumerate(said.names)
                ],
                "text": said.text(i),
            }
            for i in range(len(said))
        ]
    return found


def _finite(value: object) -> object:
    """A number as JSON can hold it: of infinite ones their name, so that the sign is not lost."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if value != value else "Infinity" if value > 0 else "-Infinity"
    return value


def _numbers(values: Floats) -> list[object]:
    return [_finite(v) for v in values.tolist()]


# --- decisions ---------------------------------------------------------------------------------------------------


def decision(known: Known, P: Floats, question: Decide, notes: list[str]) -> dict[str, object]:
    """The body of an answer to /decide: the answer that is expected to cost least, and what each would."""
    matrix, answers = _losses(known, question)
    losses = Losses(matrix)
    own = known.decision.reject if isinstance(question.loss, UnsetType) and known.decision is not None else None
    reject = own if isinstance(question.reject, UnsetType) else question.reject
    chosen = losses.chosen(P, reject).tolist() if len(P) else []
    decided = [answers[k] if k < len(answers) else None for k in chosen]
    risks = [_numbers(row) for row in losses.risk(P)] if len(P) else []
    one = _is_one(question)
    found: dict[str, object] = {"answers": answers}
    found |= {"decision": decided[0], "risk": risks[0]} if one else {"decisions": decided, "risks": risks}
    if notes:
        found["notes"] = notes
    return found


def _losses(known: Known, question: Decide) -> tuple[Floats, list[object]]:
    """(answers, classes) and the answers: as the question says, or as the model file does."""
    own = known.decision
    if isinstance(question.loss, UnsetType):
        if own is None:
            raise HttpError(422, "Say what each answer costs: loss, as {answer: {truth: cost}}.")
        if own.amount_loss_ is not None:
            raise HttpError(422, "The losses of this model hang on an amount. Say loss for this question.")
        return own.loss_, own.answers_.tolist()[: len(own.loss_)]
    pairs: dict[tuple[object, object], float] = {}
    for name, costs in question.loss.items():
        answer = known.by_text.get(name, name)
        for truth, cost in costs.items():
            whole = truth == REST and REST not in known.by_text
            pairs[answer, ... if whole else _class_of(truth, known, "The loss names the truth")] = cost
        if not costs:
            raise HttpError(422, f"The loss says nothing of the answer {name!r:.80}: say its cost for each truth.")
    if not pairs:
        raise HttpError(422, "The loss is empty. Say what each answer costs: {answer: {truth: cost}}.")
    return read_loss(pairs, None, known.model.classes_)


def _is_one(question: Question) -> bool:
    return question.row is not UNSET
