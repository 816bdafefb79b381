"""What a person sees: tables and lines that fit the terminal, whole summaries. What a machine gets is never cut."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tallybayes.cli import terminal
from tallybayes.cli.commands import COMMANDS, summary
from tests.cli.test_program import ENVIRONMENT
from tests.command_line import run

WIDE = 40


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """A model of many columns, one with many levels."""
    names = [f"measurement {j}" for j in range(WIDE)]
    rows = [[f"{i * (j + 1) % 7}.5" for j in range(WIDE)] + [f"level {i % 20}", "uv"[i % 2]] for i in range(60)]
    data, path = tmp_path / "wide.csv", tmp_path / "wide.tb"
    data.write_text("\n".join(",".join(row) for row in [[*names, "kind", "y"], *rows]) + "\n")
    run("fit", data, "-t", "y", "-o", path)
    return path


def on_a_terminal(*args: Any) -> list[str]:
    """The lines that a command shows on a terminal of 80 columns; what it says beside is left out."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "tallybayes", *map(str, args)]
    with subprocess.Popen(
        command, stdout=theirs, stderr=subprocess.PIPE, env={**ENVIRONMENT, "COLUMNS": "80"}
    ) as process:
        os.close(theirs)
        shown = b""
        while piece := _read(ours):
            shown += piece
    os.close(ours)
    assert process.returncode == 0
    return shown.decode().replace("\r\n", "\n").splitlines()


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 1 << 16)
    except OSError:  # how a terminal says that there is nobody at its other end
        return b""


def test_a_wide_table_fits(wide: Path) -> None:
    shown = on_a_terminal("sample", wide, "-n", 5)
    assert len(shown) == 6
    assert max(map(len, shown)) <= 80
    assert shown[0].startswith("measurement 0  measurement 1  ")
    assert shown[0].endswith("…  y")
    assert all(line[-1] in "uv" for line in shown[1:])
    everything = run("sample", wide, "-n", 5).stdout.splitlines()
    assert {line.count(",") for line in everything} == {WIDE + 1}


def test_a_narrow_table_is_as_it_is_everywhere(wide: Path) -> None:
    data = wide.with_suffix(".csv")
    assert on_a_terminal("predict", wide, data) == run("predict", wide, data).stdout.splitlines()


def test_long_lines_are_folded_and_nothing_is_lost(wide: Path) -> None:
    shown = on_a_terminal("inspect", wide, "-c", "kind")
    whole = run("inspect", wide, "-c", "kind").stdout
    assert max(map(len, whole.splitlines())) > 200
    assert max(map(len, shown)) <= 80
    assert " ".join(shown).split() == whole.split()


def test_a_word_is_not_broken() -> None:
    assert terminal.folded("  " + "x" * 50 + " y", 20) == "  " + "x" * 50 + "\n      y"
    assert terminal.folded("short\n\nlines", 20) == "short\n\nlines"


def test_summaries_are_whole() -> None:
    shown = " ".join(run("--help").stdout.split())
    for name, command in COMMANDS.items():
        assert f"{name} {summary(command)}" in shown
        assert summary(command).endswith((".", "?"))


def test_a_list_of_columns_is_short(wide: Path) -> None:
    said = run("fit", wide.with_suffix(".csv"), "-t", "nothing", "-o", "x.tb", code=1).stderr
    assert "and 31 more." in said
