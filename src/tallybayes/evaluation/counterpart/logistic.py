"""The logistic regression of the same form as a generative classifier."""

from __future__ import annotations

from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from tallybayes.errors import OptionError, brief, is_number
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.evaluation.counterpart.matching_features import MatchingFeatures


def discriminative_counterpart(estimator: object, *, C: float = 10.0) -> Pipeline:
    """Make the discriminative counterpart: a logistic regression on features in which the log-odds are linear.

    Both can represent the same boundaries. The generative one finds its parameters by modelling P(x | class), the
    counterpart by fitting P(class | x) alone (Ng and Jordan 2002). For the generative model's own coefficients see its
    method ``logistic()``.

    Parameters
    ----------
    estimator : a classifier of this library
        Fitted or not; it is cloned and left alone.
    C : float, default=10.0
        How free the coefficients of the logistic regression are, above 0. 10 holds back little: enough that separable
        classes do not drive coefficients to infinity. The larger, the nearer to maximum likelihood.

    Returns
    -------
    sklearn.pipeline.Pipeline
        Unfitted, to be fitted on the same rows: MatchingFeatures, then LogisticRegression.

    See Also
    --------
    learning_curves : Compare the pair by the number of training rows.
    count_parameters : Parameters of both.

    References
    ----------
    - Ng and Jordan (2002), On discriminative vs. generative classifiers. NIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tallybayes import GaussianNB
    >>> from tallybayes.evaluation import discriminative_counterpart
    >>> X, y = load_iris(return_X_y=True)
    >>> pair = GaussianNB(), discriminative_counterpart(GaussianNB())
    >>> [round(model.fit(X, y).score(X, y), 2) for model in pair]
    [0.96, 0.99]
    """
    if not isinstance(estimator, GenerativeClassifier):
        raise OptionError(
            f"discriminative_counterpart takes a classifier of this library; got {type(estimator).__name__}."
        )
    if not is_number(C) or C <= 0:
        raise OptionError(f"C must be above 0; got {brief(C)}.")
    features = MatchingFeatures(clone(estimator))
    return Pipeline([("features", features), ("logistic", LogisticRegression(C=C, max_iter=2000))])
