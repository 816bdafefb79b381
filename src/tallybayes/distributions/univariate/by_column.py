"""ByColumn: a distribution of numbers whose columns are independent, with its leave-one-out log-likelihood."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.encoding import Data, Numbers, Sparse
from tallybayes.distributions.base import Distribution
from tallybayes.distributions.context import Context, P, S
from tallybayes.distributions.sparse_blocks import dense_leave_one_out
from tallybayes.distributions.statistics import map_arrays
from tallybayes.utils.array_types import Array

LONE = 1 << 18  # values that are removed at a time, times the classes


class ByColumn(Distribution[S, P]):
    """A distribution of numbers whose statistics have the columns as their last axis.

    In `leave_one_out` each value is a column of a table of one row, and all of them are estimated at once without their
    rows.
    """

    @abstractmethod
    def statistics_of_one(self, x: Array, weight: Array) -> S:
        """Count values, each in a column of its own."""

    @abstractmethod
    def log_of_one(self, x: Array, p: P) -> Array:
        """Return log p of values, each in a column of its own."""

    def repeated(self, rows: int) -> Self:  # noqa: ARG002
        """Make the same options for a table in which each column stands several times."""
        return self

    def leave_one_out(
        self, data: Data, y: NDArray[np.int32], unit: NDArray[np.float64], s: S, p: P, context: Context
    ) -> Array:
        if isinstance(data, Sparse):
            return dense_leave_one_out(self, data, y, unit, s, p, context)
        assert isinstance(data, Numbers)
        out = np.empty((data.n, context.K))
        for span, found in self._spans_leave_one_out(data, y, unit, s, context):
            out[span] = found.sum(axis=1).T
        return out

    def leave_one_out_columns(
        self, data: Numbers, y: NDArray[np.int32], unit: NDArray[np.float64], s: S, context: Context
    ) -> Array:
        """Return what `leave_one_out` sums, column by column."""
        out = np.empty((data.d, data.n, context.K))
        for span, found in self._spans_leave_one_out(data, y, unit, s, context):
            out[:, span] = found.transpose(1, 2, 0)
        return out

    def _spans_leave_one_out(
        self, data: Numbers, y: NDArray[np.int32], unit: NDArray[np.float64], s: S, context: Context
    ) -> Iterator[tuple[slice, Array]]:
        """Spans of rows, and log P(x_j | class) of each, leave-one-out: (K, columns, rows)."""
        K = len(context.class_weight)
        for span, x, weight in _lone_rows(data, y, unit, K):
            rows = span.stop - span.start
            whole = map_arrays(s, partial(np.repeat, repeats=rows, axis=-1))
            less = self.combine(whole, self.statistics_of_one(x, weight), -1)
            found = self.log_of_one(x, self.repeated(rows).estimate(less, context))
            yield span, found.reshape(K, -1, rows)


def _lone_rows(
    data: Numbers, y: NDArray[np.int32], unit: NDArray[np.float64], K: int
) -> Iterator[tuple[slice, Array, Array]]:
    """Spans of rows, their values one after the other with the rows fastest, and the weight that each takes with it."""
    step = max(1, LONE // max(1, K * data.d))
    for first in range(0, data.n, step):
        span = slice(first, min(first + step, data.n))
        x = data.block(span)
        weight = np.zeros((K, *x.shape))
        rows = np.arange(x.shape[1])
        weight[y[span], :, rows] = np.where(np.isnan(x), 0.0, unit[span]).T
        yield span, x.ravel(), weight.reshape(K, -1)
