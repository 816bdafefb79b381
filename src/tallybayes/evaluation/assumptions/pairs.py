"""Are two columns independent, given the class? Every pair at once, by contingency tables and rank correlations.

Codes are taken as they are, numbers are cut at their quartiles within each class. For each pair the tests of the
classes are added:

    X² = Σ_c X²_c, compared with a·χ²_ν that has the mean and variance of X² over all shufflings within the classes
         (Haldane 1940, Nass 1959), and G = 2 n I, compared with χ²; the larger p counts. X² alone finds too much where
         some cells are expected nearly empty, G alone where many are expected to have one or two rows.
    S  = Σ_c (n_c − 1) ρ_c², compared with χ² with as many degrees of freedom as classes; ρ: Spearman's rank
         correlation; for two numeric columns only, and then p is twice the smaller of the two.

Effect: the conditional mutual information I (from the tables, less its bias df / 2n; or −½ Σ_c π_c log(1 − r_c²) with
r = 2 sin(π ρ / 6), less its bias; whichever is larger), as R = √(1 − e^(−2I)): what a correlation would be.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy
from scipy.stats import chi2, rankdata

from tallybayes.evaluation.assumptions.columns_by_class import Data
from tallybayes.evaluation.assumptions.findings import Finding, finding, sizes
from tallybayes.utils.array_types import Array, Floats

LIMITS = (0.1, 0.3, 0.5)  # Cohen's words for a correlation
BLOCK_CELLS = 1 << 22  # cells of a block of indicators
NAME = "Independence given the class"


def independent_pairs(data: Data, significance: float) -> Finding:
    """The finding over all pairs of columns."""
    names = (*data.numeric_names, *data.code_names)
    first, second = np.triu_indices(len(names), 1)
    if not len(first):
        return Finding(NAME, "untested", "There is one column only.")
    square, p, effect, direction = dependence(data)
    used = np.isfinite(p[first, second])
    first, second = first[used], second[used]
    if not len(first):
        return Finding(NAME, "untested", "No pair of columns varies within a class.")
    word = sizes(effect[first, second], LIMITS)
    lines = [
        {
            "what": f"{names[i]} and {names[j]}",
            "effect": float(effect[i, j]),
            "size": size,
            "says": f"like a correlation of {direction[i, j] * effect[i, j]:.2f}",
            "statistic": float(square[i, j]),
            "p": float(p[i, j]),
        }
        for i, j, size in zip(first.tolist(), second.tolist(), word, strict=True)
    ]
    return finding(NAME, lines, significance, "pairs", "The columns seem independent in each class")


def dependence(data: Data) -> tuple[Floats, Floats, Floats, Floats]:
    """X², p (NaN: nothing to test), R and the sign of each pair of columns: numeric ones first."""
    d, numeric = data.numeric.shape[1] + data.codes.shape[1], data.numeric.shape[1]
    square, mean, variance, information, df = (np.zeros((d, d)) for _ in range(5))
    rank, classes, linear, lean = (np.zeros((numeric, numeric)) for _ in range(4))
    for rows in data.rows:
        codes = np.column_stack([quartiles(data.numeric[rows]), data.codes[rows]])
        for total, part in zip((square, mean, variance, information, df), tables(codes), strict=True):
            total += part
        rho, n = spearman(data.numeric[rows])
        r2 = np.square(2 * np.sin(np.pi * rho / 6))
        unbiased = np.maximum((r2 - 1 / np.maximum(n - 1, 1)) / (1 - 1 / np.maximum(n - 1, 2)), 0.0)
        rank += np.where(n > 0, (n - 1) * np.square(rho), 0.0)
        classes += n > 0
        linear += np.where(n > 0, -0.5 * n * np.log1p(-np.minimum(unbiased, 1 - 1e-12)), 0.0)
        lean += n * rho
    with np.errstate(divide="ignore", invalid="ignore"):
        pearson = chi2.sf(2 * mean * square / variance, 2 * mean**2 / variance)
        p = np.where(variance > 0, np.maximum(pearson, chi2.sf(2 * information, df)), np.nan)
        p_rank = np.where(classes > 0, chi2.sf(rank, classes), np.nan)
    corner = slice(0, numeric), slice(0, numeric)
    p[corner] = np.minimum(2 * np.fmin(p[corner], p_rank), 1.0)
    information = np.maximum(information - 0.5 * df, 0.0)
    information[corner] = np.maximum(information[corner], linear)
    effect = np.sqrt(-np.expm1(-2 * information / max(data.n, 1)))
    sign = np.ones((d, d))
    sign[corner] = np.where(lean < 0, -1.0, 1.0)
    return square, p, effect, sign


def quartiles(x: Floats) -> Array:
    """Codes by quarters (by halves or thirds if rows are few) of what each column has; −1 is missing."""
    bins = 2 if len(x) < 40 else 3 if len(x) < 100 else 4
    out = np.full(x.shape, -1, dtype=np.int32)
    for j in range(x.shape[1]):
        here = ~np.isnan(x[:, j])
        if here.any():
            edges = np.unique(np.quantile(x[here, j], np.arange(1, bins) / bins))
            out[here, j] = np.searchsorted(edges, x[here, j], side="left")
    return out


def tables(codes: Array) -> tuple[Floats, ...]:
    """X², its mean and variance over shufflings, n·I and degrees of freedom of every pair of columns: (d, d) each."""
    levels = codes.max(axis=0, initial=-1) + 1
    starts = np.concatenate([[0], np.cumsum(np.maximum(levels, 1))[:-1]]).astype(np.intp)
    owner = np.repeat(np.arange(len(levels)), np.maximum(levels, 1))
    joint = _crossed(codes, starts, len(owner))
    inside: Floats = np.add.reduceat(joint, starts, axis=1)  # (level, column): rows with the level that have the column
    margin = inside[:, owner]
    n: Floats = np.add.reduceat(inside, starts, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        cells = np.where(joint > 0, joint**2 / (margin * margin.T), 0.0)
        information = xlogy(joint, joint * n[np.ix_(owner, owner)] / (margin * margin.T))
        inverse = np.add.reduceat(np.where(inside > 0, 1.0 / inside, 0.0), starts, axis=0)
    information = np.where(joint > 0, information, 0.0)
    square = n * (_blocks(cells, starts) - 1)
    r = np.add.reduceat((inside > 0).astype(np.float64), starts, axis=0)  # levels of i among the rows that have j
    df = (r - 1) * (r.T - 1)
    fine = (n >= 5) & (df > 0)
    m = np.where(fine, n, 5.0)
    w = (m * inverse - r**2) / (m - 2)
    v = (r - 1) * (m - r) / (m - 1)
    mean = m / (m - 1) * df
    variance = np.maximum(2 * m / (m - 3) * (v - w) * (v - w).T + m**2 / (m - 1) * w * w.T, 0.0)
    found = (square, mean, variance, _blocks(information, starts), df)
    return tuple(np.where(fine & (variance > 0), a, 0.0) for a in found)


def _crossed(codes: Array, starts: Array, total: int) -> Floats:
    """(levels, levels): how many rows have both, from blocks of indicators."""
    out = np.zeros((total, total))
    step = max(1, BLOCK_CELLS // max(total, 1))
    for first in range(0, len(codes), step):
        block = codes[first : first + step]
        row, column = np.nonzero(block >= 0)
        ones = np.zeros((len(block), total), dtype=np.float32)
        ones[row, starts[column] + block[row, column]] = 1.0
        out += ones.T @ ones
    return out


def _blocks(a: Floats, starts: Array) -> Floats:
    found: Floats = np.add.reduceat(np.add.reduceat(a, starts, axis=0), starts, axis=1)
    return found


def spearman(x: Floats) -> tuple[Floats, Floats]:
    """Rank correlation of each pair over the rows that have both, and how many these are (0: nothing to correlate)."""
    here = ~np.isnan(x)
    ranks = np.where(here, rankdata(x, axis=0, nan_policy="omit"), 0.0)
    ranks = np.where(here, ranks - ranks.sum(axis=0) / np.maximum(here.sum(axis=0), 1), 0.0)
    there = here.astype(np.float64)
    n = there.T @ there
    total = ranks.T @ there  # of i over the rows that have j
    safe = np.maximum(n, 1)
    product = ranks.T @ ranks - total * total.T / safe
    spread = np.square(ranks).T @ there - total**2 / safe
    down = spread * spread.T
    fine = (n >= 5) & (down > 1e-12 * safe**4)
    rho = np.where(fine, product / np.sqrt(np.where(fine, down, 1.0)), 0.0)
    return np.clip(rho, -1.0, 1.0), np.where(fine, n, 0.0)
