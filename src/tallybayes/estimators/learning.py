"""How a classifier learns: rows are read, counted, and added to what was there. The first ones settle more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tallybayes.data.encoding.to_numbers import kinds_are_settled
from tallybayes.data.labels import positions, read_classes, union, warn_unsavable
from tallybayes.data.leakage import warn_about_leakage
from tallybayes.data.schema import Schema, align, infer_schema
from tallybayes.data.table import Table, read_table
from tallybayes.data.target import Target, read_target
from tallybayes.errors import LabelError, listing
from tallybayes.estimators import class_weights, half_life, tempered
from tallybayes.estimators.inputs import warn_ambiguous
from tallybayes.estimators.learned_rows import known_rows
from tallybayes.model.fitted import Fitted, count, tally
from tallybayes.model.rows import aligned, cut_columns, encode_rows
from tallybayes.utils.array_types import Array
from tallybayes.utils.progress import stage, telling

if TYPE_CHECKING:
    from tallybayes.estimators.base import TallyClassifier

Model = TypeVar("Model", bound="TallyClassifier")


def learn(
    model: TallyClassifier,
    X: object,
    y: object,
    sample_weight: object,
    classes: object,
    *,
    fresh: bool,
    later: bool = False,
    whole: bool = False,
) -> None:
    """later: parameters are estimated when they are first used. whole: these are all rows there are."""
    model._check_options()
    with telling(type(model).__name__, bool(model.verbose)):
        stage("reading")
        table = read_table(X)
        target, left = half_life.aged(read_target(y, table.n, sample_weight), model.half_life)
        if whole:
            warn_about_leakage(table, target)
        if fresh:
            _learn_first(model, table, target, classes, whole)
            return
        all_of_it = _with_more(model, model._again(), table, class_weights.weighed(model, target), classes, left)
        if later:
            model._hold(all_of_it)
        else:
            model._keep(all_of_it)


def _with_more(
    model: TallyClassifier, before: Fitted, table: Table, target: Target, classes: object, left: float
) -> Fitted:
    """What was learned before, so much of it as is left, and these rows."""
    who, schema, terms = type(model).__name__, before.schema, before.terms
    table = aligned(table, schema, who)
    target, closed = labels_of(target, classes, before)
    class_weights.check_named(model.class_weight, target.classes, closed)
    stage("cutting and encoding")
    schema = cut_columns(table, schema, terms, target)
    stage("counting")
    with kinds_are_settled():
        new = tally(table, schema, terms, before.sizes(), who, target, closed)
    before = before if left == 1 else before.scale(left)
    return replace(before.add(new), closed=closed)


def _learn_first(model: TallyClassifier, table: Table, target: Target, classes: object, whole: bool) -> None:
    """The first rows settle what the columns are, and whatever else is chosen on rows."""
    who, balanced = type(model).__name__, class_weights.balanced(model, target)
    target = class_weights.weighed(model, target, balanced)
    counted = None if target.w is None else target.y >= 0
    schema = infer_schema(table, model._given_schema(), model._kind, model._reads_text, who, counted)
    table = align(table, schema, who)
    target, closed = labels_of(target, classes, None)
    class_weights.check_named(model.class_weight, target.classes, closed or whole)
    schema = model._suit(table, schema, target)
    terms = model._choose(schema)
    stage("cutting and encoding")
    schema = cut_columns(table, schema, terms, target)
    chosen = None
    if model.tempered or model._has_structure():
        rows = encode_rows(table, schema, terms, {}, who, grow=True).of_target(target)
        stage("counting")
        new = count(rows, terms, target.classes, closed)
        stage("choosing")
        fitted = model._structure(new, rows)
        if model.tempered:
            stage("leaving each row out, for the temperature")
            prior = model._prior()
            chosen = tempered.choose_temperature(fitted.estimate(prior), rows, prior, model._start)
    else:
        stage("counting")
        fitted = tally(table, schema, terms, {}, who, target, closed)
    stage("estimating")
    model._keep(fitted)
    tempered.take(model, chosen)
    model.__dict__.pop("class_weight_", None)
    if balanced is not None:
        model.class_weight_ = balanced
    warn_unsavable(fitted.classes)
    if schema.ambiguous and hasattr(model, "schema"):  # where one argument can settle it
        warn_ambiguous(schema)


def forget(model: TallyClassifier, X: object, y: object, sample_weight: object) -> None:
    """Removes rows that were learned."""
    with model._learning():
        model._check_options()
        model._require_adding()
        _, old = known_rows(model, X, y, sample_weight, "Cannot forget rows of class {}: never learned.")
        model._keep(model._again().subtract(old))


def learn_from(
    model: TallyClassifier,
    source: Any,
    target: str | Sequence[str],
    weight: str | None,
    columns: Sequence[str] | None,
    plan: Any,
) -> None:
    """Adds all rows of a source, or none."""
    from tallybayes.engines import learn_and_predict  # when it is called: engines know of models, models not of them

    with model._learning():
        model._check_options()
        model._require_adding()
        half_life.require_no_order(model)
        found = learn_and_predict.learn(model, source, target, weight, columns, plan)
        other = found.copy()
        model._become(other, model._again().merge(found.fitted_) if model._fitted() else found.fitted_)


# --- for engines: rows that come in many batches --------------------------------------------


def learn_batches(model: Model, batches: Iterable[Any]) -> Model:
    """Adds batches (X, y) or (X, y, weight), all or none, and estimates parameters once at the end."""
    with model._learning():
        model._require_adding()
        class_weights.require_parts(model)
        other = model.copy()
        for X, y, *w in batches:
            other._learn(X, y, w[0] if w else None, None, fresh=not other._fitted(), later=True)
        if other._fitted():
            model._become(other, other.fitted_)
    return model


def schema_of(model: TallyClassifier, X: object) -> Schema:
    """What a model would take the columns of a table for: no levels and no bins."""
    table = read_table(X)
    return infer_schema(table, model._given_schema(), model._kind, model._reads_text, type(model).__name__)


def labels_of(target: Target, classes: object, before: Fitted | None) -> tuple[Target, bool]:
    """The rows' classes among all that there are, and whether no others may come."""
    closed = classes is not None or (before is not None and before.closed)
    declared = _declared(classes, before)
    if closed:
        unknown = target.classes[positions(target.classes, declared) < 0]
        if len(unknown):
            raise LabelError(
                f"The target label(s) [{listing(unknown)}] in y do not exist in the initial classes "
                f"[{listing(declared)}]."
            )
    known = union(target.classes, declared) if closed or before is not None else target.classes
    if len(known) == 0 or (before is None and len(target.classes) == 0):
        raise LabelError("Nothing to learn from: every sample weight is zero.")
    return target.among(known), closed


def _declared(classes: object, before: Fitted | None) -> Array:
    known = np.empty(0, dtype=object) if before is None else before.classes
    if classes is None:
        return known
    given = read_classes(classes)
    if before is not None and not np.array_equal(given, before.classes):
        raise LabelError(
            f"`classes=[{listing(given)}]` is not the same as on last call to partial_fit, was: [{listing(known)}]"
        )
    return given
