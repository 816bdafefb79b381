"""What makes a model an estimator of scikit-learn: the classes it inherits from.

A command of the command line hands no model to scikit-learn, and importing it takes longer than most commands. So a
process that runs one command and nothing else sets `estimators.standalone` before the first estimator is imported
(`cli/start.py`): models then know the names of their parameters and nothing more of scikit-learn. Everywhere else they
are what scikit-learn takes them for.
"""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

from tallybayes import estimators

__all__ = ["BaseEstimator", "ClassNamePrefixFeaturesOutMixin", "ClassifierMixin", "TransformerMixin", "not_fitted"]

if TYPE_CHECKING or not estimators.standalone:
    from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
else:

    class BaseEstimator:
        """The parameters of a model, as scikit-learn finds them: the arguments of its constructor."""

        @classmethod
        def _get_param_names(cls) -> list[str]:
            return sorted(signature(cls).parameters)

        def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - no parameter is an estimator
            return {name: getattr(self, name) for name in self._get_param_names()}

    class ClassifierMixin:
        """Nothing that a command asks for; so are the others."""

    class ClassNamePrefixFeaturesOutMixin:
        pass

    class TransformerMixin:
        pass


def not_fitted(message: str) -> Exception:
    """scikit-learn's error of a model that has learned nothing."""
    from sklearn.exceptions import NotFittedError

    error: Exception = NotFittedError(message)
    return error
