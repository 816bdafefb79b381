"""A regularised Gaussian discriminant over codes: every level of a column stands for a number.

A level of a cut column stands for its place on the line (in units of the standard deviation), or for its normal score
(the normal quantile of its mid-rank); a frequent level of a category for an indicator. The numbers are chosen once, so
that the sums over rows (n, mean and centred scatter of each class) add up like all counts.

Covariance of class k, with S_k its scatter and S the sum of all:
    Σ_k = (1 − γ) [(1 − λ) S_k + λ S] / m_k + γ D + T / (m_k + 1),    m_k = (1 − λ) (n_k − 1) + λ (n − K),
D the diagonal of S / (n − K), T that of the variances of all rows together: one row's worth of it keeps a column that
tells the classes apart without a mistake from having no variance at all. λ, γ and the tails are chosen by
leave-one-out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.utils.array_types import Array, Floats

FREEDOM = (10.0, np.inf)  # ν of Student's t; the normal distribution has infinitely many
JUDGES = 1000  # rows that choose λ, γ and ν
ANSWERS = 150_000  # … times classes, for 200 rows at least
FEW = 256  # rows
POINTS = 1 << 19  # numbers that are made of codes at a time: 4 MB, however many rows there are
CHOICES = (  # of λ and γ, the first of them for those in a hurry
    (1.0, 0.1), (0.5, 0.1), (0.3, 0.5), (0.1, 0.1), (0.1, 0.0), (0.02, 0.2),
    (1.0, 0.0), (1.0, 0.5), (0.5, 0.0), (0.02, 0.02), (0.1, 0.9),
)  # fmt: skip
HURRY = 6
# Rows, and share of them, that a level with an indicator has. Of rarer ones a class's variance says too much: it stands
# in the denominator, and twenty rows of one class multiplied the odds by 1,500.
FREQUENT = (5, 0.05)


@dataclass(frozen=True, eq=False)
class Scale:
    """What the levels stand for: dimension i reads column[i], whose level v (last: missing) is value[start[i] + v]."""

    column: NDArray[np.int32]
    start: NDArray[np.int64]
    value: Floats

    @cached_property
    def _last(self) -> NDArray[np.int64]:
        """(dimensions, 1): the place of a missing value in each."""
        return np.asarray(np.diff(self.start)[:, None] - 1)

    def read(self, codes: Array) -> Floats:
        """Read codes as points on the line.

        Parameters
        ----------
        codes : ndarray of shape (columns, n)
            Packed codes.

        Returns
        -------
        ndarray of shape (n, dimensions)
            Scaled numbers.
        """
        if codes.shape[1] <= FEW:  # all dimensions at once: a loop over them takes longer than few rows
            at = np.minimum(codes[self.column], self._last)
            return np.ascontiguousarray(self.value[self.start[:-1, None] + at].T)
        out = np.empty((len(self.column), codes.shape[1]))  # a dimension after the other, as the codes are read
        for i, j in enumerate(self.column.tolist()):
            self.value[self.start[i] : self.start[i + 1]].take(codes[j], mode="clip", out=out[i])
        return out.T

    def blocks(self, codes: Array) -> Iterator[tuple[slice, Floats]]:
        """Read codes, some rows at a time: the numbers take many times the room of the codes.

        Parameters
        ----------
        codes : ndarray of shape (columns, n)
            Packed codes.

        Yields
        ------
        rows : slice
            Which rows.
        ndarray of shape (rows, dimensions)
            Their scaled numbers.
        """
        n, step = codes.shape[1], max(1024, POINTS // max(1, len(self.column)))
        for a in range(0, n, step):
            rows = slice(a, min(a + step, n))
            yield rows, self.read(codes[:, rows])

    def check(self, d: int) -> None:
        """Raise ValueError if these are not numbers for levels of d columns: they may come from a file.

        Parameters
        ----------
        d : int
            How many columns there are.
        """
        n = len(self.column)
        if self.start.shape != (n + 1,) or self.start[0] != 0 or self.start[-1] != len(self.value):
            raise ValueError("the Gaussian part has no value for each level")
        if n and ((np.diff(self.start) < 1).any() or self.column.min() < 0 or self.column.max() >= d):
            raise ValueError("the Gaussian part is of other columns")
        if not np.isfinite(self.value).all():
            raise ValueError("the Gaussian part does not hold finite numbers")


def normal_scores(n: Floats) -> Floats:
    """What the levels of a cut column stand for: the normal quantiles of their mid-ranks. n: how many rows have each;
    rows may weigh next to nothing, or very much."""
    from scipy.special import ndtri  # a command that does without it need not wait for it

    total = float(n.sum())
    edge = max(0.5 / max(total, float((n > 0).sum())), 1e-16)
    return np.asarray(ndtri(np.clip((np.cumsum(n) - n / 2) / total, edge, 1 - edge)))


def indicators(n: Floats) -> list[Floats]:
    """1 for a level of a category and 0 for the others, for each frequent level."""
    frequent = np.flatnonzero(n >= max(FREQUENT[0], FREQUENT[1] * float(n.sum())))
    return [(np.arange(len(n)) == v).astype(np.float64) for v in frequent.tolist()]


@dataclass(frozen=True, eq=False)
class Statistics:
    """Sums of scaled numbers, class by class.

    Parameters
    ----------
    n : ndarray of shape (K,)
        The weight of each class.
    mean : ndarray of shape (K, D)
        Its mean.
    scatter : ndarray of shape (K, D, D)
        Its scatter about the mean.
    """

    n: Floats
    mean: Floats
    scatter: Floats


def no_sums(K: int, p: int) -> Statistics:
    """Of no rows."""
    return Statistics(np.zeros(K), np.zeros((K, p)), np.zeros((K, p, p)))


def sums(z: Floats, y: Array, w: Floats | None, K: int) -> Statistics:
    n, mean, _, scatter, _ = _core.scatter(_core.Columns(z), y, w, K, False)
    return Statistics(n, mean, scatter)


def add(a: Statistics, b: Statistics, sign: int = 1) -> Statistics:
    """Chan's formula, for adding and for taking away."""
    n = a.n + sign * b.n
    n = np.where(n <= 1e-12 * np.maximum(a.n, b.n), 0.0, n)
    share = np.divide(b.n, n, out=np.zeros_like(n), where=n > 0)[:, None]
    between = b.mean - a.mean
    some = (n > 0)[:, None]
    mean = np.where(some, a.mean + sign * share * between, 0.0)
    step = np.einsum("ki,kj->kij", between, between) * (share * a.n[:, None])[:, :, None]
    scatter = np.where(some[:, :, None], a.scatter + sign * b.scatter + sign * step, 0.0)
    if sign < 0:
        at = np.arange(scatter.shape[1])
        scatter[:, at, at] = np.maximum(scatter[:, at, at], 0.0)
    return Statistics(n, mean, scatter)


