"""The text of `BayesClassifier.summary()`."""

from __future__ import annotations

import numpy as np

from tallybayes.distributions import Words
from tallybayes.ensemble.ensemble_distribution import Ensemble
from tallybayes.ensemble.ensemble_statistics import EnsembleParams, EnsembleStatistics
from tallybayes.ensemble.stacking import MIN_ROWS_TO_ESTIMATE, SINGLE_FEATURE
from tallybayes.model.fitted import Fitted

MAX_SHOWN = 12  # columns of the table of weights


def describe(fitted: Fitted) -> str:
    """What a fitted BayesClassifier is made of, and what was chosen; fitted: with parameters."""
    schema, term = fitted.schema, fitted.terms[0]
    texts = [
        f"text {schema.name(t.columns[0])}: weight {d.weight:.3g}, alpha {d.alpha:g}"
        for t in fitted.terms
        if isinstance(d := t.distribution, Words)
    ]
    size = f"{fitted.weight.sum():g} rows, {schema.d} columns, {fitted.K} classes"
    ensemble, p = term.distribution, term.params
    if not isinstance(ensemble, Ensemble):
        return "\n".join([f"{size}.", *texts])
    lines = [
        f"Stacked ensemble of {size}.",
        f"Components: {_components(ensemble, p)}.",
        _row_sample_text(ensemble, term.statistics),
        f"Chosen by leave-one-out on {p.validation_rows:,} sampled rows (log-loss {p.loss:.4f} ± {p.loss_error:.4f}, "
        f"{_scope(p)}): {len(p.concentrations):,} concentrations of back-off{_stacking(ensemble, p)}.",
    ]
    if not p.validation_rows:
        del lines[-1]  # one network of a model that keeps no row
    if (shrinkage := ensemble.judged(float(p.class_weight.sum())).shrinkage) < 1:
        lines.append(f"Evidence counts {shrinkage:.2g} times: so much of it holds on the other half of the rows.")
    if p.regularisation is not None:
        lam, gam, nu = p.regularisation
        lines.append(
            f"Gaussian discriminant: {lam:g} of the shared covariance, {gam:g} of the diagonal, "
            + ("normal tails." if np.isinf(nu) else f"Student's t tails with {nu:g} degrees of freedom.")
        )
    if p.neighbors is not None:
        knn = p.neighbors
        lines.append(
            f"Neighbors: k = {knn.k} of {len(knn.label):,} sampled rows, pseudo-count {knn.pseudo_count:g}; "
            + ("Euclidean" if knn.root is None else "Mahalanobis")
            + f" distance in {len(knn.normal_scores.column)} dimensions."
        )
    lines += ["", *_weights(ensemble, p, [schema.name(j) for j in term.columns]), *texts]
    return "\n".join(lines)


def _components(ensemble: Ensemble, p: EnsembleParams) -> str:
    trees = int((ensemble.child < 0).sum())
    parents = int(np.diff(ensemble.parent_start)[ensemble.child >= 0].max(initial=0))
    plural = "s" * (ensemble.networks != 1)
    found = [
        (ensemble.networks, f"{ensemble.networks} Bayesian network{plural} with up to {parents} super-parents"),
        (ensemble.has("naive"), "naive Bayes on finer bins"),
        (trees, f"{trees} class trees"),
        (len(ensemble.encoded_column), f"target encoding of {len(ensemble.encoded_column)} categories"),
        (p.neighbors is not None, "k-nearest neighbors"),
        (len(ensemble.score_column), f"a Gaussian discriminant on {len(ensemble.score_column)} normal scores"),
        (p.boosting is not None, f"{0 if p.boosting is None else p.boosting.count} boosted trees on the residuals"),
    ]
    return ", ".join(text for there, text in found if there)


def _row_sample_text(ensemble: Ensemble, s: EnsembleStatistics) -> str:
    moments = s.gaussian_mean.size + s.gaussian_scatter.size
    if ensemble.is_fixed:
        return f"Kept: {s.chains.size:,} counts, {moments:,} moments, no rows; choices stay as made at the fit."
    rows = "searched at prediction" if ensemble.has("neighbors") else "used for choices only"
    return f"Kept: {s.chains.size:,} counts, {moments:,} moments, a sample of {len(s.sample_label):,} rows ({rows})."


def _scope(p: EnsembleParams) -> str:
    few = p.ridge == 0 or p.validation_rows < MIN_ROWS_TO_ESTIMATE
    return "of these rows with the choices" if few else "estimated for new rows"


def _stacking(ensemble: Ensemble, p: EnsembleParams) -> str:
    if ensemble.weighting == "none":
        return ""
    if ensemble.weighting == "temperature":
        return f", a {'temperature' if p.target_encoding is None else 'stacking weight'} for each component"
    return f", {len(p.weights)} stacking weights (ridge {p.ridge:.3g}, {p.steps} steps), {p.K} biases"


def _weights(ensemble: Ensemble, p: EnsembleParams, names: list[str]) -> list[str]:
    """The stacking weights, a column of the table in each line: the largest first."""
    by_column = [
        component for component in ensemble.components if component.name not in (*SINGLE_FEATURE, "target_encoding")
    ]
    lines = []
    if by_column:
        own = np.stack(
            [ensemble.of(component.name, p.weights)[ensemble.column_group] for component in by_column], axis=1
        )
        width = max(8, *(len(name) for name in names[:200]))
        lines.append(f"{'weight':<{width}}" + "".join(f"{component.name:>18}" for component in by_column))
        order = np.argsort(-np.abs(own).sum(axis=1), kind="stable").tolist()
        lines += [f"{names[j]:<{width}}" + "".join(f"{w:>18.3f}" for w in own[j]) for j in order[:MAX_SHOWN]]
        if len(order) > MAX_SHOWN:
            lines.append(f"… and {len(order) - MAX_SHOWN} more: see weights_")
    if ensemble.has("target_encoding"):
        each = zip(ensemble.encoded_column.tolist(), ensemble.of("target_encoding", p.weights), strict=True)
        lines += [f"target_encoding of {names[j]}: {w:.3f}" for j, w in each]
    whole = [component.name for component in ensemble.components if component.name in SINGLE_FEATURE]
    return lines + [f"{name}: {float(ensemble.of(name, p.weights)[0]):.3f}" for name in whole]
