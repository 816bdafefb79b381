"""What the figures tell: exponents, and the lists of what costs more than it should."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .orders import SYMBOLS, documented
from .reasons import reason_for

SLACK = 0.25  # an exponent may be so much above the documented one: two points a decade apart, measured to 40 %
ENOUGH = 1e-3  # seconds: below, the cost of a call hides how it grows
MEGABYTES = 16.0  # the same of memory
TIMES = 5.0  # a kind of input may cost so many times as much as its plain neighbour
CALL = 2e-4  # seconds that a call may cost whatever it is given
FASTER = 1.1  # a peer is faster if we take so many times as long
STEP = 3.0  # between neighbours the cost may be so many times what the documented order explains

Row = Mapping[str, object]


@dataclass(frozen=True)
class Finding:
    list_: str  # "order", "kind" or "peer"
    model: str
    op: str
    axis: str
    text: str

    @property
    def reason(self) -> str | None:
        return reason_for(self.list_, self.model, self.op, self.axis)


@dataclass(frozen=True)
class Curve:
    """The cost of one operation along an axis, smallest first."""

    model: str
    side: str
    axis: str
    op: str
    values: tuple[float, ...]
    cpu: tuple[float, ...]
    mb: tuple[float, ...]


def exponent(values: Sequence[float], costs: Sequence[float]) -> float:
    """The slope of log cost on log value over the last decade (two points at least); NaN of fewer than two points."""
    x, y = np.asarray(values, float), np.asarray(costs, float)
    if len(x) < 2:
        return math.nan
    first = min(int(np.searchsorted(x, x[-1] / 10 * (1 - 1e-9))), len(x) - 2)
    log_x, log_y = np.log(x[first:]), np.log(np.maximum(y[first:], 1e-9))
    return float(np.polyfit(log_x, log_y, 1)[0])


def curves(rows: Iterable[Row]) -> list[Curve]:
    """Of the axes that are numbers; what was stopped or failed is no point."""
    found: dict[tuple[str, str, str, str], list[tuple[float, float, float]]] = {}
    for row in rows:
        for op in ("fit", "predict"):
            cost = row.get(op)
            if isinstance(cost, Mapping) and isinstance(row["value"], int | float) and _tells(str(row["axis"]), op):
                key = str(row["model"]), str(row["side"]), str(row["axis"]), op
                found.setdefault(key, []).append((float(row["value"]), float(cost["cpu"]), float(cost["mb"])))
    made = []
    for (model, side, axis, op), points in found.items():
        values, cpu, mb = zip(*sorted(points), strict=True)
        made.append(Curve(model, side, axis, op, values, cpu, mb))
    return made


def _tells(axis: str, op: str) -> bool:
    return not (axis == "batch" and op == "fit")  # it is the same fit every time


def findings(rows: Sequence[Row]) -> list[Finding]:
    """All three lists."""
    lines = curves(rows)
    return [*_orders(lines), *_kinds(rows, lines), *_peers(rows)]


def _orders(lines: Iterable[Curve]) -> list[Finding]:
    found = []
    for line in lines:
        if line.side != "ours" or line.axis not in SYMBOLS:
            continue
        for what, costs, floor in (("", line.cpu, ENOUGH), ("_memory", line.mb, MEGABYTES)):
            said = documented(line.model, line.op + what, line.axis)
            name = "memory" if what else "time"
            slope = exponent(line.values, costs)
            if costs[-1] >= floor and slope > said + SLACK:
                text = f"{name} grows with exponent {slope:.2f}; documented: {said:g}"
                found.append(Finding("order", line.model, line.op, line.axis, text))
            found += [
                Finding("order", line.model, line.op, line.axis, text)
                for text in _steps(line.values, costs, said, floor, name)
            ]
    return found


def _steps(values: Sequence[float], costs: Sequence[float], said: float, floor: float, name: str) -> list[str]:
    """Cliffs: a point that costs far more than the one before and the documented order explain."""
    return [
        f"{name} steps from {_told(a, name)} at {u:g} to {_told(b, name)} at {v:g}"
        for u, v, a, b in zip(values, values[1:], costs, costs[1:], strict=False)
        if a >= floor and b > STEP * a * (v / u) ** said
    ]


def _told(cost: float, name: str) -> str:
    return f"{cost:.3g} MB" if name == "memory" else f"{cost * 1e3:.3g} ms"


def _kinds(rows: Iterable[Row], lines: Iterable[Curve]) -> list[Finding]:
    plain = {str(r["model"]): r for r in rows if r["side"] == "ours" and r["axis"] == "kind" and r["value"] == "plain"}
    found = []
    for row in rows:
        model = str(row["model"])
        if row["side"] != "ours" or row["axis"] != "kind" or model not in plain or row["value"] == "one dict":
            continue
        for op in ("fit", "predict"):
            a, b = _cpu(plain[model], op), _cpu(row, op)
            if a is not None and b is not None and b > TIMES * a + CALL:
                text = f"{row['value']}: {b * 1e3:.3g} ms, {b / a:.1f} times the {a * 1e3:.3g} ms of plain"
                found.append(Finding("kind", model, op, str(row["value"]), text))
    for line in lines:
        if line.side != "ours" or line.axis not in ("missing", "batch"):
            continue
        plain_cost = line.cpu[0] if line.axis == "missing" else line.cpu[-1] / line.values[-1]
        for value, cpu in zip(line.values, line.cpu, strict=True):
            share = cpu if line.axis == "missing" else cpu / value
            allowed = TIMES * plain_cost + CALL / (1 if line.axis == "missing" else value)
            if share > allowed:
                what = f"{value:.0%} missing" if line.axis == "missing" else f"a row of {value:g}"
                text = f"{what}: {share * 1e6:.3g} µs, {share / plain_cost:.1f} times its plain neighbour"
                found.append(Finding("kind", line.model, line.op, line.axis, text))
    return found


def _peers(rows: Sequence[Row]) -> list[Finding]:
    ours = {(r["model"], r["axis"], r["value"]): r for r in rows if r["side"] == "ours"}
    found = []
    for row in rows:
        mine = ours.get((row["model"], row["axis"], row["value"]))
        if mine is None or row["side"] in ("ours", "limit"):
            continue
        for op in ("fit", "predict"):
            a, b = _cpu(mine, op), _cpu(row, op)
            if a is not None and b is not None and _tells(str(row["axis"]), op) and a > FASTER * b:
                text = f"{row['axis']} {row['value']}: {row['side']} {b * 1e3:.3g} ms, we {a * 1e3:.3g} ms"
                found.append(Finding("peer", str(row["model"]), op, str(row["axis"]), text))
    return found


def _cpu(row: Row, op: str) -> float | None:
    cost = row.get(op)
    return float(cost["cpu"]) if isinstance(cost, Mapping) else None
