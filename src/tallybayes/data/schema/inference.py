"""What each column is: the kind its values suggest, what the user declares, and the schema that follows."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from tallybayes import _core
from tallybayes.data.datetimes import is_date
from tallybayes.data.expansion import Expansion, expand_table, expansion_of
from tallybayes.data.raw_column import RawColumn
from tallybayes.data.schema.columns import KINDS, Kind, Schema, align, in_columns
from tallybayes.data.table import Table
from tallybayes.errors import IdentifierColumnWarning, OptionError, TableError, TextColumnWarning, brief, listing, warn
from tallybayes.utils.array_types import Array

INSPECTED_VALUES = 2000  # from the top
MIN_WORDS = 3.0  # per value on average for text; less where there are many values
MANY_VALUES = 20  # from which two words per value on average are text
MIN_UNSPACED_LENGTH = 8.0  # characters per value on average for text in a script without spaces
MIN_ROWS = 50  # with a value; fewer say nothing about repetition
ID_SHARE = 0.95  # distinct values per row from which a column is an identifier
LETTERS = re.compile(r"[^\W\d_]")
UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U000323af]"
)


def mostly_repeats(column: RawColumn) -> bool:
    """Whether half of the first values of an Arrow column repeat: then it is neither text nor an identifier."""
    if column.storage != "arrow" or column.kind != "categorical" or len(column.values) < MIN_ROWS:
        return False
    try:
        codes, levels, _ = _core.arrow_codes(column.values[:INSPECTED_VALUES], _core.LevelList(), True)
    except (_core.BadRow, _core.BadValue, TypeError, ValueError):  # the encoder reports it
        return False
    there = np.count_nonzero(np.asarray(codes) >= 0)
    return bool(there >= MIN_ROWS and 2 * len(levels) <= there)


def looks_like_text(column: RawColumn) -> bool:
    """Mostly distinct strings that have letters and spaces, or are long and of a script without spaces."""
    if column.kind == "text":
        return True
    if column.kind != "categorical" or column.storage not in ("arrow", "objects") or column.declared is not None:
        return False
    return is_text(_first(column, column.values, INSPECTED_VALUES))


def is_text(values: list[object]) -> bool:
    """The same for plain values; None is missing."""
    texts: list[str] = values if set(map(type, values)) == {str} else [v for v in values if isinstance(v, str)]  # type: ignore[assignment]
    if 2 * len(set(texts)) <= len(texts) or len(texts) < sum(v is not None for v in values):
        return False
    with_letters = [v for v in texts if LETTERS.search(v)]  # dates and numbers have none
    if 2 * len(with_letters) <= len(texts):
        return False
    unspaced = sum(len(UNSPACED.findall(v)) for v in texts)
    if 2 * unspaced > sum(map(len, texts)):
        return unspaced > MIN_UNSPACED_LENGTH * len(texts) and len(texts) > 1
    return _has_words([len(v.split()) for v in texts])


def _has_words(pieces: list[int]) -> bool:
    """Whether most values have several words, and enough on average. pieces: words per value."""
    n = len(pieces)
    if 2 * sum(k > 1 for k in pieces) <= n:
        return False
    return sum(pieces) / n >= (2 * MIN_WORDS if n == 1 else MIN_WORDS if n < MANY_VALUES else 2.0)


def looks_like_id(column: RawColumn, counted: Array | None = None) -> bool:
    """Strings that are distinct in nearly every row and are no text. counted: rows of positive weight (None: all)."""
    if not _may_be_id(column):
        return False
    values = column.values
    if counted is not None and not counted.all():
        values = _of_rows(values, counted)
    if len(values) < MIN_ROWS:
        return False
    some = [v for v in _first(column, values, INSPECTED_VALUES) if v is not None]
    if len(some) >= MIN_ROWS and len(set(some)) < ID_SHARE * len(some):
        return False
    if any(not isinstance(v, str | bytes) for v in some) or is_text(some):
        return False
    there, distinct = _count_distinct(values, column.storage)
    return there >= MIN_ROWS and distinct >= ID_SHARE * there


def _may_be_id(column: RawColumn) -> bool:
    """Whether it holds labels without an order, which are as many as an identifier has."""
    if column.kind != "categorical" or column.scale is not None or column.storage not in ("arrow", "objects", "coded"):
        return False
    return column.storage != "coded" or column.declared is None or len(column.declared) >= ID_SHARE * MIN_ROWS


def looks_like_date(column: RawColumn) -> bool:
    """Whether the first values are dates in ISO 8601."""
    some = _first(column, column.values, MIN_ROWS)
    return all(v is None or (isinstance(v, str) and is_date(v)) for v in some) and any(v is not None for v in some)


def _first(column: RawColumn, values: Any, most: int) -> list[Any]:
    """The first values as Python objects; none if they cannot be decoded, which the encoder reports."""
    try:
        return RawColumn(values[:most], column.storage, column.kind, declared=column.declared).plain()
    except UnicodeDecodeError:
        return []


def _of_rows(values: Any, rows: Array) -> Any:
    """Some values of a column of any library."""
    if hasattr(values, "iloc"):
        return values[rows]
    if "_view" in str(getattr(values, "type", "")):  # pyarrow filters no views
        values = values.cast("string")
    return values.filter(rows) if hasattr(values, "filter") else values[rows]


def _count_distinct(values: Any, storage: str) -> tuple[int, int]:
    """Number of values and of distinct values."""
    if storage == "coded":
        found = values[values >= 0]
        return len(found), len(np.unique(found))
    if storage == "objects":
        found = [v for v in values.tolist() if v is not None]
        return len(found), len(set(found))
    if hasattr(values, "drop_null"):  # pyarrow
        found = values.drop_null()
        return len(found), len(found.unique())
    found = values.drop_nulls() if hasattr(values, "drop_nulls") else values.dropna()
    return len(found), int(found.n_unique() if hasattr(found, "n_unique") else found.nunique())


DECLARABLE: tuple[str, ...] = (*KINDS, "date", "id")  # what schema= may declare; the last two are resolved before kinds
MAX_AMBIGUOUS_VALUES = 12  # an integer column with at most this many values might be categories


def infer_schema(
    table: Table,
    declared: object,
    default: Kind = "real",
    reads_text: bool = False,
    who: str = "this model",
    counted: Array | None = None,
    declarable: bool = True,
) -> Schema:
    """The schema of the first rows.

    who: the model's name; counted: rows of positive weight (None: all); declarable: whether the model has schema=.
    """
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
    settled = _declared_kinds(schema, words)
    texts = _texts(table, settled, repeating)
    settled |= dict.fromkeys(texts, "text" if reads_text else "categorical")
    if texts and not reads_text and (declarable or default == "categorical"):  # others refuse what is no number
        _warn_text([schema.name(j) for j in texts], who, declarable)
    if settled:
        schema = replace(schema, kinds=tuple(settled.get(j, kind) for j, kind in enumerate(schema.kinds)))
    if settled or table.columns is not None:  # the columns of a matrix are all of one kind, which is no text
        _check_text(schema, reads_text, who)
    return replace(schema, ambiguous=_ambiguous(table, schema, settled))


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
        if not isinstance(kind, str) or kind not in DECLARABLE:
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


def _texts(table: Table, said: Mapping[int, Kind], repeating: Container[int]) -> list[int]:
    """Undeclared columns that look like text."""
    columns = enumerate(table.columns or ())
    return [j for j, column in columns if j not in said and id(column) not in repeating and looks_like_text(column)]


def _warn_text(names: Sequence[str], who: str, declarable: bool) -> None:
    declare = f" schema={{{names[0]!r}: 'categorical'}} says that categories are meant." if declarable else ""
    warn(
        f"Column(s) that look like text: {listing(names)}. {who} takes each text as a category, and learns little from "
        f"texts that hardly repeat; NaiveBayes and BayesClassifier read the words.{declare}",
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
