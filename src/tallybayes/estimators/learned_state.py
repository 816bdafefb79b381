"""LearnedState: a `Fitted`, and what was made of it for prediction."""

from __future__ import annotations

from tallybayes.model.fast_row import FastRow
from tallybayes.model.fitted import Fitted
from tallybayes.model.forgotten_levels import without_forgotten
from tallybayes.model.predictor import Predictor


class LearnedState:
    """What was learned, and what was made of it: with parameters, compiled, opened for single rows."""

    def __init__(self, fitted: Fitted, estimated: Fitted | None = None) -> None:
        self.fitted, self.estimated = fitted, estimated
        self.plain = fitted.schema.expansion is None and not fitted.schema.extra  # rows are read as they are given
        self.predictor: Predictor | None = None
        self.fast_row: FastRow | str | None = None  # a text: why there is none; None: not tried yet
        self.stale = False  # memory='rows': other rows are kept than these statistics are of

    def close_fast_path(self) -> None:
        """Rows that come without the lock have to take it from now on: there is more to do than to learn them."""
        if isinstance(self.fast_row, FastRow):
            self.fast_row.let_in(False)

    def flush_fast_path(self) -> None:
        """Takes over the rows that the fast path has learned; it stays open."""
        if isinstance(self.fast_row, FastRow):
            fitted = self.fast_row.catch_up(self.fitted)
            if fitted is not self.fitted:
                left = without_forgotten(fitted, self.fitted)
                if left is not fitted:  # codes have moved: the fast path is made anew
                    self.close_fast_path()
                    self.fast_row = None
                self.fitted, self.estimated, self.predictor = left, None, None
