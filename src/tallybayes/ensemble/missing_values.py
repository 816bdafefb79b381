"""Cells that are missing where an ensemble never met a gap: they say nothing.

The weights and biases were found on whole rows. Where half of the row is missing, the biases balance evidence that is
not there, and a column that weighs little because others repeat it has lost the others. The mean of the networks needs
no weights: each is a model by itself, and leaves out what is missing. So the score of a row with gaps is
    t · (its weighted score) + (1 − t) · (the mean of the networks),        t = (known − 1) / (columns − 1):
for a single known cell its log P(x | class), since there is no other to share its evidence with; for none the prior.
A column with gaps among the first rows has a bin for them, and is always known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions.exported import Json
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from tallybayes.ensemble.ensemble_distribution import Ensemble

NO_BIN = 255


@dataclass(frozen=True, eq=False)
class _PartialRows:
    """Which rows have such gaps, (columns, these rows): where, and t of each."""

    rows: NDArray[np.intp]
    gaps: NDArray[np.bool_]
    trust: Floats

    def blend(self, weighted: Floats, alone: Floats) -> Floats:
        """The two, rows first. What is not trusted at all may be anything, −∞ too."""
        t = self.trust.reshape(-1, *[1] * (weighted.ndim - 1))
        return np.where(t == 0, 0.0, weighted) * t + (1 - t) * alone

    def without_gaps(self, own: Floats) -> Floats:
        """(rows, columns + 1, classes): what columns add, and last what none does, which has what gaps would add."""
        gaps = self.gaps.T[:, :, None]
        out = own.copy()
        out[:, -1] += np.where(gaps, own[:, :-1], 0.0).sum(axis=1)
        out[:, :-1][np.broadcast_to(gaps, out[:, :-1].shape)] = 0.0
        return out


@dataclass(frozen=True, eq=False)
class Gaps:
    """whole: the columns that had no gap when bins were drawn; columns: how many have bins at all. alone: what
    the term of each chain is multiplied by in the mean of the networks, or of naive Bayes where there are none."""

    whole: NDArray[np.bool_]
    columns: int
    alone: Floats

    def partial(self, codes: Array) -> _PartialRows | None:
        """Find the rows that miss a value where no gap was learned.

        Parameters
        ----------
        codes : ndarray of shape (columns, n)
            Packed codes.

        Returns
        -------
        _PartialRows or None
            None where no row has such a gap.
        """
        top = np.iinfo(codes.dtype).max
        if codes.max(initial=0) < top:
            return None
        gaps = (codes == top) & self.whole[:, None]
        missing = gaps.sum(axis=0)
        rows = np.flatnonzero(missing)
        if not len(rows):
            return None
        known = self.columns - missing[rows]
        return _PartialRows(rows, gaps[:, rows], np.maximum(known - 1, 0) / max(self.columns - 1, 1))

    def scores(self, ensemble: Ensemble, logs: Array, codes: Array) -> Floats:
        """Give log P(x | class) by the networks alone.

        Parameters
        ----------
        ensemble : Ensemble
            Whose networks.
        logs : ndarray
            The logarithms of its chains.
        codes : ndarray of shape (columns, n)
            Packed codes.

        Returns
        -------
        ndarray of shape (n, K)
            The mean of the networks.
        """
        one = _core.ChainPlanes(1, np.zeros(len(self.alone), dtype=np.int32), self.alone)
        return np.asarray(ensemble.chains.terms(logs, np.ascontiguousarray(codes), one)[0])

    def by_column(self, ensemble: Ensemble, logs: Array, codes: Array) -> Floats:
        """Give the same, column by column.

        Parameters
        ----------
        ensemble : Ensemble
            Whose networks.
        logs : ndarray
            The logarithms of its chains.
        codes : ndarray of shape (columns, n)
            Packed codes.

        Returns
        -------
        ndarray of shape (n, columns + 1, K)
            The last, which belongs to no column, is nothing.
        """
        d = ensemble.columns
        where = np.where(ensemble.child < 0, d, ensemble.view_column[ensemble.child]).astype(np.int32)
        planes = _core.ChainPlanes(d + 1, where, self.alone)
        found = np.asarray(ensemble.chains.terms(logs, np.ascontiguousarray(codes), planes))
        return np.ascontiguousarray(found.transpose(1, 0, 2))

    def export(self, more: int) -> Json:
        """Give what it reads as plain values.

        Parameters
        ----------
        more : int
            How many chains there are after those of the ensemble, which say nothing here.

        Returns
        -------
        JSON values
            For other programs.
        """
        whole = np.flatnonzero(self.whole).tolist()
        return {"whole": whole, "columns": self.columns, "alone": self.alone.tolist() + [0.0] * more}


def gaps_of(e: Ensemble) -> Gaps | None:
    """None for an ensemble that has nothing but contexts, levels or a Gaussian part."""
    d = e.columns
    first = e.child[:d]
    if len(first) < d or (first < 0).any():
        return None
    missing, levels = e.view_map[e.view_start[first + 1] - 1], np.diff(e.view_start)[first] - 1
    networks = e.networks * d or int((e.child >= 0).sum())
    alone = np.where(np.arange(len(e.child)) < networks, e.share, 0.0)
    return Gaps(
        (missing == NO_BIN) & (levels > 0),  # an ignored column has no levels
        int(((missing != NO_BIN) | (levels > 0)).sum()),
        alone * (e.trust * d / max(alone.sum(), 1e-300)),
    )
