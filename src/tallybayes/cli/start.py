"""A quick start: what scikit-learn, scipy and pyarrow import but no command uses is left out, or waits until asked for.

Importing scikit-learn takes more than a second, most of which goes to pandas, scipy.stats and two corners of NumPy:
wanted by functions that a command never calls. A command lives for a second, so it matters. A library must not do such
things to somebody else's process, so this happens only where the process is our own: `main` calls `own_process`.
"""

from __future__ import annotations

import importlib
import sys
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from types import ModuleType
from typing import Any

LATER = ("asyncio", "numpy.f2py", "numpy.testing", "scipy.special", "scipy.stats")
WITHOUT = "pandas"  # optional for scikit-learn and pyarrow, which import it wherever it is installed

_own = False


def own_process() -> None:
    """Says that this process runs one command and nothing else."""
    global _own
    _own = True


def quick_start() -> None:
    """Imports numpy, scipy and scikit-learn without what is not needed here."""
    if not _own or "sklearn" in sys.modules:
        return
    sys.meta_path.insert(0, _Without())
    for name in LATER:
        if name not in sys.modules:
            _stand_in(name)
    import sklearn.base  # noqa: F401


class _Without(MetaPathFinder):
    """As if pandas were not installed."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:  # noqa: ARG002
        if fullname == WITHOUT:
            raise ModuleNotFoundError(f"No module named {WITHOUT!r}", name=WITHOUT)


class _Later(ModuleType):
    """Stands for a module until one of its names is asked for; then the module takes its place."""

    def __getattr__(self, name: str) -> Any:
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
