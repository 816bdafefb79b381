"""P(level | class) of one column, as the components see it: for the information of a column about the class.

A number has up to 255 levels, most of which few rows of a class have, so Laplace's estimate of each is far too even
between many classes and far too uneven between few. Bins are counted often enough: the shape within a class comes from
the chains of the column, without their parents, or from its target encoding,
    P(v | c) ∝ P(v) exp(mean over chains of log P(bin of v | c) / P(bin of v)).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tallybayes.distributions.univariate.categorical import split
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from tallybayes.ensemble.ensemble_distribution import Ensemble
    from tallybayes.ensemble.ensemble_statistics import EnsembleParams


def outcomes(ensemble: Ensemble, p: EnsembleParams, j: int) -> Array:
    """(levels, classes): log P(level | class) of the levels of column j that exist."""
    here = p.exist[j]
    lift = _lift(ensemble, p, j)
    if lift is None:  # no component counts bins of columns
        return np.asarray(split(p.log.T, p.sizes)[j].T[here])
    end = int(p.sizes[: j + 1].sum())
    weight = p.single[:, end - int(p.sizes[j]) : end].sum(axis=0)[here]
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = np.log(weight / weight.sum())[:, None] + lift[here]
        joint -= np.logaddexp.reduce(joint, axis=0)
    return np.where(np.isnan(joint), -np.inf, joint)


def _lift(ensemble: Ensemble, p: EnsembleParams, j: int) -> Floats | None:
    """(levels, classes): log P(level | class) / P(level), or None."""
    encoded = np.flatnonzero(ensemble.encoded_column == j)
    if p.target_encoding is not None and len(encoded):
        table = np.asarray(p.target_encoding.tables[int(encoded[0])], dtype=np.float64)
        return table[: int(p.sizes[j])]
    binning = np.where(ensemble.child < 0, -1, ensemble.binning_column[ensemble.child])
    chains = np.flatnonzero(binning == j)
    if not len(chains):
        return None
    share = (p.class_weight / max(float(p.class_weight.sum()), 1e-300))[None, :]
    out, starts = np.zeros((int(p.sizes[j]), p.K)), ensemble.log_starts(int(chains[-1]) + 1)
    for i in chains.tolist():
        v = int(ensemble.child[i])
        bins, first = int(ensemble.binning_bins[v]), int(starts[i])
        log = p.logs[first : first + bins].astype(np.float64)  # of the chain without parents
        with np.errstate(divide="ignore"):
            own = log - np.log((np.exp(log) * share).sum(axis=1, keepdims=True))
        of_level = ensemble.binning_map[ensemble.binning_start[v] : ensemble.binning_start[v + 1] - 1][: len(out)]
        known = of_level < bins
        out[: len(of_level)][known] += own[of_level[known]] / len(chains)
    return out
