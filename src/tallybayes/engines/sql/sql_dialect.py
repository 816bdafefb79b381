"""How each database writes SQL. Names are quoted, values are written as literals, nothing is pasted.

A new database is a subclass of `SqlDialect` and an entry of `DIALECTS`. The subclass says what is abstract there, and
whatever else its database writes otherwise: no other module has SQL that depends on the database. To look up in its
manual: how a name is quoted (`quote`), whether a backslash in a text is only a backslash (`text`), whether ROW_NUMBER
wants an order (`row_number`), how text is compared by its bytes (`exact`), NaN and infinity in a column of numbers, and
whether rows that are written out may stand alone in a common table expression (`values`, `relation`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from tallybayes.errors import OptionError, brief


class SqlDialect(ABC):
    """What databases write alike; a subclass says the rest."""

    name: str
    double: str  # the type of a float64
    text_type: str
    fence = ""  # after a subquery that must be evaluated once for each row, not pasted into where it is used
    inner_join = "JOIN"  # of many rows with a table that is looked up
    materialized = ""  # before a common table expression that is computed once
    row_number = "ROW_NUMBER() OVER ()"  # in any order
    refuses_underflow = False  # a product that is too small for a float64 is an error, not 0

    def quote(self, name: str) -> str:
        """A name as a name, whatever is in it."""
        if not isinstance(name, str) or "\x00" in name:
            raise OptionError(f"A table or column has a name that is text without NUL; got {brief(name)}.")
        return '"' + name.replace('"', '""') + '"'

    def table(self, name: str | Sequence[str]) -> str:
        """A table, or (schema, table)."""
        parts = name if isinstance(name, list | tuple) else [name]
        if not parts:
            raise OptionError("A table has a name, or a schema and a name; got none.")
        return ".".join(map(self.quote, parts))

    def text(self, value: str) -> str:
        """Write a text as a literal, where a backslash is only a backslash."""
        if "\x00" in value:
            raise OptionError(f"The label {brief(value)} holds NUL, which SQL text cannot have.")
        return "'" + value.replace("'", "''") + "'"

    def number(self, value: float | None) -> str:
        """A float64; None is minus infinity, as in a model's description."""
        if value is None or math.isinf(value):
            return self.infinite(value is not None and value > 0)
        return self.finite(float(value))

    @abstractmethod
    def finite(self, value: float) -> str:
        """Write a finite float64, in parentheses where it is negative."""

    @abstractmethod
    def infinite(self, positive: bool) -> str:
        """Write an infinity."""

    def label(self, value: object) -> str:
        """A class label."""
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, int):
            return str(value)
        return self.number(value) if isinstance(value, float) else self.text(str(value))

    @abstractmethod
    def as_number(self, expression: str) -> str:
        """A number, NULL if it is missing."""

    def unless_nan(self, expression: str) -> str:
        """A number of whatever type, NULL if it is missing."""
        return f"CASE WHEN {self.as_number(expression)} IS NULL THEN NULL ELSE {expression} END"

    def as_text(self, expression: str) -> str:
        """Cast to text."""
        return f"CAST({expression} AS {self.text_type})"

    @property
    def null_text(self) -> str:
        """A missing text."""
        return f"CAST(NULL AS {self.text_type})"

    def code_text(self, code: str) -> str:
        """A level of whatever type, where levels of several columns stand in one column of a result."""
        return self.exact_text(code)

    @abstractmethod
    def exact(self, text: str) -> str:
        """Text that is compared and grouped by its bytes, whatever the collation of its column."""

    def exact_text(self, expression: str) -> str:
        """Cast to text that is compared by its bytes."""
        return self.exact(self.as_text(expression))

    def truth(self, expression: str) -> str:
        """A boolean as 0 or 1."""
        return f"CAST({expression} AS INTEGER)"

    def not_a_number(self, expression: str) -> list[str]:  # noqa: ARG002
        """Conditions under which `as_number` would hide that a value is no number: the database refuses it itself."""
        return []

    def values(self, rows: Iterable[Sequence[str]]) -> str:
        """A query that gives rows of expressions."""
        return "VALUES " + ", ".join(f"({', '.join(row)})" for row in rows)

    def relation(self, columns: Sequence[str], rows: Sequence[Sequence[float]]) -> str:  # noqa: ARG002
        """A query that gives rows of numbers, perhaps very many; a common table expression names the columns too."""
        return self.values([str(v) if isinstance(v, int) else self.number(v) for v in row] for row in rows)

    def unused(self, name: str, relation: str) -> str:
        """A quoted name that does not occur in a relation, for a common table expression beside it."""
        while self.quote(name)[1:-1] in relation:
            name += "_"
        return self.quote(name)

    def greatest(self, expressions: Sequence[str]) -> str:
        """The largest of several expressions."""
        return expressions[0] if len(expressions) == 1 else f"GREATEST({', '.join(expressions)})"

    @abstractmethod
    def any(self, expression: str) -> str:
        """The value of a group whose rows all have the same."""

    def square(self, expression: str) -> str:
        """The square of an expression."""
        return f"POWER({expression}, 2)"


