"""What a distribution is given besides its statistics, what it exports, and the types that its methods share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.schema import Levels
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:  # defaults of type variables are newer than the oldest Python here
    from typing_extensions import TypeVar

    S = TypeVar("S", default=Any)
    P = TypeVar("P", default=Any)
else:
    from typing import TypeVar

    S, P = TypeVar("S"), TypeVar("P")

Stats = dict[str, Array]  # of a distribution that has no record for its statistics
Params = dict[str, Any]
Needs = Literal["numbers", "levels", "cuts", "codes", "texts"]
Features = Literal["numbers", "squares", "products", "sphere", "levels", "threshold", "counts"]
PlotStyle = Literal["curve", "positive", "whole", "sides", "share"]
Counted = Literal["moments", "levels", "sets"]
Weights = NDArray[np.float64] | None


@dataclass(frozen=True)
class Context:
    """What statistics cannot know by itself: the weight of each class, and the labels behind the codes.

    Parameters
    ----------
    class_weight : ndarray of shape (K,)
        The weight of the rows of each class.
    levels : sequence of Levels or None, default=()
        One for each column: its labels, if it has labels.
    """

    class_weight: NDArray[np.float64]
    levels: Sequence[Levels | None] = ()  # one for each column

    @property
    def K(self) -> int:
        """int: how many classes there are."""
        return len(self.class_weight)

    def without(self, k: int, unit: float) -> Context:
        """Take weight away from a class.

        Parameters
        ----------
        k : int
            The class.
        unit : float
            How much weight it loses.

        Returns
        -------
        Context
            The same otherwise.
        """
        weight = self.class_weight.copy()
        weight[k] = max(weight[k] - unit, 0.0)
        return Context(weight, self.levels)

    @property
    def d(self) -> int:
        """int: how many columns there are."""
        return len(self.levels)


@dataclass(frozen=True)
class RowColumn:
    """A column of rows that come one at a time.

    Parameters
    ----------
    place : int
        Its place in the schema.
    kind : str
        Its kind.
    points : ndarray, default=None
        Where it is cut, if it is.
    """

    place: int
    kind: str
    points: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class RowScores:
    """How a row is scored by its packed codes.

    Parameters
    ----------
    sizes : ndarray of int64, of shape (d,)
        How many levels each column has.
    gone : sequence of (int, int)
        Levels that are taken as missing, as column and level.
    scores : callable
        Gives log P(x | class), (1, K), of packed codes (d, 1); None for a row that is for the general path.
    """

    sizes: NDArray[np.int64]
    gone: Sequence[tuple[int, int]]
    scores: Callable[[Array], Floats | None]


Json = Any  # None, bool, int, float, str, list or dict of these
Exported = dict[str, Json]
NUMBER, CODE, TEXT = "number", "code", "text"
MAX_EXPORTED_NUMBERS = 4_000_000  # of one term


def plain(a: Array) -> Json:
    """Nested lists of an array, None for minus infinity."""
    found = np.asarray(a)
    if found.dtype.kind == "f" and np.isneginf(found).any():
        whole = found.astype(object)
        whole[np.isneginf(found)] = None
        return whole.tolist()
    if found.dtype == np.float32:  # as the numbers that they are, not as the shortest that round to them
        found = found.astype(np.float64)
    return found.tolist()


def cut_at(points: Sequence[float]) -> Json:
    """A column that is read as the number of cuts that are at most its value."""
    return {"cuts": [float(v) for v in points]}


def reads_of(columns: int, reals: int) -> Json:
    """Codes, and numbers in the last columns."""
    return [CODE] * (columns - reals) + [NUMBER] * reals


def too_large(numbers: int) -> str | None:
    """A sentence if these are more numbers than are written."""
    if numbers <= MAX_EXPORTED_NUMBERS:
        return None
    reason = f"its tables hold {numbers:,} numbers; at most {MAX_EXPORTED_NUMBERS:,} are written"
    return f"{reason}. Use fewer levels, columns or parents"
