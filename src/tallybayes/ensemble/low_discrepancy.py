"""Which member of an ensemble has what: laid out, not drawn, so that few say what many draws say on average."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.utils.array_types import Floats

NUMBERED = 1 << 14  # features that may be numbered though no draw has them: to find those that have takes its time
DRAWS = (1 << 16, 64, 256)  # numbers behind the draws that orders are taken from; draws at least, and at most


def orders(strength: Floats, noise: float, members: int, most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """(members, parents): for each member its super-parents in their order, the first of log strength + noise · Gumbel.

    Of many draws those are taken of which, after each member, columns, their places and pairs of columns have come as
    nearly as can be as often as in all of them (herding: Welling 2009). A mean over T of these is wrong by about 1 / T,
    one over T draws by 1 / √T.
    """
    d = len(strength)
    most, draws = min(most, d), int(np.clip(DRAWS[0] // max(d, 1), *DRAWS[1:]))
    if not most:
        return np.empty((members, 0), dtype=np.intp)
    drawn = np.argsort(-(np.log(strength) + noise * rng.gumbel(size=(draws, d))), axis=1, kind="stable")[:, :most]
    has = _features(drawn, d)
    share = np.bincount(has.ravel()) / draws
    return np.asarray(drawn[_core.low_discrepancy_design(np.ascontiguousarray(has, dtype=np.int32), share, members)])


def _features(drawn: NDArray[np.intp], d: int) -> NDArray[np.intp]:
    """(draws, features): what each draw has, numbered: its columns (twice: they matter most), who is first, second, …,
    and each pair. Many numbers that none has are left out."""
    most = drawn.shape[1]
    low, high = (
        np.sort(drawn, axis=1)[:, list(combinations(range(most), 2))].transpose(2, 0, 1) if most > 1 else (drawn, drawn)
    )
    all_of = [drawn, drawn, drawn + d * np.arange(1, most + 1), low * d + high + d * (most + 1)]
    found = np.concatenate(all_of, axis=1)
    if d * (d + most + 1) <= NUMBERED:
        return np.asarray(found)
    return np.asarray(np.unique(found, return_inverse=True)[1].reshape(found.shape))


def turns(members: int, d: int, rng: np.random.Generator, parents: NDArray[np.intp] | None = None) -> NDArray[np.int32]:
    """(members, columns): in which turn each member cuts a column; every column has an order of its own.

    parents, (members, parents): the members of which a column is a super-parent come first, so that the ways to cut
    it, which are spread over any number of first turns, are spread over these.
    """
    place = np.zeros((members, d))
    if parents is not None:
        np.put_along_axis(place, parents, np.arange(-parents.shape[1], 0.0)[None, :], axis=1)
    place += rng.random((members, d))
    return np.asarray(place.argsort(axis=0).argsort(axis=0), dtype=np.int32)
