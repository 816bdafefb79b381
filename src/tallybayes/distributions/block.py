"""GaussianBlock: one multivariate Gaussian per class over all numeric columns of a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions import block_left_out, block_tally, block_terms, covariance, ledoit_wolf, marginal, wide
from tallybayes.distributions.base import (
    Array,
    Context,
    Distribution,
    Params,
    Stats,
    Weights,
    dense_left_out,
    dense_sum,
)
from tallybayes.encode import Data, Numbers, Sparse
from tallybayes.errors import OptionError, is_number

MOST = float(np.finfo(np.float64).max)
ROOT = 1e150  # squares of these can be summed
NEW_ROWS = 1 << 20  # cells of a block of rows that is scored in NumPy
RELATIVE = ("proba", "log_proba", "best")  # answers in which only differences between the classes matter


@dataclass(frozen=True)
class GaussianBlock(Distribution):
    """log p(x | c) = −½ log|2π Σ_c| − ½ (x − μ_c)ᵀ Σ_c⁻¹ (x − μ_c)

    Tally: weight, mean and centred scatter of each class; one pooled scatter if no class needs its own.
    Σ_c(α) = α S_c + (1 − α) Σ,  then  (1 − γ) Σ_c(α) + γ (tr Σ_c(α) / d) I.  See covariance.py for what is done
    where data leave Σ_c without full rank, block_tally.py for missing values.

    alpha: 1 each class its own covariance, 0 one shared.  gamma: a number; or, towards the class's own variances,
    'oas', 'ledoit-wolf' or one number per class.  ridge: (1 − ridge) Σ_c + ridge I, in the units of the data.
    """

    alpha: float = 0.0
    gamma: float | str | tuple[float, ...] = 0.0
    ridge: float = 0.0
    ddof: int = 0
    tol: float = 1e-4
    separate: bool = False  # keep a scatter per class even if the estimate needs none
    given: bool = False  # the scatter was made from covariances that do not add

    name = "gaussian block"
    kinds = ("real", "count", "binary")

    def __post_init__(self) -> None:
        if self.ddof not in (0, 1):
            raise OptionError(f"ddof must be 0 (divide by n) or 1 (divide by n − 1); got {self.ddof!r}.")
        if not is_number(self.alpha) or not 0 <= self.alpha <= 1:
            raise OptionError(f"alpha must be between 0 (one covariance) and 1 (each its own); got {self.alpha!r}.")
        covariance.check_shrinkage(self.gamma)
        if not is_number(self.ridge) or not 0 <= self.ridge <= 1:
            raise OptionError(f"reg_param must be between 0 and 1; got {self.ridge!r}.")
        if not is_number(self.tol) or self.tol < 0:
            raise OptionError(f"tol must be a number of at least 0; got {self.tol!r}.")

    @property
    def pooled(self) -> bool:
        """One scatter for all classes is enough."""
        return bool(self.alpha == 0 and is_number(self.gamma) and not self.separate)

    @property
    def fourth(self) -> bool:
        """Fourth moments are kept."""
        return self.gamma == "ledoit-wolf"

    def layout(self) -> tuple[Any, ...]:
        return (type(self), self.pooled, self.fourth, self.given)

    @property
    def amount(self) -> float:
        """γ where it is one number for all classes, else 0."""
        return float(self.gamma) if is_number(self.gamma) else 0.0  # type: ignore[arg-type]

    @property
    def linear(self) -> bool:
        return bool(self.alpha == 0)

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> Stats:
        if isinstance(data, Sparse):
            return dense_sum(self, data, y, w, K)
        assert isinstance(data, Numbers)
        s = block_tally.count(data, y, w, K, self.pooled, self.fourth)
        return ledoit_wolf.count(data, y, w, s) if self.fourth and "rows" not in s else s

    def combine(self, a: Stats, b: Stats, sign: int = 1) -> Stats:
        if not self.fourth:
            return block_tally.combine(a, b, sign, self.pooled)
        a, b = ledoit_wolf.written(a), ledoit_wolf.written(b)
        return ledoit_wolf.combine(a, b, block_tally.combine(a, b, sign, self.pooled), sign)

    def scale(self, s: Stats, factor: float) -> Stats:
        return block_tally.scale(s, factor)

    def reclass(self, s: Stats, to: Sequence[int], K: int) -> Stats:
        return block_tally.reclass(s, to, K, self.pooled)

    def check(self, s: Stats, context: Context) -> None:
        block_tally.check(s, context.K, context.d, self.pooled, self.fourth)
        if isinstance(self.gamma, tuple) and len(self.gamma) != context.K:
            raise ValueError(f"gamma has {len(self.gamma)} numbers for {context.K} classes")

    def met(self, s: Stats, d: int) -> NDArray[np.bool_]:
        return np.diagonal(s["n"].sum(axis=0)) > 0 if s["n"].ndim == 3 else super().met(s, d)

    def estimate(self, s: Stats, context: Context) -> Params:  # noqa: ARG002
        largest = {"rows": ROOT, "scatter": MOST / max(len(s["n"]), 1)}  # so that sums over classes are numbers too
        for key, value in s.items():
            if key in ("third", "fourth"):  # ledoit_wolf.py says more of these
                continue
            fine = (np.abs(value) <= largest.get(key, MOST)).all(axis=tuple(range(value.ndim - 1)))
            if not fine.all():
                j = int(np.argmin(fine)) if value.ndim > 1 else 0
                raise _core.BadValue("overflow", 0, j, float(np.nanmax(np.abs(s["mean"]))))
        if "rows" in s and is_number(self.gamma) and self.ridge == 0:
            return wide.estimate(s, self)
        return covariance.estimate(block_tally.dense(s, self.pooled), self)

    def start(self, scorer: _core.Scorer, data: Numbers, p: Params, relative: bool) -> _core.RowFlags:
        """Adds the scores of complete rows; gives back where the others will be noted.

        relative: only differences between the classes matter, so that a shared covariance is scored by its linear form.
        """
        missing = _core.RowFlags(data.n)
        if relative and self.linear:
            scorer.affine(data.columns, p["weight"], p["bias"], p["centre"], missing)
        else:
            scorer.quadratic(data.columns, p["mean"], p["low"], p["factor"], p["constant"], missing)
        return missing

    def answer(self, data: Data, p: Params, how: str, start: Array) -> Array:
        relative = how in RELATIVE
        scorer = _core.Scorer(data.n, start)
        if not isinstance(data, Numbers) or ("basis" in p and not (self.linear and relative)):
            scorer.added(self.scores(data, p))
            return np.asarray(getattr(scorer, how)())
        missing = self.start(scorer, data, p, relative)
        answer: Array = getattr(scorer, how)()
        rows = missing.rows()
        if len(rows):
            again = _core.Scorer(len(rows), start[rows] if start.ndim == 2 else start)
            again.added(marginal.scores(finite_rows(data, rows), p))
            answer[rows] = getattr(again, how)()
        return answer

    def score(self, scorer: _core.Scorer, data: Data, p: Params) -> None:
        scorer.added(self.scores(data, p))

    def scores(self, data: Data, p: Params) -> Array:
        """(n, K): log p(x | class), the missing coordinates integrated out."""
        K = len(p["constant"])
        if isinstance(data, Sparse):
            return np.concatenate([self.scores(block, p) for _, block in data.dense_blocks()] or [np.empty((0, K))])
        assert isinstance(data, Numbers)
        out = np.empty((data.n, K))
        if "basis" in p:
            step = max(1, NEW_ROWS // max(1, data.d))
            for i in range(0, data.n, step):
                rows = slice(i, min(data.n, i + step))
                x = finite_rows(data, np.arange(rows.start, rows.stop))
                out[rows] = wide.scores(x, p)
        else:
            out = _core.quadratic_scores(data.columns, p["mean"], p["low"], p["factor"], p["constant"])
        gaps = np.flatnonzero(np.isnan(out[:, 0])) if K else np.empty(0, np.int64)
        if len(gaps):
            out[gaps] = marginal.scores(finite_rows(data, gaps), p)
        return out

    def left_out(
        self, data: Data, y: NDArray[np.int32], unit: NDArray[np.float64], s: Stats, p: Params, context: Context
    ) -> Array:
        if isinstance(data, Sparse):
            return dense_left_out(self, data, y, unit, s, p, context)
        assert isinstance(data, Numbers)
        return block_left_out.left_out(self, data, y, unit, s, p, context)

    def sample(self, p: Params, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
        d = p["mean"].shape[1]
        out = np.empty((len(y), d))
        for k in np.unique(y):
            here = np.flatnonzero(y == k)
            noise = rng.normal(size=(len(here), d))
            out[here] = p["mean"][k] + (wide.colour(noise, p, k) if "basis" in p else covariance.colour(noise, p, k))
        return list(out.T)

    def describe(self, p: Params, j: int, k: int, labels: Sequence[str]) -> dict[str, float]:  # noqa: ARG002
        return {"mean": float(p["mean"][k, j]), "variance": float(marginal.variance(p, k, j))}

    def terms(self, data: Data, p: Params, K: int) -> Array:
        """See block_terms.py for the split."""
        if isinstance(data, Sparse):
            return super().terms(data, p, K)
        assert isinstance(data, Numbers)
        return block_terms.terms(finite_rows(data, np.arange(data.n)), p)


def finite_rows(data: Numbers, rows: NDArray[Any]) -> Array:
    """Some rows as one matrix; an infinity is refused."""
    x = block_tally.rows_of(data, rows)
    if np.isinf(x).any():
        i, j = (int(v) for v in np.argwhere(np.isinf(x))[0])
        raise _core.BadValue("infinite", int(rows[i]), j, float(x[i, j]))
    return x
