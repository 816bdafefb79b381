"""Several commands on one model file at once, and commands that are stopped: real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import tallybayes as tb
from tests.cli.test_program import ENVIRONMENT, python
from tests.command_line import WATERMELON, run

ROWS = 17
STOPPED = "tallybayes: stopped; nothing was changed\n"
SLOW = 60.0  # seconds until a test gives up; none takes that long


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "melon.tb"
    run("fit", WATERMELON, "--target", "ripe", "-o", path)
    return path


@contextmanager
def started(*args: Any, **extra: Any) -> Iterator[subprocess.Popen[str]]:
    """A command as a process of its own, with Ctrl-C as in a terminal. It is killed if a test leaves it running."""

    def as_in_a_terminal() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    command = [sys.executable, "-m", "tallybayes", *map(str, args)]
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen(command, text=True, env={**ENVIRONMENT, **extra}, preexec_fn=as_in_a_terminal, **pipes)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def until(happened: Any) -> None:
    end = time.monotonic() + SLOW
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.01)


def holder(model: Path) -> str:
    """Who holds the lock, once somebody does."""
    beside = model.with_name(f".{model.name}.lock")

    def said() -> str:
        return beside.read_text() if beside.exists() else ""

    until(said)
    return said()


def rows_in(model: Path) -> float:
    return float(tb.load(model).class_count_.sum())


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_of_several_that_learn_at_once_each_counts(model: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tallybayes", "learn", str(model), WATERMELON], env=ENVIRONMENT, stdout=-3, stderr=-3
        )
        for _ in range(4)
    ]
    assert [p.wait(SLOW) for p in processes] == [0] * 4
    assert rows_in(model) == 5 * ROWS
    assert names(model.parent) == ["melon.tb"]


@pytest.mark.parametrize("how", ["learn", "forget", "merge", "fit"])
def test_the_second_waits_names_the_first_and_adds_to_its_file(model: Path, how: str) -> None:
    run("learn", model, WATERMELON)
    with started("learn", model, "-") as first:  # it holds the lock until its rows have come
        assert holder(model).startswith(f"process {first.pid}, tallybayes learn, since 2")
        second = {
            "learn": ["learn", model, WATERMELON],
            "forget": ["forget", model, WATERMELON],
            "merge": ["merge", model, model, "-o", model],
            "fit": ["fit", WATERMELON, "-t", "ripe", "-o", model],
        }[how]
        with started(*second) as other:
            assert other.stderr is not None
            said = other.stderr.readline()
            assert said.startswith(f"note: {model} is being changed by process {first.pid}, tallybayes learn, since ")
            assert rows_in(model) == 2 * ROWS
            first.communicate(Path(WATERMELON).read_text(), timeout=SLOW)
            assert other.communicate(timeout=SLOW)[1] == ""
            assert (first.returncode, other.returncode) == (0, 0)
    assert rows_in(model) == {"learn": 4, "forget": 2, "merge": 6, "fit": 1}[how] * ROWS
    assert names(model.parent) == ["melon.tb"]


def test_a_holder_that_is_killed_holds_nothing(model: Path) -> None:
    with started("learn", model, "-") as first:
        holder(model)
        first.kill()
        first.wait(SLOW)
    assert ".melon.tb.lock" in names(model.parent)
    assert run("learn", model, WATERMELON).stderr == ""
    assert rows_in(model) == 2 * ROWS
    assert names(model.parent) == ["melon.tb"]


def test_what_has_no_lock(model: Path, tmp_path: Path) -> None:
    run("learn", model, WATERMELON, "-o", os.devnull)
    assert "No such file" in run("learn", model, WATERMELON, "-o", tmp_path / "nowhere" / "m.tb", code=1).stderr
    assert rows_in(model) == ROWS


# --- Ctrl-C ----------------------------------------------------------------------------------------------------------


def test_stopped_while_it_waits_for_rows(model: Path) -> None:
    before = model.read_bytes()
    with started("learn", model, "-") as process:
        holder(model)
        process.send_signal(signal.SIGINT)
        assert process.wait(SLOW) == 130
        assert process.communicate() == ("", STOPPED)
    assert model.read_bytes() == before
    assert names(model.parent) == ["melon.tb"]


def test_stopped_while_it_writes(model: Path, tmp_path: Path) -> None:
    """The answers go into a file beside until all of them are there; neither that nor the scratch folder is left."""
    scratch, out = tmp_path / "scratch", tmp_path / "answers.csv"
    scratch.mkdir()
    out.write_text("old")
    head, *lines = Path(WATERMELON).read_text().splitlines(keepends=True)
    data = tmp_path / "many.csv"
    data.write_text(head + "".join(lines) * 100_000)
    with started("predict", model, data, "-o", out, "--proba", "--batch-rows", 1000, TMPDIR=str(scratch)) as process:
        until(lambda: any(name.endswith(".tmp") for name in names(tmp_path)))
        process.send_signal(signal.SIGINT)
        assert process.wait(SLOW) == 130
        assert process.communicate() == ("", STOPPED)
    assert names(scratch) == []
    assert names(tmp_path) == ["answers.csv", "many.csv", "melon.tb", "scratch"]
    assert out.read_text() == "old"


STOPPED_AT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
seen = set()
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == {at!r} and name not in seen:
            seen.add(name)
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Watch())
from tallybayes.cli import main
sys.argv[1:] = {args!r}
main()
"""


@pytest.mark.parametrize(
    "at",
    [
        "tallybayes.cli.start",
        "typer",
        "tallybayes.cli.predict_commands",
        "numpy",
        "pyarrow",
        "tallybayes.cli.input_tables",
    ],
)
def test_stopped_while_it_imports(model: Path, at: str) -> None:
    done = python("-c", STOPPED_AT.format(at=at, args=["predict", str(model), WATERMELON]))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", STOPPED)


LATE = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from tallybayes.cli import main
replace = os.replace
def then_stop(*args):
    replace(*args)
    os.kill(os.getpid(), signal.SIGINT)
os.replace = then_stop
sys.argv[1:] = {args!r}
main()
"""


def test_too_late_to_stop(model: Path) -> None:
    """Once the file is replaced it would be false that nothing was changed."""
    done = python("-c", LATE.format(args=["learn", str(model), WATERMELON]))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Learned 17 rows.")
    assert rows_in(model) == 2 * ROWS


# --- imports that fail -----------------------------------------------------------------------------------------------

WITHOUT = """
import sys
sys.modules[{name!r}] = None
from tallybayes.cli import main
sys.argv[1:] = {args!r}
main()
"""


@pytest.mark.parametrize("name", ["typer", "pyarrow", "pyarrow.csv", "numpy", "tallybayes._core"])
def test_an_import_that_fails_is_one_line(model: Path, name: str) -> None:
    done = python("-c", WITHOUT.format(name=name, args=["predict", str(model), WATERMELON]))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("tallybayes: ")
    assert name.split(".")[0] in done.stderr
    assert "pip install 'tallybayes[cli]'" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["uvicorn", "httptools", "msgspec"])
def test_to_serve_takes_more(model: Path, name: str) -> None:
    """One extra is named: the one that is missing."""
    done = python("-c", WITHOUT.format(name=name, args=["serve", str(model)]))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith(" To serve takes: pip install 'tallybayes[serve]'.\n")
    assert done.stderr.count("pip install") == done.stderr.count("\n") == 1
