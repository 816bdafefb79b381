"""explain: contributions against hand-made ones, the split of a covariance, information against brute force, words."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, sparse, stats

import tallybayes as tb
from tallybayes.datasets import load_watermelon
from tallybayes.distributions import Gaussian
from tallybayes.distributions.capabilities import IndependentColumns
from tallybayes.errors import LabelError, OptionError, TableError, UnseenCategoryWarning
from tallybayes.explain import evidence
from tallybayes.explain.phrases import factor, strength


def two_blobs(n: int = 300, seed: int = 0, K: int = 2) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    spread = np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.0], [0.0, 0.0, 2.0]])
    return rng.normal(size=(n, 3)) @ spread * (1 + 0.5 * y[:, None]) + y[:, None] * [1.0, 0.5, 0.0], y


def test_naive_contributions_are_the_log_densities() -> None:
    X, y = two_blobs()
    model = tb.GaussianNB(var_smoothing=0).fit(X, y)
    found = model.explain(X[:7])
    by_hand = stats.norm.logpdf(X[:7, :, None], model.theta_.T, np.sqrt(model.var_.T))
    np.testing.assert_allclose(found.log_likelihood, by_hand, atol=1e-12)
    np.testing.assert_allclose(found.values[..., 1], by_hand[..., 1] - by_hand[..., 0], atol=1e-12)
    np.testing.assert_allclose(found.values[..., 0], -found.values[..., 1], atol=1e-12)


def test_rivals_count_by_their_share() -> None:
    X, y = two_blobs(K=4)
    found = tb.GaussianNB().fit(X, y).explain(X[:5])
    for i in range(5):
        for k in range(4):
            rivals = [c for c in range(4) if c != k]
            share = found.probability[i, rivals] / found.probability[i, rivals].sum()
            hand = found.log_likelihood[i, :, k] - found.log_likelihood[i][:, rivals] @ share
            np.testing.assert_allclose(found.values[i, :, k], hand, atol=1e-12)


def split_by_hand(x: Any, mean: Any, cov: Any) -> Any:
    """The formula of block_terms.py, one coordinate at a time."""
    precision = np.linalg.inv(cov)
    inflation = np.log(np.diag(cov) * np.diag(precision))
    share = inflation / inflation.sum()
    corr = cov / np.sqrt(np.outer(np.diag(cov), np.diag(cov)))
    away = x - mean
    return np.array(
        [
            -0.5 * away[j] * (precision @ away)[j]
            - 0.5 * np.log(2 * np.pi * cov[j, j])
            - 0.5 * share[j] * np.log(np.linalg.det(corr))
            for j in range(len(x))
        ]
    )


@pytest.mark.parametrize("missing", [[], [0], [1], [0, 2]])
def test_a_covariance_is_split_as_stated(missing: list[int]) -> None:
    X, y = two_blobs()
    model = tb.QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    x = np.array([0.3, -1.0, 2.0])
    x[missing] = np.nan
    here = ~np.isnan(x)
    found = model.explain([x]).log_likelihood[0]
    assert (found[missing] == 0).all()
    if here.sum() > 1:
        for k in range(2):
            hand = split_by_hand(x[here], model.means_[k][here], model.covariance_[k][np.ix_(here, here)])
            np.testing.assert_allclose(found[here, k], hand, atol=1e-10)
    else:
        j = int(np.flatnonzero(here)[0])
        hand = [stats.norm.logpdf(x[j], model.means_[k][j], np.sqrt(model.covariance_[k][j, j])) for k in range(2)]
        np.testing.assert_allclose(found[j], hand, atol=1e-10)


def test_a_column_that_goes_with_no_other_adds_its_own_density() -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(size=(200, 2)) @ np.array([[1.0, 0.9], [0.0, 0.4]])
    X = np.vstack([np.column_stack([a, np.full(200, s)]) for s in (-1.0, 1.0)])  # the third: uncorrelated, exactly
    X = np.vstack([X, X + np.array([1.0, 0.0, 0.5])])
    y = np.repeat([0, 1], 400)
    model = tb.LinearDiscriminantAnalysis().fit(X, y)
    alone = tb.GaussianNB(variance="shared", var_smoothing=0).fit(X[:, 2:], y)
    np.testing.assert_allclose(
        model.explain(X[:9]).log_likelihood[:, 2], alone.explain(X[:9, 2:]).log_likelihood[:, 0], atol=1e-9
    )


@pytest.mark.parametrize(
    "model", [tb.LinearDiscriminantAnalysis(), tb.GaussianDiscriminant(own_covariance=0.5, shrinkage=0.3)]
)
def test_more_columns_than_rows_and_columns_that_never_vary(model: Any) -> None:
    rng = np.random.default_rng(2)
    y = np.arange(24) % 3
    X = rng.normal(size=(24, 60)) + y[:, None]
    X[:, 5] = 7.0
    model.fit(X, y)
    Z = rng.normal(size=(10, 60)) + 1
    Z[3, [0, 9, 17]] = np.nan
    found = model.explain(Z)
    joint = model.predict_joint_log_proba(Z)
    assert np.abs(found.log_joint - joint).max() < 1e-9 * np.abs(joint).max()
    assert (found.log_likelihood[3, [0, 9, 17]] == 0).all()


@pytest.mark.parametrize("make", [tb.MultinomialNB, tb.ComplementNB, tb.PoissonNB, tb.BernoulliNB, tb.GaussianNB])
def test_a_sparse_table_is_explained_like_a_dense_one(make: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.poisson(0.7, size=(50, 6)).astype(float)
    model = make().fit(X, np.arange(50) % 3)
    dense, thin = model.explain(X), model.explain(sparse.csr_matrix(X))
    np.testing.assert_allclose(thin.values, dense.values, atol=1e-12)
    assert thin.text(2) == dense.text(2)


def test_impossible_values_give_infinite_evidence_and_no_nan() -> None:
    X = [["red", "round"], ["red", "long"], ["green", "long"], ["blue", "round"]]
    model = tb.CategoricalNB(alpha=0).fit(X, ["a", "b", "c", "c"])
    found = model.explain([["red", "round"], ["green", "round"], ["blue", "long"]])
    for e in (found, found.against("c")):
        assert not np.isnan(e.values).any()
        assert not np.isnan(e.prior).any()
        assert all(isinstance(e.text(i), str) for i in range(3))
    assert found.values[0, 0, 2] == -np.inf
    assert found.values[1, 0, 2] == np.inf
    np.testing.assert_allclose(
        found.probability, model.predict_proba([["red", "round"], ["green", "round"], ["blue", "long"]])
    )
    assert found.log_odds[0].tolist() == [np.inf, -np.inf, -np.inf]
    nothing = model.explain([["green", "long"]], against="a")
    assert nothing.log_odds[0, 2] == np.inf
    assert "∞" in found.text(1)


def test_one_class() -> None:
    model = tb.GaussianNB().fit([[1.0], [2.0]], ["only", "only"])
    found = model.explain([[1.5]])
    np.testing.assert_allclose(found.log_joint, model.predict_joint_log_proba([[1.5]]))
    assert found.against("only").log_odds.tolist() == [[0.0]]
    assert model.explain().information.tolist() == [0.0]
    far = model.explain([[9.0]])
    assert far.text() == "'only' is the only class: P = 1, whatever the row holds"
    assert (far.log_odds.tolist(), far.values.tolist()) == ([[np.inf]], [[[0.0]]])
    np.testing.assert_allclose(far.log_joint, model.predict_joint_log_proba([[9.0]]))
    assert "(entropy 0)" in model.explain().text()


@pytest.mark.parametrize(
    ("x", "shown"),
    [(0.0, "0.5"), (3.0, "0.953"), (8.0, "0.9997"), (10.787, "0.99998"), (30.0, "1 − 9.4e-14"), (800.0, "1 − 10^-347")],
)
def test_a_probability_below_one_is_shown_as_such(x: float, shown: str) -> None:
    """Log-odds of x: e^10.787 is 48,400."""
    X = np.array([[-1.0], [0.0], [1.0], [0.0], [1.0], [2.0]]) - 0.5
    model = tb.GaussianNB(variance="shared", var_smoothing=0.0).fit(X, [0, 0, 0, 1, 1, 1])
    row = [[x * model.var_[0, 0]]]
    found = model.explain(row)
    assert found.log_odds[0, 1] == pytest.approx(x, abs=1e-9)
    assert found.text(label=1).splitlines()[0].endswith(f"P = {shown}")
    assert found.against(0).text(label=1).splitlines()[0].endswith(f"P = {shown}")


def test_a_probability_of_one_is_one() -> None:
    model = tb.GaussianNB(priors=[0.0, 1.0]).fit([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1])
    assert model.explain([[1.0]]).text().splitlines()[0].endswith("P = 1")


def test_another_prior_moves_the_prior_only() -> None:
    X, y = two_blobs()
    a = tb.GaussianNB().fit(X, y).explain(X[:3])
    b = tb.GaussianNB(priors=[0.9, 0.1]).fit(X, y).explain(X[:3])
    np.testing.assert_allclose(a.values, b.values)
    np.testing.assert_allclose(b.prior[:, 0], np.log(9.0))


@dataclass(frozen=True)
class Whole(Gaussian):
    """Does not say how it splits: the chain rule does."""

    name = "whole"


Whole.capabilities = Gaussian.capabilities - {IndependentColumns}


def test_without_column_the_chain_rule_splits() -> None:
    X, y = two_blobs()
    split, chain = tb.NaiveBayes(Gaussian()).fit(X, y), tb.NaiveBayes(Whole()).fit(X, y)
    np.testing.assert_allclose(chain.explain(X[:20]).values, split.explain(X[:20]).values, atol=1e-12)


@dataclass(frozen=True)
class Labels(tb.distributions.Categorical):
    name = "labels"


Labels.capabilities = Labels.capabilities - {IndependentColumns}


def test_a_distribution_of_labels_must_define_how_it_splits() -> None:
    model = tb.NaiveBayes({"x0": Labels()}).fit([["a"], ["b"]], [0, 1])
    with pytest.raises(OptionError, match="ColumnTerms"):
        model.explain([["a"]])


# --- information -----------------------------------------------------------------------------------------------


def test_information_of_categories_is_the_sum() -> None:
    rows, ripe = load_watermelon()
    model = tb.NaiveBayes(schema="categorical").fit(rows, ripe)
    found = model.explain()
    prior = np.exp(model.predictor_.fitted.prior)
    for name, value in zip(found.names, found.information, strict=True):
        table = model.describe(name)
        total = 0.0
        for level in table["yes"]:
            here = np.array([table[label][level] for label in ("no", "yes")])
            total += (prior * here * np.log(here / (prior @ here))).sum()
        assert value == pytest.approx(total, abs=1e-12)
    assert (found.error == 0).all()


@pytest.mark.parametrize(("columns", "rows"), [(4, 20_000), (100, 2_000), (1_000, 500)])
def test_information_by_draws_costs_no_more_than_the_columns(
    columns: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.poisson(2.0 + y[:, None], size=(200, columns))
    model, drawn, sample = tb.PoissonNB().fit(X, y), [], tb.distributions.Poisson.sample

    def counted(d: Any, p: Any, y: Any, rng: Any) -> Any:
        drawn.append(len(y))
        return sample(d, p, y, rng)

    monkeypatch.setattr(tb.distributions.Poisson, "sample", counted)
    found = model.explain()
    assert drawn == [rows]
    assert (found.error > 0).all()
    assert abs(found.information.mean() - 0.045) < 0.02  # of means 2 and 3, about


@pytest.mark.parametrize("model", [tb.GaussianNB(), tb.QuadraticDiscriminantAnalysis()])
def test_information_of_gaussians_is_the_integral(model: Any) -> None:
    X, y = two_blobs(K=3)
    model.fit(X, y)
    found = model.explain().information
    for j in range(3):
        reported = [model.describe(j)[k] for k in range(3)]

        def integrand(x: float, reported: Any = reported) -> float:
            p = np.array([stats.norm.pdf(x, t["mean"], np.sqrt(t["variance"])) for t in reported])
            return float((p / 3 * np.log(np.maximum(p, 1e-300) / p.mean())).sum()) if p.mean() > 0 else 0.0

        assert found[j] == pytest.approx(integrate.quad(integrand, -40, 40, limit=500, points=[0.0])[0], abs=1e-6)


def test_information_of_counts_is_within_its_standard_error() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.poisson(2.0 + 2 * y[:, None] * [1, 0])
    model = tb.PoissonNB().fit(X, y)
    found = model.explain()
    k = np.arange(80)
    for j in range(2):
        p = stats.poisson.pmf(k[:, None], model.rate_[:, j])
        truth = (p / 3 * np.log(p / p.mean(axis=1, keepdims=True))).sum()
        assert 0 < found.error[j] < 0.01
        assert abs(found.information[j] - truth) < 4 * found.error[j]
    assert model.explain().information.tolist() == found.information.tolist()  # the same draws each time


def test_a_feature_that_never_varies_is_uninformative() -> None:
    X = np.column_stack([np.arange(20.0), np.full(20, 3.0)])
    for model in (tb.GaussianNB(), tb.KernelNB(), tb.LinearDiscriminantAnalysis(), tb.NaiveBayes("mdl")):
        assert model.fit(X, np.arange(20) > 9).explain().information[1] == 0


# --- words -----------------------------------------------------------------------------------------------------


def test_frame_is_of_the_kind_that_went_in() -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    rows, ripe = load_watermelon()
    for X, kind in ((pd.DataFrame(rows), pd.DataFrame), (pl.DataFrame(rows), pl.DataFrame), (rows, dict)):
        model = tb.NaiveBayes().fit(X, ripe)
        assert isinstance(model.explain(X[:2]).frame(), kind)
        assert isinstance(model.explain().frame(), kind)
    long = model.explain(rows[:2]).frame("pandas")
    total = long.groupby(["row", "class"])["contribution"].sum().to_numpy().reshape(2, 2)
    np.testing.assert_allclose(total, model.explain(rows[:2]).log_odds)
    assert long["feature"].tolist()[:3] == ["(prior)", "(prior)", "color"]
    assert long[long["feature"] == "texture"]["value"].tolist() == [rows[0]["texture"]] * 2 + [rows[1]["texture"]] * 2
    with pytest.raises(OptionError, match="backend"):
        model.explain(rows[:2]).frame("excel")


def test_text_names_values_and_their_strength() -> None:
    rows, ripe = load_watermelon()
    model = tb.NaiveBayes().fit(rows, ripe)
    text = model.explain(rows[:1]).text(0)
    assert text.startswith("'yes' against the rest: odds ")
    assert "texture = clear: ×" in text
    assert text.index("evidence for") < text.index("evidence against")
    assert "'no' against 'yes'" in model.explain(rows[:1], against="yes").text(0)
    assert "more, together" in model.explain(rows[:1]).text(0, most=1)
    assert "missing" not in model.explain([{"sugar": 0.4}]).text(0)  # it says nothing
    with pytest.raises(OptionError, match="row must be"):
        model.explain(rows[:1]).text(1)
    with pytest.raises(LabelError, match="not a class"):
        model.explain(rows[:1]).text(0, "maybe")


def test_text_adds_up_factors_near_one_and_names_what_is_missing() -> None:
    rows, ripe = load_watermelon()
    found = tb.NaiveBayes("gaussian").fit(rows, ripe).explain([{"sugar": 0.4}])
    log = np.zeros_like(found.log_likelihood)
    log[0, :4, 0] = 0.5, 0.01, 0.005, -0.015  # of missing values, as a network may have them
    text = replace(found, log_likelihood=log).text(0, "no")
    assert f"{found.names[0]} is missing: ×1.65, weak" in text
    assert "\n    2 more, together ×1.02" in text
    assert "\n    1 more, together ÷1.02" in text
    assert found.names[1] not in text


@pytest.mark.parametrize(
    ("evidence", "word"),
    [
        (0.1, "weak"),
        (-2.0, "substantial"),
        (3.0, "strong"),
        (-4.0, "very strong"),
        (9.0, "decisive"),
        (1e9, "decisive"),
    ],
)
def test_words_follow_jeffreys(evidence: float, word: str) -> None:
    assert strength(evidence) == word


# --- what is refused -------------------------------------------------------------------------------------------


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = two_blobs()
    model = tb.GaussianNB().fit(X, y)
    with pytest.raises(LabelError, match="Classes: 0, 1"):
        model.explain(X, against="zebra")
    with pytest.raises(LabelError, match="not a class"):
        model.explain(X).against("zebra")
    with pytest.raises(OptionError, match="goes with rows"):
        model.explain(against=1)
    with pytest.raises(TableError, match="contains infinity: column 'x1'"):
        model.explain([[0.0, np.inf, 1.0]])
    with pytest.raises(TableError, match="2 features"):
        model.explain([[0.0, 1.0]])
    monkeypatch.setattr(evidence, "MOST_NUMBERS", 100)
    with pytest.raises(TableError, match="at most 16 rows at a time"):
        model.explain(X)
    monkeypatch.setattr(evidence, "MOST_NUMBERS", 5)
    with pytest.raises(TableError, match="Not even one row"):
        model.explain(X)


def test_an_unseen_category_warns_once_and_adds_nothing() -> None:
    model = tb.NaiveBayes().fit([["a"], ["b"]], [0, 1])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = model.explain([["c"], ["a"]])
    assert [w.category for w in caught] == [UnseenCategoryWarning]
    assert found.values[0].tolist() == [[0.0, 0.0]]


# --- averages of networks -------------------------------------------------------------------------------------------


def echoes(n: int = 400, gaps: float = 0.05) -> tuple[Any, Any]:
    """Words: a signal, its copy, a weaker one, noise, and a number; some values are missing."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, n)
    signal = np.where(rng.random(n) < 0.85, y, 1 - y)
    copy = np.where(rng.random(n) < 0.95, signal, 1 - signal)
    weak = np.where(rng.random(n) < 0.6, y, rng.integers(0, 3, n))
    X = pd.DataFrame({"signal": signal, "copy": copy, "weak": weak, "noise": rng.integers(0, 3, n)}).astype(str)
    X["size"] = rng.normal(size=n) + y
    return X.mask(rng.random(X.shape) < gaps), np.array(["no", "yes"])[y]


