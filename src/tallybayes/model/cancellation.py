"""Sums of squares of which forgetting left few digits: an outlier had nearly all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tallybayes.distributions.capabilities import SumsOfSquares, capability

if TYPE_CHECKING:
    from tallybayes.model.fitted import Fitted

LEFT = 1e-8  # of a sum of squares: what is left of less is known to fewer than 8 digits


def cancelled_columns(before: Fitted, left: Fitted) -> list[str]:
    """The columns whose variance, in some class with more than one row, is what remains of one at least 1 / LEFT times
    as large."""
    found: list[str] = []
    known = [before.classes.tolist().index(label) for label in left.classes.tolist()]
    for old, new in zip(before.terms, left.terms, strict=True):
        sums = capability(new.distribution, SumsOfSquares)
        if sums is None:
            continue
        (_, had), (n, has) = sums.sums_of_squares(old.statistics), sums.sums_of_squares(new.statistics)
        had = had if len(had) == len(has) == 1 else had[known]
        lost = (n > 1) & (has < LEFT * had)
        found += [before.schema.name(new.columns[j]) for j in np.flatnonzero(lost.any(axis=0)).tolist()]
    return found
