"""What a picture needs of a table: one column at a time, whatever the table is; and rows made of a few columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from tallybayes.data.expansion import expand_row
from tallybayes.data.labels import positions, read_labels
from tallybayes.data.schema import align
from tallybayes.data.table import read_table
from tallybayes.errors import LabelError, OptionError, brief, listing
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.utils.array_types import Array


def is_ours(model: object) -> TypeGuard[GenerativeClassifier]:
    return isinstance(model, GenerativeClassifier)


def container_of(model: object) -> str:
    """The kind of table that a model was fitted on: frames of its pictures are of that kind."""
    return str(model.schema_.container) if is_ours(model) else "numpy"


def require_ours(model: object, what: str) -> GenerativeClassifier:
    if not isinstance(model, GenerativeClassifier):
        raise OptionError(f"{what} is for models of tallybayes; got a {type(model).__name__}.")
    _ = model.fitted_  # raises if there is none
    return model


def classes_of(model: object) -> Array:
    """The class labels of any fitted classifier."""
    from sklearn.utils.validation import check_is_fitted

    if isinstance(model, type) or not hasattr(model, "predict_proba"):
        what = f"the class {model.__name__}" if isinstance(model, type) else f"a {type(model).__name__}"
        raise OptionError(f"Give a fitted classifier with predict_proba; got {what}.")
    check_is_fitted(model)
    if not hasattr(model, "classes_"):
        raise OptionError(f"Give a fitted classifier, which has classes_; got a {type(model).__name__}.")
    return np.asarray(model.classes_)


class TableColumns:
    """A table read by column, by name; x0, x1, … where columns have none. A model reads dates as their parts."""

    def __init__(self, X: object, model: object = None) -> None:
        self.table = read_table(X)
        if is_ours(model) and model.schema_.expansion is not None:
            self.table = align(self.table, model.schema_)
        self.n = self.table.n
        self.names = [self.table.name(j) for j in range(self.table.d)]

    def called(self, names: list[str]) -> TableColumns:
        """Take the names that a model has, where either side has none: by position, as predict does.

        Parameters
        ----------
        names : list of str
            What a model calls its columns.

        Returns
        -------
        Columns
            The same columns.
        """
        unnamed = self.table.names is None or not set(names) & set(self.names)
        if unnamed and self.table.container != "rows" and len(names) == len(self.names):
            self.names = names
        return self

    def column(self, name: str) -> Array:
        """Return the values of a column.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        ndarray
            Floats with NaN for missing, or objects with None.
        """
        return tidy_values(self.table.values(self.names.index(name)))


def tidy_values(values: list[object]) -> Array:
    """Numbers as floats (missing: NaN); anything else as objects (missing: None)."""
    numbers = [np.nan if v is None else float(v) for v in values if v is None or _is_number(v)]
    if len(numbers) == len(values):
        return np.array(numbers)
    return objects_of(values)


def objects_of(values: Sequence[object]) -> Array:
    """An array of objects, whatever they are."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _is_number(v: object) -> TypeGuard[float]:
    return isinstance(v, int | float) and not isinstance(v, bool)


def feature_names(model: object, X: TableColumns | None) -> list[str]:
    """The columns of a model, by name; x0, x1, … where they have none."""
    if is_ours(model):
        return [model.schema_.name(j) for j in range(model.schema_.d)]
    if hasattr(model, "feature_names_in_"):
        return [str(name) for name in model.feature_names_in_]
    if X is None:
        raise OptionError("Give X: this model does not know the names of its columns.")
    return X.names


def pick(names: Sequence[str], feature: object) -> str:
    """A column given by name or by position."""
    if isinstance(feature, str) and feature in names:
        return feature
    if isinstance(feature, int | np.integer) and not isinstance(feature, bool) and 0 <= feature < len(names):
        return names[int(feature)]
    raise OptionError(f"There is no column {brief(feature)}. Columns: {listing(list(names))}.")


def pick_class(classes: Array, label: object) -> int:
    """The position of a class."""
    found = [
        k
        for k, known in enumerate(classes.tolist())
        if known == label and isinstance(known, bool) == isinstance(label, bool)
    ]
    if not found:
        raise OptionError(
            f"{brief(label)} is not a class of this model. Classes: {listing([str(v) for v in classes.tolist()])}."
        )
    return found[0]


def pick_pair(model: GenerativeClassifier, pair: object) -> tuple[int, int]:
    """Two classes (for, against). By default the second against the first of two; of more, the two with most rows."""
    classes = np.asarray(model.classes_)
    if len(classes) < 2:
        raise OptionError("This model has one class; there is nothing to tell apart.")
    if pair is None:
        if len(classes) == 2:
            return 1, 0
        first, second = np.argsort(-model.class_count_, kind="stable")[:2].tolist()
        return first, second
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise OptionError(f"pair must be two class labels, (for, against); got {brief(pair)}.")
    k, l = (pick_class(classes, label) for label in pair)  # noqa: E741
    if k == l:
        raise OptionError(f"pair must be two different classes; got {brief(pair)}.")
    return k, l


def class_codes(y: object, n: int, classes: Array) -> Array:
    """The position in classes of each row's label."""
    codes, found = read_labels(y, n)
    at = positions(found, classes)
    if (at < 0).any():
        raise LabelError(
            f"y has labels that this model does not know: {listing([str(v) for v in found[at < 0].tolist()])}. "
            f"Classes: {listing([str(v) for v in classes.tolist()])}."
        )
    return np.asarray(at)[codes]


def rows_of(columns: Mapping[str, object]) -> list[dict[str, object]]:
    """Columns as rows: a column left out is missing, and a model of tallybayes leaves its factor out."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def is_row(row: object) -> bool:
    """Is it one row by itself: a dict, or a row of a pandas frame?"""
    return isinstance(row, Mapping) or (hasattr(row, "to_dict") and getattr(row, "ndim", None) == 1)


def read_row(row: Any, names: list[str], model: GenerativeClassifier) -> dict[str, Any]:
    """One row as a dict from column to value, without what is missing. A column may be named by its position; a row
    that shares no name with the model is read by position, as predict does."""
    if not is_row(row):
        raise OptionError(
            f"row must be a dict from column to value, or a row of a pandas frame; got {type(row).__name__}."
        )
    found: dict[Any, Any] = dict(row) if isinstance(row, Mapping) else row.to_dict()
    if model.schema_.expansion is not None:
        found = expand_row(found, model.schema_.expansion)
    if not isinstance(row, Mapping) and len(found) == len(names) and not set(found) & {*names, *range(len(names))}:
        found = dict(zip(names, found.values(), strict=True))
    return {pick(names, name): value for name, value in found.items() if not _is_missing(value)}


def _is_missing(value: object) -> bool:
    """None, NaN, NaT, or pandas' NA, which is no bool."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True
