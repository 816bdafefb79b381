"""How the text of a table is written: separator, decimal sign, encoding, names in the first line.

What is not said is guessed from the first megabyte, and a guess other than the usual is noted. A guess must explain all
of the lines that are looked at; otherwise the usual stays, and whatever does not fit is an error or a note elsewhere.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import pyarrow as pa

from tallybayes.errors import TableError

OTHER_ENCODING = "Read it with its own encoding, such as cp1252, and give the table."  # `output` has it for commands
SEPARATORS = ",;\t| "
BLOCK_BYTES = 1 << 20  # bytes of text that are looked at, and that are parsed at a time
MAX_GUESSING_ROWS = 200  # rows that separators and decimal signs are guessed from
COMMA = re.compile(r"\s*[+-]?\d+(,\d+)?([eE][+-]?\d+)?\s*")
POINT = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
THOUSANDS = re.compile(r"\s*[+-]?\d{1,3}(,\d{3})+\s*")
CURRENCY = r"(?:[$€£¥]|EUR|USD|GBP|CHF)"
SIGNED = re.compile(  # numbers with signs that are not read: 1.200,50  1,200.50  $900.00  12 %
    rf"\s*[+-]?{CURRENCY}?\s*[+-]?\d+(?:[.,'\u2019\u00a0\u202f]\d{{3}})*(?:[.,]\d+)?\s*(?:%|{CURRENCY})?\s*"
)
DAY_PATTERN = re.compile(  # 03.01.2025, 1/3/25
    r"\s*\d{1,2}([./-])\d{1,2}\1(?:\d{2}|\d{4})(?:[ T]\d{1,2}:\d{2}(?::\d{2})?)?\s*"
)
SEPARATOR_NAMES = {"\t": "tab", " ": "space"}


@dataclass(frozen=True)
class Dialect:
    """header: the first line names the columns; else they are called x0, x1 and so on."""

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    header: bool = True


@dataclass(frozen=True)
class Said:
    """What is said of the text; None is to be guessed."""

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None


class BrokenRowError(Exception):
    """A row that cannot be cut into cells; its argument is the line that it begins in."""


def text_of(path: str, encoding: str) -> io.TextIOWrapper:
    """A file as text, unpacked where its name says that it is packed."""
    return io.TextIOWrapper(pa.input_stream(path), "utf-8-sig" if encoding == "utf-8" else encoding, newline="")


def records(text: Any, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a text as cells, each with the number of the line that it begins in. Empty lines are none."""
    csv.field_size_limit(sys.maxsize)
    reader, line = csv.reader(text, delimiter=separator, strict=True), 1
    try:
        for cells in reader:
            if cells:
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as e:
        raise BrokenRowError(line) from e


def names_of(columns: int) -> list[str]:
    """Of a table whose first line does not name them."""
    return [f"x{j}" for j in range(columns)]


def width(path: str, dialect: Dialect) -> int:
    """How many cells the first row has."""
    with text_of(path, dialect.encoding) as file:
        return next((len(cells) for _, cells in records(file, dialect.separator)), 0)


def guess(
    path: str, name: str, usual: Dialect, said: Said, null_values: Collection[str], wanted: Collection[str]
) -> tuple[Dialect, str | None]:
    """The dialect of a file, and a sentence on what was guessed other than usual.

    null_values: what stands for missing values. wanted: names of columns that there have to be.
    """
    with pa.input_stream(path) as file:
        head = file.read(BLOCK_BYTES)
    encoding = said.encoding or _encoding(head)
    sample = _decoded(head, encoding, name)
    whole = len(head) < BLOCK_BYTES
    separator = said.separator or _separator(sample, usual.separator, whole, wanted)
    rows = _first(sample, separator, whole)
    decimal = said.decimal or (_decimal(rows[1:], null_values) if separator != "," else usual.decimal)
    header = said.header if said.header is not None else not _without_names(rows, wanted)
    found = Dialect(separator, decimal, encoding, header)
    return found, _described(found, replace(usual, **{k: v for k, v in vars(said).items() if v is not None}))


def _encoding(head: bytes) -> str:
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if head[1:200:2].count(0) > 50:
        return "utf-16-le"
    if head[:200:2].count(0) > 50:
        return "utf-16-be"
    for encoding in ("utf-8", "gb18030", "cp1252"):
        try:
            codecs.getincrementaldecoder(encoding)().decode(head)
        except UnicodeDecodeError:
            continue
        if encoding != "gb18030" or _is_chinese(head):
            return encoding
    return "latin-1"


