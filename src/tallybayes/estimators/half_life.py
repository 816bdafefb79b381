"""Fading: what was learned counts less, at once or a little with every row that comes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tallybayes.data.target import Target
from tallybayes.errors import OptionError, brief, is_number
from tallybayes.model.fast_row import FastRow
from tallybayes.model.fitted import GONE

if TYPE_CHECKING:
    from tallybayes.estimators.state import ModelState


def check(rows: float | None) -> None:
    """OptionError unless it is a half-life or None."""
    if rows is not None and (not is_number(rows) or rows < 1):
        raise OptionError(f"half_life must be None or a number of rows of at least 1; got {brief(rows)}.")


def decay(model: ModelState, factor: float) -> None:
    """All that was learned counts factor times as much."""
    model._require_fit()
    if not (type(factor) is float or is_number(factor)) or not 0 < factor <= 1:  # a stream may do so at each row
        raise OptionError(f"factor must be above 0 and at most 1; got {brief(factor)}.")
    with model._learning():
        model._require_adding()
        fast_row = model._held.fast_row
        if type(fast_row) is FastRow and fast_row.decay(float(factor)):
            model._drop_left_out()
        else:
            model._keep(model._again().scale(float(factor)))


def aged(target: Target, rows: float | None) -> tuple[Target, float]:
    """Rows in their order, each with what is left of it when the last has come; and what is left of all before."""
    if rows is None:
        return target, 1.0
    there = target.y >= 0
    left = np.exp2((np.cumsum(there) - there.sum()) / float(rows))
    w = left if target.w is None else target.w * left
    y = np.where(there & (w >= GONE), target.y, -1).astype(np.int32)
    return replace(target, y=y, w=w), float(np.exp2(-there.sum() / float(rows)))


def require_no_order(model: ModelState) -> None:
    """OptionError if rows fade: then their order counts, and parts that are counted apart have none."""
    if model.half_life is not None:
        raise OptionError(
            "Rows that fade (half_life) are learned in their order, and rows counted in parts have none. Learn "
            "them with fit, partial_fit or learn_one, or set half_life=None."
        )
