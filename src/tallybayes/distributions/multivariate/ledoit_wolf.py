"""Ledoit and Wolf's (2004) shrinkage intensity of each class, and the statistics that it needs besides.

    γ = min(β, δ) / δ,   δ = |S|² − (tr S)² / d,   β = (Σ_i |z_i|⁴ / n − |S|²) / n,   S = Σ_i z_i z_iᵀ / n

Full covariances: z are the rows of the class in units of its own standard deviations. Those change with every row
added, but |z|⁴ = Σ_jl (e_j² / σ_j²) (e_l² / σ_l²), e = x − mean: a matrix of sums is enough. Diagonal covariances: only
the terms j = l, in the units of the data. What is kept, with weights,

    third_jl = Σ e_j² e_l,     fourth_jl = Σ e_j² e_l²        ((K, d, d); of axes the diagonal: (K, d))

adds and subtracts exactly, since about another centre both follow from these sums alone (see `_about`). A wide tally
keeps the weight of each of its rows instead, as long as it holds the rows themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.encoding import Numbers
from tallybayes.distributions.context import Weights
from tallybayes.distributions.multivariate.gaussian_moments import blocks
from tallybayes.distributions.multivariate.gaussian_statistics import (
    BlockStatistics,
    FourthStatistics,
    PairedStatistics,
    ScatterStatistics,
    WeighedStatistics,
)
from tallybayes.distributions.statistics import away
from tallybayes.distributions.univariate.gaussian import GaussianStatistics
from tallybayes.errors import TableError
from tallybayes.utils.array_types import Array

MIN_DEVIATION, MAX_DEVIATION = 1e-70, 1e70  # standard deviations whose fourth powers can be summed


def _by_class(data: Numbers, y: NDArray[np.int32], w: Weights) -> Iterator[tuple[int, Array, Array]]:
    """A class, numbers of rows of it, and their weights: block by block, and of each block class by class."""
    for rows, x in blocks(data):
        code, weight = y[rows], np.ones(len(x)) if w is None else w[rows]
        mine = np.flatnonzero((code >= 0) & (weight > 0))
        mine = mine[np.argsort(code[mine], kind="stable")]
        ends = np.append(np.flatnonzero(np.diff(code[mine])) + 1, len(mine))
        for start, end in zip(np.append(0, ends[:-1]), ends, strict=True):
            if start < end:
                at = mine[start:end]
                yield int(code[at[0]]), x[at], weight[at]


# --- one matrix per class, for full covariances ----------------------------------------------------------------


def count(data: Numbers, y: NDArray[np.int32], w: Weights, s: BlockStatistics) -> FourthStatistics | WeighedStatistics:
    """The statistics s of these rows with its third and fourth moments, or with the rows' weights."""
    if isinstance(s, WeighedStatistics):
        return s
    if isinstance(s, PairedStatistics):
        raise TableError("Ledoit-Wolf shrinkage needs rows without missing values. shrinkage='oas' takes them.")
    assert isinstance(s, ScatterStatistics)
    third, fourth = np.zeros((2, *s.scatter.shape))
    with np.errstate(over="ignore", invalid="ignore"):
        for k, x, weight in _by_class(data, y, w):
            _add_rows(x - s.mean[k] - s.low[k], weight, third[k], fourth[k])
    return FourthStatistics(s.n, s.mean, s.low, s.scatter, third, fourth)


def _add_rows(centred: Array, weight: Array, third: Array, fourth: Array) -> None:
    square = np.square(centred)
    weighted = (square * weight[:, None]).T
    third += weighted @ centred
    fourth += weighted @ square


def written(s: BlockStatistics) -> FourthStatistics:
    """Statistics with third and fourth moments, all of its statistics written out."""
    if isinstance(s, FourthStatistics):
        return s
    assert isinstance(s, WeighedStatistics)
    scatter = s.written(pooled=False).scatter
    third, fourth = np.zeros((2, *scatter.shape))
    for k in range(len(s.n)):
        mine = s.owner == k
        _add_rows(s.rows[mine] / np.sqrt(s.weight[mine])[:, None], s.weight[mine], third[k], fourth[k])
    return FourthStatistics(s.n, s.mean, s.low, scatter, third, fourth)


@np.errstate(over="ignore", invalid="ignore")  # `amounts` refuses what is no number
def combine(a: FourthStatistics, b: FourthStatistics, total: ScatterStatistics, sign: int) -> FourthStatistics:
    """The moments of a ± b, whose other statistics are `total`."""
    third, fourth = np.zeros((2, *total.scatter.shape))
    shifts = [away(s, total.mean, total.low) for s in (a, b)]
    for k in np.flatnonzero(total.n > 0):
        for s, way, shift in ((a, 1, shifts[0][k]), (b, sign, shifts[1][k])):
            if s.n[k] > 0:
                square, more = np.diag(s.scatter[k]), s.third[k]
                pair = _Pair(s.n[k], square[:, None], square, s.scatter[k], more, more.T, s.fourth[k])
                t, f = _about(pair, shift[:, None], shift)
                third[k] += way * t
                fourth[k] += way * f
    varies = np.einsum("kii->ki", total.scatter) > 0  # of a column that no longer does, rounding leaves something
    some = varies[:, :, None] & varies[:, None, :]
    third, fourth = np.where(some, third, 0.0), np.where(some, np.maximum(fourth, 0.0), 0.0)
    return FourthStatistics(total.n, total.mean, total.low, total.scatter, third, fourth)


