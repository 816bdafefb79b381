"""Categorical: one probability per level and class, with Laplace smoothing. Also of cut numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data import encoding
from tallybayes.data.encoding import MAX_BINS, RAW_LIMIT, Codes, Data
from tallybayes.data.schema import Schema
from tallybayes.data.table import Table
from tallybayes.distributions.base import Distribution
from tallybayes.distributions.capabilities import (
    ColumnLeaveOneOut,
    CompiledRow,
    DroppedLevels,
    IndependentColumns,
    LearnedCuts,
    LeaveOneOut,
    LevelCounts,
    LevelWeights,
    LinearForm,
    LogOddsFeatures,
    LogPrior,
    Outcomes,
    ParameterCount,
    SeenColumns,
    SQLCounts,
    TableCounts,
)
from tallybayes.distributions.context import Context, Counted, Exported, Features, Needs, RowColumn, Weights, plain
from tallybayes.distributions.statistics import Record, check_alpha, expect, minus, subtract
from tallybayes.errors import OptionError, brief, is_number
from tallybayes.utils.array_types import Array

LEAVE_ONE_OUT_CODES = 1 << 22  # codes that are removed at a time


@dataclass(frozen=True)
class CategoricalStatistics(Record):
    """How often each class has each level.

    Parameters
    ----------
    count : ndarray of shape (K, levels)
        The weight of the rows, the levels of all columns side by side.
    sizes : ndarray of int64, of shape (d,)
        How many levels each column has a place for.
    """

    count: Array
    sizes: NDArray[np.int64]


@dataclass(frozen=True)
class CategoricalParams(Record):
    """Log probabilities of the levels.

    Parameters
    ----------
    log : ndarray of shape (levels, K)
        Of the levels of all columns, one column after the other.
    other : ndarray of shape (d, K)
        Of a level that has no place.
    sizes : ndarray of int64, of shape (d,)
        How many levels each column has a place for.
    N : ndarray of shape (d,)
        How many levels share the probability.
    exist : list of ndarray of bool
        Of each column, which of its levels exist.
    """

    log: Array
    other: Array
    sizes: NDArray[np.int64]
    N: Array
    exist: list[Array]


@dataclass(frozen=True)
class Categorical(Distribution[CategoricalStatistics, CategoricalParams]):
    """One probability for each level and class: P(x_j = v | c) = (n_cv + a) / (n_c + a N_j).

    N_j is the number of levels seen (or declared by the column's type).

    Parameters
    ----------
    alpha : float, default=1.0
        Additive smoothing a; 1 is Laplace smoothing.
    other : bool, default=False
        Whether one more level stands for all unseen categories.
    contiguous : bool, default=False
        Whether integer labels are codes 0 … max, so that N_j = max + 1, as CategoricalNB counts.
    min_categories : int or array, default=None
        With contiguous, N_j is at least this.

    See Also
    --------
    Bernoulli : Two levels, and counts of a 0/1 column.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.distributions import Categorical
    >>> rows = [{"sky": "clear"}, {"sky": "grey"}, {"sky": "grey"}]
    >>> model = NaiveBayes({"sky": Categorical(alpha=0.5)}).fit(rows, ["sail", "stay", "stay"])
    >>> {label: round(p, 3) for label, p in model.describe("sky")["sail"].items()}
    {'clear': 0.75, 'grey': 0.25}
    """

    alpha: float = 1.0
    other: bool = False
    contiguous: bool = False
    min_categories: Any = None

    name: ClassVar[str] = "categorical"
    kinds: ClassVar[tuple[str, ...]] = ("categorical", "binary", "count", "real")
    needs: ClassVar[Needs] = "levels"
    waits: ClassVar[bool] = True
    cells = ("count",)
    statistics_type = CategoricalStatistics
    capabilities: ClassVar[Collection[type]] = (
        ColumnLeaveOneOut,
        CompiledRow,
        DroppedLevels,
        IndependentColumns,
        LeaveOneOut,
        LevelCounts,
        LevelWeights,
        LinearForm,
        LogOddsFeatures,
        LogPrior,
        Outcomes,
        ParameterCount,
        SeenColumns,
        SQLCounts,
        TableCounts,
    )

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        if np.ndim(self.alpha):
            raise OptionError(f"alpha must be one number for categories; got {brief(self.alpha)}.")
        least = np.asarray(0 if self.min_categories is None else self.min_categories)
        if least.dtype.kind not in "iu" or (least < 0).any():
            raise OptionError(
                f"min_categories must be None or whole numbers of at least 0; got {brief(least.tolist())}."
            )

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> CategoricalStatistics:
        assert isinstance(data, Codes)
        sizes = np.zeros(data.columns.d, dtype=np.int64)
        limit = RAW_LIMIT if data.raw else 2**31 - 1
        count, sizes = _core.counts(data.columns, y, w, K, sizes, limit)
        return CategoricalStatistics(count, sizes)

    def count_table(
        self, table: Table, schema: Schema, columns: Sequence[int], y: NDArray[np.int32], w: Weights, K: int
    ) -> tuple[CategoricalStatistics, Schema] | None:
        """Whole numbers, which are mostly codes already, are counted without reading them first."""
        if w is not None or table.matrix is None or self.needs != "levels":
            return None
        raw = encoding.integer_columns(table, schema, columns)
        found = None if raw is None else _core.counts_of_codes(raw, y, K, np.zeros(raw.d, dtype=np.int64), RAW_LIMIT)
        return None if found is None else (CategoricalStatistics(*found), schema)

    def combine(self, a: CategoricalStatistics, b: CategoricalStatistics, sign: int = 1) -> CategoricalStatistics:
        sizes = np.maximum(a.sizes, b.sizes)
        x, z = resize(a, sizes), resize(b, sizes)
        return CategoricalStatistics(x + z if sign > 0 else subtract(x, z), sizes)

    def relevel(self, s: CategoricalStatistics, maps: Sequence[Sequence[int] | None]) -> CategoricalStatistics:
        K = s.count.shape[0]
        columns = []
        for part, to in zip(split(s.count, s.sizes), maps, strict=True):
            if to is None or not len(to):
                columns.append(part)
                continue
            out = np.zeros((K, max(to) + 1))
            out[:, np.asarray(to[: part.shape[1]], dtype=np.intp)] = part
            columns.append(out)
        sizes = np.array([c.shape[1] for c in columns], dtype=np.int64)
        return CategoricalStatistics(np.ascontiguousarray(np.concatenate(columns, axis=1)), sizes)

    def drop_levels(self, s: CategoricalStatistics, keep: Sequence[NDArray[np.intp] | None]) -> CategoricalStatistics:
        parts = [
            part if own is None else part[:, own[own < part.shape[1]]]
            for part, own in zip(split(s.count, s.sizes), keep, strict=True)
        ]
        sizes = np.array([part.shape[1] for part in parts], dtype=np.int64)
        return CategoricalStatistics(np.ascontiguousarray(np.concatenate(parts, axis=1)), sizes)

    def check(self, s: CategoricalStatistics, context: Context) -> None:
        sizes = s.sizes
        room = np.array([RAW_LIMIT if known is None else len(known) for known in context.levels])
        if sizes.dtype != np.int64 or sizes.shape != room.shape or (sizes < 0).any() or (sizes > room).any():
            raise ValueError("'sizes' is not the number of levels of each column, of those that the schema lists")
        expect({"count": s.count}, {"count": (context.K, int(sizes.sum()))}, at_least_0=("count",))
        if np.shape(self.min_categories) not in ((), (context.d,)):
            raise ValueError(f"min_categories has the shape {np.shape(self.min_categories)}, not ({context.d},)")

    def counted_as(self) -> Counted | None:
        return "levels"

    def existing(self, s: CategoricalStatistics, context: Context) -> tuple[list[Array], Array]:
        """Return which levels exist, and how many share the probability.

        A level exists that was seen, is declared, or is a code below N_j. One that was seen only in rows of weight 0,
        or in rows forgotten since, does not.
        """
        least = np.broadcast_to(np.asarray(0 if self.min_categories is None else self.min_categories), s.sizes.shape)
        exist, number = [], []
        seen: list[Array] = split(np.asarray(s.count.any(axis=0)), s.sizes)
        for here, known, floor in zip(seen, context.levels, least.tolist(), strict=True):
            if known is not None and known.declared:
                here[[c for c in known.declared if c < len(here)]] = True
            N = max(int(np.count_nonzero(here)), len(known.declared) if known is not None else 0, floor)
            if self.contiguous:
                codes = np.arange(len(here)) if known is None else _whole_numbers(known.labels[: len(here)])
                top = codes[here].max(initial=-1)
                if top < np.inf and codes[here].min(initial=0) >= 0:
                    N = max(floor, int(top) + 1)
                    here = np.asarray(codes < N, dtype=bool)
            exist.append(here)
            number.append(N + (1 if self.other else 0))
        return exist, np.array(number, dtype=np.float64)

    def seen_columns(self, s: CategoricalStatistics, d: int) -> NDArray[np.bool_]:  # noqa: ARG002
        return counted_columns(s.count, s.sizes)

    def estimate(self, s: CategoricalStatistics, context: Context) -> CategoricalParams:
        # a level that is declared has a place of its own, seen or not
        least = [0 if known is None else 1 + max(known.declared, default=-1) for known in context.levels]
        room = np.maximum(s.sizes, np.array(least, dtype=np.int64))
        s = CategoricalStatistics(resize(s, room), room)
        exist, N = self.existing(s, context)
        if self.contiguous:  # codes below min_categories have a place of their own, seen or not
            room = np.maximum(s.sizes, np.minimum(N, RAW_LIMIT).astype(np.int64))
            room = np.where([known is None for known in context.levels], room, s.sizes)
            s = CategoricalStatistics(resize(s, room), room)
            exist = [
                e if len(e) == r else np.pad(e, (0, r - len(e)), constant_values=True)
                for e, r in zip(exist, room.tolist(), strict=True)
            ]
        sizes = s.sizes
        down = _core.level_totals(s.count, sizes) + self.alpha * N  # (K, d)
        log_down = np.where(down > 0, _core.logs(down), 0.0)
        with np.errstate(invalid="ignore"):
            table = _core.logs(s.count + self.alpha) - np.repeat(log_down, sizes, axis=1)
            even = -_core.logs(np.maximum(N, 1.0))
            rest = np.where(down > 0, _core.logs(np.array(float(self.alpha))) - log_down, even)
        # nothing counted and nothing added: every level is as likely as any other
        table = np.where(np.repeat(down > 0, sizes, axis=1), table, np.repeat(rest, sizes, axis=1))
        gone = ~np.concatenate(exist)
        table[:, gone] = np.repeat(rest, sizes, axis=1)[:, gone] if self.other else 0.0
        return CategoricalParams(np.ascontiguousarray(table.T), rest.T.copy(), sizes, N, exist)

    def log_prior_density(self, s: CategoricalStatistics, p: CategoricalParams) -> float:  # noqa: ARG002
        """Return the log prior density under which `estimate` is the most probable value, up to a constant.

        Dirichlet: a Σ log P over the N_j levels of each column and class, those without a place of their own too.
        """
        if self.alpha == 0:
            return 0.0
        total = 0.0
        parts = zip(split(p.log.T, p.sizes), p.exist, p.N, p.other, strict=True)
        for log, exist, N, rest in parts:
            total += float(log[:, exist].sum() + (N - exist.sum()) * rest.sum())
        return self.alpha * total

    def score(self, scorer: _core.Scorer, data: Data, p: CategoricalParams) -> None:
        assert isinstance(data, Codes)
        scorer.discrete(data.columns, p.sizes, p.log, p.other if self.other else None, data.raw)

    def leave_one_out(
        self,
        data: Data,
        y: NDArray[np.int32],
        unit: NDArray[np.float64],
        s: CategoricalStatistics,
        p: CategoricalParams,
        context: Context,
    ) -> Array:
        """Return log P(x | class) of rows that are in the statistics, each by the statistics without the row itself.

        A row takes itself out of n_cv and n_c of its own class. If no other row has its level, the level is gone, and
        its factor is that of a level never seen.
        """
        assert isinstance(data, Codes)
        out = np.zeros((len(y), len(s.count)))
        for _, rows, terms in self._columns_leave_one_out(data, y, unit, s, p, context):
            out[rows] += terms
        return out

    def leave_one_out_columns(
        self, data: Codes, y: NDArray[np.int32], unit: NDArray[np.float64], s: CategoricalStatistics, context: Context
    ) -> Array:
        """Return what `leave_one_out` sums, column by column."""
        out = np.zeros((data.columns.d, len(y), len(s.count)))
        for j, rows, terms in self._columns_leave_one_out(data, y, unit, s, self.estimate(s, context), context):
            out[j, rows] = terms
        return out

    def _columns_leave_one_out(
        self,
        data: Codes,
        y: NDArray[np.int32],
        unit: NDArray[np.float64],
        s: CategoricalStatistics,
        p: CategoricalParams,
        context: Context,
    ) -> Iterator[tuple[int, Array, Array]]:
        """A column, the rows that have a level there, and what they say without themselves: (rows, K)."""
        K, sizes = len(s.count), p.sizes
        counts = split(resize(s, sizes), sizes)
        logs = split(p.log.T, sizes)
        step = max(1, LEAVE_ONE_OUT_CODES // max(K, len(sizes)))
        for first in range(0, len(y), step):
            rows = np.arange(first, min(first + step, len(y)))
            codes, _ = _core.pack_codes(data.columns, sizes, data.raw, first, len(rows))
            for j, (count, log) in enumerate(zip(counts, logs, strict=True)):
                here = np.flatnonzero(codes[j] != np.iinfo(codes.dtype).max)
                level, label, less = codes[j][here].astype(np.intp), y[rows[here]], unit[rows[here]]
                terms = log[:, level].T.copy()
                n, n_class = minus(count[label, level], less), minus(count.sum(axis=1)[label], less)
                lone = (minus(count.sum(axis=0)[level], less) == 0) & (less > 0)
                terms[np.arange(len(here)), label] = self._log_share(n, n_class, p.N[j])
                if lone.any():
                    lone &= self._can_go(count, context, j)[level]
                for i in np.flatnonzero(lone).tolist():
                    terms[i] = self._without_level(count, context, j, int(level[i]), int(label[i]), float(less[i]))
                if not self.other:  # levels that do not exist any more say nothing
                    terms[~p.exist[j][level]] = 0.0
                yield j, rows[here], terms

    def _log_share(self, n: Array, total: Array, N: float) -> Array:
        """log((n + a) / (total + a N)), evenly shared where nothing was counted and nothing is added."""
        down = total + self.alpha * N
        with np.errstate(divide="ignore"):
            return np.where(down > 0, np.log(n + self.alpha) - np.log(np.where(down > 0, down, 1)), -np.log(max(N, 1)))

    def _can_go(self, count: Array, context: Context, j: int) -> Array:
        """Which levels of column j (or how many levels there are) change if they are seen no more."""
        known = context.levels[j]
        out = np.ones(count.shape[1], dtype=bool)
        if known is not None:
            out[[v for v in known.declared if v < len(out)]] = False
        if self.contiguous:  # codes below the largest one met exist anyway
            labels = range(count.shape[1]) if known is None else known.labels
            met = {v: labels[v] for v in np.flatnonzero(count.any(axis=0)).tolist()}
            if met and all(isinstance(label, int) and label >= 0 for label in met.values()):
                out[:] = False
                out[max(met, key=met.__getitem__)] = True
        return out

    def _without_level(self, count: Array, context: Context, j: int, level: int, label: int, less: float) -> Array:
        """(K,): what a row says whose level of column j no other row has. count: of this column."""
        if not self.other and not self.contiguous:
            return np.zeros(len(count))
        n = count.sum(axis=1)
        n[label] = minus(n[label : label + 1], np.array([less]))[0]
        left = count.copy()
        left[:, level] = 0.0
        least = self.min_categories
        alone = replace(self, min_categories=least[j] if np.ndim(least) else least)
        column = CategoricalStatistics(left, np.array([left.shape[1]]))
        (exist,), (N,) = alone.existing(column, Context(n, context.levels[j : j + 1]))
        if not exist[level] and not self.other:
            return np.zeros(len(n))
        return self._log_share(np.zeros(len(n)), n, float(N))

    def sample(self, p: CategoricalParams, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
        out: list[Array] = []
        for part, exist in zip(split(p.log.T, p.sizes), p.exist, strict=True):
            probability = np.where(exist, np.exp(part), 0.0)
            total = probability.sum(axis=1, keepdims=True)
            if part.shape[1] == 0 or (total == 0).any():
                out.append(np.full(len(y), -1))
                continue
            steps = np.cumsum(probability / total, axis=1)
            u = rng.random(len(y))
            out.append(np.minimum((u[:, None] >= steps[y]).sum(axis=1), part.shape[1] - 1))
        return out

    def describe(self, p: CategoricalParams, j: int, k: int, labels: Sequence[str]) -> dict[str, float]:
        part = split(p.log.T, p.sizes)[j][k]
        shown = zip(labels, part, p.exist[j], strict=False)
        found = {str(label): float(np.exp(v)) for label, v, exist in shown if exist}
        return {**found, "(any other)": float(np.exp(p.other[j, k]))} if self.other else found

    def column(self, p: CategoricalParams, j: int) -> CategoricalParams:
        end = int(p.sizes[: j + 1].sum())
        span = slice(end - int(p.sizes[j]), end)
        one = slice(j, j + 1)
        return CategoricalParams(p.log[span], p.other[one], p.sizes[one], p.N[one], p.exist[one])

    def outcomes(self, p: CategoricalParams, j: int) -> Array:
        levels: Array = self.column(p, j).log[np.asarray(p.exist[j], dtype=bool)]
        return np.concatenate([levels, p.other[j : j + 1]]) if self.other else levels

    def linear(self, p: CategoricalParams, log_prior: NDArray[np.float64]) -> tuple[Array, Array]:
        """Return weight and bias with log P(x | class) = weight x + bias, up to a term that all classes share.

        Each level counts as a column, 1 where a row has it and else 0.
        """
        return p.log.T, np.zeros(len(log_prior))

    def features(self) -> Features:
        return "levels"

    def n_parameters(self, p: CategoricalParams, context: Context) -> int:
        return context.K * free_levels(p.exist)

    def level_weights(self, s: CategoricalStatistics) -> NDArray[np.float64]:
        return np.asarray(s.count.sum(axis=0))

    def sizes(self, s: CategoricalStatistics) -> NDArray[np.int64]:
        return s.sizes

    def encode(
        self, table: Table, schema: Schema, columns: Sequence[int], grow: bool, sizes: Mapping[int, int]
    ) -> tuple[Data, Schema]:
        if self.needs == "cuts":
            return encoding.cut_codes(table, schema, columns), schema
        data, schema = encoding.levels(table, schema, columns, grow, sizes)
        return data, _filled(schema, columns) if grow and self.contiguous else schema

    def fast_row(
        self, columns: Sequence[RowColumn], s: CategoricalStatistics, context: Context
    ) -> _core.FastRowTerm | str:
        """Make what learns and scores these columns of one dict at a time in compiled code.

        A label seen for the first time is one more level only where nothing else says how many there are.
        """
        codes, grows, truths = {}, [], []
        for c, known, size in zip(columns, context.levels, s.sizes.tolist(), strict=True):
            codes[c.place] = {v: i for i, v in enumerate(range(size))} if known is None else known.index()
            grows.append(known is not None and c.kind != "binary" and self._counts_levels())
            truths.append(known is not None and {False, True} <= {known.labels[i] for i in known.declared})
        count, exist, number = self._levels_of_rows(s, context)
        return _core.FastLevels(codes, count, exist, number, float(self.alpha), self.other, grows, truths)

    def export(self, p: CategoricalParams, context: Context) -> Exported | str:  # noqa: ARG002
        log = [plain(part.T) for part in split(p.log.T, p.sizes)]
        return {"form": "table", "log": log, "other": plain(p.other) if self.other else None}

    def _counts_levels(self) -> bool:
        """N_j is the number of levels that exist, and no other number."""
        return not self.contiguous and self.min_categories is None

    def _levels_of_rows(
        self, s: CategoricalStatistics, context: Context
    ) -> tuple[list[Array], list[Array], list[float]]:
        """Of each column: the counts, which levels have a place (see `estimate`), and N_j."""
        p = self.estimate(s, context)
        count = [np.ascontiguousarray(part) for part in split(s.count, s.sizes)]
        return count, [np.asarray(e, dtype=bool) for e in p.exist], p.N.tolist()


@dataclass(frozen=True, init=False)
class Binned(Categorical):
    """Discretised numbers: given cut points, equal width, equal frequency, or minimum description length.

    Cuts that are not given are chosen once, from the first rows learned, and then kept; counts of intervals add like
    any others. Minimum description length is that of Fayyad and Irani (1993).

    Parameters
    ----------
    points : sequence of float, default=()
        Own cut points, rising: [18, 65] makes the intervals < 18, 18 to 65 and >= 65. A number at a cut point belongs
        to the interval above it. Empty: by `method`.
    alpha : float, default=1.0
        Additive smoothing of counts; 1 is Laplace smoothing.
    other : bool, default=False
        Whether one more level stands for all unseen categories.
    contiguous : bool, default=False
        Whether integer labels are codes 0 … max, all of them levels.
    min_categories : int or array, default=None
        With contiguous, at least this many levels.
    method : {'mdl', 'width', 'frequency'}, default='mdl'
        Rule for the cut points if `points` is empty.
    bins : int, default=10
        Into how many intervals 'width' and 'frequency' cut.

    See Also
    --------
    Gaussian : Numbers without bins.
    Kernel : A density of any shape, which keeps the values.

    References
    ----------
    - Fayyad and Irani (1993), Multi-interval discretization of continuous-valued attributes. IJCAI.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.distributions import Binned
    >>> X, y = [[1.0], [2.0], [7.0], [8.0]], ["low", "low", "high", "high"]
    >>> print(NaiveBayes(Binned(method="width", bins=2)).fit(X, y).schema_)
    x0: real  cut into 2: < 5, >= 5
    >>> print(NaiveBayes(Binned([5])).fit(X, y).schema_)
    x0: real  cut into 2: < 5, >= 5
    """

    method: str = "mdl"
    bins: int = 10
    points: tuple[float, ...] = ()

    name = "binned"
    kinds = ("real", "count")
    needs = "cuts"
    capabilities: ClassVar[Collection[type]] = (LearnedCuts,)

    def __init__(
        self,
        points: Sequence[float] = (),
        *,
        alpha: float = 1.0,
        other: bool = False,
        contiguous: bool = False,
        min_categories: Any = None,
        method: str = "mdl",
        bins: int = 10,
    ) -> None:
        options = {"alpha": alpha, "other": other, "contiguous": contiguous, "min_categories": min_categories}
        for name, value in {**options, "method": method, "bins": bins, "points": _cut_points(points)}.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.method not in ("mdl", "width", "frequency"):
            raise OptionError(f"method must be 'mdl', 'width' or 'frequency'; got {brief(self.method)}.")
        if not isinstance(self.bins, int) or not 1 <= self.bins <= MAX_BINS:
            raise OptionError(f"bins must be a whole number from 1 to {MAX_BINS:,}; got {brief(self.bins)}.")

    def learn_cuts(
        self, table: Table, schema: Schema, columns: Sequence[int], y: NDArray[np.int32], w: Weights, K: int
    ) -> Schema:
        return encoding.learn_cuts(table, schema, columns, self.method, self.bins, y, w, K, self.points)

    def fast_row(
        self, columns: Sequence[RowColumn], s: CategoricalStatistics, context: Context
    ) -> _core.FastRowTerm | str:
        points = [c.points for c in columns if c.points is not None]
        if len(points) < len(columns):
            return f"the distribution {self.name!r} has columns that are not cut"
        count, exist, number = self._levels_of_rows(s, context)
        places = [c.place for c in columns]
        return _core.FastCuts(places, points, count, exist, number, float(self.alpha), self.other)


def _cut_points(points: Any) -> tuple[float, ...]:
    found = tuple(points) if isinstance(points, Iterable) and not isinstance(points, str) else (points,)
    if not all(is_number(p) and np.isfinite(p) for p in found) or any(a >= b for a, b in pairwise(found)):
        raise OptionError(f"points must be finite numbers, each larger than the one before; got {brief(points)}.")
    return tuple(float(p) for p in found)


def free_levels(exist: Sequence[Array]) -> int:
    """How many probabilities of levels are free: those of the levels of a column sum to 1."""
    return sum(max(int(np.sum(e)) - 1, 0) for e in exist)


def split(a: Array, sizes: Array) -> list[Array]:
    """The columns' parts of an array whose last axis runs over all levels."""
    ends = np.cumsum(sizes).tolist()
    return [a[..., start:end] for start, end in zip([0, *ends], ends, strict=False)]


def counted_columns(count: Array, sizes: Array) -> NDArray[np.bool_]:
    """Which columns were counted at all; count: of all columns side by side, sizes: how many codes each has."""
    there = np.append(np.cumsum(count.any(axis=0)), 0)  # index −1: nothing before the first
    ends = np.cumsum(sizes) - 1
    return np.asarray(there[ends] > there[ends - sizes])


def resize(s: CategoricalStatistics, sizes: Array) -> Array:
    """The counts in tables with room for more levels."""
    if np.array_equal(s.sizes, sizes):
        return s.count
    out = np.zeros((s.count.shape[0], int(sizes.sum())))
    place = np.arange(int(s.sizes.sum())) + np.repeat(
        (np.cumsum(sizes) - sizes) - (np.cumsum(s.sizes) - s.sizes), s.sizes
    )
    out[:, place] = s.count
    return out


def _filled(schema: Schema, columns: Sequence[int]) -> Schema:
    """Integer labels are codes: all from 0 to the largest are levels, seen or not."""
    levels = {}
    for j in columns:
        labels = schema.levels[j].labels if j in schema.levels else ()
        if labels and all(isinstance(v, int) and 0 <= v < RAW_LIMIT for v in labels):
            levels[j] = schema.levels[j].extend(range(max(labels) + 1))
    return schema.with_levels(levels)


def _whole_numbers(labels: tuple[object, ...]) -> Array:
    """The labels that are whole numbers; infinity for others."""
    if set(map(type, labels)) <= {int}:
        with contextlib.suppress(OverflowError):
            return np.array(labels, dtype=np.int64)
    return np.array([v if isinstance(v, int) else np.inf for v in labels], dtype=object)
