"""The ensemble of a BayesClassifier in SQL: its back-off chains as relations, the rest as expressions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tallybayes.engines.sql.sql_relations import (
    MAX_CELLS,
    NONE,
    Line,
    Relations,
    all_codes,
    too_many_cells,
    values,
)
from tallybayes.ensemble.ensemble_distribution import Ensemble
from tallybayes.ensemble.ensemble_statistics import EnsembleParams
from tallybayes.ensemble.missing_values import NO_BIN
from tallybayes.model.predictor import Predictor

if TYPE_CHECKING:
    from tallybayes.engines.sql.sql_scores import SqlWriter

Json = Any


def why_no_sql(predictor: Predictor, effort: object) -> str | None:
    """Why an ensemble is not written, if it is not: by the sizes of its tables, before they are described."""
    for term in predictor.fitted.terms:
        own, p = term.distribution, term.params
        if not isinstance(own, Ensemble) or not isinstance(p, EnsembleParams):
            continue
        if p.neighbors is not None:
            return (
                "its k-nearest neighbours compare each row with thousands of others; fit with parts=('networks', "
                "'naive', 'target_encoding', 'gaussian', 'boosting')"
            )
        rule, n = own.missing_rule, len(own.child)
        used = (p.chain_weights[:n] != 0) if rule is None else (p.chain_weights[:n] != 0) | (rule.weights[:n] != 0)
        if int(np.diff(own.log_starts(n))[used].sum()) > MAX_CELLS:
            return too_many_cells(advice(effort))
    return None


def advice(effort: object) -> str:
    """What makes an ensemble smaller, before the rest that does."""
    return "" if effort in (None, "fast") else "effort='fast', "


def ensemble_scores(w: SqlWriter, term: Json, codes: str, evidence: bool) -> tuple[str, list[list[str]]]:
    """The rows with what they need, and of each group the expressions of each class that add up to the score.

    Without evidence there is one group; with it there is one for each column, and one more.
    """
    columns = len(term["columns"])
    groups = columns + 1 if evidence else 1
    rows = _with_chains(w, term, codes, groups, columns if evidence else None)
    rows, stacked = _with_components(w, term, rows, groups, evidence)
    zero = w.d.number(0.0)
    plain = [
        [w.chain([f"COALESCE({_sum(w, g, 0, k)}, {zero})", *stacked[g][k]]) for k in range(w.K)] for g in range(groups)
    ]
    rule = term["missing"]
    return (rows, plain) if rule is None or not rule["complete"] else _with_missing(w, rule, rows, plain, evidence)


def _with_chains(w: SqlWriter, term: Json, codes: str, groups: int, columns: int | None) -> str:
    """The rows beside the sums of the back-off chains of each group; columns: how many, with evidence."""
    d, K = w.d, w.K
    relations = Relations(d, K, advice(w.effort))
    lines = list(_lines(relations, term, columns))
    if not lines:  # no chain has a weight: the relations need a row all the same, of which nothing comes
        lines = [Line(NONE, 1, [], [], [relations.add_cells([[0.0] * K])], 0, [0.0, 0.0])]
        relations.bins.append([NONE, 0, 0, 0])
    source = w.numbered(term, codes)
    bin_, line, cell, binned, sums = (w.cte(name) for name in ("bin", "line", "cell", "binned", "sum"))
    for i, binning in enumerate(term["binnings"]):
        size, mapped = term["sizes"][binning["column"]], [None if v == NO_BIN else v for v in binning["map"]]
        known = mapped[:-1][:size] + [mapped[-1]] * (size - len(mapped) + 1)
        relations.add_bins(i, binning["column"], known, mapped[-1])
    w.ctes.append(values(d, bin_, ["j", "c", "b", "v"], relations.bins))
    w.ctes.append(values(d, line, *relations.line_rows(lines)))
    w.ctes.append(values(d, cell, ["k", *(f"v{k}" for k in range(K))], relations.cells))
    w.ctes.append(
        f"{binned} AS {d.materialized}({relations.bins_of_rows(source, list(all_codes(term['columns'])), bin_)})"
    )
    added = ", ".join(f"SUM(t.w{i} * t.v{k}) AS a{i}x{k}" for i in range(2) for k in range(K))
    found = relations.found(source, binned, lines, line, cell)
    w.ctes.append(f"{sums} AS {d.materialized}(SELECT t.r, t.g, {added} FROM ({found}) AS t GROUP BY t.r, t.g)")
    return w.step(_with_sums(w, source, sums, groups))


def _with_missing(
    w: SqlWriter, rule: Json, rows: str, plain: list[list[str]], evidence: bool
) -> tuple[str, list[list[str]]]:
    """The same where columns that are usually complete have missing values: the more, the more the mean counts."""
    d, complete, last = w.d, rule["complete"], len(plain) - 1
    zero, one = d.number(0.0), d.number(1.0)
    most, least = d.number(rule["columns"] - 1.0), d.number(max(rule["columns"] - 1.0, 1.0))
    share = f"CASE WHEN m = 0 THEN {one} WHEN m > {most} THEN {zero} ELSE ({most} - m) / {least} END"
    count = w.chain([f"CASE WHEN c{j} < 0 THEN 1 ELSE 0 END" for j in complete])
    rows = f"SELECT *, {share} AS share FROM (SELECT t.*, {count} AS m FROM ({rows}) AS t{d.fence}) AS t{d.fence}"
    rows = w.step(rows)
    out = []
    for g, of_group in enumerate(plain):
        each = []
        for k, own in enumerate(of_group):
            mean = f"COALESCE({_sum(w, g, 1, k)}, {zero})"
            if evidence and g in complete:  # what a column without a value adds belongs to none
                own = f"CASE WHEN c{g} < 0 THEN {zero} ELSE {own} END"
            elif evidence and g == last:
                own = w.chain([own, *(f"CASE WHEN c{j} < 0 THEN {plain[j][k]} ELSE {zero} END" for j in complete)])
            each.append(f"(share * ({own}) + ({one} - share) * {mean})")
        out.append(each)
    return rows, out


def _sum(w: SqlWriter, g: int, i: int, k: int) -> str:
    """The name of a group's sum of a class: 0 the stacked one, 1 the mean of the networks."""
    return w.d.quote(f"tb s{g} {i} {k}")


