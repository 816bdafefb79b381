"""Is a column of strings text, to be read word by word, or are its values names of categories?"""

from __future__ import annotations

import re

from tallybayes.raw import RawColumn

LOOKED_AT = 2000  # values from the top
FEW_WORDS = 3.0  # pieces between spaces on average; fewer are names, unless there are many of them
MANY_VALUES = 20
LONG = 8.0  # characters on average, where a script has no spaces
LETTERS = re.compile(r"[^\W\d_]")
UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U000323af]"
)


def looks_like_text(column: RawColumn) -> bool:
    """Mostly distinct strings that have letters and spaces, or are long and of a script without spaces."""
    if column.kind == "text":
        return True
    if column.kind != "categorical" or column.storage not in ("arrow", "objects") or column.declared is not None:
        return False
    try:
        values = RawColumn(column.values[:LOOKED_AT], column.storage, column.kind).plain()
    except UnicodeDecodeError:  # refused when it is read, with its row
        return False
    return is_text(values)


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
    spaced = sum(len(v.split()) > 1 for v in texts)
    if 2 * spaced <= len(texts):
        return False
    pieces = sum(len(v.split()) for v in texts) / len(texts)
    return pieces >= (FEW_WORDS if 1 < len(texts) < MANY_VALUES else 2 * FEW_WORDS if len(texts) == 1 else 2.0)
