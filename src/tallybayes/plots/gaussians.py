"""Mean and covariance of two columns in each class, where the model has a Gaussian of them."""

from __future__ import annotations

import numpy as np

from tallybayes.distributions.capabilities import JointGaussian, capability
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.utils.array_types import Floats


def class_gaussians(model: GenerativeClassifier, first: str, second: str) -> tuple[Floats, Floats] | None:
    """Means (K, 2) and covariances (K, 2, 2) of two columns; None if either is not Gaussian in this model."""
    at = [model.schema_.position(name) for name in (first, second)]
    K = len(model.classes_)
    mean, cov = np.zeros((K, 2)), np.zeros((K, 2, 2))
    found = [False, False]
    for term in model.predictor_.fitted.terms:
        d, p = term.distribution, term.params
        inside = [i for i in (0, 1) if at[i] in term.columns]
        columns = [term.columns.index(at[i]) for i in inside]
        normal = capability(d, JointGaussian)
        if normal is None or not inside:
            continue
        mean[:, inside], cov[np.ix_(range(K), inside, inside)] = normal.joint_gaussian(p, columns)
        for i in inside:
            found[i] = True
    return (mean, cov) if all(found) else None


def ellipse(mean: Floats, cov: Floats, deviations: float) -> Floats:
    """The points so many standard deviations away."""
    angle = np.linspace(0, 2 * np.pi, 121)
    value, vector = np.linalg.eigh(cov)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    return np.asarray(mean + deviations * (circle * np.sqrt(np.maximum(value, 0.0))) @ vector.T)
