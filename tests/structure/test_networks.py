"""SPODE, TAN, KDB, AODE, AnDE and graphs of one's own, against plain counting."""

from __future__ import annotations

import itertools
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from tallybayes.datasets import load_census, load_watermelon
from tallybayes.errors import ForgetError, LabelError, MergeError, OptionError, TableError, UnseenCategoryWarning
from tests import network_oracle as oracle

NOMINAL = ["workclass", "education", "marital-status", "relationship", "race", "sex"]


def watermelons() -> tuple[list[list[Any]], list[str]]:
    rows, y = load_watermelon()
    columns = list(rows[0])[:6]
    return [[r[c] for c in columns] for r in rows], y


def census(n: int = 300) -> tuple[list[list[Any]], list[str]]:
    rows, y = load_census()
    return [[r[c] for c in NOMINAL] for r in rows[:n]], y[:n]


def random_table(seed: int, n: int = 40, d: int = 4, missing: float = 0.0) -> tuple[list[list[Any]], list[str]]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(n, d)).astype(object)
    X[:, 1] = (X[:, 0] + (rng.random(n) < 0.3)) % 3
    X = np.array(["a", "b", "c"], dtype=object)[X.astype(int)]
    X[rng.random((n, d)) < missing] = None
    y = np.array(["no", "yes"])[rng.permutation(n) % 2]
    return X.tolist(), y.tolist()


def array(rows: Any) -> Any:
    return np.array(rows, dtype=object)


def parents_of(model: Any) -> Any:
    return model.fitted_.terms[0].distribution.parents


def strengths_of(model: Any) -> dict[int, list[float]]:
    """{column: the strength of each of its parents}"""
    p = model.predictor_.fitted.terms[0].params
    start, a = p.parent_start, p.strengths
    return {int(j): a[start[f] : start[f + 1]].tolist() for f, j in enumerate(p.child)}


def agrees(model: Any, rows: Any, y: Any, asked: Any, strengths: Any = None) -> None:
    parents = parents_of(model)
    want = [[oracle.joint(rows, y, x, c, parents, model.alpha, strengths) for c in model.classes_] for x in asked]
    np.testing.assert_allclose(model.predict_joint_log_proba(array(asked)), want, rtol=1e-10, atol=1e-10)


# --- each estimator is its formula ---------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [watermelons, census])
@pytest.mark.parametrize(
    "make",
    [
        lambda **k: tb.SPODE(**k),
        lambda **k: tb.SPODE("x2", **k),
        lambda **k: tb.TAN(**k),
        lambda **k: tb.KDB(2, select=False, **k),
        lambda **k: tb.BayesNetwork("x0 -> x1, x0 -> x2, x1 -> x2, x3 -> x2", **k),
    ],
)
def test_networks_are_their_formula(make: Any, table: Any) -> None:
    rows, y = table()
    model = make(smoothing="laplace", alpha=0.7).fit(array(rows), y)
    agrees(model, rows, y, rows[:12])
    model = make().fit(array(rows), y)
    agrees(model, rows, y, rows[:12], strengths_of(model))


@pytest.mark.parametrize("table", [watermelons, census])
@pytest.mark.parametrize("min_count", [1, 30])
@pytest.mark.parametrize("n", [1, 2])
def test_averaged_networks_are_their_formula(n: int, min_count: float, table: Any) -> None:
    rows, y = table()
    model = tb.AnDE(n, smoothing="laplace", min_count=min_count).fit(array(rows), y)
    classes = model.classes_
    asked = rows[:8]
    want = [[oracle.averaged(rows, y, x, c, n, 1.0, min_count, classes) for c in classes] for x in asked]
    got = model.predict_joint_log_proba(array(asked))
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)
    if n == 1:
        aode = tb.AODE(smoothing="laplace", min_count=min_count).fit(array(rows), y)
        np.testing.assert_array_equal(aode.predict_joint_log_proba(array(asked)), got)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=10)
def test_missing_values_are_summed_out(seed: int) -> None:
    rows, y = random_table(seed, missing=0.2)
    graph = "x0 -> x1, x0 -> x2, x1 -> x2, x2 -> x3"
    model = tb.BayesNetwork(graph, smoothing="laplace").fit(array(rows), y)
    agrees(model, rows, y, rows[:15])
    model = tb.BayesNetwork(graph).fit(array(rows), y)
    agrees(model, rows, y, rows[:15], strengths_of(model))
    nothing = np.full((1, 4), None, dtype=object)
    np.testing.assert_allclose(model.score_samples(nothing), 0.0, atol=1e-12)


def test_probabilities_of_all_rows_sum_to_one() -> None:
    rows, y = random_table(1)
    every = array(list(itertools.product("abc", repeat=4)))
    for model in (tb.TAN(), tb.SPODE(), tb.KDB(2), tb.AODE(), tb.BayesNetwork("x0 -> x3")):
        total = np.exp(model.fit(array(rows), y).score_samples(every)).sum()
        assert total == pytest.approx(1.0, abs=1e-12), model


