"""Means as sums of two float64, mean + low: a column around 1e10 keeps its digits.

low is what the mean lacks as a float64: less than its last digit. Tallies of Gaussians have it, by column (gaussian.py)
or with a scatter (block_tally.py), and so have their parameters. Files of earlier versions have no low: it is 0.
"""

from __future__ import annotations

import numpy as np

from tallybayes.distributions.base import Array, Stats, subtract

EPS = float(np.finfo(np.float64).eps)


def low_of(s: Stats) -> Array:
    """What the means lack as float64."""
    return s["low"] if "low" in s else np.zeros_like(s["mean"])


def exact_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b as a float64, and what is left (Knuth)."""
    high = a + b
    with np.errstate(invalid="ignore"):
        back = high - a
        return high, (a - (high - back)) + (b - back)


def away(s: Stats, centre: Array, rest: Array | float = 0.0) -> Array:
    """mean + low − centre − rest, with the digits that only the difference has; s: a tally, or parameters."""
    return np.asarray((s["mean"] - centre) + (low_of(s) - rest))


def combine_means(a: Stats, b: Stats, sign: int) -> tuple[Array, Array, Array, Array, Array]:
    """n, mean and low of a ± b; δ = mean(B) − mean(A); and what δ δᵀ counts, divided by n_A: Chan's formula

    n = n_A ± n_B,   mean = mean(A) ± (n_B / n) δ,   S(A ± B) = S(A) ± S(B) ± (n_A n_B / n) δ δᵀ.
    """
    n = a["n"] + b["n"] if sign > 0 else subtract(a["n"], b["n"])
    part = np.divide(b["n"], n, out=np.zeros_like(n), where=n > 0)
    lift = part if part.ndim == a["mean"].ndim else part[:, None]  # n may be one number for all columns
    none_a, none_b, none = ((m == 0).reshape(lift.shape) for m in (a["n"], b["n"], n))
    delta = np.where(none_a | none_b, 0.0, away(b, a["mean"], low_of(a)))
    mean, low = exact_sum(a["mean"], low_of(a) + sign * delta * lift)
    if sign > 0:
        return n, np.where(none_a, b["mean"], mean), np.where(none_a, low_of(b), low), delta, part
    return n, np.where(none, 0.0, mean), np.where(none, 0.0, low), delta, part


def shape_of_low(s: Stats, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """The shape that 'low' must have, if a tally from a file has it; ValueError if it is no low of its mean."""
    if "low" not in s:
        return {}
    if "mean" in s and s["low"].shape == s["mean"].shape and (np.abs(s["low"]) > EPS * np.abs(s["mean"])).any():
        raise ValueError("'low' is more than the last digit of 'mean'")
    return {"low": shape}
