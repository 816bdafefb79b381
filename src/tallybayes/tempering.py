"""One number that says how far a likelihood is believed: P(class | x) ∝ P(class) P(x | class)^β. Arrays only.

Naive Bayes counts what two correlated columns say twice, and is too sure. β below 1 takes that back, for all rows
alike; the prior, which nobody counted twice, stays as it is. The log-loss is convex in β, so the best one is found.
"""

from __future__ import annotations

import numpy as np
import scipy

from tallybayes.arrays import Array, Floats

LEAST, MOST = 1e-3, 20.0  # of β
STEPS = 60
ENOUGH = 1e-9  # relative change of β
LITTLE = float(np.finfo(np.float64).tiny)


def posterior(log_prior: Floats, log_likelihood: Floats, beta: float) -> Floats:
    """(n, K): log P(class | x); the prior where every class is impossible. A row that holds NaN stays NaN."""
    joint = log_prior + beta * log_likelihood
    none = np.isneginf(joint).all(axis=1, keepdims=True)
    return np.asarray(scipy.special.log_softmax(np.where(none, log_prior, joint), axis=1))


def score(log_proba: Floats, y: Array, w: Floats) -> float:
    """Minus the mean log-loss over the rows that can be judged (those without NaN); NaN if there are none."""
    rows = np.flatnonzero(~np.isnan(log_proba).any(axis=1) & (w > 0))
    if not len(rows):
        return float("nan")
    return float(np.average(log_proba[rows, y[rows]], weights=w[rows]))


def best_temperature(
    log_prior: Floats,
    log_likelihood: Floats,
    y: Array,
    w: Floats,
    pull: float = 0.0,
    to: float = 1.0,
    enough: float = ENOUGH,
) -> float:
    """β in [LEAST, MOST] with the least weighted log-loss −Σ w log P(y | x), plus pull / 2 · log²(β / to): a few rows
    that are told apart without a mistake would want β to be infinite.

    Its slope in β is Σ w (E[L] − L_y), L: the log-likelihoods, the mean over P(class | x), and never falls. Newton's
    steps in log β, kept between the last two points where the slope had different signs. Rows whose own class is
    impossible have no finite loss whatever β is, and take no part.
    """
    rows = np.arange(len(y))
    judged = np.isfinite(log_prior[rows, y] + log_likelihood[rows, y]) & (w > 0)
    judged &= ~np.isnan(log_prior + log_likelihood).any(axis=1)
    prior, L, y, w = log_prior[judged], log_likelihood[judged], y[judged], w[judged]
    L = L - L[np.arange(len(y)), y][:, None]  # of the true class: 0
    possible = np.isfinite(prior + L)
    prior, L = np.where(possible, prior, -np.inf), np.where(possible, L, 0.0)

    def shares(beta: float) -> tuple[Floats, Floats]:
        """Of each class, up to a factor, and that factor: every row's own class is at 0 (but for the prior)."""
        joint = prior + beta * L
        joint -= joint.max(axis=1, keepdims=True)
        np.exp(joint, out=joint)
        return joint, joint.sum(axis=1)

    def slope(beta: float) -> tuple[float, float]:
        """First and second derivative of the loss in log β."""
        P, whole = shares(beta)
        mean = np.einsum("ij,ij->i", P, L) / whole
        first = beta * float(w @ mean)
        with np.errstate(over="ignore", invalid="ignore"):  # without a second derivative steps are halved
            variance = np.einsum("ij,ij,ij->i", P, L, L) / whole - np.square(mean)
            second = first + beta**2 * float(w @ np.maximum(variance, 0.0))
        return first + pull * np.log(beta / to), second + pull

    def loss(beta: float) -> float:
        P, whole = shares(beta)
        own = np.log(whole / np.maximum(P[np.arange(len(y)), y], LITTLE))
        return float(w @ own) + pull / 2 * float(np.log(beta / to)) ** 2

    if not len(y) or (L == 0).all():
        return to
    low, high, at = np.log(LEAST), np.log(MOST), 0.0
    if slope(MOST)[0] <= 0:
        return MOST if loss(MOST) < loss(1.0) else 1.0
    if slope(LEAST)[0] >= 0:
        return LEAST if loss(LEAST) < loss(1.0) else 1.0
    for _ in range(STEPS):
        first, second = slope(float(np.exp(at)))
        low, high = (at, high) if first < 0 else (low, at)
        step = at - first / second if second > 0 else np.nan
        new = step if low < step < high else 0.5 * (low + high)
        if first == 0 or abs(new - at) <= enough:
            break
        at = new
    found = float(np.exp(at))
    return found if loss(found) < loss(1.0) else 1.0
