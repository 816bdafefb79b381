"""How many numbers a model estimates."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from tallybayes.errors import OptionError, brief
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.evaluation.counterpart.matching_features import MatchingFeatures
from tallybayes.model.fitted import count_parameters as fitted_parameters


def count_parameters(model: object) -> int:
    """Count the free parameters of a fitted classifier of this library, of its counterpart, or of a linear model.

    Generative: K − 1 priors, and those of each factor (LDA: Kd means and d (d + 1) / 2 covariances). Linear: K − 1
    times the number of coefficients and an intercept (softmax fixes one class); a regression without classes counts
    every output.

    Parameters
    ----------
    model : fitted classifier of this library, its discriminative counterpart, or a model with coef_ and intercept_
        The model whose numbers are counted; of a pipeline, the last step.

    Returns
    -------
    int
        How many numbers it estimates.

    Raises
    ------
    OptionError
        If it is neither, or if a distribution has no fixed number of parameters.

    See Also
    --------
    discriminative_counterpart : The logistic regression of the same form.

    References
    ----------
    - Ng and Jordan (2002), On discriminative vs. generative classifiers. NIPS.

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
    if isinstance(model, GenerativeClassifier):
        return fitted_parameters(model.predictor_.fitted)
    last: Any = model[-1] if isinstance(model, Pipeline) else model
    if isinstance(model, Pipeline) and isinstance(model[0], MatchingFeatures) and hasattr(model[0], "n_free_"):
        return (len(last.classes_) - 1) * (int(model[0].n_free_) + 1)
    coef, intercept = getattr(last, "coef_", None), getattr(last, "intercept_", None)
    if coef is None or intercept is None:
        raise OptionError(
            "Parameters are counted of fitted classifiers of this library, their counterparts, and fitted linear "
            f"models with coef_ and intercept_; got {brief(model)}."
        )
    shape = np.atleast_2d(np.asarray(coef)).shape
    classes = getattr(last, "classes_", None)
    rows = shape[0] if classes is None else len(classes) - 1
    return int(rows) * (int(shape[1]) + int(getattr(last, "fit_intercept", True) is not False))
