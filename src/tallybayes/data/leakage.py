"""Is the answer among the columns? A few rows of each are compared with y; all of them only where these agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tallybayes.data.raw_column import RawColumn
from tallybayes.data.table import Table
from tallybayes.data.target import Target
from tallybayes.errors import TargetColumnWarning, listing, warn
from tallybayes.utils.array_types import Array

LEAST = 50  # rows below which a column may well be the same as y by chance, or by way of example
LOOKED = 24  # rows that are compared first
PLAIN = (str, bool, int, float)


def tell_target(table: Table, target: Target) -> None:
    """Warns of columns that are the same as y in every row that counts."""
    if table.n < LEAST or table.d < 2 or len(target.classes) < 2 or table.csr is not None:
        return
    found = [table.name(j) for j in _copies(table, target)]
    if found:
        warn(
            f"The same as y in every row: column(s) {listing(found)}. That is the answer itself: leave it out of X, "
            "unless it is known before the class is.",
            TargetColumnWarning,
        )


def _copies(table: Table, target: Target) -> list[int]:
    if table.matrix is not None and target.classes.dtype.kind not in "fiub":
        return []
    at = np.arange(LOOKED) * (table.n - 1) // (LOOKED - 1)  # all different, for LEAST is above LOOKED
    at = at[target.y[at] >= 0]
    want = target.classes[target.y[at]]
    if table.matrix is not None:
        near = (table.matrix[at] == want[:, None]).all(axis=0)
        return [j for j in near.nonzero()[0].tolist() if _agree(table.matrix[:, j], target)]
    labels = want.tolist()
    if not all(type(v) in PLAIN for v in labels):
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
    if column.storage == "moments":
        return False
    return all(_same(_value(column, int(i)), label) for i, label in zip(at, labels, strict=True))


def _same(value: object, label: object) -> bool:
    return type(value) in PLAIN and isinstance(value, str) == isinstance(label, str) and value == label


def _value(column: RawColumn, i: int) -> object:
    """One value as Python has it: of whatever library the column is."""
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
