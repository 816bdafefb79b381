"""A table as it is given → the columns that models read: dates become parts, names of rows are left out.

It happens once, at the door. What becomes of each column is settled by the first rows and kept in the schema, so
that nothing behind it knows of dates.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from tallybayes.data import datetimes as mo
from tallybayes.data.datetimes import Moments, Sort
from tallybayes.data.raw_column import RawColumn, is_missing, object_column
from tallybayes.data.table import Table
from tallybayes.errors import TableError
from tallybayes.utils.array_types import Array

What = Literal["column", "id"] | Sort
SORTS: tuple[str, ...] = get_args(Sort)
NUMBER = {"date": "days since 1970", "datetime": "days since 1970", "duration": "days", "time": "hours"}
CALENDAR = {"date": ("year", "month", "weekday"), "datetime": ("year", "month", "weekday", "hour")}
LABELS: dict[str, tuple[object, ...]] = {"month": mo.MONTHS, "weekday": mo.WEEKDAYS, "hour": mo.HOURS}
FIRST = {"month": 1, "weekday": 1, "hour": 0}  # as a number: January and Monday are 1
DAY = 86_400 * 10**6  # microseconds


@dataclass(frozen=True)
class Given:
    """A column of the table as it is given, and what becomes of it.

    Parameters
    ----------
    name : str or None
        What it is called, where columns have names.
    what : {'column', 'id', 'date', 'datetime', 'duration', 'time'}, default='column'
        'column': it is read as it is; 'id': it names rows, and is left out; the others become their parts.
    parts : tuple of str, default=()
        The parts of a date: 'days since 1970', 'year', 'month', 'weekday', 'hour'; of a duration 'days', of a time of
        day 'hours'.
    zone : str, default=None
        The time zone on whose wall clock the parts are read.
    """

    name: str | None
    what: What = "column"
    parts: tuple[str, ...] = ()
    zone: str | None = None

    def columns(self, j: int) -> tuple[str, ...]:
        """Tell what the columns that are read are called.

        Parameters
        ----------
        j : int
            Its position in the table as it is given.

        Returns
        -------
        tuple of str
            None, one, or one for each part.
        """
        if self.what in ("column", "id"):
            return (self.called(j),) if self.what == "column" else ()
        return tuple(self.by_part(j).values())

    def by_part(self, j: int) -> dict[str, str]:
        """Tell what the columns of its parts are called.

        Parameters
        ----------
        j : int
            Its position in the table as it is given.

        Returns
        -------
        dict from str to str
            By part.
        """
        return {part: f"{self.called(j)}: {part}" for part in self.parts}

    def called(self, j: int) -> str:
        """Tell its name, or the name that its place gives it.

        Parameters
        ----------
        j : int
            Its position in the table as it is given.

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


def names_read(given: Sequence[Given]) -> tuple[str, ...]:
    """What the columns that are read are called."""
    names = [name for j, g in enumerate(given) for name in g.columns(j)]
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise TableError(f"Several columns are called {twice!r}: one of them is a part of a date. Rename the other.")
    return tuple(names)


def given_of(column: RawColumn, name: str | None, at: int, said: object, counted: Array | None) -> Given:
    """What becomes of a column of moments. said: its kind, if the user says it; counted: which rows count.

    Parts are those that vary; of a column that is said to be a date, all that it can have.
    """
    called = f"x{at}" if name is None else name
    found: Moments = column.values if column.storage == "moments" else as_moments(column, called, "datetime")
    number = NUMBER[found.sort]
    if found.sort in ("duration", "time") or said in ("real", "count"):
        return Given(name, found.sort, (number,), found.zone)
    parts = CALENDAR[found.sort]
    if said != "date":
        there = ~np.isnat(found.ticks) if counted is None else counted & ~np.isnat(found.ticks)
        which = Moments(found.ticks[there], found.sort, found.zone)
        parts = tuple(part for part in parts if _varies(_calendar(which, found.zone, part)))
    return Given(name, found.sort, (number, *parts), found.zone)


def _varies(values: Array) -> bool:
    return len(values) > 0 and bool((values != values[0]).any())


def spread(columns: Iterable[RawColumn], given: Sequence[Given]) -> tuple[RawColumn, ...]:
    """The columns that are read, of those that are given, in their order."""
    out: list[RawColumn] = []
    for j, (column, g) in enumerate(zip(columns, given, strict=True)):
        if g.what == "column":
            out.append(column)
        elif g.what != "id":
            out += _parts(column, g, g.called(j))
    return tuple(out)


def spread_table(table: Table, given: Sequence[Given]) -> Table:
    """The same rows with the columns that are read; table: with those that are given, in their order."""
    assert table.columns is not None
    names = names_read(given)
    return replace(table, d=len(names), names=names, columns=spread(table.columns, given))


