"""The average over sets of parents (AODE, AnDE) in SQL: the networks as relations, the logarithm of a sum by row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tallybayes.distributions.statistics import HALF_LOG_2PI
from tallybayes.engines.sql.sql_relations import NONE, Line, Relations, all_codes, values
from tallybayes.errors import ExportError

if TYPE_CHECKING:
    from tallybayes.engines.sql.sql_scores import SqlWriter

Json = Any
NOWHERE = -(1 << 30)  # where cells begin that are not read


def average_scores(w: SqlWriter, term: Json, codes: str) -> tuple[str, list[list[str]]]:
    """The rows with log P(x | class), and the names of it."""
    if term["follows"]:
        raise ExportError("values that follow from others (subsumption=True) are left out row by row, which has no SQL")
    d, K = w.d, w.K
    source, row = w.numbered(term, codes), d.quote("tb row")
    relations = Relations(d, K)
    for j, size in enumerate(term["sizes"]):
        relations.add_bins(j, j, range(size), None)
    lines, met_lines, met = list(_lines(relations, term)), list[Line](), Relations(d, 0)
    there = list[list[float]]()
    for s, each in enumerate(term["sets"]):
        sizes = [term["sizes"][j] for j in each["parents"]]
        met_lines.append(
            Line(NONE, 1, each["parents"], sizes, [NOWHERE] * len(sizes) + [len(met.cells)], s, [each["weight"]])
        )
        first = met.add_cells([[]] * len(each["met"]))
        there += [cell for cell, is_met in zip(met.cells[first:], each["met"], strict=True) if is_met]
    bin_, line, cell, binned, sums, takes, every = (
        w.cte(name) for name in ("bin", "line", "cell", "binned", "sum", "set", "all")
    )
    some = all_codes(term["columns"][: len(term["sizes"])])
    w.ctes.append(values(d, bin_, ["j", "c", "b", "v"], relations.bins))
    w.ctes.append(f"{binned} AS {d.materialized}({relations.bins_of_rows(source, list(some), bin_)})")
    arms = []
    if lines:
        w.ctes.append(values(d, line, *relations.line_rows(lines)))
        w.ctes.append(values(d, cell, ["k", *(f"v{k}" for k in range(K))], relations.cells))
        own = ", ".join(f"t.v{k}" for k in range(K))
        arms.append(f"SELECT t.r, t.g, {own} FROM ({relations.found(source, binned, lines, line, cell)}) AS t")
    arms += _reals(w, term, source, binned)
    added = ", ".join(f"SUM(t.v{k}) AS v{k}" for k in range(K))
    w.ctes.append(
        f"{sums} AS {d.materialized}(SELECT t.r, t.g, {added} FROM ({' UNION ALL '.join(arms)}) AS t GROUP BY t.r, t.g)"
    )
    if met_lines and there:
        met_line, met_cell = w.cte("met line"), w.cte("met")
        w.ctes.append(values(d, met_line, *met.line_rows(met_lines)))
        w.ctes.append(values(d, met_cell, ["k"], there))
        found = met.found(source, binned, met_lines, met_line, met_cell)
        w.ctes.append(f"{takes} AS {d.materialized}(SELECT t.r, t.g, t.w0 AS w FROM ({found}) AS t)")
    else:
        nothing = f"SELECT t.{row} AS r, 0 AS g, {d.number(1.0)} AS w FROM {source} AS t WHERE 1 = 0"
        w.ctes.append(f"{takes} AS {d.materialized}({nothing})")
    zero, naive = d.number(0.0), len(term["sets"])
    own = ", ".join(f"COALESCE(s.v{k}, {zero}) AS v{k}" for k in range(K))
    sets = f"SELECT t.r, t.w, {own} FROM {takes} AS t LEFT JOIN {sums} AS s ON s.r = t.r AND s.g = t.g"
    left = (
        f"SELECT t.{row} AS r, {d.number(1.0)} AS w, {own} FROM {source} AS t LEFT JOIN {sums} AS s "
        f"ON s.r = t.{row} AND s.g = {naive} WHERE t.{row} NOT IN (SELECT q.r FROM {takes} AS q)"
    )
    w.ctes.append(f"{every} AS {d.materialized}({sets} UNION ALL {left})")
    return _logs_of_sums(w, source, every)


def _logs_of_sums(w: SqlWriter, source: str, every: str) -> tuple[str, list[list[str]]]:
    d, K, row = w.d, w.K, w.d.quote("tb row")
    inf, low, zero = d.infinite(False), d.number(-700.0), d.number(0.0)
    tops = ", ".join(f"MAX(t.v{k}) OVER (PARTITION BY t.r) AS m{k}" for k in range(K))
    inner = f"SELECT t.*, {tops} FROM {every} AS t{d.fence}"
    sums = ", ".join(
        f"SUM(CASE WHEN t.v{k} = {inf} OR t.v{k} - t.m{k} < {low} THEN {zero} ELSE t.w * EXP(t.v{k} - t.m{k}) END) "
        f"AS e{k}, MAX(t.m{k}) AS m{k}"
        for k in range(K)
    )
    grouped = f"SELECT t.r, SUM(t.w) AS w, {sums} FROM ({inner}) AS t GROUP BY t.r"
    names = [d.quote(f"tb a{k}") for k in range(K)]
    logs = ", ".join(
        f"CASE WHEN a.m{k} = {inf} THEN {inf} ELSE a.m{k} + LN(a.e{k} / a.w) END AS {name}"
        for k, name in enumerate(names)
    )
    rows = f"SELECT t.*, {logs} FROM {source} AS t JOIN ({grouped}) AS a ON a.r = t.{row}{d.fence}"
    return rows, [names]


def _lines(relations: Relations, term: Json) -> Iterator[Line]:
    """What each column adds in the network of each set, and last in naive Bayes."""
    sizes = term["sizes"]
    for s, each in enumerate(term["sets"]):
        parents, own = each["parents"], [sizes[j] for j in each["parents"]]
        for j, log in enumerate(each["log"]):
            if j not in parents and len(log):
                start = [NOWHERE] * len(parents) + [relations.add_cells(log)]
                yield Line(j, sizes[j], parents, own, start, s, [1.0])
        for log in each["own"]:
            yield Line(NONE, 1, parents, own, [NOWHERE] * len(parents) + [relations.add_cells(log)], s, [1.0])
    for j, log in enumerate(term["naive"]["log"]):
        if len(log):
            yield Line(j, sizes[j], [], [], [relations.add_cells(log)], len(term["sets"]), [1.0])


def _reals(w: SqlWriter, term: Json, source: str, binned: str) -> Iterator[str]:
    """(r, g, v0 …): the normal densities of each real column in each network."""
    d, K, row = w.d, w.K, w.d.quote("tb row")
    first, sizes = len(term["sizes"]), term["sizes"]
    for i in range(len(term["columns"]) - first):
        relations, lines = Relations(d, 3 * K), list[Line]()
        for s, each in enumerate([*term["sets"], {**term["naive"], "real_parents": []}]):
            real, parents = each["reals"][i], each["real_parents"]
            cells = []
            for mean, variance in zip(real["mean"], real["variance"], strict=True):
                cell: list[float] = []
                for m, v in zip(mean, variance, strict=True):
                    fine = v is not None and v > 0
                    cell += (m, -HALF_LOG_2PI - 0.5 * math.log(v), 2 * v) if fine else (0.0, 0.0, math.inf)
                cells.append(cell)
            start = [NOWHERE] * len(parents) + [relations.add_cells(cells)]
            lines.append(Line(NONE, 1, parents, [sizes[j] for j in parents], start, s, [1.0]))
        line, cell_ = w.cte(f"real line {i}"), w.cte(f"real {i}")
        w.ctes.append(values(d, line, *relations.line_rows(lines)))
        w.ctes.append(values(d, cell_, ["k", *(f"v{k}" for k in range(3 * K))], relations.cells))
        name = f"tb c{term['columns'][first + i]}"
        x = f"x.{d.quote(name)}"
        logs = ", ".join(f"t.v{3 * k + 1} - {d.square(f'{x} - t.v{3 * k}')} / t.v{3 * k + 2} AS v{k}" for k in range(K))
        found = relations.found(source, binned, lines, line, cell_)
        yield f"SELECT t.r, t.g, {logs} FROM ({found}) AS t JOIN {source} AS x ON x.{row} = t.r WHERE {x} IS NOT NULL"
