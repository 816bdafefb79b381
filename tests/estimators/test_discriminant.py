"""LDA, QDA and RDA: against scikit-learn, exact arithmetic, brute-force leave-one-out. (R's MASS: test_mass.py.)"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import multivariate_normal
from sklearn import discriminant_analysis as sk
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import log_loss

import tallybayes as tb
from tallybayes.data.encoding import Numbers
from tallybayes.distributions.multivariate import gaussian_moments
from tallybayes.errors import MergeError, OptionError, TableError
from tallybayes.estimators.gaussian_discriminant import left_prior
from tallybayes.model.leave_one_out import full_grid

DATA = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer}
LDA, QDA, RDA, GDA = (
    tb.LinearDiscriminantAnalysis,
    tb.QuadraticDiscriminantAnalysis,
    tb.RegularizedDiscriminantAnalysis,
    tb.GaussianDiscriminant,
)


def data(name: str) -> tuple[Any, Any]:
    X, y = DATA[name](return_X_y=True)
    return X, y


def same(a: Any, b: Any, tol: float = 1e-9) -> None:
    np.testing.assert_allclose(a, b, rtol=tol, atol=tol * np.abs(b).max())


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("priors", [None, "given"])
def test_lda_is_scikit_learns(name: str, priors: Any) -> None:
    X, y = data(name)
    K = len(np.unique(y))
    priors = None if priors is None else np.arange(1, K + 1) / np.arange(1, K + 1).sum()
    ours, theirs = (
        LDA(priors=priors, store_covariance=True).fit(X, y),
        sk.LinearDiscriminantAnalysis(priors=priors).fit(X, y),
    )
    for attribute in ("coef_", "intercept_", "means_", "priors_", "xbar_", "explained_variance_ratio_"):
        same(getattr(ours, attribute), getattr(theirs, attribute))
    same(ours.decision_function(X), theirs.decision_function(X))
    same(ours.predict_proba(X), theirs.predict_proba(X))
    same(np.abs(ours.transform(X)), np.abs(theirs.transform(X)))
    same(np.abs(ours.scalings_), np.abs(theirs.scalings_))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    if priors is None:
        same(ours.covariance_, sk.LinearDiscriminantAnalysis(store_covariance=True).fit(X, y).covariance_)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("options", [{}, {"reg_param": 0.1}, {"priors": "given"}])
def test_qda_is_scikit_learns(name: str, options: Any) -> None:
    X, y = data(name)
    K = len(np.unique(y))
    if "priors" in options:
        options = {"priors": np.arange(1, K + 1) / np.arange(1, K + 1).sum()}
    ours = QDA(store_covariance=True, **options).fit(X, y)
    theirs = sk.QuadraticDiscriminantAnalysis(store_covariance=True, tol=0.0, **options).fit(X, y)
    same(ours.decision_function(X), theirs.decision_function(X))
    same(ours.predict_proba(X), theirs.predict_proba(X))
    if "reg_param" not in options:
        for a, b in zip(ours.covariance_, theirs.covariance_, strict=True):
            same(a, b)
        for a, b in zip(ours.scalings_, theirs.scalings_, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("shrinkage", [0.3, 1.0, "auto"])
def test_shrinkage_is_scikit_learns(name: str, shrinkage: Any) -> None:
    X, y = data(name)
    X = X / X.std(axis=0)  # its solvers lose digits where units differ much
    a = LDA(shrinkage=shrinkage).fit(X, y)
    b = sk.LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(X, y)
    same(a.predict_proba(X), b.predict_proba(X))
    c = QDA(shrinkage=shrinkage).fit(X, y)
    d = sk.QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage, tol=0.0).fit(X, y)
    same(c.predict_proba(X), d.predict_proba(X))


def test_oas_is_scikit_learns() -> None:
    from sklearn.covariance import oas

    X, y = data("wine")
    model = GDA(own_covariance=1.0, shrinkage="oas").fit(X, y)
    for k in range(3):
        mine = X[y == k]
        std = mine.std(axis=0)
        same(model.covariance_[k], oas((mine - mine.mean(axis=0)) / std)[0] * std * std[:, None])


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_oas_adds_forgets_and_decays(covariance: str, alpha: float) -> None:
    X, y = data("wine")
    whole = GDA(covariance, own_covariance=alpha, shrinkage="oas").fit(X, y)
    parts = GDA(covariance, own_covariance=alpha, shrinkage="oas").fit(X[::2], y[::2])
    same(parts.copy().partial_fit(X[1::2], y[1::2]).predict_proba(X), whole.predict_proba(X))
    same(
        parts.merge(GDA(covariance, own_covariance=alpha, shrinkage="oas").fit(X[1::2], y[1::2])).predict_proba(X),
        whole.predict_proba(X),
    )
    same(
        whole.copy().forget(X[:9], y[:9]).predict_proba(X),
        type(whole)(**whole.get_params()).fit(X[9:], y[9:]).predict_proba(X),
    )
    half = type(whole)(**whole.get_params()).fit(X, y, sample_weight=np.full(len(y), 0.5))
    same(whole.decay(0.5).predict_proba(X), half.predict_proba(X))


def test_oas_of_variances_whose_squares_are_too_large() -> None:
    X, y = data("wine")
    for alpha in (0.0, 1.0):
        plain = GDA("diagonal", own_covariance=alpha, shrinkage="oas").fit(X, y)
        large = GDA("diagonal", own_covariance=alpha, shrinkage="oas").fit(X * 1e100, y)
        same(large.shrinkage_, np.array(plain.shrinkage_))
        same(large.predict_proba(X * 1e100), plain.predict_proba(X))
    assert (
        np.ptp(GDA("diagonal", shrinkage="oas").fit(X, y).predictor_.fitted.terms[0].params.var, axis=0).max() == 0
    )  # linear


def test_numpy_numbers_are_numbers() -> None:
    X, y = data("iris")
    grid = np.linspace(0, 1, 3)
    for alpha in grid:
        plain = GDA(own_covariance=float(alpha), shrinkage=0.5).fit(X, y).predict_proba(X)
        np.testing.assert_array_equal(GDA(own_covariance=alpha, shrinkage=grid[1]).fit(X, y).predict_proba(X), plain)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_leave_one_out_by_forgetting_is_leave_one_out_by_refitting(alpha: float) -> None:
    X, y = data("iris")
    X, y = X[::3], y[::3]
    model = GDA(own_covariance=alpha, ddof=1).fit(X, y)
    for i in range(0, len(y), 7):
        rest = np.arange(len(y)) != i
        again = GDA(own_covariance=alpha, ddof=1).fit(X[rest], y[rest])
        without = model.copy().forget(X[i : i + 1], y[i : i + 1])
        same(without.predict_proba(X[i : i + 1]), again.predict_proba(X[i : i + 1]))


@pytest.mark.parametrize(
    "make", [LDA, QDA, lambda: GDA(own_covariance=0.5), lambda: GDA("diagonal", own_covariance=0.5)]
)
def test_shifts_and_scales_do_not_matter(make: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(-50, 50, size=(200, 4)).astype(float)
    X[:, 3] += X[:, 0]
    y = rng.integers(0, 3, 200)
    X[y == 1] += 20
    plain = make().fit(X, y).predict_log_proba(X)
    shift = X + 1e10  # exact: whole numbers
    model = make().fit(shift, y)
    diagonal = getattr(model, "covariance", "full") == "diagonal"  # the means of axes are single float64: 1e-6 of 1e10
    same(model.predict_log_proba(shift), plain, 1e-6 if diagonal else 1e-9)
    for scale in (1e12, 1e-12, np.array([1e12, 1.0, 1e-12, 1e3])):
        same(make().fit(X * scale, y).predict_log_proba(X * scale), plain)


def test_lda_in_exact_arithmetic() -> None:
    """Two columns at 1e10, in fractions: no rounding at all."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 40, size=(30, 2)) + 10_000_000_000.0
    y = np.arange(30) % 2
    rows = [[Fraction(int(v)) for v in row] for row in X]
    mean = [[sum(r[j] for r, c in zip(rows, y, strict=True) if c == k) / 15 for j in (0, 1)] for k in (0, 1)]
    s = [
        [sum((r[i] - mean[c][i]) * (r[j] - mean[c][j]) for r, c in zip(rows, y, strict=True)) / 30 for j in (0, 1)]
        for i in (0, 1)
    ]
    det = s[0][0] * s[1][1] - s[0][1] ** 2
    inverse = [[s[1][1] / det, -s[0][1] / det], [-s[0][1] / det, s[0][0] / det]]
    gap = [mean[1][j] - mean[0][j] for j in (0, 1)]
    a = [sum(inverse[i][j] * gap[j] for j in (0, 1)) for i in (0, 1)]
    log_odds = [float(sum(a[j] * (r[j] - (mean[0][j] + mean[1][j]) / 2) for j in (0, 1))) for r in rows]
    same(LDA().fit(X, y).decision_function(X), np.array(log_odds), 1e-12)
    small = LDA().fit(X - 1e10, y)
    same(small.decision_function(X - 1e10), np.array(log_odds), 1e-12)


