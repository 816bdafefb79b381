"""Rows of a network judged without themselves: log P(x | class) from the counts less the row's own.

A row is in one cell of each family's table, so where all values are there nothing but that cell and its total change.
A missing value that no other value of the row depends on is left out. Where one must be summed over, the part of the
tables that the row had a share in is written anew for that row. Structure, cuts and concentration of back-off stay as
they were chosen with the row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Coded, rows_of
from tallybayes.distributions.capabilities import refitted_leave_one_out
from tallybayes.distributions.context import Context
from tallybayes.distributions.networks.conditional_gaussians import leave_one_out_logs
from tallybayes.distributions.networks.count_tables import family_sets
from tallybayes.distributions.networks.joint_statistics import JointParams, JointStatistics
from tallybayes.distributions.statistics import minus
from tallybayes.distributions.univariate.categorical import split
from tallybayes.errors import TableError
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from tallybayes.distributions.networks.family_network import FamilyNetwork
    from tallybayes.distributions.networks.family_parameters import FamilyParams

BLOCK_NUMBERS = 1 << 20  # numbers of each kind that are held at a time, over rows and classes


def leave_one_out(
    network: FamilyNetwork,
    data: Coded,
    y: NDArray[np.int32],
    unit: Floats,
    s: JointStatistics,
    p: FamilyParams,
    context: Context,
) -> Array:
    out = np.empty((data.n, context.K))
    families = _Families(network, p)
    slim, small = _slim(network, s)
    step = max(1, BLOCK_NUMBERS // context.K)
    for span, codes, _ in p.packed(data):
        for first in range(span.start, span.stop, step):
            some = slice(first, min(first + step, span.stop))
            given = codes[:, first - span.start : some.stop - span.start]
            here = without_lone_levels(given, p, unit[some], context)
            values = network.real_values(data, some, len(p.sizes))
            by_reals = families.real_scores(here, y[some], unit[some], values)
            out[some] = families.scores(here, y[some], unit[some]) + by_reals
            for i in np.flatnonzero(families.summed(here, values)).tolist():
                row = slice(first + i, first + i + 1)
                if (given[:, i] != here[:, i]).any() or families.real_summed(here[:, i], values, i):
                    out[row] = refitted_leave_one_out(slim, rows_of(data, row), y[row], unit[row], small, p, context)
                else:
                    out[row] = families.summed_score(here[:, i], int(y[row.start]), unit[row.start], row.start)
                    out[row] += by_reals[i]
    return out


def _slim(network: FamilyNetwork, s: JointStatistics) -> tuple[FamilyNetwork, JointStatistics]:
    """The same network and tally with no more tables than its families need: less to estimate again."""
    d = len(s.sizes)
    wanted = family_sets((network.parents or ((),) * d)[:d])
    if network.reals or wanted == network.extra:
        return network, s
    t = network.tables(d)
    index, blocks = t.index(), [s.joint[:, :0]]
    if wanted:
        ends = np.cumsum(np.multiply.reduceat(s.sizes[t.columns], t.starts[:-1]))
        blocks = [s.joint[:, ends[index[w]] - np.prod(s.sizes[list(w)]) : ends[index[w]]] for w in wanted]
    slim = replace(network, order=1, extra=wanted)
    return slim, replace(s, joint=np.ascontiguousarray(np.concatenate(blocks, axis=1)))


def without_lone_levels(codes: Array, p: JointParams, unit: Array, context: Context) -> Array:
    """The codes, with a level that no other row has marked missing: without the row it does not exist."""
    none = np.iinfo(codes.dtype).max
    out = np.array(codes, order="C")
    for j, count in enumerate(split(p.single, p.sizes) if len(codes) else ()):
        known = context.levels[j]
        total = np.append(count.sum(axis=0), 0.0)
        may_go = np.append(np.ones(count.shape[1], dtype=bool), False)
        if known is not None:
            may_go[[v for v in known.declared if v < count.shape[1]]] = False
        at = np.minimum(codes[j], count.shape[1])
        out[j][may_go[at] & (unit > 0) & (minus(total[at], unit) == 0)] = none
    return out


def too_many_missing(row: int, cells: float) -> TableError:
    return TableError(
        f"Row {row} misses so many values that depend on each other that summing over them takes a table of "
        f"{cells:.2g} numbers. Fill some of them in, or use a model with fewer parents."
    )


class _Families:
    """The tables of a network, and how a row is looked up in them."""

    def __init__(self, network: FamilyNetwork, p: FamilyParams) -> None:
        self.network, self.p = network, p
        self.d, self.K = len(p.sizes), p.K
        self.parents = [tuple(own) for own in (network.parents or ((),) * (self.d + network.reals))]
        self.known: dict[tuple[int, int], Array] = {}

    def summed(self, codes: Array, values: Array | None) -> NDArray[np.bool_]:
        """Rows with a missing value that others depend on."""
        there = codes != np.iinfo(codes.dtype).max
        if values is not None:
            there = np.concatenate([there, ~np.isnan(values)])
        needed = there.copy()
        order = [*range(self.d, len(there)), *self.p.child.tolist()[::-1]]  # children before parents
        for j in order:
            for i in self.parents[j]:
                needed[i] |= needed[j]
        return np.asarray((needed & ~there).any(axis=0))

    def real_summed(self, code: Array, values: Array | None, i: int) -> bool:
        """Does a real value of row i depend on a missing one?"""
        if values is None:
            return False
        there = [own for own, value in zip(self.parents[self.d :], values[:, i], strict=True) if not np.isnan(value)]
        return any((code[list(own)] == np.iinfo(code.dtype).max).any() for own in there)

    def scores(self, codes: Array, y: NDArray[np.int32], unit: Array) -> Array:
        """(rows, classes) of the discrete columns, for rows in which nothing has to be summed over."""
        out = np.zeros((codes.shape[1], self.K))
        for f, j in enumerate(self.p.child.tolist()):
            here = np.flatnonzero(codes[j] != np.iinfo(codes.dtype).max)
            share = self.shares(f, j, codes[:, here], y[here], unit[here])
            with np.errstate(divide="ignore"):
                out[here] += np.log(share)
        return out

    def real_scores(self, codes: Array, y: NDArray[np.int32], unit: Array, values: Array | None) -> Array:
        """(rows, classes) of the real columns."""
        out = np.zeros((codes.shape[1], self.K))
        reals = self.p.reals
        if values is not None and reals is not None:
            for j, own in enumerate(self.network.real_parents(self.d)):
                group, a = self.network.class_groups(self.d + j, self.K), reals.strengths[j]
                chain = reals.tables.chain(j, own, group)
                out += leave_one_out_logs(chain, a, own, codes, self.p.sizes, values[j], y, unit, group)[-1]
        return out

    def summed_score(self, code: Array, y: int, unit: float, row: int) -> Array:
        """(classes,) of the discrete columns of one row, with what is missing summed out."""
        p, none = self.p, np.iinfo(code.dtype).max
        logs = p.logs.copy()
        for f, j in enumerate(p.child.tolist()):
            own = self.parents[j]
            known = next((m for m, i in enumerate(own) if code[i] == none), len(own))
            if code[j] == none or (p.strengths is None and known < len(own)):  # the row is not in this table
                continue
            mine = np.flatnonzero(self.group(j) == self.group(j)[y])
            at = tuple(code[list(own[:known])].tolist())
            share = self.part(f, j, at, int(code[j]), int(mine[0]), unit)
            table = logs[p.offsets[f] : p.offsets[f + 1]]
            part = table.reshape(*p.sizes[list(own)].tolist(), -1, self.K)[at]
            with np.errstate(divide="ignore"):
                part[..., mine] = np.where(p.exist[j], np.log(share), -np.inf)[..., None]
        network = _core.Network(p.sizes, p.child, p.parent, p.parent_start, logs)
        try:
            return np.asarray(network.scores(np.ascontiguousarray(code[:, None]))[0])
        except _core.TooManyMissing as e:
            raise too_many_missing(row, e.args[1]) from None

    def part(self, f: int, j: int, at: tuple[int, ...], x: int, k: int, unit: float) -> Array:
        """P(v | class k, parents) of every level v of column j without a row of class k with the value x, whose first
        parents are `at`; the others take all their values: (values of the others …, levels of j)."""
        own, p = self.parents[j], self.p
        N, alpha = max(float(p.N[j]), 1.0), float(self.network.alpha)
        share: Any = np.full(int(p.sizes[j]), 1.0 / N)
        for depth in range(len(own) + 1):
            if p.strengths is None and depth < len(own):
                continue
            n = self.level(j, depth)[(k, *at[:depth])].copy()
            if depth <= len(at):
                n[x] = max(n[x] - unit, 0.0) if n[x] - unit > 1e-9 * n[x] else 0.0
            total = n.sum(axis=-1, keepdims=True)
            back = depth > 0 and p.strengths is not None
            a = self.strength(f, depth) if back else alpha * N
            base = share if depth <= len(at) or not back else share[..., None, :]
            base = np.broadcast_to(base if back else 1.0 / N, n.shape)
            share = np.divide(n + a * base, total + a, out=base.copy(), where=np.broadcast_to(total + a > 0, n.shape))
        return np.asarray(share)

    def strength(self, f: int, depth: int) -> float:
        """Of the back-off from so many parents of family f."""
        assert self.p.strengths is not None
        return float(self.p.strengths[self.p.parent_start[f] + depth - 1])

    def level(self, j: int, depth: int) -> Array:
        """(classes, values of the first parents …, levels of j): counts, of classes that share them summed."""
        if (j, depth) not in self.known:
            own = self.parents[j][:depth]
            columns = sorted((j, *own))
            self.known[j, depth] = self.block(j, own).transpose(0, *(1 + columns.index(i) for i in (*own, j)))
        return self.known[j, depth]

    def group(self, j: int) -> Array:
        group = self.network.class_groups(j, self.K)
        return np.arange(self.K) if group is None else np.asarray(group)

    def shares(self, f: int, j: int, codes: Array, y: NDArray[np.int32], unit: Array) -> Array:
        """(rows, classes): P(x_j | class, parents)."""
        own, p = self.parents[j], self.p
        group = self.group(j)
        less = np.where(group[y][:, None] == group, unit[:, None], 0.0)
        N, alpha = max(float(p.N[j]), 1.0), float(self.network.alpha)
        share: Any = 1.0 / N
        for depth in range(len(own) + 1):
            if p.strengths is None and depth < len(own):  # Laplace smoothing does not look at fewer parents
                continue
            n, total = self.counts(j, own[:depth], codes)
            n, total = minus(n, less), minus(total, less)
            back = depth > 0 and p.strengths is not None
            a = self.strength(f, depth) if back else alpha * N
            base = share if back else 1.0 / N
            share = np.divide(n + a * base, total + a, out=np.broadcast_to(base, n.shape).copy(), where=total + a > 0)
        return np.asarray(share)

    def counts(self, j: int, parents: Sequence[int], codes: Array) -> tuple[Array, Array]:
        """(rows, classes): how many rows have the same x_j and parents, and how many the same parents."""
        columns, block = sorted((j, *parents)), self.block(j, parents)
        total = block.sum(axis=1 + columns.index(j))
        index = [np.minimum(codes[i], self.p.sizes[i] - 1).astype(np.intp) for i in columns]
        beside = [index[columns.index(i)] for i in columns if i != j]
        n = block[(slice(None), *index)].T
        return n, total[(slice(None), *beside)].T if beside else np.broadcast_to(total, n.shape)

    def block(self, j: int, parents: Sequence[int]) -> Array:
        """(classes, values of these columns, ascending): the counts, summed over classes that share them."""
        p, columns = self.p, sorted((j, *parents))
        if parents:
            t = self.network.tables(self.d)
            ends = np.cumsum(np.multiply.reduceat(p.sizes[t.columns], t.starts[:-1]))
            end = ends[t.index()[tuple(columns)]]
            found = p.joint[:, end - int(np.prod(p.sizes[columns])) : end]
        else:
            found = split(p.single, p.sizes)[j]
        found = found.astype(np.float64).reshape(self.K, *p.sizes[columns].tolist())
        group = self.group(j)
        if len(np.unique(group)) == self.K:
            return np.asarray(found)
        return np.stack([found[group == g].sum(axis=0) for g in group.tolist()])
