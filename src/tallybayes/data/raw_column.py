"""One column of an input table, and the type of a column of Python objects."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import numbers
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.datetimes import DATES, SPANS, from_objects, temporal_kind
from tallybayes.errors import LabelError, NestedValueError, TableError
from tallybayes.utils.array_types import Array

NEVER_NAN = {str, type(None)}  # types that need no check for missing values
TEMPORAL_TYPES = (*DATES, *SPANS, dt.time)
LARGEST_EXACT = 2.0**53  # from here on float64 skips integers
INTEGERS = (numbers.Integral, np.integer, decimal.Decimal)
Storage = Literal["numbers", "objects", "arrow", "coded", "datetimes"]


@dataclass(frozen=True, slots=True)
class RawColumn:
    """One column of an input table: its values and what its type says about them.

    Parameters
    ----------
    values : object
        The values, by storage.
    storage : {'numbers', 'objects', 'arrow', 'coded', 'datetimes'}
        A numeric array; an object array in which None is missing; an object with ``__arrow_c_stream__``; codes;
        `Datetimes`.
    kind : {'real', 'categorical', 'binary', 'text', 'date'}
        The kind that the type implies.
    integer : bool, default=False
        Whether the numbers are whole.
    declared : tuple, default=None
        Of codes: their labels, as the categorical type lists them.
    scale : tuple of float, default=None
        Of codes: the number of each category, where numbers are wanted.
    """

    values: Any
    storage: Storage
    kind: Literal["real", "categorical", "binary", "text", "date"]
    integer: bool = False
    declared: tuple[Any, ...] | None = None
    scale: tuple[float, ...] | None = None

    def plain(self) -> list[Any]:
        """Return the values as Python objects.

        Returns
        -------
        list
            One for each row; None is missing.
        """
        if self.storage == "coded":
            assert self.declared is not None
            return [None if code < 0 else self.declared[code] for code in self.values.tolist()]
        if self.storage == "datetimes":
            return list(self.values.labels())
        values = self.values
        kind = getattr(getattr(values, "type", None), "value_type", None)
        if hasattr(getattr(values, "type", None), "index_type") and str(kind) in ("string", "large_string"):
            values = values.cast(kind)  # pyarrow asks a dictionary for each value by itself, in microseconds
        convert = next(f for f in ("tolist", "to_list", "to_pylist") if hasattr(values, f))
        found: list[object] = getattr(values, convert)()
        if set(map(type, found)) <= NEVER_NAN:
            return found
        return [None if is_missing(v) else v for v in found]


def arrow_of(X: object) -> Any:
    """An Arrow record batch, reader or dataset as a table; None for anything else."""
    if hasattr(X, "to_table") and hasattr(X, "scanner"):  # pyarrow.dataset
        return X.to_table()
    if hasattr(X, "__arrow_c_stream__") and hasattr(X, "schema"):
        import pyarrow as pa

        return pa.table(X)
    return None


def check_arrow(native: Any, name: str | None) -> None:
    """Refuse buffers that break Arrow's format: pyarrow reads wherever they point. name: None for y."""
    found = arrow_fault(native, "y" if name is None else f"Column {name!r}")
    if found is not None:
        why, row = found
        raise LabelError(why) if name is None else TableError(why, column=name, row=row)


def arrow_fault(native: Any, what: str) -> tuple[str, int | None] | None:
    """Why values of pyarrow cannot be read, and in which row if that is known; None: sound, or not of pyarrow."""
    held = native if hasattr(native, "validate") else getattr(getattr(native, "array", None), "_pa_array", None)
    if held is None:
        return None
    import pyarrow as pa

    try:
        held.validate(full=True)
    except pa.ArrowException as e:
        row = _first_not_utf8(held) if "UTF8" in str(e) else None
        why = f"{what} is not sound Arrow data: {e!s:.200}. Write it again."
        if row is not None:
            why = f"{what} cannot be read: the text is not valid UTF-8 (row {row}). Correct it, or mark it missing."
        return why, row
    return None


