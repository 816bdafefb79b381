"""Gaussian discriminant on normal scores: a Gaussian copula model, regularised as RDA (Friedman 1989).

Each level of a binned number stands for its normal score, the normal quantile of its mid-rank; each frequent level of a
category for an indicator. The scores are fixed when the layout is chosen, so the sufficient statistics of the rows
(n, mean and centred scatter of each class) add and subtract.

Covariance of class k, with S_k its scatter and S the sum of all:
    Σ_k = (1 − γ) [(1 − λ) S_k + λ S] / m_k + γ D + T / (m_k + 1),    m_k = (1 − λ) (n_k − 1) + λ (n − K).
D is the diagonal of S / (n − K), T the variances of all rows: one row's worth of T keeps a column that separates the
classes without error from a variance of zero. λ, γ and the degrees of freedom ν of Student's t are chosen by
leave-one-out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions.context import Json, plain
from tallybayes.ensemble.stacking import TEMPERATURE_CENTRE, TEMPERATURE_PULL
from tallybayes.model.temperature import tempered
from tallybayes.utils.array_types import Array, Floats
from tallybayes.utils.cached import cached_property

if TYPE_CHECKING:
    from tallybayes.ensemble.layout import CountedColumns

X = TypeVar("X")
Y = TypeVar("Y")

DEGREES_OF_FREEDOM = (10.0, np.inf)  # ν of Student's t to choose from; infinity is the normal distribution
COVARIANCE_GRID = (  # (λ, γ) to choose from; a quick search tries the first QUICK
    (1.0, 0.1), (0.5, 0.1), (0.3, 0.5), (0.1, 0.1), (0.1, 0.0), (0.02, 0.2),
    (1.0, 0.0), (1.0, 0.5), (0.5, 0.0), (0.02, 0.02), (0.1, 0.9),
)  # fmt: skip
QUICK = 6
MAX_SELECTION_ROWS = 1000  # rows that choose λ, γ and ν …
MAX_SELECTION_SCORES = 150_000  # … and at most so many rows × classes, but 200 rows
MAX_DIMENSIONS = 200
# Rows, and share of rows, that a level needs for an indicator. The variance of a rarer level is too small in some
# class: with twenty rows of one class it multiplied the odds by 1,500.
MIN_LEVEL_ROWS, MIN_LEVEL_SHARE = 5, 0.05
FEW_ROWS = 256  # up to which all dimensions are looked up at once
BLOCK_NUMBERS = 1 << 19  # scores made of codes at a time: 4 MB, however many rows there are


@dataclass(frozen=True, eq=False)
class NormalScores:
    """Dimension i reads column[i]; its level v (last: missing) stands for value[start[i] + v]."""

    column: NDArray[np.int32]
    start: NDArray[np.int64]
    value: Floats

    @cached_property
    def _last(self) -> NDArray[np.int64]:
        """(dimensions, 1): the place of a missing value in each."""
        return np.asarray(np.diff(self.start)[:, None] - 1)

    def read(self, codes: Array) -> Floats:
        """(rows, dimensions): the scores of packed codes (columns, rows)."""
        if codes.shape[1] <= FEW_ROWS:  # a loop over dimensions takes longer than few rows
            at = np.minimum(codes[self.column], self._last)
            return np.ascontiguousarray(self.value[self.start[:-1, None] + at].T)
        out = np.empty((len(self.column), codes.shape[1]))  # one dimension after the other, as codes are stored
        for i, j in enumerate(self.column.tolist()):
            self.value[self.start[i] : self.start[i + 1]].take(codes[j], mode="clip", out=out[i])
        return out.T

    def blocks(self, codes: Array) -> Iterator[tuple[slice, Floats]]:
        """Yield spans of rows with their scores: these take many times the memory of the codes."""
        n, step = codes.shape[1], max(1024, BLOCK_NUMBERS // max(1, len(self.column)))
        for a in range(0, n, step):
            rows = slice(a, min(a + step, n))
            yield rows, self.read(codes[:, rows])

    def check(self, d: int) -> None:
        """Raise ValueError unless these are finite scores for levels of d columns: they may come from a file."""
        n = len(self.column)
        if self.start.shape != (n + 1,) or self.start[0] != 0 or self.start[-1] != len(self.value):
            raise ValueError("the Gaussian component has no score for each level")
        if n and ((np.diff(self.start) < 1).any() or self.column.min() < 0 or self.column.max() >= d):
            raise ValueError("the Gaussian component is of other columns")
        if not np.isfinite(self.value).all():
            raise ValueError("the Gaussian component does not hold finite scores")

    def export(self) -> list[Json]:
        """The scores of each dimension, as exports hold them."""
        starts = self.start.tolist()
        return [
            {"column": int(j), "value": self.value[starts[i] : starts[i + 1]].tolist()}
            for i, j in enumerate(self.column)
        ]


def scores_of(values: Iterable[tuple[int, list[Floats]]]) -> NormalScores:
    """Scores from (column, values of its levels for each dimension); a missing value stands for 0, the mean."""
    column, own = list[int](), list[Floats]()
    for j, dimensions in values:
        column += [j] * len(dimensions)
        own += [np.append(value, 0.0) for value in dimensions]
    start = np.cumsum([0, *map(len, own)]).astype(np.int64)
    return NormalScores(np.array(column, dtype=np.int32), start, np.concatenate([*own, np.empty(0)]))


def column_scores(columns: CountedColumns) -> NormalScores:
    """Normal scores of numbers; indicators of the frequent levels of categories but the first, which is redundant.

    A number that nearly always has one value has none: its few other values lie many standard deviations away.
    """

    def dimensions(j: int, n: Floats) -> list[Floats]:
        if columns.numeric[j]:
            return [normal_scores(n)] if is_frequent(float(n.sum() - n.max()), n) else []
        return [columns.original_order(j, own) for own in indicators(n)[1:]]

    counts = [(j, own.sum(axis=0)) for j, own in enumerate(columns.split()) if not columns.ignored[j]]
    return scores_of((j, dimensions(j, n)) for j, n in counts if (n > 0).sum() > 1)


def normal_scores(n: Floats) -> Floats:
    """The normal quantiles of the mid-ranks of levels with counts n, which may be tiny or huge weights."""
    from scipy.special import ndtri  # lazy import: commands without an ensemble need not wait for it

    total = float(n.sum())
    edge = max(0.5 / max(total, float((n > 0).sum())), 1e-16)
    return np.asarray(ndtri(np.clip((np.cumsum(n) - n / 2) / total, edge, 1 - edge)))


def is_frequent(rows: Floats | float, n: Floats) -> NDArray[np.bool_]:
    """Are these enough rows, of a column with counts n, for a variance in each class?"""
    return np.asarray(rows >= max(MIN_LEVEL_ROWS, MIN_LEVEL_SHARE * float(n.sum())))


def indicators(n: Floats) -> list[Floats]:
    """An indicator of each frequent level of a category with counts n."""
    frequent = np.flatnonzero(is_frequent(n, n))
    return [(np.arange(len(n)) == v).astype(np.float64) for v in frequent.tolist()]


@dataclass(frozen=True, eq=False)
class Statistics:
    """Sufficient statistics of the scores by class: weight (K,), mean (K, D), scatter about the mean (K, D, D)."""

    n: Floats
    mean: Floats
    scatter: Floats


def no_statistics(K: int, p: int) -> Statistics:
    """The statistics of no rows."""
    return Statistics(np.zeros(K), np.zeros((K, p)), np.zeros((K, p, p)))


def statistics(z: Floats, y: Array, w: Floats | None, K: int) -> Statistics:
    """The statistics of rows with scores z."""
    n, mean, _, scatter, _ = _core.scatter(_core.Columns(z), y, w, K, False)
    return Statistics(n, mean, scatter)


def add(a: Statistics, b: Statistics, sign: int = 1) -> Statistics:
    """The statistics of a and b together, or of a without b (sign = -1), by the formula of Chan et al."""
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


class Regularisation(NamedTuple):
    """λ: weight of the shared covariance; γ: of the diagonal; ν: degrees of freedom."""

    lam: float
    gam: float
    freedom: float


@dataclass(frozen=True, eq=False)
class Discriminant:
    """log p(z | class) = constant − tails(|root (z − mean)|²)."""

    mean: Floats
    root: Floats
    constant: Floats
    freedom: float
    divisor: Floats  # m_k
    floor: Floats  # γ D + T / (m_k + 1)

    @property
    def as_core_reads_it(self) -> tuple[Floats, Floats, Floats, float]:
        """Mean, root, constant and degrees of freedom."""
        return self.mean, self.root, self.constant, float(self.freedom)

    def in_class_order(self, which: Array) -> Discriminant:
        """The same with class which[c] as class c."""
        own = (self.mean, self.root, self.constant, self.divisor, self.floor)
        mean, root, constant, divisor, floor = (np.ascontiguousarray(a[which]) for a in own)
        return Discriminant(mean, root, constant, self.freedom, divisor, floor)

    def by_column(self, line: NormalScores, codes: Array, d: int) -> tuple[Floats, Floats]:
        """What each of d columns adds (rows, d, classes), and the constants (classes,).

        Of |root e|² = Σ_i e_i (rootᵀ root e)_i each dimension has its summand; the tails scale all of them alike.
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

    def export(self, line: NormalScores, weight: float) -> Json:
        """As exports hold it."""
        return {
            "weight": weight,
            "scale": line.export(),
            "mean": plain(self.mean),
            "root": [[plain(row[: i + 1]) for i, row in enumerate(root)] for root in self.root],
            "constant": plain(self.constant),
            "freedom": None if np.isinf(self.freedom) else float(self.freedom),
        }


