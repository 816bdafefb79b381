"""A column of a data frame of any library as a RawColumn."""

from __future__ import annotations

import numbers
import weakref
from typing import Any

import numpy as np

from tallybayes import _core
from tallybayes.data.datetimes import Datetimes, TemporalKind, check_unit, zone_name
from tallybayes.data.raw_column import (
    RawColumn,
    all_exact,
    as_strings,
    check_arrow,
    complex_numbers,
    exact_column,
    missing_as_none,
    object_column,
    unsupported_type,
)
from tallybayes.errors import NestedValueError, TableError, TallybayesError
from tallybayes.utils.array_types import Array
from tallybayes.utils.lazy_imports import nw

MIN_ROWS_FOR_CODES = 4096  # below it, Arrow's dictionary is as fast as polars' own codes
MAX_SHARED_CODES = 1 << 20  # polars shares one list of categories among columns; of a longer one a column has few
WRITTEN_OUT = ("IntervalDtype", "DatetimeTZDtype", "PeriodDtype")  # pandas: categories whose labels are their strings
_labels_read: dict[int, tuple[weakref.ref[object], tuple[object, ...]]] = {}  # by the id of pandas' categories


def frame_column(s: Any, name: str) -> RawColumn:
    """A column of any data frame library that narwhals knows; a TableError if that library cannot give its values."""
    try:
        return _frame_column(s, name)
    except (TallybayesError, MemoryError):
        raise
    except Exception as e:  # which one depends on the library, its version and the type
        own = getattr(s.to_native(), "dtype", s.dtype)
        raise TableError(
            f"Column {name!r} of type {own} cannot be read: {e!s:.200}. Turn it into numbers or into strings first, or "
            "leave it out.",
            column=name,
        ) from e


def _frame_column(s: Any, name: str) -> RawColumn:
    dtype, native = s.dtype, s.to_native()
    check_arrow(native, name)
    if dtype.is_decimal() or dtype.is_integer():
        return _integers(s)
    if dtype.is_float():
        return RawColumn(_eight_bytes(s.to_numpy()), "numbers", "real")
    if dtype == nw.Boolean:
        return _truths(s)
    if dtype == nw.Categorical or dtype == nw.Enum:
        return category_column(native, name)
    if dtype == nw.String and has_arrow(native):
        return RawColumn(native, "arrow", "categorical")
    if dtype in (nw.String, nw.Binary):
        return RawColumn(series_objects(s), "objects", "categorical")
    if dtype.is_temporal():
        return _temporal(s)
    if dtype == nw.Object:
        return object_column(np.asarray(s.to_numpy(), dtype=object), name)
    if dtype.is_nested():
        raise NestedValueError(
            f"Column {name!r} holds nested values ({dtype}); each argument must be one string or one number. Spread it "
            "over several columns.",
            column=name,
        )
    return _unknown(s, name)


def _integers(s: Any) -> RawColumn:
    """Integers and decimals: as float64 only where it holds each of them."""
    whole, dtype = s.dtype.is_integer(), s.dtype
    if dtype.is_decimal() or dtype == nw.Int128 or dtype == nw.UInt128:  # NumPy has no such type
        found = s.cast(nw.Float64).to_numpy()
    else:
        found = s.to_numpy()
    if found.dtype.kind in "iu" or all_exact(found := _eight_bytes(found)):
        return RawColumn(found, "numbers", "real", integer=whole)
    return exact_column(s.to_list(), whole)


def _truths(s: Any) -> RawColumn:
    if s.null_count() == 0:
        return RawColumn(s.to_numpy().astype(np.int8), "coded", "binary", declared=(False, True))
    return RawColumn(series_objects(s), "objects", "binary", declared=(False, True))


def from_ticks(ticks: Array, zone: str | None = None, sort: TemporalKind | None = None) -> Datetimes:
    """Datetimes of a NumPy array."""
    ticks = np.ascontiguousarray(ticks if ticks.dtype.isnative else ticks.astype(ticks.dtype.newbyteorder("=")))
    present = ticks[~np.isnat(ticks)] if np.datetime_data(ticks.dtype)[0] == "generic" else ticks[:0]
    if len(present):
        check_unit(ticks.dtype, present[0])
    if sort is None:
        days = np.datetime_data(ticks.dtype)[0] in ("Y", "M", "W", "D")
        sort = "duration" if ticks.dtype.kind == "m" else "date" if days else "datetime"
    return Datetimes(ticks, sort, zone)


def _temporal(s: Any) -> RawColumn:
    """A temporal column of a data frame."""
    dtype = s.dtype
    zone = zone_name(getattr(getattr(s.to_native(), "dtype", None), "tz", None) or getattr(dtype, "time_zone", None))
    if zone is not None:
        s = s.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    if dtype == nw.Time:
        return object_column(series_objects(s), str(s.name))
    found = s.to_numpy()
    if found.dtype.kind not in "mM":
        return object_column(np.asarray(found, dtype=object), str(s.name))
    sort: TemporalKind = "date" if dtype == nw.Date else "duration" if dtype == nw.Duration else "datetime"
    return RawColumn(from_ticks(found, zone, sort), "datetimes", "date")


