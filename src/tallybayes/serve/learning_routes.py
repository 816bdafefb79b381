"""Requests that change the model: learn, forget, and the list of examples. One thread does it all, in order.

Requests that come while the disk is busy wait together, and share the next sync: that is what makes a group.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import re
import threading
import time
from collections.abc import Callable
from itertools import islice
from typing import TypeVar
from urllib.parse import parse_qs
from uuid import uuid4

import msgspec
from msgspec import UNSET, UnsetType

from tallybayes.errors import TallybayesError
from tallybayes.serve.http_errors import HttpError
from tallybayes.serve.ledger import Example, Ledger
from tallybayes.serve.live import Known
from tallybayes.serve.metrics import Metrics
from tallybayes.serve.request_bodies import JSON, Label, Reader, Row, form_of
from tallybayes.serve.request_tables import many_rows
from tallybayes.serve.responses import encode
from tallybayes.serve.service_settings import Settings
from tallybayes.serve.wire import Answer, Request

log = logging.getLogger("tallybayes.serve")
T = TypeVar("T")
MOST_WAITING = 10_000  # requests; more are told to come again
MOST_TOGETHER = 1000  # requests of one group
SNAPSHOT_SECONDS = 60.0  # after the last one, if there was an example
KEY = "[!-~]{1,100}"  # of a request
LONGEST_ID = 200
PAGE, MOST_LISTED = 100, 1000
Job = tuple[Callable[[Ledger], object], "asyncio.Future[object]"]
Done = tuple["asyncio.Future[object]", object, BaseException | None]


class Learn(msgspec.Struct, forbid_unknown_fields=True):
    """One row with its class, or rows with theirs.

    Parameters
    ----------
    row, label, id : optional
        One row, its class, and what the example is called.
    rows, labels, ids : optional
        Many: all are learned, or none.
    subject : str, optional
        Whom they are about.
    """

    row: Row | UnsetType = UNSET
    label: Label | UnsetType = UNSET
    id: str | UnsetType = UNSET
    rows: list[Row] | UnsetType = UNSET
    labels: list[Label] | UnsetType = UNSET
    ids: list[str] | UnsetType = UNSET
    subject: str | UnsetType = UNSET


class Forget(msgspec.Struct, forbid_unknown_fields=True):
    """Which examples are to be forgotten: by their ids, or all of a subject."""

    ids: list[str] | UnsetType = UNSET
    subject: str | UnsetType = UNSET


class Learner:
    """The thread that owns the ledger."""

    def __init__(self, ledger: Ledger, snapshot_every: int) -> None:
        self.ledger, self._every = ledger, snapshot_every
        self.broken = ""
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="tallybayes-learner")

    def start(self) -> None:
        """Begin to work."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def stop(self) -> None:
        """Do what is waiting, write the model file, and end."""
        if self._thread.is_alive():
            self._queue.put(None)
            await self._loop.run_in_executor(None, self._thread.join)
        await asyncio.get_running_loop().run_in_executor(None, self.ledger.close)

    async def do(self, work: Callable[[Ledger], T]) -> T:
        """What the work gives, once the disk has it."""
        if self.broken:
            raise HttpError(503, f"Nothing is learned or forgotten until the service is started again: {self.broken}")
        if self._queue.qsize() > MOST_WAITING:
            raise HttpError(503, "Too many examples are waiting for the disk. Send it again in a while.")
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.put((work, future))  # type: ignore[arg-type]
        return await future

    def _work(self) -> None:
        written = time.monotonic()
        stopping = False
        while not stopping:
            jobs, stopping = self._next(max(0.1, written + SNAPSHOT_SECONDS - time.monotonic()))
            self._together(jobs)
            due = time.monotonic() >= written + SNAPSHOT_SECONDS
            if not self.broken and self.ledger.unwritten >= (1 if due else self._every):
                self._guarded(self.ledger.snapshot)
            if due:
                written = time.monotonic()

    def _next(self, wait: float) -> tuple[list[Job], bool]:
        """All that is waiting, or nothing after a while; and whether that was the last."""
        jobs: list[Job] = []
        try:
            job = self._queue.get(timeout=wait)
            while job is not None and len(jobs) < MOST_TOGETHER:
                jobs.append(job)
                job = self._queue.get_nowait()
            if job is not None:
                jobs.append(job)
            return jobs, job is None
        except queue.Empty:
            return jobs, False

    def _together(self, jobs: list[Job]) -> None:
        done: list[Done] = []
        for work, future in jobs:
            if self.broken:
                done.append((future, None, HttpError(503, self.broken)))
                continue
            try:
                done.append((future, work(self.ledger), None))
            except (HttpError, TallybayesError) as e:
                done.append((future, None, e))
            except Exception as e:
                done = self._failed(e, [future for future, _, error in done if error is None] + [future], done)
        try:
            if not self.broken:
                self.ledger.commit()
        except Exception as e:
            done = self._failed(e, [future for future, _, error in done if error is None], done)
        if done:
            self._loop.call_soon_threadsafe(_resolve, done)

    def _failed(
        self,
        error: Exception,
        futures: list[asyncio.Future[object]],
        done: list[Done],
    ) -> list[Done]:
        """After a write that failed nothing of the group is acknowledged, and the state is read from disk again."""
        log.error("examples could not be written: %s", error, exc_info=not isinstance(error, OSError))
        self._guarded(self.ledger.restore)
        refusal = HttpError(503, "The example could not be written to disk. Send it again; it is counted once.")
        return [d for d in done if d[2] is not None] + [(future, None, refusal) for future in futures]

    def _guarded(self, what: Callable[[], None]) -> None:
        try:
            what()
        except Exception as e:
            log.exception("online learning has to stop")
            self.broken = str(e)


