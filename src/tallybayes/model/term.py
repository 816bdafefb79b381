"""Term: a distribution on its columns, with sufficient statistics and parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes import _core
from tallybayes.data.schema import Schema
from tallybayes.distributions import Distribution
from tallybayes.distributions.base import same_statistics
from tallybayes.errors import TableError


@dataclass(frozen=True)
class Term:
    """One distribution on its columns.

    Parameters
    ----------
    distribution : Distribution
        Who looks after the columns.
    columns : tuple of int
        Their positions in the schema.
    statistics : record or dict of arrays, default=None
        What was counted, once it was.
    params : params of the distribution, default=None
        Its parameters, once they are estimated.
    """

    distribution: Distribution
    columns: tuple[int, ...]
    statistics: Any = None
    params: Any = None


def same_shape(a: Sequence[Term], b: Sequence[Term]) -> bool:
    """Do the two look after the same columns in the same way, so that their sums add?"""
    return len(a) == len(b) and all(
        t.columns == u.columns and same_statistics(t.distribution, u.distribution) for t, u in zip(a, b, strict=True)
    )


def refused(e: _core.BadValue, schema: Schema, which: Sequence[int], who: str) -> TableError:
    """A value that a kernel refused, as a sentence with the column's name; who: what messages call the model."""
    why, row, col, value = e.args
    name = schema.name(which[col])
    return TableError(_refusal(why, name, row, value, who), column=name, row=row, value=value)


def _refusal(kind: str, name: str, row: int, value: float, who: str) -> str:
    if kind == "infinite" and np.isnan(value):
        return (
            f"Column {name!r} of the sparse table has NaN (row {row}). What is not stored counts as 0, so a missing "
            "value has no place there; make the table dense, where NaN is missing."
        )
    if kind == "infinite":
        return (
            f"Input X contains infinity: column {name!r} has {value:g} (row {row}). Replace it by a finite number, or "
            "by NaN to mark it missing."
        )
    if kind == "negative":
        return (
            f"Negative values in data passed to {who} (input X): column {name!r} has {value:g} (row {row}). "
            "Counts and shares must be at least 0."
        )
    if kind == "utf8":
        return (
            f"Column {name!r} cannot be read as text: the text is not valid UTF-8 (row {row}). Correct it, or mark it "
            "missing."
        )
    if kind == "overflow":
        return (
            f"Column {name!r} has values of the size of {value:g}, whose squares do not fit into a float64. Rescale "
            "the column."
        )
    return f"Column {name!r} has the code {value:g} (row {row}), which is too large to count directly."
