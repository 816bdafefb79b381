"""BayesClassifier: what it is made of, that it says what simpler models say where it is one, and that nothing breaks
it."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import NotFittedError

import tallybayes as tb
from tallybayes import _core
from tallybayes.distributions.base import same_statistics
from tallybayes.distributions.networks.joint_counts import LevelStatistics
from tallybayes.distributions.statistics import arrays_of, changed
from tallybayes.ensemble import gaussian_copula, layout, networks, row_sample, target_encoding
from tallybayes.ensemble.canonical_order import positions
from tallybayes.ensemble.ensemble_distribution import Component, Ensemble
from tallybayes.ensemble.ensemble_statistics import EnsembleParams
from tallybayes.ensemble.stacking import mean_loss
from tallybayes.errors import ModelFileError, OptionError, TableError, TallybayesError
from tallybayes.estimators.bayes_classifier import EFFORTS, PARTS
from tests.every_estimator import mixed, words
from tests.hostile.broken_files import exercise, from_bytes, mutants, to_bytes
from tests.quick import examples

PLAIN = {"smoothing": "laplace", "weighting": "none", "priors": "uniform", "parts": ("networks",), "members": 1}


def colors(n: int = 80, d: int = 5, seed: int = 0) -> tuple[Any, Any]:
    """Words that depend on the class and on one another."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    first = rng.integers(0, 4, n)
    level = np.stack([np.where(rng.random(n) < 0.5, (first + y) % 4, rng.integers(0, 4, n)) for _ in range(d)], axis=1)
    return np.array(["red", "green", "blue", "grey"], dtype=object)[level], np.array(["a", "b", "c"])[y]


def table(n: int = 90, seed: int = 0, gaps: bool = True) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X, y = mixed(rng, n), np.array(["a", "b", "c"])[np.arange(n) % 3]
    X["length"] += (y == "b") * 1.5
    if gaps:
        X.loc[rng.random(n) < 0.1, "length"] = np.nan
        X.loc[rng.random(n) < 0.1, "color"] = None
    return X, y


@pytest.fixture(scope="module")
def fitted() -> tuple[Any, Any, Any]:
    X, y = table()
    return tb.BayesClassifier(members=4, parts=PARTS).fit(X, y), X, y


def sound(model: Any, X: Any) -> Any:
    found = model.predict_proba(X)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    return found


# --- what the weights are ------------------------------------------------------------------------------------------


def test_a_temperature_is_one_weight_for_all() -> None:
    X, y = colors()
    hot = tb.BayesClassifier("fast", members=3, parts=("networks",), weighting="temperature").fit(X, y)
    weights = {w for own in hot.weights_.values() for w in own.values()}
    assert len(weights) == 1
    plain = tb.BayesClassifier("fast", members=3, parts=("networks",), weighting="none").fit(X, y)
    assert {w for own in plain.weights_.values() for w in own.values()} == {1.0}
    prior = hot.predictor_.fitted.prior
    (beta,) = weights
    np.testing.assert_allclose(
        hot.predict_joint_log_proba(X) - prior, beta * (plain.predict_joint_log_proba(X) - prior), atol=1e-12
    )


def test_without_weights_it_is_the_mean_of_its_networks() -> None:
    X, y = colors()
    model = tb.BayesClassifier("fast", members=3, parts=("networks",), weighting="none").fit(X, y)
    each = []
    for i in range(3):
        alone = model.network(i).set_params(weighting="none")
        ensemble, p = model.network(i)._ensemble(), model.network(i).predictor_.fitted.terms[0].params
        codes = packed_codes(alone, X)
        one = np.zeros(len(ensemble.chain_feature), np.int32)
        each.append(ensemble.chains.terms(p.logs, codes, _core.ChainOutputs(1, one, np.ones(len(one))))[0])
    found = model.predict_joint_log_proba(X) - model.predictor_.fitted.prior
    np.testing.assert_allclose(found, np.mean(each, axis=0), atol=1e-6)


def packed_codes(model: Any, X: Any) -> Any:
    (term,) = model.predictor_.fitted.terms
    ((_, codes, _),) = list(term.params.packed(model.predictor_.read(X).of(term)))
    return codes


def test_weights_of_each_part(fitted: Any) -> None:
    model, _, _ = fitted
    assert set(model.weights_) == {"networks", "uniform_networks", "naive", "class_trees", "neighbors", "gaussian"}
    assert set(model.weights_["naive"]) == {"length", "color", "alive", "visits"}
    assert isinstance(model.weights_["gaussian"], float)
    text = model.summary()
    for words_of_part in (
        "4 Bayesian networks",
        "class trees",
        "naive Bayes on finer bins",
        "Gaussian discriminant",
        "weights",
        "color",
    ):
        assert words_of_part in text
    assert "90 rows, 4 columns, 3 classes" in text


@pytest.mark.parametrize(
    ("parts", "keys"),
    [
        (("networks",), {"networks", "uniform_networks"}),
        (("naive",), {"naive"}),
        (("class_trees", "naive"), {"class_trees", "naive"}),
        (("gaussian",), {"gaussian"}),
    ],
)
def test_some_parts(parts: Any, keys: set[str]) -> None:
    X, y = table()
    model = tb.BayesClassifier(members=2, parts=parts).fit(X, y)
    assert set(model.weights_) == keys
    sound(model, X)
    assert set(from_bytes(to_bytes(model)).weights_) == keys
    if "networks" not in parts:
        for ask in (lambda: model.score_samples(X), lambda: model.sample(3)):
            with pytest.raises(OptionError, match="without networks"):
                ask()


# --- rare values ---------------------------------------------------------------------------------------------------


