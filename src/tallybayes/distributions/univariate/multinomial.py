"""Counts: multinomial and its complement."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Data, Numbers, Sparse
from tallybayes.distributions.base import Distribution
from tallybayes.distributions.capabilities import (
    CompiledRow,
    IndependentColumns,
    LeaveOneOut,
    LinearForm,
    LogOddsFeatures,
    LogPrior,
    NoLikelihood,
    Outcomes,
    ParameterCount,
    Plotted,
    refitted_leave_one_out,
)
from tallybayes.distributions.context import Context, Exported, Features, PlotStyle, RowColumn, Weights, plain
from tallybayes.distributions.statistics import (
    DUST,
    Record,
    check_alpha,
    check_per_column,
    expect,
    per_column,
    weighted,
)
from tallybayes.distributions.univariate.count_scores import CountParams, linear_scores, one_column
from tallybayes.utils.array_types import Array

BLOCK_NUMBERS = 1 << 20  # counts that are removed at a time, times the classes


@dataclass(frozen=True)
class MultinomialStatistics(Record):
    """The summed counts, by class and column.

    Parameters
    ----------
    sum : ndarray of shape (K, d)
        The sum of the counts.
    """

    sum: Array


@dataclass(frozen=True)
class MultinomialParams(CountParams):
    """weight: log θ."""

    def shares(self) -> Array:
        """log θ."""
        return self.weight


@dataclass(frozen=True)
class ComplementParams(MultinomialParams):
    """weight: that of the rule; generative: log θ of the multinomial of the same counts."""

    generative: Array

    def shares(self) -> Array:
        return self.generative


@dataclass(frozen=True)
class Multinomial(Distribution[MultinomialStatistics, MultinomialParams]):
    """Counts that share one vector: log p(x | c) = Σ_j x_j log θ_cj,  θ_cj = (S_cj + a_j) / Σ_j (S_cj + a_j).

    S: summed counts. All columns of the group share one vector θ_c. The count of orderings, the same for all classes,
    is left out: this is the probability of the words in their order.

    Parameters
    ----------
    alpha : float or sequence of float, default=1.0
        Additive smoothing a. A sequence has a number for each column.

    See Also
    --------
    Complement : The rule for unbalanced classes.
    Words : Words of a text column.

    References
    ----------
    - McCallum and Nigam (1998), A comparison of event models for naive Bayes text classification. AAAI workshop.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> model = NaiveBayes("multinomial").fit([[3.0, 0.0], [0.0, 2.0]], ["a", "b"])
    >>> model.predict([[1.0, 0.0]]).tolist()
    ['a']
    """

    alpha: float | Sequence[float] = 1.0

    name = "multinomial"
    kinds = ("count", "real", "binary")
    cells = ("sum",)
    statistics_type = MultinomialStatistics
    capabilities: ClassVar[Collection[type]] = (
        CompiledRow,
        IndependentColumns,
        LeaveOneOut,
        LinearForm,
        LogOddsFeatures,
        LogPrior,
        Outcomes,
        ParameterCount,
        Plotted,
    )

    def __post_init__(self) -> None:
        check_alpha(self.alpha)

    def plot_style(self) -> PlotStyle:
        return "share"

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> MultinomialStatistics:
        assert isinstance(data, Numbers | Sparse)
        if isinstance(data, Sparse):
            return MultinomialStatistics(_core.csr_sums(data.view, y, w, K, None))
        return MultinomialStatistics(_core.sums(data.columns, y, w, K)[1])

    def check(self, s: MultinomialStatistics, context: Context) -> None:
        check_per_column(self.alpha, context.d)
        expect(s, dict.fromkeys(self.cells, (context.K, context.d)), at_least_0=self.cells)

    def estimate(self, s: MultinomialStatistics, context: Context) -> MultinomialParams:  # noqa: ARG002
        return MultinomialParams(_log_shares(s.sum, self.alpha))

    def log_prior_density(self, s: MultinomialStatistics, p: MultinomialParams) -> float:  # noqa: ARG002
        """Return the log prior density under which `estimate` is the most probable value, up to a constant.

        Dirichlet: Σ_j a_j log θ_cj.
        """
        return weighted(self.alpha, p.weight)

    def score(self, scorer: _core.Scorer, data: Data, p: MultinomialParams) -> None:
        linear_scores(scorer, data, p, None, factorial=False)

    def leave_one_out(
        self,
        data: Data,
        y: NDArray[np.int32],
        unit: NDArray[np.float64],
        s: MultinomialStatistics,
        p: MultinomialParams,
        context: Context,
    ) -> Array:
        """Return log P(x | class) of rows that are in the statistics, each by the statistics without the row itself.

        A row takes its own counts out of its own class: x_j from S_cj, Σ_j x_j from their sum.
        """
        smoothed = s.sum + np.asarray(self.alpha)
        total, d = smoothed.sum(axis=1), smoothed.shape[1]
        out = np.empty((len(y), context.K))
        for span, e in _entries(data, context.K):
            label, less, length = y[span], unit[span], e.lengths()
            log = p.weight[:, e.column].T
            out[span] = e.summed(e.value[:, None] * log)
            own = smoothed[label[e.row], e.column]
            left = _minus(own, less[e.row] * e.value)
            below = _minus(total[label], less * length)
            with np.errstate(divide="ignore"):
                share = e.summed((e.value * np.log(left))[:, None])[:, 0]
            share = share - length * np.log(np.where(below > 0, below, 1.0))
            out[np.arange(span.start, span.stop), label] = np.where(below > 0, share, -length * np.log(d))
        return out

    def sample(self, p: MultinomialParams, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
        """Draw one value for each row and column, given the class of each row.

        Rows of as many counts as there are columns: the model says nothing of a row's length.

        Parameters
        ----------
        p : params
            Parameters.
        y : ndarray of int32, of shape (n,)
            The class of each row.
        rng : numpy.random.Generator
            What they are drawn with.

        Returns
        -------
        list of ndarrays of shape (n,)
            One for each column.
        """
        share: Array = np.exp(p.shares())
        share /= share.sum(axis=1, keepdims=True)
        drawn = np.empty((len(y), share.shape[1]), dtype=np.int64)
        for c in np.unique(y):
            here = y == c
            drawn[here] = rng.multinomial(share.shape[1], share[c], size=int(here.sum()))
        return list(drawn.T)

    def describe(self, p: MultinomialParams, j: int, k: int, labels: Sequence[str]) -> dict[str, float]:  # noqa: ARG002
        return {"share": float(np.exp(p.shares()[k, j]))}

    def column(self, p: MultinomialParams, j: int) -> MultinomialParams:
        return MultinomialParams(one_column(p.weight, j))

    def outcomes(self, p: MultinomialParams, j: int) -> Array:
        """Return the log probability of each value that column j can have.

        Of one word: is it word j? The model says nothing of how many words there are.
        """
        share = p.shares()[:, j]
        with np.errstate(divide="ignore"):
            return np.stack([share, np.log1p(-np.minimum(np.exp(share), 1.0))])

    def linear(self, p: MultinomialParams, log_prior: NDArray[np.float64]) -> tuple[Array, Array]:
        return p.weight, np.zeros(len(log_prior))

    def features(self) -> Features:
        return "counts"

    def n_parameters(self, p: MultinomialParams, context: Context) -> int:  # noqa: ARG002
        return context.K * (context.d - 1)

    def fast_row(
        self,
        columns: Sequence[RowColumn],
        s: MultinomialStatistics,
        context: Context,  # noqa: ARG002
    ) -> _core.FastRowTerm | str:
        return _core.FastMultinomial([c.place for c in columns], s.sum, per_column(self.alpha, len(columns)))

    def export(self, p: MultinomialParams, context: Context) -> Exported | str:  # noqa: ARG002
        return {"form": "linear", "weight": plain(p.weight.T), "bias": None}


@dataclass(frozen=True)
class Complement(Multinomial):
    """Complement naive Bayes (Rennie et al. 2003): the weights of a class are estimated from all other classes.

    w_cj = −log θ_c̃j,  θ_c̃j = (S_j − S_cj + a) / Σ_j (…), S: summed counts. A decision rule rather than a density:
    sampling uses the multinomial of the same counts.

    Parameters
    ----------
    alpha : float or sequence of float, default=1.0
        Additive smoothing a. A sequence has a number for each column.
    norm : bool, default=False
        Whether w_c is divided by ``Σ_j |w_cj|``.

    See Also
    --------
    Multinomial : The counts of each class itself.

    References
    ----------
    - Rennie, Shih, Teevan and Karger (2003), Tackling the poor assumptions of naive Bayes text classifiers. ICML.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> model = NaiveBayes("complement").fit([[3.0, 0.0], [0.0, 2.0]], ["a", "b"])
    >>> model.predict([[1.0, 0.0]]).tolist()
    ['a']
    """

    norm: bool = False

    name = "complement"
    capabilities: ClassVar[Collection[type]] = (
        IndependentColumns,
        LeaveOneOut,
        LogOddsFeatures,
        LogPrior,
        NoLikelihood,
        Outcomes,
        ParameterCount,
        Plotted,
    )

    def no_likelihood(self) -> str | None:
        return "The complement rule is no density: there is no likelihood to climb. Use MultinomialNB."

    def estimate(self, s: MultinomialStatistics, context: Context) -> ComplementParams:  # noqa: ARG002
        others = np.maximum(s.sum.sum(axis=0) - s.sum, 0.0)  # rounding may leave less than nothing
        # a feature that only this class has would weigh infinitely much, and ∞ − ∞ is no number
        logged = np.maximum(_log_shares(others, self.alpha), np.log(np.finfo(np.float64).tiny))
        weight = -logged
        if self.norm:  # the only column has all of the counts, and says nothing
            total = logged.sum(axis=1, keepdims=True)
            weight = np.divide(logged, total, out=np.zeros_like(logged), where=total < 0)
        return ComplementParams(weight, _log_shares(s.sum, self.alpha))

    def column(self, p: MultinomialParams, j: int) -> ComplementParams:
        return ComplementParams(one_column(p.weight, j), one_column(p.shares(), j))

    def leave_one_out(
        self,
        data: Data,
        y: NDArray[np.int32],
        unit: NDArray[np.float64],
        s: MultinomialStatistics,
        p: MultinomialParams,
        context: Context,
    ) -> Array:
        """Return log P(x | class) of rows that are in the statistics, each by the statistics without the row itself.

        A row takes its counts out of what all classes but its own are compared with.
        """
        if self.norm and (np.min(self.alpha) == 0 or context.d == 1):  # the sum has terms that come and go, or none
            return refitted_leave_one_out(self, data, y, unit, s, p, context)
        others = np.maximum(s.sum.sum(axis=0) - s.sum, 0.0) + np.asarray(self.alpha)
        total, d = others.sum(axis=1), others.shape[1]
        with np.errstate(divide="ignore"):
            before = np.log(others)
        out = np.empty((len(y), context.K))
        for span, e in _entries(data, context.K):
            away = (y[span][:, None] != np.arange(context.K)) * unit[span][:, None]  # (rows, K)
            below = _minus(total, away * e.lengths()[:, None])
            left = _minus(others[:, e.column].T, away[e.row] * e.value[:, None])
            with np.errstate(divide="ignore"):
                log, log_below = np.log(left), np.log(np.where(below > 0, below, 1.0))
            even = (below <= 0)[e.row]
            logged = np.where(even, -np.log(d), log - log_below[e.row])
            found = e.summed(e.value[:, None] * np.maximum(logged, np.log(np.finfo(np.float64).tiny)))
            if self.norm:
                whole = before.sum(axis=1) - d * log_below + e.summed(log - before[:, e.column].T)
                out[span] = found / whole
            else:
                out[span] = -found
        return out


@dataclass(frozen=True)
class _Entries:
    """The counts above 0 of some rows, one after another."""

    n: int
    row: Array
    column: Array
    value: Array

    def summed(self, terms: Array) -> Array:
        """(entries, m) → (rows, m)"""
        place = scipy.sparse.csr_matrix(
            (np.ones(len(self.row)), (self.row, np.arange(len(self.row)))), (self.n, len(terms))
        )
        if np.isfinite(terms).all():
            return np.asarray(place @ terms)
        out = np.zeros((self.n, terms.shape[1]))
        np.add.at(out, self.row, terms)
        return out

    def lengths(self) -> Array:
        return np.bincount(self.row, weights=self.value, minlength=self.n)


def _entries(data: Data, K: int) -> Iterator[tuple[slice, _Entries]]:
    """Spans of rows, and what stands in them; what is missing is none."""
    assert isinstance(data, Numbers | Sparse)
    d = data.csr.shape[1] if isinstance(data, Sparse) else data.d
    csr = data.distinct().csr if isinstance(data, Sparse) else None
    step = max(1, BLOCK_NUMBERS // max(1, K * d if csr is None else K * csr.nnz // max(1, data.n)))
    for first in range(0, data.n, step):
        span = slice(first, min(first + step, data.n))
        if csr is None:
            assert isinstance(data, Numbers)
            x = data.block(span).T
            row, column = np.nonzero(x > 0)
            value = x[row, column]
        else:
            some = csr[span].tocoo()
            there = some.data > 0
            row, column, value = some.row[there], some.col[there], some.data[there].astype(np.float64)
        yield span, _Entries(span.stop - span.start, row, column, value)


def _minus(a: Array, b: Array) -> Array:
    """a − b, and 0 where rounding leaves dust."""
    left = a - b
    return np.where(left <= DUST * a, 0.0, left)


def _log_shares(counts: Array, alpha: float | Sequence[float]) -> Array:
    """log of each row's shares of counts + alpha; a row of zeros is shared evenly."""
    return _core.log_shares(np.ascontiguousarray(counts), per_column(alpha, counts.shape[1]))
