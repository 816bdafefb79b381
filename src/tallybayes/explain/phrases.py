"""How evidence is said: factors on the odds, odds, chances, Jeffreys' words, and values as JSON has them."""

from __future__ import annotations

import numpy as np
import scipy

from tallybayes.utils.array_types import Floats

PRIOR = "(prior)"  # its name among the features of a frame
TOGETHER = "(together)"  # the same of what belongs to no column
# Jeffreys' words for a factor on the odds of less than this
WORDS = ((10**0.5, "weak"), (10.0, "substantial"), (10**1.5, "strong"), (100.0, "very strong"))
POWERS = np.log(999_500)  # nats
MAX_EXPONENT = 700.0  # nats; exp of more is no number


def strength(evidence: float) -> str:
    """Jeffreys' word for evidence given in nats: weak, substantial, strong, very strong, decisive."""
    times = np.exp(min(abs(evidence), MAX_EXPONENT))
    return next((word for limit, word in WORDS if times < limit), "decisive")


def factor(evidence: float) -> str:
    """×3 or ÷3, in three digits; from a million on as a power of 10."""
    sign = "×" if evidence >= 0 else "÷"
    size = abs(evidence)
    if np.isinf(size):
        return f"{sign}∞"
    if size >= POWERS:
        return f"{sign}10^{size / np.log(10):.1f}"
    return f"{sign}{float(f'{np.exp(size):.3g}'):,.15g}"


def odds(log_odds: float) -> str:
    """odds 3 : 1 or 1 : 3"""
    size = factor(abs(float(log_odds)))[1:]
    return f"odds {size} : 1" if log_odds >= 0 else f"odds 1 : {size}"


def plain(value: object) -> object:
    """A value as JSON has it: infinite numbers and whatever JSON does not know in words."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None if np.isnan(value) else str(value)
    item = value.item() if isinstance(value, np.generic) else value
    return str(item) if isinstance(item, np.generic) or item is value else plain(item)  # a longdouble is its own item


def shown(value: object) -> str:
    """A value of a table, short."""
    if value is None:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def chance(p: float, joint: Floats, k: int) -> str:
    """P of class k in three digits, or in as many as it takes to tell it from 1. joint: the log joint of its row."""
    found = f"{p:.3g}"
    log_rest = float(scipy.special.logsumexp(np.delete(joint, k)) - scipy.special.logsumexp(joint))
    if found != "1" or np.isneginf(log_rest):
        return found
    digits = int(np.ceil(-log_rest / np.log(10)))
    if digits <= 9:
        return f"{1 - np.exp(log_rest):.{digits}f}"
    return f"1 − {np.exp(log_rest):.2g}" if log_rest > -MAX_EXPONENT else f"1 − 10^{log_rest / np.log(10):.0f}"