def with_a_rare_value(k: int, seed: int, n: int = 2000) -> tuple[Any, Any]:
    """19 columns that tell nothing, and one whose value 'rare' comes k times, always with class 1."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    noise = {f"n{j}": rng.normal(size=n) if j % 2 else rng.choice(list("abcd"), n) for j in range(19)}
    value = rng.choice(list("uvw"), n).astype(object)
    value[rng.choice(np.flatnonzero(y == 1), k, replace=False)] = "rare"
    return pd.DataFrame({**noise, "value": value}), y


@pytest.mark.parametrize(
    ("k", "tables", "effort"), [(1, 8, "balanced"), (3, 4, "balanced"), (7, 4, "balanced"), (7, 8, "fast")]
)
def test_a_rare_value_is_modest_and_never_points_the_other_way(k: int, tables: int, effort: str) -> None:
    for seed in range(tables):
        X, y = with_a_rare_value(k, seed)
        model = tb.BayesClassifier(effort).fit(X, y)
        others = X[X["value"] != "rare"][:200]  # the learned row itself is more than its rare value
        plain, rare = (model.predict_joint_log_proba(others.assign(value=v)) for v in ("u", "rare"))
        says = (rare - plain) @ [-1, 1]
        assert np.median(says) > -0.1
        assert says.max() < np.log(20 * (k + 1))


@pytest.mark.parametrize("k", [20, 130])
def test_a_value_of_one_class_is_modest_beside_numbers(k: int) -> None:
    """The Gaussian part has covariances of its own for each class here."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({f"n{j}": rng.normal(size=2000) for j in range(19)})
    y = rng.integers(0, 2, 2000)
    value = rng.choice(["a", "b", "c"], 2000).astype(object)
    value[np.flatnonzero(y == 1)[:k]] = "rare"
    model = tb.BayesClassifier().fit(X.assign(value=value), y)
    plain, rare = (model.predict_joint_log_proba(X[:200].assign(value=v)) for v in ("a", "rare"))
    says = np.median((rare - plain) @ [-1, 1])
    assert 0 < says < np.log(20 * (k + 1))


def test_only_naive_bayes_has_weights_below_0(fitted: Any) -> None:
    weights = fitted[0].predictor_.fitted.terms[0].params.weights
    for part in fitted[0]._ensemble().components:
        if part.name != "naive":
            assert (weights[part.first : part.first + part.size] >= 0).all()


def test_rows_of_the_first_network_have_a_density() -> None:
    """Over all rows there can be, p sums to 1, though each estimate of a chain is only near a probability."""
    X, y = colors(60, 3)
    X[:2, 0] = "rare"
    model = tb.BayesClassifier(members=2).fit(X, y)
    every = np.array([[a, b, c] for a in {*X[:, 0]} for b in {*X[:, 1]} for c in {*X[:, 2]}], dtype=object)
    assert np.exp(model.score_samples(every)).sum() == pytest.approx(1.0, abs=1e-5)


# --- steady answers ------------------------------------------------------------------------------------------------


