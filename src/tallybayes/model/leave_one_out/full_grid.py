"""Exact leave-one-out log-loss of a Gaussian discriminant over a grid of w and γ, from one fit.

A row that leaves takes one outer product out of each covariance: cpp/core/discriminant/leave_one_out.hpp.
What is here: the rows that take part and what each takes with it, and for each w and class the two covariances that
matter (for rows of the class and for all others), by their eigenvectors.

A row of weight 2 is two rows, each left out once. The only row of a class takes no part. Missing values are filled
with the mean of their column, for this choice alone: where many are missing, complete rows are too few to choose by. A
row without any value takes no part. A pair (w, γ) that leaves a covariance without full rank is not chosen.

Shrinkage is in the units of the data, and so are eigenvectors that serve all γ. γ = 0 has no units: where those of the
columns differ much it has frames of its own, in units of the columns' standard deviations. Else the digits of a column
of small numbers would be lost beside one of large numbers. (Units change every log p(x | class) by the same.) And
directions in which no two rows differ (constant columns, sums of others) say nothing: γ = 0 does without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tallybayes import _core
from tallybayes.data.encoding import Data, Numbers
from tallybayes.distributions.multivariate import covariance
from tallybayes.distributions.multivariate.gaussian_moments import blocks
from tallybayes.distributions.multivariate.gaussian_statistics import (
    BlockStatistics,
    CompactStatistics,
    PairedStatistics,
)
from tallybayes.distributions.multivariate.multivariate_gaussian import GaussianBlock
from tallybayes.model.leave_one_out.class_prior import LeftPrior
from tallybayes.utils.array_types import Array
from tallybayes.utils.progress import stage, step

BYTES = 16 << 20  # of eigenvectors at once
MIN_DIVISOR = 1e-250  # weight that is divided by; 1 / 5e-324 is infinite
SMALL = 100  # columns, up to which our own eigenvectors are the faster ones
APART = 100.0  # units of columns beyond this ratio differ much
MAX_STANDARDISED = 1e100  # standard deviations: their squares can still be summed
TINY = float(np.finfo(np.float64).tiny)
WEIGHTS = 8  # different weights below 1 that divisors are exact for; of more, each eighth of the rows has one divisor


@dataclass(frozen=True)
class _WholeRows:
    """The rows, missing values filled, and their sums."""

    data: Numbers
    size: Array  # |x − mean|², NaN: takes no part
    y: Array
    w: Array
    n: Array
    mean: Array
    low: Array
    scatter: Array
    outside: int  # columns beyond the span of the rows, where all variance is shrinkage
    unit: Array | float = 1.0  # what the columns are divided by in scatter; data and means are as they were


@dataclass(frozen=True)
class _Frames:
    """Covariances that are the same for many rows."""

    vector: Array  # (F, d, d): an eigenvector in each row
    value: Array
    share: Array  # b / s
    place: Array  # (shares, 2, K)
    known: Array  # (shares): whether all of them can be said at all


@dataclass(frozen=True)
class _Search:
    """What the losses are of."""

    shares: Array
    gammas: Array
    block: GaussianBlock  # its other options
    prior: LeftPrior


def losses(
    data: Data,
    y: Array,
    w: Array | None,
    s: BlockStatistics,
    prior: LeftPrior,
    shares: Sequence[float],
    gammas: Sequence[float],
    block: GaussianBlock,
) -> Array:
    """(shares, gammas): the mean of −log P(true class | x) without the row itself; inf where it cannot be said."""
    q = _rows(data, y, w, s)
    unit = np.minimum(q.w, 1.0)
    n = q.n[np.maximum(q.y, 0)]
    part = ~np.isnan(q.size) & (n - unit > 1e-9 * n)
    with np.errstate(over="ignore", invalid="ignore"):
        fits = np.isfinite(q.scatter.sum(axis=0)).all()
    if not part.any() or not fits:  # nothing to choose by, or numbers that `estimate` refuses
        return np.zeros((len(shares), len(gammas)))
    loss, search = np.zeros((len(shares), len(gammas))), _Search(np.asarray(shares), np.asarray(gammas), block, prior)
    groups = list(_by_weight(unit, np.flatnonzero(part)))
    stage("leaving one out, for own_covariance and shrinkage", len(groups) * len(shares) * len(gammas))
    for some, seen in _in_units(q, search.gammas, block.tol):
        if seen.data.d == 0:  # no two rows differ: nothing to choose by
            continue
        those = replace(search, gammas=search.gammas[some])
        for r, rows in groups:
            loss[:, some] += _losses_of(seen, rows, unit[rows], r, those)
    return np.where(np.isfinite(loss), loss / q.w[part].sum(), np.inf)


def _in_units(q: _WholeRows, gammas: Array, tol: float) -> Iterator[tuple[Array, _WholeRows]]:
    """Which γ go together, and what they are computed from."""
    plain = gammas == 0
    own = _without_units(q, tol) if plain.any() and q.data.d and not q.outside else None
    if own is None:
        yield np.ones(len(gammas), dtype=bool), q
        return
    yield plain, own
    if not plain.all():
        yield ~plain, q


def _without_units(q: _WholeRows, tol: float) -> _WholeRows | None:
    """What γ = 0 is computed from, if not from the rows as they are."""
    variance = np.diagonal(q.scatter.sum(axis=0))
    unit = np.sqrt(np.where(variance > 0, variance, 1.0))
    size = np.where(np.isnan(q.size), np.nan, 0.0)  # only shrinkage asks for it
    scaled = replace(q, size=size, scatter=q.scatter / unit / unit[:, None], unit=unit)
    basis = _directions(scaled, tol)
    if len(basis) < q.data.d:
        return _turned(scaled, basis)
    return scaled if unit.max() > APART * unit.min() else None


def _directions(q: _WholeRows, tol: float) -> Array:
    """The directions in which some rows differ, a vector in each row."""
    total = q.n.sum()
    away = ((q.mean - q.mean[0]) + (q.low - q.low[0])) / q.unit
    away = (away - (q.n @ away) / total) * np.sqrt(q.n)[:, None]
    away = away / max(1.0, float(np.abs(away).max(initial=0.0)) / MAX_STANDARDISED)  # only directions matter
    whole = q.scatter.sum(axis=0) + away.T @ away
    root = whole[None].copy()
    log_det, trace = _core.roots(root, np.sqrt(np.maximum(np.diagonal(whole), TINY))[None])
    if np.isfinite(log_det[0]) and trace[0] * covariance.least(len(whole), tol) < 1:
        return np.eye(len(whole))
    value, vector = np.linalg.eigh(whole)
    return np.asarray(vector[:, value > covariance.least(len(whole), tol) * min(1.0, float(value[-1]))].T)


def _turned(q: _WholeRows, basis: Array) -> _WholeRows:
    """The rows in the directions of `basis`, about the mean of the first class."""
    rotate = basis.T / np.asarray(q.unit)[:, None]
    x = np.concatenate([((x - q.mean[0]) - q.low[0]) @ rotate for _, x in blocks(q.data)])
    mean = ((q.mean - q.mean[0]) + (q.low - q.low[0])) @ rotate
    return replace(
        q, data=Numbers(x, None), mean=mean, low=np.zeros_like(mean), scatter=basis @ q.scatter @ basis.T, unit=1.0
    )


def _by_weight(unit: Array, rows: Array) -> Iterator[tuple[float, Array]]:
    """Rows that leave with the same weight (or, if there are many weights, nearly the same)."""
    weights = np.unique(unit[rows])
    if len(weights) <= WEIGHTS:
        for r in weights.tolist():
            yield r, rows[unit[rows] == r]
        return
    for some in np.array_split(rows[np.argsort(unit[rows], kind="stable")], WEIGHTS):
        yield float(unit[some].mean()), some


def _rows(data: Data, y: Array, w: Array | None, s: BlockStatistics) -> _WholeRows:
    outside, K = 0, len(s.n)
    weight = np.ones(len(y)) if w is None else np.asarray(w, dtype=np.float64)
    mean_of_column = _means(s) if isinstance(s, PairedStatistics) else None
    if isinstance(data, Numbers) and mean_of_column is not None:
        found = [data.column(j) for j in range(data.d)]
        weight = np.where(np.logical_and.reduce([np.isnan(x) for x in found]), 0.0, weight)
        data = Numbers(None, None, tuple(_filled(x, m) for x, m in zip(found, mean_of_column, strict=True)))
    if not isinstance(data, Numbers) or not isinstance(s, CompactStatistics):
        if not isinstance(data, Numbers) or data.d > data.n:
            x = np.concatenate([x for _, x in blocks(data)])
            used = (y >= 0) & (weight > 0) & ~np.isnan(x).all(axis=1)
            x, y, weight = x[used], y[used], weight[used]
            x = x if mean_of_column is None else _filled(x, mean_of_column)
            x, outside = _in_their_span(x)
            data = Numbers(x, None)
        code = np.ascontiguousarray(y, dtype=np.int32)
        n, mean, low, scatter, _ = _core.scatter(data.columns, code, weight, K, False)
        s = CompactStatistics(n, mean, low, scatter)
    code = np.where(weight > 0, y, -1).astype(np.int32)
    size = _core.class_distances(data.columns, code, s.mean, s.low)
    return _WholeRows(data, size, y, weight, s.n, s.mean, s.low, s.scatter, outside)


def _means(s: PairedStatistics) -> Array:
    """The mean of each column over all classes."""
    n, mean, _ = covariance.class_means(s)
    share = covariance.light(n)
    found = mean[0] + (share * (mean - mean[0])).sum(axis=0) / np.maximum(share.sum(axis=0), TINY)
    return np.where(np.isfinite(found), found, 0.0)


def _filled(x: Array, mean: Array) -> Array:
    return np.where(np.isnan(x), mean, x)


def _in_their_span(x: Array) -> tuple[Array, int]:
    """Fewer rows than columns: all that differs between them lies in as many directions."""
    if not 0 < len(x) < x.shape[1]:
        return np.ascontiguousarray(x), 0
    centre = x.mean(axis=0)
    _, size, basis = np.linalg.svd(x - centre, full_matrices=False)
    basis = basis[size > 1e-12 * size.max(initial=0.0)]
    return np.ascontiguousarray((x - centre) @ basis.T), x.shape[1] - len(basis)


def _losses_of(q: _WholeRows, rows: Array, unit: Array, r: float, search: _Search) -> Array:
    """Sums over these rows; r: the weight they leave with."""
    order = np.argsort(q.size[rows])
    order = order[np.argsort(q.y[rows][order].astype(np.int32), kind="stable")]
    rows, unit = rows[order], unit[order]
    y, K, d = q.y[rows], len(q.n), q.data.d
    n, size = q.n[y], q.size[rows]
    grown = unit * n / (n - unit)
    prior, own = search.prior.without(y, unit)
    start = np.searchsorted(y, np.arange(K + 1))
    left = _core.LeaveOneOutRows(rows.astype(np.uint32), start, np.stack([size, grown, n / (n - unit), q.w[rows], own]))
    scale = np.array([[v.min(initial=np.inf), v.max(initial=-np.inf)] for v in np.split(grown * size, start[1:-1])])
    out = []
    at_once = max(1, int(BYTES / (16 * K * max(d, 1) ** 2)))
    for i in range(0, len(search.shares), at_once):
        f = _frames(q, r, search.shares[i : i + at_once], search.block)
        trace = f.value.sum(axis=1)
        level = _levels(f, trace, scale, d + q.outside)
        full, log_det = _log_det(f.value, level, search.gammas, search.block.tol, q.outside)
        shrunk = _core.Frames(f.vector, f.value, np.stack([f.share, trace, level]), log_det, search.gammas)
        found = _core.leave_one_out_losses(q.data.columns, q.mean, q.low, prior, left, shrunk, f.place, q.outside)
        found[~(f.known[:, None] & full[f.place].all(axis=(1, 2)))] = np.inf
        out.append(found)
        step(found.size)
    return np.concatenate(out)


def _frames(q: _WholeRows, r: float, shares: Array, block: GaussianBlock) -> _Frames:
    """w S_l / n_l + (1 − w) S / n with the divisors as they are when a row of weight r is gone."""
    K = len(q.n)
    down = float(q.n.sum() - r - block.ddof * (q.n > 0).sum())
    pooled = q.scatter.sum(axis=0) / (down if down > MIN_DIVISOR else 1.0)
    share = (1 - shares) / (down if down > MIN_DIVISOR else 1.0)
    place = np.zeros((len(shares), 2, K), dtype=np.int32)
    known = np.full(len(shares), down > MIN_DIVISOR)
    found = list[tuple[int, float, float, float]]()  # a class, what its scatter and the pooled one count, b / s
    for a, share_of_own in enumerate(shares.tolist()):
        if share_of_own == 0:  # one for all
            place[a] = len(found)
            found.append((0, 0.0, 1.0, share[a]))
            continue
        for mine in (0, 1):
            for k in range(K):
                own_down = float(q.n[k] - r * mine - block.ddof)
                if own_down <= MIN_DIVISOR and not (mine and q.n[k] - r <= 0):  # not the only row of its class
                    known[a] = False
                own = share_of_own / own_down if own_down > MIN_DIVISOR else 0.0
                place[a, mine, k] = len(found)
                found.append((k, own, 1 - share_of_own, own * mine + share[a]))
    whose, owns, shared, shares = (np.array(each) for each in zip(*found, strict=True))
    matrices = q.scatter[whose]
    matrices *= owns[:, None, None]
    matrices += np.multiply.outer(shared, pooled)
    value, vector = _eigen(matrices)
    return _Frames(np.ascontiguousarray(vector / q.unit), value, shares, place, known)


def _eigen(matrices: Array) -> tuple[Array, Array]:
    """Eigenvalues, and an eigenvector in each row."""
    if matrices.shape[1] <= SMALL:
        return _core.eigen(matrices)
    value, vector = np.linalg.eigh(matrices)
    return value, vector.swapaxes(1, 2)


def _least_of_others(values: Array) -> Array:
    """For each class the least value of the other classes; inf if there is none."""
    first = int(np.argmin(values))
    out = np.full(len(values), values[first])
    out[first] = np.delete(values, first).min(initial=np.inf)
    return out


def _levels(f: _Frames, trace: Array, scale: Array, d: int) -> Array:
    """The middle of the levels tr Σ' / d of the rows of each frame. scale: least and largest s |e|² of a class."""
    low, high = np.full(len(trace), np.inf), np.full(len(trace), -np.inf)
    least, most = _least_of_others(scale[:, 0]), -_least_of_others(-scale[:, 1])
    for others, own in f.place:
        for place, a, b in ((others, least, most), (own, scale[:, 0], scale[:, 1])):
            np.minimum.at(low, place, a)
            np.maximum.at(high, place, b)
    some = np.isfinite(low)
    middle = np.where(some, low, 0.0) / 2 + np.where(some, high, 0.0) / 2
    return np.asarray((trace - f.share * middle) / max(d, 1))


