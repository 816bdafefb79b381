"""scikit-learn's own checks of an estimator, for every estimator; REFUSED names the one that some fail, and why."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.covariance import LedoitWolf
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import tallybayes as tb

USUAL = [
    tb.GaussianNB(),
    tb.GaussianNB(tempered=True),
    tb.PoissonNB(),
    tb.KernelNB(),
    tb.MultinomialNB(),
    tb.ComplementNB(),
    tb.BernoulliNB(),
    tb.CategoricalNB(),
    tb.NaiveBayes(),
    tb.NaiveBayes("mdl"),
    tb.NaiveBayes("kernel"),
    tb.GaussianDiscriminant(own_covariance=0.5, shrinkage=0.1),
    tb.RegularizedDiscriminantAnalysis(),
    tb.LinearDiscriminantAnalysis(),
    tb.QuadraticDiscriminantAnalysis(),
    tb.SPODE(),
    tb.TAN(),
    tb.KDB(),
    tb.AODE(),
    tb.AODE(cuts=None),
    tb.AnDE(),
    tb.BayesNetwork(),
    tb.BayesClassifier("fast"),
    tb.BayesClassifier(members=2),
]
VARIANTS = [  # whose interface is that of another above
    tb.GaussianNB(variance="shared", ddof=1),
    tb.GaussianDiscriminant("diagonal", own_covariance=0.5),
    tb.GaussianDiscriminant("spherical"),
    tb.LinearDiscriminantAnalysis(tempered=True),
    tb.TAN(tempered=True),
    tb.TAN(cuts=None),
]
ALL = [*USUAL, *VARIANTS]


AROUND = [
    tb.BayesDecision(tb.GaussianNB()),
    tb.BayesDecision(LogisticRegression()),
    tb.SemiSupervised(tb.GaussianNB()),
    tb.StreamingBayes(),
]


NEGATIVE = "it learns from numbers below 0, which are no counts"
REFUSED = {  # the check of class_weight, which scikit-learn's own classifiers of counts do not have
    tb.PoissonNB: NEGATIVE,
    tb.MultinomialNB: NEGATIVE,
    tb.ComplementNB: NEGATIVE,
    tb.KernelNB: "a weight of 1,000 is 1,000 rows, whose kernels are narrow",
}


def refused(estimator: Any) -> dict[str, str]:
    kernel = getattr(estimator, "distributions", None) == "kernel"
    why = REFUSED.get(tb.KernelNB if kernel else type(estimator))
    return {"check_class_weight_classifiers": why} if why else {}


@parametrize_with_checks([*USUAL, *AROUND], expected_failed_checks=refused)
def test_estimator_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(VARIANTS, expected_failed_checks=refused)
def test_estimator_checks_of_variants(estimator: Any, check: Any) -> None:
    check(estimator)


# solver: scikit-learn's, accepted by LDA and QDA, where all give the same answer: see test_discriminant.py.
# verbose: tells what happens and changes nothing: see test_progress.py.
# memory: changes what forget and merge do: see tests/laws/test_memory.py.
COMPATIBLE = {"solver", "store_covariance", "verbose", "memory"}


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
        "own_covariance": 0.3,
        "reg_param": 0.3,
        "n_components": 1,
        "covariance_estimator": LedoitWolf(),
        "tol": 0.9,
        "root": "x2",
        "superparent": "x2",
        "k": 0,
        "select": False,
        "n": 1,
        "graph": "x0 -> x1",
        "targets": ["a", "b"],
        "smoothing": "laplace",
        "cuts": "frequency",
        "bins": 3,
        "min_count": 15,
        "weighting": "none" if isinstance(estimator, tb.BayesClassifier) else "information",
        "subsumption": True,
        "tempered": not getattr(estimator, "tempered", False),
        "effort": "best",
        "members": 5,
        "parents": 0,
        "parts": ("naive",),
        "random_state": 7,
        "class_weight": {0: 3.0},
        "half_life": 10,
    }
    fixed: dict[str, dict[str, Any]] = {  # what another parameter must be for this one to have a say
        "bins": {"cuts": "width"},
        "min_count": {"cuts": "width"},
        "weighting": {"cuts": "width"},
        "smoothing": {
            "cuts": "width",
            **({"graph": "x0 -> x1"} if isinstance(estimator, tb.BayesNetwork) else {}),
            **({"select": False} if isinstance(estimator, tb.KDB) else {}),
        },
        "root": {"cuts": "width"},
        "superparent": {"cuts": "width"},
        "n": {"cuts": "width"},
        "graph": {"cuts": "width"},
        "k": {"cuts": "width", "select": False},
        "select": {"cuts": "width"},
        "tempered": {"cuts": "width"},
    }
    network = hasattr(estimator, "cuts")
    counted: dict[str, Any] = {"distributions": None} if "distributions" in estimator.get_params() else {}

    def answer(**change: Any) -> Any:
        model = type(estimator)(**{**estimator.get_params(), **change})
        if "alpha" not in change and "force_alpha" in change:
            model.set_params(alpha=0.0)
        if "unseen" in change and "schema" in model.get_params():
            model.set_params(schema="categorical", **counted)
        if "subsumption" in change:  # the second column follows from the first
            always = np.column_stack([np.tile([0, 1], 150), np.tile([0, 1, 1, 1], 75), np.tile([0, 1, 2], 100)])
            return model.set_params(schema="categorical").fit(always, np.tile(y, 5)).predict_proba(always).tolist()
        if isinstance(model, tb.ComplementNB) and "fit_prior" in change:
            return model.fit(X, y).score_samples(new).tolist()  # the rule has no prior; its density has
        if isinstance(model, tb.GaussianDiscriminant) and "tol" in change:
            model.fit(np.column_stack([X, y]), y)  # a column that does not vary within a class
            return model.predict_joint_log_proba(np.column_stack([X, y + 1.0])).tolist()
        if "n_components" in change:
            return model.fit(X, y).transform(new).tolist()
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
                base = {"schema": "categorical", **counted}
            if name in ("ddof", "variance", "var_smoothing", "tempered") and "distributions" in estimator.get_params():
                base = {"distributions": None}
            if name == "alpha" and isinstance(estimator, tb.BayesClassifier):
                base = {"smoothing": "laplace"}
            if name == "random_state" and isinstance(estimator, tb.BayesClassifier):
                base = {"effort": "best"}  # the others draw nothing
            if network:
                base = {**base, **fixed.get(name, {})}
            before = answer(**{**base, name: getattr(estimator, name)})
            assert answer(**{**base, name: other[name]}) != before, name
