"""The command line as a program of its own, and what it does not import."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tallybayes as tb
from tallybayes import io
from tallybayes.io.model_document import estimator
from tests.command_line import WATERMELON, run, transcript

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "melon.tb"
    run("fit", WATERMELON, "--target", "ripe", "-o", path)
    return path


def python(*args: Any, **extra: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=ENVIRONMENT, **extra)


def test_the_program(model: Path) -> None:
    done = python("-m", "tallybayes", "predict", model, "-", "--proba", input=Path(WATERMELON).read_text())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == run("predict", model, WATERMELON, "--proba").stdout
    done = python("-m", "tallybayes", "predict", model, "nothing.csv")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "tallybayes: There is no file 'nothing.csv'.\n"


IMPORTED = """
import sys
from tallybayes.cli import start
start.own_process()
from tallybayes.cli.commands import app
sys.argv[1:] = {args!r}
try:
    app()
except SystemExit as e:
    assert not e.code, e.code
print("LOADED", *(m for m in {heavy!r} if m in sys.modules))
"""


@pytest.mark.parametrize(
    ("args", "heavy"),
    [
        (["--help"], ["numpy", "scipy", "sklearn", "pyarrow", "pandas", "rich"]),
        (
            ["predict", "MODEL", WATERMELON],
            ["sklearn", "joblib", "scipy.sparse", "scipy.linalg", "scipy.special", "pandas", "polars", "rich"],
        ),
        (["assumptions", WATERMELON, "--target", "ripe"], ["pandas", "rich", "tallybayes.evaluation.leaderboard"]),
    ],
    ids=["help", "predict", "assumptions"],
)
def test_the_start_is_quick_because_of_what_is_not_imported(model: Path, args: list[str], heavy: list[str]) -> None:
    args = [str(model) if a == "MODEL" else a for a in args]
    done = python("-c", IMPORTED.format(args=args, heavy=heavy))
    assert done.stdout.splitlines()[-1:] == ["LOADED"], done.stdout + done.stderr


def test_the_end_is_as_if_it_were_waited_for(model: Path, tmp_path: Path) -> None:
    """All that was said is there, also where the reader is a pipe that closes early."""
    rows = tmp_path / "many.csv"
    head, *lines = Path(WATERMELON).read_text().splitlines()
    rows.write_text("\n".join([head, *(lines * 2000)]))
    done = python("-m", "tallybayes", "predict", model, rows)
    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (0, "", 1 + 2000 * len(lines))
    command = [sys.executable, "-m", "tallybayes", "predict", str(model), str(rows)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b'"prediction"\n'
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0
    done = python("-m", "tallybayes", "melt")
    assert (done.returncode, done.stdout) == (2, "")
    assert "No such command 'melt'" in done.stderr


@pytest.mark.parametrize("command", [["inspect", "MODEL"], ["predict", "MODEL", WATERMELON], ["--help"], ["fit", "-h"]])
def test_a_reader_that_has_left_before_there_is_a_word(model: Path, command: list[str]) -> None:
    """As in `tallybayes inspect model.tb | true`."""
    reading, writing = os.pipe()
    os.close(reading)
    args = [sys.executable, "-m", "tallybayes", *(str(model) if a == "MODEL" else a for a in command)]
    done = subprocess.run(args, stdout=writing, stderr=subprocess.PIPE, env=ENVIRONMENT, timeout=120, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("command", [["--help"], ["inspect", "MODEL"]])
def test_a_full_disk_is_one_line(model: Path, command: list[str]) -> None:
    args = [sys.executable, "-m", "tallybayes", *(str(model) if a == "MODEL" else a for a in command)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(args, stdout=full, stderr=subprocess.PIPE, env=ENVIRONMENT, timeout=120, check=False)
    assert done.returncode == 1
    assert re.fullmatch(rb"tallybayes: (standard output: )?no space left on device\n", done.stderr)


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (KeyboardInterrupt(), 130, "tallybayes: stopped\n"),
        (MemoryError("Unable to allocate 8.00 TiB"), 1, "tallybayes: not enough memory. Unable to allocate 8.00 TiB\n"),
        (KeyError("a"), 1, "tallybayes: unexpected KeyError: 'a'. TALLYBAYES_DEBUG=1 shows where; please report it.\n"),
    ],
    ids=["stopped", "memory", "unexpected"],
)
def test_what_nobody_expected_is_one_line(
    model: Path, error: BaseException, code: int, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(io, "load_classifier", fail)
    assert run("predict", model, WATERMELON, code=code).stderr == says


def test_in_our_own_process_the_collector_looks_at_what_is_new() -> None:
    code = "from tallybayes.cli import start; import gc; start.own_process(); assert not gc.isenabled(); start.alone()"
    done = python("-c", code + "; print(gc.isenabled(), gc.get_freeze_count() > 10_000)")
    assert done.stdout == "True True\n", done.stderr


ALONE = """
import sys
from pathlib import Path
from tallybayes.cli import start
from tests.command_line import transcript
start.own_process()
for name in sys.argv[2:]:
    print(transcript(Path(sys.argv[1]), name, name in {thorough!r}))
