"""What distributions read: numbers, codes, sparse counts, joint codes, or texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.schema import Levels
from tallybayes.utils.array_types import Array
from tallybayes.utils.cached import cached_property

MISSING, UNSEEN = -1, -2
WIDE_BLOCK = 32  # rows of a sparse table that are made dense at once, however many columns it has


@dataclass(frozen=True)
class Numbers:
    """Numeric columns: one matrix (and which of its columns), or separate arrays. NaN is missing.

    Parameters
    ----------
    matrix : ndarray or None
        A matrix of numbers.
    which : tuple of int or None
        Which of its columns; None takes all.
    arrays : tuple of ndarrays, default=()
        The columns, where there is no matrix.
    """

    matrix: Array | None
    which: tuple[int, ...] | None
    arrays: tuple[Array, ...] = ()

    columns: _core.Columns = field(init=False, repr=False, compare=False)  # the same, as compiled code reads them
    n: int = field(init=False, compare=False)  # rows
    d: int = field(init=False, compare=False)  # columns

    def __post_init__(self) -> None:
        whole = _core.Columns(list(self.arrays) if self.matrix is None else self.matrix)
        columns = whole if self.which is None else whole.select(list(self.which))
        vars(self).update(columns=columns, n=int(columns.n), d=int(columns.d))

    def block(self, span: slice) -> NDArray[np.float64]:
        """Some rows as float64.

        Parameters
        ----------
        span : slice
            Which rows.

        Returns
        -------
        ndarray of shape (columns, rows)
            Their numbers.
        """
        if self.matrix is None:
            return np.stack([np.asarray(a[span], dtype=np.float64) for a in self.arrays])
        part = self.matrix[span] if self.which is None else self.matrix[span][:, list(self.which)]
        return np.ascontiguousarray(part.T, dtype=np.float64)

    def column(self, j: int) -> NDArray[np.float64]:
        """A column as float64, for distributions written in NumPy.

        Parameters
        ----------
        j : int
            Its place among these.

        Returns
        -------
        ndarray of shape (n,)
            NaN where missing.
        """
        if self.matrix is None:
            return np.asarray(self.arrays[j], dtype=np.float64)
        return np.asarray(self.matrix[:, j if self.which is None else self.which[j]], dtype=np.float64)


@dataclass(frozen=True)
class Codes:
    """Integer codes: −1 missing, −2 unseen.

    Parameters
    ----------
    columns : Columns of the core
        The codes of each column.
    raw : bool, default=False
        Whether they are the table's own non-negative integers.
    """

    columns: _core.Columns
    raw: bool = False

    @property
    def n(self) -> int:
        """int: number of rows."""
        return int(self.columns.n)


@dataclass(frozen=True)
class Sparse:
    """A compressed sparse matrix of numbers; entries that are not stored are zero.

    Parameters
    ----------
    csr : scipy sparse matrix
        The numbers.
    """

    csr: Any

    @cached_property
    def view(self) -> _core.Csr:
        """Csr of the core: the same numbers, as compiled code reads them."""
        return _core.Csr(self.csr.data, self.csr.indices, self.csr.indptr, self.csr.shape[1])

    @property
    def n(self) -> int:
        """int: number of rows."""
        return int(self.csr.shape[0])

    @property
    def d(self) -> int:
        """int: number of columns."""
        return int(self.csr.shape[1])

    def distinct(self) -> Sparse:
        """The same with each cell stored once, for what is not linear in x.

        Returns
        -------
        Sparse
            With the same numbers.
        """
        if self.csr.has_canonical_format:
            return self
        csr = self.csr.copy()
        csr.sum_duplicates()
        return Sparse(csr)

    def dense_blocks(self, cells: int = 1 << 20) -> Iterator[tuple[slice, Numbers]]:
        """Row blocks as dense numbers, one after the other, for distributions that have no sparse form.

        Parameters
        ----------
        cells : int, default=1 << 20
            About how many numbers a block has; of a very wide table more, since each block costs what a row costs.

        Returns
        -------
        iterator of (slice, Numbers)
            Which rows, and their numbers.
        """
        n, d = self.csr.shape
        step = max(WIDE_BLOCK, cells // max(1, d))
        for i in range(0, n, step):
            span = slice(i, min(n, i + step))
            yield span, Numbers(self.csr[span].toarray(), None)


@dataclass(frozen=True)
class Coded:
    """Codes of columns of several types, for distributions over combinations of levels.

    Parameters
    ----------
    parts : tuple of (Codes, tuple of int)
        Codes, and which columns of the group they are.
    sizes : ndarray of int64
        Number of levels of each column in the schema (0: the table's own integers).
    n : int
        Number of rows.
    reals : Numbers, default=None
        The last columns of the group, where they stay numbers.
    known : tuple of Levels or None, default=()
        The labels behind the codes, None for intervals and for the table's own integers.
    """

    parts: tuple[tuple[Codes, tuple[int, ...]], ...]
    sizes: NDArray[np.int64]
    n: int
    reals: Numbers | None = None
    known: tuple[Levels | None, ...] = ()

    def reordered(self, order: NDArray[np.intp]) -> Coded:
        """The same columns in another order; none of them stays a number.

        Parameters
        ----------
        order : ndarray of int, of shape (columns,)
            The place of the first column, of the second, ….

        Returns
        -------
        Coded
            The columns in this order.
        """
        assert self.reals is None
        place = np.argsort(order)
        parts = []
        for codes, at in self.parts:
            to = place[list(at)]
            own = np.argsort(to)
            parts.append((Codes(codes.columns.select(own.tolist()), codes.raw), tuple(to[own].tolist())))
        known = tuple(self.known[j] for j in order.tolist()) if self.known else ()
        return Coded(tuple(parts), self.sizes[order], self.n, None, known)


@dataclass(frozen=True)
class Texts:
    """A column of texts whose words are read block by block.

    Parameters
    ----------
    held : Texts of the core
        The texts.
    words : Levels
        The vocabulary.
    cells : int
        Number of hashed cells for other words.
    count : callable
        Makes the word counts, on demand.
    """

    held: _core.Texts
    words: Levels
    cells: int
    count: Callable[[], Sparse]

    @cached_property
    def counted(self) -> Sparse:
        """Sparse: the same as counts of words."""
        return self.count()

    @property
    def n(self) -> int:
        """int: number of rows."""
        return len(self.held)


Data = Numbers | Codes | Sparse | Coded | Texts
MAX_CODE = 2**31 - 1


def rows_of(data: Data, span: slice) -> Data:
    """Some rows of the same data, span.start ≤ span.stop ≤ n. Unseen codes come out as missing ones."""
    if isinstance(data, Texts):
        return Sparse(data.counted.csr[span])
    if isinstance(data, Sparse):
        return Sparse(data.csr[span])
    if isinstance(data, Codes):
        room = np.full(data.columns.d, MAX_CODE, dtype=np.int64)
        packed, _ = _core.pack_codes(data.columns, room, data.raw, span.start, span.stop - span.start)
        missing = packed == np.iinfo(packed.dtype).max
        return Codes(_core.Columns(list(np.where(missing, MISSING, packed.astype(np.int64)))))
    if isinstance(data, Coded):
        parts = tuple((rows_of(codes, span), at) for codes, at in data.parts)
        reals = None if data.reals is None else rows_of(data.reals, span)
        return Coded(parts, data.sizes, span.stop - span.start, reals, data.known)  # type: ignore[arg-type]
    if data.matrix is None:
        return Numbers(None, None, tuple(a[span] for a in data.arrays))
    return Numbers(data.matrix[span], data.which)
