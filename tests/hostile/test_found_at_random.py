"""What the random callers (fuzz_api.py) have found, each as small as it could be made."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import tallybayes as tb
from tallybayes import _core
from tallybayes.errors import LabelError, OptionError, TableError


@pytest.fixture(autouse=True)
def _no_warning_of_others() -> Iterator[None]:
    with warnings.catch_warnings():
        for category in (RuntimeWarning, DeprecationWarning, FutureWarning):
            warnings.simplefilter("error", category)
        yield


@pytest.mark.parametrize(
    "w", [np.ones(4) * 1j, [[1.0], [1.0, 2.0]] * 2, np.ones(4, dtype="timedelta64[s]"), [10**400] * 4, [1j] * 4]
)
def test_weights_that_are_no_real_numbers(w: Any) -> None:
    """Complex ones were cast with a warning of NumPy, ragged ones raised NumPy's error."""
    with pytest.raises(OptionError, match="sample_weight must be"):
        tb.GaussianNB().fit(np.eye(4), [0, 1, 0, 1], sample_weight=w)


@pytest.mark.parametrize("make", [tb.MultinomialNB, tb.BernoulliNB, tb.ComplementNB, tb.CategoricalNB])
@pytest.mark.parametrize("alpha", ["auto", None, np.nan, {}])
def test_alpha_that_is_no_number_where_it_may_be_raised(make: Any, alpha: Any) -> None:
    with pytest.raises(OptionError, match="alpha"):
        make(alpha=alpha, force_alpha=False).fit(np.eye(4, dtype=int), [0, 1, 0, 1])


def test_whole_numbers_of_16_bytes() -> None:
    X = pl.DataFrame({"a": pl.Series([10**25, 1, None, 3], dtype=pl.Int128)})
    model = tb.GaussianNB().fit(X[1:], [0, 1, 1])
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("power", [-300, -160, 153, 300])
def test_assumptions_do_not_look_at_units(power: int) -> None:
    """Squares of the values were too large for a number, or nothing."""
    X, y = np.random.default_rng(0).normal(size=(40, 2)), [0, 1] * 20
    unit = 2.0 ** round(power / np.log10(2))
    assert str(tb.evaluation.check_assumptions(X * [1.0, unit], y)) == str(tb.evaluation.check_assumptions(X, y))


@pytest.mark.parametrize("tempered", [False, True])
def test_complement_of_one_column_with_norm(tempered: bool) -> None:
    """Its share of the counts is 1 whatever the class, and 0 / 0 was taken for its weight."""
    X, y = np.array([[1.0], [2.0], [3.0], [0.0]]), [0, 1, 0, 1]
    model = tb.ComplementNB(norm=True, tempered=tempered).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), 0.5)
    np.testing.assert_allclose(np.exp(model.leave_one_out(X, y)).sum(axis=1), 1.0)


def test_a_network_without_rows_learns_no_structure() -> None:
    """Moments of no class were read as of some: NumPy's error of a shape."""
    X, y = np.eye(3), [0, 1, 1]
    for make in (tb.TAN, tb.SPODE, tb.KDB):
        model = make(cuts=None).fit(X, y).forget(X, y)
        with pytest.raises(NotFittedError, match="forgotten every row"):
            model.relearn()


def test_a_quadratic_form_too_large_for_numbers() -> None:
    X = np.random.default_rng(0).normal(size=(20, 2)) * [1.0, 1e-160]
    model = tb.LinearDiscriminantAnalysis().fit(X, [0, 1] * 10)
    with pytest.raises(OptionError, match="another unit"):
        model.quadratic()


def test_rows_drawn_by_a_model_of_sparse_codes() -> None:
    """Levels are Python numbers, of which scipy makes no sparse table."""
    X = sparse.csr_matrix(np.array([[0, 1], [2, 0], [1, 1], [0, 2]]))
    model = tb.CategoricalNB().fit(X, [0, 1, 0, 1])
    drawn, _ = model.sample(5, random_state=0)
    assert sparse.issparse(drawn)
    assert model.predict(drawn).shape == (5,)


