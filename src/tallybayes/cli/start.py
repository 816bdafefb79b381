"""A quick start and a quick end: a command imports what it uses, and does not tidy up what the system clears anyway.

Ctrl-C ends a command there and then too (`stop`). An exception would have to find its way out through imports,
callbacks and pyarrow, each of which may lose it or take it for a fault of its own. So the end removes what is
unfinished and says that nothing was changed; once a file is replaced that would be false, and Ctrl-C comes too late.

A command lives for a second, and importing scikit-learn takes longer than that wherever pandas is installed, or half of
it where not. So most commands do without (`alone`), and those that cannot leave out, or put off until asked for, what
scikit-learn, scipy and pyarrow import for functions that no command calls (`with_sklearn`). Nothing that is imported is
garbage, so the collector waits until then and never looks at it; and at the end nothing is taken apart (`run`), which
would take another tenth of a second.

A library must not do such things to somebody else's process, so all this happens only where the process is our own:
`main` calls `own_process`.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from types import ModuleType

LATER = ("asyncio", "numpy.f2py", "numpy.testing", "scipy.special", "scipy.stats")
WITHOUT = "pandas"  # optional for scikit-learn and pyarrow, which import it wherever it is installed

STOPPED = 130  # as shells count: 128 and the number of the signal
TERMINAL = b"\r\x1b[2K\x1b[?25h"  # the bar's line is wiped, and the cursor, which it hides, is there again

_own = False
_scratch: set[str] = set()


def own_process() -> None:
    """Says that this process runs one command and nothing else."""
    global _own
    _own = True
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as it is for what a shell runs in the background
        signal.signal(signal.SIGINT, stop)
    gc.disable()  # until `_started`


def run(command: Callable[[], object]) -> None:
    """Runs a command and ends the process, there and then. Files are closed by then: each is written in a `with`."""
    code = 0
    try:
        try:
            command()
        except SystemExit as e:
            if not isinstance(e.code, int):
                raise
            code = e.code
            sys.stdout.flush()
            sys.stderr.flush()
    except BrokenPipeError:  # the reader of our output has seen enough
        pass
    except OSError as e:  # a full disk, under help or the last words; commands tell of what they write
        code = 1
        with suppress(OSError):
            os.write(2, f"tallybayes: standard output: {(e.strerror or str(e)).lower()}\n".encode())
    os._exit(code)


def stop(*_: object) -> None:
    """What Ctrl-C does in our own process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    files = sys.modules.get("tallybayes.io.atomic_files")
    for path in [*files.unfinished] if files is not None else ():
        with suppress(OSError):
            os.unlink(path)
    for folder in _scratch:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        os.write(2, (TERMINAL if os.isatty(2) else b"") + b"tallybayes: stopped; nothing was changed\n")
    os._exit(STOPPED)


def _too_late_to_stop() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def scratch() -> Iterator[str]:
    """A folder for as long as a command runs."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="tallybayes-") as folder:
        _scratch.add(folder)
        try:
            yield folder
        finally:
            _scratch.discard(folder)


def alone() -> None:
    """For a command that hands no model to scikit-learn."""
    if not _own or "sklearn" in sys.modules:
        return
    _hide_pandas()
    import tallybayes.io  # noqa: F401 - all commands use it

    _started()


def with_sklearn() -> None:
    """For a command that does: imports it without what is not needed here."""
    if not _own or "sklearn" in sys.modules:
        return
    _hide_pandas()
    for name in LATER:
        if name not in sys.modules:
            _stand_in(name)
    import sklearn.base  # noqa: F401

    _started()


def _started() -> None:
    """The collector goes to work, on what will be made from here on; and files are replaced only by who says so."""
    from tallybayes.io import atomic_files

    atomic_files.before_replacing.append(_too_late_to_stop)
    gc.freeze()
    gc.enable()


def _hide_pandas() -> None:
    if not any(isinstance(finder, _Without) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Without())


class _Without(MetaPathFinder):
    """As if pandas were not installed."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:  # noqa: ARG002
        if fullname == WITHOUT:
            raise ModuleNotFoundError(f"No module named {WITHOUT!r}", name=WITHOUT)


class _Later(ModuleType):
    """Stands for a module until one of its names is asked for; then the module takes its place."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # the import system looking at it
            raise AttributeError(name)
        full = self.__name__
        if sys.modules.get(full) is self:
            del sys.modules[full]
        return getattr(importlib.import_module(full), name)


def _stand_in(name: str) -> None:
    package, _, last = name.rpartition(".")
    if package:
        importlib.import_module(package)
    spec = find_spec(name)
    if spec is None or spec.submodule_search_locations is None:  # pragma: no cover - moved in a future version
        return
    module = _Later(name)
    module.__path__ = list(spec.submodule_search_locations)
    sys.modules[name] = module
    if package:
        setattr(sys.modules[package], last, module)  # as an import would
