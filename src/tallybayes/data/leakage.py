"""Target leakage: a column equal to y. A few rows are compared first, all of them only where these agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tallybayes.data.labels import Target
from tallybayes.data.raw_column import RawColumn
from tallybayes.data.table import Table
from tallybayes.errors import TargetColumnWarning, listing, warn
from tallybayes.utils.array_types import Array

MIN_ROWS = 50  # below it a column may equal y by chance
COMPARED_FIRST = 24  # rows
COMPARABLE = (str, bool, int, float)


def warn_about_leakage(table: Table, target: Target) -> None:
    """Warn of columns that equal y in every row of positive weight."""
    if table.n < MIN_ROWS or table.d < 2 or len(target.classes) < 2 or table.csr is not None:
        return
    found = [table.name(j) for j in _copies(table, target)]
    if found:
        warn(
            f"The same as y in every row: column(s) {listing(found)}. This is target leakage: leave it out of X, "
            "unless it is known before the class is.",
            TargetColumnWarning,
        )


def _copies(table: Table, target: Target) -> list[int]:
    if table.matrix is not None and target.classes.dtype.kind not in "fiub":
        return []
    at = np.arange(COMPARED_FIRST) * (table.n - 1) // (COMPARED_FIRST - 1)  # all distinct: MIN_ROWS > COMPARED_FIRST
    at = at[target.y[at] >= 0]
    want = target.classes[target.y[at]]
    if table.matrix is not None:
        near = (table.matrix[at] == want[:, None]).all(axis=0)
        return [j for j in near.nonzero()[0].tolist() if _agree(table.matrix[:, j], target)]
    labels = want.tolist()
    if not all(type(v) in COMPARABLE for v in labels):
        return []
    return [
        j
        for j, column in enumerate(table.columns or ())
        if _near(column, at, labels) and _agree(_whole(column), target)
    ]


def _agree(values: Array, target: Target) -> bool:
    here = target.y >= 0
    return bool(np.array_equal(values[here], target.classes[target.y[here]]))


def _whole(column: RawColumn) -> Array:
    return np.asarray(column.values) if column.storage == "numbers" else np.array(column.plain(), dtype=object)


def _near(column: RawColumn, at: Array, labels: Sequence[object]) -> bool:
    if column.storage == "datetimes":
        return False
    return all(_same(_value(column, int(i)), label) for i, label in zip(at, labels, strict=True))


def _same(value: object, label: object) -> bool:
    return type(value) in COMPARABLE and isinstance(value, str) == isinstance(label, str) and value == label


def _value(column: RawColumn, i: int) -> object:
    """One value as a Python object, of a column of any library."""
    values: Any = column.values
    if column.storage == "coded":
        assert column.declared is not None
        code = int(values[i])
        return None if code < 0 else column.declared[code]
    value = values.iloc[i] if hasattr(values, "iloc") else values[i]
    for plain in ("as_py", "item"):
        if hasattr(value, plain):
            return getattr(value, plain)()
    return value
