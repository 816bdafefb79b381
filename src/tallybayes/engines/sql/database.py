"""Tables and queries of a database as sources: counted there, or read in batches and counted here."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from tallybayes.engines.arrow_batches import reader_errors
from tallybayes.engines.source import ColumnRoles, RowSource, expanded
from tallybayes.engines.sql.connection import (
    DATETIME_TYPES,
    FIRST_ROWS,
    NUMBERS,
    TEXT,
    TRUTH,
    Connection,
    DuckdbRelation,
    PythonRowsConnection,
    connection_of,
)
from tallybayes.engines.sql.sql_counts import StatisticsQuery
from tallybayes.engines.survey import Survey, survey_of
from tallybayes.errors import OptionError, TableError, brief

if TYPE_CHECKING:
    import pyarrow as pa

    from tallybayes.estimators.base import GenerativeClassifier

Model = TypeVar("Model", bound="GenerativeClassifier")

HEAD_ROWS = 1000  # rows that show what a model makes of the columns
MAX_COUNT_TABLES = 64  # statements of counts that are cheaper there than moving the rows
MAX_MOMENT_COLUMNS = 256  # numbers whose moments fit into one row: SQLite and PostgreSQL have a limit
MAX_KEPT_BYTES = 256 << 20  # rows that are kept between the plan and the count
MOVES = ("auto", "statistics", "rows")


class DatabaseSource(RowSource):
    """What a statement can select from.

    Parameters
    ----------
    connection : Connection
        To the database.
    relation : str
        What stands after FROM.
    parameters : sequence
        The values of a query's placeholders.
    where : str
        What messages call it.
    move : {'auto', 'statistics', 'rows'}
        What comes here when rows are learned.
    """

    def __init__(
        self, connection: Connection, relation: str, parameters: Sequence[object], where: str, move: str = "auto"
    ) -> None:
        if move not in MOVES:
            raise OptionError(f"move must be one of {', '.join(map(repr, MOVES))}; got {brief(move)}.")
        self.connection, self.relation, self.parameters = connection, relation, tuple(parameters)
        self.where, self.move = where, move
        self.choice = "nothing was learned from it yet"
        with reader_errors(where):
            self._kinds = connection.kinds(relation, self.parameters)
        self._first_kinds: dict[str, str] = {}
        self._kept: _KeptRows | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """tuple of str: the names of the columns."""
        return tuple(self._kinds)

    def kinds(self, columns: Sequence[str]) -> dict[str, str]:
        """What some columns are. In SQLite their values say so, and are read once.

        Parameters
        ----------
        columns : sequence of str
            Their names.

        Returns
        -------
        dict from column to str
            'number', 'float32', 'text', 'boolean', or the name of another type.
        """
        unknown = [name for name in columns if self._kinds[name] is None]
        if unknown:
            with reader_errors(self.where):
                self._kinds |= self.connection.kinds_of_values(self.relation, self.parameters, unknown)
        return {name: str(self._kinds[name]) for name in columns}

    def first_kinds(self, columns: Sequence[str]) -> dict[str, str]:
        """What some columns are, as far as the first rows of SQLite show it: enough where all are read, and checked.

        Parameters
        ----------
        columns : sequence of str
            Their names.

        Returns
        -------
        dict from column to str
            As `kinds` gives it, which is asked only where all of the first values are missing.
        """
        unknown = [name for name in columns if self._kinds[name] is None and name not in self._first_kinds]
        if unknown:
            with reader_errors(self.where):
                self._first_kinds |= self.connection.kinds_of_values(
                    self.relation, self.parameters, unknown, FIRST_ROWS
                )
        all_missing = [name for name in unknown if name not in self._first_kinds]
        known = {**self._first_kinds, **self.kinds(all_missing)}
        return {name: str(self._kinds[name] or known[name]) for name in columns}

    def select(self, columns: Sequence[str]) -> str:
        """Write a statement.

        Parameters
        ----------
        columns : sequence of str
            Their names, which are quoted.

        Returns
        -------
        str
            SELECT columns FROM the relation.
        """
        kinds = self.first_kinds(columns)
        chosen = [self.connection.column(name, kinds[name]) for name in columns]
        return f"SELECT {', '.join(chosen)} FROM {self.relation}"

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        self.check(columns)
        kept = self._kept
        if kept is not None and kept.whole and kept.columns == list(columns):
            yield from kept.tables
            return
        if kept is not None:
            kept.begin(columns)
        for table in self.connection.batches(self.select(columns), self.parameters, rows, self.first_kinds(columns)):
            if kept is not None:
                kept.add(table)
            yield table
        if kept is not None:
            kept.end()

    @contextmanager
    def reading_once(self) -> Iterator[None]:
        """Keep the rows that a plan is made on for the count that follows, up to 256 MB, where reading costs most."""
        self._kept = _KeptRows() if isinstance(self.connection, PythonRowsConnection) else None
        try:
            yield
        finally:
            self._kept = None

    def head(self, roles: ColumnRoles) -> Survey:
        """Read some rows.

        Parameters
        ----------
        roles : ColumnRoles
            Which columns are what.

        Returns
        -------
        Survey
            Of at most a thousand rows.
        """
        self.check(roles.columns)
        sql = f"{self.select(roles.columns)} LIMIT {HEAD_ROWS}"
        with reader_errors(self.where):
            for table in self.connection.batches(sql, self.parameters, HEAD_ROWS, self.first_kinds(roles.columns)):
                if table.num_rows:
                    return survey_of(table, HEAD_ROWS)
        raise self.no_rows()

    def count(self, plan: Model, roles: ColumnRoles) -> Model:
        """Count all rows with a plan: in the database, or here; ``choice`` says which, and why.

        Parameters
        ----------
        plan : classifier
            A model with schema, cuts and structure.
        roles : ColumnRoles
            Which columns are what.

        Returns
        -------
        classifier
            A model of these rows alone.
        """
        self.check(roles.columns)
        if self.move == "rows" or (self.move == "auto" and self.connection.embedded):
            why = "the database runs in this process, where rows cost less than statistics"
            self.choice = f"rows: {'asked for' if self.move == 'rows' else why}"
            return self.count_rows(plan, roles)
        self.check_all(roles.columns)
        query = StatisticsQuery(self, plan, roles)
        why_not = query.refusal()
        if self.move == "statistics" and why_not is not None:
            raise OptionError(
                f"The sufficient statistics of this {type(plan).__name__} cannot be counted in the database: {why_not}."
            )
        why_not = why_not or too_many(query)
        if self.move == "statistics" or why_not is None:
            self.choice = query.choice
            return query.count()
        self.choice = f"rows: {why_not}"
        return self.count_rows(plan, roles)

    def count_rows(self, plan: Model, roles: ColumnRoles, needed: Collection[str] | None = None) -> Model:
        """Read all rows and count them here, whatever `move` says.

        Parameters
        ----------
        plan : classifier
            A model with schema, cuts and structure.
        roles : ColumnRoles
            Which columns are what.
        needed : collection of str, default=None
            The features that are read; the others count as missing. None reads all.

        Returns
        -------
        classifier
            A model of these rows alone.
        """
        self.check(roles.columns)
        if needed is None:
            return super().count(plan, roles)
        return _SomeColumns(self, [*needed, *roles.target]).count(plan, roles)

    def check_all(self, columns: Sequence[str]) -> None:
        """Refuse columns that have other values than numbers, booleans, text or dates, in whatever row.

        Parameters
        ----------
        columns : sequence of str
            Their names.
        """
        self._refuse(self.kinds(columns))

    def check(self, columns: Sequence[str]) -> None:
        """Refuse columns that have other values than numbers, booleans, text or dates, as far as the first rows show.

        Parameters
        ----------
        columns : sequence of str
            Their names. Whoever reads all rows checks the others then.
        """
        self._refuse(self.first_kinds(columns))

    def _refuse(self, kinds: dict[str, str]) -> None:
        for name, kind in kinds.items():
            if kind not in (*NUMBERS, TEXT, TRUTH) and not kind.upper().startswith(DATETIME_TYPES):
                raise TableError(
                    f"Column {name!r} of {self.where} is of type {kind}. Allowed: numbers, booleans, text and dates. "
                    "Turn it into one of these in a query, or leave it out: columns=[…].",
                    column=name,
                )


class _SomeColumns(RowSource):
    """Rows of which some columns are read; the others are missing in every row."""

    def __init__(self, source: DatabaseSource, needed: Collection[str]) -> None:
        self.source, self.where, self.needed = source, source.where, frozenset(needed)

    @property
    def names(self) -> tuple[str, ...]:
        return self.source.names

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        import pyarrow as pa

        for table in self.source.batches([name for name in columns if name in self.needed], rows):
            there = dict(zip(table.column_names, table.columns, strict=True))
            yield pa.table([there.get(name, pa.nulls(table.num_rows)) for name in columns], names=list(columns))


class _KeptRows:
    """Rows that were read and may be wanted again at once, as long as they are not many."""

    def __init__(self) -> None:
        self.columns: list[str] = []
        self.tables: list[pa.Table] = []
        self.whole, self._bytes = False, 0

    def begin(self, columns: Sequence[str]) -> None:
        self.columns, self.tables, self.whole, self._bytes = list(columns), [], False, 0

    def add(self, table: pa.Table) -> None:
        self._bytes += table.nbytes
        self.tables.append(table)
        if self._bytes > MAX_KEPT_BYTES:
            self.tables.clear()

    def end(self) -> None:
        self.whole = self._bytes <= MAX_KEPT_BYTES


def too_many(query: StatisticsQuery[Any]) -> str | None:
    """Why the rows cost less than the statistics, however many they are; None if they do not."""
    if query.source.connection.slow_to_count:
        return "they are read here faster than this database counts them"
    if query.sets > MAX_COUNT_TABLES or query.moments > MAX_MOMENT_COLUMNS:
        return f"more than {MAX_COUNT_TABLES} tables of counts or {MAX_MOMENT_COLUMNS} moments cost more than rows"
    return None


class DatabaseTable(DatabaseSource):
    """A table of a database as a source of rows.

    Parameters
    ----------
    connection : connection of duckdb, sqlite3 or psycopg
        It stays open, and is used as it is: rows of an open transaction count.
    name : str or (schema, table)
        The table or view. It is quoted: whatever it is, it is only a name.
    move : {'auto', 'statistics', 'rows'}, default='auto'
        What comes here when rows are learned: sufficient statistics that the database counts, or the rows in batches.
        'auto' takes the statistics of a server where they are not many, and the rows of DuckDB and SQLite, which run in
        this process. ``choice`` says afterwards what was done.

    Examples
    --------
    >>> import sqlite3
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.engines.sql import DatabaseTable
    >>> db = sqlite3.connect(":memory:")
    >>> _ = db.execute("CREATE TABLE days (sky, wind, go)")
    >>> _ = db.executemany("INSERT INTO days VALUES (?, ?, ?)", [("grey", 9.5, "no"), ("clear", 2.0, "yes")])
    >>> days = DatabaseTable(db, "days")
    >>> NaiveBayes().learn_from(days, "go").class_count_.tolist(), days.choice
    ([1.0, 1.0], 'rows: the database runs in this process, where rows cost less than statistics')
    """

    def __init__(self, connection: object, name: str | Sequence[str], *, move: str = "auto") -> None:
        here = connection_of(connection)
        super().__init__(here, here.dialect.table(name), (), f"the table {name!r}", move)


class DatabaseQuery(DatabaseSource):
    """The rows of a query as a source.

    Parameters
    ----------
    connection : connection of duckdb, sqlite3 or psycopg
        It stays open, and is used as it is: rows of an open transaction count.
    sql : str
        A SELECT. It is run as it stands: values that come from elsewhere belong into `parameters`.
    parameters : sequence, default=()
        The values of its placeholders.
    move : {'auto', 'statistics', 'rows'}, default='auto'
        What comes here when rows are learned: sufficient statistics that the database counts, or the rows in batches.
        'auto' takes the statistics of a server where they are not many, and the rows of DuckDB and SQLite, which run in
        this process. ``choice`` says afterwards what was done.

    Examples
    --------
    >>> import duckdb
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.engines.sql import DatabaseQuery
    >>> db = duckdb.connect()
    >>> _ = db.execute("CREATE TABLE days AS SELECT * FROM (VALUES (9.5, 'no'), (2.0, 'yes'), (99, 'no')) t(wind, go)")
    >>> calm = DatabaseQuery(db, "SELECT * FROM days WHERE wind < ?", [50])
    >>> NaiveBayes().learn_from(calm, "go").class_count_.tolist()
    [1.0, 1.0]
    """

    def __init__(self, connection: object, sql: str, parameters: Sequence[object] = (), *, move: str = "auto") -> None:
        here = connection_of(connection)
        if not isinstance(sql, str):
            raise OptionError(f"A query is a SELECT as text; got {brief(sql)}.")
        # What ends a statement would end the one around it; the new line ends a comment.
        super().__init__(here, f"({sql.rstrip().rstrip(';')}\n) AS t", parameters, "the query", move)


def database(source: Any) -> RowSource:
    """Make a row source of a pair (connection, name of a table)."""
    connection, name = source
    if isinstance(name, str) and name.lstrip().lower().startswith(("select ", "with ", "from ")):
        raise OptionError(
            f"A query goes in as DatabaseQuery(connection, sql), of tallybayes.engines.sql; got {brief(name)}."
        )
    return DatabaseTable(connection, name)


def relation(source: Any) -> RowSource:
    """A relation of DuckDB as a source."""
    found = DatabaseSource(DuckdbRelation(source), '"tb source"', (), "the relation")
    literals = re.findall(r"'((?:[^']|'')+)'", source.sql_query())  # any of which may name a file
    found.files = expanded(text.replace("''", "'") for text in literals)
    return found
