"""Sparse rows for distributions that read dense numbers: block by block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Sparse
from tallybayes.distributions.base import Distribution
from tallybayes.distributions.capabilities import LeaveOneOut
from tallybayes.distributions.context import Context, P, S, Weights
from tallybayes.utils.array_types import Array


def dense_sum(d: Distribution[S, P], data: Sparse, y: NDArray[np.int32], w: Weights, K: int) -> S:
    """The statistics of sparse rows for a distribution that reads dense numbers: block by block."""
    total: S | None = None
    for span, block in data.dense_blocks():
        with rows_from(span.start):
            part = d.add(block, y[span], None if w is None else w[span], K)
        total = part if total is None else d.combine(total, part)
    assert total is not None
    return total


def dense_scores(d: Distribution[S, P], scorer: _core.Scorer, data: Sparse, p: P, K: int) -> None:
    """Adds the scores of sparse rows for a distribution that reads dense numbers: block by block."""
    terms = np.empty((data.n, K))
    for span, block in data.dense_blocks():
        part = _core.Scorer(block.n, np.zeros(K))
        with rows_from(span.start):
            d.score(part, block, p)
            terms[span] = part.joint()
    scorer.added(terms)


def dense_leave_one_out(
    d: LeaveOneOut,
    data: Sparse,
    y: NDArray[np.int32],
    unit: NDArray[np.float64],
    s: object,
    p: object,
    context: Context,
) -> Array:
    """leave_one_out of sparse rows for a distribution that reads dense numbers: block by block."""
    out = np.empty((data.n, context.K))
    for span, block in data.dense_blocks():
        out[span] = d.leave_one_out(block, y[span], unit[span], s, p, context)
    return out


@contextmanager
def rows_from(first: int) -> Iterator[None]:
    """A value refused in a block of rows is at another row of the table."""
    try:
        yield
    except _core.BadValue as e:
        kind, row, col, value = e.args
        raise _core.BadValue(kind, row + first, col, value) from None
