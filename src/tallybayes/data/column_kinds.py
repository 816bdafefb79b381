"""Is a column of strings text, a category or an identifier?"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tallybayes import _core
from tallybayes.data.datetimes import is_date
from tallybayes.data.raw_column import RawColumn
from tallybayes.utils.array_types import Array

INSPECTED_VALUES = 2000  # from the top
MIN_WORDS = 3.0  # per value on average for text; less where there are many values
MANY_VALUES = 20  # from which two words per value on average are text
MIN_UNSPACED_LENGTH = 8.0  # characters per value on average for text in a script without spaces
MIN_ROWS = 50  # with a value; fewer say nothing about repetition
ID_SHARE = 0.95  # distinct values per row from which a column is an identifier
LETTERS = re.compile(r"[^\W\d_]")
UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U000323af]"
)


def mostly_repeats(column: RawColumn) -> bool:
    """Whether half of the first values of an Arrow column repeat: then it is neither text nor an identifier."""
    if column.storage != "arrow" or column.kind != "categorical" or len(column.values) < MIN_ROWS:
        return False
    try:
        codes, levels, _ = _core.arrow_codes(column.values[:INSPECTED_VALUES], _core.LevelList(), True)
    except (_core.BadRow, _core.BadValue, TypeError, ValueError):  # the encoder reports it
        return False
    there = np.count_nonzero(np.asarray(codes) >= 0)
    return bool(there >= MIN_ROWS and 2 * len(levels) <= there)


def looks_like_text(column: RawColumn) -> bool:
    """Mostly distinct strings that have letters and spaces, or are long and of a script without spaces."""
    if column.kind == "text":
        return True
    if column.kind != "categorical" or column.storage not in ("arrow", "objects") or column.declared is not None:
        return False
    return is_text(_first(column, column.values, INSPECTED_VALUES))


def is_text(values: list[object]) -> bool:
    """The same for plain values; None is missing."""
    texts: list[str] = values if set(map(type, values)) == {str} else [v for v in values if isinstance(v, str)]  # type: ignore[assignment]
    if 2 * len(set(texts)) <= len(texts) or len(texts) < sum(v is not None for v in values):
        return False
    with_letters = [v for v in texts if LETTERS.search(v)]  # dates and numbers have none
    if 2 * len(with_letters) <= len(texts):
        return False
    unspaced = sum(len(UNSPACED.findall(v)) for v in texts)
    if 2 * unspaced > sum(map(len, texts)):
        return unspaced > MIN_UNSPACED_LENGTH * len(texts) and len(texts) > 1
    return _has_words([len(v.split()) for v in texts])


def _has_words(pieces: list[int]) -> bool:
    """Whether most values have several words, and enough on average. pieces: words per value."""
    n = len(pieces)
    if 2 * sum(k > 1 for k in pieces) <= n:
        return False
    return sum(pieces) / n >= (2 * MIN_WORDS if n == 1 else MIN_WORDS if n < MANY_VALUES else 2.0)


def looks_like_id(column: RawColumn, counted: Array | None = None) -> bool:
    """Strings that are distinct in nearly every row and are no text. counted: rows of positive weight (None: all)."""
    if column.kind != "categorical" or column.scale is not None or column.storage not in ("arrow", "objects", "coded"):
        return False
    if column.storage == "coded" and column.declared is not None and len(column.declared) < ID_SHARE * MIN_ROWS:
        return False
    values = column.values
    if counted is not None and not counted.all():
        values = _of_rows(values, counted)
    if len(values) < MIN_ROWS:
        return False
    some = [v for v in _first(column, values, INSPECTED_VALUES) if v is not None]
    if len(some) >= MIN_ROWS and len(set(some)) < ID_SHARE * len(some):
        return False
    if any(not isinstance(v, str | bytes) for v in some) or is_text(some):
        return False
    there, distinct = _count_distinct(values, column.storage)
    return there >= MIN_ROWS and distinct >= ID_SHARE * there


def looks_like_date(column: RawColumn) -> bool:
    """Whether the first values are dates in ISO 8601."""
    some = _first(column, column.values, MIN_ROWS)
    return all(v is None or (isinstance(v, str) and is_date(v)) for v in some) and any(v is not None for v in some)


def _first(column: RawColumn, values: Any, most: int) -> list[Any]:
    """The first values as Python objects; none if they cannot be decoded, which the encoder reports."""
    try:
        return RawColumn(values[:most], column.storage, column.kind, declared=column.declared).plain()
    except UnicodeDecodeError:
        return []


def _of_rows(values: Any, rows: Array) -> Any:
    """Some values of a column of any library."""
    if hasattr(values, "iloc"):
        return values[rows]
    if "_view" in str(getattr(values, "type", "")):  # pyarrow filters no views
        values = values.cast("string")
    return values.filter(rows) if hasattr(values, "filter") else values[rows]


def _count_distinct(values: Any, storage: str) -> tuple[int, int]:
    """Number of values and of distinct values."""
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
