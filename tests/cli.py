"""What the tests of the command line share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from tallybayes.cli.app import app

DATASETS = Path(__file__).parent.parent / "src" / "tallybayes" / "datasets"
WATERMELON = str(DATASETS / "watermelon.csv")


def run(*args: Any, code: int = 0, stdin: bytes | None = None) -> Any:
    """The result of a command, in this process. An exit code other than the one expected is an error."""
    result = CliRunner().invoke(app, [str(a) for a in args], input=stdin)
    assert result.exit_code == code, (result.exit_code, result.stdout, result.stderr, result.exception)
    if code:
        assert result.stdout == ""
        assert result.stderr.count("tallybayes: ") == 1
        assert result.stderr.endswith("\n")
        assert "Traceback" not in result.stderr
        assert len([line for line in result.stderr.splitlines() if not line.startswith("note: ")]) == 1
    return result


def answer(*args: Any) -> Any:
    """The JSON document that a command prints."""
    return json.loads(run(*args, "--json").stdout)


def lines(*args: Any) -> list[Any]:
    """The JSON lines that a command prints."""
    return [json.loads(line) for line in run(*args, "--json").stdout.splitlines()]
