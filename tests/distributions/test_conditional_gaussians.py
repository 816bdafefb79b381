"""Networks whose numbers stay numbers (cuts=None): normal given the class and discrete parents, against plain lists."""

from __future__ import annotations

import itertools
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

import tallybayes as tb
from tallybayes.distributions.networks.conditional_gaussians import Moments, back_off, marginal
from tallybayes.errors import OptionError, TableError
from tallybayes.estimators.spode_tan import superparent_losses
from tests import network_oracle as oracle

COLUMNS = ["color", "length", "shape", "size", "width"]  # 1 and 4 are real
REAL = (1, 4)
PARENTS = [(), (0, 2), (0,), (2,), (2, 3, 0)]  # by number in COLUMNS
GRAPH = {COLUMNS[j]: [COLUMNS[i] for i in own] for j, own in enumerate(PARENTS) if own}
seeds = st.integers(0, 10_000)


def mixed(seed: int, n: int = 40, missing: float = 0.0) -> tuple[list[list[Any]], list[str]]:
    """Rows as plain lists; None is missing."""
    rng = np.random.default_rng(seed)
    y = np.array(["no", "yes"])[rng.permutation(n) % 2]
    color, shape, size = rng.integers(0, 3, n), rng.integers(0, 2, n), rng.integers(0, 2, n)
    color = np.where(rng.random(n) < 0.3, shape, color)
    length = rng.normal(size=n) + color * (y == "yes")
    width = rng.normal(size=n) * (1 + shape) + 2 * size
    each = [np.array(list("rgb"))[color], length, np.array(list("ox"))[shape], np.array(list("sl"))[size], width]
    hidden = rng.random((n, 5)) < missing
    rows = [[None if hidden[r, j] else each[j][r].item() for j in range(5)] for r in range(n)]
    return rows, y.tolist()


def frame(rows: Any) -> Any:
    table = pd.DataFrame(rows, columns=COLUMNS, dtype=object)
    return table.astype({COLUMNS[j]: float for j in REAL})


def place(model: Any) -> list[int]:
    """For each column of the model's group, its number in COLUMNS."""
    return list(model.fitted_.terms[0].columns)


def parents_of(model: Any) -> list[tuple[int, ...]]:
    """By number in COLUMNS."""
    at, network = place(model), model.fitted_.terms[0].distribution
    own = {at[i]: tuple(at[p] for p in parents) for i, parents in enumerate(network.parents)}
    return [own[j] for j in range(len(own))]


def strengths_of(model: Any) -> dict[int, list[float]]:
    p, at = model.predictor_.fitted.terms[0].params, place(model)
    start, a = p.parent_start, p.strengths
    found = {at[int(j)]: a[start[f] : start[f + 1]].tolist() for f, j in enumerate(p.child)}
    for i, own in enumerate(p.reals.strengths):
        found[at[len(p.sizes) + i]] = [v.item() for v in own]
    return found


def agrees(model: Any, rows: Any, y: Any, asked: Any, strengths: Any = None) -> None:
    parents = parents_of(model)
    want = [[oracle.mixed_joint(rows, y, x, c, parents, REAL, strengths) for c in model.classes_] for x in asked]
    np.testing.assert_allclose(model.predict_joint_log_proba(frame(asked)), want, rtol=1e-9, atol=1e-9)


# --- each estimator is its formula ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda **k: tb.BayesNetwork(GRAPH, cuts=None, **k),
        lambda **k: tb.TAN(cuts=None, **k),
        lambda **k: tb.SPODE(cuts=None, **k),
        lambda **k: tb.KDB(2, cuts=None, select=False, **k),
    ],
)
@given(seed=seeds)
@settings(max_examples=4)
def test_networks_are_their_formula(make: Any, seed: int) -> None:
    """Missing discrete parents are summed out exactly, together with the rest."""
    rows, y = mixed(seed, missing=0.15)
    model = make(smoothing="laplace").fit(frame(rows), y)
    agrees(model, rows, y, rows[:12])
    model = make().fit(frame(rows), y)
    agrees(model, rows, y, rows[:12], strengths_of(model))


