"""What a distribution may offer beside the methods of Distribution: closed forms, fast paths, facts for other rooms.

A distribution names what it offers in `capabilities = (LinearForm, …)` and writes the methods below; whoever needs one
asks `capability(distribution, LinearForm)` and takes the general way where the answer is None. A subclass that rewrites
one of REPLACED keeps of its base's capabilities only those of KEPT, and names again what else still holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Data, rows_of
from tallybayes.data.schema import Levels, Schema
from tallybayes.data.table import Table
from tallybayes.distributions.context import (
    Context,
    Counted,
    Exported,
    Features,
    PlotStyle,
    RowColumn,
    RowScores,
    Weights,
)
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from tallybayes.distributions.base import Distribution

C = TypeVar("C")
REPLACED = frozenset({"encode", "add", "combine", "estimate", "score"})  # verbs that capabilities stand in for


def capability(distribution: Distribution, wanted: type[C]) -> C | None:
    """The distribution as one that can do this, or None if its class does not offer it."""
    return cast("C", distribution) if wanted in distribution.capabilities else None


# --- of statistics and parameters: a subclass keeps them whatever it rewrites -----------------------------------------


class Rescaling(Protocol):
    """Statistics that are more than arrays by class, as rows that count `factor` times as much have them."""

    def scale(self, s: Any, factor: float) -> Any: ...


class Reclassing(Protocol):
    """Such statistics where class c has become class to[c] of K; below 0, it is dropped."""

    def reclass(self, s: Any, to: Sequence[int], K: int) -> Any: ...


class ClassOptions(Protocol):
    """Options by class, as the distribution has them where class c has become class to[c] of K."""

    def with_classes(self, to: Sequence[int], K: int) -> Any: ...


class LevelCounts(Protocol):
    """Statistics of columns with levels."""

    def sizes(self, s: Any) -> NDArray[np.int64]:
        """How many codes each column has had; columns that stay numbers come last, and are not listed."""

    def relevel(self, s: Any, maps: Sequence[Sequence[int] | None]) -> Any:
        """The statistics where level v of column j has become level maps[j][v]."""


class LevelWeights(Protocol):
    """The weight of the rows that had each level, the levels of one column after those of the other."""

    def level_weights(self, s: Any) -> NDArray[np.float64]: ...


class DroppedLevels(Protocol):
    """Levels that no row has any more can be dropped: keep[j] lists the codes of column j that stay, None: all."""

    def drop_levels(self, s: Any, keep: Sequence[NDArray[np.intp] | None]) -> Any: ...


class Vocabulary(Protocol):
    """Levels of two models become one list in a way of their own, as hashed words do."""

    def join_levels(self, first: Levels, second: Levels) -> Levels: ...

    def level_map(self, own: Levels, joined: Levels) -> list[int]: ...


class SeenColumns(Protocol):
    """Which of d columns had a value in some row: of the others nothing is said and none is drawn."""

    def seen_columns(self, s: Any, d: int) -> NDArray[np.bool_]: ...


class SumsOfSquares(Protocol):
    """Statistics with sums of squares about means, in which subtracting an outlier leaves few digits."""

    def sums_of_squares(self, s: Any) -> tuple[Array, Array]:
        """Weights and sums of squares, (K, d), or (1, d) of all classes together."""


class LearnedCuts(Protocol):
    """Columns of numbers are cut into intervals, chosen on the first rows."""

    def learn_cuts(
        self, table: Table, schema: Schema, columns: Sequence[int], y: NDArray[np.int32], w: Weights, K: int
    ) -> Schema: ...


class IndependentColumns(Protocol):
    """Columns are independent given the class: the parameters of column j alone."""

    def column(self, p: Any, j: int) -> Any: ...


class ParameterCount(Protocol):
    """How many free numbers P(x | class) has, in all classes together."""

    def n_parameters(self, p: Any, context: Context) -> int: ...


KEPT = frozenset(
    {
        Rescaling,
        Reclassing,
        ClassOptions,
        LevelCounts,
        LevelWeights,
        DroppedLevels,
        Vocabulary,
        SeenColumns,
        LearnedCuts,
    }
    | {IndependentColumns, ParameterCount}
)


# --- learning ---------------------------------------------------------------------------------------------------------


class TableCounts(Protocol):
    """`encode` and `add` in one, for rows that are not looked at again; None for the general way."""

    def count_table(
        self, table: Table, schema: Schema, columns: Sequence[int], y: NDArray[np.int32], w: Weights, K: int
    ) -> tuple[Any, Schema] | None: ...


class SQLCounts(Protocol):
    """What a database can count in its place.

    'moments': n, mean, low and m2 of single columns of numbers.  'levels': count and sizes of single columns.  'sets':
    single, sizes and joint, of single columns and of the sets in `tables`.
    """

    def counted_as(self) -> Counted | None: ...


class KeptChoices(Protocol):
    """Parameters of other statistics, with what was chosen by leave-one-out or the like kept as it is in p."""

    def reestimate(self, s: Any, context: Context, p: Any) -> Any: ...


class LeaveOneOut(Protocol):
    """log P(x | class) (n, K) of rows in the statistics, each by the statistics without `unit` of the row itself."""

    def leave_one_out(
        self, data: Data, y: NDArray[np.int32], unit: NDArray[np.float64], s: Any, p: Any, context: Context
    ) -> Array: ...


class VarianceSmoothing(Protocol):
    """Its option `var_smoothing` is a share of the overall variance, which the estimators may choose."""

    var_smoothing: float


class ColumnLeaveOneOut(Protocol):
    """The same of each column alone, (d, n, K), for the choice among the candidates for a column."""

    def leave_one_out_columns(
        self, data: Any, y: NDArray[np.int32], unit: NDArray[np.float64], s: Any, context: Context
    ) -> Array: ...


class LogPrior(Protocol):
    """The log prior density that smoothing stands for, up to a constant: EM climbs the likelihood plus this."""

    def log_prior_density(self, s: Any, p: Any) -> float: ...


class NoLikelihood(Protocol):
    """Why rows without a label cannot be learned, and what to do; None where they can."""

    def no_likelihood(self) -> str | None: ...


# --- predicting -------------------------------------------------------------------------------------------------------


class WholePrediction(Protocol):
    """A whole prediction, shorter than by `score`, where this is the only distribution of a model."""

    def predict(self, data: Data, p: Any, how: str, start: Array) -> Array: ...


class CompiledMatrix(Protocol):
    """Compiled code that reads few rows of a matrix and predicts in one call, where this is all of a model."""

    def fast_matrix(self, columns: Sequence[RowColumn], p: Any, start: Array) -> _core.FastMatrix | None: ...


class CompiledRow(Protocol):
    """Compiled code that learns and scores one dict at a time, to the bit as the verbs do; or why there is none."""

    def fast_row(self, columns: Sequence[RowColumn], s: Any, context: Context) -> _core.FastRowTerm | str: ...


class PackedRow(Protocol):
    """How one row is scored by its packed codes alone, where this is all of a model."""

    def row_scores(self, p: Any) -> RowScores | None: ...


class CheckRows(Protocol):
    """Refuse what `score` refuses and report the categories that it reports, without scores."""

    def check_rows(self, scorer: _core.Scorer, data: Data, p: Any) -> None: ...


# --- what it is -------------------------------------------------------------------------------------------------------


class ColumnTerms(Protocol):
    """What each column adds to log P(x | class): (n, columns, K), or one more that belongs to no column."""

    def terms(self, data: Data, p: Any, K: int) -> Array: ...


class Pieces(Protocol):
    """What the pieces of a value, such as the words of a text, add to log P(x | class) in row i."""

    def pieces(self, data: Data, p: Any, i: int) -> list[tuple[str, Floats]]: ...


class Outcomes(Protocol):
    """The log probability of each value that column j can have: (values, K); None if they are not a short list."""

    def outcomes(self, p: Any, j: int) -> Array | None: ...


class MarginalDensity(Protocol):
    """log p(x_j | class) of values of one column, whatever the others are: (n, K), or None."""

    def marginal_log_density(self, p: Any, j: int, x: Array) -> Floats | None: ...


class LinearForm(Protocol):
    """Weight (K, columns) and bias (K,) with log P(x | class) = weight x + bias, up to a term that all classes share.

    A weight is infinite where a probability is 0. A column of levels counts as one column for each of them, 1 where a
    row has it; for a threshold x is 1 above it. None where these options are not linear.
    """

    def linear(self, p: Any, log_prior: NDArray[np.float64]) -> tuple[Array, Array] | None: ...


class QuadraticForm(Protocol):
    """A (K, d, d), b (K, d) and c (K,) with log P(x | class) = xᵀ A x + xᵀ b + c."""

    def quadratic(self, p: Any) -> tuple[Array, Array, Array]: ...


class NormalMarginals(Protocol):
    """Means (from those of the first class) and variances (K, columns), each column by itself being Gaussian."""

    def normal_marginals(self, p: Any) -> tuple[Array, Array]: ...


class JointGaussian(Protocol):
    """Means (K, columns) and covariances of the Gaussian that some columns have together in each class."""

    def joint_gaussian(self, p: Any, columns: Sequence[int]) -> tuple[Floats, Floats]: ...


class CountsExport(Protocol):
    """A smaller export: counts, from which the reader smooths what it needs; None for the general way."""

    def export_counts(self, s: Any, p: Any) -> Exported | None: ...


class LogOddsFeatures(Protocol):
    """In which functions of its columns the log-odds of two classes are linear.

    'numbers': x.  'squares': x, x².  'products': x, all x_i x_j.  'sphere': x, Σ x².  'levels': 0 or 1 for each level.
    'threshold': 0 or 1, by the field `threshold`.  'counts': x, of numbers that are 0 or more.
    """

    def features(self) -> Features: ...


class Plotted(Protocol):
    """How a column is drawn if not as a density curve.

    'positive': a curve over numbers above 0, since all others share one probability.  'whole': a probability of each
    whole number.  'sides': of both sides of the field `threshold`.  'share': one share
    of all its columns' counts, which belong into one picture.
    """

    def plot_style(self) -> PlotStyle: ...


# --- the general way where a capability is missing --------------------------------------------------------------------


def sizes(d: Distribution, s: Any) -> NDArray[np.int64] | None:
    """How many codes each column has had; None for columns of numbers."""
    counts = capability(d, LevelCounts)
    return None if counts is None else counts.sizes(s)


def seen_columns(d: Distribution, s: Any, columns: int) -> NDArray[np.bool_]:
    """Which columns had a value in some row, as far as the statistics show."""
    seen = capability(d, SeenColumns)
    return np.ones(columns, dtype=bool) if seen is None else seen.seen_columns(s, columns)


def plot_style(d: Distribution) -> PlotStyle:
    """How a column is drawn; columns of levels and intervals are drawn as such whatever it says."""
    plotted = capability(d, Plotted)
    return "curve" if plotted is None else plotted.plot_style()


def leave_one_out(
    d: Distribution, data: Data, y: NDArray[np.int32], unit: NDArray[np.float64], s: Any, p: Any, context: Context
) -> Array:
    """log P(x | class) (n, K) of rows in the statistics, each by the statistics without `unit` of the row itself."""
    closed = capability(d, LeaveOneOut)
    if closed is not None:
        return closed.leave_one_out(data, y, unit, s, p, context)
    return refitted_leave_one_out(d, data, y, unit, s, p, context)


def refitted_leave_one_out(
    d: Distribution, data: Data, y: NDArray[np.int32], unit: NDArray[np.float64], s: Any, p: Any, context: Context
) -> Array:
    """The same by an estimate for each row: right for any distribution."""
    kept = capability(d, KeptChoices)
    out = np.empty((len(y), context.K))
    for i in range(len(y)):
        row = rows_of(data, slice(i, i + 1))
        less = d.combine(s, d.add(row, y[i : i + 1], unit[i : i + 1], context.K), -1)
        without = context.without(int(y[i]), float(unit[i]))
        found = d.estimate(less, without) if kept is None else kept.reestimate(less, without, p)
        scorer = _core.Scorer(1, np.zeros(context.K))
        d.score(scorer, row, found)
        out[i] = scorer.joint()[0]
    return out
