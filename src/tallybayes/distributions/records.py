"""Arrays with names and a type: what a distribution sums, and what it reads from its statistics.

Each distribution has a frozen dataclass for its statistics and one for its parameters, so that a reader sees what there
is, and a type checker that nothing else is asked for. A distribution of a user's own may use plain dicts in their
place.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Self, TypeVar

import numpy as np

from tallybayes.utils.array_types import Array

R = TypeVar("R")


class Record:
    """The base of all sums and parameters; subclasses are frozen dataclasses."""

    def __getstate__(self) -> dict[str, object]:
        """The fields. What was made of them, compiled tables that no pickle can hold, is made again."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        """A record from a file's arrays; ValueError if they are not the fields that it has."""
        return record_of(cls, arrays)


def arrays_of(record: Any) -> dict[str, Any]:
    """What a record holds, by name; fields that are None are not there."""
    if isinstance(record, Mapping):
        return dict(record)
    found = {f.name: getattr(record, f.name) for f in dataclasses.fields(record)}
    return {name: value for name, value in found.items() if value is not None}


def changed(record: R, changes: Mapping[str, object]) -> R:
    """The same record with some of its fields replaced."""
    if isinstance(record, dict):
        return {**record, **changes}  # type: ignore[return-value]
    return dataclasses.replace(record, **changes)  # type: ignore[type-var]


def kind_of(arrays: Mapping[str, Array], *kinds: type[R]) -> type[R]:
    """Which of these records a file's arrays are: the one whose fields differ least from them."""
    return min(kinds, key=lambda kind: len(set(arrays) ^ {f.name for f in dataclasses.fields(kind)}))  # type: ignore[arg-type]


def record_of(kind: type[R], arrays: Mapping[str, Array]) -> R:
    """A record from a file's arrays; ValueError if they are not the fields that it has."""
    fields = {f.name: f for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    needed = [name for name, f in fields.items() if f.default is dataclasses.MISSING]
    missing, surplus = sorted(set(needed) - set(arrays)), sorted(set(arrays) - set(fields))
    if missing:
        raise ValueError(f"{missing[0]!r:.60} is missing")
    if surplus:
        raise ValueError(f"{surplus[0]!r:.60} is none of {', '.join(fields)}")
    return kind(**arrays)


def map_arrays(record: R, function: Any) -> R:
    """function(array) in the place of each array."""
    return changed(record, {k: function(v) for k, v in arrays_of(record).items() if isinstance(v, np.ndarray)})
