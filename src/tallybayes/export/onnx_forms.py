"""The forms of docs/model-json.md as ONNX: what a term adds to log P(x | class), (rows, classes); and column by column
(rows, columns, classes) where columns do not depend on each other.

x: of each column of the term the name of what was read of it, (rows, 1): numbers, NaN where missing; or codes, −1 where
missing and −2 where unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from tallybayes.distributions.statistics import LOG_2PI
from tallybayes.errors import ExportError
from tallybayes.export.onnx_graph import OnnxGraph, take
from tallybayes.utils.array_types import Floats

Term = dict[str, Any]
MOST_CELLS = 200_000  # of a table for one row: more, and missing values would take too long
MOST_EVIDENCE = 30  # columns of a network, each of which takes the graph of the network once more
MOST_KERNELS = 2000  # columns times classes


def logs(values: Any) -> Floats:
    """Nested lists with None for minus infinity."""
    found = np.array(values, dtype=np.float64)  # None becomes NaN, which no description holds
    return np.where(np.isnan(found), -np.inf, found)


def beside(g: OnnxGraph, x: Sequence[str]) -> str:
    """Columns as one matrix."""
    return str(g.op("Concat", *x, axis=1))


def missing(g: OnnxGraph, x: str) -> str:
    return str(g.op("IsNaN", x))


def table_columns(g: OnnxGraph, term: Term, x: Sequence[str], K: int) -> str:
    """One table for all columns: of each its levels, then nothing (missing), then what is said of others."""
    parts, firsts, sizes, first = [], [], [], 0
    for i, log in enumerate(term["log"]):
        own = logs(log).reshape(-1, K)
        other = logs(term["other"][i]) if term["other"] is not None else np.zeros(K)
        parts.append(np.vstack([own, np.zeros(K), other]))
        firsts.append(first)
        sizes.append(len(own))
        first += len(own) + 2
    code, size = beside(g, x), g.constant(np.array(sizes))
    strange = g.op("Or", g.op("Equal", code, g.constant(-2)), g.op("GreaterOrEqual", code, size))
    place = g.where(g.op("Equal", code, g.constant(-1)), size, code)
    place = g.where(strange, g.op("Add", size, g.constant(1)), place)
    return take(g, np.vstack(parts), g.op("Add", place, g.constant(np.array(firsts))))


def densities(g: OnnxGraph, x: str, mean: Floats, variance: Floats, low: Floats | None = None) -> str:
    """log N(x; mean, variance): x (…, 1) beside (…, K); 0 where x is missing, or the variance is 0."""
    says = variance > 0
    safe = np.where(says, variance, 1.0)
    away = g.op("Sub", x, g.constant(mean))
    if low is not None:
        away = g.op("Sub", away, g.constant(low))
    z = g.op("Mul", away, g.constant(np.where(says, np.sqrt(0.5) / np.sqrt(safe), 0.0)))
    norm = g.constant(np.where(says, -0.5 * (LOG_2PI + np.log(safe)), 0.0))
    found = g.op("Sub", norm, g.op("Mul", z, z))
    return g.where(missing(g, x), g.constant(np.zeros(1)), found)


def normal_columns(g: OnnxGraph, term: Term, x: Sequence[str], K: int) -> str:  # noqa: ARG001
    mean, low, variance = (np.array(term[key]) for key in ("mean", "low", "variance"))
    return densities(g, g.expand(beside(g, x), 2), mean, variance, low)


def log_normal_columns(g: OnnxGraph, term: Term, x: Sequence[str], K: int) -> str:  # noqa: ARG001
    mean, low, variance = (np.array(term[key]) for key in ("mean", "low", "variance"))
    whole = g.expand(beside(g, x), 2)
    nothing = g.constant(np.zeros(1))
    positive = g.op("Greater", whole, nothing)
    t = g.op("Log", g.where(positive, whole, g.constant(np.ones(1))))
    above = g.op("Add", densities(g, t, mean, variance, low), g.constant(logs(term["above"])))
    found = g.where(positive, above, g.constant(logs(term["zero"])))
    return g.where(missing(g, whole), nothing, found)


def linear_columns(g: OnnxGraph, term: Term, x: Sequence[str], K: int) -> str:  # noqa: ARG001
    weight = logs(term["weight"])
    bias = np.zeros_like(weight) if term["bias"] is None else np.array(term["bias"], dtype=float)
    whole, nothing = g.expand(beside(g, x), 2), g.constant(np.zeros(1))
    value = g.op("Mul", whole, g.constant(np.where(np.isinf(weight), 0.0, weight)))
    if np.isinf(weight).any():  # 0 · −∞ counts as 0
        never = g.op("And", g.op("Not", g.op("Equal", whole, nothing)), g.constant(np.isinf(weight)))
        value = g.where(never, g.constant(np.full(1, -np.inf)), value)
    return g.where(missing(g, whole), nothing, g.op("Add", value, g.constant(bias)))


def linear(g: OnnxGraph, term: Term, x: Sequence[str], K: int) -> str:  # noqa: ARG001
    weight = logs(term["weight"])
    whole, nothing = beside(g, x), g.constant(np.zeros(1))
    absent = missing(g, whole)
    value = g.where(absent, nothing, whole)
    out = g.op("MatMul", value, g.constant(np.where(np.isinf(weight), 0.0, weight)))
    if np.isinf(weight).any():  # 0 · −∞ counts as 0
        there = g.cast(g.op("Not", g.op("Equal", value, nothing)), np.float64)
        met = g.op("MatMul", there, g.constant(np.isinf(weight).astype(float)))
        out = g.where(g.op("Greater", met, nothing), g.constant(np.full(1, -np.inf)), out)
    if term["bias"] is not None:
        there = g.cast(g.op("Not", absent), np.float64)
        out = g.op("Add", out, g.op("MatMul", there, g.constant(np.array(term["bias"], dtype=float))))
    return str(out)


def kernel_columns(g: OnnxGraph, term: Term, x: Sequence[str], K: int) -> str:
    if len(x) * K > MOST_KERNELS:
        raise ExportError(f"its {len(x) * K:,} kernel densities are more than the {MOST_KERNELS:,} that a graph holds.")
    columns = []
    for i, column in enumerate(x):
        if not any(term["value"][i]):
            columns.append(
                g.expand(g.op("Mul", g.cast(missing(g, column), np.float64), g.constant(np.zeros((1, K)))), 1)
            )
            continue
        each = []
        for k in range(K):
            value, weight, h = np.array(term["value"][i][k]), np.array(term["weight"][i][k]), term["bandwidth"][i][k]
            z = g.op("Div", g.op("Sub", column, g.constant(value[None])), g.constant(np.full(1, h)))
            share = g.constant(np.log(weight / weight.sum())[None])
            log = g.op("Sub", share, g.op("Mul", g.op("Mul", z, z), g.constant(np.full(1, 0.5))))
            found = g.op("Sub", g.log_sum_exp(log, 1), g.constant(np.full(1, np.log(h) + 0.5 * LOG_2PI)))
            each.append(g.expand(found, 1))
        columns.append(g.expand(g.where(missing(g, column), g.constant(np.zeros(1)), beside(g, each)), 1))
    return beside(g, columns)


def block(g: OnnxGraph, term: Term, x: Sequence[str], K: int) -> str:
    """Complete rows by the factors; if values are missing, all rows by elimination, column after column.

    A column that is missing is taken as one of its own with variance 1 that lies on its mean: it adds nothing.
    """
    keep, d = term["keep"], len(term["keep"])
    if not d:
        return g.constant(np.zeros((1, K)))
    factor = np.stack([_lower(f, d) for f in term["factor"]])
    factor = np.broadcast_to(factor, (K, d, d))
    mean, low = (np.array(term[key])[:, keep] for key in ("mean", "low"))
    whole = beside(g, [x[j] for j in keep])
    absent = missing(g, whole)
    away = g.op("Sub", g.op("Sub", g.expand(whole, 1), g.constant(mean)), g.constant(low))  # (rows, K, d)
    away = g.where(g.expand(absent, 1), g.constant(np.zeros(1)), away)
    some = g.op("Greater", g.op("ReduceSum", g.cast(absent, np.int64), keepdims=0), g.constant(0))
    incomplete, complete = g.inner("missing"), g.inner("whole")
    half = np.log(np.abs(np.einsum("kii->ki", factor))).sum(axis=1) - 0.5 * d * LOG_2PI
    z = complete.op("Einsum", away, complete.constant(np.ascontiguousarray(factor)), equation="nkj,kij->nki")
    distance = complete.op("Mul", complete.sum(complete.op("Mul", z, z), 2), complete.constant(np.full(1, 0.5)))
    found = complete.op("Sub", complete.constant(half[None]), distance)
    made = _eliminated(incomplete, factor, away, absent, d)
    return str(g.op("If", some, then_branch=_body(incomplete, made), else_branch=_body(complete, found)))


def _eliminated(g: OnnxGraph, factor: Floats, away: str, absent: str, d: int) -> str:
    """−½ log|2π Σ| − ½ e' Σ⁻¹ e of the columns that are there: one column after the other is taken out of both."""
    lower = np.linalg.inv(factor)
    covariance = lower @ np.swapaxes(lower, 1, 2)
    unit = np.sqrt(np.einsum("kii->ki", covariance))
    scaled = covariance / unit[:, :, None] / unit[:, None, :]
    there = g.cast(g.op("Not", absent), np.float64)
    both = g.op("Mul", g.expand(there, 1), g.expand(there, 2))  # (rows, d, d)
    eye = g.op("Mul", g.expand(g.op("Sub", g.constant(np.ones(1)), there), 2), g.constant(np.eye(d)))
    a = g.op("Add", g.op("Mul", g.expand(both, 1), g.constant(scaled)), g.expand(eye, 1))  # (rows, K, d, d)
    e = g.op("Div", away, g.constant(unit))
    total = g.op("MatMul", there, g.constant(-0.5 * LOG_2PI - np.log(unit).T))  # (rows, K)
    for j in range(d):
        column = g.op("Gather", a, g.constant(j), axis=3)  # (rows, K, d)
        pivot = g.op("Gather", column, g.constant(np.array([j])), axis=2)
        own = g.op("Gather", e, g.constant(np.array([j])), axis=2)
        share = g.op("Div", column, pivot)
        half_log = g.op("Add", g.op("Log", pivot), g.op("Div", g.op("Mul", own, own), pivot))
        half_log = g.op("Mul", half_log, g.constant(np.full(1, 0.5)))
        total = g.op("Sub", total, g.op("Squeeze", half_log, g.constant([2])))
        if j + 1 < d:
            e = g.op("Sub", e, g.op("Mul", share, own))
            a = g.op("Sub", a, g.op("Mul", g.expand(share, 3), g.expand(column, 2)))
    return str(total)


