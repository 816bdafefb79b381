"""What a model keeps of its rows beside statistics: all of them, a bounded sample, or a hash of each.

memory='rows': the model is fitted to the rows that are left whenever they have changed.

Every operation changes the rows first; the fit waits until something is asked of the model, so a hundred rows learned
one by one cost one fit. Rows are fitted in the order of their hashes, so that only which rows are kept matters.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tallybayes.data.labels import union
from tallybayes.data.row_hashes import RowHashes, hashes_of
from tallybayes.data.row_store import ALL, RowStore, store_of
from tallybayes.errors import MergeError, OptionError
from tallybayes.estimators.parameters import memory_of
from tallybayes.model.fitted import GONE, Fitted
from tallybayes.model.priors import log_prior

if TYPE_CHECKING:
    from tallybayes.data.labels import Target
    from tallybayes.data.table import Table
    from tallybayes.estimators.state import ModelState


NOTED = {"rows": "_rows", "sample": "_rows", "hashes": "_hashes"}  # where each memory has what it keeps of rows


def place(model: ModelState) -> str | None:
    """The attribute that has what the model keeps of rows; None: its statistics are all."""
    memory = memory_of(model)
    return None if memory == "sample" and model._samples_itself else NOTED.get(memory)


def names_to_read(model: ModelState, there: Collection[str]) -> tuple[str, ...] | None:
    """The columns of a source that a model reads: identifiers too, if they are there and it knows its rows by them."""
    schema = model._state.fitted.schema
    needed = schema.needed_names
    if needed is None or place(model) is None:
        return needed
    return tuple(name for name in schema.input_names or () if name in needed or name in there)


def noted_of(model: ModelState) -> RowStore | RowHashes:
    """What a model with memory='sample' or 'hashes' keeps of its rows."""
    found: RowStore | RowHashes | None = model.__dict__.get(place(model) or "")
    if found is None:
        raise OptionError(
            f"memory was set to {model.memory!r} after the fit, and the rows learned before are not there. Fit again, "
            "or set it back."
        )
    return found


def noted(
    model: ModelState, table: Table, target: Target, *, from_scratch: bool = False
) -> RowStore | RowHashes | None:
    """What memory='sample' and 'hashes' keep of these rows; None with another memory. from_scratch: with a new key."""
    where = place(model)
    if where is None or model.memory == "rows":
        return None
    rows = store_of(table, target)
    if model.memory == "sample":
        return rows.bounded()
    if from_scratch:
        return hashes_of(rows, None)
    kept = noted_of(model)
    assert isinstance(kept, RowHashes)  # one memory has one kind
    return hashes_of(rows, kept.key, model._state.fitted.schema.input_names)


def both(model: ModelState, more: RowStore | RowHashes | None, sign: int = 1) -> RowStore | RowHashes | None:
    """What is kept with more rows, or without them (sign = -1); ForgetError if they were never learned."""
    if more is None:
        return None
    kept = noted_of(model)
    if isinstance(kept, RowHashes) and isinstance(more, RowHashes):
        return kept.add(more) if sign > 0 else kept.subtract(more)
    assert isinstance(kept, RowStore)  # one memory has one kind
    assert isinstance(more, RowStore)
    return kept.add(more).bounded(min(kept.limit, more.limit)) if sign > 0 else kept.subtract(more)


def take(model: ModelState, kept: RowStore | RowHashes | None) -> None:
    """Holds what is kept of rows, and nothing that another memory kept."""
    where = place(model)
    for name in ("_rows", "_hashes"):
        if name != where:
            model.__dict__.pop(name, None)
    if kept is not None:
        model.__dict__[where or ""] = kept


def holds_all(model: ModelState) -> bool:
    """Whether a sample of rows has all of them."""
    rows = model.__dict__.get("_rows")
    return isinstance(rows, RowStore) and memory_of(model) in ("sample", "rows") and rows.limit >= ALL


def empty(model: ModelState) -> None:
    """Keeps no row any more."""
    kept = model.__dict__.get(place(model) or "")
    if isinstance(kept, RowStore):
        take(model, replace(kept.taken(np.zeros(kept.n, dtype=bool)), limit=ALL))
    elif isinstance(kept, RowHashes):
        take(model, kept.empty())


def check_kept(model: ModelState, fitted: Fitted) -> None:
    """ValueError if a file's rows do not go with the model in it."""
    for name in ("_rows", "_hashes"):
        if (model.__dict__.get(name) is not None) != (name == place(model)):
            raise ValueError("it keeps rows, or none, against its memory")
    kept = model.__dict__.get("_rows")
    if kept is not None and kept.d != fitted.schema.n_inputs:
        raise ValueError("the rows it keeps have other columns")


def rows_of(model: ModelState) -> RowStore:
    """The rows that a fitted model keeps."""
    found: RowStore | None = model.__dict__.get("_rows")
    if found is None:
        raise OptionError(
            "memory was set to 'rows' after the fit, and the rows learned before are not there. Fit again, or set it "
            "back."
        )
    return found


def keep(model: ModelState, rows: RowStore, fitted: Fitted | None = None) -> None:
    """Takes over other rows; the fit waits. fitted: what they were checked against."""
    held = model._state.fitted if fitted is None else fitted
    classes = union(rows.classes, held.classes) if held.classes_fixed else rows.classes
    held = held.reclass(classes)
    if rows.n:
        log_prior(held.weight, held.classes, model._prior())  # one that does not suit the classes fails here, not later
    model._set_fitted(held)
    model.__dict__.pop("temperature_", None)
    model.__dict__["_rows"] = rows
    model._state.stale = True


def replace_rows(model: ModelState, rows: RowStore) -> None:
    """The same, fitted at once: if that fails the model is as it was."""
    before = dict(model.__dict__)
    try:
        keep(model, rows)
        model._refit_if_stale()
    except BaseException:
        model.__dict__.clear()
        model.__dict__.update(before)
        raise


def check_same(model: ModelState, other: ModelState) -> None:
    """MergeError if one keeps of its rows what the other does not."""
    if place(model) is not None and memory_of(other) != memory_of(model):
        raise MergeError(
            f"One model keeps rows or their hashes (memory={model.memory!r}), the other does not "
            f"(memory={other.memory!r}). Fit both with the same memory."
        )


def check_merge(model: ModelState, other: Any) -> None:
    """MergeError unless the rows of both can be those of one."""
    if type(other) is not type(model):
        raise MergeError(f"Cannot merge a {type(other).__name__} into a {type(model).__name__}.")
    other._require_fit()
    check_same(model, other)
    ours, theirs = (m.__dict__.get("_several") for m in (model, other))
    if repr(ours) != repr(theirs):
        raise MergeError("The two networks have different targets, or different labels of one.")


def decay(model: ModelState, factor: float) -> None:
    """Every row that is kept counts factor times as much."""
    rows = rows_of(model).scale(factor)
    keep(model, rows.taken(rows.w >= GONE))
