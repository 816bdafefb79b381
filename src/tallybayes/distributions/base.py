"""What a distribution is: how it adds, how it is read, how it scores and samples.

A distribution looks after a group of columns at once. Its tally is a dict of arrays whose first axis is the class,
and which holds sums only: smoothing, floors and shrinkage enter in `estimate`, so that adding and subtracting stay
exact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core, encode
from tallybayes.distributions.records import arrays_of, changed, record_of
from tallybayes.distributions.terms import split as split_terms
from tallybayes.encode import Data, Numbers, Sparse, rows_of
from tallybayes.errors import ForgetError, TableError
from tallybayes.schema import Levels, Schema
from tallybayes.source import Table

if TYPE_CHECKING:  # defaults of type variables are newer than the oldest Python here
    from typing_extensions import TypeVar

    S = TypeVar("S", default=Any)
    P = TypeVar("P", default=Any)
else:
    from typing import TypeVar

    S, P = TypeVar("S"), TypeVar("P")

Array = NDArray[Any]
Stats = dict[str, Array]  # of a distribution that has no record for its sums
Params = dict[str, Any]
Needs = Literal["numbers", "levels", "cuts", "codes"]
Features = Literal["numbers", "squares", "products", "sphere", "levels", "threshold", "counts"]
Weights = NDArray[np.float64] | None

NEVER_LEARNED = (
    "Asked to forget rows that were not learned (or with more weight than they had): a count or a sum of squares would "
    "fall below zero. Nothing was changed."
)
DUST = 8 * np.finfo(np.float64).eps  # what rounding leaves of a weight that was taken away whole


@dataclass(frozen=True)
class Context:
    """What a tally cannot know by itself: the weight of each class, and the labels behind the codes."""

    class_weight: NDArray[np.float64]
    levels: Sequence[Levels | None] = ()  # one for each column

    @property
    def K(self) -> int:
        return len(self.class_weight)

    def without(self, k: int, unit: float) -> Context:
        """The same where class k has lost so much weight."""
        weight = self.class_weight.copy()
        weight[k] = max(weight[k] - unit, 0.0)
        return Context(weight, self.levels)

    @property
    def d(self) -> int:
        return len(self.levels)


@dataclass(frozen=True)
class RowColumn:
    """A column of rows that come one at a time: its place in the schema, its kind, and where it is cut, if it is."""

    place: int
    kind: str
    points: NDArray[np.float64] | None = None


class Distribution(ABC, Generic[S, P]):
    """One kind of factor P(x_j | class), for a group of columns; S: the type of its sums, P: of its parameters."""

    name: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]]  # the kinds of column it can take
    needs: ClassVar[Needs] = "numbers"
    cells: ClassVar[tuple[str, ...]] = ()  # arrays of the tally that merge by plain addition
    sums: ClassVar[type[Any]] = dict  # the record that holds its sums; a file's arrays become one by `sums_of`
    always: ClassVar[Mapping[str, Any]] = {}  # options that it had once: files name them, and they say always the same

    def layout(self) -> tuple[Any, ...]:
        """Two distributions of one layout have tallies that add."""
        return (type(self),)

    # --- what it reads -----------------------------------------------------------------------------------------

    def learn_cuts(
        self,
        table: Table,  # noqa: ARG002
        schema: Schema,
        columns: Sequence[int],  # noqa: ARG002
        y: NDArray[np.int32],  # noqa: ARG002
        w: Weights,  # noqa: ARG002
        K: int,  # noqa: ARG002
    ) -> Schema:
        """The schema with cuts for those of its columns that it wants cut and that have none yet."""
        return schema

    def encode(
        self, table: Table, schema: Schema, columns: Sequence[int], grow: bool, sizes: Mapping[int, int]
    ) -> tuple[Data, Schema]:
        """Its columns as it reads them; with grow, labels not met before are appended to the schema.

        sizes: how many integer codes a column without a dictionary has had so far.
        """
        if self.needs == "levels":
            codes, schema = encode.levels(table, schema, columns, grow, sizes)
            if grow:
                check_binary(schema, columns)
            return codes, schema
        if self.needs == "cuts":
            return encode.cut_codes(table, schema, columns), schema
        if table.csr is not None:
            return Sparse(table.csr if len(columns) == table.d else table.csr[:, list(columns)]), schema
        return encode.numbers(table, schema, columns, grow), schema

    # --- what it sums ------------------------------------------------------------------------------------------

    @abstractmethod
    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> S:
        """The tally of these rows."""

    def combine(self, a: S, b: S, sign: int = 1) -> S:
        """a + b, or a − b; raises ForgetError where b holds more than a."""
        one, two = arrays_of(a), arrays_of(b)
        add = np.add if sign > 0 else subtract
        return changed(a, {key: add(one[key], two[key]) for key in self.cells})

    def scale(self, s: S, factor: float) -> S:
        """Every row counts `factor` times as much."""
        arrays = arrays_of(s)
        return changed(s, {key: arrays[key] * factor for key in self.cells})

    def reclass(self, s: S, to: Sequence[int], K: int) -> S:
        """Class c becomes class to[c] of K; to[c] < 0 drops it."""
        arrays = arrays_of(s)
        return changed(s, {key: spread(arrays[key], to, K) for key in self.cells})

    def relevel(self, s: S, maps: Sequence[Sequence[int] | None]) -> S:  # noqa: ARG002
        """Level v of column j becomes level maps[j][v]; None leaves a column as it is."""
        return s

    def sums_of(self, arrays: Mapping[str, Array]) -> S:
        """The sums that a file's arrays stand for; ValueError if they are none of this distribution's."""
        found: Any = dict(arrays) if self.sums is dict else record_of(self.sums, arrays)
        sums: S = found
        return sums

    def check(self, s: S, context: Context) -> None:
        """Raises ValueError if no rows can have this tally: it comes from a file, and may be anything."""
        arrays = arrays_of(s)
        missing = [key for key in self.cells if key not in arrays]
        if missing:
            raise ValueError(f"{missing[0]!r} is missing")
        for key, a in arrays.items():
            if a.dtype.kind not in "fiu" or not np.isfinite(a).all():
                raise ValueError(f"{key!r} does not hold finite numbers")
            if key in self.cells and a.shape[:1] != (context.K,):
                raise ValueError(f"{key!r} has the shape {a.shape}; its first axis is the class, of {context.K}")

    def sizes(self, s: S) -> NDArray[np.int64] | None:  # noqa: ARG002
        """How many codes each of its columns has had; None if it reads numbers. Columns that stay numbers come last."""
        return None

    def met(self, s: S, d: int) -> NDArray[np.bool_]:  # noqa: ARG002
        """Which of the d columns had a value in some row, as far as the tally shows."""
        return np.ones(d, dtype=bool)

    @abstractmethod
    def estimate(self, s: S, context: Context) -> P:
        """The parameters that people read."""

    def estimate_again(self, s: S, context: Context, p: P) -> P:  # noqa: ARG002
        """The parameters of another tally, with what was chosen by leave-one-out or the like kept as it is in p."""
        return self.estimate(s, context)

    def left_out(
        self, data: Data, y: NDArray[np.int32], unit: NDArray[np.float64], s: S, p: P, context: Context
    ) -> Array:
        """(n, K): log P(x | class) of rows that are in the tally, each by the tally without the row itself, up to a
        term that all classes share.

        unit: how much of each row is taken out of its class y; 0 leaves the row in. p: the parameters of the whole
        tally. This way is right for any distribution, at the cost of an estimate for each row.
        """
        out = np.empty((len(y), context.K))
        for i in range(len(y)):
            row = rows_of(data, slice(i, i + 1))
            less = self.combine(s, self.add(row, y[i : i + 1], unit[i : i + 1], context.K), -1)
            found = self.estimate_again(less, context.without(int(y[i]), float(unit[i])), p)
            scorer = _core.Scorer(1, np.zeros(context.K))
            self.score(scorer, row, found)
            out[i] = scorer.joint()[0]
        return out

    def penalty(self, s: S, p: P) -> float:  # noqa: ARG002
        """log of the prior density under which `estimate` is the most probable value, up to a constant.

        0 where the estimate is maximum likelihood (or no maximum at all). The likelihood plus this is what EM climbs.
        """
        return 0.0

    def row_door(self, columns: Sequence[RowColumn], s: S, context: Context) -> _core.DoorPart | str:  # noqa: ARG002
        """What learns and scores these columns of one dict at a time in compiled code, to the bit as `add`, `combine`,
        `estimate` and `score` do; or a sentence that says why there is none."""
        return f"the distribution {self.name!r} has no compiled form for one row"

    # --- how it answers ----------------------------------------------------------------------------------------

    def compile(self, p: P, context: Context) -> P:  # noqa: ARG002
        """The parameters as `score`, `answer` and `terms` read them fastest: made once for many questions."""
        return p

    def answer(self, data: Data, p: P, how: str, start: Array) -> Array | None:  # noqa: ARG002
        """A whole answer, where this is the only distribution of a model and has a shorter way to it than `score`.

        how: joint, log_proba, proba, best or evidence; start: what the log joint starts from, (K) or (n, K).
        """
        return None

    @abstractmethod
    def score(self, scorer: _core.Scorer, data: Data, p: P) -> None:
        """Adds log P(x | class) of these columns to the scorer."""

    @abstractmethod
    def sample(self, p: P, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
        """One value per row and column, given the class of each row: numbers, or codes."""

    @abstractmethod
    def describe(self, p: P, j: int, k: int, labels: Sequence[str]) -> dict[str, float]:
        """What class k says of column j, in words and numbers."""

    def column(self, p: P, j: int) -> P | None:  # noqa: ARG002
        """The parameters of column j alone; None where the columns are not independent given the class."""
        return None

    def terms(self, data: Data, p: P, K: int) -> Array:
        """(n, columns, K): what each column adds to log P(x | class). They sum to what `score` adds.

        log P(x_j | class) if `column` gives the parameters of one column; else log P(x_j | x_1 … x_(j−1), class) in
        the order of the columns, with those that follow taken as missing.
        """
        return split_terms(self, data, p, K)

    def outcomes(self, p: P, j: int) -> Array | None:  # noqa: ARG002
        """(values, K): the log probability of each value that column j can have; None if they are not a short list."""
        return None

    def linear(self, p: P, log_prior: NDArray[np.float64]) -> tuple[Array, Array] | None:  # noqa: ARG002
        """weight (K, columns) and bias (K): log P(x | class) = weight x + bias, up to a term that all classes share.

        None where it is not linear in x. log_prior: of the classes; the numbers may be kept small by it. A weight is
        infinite where a probability is 0. A column of levels counts as one column for each of them, 1 where a row has
        it; for a threshold x is 1 above it.
        """
        return None

    def quadratic(self, p: P) -> tuple[Array, Array, Array] | None:  # noqa: ARG002
        """A (K, d, d), b (K, d), c (K) with log P(x | class) = xᵀ A x + xᵀ b + c; None where that is not its form."""
        return None

    def normal(self, p: P) -> tuple[Array, Array] | None:  # noqa: ARG002
        """Means, from those of the first class, and variances (K, columns), where each column by itself is Gaussian in
        each class; else None."""
        return None

    def features(self) -> Features | None:
        """In which functions of its columns the log-odds of two classes are linear; None if in none of these.

        'numbers': x.  'squares': x, x².  'products': x, all x_i x_j.  'sphere': x, Σ x².  'levels': 0 or 1 for each
        level.  'threshold': 0 or 1, by the field `threshold`.  'counts': x, of numbers that are 0 or more.
        """
        return None

    def n_parameters(self, p: P, context: Context) -> int | None:  # noqa: ARG002
        """How many free numbers P(x | class) has, in all classes together; None if no fixed number."""
        return None


def check_binary(schema: Schema, columns: Sequence[int]) -> None:
    """TableError if a binary column has met a third value."""
    for j in columns:
        if schema.kinds[j] == "binary" and j in schema.levels and len(schema.levels[j]) > 2:
            labels = ", ".join(repr(v) for v in schema.levels[j].labels[:4])
            raise TableError(
                f"Column {schema.name(j)!r} is binary but has {len(schema.levels[j])} values ({labels}). Declare it "
                f"categorical with schema={{{schema.name(j)!r}: 'categorical'}}."
            )


def expect(s: Any, shapes: Mapping[str, tuple[int, ...]], at_least_0: Sequence[str]) -> None:
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


def met_codes(count: Array, sizes: Array) -> NDArray[np.bool_]:
    """Which columns were counted at all; count: of all columns side by side, sizes: how many codes each has."""
    there = np.append(np.cumsum(count.any(axis=0)), 0)  # index −1: nothing before the first
    ends = np.cumsum(sizes) - 1
    return np.asarray(there[ends] > there[ends - sizes])


def dense_sum(d: Distribution[S, P], data: Sparse, y: NDArray[np.int32], w: Weights, K: int) -> S:
    """The tally of sparse rows for a distribution that reads dense numbers: block by block."""
    total: S | None = None
    for span, block in data.dense_blocks():
        with _rows_from(span.start):
            part = d.add(block, y[span], None if w is None else w[span], K)
        total = part if total is None else d.combine(total, part)
    assert total is not None
    return total


def dense_scores(d: Distribution[S, P], scorer: _core.Scorer, data: Sparse, p: P, K: int) -> None:
    """Adds the scores of sparse rows for a distribution that reads dense numbers: block by block."""
    terms = np.empty((data.n, K))
    for span, block in data.dense_blocks():
        part = _core.Scorer(block.n, np.zeros(K))
        with _rows_from(span.start):
            d.score(part, block, p)
            terms[span] = part.joint()
    scorer.added(terms)


def dense_left_out(
    d: Distribution[S, P],
    data: Sparse,
    y: NDArray[np.int32],
    unit: NDArray[np.float64],
    s: S,
    p: P,
    context: Context,
) -> Array:
    """left_out of sparse rows for a distribution that reads dense numbers: block by block."""
    out = np.empty((data.n, context.K))
    for span, block in data.dense_blocks():
        out[span] = d.left_out(block, y[span], unit[span], s, p, context)
    return out


@contextmanager
def _rows_from(first: int) -> Iterator[None]:
    """A value refused in a block of rows is at another row of the table."""
    try:
        yield
    except _core.BadValue as e:
        kind, row, col, value = e.args
        raise _core.BadValue(kind, row + first, col, value) from None


class SimpleDistribution(Distribution[Stats, Params]):
    """A distribution of one numeric column, written in a few lines of NumPy.

    Say which functions of x are summed (`statistics`), how the sums become parameters (`estimate_one`), and what the
    log density is (`log_density`). Adding, merging, forgetting, weights and missing values follow.
    """

    kinds = ("real", "count")
    cells = ("n", "sums")
    parameters: ClassVar[tuple[str, ...]]  # the names of what estimate_one returns

    @abstractmethod
    def statistics(self, x: Array) -> Sequence[Array]:
        """The functions of x whose weighted sums are all this distribution needs to keep."""

    @abstractmethod
    def estimate_one(self, n: Array, sums: Sequence[Array]) -> Sequence[Array]:
        """Parameters per class from the weight n and the sums of each statistic (arrays over the classes)."""

    @abstractmethod
    def log_density(self, x: Array, *parameters: Array) -> Array:
        """log p(x) for x of shape (rows, 1) and parameters of shape (classes,)."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, *parameters: Array) -> Array:
        """One value for each entry of the parameter arrays."""

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> Stats:
        if isinstance(data, Sparse):
            return dense_sum(self, data, y, w, K)
        assert isinstance(data, Numbers)
        n = np.zeros((K, data.d))
        sums: Array | None = None
        for j in range(data.d):
            x = data.column(j)
            counted = (y >= 0) & (True if w is None else w > 0)
            keep = np.isfinite(x) & counted
            if (np.isinf(x) & counted).any():
                row = int(np.argmax(np.isinf(x) & counted))
                raise _core.BadValue("infinite", row, j, float(x[row]))
            weight = np.ones(len(x))[keep] if w is None else w[keep]
            n[:, j] = np.bincount(y[keep], weights=weight, minlength=K)
            found = [np.bincount(y[keep], weights=weight * t, minlength=K) for t in self.statistics(x[keep])]
            if sums is None:
                sums = np.zeros((K, data.d, len(found)))
            sums[:, j] = np.stack(found, axis=-1)
        assert sums is not None
        return {"n": n, "sums": sums}

    def combine(self, a: Stats, b: Stats, sign: int = 1) -> Stats:
        n = a["n"] + b["n"] if sign > 0 else subtract(a["n"], b["n"])
        sums = np.where(n[..., None] == 0, 0.0, a["sums"] + sign * b["sums"])
        return {"n": n, "sums": sums}

    def check(self, s: Stats, context: Context) -> None:
        shape = (context.K, context.d)
        expect(s, {"n": shape, "sums": (*shape, len(self.statistics(np.empty(0))))}, at_least_0=("n",))

    def estimate(self, s: Stats, context: Context) -> Params:  # noqa: ARG002
        n, sums = s["n"], s["sums"]
        total = n.sum(axis=0)
        # A class that never saw a column takes what all classes together say of it.
        unseen = n == 0
        n = np.where(unseen, total, n)
        sums = np.where(unseen[..., None], sums.sum(axis=0), sums)
        return {
            "columns": [
                [np.asarray(v, dtype=np.float64) for v in self.estimate_one(n[:, j], list(sums[:, j].T))]
                if total[j] > 0
                else None
                for j in range(n.shape[1])
            ],
            "K": n.shape[0],
        }

    def score(self, scorer: _core.Scorer, data: Data, p: Params) -> None:
        if isinstance(data, Sparse):
            dense_scores(self, scorer, data, p, p["K"])
            return
        assert isinstance(data, Numbers)
        terms = np.zeros((data.n, p["K"]))
        for j, parameters in enumerate(p["columns"]):
            x = data.column(j)
            if np.isinf(x).any():
                row = int(np.flatnonzero(np.isinf(x))[0])
                raise _core.BadValue("infinite", row, j, float(x[row]))
            here = ~np.isnan(x)
            if parameters is not None:
                with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                    found = self.log_density(x[here, None], *parameters)
                terms[here] += np.where(np.isnan(found), -np.inf, found)
        scorer.added(terms)

    def sample(self, p: Params, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
        missing = np.full(len(y), np.nan)
        return [missing if q is None else self.draw(rng, *(v[y] for v in q)) for q in p["columns"]]

    def describe(self, p: Params, j: int, k: int, labels: Sequence[str]) -> dict[str, float]:  # noqa: ARG002
        found = p["columns"][j]
        return {} if found is None else {name: float(v[k]) for name, v in zip(self.parameters, found, strict=True)}

    def column(self, p: Params, j: int) -> Params:
        return {"columns": [p["columns"][j]], "K": p["K"]}

    def n_parameters(self, p: Params, context: Context) -> int:  # noqa: ARG002
        return context.K * context.d * len(self.parameters)
