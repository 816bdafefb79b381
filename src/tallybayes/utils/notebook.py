"""What a notebook shows of a result: small HTML tables. Every word is escaped; colours are those of the page.

A page may be light or dark, so nothing here has a colour of its own: lines are drawn in that of the text, thinner.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

MAX_TABLE_ROWS = 60  # rows of a table
CELL = "padding:2px 10px;border:none;background:none;vertical-align:top;"
BEST = "font-weight:bold;background:color-mix(in srgb, currentColor 10%, transparent);"
LINE = "border-bottom:1px solid color-mix(in srgb, currentColor 30%, transparent);"


def page(*parts: str) -> str:
    """One block of what `heading`, `table` and `paragraph` give; empty ones are left out."""
    return f'<div class="tallybayes" style="color:inherit">{"".join(parts)}</div>'


def heading(text: object) -> str:
    return f'<p style="margin:4px 0"><strong>{escape(str(text))}</strong></p>'


def paragraph(text: object) -> str:
    return f'<p style="margin:4px 0;max-width:60em">{escape(str(text))}</p>' if str(text) else ""


def table(
    head: Sequence[object], rows: Sequence[Sequence[object]], words: Sequence[int] = (0,), best: int | None = None
) -> str:
    """words: the columns that are read, not compared; they stand to the left, numbers to the right. best: a row that is
    marked."""
    if not rows:
        return ""
    lines = [
        _line("th", head, words, LINE),
        *(_line("td", row, words, BEST if i == best else "") for i, row in enumerate(rows[:MAX_TABLE_ROWS])),
    ]
    body = f'<table style="border-collapse:collapse;color:inherit;margin:4px 0">{"".join(lines)}</table>'
    return body + (paragraph(f"{len(rows) - MAX_TABLE_ROWS:,} more") if len(rows) > MAX_TABLE_ROWS else "")


class Bar(str):
    """A cell that is drawn: HTML made by `bar`."""

    __slots__ = ()


def bar(value: float, most: float, text: str, error: float = 0.0, both: bool = False) -> Bar:
    """A bar from 0 to `most`, or to both sides of 0, with a whisker of ± error, and the text beside it."""
    width, zero = (60, 60) if both else (60, 0)
    scale = width / most if most > 0 else 0.0
    end = zero + value * scale
    start, size = min(zero, end), max(abs(value) * scale, 1.0)
    whisker = ""
    if error > 0:
        low, high = end - error * scale, end + error * scale
        whisker = f'<line x1="{low:.1f}" x2="{high:.1f}" y1="6" y2="6" stroke="currentColor"></line>'
    picture = (
        f'<svg width="{zero + width + 14}" height="12" style="vertical-align:middle" aria-hidden="true">'
        f'<rect x="{start:.1f}" y="1" width="{size:.1f}" height="10" fill="currentColor" '
        f'opacity="{0.45 if value >= 0 else 0.2}"></rect>{whisker}</svg>'
    )
    return Bar(f'{picture} <span style="display:inline-block;min-width:4.5em">{escape(text)}</span>')


def _line(tag: str, cells: Sequence[object], words: Sequence[int], line: str = "") -> str:
    shown = []
    for j, cell in enumerate(cells):
        side = "left" if j in words else "right;white-space:nowrap"
        inside = cell if isinstance(cell, Bar) else escape(str(cell))
        shown.append(f'<{tag} style="{CELL}{line}text-align:{side}">{inside}</{tag}>')
    return f'<tr style="background:none">{"".join(shown)}</tr>'
