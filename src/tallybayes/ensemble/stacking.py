"""How much each part of an ensemble is believed: weights of its terms, each row's without that row, by a ridge that
halves of the rows choose; and what such rows tell of new ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from tallybayes.ensemble.ensemble_distribution import Ensemble

STEPS = 8  # of the weights, at most
TIMES = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1)  # ridges that may be tried, times the usual one
USUAL = 3  # which of them is
OLD_TIMES = TIMES[2:]  # of edition 0
HALVES = 100  # rows from which they are
TELLING = 10  # rows from which halves tell what is to be expected of new ones
OF_ALL = 0.1  # how far weights of all rows are from those of halves, on the way to what they make of their own rows
RIDGE = (2.0, 5000.0)  # how strongly weights are drawn to their centre: always, and divided by the rows
PULL, TO = 4.0, 0.3  # how strongly a temperature is drawn to what most parts have


def bounded(ensemble: Ensemble) -> NDArray[np.bool_] | None:
    """The planes whose weights may not fall below 0. Naive Bayes may: it corrects what the others say of a column."""
    if not ensemble.edition:
        return None
    free = [part.name == "naive" and part.centre == 0 for part in ensemble.named_parts]
    return np.concatenate([np.full(part.planes, not f) for part, f in zip(ensemble.named_parts, free, strict=True)])


def shared_by(ensemble: Ensemble) -> Floats | None:
    """How many columns share each plane: so many times its weight is drawn to its centre. None in edition 0."""
    if not ensemble.edition:
        return None
    each = np.bincount(ensemble.plane_of).astype(np.float64)
    alone = ("class_trees", "target_encoding", "neighbors", "gaussian")
    return np.concatenate([np.ones(part.planes) if part.name in alone else each for part in ensemble.named_parts])


class Crossed(NamedTuple):
    """Each half of the rows with the weights of the other half: their log-loss, and the joint of each row."""

    told: Told
    joint: Floats


class Weighted(NamedTuple):
    """crossed: None where rows are too few to tell."""

    ridge: float
    weights: Floats
    biases: Floats
    steps: int
    crossed: Crossed | None


def of_parts(ensemble: Ensemble, terms: Array, y: Array, w: Floats, start: Floats, centre: Floats) -> Weighted:
    """One weight for each part, and one for each column of levels: what no temperature can tell."""
    runs = [
        slice(part.first + i, part.first + (i + 1 if part.name == "target_encoding" else part.planes))
        for part in ensemble.named_parts
        for i in range(part.planes if part.name == "target_encoding" else 1)
    ]
    few = np.stack([terms[run].sum(axis=0, dtype=np.float32) for run in runs])
    first = np.array([centre[run.start] for run in runs])
    each = np.ones(len(runs))
    found = of_planes(few, y, w, start, first, each > 0, each)
    return found._replace(weights=np.repeat(found.weights, [run.stop - run.start for run in runs]))


def of_planes(
    terms: Array,
    y: Array,
    w: Floats,
    start: Floats,
    centre: Floats,
    bounded: NDArray[np.bool_] | None,
    shared: Floats | None,
) -> Weighted:
    """The ridge, the weights and biases, and the steps taken. Of several ridges the one is taken with which the weights
    of each half of the rows do best on the other half."""

    same = None if (w[w > 0] == 1).all() else w
    odd = np.arange(len(y)) % 2 == 1
    rows = _core.StackingSearch(terms, np.where(w > 0, y, -1).astype(np.int32), same, start, odd)

    def fit(ridge: float, half: bool | None, first: Floats | None) -> tuple[Floats, Floats, float, int]:
        pull = ridge * np.append(np.ones(len(terms)) if shared is None else shared, 1.0)  # the last: that of the biases
        return rows.fit(half, centre, pull, bounded, (STEPS, first))

    def loss(ridge: float) -> float:
        total = 0.0
        for i, half in enumerate((False, True)):
            v, b, _, _ = fit(ridge, half, None if shared is None else found[i])
            found[i] = np.concatenate([v, b])
            total += rows.loss(not half, v, b)
        tried[total] = [each for each in found if each is not None]
        return total

    def crossed_joint(of_halves: Sequence[Floats]) -> Floats:
        """Of each row, with the weights of the half that it is not in."""
        each = np.empty_like(start)
        for half, both in zip((False, True), of_halves, strict=True):
            v, b = both[: len(terms)], both[len(terms) :]
            others = odd != half
            each[others] = (start + b + _core.weighted_terms(terms, v))[others]
        return each

    tried = dict[float, list[Floats]]()  # the weights and biases of both halves, by their loss
    found: list[Floats | None] = [None, None]  # of each half with the ridge tried last: close to those with the next
    plain = RIDGE[0] + RIDGE[1] / max(1.0, float(w.sum()))
    ridge, crossed = plain, None
    if (w > 0).sum() >= HALVES:
        if shared is None:
            ridge = min((plain * f for f in OLD_TIMES), key=loss)
        else:
            factor, least = _least(lambda f: loss(plain * f))
            joint = crossed_joint(tried[least])
            ridge, crossed = plain * factor, Crossed(told(row_losses(joint, y), w), joint)
    halves = [] if shared is None else [one for one in found if one is not None]
    v, b, _, steps = fit(ridge, None, np.mean(halves, axis=0) if halves else None)
    if crossed is None and shared is not None and (w > 0).sum() >= TELLING:  # too few to choose by, but not to tell
        joint = crossed_joint(tried[loss(ridge)])
        crossed = Crossed(told(row_losses(joint, y), w), joint)
    return Weighted(ridge, v, b, steps, crossed)


def _least(loss: Callable[[float], float]) -> tuple[float, float]:
    """The factor of TIMES with the least loss, walked to from the usual one while it falls, then the vertex of the
    parabola through it and its neighbours; and the least loss that was met."""
    found = dict[int, float]()

    def at(i: int) -> float:
        if i not in found:
            found[i] = loss(TIMES[i])
        return found[i]

    i, way = USUAL, -1 if at(USUAL - 1) < at(USUAL) else 1
    while 0 <= i + way < len(TIMES) and at(i + way) < at(i):
        i += way
    if not 0 < i < len(TIMES) - 1:
        return TIMES[i], at(i)
    x, f = np.log(TIMES[i - 1 : i + 2]), [at(i + k) for k in (-1, 0, 1)]
    left, right = (f[0] - f[1]) / (x[0] - x[1]), (f[2] - f[1]) / (x[2] - x[1])
    bend = (right - left) / (x[2] - x[0])
    vertex = (x[0] + x[1]) / 2 - left / (2 * bend) if bend != 0 else x[1]
    return float(np.exp(np.clip(vertex, x[2], x[0]))), at(i)


class Told(NamedTuple):
    """A mean log-loss and its standard error."""

    loss: float
    error: float


def told(losses: Floats, w: Floats) -> Told:
    total = max(float(w.sum()), 1e-300)
    mean = float(w @ losses) / total
    return Told(mean, float(np.linalg.norm(w / total * (losses - mean))))


def expected(crossed: Told, own: float, gain: float) -> Told:
    """What new rows can expect. crossed: of each half with the weights of the other; own: of all rows with their own
    weights; gain: by how much corrections lowered the first. The weights of a half are worse than those of all rows,
    which are as good as they seem to be to no row but their own: the truth lies between."""
    loss = (crossed.loss - OF_ALL * max(crossed.loss - own, 0.0)) * (1 - gain / max(crossed.loss, 1e-300))
    loss = max(loss, 0.0)
    return Told(loss, crossed.error * loss / max(crossed.loss, 1e-300))


def row_losses(joint: Array, y: Array) -> Floats:
    """−log P(y) of each row."""
    top = joint.max(axis=1)
    whole = top + np.log(np.exp(joint - top[:, None]).sum(axis=1))
    return np.asarray(whole - joint[np.arange(len(y)), y], dtype=np.float64)