@pytest.mark.parametrize(
    "make",
    [
        lambda: tb.AODE(),
        lambda: tb.AODE(smoothing="laplace"),
        lambda: tb.AODE(smoothing="laplace", alpha=0.0),
        lambda: tb.AODE(cuts=None),
        lambda: tb.AODE(weighting="information", subsumption=True),
        lambda: tb.AODE(min_count=150),
        lambda: tb.AODE(min_count=1e9, cuts=None),
        lambda: tb.AnDE(2),
        lambda: tb.AnDE(2, smoothing="laplace"),
        lambda: tb.AnDE(2, cuts=None),
        lambda: tb.AnDE(3),
    ],
)
def test_evidence_of_an_average_does_not_depend_on_the_order_of_columns(make: Any) -> None:
    X, y = echoes()
    model, asked = make().fit(X, y), X[:40]
    found = model.explain(asked).log_likelihood
    assert not np.isnan(found).any()
    total = found.sum(axis=1) + model.predictor_.fitted.prior
    np.testing.assert_allclose(total, model.predict_joint_log_proba(asked), rtol=1e-12)
    assert not found[asked.isna()].any()
    for order in ([4, 3, 2, 1, 0], [1, 0, 3, 4, 2]):
        names = [X.columns[j] for j in order]
        turned = make().fit(X[names], y).explain(asked[names]).log_likelihood
        np.testing.assert_allclose(turned, found[:, order], atol=1e-9)


