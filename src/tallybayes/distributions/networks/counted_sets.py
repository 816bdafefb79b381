"""CountedSets: counts of combinations of levels, which networks are read from.

The statistics hold the counts of each column's levels, and one table for each set of columns that is asked for. A row
with a missing value in one of a set's columns is in none of its table's cells. Columns that stay real come last in
their group; the statistics hold their moments beside the discrete ones, see conditional_gaussians.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Coded, Data
from tallybayes.distributions.context import Context, Counted, RowColumn, Weights
from tallybayes.distributions.networks.conditional_gaussians import (
    Moments,
    RealTables,
    Sets,
    beside,
    check_real_sets,
    count_moments,
    moment_cells,
    move_moments,
    plain,
    real_information,
    real_sets,
    whole_of,
)
from tallybayes.distributions.networks.count_tables import (
    Tables,
    cells_of,
    check_cells,
    check_memory,
    check_sets,
    tables,
)
from tallybayes.distributions.networks.joint_counts import (
    GRID,
    Joint,
    Maps,
    check_sizes,
    count_levels,
    fields_of,
    fitting_maps,
    minus_counts,
    move_levels,
    packed,
    plus_counts,
)
from tallybayes.distributions.networks.joint_statistics import JointParams, JointStatistics, MixedStatistics, Reals
from tallybayes.distributions.statistics import expect, subtract
from tallybayes.distributions.univariate.categorical import counted_columns
from tallybayes.distributions.univariate.gaussian import GaussianStatistics, combined
from tallybayes.utils.array_types import Array, Floats

Sizes = NDArray[np.int64]


J = TypeVar("J", bound=JointParams)
RowReaders = tuple[list[int], list[dict[object, int] | None], list[bool], list[Floats]]  # see _core.FastNetwork
FAST_CELLS = 1 << 22  # counts that a fast path for single rows has a second time
MEAN_PRECISION = 1e-10  # relative, of a mean after rows were removed from 10⁵ times as many as are left


@dataclass(frozen=True)
class CountedSets(Joint[JointStatistics, J]):
    """Counts of the levels of each column, and of the combinations of levels of sets of columns.

    order: all sets of up to this many columns are counted; extra: further sets.
    smoothing 'laplace':  P(x | c, s) = (n(c, s, x) + α) / (n(c, s) + α N)
    smoothing 'backoff':  P(x | c, s₁ … s_l) = (n + a_l P(x | c, s₁ … s_{l−1})) / (n(c, s) + a_l),  Laplace without
    parents; each strength a_l is the one of GRID with the best leave-one-out likelihood.
    The last `reals` columns of the group stay real. Their moments are kept for all sets of up to order − 1 discrete
    columns, and for real_extra.
    """

    order: int = 2
    extra: tuple[tuple[int, ...], ...] = ()
    smoothing: str = "backoff"
    alpha: float = 1.0
    method: str | None = "mdl"
    bins: int = 10
    reals: int = 0
    real_extra: Sets = ()

    cells = ("single", "joint", "n", "mean", "m2")
    weighted = ("single", "joint", "n", "m2")
    statistics_type = (JointStatistics, MixedStatistics)
    statistics_options = ("order", "extra", "reals", "real_extra")

    def tables(self, d: int) -> Tables:
        """Return the tables of d discrete columns."""
        return tables(d, self.order, self.extra)

    def real_sets(self, d: int) -> Sets:
        """Return the sets of columns beside which real columns are summed."""
        return real_sets(d, self.reals, self.order, self.real_extra)

    # --- adding ------------------------------------------------------------------------------------------------

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> JointStatistics:
        assert isinstance(data, Coded)
        single, sizes = count_levels(data, y, w, K)
        check_memory(self.order, sizes, K, 4 if w is None else 8)
        joint = self.count_joint(data, sizes, y, w, K)
        if data.reals is None:
            return JointStatistics(single, sizes, joint)
        moments = self.count_reals(self.real_sets(len(sizes)), data, sizes, y, w, K)
        return MixedStatistics(single, sizes, joint, *moments)

    def count_joint(self, data: Coded, sizes: Sizes, y: NDArray[np.int32], w: Weights, K: int) -> Array:
        """Count the combinations of all tables."""
        t = self.tables(len(sizes))
        check_cells(t.cells(sizes), K, 4 if w is None else 8)
        out = np.zeros((K, t.cells(sizes)), dtype=np.uint32 if w is None else np.float64)
        if len(t):
            for span, codes, _ in packed(data, sizes):
                part = None if w is None else w[span]
                _core.count_tables(codes, y[span], part, sizes, t.columns, t.starts, out)
        return out

    def count_reals(self, sets: Sets, data: Coded, sizes: Sizes, y: NDArray[np.int32], w: Weights, K: int) -> Moments:
        """Sum the moments of the real columns beside some sets."""
        assert data.reals is not None
        check_cells(sum(moment_cells(sets, sizes)), K, 24)
        codes = np.concatenate([codes for _, codes, _ in packed(data, sizes)], axis=1)
        try:
            return count_moments(sets, data.reals, codes, sizes, y, w, K)
        except _core.BadValue as e:
            kind, row, col, value = e.args
            raise _core.BadValue(kind, row, col + len(sizes), value) from None

    def count_more(self, s: JointStatistics, data: Coded, y: NDArray[np.int32], w: Weights, K: int) -> JointStatistics:
        """Count the extra sets of rows that were counted without them."""
        joint = np.concatenate([s.joint, replace(self, order=1).count_joint(data, s.sizes, y, w, K)], axis=1)
        if isinstance(s, MixedStatistics) and self.real_extra:
            more = self.count_reals(self.real_extra, data, s.sizes, y, w, K)
            return MixedStatistics(s.single, s.sizes, joint, *beside([s.moments, more]))
        return replace(s, joint=joint)

    def combine(self, a: JointStatistics, b: JointStatistics, sign: int = 1) -> JointStatistics:
        sizes = np.maximum(a.sizes, b.sizes)
        x, z = self.sized(a, sizes), self.sized(b, sizes)
        if sign < 0:
            single, joint = subtract(x.single, z.single), minus_counts(x.joint, z.joint)
        else:
            single, joint = x.single + z.single, plus_counts(x.joint, z.joint)
        if isinstance(x, MixedStatistics) and isinstance(z, MixedStatistics):
            return MixedStatistics(single, sizes, joint, *_combined(x.moments, z.moments, sign))
        return JointStatistics(single, sizes, joint)

    def moved(self, s: JointStatistics, sizes: Sizes, maps: Maps) -> JointStatistics:
        t, maps = self.tables(len(sizes)), fitting_maps(s, maps)
        single = move_levels(s, sizes, maps)
        joint = np.asarray(_core.move_tables(s.joint, s.sizes, sizes, t.columns, t.starts, list(maps)))
        if isinstance(s, MixedStatistics):
            moments = move_moments(self.real_sets(len(sizes)), s.moments, s.sizes, sizes, maps)
            return MixedStatistics(single, sizes, joint, *moments)
        return JointStatistics(single, sizes, joint)

    def seen_columns(self, s: JointStatistics, d: int) -> NDArray[np.bool_]:  # noqa: ARG002
        """Return which columns had a value; of real columns the moments without a parent come first."""
        discrete = counted_columns(s.single, s.sizes)
        return np.append(discrete, s.n[:, : self.reals].any(axis=0)) if isinstance(s, MixedStatistics) else discrete

    def check(self, s: JointStatistics, context: Context) -> None:
        if not isinstance(self.reals, int) or not 0 <= self.reals <= context.d:
            raise ValueError(f"{self.reals!r:.40} of its {context.d} columns are real")
        d, K = context.d - self.reals, context.K
        if isinstance(s, MixedStatistics) != bool(self.reals):
            raise ValueError("moments of real columns are missing" if self.reals else "it has moments of real columns")
        check_sizes(s.sizes, context, d)
        expect({"single": s.single}, {"single": (K, int(s.sizes.sum()))}, at_least_0=("single",))
        check_sets(self.order, self.extra, d)
        sets = [float(np.prod(s.sizes[list(e)].astype(float))) for e in self.extra]
        shape = (K, int(cells_of(self.order, s.sizes) + sum(sets)))
        if s.joint.dtype not in (np.uint32, np.float64) or s.joint.shape != shape:
            raise ValueError(f"'joint' is {s.joint.dtype} of shape {s.joint.shape}; expected counts of shape {shape}")
        if s.joint.dtype == np.float64 and not (np.isfinite(s.joint) & (s.joint >= 0)).all():
            raise ValueError("'joint' holds NaN, an infinity or a negative number")
        check_real_sets(self.real_extra, d, self.reals)
        if isinstance(s, MixedStatistics):
            self._check_moments(s, d, K)

    def _check_moments(self, s: MixedStatistics, d: int, K: int) -> None:
        # far more sets than columns that could hold them: refused before they are listed
        sets = sum(comb(d, m) for m in range(self.order))
        if sets > s.n.size:
            raise ValueError(f"its moments are too few for {sets} sets of parents")
        moments = {"n": s.n, "mean": s.mean, "m2": s.m2}
        shape = (K, sum(moment_cells(self.real_sets(d), s.sizes)))
        expect(moments, dict.fromkeys(moments, shape), at_least_0=("n", "m2"))

    # --- reading -----------------------------------------------------------------------------------------------

    def base(self, s: JointStatistics, context: Context) -> JointParams:
        """Return what every network reads first.

        How many levels exist, and which; P(x | class) without parents.
        """
        s = self.room_for(s, context)
        reals = self._plain_reals(s) if isinstance(s, MixedStatistics) else None
        return JointParams(**fields_of(self.levels_of(s, context)), joint=s.joint, reals=reals)

    def real_tables(self, s: MixedStatistics) -> RealTables:
        """Return the moments of real columns, by the tables that they are in."""
        return RealTables(self.real_sets(len(s.sizes)), s.moments, s.sizes)

    def _plain_reals(self, s: MixedStatistics) -> Reals:
        moments = self.real_tables(s)
        each = [moments.level(j, ()) for j in range(self.reals)]
        found = [plain(m, whole_of(m)) for m in each]
        for j, (_, var) in enumerate(found):
            if not np.isfinite(var).all():
                raise _core.BadValue("overflow", 0, len(s.sizes) + j, float(np.abs(each[j].mean).max()))
        mean, var = (np.concatenate(each) for each in zip(*found, strict=True))
        return Reals(moments, mean, var)

    def grid(self) -> Floats | None:
        """Return the concentrations to choose from; None with Laplace smoothing."""
        return GRID if self.smoothing == "backoff" else None

    def row_readers(self, columns: Sequence[RowColumn], s: JointStatistics, context: Context) -> RowReaders | str:
        """Return how compiled code reads the columns of one dict: places, codes of labels, truths, cuts; or why not."""
        if self.reals:
            return f"the distribution {self.name!r} has no compiled form for real columns"
        if s.joint.dtype != np.uint32 or s.joint.size > FAST_CELLS:
            return f"the distribution {self.name!r} has weights, or more than {FAST_CELLS:,} counts"
        if not np.array_equal(self.room_for(s, context).sizes, s.sizes):
            return f"the distribution {self.name!r} has declared levels without a row"
        labels: list[dict[object, int] | None] = []
        for c, known, size in zip(columns, context.levels, s.sizes.tolist(), strict=True):
            codes: dict[object, int] = {v: v for v in range(size)} if known is None else known.index()
            labels.append(None if c.points is not None else codes)
        truths = [
            known is not None and {False, True} <= {known.labels[i] for i in known.declared} for known in context.levels
        ]
        points = [np.empty(0) if c.points is None else np.asarray(c.points, dtype=np.float64) for c in columns]
        return [c.place for c in columns], labels, truths, points

    def information(self, s: JointStatistics) -> tuple[Floats, Floats]:
        """Return the information of columns about each other and about the class, in nats."""
        q = len(s.sizes)
        between, with_class = information(self.tables(q), s)
        if not isinstance(s, MixedStatistics):
            return between, with_class
        beside, alone = real_information(self.real_tables(s), self.reals, q)
        every = np.block([[between, beside.T], [beside, np.zeros((self.reals, self.reals))]])
        return every, np.append(with_class, alone)

    def chain_terms(self, data: Coded, p: J, order: Sequence[int]) -> Floats:
        """Return log P(x_j | the columns before it, class), in this order.

        What is impossible is charged to the first to say so.
        """
        d = len(p.sizes)
        out = np.empty((data.n, d + self.reals, p.K))
        for span, codes, _ in p.packed(data):
            shown, before = np.full_like(codes, np.iinfo(codes.dtype).max), np.zeros((codes.shape[1], p.K))
            values = self.real_values(data, span, d)
            known = None if values is None else np.full_like(values, np.nan)
            for j in order:
                if known is not None and values is not None and j >= d:
                    known[j - d] = values[j - d]
                else:
                    shown[j] = codes[j]
                now = self.scores(shown, p, known)
                with np.errstate(invalid="ignore"):
                    out[span, j] = np.where(np.isneginf(before), 0.0, now - before)
                before = now
        return out

    def counted_as(self) -> Counted | None:
        return None if self.reals else "sets"

    def marginal_log_density(self, p: J, j: int, x: Array) -> Floats | None:
        d = len(p.sizes)
        if j < d:
            return None
        values = np.full((self.reals, len(x)), np.nan)
        values[j - d] = x
        return self.scores(np.full((d, len(x)), np.iinfo(np.uint32).max, dtype=np.uint32), p, values)

    def outcomes(self, p: J, j: int) -> Floats | None:
        if j >= len(p.sizes):
            return None
        here = np.flatnonzero(p.exist[j])
        codes = np.full((len(p.sizes), len(here)), np.iinfo(np.uint32).max, dtype=np.uint32)
        codes[j] = here
        unknown = np.full((self.reals, len(here)), np.nan) if self.reals else None
        return self.scores(codes, p, unknown)

    def describe(self, p: J, j: int, k: int, labels: Sequence[str]) -> dict[str, float]:
        if p.reals is not None and j >= len(p.sizes):
            j -= len(p.sizes)
            return {"mean": float(p.reals.mean[j, k]), "variance": float(p.reals.var[j, k])}
        return super().describe(p, j, k, labels)


def information(t: Tables, s: JointStatistics | JointParams) -> tuple[Floats, Floats]:
    """I(x_i; x_j | y) as a symmetric matrix (NaN for pairs that are not counted), and I(x_j; y), in nats; of discrete
    columns."""
    found, single = _core.pair_information(s.single, s.joint, s.sizes, t.columns, t.starts)
    pairs = np.diff(t.starts) == 2
    i, j = t.columns[t.starts[:-1][pairs]], t.columns[t.starts[:-1][pairs] + 1]
    matrix = np.full((len(single), len(single)), np.nan)
    matrix[i, j] = matrix[j, i] = np.asarray(found)[pairs]
    np.fill_diagonal(matrix, 0.0)
    return matrix, np.asarray(single)


def _combined(a: Moments, b: Moments, sign: int) -> Moments:
    """As Gaussian columns have theirs combined; but here a mean is one float64."""
    one, two = (GaussianStatistics(m.n, m.mean, np.zeros_like(m.mean), m.m2) for m in (a, b))
    found = combined(one, two, sign, MEAN_PRECISION)
    return Moments(found.n, found.mean, found.m2)
