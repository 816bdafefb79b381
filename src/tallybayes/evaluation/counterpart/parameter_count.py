"""How many numbers a model estimates."""

from __future__ import annotations

from sklearn.pipeline import Pipeline

from tallybayes.distributions.capabilities import ParameterCount, capability
from tallybayes.errors import OptionError, brief
from tallybayes.estimators.base import TallyClassifier
from tallybayes.evaluation.counterpart.matching_features import MatchingFeatures
from tallybayes.model.fitted import Fitted
from tallybayes.model.term import Term


def count_parameters(model: object) -> int:
    """Tell how many free parameters a fitted classifier of this library has, or its fitted twin.

    Generative: K − 1 priors, and those of each factor (LDA: Kd means and d (d + 1) / 2 covariances). Its twin: K − 1
    times the number of free features and an intercept.

    Parameters
    ----------
    model : fitted classifier of this library, or a fitted pipeline that twin made
        The model whose numbers are counted.

    Returns
    -------
    int
        How many numbers it estimates.

    Raises
    ------
    OptionError
        If it is neither, or if a distribution has no fixed number of parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tallybayes import LinearDiscriminantAnalysis
    >>> from tallybayes.evaluation import count_parameters, discriminative_counterpart
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis()
    >>> count_parameters(model.fit(X, y)), count_parameters(discriminative_counterpart(model).fit(X, y))
    (24, 10)
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
    own = capability(term.distribution, ParameterCount)
    found = None if own is None else own.n_parameters(term.params, fitted.context(term))
    if found is None:
        raise OptionError(f"The distribution {term.distribution.name!r} has no fixed number of parameters.")
    return found
