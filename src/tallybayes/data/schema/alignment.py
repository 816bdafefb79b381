"""A table in the column order of a schema, matched by name or by position."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tallybayes.data.expansion import expand, expand_table
from tallybayes.data.raw_column import RawColumn
from tallybayes.data.schema.columns import Schema
from tallybayes.data.table import Table
from tallybayes.errors import OptionError, TableError, did_you_mean, listing


def align(table: Table, schema: Schema, who: str = "this model") -> Table:
    """The expanded table in the schema's column order; refuses missing and unexpected columns."""
    if table.names is not None and table.names == schema.names:  # a table that is aligned already, too
        return table
    expected = schema.input_names
    if table.names is not None and (expected is not None or table.container == "rows"):
        if table.container == "rows" and expected is None:
            expected = tuple(f"x{j}" for j in range(schema.n_inputs))
        assert expected is not None
        return _by_name(table, schema, expected)
    if table.d != schema.n_inputs:
        raise TableError(f"X has {table.d} features, but {who} is expecting {schema.n_inputs} features as input.")
    if schema.expansion is None:
        return table
    return expand_table(in_columns(table), schema.expansion)


def _by_name(table: Table, schema: Schema, expected: tuple[str, ...]) -> Table:
    """Match by name. A date may come as its parts; an identifier, and any key of a dict, may be absent."""
    assert table.names is not None
    assert table.columns is not None
    expansion = schema.input_columns
    parts = {name: g.columns(j) for j, (name, g) in enumerate(zip(expected, expansion, strict=True))}
    _check_names(table, parts, schema.extra)
    at = dict(zip(table.names, table.columns, strict=True))
    absent = RawColumn(np.full(table.n, np.nan), "numbers", "real")
    columns: list[RawColumn] = []
    for name, g in zip(expected, expansion, strict=True):
        if name in at:
            columns += expand([at[name]], [g if g.name is not None else replace(g, name=name)])
        else:
            columns += [at.get(part, absent) for part in parts[name]]
    names = schema.names or expected
    return replace(table, d=len(names), names=names, columns=tuple(columns))


def _check_names(table: Table, parts: Mapping[str, tuple[str, ...]], extra: bool) -> None:
    """Refuse missing and unexpected names. parts: expanded names by column; extra: others may be there."""
    there = dict.fromkeys(table.names or ())
    known = {*parts, *(part for own in parts.values() for part in own)}
    surplus = [] if extra else sorted(name for name in there if name not in known)
    if table.container == "rows":
        if surplus:
            raise TableError(
                f"The rows have keys that were not there at fit: {listing(surplus)}. model.ignore_extra() leaves "
                f"such keys out.{did_you_mean(surplus[0], [name for name in parts if name not in there])}"
            )
        return
    missing = sorted(name for name, own in parts.items() if name not in there and not there.keys() >= set(own))
    if surplus or missing:
        _refuse_names(surplus, missing)


def _refuse_names(surplus: list[str], missing: list[str]) -> None:
    message = "The feature names should match those that were passed during fit.\n"
    for head, names in (("unseen at fit time", surplus), ("seen at fit time, yet now missing", missing)):
        if names:
            shown = "".join(f"- {name}\n" for name in names[:5]) + ("- ...\n" if len(names) > 5 else "")
            message += f"Feature names {head}:\n{shown}"
    hints = {name: did_you_mean(name, missing) for name in surplus[:20]}
    near = next((f"{name!r} was not there at fit.{hint}" for name, hint in hints.items() if hint), None)
    if near is not None:
        message += near
    elif missing:
        message += "Give each column that is missing; one of which nothing is known may hold NaN or None in every row."
    else:
        message += "Leave such columns out, or say model.ignore_extra(), which does."
    raise TableError(message)


def in_columns(table: Table) -> Table:
    """A matrix as a table of columns."""
    if table.columns is not None:
        return table
    if table.matrix is None:
        raise OptionError("A sparse matrix has no dates and no ids: leave such columns out.")
    columns = tuple(RawColumn(table.matrix[:, j], "numbers", "real") for j in range(table.d))
    return replace(table, matrix=None, columns=columns)
