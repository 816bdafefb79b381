"""Table → numbers and codes that the kernels read, without copying what already has the right form.

encoded.py has the result types; encoders.py makes numbers and codes, to_words.py the words of texts.
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
    rows_of,
)
from tallybayes.data.encoding.encoders import (
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
    numbers,
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
