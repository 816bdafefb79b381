"""Table → numbers (numeric.py), codes (codes.py) and words (to_words.py) that the kernels read.

What already has the right form is not copied.
"""

import numpy as np

from tallybayes import _core
from tallybayes.data.encoding.codes import (
    MISSING,
    RAW_LIMIT,
    UNSEEN,
    Coded,
    Codes,
    coded,
    cut_codes,
    cut_numbers,
    integer_columns,
    level_codes,
    levels,
)
from tallybayes.data.encoding.numeric import CUT, MAX_BINS, Numbers, Sparse, find_cuts, learn_cuts, numbers
from tallybayes.data.encoding.to_words import Splitting, Texts, texts, word_sums, words

__all__ = [
    "CUT",
    "MAX_BINS",
    "MISSING",
    "RAW_LIMIT",
    "UNSEEN",
    "Coded",
    "Codes",
    "Data",
    "Numbers",
    "Sparse",
    "Splitting",
    "Texts",
    "coded",
    "cut_codes",
    "cut_numbers",
    "find_cuts",
    "integer_columns",
    "learn_cuts",
    "level_codes",
    "levels",
    "numbers",
    "rows_of",
    "texts",
    "word_sums",
    "words",
]

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
