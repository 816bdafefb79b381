"""check_assumptions: statistics against slow ones, level where the assumptions hold, power where they do not."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

from tallybayes.errors import IdentifierColumnWarning, LabelError, OptionError, TableError
from tallybayes.evaluation import check_assumptions
from tallybayes.evaluation.assumptions.box_m import NullM
from tallybayes.evaluation.assumptions.columns_by_class import MOST_COLUMNS, MOST_ROWS, read_columns
from tallybayes.evaluation.assumptions.covariances import box_m
from tallybayes.evaluation.assumptions.findings import holm
from tallybayes.evaluation.assumptions.normality import anderson_darling, distance
from tallybayes.evaluation.assumptions.pairs import dependence, spearman, tables


def naive(kind: str, seed: int, n: int = 120, K: int = 3, gaps: float = 0.0) -> tuple[Any, Any]:
    """A table whose columns are independent given the class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    columns: dict[str, Any] = {}
    for j in range(8):
        if kind == "words" or (kind == "mixed" and j % 2):
            shares = rng.dirichlet(np.full(5, 0.8), size=K)
            values: Any = np.array([rng.choice(list("abcde"), p=shares[k]) for k in y], dtype=object)
            values[rng.random(n) < gaps] = None
        else:
            values = rng.exponential(size=n) * (1 + y) if kind == "exponential" else rng.normal(size=n) + y
            values[rng.random(n) < gaps] = np.nan
        columns[f"c{j}"] = values
    return pd.DataFrame(columns), y


# --- against slow, obvious versions ----------------------------------------------------------------------------


def test_tables_of_pairs_against_one_pair_at_a_time() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, [[2, 4, 3]], size=(60, 3))
    square, mean, variance, reported, df = tables(codes)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        both = (codes[:, i] >= 0) & (codes[:, j] >= 0)
        a, b = codes[both, i], codes[both, j]
        cross = pd.crosstab(a, b).to_numpy()
        found = stats.chi2_contingency(cross, correction=False)
        assert square[i, j] == pytest.approx(found.statistic)
        assert df[i, j] == found.dof
        g = stats.chi2_contingency(cross, correction=False, lambda_="log-likelihood").statistic
        assert 2 * reported[i, j] == pytest.approx(g)
        expected = np.outer(cross.sum(axis=1), cross.sum(axis=0)) / cross.sum()
        draws = []
        for _ in range(4000):
            shuffled = np.zeros_like(cross)
            np.add.at(shuffled, (a, rng.permutation(b)), 1)
            draws.append((((shuffled - expected) ** 2) / expected).sum())
        assert mean[i, j] == pytest.approx(np.mean(draws), rel=0.06)
        assert variance[i, j] == pytest.approx(np.var(draws), rel=0.15)


def test_rank_correlations_against_scipy() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(50, 3)).round(1)
    x[:, 2] += x[:, 0] ** 3
    rho, n = spearman(x)
    np.testing.assert_allclose(rho, stats.spearmanr(x).statistic, atol=1e-12)
    assert (n == 50).all()
    x[:9, 1] = np.nan
    assert spearman(x)[1][0, 1] == 41


def test_box_m_against_the_formula_by_hand() -> None:
    rng = np.random.default_rng(2)
    groups = [rng.normal(size=(n, 2)) * s for n, s in ((12, 1.0), (20, 1.5), (15, 0.7))]
    S = [np.cov(g.T) for g in groups]
    n = np.array([len(g) for g in groups])
    pooled = sum((m - 1) * s for m, s in zip(n, S, strict=True)) / (n.sum() - 3)
    M = (n.sum() - 3) * np.log(np.linalg.det(pooled)) - sum(
        (m - 1) * np.log(np.linalg.det(s)) for m, s in zip(n, S, strict=True)
    )
    b = (2 * 4 + 6 - 1) / (6 * 3 * 2) * ((1 / (n - 1)).sum() - 1 / (n.sum() - 3))
    found = box_m(groups)
    assert found is not None
    assert found[0] == pytest.approx(M)
    assert found[1] == pytest.approx(stats.chi2.sf(M * (1 - b), 6), rel=0.05)  # the rows are many for 2 columns


def drawn_m(df: list[int], d: int, many: int, seed: int) -> Any:
    """M of many tables with one covariance, from its definition: matrices by Bartlett's factors."""
    rng = np.random.default_rng(seed)
    L = np.tril(rng.normal(size=(len(df), many, d, d)), -1)
    for c, f in enumerate(df):
        L[c][:, range(d), range(d)] = np.sqrt(rng.chisquare(f - np.arange(d), size=(many, d)))
    W = L @ L.swapaxes(-1, -2)
    each = sum(f * np.linalg.slogdet(W[c] / f)[1] for c, f in enumerate(df))
    return sum(df) * np.linalg.slogdet(W.sum(axis=0) / sum(df))[1] - each


