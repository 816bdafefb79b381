"""k-nearest neighbours, distance-weighted (Dudani 1976), over the row sample.

Networks and trees cut one column at a time, and a Gaussian has one shape for a class. Where a class lies in curved or
scattered regions of many numbers (letters, digits), rows nearby know more:
    term(c) = log (n_c + r π_c) / ((n + r) π_c),    n_c = Σ over the k nearest neighbors of class c of w (1 − d² / h²)²,
with weights w, distances d, and h the distance of the next row. A row at distance h counts nothing, so ties do not
matter. Numbers are read as normal scores, frequent levels of categories as indicators. The metric is Euclidean or,
where it does better, Mahalanobis by the covariance within classes. k, r and the metric are chosen by leave-one-out.
Nothing but the row sample is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions.context import Json, plain
from tallybayes.distributions.statistics import Record
from tallybayes.ensemble import gaussian_copula
from tallybayes.ensemble.row_sample import retyped
from tallybayes.ensemble.stacking import TEMPERATURE_CENTRE, TEMPERATURE_PULL
from tallybayes.model.temperature import tempered
from tallybayes.utils.array_types import Array, Floats
from tallybayes.utils.cached import cached_property

if TYPE_CHECKING:
    from tallybayes.ensemble.canonical_order import ContentTokens
    from tallybayes.ensemble.ensemble_statistics import EnsembleStatistics

NEIGHBORS = (4, 8, 16, 32, 64)  # k, to choose from
PSEUDO_COUNTS = (0.1, 0.3, 1.0, 3.0)  # r, to choose from
MIN_ROWS = 10
SEARCHED_ROWS = 8000  # of the row sample, among which neighbours are searched
MAX_NUMBERS = 1 << 23  # searched rows × dimensions; more are not searched
MAX_METRIC_DIMENSIONS = 200  # up to which the covariance within classes is tried
METRIC_SHRINKAGE = 0.2  # of that covariance towards its diagonal
SELECTION_ROWS = 2000  # rows that choose k, r and the metric


class NearestRows(NamedTuple):
    """(rows, neighbours) each, nearest first: index into the sample (−1: none), squared distance, weight."""

    row: NDArray[np.int32]
    distance: Floats
    weight: Floats

    def first(self, rows: int) -> NearestRows:
        """Those of the first rows."""
        return NearestRows(self.row[:rows], self.distance[:rows], self.weight[:rows])


@dataclass(frozen=True, eq=False)
class Neighbors(Record):
    """normal_scores: of the columns; root: triangular root of the metric or None; codes, label, weight: the row
    sample's first rows; prior: π; k and pseudo_count: see above."""

    normal_scores: gaussian_copula.NormalScores
    root: Floats | None
    codes: Array
    label: NDArray[np.int32]
    weight: Floats
    prior: Floats
    k: int
    pseudo_count: float

    @cached_property
    def _points(self) -> _core.Points:
        return _core.Points(np.ascontiguousarray(self.normal_scores.read(self.codes)), self.root)

    def nearest(self, z: Floats, most: int) -> NearestRows:
        """The nearest neighbors of the sample to rows with scores z."""
        index, distance = self._points.nearest(np.ascontiguousarray(z), most)
        return NearestRows(index, distance, np.where(index < 0, 0.0, self.weight[index]))

    def terms(self, near: NearestRows) -> Floats:
        """(rows, classes)"""
        return _log_lift(_class_weights(near, self.k, self.label, len(self.prior)), self.pseudo_count, self.prior)

    def scores(self, codes: Array) -> Floats:
        """(rows, classes) of packed codes (columns, rows)."""
        out = np.empty((codes.shape[1], len(self.prior)))
        for span, z in self.normal_scores.blocks(codes):
            out[span] = self.terms(self.nearest(z, self.k + 1))
        return out

    def leave_one_out(self, codes: Array, y: NDArray[np.int32], unit: Floats) -> Floats:
        """(rows, classes) of learned rows, leave-one-out if they are in the sample."""
        out = np.empty((codes.shape[1], len(self.prior)))
        sample, codes = self.codes, retyped(codes, self.codes.dtype)
        for span, z in self.normal_scores.blocks(codes):
            near = self.nearest(z, self.k + 2)
            row, place = np.nonzero((near.distance == 0) & (self.label[near.row] == y[span, None]))
            same = (sample[:, near.row[row, place]] == codes[:, span][:, row]).all(axis=0)
            own = np.full(len(z), -1, dtype=np.int32)
            own[row[same]] = near.row[row[same], place[same]]
            out[span] = self.terms(_without(near, own, unit[span]))
        return out

    def with_fixed_hyperparameters(self, s: EnsembleStatistics) -> Neighbors:
        """The same choices over another row sample."""
        codes, label, weight = _searched(s)
        return replace(self, codes=codes, label=label, weight=weight)

    def export(self, weight: float) -> Json:
        """As exports hold it."""
        missing = self.codes == np.iinfo(self.codes.dtype).max
        return {
            "weight": weight,
            "scale": self.normal_scores.export(),
            "root": None if self.root is None else [plain(row[: i + 1]) for i, row in enumerate(self.root)],
            "rows": np.where(missing, -1, self.codes.astype(np.int64)).T.tolist(),
            "label": self.label.tolist(),
            "row_weight": plain(self.weight),
            "prior": plain(self.prior),
            "k": self.k,
            "pseudo_count": self.pseudo_count,
        }


