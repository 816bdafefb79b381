"""The ensemble of a BayesClassifier as ONNX: all back-off chains at once, so that a graph has few nodes.

Every chain is a column of a matrix (rows, chains) of places in one table of logarithms, which hold 32 bits in the model
too. Some chains at a time are looked up and multiplied with their weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.ensemble.missing_values import NO_BIN
from tallybayes.export.onnx_forms import Term, known_codes, logs
from tallybayes.export.onnx_graph import OnnxGraph, take
from tallybayes.utils.array_types import Array, Floats

SPARE_NEIGHBORS = 8  # more candidates than are asked for: their first distances are rounded
CHAINS_AT_ONCE = 128  # looked up together: rows × 128 × classes numbers in memory

Ints = NDArray[np.int64]


class Chains(NamedTuple):
    """Some chains of equally many parents at most. parent, size, start: (chains, parents), of missing ones NO_BIN."""

    child: Ints  # a binning
    child_bins: Ints
    parent: Ints
    size: Ints
    start: Ints  # (chains, parents + 1): where the table with so many parents begins
    table: Array  # (cells + 1, K), the last row 0
    which: slice


def ensemble(g: OnnxGraph, term: Term, x: Sequence[str], K: int) -> str:
    """(rows, classes): the stacked score, blended with the mean of the networks where values are missing."""
    code = known_codes(g, term, x)
    bins = _bins(g, term, code)
    weights = np.array([_scales(term), _mean_weights(term)])
    both = g.constant(np.zeros((1, 2, K)))
    for chains in _groups(term, K):
        found = _looked_up(g, chains, _places(g, chains, bins)[-1])
        both = g.op("Add", both, g.op("MatMul", g.constant(weights[:, chains.which]), found))
    stacked, mean = (g.op("Gather", both, g.constant(i), axis=1) for i in range(2))
    stacked = g.op("Add", stacked, g.constant(np.array(term["bias"])[None]))
    for column, table in _encodings(term):
        stacked = g.op("Add", stacked, _of_code(g, code, column, table))
    if term["gaussian"] is not None:
        for part in _gaussian(g, term["gaussian"], code)[1:]:
            stacked = g.op("Add", stacked, part)
    if term["neighbors"] is not None:
        stacked = g.op("Add", stacked, _neighbors(g, term["neighbors"], code, K))
    share, _ = _shares(g, term, code)
    return str(g.op("Add", g.op("Mul", share, stacked), g.op("Mul", _rest(g, share), mean)))


def ensemble_columns(g: OnnxGraph, term: Term, x: Sequence[str], K: int) -> str:
    """(rows, columns + 1, classes): what each column adds, and last what belongs to none."""
    d = len(x)
    code = known_codes(g, term, x)
    bins = _bins(g, term, code)
    of_binning = np.array([b["column"] for b in term["binnings"]] + [d, d])
    scale, mean_weight = _scales(term), _mean_weights(term)
    stacked = mean = g.constant(np.zeros((1, d + 1, K)))
    for chains in _groups(term, K):
        places = _places(g, chains, bins)
        whole = _looked_up(g, chains, places[-1])
        weight, has_child = scale[chains.which], chains.child < len(term["binnings"])
        columns = of_binning[chains.child]
        stacked = g.op("Add", stacked, g.op("MatMul", _one_hot(g, columns, weight * has_child, d), whole))
        mean = g.op("Add", mean, g.op("MatMul", _one_hot(g, columns, mean_weight[chains.which], d), whole))
        if has_child.all():
            continue
        before = None
        for level, place in enumerate(places):  # of a tree for the class each parent has what its split adds
            after = _looked_up(g, chains, place)
            said = after if before is None else g.op("Sub", after, before)
            columns = np.full(len(weight), d) if level == 0 else of_binning[chains.parent[:, level - 1]]
            stacked = g.op("Add", stacked, g.op("MatMul", _one_hot(g, columns, weight * ~has_child, d), said))
            before = after
    rest = np.zeros((d + 1, K))
    rest[d] = term["bias"]
    stacked = g.op("Add", stacked, g.constant(rest[None]))
    for column, table in _encodings(term):
        own = g.expand(_of_code(g, code, column, table), 1)
        stacked = g.op("Add", stacked, g.op("MatMul", _one_hot(g, np.array([column]), np.ones(1), d), own))
    if term["gaussian"] is not None:
        by_number, _, constant = _gaussian(g, term["gaussian"], code)
        columns = np.array([each["column"] for each in term["gaussian"]["scale"]])
        stacked = g.op("Add", stacked, g.op("MatMul", _one_hot(g, columns, np.ones(len(columns)), d), by_number))
        last = g.op("MatMul", _one_hot(g, np.array([d]), np.ones(1), d), g.expand(constant, 1))
        stacked = g.op("Add", stacked, last)
    if term["neighbors"] is not None:
        own = g.expand(_neighbors(g, term["neighbors"], code, K), 1)
        stacked = g.op("Add", stacked, g.op("MatMul", _one_hot(g, np.array([d]), np.ones(1), d), own))
    share, lost = _shares(g, term, code)
    if lost is not None:  # what columns without a value add in the stack belongs to none
        gone = g.expand(g.cast(lost, np.float64), 2)  # (rows, d, 1)
        none = g.op("Mul", gone, g.op("Slice", stacked, g.constant([0]), g.constant([d]), g.constant([1])))
        last = g.op("MatMul", _one_hot(g, np.full(d, d), np.ones(d), d), none)
        first = g.op("MatMul", g.constant(np.eye(d + 1, d)), none)
        stacked = g.op("Add", g.op("Sub", stacked, first), last)
    share = g.expand(share, 2)
    return str(g.op("Add", g.op("Mul", share, stacked), g.op("Mul", _rest(g, share), mean)))


def _scales(term: Term) -> Floats:
    return np.array([chain["scale"] for chain in term["chains"]], dtype=np.float64)


def _mean_weights(term: Term) -> Floats:
    if term["missing"] is None:
        return np.zeros(len(term["chains"]))
    return np.array(term["missing"]["weights"], dtype=np.float64)


def _encodings(term: Term) -> list[tuple[int, Floats]]:
    return [(each["column"], logs(each["log"])) for each in term["target_encoding"]]


def _one_hot(g: OnnxGraph, columns: Array, weight: Floats, d: int) -> str:
    """(columns + 1, chains): which column each chain adds to, times its weight."""
    out = np.zeros((d + 1, len(columns)))
    out[columns, np.arange(len(columns))] = weight
    return g.constant(out)


def _rest(g: OnnxGraph, share: str) -> str:
    return str(g.op("Sub", g.constant(np.ones(1)), share))


def _bins(g: OnnxGraph, term: Term, code: str) -> str:
    """(rows, binnings + 2): the bin of each binning; of the last two always 0 (no child), and none (no parent)."""
    maps = [np.array(b["map"]) for b in term["binnings"]]
    first = np.cumsum([0, *map(len, maps)])
    columns = np.array([b["column"] for b in term["binnings"]] + [0, 0])
    last = np.array([len(m) - 1 for m in maps] + [0, 0])
    read = g.op("Gather", code, g.constant(columns), axis=1)
    strange = g.op("Or", g.op("Less", read, g.constant(0)), g.op("GreaterOrEqual", read, g.constant(last)))
    place = g.op("Add", g.where(strange, g.constant(last), read), g.constant(np.append(first, first[-1] + 1)))
    return take(g, np.concatenate([*maps, [0, NO_BIN]]).astype(np.int64), place)


def _groups(term: Term, K: int) -> Iterator[Chains]:
    """The chains, some at a time."""
    binnings, chains = term["binnings"], term["chains"]
    bins = np.array([b["bins"] for b in binnings] + [1, 1])
    none = len(binnings)
    for begin in range(0, len(chains), CHAINS_AT_ONCE):
        some = chains[begin : begin + CHAINS_AT_ONCE]
        depth = max(len(chain["parents"]) for chain in some)
        child = np.array([none if chain["child"] < 0 else chain["child"] for chain in some])
        parent = np.full((len(some), depth), none + 1)
        start = np.zeros((len(some), depth + 1), dtype=np.int64)
        tables, cells = list[Array](), 0
        for i, chain in enumerate(some):
            parent[i, : len(chain["parents"])] = chain["parents"]
            for level, table in enumerate(chain["log"]):
                tables.append(logs(table).reshape(-1, K))
                start[i, level] = cells
                cells += len(tables[-1])
        table = np.vstack([*tables, np.zeros((1, K))])
        yield Chains(child, bins[child], parent, bins[parent], start, table, slice(begin, begin + len(some)))


def _places(g: OnnxGraph, chains: Chains, bins: str) -> list[str]:
    """(rows, chains) for 0, 1, … parents at most: the place of the longest context whose parents have a bin."""
    child = g.op("Gather", bins, g.constant(chains.child), axis=1)
    place = g.op("Add", child, g.constant(chains.start[:, 0]))
    nothing = g.op("Equal", child, g.constant(NO_BIN))
    place = g.where(nothing, g.constant(len(chains.table) - 1), place)
    out, stopped, context = [place], nothing, None
    for level in range(chains.parent.shape[1]):
        own = g.op("Gather", bins, g.constant(chains.parent[:, level]), axis=1)
        stopped = g.op("Or", stopped, g.op("Equal", own, g.constant(NO_BIN)))
        if context is not None:
            own = g.op("Add", own, g.op("Mul", context, g.constant(chains.size[:, level])))
        context = own
        cell = g.op("Add", child, g.op("Mul", context, g.constant(chains.child_bins)))
        place = g.where(stopped, place, g.op("Add", cell, g.constant(chains.start[:, level + 1])))
        out.append(place)
    return out


def _looked_up(g: OnnxGraph, chains: Chains, place: str) -> str:
    """(rows, chains, classes), float64."""
    single = chains.table.astype(np.float32)
    if not np.array_equal(single, chains.table):
        return take(g, chains.table, place)
    return g.cast(g.op("Gather", g.constant(single), place, axis=0), np.float64)


def _of_code(g: OnnxGraph, code: str, column: int, table: Floats) -> str:
    """(rows, classes): the row of a table for the code of a column, 0 where there is none."""
    own = g.op("Gather", code, g.constant(column), axis=1)
    none = g.op("Or", g.op("Less", own, g.constant(0)), g.op("GreaterOrEqual", own, g.constant(len(table))))
    whole = np.vstack([table, np.zeros((1, table.shape[1]))])
    return take(g, whole, g.where(none, g.constant(len(table)), own))


def _gaussian(g: OnnxGraph, part: Term, code: str) -> tuple[str, str, str]:
    """What each number adds (rows, numbers, classes), their sum, and the constants, each times the weight."""
    z = _numbers(g, part["scale"], code)
    p, K = len(part["scale"]), len(part["mean"])
    root = np.zeros((K, p, p))
    for k, rows in enumerate(part["root"]):
        for i, row in enumerate(rows):
            root[k, i, : len(row)] = row
    away = g.op("Sub", g.expand(z, 1), g.constant(np.array(part["mean"])))  # (rows, K, p)
    turned = g.op("Einsum", away, g.constant(root), equation="nkj,kij->nki")
    own = g.op("Mul", away, g.op("Einsum", turned, g.constant(root), equation="nki,kij->nkj"))
    distance = g.sum(g.op("Mul", turned, turned), 2)  # (rows, K)
    if part["freedom"] is None:
        tail = g.op("Mul", distance, g.constant(np.full(1, 0.5)))
    else:
        nu = float(part["freedom"])
        more = g.op("Add", g.op("Div", distance, g.constant(np.full(1, nu))), g.constant(np.ones(1)))
        tail = g.op("Mul", g.op("Log", more), g.constant(np.full(1, (nu + p) / 2)))
    some = g.op("Greater", distance, g.constant(np.zeros(1)))
    share = g.op("Div", tail, g.where(some, distance, g.constant(np.ones(1))))
    weight = float(part["weight"])
    minus = g.constant(np.full(1, -weight))
    by_number = g.op("Mul", g.op("Transpose", g.op("Mul", own, g.expand(share, 2)), perm=[0, 2, 1]), minus)
    constant = np.array(part["constant"], dtype=np.float64)[None] * weight
    return by_number, g.op("Mul", tail, minus), g.constant(constant)


def _numbers(g: OnnxGraph, scale: list[Term], code: str) -> str:
    """(rows, numbers): the normal scores of codes."""
    values = [np.array(each["value"], dtype=np.float64) for each in scale]
    first = np.cumsum([0, *map(len, values)])[:-1]
    last = np.array([len(v) - 1 for v in values])
    read = g.op("Gather", code, g.constant(np.array([each["column"] for each in scale])), axis=1)
    strange = g.op("Or", g.op("Less", read, g.constant(0)), g.op("GreaterOrEqual", read, g.constant(last)))
    return take(g, np.concatenate(values), g.op("Add", g.where(strange, g.constant(last), read), g.constant(first)))


def _neighbors(g: OnnxGraph, part: Term, code: str, K: int) -> str:
    """(rows, classes). The neighbours are found by products, a few too many, and their distances computed again."""
    rows = np.array(part["rows"], dtype=np.int64).reshape(len(part["label"]), -1)
    points = np.empty((len(rows), len(part["scale"])))
    for i, each in enumerate(part["scale"]):
        value, own = np.array(each["value"], dtype=np.float64), rows[:, each["column"]]
        points[:, i] = value[np.where((own < 0) | (own >= len(value) - 1), len(value) - 1, own)]
    z = _numbers(g, part["scale"], code)
    if part["root"] is not None:
        p = len(part["root"])
        root = np.array([np.pad(row, (0, p - len(row))) for row in part["root"]])
        points, z = points @ root.T, g.op("MatMul", z, g.constant(np.ascontiguousarray(root.T)))
    n, k = len(points), min(int(part["k"]), len(points))
    half = g.constant((points**2).sum(axis=1)[None] / 2)
    about = g.op("Sub", half, g.op("MatMul", z, g.constant(np.ascontiguousarray(points.T))))
    some = g.constant(np.array([min(n, k + 1 + SPARE_NEIGHBORS)]))
    _, first = g.op("TopK", about, some, outputs=2, axis=1, largest=0)
    away = g.op("Sub", take(g, points, first), g.expand(z, 1))
    exact = g.sum(g.op("Mul", away, away), 2)
    near, place = g.op("TopK", exact, g.constant(np.array([min(n, k + 1)])), outputs=2, axis=1, largest=0)
    index = g.op("GatherElements", first, place, axis=1)
    zero, one = g.constant(np.zeros(1)), g.constant(np.ones(1))
    if n > k:
        near, h = g.op("Split", near, g.constant(np.array([k, 1])), outputs=2, axis=1)
        index, _ = g.op("Split", index, g.constant(np.array([k, 1])), outputs=2, axis=1)
        wide = g.op("Greater", h, zero)
        near = g.where(wide, g.op("Div", near, g.where(wide, h, one)), zero)
        inside = g.op("Max", g.op("Sub", one, near), zero)
        kernel = g.op("Mul", inside, inside)
    else:
        kernel = g.cast(g.op("GreaterOrEqual", near, zero), np.float64)
    of_class = np.zeros((n, K))
    of_class[np.arange(n), part["label"]] = part["row_weight"]
    counted = g.sum(g.op("Mul", g.expand(kernel, 2), take(g, of_class, index)), 1)  # (rows, K)
    r, prior = float(part["pseudo_count"]), np.array(part["prior"], dtype=np.float64)
    total = g.op("Add", g.sum(counted, 1, keep=True), g.constant(np.full(1, r)))
    lift = g.op("Div", g.op("Add", counted, g.constant(r * prior)), g.op("Mul", total, g.constant(prior)))
    return str(g.op("Mul", g.op("Log", lift), g.constant(np.full(1, float(part["weight"])))))


def _shares(g: OnnxGraph, term: Term, code: str) -> tuple[str, str | None]:
    """(rows, 1): the share of the stack, and (rows, columns): which columns lack a value that was always known."""
    rule = term["missing"]
    if rule is None or not rule["complete"]:
        return g.constant(np.ones((1, 1))), None
    complete = np.zeros(len(term["sizes"]), dtype=bool)
    complete[rule["complete"]] = True
    lost = g.op("And", g.op("Less", code, g.constant(0)), g.constant(complete))
    m = g.sum(g.cast(lost, np.float64), 1, keep=True)
    zero = g.constant(np.zeros(1))
    left = g.op("Max", g.op("Sub", g.constant(np.full(1, rule["columns"] - 1.0)), m), zero)
    share = g.op("Div", left, g.constant(np.full(1, max(rule["columns"] - 1.0, 1.0))))
    return g.where(g.op("Equal", m, zero), g.constant(np.ones(1)), share), lost
