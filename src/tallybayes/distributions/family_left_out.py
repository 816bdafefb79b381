"""Rows of a network judged without themselves: log P(x | class) from the counts less the row's own.

A row is in one cell of each family's table, so where all values are there nothing but that cell and its total change.
A missing value that no other value of the row depends on is left out. Where one must be summed over, the tables of that
row are estimated again. Structure, cuts and strengths of back-off stay as they were chosen with the row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.distributions.base import Array, Context, Distribution, Params, Stats
from tallybayes.distributions.categorical import minus, split
from tallybayes.distributions.joint import packed
from tallybayes.distributions.reals import left_out_logs
from tallybayes.distributions.tables import family_sets
from tallybayes.encode import Coded, rows_of

if TYPE_CHECKING:
    from tallybayes.distributions.network import FamilyNetwork

ROWS = 1 << 20  # numbers of each kind that are held at a time, over rows and classes


def left_out(
    network: FamilyNetwork, data: Coded, y: NDArray[np.int32], unit: Array, s: Stats, p: Params, context: Context
) -> Array:
    out = np.empty((data.n, context.K))
    families = _Families(network, p)
    slim, small = _slim(network, s)
    step = max(1, ROWS // context.K)
    for span, codes, _ in packed(data, p["sizes"], p["exist"]):
        for first in range(span.start, span.stop, step):
            some = slice(first, min(first + step, span.stop))
            here = codes[:, first - span.start : some.stop - span.start]
            here = without_lone_levels(here, p, unit[some], context)
            values = network.real_values(data, some, len(p["sizes"]))
            out[some] = families.scores(here, y[some], unit[some], values)
            for i in np.flatnonzero(families.summed(here, values)).tolist():
                row = slice(first + i, first + i + 1)
                out[row] = Distribution.left_out(slim, rows_of(data, row), y[row], unit[row], small, p, context)
    return out


def _slim(network: FamilyNetwork, s: Stats) -> tuple[FamilyNetwork, Stats]:
    """The same network and tally with no more tables than its families need: less to estimate again."""
    d = len(s["sizes"])
    wanted = family_sets((network.parents or ((),) * d)[:d])
    if network.reals or wanted == network.extra:
        return network, s
    t = network.tables(d)
    index, blocks = t.index(), [s["joint"][:, :0]]
    if wanted:
        ends = np.cumsum(np.multiply.reduceat(s["sizes"][t.columns], t.starts[:-1]))
        blocks = [s["joint"][:, ends[index[w]] - np.prod(s["sizes"][list(w)]) : ends[index[w]]] for w in wanted]
    slim = replace(network, order=1, extra=wanted)
    return slim, {**s, "joint": np.ascontiguousarray(np.concatenate(blocks, axis=1))}


def without_lone_levels(codes: Array, p: Params, unit: Array, context: Context) -> Array:
    """The codes, with a level that no other row has marked missing: without the row it does not exist."""
    none = np.iinfo(codes.dtype).max
    out = np.array(codes, order="C")
    for j, count in enumerate(split(p["single"], p["sizes"]) if len(codes) else ()):
        known = context.levels[j]
        total = np.append(count.sum(axis=0), 0.0)
        may_go = np.append(np.ones(count.shape[1], dtype=bool), False)
        if known is not None:
            may_go[[v for v in known.declared if v < count.shape[1]]] = False
        at = np.minimum(codes[j], count.shape[1])
        out[j][may_go[at] & (unit > 0) & (minus(total[at], unit) == 0)] = none
    return out


class _Families:
    """The tables of a network, and how a row is looked up in them."""

    def __init__(self, network: FamilyNetwork, p: Params) -> None:
        self.network, self.p = network, p
        self.d, self.K = len(p["sizes"]), p["K"]
        self.parents = [tuple(own) for own in (network.parents or ((),) * (self.d + network.reals))]

    def summed(self, codes: Array, values: Array | None) -> NDArray[np.bool_]:
        """Rows with a missing value that others depend on."""
        there = codes != np.iinfo(codes.dtype).max
        if values is not None:
            there = np.concatenate([there, ~np.isnan(values)])
        needed = there.copy()
        order = [*range(self.d, len(there)), *self.p["child"].tolist()[::-1]]  # children before parents
        for j in order:
            for i in self.parents[j]:
                needed[i] |= needed[j]
        return np.asarray((needed & ~there).any(axis=0))

    def scores(self, codes: Array, y: NDArray[np.int32], unit: Array, values: Array | None) -> Array:
        """(rows, classes), for rows in which nothing has to be summed over."""
        out = np.zeros((codes.shape[1], self.K))
        for f, j in enumerate(self.p["child"].tolist()):
            here = np.flatnonzero(codes[j] != np.iinfo(codes.dtype).max)
            share = self.shares(f, j, codes[:, here], y[here], unit[here])
            with np.errstate(divide="ignore"):
                out[here] += np.log(share)
        if values is not None:
            moments = self.network.real_tables(self.p["moments"])
            for j, own in enumerate(self.network.real_parents(self.d)):
                group, a = self.network.class_groups(self.d + j, self.K), self.p["real_strengths"][j]
                chain = moments.chain(j, own, group)
                out += left_out_logs(chain, a, own, codes, self.p["sizes"], values[j], y, unit, group)[-1]
        return out

    def shares(self, f: int, j: int, codes: Array, y: NDArray[np.int32], unit: Array) -> Array:
        """(rows, classes): P(x_j | class, parents)."""
        own, p = self.parents[j], self.p
        group: Any = self.network.class_groups(j, self.K)
        group = np.arange(self.K) if group is None else np.asarray(group)
        less = np.where(group[y][:, None] == group, unit[:, None], 0.0)
        N, alpha = max(float(p["N"][j]), 1.0), float(self.network.alpha)
        share: Any = 1.0 / N
        for depth in range(len(own) + 1):
            if p["strengths"] is None and depth < len(own):  # Laplace's correction does not look at fewer parents
                continue
            n, total = self.counts(j, own[:depth], codes, group)
            n, total = minus(n, less), minus(total, less)
            back = depth > 0 and p["strengths"] is not None
            a = p["strengths"][p["parent_start"][f] + depth - 1] if back else alpha * N
            base = share if back else 1.0 / N
            share = np.divide(n + a * base, total + a, out=np.broadcast_to(base, n.shape).copy(), where=total + a > 0)
        return np.asarray(share)

    def counts(self, j: int, parents: Sequence[int], codes: Array, group: Array) -> tuple[Array, Array]:
        """(rows, classes): how many rows have the same x_j and parents, and how many the same parents."""
        p, columns = self.p, sorted((j, *parents))
        if parents:
            t = self.network.tables(self.d)
            sizes = p["sizes"][t.columns].astype(np.int64)
            ends = np.cumsum(np.multiply.reduceat(sizes, t.starts[:-1]))
            at = t.index()[tuple(columns)]
            block = p["joint"][:, ends[at] - int(np.prod(p["sizes"][columns])) : ends[at]]
        else:
            block = split(p["single"], p["sizes"])[j]
        block = block.astype(np.float64).reshape(self.K, *p["sizes"][columns].tolist())
        block = np.stack([block[group == g].sum(axis=0) for g in group.tolist()])
        total = block.sum(axis=1 + columns.index(j))
        index = [np.minimum(codes[i], p["sizes"][i] - 1).astype(np.intp) for i in columns]
        beside = [index[columns.index(i)] for i in columns if i != j]
        n = block[(slice(None), *index)].T
        return n, total[(slice(None), *beside)].T if beside else np.broadcast_to(total, n.shape)
