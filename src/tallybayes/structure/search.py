"""Parents of every column, chosen from the information that columns share; of equals the first column is taken.

What is equal up to rounding has to be made so (`level_ties`): information is summed in the order of levels and rows.
"""

from __future__ import annotations

import numpy as np

from tallybayes.utils.array_types import Floats

Parents = tuple[tuple[int, ...], ...]


def one_parent(d: int, parent: int) -> Parents:
    """SPODE: everyone has the same parent."""
    return tuple(() if j == parent else (parent,) for j in range(d))


def best_tree(between: Floats, root: int, inner: int | None = None) -> Parents:
    """TAN: the tree with the largest sum of I(x_i; x_j | y), directed away from the root (Prim). inner: only so many
    columns, the first ones, may have children; each of the others hangs on the best of them."""
    if inner is not None and inner < len(between):
        rest = tuple((int(np.argmax(row)),) if inner else () for row in between[inner:, :inner])
        return (*(best_tree(between[:inner, :inner], root) if inner else ()), *rest)
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


def k_dependence(between: Floats, order: list[int], k: int, inner: int | None = None) -> Parents:
    """KDB: in the given order, each column has the k earlier ones with the largest I(x_i; x_j | y), strongest first.
    inner: only so many columns, the first ones, may have children, and be parents of the others wherever they stand in
    the order."""
    inner = len(between) if inner is None else inner
    parents: list[tuple[int, ...]] = [()] * len(between)
    for at, j in enumerate(order):
        able = [i for i in (order[:at] if j < inner else order) if i < inner]
        earlier = sorted(able, key=lambda i: (-between[j, i], order.index(i)))
        parents[j] = tuple(earlier[:k])
    return tuple(parents)
