"""Estimation of an ensemble: hyperparameters, stacking weights and trees, tuned on the row sample by leave-one-out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions.networks.joint_counts import GRID, LevelParams, fields_of
from tallybayes.ensemble import boosting, class_trees, gaussian_copula, neighbors, stacking, target_encoding
from tallybayes.ensemble.ensemble_statistics import EnsembleParams, EnsembleStatistics
from tallybayes.ensemble.row_sample import class_order, with_class_ranks
from tallybayes.errors import require_memory
from tallybayes.model.temperature import best_temperature
from tallybayes.utils.array_types import Array, Floats
from tallybayes.utils.progress import stage

if TYPE_CHECKING:
    from tallybayes.ensemble.ensemble_distribution import Ensemble

CONCENTRATION_ROWS = 1000  # rows that choose the concentrations
STACKING_ROWS = 20_000  # rows that choose the stacking weights
MAX_META_NUMBERS = 7 << 23  # numbers in the meta-features of the validation rows
MAX_STEP_PRODUCTS = 1.2e9  # multiplications in one Newton step of the stacking weights
TEMPERATURE_ROWS = 2000
MIN_LOG = float(np.log(1e-37))  # of a probability that has a weight: as cpp/kernels/back_off_chains.hpp
VALUE_PSEUDO_COUNT = 1.0  # pseudo-rows of every value, spread over the classes
NO_GRID = np.empty(0)


class ValidationRows(NamedTuple):
    """Rows of the sample: packed codes (columns, rows), class, weight that leave-one-out removes, weight in the loss,
    log prior (rows, classes) and class prior. The only row of a class has no leave-one-out prediction: its weight in
    the loss is 0."""

    codes: Array
    y: NDArray[np.int32]
    unit: Floats
    w: Floats
    start: Floats
    prior: Floats

    @classmethod
    def of(cls, s: EnsembleStatistics, n: int, class_weight: Floats) -> ValidationRows:
        """The first n rows of the sample."""
        codes, y, w = np.ascontiguousarray(s.sample_codes[:, :n]), s.sample_label[:n], s.sample_weight[:n]
        unit, prior = np.minimum(w, 1.0), smooth_prior(class_weight)
        has_others = class_weight[y] * (1 - 1e-9) > unit
        return cls(codes, y, unit, w * has_others, np.tile(prior, (n, 1)), np.exp(prior))

    def first(self, m: int) -> ValidationRows:
        """The first m rows."""
        return ValidationRows(self.codes[:, :m], self.y[:m], self.unit[:m], self.w[:m], self.start[:m], self.prior)


def estimate(ensemble: Ensemble, s: EnsembleStatistics, base: LevelParams) -> EnsembleParams:
    """The parameters of these statistics, with everything chosen.

    Each component predicts the rows of the sample leave-one-out; these log-probabilities are the meta-features of
    stacking, and boosting starts from the stack. What is chosen, is chosen with the classes in canonical order:
    rounding must not depend on their names.
    """
    K = base.K
    order = class_order(s.sample, K)
    rank = np.argsort(order)
    ordered, class_weight = _in_class_order(s, order, rank), base.class_weight[order]
    rows = ValidationRows.of(ordered, _scored_size(ensemble, s, K), class_weight)
    choosing = rows.first(_validation_size(ensemble, s, K))

    concentrations, logs, terms = _choose_concentrations(ensemble, s.chains, rows, ordered.sample_weight, order)
    terms = class_trees.average(ensemble, terms, s.sample_key[: len(rows.y)])
    others = _other_components(ensemble, ordered, terms, rows)
    stage("stacking")
    chosen_terms = np.ascontiguousarray(terms[:, : len(choosing.y)])
    stack = _stack(ensemble, chosen_terms, choosing, others.target_encoding is not None)
    joint = rows.start + stack.biases + _core.weighted_terms(terms, stack.weights)
    del terms, chosen_terms  # they may be the largest arrays of a fit
    trees, estimated = _boost(ensemble, ordered, stack, rows, choosing, joint)

    judged = ensemble.judged(float(class_weight.sum()))
    estimated = stacking.corrected(estimated, judged)
    factor = ensemble.weight * judged.shrinkage
    weights, biases = factor * stack.weights, factor * stack.biases[rank]
    others, trees = others.in_class_order(order, rank), trees and trees.times(factor).in_class_order(rank)
    return EnsembleParams(
        **fields_of(base), **others._asdict(), concentrations=concentrations, logs=_logs(ensemble, s.chains, logs),
        boosting=trees, weights=weights, biases=biases,
        chain_weights=chain_weights(ensemble, weights), ridge=stack.ridge,
        steps=stack.steps, loss=estimated.loss, loss_error=estimated.error,
        validation_rows=int((choosing.w > 0).sum()),
    )  # fmt: skip


def _choose_concentrations(
    ensemble: Ensemble, counts: Array, rows: ValidationRows, weight: Floats, order: Array
) -> tuple[Floats, Array, Array]:
    """Concentrations and log-probabilities of all chains; meta-features (features, rows, classes), classes in order.

    The meta-features of components without chains are there, and empty.
    """
    n, K = rows.start.shape
    features = ensemble.meta_features
    require_memory(
        3 * n * K * (features + 1),  # meta-features in single precision, and copies made of them
        f"Stacking {features} meta-features of {n:,} rows in {K:,} classes",
        "Merge rare classes, or use NaiveBayes, TAN or AODE.",
    )
    stage("choosing concentrations of back-off")
    y, w = order[rows.y].astype(np.int32), weight[:n]
    smoothing = _smoothing(ensemble, CONCENTRATION_ROWS)
    concentrations, logs, terms = ensemble.chains.learn(
        counts, rows.codes, y, None if (w == 1).all() else w, smoothing, _chain_features(ensemble)
    )
    if (order != np.arange(K)).any():
        for own in terms:
            own[:] = own[:, order]  # one by one: together they may take much memory
    return concentrations, logs, terms


def _boost(
    ensemble: Ensemble,
    s: EnsembleStatistics,
    stack: stacking.Stack,
    rows: ValidationRows,
    choosing: ValidationRows,
    joint: Floats,
) -> tuple[boosting.BoostedTrees | None, stacking.EstimatedLoss]:
    """Trees on the residuals of the stack, where they are asked for; and the expected loss of both.

    joint: the stack's log joint of all rows; those that chose the weights are replaced by their cross-fitted one.
    """
    m = len(choosing.y)
    own = stacking.mean_loss(stacking.row_losses(joint[:m], choosing.y), choosing.w)
    if stack.cross_fitted is None:
        return None, own
    trees, gain = None, 0.0
    if ensemble.boosting and (rows.w > 0).sum() >= stacking.MIN_ROWS_TO_TUNE:
        stage("boosting")
        joint[:m] = stack.cross_fitted.joint  # the others had no part in the weights
        trees, gain = boosting.boost(_boosting_rows(ensemble, s, rows), joint, ensemble.boosting)
    return trees, stacking.expected_loss(stack.cross_fitted.estimate, own.loss, gain)


class OtherComponents(NamedTuple):
    """The components without back-off chains: see EnsembleParams."""

    target_encoding: target_encoding.TargetEncoding | None
    neighbors: neighbors.Neighbors | None
    regularisation: gaussian_copula.Regularisation | None
    gaussian: gaussian_copula.Discriminant | None

    def in_class_order(self, order: Array, rank: Array) -> OtherComponents:
        """The same with class order[i] in the place of class i."""
        encoding, knn, gaussian = self.target_encoding, self.neighbors, self.gaussian
        return self._replace(
            target_encoding=encoding and encoding.in_class_order(rank),
            neighbors=knn and replace(knn, label=order[knn.label].astype(np.int32), prior=knn.prior[rank]),
            gaussian=gaussian and gaussian.in_class_order(rank),
        )


def _in_class_order(s: EnsembleStatistics, order: Array, rank: Array) -> EnsembleStatistics:
    """All but the counts of chains, with class order[i] as class i."""
    sample = with_class_ranks(s.sample, rank)
    moments = gaussian_copula.Statistics(s.gaussian_n[order], s.gaussian_mean[order], s.gaussian_scatter[order])
    return EnsembleStatistics.of(np.ascontiguousarray(s.single[order]), s.sizes, sample, s.chains, moments)


def _other_components(ensemble: Ensemble, s: EnsembleStatistics, terms: Array, rows: ValidationRows) -> OtherComponents:
    """Fit them, and fill their meta-features."""
    codes, y, unit, w, start, prior = rows
    encoding = knn = options = gaussian = None
    if len(ensemble.encoded_column):
        encoding = target_encoding.choose(s, ensemble.encoded_column, codes, y, unit, w, prior)
        ensemble.of("target_encoding", terms)[:] = target_encoding.leave_one_out(encoding, s, codes, y, unit)
    if ensemble.has("neighbors"):
        stage("choosing neighbors")
        near = neighbors.choose(s, (ensemble.numeric_column, ensemble.tokens), y, unit, w, start, prior)
        knn, ensemble.of("neighbors", terms)[:] = near or (None, 0.0)
    if ensemble.has("gaussian"):
        stage("choosing covariances")
        quick = ensemble.weighting != "features"
        best = gaussian_copula.choose(s.gaussian, ensemble.normal_scores.read(codes), y, unit, start, w, quick)
        options, gaussian, ensemble.of("gaussian", terms)[0] = best if best is not None else (None, None, 0.0)
    return OtherComponents(encoding, knn, options, gaussian)


def _stack(ensemble: Ensemble, terms: Array, rows: ValidationRows, encoded: bool) -> stacking.Stack:
    """The stacking weights by `weighting`."""
    centre = _centres(ensemble, terms, rows)
    data = (rows.y, rows.w, rows.start, centre)
    if ensemble.weighting == "features":
        return stacking.fit(terms, *data, stacking.nonnegative(ensemble), stacking.group_sizes(ensemble))
    if ensemble.weighting == "temperature" and encoded:  # a temperature cannot balance it against the networks
        return stacking.fit_by_component(ensemble, terms, *data)
    return stacking.Stack(0.0, centre, np.zeros(len(rows.prior)), 0, None)


def _boosting_rows(ensemble: Ensemble, s: EnsembleStatistics, rows: ValidationRows) -> boosting.BoostingRows:
    d, m = rows.codes.shape
    numeric = np.zeros(d, dtype=bool)
    numeric[ensemble.numeric_column] = True
    rule = ensemble.missing_rule
    complete = np.ones(d, dtype=bool) if rule is None else rule.complete
    sizes = s.sizes if rule is None else np.where(rule.ignored, 0, s.sizes)
    labelled = (s.sample_label[:m], rows.w, s.sample_key[:m])
    return boosting.BoostingRows(rows.codes, sizes, numeric, complete, *labelled, ensemble.tokens)


def _scored_size(ensemble: Ensemble, s: EnsembleStatistics, K: int) -> int:
    """How many rows of the sample have leave-one-out predictions: as many as memory allows."""
    features = ensemble.meta_features
    return min(len(s.sample_label), max(200, MAX_META_NUMBERS // ((features + 1) * K)))


def _validation_size(ensemble: Ensemble, s: EnsembleStatistics, K: int) -> int:
    """How many of these choose the stacking weights: as many as time allows."""
    features = ensemble.meta_features
    by_time = int(MAX_STEP_PRODUCTS / (K * features**2)) if ensemble.weighting == "features" else 0
    return min(_scored_size(ensemble, s, K), STACKING_ROWS, max(TEMPERATURE_ROWS, by_time))


def with_fixed_hyperparameters(
    ensemble: Ensemble, s: EnsembleStatistics, base: LevelParams, p: EnsembleParams
) -> EnsembleParams:
    """The parameters of other statistics, with the hyperparameters, weights and trees of p."""
    gaussian, old = None, p.target_encoding
    if p.regularisation is not None and p.gaussian is not None:
        gaussian = gaussian_copula.with_fixed_hyperparameters(s.gaussian, p.gaussian, p.regularisation)
    return replace(
        p,
        **fields_of(base),
        logs=logs_of(ensemble, s, p.concentrations),
        gaussian=gaussian,
        target_encoding=old and target_encoding.encode(s, old.columns, old.pseudo_counts, old.prior),
        neighbors=p.neighbors and p.neighbors.with_fixed_hyperparameters(s),
    )


def logs_of(ensemble: Ensemble, s: EnsembleStatistics, concentrations: Floats) -> Array:
    """The log-probabilities of all chains, with concentrations as chosen before."""
    nobody = (np.ascontiguousarray(s.sample_codes[:, :0]), s.sample_label[:0], None)
    smoothing = _smoothing(ensemble, 0, concentrations)
    _, logs, _ = ensemble.chains.learn(s.chains, *nobody, smoothing, _chain_features(ensemble))
    return _logs(ensemble, s.chains, logs)


def chain_weights(ensemble: Ensemble, weights: Floats) -> Floats:
    """What the term of each chain is multiplied by."""
    return np.asarray(weights[_feature_of_chain(ensemble)] * ensemble.chain_share)


def leave_one_out(
    ensemble: Ensemble, s: EnsembleStatistics, p: EnsembleParams, codes: Array, y: NDArray[np.int32], unit: Floats
) -> Floats:
    """(rows, classes): the leave-one-out score of learned rows; all choices are kept."""

    def chains(weights: Floats, codes: Array, y: NDArray[np.int32], unit: Floats) -> Floats:
        one = _core.ChainOutputs(1, np.zeros(len(weights), dtype=np.int32), weights)
        smoothing = _smoothing(ensemble, 0, p.concentrations)
        _, _, terms = ensemble.chains.learn(s.chains, codes, y, unit, smoothing, one)
        return np.asarray(terms[0], dtype=np.float64)

    out = chains(p.chain_weights, codes, y, unit) + p.biases
    if p.target_encoding is not None:
        own = target_encoding.leave_one_out(p.target_encoding, s, codes, y, unit)
        out += np.tensordot(ensemble.of("target_encoding", p.weights), np.stack(own), axes=1)
    if p.neighbors is not None:
        out += ensemble.of("neighbors", p.weights)[0] * p.neighbors.leave_one_out(codes, y, unit)
    if p.boosting is not None:
        out += p.boosting.scores(codes)
    if p.regularisation is not None:
        lam, gam, nu = p.regularisation
        z = ensemble.normal_scores.read(codes)
        left = gaussian_copula.leave_one_out(s.gaussian, z, y, unit, lam, gam, (nu,))
        assert left is not None
        out += ensemble.of("gaussian", p.weights)[0] * left[0]
    rule = ensemble.missing_rule
    if rule is not None and (some := rule.incomplete(codes)) is not None:
        at = some.rows
        out[at] = some.blend(out[at], chains(rule.weights, np.ascontiguousarray(codes[:, at]), y[at], unit[at]))
    return np.asarray(out)


def smooth_prior(weight: Array) -> Floats:
    """log (n_k + ½) / (n + K / 2): class shares with Jeffreys' half a row."""
    return np.asarray(np.log((weight + 0.5) / (weight.sum() + 0.5 * len(weight))))


