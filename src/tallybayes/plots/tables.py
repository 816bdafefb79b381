"""What a picture needs of a table: one column at a time, whatever the table is; and rows made of a few columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tallybayes.errors import LabelError, OptionError, TableError, listing
from tallybayes.estimators.base import TallyClassifier
from tallybayes.labels import positions, read_labels

Array = NDArray[Any]
Floats = NDArray[np.float64]


def is_ours(model: Any) -> bool:
    return isinstance(model, TallyClassifier)


def require_ours(model: Any, what: str) -> None:
    if not is_ours(model):
        raise OptionError(f"{what} is for models of tallybayes; got a {type(model).__name__}.")
    model._require_fit()


def classes_of(model: Any) -> Array:
    """The class labels of any fitted classifier."""
    from sklearn.utils.validation import check_is_fitted

    if not hasattr(model, "predict_proba"):
        raise OptionError(f"A picture of probabilities needs predict_proba; {type(model).__name__} has none.")
    check_is_fitted(model)
    return np.asarray(model.classes_)


class Columns:
    """A table read by column: data frames, rows as dicts, matrices, sparse matrices."""

    def __init__(self, X: Any) -> None:
        frame = nw.from_native(X, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        self.frame = frame if isinstance(frame, nw.DataFrame) else None
        self.rows: Sequence[Mapping[Any, Any]] | None = None
        self.matrix: Any = None
        if self.frame is not None:
            self.names, self.n = [str(c) for c in self.frame.columns], len(self.frame)
            return
        if isinstance(X, Sequence) and len(X) and all(isinstance(row, Mapping) for row in X):
            self.rows, self.n = X, len(X)
            self.names = [str(key) for key in dict.fromkeys(key for row in X for key in row)]
            return
        self.matrix = X.tocsc() if sparse.issparse(X) else np.asarray(X)
        if self.matrix.dtype.kind in "US" and not isinstance(X, np.ndarray):
            self.matrix = np.asarray(X, dtype=object)  # NumPy would turn the numbers of mixed rows into text
        if self.matrix.ndim != 2:
            raise TableError(f"Expected a table of two dimensions; got {self.matrix.ndim}.")
        self.n = self.matrix.shape[0]
        self.names = [f"x{j}" for j in range(self.matrix.shape[1])]

    def column(self, name: str) -> Array:
        """The values of a column: floats with NaN for missing, or objects with None."""
        j = self.names.index(name)
        if self.frame is not None:
            values: Any = self.frame[:, j].to_list()
        elif self.rows is not None:
            values = [next((v for key, v in row.items() if str(key) == name), None) for row in self.rows]
        elif sparse.issparse(self.matrix):
            values = self.matrix[:, [j]].toarray()[:, 0]
        else:
            values = self.matrix[:, j]
        return tidy_values(values)


def tidy_values(values: Any) -> Array:
    """Numbers as floats (missing: NaN); anything else as objects (missing: None)."""
    values = list(values)
    missing = [v is None or v != v or type(v).__name__ in ("NAType", "NaTType") for v in values]
    present = [v for v, gone in zip(values, missing, strict=True) if not gone]
    if all(isinstance(v, int | float | np.number) and not isinstance(v, bool | np.bool_) for v in present):
        return np.array([np.nan if gone else float(v) for v, gone in zip(values, missing, strict=True)])
    out = np.empty(len(values), dtype=object)
    out[:] = [None if gone else v.item() if isinstance(v, np.generic) else v for v, gone in zip(values, missing, strict=True)]
    return out


def feature_names(model: Any, X: Columns | None) -> list[str]:
    """The columns of a model, by name; x0, x1, … where they have none."""
    if is_ours(model):
        return [model.schema_.name(j) for j in range(model.schema_.d)]
    if hasattr(model, "feature_names_in_"):
        return [str(name) for name in model.feature_names_in_]
    if X is None:
        raise OptionError("Give X: this model does not know the names of its columns.")
    return X.names


def pick(names: Sequence[str], feature: Any) -> str:
    """A column given by name or by position."""
    if isinstance(feature, str) and feature in names:
        return feature
    if isinstance(feature, int | np.integer) and not isinstance(feature, bool) and 0 <= feature < len(names):
        return names[int(feature)]
    raise OptionError(f"There is no column {feature!r}. Columns: {listing(list(names))}.")


def pick_class(classes: Array, label: Any) -> int:
    """The position of a class."""
    found = [k for k, known in enumerate(classes.tolist()) if known == label and isinstance(known, bool) == isinstance(label, bool)]
    if not found:
        raise OptionError(f"{label!r} is not a class of this model. Classes: {listing([str(v) for v in classes.tolist()])}.")
    return found[0]


def pick_pair(model: Any, pair: Any) -> tuple[int, int]:
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
        raise OptionError(f"pair must be two class labels, (for, against); got {pair!r}.")
    k, l = (pick_class(classes, label) for label in pair)  # noqa: E741
    if k == l:
        raise OptionError(f"pair must be two different classes; got {pair!r}.")
    return k, l


def class_codes(y: Any, n: int, classes: Array) -> Array:
    """The position in classes of each row's label."""
    codes, found = read_labels(y, n)
    at = positions(found, classes)
    if (at < 0).any():
        raise LabelError(
            f"y has labels that this model does not know: {listing([str(v) for v in found[at < 0].tolist()])}. "
            f"Classes: {listing([str(v) for v in classes.tolist()])}."
        )
    return np.asarray(at)[codes]


def rows_of(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Columns as rows: a column left out is missing, and a model of tallybayes leaves its factor out."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
