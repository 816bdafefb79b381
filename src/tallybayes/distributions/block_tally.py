"""The tally of a GaussianBlock: weight, mean, centred scatter; added and subtracted by Chan's formula.

Three forms, each exact; a tally takes the smallest that serves:

compact  n (K), mean (K, d), scatter (K, d, d), or (1, d, d) summed over the classes;
paired   n, mean (K, d, d): entry [c, i, j] over the rows of class c that have both x_i and x_j (mean: of x_i there).
         The form of data with missing values: every covariance comes from all rows that can speak of it.
wide     rows (R, d) and the class of each (owner), scatter_c = Σ rows rowsᵀ: fewer rows than columns, no d×d matrix.

For Ledoit-Wolf shrinkage a compact tally has third and fourth moments too, a wide one the weight of each row: see
ledoit_wolf.py.

    S(A ∪ B) = S(A) + S(B) + (n_A n_B / n) δ δᵀ,   δ = mean(B) − mean(A);   and backwards for A − B.

Means are sums of two float64, mean + low, in any form: see means.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions.base import Array, Stats, Weights, expect, spread
from tallybayes.distributions.means import EPS, combine_means, exact_sum, low_of, shape_of_low
from tallybayes.encode import Data, Numbers, Sparse

WIDE = 256  # columns from which the wide form is worth its trouble


def count(data: Numbers, y: NDArray[np.int32], w: Weights, K: int, pooled: bool, fourth: bool = False) -> Stats:
    """fourth: a wide tally keeps the weight of each row."""
    if data.d >= WIDE and data.n <= data.d:
        found = _count_wide(data, y, w, K)
        if found is not None:
            return found if fourth else {key: value for key, value in found.items() if key != "weight"}
    n, mean, low, scatter, skipped = _core.scatter(data.columns, y, w, K, pooled)
    if skipped > 0:
        n, mean, low, scatter = _core.pairwise_scatter(data.columns, y, w, K, pooled)
    return {"n": n, "mean": mean, "low": low, "scatter": scatter}


def _count_wide(data: Numbers, y: NDArray[np.int32], w: Weights, K: int) -> Stats | None:
    """None if a value is missing."""
    used = np.flatnonzero((y >= 0) & (True if w is None else w > 0))
    x = rows_of(data, used)
    if not np.isfinite(x).all():
        return None
    owner, weight = y[used], np.ones(len(used)) if w is None else w[used]
    n, mean, low = np.zeros(K), np.zeros((K, data.d)), np.zeros((K, data.d))
    for k in np.unique(owner):
        here = owner == k
        first = x[here][0]
        n[k] = weight[here].sum()
        mean[k], low[k] = exact_sum(first, weight[here] @ (x[here] - first) / n[k])
    rows = (x - mean[owner] - low[owner]) * np.sqrt(weight)[:, None]
    keep = rows.any(axis=1)
    owner = owner.astype(np.int64)
    return {"n": n, "mean": mean, "low": low, "rows": rows[keep], "owner": owner[keep], "weight": weight[keep]}


def combine(a: Stats, b: Stats, sign: int, pooled: bool) -> Stats:
    if "rows" in a and "rows" in b and len(a["rows"]) + len(b["rows"]) <= a["mean"].shape[1]:
        return _combine_wide(a, b, sign)
    a, b = dense(a, pooled), dense(b, pooled)
    if a["n"].ndim != b["n"].ndim:
        a, b = paired(a), paired(b)
    n, mean, low, delta, part = combine_means(a, b, sign)
    other = delta.swapaxes(1, 2) if delta.ndim == 3 else delta
    weight = a["n"] * part
    with np.errstate(over="ignore", invalid="ignore"):  # `estimate` refuses what is no number
        if delta.ndim == 3:
            cross = weight * delta * other
            cross = cross.sum(axis=0, keepdims=True) if pooled else cross
        elif pooled:
            cross = ((delta * weight[:, None]).T @ delta)[None]
        else:
            cross = weight[:, None, None] * delta[:, :, None] * delta[:, None, :]
        scatter = a["scatter"] + sign * (b["scatter"] + cross)
        scatter = scatter if sign > 0 else _swept(scatter, a["scatter"], n, pooled)
    return {"n": n, "mean": mean, "low": low, "scatter": scatter}


def _swept(scatter: Array, before: Array, n: Array, pooled: bool) -> Array:
    """Without what rounding leaves of things taken away whole."""
    if n.ndim == 1:
        scatter = scatter * ((n > 0).any() if pooled else (n > 0)[:, None, None])
    else:
        scatter = np.where((n > 0).any(axis=0) if pooled else n > 0, scatter, 0.0)
    old = np.einsum("kii->ki", before)
    new = np.einsum("kii->ki", scatter)
    still = new > 8 * EPS * old
    return np.asarray(scatter * still[:, :, None] * still[:, None, :])


def _combine_wide(a: Stats, b: Stats, sign: int) -> Stats:
    n, mean, low, delta, part = combine_means(a, b, sign)
    step = np.sqrt(a["n"] * part)[:, None] * delta
    moved = np.flatnonzero(step.any(axis=1))
    rows = np.concatenate([a["rows"], b["rows"], step[moved]])
    owner = np.concatenate([a["owner"], b["owner"], moved])
    if sign < 0:
        signs = np.ones(len(rows))
        signs[len(a["rows"]) :] = -1.0
        rows, owner = _signed(rows, owner, signs, n)
    return {"n": n, "mean": mean, "low": low, "rows": rows, "owner": owner}


def _signed(rows: Array, owner: Array, signs: Array, n: Array) -> tuple[Array, Array]:
    """Rows whose squares add to Σ sign · row rowᵀ, class by class."""
    kept, owners = [rows[:0]], [owner[:0]]
    for k in np.flatnonzero(n > 0):
        mine = owner == k
        if not mine.any():
            continue
        q, r = np.linalg.qr(rows[mine].T)
        value, vector = np.linalg.eigh((r * signs[mine]) @ r.T)
        good = value > 1e-12 * max(float(np.square(r).sum()), np.finfo(float).tiny)
        found = (q @ vector[:, good]).T * np.sqrt(value[good])[:, None]
        kept.append(found)
        owners.append(np.full(len(found), k, dtype=owner.dtype))
    return np.concatenate(kept), np.concatenate(owners)


def dense(s: Stats, pooled: bool) -> Stats:
    """A wide tally with its scatter written out too; the others as they are."""
    if "scatter" in s:
        return s
    K, d = s["mean"].shape
    if pooled:
        scatter = (s["rows"].T @ s["rows"])[None]
    else:
        scatter = np.zeros((K, d, d))
        for k in range(K):
            mine = s["rows"][s["owner"] == k]
            scatter[k] = mine.T @ mine
    return {**s, "scatter": scatter}


def paired(s: Stats) -> Stats:
    """A compact tally in paired form."""
    if s["n"].ndim == 3:
        return s
    K, d = s["mean"].shape
    n = np.broadcast_to(s["n"][:, None, None], (K, d, d)).copy()
    mean, low = (np.repeat(a[:, :, None], d, axis=2) for a in (s["mean"], low_of(s)))
    return {"n": n, "mean": mean, "low": low, "scatter": s["scatter"]}


def scale(s: Stats, factor: float) -> Stats:
    out = {**s, "n": s["n"] * factor}
    if "rows" in s:
        out["rows"] = s["rows"] * np.sqrt(factor)
    for key in ("scatter", "third", "fourth", "weight"):
        if key in s:
            out[key] = s[key] * factor
    return out


def reclass(s: Stats, to: Sequence[int], K: int, pooled: bool) -> Stats:
    out = {"n": spread(s["n"], to, K), "mean": spread(s["mean"], to, K), "low": spread(low_of(s), to, K)}
    if "rows" in s:
        owner: Any = np.asarray(to, dtype=np.int64)[s["owner"]]
        out["owner"] = owner[owner >= 0]
        for key in ("rows", "weight"):
            if key in s:
                out[key] = s[key][owner >= 0]
        return out
    for key in ("scatter", "third", "fourth"):
        if key in s:
            out[key] = s[key] if pooled else spread(s[key], to, K)
    return out


def check(s: Stats, K: int, d: int, pooled: bool, fourth: bool) -> None:
    """Raises ValueError if s is in none of the three forms; fourth: with what Ledoit-Wolf shrinkage needs."""
    shapes: dict[str, tuple[int, ...]] = {"n": (K,), "mean": (K, d)}
    if "n" in s and s["n"].ndim == 3:
        shapes = {"n": (K, d, d), "mean": (K, d, d)}
    shapes |= shape_of_low(s, shapes["mean"])
    if "rows" in s:
        owner = s.get("owner", np.empty(0))
        rest = {key: value for key, value in s.items() if key != "owner"}
        shapes["rows"] = (len(owner), d)
        if fourth:
            shapes["weight"] = owner.shape
        expect(rest, shapes, at_least_0=("n",))
        if fourth and not (s["weight"] > 0).all():
            raise ValueError("'weight' is not that of rows that count")
        if owner.dtype != np.int64 or owner.ndim != 1 or ((owner < 0) | (owner >= K)).any():
            raise ValueError("'owner' is not the class of each row")
        return
    matrices = ("scatter", "third", "fourth") if fourth else ("scatter",)
    expect(s, {**shapes, **dict.fromkeys(matrices, (1 if pooled else K, d, d))}, at_least_0=("n", "fourth"))
    if (np.einsum("kii->ki", s["scatter"]) < 0).any():
        raise ValueError("'scatter' has a negative sum of squares")


def rows_of(data: Numbers, rows: NDArray[Any]) -> Array:
    """Some rows as one matrix of float64."""
    if data.matrix is None:
        return np.column_stack([np.asarray(a)[rows].astype(np.float64) for a in data.arrays])
    picked = data.matrix[rows] if data.which is None else data.matrix[np.ix_(rows, np.asarray(data.which))]
    return np.asarray(picked, dtype=np.float64)


def blocks(data: Data, cells: int = 1 << 20) -> Iterator[tuple[slice, Array]]:
    """Row ranges and their values as dense matrices."""
    if isinstance(data, Sparse):
        for span, block in data.dense_blocks(cells):
            yield span, rows_of(block, np.arange(block.n))
        return
    assert isinstance(data, Numbers)
    step = max(1, cells // max(1, data.d))
    for i in range(0, data.n, step):
        span = slice(i, min(data.n, i + step))
        yield span, rows_of(data, np.arange(span.start, span.stop))


def diagonal(s: Stats) -> tuple[Array, Array, Array]:
    """n, mean and low (K, d): of each column by itself."""
    K, d = s["mean"].shape[:2]
    if s["n"].ndim == 3:
        return tuple(np.einsum("kii->ki", a).copy() for a in (s["n"], s["mean"], low_of(s)))
    return np.broadcast_to(s["n"][:, None], (K, d)).copy(), s["mean"], low_of(s)
