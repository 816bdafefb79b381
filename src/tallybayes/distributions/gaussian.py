"""Gaussian: N(μ_cj, σ²_cj), the variance of each class its own or shared by all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions.base import (
    DUST,
    NEVER_LEARNED,
    Array,
    Context,
    Distribution,
    Params,
    Stats,
    Weights,
    dense_scores,
    dense_sum,
    expect,
    spread,
)
from tallybayes.distributions.by_column import left_out_by_column
from tallybayes.distributions.means import combine_means, low_of, shape_of_low
from tallybayes.encode import Data, Numbers, Sparse
from tallybayes.errors import ForgetError, OptionError, is_number


@dataclass(frozen=True)
class Gaussian(Distribution):
    """log p(x | c) = −½ log(2π σ²_cj) − (x − μ_cj)² / (2 σ²_cj)

    own:     σ²_cj = M_cj / (n_cj − ddof)              M: centred sum of squares
    shared:  σ²_j  = Σ_c M_cj / (Σ_c n_cj − ddof·K)
    Then var_smoothing times the feature's variance over all classes is added: a floor in the feature's own units
    (and a variance is never below 1e-15 times that variance, even without smoothing).
    A feature that never varies says nothing and is left out. A class that never saw a feature takes the mean and
    variance of all classes together.
    """

    ddof: int = 0
    shared: bool = False
    var_smoothing: float = 1e-9

    name = "gaussian"
    kinds = ("real", "count", "binary")
    cells = ("n", "mean", "m2")

    def __post_init__(self) -> None:
        if self.ddof not in (0, 1):
            raise OptionError(f"ddof must be 0 (divide by n) or 1 (divide by n − 1); got {self.ddof!r}.")
        if not is_number(self.var_smoothing) or self.var_smoothing < 0:
            raise OptionError(f"var_smoothing must be a number of at least 0; got {self.var_smoothing!r}.")

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> Stats:
        if isinstance(data, Sparse):
            return dense_sum(self, data, y, w, K)
        assert isinstance(data, Numbers)
        n, mean, low, m2 = _core.moments(data.columns, y, w, K)
        return {"n": n, "mean": mean, "low": low, "m2": m2}

    def combine(self, a: Stats, b: Stats, sign: int = 1) -> Stats:
        n, mean, low, delta, part = combine_means(a, b, sign)
        with np.errstate(over="ignore", invalid="ignore"):  # `estimate` refuses what is no number
            m2 = a["m2"] + sign * b["m2"] + sign * (delta * delta * a["n"] * part)
        if sign < 0:
            if (m2 < -1e-9 * a["m2"]).any():
                raise ForgetError(NEVER_LEARNED)
            same = (n == 0) | (m2 <= DUST * a["m2"])  # what is left never varies: its mean is a float64
            m2, low = np.where(same, 0.0, m2), np.where(same, 0.0, low)
        return {"n": n, "mean": mean, "low": low, "m2": m2}

    def scale(self, s: Stats, factor: float) -> Stats:
        return {"n": s["n"] * factor, "mean": s["mean"], "low": low_of(s), "m2": s["m2"] * factor}

    def reclass(self, s: Stats, to: Sequence[int], K: int) -> Stats:
        return {key: spread(value, to, K) for key, value in s.items()}

    def check(self, s: Stats, context: Context) -> None:
        shape = (context.K, context.d)
        expect(s, dict.fromkeys(self.cells, shape) | shape_of_low(s, shape), at_least_0=("n", "m2"))

    def met(self, s: Stats, d: int) -> NDArray[np.bool_]:  # noqa: ARG002
        return np.asarray(s["n"].any(axis=0))

    def estimate(self, s: Stats, context: Context) -> Params:  # noqa: ARG002
        mean, low, var, epsilon = _core.gaussian_estimate(
            s["n"], s["mean"], low_of(s), s["m2"], self.ddof, self.shared, float(self.var_smoothing)
        )
        if not np.isfinite(var).all():
            j = int(np.argmin(np.isfinite(var).all(axis=0)))
            raise _core.BadValue("overflow", 0, j, float(np.abs(mean[:, j]).max()))
        gone = (var == 0) & (var > 0).any(axis=0)  # the square of a spread below 1e-162 is not 0, but no number either
        var = np.where(gone, np.finfo(np.float64).tiny, var)
        terms = _core.gaussian_terms(mean, var, low)
        return {"mean": mean, "low": low, "var": var, "epsilon": epsilon, "terms": terms}

    def score(self, scorer: _core.Scorer, data: Data, p: Params) -> None:
        if isinstance(data, Sparse):
            dense_scores(self, scorer, data, p, p["mean"].shape[0])
            return
        assert isinstance(data, Numbers)
        scorer.gaussian(data.columns, p["terms"])

    def left_out(
        self, data: Data, y: NDArray[np.int32], unit: NDArray[np.float64], s: Stats, p: Params, context: Context
    ) -> Array:
        def alone(x: Array, weight: Array) -> Stats:
            return {"n": weight, "mean": np.where(weight > 0, x, 0.0), "m2": np.zeros_like(weight)}

        def log(x: Array, q: Params) -> Array:
            says = (q["var"] > 0) & ~np.isnan(x)
            var = np.where(says, q["var"], 1.0)
            with np.errstate(over="ignore"):
                away = np.where(says, (x - q["mean"]) - q["low"], 0.0) / np.sqrt(2 * var)
                return np.where(says, -0.5 * np.log(2 * np.pi * var) - away * away, 0.0)

        return left_out_by_column(self, data, y, unit, s, p, context, alone, log)

    def sample(self, p: Params, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
        return list(rng.normal(p["mean"][y], np.sqrt(p["var"][y])).T)

    def describe(self, p: Params, j: int, k: int, labels: Sequence[str]) -> dict[str, float]:  # noqa: ARG002
        return {"mean": float(p["mean"][k, j]), "variance": float(p["var"][k, j])}

    def column(self, p: Params, j: int) -> Params:
        mean, low, var = (np.ascontiguousarray(p[key][:, j : j + 1]) for key in ("mean", "low", "var"))
        return {"mean": mean, "low": low, "var": var, "terms": _core.gaussian_terms(mean, var, low)}