def brute_force(X: Any, y: Any, w: Any, **options: Any) -> float:
    lost = 0.0
    for i in range(len(y)):
        left = w.copy()
        left[i] -= min(w[i], 1.0)
        model = GDA(**options).fit(X, y, sample_weight=left)
        lost -= w[i] * model.predict_log_proba(X[i : i + 1])[0, model.classes_.tolist().index(y[i])]
    return lost / w.sum()


@pytest.mark.parametrize("weights", ["one", "whole", "part"])
@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("priors", [None, "laplace", "uniform"])
def test_leave_one_out_losses_are_exact(weights: str, ddof: int, priors: Any) -> None:
    check_leave_one_out(30, weights, ddof, priors)


def test_leave_one_out_losses_by_the_series_are_exact() -> None:
    check_leave_one_out(400, "one", 0, None)


def check_leave_one_out(n: int, weights: str, ddof: int, priors: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, 3)) + 5
    y = np.arange(n) % 3
    X[y == 2] *= 1.5
    w = {
        "one": np.ones(n),
        "whole": rng.integers(1, 4, n).astype(float),
        "part": np.where(rng.random(n) < 0.5, 0.5, 1.5),
    }[weights]
    model = GDA(own_covariance=0.5, ddof=ddof).fit(X, y, sample_weight=w)
    shares, gammas = (0.0, 0.4, 1.0), (0.0, 0.3, 1.0)
    block = model.fitted_.terms[0].distribution
    got = full_grid.losses(
        Numbers(X, None),
        y.astype(np.int32),
        w,
        model.fitted_.terms[0].statistics,
        left_prior(model.fitted_, priors),
        shares,
        gammas,
        block,
    )
    for a, share in enumerate(shares):
        for g, gamma in enumerate(gammas):
            if n <= 100 or a == g:  # many rows: three of the nine pairs
                want = brute_force(X, y, w, own_covariance=share, shrinkage=gamma, ddof=ddof, priors=priors)
                np.testing.assert_allclose(got[a, g], want, rtol=1e-9)


