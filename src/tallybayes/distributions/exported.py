"""Parameters as plain JSON values: what `export` of a distribution gives. The forms are in docs/model-json.md.

A number of minus infinity, which JSON does not have, is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tallybayes.utils.array_types import Array

Json = Any  # None, bool, int, float, str, list or dict of these
Exported = dict[str, Json]
NUMBER, CODE = "number", "code"
MAX_EXPORTED_NUMBERS = 4_000_000  # of one term


def plain(a: Array) -> Json:
    """Nested lists of an array, None for minus infinity."""
    found = np.asarray(a)
    if found.dtype.kind == "f" and np.isneginf(found).any():
        whole = found.astype(object)
        whole[np.isneginf(found)] = None
        return whole.tolist()
    if found.dtype == np.float32:  # as the numbers that they are, not as the shortest that round to them
        found = found.astype(np.float64)
    return found.tolist()


def cut_at(points: Sequence[float]) -> Json:
    """A column that is read as the number of cuts that are at most its value."""
    return {"cuts": [float(v) for v in points]}


def reads_of(columns: int, reals: int) -> Json:
    """Codes, and numbers in the last columns."""
    return [CODE] * (columns - reals) + [NUMBER] * reals


def too_large(numbers: int) -> str | None:
    """A sentence if these are more numbers than are written."""
    if numbers <= MAX_EXPORTED_NUMBERS:
        return None
    told = f"its tables hold {numbers:,} numbers; at most {MAX_EXPORTED_NUMBERS:,} are written"
    return f"{told}. Use fewer levels, columns or parents"