def _first_not_utf8(held: Any) -> int | None:
    """The first row of a column of pyarrow whose text cannot be decoded; its offsets are known to be sound."""
    for row in range(len(held)):
        try:
            held[row].as_py()
        except UnicodeDecodeError:
            return row
    return None


def is_missing(v: object) -> bool:
    """None, NaN of any number type, and the NA and NaT of pandas and NumPy."""
    if v is None or isinstance(v, str | bytes):
        return v is None
    if _is_na_type(type(v)):
        return True
    if isinstance(v, decimal.Decimal):
        return v.is_nan()  # a signalling NaN refuses to be compared
    return isinstance(v, numbers.Number | np.generic) and bool(v != v)


def _is_na_type(kind: type) -> bool:
    """pandas' NA and NaT, which cannot be recognised by a comparison."""
    return kind.__name__ in ("NAType", "NaTType")


def missing_as_none(values: Array) -> Array:
    """An object array whose missing values are None; the same array if they are so already."""
    suspects = {
        t
        for t in set(map(type, values))
        if _is_na_type(t) or issubclass(t, float | np.inexact | np.datetime64 | np.timedelta64 | decimal.Decimal)
    }
    missing = [row for row, v in enumerate(values) if type(v) in suspects and is_missing(v)] if suspects else []
    if not missing:
        return values
    out = values.copy()
    out[missing] = None
    return out


def object_column(values: Array, name: str) -> RawColumn:
    """A column of Python objects: all numbers, booleans, temporal or strings. UUIDs become strings."""
    kinds = set(map(type, values))
    if kinds == {str}:  # nearly all columns of dicts are strings or whole numbers
        return RawColumn(values, "objects", "categorical")
    if kinds == {int}:
        return _number_column(values, kinds, name)
    values = missing_as_none(values)
    kinds = set(map(type, values)) - {type(None)}
    sort = temporal_kind(list(kinds))
    if sort is not None:
        return RawColumn(from_objects(values, sort), "datetimes", "date")
    if kinds and all(issubclass(t, uuid.UUID) for t in kinds):
        return RawColumn(as_strings(values), "objects", "categorical")
    if kinds and all(issubclass(t, bool | np.bool_) for t in kinds):
        return RawColumn(values, "objects", "binary", declared=(False, True))
    if all(issubclass(t, numbers.Number | np.number | np.bool_) and not _is_complex(t) for t in kinds):
        return _number_column(values, kinds, name)
    if not all(issubclass(t, str | bytes) for t in kinds):
        _check_labels(values, name)
    return RawColumn(values, "objects", "categorical")


def as_strings(values: Any) -> Array:
    """Each value as a string; None stays None."""
    out = np.empty(len(values), dtype=object)
    out[:] = [None if v is None else str(v) for v in values]
    return out


def _is_complex(kind: type) -> bool:
    return issubclass(kind, complex | np.complexfloating)


def _number_column(values: Array, kinds: set[type], name: str) -> RawColumn:
    integer = bool(kinds) and all(issubclass(t, numbers.Integral | np.integer) for t in kinds)
    if integer and not any(v is None for v in values):
        try:
            return RawColumn(np.array(values, dtype=np.int64), "numbers", "real", integer=True)
        except OverflowError:
            pass
    found = as_floats(values, name)
    exact = all_exact(found) or not any(issubclass(t, INTEGERS) for t in kinds)
    return RawColumn(found, "numbers", "real", integer=integer) if exact else exact_column(values, integer)


def all_exact(values: Array) -> bool:
    """Whether float64 holds each of these numbers: no integer lies beyond 2⁵³."""
    return not bool(((np.abs(values, dtype=np.float64) >= LARGEST_EXACT) & np.isfinite(values)).any())


def exact_column(values: Any, integer: bool) -> RawColumn:
    """Numbers among which are integers that float64 would round, as Python's own; None is missing."""
    out = np.empty(len(values), dtype=object)
    out[:] = [None if is_missing(v) else _plain_number(v) for v in values]
    return RawColumn(out, "objects", "real", integer=integer)


