"""How much a column tells of the class, under the model: I(x_j; y) = Σ_k π_k E[log P(x_j | k) − log P(x_j)], in nats.

A column with a list of outcomes: the sum itself, exact. A Gaussian one: the trapezoid rule over ±9 standard deviations
of each class, to 1e-6 or better unless standard deviations differ by more than a factor of 100. Any other: the mean of
KL(P(y | x_j) ‖ P(y)) over values drawn from the model with a fixed seed, equally many from each class, with its
standard error: 20,000 values of each of up to 10 columns, and fewer of each of more, so that the cost stays bounded.
"""

from __future__ import annotations

import numpy as np

from tallybayes import _core
from tallybayes.data.encoding import Codes, Data, Numbers
from tallybayes.distributions import column_terms
from tallybayes.distributions.base import Distribution
from tallybayes.distributions.capabilities import MarginalDensity, NormalMarginals, Outcomes, capability
from tallybayes.distributions.context import P, S
from tallybayes.distributions.statistics import LOG_2PI
from tallybayes.utils.array_types import Array, Floats

DRAWS = 20_000  # of a column, in all classes together
ALL_DRAWS, LEAST_DRAWS = 200_000, 500  # of all columns together; and of each of very many
STEPS = np.linspace(-9.0, 9.0, 2001)


def information(d: Distribution[S, P], p: P, columns: int, log_prior: Floats) -> tuple[Floats, Floats]:
    """Information and standard error (0: exact) of each column."""
    value, error = np.zeros(columns), np.zeros(columns)
    rows: list[Array] = []
    data: Data | None = None  # of these rows, made once for all columns
    gaussian, listed, density = capability(d, NormalMarginals), capability(d, Outcomes), capability(d, MarginalDensity)
    normal = None if gaussian is None else gaussian.normal_marginals(p)
    for j in range(columns):
        outcomes = None if listed is None else listed.outcomes(p, j)
        if outcomes is not None:
            value[j] = _exact(outcomes, log_prior)
        elif normal is not None:
            value[j] = _quadrature(normal[0][:, j], normal[1][:, j], log_prior)
        else:
            rows = rows or _rows(d, p, len(log_prior), columns)
            log = None if density is None else density.marginal_log_density(p, j, rows[j])
            if log is None:
                data = data or _data(d, rows)
                log = column_terms.marginal(d, data, p, j, len(log_prior))
            value[j], error[j] = _mean(log, log_prior)
    return value, error


def _divergence(log_p: Floats, log_prior: Floats) -> Floats:
    """KL(P(y | x) ‖ P(y)) of each row of log P(x | y); 0 for a value that no class allows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = log_p + log_prior
        top = joint.max(axis=1, keepdims=True)
        share = np.exp(joint - top)
        total = share.sum(axis=1, keepdims=True)
        share /= total
        gain = np.where(share > 0, share * (log_p - top - np.log(total)), 0.0).sum(axis=1)
    return np.where(np.isfinite(gain), np.maximum(gain, 0.0), 0.0)


def _exact(outcomes: Floats, log_prior: Floats) -> float:
    return float(np.exp(outcomes + log_prior).sum(axis=1) @ _divergence(outcomes, log_prior))


def _quadrature(mean: Floats, var: Floats, log_prior: Floats) -> float:
    if not (var > 0).all():  # a column that never varies
        return 0.0
    sd = np.sqrt(var)
    weight = np.exp(-0.5 * STEPS**2)
    weight /= weight.sum()
    total = 0.0
    for k in np.flatnonzero(log_prior > -np.inf):
        x = mean[k] + sd[k] * STEPS
        z = (x[:, None] - mean) / sd
        gain = _divergence(-0.5 * (z**2 + LOG_2PI) - np.log(sd), log_prior)
        total += float(np.exp(log_prior[k]) * (weight @ gain))
    return total


def _data(d: Distribution[S, P], columns: list[Array]) -> Data:
    if d.needs == "numbers":
        return Numbers(None, None, tuple(np.asarray(c, dtype=np.float64) for c in columns))
    return Codes(_core.Columns([np.asarray(c, dtype=np.int32) for c in columns]))


def _rows(d: Distribution[S, P], p: P, K: int, columns: int) -> list[Array]:
    draws = max(LEAST_DRAWS, min(DRAWS, ALL_DRAWS // columns))
    y = np.repeat(np.arange(K, dtype=np.int32), max(2, draws // K))
    return d.sample(p, y, np.random.default_rng(0))


def _mean(log_p: Floats, log_prior: Floats) -> tuple[float, float]:
    gain = _divergence(log_p, log_prior).reshape(len(log_prior), -1)
    share = np.exp(log_prior)
    error = np.sqrt((share**2 * gain.var(axis=1) / gain.shape[1]).sum())
    return float(share @ gain.mean(axis=1)), float(error)
