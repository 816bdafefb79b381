"""Averaged n-dependence estimators (AnDE, Webb et al. 2012; KDB, Sahami 1996) with hierarchical back-off smoothing.

Each network has its own bins and up to four super-parents, on which all other columns depend given the class. The
estimate with l parents is smoothed towards the one with l − 1 by a concentration chosen by leave-one-out (a back-off
chain). The log-probabilities are averaged over the networks; a half of them takes as super-parents the columns with
most information about the class ("networks"), the other half nearly all columns alike ("uniform_networks").

The first network is also the generative model of a BayesClassifier: `sample` and `score_samples` use it.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Coded
from tallybayes.distributions.networks.family_sampling import draw as draw_levels
from tallybayes.ensemble.missing_values import NO_BIN
from tallybayes.errors import OptionError
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from tallybayes.ensemble.ensemble_distribution import Ensemble
    from tallybayes.ensemble.ensemble_statistics import EnsembleParams
    from tallybayes.ensemble.layout import Draft, Information

MAX_CELLS = 1 << 26  # counts of all chains …
MANY_ROWS, MANY_ROWS_CELLS = 16_000, 1 << 23  # … and of many rows, whose finer structure boosting learns
MAX_CHAIN_CELLS, MIN_CHAIN_CELLS = 1 << 19, 64  # counts of one chain
FEW_ROWS_CELLS = 4096  # counts that one chain may have however few rows there are
FINE_BINS, FINE_ROWS = 40, 10_000  # bins of a number at most, where every class has so many rows

MAX_DENSE_FEATURES = 1 << 14  # up to which features keep their numbers, though no draw may have some of them
DRAW_BUDGET, MIN_DRAWS, MAX_DRAWS = 1 << 16, 64, 256  # random numbers behind the draws; bounds on the draws


class Half(NamedTuple):
    """One half of the networks: how many, Gumbel noise on the information of parents, share of MDL bins."""

    members: int
    noise: float
    mdl: float


def add_networks(draft: Draft) -> None:
    """Lay out both halves: two components where each has its own stacking weights, else one."""
    recipe, columns, known = draft.recipe, draft.columns, draft.known
    rng = np.random.default_rng(draft.DESIGN)
    apart = recipe.weighting == "features"
    for i, half in enumerate((Half(recipe.networks, 1.0, 0.5), Half(recipe.uniform_networks, 10.0, 0.0))):
        if not half.members:
            continue
        if apart or not draft.components:
            name = "uniform_networks" if i and apart else "networks"
            draft.add_component(name, draft.groups, 0.5 if apart and recipe.uniform_networks else 1.0)
        drawn = parent_orders(known.with_class[known.candidates], half.noise, half.members, recipe.parents, rng)
        order = known.candidates[drawn]
        turn = bin_turns(half.members, columns.d, rng, order)
        maps, bins = columns.draw_bins(turn, _bins(draft), half.mdl, draft.DESIGN + i)
        share = 1 / (half.members if apart else recipe.networks + recipe.uniform_networks)
        own = draft.bin_all(maps, bins)
        useful = _informative(known, order)
        useful &= _affordable(order, useful, bins + columns.missing, columns.K, _chain_cells(draft))
        member, _, which = np.nonzero(useful)
        parent = own[member, order[member, which]]
        feature = np.tile(draft.components[-1].first + draft.column_group, half.members)
        draft.chains.add(own.ravel(), parent, useful.sum(axis=2).ravel(), feature, share)


def _bins(draft: Draft) -> tuple[int, int]:
    """From how many bins to how many a network has of a number: more where every class has rows for them."""
    low, high = draft.recipe.bins
    enough = float(draft.columns.weight.sum()) >= FINE_ROWS * draft.columns.K
    return low, max(high, FINE_BINS) if enough else high


def _chain_cells(draft: Draft) -> int:
    """How many counts, over all classes, one chain may have."""
    recipe, columns = draft.recipe, draft.columns
    rows = min(recipe.cells_per_row, recipe.cells_per_row_and_class * columns.K) * float(columns.weight.sum())
    most = MANY_ROWS_CELLS if recipe.boosting and float(columns.weight.sum()) > MANY_ROWS else MAX_CELLS
    chains = max(1, (recipe.networks + recipe.uniform_networks) * columns.d)
    return int(max(min(max(rows, FEW_ROWS_CELLS), MAX_CHAIN_CELLS, most // chains), MIN_CHAIN_CELLS))


def _affordable(parents: Array, useful: Array, bins: Array, K: int, limit: int) -> NDArray[np.bool_]:
    """(members, columns, parents): as many useful parents, in order, as the limit on counts allows."""
    each = np.take_along_axis(bins, parents, axis=1)[:, None, :].astype(np.float64)
    cells = np.where(useful, each, 1.0).cumprod(axis=2) * (bins[:, :, None] * float(K))
    return np.asarray(cells <= limit)


def _informative(known: Information, order: NDArray[np.intp]) -> NDArray[np.bool_]:
    """(members, columns, parents): the super-parents before each column that inform about it given the class."""
    members, count = order.shape
    rank = np.full((members, len(known.between)), count)
    np.put_along_axis(rank, order, np.arange(count)[None, :], axis=1)
    before = np.arange(count) < rank[:, :, None]
    place = np.searchsorted(known.candidates, order)
    return np.asarray(before & (known.between > 0)[:, place].transpose(1, 0, 2))


# --- low-discrepancy design: parents and bins are spread evenly over the networks instead of drawn at random ----------
#
# The orders of super-parents are a greedy subset (Welling 2009) of random draws, and the bins of a column are assigned
# by permutations. A mean over T networks of such a design errs by about 1 / T, one over T draws by 1 / √T.


def parent_orders(
    information: Floats, noise: float, members: int, most: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """(members, parents): the super-parents of each member in order, by log information + noise · Gumbel.

    Of many draws, members are picked one by one so that columns, their places and pairs of columns come as nearly as
    possible as often as in all draws.
    """
    d = len(information)
    most, draws = min(most, d), int(np.clip(DRAW_BUDGET // max(d, 1), MIN_DRAWS, MAX_DRAWS))
    if not most:
        return np.empty((members, 0), dtype=np.intp)
    drawn = np.argsort(-(np.log(information) + noise * rng.gumbel(size=(draws, d))), axis=1, kind="stable")[:, :most]
    has = _features(drawn, d)
    share = np.bincount(has.ravel()) / draws
    return np.asarray(drawn[_core.low_discrepancy_design(np.ascontiguousarray(has, dtype=np.int32), share, members)])


def _features(drawn: NDArray[np.intp], d: int) -> NDArray[np.intp]:
    """(draws, features): the columns of each draw (twice: they matter most), their places, and pairs of columns."""
    most = drawn.shape[1]
    low, high = (
        np.sort(drawn, axis=1)[:, list(combinations(range(most), 2))].transpose(2, 0, 1) if most > 1 else (drawn, drawn)
    )
    all_of = [drawn, drawn, drawn + d * np.arange(1, most + 1), low * d + high + d * (most + 1)]
    found = np.concatenate(all_of, axis=1)
    if d * (d + most + 1) <= MAX_DENSE_FEATURES:
        return np.asarray(found)
    return np.asarray(np.unique(found, return_inverse=True)[1].reshape(found.shape))


def bin_turns(
    members: int, d: int, rng: np.random.Generator, parents: NDArray[np.intp] | None = None
) -> NDArray[np.int32]:
    """(members, columns): in which turn each member bins a column; every column has its own permutation.

    parents, (members, parents): members with the column as a super-parent come first. Bins are spread evenly over any
    number of first turns, so they are spread evenly over these.
    """
    place = np.zeros((members, d))
    if parents is not None:
        np.put_along_axis(place, parents, np.arange(-parents.shape[1], 0.0)[None, :], axis=1)
    place += rng.random((members, d))
    return np.asarray(place.argsort(axis=0).argsort(axis=0), dtype=np.int32)


# --- the first network as a generative model ----------------------------------------------------------------------


def log_density(ensemble: Ensemble, p: EnsembleParams, data: Coded) -> Array:
    """(rows, classes): log P of each row's bins in the first network, and of its levels within the bins."""
    d = ensemble.columns
    scale = (np.arange(len(ensemble.chain_feature)) < d).astype(np.float64)
    one = _core.ChainOutputs(1, np.zeros(len(scale), dtype=np.int32), scale)
    within = [_log_level_given_bin(ensemble, p, i) for i in range(d)]
    logs = _normalised(ensemble, p)
    out = np.empty((data.n, p.K))
    for span, codes, _ in p.packed(data):
        out[span] = np.asarray(ensemble.chains.terms(logs, codes, one)[0])
        for j, own in within:
            out[span] += own[np.minimum(codes[j], len(own) - 1)]
    return out


