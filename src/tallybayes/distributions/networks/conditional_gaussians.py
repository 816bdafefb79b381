"""Real columns of a network: x | class, cell of the discrete parents ~ Normal(mean, variance).

What is summed are moments, the weight n, the mean m and the squares about it M of every real column in every class and
cell of some sets of discrete columns. A real column is never a parent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Numbers
from tallybayes.distributions.context import Weights
from tallybayes.utils.array_types import Array, Floats

Sets = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]  # (parents, ascending; the real columns beside them)
RELATIVE_VARIANCE_FLOOR = 1e-9  # of a column's variance: what NaiveBayes adds to every variance
ENOUGH = 2 - 1e-9  # weight of a cell that has a variance of its own


@dataclass(frozen=True)
class Moments:
    """Weight, mean and squares about the mean, arrays of one shape."""

    n: Floats
    mean: Floats
    m2: Floats

    def __iter__(self) -> Iterator[Floats]:
        return iter((self.n, self.mean, self.m2))

    def __getitem__(self, at: Any) -> Moments:
        return Moments(self.n[at], self.mean[at], self.m2[at])

    def pooled(self, axis: int) -> Moments:
        """Take all along an axis as if they were one."""
        n = self.n.sum(axis=axis, keepdims=True)
        share = np.divide(self.n, n, out=np.zeros_like(self.n), where=n > 0)
        mean = (share * self.mean).sum(axis=axis, keepdims=True)
        delta = np.where(self.n > 0, self.mean - mean, 0.0)
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # variances that are no numbers are refused in joint_counts.py
            m2 = (self.m2 + self.n * delta * delta).sum(axis=axis, keepdims=True)
        return Moments(n, mean, m2)

    def without(self, x: Floats, weight: Floats) -> Moments:
        """Take values out: the inverse of adding them."""
        n = self.n - weight
        left = n > 1e-9 * self.n
        n = np.where(left, n, 0.0)
        delta = np.where(left & (weight > 0), x - self.mean, 0.0)
        part = np.divide(weight, n, out=np.zeros(np.broadcast_shapes(n.shape, weight.shape)), where=n > 0)
        m2 = self.m2 - delta * delta * (self.n * part)  # in this order no step is larger than the sum itself
        return Moments(n, np.where(left, self.mean - delta * part, 0.0), np.where(left, np.maximum(m2, 0.0), 0.0))

    def variance(self) -> Floats:
        """The variance in each cell."""
        with np.errstate(over="ignore"):  # squares that are no numbers are refused with the column's name
            return np.divide(self.m2, self.n, out=np.zeros_like(self.m2), where=self.n > 0)


# --- which sets, and where they lie ---------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def real_sets(discrete: int, reals: int, order: int, extra: Sets = ()) -> Sets:
    """No parent, all sets of 1 … order − 1 discrete columns, each beside all real columns; and then the extra ones."""
    every = tuple(range(reals))
    return (*((s, every) for m in range(order) for s in combinations(range(discrete), m)), *extra)


def family_real_sets(parents: Sequence[Sequence[int]], least: int = 1) -> Sets:
    """The sets that real columns of these parents need: their first 1, 2, … parents (from `least` on), and each parent
    alone. parents: of each real column."""
    wanted: dict[tuple[int, ...], list[int]] = {}
    for j, own in enumerate(parents):
        sets = {tuple(sorted(own[: m + 1])) for m in range(len(own))} | {(i,) for i in own}
        for s in sets:
            if len(s) >= least:
                wanted.setdefault(s, []).append(j)
    return tuple((s, tuple(wanted[s])) for s in sorted(wanted, key=lambda s: (len(s), s)))


def check_real_sets(extra: Sets, d: int, reals: int) -> None:
    """Raises ValueError unless these are sets of discrete columns beside real ones, each pair once."""
    seen: set[tuple[tuple[int, ...], int]] = set()
    for s, beside in extra:
        if not s or list(s) != sorted(set(s)) or s[0] < 0 or s[-1] >= d:
            raise ValueError(f"{s!r:.60} is not a set of parents")
        if not beside or any(not 0 <= j < reals or (s, j) in seen for j in beside):
            raise ValueError(f"{beside!r:.60} are not real columns, each once beside its parents")
        seen.update((s, j) for j in beside)


def moment_cells(sets: Sets, sizes: NDArray[np.int64]) -> list[int]:
    """How many cells each set has, times the real columns beside it. Not an int64: a product may be beyond it."""
    out = []
    for s, reals in sets:
        cells = len(reals)
        for i in s:
            cells *= int(sizes[i])
        out.append(cells)
    return out


def count_moments(
    sets: Sets, numbers: Numbers, codes: Array, sizes: NDArray[np.int64], y: NDArray[np.int32], w: Weights, K: int
) -> Moments:
    """The moments of all sets, (classes, cells · real columns) one after another. codes: (discrete columns, rows)."""
    blocks = []
    for s, reals in sets:
        cell, here = cell_of(codes, sizes, s)
        cells = int(np.prod(sizes[list(s)]))
        kept = (y >= 0) & here
        key = np.where(kept, y * np.int64(cells) + cell, -1).astype(np.int32)
        columns = numbers.columns if len(reals) == numbers.d else numbers.columns.select(list(reals))
        n, mean, _, m2 = _core.moments(columns, key, w, K * cells)
        blocks.append([a.reshape(K, cells * len(reals)) for a in (n, mean, m2)])
    return beside([Moments(*block) for block in blocks]) if blocks else Moments(*(np.empty((K, 0)) for _ in range(3)))


def beside(blocks: Sequence[Moments]) -> Moments:
    """Moments (classes, cells) one after another."""
    return Moments(*(np.concatenate(parts, axis=1) for parts in zip(*map(tuple, blocks), strict=True)))


def cell_of(
    codes: Array, sizes: NDArray[np.int64], parents: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The cell of each row, the last parent fastest, and whether all parents are there."""
    cell, here = np.zeros(codes.shape[1], dtype=np.int64), np.ones(codes.shape[1], dtype=bool)
    for i in parents:
        there = codes[i] != np.iinfo(codes.dtype).max
        cell = cell * int(sizes[i]) + np.where(there, codes[i], 0)
        here &= there
    return cell, here