def tails(distance: Floats, p: int, freedom: float) -> Floats:
    """d² / 2 of the normal distribution, or (ν + p) / 2 · log(1 + d² / ν) of Student's t, robust to outliers."""
    if np.isinf(freedom):
        return distance / 2
    return (freedom + p) / 2 * np.log1p(distance / freedom)


def discriminant(s: Statistics, lam: float, gam: float, freedom: float) -> Discriminant | None:
    """The densities; None where a covariance is singular."""
    return _discriminant(s, lam, gam, freedom, *_bounds(s, lam, gam))


def with_fixed_hyperparameters(s: Statistics, old: Discriminant, options: Regularisation) -> Discriminant | None:
    """The densities of other statistics, with the divisors and floors that `leave_one_out` keeps."""
    return _discriminant(s, *options, old.divisor, old.floor)


def _discriminant(
    s: Statistics, lam: float, gam: float, freedom: float, divisor: Floats, floor: Floats
) -> Discriminant | None:
    found = _roots(_covariances(s, lam, gam, divisor, floor))
    return None if found is None else Discriminant(s.mean, found[0], -0.5 * found[1], freedom, divisor, floor)


def _bounds(s: Statistics, lam: float, gam: float) -> tuple[Floats, Floats]:
    """m_k, and what is added to the diagonal; without BLAS, so that bits are equal for any number of threads."""
    N, K = s.n.sum(), (s.n > 0).sum()
    divisor = np.maximum((1 - lam) * np.maximum(s.n - 1, 0.0) + lam * (N - K), 1.0)
    pooled = np.einsum("kii->i", s.scatter)
    centre = np.einsum("k,ki->i", s.n, s.mean) / N
    whole = (pooled + np.einsum("k,ki->i", s.n, (s.mean - centre) ** 2)) / N + 1e-6
    return divisor, gam * pooled / max(N - K, 1.0) + whole / (divisor + 1)[:, None]


