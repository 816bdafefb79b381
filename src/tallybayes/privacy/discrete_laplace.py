"""Exact samples of the discrete Laplace distribution, by integers alone (Canonne, Kamath and Steinke 2020).

Laplace noise in floating point leaks through its low digits (Mironov 2012). Here every probability is a ratio of
integers, and every random bit comes from the generator that is given: no rounding takes place.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from fractions import Fraction

from tallybayes.errors import OptionError, brief

Below = Callable[[int], int]  # a uniform integer from 0 to n - 1


def discrete_laplace(scale: Fraction | float, below: Below = secrets.randbelow) -> int:
    """Draw an integer k with probability proportional to exp(-|k| / scale).

    Parameters
    ----------
    scale : Fraction or float
        Above 0; a float is taken as the exact ratio of integers that it is.
    below : callable, default=secrets.randbelow
        Gives a uniform integer from 0 to n - 1; by default from the generator of the operating system.

    Returns
    -------
    int
        The sample; its variance is about 2 scale².

    See Also
    --------
    private_counts : Adds this noise to the counts of a model.

    References
    ----------
    - Ghosh, Roughgarden and Sundararajan (2009), Universally utility-maximizing privacy mechanisms. STOC.

    Examples
    --------
    >>> from tallybayes.privacy import discrete_laplace
    >>> isinstance(discrete_laplace(2.5), int)
    True
    """
    try:
        t, s = Fraction(scale).as_integer_ratio()
    except (TypeError, ValueError, OverflowError):
        t, s = 0, 1
    if t <= 0:
        raise OptionError(f"scale must be a finite number above 0; got {brief(scale)}.")
    while True:
        u = below(t)
        if not _bernoulli_exp(u, t, below):
            continue
        v = 0
        while _bernoulli_exp(1, 1, below):
            v += 1
        size = (u + t * v) // s
        negative = below(2) == 1
        if size or not negative:  # 0 has one sign
            return -size if negative else size


def _bernoulli_exp(p: int, q: int, below: Below) -> bool:
    """True with probability exp(-p/q), for 0 <= p <= q: Forsythe's and von Neumann's method."""
    k = 1
    while below(q * k) < p:
        k += 1
    return k % 2 == 1