def test_no_parents_is_naive_bayes_bit_for_bit() -> None:
    rows, y = census()
    for smoothing in ("laplace", "backoff"):
        for model in (tb.BayesNetwork(smoothing=smoothing), tb.KDB(0, select=False, smoothing=smoothing)):
            got = model.fit(array(rows), y).predict_proba(array(rows))
            np.testing.assert_array_equal(got, tb.NaiveBayes().fit(array(rows), y).predict_proba(array(rows)))


def test_xor_needs_a_pair() -> None:
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10)
    y = X[:, 0] ^ X[:, 1]
    assert tb.NaiveBayes(schema="categorical").fit(X, y).score(X, y) == 0.5
    for model in (tb.AODE("categorical"), tb.TAN(schema="categorical"), tb.SPODE(schema="categorical")):
        assert model.fit(X, y).score(X, y) == 1.0


def test_back_off_is_stronger_where_cells_are_empty() -> None:
    rng = np.random.default_rng(0)
    related = rng.integers(0, 4, 4000)
    X = np.column_stack([related, (related + (rng.random(4000) < 0.1)) % 4, rng.integers(0, 4, 4000)])
    y = rng.integers(0, 2, 4000)
    model = tb.BayesNetwork("x0 -> x1, x0 -> x2", schema="categorical").fit(X, y)
    a = strengths_of(model)
    assert a[1][0] <= 16  # what depends is kept
    assert a[2][0] >= 256  # what does not is not


# --- structure ------------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10_000))
@settings(max_examples=10)
def test_tan_is_a_maximum_spanning_tree(seed: int) -> None:
    rows, y = random_table(seed, n=60, d=5, missing=0.1)
    model = tb.TAN().fit(array(rows), y)
    g = nx.Graph()
    for i, j in itertools.combinations(range(5), 2):
        g.add_edge(i, j, weight=oracle.conditional_information(rows, y, i, j))
    best = nx.maximum_spanning_tree(g).size(weight="weight")
    edges = model.graph_.edges
    assert len(edges) == 4
    assert sum(e["mutual_information"] for _, _, e in edges) == pytest.approx(best, abs=1e-10)
    assert nx.is_arborescence(nx.DiGraph(edges))
    assert model.root_ == next(c for c in model.graph_.columns if not model.graph_.parents[c])


def test_tan_root_and_superparent_can_be_given() -> None:
    rows, y = random_table(0)
    assert tb.TAN("x3").fit(array(rows), y).root_ == "x3"
    spode = tb.SPODE("x1").fit(array(rows), y)
    assert spode.superparent_ == "x1"
    assert {p for own in spode.graph_.parents.values() for p in own} == {"x1"}
    with pytest.raises(OptionError, match="no column 'weight'"):
        tb.TAN("weight").fit(array(rows), y)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=8)
def test_superparent_has_the_smallest_leave_one_out_loss(seed: int) -> None:
    rows, y = random_table(seed, n=24, d=3)
    model = tb.SPODE(smoothing="laplace").fit(array(rows), y)
    losses = []
    for p in range(3):
        parents = [() if j == p else (p,) for j in range(3)]
        losses.append(sum(_leave_one_out_loss(rows, y, i, parents) for i in range(len(y))))
    assert losses[int(model.superparent_[1:])] == pytest.approx(min(losses), rel=1e-9)


def _leave_one_out_loss(rows: Any, y: Any, i: int, parents: Any, columns: Any = None) -> float:
    """−log P(y_i | x_i) by the counts without row i; the levels stay."""
    rest, labels = rows[:i] + rows[i + 1 :], y[:i] + y[i + 1 :]
    p = {}
    for c in sorted(set(y)):
        p[c] = labels.count(c) / len(labels)
        for j in range(len(parents)) if columns is None else columns:
            given = {k: rows[i][k] for k in parents[j]}
            N = len(oracle.levels(rows, j))
            n = oracle.count(rest, labels, c, {**given, j: rows[i][j]})
            p[c] *= (n + 1) / (oracle.present(rest, labels, c, given, j) + N)
    return float(-np.log(p[y[i]] / sum(p.values())))