def _with_sums(w: SqlWriter, source: str, sums: str, groups: int) -> str:
    """The rows beside the sums of all groups."""
    whole = [
        f"SUM(CASE WHEN t.g = {g} THEN t.a{i}x{k} END) AS {_sum(w, g, i, k)}"
        for g in range(groups)
        for i in range(2)
        for k in range(w.K)
    ]
    wide = f"SELECT t.r, {', '.join(whole)} FROM {sums} AS t GROUP BY t.r"
    return f"SELECT t.*, g.* FROM {source} AS t LEFT JOIN ({wide}) AS g ON g.r = t.{w.d.quote('tb row')}{w.d.fence}"


def _lines(relations: Relations, term: Json, columns: int | None) -> Iterator[Line]:
    """The chains; with evidence (columns), those without a child once for each of their parents."""
    binnings = term["binnings"]
    mean = [0.0] * len(term["chains"]) if term["missing"] is None else term["missing"]["weights"]
    for chain, alone in zip(term["chains"], mean, strict=True):
        weights = [float(chain["scale"]), float(alone)]
        if not any(weights):
            continue
        start = [relations.add_cells(log) for log in chain["log"]]
        parents = chain["parents"]
        sizes = [binnings[v]["bins"] for v in parents]
        child = chain["child"]
        bins = 1 if child < 0 else binnings[child]["bins"]
        whole = Line(child if child >= 0 else NONE, bins, parents, sizes, start, 0, weights)
        if columns is None:
            yield whole
        elif child >= 0:
            whole.to = binnings[child]["column"]
            yield whole
        else:
            scale = weights[0]
            for level in range(len(parents) + 1):
                some = (parents[:level], sizes[:level], start[: level + 1])
                yield Line(NONE, 1, *some, binnings[parents[level - 1]]["column"] if level else columns, [scale, 0.0])
                if level < len(parents):
                    yield Line(NONE, 1, *some, binnings[parents[level]]["column"], [-scale, 0.0])


