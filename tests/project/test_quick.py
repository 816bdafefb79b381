"""The cover of a grid holds every pair of values, in fewer rows."""

from __future__ import annotations

from itertools import combinations, product

from tests.quick import pairwise


def test_a_pairwise_cover_holds_every_pair() -> None:
    grid = list(product(range(8), range(6), range(3), range(2)))
    taken = [grid[k] for k in pairwise(grid)]
    for i, j in combinations(range(4), 2):
        assert {(row[i], row[j]) for row in taken} == {(row[i], row[j]) for row in grid}
    assert len(taken) < len(grid) / 4