def move_moments(
    sets: Sets, m: Moments, old: NDArray[np.int64], new: NDArray[np.int64], maps: Sequence[NDArray[np.int64] | None]
) -> Moments:
    """The same moments where columns have other levels. maps: of each column, old level → new; None: as it was."""
    K = m.n.shape[0]
    before, after = np.cumsum([0, *moment_cells(sets, old)]), np.cumsum([0, *moment_cells(sets, new)])
    out = Moments(*(np.zeros((K, int(after[-1]))) for _ in range(3)))
    for t, (parents, reals) in enumerate(sets):
        place = [np.arange(old[i]) if (to := maps[i]) is None else to for i in parents]
        at = np.ix_(np.arange(K), *place, np.arange(len(reals)))
        for source, target in zip(m, out, strict=True):
            block = target[:, after[t] : after[t + 1]].reshape(K, *new[list(parents)], len(reals))
            block[at] = source[:, before[t] : before[t + 1]].reshape(K, *old[list(parents)], len(reals))
            target[:, after[t] : after[t + 1]] = block.reshape(K, int(after[t + 1] - after[t]))
    return out


class RealTables:
    """The moments of statistics, found by real column and parents."""

    def __init__(self, sets: Sets, moments: Moments, sizes: NDArray[np.int64]) -> None:
        ends = np.cumsum([0, *moment_cells(sets, sizes)])
        self._at = {(own, j): (t, i) for t, (own, reals) in enumerate(sets) for i, j in enumerate(reals)}
        self._sets, self._moments, self._sizes, self._ends = sets, moments, sizes, ends

    def __getstate__(self) -> dict[str, object]:
        """What it was made of: keys that are tuples are not for every kind of file."""
        return {"sets": self._sets, "moments": self._moments, "sizes": self._sizes}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __contains__(self, key: tuple[tuple[int, ...], int]) -> bool:
        return key in self._at

    def level(self, j: int, parents: Sequence[int]) -> Moments:
        """Return the moments of one real column beside these parents."""
        t, i = self._at[tuple(sorted(parents)), j]
        return self._read(t, parents)[:, i]

    def all(self, parents: Sequence[int]) -> Moments:
        """Return those of all real columns, of a set that is counted beside all of them."""
        return self._read(self._at[tuple(sorted(parents)), 0][0], parents)

    def all_chain(self, parents: Sequence[int]) -> list[Moments]:
        """Return the moments beside no parent, the first, the first two, and so on."""
        return [self.all(parents[:m]) for m in range(len(parents) + 1)]

    def _read(self, t: int, parents: Sequence[int]) -> Moments:
        own, reals = self._sets[t]
        K, shape = self._moments.n.shape[0], self._sizes[list(own)].tolist()
        axes = [1 + own.index(p) for p in parents]

        def read(a: Floats) -> Floats:
            block = a[:, self._ends[t] : self._ends[t + 1]].reshape(K, *shape, len(reals))
            return block.transpose(*axes, -1, 0).reshape(-1, len(reals), K)

        return Moments(*map(read, self._moments))

    def chain(self, j: int, parents: Sequence[int], group: Sequence[int] | None = None) -> list[Moments]:
        """Return the moments of one real column beside no parent, the first, the first two, and so on."""
        levels = [self.level(j, parents[:m]) for m in range(len(parents) + 1)]
        return levels if group is None else [_shared(m, np.asarray(group)) for m in levels]


