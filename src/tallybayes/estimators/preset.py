"""A classifier with one distribution for all its columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any, TypeVar

from tallybayes.data.schema import Schema
from tallybayes.distributions import Distribution
from tallybayes.estimators.base import TallyClassifier
from tallybayes.model.term import Term
from tallybayes.utils.array_types import Array

R = TypeVar("R")


@lru_cache(maxsize=1)
def _first_columns(d: int) -> tuple[int, ...]:
    """Kept for the next table, which is mostly as wide: 50,000 numbers take a millisecond to make."""
    return tuple(range(d))


class Preset(TallyClassifier, ABC):
    """One distribution looks after every column."""

    @abstractmethod
    def _distribution(self, d: int) -> Distribution:
        """The distribution of a table of d columns, from the estimator's parameters."""

    def _choose(self, schema: Schema) -> tuple[Term, ...]:
        return (Term(self._distribution(schema.d), _first_columns(schema.d)),)

    def _read(self, name: str, kind: type[R]) -> R:
        """The parameters of the only group, for a fitted attribute of that name."""
        self._require_attribute(name)
        part: Any = self._parameters().terms[0].params
        assert isinstance(part, kind)
        return part

    def _sums(self, name: str, kind: type[R]) -> R:
        """The sums of the only group, for a fitted attribute of that name."""
        self._require_attribute(name)
        statistics: Any = self.fitted_.terms[0].statistics
        assert isinstance(statistics, kind)
        return statistics


def read_only(value: Array) -> Array:
    """What people read is not what they may write: a view of the model's own array."""
    value = value.view()
    value.flags.writeable = False
    return value
