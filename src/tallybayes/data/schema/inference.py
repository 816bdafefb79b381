"""Column kinds from the types of a table and from what the user declares (schema=)."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from tallybayes.data.column_kinds import looks_like_date, looks_like_id, looks_like_text, mostly_repeats
from tallybayes.data.expansion import Expansion, expand_table, expansion_of
from tallybayes.data.raw_column import RawColumn
from tallybayes.data.schema.alignment import align, in_columns
from tallybayes.data.schema.columns import KINDS, Kind, Schema
from tallybayes.data.table import Table
from tallybayes.errors import IdentifierColumnWarning, OptionError, TableError, TextColumnWarning, brief, listing, warn
from tallybayes.utils.array_types import Array

DECLARABLE: tuple[str, ...] = (*KINDS, "date", "id")  # what schema= may declare; the last two are resolved before kinds
MAX_AMBIGUOUS_VALUES = 12  # an integer column with at most this many values might be categories


def infer_schema(
    table: Table,
    declared: object,
    default: Kind = "real",
    reads_text: bool = False,
    who: str = "this model",
    counted: Array | None = None,
) -> Schema:
    """The schema of the first rows. who: the model's name; counted: rows of positive weight (None: all)."""
    if isinstance(declared, Schema):
        align(table, declared)  # raises if it does not fit
        _check_text(declared, reads_text, who)
        return replace(declared, container=table.container)
    if table.d == 0:
        raise TableError(f"Found {table.n} dict(s) with 0 feature(s) while a minimum of 1 is required.")
    all_count = counted is None or bool(counted.all())  # else the first rows are others
    repeating = {id(c) for c in table.columns or () if all_count and mostly_repeats(c)}
    words, columns = _expansion(table, _by_column(declared, table.d), counted, repeating)
    if columns is not None:
        table = expand_table(in_columns(table), columns)
    schema = Schema(_kinds(table, default), table.names, table.container, expansion=columns)
    said = _declared_kinds(schema, words)
    said |= _texts(table, schema, said, reads_text, who, repeating)
    if said:
        schema = replace(schema, kinds=tuple(said.get(j, kind) for j, kind in enumerate(schema.kinds)))
    if said or table.columns is not None:  # the columns of a matrix are all of one kind, which is no text
        _check_text(schema, reads_text, who)
    return replace(schema, ambiguous=_ambiguous(table, schema, said))


def _by_column(declared: object, d: int) -> Mapping[object, object]:
    """What schema= says, as a dict."""
    if declared is None or isinstance(declared, str):
        return {} if declared is None else dict.fromkeys(range(d), declared)
    if not isinstance(declared, Mapping):
        raise OptionError(f"schema must be a kind, a dict of kinds or a Schema; got {type(declared).__name__}.")
    return declared


def _expansion(
    table: Table, said: Mapping[object, object], counted: Array | None, repeating: Container[int]
) -> tuple[Mapping[object, object], tuple[Expansion, ...] | None]:
    """Declared kinds of the expanded columns, and the expansion; None if there is nothing to expand."""
    own = _declared_inputs(table, said)
    if table.columns is None:
        if not {"date", "id"} & set(own.values()):
            return said, None
        table = in_columns(table)
    found = _becomes(table, own, counted, repeating)
    if all(g.what == "column" for g in found):
        return said, None
    rest = {key: kind for key, kind in said.items() if _place(table, key) is None}  # parts, or unknown columns
    rest |= {found[j].columns(j)[0]: kind for j, kind in own.items() if kind not in ("date", "id")}
    return rest, found


def _becomes(
    table: Table, own: Mapping[int, object], counted: Array | None, repeating: Container[int]
) -> tuple[Expansion, ...]:
    """The expansion of each column; warns of identifiers that nobody declared."""
    assert table.columns is not None
    names = table.names or [None] * table.d
    found = tuple(
        Expansion(name, "column")
        if j not in own and id(column) in repeating
        else _of_column(column, name, j, own.get(j), counted)
        for j, (column, name) in enumerate(zip(table.columns, names, strict=True))
    )
    if all(g.what == "id" for g in found):
        shown = [table.name(j) for j in range(table.d)]
        raise TableError(
            f"Nearly every row has a distinct value in every column ({listing(shown)}): "
            f"nothing can be learned about other rows. schema={{{table.name(0)!r}: 'categorical'}} takes one as it is."
        )
    ids = [j for j, g in enumerate(found) if g.what == "id" and j not in own]
    if ids:
        dates = [table.name(j) for j in ids if looks_like_date(table.columns[j])]
        _warn_ids([table.name(j) for j in ids], dates)
    return found