@given(seed=st.integers(0, 10_000))
@settings(max_examples=8)
def test_selective_kdb_has_the_smallest_leave_one_out_loss(seed: int) -> None:
    rows, y = random_table(seed, n=24, d=4)
    full = tb.KDB(2, select=False, smoothing="laplace").fit(array(rows), y)
    chosen = tb.KDB(2, smoothing="laplace").fit(array(rows), y)
    order = [int(c[1:]) for c in full.selected_]
    loss = {(0, 0): sum(-np.log((y.count(k) - 1) / (len(y) - 1)) for k in y)}
    for k, m in itertools.product(range(3), range(1, 5)):
        parents = [own[:k] for own in parents_of(full)]
        loss[k, m] = sum(_leave_one_out_loss(rows, y, i, parents, order[:m]) for i in range(len(y)))
    used = (chosen.k_, len(chosen.selected_))
    k_asked = next(k for k in range(3) if all(own == parents_of(full)[j][:k] for j, own in enumerate(parents_of(chosen))
                                              if f"x{j}" in chosen.selected_))  # fmt: skip
    got = loss[k_asked if used[1] else 0, used[1]]
    assert got == pytest.approx(min(loss.values()), rel=1e-9)


def test_a_column_that_is_not_selected_is_uninformative() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(300, 6))
    y = X[:, 2] > 1
    model = tb.KDB(2, schema="categorical").fit(X, y)
    assert model.selected_ == ["x2"]
    other = X.copy()
    other[:, [0, 1, 3, 4, 5]] = rng.integers(0, 5, size=(300, 5))
    np.testing.assert_allclose(model.predict_proba(other), model.predict_proba(X), rtol=1e-12)
    assert np.isfinite(model.score_samples(X)).all()


def test_relearn_chooses_again_from_the_counts() -> None:
    rows, y = random_table(3, n=200, d=5)
    for make in (tb.TAN, lambda: tb.SPODE("x2"), lambda: tb.KDB(1, select=False)):
        whole = make().fit(array(rows), y)
        stream = make().fit(array(rows[:30]), y[:30])
        first = parents_of(stream)
        stream.partial_fit(array(rows[30:]), y[30:])
        assert parents_of(stream) == first
        stream.relearn()
        assert parents_of(stream) == parents_of(whole)
        np.testing.assert_allclose(stream.predict_proba(array(rows)), whole.predict_proba(array(rows)), rtol=1e-12)
    auto = tb.SPODE().fit(array(rows[:30]), y[:30]).partial_fit(array(rows[30:]), y[30:])
    assert auto.relearn(array(rows), y).superparent_ == tb.SPODE().fit(array(rows), y).superparent_
    auto.relearn()
    assert auto.superparent_ in [f"x{j}" for j in range(5)]
    with pytest.raises(OptionError, match="relearn\\(X, y\\)"):
        tb.KDB(1).fit(array(rows), y).relearn()


def test_a_graph_can_be_given_in_several_ways() -> None:
    rows, y = random_table(4)
    text = tb.BayesNetwork("x0 -> x1 -> x2; x0 -> x2\nx3->x2").fit(array(rows), y)
    by_dict = tb.BayesNetwork({"x1": "x0", "x2": ["x1", "x0", "x3"]}).fit(array(rows), y)
    by_graph = tb.BayesNetwork(nx.DiGraph(text.graph_.edges)).fit(array(rows), y)
    pairs = tb.BayesNetwork([("x0", "x1"), ("x1", "x2"), ("x0", "x2"), ("x3", "x2")]).fit(array(rows), y)
    for other in (by_dict, pairs):
        np.testing.assert_array_equal(other.predict_proba(array(rows)), text.predict_proba(array(rows)))
    assert {k: set(v) for k, v in by_graph.graph_.parents.items()} == {
        k: set(v) for k, v in text.graph_.parents.items()
    }
    assert set(text.graph_.to_networkx().successors("class")) == {"x0", "x1", "x2", "x3"}
    assert '"x0" -> "x1"' in text.graph_.dot()
    assert "x1 | class, x0 (" in str(text.graph_)


def test_a_column_called_class_is_not_the_class() -> None:
    graph = tb.TAN().fit([{"class": "p", "b": "q"}, {"class": "q", "b": "p"}], ["u", "v"]).graph_
    assert set(graph.to_networkx().successors("class_")) == {"class", "b"}
    assert '"class_" -> "class"' in graph.dot()
    assert '"class" -> "class"' not in graph.dot()


@pytest.mark.parametrize(
    ("graph", "says"),
    [
        ("x0 -> x1, x1 -> x2, x2 -> x0", "cycle: x0 -> x1 -> x2 -> x0|cycle: x1 -> x2 -> x0 -> x1|cycle: x2"),
        ("x0 -> x0", "its own parent"),
        ("x0 -> age", "no column 'age'"),
        ("x0 x1", "Cannot read 'x0 x1'"),
        ({"x0": [1, "nobody"]}, "no column 'nobody'"),
        (7, "graph must be a dict"),
    ],
)
def test_a_bad_graph_is_a_clear_error(graph: Any, says: str) -> None:
    rows, y = random_table(0)
    model = tb.BayesNetwork().fit(array(rows), y)
    before = model.predict_proba(array(rows))
    with pytest.raises(OptionError, match=says):
        model.set_params(graph=graph).fit(array(rows), y)
    np.testing.assert_array_equal(model.set_params(graph=None).predict_proba(array(rows)), before)


