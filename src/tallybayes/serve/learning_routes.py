"""Requests that change the model: learn, forget, and the list of examples."""

from __future__ import annotations

import json
import re
import time
from typing import Annotated, Any
from uuid import uuid4

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from tallybayes.serve.http_errors import HttpError
from tallybayes.serve.learner import Learner
from tallybayes.serve.live import Known
from tallybayes.serve.metrics import Metrics
from tallybayes.serve.request_bodies import JSON, BodyReader, Label, Row, form_of, plain_sentence, read_body
from tallybayes.serve.request_tables import many_rows
from tallybayes.serve.responses import answer
from tallybayes.serve.service_settings import Settings
from tallybayes.serve.store import Example

KEY = "[!-~]{1,100}"  # of a request
PAGE, MOST_LISTED = 100, 1000
Id = Annotated[str, Meta(min_length=1, max_length=200, pattern="^[^\\x00]*$")]  # of an example or a subject


class Learn(msgspec.Struct, forbid_unknown_fields=True):
    """One row with its label, or rows with theirs: all are learned, or none. subject: whom they are about."""

    row: Row | UnsetType = UNSET
    label: Label | UnsetType = UNSET
    id: Id | UnsetType = UNSET
    rows: list[Row] | UnsetType = UNSET
    labels: list[Label] | UnsetType = UNSET
    ids: list[Id] | UnsetType = UNSET
    subject: Id | UnsetType = UNSET


class Learned(msgspec.Struct):
    """How many examples were learned, and how many had been before; their ids."""

    learned: int
    again: int
    ids: list[str]


class Forget(msgspec.Struct, forbid_unknown_fields=True):
    """Which examples are to be forgotten: by their ids, or all of a subject. receipt: whether a deletion receipt is
    wanted; receipt_key: whether with the key of its hashes, by which whoever has a row can find it."""

    ids: list[Id] | UnsetType = UNSET
    subject: Id | UnsetType = UNSET
    receipt: bool = False
    receipt_key: bool = False


class Forgotten(msgspec.Struct):
    """How many were forgotten now and before, and the ids that nobody knows. receipt: if it was asked for; null if no
    example was forgotten now."""

    forgotten: int
    already: int
    unknown: list[str]
    receipt: dict[str, Any] | UnsetType | None = UNSET


class Listed(msgspec.Struct):
    """An example as it was learned. time: in seconds since 1970."""

    id: str
    row: Row
    label: Label
    time: float
    subject: str | None


class Examples(msgspec.Struct):
    """A page of examples; count: of all pages; next: the id to go on after."""

    examples: list[Listed]
    count: int
    next: str | None


class Listing(msgspec.Struct, forbid_unknown_fields=True):
    """The query of a list of examples: those after an id, at most so many, of one subject."""

    after: Id | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=MOST_LISTED)] = PAGE
    subject: Id | UnsetType = UNSET