def _shared(m: Moments, group: NDArray[np.int64]) -> Moments:
    out = Moments(np.empty_like(m.n), np.empty_like(m.mean), np.empty_like(m.m2))
    for g in np.unique(group):
        some = np.flatnonzero(group == g)
        pool = m[:, some].pooled(axis=1)
        out.n[:, some], out.mean[:, some], out.m2[:, some] = pool.n, pool.mean, pool.m2
    return out


# --- moments → mean and variance ------------------------------------------------------------------------------------

Normal = tuple[Floats, Floats]  # mean, variance


def plain(m: Moments, whole: Moments) -> Normal:
    """Without parents, as NaiveBayes: the class's own mean and variance, plus FLOOR of the column's (`whole`: all
    classes together); a class that never saw the column takes those of all."""
    spread = whole.variance()
    own = np.maximum(m.variance() + RELATIVE_VARIANCE_FLOOR * spread, 1e-15 * spread)
    return np.where(m.n > 0, m.mean, whole.mean), np.where(m.n > 0, own, spread + RELATIVE_VARIANCE_FLOOR * spread)


def own_or_below(m: Moments, below: Normal, floor: Floats) -> Normal:
    """Laplace's place for real columns: a cell speaks for itself, if it holds at least two units of weight and they
    differ; else the estimate with one parent less speaks."""
    var = m.variance()
    able = (m.n >= ENOUGH) & (var > floor)
    return np.where(able, m.mean, below[0]), np.where(able, var + floor, below[1])


def back_off(m: Moments, below: Normal, a: float | Floats) -> Normal:
    """The estimate with one parent less, (μ₀, σ₀²), counts as `a` rows:

    μ  = (n m + a μ₀) / (n + a)
    σ² = (M + n a / (n + a) (m − μ₀)² + a σ₀²) / (n + a)
    """
    total = m.n + a
    delta = np.where(m.n > 0, m.mean - below[0], 0.0)
    share = m.n / total
    # divided before it is added: a sum of squares may be too large for a number where their mean is not
    return below[0] + delta * share, m.m2 / total + (a / total) * (share * delta * delta + below[1])


