"""to_sql: a fitted model as one SELECT that gives the probabilities of every row, from the model's description.

Inside out: the values as the model reads them (codes, numbers); log P(x, class) of each class; the largest of them;
the exponentials; the prediction. Each is a subquery with a fence where a database would else inline one into the other.
Long lists of labels and the tables of networks are relations that are joined: a CASE of n branches costs n per row.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from tallybayes.data.schema import Schema
from tallybayes.distributions.statistics import HALF_LOG_2PI
from tallybayes.engines.sql.sql_average import average_scores
from tallybayes.engines.sql.sql_dialect import SqlDialect, dialect_of
from tallybayes.engines.sql.sql_ensemble import ensemble_scores, why_no_sql
from tallybayes.engines.sql.sql_relations import values
from tallybayes.errors import ExportError, OptionError, listing
from tallybayes.export.model_json import description, predictor_of

MAX_PATTERN_COLUMNS = 6  # columns of a Gaussian block up to which every pattern of missing values has its own density
MIN_EXPONENT = -700.0  # exp of less is 0 here: PostgreSQL refuses what is too small for a float64
MAX_CHAIN_TERMS = 100  # terms of one chain of operators
MAX_CASE_BRANCHES = 16  # a longer list of labels or logarithms is joined
MAX_JOINS = 40  # lookups of one subquery: SQLite joins 64 tables at most
MAX_COMPLETIONS = 4096  # combinations of missing parents that are summed out for one row
MIN_MAGNITUDE = 1e-160  # and to this, in units of the widest, where a square that is too small is an error
MAX_MAGNITUDE = 1e145  # numbers are clamped to it, in units of the narrowest density: their squares fit into a float64
FORMS = ("table", "normal", "log-normal", "linear", "block", "network", "average", "ensemble")
BY_COLUMN = ("table", "normal", "log-normal", "linear", "ensemble")  # forms whose columns have evidence of their own
TOGETHER = "(together)"  # what belongs to no column

INSTEAD = "predict_to scores any model outside the database."

Json = Any


def to_sql(
    model: object,
    dialect: str | SqlDialect = "duckdb",
    table: str | Sequence[str] = "data",
    *,
    keep: Sequence[str] = (),
    evidence: bool = False,
) -> str:
    """Write a fitted model as one SELECT that gives class and probabilities for each row of a table.

    NULL (and NaN) is missing, as in the model: naive Bayes leaves its factor out, networks sum it out, a Gaussian block
    of up to six columns integrates it out. Rows with a missing value in a larger block get NULL; so do rows of networks
    whose missing parents have more than 4,096 combinations of values. Where that can happen, the statement begins with
    a comment that says so. An unseen category is left out, or the model's 'other'; with unseen='error' such rows get
    NULL. So do rows with what the model refuses, infinities and negative counts, and in SQLite text that is no number
    in a column of numbers, which the other databases refuse. The rows come in no particular order: `keep` a key to join
    them by.

    Parameters
    ----------
    model : fitted classifier of this library
        Naive Bayes of all distributions but kernel density, linear and quadratic discriminants, SPODE, TAN, KDB and
        other networks, AODE, AnDE; BayesClassifier of up to 400,000 cells, which ``effort='fast'`` mostly has.
    dialect : {'duckdb', 'sqlite', 'postgresql'} or SqlDialect, default='duckdb'
        Whose SQL.
    table : str or (schema, table), default='data'
        The table or view that holds the rows. It is quoted: whatever it is, it is only a name.
    keep : list of str, default=()
        Columns of the table to hand on.
    evidence : bool, default=False
        Whether to add a column ``evidence_…_…`` for each column and class: what the column adds to log P(x, class), as
        `explain` gives it. Of a `BayesClassifier` those of ``(together)`` belong to no column. Naive Bayes and
        `BayesClassifier` have it.

    Returns
    -------
    str
        A statement with the columns to keep, ``prediction`` and ``proba_…`` for each class; equal to predict_proba to
        1e-9. Tables of networks and long lists of labels are in it as relations.

    Raises
    ------
    ExportError
        If the model has no such form; the message says why.

    See Also
    --------
    to_onnx : An ONNX graph.

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
    d, predictor, effort = dialect_of(dialect), predictor_of(model), getattr(model, "effort", None)
    who = f"This {predictor.options.who} has no SQL"
    if why := why_no_sql(predictor, effort):  # before its tables are described, which takes seconds
        raise ExportError(f"{who}: {why}. {INSTEAD}")
    writer = SqlWriter(d, description(predictor), d.table(table), evidence, effort)
    try:
        return writer.select([keep] if isinstance(keep, str) else list(keep))
    except ExportError as e:
        raise ExportError(f"{who}: {e}. {INSTEAD}") from None


