"""Texts judged without themselves: their words leave the counts of their class, and some leave the vocabulary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Sparse
from tallybayes.distributions.statistics import DUST, LOG_TINY
from tallybayes.utils.array_types import Array

BLOCK_NUMBERS = 1 << 20  # words of rows at a time, times the classes


@dataclass(frozen=True)
class _Span:
    """The words of some rows that there are, one after the other."""

    rows: slice
    row: NDArray[np.intp]
    word: NDArray[np.intp]
    times: NDArray[np.float64]
    y: NDArray[np.int32]
    unit: NDArray[np.float64]
    lone: NDArray[np.bool_]  # no other row has it
    text: NDArray[np.bool_]  # by row: there is a text

    def by_row(self, x: Array) -> Array:
        """(entries,) or (entries, K) summed over each row."""
        n = len(self.y)
        if x.ndim == 1:
            return np.bincount(self.row, weights=x, minlength=n)
        return np.stack([np.bincount(self.row, weights=x[:, k], minlength=n) for k in range(x.shape[1])], axis=1)


def leave_one_out(
    model: str,
    alpha: float,
    data: Sparse,
    y: NDArray[np.int32],
    unit: NDArray[np.float64],
    count: Array,
    rows: Array,
    K: int,
    held: dict[str, Prepared],
    normalized: bool = False,
) -> Array:
    """(n, K): log P(x | class) of rows that are in the statistics, leave-one-out. count: (K, words).

    held: what is the same for all rows stays there, for the next rows of the same counts. normalized: with the factor
    of each text's length, of the words that other rows have too.
    """
    out = np.zeros((data.n, K))
    found = held.get(model)
    if found is None or found.count is not count or found.judge.alpha != alpha:
        found = held[model] = _prepared(model, alpha, count, rows)
    for span in _spans(data, y, unit, found, once=model == "bernoulli"):
        out[span.rows] = found.judge.scores(span)
        if normalized:
            length = span.by_row(np.where(span.lone, 0.0, span.times))
            out[span.rows] *= np.array([_core.length_factor(n) for n in length.tolist()])[:, None]
    return out


def length_factors(data: Sparse, exist: NDArray[np.bool_]) -> Array:
    """(n,): by what the log-likelihood of each text is multiplied, by how many of its words there are."""
    lengths = data.csr @ np.append(0.0, exist).astype(np.float64)
    return np.array([_core.length_factor(n) for n in lengths.tolist()])


def length_normalized(data: Sparse, exist: NDArray[np.bool_]) -> Sparse:
    """The counts times the factor of their text's length."""
    csr = data.csr
    times = csr.data * np.repeat(length_factors(data, exist), np.diff(csr.indptr))
    return Sparse(type(csr)((times, csr.indices, csr.indptr), shape=csr.shape))  # in the same order: astype would sort


@dataclass(frozen=True, eq=False)
class Prepared:
    """The counts and what all rows need of them."""

    count: Array
    total: Array
    exist: NDArray[np.bool_]
    judge: _Shares | _Presence


def _prepared(model: str, alpha: float, count: Array, rows: Array) -> Prepared:
    judge: _Shares | _Presence
    judge = _Presence(alpha, count, rows) if model == "bernoulli" else _Shares(alpha, count, model == "complement")
    return Prepared(count, count.sum(axis=0), np.asarray(count.any(axis=0)), judge)


