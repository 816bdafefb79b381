"""var_smoothing='auto': the smoothing of Gaussian variances with the least leave-one-out log-loss."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.encoding import Data, Numbers, Sparse
from tallybayes.distributions.capabilities import VarianceSmoothing, capability, leave_one_out
from tallybayes.estimators.parameters import AUTO
from tallybayes.estimators.state import ModelState
from tallybayes.model import temperature
from tallybayes.model.fitted import Fitted
from tallybayes.model.rows import Rows
from tallybayes.model.term import Term
from tallybayes.utils.progress import stage, step

GRID = (1e-9, 1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
PLAIN = GRID[0]
CELLS = 1 << 21  # rows × columns × classes that judge


def in_use(given: Any, fitted: Fitted | None) -> float:
    """The number that distributions take; of a model that has chosen it, as it has."""
    if not isinstance(given, str):
        return given  # type: ignore[no-any-return]
    terms = () if fitted is None else fitted.terms
    found = (capability(t.distribution, VarianceSmoothing) for t in terms)
    return next((d.var_smoothing for d in found if d is not None), PLAIN)


def choose(model: ModelState, fitted: Fitted, rows: Rows) -> Fitted:
    """The first rows, counted, with the smoothing of least leave-one-out log-loss."""
    which = [t for t in fitted.terms if capability(t.distribution, VarianceSmoothing)]
    if not which or fitted.K < 2:
        return fitted
    others = replace(fitted, terms=tuple(t for t in fitted.terms if t not in which))
    prior, rest = others.estimate(model._prior()).leave_one_out(rows, model._prior(), model._offset)
    width = sum(len(t.columns) for t in which) * fitted.K
    at = _spread(rows.n, max(256, CELLS // max(1, width)))
    y, w = rows.classes_of_rows[at], np.ones(len(at)) if rows.w is None else rows.w[at]
    w = np.where(y < 0, 0.0, w)
    label = np.maximum(y, 0).astype(np.int32)
    own = fitted.weight[label]
    unit = np.where(np.isnan(rest[at]).any(axis=1) | (own - np.minimum(w, 1.0) <= 1e-9 * own), 0.0, w)
    unit = np.minimum(unit, 1.0)
    data = [_rows(rows.of(t), at) for t in which]
    losses = []
    stage("leaving one out, for var_smoothing", len(GRID))
    for s in GRID:
        log = rest[at].copy()
        for t, some in zip(which, data, strict=True):
            d = replace(t.distribution, var_smoothing=s)  # type: ignore[type-var]
            context = fitted.context(t)
            log += leave_one_out(d, some, label, unit, t.statistics, d.estimate(t.statistics, context), context)
        step()
        losses.append(-temperature.score(temperature.posterior(prior[at], log, 1.0), label, w))
    best = GRID[int(np.argmin(np.nan_to_num(losses, nan=np.inf)))]
    terms = [_with_smoothing(t, best) if t in which else t for t in fitted.terms]
    return fitted.with_terms(terms)


def chosen_again(terms: tuple[Term, ...], fitted: Fitted) -> tuple[Term, ...]:
    """Terms for more rows, with the smoothing that was chosen."""
    s = in_use(AUTO, fitted)
    return tuple(_with_smoothing(t, s) if capability(t.distribution, VarianceSmoothing) else t for t in terms)


def _with_smoothing(t: Term, s: float) -> Term:
    return replace(t, distribution=replace(t.distribution, var_smoothing=s))  # type: ignore[type-var]


def _spread(n: int, most: int) -> NDArray[np.int64]:
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).astype(np.int64)


def _rows(data: Data, at: NDArray[np.int64]) -> Data:
    """Some rows of numbers."""
    if isinstance(data, Sparse):
        return Sparse(data.csr[at])
    assert isinstance(data, Numbers)
    if data.matrix is None:
        return Numbers(None, None, tuple(a[at] for a in data.arrays))
    return Numbers(data.matrix[at], data.which)