class LearningRoutes:
    """Handlers of the requests that change the model."""

    def __init__(self, learner: Learner, settings: Settings, metrics: Metrics) -> None:
        self.learner, self._settings, self._metrics = learner, settings, metrics
        self._learn, self._forget = BodyReader(Learn), BodyReader(Forget)

    async def learn(self, request: Request) -> Response:
        """Learn rows; the response comes when they are on disk."""
        body = await self._json(request)
        examples = self._examples(self._learn.read(body), _key(request.headers.get("idempotency-key")))
        found = await self.learner.do(lambda ledger: ledger.learn(examples), together=True)
        self._metrics.event("examples", found.fresh)
        self._metrics.event("examples_again", found.again)
        return answer(request, Learned(found.fresh, found.again, [e.id for e in examples]), rows=len(examples))

    async def forget(self, request: Request) -> Response:
        """Forget examples; the response comes when they are gone from the model, its file and the store."""
        asked = self._forget.read(await self._json(request))
        if (asked.ids is UNSET) == (asked.subject is UNSET):
            raise HttpError(422, "Say which examples: ids, or the subject whose examples are all meant.")
        ids = asked.ids if isinstance(asked.ids, list) else None
        subject = asked.subject if isinstance(asked.subject, str) else None
        wanted = asked.receipt or asked.receipt_key
        done: dict[str, Any] = await self.learner.do(lambda ledger: ledger.forget(ids, subject, wanted))
        made = done.get("receipt")
        if made is not None:
            done["receipt"] = json.loads(made.to_json(key=asked.receipt_key))
        found = msgspec.convert(done, Forgotten)
        self._metrics.event("forgotten", found.forgotten)
        return answer(request, found)

    async def examples(self, request: Request) -> Response:
        """The examples that were learned and not forgotten, in their order, page by page."""
        asked = _listing(request)
        after = None if isinstance(asked.after, UnsetType) else asked.after
        subject = None if isinstance(asked.subject, UnsetType) else asked.subject
        found, count, more = await self.learner.do(lambda ledger: ledger.page(after, asked.limit, subject))
        listed = [Listed(e.id, e.row, e.label, e.time, e.subject) for e in found]
        return answer(request, Examples(listed, count, found[-1].id if more else None))

    async def _json(self, request: Request) -> bytes:
        # Said, not assumed: a page of another site can send a body without a type, but not JSON.
        kind = request.headers.get("content-type")
        if kind is None or form_of(kind) != JSON:
            raise HttpError(415, "Labelled examples are taken as application/json.")
        return await read_body(request, self._settings.limits)

    def _examples(self, asked: Learn, key: str | None) -> list[Example]:
        known = self.learner.ledger.live.known
        rows, labels, ids = _one_or_many(asked)
        many_rows(len(rows), self._settings.limits)
        if len(labels) != len(rows) or (ids is not None and len(ids) != len(rows)):
            counts = f"{len(rows)} rows, {len(labels)} labels" + ("" if ids is None else f", {len(ids)} ids")
            raise HttpError(422, f"There are {counts}. Send as many of each.")
        ids = _named(len(rows), key, asked.row is not UNSET) if ids is None else ids
        if len(set(ids)) < len(ids):
            raise HttpError(422, "Two examples of the request have the same id. Give each its own.")
        subject = None if isinstance(asked.subject, UnsetType) else asked.subject
        now = time.time()
        for row in rows:
            if not row.keys() <= known.columns.known:
                known.columns.refuse_unknown(row)
        return [
            Example(name, row, self._label(label, known), now, subject)
            for name, row, label in zip(ids, rows, labels, strict=True)
        ]

    def _label(self, label: Label, known: Known) -> Label:
        """The class that is meant; another one only if that was allowed."""
        for found in known.labels:
            if found == label and isinstance(found, bool) == isinstance(label, bool):
                return found
        if self._settings.new_classes:
            return label
        classes = ", ".join(repr(v)[:80] for v in known.labels[:20])
        raise HttpError(
            422, f"{label!r:.80} is no class of the model ({classes}). With --new-classes a service learns new ones."
        )


def _one_or_many(asked: Learn) -> tuple[list[Row], list[Label], list[str] | None]:
    """Rows, labels and, if they were sent, ids of one example or of many."""
    one = asked.row is not UNSET or asked.label is not UNSET or asked.id is not UNSET
    many = asked.rows is not UNSET or asked.labels is not UNSET or asked.ids is not UNSET
    if one == many:
        raise HttpError(422, "An example has row and label; many have rows and labels. Send one or the other.")
    if one:
        if isinstance(asked.row, UnsetType) or isinstance(asked.label, UnsetType):
            raise HttpError(422, "A labelled example has row and label.")
        return [asked.row], [asked.label], None if isinstance(asked.id, UnsetType) else [asked.id]
    if isinstance(asked.rows, UnsetType) or isinstance(asked.labels, UnsetType):
        raise HttpError(422, "Labelled examples have rows and labels.")
    return asked.rows, asked.labels, None if isinstance(asked.ids, UnsetType) else asked.ids


def _key(key: str | None) -> str | None:
    """The key of a request, checked even if its examples have ids of their own."""
    if key is not None and not re.fullmatch(KEY, key.strip()):
        raise HttpError(422, "The header Idempotency-Key has from 1 to 100 printable ASCII characters without a space.")
    return None if key is None else key.strip()


def _named(n: int, key: str | None, one: bool) -> list[str]:
    """Ids for examples that have none: after the key of the request, so that a repetition has the same."""
    if key is None:
        return [uuid4().hex for _ in range(n)]
    return [key] if one else [f"{key}/{i}" for i in range(n)]


def _listing(request: Request) -> Listing:
    query = request.query_params
    try:
        found = msgspec.convert(dict(query), Listing, strict=False)
    except msgspec.ValidationError as e:
        raise HttpError(422, f"{plain_sentence(str(e))}. The query may have after, limit and subject.") from None
    if len(query.multi_items()) > len(query):
        raise HttpError(422, "The query may have after, limit and subject, each once.")
    return found
