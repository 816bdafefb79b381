"""Means as sums of two float64, mean + low: a column around 1e10 keeps its digits.

low is what the mean lacks as a float64: less than its last digit. Tallies of Gaussians have it, by column (gaussian.py)
or with a scatter (gaussian_statistics.py), and so have their parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tallybayes.distributions.arithmetic import subtract
from tallybayes.distributions.records import Record
from tallybayes.utils.array_types import Array

EPS = float(np.finfo(np.float64).eps)
LARGEST_FLOAT = float(np.finfo(np.float64).max)
LOG_2PI = float(np.log(2 * np.pi))


class Means(Protocol):
    """Sums or parameters with means in two parts."""

    @property
    def mean(self) -> Array:
        """The means, as far as a float64 holds them."""

    @property
    def low(self) -> Array:
        """What these lack of the means."""


@dataclass(frozen=True)
class CentredStatistics(Record):
    """What all statistics about a mean have, by class and column.

    Parameters
    ----------
    n : ndarray of shape (K, d)
        The weight of the rows that have a value.
    mean : ndarray of shape (K, d)
        Their mean.
    low : ndarray of shape (K, d)
        What the mean lacks as a float64.
    """

    n: Array
    mean: Array
    low: Array


def check_low(s: Means) -> None:
    """ValueError if low is no low of its mean; both have the same shape."""
    if (np.abs(s.low) > EPS * np.abs(s.mean)).any():
        raise ValueError("'low' is more than the last digit of 'mean'")


def check_squares(n: Array, squares: Array) -> None:
    """ValueError if sums of squares are larger than rows of finite numbers of that weight can make them."""
    with np.errstate(over="ignore"):
        if (squares > n * LARGEST_FLOAT).any(where=n > 0):
            raise ValueError("a sum of squares is larger than that of rows of so little weight")


def exact_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b as a float64, and what is left (Knuth)."""
    high = a + b
    with np.errstate(invalid="ignore"):
        back = high - a
        return high, (a - (high - back)) + (b - back)


def away(s: Means, centre: Array, rest: Array | float = 0.0) -> Array:
    """mean + low − centre − rest, with the digits that only the difference has; s: statistics, or parameters."""
    return np.asarray((s.mean - centre) + (s.low - rest))


def combine_means(a: CentredStatistics, b: CentredStatistics, sign: int) -> tuple[Array, Array, Array, Array, Array]:
    """n, mean and low of a ± b; δ = mean(B) − mean(A); and what δ δᵀ counts, divided by n_A: Chan's formula

    n = n_A ± n_B,   mean = mean(A) ± (n_B / n) δ,   S(A ± B) = S(A) ± S(B) ± (n_A n_B / n) δ δᵀ.
    """
    n = a.n + b.n if sign > 0 else subtract(a.n, b.n)
    part = np.divide(b.n, n, out=np.zeros_like(n), where=n > 0)
    lift = part if part.ndim == a.mean.ndim else part[:, None]  # n may be one number for all columns
    none_a, none_b, none = ((m == 0).reshape(lift.shape) for m in (a.n, b.n, n))
    delta = np.where(none_a | none_b, 0.0, away(b, a.mean, a.low))
    mean, low = exact_sum(a.mean, a.low + sign * delta * lift)
    if sign > 0:
        return n, np.where(none_a, b.mean, mean), np.where(none_a, b.low, low), delta, part
    return n, np.where(none, 0.0, mean), np.where(none, 0.0, low), delta, part
