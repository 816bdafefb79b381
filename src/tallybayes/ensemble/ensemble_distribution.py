"""Ensemble: the distribution behind BayesClassifier, a stack of components over one set of codes.

An Ensemble without components counts levels and samples rows; from these the layout is chosen (layout.py). Its
sufficient statistics add and subtract: counts of levels and of all back-off chains, moments of the Gaussian
discriminant, and the row sample, on which fitting.py chooses what counts alone cannot determine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Coded, Data
from tallybayes.distributions.capabilities import (
    CheckRows,
    ClassOptions,
    ColumnTerms,
    CountsExport,
    KeptChoices,
    LeaveOneOut,
    NoLikelihood,
    Outcomes,
    PackedRow,
    Reclassing,
)
from tallybayes.distributions.context import Context, Exported, RowScores, Weights
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
from tallybayes.distributions.statistics import expect, spread, subtract
from tallybayes.ensemble import (
    ensemble_export,
    fitting,
    fixed_choices,
    gaussian_copula,
    level_densities,
    missing_values,
    networks,
    row_sample,
    validation,
)
from tallybayes.ensemble.canonical_order import ContentTokens, positions
from tallybayes.ensemble.ensemble_statistics import EnsembleParams, EnsembleStatistics
from tallybayes.ensemble.stacking import NestedHalves
from tallybayes.errors import is_number
from tallybayes.utils.array_types import Array, Floats
from tallybayes.utils.cached import cached_property

WEIGHTING = ("features", "temperature", "none")
MAX_BOOSTING = 4  # a file that asked for more would be searched for hours when it is loaded


class Component(NamedTuple):
    """A component: its first meta-feature in the stack, how many it has, and its weight before weights
    are learned (0: its weights are shrunk towards 0)."""

    name: str
    first: int
    size: int
    initial_weight: float


_INTS, _BYTES = partial(np.zeros, 0, np.int32), partial(np.zeros, 0, np.uint8)
_FLOATS, _START = partial(np.zeros, 0, np.float64), partial(np.zeros, 1, np.int64)
_TOKENS = partial(np.zeros, 0, np.uint64)


@dataclass(frozen=True, eq=False)
class Ensemble(Joint[EnsembleStatistics, EnsembleParams]):
    """The logit of a class: its bias, Σ over meta-features of stacking weight · meta-feature(x, class), and boosting.

    The log prior is added outside. The meta-feature of a column is the mean log P of its back-off chains; other
    components have theirs. A row with missing values where the sample had few is blended with the mean of the
    networks (missing_values.py). The result is not a density.

    A binning joins the levels of a column into bins; a back-off chain estimates P(child | parents, class) for 0, 1, …
    parents, each read through a binning. Trees are chains without a child: their parents are the splits, and their
    table holds P(class | leaf) of a class tree, or the leaf values of a boosted tree.
    """

    smoothing: str = "backoff"
    alpha: float = 1.0
    method: str | None = "frequency"
    bins: int = 10
    columns: int = 0
    column_token: Array = field(default_factory=_TOKENS)  # see ContentTokens; none before rows were seen
    level_token: Array = field(default_factory=_TOKENS)
    level_start: Array = field(default_factory=_START)
    binning_column: Array = field(default_factory=_INTS)
    binning_start: Array = field(default_factory=_START)  # of each in binning_map
    binning_map: Array = field(default_factory=_BYTES)  # bin of each level, last of a missing value
    binning_bins: Array = field(default_factory=_INTS)
    child: Array = field(default_factory=_INTS)  # a binning, −1 for a class tree
    parent: Array = field(default_factory=_INTS)  # binnings
    parent_start: Array = field(default_factory=_START)
    chain_feature: Array = field(
        default_factory=_INTS
    )  # the meta-feature of each chain; class trees are averaged into one
    chain_share: Array = field(default_factory=_FLOATS)  # its share of the mean over members
    column_group: Array = field(default_factory=_INTS)  # which stacking weight of a component each column has
    parts: tuple[tuple[str, int, int, float], ...] = ()  # see Component
    encoded_column: Array = field(default_factory=_INTS)  # columns with a target encoding
    score_column: Array = field(default_factory=_INTS)  # NormalScores of the Gaussian discriminant
    score_start: Array = field(default_factory=_START)
    score_value: Array = field(default_factory=_FLOATS)
    numeric_column: Array = field(default_factory=_INTS)  # for boosting and neighbours
    weighting: str = "features"  # stacking weights by column, one for all ("temperature"), or "none"
    boosting: int = 0  # multiplies the tries of the search for trees; 0: none
    weight: float = 1.0  # of the whole, chosen beside text columns
    halves: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)  # see NestedHalves
    fixed_weights: Array = field(default_factory=_FLOATS)  # memory='sums', see fixed_choices.py; empty: none are fixed
    fixed_biases: Array = field(default_factory=_FLOATS)  # by class
    fixed_concentrations: Array = field(default_factory=_FLOATS)
    fixed_pseudo_counts: Array = field(default_factory=_FLOATS)
    fixed_numbers: Array = field(default_factory=_FLOATS)

    name = "ensemble"
    weighted = ("single", "sample_weight", "chains", "gaussian_n", "gaussian_scatter")
    statistics_type = EnsembleStatistics
    statistics_options = ("columns", "_digest", "_parts_key")
    capabilities: ClassVar[Collection[type]] = (
        CheckRows,
        ClassOptions,
        ColumnTerms,
        CountsExport,
        KeptChoices,
        LeaveOneOut,
        NoLikelihood,
        Outcomes,
        PackedRow,
        Reclassing,
    )

    def __getstate__(self) -> dict[str, object]:
        """Arrays and plain values; cached properties are made again."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    def _parts_key(self) -> tuple[object, ...]:
        return tuple(self.parts)

    @cached_property
    def _digest(self) -> str:
        h = hashlib.blake2b()
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, np.ndarray) and f.name != "fixed_biases":  # of the same plan with other classes
                h.update(f.name.encode() + value.tobytes() + b"|")
        return h.hexdigest()

    @property
    def is_fixed(self) -> bool:
        """Are all choices those of the fit, and is no row kept?"""
        return len(self.fixed_weights) > 0

    def with_classes(self, to: Sequence[int], K: int) -> Ensemble:
        return replace(self, fixed_biases=spread(self.fixed_biases, to, K)) if self.is_fixed else self

    @property
    def tokens(self) -> ContentTokens:
        """The tokens of columns and levels."""
        if not len(self.column_token):
            return positions(self.columns)
        return ContentTokens(self.column_token, self.level_token, self.level_start)

    @cached_property
    def chains(self) -> _core.Chains:
        """The back-off chains as the core reads them, checked once."""
        return _core.Chains(
            self.columns, self.binning_column, self.binning_start, self.binning_map, self.binning_bins,
            self.child, self.parent, self.parent_start,
        )  # fmt: skip

    def judged(self, rows: float) -> NestedHalves:
        """What nested halves found, for so much weight of rows: by and by leave-one-out is enough."""
        found = NestedHalves(*self.halves)
        share = min(1.0, found.rows / max(rows, 1e-300))
        return found._replace(shrinkage=1 - share * (1 - found.shrinkage), optimism=found.optimism * share)

    @property
    def networks(self) -> int:
        """The number of networks; their chains come first, one for each column."""
        features = sum(component.size for component in self.components if component.name.endswith("networks"))
        return int((self.chain_feature < features).sum()) // max(1, self.columns)

    def sizes_of(self, i: int) -> NDArray[np.int64]:
        """The cells of chain i with 0, 1, 2, … parents."""
        own = self.binning_bins[self.parent[self.parent_start[i] : self.parent_start[i + 1]]]
        child = 1 if self.child[i] < 0 else int(self.binning_bins[self.child[i]])
        return np.cumprod([child, *own.tolist()], dtype=np.int64)

    def count_starts(self, chains: int) -> NDArray[np.int64]:
        """Where the counts of each of the first chains begin, and where the last ends."""
        return np.cumsum([0, *(self.sizes_of(i)[-1] for i in range(chains))], dtype=np.int64)

    def log_starts(self, chains: int) -> NDArray[np.int64]:
        """The same for the logs, which exist for every number of parents."""
        first, parents = self.parent_start[:chains], np.diff(self.parent_start[: chains + 1])
        size = np.where(self.child[:chains] < 0, 1, self.binning_bins[np.maximum(self.child[:chains], 0)])
        size = size.astype(np.int64)
        total = size.copy()
        for i in range(int(parents.max(initial=0))):  # each chain with i + 1 parents
            some = np.flatnonzero(parents > i)
            size[some] *= self.binning_bins[self.parent[first[some] + i]]
            total[some] += size[some]
        return np.append(0, np.cumsum(total))

    @cached_property
    def components(self) -> list[Component]:
        """The components, in the order of their meta-features."""
        return [Component(*each) for each in self.parts]

    @cached_property
    def meta_features(self) -> int:
        """How many meta-features the stack has."""
        return sum(component.size for component in self.components)

    def has(self, name: str) -> bool:
        """Is there such a component?"""
        return any(component.name == name for component in self.components)

    def of(self, name: str, values: Array) -> Array:
        """The values of a component's meta-features, such as its stacking weights."""
        (component,) = (component for component in self.components if component.name == name)
        return values[component.first : component.first + component.size]

    @cached_property
    def normal_scores(self) -> gaussian_copula.NormalScores:
        """The scores of the Gaussian discriminant; of no dimension where there is none."""
        return gaussian_copula.NormalScores(self.score_column, self.score_start, self.score_value)

    @cached_property
    def missing_rule(self) -> missing_values.MissingRule | None:
        """How rows with unexpected missing values are scored."""
        return missing_values.missing_rule(self)

    # --- sufficient statistics ---------------------------------------------------------------------------------

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> EnsembleStatistics:
        assert isinstance(data, Coded)
        single, sizes = count_levels(data, y, w, K)
        tokens = None if self.is_fixed else self.tokens.of_levels(data.known, sizes)
        found, (chains, gaussian) = [row_sample.empty_sample(sizes)], self.no_counts(K, w is not None)
        for span, codes, _ in packed(data, sizes):
            here, part = y[span], None if w is None else w[span]
            if tokens is not None:
                found.append(row_sample.candidates(codes, sizes, tokens, here, part))
            if sum(len(each.label) for each in found) > 2 * row_sample.capacity(len(sizes)):
                found = [row_sample.union(found)]
            gaussian = self.count(codes, here, part, chains, gaussian)
        return EnsembleStatistics.of(single, sizes, row_sample.union(found), chains, gaussian)

    def no_counts(self, K: int, weights: bool) -> tuple[Array, gaussian_copula.Statistics]:
        """The counts of the chains and the moments of no rows."""
        chains = np.zeros((self.chains.cells, K), dtype=np.float64 if weights else np.uint32)
        return chains, gaussian_copula.no_statistics(K, len(self.score_column))

    def count(
        self, codes: Array, y: NDArray[np.int32], w: Weights, chains: Array, gaussian: gaussian_copula.Statistics
    ) -> gaussian_copula.Statistics:
        """Add rows to the counts of the chains, in place; return the moments with these rows."""
        self.chains.count(codes, y, w, chains)
        if not len(self.score_column):
            return gaussian
        for rows, z in self.normal_scores.blocks(codes):
            own = gaussian_copula.statistics(z, y[rows], None if w is None else w[rows], len(gaussian.n))
            gaussian = gaussian_copula.add(gaussian, own)
        return gaussian

    def combine(self, a: EnsembleStatistics, b: EnsembleStatistics, sign: int = 1) -> EnsembleStatistics:
        sizes = np.maximum(a.sizes, b.sizes)
        x, z = self.sized(a, sizes), self.sized(b, sizes)
        single = x.single + z.single if sign > 0 else subtract(x.single, z.single)
        sample = row_sample.combined(x.sample, z.sample, sign)
        chains = plus_counts(x.chains, z.chains) if sign > 0 else minus_counts(x.chains, z.chains)
        return EnsembleStatistics.of(single, sizes, sample, chains, gaussian_copula.add(x.gaussian, z.gaussian, sign))

    def reclass(self, s: EnsembleStatistics, to: Sequence[int], K: int) -> EnsembleStatistics:
        sample = row_sample.with_classes(s.sample, np.asarray(to, dtype=np.int32))
        chains = np.ascontiguousarray(spread(s.chains.T, to, K).T)
        moments = (s.gaussian_n, s.gaussian_mean, s.gaussian_scatter)
        gaussian = gaussian_copula.Statistics(*(spread(a, to, K) for a in moments))
        return EnsembleStatistics.of(spread(s.single, to, K), s.sizes, sample, chains, gaussian)

    def moved(self, s: EnsembleStatistics, sizes: NDArray[np.int64], maps: Maps) -> EnsembleStatistics:
        maps = fitting_maps(s, maps)
        sample = row_sample.with_levels(s.sample, sizes, maps)
        return EnsembleStatistics.of(move_levels(s, sizes, maps), sizes, sample, s.chains, s.gaussian)

    def check(self, s: EnsembleStatistics, context: Context) -> None:
        if not self.parts:
            raise ValueError("it has no components")
        check_sizes(s.sizes, context, context.d)
        if self.weighting not in WEIGHTING:
            raise ValueError(f"'weighting' is {self.weighting!r:.60}")
        if type(self.boosting) is not int or not 0 <= self.boosting <= MAX_BOOSTING:
            raise ValueError(f"'boosting' is {self.boosting!r:.60}")
        if not is_number(self.weight) or self.weight < 0:
            raise ValueError(f"'weight' is {self.weight!r:.60}")
        if len(self.halves) != 4 or not all(is_number(each) for each in self.halves) or self.halves[3] < 0:
            raise ValueError(f"'halves' is {self.halves!r:.60}")
        validation.check_layout(self, context.d)
        K, p = context.K, len(self.score_column)
        shapes = {"single": (K, int(s.sizes.sum())), "gaussian_n": (K,)}
        shapes |= {"gaussian_mean": (K, p), "gaussian_scatter": (K, p, p)}
        expect({key: getattr(s, key) for key in shapes}, shapes, at_least_0=("single", "gaussian_n"))
        row_sample.check(s.sample, s.sizes, K)
        fixed_choices.check(self, s, K)
        validation.check_statistics(self, s, K)

    # --- estimation and prediction -----------------------------------------------------------------------------

    def estimate(self, s: EnsembleStatistics, context: Context) -> EnsembleParams:
        choose = fixed_choices.estimate if self.is_fixed else fitting.estimate
        return choose(self, s, self.levels_of(self.room_for(s, context), context))

    def reestimate(self, s: EnsembleStatistics, context: Context, p: EnsembleParams) -> EnsembleParams:
        return fitting.with_fixed_hyperparameters(self, s, self.levels_of(self.room_for(s, context), context), p)

    def leave_one_out(
        self, data: Data, y: NDArray[np.int32], unit: Floats, s: EnsembleStatistics, p: EnsembleParams, context: Context
    ) -> Array:
        assert isinstance(data, Coded)
        out = np.empty((data.n, context.K))
        for span, codes, _ in p.packed(data):
            out[span] = fitting.leave_one_out(self, s, p, codes, y[span], unit[span])
        return out

    def scores(self, codes: Array, p: EnsembleParams, values: Floats | None = None) -> Floats:  # noqa: ARG002
        return self._scores(codes, p, self._level_scores(p))

    def row_scores(self, p: EnsembleParams) -> RowScores:
        looked_up = self._level_scores(p)
        return RowScores(p.sizes, p.gone, lambda codes: self._scores(codes, p, looked_up))

    def _scores(self, codes: Array, p: EnsembleParams, looked_up: _core.LevelScores) -> Floats:
        out = np.asarray(self.chains.terms(p.logs, codes, p.all_chains)[0])
        missing = looked_up.add(codes, out)
        if p.neighbors is not None:
            out += self.of("neighbors", p.weights)[0] * p.neighbors.scores(codes)
        if p.boosting is not None:
            out += p.boosting.scores(codes)
        rule = self.missing_rule if missing else None
        if rule is not None and (some := rule.incomplete(codes)) is not None:
            out[some.rows] = some.blend(out[some.rows], rule.scores(self, p.logs, codes[:, some.rows]))
        return out

    def _level_scores(self, p: EnsembleParams) -> _core.LevelScores:
        """Biases, target encodings and the Gaussian discriminant, as the core reads them."""
        encodings, density = [], None
        if p.target_encoding is not None:
            weights = self.of("target_encoding", p.weights).tolist()
            encodings = list(zip(self.encoded_column.tolist(), p.target_encoding.tables, weights, strict=True))
        if p.gaussian is not None:
            scale = (self.score_column, self.score_start, self.score_value)
            density = (scale, p.gaussian.as_core_reads_it, float(self.of("gaussian", p.weights)[0]))
        return _core.LevelScores(p.biases, encodings, density)

    def terms(self, data: Data, p: EnsembleParams, K: int) -> Array:
        """The last entry belongs to no column: biases, class shares of the trees, neighbours, Gaussian constants."""
        assert isinstance(data, Coded)
        d, rule = self.columns, self.missing_rule
        out = np.empty((data.n, d + 1, K))
        where = np.where(self.child < 0, -1, self.binning_column[self.child]).astype(np.int32)
        by_column = _core.ChainOutputs(d + 1, where, p.chain_weights)
        for span, codes, _ in p.packed(data):
            found = np.asarray(self.chains.terms(p.logs, codes, by_column))
            if p.boosting is not None:
                found = found + p.boosting.by_column(codes)
            own = np.ascontiguousarray(found.transpose(1, 0, 2))
            own[:, d] += p.biases
            if p.target_encoding is not None:
                weights = self.of("target_encoding", p.weights)
                for j, w, each in zip(self.encoded_column, weights, p.target_encoding.by_column(codes), strict=True):
                    own[:, j] += w * each
            if p.neighbors is not None:
                own[:, d] += self.of("neighbors", p.weights)[0] * p.neighbors.scores(codes)
            if p.gaussian is not None:
                of_columns, constant = p.gaussian.by_column(self.normal_scores, codes, d)
                own[:, :d] += self.of("gaussian", p.weights)[0] * of_columns
                own[:, d] += self.of("gaussian", p.weights)[0] * constant
            out[span] = own
            if rule is not None and (some := rule.incomplete(codes)) is not None:
                stacked = some.without_missing(own[some.rows])
                of_networks = rule.by_column(self, p.logs, codes[:, some.rows])
                out[span.start + some.rows] = some.blend(stacked, of_networks)
        return out

    def outcomes(self, p: EnsembleParams, j: int) -> Array | None:
        return level_densities.outcomes(self, p, j)

    def sample(self, p: EnsembleParams, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
        """Rows of the first network."""
        return networks.draw(self, p, y, rng)

    def no_likelihood(self) -> str | None:
        return (
            "The stacked components of a BayesClassifier are not a density: there is no likelihood to maximise. Use "
            "NaiveBayes, TAN or AODE."
        )

    def export(self, p: EnsembleParams, context: Context) -> Exported | str:  # noqa: ARG002
        return ensemble_export.with_logs(self, p)

    def export_counts(self, s: EnsembleStatistics, p: EnsembleParams) -> Exported | None:
        return ensemble_export.with_counts(self, s, p)


def subset_of_networks(ensemble: Ensemble, chains: slice) -> Ensemble:
    """Some of the chains as networks with one stacking weight."""
    starts = ensemble.parent_start[chains.start : chains.stop + 1]
    groups = int(ensemble.column_group.max()) + 1
    return replace(
        ensemble,
        child=ensemble.child[chains],
        parent=ensemble.parent[starts[0] : starts[-1]],
        parent_start=starts - starts[0],
        chain_feature=ensemble.chain_feature[chains] % groups,
        chain_share=np.ones(chains.stop - chains.start),
        parts=(("networks", 0, groups, 1.0),),
        encoded_column=_INTS(),
        score_column=_INTS(),
        score_start=_START(),
        score_value=_FLOATS(),
        weighting="temperature",
        boosting=0,
        **fixed_choices.of_network(ensemble, chains, groups),
    )