def _smoothing(ensemble: Ensemble, rows: int, concentrations: Floats | None = None) -> _core.ChainSmoothing:
    grid = GRID if ensemble.smoothing == "backoff" else NO_GRID
    return _core.ChainSmoothing(grid, rows, float(ensemble.alpha), VALUE_PSEUDO_COUNT, concentrations)


def _chain_features(ensemble: Ensemble) -> _core.ChainOutputs:
    """The meta-feature of each chain; components without chains have some too, and at first every class tree."""
    features = ensemble.meta_features
    count = max(features, int(ensemble.chain_feature.max(initial=-1)) + 1)
    return _core.ChainOutputs(count, ensemble.chain_feature, ensemble.chain_share)


def _logs(ensemble: Ensemble, counts: Array, logs: Array) -> Array:
    """Laplace's estimates to the last bit as in the other networks; bounded, so that 0 · log 0 is not NaN."""
    if ensemble.smoothing == "backoff":
        return logs
    found = np.asarray(ensemble.chains.laplace(counts, ensemble.alpha))
    return found if ensemble.weighting == "none" else np.maximum(found, MIN_LOG)


def _feature_of_chain(ensemble: Ensemble) -> Array:
    """The meta-feature whose weight each chain has: all class trees share one."""
    trees = ensemble.child < 0
    first = int(ensemble.chain_feature[trees].min()) if trees.any() else 0
    return np.where(trees, first, ensemble.chain_feature)