def test_averaged_estimators_of_real_columns_alone_are_explained() -> None:
    X, y = np.random.default_rng(0).normal(size=(12, 2)), [0, 1, 2] * 4
    model = tb.AODE(cuts=None).fit(X, y)
    found = model.explain(X)
    np.testing.assert_allclose(found.log_joint, model.predict_joint_log_proba(X), atol=1e-9)


def test_leave_one_out_of_rows_that_hardly_count() -> None:
    X, y = np.random.default_rng(0).normal(size=(12, 2)), [0, 1, 2] * 4
    w = np.full(12, 5e-324)
    found = tb.QuadraticDiscriminantAnalysis().fit(X, y, w).leave_one_out(X, y, w)
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1.0)


def test_real_columns_of_a_network_near_the_largest_numbers() -> None:
    """Their squares are numbers, and so is the mean of these; the sum was not."""
    rows = [{"n": v, "w": w} for v, w in ((-1.3e153, "a"), (-4e152, "b"), (-3e152, "c"), (-9e152, "a"))]
    model = tb.AODE(cuts=None).fit(rows[:3], ["x", "y", "y"]).partial_fit(rows[3:], ["y"])
    np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    "make",
    [
        tb.GaussianDiscriminant,
        lambda: tb.GaussianDiscriminant(own_covariance=0.5, shrinkage="oas"),
        lambda: tb.LinearDiscriminantAnalysis(shrinkage="auto"),
        lambda: tb.TAN(cuts=None),
        lambda: tb.KDB(cuts=None),
        lambda: tb.SPODE(cuts=None),
        lambda: tb.AODE(cuts=None),
    ],
)
def test_squares_too_large_that_hardly_count(make: Any) -> None:
    """A weight of 1e-300 makes their sum a number, but not their mean. KDB raised the kernel's own error."""
    X = np.random.default_rng(0).normal(size=(12, 2)) * [1.0, 1e300]
    with pytest.raises(TableError, match="Column 'x1' has values of the size of"):
        make().fit(X, [0, 1, 2] * 4, np.full(12, 1e-300))


def test_shrinkage_where_no_row_is_complete() -> None:
    model = tb.GaussianDiscriminant(shrinkage="oas").fit([{"a": None}, {"a": None}], [0, 1])
    np.testing.assert_allclose(model.predict_proba([{"a": 1.0}]), 0.5)


