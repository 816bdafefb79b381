"""Rows that were learned, judged without themselves; and the temperature that they choose.

A row leaves with weight min(w, 1): a row of weight 2 is two rows, of which one is left out. Its class loses it too.
What was chosen with all rows (cuts, structure, strengths of back-off, bandwidths, shrinkage, a given prior) stays.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from tallybayes import tally, tempering
from tallybayes.errors import ForgetError, OptionError, is_number
from tallybayes.parameters import Parameters, context_of, log_prior
from tallybayes.plan import Batch, Group, named
from tallybayes.schema import Schema
from tallybayes.tally import Tally

Floats = NDArray[np.float64]
Labels = NDArray[np.int32]


class Tempers:
    """leave_one_out and temper for a TallyClassifier."""

    tempered: bool = False
    temperature_: float
    loo_log_proba_: Floats
    loo_score_: float

    if TYPE_CHECKING:
        _door: Any

    # --- asking ------------------------------------------------------------------------------------------------

    @property
    def _beta(self) -> float:
        """How many times the log-likelihood counts."""
        beta: float = self.__dict__.get("temperature_", 1.0)
        return beta

    def _tempered_answer(self, X: Any, how: str, parameters: Parameters, start: Floats) -> Any:
        """`_answer` under the temperature: log prior + β log P(x | class) = β (log prior / β + log P(x | class))."""
        me: Any = self
        beta = self._beta
        if beta == 1 or how == "evidence":  # log p(x) is a statement about rows, not about classes
            return me._answer(X, how, parameters, start)
        if how in ("joint", "best"):
            found = me._answer(X, how, parameters, start / beta)
            return beta * found if how == "joint" else found
        log = scipy.special.log_softmax(beta * me._answer(X, "log_proba", parameters, start / beta), axis=1)
        return np.exp(log) if how == "proba" else log

    # --- leaving rows out --------------------------------------------------------------------------------------

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> Floats:
        """(rows, classes): log P(class | x) of rows that were learned, each by the model without the row itself.

        Exact and without a refit: the row's own share is taken out of the sums, and out of the class prior. What was
        chosen from all rows (cuts, structure, strengths of back-off, bandwidths, temperature) stays as it is. A row of
        weight above 1 stands for several, of which one is left out. NaN for the only row of a class, which would go
        with it. Raises ForgetError if these rows cannot have been learned.
        """
        me: Any = self
        rows = self._learned_rows(X, y, sample_weight)
        found = left_out(me, *rows, me.schema_, me._groups, me._tally, me._parameters())
        return tempering.posterior(found[0], found[1], self._beta)

    def temper(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Chooses the temperature again, by leave-one-out on these rows, which must be among those learned.

        Sets temperature_, loo_log_proba_ and loo_score_, as fit does with tempered=True.
        """
        me: Any = self
        rows = self._learned_rows(X, y, sample_weight)
        chosen = choose(me, *rows, me.schema_, me._groups, me._tally, me._parameters())
        self._take_temperature(chosen)
        self._door = None
        return self

    def _learned_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Batch, Labels, Floats | None]:
        """Rows as the distributions read them; ForgetError if the tally does not hold them."""
        me: Any = self
        me._require_fit()
        with me._speaking():
            batch, codes, weights, given = me._rows_met(X, y, sample_weight, "No rows of class {} were learned.")
        try:
            tally.combine(me._tally, given, me._groups, sign=-1)
        except ForgetError:
            raise ForgetError(
                "These rows (or so much weight of them) cannot have been learned: without them a count or a sum of "
                "squares would fall below zero. Give rows that this model has learned, with their weights."
            ) from None
        return batch, codes, weights

    def _take_temperature(self, chosen: tuple[float, Floats, float] | None) -> None:
        """What a fit has chosen, None where it was not asked to."""
        self._drop_left_out()
        self.__dict__.pop("temperature_", None)
        if chosen is not None:
            self.temperature_, self.loo_log_proba_, self.loo_score_ = chosen

    def _drop_left_out(self) -> None:
        for stale in ("loo_log_proba_", "loo_score_"):
            self.__dict__.pop(stale, None)

    def _check_tempered(self) -> None:
        if not isinstance(self.tempered, bool | np.bool_):
            raise OptionError(f"tempered must be True or False; got {self.tempered!r}.")

    def _check_temperature(self) -> None:
        """Raises ValueError if a temperature (it comes from a file) is none."""
        beta: Any = self.__dict__.get("temperature_", 1.0)
        if not is_number(beta) or not tempering.LEAST <= beta <= tempering.MOST:
            raise ValueError(f"its temperature is {beta!r:.40}")


def choose(
    model: Any,
    batch: Batch,
    y: Labels,
    w: Floats | None,
    schema: Schema,
    groups: tuple[Group, ...],
    total: Tally,
    parameters: Parameters,
) -> tuple[float, Floats, float]:
    """β, the leave-one-out log posteriors under it, and minus their mean log-loss."""
    prior, likelihood = left_out(model, batch, y, w, schema, groups, total, parameters)
    weight = np.where(y < 0, 0.0, 1.0 if w is None else w)
    label = np.maximum(y, 0)
    beta = tempering.best_temperature(prior, likelihood, label, weight)
    found = tempering.posterior(prior, likelihood, beta)
    return beta, found, tempering.score(found, label, weight)


def left_out(
    model: Any,
    batch: Batch,
    y: Labels,
    w: Floats | None,
    schema: Schema,
    groups: tuple[Group, ...],
    total: Tally,
    parameters: Parameters,
) -> tuple[Floats, Floats]:
    """(n, K) each: the log prior and log P(x | class) without the row itself, the latter up to a term that all classes
    share. NaN for a row without which its class has none."""
    unit = np.ones(len(y)) if w is None else np.minimum(w, 1.0)
    unit = np.where(y < 0, 0.0, unit)
    label = np.maximum(y, 0).astype(np.int32)
    own = total.weight[label]
    last = (unit > 0) & (own - unit <= 1e-9 * own)
    unit = np.where(last, 0.0, unit)
    pairs, which = np.unique(np.column_stack([label, unit]), axis=0, return_inverse=True)
    asked, starts = model._prior(), np.empty((len(pairs), total.K))
    for i, (k, u) in enumerate(pairs.tolist()):
        weight = total.weight.copy()
        weight[int(k)] -= u
        starts[i] = model._start(replace(parameters, log_prior=log_prior(replace(total, weight=weight), asked)))
    prior = starts[which.reshape(-1)]
    likelihood = np.zeros((batch.n, total.K))
    for group, s, part, data in zip(groups, total.stats, parameters.parts, batch.data, strict=True):
        with named(schema, group.columns):
            likelihood += group.distribution.left_out(data, label, unit, s, part, context_of(total, schema, group))
    prior[last], likelihood[last] = np.nan, np.nan
    return prior, likelihood
