"""Each distribution against a slow, obvious truth: one class, one column, one value at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

import tallybayes as tb
from tallybayes import distributions
from tallybayes.errors import OptionError, TableError

K, n, d = 3, 80, 3
rng = np.random.default_rng(7)
Y = np.concatenate([np.arange(K), rng.integers(0, K, n - K)])
W = np.where(rng.random(n) < 0.1, 0.0, rng.random(n) * 3)
REAL = rng.normal(size=(n, d)) * [1.0, 1e-4, 1e5] + Y[:, None] * [1.0, 2e-4, 0.0] + [0, 1, -1e6]
COUNTS = rng.poisson(2.0 + Y[:, None], size=(n, d)).astype(float)
CODES = rng.integers(0, 4, size=(n, d)).astype(float)
WITH_HOLES = {"real": REAL.copy(), "count": COUNTS.copy(), "code": CODES.copy()}
for X in WITH_HOLES.values():
    X[rng.random(X.shape) < 0.15] = np.nan
WEIGHTS = {"unweighted": None, "weighted": W}

# (values of the class, their weights; values of the column, their weights and classes) → log density of a value
Density = Callable[..., Callable[[float], float]]


def oracle(X: Any, w: Any, density: Density, new: Any) -> Any:
    """log P(x, class): the prior, and a term for every value that is there."""
    w = np.ones(n) if w is None else w
    out = np.empty((len(new), K))
    for c in range(K):
        out[:, c] = math.log(w[c == Y].sum() / w.sum())
        for j in range(X.shape[1]):
            here = ~np.isnan(X[:, j]) & (w > 0)
            x, v, y = X[here, j], w[here], Y[here]
            term = density(x[y == c], v[y == c], x, v, y)
            out[:, c] += [0.0 if math.isnan(t) else term(t) for t in new[:, j]]
    return out


def check(model: Any, X: Any, w: Any, density: Density, rtol: float = 1e-9) -> None:
    model.fit(X, Y, sample_weight=w)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), oracle(X, w, density, X), rtol=rtol, atol=1e-9)


def moments(x: Any, v: Any) -> tuple[float, float, float]:
    mean = math.fsum(v * x) / math.fsum(v)
    return math.fsum(v), mean, math.fsum(v * (x - mean) ** 2)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("variance", ["own", "shared"])
@pytest.mark.parametrize("smoothing", [0.0, 1e-9, 0.3])
def test_gaussian(weights: str, ddof: int, variance: str, smoothing: float) -> None:
    def density(x: Any, v: Any, x_all: Any, v_all: Any, y: Any) -> Any:
        total, mean, m2 = moments(x, v)
        var = m2 / (total - ddof)
        if variance == "shared":
            each = [moments(x_all[y == c], v_all[y == c]) for c in range(K)]
            var = sum(m for _, _, m in each) / (sum(t for t, _, _ in each) - ddof * K)
        t_all, _, m_all = moments(x_all, v_all)
        sd = math.sqrt(var + smoothing * m_all / t_all)
        return lambda t: stats.norm.logpdf(t, mean, sd)

    model = tb.GaussianNB(ddof=ddof, variance=variance, var_smoothing=smoothing)
    check(model, WITH_HOLES["real"], WEIGHTS[weights], density)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("alpha", [0.0, 1e-12, 0.5, 1.0, 7.0])
@pytest.mark.parametrize("other", [False, True])
def test_categorical(weights: str, alpha: float, other: bool) -> None:
    def density(x: Any, v: Any, x_all: Any, *_: Any) -> Any:
        N = len(np.unique(x_all)) + other
        return lambda t: math.log((v[x == t].sum() + alpha) / (v.sum() + alpha * N))

    X, y = WITH_HOLES["code"].copy(), Y
    for c in range(K):  # every level in every class, so that alpha = 0 has a logarithm
        X[np.flatnonzero((y == c) & (W > 0))[:4]] = np.arange(4)[:, None]
    model = tb.NaiveBayes(schema="categorical", alpha=alpha, unseen="other" if other else "ignore")
    check(model, X, WEIGHTS[weights], density)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_levels_share_all_of_the_probability(alpha: float) -> None:
    """Declared or met, a column's levels have N_j places and sum to one in every class."""
    X = pd.DataFrame(
        {
            "declared": pd.Categorical(["a", "b"] * 8, categories=list("zabcd")),
            "met": ["p", "q", "q", "r"] * 4,
            "alive": [True] * 16,
        }
    )
    model = tb.NaiveBayes(alpha=alpha).fit(X, [0, 1, 1, 1] * 4)
    for column, N in (("declared", 5), ("met", 3), ("alive", 2)):
        for shares in model.describe(column).values():
            assert len(shares) == N
            assert math.fsum(shares.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("method", ["width", "frequency", "mdl"])
@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_binned(method: str, alpha: float) -> None:
    """The intervals exist whether or not a value fell into them: N_j is their number."""
    X = REAL.copy()
    X[0, 0] = 60.0  # leaves intervals of equal width empty
    model = tb.NaiveBayes(distributions.Binned(alpha=alpha, method=method, bins=6)).fit(X, Y)
    for j in range(d):
        cuts = model.schema_.cuts[j].points
        N = len(cuts) + 1
        for c in range(K):
            inside = np.searchsorted(cuts, X[c == Y, j], side="right")
            shares = [((inside == b).sum() + alpha) / ((c == Y).sum() + alpha * N) for b in range(N)]
            np.testing.assert_allclose(list(model.describe(j)[c].values()), shares)
    if method == "width":
        width = np.linspace(X[:, 1].min(), X[:, 1].max(), 7)[1:-1]  # the model rounds between the values beside each
        np.testing.assert_array_equal(np.digitize(X[:, 1], model.schema_.cuts[1].points), np.digitize(X[:, 1], width))
        between = np.array([[40.0, np.nan, np.nan]])  # an empty interval: a / (n_c + a N)
        share = alpha / (np.bincount(Y) + alpha * 6)
        np.testing.assert_allclose(np.exp(model.predict_joint_log_proba(between)[0]), np.bincount(Y) / n * share)
    if method == "frequency":
        inside = np.bincount(np.searchsorted(model.schema_.cuts[1].points, X[:, 1], side="right"))
        assert inside.max() - inside.min() <= 1


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 4.0])
def test_threshold(weights: str, alpha: float) -> None:
    def density(x: Any, v: Any, *_: Any) -> Any:
        yes = (v[x > 2.0].sum() + alpha) / (v.sum() + 2 * alpha)
        return lambda t: stats.bernoulli.logpmf(int(t > 2.0), yes)

    check(tb.BernoulliNB(alpha=alpha, binarize=2.0), WITH_HOLES["count"], WEIGHTS[weights], density)


