"""Table → numbers and codes that the kernels read, without copying what already has the right form.

encoded.py has the result types; each of the other modules makes one of them.
"""

from tallybayes.data.encoding.encoded import (
    MISSING,
    UNSEEN,
    Coded,
    Codes,
    Data,
    Numbers,
    Sparse,
    Texts,
    numbers,
    rows_of,
)
from tallybayes.data.encoding.to_codes import (
    CUT,
    RAW_LIMIT,
    coded,
    cut_codes,
    cut_numbers,
    find_cuts,
    integer_columns,
    learn_cuts,
    level_codes,
    levels,
)
from tallybayes.data.encoding.to_words import Splitting, texts, word_sums, words

__all__ = [
    "CUT",
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
