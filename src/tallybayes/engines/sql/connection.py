"""Connections of databases, as the rest of the package uses them: rows of a statement, batches of it, types.

A new database is a subclass of `Connection` that names its driver, beside a dialect in `sql_dialect.py`; of
`PythonRowsConnection` where its driver hands over rows as Python objects.
"""

from __future__ import annotations

import decimal
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from tallybayes.engines.arrow_batches import READER_PACKAGES
from tallybayes.engines.sql.sql_dialect import DIALECTS, SqlDialect
from tallybayes.errors import OptionError, TableError

if TYPE_CHECKING:
    import pyarrow as pa

NUMBER, SINGLE, TEXT, TRUTH = "number", "float32", "text", "boolean"
NUMBERS = (NUMBER, SINGLE)
MIXED = "text and numbers"
DATETIME_TYPES = ("DATE", "TIME", "INTERVAL")  # how types of dates, times and durations begin, which are read here
POSTGRES = {16: TRUTH, **dict.fromkeys((20, 21, 23, 26, 701, 1700), NUMBER), 700: SINGLE}
POSTGRES |= dict.fromkeys((18, 19, 25, 1042, 1043, 2950), TEXT)  # the last is uuid
COLUMNS_PER_QUERY = 500  # columns that SQLite is asked about at a time: an answer has 2,000 at most
FIRST_ROWS = 1000  # rows of SQLite that show what a column is where all are read, and checked, afterwards
MICROSECONDS_PER_DAY = 86_400_000_000  # microseconds
CURSORS = count()  # several may be open at a time
FIRST_USER_TYPE_OID = 16384  # types that somebody made, such as enums, have at least this number


CONNECTIONS: dict[tuple[str, str], type[Connection]] = {}  # by package and class of what the driver calls a connection