@pytest.mark.parametrize("labels", [(False, True), ("no", "yes"), (1, 2)])
def test_bernoulli_of_any_two_labels(labels: Any) -> None:
    """P = (n_cv + a) / (n_c + 2a)."""
    values = [labels[v] for v in (0, 1, 1, 1, 0)]
    model = tb.NaiveBayes(schema="binary", alpha=0.5).fit([{"a": v} for v in values], list("ppppq"))
    assert model.describe("a")["p"] == pytest.approx({str(labels[0]): 1.5 / 5, str(labels[1]): 3.5 / 5})
    assert model.describe("a")["q"] == pytest.approx({str(labels[0]): 1.5 / 2, str(labels[1]): 0.5 / 2})


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("alpha", [0.01, 1.0, [0.5, 1.0, 2.0]])
def test_multinomial(make: Any, weights: str, alpha: Any) -> None:
    w = np.ones(n) if WEIGHTS[weights] is None else W
    model = tb.MultinomialNB(alpha=alpha).fit(make(COUNTS), Y, sample_weight=WEIGHTS[weights])
    for i in (0, 5, 41):
        x = COUNTS[i]
        orders = math.lgamma(x.sum() + 1) - sum(math.lgamma(t + 1) for t in x)
        for c in range(K):
            total = sum(w[i] * COUNTS[i] for i in np.flatnonzero(c == Y)) + np.asarray(alpha)
            truth = stats.multinomial.logpmf(x, int(x.sum()), total / total.sum()) - orders
            truth += math.log(w[c == Y].sum() / w.sum())
            got = model.predict_joint_log_proba(make(COUNTS[[i]]))[0, c]
            assert got == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("alpha", [0.5, 2.0])
