"""Joint: what all distributions share that look at columns together, as codes of levels.

Their statistics hold the counts of each column's levels, as Categorical's do; what is counted beside them is their own:
tables of combinations (counted_sets.py), or chains (ensemble.py).
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data import encoding
from tallybayes.data.encoding import RAW_LIMIT, Coded, Data
from tallybayes.data.schema import Schema
from tallybayes.data.table import Table
from tallybayes.distributions.base import Distribution
from tallybayes.distributions.capabilities import LearnedCuts, LevelCounts, LevelWeights, SeenColumns
from tallybayes.distributions.context import Context, Needs, RowColumn, RowScores, Weights
from tallybayes.distributions.statistics import NEVER_LEARNED, Record, check_alpha, subtract
from tallybayes.distributions.univariate.categorical import (
    Categorical,
    CategoricalStatistics,
    counted_columns,
    resize,
    split,
)
from tallybayes.errors import ForgetError, OptionError, brief
from tallybayes.utils.array_types import Array, Floats
from tallybayes.utils.cached import cached_property

CHUNK = 1 << 23  # packed codes (bytes) that are counted or scored at a time
SPAN = 4096  # rows that are packed at a time, at least
GRID = np.array([0.25, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 8192.0])  # concentration of back-off to choose from
SMOOTHING = ("backoff", "laplace")

Sizes = NDArray[np.int64]
Maps = Sequence[NDArray[np.int64] | None]  # of each column: old level → new; None: as it was


@dataclass(frozen=True, eq=False)
class LevelStatistics(Record):
    """How often each level was seen, in each class.

    Parameters
    ----------
    single : ndarray of shape (K, levels)
        The weight of the rows, the levels of all columns side by side.
    sizes : ndarray of int64, of shape (d,)
        How many levels each column has.
    """

    single: Floats
    sizes: Sizes


@dataclass(frozen=True, eq=False)
class LevelParams(Record):
    """What every distribution of combinations reads first.

    Parameters
    ----------
    single : ndarray of shape (K, levels)
        How often each level was seen, the levels of all columns side by side.
    sizes : ndarray of int64, of shape (d,)
        How many levels each column has.
    class_weight : ndarray of shape (K,)
        The weight of the rows of each class.
    N : ndarray of shape (d,)
        How many levels of each column share its probability.
    exist : list of ndarray of bool
        Of each column, which of its levels do.
    log : ndarray of shape (levels, K)
        log P(level | class) without parents.
    """

    single: Floats
    sizes: Sizes
    class_weight: Floats
    N: Floats
    exist: list[NDArray[np.bool_]]
    log: Floats

    @property
    def K(self) -> int:
        """How many classes there are."""
        return len(self.class_weight)

    @cached_property
    def gone(self) -> list[tuple[int, int]]:
        """Levels that do not exist (any more), as column and level: they are taken as missing."""
        return [(j, v) for j, here in enumerate(self.exist) for v in np.flatnonzero(~here).tolist()]

    def packed(self, data: Coded) -> Iterator[tuple[slice, Array, Array]]:
        """Read rows a span at a time."""
        return packed(data, self.sizes, self.gone)


L = TypeVar("L", bound=LevelStatistics)
Q = TypeVar("Q", bound=LevelParams)


class Joint(Distribution[L, Q]):
    """Columns that are read as codes of levels, and looked at together.

    smoothing: how P(x | class, parents) is read from counts; alpha: Laplace smoothing.
    Numbers are cut into intervals by `method` (and `bins`), chosen once, from the first rows.
    """

    smoothing: str
    alpha: float
    method: str | None
    bins: int

    kinds: ClassVar[tuple[str, ...]] = ("categorical", "binary", "count", "real")
    needs: ClassVar[Needs] = "codes"
    capabilities: ClassVar[Collection[type]] = (
        LearnedCuts,
        LevelCounts,
        LevelWeights,
        SeenColumns,
    )

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        if np.ndim(self.alpha):
            raise OptionError(f"alpha must be one number for categories; got {brief(self.alpha)}.")
        if self.smoothing not in SMOOTHING:
            raise OptionError(f"smoothing must be 'backoff' or 'laplace'; got {brief(self.smoothing)}.")

    @property
    def reals(self) -> int:
        """How many of the columns, the last ones, stay numbers."""
        return 0

    # --- reading -----------------------------------------------------------------------------------------------

    def learn_cuts(
        self, table: Table, schema: Schema, columns: Sequence[int], y: NDArray[np.int32], w: Weights, K: int
    ) -> Schema:
        inner = columns[: len(columns) - self.reals]
        return encoding.learn_cuts(table, schema, inner, self.method, self.bins, y, w, K)

    def encode(
        self, table: Table, schema: Schema, columns: Sequence[int], grow: bool, sizes: Mapping[int, int]
    ) -> tuple[Data, Schema]:
        return encoding.coded(table, schema, columns, grow, sizes, self.reals)

    # --- adding ------------------------------------------------------------------------------------------------

    @abstractmethod
    def moved(self, s: L, sizes: Sizes, maps: Maps) -> L:
        """Return the same statistics where columns have other levels."""

    def sized(self, s: L, sizes: Sizes) -> L:
        """Return the same statistics with room for more levels."""
        return s if np.array_equal(s.sizes, sizes) else self.moved(s, sizes, [None] * len(sizes))

    def relevel(self, s: L, maps: Sequence[Sequence[int] | None]) -> L:
        if not len(maps):  # all columns are real
            return s
        to = [None if m is None or not len(m) else np.asarray(m, dtype=np.int64) for m in maps]
        new = np.array(
            [max(int(size), 0 if m is None else int(m.max()) + 1) for size, m in zip(s.sizes, to, strict=True)],
            dtype=np.int64,
        )
        return self.moved(s, new, [None if m is None else m[:size] for m, size in zip(to, s.sizes, strict=True)])

    def level_weights(self, s: L) -> NDArray[np.float64]:
        return np.asarray(s.single.sum(axis=0))

    def sizes(self, s: L) -> Sizes:
        return s.sizes

    def seen_columns(self, s: L, d: int) -> NDArray[np.bool_]:  # noqa: ARG002
        return counted_columns(s.single, s.sizes)

    # --- reading -----------------------------------------------------------------------------------------------

    def levels_of(self, s: L, context: Context) -> LevelParams:
        """Return what every distribution of combinations reads first."""
        K, levels = len(context.class_weight), context.levels[: len(s.sizes)]
        N, exist, log = np.empty(0), list[NDArray[np.bool_]](), np.empty((0, K))
        if len(s.sizes):
            categories = Categorical(alpha=self.alpha)
            counts = CategoricalStatistics(s.single, s.sizes)
            found = categories.estimate(counts, Context(context.class_weight, levels))
            N, exist, log = found.N, found.exist, found.log
        return LevelParams(s.single, s.sizes, context.class_weight, np.maximum(N, 1.0), exist, log)

    def room_for(self, s: L, context: Context) -> L:
        """Return the statistics with room for every level that is declared."""
        levels = context.levels[: len(s.sizes)]
        least = np.array([0 if k is None else 1 + max(k.declared, default=-1) for k in levels], dtype=np.int64)
        return self.sized(s, np.maximum(s.sizes, least))

    def real_values(self, data: Coded, span: slice, discrete: int) -> Floats | None:
        """Return the real columns of some rows; an infinite value is refused."""
        if data.reals is None:
            return None
        found = data.reals.block(span)
        if np.isinf(found).any():
            row, j = np.argwhere(np.isinf(found).T)[0].tolist()
            raise _core.BadValue("infinite", span.start + row, discrete + j, float(found[j, row]))
        return found

    @abstractmethod
    def scores(self, codes: Array, p: Q, values: Floats | None = None) -> Floats:
        """Return log P(x | class) of packed codes; what is missing is summed out or left out."""

    def score(self, scorer: _core.Scorer, data: Data, p: Q) -> None:
        assert isinstance(data, Coded)
        found, unseen = np.empty((data.n, p.K)), np.zeros(len(p.sizes), dtype=bool)
        for span, codes, met in p.packed(data):
            found[span] = self.scores(codes, p, self.real_values(data, span, len(p.sizes)))
            unseen |= met
        scorer.added(found, places(unseen))

    def check_rows(self, scorer: _core.Scorer, data: Data, p: Q) -> None:
        assert isinstance(data, Coded)
        unseen = np.zeros(len(p.sizes), dtype=bool)
        for span, _, met in p.packed(data):
            self.real_values(data, span, len(p.sizes))  # refuses what is infinite
            unseen |= met
        scorer.added(np.zeros((data.n, p.K)), places(unseen))

    def row_scores(self, p: Q) -> RowScores | None:
        return None if self.reals else RowScores(p.sizes, p.gone, lambda codes: self.scores(codes, p))

    def describe(self, p: Q, j: int, k: int, labels: Sequence[str]) -> dict[str, float]:
        part = split(p.log.T, p.sizes)[j][k]
        return {str(v): float(np.exp(x)) for v, x, e in zip(labels, part, p.exist[j], strict=False) if e}


def matrix_codes(columns: Sequence[RowColumn], p: LevelParams) -> _core.MatrixCodes | None:
    """How a matrix becomes codes whose columns are all cut, or all whole numbers that are codes themselves."""
    points = [c.points for c in columns if c.points is not None]
    if len(points) not in (0, len(columns)):
        return None
    cuts = np.array([len(cut) for cut in points], dtype=np.int64) if points else None
    here = np.concatenate(p.exist) if p.gone else None
    return _core.MatrixCodes(p.sizes, cuts, np.concatenate(points) if points else np.empty(0), here)


def places(unseen: NDArray[np.bool_]) -> list[int]:
    """Which columns held a level unseen: nearly always none, which a look at their bytes tells soonest."""
    return np.flatnonzero(unseen).tolist() if 1 in unseen.tobytes() else []


def fields_of(record: Record) -> dict[str, Any]:
    """Its fields by name, those that are None too: for a record that has these and more."""
    return {f.name: getattr(record, f.name) for f in dataclasses.fields(record)}  # type: ignore[arg-type]


def check_sizes(sizes: Array, context: Context, d: int) -> None:
    """Raises ValueError unless these are the numbers of levels of the first d columns."""
    room = np.array([RAW_LIMIT if known is None else max(1, len(known)) for known in context.levels[:d]])
    if sizes.dtype != np.int64 or sizes.shape != (d,) or (sizes < 1).any() or (sizes > room).any():
        raise ValueError("'sizes' is not the number of levels of each column, of those that the schema lists")


def packed(
    data: Coded, sizes: Sizes, gone: Sequence[tuple[int, int]] = ()
) -> Iterator[tuple[slice, Array, NDArray[np.bool_]]]:
    """Spans of rows with their codes, (columns, rows) in the smallest type, and which columns held an unseen level.

    gone: levels that are taken as missing, as column and level.
    """
    if len(data.parts) == 1 and data.n <= SPAN and not gone:  # a question of few rows
        only = data.parts[0][0]
        yield slice(0, data.n), *_core.pack_codes(only.columns, sizes, only.raw, 0, data.n)
        return
    top = int(sizes.max(initial=0))
    kind = np.uint8 if top <= 255 else np.uint16 if top <= 65535 else np.uint32
    step = max(SPAN, CHUNK // (max(1, len(sizes)) * np.dtype(kind).itemsize))
    for first in range(0, data.n, step):
        rows = min(step, data.n - first)
        parts = [(list(at), *_core.pack_codes(c.columns, sizes[list(at)], c.raw, first, rows)) for c, at in data.parts]
        if len(parts) == 1:
            _, codes, unseen = parts[0]
        else:
            codes, unseen = np.empty((len(sizes), rows), dtype=kind), np.zeros(len(sizes), dtype=bool)
            for at, some, met in parts:
                # of the wider type: a mere number takes on that of some, and what is missing would be its level 255
                none = kind(np.iinfo(kind).max)
                codes[at] = some if some.dtype == kind else np.where(some == np.iinfo(some.dtype).max, none, some)
                unseen[at] = met
        for j, v in gone:
            codes[j][codes[j] == v] = np.iinfo(kind).max
        yield slice(first, first + rows), codes, unseen


def count_levels(data: Coded, y: NDArray[np.int32], w: Weights, K: int) -> tuple[Floats, Sizes]:
    """The counts of each column's levels, and how many it has; every column has room for one."""
    blocks: list[Any] = [None] * len(data.sizes)
    sizes = data.sizes.copy()
    if not blocks:
        return np.zeros((K, 0)), sizes
    for codes, at in data.parts:
        limit = RAW_LIMIT if codes.raw else 2**31 - 1
        count, found = _core.counts(codes.columns, y, w, K, data.sizes[list(at)], limit)
        for j, block, size in zip(at, split(count, found), found.tolist(), strict=True):
            blocks[j], sizes[j] = block if size else np.zeros((K, 1)), max(size, 1)
    return np.ascontiguousarray(np.concatenate(blocks, axis=1)), sizes


def move_levels(s: LevelStatistics, sizes: Sizes, maps: Maps) -> Floats:
    """The counts of levels where columns have other ones."""
    categories = Categorical()
    counts = CategoricalStatistics(s.single, s.sizes)
    return np.asarray(resize(categories.relevel(counts, [None if m is None else m.tolist() for m in maps]), sizes))


def fitting_maps(s: LevelStatistics, maps: Maps) -> list[NDArray[np.int64] | None]:
    """A column that had no level has a place for one: room for the map of none."""
    return [m if m is None or len(m) == size else None for m, size in zip(maps, s.sizes, strict=True)]


def plus_counts(a: Array, b: Array) -> Array:
    """a + b, whole numbers as long as they fit."""
    if a.dtype == np.uint32 and b.dtype == np.uint32:
        total = a + b
        if not (total < a).any():  # a sum that is smaller has run over
            return total
    return a.astype(np.float64) + b


def minus_counts(a: Array, b: Array) -> Array:
    """a − b; ForgetError where b holds more."""
    if a.dtype == np.uint32 and b.dtype == np.uint32:
        if (b > a).any():
            raise ForgetError(NEVER_LEARNED)
        return np.asarray(a - b)
    return subtract(a.astype(np.float64), b.astype(np.float64))