def _with_components(
    w: SqlWriter, term: Json, rows: str, groups: int, evidence: bool
) -> tuple[str, list[list[list[str]]]]:
    """Bias, target encoding and Gaussian: the rows with what these need, and what they add to each group and class."""
    d, K = w.d, w.K
    out: list[list[list[str]]] = [[[] for _ in range(K)] for _ in range(groups)]
    for k in range(K):
        out[-1][k].append(d.number(term["bias"][k]))
    looked_up = []
    for n, part in enumerate(term["target_encoding"]):
        names = [d.quote(f"tb e{n} {k}") for k in range(K)]
        cells = [[c, *each] for c, each in enumerate(part["log"])]
        looked_up.append(w.lookup(cells, f"t.c{part['column']}", names))
        for k, name in enumerate(names):
            out[part["column"] if evidence else 0][k].append(f"COALESCE({name}, {d.number(0.0)})")
    gaussian = term["gaussian"]
    if gaussian is None:
        return w.looked_up(rows, looked_up), out
    zs = []
    for n, part in enumerate(gaussian["scale"]):
        name = d.quote(f"tb z{n}")
        looked_up.append(w.lookup(list(enumerate(part["value"][:-1])), f"t.c{part['column']}", [name]))
        zs.append(f"COALESCE({name}, {d.number(part['value'][-1])})")
    return _with_gaussian(w, gaussian, w.looked_up(rows, looked_up), zs, out, evidence), out


def _with_gaussian(
    w: SqlWriter, gaussian: Json, rows: str, zs: list[str], out: list[list[list[str]]], evidence: bool
) -> str:
    """The rows with the Mahalanobis distance of each class; out gets its log density, or that of each column."""
    d, p = w.d, len(zs)
    classes = range(w.K)
    turned = [[d.quote(f"tb u{k} {i}") for i in range(p)] for k in classes]
    away = [[f"({z} - {d.number(m)})" for z, m in zip(zs, gaussian["mean"][k], strict=True)] for k in classes]
    made = [
        f"{w.chain([f'{d.number(f)} * {away[k][j]}' for j, f in enumerate(row)])} AS {turned[k][i]}"
        for k in classes
        for i, row in enumerate(gaussian["root"][k])
    ]
    rows = w.step(f"SELECT t.*, {', '.join(made)} FROM ({rows}) AS t{d.fence}")
    distances = [d.quote(f"tb d{k}") for k in classes]
    squares = [f"{w.chain([d.square(u) for u in turned[k]])} AS {distances[k]}" for k in classes]
    rows = w.step(f"SELECT t.*, {', '.join(squares)} FROM ({rows}) AS t{d.fence}")
    weight = float(gaussian["weight"])
    minus = d.number(-weight)
    for k in classes:
        out[-1][k].append(d.number(weight * gaussian["constant"][k]))
        tail = _tail(w, gaussian["freedom"], p, distances[k])
        if not evidence:
            out[-1][k].append(f"{minus} * ({tail})")
            continue
        share = f"CASE WHEN {distances[k]} > 0 THEN ({tail}) / {distances[k]} ELSE {d.number(0.0)} END"
        backs = _turned_back(w, gaussian["root"][k], turned[k])
        for part, own, back in zip(gaussian["scale"], away[k], backs, strict=True):
            out[part["column"]][k].append(f"{minus} * {own} * ({back}) * {share}")
    return rows


def _turned_back(w: SqlWriter, root: Json, turned: list[str]) -> list[str]:
    """rootᵀ · turned, a column each; root has the rows of a lower triangle."""
    p = len(turned)
    return [w.chain([f"{w.d.number(float(root[i][j]))} * {turned[i]}" for i in range(j, p)]) for j in range(p)]


def _tail(w: SqlWriter, nu: float | None, p: int, distance: str) -> str:
    """−log density but for its constant: of a normal distribution, or of Student's t with nu degrees of freedom."""
    d = w.d
    if nu is None:
        return f"{distance} / 2"
    return f"{d.number((nu + p) / 2)} * LN({d.number(1.0)} + {distance} / {d.number(nu)})"