def _resolve(done: list[Done]) -> None:
    for future, result, error in done:
        if future.done():  # the client has left
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


class LearningRoutes:
    """Handlers of the requests that change the model."""

    def __init__(self, learner: Learner, settings: Settings, metrics: Metrics) -> None:
        self.learner, self._settings, self._metrics = learner, settings, metrics
        self._learn, self._forget = Reader(Learn), Reader(Forget)

    async def learn(self, request: Request) -> Answer:
        """Learn rows; the answer comes when they are on disk."""
        _only_json(request)
        examples = self._examples(self._learn.read(request.body), _key(request.key))
        found = await self.learner.do(lambda ledger: ledger.learn(examples))
        self._metrics.event("examples", found.fresh)
        self._metrics.event("examples_again", found.again)
        body = {"learned": found.fresh, "again": found.again, "ids": [example.id for example in examples]}
        return Answer(encode(body), rows=len(examples))

    def _examples(self, asked: Learn, key: str | None) -> list[Example]:
        known = self.learner.ledger.live.known
        one = asked.row is not UNSET or asked.label is not UNSET or asked.id is not UNSET
        many = asked.rows is not UNSET or asked.labels is not UNSET or asked.ids is not UNSET
        if one == many:
            raise HttpError(422, "An example has row and label; many have rows and labels. Send one or the other.")
        rows, labels, ids = _one(asked) if one else _several(asked)
        many_rows(len(rows), self._settings.limits)
        if len(labels) != len(rows) or (ids is not None and len(ids) != len(rows)):
            counts = f"{len(rows)} rows, {len(labels)} labels" + ("" if ids is None else f", {len(ids)} ids")
            raise HttpError(422, f"There are {counts}. Send as many of each.")
        ids = _checked(_named(len(rows), key, one) if ids is None else ids)
        subject = None if isinstance(asked.subject, UnsetType) else _short(asked.subject, "A subject")
        now = time.time()
        _refuse_unknown(rows, known)
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

    async def forget(self, request: Request) -> Answer:
        """Forget examples; the answer comes when they are gone from the model, its file and the journal."""
        _only_json(request)
        asked = self._forget.read(request.body)
        if (asked.ids is UNSET) == (asked.subject is UNSET):
            raise HttpError(422, "Say which examples: ids, or the subject whose examples are all meant.")

        def work(ledger: Ledger) -> dict[str, object]:
            if isinstance(asked.subject, str):
                names = sorted(ledger.subjects.get(asked.subject, ()))
            else:
                names = list(dict.fromkeys(asked.ids)) if isinstance(asked.ids, list) else []
            rest = [name for name in names if name not in ledger.index]
            already = [name for name in rest if ledger.was_forgotten(name)]
            unknown = [name for name in rest if name not in set(already)]
            return {"forgotten": ledger.forget(names), "already": len(already), "unknown": unknown}

        found = await self.learner.do(work)
        self._metrics.event("forgotten", int(str(found["forgotten"])))
        return Answer(encode(found))

    async def examples(self, request: Request) -> Answer:
        """The examples that were learned and not forgotten, in their order, page by page."""
        options = _query(request.query)

        def work(ledger: Ledger) -> dict[str, object]:
            subject = options.get("subject")
            names = list(ledger.index) if subject is None else sorted(ledger.subjects.get(subject, ()))
            first = 0
            if "after" in options:
                if options["after"] not in names:
                    raise HttpError(404, f"There is no example {options['after']!r:.80} to go on after.")
                first = names.index(options["after"]) + 1
            limit = int(options.get("limit", PAGE))
            shown = list(islice(names, first, first + limit))
            told = [
                {"id": one.id, "row": one.row, "label": one.label, "time": one.time, "subject": one.subject}
                for one in ledger.examples(shown)
            ]
            more = shown[-1] if shown and first + limit < len(names) else None
            return {"examples": told, "count": len(names), "next": more}

        return Answer(encode(await self.learner.do(work)))


