"""The average over sets of parents (AODE, AnDE) as ONNX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tallybayes.distributions.statistics import LOG_2PI
from tallybayes.export.onnx_forms import Term, beside, known_codes, logs, missing
from tallybayes.export.onnx_graph import OnnxGraph, take
from tallybayes.utils.array_types import Array


class Member(NamedTuple):
    """The network of one set of parents: which rows it takes part in (rows, 1), and what each column adds in it."""

    met: str
    weight: float
    columns: str  # (rows, columns, K)


def average(g: OnnxGraph, term: Term, x: Sequence[str], K: int) -> str:
    return _averaged(g, list(_members(g, term, x, K, _codes(g, term, x))))


def average_columns(g: OnnxGraph, term: Term, x: Sequence[str], K: int) -> str:
    """The mean of what a column adds in the networks, by their shares in the prediction; what is left, evenly."""
    code = _codes(g, term, x)
    members = list(_members(g, term, x, K, code))
    joint = _averaged(g, members)
    never, zero = g.never(joint), g.constant(np.zeros(1))
    totals, shares = list[str](), list[str]()
    for m in members:
        more = g.op("Sub", g.sum(m.columns, 1), g.where(never, zero, joint))
        share = g.op("Mul", g.where(never, g.constant(np.ones(1)), g.op("Exp", more)), g.constant(np.full(1, m.weight)))
        share = g.where(m.met, share, zero)  # (rows, K)
        wide = g.expand(share, 1)
        own = g.where(g.op("Greater", wide, zero), g.op("Mul", wide, m.columns), zero)
        totals.append(own)
        shares.append(share)
    mean = g.op("Div", g.op("Sum", *totals), g.expand(g.op("Sum", *shares), 1))
    d = len(term["sizes"])
    there = [g.op("GreaterOrEqual", code, g.constant(0)), *(g.op("Not", missing(g, v)) for v in x[d:])]
    known = g.cast(beside(g, there), np.float64)  # (rows, columns)
    n = g.op("Max", g.sum(known, 1, keep=True), g.constant(np.ones(1)))
    rest = g.op("Div", g.op("Sub", joint, g.sum(mean, 1)), n)
    rest = g.where(g.op("Or", never, g.op("IsNaN", rest)), zero, rest)
    return str(g.op("Add", mean, g.op("Mul", g.expand(known, 2), g.expand(rest, 1))))


def _codes(g: OnnxGraph, term: Term, x: Sequence[str]) -> str:
    code = known_codes(g, term, x)
    return _without_followers(g, term, code, np.array(term["sizes"], dtype=np.int64)) if term["follows"] else code


def _averaged(g: OnnxGraph, members: list[Member]) -> str:
    """log Σ weight · P / Σ weight over the networks that take part."""
    total, weight = list[str](), g.constant(np.zeros((1, 1)))
    for m in members:
        says = g.op("Add", g.sum(m.columns, 1), g.constant(np.full(1, np.log(m.weight))))
        total.append(g.expand(g.where(m.met, says, g.constant(np.full(1, -np.inf))), 1))
        share = g.op("Mul", g.cast(m.met, np.float64), g.constant(np.full(1, m.weight)))
        weight = g.op("Add", weight, share)
    return str(g.op("Sub", g.log_sum_exp(beside(g, total), 1), g.op("Log", weight)))


def _members(g: OnnxGraph, term: Term, x: Sequence[str], K: int, code: str) -> Iterator[Member]:
    """The networks; last naive Bayes, for rows in which none of them takes part."""
    sizes = np.array(term["sizes"], dtype=np.int64)
    d = len(sizes)
    absent = g.op("Less", code, g.constant(0))
    safe = g.op("Max", code, g.constant(0))
    some = g.constant(np.zeros((1, 1), dtype=bool))
    for s in term["sets"]:
        cell = _cell(g, s["parents"], sizes, safe)
        met = take(g, np.array(s["met"], dtype=bool), cell)
        for j in s["parents"]:
            known = g.op("Not", g.op("Gather", absent, g.constant(np.array([j])), axis=1))
            met = g.op("And", met, known)
        own = [logs(a) for a in s["own"]]
        rest = [
            logs(a).reshape(-1, K) if len(a) else np.zeros((int(sizes[j]) * len(own[0]), K))
            for j, a in enumerate(s["log"])
        ]
        columns = _looked_up(g, rest, sizes, safe, absent, cell)
        for j, table in zip(s["parents"], own, strict=True):
            one = np.zeros((d, 1))
            one[j] = 1.0
            finite = np.where(np.isinf(table), 0.0, table)
            columns = g.op("Add", columns, g.op("MatMul", g.constant(one), take(g, finite, cell)))
            if np.isinf(table).any():  # 0 · −∞ is no number
                never = g.op("And", take(g, np.isinf(table), cell), g.constant(one[None] > 0))
                columns = g.where(never, g.constant(np.full(1, -np.inf)), columns)
        at = _cell(g, s["real_parents"], sizes, safe)
        yield Member(met, float(s["weight"]), beside(g, [columns, *_normals(g, s["reals"], x[d:], at)]))
        some = g.op("Or", some, met)
    tables: list[Array] = [logs(term["naive"]["log"][j]).reshape(-1, K) for j in range(d)]
    columns = _looked_up(g, tables, sizes, safe, absent, None)
    yield Member(g.op("Not", some), 1.0, beside(g, [columns, *_normals(g, term["naive"]["reals"], x[d:], None)]))


def _cell(g: OnnxGraph, parents: Sequence[int], sizes: Array, code: str) -> str:
    """(rows, 1): the cell of some columns, the last fastest."""
    at = np.zeros((len(sizes), 1), dtype=np.int64)
    step = 1
    for j in reversed(parents):
        at[j] = step
        step *= int(sizes[j])
    return g.sum(g.op("Mul", code, g.constant(at.T)), 1, keep=True)


def _looked_up(g: OnnxGraph, tables: Sequence[Array], sizes: Array, code: str, absent: str, cell: str | None) -> str:
    """(rows, columns, K): what the tables say at cell · size + code; 0 for what is missing."""
    firsts = np.cumsum([0, *(len(t) for t in tables)])[:-1]
    whole = np.vstack([*tables, np.zeros((1, tables[0].shape[1]))])
    place = g.op("Add", code, g.constant(firsts))
    if cell is not None:
        place = g.op("Add", place, g.op("Mul", cell, g.constant(sizes)))
    place = g.where(absent, g.constant(len(whole) - 1), place)
    return take(g, whole, place)


def _normals(g: OnnxGraph, reals: Sequence[Any], x: Sequence[str], cell: str | None) -> Iterator[str]:
    """(rows, 1, K) of each real column: its normal density beside a cell of parents."""
    for real, value in zip(reals, x, strict=True):
        mean, variance = np.array(real["mean"]), np.array(real["variance"])
        says = variance > 0
        safe = np.where(says, variance, 1.0)
        scale = np.where(says, np.sqrt(0.5) / np.sqrt(safe), 0.0)
        norm = np.where(says, -0.5 * (LOG_2PI + np.log(safe)), 0.0)
        m, s, c = (
            take(g, a[:1], g.constant(np.zeros((1, 1), dtype=int))) if cell is None else take(g, a, cell)
            for a in (mean, scale, norm)
        )  # (rows, 1, K)
        own = g.expand(value, 2)
        z = g.op("Mul", g.op("Sub", own, m), s)
        found = g.op("Sub", c, g.op("Mul", z, z))
        yield g.where(missing(g, own), g.constant(np.zeros(1)), found)


def _without_followers(g: OnnxGraph, term: Term, code: str, sizes: Array) -> str:
    """A value that follows from another of its row is missing; of two that follow from each other the first stays."""
    first = np.cumsum(sizes) - sizes
    V = int(sizes.sum())
    follows = np.zeros((V, V), dtype=bool)
    for (j, v), (i, u) in term["follows"]:
        follows[first[j] + v, first[i] + u] = True
    column = np.repeat(np.arange(len(sizes)), sizes)
    drops = (follows & ~(follows.T & (column[:, None] < column[None, :]))).T  # [b, a]: a goes where b is
    level = np.arange(V) - np.repeat(first, sizes)
    of_level = g.op("Gather", code, g.constant(column), axis=1)  # (rows, V)
    there = g.cast(g.op("Equal", of_level, g.constant(level)), np.float64)
    gone = g.op("Mul", there, g.op("MatMul", there, g.constant(drops.astype(float))))
    by_column = g.op("MatMul", gone, g.constant((column[:, None] == np.arange(len(sizes))).astype(float)))
    return g.where(g.op("Greater", by_column, g.constant(np.zeros(1))), g.constant(-1), code)
