"""The rows of memory='rows': kept as they were given, in an order that depends on their contents alone.

Rows are sorted by a hash of their values, class and weight. So what is learned from a store does not depend on the
order in which rows came, nor on rows that came and went. A row is found again by its hash, whatever kind of table it
was given in.
"""

from __future__ import annotations

import hashlib
import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.datetimes import Datetimes, instants, written_times
from tallybayes.data.labels import Target, recode, union
from tallybayes.data.stored_column import StoredColumn, joined, stored
from tallybayes.data.table import Container, Table
from tallybayes.errors import ForgetError, MergeError
from tallybayes.utils.array_types import Array, Floats

Keys = NDArray[np.uint64]  # (rows, 2)
SEEDS = (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03)
ALL = 1 << 64
SAMPLE_BYTES, MIN_SAMPLE = 1 << 26, 8000  # of a sample's numbers; rows that it may have however wide they are
MISSING = 1 << 63 | 1  # no float64 that is stored has these bits: it is the smallest negative number


@dataclass(frozen=True, eq=False)
class RowStore:
    """Rows in canonical order: `matrix`, `csr` or `columns`; class codes, weights, and two hashes of each row."""

    container: Container
    names: tuple[str, ...] | None
    matrix: Array | None
    csr: Any
    columns: tuple[StoredColumn, ...] | None
    y: NDArray[np.int32]
    classes: Array
    w: Floats
    key: Keys
    limit: int = ALL  # of a sample: the rows with a first hash below it are all here, and no others

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.y)

    @property
    def d(self) -> int:
        """The number of columns as they are given."""
        if self.columns is not None:
            return len(self.columns)
        return int((self.csr if self.matrix is None else self.matrix).shape[1])

    def table(self) -> Table:
        """The rows as a table."""
        columns = None if self.columns is None else tuple(c.raw(f"x{j}") for j, c in enumerate(self.columns))
        return Table(self.n, self.d, self.container, self.names, self.matrix, self.csr, columns)

    def target(self) -> Target:
        """Their classes and weights."""
        return Target(self.y, self.classes, None if (self.w == 1).all() else self.w)

    def add(self, other: RowStore) -> RowStore:
        """The rows of both."""
        a, b = alike(self, other)
        classes = union(a.classes, b.classes)
        y = np.concatenate([recode(a.y, a.classes, classes), recode(b.y, b.classes, classes)])
        matrix = None if a.matrix is None else np.concatenate([a.matrix, b.matrix])
        csr = None if a.csr is None else _stacked(a.csr, b.csr)
        columns = None
        if a.columns is not None and b.columns is not None:
            names = a.names or [f"x{j}" for j in range(a.d)]
            columns = tuple(map(joined, a.columns, b.columns, names))
        both = replace(a, matrix=matrix, csr=csr, columns=columns, y=y, classes=classes)
        return _sorted(replace(both, w=np.concatenate([a.w, b.w]), key=np.concatenate([a.key, b.key])))

    def bounded(self, limit: int = ALL) -> RowStore:
        """The sample of all rows whose first hash is below a limit, as many as there is room for.

        The limit is a power of two (Wegman's adaptive sampling), not the hash of a row, as it is in a bottom-k sample:
        such a hash would outlive its row.
        """
        room, limit = max(MIN_SAMPLE, SAMPLE_BYTES // (8 * self.d + 28)), min(limit, self.limit)
        if self.n > room:
            limit = min(limit, 1 << (int(self.key[room, 0]).bit_length() - 1))
        stay = _below(self.key[:, 0], limit)
        return replace(self if stay.all() else self.taken(stay), limit=limit)

    def subtract(self, other: RowStore) -> RowStore:
        """The rows without others; ForgetError if some of these, or so much weight of them, were never added."""
        _, other = alike(self, other)
        other = _picked(other, np.flatnonzero(_below(other.key[:, 0], self.limit)))
        w, lost = self.w.copy(), list[int]()
        starts = np.searchsorted(self.key[:, 0], other.key[:, 0], side="left").tolist()
        ends = np.searchsorted(self.key[:, 0], other.key[:, 0], side="right").tolist()
        for i, (start, end, low, weight) in enumerate(
            zip(starts, ends, other.key[:, 1].tolist(), other.w.tolist(), strict=True)
        ):
            same = [r for r in range(start, end) if int(self.key[r, 1]) == low and w[r] > 0]
            exact = next((r for r in same if w[r] == weight), None)
            for r in (exact,) if exact is not None else same[::-1]:
                taken = min(weight, float(w[r]))
                w[r], weight = w[r] - taken, weight - taken
            if weight > 1e-9 * other.w[i]:
                lost.append(i)
        if lost:
            raise ForgetError(
                f"{len(lost)} of the {other.n} rows were never learned with this class and weight, or are forgotten "
                "already. Nothing was changed; give rows as they were learned."
            )
        return replace(self, w=w).taken(w > 0)

    def taken(self, which: NDArray[np.bool_]) -> RowStore:
        """Some of the rows; labels that no row has any more are dropped."""
        some = _picked(self, np.flatnonzero(which))
        present = np.bincount(some.y, minlength=len(some.classes)) > 0
        if not present.all():
            y = (np.cumsum(present) - 1)[some.y].astype(np.int32)
            some = replace(some, y=y, classes=some.classes[present])
        order = _order(some)  # as before, unless equal rows have other weights now
        return some if (order[1:] > order[:-1]).all() else _picked(some, order)

    def scale(self, factor: float) -> RowStore:
        """Each row with factor times its weight."""
        return _sorted(replace(self, w=self.w * factor))


def _below(key: Keys, limit: int) -> NDArray[np.bool_]:
    return np.ones(len(key), dtype=bool) if limit >= ALL else key < np.uint64(limit)


def store_of(table: Table, target: Target) -> RowStore:
    """The rows of a table that count."""
    at = np.flatnonzero(target.y >= 0 if target.w is None else (target.y >= 0) & (target.w > 0))
    w = np.ones(len(at)) if target.w is None else target.w[at].astype(np.float64)
    whole = RowStore(
        table.container, table.names,
        None if table.matrix is None else table.matrix[at],
        None if table.csr is None else table.csr[at],
        None if table.columns is None else tuple(stored(c).taken(at) for c in table.columns),
        target.y[at].astype(np.int32), target.classes, w, np.zeros((len(at), 2), dtype=np.uint64),
    )  # fmt: skip
    return with_keys(whole)


def with_keys(s: RowStore) -> RowStore:
    """The rows with their hashes, in canonical order."""
    return _sorted(replace(s, key=_keys(s)))


def alike(a: RowStore, b: RowStore) -> tuple[RowStore, RowStore]:
    """Both in the same form, the second with the columns of the first in its order; MergeError if they differ."""
    b = _ordered(b, a)
    if a.columns is None and b.columns is None and (a.csr is None) == (b.csr is None):
        return a, b
    if a.columns is None and b.columns is None:
        return _dense(a), _dense(b)
    return _columnar(a), _columnar(b)


def _ordered(store: RowStore, first: RowStore) -> RowStore:
    """The columns in the order of another; one that only dicts leave out is missing in all of them."""
    mine, theirs = store.names, first.names
    if mine is None or theirs is None or mine == theirs:
        if store.d != first.d:
            raise MergeError(f"The rows have {first.d} columns in one model and {store.d} in the other.")
        return store
    return in_order(store, theirs, first.container)


def in_order(store: RowStore, theirs: tuple[str, ...], container: Container = "rows") -> RowStore:
    """The columns of a store with names, in this order."""
    mine = store.names
    if mine is None or mine == theirs:
        return store
    extra = [name for name in mine if name not in theirs]
    absent = [name for name in theirs if name not in mine]
    if (extra or absent) and "rows" not in (store.container, container):
        raise MergeError(f"The rows of the two have different columns: {', '.join(map(repr, (*extra, *absent)))}.")
    columns = dict(zip(mine, _columnar(store).columns or (), strict=True))
    nothing = stored_missing(store.n)
    ordered = replace(
        store,
        names=theirs,
        matrix=None,
        csr=None,
        columns=tuple(columns.get(name, nothing) for name in theirs),
    )
    return with_keys(ordered)


def stored_missing(n: int) -> StoredColumn:
    """A column of missing values."""
    return StoredColumn("labels", np.full(n, -1, dtype=np.int32), ())


def _dense(store: RowStore) -> RowStore:
    return store if store.csr is None else replace(store, csr=None, matrix=store.csr.toarray())


def _columnar(store: RowStore) -> RowStore:
    if store.columns is not None:
        return store
    dense = _dense(store)
    assert dense.matrix is not None
    integer = dense.matrix.dtype.kind in "iu"
    columns = tuple(StoredColumn("numbers", x, kind="real", integer=integer) for x in dense.matrix.T)
    return replace(dense, matrix=None, columns=columns)


def _stacked(a: Any, b: Any) -> Any:
    from scipy.sparse import vstack  # who has a sparse matrix has imported it

    return vstack([a, b], format="csr")


def _picked(s: RowStore, at: NDArray[np.intp]) -> RowStore:
    return replace(
        s,
        matrix=None if s.matrix is None else s.matrix[at],
        csr=None if s.csr is None else s.csr[at],
        columns=None if s.columns is None else tuple(c.taken(at) for c in s.columns),
        y=s.y[at],
        w=s.w[at],
        key=s.key[at],
    )


def _sorted(s: RowStore) -> RowStore:
    """In canonical order."""
    return _picked(s, _order(s))


def _order(s: RowStore) -> NDArray[np.intp]:
    """By hash, then by weight."""
    return np.lexsort((s.w, s.key[:, 1], s.key[:, 0]))


# --- hashes -----------------------------------------------------------------------------------------------------------


def _keys(s: RowStore) -> Keys:
    """Two hashes of each row: sums over its columns, so that zeros of a sparse matrix need not be visited."""
    out = np.zeros((s.n, 2), dtype=np.uint64)
    classes = np.array([token(v) for v in s.classes.tolist()], dtype=np.uint64)
    for lane, seed in enumerate(SEEDS):
        out[:, lane] = mixed(classes + np.uint64(seed))[s.y]
        if s.csr is not None:
            terms = _terms(_bits(s.csr.data), s.csr.indices.astype(np.uint64), seed)
            whole = np.concatenate([[np.uint64(0)], np.cumsum(terms, dtype=np.uint64)])
            out[:, lane] += whole[s.csr.indptr[1:]] - whole[s.csr.indptr[:-1]]
            continue
        for j in range(s.d):
            bits = _bits(s.matrix[:, j]) if s.matrix is not None else _column_bits(s.columns[j])  # type: ignore[index]
            out[:, lane] += _terms(bits, np.uint64(j), seed)
    return out


def _terms(bits: Keys, column: Any, seed: int) -> Keys:
    """What a value adds to the hash of its row; 0 for the number 0."""
    with np.errstate(over="ignore"):
        where = (column + np.uint64(1)) * np.uint64(seed)
        return np.where(bits == 0, np.uint64(0), mixed(mixed(bits + np.uint64(seed)) ^ where))


def _bits(values: Array) -> Keys:
    """Numbers by value, whatever their type; −0 is 0."""
    x = values.astype(np.float64) + 0.0
    return np.where(np.isnan(x), np.uint64(MISSING), np.ascontiguousarray(x).view(np.uint64))


def _column_bits(c: StoredColumn) -> Keys:
    if c.form == "numbers":
        return _bits(c.values)
    if c.form == "times":
        return _time_bits(Datetimes(c.values, *c.times))
    own = np.array([*(token(v) for v in c.labels), MISSING], dtype=np.uint64)
    for at, times in written_times(c.labels):  # a row may come from a file, where its date is a string
        own[at] = _time_bits(times)
    return own[c.values]  # −1, missing, reads the last


def _time_bits(times: Datetimes) -> Keys:
    """Times by instant, whatever their unit."""
    return np.where(np.isnat(times.ticks), np.uint64(MISSING), mixed(instants(times).view(np.uint64)) | np.uint64(2))


def token(label: object) -> int:
    """The bits that stand for a label: those of its number, or of a hash of its text."""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, numbers.Real):
        try:
            return int(np.float64(float(label) + 0.0).view(np.uint64))
        except OverflowError:
            pass
    text = label if isinstance(label, str) else f"{type(label).__name__}:{label!r}"
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") | 1


def mixed(x: Array) -> Keys:
    """The finaliser of splitmix64."""
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(x ^ (x >> np.uint64(31)))
