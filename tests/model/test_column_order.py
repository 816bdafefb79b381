"""Models are merged by the names of their columns, in whatever order each has them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tallybayes import (
    AODE,
    TAN,
    AnDE,
    BernoulliNB,
    GaussianNB,
    KernelNB,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    NaiveBayes,
    PoissonNB,
    QuadraticDiscriminantAnalysis,
    merge_all,
)
from tallybayes.errors import MergeError

RNG = np.random.default_rng(30)
N = 400
X = pd.DataFrame(
    {
        "real": RNG.normal(size=N).round(2),
        "sky": RNG.choice(["red", "grey", "clear"], N),
        "other": RNG.gamma(2.0, size=N).round(2),
        "wind": RNG.choice(["calm", "gale"], N),
        "third": RNG.normal(3.0, size=N).round(2),
    }
)
Y = np.where(X["real"] + (X["sky"] == "red") > 0.5, "yes", "no")
ORDER = ["third", "wind", "real", "sky", "other"]
NUMBERS = ["real", "other", "third"]
COUNTS = (X[NUMBERS].abs() * 3).round()


def merged(model, X, order):
    first = model.copy().fit(X[:200], Y[:200])
    second = model.copy().fit(X[200:][order], Y[200:])
    return first, second


@pytest.mark.parametrize(
    ("model", "table"),
    [
        (NaiveBayes("gaussian"), X),
        (NaiveBayes("gaussian"), X.assign(day=RNG.permutation(pd.date_range("2026-01-01", periods=N)))),
        (GaussianNB(), X[NUMBERS]),
        (KernelNB(), X[NUMBERS]),
        (NaiveBayes("kernel"), X),
        (LinearDiscriminantAnalysis(), X[NUMBERS]),
        (QuadraticDiscriminantAnalysis(), X[NUMBERS]),
        (BernoulliNB(), COUNTS),
        (MultinomialNB(), COUNTS),
        (PoissonNB(), COUNTS),
    ],
    ids=lambda v: type(v).__name__,
)
def test_merging_goes_by_name(model, table):
    order = [*[c for c in table.columns if c == "day"], *[c for c in ORDER if c in table]]
    first, second = merged(model, table, order)
    same = model.copy().fit(table[200:], Y[200:])
    wanted = first.copy().merge(same)
    for found in (first.copy().merge(second), merge_all([first, second])):
        assert found.feature_names_in_.tolist() == list(table.columns)
        assert np.allclose(found.predict_proba(table), wanted.predict_proba(table), rtol=0, atol=1e-12)
    back = second.copy().merge(first)
    assert back.feature_names_in_.tolist() == order
    assert np.allclose(back.predict_proba(table), wanted.predict_proba(table), rtol=0, atol=1e-12)


def test_counts_are_the_same_bits():
    table = X[["sky", "wind"]]
    first, second = merged(NaiveBayes(), table, ["wind", "sky"])
    whole = NaiveBayes().fit(table, Y)
    assert (first.merge(second).predict_proba(table) == whole.predict_proba(table)).all()


@pytest.mark.parametrize("make", [AODE, lambda: AnDE(n=2)], ids=["AODE", "AnDE"])
@pytest.mark.parametrize("weight", [None, 0.5])
def test_counts_of_sets_of_columns_go_by_name(make, weight):
    table = X[["sky", "wind"]].assign(cloud=RNG.choice(list("abcd"), N), day=RNG.choice(["mon", "tue", "wed"], N))
    order = ["day", "sky", "cloud", "wind"]
    w = None if weight is None else np.full(N, weight)
    first = make().fit(table[:200], Y[:200], None if w is None else w[:200])
    second = make().fit(table[200:][order], Y[200:], None if w is None else w[200:])
    whole = make().fit(table, Y, w)
    for found in (first.copy().merge(second), second.copy().merge(first), merge_all([second, first])):
        assert np.allclose(found.predict_proba(table), whole.predict_proba(table), rtol=0, atol=1e-12)


def test_a_plan_learns_columns_in_any_order():
    plan = TAN().fit(X, Y).empty()
    one, two = plan.copy().partial_fit(X[:200], Y[:200]), plan.copy().partial_fit(X[200:][ORDER], Y[200:])
    assert (merge_all([one, two]).predict_proba(X) == plan.copy().partial_fit(X, Y).predict_proba(X)).all()


def test_what_cannot_be_put_in_order_is_refused():
    table = X[["sky", "wind"]]
    first, second = merged(TAN(), table, ["wind", "sky"])
    with pytest.raises(MergeError, match=r"another order.*one plan"):
        first.merge(second)
    other = NaiveBayes().fit(X[["real", "sky"]], Y)
    with pytest.raises(MergeError, match="different columns"):
        NaiveBayes().fit(table, Y).merge(other)
