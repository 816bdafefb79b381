"""What a workload is, and how one is measured: all sides in turns, and the minimum of each."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import repeat

import numpy as np

from .memory import Extra, extra_memory, extra_memory_apart

Run = Callable[[], object]

ROUNDS = 3  # turns that even the slowest side gets


@dataclass(frozen=True)
class Side:
    """A peer or a limit: its name, one call of it, and by how much its time is multiplied."""

    name: str
    run: Run
    times: float = 1.0  # 5 if it was given a fifth of the rows, because all of them take too long


@dataclass(frozen=True)
class Case:
    """A workload with its data made: what there is to call."""

    data: str  # what it runs on, for the table
    ours: Run
    peer: Side | None = None
    limit: Side | None = None
    per: int = 1  # a call does this many operations; times are of one
    tolerance: float | None = None  # the arrays that ours and the peer return must agree to this
    once: bool = False  # too heavy to repeat: measured for its memory, timed once
    times_itself: bool = False  # ours returns the seconds that count: CPU of another process, or a quantile
    peak: Callable[[], float] | None = None  # megabytes of one run, where another process does the work


@dataclass(frozen=True)
class Targets:
    """What is promised. None: nothing."""

    ratio: float | None = None  # the peer takes at least this many times as long
    of_limit: float | None = None  # we take at most this many times the limit
    seconds: float | None = None
    megabytes: float = 64.0  # peak memory beyond X and the answer
    leaner: float | None = None  # the peer takes at least this many times as much memory


@dataclass(frozen=True)
class Workload:
    name: str
    build: Callable[..., Case]
    arguments: Mapping[str, object]
    targets: Targets


@dataclass
class Result:
    """One row of the table. Times in seconds for one operation, memory in megabytes."""

    workload: str
    data: str = ""
    ours: float | None = None
    peer: float | None = None
    peer_name: str = ""
    peer_times: float = 1.0
    limit: float | None = None
    limit_name: str = ""
    memory: Extra | None = None
    peer_memory: Extra | None = None  # where a target speaks of it
    alone: float | None = None  # ours with one thread, if it was asked for
    error: str = ""


WORKLOADS: list[Workload] = []


def named(name: str) -> Workload:
    return next(work for work in WORKLOADS if work.name == name)


def workload(
    name: str,
    *,
    ratio: float | None = None,
    of_limit: float | None = None,
    seconds: float | None = None,
    megabytes: float = 64.0,
    leaner: float | None = None,
    **arguments: object,
) -> Callable[[Callable[..., Case]], Callable[..., Case]]:
    """Registers a function that builds a Case. It gets `shrink` (1, or 10 in a quick run) and `arguments`,
    so that one function under several decorators makes several workloads."""

    def register(build: Callable[..., Case]) -> Callable[..., Case]:
        if any(work.name == name for work in WORKLOADS):
            raise ValueError(f"two workloads are called {name!r}")
        # Python applies the lowest decorator first; the table shows them as they are written.
        first = next((k for k, work in enumerate(WORKLOADS) if work.build is build), len(WORKLOADS))
        targets = Targets(ratio, of_limit, seconds, megabytes, leaner)
        WORKLOADS.insert(first, Workload(name, build, arguments, targets))
        return build

    return register


def run(work: Workload, *, quick: bool, threads: bool = False) -> Result:
    """Builds the workload and measures it: memory (not when quick) on the very first call, then times; with threads
    also those of one thread."""
    case = work.build(10 if quick else 1, **work.arguments)
    result = Result(work.name, case.data)
    if case.times_itself:
        result.ours = min(float(str(case.ours())) for _ in range(1 if quick else ROUNDS)) / case.per
        return result
    if not quick:
        if work.targets.leaner is not None and case.peer:
            result.peer_memory = extra_memory_apart(case.peer.run)
        started = time.perf_counter()
        result.memory = Extra(case.peak()) if case.peak else extra_memory(case.ours)
        result.ours = (time.perf_counter() - started) / case.per
    if not case.once:
        _time(case, result, 0.5 if quick else 8.0, threads)
    elif quick:
        result.ours = one_turn(case.ours, 1, 0.0)[0] / case.per
    return result


def _time(case: Case, result: Result, budget: float, threads: bool) -> None:
    sides = {"ours": case.ours}
    if threads:
        sides["alone"] = _with_one_thread(case.ours)
    if case.limit:
        sides["limit"] = case.limit.run
    if case.peer:
        sides["peer"] = case.peer.run
    best, answers = interleave(sides, budget)
    result.ours = best["ours"] / case.per
    if threads:
        result.alone = best["alone"] / case.per
    if case.limit:
        result.limit_name, result.limit = case.limit.name, best["limit"] * case.limit.times / case.per
    if case.peer:
        result.peer_name, result.peer = case.peer.name, best["peer"] * case.peer.times / case.per
        result.peer_times = case.peer.times
        if case.tolerance is not None:
            _check_agreement(answers["ours"], answers["peer"], case.tolerance)


def _with_one_thread(call: Run) -> Run:
    from tallybayes import _core

    def alone() -> object:
        _core.limit_threads(1)
        try:
            return call()
        finally:
            _core.limit_threads(0)

    return alone


def interleave(sides: Mapping[str, Run], budget: float) -> tuple[dict[str, float], dict[str, object]]:
    """Gives every side its turn until the budget (seconds) is spent, at least ROUNDS times.
    Returns the fastest call of each side, and each side's first answer."""
    best = dict.fromkeys(sides, math.inf)
    loops = dict.fromkeys(sides, 1)
    answers: dict[str, object] = {}
    turn = budget / (4 * len(sides))
    started = time.perf_counter()
    rounds = 0
    while rounds < ROUNDS or time.perf_counter() - started < budget:
        for name, call in sides.items():
            seconds, loops[name], answer = one_turn(call, loops[name], turn)
            best[name] = min(best[name], seconds)
            answers.setdefault(name, answer)
            del answer
        rounds += 1
    return best, answers


def one_turn(call: Run, loops: int, turn: float) -> tuple[float, int, object]:
    """The fastest of the calls that fit a turn (at least one). A call too short for the clock is put into a
    loop of at least a millisecond, whose length is returned for the next turn."""
    best = math.inf
    gc.collect()
    gc.disable()
    try:
        stop = time.perf_counter() + turn
        while True:
            answer: object = None
            started = time.perf_counter()
            for _ in repeat(None, loops):
                answer = call()
            ended = time.perf_counter()
            best = min(best, (ended - started) / loops)
            if ended >= stop:
                return best, loops, answer
            if ended - started < 1e-3:
                loops = math.ceil(loops * min(10.0, 1.5e-3 / (ended - started)))
    finally:
        gc.enable()


def _check_agreement(ours: object, peer: object, tolerance: float) -> None:
    """A fast wrong answer is worth nothing."""
    difference = float(np.max(np.abs(np.asarray(ours) - np.asarray(peer))))
    if not difference <= tolerance:
        raise AssertionError(f"our answer and the peer's differ by {difference:.2g} (allowed: {tolerance:g})")
