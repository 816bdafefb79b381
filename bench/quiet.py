"""Whether a machine is quiet enough for its figures to be printed: the noise before, during and after a run.

Every figure of the benchmark is the fastest call of some turns, so what matters is whether such minima repeat. Two
things that always take the same, a loop and reading memory, are timed on each core as workloads are: in groups of as
many turns as a workload gets at least. The fastest calls of the groups, before and after the run, must agree. How long
most calls take says nothing of that: beside neighbours on a host many are late, and the fastest agree all the same.
What else is a sign of other work is time in which a turn did not run, and time that the host took away; and while the
benchmark runs, what the cores did beyond what it used itself.
"""

from __future__ import annotations

import math
import os
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np

from .harness import ROUNDS, one_turn

GROUPS = 5  # of ROUNDS turns, of each thing on each core
TURN = 0.1  # seconds
LOOP = 0.01  # seconds that a call of the loop is made to take
MEMORY = 64 << 20  # bytes: more than caches hold

# What is called quiet. Two runs of the very same code differ by about the spread.
SPREAD = 0.10
WAITED = 0.03
STOLEN = 0.02
OTHERS = 0.05
LOAD = 0.5


@dataclass(frozen=True)
class Sample:
    """The noise at one moment, of the worst core."""

    spread: float  # by how much the fastest call of some group is longer than that of another, before or after
    waited: float  # share of the time in which a turn did not run
    stolen: float  # share of the time that the host took away


@dataclass(frozen=True)
class Turns:
    """One thing done again and again on one core."""

    fastest: Sequence[float]  # seconds: the fastest call of each turn
    wall: float  # of all turns, by the clock
    cpu: float  # of the processor
    stolen: float  # that the host took meanwhile

    def of_groups(self) -> list[float]:
        """The fastest call of each group of turns."""
        return [min(self.fastest[k : k + ROUNDS]) for k in range(0, len(self.fastest), ROUNDS)]


@dataclass(frozen=True)
class Noise:
    """The noise around a run. Shares are of all cores; a figure that the system does not tell is 0."""

    before: Sample
    after: Sample
    load: float  # the load average when it began; 0 for a run that follows another, whose load it would be
    others: float  # share of the cores that other processes used meanwhile
    stolen: float  # share of the cores that the host took away meanwhile

    def reasons(self) -> list[str]:
        """Why these figures are not to be printed; none if the machine was quiet."""
        found = []
        for when, sample in (("before", self.before), ("after", self.after)):
            if sample.spread > SPREAD:
                found.append(
                    f"{when} it the fastest call of {ROUNDS} turns took up to {sample.spread:.0%} longer than that of "
                    f"others that did the same (quiet: {SPREAD:.0%})"
                )
            if sample.waited > WAITED:
                found.append(f"{when} it turns waited {sample.waited:.0%} of the time (quiet: {WAITED:.0%})")
            if sample.stolen > STOLEN:
                found.append(f"{when} it the host took {sample.stolen:.0%} of a core (quiet: {STOLEN:.0%})")
        if self.load > LOAD:
            found.append(f"the load was {self.load:.1f} when it began (quiet: {LOAD:g})")
        if self.others > OTHERS:
            found.append(f"other processes used {self.others:.0%} of the cores (quiet: {OTHERS:.0%})")
        if self.stolen > STOLEN:
            found.append(f"the host took {self.stolen:.0%} of the cores (quiet: {STOLEN:.0%})")
        return found

    @classmethod
    def of_json(cls, held: dict[str, object]) -> Noise:
        numbers = {key: float(str(held[key])) for key in ("load", "others", "stolen")}
        samples = {key: Sample(**dict(held[key])) for key in ("before", "after")}  # type: ignore[call-overload]
        return cls(**samples, **numbers)

    def to_json(self) -> dict[str, object]:
        return asdict(self) | {"quiet": not self.reasons(), "reasons": self.reasons()}