def test_models_that_count_other_combinations_do_not_merge() -> None:
    rows, y = random_table(0)
    a, b = (tb.BayesNetwork(g).fit(array(rows), y) for g in ("x0 -> x1", "x1 -> x2"))
    with pytest.raises(MergeError, match="different combinations"):
        a.merge(b)
    c, d = tb.AnDE(1).fit(array(rows), y), tb.AnDE(2).fit(array(rows), y)
    with pytest.raises(MergeError):
        c.merge(d)
    with pytest.raises(OptionError, match="Fit again"):
        d.set_params(n=1).partial_fit(array(rows), y)


# --- asking ---------------------------------------------------------------------------------------------------------


def test_an_unseen_level_is_as_if_missing() -> None:
    rows, y = random_table(2)
    for model in (tb.TAN(), tb.AODE(), tb.KDB(1, select=False)):
        model.fit(array(rows), y)
        new, none = array([["a", "z", "b", "c"]]), array([["a", None, "b", "c"]])
        with pytest.warns(UnseenCategoryWarning, match="x1"):
            got = model.predict_proba(new)
        np.testing.assert_array_equal(got, model.predict_proba(none))
        with pytest.raises(TableError, match="x1"):
            model.set_params(unseen="error").predict(new)


def test_memory_is_asked_for_first() -> None:
    X = np.random.default_rng(0).integers(0, 60, size=(200, 120))
    y = np.arange(200) % 3
    with pytest.raises(OptionError, match=r"needs .* GB; at most .*one parent less needs"):
        tb.AnDE(2, "categorical").fit(X, y)
    with pytest.raises(OptionError, match="cells in each of 3 classes"):
        tb.BayesNetwork({"x0": [f"x{j}" for j in range(1, 7)]}, schema="categorical").fit(X, y)


def test_a_value_seen_once_has_no_strength_without_laplace() -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 4, size=(600, 2))
    X[:, 1] = np.where(rng.random(600) < 0.9, X[:, 0], X[:, 1])
    y = rng.integers(0, 2, 600)
    kept: dict[str, Any] = {"root": "x0", "schema": "categorical", "alpha": 0.0}
    rare = np.vstack([X, [0, 9]]), np.append(y, 1)
    found = [tb.TAN(**kept).fit(*rows).predictor_.fitted.terms[0].params.strengths for rows in ((X, y), rare)]
    assert found[0].tolist() == found[1].tolist()
    assert found[0].max() < 100


def test_too_many_missing_parents_is_a_clear_error() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 140, size=(800, 4)), rng.integers(0, 2, size=(800, 4))]).astype(float)
    ring = "x0 -> x4, x1 -> x4, x1 -> x5, x2 -> x5, x2 -> x6, x3 -> x6, x3 -> x7, x0 -> x7"
    model = tb.BayesNetwork(ring, schema="categorical").fit(X, np.arange(800) % 2)
    X[7, :4] = np.nan
    with pytest.raises(TableError, match="Row 7 misses"):
        model.predict(X)
    cut = tb.BayesNetwork(ring, cuts="frequency", bins=250).fit(rng.normal(size=X.shape), np.arange(800) % 2)
    with pytest.raises(TableError, match="Row 2 misses"):  # few rows of a matrix, and one row
        cut.predict(X[5:10])
    with pytest.raises(TableError, match="Row 0 misses"):
        cut.predict_proba_one({"x4": 1.0, "x5": 1.0, "x6": 1.0, "x7": 1.0})


def test_samples_follow_the_network() -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, 3000)
    X = np.column_stack([first, (first + (rng.random(3000) < 0.2)) % 3, rng.integers(0, 2, 3000)])
    y = (first == 1).astype(int)
    for model in (tb.TAN(schema="categorical"), tb.AODE("categorical"), tb.KDB(2, schema="categorical")):
        drawn, labels = model.fit(X, y).sample(20_000, random_state=0)
        assert abs(labels.mean() - y.mean()) < 0.02
        for i, j in itertools.combinations(range(3), 2):
            want = np.histogram2d(X[:, i], X[:, j], bins=3)[0] / len(X)
            got = np.histogram2d(drawn[:, i], drawn[:, j], bins=3)[0] / len(drawn)
            assert np.abs(want - got).max() < (0.03 if not isinstance(model, tb.AODE) else 0.06)