@pytest.mark.parametrize(
    ("df", "d"), [([16] * 3, 15), ([16] * 4, 15), ([11] * 3, 10), ([14] * 8, 8), ([3, 3], 1), ([6, 200], 5)]
)
def test_box_m_has_the_distribution_that_is_drawn(df: list[int], d: int) -> None:
    null, m = NullM(np.array(df, dtype=float), d), np.sort(drawn_m(df, d, 8000, 0))
    assert null.mean == pytest.approx(m.mean(), abs=4 * m.std() / np.sqrt(8000))
    for p in (0.99, 0.8, 0.5, 0.2, 0.05, 0.01):  # four standard errors, and what the formula is off by
        found = null.tail(m[round(8000 * (1 - p)) - 1])
        assert found == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / 8000) + 0.012 * (d == 1))
    around = [null.tail(null.mean * (1 + e)) for e in np.linspace(-0.01, 0.01, 41)]
    assert (np.diff(around) <= 0).all()
    assert 0 <= null.tail(null.mean * 1e3) < 1e-3 < 0.999 < null.tail(0.0) <= 1


def test_box_m_of_many_rows_is_the_usual_limit() -> None:
    null = NullM(np.array([40_000.0, 30_000.0, 30_000.0]), 12)
    for p in (0.9, 0.6, 0.5, 0.45, 0.3, 0.05, 1e-3, 1e-8):
        assert null.tail(stats.chi2.isf(p, 12 * 13)) == pytest.approx(p, rel=0.02)


def test_anderson_darling_is_the_integral() -> None:
    z = np.sort(stats.zscore(np.random.default_rng(3).exponential(size=70), ddof=1))
    a, p = anderson_darling(z)
    u = np.linspace(0, 1, 2_000_001)[1:-1]  # A² = n ∫ (F_n − u)² / (u (1 − u)) du
    empirical = np.searchsorted(stats.norm.cdf(z), u, side="right") / 70
    slow = 70 * ((empirical - u) ** 2 / (u * (1 - u))).mean()
    assert a / (1 + 0.75 / 70 + 2.25 / 70**2) == pytest.approx(slow, rel=1e-3)
    assert p < 1e-4
    assert distance(z) == pytest.approx(max(stats.kstest(z, "norm").statistic - 0.6 / np.sqrt(70), 0))


def test_holm_by_hand() -> None:
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.5])), [0.04, 0.09, 0.09, 0.5])


# --- level -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["words", "normal", "exponential", "mixed"])
def test_false_alarms_of_pairs(kind: str) -> None:
    found = []
    for seed in range(25):
        _, p, _, _ = dependence(read_columns(*naive(kind, seed, gaps=0.15 * (seed % 2)), None, 0))
        found.append(p[np.triu_indices(8, 1)])
    p = np.concatenate(found)
    assert len(p) == 700
    assert 0.01 < (p < 0.05).mean() < 0.07
    assert (p < 0.01).mean() < 0.02
    assert sum((holm(q) <= 0.05).any() for q in found) <= 4


@pytest.mark.parametrize("n", [8, 25, 200])
def test_false_alarms_of_normality(n: int) -> None:
    x = np.random.default_rng(n).normal(size=(2000, n))
    z = np.sort((x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, ddof=1, keepdims=True), axis=1)
    p = np.array([anderson_darling(row)[1] for row in z])
    assert 0.035 < (p < 0.05).mean() < 0.065
    assert (p < 0.01).mean() < 0.018


def test_false_alarms_of_equal_covariances() -> None:
    rng = np.random.default_rng(0)
    turn = rng.normal(size=(4, 4))
    p = np.array([box_m([rng.normal(size=(25, 4)) @ turn for _ in range(3)])[1] for _ in range(600)])  # type: ignore[index]
    assert 0.03 < (p < 0.05).mean() < 0.08


