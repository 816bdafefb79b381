"""Class trees: greedy oblivious trees for P(class | x), with the back-off smoothing of the networks.

Each tree is grown split by split on one half of the row sample, by leave-one-out likelihood, and stacked on the other
half: bagged probability estimation trees (Provost & Domingos 2003) of oblivious form. Which columns a split may use is
drawn with random_state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions.networks.joint_counts import GRID
from tallybayes.ensemble.missing_values import NO_BIN
from tallybayes.ensemble.networks import bin_turns
from tallybayes.ensemble.row_sample import RowSample
from tallybayes.utils.array_types import Array

if TYPE_CHECKING:
    from tallybayes.ensemble.ensemble_distribution import Ensemble
    from tallybayes.ensemble.layout import Draft

MAX_LEAVES = 1 << 17
SPLIT_BINS = (2, 4)  # of a column in one split

Split = tuple[int, Array, int]  # column, bin of each level, bins


def add_class_trees(draft: Draft, sample: RowSample) -> None:
    """Grow the trees on the row sample and lay out their chains."""
    trees = _grow(draft, sample) if draft.recipe.class_trees else []
    if not trees:
        return
    component = draft.add_component("class_trees", 1, 1.0)
    column, levels, size = zip(*(split for tree in trees for split in tree), strict=True)
    own = draft.chains.bin(np.array(column), np.concatenate(levels), np.array(size))
    depth, feature = np.array([len(tree) for tree in trees]), component.first + np.arange(len(trees))
    draft.chains.add(np.full(len(trees), -1), own, depth, feature, 1 / len(trees))


def _grow(draft: Draft, sample: RowSample) -> list[list[Split]]:
    """The splits of each tree, grown on its half of the sample; no trees if none has a split."""
    recipe, candidates = draft.recipe, draft.known.candidates
    if not len(candidates):
        return []
    all_columns, trees, seed = draft.columns, recipe.class_trees, draft.DESIGN + 3
    columns = all_columns.of(candidates) if len(candidates) < all_columns.d else all_columns
    versions = 2 if columns.numeric.any() else 1  # ways to bin each column, for each tree
    turn = bin_turns(versions * trees, columns.d, np.random.default_rng(seed))
    maps, bins = columns.draw_bins(turn, SPLIT_BINS, 0.0, seed)
    of_column = columns.split(maps)
    shape = (trees, recipe.tree_depth, recipe.tree_tries)
    tried = np.random.default_rng(draft.seed).integers(0, versions * columns.d, size=shape)
    used, number = np.unique(tried + versions * columns.d * np.arange(trees)[:, None, None], return_inverse=True)
    version, place = used // columns.d, used % columns.d  # the binning, over all trees; and the column
    table = np.full((len(used), int(columns.sizes.max()) + 1), NO_BIN, dtype=np.uint8)
    for j in np.unique(place).tolist():
        here = np.flatnonzero(place == j)
        table[here, : columns.sizes[j]] = of_column[j][version[here]]
        if columns.missing[j]:
            table[here, columns.sizes[j] :] = bins[version[here], j][:, None]
    count = (bins[version, place] + columns.missing[place]).astype(np.int32)
    weight = None if (sample.weight == 1).all() else sample.weight
    found = _core.grow_class_trees(
        np.ascontiguousarray(sample.codes[candidates]), sample.label, weight, all_columns.K,
        _core.Splits(place.astype(np.int32), table, count),
        (
            np.ascontiguousarray(number.reshape(tried.shape), dtype=np.int32),
            np.stack([growing_half(sample.key, e) for e in range(trees)]),
        ),
        GRID, float(MAX_LEAVES),
    )  # fmt: skip

    def split(i: int) -> Split:
        j = place[i]
        return int(candidates[j]), of_column[j][version[i]], int(bins[version[i], j])

    grown = [[split(i) for i in taken if i >= 0] for taken in np.asarray(found).tolist()]
    return grown if any(grown) else []


def growing_half(key: NDArray[np.uint64], tree: int) -> NDArray[np.bool_]:
    """The half of the rows on which a tree is grown, by a bit of their hashes."""
    return ((key >> np.uint64(tree % 64)) & np.uint64(1)).astype(bool)


def average(ensemble: Ensemble, terms: Array, key: Array) -> Array:
    """The meta-features with those of the trees as one: for each row the mean over trees that it did not grow.

    Components after the trees have no chains; their meta-features are filled later.
    """
    trees = ensemble.child < 0
    features = ensemble.meta_features
    if not trees.any():
        return terms[:features]
    at, end = int(ensemble.chain_feature[trees].min()), int(ensemble.chain_feature.max()) + 1
    count = end - at
    unused = ~np.stack([growing_half(key, e) for e in range(count)])
    share = (unused / np.maximum(unused.sum(axis=0), 1) * count).astype(np.float32)
    terms[at] = np.einsum("er,erc->rc", share, terms[at:end])
    return terms[:features]