def test_subsumption_leaves_out_what_follows() -> None:
    rng = np.random.default_rng(0)
    pregnant = rng.random(2000) < 0.3
    female = pregnant | (rng.random(2000) < 0.4)
    other = rng.integers(0, 3, 2000)
    X = np.column_stack([female, pregnant, other]).astype(int)
    y = (pregnant ^ (rng.random(2000) < 0.2)).astype(int)
    plain = tb.AODE("categorical").fit(X, y)
    resolved = tb.AODE("categorical", subsumption=True).fit(X, y)
    row = np.array([[1.0, 1.0, 2.0]])
    hidden = np.array([[np.nan, 1.0, 2.0]])
    np.testing.assert_array_equal(resolved.predict_proba(row), plain.predict_proba(hidden))
    free = np.array([[1.0, 0.0, 2.0]])  # not pregnant: nothing follows
    np.testing.assert_array_equal(resolved.predict_proba(free), plain.predict_proba(free))


def test_information_weights_favour_informative_parents() -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, size=(2000, 4))
    y = X[:, 0] ^ (rng.random(2000) < 0.1)
    plain, weighted = (
        tb.AODE("categorical", weighting=w, smoothing="laplace").fit(X, y) for w in (None, "information")
    )
    single = tb.SPODE("x0", schema="categorical", smoothing="laplace").fit(X, y)
    far = np.abs(plain.predict_proba(X) - single.predict_proba(X)).mean()
    near = np.abs(weighted.predict_proba(X) - single.predict_proba(X)).mean()
    assert near < far


# --- several outputs ------------------------------------------------------------------------------------------------


