"""A row store ↔ plain values and compressed arrays: what a model file holds of it. What comes back is checked."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from tallybayes.data.datetimes import TemporalKind
from tallybayes.data.labels import is_label
from tallybayes.data.row_store import ALL, RowStore, with_keys
from tallybayes.data.stored_column import Form, StoredColumn
from tallybayes.data.table import Container
from tallybayes.utils.array_types import Array

KINDS = ("real", "categorical", "binary", "text", "date")
NUMBER_KINDS = "fiub"
STORE_FIELDS = {"container", "names", "matrix", "csr", "columns", "y", "classes", "w", "limit"}
MAX_ARRAY_BYTES = 1 << 34  # bytes of one array: a file that asks for more is refused before memory is


def pack(s: RowStore) -> dict[str, Any]:
    """Plain values and arrays that hold the rows; hashes are made again."""
    csr = s.csr
    return {
        "container": s.container,
        "names": None if s.names is None else list(s.names),
        "matrix": None if s.matrix is None else _squeezed(s.matrix),
        "csr": None if csr is None else [_squeezed(a) for a in (csr.data, csr.indices, csr.indptr)] + [csr.shape[1]],
        "columns": None if s.columns is None else [_column(c) for c in s.columns],
        "y": _squeezed(s.y),
        "classes": s.classes,
        "w": _squeezed(s.w),
        "limit": s.limit,
    }


def unpack(held: object) -> RowStore:
    """The way back; ValueError if these are no rows."""
    if not isinstance(held, dict) or set(held) != STORE_FIELDS:
        raise ValueError("its rows are not a row store")
    y, w, classes = _labels(held)
    table, names, limit = _table(held, len(y)), _names(held["names"]), held["limit"]
    if held["container"] not in get_args(Container):
        raise ValueError("the rows it keeps are of no known kind of table")
    if type(limit) is not int or not 0 < limit <= ALL:
        raise ValueError("the limit of its sample is no hash")
    none = np.zeros((len(y), 2), dtype=np.uint64)
    made = RowStore(held["container"], names, *table, y, classes, w, none, limit)
    if (names is not None and len(names) != made.d) or made.d == 0:
        raise ValueError("its rows do not have one name for each column")
    made = with_keys(made)
    if made.n and int(made.key[-1, 0]) >= limit:
        raise ValueError("its sample has rows beyond its limit")
    return made


def _table(held: dict[str, Any], n: int) -> tuple[Array | None, Any, tuple[StoredColumn, ...] | None]:
    """A matrix, a sparse one, or columns."""
    matrix = None if held["matrix"] is None else _array(held["matrix"], NUMBER_KINDS, 2)
    csr = None if held["csr"] is None else _csr(held["csr"], n)
    columns = None if held["columns"] is None else tuple(_read_column(c, n) for c in _list(held["columns"]))
    if sum(form is not None for form in (matrix, csr, columns)) != 1 or (matrix is not None and len(matrix) != n):
        raise ValueError("the rows it keeps are no table")
    return matrix, csr, columns


def _labels(held: dict[str, Any]) -> tuple[Array, Array, Array]:
    """Class and weight of each row, and the labels of the classes."""
    y, w, classes = _array(held["y"], "i", 1), _array(held["w"], "f", 1), held["classes"]
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or not all(map(is_label, classes.tolist())):
        raise ValueError("the classes of its rows are not labels")
    if y.dtype != np.int32 or ((y < 0) | (y >= len(classes))).any():
        raise ValueError("the rows it keeps have no classes")
    if w.dtype != np.float64 or len(w) != len(y) or not (np.isfinite(w) & (w > 0)).all():
        raise ValueError("the rows it keeps have no weights")
    return y, w, classes


def _names(held: object) -> tuple[str, ...] | None:
    if held is None:
        return None
    if not isinstance(held, list) or not all(isinstance(name, str) for name in held):
        raise ValueError("the columns of its rows have no names")
    return tuple(held)


def _column(c: StoredColumn) -> dict[str, Any]:
    unit = np.datetime_data(c.values.dtype) if c.form == "times" else None
    values = c.values.view(np.int64) if c.form == "times" else c.values
    return {
        "form": c.form,
        "values": _squeezed(values),
        "labels": [_written(v) for v in c.labels],
        "kind": c.kind,
        "integer": c.integer,
        "scale": None if c.scale is None else [float(v) for v in c.scale],
        "times": [*c.times, *([] if unit is None else [c.values.dtype.kind, *unit])],
    }


def _read_column(held: object, n: int) -> StoredColumn:
    keys = {"form", "values", "labels", "kind", "integer", "scale", "times"}
    if not isinstance(held, dict) or set(held) != keys:
        raise ValueError("a column of its rows is not one")
    form, labels, scale, times = held["form"], _list(held["labels"]), held["scale"], _list(held["times"])
    if form not in get_args(Form) or held["kind"] not in KINDS or type(held["integer"]) is not bool:
        raise ValueError("a column of its rows is of no known form")
    if scale is not None and (len(_list(scale)) != len(labels) or not all(isinstance(v, float) for v in scale)):
        raise ValueError("a column of its rows has no scale")
    values = _array(held["values"], NUMBER_KINDS if form == "numbers" else "i", 1)
    if len(values) != n:
        raise ValueError("a column of its rows has too many or too few of them")
    if form in ("labels", "categories"):
        _check_codes(values, labels)
    column = StoredColumn(form, values, tuple(labels), held["kind"], held["integer"], scale and tuple(scale))
    return column if form != "times" else _as_times(column, times)


def _check_codes(values: Array, labels: list[Any]) -> None:
    if values.dtype != np.int32 or ((values < -1) | (values >= len(labels))).any():
        raise ValueError("a column of its rows has codes without labels")
    if not all(map(is_label, labels)):
        raise ValueError("a column of its rows has labels that are none")


def _as_times(column: StoredColumn, times: list[Any]) -> StoredColumn:
    values = column.values
    sort, zone, kind, unit, many = times
    if sort not in get_args(TemporalKind) or not isinstance(zone, str | None) or kind not in ("M", "m"):
        raise ValueError("a column of its rows is of no known sort of time")
    if values.dtype != np.int64 or not isinstance(unit, str) or type(many) is not int or not 0 < many < 10**6:
        raise ValueError("a column of its rows has no unit of time")
    return replace(column, values=values.view(f"{kind}8[{many}{unit}]"), times=(sort, zone))


def _written(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _squeezed(a: Array) -> dict[str, Any]:
    """An array, compressed: in the smallest type that holds its numbers."""
    small = _smallest(np.ascontiguousarray(a))
    data = np.frombuffer(zlib.compress(small.tobytes(), 6), dtype=np.uint8)
    return {"type": a.dtype.str, "as": small.dtype.str, "shape": list(a.shape), "data": data}


def _smallest(a: Array) -> Array:
    if a.size == 0 or a.dtype.kind not in "fi":
        return a
    if a.dtype.kind == "f" and not (np.isfinite(a) & (np.abs(a) < 2**31) & (a == np.floor(a))).all():
        return a
    if (np.signbit(a) & (a == 0)).any():  # −0 is no integer
        return a
    top = max(abs(int(a.min())), abs(int(a.max())))
    kind = next((k for k in (np.int8, np.int16, np.int32) if top <= np.iinfo(k).max), None)
    return a if kind is None or np.dtype(kind).itemsize >= a.itemsize else a.astype(kind)


def _array(held: object, kinds: str, dimensions: int) -> Array:
    if not isinstance(held, dict) or set(held) != {"type", "as", "shape", "data"}:
        raise ValueError("an array of its rows is not one")
    types = [np.dtype(held[key]) for key in ("type", "as") if isinstance(held[key], str)]
    shape, data = _list(held["shape"]), held["data"]
    whole = len(types) == 2 and len(shape) == dimensions and all(type(v) is int and v >= 0 for v in shape)
    if not whole or any(t.kind not in "fiub" or t.itemsize > 8 for t in types) or types[0].kind not in kinds:
        raise ValueError("an array of its rows is of a type that rows do not have")
    size = int(np.prod(shape, dtype=object)) * types[1].itemsize
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.ndim != 1 or size > MAX_ARRAY_BYTES:
        raise ValueError("an array of its rows is no compressed data")
    found = zlib.decompressobj().decompress(data.tobytes(), size + 1)  # never more than was said
    if len(found) != size:
        raise ValueError("an array of its rows is longer or shorter than it says")
    return np.frombuffer(found, dtype=types[1]).reshape(shape).astype(types[0])


def _csr(held: object, n: int) -> Any:
    from scipy.sparse import csr_matrix

    from tallybayes.data.sparse import read_sparse

    data, indices, starts, d = _list(held)
    if type(d) is not int or not 0 < d < 2**31:
        raise ValueError("its sparse rows have no columns")
    made = csr_matrix((n, d))
    made.data, made.indices, made.indptr = _array(data, "fi", 1), _array(indices, "i", 1), _array(starts, "i", 1)
    return read_sparse(made)


def _list(held: object) -> list[Any]:
    if not isinstance(held, list):
        raise ValueError("its rows are not a row store")
    return held
