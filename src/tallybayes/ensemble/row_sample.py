"""Row sample: a mergeable bottom-k sample by hash (Cohen & Kaplan 2007).

The sample holds the rows with the smallest hashes of their values, as many as SAMPLE_BYTES have room for at one byte a
code. Equal rows of a class are one entry with the sum of their weights. So the sample does not depend on the order of
rows, a row of weight 2 equals the row twice, and the sample of a union is the combination of the samples. Up to
capacity() distinct rows it holds all of them, and forgetting is exact; beyond, a row that was left out does not return
when others are forgotten. Its first rows are a smaller sample of the same kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.ensemble.canonical_order import hashes, mix
from tallybayes.utils.array_types import Array

Codes = np.dtype[np.uint8] | np.dtype[np.uint16] | np.dtype[np.uint32]

SAMPLE_BYTES = 1 << 26  # of codes, classes, weights and hashes
MIN_ROWS = 8000  # that are sampled however many columns there are
ROW_BYTES = 20  # class, weight and hash of one row


def capacity(columns: int) -> int:
    """How many distinct rows a sample of so many columns holds at most."""
    return max(MIN_ROWS, SAMPLE_BYTES // (columns + ROW_BYTES))


@dataclass(frozen=True, eq=False)
class RowSample:
    """Codes of levels (columns, rows), all bits set where missing; class, weight and ascending hash of each row."""

    codes: Array
    label: NDArray[np.int32]
    weight: NDArray[np.float64]
    key: NDArray[np.uint64]


def code_type(sizes: Array) -> Codes:
    """The smallest type with a spare code for missing values."""
    top = int(sizes.max(initial=0))
    return np.dtype(np.uint8) if top <= 255 else np.dtype(np.uint16) if top <= 65535 else np.dtype(np.uint32)


def empty_sample(sizes: Array) -> RowSample:
    """The sample of no rows."""
    none = np.zeros((len(sizes), 0), dtype=code_type(sizes))
    return RowSample(none, np.zeros(0, dtype=np.int32), np.zeros(0), np.zeros(0, dtype=np.uint64))


def candidates(codes: Array, sizes: Array, tokens: list[NDArray[np.uint64]], y: Array, w: Array | None) -> RowSample:
    """The rows that may be in the sample, in their own order."""
    most = capacity(len(codes))
    at = np.flatnonzero(y >= 0 if w is None else (y >= 0) & (w > 0))
    key = hashes(codes, tokens)[at]
    if len(at) > 4 * most:  # at most so many distinct hashes stay
        distinct = np.unique(key)
        if len(distinct) > most:
            at, key = at[key <= distinct[most - 1]], key[key <= distinct[most - 1]]
    rows = retyped(codes[:, at], code_type(sizes))
    weight = np.ones(len(at)) if w is None else w[at]
    return RowSample(rows, y[at], weight, key)


def deduplicated(s: RowSample) -> RowSample:
    """Equal rows (by hash and class) as one; rows whose weights cancel are dropped; at most capacity()."""
    order = np.argsort(s.key, kind="stable")  # which is fast where two samples follow one another
    equal = s.key[order[1:]] == s.key[order[:-1]]
    ties = order[tied := np.append(equal, False) | np.insert(equal, 0, False)] if len(order) else order
    if len(ties):
        order[tied] = ties[np.lexsort((s.label[ties], s.key[ties]))]
    key, label = s.key[order], s.label[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (key[1:] != key[:-1]) | (label[1:] != label[:-1])
    own, place = s.weight[order], np.cumsum(new) - 1
    weight, scale = np.bincount(place, weights=own), np.bincount(place, weights=np.abs(own))
    left = np.flatnonzero(weight > 1e-9 * scale)[: capacity(len(s.codes))]
    return replace(picked(s, order[new][left]), weight=weight[left].astype(np.float64, copy=False))


def combined(a: RowSample, b: RowSample, sign: int = 1) -> RowSample:
    """The sample of the union of a and b, or of a without b (sign = -1)."""
    return union([a, b if sign > 0 else replace(b, weight=-b.weight)])


def union(many: Sequence[RowSample]) -> RowSample:
    """The sample of all of these rows."""
    kind = np.result_type(*(s.codes.dtype for s in many))
    codes = np.concatenate([s.codes if s.codes.dtype == kind else retyped(s.codes, kind) for s in many], axis=1)
    label, weight, key = ([getattr(s, name) for s in many] for name in ("label", "weight", "key"))
    return deduplicated(RowSample(codes, np.concatenate(label), np.concatenate(weight), np.concatenate(key)))


def picked(s: RowSample, which: Array) -> RowSample:
    """Some of the rows."""
    return RowSample(np.ascontiguousarray(s.codes[:, which]), s.label[which], s.weight[which], s.key[which])


def first_rows(s: RowSample, count: int) -> RowSample:
    """The smaller sample of so many rows."""
    return s if len(s.label) <= count else picked(s, np.arange(count))


def with_classes(s: RowSample, to: Array) -> RowSample:
    """Class c becomes class to[c]; rows of a negative class are dropped."""
    label = to[s.label].astype(np.int32)
    return deduplicated(picked(replace(s, label=label), np.flatnonzero(label >= 0)))


def with_levels(s: RowSample, sizes: Array, maps: Sequence[NDArray[np.int64] | None]) -> RowSample:
    """Level v of column j becomes level maps[j][v]; labels, and so hashes, stay the same."""
    kind = code_type(sizes)
    rows = retyped(s.codes, kind)
    for j, m in enumerate(maps):
        if m is not None:
            here = rows[j] != np.iinfo(kind).max
            rows[j, here] = m[rows[j, here].astype(np.intp)]
    return replace(s, codes=rows)


def check(s: RowSample, sizes: Array, K: int) -> None:
    """Raise ValueError if a file does not hold a row sample."""
    codes, label, weight, key = s.codes, s.label, s.weight, s.key
    m = len(label)
    if (
        codes.dtype.kind != "u"
        or codes.dtype.itemsize > 4
        or codes.shape != (len(sizes), m)
        or m > capacity(len(sizes))
    ):
        raise ValueError("'sample_codes' are not codes of the columns")
    if label.dtype != np.int32 or label.shape != (m,) or ((label < 0) | (label >= K)).any():
        raise ValueError("'sample_label' does not hold classes")
    if weight.dtype != np.float64 or weight.shape != (m,) or not (np.isfinite(weight) & (weight > 0)).all():
        raise ValueError("'sample_weight' does not hold weights")
    if ((codes >= sizes[:, None]) & (codes != np.iinfo(codes.dtype).max)).any():
        raise ValueError("'sample_codes' hold codes without a level")
    if key.dtype != np.uint64 or key.shape != (m,) or (key[1:] < key[:-1]).any():
        raise ValueError("'sample_key' are not the hashes of the rows in ascending order")


def retyped(rows: Array, kind: np.dtype[Any]) -> Array:
    """A copy in another type; missing values have all bits set in each."""
    out: Array = rows.astype(kind)
    out[rows == np.iinfo(rows.dtype).max] = np.iinfo(kind).max
    return out


def class_order(sample: RowSample, K: int) -> NDArray[np.intp]:
    """The classes in canonical order: by the hashes of their rows in the sample."""
    own = np.zeros(K, dtype=np.uint64)
    np.add.at(own, sample.label, mix(sample.key))
    return np.argsort(own, kind="stable")


def with_class_ranks(sample: RowSample, rank: Array) -> RowSample:
    """The sample with class c as rank[c]; equal rows of several classes in the order of these."""
    label = rank[sample.label].astype(np.int32)
    found = replace(sample, label=label)
    new = sample.key[1:] == sample.key[:-1]
    return picked(found, np.lexsort((label, sample.key))) if (new & (label[1:] < label[:-1])).any() else found
