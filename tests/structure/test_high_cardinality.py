"""Columns that stand apart in a network: too many levels for tables that rows could fill."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from tallybayes import AODE, KDB, SPODE, TAN, AnDE, BayesNetwork, NaiveBayes, load, merge_all, save
from tallybayes.errors import MergeError, OptionError
from tallybayes.export import to_json
from tallybayes.structure.high_cardinality import MANY, apart, stands_apart

NETWORKS = [AODE, AnDE, TAN, SPODE, lambda **more: KDB(select=False, **more), KDB]
SMALL = ["a", "b", "c"]


def table(n: int = 900, levels: int = 400, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """Three columns of few levels, two of which belong together, and one of many that tells something."""
    rng = np.random.default_rng(seed)
    a, c = rng.integers(0, 3, n), rng.integers(0, 4, n)
    b = np.where(rng.random(n) < 0.7, a, rng.integers(0, 3, n))
    wide = np.concatenate([np.arange(levels), rng.integers(0, levels, n - levels)])
    y = (a + b + (wide % 3 == 0) + rng.integers(0, 2, n) > 2).astype(int)
    names = {"a": a, "wide": wide, "b": b, "c": c}
    return pd.DataFrame({k: pd.Series(v).map((k + "{}").format) for k, v in names.items()}), y


def by_counting(X: Any, y: Any, asked: Any) -> Any:
    """(rows, 2): log P(wide | class) with Laplace's smoothing, 0 for what is missing or unseen."""
    known = set(X["wide"].dropna())
    out = np.zeros((len(asked), 2))
    for i, v in enumerate(asked["wide"]):
        for k in (0, 1):
            here = X["wide"][(y == k) & X["wide"].notna()]
            out[i, k] = np.log(((here == v).sum() + 1) / (len(here) + len(known))) if v in known else 0.0
    return out


def apart_of(model: Any) -> list[str]:
    return [model.schema_.name(j) for j in apart(model.schema_)]


@pytest.mark.parametrize("make", NETWORKS)
def test_one_that_is_not_fitted_cannot_be_merged(make: Any) -> None:
    fitted = make().fit([{"a": "u"}, {"a": "v"}], [0, 1])
    for one, two in ((fitted, make()), (make(), fitted)):
        with pytest.raises(NotFittedError):
            one.merge(two)


def test_the_rule() -> None:
    assert stands_apart([MANY, MANY, MANY], 1, 2) == [False] * 3
    assert stands_apart([257, 3], 257 * 3, 2) == [False, False]
    assert stands_apart([257, 3], 257 * 3 - 1, 2) == [True, False]
    assert stands_apart([300, 300, 4], 300 * 4, 2) == [True, True, False]  # alike: neither before the other
    assert stands_apart([300, 1000, 10], 4000, 2) == [False, True, False]
    assert stands_apart([300, 10, 3], 4000, 3) == [True, False, False]  # 300 · 10 · 3
    assert stands_apart([300, 10, 3], 9000, 3) == [False, False, False]
    assert stands_apart([5000], 5000, 4) == [False]
    rng = np.random.default_rng(0)
    for _ in range(50):  # a column of more levels stands apart too
        levels = rng.integers(1, 2000, 6).tolist()
        found = stands_apart(levels, float(rng.integers(1, 10**6)), int(rng.integers(2, 5)))
        assert all(found[i] for i in range(6) for j in range(6) if found[j] and levels[i] >= levels[j])


@pytest.mark.parametrize("make", NETWORKS[:-1])
@pytest.mark.parametrize("smoothing", ["backoff", "laplace"])
def test_it_is_the_network_of_the_others_and_a_naive_factor(make: Any, smoothing: str) -> None:
    X, y = table()
    X.loc[3:9, "wide"] = None
    asked, _ = table(60, 50, seed=1)
    asked.loc[5, "wide"], asked.loc[6, "wide"], asked.loc[7, "a"] = None, "unseen value", None
    model = make(smoothing=smoothing).fit(X, y)
    assert apart_of(model) == ["wide"]
    assert "by itself" in str(model.schema_)
    others = make(smoothing=smoothing).fit(X[SMALL], y)
    with pytest.warns(UserWarning, match="wide"):
        found = model.predict_joint_log_proba(asked)
    expected = others.predict_joint_log_proba(asked[SMALL]) + by_counting(X, y, asked)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    with pytest.raises(ValueError, match="wide"):
        make(smoothing=smoothing, unseen="error").fit(X, y).predict(asked)