def _spans(
    data: Sparse, y: NDArray[np.int32], unit: NDArray[np.float64], found: Prepared, once: bool
) -> Iterator[_Span]:
    """once: a word counts once, however often a text has it."""
    count, total, exist, csr = found.count, found.total, found.exist, data.csr
    step = max(1, BLOCK_NUMBERS * data.n // max(1, len(count) * csr.nnz))
    for first in range(0, data.n, step):
        rows = slice(first, min(first + step, data.n))
        begin, end = int(csr.indptr[rows.start]), int(csr.indptr[rows.stop])
        row = np.repeat(np.arange(rows.stop - rows.start), np.diff(csr.indptr[rows.start : rows.stop + 1]))
        index = csr.indices[begin:end].astype(np.intp)
        text = np.zeros(rows.stop - rows.start, dtype=bool)
        text[row[index == 0]] = True
        there = index > 0
        there[there] = exist[index[there] - 1]
        row, word, times = row[there], index[there] - 1, csr.data[begin:end][there].astype(np.float64)
        times = np.minimum(times, 1.0) if once else times
        yield _Span(rows, row, word, times, y[rows], unit[rows], _lone(total, unit[rows][row], word, times), text)


def _lone(total: Array, unit: Array, word: Array, times: Array) -> NDArray[np.bool_]:
    all_of_it = total[word]
    return np.asarray((unit > 0) & (all_of_it - unit * times <= DUST * all_of_it))


def _minus(a: Array, b: Array) -> Array:
    """a − b, and 0 where rounding leaves dust."""
    left = a - b
    return np.where(left <= DUST * a, 0.0, left)


class _Shares:
    """Multinomial and complement: words share one sum of a class, or of all classes but it."""

    def __init__(self, alpha: float, count: Array, complement: bool) -> None:
        self.alpha, self.complement = alpha, complement
        self.counted = np.maximum(count.sum(axis=0) - count, 0.0) if complement else count
        self.total = self.counted.sum(axis=1)
        self.V = int(count.any(axis=0).sum())

    def scores(self, s: _Span) -> Array:
        K, keep = len(self.total), ~s.lone
        V = np.maximum(self.V - s.by_row(s.lone.astype(np.float64)), 1.0)[:, None]
        away = (s.y[:, None] == np.arange(K)) != self.complement  # of which classes the row leaves the statistics
        taken = away * s.unit[:, None]
        below = _minus(self.total[None], taken * s.by_row(s.times)[:, None]) + self.alpha * V  # (rows, K)
        row, word, times = s.row[keep], s.word[keep], s.times[keep, None]
        left = _minus(self.counted[:, word].T, taken[row] * times) + self.alpha
        with np.errstate(divide="ignore"):
            log = np.where(
                (below > 0)[row], np.log(left) - np.log(np.where(below > 0, below, 1.0))[row], -np.log(V)[row]
            )
        if self.complement:
            log = -np.maximum(log, LOG_TINY)
        part = _Span(s.rows, row, word, times[:, 0], s.y, s.unit, s.lone[keep], s.text)
        return part.by_row(times * log)


class _Presence:
    """Bernoulli: every word there is says something, in the text or not."""

    def __init__(self, alpha: float, count: Array, rows: Array) -> None:
        self.alpha, self.count, self.rows = alpha, count, rows
        self.exist = count.any(axis=0)
        self.V = int(self.exist.sum())

    def _absent(self, rows: Array, count: Array) -> Array:
        """log P(not there), above what all words have below; never of less than nothing."""
        return np.asarray(np.log(np.maximum(rows - count, 0.0) + self.alpha))

    def scores(self, s: _Span) -> Array:
        K = len(self.rows)
        out = np.zeros((len(s.y), K))
        pairs, which = np.unique(np.column_stack([s.y, s.unit]), axis=0, return_inverse=True)
        empty = np.empty((len(pairs), K))  # a text without any word, by all words that all rows have
        for i, (k, unit) in enumerate(pairs.tolist()):
            rows = self.rows.copy()
            rows[int(k)] = max(rows[int(k)] - unit, 0.0)
            empty[i] = self._absent(rows[:, None], self.count)[:, self.exist].sum(axis=1)
        taken = (s.y[:, None] == np.arange(K)) * s.unit[:, None]
        rows_left = np.maximum(self.rows - taken, 0.0)  # (rows, K)
        V = (self.V - s.by_row(s.lone.astype(np.float64)))[:, None]
        out = empty[which.reshape(-1)] - V * np.log(rows_left + 2 * self.alpha)
        met = self.count[:, s.word].T  # (entries, K)
        change = -self._absent(rows_left[s.row], met)
        change[~s.lone] += np.log(_minus(met, taken[s.row]) + self.alpha)[~s.lone]
        out += s.by_row(change)
        return np.where(s.text[:, None], out, 0.0)
