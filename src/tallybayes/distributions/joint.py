"""Joint: counts of combinations of levels, which networks of every kind are read from.

The tally holds the counts of each column's levels (as Categorical's does), and one table for each set of columns that
is asked for. A row with a missing value in one of a set's columns is in none of its table's cells. Columns that stay
real come last in their group; the tally holds their moments beside the discrete ones, see reals.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core, encode
from tallybayes.distributions.base import (
    NEVER_LEARNED,
    Array,
    Context,
    Distribution,
    Needs,
    Params,
    Stats,
    Weights,
    check_binary,
    expect,
    met_codes,
    spread,
    subtract,
)
from tallybayes.distributions.categorical import Categorical, CategoricalSums, check_alpha, resize, split
from tallybayes.distributions.gaussian import Gaussian, GaussianSums
from tallybayes.distributions.reals import (
    KEYS,
    RealTables,
    Sets,
    check_real_sets,
    count_moments,
    moment_cells,
    move_moments,
    plain,
    real_information,
    real_sets,
    whole_of,
)
from tallybayes.distributions.tables import Tables, cells_of, check_cells, check_memory, check_sets, tables
from tallybayes.encode import RAW_LIMIT, Coded, Data
from tallybayes.errors import ForgetError, OptionError
from tallybayes.schema import Schema
from tallybayes.source import Table

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
    Numbers are cut into intervals by `method` (and `bins`), chosen once, from the first rows; but the last `reals`
    columns of the group stay real. Their moments are kept for all sets of up to order − 1 discrete columns, and for
    real_extra.
    """

    order: int = 2
    extra: tuple[tuple[int, ...], ...] = ()
    smoothing: str = "backoff"
    alpha: float = 1.0
    method: str | None = "mdl"
    bins: int = 10
    reals: int = 0
    real_extra: Sets = ()

    kinds: ClassVar[tuple[str, ...]] = ("categorical", "binary", "count", "real")
    needs: ClassVar[Needs] = "codes"

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        if np.ndim(self.alpha):
            raise OptionError(f"alpha must be one number for categories; got {self.alpha!r}.")
        if self.smoothing not in SMOOTHING:
            raise OptionError(f"smoothing must be 'backoff' or 'laplace'; got {self.smoothing!r}.")

    def layout(self) -> tuple[Any, ...]:
        return (type(self), self.order, self.extra, self.reals, self.real_extra)

    def tables(self, d: int) -> Tables:
        """The tables of d discrete columns."""
        return tables(d, self.order, self.extra)

    def real_sets(self, d: int) -> Sets:
        return real_sets(d, self.reals, self.order, self.real_extra)

    # --- reading -----------------------------------------------------------------------------------------------

    def learn_cuts(
        self, table: Table, schema: Schema, columns: Sequence[int], y: NDArray[np.int32], w: Weights, K: int
    ) -> Schema:
        inner = columns[: len(columns) - self.reals]
        return encode.learn_cuts(table, schema, inner, self.method, self.bins, y, w, K)

    def encode(
        self, table: Table, schema: Schema, columns: Sequence[int], grow: bool, sizes: Mapping[int, int]
    ) -> tuple[Data, Schema]:
        both, schema = encode.coded(table, schema, columns, grow, sizes, self.reals)
        if grow:
            check_binary(schema, columns)
        return both, schema

    # --- adding ------------------------------------------------------------------------------------------------

    def sizes(self, s: Stats) -> NDArray[np.int64]:
        return s["sizes"]

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> Stats:
        assert isinstance(data, Coded)
        single, sizes = _count_single(data, y, w, K)
        check_memory(self.order, sizes, K, 4 if w is None else 8)
        counts = {"single": single, "sizes": sizes, "joint": self.count_joint(data, sizes, y, w, K)}
        return {**counts, **self.count_reals(self.real_sets(len(sizes)), data, sizes, y, w, K)}

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

    def count_reals(
        self, sets: Sets, data: Coded, sizes: NDArray[np.int64], y: NDArray[np.int32], w: Weights, K: int
    ) -> Stats:
        """The moments of the real columns beside these sets; nothing where no column is real."""
        if data.reals is None:
            return {}
        check_cells(sum(moment_cells(sets, sizes)), K, 24)
        codes = np.concatenate([codes for _, codes, _ in packed(data, sizes)], axis=1)
        try:
            return count_moments(sets, data.reals, codes, sizes, y, w, K)
        except _core.BadValue as e:
            kind, row, col, value = e.args
            raise _core.BadValue(kind, row, col + len(sizes), value) from None

    def combine(self, a: Stats, b: Stats, sign: int = 1) -> Stats:
        sizes = np.maximum(a["sizes"], b["sizes"])
        x, z = self._sized(a, sizes), self._sized(b, sizes)
        moments = _combined(x, z, sign) if self.reals else {}
        if sign < 0:
            return {
                "single": subtract(x["single"], z["single"]),
                "sizes": sizes,
                "joint": _take(x["joint"], z["joint"]),
                **moments,
            }
        return {"single": x["single"] + z["single"], "sizes": sizes, "joint": _sum(x["joint"], z["joint"]), **moments}

    def scale(self, s: Stats, factor: float) -> Stats:
        if factor == 1:
            return s
        return {**s, **{key: s[key] * factor for key in ("single", "joint", "n", "m2") if key in s}}

    def reclass(self, s: Stats, to: Sequence[int], K: int) -> Stats:
        return {**s, **{key: spread(s[key], to, K) for key in ("single", "joint", *KEYS) if key in s}}

    def relevel(self, s: Stats, maps: Sequence[Sequence[int] | None]) -> Stats:
        if not len(maps):  # all columns are real
            return s
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
            CategoricalSums(s["single"], s["sizes"]), [None if m is None else m.tolist() for m in maps]
        )
        return {
            "single": resize(single, sizes),
            "sizes": sizes,
            "joint": np.asarray(_core.move_tables(s["joint"], s["sizes"], sizes, t.columns, t.starts, maps)),
            **(move_moments(self.real_sets(len(sizes)), s, s["sizes"], sizes, maps) if self.reals else {}),
        }

    def met(self, s: Stats, d: int) -> NDArray[np.bool_]:  # noqa: ARG002
        """Of real columns the moments without a parent come first."""
        discrete = met_codes(s["single"], s["sizes"])
        return np.append(discrete, s["n"][:, : self.reals].any(axis=0)) if self.reals else discrete

    def check(self, s: Stats, context: Context) -> None:
        if not isinstance(self.reals, int) or not 0 <= self.reals <= context.d:
            raise ValueError(f"{self.reals!r:.40} of its {context.d} columns are real")
        d, K = context.d - self.reals, context.K
        names = {"single", "sizes", "joint", *(KEYS if self.reals else ())}
        if set(s) != names:
            raise ValueError(f"it has {sorted(s)}; expected {sorted(names)}")
        sizes = s["sizes"]
        room = np.array([RAW_LIMIT if known is None else max(1, len(known)) for known in context.levels[:d]])
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
        self._check_reals(s, d, K)

    def _check_reals(self, s: Stats, d: int, K: int) -> None:
        check_real_sets(self.real_extra, d, self.reals)
        if self.reals:
            # far more sets than columns that could hold them: refused before they are listed
            sets = sum(comb(d, m) for m in range(self.order))
            if sets > s["n"].size:
                raise ValueError(f"its moments are too few for {sets} sets of parents")
            shape = (K, sum(moment_cells(self.real_sets(d), s["sizes"])))
            expect({key: s[key] for key in KEYS}, dict.fromkeys(KEYS, shape), at_least_0=("n", "m2"))

    # --- reading -----------------------------------------------------------------------------------------------

    def base(self, s: Stats, context: Context) -> Params:
        """What every network reads first: how many levels exist, and which; P(x | class) without parents."""
        K, levels = len(context.class_weight), context.levels[: len(s["sizes"])]
        least = np.array([0 if k is None else 1 + max(k.declared, default=-1) for k in levels], dtype=np.int64)
        s = self._sized(s, np.maximum(s["sizes"], least))
        number, exist, log = np.empty(0), list[Array](), np.empty((0, K))
        if len(s["sizes"]):
            counts = CategoricalSums(s["single"], s["sizes"])
            found = Categorical(alpha=self.alpha).estimate(counts, Context(context.class_weight, levels))
            number, exist, log = found.N, found.exist, found.log
        return {
            "single": s["single"],
            "joint": s["joint"],
            "sizes": s["sizes"],
            "class_weight": context.class_weight,
            "N": np.maximum(number, 1.0),
            "exist": exist,
            "log": log,
            "K": K,
            "child": np.arange(len(s["sizes"]), dtype=np.int32),
            **self._plain_reals(s),
        }

    def real_tables(self, s: Stats) -> RealTables:
        return RealTables(self.real_sets(len(s["sizes"])), s, s["sizes"])

    def _plain_reals(self, s: Stats) -> Params:
        """Mean and variance of each real column in each class, without parents, (real columns, classes)."""
        if not self.reals:
            return {}
        moments = self.real_tables(s)
        each = [moments.level(j, ()) for j in range(self.reals)]
        found = [plain(m, whole_of(m)) for m in each]
        for j, (_, var) in enumerate(found):
            if not np.isfinite(var).all():
                raise _core.BadValue("overflow", 0, len(s["sizes"]) + j, float(np.abs(each[j].mean).max()))
        mean, var = (np.concatenate(each) for each in zip(*found, strict=True))
        return {"moments": {key: s[key] for key in ("sizes", *KEYS)}, "plain_mean": mean, "plain_var": var}

    def information(self, s: Stats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """I(x_i; x_j | y) of all columns of the group as a symmetric matrix (NaN for pairs that are not counted, 0 for
        two real ones), and I(x_j; y), in nats."""
        q = len(s["sizes"])
        between, with_class = information(self.tables(q), s)
        if not self.reals:
            return between, with_class
        beside, alone = real_information(self.real_tables(s), self.reals, q)
        every = np.block([[between, beside.T], [beside, np.zeros((self.reals, self.reals))]])
        return every, np.append(with_class, alone)

    def real_values(self, data: Coded, span: slice, discrete: int) -> Array | None:
        """(real columns, rows) of some rows, None where no column is real; an infinite value is refused."""
        if data.reals is None:
            return None
        found = data.reals.block(span)
        if np.isinf(found).any():
            row, j = np.argwhere(np.isinf(found).T)[0].tolist()
            raise _core.BadValue("infinite", span.start + row, discrete + j, float(found[j, row]))
        return found

    def scores(self, codes: Array, p: Params, values: Array | None = None) -> Array:
        """(rows, classes): log P(x | class) of packed codes; what is missing is summed out or left out. values: of the
        real columns, (real columns, rows), if there are any."""
        raise NotImplementedError

    def terms(self, data: Data, p: Params, K: int) -> Array:
        """log P(x_j | the columns before it, class), parents before children: where no value is missing this is
        log P(x_j | parents, class) of each family."""
        assert isinstance(data, Coded)
        d = len(p["sizes"])
        out = np.empty((data.n, d + self.reals, K))
        for span, codes, _ in packed(data, p["sizes"], p["exist"]):
            shown, before = np.full_like(codes, np.iinfo(codes.dtype).max), np.zeros((codes.shape[1], K))
            values = self.real_values(data, span, d)
            known = None if values is None else np.full_like(values, np.nan)
            for j in [*p["child"].tolist(), *range(d, d + self.reals)]:
                if known is not None and values is not None and j >= d:
                    known[j - d] = values[j - d]
                else:
                    shown[j] = codes[j]
                now = self.scores(shown, p, known)
                with np.errstate(invalid="ignore"):
                    out[span, j] = np.where(np.isneginf(before), 0.0, now - before)
                before = now
        return out

    def alone(self, p: Params, j: int, x: Array) -> Array:
        """(rows, classes): log p(x_j | class) of a real column, whatever the other columns are."""
        d = len(p["sizes"])
        values = np.full((self.reals, len(x)), np.nan)
        values[j - d] = x
        return self.scores(np.full((d, len(x)), np.iinfo(np.uint32).max, dtype=np.uint32), p, values)

    def outcomes(self, p: Params, j: int) -> Array | None:
        if j >= len(p["sizes"]):
            return None
        here = np.flatnonzero(p["exist"][j])
        codes = np.full((len(p["sizes"]), len(here)), np.iinfo(np.uint32).max, dtype=np.uint32)
        codes[j] = here
        unknown = np.full((self.reals, len(here)), np.nan) if self.reals else None
        return self.scores(codes, p, unknown)

    def describe(self, p: Params, j: int, k: int, labels: Sequence[str]) -> dict[str, float]:
        if j >= len(p["sizes"]):
            j -= len(p["sizes"])
            return {"mean": float(p["plain_mean"][j, k]), "variance": float(p["plain_var"][j, k])}
        part = split(p["log"].T, p["sizes"])[j][k]
        return {str(v): float(np.exp(x)) for v, x, e in zip(labels, part, p["exist"][j], strict=False) if e}


def information(t: Tables, s: Stats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """I(x_i; x_j | y) as a symmetric matrix (NaN for pairs that are not counted), and I(x_j; y), in nats; of discrete
    columns."""
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
    if not blocks:
        return np.zeros((K, 0)), sizes
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


def _combined(a: Stats, b: Stats, sign: int) -> Stats:
    """The moments of a ± b; here a mean is one float64."""
    x, z = (GaussianSums(s["n"], s["mean"], np.zeros_like(s["mean"]), s["m2"]) for s in (a, b))
    found = Gaussian().combine(x, z, sign)
    return {key: getattr(found, key) for key in KEYS}


def _take(a: Array, b: Array) -> Array:
    if a.dtype == np.uint32 and b.dtype == np.uint32:
        if (b > a).any():
            raise ForgetError(NEVER_LEARNED)
        return a - b
    return subtract(a.astype(np.float64), b.astype(np.float64))
