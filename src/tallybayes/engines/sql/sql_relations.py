"""Models of many tables in SQL, as relations: one row for each row of the data and each table that is read.

A *line* says which table a sum reads: a child and parents, each a *binning* of a column, and where the cells begin. The
lines, the bins and the cells are VALUES; the data are joined with them, and what is found is added up by row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tallybayes.engines.sql.sql_dialect import SqlDialect
from tallybayes.errors import ExportError

Json = Any
MAX_CELLS = 400_000  # written into one statement, about 20 MB: databases read more slowly, or refuse it
MAX_COLUMNS = 400  # SQLite unites 500 queries at most
NONE = -1  # the binning that no row has


def too_many_cells(advice: str) -> str:
    """Why a model is not written; advice: what makes it smaller, before the rest that does."""
    return (
        f"its tables have more than the {MAX_CELLS:,} cells that one statement holds: use {advice}fewer columns or "
        "fewer levels"
    )


@dataclass
class Line:
    """What one sum reads: `start[l]` is where the cells begin if only the first l parents have a bin."""

    child: int  # a binning, or NONE
    child_bins: int
    parents: list[int]
    sizes: list[int]
    start: list[int]
    to: int  # what is found is added to this group
    weights: list[float]


@dataclass
class Relations:
    """What is joined: bins of codes, lines, cells; each becomes a common table expression."""

    d: SqlDialect
    K: int
    advice: str = ""  # what makes this model smaller, before the rest that does
    cells: list[list[float]] = field(default_factory=list)
    bins: list[list[float]] = field(default_factory=list)

    def add_cells(self, log: Sequence[Sequence[float | None]]) -> int:
        """Add a table of cells (cell, class); return where it begins."""
        start = len(self.cells)
        if start + len(log) > MAX_CELLS:
            raise ExportError(too_many_cells(self.advice))
        self.cells += [[start + c, *(-math.inf if v is None else v for v in cell)] for c, cell in enumerate(log)]
        return start

    def add_bins(self, binning: int, column: int, bins: Sequence[int | None], missing: int | None) -> None:
        """Add a bin for each code of a column, and that of missing values; None: no bin."""
        for code, v in [*enumerate(bins), (-1, missing)]:
            if v is not None:
                self.bins.append([column, code, binning, v])

    def bins_of_rows(self, source: str, codes: Sequence[tuple[str, str]], table: str) -> str:
        """(r, b, v): the bin of each row and binning. codes: column and the expression of its code."""
        if len(codes) > MAX_COLUMNS:
            raise ExportError(f"it has {len(codes)} columns, and such a statement reads {MAX_COLUMNS} at most")
        row, join = self.d.quote("tb row"), self.d.inner_join
        arms = [
            f"SELECT t.{row} AS r, v.b, v.v FROM {source} AS t {join} {table} AS v ON v.j = {j} AND v.c = {code}"
            for j, code in codes
        ] or [f"SELECT t.{row} AS r, 0 AS b, 0 AS v FROM {source} AS t WHERE 1 = 0"]
        return " UNION ALL ".join(arms)

    def found(self, source: str, bins: str, lines: Sequence[Line], table: str, cells: str) -> str:
        """(r, g, w0 …, v0 …): what each row finds by each line, its group and the line's weights."""
        depth, row = max((len(line.parents) for line in lines), default=0), self.d.quote("tb row")
        joins = f" LEFT JOIN {bins} AS b0 ON b0.r = t.{row} AND b0.b = n.child"
        place, whens, at = "COALESCE(b0.v, 0)", ["WHEN n.child >= 0 AND b0.v IS NULL THEN NULL"], ""
        for level in range(depth + 1):
            cell = f"n.s{level} + {place}" if not at else f"n.s{level} + ({at}) * n.bins + {place}"
            if level == depth:
                whens.append(f"ELSE {cell}")
                break
            own = f"b{level + 1}"
            joins += f" LEFT JOIN {bins} AS {own} ON {own}.r = t.{row} AND {own}.b = n.p{level}"
            whens.append(f"WHEN {own}.v IS NULL THEN {cell}")
            at = f"{own}.v" if not at else f"({at}) * n.z{level} + {own}.v"
        weights = ", ".join(f"n.w{i}" for i in range(len(lines[0].weights)))
        inner = (
            f"SELECT t.{row} AS r, n.g, {weights}, CASE {' '.join(whens)} END AS k "
            f"FROM {source} AS t CROSS JOIN {table} AS n{joins}{self.d.fence}"
        )
        read = [f"t.w{i}" for i in range(len(lines[0].weights))] + [f"c.v{k}" for k in range(self.K)]
        return f"SELECT t.r, t.g, {', '.join(read)} FROM ({inner}) AS t {self.d.inner_join} {cells} AS c ON c.k = t.k"

    def line_rows(self, lines: Sequence[Line]) -> tuple[list[str], list[list[float]]]:
        """Names of the columns of the lines, and the lines."""
        depth = max((len(line.parents) for line in lines), default=0)
        names = ["child", "bins", "s0", "g", *(f"w{i}" for i in range(len(lines[0].weights)))]
        for level in range(depth):
            names += [f"p{level}", f"z{level}", f"s{level + 1}"]
        out = []
        for line in lines:
            row: list[float] = [line.child, line.child_bins, line.start[0], line.to, *map(float, line.weights)]
            for level in range(depth):
                there = level < len(line.parents)
                row += (line.parents[level], line.sizes[level], line.start[level + 1]) if there else (NONE, 1, 0)
            out.append(row)
        return names, out


def values(d: SqlDialect, name: str, columns: Sequence[str], rows: Sequence[Sequence[float]]) -> str:
    """A common table expression of rows of numbers."""
    return f"{name}({', '.join(columns)}) AS {d.materialized}({d.relation(columns, rows)})"


def all_codes(columns: Sequence[int]) -> Iterator[tuple[str, str]]:
    """Column and code of each column of a term, as `bins_of_rows` takes them."""
    for i in range(len(columns)):
        yield str(i), f"t.c{i}"
