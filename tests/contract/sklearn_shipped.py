"""scikit-learn's shipped tests of naive_bayes, with our classes in the place of its own.

Run as a module of its own: the names in sklearn.naive_bayes are replaced before its tests are imported.
"""

from __future__ import annotations

import sys

import pytest
import sklearn.naive_bayes

import tallybayes

# What we do otherwise on purpose, and why.
EXCEPTIONS: dict[str, str] = {
    "test_gnb_check_update_with_no_data": "calls the private GaussianNB._update_mean_variance",
    "test_alpha_vector": "calls the private _check_alpha; the rest of it is in test_discrete.py",
    "test_check_alpha": "calls the private _check_alpha",
    "test_NB_partial_fit_no_first_classes": "asks for an error without classes; here new classes may appear later",
    "test_discretenb_provide_prior": "expects traces of a fit that failed; here a failed call changes nothing",
    "test_categoricalnb": "asks for an error on negative integers; here they are labels like any others",
    "test_check_accuracy_on_digits": "pins one variance floor for all features (0.81); ours is each one's own (0.76)",
}


class Plugin:
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept = [item for item in items if item.name.split("[")[0] not in EXCEPTIONS and item.name not in EXCEPTIONS]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept


def main() -> int:
    for name in ("GaussianNB", "BernoulliNB", "MultinomialNB", "ComplementNB", "CategoricalNB"):
        setattr(sklearn.naive_bayes, name, getattr(tallybayes, name))
    arguments = ["--pyargs", "sklearn.tests.test_naive_bayes", "-q", "-p", "no:cacheprovider", "-c", "/dev/null"]
    return int(pytest.main([*arguments, *sys.argv[1:]], plugins=[Plugin()]))


if __name__ == "__main__":
    sys.exit(main())