def test_auto_takes_the_best_of_the_grid_and_keeps_it() -> None:
    X, y = data("wine")
    model = RDA().fit(X, y)
    grid = np.linspace(0, 1, 11)
    block = model.fitted_.terms[0].distribution
    codes = y.astype(np.int32)
    loss = full_grid.losses(
        Numbers(X, None),
        codes,
        None,
        model.fitted_.terms[0].statistics,
        left_prior(model.fitted_, None),
        grid,
        grid,
        block,
    )
    a, g = np.unravel_index(np.argmin(loss), loss.shape)
    assert (model.own_covariance_, model.shrinkage_) == (grid[a], grid[g])
    more = model.copy().partial_fit(X[:20], y[:20])
    assert (more.own_covariance_, more.shrinkage_) == (grid[a], grid[g])
    assert GDA(own_covariance="auto").fit(X, y).shrinkage_ == 0.0
    assert GDA(own_covariance=0.0, shrinkage="auto").fit(X, y).own_covariance_ == 0.0
    wide = np.random.default_rng(0).normal(size=(40, 400))
    assert RDA().fit(wide, np.arange(40) % 2).shrinkage_ > 0  # without shrinkage there is no full rank
    gaps = X.copy()
    gaps[::5, 0] = np.nan
    assert 0 <= RDA().fit(gaps, y).own_covariance_ <= 1


