"""Calls the library at random, and looks for any outcome but a sound answer or a documented error.

    python -m tests.hostile.fuzz_api 60            # for so many seconds, another seed each time: make fuzz
    python -m tests.hostile.fuzz_api 60 --seed 7   # the same cases each time
    python -m tests.hostile.fuzz_api --case 123    # one case; its program, and what became of it

A case is one number, and a program of some lines (random_calls.py). Each runs in a child process, where a crash or a
hang is an outcome like any other. What fails is shortened and printed as Python that can be run: for a test.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
import traceback
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from pickle import PicklingError
from typing import Any

PATIENCE = 60.0  # seconds for one program, after which it hangs
FILE = "<case>"


@dataclass(frozen=True)
class Fault:
    """What went wrong, at which line of the program. kind: the same for the same fault, as far as can be known."""

    line: int
    kind: str
    text: str


# --- in the child ----------------------------------------------------------------------------------------------


def run(lines: list[str], tell: Any = None) -> Fault | None:
    """Runs a program line by line and judges each; the first fault, if there is one. tell: hears each line's number."""
    from tests.hostile.random_calls import PRELUDE

    names: dict[str, Any] = {}
    exec(PRELUDE, names)
    for i, line in enumerate(lines):
        if tell is not None:
            tell(i)
        found = _step(line, names)
        if found is not None:
            return Fault(i, *found)
    return None


def _step(line: str, names: dict[str, Any]) -> tuple[str, str] | None:
    """Kind and text of a fault of one line."""
    from sklearn.exceptions import NotFittedError

    from tallybayes.errors import TallybayesError
    from tests.hostile.soundness import UnsoundError, foreign, state

    models = {name: names[name] for name in ("model", "other") if name in names}
    before = {name: state(m) for name, m in models.items()}
    error: BaseException | None = None
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            exec(compile(line, FILE, "exec"), names)
        except (TallybayesError, NotFittedError) as e:
            error = e
        except NameError as e:
            if _depth(e) > 2:
                return _told(e)
            return None  # a line that was to give this name has failed, or was left out
        except PicklingError:  # an option that is a function, in a model that was not fitted
            pass
        except UnsoundError as e:
            return "unsound: " + str(e).split(":")[0], traceback.format_exc()
        except BaseException as e:
            return _told(e)
    for w in heard:
        if foreign(w.category):
            where = Path(w.filename).name
            return f"{w.category.__name__} from {where}:{w.lineno}", f"{w.category.__name__}: {w.message} ({where})"
    if error is not None or line.startswith("answer = "):
        for name, m in models.items():
            if state(m) != before[name]:
                what = "a question" if error is None else f"an error ({type(error).__name__}: {error})"
                return f"changed by {what[:8]}", f"`{name}` is another one after {what}"
    return None


def _depth(e: BaseException) -> int:
    return len(traceback.extract_tb(e.__traceback__))


def _told(e: BaseException) -> tuple[str, str]:
    last = traceback.extract_tb(e.__traceback__)[-1]
    return f"{type(e).__name__} at {Path(last.filename).name}:{last.lineno}", "".join(traceback.format_exception(e))


def _serve(pipe: Any) -> None:
    """Programs in, what became of them out, until there are no more."""
    run([])  # what is imported late, before anyone counts seconds
    with suppress(EOFError, KeyboardInterrupt):
        pipe.send(("ready", None))
        while True:
            lines = pipe.recv()
            pipe.send(("done", run(lines, lambda i: pipe.send(("line", i)))))


# --- in the parent ---------------------------------------------------------------------------------------------


class Worker:
    """A child process that runs one program after another, and is started again when it dies."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.pipe.recv()  # ready: a busy machine may import for longer than one program may take

    def run(self, lines: list[str], patience: float = PATIENCE) -> Fault | None:
        self.pipe.send(lines)
        at = 0
        while True:
            try:
                if not self.pipe.poll(patience):
                    self.stop()
                    self.start()
                    return Fault(at, "hangs", f"no answer for {patience:.0f} seconds")
                what, found = self.pipe.recv()
            except (EOFError, ConnectionError):
                self.process.join()
                code = self.process.exitcode
                self.start()
                return Fault(at, f"crash {code}", f"the process died with exit code {code}")
            if what == "done":
                answer: Fault | None = found
                return answer
            at = found

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def shortened(worker: Worker, lines: list[str], fault: Fault) -> tuple[list[str], Fault]:
    """The program up to its fault, without the lines that the same fault does not need."""
    lines = lines[: fault.line + 1]
    patience = PATIENCE if fault.kind != "hangs" else 10.0
    for i in reversed(range(len(lines) - 1)):
        fewer = lines[:i] + lines[i + 1 :]
        found = worker.run(fewer, patience)
        if found is not None and found.kind == fault.kind:
            lines, fault = fewer[: found.line + 1], found
            if i >= len(lines):
                break
    return lines, fault


def report(case: int, lines: list[str], fault: Fault) -> str:
    from tests.hostile.random_calls import PRELUDE

    program = PRELUDE + "\n".join(lines)
    return f"--- case {case}: {fault.kind}\n{program}\n\n{fault.text.rstrip()}\n"


def faults(cases: Iterable[int], worker: Worker) -> Iterator[tuple[int, str]]:
    """The cases that fail: shortened, as Python and with what happened. A fault of one kind is listed once."""
    from tests.hostile.random_calls import lines_of

    known: set[str] = set()
    for case in cases:
        lines = lines_of(case)
        fault = worker.run(lines)
        if fault is not None and fault.kind not in known:
            known.add(fault.kind)
            yield case, report(case, *shortened(worker, lines, fault))


def numbered(seed: int, seconds: float, done: list[int]) -> Iterator[int]:
    """Case after case until the time is over; done: their numbers so far."""
    end = time.monotonic() + seconds
    for case in count(seed * 1_000_000):
        if time.monotonic() > end:
            return
        done.append(case)
        yield case


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.hostile.fuzz_api", description="Random calls of the library."
    )
    parser.add_argument("seconds", type=float, nargs="?", default=60.0)
    parser.add_argument("--seed", type=int, default=None, help="the first case; default: another one each time")
    parser.add_argument("--case", type=int, default=None, help="only this one")
    asked = parser.parse_args(arguments)
    seed = int(time.time()) if asked.seed is None else asked.seed
    done: list[int] = [] if asked.case is None else [asked.case]
    cases = numbered(seed, asked.seconds, done) if asked.case is None else done
    worker, failed = Worker(), 0
    try:
        for _, text in faults(cases, worker):
            failed += 1
            print(text, flush=True)
    finally:
        worker.stop()
    if asked.case is not None and not failed:
        from tests.hostile.random_calls import lines_of

        print("\n".join(lines_of(asked.case)))
    print(f"{len(done)} cases from {done[0]}, {failed} kinds of faults")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
