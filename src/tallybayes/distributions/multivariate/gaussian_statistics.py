"""The sums of a GaussianBlock. Three forms, each exact:

compact  n (K), mean (K, d), scatter (K, d, d), or (1, d, d) summed over the classes;
paired   n, mean (K, d, d): entry [c, i, j] over the rows of class c that have both x_i and x_j (mean: of x_i there).
         The form of data with missing values: every covariance comes from all rows that can speak of it.
wide     rows (R, d) and the class of each (owner), scatter_c = Σ rows rowsᵀ: fewer rows than columns, no d×d matrix.

For Ledoit-Wolf shrinkage compact statistics have third and fourth moments too, wide ones the weight of each row: see
ledoit_wolf.py. Means are sums of two float64, mean + low, in any form: see distributions/statistics.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self, cast

import numpy as np
from numpy.typing import NDArray

from tallybayes.distributions.statistics import (
    LARGEST_FLOAT,
    CentredStatistics,
    arrays_of,
    check_low,
    check_squares,
    expect,
    record_of,
    spread,
)
from tallybayes.utils.array_types import Array

ROOT = 1e150  # squares of these can be summed


@dataclass(frozen=True)
class BlockStatistics(CentredStatistics, ABC):
    """What all forms have."""

    @abstractmethod
    def written(self, pooled: bool) -> ScatterStatistics:
        """Return the statistics with the scatter as matrices."""

    @abstractmethod
    def squares(self, pooled: bool) -> Array:
        """Sum the squares about the means: (K, d), or (1, d) of all classes."""

    def scaled(self, factor: float) -> Self:
        """Let every row count `factor` times as much."""
        return replace(self, n=self.n * factor)

    def reclassed(self, to: Sequence[int], K: int, pooled: bool) -> Self:  # noqa: ARG002
        """Renumber the classes: class c becomes class to[c] of K."""
        n, mean, low = (spread(a, to, K) for a in (self.n, self.mean, self.low))
        return replace(self, n=n, mean=mean, low=low)

    def by_column(self) -> tuple[Array, Array, Array]:
        """Return the statistics of each column by itself."""
        return np.broadcast_to(self.n[:, None], self.mean.shape).copy(), self.mean, self.low

    def seen_columns(self) -> NDArray[np.bool_]:
        """Return which columns had a value in some row."""
        return np.ones(self.mean.shape[1], dtype=bool)

    def limits(self) -> Iterator[tuple[Array, float | Array]]:
        """Return how large numbers in the statistics may be."""
        yield from ((a, LARGEST_FLOAT) for a in (self.n, self.mean, self.low))

    def check(self, K: int, d: int, pooled: bool) -> None:
        """Refuse statistics that no rows can have: they come from a file.

        Parameters
        ----------
        K : int
            How many classes there are.
        d : int
            How many columns there are.
        pooled : bool
            Whether one scatter is kept for all classes.

        Raises
        ------
        ValueError
            If no rows can have these sums.
        """
        expect(self, self.shapes(K, d, pooled), at_least_0=("n", "fourth"))
        check_low(self)

    def shapes(self, K: int, d: int, pooled: bool) -> dict[str, tuple[int, ...]]:  # noqa: ARG002
        """Return of what shape each array must be."""
        return {"n": (K,), "mean": (K, d), "low": (K, d)}


@dataclass(frozen=True)
class ScatterStatistics(BlockStatistics, ABC):
    """The forms with matrices of sums of products about the means."""

    scatter: Array

    def written(self, pooled: bool) -> ScatterStatistics:  # noqa: ARG002
        return self

    def squares(self, pooled: bool) -> Array:  # noqa: ARG002
        return np.asarray(np.einsum("kii->ki", self.scatter))

    @abstractmethod
    def paired(self) -> PairedStatistics:
        """The same in paired form."""

    @abstractmethod
    def most_rows(self) -> Array:
        """(K): the weight of each class, in the column that has most."""

    @abstractmethod
    def mean_rows(self) -> Array:
        """(K): the weight of each class, on average over the columns."""

    def scaled(self, factor: float) -> Self:
        return replace(super().scaled(factor), scatter=self.scatter * factor)

    def reclassed(self, to: Sequence[int], K: int, pooled: bool) -> Self:
        moved = super().reclassed(to, K, pooled)
        if not pooled:
            return replace(moved, scatter=spread(self.scatter, to, K))
        return moved if any(k >= 0 for k in to) else replace(moved, scatter=np.zeros_like(self.scatter))

    def limits(self) -> Iterator[tuple[Array, float | Array]]:
        yield from super().limits()
        # so that sums over classes are numbers too, and so is what rows that hardly count are divided by
        n = self.n if self.n.ndim == 3 else self.n[:, None, None]
        n = n if len(self.scatter) == len(n) else n.sum(axis=0, keepdims=True)
        yield self.scatter, LARGEST_FLOAT / max(len(self.n), 1) * np.where(n > 0, np.minimum(n, 1.0), 1.0)

    def shapes(self, K: int, d: int, pooled: bool) -> dict[str, tuple[int, ...]]:
        return {**super().shapes(K, d, pooled), "scatter": (1 if pooled else K, d, d)}

    def check(self, K: int, d: int, pooled: bool) -> None:
        super().check(K, d, pooled)
        if (np.einsum("kii->ki", self.scatter) < 0).any():
            raise ValueError("'scatter' has a negative sum of squares")
        n = self.most_rows()[:, None]
        check_squares(n.sum(axis=0, keepdims=True) if pooled else n, np.einsum("kii->ki", self.scatter))


@dataclass(frozen=True)
class CompactStatistics(ScatterStatistics):
    """Statistics of rows that miss nothing.

    Parameters
    ----------
    n : ndarray of shape (K,)
        The weight of each class.
    mean : ndarray of shape (K, d)
        Its mean.
    low : ndarray of shape (K, d)
        What the mean lacks as a float64.
    scatter : ndarray of shape (K, d, d) or (1, d, d)
        Products about the mean, of each class or pooled.
    """

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        paired = np.ndim(arrays.get("n", 0)) == 3
        return record_of(cast("type[Self]", PairedStatistics) if paired else cls, arrays)

    def paired(self) -> PairedStatistics:
        K, d = self.mean.shape
        n = np.broadcast_to(self.n[:, None, None], (K, d, d)).copy()
        mean, low = (np.repeat(a[:, :, None], d, axis=2) for a in (self.mean, self.low))
        return PairedStatistics(n, mean, low, self.scatter)

    def most_rows(self) -> Array:
        return self.n

    def mean_rows(self) -> Array:
        return self.n


@dataclass(frozen=True)
class PairedStatistics(ScatterStatistics):
    """n, mean and low (K, d, d), scatter (K or 1, d, d)."""

    def paired(self) -> PairedStatistics:
        return self

    def most_rows(self) -> Array:
        return np.asarray(np.einsum("kii->ki", self.n).max(axis=1))

    def mean_rows(self) -> Array:
        return np.array([np.diag(n).mean() for n in self.n])

    def by_column(self) -> tuple[Array, Array, Array]:
        n, mean, low = (np.einsum("kii->ki", a).copy() for a in (self.n, self.mean, self.low))
        return n, mean, low

    def seen_columns(self) -> NDArray[np.bool_]:
        return np.asarray(np.diagonal(self.n.sum(axis=0)) > 0)

    def shapes(self, K: int, d: int, pooled: bool) -> dict[str, tuple[int, ...]]:
        return {**super().shapes(K, d, pooled), **dict.fromkeys(("n", "mean", "low"), (K, d, d))}


@dataclass(frozen=True)
class FourthStatistics(CompactStatistics):
    """With third_jl = Σ e_j² e_l and fourth_jl = Σ e_j² e_l² of each class, e = x − mean: (K, d, d)."""

    third: Array
    fourth: Array

    def scaled(self, factor: float) -> Self:
        return replace(super().scaled(factor), third=self.third * factor, fourth=self.fourth * factor)

    def reclassed(self, to: Sequence[int], K: int, pooled: bool) -> Self:
        moved = super().reclassed(to, K, pooled)
        return replace(moved, third=spread(self.third, to, K), fourth=spread(self.fourth, to, K))

    def fourth_powers(self, k: int, unit: Array) -> float:
        """Sum |z|⁴ of a class, z in these units."""
        return float((self.fourth[k] / unit**2 / (unit**2)[:, None]).sum())

    def shapes(self, K: int, d: int, pooled: bool) -> dict[str, tuple[int, ...]]:
        return {**super().shapes(K, d, pooled), **dict.fromkeys(("third", "fourth"), (K, d, d))}


@dataclass(frozen=True)
class WideStatistics(BlockStatistics):
    """n (K), mean and low (K, d), rows (R, d) about the means, and the class of each (R)."""

    rows: Array
    owner: Array

    def squares(self, pooled: bool) -> Array:
        found = np.zeros_like(self.mean)
        np.add.at(found, self.owner, self.rows**2)
        return found.sum(axis=0, keepdims=True) if pooled else found

    def written(self, pooled: bool) -> CompactStatistics:
        K, d = self.mean.shape
        if pooled:
            return CompactStatistics(self.n, self.mean, self.low, (self.rows.T @ self.rows)[None])
        scatter = np.zeros((K, d, d))
        for k in range(K):
            mine = self.rows[self.owner == k]
            scatter[k] = mine.T @ mine
        return CompactStatistics(self.n, self.mean, self.low, scatter)

    def scaled(self, factor: float) -> Self:
        return replace(super().scaled(factor), rows=self.rows * np.sqrt(factor))

    def reclassed(self, to: Sequence[int], K: int, pooled: bool) -> Self:
        owner = np.asarray(to, dtype=np.int64)[self.owner]
        return replace(super().reclassed(to, K, pooled).only(owner >= 0), owner=owner[owner >= 0])

    def only(self, some: Array) -> Self:
        """Keep some rows."""
        return replace(self, rows=self.rows[some], owner=self.owner[some])

    def limits(self) -> Iterator[tuple[Array, float | Array]]:
        yield from super().limits()
        yield self.rows, ROOT

    def shapes(self, K: int, d: int, pooled: bool) -> dict[str, tuple[int, ...]]:
        return {**super().shapes(K, d, pooled), "rows": (len(self.owner), d)}

    def check(self, K: int, d: int, pooled: bool) -> None:
        owner = self.owner
        if owner.dtype != np.int64 or owner.ndim != 1 or ((owner < 0) | (owner >= K)).any():
            raise ValueError("'owner' is not the class of each row")
        rest = {name: a for name, a in arrays_of(self).items() if name != "owner"}
        expect(rest, self.shapes(K, d, pooled), at_least_0=("n",))
        check_low(self)


@dataclass(frozen=True)
class WeighedStatistics(WideStatistics):
    """With the weight of each row (R); rows are √weight (x − mean)."""

    weight: Array

    def scaled(self, factor: float) -> Self:
        return replace(super().scaled(factor), weight=self.weight * factor)

    def only(self, some: Array) -> Self:
        return replace(super().only(some), weight=self.weight[some])

    def fourth_powers(self, k: int, unit: Array) -> float:
        """Sum |z|⁴ of a class, z in these units."""
        mine = self.owner == k
        size = np.square(self.rows[mine] / unit).sum(axis=1)
        return float((np.square(size) / self.weight[mine]).sum())

    def limits(self) -> Iterator[tuple[Array, float | Array]]:
        yield from super().limits()
        yield self.weight, LARGEST_FLOAT

    def shapes(self, K: int, d: int, pooled: bool) -> dict[str, tuple[int, ...]]:
        return {**super().shapes(K, d, pooled), "weight": self.owner.shape}

    def check(self, K: int, d: int, pooled: bool) -> None:
        super().check(K, d, pooled)
        if not (self.weight > 0).all():
            raise ValueError("'weight' is not that of rows that count")
