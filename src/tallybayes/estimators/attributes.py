"""Fitted attributes of models with one distribution for all columns."""

from __future__ import annotations

from typing import Any, TypeVar

from tallybayes.estimators.state import ModelState
from tallybayes.utils.array_types import Array

R = TypeVar("R")


def params_of(model: ModelState, name: str, kind: type[R]) -> R:
    """The parameters of the only term, for a fitted attribute of that name."""
    model._require_attribute(name)
    params: Any = model._parameters().terms[0].params
    assert isinstance(params, kind)
    return params


def statistics_of(model: ModelState, name: str, kind: type[R]) -> R:
    """The sufficient statistics of the only term, for a fitted attribute of that name."""
    model._require_attribute(name)
    statistics: Any = model.fitted_.terms[0].statistics
    assert isinstance(statistics, kind)
    return statistics


def read_only(value: Array) -> Array:
    """What people read is not what they may write: a view of the model's own array."""
    value = value.view()
    value.flags.writeable = False
    return value
