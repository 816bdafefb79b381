"""The same numbers as scikit-learn, where it is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import naive_bayes as sk
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import tallybayes as tb

REAL = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer, "digits": load_digits}


def same(ours: Any, theirs: Any, X: Any, rtol: float = 1e-9) -> None:
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=rtol, atol=1e-9)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=rtol, atol=1e-8)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-7, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer"])
@pytest.mark.parametrize("priors", [None, "given"])
def test_gaussian(name: str, priors: Any) -> None:
    X, y = REAL[name](return_X_y=True)
    K = len(np.unique(y))
    given = np.arange(1, K + 1) / np.arange(1, K + 1).sum() if priors else None
    # scikit-learn adds one epsilon to all features, so the features are given one scale here
    X = X / X.std(axis=0)
    ours = tb.GaussianNB(priors=given, var_smoothing=0).fit(X, y)
    theirs = sk.GaussianNB(priors=given, var_smoothing=0).fit(X, y)
    np.testing.assert_allclose(ours.theta_, theirs.theta_, rtol=1e-12)
    np.testing.assert_allclose(ours.var_, theirs.var_, rtol=1e-10)
    np.testing.assert_allclose(ours.class_prior_, theirs.class_prior_, rtol=1e-14)
    same(ours, theirs, X)


@pytest.mark.parametrize("alpha", [1.0, 0.1, 2.5])
@pytest.mark.parametrize("pair", ["MultinomialNB", "BernoulliNB", "ComplementNB", "CategoricalNB"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_prior", [True, False])
def test_discrete(alpha: float, pair: str, weighted: bool, fit_prior: bool) -> None:
    X, y = load_digits(return_X_y=True)
    X = X.astype(int)
    w = np.random.default_rng(0).random(len(y)) if weighted else None
    arguments = {"alpha": alpha, "fit_prior": fit_prior}
    ours = getattr(tb, pair)(**arguments).fit(X, y, sample_weight=w)
    theirs = getattr(sk, pair)(**arguments).fit(X, y, sample_weight=w)
    same(ours, theirs, X)
    np.testing.assert_allclose(ours.class_log_prior_, theirs.class_log_prior_, rtol=1e-12)
    np.testing.assert_allclose(ours.class_count_, theirs.class_count_, rtol=1e-12)
    if pair == "CategoricalNB":
        np.testing.assert_array_equal(ours.n_categories_, theirs.n_categories_)
        for a, b in zip(ours.category_count_, theirs.category_count_, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
        for a, b in zip(ours.feature_log_prob_, theirs.feature_log_prob_, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10)
    else:
        np.testing.assert_allclose(ours.feature_count_, theirs.feature_count_, rtol=1e-12)
        np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-10)


@pytest.mark.parametrize("pair", ["MultinomialNB", "BernoulliNB", "ComplementNB"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32, np.uint8])
def test_sparse_equals_dense(pair: str, dtype: Any) -> None:
    X, y = load_digits(return_X_y=True)
    X = X.astype(dtype)
    dense = getattr(tb, pair)().fit(X, y)
    for make in (sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix, sparse.csr_array):
        loose = getattr(tb, pair)().fit(make(X), y)
        np.testing.assert_allclose(loose.predict_proba(make(X)), dense.predict_proba(X), rtol=1e-9, atol=1e-300)
        np.testing.assert_allclose(loose.predict_proba(X), dense.predict_proba(X), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("make", [tb.GaussianNB, tb.PoissonNB, tb.KernelNB, tb.CategoricalNB, tb.NaiveBayes])
def test_sparse_for_distributions_that_read_dense_numbers(make: Any) -> None:
    X, y = load_digits(return_X_y=True)
    X = X[:300, :20]
    options = {"distributions": "gaussian"} if make is tb.NaiveBayes else {}  # else chosen on dense rows alone
    a, b = make(**options).fit(X, y[:300]), make(**options).fit(sparse.csr_matrix(X), y[:300])
    if make is tb.NaiveBayes:  # sparse or dense, a number is real unless said otherwise
        assert a.schema_.kinds == b.schema_.kinds
    np.testing.assert_allclose(b.predict_proba(sparse.csr_matrix(X)), a.predict_proba(X), rtol=1e-8, atol=1e-12)


def test_float32_is_read_as_it_is() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    a = tb.GaussianNB().fit(X.astype(np.float32), y)
    b = tb.GaussianNB().fit(X.astype(np.float32).astype(np.float64), y)
    np.testing.assert_allclose(a.var_, b.var_, rtol=1e-12)
    assert a.theta_.dtype == np.float64


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_order_does_not_matter(order: Any) -> None:
    X, y = load_wine(return_X_y=True)
    a = tb.GaussianNB().fit(X, y)
    b = tb.GaussianNB().fit(np.asarray(X, order=order)[::1], y)
    np.testing.assert_allclose(b.predict_proba(np.asfortranarray(X)), a.predict_proba(X), rtol=1e-9, atol=1e-300)
    wide = np.repeat(X, 2, axis=1)[:, ::2]
    np.testing.assert_allclose(tb.GaussianNB().fit(wide, y).var_, a.var_, rtol=1e-12)


def test_a_least_number_of_categories() -> None:
    X, y = np.array([[0, 1, 0], [1, 0, 1], [1, 2, 1]]), [0, 1, 1]
    for least in (5, [4, 3, 5]):
        ours, theirs = (c(min_categories=least).fit(X, y) for c in (tb.CategoricalNB, sk.CategoricalNB))
        for a, b in zip(ours.feature_log_prob_, theirs.feature_log_prob_, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
        for a, b in zip(ours.category_count_, theirs.category_count_, strict=True):
            np.testing.assert_array_equal(a, b)
        same(ours, theirs, np.array([[3, 2, 4], [0, 0, 0]]))
