"""What the tests of the command line share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from tallybayes.cli.commands import app

DATASETS = Path(__file__).parent.parent / "src" / "tallybayes" / "datasets"
WATERMELON = str(DATASETS / "watermelon.csv")


def run(*args: Any, code: int = 0, stdin: bytes | None = None) -> Any:
    """The result of a command, in this process. An exit code other than the one expected is an error.

    fit without a --model is of NaiveBayes here: quick, and its numbers are known.
    """
    if args[0] == "fit" and not {"-m", "--model"} & set(args):
        args = (*args, "--model", "NaiveBayes")
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


def transcript(folder: Path, name: str, all_: bool) -> str:
    """What fit and predict say of a classifier, or all commands but compare and check; the folder is left out."""
    rows = [f"{i % 3 > 1:d},{i % 4 // 2},{'uv'[i * i % 5 % 2]}" for i in range(24)]
    half, rest, costs = folder / "half.csv", folder / "rest.csv", folder / "costs.csv"
    half.write_text("\n".join(["a,b,y", *rows[:12], ""]))
    rest.write_text("\n".join(["a,b,y", *rows[12:], ""]))
    costs.write_text("answer,u,v\nu,0,5\nv,1,0\nask,0.5,0.5\n")
    one, two, both = (folder / f"{name}-{part}.tb" for part in ("one", "two", "both"))
    commands: list[list[Any]] = [
        ["fit", half, "-t", "y", "-m", name, "-o", one],
        ["predict", one, half, "--proba"],
        ["fit", rest, "-t", "y", "-m", name, "-o", two],
        ["merge", one, two, "-o", both],
        ["learn", one, rest],
        ["forget", both, rest],
        ["predict", one, half, "--proba", "--prior", "uniform", "--loss", costs],
        ["evaluate", both, rest],
        ["explain", one],
        ["explain", one, half, "--rows", "2"],
        ["inspect", both],
        ["inspect", one, "-c", "a"],
        ["sample", one, "-n", "5"],
    ]
    said = [run_any(*command) for command in commands[: None if all_ else 2]]
    return "".join(said).replace(str(folder), "") + repr(one.read_bytes())


def run_any(*args: Any) -> str:
    """The command, its exit code and all that it says."""
    result = CliRunner().invoke(app, [str(a) for a in args])
    return f"$ {' '.join(map(str, args))}\n{result.exit_code}\n{result.stdout}{result.stderr}"
