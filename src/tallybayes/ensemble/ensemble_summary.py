"""What an ensemble counted and chose, in words."""

from __future__ import annotations

import numpy as np

from tallybayes.distributions import Words
from tallybayes.ensemble.ensemble_distribution import Ensemble
from tallybayes.ensemble.ensemble_statistics import EnsembleParams
from tallybayes.ensemble.stacking import TELLING
from tallybayes.model.fitted import Fitted

SHOWN = 12  # columns


def describe(fitted: Fitted) -> str:
    """What a fitted BayesClassifier counted and chose; fitted: with parameters."""
    schema = fitted.schema
    said = [
        f"text {schema.name(t.columns[0])}: weight {d.weight:.3g}, alpha {d.alpha:g}"
        for t in fitted.terms
        if isinstance(d := t.distribution, Words)
    ]
    term = fitted.terms[0]
    ensemble, p, s = term.distribution, term.params, term.statistics
    if not isinstance(ensemble, Ensemble):
        return "\n".join([f"{fitted.weight.sum():g} rows, {schema.d} columns, {fitted.K} classes.", *said])
    contexts = int((ensemble.child < 0).sum())
    naive = sum(part.planes for part in ensemble.named_parts if part.name == "naive")
    most = int(np.diff(ensemble.parent_start)[ensemble.child >= 0].max(initial=0))
    lines = [
        f"{fitted.weight.sum():g} rows, {schema.d} columns, {fitted.K} classes; four passes over the first rows (cuts, "
        "levels, pairs, chains), one over all that came later.",
        f"Counted: {ensemble.networks} network{'s' * (ensemble.networks != 1)} with up to {most} super-parents"
        + (f", {contexts} class trees" if contexts else "")
        + (", naive Bayes on finer cuts" if naive else "")
        + (f", the target encoding of {len(ensemble.level_column)} categories" if len(ensemble.level_column) else "")
        + (f", a Gaussian discriminant of {len(ensemble.z_column)} dimensions" if len(ensemble.z_column) else "")
        + f": {s.chains.size:,} counts, {s.z_mean.size + s.z_scatter.size:,} sums.",
        f"Chosen by leave-one-out on {p.judges:,} kept rows (log-loss {p.loss:.4f} ± {p.loss_error:.4f}"
        f"{_of_what(ensemble, p)}): "
        f"{len(p.strengths):,} strengths of back-off" + _numbers(ensemble, p) + ".",
    ]
    if p.normal is not None:
        lam, gam, nu = p.normal
        lines.append(
            f"Gaussian part: {lam:g} of the shared covariance, {gam:g} of the diagonal, "
            + ("normal tails." if np.isinf(nu) else f"tails of Student's t with {nu:g} degrees of freedom.")
        )
    if p.nearest is not None:
        lines.append(
            f"Neighbors: {p.nearest.neighbours} of {len(p.nearest.label):,} kept ones, "
            f"{p.nearest.counts:g} rows of the class shares; distances in {len(p.nearest.line.column)} dimensions"
            + (" as they are." if p.nearest.root is None else " by the covariance within classes.")
        )
    lines += ["", *_table(ensemble, p, [schema.name(j) for j in term.columns]), *said]
    return "\n".join(lines)


def _of_what(ensemble: Ensemble, p: EnsembleParams) -> str:
    if not ensemble.edition or p.ridge == 0 or p.judges < TELLING:
        return " with the choices"
    return " to be expected of new rows"


def _numbers(ensemble: Ensemble, p: EnsembleParams) -> str:
    if ensemble.weighting == "none":
        return ""
    if ensemble.weighting == "temperature":
        return ", a temperature for each part" if p.levels is None else ", a weight for each part"
    corrected = "" if p.corrections is None else f", {p.corrections.count} boosted trees"
    return f", {len(p.weights)} weights (ridge {p.ridge:.3g}, {p.steps} steps), {p.K} biases{corrected}"


def _table(ensemble: Ensemble, p: EnsembleParams, names: list[str]) -> list[str]:
    """The weights, a column of the table in each line: those that are believed most first."""
    parts = ensemble.named_parts
    each = [part for part in parts if part.name not in ("class_trees", "target_encoding", "neighbors", "gaussian")]
    whole = [part for part in parts if part.name in ("class_trees", "neighbors", "gaussian")]
    found = {part.name: p.weights[part.first : part.first + part.planes] for part in parts}
    lines = []
    if each:
        own = np.stack([found[part.name][ensemble.plane_of] for part in each], axis=1)
        wide = max(8, *(len(name) for name in names[:200]))
        lines.append(f"{'weight':<{wide}}" + "".join(f"{part.name:>18}" for part in each))
        order = np.argsort(-np.abs(own).sum(axis=1), kind="stable").tolist()
        lines += [f"{names[j]:<{wide}}" + "".join(f"{w:>18.3f}" for w in own[j]) for j in order[:SHOWN]]
        if len(order) > SHOWN:
            lines.append(f"… and {len(order) - SHOWN} more: see weights_")
    named = zip(ensemble.level_column.tolist(), found.get("target_encoding", ()), strict=True)
    lines += [f"target_encoding of {names[j]}: {w:.3f}" for j, w in named]
    lines += [f"{part.name}: {float(found[part.name][0]):.3f}" for part in whole]
    return lines
