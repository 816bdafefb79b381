"""Fading: what was learned counts less, at once or a little with every row that comes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np

from tallybayes.data.target import Target
from tallybayes.errors import OptionError, brief, is_number
from tallybayes.estimators.model import Model
from tallybayes.model.fast_row import FastRow
from tallybayes.model.fitted import GONE, Fitted


class Fades(Model):
    """decay, and half_life where it is a parameter."""

    half_life: float | None = None

    if TYPE_CHECKING:

        def _again(self) -> Fitted: ...

        def _require_adding(self) -> None: ...

    def _check_options(self) -> None:
        super()._check_options()
        rows = self.half_life
        if rows is not None and (not is_number(rows) or rows < 1):
            raise OptionError(f"half_life must be None or a number of rows of at least 1; got {brief(rows)}.")

    def decay(self, factor: float) -> Self:
        """Make everything learned so far count less, for streams that drift.

        Parameters
        ----------
        factor : float
            Above 0 and at most 1: how many times as much each row counts from now on.

        Returns
        -------
        self : estimator
            The same model, with less weight. A class of which less than 1e-250 rows are left has none.

        See Also
        --------
        learn_one : With ``half_life`` set, where that is a parameter, every row makes those before it fade.
        """
        self._require_fit()
        if not (type(factor) is float or is_number(factor)) or not 0 < factor <= 1:  # a stream may do so at each row
            raise OptionError(f"factor must be above 0 and at most 1; got {brief(factor)}.")
        with self._learning():
            self._require_adding()
            fast_row = self._held.fast_row
            if type(fast_row) is FastRow and fast_row.decay(float(factor)):
                self._drop_left_out()
            else:
                self._keep(self._again().scale(float(factor)))
        return self

    def _aged(self, target: Target) -> tuple[Target, float]:
        """Rows in their order, each with what is left of it when the last has come; and what is left of all before."""
        if self.half_life is None:
            return target, 1.0
        there = target.y >= 0
        left = np.exp2((np.cumsum(there) - there.sum()) / float(self.half_life))
        w = left if target.w is None else target.w * left
        y = np.where(there & (w >= GONE), target.y, -1).astype(np.int32)
        return replace(target, y=y, w=w), float(np.exp2(-there.sum() / float(self.half_life)))

    def _require_no_order(self) -> None:
        """Raises OptionError if rows fade: then their order counts, and parts that are counted apart have none."""
        if self.half_life is not None:
            raise OptionError(
                "Rows that fade (half_life) are learned in their order, and rows counted in parts have none. Learn "
                "them with fit, partial_fit, learn_batches or learn_one, or set half_life=None."
            )