def _lower(rows: Any, d: int) -> Floats:
    out = np.zeros((d, d))
    for i, row in enumerate(rows):
        out[i, : i + 1] = row
    return out


def _body(g: OnnxGraph, output: str) -> Any:
    """The nodes of a graph as the branch of another."""
    value = g.onnx.helper.make_tensor_value_info(output, g.onnx.TensorProto.DOUBLE, None)
    return g.onnx.helper.make_graph(g.nodes, f"{g.prefix}branch", [], [value], g.constants)


# --- networks ---------------------------------------------------------------------------------------------------------


def known_codes(g: OnnxGraph, term: Term, x: Sequence[str]) -> str:
    """(rows, discrete columns): −1 for what is missing, unseen or gone."""
    sizes = np.array(term["sizes"], dtype=np.int64)
    code = beside(g, x[: len(sizes)])
    strange = g.op("GreaterOrEqual", code, g.constant(sizes))
    code = g.where(strange, g.constant(-1), g.op("Max", code, g.constant(-1)))
    for j, v in term["gone"]:
        here = np.full(len(sizes), -9)
        here[j] = v
        code = g.where(g.op("Equal", code, g.constant(here)), g.constant(-1), code)
    return str(code)


def network(g: OnnxGraph, term: Term, x: Sequence[str], K: int) -> str:
    """Every column is summed out, parents last: where it is known only its value has a share."""
    sizes = term["sizes"]
    d = len(sizes)
    factors: list[tuple[list[int], str]] = []  # columns, and (rows or 1, one axis for each of them, K)
    if d:
        code = known_codes(g, term, x)
    for j in range(d):
        own = g.op("Gather", code, g.constant(np.array([j])), axis=1)  # (rows, 1)
        fits = g.op("Or", g.op("Equal", own, g.constant(np.arange(sizes[j])[None])), g.op("Less", own, g.constant(0)))
        seen = g.where(fits, g.constant(np.zeros(1)), g.constant(np.full(1, -np.inf)))
        factors.append(([j], g.expand(seen, 2)))
    for f in term["families"]:
        over = [*f["parents"], f["child"]]
        factors.append((over, g.constant(logs(f["log"]).reshape(1, *(sizes[j] for j in over), K))))
    for i, real in enumerate(term["reals"]):
        over = list(real["parents"])
        dims = [1, *(sizes[j] for j in over), K]
        value = g.shape(x[d + i], [-1, *(1 for _ in over), 1])
        mean, variance = (np.array(real[key]).reshape(dims) for key in ("mean", "variance"))
        factors.append((over, densities(g, value, mean, variance)))
    return _summed_out(g, factors, sizes, K)


