"""to_sql: a fitted model as one SELECT that gives the probabilities of every row, from the model's description.

Inside out: the values as the model reads them (codes, numbers); log P(x, class) of each class; the largest of them;
the exponentials; the answer. Each is a subquery with a fence where a database would else paste one into the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from tallybayes.data.schema import Schema
from tallybayes.engines.sql.sql_dialect import SqlDialect, dialect_of
from tallybayes.errors import ExportError, OptionError
from tallybayes.export.model_json import description

MAX_PATTERN_COLUMNS = 6  # columns of a Gaussian block up to which every pattern of missing values has its own density
MIN_EXPONENT = -700.0  # exp of less is 0 here: PostgreSQL refuses what is too small for a float64
MAX_SUM_TERMS = 100  # terms that are added in one chain
FORMS = ("table", "normal", "log-normal", "linear", "block", "network")
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)

Json = Any


def to_sql(
    model: object, dialect: str = "duckdb", table: str | Sequence[str] = "data", *, keep: Sequence[str] = ()
) -> str:
    """Write a fitted model as one SELECT: the most probable class and the probabilities of every row of a table.

    NULL (and NaN) is missing, as in the model: naive Bayes leaves its factor out, networks sum it out, a Gaussian block
    of up to six columns integrates it out; rows with a gap in a larger block get NULL. A category that was never met is
    left out, or the model's 'other'; with unseen='error' such rows get NULL.

    Parameters
    ----------
    model : fitted classifier of this library
        Naive Bayes of all distributions but kernel density, linear and quadratic discriminants, SPODE, TAN, KDB and
        other networks.
    dialect : {'duckdb', 'sqlite', 'postgresql'}, default='duckdb'
        Whose SQL.
    table : str or (schema, table), default='data'
        The table or view that holds the rows. It is quoted: whatever it is, it is only a name.
    keep : list of str, default=()
        Columns of the table to hand on.

    Returns
    -------
    str
        A statement with the columns to keep, ``prediction`` and ``proba_…`` for each class; equal to predict_proba to
        1e-9.

    Raises
    ------
    ExportError
        If the model has no such form; the message says why.

    Examples
    --------
    >>> import duckdb
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.export import to_sql
    >>> rows = [{"sky": "clear", "wind": 2.0}, {"sky": "grey", "wind": 9.5}, {"sky": "grey", "wind": 7.0}]
    >>> model = NaiveBayes().fit(rows, ["sail", "stay", "stay"])
    >>> db = duckdb.connect()
    >>> _ = db.execute("CREATE TABLE days AS SELECT 'grey' AS sky, 8.0 AS wind")
    >>> db.execute(to_sql(model, table="days")).fetchall()
    [('stay', 0.0, 1.0)]
    """
    schema = getattr(model, "schema_", None)
    if isinstance(schema, Schema) and schema.dates:
        raise ExportError(
            f"The column {schema.dates[0]!r} holds dates, which have no SQL here; predict_to scores any model "
            "outside the database."
        )
    d, told = dialect_of(dialect), description(model)
    return _Writer(d, told).select(d.table(table), [keep] if isinstance(keep, str) else list(keep))


class _Writer:
    """The parts of the statement. told: the model's description."""

    def __init__(self, dialect: SqlDialect, told: dict[str, Json]) -> None:
        self.d, self.told = dialect, told
        self.K = len(told["classes"])
        self.network: Json = next((t for t in told["terms"] if t["form"] == "network"), None)
        for term in told["terms"]:
            if term["form"] not in FORMS:
                raise ExportError(
                    f"A {told['estimator']} has no SQL: {_why(term['form'])}. Naive Bayes, discriminants, SPODE, TAN, "
                    "KDB and other networks have; predict_to scores any model outside the database."
                )

    def select(self, table: str, keep: list[str]) -> str:
        q, fence = self.d.quote, self.d.fence
        classes = self.told["classes"]
        made = ["prediction", *(f"proba_{_shown(label)}" for label in classes)]
        both = sorted(set(made) & set(keep))
        if both:
            raise OptionError(f"The answer has a column {both[0]!r} of its own: it cannot keep one of that name.")
        kept = [f"t.{q(name)} AS {q(f'tb keep {i}')}" for i, name in enumerate(keep)]
        held = [q(f"tb keep {i}") for i in range(len(keep))]
        k_joint, k_exp = [q(f"tb j{k}") for k in range(self.K)], [q(f"tb e{k}") for k in range(self.K)]
        codes = f"SELECT {', '.join([*kept, *self._codes(), *self._row_number()])} FROM {table} AS t{fence}"
        joint = self._joint(codes, held, k_joint)
        top, total = q("tb top"), q("tb total")
        tops = f"SELECT *, {self.d.greatest(k_joint)} AS {top} FROM ({joint}) AS t{fence}"
        pairs = zip(k_joint, k_exp, strict=True)
        exps = ", ".join(f"{self._exp(f'{j} - {top}', k)} AS {e}" for k, (j, e) in enumerate(pairs))
        exp = f"SELECT *, {exps} FROM ({tops}) AS t{fence}"
        sums = f"SELECT *, {' + '.join(k_exp)} AS {total} FROM ({exp}) AS t{fence}"
        answer = [f"{h} AS {q(name)}" for h, name in zip(held, keep, strict=True)]
        answer.append(f"{self._best(k_exp, classes)} AS {q('prediction')}")
        answer += [f"{e} / {total} AS {q(name)}" for e, name in zip(k_exp, made[1:], strict=True)]
        return f"SELECT {', '.join(answer)} FROM ({sums}) AS t"

    def _row_number(self) -> list[str]:
        """Rows of a network are spread over the values that are missing, and come together again by this."""
        return [f"ROW_NUMBER() OVER () AS {self.d.quote('tb row')}"] if self.network else []

    def _exp(self, expression: str, k: int) -> str:
        """exp of something that is at most 0. Where no class can explain a row the prior stands."""
        low, zero, inf = self.d.number(MIN_EXPONENT), self.d.number(0.0), self.d.infinite(False)
        start = self.told["start"][k]
        prior = self.d.number(0.0 if start is None else math.exp(start))
        return (
            f"CASE WHEN {self.d.quote('tb top')} = {inf} THEN {prior} WHEN {expression} < {low} THEN {zero} "
            f"ELSE EXP({expression}) END"
        )

    def _best(self, exps: Sequence[str], classes: Sequence[Json]) -> str:
        if len(classes) == 1:
            return f"CASE WHEN {exps[0]} IS NULL THEN NULL ELSE {self.d.label(classes[0])} END"
        most = self.d.greatest(exps)
        whens = " ".join(
            f"WHEN {e} = {most} THEN {self.d.label(label)}" for e, label in zip(exps, classes, strict=True)
        )
        return f"CASE {whens} END"

    # --- values ------------------------------------------------------------------------------------------------

    def _codes(self) -> list[str]:
        gone = {(self.network["columns"][j], v) for j, v in self.network["gone"]} if self.network else set()
        out = []
        for j, column in enumerate(self.told["columns"]):
            name = f"t.{self.d.quote(column['name'])}"  # alone, SQLite takes an unknown name for a text
            if column["reads"] == "number":
                value = self.d.as_number(name)
            elif column["reads"] == "cuts":
                value = self._interval(self.d.as_number(name), column["cuts"])
            else:
                value = self._level(name, column["levels"], {v for c, v in gone if c == j})
            out.append(f"{value} AS {self.d.quote(f'tb c{j}')}")
        return out

    def _interval(self, number: str, cuts: Sequence[float]) -> str:
        if not cuts:
            return f"CASE WHEN {number} IS NULL THEN -1 ELSE 0 END"
        whens = " ".join(f"WHEN {number} < {self.d.number(cut)} THEN {code}" for code, cut in enumerate(cuts))
        return f"CASE WHEN {number} IS NULL THEN -1 {whens} ELSE {len(cuts)} END"

    def _level(self, name: str, labels: Sequence[Json], gone: set[int]) -> str:
        numeric = all(isinstance(v, bool | int | float) for v in labels)
        truth = numeric and all(isinstance(v, bool) for v in labels)
        value = f"CAST({name} AS INTEGER)" if truth else self.d.as_number(name) if numeric else self.d.as_text(name)
        whens = " ".join(
            f"WHEN {self.d.number(float(v)) if numeric else self.d.text(str(v))} THEN {-1 if code in gone else code}"
            for code, v in enumerate(labels)
        )
        return f"CASE WHEN {name} IS NULL THEN -1 ELSE CASE {value} {whens} ELSE -2 END END" if labels else "-2"

    # --- log P(x, class) ---------------------------------------------------------------------------------------

    def _joint(self, codes: str, held: list[str], names: list[str]) -> str:
        if self.network is not None:
            return self._summed_out(codes, held, names)
        beta = self.told["beta"]
        out = []
        for k, name in enumerate(names):
            likelihood = _plus(self._beside(k)) or self.d.number(0.0)
            scaled = likelihood if beta == 1 else f"{self.d.number(beta)} * ({likelihood})"
            start = self.d.number(self.told["start"][k])
            out.append(f"{self._refusing(f'{start} + {scaled}')} AS {name}")
        return f"SELECT {', '.join([*held, *out])} FROM ({codes}) AS t{self.d.fence}"

    def _beside(self, k: int) -> list[str]:
        """The logarithms of the terms of class k, but for a network."""
        terms = [term for term in self.told["terms"] if term is not self.network]
        return [log for term in terms for log in getattr(self, f"_{term['form'].replace('-', '_')}")(term, k)]

    def _refusing(self, expression: str) -> str:
        """With unseen='error' a row with a category never met has no answer."""
        coded = [j for j, c in enumerate(self.told["columns"]) if c["reads"] == "levels"]
        if self.told["unseen"] != "error" or not coded:
            return expression
        seen = " AND ".join(f"{self.d.quote(f'tb c{j}')} <> -2" for j in coded)
        return f"CASE WHEN {seen} THEN {expression} END"

    def _column(self, term: Json, i: int) -> str:
        return self.d.quote(f"tb c{term['columns'][i]}")

    def _table(self, term: Json, k: int) -> Iterator[str]:
        for i, log in enumerate(term["log"]):
            other = term["other"][i][k] if term["other"] is not None else 0.0
            yield self._case(self._column(term, i), [each[k] for each in log], other, 0.0)

    def _case(self, code: str, logs: Sequence[float | None], other: float | None, missing: float) -> str:
        whens = " ".join(f"WHEN {c} THEN {self.d.number(v)}" for c, v in enumerate(logs))
        return f"CASE {code} WHEN -1 THEN {self.d.number(missing)} {whens} ELSE {self.d.number(other)} END"

    def _normal(self, term: Json, k: int) -> Iterator[str]:
        for i, variance in enumerate(term["variance"]):
            if variance[k] > 0:
                density = self._density(self._column(term, i), term["mean"][i][k], term["low"][i][k], variance[k])
                yield f"COALESCE({density}, {self.d.number(0.0)})"

    def _log_normal(self, term: Json, k: int) -> Iterator[str]:
        for i, variance in enumerate(term["variance"]):
            x, above = self._column(term, i), self.d.number(term["above"][i][k])
            if variance[k] > 0:
                above += f" + {self._density(f'LN({x})', term['mean'][i][k], term['low'][i][k], variance[k])}"
            zero, nothing = self.d.number(term["zero"][i][k]), self.d.number(0.0)
            yield f"CASE WHEN {x} IS NULL THEN {nothing} WHEN {x} > 0 THEN {above} ELSE {zero} END"

    def _density(self, x: str, mean: float, low: float, variance: float) -> str:
        z = f"({x} - {self.d.number(mean)})" + (f" - {self.d.number(low)}" if low else "")
        constant = -HALF_LOG_2PI - 0.5 * math.log(variance)
        return f"({self.d.number(constant)} - {self.d.square(z)} / {self.d.number(2 * variance)})"

    def _linear(self, term: Json, k: int) -> Iterator[str]:
        zero = self.d.number(0.0)
        for i, weight in enumerate(term["weight"]):
            x, bias = self._column(term, i), 0.0 if term["bias"] is None else term["bias"][i][k]
            if weight[k] is None:
                inf = self.d.infinite(False)
                yield f"CASE WHEN {x} > 0 THEN {inf} WHEN {x} IS NULL THEN {zero} ELSE {self.d.number(bias)} END"
            else:
                yield f"COALESCE({x} * {self.d.number(weight[k])} + {self.d.number(bias)}, {zero})"

    def _block(self, term: Json, k: int) -> Iterator[str]:
        keep = term["keep"]
        if not keep:
            return
        p = len(keep)
        factor = np.zeros((p, p))
        rows = term["factor"][k if len(term["factor"]) > 1 else 0]
        for i, row in enumerate(rows):
            factor[i, : i + 1] = row
        centre = [(term["mean"][k][j], term["low"][k][j]) for j in keep]
        xs = [self._column(term, j) for j in keep]
        whole = self._gaussian(xs, centre, factor)
        if p > MAX_PATTERN_COLUMNS:
            yield whole
            return
        root = _inverse(factor)  # covariance = root rootᵀ: never multiplied out, which would lose half of the digits
        whens = [f"WHEN {' AND '.join(f'{x} IS NOT NULL' for x in xs)} THEN {whole}"]
        for size in range(p - 1, 0, -1):
            for some in combinations(range(p), size):
                there = [f"{x} IS {'NOT ' if i in some else ''}NULL" for i, x in enumerate(xs)]
                part = _inverse(np.linalg.qr(root[list(some)].T)[1].T)
                own = self._gaussian([xs[i] for i in some], [centre[i] for i in some], part)
                whens.append(f"WHEN {' AND '.join(there)} THEN {own}")
        yield f"CASE {' '.join(whens)} ELSE {self.d.number(0.0)} END"

    def _gaussian(self, xs: Sequence[str], centre: Sequence[tuple[float, float]], factor: Any) -> str:
        """log N(x), where |factor (x − mean)|² is the squared distance and factor is a lower triangle."""
        z = [
            f"({x} - {self.d.number(m)}{f' - {self.d.number(low)}' if low else ''})"
            for x, (m, low) in zip(xs, centre, strict=True)
        ]
        constant = float(np.log(np.abs(np.diag(factor))).sum()) - len(xs) * HALF_LOG_2PI
        squares = [
            self.d.square(" + ".join(f"{self.d.number(float(f))} * {z[j]}" for j, f in enumerate(row[: i + 1])))
            for i, row in enumerate(factor)
        ]
        return f"({self.d.number(constant)} - ({' + '.join(squares)}) / 2)"

    # --- networks ----------------------------------------------------------------------------------------------

    def _summed_out(self, codes: str, held: list[str], names: list[str]) -> str:
        """A row whose parents have gaps stands for all rows with their levels in the gaps: each is scored, and summed.

        Only columns with children are spread; a child that is missing has shares that sum to 1.
        """
        q, term, fence = self.d.quote, self.network, self.d.fence
        spread = sorted({j for f in [*term["families"], *term["reals"]] for j in f["parents"]})
        full = [q(f"tb v{i}") for i in range(len(term["columns"]))]
        source = f"({codes}) AS t"
        chosen = ["t.*"]
        for i in range(len(term["sizes"])):
            here = f"t.{self._column(term, i)}"
            if i in spread:
                pairs = self._completions(term["sizes"][i])
                source += f" JOIN ({pairs}) AS m{i} ON m{i}.c = CASE WHEN {here} < 0 THEN -1 ELSE {here} END"
                chosen.append(f"m{i}.v AS {full[i]}")
            else:
                chosen.append(f"{here} AS {full[i]}")
        spread_rows = f"SELECT {', '.join(chosen)} FROM {source}{fence}"
        logs_of = (_plus([self._families(k, full), *self._beside(k)]) for k in range(self.K))
        own = [f"{self._refusing(log)} AS {name}" for log, name in zip(logs_of, names, strict=True)]
        scored = f"SELECT {', '.join([*held, q('tb row'), *own])} FROM ({spread_rows}) AS t{fence}"
        largest = f"MAX({self.d.greatest(names)}) OVER (PARTITION BY {q('tb row')}) AS {q('tb most')}"
        tops = f"SELECT *, {largest} FROM ({scored}) AS t{fence}"
        most, inf = q("tb most"), self.d.infinite(False)
        low, zero = self.d.number(MIN_EXPONENT), self.d.number(0.0)
        sums = []
        for name in names:
            gap = f"{name} - {most}"
            sums.append(f"SUM(CASE WHEN {most} = {inf} OR {gap} < {low} THEN {zero} ELSE EXP({gap}) END) AS {name}")
        firsts = [f"{self.d.any(h)} AS {h}" for h in held]
        grouped = (
            f"SELECT {', '.join([*firsts, f'MIN({most}) AS {most}', *sums])} FROM ({tops}) AS t GROUP BY {q('tb row')}"
        )
        logs = []
        for k, name in enumerate(names):
            beta, start = self.d.number(self.told["beta"]), self.d.number(self.told["start"][k])
            log = f"{start} + {beta} * ({most} + LN({name}))"
            logs.append(f"CASE WHEN {name} > 0 THEN {log} WHEN {name} = 0 THEN {inf} END AS {name}")
        return f"SELECT {', '.join([*held, *logs])} FROM ({grouped}) AS t{fence}"

    def _completions(self, size: int) -> str:
        """(code, value): the value itself, or every value where it is missing."""
        pairs = [(c, c) for c in range(size)] + [(-1, v) for v in range(size)]
        rows = " UNION ALL ".join(f"SELECT {c}, {v}" for c, v in pairs[1:])
        return f"SELECT {pairs[0][0]} AS c, {pairs[0][1]} AS v UNION ALL {rows}"

    def _families(self, k: int, full: Sequence[str]) -> str:
        term, sizes = self.network, self.network["sizes"]
        parts = []
        for family in term["families"]:
            order = [*family["parents"], family["child"]]
            parts.append(self._cell(full[family["child"]], order, sizes, full, [row[k] for row in family["log"]]))
        for i, real in enumerate(term["reals"], start=len(sizes)):
            x, cells = self._column(term, i), []
            for mean, variance in zip(real["mean"], real["variance"], strict=True):
                fine = variance[k] is not None and variance[k] > 0
                cells.append(self._density(x, mean[k], 0.0, variance[k]) if fine else self.d.number(0.0))
            place = self._place(real["parents"], sizes, full)
            whens = " ".join(f"WHEN {c} THEN {density}" for c, density in enumerate(cells))
            parts.append(f"CASE WHEN {x} IS NULL THEN {self.d.number(0.0)} ELSE CASE {place} {whens} END END")
        return _plus(parts) or self.d.number(0.0)

    def _cell(
        self, child: str, order: Sequence[int], sizes: Sequence[int], full: Sequence[str], logs: Sequence[float | None]
    ) -> str:
        place = self._place(order, sizes, full)
        whens = " ".join(f"WHEN {c} THEN {self.d.number(v)}" for c, v in enumerate(logs))
        return f"CASE WHEN {child} < 0 THEN {self.d.number(0.0)} ELSE CASE {place} {whens} END END"

    def _place(self, order: Sequence[int], sizes: Sequence[int], full: Sequence[str]) -> str:
        place = "0"
        for j in order:
            place = full[j] if place == "0" else f"({place}) * {sizes[j]} + {full[j]}"
        return place


def _inverse(triangle: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of a lower triangle, whatever the units of its rows."""
    found: NDArray[np.float64] = solve_triangular(triangle, np.eye(len(triangle)), lower=True)
    return found


def _plus(terms: Sequence[str]) -> str:
    """Their sum, some at a time: a chain of a thousand is deeper than DuckDB and SQLite go."""
    while len(terms) > MAX_SUM_TERMS:
        terms = [f"({' + '.join(terms[i : i + MAX_SUM_TERMS])})" for i in range(0, len(terms), MAX_SUM_TERMS)]
    return " + ".join(terms)


def _shown(label: Json) -> str:
    return str(label)


def _why(form: str) -> str:
    return {
        "kernel": "a kernel density looks at every value that was learned, for every row",
        "average": "an average over networks is a logarithm of a sum for every row and parent",
        "ensemble": "an ensemble has thousands of tables",
    }.get(form, f"the form {form!r} is not written as SQL")
