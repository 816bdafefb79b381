"""FamilyNetwork: P(x | c) = Π_j P(x_j | c, parents of j), for SPODE, TAN, KDB and graphs of one's own."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Coded, Data
from tallybayes.distributions.capabilities import (
    CheckRows,
    ColumnTerms,
    CompiledMatrix,
    CompiledRow,
    KeptChoices,
    LeaveOneOut,
    LogPrior,
    MarginalDensity,
    Outcomes,
    PackedRow,
    ParameterCount,
    SQLCounts,
)
from tallybayes.distributions.context import Context, Exported, RowColumn, RowScores, plain, reads_of, too_large
from tallybayes.distributions.networks import family_leave_one_out
from tallybayes.distributions.networks.conditional_gaussians import (
    Normal,
    chain_strengths,
    each_once,
    leave_one_out_logs,
    normals,
    terms,
    whole_of,
)
from tallybayes.distributions.networks.counted_sets import CountedSets
from tallybayes.distributions.networks.families import Families, families
from tallybayes.distributions.networks.family_parameters import FamilyParams, FamilyReals
from tallybayes.distributions.networks.family_sampling import draw_families, draw_real
from tallybayes.distributions.networks.joint_counts import GRID, fields_of, matrix_codes, places
from tallybayes.distributions.networks.joint_statistics import JointParams, JointStatistics, Reals
from tallybayes.utils.array_types import Array, Floats

BLOCK_NUMBERS = 1 << 22  # densities of real columns that are held at a time


@dataclass(frozen=True)
class FamilyNetwork(CountedSets[FamilyParams]):
    """A network: log P(x | c) = Σ_j log P(x_j | c, parents of j); missing values are summed out exactly.

    P(x_j | c, parents) of a real column is a normal density, whose mean and variance are those of the cell with
    smoothing 'laplace' (where it has enough rows, see reals.own_or_below), and shrunk towards the estimate with one
    parent less with 'backoff' (reals.back_off), as strongly as the marginal likelihood of the cells wants it.

    Parameters
    ----------
    order : int, default=2
        All sets of up to this many columns are counted.
    extra : tuple of tuple of int, default=()
        Further sets.
    smoothing : {'backoff', 'laplace'}, default='backoff'
        How P(x | class, parents) is read from counts.
    alpha : float, default=1.0
        What is added to every count.
    method : {'mdl', 'width', 'frequency'} or None, default='mdl'
        How numbers are cut into intervals, on the first rows.
    bins : int, default=10
        Into how many intervals 'width' and 'frequency' cut.
    reals : int, default=0
        How many of the columns, the last ones, stay real.
    real_extra : tuple, default=()
        Further sets beside which the moments of real columns are kept.
    parents : tuple of tuple of int, default=()
        Of each column, most informative first: back-off drops the last one first.
    groups : tuple of tuple of int, default=None
        (columns, classes), where a column depends on a part of the class only (several outputs): classes with the same
        number share their counts.
    blind : tuple of int, default=()
        Columns that do not depend on the class at all.
    """

    parents: tuple[tuple[int, ...], ...] = ()
    groups: tuple[tuple[int, ...], ...] | None = None
    blind: tuple[int, ...] = ()

    name = "network"
    capabilities: ClassVar[Collection[type]] = (
        CheckRows,
        ColumnTerms,
        CompiledMatrix,
        CompiledRow,
        KeptChoices,
        LeaveOneOut,
        LogPrior,
        MarginalDensity,
        Outcomes,
        PackedRow,
        ParameterCount,
        SQLCounts,
    )

    def check(self, s: JointStatistics, context: Context) -> None:
        super().check(s, context)
        self._check_parents(context.d)
        if any(not 0 <= j < context.d for j in self.blind):
            raise ValueError("'blind' does not name columns")
        every, classes = context.d, set(range(context.K))
        groups = self.groups
        if groups is not None and (
            len(groups) != every or any(len(g) != context.K or not set(g) <= classes for g in groups)
        ):
            raise ValueError("'groups' are not groups of the classes, for each column")

    def _check_parents(self, every: int) -> None:
        """Raises ValueError unless the parents of each column are discrete ones, and counted with it."""
        d = every - self.reals
        if self.parents and (len(self.parents) != every or any(not 0 <= i < d for own in self.parents for i in own)):
            raise ValueError("'parents' are not columns, one list for each")
        if any(len(set(own)) < len(own) for own in self.parents):
            raise ValueError("a parent is named twice")
        counted = set(self.tables(d).index())
        if not set(self.families(d).sets) <= counted:
            raise ValueError("a family is not among the sets that are counted")
        pairs = {(own, j) for own, reals in self.real_sets(d) for j in reals}
        chains = [
            (tuple(sorted(own[:m])), j) for j, own in enumerate(self.real_parents(d)) for m in range(len(own) + 1)
        ]
        if self.reals and not set(chains) <= pairs:
            raise ValueError("the parents of a real column are not among the sets that are counted")

    def log_prior_density(self, s: JointStatistics, p: FamilyParams) -> float:  # noqa: ARG002
        """Return the log prior density that the smoothing stands for, up to a constant.

        Dirichlet: α Σ log P over the cells of every family; back-off has no such form.
        """
        if self.alpha == 0 or self.smoothing != "laplace":
            return 0.0
        total = 0.0
        for f, j in enumerate(p.child.tolist()):
            block = p.logs[p.offsets[f] : p.offsets[f + 1]].reshape(-1, int(p.sizes[j]), p.K)
            total += float(block[:, p.exist[j]].sum())
        return self.alpha * total

    def families(self, d: int, order: Sequence[int] | None = None) -> Families:
        """Return the families of the discrete columns."""
        return families((self.parents or ((),) * d)[:d], order)

    def real_parents(self, d: int) -> tuple[tuple[int, ...], ...]:
        """Return the parents of each real column."""
        return self.parents[d:] or ((),) * self.reals

    def estimate(self, s: JointStatistics, context: Context) -> FamilyParams:
        return self._estimate(s, context, None)

    def reestimate(self, s: JointStatistics, context: Context, p: FamilyParams) -> FamilyParams:
        """Estimate parameters from other statistics; the concentration of back-off stay."""
        return self._estimate(s, context, p)

    def _estimate(self, s: JointStatistics, context: Context, kept: FamilyParams | None) -> FamilyParams:
        base = self.base(s, context)
        f = self.families(len(base.sizes))
        counted = self._counted(base, f)
        reals = None if base.reals is None else self._reals(base, base.reals, None if kept is None else kept.reals)
        if kept is not None:
            strengths = kept.strengths
        else:
            strengths = counted.strengths(GRID) if self.smoothing == "backoff" else None
        logs, offsets = counted.logs(strengths)
        for i, j in enumerate(f.child.tolist() if base.gone else ()):
            here = base.exist[j]  # a level that is gone has no share when missing values are summed out
            if here.any() and not here.all():
                logs[offsets[i] : offsets[i + 1]].reshape(-1, len(here), base.K)[:, ~here] = -np.inf
        known = {**fields_of(base), "reals": reals}
        return FamilyParams(
            **known, child=f.child, parent=f.parent, parent_start=f.start, strengths=strengths, logs=logs,
            offsets=offsets,
        )  # fmt: skip

    def _reals(self, base: JointParams, plain: Reals, kept: FamilyReals | None) -> FamilyReals:
        d = len(base.sizes)
        parents = self.real_parents(d)
        each, strengths = list[Normal](), list[list[Floats] | None]()
        mean, var = plain.mean.copy(), plain.var.copy()
        for j, own in enumerate(parents):
            group = self.class_groups(d + j, base.K)
            chain = plain.tables.chain(j, own, group)
            once = chain if group is None else [each_once(m, group) for m in chain]
            whole = whole_of(once[0])
            if kept is not None:
                a = kept.strengths[j]
            else:
                a = chain_strengths(once, whole, GRID) if self.smoothing == "backoff" else None
            each.append(normals(chain, whole, a))
            strengths.append(a)
            mean[j], var[j] = (v[0] for v in normals(chain[:1], whole, None))
        parent = np.array([i for own in parents for i in own], dtype=np.int32)
        start = np.cumsum([0, *map(len, parents)]).astype(np.int64)
        found = np.concatenate([terms(normal) for normal in each])
        return FamilyReals(plain.tables, mean, var, parent, start, each, strengths, found)

    def class_groups(self, j: int, K: int) -> Sequence[int] | None:
        """Return which classes share the counts of a column."""
        return [0] * K if j in self.blind else None if self.groups is None else self.groups[j]

    def _counted(self, p: JointParams, f: Families) -> _core.Families:
        t = self.tables(len(p.sizes))
        index = t.index() if f.sets else {}
        group = None
        if self.groups is not None or self.blind:
            group = np.tile(np.arange(p.K, dtype=np.int32), (len(p.sizes), 1))
            if self.groups is not None:
                group[:] = np.reshape(self.groups[: len(group)], group.shape)
            group[[j for j in self.blind if j < len(group)]] = 0
            group = group[f.child]
        table = np.array([index[s] for s in f.sets], dtype=np.int64)
        return _core.Families(p.counts(t, self.alpha), f.child, f.parent, f.start, table, group)

    def losses(
        self, p: JointParams, order: Sequence[int], data: Coded, y: NDArray[np.int32], w: Floats | None
    ) -> Floats:
        """Return the leave-one-out log-loss of columns with at most so many parents each."""
        d = len(p.sizes)
        f = self.families(d, [j for j in order if j < d])
        counted = self._counted(p, f)
        strengths = counted.strengths(GRID) if self.smoothing == "backoff" else None
        step = np.array([-1 if j < d else j - d for j in order], dtype=np.int32) if self.reals else None
        total: Any = 0.0
        for span, codes, _ in p.packed(data):
            for some, here, logs in self._leave_one_out(p, data, codes, span, y, w):
                part = None if w is None else w[some]
                total = total + counted.losses(here, y[some], part, strengths, step, logs)
        return np.asarray(total)

    def _leave_one_out(
        self, p: JointParams, data: Coded, codes: Array, span: slice, y: NDArray[np.int32], w: Floats | None
    ) -> Iterator[tuple[slice, Array, Floats | None]]:
        """Parts of a span of rows, their codes, and what the real columns say there (real columns, most parents + 1,
        rows, classes), leave-one-out."""
        if p.reals is None:
            yield span, codes, None
            return
        d = len(p.sizes)
        parents = self.real_parents(d)
        most = max(map(len, parents))
        chains = [p.reals.tables.chain(j, own) for j, own in enumerate(parents)]
        a: list[list[Floats] | None] = [None] * self.reals
        if self.smoothing == "backoff":
            a = [chain_strengths(c, whole_of(c[0]), GRID) for c in chains]
        step = max(1, BLOCK_NUMBERS // (self.reals * (most + 1) * p.K))
        for first in range(span.start, span.stop, step):
            some = slice(first, min(first + step, span.stop))
            here = np.ascontiguousarray(codes[:, some.start - span.start : some.stop - span.start])
            values = self.real_values(data, some, d)
            assert values is not None
            unit = np.ones(values.shape[1]) if w is None else np.minimum(w[some], 1.0)
            out = np.empty((self.reals, most + 1, len(unit), p.K))
            for j, own in enumerate(parents):
                found = leave_one_out_logs(chains[j], a[j], own, here, p.sizes, values[j], y[some], unit)
                out[j, : len(found)], out[j, len(found) :] = found, found[-1]
            yield some, here, out

    def leave_one_out(
        self, data: Data, y: NDArray[np.int32], unit: Floats, s: JointStatistics, p: FamilyParams, context: Context
    ) -> Floats:
        assert isinstance(data, Coded)
        return family_leave_one_out.leave_one_out(self, data, y, unit, s, p, context)

    def score(self, scorer: _core.Scorer, data: Data, p: FamilyParams) -> None:
        assert isinstance(data, Coded)
        if len(data.parts) == 1 and self._naive(p):  # naive Bayes, bit for bit
            codes, _ = data.parts[0]
            scorer.discrete(codes.columns, p.sizes, p.log, None, codes.raw)
            return
        found, unseen = np.empty((data.n, p.K)), np.zeros(len(p.sizes), dtype=bool)
        for span, packed_codes, met in p.packed(data):
            try:
                found[span] = self.scores(packed_codes, p, self.real_values(data, span, len(p.sizes)))
            except _core.TooManyMissing as e:
                row, cells = e.args
                raise family_leave_one_out.too_many_missing(span.start + row, cells) from None
            unseen |= met
        scorer.added(found, places(unseen))

    def _naive(self, p: FamilyParams) -> bool:
        return not len(p.parent) and not self.reals and not self.blind and self.groups is None

    def fast_matrix(self, columns: Sequence[RowColumn], p: FamilyParams, start: Array) -> _core.FastMatrix | None:
        codes = None if self.reals or self._naive(p) else matrix_codes(columns, p)
        return None if codes is None else p.network.fast_matrix(start, codes)

    def fast_row(self, columns: Sequence[RowColumn], s: JointStatistics, context: Context) -> _core.FastRowTerm | str:
        if self.groups is not None:
            return f"the distribution {self.name!r} has no compiled form for several outputs"
        readers = self.row_readers(columns, s, context)
        if isinstance(readers, str):
            return readers
        base, f = self.base(s, context), self.families(len(s.sizes))
        if not len(f.parent):
            return f"the distribution {self.name!r} has no parents"
        return _core.FastNetwork(self._counted(base, f), self.grid(), *readers, list(base.exist))

    def row_scores(self, p: FamilyParams) -> RowScores | None:
        if self.reals or self._naive(p):
            return None

        def scores(codes: Array) -> Floats | None:
            try:
                return self.scores(codes, p)
            except _core.TooManyMissing:
                return None

        return RowScores(p.sizes, p.gone, scores)

    def check_rows(self, scorer: _core.Scorer, data: Data, p: FamilyParams) -> None:
        self.score(scorer, data, p)  # which values may be missing together shows only there

    def scores(self, codes: Array, p: FamilyParams, values: Floats | None = None) -> Floats:
        return p.network.scores(codes, values)

    def terms(self, data: Data, p: FamilyParams, K: int) -> Floats:  # noqa: ARG002
        """Return log P(x_j | the columns before it, class), parents before children.

        Where no value is missing this is log P(x_j | parents, class) of each family.
        """
        assert isinstance(data, Coded)
        d = len(p.sizes)
        return self.chain_terms(data, p, [*p.child.tolist(), *range(d, d + self.reals)])

    def describe(self, p: FamilyParams, j: int, k: int, labels: Sequence[str]) -> dict[str, float]:
        if j >= len(p.sizes) or (self.groups is None and j not in self.blind):
            return super().describe(p, j, k, labels)
        here = np.flatnonzero(p.exist[j]).tolist()  # a column that does not tell all classes apart
        marginal = np.exp(np.asarray(self.outcomes(p, j))[:, k])
        return {str(labels[v]): float(x) for v, x in zip(here, marginal, strict=True)}

    def n_parameters(self, p: FamilyParams, context: Context) -> int:
        """Return how many free numbers it has.

        Those of a column for each combination of its parents, and each group of classes that it tells apart.
        """
        K, d = context.K, context.d
        groups = [K] * d if self.groups is None else [len(set(g)) for g in self.groups]
        groups = [1 if j in self.blind else n for j, n in enumerate(groups)]
        free = [max(int(np.sum(e)) - 1, 0) for e in p.exist] + [2] * self.reals  # mean and variance
        some = [max(int(np.sum(e)), 1) for e in p.exist]
        parents = self.parents or ((),) * d
        return sum(groups[j] * free[j] * math.prod(some[i] for i in own) for j, own in enumerate(parents))

    def sample(self, p: FamilyParams, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
        drawn = draw_families(self.families(len(p.sizes)), p.logs, p.offsets, p, y, rng)
        if p.reals is not None:
            for normal, own in zip(p.reals.normals, self.real_parents(len(p.sizes)), strict=True):
                drawn.append(draw_real(normal, p.sizes, own, drawn, y, rng))
        return drawn

    def export(self, p: FamilyParams, context: Context) -> Exported | str:
        normals = [] if p.reals is None else p.reals.normals
        numbers = p.logs.size + sum(2 * mean.size for mean, _ in normals)
        ends, starts = p.offsets.tolist(), p.parent_start.tolist()
        return too_large(numbers) or {
            "form": "network",
            "reads": reads_of(context.d, self.reals),
            "sizes": p.sizes.tolist(),
            "gone": [list(pair) for pair in p.gone],
            "families": [
                {
                    "child": j,
                    "parents": p.parent[starts[i] : starts[i + 1]].tolist(),
                    "log": plain(p.logs[ends[i] : ends[i + 1]]),
                }
                for i, j in enumerate(p.child.tolist())
            ],
            "reals": [
                {"parents": list(own), "mean": plain(mean), "variance": plain(variance)}
                for own, (mean, variance) in zip(self.real_parents(len(p.sizes)), normals, strict=True)
            ],
        }