def _log_det(value: Array, level: Array, gammas: Array, tol: float, outside: int) -> tuple[Array, Array]:
    """Which γ leave full rank (F, gammas), and log|(1 − γ) B + γ m I| as a polynomial in m / level − 1."""
    value = np.maximum(value, 0.0)
    unit = np.where(level > 0, level, 1.0)
    inside = (1 - gammas) * (value / unit[:, None])[:, :, None] + gammas * (level > 0)[:, None, None]
    floor = max(tol**2, 1e-13) * value.max(axis=1, initial=0.0) / unit
    full = (inside.min(axis=1, initial=np.inf) > 1e-3 * floor[:, None]) & ((gammas > 0) | (outside == 0))
    terms = np.zeros((len(value), _core.LOG_DET_TERMS, len(gammas)))
    safe = np.where(inside > 0, inside, 1.0)
    terms[:, 0] = np.log(safe).sum(axis=1) + value.shape[1] * np.log(unit)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = -gammas / safe
        power = -np.ones_like(ratio)
        for p in range(1, _core.LOG_DET_TERMS):
            power *= ratio
            terms[:, p] = power.sum(axis=1) / p
    known = np.asarray(np.isfinite(terms).all(axis=1))  # else a direction is nothing beside γ
    return full & known, np.where(known[:, None], terms, 0.0)