def choose(
    s: EnsembleStatistics,
    columns: tuple[Array, ContentTokens],
    y: NDArray[np.int32],
    unit: Floats,
    w: Floats,
    start: Floats,
    prior: Floats,
) -> tuple[Neighbors, Floats] | None:
    """The component and its LOO terms (rows, classes) for the first rows of the sample, those of y with weights w.
    columns: which are numbers, and the tokens of all.

    None where there is nothing to search.
    """
    line, sample = _scores(s, *columns), _searched(s)
    label, weight = sample[1:]
    count = len(label)
    if count < MIN_ROWS or not 0 < len(line.column) * count <= MAX_NUMBERS:
        return None
    m = len(y)
    z = np.ascontiguousarray(line.read(s.sample_codes[:, : max(m, count)]))
    own = np.where(np.arange(m) < count, np.arange(m), -1).astype(np.int32)
    few, K = slice(0, SELECTION_ROWS), len(prior)
    pull = (TEMPERATURE_PULL, TEMPERATURE_CENTRE, 0.02)
    found = list[tuple[float, Neighbors, NearestRows]]()
    for root in _metrics(z[:count], label, weight, K):
        one = Neighbors(line, root, *sample, prior, NEIGHBORS[0], PSEUDO_COUNTS[0])
        near = _without(one.nearest(z[:m], NEIGHBORS[-1] + 2), own, unit)
        selection = near.first(SELECTION_ROWS)
        for k in [k for k in NEIGHBORS if k < count - 1]:
            weights = _class_weights(selection, k, label, K)
            for r in PSEUDO_COUNTS:
                loss = tempered(start[few], _log_lift(weights, r, prior), y[few], w[few], *pull)[1]
                found.append((loss, replace(one, k=k, pseudo_count=r), near))
    _, best, near = min(found, key=lambda each: each[0])
    return best, best.terms(near)


def _searched(s: EnsembleStatistics) -> tuple[Array, NDArray[np.int32], Floats]:
    """Codes, classes and weights of the rows that may be neighbours."""
    count = min(SEARCHED_ROWS, len(s.sample_label))
    return np.ascontiguousarray(s.sample_codes[:, :count]), s.sample_label[:count], s.sample_weight[:count]


def _scores(s: EnsembleStatistics, numeric: Array, tokens: ContentTokens) -> gaussian_copula.NormalScores:
    """Normal scores of numeric columns, indicators of the frequent levels of the others in canonical order."""
    is_numeric = set(numeric.tolist())

    def dimensions(j: int, n: Floats) -> list[Floats]:
        if j in is_numeric:
            return [gaussian_copula.normal_scores(n)]
        order = tokens.level_order(j, len(n))
        back = np.argsort(order)
        return [own[back] for own in gaussian_copula.indicators(n[order])]

    return gaussian_copula.scores_of(
        (j, dimensions(j, n))
        for j, n in enumerate(np.split(s.single.sum(axis=0), np.cumsum(s.sizes)[:-1]))
        if (n > 0).sum() > 1
    )


def _metrics(z: Floats, y: NDArray[np.int32], w: Floats, K: int) -> Iterator[Floats | None]:
    """The Euclidean metric, and Mahalanobis by the covariance within classes."""
    yield None
    if z.shape[1] > MAX_METRIC_DIMENSIONS:
        return
    own = gaussian_copula.statistics(z, y, w, K)
    pooled = gaussian_copula.Statistics(own.n.sum(keepdims=True), own.mean[:1], own.scatter.sum(axis=0, keepdims=True))
    found = gaussian_copula.discriminant(pooled, 1.0, METRIC_SHRINKAGE, np.inf)
    if found is not None:
        yield np.ascontiguousarray(np.tril(found.root[0]))


def _without(near: NearestRows, own: NDArray[np.int32], unit: Floats) -> NearestRows:
    """One neighbour less: the row itself (own, −1: not in the sample) if no weight of it is left, else the last."""
    here = near.row == np.where(own < 0, -2, own)[:, None]
    rows, place = np.arange(len(own)), here.argmax(axis=1)
    among = here.any(axis=1)
    left = near.weight[rows, place] - unit
    gone = among & (left <= 1e-9 * near.weight[rows, place])
    weight = near.weight.copy()
    weight[rows[among], place[among]] = np.maximum(left[among], 0.0)
    at = np.arange(near.row.shape[1] - 1)
    take = at + (gone[:, None] & (at >= place[:, None]))
    return NearestRows(
        np.take_along_axis(near.row, take, axis=1),
        np.take_along_axis(near.distance, take, axis=1),
        np.take_along_axis(weight, take, axis=1),
    )


def _class_weights(near: NearestRows, k: int, label: NDArray[np.int32], K: int) -> Floats:
    """n_c (rows, classes). Where there is no next row, or it is at distance 0, all neighbours count alike."""
    index, n = near.row[:, :k], len(near.row)
    h = near.distance[:, k : k + 1]
    away = np.divide(near.distance[:, :k], h, out=np.zeros((n, k)), where=(h > 0) & (index >= 0))
    own = np.where(index < 0, 0.0, near.weight[:, :k] * np.maximum(1 - away, 0.0) ** 2)
    at = np.arange(n)[:, None] * K + label[index]
    return np.asarray(np.bincount(at.ravel(), own.ravel(), n * K), dtype=np.float64).reshape(n, K)


def _log_lift(n: Floats, r: float, prior: Floats) -> Floats:
    return np.asarray(np.log((n + r * prior) / ((n.sum(axis=1, keepdims=True) + r) * prior)))
