"""How many numbers a model estimates."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from tallybayes.errors import OptionError, brief
from tallybayes.estimators.base import TallyClassifier
from tallybayes.fitted import Fitted
from tallybayes.plan import Term
from tallybayes.twins.features import MatchingFeatures


def count_parameters(model: Any) -> int:
    """The number of free parameters of a fitted classifier of this library, or of its fitted twin.

    Generative: K − 1 priors, and those of each factor (LDA: Kd means and d (d + 1) / 2 covariances). Its twin: K − 1
    times the number of free features and an intercept.
    """
    if isinstance(model, TallyClassifier):
        fitted = model.predictor_.fitted
        return fitted.K - 1 + sum(_factor(fitted, term) for term in fitted.terms)
    if isinstance(model, Pipeline) and isinstance(model[0], MatchingFeatures) and hasattr(model[0], "n_free_"):
        return (len(model[-1].classes_) - 1) * (int(model[0].n_free_) + 1)
    raise OptionError(
        f"Parameters are counted of fitted classifiers of this library and their twins; got {brief(model)}."
    )


def _factor(fitted: Fitted, term: Term) -> int:
    """Free parameters of P(x | class) of the columns of one term."""
    found = term.distribution.n_parameters(term.params, fitted.context(term))
    if found is None:
        raise OptionError(f"The distribution {term.distribution.name!r} has no fixed number of parameters.")
    return found
