"""One model on one table in a process of its own: it gets so many threads and so much time, and no more."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from unittest import mock

from .measure import Answered, about, evaluate
from .models import Model
from .tables import Table

# What libraries read when they are loaded; besides, each model is set, and threadpoolctl sets the libraries again.
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "LOKY_MAX_CPU_COUNT")


@dataclass(frozen=True)
class Allowance:
    """limit: seconds for all folds, 0 for no limit, in this process then. seeds: how many are compared, 0 for none."""

    threads: int = 1
    limit: float = 0.0
    seeds: int = 0


def unit(model: Model, table: Table, allowed: Allowance) -> Answered:
    """What `evaluate` gives; if the time is over or the process dies, a record that says so."""
    if not allowed.limit:
        return evaluate(model, table, allowed.threads, allowed.seeds)
    context = _context(allowed.threads)
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(theirs, model, table, allowed.threads, allowed.seeds), daemon=True)
    with _variables(allowed.threads):
        process.start()
    theirs.close()  # so that a death is heard as the end of the pipe
    try:
        if ours.poll(allowed.limit):
            return Answered(*ours.recv())
        stopped = {"failed": f"stopped: it took more than {allowed.limit:g} s", "limit": allowed.limit}
        return Answered(about(model, table) | stopped)
    except EOFError:
        process.join()
        return Answered(about(model, table) | {"failed": f"its process died with exit code {process.exitcode}"})
    finally:
        process.kill()
        process.join()
        ours.close()


def _send(out: Connection, model: Model, table: Table, threads: int, seeds: int) -> None:
    out.send(tuple(evaluate(model, table, threads, seeds)))


def _context(threads: int) -> multiprocessing.context.BaseContext:
    """A server that has loaded the common libraries and never started a thread is forked for each unit, where there is
    one: a start costs milliseconds then, not seconds."""
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["bench.accuracy.measure", "sklearn.ensemble", "sklearn.pipeline", "sklearn.compose"]
    )
    with _variables(threads):
        from multiprocessing import forkserver

        forkserver.ensure_running()
    return context


@contextmanager
def _variables(threads: int) -> Iterator[None]:
    with mock.patch.dict(os.environ, dict.fromkeys(VARIABLES, str(threads))):
        yield
