"""Exact leave-one-out log-loss of a diagonal or spherical discriminant over a grid of w and γ, from one fit.

A row x of class c and weight r takes r with it from n_c, and from the sums of squares of each column

    M_c' = M_c − r n_c / (n_c − r) (x − mean_c)²,     x − mean_c' = (x − mean_c) n_c / (n_c − r),

and likewise from the sum of squares over all classes. diagonal_gaussian.py reads the variances from what is left for
each row, cpp/core/discriminant/leave_one_out_diagonal.hpp scores the grid. Weights as in full_grid.py. A row with
missing values takes part with what it has; a row that alone holds what its class knows of a column, or is the only one
of its class, does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tallybayes import _core
from tallybayes.data.encoding import Data
from tallybayes.distributions.multivariate.diagonal_gaussian import GaussianAxes, Spread, spread
from tallybayes.distributions.multivariate.gaussian_moments import blocks
from tallybayes.distributions.statistics import EPS, away, exact_sum
from tallybayes.distributions.univariate.gaussian import GaussianStatistics
from tallybayes.model.leave_one_out.class_prior import LeftPrior
from tallybayes.utils.array_types import Array
from tallybayes.utils.progress import stage, step

BLOCK_CELLS = 1 << 18  # rows × classes × columns at once
WEIGHT_TOLERANCE = 1e-12  # of a sum of squares: what may be left of one that a row takes away whole


@dataclass(frozen=True)
class _All:
    """What all rows together say of each column."""

    n: Array  # (d)
    mean: Array
    low: Array
    square: Array  # about the mean
    size: Array  # the largest |mean| of a class


@dataclass(frozen=True)
class _LeftOutRows:
    """Some rows, each with the parameters of the statistics without it."""

    away: Array  # (rows, K, d): (x − mean')², 0 where x is missing
    there: Array  # (rows, d): what is scored
    spread: Spread
    own: Array  # (rows): the class of each
    prior: Array  # (rows, K)
    weight: Array


def losses(
    data: Data,
    y: Array,
    w: Array | None,
    s: GaussianStatistics,
    prior: LeftPrior,
    shares: Sequence[float],
    gammas: Sequence[float],
    axes: GaussianAxes,
) -> Array:
    """(shares, gammas): the mean of −log P(true class | x) without the row itself; inf where it cannot be said."""
    weight = np.ones(len(y)) if w is None else np.asarray(w, dtype=np.float64)
    whole = _all(s)
    loss, counted = np.zeros((len(shares), len(gammas))), 0.0
    stage("leaving one out, for own_covariance and shrinkage", len(y))
    for span, x in blocks(data, BLOCK_CELLS // len(s.n)):
        rows = _without(x, y[span], weight[span], s, whole, axes, prior)
        loss += _grid(rows, shares, (1.0,) if axes.spherical else gammas)
        counted += float(rows.weight.sum())
        step(len(x))
    return np.where(np.isfinite(loss), loss / (counted or 1.0), np.inf)


def _all(s: GaussianStatistics) -> _All:
    n, mean = s.n, s.mean
    total = n.sum(axis=0)
    first = mean[np.argmax(n > 0, axis=0), np.arange(mean.shape[1])]
    safe = np.where(total > 0, total, 1.0)
    grand, low = exact_sum(first, (n * away(s, first)).sum(axis=0) / safe)
    square = s.m2.sum(axis=0) + (n * np.square(away(s, grand, low))).sum(axis=0)
    return _All(total, grand, low, square, np.abs(np.where(n > 0, mean, grand)).max(axis=0, initial=0.0))


def _without(
    x: Array, y: Array, w: Array, s: GaussianStatistics, whole: _All, axes: GaussianAxes, prior: LeftPrior
) -> _LeftOutRows:
    unit = np.minimum(w, 1.0)
    here = ~np.isnan(x)
    r = unit[:, None] * here
    n, class_weight = s.n[np.maximum(y, 0)], prior.weight[np.maximum(y, 0)]
    lone = (here & (n - r <= 1e-9 * n)).any(axis=1) | (class_weight - unit <= 1e-9 * class_weight)
    part = (y >= 0) & (w > 0) & ~lone
    x, y, w, unit, here, r, n = x[part], y[part], w[part], unit[part], here[part], r[part], n[part]
    at, x = np.arange(len(y)), np.where(here, x, whole.mean)

    delta, delta_of_all = x - s.mean[y] - s.low[y], x - whole.mean - whole.low
    counts, squares = np.repeat(s.n[None], len(y), axis=0), np.repeat(s.m2[None], len(y), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = n - r
        counts[at, y] = left
        squares[at, y] = _less(squares[at, y], np.where(here, r * n / left, 0.0), delta, whole.size)
        rest = whole.n - r
        square = _less(whole.square, np.where(here, r * whole.n / rest, 0.0), delta_of_all, whole.size)
        epsilon = np.where(rest > 0, square / rest, 0.0)
        grown = delta_of_all * np.where(rest > 0, whole.n / rest, 1.0)
        # a class that never saw a column: as all classes
        deltas = np.where(s.n > 0, x[:, None] - s.mean - s.low, grown[:, None])
        square_deltas = np.square(deltas) * here[:, None]
        square_deltas[at, y] = np.where(here, np.square(delta * (n / left)), 0.0)
    found = spread(counts, squares, whole.size, epsilon, axes)
    others, own = prior.without(y, unit)
    priors = np.repeat(others[None], len(y), axis=0)
    priors[at, y] = own
    return _LeftOutRows(square_deltas, here & found.varies, found, y, priors, w)


def _less(square: Array, step: Array, delta: Array, size: Array) -> Array:
    """square − step · delta², and 0 for what rounding (of sums, and of means as large as size) leaves of nothing."""
    left = square - step * np.square(delta)
    return np.where(left > WEIGHT_TOLERANCE * square + 16 * EPS * size * step * np.abs(delta), left, 0.0)


def _grid(q: _LeftOutRows, shares: Sequence[float], gammas: Sequence[float]) -> Array:
    """(shares, gammas): the weighted sums of −log P(true class | x)."""
    level = np.concatenate([q.spread.mixed(1.0)[1][..., 0], q.spread.mixed(0.0)[1][:, :1, 0]], axis=1)
    rows = _core.AxisRows(q.away, q.spread.own, q.spread.shared, level, q.there.view(np.uint8))
    grid = np.asarray(shares, np.float64), np.asarray(gammas, np.float64)
    return _core.leave_one_out_diagonal(rows, q.prior, q.own, q.weight, *grid)
