"""How much a column tells of the class, under the model: I(x_j; y) = Σ_k π_k E[log P(x_j | k) − log P(x_j)], in nats.

A column with a list of outcomes: the sum itself, exact. A Gaussian one: the trapezoid rule over ±9 standard deviations
of each class, to 1e-6 or better unless standard deviations differ by more than a factor of 100. Any other: the mean of
KL(P(y | x_j) ‖ P(y)) over values drawn from the model with a fixed seed, equally many from each class, with its
standard error: 20,000 values of each of up to 10 columns, and fewer of each of more, so that the cost stays bounded. A
Gaussian column of more than 64 classes is drawn too, since the trapezoid rule is quadratic in the classes; and of
classes too many for two draws each, a systematic sample by the prior is drawn.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
CELLS, FEWEST_DRAWS = 10_000_000, 100  # draws × classes of a column; and draws, however many classes there are
MOST_QUADRATURE = 64  # classes
STANDARD_GRID = np.linspace(-9.0, 9.0, 2001)


def information(d: Distribution[S, P], p: P, columns: int, log_prior: Floats) -> tuple[Floats, Floats]:
    """Information and standard error (0: exact) of each column."""
    value, error = np.zeros(columns), np.zeros(columns)
    rows: list[Array] = []
    data: Data | None = None  # of these rows, made once for all columns
    gaussian, listed, density = capability(d, NormalMarginals), capability(d, Outcomes), capability(d, MarginalDensity)
    many = len(log_prior) > MOST_QUADRATURE
    normal = None if gaussian is None else gaussian.normal_marginals(p)
    drawn = _drawn_classes(log_prior, columns)
    for j in range(columns):
        try:
            outcomes = None if listed is None else listed.outcomes(p, j)
        except _core.TooManyMissing:  # the sum over all other columns of a network
            rows = rows or d.sample(p, drawn, np.random.default_rng(0))
            value[j], error[j] = _by_frequencies(rows[j], drawn, log_prior)
            continue
        if outcomes is not None:
            value[j] = _exact(outcomes, log_prior)
        elif normal is not None and not (many and (normal[1][:, j] > 0).all()):
            value[j] = _quadrature(normal[0][:, j], normal[1][:, j], log_prior)
        elif normal is not None:
            mean, var = normal[0][:, j], normal[1][:, j]
            x = np.random.default_rng(0).normal(mean[drawn], np.sqrt(var[drawn]))
            value[j], error[j] = _mean(_normal(x, mean, np.sqrt(var)), drawn, log_prior)
        else:
            rows = rows or d.sample(p, drawn, np.random.default_rng(0))
            log = None if density is None else density.marginal_log_density(p, j, rows[j])
            if log is None:
                data = data or _data(d, rows)
                log = column_terms.marginal(d, data, p, j, len(log_prior))
            value[j], error[j] = _mean(log, drawn, log_prior)
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
    weight = np.exp(-0.5 * STANDARD_GRID**2)
    weight /= weight.sum()
    total = 0.0
    for k in np.flatnonzero(log_prior > -np.inf):
        gain = _divergence(_normal(mean[k] + sd[k] * STANDARD_GRID, mean, sd), log_prior)
        total += float(np.exp(log_prior[k]) * (weight @ gain))
    return total


def _normal(x: Floats, mean: Floats, sd: Floats) -> Floats:
    """(n, K): log φ((x − mean) / sd) / sd"""
    z = (x[:, None] - mean) / sd
    return np.asarray(-0.5 * (z**2 + LOG_2PI) - np.log(sd))


def _data(d: Distribution[S, P], columns: list[Array]) -> Data:
    if d.needs == "numbers":
        return Numbers(None, None, tuple(np.asarray(c, dtype=np.float64) for c in columns))
    return Codes(_core.Columns([np.asarray(c, dtype=np.int32) for c in columns]))


def _drawn_classes(log_prior: Floats, columns: int) -> NDArray[np.int32]:
    """The class of each draw: equally many of each, in order; of very many classes a systematic sample by the prior."""
    K = len(log_prior)
    draws = max(LEAST_DRAWS, min(DRAWS, ALL_DRAWS // columns))
    each = max(2, draws // K)
    if each * K * K <= CELLS:
        return np.repeat(np.arange(K, dtype=np.int32), each)
    n = max(FEWEST_DRAWS, min(draws, CELLS // K))
    share = np.cumsum(np.exp(log_prior))
    return np.asarray(np.searchsorted(share, share[-1] * (np.arange(n) + 0.5) / n), dtype=np.int32)


def _by_frequencies(codes: Array, drawn: NDArray[np.int32], log_prior: Floats) -> tuple[float, float]:
    """The mean of log P(code | class) / P(code) and its standard error, with P as often as each was drawn."""
    counts = np.zeros((int(codes.max()) + 1, len(log_prior)))
    np.add.at(counts, (codes, drawn), 1.0)
    log = np.log((counts + 1 / len(counts)) / (counts.sum(axis=0) + 1))
    gain = log[codes, drawn] - np.logaddexp.reduce(log + log_prior, axis=1)[codes]
    value, error = _by_class(gain, drawn, np.exp(log_prior))
    bias = (len(counts) - 1) * (counts.any(axis=0).sum() - 1) / (2 * len(codes))  # of frequencies, Miller (1955)
    return max(value - bias, 0.0), error


def _mean(log_p: Floats, drawn: NDArray[np.int32], log_prior: Floats) -> tuple[float, float]:
    """The mean of the divergence, and its standard error."""
    at_once = max(1, CELLS // 10 // len(log_prior))  # a block of rows at a time: its temporaries are as large
    blocks = [_divergence(log_p[i : i + at_once], log_prior) for i in range(0, len(log_p), at_once)]
    return _by_class(np.concatenate(blocks), drawn, np.exp(log_prior))


def _by_class(gain: Floats, drawn: NDArray[np.int32], share: Floats) -> tuple[float, float]:
    """The mean in all classes and its standard error, of values drawn as `_drawn_classes` says."""
    if len(drawn) % len(share) or not (drawn[:: len(drawn) // len(share)] == np.arange(len(share))).all():
        return float(gain.mean()), float(gain.std() / np.sqrt(len(gain)))
    each = gain.reshape(len(share), -1)
    return float(share @ each.mean(axis=1)), float(np.sqrt((share**2 * each.var(axis=1) / each.shape[1]).sum()))