def marginal(m: Moments, below: Normal, a: float) -> Floats:
    """log p(the rows of each cell), mean and variance integrated out, for the prior that back_off is the posterior of:

    σ² ~ Inv-χ²(a, σ₀²),  μ | σ² ~ N(μ₀, σ²/a)
    log p = ½ log(a / (n + a)) + log Γ((n + a)/2) − log Γ(a/2)
            + a/2 log(a σ₀²) − (n + a)/2 log((n + a) σ²) − n/2 log π
    """
    total = m.n + a
    _, var = back_off(m, below, a)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (
            0.5 * np.log(a / total)
            + scipy.special.gammaln(total / 2)
            - scipy.special.gammaln(a / 2)
            + a / 2 * (np.log(a) + np.log(below[1]))
            - total / 2 * (np.log(total) + np.log(var))
            - m.n / 2 * np.log(np.pi)
        )
    return np.where(m.n > 0, found, 0.0)


def best_strengths(pairs: Sequence[tuple[Moments, Normal]], grid: Floats) -> Floats:
    """The strength of the grid with the largest marginal likelihood of all cells and classes, (real columns, 1); for a
    column that never varies any will do."""
    with np.errstate(over="ignore", invalid="ignore"):  # a sum beyond doubles compares no strengths: the first
        found = np.array(
            [sum(np.nan_to_num(marginal(m, below, a)).sum(axis=(0, -1)) for m, below in pairs) for a in grid]
        )
        best = found >= (top := found.max(axis=0)) - 1e-11 * np.abs(top)  # to rounding
    return np.asarray(grid[np.argmax(best, axis=0)][..., None])


def repeated(below: Normal, cells: int) -> Normal:
    """The estimate with one parent less, for each cell with it."""
    times = cells // max(1, len(below[0]))
    return np.repeat(below[0], times, axis=0), np.repeat(below[1], times, axis=0)


def whole_of(m: Moments) -> Moments:
    """All classes together, from the level without parents."""
    return m.pooled(axis=-1)


def each_once(m: Moments, group: Sequence[int]) -> Moments:
    """Of classes that share their moments the first."""
    return m[..., np.unique(np.asarray(group), return_index=True)[1]]


def normals(chain: Sequence[Moments], whole: Moments, strengths: Sequence[Floats] | None) -> Normal:
    """Mean and variance of the last level of a chain, (cells, classes). strengths: of each parent; None: each cell
    speaks for itself."""
    found = plain(chain[0], whole)
    for depth, m in enumerate(chain[1:]):
        found = _next(m, repeated(found, len(m.n)), whole, strengths, depth)
    return found


def _next(m: Moments, below: Normal, whole: Moments, strengths: Sequence[Floats] | None, depth: int) -> Normal:
    if strengths is None:
        return own_or_below(m, below, RELATIVE_VARIANCE_FLOOR * whole.variance())
    return back_off(m, below, strengths[depth])


def chain_strengths(chain: Sequence[Moments], whole: Moments, grid: Floats) -> list[Floats]:
    """The strength of each parent, the first one's chosen first."""
    out: list[Floats] = []
    for depth in range(1, len(chain)):
        out.append(best_strengths([(chain[depth], one_less(chain[: depth + 1], whole, out))], grid))
    return out


def one_less(chain: Sequence[Moments], whole: Moments, strengths: Sequence[Floats] | None) -> Normal:
    """The estimate with one parent less, for each cell of the last level."""
    return repeated(normals(chain[:-1], whole, strengths), len(chain[-1].n))


def terms(normal: Normal) -> Floats:
    """(cells, …, 3, classes) as the kernels read them; a column that never varies says nothing."""
    mean, var = normal
    says = var > 0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scale = np.where(says, np.sqrt(0.5) / np.sqrt(var), 0.0)
        norm = np.where(says, -0.5 * (np.log(2 * np.pi) + np.log(var)), 0.0)
    return np.ascontiguousarray(np.stack([np.where(says, mean, 0.0), scale, norm], axis=-2))


# --- a row judged by the others -------------------------------------------------------------------------------------


