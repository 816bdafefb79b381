"""Networks by plain counting of rows: slow and obvious."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

Row = Sequence[Any]


def count(rows: Sequence[Row], y: Sequence[Any], c: Any, values: dict[int, Any]) -> int:
    return sum(1 for r, k in zip(rows, y, strict=True) if k == c and all(r[j] == v for j, v in values.items()))


def present(rows: Sequence[Row], y: Sequence[Any], c: Any, values: dict[int, Any], j: int) -> int:
    """Rows with these values in which column j is not missing."""
    return sum(
        1
        for r, k in zip(rows, y, strict=True)
        if k == c and r[j] is not None and all(r[i] == v for i, v in values.items())
    )


def levels(rows: Sequence[Row], j: int) -> list[Any]:
    return sorted({r[j] for r in rows if r[j] is not None})


def laplace(rows: Any, y: Any, c: Any, j: int, v: Any, given: dict[int, Any], alpha: float) -> float:
    N = len(levels(rows, j))
    return (count(rows, y, c, {**given, j: v}) + alpha) / (present(rows, y, c, given, j) + alpha * N)


def backoff(rows: Any, y: Any, c: Any, j: int, v: Any, given: Any, alpha: float, a: Sequence[float]) -> float:
    """given: [(column, value)] in the order of the parents; a: a strength for each."""
    if not given:
        return laplace(rows, y, c, j, v, {}, alpha)
    below = backoff(rows, y, c, j, v, given[:-1], alpha, a[:-1])
    n, total = count(rows, y, c, {**dict(given), j: v}), present(rows, y, c, dict(given), j)
    return (n + a[-1] * below) / (total + a[-1])


def joint(rows: Any, y: Any, x: Row, c: Any, parents: Any, alpha: float, strengths: Any = None) -> float:
    """log P(c, x) of a network; None in x is summed over. strengths: {column: [a for each parent]}, or Laplace."""
    holes = [j for j, v in enumerate(x) if v is None]
    total = 0.0
    for filled in itertools.product(*(levels(rows, j) for j in holes)):
        full = list(x)
        for j, v in zip(holes, filled, strict=True):
            full[j] = v
        p = 1.0
        for j, own in enumerate(parents):
            given = [(i, full[i]) for i in own]
            if strengths is None:
                p *= laplace(rows, y, c, j, full[j], dict(given), alpha)
            else:
                p *= backoff(rows, y, c, j, full[j], given, alpha, strengths[j])
        total += p
    return math.log(sum(1 for k in y if k == c) / len(y)) + math.log(total)


def averaged(rows: Any, y: Any, x: Row, c: Any, n: int, alpha: float, min_count: float, classes: Any) -> float:
    """log of Σ_S P(c, x_S) Π_j P(x_j | c, x_S) over the number of S; missing values are left out."""
    here = [j for j, v in enumerate(x) if v is not None]
    terms = []
    for s in itertools.combinations(here, n):
        given = {j: x[j] for j in s}
        met = [r for r in rows if all(r[j] is not None for j in s)]
        if sum(1 for r in met if all(r[j] == v for j, v in given.items())) < min_count:
            continue
        cells = math.prod(len(levels(rows, j)) for j in s)
        p = (count(rows, y, c, given) + alpha) / (len(met) + alpha * len(classes) * cells)
        for j in here:
            if j not in s:
                p *= laplace(rows, y, c, j, x[j], given, alpha)
        terms.append(p)
    if not terms:
        prior = sum(1 for k in y if k == c) / len(y)
        return math.log(prior * math.prod(laplace(rows, y, c, j, x[j], {}, alpha) for j in here))
    return math.log(sum(terms) / len(terms))


def conditional_information(rows: Any, y: Any, i: int, j: int) -> float:
    """I(x_i; x_j | y) in nats."""
    both = [(r[i], r[j], k) for r, k in zip(rows, y, strict=True) if r[i] is not None and r[j] is not None]
    n, out = len(both), 0.0
    for a, b, c in set(both):
        abc = both.count((a, b, c)) / n
        ac = sum(1 for t in both if t[0] == a and t[2] == c) / n
        bc = sum(1 for t in both if t[1] == b and t[2] == c) / n
        pc = sum(1 for t in both if t[2] == c) / n
        out += abc * math.log(abc * pc / (ac * bc))
    return out


# --- columns that stay real: x | class, parents ~ Normal ------------------------------------------------------------


def cell_values(rows: Any, y: Any, c: Any, j: int, given: Any) -> list[float]:
    """The values of real column j in the rows of class c (None: of all) with these values of the parents."""
    return [
        r[j]
        for r, k in zip(rows, y, strict=True)
        if (c is None or k == c) and r[j] is not None and all(r[i] == v for i, v in given)
    ]


def mean_and_variance(values: Sequence[float]) -> tuple[float, float]:
    mean = math.fsum(values) / len(values)
    return mean, math.fsum((v - mean) ** 2 for v in values) / len(values)


def normal(rows: Any, y: Any, c: Any, j: int, given: Any, a: Sequence[float] | None) -> tuple[float, float]:
    """Mean and variance of real column j. given: [(column, value)] in the order of the parents; a: a strength for each,
    or None: each cell speaks for itself if it can."""
    everyone, spread = mean_and_variance(cell_values(rows, y, None, j, []))
    values = cell_values(rows, y, c, j, given)
    if not given:
        mean, var = mean_and_variance(values) if values else (everyone, spread)
        return mean, var + 1e-9 * spread
    below = normal(rows, y, c, j, given[:-1], None if a is None else a[:-1])
    if a is None:
        if len(values) < 2 or mean_and_variance(values)[1] <= 1e-9 * spread:
            return below
        mean, var = mean_and_variance(values)
        return mean, var + 1e-9 * spread
    n, strength = len(values), a[-1]
    mean = (math.fsum(values) + strength * below[0]) / (n + strength)
    # the prior as `strength` rows of that mean and variance, all about the new mean
    square = math.fsum((v - mean) ** 2 for v in values) + strength * (below[1] + (below[0] - mean) ** 2)
    return mean, square / (n + strength)


def log_density(x: float, mean: float, var: float) -> float:
    return -((x - mean) ** 2) / (2 * var) - 0.5 * math.log(2 * math.pi * var)


def log_sum(logs: Sequence[float]) -> float:
    return max(logs) + math.log(math.fsum(math.exp(v - max(logs)) for v in logs))


def mixed_joint(
    rows: Any, y: Any, x: Row, c: Any, parents: Any, reals: Any, strengths: Any = None, alpha: float = 1.0
) -> float:
    """log p(c, x): missing discrete values are summed over, missing real ones left out."""
    discrete = [j for j in range(len(parents)) if j not in reals]
    holes = [j for j in discrete if x[j] is None]
    each = []
    for filled in itertools.product(*(levels(rows, j) for j in holes)):
        full = list(x)
        for j, v in zip(holes, filled, strict=True):
            full[j] = v
        log = 0.0
        for j, own in enumerate(parents):
            given = [(i, full[i]) for i in own]
            a = None if strengths is None else strengths[j]
            if j in reals:
                log += 0.0 if x[j] is None else log_density(x[j], *normal(rows, y, c, j, given, a))
            elif a is None:
                log += math.log(laplace(rows, y, c, j, full[j], dict(given), alpha))
            else:
                log += math.log(backoff(rows, y, c, j, full[j], given, alpha, a))
        each.append(log)
    return math.log(sum(1 for k in y if k == c) / len(y)) + log_sum(each)


def mixed_averaged(
    rows: Any, y: Any, x: Row, c: Any, n: int, reals: Any, classes: Any, rank: Any, min_count: float = 1.0
) -> float:
    """As averaged, with Laplace's smoothing; real columns are children of every set, whose columns stand by rank."""
    here = [j for j, v in enumerate(x) if v is not None]
    discrete = [j for j in here if j not in reals]

    def rest(given: dict[int, Any]) -> float:
        log = 0.0
        for j in here:
            if j in reals:
                log += log_density(x[j], *normal(rows, y, c, j, list(given.items()), None))
            elif j not in given:
                log += math.log(laplace(rows, y, c, j, x[j], given, 1.0))
        return log

    terms = []
    for s in itertools.combinations(discrete, n):
        given = {j: x[j] for j in sorted(s, key=lambda j: rank[j])}
        met = [r for r in rows if all(r[j] is not None for j in s)]
        if sum(1 for r in met if all(r[j] == v for j, v in given.items())) < min_count:
            continue
        cells = math.prod(len(levels(rows, j)) for j in s)
        terms.append(math.log((count(rows, y, c, given) + 1) / (len(met) + len(classes) * cells)) + rest(given))
    if not terms:
        return math.log(sum(1 for k in y if k == c) / len(y)) + rest({})
    return log_sum(terms) - math.log(len(terms))
