"""GaussianAxes: Gaussians whose covariance is diagonal or a multiple of the identity, own, shared or between."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Data, Numbers
from tallybayes.distributions.capabilities import (
    CompiledMatrix,
    IndependentColumns,
    JointGaussian,
    LinearForm,
    LogOddsFeatures,
    NormalMarginals,
    ParameterCount,
    QuadraticForm,
)
from tallybayes.distributions.context import Context, Features, Weights
from tallybayes.distributions.multivariate import ledoit_wolf
from tallybayes.distributions.multivariate.covariance import check_shrinkage, divided, oas
from tallybayes.distributions.multivariate.ledoit_wolf import MomentStatistics
from tallybayes.distributions.statistics import EPS
from tallybayes.distributions.univariate.gaussian import Gaussian, GaussianParams, GaussianStatistics
from tallybayes.errors import OptionError, brief, is_number
from tallybayes.utils.array_types import Array


@dataclass(frozen=True)
class GaussianAxes(Gaussian):
    """σ²_cj(w) = w own + (1 − w) shared;  then (1 − γ) σ²_cj + γ mean_j σ²_cj;  spherical: mean_j only.

    gamma 'oas' and 'ledoit-wolf' shrink each class's own variances, by its own amount, before they are shared.
    A class without variance in a column (below 1e-12 tol² of the shared one) takes the shared variance; a shared
    variance is tol² of the column's overall variance at least if it is 0. A column that never varies is left out.
    """

    own_covariance: float = 0.0
    gamma: float | str = 0.0  # or 'oas', 'ledoit-wolf'
    spherical: bool = False
    tol: float = 1e-4

    name = "gaussian axes"
    cells = (*Gaussian.cells, "m3", "m4")
    weighted = ("n", "m2", "m3", "m4")
    statistics_type = (GaussianStatistics, MomentStatistics)
    statistics_options = ("fourth",)
    capabilities: ClassVar[Collection[type]] = (
        CompiledMatrix,
        IndependentColumns,
        JointGaussian,
        LinearForm,
        LogOddsFeatures,
        NormalMarginals,
        ParameterCount,
        QuadraticForm,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_number(self.own_covariance) or not 0 <= self.own_covariance <= 1:
            raise OptionError(
                "own_covariance must be between 0 (one covariance) and 1 (each its own); got "
                f"{brief(self.own_covariance)}."
            )
        check_shrinkage(self.gamma)
        if not is_number(self.tol) or self.tol < 0:
            raise OptionError(f"tol must be a number of at least 0; got {brief(self.tol)}.")

    def estimate(self, s: GaussianStatistics, context: Context) -> GaussianParams:  # noqa: ARG002
        mean, low, total, epsilon = _overall(s)
        _check_finite(total, mean)
        found = spread(s.n, s.m2, np.abs(mean).max(axis=0, initial=0.0), epsilon, self)
        gamma = 0.0
        if is_number(self.gamma):
            gamma = float(self.gamma)
        else:
            found = _shrunk(found, s.n, self._amounts(found, s))
        var, level = found.mixed(self.own_covariance)
        var = np.broadcast_to(level, var.shape).copy() if self.spherical else (1 - gamma) * var + gamma * level
        _check_finite(var, mean)
        var = np.where(found.varies, np.maximum(var, np.finfo(float).tiny), 0.0)
        return GaussianParams(mean, low, var, epsilon, _core.gaussian_terms(mean, var, low))

    def class_amounts(self, s: GaussianStatistics) -> tuple[float, ...]:
        """Return γ of each class, where `gamma` is the name of a rule."""
        mean, _, _, epsilon = _overall(s)
        found = spread(s.n, s.m2, np.abs(mean).max(axis=0, initial=0.0), epsilon, self)
        return tuple(self._amounts(found, s).tolist())

    def _amounts(self, found: Spread, s: GaussianStatistics) -> Array:
        if isinstance(s, MomentStatistics):
            return ledoit_wolf.column_amounts(s, found.varies)
        own, rows = found.own[:, found.varies], s.n.max(axis=1)
        own = own / np.maximum(own.max(axis=1, keepdims=True, initial=0.0), np.finfo(float).tiny)  # squares are finite
        return np.array(
            [oas(float(v @ v), float(v.sum()), max(len(v), 1), float(n)) for v, n in zip(own, rows, strict=True)]
        )

    # --- as a linear or quadratic form -------------------------------------------------------------------------

    @property
    def one_variance(self) -> bool:
        return bool(self.own_covariance == 0)

    def features(self) -> Features:
        return "numbers" if self.one_variance else "sphere" if self.spherical else "squares"

    def n_parameters(self, p: GaussianParams, context: Context) -> int:  # noqa: ARG002
        variances = 1 if self.spherical else context.d
        return context.K * context.d + (1 if self.one_variance else context.K) * variances

    # --- Ledoit-Wolf needs two sums more -----------------------------------------------------------------------

    @property
    def fourth(self) -> bool:
        """Fourth moments are kept."""
        return self.gamma == "ledoit-wolf"

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> GaussianStatistics:
        s = super().add(data, y, w, K)
        return ledoit_wolf.count_columns(data, y, w, s) if self.fourth and isinstance(data, Numbers) else s

    def combine(self, a: GaussianStatistics, b: GaussianStatistics, sign: int = 1) -> GaussianStatistics:
        total = super().combine(a, b, sign)
        if isinstance(a, MomentStatistics) and isinstance(b, MomentStatistics):
            return ledoit_wolf.combine_columns(a, b, total, sign)
        return total

    def check(self, s: GaussianStatistics, context: Context) -> None:
        if isinstance(s, MomentStatistics) != self.fourth:
            raise ValueError("third and fourth moments are missing" if self.fourth else "it has fourth moments")
        super().check(s, context)


def _overall(s: GaussianStatistics) -> tuple[Array, Array, Array, Array]:
    """mean, low and variance (K, d) where all classes share the variance over all rows, and that variance (d,)."""
    mean, low, total, epsilon = _core.gaussian_estimate(s.n, s.mean, s.low, s.m2, 0, True, 1.0)
    return mean, low, total, epsilon


@dataclass(frozen=True)
class Spread:
    """Variances before w and γ. Axes before the last two, if any, are those of several statistics at once."""

    own: Array  # (…, K, d)
    shared: Array  # (…, d)
    varies: Array  # (…, d): columns that are not left out

    def mixed(self, own_covariance: float) -> tuple[Array, Array]:
        """Return w own + (1 − w) shared."""
        var = own_covariance * self.own + (1 - own_covariance) * self.shared[..., None, :]
        count = np.maximum(self.varies.sum(axis=-1), 1)[..., None, None]
        return var, (var * self.varies[..., None, :]).sum(axis=-1, keepdims=True) / count


def _shrunk(found: Spread, n: Array, amounts: Array) -> Spread:
    """Each class's own variances by its own amount; shared: their mean, weighted by rows."""
    own, level = found.mixed(1.0)
    gamma = amounts[:, None]
    own = (1 - gamma) * own + gamma * level
    return replace(found, own=own, shared=divided((n * own).sum(axis=0), n.sum(axis=0)))


def spread(n: Array, m2: Array, size: Array, epsilon: Array, options: GaussianAxes) -> Spread:
    """n, m2 (…, K, d); size (d): the largest |mean| of each column; epsilon (…, d): its variance over all classes."""
    down = n.sum(axis=-2) - options.ddof * (n > 0).sum(axis=-2)
    shared = divided(m2.sum(axis=-2), down)
    own = divided(m2, n - options.ddof)
    with np.errstate(over="ignore"):  # more than any variance: such a column never varies
        dust = np.square(16 * EPS * size)
    unit = np.where(shared > dust, shared, epsilon)
    shared = np.maximum(shared, options.tol**2 * unit)
    own = np.where(own < options.tol**2 * 1e-12 * unit[..., None, :], shared[..., None, :], own)
    return Spread(own, shared, epsilon > dust)


def _check_finite(var: Array, mean: Array) -> None:
    fine = np.isfinite(var).all(axis=0)
    if not fine.all():
        raise _core.BadValue("overflow", 0, int(np.argmin(fine)), float(np.abs(mean).max()))