@pytest.mark.parametrize("n", [1, 2, 3])
@given(seed=seeds, min_count=st.sampled_from([1, 6]))
@settings(max_examples=3)
def test_averaged_networks_are_their_formula(n: int, seed: int, min_count: int) -> None:
    rows, y = mixed(seed)
    asked = [*rows[:6], *mixed(seed + 1, 8, missing=0.3)[0]]
    model = tb.AnDE(n, cuts=None, smoothing="laplace", min_count=min_count).fit(frame(rows), y)
    term = model.predictor_.fitted.terms[0]
    rank = dict(zip(term.columns, term.params.rank.tolist(), strict=False))
    want = [
        [oracle.mixed_averaged(rows, y, x, c, n, REAL, model.classes_, rank, min_count) for c in model.classes_]
        for x in asked
    ]
    np.testing.assert_allclose(model.predict_joint_log_proba(frame(asked)), want, rtol=1e-9, atol=1e-9)


def test_aode_with_back_off_is_the_mean_of_spodes() -> None:
    """Of networks of the same strengths; with one discrete column there is one of them."""
    rows, y = mixed(3)
    table = frame(rows)[["color", "length", "width"]]
    aode, spode = (make(cuts=None).fit(table, y) for make in (tb.AODE, tb.SPODE))
    np.testing.assert_allclose(aode.predict_joint_log_proba(table), spode.predict_joint_log_proba(table), rtol=1e-10)


def test_only_reals_is_naive_bayes() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)) * [1, 1e-3, 1e6] + [0, 5, -1e7], np.arange(60) % 3
    X[3, 1] = X[5] = np.nan
    want = tb.NaiveBayes("gaussian").fit(X, y).predict_joint_log_proba(X)
    for make in (tb.BayesNetwork, tb.TAN, tb.SPODE, tb.AODE, tb.AnDE, lambda **k: tb.KDB(select=False, **k)):
        for smoothing in ("laplace", "backoff"):
            model = make(cuts=None, smoothing=smoothing).fit(X, y)
            np.testing.assert_allclose(model.predict_joint_log_proba(X), want, rtol=1e-12)
            assert model.sample(4, random_state=0)[0].shape == (4, 3)
    assert tb.TAN(cuts=None).fit(X, y).root_ is None
    assert tb.SPODE(cuts=None).fit(X, y).superparent_ is None


def test_only_reals_learn_by_adding() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    for make in (tb.BayesNetwork, tb.AODE, tb.TAN):
        whole = make(cuts=None).fit(X, y)
        stream = make(cuts=None).partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
        merged = make(cuts=None).fit(X[:20], y[:20]).merge(make(cuts=None).fit(X[20:], y[20:]))
        less = make(cuts=None).fit(np.concatenate([X, X[:9]]), np.concatenate([y, y[:9]])).forget(X[:9], y[:9])
        for model in (stream, merged, less):
            np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-9)


def test_without_parents_reals_and_levels_are_naive_bayes() -> None:
    rows, y = mixed(0, missing=0.2)
    table = frame(rows)
    want = tb.NaiveBayes("gaussian").fit(table, y)
    model = tb.BayesNetwork(cuts=None).fit(table, y)
    np.testing.assert_allclose(model.predict_joint_log_proba(table), want.predict_joint_log_proba(table), rtol=1e-12)
    for column in COLUMNS:
        for label, found in model.describe(column).items():
            assert found == pytest.approx(want.describe(column)[label])


def test_xor_of_a_number_and_a_level() -> None:
    """What neither says alone: the mean turns with the level."""
    rng = np.random.default_rng(0)
    side, y = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    table = pd.DataFrame({"side": np.array(["l", "r"])[side], "x": rng.normal(size=400) + 4 * (side ^ y)})
    assert tb.NaiveBayes().fit(table, y).score(table, y) < 0.7
    for model in (tb.TAN(cuts=None), tb.AODE(cuts=None), tb.SPODE(cuts=None), tb.KDB(1, cuts=None)):
        assert model.fit(table, y).score(table, y) > 0.95, model


# --- smoothing ------------------------------------------------------------------------------------------------------