HARD = {
    "constant column": lambda X: np.column_stack([X, np.full(len(X), 7e9)]),
    "twice the same column": lambda X: np.column_stack([X, X[:, 0]]),
    "sum of columns": lambda X: np.column_stack([X, X.sum(axis=1)]),
    "all constant": lambda X: np.full_like(X, 0.1),
    "small": lambda X: X * 0.005,
    "few rows": lambda X: X[:6],
    "tiny and huge": lambda X: X * [1e-150, 1e140, 1.0, 1e-9],
}


@pytest.mark.parametrize("hard", HARD)
@pytest.mark.parametrize(
    "make",
    [
        LDA,
        QDA,
        RDA,
        lambda: GDA("diagonal", own_covariance=1.0),
        lambda: GDA("spherical"),
        lambda: GDA(own_covariance=0.5, ddof=1),
    ],
)
def test_data_without_full_rank(hard: str, make: Any) -> None:
    X, y = data("iris")
    X = HARD[hard](X[::-1][np.argsort(np.arange(150) % 50, kind="stable")])
    y = y[::-1][np.argsort(np.arange(150) % 50, kind="stable")][: len(X)].copy()
    y[0] = 9  # a class of one row
    model = make().fit(X, y)
    p, joint = model.predict_proba(X), model.predict_joint_log_proba(X)
    assert np.isfinite(p).all()
    assert np.isfinite(joint).all()
    if hard == "all constant":
        np.testing.assert_allclose(p, np.broadcast_to(model.priors_, p.shape))
    elif hard in ("constant column", "twice the same column", "sum of columns", "small") and make in (LDA, QDA):
        plain = make().fit(X[:, :4], y).predict_proba(X[:, :4])
        if hard in ("constant column", "small") or make is LDA:
            np.testing.assert_allclose(p, plain, atol=1e-6)
        assert model.score(X, y) > 0.9


def test_a_class_of_one_row_takes_the_pooled_covariance() -> None:
    X, y = data("iris")
    y = y.copy()
    y[0] = 7
    model = QDA().fit(X, y)
    scatter = sum((X[y == k] - X[y == k].mean(axis=0)).T @ (X[y == k] - X[y == k].mean(axis=0)) for k in (0, 1, 2))
    want = multivariate_normal(X[0], scatter / 150).logpdf(X) + np.log(1 / 150)
    same(model.predict_joint_log_proba(X)[:, 3], want)


def test_one_class_only() -> None:
    model = LDA().fit([[1.0, 2.0], [2.0, 1.0], [0.0, 0.5]], ["a", "a", "a"])
    assert model.predict([[5.0, 5.0]]).tolist() == ["a"]
    assert model.transform([[5.0, 5.0]]).shape == (1, 0)


def test_more_columns_than_rows_without_a_square_matrix() -> None:
    import tracemalloc

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 2000)), np.arange(120) % 4
    X[:, :60] += y[:, None]
    for model in (LDA(), QDA(), GDA(own_covariance=0.5, shrinkage=0.2)):
        tracemalloc.start()
        model.fit(X[:90], y[:90])
        found = model.score(X[90:], y[90:])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert found > 0.8
        assert peak < 24e6  # a 2000 × 2000 matrix is 32 MB
        both = type(model)(**model.get_params()).fit(X[:40], y[:40]).partial_fit(X[40:90], y[40:90])
        a, b = both.predict_joint_log_proba(X[90:]), model.predict_joint_log_proba(X[90:])
        np.testing.assert_allclose(a, b, rtol=1e-9)


LINEAR = {
    "LDA": (LDA, lambda X: X),
    "shrunk": (lambda: GDA(shrinkage=0.2), lambda X: X),
    "diagonal": (lambda: GDA("diagonal"), lambda X: X),
    "shared": (lambda: tb.GaussianNB(variance="shared"), lambda X: X),
    "Bernoulli": (lambda: tb.BernoulliNB(binarize=3.0), lambda X: (X > 3.0).astype(float)),
    "multinomial": (tb.MultinomialNB, lambda X: X),
}


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_gives_the_same_probabilities(name: str, classes: int) -> None:
    X, y = data("iris")
    X, y = X[y < classes], y[y < classes]
    make, seen = LINEAR[name]
    model = make().fit(X, y)
    counterpart = model.logistic()
    np.testing.assert_allclose(counterpart.predict_proba(seen(X)), model.predict_proba(X), rtol=1e-9, atol=1e-13)
    np.testing.assert_array_equal(counterpart.predict(seen(X)), model.predict(X))
    a, b = model.boundary(0, 1)
    log = model.predict_log_proba(X)
    np.testing.assert_allclose(seen(X) @ a + b, log[:, 0] - log[:, 1], rtol=1e-8, atol=1e-9)


