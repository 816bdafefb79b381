"""Arithmetic of sufficient statistics: subtraction, renumbering of classes, checks of what a file holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.schema import Schema
from tallybayes.distributions.records import arrays_of
from tallybayes.errors import ForgetError, TableError
from tallybayes.utils.array_types import Array

NEVER_LEARNED = (
    "Asked to forget rows that were not learned (or with more weight than they had): a count or a sum of squares would "
    "fall below zero. Nothing was changed."
)
DUST = 8 * np.finfo(np.float64).eps  # what rounding leaves of a weight that was taken away whole


def check_binary(schema: Schema, columns: Sequence[int]) -> None:
    """TableError if a binary column has met a third value."""
    for j in columns:
        if schema.kinds[j] == "binary" and j in schema.levels and len(schema.levels[j]) > 2:
            labels = ", ".join(repr(v) for v in schema.levels[j].labels[:4])
            raise TableError(
                f"Column {schema.name(j)!r} is binary but has {len(schema.levels[j])} values ({labels}). Declare it "
                f"categorical with schema={{{schema.name(j)!r}: 'categorical'}}."
            )


def expect(s: object, shapes: Mapping[str, tuple[int, ...]], at_least_0: Sequence[str]) -> None:
    """Raises ValueError unless s has these arrays and no others: float64, finite, none below 0 where said."""
    arrays = arrays_of(s)
    if set(arrays) != set(shapes):
        raise ValueError(f"it has {sorted(arrays)}; expected {sorted(shapes)}")
    for key, shape in shapes.items():
        a = arrays[key]
        if a.dtype != np.float64 or a.shape != shape:
            raise ValueError(f"{key!r} is {a.dtype} of shape {a.shape}; expected float64 of shape {shape}")
        if not np.isfinite(a).all() or (key in at_least_0 and (a < 0).any()):
            raise ValueError(f"{key!r} holds NaN, an infinity or a negative number")


def spread(a: Array, to: Sequence[int], K: int) -> Array:
    out = np.zeros((K, *a.shape[1:]), dtype=a.dtype)
    index = np.asarray(to, dtype=np.intp)
    out[index[index >= 0]] = a[index >= 0]
    return out


def subtract(a: Array, b: Array) -> Array:
    """a − b ≥ 0, with rounding dust swept away."""
    r = a - b
    scale = np.maximum(np.abs(a), np.abs(b))
    if (r < -1e-9 * scale).any():
        raise ForgetError(NEVER_LEARNED)
    r[r <= DUST * scale] = 0.0
    return r


def met_codes(count: Array, sizes: Array) -> NDArray[np.bool_]:
    """Which columns were counted at all; count: of all columns side by side, sizes: how many codes each has."""
    there = np.append(np.cumsum(count.any(axis=0)), 0)  # index −1: nothing before the first
    ends = np.cumsum(sizes) - 1
    return np.asarray(there[ends] > there[ends - sizes])


def minus(a: Array, b: Array) -> Array:
    """a − b of counts, and 0 where it is less than nothing, or dust."""
    left = a - b
    return np.where(left <= 1e-9 * a, 0.0, left)


def split(a: Array, sizes: Array) -> list[Array]:
    """The columns' parts of an array whose last axis runs over all levels."""
    return np.split(a, np.cumsum(sizes)[:-1], axis=-1) if len(sizes) else []