def network_columns(g: OnnxGraph, term: Term, x: Sequence[str], K: int) -> str:
    """(rows, columns, K): in the order of the graph, what each column adds to the log-likelihood of those before it."""
    d = len(term["sizes"])
    if len(x) > MOST_EVIDENCE:
        raise ExportError(
            f"the evidence of its {len(x)} columns takes as many graphs; at most {MOST_EVIDENCE} are made."
        )
    absent = [g.op("Sub", g.op("Mul", v, g.constant(0)), g.constant(1)) for v in x[:d]]
    absent += [g.op("Div", g.op("Mul", v, g.constant(np.zeros(1))), g.constant(np.zeros(1))) for v in x[d:]]
    order = [*(f["child"] for f in term["families"]), *range(d, len(x))]
    shown, zero, out = list(absent), g.constant(np.zeros(1)), [""] * len(x)
    before = network(g, term, shown, K)
    for j in order:
        shown[j] = x[j]
        now = network(g, term, shown, K)
        out[j] = g.expand(g.where(g.never(before), zero, g.op("Sub", now, before)), 1)
        before = now
    return beside(g, out)


def _summed_out(g: OnnxGraph, factors: list[tuple[list[int], str]], sizes: Sequence[int], K: int) -> str:
    left = set(range(len(sizes)))
    while left:
        together = {j: sorted({i for over, _ in factors if j in over for i in over}) for j in left}
        best = min(left, key=lambda j: (prod(sizes[i] for i in together[j]), j))
        over = [*(i for i in together[best] if i != best), best]
        cells = K * prod(sizes[i] for i in over)
        if cells > MOST_CELLS:
            raise ExportError(
                f"missing values of its network would take tables of {cells:,} numbers for each row, and a graph takes "
                f"{MOST_CELLS:,}: use fewer parents or levels."
            )
        mine = [f for f in factors if best in f[0]]
        product = _laid(g, *mine[0], over)
        for f in mine[1:]:
            product = g.op("Add", product, _laid(g, *f, over))
        factors = [f for f in factors if best not in f[0]]
        factors.append((over[:-1], g.log_sum_exp(product, len(over))))
        left.remove(best)
    total = g.constant(np.zeros((1, K)))
    for _, name in factors:
        total = g.op("Add", total, name)
    return total


def _laid(g: OnnxGraph, own: list[int], name: str, over: Sequence[int]) -> str:
    """A factor with its axes in the order of `over`, those that it does not have of length 1."""
    order = sorted(range(len(own)), key=lambda i: over.index(own[i]))
    if order != list(range(len(own))):
        name = g.op("Transpose", name, perm=[0, *(i + 1 for i in order), len(own) + 1])
    axes = [1 + i for i, j in enumerate(over) if j not in own]
    return str(g.op("Unsqueeze", name, g.constant(np.array(axes)))) if axes else name


Form = Callable[[OnnxGraph, Term, Sequence[str], int], str]
BY_COLUMN: dict[str, Form] = {
    "table": table_columns, "normal": normal_columns, "log-normal": log_normal_columns, "linear": linear_columns,
    "kernel": kernel_columns,
}  # fmt: skip
WHOLE: dict[str, Form] = {"linear": linear, "block": block, "network": network}


def score(g: OnnxGraph, term: Term, x: Sequence[str], K: int) -> str:
    """What a term adds, (rows, classes), in the quickest way that it has."""
    form = term["form"]
    return WHOLE[form](g, term, x, K) if form in WHOLE else g.sum(BY_COLUMN[form](g, term, x, K), 1)
