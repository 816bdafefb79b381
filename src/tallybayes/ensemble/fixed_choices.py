"""memory='sums': what an ensemble has chosen at the fit, kept in the place of the row sample.

Stacking weights, biases, concentrations, pseudo-counts and regularisation are few numbers, which are fields of the
Ensemble; its statistics then hold no row. Statistics that change are read with the same choices.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tallybayes.distributions.networks.joint_counts import LevelParams, fields_of
from tallybayes.ensemble import fitting, gaussian_copula, target_encoding
from tallybayes.ensemble.ensemble_statistics import EnsembleParams, EnsembleStatistics
from tallybayes.ensemble.row_sample import empty_sample

if TYPE_CHECKING:
    from tallybayes.ensemble.ensemble_distribution import Ensemble

SCALAR_COUNT = 8  # λ, γ and ν of the Gaussian (NaN: none), ridge, steps, loss, its error, validation rows
MAX_WEIGHT = 1e6  # of a file: no fit makes one as large


def fixed(ensemble: Ensemble, s: EnsembleStatistics, p: EnsembleParams) -> tuple[Ensemble, EnsembleStatistics]:
    """The ensemble with the choices in p, and its statistics without a row sample."""
    gaussian = (np.nan, np.nan, np.nan) if p.regularisation is None or p.gaussian is None else p.regularisation
    encoding = p.target_encoding
    made = replace(
        ensemble,
        fixed_weights=p.weights,
        fixed_biases=p.biases,
        fixed_concentrations=np.asarray(p.concentrations, dtype=np.float64),
        fixed_pseudo_counts=np.zeros(0) if encoding is None else encoding.pseudo_counts,
        fixed_numbers=np.array([*gaussian, p.ridge, p.steps, p.loss, p.loss_error, p.validation_rows], np.float64),
        # tokens are hashes of what rows hold; without a sample nothing reads them
        column_token=np.zeros(ensemble.columns, np.uint64),
        level_token=np.zeros(0, np.uint64),
        level_start=np.zeros(ensemble.columns + 1, np.int64),
    )
    return made, EnsembleStatistics.of(s.single, s.sizes, empty_sample(s.sizes), s.chains, s.gaussian)


def estimate(ensemble: Ensemble, s: EnsembleStatistics, base: LevelParams) -> EnsembleParams:
    """The parameters of these statistics, with the choices of the fit."""
    lam, gam, nu, ridge, steps, loss, error, rows = ensemble.fixed_numbers.tolist()
    weights, concentrations = ensemble.fixed_weights, ensemble.fixed_concentrations
    prior = np.exp(fitting.smooth_prior(base.class_weight))
    regularisation = gaussian = encoding = None
    if not np.isnan(nu):
        regularisation = gaussian_copula.Regularisation(lam, gam, nu)
        gaussian = gaussian_copula.discriminant(s.gaussian, *regularisation)
    if len(ensemble.encoded_column):
        encoding = target_encoding.encode(s, ensemble.encoded_column, ensemble.fixed_pseudo_counts, prior)
    return EnsembleParams(
        **fields_of(base), concentrations=concentrations, logs=fitting.logs_of(ensemble, s, concentrations),
        regularisation=regularisation, gaussian=gaussian, target_encoding=encoding, neighbors=None, boosting=None,
        weights=weights, biases=ensemble.fixed_biases, chain_weights=fitting.chain_weights(ensemble, weights),
        ridge=ridge, steps=int(steps), loss=loss, loss_error=error, validation_rows=int(rows),
    )  # fmt: skip


def of_network(ensemble: Ensemble, chains: slice, groups: int) -> dict[str, Any]:
    """The choices of one network as a model of its own, which counts as it is: no row is there to choose a weight."""
    if not ensemble.is_fixed:
        return {}
    first, last = (int(ensemble.parent_start[at]) + at for at in (chains.start, chains.stop))
    return {
        "fixed_weights": np.ones(groups),
        "fixed_biases": np.zeros(len(ensemble.fixed_biases)),
        "fixed_concentrations": ensemble.fixed_concentrations[first:last],
        "fixed_pseudo_counts": np.zeros(0),
        "fixed_numbers": np.array([np.nan, np.nan, np.nan, 0.0, 0.0, 0.0, 0.0, 0.0]),
    }


def check(e: Ensemble, s: EnsembleStatistics, K: int) -> None:
    """Raise ValueError if a file's choices do not suit its layout."""
    features = e.meta_features
    shapes = {
        "fixed_weights": features,
        "fixed_biases": K,
        "fixed_concentrations": len(e.parent) + len(e.child),
        "fixed_pseudo_counts": len(e.encoded_column),
        "fixed_numbers": SCALAR_COUNT,
    }
    there = bool(len(e.fixed_weights))
    for name, size in shapes.items():
        _check_array(name, getattr(e, name), size if there else 0)
    if there:
        _check_values(e, s)


def _check_array(name: str, value: object, size: int) -> None:
    if not isinstance(value, np.ndarray) or value.dtype != np.float64 or value.shape != (size,):
        raise ValueError(f"{name!r} does not suit its components")
    if name != "fixed_numbers" and not (np.abs(value) <= MAX_WEIGHT).all():
        raise ValueError(f"{name!r} has no numbers, or too large ones")


def _check_values(e: Ensemble, s: EnsembleStatistics) -> None:
    if len(s.sample_label) or e.has("neighbors") or e.boosting:
        raise ValueError("its choices are fixed, and it keeps rows")
    if (e.fixed_concentrations < 0).any() or (e.fixed_pseudo_counts <= 0).any():
        raise ValueError("its concentrations are no positive numbers")
    lam, gam, nu, *rest = e.fixed_numbers.tolist()
    if not np.isfinite(rest).all() or not (np.isnan(nu) or (0 <= lam <= 1 and 0 <= gam <= 1 and nu > 0)):
        raise ValueError("'fixed_numbers' are none")
    if e.has("gaussian") and np.isnan(nu) == bool(len(e.score_column)) and e.of("gaussian", e.fixed_weights)[0] != 0:
        raise ValueError("its Gaussian component has no regularisation")