def test_leave_one_out_of_real_columns_near_the_largest_numbers() -> None:
    """n · gap² was too large for a number, n · gap² · w / (n − w) is not."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)) * [1.0, 1e153], [0, 1] * 20
    small = tb.TAN(cuts=None).fit(X * [1.0, 1e-153], y).leave_one_out(X * [1.0, 1e-153], y)
    np.testing.assert_allclose(tb.TAN(cuts=None).fit(X, y).leave_one_out(X, y), small, atol=1e-6)


def test_columns_that_no_row_of_a_class_has_both_of() -> None:
    """Their sum of products is of no rows at all, and not too large for these."""
    X = np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, np.nan], [np.nan, 1.0], [2.0, 5.0], [1.0, 4.0], [0.0, 3.0]])
    model = tb.GaussianDiscriminant(own_covariance=0.5).fit(X, [0, 0, 0, 0, 1, 1, 1])
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_a_network_that_forgot_everything_forgets_rows_of_no_weight() -> None:
    """There is no class left, and NumPy does not guess how many cells none of them have."""
    rows, y = [{"n": 1.0, "w": "a"}, {"n": 2.0, "w": "b"}], ["x", "y"]
    model = tb.SPODE(cuts=None).fit(rows, y).forget(rows, y)
    assert model.forget(rows, y, [0.0, 0.0]).class_count_.tolist() == []


@pytest.mark.parametrize("make", [tb.AODE, tb.SPODE, tb.TAN, lambda: tb.KDB(2), lambda: tb.AnDE(2)])
def test_leave_one_out_of_a_network_that_forgot_everything(make: Any) -> None:
    """Counting rows of no class divided by the number of classes, 0: the process died (SIGFPE)."""
    rows, y = [{c: "abc"[(i * k) % 3] for k, c in enumerate("abcd", 1)} for i in range(6)], [0, 1] * 3
    model = make().fit(rows, y).forget(rows, y)
    with pytest.raises(LabelError, match="No rows of class '0', '1' were learned"):
        model.leave_one_out(rows, y)
    with pytest.raises(NotFittedError, match="has forgotten every row"):
        model.leave_one_out(rows, y, [0.0] * 6)
    assert model.forget(rows, y, [0.0] * 6).class_count_.tolist() == []


@pytest.mark.parametrize("make", [tb.GaussianNB, tb.KernelNB, tb.LinearDiscriminantAnalysis, tb.TAN, tb.NaiveBayes])
def test_a_prior_set_after_the_fit_counts_at_once(make: Any) -> None:
    """The model went on with the prior of its fit, and its file read again had the new one."""
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    model = make(priors=[0.01, 0.99]).fit(X, y)
    old = model.predict_proba(X)
    model.set_params(priors="uniform")
    found = model.predict_proba(X)
    np.testing.assert_allclose(found, make(priors="uniform").fit(X, y).predict_proba(X), rtol=1e-12)
    np.testing.assert_array_equal(found, tb.from_bytes(tb.to_bytes(model)).predict_proba(X))
    np.testing.assert_array_equal(found, model.copy().predict_proba(X))
    assert np.abs(found - old).max() > 0.1


def test_fits_of_next_to_no_weight_do_not_overflow() -> None:
    """Dividing by the weight of all rows warned."""
    X, y = np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 2
    model = tb.BayesClassifier("fast", members=3).fit(X, y, np.full(12, 5e-324))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_shrinkage_of_columns_of_next_to_no_variance_does_not_overflow() -> None:
    X = np.array([[0.0, 0.0], [1e-160, 1.0], [0.0, 1.0], [1e-160, 0.0]])
    model = tb.RegularizedDiscriminantAnalysis().fit(X, [0, 1, 0, 1])
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_prior_for_other_classes_waits_for_the_fit() -> None:
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    model = tb.GaussianNB().fit(X, y)
    old = model.predict_proba(X)
    model.set_params(priors=[0.2, 0.3, 0.5])
    np.testing.assert_array_equal(model.predict_proba(X), old)
    with pytest.raises(OptionError, match="got 3 for 2 classes"):
        model.fit(X, y)
    assert model.fit(X, np.arange(40) % 3).class_prior_.tolist() == [0.2, 0.3, 0.5]


@pytest.mark.parametrize("make", [tb.CategoricalNB, tb.StreamingBayes, tb.TAN, tb.BayesClassifier])
def test_an_infinite_category_is_refused_with_the_name_of_its_column(make: Any) -> None:
    """The error named the first column; StreamingBayes left with that of the kernel."""
    X = pl.DataFrame({"p": [0.0, 1.0, 2.0], "q": [0.0, float("inf"), 1.0]})
    model = make() if make is tb.CategoricalNB else make(schema="categorical")
    for table in (X.to_pandas(), X.to_numpy(), X):
        with pytest.raises(TableError, match=r"column '(q|x1)' has inf \(row 1\)"):
            model.fit(table, [0, 1, 0])


def test_probabilities_of_a_stream_sum_to_one() -> None:
    """They are computed in float32."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    model = tb.StreamingBayes().fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=0, atol=1e-15)
    row = dict(zip(["x0", "x1", "x2"], X[0].tolist(), strict=True))
    assert sum(model.predict_proba_one(row).values()) == pytest.approx(1.0, abs=1e-15)
    assert list(model.predict_proba_one(row).values()) == model.predict_proba(X[:1])[0].tolist()


@pytest.mark.parametrize("make", [tb.NaiveBayes, tb.TAN, tb.GaussianNB, tb.AODE, tb.LinearDiscriminantAnalysis])
@pytest.mark.parametrize("call", ["fit", "partial_fit"])
def test_weights_of_classes_that_add_up_to_too_much_are_refused(make: Any, call: str) -> None:
    """The kernels refused them, each in its own words."""
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    model = make().set_params(class_weight={0: 1e-300, 1: 1e300})
    with pytest.raises(
        OptionError, match=r"40 rows, with those of their classes \(class_weight\), add up to more than"
    ):
        getattr(model, call)(X, y)


def test_a_model_of_columns_without_names_is_not_asked_lazily() -> None:
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    frame = pl.DataFrame({"p": X[:, 0], "q": X[:, 1], "y": y})
    with pytest.raises(OptionError, match="fitted on rows without names of columns"):
        tb.LazyBayes(tb.GaussianNB().fit(X, y), None, frame, "y")


