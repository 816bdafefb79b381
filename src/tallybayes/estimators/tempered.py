"""Rows that were learned, judged without themselves; and the temperature that they choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from tallybayes.errors import ForgetError, is_number
from tallybayes.estimators.model import Model
from tallybayes.model import temperature
from tallybayes.model.fitted import Fitted, Starts
from tallybayes.model.rows import Rows
from tallybayes.utils.array_types import Floats


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


class Tempers(Model):
    """leave_one_out and temper."""

    if TYPE_CHECKING:
        loo_log_proba_: Floats
        loo_score_: float
        temperature_: float
    else:
        loo_log_proba_, loo_score_, temperature_ = Tempered(LEARNED), Tempered(LEARNED), Tempered()

    def leave_one_out(self, X: object, y: object, sample_weight: object = None) -> Floats:
        """Tell log P(class | x) of rows that were learned, each by the model without the row itself.

        Exact and without a refit: the row's own share is taken out of the sums, and out of the class prior. What was
        chosen from all rows (cuts, structure, strengths of back-off, bandwidths, temperature) stays as it is. A row of
        weight above 1 stands for several, of which one is left out.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows among those learned.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights that they were learned with.

        Returns
        -------
        log_probabilities : ndarray of shape (n_rows, n_classes)
            NaN for the only row of a class, which would go with it.

        Raises
        ------
        ForgetError
            If these rows cannot have been learned.
        """
        prior, likelihood = self._parameters().leave_one_out(
            self._learned_rows(X, y, sample_weight), self._prior(), self._start
        )
        return temperature.posterior(prior, likelihood, self._beta)

    def temper(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Choose the temperature again, by leave-one-out on rows that were learned.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows among those learned.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights that they were learned with.

        Returns
        -------
        self : estimator
            With ``temperature_``, ``loo_log_proba_`` and ``loo_score_``, as after fit with ``tempered=True``.
        """
        with self._learning():
            rows = self._learned_rows(X, y, sample_weight)
            self._take_temperature(choose_temperature(self._parameters(), rows, self._prior(), self._start))
        return self

    def _rows_met(self, X: object, y: object, sample_weight: object, refusal: str) -> tuple[Rows, Fitted]:
        raise NotImplementedError

    def _learned_rows(self, X: object, y: object, sample_weight: object) -> Rows:
        """Rows that the sums hold; ForgetError if they do not."""
        rows, given = self._rows_met(X, y, sample_weight, "No rows of class {} were learned.")
        try:
            self.fitted_.subtract(given)
        except ForgetError:
            raise ForgetError(
                "These rows (or so much weight of them) cannot have been learned: without them a count or a sum of "
                "squares would fall below zero. Give rows that this model has learned, with their weights."
            ) from None
        return rows

    def _take_temperature(self, chosen: Temperature | None) -> None:
        """What a fit has chosen, None where it was not asked to."""
        self._drop_left_out()
        self.__dict__.pop("temperature_", None)
        if chosen is not None:
            self._held.lock_out()  # the next row has to take away what is said here of those before it
            self.temperature_, self.loo_log_proba_, self.loo_score_ = chosen

    def _check_temperature(self) -> None:
        """Raises ValueError if a temperature (it comes from a file) is none."""
        beta: Any = self.__dict__.get("temperature_", 1.0)
        if not is_number(beta) or not temperature.LEAST <= beta <= temperature.MOST:
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
