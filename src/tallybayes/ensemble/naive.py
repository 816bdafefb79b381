"""Naive Bayes on finer bins: back-off chains without parents, averaged over a few binnings.

Its stacking weights may be negative: it offsets what the networks say of the same column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tallybayes.ensemble.networks import bin_turns

if TYPE_CHECKING:
    from tallybayes.ensemble.layout import Draft

MDL_SHARE = 0.5  # of the columns whose bins are cut by minimum description length


def add_naive(draft: Draft) -> None:
    """Lay out the chains of single columns."""
    count, seed = draft.recipe.naive, draft.DESIGN + 2
    if not count:
        return
    turn = bin_turns(count, draft.columns.d, np.random.default_rng(seed))
    maps, bins = draft.columns.draw_bins(turn, draft.recipe.naive_bins, MDL_SHARE, seed)
    component = draft.add_component("naive", draft.groups, 0.0 if draft.components else 1.0)
    own = draft.bin_all(maps, bins).ravel()
    feature = np.tile(component.first + draft.column_group, count)
    draft.chains.add(own, own[:0], np.zeros(len(own)), feature, 1 / count)
