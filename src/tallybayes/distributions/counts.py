"""Counts: multinomial, its complement, and Poisson."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import scipy
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.arrays import Array
from tallybayes.distributions.alpha import check_alpha, check_per_column, per_column, repeated_alpha, weighted
from tallybayes.distributions.arithmetic import DUST, expect
from tallybayes.distributions.base import Distribution
from tallybayes.distributions.by_column import ByColumn
from tallybayes.distributions.context import Context, Features, Looks, RowColumn, Weights
from tallybayes.distributions.exported import Exported, plain
from tallybayes.distributions.records import Record
from tallybayes.encode import Data, Numbers, Sparse

ENTRIES = 1 << 20  # counts that are left out at a time, times the classes
LARGE = 1e18  # a rate whose counts do not fit into 64 bits


@dataclass(frozen=True)
class MultinomialSums(Record):
    """The summed counts, by class and column.

    Parameters
    ----------
    sum : ndarray of shape (K, d)
        The sum of the counts.
    """

    sum: Array


@dataclass(frozen=True)
class CountParams(Record):
    """What a count is multiplied by, by class and column (K, d)."""

    weight: Array

    @cached_property
    def by_term(self) -> Array:
        """(d, K); kept for the next rows: a long vocabulary takes its time to turn."""
        return np.ascontiguousarray(self.weight.T)


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
class PoissonSums(Record):
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
class Multinomial(Distribution[MultinomialSums, MultinomialParams]):
    """Counts that share one vector: log p(x | c) = Σ_j x_j log θ_cj,  θ_cj = (S_cj + a_j) / Σ_j (S_cj + a_j).

    S: summed counts. All columns of the group share one vector θ_c. The count of orderings, the same for all classes,
    is left out: this is the probability of the words in their order.

    Parameters
    ----------
    alpha : float or sequence of float, default=1.0
        What is added to every count, a above. A sequence has a number for each column.

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
    sums = MultinomialSums

    def __post_init__(self) -> None:
        check_alpha(self.alpha)

    def looks(self) -> Looks:
        return "share"

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> MultinomialSums:
        assert isinstance(data, Numbers | Sparse)
        if isinstance(data, Sparse):
            return MultinomialSums(_core.csr_sums(data.view, y, w, K, None))
        return MultinomialSums(_core.sums(data.columns, y, w, K)[1])

    def check(self, s: MultinomialSums, context: Context) -> None:
        check_per_column(self.alpha, context.d)
        expect(s, dict.fromkeys(self.cells, (context.K, context.d)), at_least_0=self.cells)

    def estimate(self, s: MultinomialSums, context: Context) -> MultinomialParams:  # noqa: ARG002
        return MultinomialParams(_log_shares(s.sum + np.asarray(self.alpha)))

    def penalty(self, s: MultinomialSums, p: MultinomialParams) -> float:  # noqa: ARG002
        """Tell the log prior density under which `estimate` is the most probable value, up to a constant.

        Dirichlet: Σ_j a_j log θ_cj.

        Parameters
        ----------
        s : sums
            A tally.
        p : params
            Its parameters.

        Returns
        -------
        float
            Over all classes and columns.
        """
        return weighted(self.alpha, p.weight)

    def score(self, scorer: _core.Scorer, data: Data, p: MultinomialParams) -> None:
        _linear(scorer, data, p, None, factorial=False)

    def left_out(
        self,
        data: Data,
        y: NDArray[np.int32],
        unit: NDArray[np.float64],
        s: MultinomialSums,
        p: MultinomialParams,
        context: Context,
    ) -> Array:
        """Tell log P(x | class) of rows that are in the tally, each by the tally without the row itself.

        A row takes its own counts out of its own class: x_j from S_cj, Σ_j x_j from their sum.

        Parameters
        ----------
        data : Numbers, Coded, Codes or Sparse
            Its columns.
        y : ndarray of int32, of shape (n,)
            The class of each row.
        unit : ndarray of shape (n,)
            How much of each row is taken out of its class; 0 leaves the row in.
        s : sums
            The tally of all rows.
        p : params
            Its parameters.
        context : Context
            The weight of each class, and the labels behind the codes.

        Returns
        -------
        ndarray of shape (n, K)
            Up to a term that all classes share.
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
        return MultinomialParams(_one(p.weight, j))

    def outcomes(self, p: MultinomialParams, j: int) -> Array:
        """Tell the log probability of each value that column j can have.

        Of one word: is it word j? The model says nothing of how many words there are.

        Parameters
        ----------
        p : params
            Parameters.
        j : int
            The column.

        Returns
        -------
        ndarray of shape (2, K)
            Of the two answers.
        """
        share = p.shares()[:, j]
        with np.errstate(divide="ignore"):
            return np.stack([share, np.log1p(-np.minimum(np.exp(share), 1.0))])

    def linear(self, p: MultinomialParams, log_prior: NDArray[np.float64]) -> tuple[Array, Array] | None:
        return p.weight, np.zeros(len(log_prior))

    def features(self) -> Features:
        return "counts"

    def n_parameters(self, p: MultinomialParams, context: Context) -> int:  # noqa: ARG002
        return context.K * (context.d - 1)

    def row_door(self, columns: Sequence[RowColumn], s: MultinomialSums, context: Context) -> _core.DoorPart | str:  # noqa: ARG002
        return _core.MultinomialDoor([c.place for c in columns], s.sum, per_column(self.alpha, len(columns)))

    def export(self, p: MultinomialParams, context: Context) -> Exported | str:  # noqa: ARG002
        return {"form": "linear", "weight": plain(p.weight.T), "bias": None}


@dataclass(frozen=True)
class Complement(Multinomial):
    """Rennie et al. 2003: the weights of class c come from all other classes, which are better estimated.

    w_cj = −log θ_c̃j,  θ_c̃j = (S_j − S_cj + a) / Σ_j (…), S: summed counts. A decision rule rather than a density:
    sampling uses the multinomial of the same counts.

    Parameters
    ----------
    alpha : float or sequence of float, default=1.0
        What is added to every count, a above. A sequence has a number for each column.
    norm : bool, default=False
        Whether w_c is divided by ``Σ_j |w_cj|``.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> model = NaiveBayes("complement").fit([[3.0, 0.0], [0.0, 2.0]], ["a", "b"])
    >>> model.predict([[1.0, 0.0]]).tolist()
    ['a']
    """

    norm: bool = False

    name = "complement"

    def no_likelihood(self) -> str | None:
        return "The complement rule is no density: there is no likelihood to climb. Use MultinomialNB."

    def estimate(self, s: MultinomialSums, context: Context) -> ComplementParams:  # noqa: ARG002
        others = np.maximum(s.sum.sum(axis=0) - s.sum, 0.0)  # rounding may leave less than nothing
        # a feature that only this class has would weigh infinitely much, and ∞ − ∞ is no number
        logged = np.maximum(_log_shares(others + np.asarray(self.alpha)), np.log(np.finfo(np.float64).tiny))
        weight = -logged
        if self.norm:  # the only column has all of the counts, and says nothing
            total = logged.sum(axis=1, keepdims=True)
            weight = np.divide(logged, total, out=np.zeros_like(logged), where=total < 0)
        return ComplementParams(weight, _log_shares(s.sum + np.asarray(self.alpha)))

    def column(self, p: MultinomialParams, j: int) -> ComplementParams:
        return ComplementParams(_one(p.weight, j), _one(p.shares(), j))

    def linear(self, p: MultinomialParams, log_prior: NDArray[np.float64]) -> None:  # noqa: ARG002
        """Give nothing: the complement rule is no log P(x | class), and has no linear form of one.

        Parameters
        ----------
        p : params
            Parameters.
        log_prior : ndarray of shape (K,)
            Of the classes.
        """
        return

    def left_out(
        self,
        data: Data,
        y: NDArray[np.int32],
        unit: NDArray[np.float64],
        s: MultinomialSums,
        p: MultinomialParams,
        context: Context,
    ) -> Array:
        """Tell log P(x | class) of rows that are in the tally, each by the tally without the row itself.

        A row takes its counts out of what all classes but its own are compared with.

        Parameters
        ----------
        data : Numbers, Coded, Codes or Sparse
            Its columns.
        y : ndarray of int32, of shape (n,)
            The class of each row.
        unit : ndarray of shape (n,)
            How much of each row is taken out of its class; 0 leaves the row in.
        s : sums
            The tally of all rows.
        p : params
            Its parameters.
        context : Context
            The weight of each class, and the labels behind the codes.

        Returns
        -------
        ndarray of shape (n, K)
            Up to a term that all classes share.
        """
        if self.norm and (np.min(self.alpha) == 0 or context.d == 1):  # the sum has terms that come and go, or none
            return Distribution.left_out(self, data, y, unit, s, p, context)
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
class Poisson(ByColumn[PoissonSums, PoissonParams]):
    """Counts: log p(x | c) = x log λ_cj − λ_cj − log x!,  λ_cj = (S_cj + a m_j) / (n_cj + a).

    S: summed counts, n: weight of the rows, m_j: the mean over all classes. A column of zeros says nothing.

    Parameters
    ----------
    alpha : float or sequence of float, default=1.0
        How many rows with the feature's overall mean smoothing adds, a above. A sequence has a number for each column.

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
    sums = PoissonSums

    def __post_init__(self) -> None:
        check_alpha(self.alpha)

    def looks(self) -> Looks:
        return "whole"

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> PoissonSums:
        assert isinstance(data, Numbers | Sparse)
        if isinstance(data, Sparse):
            total = _core.csr_sums(data.view, y, w, K, None)
            n = np.broadcast_to(_core.class_weights(y, w, K)[:, None], total.shape).copy()
        else:
            n, total = _core.sums(data.columns, y, w, K)
        return PoissonSums(n, total)

    def check(self, s: PoissonSums, context: Context) -> None:
        check_per_column(self.alpha, context.d)
        expect(s, dict.fromkeys(self.cells, (context.K, context.d)), at_least_0=self.cells)

    def met(self, s: PoissonSums, d: int) -> NDArray[np.bool_]:  # noqa: ARG002
        return np.asarray(s.n.any(axis=0))

    def estimate(self, s: PoissonSums, context: Context) -> PoissonParams:  # noqa: ARG002
        rate, weight, bias = _core.poisson_estimate(s.n, s.sum, per_column(self.alpha, s.n.shape[1]))
        return PoissonParams(weight, bias, rate)

    def penalty(self, s: PoissonSums, p: PoissonParams) -> float:
        """Tell the log prior density under which `estimate` is the most probable value, up to a constant.

        Gamma: a (m_j log λ_cj − λ_cj), as if of `alpha` rows with the mean m_j.

        Parameters
        ----------
        s : sums
            A tally.
        p : params
            Its parameters.

        Returns
        -------
        float
            Over all classes and columns.
        """
        if self.alpha == 0:
            return 0.0
        overall = s.sum.sum(axis=0) / np.maximum(s.n.sum(axis=0), np.finfo(float).tiny)
        return float(self.alpha * (overall * p.weight + p.bias).sum())

    def score(self, scorer: _core.Scorer, data: Data, p: PoissonParams) -> None:
        _linear(scorer, data, p, p.bias, factorial=True)

    def sums_of_one(self, x: Array, weight: Array) -> PoissonSums:
        return PoissonSums(weight, weight * np.where(np.isnan(x), 0.0, x))

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
        return PoissonParams(_one(p.weight, j), _one(p.bias, j), _one(p.rate, j))

    def linear(self, p: PoissonParams, log_prior: NDArray[np.float64]) -> tuple[Array, Array]:  # noqa: ARG002
        """Give weight and bias with log P(x | class) = weight x + bias, up to a term that all classes share.

        The term log x! is the same for all classes, and left out.

        Parameters
        ----------
        p : params
            Parameters.
        log_prior : ndarray of shape (K,)
            Of the classes; the numbers may be kept small by it.

        Returns
        -------
        tuple of ndarrays of shapes (K, columns) and (K,)
            Weight and bias.
        """
        return p.weight, p.bias.sum(axis=1)

    def features(self) -> Features:
        return "counts"

    def n_parameters(self, p: PoissonParams, context: Context) -> int:  # noqa: ARG002
        return context.K * context.d

    def row_door(self, columns: Sequence[RowColumn], s: PoissonSums, context: Context) -> _core.DoorPart | str:  # noqa: ARG002
        return _core.PoissonDoor([c.place for c in columns], s.n, s.sum, per_column(self.alpha, len(columns)))

    def export(self, p: PoissonParams, context: Context) -> Exported | str:  # noqa: ARG002
        """Give its parameters as plain JSON values, in one of the forms that scorers elsewhere know.

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
    step = max(1, ENTRIES // max(1, K * d if csr is None else K * csr.nnz // max(1, data.n)))
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


def _one(a: Array, j: int) -> Array:
    """Column j alone."""
    return np.ascontiguousarray(a[:, j : j + 1])


def _log_shares(a: Array) -> Array:
    """log of each row's shares, in the place of a; a row of zeros is shared evenly."""
    _core.log_shares(a)
    return a


def _linear(scorer: _core.Scorer, data: Data, p: CountParams, bias: Array | None, factorial: bool) -> None:
    """Adds Σ_j x_j weight_cj + bias_cj."""
    if isinstance(data, Sparse):
        data = data.distinct() if factorial else data
        constant = np.zeros(len(p.weight)) if bias is None else bias.sum(axis=1)
        scorer.csr(data.view, p.by_term, constant, None, factorial)
    else:
        assert isinstance(data, Numbers)
        scorer.linear(data.columns, p.weight, np.zeros_like(p.weight) if bias is None else bias, factorial)
