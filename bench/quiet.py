"""Whether a machine is quiet enough for its figures to be printed: the noise before, during and after a run.

A fixed loop is run on each core many times. On a quiet machine every turn takes the same time, all of it on the core;
other work shows as turns that take longer, as time in which the loop did not run, as time that the host took away.
While the benchmark runs, what the cores did is compared with what the benchmark itself used.
"""

from __future__ import annotations

import math
import os
import resource
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

TURNS = 25  # of the loop, on each core
TURN = 0.01  # seconds that a turn is made to take

# What is called quiet. Two runs of the very same code differ by about the spread.
SPREAD = 0.10
WAITED = 0.03
STOLEN = 0.02
OTHERS = 0.05
LOAD = 0.5


@dataclass(frozen=True)
class Sample:
    """The noise at one moment, of the worst core."""

    spread: float  # by how much nine turns in ten are at most longer than the shortest
    waited: float  # share of the time in which the loop did not run
    stolen: float  # share of the time that the host took away


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
                found.append(f"{when} it a fixed loop took up to {sample.spread:.0%} longer (quiet: {SPREAD:.0%})")
            if sample.waited > WAITED:
                found.append(f"{when} it a loop waited {sample.waited:.0%} of the time (quiet: {WAITED:.0%})")
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


def judged(walls: Sequence[float], cpu: float, stolen: float) -> Sample:
    """What the turns of a loop tell: their times by the clock, the processor's time of all of them, the time stolen."""
    ordered, whole = sorted(walls), math.fsum(walls)
    late = ordered[min(len(ordered) - 1, (9 * len(ordered)) // 10)]
    return Sample(late / ordered[0] - 1.0, max(0.0, 1.0 - cpu / whole), stolen / whole)


def worst(samples: Sequence[Sample]) -> Sample:
    return Sample(*(max(values) for values in zip(*(vars(s).values() for s in samples), strict=True)))


def sample() -> Sample:
    """Half a second: the loop on each core that this process may use."""
    if not hasattr(os, "sched_setaffinity"):
        return _on_this_core(_loops())
    cores = os.sched_getaffinity(0)
    loops = _loops()
    found = []
    try:
        for core in sorted(cores):
            os.sched_setaffinity(0, {core})
            found.append(_on_this_core(loops, f"cpu{core}"))
    finally:
        os.sched_setaffinity(0, cores)
    return worst(found)


def _loops() -> int:
    """How many steps take a turn."""
    steps, best = 20_000, math.inf
    for _ in range(5):
        started = time.perf_counter()
        _work(steps)
        best = min(best, time.perf_counter() - started)
    return max(1000, int(steps * TURN / best))


def _work(steps: int) -> int:
    x = 1
    for _ in range(steps):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
    return x


def _on_this_core(loops: int, name: str = "cpu") -> Sample:
    walls = []
    busy, host = time.thread_time(), jiffies(name)[1]
    for _ in range(TURNS):
        started = time.perf_counter()
        _work(loops)
        walls.append(time.perf_counter() - started)
    return judged(walls, time.thread_time() - busy, jiffies(name)[1] - host)


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
        self._load, self._before = os.getloadavg()[0] if first else 0.0, sample()
        self._start = (time.perf_counter(), jiffies(), own_seconds())

    def end(self) -> Noise:
        (started, (busy, host), own), cores = self._start, os.cpu_count() or 1
        busy_now, host_now = jiffies()
        whole = (time.perf_counter() - started) * cores
        others = max(0.0, (busy_now - busy) - (own_seconds() - own)) / whole
        return Noise(self._before, sample(), self._load, others, (host_now - host) / whole)
