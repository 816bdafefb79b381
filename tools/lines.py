"""Runs the tests, then says which lines of Python no test ran. usage: lines.py [arguments of pytest]

The exit status is that of the tests. Which lines ran is read from a file of each process. One that a test killed while
it wrote leaves a file that cannot be read, on which `coverage combine` would fail: it is left out.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from coverage import Coverage, CoverageData
from coverage.exceptions import CoverageException

FILES = Path("build/lines")  # as [tool.coverage.run] in pyproject.toml has it


def main() -> int:
    FILES.mkdir(parents=True, exist_ok=True)
    for old in FILES.iterdir():
        old.unlink()
    tests = subprocess.run([sys.executable, "-m", "coverage", "run", "-m", "pytest", *sys.argv[1:]], check=False)
    try:
        report()
    except CoverageException as problem:
        print(f"Which lines ran is not known: {problem}")
    return tests.returncode


def report() -> None:
    """Prints the lines that no process ran."""
    whole = [str(file) for file in sorted(FILES.iterdir()) if readable(file)]
    lines = Coverage()
    lines.combine(whole)
    lines.save()
    lines.report(show_missing=True, skip_covered=True)


def readable(file: Path) -> bool:
    """Whether a process wrote all of its file: whether it can be added to another."""
    data, into = CoverageData(str(file)), CoverageData(no_disk=True)
    try:
        data.read()
        into.update(data)
        into.update(data)  # the second adds the lines of a file to lines that are there
    except Exception as problem:  # whatever a torn file makes SQLite and its callers say
        print(f"Left out, for it was not written to its end: {file} ({problem})")
        return False
    return True


if __name__ == "__main__":
    raise SystemExit(main())
