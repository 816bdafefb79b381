"""AveragedNetwork: the mean over all sets of n columns of the network in which they are everyone's parents (AnDE)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar

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
    MarginalDensity,
    Outcomes,
    PackedRow,
    SQLCounts,
    refitted_leave_one_out,
)
from tallybayes.distributions.context import Context, Exported, Json, RowColumn, plain, reads_of, too_large
from tallybayes.distributions.networks.averaged_parameters import AveragedParams, AveragedReals
from tallybayes.distributions.networks.conditional_gaussians import (
    Moments,
    RealTables,
    best_strengths,
    cell_of,
    leave_one_out_logs,
    normals,
    one_less,
    terms,
    whole_of,
)
from tallybayes.distributions.networks.counted_sets import CountedSets, information
from tallybayes.distributions.networks.families import families
from tallybayes.distributions.networks.family_leave_one_out import without_lone_levels
from tallybayes.distributions.networks.family_sampling import draw_families, draw_real
from tallybayes.distributions.networks.joint_counts import GRID, fields_of, matrix_codes
from tallybayes.distributions.networks.joint_statistics import JointStatistics, Reals
from tallybayes.distributions.univariate.categorical import split
from tallybayes.errors import OptionError, brief, is_number
from tallybayes.utils.array_types import Array, Floats
from tallybayes.utils.ties import level_ties

MOST_SETS = 64  # whose cells choose the concentration of back-off of real columns
SUBSUMED = 100.0  # rows that a value must have before another is taken to follow from it
OneSet = Callable[[int, tuple[int, ...], Array, Floats], Floats]  # see _averaged


@dataclass(frozen=True)
class AveragedNetwork(CountedSets[AveragedParams]):
    """The mean of many networks, in each of which some columns are parents of all others.

    P(x | c) = Σ_S W_S P(x_S | c) Π_{j ∉ S} P(x_j | c, x_S) / Σ_S W_S over the sets S of n columns whose values together
    were seen at least min_count times; naive Bayes where there is none. With Laplace smoothing P(c, x_S) =
    (n(c, x_S) + α) / (n + α K N_S). Missing values are left out. Real columns are in no S; their P(x_j | c, x_S) is a
    normal density, see FamilyNetwork; all S share the concentration of back-off.

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
    n : int, default=1
        How many parents a network has.
    min_count : float, default=1.0
        How often the values of the parents must have been met together.
    weighting : {'information'} or None, default=None
        'information': W_S = I(x_S; y), else 1.
    subsumption : bool, default=False
        Whether a value is left out that follows from another one of its row: every row with that one has it, and there
        are at least SUBSUMED of them.
    """

    n: int = 1
    min_count: float = 1.0
    weighting: str | None = None
    subsumption: bool = False

    name = "averaged network"
    capabilities: ClassVar[Collection[type]] = (
        CheckRows,
        ColumnTerms,
        CompiledMatrix,
        CompiledRow,
        KeptChoices,
        LeaveOneOut,
        MarginalDensity,
        Outcomes,
        PackedRow,
        SQLCounts,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weighting not in (None, "information"):
            raise OptionError(f"weighting must be None or 'information'; got {brief(self.weighting)}.")

    def check(self, s: JointStatistics, context: Context) -> None:
        super().check(s, context)
        if self.n not in (1, 2, 3) or self.order != min(self.n + 1, most_together(context.d, self.reals)):
            raise ValueError(f"n = {self.n} parents do not go with sets of {self.order} columns")
        if not is_number(self.min_count) or self.min_count <= 0:
            raise ValueError("'min_count' is not a number above 0")

    def estimate(self, s: JointStatistics, context: Context) -> AveragedParams:
        return self._estimate(s, context, None)

    def reestimate(self, s: JointStatistics, context: Context, p: AveragedParams) -> AveragedParams:
        """Estimate parameters from other statistics, with what was chosen kept.

        The order of the parents, the concentration of back-off, the weights of the networks, and what follows from what
        stay.
        """
        return self._estimate(s, context, p)

    def _estimate(self, s: JointStatistics, context: Context, kept: AveragedParams | None) -> AveragedParams:
        base = self.base(s, context)
        d = len(base.sizes)
        t = self.tables(d)
        p = AveragedParams(
            **{**fields_of(base), "reals": None}, tables=t, alpha=float(self.alpha),
            n=min(self.n, d if self.reals else d - 1), W=np.ones(1), rank=np.arange(d, dtype=np.int32), strengths=None,
            follows=None,
        )  # fmt: skip
        if kept is not None:
            p = replace(p, W=kept.W, rank=kept.rank, strengths=kept.strengths, follows=kept.follows)
        elif p.n > 0:
            p = self._chosen(p)
        if base.reals is None:
            return p
        return replace(p, reals=self._reals(p, base.reals, None if kept is None else kept.reals))

    def _chosen(self, p: AveragedParams) -> AveragedParams:
        """The weights of the networks, the order of parents, the concentrations, and what follows from what."""
        p = replace(p, W=self._weights(p))
        if self.smoothing == "backoff" or self.reals:  # both look at parents one by one
            _, single = information(self.tables(len(p.sizes)), p)
            rank = np.argsort(np.argsort(-level_ties(single), kind="stable"), kind="stable").astype(np.int32)
            p = replace(p, rank=rank)
        if self.smoothing == "backoff":
            p = replace(p, strengths=p.networks.strengths(GRID))
        return replace(p, follows=self._implications(p)) if self.subsumption else p

    def _sets(self, p: AveragedParams, n: int) -> list[tuple[int, ...]]:
        """The sets of n parents, each in the order in which they are backed off from."""
        found = combinations(range(len(p.sizes)), n) if n else ()
        return [tuple(sorted(s, key=lambda j: int(p.rank[j]))) for s in found]

    def _reals(self, p: AveragedParams, plain: Reals, kept: AveragedReals | None) -> AveragedReals:
        if kept is not None:
            strengths = kept.strengths
        else:
            strengths = self._real_strengths(p, plain.tables) if self.smoothing == "backoff" else None
        found = [_real_terms(plain.tables.all_chain(s), strengths) for s in [(), *self._sets(p, p.n)]]
        return AveragedReals(plain.tables, plain.mean, plain.var, strengths, found)

    def _real_strengths(self, p: AveragedParams, moments: RealTables) -> list[Floats]:
        out: list[Floats] = []
        for depth in range(1, p.n + 1):
            sets = self._sets(p, depth)
            some = [sets[i * len(sets) // MOST_SETS] for i in range(MOST_SETS)] if len(sets) > MOST_SETS else sets
            chains = [moments.all_chain(s) for s in some]
            whole = whole_of(chains[0][0])
            out.append(best_strengths([(c[-1], one_less(c, whole, out)) for c in chains], GRID))
        return out

    def _weights(self, p: AveragedParams) -> Floats:
        sets = _subsets(p)
        if self.weighting is None:
            return np.ones(len(sets))
        found = np.array([_shared_with_class(b) for b in self._blocks(p, sets)])
        return found if found.any() else np.ones(len(sets))

    def _blocks(self, p: AveragedParams, sets: Sequence[tuple[int, ...]]) -> list[Array]:
        """(classes, cells): the counts of each set of parents."""
        if p.n == 1:
            return split(p.single, p.sizes)
        index, offsets = self.tables(len(p.sizes)).index(), _offsets(p)
        return [p.joint[:, slice(*offsets[index[s]])] for s in sets]

    def scores(self, codes: Array, p: AveragedParams, values: Array | None = None) -> Array:
        if p.follows is not None:
            codes = without_subsumed(codes, p.sizes, p.follows)
        return self._joint_of(codes, values, p)

    def fast_matrix(self, columns: Sequence[RowColumn], p: AveragedParams, start: Array) -> _core.FastMatrix | None:
        codes = None if self.reals or p.n == 0 or p.follows is not None else matrix_codes(columns, p)
        return None if codes is None else p.networks.fast_matrix(start, p.W, float(self.min_count), codes)

    def fast_row(self, columns: Sequence[RowColumn], s: JointStatistics, context: Context) -> _core.FastRowTerm | str:
        if self.weighting is not None or self.subsumption:
            return f"the distribution {self.name!r} has no compiled form for weighting and subsumption"
        readers = self.row_readers(columns, s, context)
        if isinstance(readers, str):
            return readers
        d = len(s.sizes)
        if d < 2:
            return f"the distribution {self.name!r} has no parents"
        base = self.base(s, context)
        counts = base.counts(self.tables(d), float(self.alpha))
        order, least, grid = min(self.n, d - 1), float(self.min_count), self.grid()
        return _core.FastAveraged(counts, *readers, list(base.exist), order=order, min_count=least, grid=grid)

    def _joint_of(self, codes: Array, values: Floats | None, p: AveragedParams) -> Floats:
        """The scores of codes without what follows from others."""
        if values is not None and p.reals is not None:
            return self._scores_with_reals(codes, values, p, p.reals)
        if p.n == 0:
            return p.naive.scores(codes)
        return p.networks.scores(codes, p.W, float(self.min_count))

    def terms(self, data: Data, p: AveragedParams, K: int) -> Floats:
        """Return what each column adds to log P(x | class).

        The log joint of an average is no sum over columns, but that of each network is. Each column has the mean of its
        terms in all networks, weighted by their shares in the answer: Σ_S r_S log P_S(x_j | …, c),
        r_S = W_S P_S(x | c) / Σ W P(x | c). The parents of a network share log P(x_S | c) (see averaged_terms.hpp);
        what the log of the mean has beyond the mean of the logs is divided evenly among the columns that are there. So
        the order of columns does not matter.
        """
        assert isinstance(data, Coded)
        d = len(p.sizes)
        out = np.empty((data.n, d + self.reals, K))
        for span, codes, _ in p.packed(data):
            values = self.real_values(data, span, d)
            if p.follows is not None:
                codes = without_subsumed(codes, p.sizes, p.follows)
            joint = self._joint_of(codes, values, p)
            found = self._mean_terms(codes, values, p, joint)
            there = codes != np.iinfo(codes.dtype).max
            if values is not None:
                there = np.concatenate([there, ~np.isnan(values)])
            with np.errstate(invalid="ignore"):
                rest = (joint - found.sum(axis=1)) / np.maximum(there.sum(axis=0), 1)[:, None]
            out[span] = found + np.where(np.isfinite(rest), rest, 0.0)[:, None, :] * there.T[:, :, None]
        return out

    def _mean_terms(self, codes: Array, values: Floats | None, p: AveragedParams, joint: Floats) -> Floats:
        """(rows, columns, classes): the weighted mean of the terms of all networks. Where all of them say that a row is
        impossible in a class, their shares are their weights."""
        total = np.zeros((codes.shape[1], len(p.sizes) + self.reals, p.K))
        share = np.zeros((codes.shape[1], 1, p.K))
        impossible = np.isneginf(joint)
        for i, s, rows in self._networks_of(codes, p, float(self.min_count)):
            own = self._terms_of(i, s, np.ascontiguousarray(codes[:, rows]), values, rows, p)
            with np.errstate(invalid="ignore"):
                r = np.where(impossible[rows], 0.0, own.sum(axis=1) - joint[rows])
                r = (1.0 if i < 0 else p.W[i]) * np.exp(r)[:, None, :]
                total[rows] += np.where(r > 0, own * r, 0.0)
            share[rows] += r
        return np.divide(total, share, out=total, where=share > 0)

    def _terms_of(
        self, i: int, s: tuple[int, ...], codes: Array, values: Floats | None, rows: Array, p: AveragedParams
    ) -> Floats:
        """(rows, columns, classes) of network i, whose parents are s; i < 0: naive Bayes."""
        d = len(p.sizes)
        own = self._naive_terms(codes, p) if p.n == 0 else p.networks.terms(codes, np.array(sorted(s), dtype=np.int32))
        if values is None or p.reals is None:
            return own
        seen, cells = np.ascontiguousarray(values[:, rows]), len(p.reals.terms[1 + i]) // self.reals
        out = np.concatenate([own, np.empty((len(rows), self.reals, p.K))], axis=1)
        parent, start = np.array(s, dtype=np.int32), np.array([0, len(s)], dtype=np.int64)
        for j in range(self.reals):
            terms = p.reals.terms[1 + i][j * cells : (j + 1) * cells]
            out[:, d + j] = _core.real_scores(codes, p.sizes, parent, start, terms, seen[j : j + 1])
        return out

    def _naive_terms(self, codes: Array, p: AveragedParams) -> Floats:
        """log P(x_j | c) of each column, 0 for what is missing."""
        out = np.zeros((codes.shape[1], len(p.sizes), p.K))
        for j, logs in enumerate(split(p.log.T, p.sizes)):
            here = np.flatnonzero(codes[j] != np.iinfo(codes.dtype).max)
            out[here, j] = logs.T[codes[j][here].astype(np.intp)]
        return out

    def leave_one_out(
        self, data: Data, y: NDArray[np.int32], unit: Floats, s: JointStatistics, p: AveragedParams, context: Context
    ) -> Array:
        """Return log P(x | class) of rows that are in the statistics, each by the statistics without the row itself.

        A row takes itself out of the counts of its own class, and of n(s) over all classes; see averaged.hpp.
        """
        if p.n == 0:
            return refitted_leave_one_out(self, data, y, unit, s, p, context)
        assert isinstance(data, Coded)
        out = np.empty((data.n, p.K))
        for span, codes, _ in p.packed(data):
            codes = without_lone_levels(codes, p, unit[span], context)
            if p.follows is not None:
                codes = without_subsumed(codes, p.sizes, p.follows)
            values = self.real_values(data, span, len(p.sizes))
            for u in np.unique(unit[span]).tolist():
                rows = np.flatnonzero(unit[span] == u)
                some = np.ascontiguousarray(codes[:, rows])
                if values is None or p.reals is None:
                    found = self._without(some, p, p.W, float(self.min_count), y[span][rows], u)
                else:
                    found = self._without_with_reals(some, values[:, rows], p, p.reals, y[span][rows], u)
                out[span.start + rows] = found
        return out

    def _without(
        self, codes: Array, p: AveragedParams, weights: Floats, min_count: float, y: NDArray[np.int32], u: float
    ) -> Array:
        """The scores of discrete columns of rows of classes y without u of each."""
        out = p.networks.scores(codes, weights, min_count, 0.0, u)
        own = p.networks.scores(codes, weights, min_count, u, u)
        rows = np.arange(len(y))
        out[rows, y] = own[rows, y]
        return out

    def _scores_with_reals(self, codes: Array, values: Floats, p: AveragedParams, reals: AveragedReals) -> Floats:
        """The network of each S by itself, and then their mean."""
        real = self._real_scores(codes, values, p, (), reals.terms[0])
        if p.n == 0:
            return real

        def one_set(i: int, s: tuple[int, ...], rows: Array, weights: Floats) -> Floats:
            only = np.ascontiguousarray(codes[:, rows])
            found = p.networks.scores(only, weights, 0.0)
            if not s:
                return np.asarray(found + real[rows])
            seen = np.ascontiguousarray(values[:, rows])
            return np.asarray(found + self._real_scores(only, seen, p, s, reals.terms[1 + i]))

        return self._averaged(codes, p, float(self.min_count), one_set)

    def _without_with_reals(
        self, codes: Array, values: Floats, p: AveragedParams, reals: AveragedReals, y: NDArray[np.int32], u: float
    ) -> Floats:
        """_scores_with_reals of rows of classes y without u of each."""
        unit = np.full(len(y), u)

        def one_set(i: int, s: tuple[int, ...], rows: Array, weights: Floats) -> Floats:  # noqa: ARG001
            only = np.ascontiguousarray(codes[:, rows])
            found = self._without(only, p, weights, 0.0, y[rows], u)
            for j in range(self.reals):
                chain = [m[:, j] for m in reals.tables.all_chain(s)]
                a = None if reals.strengths is None else [strength[j] for strength in reals.strengths]
                found += leave_one_out_logs(chain, a, s, only, p.sizes, values[j][rows], y[rows], unit[rows])[-1]
            return found

        return self._averaged(codes, p, float(self.min_count) + u, one_set)

    def _averaged(self, codes: Array, p: AveragedParams, min_count: float, one_set: OneSet) -> Floats:
        """The mean over the sets S of one_set(number of S, S in the order of back-off, rows, weights that are 1 for S
        alone); of naive Bayes, S = (), for rows with no set whose values were seen at least min_count times."""
        total, share = np.full((codes.shape[1], p.K), -np.inf), np.zeros((codes.shape[1], 1))
        for i, s, rows in self._networks_of(codes, p, min_count):
            if i < 0:
                share[rows] = 1.0
                total[rows] = one_set(i, s, rows, np.zeros(len(p.W)))
                continue
            one = one_set(i, s, rows, np.eye(1, len(p.W), i)[0]) + np.log(p.W[i])
            total[rows] = np.logaddexp(total[rows], one)
            share[rows] += p.W[i]
        total -= np.log(share)
        return total

    def _networks_of(
        self, codes: Array, p: AveragedParams, min_count: float
    ) -> Iterator[tuple[int, tuple[int, ...], NDArray[np.intp]]]:
        """The number of each set of parents, the set in the order of back-off, and the rows whose values it saw
        at least min_count times; last (−1, (), rows), naive Bayes, for those without any. Each only if it has rows."""
        alone = np.ones(codes.shape[1], dtype=bool)
        if p.n > 0:
            sets = _subsets(p)
            weights = [b.sum(axis=0, dtype=np.float64) for b in self._blocks(p, sets)]
            for i, (columns, s) in enumerate(zip(sets, self._sets(p, p.n), strict=True)):
                if not p.W[i] > 0:
                    continue
                cell, here = cell_of(codes, p.sizes, columns)
                here &= weights[i][cell] >= min_count
                if here.any():
                    yield i, s, np.flatnonzero(here)
                    alone &= ~here
        if alone.any():
            yield -1, (), np.flatnonzero(alone)

    def _real_scores(self, codes: Array, values: Array, p: AveragedParams, s: tuple[int, ...], found: Array) -> Floats:
        parent = np.array(s * self.reals, dtype=np.int32)
        start = np.arange(self.reals + 1, dtype=np.int64) * len(s)
        return _core.real_scores(codes, p.sizes, parent, start, found, values)

    def _implications(self, p: AveragedParams) -> NDArray[np.bool_]:
        """[a, b]: level a (of all columns' levels) is there in every row with level b."""
        V = int(p.sizes.sum())
        start = np.cumsum(p.sizes) - p.sizes
        count = p.single.sum(axis=0)
        both = np.zeros((V, V))
        offsets, index = _offsets(p), self.tables(len(p.sizes)).index()
        for (i, j), t in ((s, t) for s, t in index.items() if len(s) == 2):
            here = p.joint[:, slice(*offsets[t])].sum(axis=0, dtype=np.float64)
            block = here.reshape(int(p.sizes[i]), int(p.sizes[j]))
            both[start[i] : start[i] + len(block), start[j] : start[j] + block.shape[1]] = block
        both += both.T
        return np.asarray((both == count[None, :]) & (count[None, :] >= SUBSUMED))

    def sample(self, p: AveragedParams, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
        d = len(p.sizes)
        sets = [()] if p.n == 0 else _subsets(p)
        share = np.ones(1) if p.n == 0 else p.W / p.W.sum()
        which = rng.choice(len(sets), size=len(y), p=share)
        out: list[Array] = [np.full(len(y), -1) for _ in range(d)] + [np.empty(len(y)) for _ in range(self.reals)]
        for s in np.unique(which).tolist():
            rows = np.flatnonzero(which == s)
            for j, values in enumerate(self._sample_one(p, sets[s], y[rows], rng)):
                out[j][rows] = values
        return out

    def _sample_one(
        self, p: AveragedParams, s: tuple[int, ...], y: NDArray[np.int32], rng: np.random.Generator
    ) -> list[Array]:
        """Rows of the network in which the columns s are the parents of all others."""
        d = len(p.sizes)
        chain = sorted(s, key=lambda j: int(p.rank[j])) if p.n else []
        parents = [tuple(chain[: chain.index(j)]) if j in chain else tuple(chain) for j in range(d)]
        f = families(parents)
        index = self.tables(d).index()
        table = np.array([index[key] for key in f.sets], dtype=np.int64)
        strengths = None
        if p.strengths is not None:
            levels = [(level, int(j)) for j in f.child for level in range(len(parents[int(j)]))]
            strengths = np.array([p.strengths[level, j] for level, j in levels])
        counts = p.counts(p.tables, p.alpha)
        logs, offsets = _core.Families(counts, f.child, f.parent, f.start, table).logs(strengths)
        drawn = draw_families(f, logs, offsets, p, y, rng)
        if p.reals is not None:
            moments = p.reals.tables.all_chain(chain)
            mean, var = normals(moments, whole_of(moments[0]), p.reals.strengths)
            drawn += [draw_real((mean[:, j], var[:, j]), p.sizes, chain, drawn, y, rng) for j in range(self.reals)]
        return drawn

    # --- for other programs ------------------------------------------------------------------------------------

    def export(self, p: AveragedParams, context: Context) -> Exported | str:
        d, sets = len(p.sizes), _subsets(p) if p.n else []
        cells = [int(np.prod(p.sizes[list(s)])) for s in sets]
        others = int(p.sizes.sum()) + 2 * self.reals
        numbers = sum(n * (others - int(p.sizes[list(s)].sum()) + p.n) for n, s in zip(cells, sets, strict=True)) * p.K
        refusal = too_large(numbers)
        if refusal is not None:
            return refusal
        met = [b.sum(axis=0, dtype=np.float64) >= self.min_count for b in self._blocks(p, sets)] if sets else []
        followers = [] if p.follows is None else np.argwhere(p.follows).tolist()
        place = [[j, v] for j in range(d) for v in range(int(p.sizes[j]))]
        return {
            "form": "average",
            "reads": reads_of(context.d, self.reals),
            "sizes": p.sizes.tolist(),
            "gone": [list(pair) for pair in p.gone],
            "follows": [[place[a], place[b]] for a, b in followers],
            "sets": [self._export_set(p, i, s, met[i]) for i, s in enumerate(sets) if p.W[i] > 0],
            "naive": {"log": [plain(a.T) for a in split(p.log.T, p.sizes)], "reals": self._export_reals(p, ())},
        }

    def _export_set(self, p: AveragedParams, i: int, s: tuple[int, ...], met: NDArray[np.bool_]) -> Json:
        """One set of parents: what every column says in every cell of theirs, asked of the kernel itself."""
        d, sizes = len(p.sizes), p.sizes.tolist()
        parents = np.indices([sizes[j] for j in s]).reshape(len(s), -1)
        cells, top = parents.shape[1], max(sizes)
        codes = np.empty((d, cells * top), dtype=np.uint32)
        for j in range(d):
            codes[j] = np.tile(np.minimum(np.arange(top), sizes[j] - 1), cells)
        codes[list(s)] = np.repeat(parents, top, axis=1)
        found = np.asarray(p.networks.terms(codes, np.array(s, dtype=np.int32))).reshape(cells, top, d, p.K)
        rest = {j: found[:, : sizes[j], j].reshape(-1, p.K) for j in range(d) if j not in s}
        order = self._sets(p, p.n)[i]
        return {
            "parents": list(s),
            "weight": float(p.W[i]),
            "met": met.tolist(),
            "own": [plain(found[:, 0, j]) for j in s],
            "log": [plain(rest[j]) if j in rest else [] for j in range(d)],
            "real_parents": list(order),
            "reals": self._export_reals(p, order),
        }

    def _export_reals(self, p: AveragedParams, parents: tuple[int, ...]) -> Json:
        """Mean and variance (cells, classes) of each real column beside these parents."""
        if p.reals is None:
            return []
        chain = p.reals.tables.all_chain(parents)
        mean, variance = normals(chain, whole_of(chain[0]), p.reals.strengths)
        return [{"mean": plain(mean[:, j]), "variance": plain(variance[:, j])} for j in range(self.reals)]


def most_together(d: int, reals: int) -> int:
    """Columns of the largest set that is counted: parents and one more, which may be a real one."""
    return d - reals + 1 if reals else d


def _subsets(p: AveragedParams) -> list[tuple[int, ...]]:
    """The sets of parents, in the order of the kernels."""
    return list(combinations(range(len(p.sizes)), p.n))


def _real_terms(chain: Sequence[Moments], strengths: Sequence[Floats] | None) -> Floats:
    """(real columns · cells, 3, classes), as the kernel reads them."""
    found = terms(normals(chain, whole_of(chain[0]), strengths))
    return np.ascontiguousarray(found.swapaxes(0, 1).reshape(-1, 3, found.shape[-1]))


def _offsets(p: AveragedParams) -> list[tuple[int, int]]:
    """Where each table's cells begin and end."""
    cells = np.multiply.reduceat(p.sizes[p.tables.columns], p.tables.starts[:-1])
    ends = np.cumsum(cells)
    return list(zip((ends - cells).tolist(), ends.tolist(), strict=True))


def _shared_with_class(counts: Array) -> float:
    """I(cell; class) in nats, from (classes, cells) counts."""
    p = counts / max(float(counts.sum()), 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = p * (np.log(p) - np.log(p.sum(axis=0)) - np.log(p.sum(axis=1, keepdims=True)))
    return max(float(np.nansum(np.where(p > 0, each, 0.0))), 0.0)


def without_subsumed(codes: Array, sizes: Array, follows: NDArray[np.bool_]) -> Array:
    """The codes with values that follow from another one of their row marked missing; of two that follow from each
    other the first stays."""
    start = np.cumsum(sizes) - sizes
    none = np.iinfo(codes.dtype).max
    out = codes.copy()
    for j in range(len(sizes)):
        for i in range(len(sizes)):
            if i == j or not follows[start[j] : start[j] + sizes[j], start[i] : start[i] + sizes[i]].any():
                continue
            here = (codes[i] != none) & (codes[j] != none)
            a, b = start[j] + codes[j][here].astype(np.intp), start[i] + codes[i][here].astype(np.intp)
            gone = follows[a, b] & ~(follows[b, a] & (j < i))
            out[j][np.flatnonzero(here)[gone]] = none
    return out