def test_a_network_of_no_weight_does_not_count_in_an_average() -> None:
    X, y = echoes()
    X, y = X[["signal", "weak"]].assign(same="k"), y
    model = tb.AODE(weighting="information").fit(X, y)
    assert model.predictor_.fitted.terms[0].params.W[2] == 0
    found = model.explain(X[:40]).log_likelihood
    total = found.sum(axis=1) + model.predictor_.fitted.prior
    np.testing.assert_allclose(total, model.predict_joint_log_proba(X[:40]), rtol=1e-12)


def test_noise_is_no_evidence_in_an_average() -> None:
    """Wherever it stands. By the chain rule a first column has what all networks say of it, and later ones the rest."""
    X, y = echoes(4000, gaps=0.0)
    for names in (["noise", "signal", "copy", "weak"], ["copy", "weak", "signal", "noise"]):
        for model in (tb.AODE(), tb.AnDE(2)):
            values = model.fit(X[names], y).explain(X[names][:200], against="no").values[:, :, 1]
            far = np.abs(values).mean(axis=0)
            assert far[names.index("noise")] < 0.2 < far[names.index("weak")] + far[names.index("copy")]
            both = [np.abs(values[:, names.index(name)]).mean() for name in ("signal", "copy")]
            assert max(both) < 2 * min(both)  # two columns that say nearly the same share what they say


