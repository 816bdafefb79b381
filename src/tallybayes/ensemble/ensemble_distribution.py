"""Ensemble: many small networks over one set of codes, their average, and how much each part of it is believed.

An ensemble of no parts counts levels and keeps rows; from these the parts are chosen (ensemble/layout.py).
The tally is all sums: the counts of each column's levels, the counts of every chain
(cpp/core/ensemble/back_off_chains.hpp), the moments of the Gaussian part, and a bounded sample
of rows (kept_rows.py), on which ensemble_fit.py chooses what counts alone
cannot tell.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Coded, Data
from tallybayes.distributions.arithmetic import expect, split, spread, subtract
from tallybayes.distributions.capabilities import (
    CheckRows,
    ColumnTerms,
    KeptChoices,
    LeaveOneOut,
    NoLikelihood,
    Outcomes,
    PackedRow,
    Reclassing,
)
from tallybayes.distributions.context import Context, Weights
from tallybayes.distributions.exported import Exported, Json, plain, too_large
from tallybayes.distributions.networks.joint_counts import (
    Joint,
    Maps,
    check_sizes,
    count_levels,
    fitting_maps,
    minus_counts,
    move_levels,
    packed,
    plus_counts,
)
from tallybayes.ensemble import fitting, gaussian_copula, generative_network, missing_values, row_sample, validation
from tallybayes.ensemble.ensemble_statistics import EnsembleParams, EnsembleStatistics
from tallybayes.errors import is_number
from tallybayes.utils.array_types import Array, Floats

WEIGHTING = ("features", "temperature", "none")
EDITION = 6  # of new models
MOST_CORRECTIONS = 4  # a file that asked for more would be searched for hours when it is loaded


class Part(NamedTuple):
    """Planes of terms that share a name.

    Parameters
    ----------
    name : str
        The name.
    first : int
        The first plane.
    planes : int
        How many they are.
    centre : float
        What share of the answer it has before weights are learned; 0 for a part whose weights start from
        nothing.
    """

    name: str
    first: int
    planes: int
    centre: float


_INTS, _BYTES = partial(np.zeros, 0, np.int32), partial(np.zeros, 0, np.uint8)
_FLOATS, _START = partial(np.zeros, 0, np.float64), partial(np.zeros, 1, np.int64)


@dataclass(frozen=True, eq=False)
class Ensemble(Joint[EnsembleStatistics, EnsembleParams]):
    """log P(x | class) ≈ Σ over planes of weight · Σ over its chains of share · log P, and so on for the Gaussian part.

    view_… and child, parent, parent_start: the arrays of cpp/core/ensemble/back_off_chains.hpp. plane, share: where
    the term of each chain goes, and times what. parts: see Part; the chains without a child, contexts, have a plane
    of their own each, which become one. level_column: the columns of the part 'target_encoding'. The part
    'neighbors' looks through the kept rows. z_…: a gaussian_copula.Scale, empty for none. plane_of: which plane of a
    part a column's term goes to.
    weighting: 'features', each plane has a weight; 'temperature', all the same one; 'none'. trust: what all weights are
    multiplied by, beside texts that have told some of it already. edition: how the sums are
    read; a file keeps the edition of its day, and so its answers.
        0   back-off alone, weights of any sign
        1   every value has a row besides (cpp/core/ensemble/back_off_chains.hpp), only naive Bayes has weights below 0
        2   a cell missing where no gap was met says nothing (ensemble_gaps.py)
        6   there may be corrections (corrections.py); so there may in 3 to 5, which no release had; and nearest rows
    boosting: how many times as many tries to find them as usual (corrections.py), 0 for none. number: the columns
    that are numbers, which they and the nearest rows need to know.
    """

    smoothing: str = "backoff"
    alpha: float = 1.0
    method: str | None = "frequency"
    bins: int = 10
    columns: int = 0
    view_column: Array = field(default_factory=_INTS)
    view_start: Array = field(default_factory=_START)
    view_map: Array = field(default_factory=_BYTES)
    view_bins: Array = field(default_factory=_INTS)
    child: Array = field(default_factory=_INTS)
    parent: Array = field(default_factory=_INTS)
    parent_start: Array = field(default_factory=_START)
    plane: Array = field(default_factory=_INTS)
    share: Array = field(default_factory=_FLOATS)
    plane_of: Array = field(default_factory=_INTS)
    parts: tuple[tuple[str, int, int, float], ...] = ()
    level_column: Array = field(default_factory=_INTS)
    z_column: Array = field(default_factory=_INTS)
    z_start: Array = field(default_factory=_START)
    z_value: Array = field(default_factory=_FLOATS)
    number: Array = field(default_factory=_INTS)
    weighting: str = "features"
    boosting: int = 0
    edition: int = 0
    trust: float = 1.0

    name = "ensemble"
    weighted = ("single", "row_weight", "chains", "z_n", "z_scatter")
    statistics_type = EnsembleStatistics
    statistics_options = ("columns", "_digest", "_parts_key")
    capabilities: ClassVar[Collection[type]] = (
        CheckRows,
        ColumnTerms,
        KeptChoices,
        LeaveOneOut,
        NoLikelihood,
        Outcomes,
        PackedRow,
        Reclassing,
    )

    def __getstate__(self) -> dict[str, object]:
        """Arrays and plain values; what was made of them is made again."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    def _parts_key(self) -> tuple[object, ...]:
        return tuple(self.parts)

    @cached_property
    def _digest(self) -> str:
        h = hashlib.blake2b()
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, np.ndarray):
                h.update(f.name.encode() + value.tobytes() + b"|")
        return h.hexdigest()

    @cached_property
    def chains(self) -> _core.Chains:
        """The chains as the core reads them, checked once."""
        return _core.Chains(
            self.columns, self.view_column, self.view_start, self.view_map, self.view_bins, self.child, self.parent,
            self.parent_start,
        )  # fmt: skip

    @property
    def networks(self) -> int:
        """How many there are; their chains come first, one for each column."""
        planes = sum(part.planes for part in self.named_parts if part.name.endswith("networks"))
        return int((self.plane < planes).sum()) // max(1, self.columns)

    def _sizes_of(self, i: int) -> NDArray[np.int64]:
        """The cells of chain i with no parent, one, two, …"""
        own = self.view_bins[self.parent[self.parent_start[i] : self.parent_start[i + 1]]]
        child = 1 if self.child[i] < 0 else int(self.view_bins[self.child[i]])
        return np.cumprod([child, *own.tolist()], dtype=np.int64)

    def count_starts(self, chains: int) -> NDArray[np.int64]:
        """Where the counts of each of the first chains begin, and the next."""
        return np.cumsum([0, *(self._sizes_of(i)[-1] for i in range(chains))], dtype=np.int64)

    def log_starts(self, chains: int) -> NDArray[np.int64]:
        """The same for the logs, which are there for every number of parents."""
        return np.cumsum([0, *(self._sizes_of(i).sum() for i in range(chains))], dtype=np.int64)

    @property
    def named_parts(self) -> list[Part]:
        """The parts as records."""
        return [Part(*each) for each in self.parts]

    def has(self, name: str) -> bool:
        """Is there such a part?"""
        return any(part.name == name for part in self.named_parts)

    def of_part(self, name: str, weights: Array) -> Array:
        """The weights of a part that there is, or whatever is known of its planes."""
        (part,) = (part for part in self.named_parts if part.name == name)
        return weights[part.first : part.first + part.planes]

    @cached_property
    def line(self) -> gaussian_copula.Scale:
        """How numbers are scaled for the Gaussian part."""
        return gaussian_copula.Scale(self.z_column, self.z_start, self.z_value)

    @cached_property
    def gaps(self) -> missing_values.Gaps | None:
        """What a missing cell takes away; None where nothing was said of it."""
        return missing_values.gaps_of(self) if self.edition > 1 else None

    # --- adding ------------------------------------------------------------------------------------------------

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> EnsembleStatistics:
        assert isinstance(data, Coded)
        single, sizes = count_levels(data, y, w, K)
        tokens = row_sample.tokens_of(data.known, sizes)
        kept, (chains, normal) = row_sample.no_rows(sizes), self.nothing(K, w is not None)
        for span, codes, _ in packed(data, sizes):
            here, part = y[span], None if w is None else w[span]
            kept = row_sample.joined(kept, row_sample.rows_of(codes, sizes, tokens, here, part))
            normal = self.count(codes, here, part, chains, normal)
        return EnsembleStatistics.of(single, sizes, kept, chains, normal)

    def nothing(self, K: int, weights: bool) -> tuple[Array, gaussian_copula.Statistics]:
        """The counts of the chains, and the sums of the Gaussian part, of no rows."""
        chains = np.zeros((self.chains.cells, K), dtype=np.float64 if weights else np.uint32)
        return chains, gaussian_copula.no_sums(K, len(self.z_column))

    def count(
        self, codes: Array, y: NDArray[np.int32], w: Weights, chains: Array, normal: gaussian_copula.Statistics
    ) -> gaussian_copula.Statistics:
        """Adds rows to the counts of the chains, in place; and what the Gaussian part sums of them to `normal`."""
        self.chains.count(codes, y, w, chains)
        if not len(self.z_column):
            return normal
        for rows, z in self.line.blocks(codes):
            own = gaussian_copula.sums(z, y[rows], None if w is None else w[rows], len(normal.n))
            normal = gaussian_copula.add(normal, own)
        return normal

    def combine(self, a: EnsembleStatistics, b: EnsembleStatistics, sign: int = 1) -> EnsembleStatistics:
        sizes = np.maximum(a.sizes, b.sizes)
        x, z = self.sized(a, sizes), self.sized(b, sizes)
        single = x.single + z.single if sign > 0 else subtract(x.single, z.single)
        kept = row_sample.joined(x.kept, z.kept, sign)
        chains = plus_counts(x.chains, z.chains) if sign > 0 else minus_counts(x.chains, z.chains)
        return EnsembleStatistics.of(single, sizes, kept, chains, gaussian_copula.add(x.normal, z.normal, sign))

    def reclass(self, s: EnsembleStatistics, to: Sequence[int], K: int) -> EnsembleStatistics:
        kept = row_sample.relabelled(s.kept, np.asarray(to, dtype=np.int32))
        chains = np.ascontiguousarray(spread(s.chains.T, to, K).T)
        normal = gaussian_copula.Statistics(*(spread(a, to, K) for a in (s.z_n, s.z_mean, s.z_scatter)))
        return EnsembleStatistics.of(spread(s.single, to, K), s.sizes, kept, chains, normal)

    def moved(self, s: EnsembleStatistics, sizes: NDArray[np.int64], maps: Maps) -> EnsembleStatistics:
        maps = fitting_maps(s, maps)
        kept = row_sample.recoded(s.kept, sizes, maps)
        return EnsembleStatistics.of(move_levels(s, sizes, maps), sizes, kept, s.chains, s.normal)

    def check(self, s: EnsembleStatistics, context: Context) -> None:
        if not self.parts:
            raise ValueError("it has no parts")
        check_sizes(s.sizes, context, context.d)
        if self.weighting not in WEIGHTING:
            raise ValueError(f"'weighting' is {self.weighting!r:.60}")
        if type(self.boosting) is not int or not 0 <= self.boosting <= MOST_CORRECTIONS:
            raise ValueError(f"'boosting' is {self.boosting!r:.60}")
        if not 0 <= self.edition <= EDITION:
            raise ValueError(f"'edition' is {self.edition!r:.60}; known are 0 to {EDITION}")
        if not is_number(self.trust) or self.trust < 0:
            raise ValueError(f"'trust' is {self.trust!r:.60}")
        validation.choices(self, context.d)
        K, p = context.K, len(self.z_column)
        shapes = {"single": (K, int(s.sizes.sum())), "z_n": (K,), "z_mean": (K, p), "z_scatter": (K, p, p)}
        arrays = {"single": s.single, "z_n": s.z_n, "z_mean": s.z_mean, "z_scatter": s.z_scatter}
        expect(arrays, shapes, at_least_0=("single", "z_n"))
        row_sample.check(s.kept, s.sizes, K)
        validation.sums(self, s, K)

    # --- reading -----------------------------------------------------------------------------------------------

    def estimate(self, s: EnsembleStatistics, context: Context) -> EnsembleParams:
        return fitting.choose(self, s, self.levels_of(self.room_for(s, context), context))

    def reestimate(self, s: EnsembleStatistics, context: Context, p: EnsembleParams) -> EnsembleParams:
        return fitting.again(self, s, self.levels_of(self.room_for(s, context), context), p)

    def leave_one_out(
        self, data: Data, y: NDArray[np.int32], unit: Floats, s: EnsembleStatistics, p: EnsembleParams, context: Context
    ) -> Array:
        assert isinstance(data, Coded)
        out = np.empty((data.n, context.K))
        for span, codes, _ in p.packed(data):
            out[span] = fitting.leave_one_out(self, s, p, codes, y[span], unit[span])
        return out

    def scores(self, codes: Array, p: EnsembleParams, values: Floats | None = None) -> Floats:  # noqa: ARG002
        out = np.asarray(self.chains.terms(p.logs, codes, p.together)[0])
        out += p.biases
        if p.levels is not None:
            out += p.levels.scores(codes, self.of_part("target_encoding", p.weights))
        if p.nearest is not None:
            out += self.of_part("neighbors", p.weights)[0] * p.nearest.scores(codes)
        if p.gaussian is not None:
            for rows, z in self.line.blocks(codes):
                out[rows] += p.weights[-1] * p.gaussian.logs(z)
        if p.corrections is not None:
            out += p.corrections.scores(codes)
        if self.gaps is not None and (some := self.gaps.partial(codes)) is not None:
            out[some.rows] = some.blend(out[some.rows], self.gaps.scores(self, p.logs, codes[:, some.rows]))
        return out

    def terms(self, data: Data, p: EnsembleParams, K: int) -> Array:
        """Last what belongs to no column: biases, the class shares of contexts, what the nearest rows say, the
        constants of the Gaussian part. A gap that says nothing has no part."""
        assert isinstance(data, Coded)
        d = self.columns
        out = np.empty((data.n, d + 1, K))
        where = np.where(self.child < 0, -1, self.view_column[self.child]).astype(np.int32)
        planes = _core.ChainPlanes(d + 1, where, p.scale)
        for span, codes, _ in p.packed(data):
            found = np.asarray(self.chains.terms(p.logs, codes, planes))
            if p.corrections is not None:
                found = found + p.corrections.by_column(codes)
            own = np.ascontiguousarray(found.transpose(1, 0, 2))
            own[:, d] += p.biases
            if p.levels is not None:
                for j, w, each in zip(
                    self.level_column, self.of_part("target_encoding", p.weights), p.levels.each(codes), strict=True
                ):
                    own[:, j] += w * each
            if p.nearest is not None:
                own[:, d] += self.of_part("neighbors", p.weights)[0] * p.nearest.scores(codes)
            if p.gaussian is not None:
                by_column, constant = p.gaussian.by_column(self.line, codes, d)
                own[:, :d] += p.weights[-1] * by_column
                own[:, d] += p.weights[-1] * constant
            out[span] = own
            if self.gaps is not None and (some := self.gaps.partial(codes)) is not None:
                weighted = some.without_gaps(own[some.rows])
                alone = self.gaps.by_column(self, p.logs, codes[:, some.rows])
                out[span.start + some.rows] = some.blend(weighted, alone)
        return out

    def outcomes(self, p: EnsembleParams, j: int) -> Array | None:
        here = p.exist[j]
        return np.asarray(split(p.log.T, p.sizes)[j].T[here])

    def sample(self, p: EnsembleParams, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
        """Rows of the first network."""
        return generative_network.draw(self, p, y, rng)

    def no_likelihood(self) -> str | None:
        return (
            "The weighted whole of a BayesClassifier is no density: there is no likelihood to climb. Use NaiveBayes, "
            "TAN or AODE."
        )

    def export(self, p: EnsembleParams, context: Context) -> Exported | str:  # noqa: ARG002
        starts = self.view_start.tolist()
        rows = 0 if p.nearest is None else p.nearest.rows.size
        return too_large(p.logs.size + rows) or {
            "form": "ensemble",
            "sizes": p.sizes.tolist(),
            "gone": [list(pair) for pair in p.gone],
            "views": [
                {
                    "column": int(j),
                    "bins": int(self.view_bins[v]),
                    "map": self.view_map[starts[v] : starts[v + 1]].tolist(),
                }
                for v, j in enumerate(self.view_column)
            ]
            + ([] if p.corrections is None else p.corrections.export_views()),
            "chains": self._export_chains(p)
            + ([] if p.corrections is None else p.corrections.export_chains(len(self.view_column))),
            "bias": plain(p.biases),
            "target_encoding": self._export_levels(p),
            "neighbors": p.nearest and p.nearest.export(float(self.of_part("neighbors", p.weights)[0])),
            "gaussian": None if p.gaussian is None else self._export_gaussian(p, p.gaussian),
            "gaps": None
            if self.gaps is None
            else self.gaps.export(0 if p.corrections is None else p.corrections.count),
        }

    def _export_levels(self, p: EnsembleParams) -> Json:
        if p.levels is None:
            return []
        each = zip(self.level_column.tolist(), self.of_part("target_encoding", p.weights), p.levels.tables, strict=True)
        return [{"column": j, "log": plain(w * table[:-1])} for j, w, table in each]

    def _export_chains(self, p: EnsembleParams) -> list[Json]:
        n = len(self.child)
        firsts, parents = self.log_starts(n).tolist(), self.parent_start.tolist()
        return [
            {
                "child": int(self.child[i]),
                "parents": self.parent[parents[i] : parents[i + 1]].tolist(),
                "scale": float(p.scale[i]),
                "log": [
                    plain(rung)
                    for rung in np.split(p.logs[firsts[i] : firsts[i + 1]], np.cumsum(self._sizes_of(i))[:-1])
                ],
            }
            for i in range(n)
        ]

    def _export_gaussian(self, p: EnsembleParams, normals: gaussian_copula.Normals) -> Json:
        line, starts = self.line, self.z_start.tolist()
        return {
            "weight": float(p.weights[-1]),
            "scale": [
                {"column": int(j), "value": line.value[starts[i] : starts[i + 1]].tolist()}
                for i, j in enumerate(line.column)
            ],
            "mean": plain(normals.mean),
            "root": [[plain(row[: i + 1]) for i, row in enumerate(root)] for root in normals.root],
            "constant": plain(normals.constant),
            "freedom": None if np.isinf(normals.freedom) else float(normals.freedom),
        }


def only(ensemble: Ensemble, chains: slice) -> Ensemble:
    """Some of the chains, as networks of one weight."""
    starts = ensemble.parent_start[chains.start : chains.stop + 1]
    width = int(ensemble.plane_of.max()) + 1
    return replace(
        ensemble,
        child=ensemble.child[chains],
        parent=ensemble.parent[starts[0] : starts[-1]],
        parent_start=starts - starts[0],
        plane=ensemble.plane[chains] % width,
        share=np.ones(chains.stop - chains.start),
        parts=(("networks", 0, width, 1.0),),
        level_column=np.empty(0, dtype=np.int32),
        z_column=np.empty(0, dtype=np.int32),
        z_start=np.zeros(1, dtype=np.int64),
        z_value=np.empty(0),
        weighting="temperature",
        boosting=0,
    )