def _only_json(request: Request) -> None:
    # Said, not assumed: a page of another site can send a body without a type, but not JSON.
    if request.content_type is None or form_of(request.content_type) != JSON:
        raise HttpError(415, "Labelled examples are taken as application/json.")


Told = tuple[list[Row], list[Label], list[str] | None]  # rows, labels, ids


def _refuse_unknown(rows: list[Row], known: Known) -> None:
    for row in rows:
        if not row.keys() <= known.columns.known:
            known.columns.refuse_unknown(row)


def _one(asked: Learn) -> Told:
    if not isinstance(asked.row, dict) or isinstance(asked.label, UnsetType):
        raise HttpError(422, "A labelled example has row and label.")
    return [asked.row], [asked.label], None if isinstance(asked.id, UnsetType) else [asked.id]


def _several(asked: Learn) -> Told:
    if not isinstance(asked.rows, list) or not isinstance(asked.labels, list):
        raise HttpError(422, "Labelled examples have rows and labels.")
    return asked.rows, asked.labels, None if isinstance(asked.ids, UnsetType) else asked.ids


def _key(header: bytes | None) -> str | None:
    """The key of a request, looked at even if its examples have names of their own."""
    if header is None:
        return None
    key = header.decode("latin-1").strip()
    if not re.fullmatch(KEY, key):
        raise HttpError(422, "The header Idempotency-Key has from 1 to 100 printable ASCII characters without a space.")
    return key


def _named(n: int, key: str | None, one: bool) -> list[str]:
    """Names for examples that have none: after the key of the request, so that a repetition has the same."""
    if key is None:
        return [uuid4().hex for _ in range(n)]
    return [key] if one else [f"{key}/{i}" for i in range(n)]


def _checked(ids: list[str]) -> list[str]:
    for name in ids:
        _short(name, "An id")
    if len(set(ids)) < len(ids):
        raise HttpError(422, "Two examples of the request have the same id. Give each its own.")
    return ids


def _short(name: str, what: str) -> str:
    if not 0 < len(name) <= LONGEST_ID:
        raise HttpError(422, f"{what} has from 1 to {LONGEST_ID} characters; got {len(name)}.")
    return name


def _query(query: bytes) -> dict[str, str]:
    try:
        found = parse_qs(query.decode("ascii"), keep_blank_values=True, strict_parsing=bool(query), max_num_fields=10)
    except ValueError:
        raise HttpError(422, "The query cannot be read. It may have after, limit and subject.") from None
    options = {name: values[-1] for name, values in found.items()}
    if set(options) - {"after", "limit", "subject"} or any(len(values) > 1 for values in found.values()):
        raise HttpError(422, "The query may have after, limit and subject, each once.")
    limit = options.get("limit", "1")
    if not (limit.isascii() and limit.isdigit() and 1 <= int(limit[:9]) <= MOST_LISTED and len(limit) < 9):
        raise HttpError(422, f"limit is a whole number from 1 to {MOST_LISTED}; got {limit!r:.40}.")
    return options
