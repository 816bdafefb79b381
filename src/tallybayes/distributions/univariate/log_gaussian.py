"""Log-Gaussian: positive numbers whose logarithm is Gaussian; what is not positive has a share of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Data, Numbers, Sparse
from tallybayes.distributions.capabilities import (
    ColumnLeaveOneOut,
    CompiledRow,
    IndependentColumns,
    LeaveOneOut,
    LogPrior,
    ParameterCount,
    Plotted,
    SeenColumns,
    SumsOfSquares,
    VarianceSmoothing,
)
from tallybayes.distributions.context import Context, Exported, PlotStyle, RowColumn, Weights, plain
from tallybayes.distributions.sparse_blocks import dense_scores, dense_sum, rows_from
from tallybayes.distributions.statistics import (
    Record,
    arrays_of,
    check_alpha,
    check_low,
    check_squares,
    expect,
    per_column,
    subtract,
)
from tallybayes.distributions.univariate.by_column import ByColumn
from tallybayes.distributions.univariate.gaussian import Gaussian, GaussianParams, GaussianStatistics
from tallybayes.utils.array_types import Array

LOG_BLOCK = 1 << 18  # numbers whose logarithms are there at a time


@dataclass(frozen=True)
class LogGaussianStatistics(GaussianStatistics):
    """Statistics of the logarithms, and the weight of the values that have none, by class and column.

    Parameters
    ----------
    n : ndarray of shape (K, d)
        The weight of the rows whose value is above 0.
    mean : ndarray of shape (K, d)
        The mean of the logarithms.
    low : ndarray of shape (K, d)
        What the mean lacks as a float64.
    m2 : ndarray of shape (K, d)
        The sum of squares about the mean.
    zero : ndarray of shape (K, d)
        The weight of the values of 0 or less.
    """

    zero: Array


@dataclass(frozen=True)
class LogGaussianParams(Record):
    """Parameters of the logarithms, and of having one, by class and column.

    Parameters
    ----------
    normal : GaussianParams
        Of the logarithms.
    zero : ndarray of shape (K, d)
        log P(x ≤ 0 | class).
    above : ndarray of shape (K, d)
        log P(x > 0 | class).
    """

    normal: GaussianParams
    zero: Array
    above: Array


@dataclass(frozen=True)
class LogGaussian(ByColumn[LogGaussianStatistics, LogGaussianParams]):
    """The log-normal distribution: log x is Gaussian, for incomes, sizes and durations.

    With n_c the weight of class c and z_c that of its values of 0 or less::

        P(x ≤ 0 | c) = (z_c + a) / (n_c + 2 a)
        log p(x | c) = log P(x > 0 | c) − log x + log N(log x; μ_cj, σ²_cj)      for x > 0

    Means and variances of the logarithms are those of the Gaussian. All values of 0 or less are one.

    Parameters
    ----------
    alpha : float, default=1.0
        Additive smoothing a of both counts.
    ddof : {0, 1}, default=0
        Variances divide by n (0) or n − 1 (1).
    shared : bool, default=False
        Whether all classes share one variance.
    var_smoothing : float, default=1e-9
        Share of the overall variance of the logarithms that is added to their variances.

    See Also
    --------
    Gaussian : Numbers of any sign.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> X, y = [[1.0], [2.0], [70.0], [800.0]], ["low", "low", "high", "high"]
    >>> {key: round(v, 3) for key, v in NaiveBayes("log-gaussian").fit(X, y).describe(0)["low"].items()}
    {'mean of log': 0.347, 'variance of log': 0.12, '0 or less': 0.25}
    """

    alpha: float = 1.0
    ddof: int = 0
    shared: bool = False
    var_smoothing: float = 1e-9

    name = "log-gaussian"
    kinds = ("real", "count")
    cells = ("n", "mean", "low", "m2", "zero")
    weighted = ("n", "m2", "zero")
    statistics_type = LogGaussianStatistics
    capabilities: ClassVar[Collection[type]] = (
        ColumnLeaveOneOut,
        CompiledRow,
        IndependentColumns,
        LeaveOneOut,
        LogPrior,
        ParameterCount,
        Plotted,
        SeenColumns,
        SumsOfSquares,
        VarianceSmoothing,
    )

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        self._gaussian()  # raises if an option of its is wrong

    def plot_style(self) -> PlotStyle:
        return "positive"

    def _gaussian(self) -> Gaussian:
        return Gaussian(self.ddof, self.shared, self.var_smoothing)

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> LogGaussianStatistics:
        if isinstance(data, Sparse):
            return dense_sum(self, data, y, w, K)
        assert isinstance(data, Numbers)
        n, mean, low, m2 = _core.moments(data.columns, y, w, K, logs=True)
        zero = np.zeros_like(n)
        if (n != _core.class_weights(y, w, K)[:, None]).any():  # some have no logarithm
            there, positive = _core.binary_counts(data.columns, 0.0, y, w, K)
            zero = subtract(there, positive)
        return LogGaussianStatistics(n, mean, low, m2, zero)

    def combine(self, a: LogGaussianStatistics, b: LogGaussianStatistics, sign: int = 1) -> LogGaussianStatistics:
        zero = a.zero + b.zero if sign > 0 else subtract(a.zero, b.zero)
        return LogGaussianStatistics(**arrays_of(self._gaussian().combine(a, b, sign)), zero=zero)

    def sums_of_squares(self, s: LogGaussianStatistics) -> tuple[Array, Array]:
        return s.n, s.m2

    def check(self, s: LogGaussianStatistics, context: Context) -> None:
        expect(s, dict.fromkeys(arrays_of(s), (context.K, context.d)), at_least_0=("n", "m2", "zero"))
        check_low(s)
        check_squares(s.n, s.m2)

    def seen_columns(self, s: LogGaussianStatistics, d: int) -> NDArray[np.bool_]:  # noqa: ARG002
        return np.asarray((s.n + s.zero).any(axis=0))

    def estimate(self, s: LogGaussianStatistics, context: Context) -> LogGaussianParams:
        zero, above = _core.threshold_estimate(s.zero, s.n, per_column(self.alpha, s.n.shape[1]))
        return LogGaussianParams(self._gaussian().estimate(s, context), zero, above)

    def log_prior_density(self, s: LogGaussianStatistics, p: LogGaussianParams) -> float:  # noqa: ARG002
        return self.alpha * float((p.zero + p.above).sum() if self.alpha > 0 else 0.0)

    def score(self, scorer: _core.Scorer, data: Data, p: LogGaussianParams) -> None:
        K = len(p.zero)
        if isinstance(data, Sparse):
            dense_scores(self, scorer, data, p, K)
            return
        assert isinstance(data, Numbers)
        terms, zero, above = np.empty((data.n, K)), np.ascontiguousarray(p.zero.T), np.ascontiguousarray(p.above.T)
        for span, block in _blocks(data):
            part = _core.Scorer(block.shape[1], np.zeros(K))
            logs = _logs(block)
            with rows_from(span.start):
                self._gaussian().score(part, logs, p.normal)
                part.binary(Numbers(None, None, tuple(block)).columns, 0.0, zero, above)
                terms[span] = part.joint()
            volume = np.zeros(block.shape[1])
            for t in logs.arrays:  # one by one, as a row by itself adds them
                volume += np.where(np.isnan(t), 0.0, t)
            terms[span] -= volume[:, None]
        scorer.added(terms)

    def statistics_of_one(self, x: Array, weight: Array) -> LogGaussianStatistics:
        above = weight * (x > 0)
        normal = self._gaussian().statistics_of_one(_log(x), above)
        return LogGaussianStatistics(**arrays_of(normal), zero=weight * (x <= 0))

    def log_of_one(self, x: Array, p: LogGaussianParams) -> Array:
        t = _log(x)
        log = self._gaussian().log_of_one(t, p.normal) - np.where(np.isnan(t), 0.0, t)
        return np.asarray(log + np.where(x > 0, p.above, np.where(x <= 0, p.zero, 0.0)))

    def sample(self, p: LogGaussianParams, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
        with np.errstate(over="ignore"):
            drawn = np.exp(np.stack(self._gaussian().sample(p.normal, y, rng)))
        above = rng.random(drawn.shape) < np.exp(p.above[y]).T
        return list(np.where(above, np.minimum(drawn, np.finfo(np.float64).max), 0.0))

    def describe(self, p: LogGaussianParams, j: int, k: int, labels: Sequence[str]) -> dict[str, float]:
        normal = self._gaussian().describe(p.normal, j, k, labels)
        zero = float(np.exp(p.zero[k, j]))
        return {"mean of log": normal["mean"], "variance of log": normal["variance"], "0 or less": zero}

    def column(self, p: LogGaussianParams, j: int) -> LogGaussianParams:
        one = slice(j, j + 1)
        return LogGaussianParams(self._gaussian().column(p.normal, j), p.zero[:, one], p.above[:, one])

    def fast_row(
        self,
        columns: Sequence[RowColumn],
        s: LogGaussianStatistics,
        context: Context,  # noqa: ARG002
    ) -> _core.FastRowTerm | str:
        places, smoothing = [c.place for c in columns], float(self.var_smoothing)
        alpha = per_column(self.alpha, len(columns))
        moments = (s.n, s.mean, s.low, s.m2)
        return _core.FastLogGaussian(places, *moments, self.ddof, self.shared, smoothing, zero=s.zero, alpha=alpha)

    def export(self, p: LogGaussianParams, context: Context) -> Exported | str:
        normal = self._gaussian().export(p.normal, context)
        assert isinstance(normal, dict)
        return {**normal, "form": "log-normal", "zero": plain(p.zero.T), "above": plain(p.above.T)}

    def n_parameters(self, p: LogGaussianParams, context: Context) -> int:
        return self._gaussian().n_parameters(p.normal, context) + context.K * context.d


def _blocks(data: Numbers) -> Iterator[tuple[slice, Array]]:
    """Spans of rows, and their numbers: (columns, rows)."""
    step = max(1, LOG_BLOCK // max(1, data.d))
    for first in range(0, data.n, step):
        span = slice(first, min(first + step, data.n))
        yield span, data.block(span)


def _log(x: Array) -> Array:
    """log x, NaN where there is none."""
    positive = np.where(x > 0, x, np.nan)
    return np.asarray(_core.logs(np.ascontiguousarray(positive)))


def _logs(block: Array) -> Numbers:
    return Numbers(None, None, tuple(_log(x) for x in block))