@pytest.mark.parametrize(("n", "d", "K"), [(51, 15, 3), (68, 15, 4), (36, 10, 3), (120, 8, 8)])
def test_false_alarms_of_equal_covariances_with_few_rows(n: int, d: int, K: int) -> None:
    """χ² alarms in 64, 85, 40 and 14 % of these. 300 tables: four standard errors are 5 %."""
    rng = np.random.default_rng(n)
    turn = rng.normal(size=(d, d))
    alarms = 0
    for _ in range(300):
        found = box_m([rng.normal(size=(n // K, d)) @ turn for _ in range(K)])
        assert found is not None
        alarms += found[1] <= 0.05
    assert 0.01 < alarms / 300 < 0.1


@pytest.mark.parametrize(("n", "d", "K"), [(51, 15, 3), (68, 15, 4), (36, 10, 3), (120, 8, 8)])
def test_planted_covariances_are_found_with_few_rows(n: int, d: int, K: int) -> None:
    """One class four times as wide as the others."""
    rng = np.random.default_rng(n)
    for _ in range(50):
        found = box_m([rng.normal(size=(n // K, d)) * (4.0 if c == 0 else 1.0) for c in range(K)])
        assert found is not None
        assert found[1] <= 0.05
        assert found[2] > 0.1


def test_the_whole_report_on_data_that_satisfy_everything() -> None:
    rng = np.random.default_rng(0)
    verdicts = []
    for _ in range(20):
        y = np.arange(150) % 3
        found = check_assumptions(rng.normal(size=(150, 4)) + y[:, None], y)
        verdicts.append([f.verdict for f in found.findings])
    assert (np.array(verdicts) != "holds").sum(axis=0).max() <= 4
    assert found.suggestions[0]["model"].startswith("GaussianNB(variance='shared')")


# --- power -----------------------------------------------------------------------------------------------------


def test_planted_dependence_is_found_and_named() -> None:
    rng = np.random.default_rng(0)
    X, y = naive("mixed", 0, n=400)
    X["c2"] = 0.8 * X["c0"] + 0.4 * rng.normal(size=400)
    X["copy"] = X["c1"]
    found = check_assumptions(X, y)
    assert found.independence.verdict == "fails"
    named = {line["what"]: line for line in found.independence.lines if line["p_holm"] <= 0.05}
    assert {"c0 and c2", "c1 and copy"} <= set(named)
    assert named["c0 and c2"]["size"] == "large"
    assert len(named) <= 4


def test_dependence_without_correlation_and_within_one_class_only() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=600)
    X = np.column_stack([x, x**2 + 0.1 * rng.normal(size=600), rng.normal(size=600)])
    y = np.arange(600) % 2
    assert check_assumptions(X, y).independence.lines[0]["what"] == "x0 and x1"
    Z = rng.normal(size=(600, 2))
    Z[y == 1, 1] = np.where(np.arange(300) % 2, 1, -1) * 0.1 + Z[y == 1, 0]
    assert check_assumptions(Z, y).independence.verdict == "fails"


def test_dependence_through_the_class_alone_is_none() -> None:
    rng = np.random.default_rng(2)
    y = np.arange(900) % 3
    X = rng.normal(size=(900, 2)) + 5 * y[:, None]  # correlated overall, independent within
    assert np.corrcoef(X.T)[0, 1] > 0.9
    assert check_assumptions(X, y).independence.verdict == "holds"


def test_planted_shapes_and_spreads_are_found() -> None:
    rng = np.random.default_rng(3)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 3))
    X[:, 1] = np.where(y == 1, rng.exponential(size=400), X[:, 1])
    found = check_assumptions(X, y)
    assert found.normality.verdict == "fails"
    assert found.normality.lines[0]["what"] == "x1 in class 1"
    assert [line["what"] for line in found.normality.lines if line["p_holm"] <= 0.05] == ["x1 in class 1"]
    X = rng.normal(size=(400, 3)) * np.where(y == 1, 2.0, 1.0)[:, None]
    found = check_assumptions(X, y)
    assert (found.normality.verdict, found.covariances.verdict) == ("holds", "fails")
    assert found.suggestions[0]["model"] == "GaussianNB()"
    each = {line["what"]: line["effect"] for line in found.covariances.lines}
    assert each["class 1"] > 0 > each["class 0"]


def test_many_rows_make_small_deviations_significant_and_still_small() -> None:
    rng = np.random.default_rng(4)
    n = 40_000
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 2))
    X[:, 1] += 0.05 * X[:, 0]
    X *= np.where(y == 1, 1.03, 1.0)[:, None]
    X += 0.05 * (X**2 - 1)
    found = check_assumptions(X, y)
    for f in found.findings:
        assert f.verdict == "nearly"
        assert f.lines[0]["p_holm"] < 1e-4
        assert f.lines[0]["size"] in ("negligible", "small")


def test_what_is_suggested_follows_the_findings() -> None:
    rng = np.random.default_rng(5)
    y = np.arange(600) % 2
    together = rng.normal(size=(600, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])
    found = check_assumptions(together, y).suggestions
    assert [s["model"] for s in found] == ["LinearDiscriminantAnalysis()", "BayesClassifier()"]
    own = np.where(y[:, None] == 1, together * [1, -3], together)
    assert check_assumptions(own, y).suggestions[0]["model"] == "QuadraticDiscriminantAnalysis()"
    found = check_assumptions(np.exp(rng.normal(size=(600, 2))), y).suggestions
    assert [s["model"] for s in found] == ["NaiveBayes()", "KernelNB()", "BayesClassifier()"]
    few = rng.normal(size=(24, 6)) @ (np.eye(6) + 2)
    assert check_assumptions(few, y[:24]).suggestions[0]["model"] == "RegularizedDiscriminantAnalysis()"
    found = check_assumptions(*naive("mixed", 0)).suggestions
    assert [s["model"] for s in found] == ["NaiveBayes()", "BayesClassifier()"]


# --- tables as they come ---------------------------------------------------------------------------------------


def test_frames_dicts_and_words() -> None:
    X, y = naive("mixed", 0, gaps=0.1)
    found = check_assumptions(X, y)
    frame = found.frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["assumption", "what", "effect", "size", "statistic", "p", "p_holm"]
    assert len(found.frame("independence")) == 28
    assert len(found.frame("normality")) == 12
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["independence"]["verdict"] == "holds"
    assert "HOLDS" in str(found)
    assert "This points to:" in found.text()
    assert isinstance(check_assumptions(X[["c0", "c2"]].to_numpy(), y).frame(), dict)
    assert found.frame(backend="polars").shape == frame.shape


@pytest.mark.filterwarnings("error")
def test_degenerate_columns_and_classes() -> None:
    rng = np.random.default_rng(0)
    y = np.array(["a"] * 60 + ["b"] * 57 + ["c"] * 3)
    X = pd.DataFrame(
        {
            "constant": 1.0,
            "empty": np.nan,
            "per class": np.where(y == "a", 1.0, 2.0),
            "once": np.arange(120) == 5,
            "fine": rng.normal(size=120),
            "twice": 0.0,
            "names": [f"n{i}" for i in range(120)],
            "huge": rng.normal(size=120) * 1e150,
        }
    )
    X["twice"] = 2 * X["fine"]
    with pytest.warns(IdentifierColumnWarning, match="'names'"):
        found = check_assumptions(X, y)
    assert any("left out: 'c'" in note for note in found.notes)
    assert any("'constant', 'empty', 'per class'" in note for note in found.notes)
    assert np.isfinite([line["p"] for line in found.independence.lines]).all()
    assert found.independence.lines[0]["what"] == "fine and twice"


def test_one_column_one_class_and_only_words() -> None:
    y = np.zeros(40, dtype=int)
    x = np.random.default_rng(0).normal(size=(40, 1))
    found = check_assumptions(x, y)
    assert [f.verdict for f in found.findings] == ["untested", "holds", "untested"]
    words = check_assumptions(*naive("words", 0))
    assert [f.verdict for f in words.findings] == ["holds", "untested", "untested"]
    constant = check_assumptions(np.ones((40, 3)), y)
    assert {f.verdict for f in constant.findings} == {"untested"}


def test_more_columns_than_are_looked_at() -> None:
    rng = np.random.default_rng(0)
    X = sparse.random(80, 300, 0.3, format="csr", random_state=0)
    found = check_assumptions(X, rng.integers(0, 2, 80))
    assert f"{MOST_COLUMNS} of 300 columns, drawn at random." in found.notes
    assert found.covariances.verdict == "untested"
    assert len(found.independence.lines) <= 200 * 199 / 2


def test_more_rows_than_are_looked_at() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(MOST_ROWS + 50, 2)), rng.integers(2, size=MOST_ROWS + 50)
    x[y == 1] += 1
    report = check_assumptions(x, y)
    assert f"{MOST_ROWS} of {MOST_ROWS + 50} rows, drawn at random." in str(report)
    again = check_assumptions(x, y)
    assert str(report) == str(again)


@pytest.mark.parametrize("seed", range(8))
def test_a_column_that_is_a_sum_of_others_within_a_class_has_no_determinant(seed: int) -> None:
    """In the classes together it is no sum. In one class rounding leaves a determinant of any sign."""
    x, y = np.random.default_rng(seed).normal(size=(60, 3)), np.arange(60) % 2
    x[:, 2] = np.where(y == 0, x[:, 0] + x[:, 1], x[:, 0] - x[:, 1])
    found = check_assumptions(x, y).covariances
    assert (found.verdict, found.sentence) == ("untested", "The covariance of a class has no full rank.")


def test_refusals() -> None:
    X, y = naive("normal", 0)
    with pytest.raises(OptionError, match="significance"):
        check_assumptions(X, y, significance=2)
    with pytest.raises(OptionError, match="which"):
        check_assumptions(X, y).frame("shape")
    with pytest.raises(OptionError, match="random_state"):
        check_assumptions(X, y, random_state="now")  # type: ignore[arg-type]
    with pytest.raises(TableError, match="infinity: column 'c1'"):
        check_assumptions(X.assign(c1=np.inf), y)
    with pytest.raises(LabelError, match="fewer than 8 rows"):
        check_assumptions(X, np.arange(len(y)))
    with pytest.raises(LabelError, match="inconsistent"):
        check_assumptions(X, y[:-1])
