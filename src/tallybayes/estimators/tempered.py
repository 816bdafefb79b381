"""Leave-one-out predictions of rows that were learned, and the temperature that they choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tallybayes.errors import is_number
from tallybayes.estimators.learned_rows import learned_rows
from tallybayes.model import temperature
from tallybayes.model.fitted import Fitted, Starts
from tallybayes.model.rows import Rows
from tallybayes.utils.array_types import Floats

if TYPE_CHECKING:
    from tallybayes.estimators.state import ModelState


class Temperature(NamedTuple):
    """β, the leave-one-out log posteriors under it, and minus their mean log-loss."""

    beta: float
    log_proba: Floats
    score: float


LEARNED = ", until other rows are learned"


class Tempered:
    """An attribute that only a model with a temperature has; where it is not, who asks is told what to turn on."""

    def __init__(self, until: str = "") -> None:
        self.until = until

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: object, owner: type) -> object:
        if model is None:
            raise AttributeError(self.name)  # of the class itself there is none
        raise AttributeError(
            f"This {owner.__name__} has no {self.name}: it is there after fit with tempered=True or temper(X, y)"
            f"{self.until}."
        )


def leave_one_out(model: ModelState, X: object, y: object, sample_weight: object) -> Floats:
    """log P(class | x) of rows that were learned, each by the model without the row."""
    rows = learned_rows(model, X, y, sample_weight)
    prior, likelihood = model._parameters().leave_one_out(rows, model._prior(), model._start)
    return temperature.posterior(prior, likelihood, model._beta)


def temper(model: ModelState, X: object, y: object, sample_weight: object) -> None:
    """Chooses the temperature again."""
    with model._learning():
        rows = learned_rows(model, X, y, sample_weight)
        take(model, choose_temperature(model._parameters(), rows, model._prior(), model._start))


def take(model: ModelState, chosen: Temperature | None) -> None:
    """What a fit has chosen, None where it was not asked to."""
    model._drop_left_out()
    model.__dict__.pop("temperature_", None)
    if chosen is not None:
        model._held.lock_out()  # the next row has to take away what is said here of those before it
        model.temperature_, model.loo_log_proba_, model.loo_score_ = chosen


def check(beta: Any) -> None:
    """Raises ValueError if a temperature (it comes from a file) is none."""
    if not is_number(beta) or not temperature.MIN_BETA <= beta <= temperature.MAX_BETA:
        raise ValueError(f"its temperature is {beta!r:.40}")


def choose_temperature(fitted: Fitted, rows: Rows, priors: object, starts: Starts) -> Temperature:
    """The power of the likelihood with the least leave-one-out log-loss. fitted: with parameters."""
    prior, likelihood = fitted.leave_one_out(rows, priors, starts)
    y = rows.classes_of_rows
    weight = np.where(y < 0, 0.0, 1.0 if rows.w is None else rows.w)
    label = np.maximum(y, 0)
    beta = temperature.best_temperature(prior, likelihood, label, weight)
    found = temperature.posterior(prior, likelihood, beta)
    return Temperature(beta, found, temperature.score(found, label, weight))
