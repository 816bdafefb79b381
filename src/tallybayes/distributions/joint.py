"""Joint: counts of combinations of levels, which networks of every kind are read from.

The tally holds the counts of each column's levels (as Categorical's does), and one table for each set of columns that
is asked for. A row with a missing value in one of a set's columns is in none of its table's cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions.base import (
    NEVER_LEARNED,
    Array,
    Context,
    Distribution,
    Needs,
    Params,
    Stats,
    Weights,
    expect,
    spread,
    subtract,
)
from tallybayes.distributions.categorical import Categorical, check_alpha, resize, split
from tallybayes.distributions.tables import Tables, cells_of, check_cells, check_memory, check_sets, tables
from tallybayes.encode import RAW_LIMIT, Coded, Data
from tallybayes.errors import ForgetError, OptionError

CHUNK = 1 << 23  # packed codes (bytes) that are counted or scored at a time
GRID = np.array([0.25, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 8192.0])  # strengths of back-off to choose from
SMOOTHING = ("backoff", "laplace")


@dataclass(frozen=True)
class Joint(Distribution):
    """Counts of the levels of each column, and of the combinations of levels of sets of columns.

    order: all sets of up to this many columns are counted; extra: further sets.
    smoothing 'laplace':  P(x | c, s) = (n(c, s, x) + α) / (n(c, s) + α N)
    smoothing 'backoff':  P(x | c, s₁ … s_l) = (n + a_l P(x | c, s₁ … s_{l−1})) / (n(c, s) + a_l),  Laplace without
    parents; each strength a_l is the one of GRID with the best leave-one-out likelihood.
    Numbers are cut into intervals by `method` (and `bins`), chosen once, from the first rows.
    """

    order: int = 2
    extra: tuple[tuple[int, ...], ...] = ()
    smoothing: str = "backoff"
    alpha: float = 1.0
    method: str = "mdl"
    bins: int = 10

    kinds: ClassVar[tuple[str, ...]] = ("categorical", "binary", "count", "real")
    needs: ClassVar[Needs] = "codes"

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        if np.ndim(self.alpha):
            raise OptionError(f"alpha must be one number for categories; got {self.alpha!r}.")
        if self.smoothing not in SMOOTHING:
            raise OptionError(f"smoothing must be 'backoff' or 'laplace'; got {self.smoothing!r}.")

    def layout(self) -> tuple[Any, ...]:
        return (type(self), self.order, self.extra)

    def tables(self, d: int) -> Tables:
        return tables(d, self.order, self.extra)

    # --- adding ------------------------------------------------------------------------------------------------

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> Stats:
        assert isinstance(data, Coded)
        single, sizes = _count_single(data, y, w, K)
        check_memory(self.order, sizes, K, 4 if w is None else 8)
        return {"single": single, "sizes": sizes, "joint": self.count_joint(data, sizes, y, w, K)}

    def count_joint(self, data: Coded, sizes: NDArray[np.int64], y: NDArray[np.int32], w: Weights, K: int) -> Array:
        """The counts of all tables."""
        t = self.tables(len(sizes))
        check_cells(t.cells(sizes), K, 4 if w is None else 8)
        out = np.zeros((K, t.cells(sizes)), dtype=np.uint32 if w is None else np.float64)
        if len(t):
            for span, codes, _ in packed(data, sizes):
                part = None if w is None else w[span]
                _core.count_tables(codes, y[span], part, sizes, t.columns, t.starts, out)
        return out

    def combine(self, a: Stats, b: Stats, sign: int = 1) -> Stats:
        sizes = np.maximum(a["sizes"], b["sizes"])
        x, z = self._sized(a, sizes), self._sized(b, sizes)
        if sign < 0:
            return {
                "single": subtract(x["single"], z["single"]),
                "sizes": sizes,
                "joint": _take(x["joint"], z["joint"]),
            }
        return {"single": x["single"] + z["single"], "sizes": sizes, "joint": _sum(x["joint"], z["joint"])}

    def scale(self, s: Stats, factor: float) -> Stats:
        return s if factor == 1 else {**s, "single": s["single"] * factor, "joint": s["joint"] * factor}

    def reclass(self, s: Stats, to: Sequence[int], K: int) -> Stats:
        return {**s, "single": spread(s["single"], to, K), "joint": spread(s["joint"], to, K)}

    def relevel(self, s: Stats, maps: Sequence[Sequence[int] | None]) -> Stats:
        to = [None if m is None or not len(m) else np.asarray(m, dtype=np.int64) for m in maps]
        new = np.array(
            [max(int(size), 0 if m is None else int(m.max()) + 1) for size, m in zip(s["sizes"], to, strict=True)],
            dtype=np.int64,
        )
        return self._moved(s, new, [None if m is None else m[:size] for m, size in zip(to, s["sizes"], strict=True)])

    def _sized(self, s: Stats, sizes: NDArray[np.int64]) -> Stats:
        return s if np.array_equal(s["sizes"], sizes) else self._moved(s, sizes, [None] * len(sizes))

    def _moved(self, s: Stats, sizes: NDArray[np.int64], maps: list[NDArray[np.int64] | None]) -> Stats:
        t = self.tables(len(sizes))
        # a column that had no level has a place for one: room for the map of none
        maps = [m if m is None or len(m) == size else None for m, size in zip(maps, s["sizes"], strict=True)]
        single = Categorical().relevel(
            {"count": s["single"], "sizes": s["sizes"]}, [None if m is None else m.tolist() for m in maps]
        )
        return {
            "single": resize(single, sizes),
            "sizes": sizes,
            "joint": np.asarray(_core.move_tables(s["joint"], s["sizes"], sizes, t.columns, t.starts, maps)),
        }

    def check(self, s: Stats, context: Context) -> None:
        d, K = context.d, context.K
        if set(s) != {"single", "sizes", "joint"}:
            raise ValueError(f"it has {sorted(s)}; expected 'joint', 'single' and 'sizes'")
        sizes = s["sizes"]
        room = np.array([RAW_LIMIT if known is None else max(1, len(known)) for known in context.levels])
        if sizes.dtype != np.int64 or sizes.shape != (d,) or (sizes < 1).any() or (sizes > room).any():
            raise ValueError("'sizes' is not the number of levels of each column, of those that the schema lists")
        expect({"single": s["single"]}, {"single": (K, int(sizes.sum()))}, at_least_0=("single",))
        check_sets(self.order, self.extra, d)
        joint = s["joint"]
        cells = cells_of(self.order, sizes) + sum(float(np.prod(sizes[list(e)].astype(float))) for e in self.extra)
        if joint.dtype not in (np.uint32, np.float64) or joint.shape != (K, int(cells)):
            raise ValueError(
                f"'joint' is {joint.dtype} of shape {joint.shape}; expected counts of shape {(K, int(cells))}"
            )
        if joint.dtype == np.float64 and not (np.isfinite(joint) & (joint >= 0)).all():
            raise ValueError("'joint' holds NaN, an infinity or a negative number")

    # --- reading -----------------------------------------------------------------------------------------------

    def base(self, s: Stats, context: Context) -> Params:
        """What every network reads first: how many levels exist, and which; P(x | class) without parents."""
        least = np.array([0 if k is None else 1 + max(k.declared, default=-1) for k in context.levels], dtype=np.int64)
        s = self._sized(s, np.maximum(s["sizes"], least))
        counts = {"count": s["single"], "sizes": s["sizes"]}
        plain = Categorical(alpha=self.alpha).estimate(counts, context)
        return {
            "single": s["single"],
            "joint": s["joint"],
            "sizes": s["sizes"],
            "class_weight": context.class_weight,
            "N": np.maximum(plain["N"], 1.0),
            "exist": plain["exist"],
            "log": plain["log"],
            "K": len(context.class_weight),
            "child": np.arange(len(s["sizes"]), dtype=np.int32),
        }

    def scores(self, codes: Array, p: Params) -> Array:
        """(rows, classes): log P(x | class) of packed codes; what is missing is summed out or left out."""
        raise NotImplementedError

    def terms(self, data: Data, p: Params, K: int) -> Array:
        """log P(x_j | the columns before it, class), parents before children: where no value is missing this is
        log P(x_j | parents, class) of each family."""
        assert isinstance(data, Coded)
        out = np.empty((data.n, len(p["sizes"]), K))
        for span, codes, _ in packed(data, p["sizes"], p["exist"]):
            shown, before = np.full_like(codes, np.iinfo(codes.dtype).max), np.zeros((codes.shape[1], K))
            for j in p["child"].tolist():
                shown[j] = codes[j]
                now = self.scores(shown, p)
                with np.errstate(invalid="ignore"):
                    out[span, j] = np.where(np.isneginf(before), 0.0, now - before)
                before = now
        return out

    def outcomes(self, p: Params, j: int) -> Array:
        here = np.flatnonzero(p["exist"][j])
        codes = np.full((len(p["sizes"]), len(here)), np.iinfo(np.uint32).max, dtype=np.uint32)
        codes[j] = here
        return self.scores(codes, p)

    def describe(self, p: Params, j: int, k: int, labels: Sequence[str]) -> dict[str, float]:
        part = split(p["log"].T, p["sizes"])[j][k]
        return {str(v): float(np.exp(x)) for v, x, e in zip(labels, part, p["exist"][j], strict=False) if e}


def information(t: Tables, s: Stats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """I(x_i; x_j | y) as a symmetric matrix (NaN for pairs that are not counted), and I(x_j; y), in nats."""
    found, single = _core.pair_information(s["single"], s["joint"], s["sizes"], t.columns, t.starts)
    pairs = np.diff(t.starts) == 2
    i, j = t.columns[t.starts[:-1][pairs]], t.columns[t.starts[:-1][pairs] + 1]
    matrix = np.full((len(single), len(single)), np.nan)
    matrix[i, j] = matrix[j, i] = np.asarray(found)[pairs]
    np.fill_diagonal(matrix, 0.0)
    return matrix, np.asarray(single)


def packed(data: Coded, sizes: NDArray[np.int64], exist: Sequence[Array] = ()) -> Iterator[tuple[slice, Array, Array]]:
    """Spans of rows with their codes, (columns, rows) in the smallest type, and which columns held an unseen level.

    exist: levels that do not exist (any more) are taken as missing.
    """
    top = int(sizes.max(initial=0))
    kind = np.uint8 if top <= 255 else np.uint16 if top <= 65535 else np.uint32
    step = max(4096, CHUNK // (max(1, len(sizes)) * np.dtype(kind).itemsize))
    gone = [(j, v) for j, here in enumerate(exist) for v in np.flatnonzero(~here).tolist()]
    for first in range(0, data.n, step):
        rows = min(step, data.n - first)
        parts = [_core.pack_codes(c.columns, sizes[list(at)], c.raw, first, rows) for c, at in data.parts]
        if len(parts) == 1:
            codes, unseen = parts[0]
        else:
            codes, unseen = np.empty((len(sizes), rows), dtype=kind), np.zeros(len(sizes), dtype=bool)
            for (some, met), (_, at) in zip(parts, data.parts, strict=True):
                codes[list(at)] = some
                if some.dtype != kind:
                    codes[list(at)] = np.where(some == np.iinfo(some.dtype).max, np.iinfo(kind).max, some)
                unseen[list(at)] = met
        for j, v in gone:
            codes[j][codes[j] == v] = np.iinfo(kind).max
        yield slice(first, first + rows), codes, unseen


def _count_single(data: Coded, y: NDArray[np.int32], w: Weights, K: int) -> tuple[Array, NDArray[np.int64]]:
    """The counts of each column's levels; every column has room for one."""
    blocks: list[Any] = [None] * len(data.sizes)
    sizes = data.sizes.copy()
    for codes, at in data.parts:
        limit = RAW_LIMIT if codes.raw else 2**31 - 1
        count, found = _core.counts(codes.columns, y, w, K, data.sizes[list(at)], limit)
        for j, block, size in zip(at, split(count, found), found.tolist(), strict=True):
            blocks[j], sizes[j] = block if size else np.zeros((K, 1)), max(size, 1)
    return np.ascontiguousarray(np.concatenate(blocks, axis=1)), sizes


def _sum(a: Array, b: Array) -> Array:
    if a.dtype == np.uint32 and b.dtype == np.uint32:
        total = a + b
        if not (total < a).any():  # a sum that is smaller has run over
            return total
    return a.astype(np.float64) + b


def _take(a: Array, b: Array) -> Array:
    if a.dtype == np.uint32 and b.dtype == np.uint32:
        if (b > a).any():
            raise ForgetError(NEVER_LEARNED)
        return a - b
    return subtract(a.astype(np.float64), b.astype(np.float64))
