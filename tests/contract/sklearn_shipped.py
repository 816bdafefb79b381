"""scikit-learn's shipped tests of naive_bayes, with our classes in the place of its own.

Run as a module of its own: the names in sklearn.naive_bayes are replaced before its tests are imported.
"""

from __future__ import annotations

import sys

import pytest
import sklearn.naive_bayes

import tallybayes

# What we do otherwise on purpose, and why.
EXCEPTIONS: dict[str, str] = {}


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