def _plain_number(v: Any) -> int | float:
    whole = v.is_finite() and v == v.to_integral_value() if isinstance(v, decimal.Decimal) else isinstance(v, INTEGERS)
    return int(v) if whole else float(v)


def as_floats(values: Any, name: str) -> NDArray[np.float64]:
    """Numbers of any kind as float64; None is NaN."""
    out = np.empty(len(values))
    for row, v in enumerate(values):
        try:
            out[row] = math.nan if v is None else float(v)
        except OverflowError:
            raise TableError(
                f"Column {name!r} has a number too large for a float64 (row {row}). Rescale the column.",
                column=name,
                row=row,
                value=v,
            ) from None
    return out


def _check_labels(values: Array, name: str) -> None:
    """Refuse anything but strings."""
    words = [row for row, v in enumerate(values) if isinstance(v, str | bytes)]
    others = [row for row, v in enumerate(values) if v is not None and not isinstance(v, str | bytes)]
    temporal = [row for row in others if isinstance(values[row], TEMPORAL_TYPES)]
    if temporal:
        first = next((row for row in (*words, *others) if not isinstance(values[row], TEMPORAL_TYPES)), temporal[-1])
        raise TableError(
            f"Column {name!r} mixes dates, times or durations (first: row {temporal[0]}) with {values[first]!r:.60} "
            f"(row {first}). Make them all of one type, or mark the others as missing (None).",
            column=name,
            row=first,
            value=values[first],
        )
    for row in others:
        if not isinstance(values[row], numbers.Number | np.number | np.bool_):
            raise _not_a_label(name, row, values[row])
    if others and words:
        first = words[0]
        raise TableError(
            f"Column {name!r} mixes numbers with {len(words)} value(s) that are not numbers (first: "
            f"{values[first]!r:.60}, row {first}). Make them all strings, or mark those as missing (None or NaN).",
            column=name,
            row=first,
            value=values[first],
        )
    if others:
        row = next(i for i in others if _is_complex(type(values[i])))
        raise complex_numbers(f"column {name!r} has {values[row]!r} (row {row})", name, row, values[row])


def _not_a_label(name: str, row: int, v: object) -> TableError:
    if isinstance(v, list | tuple | set | frozenset | np.ndarray | Mapping):
        key = _path(name, v)
        where = "" if key == name else f", key {key!r}"
        return NestedValueError(
            f"Column {name!r} has a nested value, {v!r:.60} (row {row}{where}); each argument must be one string or "
            "one number. Spread it over several columns.",
            column=name,
            row=row,
            value=v,
        )
    return unsupported_type(name, type(v).__name__, row=row, value=v)


def _path(name: str, v: object) -> str:
    """The path to the first plain value inside: address.city, or address.lines.0."""
    for _ in range(5):
        if hasattr(v, "as_py"):  # a scalar of pyarrow, which is not all that a Mapping is
            v = v.as_py()
        if isinstance(v, Mapping) and v:
            key, v = next(iter(v.items()))
        elif isinstance(v, list | tuple) and v:
            key, v = 0, v[0]
        else:
            break
        name = f"{name}.{key!s:.40}"
    return name


def complex_numbers(what: str, name: str | None = None, row: int | None = None, value: object = None) -> TableError:
    """The error for complex numbers."""
    return TableError(
        f"Complex data not supported: {what}. Give real and imaginary parts as columns.",
        column=name,
        row=row,
        value=value,
    )


def unsupported_type(name: str, kind: str, row: int | None = None, value: object = None) -> TableError:
    """The error for a type that is neither number nor label."""
    where = "is" if row is None else f"has a value (row {row})"
    return TableError(
        f"Column {name!r} {where} of type {kind}. Allowed: numbers, booleans, strings, categories, dates. Turn it into "
        "numbers or into strings first, or leave it out.",
        column=name,
        row=row,
        value=value,
    )
