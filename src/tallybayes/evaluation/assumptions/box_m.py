"""The null distribution of Box's (1949) M, which depends on the numbers of rows and columns alone, not on Σ.

    M = n log|W / n| − Σ_c n_c log|W_c / n_c|,      W_c ~ Wishart(Σ, n_c),   W = Σ_c W_c,   n = Σ_c n_c

Its moment generating function is known (Anderson 2003, 10.4): with Γ_d the multivariate gamma function,

    E exp(tM) = exp(t d (Σ_c n_c log n_c − n log n)) · Γ_d(n/2) / Γ_d(n/2 − tn) · Π_c Γ_d(n_c/2 − t n_c) / Γ_d(n_c/2)

and tail probabilities follow from it by the saddlepoint formula of Lugannani and Rice (1980), good to a few percent of
themselves however small they are. The usual χ² is a limit for many rows: with 17 rows in each of 3 classes and 15
columns, where it would alarm in 5% of tables, it alarms in 64%.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, ndtr, polygamma, psi

from tallybayes.utils.array_types import Floats

NEAR = 0.05  # standard deviations of M from its mean, where the formula comes to 0 / 0


@dataclass(frozen=True)
class NullM:
    """M of classes with n_c degrees of freedom each, and d columns, if they all have one covariance."""

    df: Floats
    d: int

    @property
    def mean(self) -> float:
        """What chance alone gives M."""
        return self._slope(0.0)

    def tail(self, m: float) -> float:
        """Return P(M ≥ m).

        Parameters
        ----------
        m : float
            A value of the statistic.

        Returns
        -------
        float
            From 0 to 1.
        """
        t = self._saddle(m)
        if t is None:
            return 1.0
        near = NEAR / float(np.sqrt(self._bend(0.0)))
        if abs(t) < near:  # both sides of the hole, in proportion
            low, high = (self._formula(side, self._slope(side)) for side in (-near, near))
            return low + (high - low) * (t + near) / (2 * near)
        return self._formula(t, m)

    def _formula(self, t: float, m: float) -> float:
        r = float(np.sign(t) * np.sqrt(max(2 * (t * m - self._log_mgf(t)), 0.0)))
        u = t * float(np.sqrt(self._bend(t)))
        density = np.exp(-0.5 * r * r) / np.sqrt(2 * np.pi)
        return float(np.clip(ndtr(-r) + density * (1 / u - 1 / r), 0.0, 1.0))

    def _saddle(self, m: float) -> float | None:
        """Where the slope is m; None if M is hardly ever so small."""
        top = float(0.5 * (1 - (self.d - 1) / self.df.min()))  # there the function is infinite

        def excess(log_below: float) -> float:
            return self._slope(top - np.exp(log_below)) - m

        low, high = np.log(top) - 30.0, np.log(top) + 30.0
        if excess(high) >= 0:
            return None
        return (
            top - float(np.exp(brentq(excess, low, high, xtol=1e-13))) if excess(low) > 0 else top - float(np.exp(low))
        )

    def _sizes(self) -> tuple[Floats, Floats, Floats]:
        """n_c and n; their signs; (j − 1) / 2 of each column."""
        n = np.append(self.df, self.df.sum())
        return n, np.append(np.ones(len(self.df)), -1.0), np.arange(self.d) / 2

    def _log_mgf(self, t: float) -> float:
        n, sign, half = self._sizes()
        a = n[:, None] / 2 - half
        grown = gammaln(a - t * n[:, None]) - gammaln(a)
        return float(sign @ (grown.sum(axis=1) + t * self.d * n * np.log(n)))

    def _slope(self, t: float) -> float:
        n, sign, half = self._sizes()
        a = n[:, None] / 2 - half - t * n[:, None]
        return float(sign @ (n * (self.d * np.log(n) - psi(a).sum(axis=1))))

    def _bend(self, t: float) -> float:
        n, sign, half = self._sizes()
        a = n[:, None] / 2 - half - t * n[:, None]
        return float(sign @ (n**2 * polygamma(1, a).sum(axis=1)))
