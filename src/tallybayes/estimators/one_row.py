"""One row at a time, as a dict: the door for streams and services.

The usual row costs about a microsecond: it is read straight into (or scored straight from) the arrays of the tally.
Whatever is unusual (a new class, a new level, a wrong type) takes the careful way through a table of one row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tallybayes import _core
from tallybayes.distributions import Bernoulli, Categorical, Gaussian
from tallybayes.distributions.base import Context
from tallybayes.errors import TableError
from tallybayes.tally import Tally

if TYPE_CHECKING:
    from tallybayes.estimators.base import TallyClassifier


class OneRow:
    """learn_one, predict_one and predict_proba_one for a TallyClassifier."""

    _door: _core.RowDoor | None

    def learn_one(self, row: Mapping[str, Any], y: Any, sample_weight: float = 1.0) -> Self:
        """Learns one row given as a dict. A key left out is a missing value. The first row may start the model."""
        door = self.__dict__.get("_door")
        if (
            door is not None
            and y is not None
            and 0 < sample_weight < 1e300
            and type(row) is dict
            and door.learn(row, y, sample_weight)
        ):
            self._model = None  # read again when it is next asked for
            return self
        me: Any = self
        me.partial_fit(_one(row, me), [y], sample_weight=[sample_weight])
        self._door = open_door(me)
        return self

    def predict_proba_one(self, row: Mapping[str, Any]) -> dict[Any, float]:
        """{label: P(label | row)} for one row given as a dict."""
        me: Any = self
        door = self.__dict__.get("_door")
        if door is None:
            me._require_fit()
            door = self._door = open_door(me)
        if door is not None and type(row) is dict:
            found = door.proba(row)
            if found is not None:
                return found  # type: ignore[no-any-return]
        return dict(zip(me.classes_.tolist(), me.predict_proba(_one(row, me))[0].tolist(), strict=True))

    def predict_one(self, row: Mapping[str, Any]) -> Any:
        """The most probable label of one row given as a dict."""
        found = self.predict_proba_one(row)
        return max(found, key=found.__getitem__)


def _one(row: Any, model: TallyClassifier) -> list[Mapping[str, Any]]:
    if not isinstance(row, Mapping):
        raise TableError(f"Expected one row as a dict from column to value; got {type(row).__name__}.")
    if not row and model._fitted():  # every value is missing
        return [{model.schema_.name(0): None}]
    return [row]


def open_door(model: TallyClassifier) -> _core.RowDoor | None:
    """A door into the model's tally, if all its columns are Gaussian or categorical; the tally's arrays become its own."""
    gaussian = [g for g in model._groups if type(g.distribution) is Gaussian]
    discrete = [g for g in model._groups if type(g.distribution) in (Categorical, Bernoulli)]
    fixed = model._prior()
    if len(gaussian) + len(discrete) != len(model._groups) or len(gaussian) > 1 or len(discrete) > 1:
        return None
    if discrete and discrete[0].distribution.other:  # type: ignore[attr-defined]
        return None
    K, schema = model._tally.K, model.schema_
    stats = tuple({key: value.copy() for key, value in s.items()} for s in model._tally.stats)
    model._tally = Tally(model._tally.classes, model._tally.weight.copy(), stats)
    sums = {type(g.distribution): s for g, s in zip(model._groups, stats, strict=True)}
    moments = sums[Gaussian] if gaussian else {k: np.empty((K, 0)) for k in ("n", "mean", "m2")}
    counts = (
        sums[type(discrete[0].distribution)]
        if discrete
        else {"count": np.empty((K, 0)), "sizes": np.empty(0, np.int64)}
    )
    options = gaussian[0].distribution if gaussian else Gaussian()
    levels: list[dict[Any, int] | None] = [None] * schema.d
    number: list[float] = []
    alpha = 0.0
    if discrete:
        d: Any = discrete[0].distribution
        alpha = float(d.alpha)
        context = Context(model._tally.weight, [schema.levels.get(j) for j in discrete[0].columns])
        number = d.levels_counted(counts, context).tolist()
        for i, j in enumerate(discrete[0].columns):
            known = schema.levels.get(j)
            size = int(counts["sizes"][i])
            labels = range(size) if known is None else known.labels[:size]
            levels[j] = {label: code for code, label in enumerate(labels)}
    log_prior = (
        None if fixed is None or (isinstance(fixed, str) and fixed == "laplace") else model._parameters().log_prior
    )
    return _core.RowDoor(
        [schema.name(j) for j in range(schema.d)],
        levels,
        {label: c for c, label in enumerate(model.classes_.tolist())},
        model._tally.weight,
        moments["n"],
        moments["mean"],
        moments["m2"],
        counts["count"],
        counts["sizes"],
        number,
        options.ddof,  # type: ignore[attr-defined]
        options.shared,  # type: ignore[attr-defined]
        float(options.var_smoothing),  # type: ignore[attr-defined]
        alpha,
        log_prior,
        fixed == "laplace" if isinstance(fixed, str) else False,
    )