def test_complement(make: Any, norm: bool, alpha: float) -> None:
    model = tb.ComplementNB(alpha=alpha, norm=norm).fit(make(COUNTS), Y)
    for c in range(K):
        others = COUNTS[c != Y].sum(axis=0) + alpha
        weight = -np.log(others / others.sum())
        weight = weight / np.abs(weight).sum() if norm else weight
        np.testing.assert_allclose(model.feature_log_prob_[c], weight)
        np.testing.assert_allclose(model.predict_joint_log_proba(make(COUNTS))[:, c], COUNTS @ weight)
    given = tb.ComplementNB(alpha=alpha, norm=norm, class_prior=[0.2, 0.3, 0.5]).fit(make(COUNTS), Y)
    shift = given.predict_joint_log_proba(make(COUNTS)) - model.predict_joint_log_proba(make(COUNTS))
    np.testing.assert_allclose(shift, np.tile(np.log([0.2, 0.3, 0.5]), (n, 1)), rtol=1e-9)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_complement_without_smoothing(make: Any) -> None:
    """A word that only one class has decides for that class; fractions leave no dust below zero."""
    X = make(np.array([[3.0, 0.0, 1.0], [0.0, 2.0, 1.0], [0.0, 0.0, 1.0]]))
    for w in (None, [0.1, 0.7, 0.3]):
        p = tb.ComplementNB(alpha=0.0).fit(X, [0, 1, 2], sample_weight=w).predict_proba(X[:2])
        np.testing.assert_allclose(p, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], atol=1e-9)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("alpha", [0.0, 1.0, 10.0])
def test_poisson(weights: str, alpha: float) -> None:
    def density(x: Any, v: Any, x_all: Any, v_all: Any, *_: Any) -> Any:
        rate = ((v * x).sum() + alpha * (v_all * x_all).sum() / v_all.sum()) / (v.sum() + alpha)
        return lambda t: stats.poisson.logpmf(t, rate)

    check(tb.PoissonNB(alpha=alpha), WITH_HOLES["count"], WEIGHTS[weights], density)
    model = tb.PoissonNB(alpha=alpha).fit(sparse.csr_matrix(COUNTS), Y)
    truth = oracle(COUNTS, None, density, COUNTS)
    np.testing.assert_allclose(model.predict_joint_log_proba(sparse.csr_matrix(COUNTS)), truth, rtol=1e-9)


BANDWIDTHS: dict[Any, Callable[[Any], float]] = {
    # R's bw.nrd0: the sample deviation (n − 1) and the quartiles of type 7
    "silverman": lambda x: 0.9 * min(x.std(ddof=1), np.subtract(*np.quantile(x, [0.75, 0.25])) / 1.34) * len(x) ** -0.2,
    "scott": lambda x: 1.06 * x.std(ddof=1) * len(x) ** -0.2,
    "john-langley": lambda x: np.ptp(x) / math.sqrt(len(x)),
}


@pytest.mark.parametrize("bandwidth", [*BANDWIDTHS, 0.3])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_kernel(bandwidth: Any, weights: str) -> None:
    X, w = WITH_HOLES["real"], WEIGHTS[weights]
    model = tb.KernelNB(bandwidth=bandwidth).fit(X, Y, sample_weight=w)
    if w is None and isinstance(bandwidth, str):
        for c in range(K):
            for j in range(d):
                x = X[(c == Y) & ~np.isnan(X[:, j]), j]
                assert model.bandwidth_[c, j] == pytest.approx(BANDWIDTHS[bandwidth](x), rel=1e-9), (c, j)

    def density(x: Any, v: Any, x_all: Any, v_all: Any, y: Any) -> Any:
        total, _, m2 = moments(x_all, v_all)
        j = next(j for j in range(d) if x_all[0] in X[:, j])
        c = int(y[np.flatnonzero(x_all == x[0])[0]])
        h = bandwidth * math.sqrt(m2 / total) if isinstance(bandwidth, float) else model.bandwidth_[c, j]
        return lambda t: math.log(max((v * stats.norm.pdf(t, x, h)).sum() / v.sum(), 1e-300))

    got, truth = model.predict_joint_log_proba(X), oracle(X, w, density, X)
    near = truth > -200  # the direct sum underflows further out
    assert near.mean() > 0.9
    np.testing.assert_allclose(got[near], truth[near], rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: distributions.Categorical(alpha=-1.0), "alpha must be a number of at least 0; got -1.0"),
        (lambda: distributions.Categorical(alpha=[1.0, 2.0]), "one number"),
        (lambda: distributions.Poisson(alpha=float("nan")), "alpha must be"),
        (lambda: distributions.Multinomial(alpha="1"), "alpha must be"),
        (lambda: distributions.Gaussian(ddof=2), "ddof must be 0"),
        (lambda: distributions.Gaussian(var_smoothing=-1e-9), "var_smoothing must be"),
        (lambda: distributions.Threshold(threshold=float("inf")), "threshold must be"),
        (lambda: distributions.Kernel("epanechnikov"), "silverman, scott, john-langley"),
        (lambda: distributions.Kernel(0.0), "bandwidth must be above 0"),
        (lambda: distributions.Binned(method="tree"), "'mdl', 'width' or 'frequency'"),
        (lambda: distributions.Binned(bins=0), "bins must be"),
        (lambda: distributions.Binned(bins=10**9), "bins must be"),
        (lambda: distributions.Binned([65, 18]), "larger than the one before"),
        (lambda: distributions.Binned(["a"]), "points must be"),
        (lambda: distributions.register(int), "subclass of Distribution"),
        (
            lambda: distributions.register(type("Plain", (distributions.SimpleDistribution,), {"name": "plain"})),
            "frozen dataclass",
        ),
        (lambda: distributions.distribution("normal", {}), "Allowed: 'gaussian', 'categorical'"),
    ],
)
def test_options_that_are_refused(make: Callable[[], Any], why: str) -> None:
    with pytest.raises(OptionError, match=why):
        make()


