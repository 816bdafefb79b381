"""Inputs on which other libraries are known to fail, each with the right answer."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import tallybayes as tb
from tallybayes import distributions
from tallybayes.errors import OptionError, TableError, UnseenCategoryWarning


def two_classes(seed: int, n: int = 400) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 2)) + y[:, None] * [2.0, 1.0], y


def test_batches_of_very_different_scales() -> None:
    rng = np.random.default_rng(0)
    model = tb.GaussianNB(var_smoothing=1e-2)
    batches = [rng.normal(size=(100, 1)) * scale for scale in (1e3, 1e-3, 1e5, 1e-3)]
    for X in batches:
        model.partial_fit(X, np.zeros(100, int))
    X = np.vstack(batches)
    np.testing.assert_allclose(model.var_[0, 0], X.var() * 1.01, rtol=1e-9)


def test_one_row_at_a_time_with_a_constant_feature() -> None:
    model = tb.GaussianNB()
    for i in range(20):
        model.partial_fit([[5.0, float(i)]], [i % 2])
    assert np.isfinite(model.predict_joint_log_proba([[5.0, 3.0], [6.0, 3.0]])).all()


def test_all_constant_gives_the_prior() -> None:
    model = tb.GaussianNB().fit(np.full((8, 3), 0.1), [0, 0, 0, 0, 0, 0, 1, 1])
    np.testing.assert_allclose(model.predict_proba([[0.1, 0.1, 0.1], [9.0, 9.0, 9.0]]), [[0.75, 0.25]] * 2)


def test_a_feature_in_small_units_is_not_hidden() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1000)
    X = np.column_stack([rng.normal(size=1000) * 1e8, (rng.normal(size=1000) + 4 * y) * 1e-3])
    assert tb.GaussianNB().fit(X, y).score(X, y) > 0.95


def test_a_zero_weight_row_is_absent_even_if_monstrous() -> None:
    X, y = two_classes(1)
    for monster in (1e9, np.inf, np.nan):
        bad = np.vstack([X, [[monster, monster]]])
        model = tb.GaussianNB().fit(bad, np.append(y, 1), sample_weight=np.append(np.ones(len(y)), 0.0))
        np.testing.assert_array_equal(model.var_, tb.GaussianNB().fit(X, y).var_)


def test_negative_weights_are_refused() -> None:
    with pytest.raises(ValueError, match="Negative values in sample_weight"):
        tb.GaussianNB().fit([[1.0], [2.0]], [0, 1], sample_weight=[1.0, -1.0])


def test_float32_batches_far_from_zero() -> None:
    rng = np.random.default_rng(0)
    model = tb.GaussianNB()
    for _ in range(20):
        model.partial_fit(rng.normal(3e5, 1.0, size=(200, 1)).astype(np.float32), np.zeros(200, int))
    assert 0.9 < model.var_[0, 0] < 1.1


def test_huge_values_find_the_widest_class() -> None:
    model = tb.GaussianNB().fit([[0.0], [1.0], [0.0], [100.0]], ["narrow", "narrow", "wide", "wide"])
    for x in (1e200, -1e200, 1e154, 1e308):
        p = model.predict_proba([[x]])
        assert np.isfinite(p).all()
        assert model.predict([[x]]) == ["wide"]
        np.testing.assert_allclose(p, [[0.0, 1.0]], atol=1e-12)


NETWORKS = [
    tb.TAN(cuts=None, root="a"),
    tb.SPODE(cuts=None, superparent="a"),
    tb.KDB(2, cuts=None),
    tb.AODE(cuts=None),
    tb.BayesNetwork({"b": ["a"], "z": ["a", "b"]}, cuts=None),
]


@pytest.mark.parametrize("network", NETWORKS, ids=repr)
def test_values_beyond_the_square_root_of_the_largest_double_decide_as_smaller_ones(network: Any) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    a = rng.random(300) < 0.3 + 0.4 * y
    table = pd.DataFrame({"a": np.where(a, "u", "v"), "b": rng.choice(["p", "q"], 300)})
    table["x"] = rng.normal(size=300) * (1 + y) * (1 + a)
    table["z"] = rng.normal(size=300) * (2 - y)
    model = network.fit(table, y)

    def rows(far: float) -> pd.DataFrame:
        x, z = [far, far, 0.0, far / 2, 1.0], [0.0, far / 10, -far, far, 1.0]
        return pd.DataFrame({"a": ["u", None, "v", "u", "v"], "b": ["p", "p", None, "q", None], "x": x, "z": z})

    expected = model.predict_proba(rows(1e130))
    assert expected[:2, 1].tolist() == [1, 1]
    assert expected[2, 0] == 1
    for far in (1e155, 1e200, 1.7e308):
        np.testing.assert_array_equal(model.predict_proba(rows(far)), expected)


def test_no_smoothing_at_all() -> None:
    X, y = np.array([[1, 0, 2], [0, 3, 0]]), np.array([0, 1])
    for make in (tb.MultinomialNB, tb.BernoulliNB, tb.CategoricalNB, tb.PoissonNB):
        for table in (X, sparse.csr_matrix(X)):
            if make is tb.CategoricalNB and sparse.issparse(table):
                continue
            p = make(alpha=0.0).fit(table, y).predict_proba(table)
            assert not np.isnan(p).any()
            np.testing.assert_allclose(p, np.eye(2), atol=1e-12)
    p = tb.BernoulliNB(alpha=1e-18).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(p, np.eye(2), atol=1e-12)


def test_when_every_class_is_impossible_the_prior_answers() -> None:
    model = tb.CategoricalNB(alpha=0.0).fit([[0, 0], [0, 0], [1, 1]], ["a", "a", "b"])
    np.testing.assert_allclose(model.predict_proba([[0, 1]]), [[2 / 3, 1 / 3]])
    assert model.score_samples([[0, 1]]).tolist() == [-np.inf]
    assert model.predict([[0, 1]]).tolist() == ["a"]


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("shift", [0.0, 1e10])
@pytest.mark.parametrize("make", [tb.GaussianNB, tb.KernelNB, lambda: tb.NaiveBayes("mdl")])
def test_units_and_offsets_do_not_matter(scale: float, shift: float, make: Any) -> None:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 300)
    # multiples of 2^-14, so that adding 1e10 is exact
    X = np.round((rng.normal(size=(300, 2)) + y[:, None]) * 2**14) / 2**14
    base = make().fit(X, y).predict_proba(X)
    moved = make().fit((X + shift) * scale, y).predict_proba((X + shift) * scale)
    np.testing.assert_allclose(moved, base, atol=1e-9 if shift == 0 else 1e-4)


def test_category_codes_that_are_huge_cost_nothing() -> None:
    model = tb.CategoricalNB().fit(np.array([[3], [10_000_000]]), [0, 1])
    assert model.predict(np.array([[10_000_000], [3]])).tolist() == [1, 0]
    assert model.fitted_.terms[0].statistics.count.nbytes < 1000


def test_a_fraction_is_a_category_of_its_own() -> None:
    model = tb.CategoricalNB().fit(np.array([[1.0], [1.9], [1.9]]), ["one", "other", "other"])
    assert model.predict([[1.9], [1.0]]).tolist() == ["other", "one"]


def test_unseen_categories() -> None:
    X, y = [["red"], ["red"], ["blue"]], ["a", "a", "b"]
    model = tb.CategoricalNB().fit(X, y)
    with pytest.warns(UnseenCategoryWarning, match="x0"):
        np.testing.assert_allclose(model.predict_proba([["green"]]), [[2 / 3, 1 / 3]])
    with pytest.raises(TableError, match="not seen while learning"):
        tb.CategoricalNB(unseen="error").fit(X, y).predict([["green"]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p = tb.CategoricalNB(unseen="other").fit(X, y).predict_joint_log_proba([["green"], ["red"], ["blue"]])
    # (0 + 1) / (2 + 3) and (0 + 1) / (1 + 3): two levels and one more for all others
    np.testing.assert_allclose(np.exp(p[0]), [2 / 3 / 5, 1 / 3 / 4])
    np.testing.assert_allclose(np.exp(p).sum(axis=0), [2 / 3, 1 / 3])
    codes = np.array([[0], [1], [1]])
    with pytest.warns(UnseenCategoryWarning):
        tb.CategoricalNB().fit(codes, y).predict(np.array([[7]]))
    with pytest.warns(UnseenCategoryWarning):
        tb.CategoricalNB().fit(codes, y).predict(np.array([[-3]]))


def test_earlier_batches_are_not_forgotten() -> None:
    model = tb.CategoricalNB().partial_fit(np.array([[5]]), [0], classes=[0, 1]).partial_fit(np.array([[2]]), [1])
    assert model.n_categories_.tolist() == [6]
    assert model.category_count_[0].sum() == 2


def test_a_column_with_the_values_one_and_two_is_informative() -> None:
    X = np.array([[1], [1], [2], [2]])
    for model in (tb.NaiveBayes(schema="binary"), tb.NaiveBayes(schema="categorical"), tb.CategoricalNB()):
        assert model.fit(X, list("aabb")).predict(X).tolist() == list("aabb")


def test_two_thousand_classes_need_no_table_of_rows_by_classes() -> None:
    rng = np.random.default_rng(0)
    X = sparse.random(20_000, 500, density=0.01, random_state=0, format="csr")
    y = rng.integers(0, 2000, 20_000)
    model = tb.MultinomialNB().fit(X, y)
    assert model.feature_count_.shape == (2000, 500)
    assert model.predict(X[:1000]).shape == (1000,)


def test_one_class_and_one_row() -> None:
    for make in (tb.GaussianNB, tb.KernelNB, tb.PoissonNB, tb.MultinomialNB, tb.BernoulliNB, tb.NaiveBayes):
        assert make().fit([[1.0, 2.0]], ["only"]).predict_proba([[3.0, 4.0]]).tolist() == [[1.0]]
    model = tb.GaussianNB().fit([[1.0], [1.2], [5.0]], ["many", "many", "once"])
    assert model.predict([[1.1], [5.0]]).tolist() == ["many", "once"]


def test_missing_rows_and_columns() -> None:
    X = np.array([[1.0, np.nan], [2.0, np.nan], [np.nan, np.nan], [9.0, np.nan]])
    y = ["a", "a", "a", "b"]
    for make in (
        tb.GaussianNB,
        tb.KernelNB,
        tb.PoissonNB,
        tb.BernoulliNB,
        tb.CategoricalNB,
        lambda: tb.NaiveBayes("mdl"),
    ):
        model = make().fit(X, y)
        np.testing.assert_allclose(model.predict_proba([[np.nan, np.nan]]), [[0.75, 0.25]])
        alone = make().fit(X[:, :1], y)
        np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X[:, :1]), rtol=1e-12)


def test_more_features_than_rows_and_unsorted_labels() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 300)), ["z", "a", "m", "z", "a", "m"]
    model = tb.GaussianNB().fit(X, y)
    assert model.classes_.tolist() == ["a", "m", "z"]
    assert model.predict(X).tolist() == y


def test_priors_of_the_wrong_length_or_sign() -> None:
    X, y = two_classes(0)
    for priors, why in (
        ([1.0], "match"),
        ([1.5, -0.5], "non-negative"),
        ([0.4, 0.4], "sum"),
        ("even", "priors must be"),
    ):
        with pytest.raises(ValueError, match=why):
            tb.GaussianNB(priors=priors).fit(X, y)


def test_log_probabilities_are_exact_far_out() -> None:
    model = tb.GaussianNB(priors="uniform").fit([[-1.0], [1.0], [19.0], [21.0]], [0, 0, 1, 1])
    got = model.predict_log_proba([[-100.0]])[0]
    np.testing.assert_allclose(got, [0.0, -0.5 * (120.0**2 - 100.0**2)], rtol=1e-6)


def test_numbers_whose_squares_are_too_large_for_a_discriminant() -> None:
    """More columns than rows, or variances shared in part: one clear error, not one of the linear algebra."""
    wide = np.random.default_rng(0).normal(size=(4, 300))
    apart = wide.copy()
    apart[2:, 0] = 1.7e308
    for table in (wide * 1e200, apart):
        with pytest.raises(TableError, match="whose squares do not fit"):
            tb.LinearDiscriminantAnalysis().fit(table, [0, 0, 1, 1])


def test_rates_beyond_64_bits_can_be_drawn() -> None:
    X, _ = tb.PoissonNB().fit([[1e20], [3e20], [2.0]], ["a", "a", "b"]).sample(5, y="a", random_state=0)
    assert ((X > 1e20) & (X < 3e20)).all()


def test_options_of_a_distribution_that_make_no_sense() -> None:
    for least in (-1, 2.5, "three", [1, -2]):
        with pytest.raises(OptionError, match="min_categories must be None or whole numbers"):
            distributions.Categorical(min_categories=least)
    for covariance in ("full", "diagonal"):
        with pytest.raises(OptionError, match="shrinkage must be between 0 and 1"):
            tb.GaussianDiscriminant(covariance, shrinkage=True).fit([[1.0], [2.0]], [0, 1])
