"""What a notebook shows of a result: small HTML tables. Every word is escaped; colours are those of the page.

A page may be light or dark, so nothing here has a colour of its own: lines are drawn in that of the text, thinner.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

MOST = 60  # rows of a table
CELL = "padding:2px 10px;border:none;background:none;vertical-align:top;"
LINE = "border-bottom:1px solid color-mix(in srgb, currentColor 30%, transparent);"


def page(*parts: str) -> str:
    """One block of what `heading`, `table` and `paragraph` give; empty ones are left out."""
    return f'<div class="tallybayes" style="color:inherit">{"".join(parts)}</div>'


def heading(text: object) -> str:
    return f'<p style="margin:4px 0"><strong>{escape(str(text))}</strong></p>'


def paragraph(text: object) -> str:
    return f'<p style="margin:4px 0;max-width:60em">{escape(str(text))}</p>' if str(text) else ""


def table(head: Sequence[object], rows: Sequence[Sequence[object]], words: Sequence[int] = (0,)) -> str:
    """words: the columns that are read, not compared; they stand to the left, numbers to the right."""
    if not rows:
        return ""
    lines = [_line("th", head, words, LINE), *(_line("td", row, words) for row in rows[:MOST])]
    body = f'<table style="border-collapse:collapse;color:inherit;margin:4px 0">{"".join(lines)}</table>'
    return body + (paragraph(f"{len(rows) - MOST:,} more") if len(rows) > MOST else "")


def _line(tag: str, cells: Sequence[object], words: Sequence[int], line: str = "") -> str:
    shown = [
        f'<{tag} style="{CELL}{line}text-align:{"left" if j in words else "right"}">{escape(str(cell))}</{tag}>'
        for j, cell in enumerate(cells)
    ]
    return f'<tr style="background:none">{"".join(shown)}</tr>'
