"""One column of a row store: numbers, labels by code, categories of a type, or times; labels no row has are dropped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.datetimes import Datetimes, written_times
from tallybayes.data.raw_column import RawColumn, object_column
from tallybayes.errors import TableError
from tallybayes.utils.array_types import Array

Form = Literal["numbers", "labels", "categories", "times"]
CALENDAR = {"date", "datetime"}
FORGOTTEN_NUMBER = -(2**62)  # numbers that nobody uses as a category


@dataclass(frozen=True, eq=False)
class StoredColumn:
    """values: numbers, codes of labels (−1: missing), or ticks. kind, integer, scale: as RawColumn has them.

    times: the sort and zone of temporal values.
    """

    form: Form
    values: Array
    labels: tuple[Any, ...] = ()
    kind: str = "categorical"
    integer: bool = False
    scale: tuple[float, ...] | None = None
    times: tuple[Any, ...] = ()

    def raw(self, name: str) -> RawColumn:
        """The column as a table has it."""
        if self.form == "numbers":
            return RawColumn(self.values, "numbers", self.kind, self.integer)  # type: ignore[arg-type]
        if self.form == "categories":
            return RawColumn(self.values, "coded", self.kind, self.integer, self.labels, self.scale)  # type: ignore[arg-type]
        if self.form == "times":
            return RawColumn(Datetimes(self.values, *self.times), "datetimes", "date")
        objects = self.objects()
        if self.kind == "text":
            return RawColumn(objects, "objects", "text")
        if self.labels and all(type(v) is str for v in self.labels):  # as object_column finds, value by value
            return RawColumn(objects, "objects", "categorical")
        return object_column(objects, name)

    def objects(self) -> Array:
        """The values as Python objects; None is missing."""
        if self.form == "times":
            return _objects(Datetimes(self.values, *self.times).labels())
        if self.form == "numbers":
            return _objects([None if v != v else v for v in self.values.tolist()])
        return _objects([*self.labels, None])[self.values]

    def taken(self, at: NDArray[np.intp]) -> StoredColumn:
        """Some of the rows; labels by first appearance, categories that no row has any more without their names."""
        values = np.ascontiguousarray(self.values[at])
        if self.form == "categories":
            before, after = (_present(v, len(self.labels)) for v in (self.values, values))
            lost = np.flatnonzero(before & ~after)
            return replace(
                self, values=values, labels=unnamed(self.labels, lost.tolist()) if len(lost) else self.labels
            )
        if self.form != "labels":
            return replace(self, values=values)
        first = np.full(len(self.labels) + 1, -1)  # the last: of missing values
        first[values[::-1]] = np.arange(len(values))[::-1]  # of equal codes the last to be set is their first row
        used = np.flatnonzero(first[:-1] >= 0)
        used = used[np.argsort(first[used])]
        to = np.full(len(self.labels) + 1, -1, dtype=np.int32)
        to[used] = np.arange(len(used))
        return replace(self, values=to[values], labels=tuple(self.labels[v] for v in used.tolist()))


def stored(c: RawColumn) -> StoredColumn:
    """A column of a table, copied."""
    if c.storage == "numbers":
        return StoredColumn("numbers", np.array(c.values), kind=c.kind, integer=c.integer)
    if c.storage == "coded":
        assert c.declared is not None
        return StoredColumn("categories", np.asarray(c.values, dtype=np.int32), c.declared, c.kind, c.integer, c.scale)
    if c.storage == "datetimes":
        return StoredColumn("times", np.array(c.values.ticks), kind="date", times=(c.values.sort, c.values.zone))
    return _labelled(c.values.tolist() if c.storage == "objects" else c.plain(), "text" if c.kind == "text" else "")


def joined(a: StoredColumn, b: StoredColumn, name: str) -> StoredColumn:
    """The rows of both, in the form of the first where that loses nothing; TableError if no column holds both."""
    if b.form == "labels" and not b.labels:  # missing values fit into any form
        return replace(a, values=np.concatenate([a.values, _missing(a, len(b.values))]))
    if a.form == "labels" and not a.labels:
        return replace(b, values=np.concatenate([_missing(b, len(a.values)), b.values]))
    if a.form == b.form == "numbers":
        return _joined_numbers(a, b)
    if a.form == "times" and b.form == "labels":
        b = _parsed(b)
    if a.form == b.form == "times" and _alike(a.times, b.times):
        times = a.times if a.times == b.times else ("datetime", a.times[1])
        return replace(a, values=np.concatenate([a.values, _as_type(b.values, a.values.dtype)]), times=times)
    known = b.form == "labels" and set(map(_typed, b.labels)) <= set(map(_typed, a.labels))
    if a.form == "categories" and (b.form == "categories" or known):
        return _joined_categories(a, b)
    return _joined_objects(a, b, name)


def _alike(one: tuple[Any, ...], two: tuple[Any, ...]) -> bool:
    """Whether times of these sorts and zones can stand in one column."""
    return one == two or (one[1] == two[1] and {one[0], two[0]} == CALENDAR)


def _parsed(c: StoredColumn) -> StoredColumn:
    """Labels that are all dates, or all times of day, as such; others as they are."""
    for at, times in written_times(c.labels):
        if len(at) == len(c.labels):
            ticks = np.append(times.ticks, np.array(["NaT"], dtype=times.ticks.dtype))
            return StoredColumn("times", ticks[c.values], kind="date", times=(times.sort, times.zone))
    return c


def _joined_numbers(a: StoredColumn, b: StoredColumn) -> StoredColumn:
    kind = a.kind if a.kind == b.kind else "real"
    values = _as_type(b.values, a.values.dtype)
    same = values.dtype == a.values.dtype
    return StoredColumn("numbers", np.concatenate([a.values, values]), (), kind, a.integer and (b.integer or same))


def _joined_categories(a: StoredColumn, b: StoredColumn) -> StoredColumn:
    """Categories, and other categories or labels among them: those of both."""
    index = {_typed(v): code for code, v in enumerate(a.labels)}
    labels = (*a.labels, *(v for v in b.labels if _typed(v) not in index))
    index |= {_typed(v): code for code, v in enumerate(labels)}
    to = np.array([*(index[_typed(v)] for v in b.labels), -1], dtype=np.int32)
    scale = None
    if a.scale is not None and b.scale is not None:
        of_label = dict(zip(b.labels, b.scale, strict=True)) | dict(zip(a.labels, a.scale, strict=True))
        scale = tuple(of_label[v] for v in labels)
    values = np.concatenate([a.values, to[b.values]])
    return StoredColumn("categories", values, labels, a.kind, a.integer and b.integer, scale)


def _joined_objects(a: StoredColumn, b: StoredColumn, name: str) -> StoredColumn:
    """Labels of any kind, where a table could have them in one column."""
    kind = "text" if "text" in (a.kind, b.kind) else ""
    found = _labelled([*a.objects().tolist(), *b.objects().tolist()], kind)
    if not all(type(v) is str for v in found.labels):
        try:
            object_column(_objects([*found.labels]), name)
        except TableError as error:
            before, now = (next((v for v in c.objects() if v is not None), None) for c in (a, b))
            raise TableError(
                f"Column {name!r} cannot hold values like {before!r:.60} of the rows kept and values like {now!r:.60} "
                "of the new rows. Give the new rows the type of the others, or mark those values as missing (None).",
                column=name,
                value=now,
            ) from error
    return found


def _missing(c: StoredColumn, n: int) -> Array:
    if c.form == "numbers":
        return np.full(n, np.nan)
    return np.full(n, "NaT", dtype=c.values.dtype) if c.form == "times" else np.full(n, -1, dtype=np.int32)


def _as_type(values: Array, kind: np.dtype[Any]) -> Array:
    """In another type, if that changes no value."""
    with np.errstate(invalid="ignore", over="ignore"):
        found = values.astype(kind)
        same = found.astype(values.dtype) == values
    return found if (same | (values != values)).all() and not (found.dtype.kind in "iu" and not same.all()) else values


def _typed(label: Any) -> Any:
    return label if type(label) is str else (type(label), label)


def unnamed(labels: tuple[Any, ...], codes: list[int]) -> tuple[Any, ...]:
    """The labels with some of them replaced by names that say nothing: a type lists so many, whatever their names."""
    out = list(labels)
    for code in codes:
        is_number = isinstance(labels[code], int | float) and not isinstance(labels[code], bool)
        if not isinstance(labels[code], bool):
            out[code] = FORGOTTEN_NUMBER - code if is_number else f"(forgotten {code})"
    return tuple(out)


def is_unnamed(label: Any, code: int) -> bool:
    """Whether this stands for a name that was forgotten."""
    return type(label) in (int, str) and label in (FORGOTTEN_NUMBER - code, f"(forgotten {code})")


def _labelled(values: list[Any], kind: str) -> StoredColumn:
    codes: dict[Any, int] = {}
    out = np.empty(len(values), dtype=np.int32)
    for i, v in enumerate(values):  # 1, 1.0 and True are different labels
        out[i] = -1 if v is None else codes.setdefault(_typed(v), len(codes))
    labels = tuple(v if type(v) is str else v[1] for v in codes)
    return StoredColumn("labels", out, labels, kind or "categorical")


def _objects(values: list[Any]) -> Array:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _present(codes: Array, size: int) -> NDArray[np.bool_]:
    return np.bincount(codes[codes >= 0], minlength=size)[:size] > 0
