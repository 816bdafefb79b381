"""Yes or no: a column of two labels, or numbers above or below a threshold."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Data, Numbers, Sparse
from tallybayes.distributions.capabilities import (
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
from tallybayes.distributions.context import Context, Exported, Features, PlotStyle, RowColumn, Weights, cut_at, plain
from tallybayes.distributions.sparse_blocks import dense_scores, dense_sum
from tallybayes.distributions.statistics import (
    Record,
    check_alpha,
    check_per_column,
    expect,
    per_column,
    repeated_alpha,
    weighted,
)
from tallybayes.distributions.univariate.by_column import ByColumn
from tallybayes.distributions.univariate.categorical import Categorical, CategoricalStatistics
from tallybayes.errors import OptionError, brief
from tallybayes.utils.array_types import Array


@dataclass(frozen=True)
class Bernoulli(Categorical):
    """A column with two labels, whichever they are: P(x_j = v | c) = (n_cv + a) / (n_c + 2a).

    Parameters
    ----------
    alpha : float, default=1.0
        Additive smoothing a; 1 is Laplace smoothing.
    other : bool, default=False
        Whether one more level stands for all unseen categories.
    contiguous : bool, default=False
        Whether integer labels are codes 0 … max, all of them levels.
    min_categories : int or array, default=None
        With contiguous, at least this many levels.

    See Also
    --------
    Categorical : More than two levels.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> model = NaiveBayes({"member": "bernoulli"}).fit([{"member": "yes"}, {"member": "no"}], ["a", "b"])
    >>> round(model.describe("member")["a"]["yes"], 3)
    0.667
    """

    name = "bernoulli"
    kinds = ("binary", "categorical")

    def existing(self, s: CategoricalStatistics, context: Context) -> tuple[list[Array], Array]:
        exist, N = super().existing(s, context)
        return exist, np.full(len(N), 3.0 if self.other else 2.0)

    def _counts_levels(self) -> bool:
        return False


@dataclass(frozen=True)
class ThresholdStatistics(Record):
    """The weight of numbers on both sides of the threshold, by class and column.

    Parameters
    ----------
    no : ndarray of shape (K, d)
        Of those up to the threshold.
    yes : ndarray of shape (K, d)
        Of those above it.
    """

    no: Array
    yes: Array


@dataclass(frozen=True)
class ThresholdParams(Record):
    """Log probabilities of both sides of the threshold, by class and column.

    Parameters
    ----------
    no : ndarray of shape (K, d)
        Of a number up to the threshold.
    yes : ndarray of shape (K, d)
        Of one above it.
    """

    no: Array
    yes: Array


@dataclass(frozen=True)
class Threshold(ByColumn[ThresholdStatistics, ThresholdParams]):
    """Numbers above a threshold (x_j = 1) or not: P(x_j = 1 | c) = (n_c1 + a) / (n_c + 2a).

    Parameters
    ----------
    alpha : float or sequence of float, default=1.0
        Additive smoothing a; 1 is Laplace smoothing. A sequence has a number for each column.
    threshold : float, default=0.0
        Numbers above it are 1, others 0.

    See Also
    --------
    Binned : More than two intervals.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.distributions import Threshold
    >>> model = NaiveBayes(Threshold(threshold=37.5)).fit([[36.6], [36.9], [38.2]], ["well", "well", "ill"])
    >>> model.predict([[39.0]]).tolist()
    ['ill']
    """

    alpha: float | Sequence[float] = 1.0
    threshold: float = 0.0

    name = "threshold"
    kinds = ("binary", "real", "count")
    cells = ("no", "yes")
    statistics_type = ThresholdStatistics
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
        if not np.isfinite(self.threshold):
            raise OptionError(f"threshold must be a finite number; got {brief(self.threshold)}.")

    def plot_style(self) -> PlotStyle:
        return "sides"

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> ThresholdStatistics:
        assert isinstance(data, Numbers | Sparse)
        if isinstance(data, Sparse) and self.threshold < 0:  # zeros, which are not stored, lie above it
            return dense_sum(self, data, y, w, K)
        if isinstance(data, Numbers):
            n, yes = _core.binary_counts(data.columns, self.threshold, y, w, K)
        else:
            yes = _core.csr_sums(data.distinct().view, y, w, K, self.threshold)
            n = np.broadcast_to(_core.class_weights(y, w, K)[:, None], yes.shape)
        return ThresholdStatistics(np.maximum(n - yes, 0.0), yes)  # two sums of fractions may differ by a rounding

    def check(self, s: ThresholdStatistics, context: Context) -> None:
        check_per_column(self.alpha, context.d)
        expect(s, dict.fromkeys(self.cells, (context.K, context.d)), at_least_0=self.cells)

    def estimate(self, s: ThresholdStatistics, context: Context) -> ThresholdParams:  # noqa: ARG002
        no, yes = _core.threshold_estimate(s.no, s.yes, per_column(self.alpha, s.no.shape[1]))
        return ThresholdParams(no, yes)

    def log_prior_density(self, s: ThresholdStatistics, p: ThresholdParams) -> float:  # noqa: ARG002
        """Return the log prior density under which `estimate` is the most probable value, up to a constant.

        Beta: a (log p + log(1 − p)).
        """
        return weighted(self.alpha, p.no + p.yes)

    def score(self, scorer: _core.Scorer, data: Data, p: ThresholdParams) -> None:
        if isinstance(data, Sparse):
            if self.threshold >= 0 and np.isfinite(p.no).all() and np.isfinite(p.yes).all():
                weight = np.ascontiguousarray((p.yes - p.no).T)
                scorer.csr(data.distinct().view, weight, p.no.sum(axis=1), self.threshold, False)
            else:  # −inf cannot be added and taken away again, nor zeros that are not stored be counted
                dense_scores(self, scorer, data, p, p.no.shape[0])
            return
        assert isinstance(data, Numbers)
        no, yes = np.ascontiguousarray(p.no.T), np.ascontiguousarray(p.yes.T)
        scorer.binary(data.columns, self.threshold, no, yes)

    def statistics_of_one(self, x: Array, weight: Array) -> ThresholdStatistics:
        above = x > self.threshold
        return ThresholdStatistics(np.where(above, 0.0, weight), np.where(above, weight, 0.0))

    def log_of_one(self, x: Array, p: ThresholdParams) -> Array:
        return np.where(np.isnan(x), 0.0, np.where(x > self.threshold, p.yes, p.no))

    def repeated(self, rows: int) -> Self:
        return replace(self, alpha=repeated_alpha(self.alpha, rows))

    def sample(self, p: ThresholdParams, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
        """Draw one value for each row and column, given the class of each row.

        They are 0 and 1 where the threshold lies between them, else numbers on its two sides.

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
        yes = np.exp(p.yes)[y]
        drawn = rng.random(yes.shape) < yes
        if 0 <= self.threshold < 1:
            return list(drawn.astype(np.int64).T)
        above = max(self.threshold + 1.0, float(np.nextafter(self.threshold, np.inf)))
        return list(np.where(drawn, above, min(self.threshold, 0.0)).T)

    def describe(self, p: ThresholdParams, j: int, k: int, labels: Sequence[str]) -> dict[str, float]:
        names = labels if len(labels) == 2 else (f"<= {self.threshold:g}", f"> {self.threshold:g}")
        return {str(names[0]): float(np.exp(p.no[k, j])), str(names[1]): float(np.exp(p.yes[k, j]))}

    def column(self, p: ThresholdParams, j: int) -> ThresholdParams:
        return ThresholdParams(p.no[:, j : j + 1], p.yes[:, j : j + 1])

    def outcomes(self, p: ThresholdParams, j: int) -> Array:
        return np.stack([p.no[:, j], p.yes[:, j]])

    def linear(self, p: ThresholdParams, log_prior: NDArray[np.float64]) -> tuple[Array, Array]:  # noqa: ARG002
        """Return weight and bias with log P(x | class) = weight x + bias, up to a term that all classes share.

        x is 0 or 1, by the threshold.
        """
        with np.errstate(invalid="ignore"):
            return p.yes - p.no, p.no.sum(axis=1)

    def features(self) -> Features:
        return "threshold"

    def n_parameters(self, p: ThresholdParams, context: Context) -> int:  # noqa: ARG002
        return context.K * context.d

    def fast_row(
        self,
        columns: Sequence[RowColumn],
        s: ThresholdStatistics,
        context: Context,  # noqa: ARG002
    ) -> _core.FastRowTerm | str:
        alpha = per_column(self.alpha, len(columns))
        return _core.FastThreshold([c.place for c in columns], s.no, s.yes, alpha, float(self.threshold))

    def export(self, p: ThresholdParams, context: Context) -> Exported | str:
        above = cut_at([float(np.nextafter(self.threshold, np.inf))])  # the smallest number above it
        log = plain(np.stack([p.no.T, p.yes.T], axis=1))
        return {"form": "table", "log": log, "other": None, "reads": [above] * context.d}