def leave_one_out_logs(
    chain: Sequence[Moments],
    strengths: Sequence[Floats] | None,
    parents: Sequence[int],
    codes: Array,
    sizes: NDArray[np.int64],
    x: Floats,
    y: NDArray[np.int32],
    unit: Floats,
    group: Sequence[int] | None = None,
) -> Floats:
    """(levels, rows, classes): log p(x | class, the first 0, 1, … parents) by the moments without the row itself; 0
    where x is missing. Where a parent is missing the parents before it stand in.

    unit: how much of a row is left out. A row is in the moments of its own class only; of the others the floor alone,
    FLOOR of the column's variance, is with it. group: classes that share their moments, as `chain` has them.
    """
    out = np.zeros((len(chain), len(x), chain[0].n.shape[1]))
    shared = np.arange(out.shape[2]) if group is None else np.asarray(group)
    whole = whole_of(chain[0] if group is None else each_once(chain[0], group))
    here = np.flatnonzero(~np.isnan(x) & (y >= 0))
    if not whole.m2.item() > 0 or not len(here):
        return out
    seen, label, unit = x[here], y[here], unit[here]
    less = whole[0].without(seen, unit)
    own = plain(chain[0][0, label].without(seen, unit), less)
    for depth, m in enumerate(chain):
        some = np.array(parents[:depth], dtype=np.int32), np.array([0, depth], dtype=np.int64)
        table = terms(normals(chain[: depth + 1], whole, strengths))
        out[depth] = _core.real_scores(codes, sizes, *some, table, x[None])
        if depth > 0:
            cell, known = cell_of(codes, sizes, parents[:depth])
            out[depth][~known] = out[depth - 1][~known]
            new = _next(m[cell[here], label].without(seen, unit), own, less, strengths, depth - 1)
            own = np.where(known[here], new[0], own[0]), np.where(known[here], new[1], own[1])
        mean, scale, norm = terms((own[0][:, None], own[1][:, None]))[..., 0].T
        mine = shared[label][:, None] == shared
        out[depth][here] = np.where(mine, (norm - ((seen - mean) * scale) ** 2)[:, None], out[depth][here])
        out[depth][here[own[1] == 0]] = 0.0  # without the row the column does not vary
    return out


# --- information ----------------------------------------------------------------------------------------------------


def real_information(tables: RealTables, reals: int, discrete: int) -> tuple[Floats, Floats]:
    """I(x_j; z_i | y) (real columns, discrete columns; NaN where it is not counted), and I(x_j; y), in nats, from the
    entropies of normal distributions:

        I(x; y)     = ½ (log σ²(x) − Σ_c p(c) log σ²(x | c))
        I(x; z | y) = ½ Σ_c p(c) (log σ²(x | c) − Σ_z p(z | c) log σ²(x | c, z))

    with FLOOR of the column's variance added to each σ². A cell that cannot speak for itself, see own_or_below, has the
    variance of its class.
    """
    between, with_class = np.full((reals, discrete), np.nan), np.zeros(reals)
    for j in range(reals):
        own = tables.level(j, ())
        whole = own.pooled(axis=1)
        floor = RELATIVE_VARIANCE_FLOOR * whole.variance()
        with_class[j] = _gain(own.n, whole.variance() + floor, np.where(own.n > 0, own.variance() + floor, 1.0))
        for i in range(discrete):
            if ((i,), j) in tables:
                m = tables.level(j, (i,))
                above = np.broadcast_to(m.pooled(axis=0).variance() + floor, m.n.shape)
                able = (m.n >= ENOUGH) & (m.variance() > floor)
                between[j, i] = _gain(m.n, above, np.where(able, m.variance() + floor, above))
    return between, with_class


def _gain(n: Floats, above: Floats, below: Floats) -> float:
    """½ Σ n/N (log above − log below), and 0 for what never varies."""
    some = (n > 0) & (above > 0) & (below > 0)
    above = np.broadcast_to(above, n.shape)
    if not some.any():
        return 0.0
    with np.errstate(invalid="ignore"):  # ∞ − ∞: what is too large for a variance is refused by `estimate`
        information = 0.5 * (n[some] / n.sum() * (np.log(above[some]) - np.log(below[some]))).sum()
    return max(0.0, float(information))