@dataclass(frozen=True)
class _Pair:
    """Sums over the rows of a class of products of two columns, about the mean: Σ e = 0. j may be l."""

    n: float | Array
    square_j: Array  # Σ e_j²
    square_l: Array
    product: Array  # Σ e_j e_l
    third_j: Array  # Σ e_j² e_l
    third_l: Array  # Σ e_l² e_j
    fourth: Array  # Σ e_j² e_l²


def _about(e: _Pair, dj: Array, dl: Array) -> tuple[Array, Array]:
    """Σ (e_j + δ_j)² (e_l + δ_l) and Σ (e_j + δ_j)² (e_l + δ_l)²."""
    n, s, sj, sl, tj, tl = e.n, e.product, e.square_j, e.square_l, e.third_j, e.third_l
    third = tj + dl * sj + 2 * dj * s + n * dj**2 * dl
    fourth = e.fourth + 2 * (dl * tj + dj * tl) + dl**2 * sj + dj**2 * sl + 4 * dj * dl * s + n * dj**2 * dl**2
    return third, fourth


def amounts(s: FourthStatistics | WeighedStatistics, scatter: Array) -> tuple[float, ...]:
    """γ of each class; scatter: written out, (K, d, d)."""
    found = []
    for k, n in enumerate(s.n.tolist()):
        cov = scatter[k] / (n if n > 0 else 1.0)
        unit = _units(np.diag(cov))
        fourth = s.fourth_powers(k, unit)
        if not np.isfinite(fourth):
            raise _not_summed(float(unit.max()))
        cov = cov / unit / unit[:, None]
        found.append(_amount(float(np.square(cov).sum()), float(np.trace(cov)), len(cov), fourth, n))
    return tuple(found)


def _units(variance: Array) -> Array:
    """Standard deviations, 1 for 0."""
    unit = np.sqrt(variance)
    outside = unit[(unit > 0) & ~((unit > MIN_DEVIATION) & (unit < MAX_DEVIATION))]
    if len(outside):
        raise _not_summed(float(outside[0]))
    return np.where(unit > 0, unit, 1.0)


def _not_summed(unit: float) -> TableError:
    return TableError(
        "Ledoit-Wolf shrinkage sums fourth powers: standard deviations of columns must be from "
        f"{MIN_DEVIATION:g} to {MAX_DEVIATION:g}; "
        f"got {unit:g}. Give the column in other units, or use shrinkage='oas'."
    )


def _amount(square: float, trace: float, d: int, fourth: float, n: float) -> float:
    """From |S|², tr S and Σ |z|⁴."""
    delta = square - trace**2 / max(d, 1)
    if n <= 0 or delta <= 0:
        return 0.0
    return float(np.clip((fourth / n - square) / n, 0.0, delta) / delta)


# --- one number per class and column, for axes -----------------------------------------------------------------


@dataclass(frozen=True)
class MomentStatistics(GaussianStatistics):
    """Those of a Gaussian with sums of third and fourth powers about the mean, (K, d)."""

    m3: Array
    m4: Array


def count_columns(data: Numbers, y: NDArray[np.int32], w: Weights, s: GaussianStatistics) -> MomentStatistics:
    """The statistics of a Gaussian with its third and fourth moments; missing values are left out, column by column."""
    m3, m4 = np.zeros((2, *s.n.shape))
    with np.errstate(over="ignore", invalid="ignore"):
        for k, x, weight in _by_class(data, y, w):
            centred = x - s.mean[k] - s.low[k]
            centred = np.where(np.isnan(centred), 0.0, centred)
            m3[k] += weight @ centred**3
            m4[k] += weight @ centred**4
    return MomentStatistics(s.n, s.mean, s.low, s.m2, m3, m4)


@np.errstate(over="ignore", invalid="ignore")  # `column_amounts` refuses what is no number
def combine_columns(a: MomentStatistics, b: MomentStatistics, total: GaussianStatistics, sign: int) -> MomentStatistics:
    m3, m4 = np.zeros((2, *total.n.shape))
    for s, way in ((a, 1), (b, sign)):
        shift = np.where((s.n > 0) & (total.n > 0), away(s, total.mean, total.low), 0.0)
        t, f = _about(_Pair(s.n, s.m2, s.m2, s.m2, s.m3, s.m3, s.m4), shift, shift)
        m3 += way * t
        m4 += way * f
    some = total.m2 > 0
    m3, m4 = np.where(some, m3, 0.0), np.where(some, np.maximum(m4, 0.0), 0.0)
    return MomentStatistics(total.n, total.mean, total.low, total.m2, m3, m4)


def column_amounts(s: MomentStatistics, varies: Array) -> Array:
    """γ of each class, for variances in the units of the data."""
    fine = np.isfinite(s.m3) & np.isfinite(s.m4)  # also of columns that hardly vary: other rows may be added
    if not fine.all():
        raise _not_summed(float(np.sqrt(s.m2 / np.where(s.n > 0, s.n, 1.0)).max()))
    found = []
    for n, m2, m4 in zip(s.n[:, varies], s.m2[:, varies], s.m4[:, varies], strict=True):
        safe = np.where(n > 0, n, 1.0)
        variance = m2 / safe
        _units(variance)
        delta = float(np.square(variance).sum() - variance.sum() ** 2 / max(len(n), 1))
        with np.errstate(over="ignore", invalid="ignore"):
            beta = float(((m4 / safe - np.square(variance)) / safe).sum())
        if not np.isfinite(beta):
            raise _not_summed(float(np.sqrt(variance.max())))
        found.append(float(np.clip(beta, 0.0, delta) / delta) if delta > 0 else 0.0)
    return np.array(found)