@given(seed=seeds, a=st.sampled_from([0.25, 1.0, 16.0]))
@settings(max_examples=10)
def test_the_marginal_likelihood_is_the_product_of_predictions(seed: int, a: float) -> None:
    """p(x₁ … x_n) = Π p(x_i | x₁ … x_{i−1}), each of them Student's t about what back_off says so far."""
    rng = np.random.default_rng(seed)
    x, below = rng.normal(2, 3, size=rng.integers(1, 8)), (np.array([1.0]), np.array([2.5]))

    def moments(some: Any) -> Moments:
        m = some.mean() if len(some) else 0.0
        return Moments(*(np.array([v]) for v in (float(len(some)), m, ((some - m) ** 2).sum())))

    want = 0.0
    for i, v in enumerate(x):
        mean, var = back_off(moments(x[:i]), below, a)
        scale = math.sqrt(var[0] * (1 + 1 / (i + a)))
        want += stats.t.logpdf(v, i + a, mean[0], scale)
    assert marginal(moments(x), below, a)[0] == pytest.approx(want)


def test_back_off_is_stronger_where_a_parent_is_uninformative() -> None:
    rng = np.random.default_rng(1)
    level = rng.integers(0, 5, 3000)
    table = pd.DataFrame(
        {"z": [f"v{v}" for v in level], "near": rng.normal(size=3000) + 3 * level, "far": rng.normal(size=3000)}
    )
    model = tb.BayesNetwork({"near": "z", "far": "z"}, cuts=None).fit(table, np.arange(3000) % 2)
    (near,), (far,) = model.predictor_.fitted.terms[0].params.reals.strengths
    assert near <= 4
    assert far >= 256


def test_a_cell_of_one_row_takes_the_estimate_without_the_parent() -> None:
    table = pd.DataFrame({"z": list("aaaabbbbc"), "x": [0.0, 1, 2, 3, 5, 5, 5, 5, 9]})
    model = tb.BayesNetwork({"x": "z"}, cuts=None, smoothing="laplace").fit(table, [0] * 9)
    p = model.predictor_.fitted.terms[0].params
    mean, var = (v[:, 0] for v in p.reals.normals[0])
    overall = table["x"].mean(), table["x"].var(ddof=0)
    np.testing.assert_allclose(mean, [1.5, overall[0], overall[0]])  # b never varies, c has one row
    np.testing.assert_allclose(var, [1.25, overall[1], overall[1]], rtol=1e-7)


# --- structure ------------------------------------------------------------------------------------------------------


def plain_information(rows: Any, y: Any, j: int, i: int) -> float:
    """½ Σ p (log σ²(x | c) − log σ²(x | c, z)), rows with both."""
    both = [(r[j], r[i], k) for r, k in zip(rows, y, strict=True) if r[j] is not None and r[i] is not None]
    floor = 1e-9 * np.var([r[j] for r in rows if r[j] is not None])
    out = 0.0
    for c, z in itertools.product({t[2] for t in both}, {t[1] for t in both}):
        cell = [t[0] for t in both if t[1:] == (z, c)]
        above = np.var([t[0] for t in both if t[2] == c]) + floor
        if len(cell) >= 2:
            out += 0.5 * len(cell) / len(both) * math.log(above / (np.var(cell) + floor))
    return max(out, 0.0)


@given(seed=seeds)
@settings(max_examples=5)
def test_real_columns_depend_on_the_most_informative_level(seed: int) -> None:
    rows, y = mixed(seed, missing=0.1)
    model = tb.TAN(cuts=None).fit(frame(rows), y)
    strength = {(a, b): e["mutual_information"] for a, b, e in model.graph_.edges}
    for j in REAL:
        each = {i: plain_information(rows, y, j, i) for i in range(5) if i not in REAL}
        (parent,) = parents_of(model)[j]
        assert each[parent] == pytest.approx(max(each.values()))
        assert strength[COLUMNS[parent], COLUMNS[j]] == pytest.approx(each[parent])
    assert all(p not in REAL for own in parents_of(model) for p in own)
    assert not model.graph_.parents[model.root_]


