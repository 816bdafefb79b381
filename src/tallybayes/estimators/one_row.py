"""One row at a time, as a dict: the door for streams and services.

The usual row costs about a microsecond: it is read straight into (or scored straight from) the arrays of the tally.
Whatever is unusual (a new class, a new level, a wrong type) takes the careful way through a table of one row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions import Bernoulli, Categorical, Gaussian
from tallybayes.errors import TableError
from tallybayes.estimators.model import Model

Floats = NDArray[np.float64]


class OneRow(Model):
    """learn_one, predict_one and predict_proba_one."""

    if TYPE_CHECKING:

        def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self: ...

        def predict_proba(self, X: Any, priors: Any = None) -> Floats: ...

    def learn_one(self, row: Mapping[str, Any], y: Any, sample_weight: float = 1.0) -> Self:
        """Learns one row given as a dict. A key left out is a missing value. The first row may start the model."""
        held = self.__dict__.get("_held")
        door = None if held is None else held.door
        if (
            held is not None
            and door is not None
            and y is not None
            and 0 < sample_weight < 1e300
            and type(row) is dict
            and door.learn(row, y, sample_weight)
        ):
            held.estimated = held.predictor = None  # read again when it is next asked for
            return self
        self.partial_fit(_one(row), [y], sample_weight=[sample_weight])
        self._drop_left_out()  # rows that come through the door would leave it as it is
        self._held.door = open_door(self)
        return self

    def predict_proba_one(self, row: Mapping[str, Any]) -> dict[Any, float]:
        """{label: P(label | row)} for one row given as a dict."""
        self._require_fit()
        door, untempered = self._held.door, "temperature_" not in self.__dict__
        if door is None and untempered:  # it scores without a temperature
            door = self._held.door = open_door(self)
        if door is not None and untempered and type(row) is dict:
            found: Any = door.proba(row)
            if found is not None:
                answer: dict[Any, float] = found
                return answer
        return dict(zip(self.classes_.tolist(), self.predict_proba(_one(row))[0].tolist(), strict=True))

    def predict_one(self, row: Mapping[str, Any]) -> Any:
        """The most probable label of one row given as a dict."""
        found = self.predict_proba_one(row)
        return max(found, key=found.__getitem__)


def _one(row: Any) -> list[Mapping[str, Any]]:
    if not isinstance(row, Mapping):
        raise TableError(f"Expected one row as a dict from column to value; got {type(row).__name__}.")
    return [row]


def open_door(model: Model) -> _core.RowDoor | None:
    """A door into the model's sums, if all its columns are Gaussian or categorical; the arrays become its own."""
    fitted = model.fitted_
    kinds: list[Any] = [type(t.distribution) for t in fitted.terms]
    if not set(kinds) <= {Gaussian, Categorical, Bernoulli} or kinds.count(Gaussian) > 1 or len(kinds) > 2:
        return None
    if len(kinds) == 2 and Gaussian not in kinds:
        return None
    terms = tuple(replace(t, sums={key: value.copy() for key, value in t.sums.items()}) for t in fitted.terms)
    fitted = model._held.fitted = replace(fitted, weight=fitted.weight.copy(), terms=terms)
    K, schema = fitted.K, fitted.schema
    options, moments = Gaussian(), {key: np.empty((K, 0)) for key in ("n", "mean", "low", "m2")}
    counts: Any = {"count": np.empty((K, 0)), "sizes": np.empty(0, dtype=np.int64)}
    levels: list[dict[Any, int] | None] = [None] * schema.d
    number: list[float] = []
    alpha = 0.0
    for term in terms:
        d, s = term.distribution, term.sums
        if isinstance(d, Gaussian):
            options, moments = d, s
        elif isinstance(d, Categorical):
            if d.other:
                return None
            alpha, counts = float(d.alpha), s
            number = d.levels_counted(s, fitted.context(term)).tolist()
            for j, size in zip(term.columns, s["sizes"].tolist(), strict=True):
                labels = schema.levels[j].labels[:size] if j in schema.levels else range(size)
                levels[j] = {label: code for code, label in enumerate(labels)}
    prior = model._prior()
    counted = prior is None or (isinstance(prior, str) and prior == "laplace")
    return _core.RowDoor(
        [schema.name(j) for j in range(schema.d)],
        levels,
        {label: c for c, label in enumerate(model.classes_.tolist())},
        fitted.weight,
        moments["n"],
        moments["mean"],
        moments["low"],
        moments["m2"],
        counts["count"],
        counts["sizes"],
        number,
        options.ddof,
        options.shared,
        float(options.var_smoothing),
        alpha,
        None if counted else model._parameters().log_prior,
        counted and prior is not None,
    )