def judged(turns: Turns, fastest: float) -> Sample:
    """What turns tell. fastest: the fastest call of these and of all others that did the same on this core."""
    waited = max(0.0, 1.0 - turns.cpu / turns.wall)
    return Sample(max(turns.of_groups()) / fastest - 1.0, waited, turns.stolen / turns.wall)


def judged_together(before: Mapping[str, Turns], after: Mapping[str, Turns]) -> tuple[Sample, Sample]:
    """The worst of what was done before and of what was done after: the same things, on the same cores."""
    fastest = {name: min((*before[name].fastest, *after[name].fastest)) for name in before}
    first, second = ([judged(turns, fastest[name]) for name, turns in side.items()] for side in (before, after))
    return worst(first), worst(second)


def worst(samples: Sequence[Sample]) -> Sample:
    return Sample(*(max(values) for values in zip(*(vars(s).values() for s in samples), strict=True)))


def taken() -> dict[str, Turns]:
    """Some seconds: the things in turns, on one core that this process may use after the other."""
    if not hasattr(os, "sched_setaffinity"):
        return _taken("cpu")
    cores = os.sched_getaffinity(0)
    found: dict[str, Turns] = {}
    try:
        for core in sorted(cores):
            os.sched_setaffinity(0, {core})
            found |= _taken(f"cpu{core}")
    finally:
        os.sched_setaffinity(0, cores)
    return found


def _taken(core: str) -> dict[str, Turns]:
    things: dict[str, Callable[[], object]] = {"loop": partial(_work, _steps()), "memory": np.ones(MEMORY // 8).sum}
    turns: dict[str, list[tuple[float, float, float, float]]] = {thing: [] for thing in things}
    for _ in range(GROUPS * ROUNDS):
        for thing, call in things.items():
            start = time.perf_counter(), time.thread_time(), jiffies(core)[1]
            fastest, _, _ = one_turn(call, 1, TURN)
            wall, cpu, stolen = time.perf_counter(), time.thread_time(), jiffies(core)[1]
            turns[thing].append((fastest, wall - start[0], cpu - start[1], stolen - start[2]))
    return {
        f"{thing} {core}": Turns(fastest, math.fsum(wall), math.fsum(cpu), math.fsum(stolen))
        for thing, done in turns.items()
        for fastest, wall, cpu, stolen in [zip(*done, strict=True)]
    }


@cache
def _steps() -> int:
    """How many steps the loop has: as many before as after."""
    steps, best = 20_000, math.inf
    for _ in range(5):
        started = time.perf_counter()
        _work(steps)
        best = min(best, time.perf_counter() - started)
    return max(1000, int(steps * LOOP / best))


def _work(steps: int) -> int:
    x = 1
    for _ in range(steps):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return x


def jiffies(name: str = "cpu", text: str | None = None) -> tuple[float, float]:
    """Seconds since the start that a core ("cpu": all of them) was busy, and that the host took; zeros if unknown."""
    try:
        lines = (Path("/proc/stat").read_text() if text is None else text).splitlines()
        values = next(list(map(int, line.split()[1:])) for line in lines if line.split()[0] == name)
        user, nice, system, _, _, irq, soft, stolen = values[:8]
        tick = os.sysconf("SC_CLK_TCK")
    except (OSError, StopIteration, ValueError, AttributeError):
        return 0.0, 0.0
    return (user + nice + system + irq + soft) / tick, stolen / tick


def own_seconds() -> float:
    """Of the processor: this process and its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return math.fsum(u.ru_utime + u.ru_stime for u in used)


class Watch:
    """The noise around what is done between its start and its end. first: nothing of ours ran just before."""

    def __init__(self, *, first: bool) -> None:
        self._load, self._before = os.getloadavg()[0] if first else 0.0, taken()
        self._offset = (time.perf_counter(), jiffies(), own_seconds())

    def end(self) -> Noise:
        (started, (busy, host), own), cores = self._offset, os.cpu_count() or 1
        busy_now, host_now = jiffies()
        whole = (time.perf_counter() - started) * cores
        others = max(0.0, (busy_now - busy) - (own_seconds() - own)) / whole
        return Noise(*judged_together(self._before, taken()), self._load, others, (host_now - host) / whole)
