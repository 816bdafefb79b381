"""Which distribution looks after which columns: the terms of a model, before and after they are counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes import _core
from tallybayes.data.schema import KINDS, Schema
from tallybayes.distributions import Distribution, distribution
from tallybayes.distributions.base import same_statistics
from tallybayes.errors import OptionError, TableError

AUTO = "auto"  # chosen for each column by model/distribution_selection.py
BY_KIND = {"real": AUTO, "categorical": "categorical", "binary": "bernoulli", "count": "poisson", "text": "words"}
UNCHOSEN = {"real": "gaussian", "count": "poisson"}  # where nothing was chosen: too few rows, or an earlier version


@dataclass(frozen=True)
class Term:
    """One distribution on its columns.

    Parameters
    ----------
    distribution : Distribution
        Who looks after the columns.
    columns : tuple of int
        Their positions in the schema.
    sums : record or dict of arrays, default=None
        What was counted, once it was.
    params : params of the distribution, default=None
        Its parameters, once they are estimated.
    """

    distribution: Distribution
    columns: tuple[int, ...]
    statistics: Any = None
    params: Any = None


def assign(schema: Schema, chosen: object, options: Mapping[str, object]) -> tuple[Term, ...]:
    """Columns by distribution: what the user chose, else by kind.

    chosen: None, one distribution (for every numeric column), or a dict from column or kind to distribution.
    options: parameters of the estimator that a distribution given by name takes over (alpha, ddof, …).
    """
    by_kind, by_column = _choices(schema, chosen, options)
    made: dict[object, Distribution] = {}
    members: dict[object, list[int]] = {}
    for j, kind in enumerate(schema.kinds):
        what = by_column.get(j, by_kind[kind])
        if isinstance(what, str) and what == AUTO and kind in UNCHOSEN:
            what = schema.chosen[j].name if j in schema.chosen else UNCHOSEN[kind]
        key: Any = what if isinstance(what, str) else id(what)
        if key not in made:
            made[key] = distribution(what, options)
        found = made[key]
        if found.one_column:
            key = (key, j)
            made[key] = found
        if kind not in found.kinds:
            to = found.kinds[0]
            change = f"change the kind with schema={{{schema.name(j)!r}: {to!r}}}"
            if kind in ("categorical", "text") and to in ("real", "count"):  # to call words numbers would not do
                change = "give numbers there"
            raise OptionError(
                f"Column {schema.name(j)!r} is {kind}; the distribution {found.name!r} takes "
                f"{' or '.join(found.kinds)} columns. Choose another, such as {BY_KIND[kind]!r}, or {change}."
            )
        members.setdefault(key, []).append(j)
    return tuple(Term(made[key], tuple(columns)) for key, columns in members.items())


def to_choose(schema: Schema, chosen: object, options: Mapping[str, object]) -> list[int]:
    """The columns whose distribution is to be chosen, and is not yet."""
    by_kind, by_column = _choices(schema, chosen, options)
    asked = [by_column.get(j, by_kind[kind]) for j, kind in enumerate(schema.kinds)]
    return [
        j
        for j, (what, kind) in enumerate(zip(asked, schema.kinds, strict=True))
        if isinstance(what, str) and what == AUTO and kind in UNCHOSEN and j not in schema.chosen
    ]


def _choices(
    schema: Schema, chosen: object, options: Mapping[str, object]
) -> tuple[dict[str, object], dict[int, object]]:
    """What is asked for by kind, and by column."""
    by_kind: dict[str, object] = dict(BY_KIND)
    by_column: dict[int, object] = {}
    if isinstance(chosen, Mapping):
        at = {name: j for j, name in enumerate(schema.names or ())}
        for key, value in chosen.items():
            if key in KINDS and key not in at:
                by_kind[key] = value
            else:
                by_column[at[key] if key in at else schema.position(key)] = value
    elif isinstance(chosen, str) and chosen == AUTO:
        by_kind.update(dict.fromkeys(UNCHOSEN, AUTO))
    elif chosen is not None:
        one = distribution(chosen, options)
        numeric = [kind for kind in one.kinds if kind in ("real", "count", "text")]
        if not numeric:
            raise OptionError(
                f"The distribution {one.name!r} takes {' or '.join(one.kinds)} columns, not numbers. Name the columns "
                f"it is for: distributions={{'column': {one.name!r}}}."
            )
        by_kind.update(dict.fromkeys(numeric, chosen))
    return by_kind, by_column


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
