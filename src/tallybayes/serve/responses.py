"""Answers of a model to rows, as plain values that JSON can hold, or as a table."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray
from pyarrow import csv
from starlette.requests import Request
from starlette.responses import Response

from tallybayes.decision import Losses
from tallybayes.errors import listing
from tallybayes.estimators.loss import read_loss
from tallybayes.serve.http_errors import HttpError
from tallybayes.serve.request_bodies import JSON, Cell, Decide, Explain, Label
from tallybayes.serve.request_tables import ARROW, CSV

if TYPE_CHECKING:
    from tallybayes.data.table import Table
    from tallybayes.serve.live import Known

Floats = NDArray[np.float64]
encode = msgspec.json.Encoder().encode
REST = "*"  # all other classes, in a loss
RANGES = {JSON: JSON, CSV: CSV, ARROW: ARROW, "*/*": JSON, "application/*": JSON, "text/*": CSV}  # of Accept
QUALITY = re.compile(r"(?:.*;)?\s*q=([01](?:\.\d{0,3})?)")
ROWS = "tallybayes.rows"  # in a scope: how many rows the response is about
Unbounded = float | Literal["Infinity", "-Infinity"]  # JSON has no infinite numbers
Notes = list[str] | UnsetType


class Prediction(msgspec.Struct, omit_defaults=True):
    """The class of one row, and the probability of each class. notes: what should be known besides."""

    classes: list[Label]
    prediction: Label
    probability: list[float]
    notes: Notes = UNSET


class Predictions(msgspec.Struct, omit_defaults=True):
    """The same of many rows."""

    classes: list[Label]
    predictions: list[Label]
    probabilities: list[list[float]]
    notes: Notes = UNSET


class Evidence(msgspec.Struct):
    """What a column adds to the log-odds of each class."""

    column: str
    value: Cell
    contribution: list[Unbounded]


class Explained(msgspec.Struct):
    """A row: log_odds is prior plus the contributions of all columns."""

    prediction: Label
    probability: list[float]
    prior: list[Unbounded]
    log_odds: list[Unbounded]
    evidence: list[Evidence]
    text: str


class Explanation(msgspec.Struct, omit_defaults=True):
    """The evidence, row by row."""

    classes: list[Label]
    rows: list[Explained]
    notes: Notes = UNSET


class Decision(msgspec.Struct, omit_defaults=True):
    """The decision with the smallest expected loss (null: rejected), and the expected loss of each answer."""

    answers: list[Label]
    decision: Label | None
    risk: list[Unbounded]
    notes: Notes = UNSET


class Decisions(msgspec.Struct, omit_defaults=True):
    """The same of many rows."""

    answers: list[Label]
    decisions: list[Label | None]
    risks: list[list[Unbounded]]
    notes: Notes = UNSET


class Column(msgspec.Struct, omit_defaults=True):
    """A column of the model; of a categorical one its first levels."""

    name: str
    kind: str
    n_levels: int | UnsetType = UNSET
    levels: list[Cell] | UnsetType = UNSET


class Model(msgspec.Struct):
    """What is served. one_row: 'compiled', or why one row takes longer; generation: how many models were served."""

    estimator: str
    target: str | None
    classes: list[Label]
    class_count: list[float]
    columns: list[Column]
    one_row: str
    generation: int
    learn: bool
    version: str


class Status(msgspec.Struct):
    """How the service is."""

    status: str


def answer(request: Request, body: object, rows: int = 0, kind: str = JSON) -> Response:
    """The response to a request; rows: how many it is about."""
    request.scope[ROWS] = rows
    return Response(body if isinstance(body, bytes) else encode(body), headers={"content-type": kind})


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
    offset = predictor.offset_for(prior)
    if table is None:
        return np.empty((0, predictor.fitted.K))
    found: Floats = predictor.predict_rows(predictor.read(table), "proba", offset)
    return found


def prediction(known: Known, P: Floats, one: bool, notes: list[str]) -> Prediction | Predictions:
    """The body of a response to /predict."""
    labels: list[Any] = known.labels
    best = [labels[k] for k in P.argmax(axis=1).tolist()] if len(P) else []
    if one:
        return Prediction(labels, best[0], P[0].tolist(), notes or UNSET)
    return Predictions(labels, best, P.tolist(), notes or UNSET)


def prediction_table(known: Known, P: Floats, form: str) -> bytes:
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


def form_of_answer(accept: str | None) -> str:
    """JSON unless another form is preferred: by its quality, else by the order in which they are named."""
    if accept is None or accept.strip() in ("", "*/*"):
        return JSON
    best, form = 0.0, ""
    for part in accept.lower().split(","):
        name, _, options = part.partition(";")
        quality = QUALITY.fullmatch(options.strip())
        into, q = RANGES.get(name.strip(), ""), float(quality[1]) if quality else 1.0
        if into and q > best:
            best, form = q, into
    if not form:
        raise HttpError(406, "Responses are application/json, text/csv or application/vnd.apache.arrow.stream.")
    return form


# --- explanations ------------------------------------------------------------------------------------------------


def explanation(known: Known, table: Table | None, question: Explain) -> Explanation:
    """The body of a response to /explain: what each column adds to the log-odds of each class."""
    against = None if isinstance(question.against, UnsetType) else question.against
    labels: list[Any] = known.labels
    if against is not None and against not in labels:
        raise HttpError(422, f"{against!r:.80} is not a class. The classes are {listing(labels, 20)}.")
    model = known.model if question.prior is UNSET else known.model.with_prior(read_prior(question.prior, known))
    if table is None:
        return Explanation(labels, [])
    said = model.explain(table, against=against)
    values = [said.cells(j) for j in range(len(said.names))]
    best = said.probability.argmax(axis=1).tolist()
    rows = [
        Explained(
            labels[best[i]],
            said.probability[i].tolist(),
            _numbers(said.prior[i]),
            _numbers(said.log_odds[i]),
            [Evidence(name, _finite(values[j][i]), _numbers(said.values[i, j])) for j, name in enumerate(said.names)],
            said.text(i),
        )
        for i in range(len(said))
    ]
    return Explanation(labels, rows)


def _finite(value: Any) -> Any:
    """A number as JSON can hold it: of infinite ones their name, so that the sign is not lost."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if value != value else "Infinity" if value > 0 else "-Infinity"
    return value


