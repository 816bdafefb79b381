"""How a classifier learns: rows are read, counted and added. The first batch fixes schema, bins and structure."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tallybayes.data.encoding.numeric import kinds_are_settled
from tallybayes.data.labels import Target, positions, read_classes, read_target, union, warn_unsavable
from tallybayes.data.leakage import warn_about_leakage
from tallybayes.data.row_store import store_of
from tallybayes.data.schema import Schema, align, infer_schema
from tallybayes.data.table import Table, read_table
from tallybayes.errors import (
    AmbiguousColumnWarning,
    CancellationWarning,
    ForgetError,
    LabelError,
    OptionError,
    TallybayesError,
    brief,
    is_number,
    listing,
    warn,
)
from tallybayes.estimators import half_life_mixture, provenance, row_memory
from tallybayes.estimators.model_lock import lock_of
from tallybayes.estimators.parameters import memory_of
from tallybayes.estimators.row_weights import (
    balanced_weights,
    check_class_weight_labels,
    decay_weights,
    finite_half_life,
    require_given_weights,
    require_no_order,
    with_class_weights,
)
from tallybayes.model import temperature
from tallybayes.model.cancellation import cancelled_columns
from tallybayes.model.fast_row import FastRow
from tallybayes.model.fitted import Fitted, count, tally
from tallybayes.model.forgotten_levels import without_names
from tallybayes.model.rows import Rows, aligned, cut_columns, encode_rows, read_rows
from tallybayes.utils.array_types import Array, Floats
from tallybayes.utils.progress import stage, telling

if TYPE_CHECKING:
    from tallybayes.estimators.base import GenerativeClassifier
    from tallybayes.estimators.state import ModelState
    from tallybayes.receipts import Receipt

Model = TypeVar("Model", bound="GenerativeClassifier")


def learn(
    model: GenerativeClassifier,
    X: object,
    y: object,
    sample_weight: object,
    classes: object,
    *,
    from_scratch: bool,
    defer_estimation: bool = False,
    is_all_data: bool = False,
) -> None:
    """Learns rows, from scratch or beside what was learned.

    defer_estimation: parameters are estimated when they are first used; is_all_data: no more rows are to come.
    """
    model._check_options()
    if half_life_mixture.is_auto(model):
        with half_life_mixture.all_or_nothing(model):
            _learn_mixture(model, X, y, sample_weight, classes, from_scratch, is_all_data)
        return
    half_life_mixture.detach(model)
    _learn_alone(model, X, y, sample_weight, classes, from_scratch, defer_estimation, is_all_data)


def _learn_mixture(
    model: GenerativeClassifier,
    X: object,
    y: object,
    sample_weight: object,
    classes: object,
    from_scratch: bool,
    is_all_data: bool,
) -> None:
    """half_life='auto': the model learns as one without a half-life, then the other half-lives do."""
    table = read_table(X)
    before = None if from_scratch else model.fitted_
    if from_scratch:
        model.__dict__.pop("_fading", None)
    _learn_alone(model, table, y, sample_weight, classes, from_scratch, False, is_all_data)
    target = with_class_weights(model, read_target(y, table.n, sample_weight))
    half_life_mixture.advance(model, before, table, target)


def _learn_alone(
    model: GenerativeClassifier,
    X: object,
    y: object,
    sample_weight: object,
    classes: object,
    from_scratch: bool,
    defer_estimation: bool,
    is_all_data: bool,
) -> None:
    with telling(type(model).__name__, bool(model.verbose)):
        stage("reading")
        table = read_table(X)
        target, left = decay_weights(read_target(y, table.n, sample_weight), finite_half_life(model.half_life))
        if is_all_data:
            warn_about_leakage(table, target)
        if memory_of(model) == "rows":
            _learn_kept(model, table, target, classes, from_scratch, is_all_data)
            return
        noted = row_memory.noted(model, table, target, from_scratch=from_scratch)
        if from_scratch:
            _learn_first(model, table, target, classes, is_all_data)
            row_memory.take(model, noted)
            return
        noted = row_memory.both(model, noted)
        all_of_it = _with_more(
            model, model._with_current_options(), table, with_class_weights(model, target), classes, left
        )
        if defer_estimation:
            model._set_fitted(all_of_it)
        else:
            model._estimate_and_set(all_of_it)
        row_memory.take(model, noted)


def _with_more(
    model: GenerativeClassifier, before: Fitted, table: Table, target: Target, classes: object, left: float
) -> Fitted:
    """What was learned before, so much of it as is left, and these rows."""
    who, schema, terms = type(model).__name__, before.schema, before.terms
    table = aligned(table, schema, who)
    target, classes_fixed = labels_of(target, classes, before)
    check_class_weight_labels(model.class_weight, target.classes, classes_fixed)
    stage("cutting and encoding")
    schema = cut_columns(table, schema, terms, target)
    stage("counting")
    with kinds_are_settled():
        new = tally(table, schema, terms, before.sizes(), who, target, classes_fixed)
    before = before if left == 1 else before.scale(left)
    return replace(before.add(new), classes_fixed=classes_fixed)


def _learn_first(model: GenerativeClassifier, table: Table, target: Target, classes: object, is_all_data: bool) -> None:
    """The first rows settle what the columns are, and whatever else is chosen on rows."""
    who, balanced = type(model).__name__, balanced_weights(model, target)
    target = with_class_weights(model, target, balanced)
    counted = None if target.w is None else target.y >= 0
    schema = _inferred(model, table, counted)
    table = align(table, schema, who)
    target, classes_fixed = labels_of(target, classes, None)
    check_class_weight_labels(model.class_weight, target.classes, classes_fixed or is_all_data)
    schema = model._select_distributions(table, schema, target)
    terms = model._make_terms(schema)
    stage("cutting and encoding")
    schema = cut_columns(table, schema, terms, target)
    chosen = None
    if model.tempered or model._has_structure():
        rows = encode_rows(table, schema, terms, {}, who, grow=True).of_target(target)
        stage("counting")
        terms, rows = model._arranged(terms, rows)
        new = count(rows, terms, target.classes, classes_fixed)
        stage("choosing")
        fitted = model._select_structure(new, rows)
        if model.tempered:
            stage("leaving each row out, for the temperature")
            prior = model._prior()
            chosen = temperature.choose_temperature(fitted.estimate(prior), rows, prior, model._offset)
    else:
        stage("counting")
        fitted = tally(table, schema, terms, {}, who, target, classes_fixed)
    stage("estimating")
    model._estimate_and_set(fitted)
    model._take_temperature(chosen)
    for name in ("class_weight_", "privacy_loss_", "_given_parameters"):
        model.__dict__.pop(name, None)
    counts = target.y >= 0 if target.w is None else (target.y >= 0) & (target.w > 0)
    provenance.note_choices(model, fitted, int(counts.sum()))
    if balanced is not None:
        model.class_weight_ = balanced
    warn_unsavable(fitted.classes)
    if schema.ambiguous and hasattr(model, "schema"):  # where one argument can settle it
        warn_ambiguous(schema)


def _learn_kept(
    model: GenerativeClassifier, table: Table, target: Target, classes: object, from_scratch: bool, is_all_data: bool
) -> None:
    """memory='rows': first rows are fitted in the order of the store; more are checked, and fitted when needed."""
    rows = store_of(table, target)
    if not from_scratch:
        before, kept = model._state.fitted, row_memory.rows_of(model)
        checked = _with_more(model, before, table, with_class_weights(model, target), classes, 1.0)
        row_memory.keep(model, kept.add(rows), checked)
        return
    if not rows.n:
        _learn_first(model, table, target, classes, is_all_data)  # raises
    try:
        _learn_first(model, rows.table(), rows.target(), classes, is_all_data)
    except TallybayesError:
        _learn_first(model.copy(), table, target, classes, is_all_data)  # the same error, with the caller's row numbers
        raise
    model.__dict__.pop("loo_log_proba_", None)  # the rows stand in another order now
    model.__dict__["_rows"] = rows


def refit(model: GenerativeClassifier) -> None:
    """memory='rows': the fit of the rows that are kept."""
    rows, held = row_memory.rows_of(model), model._state
    held.stale, before = False, held.fitted  # while it is fitted, hooks look at what is held
    try:
        if rows.n:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what there is to say was said at the fit
                _learn_first(
                    model, rows.table(), rows.target(), before.classes if before.classes_fixed else None, False
                )
            model.__dict__.pop("loo_log_proba_", None)
        else:
            model._set_fitted(before.emptied())
    except BaseException:
        held.stale = True
        raise


def forget(model: GenerativeClassifier, X: object, y: object, sample_weight: object) -> None:
    """Removes rows that were learned."""
    with lock_of(model):
        model._require_learnable()
        if memory_of(model) == "rows":
            model._require_fit()
            table = aligned_rows(model, read_table(X))
            gone = store_of(table, _target_of(model, y, sample_weight, table.n))
            row_memory.keep(model, row_memory.rows_of(model).subtract(gone))
            return
        table = read_table(X)
        _, old = rows_of_known_classes(model, table, y, sample_weight, "Cannot forget rows of class {}: never learned.")
        again = model._with_current_options()
        removed = row_memory.noted(model, table, _target_of(model, y, sample_weight, table.n))
        left = row_memory.both(model, removed, -1)
        if half_life_mixture.is_auto(model):
            half_life_mixture.fading_of(model)
        remaining = again.subtract(old)
        model._estimate_and_set(remaining)
        row_memory.take(model, left)
        _forget_names(model, again, remaining)
        if half_life_mixture.is_auto(model):
            half_life_mixture.restart(model)
        provenance.note_removed(model, float(old.weight.sum()))
        cancelled = cancelled_columns(again, remaining)
        if cancelled:
            warn(
                f"Column(s) {listing(cancelled)}: the forgotten rows had nearly all of the variance of a class, so "
                "what is left of it is known to few digits, or to none. fit(X, y) on the rows that remain computes it "
                "again.",
                CancellationWarning,
            )


def _forget_names(model: GenerativeClassifier, before: Fitted, left: Fitted) -> None:
    """Names of classes and levels that stand beside the statistics: in balanced weights, in the schema of another."""
    weights = model.__dict__.get("class_weight_")
    if weights is not None:
        there = set(left.classes.tolist())
        model.class_weight_ = {label: w for label, w in weights.items() if label in there}
    given = model.__dict__.get("schema")
    if isinstance(given, Schema) and left.schema.levels != before.schema.levels:
        model.__dict__["schema"] = without_names(given, before.schema, left.schema)


def forget_with_receipt(model: GenerativeClassifier, X: object, y: object, sample_weight: object) -> Receipt:
    """The same, with a record of it."""
    from tallybayes import receipts  # when it is called: receipts know of models, models not of them

    with lock_of(model):
        recorded = receipts.RecordedForgetting(model)
        recorded.forget(X, y, sample_weight)
        return recorded.receipt()


def forget_from(
    model: Model,
    source: Any,
    target: str | Sequence[str],
    weight: str | None,
    columns: Sequence[str] | None,
    receipt: bool,
) -> Model | Receipt:
    """Removes all rows of a source, or none."""
    from tallybayes import receipts
    from tallybayes.engines import learn_and_predict

    with lock_of(model):
        model._require_fit()
        other = model.copy()
        recorded = receipts.RecordedForgetting(other) if receipt else None
        forget_batch = other.forget if recorded is None else recorded.forget
        for X, y, w in learn_and_predict.read_batches(model, source, target, weight, columns):
            forget_batch(X, y, w)
        made = None if recorded is None else recorded.receipt()
        model._replace_by(other, other.fitted_)
        return model if made is None else made


def learn_from(
    model: GenerativeClassifier,
    source: Any,
    target: str | Sequence[str],
    weight: str | None,
    columns: Sequence[str] | None,
    plan: Any,
) -> None:
    """Adds all rows of a source, or none."""
    from tallybayes.engines import learn_and_predict  # when it is called: engines know of models, models not of them

    with lock_of(model):
        model._require_learnable()
        require_no_order(model)
        found = learn_and_predict.learn(model, source, target, weight, columns, plan)
        if memory_of(model) == "rows":
            _keep_found(model, found)
            return
        _require_noted(found)
        other = found.copy()
        if model.is_fitted and row_memory.place(model) is not None:
            row_memory.take(other, row_memory.both(model, row_memory.noted_of(found)))
        model._replace_by(
            other, model._with_current_options().merge(found.fitted_) if model.is_fitted else found.fitted_
        )


def _keep_found(model: GenerativeClassifier, found: Any) -> None:
    """memory='rows': the rows that an engine has read."""
    rows = row_memory.rows_of(found)
    if not rows.n:
        raise OptionError(
            "memory='rows' keeps every row, and a database counts rows where they are. Read them into a table for fit, "
            "or use memory='sums'."
        )
    if not model.is_fitted:
        model.__dict__.update(found.__getstate__())
    else:
        row_memory.replace_rows(model, row_memory.rows_of(model).add(rows))


def _require_noted(found: GenerativeClassifier) -> None:
    """OptionError if an engine has counted rows that the model should have noted."""
    if row_memory.place(found) is not None and not len(row_memory.noted_of(found).w):
        raise OptionError(
            f"memory={found.memory!r} looks at every row, and a database counts rows where they are. Read them into a "
            "table for fit, or use memory='sums'."
        )


def aligned_rows(model: GenerativeClassifier, table: Table) -> Table:
    """A table as it was given, after the columns that the model needs were found in it."""
    aligned(table, model._state.fitted.schema, type(model).__name__)
    return table


# --- rows that were learned before ------------------------------------------------------------


def rows_of_known_classes(
    model: ModelState, X: object, y: object, sample_weight: object, refusal: str
) -> tuple[Rows, Fitted]:
    """Rows of known classes, and their statistics. refusal: what to say of other classes."""
    fitted = model.fitted_
    with kinds_are_settled():
        rows = read_rows(
            used_categories(read_table(X)), fitted.schema, fitted.terms, fitted.sizes(), type(model).__name__, grow=True
        )
    target = with_class_weights(model, _target_of(model, y, sample_weight, rows.n))
    rows = rows.of_target(target.within(fitted.classes, refusal))
    return rows, count(rows, fitted.terms, fitted.classes)


def _target_of(model: ModelState, y: object, sample_weight: object, n: int) -> Target:
    """Classes and weights of n rows that were learned."""
    return read_target(model._labels(y), n, sample_weight)


def used_categories(table: Table) -> Table:
    """The table with types that list only categories which its rows have: a name that was forgotten stays away."""
    if table.columns is None:
        return table
    columns = []
    for c in table.columns:
        if c.storage == "coded" and c.declared is not None and c.kind != "binary":
            used, codes = np.unique(c.values, return_inverse=True)
            there = used[used >= 0]
            scale = None if c.scale is None else tuple(c.scale[v] for v in there.tolist())
            codes = (codes.reshape(-1) - (len(used) - len(there))).astype(np.int32)
            declared = tuple(c.declared[v] for v in there.tolist())
            c = replace(c, values=codes, declared=declared, scale=scale)
        columns.append(c)
    return replace(table, columns=tuple(columns))


def rows_to_subtract(model: ModelState, X: object, y: object, sample_weight: object) -> Rows:
    """Rows that the statistics hold; ForgetError if they do not."""
    rows, given = rows_of_known_classes(model, X, y, sample_weight, "No rows of class {} were learned.")
    try:
        model.fitted_.subtract(given)
    except ForgetError:
        raise ForgetError(
            "These rows (or so much weight of them) cannot have been learned: without them a count or a sum of "
            "squares would fall below zero. Give rows that this model has learned, with their weights."
        ) from None
    return rows


def leave_one_out(model: ModelState, X: object, y: object, sample_weight: object) -> Floats:
    """log P(class | x) of rows that were learned, each by the model without the row."""
    rows = rows_to_subtract(model, X, y, sample_weight)
    alone = with_class_weights(model, Target(rows.classes_of_rows, model.fitted_.classes, None))
    rows = replace(rows, weight_of_one=alone.w)
    fitted, how = model._parameters(), (rows, model._prior(), model._offset)
    return temperature.posterior(*fitted.without_only_rows(*how, *fitted.leave_one_out(*how)), model._beta)


def temper(model: ModelState, X: object, y: object, sample_weight: object) -> None:
    """Chooses the temperature again."""
    with lock_of(model):
        rows = rows_to_subtract(model, X, y, sample_weight)
        model._take_temperature(
            temperature.choose_temperature(model._parameters(), rows, model._prior(), model._offset)
        )
        provenance.note_choices(model, model.fitted_, rows.n, "temperature")


def relearn(model: GenerativeClassifier, X: object, y: object, sample_weight: object) -> None:
    """Makes every choice again, on the rows that remain."""
    with lock_of(model):
        model._check_options()
        model._require_fit()
        model._require_adding()
        model._require_exact()
        if memory_of(model) == "rows":
            if X is not None:
                raise OptionError("memory='rows' keeps the rows: call relearn() without any.")
            model._refit_if_stale()
            return
        if X is None and row_memory.holds_all(model):
            kept = row_memory.rows_of(model)
            before = model.fitted_
            _learn_first(model, kept.table(), kept.target(), before.classes if before.classes_fixed else None, False)
            model.__dict__.pop("loo_log_proba_", None)  # the rows stand in another order now
            return
        if X is None or y is None:
            raise OptionError(
                f"memory={model.memory!r} does not keep all rows: give relearn(X, y) the rows that remain, or fit with "
                "memory='rows'."
            )
        rows, fitted = rows_to_subtract(model, X, y, sample_weight), model.fitted_
        if not are_all(fitted, rows):
            weight = count(rows, (), fitted.classes).weight.sum()
            raise OptionError(
                f"relearn takes all rows that remain: the model has rows of a weight of {fitted.weight.sum():g}, and "
                f"these weigh {weight:g}. fit(X, y) learns other rows."
            )
        model._learn(X, y, sample_weight, fitted.classes if fitted.classes_fixed else None, from_scratch=True)


def are_all(fitted: Fitted, rows: Rows) -> bool:
    """Whether rows among those learned weigh, class by class, as much as all of them."""
    return bool(np.allclose(count(rows, (), fitted.classes).weight, fitted.weight, rtol=1e-9, atol=0))


def decay(model: ModelState, factor: float) -> None:
    """All that was learned counts factor times as much."""
    model._require_fit()
    if not (type(factor) is float or is_number(factor)) or not 0 < factor <= 1:  # a stream may do so at each row
        raise OptionError(f"factor must be above 0 and at most 1; got {brief(factor)}.")
    with lock_of(model):
        model._require_adding()
        if memory_of(model) == "rows":
            row_memory.decay(model, float(factor))
            return
        if half_life_mixture.is_auto(model):
            half_life_mixture.decay(model, float(factor))
        fast_row = model._state.fast_row
        mixed = half_life_mixture.is_auto(model)
        if type(fast_row) is FastRow and not mixed and fast_row.decay(float(factor)):
            model._drop_leave_one_out()
        else:
            scaled = model._with_current_options().scale(float(factor))
            noted = None if row_memory.place(model) is None else row_memory.noted_of(model).scale(float(factor))
            model._estimate_and_set(scaled)
            row_memory.take(model, noted)


# --- for engines: rows that come in many batches --------------------------------------------


def learn_batches(model: Model, batches: Iterable[Any]) -> Model:
    """Adds batches (X, y) or (X, y, weight), all or none, and estimates parameters once at the end."""
    with lock_of(model):
        model._require_adding()
        model._require_exact()
        require_given_weights(model)
        other = model.copy()
        for X, y, *w in batches:
            other._learn(X, y, w[0] if w else None, None, from_scratch=not other.is_fitted, defer_estimation=True)
        if other.is_fitted and memory_of(model) == "rows":
            model.__dict__.update(other.__getstate__())
        elif other.is_fitted:
            model._replace_by(other, other.fitted_)
    return model


def schema_of(model: GenerativeClassifier, X: object) -> Schema:
    """What a model would take the columns of a table for: no levels and no bins."""
    return _inferred(model, read_table(X))


def _inferred(model: GenerativeClassifier, table: Table, counted: Array | None = None) -> Schema:
    return infer_schema(
        table,
        model._given_schema(),
        model._kind,
        model._reads_text,
        type(model).__name__,
        counted,
        declarable=hasattr(model, "schema"),
    )


def labels_of(target: Target, classes: object, before: Fitted | None) -> tuple[Target, bool]:
    """The rows' classes among all that there are, and whether no others may come."""
    classes_fixed = classes is not None or (before is not None and before.classes_fixed)
    declared = _declared(classes, before)
    if classes_fixed:
        unknown = target.classes[positions(target.classes, declared) < 0]
        if len(unknown):
            raise LabelError(
                f"The target label(s) [{listing(unknown)}] in y do not exist in the initial classes "
                f"[{listing(declared)}]."
            )
    known = union(target.classes, declared) if classes_fixed or before is not None else target.classes
    if len(known) == 0 or (before is None and len(target.classes) == 0):
        raise LabelError("Nothing to learn from: every sample weight is zero.")
    return target.among(known), classes_fixed


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


def warn_ambiguous(schema: Schema) -> None:
    names = [schema.name(j) for j in schema.ambiguous]
    warn(
        f"Integer column(s) with few values taken as numbers: {listing(names, most=20)}. If they are categories say "
        f"schema={{{names[0]!r}: 'categorical'}}; to keep them as numbers without this warning say "
        f"schema={{{names[0]!r}: 'real'}}.",
        AmbiguousColumnWarning,
    )
