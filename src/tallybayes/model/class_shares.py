"""Class shares of unlabelled rows, from their likelihoods: EM, standard errors, and a test (arrays only).

The rows come from Σ_k π_k p(x | k) with known p(x | k). EM (Saerens, Latinne, Decaestecker 2002):

    r_ik = π_k p(x_i | k) / Σ_c π_c p(x_i | c)         π_k ← (n_k + Σ_i r_ik) / Σ_c (n_c + Σ_i r_ic)

n_k: labelled rows from the same population, if there are any. The log-likelihood Σ_i log Σ_k π_k p(x_i | k) is concave
in π, so wherever EM starts (inside), it climbs to the same top. A share that starts at 0 stays 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from tallybayes.utils.array_types import Floats

MIN_SHARE = 1e-200  # a share below this is one that EM cannot raise again


@dataclass(frozen=True)
class Shares:
    """π, and the log-likelihood of each step of EM on the way to it."""

    prior: Floats
    loglik: Floats
    converged: bool


def fit_shares(L: Floats, start: Floats, counts: Floats, tol: float, max_iter: int) -> Shares:
    """EM until the log-likelihood is within tol of its top. L: p(x | k), each row up to a factor; counts: n_k.

    Where the classes overlap EM creeps. So two steps are stretched (Varadhan and Roland 2008), unless that would go
    downhill. ℓ is concave: ℓ(top) − ℓ(π) ≤ max_k ∂ℓ/∂π_k − Σ_k π_k ∂ℓ/∂π_k, which says how far the top can be.
    """
    counts = np.where(counts > MIN_SHARE, counts, 0.0)  # less than that would be divided by a share of 0
    total = len(L) + counts.sum()
    prior, history = np.maximum(start, MIN_SHARE), [_loglik(L, start, counts)]
    for _ in range(max_iter):
        slope = _slope(L, prior, counts)
        if slope.max() - total <= tol:
            break
        once = prior * slope / total
        prior = _stretched(L, prior, once, once * _slope(L, once, counts) / total, counts)
        history.append(_loglik(L, prior, counts))
    converged = bool(_slope(L, prior, counts).max() - total <= tol)
    return Shares(prior, np.array(history), converged)


def _slope(L: Floats, prior: Floats, counts: Floats) -> Floats:
    """∂ℓ/∂π_k; one step of EM multiplies π_k by it."""
    return np.asarray(L.T @ (1.0 / (L @ prior)) + np.divide(counts, prior, out=np.zeros_like(prior), where=counts > 0))


def _stretched(L: Floats, here: Floats, once: Floats, twice: Floats, counts: Floats) -> Floats:
    """Where the two steps of EM from here point to; their end if that is no worse."""
    first, bend = once - here, (twice - once) - (once - here)
    length = float(np.linalg.norm(first) / max(float(np.linalg.norm(bend)), 1e-300))
    end: Floats = twice / twice.sum()
    for _ in range(8):
        if not 1 < length < 1e12:
            break
        far: Floats = here + 2 * length * first + length**2 * bend
        if (far > MIN_SHARE).all():
            far = far / far.sum()
            return far if _loglik(L, far, counts) >= _loglik(L, end, counts) else end
        length = (length + 1) / 2
    return end


def _loglik(L: Floats, prior: Floats, counts: Floats) -> float:
    some = counts > 0
    return float(np.log(L @ prior).sum() + (counts[some] * np.log(prior[some])).sum())


def standard_errors(L: Floats, prior: Floats) -> Floats:
    """From the observed information Σ_i g_i g_iᵀ, g_ik = p(x_i | k) / p(x_i), where the shares keep their sum.

    Infinite for shares that the rows cannot tell apart.
    """
    K = len(prior)
    g = L / (L @ prior)[:, None]
    within = np.linalg.qr(np.column_stack([np.ones(K), np.eye(K)[:, 1:]]))[0][:, 1:]  # Σ_k of each column is 0
    value, vector = np.linalg.eigh(within.T @ (g.T @ g) @ within)
    axes = np.square(within @ vector)
    known = value > 1e-12 * value.max(initial=0.0)
    variance = (axes[:, known] / value[known]).sum(axis=1)
    return np.asarray(np.sqrt(np.where((axes[:, ~known] > 1e-12).any(axis=1), np.inf, variance)))


def moved(
    L: Floats, found: Shares, old: Floats, counts: Floats | None, tol: float, max_iter: int
) -> tuple[float, float]:
    """The likelihood-ratio statistic of "the shares are still the old ones", and its p-value.

    counts: the labelled rows from which the old shares were counted. They are then no more exactly known than the new
    ones: the null hypothesis is that both samples have the same shares, whatever they are. None: old is given.
    """
    none = np.zeros_like(old)
    if counts is None:
        still = _loglik(L, old, none)
        statistic = 2 * (found.loglik[-1] - still)
    else:
        both = fit_shares(L, old, counts, tol, max_iter)
        apart = found.loglik[-1] + (counts * np.log(counts / counts.sum())).sum()
        statistic = 2 * (apart - both.loglik[-1])
    statistic = max(float(statistic), 0.0)
    degrees = len(old) - 1
    return statistic, float(scipy.special.chdtrc(degrees, statistic)) if degrees else 1.0
