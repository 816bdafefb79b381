"""What an estimator around another one passes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags

from tallybayes.errors import OptionError, brief
from tallybayes.estimators.memory_errors import name_sizes
from tallybayes.estimators.parameters import check_single_values
from tallybayes.estimators.state import ModelState
from tallybayes.utils.array_types import Array

if TYPE_CHECKING:
    from sklearn.utils import Tags


class Wrapper(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier with `estimator`, and after the fit `estimator_`, whose classes and columns are its own."""

    estimator: Any
    estimator_: Any

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        name_sizes(cls)

    @property
    def classes_(self) -> Array:
        """ndarray of shape (n_classes,): the labels, in the order of all answers."""
        return np.asarray(self._of_inner("classes_"))

    @property
    def n_features_in_(self) -> int:
        """int: how many columns there are."""
        return int(self._of_inner("n_features_in_"))

    @property
    def feature_names_in_(self) -> Array:
        """ndarray of shape (n_features,): the names of the columns, where the table had names."""
        return np.asarray(self._of_inner("feature_names_in_"))

    def _check_estimator(self) -> None:
        """Raises an OptionError unless there is an estimator to clone and fit."""
        check_single_values(self)
        given = self.estimator
        if isinstance(given, type):
            raise OptionError(f"estimator must be a classifier, not its class: write {given.__name__}().")
        if not hasattr(given, "fit") or not hasattr(given, "get_params"):
            raise OptionError(f"estimator must be a classifier such as NaiveBayes(); got {brief(given)}.")
        if isinstance(given, ModelState):
            given._check_options()  # what cannot be an option may be what cannot be cloned

    def _of_inner(self, name: str) -> Any:
        """An attribute of the fitted estimator; before the fit there is none."""
        if not hasattr(self, "estimator_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}: it is not fitted yet.")
        return getattr(self.estimator_, name)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "__sklearn_tags__"):
            return tags  # no estimator: the next fit says so
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags
        return tags
