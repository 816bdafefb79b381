"""Families: which columns are whose parents, parents before children, as the kernels read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import OptionError


@dataclass(frozen=True, eq=False)
class Families:
    """The families in topological order, as the kernels read them. sets: the set of columns that each parent needs."""

    child: NDArray[np.int32]
    parent: NDArray[np.int32]
    start: NDArray[np.int64]
    sets: list[tuple[int, ...]]


def families(parents: Sequence[Sequence[int]], order: Sequence[int] | None = None) -> Families:
    order = topological(parents) if order is None else order
    flat = [i for j in order for i in parents[j]]
    start = np.cumsum([0, *(len(parents[j]) for j in order)])
    sets = [tuple(sorted((j, *parents[j][:m]))) for j in order for m in range(1, len(parents[j]) + 1)]
    child, parent = np.array(order, dtype=np.int32), np.array(flat, dtype=np.int32)
    return Families(child, parent, start.astype(np.int64), sets)


def topological(parents: Sequence[Sequence[int]]) -> list[int]:
    """The columns, parents before children, otherwise in their own order; a cycle is an error."""
    children: list[list[int]] = [[] for _ in parents]
    for j, own in enumerate(parents):
        for i in own:
            children[i].append(j)
    missing = [len(own) for own in parents]
    done: list[int] = []
    ready = [j for j, count in enumerate(missing) if not count]
    while ready:
        done += ready
        free = []
        for i in ready:
            for j in children[i]:
                missing[j] -= 1
                if not missing[j]:
                    free.append(j)
        ready = sorted(free)
    if len(done) < len(parents):
        waiting = [j for j, count in enumerate(missing) if count]
        raise OptionError(f"The graph has a cycle among columns {waiting}.")
    return done