def test_logistic_of_categories_reads_one_hot_columns() -> None:
    from sklearn.preprocessing import OneHotEncoder

    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, size=(200, 3)), rng.integers(0, 3, 200)
    model = tb.CategoricalNB().fit(X, y)
    counterpart = model.logistic()
    np.testing.assert_allclose(
        counterpart.predict_proba(OneHotEncoder().fit_transform(X)), model.predict_proba(X), atol=1e-13
    )


def test_models_without_a_linear_form_refuse_it() -> None:
    X, y = data("iris")
    for model in (QDA(), tb.GaussianNB(), tb.KernelNB(), tb.ComplementNB()):
        with pytest.raises(OptionError, match="linear"):
            model.fit(X, y).logistic()
    with pytest.raises(OptionError, match="not a class"):
        LDA().fit(X, y).boundary(0, 8)
    with pytest.raises(OptionError, match="alpha above 0"):
        tb.MultinomialNB(alpha=0.0).fit([[0, 1], [1, 0]], [0, 1]).logistic()
    with pytest.raises(OptionError, match="quadratic"):
        tb.MultinomialNB().fit(X, y).quadratic()


@pytest.mark.parametrize(
    "make", [QDA, LDA, tb.GaussianNB, lambda: GDA(own_covariance=0.4, shrinkage=0.1), lambda: GDA("spherical")]
)
def test_the_quadratic_form_is_the_log_joint(make: Any) -> None:
    X, y = data("wine")
    model = make().fit(X, y)
    A, b, c = model.quadratic()
    got = np.einsum("ni,kij,nj->nk", X, A, X) + X @ b.T + c
    np.testing.assert_allclose(got, model.predict_joint_log_proba(X), rtol=1e-7, atol=1e-7)


def test_sparse_frames_and_float32() -> None:
    import pandas as pd

    X, y = data("wine")
    for make in (LDA, QDA):
        plain = make().fit(X, y).predict_proba(X)
        same(make().fit(sparse.csr_matrix(X), y).predict_proba(sparse.csr_matrix(X)), plain)
        frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(13)])
        same(make().fit(frame, y).predict_proba(frame), plain)
        single = X.astype(np.float32)
        same(make().fit(single, y).predict_proba(single), make().fit(single.astype(float), y).predict_proba(single))


def test_parameters_of_scikit_learn() -> None:
    X, y = data("iris")
    for solver in ("svd", "lsqr", "eigen"):
        same(LDA(solver=solver).fit(X, y).predict_proba(X), LDA().fit(X, y).predict_proba(X))
    with pytest.raises(OptionError, match="solver"):
        LDA(solver="magic").fit(X, y)
    with pytest.raises(OptionError, match="n_components"):
        LDA(n_components=3).fit(X, y)
    assert LDA(n_components=1).fit(X, y).transform(X).shape == (150, 1)
    same(LDA().fit(X, y).covariance_, LDA(store_covariance=True).fit(X, y).covariance_)
    same(np.array(QDA().fit(X, y).covariance_), np.array(QDA(store_covariance=True).fit(X, y).covariance_))
    assert LDA().fit(X, y).get_feature_names_out().tolist() == [
        "lineardiscriminantanalysis0",
        "lineardiscriminantanalysis1",
    ]
    with pytest.raises(TableError, match="infinity"):
        LDA().fit(X, y).predict(X * np.inf)


def test_transform_puts_missing_values_where_they_are_expected() -> None:
    X, y = data("iris")
    model = LDA(store_covariance=True).fit(X, y)
    gone = X.copy()
    gone[3, 2] = np.nan
    cov, bar, o = model.covariance_, model.xbar_, [0, 1, 3]
    filled = X.copy()
    filled[3, 2] = bar[2] + cov[2, o] @ np.linalg.solve(cov[np.ix_(o, o)], X[3, o] - bar[o])
    np.testing.assert_allclose(model.transform(gone), model.transform(filled), atol=1e-9)