def _is_chinese(head: bytes) -> bool:
    """Whether bytes that gb18030 can read are Chinese: nearly any text of Western Europe can be read so too.

    Chinese comes in pairs of high bytes, most of them common letters (first byte B0 to D7). Accented letters stand
    alone between others, and the small ones are E0 to FF.
    """
    runs = re.findall(rb"[\x81-\xfe]+", head)
    high = sum(map(len, runs))
    firsts = [run[i] for run in runs if len(run) % 2 == 0 for i in range(0, len(run), 2)]
    common = sum(0xB0 <= first <= 0xD7 for first in firsts)
    return common >= 2 and 2 * len(firsts) >= 0.8 * high and common >= 0.5 * len(firsts)


def _decoded(head: bytes, encoding: str, name: str) -> str:
    try:
        return codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)().decode(head)
    except UnicodeDecodeError as e:
        line = head[: e.start].count(b"\n") + 1
        raise TableError(
            f"{name} is not text in {encoding}: line {line} has the byte {head[e.start]:#04x}. {OTHER_ENCODING}"
        ) from None


def _first(sample: str, separator: str, whole: bool) -> list[list[str]]:
    """The first rows; without the last, where the sample may have cut it."""
    rows = []
    try:
        for _, cells in islice(records(io.StringIO(sample, newline=""), separator), MAX_GUESSING_ROWS):
            rows.append(cells)
    except BrokenRowError:  # a quote that is not closed: reading the table will say so
        pass
    return rows if whole or len(rows) in (1, MAX_GUESSING_ROWS) else rows[:-1]


def _separator(sample: str, usual: str, whole: bool, wanted: Collection[str]) -> str:
    """The usual one unless it does not fit and another does: as many cells in each row, and more than one.

    Words have spaces between them in any text, so a space has to cut out the names that are wanted too.
    """
    fits = {}
    for separator in SEPARATORS:
        rows = _first(sample, separator, whole)
        widths = {len(cells) for cells in rows}
        if len(widths) == 1 and max(widths) > 1 and (separator != " " or (wanted and set(wanted) <= set(rows[0]))):
            fits[separator] = max(widths)
    return usual if usual in fits or not fits else max(fits, key=lambda s: fits[s])


def _decimal(rows: list[list[str]], null_values: Collection[str]) -> str:
    """A comma if there is a column of such numbers and none with points; 1,234 and the like alone say nothing."""
    commas = False
    for column in zip(*rows, strict=False):
        cells = [cell for cell in column if cell not in null_values]
        if any("." in cell for cell in cells) and all(POINT.fullmatch(cell) for cell in cells):
            return "."
        with_comma = [cell for cell in cells if "," in cell]
        if with_comma and all(COMMA.fullmatch(cell) for cell in cells):
            commas |= not all(THOUSANDS.fullmatch(cell) for cell in with_comma)
    return "," if commas else "."


def _without_names(rows: list[list[str]], wanted: Collection[str]) -> bool:
    """The names that are wanted are not in the first line, and are those of a table without names."""
    if not rows or not wanted or set(wanted) <= set(rows[0]):
        return False
    return set(wanted) <= set(names_of(len(rows[0])))


def _described(found: Dialect, usual: Dialect) -> str | None:
    parts, options = [], []
    if found.encoding != usual.encoding:
        parts.append(f"encoding {found.encoding}")
        options.append("--encoding")
    if found.separator != usual.separator:
        parts.append(f"separator {SEPARATOR_NAMES.get(found.separator, repr(found.separator))}")
        options.append("--separator")
    if found.decimal != usual.decimal:
        parts.append(f"decimal sign {found.decimal!r}")
        options.append("--decimal")
    if found.header != usual.header:
        parts.append("no names in the first line, so columns are x0, x1 and so on")
        options.append("--no-header")
    if not parts:
        return None
    return f"guessed {', '.join(parts)}. To say it yourself: {', '.join(options)}."


def numbers_in(cells: Collection[str], decimal: str) -> int:
    """How many cells are numbers."""
    number = COMMA if decimal == "," else POINT
    return sum(number.fullmatch(cell) is not None for cell in cells)
