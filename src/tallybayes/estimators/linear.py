"""The same posterior as a logistic regression or a quadratic form, and the boundary between two classes (math: §6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tallybayes.distributions.capabilities import LinearForm, QuadraticForm, capability
from tallybayes.distributions.capabilities import sizes as code_counts
from tallybayes.errors import OptionError, brief, is_label, listing
from tallybayes.model.predictor import Predictor
from tallybayes.utils.array_types import Floats

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression

    from tallybayes.estimators.state import ModelState


def logistic(model: ModelState) -> LogisticRegression:
    """The fitted logistic regression with the same probabilities."""
    from sklearn.linear_model import LogisticRegression

    weight, bias = linear_form(model.predictor_)
    found = LogisticRegression()
    found.classes_ = model.classes_
    found.n_features_in_ = weight.shape[1]
    found.n_iter_ = np.zeros(1, dtype=np.int32)
    if len(model.classes_) == 2:
        weight, bias = weight[1:] - weight[:1], bias[1:] - bias[:1]
    else:  # adding the same line to all classes changes nothing; this keeps the numbers small
        weight, bias = weight - weight.mean(axis=0), bias - bias.mean()
    found.coef_, found.intercept_ = weight, bias
    if hasattr(model, "feature_names_in_") and weight.shape[1] == model.n_features_in_:
        found.feature_names_in_ = model.feature_names_in_
    return found


def coefficient_names(predictor: Predictor) -> list[str]:
    """What the columns of the linear form are: columns of numbers, or 'column=level' of levels and intervals."""
    fitted = predictor.fitted
    weight, _ = linear_form(predictor)
    (term,) = fitted.terms
    schema = fitted.schema
    plain = [schema.name(j) for j in term.columns]
    sizes = code_counts(term.distribution, term.statistics)
    if weight.shape[1] == len(plain) or sizes is None:
        return plain
    names = []
    for j, name, size in zip(term.columns, plain, np.asarray(sizes).tolist(), strict=True):
        labels: list[object] = list(range(size))
        if j in schema.levels:
            labels = list(schema.levels[j].labels)
        elif j in schema.cuts:
            labels = list(schema.cuts[j].labels())
        names += [f"{name}={label}" for label in labels]
    assert len(names) == weight.shape[1]
    return names


def coefficients(model: ModelState) -> dict[Any, dict[str, float]]:
    """Of each class (of two: the second) the intercept and the named coefficients."""
    found, names = logistic(model), coefficient_names(model.predictor_)
    labels = model.classes_.tolist()[1:] if len(model.classes_) == 2 else model.classes_.tolist()
    return {
        label: {"intercept": float(b), **dict(zip(names, w.tolist(), strict=True))}
        for label, w, b in zip(labels, found.coef_, found.intercept_, strict=True)
    }


def boundary(predictor: Predictor, k: object, l: object) -> tuple[Floats, float]:  # noqa: E741
    """a and b of the boundary xᵀ a + b = 0 between two classes."""
    weight, bias = linear_form(predictor)
    labels = predictor.fitted.classes.tolist()
    for label in (k, l):
        if not is_label(label) or label not in labels:
            raise OptionError(f"{brief(label)} is not a class of this model. Classes: {listing(labels)}.")
    i, j = labels.index(k), labels.index(l)
    return weight[i] - weight[j], float(bias[i] - bias[j])


def linear_form(predictor: Predictor) -> tuple[Floats, Floats]:
    """weight (K, columns) and bias (K): the log joint up to a term that all classes share."""
    fitted, beta = predictor.fitted, predictor.options.beta
    if not np.isfinite(fitted.prior).all():
        raise OptionError("A class has prior 0: its intercept would be −inf. Give priors above 0.")
    able = [capability(t.distribution, LinearForm) for t in fitted.terms]
    with np.errstate(over="ignore", invalid="ignore"):  # what that gives is refused below
        forms = [
            None if d is None else d.linear(t.params, fitted.prior) for d, t in zip(able, fitted.terms, strict=True)
        ]
    if None in forms:
        raise OptionError(
            "This model's boundaries are not linear. logistic() is for a shared covariance (own_covariance=0, "
            "variance='shared'), Bernoulli, Poisson, categorical and multinomial naive Bayes; quadratic() is for "
            "Gaussians with own variances."
        )
    if len(forms) > 1:
        raise OptionError("The linear form is for models with one distribution for all columns.")
    (form,) = forms
    assert form is not None
    weight, bias = form
    if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
        raise OptionError(
            "A coefficient is no number: a probability is 0 (give alpha above 0), or a column is too narrow or too far "
            "from 0 (give it another unit)."
        )
    return beta * weight, fitted.prior + beta * bias


def quadratic_form(predictor: Predictor) -> tuple[Floats, Floats, Floats]:
    """A (K, d, d), b (K, d), c (K) of the log joint."""
    fitted, beta = predictor.fitted, predictor.options.beta
    with np.errstate(over="ignore", invalid="ignore"):  # what that gives is refused below
        able = [capability(t.distribution, QuadraticForm) for t in fitted.terms]
        forms = [None if d is None else d.quadratic(t.params) for d, t in zip(able, fitted.terms, strict=True)]
    if len(forms) > 1 or forms[0] is None:
        raise OptionError("quadratic() is for Gaussian models: discriminants and Gaussian naive Bayes.")
    A, b, c = forms[0]
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        raise OptionError("A column is so narrow that its coefficient is too large for a number. Give it another unit.")
    return beta * A, beta * b, beta * c + fitted.prior
