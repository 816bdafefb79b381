"""What an ensemble chooses on its kept rows, each judged without itself: strengths, λ, γ, temperature, weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions.networks.joint_counts import GRID, LevelParams, fields_of
from tallybayes.ensemble import boosting, gaussian_copula, neighbors, target_encoding
from tallybayes.ensemble.ensemble_statistics import EnsembleParams, EnsembleStatistics
from tallybayes.ensemble.stacking import (
    HALVES,
    PULL,
    TO,
    Crossed,
    bounded,
    expected,
    of_parts,
    of_planes,
    row_losses,
    shared_by,
    told,
)
from tallybayes.model.temperature import best_temperature, tempered
from tallybayes.utils.array_types import Array, Floats
from tallybayes.utils.progress import stage

if TYPE_CHECKING:
    from tallybayes.ensemble.ensemble_distribution import Ensemble


X = TypeVar("X")
Y = TypeVar("Y")
CHOOSERS = 1000  # kept rows that choose the strengths
CELLS = 1 << 26  # numbers in the terms of the kept rows
WORK = 1.2e9  # products in one step of the weights
FEW = 2000  # rows for a temperature
NO_GRID = np.empty(0)
LEAST = float(np.log(1e-37))  # of a logarithm that has a weight: as cpp/kernels/back_off_chains.hpp
WORTH = 1.0  # rows that every value has besides, spread over the classes


def choose(ensemble: Ensemble, s: EnsembleStatistics, base: LevelParams) -> EnsembleParams:
    """The parameters of a tally, with everything chosen."""
    K = base.K
    m = _judging(ensemble, s, K)
    codes, y, w = np.ascontiguousarray(s.rows[:, :m]), s.row_label[:m], s.row_weight[:m]
    unit = np.minimum(w, 1.0)
    judges = base.class_weight[y] * (1 - 1e-9) > unit  # without the others there would be no such class
    weight = None if (w == 1).all() else w
    stage("choosing how far to back off")
    strengths, logs, terms = ensemble.chains.learn(
        s.chains, codes, y, weight, _smoothing(ensemble, CHOOSERS), _planes(ensemble)
    )
    terms = _contexts_outside(ensemble, terms, s.row_key[:m])
    prior = smooth_prior(base.class_weight)
    start = np.tile(prior, (m, 1))
    besides = _besides(ensemble, s, terms, Judges(codes, y, unit, w * judges, start, np.exp(prior)))
    stage("choosing weights")
    weights, biases, ridge, steps = _centres(ensemble, terms, start, y, w * judges), np.zeros(K), 0.0, 0
    crossed: Crossed | None = None
    if ensemble.weighting == "features":
        ridge, weights, biases, steps, crossed = of_planes(
            terms, y, w * judges, start, weights, bounded(ensemble), shared_by(ensemble)
        )
    elif ensemble.weighting == "temperature" and besides.levels is not None:
        ridge, weights, biases, steps, crossed = of_parts(ensemble, terms, y, w * judges, start, weights)
    joint = start + biases + _core.weighted_terms(terms, weights)
    said, gain = told(row_losses(joint, y), w * judges), 0.0
    corrected = None
    if ensemble.edition > 2 and ensemble.boosting and crossed is not None and judges.sum() >= HALVES:
        stage("choosing corrections")
        table = _kept_table(ensemble, s, codes, w * judges)
        corrected, gain = boosting.find(table, crossed.joint, ensemble.boosting)
        corrected = corrected and corrected.times(ensemble.trust)
    if crossed is not None:
        said = expected(crossed.told, said.loss, gain)
    weights, biases = ensemble.trust * weights, ensemble.trust * biases
    return EnsembleParams(
        **fields_of(base), strengths=strengths, logs=_logs(ensemble, s, logs), levels=besides.levels,
        nearest=besides.nearest, normal=besides.normal, gaussian=besides.gaussian, corrections=corrected,
        weights=weights, biases=biases, scale=weights[_weight_of(ensemble)] * ensemble.share, ridge=ridge, steps=steps,
        loss=said.loss, loss_error=said.error, judges=int(judges.sum()),
    )  # fmt: skip


class Judges(NamedTuple):
    """The kept rows that choose: packed codes (columns, rows), classes, what leaves with each, and how much it judges;
    start: their log prior (rows, classes); prior: the class shares."""

    codes: Array
    y: NDArray[np.int32]
    unit: Floats
    w: Floats
    start: Floats
    prior: Floats


class Besides(NamedTuple):
    """The parts that are no chains: see EnsembleParams."""

    levels: target_encoding.LevelTerms | None
    nearest: neighbors.Nearest | None
    normal: tuple[float, float, float] | None
    gaussian: gaussian_copula.Normals | None


def _besides(ensemble: Ensemble, s: EnsembleStatistics, terms: Array, rows: Judges) -> Besides:
    """What is chosen for them. Their planes of terms are filled."""
    codes, y, unit, w, start, prior = rows
    levels = nearest = normal = gaussian = None
    if len(ensemble.level_column):
        each = target_encoding.choose(s, ensemble.level_column, codes, y, unit, w, prior)
        levels = target_encoding.read(s, ensemble.level_column, each, prior)
        ensemble.of_part("target_encoding", terms)[:] = target_encoding.leave_one_out(levels, s, codes, y, unit)
    if ensemble.has("neighbors"):
        stage("looking for the nearest rows")
        near = neighbors.choose(s, ensemble.number, y, unit, w, start, prior)
        nearest, ensemble.of_part("neighbors", terms)[:] = near or (None, 0.0)
    if ensemble.has("gaussian"):
        stage("choosing the Gaussian part")
        hurry = ensemble.weighting != "features"
        best = choose_normals(s.normal, ensemble.line.read(codes), y, unit, start, w, hurry)
        normal, gaussian, terms[-1] = best if best is not None else (None, None, 0.0)
    return Besides(levels, nearest, normal, gaussian)


def _kept_table(ensemble: Ensemble, s: EnsembleStatistics, codes: Array, w: Floats) -> boosting.KeptTable:
    d, m = codes.shape
    ordered = np.zeros(d, dtype=bool)
    ordered[ensemble.number] = True
    whole = np.ones(d, dtype=bool) if ensemble.gaps is None else ensemble.gaps.whole
    return boosting.KeptTable(codes, s.sizes, ordered, whole, s.row_label[:m], w, s.row_key[:m])


def _judging(ensemble: Ensemble, s: EnsembleStatistics, K: int) -> int:
    """How many of the kept rows judge: as many as memory and patience have room for."""
    planes = sum(part.planes for part in ensemble.named_parts)
    m = min(len(s.row_label), max(200, CELLS // ((planes + 1) * K)))
    return min(m, max(FEW, int(WORK / (K * planes**2)) if ensemble.weighting == "features" else 0))


def again(ensemble: Ensemble, s: EnsembleStatistics, base: LevelParams, p: EnsembleParams) -> EnsembleParams:
    """The parameters of another tally, with everything that was chosen in p."""
    nobody = (np.ascontiguousarray(s.rows[:, :0]), s.row_label[:0], None)
    _, logs, _ = ensemble.chains.learn(s.chains, *nobody, _smoothing(ensemble, 0, p.strengths), _planes(ensemble))
    gaussian = None
    if p.normal is not None and p.gaussian is not None:
        gaussian = gaussian_copula.kept(s.normal, p.gaussian, *p.normal)
    levels = p.levels and target_encoding.read(s, p.levels.columns, p.levels.rows, p.levels.prior)
    nearest = p.nearest and neighbors.again(s, p.nearest)
    logs = _logs(ensemble, s, logs)
    return replace(p, **fields_of(base), logs=logs, gaussian=gaussian, levels=levels, nearest=nearest)


def leave_one_out(
    ensemble: Ensemble, s: EnsembleStatistics, p: EnsembleParams, codes: Array, y: NDArray[np.int32], unit: Floats
) -> Floats:
    """(rows, classes): the score of rows that are in the tally, each without itself; what was chosen is kept."""

    def chains(scale: Floats, codes: Array, y: NDArray[np.int32], unit: Floats) -> Floats:
        planes = _core.ChainPlanes(1, np.zeros(len(scale), dtype=np.int32), scale)
        _, _, terms = ensemble.chains.learn(s.chains, codes, y, unit, _smoothing(ensemble, 0, p.strengths), planes)
        return np.asarray(terms[0], dtype=np.float64)

    out = chains(p.scale, codes, y, unit) + p.biases
    if p.levels is not None:
        own = target_encoding.leave_one_out(p.levels, s, codes, y, unit)
        out += np.tensordot(ensemble.of_part("target_encoding", p.weights), np.stack(own), axes=1)
    if p.nearest is not None:
        out += ensemble.of_part("neighbors", p.weights)[0] * p.nearest.leave_one_out(codes, y, unit)
    if p.corrections is not None:
        out += p.corrections.scores(codes)
    if p.normal is not None:
        lam, gam, nu = p.normal
        left = gaussian_copula.leave_one_out(s.normal, ensemble.line.read(codes), y, unit, lam, gam, (nu,))
        assert left is not None
        out += p.weights[-1] * left[0]
    gaps = ensemble.gaps
    if gaps is not None and (some := gaps.partial(codes)) is not None:
        at = some.rows
        out[at] = some.blend(out[at], chains(gaps.alone, np.ascontiguousarray(codes[:, at]), y[at], unit[at]))
    return np.asarray(out)


def smooth_prior(weight: Array) -> Floats:
    """log (n_k + ½) / (n + K / 2)"""
    return np.asarray(np.log((weight + 0.5) / (weight.sum() + 0.5 * len(weight))))


def _smoothing(ensemble: Ensemble, rows: int, strengths: Floats | None = None) -> _core.ChainSmoothing:
    grid = GRID if ensemble.smoothing == "backoff" else NO_GRID
    return _core.ChainSmoothing(grid, rows, float(ensemble.alpha), WORTH if ensemble.edition else 0.0, strengths)


def _planes(ensemble: Ensemble) -> _core.ChainPlanes:
    """Those of the parts, which have no chains too, and at first those of all contexts."""
    count = sum(part.planes for part in ensemble.named_parts)
    return _core.ChainPlanes(max(count, int(ensemble.plane.max(initial=-1)) + 1), ensemble.plane, ensemble.share)


def _logs(ensemble: Ensemble, s: EnsembleStatistics, logs: Array) -> Array:
    """Laplace's estimates to the last bit, as every other network has them. A weight of 0 makes no number of log 0."""
    if ensemble.smoothing == "backoff":
        return logs
    found = np.asarray(ensemble.chains.laplace(s.chains, ensemble.alpha))
    return found if ensemble.weighting == "none" else np.maximum(found, LEAST)


