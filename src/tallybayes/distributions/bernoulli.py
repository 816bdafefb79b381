"""Yes or no: a column of two labels, or numbers above or below a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions.base import (
    Array,
    Context,
    Distribution,
    Params,
    RowColumn,
    Stats,
    Weights,
    dense_scores,
    expect,
)
from tallybayes.distributions.by_column import left_out_by_column
from tallybayes.distributions.categorical import Categorical, check_alpha, check_per_column, per_column, weighted
from tallybayes.distributions.records import arrays_of
from tallybayes.encode import Data, Numbers, Sparse
from tallybayes.errors import OptionError


@dataclass(frozen=True)
class Bernoulli(Categorical):
    """P(x_j = v | c) = (n_cv + a) / (n_c + 2a) for a column with two labels, whichever they are."""

    name = "bernoulli"
    kinds = ("binary", "categorical")

    def _existing(self, s: Stats, context: Context) -> tuple[list[Array], Array]:
        exist, N = super()._existing(s, context)
        return exist, np.full(len(N), 3.0 if self.other else 2.0)

    def _counts_levels(self) -> bool:
        return False


@dataclass(frozen=True)
class Threshold(Distribution):
    """P(x_j = 1 | c) = (n_c1 + a) / (n_c + 2a);  x is 1 where the number is above the threshold.

    alpha may be one number or one per column.
    """

    alpha: float | Sequence[float] = 1.0
    threshold: float = 0.0

    name = "threshold"
    kinds = ("binary", "real", "count")
    cells = ("no", "yes")

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        if not np.isfinite(self.threshold):
            raise OptionError(f"threshold must be a finite number; got {self.threshold!r}.")

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> Stats:
        assert isinstance(data, Numbers | Sparse)
        if isinstance(data, Numbers):
            n, yes = _core.binary_counts(data.columns, self.threshold, y, w, K)
        elif self.threshold < 0:
            raise OptionError(f"A sparse table needs a threshold of at least 0; got {self.threshold}.")
        else:
            yes = _core.csr_sums(data.distinct().view, y, w, K, self.threshold)
            n = np.broadcast_to(_core.class_weights(y, w, K)[:, None], yes.shape)
        return {"no": np.maximum(n - yes, 0.0), "yes": yes}  # two sums of fractions may differ by a rounding

    def check(self, s: Stats, context: Context) -> None:
        check_per_column(self.alpha, context.d)
        expect(s, dict.fromkeys(self.cells, (context.K, context.d)), at_least_0=self.cells)

    def estimate(self, s: Stats, context: Context) -> Params:  # noqa: ARG002
        no, yes = _core.threshold_estimate(s["no"], s["yes"], per_column(self.alpha, s["no"].shape[1]))
        return {"no": no, "yes": yes}

    def penalty(self, s: Stats, p: Params) -> float:  # noqa: ARG002
        """Beta: a (log p + log(1 − p))."""
        return weighted(self.alpha, p["no"] + p["yes"])

    def score(self, scorer: _core.Scorer, data: Data, p: Params) -> None:
        if isinstance(data, Sparse):
            if np.isfinite(p["no"]).all() and np.isfinite(p["yes"]).all():
                weight = np.ascontiguousarray((p["yes"] - p["no"]).T)
                scorer.csr(data.distinct().view, weight, p["no"].sum(axis=1), self.threshold, False)
            else:  # −inf cannot be added and taken away again
                dense_scores(self, scorer, data, p, p["no"].shape[0])
            return
        assert isinstance(data, Numbers)
        no, yes = np.ascontiguousarray(p["no"].T), np.ascontiguousarray(p["yes"].T)
        scorer.binary(data.columns, self.threshold, no, yes)

    def left_out(
        self, data: Data, y: NDArray[np.int32], unit: NDArray[np.float64], s: Stats, p: Params, context: Context
    ) -> Array:
        def alone(x: Array, weight: Array) -> Stats:
            above = x > self.threshold
            return {"no": np.where(above, 0.0, weight), "yes": np.where(above, weight, 0.0)}

        def log(x: Array, q: Params) -> Array:
            return np.where(np.isnan(x), 0.0, np.where(x > self.threshold, q["yes"], q["no"]))

        return left_out_by_column(self, data, y, unit, s, p, context, alone, log)

    def sample(self, p: Params, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
        """0 and 1 where the threshold lies between them, else numbers on its two sides."""
        yes = np.exp(p["yes"])[y]
        drawn = rng.random(yes.shape) < yes
        if 0 <= self.threshold < 1:
            return list(drawn.astype(np.int64).T)
        above = max(self.threshold + 1.0, float(np.nextafter(self.threshold, np.inf)))
        return list(np.where(drawn, above, min(self.threshold, 0.0)).T)

    def describe(self, p: Params, j: int, k: int, labels: Sequence[str]) -> dict[str, float]:
        names = labels if len(labels) == 2 else (f"<= {self.threshold:g}", f"> {self.threshold:g}")
        return {str(names[0]): float(np.exp(p["no"][k, j])), str(names[1]): float(np.exp(p["yes"][k, j]))}

    def column(self, p: Params, j: int) -> Params:
        return {key: p[key][:, j : j + 1] for key in ("no", "yes")}

    def outcomes(self, p: Params, j: int) -> Array:
        return np.stack([p["no"][:, j], p["yes"][:, j]])

    def row_door(self, columns: Sequence[RowColumn], s: Stats, context: Context) -> _core.DoorPart | str:  # noqa: ARG002
        a, places = arrays_of(s), [c.place for c in columns]
        return _core.ThresholdDoor(
            places, a["no"], a["yes"], per_column(self.alpha, len(columns)), float(self.threshold)
        )
