"""y and sample weights: class labels → codes, and the class and weight of each row."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.raw_column import all_exact, arrow_fault, arrow_of, check_arrow, exact_column
from tallybayes.errors import LabelError, OptionError, UnsavableLabelWarning, brief, listing, warn
from tallybayes.utils.array_types import Array, Floats
from tallybayes.utils.lazy_imports import nw

LabelCodes = NDArray[np.int32]
COMPLEX = "Complex data not supported: y holds complex numbers."
SAVABLE_LABELS = "strings, bytes, booleans and numbers of 64 bits"


def read_labels(y: object, n: int) -> tuple[LabelCodes, Array]:
    """LabelCodes and the sorted distinct labels of y."""
    if y is None:
        raise LabelError("requires y to be passed, but the target y is None. Expected the class label of each row.")
    y = _eager(y)
    texts = _arrow_labels(y)
    if texts is not None and len(texts[0]) == n:
        return _sorted(*texts, object)
    return encode_labels(_column(_as_array(y), n))


def read_classes(classes: Any) -> Array:
    """The sorted distinct labels of classes=."""
    try:
        labels = _as_array(_eager(classes)).tolist() if hasattr(classes, "to_pylist") else list(classes)
    except TypeError:
        raise LabelError(f"classes must be a list of labels; got {brief(classes)}.") from None
    if np.ndim(_as_array(labels)) != 1:
        raise LabelError(f"classes must be a list of labels, one after the other; got {brief(classes)}.")
    return read_labels(labels, len(labels))[1]


def _column(values: Array, n: int) -> Array:
    """Labels as a 1d array of length n."""
    if values.ndim == 2 and values.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,), "
            "for example using ravel().",
            DataConversionWarning,
        )
        values = values.ravel()
    if values.ndim == 0 and values.dtype.kind == "U":
        name = brief(values.item())
        raise LabelError(
            f"y should be a 1d array of labels, one for each row; got {name}. If that is a column of the table: "
            f"fit(table.drop(columns={name}), table[{name}]), or learn_from(table, {name})."
        )
    if values.ndim != 1:
        raise LabelError(f"y should be a 1d array, got an array of shape {values.shape} instead.")
    if len(values) != n:
        raise LabelError(
            f"Found input variables with inconsistent numbers of samples: X has {n} rows and y has {len(values)}."
        )
    return values


def read_some_labels(y: object, n: int, marker: object) -> tuple[LabelCodes, Array]:
    """As read_labels; rows without a label (None, NaN, NA or the marker) have code −1."""
    if y is None:
        return read_labels(y, n)  # raises
    values = _column(_as_array(_eager(y)), n)
    kind = values.dtype.kind
    without = np.zeros(n, dtype=bool)
    if kind == "f":
        without = np.isnan(values)
    elif kind == "O":
        without = _object_codes(values)[0] < 0
    if marker is not None:
        if kind in "US" and not isinstance(marker, str) and (values == str(marker)).any():
            raise LabelError(
                f"The labels are strings, and some are {str(marker)!r}: is that the mark {brief(marker)} turned into a "
                "string? Use None for a row without a label, or an array of dtype object."
            )
        seen = ~without
        without[seen] = marked = np.array([bool(v == marker) for v in values[seen].tolist()], dtype=bool)
    if without.all():
        raise LabelError("No row has a label. Semi-supervised learning needs some rows of each class.")
    rest = values[~without]
    if kind == "O" and without.any():  # [0, None, 1]: the labels themselves are integers
        plain = _as_array(rest.tolist())
        rest = plain if plain.dtype.kind in "iub" else rest
    codes = np.full(n, -1, dtype=np.int32)
    codes[~without], found = encode_labels(rest)
    if marker is not None and not marked.any():
        _warn_unmarked(marker, found)
    return codes, found


def _warn_unmarked(marker: object, found: Array) -> None:
    """Warn of a marker that no row has: it may be misspelled."""
    as_typed = str(marker).strip().casefold()
    near = [label for label in found.tolist() if str(label).strip().casefold() == as_typed]
    found_as = f"{brief(near[0])} is taken as a class" if near else f"the classes are [{listing(found.tolist())}]"
    warn(f"No row has the mark unlabelled={brief(marker)}; {found_as}. Give the mark as it is in y.", UserWarning)


def _eager(y: object) -> object:
    """The only column of a lazy frame, DuckDB relation, Arrow dataset or reader; anything else unchanged."""
    if isinstance(y, list | tuple | np.ndarray):
        return y
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None and isinstance(y, getattr(pyarrow, "Array", ())):
        y = pyarrow.chunked_array([y])
    frame = nw.from_native(y, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        table = frame.collect()
    elif isinstance(frame, nw.DataFrame | nw.Series) or (found := arrow_of(y)) is None:
        return y
    else:
        table = nw.from_native(found, eager_only=True)
    if len(table.columns) != 1:
        raise LabelError(f"y should be one column of labels; got the columns {brief(table.columns)}.")
    return table[table.columns[0]].to_native()


def _arrow_labels(y: object) -> tuple[LabelCodes, list[object]] | None:
    """LabelCodes and labels of a column of strings straight from its Arrow buffers; None for anything else."""
    if isinstance(y, list | tuple | np.ndarray):
        return None
    series = nw.from_native(y, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series) or series.dtype not in (nw.String, nw.Categorical, nw.Enum):
        return None
    native = series.to_native()
    check_arrow(native, None)
    if not hasattr(native, "__arrow_c_stream__") or "object" in str(getattr(native, "dtype", "")):
        return None
    if series.null_count():
        row = int(np.argmax(series.is_null().to_numpy()))
        raise LabelError(_missing(row))
    try:
        codes, levels, _ = _core.arrow_codes(native, _core.LevelList(), True)
    except _core.BadRow as e:
        raise LabelError(_not_text(e)) from None
    except (TypeError, ValueError):  # categories that are no strings, such as the intervals of pandas.cut
        return None
    if codes.min(initial=0) < 0:  # a category that is missing itself, which no count of missing rows shows
        raise LabelError(_missing(int(np.argmin(codes))))
    return np.asarray(codes, dtype=np.int32), list(levels.labels())


def _not_text(refused: Exception) -> str:
    why, row, _ = refused.args
    return f"The label of row {row} cannot be read: {why}. Correct it, or leave the row out."


def _missing(row: int) -> str:
    return f"Input y contains NaN: the label of row {row} is missing. Leave such rows out."


def _as_array(y: object) -> Array:
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        raise LabelError("Input y contains masked values: a label is missing. Leave such rows out.")
    if isinstance(y, np.ndarray):
        return y
    series = None if isinstance(y, list | tuple) else nw.from_native(y, series_only=True, pass_through=True)
    if series is not None and isinstance(series, nw.Series):
        native = series.to_native()
        check_arrow(native, None)
        if hasattr(native, "cat") and hasattr(native.cat, "codes"):
            native = native.astype(object)
            return np.asarray(native.to_numpy(), dtype=object)
        if series.dtype in (nw.Int128, nw.UInt128):  # NumPy has no such type
            return _from_sequence(series.to_list())
        array = np.asarray(series.to_numpy())
        if series.dtype.is_integer() and array.dtype.kind == "f" and not all_exact(array):
            return np.asarray(exact_column(series.to_list(), True).values)
        return array
    try:
        return _from_sequence(y)
    except ValueError as e:  # rows of different lengths
        raise LabelError(f"y should be a 1d array of labels, one for each row: {e}") from None


def _from_sequence(y: object) -> Array:
    if hasattr(y, "__array__") or not isinstance(y, list | tuple | range):
        return np.asarray(y)
    kinds = {type(v) for v in y}
    mixed = len(kinds) > 1 and not all(issubclass(t, int | float | np.number | np.bool_) for t in kinds)
    found = None if mixed else np.asarray(y)
    if found is None or (found.dtype.kind == "f" and found.ndim == 1 and not all_exact(found)):
        found = np.empty(len(y), dtype=object)  # NumPy would turn [1, 'a'] into strings, and round large integers
        found[:] = y
    return found


def encode_labels(values: Array) -> tuple[LabelCodes, Array]:
    kind = values.dtype.kind
    if not values.flags.aligned:  # a field of a packed record
        values = values.copy()
    if kind in "iub":
        try:
            codes, found = _core.integer_levels(values if values.dtype.isnative else values.astype(np.int64))
        except ValueError as e:
            raise LabelError(f"Unknown label type: {e}.") from None
        return codes, found.astype(values.dtype)
    if kind == "f":
        return _encode_floats(values)
    if kind == "c":
        raise LabelError(COMPLEX)
    if kind not in "OUST":
        raise LabelError(
            f"Unknown label type: {values.dtype}. Labels may be strings, integers, booleans or categories."
        )
    if kind in "US":
        try:
            codes, levels = _core.fixed_codes(values, _core.LevelList(), True)
        except _core.BadRow as e:
            raise LabelError(_not_text(e)) from None
        return _sorted(np.asarray(codes, dtype=np.int32), list(levels.labels()), values.dtype)
    codes, labels = _object_codes(values.astype(object))
    if len(codes) and codes.min() < 0:
        row = int(np.argmin(codes))
        raise LabelError(_missing(row))
    if any(isinstance(label, complex | np.complexfloating) for label in labels):
        raise LabelError(COMPLEX)
    _check_unicode(codes, labels)
    numeric = [v for v in labels if isinstance(v, float) and not isinstance(v, bool)]
    if any(not float(v).is_integer() for v in numeric):
        raise LabelError(_continuous(numeric[0]))
    return _sorted(codes, labels, values.dtype)


def _object_codes(values: Array) -> tuple[LabelCodes, list[object]]:
    try:
        codes, levels = _core.object_codes(values, _core.LevelList(), True)
    except TypeError as e:  # lists, dicts: not hashable
        raise LabelError(
            f"Unknown label type: {e}. Labels may be strings, integers, booleans or categories, one for each row."
        ) from None
    return np.asarray(codes, dtype=np.int32), list(levels.labels())


def _check_unicode(codes: LabelCodes, labels: list[object]) -> None:
    """Refuse half of a surrogate pair: no file and no data frame can hold it."""
    for code, label in enumerate(labels):
        if isinstance(label, str) and any("\ud800" <= c <= "\udfff" for c in label):
            row = int(np.argmax(codes == code))
            raise LabelError(
                f"The label of row {row} cannot be read: {brief(label)} holds half of a surrogate pair. Correct it, or "
                "leave the row out."
            )


def _sorted(codes: LabelCodes, labels: list[object], dtype: Any) -> tuple[LabelCodes, Array]:
    order = sort_labels(labels)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    found = np.empty(len(labels), dtype=object)
    found[:] = labels
    return rank[codes] if len(codes) else codes, found[order].astype(dtype)


def is_label(v: object) -> bool:
    """Whether a model file can hold this label. Integers beyond 64 bits could be made to collide in a hash table."""
    if isinstance(v, int):
        return -(2**63) <= v < 2**64
    return isinstance(v, str | bytes | float) and v == v


def warn_unsavable(classes: Array) -> None:
    """Warn at fit of labels that cannot be saved, such as tuples."""
    if classes.dtype.kind != "O":
        return
    bad = [v for v in classes.tolist() if not is_label(v.item() if isinstance(v, np.generic) else v)]
    if bad:
        warn(
            f"The label {brief(bad[0])} is of type {type(bad[0]).__name__}, and a model file holds labels that are "
            f"{SAVABLE_LABELS}: this model can be pickled, not saved. Turn the labels into strings to save it.",
            UnsavableLabelWarning,
        )


def sort_labels(labels: list[Any]) -> list[int]:
    try:
        return sorted(range(len(labels)), key=labels.__getitem__)
    except TypeError:
        kinds = sorted({type(v).__name__ for v in labels})
        raise LabelError(f"Unknown label type: y mixes {' and '.join(kinds)}. Make all labels of one type.") from None


def _encode_floats(values: Array) -> tuple[LabelCodes, Array]:
    values = values.astype(np.float64) if values.dtype.itemsize not in (4, 8) else values
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        what = "NaN" if np.isnan(values[row]) else "infinity"
        raise LabelError(f"Input y contains {what} (row {row}). Leave such rows out.")
    whole = values.astype(np.int64) if np.abs(values).max(initial=0) < 2**62 else None
    if whole is None or not np.array_equal(whole, values):
        raise LabelError(_continuous(float(values[0])))
    codes, found = _core.integer_levels(whole)
    return codes, found.astype(values.dtype)


def _continuous(value: float) -> str:
    return (
        f"Unknown label type: continuous. A class label must be a string, an integer, a boolean or a category; got "
        f"numbers such as {value}. Cut them into classes first."
    )


def recode(codes: LabelCodes, labels: Array, among: Array) -> LabelCodes:
    """LabelCodes of `labels` as codes of `among`; −1, no class, stays."""
    return np.append(positions(labels, among), np.int32(-1))[codes]


def union(a: Array, b: Array) -> Array:
    """Sorted union of two sets of labels."""
    if np.array_equal(a, b):
        return a
    index = dict.fromkeys([*a.tolist(), *b.tolist()])
    labels = list(index)
    out = np.empty(len(labels), dtype=object)
    out[:] = [labels[i] for i in sort_labels(labels)]
    dtype = a.dtype if a.dtype == b.dtype else np.result_type(a, b) if a.dtype.kind == b.dtype.kind else object
    return out.astype(dtype)


def positions(labels: Array, among: Array) -> LabelCodes:
    """Position of each label among the sorted ones; −1 if absent."""
    index = {label: i for i, label in enumerate(among.tolist())}
    return np.array([_place(index, label) for label in labels.tolist()], dtype=np.int32)


def _place(index: dict[object, int], label: object) -> int:
    """−1 for what is in no list of labels, such as a list."""
    try:
        return index.get(label, -1)
    except TypeError:
        return -1


MAX_TOTAL_WEIGHT = 1e250  # sums, and products of a few sums, stay finite


@dataclass(frozen=True)
class Target:
    """The class code and weight of each row.

    Parameters
    ----------
    y : ndarray of int32, of shape (n,)
        The class code of each row; −1: not counted.
    classes : ndarray of shape (K,)
        The labels of the codes.
    w : ndarray of shape (n,) or None
        The weight of each row; None if all weigh 1.
    """

    y: LabelCodes
    classes: Array
    w: Floats | None

    def within(self, known: Array, refusal: str) -> Target:
        """The same with the codes of known classes.

        Parameters
        ----------
        known : ndarray
            The known labels.
        refusal : str
            A sentence with a {} for the unknown labels.

        Returns
        -------
        Target
            With the codes of `known`.

        Raises
        ------
        LabelError
            If there are other labels.
        """
        unknown = self.classes[positions(self.classes, known) < 0]
        if len(unknown):
            raise LabelError(refusal.format(listing([str(v) for v in unknown])))
        return self.among(known)

    def among(self, classes: Array) -> Target:
        """The same with codes of a larger set of classes.

        Parameters
        ----------
        classes : ndarray
            All of the labels, and perhaps more.

        Returns
        -------
        Target
            With codes of `classes`.
        """
        if np.array_equal(self.classes, classes):
            return self
        return Target(recode(self.y, self.classes, classes), classes, self.w)


def read_target(y: object, n: int, sample_weight: object) -> Target:
    """Labels and weights of n rows. A row of weight 0 is as if absent, so a class with no other rows is not a class."""
    codes, found = read_labels(y, n)
    w = check_weights(sample_weight, n)
    if w is None or w.all():
        return Target(codes, found, w)
    codes = np.where(w > 0, codes, -1).astype(np.int32)
    present = np.bincount(codes[codes >= 0], minlength=len(found)) > 0
    to = np.where(present, np.cumsum(present) - 1, -1).astype(np.int32)
    return Target(np.where(codes >= 0, to[codes], -1).astype(np.int32), found[present], w)


def check_weights(sample_weight: object, n: int) -> Floats | None:
    """Finite numbers of at least 0, one per row; one number stands for all."""
    if sample_weight is None:
        return None
    unsound = arrow_fault(sample_weight, "sample_weight")
    if unsound is not None:
        raise OptionError(unsound[0])
    try:
        w = np.asarray(sample_weight)
    except ValueError:
        raise OptionError("sample_weight must be one number for each row; got rows of different lengths.") from None
    except MemoryError:
        raise
    except Exception as e:  # of another library, which gives its own arrays
        raise OptionError(f"sample_weight must be one number for each row; NumPy cannot read it: {e!s:.200}") from e
    if w.dtype.kind not in "fiub":
        try:
            w = w.astype(np.float64, casting="unsafe" if w.dtype.kind in "OUS" else "same_kind")
        except (TypeError, ValueError, OverflowError):
            raise OptionError(f"sample_weight must be real numbers; got an array of type {w.dtype}.") from None
    w = np.full(n, w, dtype=np.float64) if w.ndim == 0 else np.ascontiguousarray(w, dtype=np.float64)
    if w.ndim != 1:
        raise OptionError(f"Sample weights must be 1D array or scalar, got {w.ndim}D array.")
    if len(w) != n:
        raise OptionError(f"sample_weight.shape == {w.shape}, expected ({n},)!")
    if not np.isfinite(w).all() or (w < 0).any():
        row = int(np.argmax(~np.isfinite(w) | (w < 0)))
        raise OptionError(
            f"Negative values in sample_weight, or not finite: row {row} has {w[row]:g}. Weights say how many times a "
            "row counts; to take rows out again use forget."
        )
    if w.max(initial=0.0) > MAX_TOTAL_WEIGHT / max(n, 1):
        raise OptionError(
            f"The sample weights add up to more than {MAX_TOTAL_WEIGHT:g}. Divide them all by the same number."
        )
    return w


def accuracy(classes: Array, best: NDArray[np.int64], target: Target) -> float:
    """Share of the rows for which the class of this number is the true one; an unseen class is predicted wrong."""
    counts = target.y >= 0
    if not counts.any():
        raise OptionError("There is nothing to score: every sample weight is zero.")
    both = union(classes, target.classes)  # LabelError where labels of the two can never be equal
    right = positions(classes, both)[best] == target.among(both).y
    return float(np.average(right[counts], weights=None if target.w is None else target.w[counts]))
