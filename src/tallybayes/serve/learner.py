"""The thread that learns. Requests that come while a commit is under way wait together and share the next one."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

from tallybayes.errors import ModelFileError, TallybayesError
from tallybayes.serve.http_errors import HttpError
from tallybayes.serve.ledger import Ledger

log = logging.getLogger("tallybayes.serve")
T = TypeVar("T")
MOST_WAITING = 10_000  # requests; further ones are asked to come again
MOST_TOGETHER = 1000  # requests of one commit
SNAPSHOT_SECONDS = 60.0  # after the last one, if there was an example
LOOK_SECONDS = 1.0  # between two looks at the model file, and at what other processes learned


class Job(NamedTuple):
    """What is to be done, and who waits for it. together: whether it shares a transaction with others."""

    work: Callable[[Ledger], Any]
    future: asyncio.Future[Any]
    together: bool


Done = tuple["asyncio.Future[Any]", object, BaseException | None]


class Learner:
    """Owns the ledger from `start` to `stop`."""

    def __init__(self, ledger: Ledger, snapshot_every: int) -> None:
        self.ledger, self._every = ledger, snapshot_every
        self.trouble = ""  # why nothing can be learned now
        self._stale = False  # whether the model has to be read from the store again
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="tallybayes-learner")

    def start(self) -> None:
        """Begin to work."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def stop(self) -> None:
        """Do what is waiting, write the model, and end."""
        if self._thread.is_alive():
            self._queue.put(None)
            await self._loop.run_in_executor(None, self._thread.join)
        await asyncio.get_running_loop().run_in_executor(None, self._close)

    def _close(self) -> None:
        if self._stale:  # what was learned and not committed was not acknowledged
            self.ledger.unwritten = 0
        self.ledger.close()

    async def do(self, work: Callable[[Ledger], T], together: bool = False) -> T:
        """What the work gives, once it is committed."""
        if self._queue.qsize() > MOST_WAITING:
            raise HttpError(503, "Too many examples are waiting for the disk. Send it again in a while.")
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.put(Job(work, future, together))
        return await future

    def _work(self) -> None:
        written = time.monotonic()
        stopping = False
        while not stopping:
            jobs, stopping = self._next()
            for together, some in groupby(jobs, key=lambda job: job.together):
                run = list(some)
                for part in [run] if together else [[job] for job in run]:
                    self._loop.call_soon_threadsafe(_resolve, self._done(part, together))
            due = time.monotonic() >= written + SNAPSHOT_SECONDS
            if not stopping:
                self._look(due or self.ledger.unwritten >= self._every)
            if due:
                written = time.monotonic()

    def _next(self) -> tuple[list[Job], bool]:
        """All that is waiting, or nothing after a while; and whether that was the last."""
        jobs: list[Job] = []
        try:
            job = self._queue.get(timeout=min(LOOK_SECONDS, SNAPSHOT_SECONDS))
            while job is not None and len(jobs) < MOST_TOGETHER - 1:
                jobs.append(job)
                job = self._queue.get_nowait()
            if job is not None:
                jobs.append(job)
            return jobs, job is None
        except queue.Empty:
            return jobs, False

    def _done(self, jobs: list[Job], together: bool) -> list[Done]:
        done: list[Done] = []
        try:
            self._mend()
            with self.ledger.transaction() if together else nullcontext():
                for work, future, _ in jobs:
                    try:
                        done.append((future, work(self.ledger), None))
                    except ModelFileError:
                        raise
                    except (HttpError, TallybayesError) as e:
                        done.append((future, None, e))
            self.trouble = ""
        except Exception as e:
            self._fail(e)
            refusal = HttpError(
                503, f"The store cannot be used now; send the request again, it is done once. {self.trouble}"
            )
            refused = {future for future, _, error in done if error is not None}
            done = [one for one in done if one[2] is not None]
            done += [(job.future, None, refusal) for job in jobs if job.future not in refused]
        return done

    def _mend(self) -> None:
        """After a failure the model is what the store says: whatever the failed transaction learned is not in it."""
        if self._stale:
            self.ledger.restore()
            self._stale = False

    def _look(self, snapshot: bool) -> None:
        """What is done without being asked: heal, hear of others, write the snapshot."""
        try:
            self._mend()
            self.ledger.check()
            if self.ledger.store.shared:
                self.ledger.catch_up()
            if snapshot and self.ledger.unwritten:
                self.ledger.snapshot()
            self.trouble = ""
        except Exception as e:
            self._fail(e)

    def _fail(self, error: Exception) -> None:
        said = f"{type(error).__name__}: {error}" if not isinstance(error, TallybayesError) else str(error)
        if said != self.trouble:
            log.error("nothing can be learned now: %s", said)
        self.trouble = said
        self._stale = not isinstance(error, ModelFileError) or self._stale


def _resolve(done: list[Done]) -> None:
    for future, result, error in done:
        if future.done():  # the client has left
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
