"""Stacking (Wolpert 1992; Breiman 1996): ridge multinomial logistic regression on leave-one-out predictions.

The meta-features are the leave-one-out log-likelihood terms of the components, by group of columns where a component
has one for each. Their weights are shrunk towards a temperature for each component; the ridge is chosen by 2-fold
cross-validation over the row sample, which also gives the estimated log-loss of new rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from tallybayes.ensemble.ensemble_distribution import Ensemble

MAX_STEPS = 8  # Newton steps of one fit
RIDGE_FACTORS = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1)  # to choose from, times the default ridge
DEFAULT_FACTOR = 3  # index of the factor 1
RIDGE, RIDGE_PER_ROW = 2.0, 5000.0  # the default ridge: RIDGE + RIDGE_PER_ROW / rows
MIN_ROWS_TO_TUNE = 100  # for choosing the ridge, and for boosting
MIN_ROWS_TO_ESTIMATE = 10  # for a cross-validated log-loss
OPTIMISM = 0.1  # share of the way from the cross-validated loss to the resubstitution loss that full data gains
TEMPERATURE_PULL, TEMPERATURE_CENTRE = 4.0, 0.3  # prior rows of a component's temperature, and where they draw it
SINGLE_FEATURE = ("class_trees", "neighbors", "gaussian")  # components with one meta-feature in all


class NestedHalves(NamedTuple):
    """What half_fits.py finds, and explains; error: standard error of the log-loss of the other half; rows: how many
    there were."""

    shrinkage: float = 1.0
    optimism: float = 0.0
    error: float = 0.0
    rows: float = 0.0


def nonnegative(ensemble: Ensemble) -> NDArray[np.bool_]:
    """Which meta-features need weights ≥ 0: all but naive Bayes, which offsets what others say of a column."""
    free = [component.name == "naive" and component.initial_weight == 0 for component in ensemble.components]
    return np.concatenate(
        [np.full(component.size, not f) for component, f in zip(ensemble.components, free, strict=True)]
    )


def group_sizes(ensemble: Ensemble) -> Floats:
    """How many columns share each meta-feature: its ridge is multiplied by that."""
    each = np.bincount(ensemble.column_group).astype(np.float64)
    single = (*SINGLE_FEATURE, "target_encoding")
    return np.concatenate(
        [np.ones(component.size) if component.name in single else each for component in ensemble.components]
    )


class EstimatedLoss(NamedTuple):
    """A mean log-loss and its standard error."""

    loss: float
    error: float


class CrossFitted(NamedTuple):
    """Each half of the rows with the weights of the other half: estimated log-loss, and the joint of each row."""

    estimate: EstimatedLoss
    joint: Floats


class Stack(NamedTuple):
    """Fitted stacking weights; cross_fitted: None for too few rows."""

    ridge: float
    weights: Floats
    biases: Floats
    steps: int
    cross_fitted: CrossFitted | None


def fit_by_component(ensemble: Ensemble, terms: Array, y: Array, w: Floats, start: Floats, centre: Floats) -> Stack:
    """One weight for each component, and one for each column of target encoding."""
    spans = [
        slice(component.first + i, component.first + (i + 1 if component.name == "target_encoding" else component.size))
        for component in ensemble.components
        for i in range(component.size if component.name == "target_encoding" else 1)
    ]
    sums = np.stack([terms[span].sum(axis=0, dtype=np.float32) for span in spans])
    first = np.array([centre[span.start] for span in spans])
    each = np.ones(len(spans))
    found = fit(sums, y, w, start, first, each > 0, each)
    return found._replace(weights=np.repeat(found.weights, [span.stop - span.start for span in spans]))


def fit(
    terms: Array,
    y: Array,
    w: Floats,
    start: Floats,
    centre: Floats,
    nonnegative: NDArray[np.bool_],
    group_size: Floats,
) -> Stack:
    """Weights of meta-features `terms` (features, rows, classes), with the ridge of least 2-fold log-loss."""

    same = None if (w[w > 0] == 1).all() else w
    odd = np.arange(len(y)) % 2 == 1
    rows = _core.StackingProblem(terms, np.where(w > 0, y, -1).astype(np.int32), same, start, odd)

    def fit_half(ridge: float, half: bool | None, first: Floats | None) -> tuple[Floats, Floats, float, int]:
        pull = ridge * np.append(group_size, 1.0)  # the last: of the biases
        return rows.fit(half, centre, pull, nonnegative, (MAX_STEPS, first))

    def loss(ridge: float) -> float:
        total = 0.0
        for i, half in enumerate((False, True)):
            v, b, _, _ = fit_half(ridge, half, found[i])
            found[i] = np.concatenate([v, b])
            total += rows.loss(not half, v, b)
        tried[total] = [each for each in found if each is not None]
        return total

    def cross_fitted(halves: Sequence[Floats]) -> CrossFitted:
        """Each row with the weights of the half that it is not in."""
        each = np.empty_like(start)
        for half, both in zip((False, True), halves, strict=True):
            v, b = both[: len(terms)], both[len(terms) :]
            others = odd != half
            each[others] = (start + b + _core.weighted_terms(terms, v))[others]
        return CrossFitted(mean_loss(row_losses(each, y), w), each)

    tried = dict[float, list[Floats]]()  # the weights and biases of both halves, by their loss
    found: list[Floats | None] = [None, None]  # of each half with the last ridge: a warm start for the next
    default = RIDGE + RIDGE_PER_ROW / max(1.0, float(w.sum()))
    ridge, crossed = default, None
    if (w > 0).sum() >= MIN_ROWS_TO_TUNE:
        factor, least = _best_factor(lambda f: loss(default * f))
        ridge, crossed = default * factor, cross_fitted(tried[least])
    halves = [one for one in found if one is not None]
    v, b, _, steps = fit_half(ridge, None, np.mean(halves, axis=0) if halves else None)
    if crossed is None and (w > 0).sum() >= MIN_ROWS_TO_ESTIMATE:
        crossed = cross_fitted(tried[loss(ridge)])
    return Stack(ridge, v, b, steps, crossed)


def _best_factor(loss: Callable[[float], float]) -> tuple[float, float]:
    """The ridge factor of least loss, by descent over RIDGE_FACTORS and then a parabola; and the least loss seen."""
    found = dict[int, float]()

    def at(i: int) -> float:
        if i not in found:
            found[i] = loss(RIDGE_FACTORS[i])
        return found[i]

    i, way = DEFAULT_FACTOR, -1 if at(DEFAULT_FACTOR - 1) < at(DEFAULT_FACTOR) else 1
    while 0 <= i + way < len(RIDGE_FACTORS) and at(i + way) < at(i):
        i += way
    if not 0 < i < len(RIDGE_FACTORS) - 1:
        return RIDGE_FACTORS[i], at(i)
    x, f = np.log(RIDGE_FACTORS[i - 1 : i + 2]), [at(i + k) for k in (-1, 0, 1)]
    left, right = (f[0] - f[1]) / (x[0] - x[1]), (f[2] - f[1]) / (x[2] - x[1])
    curvature = (right - left) / (x[2] - x[0])
    vertex = (x[0] + x[1]) / 2 - left / (2 * curvature) if curvature != 0 else x[1]
    return float(np.exp(np.clip(vertex, x[2], x[0]))), at(i)


def mean_loss(losses: Floats, w: Floats) -> EstimatedLoss:
    """The weighted mean of row losses and its standard error."""
    share = w / max(float(w.sum()), 1e-300)
    mean = float((share * losses).sum())  # not @: its last bit depends on the number of threads, which may wait
    return EstimatedLoss(mean, float(np.sqrt(np.square(share * (losses - mean)).sum())))


def expected_loss(cross_validated: EstimatedLoss, resubstitution: float, gain: float) -> EstimatedLoss:
    """The estimated log-loss of new rows.

    The weights of half of the rows do worse than those of all rows, and these seem better on their own rows than they
    are: the truth lies between. gain: by how much boosting lowered the cross-validated loss.
    """
    optimism = OPTIMISM * max(cross_validated.loss - resubstitution, 0.0)
    loss = max((cross_validated.loss - optimism) * (1 - gain / max(cross_validated.loss, 1e-300)), 0.0)
    return EstimatedLoss(loss, cross_validated.error * loss / max(cross_validated.loss, 1e-300))


def corrected(estimated: EstimatedLoss, judged: NestedHalves) -> EstimatedLoss:
    """An estimated loss and what nested halves found: a fit on all rows has about half of the optimism of their fits,
    all of it if the score is not trusted. The correction itself is uncertain by half of its size."""
    more = (1 - judged.shrinkage / 2) * judged.optimism
    loss = max(estimated.loss + more, estimated.loss / 10)
    return EstimatedLoss(loss, float(np.hypot(max(estimated.error, judged.error), more / 2)))


def row_losses(joint: Array, y: Array) -> Floats:
    """−log P(y) of each row."""
    top = joint.max(axis=1)
    whole = top + np.log(np.exp(joint - top[:, None]).sum(axis=1))
    return np.asarray(whole - joint[np.arange(len(y)), y], dtype=np.float64)