def calls(n: int = 1500) -> tuple[Any, Any]:
    """Numbers, of which 'cost' is all but a multiple of 'minutes'."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 5)), columns=["minutes", "age", "visits", "size", "noise"])
    X["cost"] = 0.17 * X["minutes"] + 1e-4 * rng.normal(size=n)
    score = 1.5 * X["minutes"] + 2 * (X["age"] > 0.5) * (X["visits"] > 0) - 1 + 0.5 * X["size"] ** 2
    return X, (rng.random(n) < 1 / (1 + np.exp(-2 * score))).astype(int)


@pytest.mark.parametrize(("rows", "most"), [(19_999, 12), (20_000, 40)])
def test_more_rows_for_each_class_have_more_bins(rows: int, most: int) -> None:
    one = np.zeros(1, bool)
    columns = layout.CountedColumns(
        np.array([[rows / 2], [rows / 2]]), np.ones(1, np.int64), one, one, np.full(2, rows / 2), (np.arange(1),), one
    )
    known = layout.Information(np.ones(1), np.zeros(1, np.int64), np.zeros((1, 1)))
    draft = layout.Draft(columns, EFFORTS["balanced"], known, 0, np.zeros(1, np.int32))
    assert networks._bins(draft) == (5, most)


def test_redundant_columns_share_their_weight() -> None:
    X, y = calls()
    model = tb.BayesClassifier().fit(X[:1000], y[:1000])
    for name in ("networks", "uniform_networks", "naive"):
        assert model.weights_[name]["minutes"] == model.weights_[name]["cost"]
    assert len(set(model._ensemble().column_group)) == 5
    says = model.explain(X[1000:]).values[:, [0, 5], 1]
    opposed = (says.prod(axis=1) < 0) & (np.abs(says).min(axis=1) > 0.1)
    assert opposed.mean() < 0.01


def test_redundant_numbers_are_found_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(12, 40))
    x[7:] = x[[2, 0, 2, 5, 2]] + 0.01 * rng.normal(size=(5, 40))
    codes, d = np.argsort(np.argsort(x)).astype(np.uint8), np.ones(12, np.int64)
    numeric = np.arange(12) != 5
    counts = (np.ones((1, 12)), d, numeric, ~numeric, np.ones(1), (np.arange(1),) * 12, ~numeric)
    columns = layout.CountedColumns(*counts)
    expected = [0, 1, 2, 3, 4, 5, 6, 2, 0, 2, 7, 2]  # column 10 is like column 5, which is no number
    assert layout.redundant_groups(columns, codes).tolist() == expected
    monkeypatch.setattr(layout, "COMPARED_CELLS", 30)
    assert layout.redundant_groups(columns, codes).tolist() == expected


def test_thousands_of_numbers_are_not_compared_in_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    X = sparse.random(200, layout.MAX_COMPARED + 1, density=0.01, format="csr", random_state=0)
    monkeypatch.setattr(layout, "COMPARED_CELLS", None)  # would be divided
    model = tb.BayesClassifier("fast", parts=("naive",)).fit(X, np.arange(200) % 2)
    assert len(set(model._ensemble().column_group)) == layout.MAX_GROUPS
    assert np.isfinite(model.predict_proba(X[:3])).all()


def test_other_draws_give_nearly_the_same_answers_for_the_same_reasons() -> None:
    X, y = calls(3000)
    X = X.drop(columns="cost")  # of twins either may be said
    parts = ("networks", "naive", "class_trees", "gaussian", "boosting")
    models = [tb.BayesClassifier("best", parts=parts, random_state=s).fit(X[:2000], y[:2000]) for s in (0, 1)]
    a, b = (model.predict_proba(X[2000:])[:, 1] for model in models)
    assert 0 < np.abs(a - b).mean() < 0.01
    assert np.abs(a - b).max() < 0.15
    first, second = (model.explain(X[2000:]).values[:, : X.shape[1], 1].argmax(axis=1) for model in models)
    assert (first == second).mean() > 0.9


@pytest.mark.parametrize("effort", ["fast", "balanced", "best"])
def test_nothing_is_drawn(effort: str) -> None:
    X, y = calls(600)
    a, b = (tb.BayesClassifier(effort, random_state=s).fit(X, y) for s in (0, 1))
    assert same_statistics(a._ensemble(), b._ensemble())
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))


def test_class_trees_are_there_where_they_are_asked_for() -> None:
    X, y = calls(600)
    assert "class trees" not in tb.BayesClassifier(members=2).fit(X, y).summary()
    assert "8 class trees" in tb.BayesClassifier(members=2, parts=("networks", "class_trees")).fit(X, y).summary()
    assert "120 class trees" in tb.BayesClassifier("best", members=2).fit(X[:400], y[:400]).summary()


def test_the_estimated_log_loss_is_that_of_new_rows() -> None:
    X, y = calls(4000)
    model = tb.BayesClassifier().fit(X[:1000], y[:1000])
    p = model.predictor_.fitted.terms[0].params
    assert p.loss == pytest.approx(log_loss(model, X[1000:], y[1000:]), rel=0.1)
    said = f"log-loss {p.loss:.4f} ± {p.loss_error:.4f}, estimated for new rows"
    assert said in model.summary()
    assert "with the choices" in tb.BayesClassifier("fast").fit(X[:1000], y[:1000]).summary()


def test_the_estimated_log_loss_of_few_rows_is_that_of_new_ones() -> None:
    """With the weights of their own they would seem to be answered without a mistake."""
    X, y = calls(4000)
    each = []
    for i in range(0, 640, 80):
        model = tb.BayesClassifier().fit(X[i : i + 80], y[i : i + 80])
        each.append((model.predictor_.fitted.terms[0].params.loss, log_loss(model, X[1000:], y[1000:])))
    reported, true = np.mean(each, axis=0)
    assert reported == pytest.approx(true, rel=0.25)


def test_the_standard_error_of_the_estimated_log_loss() -> None:
    """The losses that models of tables of the same kind tell lie about so far apart; weight 2 counts twice."""
    losses, w = np.array([0.1, 0.4, 2.0, 0.3]), np.array([1.0, 2.0, 1.0, 0.0])
    mean = (0.1 + 0.8 + 2.0) / 4
    error = np.sqrt((0.1 - mean) ** 2 + 4 * (0.4 - mean) ** 2 + (2.0 - mean) ** 2) / 4
    assert mean_loss(losses, w) == pytest.approx((mean, error))
    X, y = calls(4000)
    each = [
        tb.BayesClassifier().fit(X[i : i + 400], y[i : i + 400]).predictor_.fitted.terms[0].params
        for i in range(0, 4000, 400)
    ]
    spread = np.std([p.loss for p in each], ddof=1)
    assert 0.5 * spread < np.mean([p.loss_error for p in each]) < 2 * spread


# --- categories with many levels -----------------------------------------------------------------------------------


def towns(levels: int, zipf: bool, n: int = 6000) -> tuple[Any, Any]:
    """A category with many levels, each with its own share of class 1; and a number that tells nothing."""
    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, levels + 1) if zipf else np.ones(levels)
    z = rng.choice(levels, n, p=share / share.sum())
    y = (rng.random(n) < 1 / (1 + np.exp(-2 * rng.normal(size=levels)[z]))).astype(int)
    return pd.DataFrame({"town": pd.Series(z).map("t{}".format), "amount": rng.normal(size=n)}), y


def log_loss(model: Any, X: Any, y: Any) -> float:
    return -float(model.predict_log_proba(X)[np.arange(len(y)), y].mean())


@pytest.mark.parametrize("effort", ["fast", "balanced"])
@pytest.mark.parametrize(("levels", "zipf"), [(100, False), (100, True), (1000, False), (1000, True), (4000, True)])
@pytest.mark.filterwarnings("ignore::tallybayes.errors.UnseenCategoryWarning")
def test_every_level_counts(levels: int, zipf: bool, effort: str) -> None:
    X, y = towns(levels, zipf)
    train, test = slice(0, 4500), slice(4500, None)
    model, naive = (m.fit(X[train], y[train]) for m in (tb.BayesClassifier(effort, members=8), tb.NaiveBayes()))
    assert log_loss(model, X[test], y[test]) <= 1.01 * log_loss(naive, X[test], y[test])
    assert set(model.weights_["target_encoding"]) == {"town"}
    assert "target_encoding of town" in model.summary()
    found = model.explain(X[test][:5])
    joint = model.predict_joint_log_proba(X[test][:5])
    np.testing.assert_allclose((found.values.sum(axis=1) + found.prior)[:, 1], joint @ [-1, 1], atol=1e-9)


@pytest.mark.parametrize("effort", ["fast", "balanced"])
def test_levels_that_come_later_count_from_then_on(effort: str) -> None:
    X, y = towns(40, False, 2000)
    model = tb.BayesClassifier(effort, members=4).fit(X, y)
    new = pd.DataFrame({"town": ["new"] * 40, "amount": np.linspace(-2, 2, 40)})
    with pytest.warns(tb.errors.UnseenCategoryWarning):
        before = model.predict_proba(new)[:, 1].mean()
    model.partial_fit(new, np.ones(40, int))
    after = model.predict_proba(new)[:, 1].mean()
    assert after > 0.9 > before
    np.testing.assert_array_equal(from_bytes(to_bytes(model)).predict_proba(new), model.predict_proba(new))
    model.forget(new, np.ones(40, int))
    np.testing.assert_allclose(
        model.predict_proba(X[:50]), tb.BayesClassifier(effort, members=4).fit(X, y).predict_proba(X[:50]), atol=1e-9
    )


def test_the_terms_of_levels() -> None:
    """The formula of target_encoding.py by level; leave-one-out is that of counts without the row; r is the best."""
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, 4, 60), rng.integers(0, 15, 60)]).astype(np.uint8)
    codes[1, ::9] = 255
    y, w = rng.integers(0, 3, 60).astype(np.int32), rng.choice([0.5, 1.0, 2.0], 60)
    unit, prior, at = np.minimum(w, 1.0), np.array([0.5, 0.3, 0.2]), np.array([1], np.int32)

    def counted(weight: Any) -> LevelStatistics:
        single = np.zeros((3, 20))
        for j, first in ((0, 0), (1, 4)):
            here = codes[j] < 16
            np.add.at(single, (y[here], first + codes[j][here].astype(int)), weight[here])
        return LevelStatistics(single, np.array([4, 16]))

    s, losses = counted(w), []
    for r in target_encoding.PSEUDO_COUNTS:
        terms = target_encoding.encode(s, at, np.array([r]), prior)
        (left,) = target_encoding.leave_one_out(terms, s, codes, y, unit)
        for i in range(60):
            n = s.single[:, 4 + codes[1, i]] if codes[1, i] < 16 else np.zeros(3)
            want = np.log((n + r * prior) / ((n.sum() + r) * prior))
            np.testing.assert_allclose(terms.by_column(codes[:, i : i + 1])[0][0], want, atol=1e-12)
            less = counted(np.where(np.arange(60) == i, w - unit, w))
            np.testing.assert_allclose(
                left[i],
                target_encoding.encode(less, at, np.array([r]), prior).by_column(codes[:, i : i + 1])[0][0],
                atol=1e-12,
            )
        losses.append(-(w * (left + np.log(prior))[np.arange(60), y])[codes[1] < 16].sum())
    (chosen,) = target_encoding.choose(s, at, codes, y, unit, w, prior).pseudo_counts
    assert chosen == target_encoding.PSEUDO_COUNTS[int(np.argmin(losses))]


@pytest.mark.filterwarnings("ignore")
def test_class_trees_are_made_of_columns_that_are_not_ignored() -> None:
    rng = np.random.default_rng(0)
    y = rng.choice(["u", "v"], 300)
    ids = pd.DataFrame({"id": [f"number {i}" for i in range(300)]})
    more = pd.DataFrame({"a": rng.normal(size=300) + (y == "u"), "c": rng.choice(["p", "q", None], 300)})
    more.loc[::5, "a"] = np.nan
    make = partial(tb.BayesClassifier, parts=("networks", "class_trees"), members=2)
    alone, beside = make().fit(more, y), make(schema={"id": "categorical"}).fit(pd.concat([ids, more], axis=1), y)
    assert (beside.fitted_.terms[0].distribution.child < 0).any()  # it has class trees
    term = beside.fitted_.terms[0]
    parents = term.distribution.binning_column[term.distribution.parent]
    assert 0 not in [term.columns[j] for j in parents]
    assert beside.score(pd.concat([ids, more], axis=1), y) == pytest.approx(alone.score(more, y), abs=0.1)
    none = make(schema={"id": "categorical"}).fit(ids, y)
    assert (none.fitted_.terms[0].distribution.child >= 0).all()
    np.testing.assert_allclose(none.predict_proba(ids), [np.bincount(y == "v") / 300] * 300, atol=0.01)


def test_without_weights_none_are_reported() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(2, size=60)
    plain, weighted = (tb.BayesClassifier(weighting=w, members=2).fit(X, y).summary() for w in ("none", "features"))
    assert re.search(r"concentrations of back-off\.\n", plain)
    assert re.search(r"concentrations of back-off, \d+ stacking weights", weighted)


def test_a_value_of_its_own_in_every_row_is_ignored_and_reported_once() -> None:
    X, y = colors(300)
    X = pd.DataFrame(X).add_prefix("x")
    wide = X.assign(id=[f"r{i}" for i in range(300)])
    with pytest.warns(tb.errors.IdentifierColumnWarning, match="'id'") as said:
        model = tb.BayesClassifier(members=4).fit(wide, y)
    assert len([w for w in said if w.category is tb.errors.IdentifierColumnWarning]) == 1
    ensemble = model._ensemble()
    assert not (ensemble.binning_column == 5).any()  # no memory
    sound(model, wide)
    other = wide.assign(id=wide["id"].to_numpy()[::-1])
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(wide))
    with pytest.raises(TableError, match="a distinct value in every column"):
        tb.BayesClassifier(members=2).fit(wide[["id"]], y)
    assert "id" not in model.sample(5, random_state=0)[0]


# --- it is what simpler models are ---------------------------------------------------------------------------------


@pytest.mark.parametrize("parents", [0, 1, 2])
def test_one_network_is_a_bayes_network(parents: int) -> None:
    """Bit for bit, column by column; networks add the columns up in another order."""
    X, y = colors()
    model = tb.BayesClassifier(parents=parents, **PLAIN).fit(X, y)
    drawn = parents_of(model)
    assert any(drawn.values()) == (parents > 0)
    other = tb.BayesNetwork({c: p for c, p in drawn.items() if p}, smoothing="laplace", priors="uniform").fit(X, y)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), other.predict_joint_log_proba(X), rtol=1e-14)
    ensemble, p, q = model._ensemble(), model.predictor_.fitted.terms[0].params, other.predictor_.fitted.terms[0].params
    planes = _core.ChainOutputs(5, np.arange(5, dtype=np.int32), p.chain_weights)
    each = ensemble.chains.terms(p.logs, packed_codes(model, X), planes)
    each = [each[model.fitted_.terms[0].columns.index(j)] for j in range(5)]
    total = 0.0
    for i, j in enumerate(q.child.tolist()):  # parents first
        total = total + each[j]
        if not parents:
            block = q.logs[q.offsets[i] : q.offsets[i + 1]]
            np.testing.assert_array_equal(each[j], block[packed_codes(other, X)[j]])
    if parents:
        np.testing.assert_array_equal(total + model.predictor_.fitted.prior, other.predict_joint_log_proba(X))
    else:
        for naive in (tb.CategoricalNB(class_prior=[1 / 3] * 3), tb.NaiveBayes(priors="uniform")):
            np.testing.assert_allclose(
                model.predict_joint_log_proba(X), naive.fit(X, y).predict_joint_log_proba(X), rtol=1e-14
            )


def parents_of(model: Any) -> dict[str, list[str]]:
    e = model._ensemble()
    names = [model.schema_.name(j) for j in model.fitted_.terms[0].columns]
    out = {}
    for i, binning in enumerate(e.child.tolist()):
        own = e.parent[e.parent_start[i] : e.parent_start[i + 1]]
        out[names[e.binning_column[binning]]] = [names[j] for j in e.binning_column[own]]
    return out


@pytest.mark.parametrize("other", [tb.TAN(smoothing="laplace"), tb.KDB(2, smoothing="laplace", select=False)])
def test_the_chains_of_a_learned_network(other: Any) -> None:
    """Binnings that join nothing, and the families of a TAN or KDB as chains: the same scores, bit for bit."""
    X, y = colors()
    other = other.fit(X, y)
    network, p = other.fitted_.terms[0].distribution, other.predictor_.fitted.terms[0].params
    d, sizes = len(p.sizes), p.sizes
    families = network.families(d)
    ensemble = Ensemble(
        smoothing="laplace", alpha=1.0, columns=d,
        binning_column=np.arange(d, dtype=np.int32), binning_start=np.cumsum([0, *(sizes + 1)]).astype(np.int64),
        binning_map=np.concatenate([[*range(n), 255] for n in sizes]).astype(np.uint8),
        binning_bins=sizes.astype(np.int32),
        child=families.child, parent=families.parent, parent_start=families.start,
        chain_feature=families.child, chain_share=np.ones(d), column_group=np.arange(d, dtype=np.int32),
        parts=(tuple(Component("networks", 0, d, 1.0)),), weighting="none",
    )  # fmt: skip
    codes = packed_codes(other, X)
    labels = np.unique(y, return_inverse=True)[1].astype(np.int32)
    counts, moments = ensemble.no_counts(3, False)
    ensemble.count(codes, labels, None, counts, moments)
    known = {"N": p.N, "exist": p.exist, "log": p.log, "class_weight": p.class_weight}
    params = EnsembleParams(
        single=p.single, sizes=sizes, **known, concentrations=np.empty(0), logs=ensemble.chains.laplace(counts, 1.0),
        regularisation=None, gaussian=None, target_encoding=None, neighbors=None, boosting=None, weights=np.ones(d),
        biases=np.zeros(3), chain_weights=np.ones(d), ridge=0.0, steps=0, loss=0.0, loss_error=0.0, validation_rows=0,
    )  # fmt: skip
    found = ensemble.scores(codes, params)
    prior = other.predictor_.fitted.prior
    np.testing.assert_array_equal(prior + found, other.predict_joint_log_proba(X))


def test_one_network_alone(fitted: Any) -> None:
    model, X, _ = fitted
    alone = model.network(2)
    assert alone._ensemble().networks == 1
    sound(alone, X)
    np.testing.assert_array_equal(alone.predict_joint_log_proba(X), model.network(2).predict_joint_log_proba(X))
    # learning with one network alone is learning with all, and taking it alone
    more, labels = table(seed=5)
    a, b = alone.copy().partial_fit(more, labels), model.copy().partial_fit(more, labels).network(2)
    np.testing.assert_array_equal(a.fitted_.terms[0].statistics.chains, b.fitted_.terms[0].statistics.chains)
    np.testing.assert_array_equal(a.predict_joint_log_proba(X), b.predict_joint_log_proba(X))
    np.testing.assert_array_equal(
        from_bytes(to_bytes(alone)).predict_joint_log_proba(X), alone.predict_joint_log_proba(X)
    )
    # the density of the whole is that of the first
    np.testing.assert_allclose(model.score_samples(X), model.network(0).score_samples(X), atol=1e-5)
    for i in (-1, 4, "a", None, 1.0):
        with pytest.raises(OptionError, match="4 networks, from 0 to 3"):
            model.network(i)
    with pytest.raises(AttributeError, match=r"use network\(i\).graph_"):
        _ = model.graph_


# --- the Gaussian part ---------------------------------------------------------------------------------------------


def normal_table(n: int = 40, K: int = 3, d: int = 3, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % K).astype(np.int32)
    z = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + y[:, None]
    return z, y, rng.choice([0.25, 0.5, 1.0, 3.0], n)


def log_density(of: gaussian_copula.Discriminant, z: Any) -> Any:
    away = np.einsum("kij,nkj->nki", of.root, z[:, None] - of.mean)
    return of.constant - gaussian_copula.tails((away**2).sum(axis=2), z.shape[1], of.freedom)


@pytest.mark.parametrize("choice", gaussian_copula.COVARIANCE_GRID)
def test_left_out_of_the_gaussian_part_is_fitting_without_the_row(choice: Any) -> None:
    z, y, w = normal_table()
    s = gaussian_copula.statistics(z, y, w, 3)
    unit = np.minimum(w, 1.0)
    for found, nu in zip(
        gaussian_copula.leave_one_out(s, z, y, unit, *choice, gaussian_copula.DEGREES_OF_FREEDOM) or [],
        gaussian_copula.DEGREES_OF_FREEDOM,
        strict=True,
    ):
        whole = gaussian_copula.discriminant(s, *choice, nu)
        assert whole is not None
        for r in range(0, len(z), 3):
            less = gaussian_copula.statistics(z, y, np.where(np.arange(len(z)) == r, w - unit, w), 3)
            slow = gaussian_copula.with_fixed_hyperparameters(less, whole, gaussian_copula.Regularisation(*choice, nu))
            assert slow is not None
            np.testing.assert_allclose(found[r], log_density(slow, z[[r]])[0], rtol=1e-8, atol=1e-8)


def test_gaussian_sums_add_and_are_taken_away() -> None:
    z, y, w = normal_table()
    y[:5] = 2  # the classes have other shares in the halves
    a, b = (gaussian_copula.statistics(z[half], y[half], w[half], 3) for half in (slice(0, 13), slice(13, None)))
    both = gaussian_copula.statistics(z, y, w, 3)
    for found, want in ((gaussian_copula.add(a, b), both), (gaussian_copula.add(both, b, -1), a)):
        for key in ("n", "mean", "scatter"):
            np.testing.assert_allclose(getattr(found, key), getattr(want, key), atol=1e-11)
    gone = gaussian_copula.add(both, both, -1)
    assert not gone.n.any()
    assert not gone.mean.any()
    assert not gone.scatter.any()


@pytest.mark.parametrize("nu", gaussian_copula.DEGREES_OF_FREEDOM)
def test_what_each_column_adds_to_the_gaussian_part(nu: float) -> None:
    line = gaussian_copula.NormalScores(
        np.array([0, 0, 2], np.int32), np.array([0, 4, 8, 11], np.int64), np.random.default_rng(1).normal(size=11)
    )
    codes = np.random.default_rng(2).integers(0, 4, size=(3, 50)).astype(np.uint8)
    z, y = line.read(codes), (np.arange(50) % 2).astype(np.int32)
    normals = gaussian_copula.discriminant(gaussian_copula.statistics(z, y, None, 2), 0.5, 0.1, nu)
    assert normals is not None
    each, constant = normals.by_column(line, codes, 3)
    np.testing.assert_allclose(each.sum(axis=1) + constant, log_density(normals, z), atol=1e-10)
    assert not each[:, 1].any()


# --- row sample -----------------------------------------------------------------------------------------------------

LABELS = (("a", "b", "c"), (0, 1, 2, 3), ("x", "y"))


def sample_of(codes: Any, y: Any, w: Any = None) -> Any:
    sizes = np.array([3, 4, 2])
    known: Any = [tb.data.schema.Levels(own) for own in LABELS]
    tokens = positions(len(sizes)).of_levels(known, sizes)
    return row_sample.deduplicated(row_sample.candidates(codes, sizes, tokens, y, w))


def same_sample(a: Any, b: Any) -> None:
    for key in ("codes", "label", "weight", "key"):
        np.testing.assert_allclose(getattr(a, key), getattr(b, key), rtol=1e-12)


rows = st.lists(
    st.tuples(st.sampled_from([0, 1, 2, 255]), st.integers(0, 3), st.sampled_from([0, 1, 255]), st.integers(0, 2)),
    min_size=1,
    max_size=40,
)


@settings(max_examples=examples(60), deadline=None)
@given(rows, st.integers(0, 40), st.integers(0, 100), st.sampled_from([3, 7, 8000]))
def test_row_samples_add_up(found: Any, cut: int, seed: int, keep: int) -> None:
    array = np.array(found)
    codes, y = np.ascontiguousarray(array[:, :3].T.astype(np.uint8)), array[:, 3].astype(np.int32)
    rng = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_sample, "capacity", lambda _: keep)
        whole = sample_of(codes, y)
        row_sample.check(whole, np.array([3, 4, 2]), 3)
        order = rng.permutation(len(y))
        same_sample(sample_of(codes[:, order], y[order]), whole)
        a, b = sample_of(codes[:, :cut], y[:cut]), sample_of(codes[:, cut:], y[cut:])
        same_sample(row_sample.combined(a, b), whole)
        same_sample(row_sample.combined(b, a), whole)
        same_sample(sample_of(codes, y, np.full(len(y), 2.0)), sample_of(np.tile(codes, 2), np.tile(y, 2)))
        if len(np.unique(np.column_stack([codes.T, y]), axis=0)) <= keep:
            same_sample(row_sample.combined(whole, b, -1), a)
            assert whole.weight.sum() == len(y)
        for factor in (1e-12, 1e12):
            scaled = sample_of(codes, y, np.full(len(y), factor))
            np.testing.assert_array_equal(scaled.codes, whole.codes)


@settings(max_examples=examples(40), deadline=None)
@given(rows, st.permutations([0, 1, 2]))
def test_renumbered_levels_keep_their_hashes(found: Any, order: list[int]) -> None:
    array = np.array(found)
    codes, y = np.ascontiguousarray(array[:, :3].T.astype(np.uint8)), array[:, 3].astype(np.int32)
    sizes = np.array([5, 4, 2])  # two more labels came, and the first three have other numbers
    to = np.array(order)
    labels = ["?", "?", "?", "d", "e"]
    for old, new in enumerate(order):
        labels[new] = "abc"[old]
    known: Any = [tb.data.schema.Levels(tuple(own)) for own in (labels, *LABELS[1:])]
    moved = codes.copy()
    moved[0] = np.where(codes[0] == 255, 255, to[np.minimum(codes[0], 2)])
    tokens = positions(len(sizes)).of_levels(known, sizes)
    again = row_sample.deduplicated(row_sample.candidates(moved, sizes, tokens, y, None))
    same_sample(again, row_sample.with_levels(sample_of(codes, y), sizes, [to, None, None]))


def test_more_rows_than_are_kept(monkeypatch: Any) -> None:
    monkeypatch.setattr(row_sample, "capacity", lambda _: 50)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 2)), rng.integers(0, 2, 400)
    X[:, 0] += 2 * y
    model = tb.BayesClassifier(members=2, parts=PARTS).fit(X, y)
    assert model.fitted_.terms[0].statistics.sample_codes.shape[1] == 50
    assert model.score(X, y) > 0.7
    model.forget(X[:300], y[:300])
    sound(model, X)
    sound(from_bytes(to_bytes(model)), X)


# --- answers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("smoothing", ["backoff", "laplace"])
def test_explanations_sum_to_the_answer(smoothing: str) -> None:
    X, y = table()
    model = tb.BayesClassifier(members=3, parts=PARTS, smoothing=smoothing).fit(X, y)
    joint = model.predict_joint_log_proba(X)
    predictor = model.predictor_
    terms = predictor.terms(predictor.read(X))
    np.testing.assert_allclose(terms.sum(axis=1) + predictor.fitted.prior, joint, atol=1e-9)
    for row in (X.iloc[[0]], X.iloc[[7]]):
        assert "length" in str(model.explain(row))


def test_parts_of_the_rows_learned_apart_and_merged(fitted: Any) -> None:
    model, X, y = fitted
    start = model.empty()
    with pytest.raises(NotFittedError):
        start.predict(X)
    assert same_statistics(start._ensemble(), model._ensemble())
    whole = start.copy().partial_fit(X, y)
    left, right = start.copy().partial_fit(X[:40], y[:40]), start.copy().partial_fit(X[40:], y[40:])
    merged = left.merge(right)
    for key, value in arrays_of(merged.fitted_.terms[0].statistics).items():
        np.testing.assert_allclose(value, getattr(whole.fitted_.terms[0].statistics, key), atol=1e-10, err_msg=key)
        np.testing.assert_allclose(value, getattr(model.fitted_.terms[0].statistics, key), atol=1e-10, err_msg=key)
    np.testing.assert_allclose(merged.predict_proba(X), model.predict_proba(X), atol=1e-4)
    for other in (whole, merged):
        np.testing.assert_array_equal(from_bytes(to_bytes(other)).predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("effort", ["fast", "balanced"])
def test_files_and_pickles_keep_every_bit(effort: str) -> None:
    X, y = table()
    model = tb.BayesClassifier(effort, members=3).fit(X, y)
    more, labels = table(seed=9)
    for counterpart in (from_bytes(to_bytes(model)), pickle.loads(pickle.dumps(model)), model.copy()):
        np.testing.assert_array_equal(counterpart.predict_joint_log_proba(X), model.predict_joint_log_proba(X))
        assert counterpart.summary() == model.summary()
        assert to_bytes(counterpart) == to_bytes(model)
        np.testing.assert_array_equal(
            counterpart.partial_fit(more, labels).predict_proba(X),
            model.copy().partial_fit(more, labels).predict_proba(X),
        )


def test_random_state() -> None:
    X, y = table()
    a, b, c = (tb.BayesClassifier(members=3, parts=PARTS, random_state=s).fit(X, y) for s in (0, 0, 1))
    assert to_bytes(a) == to_bytes(b)
    assert not same_statistics(a._ensemble(), c._ensemble())
    sound(tb.BayesClassifier(members=2, random_state=np.random.RandomState(0)).fit(X, y), X)
    sound(tb.BayesClassifier(members=2, random_state=None).fit(X, y), X)


def bits() -> str:
    """Everything about a model, as hexadecimal digits."""
    import hashlib

    X, y = table(n=150)
    model = tb.BayesClassifier(members=4, parts=PARTS).fit(X, y)
    return hashlib.blake2b(to_bytes(model) + model.predict_joint_log_proba(X).tobytes()).hexdigest()


def test_any_number_of_threads_gives_the_same_bits() -> None:
    run = "from tests.ensemble.test_bayes_classifier import bits; print(bits())"
    found = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", run], env={**os.environ, "OMP_NUM_THREADS": n}, check=True,
            capture_output=True, text=True,
        ).stdout
        for n in ("1", "2")
    }  # fmt: skip
    assert len(found) == 1


# --- what was asked for --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"effort": "slow"}, {"effort": None}, {"members": 0}, {"members": 1001}, {"members": 2.0}, {"members": True},
        {"parents": -1}, {"parents": 9}, {"parts": ()}, {"parts": "networks"}, {"parts": ("trees",)}, {"parts": 3},
        {"weighting": "all"}, {"smoothing": "none"}, {"alpha": -1.0}, {"alpha": np.nan}, {"unseen": "other"},
        {"random_state": -1}, {"random_state": "a"}, {"random_state": 2**32}, {"priors": [0.5, 0.6, 0.7]},
    ],
    ids=str,
)  # fmt: skip
def test_options_that_are_none(options: Any) -> None:
    X, y = table(30)
    with pytest.raises(TallybayesError):
        tb.BayesClassifier(**options).fit(X, y)


@pytest.mark.parametrize("parts", [("gaussian",), ("class_trees",), ("class_trees", "gaussian")])
def test_parts_that_find_nothing(parts: Any) -> None:
    with pytest.raises(OptionError, match="None of the components suits this table"):
        tb.BayesClassifier(parts=parts).fit(np.ones((30, 2)), np.arange(30) % 2)


# --- tables that break others --------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
REAL, THREE = RNG.normal(size=(60, 4)), np.arange(60) % 3


def holes(*where: Any) -> Any:
    X = REAL.copy()
    X[where] = np.nan
    return X


TABLES: dict[str, tuple[Any, Any, Any]] = {
    "one class": (REAL, np.zeros(60), None),
    "two rows": (REAL[:2], [0, 1], None),
    "one row": (REAL[:1], ["only"], None),
    "one column": (REAL[:, :1], THREE, None),
    "a constant column": (np.column_stack([REAL, np.ones(60)]), THREE, None),
    "constant columns": (np.ones((60, 2)), THREE, None),
    "a missing column": (holes(slice(None), 1), THREE, None),
    "missing columns": (np.full((60, 2), np.nan), THREE, None),
    "a missing row": (holes(3), THREE, None),
    "equal rows": (np.tile(REAL[:1], (60, 1)), THREE, None),
    "two kinds of rows": (np.repeat(REAL[:2], 30, axis=0), np.repeat([0, 1], 30), None),
    "rows that weigh little": (REAL, THREE, np.full(60, 1e-6)),
    "rows that weigh nearly nothing": (REAL, THREE, np.full(60, 1e-300)),
    "rows that weigh much": (REAL, THREE, np.full(60, 1e6)),
    "rows that weigh more than floats can": (REAL, THREE, np.full(60, 1e45)),
    "rows of all weights": (REAL, THREE, 10.0 ** RNG.integers(-9, 9, 60)),
    "a class without weight": (REAL, THREE, (THREE > 0).astype(float)),
    "huge numbers": (REAL * 1e300, THREE, None),
    "tiny numbers": (REAL * 1e-310, THREE, None),
    "far numbers": (REAL + 1e15, THREE, None),
    "sparse": (sparse.csr_matrix(np.where(REAL > 0.5, REAL, 0.0)), THREE, None),
    "truths": (REAL > 0, THREE > 0, None),
    "labels that are words": (REAL, np.array(["x", "y", "ü"])[THREE], None),
    "one row of a class": (REAL, (np.arange(60) == 7).astype(int), None),
    "a class per row": (REAL, np.arange(60), None),
    "a thousand levels": (RNG.integers(0, 1000, size=(800, 1)).astype(str).astype(object), np.arange(800) % 3, None),
}


@pytest.mark.parametrize("effort", ["fast", "balanced"])
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_any_table_has_an_answer(name: str, effort: str) -> None:
    X, y, w = TABLES[name]
    model = tb.BayesClassifier(effort, members=3).fit(X, y, sample_weight=w)
    sound(model, X)
    assert np.isfinite(model.score_samples(X)).all()
    assert model.summary()
    np.testing.assert_array_equal(from_bytes(to_bytes(model)).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("weighting", ["features", "temperature", "none"])
@pytest.mark.parametrize("alpha", [0.0, 1e-300, 1e300])
def test_any_alpha_has_an_answer(weighting: str, alpha: float) -> None:
    X, y = table()
    sound(tb.BayesClassifier(members=3, smoothing="laplace", alpha=alpha, weighting=weighting).fit(X, y), X)


def test_weights_only_matter_by_their_shares_where_rows_are_many() -> None:
    X, y = table(gaps=False)
    a, b = (
        tb.BayesClassifier(members=2).fit(X, y, sample_weight=np.full(90, w)).predict_proba(X) for w in (1e30, 1e45)
    )
    np.testing.assert_allclose(a, b, atol=0.02)


def test_infinities_are_refused() -> None:
    X = REAL.copy()
    X[4, 1] = np.inf
    with pytest.raises(TableError, match="infinity"):
        tb.BayesClassifier().fit(X, THREE)
    model = tb.BayesClassifier("fast").fit(REAL, THREE)
    with pytest.raises(TableError, match="infinity"):
        model.predict(X)


def test_unseen_categories() -> None:
    X = pd.DataFrame({"a": list("abc") * 20, "b": list("de") * 30})
    new = pd.DataFrame({"a": ["z", "a"], "b": ["d", "?"]})
    model = tb.BayesClassifier(members=3).fit(X, THREE)
    with pytest.warns(tb.errors.UnseenCategoryWarning):
        sound(model, new)
    with pytest.raises(TallybayesError, match=r"'z'|not seen"):
        tb.BayesClassifier(members=3, unseen="error").fit(X, THREE).predict(new)


@pytest.mark.filterwarnings("ignore")
def test_what_comes_later() -> None:
    """Classes, categories and missing values that were not there when the networks were drawn."""
    X, y = table(gaps=False)
    model = tb.BayesClassifier(members=3).fit(X, y)
    more = X.astype(object)
    more["color"] = ["new", "newer", None] * 30
    more.loc[::2, "length"] = np.nan
    more.loc[5] = None
    more = more.astype({"length": float, "visits": float, "alive": "boolean"})
    model.partial_fit(more, y)
    sound(model, more)
    model.partial_fit(more, np.full(90, "z"))
    assert model.classes_.tolist() == ["a", "b", "c", "z"]
    sound(model, more)
    assert model.predict(more).tolist().count("z") > 45
    np.testing.assert_array_equal(from_bytes(to_bytes(model)).predict_proba(more), model.predict_proba(more))
    model.forget(more, np.full(90, "z")).forget(more, y)
    np.testing.assert_array_equal(
        model.fitted_.terms[0].statistics.chains[:, :3],
        tb.BayesClassifier(members=3).fit(X, y).fitted_.terms[0].statistics.chains,
    )
    sound(model, more)
    model.forget(X, y)
    with pytest.raises(NotFittedError, match="forgotten every row"):
        model.predict(X)
    sound(model.partial_fit(X, y), X)


@pytest.mark.filterwarnings("ignore")
def test_forgetting_a_class_and_all_but_a_row() -> None:
    model = tb.BayesClassifier(members=3).fit(REAL, THREE)
    model.forget(REAL[THREE == 1], THREE[THREE == 1])
    assert model.classes_.tolist() == [0, 2]
    sound(model, REAL)
    keep = np.flatnonzero(THREE != 1)
    model.forget(REAL[keep[1:]], THREE[keep[1:]])
    sound(model, REAL)
    with pytest.raises(TallybayesError):
        model.forget(REAL, THREE)
    sound(model, REAL)


@pytest.mark.filterwarnings("ignore")
def test_many_classes_and_wide_tables_take_seconds() -> None:
    """Small enough to be quick, large enough that anything that grows with columns or classes squared shows."""
    import time

    start = time.process_time()
    rng = np.random.default_rng(0)
    sound(tb.BayesClassifier("fast").fit(rng.normal(size=(600, 6)), np.arange(600) % 300), rng.normal(size=(9, 6)))
    sound(tb.BayesClassifier("fast").fit(rng.normal(size=(40, 1500)), np.arange(40) % 2), rng.normal(size=(9, 1500)))
    assert time.process_time() - start < 15


# --- files made with care ------------------------------------------------------------------------------------------


def edited(model: Any, key: str, value: Any) -> Any:
    """A file of the model in whose ensemble one array, or one of its tally, is another."""
    counterpart, fitted = model.copy(), model.fitted_
    (term,) = fitted.terms
    with pytest.MonkeyPatch.context() as patch:
        if key in arrays_of(term.statistics):
            term = replace(term, statistics=changed(term.statistics, {key: value}))
        else:
            term = replace(term, distribution=replace(term.distribution, **{key: value}))
        counterpart._set_fitted(replace(fitted, terms=(term,)))
        patch.setattr("tallybayes.io.model_document.from_document", lambda *_: None)  # save would refuse it
        return to_bytes(counterpart)


@pytest.mark.filterwarnings("ignore")
def test_every_array_altered_is_a_model_or_an_error() -> None:
    model = tb.BayesClassifier(members=2, parts=PARTS).fit(*table(24))
    ensemble, s = model._ensemble(), arrays_of(model.fitted_.terms[0].statistics)
    arrays = {k: v for k, v in {**vars(ensemble), **s}.items() if isinstance(v, np.ndarray)}
    found = {"refused": 0, "loaded": 0}
    assert len(arrays) > 20
    for key, a in arrays.items():
        changes = [a[:-1], a[..., :0], a.astype(np.float32), np.append(a.ravel(), a.ravel()[:1]), a[None]]
        for at in (0, -1):
            for value in (-1, 1, 2**31 - 1) if a.dtype.kind in "iu" else (np.nan, -1.0, 1e300):
                b = a.copy()
                if b.size:
                    b.flat[at] = np.array(value).astype(b.dtype)
                changes.append(b)
        for b in changes:
            found[exercise(edited(model, key, b))] += 1
    assert found["refused"] > 100
    assert found["loaded"] > 20


@pytest.mark.parametrize(
    ("key", "change", "message"),
    [
        ("columns", lambda d: d + 1, "other columns"),
        ("weighting", lambda _: "much", "weighting"),
        ("parts", lambda p: p[::-1], "not known ones"),
        ("parts", lambda p: p[1:], "do not follow|no meta-feature|Gaussian"),
        ("parts", lambda p: ((*p[0][:3], 2.0), *p[1:]), "no share"),
        ("parent", lambda a: np.roll(a, 3), "no network|another network|own ancestor"),
        ("child", lambda a: a[::-1].copy(), "in turn|no network"),
        ("chain_feature", lambda a: a + np.int32(1), "no meta-feature"),
        ("chain_share", lambda a: a * 2e9, "shares"),
        ("score_value", lambda a: a * 1e9, "too large"),
        ("gaussian_scatter", lambda a: a + 1e200, "moments"),
        ("gaussian_mean", lambda a: a + 1e9, "moments"),
        ("sample_weight", lambda a: a * 1e300, "too large"),
        ("chains", lambda a: a * 1e300, "'chains'"),
        ("chains", lambda a: a.astype(np.int64), "'chains'"),
    ],
)
def test_files_that_are_almost_right(fitted: Any, key: str, change: Any, message: str) -> None:
    model = fitted[0]
    held = {**vars(model._ensemble()), **arrays_of(model.fitted_.terms[0].statistics)}
    with pytest.raises(ModelFileError, match=message):
        from_bytes(edited(model, key, change(held[key])))


@pytest.mark.filterwarnings("ignore")
def test_files_changed_anywhere() -> None:
    X, y = table(30)
    source = mutants(to_bytes(tb.BayesClassifier(members=2, parts=PARTS).fit(X, y)), np.random.default_rng(1))
    found = {"refused": 0, "loaded": 0}
    for _ in range(50):
        found[exercise(next(source))] += 1
    assert min(found.values()) > 0


def test_words_of_other_lengths() -> None:
    """Rows drawn along the first network are rows of the table."""
    rng = np.random.default_rng(4)
    X, y = words(rng, 60), np.arange(60) % 2
    model = tb.BayesClassifier(members=2, parts=PARTS).fit(X, y)
    drawn, labels = model.sample(50, random_state=0)
    assert set(np.asarray(drawn).ravel()) <= set(X.ravel())
    assert set(labels) <= {0, 1}


@pytest.mark.parametrize("memory", ["sample", "sums"])
def test_many_classes_have_a_temperature_for_each_component(memory: str) -> None:
    """Stacking takes time cubic in the classes, so beyond MAX_STACKED_CLASSES it is left out."""
    K = layout.MAX_STACKED_CLASSES + 20
    y = np.arange(2 * K) % K
    X = np.column_stack([y % 40, y // 40]) + np.random.default_rng(0).normal(0, 0.05, (2 * K, 2))
    model = tb.BayesClassifier(members=4, memory=memory).fit(X, y)
    (ensemble,) = (t.distribution for t in model.fitted_.terms)
    assert (ensemble.weighting, ensemble.boosting) == ("temperature", 0)
    assert model.score(X, y) > 0.9
    assert model.partial_fit(X[:1], y[:1]).class_count_[0] == 3