# --- one that a user registers -------------------------------------------------------------------------------------


@distributions.register
@dataclass(frozen=True)
class Exponential(distributions.SimpleDistribution):
    """p(x) = λ exp(−λ x), λ = n / Σ x."""

    name = "exponential"
    parameters = ("rate",)

    def statistics(self, x: Any) -> Sequence[Any]:
        return [x]

    def estimate_one(self, n: Any, sums: Sequence[Any]) -> Sequence[Any]:
        return [n / sums[0]]

    def log_density(self, x: Any, *parameters: Any) -> Any:
        (rate,) = parameters
        return np.where(x >= 0, np.log(rate) - rate * x, -np.inf)

    def draw(self, rng: Any, *parameters: Any) -> Any:
        return rng.exponential(1 / parameters[0])


WAITS = np.random.default_rng(1).exponential(1.0 + Y[:, None], size=(n, d))
WAITS_WITH_HOLES = np.where(np.random.default_rng(2).random((n, d)) < 0.2, np.nan, WAITS)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_a_registered_distribution(weights: str) -> None:
    def density(x: Any, v: Any, *_: Any) -> Any:
        return lambda t: stats.expon.logpdf(t, scale=(v * x).sum() / v.sum())

    check(tb.NaiveBayes("exponential"), WAITS_WITH_HOLES, WEIGHTS[weights], density)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_registered_distribution_keeps_the_laws() -> None:
    def make() -> Any:
        return tb.NaiveBayes({"x0": "exponential", "x1": "gaussian", "x2": Exponential()})

    X, new = WAITS_WITH_HOLES, WAITS[:9]
    whole = make().fit(X, Y)
    truth = whole.predict_joint_log_proba(new)

    def same(model: Any) -> None:
        np.testing.assert_allclose(model.predict_joint_log_proba(new), truth, rtol=1e-9)

    same(make().fit(X[:30], Y[:30]).merge(make().fit(X[30:], Y[30:])))
    same(make().partial_fit(X[:1], Y[:1]).partial_fit(X[1:], Y[1:]))
    same(make().fit(np.vstack([X, new]), np.append(Y, [0] * 9)).forget(new, [0] * 9))
    same(make().fit(X, Y, sample_weight=np.full(n, 2.0)))
    same(make().fit(np.vstack([X, new * np.inf]), np.append(Y, [0] * 9), sample_weight=[1.0] * n + [0.0] * 9))
    same(make().fit(X, Y).decay(0.5))
    order = np.random.default_rng(0).permutation(n)
    same(make().fit(X[order], Y[order]))
    np.testing.assert_allclose(make().fit(X * 1e6, Y).predict_proba(new * 1e6), whole.predict_proba(new), rtol=1e-9)
    streamed = make()
    for row, c in zip(X[:20], Y[:20].tolist(), strict=True):
        streamed.learn_one({f"x{j}": v for j, v in enumerate(row.tolist())}, c)
    np.testing.assert_allclose(streamed.predict_proba(new), make().fit(X[:20], Y[:20]).predict_proba(new), rtol=1e-9)
    drawn, y = whole.sample(20_000, random_state=0)
    assert np.mean(drawn[y == 2, 0]) == pytest.approx(1 / whole.describe(0)[2]["rate"], rel=0.05)
    bad = [[1.0, 1.0, 1.0], [1.0, 1.0, np.inf]]
    for call in (lambda: make().fit(bad, [0, 1]), lambda: whole.predict_proba(bad)):
        with pytest.raises(TableError, match=r"'x2' has inf \(row 1\)"):
            call()