def test_several_outputs_are_one_network() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, 300), rng.integers(0, 3, 300)
    X = np.column_stack([(a + (rng.random(300) < 0.2)) % 2, (b + (rng.random(300) < 0.3)) % 3, (a + b) % 2])
    Y = {"first": a, "second": np.array(["u", "v", "w"])[b]}
    graph = "first -> x0, second -> x1, first -> second, x0 -> x2"
    model = tb.BayesNetwork(graph, ["first", "second"], "categorical", smoothing="laplace").fit(X, Y)
    joint = model.predict_joint_proba(X[:5])
    assert joint.shape == (5, 2, 3)
    rows = X.tolist()
    for r in range(5):
        want = np.zeros((2, 3))
        for i, j in itertools.product(range(2), range(3)):
            p = (np.sum(a == i) + 1) / (300 + 2) * (np.sum((a == i) & (b == j)) + 1) / (np.sum(a == i) + 3)
            p *= oracle.laplace(rows, a, i, 0, X[r, 0], {}, 1.0)
            p *= oracle.laplace(rows, b, j, 1, X[r, 1], {}, 1.0)
            both = (a * 3 + b).tolist()
            p *= oracle.laplace(rows, both, i * 3 + j, 2, X[r, 2], {0: X[r, 0]}, 1.0)
            want[i, j] = p
        np.testing.assert_allclose(joint[r], want / want.sum(), rtol=1e-10)
    first, second = model.predict_proba(X[:5])
    np.testing.assert_allclose(first, joint.sum(axis=2), rtol=1e-12)
    np.testing.assert_allclose(second, joint.sum(axis=1), rtol=1e-12)
    given_u, _ = model.predict_proba(X[:5], given={"second": "u"})
    np.testing.assert_allclose(given_u, joint[:, :, 0] / joint[:, :, 0].sum(axis=1, keepdims=True), rtol=1e-10)
    best = joint.reshape(5, -1).argmax(axis=1)
    assert model.predict(X[:5]).tolist() == [[int(k // 3), "uvw"[k % 3]] for k in best]


def test_several_outputs_learn_by_adding() -> None:
    rng = np.random.default_rng(1)
    X, Y = rng.integers(0, 3, size=(100, 3)), rng.integers(0, 2, size=(100, 2))
    make = lambda: tb.BayesNetwork("x0 -> x1", ["a", "b"], "categorical")  # noqa: E731
    whole = make().fit(X, Y)
    stream = make().partial_fit(X[:60], Y[:60]).partial_fit(X[60:], Y[60:])
    np.testing.assert_array_equal(stream.predict_joint_proba(X), whole.predict_joint_proba(X))
    stream.partial_fit(X[:9], Y[:9]).forget(X[:9], Y[:9])
    np.testing.assert_array_equal(stream.predict_joint_proba(X), whole.predict_joint_proba(X))
    merged = make().fit(X[:60], Y[:60]).merge(make().fit(X[60:], Y[60:]))
    np.testing.assert_array_equal(merged.predict_joint_proba(X), whole.predict_joint_proba(X))
    drawn, labels = whole.sample(7, random_state=0)
    assert drawn.shape == (7, 3)
    assert labels.shape == (7, 2)
    assert 0 <= whole.score(X, Y) <= 1
    assert sum(whole.predict_proba_one({"x0": 1}).values()) == pytest.approx(1.0)


def test_bad_outputs_are_clear_errors() -> None:
    X, Y = np.zeros((4, 2), dtype=int), np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    model = tb.BayesNetwork(targets=["a", "b"], schema="categorical").fit(X, Y)
    with pytest.raises(LabelError, match="y needs 2 columns"):
        model.fit(X, Y[:, 0])
    with pytest.raises(LabelError, match="no column 'b'"):
        model.fit(X, {"a": [0, 1, 0, 1]})
    with pytest.raises(LabelError, match="'b' has the label\\(s\\) \\[5\\]"):
        model.partial_fit(X, np.array([[0, 5]] * 4))
    with pytest.raises(OptionError, match="'c' is not a target"):
        model.predict_proba(X, given={"c": 1})
    with pytest.raises(OptionError, match="points from a column to a target"):
        tb.BayesNetwork("x0 -> a", ["a", "b"], "categorical").fit(X, Y)
    with pytest.raises(OptionError, match="priors must be None"):
        tb.BayesNetwork(targets=["a", "b"], schema="categorical", priors="uniform").fit(X, Y)
    with pytest.raises(OptionError, match="only one"):
        tb.BayesNetwork(schema="categorical").fit(X, [0, 1, 0, 1]).predict_proba(X, given={"a": 1})


@pytest.mark.parametrize("classes", [5, [5, 6], "ab", ["ab", "cd"], {"a": [0, 1]}, [[0, 1]], [None, None], [[], []]])
def test_declared_labels_that_are_none(classes: Any) -> None:
    model = tb.BayesNetwork(targets=["a", "b"], schema="categorical")
    with pytest.raises(LabelError, match="must list the labels of each of the 2 targets; got "):
        model.partial_fit([[0], [1]], {"a": [0, 1], "b": [1, 0]}, classes=classes)


def test_targets_that_changed_or_do_not_fit() -> None:
    X, Y = [[0], [1], [0], [1]], {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}
    model = tb.BayesNetwork(targets=["a", "b"], schema="categorical").fit(X, Y)
    single = tb.BayesNetwork(schema="categorical").fit(X, Y["a"])
    for fitted, targets, y in ((model, None, Y["a"]), (model, ["a"], Y["a"]), (single, ["a", "b"], Y)):
        changed = fitted.copy().set_params(targets=targets)
        before = fitted.predict(X).tolist()
        with pytest.raises(OptionError, match="targets was changed after the fit"):
            changed.partial_fit(X, y)
        assert changed.predict(X).tolist() == before
    other = tb.BayesNetwork(targets=["a", "b"], schema="categorical").fit(X, {**Y, "a": [0, 2, 2, 0]})
    for different in (other, single):
        with pytest.raises(MergeError, match="different targets, or different labels"):
            model.copy().merge(different)
    with pytest.raises(OptionError, match="'a' is a target and a column"):
        model.fit([{"a": 0}, {"a": 1}], {"a": [0, 1], "b": [1, 0]})
    with pytest.raises(OptionError, match="is for several targets"):
        single.predict_joint_proba(X)
    with pytest.raises(LabelError, match="X has 4 rows and y has 1"):
        model.score(X, {"a": [0], "b": [0]})
    with pytest.raises(OptionError, match="nothing to score"):
        model.score(X, Y, sample_weight=[0] * 4)
    with pytest.raises(LabelError, match="got lists among them"):
        model.fit(X, {"a": [[1], [1, 2], [3], [4]], "b": [0, 1, 0, 1]})
    with pytest.raises(LabelError, match="9 is not a label of 'a'"):
        model.predict_proba(X, given={"a": 9})
    with pytest.raises(OptionError, match="1,600,000,000 combinations"):
        tb.BayesNetwork(targets=list("abcd")).fit(np.zeros((200, 1)), dict.fromkeys("abcd", np.arange(200)))
    for log, p in zip(model.predict_log_proba(X), model.predict_proba(X), strict=True):
        np.testing.assert_allclose(np.exp(log), p)


def test_what_is_given_never_happens() -> None:
    X, Y = [["u"], ["v"]], {"a": [0, 1], "b": [0, 1]}
    model = tb.BayesNetwork("a -> x0", ["a", "b"], "categorical", alpha=0.0, smoothing="laplace").fit(X, Y)
    np.testing.assert_allclose(model.predict_joint_proba([["u"]], given={"a": 0}).sum(), 1.0)
    with pytest.raises(OptionError, match="never happens together with row 1"):
        model.predict_joint_proba([["u"], ["v"]], given={"a": 0})


# --- what newcomers tried -------------------------------------------------------------------------------------------


def test_a_parent_without_levels_does_not_move_samples() -> None:
    k = np.random.default_rng(1).integers(0, 3, 300)
    rows = [{"b": "BCD"[i], "a": None, "c": "pqr"[i]} for i in k]
    y = [0, 1] * 150
    for model in (tb.BayesNetwork({"c": ["b", "a"]}, schema="categorical"), tb.AnDE(2, "categorical")):
        drawn, _ = model.fit(rows, y).sample(300, random_state=0)
        right = [{"B": "p", "C": "q", "D": "r"}[r["b"]] == r["c"] for r in drawn]
        assert np.mean(right) > 0.9
    empty = [{"a": None, "b": None, "c": "u"}] * 2
    tb.BayesNetwork("a -> c, b -> c", schema="categorical").fit(empty, [0, 1]).sample(2)


@pytest.mark.parametrize("smoothing", ["laplace", "backoff"])
def test_a_forgotten_level_has_no_share(smoothing: str) -> None:
    X, y = [["a", "b"], ["b", "a"], ["a", "a"], ["c", "b"]], [0, 1, 0, 1]
    forgot = tb.BayesNetwork("x0 -> x1", smoothing=smoothing).fit(X, y).forget(X[3:], y[3:])
    fresh = tb.BayesNetwork("x0 -> x1", smoothing=smoothing).fit(X[:3], y[:3])
    asked = np.array([[None, "b"], [None, "a"], ["a", None], [None, None]], dtype=object)
    np.testing.assert_allclose(forgot.predict_joint_log_proba(asked), fresh.predict_joint_log_proba(asked), atol=1e-12)


def test_a_column_is_described_by_the_targets_it_depends_on() -> None:
    Y = {"u": [0, 0, 1, 1], "v": [0, 1, 0, 1]}
    model = tb.BayesNetwork("u -> x0", ["u", "v"], "categorical", smoothing="laplace").fit([[0], [1], [0], [1]], Y)
    for reported in model.describe("x0").values():
        assert reported == pytest.approx({"0": 0.5, "1": 0.5})


def test_targets_in_other_forms() -> None:
    X, Y = [[0], [1]], {"u": [0, 1], "v": [0, 1]}
    model = tb.BayesNetwork(None, ["u", "v"], "categorical")
    model.partial_fit(X, Y, classes={"u": [0, 1], "v": [0, 1, 2]})
    assert model.predict_joint_proba(X).shape == (2, 2, 3)
    by_rows = tb.BayesNetwork(None, ["u", "v"], "categorical").fit(X, [{"u": 0, "v": 0}, {"u": 1, "v": 1}])
    assert by_rows.predict(X).tolist() == [[0, 0], [1, 1]]
    by_rows.learn_one({"x0": 1}, {"u": 1, "v": 0})
    assert by_rows.sample(2, y={"u": 0, "v": 1}, random_state=0)[1].tolist() == [[0, 1], [0, 1]]
    assert tb.BayesNetwork(None, "u", "categorical").fit(X, [0, 1]).predict(X).tolist() == [[0], [1]]
    reals = np.random.default_rng(0).normal(size=(20, 2))
    both = tb.BayesNetwork(None, ["u", "v"], cuts=None).fit(reals, {"u": [0, 1] * 10, "v": [0, 0, 1, 1] * 5})
    assert np.isfinite(both.predict_joint_proba(reals)).all()
    for given_wrong in (5, "u", [("u", 0)]):
        with pytest.raises(OptionError, match="given must be a dict"):
            by_rows.predict_proba(X, given=given_wrong)
    with pytest.raises(LabelError, match="is not a label"):
        by_rows.predict_proba(X, given={"u": [0, 0]})
    with pytest.raises(LabelError, match="has 2 labels and 'v' has 3"):
        by_rows.fit([[0], [1], [2]], {"u": [0, 1], "v": [0, 1, 1]})
    with pytest.raises(LabelError, match="every sample weight is zero"):
        by_rows.fit(X, Y, sample_weight=[0, 0])


def test_relearn_refuses_a_network_that_was_not_counted() -> None:
    def table(n: int, j: int) -> tuple[list[dict[str, str]], list[int]]:
        x = rng.integers(0, 3, (n, 6))
        y = x[:, 0] + x[:, j] + x[:, 3] > 3
        x[:, 5], x[:, 4] = (x[:, j] + x[:, 0] + y) % 3, (x[:, 3 - j] + x[:, 3]) % 3
        return [{f"c{k}": f"v{v}" for k, v in enumerate(row)} for row in x], y.astype(int).tolist()

    rng = np.random.default_rng(0)
    (first, a), (then, b) = table(400, 1), table(4000, 2)
    model = tb.KDB(2, select=False).fit(first, a).partial_fit(then, b)
    before = model.predict_proba(first)
    for rows in ((), (then, b)):
        with pytest.raises(OptionError, match="were not counted"):
            model.relearn(*rows)
    np.testing.assert_array_equal(model.predict_proba(first), before)
    assert parents_of(model.relearn(first + then, a + b)) == parents_of(
        tb.KDB(2, select=False).fit(first + then, a + b)
    )


def test_relearn_takes_rows_that_were_learned() -> None:
    rows, y = random_table(0)
    model = tb.SPODE().fit(array(rows), y)
    with pytest.raises(LabelError, match="among those learned"):
        model.relearn(array(rows), ["other"] * len(y))
    with pytest.raises(LabelError, match="among those learned"):
        model.relearn(array(rows), y, np.zeros(len(y)))


def test_weights_beyond_all_measure_are_refused() -> None:
    rows, y = random_table(0)
    for model in (tb.TAN(), tb.AODE(), tb.NaiveBayes()):
        with pytest.raises(OptionError, match="add up to more than"):
            model.fit(array(rows), y, sample_weight=np.full(len(y), 1e308))


def test_graphs_that_are_nearly_right() -> None:
    rows, y = random_table(0)
    assert tb.BayesNetwork(["x0 -> x1", "x1 -> x2"]).fit(array(rows), y).graph_.parents["x2"] == ("x1",)
    for graph in (nx.Graph([("x0", "x1")]), [("x0", "x1", "x2")]):
        with pytest.raises(OptionError, match="DiGraph"):
            tb.BayesNetwork(graph).fit(array(rows), y)


@pytest.mark.parametrize("targets", [5, 1.5, [], [1, 2], ["a", "a"], [["a"], ["b"]], {"a": 1, 2: 3}])
def test_targets_that_are_no_names(targets: Any) -> None:
    with pytest.raises(OptionError, match="targets must be one or more different names"):
        tb.BayesNetwork(targets=targets).fit([[0, 1], [1, 0]], [[0, 0], [1, 1]])


@pytest.mark.parametrize("make", [tb.TAN, tb.AODE, tb.KDB, tb.BayesClassifier])
def test_a_combination_that_was_not_learned_cannot_be_forgotten(make: Any) -> None:
    """Each value was, in that class; the two together were not."""
    rows, y = [["a", "u"], ["b", "v"], ["a", "u"], ["b", "v"]] * 3, ["x", "x", "y", "y"] * 3
    model = make().fit(rows, y)
    before = model.predict_proba(rows)
    with pytest.raises(ForgetError, match="not learned"):
        model.forget([["a", "v"]], ["x"])
    np.testing.assert_array_equal(model.predict_proba(rows), before)
    model.decay(1.0)
    np.testing.assert_allclose(model.predict_proba(rows), before, rtol=1e-12)


def test_a_graph_in_words_may_have_empty_places() -> None:
    rows, y = watermelons()
    text = tb.BayesNetwork("x0 -> x1,, x1 -> x2;\n\n").fit(array(rows)[:, :3], y)
    assert parents_of(text) == parents_of(tb.BayesNetwork([("x0", "x1"), ("x1", "x2")]).fit(array(rows)[:, :3], y))


def test_targets_that_a_frame_does_not_have() -> None:
    import pandas as pd

    with pytest.raises(LabelError, match="y has no column 'u'; its columns are 't'"):
        tb.BayesNetwork(targets=["t", "u"]).fit([["a"], ["b"]], pd.DataFrame({"t": ["x", "y"]}))


def test_a_declared_graph_over_several_targets_is_whole() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 400)
    b = (a + (rng.random(400) < 0.2)) % 2
    Z = np.column_stack([(a + (rng.random(400) < 0.1)) % 2, (b + (rng.random(400) < 0.1)) % 2])
    model = tb.BayesNetwork("a -> x0, b -> x1, a -> b", ["a", "b"], "categorical").fit(Z, {"a": a, "b": b})
    graph = model.graph_
    assert str(graph) == "a\nb | a\nx0 | a\nx1 | b"
    assert [edge[:2] for edge in graph.edges] == [("a", "b"), ("a", "x0"), ("b", "x1")]
    assert '"b" -> "x1";' in graph.dot()
    assert '"a" -> "x1"' not in graph.dot()
    assert set(graph.to_networkx().edges) == {("a", "b"), ("a", "x0"), ("b", "x1")}
    full = tb.BayesNetwork("x0 -> x1", ["a", "b"], "categorical").fit(Z, {"a": a, "b": b}).graph_
    assert full.parents == {"a": (), "b": ("a",), "x0": ("a", "b"), "x1": ("a", "b", "x0")}

    found = model.explain([[1, 0]])
    assert found.classes.tolist() == ["a=0, b=0", "a=0, b=1", "a=1, b=0", "a=1, b=1"]
    np.testing.assert_allclose(found.probability[0], model.predict_joint_proba([[1, 0]])[0].ravel())
    for against in ((1, 0), {"a": 1, "b": 0}, "a=1, b=0"):
        assert model.explain([[1, 0]], against=against).rival == "a=1, b=0"
    with pytest.raises(LabelError, match="not among"):
        model.explain([[1, 0]], against=(1, 7))