def _weight_of(ensemble: Ensemble) -> Array:
    """The plane whose weight each chain has: that of all contexts is one."""
    contexts = ensemble.child < 0
    first = int(ensemble.plane[contexts].min()) if contexts.any() else 0
    return np.where(contexts, first, ensemble.plane)


def _contexts_outside(ensemble: Ensemble, terms: Array, key: Array) -> Array:
    """The planes of the contexts become one: for each row the mean over those that it did not help to grow. The
    planes of the parts behind it are yet to be filled."""
    contexts = ensemble.child < 0
    parts = sum(part.planes for part in ensemble.named_parts)
    if not contexts.any():
        return terms[:parts]
    at, end = int(ensemble.plane[contexts].min()), int(ensemble.plane.max()) + 1
    count = end - at
    judges = ~np.stack([grows(key, e) for e in range(count)])
    share = (judges / np.maximum(judges.sum(axis=0), 1) * count).astype(np.float32)
    terms[at] = np.einsum("er,erc->rc", share, terms[at:end])
    return terms[:parts]


def grows(key: NDArray[np.uint64], e: int) -> NDArray[np.bool_]:
    """The rows on which context e is grown: half of them. The others judge it."""
    return ((key >> np.uint64(e % 64)) & np.uint64(1)).astype(bool)