@dataclass(frozen=True, eq=False)
class Normals:
    """log p(z | class) = constant − tails(|root (z − mean)|²)."""

    mean: Floats
    root: Floats
    constant: Floats
    freedom: float
    below: Floats  # m_k
    floor: Floats  # γ D + T / (m_k + 1)

    @cached_property
    def _nothing(self) -> tuple[Floats, Floats]:
        return np.zeros_like(self.mean), np.zeros_like(self.constant)

    def logs(self, z: Floats) -> Floats:
        """Give the log densities of scaled numbers.

        Parameters
        ----------
        z : ndarray of shape (n, dimensions)
            Scaled numbers.

        Returns
        -------
        ndarray of shape (n, K)
            Log densities.
        """
        linear, constant = self._nothing
        scores = _core.quadratic_scores(_core.Columns(z), self.mean, linear, self.root, constant)
        distance = -2 * np.asarray(scores)  # the kernel has −½ of the distance
        return self.constant - tails(distance, z.shape[1], self.freedom)

    def by_column(self, line: Scale, codes: Array, d: int) -> tuple[Floats, Floats]:
        """Tell what each column adds.

        Of the distance |root e|² = Σ_i e_i (root' root e)_i each dimension has its own summand; the tails scale all of
        them alike.

        Parameters
        ----------
        line : Scale
            How codes are read.
        codes : ndarray of shape (columns, n)
            Packed codes.
        d : int
            How many columns there are.

        Returns
        -------
        tuple of ndarrays of shapes (n, d, K) and (K,)
            What each column adds, and what is the same for all rows.
        """
        z = line.read(codes)
        out = np.zeros((len(z), d, len(self.mean)))
        for k, (mean, root) in enumerate(zip(self.mean, self.root, strict=True)):
            e = z - mean
            own = e * ((e @ root.T) @ root)
            distance = own.sum(axis=1)
            whole = tails(distance, z.shape[1], self.freedom)
            share = np.divide(whole, distance, out=np.zeros_like(whole), where=distance > 0)
            np.add.at(out[:, :, k].T, line.column, -(own * share[:, None]).T)
        return out, self.constant


