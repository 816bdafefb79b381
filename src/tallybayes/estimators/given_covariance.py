"""Covariances from an estimator of scikit-learn's kind (`fit`, `covariance_`), in the place of the counted ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tallybayes.distributions.multivariate.gaussian_moments import blocks
from tallybayes.distributions.multivariate.gaussian_statistics import CompactStatistics, PairedStatistics
from tallybayes.distributions.multivariate.multivariate_gaussian import GaussianBlock
from tallybayes.errors import OptionError, TableError, brief
from tallybayes.model.fitted import Fitted
from tallybayes.model.rows import Rows
from tallybayes.utils.array_types import Array


def check(estimator: object, shrinkage: object) -> None:
    if not hasattr(estimator, "fit"):
        raise OptionError(
            "covariance_estimator must be None or an object with fit and covariance_, as those of sklearn.covariance; "
            f"got {brief(estimator)}."
        )
    if shrinkage is not None and shrinkage != 0:
        raise OptionError(
            "covariance_estimator and shrinkage parameters are not None. Only one of the two can be set. Got shrinkage="
            f"{shrinkage!r}."
        )


def put(estimator: object, fitted: Fitted, rows: Rows) -> Fitted:
    """The sums with scatter_k = n_k · the covariance that a copy of the estimator finds in the rows of class k."""
    (term,), y, w = fitted.terms, rows.classes_of_rows, rows.w
    block, s = term.distribution, term.statistics
    assert isinstance(block, GaussianBlock)
    if isinstance(s, PairedStatistics):
        raise TableError(
            "covariance_estimator needs rows without missing values. Without it, or with shrinkage='oas', they may be "
            "missing."
        )
    times = np.ones(len(y), dtype=np.int64) if w is None else w.astype(np.int64)
    if w is not None and (times != w).any():
        raise OptionError(
            "covariance_estimator takes whole numbers as sample_weight (a row of weight 2 is two rows); got "
            f"{float(w[times != w][0]):g}. shrinkage= takes any weights."
        )
    x = np.concatenate([part for _, part in blocks(rows.of(term))])
    scatter = np.zeros((fitted.K, x.shape[1], x.shape[1]))
    for k in np.flatnonzero(s.n > 0).tolist():
        mine = y == k
        scatter[k] = s.n[k] * _covariance(estimator, np.repeat(x[mine], times[mine], axis=0))
    if block.pooled:
        scatter = scatter.sum(axis=0, keepdims=True)
    return replace(fitted, terms=(replace(term, statistics=CompactStatistics(s.n, s.mean, s.low, scatter)),))


def _covariance(estimator: object, x: Array) -> Array:
    from sklearn.base import clone  # the command line does without

    mine, name = clone(estimator, safe=False), type(estimator).__name__
    mine.fit(x)
    if not hasattr(mine, "covariance_"):
        raise OptionError(f"{name} does not have a covariance_ attribute after fit: it is no covariance_estimator.")
    found = np.atleast_2d(np.asarray(mine.covariance_, dtype=np.float64))
    if found.shape != (x.shape[1], x.shape[1]) or not np.isfinite(found).all() or (np.diag(found) < 0).any():
        raise OptionError(
            f"{name}.covariance_ is not a covariance of {x.shape[1]} columns: its shape is {found.shape}, or it holds "
            "NaN, an infinity or a negative variance."
        )
    return np.asarray((found + found.T) / 2)
