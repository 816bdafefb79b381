"""The table as the tests read it: numbers and codes by column, rows by class."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tallybayes.data import encoding
from tallybayes.data.labels import read_labels
from tallybayes.data.schema import Schema, align, infer_schema
from tallybayes.data.table import Table, read_table
from tallybayes.errors import LabelError, OptionError, TableError, brief, listing
from tallybayes.utils.array_types import Array, Floats

MOST_COLUMNS, MOST_ROWS = 200, 100_000
LEAST_ROWS = 8  # of a class, to say anything about it
FEW_ROWS = 200
MOST_LEVELS = 20  # of a column; the rarest are taken together


@dataclass(frozen=True)
class Data:
    """Numeric columns (NaN is missing), columns of codes (−1 is missing), and which rows are of which class."""

    numeric: Floats  # (n, columns)
    numeric_names: tuple[str, ...]
    real: NDArray[np.bool_]  # which of the numeric columns are real; the others are counts
    codes: Array  # (n, columns)
    code_names: tuple[str, ...]
    classes: tuple[object, ...]  # those with enough rows
    rows: tuple[Array, ...]  # of each of these classes
    container: str
    notes: list[str] = field(default_factory=list)

    @property
    def n(self) -> int:
        """Rows in classes that are tested."""
        return sum(len(r) for r in self.rows)


def read_columns(X: object, y: object, kinds: object, random_state: int) -> Data:
    """Reads a table; samples from one that is too large, and says so."""
    if not isinstance(random_state, int | np.integer) or random_state < 0:
        raise OptionError(f"random_state must be a whole number of at least 0; got {brief(random_state)}.")
    table = read_table(X)
    codes, labels = read_labels(y, table.n)
    schema = infer_schema(table, kinds, "real")
    table = align(table, schema)
    rng, notes = np.random.default_rng(random_state), list[str]()
    if schema.ambiguous:
        names = [schema.name(j) for j in schema.ambiguous]
        notes.append(f"Integer columns with few values, taken as numbers: {listing(names)}; schema= settles it.")
    which = np.arange(schema.d)
    if schema.d > MOST_COLUMNS:
        which = np.sort(rng.choice(schema.d, MOST_COLUMNS, replace=False))
        notes.append(f"{MOST_COLUMNS} of {schema.d} columns, drawn at random.")
    keep = np.arange(table.n)
    if table.n > MOST_ROWS:
        keep = np.sort(rng.choice(table.n, MOST_ROWS, replace=False))
        notes.append(f"{MOST_ROWS} of {table.n} rows, drawn at random.")
    numbers = [j for j in which.tolist() if schema.kinds[j] in ("real", "count")]
    others = [j for j in which.tolist() if schema.kinds[j] not in ("real", "count")]
    rows, classes = _classes(codes[keep], labels, notes)
    return Data(
        numeric=_numbers(table, schema, numbers, keep),
        numeric_names=tuple(schema.name(j) for j in numbers),
        real=np.array([schema.kinds[j] == "real" for j in numbers], dtype=bool),
        codes=_codes(table, schema, others, keep),
        code_names=tuple(schema.name(j) for j in others),
        classes=classes,
        rows=rows,
        container=table.container,
        notes=notes,
    )


def _classes(codes: Array, labels: Array, notes: list[str]) -> tuple[tuple[Array, ...], tuple[object, ...]]:
    rows = [np.flatnonzero(codes == k) for k in range(len(labels))]
    enough = [k for k in range(len(labels)) if len(rows[k]) >= LEAST_ROWS]
    few = [str(labels[k]) for k in range(len(labels)) if k not in enough]
    if not enough:
        raise LabelError(f"Every class has fewer than {LEAST_ROWS} rows: nothing can be said of the assumptions.")
    if sum(len(rows[k]) for k in enough) < FEW_ROWS:
        notes.append("Rows are few: only large deviations can be found, and an assumption that holds is not proved.")
    if few:
        notes.append(f"Classes with fewer than {LEAST_ROWS} rows, left out: {listing(few)}.")
    return tuple(rows[k] for k in enough), tuple(labels.tolist()[k] for k in enough)


def _numbers(table: Table, schema: Schema, which: list[int], keep: Array) -> Floats:
    out = np.empty((len(keep), len(which)))
    if table.csr is not None and which:
        out[:] = table.csr[keep][:, which].toarray()
    elif which:
        found = encoding.numbers(table, schema, which)
        for i in range(len(which)):
            out[:, i] = found.column(i)[keep]
    if np.isinf(out).any():
        name = schema.name(which[int(np.argmax(np.isinf(out).any(axis=0)))])
        raise TableError(f"Input X contains infinity: column {name!r}. Replace it by a number, or by NaN if missing.")
    return _of_usual_size(out)


def _of_usual_size(columns: Floats) -> Floats:
    """Columns whose squares are too large or too small for a number, times a power of 2: no test looks at units."""
    _, power = np.frexp(np.nanmax(np.abs(columns), axis=0, initial=0.0))
    return np.asarray(np.ldexp(columns, np.where(np.abs(power) > 300, -power, 0)))


def _codes(table: Table, schema: Schema, which: list[int], keep: Array) -> Array:
    out = np.empty((len(keep), len(which)), dtype=np.int32)
    if which:
        arrays, _ = encoding.level_codes(table, schema, which, True, {})
        for i, a in enumerate(arrays):
            out[:, i] = _fewer(np.maximum(np.asarray(a)[keep].astype(np.int32), -1))
    return out


def _fewer(codes: Array) -> Array:
    """At most MOST_LEVELS codes: the rarest share the last."""
    count = np.bincount(codes[codes >= 0])
    rank = np.empty(len(count) + 1, dtype=np.int32)
    rank[np.argsort(-count, kind="stable")] = np.minimum(np.arange(len(count)), MOST_LEVELS - 1)
    rank[-1] = -1
    return rank[codes]