def _parts(column: RawColumn, g: Given, name: str) -> list[RawColumn]:
    found = as_moments(column, name, g.what)  # type: ignore[arg-type]
    gaps = np.isnat(found.ticks)
    out = []
    for part in g.parts:
        if part in LABELS:
            codes = np.where(gaps, -1, _calendar(found, g.zone, part)).astype(np.int8)
            scale = tuple(float(i + FIRST[part]) for i in range(len(LABELS[part])))
            out.append(RawColumn(codes, "coded", "categorical", declared=LABELS[part], scale=scale))
        elif part == "year":
            out.append(RawColumn(np.where(gaps, np.nan, _calendar(found, g.zone, part)), "numbers", "real"))
        else:
            number = mo.fractions(found, g.zone)
            out.append(RawColumn(24 * number if part == "hours" else number, "numbers", "real"))
    return out


def _calendar(m: Moments, zone: str | None, part: str) -> Array:
    days, left, per_day = mo.split(m, zone)
    if part == "hour":
        return left * 24 // per_day
    return {"year": mo.years, "month": mo.months, "weekday": mo.weekdays}[part](days)


def as_moments(column: RawColumn, name: str, sort: Sort) -> Moments:
    """A column where dates, times or durations are expected: as such, or as strings; dates and datetimes for each
    other."""
    if column.storage == "moments":
        found: Moments = column.values
        if found.sort == sort or {found.sort, sort} <= {"date", "datetime"}:
            return found
        raise TableError(
            f"Column {name!r} holds {found.sort}s, and the model learned {sort}s there. Give {sort}s.", column=name
        )
    values = column.plain()
    if column.kind in ("categorical", "text") or all(v is None for v in values):
        return mo.of_strings(values, name, sort)
    row = next(i for i, v in enumerate(values) if v is not None)
    raise mo.unread(name, row, values[row], sort)


# --- one row, and back -------------------------------------------------------------------------------------------


def spread_row(row: Mapping[Any, Any], given: Sequence[Given]) -> dict[Any, Any]:
    """The same row with the columns that are read: one that is left out or missing has no parts."""
    out = dict(row)
    for j, g in enumerate(given):
        name = g.called(j)
        if g.what == "column" or name not in out:
            continue
        v = out.pop(name)
        if g.what == "id" or is_missing(v):
            continue
        if g.what in CALENDAR and isinstance(v, dt.date) and getattr(v, "tzinfo", None) is None:
            clock = _clock(v)
            out.update({column: clock[part] for part, column in g.by_part(j).items()})
            continue
        values = np.empty(1, dtype=object)
        values[0] = v
        for part, column in zip(g.columns(j), _parts(object_column(values, name), g, name), strict=True):
            out[part] = column.plain()[0] if column.storage == "coded" else float(column.values[0])
    return out


def _clock(v: dt.date) -> dict[str, object]:
    """The parts of one date, as a table of it would have them."""
    days, left = divmod(mo.micro(v), DAY)
    month, weekday = mo.MONTHS[v.month - 1], mo.WEEKDAYS[v.weekday()]
    number = {NUMBER["date"]: days + left / DAY, "year": float(v.year)}
    return {**number, "month": month, "weekday": weekday, "hour": getattr(v, "hour", 0)}


def gathered(parts: Mapping[str, Array], g: Given) -> Array:
    """Moments that were drawn as parts: the day is that of the number, the hour that of the hour, if there is one."""
    number = np.asarray(parts[g.parts[0]], dtype=np.float64)
    gaps = np.isnan(number)
    number = np.where(gaps, 0.0, number)
    if g.what in ("duration", "time"):
        micro = np.rint(number * (DAY / 24 if g.what == "time" else DAY))
        micro = np.clip(micro, 0, DAY - 1) if g.what == "time" else micro
        ticks: Array = micro.astype(np.int64).view("m8[us]")
    else:
        days = np.floor(number).astype(np.int64)
        left = np.rint((number - days) * DAY).astype(np.int64)
        if "hour" in g.parts:
            hours = np.array([h if h is not None and h == h else -1 for h in parts["hour"].tolist()], dtype=np.int64)
            left = np.where(hours < 0, left, hours * (DAY // 24) + left % (DAY // 24))
        ticks = days.view("M8[D]") if g.what == "date" else (days * DAY + left).view("M8[us]")
    ticks = ticks.copy()
    ticks[gaps] = np.array("NaT", dtype=ticks.dtype)
    if g.what != "time":
        return ticks
    out = np.empty(len(ticks), dtype=object)
    out[:] = [None if np.isnat(t) else (dt.datetime.min + t.item()).time() for t in ticks]
    return out
