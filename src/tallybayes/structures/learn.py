"""Parents of every column, chosen from the information that columns share. Ties go to the first column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Parents = tuple[tuple[int, ...], ...]


def one_parent(d: int, parent: int) -> Parents:
    """SPODE: everyone has the same parent."""
    return tuple(() if j == parent else (parent,) for j in range(d))


def best_tree(between: Floats, root: int) -> Parents:
    """TAN: the tree with the largest sum of I(x_i; x_j | y), directed away from the root (Prim)."""
    d = len(between)
    parents: list[tuple[int, ...]] = [()] * d
    inside = np.zeros(d, dtype=bool)
    inside[root] = True
    best, by = between[root].copy(), np.full(d, root)
    for _ in range(d - 1):
        j = int(np.argmax(np.where(inside, -1.0, best)))
        parents[j], inside[j] = (int(by[j]),), True
        closer = between[j] > best
        best, by = np.where(closer, between[j], best), np.where(closer, j, by)
    return tuple(parents)


def by_information(with_class: Floats) -> list[int]:
    """The columns by falling I(x_j; y)."""
    return [int(j) for j in np.argsort(-with_class, kind="stable")]


def k_dependence(between: Floats, order: list[int], k: int) -> Parents:
    """KDB: in the given order, each column has the k earlier ones with the largest I(x_i; x_j | y), strongest first."""
    parents: list[tuple[int, ...]] = [()] * len(between)
    for at, j in enumerate(order):
        earlier = sorted(order[:at], key=lambda i: (-between[j, i], order.index(i)))
        parents[j] = tuple(earlier[:k])
    return tuple(parents)