def _centres(ensemble: Ensemble, terms: Array, rows: ValidationRows) -> Floats:
    """Where stacking weights start and are shrunk to: the temperature of each component times its share."""
    few = slice(0, TEMPERATURE_ROWS)
    y, w, start = rows.y[few], rows.w[few], rows.start[few]
    if ensemble.weighting == "none":  # what is target-encoded is in the bins of the networks, too
        return np.concatenate(
            [np.full(component.size, float(component.name != "target_encoding")) for component in ensemble.components]
        )
    shared = [component for component in ensemble.components if component.initial_weight > 0]
    centre, whole = np.zeros(len(terms)), sum(component.initial_weight for component in shared)
    for component in shared:
        own = slice(component.first, component.first + component.size)
        total = terms[own, few].sum(axis=0, dtype=np.float64)
        centre[own] = _temperature(total, start, y, w) * component.initial_weight / whole
    if ensemble.weighting == "temperature" and len(shared) > 1:
        total = np.tensordot(centre, terms[:, few], axes=1)
        centre *= _temperature(total, start, y, w)
    return centre


def _temperature(terms: Array, start: Array, y: Array, w: Array) -> float:
    return best_temperature(start, terms, y, w, stacking.TEMPERATURE_PULL, stacking.TEMPERATURE_CENTRE, 1e-4)
