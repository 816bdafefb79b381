"""Columns far from 0, and of any scale: discriminants against exact arithmetic, where no digit is ever lost."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.encode import Numbers
from tallybayes.estimators import leave_one_out

GDA, LDA, QDA = tb.GaussianDiscriminant, tb.LinearDiscriminantAnalysis, tb.QuadraticDiscriminantAnalysis
OFFSETS = {"1e10": 1e10, "-1e10": -1e10, "1e13": 1e13, "one each": np.array([1e10, -3e11, 0.0])}
SCALES = {"1": 1.0, "1e12": 1e12, "1e-12": 1e-12, "one each": np.array([1e12, 1.0, 1e-12])}


def table(offset: Any = 0.0, n: int = 24, d: int = 3) -> tuple[Any, Any]:
    """Numbers with all their digits at the offset; far fewer are left of their spread."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) * 5 + 3 * rng.normal(size=(3, d))[y]
    return X + offset, y


def solve(A: list[list[Fraction]], b: list[Fraction]) -> tuple[list[Fraction], Fraction]:
    """A⁻¹ b and |A|."""
    A, b, d = [row[:] for row in A], b[:], len(b)
    det = Fraction(1)
    for i in range(d):
        det *= A[i][i]  # a covariance: no pivot is 0
        for k in range(i + 1, d):
            f = A[k][i] / A[i][i]
            A[k] = [u - f * v for u, v in zip(A[k], A[i], strict=True)]
            b[k] -= f * b[i]
    x = [Fraction(0)] * d
    for i in reversed(range(d)):
        x[i] = (b[i] - sum(A[i][j] * x[j] for j in range(i + 1, d))) / A[i][i]
    return x, det


def oracle(X: Any, y: Any, alpha: Fraction, new: Any) -> Any:
    """log P(x, class) by the definition, in fractions up to the last logarithm."""
    rows, d, K = [[Fraction(v) for v in row] for row in X.tolist()], X.shape[1], int(y.max()) + 1
    mine = [[r for r, c in zip(rows, y, strict=True) if c == k] for k in range(K)]
    mean = [[sum(r[j] for r in m) / len(m) for j in range(d)] for m in mine]
    own = [
        [[sum((r[i] - mean[k][i]) * (r[j] - mean[k][j]) for r in mine[k]) for j in range(d)] for i in range(d)]
        for k in range(K)
    ]
    out = np.empty((len(new), K))
    for k in range(K):
        cov = [
            [
                alpha * own[k][i][j] / len(mine[k]) + (1 - alpha) * sum(s[i][j] for s in own) / len(rows)
                for j in range(d)
            ]
            for i in range(d)
        ]
        for r, row in enumerate(new.tolist()):
            away = [Fraction(v) - m for v, m in zip(row, mean[k], strict=True)]
            found, det = solve(cov, away)
            distance = sum(a * b for a, b in zip(away, found, strict=True))
            log_det = math.log(det.numerator) - math.log(det.denominator)
            joint = -0.5 * (d * math.log(2 * math.pi) + log_det + float(distance))
            out[r, k] = math.log(len(mine[k]) / len(rows)) + joint
    return out


def same(a: Any, b: Any, tol: float = 1e-9) -> None:
    np.testing.assert_allclose(a, b, rtol=tol, atol=tol)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_log_joint_and_posterior(offset: str, scale: str, alpha: float) -> None:
    X, y = table(OFFSETS[offset])
    X = X * SCALES[scale]
    new = X[:6] + 0.25 * (X[6:12] - X[:6])
    want = oracle(X, y, Fraction(alpha), new)
    model = GDA(alpha=alpha).fit(X, y)
    same(model.predict_joint_log_proba(new), want)
    same(model.predict_log_proba(new), want - np.logaddexp.reduce(want, axis=1, keepdims=True))


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_learned_in_parts(alpha: float) -> None:
    X, y = table(1e10, n=30)
    want = oracle(X[:24], y[:24], Fraction(alpha), X)
    model = GDA(alpha=alpha).fit(X[:5], y[:5])
    model.partial_fit(X[5:16], y[5:16])
    model.merge(GDA(alpha=alpha).fit(X[16:], y[16:]))
    same(model.forget(X[24:], y[24:]).predict_joint_log_proba(X), want)


def shifted(X: Any, offset: float = 1e10) -> tuple[Any, Any]:
    """Two tables that differ by the offset exactly: numbers near 2ᵏ subtract without rounding."""
    far = X + offset
    return far, far - offset


@pytest.mark.parametrize("make", [LDA, QDA, lambda: GDA(alpha=0.5)])
def test_missing_values(make: Any) -> None:
    X, y = table(n=60)
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    X[y == 1, 2] = np.nan  # a class that never saw a column
    far, near = shifted(X)
    a, b = make().fit(far, y), make().fit(near, y)
    same(a.predict_joint_log_proba(far), b.predict_joint_log_proba(near))
    complete = make().fit(far[:3], y[:3]).partial_fit(far[3:], y[3:])  # compact and paired sums
    same(complete.predict_joint_log_proba(far), b.predict_joint_log_proba(near))


def test_more_columns_than_rows() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 300)), np.arange(60) % 2
    far, near = shifted(X)
    for make in (LDA, QDA, lambda: GDA(alpha=0.5, shrinkage=0.3)):
        a, b = make().fit(far[:40], y[:40]), make().fit(near[:40], y[:40])
        same(a.predict_joint_log_proba(far), b.predict_joint_log_proba(near), 1e-8)
        a.partial_fit(far[40:], y[40:])
        b.partial_fit(near[40:], y[40:])
        same(a.predict_joint_log_proba(far), b.predict_joint_log_proba(near), 1e-8)


def test_everything_else_that_reads_the_means() -> None:
    X, y = table(n=60)
    far, near = shifted(X)
    a, b = LDA().fit(far, y), LDA().fit(near, y)
    same(a.transform(far), b.transform(near))
    gaps_far, gaps_near = far.copy(), near.copy()
    gaps_far[::3, 1] = gaps_near[::3, 1] = np.nan
    same(a.transform(gaps_far), b.transform(gaps_near))
    same(a.coef_, b.coef_)
    same(a.decision_function(far), b.decision_function(near))
    same(a.explained_variance_ratio_, b.explained_variance_ratio_)
    two = y < 2
    same(LDA().fit(far[two], y[two]).decision_function(far), LDA().fit(near[two], y[two]).decision_function(near))
    c, d = QDA(shrinkage="auto").fit(far, y), QDA(shrinkage="auto").fit(near, y)
    same(c.shrinkage_, d.shrinkage_)
    same(c.explain(far[:4]).values, d.explain(near[:4]).values)


def test_leave_one_out() -> None:
    X, y = table(n=90)
    far, near = shifted(X)
    grid, found = (0.0, 0.5, 1.0), []
    for x in (far, near):
        model = GDA(alpha=0.5).fit(x, y)
        block: Any = model._groups[0].distribution
        codes = y.astype(np.int32)
        found.append(leave_one_out.losses(Numbers(x, None), codes, None, model._tally, grid, grid, block, None))
    same(*found)


def test_a_file_keeps_every_digit(tmp_path: Path) -> None:
    X, y = table(1e10)
    for model in (LDA().fit(X, y), QDA().fit(X, y)):
        tb.save(model, tmp_path / "model.tb")
        again = tb.load(tmp_path / "model.tb")
        np.testing.assert_array_equal(again.predict_joint_log_proba(X), model.predict_joint_log_proba(X))
