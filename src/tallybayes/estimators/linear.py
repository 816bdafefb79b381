"""The same posterior as a logistic regression or a quadratic form, and the boundary between two classes (math: §6)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.distributions import Categorical, Complement, Gaussian, Multinomial, Threshold
from tallybayes.distributions.axes import GaussianAxes
from tallybayes.distributions.block import GaussianBlock
from tallybayes.distributions.means import LOG_2PI, away
from tallybayes.errors import OptionError

Floats = NDArray[np.float64]


class LinearForms:
    """logistic, quadratic and boundary for a TallyClassifier."""

    def logistic(self) -> Any:
        """A fitted scikit-learn LogisticRegression with the same probabilities, to rounding.

        For models with linear boundaries: a shared covariance, shared-variance Gaussian, Bernoulli, multinomial and
        categorical naive Bayes. Its columns are those of the model, for BernoulliNB after the threshold (0 or 1); a
        categorical column becomes one column per level (1 where it has that level), in the order of its codes.
        """
        from sklearn.linear_model import LogisticRegression

        weight, bias = linear_form(self)
        me: Any = self
        twin = LogisticRegression()
        twin.classes_ = me.classes_
        twin.n_features_in_ = weight.shape[1]
        twin.n_iter_ = np.zeros(1, dtype=np.int32)
        if len(me.classes_) == 2:
            weight, bias = weight[1:] - weight[:1], bias[1:] - bias[:1]
        else:  # adding the same line to all classes changes nothing; this keeps the numbers small
            weight, bias = weight - weight.mean(axis=0), bias - bias.mean()
        twin.coef_, twin.intercept_ = weight, bias
        if hasattr(me, "feature_names_in_") and weight.shape[1] == me.n_features_in_:
            twin.feature_names_in_ = me.feature_names_in_
        return twin

    def quadratic(self) -> tuple[Floats, Floats, Floats]:
        """A (K, d, d), b (K, d), c (K) with log P(x, class k) = xᵀ A_k x + xᵀ b_k + c_k."""
        return quadratic_form(self)

    def boundary(self, k: Any, l: Any) -> tuple[Floats, float]:  # noqa: E741
        """a and b of xᵀ a + b = 0 between the classes labelled k and l; positive on the side of k."""
        me: Any = self
        weight, bias = linear_form(self)
        labels = me.classes_.tolist()
        for label in (k, l):
            if label not in labels:
                raise OptionError(f"{label!r} is not a class of this model. Classes: {labels}.")
        i, j = labels.index(k), labels.index(l)
        return weight[i] - weight[j], float(bias[i] - bias[j])


def linear_form(model: Any) -> tuple[Floats, Floats]:
    """weight (K, columns) and bias (K): the log joint up to a term that all classes share."""
    model._require_fit()
    p = model._parameters()
    weights, bias = [], p.log_prior.copy()
    if not np.isfinite(bias).all():
        raise OptionError("A class has prior 0: its intercept would be −inf. Give priors above 0.")
    for group, part in zip(model._groups, p.parts, strict=True):
        weight, more = _part(group.distribution, part, len(bias), p.log_prior)
        weights.append(model._beta * weight)
        bias = bias + model._beta * more
    if len(weights) > 1:
        raise OptionError("The linear form is for models with one distribution for all columns.")
    return weights[0], bias


def _part(d: Any, p: Any, K: int, log_prior: Floats) -> tuple[Floats, Floats]:
    if isinstance(d, GaussianBlock) and d.shared:
        return p["weight"], p["bias"] - p["weight"] @ p["centre"]
    if isinstance(d, Gaussian) and (d.alpha == 0 if isinstance(d, GaussianAxes) else d.shared):
        with np.errstate(divide="ignore"):
            precision = np.where(p["var"][0] > 0, 1 / p["var"][0], 0.0)
        centre = np.exp(log_prior) @ p["mean"]
        gap = away(p, centre)
        weight = gap * precision
        return weight, -0.5 * (weight * gap).sum(axis=1) - weight @ centre
    if isinstance(d, Threshold):
        return _finite(p["yes"] - _finite(p["no"])), p["no"].sum(axis=1)
    if isinstance(d, Multinomial) and not isinstance(d, Complement):
        return _finite(p["weight"]), np.zeros(K)
    if isinstance(d, Categorical):
        return _finite(p["log"].T), np.zeros(K)
    raise OptionError(
        "This model's boundaries are not linear. logistic() is for a shared covariance (alpha=0, variance='shared'), "
        "Bernoulli, categorical and multinomial naive Bayes; quadratic() is for Gaussians with own variances."
    )


def _finite(weight: Floats) -> Floats:
    if not np.isfinite(weight).all():
        raise OptionError("A probability is 0, and its logarithm no coefficient. Give alpha above 0.")
    return np.asarray(weight)


def quadratic_form(model: Any) -> tuple[Floats, Floats, Floats]:
    model._require_fit()
    p = model._parameters()
    d, part = model._groups[0].distribution, p.parts[0]
    if len(p.parts) > 1 or not isinstance(d, Gaussian | GaussianBlock):
        raise OptionError("quadratic() is for Gaussian models: discriminants and Gaussian naive Bayes.")
    mean = part["mean"]
    K, n = mean.shape
    A = np.zeros((K, n, n))
    if isinstance(d, Gaussian):
        var = part["var"]
        seen = var > 0
        precision = np.divide(1.0, var, out=np.zeros_like(var), where=seen)
        for k in range(K):
            A[k] = np.diag(-0.5 * precision[k])
        constant = -0.5 * (np.where(seen, np.log(np.where(seen, var, 1.0)) + LOG_2PI, 0.0)).sum(axis=1)
    else:
        constant = part["constant"]
        for k in range(K):
            A[k] = -0.5 * precision_of(part, k)
    b = -2 * np.einsum("kij,kj->ki", A, mean)
    beta = model._beta
    return beta * A, beta * b, beta * (constant + np.einsum("kij,ki,kj->k", A, mean, mean)) + p.log_prior


def precision_of(p: Any, k: int) -> Floats:
    """Σ_k⁻¹ (0 for columns that never vary)."""
    f = p["factor"][k if len(p["factor"]) > 1 else 0]
    if "basis" not in p:
        return np.asarray(f.T @ f)
    inside = p["basis"] @ (f.T @ f - np.eye(len(f)) / p["outside"][k]) @ p["basis"].T
    return np.asarray((inside + np.eye(len(inside)) / p["outside"][k]) * p["scale"] * p["scale"][:, None])