def _normalised(ensemble: Ensemble, p: EnsembleParams) -> Array:
    """The logs with those of the network summing to 1 over bins; back-off leaves them near it."""
    if ensemble.smoothing != "backoff":
        return p.logs
    out, starts = p.logs.copy(), ensemble.log_starts(ensemble.columns).tolist()
    for i, (first, end) in enumerate(pairwise(starts)):
        own = out[first:end].reshape(-1, int(ensemble.binning_bins[ensemble.child[i]]), p.K)
        own -= np.log(np.exp(own).sum(axis=1, keepdims=True))
    return out


def _log_level_given_bin(ensemble: Ensemble, p: EnsembleParams, i: int) -> tuple[int, Array]:
    """The column of chain i, and (levels + 1, classes): log P(level | bin, class), 0 for a missing value."""
    binning = int(ensemble.child[i])
    j = int(ensemble.binning_column[binning])
    counts, of_bin = _levels(ensemble, p, j, binning)
    out = np.zeros((counts.shape[1] + 1, len(counts)))
    for b in np.unique(of_bin[of_bin < NO_BIN]).tolist():
        own = np.flatnonzero(of_bin == b)
        share = counts[:, own] + 1.0 / len(own)  # one pseudo-row, spread evenly
        out[own] = np.log(share / share.sum(axis=1, keepdims=True)).T
    return j, out


