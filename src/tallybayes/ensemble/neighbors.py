"""The kept rows that are most like a row, and which classes they had.

Networks and corrections cut one column at a time, and a Gaussian has one shape for a class. Where a class lies in bent
or scattered places of many numbers, letters or digits, say, rows nearby know more:
    term(c) = log (n_c + r π_c) / ((n + r) π_c),    n_c = Σ over the k nearest rows of class c of w (1 − d² / h²)²,
w their weights, d their distances, and h that of the next one. A row at distance h counts nothing, so that it does not
matter which of two equally distant ones comes first.

Numbers are read as normal scores, frequent levels of categories as indicators. The distance is that of these, or,
where it tells more, Mahalanobis's by the covariance within classes. k, r and the distance are chosen by leave-one-out.
The kept rows are sums already: nothing else is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions.exported import Json, plain
from tallybayes.distributions.records import Record
from tallybayes.ensemble import gaussian_copula
from tallybayes.ensemble.row_sample import retyped
from tallybayes.ensemble.stacking import PULL, TO
from tallybayes.model.temperature import tempered
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from tallybayes.ensemble.ensemble_statistics import EnsembleStatistics

NEIGHBOURS = (4, 8, 16, 32, 64)  # k, to choose from
ROWS = (0.1, 0.3, 1.0, 3.0)  # r
LEAST = 10  # rows
NUMBERS = 1 << 23  # of all kept rows: more than these are not looked through
TURNED = 200  # dimensions up to which there is a covariance
DIAGONAL = 0.2  # how much of it is its diagonal
JUDGES = 2000  # rows that choose


class Near(NamedTuple):
    """(rows, neighbours) each, the nearest first: which of the kept rows, −1 for none; the square of its distance; its
    weight."""

    row: NDArray[np.int32]
    distance: Floats
    weight: Floats

    def first(self, rows: int) -> Near:
        """Those of the first rows."""
        return Near(self.row[:rows], self.distance[:rows], self.weight[:rows])


@dataclass(frozen=True, eq=False)
class Nearest(Record):
    """line: how codes are read as numbers; root: the triangular root of the metric, None for none; rows: the codes of
    the kept rows, with label and weight; prior: π; neighbours, counts: k and r."""

    line: gaussian_copula.Scale
    root: Floats | None
    rows: Array
    label: NDArray[np.int32]
    weight: Floats
    prior: Floats
    neighbours: int
    counts: float

    @cached_property
    def _points(self) -> _core.Points:
        return _core.Points(np.ascontiguousarray(self.line.read(self.rows)), self.root)

    def near(self, z: Floats, most: int) -> Near:
        """The nearest kept rows of rows that are read as numbers."""
        index, distance = self._points.nearest(np.ascontiguousarray(z), most)
        return Near(index, distance, np.where(index < 0, 0.0, self.weight[index]))

    def terms(self, near: Near) -> Floats:
        """(rows, classes)"""
        return _logs(_classes(near, self.neighbours, self.label, len(self.prior)), self.counts, self.prior)

    def scores(self, codes: Array) -> Floats:
        """(rows, classes) of packed codes (columns, rows)."""
        out = np.empty((codes.shape[1], len(self.prior)))
        for span, z in self.line.blocks(codes):
            out[span] = self.terms(self.near(z, self.neighbours + 1))
        return out

    def leave_one_out(self, codes: Array, y: NDArray[np.int32], unit: Floats) -> Floats:
        """The same for rows that were learned, each without itself, if it is among the kept ones."""
        out = np.empty((codes.shape[1], len(self.prior)))
        kept, codes = self.rows, retyped(codes, self.rows.dtype)
        for span, z in self.line.blocks(codes):
            near = self.near(z, self.neighbours + 2)
            row, place = np.nonzero((near.distance == 0) & (self.label[near.row] == y[span, None]))
            same = (kept[:, near.row[row, place]] == codes[:, span][:, row]).all(axis=0)
            own = np.full(len(z), -1, dtype=np.int32)
            own[row[same]] = near.row[row[same], place[same]]
            out[span] = self.terms(_without(near, own, unit[span]))
        return out

    def export(self, weight: float) -> Json:
        """As a file for other languages has it."""
        starts = self.line.start.tolist()
        return {
            "weight": weight,
            "scale": [
                {"column": int(j), "value": self.line.value[starts[i] : starts[i + 1]].tolist()}
                for i, j in enumerate(self.line.column)
            ],
            "root": None if self.root is None else [plain(row[: i + 1]) for i, row in enumerate(self.root)],
            "rows": np.where(self.rows == np.iinfo(self.rows.dtype).max, -1, self.rows.astype(np.int64)).T.tolist(),
            "label": self.label.tolist(),
            "row_weight": plain(self.weight),
            "prior": plain(self.prior),
            "neighbours": self.neighbours,
            "counts": self.counts,
        }


def choose(
    s: EnsembleStatistics, number: Array, y: NDArray[np.int32], unit: Floats, w: Floats, start: Floats, prior: Floats
) -> tuple[Nearest, Floats] | None:
    """The part, and its left-out terms (rows, classes) for the first kept rows, those of y, which judge with weights w.
    None where there is nothing to look through."""
    line, count = scale(s, number), len(s.row_label)
    if count < LEAST or not 0 < len(line.column) * count <= NUMBERS:
        return None
    z, m = np.ascontiguousarray(line.read(s.rows)), len(y)
    few, K = slice(0, JUDGES), len(prior)
    found = list[tuple[float, Nearest, Near]]()
    for root in _metrics(z, s.row_label, s.row_weight, K):
        one = Nearest(line, root, s.rows, s.row_label, s.row_weight, prior, NEIGHBOURS[0], ROWS[0])
        near = _without(one.near(z[:m], NEIGHBOURS[-1] + 2), np.arange(m, dtype=np.int32), unit)
        judged = near.first(JUDGES)
        for k in [k for k in NEIGHBOURS if k < count - 1]:
            classes = _classes(judged, k, s.row_label, K)
            for r in ROWS:
                loss = tempered(start[few], _logs(classes, r, prior), y[few], w[few], PULL, TO, 0.02)[1]
                found.append((loss, replace(one, neighbours=k, counts=r), near))
    _, best, near = min(found, key=lambda each: each[0])
    return best, best.terms(near)


def again(s: EnsembleStatistics, old: Nearest) -> Nearest:
    """The part of another tally, with all that was chosen."""
    return replace(old, rows=s.rows, label=s.row_label, weight=s.row_weight)


def scale(s: EnsembleStatistics, number: Array) -> gaussian_copula.Scale:
    """What levels stand for: normal scores of the columns that are numbers, indicators of frequent levels."""
    column, values, ordered = list[int](), list[Floats](), set(number.tolist())
    for j, n in enumerate(np.split(s.single.sum(axis=0), np.cumsum(s.sizes)[:-1])):
        if (n > 0).sum() < 2:
            continue
        own = [gaussian_copula.normal_scores(n)] if j in ordered else gaussian_copula.indicators(n)
        column += [j] * len(own)
        values += [np.append(value, 0.0) for value in own]
    start = np.cumsum([0, *map(len, values)]).astype(np.int64)
    return gaussian_copula.Scale(np.array(column, dtype=np.int32), start, np.concatenate([*values, np.empty(0)]))


def _metrics(z: Floats, y: NDArray[np.int32], w: Floats, K: int) -> Iterator[Floats | None]:
    yield None
    if z.shape[1] > TURNED:
        return
    own = gaussian_copula.sums(z, y, w, K)
    pooled = gaussian_copula.Statistics(own.n.sum(keepdims=True), own.mean[:1], own.scatter.sum(axis=0, keepdims=True))
    found = gaussian_copula.normals(pooled, 1.0, DIAGONAL, np.inf)
    if found is not None:
        yield np.ascontiguousarray(np.tril(found.root[0]))


def _without(near: Near, own: NDArray[np.int32], unit: Floats) -> Near:
    """One neighbour less: the row itself, kept row `own` (−1: it is none), if nothing is left of it, else the last."""
    here = near.row == np.where(own < 0, -2, own)[:, None]
    rows, place = np.arange(len(own)), here.argmax(axis=1)
    among = here.any(axis=1)
    left = near.weight[rows, place] - unit
    gone = among & (left <= 1e-9 * near.weight[rows, place])
    weight = near.weight.copy()
    weight[rows[among], place[among]] = np.maximum(left[among], 0.0)
    at = np.arange(near.row.shape[1] - 1)
    take = at + (gone[:, None] & (at >= place[:, None]))
    return Near(
        np.take_along_axis(near.row, take, axis=1),
        np.take_along_axis(near.distance, take, axis=1),
        np.take_along_axis(weight, take, axis=1),
    )


def _classes(near: Near, k: int, label: NDArray[np.int32], K: int) -> Floats:
    """n_c: (rows, classes). Where there is no next row, all count alike; where it is at no distance, too."""
    index, n = near.row[:, :k], len(near.row)
    h = near.distance[:, k : k + 1]
    away = np.divide(near.distance[:, :k], h, out=np.zeros((n, k)), where=(h > 0) & (index >= 0))
    own = np.where(index < 0, 0.0, near.weight[:, :k] * np.maximum(1 - away, 0.0) ** 2)
    at = np.arange(n)[:, None] * K + label[index]
    return np.asarray(np.bincount(at.ravel(), own.ravel(), n * K), dtype=np.float64).reshape(n, K)


def _logs(n: Floats, r: float, prior: Floats) -> Floats:
    return np.asarray(np.log((n + r * prior) / ((n.sum(axis=1, keepdims=True) + r) * prior)))
