"""A usual row of a model: medians and modes of the rows that it learned, by its counts of bins and levels."""

from __future__ import annotations

import numpy as np

from tallybayes.data.schema import Cuts
from tallybayes.model.fitted import Fitted
from tallybayes.model.forgotten_levels import level_weights
from tallybayes.utils.array_types import Array


def usual_values(fitted: Fitted) -> dict[int, float | int | None]:
    """By column the median of its numbers or the code of its most frequent level; None where most rows have no value.

    A column that is not counted by bin or level (a text, a number with moments) is left out.
    """
    found: dict[int, float | int | None] = {}
    total = float(fitted.weight.sum())
    for term in fitted.terms:
        for j, weights in level_weights(term).items():
            known = float(weights.sum())
            if fitted.schema.kinds[j] == "text" or known <= 0:
                continue
            if known < total / 2:
                found[j] = None
            elif j in fitted.schema.cuts:
                middle = _median(weights, fitted.schema.cuts[j])
                found |= {} if middle is None else {j: middle}
            elif j in fitted.schema.levels:
                found[j] = int(np.argmax(weights))
    return found


def _median(weights: Array, cuts: Cuts) -> float | None:
    """The median of counted bins, interpolated within its bin."""
    edges = np.array([cuts.low, *cuts.points, cuts.high])
    if len(weights) != len(edges) - 1 or not np.isfinite(edges).all():
        return None
    below = np.cumsum(weights)
    half = below[-1] / 2
    at = int(np.searchsorted(below, half))
    part = 1 - (below[at] - half) / weights[at]
    return float(edges[at] + part * (edges[at + 1] - edges[at]))
