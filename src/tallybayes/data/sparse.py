"""Reading sparse matrices of any format: checked once, then CSR with sorted indices and each cell stored once.

The arrays of a scipy matrix can be overwritten, and scipy follows their indices unchecked. So nothing is converted
before every index is known to lie inside the matrix. The caller's matrix is not changed; its arrays are shared where
they already have the right form.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes import _core
from tallybayes.data.raw_column import complex_numbers
from tallybayes.errors import TableError
from tallybayes.utils.array_types import Array


def read_sparse(X: Any) -> Any:
    """A csr_matrix of float64, float32, int64 or int32 with sorted indices and no cell twice."""
    if X.ndim != 2:
        raise TableError(f"Expected 2D array, got a sparse array with {X.ndim} dimension(s) instead.")
    if X.dtype.kind == "c":
        raise complex_numbers("got a sparse matrix of complex numbers")
    if X.dtype.kind not in "fiub":
        raise TableError(f"Got a sparse matrix of type {X.dtype}. Allowed: numbers and booleans.")
    n, d = X.shape
    if n == 0 or d == 0:
        what = "sample" if n == 0 else "feature"
        raise TableError(f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 is required.")
    try:
        return _canonical(*_rows(X))
    except TableError:
        raise
    except (ValueError, TypeError, IndexError, OverflowError) as e:  # from scipy itself
        raise _unsound(X, str(e)) from None


def _rows(X: Any) -> tuple[Any, bool]:
    """The matrix in CSR after its indices are checked, and whether each row's indices are known to rise."""
    if X.format in ("csr", "csc", "bsr"):
        rising = _check_compressed(X)
        return (X, rising) if X.format == "csr" else (X.tocsr(), False)
    if X.format == "lil":  # joins its lists as they are
        csr = X.tocsr()
        return csr, _check_compressed(csr)
    coo = X.tocoo()
    if not len(coo.data) == len(coo.row) == len(coo.col):
        raise _unsound(
            X, f"it has {len(coo.data)} stored values, {len(coo.row)} rows and {len(coo.col)} columns of them"
        )
    for what, index, size in (("row", coo.row, X.shape[0]), ("column", coo.col, X.shape[1])):
        bad = _outside(np.asarray(index), size)
        if bad is not None:
            raise _unsound(X, f"stored value {bad} is in {what} {index[bad]} of {size}")
    return coo.tocsr(), False


def _check_compressed(X: Any) -> bool:
    """Whether the indices of each line rise."""
    block = X.blocksize if X.format == "bsr" else (1, 1)
    lines, width = X.shape[0] // block[0], X.shape[1] // block[1]
    one, other = "row", "column"
    if X.format == "csc":
        lines, width, one, other = width, lines, other, one
    starts, index = np.asarray(X.indptr), np.asarray(X.indices)
    if starts.ndim != 1 or index.ndim != 1 or starts.dtype.kind not in "iu" or index.dtype.kind not in "iu":
        raise _unsound(X, "its indices are not flat arrays of integers")
    used = int(starts[-1]) if len(starts) == lines + 1 else -1
    if not 0 <= used <= min(len(index), len(X.data)):
        raise _unsound(X, f"its indptr does not lead from 0 to its {len(X.data)} stored values in {lines} steps")
    kind = starts.dtype if starts.dtype == index.dtype and starts.dtype in (np.int32, np.int64) else np.int64
    index = np.ascontiguousarray(index[:used], dtype=kind)
    starts = np.ascontiguousarray(starts, dtype=kind)
    try:
        return _core.check_csr(_core.Csr(index, index, starts, width))
    except ValueError as e:
        bad = _outside(index, width)
        if bad is None or (np.diff(starts) < 0).any():
            raise _unsound(X, str(e)) from None
        line = int(np.searchsorted(starts, bad, side="right")) - 1
        raise _unsound(X, f"{one} {line} has a value in {other} {index[bad]} of {width}") from None


def _outside(index: Array, size: int) -> int | None:
    """Position of the first index out of range."""
    bad = (index < 0) | (index >= size)
    return int(np.argmax(bad)) if bad.any() else None


def _unsound(X: Any, why: str) -> TableError:
    return TableError(
        f"The sparse matrix (format {X.format!r}, shape {X.shape}) is not sound: {why}. Make it anew from its rows and "
        "columns, and leave its arrays as they are."
    )


def _canonical(csr: Any, rising: bool) -> Any:
    import scipy.sparse

    arrays = tuple(np.ascontiguousarray(a) for a in (csr.data, csr.indices, csr.indptr))
    own = scipy.sparse.csr_matrix(arrays, shape=csr.shape)  # shares them, without cached flags
    if own.dtype not in (np.float64, np.float32, np.int64, np.int32):
        own = own.astype(np.float64)
    if rising:
        own.has_canonical_format = True  # or scipy would check again
    if not own.has_canonical_format:
        own = own.astype(np.float64) if own.dtype.kind == "i" else own.copy()  # a sum of integers may not fit
        own.sum_duplicates()
    return own