def _centres(ensemble: Ensemble, terms: Array, start: Array, y: Array, w: Array) -> Floats:
    """What the weights start from and are drawn to: for each part its own temperature, times its share."""
    few = slice(0, FEW)
    if ensemble.weighting == "none":  # levels are in the bins of the networks, too
        return np.concatenate(
            [np.full(part.planes, float(part.name != "target_encoding")) for part in ensemble.named_parts]
        )
    parts = [part for part in ensemble.named_parts if part.centre > 0]
    centre, whole = np.zeros(len(terms)), sum(part.centre for part in parts)
    for part in parts:
        own = slice(part.first, part.first + part.planes)
        total = terms[own, few].sum(axis=0, dtype=np.float64)
        centre[own] = temperature(total, start[few], y[few], w[few]) * part.centre / whole
    if ensemble.weighting == "temperature" and len(parts) > 1:
        total = np.tensordot(centre, terms[:, few], axes=1)
        centre *= temperature(total, start[few], y[few], w[few])
    return centre


def temperature(terms: Array, start: Array, y: Array, w: Array, enough: float = 1e-4) -> float:
    return best_temperature(start, terms, y, w, PULL, TO, enough)


def choose_normals(
    s: gaussian_copula.Statistics, z: Array, y: Array, unit: Array, start: Array, w: Array, hurry: bool
) -> tuple[tuple[float, float, float], gaussian_copula.Normals, Array] | None:
    """λ, γ and ν with the least leave-one-out log-loss at their temperature; the normals, and their left-out terms."""
    judges = min(gaussian_copula.JUDGES, max(200, gaussian_copula.ANSWERS // len(s.n)))
    few = slice(0, judges // 2 if hurry else judges)
    z_few, y_few, unit_few = np.ascontiguousarray(z[few]), y[few], unit[few]

    def losses(pair: tuple[float, float], freedom: tuple[float, ...]) -> list[tuple[float, float]]:
        """For each ν."""
        found = gaussian_copula.leave_one_out(s, z_few, y_few, unit_few, *pair, freedom)
        if found is None:
            return [(np.inf, 0.0)]
        total = max(float(w[few].sum()), 1e-300)
        return [
            (tempered(start[few], logs, y[few], w[few], PULL, TO, 0.02)[1] / total, nu)
            for logs, nu in zip(found, freedom, strict=True)
        ]

    choices = gaussian_copula.CHOICES[: gaussian_copula.HURRY if hurry else None]
    first, rest = (gaussian_copula.FREEDOM[:1], gaussian_copula.FREEDOM[1:]) if hurry else (gaussian_copula.FREEDOM, ())
    tried = zip(_mapped(lambda pair: losses(pair, first), choices), choices, strict=True)
    least, nu, pair = min((*each, pair) for some, pair in tried for each in some)
    if rest and np.isfinite(least):
        least, nu = min((least, nu), *losses(pair, rest))
    fitted = gaussian_copula.normals(s, *pair, nu) if np.isfinite(least) else None
    left = None if fitted is None else gaussian_copula.leave_one_out(s, z, y, unit, *pair, (nu,))
    return None if fitted is None or left is None else ((*pair, nu), fitted, left[0])


def _mapped(f: Callable[[X], Y], many: Sequence[X]) -> list[Y]:
    """f of each, on the threads that there are: one needs no pool."""
    threads = _core.threads()
    if threads == 1:
        return [f(each) for each in many]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(f, many))
