"""How far a long call is: a line on standard error, where a person or a notebook watches; nothing elsewhere.

A pass over rows opens a line of its own (`progress`). A call of many stages opens one with `telling`; what runs inside,
however deep, says where it is (`stage`, `step`), and is heard only if the call was asked to tell.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import TextIO

REFRESH_SECONDS = 0.3  # seconds
WIDTH = 20  # characters of a bar


def watched(screen: TextIO | None) -> bool:
    """Whether a person sees what is written there: a terminal, or a notebook."""
    if screen is None:
        return False
    try:
        if screen.isatty():
            return True
    except ValueError:  # closed
        return False
    ipython = sys.modules.get("IPython")  # whoever has not imported it runs in no notebook
    return getattr(ipython.get_ipython(), "kernel", None) is not None if ipython is not None else False


class _Line:
    """One line that is written over again and again, and is gone at the end."""

    def __init__(self, screen: TextIO, what: str, unit: str = "") -> None:
        self._screen, self._what, self._unit = screen, what, unit
        self._shown, self._length = monotonic(), 0
        self.begin("")

    def begin(self, now: str, total: int | None = None) -> None:
        """Something else is going on, of so many steps if they are known."""
        self._now, self._total, self._done = now, total, 0
        if now:
            self._draw()

    def advance(self, steps: int = 1) -> None:
        """So many more are done. It is drawn a few times a second."""
        self._done += steps
        if monotonic() - self._shown >= REFRESH_SECONDS:
            self._draw()

    def clear(self) -> None:
        """Wipe the line."""
        self._write("")
        self._write("")  # back to the left

    def _draw(self) -> None:
        self._shown = monotonic()
        words = [f"tallybayes: {self._what}:" if self._now or self._unit else f"tallybayes: {self._what}", self._now]
        if self._unit:
            words.append(f"{self._done:,} {self._unit}" + (f" of {self._total:,}" if self._total else ""))
        if self._total:
            words += [self._bar(min(self._done / self._total, 1.0)), f"{self._done / self._total:.0%}"]
        self._write(" ".join(word for word in words if word))

    def _bar(self, share: float) -> str:
        full = int(share * WIDTH)
        bar = "█" * full + "░" * (WIDTH - full)
        try:
            bar.encode(getattr(self._screen, "encoding", None) or "utf-8")
        except UnicodeError:
            return "#" * full + "." * (WIDTH - full)
        return bar

    def _write(self, text: str) -> None:
        """Over what was there: a notebook knows no way to erase a line but to write over it."""
        try:
            self._screen.write("\r" + text.ljust(self._length))
            self._screen.flush()
        except (OSError, ValueError):  # the screen is gone; the call goes on
            pass
        self._length = len(text)


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Gives a function to call when rows are done."""
    screen = sys.stderr
    if not watched(screen):
        yield lambda _: None
        return
    line = _Line(screen, what, "rows")
    line.begin("", total)
    try:
        yield line.advance
    finally:
        line.clear()


_line: ContextVar[_Line | None] = ContextVar("line", default=None)


@contextmanager
def telling(what: str, on: bool) -> Iterator[None]:
    """What runs inside may say where it is; on: to whoever watches, else to nobody, not to a call around this one."""
    line = _Line(sys.stderr, what) if on and watched(sys.stderr) else None
    before = _line.set(line)
    try:
        yield
    finally:
        _line.reset(before)
        if line is not None:
            line.clear()


def stage(now: str, total: int | None = None) -> None:
    """What is going on from here, in so many steps if they are known."""
    line = _line.get()
    if line is not None:
        line.begin(now, total)


def step(steps: int = 1) -> None:
    """So many steps of the stage are done."""
    line = _line.get()
    if line is not None:
        line.advance(steps)
