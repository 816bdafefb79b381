"""Counts and times of requests, in memory that the processes of a service share, as Prometheus reads them.

Each process has a row of its own in the shared memory and writes only there, so nothing is locked; a scrape adds the
rows up, whichever process it reaches. A process that is started again goes on in the row of the one before.
"""

from __future__ import annotations

import mmap
from bisect import bisect_left
from collections.abc import Sequence

from tallybayes.serve.http_errors import TITLES

TYPE = b"text/plain; version=0.0.4; charset=utf-8"
BOUNDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
STATUSES = (200, *TITLES)
PLACE = {status: k for k, status in enumerate(STATUSES)}
EVENTS = {
    "reloads": "Model files taken over while running",
    "reload_failures": "Model files that could not be taken over",
    "examples": "Examples learned",
    "examples_again": "Examples that had been learned before, and were not counted again",
    "forgotten": "Examples forgotten",
    "syncs": "Times that the journal was written and synced",
    "snapshots": "Times that the model file was written",
}
PER_ROUTE = len(STATUSES) + len(BOUNDS) + 1 + 2  # counts by status, by time, the sum of times, rows
PREFIX = "tallybayes"


class Metrics:
    """Counters of one process among several.

    Parameters
    ----------
    routes : sequence of str
        The routes, by number.
    workers : int
        How many processes share the memory.
    """

    def __init__(self, routes: Sequence[str], workers: int = 1) -> None:
        self.routes, self.workers = tuple(routes), workers
        self._names = tuple(EVENTS)
        self._width = len(self.routes) * PER_ROUTE + len(EVENTS)
        self._shared = mmap.mmap(-1, 8 * self._width * workers)  # anonymous and shared: children keep it
        self._all = memoryview(self._shared).cast("d")
        self._row = 0

    def become(self, worker: int) -> None:
        """Write in the row of this worker from now on.

        Parameters
        ----------
        worker : int
            Its number.
        """
        self._row = worker * self._width

    def done(self, route: int, status: int, seconds: float, rows: int) -> None:
        """Count a request that was answered.

        Parameters
        ----------
        route : int
            The number of the route.
        status : int
            The status of the answer.
        seconds : float
            How long it took.
        rows : int
            How many rows it had.
        """
        cells, at = self._all, self._row + route * PER_ROUTE
        cells[at + PLACE.get(status, PLACE[500])] += 1
        at += len(STATUSES)
        cells[at + bisect_left(BOUNDS, seconds)] += 1
        at += len(BOUNDS) + 1
        cells[at] += seconds
        if rows:
            cells[at + 1] += rows

    def event(self, name: str, times: int = 1) -> None:
        """Count something else that happened. Each event has one thread that counts it.

        Parameters
        ----------
        name : str
            What happened.
        times : int, default=1
            How many times.
        """
        self._all[self._row + len(self.routes) * PER_ROUTE + self._names.index(name)] += times

    def text(self, facts: dict[str, float]) -> str:
        """Give all of it as text.

        Parameters
        ----------
        facts : dict from name to number
            What is so now.

        Returns
        -------
        str
            As Prometheus reads it.
        """
        total = [sum(self._all[k :: self._width]) for k in range(self._width)]
        lines: list[str] = []
        _head(lines, "requests_total", "counter", "Requests by route and status")
        for r, route in enumerate(self.routes):
            counts = total[r * PER_ROUTE : r * PER_ROUTE + len(STATUSES)]
            lines += [
                f'{PREFIX}_requests_total{{route="{route}",status="{status}"}} {n:.0f}'
                for status, n in zip(STATUSES, counts, strict=True)
                if n
            ]
        _head(lines, "request_seconds", "histogram", "From the first byte seen to the answer handed over")
        for r, route in enumerate(self.routes):
            at = r * PER_ROUTE + len(STATUSES)
            lines += _histogram(route, total[at : at + len(BOUNDS) + 1], total[at + len(BOUNDS) + 1])
        _head(lines, "rows_total", "counter", "Rows that were answered for")
        for r, route in enumerate(self.routes):
            n = total[(r + 1) * PER_ROUTE - 1]
            if n:
                lines.append(f'{PREFIX}_rows_total{{route="{route}"}} {n:.0f}')
        for k, (name, about) in enumerate(EVENTS.items()):
            _head(lines, f"{name}_total", "counter", about)
            lines.append(f"{PREFIX}_{name}_total {total[len(self.routes) * PER_ROUTE + k]:.0f}")
        for name, value in facts.items():
            _head(lines, name, "gauge", name.replace("_", " "))
            lines.append(f"{PREFIX}_{name} {value:.17g}")
        return "\n".join(lines) + "\n"


def _head(lines: list[str], name: str, kind: str, about: str) -> None:
    lines += [f"# HELP {PREFIX}_{name} {about}", f"# TYPE {PREFIX}_{name} {kind}"]


def _histogram(route: str, counts: Sequence[float], seconds: float) -> list[str]:
    n = 0.0
    lines: list[str] = []
    if not sum(counts):
        return lines
    for bound, count in zip((*map(str, BOUNDS), "+Inf"), counts, strict=True):
        n += count
        lines.append(f'{PREFIX}_request_seconds_bucket{{route="{route}",le="{bound}"}} {n:.0f}')
    lines.append(f'{PREFIX}_request_seconds_sum{{route="{route}"}} {seconds:.9g}')
    lines.append(f'{PREFIX}_request_seconds_count{{route="{route}"}} {n:.0f}')
    return lines
