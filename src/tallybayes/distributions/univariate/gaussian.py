"""Gaussian: N(μ_cj, σ²_cj), the variance of each class its own or shared by all."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Data, Numbers, Sparse
from tallybayes.distributions.capabilities import (
    ColumnLeaveOneOut,
    CompiledMatrix,
    CompiledRow,
    IndependentColumns,
    JointGaussian,
    LeaveOneOut,
    LinearForm,
    LogOddsFeatures,
    NormalMarginals,
    ParameterCount,
    QuadraticForm,
    SeenColumns,
    SQLCounts,
    SumsOfSquares,
    VarianceSmoothing,
)
from tallybayes.distributions.context import Context, Counted, Exported, Features, RowColumn, Weights, plain
from tallybayes.distributions.sparse_blocks import dense_scores, dense_sum
from tallybayes.distributions.statistics import (
    DUST,
    LOG_2PI,
    NEVER_LEARNED,
    CentredStatistics,
    Record,
    arrays_of,
    away,
    check_low,
    check_squares,
    combine_means,
    expect,
)
from tallybayes.distributions.univariate.by_column import ByColumn
from tallybayes.errors import ForgetError, OptionError, brief, is_number
from tallybayes.utils.array_types import Array, Floats


@dataclass(frozen=True)
class GaussianStatistics(CentredStatistics):
    """Weights, means and squares about the mean, by class and column.

    Parameters
    ----------
    n : ndarray of shape (K, d)
        The weight of the rows that have a value.
    mean : ndarray of shape (K, d)
        Their mean.
    low : ndarray of shape (K, d)
        What the mean lacks as a float64.
    m2 : ndarray of shape (K, d)
        The sum of squares about the mean.
    """

    m2: Array


@dataclass(frozen=True)
class GaussianParams(Record):
    """Means (mean + low) and variances, by class and column.

    Parameters
    ----------
    mean : ndarray of shape (K, d)
        The means.
    low : ndarray of shape (K, d)
        What they lack as float64.
    var : ndarray of shape (K, d)
        The variances, smoothing included.
    epsilon : ndarray of shape (d,)
        What smoothing added.
    terms : ndarray of shape (4, K, d)
        What `_core.Scorer.gaussian` works with.
    """

    mean: Array
    low: Array
    var: Array
    epsilon: Array
    terms: Array


@dataclass(frozen=True)
class Gaussian(ByColumn[GaussianStatistics, GaussianParams]):
    """The normal distribution: log p(x | c) = −½ log(2π σ²_cj) − (x − μ_cj)² / (2 σ²_cj).

    With M the centred sum of squares::

        own:     σ²_cj = M_cj / (n_cj − ddof)
        shared:  σ²_j  = Σ_c M_cj / (Σ_c n_cj − ddof·K)

    Then var_smoothing times the feature's variance over all classes is added: a floor in the feature's own units
    (and a variance is never below 1e-15 times that variance, even without smoothing). A feature that never varies says
    nothing and is left out. A class that never saw a feature takes the mean and variance of all classes together.

    Parameters
    ----------
    ddof : {0, 1}, default=0
        Variances divide by n (0) or n − 1 (1).
    shared : bool, default=False
        Whether all classes share one variance.
    var_smoothing : float, default=1e-9
        Share of a feature's overall variance that is added to its variances.

    See Also
    --------
    LogGaussian : Positive, skewed numbers.
    Kernel : A density of any shape.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.distributions import Gaussian
    >>> X, y = [[1.0], [3.0], [7.0], [9.0]], ["low", "low", "high", "high"]
    >>> NaiveBayes(Gaussian(ddof=1, var_smoothing=0.0)).fit(X, y).describe(0)["low"]
    {'mean': 2.0, 'variance': 2.0}
    """

    ddof: int = 0
    shared: bool = False
    var_smoothing: float = 1e-9

    name = "gaussian"
    kinds = ("real", "count", "binary")
    cells: ClassVar[tuple[str, ...]] = ("n", "mean", "low", "m2")
    weighted: ClassVar[tuple[str, ...]] = ("n", "m2")
    statistics_type: ClassVar[type | tuple[type, ...]] = GaussianStatistics
    capabilities: ClassVar[Collection[type]] = (
        ColumnLeaveOneOut,
        CompiledMatrix,
        CompiledRow,
        IndependentColumns,
        JointGaussian,
        LeaveOneOut,
        LinearForm,
        LogOddsFeatures,
        NormalMarginals,
        ParameterCount,
        QuadraticForm,
        SeenColumns,
        SQLCounts,
        SumsOfSquares,
        VarianceSmoothing,
    )

    def __post_init__(self) -> None:
        if self.ddof not in (0, 1):
            raise OptionError(f"ddof must be 0 (divide by n) or 1 (divide by n − 1); got {brief(self.ddof)}.")
        if not is_number(self.var_smoothing) or self.var_smoothing < 0:
            raise OptionError(f"var_smoothing must be a number of at least 0; got {brief(self.var_smoothing)}.")

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> GaussianStatistics:
        if isinstance(data, Sparse):
            return dense_sum(self, data, y, w, K)
        assert isinstance(data, Numbers)
        n, mean, low, m2 = _core.moments(data.columns, y, w, K)
        return GaussianStatistics(n, mean, low, m2)

    def combine(self, a: GaussianStatistics, b: GaussianStatistics, sign: int = 1) -> GaussianStatistics:
        return combined(a, b, sign, 0.0)

    def sums_of_squares(self, s: GaussianStatistics) -> tuple[Array, Array]:
        return s.n, s.m2

    def check(self, s: GaussianStatistics, context: Context) -> None:
        expect(s, dict.fromkeys(arrays_of(s), (context.K, context.d)), at_least_0=("n", "m2", "m4"))
        check_low(s)
        check_squares(s.n, s.m2)

    def seen_columns(self, s: GaussianStatistics, d: int) -> NDArray[np.bool_]:  # noqa: ARG002
        return np.asarray(s.n.any(axis=0))

    def estimate(self, s: GaussianStatistics, context: Context) -> GaussianParams:  # noqa: ARG002
        mean, low, var, epsilon = _core.gaussian_estimate(
            s.n, s.mean, s.low, s.m2, self.ddof, self.shared, float(self.var_smoothing)
        )
        if not np.isfinite(var).all():
            j = int(np.argmin(np.isfinite(var).all(axis=0)))
            raise _core.BadValue("overflow", 0, j, float(np.abs(mean[:, j]).max()))
        if not var.all():  # the square of a spread below 1e-162 is not 0, but no number either
            var = np.where((var == 0) & (var > 0).any(axis=0), np.finfo(np.float64).tiny, var)
        return GaussianParams(mean, low, var, epsilon, _core.gaussian_terms(mean, var, low))

    def score(self, scorer: _core.Scorer, data: Data, p: GaussianParams) -> None:
        if isinstance(data, Sparse):
            dense_scores(self, scorer, data, p, len(p.mean))
            return
        assert isinstance(data, Numbers)
        scorer.gaussian(data.columns, p.terms)

    def counted_as(self) -> Counted | None:
        return "moments"

    def joint_gaussian(self, p: GaussianParams, columns: Sequence[int]) -> tuple[Floats, Floats] | None:
        which = list(columns)
        return p.mean[:, which], p.var[:, which, None] * np.eye(len(which))

    def fast_matrix(self, columns: Sequence[RowColumn], p: GaussianParams, start: Array) -> _core.FastMatrix | None:  # noqa: ARG002
        return _core.FastMatrix.gaussian(start, p.terms)

    def statistics_of_one(self, x: Array, weight: Array) -> GaussianStatistics:
        nothing = np.zeros_like(weight)
        return GaussianStatistics(weight, np.where(weight > 0, x, 0.0), nothing, nothing)

    def log_of_one(self, x: Array, p: GaussianParams) -> Array:
        says = (p.var > 0) & ~np.isnan(x)
        var = np.where(says, p.var, 1.0)
        with np.errstate(over="ignore"):
            delta = np.where(says, (x - p.mean) - p.low, 0.0) / np.sqrt(2 * var)
            return np.where(says, -0.5 * np.log(2 * np.pi * var) - delta * delta, 0.0)

    def sample(self, p: GaussianParams, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
        return list(rng.normal(p.mean[y], np.sqrt(p.var[y])).T)

    def describe(self, p: GaussianParams, j: int, k: int, labels: Sequence[str]) -> dict[str, float]:  # noqa: ARG002
        return {"mean": float(p.mean[k, j]), "variance": float(p.var[k, j])}

    def column(self, p: GaussianParams, j: int) -> GaussianParams:
        mean, low, var = (np.ascontiguousarray(a[:, j : j + 1]) for a in (p.mean, p.low, p.var))
        return GaussianParams(mean, low, var, p.epsilon[j : j + 1], _core.gaussian_terms(mean, var, low))

    # --- as a linear or quadratic form -------------------------------------------------------------------------

    @property
    def one_variance(self) -> bool:
        """All classes share the variances: boundaries are linear."""
        return self.shared

    def linear(self, p: GaussianParams, log_prior: NDArray[np.float64]) -> tuple[Array, Array] | None:
        if not self.one_variance:
            return None
        with np.errstate(divide="ignore"):
            precision = np.where(p.var[0] > 0, 1 / p.var[0], 0.0)
        centre = np.exp(log_prior) @ p.mean
        delta = away(p, centre)
        weight = delta * precision
        return weight, -0.5 * (weight * delta).sum(axis=1) - weight @ centre

    def quadratic(self, p: GaussianParams) -> tuple[Array, Array, Array]:
        seen = p.var > 0
        precision = np.divide(1.0, p.var, out=np.zeros_like(p.var), where=seen)
        A = np.stack([np.diag(row) for row in -0.5 * precision])
        constant = -0.5 * (np.where(seen, np.log(np.where(seen, p.var, 1.0)) + LOG_2PI, 0.0)).sum(axis=1)
        return quadratic_form(A, p.mean, constant)

    def normal_marginals(self, p: GaussianParams) -> tuple[Array, Array]:
        return away(p, p.mean[0]), p.var

    def features(self) -> Features:
        return "numbers" if self.one_variance else "squares"

    def n_parameters(self, p: GaussianParams, context: Context) -> int:  # noqa: ARG002
        return context.K * context.d + (1 if self.one_variance else context.K) * context.d

    def fast_row(
        self,
        columns: Sequence[RowColumn],
        s: GaussianStatistics,
        context: Context,  # noqa: ARG002
    ) -> _core.FastRowTerm | str:
        places, smoothing = [c.place for c in columns], float(self.var_smoothing)
        return _core.FastGaussian(places, s.n, s.mean, s.low, s.m2, self.ddof, self.shared, smoothing)

    def export(self, p: GaussianParams, context: Context) -> Exported | str:  # noqa: ARG002
        return {"form": "normal", "mean": plain(p.mean.T), "low": plain(p.low.T), "variance": plain(p.var.T)}


def quadratic_form(A: Array, mean: Array, constant: Array) -> tuple[Array, Array, Array]:
    """A, b and c of (x − mean)ᵀ A (x − mean) + constant = xᵀ A x + xᵀ b + c, class by class."""
    return A, -2 * np.einsum("kij,kj->ki", A, mean), constant + np.einsum("kij,ki,kj->k", A, mean, mean)


def combined(a: GaussianStatistics, b: GaussianStatistics, sign: int, precision: float) -> GaussianStatistics:
    """The statistics of both, or of a without b (sign = -1). precision: relative, of means that have no low part.

    After rows were removed such a mean is a few roundings from that of the rows that remain. So their squares may seem
    to fall below zero by as much, and a mean so near to that of removed rows, which never vary, is theirs.
    """
    n, mean, low, delta, part = combine_means(a, b, sign)
    with np.errstate(over="ignore", invalid="ignore"):  # `estimate` refuses what is no number
        m2 = a.m2 + sign * b.m2 + sign * (delta * delta * a.n * part)
        if sign < 0:
            off = precision * np.abs(a.mean)
            if (m2 < -1e-9 * a.m2 - a.n * part * off * (2 * np.abs(delta) + off)).any():
                raise ForgetError(NEVER_LEARNED)
            same = (n == 0) | (m2 <= DUST * a.m2)  # what is left never varies: its mean is a float64
            m2, low = np.where(same, 0.0, m2), np.where(same, 0.0, low)
            mean = np.where(same & (n > 0) & (b.n > 0) & (b.m2 == 0) & (np.abs(delta) < off), b.mean, mean)
    return GaussianStatistics(n, mean, low, m2)
