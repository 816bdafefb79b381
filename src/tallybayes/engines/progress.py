"""How far a pass over the rows is, on standard error, if a person watches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

EVERY = 0.3  # seconds


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Gives a function to be told of rows that are done."""
    screen = sys.stderr
    if screen is None or not screen.isatty():
        yield lambda _: None
        return
    done, shown = 0, monotonic()

    def advance(rows: int) -> None:
        nonlocal done, shown
        done += rows
        if monotonic() - shown >= EVERY:
            shown = monotonic()
            share = f" of {total:,} ({done / total:.0%})" if total else ""
            screen.write(f"\r\x1b[2Ktallybayes: {what}: {done:,} rows{share}")
            screen.flush()

    try:
        yield advance
    finally:
        screen.write("\r\x1b[2K")
        screen.flush()
