"""Which combinations of columns are counted, and where their counts lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import OptionError

MEMORY = 2 << 30  # bytes of counts that are taken without being asked for


@dataclass(frozen=True, eq=False)
class Tables:
    """Sets of two or more columns, each with a table of one count per class and combination of levels.

    Parameters
    ----------
    columns : ndarray of int32
        Those of all tables one after another, ascending in each.
    starts : ndarray of int64
        Where those of each table begin, and the end of the last.
    """

    columns: NDArray[np.int32]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def cells(self, sizes: NDArray[np.int64]) -> int:
        """Return how many counts there are per class."""
        if not len(self):
            return 0
        return int(np.multiply.reduceat(sizes[self.columns].astype(np.float64), self.starts[:-1]).sum())

    def index(self) -> dict[tuple[int, ...], int]:
        """Return which table each set of columns has."""
        flat, ends = self.columns.tolist(), self.starts.tolist()
        return {tuple(flat[a:b]): t for t, (a, b) in enumerate(pairwise(ends))}


@lru_cache(maxsize=16)
def tables(d: int, order: int, extra: tuple[tuple[int, ...], ...] = ()) -> Tables:
    """All sets of 2 … order of d columns, in lexicographic order by size, and then the extra ones."""
    blocks = [subsets(d, m) for m in range(2, order + 1)]
    known = [np.full(len(b), b.shape[1], dtype=np.int64) for b in blocks]
    more = [np.array([len(s) for s in extra], dtype=np.int64)]
    flat: list[Any] = [b.ravel() for b in blocks] + [np.array([j for s in extra for j in s], dtype=np.int32)]
    starts = np.concatenate([[0], np.cumsum(np.concatenate([*known, *more]))]).astype(np.int64)
    return Tables(np.concatenate(flat).astype(np.int32), starts)


def subsets(d: int, m: int) -> NDArray[np.int32]:
    """All sets of m of d columns, in lexicographic order."""
    if m == 2:
        return np.stack(np.triu_indices(d, 1), axis=1).astype(np.int32)
    return np.array(list(combinations(range(d), m)), dtype=np.int32).reshape(-1, m)


def cells_of(order: int, sizes: NDArray[np.int64]) -> float:
    """How many cells all sets of 2 … order columns have, without making them."""
    e = [1.0] + [0.0] * order  # elementary symmetric polynomials of the sizes
    for size in sizes.tolist():
        for m in range(order, 0, -1):
            e[m] += e[m - 1] * size
    return sum(e[2:])


def check_sets(order: int, extra: Sequence[Sequence[int]], d: int) -> None:
    """Raises ValueError unless these are sets that could have been asked for."""
    if not 1 <= order <= 4:
        raise ValueError(f"sets of {order} columns are not counted")
    for s in extra:
        if len(s) < 2 or list(s) != sorted(set(s)) or s[0] < 0 or s[-1] >= d:
            raise ValueError(f"{tuple(s)!r:.60} is not a set of columns")
    if len(set(extra)) < len(extra):
        raise ValueError("a set of columns is named twice")


def check_memory(order: int, sizes: NDArray[np.int64], K: int, bytes_each: int) -> None:
    """Asks before room is made for the counts of all sets of up to `order` columns."""
    need = cells_of(order, sizes) * K * bytes_each
    if need > MEMORY:
        less = f" (one parent less needs {_size(cells_of(order - 1, sizes) * K * bytes_each)})" if order > 2 else ""
        raise OptionError(
            f"Counting all sets of up to {order} out of {len(sizes)} columns, with up to {int(sizes.max(initial=0))} "
            f"levels, in {K} classes needs {_size(need)}; at most {_size(MEMORY)} is taken. Use fewer parents{less}, "
            "fewer columns, coarser cuts (bins=), or a BayesNetwork, which counts only the sets that it uses."
        )


def check_cells(cells: int, K: int, bytes_each: int) -> None:
    """The same for tables that were chosen one by one."""
    if cells * K * bytes_each > MEMORY:
        raise OptionError(
            f"The tables of this network have {cells:,} cells in each of {K} classes: {_size(cells * K * bytes_each)}; "
            f"at most {_size(MEMORY)} is taken. Use fewer parents per column, or coarser cuts (bins=)."
        )


def _size(n: float) -> str:
    return f"{n / 2**30:.1f} GB" if n >= 2**30 else f"{n / 2**20:.0f} MB"


def family_sets(parents: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """The sets that a network of these parents needs: each child with its first 1, 2, … parents."""
    found = {tuple(sorted((j, *p[:m]))) for j, p in enumerate(parents) for m in range(1, len(p) + 1)}
    return tuple(sorted(found, key=lambda s: (len(s), s)))