def test_an_average_of_one_column_is_the_column() -> None:
    X, y = echoes(gaps=0.0)
    for make in (tb.AODE, tb.AnDE):
        alone = make().fit(X[["weak"]], y)
        want = alone.predict_joint_log_proba(X[["weak"]][:9]) - alone.predictor_.fitted.prior
        np.testing.assert_allclose(alone.explain(X[["weak"]][:9]).log_likelihood[:, 0], want, rtol=1e-12)


def test_values_that_json_does_not_know_are_written_in_words() -> None:
    import datetime as dt
    import json

    days = [{"day": dt.date(2024, 1 + i % 6, 1 + i), "n": np.float32(i / 8)} for i in range(12)]
    said = tb.NaiveBayes().fit(days, list("ab") * 6).explain(days[:1]).to_dict()
    assert json.loads(json.dumps(said, allow_nan=False)) == said
    wide = np.array([[1.5], [2.0], [4.0], [3.0]], dtype=np.longdouble)
    (row,) = tb.GaussianNB().fit(wide, list("aabb")).explain(wide[:1]).to_dict()["rows"]
    assert row["evidence"][0]["value"] == 1.5


@pytest.mark.parametrize(
    ("times", "shown"),
    [(3.0, "×3"), (1 / 2.5, "÷2.5"), (2018.0, "×2,020"), (1 / 48_400, "÷48,400"), (3.2e7, "×10^7.5"), (np.inf, "×∞")],
)
def test_a_factor_on_the_odds_has_no_exponent_of_a_computer(times: float, shown: str) -> None:
    assert factor(float(np.log(times))) == shown
