"""One row at a time, as a dict: for streams and services.

The usual row costs about a microsecond (model/fast_row.py); whatever is unusual goes through a table of one row, with
the same answer to the bit (with a half-life: to rounding).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tallybayes import _core
from tallybayes.data.expansion import expand_row
from tallybayes.errors import TableError
from tallybayes.estimators import half_life_mixture
from tallybayes.estimators.model_lock import lock_of
from tallybayes.estimators.parameters import memory_of
from tallybayes.estimators.provenance import note_removed
from tallybayes.estimators.row_memory import place
from tallybayes.model.fast_row import FastRow, open_fast_row

if TYPE_CHECKING:
    from tallybayes.estimators.base import GenerativeClassifier
    from tallybayes.estimators.learned_state import LearnedState

COMPILED = "compiled"
KEEPS_ROWS = "memory='rows' keeps each row, and fits again before the next prediction"
WHOLE_ROWS = "networks and kernel densities compiled for one row count whole rows, and with half_life they fade"
MOST_WEIGHT = 1e10  # a row of more goes through a table, which looks out for overflow; also in cpp/bind/one_row.cpp


def learn_locked(model: GenerativeClassifier, row: Any, y: object, sample_weight: float) -> None:
    """A row that is not usual, or came while somebody had the lock; after it others may do without."""
    with lock_of(model):
        held: LearnedState | None = model.__dict__.get("_state")
        given, row = _both_forms(held, row)
        w = sample_weight if model.class_weight is None else _weight_of(model, y, sample_weight)
        fast_row = _fast_row_for(model, y, w)
        if held is not None and fast_row is not None and type(row) is dict and _learned(model, fast_row, row, y, w):
            model._drop_leave_one_out()  # it was of other rows
            fast_row.let_in(held.plain)
            return
        model.partial_fit([given], [y], sample_weight=_weights(sample_weight))
        model._drop_leave_one_out()  # a first row that chose a temperature
        if place(model) is None:
            opened(model)


def _learned(model: GenerativeClassifier, fast_row: FastRow, row: dict[str, Any], y: object, w: float) -> bool:
    if half_life_mixture.is_auto(model):
        half_life_mixture.attach(model, fast_row)
    else:
        half_life_mixture.detach(model)
    return bool(fast_row.learn(row, y, w, model.half_life))


def forget_one(model: GenerativeClassifier, row: Any, y: object, sample_weight: float) -> None:
    """Removes one row that was learned."""
    with lock_of(model):
        given, row = _both_forms(model.__dict__.get("_state"), row)
        w = sample_weight if model.class_weight is None else _weight_of(model, y, sample_weight)
        fast_row = None if half_life_mixture.is_auto(model) else _fast_row_for(model, y, w)
        if fast_row is not None and type(row) is dict and fast_row.forget(row, y, w):
            if "loo_log_proba_" in model.__dict__:
                model._drop_leave_one_out()
            note_removed(model, w)
            return
        model.forget([given], [y], sample_weight=_weights(sample_weight))
        if place(model) is None:
            opened(model)


def proba_through_table(model: GenerativeClassifier, held: LearnedState, row: Any, proba: Any) -> dict[Any, float]:
    """P(label | row) of a row that the fast path does not take as it is."""
    given: object = row
    if type(row) is not dict or not held.plain:
        given, row = _both_forms(held, row)
        read: dict[Any, float] | None = None if proba is None else proba(row)
        if read is not None:
            return read
    if half_life_mixture.is_auto(model):
        mixture = half_life_mixture.predictor(model)
        return dict(zip(mixture.fitted.classes.tolist(), mixture.predict([given], "proba")[0].tolist(), strict=True))
    predictor = model.predictor_
    own = predictor.row_proba(row) if type(row) is dict and held.plain else None
    (found,) = predictor.predict_rows(predictor.read([given]), "proba").tolist() if own is None else (own.tolist(),)
    return dict(zip(predictor.fitted.classes.tolist(), found, strict=True))


def why(model: GenerativeClassifier) -> str:
    """'compiled', or why one row takes longer than microseconds."""
    fast_row = opened(model)
    if isinstance(fast_row, str):
        return fast_row
    whole = any(isinstance(part, _core.FastNetwork | _core.FastAveraged | _core.FastKernel) for part in fast_row.parts)
    if whole and model.half_life not in (None, np.inf):
        return WHOLE_ROWS
    if "temperature_" in model.__dict__:
        return "learn_one is compiled; the temperature of a tempered model needs predict_proba"
    return COMPILED


def opened(model: GenerativeClassifier) -> FastRow | str:
    """The fast path for the model as it is now, or why there is none."""
    with lock_of(model):
        if not model.fitted_.weight.sum() > 0:
            return "the model has no rows"
        if memory_of(model) == "rows":
            return KEEPS_ROWS
        if place(model) is not None:
            return f"memory={model.memory!r} notes each row"
        if "privacy_loss_" in model.__dict__:
            return "its counts have noise: it learns and forgets no rows"
        if model.__dict__.get("_given_parameters"):
            return "the model was made from given parameters"
        if model._state.fast_row is None:
            model._state.fast_row = open_fast_row(model._parameters(), model._prior(), lock_of(model))
        fast_row = model._state.fast_row
        if half_life_mixture.is_auto(model) and isinstance(fast_row, FastRow):
            return half_life_mixture.attach(model, fast_row)
        return fast_row


def _both_forms(held: LearnedState | None, row: Any) -> tuple[object, Any]:
    """A row as a table reads it, which knows which parts of a date are numbers; and as the fast path does."""
    if type(row) is dict and held is not None and held.plain:
        return row, row
    given = _as_dict(row)
    if held is None or held.plain:
        return given, given
    schema = held.fitted.schema
    expanded = given if schema.expansion is None else expand_row(given, schema.expansion)
    return given, schema.without_extra(expanded) if schema.extra else expanded


def _fast_row_for(model: GenerativeClassifier, y: object, w: object) -> FastRow | None:
    """The fast path, if there is one and these look like a label and a weight."""
    held: LearnedState | None = model.__dict__.get("_state")
    if held is None or type(held.fast_row) is not FastRow or y is None:
        return None
    return held.fast_row if isinstance(w, (float, int)) and 0 < w <= MOST_WEIGHT else None


def _weights(sample_weight: Any) -> list[Any] | None:
    """The weight of a table of one row. None where it is 1: then networks count in whole numbers."""
    return None if type(sample_weight) in (float, int) and sample_weight == 1 else [sample_weight]


def _weight_of(model: GenerativeClassifier, y: object, sample_weight: float) -> float:
    """What a row of this class weighs; 0 for the way through a table."""
    given = model.class_weight
    try:
        return sample_weight * float(given.get(y, 1.0)) if type(given) is dict else 0.0
    except (TypeError, ValueError):
        return 0.0


def _as_dict(row: Any) -> Mapping[str, object]:
    """A dict, or a row of a pandas frame as one."""
    if isinstance(row, Mapping):
        return row
    if hasattr(row, "to_dict") and getattr(row, "ndim", None) == 1:
        found = {name: v.item() if isinstance(v, np.generic) else v for name, v in row.to_dict().items()}
        return {f"x{name}" if type(name) is int else name: v for name, v in found.items()}
    raise TableError(f"Expected one row as a dict from column to value; got {type(row).__name__}.")