def test_models_that_keep_other_sums_do_not_merge() -> None:
    X, y = data("iris")
    with pytest.raises(MergeError, match="same own_covariance"):
        GDA(own_covariance=0.0).fit(X, y).merge(GDA(own_covariance=1.0).fit(X, y))
    with pytest.raises(MergeError):
        GDA("diagonal").fit(X, y).merge(GDA().fit(X, y))
    both = (
        GDA(own_covariance=0.3).fit(X[::2], y[::2]).merge(GDA(own_covariance=0.7).fit(X[1::2], y[1::2]))
    )  # the sums are the same
    same(both.predict_proba(X), GDA(own_covariance=0.3).fit(X, y).predict_proba(X))


def test_one_row_at_a_time() -> None:
    X, y = data("iris")
    names = ["a", "b", "c", "d"]
    model = LDA()
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(dict(zip(names, row, strict=True)), label)
    whole = LDA().fit(X, y)
    same(
        list(model.predict_proba_one(dict(zip(names, X[60].tolist(), strict=True))).values()),
        whole.predict_proba(X[60:61])[0],
    )


def test_numbers_of_parameters() -> None:
    X, y = data("iris")
    assert LDA().fit(X, y).n_parameters_ == 3 * 4 + 10 + 2
    assert QDA().fit(X, y).n_parameters_ == 3 * 4 + 30 + 2
    assert GDA("diagonal").fit(X, y).n_parameters_ == 3 * 4 + 4 + 2


def test_decisions_of_a_sparse_table_are_those_of_the_dense_one() -> None:
    """Lines of each class, not the log joint, which differs from them row by row."""
    X, y = data("wine")
    model, S = LDA().fit(X, y), sparse.csr_matrix(X)
    same(model.decision_function(S), model.decision_function(X))
    same(model.decision_function(S), sk.LinearDiscriminantAnalysis().fit(X, y).decision_function(X), 1e-6)
    gap = X[:3].copy()
    gap[1, 2] = np.nan
    found = model.decision_function(gap)
    same(found[[0, 2]], model.decision_function(X[:3])[[0, 2]])
    same(found[1:2], model.predict_joint_log_proba(gap[1:2]))
    same(model.explain(S[:5]).values, model.explain(X[:5]).values)


def test_a_transform_takes_finite_numbers() -> None:
    X, y = data("iris")
    for made in (np.array([[1.0, np.inf, 1.0, 1.0]]), sparse.csr_matrix([[1.0, -np.inf, 1.0, 1.0]])):
        with pytest.raises(TableError, match="infinity"):
            LDA().fit(X, y).transform(made)


def test_logistic_forms_keep_names_and_need_a_prior() -> None:
    import pandas as pd

    X, y = data("iris")
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert LDA().fit(frame, y).logistic().feature_names_in_.tolist() == list("abcd")
    with pytest.raises(OptionError, match="A class has prior 0: its intercept would be −inf"):
        LDA(priors=[0.0, 0.5, 0.5]).fit(X, y).logistic()
    mixed = tb.NaiveBayes({"a": "poisson", "b": "bernoulli"}, schema={"a": "count", "b": "binary"})
    rows = [{"a": i % 4, "b": i % 3 == 0} for i in range(12)]
    with pytest.raises(OptionError, match="one distribution for all columns"):
        mixed.fit(rows, [0, 1] * 6).logistic()


@pytest.mark.parametrize("sizes", [(30, 2), (30, 1), (2, 2), (1, 1), (3, 2, 1)])
def test_where_a_class_has_no_row_to_divide_by_its_covariance_is_not_chosen(sizes: Any) -> None:
    """ddof=1 divides by n − 1, and by n − 2 without a row: 0 for a class of one row, or of two."""
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = np.random.default_rng(0).normal(size=(len(y), 2)) + y[:, None]
    for shrinkage in (0.0, "auto"):
        model = GDA(own_covariance="auto", ddof=1, shrinkage=shrinkage).fit(X, y)
        assert model.fitted_.terms[0].distribution.own_covariance == 0
        assert np.isfinite(model.predict_proba(X)).all()


