"""How many numbers a model estimates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from tallybayes.compare.features import MatchingFeatures
from tallybayes.distributions import Categorical, Gaussian, Multinomial, Poisson, SimpleDistribution, Threshold
from tallybayes.distributions.axes import GaussianAxes
from tallybayes.distributions.block import GaussianBlock
from tallybayes.distributions.network import FamilyNetwork
from tallybayes.errors import OptionError
from tallybayes.estimators.base import TallyClassifier


def count_parameters(model: Any) -> int:
    """The number of free parameters of a fitted classifier of this library, or of its fitted twin.

    Generative: K − 1 priors, and those of each factor (LDA: Kd means and d (d + 1) / 2 covariances). Its twin: K − 1
    times the number of free features and an intercept.
    """
    if isinstance(model, TallyClassifier):
        fitted = model.predictor_.fitted
        K = fitted.K
        return K - 1 + sum(_factor(t.distribution, t.params, len(t.columns), K) for t in fitted.terms)
    if isinstance(model, Pipeline) and isinstance(model[0], MatchingFeatures) and hasattr(model[0], "n_free_"):
        return (len(model[-1].classes_) - 1) * (int(model[0].n_free_) + 1)
    raise OptionError(
        f"Parameters are counted of fitted classifiers of this library and their twins; got {model!r:.60}."
    )


def _groups(network: FamilyNetwork, d: int, K: int) -> list[int]:
    """How many groups of classes each column tells apart."""
    given = [K] * d if network.groups is None else [len(set(g)) for g in network.groups]
    return [1 if j in network.blind else n for j, n in enumerate(given)]


def _factor(distribution: Any, p: Any, d: int, K: int) -> int:
    """Free parameters of P(x | class) of d columns."""
    if isinstance(distribution, GaussianBlock):
        return K * d + (1 if distribution.linear else K) * d * (d + 1) // 2
    if isinstance(distribution, GaussianAxes):
        return K * d + (1 if distribution.alpha == 0 else K) * (1 if distribution.spherical else d)
    if isinstance(distribution, Gaussian):
        return K * d + (d if distribution.shared else K * d)
    if isinstance(distribution, FamilyNetwork):
        groups = _groups(distribution, d, K)
        free = [max(int(np.sum(e)) - 1, 0) for e in p["exist"]] + [2] * distribution.reals  # mean and variance
        some = [max(int(np.sum(e)), 1) for e in p["exist"]]
        parents = distribution.parents or ((),) * d
        return sum(groups[j] * free[j] * math.prod(some[i] for i in own) for j, own in enumerate(parents))
    if isinstance(distribution, Categorical):
        return K * sum(max(int(np.sum(e)) - 1, 0) for e in p["exist"])
    if isinstance(distribution, Threshold | Poisson):
        return K * d
    if isinstance(distribution, Multinomial):
        return K * (d - 1)
    if isinstance(distribution, SimpleDistribution):
        return K * d * len(distribution.parameters)
    raise OptionError(f"The distribution {distribution.name!r} has no fixed number of parameters.")