def test_a_registered_distribution_on_a_sparse_table_and_in_a_frame() -> None:
    X = COUNTS + 0.0
    dense = tb.NaiveBayes("exponential").fit(X, Y)
    loose = tb.NaiveBayes("exponential").fit(sparse.csr_matrix(X), Y)
    np.testing.assert_allclose(loose.predict_proba(sparse.csr_matrix(X)), dense.predict_proba(X), rtol=1e-9)
    frame = pd.DataFrame({"wait": WAITS[:, 0], "color": ["red", "blue"] * (n // 2)})
    model = tb.NaiveBayes("exponential").fit(frame, Y)
    assert set(model.describe("wait")[0]) == {"rate"}
    assert set(model.describe("color")[0]) == {"red", "blue"}


def test_the_librarys_names_cannot_be_taken() -> None:
    with pytest.raises(OptionError, match="'gaussian' belongs to"):
        distributions.register(dataclass(frozen=True)(type("Mine", (Exponential,), {"name": "gaussian"})))
    assert "exponential" in distributions.registered()


@pytest.mark.parametrize("binarize", [-1.0, -0.5, 0.0, 0.5])
def test_a_threshold_below_zero_in_a_sparse_table(binarize: float) -> None:
    """What is not stored is a zero, which lies above it: the same as the dense table."""
    X = np.where(np.abs(REAL[:, :1]) < 1, 0.0, np.c_[REAL[:, 0], CODES[:, 1] - 1]).round(1)
    S = sparse.csr_matrix(X)
    one, two = tb.BernoulliNB(binarize=binarize).fit(X, Y), tb.BernoulliNB(binarize=binarize).fit(S, Y)
    expected = one.predict_proba(X)
    for model, asked in ((one, S), (two, X), (two, S)):
        np.testing.assert_allclose(model.predict_proba(asked), expected, rtol=1e-12)
    np.testing.assert_allclose(two.leave_one_out(S, Y), one.leave_one_out(X, Y))
    np.testing.assert_allclose(two.partial_fit(S, Y).forget(S, Y).predict_proba(S), expected, rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_logarithms_in_a_sparse_table(alpha: float) -> None:
    X = np.c_[COUNTS[:, 0], np.where(Y == 0, 0.0, COUNTS[:, 1] + 1)]  # zeros in one class alone: shares of 0
    S = sparse.csr_matrix(X)
    make = {"distributions": "log-gaussian", "alpha": alpha}
    dense, thin = tb.NaiveBayes(**make).fit(X, Y), tb.NaiveBayes(**make).fit(S, Y)
    expected = dense.predict_proba(X)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(thin.predict_proba(S), expected, rtol=1e-9)
    np.testing.assert_allclose(thin.predict_proba(X), expected, rtol=1e-9)
    if alpha == 0:
        assert (expected[(Y == 0) & (X[:, 0] >= 0), 1:] == 0).all()


def test_kernels_left_out_of_sparse_tables_and_of_columns_without_values() -> None:
    X = np.c_[COUNTS[:40, :2], np.full(40, np.nan)]
    expected = tb.KernelNB().fit(X[:, :2], Y[:40]).leave_one_out(X[:, :2], Y[:40])
    S = sparse.csr_matrix(X[:, :2])
    np.testing.assert_allclose(tb.KernelNB().fit(S, Y[:40]).leave_one_out(S, Y[:40]), expected)
    np.testing.assert_allclose(tb.KernelNB().fit(X, Y[:40]).leave_one_out(X, Y[:40]), expected)


def test_a_distribution_without_a_name_is_not_registered() -> None:
    class Nameless(distributions.SimpleDistribution):
        pass

    with pytest.raises(OptionError, match="Nameless must have a name: write name ="):
        distributions.register(Nameless)


def test_own_cut_points() -> None:
    rows = [{"age": v} for v in (3.0, 17.9, 18.0, 40.0, 64.0, 65.0, 80.0)]
    y = ["a", "a", "a", "b", "b", "b", "b"]
    model = tb.NaiveBayes({"age": distributions.Binned([18, 65], alpha=0.0)}).fit(rows, y)
    assert model.describe("age")["a"] == pytest.approx({"< 18": 2 / 3, "18 to 65": 1 / 3, ">= 65": 0.0})
    assert model.describe("age")["b"] == pytest.approx({"< 18": 0.0, "18 to 65": 0.5, ">= 65": 0.5})
    X, _ = model.sample(50, given={"age": 18.0}, random_state=0)
    assert {row["age"] for row in X} == {18.0}