def _eight_bytes(values: Array) -> Array:
    """Numbers in a type that the kernels read."""
    known = values.dtype.kind in "fiu" and values.dtype.itemsize in (1, 2, 4, 8) and values.dtype != np.float16
    return values if known else values.astype(np.float64)


def series_objects(s: Any) -> Array:
    """The values as Python objects; None is missing."""
    values = np.empty(len(s), dtype=object)
    values[:] = s.to_list()
    return missing_as_none(values)


def category_column(native: Any, name: str) -> RawColumn:
    held = native if hasattr(native, "type") else getattr(getattr(native, "array", None), "_pa_array", None)
    if held is not None and not _is_plain(held.type.value_type):
        return frame_column(nw.from_native(_decoded(held), series_only=True), name)
    if type(getattr(native, "dtype", None)).__name__ != "CategoricalDtype":
        return by_appearance(native) or RawColumn(native, "arrow", "categorical", declared=())
    held = native.array  # pandas: codes and categories are at hand
    return RawColumn(held.codes, "coded", "categorical", declared=_labels_of(held.categories, name))


def _is_plain(kind: Any) -> bool:
    """Whether a dictionary of this type of Arrow is read as it is."""
    import pyarrow as pa

    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return bool(is_text or is_number or pa.types.is_boolean(kind) or pa.types.is_null(kind))


def _decoded(held: Any) -> Any:
    """The values of a dictionary-encoded column of pyarrow."""
    import pyarrow as pa

    try:
        parts = [part.dictionary.take(part.indices) for part in held.chunks]
    except pa.ArrowNotImplementedError:  # of some types pyarrow takes no rows
        parts = [pa.array(held.to_pylist(), held.type.value_type)]
    return pa.chunked_array(parts, held.type.value_type)


def _labels_of(categories: Any, name: str) -> tuple[object, ...]:
    """The categories of a pandas column, read once for all frames that share them."""
    key = id(categories)
    found = _labels_read.get(key)
    if found is None or found[0]() is not categories:
        labels = tuple(categories.tolist())
        if categories.dtype.kind in "mM" or type(categories.dtype).__name__ in WRITTEN_OUT:
            labels = tuple(as_strings(labels).tolist())
        for v in labels:
            if not isinstance(v, str | bytes | numbers.Number | np.generic):
                raise unsupported_type(name, f"category of {type(v).__name__}", value=v)
        found = _labels_read[key] = (weakref.ref(categories, lambda _: _labels_read.pop(key, None)), labels)
    return found[1]


def by_appearance(native: Any) -> RawColumn | None:
    """A long Categorical column of polars by its own codes: as Arrow it would be re-encoded row by row."""
    if not hasattr(native, "to_physical") or len(native) < MIN_ROWS_FOR_CODES:
        return None
    codes = native.to_physical()
    top = codes.max()
    if top is None or top >= MAX_SHARED_CODES or not codes.dtype.is_unsigned_integer():
        return None
    there = []
    if native.null_count():
        codes, there = codes.fill_null(0), [native.is_not_null().to_numpy()]
    found, first = _core.appearance_codes(_core.Columns([codes.to_numpy(), *there]), top + 1)
    return RawColumn(found, "coded", "categorical", declared=tuple(native[first].to_list()))


def _unknown(s: Any, name: str) -> RawColumn:
    """Types that only one library has."""
    native, dtype = s.to_native(), str(s.dtype)
    if dtype in ("Unknown", "Null") and s.null_count() == len(s):
        return RawColumn(np.full(len(s), np.nan), "numbers", "real")
    own = getattr(native, "dtype", None)
    if str(getattr(native, "type", "")) == "date64[ms]":  # pyarrow
        return frame_column(nw.from_native(native.cast("date32"), series_only=True), name)
    zone = getattr(own, "tz", None)
    if zone is not None:  # pandas: of a zone whose name narwhals does not read
        utc = nw.from_native(native.dt.tz_convert("UTC").dt.tz_localize(None), series_only=True)
        return RawColumn(from_ticks(utc.to_numpy(), zone_name(zone)), "datetimes", "date")
    if type(own).__name__ == "PeriodDtype":
        return frame_column(nw.from_native(native.dt.to_timestamp(), series_only=True), name)
    if type(own).__name__ == "IntervalDtype":
        return RawColumn(as_strings(missing_as_none(native.to_numpy(dtype=object))), "objects", "categorical")
    if type(own).__name__ == "SparseDtype":  # pandas: most values are one, and left out
        return frame_column(nw.from_native(native.sparse.to_dense(), series_only=True), name)
    if isinstance(own, np.dtype) and own.kind == "c":
        raise complex_numbers(f"column {name!r} is of type {own}", name)
    if isinstance(own, np.dtype) and own.kind == "f":  # of more than 8 bytes
        return RawColumn(native.to_numpy().astype(np.float64), "numbers", "real")
    raise unsupported_type(name, dtype if dtype != "Unknown" else str(own or getattr(native, "type", None)))


def has_arrow(native: object) -> bool:
    """pandas offers the Arrow stream of a column only where pyarrow backs it."""
    return hasattr(native, "__arrow_c_stream__") and "object" not in str(getattr(native, "dtype", ""))
