"""Checks of an Ensemble that comes from a file: everything that prediction and the core rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tallybayes.ensemble.stacking import SINGLE_FEATURE

if TYPE_CHECKING:
    from tallybayes.ensemble.ensemble_distribution import Ensemble
    from tallybayes.ensemble.ensemble_statistics import EnsembleStatistics
    from tallybayes.utils.array_types import Array

ARRAYS = {
    "binning_column": np.int32, "binning_start": np.int64, "binning_map": np.uint8, "binning_bins": np.int32,
    "child": np.int32, "parent": np.int32, "parent_start": np.int64, "chain_feature": np.int32,
    "chain_share": np.float64, "column_group": np.int32, "encoded_column": np.int32, "score_column": np.int32,
    "score_start": np.int64, "score_value": np.float64, "numeric_column": np.int32, "column_token": np.uint64,
    "level_token": np.uint64, "level_start": np.int64,
}  # fmt: skip
# The components in the order of their meta-features
COMPONENT_ORDER = ("networks", "uniform_networks", "naive", "class_trees", "target_encoding", "neighbors", "gaussian")
MAX_WEIGHT = 1e260
MAX_SCORE = 1e3  # standard deviations


def check_layout(e: Ensemble, d: int) -> None:
    """Raise ValueError unless this is a layout for d columns as layout.py makes it."""
    for key, kind in ARRAYS.items():
        value = getattr(e, key)
        if not isinstance(value, np.ndarray) or value.dtype != kind or value.ndim != 1:
            raise ValueError(f"{key!r} is no list of {np.dtype(kind)}")
    if e.columns != d or e.column_group.shape != (d,) or e.column_group.min() < 0 or e.column_group.max() >= d:
        raise ValueError("its layout is for other columns")
    _check_types(e)
    _check_components(e)
    _ = e.chains  # checks binnings, children and parents
    _check_chains(e, d)
    _check_parents(e, e.networks * d)
    e.normal_scores.check(d)
    _check_tokens(e, d)
    at = e.numeric_column
    if len(at) and (at[0] < 0 or at[-1] >= d or (np.diff(at) <= 0).any()):
        raise ValueError("'numeric_column' names other columns")
    if np.abs(e.score_value).max(initial=0.0) > MAX_SCORE:
        raise ValueError("the Gaussian component has scores that are too large")


def _check_tokens(e: Ensemble, d: int) -> None:
    starts = e.level_start
    if e.column_token.shape != (d,) or starts.shape != (d + 1,) or starts[0] != 0 or (np.diff(starts) < 0).any():
        raise ValueError("its columns have no tokens")
    if starts[-1] != len(e.level_token):
        raise ValueError("its levels have no tokens")


def _check_types(e: Ensemble) -> None:
    if any(not isinstance(component, tuple) or len(component) != 4 for component in e.parts):
        raise ValueError("a component is not a name, a first meta-feature, a size and a share")
    if any(type(first) is not int or type(size) is not int for _, first, size, _ in e.parts):
        raise ValueError("a component has no meta-features")
    if any(type(share) not in (int, float) or not 0 <= share <= 1 for *_, share in e.parts):
        raise ValueError("a component has no share")


def _check_components(e: Ensemble) -> None:
    names = [component[0] for component in e.parts]
    if names != [name for name in COMPONENT_ORDER if name in names]:
        raise ValueError("its components are not known ones")
    groups, end = int(e.column_group.max()) + 1, 0
    for name, first, size, _ in e.parts:
        own = len(e.encoded_column) if name == "target_encoding" else 1 if name in SINGLE_FEATURE else groups
        if first != end or size != own:
            raise ValueError("its components do not follow one another")
        end += size
    if ("gaussian" in names) != bool(len(e.score_column)):
        raise ValueError("its Gaussian component and its normal scores do not belong together")
    if ("target_encoding" in names) != bool(len(e.encoded_column)):
        raise ValueError("its target encoding and its encoded columns do not belong together")
    at = e.encoded_column
    if len(at) and (at[0] < 0 or at[-1] >= len(e.column_group) or (np.diff(at) <= 0).any()):
        raise ValueError("the target encoding is of other columns")


def _check_chains(e: Ensemble, d: int) -> None:
    """Chains with a child come first, those of all columns together; then the class trees."""
    n, trees = len(e.child), int((e.child < 0).sum())
    shares = e.chain_share
    if e.chain_feature.shape != (n,) or shares.shape != (n,) or not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError("its chains have no meta-features or shares")
    with_child = n - trees
    if (e.child[:with_child] < 0).any() or with_child % d:
        raise ValueError("its chains are not of all columns in turn")
    blocks = with_child // d
    if (e.binning_column[e.child[:with_child]] != np.tile(np.arange(d), blocks)).any():
        raise ValueError("its chains are not of all columns in turn")
    first = {component.name: component.first for component in e.components}
    start = (e.chain_feature[:with_child].astype(np.int64) - np.tile(e.column_group, blocks)).reshape(blocks, d)
    wanted = sorted(at for name, at in first.items() if name not in (*SINGLE_FEATURE, "target_encoding"))
    if (start != start[:, :1]).any() or (np.diff(start[:, 0]) < 0).any() or np.unique(start).tolist() != wanted:
        raise ValueError("a chain has no meta-feature")
    if trees and (e.chain_feature[with_child:] != first.get("class_trees", -1) + np.arange(trees)).any():
        raise ValueError("a class tree has no meta-feature")
    if ("class_trees" in first) != (trees > 0):
        raise ValueError("its class trees and its components do not belong together")


def _check_parents(e: Ensemble, n: int) -> None:
    """In the networks (the first n chains) parents are columns of the same network, and there is no cycle."""
    child, parent = e.child[:n], e.parent[: e.parent_start[n]]
    of_edge = np.repeat(np.arange(n), np.diff(e.parent_start[: n + 1]))
    chain = np.full(len(e.binning_column), -1)
    chain[child] = np.arange(n)
    if len(np.unique(child)) != n or (chain[parent] < 0).any():
        raise ValueError("a parent is in no network")
    if (chain[parent] // e.columns != of_edge // e.columns).any():
        raise ValueError("a parent is in another network")
    done = np.zeros(n, dtype=bool)
    while not done.all():
        ready = np.bincount(of_edge, weights=~done[chain[parent]], minlength=n) == 0
        if (ready == done).all():
            raise ValueError("a column is its own ancestor")
        done = ready


def check_statistics(e: Ensemble, s: EnsembleStatistics, K: int) -> None:
    """Raise ValueError unless the counts of chains and the moments fit the layout."""
    chains = s.chains
    if chains.dtype not in (np.uint32, np.float64) or chains.shape != (e.chains.cells, K):
        raise ValueError(f"'chains' is {chains.dtype} of shape {chains.shape}; expected {(e.chains.cells, K)}")
    if chains.dtype == np.float64 and not ((chains >= 0) & (chains <= MAX_WEIGHT)).all():
        raise ValueError("'chains' holds NaN, an infinity or a negative number")
    if not _within(s.sample_weight, MAX_WEIGHT) or not _within(s.gaussian_n, MAX_WEIGHT):
        raise ValueError("a weight is too large")
    top = np.abs(e.score_value).max(initial=0.0) + 1
    largest_scatter = 1e6 * top**2 * (1 + s.gaussian_n.sum())
    if not _within(s.gaussian_mean, 1e3 * top) or not _within(s.gaussian_scatter, largest_scatter):
        raise ValueError("the moments of the Gaussian component are not of its scores")


def _within(a: Array, most: float) -> bool:
    return bool((np.abs(a) <= most).all())
