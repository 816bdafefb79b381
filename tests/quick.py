"""What `make test` leaves out of the tests' cases, and `make test-slow` (TALLYBAYES_THOROUGH=1) runs.

No kind of check is left out. Hypothesis draws a quarter of its examples. A grid of three or more parameters and more
than 12 cases runs a pairwise cover: every two values of two parameters still meet. A test marked `slow` has
more cases of what others check.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import combinations

THOROUGH = os.environ.get("TALLYBAYES_THOROUGH") == "1"


def examples(n: int) -> int:
    """How many of n examples hypothesis draws: a quarter, at least 5."""
    return n if THOROUGH else max(n // 4, min(n, 5))


def pairwise(rows: Sequence[Sequence[object]]) -> list[int]:
    """Which rows of a grid (a value of each parameter) hold every pair of values of two parameters.

    Greedy: the row with most pairs that are still missing comes next.
    """
    pairs = [frozenset((i, row[i], j, row[j]) for i, j in combinations(range(len(row)), 2)) for row in rows]
    missing: set[tuple[int, object, int, object]] = set().union(*pairs)
    taken: list[int] = []
    while missing:
        best = max(range(len(rows)), key=lambda k: len(pairs[k] & missing))
        taken.append(best)
        missing -= pairs[best]
    return sorted(taken)
