"""Is what a file says an Ensemble? Whoever asks one relies on all of this."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tallybayes.ensemble.ensemble_distribution import Ensemble
    from tallybayes.ensemble.ensemble_statistics import EnsembleStatistics
    from tallybayes.utils.array_types import Array

ARRAYS = {
    "view_column": np.int32, "view_start": np.int64, "view_map": np.uint8, "view_bins": np.int32, "child": np.int32,
    "parent": np.int32, "parent_start": np.int64, "plane": np.int32, "share": np.float64, "plane_of": np.int32,
    "level_column": np.int32, "z_column": np.int32, "z_start": np.int64, "z_value": np.float64,
    "number": np.int32,
}  # fmt: skip
NAMES = (
    "networks",
    "uniform_networks",
    "naive",
    "class_trees",
    "target_encoding",
    "neighbors",
    "gaussian",
)  # of parts, in the order in which they come
ALONE = ("class_trees", "neighbors", "gaussian")  # have one plane
MOST = 1e260  # weight
FAR = 1e3  # standard deviations


def choices(e: Ensemble, d: int) -> None:
    """Raises ValueError unless these are chains of d columns, in the order and planes that members.py gives them."""
    for key, kind in ARRAYS.items():
        value = getattr(e, key)
        if not isinstance(value, np.ndarray) or value.dtype != kind or value.ndim != 1:
            raise ValueError(f"{key!r} is no list of {np.dtype(kind)}")
    if e.columns != d or e.plane_of.shape != (d,) or e.plane_of.min() < 0 or e.plane_of.max() >= d:
        raise ValueError("its choices are for other columns")
    _parts(e)
    _ = e.chains  # checks views, children and parents
    _planes(e, d)
    _parents(e, e.networks * d)
    e.line.check(d)
    if len(e.number) and (e.number[0] < 0 or e.number[-1] >= d or (np.diff(e.number) <= 0).any()):
        raise ValueError("'number' names other columns")
    if np.abs(e.z_value).max(initial=0.0) > FAR:
        raise ValueError("the Gaussian part has numbers that are too far away")


def _forms(e: Ensemble) -> None:
    if any(not isinstance(part, tuple) or len(part) != 4 for part in e.parts):
        raise ValueError("a part is not a name, a plane, a number of planes and a share")
    if any(type(first) is not int or type(planes) is not int for _, first, planes, _ in e.parts):
        raise ValueError("a part has no planes")
    if any(type(centre) not in (int, float) or not 0 <= centre <= 1 for *_, centre in e.parts):
        raise ValueError("a part has no share")


def _parts(e: Ensemble) -> None:
    _forms(e)
    names = [part[0] for part in e.parts]
    if names != [name for name in NAMES if name in names]:
        raise ValueError("its parts are not known ones")
    width, end = int(e.plane_of.max()) + 1, 0
    for name, first, planes, _ in e.parts:
        own = len(e.level_column) if name == "target_encoding" else 1 if name in ALONE else width
        if first != end or planes != own:
            raise ValueError("its parts do not follow one another")
        end += planes
    if ("gaussian" in names) != bool(len(e.z_column)):
        raise ValueError("it has a Gaussian part, or has none")
    if ("target_encoding" in names) != bool(len(e.level_column)):
        raise ValueError("it has a part of levels, or has none")
    at = e.level_column
    if len(at) and (at[0] < 0 or at[-1] >= len(e.plane_of) or (np.diff(at) <= 0).any()):
        raise ValueError("the part of levels is of other columns")


def _planes(e: Ensemble, d: int) -> None:
    """Chains of children come first, those of all columns together; then the contexts."""
    n, contexts = len(e.child), int((e.child < 0).sum())
    if e.plane.shape != (n,) or e.share.shape != (n,) or not ((e.share >= 0) & (e.share <= 1)).all():
        raise ValueError("its chains have no planes or shares")
    of_children = n - contexts
    if (e.child[:of_children] < 0).any() or of_children % d:
        raise ValueError("its chains are not of all columns in turn")
    blocks = of_children // d
    if (e.view_column[e.child[:of_children]] != np.tile(np.arange(d), blocks)).any():
        raise ValueError("its chains are not of all columns in turn")
    first = {part.name: part.first for part in e.named_parts}
    start = (e.plane[:of_children].astype(np.int64) - np.tile(e.plane_of, blocks)).reshape(blocks, d)
    wanted = sorted(at for name, at in first.items() if name not in (*ALONE, "target_encoding"))
    if (start != start[:, :1]).any() or (np.diff(start[:, 0]) < 0).any() or np.unique(start).tolist() != wanted:
        raise ValueError("a chain is in no plane")
    if contexts and (e.plane[of_children:] != first.get("class_trees", -1) + np.arange(contexts)).any():
        raise ValueError("a context is in no plane")
    if ("class_trees" in first) != (contexts > 0):
        raise ValueError("it has contexts, or has none")


def _parents(e: Ensemble, n: int) -> None:
    """In the networks, the first n chains, parents are other columns of the same network, and nothing is its own
    ancestor."""
    child, parent = e.child[:n], e.parent[: e.parent_start[n]]
    of_edge = np.repeat(np.arange(n), np.diff(e.parent_start[: n + 1]))
    chain = np.full(len(e.view_column), -1)
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


def sums(e: Ensemble, s: EnsembleStatistics, K: int) -> None:
    """Raises ValueError unless the counts of chains and the moments are such."""
    chains = s.chains
    if chains.dtype not in (np.uint32, np.float64) or chains.shape != (e.chains.cells, K):
        raise ValueError(f"'chains' is {chains.dtype} of shape {chains.shape}; expected {(e.chains.cells, K)}")
    if chains.dtype == np.float64 and not ((chains >= 0) & (chains <= MOST)).all():
        raise ValueError("'chains' holds NaN, an infinity or a negative number")
    if not _within(s.row_weight, MOST) or not _within(s.z_n, MOST):
        raise ValueError("a weight is too large")
    top = np.abs(e.z_value).max(initial=0.0) + 1
    if not _within(s.z_mean, 1e3 * top) or not _within(s.z_scatter, 1e6 * top**2 * (1 + s.z_n.sum())):
        raise ValueError("the moments of the Gaussian part are not of its numbers")


def _within(a: Array, most: float) -> bool:
    return bool((np.abs(a) <= most).all())
