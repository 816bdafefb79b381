"""The sufficient statistics of a model, counted by a database in one statement.

Columns that a model reads as codes are grouped with the class, alone or in the sets that a network counts; columns of
numbers give weight, mean and squares about it by class. What comes back is as long as there are different combinations,
however many rows there are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.encoding.codes import check_integer
from tallybayes.data.labels import positions, read_labels, union
from tallybayes.data.schema import Levels, Schema
from tallybayes.distributions.base import Distribution, statistics_from
from tallybayes.distributions.capabilities import SQLCounts, capability
from tallybayes.distributions.context import Counted
from tallybayes.engines.arrow_batches import reader_errors
from tallybayes.engines.source import ColumnRoles
from tallybayes.engines.sql.connection import DATETIME_TYPES, NUMBER, NUMBERS, SINGLE, TEXT, TRUTH
from tallybayes.errors import LabelError, TableError
from tallybayes.estimators.state import with_fitted
from tallybayes.model.fitted import Fitted
from tallybayes.model.term import Term
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from tallybayes.engines.sql.database import DatabaseSource
    from tallybayes.estimators.base import GenerativeClassifier

Model = TypeVar("Model", bound="GenerativeClassifier")


class _GroupedRows(NamedTuple):
    """Columns that are grouped with the class, and the rows of the answer that count them."""

    columns: tuple[int, ...]
    rows: list[tuple[Any, ...]]


class StatisticsQuery(Generic[Model]):
    """What a model counts, as a statement.

    only: columns that are counted, None for all; networks count all. anew: levels and classes are those of the rows,
    and what is declared, whatever the plan has met.
    """

    def __init__(
        self,
        source: DatabaseSource,
        plan: Model,
        roles: ColumnRoles,
        only: Collection[int] | None = None,
        anew: bool = False,
    ) -> None:
        self.source, self.plan, self.roles, self.anew = source, plan, roles, anew
        self.d, self.fitted = source.connection.dialect, plan.fitted_
        self.schema: Schema = _declared(self.fitted.schema) if anew else self.fitted.schema
        self.rows = self.d.unused("tb rows", source.relation)
        self.groups: list[tuple[int, ...]] = []
        self.numbers: list[int] = []
        wanted = set(range(self.schema.d) if only is None else only)
        for term in self.fitted.terms:
            what = counted_as(term.distribution)
            if what == "moments":
                self.numbers += [j for j in term.columns if j in wanted]
            elif what == "sets":
                self.groups += [(j,) for j in term.columns]
                self.groups += [tuple(term.columns[i] for i in some) for some in _sets(term)]
            else:
                self.groups += [(j,) for j in term.columns if j in wanted]

    @property
    def sets(self) -> int:
        """int: how many tables of counts there are."""
        return len(self.groups)

    @property
    def choice(self) -> str:
        """str: what is counted in the database."""
        return f"statistics: {self.sets} tables of counts and {self.moments} moments were counted there"

    @property
    def moments(self) -> int:
        """int: how many columns have moments."""
        return len(self.numbers)

    def refusal(self) -> str | None:
        """Why it cannot be counted there; None if it can."""
        if self.roles.weight is not None:
            return "rows have weights"
        if getattr(self.plan, "class_weight", None) is not None:
            return "classes have weights"
        if len(self.roles.target) != 1:
            return "there are several targets"
        if self.schema.input_names is None:
            return "the model was fitted on rows without names of columns"
        kinds = self.source.first_kinds(self.roles.features)
        dates = self.schema.dates or [n for n, kind in kinds.items() if kind.upper().startswith(DATETIME_TYPES)]
        if dates:
            return f"the column {dates[0]!r} holds dates, whose year, month, weekday and hour are read here"
        refused = (self._term_refusal(term, kinds) for term in self.fitted.terms)
        return next((why for why in refused if why is not None), None)

    def _term_refusal(self, term: Term, kinds: Mapping[str, str]) -> str | None:
        """Why a term cannot be counted there. kinds: of the columns in the database."""
        d = term.distribution
        if counted_as(d) is None:
            return f"the distribution {d.name!r} is no table of counts and no mean and variance of single columns"
        if getattr(d, "contiguous", False) and any(j not in self.schema.levels for j in term.columns):
            return "its codes are its labels"
        read = [j for j in term.columns if counted_as(d) == "moments" or j in self.schema.cuts]
        text = next((self.schema.name(j) for j in read if kinds.get(self.schema.name(j)) == TEXT), None)
        return None if text is None else f"the column {text!r} holds text, and the model reads numbers"

    # --- the statement -----------------------------------------------------------------------------------------

    def statement(self) -> str:
        """One statement: a line for each class, each combination, and the moments of each class."""
        q, target = self.d.quote, self.roles.target[0]
        text = self.source.first_kinds([target])[target] == TEXT
        read = [f"{self.d.exact_text(q(target)) if text else q(target)} AS {q('tb y')}"]
        read += [f"{self._code(j)} AS {q(f'tb c{j}')}" for j in sorted({j for group in self.groups for j in group})]
        read += [f"{self._number(j)} AS {q(f'tb x{j}')}" for j in self.numbers]
        width = max((len(group) for group in self.groups), default=0)
        rows, y = self.rows, q("tb y")
        arms = [self._arm(-1, ["COUNT(*)"], [], f"FROM {rows} GROUP BY {y}", width)]
        for s, group in enumerate(self.groups):
            codes = [q(f"tb c{j}") for j in group]
            there = " AND ".join(f"{c} IS NOT NULL" for c in codes)
            tail = f"FROM {rows} WHERE {there} GROUP BY {y}, {', '.join(codes)}"
            arms.append(self._arm(s, ["COUNT(*)"], [self.d.code_text(c) for c in codes], tail, width))
        if self.numbers:
            arms.append(self._moments(width))
        return f"WITH {rows} AS (SELECT {', '.join(read)} FROM {self.source.relation}) {' UNION ALL '.join(arms)}"

    def _arm(self, s: int, count: list[str], values: list[str], tail: str, width: int) -> str:
        null_number = f"CAST(NULL AS {self.d.double})"
        cells = [str(s), self.d.quote("tb y"), *count, *values, *[self.d.null_text] * (width - len(values))]
        return f"SELECT {', '.join([*cells, *[null_number] * (4 * len(self.numbers))])} {tail}"

    def _moments(self, width: int) -> str:
        """Means first, then squares about them: two passes over the rows, one statement."""
        q, d = self.d.quote, self.d
        y, rows = q("tb y"), self.rows
        means = ", ".join(f"AVG({q(f'tb x{j}')}) AS {q(f'tb a{j}')}" for j in self.numbers)
        cells = [str(len(self.groups)), f"r.{y}", "COUNT(*)", *[d.null_text] * width]
        for j in self.numbers:
            x, a = f"r.{q(f'tb x{j}')}", f"m.{q(f'tb a{j}')}"
            sums = (f"COUNT({x})", f"MIN({a})", f"SUM({x} - {a})", f"SUM(({x} - {a}) * ({x} - {a}))")
            cells += [f"CAST({each} AS {d.double})" for each in sums]
        same = f"r.{y} = m.{y}"
        return (
            f"SELECT {', '.join(cells)} FROM {rows} AS r JOIN (SELECT {y}, {means} FROM {rows} GROUP BY {y}) AS m "
            f"ON {same} GROUP BY r.{y}"
        )

    def _code(self, j: int) -> str:
        """A column as it is grouped: the number of its interval, 0 or 1, a number as it is kept, or text."""
        name, schema = self.d.quote(self.schema.name(j)), self.schema
        if j in schema.cuts:
            number = self._number(j)
            cuts = "".join(f" WHEN {number} < {self.d.number(p)} THEN {c}" for c, p in enumerate(schema.cuts[j].points))
            return f"CASE WHEN {number} IS NULL THEN NULL{cuts} ELSE {len(schema.cuts[j].points)} END"
        kind = self._kind(j)
        if kind == TRUTH:
            return self.d.truth(name)
        if kind == SINGLE:
            return self._number(j)
        return self.d.unless_nan(name) if kind == NUMBER else self.d.exact_text(name)

    def _number(self, j: int) -> str:
        name = self.d.quote(self.schema.name(j))
        return self.d.as_number(self.d.truth(name) if self._kind(j) == TRUTH else name)

    def _kind(self, j: int) -> str:
        name = self.schema.name(j)
        return self.source.first_kinds([name])[name]

    # --- what comes back ---------------------------------------------------------------------------------------

    def count(self) -> Model:
        """The model of the rows that are there now."""
        with reader_errors(self.source.where):
            found = self.source.connection.rows(self.statement(), self.source.parameters)
        if any(row[1] is None for row in found):
            where = f"{self.source.where} have no label in {self.roles.target[0]!r}"
            raise LabelError(f"Some rows of {where}. Leave them out, with a query or a view.")
        if not found:
            raise self.source.no_rows()
        whole = [row for row in found if row[0] == -1]
        labels = [_plain(row[1]) for row in whole]
        codes, own = read_labels(labels, len(labels))
        classes = own if self.anew and not self.fitted.classes_fixed else union(self.fitted.classes, own)
        to = {row[1]: int(k) for row, k in zip(whole, positions(own, classes)[codes], strict=True)}
        weight = np.zeros(len(classes))
        for row in whole:
            weight[to[row[1]]] += float(row[2])
        return self._model(found, to, classes, weight)

    def empty(self) -> Model:
        """The model of no rows, without the levels and classes that are not declared: what rows are counted with."""
        classes = self.fitted.classes if self.fitted.classes_fixed else self.fitted.classes[:0]
        return self._model([], {}, classes, np.zeros(len(classes)))

    def _model(self, found: list[tuple[Any, ...]], to: dict[Any, int], classes: Array, weight: Floats) -> Model:
        schema, tables = self._tables(found, to, len(classes))
        sums = [
            replace(t, statistics=self._statistics(t, schema, tables, found, to, len(classes)))
            for t in self.fitted.terms
        ]
        return with_fitted(self.plan, Fitted(schema, classes, weight, tuple(sums), self.fitted.classes_fixed))

    def _tables(
        self, found: list[tuple[Any, ...]], to: dict[Any, int], K: int
    ) -> tuple[Schema, dict[tuple[int, ...], NDArray[np.float64]]]:
        """The schema with the levels that were met, and the counts of each set, (K, sizes of its columns …)."""
        sets = [_GroupedRows(group, []) for group in self.groups]
        for row in found:
            if 0 <= row[0] < len(sets):
                sets[row[0]].rows.append(row)
        schema, place = self._places(sets)
        tables = {}
        for group, rows in sets:
            table = np.zeros((K, *(self._size(schema, j) for j in group)))
            for row in rows:
                table[(to[row[1]], *(place[j][v] for j, v in zip(group, row[3:], strict=False)))] += float(row[2])
            tables[group] = table
        return schema, tables

    def _places(self, sets: list[_GroupedRows]) -> tuple[Schema, dict[int, dict[Any, int]]]:
        """The schema with the levels that were met, and the code of each value by column."""
        levels, place = dict(self.schema.levels), dict[int, dict[Any, int]]()
        for group, rows in sets:
            if len(group) == 1 and group[0] not in self.schema.cuts:
                (j,) = group
                met = {row[3]: self._label(j, row[3]) for row in rows}
                known = levels[j] if j in levels else self._nothing(j)
                levels[j] = known.extend(sorted(met.values(), key=lambda v: (str(type(v)), v)))
                index = levels[j].index()
                place[j] = {value: index[label] for value, label in met.items()}
            elif len(group) == 1:
                place[group[0]] = {row[3]: int(row[3]) for row in rows}
        return self.schema.with_levels(levels), place

    def _nothing(self, j: int) -> Levels:
        boolean = self._kind(j) == TRUTH
        return Levels().extend([False, True], declared=True) if boolean else Levels()

    def _label(self, j: int, value: Any) -> Any:
        kind = self._kind(j)
        if kind == TRUTH:
            return bool(int(value))
        label = _number(value) if kind in NUMBERS else str(value)
        check_integer(label, self.schema.name(j))
        return label

    def _size(self, schema: Schema, j: int) -> int:
        return len(schema.cuts[j].points) + 1 if j in schema.cuts else max(1, len(schema.levels[j]))

    def _statistics(
        self, term: Term, schema: Schema, tables: dict[tuple[int, ...], Any], found: list[tuple[Any, ...]],
        to: dict[Any, int], K: int,
    ) -> Any:  # fmt: skip
        d: Distribution = term.distribution
        what = counted_as(d)
        if what == "moments":
            return statistics_from(d, self._moment_statistics(term, found, to, K))
        sizes = np.array([self._size(schema, j) if (j,) in tables else 0 for j in term.columns], dtype=np.int64)
        parts = [tables[(j,)] if (j,) in tables else np.zeros((K, 0)) for j in term.columns]
        single = np.ascontiguousarray(np.concatenate(parts, axis=1))
        if what == "levels":
            return statistics_from(d, {"count": single, "sizes": sizes})
        chosen = [tables[tuple(term.columns[i] for i in some)] for some in _sets(term)]
        sets = [table.reshape(K, int(np.prod(table.shape[1:]))) for table in chosen]
        joint = np.concatenate(sets, axis=1) if sets else np.zeros((K, 0))
        small = joint.size == 0 or joint.max() <= np.iinfo(np.uint32).max
        joint = np.ascontiguousarray(joint.astype(np.uint32) if small else joint)
        return statistics_from(d, {"single": single, "sizes": sizes, "joint": joint})

    def _moment_statistics(
        self, term: Term, found: list[tuple[Any, ...]], to: dict[Any, int], K: int
    ) -> dict[str, Floats]:
        n, mean, low, m2 = (np.zeros((K, len(term.columns))) for _ in range(4))
        start = 3 + max((len(group) for group in self.groups), default=0)
        for row in found:
            if row[0] != len(self.groups):
                continue
            k = to[row[1]]
            for i, j in enumerate(term.columns):
                if j not in self.numbers:
                    continue
                at = start + 4 * self.numbers.index(j)
                many, about, first, second = row[at : at + 4]
                if many:
                    shift = float(first) / many
                    n[k, i], mean[k, i] = many, float(about) + shift
                    low[k, i] = (float(about) - mean[k, i]) + shift
                    m2[k, i] = max(0.0, float(second) - float(first) * shift)
        fine = np.isfinite(mean) & np.isfinite(m2)
        if not fine.all():
            name = self.schema.name(term.columns[int(np.argmin(fine.all(axis=0)))])
            raise TableError(
                f"Column {name!r} of {self.source.where} contains infinity, or numbers whose squares do not fit into a "
                "float64. Replace or rescale them in a query.",
                column=name,
            )
        return {"n": n, "mean": mean, "low": low, "m2": m2}


def counted_as(d: Distribution) -> Counted | None:
    """What a database could count for it; a subclass that adds in its own way does not inherit that of another."""
    counts = capability(d, SQLCounts)
    return None if counts is None else counts.counted_as()


def _declared(schema: Schema) -> Schema:
    """Without the levels that were only met."""
    lists = {j: Levels().extend([v.labels[i] for i in sorted(v.declared)], True) for j, v in schema.levels.items()}
    return schema.with_levels(lists)


def _sets(term: Term) -> list[tuple[int, ...]]:
    """The sets of columns of a network, by their places in the term."""
    t = term.distribution.tables(len(term.columns))  # type: ignore[attr-defined]
    flat, starts = t.columns.tolist(), t.starts.tolist()
    return [tuple(flat[a:b]) for a, b in pairwise(starts)]


def _number(value: Any) -> int | float:
    """A number that came as one or as text, to its last digit."""
    try:
        return int(value) if not isinstance(value, float) else int(value) if value.is_integer() else value
    except ValueError:
        number = float(value)
        return int(number) if number.is_integer() else number


def _plain(label: Any) -> Any:
    """A label as the library takes it."""
    if isinstance(label, Decimal):
        return int(label) if label == label.to_integral_value() else float(label)
    return label
