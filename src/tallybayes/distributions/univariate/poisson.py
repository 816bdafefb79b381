"""Poisson: each column a count with a rate of its own in each class."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Data, Numbers, Sparse
from tallybayes.distributions.capabilities import (
    ColumnLeaveOneOut,
    CompiledRow,
    IndependentColumns,
    LeaveOneOut,
    LinearForm,
    LogOddsFeatures,
    LogPrior,
    ParameterCount,
    Plotted,
    SeenColumns,
)
from tallybayes.distributions.context import Context, Exported, Features, PlotStyle, RowColumn, Weights, plain
from tallybayes.distributions.statistics import (
    Record,
    check_alpha,
    check_per_column,
    expect,
    per_column,
    repeated_alpha,
)
from tallybayes.distributions.univariate.by_column import ByColumn
from tallybayes.distributions.univariate.count_scores import CountParams, linear_scores, one_column
from tallybayes.utils.array_types import Array

LARGE = 1e18  # a rate whose counts do not fit into 64 bits


@dataclass(frozen=True)
class PoissonStatistics(Record):
    """The weight of the rows and the summed counts, by class and column.

    Parameters
    ----------
    n : ndarray of shape (K, d)
        The weight of the rows that have a value.
    sum : ndarray of shape (K, d)
        The sum of their counts.
    """

    n: Array
    sum: Array


@dataclass(frozen=True)
class PoissonParams(CountParams):
    """Rates λ by class and column, and what they are in log P(x | class) = weight x + bias − log x!.

    Parameters
    ----------
    weight : ndarray of shape (K, d)
        log λ; 0 for a column of zeros.
    bias : ndarray of shape (K, d)
        −λ; 0 for a column of zeros.
    rate : ndarray of shape (K, d)
        λ.
    """

    bias: Array
    rate: Array


@dataclass(frozen=True)
class Poisson(ByColumn[PoissonStatistics, PoissonParams]):
    """Counts: log p(x | c) = x log λ_cj − λ_cj − log x!,  λ_cj = (S_cj + a m_j) / (n_cj + a).

    S: summed counts, n: weight of the rows, m_j: the mean over all classes. A column of zeros says nothing.

    Parameters
    ----------
    alpha : float or sequence of float, default=1.0
        Smoothing a: number of added rows with the feature's overall mean. A sequence has a number for each column.

    See Also
    --------
    Multinomial : Counts that share a total.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.distributions import Poisson
    >>> NaiveBayes(Poisson(alpha=0.0)).fit([[1.0], [2.0], [9.0]], ["few", "few", "many"]).describe(0)
    {'few': {'rate': 1.5}, 'many': {'rate': 9.0}}
    """

    alpha: float | Sequence[float] = 1.0

    name = "poisson"
    kinds = ("count", "real", "binary")
    cells = ("n", "sum")
    statistics_type = PoissonStatistics
    capabilities: ClassVar[Collection[type]] = (
        ColumnLeaveOneOut,
        CompiledRow,
        IndependentColumns,
        LeaveOneOut,
        LinearForm,
        LogOddsFeatures,
        LogPrior,
        ParameterCount,
        Plotted,
        SeenColumns,
    )

    def __post_init__(self) -> None:
        check_alpha(self.alpha)

    def plot_style(self) -> PlotStyle:
        return "whole"

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> PoissonStatistics:
        assert isinstance(data, Numbers | Sparse)
        if isinstance(data, Sparse):
            total = _core.csr_sums(data.view, y, w, K, None)
            n = np.broadcast_to(_core.class_weights(y, w, K)[:, None], total.shape).copy()
        else:
            n, total = _core.sums(data.columns, y, w, K)
        return PoissonStatistics(n, total)

    def check(self, s: PoissonStatistics, context: Context) -> None:
        check_per_column(self.alpha, context.d)
        expect(s, dict.fromkeys(self.cells, (context.K, context.d)), at_least_0=self.cells)

    def seen_columns(self, s: PoissonStatistics, d: int) -> NDArray[np.bool_]:  # noqa: ARG002
        return np.asarray(s.n.any(axis=0))

    def estimate(self, s: PoissonStatistics, context: Context) -> PoissonParams:  # noqa: ARG002
        rate, weight, bias = _core.poisson_estimate(s.n, s.sum, per_column(self.alpha, s.n.shape[1]))
        return PoissonParams(weight, bias, rate)

    def log_prior_density(self, s: PoissonStatistics, p: PoissonParams) -> float:
        """Return the log prior density under which `estimate` is the most probable value, up to a constant.

        Gamma: a (m_j log λ_cj − λ_cj), as if of `alpha` rows with the mean m_j.
        """
        if self.alpha == 0:
            return 0.0
        overall = s.sum.sum(axis=0) / np.maximum(s.n.sum(axis=0), np.finfo(float).tiny)
        return float(self.alpha * (overall * p.weight + p.bias).sum())

    def score(self, scorer: _core.Scorer, data: Data, p: PoissonParams) -> None:
        linear_scores(scorer, data, p, p.bias, factorial=True)

    def statistics_of_one(self, x: Array, weight: Array) -> PoissonStatistics:
        return PoissonStatistics(weight, weight * np.where(np.isnan(x), 0.0, x))

    def log_of_one(self, x: Array, p: PoissonParams) -> Array:
        terms = np.where(x > 0, x * np.where(x > 0, p.weight, 0.0), 0.0) + p.bias
        return np.where(np.isnan(x), 0.0, terms)

    def repeated(self, rows: int) -> Self:
        return replace(self, alpha=repeated_alpha(self.alpha, rows))

    def sample(self, p: PoissonParams, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
        rate = p.rate[y]
        if (rate < LARGE).all():
            return list(rng.poisson(rate).T)
        return list(np.rint(rng.normal(rate, np.sqrt(rate))).clip(0).T)  # beyond 64 bits; as good as normal

    def describe(self, p: PoissonParams, j: int, k: int, labels: Sequence[str]) -> dict[str, float]:  # noqa: ARG002
        return {"rate": float(p.rate[k, j])}

    def column(self, p: PoissonParams, j: int) -> PoissonParams:
        return PoissonParams(one_column(p.weight, j), one_column(p.bias, j), one_column(p.rate, j))

    def linear(self, p: PoissonParams, log_prior: NDArray[np.float64]) -> tuple[Array, Array]:  # noqa: ARG002
        """Return weight and bias with log P(x | class) = weight x + bias, up to a term that all classes share.

        The term log x! is the same for all classes, and left out.
        """
        return p.weight, p.bias.sum(axis=1)

    def features(self) -> Features:
        return "counts"

    def n_parameters(self, p: PoissonParams, context: Context) -> int:  # noqa: ARG002
        return context.K * context.d

    def fast_row(self, columns: Sequence[RowColumn], s: PoissonStatistics, context: Context) -> _core.FastRowTerm | str:  # noqa: ARG002
        return _core.FastPoisson([c.place for c in columns], s.n, s.sum, per_column(self.alpha, len(columns)))

    def export(self, p: PoissonParams, context: Context) -> Exported | str:  # noqa: ARG002
        """Return its parameters as plain JSON values, in one of the forms that scorers elsewhere know.

        Without log x!, which all classes share.

        Parameters
        ----------
        p : params
            Parameters.
        context : Context
            The weight of each class, and the labels behind the codes.

        Returns
        -------
        dict
            Of the form 'linear'.
        """
        return {"form": "linear", "weight": plain(p.weight.T), "bias": plain(p.bias.T)}