def _of_column(column: RawColumn, name: str | None, j: int, said: object, counted: Array | None) -> Expansion:
    if said == "date" or (column.storage == "datetimes" and said in (None, "real", "count")):
        return expansion_of(column, name, j, said, counted)
    names_rows = said == "id" or (said is None and looks_like_id(column, counted))
    return Expansion(name, "id" if names_rows else "column")


def _declared_inputs(table: Table, said: Mapping[object, object]) -> dict[int, object]:
    """Declared kinds of input columns, by position."""
    for column, kind in said.items():
        if kind not in DECLARABLE:
            allowed = ", ".join(DECLARABLE)
            raise OptionError(f"Column {brief(column)} was given the kind {brief(kind)}. Allowed: {allowed}.")
    places = {key: _place(table, key) for key in said}
    return {j: said[key] for key, j in places.items() if j is not None}


def _place(table: Table, column: object) -> int | None:
    try:
        return Schema(tuple("real" for _ in range(table.d)), table.names).position(column)
    except OptionError:
        return None


def _warn_ids(names: Sequence[str], dates: Sequence[str]) -> None:
    read = f" schema={{{dates[0]!r}: 'date'}} reads {dates[0]!r} as dates." if dates else ""
    warn(
        f"Column(s) {listing(names, most=20)}: nearly every row has a distinct value, from which nothing can be "
        f"learned about other rows. They are left out; schema={{{names[0]!r}: 'id'}} says so without this warning, "
        f"schema={{{names[0]!r}: 'categorical'}} takes them as they are.{read}",
        IdentifierColumnWarning,
    )


def _kinds(table: Table, default: Kind) -> tuple[Kind, ...]:
    """Kinds by type. default: the kind of numbers."""
    if table.columns is not None:
        return tuple(_kind(c, default) for c in table.columns)
    truth = table.matrix is not None and table.matrix.dtype == bool and default == "real"
    return ("binary" if truth else default,) * table.d


def _kind(column: RawColumn, default: Kind) -> Kind:
    """A column of datetimes that is not expanded was declared to be categorical."""
    return default if column.kind == "real" else "categorical" if column.kind == "date" else column.kind


def _declared_kinds(schema: Schema, declared: Mapping[object, object]) -> dict[int, Kind]:
    """Declared kinds, by position."""
    found = {schema.position(column): cast(Kind, kind) for column, kind in declared.items()}
    for column, kind in declared.items():
        if kind not in KINDS:  # a part of a date is neither a date nor an id
            raise OptionError(f"Column {brief(column)} was given the kind {brief(kind)}. Allowed: {', '.join(KINDS)}.")
    return found


def _texts(
    table: Table, schema: Schema, said: Mapping[int, Kind], reads_text: bool, who: str, repeating: Container[int]
) -> Mapping[int, Kind]:
    """Undeclared columns that look like text: text where the model reads it, else categories with a warning."""
    if table.columns is None:
        return {}
    left = [(j, c) for j, c in enumerate(table.columns) if j not in said and id(c) not in repeating]
    found = [j for j, column in left if looks_like_text(column)]
    if found and not reads_text:
        _warn_text([schema.name(j) for j in found], who)
    return dict.fromkeys(found, "text" if reads_text else "categorical")


def _warn_text(names: Sequence[str], who: str) -> None:
    warn(
        f"Column(s) that look like text: {listing(names)}. {who} takes each text as a category, and learns little from "
        "texts that hardly repeat; NaiveBayes and BayesClassifier read the words. "
        f"schema={{{names[0]!r}: 'categorical'}} says that categories are meant.",
        TextColumnWarning,
    )


def _check_text(schema: Schema, reads_text: bool, who: str) -> None:
    if "text" in schema.kinds and not reads_text:
        name = schema.name(schema.kinds.index("text"))
        raise OptionError(
            f"Column {name!r} is text, which {who} does not read; NaiveBayes and BayesClassifier do. "
            f"schema={{{name!r}: 'categorical'}} takes each text as a category."
        )


def _ambiguous(table: Table, schema: Schema, said: Mapping[int, Kind]) -> tuple[int, ...]:
    """Undeclared integer columns that may be categories."""
    if table.columns is None and (table.matrix is None or table.matrix.dtype.kind not in "iu"):
        return ()  # there may be very many columns
    return tuple(j for j, kind in enumerate(schema.kinds) if j not in said and kind == "real" and _may_be(table, j))


def _may_be(table: Table, j: int) -> bool:
    if table.columns is not None:
        return table.columns[j].integer and _few(table.columns[j].values)
    assert table.matrix is not None
    return _few(table.matrix[:, j])


def _few(values: Array) -> bool:
    some = values[:10_000]
    found = len(set(some.tolist())) if some.dtype == object else len(np.unique(some))
    return found <= MAX_AMBIGUOUS_VALUES and 2 * found < len(values)