def test_levels_that_are_numbers_are_drawn_as_one_type() -> None:
    """0.0 is kept as 0: a column of polars takes no mixture."""
    X = pl.DataFrame({"p": [0.0, 0.5, 0.25] * 4})
    drawn, _ = tb.CategoricalNB().fit(X, [0, 1] * 6).sample(40, random_state=0)
    assert drawn.schema == X.schema
    assert set(drawn["p"].to_list()) == {0.0, 0.5, 0.25}


def test_grid_of_a_discriminant_of_next_to_no_weight_does_not_overflow() -> None:
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    for weight in (5e-324, 1e-310, 1e-300):
        model = tb.RegularizedDiscriminantAnalysis(tempered=True).fit(X, y, np.full(40, weight))
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_rankings_of_a_network_too_wide_to_sum_over_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """explain() of a dense KDB sums over all other columns: it left with the error of the kernel."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (400, 4))
    y = (X[:, 0] + X[:, 1] + rng.integers(0, 2, 400)) % 3
    model = tb.KDB(2, "categorical", select=False).fit(X, y)
    exact = model.explain()

    def fail(*_: Any) -> None:
        raise _core.TooManyMissing(0, 1e9)

    monkeypatch.setattr("tallybayes.distributions.networks.counted_sets.CountedSets.outcomes", fail)
    drawn = model.explain()
    assert (drawn.error > 0).all()
    np.testing.assert_array_less(np.abs(drawn.information - exact.information), 4 * drawn.error + 2e-4)


def test_explaining_a_row_that_one_network_finds_impossible_is_no_warning() -> None:
    X, y = [{"a": "p", "b": "p", "c": "p"}, {"a": "q", "b": "q", "c": "q"}], [0, 1]
    model = tb.AnDE(2).fit(X, y, [1e-300, 1.0])
    assert not np.isnan(model.explain(X).values).any()


def test_shares_of_classes_that_hardly_count_are_adapted() -> None:
    X, y = [[0.0], [1.0], [4.0], [5.0]], ["a", "a", "b", "b"]
    model = tb.GaussianNB().fit(X, y, sample_weight=[1e-320, 1e-320, 1.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = model.adapt_prior([[0.0], [5.0]]).prior
    np.testing.assert_allclose(found.sum(), 1)


def test_weights_of_classes_set_after_the_fit_are_checked() -> None:
    model = tb.NaiveBayes().fit([[0.0], [1.0], [4.0], [5.0]], ["a", "a", "b", "b"])
    for bad in (memoryview(b"1"), {"a": "x"}, [1]):
        model.set_params(class_weight=bad)
        with pytest.raises(OptionError, match="class_weight must be"):
            model.leave_one_out([[0.0]], ["a"])


def test_a_linear_form_too_large_for_numbers() -> None:
    X = np.random.default_rng(0).normal(size=(20, 2)) * [1.0, 1e-158]
    model = tb.GaussianNB(variance="shared", var_smoothing=0.0).fit(X, [0, 1] * 10)
    with pytest.raises(OptionError, match="another unit"):
        model.boundary(0, 1)
    with pytest.raises(OptionError, match="is not a class"):
        tb.LinearDiscriminantAnalysis().fit(X / 1e-150, [0, 1] * 10).boundary(np.array([0, 1]), 1)


def test_a_bandwidth_too_large_for_numbers_is_refused() -> None:
    with pytest.raises(TableError, match="'x0'"):
        tb.KernelNB(bandwidth=1e300).fit([[0.0], [1e10], [2e10]], ["a", "b", "b"])


def test_strengths_of_real_columns_whose_likelihood_overflows() -> None:
    rng = np.random.default_rng(0)
    X = pl.DataFrame({"a": rng.choice(["u", "v"], 30), "x": rng.normal(size=30) * 1e-100, "z": rng.normal(size=30)})
    y, w = rng.integers(0, 2, 30), [1e-200, 1e200, 1e-200, 1e200, 1e-200]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = tb.AODE(cuts=None).fit(X, y)
        model.partial_fit(X[:5], y[:5], sample_weight=w)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
