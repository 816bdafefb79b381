"""narwhals, imported when a data frame comes: a process that answers for dicts and arrays need not wait for it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__all__ = ["nw"]


class Later:
    """Stands for a module: its names are looked up, and kept, when they are first used."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> object:
        found: object = getattr(import_module(self._module), name)
        vars(self)[name] = found
        return found


if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
else:
    nw = Later("narwhals.stable.v2")
