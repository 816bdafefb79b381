"""What fits a terminal: long lines folded, wide tables cut to the columns that there is room for.

Only where a person looks: a pipe or a file gets every line and every column as they are.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

SEPARATOR = "  "
MAX_CELL_LENGTH = 24  # characters of a cell
ELLIPSIS = "…"


def width() -> int | None:
    """Characters in a line of the terminal that the result goes to; None if it goes elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def folded(text: str, room: int) -> str:
    """Lines that are too long go on in the next, further to the right."""
    return "\n".join(_folded(line, room) for line in text.split("\n"))


def _folded(line: str, room: int) -> str:
    if len(line) <= room:
        return line
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.fill(
        line.lstrip(),
        room,
        initial_indent=indent,
        subsequent_indent=indent + "    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def fitted(tables: Iterator[Any], room: int) -> tuple[Iterator[Any] | None, Iterator[str], int]:
    """Tables as they are if their lines fit, else as aligned lines of the columns that do; and how many do not."""
    first = next(tables, None)
    if first is None or _line_of(first) <= room:
        return chain([] if first is None else [first], tables), iter(()), 0
    widths = [_width(first, j) for j in range(first.num_columns)]
    shown = _chosen(widths, room)
    lines = chain(
        [_row(dict(enumerate(first.column_names)), shown, widths)], _rows(chain([first], tables), shown, widths)
    )
    return None, lines, first.num_columns - len(shown)


def _line_of(table: Any) -> int:
    """Characters of its longest line as CSV, about."""
    head = table.slice(0, 100).to_pylist()
    rows = [table.column_names, *(list(map(_full, row.values())) for row in head)]
    return max(sum(len(cell) + 3 for cell in row) for row in rows)


def _full(value: object) -> str:
    return "" if value is None else str(value)


def _cell(value: object) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else _full(value)
    return text if len(text) <= MAX_CELL_LENGTH else text[: MAX_CELL_LENGTH - 1] + ELLIPSIS


def _width(table: Any, j: int) -> int:
    cells = table.column(j).slice(0, 100).to_pylist()
    return max(len(_cell(value)) for value in (table.column_names[j], *cells))


def _chosen(widths: Sequence[int], room: int) -> list[int]:
    """The columns from the left that fit, and the last: of drawn rows that is the class."""
    last = len(widths) - 1
    left = room - widths[last] - len(SEPARATOR) - len(ELLIPSIS)
    shown = []
    for j in range(last):
        left -= widths[j] + len(SEPARATOR)
        if left < 0:
            break
        shown.append(j)
    return [*shown, last]


def _row(values: Mapping[int, object], shown: Sequence[int], widths: Sequence[int]) -> str:
    cells = []
    for j, after in zip(shown, [*shown[1:], shown[-1] + 1], strict=True):
        text = _cell(values[j])[: widths[j]]
        cells.append(text.rjust(widths[j]) if isinstance(values[j], int | float) else text.ljust(widths[j]))
        if after != j + 1:
            cells.append(ELLIPSIS)
    return SEPARATOR.join(cells).rstrip()


def _rows(tables: Iterator[Any], shown: Sequence[int], widths: Sequence[int]) -> Iterator[str]:
    for table in tables:
        for row in zip(*(table.column(j).to_pylist() for j in shown), strict=True):
            yield _row(dict(zip(shown, row, strict=True)), shown, widths)