class Connection(ABC):
    """A connection that somebody else made, and will close."""

    dialect: SqlDialect
    driver: tuple[str, str]  # package and class of what it wraps; errors of this package are refusals to read
    embedded = False  # it runs in this process: rows that come here are not sent
    slow_to_count = False  # reading some columns of all rows takes less time than counting them there

    def __init_subclass__(cls) -> None:
        if "driver" in vars(cls):
            CONNECTIONS[cls.driver] = cls
            READER_PACKAGES.add(cls.driver[0])

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    @abstractmethod
    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a statement.

        Parameters
        ----------
        sql : str
            A statement.
        parameters : sequence of object, default=()
            What stands for its placeholders.

        Returns
        -------
        list of tuple
            Its rows.
        """

    @abstractmethod
    def batches(self, sql: str, parameters: Sequence[object], rows: int, kinds: dict[str, str]) -> Iterator[pa.Table]:
        """Return the rows of a statement in batches.

        Parameters
        ----------
        sql : str
            A statement.
        parameters : sequence of object
            What stands for its placeholders.
        rows : int
            How many rows a batch has at the most.
        kinds : dict from column to kind
            What `kinds` says of its columns.

        Returns
        -------
        iterator of Table of pyarrow
            The rows.
        """

    @abstractmethod
    def kinds(self, relation: str, parameters: Sequence[object] = ()) -> dict[str, str | None]:
        """Each column as 'number', 'float32', 'text', 'boolean' or another type; None where only its values say."""

    def kinds_of_values(
        self, relation: str, parameters: Sequence[object], columns: Sequence[str], rows: int | None = None
    ) -> dict[str, str]:
        """Columns whose kind is that of their values: all are read, or the first; without those that are NULL there."""
        raise NotImplementedError  # pragma: no cover: only SQLite has such columns

    def version(self) -> object:
        """Something that differs whenever rows may have changed; None if that is not known."""
        return None

    def column(self, name: str, kind: str) -> str:  # noqa: ARG002
        """A column as its rows are selected."""
        return self.dialect.quote(name)


class DuckdbConnection(Connection):
    """DuckDB, by Arrow."""

    dialect = DIALECTS["duckdb"]
    driver = ("duckdb", "DuckDBPyConnection")
    embedded = True

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self._run(sql, parameters).fetchall()
        return found

    def _run(self, sql: str, parameters: Sequence[object] = ()) -> Any:
        return self.raw.execute(sql, list(parameters)) if parameters else self.raw.execute(sql)

    def batches(self, sql: str, parameters: Sequence[object], rows: int, kinds: dict[str, str]) -> Iterator[pa.Table]:  # noqa: ARG002
        import pyarrow as pa

        result = self.raw.sql(sql, params=list(parameters)) if parameters else self._relation(sql)
        read = result.to_arrow_reader if hasattr(result, "to_arrow_reader") else result.fetch_arrow_reader
        for batch in read(rows):
            yield _durations(_finite(pa.Table.from_batches([batch])))

    def _relation(self, sql: str) -> Any:
        return self.raw.sql(sql)

    def kinds(self, relation: str, parameters: Sequence[object] = ()) -> dict[str, str | None]:
        described = self._run(f"SELECT * FROM {relation} LIMIT 0", parameters).description
        return _unique_kinds([(column[0], self._kind(str(column[1]).upper())) for column in described])

    def _kind(self, name: str) -> str:
        if name in ("VARCHAR", "STRING", "UUID") or name.startswith("ENUM"):
            return TEXT
        if name in ("BOOLEAN", "BOOL"):
            return TRUTH
        if name in ("FLOAT", "REAL"):
            return SINGLE
        numbers = ("NUMBER", "DECIMAL", "DOUBLE", "FLOAT", "REAL", "HUGEINT", "UHUGEINT")
        return NUMBER if name.startswith(numbers) or name.endswith(("INT", "INTEGER")) else name


class DuckdbRelation(DuckdbConnection):
    """A relation of DuckDB, which knows its own connection."""

    def _run(self, sql: str, parameters: Sequence[object] = ()) -> Any:
        assert not parameters
        return self._relation(sql)

    def _relation(self, sql: str) -> Any:
        return self.raw.query("tb source", sql)


class PythonRowsConnection(Connection):
    """A database whose rows come as Python objects."""

    fetched_rows: int  # rows that are objects of Python at a time, before they are columns of Arrow

    def batches(self, sql: str, parameters: Sequence[object], rows: int, kinds: dict[str, str]) -> Iterator[pa.Table]:
        cursor = self._cursor(sql, parameters)
        try:
            names = [column[0] for column in cursor.description]
            parts: list[list[pa.Array]] = []
            n, size = 0, min(rows, self.fetched_rows)
            while found := cursor.fetchmany(size):
                columns = zip(names, zip(*found, strict=True), strict=True)
                parts.append([self._array(name, values, kinds[name]) for name, values in columns])
                n += len(found)
                if n + size > rows:
                    yield _joined(names, parts)
                    parts, n = [], 0
            if n:
                yield _joined(names, parts)
        finally:
            cursor.close()

    def _array(self, name: str, values: Sequence[Any], kind: str) -> pa.Array:
        return _array(name, values, kind)

    @abstractmethod
    def _cursor(self, sql: str, parameters: Sequence[object]) -> Any:
        """A cursor that runs a statement without taking all rows at once."""


class SqliteConnection(PythonRowsConnection):
    """SQLite, where a column may hold anything: what its values are says what it is."""

    dialect = DIALECTS["sqlite"]
    driver = ("sqlite3", "Connection")
    embedded = True
    slow_to_count = True  # two of 12 columns of a million rows: 3.5 s counted there, 0.6 s read
    fetched_rows = 512  # measured: 131,072 at a time take nearly twice as long, since the objects leave the cache

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return list(self._cursor(sql, parameters))

    def _cursor(self, sql: str, parameters: Sequence[object]) -> Any:
        cursor = self.raw.cursor()
        cursor.row_factory = None
        return cursor.execute(sql, tuple(parameters))

    def kinds(self, relation: str, parameters: Sequence[object] = ()) -> dict[str, str | None]:
        cursor = self._cursor(f"SELECT * FROM {relation} LIMIT 0", parameters)
        return _unique_kinds([(column[0], None) for column in cursor.description])

    def kinds_of_values(
        self, relation: str, parameters: Sequence[object], columns: Sequence[str], rows: int | None = None
    ) -> dict[str, str]:
        out = {}
        if rows is not None:
            listed = ", ".join(map(self.dialect.quote, columns))
            relation = f"(SELECT {listed} FROM {relation} LIMIT {rows}) AS t"
        for first in range(0, len(columns), COLUMNS_PER_QUERY):
            some = columns[first : first + COLUMNS_PER_QUERY]
            ends = []  # in the order of the alphabet: blob, integer, real, text
            for name in map(self.dialect.quote, some):
                ends += [f"{end}(NULLIF(typeof({name}), 'null'))" for end in ("MIN", "MAX")]
            (found,) = self.rows(f"SELECT {', '.join(ends)} FROM {relation}", parameters)
            for i, name in enumerate(some):
                first_type, last_type = found[2 * i : 2 * i + 2]
                if rows is not None and first_type is None:
                    continue
                mixed = last_type == "text" and first_type != "text"
                text = MIXED if mixed else TEXT
                out[name] = "BLOB" if first_type == "blob" else text if last_type == "text" else NUMBER
        return out

    def _array(self, name: str, values: Sequence[Any], kind: str) -> pa.Array:
        # The first rows have said what the column is, and any other may hold something else.
        odd: tuple[type, ...] = (str, bytes) if kind in NUMBERS else (int, float, bytes)
        types = set(map(type, values))
        if not types.isdisjoint(odd):
            raise _not_allowed(name, "BLOB" if bytes in types else MIXED)
        return _array(name, values, kind)

    def version(self) -> object:
        # Rows of an open transaction may be taken back, and no counter goes back with them.
        if self.raw.in_transaction:
            return None
        files = [self.dialect.quote(name) for _, name, *_ in self.rows("PRAGMA database_list")]
        of_others = [self.rows(f"PRAGMA {name}.data_version")[0][0] for name in files]
        schemas = [self.rows(f"PRAGMA {name}.schema_version")[0][0] for name in files]
        return (self.raw.total_changes, *files, *of_others, *schemas)


class PostgresConnection(PythonRowsConnection):
    """PostgreSQL by psycopg; batches by a cursor of the server."""

    dialect = DIALECTS["postgresql"]
    driver = ("psycopg", "Connection")
    fetched_rows = 16_384  # each time is a question to the server

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        from psycopg.rows import tuple_row

        # A part of an open transaction: what is refused here does not undo what was done there before.
        with self.raw.transaction(), self.raw.cursor(row_factory=tuple_row) as cursor:
            # Not prepared: a plan that the server keeps does not survive a change of the table.
            found: list[tuple[Any, ...]] = cursor.execute(*self._given(sql, parameters), prepare=False).fetchall()
        return found

    def column(self, name: str, kind: str) -> str:
        # psycopg shortens a float32 to few digits, and pads char(n) as no comparison in SQL does.
        quoted, wider = self.dialect.quote(name), {SINGLE: self.dialect.double, TEXT: self.dialect.text_type}
        return f"CAST({quoted} AS {wider[kind]}) AS {quoted}" if kind in wider else quoted

    def _given(self, sql: str, parameters: Sequence[object]) -> tuple[Any, ...]:
        """Without parameters a % is only a %."""
        return (sql, tuple(parameters)) if parameters else (sql,)

    def _cursor(self, sql: str, parameters: Sequence[object]) -> Any:
        from psycopg.rows import tuple_row

        # A cursor of the server lives in a transaction; where each statement is one it has to be held.
        name = f"tallybayes {next(CURSORS)}"
        cursor = self.raw.cursor(name, row_factory=tuple_row, withhold=bool(self.raw.autocommit))
        return cursor.execute(*self._given(sql, parameters))

    def kinds(self, relation: str, parameters: Sequence[object] = ()) -> dict[str, str | None]:
        with self.raw.transaction(), self.raw.cursor() as cursor:
            cursor.execute(*self._given(f"SELECT * FROM {relation} LIMIT 0", parameters), prepare=False)
            described = [(c.name, c.type_code, c.type_display) for c in cursor.description]
        return _unique_kinds(
            [
                (name, POSTGRES.get(code, TEXT if code >= FIRST_USER_TYPE_OID else shown))
                for name, code, shown in described
            ]
        )


def connection_of(raw: object) -> Connection:
    """What a connection is, by the package of its class or of one of its bases."""
    if isinstance(raw, Connection):
        return raw
    for base in type(raw).__mro__:
        found = CONNECTIONS.get((base.__module__.split(".")[0].lstrip("_"), base.__name__))
        if found is not None:
            return found(raw)
    *others, last = (f"{package}.{name}" for package, name in sorted(CONNECTIONS))
    raise OptionError(
        f"Cannot use a {type(raw).__module__}.{type(raw).__name__} as a database. Allowed: a connection, "
        f"{', '.join(others)} or {last}."
    )


def _unique_kinds(kinds: Sequence[tuple[str, str | None]]) -> dict[str, str | None]:
    """By name: each has a name of its own."""
    names = [name for name, _ in kinds]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise TableError(f"Several columns are called {twice!r}. Each needs a name of its own: AS gives one.")
    return dict(kinds)


def _joined(names: Sequence[str], parts: Sequence[Sequence[pa.Array]]) -> pa.Table:
    """Parts of columns as a table. Whole numbers are numbers with a fraction where another part has some."""
    import pyarrow as pa

    columns = []
    for arrays in zip(*parts, strict=True):
        types = [array.type for array in arrays if array.null_count < len(array)] or [arrays[0].type]
        found, one = set(types), types[0]
        if len(found) > 1:
            one = next((t for t in (pa.float64(), pa.decimal128(38, 0)) if t in found), pa.decimal128(38, 0))
        columns.append(pa.chunked_array([array.cast(one, safe=False) for array in arrays], one).combine_chunks())
    return pa.table(columns, names=list(names))


def _array(name: str, values: Sequence[Any], kind: str) -> pa.Array:
    import pyarrow as pa

    if kind in NUMBERS:
        return _numbers(values)
    if kind == TEXT:
        try:
            return pa.array(values, pa.string())
        except (pa.ArrowInvalid, pa.ArrowTypeError):  # a uuid, or a number where a batch has only text
            return pa.array([None if v is None else str(v) for v in values], pa.string())
    if kind == TRUTH:
        return pa.array(values, pa.bool_())
    if kind.upper().startswith(DATETIME_TYPES):
        return _moments(values, kind.lower())
    raise _not_allowed(name, kind)


def _not_allowed(name: str, kind: str) -> TableError:
    return TableError(
        f"Column {name!r} is of type {kind}. Allowed: numbers, booleans, text and dates. Turn it into one of these in "
        "a query, or leave it out.",
        column=name,
    )


def _numbers(values: Sequence[Any]) -> pa.Array:
    """Whole numbers as such, as long as they fit."""
    import pyarrow as pa

    try:
        found = pa.array(values)
        if found.type in (pa.int64(), pa.float64()):
            return found
    except (OverflowError, pa.ArrowInvalid, pa.ArrowTypeError):
        pass
    plain = _without_decimals(values)
    there = [v for v in plain if v is not None]
    whole = bool(there) and all(isinstance(v, int) for v in there)
    for wanted in (pa.int64(), pa.uint64(), pa.decimal128(38, 0)) if whole else ():
        try:
            return pa.array(plain, wanted)
        except (OverflowError, pa.ArrowInvalid):
            pass
    return pa.array([None if v is None else float(v) for v in plain], pa.float64())


def _without_decimals(values: Sequence[Any]) -> list[Any]:
    """Decimals as integers where all are whole, to the last digit; NaN is missing then. Else as floats."""
    there = [v for v in values if isinstance(v, decimal.Decimal) and not v.is_nan()]
    convert = int if all(v.is_finite() and v == v.to_integral_value() for v in there) else float
    return [v if not isinstance(v, decimal.Decimal) else None if v.is_nan() else convert(v) for v in values]


def _moments(values: Sequence[Any], kind: str) -> pa.Array:
    """Dates and times as psycopg gives them; the type of a column whose values are all missing is said too."""
    import pyarrow as pa

    found = pa.array(list(values))
    if not pa.types.is_null(found.type):
        return found
    types = {
        "date": pa.date32(),
        "time": pa.time64("us"),
        "interval": pa.duration("us"),
        "timestamptz": pa.timestamp("us", "UTC"),
    }
    return found.cast(types.get(kind, pa.timestamp("us")))


def _finite(table: pa.Table) -> pa.Table:
    """The same rows. Infinite dates of DuckDB come as the largest numbers there are, and would be taken for dates."""
    import pyarrow as pa
    from pyarrow import compute as pc

    for field, column in zip(table.schema, table.columns, strict=True):
        if pa.types.is_timestamp(field.type) or pa.types.is_date32(field.type):
            whole = pa.int64() if pa.types.is_timestamp(field.type) else pa.int32()
            ends, most = pc.min_max(column.cast(whole)).as_py(), (1 << (whole.bit_width - 1)) - 1
            if ends["max"] == most or ends["min"] == -most:
                raise TableError(
                    f"Column {field.name!r} contains infinity. Replace it by NULL in a query: CASE WHEN isfinite(…) "
                    "THEN … END.",
                    column=field.name,
                )
    return table


def _durations(table: pa.Table) -> pa.Table:
    """DuckDB's intervals as durations, which those with months or years are not."""
    import pyarrow as pa

    for j, field in enumerate(table.schema):
        if pa.types.is_interval(field.type):
            values = []
            for v in table.column(j).to_pylist():
                if v is not None and v.months:
                    raise TableError(
                        f"Column {field.name!r} has an interval of months or years, which are not always as long. "
                        "epoch(…) makes a number of seconds of it in a query, or leave it out: columns=[…].",
                        column=field.name,
                    )
                values.append(None if v is None else v.days * MICROSECONDS_PER_DAY + v.nanoseconds // 1000)
            table = table.set_column(j, field.name, pa.array(values, pa.duration("us")))
    return table
