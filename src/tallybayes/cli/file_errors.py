"""What pyarrow says of a file, in one sentence: the file, the column, and the line as an editor counts it.

pyarrow does not say where it stopped, so the file is read again, in plain Python, up to there. That costs time only
where a command fails.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Protocol

import pyarrow as pa

from tallybayes.cli.csv_dialect import OTHER_ENCODING, BrokenRowError, Dialect, records, text_of
from tallybayes.errors import TableError

MAX_BLOCK = 1 << 30  # bytes of text that are read at once, at most: a row has to fit into them


class ColumnHints(Protocol):
    """What is known of the columns; see `tables.Text`."""

    @property
    def types(self) -> Mapping[str, pa.DataType] | None:
        """The types that were asked for, by column."""

    @property
    def target(self) -> str | None:
        """The column of labels."""

    @property
    def learned(self) -> bool:
        """Whether a model says what the columns are."""

    @property
    def declarable(self) -> bool:
        """Whether kinds of columns can be declared for the model."""


class Speaking:
    """Turns pyarrow's errors into a TableError of one line."""

    def __init__(
        self, path: str, name: str, dialect: Dialect, columns: Sequence[str] = (), text: ColumnHints | None = None
    ) -> None:
        self.path, self.name, self.dialect, self.columns, self.text = path, name, dialect, columns, text

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, pa.ArrowException | UnicodeError | OSError | EOFError | zlib.error):
            raise TableError(f"{self.name}: {self._sentence(error)}") from None

    def _sentence(self, error: BaseException) -> str:
        text = str(error)
        if isinstance(error, UnicodeError):
            return f"it is not text in {self.dialect.encoding} all through: {text}. {OTHER_ENCODING}"
        bad = re.search(
            r"CSV column #(\d+)(?: \('.*?'\))?: (?:Row #\d+: )?CSV conversion error to (.+?): (.*)", text, re.S
        )
        if bad:
            value = re.search(r"invalid value '(.*)'", bad[3], re.S)
            return self._bad_value(int(bad[1]), bad[2], bad[3], value[1] if value else None)
        if isinstance(error, EOFError | zlib.error) or "compressed" in text.lower():
            return f"it is compressed and cannot be read to its end: {text.rstrip('.')}. Is it whole?"
        if "straddl" in text:
            return f"a row has more than {MAX_BLOCK >> 20} MB. Shorten it, or leave it out."
        if "CSV parse error" in text:
            return self._bad_row() or "it is no table in text. Is it another format? Let its name end so."
        if "JSON parse error" in text:
            text = re.sub(r" in row \d+$", "", text.rstrip("."))  # counted from somewhere in the file
            line = line_of_bad_json(self.path)
            return text + ("." if line is None else f" (line {line}).")
        return re.sub(r"\s+", " ", text)[:300]

    def _bad_value(self, j: int, type_: str, reason: str, value: str | None) -> str:
        column = self.columns[j] if j < len(self.columns) else f"number {j + 1}"
        if "UTF8" in reason:
            return f"column {column!r} is not text in UTF-8. {OTHER_ENCODING}"
        line = None if value is None else line_of_value(self.path, self.dialect, j, value)
        shown = (reason if value is None else f"{value!r:.60}") + (f" (line {line})" if line is not None else "")
        types, target, learned = (self.text.types, self.text.target, self.text.learned) if self.text else (None, "", 0)
        if learned and column in (types or {}):
            if column == target:
                return f"column {column!r} has {shown}; the classes of the model are {_plain(type_)}."
            return (
                f"column {column!r} has {shown}; the model learned {_plain(type_)} in this column. Correct it, or "
                "if it stands for a missing value, leave the cell empty."
            )
        declared = f"schema={{'{column}': 'categorical'}}"
        if self.text is not None and not self.text.declarable:
            declared = f"NaiveBayes({declared})"
        return (
            f"column {column!r} was taken for {_plain(type_)} and has {shown}. If it holds words, say {declared}; if "
            "that stands for a missing value, leave the cell empty."
        )

    def _bad_row(self) -> str | None:
        """A row with more or fewer cells than the first, or a quote that is not closed."""
        width = None
        try:
            with text_of(self.path, self.dialect.encoding) as file:
                for line, cells in records(file, self.dialect.separator):
                    width = width or len(cells)
                    if len(cells) != width:
                        first = f"{'names' if self.dialect.header else 'has'} {width}"
                        return f"line {line} has {len(cells)} cells, and the first line {first}. Correct it."
        except BrokenRowError as e:
            return f"the quotes in line {e.args[0]} do not match. Correct it."
        except (UnicodeError, OSError, EOFError):
            return None
        return "there is nothing but empty lines." if width is None else None


def _plain(type_: str) -> str:
    names = {"double": "numbers", "int64": "whole numbers", "bool": "true or false"}
    return names.get(type_, type_)


def line_of_row(path: str, dialect: Dialect, row: int) -> int | None:
    """The line that a row begins in, or None. Cells may have several lines, and some lines are empty."""
    try:
        with text_of(path, dialect.encoding) as file:
            for k, (line, _) in enumerate(records(file, dialect.separator)):
                if k == row + dialect.header:
                    return line
    except (BrokenRowError, UnicodeError, OSError, EOFError):
        pass
    return None


def line_of_bad_json(path: str) -> int | None:
    """The first line that is no JSON, where the lines before it are."""
    import json

    try:
        with text_of(path, "utf-8") as file:
            for line, text in enumerate(file, 1):
                try:
                    json.loads(text or "{}")
                except ValueError:
                    return line if line > 1 else None
    except (UnicodeError, OSError, EOFError):
        pass
    return None


def line_of_value(path: str, dialect: Dialect, column: int, value: str) -> int | None:
    """The line of the first row that has this value in this column."""
    try:
        with text_of(path, dialect.encoding) as file:
            for k, (line, cells) in enumerate(records(file, dialect.separator)):
                if k >= dialect.header and column < len(cells) and cells[column] == value:
                    return line
    except (BrokenRowError, UnicodeError, OSError, EOFError):
        pass
    return None
