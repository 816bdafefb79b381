"""Is a column of strings text, to be read word by word, or are its values names of categories, or of rows?"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tallybayes import _core
from tallybayes.data.datetimes import is_date
from tallybayes.data.raw_column import RawColumn
from tallybayes.utils.array_types import Array

LOOKED_AT = 2000  # values from the top
FEW_WORDS = 3.0  # pieces between spaces on average; fewer are names, unless there are many of them
MANY_VALUES = 20
LONG = 8.0  # characters on average, where a script has no spaces
MANY_ROWS = 50  # with a value, from which values of their own show anything
OWN = 0.95  # values of their own, for each row that has one, from which nothing is to be learned of a category
LETTERS = re.compile(r"[^\W\d_]")
UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U000323af]"
)


def mostly_repeats(column: RawColumn) -> bool:
    """Are half of the first values ones that came before? Then they are neither texts nor names of rows, which columns
    in Arrow's form tell without becoming Python's strings: those take ten times as long."""
    if column.storage != "arrow" or column.kind != "categorical" or len(column.values) < MANY_ROWS:
        return False
    try:
        codes, levels, _ = _core.arrow_codes(column.values[:LOOKED_AT], _core.LevelList(), True)
    except (_core.BadRow, _core.BadValue, TypeError, ValueError):  # who encodes them will say
        return False
    there = np.count_nonzero(np.asarray(codes) >= 0)
    return bool(there >= MANY_ROWS and 2 * len(levels) <= there)


def looks_like_text(column: RawColumn) -> bool:
    """Mostly distinct strings that have letters and spaces, or are long and of a script without spaces."""
    if column.kind == "text":
        return True
    if column.kind != "categorical" or column.storage not in ("arrow", "objects") or column.declared is not None:
        return False
    return is_text(_first(column, column.values, LOOKED_AT))


def is_text(values: list[object]) -> bool:
    """The same of plain values; None is missing."""
    texts: list[str] = values if set(map(type, values)) == {str} else [v for v in values if isinstance(v, str)]  # type: ignore[assignment]
    if 2 * len(set(texts)) <= len(texts) or len(texts) < sum(v is not None for v in values):
        return False
    with_letters = [v for v in texts if LETTERS.search(v)]  # dates and numbers have none
    if 2 * len(with_letters) <= len(texts):
        return False
    unspaced = sum(len(UNSPACED.findall(v)) for v in texts)
    if 2 * unspaced > sum(map(len, texts)):
        return unspaced > LONG * len(texts) and len(texts) > 1
    return _has_words([len(v.split()) for v in texts])


def _has_words(pieces: list[int]) -> bool:
    """Mostly more than one piece between spaces, and on average so many as suit the number of values."""
    n = len(pieces)
    if 2 * sum(k > 1 for k in pieces) <= n:
        return False
    return sum(pieces) / n >= (2 * FEW_WORDS if n == 1 else FEW_WORDS if n < MANY_VALUES else 2.0)


def looks_like_id(column: RawColumn, counted: Array | None = None) -> bool:
    """Strings that are different in nearly every row, and no text: the first rows show it, then all are counted.

    counted: which rows have a weight, None: all.
    """
    if column.kind != "categorical" or column.scale is not None or column.storage not in ("arrow", "objects", "coded"):
        return False
    if column.storage == "coded" and column.declared is not None and len(column.declared) < OWN * MANY_ROWS:
        return False  # whichever rows have a value
    values = column.values
    if counted is not None and not counted.all():
        values = _of_rows(values, counted)
    if len(values) < MANY_ROWS:
        return False
    some = [v for v in _first(column, values, LOOKED_AT) if v is not None]
    if len(some) >= MANY_ROWS and len(set(some)) < OWN * len(some):
        return False
    if any(not isinstance(v, str | bytes) for v in some) or is_text(some):
        return False
    there, different = _different(values, column.storage)
    return there >= MANY_ROWS and different >= OWN * there


def looks_like_date(column: RawColumn) -> bool:
    """Are the first values dates, as ISO 8601 writes them?"""
    some = _first(column, column.values, MANY_ROWS)
    return all(v is None or (isinstance(v, str) and is_date(v)) for v in some) and any(v is not None for v in some)


def _first(column: RawColumn, values: Any, most: int) -> list[Any]:
    """The first of the values as plain ones; none if they cannot be read, which who encodes them will say."""
    try:
        return RawColumn(values[:most], column.storage, column.kind, declared=column.declared).plain()
    except UnicodeDecodeError:
        return []


def _of_rows(values: Any, rows: Array) -> Any:
    """Some of the values of a column of any library."""
    if hasattr(values, "iloc"):
        return values[rows]
    return values.filter(rows) if hasattr(values, "filter") else values[rows]


def _different(values: Any, storage: str) -> tuple[int, int]:
    """How many values there are, and how many different ones: counted by the library that has them."""
    if storage == "coded":
        found = values[values >= 0]
        return len(found), len(np.unique(found))
    if storage == "objects":
        found = [v for v in values.tolist() if v is not None]
        return len(found), len(set(found))
    if hasattr(values, "drop_null"):  # pyarrow
        found = values.drop_null()
        return len(found), len(found.unique())
    found = values.drop_nulls() if hasattr(values, "drop_nulls") else values.dropna()
    return len(found), int(found.n_unique() if hasattr(found, "n_unique") else found.nunique())
