"""Rows judged without themselves by a distribution whose columns do not know of each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.distributions.base import Array, Context, Distribution, Params, Stats, dense_left_out
from tallybayes.encode import Data, Numbers, Sparse

LONE = 1 << 18  # values that are left out at a time, times the classes


def left_out_by_column(
    self: Distribution,
    data: Data,
    y: NDArray[np.int32],
    unit: NDArray[np.float64],
    s: Stats,
    p: Params,
    context: Context,
    alone: Callable[[Array, Array], Stats],
    log: Callable[[Array, Params], Array],
) -> Array:
    """`left_out` where columns do not know of each other: each value is a column of a table of one row, and all of
    them are estimated at once without their rows. alone(x, weight): the sums of values x (d · rows,) that weigh
    (K, d · rows); log(x, p): log p of each, 0 for one that is missing."""
    if isinstance(data, Sparse):
        return dense_left_out(self, data, y, unit, s, p, context)
    assert isinstance(data, Numbers)
    out = np.empty((data.n, context.K))
    options: Any = self
    for span, x, weight in _lone_rows(data, y, unit, context.K):
        rows = span.stop - span.start
        less = self.combine({key: _repeated(value, rows) for key, value in s.items()}, alone(x, weight), -1)
        some = replace(options, alpha=_repeated(options.alpha, rows)) if hasattr(self, "alpha") else self
        out[span] = log(x, some.estimate(less, context)).reshape(context.K, -1, rows).sum(axis=1).T
    return out


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


def _repeated(a: Any, rows: int) -> Any:
    """What is given by column, for columns that stand there so many times; a number for all stays one."""
    return np.repeat(np.asarray(a), rows, axis=-1) if np.ndim(a) else a