def tails(distance: Floats, p: int, freedom: float) -> Floats:
    """d² / 2 of the normal distribution, or (ν + p) / 2 · log(1 + d² / ν) of Student's t, which forgives far rows."""
    if np.isinf(freedom):
        return distance / 2
    return (freedom + p) / 2 * np.log1p(distance / freedom)


def normals(s: Statistics, lam: float, gam: float, freedom: float) -> Normals | None:
    """None where a covariance has no inverse."""
    return _normals(s, lam, gam, freedom, *_bounds(s, lam, gam))


def kept(s: Statistics, old: Normals, lam: float, gam: float, freedom: float) -> Normals | None:
    """The same for other sums, with what `leave_one_out` keeps as it was."""
    return _normals(s, lam, gam, freedom, old.below, old.floor)


def _normals(s: Statistics, lam: float, gam: float, freedom: float, below: Floats, floor: Floats) -> Normals | None:
    found = _roots(_covariances(s, lam, gam, below, floor))
    return None if found is None else Normals(s.mean, found[0], -0.5 * found[1], freedom, below, floor)


def _bounds(s: Statistics, lam: float, gam: float) -> tuple[Floats, Floats]:
    """m_k, and what is added to the diagonal. Without BLAS, so that the bits are the same for any number of threads."""
    N, K = s.n.sum(), (s.n > 0).sum()
    below = np.maximum((1 - lam) * np.maximum(s.n - 1, 0.0) + lam * (N - K), 1.0)
    pooled = np.einsum("kii->i", s.scatter)
    centre = np.einsum("k,ki->i", s.n, s.mean) / N
    whole = (pooled + np.einsum("k,ki->i", s.n, (s.mean - centre) ** 2)) / N + 1e-6
    return below, gam * pooled / max(N - K, 1.0) + whole / (below + 1)[:, None]


def _covariances(s: Statistics, lam: float, gam: float, below: Floats, floor: Floats) -> Floats:
    out = ((1 - lam) * s.scatter + lam * s.scatter.sum(axis=0)) * ((1 - gam) / below)[:, None, None]
    at = np.arange(out.shape[1])
    out[:, at, at] += floor
    return np.asarray(out)


def _roots(m: Floats) -> tuple[Floats, Floats] | None:
    """Lower triangular F with FᵀF the inverse, in the place of m, and the logs of the determinants."""
    log_det, _ = _core.roots(m, np.sqrt(np.einsum("kii->ki", m)))
    return (m, log_det) if np.isfinite(log_det).all() and np.isfinite(m).all() else None


def leave_one_out(
    s: Statistics, z: Floats, y: Array, unit: Floats, lam: float, gam: float, freedom: Sequence[float] = FREEDOM
) -> list[Floats] | None:
    """(rows, classes) for each ν: log p(z | class) without the row itself, by a rank-one step: with e = z − mean_y and
    its weight r, S_y loses s e eᵀ, s = r n / (n − r), and mean_y moves to z − e n / (n − r). What the sums are divided
    by, D and T are kept. Rows that are all of their class have no mean without themselves: they are taken to lie on
    it."""
    K = len(s.mean)
    below, floor = _bounds(s, lam, gam)
    found = _roots(_covariances(s, lam, gam, below, floor))
    if found is None:
        return None
    root, log_det = found
    none = np.zeros_like(s.mean), np.zeros(K)
    here = np.ascontiguousarray(z)
    half = np.asarray(_core.quadratic_scores(_core.Columns(here), s.mean, none[0], root, none[1]))
    statistics_from = (s.n, s.mean, root, log_det, below)
    left = _core.leave_one_out_normal(here, y, unit, statistics_from, half, lam, gam, np.array(freedom))
    return None if left is None else list(left)