class Lookup(NamedTuple):
    """A relation that rows are joined with, the key of a row, and names for what is found."""

    table: str
    key: str
    columns: Sequence[str]


class SqlWriter:
    """The parts of the statement. document: the model's description; effort: that of a BayesClassifier."""

    def __init__(
        self, dialect: SqlDialect, document: dict[str, Json], table: str, evidence: bool = False, effort: object = None
    ) -> None:
        self.d, self.document, self.table, self.evidence = dialect, document, table, evidence
        self.effort = effort
        self.K = len(document["classes"])
        self.ctes: list[str] = []
        terms: list[Json] = document["terms"]
        self.network: Json = next((t for t in terms if t["form"] == "network"), None)
        self.relational: Json = next((t for t in terms if t["form"] in ("average", "ensemble")), None)

    def _check(self) -> None:
        for term in self.document["terms"]:
            if term["form"] not in FORMS:
                raise ExportError(_why(term["form"], [self.document["columns"][j]["name"] for j in term["columns"]]))
            if self.evidence and term["form"] not in BY_COLUMN:
                raise ExportError(
                    "its columns share their evidence, which is written for naive Bayes and BayesClassifier"
                )

    def select(self, keep: list[str]) -> str:
        """The whole statement."""
        self._check()
        q, fence = self.d.quote, self.d.fence
        classes = self.document["classes"]
        said = self._evidence_names()
        made = ["prediction", *(f"proba_{_shown(label)}" for label in classes)]
        both = sorted({*made, *said} & set(keep))
        if both:
            raise OptionError(f"The answer has a column {both[0]!r} of its own: it cannot keep one of that name.")
        kept = [f"t.{q(name)} AS {q(f'tb keep {i}')}" for i, name in enumerate(keep)]
        held = [q(f"tb keep {i}") for i in range(len(keep))]
        k_joint, k_exp = [q(f"tb j{k}") for k in range(self.K)], [q(f"tb e{k}") for k in range(self.K)]
        names = [q(f"tb said {i}") for i in range(len(said))]
        codes = self._codes(kept, held)
        joint = self._with_evidence(codes, held, k_joint, names) if said else self._joint(codes, held, k_joint)
        top, total = q("tb top"), q("tb total")
        tops = f"SELECT *, {self.d.greatest(k_joint)} AS {top} FROM ({joint}) AS t{fence}"
        pairs = zip(k_joint, k_exp, strict=True)
        exps = ", ".join(f"{self._exp(f'{j} - {top}', k)} AS {e}" for k, (j, e) in enumerate(pairs))
        exp = f"SELECT *, {exps} FROM ({tops}) AS t{fence}"
        sums = f"SELECT *, {' + '.join(k_exp)} AS {total} FROM ({exp}) AS t{fence}"
        answer = [f"{h} AS {q(name)}" for h, name in zip(held, keep, strict=True)]
        answer.append(f"{self._best(k_exp, classes)} AS {q('prediction')}")
        answer += [f"{e} / {total} AS {q(name)}" for e, name in zip(k_exp, made[1:], strict=True)]
        answer += [f"{own} AS {q(name)}" for own, name in zip(names, said, strict=True)]
        first = f"WITH {', '.join(self.ctes)} " if self.ctes else ""
        return f"{self._note()}{first}SELECT {', '.join(answer)} FROM ({sums}) AS t"

    def _note(self) -> str:
        """A comment on rows with NULL that get no prediction. It has no names: one could end the comment."""
        notes = []
        if any(len(term["keep"]) > MAX_PATTERN_COLUMNS for term in self.document["terms"] if term["form"] == "block"):
            notes.append("A row with NULL in a column of the discriminant gets NULL.")
        if self.network is not None:
            parents = {p for _, family in self._families() for p in family["parents"]}
            if math.prod(self.network["sizes"][p] for p in parents) > MAX_COMPLETIONS:
                notes.append(f"A row whose missing parents have more than {MAX_COMPLETIONS:,} combinations gets NULL.")
        return f"/* {' '.join(notes)} {INSTEAD} */ " if notes else ""

    def _evidence_names(self) -> list[str]:
        if not self.evidence:
            return []
        columns = [column["name"] for column in self.document["columns"]]
        columns += [TOGETHER] * (self.relational is not None)
        return [f"evidence_{name}_{_shown(label)}" for name in columns for label in self.document["classes"]]

    def _with_evidence(self, codes: str, held: list[str], names: list[str], said: list[str]) -> str:
        """The rows with what each column adds, and with the sums of that."""
        groups, beta = self._groups(codes), self.d.number(self.document["beta"])
        rows, by_column = groups
        out, K = [], self.K
        for i, name in enumerate(said):
            own = f"{beta} * ({by_column[i // K][i % K]})" if self.document["beta"] != 1 else by_column[i // K][i % K]
            out.append(f"{self._refusing(own)} AS {name}")
        rows = f"SELECT {', '.join([*held, *out])} FROM ({rows}) AS t{self.d.fence}"
        sums = []
        for k, name in enumerate(names):
            start = self.d.number(self.document["start"][k])
            sums.append(f"{_chain([start, *said[k::K]])} AS {name}")
        return f"SELECT {', '.join([*held, *said, *sums])} FROM ({rows}) AS t{self.d.fence}"

    def _groups(self, codes: str) -> tuple[str, list[list[str]]]:
        """The rows, and what each column and class adds to log P(x | class)."""
        if self.relational is not None:
            rows, found = ensemble_scores(self, self.relational, codes, evidence=True)
            order = self.relational["columns"]
            return rows, [found[order.index(j)] for j in range(len(order))] + [found[-1]]
        rows, _ = self._tables(codes)
        out: list[list[str]] = [[] for _ in self.document["columns"]]
        joined = self.joined
        for term in self.document["terms"]:
            for i, j in enumerate(term["columns"]):
                own = {key: [v[i]] if isinstance(v, list) else v for key, v in term.items() if key != "form"}
                own["form"] = term["form"]
                for k in range(self.K):
                    if (j, k) in joined:
                        out[j].append(joined[j, k])
                    else:
                        logs = list(getattr(self, f"_{term['form'].replace('-', '_')}")(own, k))
                        out[j].append(_chain(logs) or self.d.number(0.0))
        return rows, out

    def numbered(self, term: Json, codes: str) -> str:
        """The name of the rows with a number, and the codes c0, c1 … of a term's columns, of which -1 is missing."""
        name, made = self.cte("row"), []
        for i, size in enumerate(term["sizes"]):
            own = f"t.{self._column(term, i)}"
            gone = [str(v) for j, v in term["gone"] if j == i]
            out = f" OR {own} IN ({', '.join(gone)})" if gone else ""
            made.append(f"CASE WHEN {own} < 0 OR {own} >= {size}{out} THEN -1 ELSE {own} END AS c{i}")
        row = f"{self.d.row_number} AS {self.d.quote('tb row')}"
        select = f"SELECT t.*, {', '.join([row, *made])} FROM ({codes}) AS t{self.d.fence}"
        self.ctes.append(f"{name} AS {self.d.materialized}({select})")
        return name

    def step(self, query: str) -> str:
        """A query as a common table expression: parsers do not go deep."""
        name = self.cte(f"step {len(self.ctes)}")
        self.ctes.append(f"{name} AS {self.d.materialized}({query})")
        return f"SELECT * FROM {name}"

    def cte(self, name: str) -> str:
        """An unused name for a common table expression."""
        return self._name(f"tb {name}")

    def lookup(self, rows: Sequence[Sequence[float | None]], key: str, columns: Sequence[str]) -> Lookup:
        """Rows of a key and numbers, and how they are joined."""
        return Lookup(self._relation(rows), key, columns)

    def looked_up(self, rows: str, lookups: Sequence[Lookup]) -> str:
        """The rows with what is found in some tables as further columns."""
        return self._looked_up(rows, lookups)

    def chain(self, terms: Sequence[str]) -> str:
        """A sum of many terms."""
        return _chain(terms)

    def _name(self, name: str) -> str:
        """The name of a common table expression, which is not that of the table of the rows."""
        return self.d.unused(name, self.table)

    def _relation(self, rows: Sequence[Sequence[float | None]]) -> str:
        """The name of a common table expression of rows of numbers (k, v0, v1 …); None is minus infinity."""
        name = self._name(f"tb v{len(self.ctes)}")
        columns = ["k", *(f"v{i}" for i in range(len(rows[0]) - 1))]
        cells = [[-math.inf if v is None else v for v in row] for row in rows]
        self.ctes.append(values(self.d, name, columns, cells))
        return name

    def _texts(self, labels: Sequence[str], codes: Sequence[int]) -> str:
        """The name of a common table expression (k, v0) of texts and their codes."""
        name = self._name(f"tb v{len(self.ctes)}")
        rows = ((self.d.text(label), str(code)) for label, code in zip(labels, codes, strict=True))
        self.ctes.append(f"{name}(k, v0) AS ({self.d.values(rows)})")
        return name

    def _looked_up(self, rows: str, lookups: Sequence[Lookup]) -> str:
        """The rows with what is found in some tables as further columns."""
        for first in range(0, len(lookups), MAX_JOINS):
            some = lookups[first : first + MAX_JOINS]
            columns = [f"{at.table}.v{i} AS {name}" for at in some for i, name in enumerate(at.columns)]
            joins = "".join(f" LEFT JOIN {at.table} ON {at.table}.k = {at.key}" for at in some)
            rows = f"SELECT {', '.join(['t.*', *columns])} FROM ({rows}) AS t{joins}{self.d.fence}"
        return rows

    def _exp(self, expression: str, k: int) -> str:
        """exp of something that is at most 0. Where no class can explain a row the prior stands."""
        low, zero, inf = self.d.number(MIN_EXPONENT), self.d.number(0.0), self.d.infinite(False)
        start = self.document["start"][k]
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

    def _codes(self, kept: list[str], held: list[str]) -> str:
        """The rows as the model reads them: numbers, and codes of which -1 is missing and -2 unseen."""
        gone = {(self.network["columns"][j], v) for j, v in self.network["gone"]} if self.network else set()
        read, out, refused = list(kept), list(held), []
        later: list[Lookup] = []
        for j, column in enumerate(self.document["columns"]):
            name = f"t.{self.d.quote(column['name'])}"  # alone, SQLite takes an unknown name for a text
            code = self.d.quote(f"tb c{j}")
            if column["reads"] == "levels":
                value, lookup = self._level(name, column["levels"], {v for c, v in gone if c == j}, j)
                if lookup is not None:
                    later.append(lookup)
                    found = lookup.columns[0]
                    out.append(f"CASE WHEN {code} IS NULL THEN -1 ELSE COALESCE({found}, -2) END AS {code}")
                else:
                    out.append(code)
            else:
                number = self.d.as_number(name)
                refused += [*self.d.not_a_number(name), self._not_allowed(number, j)]
                cuts = column["reads"] == "cuts"
                value = self._interval(number, column["cuts"]) if cuts else self._clamped(number, j)
                out.append(code)
            read.append(f"{value} AS {code}")
        if refused:
            read.append(f"CASE WHEN {_chain(refused, ' OR ')} THEN 1 ELSE 0 END AS {self.d.quote('tb bad')}")
            out.append(self.d.quote("tb bad"))
        self.refuses = bool(refused)
        rows = f"SELECT {', '.join(read)} FROM {self.table} AS t{self.d.fence}"
        return f"SELECT {', '.join(out)} FROM ({self._looked_up(rows, later)}) AS t{self.d.fence}" if later else rows

    def _not_allowed(self, number: str, j: int) -> str:
        """Whether the model refuses a number: an infinity, or less than 0 where it counts."""
        counts = any(term["form"] == "linear" and j in term["columns"] for term in self.document["terms"])
        low, high = self.d.number(0.0 if counts else -sys.float_info.max), self.d.number(sys.float_info.max)
        return f"({number} < {low} OR {number} > {high})"

    def _spreads(self, j: int) -> list[float]:
        """The standard deviations of a column in all densities, and 1; none if only its logarithm is used."""
        out = [1.0]
        for term in self.document["terms"]:
            for i in (i for i, c in enumerate(term["columns"]) if c == j):
                if term["form"] == "log-normal":
                    return []
                if term["form"] == "normal":
                    out += [math.sqrt(v) for v in term["variance"][i] if v > 0]
                elif term["form"] == "block":
                    out += [1 / abs(f) for rows in term["factor"] for row in rows for f in row if f]
                elif term["form"] == "network":
                    real = term["reals"][i - len(term["sizes"])]
                    out += [math.sqrt(v) for cell in real["variance"] for v in cell if v is not None and v > 0]
        return out

    def _clamped(self, number: str, j: int) -> str:
        """A number whose square, and whose product with a weight, is a float64."""
        spreads = self._spreads(j)
        if not spreads:
            return number
        bound, least = MAX_MAGNITUDE * min(spreads), MIN_MAGNITUDE * max(spreads)
        high, low = self.d.number(bound), self.d.number(-bound)
        whens = f"WHEN {number} > {high} THEN {high} WHEN {number} < {low} THEN {low}"
        if self.d.refuses_underflow and least < bound:
            up, down = self.d.number(least), self.d.number(-least)
            whens += (
                f" WHEN {number} > 0 AND {number} < {up} THEN {up} WHEN {number} < 0 AND {number} > {down} THEN {down}"
            )
        return f"CASE {whens} ELSE {number} END"

    def _interval(self, number: str, cuts: Sequence[float]) -> str:
        if not cuts:
            return f"CASE WHEN {number} IS NULL THEN -1 ELSE 0 END"
        whens = " ".join(f"WHEN {number} < {self.d.number(cut)} THEN {code}" for code, cut in enumerate(cuts))
        return f"CASE WHEN {number} IS NULL THEN -1 {whens} ELSE {len(cuts)} END"

    def _level(self, name: str, labels: Sequence[Json], gone: set[int], j: int) -> tuple[str, Lookup | None]:
        """The code of a label by CASE; of one among many the label itself, and the lookup of its code."""
        if not labels:
            return f"CASE WHEN {name} IS NULL THEN -1 ELSE -2 END", None
        numeric = all(isinstance(v, bool | int | float) for v in labels)
        truth = numeric and all(isinstance(v, bool) for v in labels)
        value = self.d.truth(name) if truth else self.d.as_number(name) if numeric else self.d.exact_text(name)
        codes = [-1 if c in gone else c for c in range(len(labels))]
        if len(labels) > MAX_CASE_BRANCHES:
            code, found = f"t.{self.d.quote(f'tb c{j}')}", [self.d.quote(f"tb l{j}")]
            if numeric:
                return value, self.lookup([(float(v), c) for v, c in zip(labels, codes, strict=True)], code, found)
            return value, Lookup(self._texts(list(map(str, labels)), codes), self.d.exact(code), found)
        shown = [self.d.number(float(v)) if numeric else self.d.text(str(v)) for v in labels]
        whens = " ".join(f"WHEN {label} THEN {c}" for label, c in zip(shown, codes, strict=True))
        return f"CASE WHEN {name} IS NULL THEN -1 ELSE CASE {value} {whens} ELSE -2 END END", None

    # --- log P(x, class) ---------------------------------------------------------------------------------------

    def _joint(self, codes: str, held: list[str], names: list[str]) -> str:
        if self.network is not None:
            return self._network_joint(codes, held, names)
        rows, logs = self._tables(codes)
        if self.relational is not None:
            rows, found = self._relational(rows)
            logs = [[*own, log] for own, log in zip(logs, found, strict=True)]
        beta = self.document["beta"]
        out = []
        for k, name in enumerate(names):
            likelihood = _chain([*logs[k], *self._beside(k)]) or self.d.number(0.0)
            scaled = likelihood if beta == 1 else f"{self.d.number(beta)} * ({likelihood})"
            start = self.d.number(self.document["start"][k])
            out.append(f"{self._refusing(f'{start} + {scaled}')} AS {name}")
        return f"SELECT {', '.join([*held, *out])} FROM ({rows}) AS t{self.d.fence}"

    def _relational(self, codes: str) -> tuple[str, list[str]]:
        term = self.relational
        if term["form"] == "average":
            rows, found = average_scores(self, term, codes)
        else:
            rows, found = ensemble_scores(self, term, codes, evidence=False)
        return rows, found[0]

    def _tables(self, rows: str) -> tuple[str, list[list[str]]]:
        """The rows joined with the tables of columns of many levels, and what these add to the score of each class."""
        found: list[Lookup] = []
        logs: list[list[str]] = [[] for _ in range(self.K)]
        self.joined: dict[tuple[int, int], str] = {}
        for term in (t for t in self.document["terms"] if t["form"] == "table"):
            for i, log in enumerate(term["log"]):
                if len(log) <= MAX_CASE_BRANCHES:
                    continue
                names = [self.d.quote(f"tb p{len(found)} {k}") for k in range(self.K)]
                code = self._column(term, i)
                found.append(self.lookup([(c, *each) for c, each in enumerate(log)], f"t.{code}", names))
                for k, name in enumerate(names):
                    other = self.d.number(term["other"][i][k] if term["other"] is not None else 0.0)
                    zero = self.d.number(0.0)
                    logs[k].append(f"CASE WHEN {code} = -1 THEN {zero} ELSE COALESCE({name}, {other}) END")
                    self.joined[term["columns"][i], k] = logs[k][-1]
        return self._looked_up(rows, found), logs

    def _beside(self, k: int) -> list[str]:
        """The logarithms of the terms of class k, but for a network."""
        terms = [term for term in self.document["terms"] if term not in (self.network, self.relational)]
        return [log for term in terms for log in getattr(self, f"_{term['form'].replace('-', '_')}")(term, k)]

    def _refusing(self, expression: str) -> str:
        """Rows that are refused have no prediction: with unseen='error' those with an unseen category."""
        coded = [j for j, c in enumerate(self.document["columns"]) if c["reads"] == "levels"]
        fine = [f"{self.d.quote(f'tb c{j}')} <> -2" for j in coded if self.document["unseen"] == "error"]
        fine += [f"{self.d.quote('tb bad')} = 0"] if self.refuses else []
        return f"CASE WHEN {_chain(fine, ' AND ')} THEN {expression} END" if fine else expression

    def _column(self, term: Json, i: int) -> str:
        return self.d.quote(f"tb c{term['columns'][i]}")

    def _table(self, term: Json, k: int) -> Iterator[str]:
        for i, log in enumerate(term["log"]):
            if len(log) > MAX_CASE_BRANCHES:
                continue  # joined
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
        offset = None
        if len(term["factor"]) == 1:  # squares that all classes share cancel; far away they would swamp the rest
            middle = np.mean([[row[j] for j in keep] for row in term["mean"]], axis=0)
            offset = np.array([(m - c) + low for (m, low), c in zip(centre, middle.tolist(), strict=True)])
            centre = [(c, 0.0) for c in middle.tolist()]
        xs = [self._column(term, j) for j in keep]
        whole = self._gaussian(xs, centre, factor, offset)
        if p > MAX_PATTERN_COLUMNS:
            yield whole
            return
        whens = [f"WHEN {' AND '.join(f'{x} IS NOT NULL' for x in xs)} THEN {whole}"]
        whens += self._marginals(xs, centre, factor, offset)
        yield f"CASE {' '.join(whens)} ELSE {self.d.number(0.0)} END"

    def _marginals(
        self, xs: Sequence[str], centre: Sequence[tuple[float, float]], factor: Any, offset: Any
    ) -> Iterator[str]:
        """The density of each set of columns that have a value while the others are missing."""
        root = _inverse(factor)  # covariance = root rootᵀ: never multiplied out, which would lose half of the digits
        for size in range(len(xs) - 1, 0, -1):
            for some in combinations(range(len(xs)), size):
                there = [f"{x} IS {'NOT ' if i in some else ''}NULL" for i, x in enumerate(xs)]
                part = _inverse(np.linalg.qr(root[list(some)].T)[1].T)
                shift = None if offset is None else offset[list(some)]
                own = self._gaussian([xs[i] for i in some], [centre[i] for i in some], part, shift)
                yield f"WHEN {' AND '.join(there)} THEN {own}"

    def _gaussian(
        self, xs: Sequence[str], centre: Sequence[tuple[float, float]], factor: Any, offset: Any = None
    ) -> str:
        """log N(x), where |factor (x − mean)|² is the squared distance and factor is a lower triangle.

        With an offset the mean is centre + offset, and what does not depend on it is left out: a linear form.
        """
        z = [
            f"({x} - {self.d.number(m)}{f' - {self.d.number(low)}' if low else ''})"
            for x, (m, low) in zip(xs, centre, strict=True)
        ]
        if offset is not None:
            u = factor @ offset
            terms = [f"{self.d.number(float(w))} * {x}" for w, x in zip(factor.T @ u, z, strict=True)]
            return f"({_chain(terms)} - {self.d.number(float(u @ u) / 2)})"
        constant = float(np.log(np.abs(np.diag(factor))).sum()) - len(xs) * HALF_LOG_2PI
        squares = [
            self.d.square(" + ".join(f"{self.d.number(float(f))} * {z[j]}" for j, f in enumerate(row[: i + 1])))
            for i, row in enumerate(factor)
        ]
        return f"({self.d.number(constant)} - ({' + '.join(squares)}) / 2)"

    # --- networks ----------------------------------------------------------------------------------------------

    def _network_joint(self, codes: str, held: list[str], names: list[str]) -> str:
        """Rows whose parents are known are looked up; of the others the missing parents are summed out."""
        term, d = self.network, self.d
        codes, beside = self._tables(codes)
        tables = [self._relation(rows) for rows in self._family_rows()]
        children: dict[int, set[int]] = {}
        for i, family in self._families():
            for parent in family["parents"]:
                children.setdefault(parent, set()).add(i)
        codes_of = {i: self._column(term, i) for i in range(len(term["columns"]))}
        needed = {i: self._needed(i, children) for i in sorted(children) if term["sizes"][i] > 1}
        if not needed:
            return self._scored(codes, [*held], names, beside, tables, codes_of)
        size, source, zero = d.quote("tb size"), self._name("tb codes"), d.number(0.0)
        logs = [
            f"CASE WHEN {missing} THEN {d.number(math.log(term['sizes'][i]))} ELSE {zero} END"
            for i, missing in needed.items()
        ]
        self.ctes.append(f"{source} AS (SELECT t.*, {_chain(logs)} AS {size} FROM ({codes}) AS t{d.fence})")
        most = d.number(math.log(MAX_COMPLETIONS) + 1e-9)
        rows = f"SELECT * FROM {source} WHERE {size} = {zero}"
        complete = self._scored(rows, held, names, beside, tables, codes_of)
        rows = f"SELECT *, {d.row_number} AS {d.quote('tb row')} FROM {source}"
        rows += f" WHERE {size} > {zero} AND {size} <= {most}{d.fence}"
        spread = self._summed_out(rows, held, names, beside, tables, needed)
        nothing = [f"CAST(NULL AS {d.double}) AS {name}" for name in names]
        refused = f"SELECT {', '.join([*held, *nothing])} FROM {source} WHERE {size} > {most}"
        return " UNION ALL ".join(f"SELECT * FROM ({arm}) AS t" for arm in (complete, spread, refused))

    def _needed(self, i: int, children: dict[int, set[int]]) -> str:
        """Whether a parent is missing and has an observed descendant: without one its values sum to 1."""
        below, found = list(children[i]), set[int]()
        while below:
            j = below.pop()
            if j not in found:
                found.add(j)
                below += children.get(j, ())
        reals = len(self.network["sizes"])
        seen = [f"{self._column(self.network, j)} {'IS NOT NULL' if j >= reals else '>= 0'}" for j in sorted(found)]
        return f"({self._column(self.network, i)} < 0 AND ({_chain(seen, ' OR ')}))"

    def _families(self) -> list[tuple[int, Json]]:
        """Each child by its place in the term, with its parents and parameters; numbers come after codes."""
        term = self.network
        return [(f["child"], f) for f in term["families"]] + list(enumerate(term["reals"], start=len(term["sizes"])))

    def _family_rows(self) -> Iterator[list[list[float | None]]]:
        """The table of each family: the place of a cell and log P, or mean, constant and 2 variances, of each class."""
        for child, family in self._families():
            if child < len(self.network["sizes"]):
                yield [[c, *cell] for c, cell in enumerate(family["log"])]
                continue
            rows: list[list[float | None]] = []
            for c, (mean, variance) in enumerate(zip(family["mean"], family["variance"], strict=True)):
                row: list[float | None] = [c]
                for m, v in zip(mean, variance, strict=True):
                    fine = v is not None and v > 0
                    row += (m, -HALF_LOG_2PI - 0.5 * math.log(v), 2 * v) if fine else (0.0, 0.0, math.inf)
                rows.append(row)
            yield rows

    def _scored(
        self, rows: str, held: list[str], names: list[str], beside: list[list[str]], tables: list[str],
        values: dict[int, str], final: bool = True,
    ) -> str:  # fmt: skip
        """log P(x, class) of rows whose parents are known: each family is found by the place of its cell."""
        term, zero = self.network, self.d.number(0.0)
        logs, found = [list(each) for each in beside], []
        for n, (child, family) in enumerate(self._families()):
            x, real = f"t.{values[child]}", child >= len(term["sizes"])
            place = self._place(family["parents"] if real else [*family["parents"], child], values)
            key = f"CASE WHEN {x} {'IS NOT NULL' if real else '>= 0'} THEN {place} END"
            columns = [self.d.quote(f"tb f{n} {k}") for k in range(self.K * (3 if real else 1))]
            found.append(Lookup(tables[n], key, columns))
            for k in range(self.K):
                log = columns[k]
                if real:
                    mean, constant, twice = columns[3 * k : 3 * k + 3]
                    log = f"{constant} - {self.d.square(f'{values[child]} - {mean}')} / {twice}"
                logs[k].append(f"COALESCE({log}, {zero})")
        out = []
        for k, name in enumerate(names):
            log = _chain([*logs[k], *self._beside(k)]) or zero
            if final:
                log = f"{self.d.number(self.document['start'][k])} + {self.d.number(self.document['beta'])} * ({log})"
            out.append(f"{self._refusing(log)} AS {name}")
        return f"SELECT {', '.join([*held, *out])} FROM ({self._looked_up(rows, found)}) AS t{self.d.fence}"

    def _summed_out(
        self, rows: str, held: list[str], names: list[str], beside: list[list[str]], tables: list[str],
        needed: dict[int, str],
    ) -> str:  # fmt: skip
        """A row stands for all rows with values in place of its missing parents: these are scored, and summed."""
        d, q, term, fence = self.d, self.d.quote, self.network, self.d.fence
        codes = {i: self._column(term, i) for i in range(len(term["columns"]))}
        chosen, joins = [], []
        for i, missing in needed.items():
            at, own = self._name(f"tb m{i}"), q(f"tb s{i}")
            self.ctes.append(values(d, at, ["v"], [[v] for v in range(term["sizes"][i])]))
            chosen.append(f"COALESCE({at}.v, t.{codes[i]}) AS {own}")
            joins.append(f" LEFT JOIN {at} ON {missing}")
            codes[i] = own
        for first in range(0, len(joins), MAX_JOINS):
            some = slice(first, first + MAX_JOINS)
            rows = f"SELECT t.*, {', '.join(chosen[some])} FROM ({rows}) AS t{''.join(joins[some])}{fence}"
        row, most = q("tb row"), q("tb most")
        scored = self._scored(rows, [*held, row], names, beside, tables, codes, final=False)
        largest = f"MAX({self.d.greatest(names)}) OVER (PARTITION BY {row}) AS {most}"
        tops = f"SELECT *, {largest} FROM ({scored}) AS t{fence}"
        inf, low, zero = self.d.infinite(False), self.d.number(MIN_EXPONENT), self.d.number(0.0)
        sums = []
        for name in names:
            less = f"{name} - {most}"
            sums.append(f"SUM(CASE WHEN {most} = {inf} OR {less} < {low} THEN {zero} ELSE EXP({less}) END) AS {name}")
        firsts = [f"{self.d.any(h)} AS {h}" for h in held]
        grouped = f"SELECT {', '.join([*firsts, f'MIN({most}) AS {most}', *sums])} FROM ({tops}) AS t GROUP BY {row}"
        logs = []
        for k, name in enumerate(names):
            beta, start = self.d.number(self.document["beta"]), self.d.number(self.document["start"][k])
            log = f"{start} + {beta} * ({most} + LN({name}))"
            logs.append(f"CASE WHEN {name} > 0 THEN {log} WHEN {name} = 0 THEN {inf} END AS {name}")
        return f"SELECT {', '.join([*held, *logs])} FROM ({grouped}) AS t{fence}"

    def _place(self, order: Sequence[int], values: dict[int, str]) -> str:
        place, sizes = "0", self.network["sizes"]
        for j in order:
            if sizes[j] > 1:  # a single level is the first, also where it is missing
                place = f"t.{values[j]}" if place == "0" else f"({place}) * {sizes[j]} + t.{values[j]}"
        return place


def _inverse(triangle: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of a lower triangle, whatever the units of its rows."""
    found: NDArray[np.float64] = solve_triangular(triangle, np.eye(len(triangle)), lower=True)
    return found


def _chain(terms: Sequence[str], operator: str = " + ") -> str:
    """The terms in one expression, some at a time: a chain of a thousand is deeper than DuckDB and SQLite go."""
    while len(terms) > MAX_CHAIN_TERMS:
        terms = [f"({operator.join(terms[i : i + MAX_CHAIN_TERMS])})" for i in range(0, len(terms), MAX_CHAIN_TERMS)]
    return operator.join(terms)


def _shown(label: Json) -> str:
    return str(label)


def _why(form: str, names: Sequence[str]) -> str:
    if form != "kernel":
        return f"the form {form!r} is not written as SQL"
    return (
        f"the kernel density of {listing(names)} looks at every value that was learned, for every row: name another "
        "distribution there, or fit NaiveBayes('mdl', tempered=True)"
    )
