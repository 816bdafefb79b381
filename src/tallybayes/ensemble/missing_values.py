"""Missing values in columns that were complete when the layout was chosen: they carry no information.

The stacking weights and biases were fitted on complete rows. Where half of a row is missing, the biases offset evidence
that is not there, and a column with a small weight, because another repeats it, has lost the other. The mean of the
networks needs no weights: each network is a model by itself and leaves out what is missing. Such a row has the score
    t · (stacked score) + (1 − t) · (mean of the networks),        t = (known − 1) / (columns − 1):
log P(x | class) for a single known value, the prior for none. A column with missing values in the first batch has a bin
for them, and so always counts as known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions.context import Json
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from tallybayes.ensemble.ensemble_distribution import Ensemble

NO_BIN = 255  # a row without this value takes no part; kNoBin in cpp/core/ensemble/bins.hpp


@dataclass(frozen=True, eq=False)
class IncompleteRows:
    """rows: which; missing: (columns, these rows); stack_share: t of each."""

    rows: NDArray[np.intp]
    missing: NDArray[np.bool_]
    stack_share: Floats

    def blend(self, stacked: Floats, networks: Floats) -> Floats:
        """The mixture of both, rows first; where t = 0 the stacked score may be anything, −∞ too."""
        t = self.stack_share.reshape(-1, *[1] * (stacked.ndim - 1))
        return np.where(t == 0, 0.0, stacked) * t + (1 - t) * networks

    def without_missing(self, own: Floats) -> Floats:
        """(rows, columns + 1, classes): what missing columns would add moves to the last entry."""
        missing = self.missing.T[:, :, None]
        out = own.copy()
        out[:, -1] += np.where(missing, own[:, :-1], 0.0).sum(axis=1)
        out[:, :-1][np.broadcast_to(missing, out[:, :-1].shape)] = 0.0
        return out


@dataclass(frozen=True, eq=False)
class MissingRule:
    """complete: columns without missing values at layout; ignored: columns without bins; columns: how many have bins;
    weights: of each chain in the mean of the networks, or of naive Bayes where there are none."""

    complete: NDArray[np.bool_]
    ignored: NDArray[np.bool_]
    columns: int
    weights: Floats

    def incomplete(self, codes: Array) -> IncompleteRows | None:
        """The rows of packed codes (columns, rows) that miss a value in a complete column; None for none."""
        missing = (codes == np.iinfo(codes.dtype).max) & self.complete[:, None]
        count = missing.sum(axis=0)
        rows = np.flatnonzero(count)
        if not len(rows):
            return None
        known = self.columns - count[rows]
        return IncompleteRows(rows, missing[:, rows], np.maximum(known - 1, 0) / max(self.columns - 1, 1))

    def scores(self, ensemble: Ensemble, logs: Array, codes: Array) -> Floats:
        """(rows, classes): log P(x | class), the mean of the networks."""
        one = _core.ChainOutputs(1, np.zeros(len(self.weights), dtype=np.int32), self.weights)
        return np.asarray(ensemble.chains.terms(logs, np.ascontiguousarray(codes), one)[0])

    def by_column(self, ensemble: Ensemble, logs: Array, codes: Array) -> Floats:
        """(rows, columns + 1, classes): the same by column; the last entry, of no column, is 0."""
        d = ensemble.columns
        where = np.where(ensemble.child < 0, d, ensemble.binning_column[ensemble.child]).astype(np.int32)
        found = np.asarray(
            ensemble.chains.terms(logs, np.ascontiguousarray(codes), _core.ChainOutputs(d + 1, where, self.weights))
        )
        return np.ascontiguousarray(found.transpose(1, 0, 2))

    def export(self, used: NDArray[np.intp], more: int) -> Json:
        """As exports hold it, of the chains in use; more: chains after those, which have no weight here."""
        complete = np.flatnonzero(self.complete).tolist()
        return {"complete": complete, "columns": self.columns, "weights": self.weights[used].tolist() + [0.0] * more}


def missing_rule(e: Ensemble) -> MissingRule | None:
    """None for an ensemble without networks and naive Bayes."""
    d = e.columns
    first = e.child[:d]
    if len(first) < d or (first < 0).any():
        return None
    missing, levels = e.binning_map[e.binning_start[first + 1] - 1], np.diff(e.binning_start)[first] - 1
    networks = e.networks * d or int((e.child >= 0).sum())
    weights = np.where(np.arange(len(e.child)) < networks, e.chain_share, 0.0)
    return MissingRule(
        (missing == NO_BIN) & (levels > 0),  # an ignored column has no levels
        (missing == NO_BIN) & (levels == 0),
        int(((missing != NO_BIN) | (levels > 0)).sum()),
        weights * (e.weight * e.halves[0] * d / max(weights.sum(), 1e-300)),
    )
