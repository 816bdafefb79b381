"""The first network of an ensemble as a generative model: rows are drawn along it, and it says how likely they are."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Coded
from tallybayes.distributions.networks.family_sampling import draw as draw_levels
from tallybayes.ensemble.ensemble_statistics import EnsembleParams
from tallybayes.errors import OptionError
from tallybayes.utils.array_types import Array

if TYPE_CHECKING:
    from tallybayes.ensemble.ensemble_distribution import Ensemble


def log_density(ensemble: Ensemble, p: EnsembleParams, data: Coded) -> Array:
    """(rows, classes): log P of each row's bins along the network, and of its levels within them."""
    d = ensemble.columns
    scale = (np.arange(len(ensemble.plane)) < d).astype(np.float64)
    one = _core.ChainPlanes(1, np.zeros(len(scale), dtype=np.int32), scale)
    within = [_within(ensemble, p, i) for i in range(d)]
    logs = _shares(ensemble, p)
    out = np.empty((data.n, p.K))
    for span, codes, _ in p.packed(data):
        out[span] = np.asarray(ensemble.chains.terms(logs, codes, one)[0])
        for j, logs in within:
            out[span] += logs[np.minimum(codes[j], len(logs) - 1)]
    return out


def _shares(ensemble: Ensemble, p: EnsembleParams) -> Array:
    """The logs with those of the network summing to 1 over the bins, where back-off leaves them near it."""
    if ensemble.smoothing != "backoff":
        return p.logs
    out, starts = p.logs.copy(), ensemble.log_starts(ensemble.columns).tolist()
    for i, (first, end) in enumerate(itertools.pairwise(starts)):
        own = out[first:end].reshape(-1, int(ensemble.view_bins[ensemble.child[i]]), p.K)
        own -= np.log(np.exp(own).sum(axis=1, keepdims=True))
    return out


def _within(ensemble: Ensemble, p: EnsembleParams, i: int) -> tuple[int, Array]:
    """The column of chain i, and (levels + 1, classes): log P(level | its bin, class), 0 for what is missing."""
    view = int(ensemble.child[i])
    j = int(ensemble.view_column[view])
    counts, of_bin = _levels(ensemble, p, j, view)
    out = np.zeros((counts.shape[1] + 1, len(counts)))
    for b in np.unique(of_bin[of_bin < 255]).tolist():
        own = np.flatnonzero(of_bin == b)
        share = counts[:, own] + 1.0 / len(own)  # one row, spread evenly
        out[own] = np.log(share / share.sum(axis=1, keepdims=True)).T
    return j, out


def _levels(ensemble: Ensemble, p: EnsembleParams, j: int, view: int) -> tuple[Array, Array]:
    """(classes, levels): the counts of column j; and the bin of each level, 255 for one that came later."""
    size, first = int(p.sizes[j]), int(p.sizes[:j].sum())
    of_bin = ensemble.view_map[ensemble.view_start[view] : ensemble.view_start[view + 1] - 1]
    of_bin = np.pad(of_bin, (0, max(0, size - len(of_bin))), constant_values=255)[:size]
    return p.single[:, first : first + size], of_bin


def draw(ensemble: Ensemble, p: EnsembleParams, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
    """A level of each column for each row, drawn along the first network: a bin given class and parents, then one of
    its levels as the class has them."""
    d = ensemble.columns
    if not ensemble.networks:
        raise OptionError("A BayesClassifier without networks has no rows to draw: they are its first network's.")
    of_column = {int(ensemble.view_column[ensemble.child[i]]): i for i in range(d)}
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
    v = int(ensemble.view_bins[ensemble.child[i]])
    cell, cells = np.zeros(len(y), dtype=np.intp), 1
    for view in parents:
        cell = cell * int(ensemble.view_bins[view]) + bins[view]
        cells *= int(ensemble.view_bins[view])
    end = int(ensemble.log_starts(i + 1)[-1])
    table = p.logs[end - cells * v : end].reshape(cells, v, -1).astype(np.float64)
    return draw_levels(table, np.ones(v, dtype=bool), cell, y, rng)


def _draw_level(
    ensemble: Ensemble, p: EnsembleParams, j: int, view: int, bins: dict[int, Array], y: Array, rng: np.random.Generator
) -> Array:
    """One of the levels of a bin, as the class has them; −1, missing, if the bin is that of missing values."""
    counts, of_bin = _levels(ensemble, p, j, view)
    counts = counts + 1e-9 * p.exist[j]
    out = np.full(len(y), -1, dtype=np.int64)
    for b in range(int(ensemble.view_bins[view])):
        rows, share = np.flatnonzero(bins[view] == b), counts * (of_bin == b)
        if len(rows) and share.sum() > 0:
            steps = np.cumsum(share, axis=1)[y[rows]]
            out[rows] = (rng.random(len(rows))[:, None] * steps[:, -1:] >= steps).sum(axis=1)
    return np.asarray(np.minimum(out, counts.shape[1] - 1))
