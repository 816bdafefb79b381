"""A classifier with one distribution for all its columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from tallybayes.distributions import Distribution
from tallybayes.estimators.base import TallyClassifier
from tallybayes.plan import Term
from tallybayes.schema import Schema


class Preset(TallyClassifier, ABC):
    """One distribution looks after every column."""

    @abstractmethod
    def _distribution(self, d: int) -> Distribution:
        """The distribution of a table of d columns, from the estimator's parameters."""

    def _choose(self, schema: Schema) -> tuple[Term, ...]:
        return (Term(self._distribution(schema.d), tuple(range(schema.d))),)

    def _read(self, name: str, key: str) -> Any:
        """A fitted attribute from the parameters of the only term."""
        self._require_attribute(name)
        return _locked(self._parameters().terms[0].params[key])

    def _stat(self, name: str, key: str) -> Any:
        self._require_attribute(name)
        return _locked(self.fitted_.terms[0].sums[key])


def _locked(value: Any) -> Any:
    """What people read is not what they may write: a view of the model's own array, read-only."""
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return value
