"""Temperature: the power β of the likelihood in P(class | x) ∝ P(class) P(x | class)^β, chosen by leave-one-out.

Naive Bayes counts what two correlated columns say twice, and is too sure. β below 1 takes that back, for all rows
alike; the prior, which nobody counted twice, stays as it is. The log-loss is convex in β, so the best one is found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy

from tallybayes import _core
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from tallybayes.model.fitted import Fitted, Starts
    from tallybayes.model.rows import Rows

MIN_BETA, MAX_BETA = 1e-3, 20.0  # of β
STEPS = 60
TOLERANCE = 1e-9  # relative change of β


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
    penalty: float = 0.0,
    centre: float = 1.0,
    tolerance: float = TOLERANCE,
) -> float:
    """β in [MIN_BETA, MAX_BETA] with the least weighted log-loss −Σ w log P(y | x), plus penalty / 2 log²(β / centre):
    few rows that are separated without a mistake would want β to be infinite.

    Its slope in β is Σ w (E[L] − L_y), L: the log-likelihoods, the mean over P(class | x), and never falls. Newton's
    steps in log β, kept between the last two points where the slope had different signs. Rows whose own class is
    impossible have no finite loss whatever β is, and take no part.
    """
    return tempered(log_prior, log_likelihood, y, w, penalty, centre, tolerance)[0]


def tempered(
    log_prior: Floats, log_likelihood: Floats, y: Array, w: Floats, penalty: float, centre: float, tolerance: float
) -> tuple[float, float]:
    """The same β, and the log-loss of the rows with it: its sum."""
    rows = _core.TemperatureLoss(
        np.ascontiguousarray(log_prior, dtype=np.float64), np.ascontiguousarray(log_likelihood, dtype=np.float64),
        np.ascontiguousarray(y, dtype=np.int32), np.ascontiguousarray(w, dtype=np.float64),
    )  # fmt: skip
    return rows.best((MIN_BETA, MAX_BETA), (penalty, centre), tolerance, STEPS)


class Temperature(NamedTuple):
    """β, the leave-one-out log posteriors under it, and minus their mean log-loss."""

    beta: float
    log_proba: Floats
    score: float


def choose_temperature(fitted: Fitted, rows: Rows, priors: object, starts: Starts) -> Temperature:
    """The power of the likelihood with the least leave-one-out log-loss. fitted: with parameters."""
    prior, likelihood = fitted.leave_one_out(rows, priors, starts)
    y = rows.classes_of_rows
    weight = np.where(y < 0, 0.0, 1.0 if rows.w is None else rows.w)
    label = np.maximum(y, 0)
    beta = best_temperature(prior, likelihood, label, weight)
    judged = score(posterior(prior, likelihood, beta), label, weight)
    found = posterior(*fitted.without_only_rows(rows, priors, starts, prior, likelihood), beta)
    return Temperature(beta, found, judged)