class UnnestingDialect(SqlDialect):
    """Databases with arrays: each column of many numbers is one text, since they bind long VALUES slowly."""

    materialized = "MATERIALIZED "

    def exact(self, text: str) -> str:
        return f'{text} COLLATE "C"'

    def relation(self, columns: Sequence[str], rows: Sequence[Sequence[float]]) -> str:
        lists = []
        for i, name in enumerate(columns):
            whole = all(isinstance(row[i], int) for row in rows)
            text = ",".join(repr(row[i]) for row in rows)
            lists.append(f"{self.unnested(text, whole)} AS {name}")
        return f"SELECT {', '.join(lists)}"

    @abstractmethod
    def unnested(self, text: str, whole: bool) -> str:
        """Rows from numbers that are separated by commas."""


class DuckdbDialect(UnnestingDialect):
    """DuckDB."""

    name = "duckdb"
    double = "DOUBLE"
    text_type = "VARCHAR"

    def finite(self, value: float) -> str:
        text = repr(value)
        text = text if "e" in text else f"{text}e0"
        return f"({text})" if value < 0 else text

    def infinite(self, positive: bool) -> str:
        return f"CAST('{'' if positive else '-'}Infinity' AS {self.double})"

    def as_number(self, expression: str) -> str:
        number = f"CAST({expression} AS {self.double})"
        return f"CASE WHEN isnan({number}) THEN NULL ELSE {number} END"

    def unnested(self, text: str, whole: bool) -> str:
        return f"UNNEST(CAST(string_split('{text}', ',') AS {'BIGINT' if whole else 'DOUBLE'}[]))"

    def any(self, expression: str) -> str:
        return f"ANY_VALUE({expression})"


class SqliteDialect(SqlDialect):
    """SQLite: any value in any column."""

    name = "sqlite"
    double = "REAL"
    fence = " LIMIT -1"  # of two queries with a limit, one is not pasted into the other
    text_type = "TEXT"
    materialized = "MATERIALIZED "
    inner_join = "CROSS JOIN"  # which says that the left side is the outer loop
    null_text = "NULL"

    def infinite(self, positive: bool) -> str:
        return "9e999" if positive else "(-9e999)"

    def finite(self, value: float) -> str:
        return f"({value!r})" if value < 0 else repr(value)

    def label(self, value: object) -> str:
        return str(int(value)) if isinstance(value, bool) else super().label(value)

    def as_number(self, expression: str) -> str:
        # A comparison with a number turns text into one only where it is one as a whole; CAST reads '' as 0.
        number = f"{expression} = CAST({expression} AS NUMERIC)"
        return f"CASE WHEN {number} THEN CAST({expression} AS {self.double}) END"

    def exact(self, text: str) -> str:
        return f"{text} COLLATE BINARY"

    def code_text(self, code: str) -> str:
        return code  # a column holds values of any type

    def not_a_number(self, expression: str) -> list[str]:
        return [f"({expression} IS NOT NULL AND NOT COALESCE({expression} = CAST({expression} AS NUMERIC), 0))"]

    def relation(self, columns: Sequence[str], rows: Sequence[Sequence[float]]) -> str:
        text = ",".join(f"[{','.join(map(_json_number, row))}]" for row in rows)
        read = ", ".join(f"json_extract(value, '$[{i}]') AS {name}" for i, name in enumerate(columns))
        return f"SELECT {read} FROM json_each('[{text}]')"

    def greatest(self, expressions: Sequence[str]) -> str:
        return expressions[0] if len(expressions) == 1 else f"MAX({', '.join(expressions)})"

    def any(self, expression: str) -> str:
        return f"MIN({expression})"


class PostgresDialect(UnnestingDialect):
    """PostgreSQL: it inlines subqueries, so that what is used twice is computed twice, unless there is a fence."""

    name = "postgresql"
    refuses_underflow = True
    double = "double precision"
    fence = " OFFSET 0"
    text_type = "text"

    def finite(self, value: float) -> str:
        return f"({value!r})::float8"

    def infinite(self, positive: bool) -> str:
        return f"'{'' if positive else '-'}infinity'::float8"

    def unnested(self, text: str, whole: bool) -> str:
        return f"UNNEST('{{{text}}}'::{'int8' if whole else 'float8'}[])"

    def as_number(self, expression: str) -> str:
        return f"NULLIF(CAST({expression} AS {self.double}), 'NaN'::float8)"

    def any(self, expression: str) -> str:
        return f"(ARRAY_AGG({expression}))[1]"


def _json_number(value: float) -> str:
    return repr(value) if math.isfinite(value) else "9e999" if value > 0 else "-9e999"


DIALECTS: dict[str, SqlDialect] = {d.name: d for d in (DuckdbDialect(), SqliteDialect(), PostgresDialect())}


def dialect_of(name: object) -> SqlDialect:
    """A dialect by its name."""
    if isinstance(name, SqlDialect):
        return name
    found = DIALECTS.get({"postgres": "postgresql"}.get(str(name), str(name)))
    if found is None:
        raise OptionError(f"dialect must be one of {', '.join(map(repr, DIALECTS))}; got {brief(name)}.")
    return found