def test_of_many_columns_numpys_eigenvectors_choose_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(240, full_grid.SMALL + 4)), np.arange(240) % 2
    X[y == 1, :5] *= 2
    found = []
    for most in (full_grid.SMALL, 2 * full_grid.SMALL):
        monkeypatch.setattr(full_grid, "SMALL", most)
        block = GDA(own_covariance="auto", shrinkage="auto").fit(X, y).fitted_.terms[0].distribution
        found.append((block.own_covariance, block.gamma))
    assert found[0] == found[1]
    assert min(found[0]) > 0


def test_far_more_columns_than_rows_have_the_same_lines_directions_and_importances(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where rows span few of the columns the covariance is kept in the basis of the rows."""
    rng = np.random.default_rng(0)
    y = np.arange(15) % 3
    X = rng.normal(size=(15, 300)) * np.linspace(0.5, 3, 300) + 0.7 * y[:, None]
    found = []
    for wide in (gaussian_moments.MIN_WIDE_COLUMNS, 10**6):
        monkeypatch.setattr(gaussian_moments, "MIN_WIDE_COLUMNS", wide)
        found.append(LDA(shrinkage=0.3).fit(X, y))
    one, other = found
    kinds = [type(m.predictor_.fitted.terms[0].params).__name__ for m in found]
    assert kinds == ["SharedWideParams", "SharedParams"]
    for name in ("coef_", "intercept_", "feature_importances_"):
        same(getattr(one, name), getattr(other, name), 1e-7)
    same(np.abs(one.transform(X)), np.abs(other.transform(X)), 1e-7)  # directions have no sign


@pytest.mark.parametrize("missing", [0.01, 0.2])
def test_missing_values_leave_no_direction_without_variance(missing: float) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < missing] = np.nan
    learned = rng.random(len(y)) < 0.5
    for model, most in (
        (tb.LinearDiscriminantAnalysis(), 0.25),
        (tb.QuadraticDiscriminantAnalysis(), 0.6),
        (tb.RegularizedDiscriminantAnalysis(), 0.3),
    ):
        model.fit(X[learned], y[learned])
        loss = log_loss(y[~learned], model.predict_proba(X[~learned]))
        assert loss < most  # 5 to 14 from pairs of columns as they are


def test_eigenvalues_below_what_missing_values_blur_are_raised_to_it() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(80, 1)) + 0.05 * rng.normal(size=(80, 4))
    x[:, 3] = rng.normal(size=80)
    x[rng.random(x.shape) < 0.2] = np.nan
    n = (~np.isnan(x)).T @ (~np.isnan(x)).astype(float)
    r = np.empty((4, 4))
    for i in range(4):
        for j in range(4):
            both = x[~np.isnan(x[:, i]) & ~np.isnan(x[:, j])]
            r[i, j] = np.mean((both[:, i] - both[:, i].mean()) * (both[:, j] - both[:, j].mean()))
    variance = np.diag(r).copy()
    r = np.clip(r / np.sqrt(variance) / np.sqrt(variance)[:, None], -1, 1)
    noise = (1 + r**2) * (1 / n - 1 / n.max())
    noise[np.diag_indices(4)] = 0
    value, vector = np.linalg.eigh(r)
    least = [np.sqrt(sum(v[i] ** 2 * noise[i, j] for i in range(4) for j in range(4))) for v in vector.T]
    assert (value < least).any()
    assert (value > least).any()
    found = vector @ np.diag(np.maximum(value, least)) @ vector.T
    scale = np.sqrt(variance / np.diag(found))
    model = tb.LinearDiscriminantAnalysis(store_covariance=True).fit(x, np.zeros(80))
    np.testing.assert_allclose(model.covariance_, found * scale * scale[:, None], rtol=1e-12)


def test_rda_is_chosen_where_no_row_is_complete() -> None:
    rng = np.random.default_rng(0)
    y, t = np.arange(60) % 2, np.arange(500) % 2
    X, T = rng.normal(size=(60, 20)) + 0.5 * y[:, None], rng.normal(size=(500, 20)) + 0.5 * t[:, None]
    X[rng.random(X.shape) < 0.2] = np.nan
    X[np.arange(60), np.arange(60) % 20] = np.nan
    model = tb.RegularizedDiscriminantAnalysis().fit(X, y)
    assert model.shrinkage_ > 0.3
    assert log_loss(t, model.predict_proba(T)) < 0.5
