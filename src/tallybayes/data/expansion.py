"""Input table → the columns that models read: dates are expanded into parts, identifiers are left out.

The expansion is chosen from the first rows and kept in the schema; models never see a date.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from tallybayes.data import datetimes as mo
from tallybayes.data.datetimes import Datetimes, TemporalKind
from tallybayes.data.raw_column import RawColumn, is_missing, object_column
from tallybayes.data.table import Table
from tallybayes.errors import TableError
from tallybayes.utils.array_types import Array

What = Literal["column", "id"] | TemporalKind
TEMPORAL_KINDS: tuple[str, ...] = get_args(TemporalKind)
NUMBER = {"date": "days since 1970", "datetime": "days since 1970", "duration": "days", "time": "hours"}
CALENDAR_PARTS = {"date": ("year", "month", "weekday"), "datetime": ("year", "month", "weekday", "hour")}
LABELS: dict[str, tuple[object, ...]] = {"month": mo.MONTHS, "weekday": mo.WEEKDAYS, "hour": mo.HOURS}
FIRST = {"month": 1, "weekday": 1, "hour": 0}  # as a number: January and Monday are 1
DAY_MICROSECONDS = 86_400 * 10**6  # microseconds


@dataclass(frozen=True)
class Expansion:
    """What becomes of one column of the input table.

    Parameters
    ----------
    name : str or None
        Its name, where columns have names.
    what : {'column', 'id', 'date', 'datetime', 'duration', 'time'}, default='column'
        'column': read as it is; 'id': an identifier, left out; the others are expanded into parts.
    parts : tuple of str, default=()
        The parts of a date: 'days since 1970', 'year', 'month', 'weekday', 'hour'; of a duration 'days', of a time of
        day 'hours'.
    zone : str, default=None
        The time zone in whose local time the parts are computed.
    """

    name: str | None
    what: What = "column"
    parts: tuple[str, ...] = ()
    zone: str | None = None

    def columns(self, j: int) -> tuple[str, ...]:
        """Names of the columns that the model reads.

        Parameters
        ----------
        j : int
            Its position in the input table.

        Returns
        -------
        tuple of str
            None, one, or one for each part.
        """
        if self.what in ("column", "id"):
            return (self.called(j),) if self.what == "column" else ()
        return tuple(self.by_part(j).values())

    def by_part(self, j: int) -> dict[str, str]:
        """Names of the columns of its parts.

        Parameters
        ----------
        j : int
            Its position in the input table.

        Returns
        -------
        dict from str to str
            By part.
        """
        return {part: f"{self.called(j)}: {part}" for part in self.parts}

    def called(self, j: int) -> str:
        """Its name, or a name by position.

        Parameters
        ----------
        j : int
            Its position in the input table.

        Returns
        -------
        str
            Such as 'x0' where columns have no names.
        """
        return f"x{j}" if self.name is None else self.name

    def __str__(self) -> str:
        if self.what in ("column", "id"):
            return "a column as it is" if self.what == "column" else "id  left out"
        zone = "" if self.zone is None else f" in {self.zone}"
        return f"{self.what}{zone} ({', '.join(self.parts)})"


def expanded_names(expansion: Sequence[Expansion]) -> tuple[str, ...]:
    """Names of the columns after the expansion."""
    names = [name for j, g in enumerate(expansion) for name in g.columns(j)]
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise TableError(f"Several columns are called {twice!r}: one of them is a part of a date. Rename the other.")
    return tuple(names)


def expansion_of(column: RawColumn, name: str | None, at: int, said: object, counted: Array | None) -> Expansion:
    """The expansion of a temporal column: the parts that vary, or all parts if it is declared a date."""
    called = f"x{at}" if name is None else name
    found: Datetimes = column.values if column.storage == "datetimes" else as_datetimes(column, called, "datetime")
    number = NUMBER[found.sort]
    if found.sort in ("duration", "time") or said in ("real", "count"):
        return Expansion(name, found.sort, (number,), found.zone)
    parts = CALENDAR_PARTS[found.sort]
    if said != "date":
        there = ~np.isnat(found.ticks) if counted is None else counted & ~np.isnat(found.ticks)
        which = Datetimes(found.ticks[there], found.sort, found.zone)
        parts = tuple(part for part in parts if _varies(_calendar(which, found.zone, part)))
    return Expansion(name, found.sort, (number, *parts), found.zone)


def _varies(values: Array) -> bool:
    return len(values) > 0 and bool((values != values[0]).any())


def expand(columns: Iterable[RawColumn], expansion: Sequence[Expansion]) -> tuple[RawColumn, ...]:
    """The columns that the model reads, in order."""
    out: list[RawColumn] = []
    for j, (column, g) in enumerate(zip(columns, expansion, strict=True)):
        if g.what == "column":
            out.append(column)
        elif g.what != "id":
            out += _parts(column, g, g.called(j))
    return tuple(out)


def expand_table(table: Table, expansion: Sequence[Expansion]) -> Table:
    """The expanded table; its input columns are in the order of the expansion."""
    assert table.columns is not None
    names = expanded_names(expansion)
    return replace(table, d=len(names), names=names, columns=expand(table.columns, expansion))


def _parts(column: RawColumn, g: Expansion, name: str) -> list[RawColumn]:
    found = as_datetimes(column, name, g.what)  # type: ignore[arg-type]
    missing = np.isnat(found.ticks)
    out = []
    for part in g.parts:
        if part in LABELS:
            codes = np.where(missing, -1, _calendar(found, g.zone, part)).astype(np.int8)
            scale = tuple(float(i + FIRST[part]) for i in range(len(LABELS[part])))
            out.append(RawColumn(codes, "coded", "categorical", declared=LABELS[part], scale=scale))
        elif part == "year":
            out.append(RawColumn(np.where(missing, np.nan, _calendar(found, g.zone, part)), "numbers", "real"))
        else:
            number = mo.fractions(found, g.zone)
            out.append(RawColumn(24 * number if part == "hours" else number, "numbers", "real"))
    return out


def _calendar(m: Datetimes, zone: str | None, part: str) -> Array:
    days, left, per_day = mo.split(m, zone)
    if part == "hour":
        return left * 24 // per_day
    return {"year": mo.years, "month": mo.months, "weekday": mo.weekdays}[part](days)


def as_datetimes(column: RawColumn, name: str, sort: TemporalKind) -> Datetimes:
    """A column where dates, times or durations are expected; strings are parsed."""
    if column.storage == "datetimes":
        found: Datetimes = column.values
        if found.sort == sort or {found.sort, sort} <= {"date", "datetime"}:
            return found
        raise TableError(
            f"Column {name!r} holds {found.sort}s, and the model learned {sort}s there. Give {sort}s.", column=name
        )
    values = column.plain()
    if column.kind in ("categorical", "text") or all(v is None for v in values):
        return mo.from_strings(values, name, sort)
    row = next(i for i, v in enumerate(values) if v is not None)
    raise mo.unparsed(name, row, values[row], sort)


# --- one row, and the inverse --------------------------------------------------------------------------------


def expand_row(row: Mapping[Any, Any], expansion: Sequence[Expansion]) -> dict[Any, Any]:
    """One row with the columns that the model reads; a missing date has no parts."""
    out = dict(row)
    for j, g in enumerate(expansion):
        name = g.called(j)
        if g.what == "column" or name not in out:
            continue
        v = out.pop(name)
        if g.what == "id" or is_missing(v):
            continue
        if g.what in CALENDAR_PARTS and isinstance(v, dt.date) and getattr(v, "tzinfo", None) is None:
            clock = _clock(v)
            out.update({column: clock[part] for part, column in g.by_part(j).items()})
            continue
        values = np.empty(1, dtype=object)
        values[0] = v
        for part, column in zip(g.columns(j), _parts(object_column(values, name), g, name), strict=True):
            out[part] = column.plain()[0] if column.storage == "coded" else float(column.values[0])
    return out


def _clock(v: dt.date) -> dict[str, object]:
    """The parts of one date, equal to those of a table."""
    days, left = divmod(mo.micro(v), DAY_MICROSECONDS)
    month, weekday = mo.MONTHS[v.month - 1], mo.WEEKDAYS[v.weekday()]
    number = {NUMBER["date"]: days + left / DAY_MICROSECONDS, "year": float(v.year)}
    return {**number, "month": month, "weekday": weekday, "hour": getattr(v, "hour", 0)}


def collapse(parts: Mapping[str, Array], g: Expansion) -> Array:
    """Datetimes from sampled parts: the day from the day number, the hour from the hour if there is one."""
    number = np.asarray(parts[g.parts[0]], dtype=np.float64)
    missing = np.isnan(number)
    number = np.where(missing, 0.0, number)
    if g.what in ("duration", "time"):
        micro = np.rint(number * (DAY_MICROSECONDS / 24 if g.what == "time" else DAY_MICROSECONDS))
        micro = np.clip(micro, 0, DAY_MICROSECONDS - 1) if g.what == "time" else micro
        ticks: Array = micro.astype(np.int64).view("m8[us]")
    else:
        days = np.floor(number).astype(np.int64)
        left = np.rint((number - days) * DAY_MICROSECONDS).astype(np.int64)
        if "hour" in g.parts:
            hours = np.array([h if h is not None and h == h else -1 for h in parts["hour"].tolist()], dtype=np.int64)
            left = np.where(hours < 0, left, hours * (DAY_MICROSECONDS // 24) + left % (DAY_MICROSECONDS // 24))
        ticks = days.view("M8[D]") if g.what == "date" else (days * DAY_MICROSECONDS + left).view("M8[us]")
    ticks = ticks.copy()
    ticks[missing] = np.array("NaT", dtype=ticks.dtype)
    if g.what != "time":
        return ticks
    out = np.empty(len(ticks), dtype=object)
    out[:] = [None if np.isnat(t) else (dt.datetime.min + t.item()).time() for t in ticks]
    return out
