"""Imports put off until their first use: narwhals, and the public names of packages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

__all__ = ["lazy_exports", "nw"]


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


def lazy_exports(
    package: str, homes: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names are imported from their modules when first used."""
    home = {name: module for module, names in homes.items() for name in names}

    def find(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found: object = getattr(import_module(f"tallybayes.{home[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home})

    return find, names