def leave_one_out_logs(rows: Any, y: Any, i: int, parents: Any, order: Any, strengths: Any) -> Any:
    """(columns, classes): log P(c, the first columns of row i) by the rows without it."""
    rest, labels, x = rows[:i] + rows[i + 1 :], y[:i] + y[i + 1 :], rows[i]
    out = np.array([[math.log(labels.count(c) / len(labels)) for c in sorted(set(y))]] * len(order))
    for m, j in enumerate(order):
        if x[j] is None:
            continue
        given = [(k, x[k]) for k in itertools.takewhile(lambda k: x[k] is not None, parents[j])]
        a = None if strengths is None else strengths[j][: len(given)]
        for c, label in enumerate(sorted(set(y))):
            if j in REAL:
                out[m:, c] += oracle.log_density(x[j], *oracle.normal(rest, labels, label, j, given, a))
            elif a is None:
                out[m:, c] += math.log(oracle.laplace(rest, labels, label, j, x[j], dict(given), 1.0))
            else:
                out[m:, c] += math.log(oracle.backoff(rest, labels, label, j, x[j], given, 1.0, a))
    return out


def left_out_losses(rows: Any, y: Any, parents: Any, order: Any, strengths: Any) -> Any:
    """−Σ log P(y_i | the first columns of row i), for every number of columns."""
    total = np.zeros(len(order))
    for i in range(len(y)):
        log = leave_one_out_logs(rows, y, i, parents, order, strengths)
        assume(np.ptp(log, axis=1).max() < 400)  # further apart than numbers can be
        total -= (log - np.logaddexp.reduce(log, axis=1, keepdims=True))[:, sorted(set(y)).index(y[i])]
    return total


def rows_of(model: Any, table: Any, y: Any) -> Any:
    return model.predictor_.read(table).labelled(np.searchsorted(model.classes_, y).astype(np.int32), None)


@pytest.mark.parametrize("smoothing", ["backoff", "laplace"])
@given(seed=seeds, missing=st.sampled_from([0.0, 0.15]))
@settings(max_examples=3)
def test_leave_one_out_losses_are_those_of_models_without_the_row(smoothing: str, seed: int, missing: float) -> None:
    rows, y = mixed(seed, n=30, missing=missing)
    assume(all(sum(r[j] == v for r in rows) > 1 for j in range(5) if j not in REAL for v in oracle.levels(rows, j)))
    model = tb.KDB(2, cuts=None, select=False, smoothing=smoothing).fit(frame(rows), y)
    (term,), at = model.fitted_.terms, place(model)
    order = [COLUMNS.index(c) for c in model.selected_]
    p = term.distribution.base(term.statistics, model.fitted_.context(term))
    read = rows_of(model, frame(rows), y)
    got = term.distribution.losses(p, [at.index(j) for j in order], read.of(term), read.y, None)
    a = strengths_of(model) if smoothing == "backoff" else None
    for k in range(3):
        want = left_out_losses(rows, y, [own[:k] for own in parents_of(model)], order, a)
        np.testing.assert_allclose(got[k], want, rtol=1e-6)


@given(seed=seeds)
@settings(max_examples=3)
def test_superparent_has_the_smallest_leave_one_out_loss(seed: int) -> None:
    rows, y = mixed(seed, n=30)
    model = tb.SPODE(cuts=None, smoothing="laplace").fit(frame(rows), y)
    losses = {}
    for j in set(range(5)) - set(REAL):
        parents = [() if k == j else (j,) for k in range(5)]
        losses[COLUMNS[j]] = left_out_losses(rows, y, parents, range(5), None)[-1]
    assert losses[model.superparent_] == min(losses.values())


def test_a_weight_of_two_is_left_out_once() -> None:
    rows, y = mixed(5, n=30)
    twice, labels = rows + rows[:10], y + y[:10]
    for smoothing in ("laplace", "backoff"):
        model = tb.SPODE(cuts=None, smoothing=smoothing).fit(frame(twice), labels)
        every, once = rows_of(model, frame(twice), labels), rows_of(model, frame(rows), y)
        once = once.labelled(once.y, np.array([2.0] * 10 + [1.0] * 20))
        a, b = (superparent_losses(model.fitted_, r) for r in (every, once))
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_kdb_drops_uninformative_numbers() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    table = pd.DataFrame(rng.normal(size=(400, 4)), columns=list("abcd")).assign(z=rng.choice(["u", "v"], 400))
    table["b"] += 2 * y
    model = tb.KDB(2, cuts=None).fit(table, y)
    assert model.selected_ == ["b"]
    other = table.assign(a=0.0, c=1.0, d=-3.0)
    np.testing.assert_allclose(model.predict_proba(other), model.predict_proba(table), rtol=1e-9)
    assert np.isfinite(model.score_samples(other)).all()


