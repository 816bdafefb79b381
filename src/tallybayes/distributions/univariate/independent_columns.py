"""Rows judged without themselves by a distribution whose columns do not know of each other."""

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
from tallybayes.distributions.records import map_arrays
from tallybayes.distributions.sparse_blocks import dense_leave_one_out
from tallybayes.utils.array_types import Array

LONE = 1 << 18  # values that are left out at a time, times the classes


class ByColumn(Distribution[S, P]):
    """A distribution of numbers whose sums have the columns as their last axis.

    In `leave_one_out` each value is a column of a table of one row, and all of them are estimated at once without their
    rows.
    """

    @abstractmethod
    def statistics_of_one(self, x: Array, weight: Array) -> S:
        """Count values, each in a column of its own.

        Parameters
        ----------
        x : ndarray of shape (m,)
            The values.
        weight : ndarray of shape (K, m)
            How much each weighs in each class.

        Returns
        -------
        sums
            Of a table of m columns.
        """

    @abstractmethod
    def log_of_one(self, x: Array, p: P) -> Array:
        """Tell log p of values, each in a column of its own.

        Parameters
        ----------
        x : ndarray of shape (m,)
            The values.
        p : params
            Of a table of m columns.

        Returns
        -------
        ndarray of shape (K, m)
            0 for a value that is missing.
        """

    def repeated(self, rows: int) -> Self:  # noqa: ARG002
        """Make the same options for a table in which each column stands several times.

        Parameters
        ----------
        rows : int
            How many times.

        Returns
        -------
        Distribution
            By default itself.
        """
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
        """Tell what `leave_one_out` sums, column by column.

        Parameters
        ----------
        data : Numbers
            Its columns.
        y : ndarray of int32, of shape (n,)
            The class of each row.
        unit : ndarray of shape (n,)
            How much of each row is taken out of its class; 0 leaves the row in.
        s : sums
            The tally of all rows.
        context : Context
            The weight of each class, and the labels behind the codes.

        Returns
        -------
        ndarray of shape (columns, n, K)
            log P(x_j | class), each row by the tally without it.
        """
        out = np.empty((data.d, data.n, context.K))
        for span, found in self._spans_leave_one_out(data, y, unit, s, context):
            out[:, span] = found.transpose(1, 2, 0)
        return out

    def _spans_leave_one_out(
        self, data: Numbers, y: NDArray[np.int32], unit: NDArray[np.float64], s: S, context: Context
    ) -> Iterator[tuple[slice, Array]]:
        """Spans of rows, and log P(x_j | class) of each of them without itself: (K, columns, rows)."""
        for span, x, weight in _lone_rows(data, y, unit, context.K):
            rows = span.stop - span.start
            whole = map_arrays(s, partial(np.repeat, repeats=rows, axis=-1))
            less = self.combine(whole, self.statistics_of_one(x, weight), -1)
            found = self.log_of_one(x, self.repeated(rows).estimate(less, context))
            yield span, found.reshape(context.K, -1, rows)


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
