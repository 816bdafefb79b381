"""Canonical order: columns, levels and classes are ordered by their content, not by position or name.

Each column, level and class has a token, a hash of what it counts: a level of its weight in each class, a class of its
levels, a column of all its levels. Where tokens are equal they are refined by the rows, as in colour refinement
(Weisfeiler & Leman 1968): a row is the sum of the tokens of its values, and a level or class takes on the largest of
its rows. So a model does not depend on the order of rows, columns and classes, nor on the names of columns, levels and
classes. Columns or levels that this cannot distinguish could be exchanged without a change of the table; between
these the position of the column or the label of the level decides.

Numbers count by the rank of their interval, so their unit does not matter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.schema import Levels
from tallybayes.utils.array_types import Array, Floats

Tokens = NDArray[np.uint64]
CodedRows = tuple[Array, NDArray[np.int32], Floats | None]  # codes (columns, rows), classes, weights

COUNT_ROUNDS = 2  # refinements by counts alone
ROW_ROUNDS = 3  # refinements by rows, where tokens are equal
ZERO, NUMBER, MISSING = np.uint64(0), np.uint64(1), np.uint64(1 << 62)


class ContentTokens(NamedTuple):
    """Tokens of columns (d,), and of the levels of categories: those of column j from level_start[j]; numbers have
    none."""

    column: Tokens
    level: Tokens
    level_start: NDArray[np.int64]

    def level_order(self, j: int, size: int) -> NDArray[np.intp]:
        """The levels of column j in canonical order; levels that came after the tokens are last."""
        own = self.level[self.level_start[j] : self.level_start[j + 1]][:size]
        return np.append(np.argsort(own, kind="stable"), np.arange(len(own), size))

    def of_levels(self, known: Sequence[Levels | None], sizes: Array) -> list[Tokens]:
        """A token of each level of each column, and last of a missing value. That of a level which came later is made
        of its label."""
        out = []
        for j, size in enumerate(sizes.tolist()):
            own = np.arange(size + 1, dtype=np.uint64)
            own[size] = MISSING
            stored = self.level[self.level_start[j] : self.level_start[j + 1]][:size]
            labels = known[j] if j < len(known) else None
            for v in range(len(stored), size if labels is not None else 0):
                own[v] = _of_label(labels.labels[v])  # type: ignore[union-attr]
            own = mix(mix(own) + self.column[j])
            own[: len(stored)] = stored
            out.append(own)
        return out


def positions(d: int) -> ContentTokens:
    """Tokens of columns by their position, of levels by their labels: for rows whose content is not known yet."""
    return ContentTokens(np.arange(1, d + 1, dtype=np.uint64), np.zeros(0, np.uint64), np.zeros(d + 1, np.int64))


def _of_label(label: object) -> int:
    if isinstance(label, int) and not isinstance(label, bool) and 0 <= label < 1 << 31:
        return label
    text = f"{type(label).__name__}:{label!r}".encode("utf-8", "backslashreplace")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


class _Colours:
    """Tokens of levels (side by side), columns and classes while they are refined."""

    def __init__(self, single: Floats, sizes: NDArray[np.int64], weight: Floats, numeric: NDArray[np.bool_]) -> None:
        total = float(weight.sum()) or 1.0
        self.count, self.sizes, self.numeric = _bits(single / total), sizes, numeric
        self.ends = np.cumsum(sizes)
        self.first, self.of = self.ends - sizes, np.repeat(np.arange(len(sizes)), sizes)
        self.cells, self.seen = np.nonzero(self.count), single.sum(axis=0) > 0
        rank = (np.arange(len(self.of)) - self.first[self.of]).astype(np.uint64)
        self.levels = np.where(numeric[self.of], mix(rank + NUMBER), ZERO)
        self.classes = mix(_bits(weight / total).astype(np.uint64))
        self._take_columns()

    def _take_columns(self) -> None:
        own = np.where(self.seen, mix(self.levels), ZERO)
        self.columns = mix(np.add.reduceat(own, self.first) + self.numeric.astype(np.uint64))

    def refine_by_counts(self) -> None:
        """A level takes on its weight in each class, a class that of its levels."""
        of_class, of_level = self.cells
        n = mix(self.count[of_class, of_level].astype(np.uint64))
        levels, classes = self.levels.copy(), self.classes.copy()
        np.add.at(levels, of_level, mix(n + self.classes[of_class]))
        self.levels = mix(levels)
        self._take_columns()
        named = self.levels + self.columns[self.of]
        np.add.at(classes, of_class, mix(n + named[of_level]))
        self.classes = mix(classes)

    def refine_by_rows(self, batches: Iterator[CodedRows], columns: list[int]) -> None:
        """A level of these columns, and a class, takes on the largest of its rows."""
        top, top_class = np.zeros_like(self.levels), np.zeros_like(self.classes)
        each = zip(self.first.tolist(), self.ends.tolist(), self.columns, strict=True)
        tokens = [mix(np.append(self.levels[a:b], MISSING) + own) for a, b, own in each]
        for codes, y, w in batches:
            here = np.flatnonzero(y >= 0 if w is None else (y >= 0) & (w > 0))
            rows = mix(hashes(codes, tokens)[here] + self.classes[y[here]])
            np.maximum.at(top_class, y[here], rows)
            for j in columns:
                own = codes[j][here]
                known = own < self.sizes[j]
                np.maximum.at(top[self.first[j] : self.ends[j]], own[known], rows[known])
        self.levels, self.classes = mix(self.levels + top), mix(self.classes + top_class)
        self._take_columns()

    def break_ties(self, known: Sequence[Levels | None]) -> None:
        """Equal tokens would make different rows equal: positions and labels tell the last ones apart."""
        _, number = np.unique(self.columns, return_inverse=True)
        turn = np.zeros(len(number), dtype=np.uint64)
        for group in np.flatnonzero(np.bincount(number) > 1).tolist():
            turn[number == group] = np.arange((number == group).sum())
        self.columns = np.where(turn > 0, mix(self.columns + turn), self.columns)
        for j in np.flatnonzero(~self.numeric).tolist():
            own = self.levels[self.first[j] : self.ends[j]]
            labels = known[j] if j < len(known) else None
            _, number = np.unique(own, return_inverse=True)
            alike = np.flatnonzero((np.bincount(number) > 1)[number])
            each = [v if labels is None else _of_label(labels.labels[v]) for v in alike.tolist()]
            # its place among these, not the hash of a label itself: by that, who guesses a label that was forgotten
            # since could check the guess
            order = np.argsort(np.array(each, dtype=np.uint64), kind="stable")
            own[alike[order]] = mix(own[alike[order]] + np.arange(1, len(alike) + 1, dtype=np.uint64))

    def tied(self) -> tuple[list[int], bool]:
        """Columns that are like another one, or have levels that are alike; and whether classes are alike."""
        values, number = np.unique(self.columns, return_inverse=True)
        alike = np.bincount(number, minlength=len(values))[number] > 1
        at = np.flatnonzero(self.seen & ~self.numeric[self.of])
        both = np.stack([self.of[at].astype(np.uint64), self.levels[at]])
        order = np.lexsort(both[::-1])
        same = (both[:, order[1:]] == both[:, order[:-1]]).all(axis=0)
        alike[self.of[at[order[1:][same]]]] = True
        return np.flatnonzero(alike).tolist(), len(np.unique(self.classes)) < len(self.classes)


def content_tokens(
    single: Floats,
    sizes: NDArray[np.int64],
    weight: Floats,
    numeric: NDArray[np.bool_],
    known: Sequence[Levels | None],
    batches: Callable[[], Iterator[CodedRows]],
) -> ContentTokens:
    """The tokens of columns with counts `single` (classes, levels), and of their levels. weight: of each class; known:
    the labels of levels."""
    own = _Colours(single, sizes, weight, numeric)
    for _ in range(COUNT_ROUNDS):
        own.refine_by_counts()
    for _ in range(ROW_ROUNDS):
        columns, classes = own.tied()
        if not columns and not classes:
            break
        own.refine_by_rows(batches(), columns)
    own.break_ties(known)
    each = zip(own.first.tolist(), own.ends.tolist(), own.columns, numeric.tolist(), strict=True)
    levels = [mix(own.levels[a:a] if is_number else own.levels[a:b] + column) for a, b, column, is_number in each]
    start = np.cumsum([0, *map(len, levels)]).astype(np.int64)
    return ContentTokens(own.columns, np.concatenate(levels), start)


def _bits(n: Floats) -> NDArray[np.uint32]:
    """Shares as whole numbers, equal for sums that differ by rounding."""
    return np.ascontiguousarray(n, dtype=np.float32).view(np.uint32)


def hashes(codes: Array, tokens: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """A hash of each row: the sum of the tokens of its levels, whatever the order of the columns."""
    out = np.zeros(codes.shape[1], dtype=np.uint64)
    for column, own in zip(codes, tokens, strict=True):
        out += own[np.minimum(column, np.array(len(own) - 1).astype(column.dtype))]
    return np.asarray(mix(out))


def mix(x: Array) -> Array:
    """The finaliser of splitmix64."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))
