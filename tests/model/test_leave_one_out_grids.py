"""Rows that were learned, judged without themselves: the closed forms against forgetting each row, and against an
estimate for each row where something that was chosen from all rows is kept."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import log_softmax, logsumexp
from scipy.stats import norm
from sklearn.exceptions import NotFittedError

import tallybayes as tb
from tallybayes.distributions.capabilities import leave_one_out, refitted_leave_one_out
from tallybayes.distributions.column_terms import terms as column_terms
from tallybayes.distributions.univariate.simple import SimpleDistribution
from tallybayes.errors import ForgetError, LabelError
from tests.every_estimator import ESTIMATORS, LEARNED, codes, counts, mixed, real, words
from tests.laws.test_evidence_adds_up import with_gaps

EVERY = {**ESTIMATORS, **LEARNED}
# What these choose from the rows (concentrations, weights) changes when one is forgotten.
CHOOSES = "AODE|A2DE|Network words|Network mixed, real|SPODE|TAN|KDB|BayesClassifier"
LAPLACE = ["TAN real", "TAN mixed, real"]  # choose a structure, which forgetting keeps
EXACT = [*(name for name in EVERY if not re.search(CHOOSES, name)), *LAPLACE]
KERNEL = [name for name in EVERY if "Kernel" in name]  # its bandwidths lose the row too
KEPT = [name for name in EVERY if name not in EXACT] + KERNEL
FULL = ["LinearDiscriminantAnalysis ledoit-wolf"]  # refuses missing values
pytestmark = pytest.mark.filterwarnings("ignore")


def pick(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def without(model: Any, X: Any, y: Any, w: Any, i: int) -> Any:
    """The slow way: forget the row, and ask."""
    unit = None if w is None else np.minimum(w[[i]], 1.0)
    return model.copy().forget(pick(X, [i]), y[[i]], unit).predict_log_proba(pick(X, [i]))[0]


def check(model: Any, X: Any, y: Any, w: Any = None, rows: Any = None, atol: float = 1e-8) -> None:
    found = model.fit(X, y, w).leave_one_out(X, y, w)
    for i in range(len(y)) if rows is None else rows:
        np.testing.assert_allclose(np.exp(found[i]), np.exp(without(model, X, y, w, i)), atol=atol)


def table(data: Any, seed: int, gaps: bool, weighted: bool, n: int = 30) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X, y = data(rng, n), np.array(["a", "b", "c"])[np.arange(n) % 3]
    if gaps:
        X = with_gaps(X, rng)
    return X, y, rng.choice([0.25, 0.5, 1.0, 2.0], size=n) if weighted else None


@pytest.mark.parametrize(("gaps", "weighted"), [(False, True), (True, False)])
@pytest.mark.parametrize("name", EXACT)
def test_it_is_what_forgetting_the_row_gives(name: str, gaps: bool, weighted: bool) -> None:
    make, data = EVERY[name]
    X, y, w = table(data, 5, gaps and name not in FULL, weighted)
    check(make(), X, y, w, rows=range(0, 30, 4))


@pytest.mark.parametrize(("gaps", "weighted"), [(False, False), (True, True)])
@pytest.mark.parametrize("name", [name for name in EVERY if name not in KERNEL])
def test_closed_forms_are_an_estimate_for_each_row(name: str, gaps: bool, weighted: bool) -> None:
    make, data = EVERY[name]
    X, y, w = table(data, 6, gaps and name not in FULL, weighted)
    model = make().fit(X, y, w)
    fitted, read = model.predictor_.fitted, model.predictor_.read(X)
    label = np.searchsorted(model.classes_, y).astype(np.int32)
    unit = np.ones(len(y)) if w is None else np.minimum(w, 1.0)
    for term in fitted.terms:
        about = (read.of(term), label, unit, term.statistics, term.params, fitted.context(term))
        slow = refitted_leave_one_out(term.distribution, *about)
        fast = leave_one_out(term.distribution, *about)
        atol = 1e-5 if name.startswith("BayesClassifier") else 1e-8  # its terms are float32
        np.testing.assert_allclose(np.exp(log_softmax(fast, axis=1)), np.exp(log_softmax(slow, axis=1)), atol=atol)


@pytest.mark.parametrize("name", KEPT)
def test_an_estimate_with_choices_kept_is_the_estimate(name: str) -> None:
    make, data = EVERY[name]
    X, y, _ = table(data, 7, True, False)
    model = make().fit(X, y)
    fitted = model.predictor_.fitted
    (term,) = fitted.terms
    d, data = term.distribution, model.predictor_.read(X).of(term)
    again = d.reestimate(term.statistics, fitted.context(term), term.params)
    # weights of few rows are divided by their shrinkage and multiplied again: the last bit may differ
    np.testing.assert_allclose(column_terms(d, data, again, 3), column_terms(d, data, term.params, 3), rtol=1e-14)


def test_of_a_kernel_density_the_row_leaves_kernels_and_bandwidths() -> None:
    rng = np.random.default_rng(0)
    x, y = np.append(rng.normal(size=30), [25.0, 25.0]), np.repeat([0, 1], 16)  # the last two are far away
    model = tb.KernelNB(priors="uniform").fit(x[:, None], y)
    found = model.leave_one_out(x[:, None], y)
    for i in (0, 3, 20, 31):
        others = np.arange(32) != i
        width = tb.KernelNB().fit(x[others, None], y[others]).bandwidth_[:, 0]
        each = [norm.logpdf(x[i], x[others & (y == c)], width[c]) for c in (0, 1)]
        f = np.array([logsumexp(log) - np.log(len(log)) for log in each])
        assert found[i] == pytest.approx(log_softmax(f), abs=1e-7)


def test_alone_in_its_class_in_one_column() -> None:
    """What a class has not seen without the row it takes from the others."""
    X = np.array([[1.0, 2.0], [np.nan, 3.0], [np.nan, 2.5], [4.0, 1.0], [5.0, 2.0], [7.0, 0.5]])
    y = np.array(["a", "a", "a", "b", "b", "b"])
    for model in (
        tb.GaussianNB(),
        tb.PoissonNB(),
        tb.LinearDiscriminantAnalysis(),
        tb.GaussianDiscriminant(own_covariance=0.5),
    ):
        check(model, X, y)
    found = tb.KernelNB().fit(X, y).leave_one_out(X, y)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("unseen", ["ignore", "other"])
@pytest.mark.parametrize("make", [tb.NaiveBayes, tb.CategoricalNB])
def test_a_level_that_no_other_row_has(make: Any, unseen: str) -> None:
    X = pd.DataFrame({"a": ["u", "v", "u", "v", "w", "u"], "b": ["p", "q", "r", "p", "q", "q"]})
    y = np.array([0, 0, 1, 1, 1, 0])
    check(make(unseen=unseen), X, y)
    if unseen == "other":  # a declared level stays one; forget takes its name away, so that 'ignore' leaves it out
        check(make(unseen=unseen), X.astype({"a": "category"}), y)


@pytest.mark.parametrize("least", [None, 4])
@pytest.mark.parametrize("unseen", ["ignore", "other"])
def test_the_largest_code(unseen: str, least: Any) -> None:
    X, y = np.array([[0, 1], [2, 0], [2, 1], [0, 5], [3, 1], [0, 2]]), np.array([0, 0, 0, 1, 1, 1])
    check(tb.CategoricalNB(unseen=unseen, min_categories=least), X, y)


@pytest.mark.parametrize("smoothing", ["laplace", "backoff"])
def test_a_level_that_no_other_row_has_in_a_network(smoothing: str) -> None:
    rng = np.random.default_rng(2)
    X, y = words(rng, 40), np.arange(40) % 3
    X[7, 0], X[8, 1] = "only here", "only there"
    for model in (tb.BayesNetwork("x0 -> x1 -> x2", smoothing=smoothing), tb.AODE(smoothing=smoothing)):
        found = model.fit(X, y).leave_one_out(X, y)
        if smoothing == "laplace":
            for i in (7, 8, 9):
                np.testing.assert_allclose(found[i], without(model, X, y, None, i), atol=1e-9)
        assert np.isfinite(found).all()


@pytest.mark.parametrize("option", [{"subsumption": True}, {"min_count": 5}])
def test_averaged_networks_keep_what_they_chose(option: dict[str, Any]) -> None:
    rng = np.random.default_rng(3)
    X = np.repeat(codes(rng, 120, 3), 3, axis=0)
    X[:, 1] = X[:, 0] // 2  # follows from the first
    y = np.tile([0, 1, 2], 120)
    model = tb.AODE("categorical", smoothing="laplace", **option).fit(X, y)
    rows = slice(0, 360, 45)
    found = model.leave_one_out(X, y)[rows]
    other = np.array([without(model, X, y, None, i) for i in range(0, 360, 45)])
    np.testing.assert_allclose(np.exp(found), np.exp(other), atol=1e-9)  # one row does not change what follows


def test_classes_that_share_their_counts() -> None:
    """Several outputs: a column that depends on one of them only."""
    rng = np.random.default_rng(4)
    X = with_gaps(mixed(rng, 60), rng)
    Y = pd.DataFrame({"t": rng.integers(0, 2, 60), "u": rng.integers(0, 2, 60)})
    for cuts in ("width", None):
        model = tb.BayesNetwork("t -> length, u -> color, color -> alive", ["t", "u"], cuts=cuts, smoothing="laplace")
        model.fit(X, Y)
        found = model.leave_one_out(X, Y)
        assert found.shape == (60, 4)
        for i in range(0, 60, 5):
            counterpart = model.copy().forget(X.iloc[[i]], Y.iloc[[i]])
            np.testing.assert_allclose(
                np.exp(found[i]), counterpart.predict_joint_proba(X.iloc[[i]]).ravel(), atol=1e-7
            )


@pytest.mark.parametrize("smoothing", ["laplace", "backoff"])
def test_values_that_are_summed_over(smoothing: str) -> None:
    """Missing parents, and parents of parents, of every depth of back-off."""
    rng = np.random.default_rng(15)
    X, y = words(rng, 60), np.arange(60) % 2
    X[rng.random(X.shape) < 0.3] = None
    network = tb.BayesNetwork("x0 -> x1, x0 -> x2, x1 -> x2, x2 -> x3, x1 -> x3, x0 -> x3", smoothing=smoothing)
    found = network.fit(X, y).leave_one_out(X, y)
    fitted = network.predictor_.fitted
    (term,) = fitted.terms
    data, context = network.predictor_.read(X).of(term), fitted.context(term)
    slow = refitted_leave_one_out(
        term.distribution, data, y.astype(np.int32), np.ones(60), term.statistics, term.params, context
    )
    prior = np.log(np.where(np.arange(2) == y[:, None], 29, 30))
    np.testing.assert_allclose(found, log_softmax(slow + prior, axis=1), atol=1e-10)


@pytest.mark.parametrize("make", [tb.MultinomialNB, tb.ComplementNB, tb.PoissonNB, tb.BernoulliNB, tb.GaussianNB])
def test_sparse_tables(make: Any) -> None:
    rng = np.random.default_rng(5)
    X, y = rng.poisson(0.4, size=(40, 12)).astype(float), np.arange(40) % 3
    model = make().fit(X, y)
    np.testing.assert_allclose(model.leave_one_out(sparse.csr_matrix(X), y), model.leave_one_out(X, y), atol=1e-10)


@pytest.mark.parametrize("alpha", [0.0, 0.5, np.array([0.0, 1.0, 2.0, 0.5])])
@pytest.mark.parametrize(
    "make",
    [tb.MultinomialNB, tb.BernoulliNB, tb.ComplementNB, lambda **o: tb.ComplementNB(norm=True, **o), tb.PoissonNB],
)
def test_smoothing_of_every_kind(make: Any, alpha: Any) -> None:
    rng = np.random.default_rng(6)
    X, y = rng.poisson(1.0, size=(15, 4)).astype(float), np.arange(15) % 3
    X[:, 3] *= y == 1  # a count that one class alone has
    check(make(alpha=alpha), X, y)


def _constant(X: Any) -> Any:
    return np.column_stack([X, np.ones(len(X))])


def _copied(X: Any) -> Any:
    return np.column_stack([X, X[:, 0] + X[:, 1]])


def _once(X: Any) -> Any:
    return np.column_stack([X, np.arange(len(X)) == 4])


@pytest.mark.parametrize("spoil", [_constant, _copied, _once])
@pytest.mark.parametrize(
    "make",
    [
        tb.LinearDiscriminantAnalysis,
        tb.QuadraticDiscriminantAnalysis,
        lambda: tb.QuadraticDiscriminantAnalysis(reg_param=0.1),
        lambda: tb.GaussianDiscriminant(own_covariance=0.4, shrinkage=0.3, ddof=1),
    ],
)
def test_covariances_without_full_rank(make: Any, spoil: Any) -> None:
    rng = np.random.default_rng(8)
    check(make(), spoil(real(rng, 24)), np.arange(24) % 3, rows=range(10), atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        *(lambda alpha=alpha: tb.GaussianDiscriminant(own_covariance=alpha, ddof=1) for alpha in (0.0, 0.5, 1.0)),
        lambda: tb.GaussianDiscriminant(own_covariance=1.0, shrinkage=1e-13),
        lambda: tb.QuadraticDiscriminantAnalysis(reg_param=1e-12),
    ],
    ids=["linear", "between", "quadratic", "hardly shrunk", "small ridge"],
)
def test_units_of_columns_do_not_matter(make: Any, weighted: bool) -> None:
    X, y, w = table(real, 4, False, weighted)
    X = X * np.geomspace(1e-6, 1e6, X.shape[1])
    model = make().fit(X, y, w)
    slow = [without(model, X, y, w, i) for i in range(len(y))]
    np.testing.assert_allclose(model.leave_one_out(X, y, w), slow, rtol=1e-9, atol=1e-9)


def test_small_classes_more_columns_than_rows_and_ledoit_wolf() -> None:
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(14, 300)), np.array([0] * 7 + [1] * 5 + [2] * 2)
    check(tb.LinearDiscriminantAnalysis(), X, y, rows=(0, 8, 13), atol=1e-6)
    check(tb.QuadraticDiscriminantAnalysis(), X[:, :3], y, atol=1e-6)
    auto = tb.LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(X[:, :4], y)
    assert np.isfinite(auto.leave_one_out(X[:, :4], y)).all()


@pytest.mark.parametrize("priors", [None, "uniform", "laplace", [0.2, 0.3, 0.5]])
def test_the_class_loses_the_row_too(priors: Any) -> None:
    X, y, w = table(real, 10, False, True)
    check(tb.GaussianNB(priors=priors), X, y, w)


@pytest.mark.parametrize("name", list(EVERY))
def test_weight_2_is_two_rows_and_weight_0_is_none(name: str) -> None:
    make, data = EVERY[name]
    X, y, _ = table(data, 11, False, False)
    w = np.where(np.arange(30) < 10, 2.0, 1.0)
    w[29] = 0.0
    twice = np.concatenate([np.arange(29), np.arange(10)])
    once = make().fit(X, y, w)
    doubled = make().fit(pick(X, twice), y[twice])
    found = once.leave_one_out(X, y, w)
    atol = 1e-5 if name.startswith("BayesClassifier") else 1e-7  # the former leaves out in float32
    np.testing.assert_allclose(found[:29], doubled.leave_one_out(pick(X, twice), y[twice])[:29], atol=atol)
    np.testing.assert_allclose(found[29], once.predict_log_proba(pick(X, [29]))[0], atol=atol)


def test_the_only_row_of_a_class_has_no_class_left_out() -> None:
    X, y = np.arange(7.0)[:, None], np.array(["a"] * 3 + ["b"] * 3 + ["alone"])
    model = tb.GaussianNB(tempered=True).fit(X, y)
    assert np.exp(model.leave_one_out(X, y)[6])[1] == 0  # "alone"
    assert not np.isnan(model.leave_one_out(X, y)).any()
    assert np.isfinite(model.leave_one_out(X, y)[:6]).all()
    assert np.isfinite(model.loo_score_)
    np.testing.assert_array_equal(model.leave_one_out(X, y), model.loo_log_proba_)
    lonely = tb.GaussianNB(tempered=True).fit(X[:2], ["a", "b"])
    assert lonely.temperature_ == 1
    assert np.isnan(lonely.loo_score_)


def test_rows_that_were_not_learned() -> None:
    X, y, _ = table(mixed, 12, False, False)
    model = tb.NaiveBayes().fit(X, y)
    before = model.predict_proba(X)
    other = X.assign(color="unseen value")
    for ask in (model.leave_one_out, model.temper):
        with pytest.raises(ForgetError, match="cannot have been learned"):
            ask(other, y)
        with pytest.raises(ForgetError, match="so much weight"):
            ask(X, y, np.full(30, 3.0))
        with pytest.raises(LabelError, match="No rows of class 'd' were learned"):
            ask(X, np.where(y == "a", "d", y))
    np.testing.assert_array_equal(model.predict_proba(X), before)
    with pytest.raises(NotFittedError):
        tb.NaiveBayes().leave_one_out(X, y)


def test_rows_that_were_added_and_rows_of_a_part() -> None:
    X, y, _ = table(counts, 13, False, False)
    both = tb.PoissonNB().fit(X[:15], y[:15]).partial_fit(X[15:], y[15:])
    np.testing.assert_allclose(both.leave_one_out(X, y), tb.PoissonNB().fit(X, y).leave_one_out(X, y), atol=1e-10)
    np.testing.assert_allclose(both.leave_one_out(X[4:9], y[4:9]), both.leave_one_out(X, y)[4:9], atol=1e-12)
    both.decay(0.5)
    half = np.full(30, 0.5)
    np.testing.assert_allclose(both.leave_one_out(X, y, half)[3], without(both, X, y, half, 3), atol=1e-10)


@dataclass(frozen=True)
class Rate(SimpleDistribution):
    """Exponential, written by a user."""

    name = "rate of a test"
    parameters = ("rate",)

    def statistics(self, x: Any) -> Any:
        return [x]

    def estimate_one(self, n: Any, sums: Any) -> Any:
        return [(n + 1) / (sums[0] + sums[0].sum() / n.sum())]

    def log_density(self, x: Any, rate: Any) -> Any:
        return np.log(rate) - rate * x

    def draw(self, rng: Any, rate: Any) -> Any:
        return rng.exponential(1 / rate)


def test_a_distribution_of_ones_own() -> None:
    X, y, w = table(counts, 14, True, True)
    check(tb.NaiveBayes(Rate()), X, y, w)


@pytest.mark.parametrize("make", [tb.AODE, lambda: tb.AnDE(2)])
def test_one_column_has_no_parents_to_average_over(make: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame({"a": rng.choice(list("xyz"), 30)}), rng.choice(["u", "v"], 30)
    found = make().fit(X, y).leave_one_out(X, y)
    np.testing.assert_allclose(found, tb.NaiveBayes().fit(X, y).leave_one_out(X, y), rtol=1e-9)
