"""A bounded sample of the rows that were learned, which adds up like a count.

Kept are the rows with the smallest hashes of their values; equal rows of a class are one, with the sum of their
weights. So the sample does not depend on the order of the rows, a row of weight 2 is the row twice, and the sample of
two sets of rows together is that of their samples. While no more than KEEP different rows were learned it is all of
them, and forgetting is exact too; beyond, rows that had no place are not remembered when others leave.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.schema import Levels
from tallybayes.utils.array_types import Array

Codes = np.dtype[np.uint8] | np.dtype[np.uint16] | np.dtype[np.uint32]

KEEP = 8000


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Rows that are kept to choose by.

    Parameters
    ----------
    rows : ndarray of shape (columns, rows)
        Codes of levels, all bits set for what is missing.
    label : ndarray of int32, of shape (rows,)
        The class of each.
    weight : ndarray of shape (rows,)
        The weight of each.
    key : ndarray of uint64, of shape (rows,)
        The hash of each, ascending.
    """

    rows: Array
    label: NDArray[np.int32]
    weight: NDArray[np.float64]
    key: NDArray[np.uint64]


def code_type(sizes: Array) -> Codes:
    """The smallest type with a code to spare for what is missing."""
    top = int(sizes.max(initial=0))
    return np.dtype(np.uint8) if top <= 255 else np.dtype(np.uint16) if top <= 65535 else np.dtype(np.uint32)


def no_rows(sizes: Array) -> KeptRows:
    none = np.zeros((len(sizes), 0), dtype=code_type(sizes))
    return KeptRows(none, np.zeros(0, dtype=np.int32), np.zeros(0), np.zeros(0, dtype=np.uint64))


def rows_of(codes: Array, sizes: Array, tokens: list[NDArray[np.uint64]], y: Array, w: Array | None) -> KeptRows:
    """The sample of packed codes (columns, rows); rows without a class or a weight are in none."""
    at = np.flatnonzero(y >= 0 if w is None else (y >= 0) & (w > 0))
    key = hashes(codes, tokens)[at]
    if len(at) > 4 * KEEP:  # no more than KEEP different hashes can stay
        different = np.unique(key)
        if len(different) > KEEP:
            at, key = at[key <= different[KEEP - 1]], key[key <= different[KEEP - 1]]
    rows = retyped(codes[:, at], code_type(sizes))
    weight = np.ones(len(at)) if w is None else w[at]
    return merged(KeptRows(rows, y[at], weight, key))


def merged(s: KeptRows) -> KeptRows:
    """Equal rows as one, by hash and class; those whose weights cancel are gone; no more than KEEP."""
    order = np.lexsort((s.label, s.key))
    key, label = s.key[order], s.label[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (key[1:] != key[:-1]) | (label[1:] != label[:-1])
    own, place = s.weight[order], np.cumsum(new) - 1
    weight, met = np.bincount(place, weights=own), np.bincount(place, weights=np.abs(own))
    left = np.flatnonzero(weight > 1e-9 * met)[:KEEP]
    return replace(picked(s, order[new][left]), weight=weight[left].astype(np.float64, copy=False))


def joined(a: KeptRows, b: KeptRows, sign: int = 1) -> KeptRows:
    """The sample of a's and b's rows together, or of a's without b's."""
    kind = np.promote_types(a.rows.dtype, b.rows.dtype)
    rows = np.concatenate([retyped(a.rows, kind), retyped(b.rows, kind)], axis=1)
    weight = np.concatenate([a.weight, sign * b.weight])
    return merged(KeptRows(rows, np.concatenate([a.label, b.label]), weight, np.concatenate([a.key, b.key])))


def picked(s: KeptRows, which: Array) -> KeptRows:
    return KeptRows(np.ascontiguousarray(s.rows[:, which]), s.label[which], s.weight[which], s.key[which])


def relabelled(s: KeptRows, to: Array) -> KeptRows:
    """Class c is class to[c] now, or is gone."""
    label = to[s.label].astype(np.int32)
    return merged(picked(replace(s, label=label), np.flatnonzero(label >= 0)))


def recoded(s: KeptRows, sizes: Array, maps: Sequence[NDArray[np.int64] | None]) -> KeptRows:
    """Level v of column j is level maps[j][v] now; its label, and so the hash, is the same."""
    kind = code_type(sizes)
    rows = retyped(s.rows, kind)
    for j, m in enumerate(maps):
        if m is not None:
            here = rows[j] != np.iinfo(kind).max
            rows[j, here] = m[rows[j, here].astype(np.intp)]
    return replace(s, rows=rows)


def check(s: KeptRows, sizes: Array, K: int) -> None:
    """Raises ValueError if these are not kept rows: they come from a file."""
    rows, label, weight, key = s.rows, s.label, s.weight, s.key
    m = len(label)
    if rows.dtype.kind != "u" or rows.dtype.itemsize > 4 or rows.shape != (len(sizes), m) or m > KEEP:
        raise ValueError("'rows' are not codes of the columns")
    if label.dtype != np.int32 or label.shape != (m,) or ((label < 0) | (label >= K)).any():
        raise ValueError("'row_label' does not hold classes")
    if weight.dtype != np.float64 or weight.shape != (m,) or not (np.isfinite(weight) & (weight > 0)).all():
        raise ValueError("'row_weight' does not hold weights")
    if ((rows >= sizes[:, None]) & (rows != np.iinfo(rows.dtype).max)).any():
        raise ValueError("'rows' hold codes without a level")
    if key.dtype != np.uint64 or key.shape != (m,) or (key[1:] < key[:-1]).any():
        raise ValueError("'row_key' are not the hashes of the rows in ascending order")


def retyped(rows: Array, kind: np.dtype[Any]) -> Array:
    """A copy in another type: what is missing has all bits set in each."""
    out: Array = rows.astype(kind)
    out[rows == np.iinfo(rows.dtype).max] = np.iinfo(kind).max
    return out


def hashes(codes: Array, tokens: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """A hash of each row, from the tokens of its levels."""
    out = np.zeros(codes.shape[1], dtype=np.uint64)
    for column, own in zip(codes, tokens, strict=True):
        out ^= own[np.minimum(column, np.array(len(own) - 1).astype(column.dtype))]
    return np.asarray(_mix(out))


def tokens_of(known: Sequence[Levels | None], sizes: Array) -> list[NDArray[np.uint64]]:
    """A number for each level of each column, and last one for what is missing, that goes by the level's label and not
    by the order in which labels were met. Integers and intervals go by their number."""
    ends = np.cumsum(sizes + 1)
    column = np.repeat(np.arange(1, len(sizes) + 1, dtype=np.uint64), sizes + 1)
    own = np.arange(len(column), dtype=np.uint64) - np.repeat((ends - sizes - 1).astype(np.uint64), sizes + 1)
    own[ends - 1] = 1 << 62
    for levels, size, end in zip(known, sizes.tolist(), ends.tolist(), strict=False):
        for v, label in enumerate(() if levels is None else levels.labels[:size], end - size - 1):
            if isinstance(label, int) and not isinstance(label, bool) and 0 <= label < 1 << 31:
                own[v] = label
            else:
                text = f"{type(label).__name__}:{label!r}".encode("utf-8", "backslashreplace")
                own[v] = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
    mixed = _mix(_mix(own) + column)
    return [mixed[end - size - 1 : end] for size, end in zip(sizes.tolist(), ends.tolist(), strict=True)]


def _mix(x: Array) -> Array:
    """splitmix64"""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))
