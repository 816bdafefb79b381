"""Dates, times of day and durations: parsing, time zones and calendar fields.

Values are held as NumPy's datetime64 or timedelta64. Those with a time zone are held in UTC and converted to local
time only where calendar fields are computed. Years before 1 and after 9999 are allowed.
"""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import OptionError, TableError
from tallybayes.utils.array_types import Array

TemporalKind = Literal["date", "datetime", "duration", "time"]
Ints = NDArray[np.int64]
NAT = np.iinfo(np.int64).min
PER_DAY = {"D": 1, "h": 24, "m": 1440, "s": 86_400, "ms": 86_400_000, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}
# units that become days, and how many are still days
MAX_CALENDAR_UNITS = {"Y": 3_000_000, "M": 36_000_000, "W": 150_000_000}
PER_MICROSECOND = {"ps": 10**6, "fs": 10**9, "as": 10**12}
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
HOURS = tuple(range(24))
OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d\d):?(\d\d)")
DAY_NANOSECONDS = 86_400 * 10**9
FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # of the years 1 to 9999, which zones know
THURSDAY = 3  # 1970-01-01 was one


@dataclass(frozen=True, slots=True)
class Datetimes:
    """A temporal column. ticks: datetime64 or timedelta64, NaT is missing; with a zone they are in UTC."""

    ticks: Array
    sort: TemporalKind
    zone: str | None = None

    def labels(self) -> list[str | None]:
        """The values in ISO 8601; None is missing."""
        days, left, per_day = split(self, self.zone)
        return [
            None if absent else _written(self.sort, d, r * (86_400 * 10**6) // per_day)
            for absent, d, r in zip(np.isnat(self.ticks).tolist(), days.tolist(), left.tolist(), strict=True)
        ]


def _written(sort: TemporalKind, day: int, micro: int) -> str:
    if sort == "duration":
        return f"{day + micro / (86_400 * 10**6):.9g} days"
    clock = str(dt.timedelta(microseconds=micro))
    clock = "0" * (clock.index(":") == 1) + clock
    if sort == "time":
        return clock
    written = str(np.datetime64(day, "D"))
    return written if sort == "date" else f"{written}T{clock}"


def split(m: Datetimes, zone: str | None) -> tuple[Ints, Ints, int]:
    """Whole days since 1970, ticks into the day, and ticks per day, in local time of the zone. Missing values are 0."""
    unit = np.datetime_data(m.ticks.dtype)[0]
    missing = np.isnat(m.ticks)
    if unit in MAX_CALENDAR_UNITS:
        if (np.abs(np.where(missing, 0, m.ticks.view(np.int64))) > MAX_CALENDAR_UNITS[unit]).any():
            raise TableError("A date is more than 3,000,000 years from 1970. Mark it missing (None or NaT).")
        ticks = m.ticks.astype(f"{m.ticks.dtype.kind}8[D]")
    elif unit not in PER_DAY:  # smaller than nanoseconds: some hours around 1970; or no unit, where all are missing
        ticks = m.ticks.astype(f"{m.ticks.dtype.kind}8[ns]")
    else:
        ticks = m.ticks
    unit, many = np.datetime_data(ticks.dtype)
    per_day = PER_DAY[unit]
    whole = np.where(missing, 0, ticks.view(np.int64))
    if many != 1:  # such as datetime64[15m]
        whole = whole * many
    if zone is not None and m.zone is not None and zone != "UTC":
        second = per_day // 86_400  # no table has zones in units longer than a second
        whole = whole + second * _offsets(whole // per_day, (whole % per_day) // second, zone)
    return whole // per_day, whole % per_day, per_day


def instants(m: Datetimes) -> Ints:
    """Nanoseconds since 1970, wrapped where they are too many."""
    days, left, per_day = split(m, None)
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(days * np.int64(DAY_NANOSECONDS) + left * np.int64(DAY_NANOSECONDS // per_day))


def fractions(m: Datetimes, zone: str | None) -> NDArray[np.float64]:
    """Days since 1970, or of a duration, with their fraction; NaN is missing."""
    days, left, per_day = split(m, zone)
    return np.where(np.isnat(m.ticks), np.nan, days + left / per_day)


def years(days: Ints) -> Ints:
    """The year of each day."""
    return np.asarray(days.view("M8[D]").astype("M8[Y]").view(np.int64) + 1970)


def months(days: Ints) -> Ints:
    """The month of each day, from 0."""
    return np.asarray(days.view("M8[D]").astype("M8[M]").view(np.int64) % 12)


def weekdays(days: Ints) -> Ints:
    """The weekday of each day; Monday is 0."""
    return (days + THURSDAY) % 7


# --- zones -------------------------------------------------------------------------------------------------------


def zone_name(zone: object) -> str | None:
    """The IANA name of a time zone of any library, or its offset as +02:00; UTC if it has neither."""
    if zone is None:
        return None
    name = str(getattr(zone, "key", None) or getattr(zone, "zone", None) or zone)
    fixed = OFFSET.fullmatch(name)
    if fixed:
        return "UTC" if fixed[2] == fixed[3] == "00" else f"{fixed[1]}{fixed[2]}:{fixed[3]}"
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return _fixed(zone)
    return "UTC" if name in ("UTC", "Etc/UTC", "Zulu", "GMT") else name


def _fixed(zone: object) -> str:
    """The fixed offset of a zone without a known name, or UTC."""
    try:
        found = zone.utcoffset(None) if isinstance(zone, dt.tzinfo) else None
    except Exception:  # a tzinfo of the user's own that needs a datetime
        found = None
    if not found or found % dt.timedelta(minutes=1):
        return "UTC"
    hours, minutes = divmod(abs(found) // dt.timedelta(minutes=1), 60)
    return f"{'-' if found < dt.timedelta(0) else '+'}{hours:02d}:{minutes:02d}"


def _offsets(days: Ints, seconds: Ints, zone: str) -> Ints:
    """UTC offset of a zone in seconds; on most days it is the same all day."""
    fixed = OFFSET.fullmatch(zone)
    if fixed:
        ahead = 3600 * int(fixed[2]) + 60 * int(fixed[3])
        return np.full(len(days), -ahead if fixed[1] == "-" else ahead, dtype=np.int64)
    try:
        info = zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise OptionError(
            f"The time zone {zone!r:.60} is not known here. Install the package tzdata, or give times in UTC."
        ) from None
    days = np.clip(days, FIRST_DAY + 1, LAST_DAY - 2)
    some, which = np.unique(days, return_inverse=True)
    start = np.array([_ahead(info, day, 0) for day in some.tolist()], dtype=np.int64)
    end = np.array([_ahead(info, day + 1, 0) for day in some.tolist()], dtype=np.int64)
    out = start[which.reshape(-1)]
    for row in np.flatnonzero((start != end)[which.reshape(-1)]).tolist():
        out[row] = _ahead(info, int(days[row]), int(seconds[row]))
    return out


def _ahead(info: dt.tzinfo, day: int, second: int) -> int:
    at = dt.datetime.fromordinal(day - FIRST_DAY + 1).replace(tzinfo=dt.UTC) + dt.timedelta(seconds=second)
    found = at.astimezone(info).utcoffset() or dt.timedelta(0)
    return round(found.total_seconds())


# --- Python's objects, and strings -------------------------------------------------------------------------------

EPOCH = dt.datetime(1970, 1, 1)
MICROSECOND = dt.timedelta(microseconds=1)
MOST_DAYS = 106_000_000  # in microseconds they fit into 64 bits
DATES = (dt.date, np.datetime64)  # datetime and pandas' Timestamp are dates
SPANS = (dt.timedelta, np.timedelta64)


def temporal_kind(kinds: Sequence[type]) -> TemporalKind | None:
    """The temporal kind that holds objects of all these types; None if they are not temporal."""
    if kinds and all(issubclass(t, DATES) for t in kinds):
        return "date" if all(t is dt.date for t in kinds) else "datetime"
    if kinds and all(issubclass(t, SPANS) for t in kinds):
        return "duration"
    return "time" if kinds and all(issubclass(t, dt.time) for t in kinds) else None


def from_objects(values: Array, sort: TemporalKind) -> Datetimes:
    """Temporal objects of Python, NumPy and pandas; None is missing. Mixed zones are read in UTC."""
    zones = set(map(_zone_of, values.tolist())) - {""} if sort == "datetime" else {None}
    zone = next(iter(zones)) if len(zones) == 1 else "UTC"
    ticks = np.array([NAT if v is None else micro(v) for v in values.tolist()], dtype=np.int64)
    return Datetimes(ticks.view("m8[us]" if sort in ("duration", "time") else "M8[us]"), sort, zone)


def _zone_of(v: object) -> str | None:
    """The zone of a datetime; '' for a missing value and for a date."""
    if isinstance(v, dt.datetime):
        return None if v.tzinfo is None else zone_name(v.tzinfo)
    return None if isinstance(v, np.datetime64) else ""


def check_unit(dtype: np.dtype[Any], value: np.datetime64 | np.timedelta64) -> None:
    """Refuse a datetime64 or timedelta64 without a unit."""
    if np.datetime_data(dtype)[0] == "generic" and not np.isnat(value):
        raise TableError(
            f"{value!r:.60} has no unit. Give it one, as in np.timedelta64(5, 's'), or give the number itself.",
            value=value,
        )


def micro(v: Any) -> int:
    """Microseconds since 1970, or of a duration or since midnight."""
    if isinstance(v, np.datetime64 | np.timedelta64):
        kind = v.dtype.kind
        check_unit(v.dtype, v)
        unit, many = np.datetime_data(v.dtype)
        if unit in PER_MICROSECOND:  # NumPy's conversion to days overflows
            return int(v.view(np.int64)) * many // PER_MICROSECOND[unit]
        if abs(int(v.astype(f"{kind}8[D]").view(np.int64))) > MOST_DAYS:
            raise TableError(f"The date {v!s:.60} is more than 290,000 years from 1970. Mark it missing (None or NaT).")
        return int(v.astype(f"{kind}8[us]").view(np.int64))
    if isinstance(v, dt.time):
        return int(((v.hour * 60 + v.minute) * 60 + v.second) * 10**6 + v.microsecond)
    if isinstance(v, dt.timedelta):
        return int(v // MICROSECOND)
    if not isinstance(v, dt.datetime):
        return int(v.toordinal() - EPOCH.toordinal()) * 86_400 * 10**6
    try:
        behind: dt.timedelta = v.utcoffset() or dt.timedelta(0)
    except Exception as e:  # a tzinfo of the user's own
        raise TableError(
            f"The time zone of {v!r:.60} gives no offset ({e!s:.60}). Use zoneinfo.ZoneInfo or datetime.timezone.",
            value=v,
        ) from None
    clock = (v.hour * 60 + v.minute) * 60 + v.second
    return int(((v.toordinal() - EPOCH.toordinal()) * 86_400 + clock) * 10**6 + v.microsecond) - behind // MICROSECOND


def from_strings(values: Sequence[object], name: str, sort: TemporalKind) -> Datetimes:
    """Parse dates and times in ISO 8601; None is missing. sort: the kind that is expected."""
    read: Callable[[str], object] = dt.time.fromisoformat if sort == "time" else _date_of
    known: dict[object, object] = {None: None}
    for row, v in enumerate(values):
        if v not in known:
            try:
                known[v] = read(v.strip()) if isinstance(v, str) and sort != "duration" else _refuse()
            except ValueError:
                raise unparsed(name, row, v, sort) from None
    found = np.empty(len(values), dtype=object)
    found[:] = [known[v] for v in values]
    types = list(set(map(type, known.values())) - {type(None)})
    return from_objects(found, "time" if sort == "time" else temporal_kind(types) or "date")


def _date_of(text: str) -> object:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return dt.datetime.fromisoformat(text)


def is_date(text: str) -> bool:
    """Is it a date as ISO 8601 writes it, with its hyphens?"""
    try:
        return "-" in text and _date_of(text) is not None
    except ValueError:
        return False


def is_time(text: str) -> bool:
    """Is it a time of day as ISO 8601 writes it, with its colons?"""
    try:
        return ":" in text and "-" not in text and dt.time.fromisoformat(text.strip()) is not None
    except ValueError:
        return False


def written_times(values: Sequence[object]) -> Iterator[tuple[list[int], Datetimes]]:
    """Where strings are dates, and where times of day, and what they say."""
    kinds: tuple[tuple[TemporalKind, Callable[[str], bool]], ...] = (("datetime", is_date), ("time", is_time))
    for sort, fits in kinds:
        at = [i for i, v in enumerate(values) if type(v) is str and fits(v)]
        if at:
            yield at, from_strings([values[i] for i in at], "", sort)


def _refuse() -> object:
    raise ValueError


def unparsed(name: str, row: int, v: object, sort: TemporalKind) -> TableError:
    wanted = {"duration": "durations (timedelta)", "time": "times, such as datetime.time or '18:30'"}.get(
        sort, "dates, or strings of ISO 8601 such as '2024-02-29' or '2024-02-29T18:30'"
    )
    return TableError(
        f"Column {name!r} has {v!r:.60} (row {row}), which is no {sort}. Give {wanted}, or mark it as missing (None).",
        column=name,
        row=row,
        value=v,
    )
