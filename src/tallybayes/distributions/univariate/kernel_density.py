"""Kernel density (John and Langley 1995): the data themselves are the statistics."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Data, Numbers, Sparse
from tallybayes.distributions.base import Distribution
from tallybayes.distributions.capabilities import (
    ColumnLeaveOneOut,
    CompiledRow,
    IndependentColumns,
    KeptChoices,
    LeaveOneOut,
    Reclassing,
    SeenColumns,
)
from tallybayes.distributions.context import Context, Exported, RowColumn, Weights, plain
from tallybayes.distributions.sparse_blocks import dense_leave_one_out, dense_scores, dense_sum
from tallybayes.distributions.statistics import HALF_LOG_2PI, Record, expect, minus
from tallybayes.distributions.univariate.kernel_leave_one_out import CLEAR, Column, Values
from tallybayes.errors import ForgetError, OptionError, brief, is_number
from tallybayes.utils.array_types import Array

MIN_BANDWIDTH = 4.5e-308  # a bandwidth below this is lost in the smallest numbers
RULES = ("silverman", "scott", "john-langley")


@dataclass(frozen=True)
class KernelStatistics(Record):
    """The distinct values of each column and class, rising, with their weights; an entry is column · K + class.

    Parameters
    ----------
    start : ndarray of int64, of shape (entries + 1,)
        Where the values of each entry begin, and the end of the last.
    value : ndarray
        The values.
    weight : ndarray
        The weight of the rows that have each.
    K : ndarray of int64, of shape ()
        The number of classes.
    """

    start: NDArray[np.int64]
    value: Array
    weight: Array
    K: NDArray[np.int64]


@dataclass(frozen=True)
class KernelParams(Record):
    """Bandwidths, and what is scored with.

    Parameters
    ----------
    bandwidth : ndarray of shape (K, d)
        The bandwidths.
    values : tuple of three ndarrays
        Starts, values and weights, as in the statistics.
    tables : tuple of four ndarrays
        What `_core.kernel_tables` made of them.
    mean : ndarray of shape (K, d)
        The means.
    """

    bandwidth: Array
    values: tuple[Array, Array, Array]
    tables: tuple[Array, Array, Array, Array]
    mean: Array


@dataclass(frozen=True)
class Kernel(Distribution[KernelStatistics, KernelParams]):
    """A kernel density (John and Langley 1995): p(x | c) = Σ_i w_i φ((x − v_i) / h_cj) / (h_cj Σ_i w_i).

    v_i are the values of class c. The statistics are the distinct values of each column and class with their weights:
    it adds and subtracts exactly. A class with a single value takes 0.9 · (overall standard deviation) · n^(−1/5) as h;
    one that never saw a column takes the values of all classes. A feature that never varies says nothing and is left
    out.

    Parameters
    ----------
    bandwidth : {'silverman', 'scott', 'john-langley'} or float, default='silverman'
        Bandwidth rule. A number is in units of the feature's overall standard deviation.

    See Also
    --------
    Gaussian : Two moments, and no values kept.

    References
    ----------
    - John and Langley (1995), Estimating continuous distributions in Bayesian classifiers. UAI.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.distributions import Kernel
    >>> X = [[0.0], [0.1], [9.9], [10.0], [4.9], [5.0], [5.1]]
    >>> model = NaiveBayes(Kernel(bandwidth=0.1)).fit(X, ["ends"] * 4 + ["middle"] * 3)
    >>> model.predict([[9.0], [5.5]]).tolist()
    ['ends', 'middle']
    """

    bandwidth: str | float = "silverman"

    name = "kernel"
    kinds = ("real", "count")
    weighted = ("weight",)
    statistics_type = KernelStatistics
    capabilities: ClassVar[Collection[type]] = (
        ColumnLeaveOneOut,
        CompiledRow,
        IndependentColumns,
        KeptChoices,
        LeaveOneOut,
        Reclassing,
        SeenColumns,
    )

    def __post_init__(self) -> None:
        if isinstance(self.bandwidth, str):
            if self.bandwidth not in RULES:
                raise OptionError(
                    f"bandwidth must be a number or one of {', '.join(RULES)}; got {brief(self.bandwidth)}."
                )
        elif not is_number(self.bandwidth) or self.bandwidth <= 0:
            raise OptionError(f"bandwidth must be above 0; got {brief(self.bandwidth)}.")

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> KernelStatistics:
        if isinstance(data, Sparse):
            return dense_sum(self, data, y, w, K)
        assert isinstance(data, Numbers)
        start, value, weight = _core.kernel_statistics(data.columns, y, w, K)
        return KernelStatistics(start, value, weight, np.array(K))

    def combine(self, a: KernelStatistics, b: KernelStatistics, sign: int = 1) -> KernelStatistics:
        a, b = _as_long(a, b), _as_long(b, a)
        try:
            start, value, weight = _core.kernel_combine(a.start, a.value, a.weight, b.start, b.value, b.weight, sign)
        except ValueError as e:
            raise ForgetError(f"Asked to forget rows that were not learned: {e}. Nothing was changed.") from None
        return KernelStatistics(start, value, weight, a.K)

    def reclass(self, s: KernelStatistics, to: Sequence[int], K: int) -> KernelStatistics:
        old = int(s.K)
        d = (len(s.start) - 1) // max(old, 1)
        come = {c: i for i, c in enumerate(to) if c >= 0}
        return _gather(s, [[j * old + come[c]] if c in come else [] for j in range(d) for c in range(K)], K)

    def check(self, s: KernelStatistics, context: Context) -> None:
        start, entries = s.start, context.K * context.d
        long = len(s.value) if s.value.ndim == 1 else 0
        expect({"value": s.value, "weight": s.weight}, {"value": (long,), "weight": (long,)}, at_least_0=("weight",))
        if s.K.dtype != np.int64 or s.K.shape != () or s.K != context.K:
            raise ValueError(f"'K' is not {context.K}, the number of classes")
        if start.dtype != np.int64 or start.shape != (entries + 1,) or (np.diff(start) < 0).any():
            raise ValueError("'start' does not say where the values of each column and class begin")
        if start[0] != 0 or start[-1] != long:
            raise ValueError(f"'start' does not go from 0 to {long}, the number of values")
        first = start[:-1][np.diff(start) > 0]
        rises = np.diff(s.value) > 0
        rises[first[1:] - 1] = True
        if not rises.all() or (len(first) and not (np.add.reduceat(s.weight, first) > 0).all()):
            raise ValueError("the values of a column and class do not rise, or weigh nothing")

    def seen_columns(self, s: KernelStatistics, d: int) -> NDArray[np.bool_]:
        return np.asarray(np.diff(s.start).reshape(d, -1).any(axis=1))

    def estimate(self, s: KernelStatistics, context: Context) -> KernelParams:  # noqa: ARG002
        K = int(s.K)
        d = (len(s.start) - 1) // K
        n, own = _weights(s, K), s
        s, never = _with_everyone(s, n)
        deviation = np.ones(d)
        if isinstance(self.bandwidth, str):
            h = _core.kernel_bandwidth(s.start, s.value, s.weight, self.bandwidth, K)
            for j in np.flatnonzero(~(h > 0).all(axis=0)).tolist():  # of the others it is above 0, and not used
                deviation[j] = _deviation(own, j, K)
            alone = 0.9 * deviation * np.maximum(np.where(never, n.sum(axis=0), n), 1.0) ** -0.2
            h = np.where(h > 0, h, alone)
        else:
            deviation = np.array([_deviation(own, j, K) for j in range(d)])
            with np.errstate(over="ignore"):  # refused below
                h = np.broadcast_to(self.bandwidth * deviation, (K, d))
        mean = _means(s, K, d)
        if (deviation == 0).any():  # a column that never varies: no values, so no factor
            s = _gather(s, [[] if deviation[j] == 0 else [j * K + c] for j in range(d) for c in range(K)], K)
        h = np.ascontiguousarray(h)
        fine = np.isfinite(h) & (h >= MIN_BANDWIDTH) | (deviation == 0)
        if not fine.all():
            j = int(np.argmin(fine.all(axis=0)))
            span = slice(s.start[j * K], s.start[(j + 1) * K])
            raise _core.BadValue("overflow", 0, j, float(np.abs(s.value[span]).max()))
        return _read(s, h, mean)

    def reestimate(self, s: KernelStatistics, context: Context, p: KernelParams) -> KernelParams:  # noqa: ARG002
        """Estimate parameters from other statistics, with what was chosen by leave-one-out or the like kept as it is.

        The bandwidths stay, and which columns vary.
        """
        K, d = p.bandwidth.shape
        s, _ = _with_everyone(s, _weights(s, K))
        mean = _means(s, K, d)
        says = np.diff(p.values[0][::K]) > 0
        s = _gather(s, [[j * K + c] if says[j] else [] for j in range(d) for c in range(K)], K)
        return _read(s, p.bandwidth, mean)

    def score(self, scorer: _core.Scorer, data: Data, p: KernelParams) -> None:
        if isinstance(data, Sparse):
            dense_scores(self, scorer, data, p, p.bandwidth.shape[0])
            return
        assert isinstance(data, Numbers)
        scorer.kernel(data.columns, *p.values, *p.tables)

    def leave_one_out(
        self,
        data: Data,
        y: NDArray[np.int32],
        unit: NDArray[np.float64],
        s: KernelStatistics,
        p: KernelParams,
        context: Context,
    ) -> Array:
        """Return log P(x | class) of rows that are in the statistics, each by the statistics without the row itself.

        Bandwidths are those without the row.
        """
        if isinstance(data, Sparse):
            return dense_leave_one_out(self, data, y, unit, s, p, context)
        assert isinstance(data, Numbers)
        out = np.zeros((data.n, context.K))
        for j in range(data.d):
            if p.values[0][(j + 1) * context.K] == p.values[0][j * context.K]:  # it never varies
                continue
            x = data.column(j)
            entries = range(j * context.K, (j + 1) * context.K)
            classes = [
                Values(s.value[s.start[e] : s.start[e + 1]], s.weight[s.start[e] : s.start[e + 1]]) for e in entries
            ]
            merged = _gather(s, [list(entries)], 1)
            column = Column(tuple(classes), Values(merged.value, merged.weight), self.bandwidth)
            out += column.log_likelihood(x, y, unit, self._column_scores(j, x, p))
        return out

    def leave_one_out_columns(
        self, data: Numbers, y: NDArray[np.int32], unit: NDArray[np.float64], s: KernelStatistics, context: Context
    ) -> Array:
        """Return log P(x | class) column by column, each by the values without the row.

        Bandwidths stay: to choose a distribution, that is enough.
        """
        p = self.estimate(s, context)
        return np.stack([self._column_leave_one_out(j, data.column(j), y, unit, s, p) for j in range(data.d)])

    def _column_leave_one_out(
        self, j: int, x: Array, y: NDArray[np.int32], unit: NDArray[np.float64], s: KernelStatistics, p: KernelParams
    ) -> Array:
        """(n, K): what one column says of each row, leave-one-out."""
        K = len(p.bandwidth)
        if p.values[0][(j + 1) * K] == p.values[0][j * K]:  # it never varies
            return np.zeros((len(x), K))
        log = self._column_scores(j, x, p)
        entries = [slice(*s.start[j * K + c : j * K + c + 2]) for c in range(K)]
        for c in range(K):
            mine, h = entries[c], p.bandwidth[c, j]
            everyone = mine.start == mine.stop
            rows = np.flatnonzero(~np.isnan(x) & (unit > 0) & ((y == c) | everyone))
            if len(rows):
                log[rows, c] = _without(s, entries, c, x[rows], unit[rows], h, log[rows, c])
        return log

    def fast_row(self, columns: Sequence[RowColumn], s: KernelStatistics, context: Context) -> _core.FastRowTerm | str:
        if not isinstance(self.bandwidth, str):
            return "its bandwidth is a multiple of the deviation of all rows"
        if (np.diff(s.start) < 2).any():
            return "a class has fewer than two distinct values of a kernel density"
        return _core.FastKernel([c.place for c in columns], context.K, s.start, s.value, s.weight, self.bandwidth)

    def _column_scores(self, j: int, x: Array, p: KernelParams) -> Array:
        """(n, K): what one column says of each row."""
        scorer = _core.Scorer(len(x), np.zeros(len(p.bandwidth)))
        only = self.column(p, j)
        scorer.kernel(_core.Columns([x]), *only.values, *only.tables)
        return np.asarray(scorer.joint())

    def sample(self, p: KernelParams, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
        start, value, weight = p.values
        K, d = p.bandwidth.shape
        out = []
        for j in range(d):
            x = p.mean[y, j]  # of a column that never varies: its value
            for c in np.unique(y):
                here = y == c
                a, b = start[j * K + c], start[j * K + c + 1]
                if b > a:
                    share = weight[a:b] / weight[a:b].sum()
                    x[here] = rng.choice(value[a:b], size=int(here.sum()), p=share)
                    x[here] += rng.normal(0.0, p.bandwidth[c, j], size=int(here.sum()))
            out.append(x)
        return out

    def describe(self, p: KernelParams, j: int, k: int, labels: Sequence[str]) -> dict[str, float]:  # noqa: ARG002
        return {"mean": float(p.mean[k, j]), "bandwidth": float(p.bandwidth[k, j])}

    def column(self, p: KernelParams, j: int) -> KernelParams:
        start, value, weight = p.values
        K = len(p.bandwidth)
        a, b = start[j * K], start[(j + 1) * K]
        mine = (start[j * K : (j + 1) * K + 1] - a, value[a:b], weight[a:b])
        h = np.ascontiguousarray(p.bandwidth[:, j : j + 1])
        return KernelParams(h, mine, _core.kernel_tables(*mine, h, K), p.mean[:, j : j + 1])

    def export(self, p: KernelParams, context: Context) -> Exported | str:  # noqa: ARG002
        start, value, weight = p.values
        K, d = p.bandwidth.shape
        spans = [[slice(start[j * K + c], start[j * K + c + 1]) for c in range(K)] for j in range(d)]
        return {
            "form": "kernel",
            "value": [[plain(value[span]) for span in each] for each in spans],
            "weight": [[plain(weight[span]) for span in each] for each in spans],
            "bandwidth": plain(p.bandwidth.T),
        }


def _read(s: KernelStatistics, h: Array, mean: Array) -> KernelParams:
    """Values and bandwidths → what is scored with."""
    values = (s.start, s.value, s.weight)
    return KernelParams(h, values, _core.kernel_tables(*values, h, len(h)), mean)


def _weights(s: KernelStatistics, K: int) -> Array:
    """(K, d)"""
    total, filled = np.zeros(len(s.start) - 1), np.diff(s.start) > 0
    if filled.any():
        total[filled] = np.add.reduceat(s.weight, s.start[:-1][filled])
    return total.reshape(-1, K).T


def _with_everyone(s: KernelStatistics, n: Array) -> tuple[KernelStatistics, Array]:
    """A class that never saw a column has the values of all classes there; and which these are (K, d)."""
    K, d = n.shape
    never = (n == 0) & (n.sum(axis=0) > 0)
    if never.any():
        whose = [[j * K + c for c in range(K)] if never[c, j] else [j * K + c] for j in range(d) for c in range(K)]
        s = _gather(s, whose, K)
    return s, never


def _without(s: KernelStatistics, entries: list[slice], c: int, x: Array, u: Array, h: float, log: Array) -> Array:
    """log f(x) of class c (of all, if it has no values) without u times x itself. log: with it."""
    everyone = slice(entries[0].start, entries[-1].stop)
    mine = entries[c] if entries[c].stop > entries[c].start else everyone
    total = float(s.weight[mine].sum())
    left = total - u
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        own = np.log(u) - np.log(total) - np.log(h) - HALF_LOG_2PI - log  # log of its share of the density
        share = np.exp(own)
        out = log + np.log(total) - np.log(left) + np.log1p(-share)
    for i in np.flatnonzero(~(share <= CLEAR) | (left <= 1e-9 * total)).tolist():
        some = mine if left[i] > 1e-9 * total else everyone
        value, weight = s.value[some], s.weight[some].copy()
        same = np.flatnonzero(value == x[i])
        at = same[np.argmax(weight[same])]  # of all classes, two may have the value: either will do
        weight[at] = minus(weight[at], u[i])
        out[i] = Values(value[weight > 0], weight[weight > 0]).log_density(x[i], h)
    return np.asarray(out)


def _gather(s: KernelStatistics, entries: list[list[int]], K: int) -> KernelStatistics:
    """Sufficient statistics whose entries are the given ones of s, several of them joined."""
    values, weights = [np.empty(0)], [np.empty(0)]
    for group in entries:
        spans = [slice(s.start[e], s.start[e + 1]) for e in group]
        v = np.concatenate([s.value[span] for span in spans]) if spans else np.empty(0)
        w = np.concatenate([s.weight[span] for span in spans]) if spans else np.empty(0)
        if len(spans) > 1:
            v, place = np.unique(v, return_inverse=True)
            w = np.bincount(place, weights=w, minlength=len(v))
        values.append(v)
        weights.append(w)
    start = np.cumsum([len(v) for v in values], dtype=np.int64)
    return KernelStatistics(start, np.concatenate(values), np.concatenate(weights), np.array(K))


def _as_long(s: KernelStatistics, other: KernelStatistics) -> KernelStatistics:
    """Statistics without entries (of a model that has forgotten every row) with those of the other."""
    return s if len(s.start) > 1 else replace(s, start=np.zeros_like(other.start), K=other.K)


def _deviation(s: KernelStatistics, j: int, K: int) -> float:
    """The standard deviation of a column over all classes."""
    span = slice(s.start[j * K], s.start[(j + 1) * K])
    v, w = s.value[span], s.weight[span]
    if not len(v):
        return 0.0
    unit = float(np.abs(v).max())
    if unit == 0 or not np.isfinite(1.0 / unit):
        return 0.0 if len(np.unique(v)) == 1 else unit
    centred = v / unit - v[0] / unit  # exact for a constant column; no overflow
    mean = np.average(centred, weights=w)
    return float(np.sqrt(np.average((centred - mean) ** 2, weights=w)) * unit)


def _means(s: KernelStatistics, K: int, d: int) -> Array:
    """The mean of each class and column; of equal values exactly that value."""
    spans = zip(s.start[:-1], s.start[1:], strict=True)
    found = [_average(s.value[a:b], s.weight[a:b]) if b > a + 1 else _only(s, a, b) for a, b in spans]
    return np.array(found).reshape(d, K).T


def _average(value: Array, weight: Array) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        found = float(np.average(value, weights=weight))
    if np.isfinite(found):
        return found
    unit = float(np.abs(value).max())  # the sum is too large for a number, not the mean
    return float(np.average(value / unit, weights=weight / weight.max()) * unit)


def _only(s: KernelStatistics, a: int, b: int) -> float:
    return float(s.value[a]) if b > a else np.nan