def _covariances(s: Statistics, lam: float, gam: float, divisor: Floats, floor: Floats) -> Floats:
    out = ((1 - lam) * s.scatter + lam * s.scatter.sum(axis=0)) * ((1 - gam) / divisor)[:, None, None]
    at = np.arange(out.shape[1])
    out[:, at, at] += floor
    return np.asarray(out)


def _roots(m: Floats) -> tuple[Floats, Floats] | None:
    """Lower triangular F with FᵀF the inverse, in place of m, and the log determinants."""
    log_det, _ = _core.roots(m, np.sqrt(np.einsum("kii->ki", m)))
    return (m, log_det) if np.isfinite(log_det).all() and np.isfinite(m).all() else None


def leave_one_out(
    s: Statistics, z: Floats, y: Array, unit: Floats, lam: float, gam: float, freedom: Sequence[float]
) -> list[Floats] | None:
    """(rows, classes) for each ν: log p(z | class) without the row itself, by a rank-one update.

    With e = z − mean_y and weight r, S_y loses s e eᵀ, s = r n / (n − r), and mean_y moves to z − e n / (n − r). The
    divisors, D and T are kept. A row that is its whole class is taken to lie on the mean.
    """
    K = len(s.mean)
    divisor, floor = _bounds(s, lam, gam)
    found = _roots(_covariances(s, lam, gam, divisor, floor))
    if found is None:
        return None
    root, log_det = found
    zeros = np.zeros_like(s.mean), np.zeros(K)
    here = np.ascontiguousarray(z)
    half = np.asarray(_core.quadratic_scores(_core.Columns(here), s.mean, zeros[0], root, zeros[1]))
    fitted = (s.n, s.mean, root, log_det, divisor)
    left = _core.leave_one_out_normal(here, y, unit, fitted, half, lam, gam, np.array(freedom))
    return None if left is None else list(left)


