"""A bounded sample of the rows that were learned, which adds up like a count.

Kept are the rows with the smallest hashes of their codes and class; equal rows are one, with the sum of their weights.
So the sample does not depend on the order of the rows, a row of weight 2 is the row twice, and the sample of two sets of
rows together is that of their samples. While no more than KEEP different rows were learned it is all of them, and
forgetting is exact too; beyond, rows that had no place are not remembered when others leave.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Stats = dict[str, Array]

KEEP = 8000
KEYS = ("rows", "row_label", "row_weight", "row_key")


def code_type(sizes: Array) -> Any:
    """The smallest type with a code to spare for what is missing."""
    top = int(sizes.max(initial=0))
    return np.uint8 if top <= 255 else np.uint16 if top <= 65535 else np.uint32


def no_rows(sizes: Array) -> Stats:
    return {
        "rows": np.zeros((len(sizes), 0), dtype=code_type(sizes)),
        "row_label": np.zeros(0, dtype=np.int32),
        "row_weight": np.zeros(0),
        "row_key": np.zeros(0, dtype=np.uint64),
    }


def rows_of(codes: Array, sizes: Array, y: Array, w: Array | None) -> Stats:
    """The sample of packed codes (columns, rows); rows without a class or a weight are in none."""
    at = np.flatnonzero(y >= 0 if w is None else (y >= 0) & (w > 0))
    key = hashes(codes, y)[at]
    if len(at) > KEEP:
        different = np.unique(key)
        if len(different) > KEEP:
            at, key = at[key <= different[KEEP - 1]], key[key <= different[KEEP - 1]]
    weight = np.ones(len(at)) if w is None else w[at]
    found = {"rows": codes[:, at], "row_label": y[at], "row_weight": weight, "row_key": key}
    return merged({**found, "rows": retyped(found["rows"], code_type(sizes))})


def merged(s: Stats) -> Stats:
    """Equal rows as one, in the order of their hashes; those whose weights cancel are gone; no more than KEEP."""
    key, first, where = np.unique(s["row_key"], return_index=True, return_inverse=True)
    weight = np.bincount(where, weights=s["row_weight"], minlength=len(key)) if len(key) else np.zeros(0)
    left = np.flatnonzero(weight > 1e-9)[:KEEP]
    return {**picked(s, first[left]), "row_weight": weight[left]}


def joined(a: Stats, b: Stats, sign: int = 1) -> Stats:
    """The sample of a's and b's rows together, or of a's without b's."""
    kind = np.promote_types(a["rows"].dtype, b["rows"].dtype)
    return merged(
        {
            "rows": np.concatenate([retyped(a["rows"], kind), retyped(b["rows"], kind)], axis=1),
            "row_label": np.concatenate([a["row_label"], b["row_label"]]),
            "row_weight": np.concatenate([a["row_weight"], sign * b["row_weight"]]),
            "row_key": np.concatenate([a["row_key"], b["row_key"]]),
        }
    )


def picked(s: Stats, which: Array) -> Stats:
    return {
        "rows": np.ascontiguousarray(s["rows"][:, which]),
        **{key: s[key][which] for key in ("row_label", "row_weight", "row_key")},
    }


def relabelled(s: Stats, to: Array) -> Stats:
    """Class c is class to[c] now, or is gone."""
    label = to[s["row_label"]].astype(np.int32)
    found = picked({**s, "row_label": label}, np.flatnonzero(label >= 0))
    return merged({**found, "row_key": hashes(found["rows"], found["row_label"])})


def recoded(s: Stats, sizes: Array, maps: list[NDArray[np.int64] | None]) -> Stats:
    """Level v of column j is level maps[j][v] now."""
    kind = code_type(sizes)
    rows = retyped(s["rows"], kind)
    for j, m in enumerate(maps):
        if m is not None:
            here = rows[j] != np.iinfo(kind).max
            rows[j, here] = m[rows[j, here].astype(np.intp)]
    found = {**{key: s[key] for key in KEYS}, "rows": rows}
    return merged({**found, "row_key": hashes(rows, s["row_label"])})


def check(s: Stats, sizes: Array, K: int) -> None:
    """Raises ValueError if these are not kept rows: they come from a file."""
    rows, label, weight, key = (s[name] for name in KEYS)
    m = len(label)
    if rows.dtype.kind != "u" or rows.dtype.itemsize > 4 or rows.shape != (len(sizes), m) or m > KEEP:
        raise ValueError("'rows' are not codes of the columns")
    if label.dtype != np.int32 or label.shape != (m,) or (m and (label.min() < 0 or label.max() >= K)):
        raise ValueError("'row_label' does not hold classes")
    if weight.dtype != np.float64 or weight.shape != (m,) or not (np.isfinite(weight) & (weight > 0)).all():
        raise ValueError("'row_weight' does not hold weights")
    if ((rows >= sizes[:, None]) & (rows != np.iinfo(rows.dtype).max)).any():
        raise ValueError("'rows' hold codes without a level")
    if key.dtype != np.uint64 or not np.array_equal(key, hashes(rows, label)) or (np.diff(key) <= 0).any():
        raise ValueError("'row_key' are not the hashes of the rows")


def retyped(rows: Array, kind: Any) -> Array:
    """A copy in another type: what is missing has all bits set in each."""
    out: Array = rows.astype(kind)
    out[rows == np.iinfo(rows.dtype).max] = np.iinfo(kind).max
    return out


def hashes(codes: Array, y: Array) -> NDArray[np.uint64]:
    """A hash of each row's codes and class, the same for every type of the codes."""
    out = _mix(y.astype(np.int64).astype(np.uint64) + np.uint64(1 << 60))
    none = np.iinfo(codes.dtype).max
    for j, column in enumerate(codes):
        top = int(column[column != none].max(initial=0)) + 1
        table = _mix((np.uint64(j) << np.uint64(32)) + np.arange(top + 1, dtype=np.uint64))
        table[top] = _mix(np.array([(j << 32) + (1 << 31)], dtype=np.uint64))[0]  # missing, whatever the levels
        out ^= table[np.minimum(column, np.array(top).astype(column.dtype))]
    return np.asarray(_mix(out))


def _mix(x: Array) -> Array:
    """splitmix64"""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
