"""scikit-learn's own checks of an estimator, for every estimator, with no expected failures."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import tallybayes as tb

ALL = [
    tb.GaussianNB(),
    tb.GaussianNB(variance="shared", ddof=1),
    tb.PoissonNB(),
    tb.KernelNB(),
    tb.MultinomialNB(),
    tb.ComplementNB(),
    tb.BernoulliNB(),
    tb.CategoricalNB(),
    tb.NaiveBayes(),
    tb.NaiveBayes("mdl"),
    tb.NaiveBayes("kernel"),
    tb.GaussianDiscriminant(alpha=0.5, shrinkage=0.1),
    tb.GaussianDiscriminant("diagonal", alpha=0.5),
    tb.GaussianDiscriminant("spherical"),
    tb.RegularizedDiscriminantAnalysis(),
    tb.LinearDiscriminantAnalysis(),
    tb.QuadraticDiscriminantAnalysis(),
]


@parametrize_with_checks(ALL)
def test_estimator_checks(estimator: Any, check: Any) -> None:
    check(estimator)


COMPATIBLE = {
    "solver"
}  # scikit-learn's, accepted by LDA and QDA, where all give the same answer: see test_discriminant.py


@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_a_parameter_that_changes_nothing_is_impossible(estimator: Any) -> None:
    """Every parameter, changed, changes an answer (or is refused)."""
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(60, 3)).astype(float)
    X[:, 2] *= 1.5
    y = rng.integers(0, 3, size=60)
    new = np.vstack([X, [[9.0, 9.0, 9.0]]])
    other: dict[str, Any] = {
        "priors": [0.2, 0.3, 0.5],
        "class_prior": [0.2, 0.3, 0.5],
        "var_smoothing": 0.5,
        "ddof": 1 - getattr(estimator, "ddof", 0),
        "variance": "own" if getattr(estimator, "variance", "") == "shared" else "shared",
        "alpha": 3.0,
        "force_alpha": False,
        "fit_prior": False,
        "binarize": 2.5,
        "norm": True,
        "min_categories": 9,
        "unseen": "error",
        "bandwidth": 0.05,
        "distributions": "width",
        "schema": "categorical",
        "covariance": "diagonal" if getattr(estimator, "covariance", "") == "full" else "full",
        "shrinkage": 0.7,
        "reg_param": 0.3,
        "n_components": 1,
        "store_covariance": True,
        "covariance_estimator": object(),
        "tol": 0.9,
    }

    def answer(**change: Any) -> Any:
        model = type(estimator)(**{**estimator.get_params(), **change})
        if "alpha" not in change and "force_alpha" in change:
            model.set_params(alpha=0.0)
        if "unseen" in change and "schema" in model.get_params():
            model.set_params(schema="categorical", distributions=None)
        if isinstance(model, tb.ComplementNB) and "fit_prior" in change:
            return model.fit(X, y).score_samples(new).tolist()  # the rule has no prior; its density has
        if isinstance(model, tb.GaussianDiscriminant) and "tol" in change:
            model.fit(np.column_stack([X, y]), y)  # a column that does not vary within a class
            return model.predict_joint_log_proba(np.column_stack([X, y + 1.0])).tolist()
        if "n_components" in change:
            return model.fit(X, y).transform(new).tolist()
        if "store_covariance" in change:
            return hasattr(model.fit(X, y), "covariance_")
        try:
            return model.fit(X, y).predict_joint_log_proba(new).tolist()
        except ValueError as e:
            return str(e)

    import warnings

    for name in set(estimator.get_params()) - COMPATIBLE:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            base = {"alpha": 0.0} if name == "force_alpha" else {}
            if name in ("alpha", "unseen") and "schema" in estimator.get_params():
                base = {"schema": "categorical", "distributions": None}
            if name in ("ddof", "variance", "var_smoothing") and "distributions" in estimator.get_params():
                base = {"distributions": None}
            before = answer(**{**base, name: getattr(estimator, name)})
            assert answer(**{**base, name: other[name]}) != before, name