def _levels(ensemble: Ensemble, p: EnsembleParams, j: int, binning: int) -> tuple[Array, Array]:
    """(classes, levels): the counts of column j; and the bin of each level, NO_BIN for one first seen later."""
    size, first = int(p.sizes[j]), int(p.sizes[:j].sum())
    of_bin = ensemble.binning_map[ensemble.binning_start[binning] : ensemble.binning_start[binning + 1] - 1]
    of_bin = np.pad(of_bin, (0, max(0, size - len(of_bin))), constant_values=NO_BIN)[:size]
    return p.single[:, first : first + size], of_bin


def draw(ensemble: Ensemble, p: EnsembleParams, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
    """A level of each column for each row by ancestral sampling: a bin given class and parents, then a level of it."""
    d = ensemble.columns
    if not ensemble.networks:
        raise OptionError("A BayesClassifier without networks cannot sample: rows are drawn from its first network.")
    of_column = {int(ensemble.binning_column[ensemble.child[i]]): i for i in range(d)}
    drawn: list[Array] = [np.empty(0)] * d
    bins: dict[int, Array] = {}
    waiting = list(range(d))
    while waiting:
        for j in list(waiting):
            i = of_column[j]
            parents = ensemble.parent[ensemble.parent_start[i] : ensemble.parent_start[i + 1]].tolist()
            if all(v in bins for v in parents):
                bins[int(ensemble.child[i])] = _draw_bin(ensemble, p, i, parents, bins, y, rng)
                drawn[j] = _draw_level(ensemble, p, j, int(ensemble.child[i]), bins, y, rng)
                waiting.remove(j)
    return drawn


def _draw_bin(
    ensemble: Ensemble,
    p: EnsembleParams,
    i: int,
    parents: list[int],
    bins: dict[int, Array],
    y: Array,
    rng: np.random.Generator,
) -> Array:
    v = int(ensemble.binning_bins[ensemble.child[i]])
    cell, cells = np.zeros(len(y), dtype=np.intp), 1
    for binning in parents:
        cell = cell * int(ensemble.binning_bins[binning]) + bins[binning]
        cells *= int(ensemble.binning_bins[binning])
    end = int(ensemble.log_starts(i + 1)[-1])
    table = p.logs[end - cells * v : end].reshape(cells, v, -1).astype(np.float64)
    return draw_levels(table, np.ones(v, dtype=bool), cell, y, rng)


def _draw_level(
    ensemble: Ensemble,
    p: EnsembleParams,
    j: int,
    binning: int,
    bins: dict[int, Array],
    y: Array,
    rng: np.random.Generator,
) -> Array:
    """A level of the bin with the frequencies of the class; −1, missing, in the bin of missing values."""
    counts, of_bin = _levels(ensemble, p, j, binning)
    counts = counts + 1e-9 * p.exist[j]
    out = np.full(len(y), -1, dtype=np.int64)
    for b in range(int(ensemble.binning_bins[binning])):
        rows, share = np.flatnonzero(bins[binning] == b), counts * (of_bin == b)
        if len(rows) and share.sum() > 0:
            steps = np.cumsum(share, axis=1)[y[rows]]
            out[rows] = (rng.random(len(rows))[:, None] * steps[:, -1:] >= steps).sum(axis=1)
    return np.asarray(np.minimum(out, counts.shape[1] - 1))