def test_relearn_chooses_again_from_the_moments() -> None:
    rows, y = mixed(3, n=120)
    for make in (tb.TAN, lambda **k: tb.SPODE("shape", **k), lambda **k: tb.KDB(1, select=False, **k)):
        whole = make(cuts=None).fit(frame(rows), y)
        stream = make(cuts=None).fit(frame(rows[:30]), y[:30]).partial_fit(frame(rows[30:]), y[30:]).relearn()
        assert parents_of(stream) == parents_of(whole)
        np.testing.assert_allclose(stream.predict_proba(frame(rows)), whole.predict_proba(frame(rows)), rtol=1e-9)


# --- several outputs, samples, the fast path --------------------------------------------------------------------------


def test_a_number_may_depend_on_one_of_several_targets() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, 200), rng.integers(0, 3, 200)
    table = pd.DataFrame({"z": rng.choice(["u", "v"], 200), "x": rng.normal(size=200) + 3 * b})
    graph = "b -> x, z -> x"
    model = tb.BayesNetwork(graph, ["a", "b"], cuts=None, smoothing="laplace").fit(table, {"a": a, "b": b})
    rows = table[["z", "x"]].to_numpy().tolist()
    joint = model.predict_joint_proba(table[:5])
    for r in range(5):
        want = np.zeros((2, 3))
        for i, j in itertools.product(range(2), range(3)):
            both = (a * 3 + b).tolist()
            want[i, j] = both.count(i * 3 + j) / 200 * oracle.laplace(rows, both, i * 3 + j, 0, rows[r][0], {}, 1.0)
            at = oracle.normal(rows, b.tolist(), j, 1, [(0, rows[r][0])], None)
            want[i, j] *= math.exp(oracle.log_density(rows[r][1], *at))
        np.testing.assert_allclose(joint[r], want / want.sum(), rtol=1e-9)


def test_samples_follow_the_network() -> None:
    rng = np.random.default_rng(0)
    z, y = rng.integers(0, 3, 3000), rng.integers(0, 2, 3000)
    table = pd.DataFrame({"z": np.array(list("abc"))[z], "x": rng.normal(size=3000) * (1 + y) + 5 * z})
    for model in (tb.TAN(cuts=None), tb.AODE(cuts=None), tb.KDB(2, cuts=None, select=False)):
        drawn, labels = model.fit(table, y).sample(20_000, random_state=0)
        assert drawn["x"].dtype == np.float64
        for level, k in itertools.product("abc", range(2)):
            want = table["x"][(table["z"] == level) & (y == k)]
            got = drawn["x"][(drawn["z"] == level) & (labels == k)]
            assert abs(want.mean() - got.mean()) < 0.15
            assert abs(want.std() - got.std()) < 0.15


def test_parameters_are_counted() -> None:
    rows, y = mixed(0)
    table = frame(rows)[["color", "shape", "length", "width"]]
    model = tb.BayesNetwork({"length": ["color", "shape"], "shape": "color"}, cuts=None).fit(table, y)
    # the prior; color, shape given color; length in 6 cells and width in one, of each class
    assert tb.evaluation.count_parameters(model) == 1 + 2 * (2 + 3 * 1 + 6 * 2 + 2)


def test_one_row_at_a_time_and_pickles() -> None:
    rows, y = mixed(1)
    records = frame(rows).to_dict("records")
    for model in (tb.TAN(cuts=None), tb.AODE(cuts=None), tb.BayesNetwork(GRAPH, cuts=None)):
        model.fit(frame(rows), y)
        asked = model.predict_proba(frame(rows[:1]))[0]
        assert list(model.predict_proba_one(records[0]).values()) == pytest.approx(asked.tolist())
        model.learn_one({"color": "violet", "width": 2.5}, "yes")
        assert set(model.describe("color")["yes"]) == {"r", "g", "b", "violet"}
        counterpart = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(counterpart.predict_proba(frame(rows)), model.predict_proba(frame(rows)))


def test_a_ranking_of_columns() -> None:
    rng = np.random.default_rng(0)
    y, noise = rng.integers(0, 2, 2000), rng.normal(size=(2, 2000))
    table = pd.DataFrame({"z": rng.choice(["u", "v"], 2000), "near": noise[0] + 3 * y, "far": noise[1]})
    want = tb.NaiveBayes("gaussian").fit(table, y).explain()
    for model in (tb.BayesNetwork({"near": "z", "far": "z"}, cuts=None), tb.AODE(cuts=None)):
        found = model.fit(table, y).explain()
        np.testing.assert_allclose(found.information, want.information, atol=0.02)
        assert found.error[0] == 0  # a short list of levels: exact


