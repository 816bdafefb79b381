"""Exact leave-one-out log-loss of a Gaussian discriminant over a grid of α and γ, from one fit.

Take a row x of class c, weight r, out of the sums: with e = x − μ_c,
    S_c' = S_c − s e eᵀ,  s = r n_c / (n_c − r),   x − μ_c' = e n_c / (n_c − r),   n' = n − r.
For every class l, Σ_l' = B_l − b e eᵀ: B_l is the same for all rows that are (or are not) of class l, only b and the
trace depend on the row. In the eigenvectors of B_l, with G = (1 − γ) B_l + γ m I, m = tr Σ_l' / d, β = (1 − γ) b,
    zᵀ Σ'⁻¹ z = zᵀ G⁻¹ z + β (zᵀ G⁻¹ e)² / h,   log|Σ'| = log|G| + log h,   h = 1 − β eᵀ G⁻¹ e.
One rotation of the rows serves all γ. m moves little from row to row, so 1/G is a short series about its middle, and
a matrix product gives it for all rows and γ at once; where m moves much (few rows) it is divided out directly.

A row of weight 2 is two rows, each left out once. Rows with missing values, and the only row of a class, take no
part. A pair (α, γ) that leaves a covariance without full rank is not chosen.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from tallybayes import _core
from tallybayes.distributions.base import Array
from tallybayes.distributions.block import GaussianBlock
from tallybayes.distributions.block_tally import count, dense
from tallybayes.encode import Data, Numbers
from tallybayes.estimators.ledoit_wolf import blocks
from tallybayes.parameters import log_prior
from tallybayes.tally import Tally

MOST_TERMS = 6
CHUNK = 1 << 15  # rows whose scores are held at once
ROWS = 2048  # at a time: what they need stays in the cache


@dataclass(frozen=True)
class _Sums:
    """What the losses are computed from: complete rows, centred, and their sums."""

    e: Array  # rows less the mean of their class, in the order of the classes
    y: Array
    w: Array
    n: Array
    mean: Array
    scatter: Array
    outside: int  # columns beyond the span of the rows, where all variance is shrinkage


def losses(
    data: Data, y: Array, w: Array | None, total: Tally, alphas: Any, gammas: Any, block: GaussianBlock, priors: Any
) -> Array:
    """(alphas, gammas): the mean of −log P(true class | x) without the row itself; inf where it cannot be said."""
    sums = _sums(data, y, w, total.K)
    K = total.K
    units = np.minimum(sums.w, 1.0)
    left_in = sums.n[sums.y] - units > 1e-9 * sums.n[sums.y]
    if not left_in.any():
        return np.zeros((len(alphas), len(gammas)))
    parts = []
    for r in np.unique(units[left_in]).tolist():
        rows = np.flatnonzero(left_in & (units == r))
        parts += [(r, rows[i : i + CHUNK]) for i in range(0, len(rows), CHUNK)]

    def loss_of(alpha: float) -> Array:
        loss, weight = np.zeros(len(gammas)), 0.0
        for r, rows in parts:
            score = np.stack([_scores(sums, rows, r, k, alpha, gammas, block) for k in range(K)], axis=2)
            score += _priors(total, priors, sums, rows, r)[:, None, :]
            own = np.take_along_axis(score, sums.y[rows][:, None, None], axis=2)[:, :, 0]
            top = score.max(axis=2)
            with np.errstate(invalid="ignore", over="ignore"):
                lost = top + np.log(np.exp(score - top[:, :, None]).sum(axis=2)) - own
            loss += sums.w[rows] @ lost
            weight += sums.w[rows].sum()
        return np.where(np.isfinite(loss), loss / weight, np.inf)

    # products of small matrices: each α on a thread of its own is faster than a BLAS that starts a team for each
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(_core.threads()) as pool:
        return np.stack(list(pool.map(loss_of, alphas)))


def _sums(data: Data, y: Array, w: Array | None, K: int) -> _Sums:
    parts, labels, weights = [], [], []
    for span, x in blocks(data):
        used = (y[span] >= 0) & ~np.isnan(x).any(axis=1) & (True if w is None else w[span] > 0)
        parts.append(x[used])
        labels.append(y[span][used])
        weights.append(np.ones(int(used.sum())) if w is None else w[span][used])
    x, y, w = np.concatenate(parts), np.concatenate(labels), np.concatenate(weights)
    outside = 0
    if x.shape[1] > len(x) > 0:  # all that differs between rows lies in as many directions
        centre = x.mean(axis=0)
        _, size, basis = np.linalg.svd(x - centre, full_matrices=False)
        basis = basis[size > 1e-12 * size.max(initial=0.0)]
        outside = x.shape[1] - len(basis)
        x = (x - centre) @ basis.T
    order = np.argsort(y, kind="stable")
    x, y, w = np.ascontiguousarray(x[order]), y[order], w[order]
    s = dense(count(Numbers(x, None), np.asarray(y, np.int32), w, K, pooled=False), pooled=False)
    return _Sums(x - s["mean"][y], y, w, s["n"], s["mean"], s["scatter"], outside)


def _priors(total: Tally, priors: Any, sums: _Sums, rows: Array, r: float) -> Array:
    """(rows, K): the log prior without the row."""
    if priors is not None and not (isinstance(priors, str) and priors == "laplace"):
        return np.broadcast_to(log_prior(total, priors), (len(rows), total.K))
    more = 0.0 if priors is None else 1.0
    weight = np.repeat(total.weight[None] + more, len(rows), axis=0)
    weight[np.arange(len(rows)), sums.y[rows]] -= r
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(weight) - np.log(weight.sum(axis=1, keepdims=True)))


def _scores(q: _Sums, rows: Array, r: float, k: int, alpha: float, gammas: Any, block: GaussianBlock) -> Array:
    """(rows, gammas): log p(x | class k), each row left out."""
    out = np.full((len(rows), len(gammas)), np.nan)
    down = float(q.n.sum() - r - block.ddof * (q.n > 0).sum())
    y = q.y[rows]
    first, last = np.searchsorted(y, [k, k + 1]).tolist()
    for part in (slice(0, first), slice(first, last), slice(last, len(rows))):
        mine = part.start == first and part.stop == last
        own_down = float(q.n[k] - (r if mine else 0.0) - block.ddof)
        if part.start == part.stop or down <= 0 or (alpha > 0 and own_down <= 0):
            continue
        own = alpha / own_down if alpha > 0 else 0.0
        value, vector = np.linalg.eigh(own * q.scatter[k] + (1 - alpha) / down * q.scatter.sum(axis=0))
        shift = (q.mean - q.mean[k]) @ vector
        for i in range(part.start, part.stop, ROWS):
            some = slice(i, min(part.stop, i + ROWS))
            c = y[some]
            b = r * q.n[c] / (q.n[c] - r) * ((own if mine else 0.0) + (1 - alpha) / down)
            e = (q.e[some] if len(rows) == len(q.e) else q.e[rows[some]]) @ vector
            if mine:
                out[some] = _own(e, q.n[k] / (q.n[k] - r), b, value, gammas, block.tol, q.outside)
            else:
                out[some] = _other(e, e + shift[c], b, value, gammas, block.tol, q.outside)
    return out


def _own(e: Array, grow: Any, b: Array, value: Array, gammas: Any, tol: float, outside: int) -> Array:
    g = _Levels(np.square(e).sum(axis=1), b, value, gammas, tol, outside)
    (ee,) = g.quadratic([np.square(e)])
    h = 1.0 - g.beta * ee
    return g.log_density(grow**2 * ee / np.where(h > g.least, h, np.nan), h)


def _other(e: Array, z: Array, b: Array, value: Array, gammas: Any, tol: float, outside: int) -> Array:
    g = _Levels(np.square(e).sum(axis=1), b, value, gammas, tol, outside)
    if not b.any():
        (zz,) = g.quadratic([np.square(z)])
        return g.log_density(zz, np.ones_like(zz))
    zz, ze, ee = g.quadratic([np.square(z), z * e, np.square(e)])
    h = 1.0 - g.beta * ee
    return g.log_density(zz + g.beta * np.square(ze) / np.where(h > g.least, h, np.nan), h)


class _Levels:
    """G = (1 − γ) λ_j + γ m_i for all rows i, directions j and γ."""

    def __init__(self, size: Array, b: Array, value: Array, gammas: Any, tol: float, outside: int) -> None:
        d = len(value) + outside
        m = (value.sum() - b * size) / d
        self.gamma = np.asarray(gammas, dtype=np.float64)
        self.beta = (1 - self.gamma) * b[:, None]
        self.middle = float((m.min() + m.max()) / 2)
        self.m, self.delta, self.outside = m, m - self.middle, outside
        self.level = (1 - self.gamma) * np.maximum(value, 0.0)[:, None] + self.gamma * self.middle
        self.least = 1e-12
        swing = float(np.abs(self.delta).max()) / self.middle if self.middle > 0 else 1.0
        self.terms = 1 if swing == 0 else int(np.ceil(np.log(1e-14) / np.log(min(swing, 0.999))))
        floor = max(tol**2, 1e-13) * float(value.max(initial=0.0))
        self.full = (self.level.min(axis=0) > floor * 1e-3) & ((self.gamma > 0) | (outside == 0))

    def quadratic(self, products: list[Array]) -> list[Array]:
        """Σ_j product_ij / G_ij for every γ."""
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = np.where(self.full, 1.0 / self.level, 0.0)
        if self.terms > MOST_TERMS:
            return self._direct(products)
        turn = -self.gamma * self.delta[:, None]
        table = np.concatenate([inverse ** (p + 1) for p in range(self.terms)], axis=1)
        found = []
        for product in products:
            by_power = np.split(product @ table, self.terms, axis=1)
            total = by_power[-1]
            for term in by_power[-2::-1]:
                total = term + turn * total
            found.append(total)
        return found

    def _direct(self, products: list[Array]) -> list[Array]:
        out = [np.zeros((len(self.m), len(self.gamma))) for _ in products]
        for g, gamma in enumerate(self.gamma):
            if self.full[g]:
                inverse = 1.0 / (self.level[:, g] + gamma * self.delta[:, None])
                for o, product in zip(out, products, strict=True):
                    o[:, g] = (product * inverse).sum(axis=1)
        return out

    def log_density(self, distance: Array, h: Array) -> Array:
        """−½ (log|Σ'| + distance), NaN without full rank; what all classes share is left out."""
        log_det = np.log(np.where(h > self.least, h, np.nan))
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.terms > MOST_TERMS:
                for g, gamma in enumerate(self.gamma):
                    log_det[:, g] += np.log(self.level[:, g] + gamma * self.delta[:, None]).sum(axis=1)
            else:
                log_det += np.log(self.level).sum(axis=0)
                ratio, turn = self.gamma / self.level, -self.delta[:, None]
                series = np.zeros_like(log_det)
                for p in range(self.terms, 0, -1):
                    series = (series + (ratio**p).sum(axis=0) / p) * turn
                log_det -= series
            if self.outside:
                log_det += self.outside * np.log(self.gamma * self.m[:, None])
        return np.where(self.full, -0.5 * (log_det + distance), np.nan)
