"""tools/progress.py: what a long build says while it runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRESS = Path(__file__).parents[2] / "tools" / "progress.py"


def reported(tmp_path: Path, code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PROGRESS), str(tmp_path / "new" / "log"), sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_steps_are_shown_and_the_rest_is_kept(tmp_path: Path) -> None:
    said = [
        "Collecting numpy>=1.26",
        "  Downloading numpy-2.0-cp311.whl (18 MB)",
        "Collecting scipy",
        "  Preparing editable metadata (pyproject.toml): started",
        *(f"  [{k}/40] Building CXX object x.o" for k in range(1, 41)),
        "WARNING: mind this",
        "Installing collected packages: numpy, scipy",
    ]
    ran = reported(tmp_path, f"print(*{said!r}, sep='\\n')")
    assert ran.returncode == 0
    lines = ran.stdout.splitlines()
    assert lines[:4] == ["  asking for what is needed", "  fetching numpy", "  preparing", "  compiling 1 of 40"]
    assert [line for line in lines if "compiling" in line] == [
        f"  compiling {k} of 40" for k in (1, *range(4, 41, 4))
    ]  # every tenth
    assert lines[-2:] == ["WARNING: mind this", "  unpacking what was fetched"]
    assert (tmp_path / "new" / "log").read_text().splitlines() == said


@pytest.mark.parametrize("status", [1, 3])
def test_a_failure_is_shown(tmp_path: Path, status: int) -> None:
    ran = reported(tmp_path, f"import sys; print('x.cpp:3: error: no such thing', flush=True); sys.exit({status})")
    assert ran.returncode == status
    assert "x.cpp:3: error: no such thing" in ran.stderr
    assert "That failed" in ran.stderr
