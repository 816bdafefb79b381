"""What each column adds to log P(x | class): the score of a distribution, split without new arithmetic.

Every number here is an answer of `Distribution.score` to a question about fewer columns.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

import numpy as np

from tallybayes import _core
from tallybayes.data.encoding import Coded, Codes, Data, Numbers, Sparse, Texts
from tallybayes.distributions.capabilities import ColumnTerms, IndependentColumns, capability
from tallybayes.errors import OptionError
from tallybayes.utils.array_types import Array

if TYPE_CHECKING:
    from tallybayes.distributions.base import Distribution
    from tallybayes.distributions.context import P, S


def terms(d: Distribution[S, P], data: Data, p: P, K: int) -> Array:
    """(n, columns, K), or one more that belongs to no column: what each adds to log P(x | class).

    log P(x_j | class) where columns are independent given the class; else log P(x_j | x_1 … x_(j−1), class) in the
    order of the columns, with those that follow taken as missing.
    """
    own = capability(d, ColumnTerms)
    if own is not None:
        return own.terms(data, p, K)
    if isinstance(data, Sparse):
        parts = [terms(d, block, p, K) for _, block in data.dense_blocks()]
        return np.concatenate(parts) if parts else np.empty((0, data.csr.shape[1], K))
    assert not isinstance(data, Coded | Texts)  # distributions of combinations, and of words, split by themselves
    out = np.empty((data.n, data.columns.d, K))
    if capability(d, IndependentColumns) is None:
        return _by_chain(d, data, p, out)
    for j in range(data.columns.d):
        out[:, j] = marginal(d, data, p, j, K)
    return out


def marginal(d: Distribution[S, P], data: Data, p: P, j: int, K: int) -> Array:
    """(n, K): log P(x_j | class), whatever the other columns are."""
    columns = capability(d, IndependentColumns)
    if columns is None:
        return _scores(d, _hidden(d, data, [j]), p, K)
    return _scores(d, _only(data, j), columns.column(p, j), K)


def _by_chain(d: Distribution[S, P], data: Data, p: P, out: Array) -> Array:
    """log P(x_1 … x_j | class) − log P(x_1 … x_(j−1) | class); what is impossible is charged to the first to say so."""
    K = out.shape[2]
    before = np.zeros((data.n, K))
    for j in range(out.shape[1]):
        upto = _scores(d, _hidden(d, data, range(j + 1)), p, K)
        with np.errstate(invalid="ignore"):
            out[:, j] = np.where(np.isneginf(before), 0.0, upto - before)
        before = upto
    return out


def _scores(d: Distribution[S, P], data: Data, p: P, K: int) -> Array:
    scorer = _core.Scorer(data.n, np.zeros(K))
    d.score(scorer, data, p)
    return np.asarray(scorer.joint())


def _only(data: Data, j: int) -> Data:
    """Column j by itself."""
    if isinstance(data, Codes):
        return Codes(data.columns.select([j]), data.raw)
    assert isinstance(data, Numbers)
    if data.matrix is None:
        return Numbers(None, None, data.arrays[j : j + 1])
    return Numbers(data.matrix, (j if data.which is None else data.which[j],))


def _hidden(d: Distribution[S, P], data: Data, keep: Container[int]) -> Numbers:
    """All columns, those not kept with nothing but missing values."""
    if not isinstance(data, Numbers):
        raise OptionError(
            f"The distribution {d.name!r} does not say how its score splits over its columns: give it the "
            "capability ColumnTerms, or IndependentColumns if its columns are independent given the class."
        )
    missing = np.full(data.n, np.nan)
    return Numbers(None, None, tuple(data.column(j) if j in keep else missing for j in range(data.d)))
