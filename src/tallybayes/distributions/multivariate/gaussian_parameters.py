"""The parameters of a GaussianBlock: with matrices of covariances, or of the few directions that the rows span.

Each class has its own covariance, or all share one; then the log joint is linear too: weight (x − centre) + bias.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from tallybayes.distributions.statistics import Record
from tallybayes.utils.array_types import Array


@dataclass(frozen=True)
class BlockParams(Record, ABC):
    """Means (mean + low), roots of the inverse covariances, and log p at the means.

    Parameters
    ----------
    mean : ndarray of shape (K, d)
        The means.
    low : ndarray of shape (K, d)
        What they lack as float64.
    factor : ndarray
        Lower triangular F with FᵀF = Σ⁻¹ for each class, or one for all of them.
    constant : ndarray of shape (K,)
        log p at the means.
    keep : ndarray
        The columns that vary.
    """

    mean: Array
    low: Array
    factor: Array
    constant: Array
    keep: Array

    @property
    def K(self) -> int:
        """How many classes there are."""
        return len(self.constant)

    def factor_of(self, k: int) -> Array:
        """Return the root of one class."""
        return np.asarray(self.factor[k if len(self.factor) > 1 else 0])

    @abstractmethod
    def precision(self, k: int) -> Array:
        """Return the inverse covariance of one class."""

    @abstractmethod
    def whitener(self, k: int) -> Array:
        """Return what makes the columns of one class independent."""

    @abstractmethod
    def covariance(self, k: int, columns: Sequence[int]) -> Array:
        """Return the covariance of some columns in one class."""

    @abstractmethod
    def variances(self) -> Array:
        """Return the variance of each column in each class."""

    @abstractmethod
    def coloured(self, noise: Array, k: int) -> Array:
        """Return normal numbers the covariance of one class."""


@dataclass(frozen=True)
class FullParams(BlockParams):
    """Roots over all columns, 0 for those that never vary."""

    def root(self, k: int) -> Array:
        """Return a root of the covariance of one class."""
        factor = self.factor_of(k)[np.ix_(self.keep, self.keep)]
        lower, _ = scipy.linalg.lapack.dtrtri(factor, lower=1) if len(factor) else (factor, 0)
        return np.tril(lower)

    def precision(self, k: int) -> Array:
        f = self.factor_of(k)
        return np.asarray(f.T @ f)

    def whitener(self, k: int) -> Array:
        return self.factor_of(k)

    def covariance(self, k: int, columns: Sequence[int]) -> Array:
        which = np.asarray(columns, dtype=np.intp)
        lower = np.zeros((self.mean.shape[1], len(self.keep)))
        lower[self.keep] = self.root(k)
        return np.asarray(lower[which] @ lower[which].T)

    def variances(self) -> Array:
        out = np.zeros_like(self.mean)
        for k in range(len(out)):
            out[k, self.keep] = np.square(self.root(k)).sum(axis=1)
        return out

    def coloured(self, noise: Array, k: int) -> Array:
        return np.asarray(noise[:, : len(self.keep)] @ self.root(k).T @ np.eye(self.mean.shape[1])[self.keep])


@dataclass(frozen=True)
class SharedParams(FullParams):
    """One covariance for all classes.

    Parameters
    ----------
    Those of FullParams, and:
    weight : ndarray of shape (K, d)
        What makes log p linear: bias + weight (x − centre), up to a term that all classes share.
    bias : ndarray of shape (K,)
        The same.
    centre : ndarray of shape (d,)
        The same.
    """

    weight: Array
    bias: Array
    centre: Array


@dataclass(frozen=True)
class WideParams(BlockParams):
    """x = centre + unit · (U t + rest): see wide_gaussian.py; factor (K or 1, r, r) is within the span."""

    centre: Array  # (d)
    unit: Array  # (d): 0 for a column that never varies
    scale: Array  # 1 / unit, 0 for 0
    basis: Array  # U (d, r)
    place: Array  # (K, r): the means within the span
    outside: Array  # (K): the variance outside it

    def thin(self, columns: Array, k: int) -> tuple[float, Array, Array]:
        """Return the covariance of a class as a multiple of the identity and few directions."""
        f = float(self.outside[k])
        lower = np.linalg.inv(self.factor_of(k))
        value, vector = np.linalg.eigh(lower @ lower.T - f * np.eye(len(lower)))
        root = self.basis[columns] @ (vector * np.sqrt(np.maximum(value, 0.0)))
        left, size, _ = np.linalg.svd(root, full_matrices=False)
        return f, left, size

    def precision(self, k: int) -> Array:
        f = self.factor_of(k)
        inside = self.basis @ (f.T @ f - np.eye(len(f)) / self.outside[k]) @ self.basis.T
        return np.asarray((inside + np.eye(len(inside)) / self.outside[k]) * self.scale * self.scale[:, None])

    def whitener(self, k: int) -> Array:
        return np.asarray(self.factor_of(k) @ self.basis.T * self.scale)

    def covariance(self, k: int, columns: Sequence[int]) -> Array:
        which = np.asarray(columns, dtype=np.intp)
        u, unit = self.basis[which], self.unit[which]
        lower = np.linalg.inv(self.factor_of(k))
        inside = (u @ lower) @ (u @ lower).T
        return np.asarray((inside + self.outside[k] * (np.eye(len(which)) - u @ u.T)) * unit * unit[:, None])

    def variances(self) -> Array:
        out = np.zeros_like(self.mean)
        for k in range(len(out)):
            f, left, size = self.thin(self.keep, k)
            out[k, self.keep] = np.square(self.unit[self.keep]) * (f + np.square(left) @ size**2)
        return out

    def coloured(self, noise: Array, k: int) -> Array:
        t = noise @ self.basis
        rest = (noise - t @ self.basis.T) * np.sqrt(self.outside[k])
        return np.asarray((np.linalg.solve(self.factor_of(k), t.T).T @ self.basis.T + rest) * self.unit)


@dataclass(frozen=True)
class SharedWideParams(WideParams):
    """One covariance for all classes."""

    weight: Array  # (K, d)
    bias: Array  # (K)
