"""Priors as people write them → logarithms in the order of the classes. What has labels of its own is read by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tallybayes import _core
from tallybayes.errors import OptionError, brief, listing
from tallybayes.utils.array_types import Array, Floats
from tallybayes.utils.lazy_imports import nw

WITHOUT_LABELS = (str, list, tuple, np.ndarray, type(None))  # plain values, which go by position

# --- labels ----------------------------------------------------------------------------------------------------


def by_label(values: object, labels: Sequence[object], name: str) -> Any:
    """One value for each label, in their order; what has no labels of its own is given back as it is.

    Labels have: a dict, a pandas Series (its index), a table of two columns (a label and its value, as value_counts of
    polars gives). A Series that was never given an index is numbered, not labelled, and goes by position.
    """
    found = labelled(values, labels)
    if found is None:
        return values
    if set(found) != set(labels):
        raise OptionError(
            f"{name} must name each class once. Number of {name} must match number of classes: got "
            f"[{listing(sorted(map(str, found)))}], the classes are [{listing([str(v) for v in labels])}]."
        )
    return [found[label] for label in labels]


def labelled(values: object, labels: Sequence[object]) -> dict[Any, Any] | None:
    """{label: value} of what has labels of its own; None of what goes by position."""
    if isinstance(values, Mapping):
        return dict(values)
    if isinstance(values, WITHOUT_LABELS):
        return None
    table = nw.from_native(values, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(table, nw.DataFrame) and len(table.columns) == 2:
        keys, cells = (table[column].to_list() for column in table.columns)
    elif isinstance(table, nw.Series) and (index := row_labels(values, labels)) is not None:
        keys, cells = index, table.to_list()
    else:
        return None
    if len(set(keys)) < len(keys):
        raise OptionError(f"Each label may stand once; got {list(map(str, keys[:20]))}.")
    return dict(zip(keys, cells, strict=True))


def row_labels(table: object, labels: Sequence[object]) -> list[object] | None:
    """The index of a pandas Series or DataFrame; None if there is none, or rows are only numbered from 0."""
    index = getattr(table, "index", None)
    if index is None or callable(index):
        return None
    found: list[object] = index.tolist()
    numbered = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
    return None if numbered and set(found) != set(labels) else found


def column_places(table: object, labels: Sequence[object], others: int = 0) -> tuple[list[int], list[int]] | None:
    """Where the columns of a table are that are called as the labels, and where as many `others` are.

    None if the names are others: tables of polars and Arrow know strings only, so 0 is also found as "0".
    """
    names = column_names(table)
    if names is None or len(names) != len(labels) + others:
        return None
    for read in (lambda v: v, str):
        seen = [read(name) for name in names]
        wanted = [read(label) for label in labels]
        if len(set(seen)) == len(seen) and set(wanted) <= set(seen):
            places = [seen.index(label) for label in wanted]
            return places, [j for j in range(len(names)) if j not in places]
    return None


def column_names(table: object) -> list[object] | None:
    """The names of a table's columns; None if it is no table."""
    names = getattr(table, "column_names", getattr(table, "columns", None))
    return None if names is None else list(names)


# --- priors ----------------------------------------------------------------------------------------------------


def log_prior(weight: Floats, classes: Array, priors: object) -> Floats:
    """counted: n_k / n;  'laplace': (n_k + 1) / (n + K);  'uniform': 1 / K;  as given, or as a function reads n_k."""
    K = len(classes)
    if priors is None:
        return _core.log_prior(weight, 0.0)
    if callable(priors):
        found = priors(weight)
    elif isinstance(priors, str):
        if priors == "uniform":
            found = np.ones(K) / K
        elif priors == "laplace":
            return _core.log_prior(weight, 1.0)
        else:
            raise OptionError(
                f"priors must be None, 'uniform', 'laplace' or one number per class; got {brief(priors)}."
            )
    else:
        found = check_priors(priors, classes)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(found))


def log_priors(weight: Floats, classes: Array, priors: Any) -> Floats:
    """The same for one prior for all rows, or for an array (rows, classes); a table's columns go by label."""
    labels = classes.tolist()
    if isinstance(priors, str | Mapping):
        return log_prior(weight, classes, priors)
    names = column_names(priors)
    places = column_places(priors, labels)
    if names is not None and places is None:
        if len(names) == 2 and set(labels) <= set(nw.from_native(priors, eager_only=True)[names[0]].to_list()):
            return log_prior(weight, classes, priors)
        raise OptionError(
            f"The columns of priors must be the classes [{listing(labels)}]; got [{listing(names)}]. (One prior for "
            "all rows may have two columns, a label and its share.)"
        )
    if (rows := _numbers(priors)).ndim != 2:
        return log_prior(weight, classes, priors)
    if places is not None:
        rows = rows[:, places[0]]
    if rows.shape[1] != len(labels):
        raise OptionError(
            f"Number of priors must match number of classes: got {rows.shape[1]} for {len(labels)} classes."
        )
    bad = ~np.isfinite(rows).all(axis=1) | (rows < 0).any(axis=1) | ~np.isclose(rows.sum(axis=1), 1.0)
    if bad.any():
        row = int(np.argmax(bad))
        raise OptionError(
            f"The priors of each row must be non-negative and sum to 1; row {row} is {rows[row].tolist()}."
        )
    with np.errstate(divide="ignore"):
        return np.ascontiguousarray(np.log(rows))


def check_priors(priors: object, classes: Array) -> Floats:
    """Priors as an array in the order of the classes; what has labels goes by label."""
    found = _numbers(by_label(priors, classes.tolist(), "priors"))
    if found.shape != (len(classes),):
        raise OptionError(
            f"Number of priors must match number of classes: got {found.size} for {len(classes)} classes "
            f"({', '.join(map(str, classes[:5].tolist()))}{', …' if len(classes) > 5 else ''})."
        )
    if not np.isfinite(found).all() or (found < 0).any():
        raise OptionError(f"Priors must be non-negative; got {found.tolist()}.")
    if not np.isclose(found.sum(), 1.0):
        raise OptionError(f"The sum of the priors should be 1; got {found.sum():g}.")
    return found


def plain(priors: object) -> Any:
    """A prior as it is kept and stored: a table of labels as a dict, a Series without them as an array."""
    found = labelled(priors, [])
    if found is not None:
        return found
    if isinstance(priors, WITHOUT_LABELS):
        return priors
    return _numbers(priors) if nw.dependencies.is_into_series(priors) else priors


def _numbers(priors: object) -> Floats:
    try:
        return np.asarray(priors, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(
            f"priors must be None, 'uniform', 'laplace' or one number per class; got {brief(priors)}."
        ) from None
