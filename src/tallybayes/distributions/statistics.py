"""Sufficient statistics as records of arrays, their arithmetic, and Laplace smoothing of counts.

Each distribution has a frozen dataclass for its statistics and one for its parameters, so that a reader sees what there
is, and a type checker that nothing else is asked for. A distribution of a user's own may use plain dicts in their
place. Means are sums of two float64, mean + low, so that a column around 1e10 keeps its digits: low is what the mean
lacks as a float64, less than its last digit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import ForgetError, OptionError, brief
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


NEVER_LEARNED = (
    "Asked to forget rows that were not learned (or with more weight than they had): a count or a sum of squares would "
    "fall below zero. Nothing was changed."
)
DUST = 8 * np.finfo(np.float64).eps  # what rounding leaves of a weight that was taken away whole


def expect(s: object, shapes: Mapping[str, tuple[int, ...]], at_least_0: Sequence[str]) -> None:
    """Raises ValueError unless s has these arrays and no others: float64, finite, none below 0 where said."""
    arrays = arrays_of(s)
    if set(arrays) != set(shapes):
        raise ValueError(f"it has {sorted(arrays)}; expected {sorted(shapes)}")
    for key, shape in shapes.items():
        a = arrays[key]
        if a.dtype != np.float64 or a.shape != shape:
            raise ValueError(f"{key!r} is {a.dtype} of shape {a.shape}; expected float64 of shape {shape}")
        if not np.isfinite(a).all() or (key in at_least_0 and (a < 0).any()):
            raise ValueError(f"{key!r} holds NaN, an infinity or a negative number")


def spread(a: Array, to: Sequence[int], K: int) -> Array:
    out = np.zeros((K, *a.shape[1:]), dtype=a.dtype)
    index = np.asarray(to, dtype=np.intp)
    out[index[index >= 0]] = a[index >= 0]
    return out


def subtract(a: Array, b: Array) -> Array:
    """a − b ≥ 0, with rounding dust swept away."""
    r = a - b
    scale = np.maximum(np.abs(a), np.abs(b))
    if (r < -1e-9 * scale).any():
        raise ForgetError(NEVER_LEARNED)
    r[r <= DUST * scale] = 0.0
    return r


def minus(a: Array, b: Array) -> Array:
    """a − b of counts, and 0 where it is less than nothing, or dust."""
    left = a - b
    return np.where(left <= 1e-9 * a, 0.0, left)


def check_alpha(alpha: object, least: float = 0.0) -> None:
    a = np.asarray(alpha)
    if a.dtype.kind not in "fiu" or not np.isfinite(a).all() or (a < least).any():
        raise OptionError(f"alpha must be a number of at least {least:g}; got {brief(alpha)}.")


def check_per_column(alpha: float | Sequence[float], d: int) -> None:
    if np.shape(alpha) not in ((), (d,)):
        raise ValueError(f"alpha has the shape {np.shape(alpha)} for {d} columns")


def repeated_alpha(alpha: float | Sequence[float], rows: int) -> Any:
    """For columns that stand there so many times each; a number for all stays one."""
    return np.repeat(np.asarray(alpha), rows) if np.ndim(alpha) else alpha


def per_column(alpha: float | Sequence[float], d: int) -> NDArray[np.float64]:
    """alpha as one number per column."""
    return np.broadcast_to(np.asarray(alpha, dtype=np.float64), (d,)).copy()


def weighted(alpha: float | Sequence[float], log: Array) -> float:
    """Σ a_j log_cj, with 0 · −∞ = 0."""
    a = np.broadcast_to(np.asarray(alpha, dtype=np.float64), log.shape)
    return float((a[a > 0] * log[a > 0]).sum())


EPS = float(np.finfo(np.float64).eps)
LARGEST_FLOAT = float(np.finfo(np.float64).max)
LOG_2PI = float(np.log(2 * np.pi))
HALF_LOG_2PI = 0.5 * LOG_2PI
LOG_TINY = float(np.log(np.finfo(np.float64).tiny))


class Means(Protocol):
    """Sums or parameters with means in two parts."""

    @property
    def mean(self) -> Array:
        """The means, as far as a float64 holds them."""

    @property
    def low(self) -> Array:
        """What these lack of the means."""


@dataclass(frozen=True)
class CentredStatistics(Record):
    """What all statistics about a mean have, by class and column.

    Parameters
    ----------
    n : ndarray of shape (K, d)
        The weight of the rows that have a value.
    mean : ndarray of shape (K, d)
        Their mean.
    low : ndarray of shape (K, d)
        What the mean lacks as a float64.
    """

    n: Array
    mean: Array
    low: Array


def check_low(s: Means) -> None:
    """ValueError if low is no low of its mean; both have the same shape."""
    if (np.abs(s.low) > EPS * np.abs(s.mean)).any():
        raise ValueError("'low' is more than the last digit of 'mean'")


def check_squares(n: Array, squares: Array) -> None:
    """ValueError if sums of squares are larger than rows of finite numbers of that weight can make them."""
    with np.errstate(over="ignore"):
        if (squares > n * LARGEST_FLOAT).any(where=n > 0):
            raise ValueError("a sum of squares is larger than that of rows of so little weight")


def exact_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b as a float64, and what is left (Knuth)."""
    high = a + b
    with np.errstate(invalid="ignore"):
        back = high - a
        return high, (a - (high - back)) + (b - back)


def away(s: Means, centre: Array, rest: Array | float = 0.0) -> Array:
    """mean + low − centre − rest, with the digits that only the difference has; s: statistics, or parameters."""
    return np.asarray((s.mean - centre) + (s.low - rest))


def combine_means(a: CentredStatistics, b: CentredStatistics, sign: int) -> tuple[Array, Array, Array, Array, Array]:
    """n, mean and low of a ± b; δ = mean(B) − mean(A); and what δ δᵀ counts, divided by n_A: Chan's formula

    n = n_A ± n_B,   mean = mean(A) ± (n_B / n) δ,   S(A ± B) = S(A) ± S(B) ± (n_A n_B / n) δ δᵀ.
    """
    n = a.n + b.n if sign > 0 else subtract(a.n, b.n)
    part = np.divide(b.n, n, out=np.zeros_like(n), where=n > 0)
    lift = part if part.ndim == a.mean.ndim else part[:, None]  # n may be one number for all columns
    none_a, none_b, none = ((m == 0).reshape(lift.shape) for m in (a.n, b.n, n))
    delta = np.where(none_a | none_b, 0.0, away(b, a.mean, a.low))
    mean, low = exact_sum(a.mean, a.low + sign * delta * lift)
    if sign > 0:
        return n, np.where(none_a, b.mean, mean), np.where(none_a, b.low, low), delta, part
    return n, np.where(none, 0.0, mean), np.where(none, 0.0, low), delta, part