def choose(
    s: Statistics, z: Array, y: Array, unit: Array, start: Array, w: Array, quick: bool
) -> tuple[Regularisation, Discriminant, Array] | None:
    """λ, γ and ν with the least leave-one-out log-loss at their temperature; the densities, and the LOO terms."""
    rows = min(MAX_SELECTION_ROWS, max(200, MAX_SELECTION_SCORES // len(s.n)))
    few = slice(0, rows // 2 if quick else rows)
    z_few, y_few, unit_few = np.ascontiguousarray(z[few]), y[few], unit[few]

    def losses(pair: tuple[float, float], freedom: tuple[float, ...]) -> list[tuple[float, float]]:
        """(loss, ν) for each ν."""
        found = leave_one_out(s, z_few, y_few, unit_few, *pair, freedom)
        if found is None:
            return [(np.inf, 0.0)]
        total = max(float(w[few].sum()), 1e-300)
        pull = (TEMPERATURE_PULL, TEMPERATURE_CENTRE, 0.02)
        return [
            (tempered(start[few], logs, y[few], w[few], *pull)[1] / total, nu)
            for logs, nu in zip(found, freedom, strict=True)
        ]

    grid = COVARIANCE_GRID[: QUICK if quick else None]
    first, rest = (DEGREES_OF_FREEDOM[:1], DEGREES_OF_FREEDOM[1:]) if quick else (DEGREES_OF_FREEDOM, ())
    tried = zip(_threaded(lambda pair: losses(pair, first), grid), grid, strict=True)
    least, nu, pair = min((*each, pair) for some, pair in tried for each in some)
    if rest and np.isfinite(least):
        least, nu = min((least, nu), *losses(pair, rest))
    fitted = discriminant(s, *pair, nu) if np.isfinite(least) else None
    terms = None if fitted is None else leave_one_out(s, z, y, unit, *pair, (nu,))
    return None if fitted is None or terms is None else (Regularisation(*pair, nu), fitted, terms[0])


def _threaded(f: Callable[[X], Y], many: Sequence[X]) -> list[Y]:
    """f of each, on the threads of the core; a single thread needs no pool."""
    threads = _core.threads()
    if threads == 1:
        return [f(each) for each in many]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(f, many))
