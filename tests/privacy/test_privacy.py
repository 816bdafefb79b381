"""Small counts are refused, and noise on counts has the law that differential privacy needs."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from tallybayes import (
    BayesClassifier,
    BayesNetwork,
    GaussianNB,
    KernelNB,
    MultinomialNB,
    NaiveBayes,
    from_bytes,
    merge_all,
    save,
    to_bytes,
)
from tallybayes.errors import MergeError, OptionError, PrivacyError
from tallybayes.privacy import check_counts, discrete_laplace, private_counts, small_counts
from tallybayes.receipts import fingerprint

RNG = np.random.default_rng(7)
N = 600
X = pd.DataFrame({"sky": RNG.choice(["red", "grey", "clear"], N), "wind": RNG.choice(["calm", "gale"], N)})
X["sea"] = np.where(RNG.random(N) < 0.8, X["wind"].map({"calm": "flat", "gale": "high"}), "flat")
Y = np.where((X["sky"] == "red") ^ (RNG.random(N) < 0.2), "stay", "sail")
PUBLIC = pd.DataFrame(
    {"sky": ["red", "grey", "clear"], "wind": ["calm", "gale", "gale"], "sea": ["flat", "high", "high"]}
)
LABELS = ["stay", "sail", "sail"]
MODELS = [NaiveBayes(), BayesNetwork("wind -> sea")]


def plan_of(model):
    return model.copy().fit(PUBLIC, LABELS).empty()


# --- small counts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_small_cells_are_refused_and_large_ones_are_not(model, tmp_path):
    fitted = model.copy().fit(X, Y)
    smallest = min(
        pd.crosstab(Y, [X["wind"], X["sea"]]).replace(0, N).min().min(), pd.crosstab(Y, X["sky"]).min().min()
    )
    if not isinstance(model, BayesNetwork):
        smallest = min(pd.crosstab(Y, X[c]).min().min() for c in X)
    least = int(smallest)
    check_counts(fitted, least)
    assert to_bytes(fitted, min_count=least) == to_bytes(fitted)
    with pytest.raises(PrivacyError, match="fewer than"):
        to_bytes(fitted, min_count=least + 1)
    with pytest.raises(PrivacyError):
        save(fitted, tmp_path / "m.tb", min_count=least + 1)
    assert not (tmp_path / "m.tb").exists()


def test_a_rare_level_a_rare_class_and_few_missing_values_are_found():
    few = [*["red"] * 20, "lighthouse"]
    assert small_counts(NaiveBayes().fit(pd.DataFrame({"sky": few}), ["a"] * 21), 3) == [
        "sky = 'lighthouse' in class 'a'"
    ]
    assert small_counts(GaussianNB().fit(np.arange(10.0)[:, None], ["a"] * 9 + ["b"]), 3)[0] == "class 'b'"
    numbers = np.r_[np.nan, np.arange(9.0)][:, None]
    assert small_counts(GaussianNB().fit(numbers, ["a"] * 10), 3) == ["x0 missing in class 'a'"]
    assert small_counts(GaussianNB().fit(numbers, ["a"] * 10), 1) == []


@pytest.mark.parametrize(
    "model", [KernelNB(), MultinomialNB(), BayesClassifier("fast")], ids=lambda m: type(m).__name__
)
def test_statistics_that_hold_rows_are_refused(model):
    fitted = model.fit(np.arange(40.0)[:, None] % 7, ["a", "b"] * 20)
    with pytest.raises(PrivacyError):
        check_counts(fitted, 1)


def test_a_model_that_keeps_rows_is_not_shared():
    with pytest.raises(PrivacyError, match="memory='sums'"):
        check_counts(GaussianNB(memory="rows").fit(np.arange(40.0)[:, None], ["a", "b"] * 20), 5)


@pytest.mark.parametrize("least", [0, -1, None, float("nan"), "5", True])
def test_min_count_is_checked(least):
    with pytest.raises(OptionError, match="min_count"):
        small_counts(GaussianNB().fit([[1.0], [8.0]], ["a", "b"]), least)


# --- noise -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5, 2), 7.25])
def test_the_law_of_the_noise(scale):
    n, below = 6_000, random.Random(11).randrange
    drawn = np.array([discrete_laplace(scale, below) for _ in range(n)])
    q = math.exp(-1 / float(scale))
    top = int(3 * float(scale)) + 1
    for k in range(-top, top + 1):  # P(k) = (1 - q) / (1 + q) q^|k|
        p = (1 - q) / (1 + q) * q ** abs(k)
        assert abs((drawn == k).mean() - p) < 5 * math.sqrt(p * (1 - p) / n) + 1e-9, k
    assert abs(drawn.var() - 2 * q / (1 - q) ** 2) < 0.2 * 2 * q / (1 - q) ** 2


@pytest.mark.parametrize("scale", [0, -1.0, float("nan"), float("inf"), "x", None])
def test_a_scale_that_is_none_is_refused(scale):
    with pytest.raises(OptionError, match="scale"):
        discrete_laplace(scale)


@pytest.mark.parametrize(("model", "tables"), list(zip(MODELS, (4, 5), strict=True)), ids=["naive", "network"])
def test_noise_has_the_scale_of_the_tables(model, tables):
    """The scale is tables / epsilon: that of class, columns and families; with tiny noise the counts are exact."""
    exact = plan_of(model).partial_fit(X, Y).fitted_
    sure = private_counts(plan_of(model), X, Y, 1e6, random_state=1).fitted_
    assert (sure.weight == exact.weight).all()
    big = 4000  # rows of one kind: no cell that is filled is cut off at 0
    rows, y = PUBLIC.iloc[[0] * big], ["stay"] * big
    drawn = np.array(
        [private_counts(plan_of(model), rows, y, 0.5, random_state=i).fitted_.weight[1] for i in range(100)]
    )
    q = math.exp(-0.5 / tables)
    assert abs(drawn.mean() - big) < 5 * math.sqrt(2 * q / (1 - q) ** 2 / 100)
    assert 0.4 < drawn.var() / (2 * q / (1 - q) ** 2) < 2.0


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_one_row_changes_each_table_by_one(model):
    """The sensitivity that the scale rests on: T tables, one cell each, by at most 1."""
    from tallybayes.privacy.private_counts import _counted, _tables

    plan = plan_of(model)
    with_, without = _counted(plan, X, Y), _counted(plan, X[1:], Y[1:])
    total = np.abs(with_.weight - without.weight).sum()
    for a, b in zip(with_.terms, without.terms, strict=True):
        for key in ("count", "single", "joint"):
            if hasattr(a.statistics, key):
                total += np.abs(getattr(a.statistics, key) * 1.0 - getattr(b.statistics, key)).sum()
    assert total == 1 + sum(_tables(t) for t in with_.terms)


def test_shapes_and_names_do_not_depend_on_the_rows():
    plan = plan_of(NaiveBayes())
    few = private_counts(plan, PUBLIC[:1], ["stay"], 1.0, random_state=3)
    odd = pd.DataFrame({"sky": ["lighthouse keeper"], "wind": ["calm"], "sea": [None]})
    strange = private_counts(plan, pd.concat([PUBLIC[:1], odd, odd]), ["stay", "stay", "nobody knows"], 1.0)
    for model in (few, strange):
        assert model.classes_.tolist() == ["sail", "stay"]
        assert [t.statistics.count.shape for t in model.fitted_.terms] == [(2, 7)]
        assert b"lighthouse" not in to_bytes(model)
        assert b"nobody" not in to_bytes(model)
    assert few.predict_proba(PUBLIC).sum(axis=1) == pytest.approx([1, 1, 1])


def test_budgets_add_and_exact_rows_are_kept_apart():
    plan = plan_of(NaiveBayes())
    one, two = (private_counts(plan, X[i::2], Y[i::2], e) for i, e in enumerate((1.0, 0.5)))
    assert (one.privacy_loss_, two.privacy_loss_) == (1.0, 0.5)
    assert merge_all([one, two]).privacy_loss_ == 1.5
    assert from_bytes(to_bytes(one)).copy().merge(two).privacy_loss_ == 1.5
    exact = plan.copy().partial_fit(X, Y)
    for merge in (lambda: one.copy().merge(exact), lambda: exact.copy().merge(one), lambda: merge_all([exact, two])):
        with pytest.raises(MergeError, match="noise"):
            merge()
    before = fingerprint(one)
    row = PUBLIC.iloc[0].to_dict()
    for change in (
        lambda: one.partial_fit(PUBLIC, LABELS),
        lambda: one.forget(PUBLIC[:1], LABELS[:1]),
        lambda: one.learn_one(row, "stay"),
        lambda: one.forget_one(row, "stay"),
        lambda: one.learn_from(PUBLIC.assign(y=LABELS), "y"),
    ):
        with pytest.raises(OptionError, match="noise"):
            change()
    assert one.one_row != "compiled"
    assert fingerprint(one) == before
    assert not hasattr(one.copy().fit(X, Y), "privacy_loss_")
    assert not hasattr(one.empty(), "privacy_loss_")


def test_what_is_not_counts_or_not_public_is_refused():
    numbers = X.assign(x=np.arange(N) * 1.0)
    with pytest.raises(OptionError, match="tables of counts"):
        private_counts(NaiveBayes("gaussian").fit(numbers, Y).empty(), numbers, Y, 1.0)
    cut = NaiveBayes("frequency").fit(numbers, Y).empty()
    assert private_counts(cut, numbers, Y, 1.0).privacy_loss_ == 1.0
    with pytest.raises(OptionError, match="takes a plan"):
        private_counts(NaiveBayes().fit(X, Y), X, Y, 1.0)
    with pytest.raises(OptionError, match="memory='sums'"):
        private_counts(BayesClassifier("fast").fit(X, Y).empty(), X, Y, 1.0)
    with pytest.raises(OptionError, match="not public"):
        private_counts(NaiveBayes(schema="categorical").fit([[0], [1]], [0, 1]).empty(), [[0], [1]], [0, 1], 1.0)
    for epsilon in (0, -1, float("inf"), float("nan"), "1", None):
        with pytest.raises(OptionError, match="epsilon"):
            private_counts(plan_of(NaiveBayes()), X, Y, epsilon)