# --- what has no answer, or nearly none -----------------------------------------------------------------------------


@pytest.mark.parametrize("make", [tb.BayesNetwork, tb.TAN, tb.SPODE, tb.KDB, tb.AODE, tb.AnDE])
def test_poor_tables_get_an_answer(make: Any) -> None:
    y = ["a", "b", "a", "b", "b"]
    one = pd.DataFrame({"z": ["u", "v", "u", None, "v"]})
    flat = one.assign(x=1.0)
    empty = one.assign(x=np.nan)
    bare = pd.DataFrame({"z": [None] * 5, "x": [np.nan] * 5}).astype({"z": object})
    far = one.assign(x=[1e-170, 2e-170, 3e-170, 4e-170, 7e-170])
    for smoothing in ("laplace", "backoff"):
        for table in (one, flat, empty, bare, far, one.assign(x=[1e6 + 1, 1e6, 1e6 + 2, np.nan, 1e6])):
            model = make(cuts=None, smoothing=smoothing, schema={"z": "categorical"}).fit(table, y)
            for asked in (table, bare.reindex(columns=table.columns)):
                proba = model.predict_proba(asked)
                np.testing.assert_allclose(proba.sum(axis=1), 1.0)
            model.sample(3, random_state=0)
            if "x" in table:
                np.testing.assert_allclose(model.predict_proba(table.assign(x=1e300)).sum(axis=1), 1.0)
    model = make(cuts=None).fit(flat, y)  # a column that never varies says nothing
    np.testing.assert_allclose(model.predict_proba(flat.assign(x=7.0)), model.predict_proba(flat.assign(x=np.nan)))
    nothing = model.predict_proba(bare)
    np.testing.assert_allclose(nothing, np.tile([0.4, 0.6], (5, 1)))


@pytest.mark.parametrize("make", [tb.BayesNetwork, tb.TAN, tb.SPODE, tb.KDB, tb.AODE])
def test_infinite_values_are_refused_by_name(make: Any) -> None:
    rows, y = mixed(0)
    bad = frame(rows)
    bad.loc[4, "width"] = np.inf
    with pytest.raises(TableError, match=r"'width' has inf \(row 4\)"):
        make(cuts=None).fit(bad, y)
    model = make(cuts=None).fit(frame(rows), y)
    with pytest.raises(TableError, match=r"'width' has inf \(row 4\)"):
        model.predict(bad)
    huge = frame(rows)
    huge["width"] *= 1e200
    with pytest.raises(TableError, match="'width' has values of the size"):
        make(cuts=None).fit(huge, y)


def test_a_real_column_is_never_a_parent() -> None:
    rows, y = mixed(0)
    with pytest.raises(OptionError, match=r"'length' -> 'color' starts at a column that stays real .*cuts='mdl'"):
        tb.BayesNetwork("length -> color", cuts=None).fit(frame(rows), y)
    with pytest.raises(OptionError, match="root 'width' stays real"):
        tb.TAN("width", cuts=None).fit(frame(rows), y)
    with pytest.raises(OptionError, match="superparent 'width' stays real"):
        tb.SPODE("width", cuts=None).fit(frame(rows), y)
    with pytest.raises(OptionError, match="or None; got 'nothing'"):
        tb.TAN(cuts="nothing").fit(frame(rows), y)
    model = tb.AODE(cuts=None).fit(frame(rows), y)
    with pytest.raises(OptionError, match="Fit again"):
        model.set_params(cuts="mdl").partial_fit(frame(rows), y)


def test_what_a_schema_cuts_stays_cut() -> None:
    """So a column can be cut, and be a parent, beside others that stay real."""
    rows, y = mixed(0)
    cut = tb.TAN(cuts="frequency", bins=3).fit(frame(rows)[["length"]], y).schema_
    assert 0 in cut.cuts
    model = tb.TAN(cuts=None, schema=cut).fit(frame(rows)[["length"]], y)
    assert model.root_ == "length"
