"""Columns far from 0, and of any scale: Gaussians against exact arithmetic, where no digit is ever lost."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.data.encoding import Numbers
from tallybayes.estimators.gaussian_discriminant import left_prior
from tallybayes.model.leave_one_out import diagonal_grid, full_grid

GDA, LDA, QDA = tb.GaussianDiscriminant, tb.LinearDiscriminantAnalysis, tb.QuadraticDiscriminantAnalysis
OFFSETS = {"1e10": 1e10, "-1e10": -1e10, "1e13": 1e13, "one each": np.array([1e10, -3e11, 0.0])}
AXES = {  # how much of a class's own variance, and whether all columns have one
    "naive": (lambda: tb.GaussianNB(var_smoothing=0.0), 1.0, False),
    "naive, shared": (lambda: tb.GaussianNB(variance="shared", var_smoothing=0.0), 0.0, False),
    **{
        f"{shape}, {alpha:g}": (lambda s=shape, a=alpha: GDA(s, own_covariance=a), alpha, shape == "spherical")
        for shape in ("diagonal", "spherical")
        for alpha in (0.0, 0.5, 1.0)
    },
}
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
    model = GDA(own_covariance=alpha).fit(X, y)
    same(model.predict_joint_log_proba(new), want)
    same(model.predict_log_proba(new), want - np.logaddexp.reduce(want, axis=1, keepdims=True))


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_learned_in_parts(alpha: float) -> None:
    X, y = table(1e10, n=30)
    want = oracle(X[:24], y[:24], Fraction(alpha), X)
    model = GDA(own_covariance=alpha).fit(X[:5], y[:5])
    model.partial_fit(X[5:16], y[5:16])
    model.merge(GDA(own_covariance=alpha).fit(X[16:], y[16:]))
    same(model.forget(X[24:], y[24:]).predict_joint_log_proba(X), want)


def shifted(X: Any, offset: float = 1e10) -> tuple[Any, Any]:
    """Two tables that differ by the offset exactly: numbers near 2ᵏ subtract without rounding."""
    far = X + offset
    return far, far - offset


@pytest.mark.parametrize("make", [LDA, QDA, lambda: GDA(own_covariance=0.5)])
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
    for make in (LDA, QDA, lambda: GDA(own_covariance=0.5, shrinkage=0.3)):
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
        model = GDA(own_covariance=0.5).fit(x, y)
        block: Any = model.fitted_.terms[0].distribution
        codes = y.astype(np.int32)
        found.append(
            full_grid.losses(
                Numbers(x, None),
                codes,
                None,
                model.fitted_.terms[0].statistics,
                left_prior(model.fitted_, None),
                grid,
                grid,
                block,
            )
        )
    same(*found)


def test_a_file_keeps_every_digit(tmp_path: Path) -> None:
    X, y = table(1e10)
    for model in (LDA().fit(X, y), QDA().fit(X, y)):
        tb.save(model, tmp_path / "model.tb")
        again = tb.load(tmp_path / "model.tb")
        np.testing.assert_array_equal(again.predict_joint_log_proba(X), model.predict_joint_log_proba(X))


# --- columns by themselves: naive Bayes, diagonal and spherical covariances ------------------------------------------


def axes_oracle(X: Any, y: Any, alpha: Fraction, spherical: bool, new: Any) -> Any:
    """log P(x, class) by the definition, in fractions up to the last logarithm; a missing value says nothing."""
    d, K = X.shape[1], int(y.max()) + 1
    here = [[[Fraction(v) for v in X[y == k, j].tolist() if v == v] for j in range(d)] for k in range(K)]
    mean = [[sum(x) / len(x) for x in columns] for columns in here]
    square = [[sum((v - mean[k][j]) ** 2 for v in here[k][j]) for j in range(d)] for k in range(K)]
    shared = [sum(s[j] for s in square) / sum(len(columns[j]) for columns in here) for j in range(d)]
    out = np.log(np.bincount(y) / len(y))[None].repeat(len(new), axis=0)
    for k in range(K):
        var = [alpha * square[k][j] / len(here[k][j]) + (1 - alpha) * shared[j] for j in range(d)]
        var = [sum(var) / d] * d if spherical else var
        for r, row in enumerate(new.tolist()):
            for j, v in enumerate(row):
                if v == v:
                    away = (Fraction(v) - mean[k][j]) ** 2 / var[j]
                    out[r, k] -= 0.5 * (math.log(2 * math.pi) + math.log(var[j]) + float(away))
    return out


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", AXES)
def test_axes(name: str, scale: str, offset: str) -> None:
    make, alpha, spherical = AXES[name]
    X, y = table(OFFSETS[offset])
    X = X * SCALES[scale]
    new = X[:6] + 0.25 * (X[6:12] - X[:6])
    want = axes_oracle(X, y, Fraction(alpha), spherical, new)
    model = make().fit(X, y)
    same(model.predict_joint_log_proba(new), want)
    same(model.predict_log_proba(new), want - np.logaddexp.reduce(want, axis=1, keepdims=True))


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("name", AXES)
def test_axes_learned_in_parts(name: str, gaps: bool) -> None:
    make, alpha, spherical = AXES[name]
    X, y = table(1e10, n=30)
    if gaps:
        X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    model = make().fit(X[:5], y[:5])
    model.partial_fit(X[5:16], y[5:16])
    model.merge(make().fit(X[16:], y[16:]))
    model.forget(X[24:], y[24:]).decay(0.5)  # variances are of the rows, however much they weigh
    same(model.predict_joint_log_proba(X), axes_oracle(X[:24], y[:24], Fraction(alpha), spherical, X))


def test_a_class_forgotten_and_learned_again() -> None:
    X, y = table(1e10)
    model = tb.GaussianNB(var_smoothing=0.0).partial_fit(X, y, classes=[0, 1, 2]).forget(X[y == 1], y[y == 1])
    model.partial_fit(X[y == 1], y[y == 1])
    same(model.predict_joint_log_proba(X), axes_oracle(X, y, Fraction(1), False, X))


@pytest.mark.parametrize("variance", ["own", "shared"])
def test_one_row_at_a_time(variance: str) -> None:
    X, y = table(1e10)
    rows = [{f"x{j}": v for j, v in enumerate(row)} for row in X.tolist()]
    del rows[7]["x1"]
    X[7, 1] = np.nan
    model = tb.GaussianNB(variance=variance, var_smoothing=0.0)
    for row, label in zip(rows, y.tolist(), strict=True):
        model.learn_one(row, label)
    want = axes_oracle(X, y, Fraction(variance == "own"), False, X)
    same(model.predict_joint_log_proba(rows), want)
    posterior = np.exp(want - np.logaddexp.reduce(want, axis=1, keepdims=True))
    same([list(model.predict_proba_one(row).values()) for row in rows], posterior)


def test_a_class_that_never_saw_a_column() -> None:
    X, y = table(n=60)
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    X[y == 1, 2] = np.nan
    far, near = shifted(X)
    for make, _, _ in AXES.values():
        a, b = make().fit(far, y), make().fit(near, y)
        same(a.predict_joint_log_proba(far), b.predict_joint_log_proba(near))
        same(a.leave_one_out(far, y), b.leave_one_out(near, y))


def test_everything_else_that_reads_the_means_of_axes() -> None:
    X, y = table(n=60)
    far, near = shifted(X)
    for make, alpha, _ in AXES.values():
        a, b = make().fit(far, y), make().fit(near, y)
        same(a.explain(far[:4]).values, b.explain(near[:4]).values)
        same(a.explain().information, b.explain().information)
        same(a.leave_one_out(far, y), b.leave_one_out(near, y))
        same(a.novelty(far[4:]).score(far[:4]), b.novelty(near[4:]).score(near[:4]))
        if alpha == 0:
            same(a.logistic().coef_, b.logistic().coef_)
            same(a.boundary(0, 2)[0], b.boundary(0, 2)[0])
    for alpha, shrinkage in ((0.5, "oas"), (0.5, "ledoit-wolf"), ("auto", "auto")):
        a, b = (GDA("diagonal", own_covariance=alpha, shrinkage=shrinkage).fit(x[:40], y[:40]) for x in (far, near))
        a, b = a.partial_fit(far[40:], y[40:]), b.partial_fit(near[40:], y[40:])
        same(a.shrinkage_, b.shrinkage_)
        same(a.predict_joint_log_proba(far), b.predict_joint_log_proba(near))


def test_leave_one_out_of_axes() -> None:
    X, y = table(n=60)
    X[::7, 1] = np.nan
    X[y == 1, 2] = np.nan
    far, near = shifted(X)
    grid, found = (0.0, 0.5, 1.0), []
    for x in (far, near):
        model = GDA("diagonal", own_covariance=0.5).fit(x, y)
        axes: Any = model.fitted_.terms[0].distribution
        codes = y.astype(np.int32)
        found.append(
            diagonal_grid.losses(
                Numbers(x, None),
                codes,
                None,
                model.fitted_.terms[0].statistics,
                left_prior(model.fitted_, None),
                grid,
                grid,
                axes,
            )
        )
    same(*found)


def test_files_of_axes(tmp_path: Path) -> None:
    X, y = table(1e10)
    for make, _, _ in AXES.values():
        model = make().fit(X, y)
        tb.save(model, tmp_path / "model.tb")
        again = tb.load(tmp_path / "model.tb")
        np.testing.assert_array_equal(again.predict_joint_log_proba(X), model.predict_joint_log_proba(X))


@pytest.mark.parametrize("value", [3.7, 1e3, -1e10])
@pytest.mark.parametrize("name", AXES)
def test_a_column_is_constant_again(name: str, value: float) -> None:
    """Rounding leaves no variance, and no difference of means, when what varied is forgotten."""
    rng = np.random.default_rng(0)
    X, y = table(n=20)
    X[:, 1] = value
    model = AXES[name][0]().fit(X, y)
    answers = model.predict_joint_log_proba(X)
    for count in (1, 2, 3, 9):
        new, labels = rng.normal([0.0, value, 0.0], size=(count, 3)), rng.integers(0, 3, count)
        model.partial_fit(new, labels).forget(new, labels)
        assert not model.predictor_.fitted.terms[0].params.var[:, 1].any()
    X[:, 1] += 1.0
    same(model.predict_joint_log_proba(X), answers)