print(*(name for name in ("sklearn", "pandas") if name in sys.modules), "fine")
"""


def test_without_sklearn_every_command_prints_and_writes_the_same(tmp_path: Path) -> None:
    names = [name for name in tb.__all__ if estimator(name) is not None]
    thorough = ["NaiveBayes", "LinearDiscriminantAnalysis", "TAN"]
    with_sklearn = "".join(transcript(tmp_path, name, name in thorough) + "\n" for name in names)
    assert len(names) >= 12
    assert with_sklearn.count("\n0\n") == 2 * len(names) + 11 * len(thorough)  # no command refuses these rows
    done = python("-c", ALONE.format(thorough=thorough), tmp_path, *names)
    assert done.stdout == with_sklearn + "fine\n", done.stderr


STAND_INS = """
from tallybayes.cli import start
start.own_process()
start.with_sklearn()
import numpy, scipy.stats, scipy.special, sys
assert "scipy.stats._stats_py" not in sys.modules
assert scipy.stats.norm.cdf(0.0) == 0.5
from scipy.stats import rankdata
import scipy.stats._continuous_distns
assert scipy.special.expit(0.0) == 0.5
numpy.testing.assert_equal(1, 1)
assert type(sys.modules["scipy.stats"]) is type(sys)
import asyncio
async def two(): return 2
assert asyncio.run(two()) == 2
from sklearn.linear_model import LogisticRegression
LogisticRegression().fit([[0.0], [1.0]], [0, 1])
try:
    import pandas
except ModuleNotFoundError:
    print("fine")
"""


def test_what_was_put_off_is_there_when_it_is_asked_for() -> None:
    done = python("-c", STAND_INS)
    assert done.stdout == "fine\n", done.stderr


def test_a_file_brings_the_module_that_its_model_needs(tmp_path: Path) -> None:
    """The distribution of a network is in a module that only networks import."""
    path = tmp_path / "tan.tb"
    run("fit", WATERMELON, "--target", "ripe", "-m", "TAN", "-o", path)
    done = python("-c", f"import tallybayes; print(type(tallybayes.load({str(path)!r})).__name__)")
    assert done.stdout == "TAN\n", done.stderr


def test_names_are_found_when_they_are_first_used() -> None:
    assert {name for names in tb._HOMES.values() for name in names} == set(tb.__all__)
    typed = {
        (node.module, alias.name)
        for node in ast.walk(ast.parse(Path(tb.__file__).read_text()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert {(f"tallybayes.{home}", name) for home, names in tb._HOMES.items() for name in names} <= typed
    assert set(tb.__all__) <= set(dir(tb))
    assert tb.distributions.registered()
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = tb.nonsense
