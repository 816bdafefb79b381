"""GaussianBlock: one multivariate Gaussian per class over all numeric columns of a group."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Data, Numbers, Sparse
from tallybayes.distributions.base import Distribution
from tallybayes.distributions.capabilities import (
    ColumnTerms,
    CompiledMatrix,
    JointGaussian,
    LeaveOneOut,
    LinearForm,
    LogOddsFeatures,
    NoLikelihood,
    NormalMarginals,
    ParameterCount,
    QuadraticForm,
    Reclassing,
    Rescaling,
    SeenColumns,
    SumsOfSquares,
    WholePrediction,
)
from tallybayes.distributions.context import Context, Exported, Features, RowColumn, Weights, plain
from tallybayes.distributions.multivariate import (
    covariance,
    gaussian_column_terms,
    gaussian_leave_one_out,
    gaussian_moments,
    ledoit_wolf,
    marginal_gaussian,
    wide_gaussian,
)
from tallybayes.distributions.multivariate.gaussian_moments import finite_rows
from tallybayes.distributions.multivariate.gaussian_parameters import (
    BlockParams,
    SharedParams,
    SharedWideParams,
    WideParams,
)
from tallybayes.distributions.multivariate.gaussian_statistics import (
    BlockStatistics,
    CompactStatistics,
    FourthStatistics,
    WeighedStatistics,
    WideStatistics,
)
from tallybayes.distributions.sparse_blocks import dense_leave_one_out, dense_sum
from tallybayes.distributions.statistics import away
from tallybayes.distributions.univariate.gaussian import quadratic_form
from tallybayes.errors import OptionError, brief, is_number, require_memory
from tallybayes.utils.array_types import Array, Floats

NEW_ROWS = 1 << 20  # cells of a block of rows that is scored in NumPy
RELATIVE = ("proba", "log_proba", "best")  # answers in which only differences between the classes matter
SHARED = (SharedParams, SharedWideParams)  # of one covariance for all classes


@dataclass(frozen=True)
class GaussianBlock(Distribution[BlockStatistics, BlockParams]):
    """The normal distribution of several columns at once.

    log p(x | c) = −½ log|2π Σ_c| − ½ (x − μ_c)ᵀ Σ_c⁻¹ (x − μ_c)

    Statistics: weight, mean and centred scatter of each class; one pooled scatter if no class needs its own.
    Σ_c(w) = w S_c + (1 − w) Σ,  then  (1 − γ) Σ_c(w) + γ (tr Σ_c(w) / d) I;  w: own_covariance.  See covariance.py
    for what is done where data leave Σ_c without full rank, gaussian_statistics.py for missing values.

    Parameters
    ----------
    own_covariance : float, default=0.0
        1: each class has its own covariance; 0: one shared.
    gamma : float, str or tuple of float, default=0.0
        A number; or, towards the class's own variances, 'oas', 'ledoit-wolf' or one number per class.
    ridge : float, default=0.0
        (1 − ridge) Σ_c + ridge I, in the units of the data.
    ddof : {0, 1}, default=0
        Scatters are divided by n − ddof.
    tol : float, default=1e-4
        Directions in which data vary less than this are taken as not varying.
    separate : bool, default=False
        Whether a scatter is kept for each class even if the estimate needs none.
    given : bool, default=False
        Whether the scatter was made from covariances that do not add.
    """

    own_covariance: float = 0.0
    gamma: float | str | tuple[float, ...] = 0.0
    ridge: float = 0.0
    ddof: int = 0
    tol: float = 1e-4
    separate: bool = False  # keep a scatter per class even if the estimate needs none
    given: bool = False  # the scatter was made from covariances that do not add

    name = "gaussian block"
    kinds = ("real", "count", "binary")
    statistics_type = (CompactStatistics, FourthStatistics, WideStatistics, WeighedStatistics)
    statistics_options = ("pooled", "fourth", "given")
    capabilities: ClassVar[Collection[type]] = (
        ColumnTerms,
        CompiledMatrix,
        JointGaussian,
        LeaveOneOut,
        LinearForm,
        LogOddsFeatures,
        NoLikelihood,
        NormalMarginals,
        ParameterCount,
        QuadraticForm,
        Reclassing,
        Rescaling,
        SeenColumns,
        WholePrediction,
        SumsOfSquares,
    )

    def __post_init__(self) -> None:
        if self.ddof not in (0, 1):
            raise OptionError(f"ddof must be 0 (divide by n) or 1 (divide by n − 1); got {brief(self.ddof)}.")
        if not is_number(self.own_covariance) or not 0 <= self.own_covariance <= 1:
            raise OptionError(
                "own_covariance must be between 0 (one covariance) and 1 (each its own); got "
                f"{brief(self.own_covariance)}."
            )
        covariance.check_shrinkage(self.gamma)
        if not is_number(self.ridge) or not 0 <= self.ridge <= 1:
            raise OptionError(f"reg_param must be between 0 and 1; got {brief(self.ridge)}.")
        if not is_number(self.tol) or self.tol < 0:
            raise OptionError(f"tol must be a number of at least 0; got {brief(self.tol)}.")

    @property
    def pooled(self) -> bool:
        """One scatter for all classes is enough."""
        return bool(self.own_covariance == 0 and is_number(self.gamma) and not self.separate)

    @property
    def fourth(self) -> bool:
        """Fourth moments are kept."""
        return self.gamma == "ledoit-wolf"

    @property
    def amount(self) -> float:
        """γ where it is one number for all classes, else 0."""
        return float(self.gamma) if is_number(self.gamma) else 0.0  # type: ignore[arg-type]

    @property
    def shared(self) -> bool:
        """All classes have one covariance: boundaries are linear."""
        return bool(self.own_covariance == 0)

    # --- adding ------------------------------------------------------------------------------------------------

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> BlockStatistics:
        assert isinstance(data, Numbers | Sparse)
        vectors = data.n if data.n <= data.d else data.d * (1 if self.pooled else K)  # of wide tables the rows are kept
        require_memory(
            2 * data.d * vectors,  # with a copy while they are counted
            f"A covariance of {data.n:,} rows, {data.d:,} columns and {K:,} classes",
            "Use covariance='diagonal' or GaussianNB, or fewer columns or classes.",
        )
        if isinstance(data, Sparse):
            return dense_sum(self, data, y, w, K)
        assert isinstance(data, Numbers)
        s = gaussian_moments.count(data, y, w, K, self.pooled, self.fourth)
        return ledoit_wolf.count(data, y, w, s) if self.fourth else s

    def combine(self, a: BlockStatistics, b: BlockStatistics, sign: int = 1) -> BlockStatistics:
        if not self.fourth:
            return gaussian_moments.combine(a, b, sign, self.pooled)
        a, b = ledoit_wolf.written(a), ledoit_wolf.written(b)
        return ledoit_wolf.combine(a, b, gaussian_moments.combine_written(a, b, sign, self.pooled), sign)

    def sums_of_squares(self, s: BlockStatistics) -> tuple[Array, Array]:
        n, squares = s.by_column()[0], s.squares(self.pooled)
        return n.sum(axis=0, keepdims=True) if self.pooled else n, squares

    def scale(self, s: BlockStatistics, factor: float) -> BlockStatistics:
        return s.scaled(factor)

    def reclass(self, s: BlockStatistics, to: Sequence[int], K: int) -> BlockStatistics:
        return s.reclassed(to, K, self.pooled)

    def check(self, s: BlockStatistics, context: Context) -> None:
        if isinstance(s, FourthStatistics | WeighedStatistics) != self.fourth:
            raise ValueError("third and fourth moments are missing" if self.fourth else "it has fourth moments")
        s.check(context.K, context.d, self.pooled)
        if isinstance(self.gamma, tuple) and len(self.gamma) != context.K:
            raise ValueError(f"gamma has {len(self.gamma)} numbers for {context.K} classes")

    def seen_columns(self, s: BlockStatistics, d: int) -> NDArray[np.bool_]:  # noqa: ARG002
        return s.seen_columns()

    # --- reading -----------------------------------------------------------------------------------------------

    def estimate(self, s: BlockStatistics, context: Context) -> BlockParams:  # noqa: ARG002
        for value, most in s.limits():
            fine = (np.abs(value) <= most).all(axis=tuple(range(value.ndim - 1)))
            if not fine.all():
                j = int(np.argmin(fine)) if value.ndim > 1 else 0
                raise _core.BadValue("overflow", 0, j, float(np.nanmax(np.abs(s.mean))))
        if isinstance(s, WideStatistics) and is_number(self.gamma) and self.ridge == 0:
            return wide_gaussian.estimate(s, self)
        return covariance.estimate(s, self)

    def start(self, scorer: _core.Scorer, data: Numbers, p: BlockParams, relative: bool) -> _core.RowFlags:
        """Add the scores of complete rows."""
        missing = _core.RowFlags(data.n)
        if relative and isinstance(p, SHARED):
            scorer.affine(data.columns, p.weight, p.bias, p.centre, missing)
        else:
            scorer.quadratic(data.columns, p.mean, p.low, p.factor, p.constant, missing)
        return missing

    def predict(self, data: Data, p: BlockParams, how: str, start: Array) -> Array:
        relative = how in RELATIVE
        scorer = _core.Scorer(data.n, start)
        if not isinstance(data, Numbers) or not self.can_start(p, relative):
            scorer.added(self.scores(data, p))
            return np.asarray(getattr(scorer, how)())
        missing = self.start(scorer, data, p, relative)
        answer: Array = getattr(scorer, how)()
        rows = missing.rows()
        if len(rows):
            again = _core.Scorer(len(rows), start[rows] if start.ndim == 2 else start)
            again.added(marginal_gaussian.scores(data, rows, p))
            answer[rows] = getattr(again, how)()
        return answer

    def no_likelihood(self) -> str | None:
        if self.given:
            return "covariance_estimator needs labelled rows, and cannot add others. Use shrinkage= instead."
        return None

    def joint_gaussian(self, p: BlockParams, columns: Sequence[int]) -> tuple[Floats, Floats] | None:
        return p.mean[:, list(columns)], np.array([p.covariance(k, columns) for k in range(len(p.mean))])

    def fast_matrix(self, columns: Sequence[RowColumn], p: BlockParams, start: Array) -> _core.FastMatrix | None:  # noqa: ARG002
        if isinstance(p, SHARED):
            return _core.FastMatrix.affine(start, p.weight, p.bias, p.centre)
        return (
            None
            if isinstance(p, WideParams)
            else _core.FastMatrix.quadratic(start, p.mean, p.low, p.factor, p.constant)
        )

    def can_start(self, p: BlockParams, relative: bool) -> bool:
        """Return whether `start` can score with these parameters."""
        return not isinstance(p, WideParams) or (relative and isinstance(p, SharedWideParams))

    def score(self, scorer: _core.Scorer, data: Data, p: BlockParams) -> None:
        scorer.added(self.scores(data, p))

    def scores(self, data: Data, p: BlockParams) -> Array:
        """Return log p(x | class), the missing coordinates integrated out."""
        if isinstance(data, Sparse):
            return np.concatenate([self.scores(block, p) for _, block in data.dense_blocks()] or [np.empty((0, p.K))])
        assert isinstance(data, Numbers)
        out = np.empty((data.n, p.K))
        if isinstance(p, WideParams):
            step = max(1, NEW_ROWS // max(1, data.d))
            for i in range(0, data.n, step):
                rows = slice(i, min(data.n, i + step))
                x = finite_rows(data, np.arange(rows.start, rows.stop))
                out[rows] = wide_gaussian.scores(x, p)
        else:
            out = _core.quadratic_scores(data.columns, p.mean, p.low, p.factor, p.constant)
        incomplete = np.flatnonzero(np.isnan(out[:, 0])) if p.K else np.empty(0, np.int64)
        if len(incomplete):
            out[incomplete] = marginal_gaussian.scores(data, incomplete, p)
        return out

    def leave_one_out(
        self,
        data: Data,
        y: NDArray[np.int32],
        unit: NDArray[np.float64],
        s: BlockStatistics,
        p: BlockParams,
        context: Context,
    ) -> Array:
        if isinstance(data, Sparse):
            return dense_leave_one_out(self, data, y, unit, s, p, context)
        assert isinstance(data, Numbers)
        return gaussian_leave_one_out.leave_one_out(self, data, y, unit, s, p, context)

    def sample(self, p: BlockParams, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
        d = p.mean.shape[1]
        out = np.empty((len(y), d))
        for k in np.unique(y).tolist():
            here = np.flatnonzero(y == k)
            out[here] = p.mean[k] + p.coloured(rng.normal(size=(len(here), d)), k)
        return list(out.T)

    def describe(self, p: BlockParams, j: int, k: int, labels: Sequence[str]) -> dict[str, float]:  # noqa: ARG002
        return {"mean": float(p.mean[k, j]), "variance": float(p.covariance(k, [j])[0, 0])}

    def terms(self, data: Data, p: BlockParams, K: int) -> Array:
        """Return what each column adds to log p(x | class); gaussian_column_terms.py has the split."""
        if isinstance(data, Sparse):
            return np.concatenate(
                [self.terms(block, p, K) for _, block in data.dense_blocks()] or [np.empty((0, p.mean.shape[1], K))]
            )
        assert isinstance(data, Numbers)
        return gaussian_column_terms.terms(finite_rows(data, np.arange(data.n)), p)

    # --- as a linear or quadratic form -------------------------------------------------------------------------

    def linear(self, p: BlockParams, log_prior: NDArray[np.float64]) -> tuple[Array, Array] | None:  # noqa: ARG002
        if not isinstance(p, SHARED):
            return None
        return p.weight, p.bias - p.weight @ p.centre

    def quadratic(self, p: BlockParams) -> tuple[Array, Array, Array]:
        return quadratic_form(np.stack([-0.5 * p.precision(k) for k in range(p.K)]), p.mean, p.constant)

    def normal_marginals(self, p: BlockParams) -> tuple[Array, Array]:
        return away(p, p.mean[0]), p.variances()

    def features(self) -> Features:
        return "numbers" if self.shared else "products"

    def n_parameters(self, p: BlockParams, context: Context) -> int:  # noqa: ARG002
        K, d = context.K, context.d
        return K * d + (1 if self.shared else K) * d * (d + 1) // 2

    def export(self, p: BlockParams, context: Context) -> Exported | str:
        if isinstance(p, WideParams):
            return (
                f"its {context.d} columns are more than the rows that it learned span, and such a covariance has no "
                "form for other programs; learn more rows, or use fewer columns"
            )
        varies = np.ix_(p.keep, p.keep)
        return {
            "form": "block",
            "keep": p.keep.tolist(),
            "mean": plain(p.mean),
            "low": plain(p.low),
            "factor": [[plain(row[: i + 1]) for i, row in enumerate(np.asarray(each)[varies])] for each in p.factor],
        }
