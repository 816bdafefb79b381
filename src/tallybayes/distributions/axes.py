"""GaussianAxes: Gaussians whose covariance is diagonal or a multiple of the identity, own, shared or between."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions.base import Array, Context, Distribution, Params, Stats
from tallybayes.distributions.covariance import EPS, check_shrinkage, oas
from tallybayes.distributions.gaussian import Gaussian
from tallybayes.encode import Data
from tallybayes.errors import OptionError, is_number


@dataclass(frozen=True)
class GaussianAxes(Gaussian):
    """σ²_cj(α) = α own + (1 − α) shared;  then (1 − γ) σ²_cj + γ mean_j σ²_cj;  spherical: mean_j only.

    A class without variance in a column (below 1e-12 tol² of the shared one) takes the shared variance; a shared
    variance is tol² of the column's overall variance at least if it is 0. A column that never varies is left out.
    """

    alpha: float = 0.0
    gamma: float | str = 0.0  # or 'oas'
    spherical: bool = False
    tol: float = 1e-4

    name = "gaussian axes"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_number(self.alpha) or not 0 <= self.alpha <= 1:
            raise OptionError(f"alpha must be between 0 (one covariance) and 1 (each its own); got {self.alpha!r}.")
        check_shrinkage(self.gamma)
        if not is_number(self.tol) or self.tol < 0:
            raise OptionError(f"tol must be a number of at least 0; got {self.tol!r}.")

    def estimate(self, s: Stats, context: Context) -> Params:  # noqa: ARG002
        mean, total, epsilon = _core.gaussian_estimate(s["n"], s["mean"], s["m2"], 0, True, 1.0)
        _check_finite(total, mean)
        n, m2 = s["n"], s["m2"]
        seen = (n > 0).sum(axis=0)
        down = n.sum(axis=0) - self.ddof * seen
        shared = np.divide(m2.sum(axis=0), down, out=np.zeros_like(down), where=down > 0)
        own_down = n - self.ddof
        own = np.divide(m2, own_down, out=np.zeros_like(m2), where=own_down > 0)
        dust = np.square(16 * EPS * np.abs(mean).max(axis=0, initial=0.0))
        varies = epsilon > dust
        unit = np.where(shared > dust, shared, epsilon)
        shared = np.maximum(shared, self.tol**2 * unit)
        own = np.where(own < self.tol**2 * 1e-12 * unit, shared, own)
        var = self.alpha * own + (1 - self.alpha) * shared
        d = max(1, int(varies.sum()))
        level = var[:, varies].sum(axis=1, keepdims=True) / d
        if self.spherical:
            var = np.broadcast_to(level, var.shape).copy()
        else:
            gamma = np.array([[self._gamma(v, k)] for v, k in zip(var, n.max(axis=1), strict=True)])
            var = (1 - gamma) * var + gamma * level
        _check_finite(var, mean)
        var = np.where(varies, np.maximum(var, np.finfo(float).tiny), 0.0)
        return {"mean": mean, "var": var, "epsilon": epsilon, "terms": _core.gaussian_terms(mean, var)}

    def left_out(
        self, data: Data, y: NDArray[np.int32], unit: NDArray[np.float64], s: Stats, p: Params, context: Context
    ) -> Array:
        """Columns share a level of variance: not one by one, as Gaussian has them."""
        return Distribution.left_out(self, data, y, unit, s, p, context)

    def _gamma(self, var: Array, n: float) -> float:
        return (
            oas(float(var @ var), float(var.sum()), len(var), float(n)) if isinstance(self.gamma, str) else self.gamma
        )


def _check_finite(var: Array, mean: Array) -> None:
    fine = np.isfinite(var).all(axis=0)
    if not fine.all():
        raise _core.BadValue("overflow", 0, int(np.argmin(fine)), float(np.abs(mean).max()))