def _numbers(values: Floats) -> list[Unbounded]:
    return [_finite(v) for v in values.tolist()]


# --- decisions ---------------------------------------------------------------------------------------------------


def decision(known: Known, P: Floats, question: Decide, notes: list[str]) -> Decision | Decisions:
    """The body of a response to /decide: the decision with the smallest expected loss, and the loss of each."""
    matrix, found = _losses(known, question)
    answers: list[Any] = found
    losses = Losses(matrix)
    own = known.decision.reject if isinstance(question.loss, UnsetType) and known.decision is not None else None
    reject = own if isinstance(question.reject, UnsetType) else question.reject
    chosen = losses.chosen(P, reject).tolist() if len(P) else []
    decided = [answers[k] if k < len(answers) else None for k in chosen]
    risks = [_numbers(row) for row in losses.risk(P)] if len(P) else []
    if question.row is not UNSET:
        return Decision(answers, decided[0], risks[0], notes or UNSET)
    return Decisions(answers, decided, risks, notes or UNSET)


def _losses(known: Known, question: Decide) -> tuple[Floats, list[object]]:
    """(answers, classes) and the answers: as the question says, or as the model file does."""
    own = known.decision
    if isinstance(question.loss, UnsetType):
        if own is None:
            raise HttpError(422, "Send what each decision costs: loss, as {decision: {class: cost}}.")
        if own.amount_loss_ is not None:
            raise HttpError(422, "The losses of this model depend on an amount. Send loss with the request.")
        return own.loss_, own.answers_.tolist()[: len(own.loss_)]
    pairs: dict[tuple[object, object], float] = {}
    for name, costs in question.loss.items():
        answer = known.by_text.get(name, name)
        for truth, cost in costs.items():
            whole = truth == REST and REST not in known.by_text
            pairs[answer, ... if whole else _class_of(truth, known, "The loss names the class")] = cost
        if not costs:
            raise HttpError(422, f"The loss of the decision {name!r:.80} is empty. Send its cost for each class.")
    if not pairs:
        raise HttpError(422, "The loss is empty. Send what each decision costs: {decision: {class: cost}}.")
    return read_loss(pairs, None, known.model.classes_)
