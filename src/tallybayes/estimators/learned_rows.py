"""Rows that a model has learned, given to it again: to be forgotten, or left out one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallybayes.data.encoding.to_numbers import kinds_are_settled
from tallybayes.data.target import read_target
from tallybayes.errors import ForgetError
from tallybayes.estimators import class_weights
from tallybayes.model.fitted import Fitted, count
from tallybayes.model.rows import Rows, read_rows

if TYPE_CHECKING:
    from tallybayes.estimators.state import ModelState


def known_rows(model: ModelState, X: object, y: object, sample_weight: object, refusal: str) -> tuple[Rows, Fitted]:
    """Rows of known classes, and their statistics. refusal: what to say of other classes."""
    fitted = model.fitted_
    with kinds_are_settled():
        rows = read_rows(X, fitted.schema, fitted.terms, fitted.sizes(), type(model).__name__, grow=True)
    target = class_weights.weighed(model, read_target(model._labels(y), rows.n, sample_weight))
    rows = rows.of_target(target.within(fitted.classes, refusal))
    return rows, count(rows, fitted.terms, fitted.classes)


def learned_rows(model: ModelState, X: object, y: object, sample_weight: object) -> Rows:
    """Rows that the statistics hold; ForgetError if they do not."""
    rows, given = known_rows(model, X, y, sample_weight, "No rows of class {} were learned.")
    try:
        model.fitted_.subtract(given)
    except ForgetError:
        raise ForgetError(
            "These rows (or so much weight of them) cannot have been learned: without them a count or a sum of "
            "squares would fall below zero. Give rows that this model has learned, with their weights."
        ) from None
    return rows
