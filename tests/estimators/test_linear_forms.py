"""What distributions say of themselves: linear and quadratic forms against their scores; sums from a file's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

import tallybayes as tb
from tallybayes import _core
from tallybayes.data.encoding import Codes, Numbers
from tallybayes.datasets import load_watermelon
from tallybayes.distributions import Categorical, Complement, Gaussian, Kernel, Multinomial, Poisson, Threshold
from tallybayes.distributions.base import statistics_from
from tallybayes.distributions.capabilities import (
    LinearForm,
    LogOddsFeatures,
    NormalMarginals,
    ParameterCount,
    QuadraticForm,
    capability,
)
from tallybayes.distributions.context import Context
from tallybayes.distributions.multivariate.diagonal_gaussian import GaussianAxes
from tallybayes.distributions.multivariate.gaussian_statistics import (
    CompactStatistics,
    FourthStatistics,
    PairedStatistics,
    WeighedStatistics,
    WideStatistics,
)
from tallybayes.distributions.multivariate.ledoit_wolf import MomentStatistics
from tallybayes.distributions.multivariate.multivariate_gaussian import GaussianBlock
from tallybayes.distributions.statistics import arrays_of
from tallybayes.distributions.univariate.simple import SimpleDistribution

K, PRIOR = 3, np.log([0.2, 0.5, 0.3])
Y = (np.arange(60) % K).astype(np.int32)


def numbers(d: int = 4, gaps: bool = False) -> Any:
    x = np.random.default_rng(d).normal(size=(60, d)) + Y[:, None]
    if gaps:
        x[::7, 1] = np.nan
    return np.ascontiguousarray(x)


def counts() -> Any:
    return np.random.default_rng(0).poisson(2.0 + Y[:, None], size=(60, 4)).astype(float)


def fitted(d: Any, data: Any, columns: int) -> tuple[Any, Any]:
    """Parameters, and log P(x | class)."""
    p = d.estimate(d.add(data, Y, None, K), Context(np.bincount(Y).astype(float), [None] * columns))
    scorer = _core.Scorer(len(Y), np.zeros(K))
    d.score(scorer, data, p)
    return p, np.asarray(scorer.joint())


def apart(a: Any) -> Any:
    """Without what all classes share."""
    return a - a[:, :1]


@pytest.mark.parametrize(
    ("d", "x"),
    [
        (Gaussian(shared=True), numbers()),
        (GaussianAxes(own_covariance=0.0, gamma=0.3), numbers()),
        (GaussianAxes(own_covariance=0.0, spherical=True), numbers()),
        (GaussianBlock(), numbers()),
        (GaussianBlock(), numbers(300)),
        (Threshold(threshold=2.0), counts()),
        (Multinomial(), counts()),
        (Poisson(), counts()),
    ],
    ids=lambda v: v.name if hasattr(v, "name") else f"{v.shape[1]}",
)
def test_linear(d: Any, x: Any) -> None:
    p, scores = fitted(d, Numbers(x, None), x.shape[1])
    weight, bias = d.linear(p, PRIOR)
    seen = (x > d.threshold).astype(float) if isinstance(d, Threshold) else x
    np.testing.assert_allclose(apart(seen @ weight.T + bias), apart(scores), rtol=1e-6, atol=1e-6)


def test_levels_are_linear_in_columns_of_0_and_1() -> None:
    codes = np.random.default_rng(0).integers(0, 3, size=(60, 2)).astype(np.int32)
    d = Categorical()
    data = Codes(_core.Columns([np.ascontiguousarray(c) for c in codes.T]))
    p, scores = fitted(d, data, 2)
    weight, bias = d.linear(p, PRIOR)
    seen = (codes[:, :, None] == np.arange(3)).reshape(60, 6).astype(float)
    np.testing.assert_allclose(seen @ weight.T + bias, scores)
    assert d.features() == "levels"
    assert d.n_parameters(p, Context(np.ones(K), [None, None])) == K * 2 * 2


@pytest.mark.parametrize(
    "d",
    [
        Gaussian(),
        Gaussian(shared=True),
        GaussianAxes(own_covariance=0.5),
        GaussianBlock(),
        GaussianBlock(own_covariance=1.0),
    ],
    ids=repr,
)
def test_quadratic(d: Any) -> None:
    x = numbers()
    p, scores = fitted(d, Numbers(x, None), 4)
    A, b, c = d.quadratic(p)
    np.testing.assert_allclose(np.einsum("ni,kij,nj->nk", x, A, x) + x @ b.T + c, scores, rtol=1e-9)
    mean, var = d.normal_marginals(p)
    np.testing.assert_allclose(mean, p.mean - p.mean[0], atol=1e-12)
    if isinstance(d, GaussianBlock):
        np.testing.assert_allclose(var, [np.diag(np.linalg.inv(-2 * a)) for a in A])
    else:
        np.testing.assert_allclose(var, p.var)


class Own(SimpleDistribution):
    name = "own"
    parameters = ("rate",)

    def statistics(self, x: Any) -> Any:
        return (x,)

    def estimate_one(self, n: Any, sums: Any) -> Any:
        return (n / sums[0],)

    def log_density(self, x: Any, *parameters: Any) -> Any:
        return np.log(parameters[0]) - parameters[0] * x

    def draw(self, rng: Any, *parameters: Any) -> Any:
        return rng.exponential(1 / parameters[0])


def test_what_is_of_no_such_form_does_not_offer_it() -> None:
    x, forms = numbers(), {LinearForm, QuadraticForm, NormalMarginals, LogOddsFeatures}
    for d in (Kernel(), Own()):
        assert not forms & d.capabilities
    assert capability(Kernel(), ParameterCount) is None
    p, _ = fitted(Own(), Numbers(np.abs(x), None), 4)
    assert Own().n_parameters(p, Context(np.ones(K), [None] * 4)) == K * 4
    for d in (Gaussian(), GaussianAxes(own_covariance=1.0), GaussianBlock(own_covariance=1.0)):
        assert d.linear(fitted(d, Numbers(x, None), 4)[0], PRIOR) is None
    assert capability(Complement(), LinearForm) is None


@pytest.mark.parametrize(
    ("d", "x", "kind"),
    [
        (GaussianBlock(), numbers(), CompactStatistics),
        (GaussianBlock(own_covariance=1.0), numbers(gaps=True), PairedStatistics),
        (GaussianBlock(gamma="ledoit-wolf"), numbers(), FourthStatistics),
        (GaussianBlock(), numbers(300), WideStatistics),
        (GaussianBlock(gamma="ledoit-wolf"), numbers(300), WeighedStatistics),
        (GaussianAxes(gamma="ledoit-wolf"), numbers(), MomentStatistics),
    ],
    ids=lambda v: v.__name__ if isinstance(v, type) else "",
)
def test_the_sums_of_a_file_have_the_type_that_wrote_them(d: Any, x: Any, kind: type) -> None:
    context = Context(np.bincount(Y).astype(float), [None] * x.shape[1])
    s = d.add(Numbers(x, None), Y, None, K)
    assert type(s) is kind
    arrays = arrays_of(s)
    again = statistics_from(d, arrays)
    assert type(again) is kind
    np.testing.assert_equal(arrays_of(again), arrays)
    d.check(again, context)
    fewer = [{key: a for key, a in arrays.items() if key != lost} for lost in ("mean", "low")]
    for wrong in ({**arrays, "other": x}, *fewer):
        with pytest.raises(ValueError, match=r"other|mean|low"):
            statistics_from(d, wrong)
    with pytest.raises(ValueError, match="last digit"):
        d.check(statistics_from(d, {**arrays, "low": arrays["mean"] * 1e-9}), context)


def test_fourth_moments_are_there_where_they_are_needed_and_only_there() -> None:
    x = Numbers(numbers(), None)
    context = Context(np.bincount(Y).astype(float), [None] * 4)
    for plain, fourth in (
        (GaussianBlock(gamma="oas"), GaussianBlock(gamma="ledoit-wolf")),
        (GaussianAxes(gamma="oas"), GaussianAxes(gamma="ledoit-wolf")),
    ):
        with pytest.raises(ValueError, match="missing"):
            fourth.check(statistics_from(fourth, arrays_of(plain.add(x, Y, None, K))), context)
        with pytest.raises(ValueError, match="fourth"):
            plain.check(statistics_from(plain, arrays_of(fourth.add(x, Y, None, K))), context)


def test_coefficients_by_name() -> None:
    rows, ripe = load_watermelon()
    words = [{k: v for k, v in row.items() if isinstance(v, str)} for row in rows]
    model = tb.NaiveBayes().fit(words, ripe)
    ((label, found),) = model.coefficients().items()
    assert label == model.classes_[1]
    for row in words:
        score = found["intercept"] + sum(found[f"{name}={value}"] for name, value in row.items())
        assert model.predict_proba_one(row)[label] == pytest.approx(1 / (1 + np.exp(-score)))
    X, y = load_iris(return_X_y=True)
    lda = tb.LinearDiscriminantAnalysis().fit(X, y)
    named = lda.coefficients()
    assert list(named) == [0, 1, 2]
    np.testing.assert_allclose([named[1][f"x{j}"] for j in range(4)], lda.logistic().coef_[1])
