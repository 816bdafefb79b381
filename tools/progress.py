"""Runs a command that would be silent or talkative for minutes (pip, with -v), and says in a line what it is at.

    python tools/progress.py LOG COMMAND…

What the command says goes into the file LOG. On a terminal the line is rewritten; elsewhere a line is printed whenever
something else begins, and for every tenth of what is compiled. Warnings are let through, and if the command fails, its
last lines are printed and its exit status is ours.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

STEPS = (
    (re.compile(r"^\s*(?:Collecting|Downloading|Obtaining) (?:\S*/)?([\w.\-]+)"), "fetching {}"),
    (re.compile(r"^\s*(?:Getting requirements|Preparing|Installing build)"), "preparing"),
    (re.compile(r"^\s*\[(\d+)/(\d+)\] (?:Building|Linking)"), "compiling {} of {}"),
    (re.compile(r"^\s*Installing collected packages"), "unpacking what was fetched"),
)


def step(line: str) -> str | None:
    """What a line of pip or ninja says is going on, if anything."""
    for pattern, said in STEPS:
        if found := pattern.match(line):
            return said.format(*found.groups())
    return None


def worth_a_line(now: str, before: str) -> bool:
    """Where lines stay: every tenth of what is compiled, and each step once (what is fetched comes in dozens)."""
    here, there = (re.match(r"compiling (\d+) of (\d+)", text) for text in (now, before))
    if here and there:
        tenth, last = (int(found[1]) * 10 // max(1, int(found[2])) for found in (here, there))
        return tenth != last
    return now.split()[0] != before.split()[0] if before else True


class Line:
    """One line on a terminal, or lines that stay."""

    def __init__(self) -> None:
        self.terminal = sys.stdout.isatty()
        self.kept = ""
        self.started = time.monotonic()

    def say(self, text: str) -> None:
        if self.terminal:
            width = shutil.get_terminal_size().columns - 1
            print("\r\033[K" + f"  {text} ({time.monotonic() - self.started:.0f} s)"[:width], end="", flush=True)
        elif worth_a_line(text, self.kept):
            print(f"  {text}", flush=True)
            self.kept = text

    def pass_on(self, text: str) -> None:
        print(("\r\033[K" if self.terminal else "") + text, flush=True)

    def end(self) -> None:
        if self.terminal:
            print("\r\033[K", end="", flush=True)


def main() -> int:
    log, command = Path(sys.argv[1]), sys.argv[2:]
    log.parent.mkdir(parents=True, exist_ok=True)
    line, last = Line(), deque[str](maxlen=60)
    line.say("asking for what is needed")
    with (
        log.open("w", encoding="utf-8") as kept,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        ) as running,
    ):
        assert running.stdout is not None
        for said in running.stdout:
            kept.write(said)
            last.append(said.rstrip())
            if said.lstrip().startswith(("WARNING:", "DEPRECATION:")):
                line.pass_on(said.rstrip())
            elif now := step(said):
                line.say(now)
    line.end()
    if running.returncode:
        print(*last, sep="\n", file=sys.stderr)
        print(f"\nThat failed. All that was said is in {log}.", file=sys.stderr)
    return running.returncode


if __name__ == "__main__":
    sys.exit(main())