@pytest.mark.parametrize("make", NETWORKS)
def test_learning_is_adding(make: Any) -> None:
    X, y = table()
    more, z = table(300, 200, seed=2)
    more["wide"] = "new " + more["wide"]
    whole = make().fit(X, y)
    both = make().fit(X, y).partial_fit(more, z)
    part = whole.empty().partial_fit(more, z)
    for other in (make().fit(X, y).merge(part), part.copy().merge(whole)):
        np.testing.assert_array_equal(other.predict_proba(X), both.predict_proba(X))
        np.testing.assert_array_equal(other.predict_proba(more), both.predict_proba(more))
    np.testing.assert_allclose(both.forget(more, z).predict_proba(X), whole.predict_proba(X), rtol=1e-12)
    double = make().fit(X, y, sample_weight=np.full(len(y), 2.0))
    again = make().fit(pd.concat([X, X]), np.concatenate([y, y]))
    np.testing.assert_allclose(double.predict_proba(X), again.predict_proba(X), rtol=1e-9)
    weighed = make().fit(pd.concat([X, more]), np.concatenate([y, z]), np.repeat([1.0, 0.0], [len(y), len(z)]))
    np.testing.assert_allclose(weighed.predict_proba(X), whole.predict_proba(X), rtol=1e-12)
    turned = make().fit(X[::-1], y[::-1])
    np.testing.assert_allclose(turned.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    assert apart_of(turned) == apart_of(weighed) == apart_of(both) == ["wide"]


def test_models_that_settled_differently_do_not_merge_and_advise_what_to_do() -> None:
    X, y = table()
    few, z = table(300, 200, seed=2)
    first, second = AODE().fit(X, y), AODE().fit(few, z)
    assert apart_of(second) == []
    with pytest.raises(MergeError, match=r"wide.*schema=first\.schema_"):
        first.copy().merge(second)
    with pytest.raises(MergeError, match="wide"):
        second.copy().merge(first)
    other = AODE(schema=first.schema_).fit(few, z)
    assert apart_of(other) == ["wide"]
    both = AODE().fit(X, y).partial_fit(few, z)
    np.testing.assert_array_equal(first.copy().merge(other).predict_proba(X), both.predict_proba(X))
    kept = AODE(schema=second.schema_).fit(X, y)  # a schema that is given settles it
    assert apart_of(kept) == []
    assert apart_of(second.copy().merge(kept)) == []


@pytest.mark.parametrize("make", NETWORKS)
def test_where_all_stand_apart_it_is_naive_bayes(make: Any) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({k: pd.Series(rng.permutation(900) % 450).map((k + "{}").format) for k in "pqr"})
    y = rng.integers(0, 2, 900)
    model, naive = make().fit(X, y), NaiveBayes().fit(X, y)
    assert apart_of(model) == ["p", "q", "r"]
    np.testing.assert_array_equal(model.predict_proba(X), naive.predict_proba(X))
    np.testing.assert_array_equal(
        model.copy().merge(model).predict_proba(X), naive.copy().merge(naive).predict_proba(X)
    )
    assert model.sample(5, random_state=0)[0].shape == (5, 3)
    if isinstance(model, TAN | SPODE | KDB):
        assert model.graph_.edges == ()
        assert list(model.graph_.columns) == ["p", "q", "r"]
    if isinstance(model, KDB):
        assert model.k_ == 0
        assert sorted(model.selected_) == ["p", "q", "r"]


@pytest.mark.parametrize("make", NETWORKS)
def test_reasons_add_up_to_the_log_odds(make: Any) -> None:
    X, y = table()
    model = make().fit(X, y)
    found, joint = model.explain(X[:20]), model.predict_joint_log_proba(X[:20])
    total = found.log_prior + found.log_likelihood.sum(axis=1)
    np.testing.assert_allclose(total, joint, rtol=1e-11)
    odds = found.prior + found.values.sum(axis=1)
    np.testing.assert_allclose(odds[:, 1], joint[:, 1] - joint[:, 0], atol=1e-10)
    alone = found.log_likelihood[:, found.names.index("wide")]
    np.testing.assert_allclose(alone[:, 1] - alone[:, 0], np.diff(by_counting(X, y, X[:20]))[:, 0], atol=1e-9)


@pytest.mark.parametrize("make", NETWORKS)
def test_it_is_saved_and_left_out_and_drawn(make: Any) -> None:
    X, y = table()
    model = make(tempered=True).fit(X, y)
    file = io.BytesIO()
    save(model, file)
    file.seek(0)
    again = load(file)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    again.partial_fit(X, y)
    assert apart_of(again) == ["wide"]
    drawn, _ = model.sample(50, random_state=0)
    assert set(drawn["wide"]) <= set(X["wide"])


def test_what_the_graphs_contain() -> None:
    X, y = table()
    for make in (TAN, SPODE, KDB):
        graph = make().fit(X, y).graph_
        assert sorted(graph.columns) == ["a", "b", "c", "wide"]
        assert graph.parents["wide"] == ()
        assert all("wide" not in edge[:2] for edge in graph.edges)
    assert "wide" in KDB().fit(X, y).selected_
    assert TAN().fit(X, y).relearn().root_ in SMALL
    assert SPODE().fit(X, y).relearn(X, y).superparent_ in SMALL
    with pytest.raises(OptionError, match="root 'wide'"):
        TAN(root="wide").fit(X, y)
    with pytest.raises(OptionError, match="superparent 'wide'"):
        SPODE("wide").fit(X[["wide"]].assign(other=X["wide"]), y)
    graph = BayesNetwork("a -> wide").fit(X, y).graph_  # what is named is counted
    assert graph.parents["wide"] == ("a",)


def test_other_tables_in_which_it_stands_apart() -> None:
    X, y = table()
    codes = X.apply(lambda c: pd.factorize(c)[0])
    expected = AODE().fit(X, y).predict_proba(X)
    for form in (codes.to_numpy(), codes.to_numpy().astype(float), X.astype("category")):
        model = AODE(schema="categorical").fit(form, y)
        assert apart(model.schema_) == (1,)
        np.testing.assert_allclose(model.predict_proba(form), expected, rtol=1e-9)
    listed = X.assign(a=pd.Categorical(X["a"], [f"a{i}" for i in range(5000)]))  # levels that are only listed count
    assert apart_of(AODE().fit(listed, y)) == ["a", "wide"]
    numbers = X.assign(x=np.arange(len(y)) / 7.0)
    for cuts in ("mdl", None):
        model = AODE(cuts=cuts).fit(numbers, y)
        assert apart_of(model) == ["wide"]
        assert np.isfinite(model.predict_proba(numbers)).all()


def test_rows_that_fill_its_tables_keep_it_in_the_network() -> None:
    X, y = table(2000)
    assert apart_of(AODE().fit(X, y)) == []  # 400 · 4 cells
    assert apart_of(AnDE().fit(X, y)) == ["wide"]  # 400 · 4 · 3


@pytest.mark.parametrize("make", [TAN, AODE])
def test_one_row_and_other_programs_read_it_too(make: Any) -> None:
    X, y = table()
    model = make().fit(X, y)
    found, row = model.predict_proba(X[:1])[0], X.iloc[0].to_dict()
    np.testing.assert_allclose(list(model.predict_proba_one(row).values()), found, rtol=1e-12)
    assert len(json.loads(to_json(model))["terms"]) == 2


def test_a_plan_keeps_it_for_all_parts() -> None:
    X, y = table()
    whole = AODE().fit(X, y)
    plan = AODE().plan(X.assign(y=y), "y")
    assert apart_of(plan) == ["wide"]
    parts = [plan.copy().partial_fit(X[:450], y[:450]), plan.copy().partial_fit(X[450:], y[450:])]
    np.testing.assert_allclose(merge_all(parts).predict_proba(X), whole.predict_proba(X), rtol=1e-12)
