"""Counts and times of requests for Prometheus, by prometheus_client.

One process has a registry of its own. The processes of `--workers` write into a folder that they share
(PROMETHEUS_MULTIPROC_DIR, set before they start), and a scrape adds them up, whichever of them it reaches.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

SHARED = "PROMETHEUS_MULTIPROC_DIR"
BOUNDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
EVENTS = {
    "reloads": "Model files taken over while running",
    "reload_failures": "Model files that could not be taken over",
    "examples": "Examples learned",
    "examples_again": "Examples that had been learned before, and were not counted again",
    "forgotten": "Examples forgotten",
    "commits": "Transactions committed to the store",
    "snapshots": "Times that the model was written",
}
PREFIX = "tallybayes_"


class Metrics:
    """The counters of a service. routes: whatever else is requested counts as 'other'."""

    def __init__(self, routes: Iterable[str]) -> None:
        own = self._registry = CollectorRegistry()
        self._requests = Counter(PREFIX + "requests", "Requests by route and status", ("route", "status"), registry=own)
        self._rows = Counter(PREFIX + "rows", "Rows predicted or learned", ("route",), registry=own)
        seconds = Histogram(
            PREFIX + "request_seconds", "From request to response", ("route",), buckets=BOUNDS, registry=own
        )
        self._seconds = {route: seconds.labels(route) for route in (*routes, "other")}
        self._events = {name: Counter(PREFIX + name, about, registry=own) for name, about in EVENTS.items()}
        self._facts: dict[str, Gauge] = {}

    def done(self, route: str, status: int, seconds: float, rows: int) -> None:
        """Count a request that was answered."""
        if route not in self._seconds:
            route = "other"
        self._requests.labels(route, status).inc()
        self._seconds[route].observe(seconds)
        if rows:
            self._rows.labels(route).inc(rows)

    def event(self, name: str, times: int = 1) -> None:
        """Count something else that happened."""
        self._events[name].inc(times)

    def text(self, facts: Mapping[str, float]) -> bytes:
        """All of it, as Prometheus reads it. facts: what is so now."""
        for name, value in facts.items():
            if name not in self._facts:
                about = name.replace("_", " ")
                self._facts[name] = Gauge(PREFIX + name, about, registry=self._registry, multiprocess_mode="max")
            self._facts[name].set(value)
        registry = self._registry
        if SHARED in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
