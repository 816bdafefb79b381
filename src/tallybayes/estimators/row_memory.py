"""memory='rows': the model keeps its rows, and is fitted to those that are left whenever they have changed.

Every operation changes the rows first; the fit waits until something is asked of the model, so a hundred rows learned
one by one cost one fit. Rows are fitted in the order of their hashes, so that only which rows are kept matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tallybayes.data.labels import union
from tallybayes.data.row_store import RowStore
from tallybayes.errors import MergeError, OptionError
from tallybayes.model.fitted import GONE, Fitted

if TYPE_CHECKING:
    from tallybayes.estimators.state import ModelState


def check_kept(model: ModelState, fitted: Fitted) -> None:
    """ValueError if a file's rows do not go with the model in it."""
    kept = model.__dict__.get("_rows")
    if (kept is not None) != (model.memory == "rows"):
        raise ValueError("it keeps rows, or none, against its memory")
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
    held = model._held.fitted if fitted is None else fitted
    classes = union(rows.classes, held.classes) if held.closed else rows.classes
    model._hold(held.reclass(classes))
    model.__dict__.pop("temperature_", None)
    model.__dict__["_rows"] = rows
    model._held.stale = True


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


def check_merge(model: ModelState, other: Any) -> None:
    """MergeError unless the rows of both can be those of one."""
    if type(other) is not type(model):
        raise MergeError(f"Cannot merge a {type(other).__name__} into a {type(model).__name__}.")
    other._require_fit()
    if other.memory != "rows":
        raise MergeError(
            f"One model keeps its rows (memory='rows'), the other does not (memory={other.memory!r}). Fit both with "
            "the same memory."
        )
    ours, theirs = (m.__dict__.get("_several") for m in (model, other))
    if repr(ours) != repr(theirs):
        raise MergeError("The two networks have different targets, or different labels of one.")


def decay(model: ModelState, factor: float) -> None:
    """Every row that is kept counts factor times as much."""
    rows = rows_of(model).scale(factor)
    keep(model, rows.taken(rows.w >= GONE))
