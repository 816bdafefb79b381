"""What a command says: results on standard output, everything else on standard error, errors in one line.

Exit codes: 0 done, 1 the data or the model says no, 2 the command was not understood, 130 stopped.
"""

from __future__ import annotations

import functools
import inspect
import json
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ParamSpec

import typer

from tallybayes.cli import start, terminal
from tallybayes.errors import TallybayesError

P = ParamSpec("P")
DEBUG = "TALLYBAYES_DEBUG"

# The library's advice is for Python; here it is in the words of the command line.
Words = tuple[tuple[str, str], ...]
KIND = r"(?:NaiveBayes\()?schema=\{'(.+?)': '(\w+)'\}\)?"
NOT_NUMBERS = rf"Declare it categorical with {KIND}, or mark them missing\."
WORDS: Words = (
    (KIND, r"--kind \1=\2"),
    (r"\b(unseen|shrinkage)='([\w-]+)'", r"--set \1=\2"),
    (r", or leave it out\.", ", or leave it out with --drop."),
    (
        r"\bRead it with its own encoding, such as (\w+), and give the table\.",
        r"Say --encoding, such as --encoding \1.",
    ),
    (r"\bLet its name end so\.", "Say --format."),
    (r"stands for a missing value, leave the cell empty\.", "stands for a missing value, say --missing."),
    (r"\bLeave such rows out\.", "Leave such rows out with --skip-unlabelled."),
)

# Of commands that ask or change a model: what its columns are, and its parameters, were said at the fit.
WITHOUT_KIND: Words = (
    (NOT_NUMBERS, "The model learned numbers in this column: correct these values, or mark them missing."),
    (rf"Declare it categorical with {KIND}", r"Fit again with --kind \1=\2"),
)
WITHOUT_SET: Words = (
    (r"unseen='error' refuses them", "To refuse them, fit with --set unseen=error"),
    (r"unseen='ignore' leaves their factors out", "To leave their factors out, fit with --set unseen=ignore"),
    (r"; unseen='other' gives them", "; to give them"),
    (r"(to give them .*?of a level never seen)", r"\1, fit with --set unseen=other"),
)


def answering(command: Callable[P, None]) -> Callable[P, None]:
    """Makes a function a command: a quick start, warnings and errors as single lines, the right exit code."""
    return _command(command, start.alone)


def answering_with_sklearn(command: Callable[P, None]) -> Callable[P, None]:
    """The same for a command that hands models to scikit-learn."""
    return _command(command, start.with_sklearn)


def _command(command: Callable[P, None], begin: Callable[[], None]) -> Callable[P, None]:
    takes = inspect.signature(command).parameters
    words = (() if "kind" in takes else WITHOUT_KIND) + (() if "set_" in takes else WITHOUT_SET) + WORDS

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            begin()
            with _notes(words):
                command(*args, **kwargs)
        except BrokenPipeError:  # the reader of our output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except KeyboardInterrupt:  # in our own process Ctrl-C does not come here: `start.stop`
            typer.echo("tallybayes: stopped", err=True)
            raise typer.Exit(start.STOPPED) from None
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except Exception as e:
            if os.environ.get(DEBUG):
                raise
            typer.echo("tallybayes: " + one_line(_reason(e), words), err=True)
            raise typer.Exit(1) from None

    return run


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        text = error.strerror[0].lower() + error.strerror[1:]
        return f"{error.filename}: {text}" if error.filename else text
    if isinstance(error, ImportError):
        return f"{error}. The command line needs more than the library: pip install 'tallybayes[cli]'."
    if isinstance(error, TallybayesError | ValueError):  # the library's own, and scikit-learn's
        return str(error)
    if isinstance(error, MemoryError):
        return f"not enough memory. {error}"
    return f"unexpected {type(error).__name__}: {error}. {DEBUG}=1 shows where; please report it."


def one_line(text: str, words: Words = WORDS) -> str:
    """A sentence of the library as one line, with advice for the command line."""
    for pattern, instead in words:
        text = re.sub(pattern, instead, text)
    return printable(re.sub(r"\s*\n(?:- )?\s*", " ", text.strip()))


def printable(text: str) -> str:
    """Data may hold what a terminal would obey, such as codes for colours: they are shown as what they are, odd."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


@contextmanager
def _notes(words: Words) -> Iterator[None]:
    """Each warning once, as a line on standard error."""
    said: set[str] = set()

    def show(message: object, *_: object, **__: object) -> None:
        text = one_line(str(message), words)
        if text not in said:
            said.add(text)
            typer.echo("note: " + text, err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", category=UserWarning)
        warnings.showwarning = show
        yield


def note(text: str) -> None:
    """Something to know that is no result and no error."""
    typer.echo("note: " + printable(text), err=True)


def show(text: str, document: object, as_json: bool) -> None:
    """The result: text for people, or one JSON document."""
    room = terminal.width()
    if as_json:
        text = json.dumps(plain(document), ensure_ascii=False, allow_nan=False)
    else:
        text = printable(text if room is None else terminal.folded(text, room))
    typer.echo(text)


def plain(value: object) -> Any:
    """Values of NumPy and of the library as JSON can hold them: what is not finite is null."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)
