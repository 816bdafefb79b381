"""One point in a process of its own: so much time of the processor, so much memory, and no more."""

from __future__ import annotations

import gc
import math
import multiprocessing
import os
import resource
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path

from ..memory import extra_memory
from .models import MODELS, Model, as_kind, table
from .points import Point

Cost = dict[str, float]
Record = dict[str, object]
LOOK = 0.05  # seconds between looks at what a process has used
SLOWER = 12.0  # by the clock a point may take so many times its limit: the machine may be busy
BUDGET = 0.06  # seconds of the processor for repeats of a short call
LONG = 2.0  # a call that takes longer is not repeated


@dataclass(frozen=True)
class Limits:
    seconds: float = 20.0  # of the processor, for making the table, fitting and asking together
    megabytes: float = 6_000.0


def context() -> ForkServerContext:
    """Processes are forked from one that has loaded the libraries and started no thread: a start takes milliseconds."""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["bench.growth.preload"])
    return found


def measured(point: Point, limits: Limits, how: ForkServerContext) -> Record:
    """The record of a point: costs of fit and predict, or why there are none."""
    ours, theirs = how.Pipe(duplex=False)
    process = how.Process(target=_send, args=(theirs, point, limits), daemon=True)
    process.start()
    theirs.close()
    found: Record = {"stopped": "time"}
    end = time.monotonic() + SLOWER * limits.seconds
    try:
        while time.monotonic() < end and _used(process.pid) < limits.seconds:
            if ours.poll(LOOK):
                found = ours.recv()
                break
    except EOFError:
        process.join(5)
        found = {"stopped": f"the process ended with {process.exitcode}"}
    finally:
        process.kill()
        process.join()
        ours.close()
    return asdict(point) | found


def _used(pid: int | None) -> float:
    """Seconds of the processor, all threads. (A limit that the system keeps makes the process's own clock coarse.)"""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _send(out: Connection, point: Point, limits: Limits) -> None:
    data = int(limits.megabytes * 1e6)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (data, data))
    warnings.simplefilter("ignore")
    try:
        out.send(costs(point))
    except MemoryError:
        out.send({"stopped": "memory"})
    except Exception as error:
        out.send({"failed": f"{type(error).__name__}: {error}".splitlines()[0][:200]})


def costs(point: Point) -> Record:
    """What learning and answering cost at a point, in this process. An empty record: there is no such point."""
    from threadpoolctl import threadpool_limits

    shape, model = point.shape, MODELS[point.model]
    X, y = table(model, shape, shape.rows, 1)
    asked, _ = table(model, shape, shape.batch, 2)
    X, asked = as_kind(model, X, shape.kind), as_kind(model, asked, shape.kind)
    if X is None:
        return {}
    with threadpool_limits(limits=shape.threads):
        if point.side == "limit":
            return {"fit": cost(_reading(X)), "predict": cost(_reading(asked))}
        make = model.make if point.side == "ours" else model.peers[point.side]
        weights = {"sample_weight": (y % 3 + 1).astype(float)} if shape.kind == "weights" else {}
        fitted = []

        def fit() -> None:
            fitted[:] = [make(shape).fit(X, y, **weights)]

        record: Record = {"fit": cost(fit)}
        record["predict"] = cost(_question(fitted[0], model, asked, shape.kind))
    return record


def _question(fitted: object, model: Model, asked: object, kind: str) -> Callable[[], object]:
    if kind != "one dict":
        return lambda: fitted.predict_proba(asked)  # type: ignore[attr-defined]
    row = asked.iloc[0].to_dict() if model.data == "mixed" else dict(enumerate(asked[0].tolist()))  # type: ignore
    row = {key if isinstance(key, str) else f"x{key}": value for key, value in row.items()}
    return lambda: fitted.predict_proba_one(row)  # type: ignore[attr-defined]


def _reading(X: object) -> Callable[[], object]:
    """What no program that looks at the table can beat."""
    from tallybayes import _core

    if hasattr(X, "to_numpy"):  # a frame: its numbers, and a byte for each word
        numbers = X.select_dtypes("number").to_numpy()  # type: ignore[attr-defined]
        views = [_core.Columns(numbers)]
    else:
        views = [_core.Columns(X)]
    return lambda: [_core.stream(view) for view in views]


def cost(call: Callable[[], object]) -> Cost:
    """Seconds by the clock and of the processor, the least of some calls, and the megabytes of the first."""
    wall, cpu = time.perf_counter(), time.process_time()
    memory = extra_memory(call)
    best_wall, best_cpu = time.perf_counter() - wall, time.process_time() - cpu
    loops, spent, turns = 1, 0.0, 0
    gc.disable()
    while (spent < BUDGET or turns < 2) and best_cpu < LONG:  # the first call may have imported something
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(loops):
            call()
        took_wall, took = time.perf_counter() - wall, time.process_time() - cpu
        best_wall, best_cpu = min(best_wall, took_wall / loops), min(best_cpu, took / loops)
        spent, turns = spent + max(took, 1e-6), turns + 1
        if took < 2e-3:
            loops = math.ceil(loops * min(10.0, 3e-3 / max(took, 1e-6)))
    gc.enable()
    return {"wall": best_wall, "cpu": best_cpu, "mb": -1.0 if memory is None else memory.megabytes}
