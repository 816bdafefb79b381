"""Low-discrepancy design of the members: parents and bins are spread evenly instead of drawn at random.

The orders of super-parents are a greedy subset (Welling 2009) of random draws, and the bins of a column are assigned
by permutations over the members. A mean over T members of such a design errs by about 1 / T, one over T draws by
1 / √T.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.utils.array_types import Floats

MAX_DENSE_FEATURES = 1 << 14  # up to which features keep their numbers, though no draw may have some of them
DRAW_BUDGET, MIN_DRAWS, MAX_DRAWS = 1 << 16, 64, 256  # random numbers behind the draws; bounds on the draws


def parent_orders(
    information: Floats, noise: float, members: int, most: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """(members, parents): the super-parents of each member in order, by log information + noise · Gumbel.

    Of many draws, members are picked one by one so that columns, their places and pairs of columns come as nearly as
    possible as often as in all draws.
    """
    d = len(information)
    most, draws = min(most, d), int(np.clip(DRAW_BUDGET // max(d, 1), MIN_DRAWS, MAX_DRAWS))
    if not most:
        return np.empty((members, 0), dtype=np.intp)
    drawn = np.argsort(-(np.log(information) + noise * rng.gumbel(size=(draws, d))), axis=1, kind="stable")[:, :most]
    has = _features(drawn, d)
    share = np.bincount(has.ravel()) / draws
    return np.asarray(drawn[_core.low_discrepancy_design(np.ascontiguousarray(has, dtype=np.int32), share, members)])


def _features(drawn: NDArray[np.intp], d: int) -> NDArray[np.intp]:
    """(draws, features): the columns of each draw (twice: they matter most), their places, and pairs of columns."""
    most = drawn.shape[1]
    low, high = (
        np.sort(drawn, axis=1)[:, list(combinations(range(most), 2))].transpose(2, 0, 1) if most > 1 else (drawn, drawn)
    )
    all_of = [drawn, drawn, drawn + d * np.arange(1, most + 1), low * d + high + d * (most + 1)]
    found = np.concatenate(all_of, axis=1)
    if d * (d + most + 1) <= MAX_DENSE_FEATURES:
        return np.asarray(found)
    return np.asarray(np.unique(found, return_inverse=True)[1].reshape(found.shape))


def bin_turns(
    members: int, d: int, rng: np.random.Generator, parents: NDArray[np.intp] | None = None
) -> NDArray[np.int32]:
    """(members, columns): in which turn each member bins a column; every column has its own permutation.

    parents, (members, parents): members with the column as a super-parent come first. Bins are spread evenly over any
    number of first turns, so they are spread evenly over these.
    """
    place = np.zeros((members, d))
    if parents is not None:
        np.put_along_axis(place, parents, np.arange(-parents.shape[1], 0.0)[None, :], axis=1)
    place += rng.random((members, d))
    return np.asarray(place.argsort(axis=0).argsort(axis=0), dtype=np.int32)
