"""Scores that differ by rounding alone, since their terms were added in another order: that of the rows."""

from __future__ import annotations

import numpy as np

from tallybayes.utils.array_types import Floats

ROUNDING = 1e-12  # relative to the largest, or to 1


def level_ties(scores: Floats) -> Floats:
    """The scores, with one value for those that are the same up to rounding, so that a tie goes to the first."""
    ordered, place = np.unique(scores, return_inverse=True)
    if not len(ordered):
        return scores
    finite = np.abs(ordered[np.isfinite(ordered)])
    with np.errstate(invalid="ignore"):  # infinities are not near each other
        new = ~(np.diff(ordered) <= ROUNDING * max(1.0, finite.max(initial=0.0)))
    first = np.maximum.accumulate(np.where(np.append(True, new), np.arange(len(ordered)), 0))
    return np.asarray(ordered[first][place].reshape(scores.shape))
