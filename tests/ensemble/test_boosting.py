"""Boosting: the kernel against an oracle, and what a BayesClassifier gains by it on rules of several columns."""

from __future__ import annotations

import copy
import pickle
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tallybayes as tb
from tallybayes import _core
from tallybayes.ensemble import boosting
from tallybayes.ensemble.canonical_order import positions
from tallybayes.errors import OptionError

NONE = 255
M64 = (1 << 64) - 1
RATES = (0.3, 1.0, 1.0, 0.5, 1.0, 0.0)  # learning_rate, pseudo_count, ridge, min_gain, self_weight, patience_per_tree
USUAL = (
    boosting.LEARNING_RATE, boosting.PRIOR_PSEUDO_COUNT, boosting.SPLIT_RIDGE, boosting.MIN_SPLIT_SCORE,
    boosting.LEAVE_OUT_FRACTION, boosting.PATIENCE_PER_TREE,
)  # fmt: skip
FIELDS = (
    "max_tries", "patience", "depth", "columns", "rows", "seed",
    "learning_rate", "pseudo_count", "ridge", "min_gain", "self_weight", "patience_per_tree",
)  # fmt: skip


def options(size: Any, rates: Any = RATES) -> Any:
    return _core.BoostingOptions(**dict(zip(FIELDS, (*size, *rates), strict=True)))


def mixed(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & M64
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & M64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & M64
    return x ^ (x >> 31)


def softmax(joint: Any) -> Any:
    e = np.exp(joint - joint.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def in_second(b: Any, cut: int, ordered: bool) -> Any:
    return (b <= cut) if ordered else (b == cut)


def node_of(cuts: Any, bins: Any, ordered: Any) -> Any:
    """Which node each row is in; one without a bin stays where it is."""
    node, stopped = np.zeros(bins.shape[1], dtype=int), np.zeros(bins.shape[1], dtype=bool)
    for j, v in cuts:
        stopped |= bins[j] == NONE
        node = np.where(stopped, node, 2 * node + 1 + in_second(bins[j], v, ordered[j]))
    return node


def corrected(cuts: Any, bins: Any, ordered: Any, rows: Any, J: Any, how: Any) -> tuple[Any, Any]:
    """The leaf values of a tree, and the leave-one-out joint of the rows."""
    (y, w), (step, worth, part), (n, K), P = rows, how, J.shape, softmax(J)
    node = node_of(cuts, bins, ordered)
    came, expected = np.zeros(((2 << len(cuts)) - 1, K)), np.zeros(((2 << len(cuts)) - 1, K))
    for i in range(n):
        v = int(node[i])
        while True:
            came[v, y[i]] += w[i]
            expected[v] += w[i] * P[i]
            if v == 0:
                break
            v = (v - 1) // 2
    new, unit = J.copy(), part * np.minimum(w, 1.0)
    for i in np.flatnonzero(node > 0):
        own = unit[i] * (np.arange(K) == y[i])
        up = np.maximum(came[node[i]] - own, 0.0) + worth
        new[i] += step * np.log(up / (np.maximum(expected[node[i]] - unit[i] * P[i], 0.0) + worth))
    value = step * np.log((came + worth) / (expected + worth))
    value[0] = 0.0
    return value, new


def oracle(
    columns: Any, rows: Any, joint: Any, size: Any, how: Any, deepest: int = 0, validation: float = 0.0
) -> tuple[list[Any], float]:
    """The definition in cpp/core/ensemble/boosting.hpp, row by row and cell by cell."""
    (bins, count, ordered), (y, w, key) = columns, rows
    most, patience, depth, tried, searched, seed = size
    step, worth, ridge, least, part, eager = how
    here = np.flatnonzero((y >= 0) & (w > 0))
    bins, y, w, key, J = bins[:, here], y[here], w[here], key[here], joint[here].astype(float)
    n, K = J.shape
    order, out, total, failed = list(range(len(bins))), list[Any](), 0.0, 0
    now, gained = depth, [0.0, 0.0]
    of = [1] if K == 2 else list(range(K))
    fixed = np.array([(mixed(int(k) ^ 0x5BD1E9955BD1E995) >> 11) * 2.0**-53 < validation for k in key])
    learns = w * ~fixed
    for t in range(most):
        if failed >= patience + int(eager * len(out)):
            break
        top, some = min(searched, n // 2), list[int]()
        for k in range(n):
            i = (k + t * 2 * top) % n
            if len(some) < top and not fixed[i] and not mixed((int(key[i]) + t + (seed << 32)) & M64) >> 63:
                some.append(i)
        state = mixed(~(t + (seed << 32)) & M64)
        for k in range(min(tried, len(order))):
            state = mixed(state)
            other = k + state % (len(order) - k)
            order[k], order[other] = order[other], order[k]
        P = softmax(J)
        g, h = w[:, None] * ((y[:, None] == np.arange(K)) - P), w[:, None] * P * (1 - P)
        telling = np.abs(g[some][:, of]).max(axis=1) >= 1 / len(some) if some else []
        left = np.array(some, dtype=int)[telling]
        cells, score, cuts = np.zeros(len(left), dtype=int), 0.0, list[Any]()
        for level in range(min(now + t % 2 * 2, max(depth, deepest))):

            def best_of(j: int) -> tuple[float, int, int]:
                own, b = (0.0, -1, -1), bins[j, left]  # noqa: B023
                for v in range(int(count[j]) - bool(ordered[j])) if count[j] > 1 else ():
                    second = in_second(b, v, ordered[j])
                    value = 0.0
                    for u, half, c in product(range(1 << level), (0, 1), of):  # noqa: B023
                        at = left[(b != NONE) & (cells == u) & (second == half)]  # noqa: B023
                        value += g[at, c].sum() ** 2 / (h[at, c].sum() + ridge)  # noqa: B023
                    if value > own[0] * 1.00001:
                        own = (value, j, v)
                return own

            best = (0.0, -1, -1)
            for own in map(best_of, order[:tried]):
                best = own if own[1] >= 0 and own[0] > best[0] * 1.00001 else best
            if best[1] < 0 or not best[0] > score + least:
                break
            score, j, v = best
            cuts.append((j, v))
            b = bins[j, left]
            cells = 2 * cells + in_second(b, v, ordered[j])
            left, cells = left[b != NONE], cells[b != NONE]
        value, new = corrected(cuts, bins, ordered, (y, learns), J, (step, worth, part))
        judges = np.flatnonzero(fixed) if validation else np.setdiff1d(np.arange(n), some)
        fall = np.log(softmax(new)[judges, y[judges]] / P[judges, y[judges]])
        gain = float(w[judges] @ fall / w[judges].sum()) if cuts and len(judges) else 0.0
        if validation and not gain > 0.5 * np.linalg.norm(w[judges] * (fall - gain)) / w[judges].sum():
            gain = 0.0
        gained[t % 2] += max(gain, 0.0)
        if t % 8 == 7:
            now += 1 if gained[1] > 1.05 * gained[0] else -1
            now, gained = int(np.clip(now, depth, max(depth, deepest))), [0.0, 0.0]
        if not gain > 0:
            failed += 1
            continue
        failed, J = 0, new
        total += gain
        out.append(([j for j, _ in cuts], [v for _, v in cuts], value))
    J = joint[here].astype(float)
    for i, (at, cut, _) in enumerate(out if validation else []):
        value, J = corrected(list(zip(at, cut, strict=True)), bins, ordered, (y, w), J, (step, worth, part))
        out[i] = (at, cut, value)
    return out, total


def problem(seed: int, n: int, K: int, weighted: bool) -> Any:
    rng = np.random.default_rng(seed)
    count = np.array([21, 3, 1, 4], dtype=np.int32)
    bins = np.stack([rng.integers(0, b, n) for b in count]).astype(np.uint8)
    y = ((bins[0] > 9).astype(int) ^ (bins[1] == 1)) % K
    y = np.where(rng.random(n) < 0.1, rng.integers(0, K, n), y).astype(np.int32)
    bins[3, rng.random(n) < 0.1] = NONE
    bins[0, rng.random(n) < 0.05] = NONE
    y[rng.random(n) < 0.05] = -1
    w = rng.integers(0, 4, n) * 0.6 if weighted else np.ones(n)
    columns = (bins, count, np.array([True, False, True, False]))
    return columns, (y, w, rng.integers(0, 1 << 63, n).astype(np.uint64)), rng.normal(size=(n, K))


@pytest.mark.parametrize("K", [2, 3, 10])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("size", "how"), [((8, 3, 3, 4, 1000, 0), RATES), ((12, 6, 2, 3, 50, 7), USUAL)])
def test_the_kernel_equals_its_definition(K: int, weighted: bool, size: Any, how: Any) -> None:
    columns, rows, joint = problem(K, 160, K, weighted)
    found, gain = _core.fit_boosting(columns, rows, joint, options(size, how))
    wanted, total = oracle(columns, rows, joint, size, how)
    assert len(wanted) > 1  # the problem is one
    assert [(c.tolist(), k.tolist()) for c, k, _ in found] == [(c, k) for c, k, _ in wanted]
    for (_, _, got), (_, _, value) in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, value, rtol=1e-9, atol=1e-12)
    assert gain == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_validation_rows_judge_and_have_a_part_in_the_values_at_last(K: int, weighted: bool) -> None:
    columns, rows, joint = problem(K, 400, K, weighted)
    size = (20, 6, 3, 4, 100, 3)
    named = dict(zip(FIELDS, (*size, *USUAL), strict=True))
    found, gain = _core.fit_boosting(columns, rows, joint, _core.BoostingOptions(**named, validation_share=0.3))
    wanted, total = oracle(columns, rows, joint, size, USUAL, validation=0.3)
    assert len(wanted) > 1
    assert [(c.tolist(), k.tolist()) for c, k, _ in found] == [(c, k) for c, k, _ in wanted]
    for (_, _, got), (_, _, value) in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, value, rtol=1e-9, atol=1e-12)
    assert gain == pytest.approx(total, rel=1e-9)
    with pytest.raises(ValueError, match="validation_share must lie between 0 and"):
        _core.BoostingOptions(**named, validation_share=0.6)


@pytest.mark.parametrize("K", [2, 3])
def test_the_depth_follows_what_gains(K: int) -> None:
    """Every other tree is deeper, and after eight tries all are if these gained more."""
    columns, rows, joint = problem(K, 400, K, False)
    size = (30, 9, 1, 4, 400, 0)
    found, gain = _core.fit_boosting(
        columns, rows, joint, _core.BoostingOptions(**dict(zip(FIELDS, (*size, *RATES), strict=True)), max_depth=5)
    )
    wanted, total = oracle(columns, rows, joint, size, RATES, 5)
    assert {len(c) for c, _, _ in wanted} > {1, 3}
    assert [(c.tolist(), k.tolist()) for c, k, _ in found] == [(c, k) for c, k, _ in wanted]
    assert gain == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("n", [40, 90, 300])
@pytest.mark.parametrize("columns", [3, 6, 13])
@pytest.mark.parametrize("K", [2, 3, 6])
def test_columns_are_read_side_by_side(n: int, columns: int, K: int) -> None:
    """Blocks of some columns, filled or not; of columns with more bins than rows, or than rows of a cell, only those
    with rows."""
    rng = np.random.default_rng(n + columns)
    count = np.array([64, 200, 5, 255, 2, 17, 1, 30, 64, 3, 100, 12, 64][:columns], dtype=np.int32)
    ordered = rng.random(columns) < 0.7
    bins = np.stack([rng.integers(0, b, n) for b in count]).astype(np.uint8)
    bins[0] = np.minimum(bins[0] + 3, 63)  # the first bins are empty
    y = ((bins[0] > 30).astype(np.int32) ^ (bins[2] == 1)) + 2 * (bins[1] > 90) * (K > 2)
    y = np.where(rng.random(n) < 0.1, rng.integers(0, K, n), y % K).astype(np.int32)
    bins[rng.random(bins.shape) < 0.05] = NONE
    rows = (y, np.ones(n), rng.integers(0, 1 << 63, n).astype(np.uint64))
    table, joint, size = (bins, count, ordered), rng.normal(size=(n, K)), (4, 4, 3, columns, 1000, 1)
    found, gain = _core.fit_boosting(table, rows, joint, options(size))
    wanted, total = oracle(table, rows, joint, size, RATES)
    assert wanted or n < 300  # few rows may have nothing to say
    assert [(c.tolist(), k.tolist()) for c, k, _ in found] == [(c, k) for c, k, _ in wanted]
    assert gain == pytest.approx(total, rel=1e-9)


def test_the_views_of_cuts() -> None:
    rng = np.random.default_rng(0)
    luts = [rng.integers(0, 9, size).astype(np.uint8) for size in (1, 5, 40, 12)]
    luts[1][-1] = luts[2][-1] = NONE
    ordered, of = np.array([True, True, False, False]), rng.integers(0, 4, 30).astype(np.int32)
    cut, start = rng.integers(0, 9, 30).astype(np.int32), np.cumsum([0, *map(len, luts)])
    wanted = []
    for j, b in zip(of.tolist(), cut.tolist(), strict=True):
        half = in_second(luts[j], b, ordered[j]).astype(np.uint8)
        half[luts[j] == NONE] = NONE
        wanted.append(half)
    columns = (np.concatenate(luts), start, ordered)
    assert (_core.cut_views(columns, (of, cut)) == np.concatenate(wanted)).all()
    for bad in ((of + np.int32(3), cut), (of, cut + np.int32(250)), (of[1:], cut)):
        with pytest.raises(ValueError, match=r"column|cut"):
            _core.cut_views(columns, bad)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_next_to_no_rows_change_nothing(n: int) -> None:
    columns, rows, joint = problem(0, 40, 2, False)
    few = ((columns[0][:, :n].copy(), *columns[1:]), tuple(a[:n] for a in rows), joint[:n])
    found, gain = _core.fit_boosting(*few, options((5, 5, 3, 4, 100, 0)))
    assert gain >= 0
    assert all(np.isfinite(value).all() for _, _, value in found)


def test_what_cannot_be_is_refused() -> None:
    columns, rows, joint = problem(0, 40, 2, False)
    size = (5, 5, 3, 4, 100, 0)
    with pytest.raises(ValueError, match="finite"):
        _core.fit_boosting(columns, rows, np.full_like(joint, np.nan), options(size))
    with pytest.raises(ValueError, match="bins of its column"):
        _core.fit_boosting((columns[0] + np.uint8(9), *columns[1:]), rows, joint, options(size))
    with pytest.raises(ValueError, match="depth"):
        options((5, 5, 0, 4, 100, 0))
    with pytest.raises(ValueError, match="self_weight must lie between"):
        options(size, (*RATES[:4], 1.5, 0.0))
    with pytest.raises(ValueError, match="one for each row"):
        _core.fit_boosting(columns, (rows[0][1:], *rows[1:]), joint, options(size))


# --- in a BayesClassifier ------------------------------------------------------------------------------------------

OTHERS = ("networks", "naive", "class_trees", "target_encoding", "gaussian")


def rule(n: int, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """A rule without noise of six categories, of which each matters only where others have some value; four say
    nothing."""
    v = np.random.default_rng(seed).integers(0, 4, (n, 10))
    where = np.where(v[:, 1] == 3, (v[:, 2] > 1) * 1 + (v[:, 3] == 0), (v[:, 4] + v[:, 5] > 3) * 2)
    return pd.DataFrame({f"x{j}": pd.Series(v[:, j]).map("v{}".format) for j in range(10)}), np.where(
        v[:, 0] == 0, 0, where
    )


def sensors(n: int, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """An alarm where three sensors are beyond a threshold, or three others; two say nothing."""
    x = np.random.default_rng(seed).normal(size=(n, 8))
    one = (x[:, 0] > 0.3) & (x[:, 1] < 0.5) & (x[:, 2] > -0.4)
    other = (x[:, 3] > 1) & (x[:, 4] > 0) & (x[:, 5] < 0.8)
    return pd.DataFrame(x, columns=[f"s{j}" for j in range(8)]), (one | other).astype(int)


def log_loss(model: Any, X: Any, y: Any) -> float:
    return -float(np.log(np.maximum(model.predict_proba(X)[np.arange(len(y)), y], 1e-15)).mean())


@pytest.mark.parametrize("table", [rule, sensors])
def test_rules_that_no_component_can_express(table: Any) -> None:
    (X, y), (new, truth) = table(1500), table(2000, seed=1)
    with_them = tb.BayesClassifier().fit(X, y)
    without = tb.BayesClassifier(parts=OTHERS).fit(X, y)
    assert log_loss(with_them, new, truth) < 0.85 * log_loss(without, new, truth)
    assert (with_them.predict(new) != truth).mean() <= (without.predict(new) != truth).mean()
    assert "boosted trees" in with_them.summary()
    assert "boosted trees" not in without.summary()


def pairs(n: int, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """Four classes by how the values of pairs of categories compare."""
    v = np.random.default_rng(seed).integers(0, 4, (n, 7))
    y = (v[:, 0] >= v[:, 1]) * 1 + (v[:, 2] == v[:, 3]) * (v[:, 4] > 1) + 2 * ((v[:, 5] + v[:, 0]) % 4 == 0)
    return pd.DataFrame({f"x{j}": pd.Series(v[:, j]).map("v{}".format) for j in range(7)}), y


def test_a_search_does_not_end_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows whose values leave out all of themselves speak against the next tree."""
    (X, y), (new, truth) = pairs(2000), pairs(4000, seed=1)
    now = tb.BayesClassifier().fit(X, y)
    monkeypatch.setattr(boosting, "LEAVE_OUT_FRACTION", 1.0)
    before = tb.BayesClassifier().fit(X, y)
    assert params(now).boosting.count > params(before).boosting.count
    assert log_loss(now, new, truth) < log_loss(before, new, truth)


def test_many_rows_are_searched_less_often_with_more_patience_and_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    """What few rows gain by several searches, many gain by fewer that go on after more tries that fail."""
    sizes = list[Any]()
    find = _core.fit_boosting

    def spied(*args: Any) -> Any:
        sizes.append(args[3])
        return find(*args)

    monkeypatch.setattr(boosting._core, "fit_boosting", spied)
    monkeypatch.setattr(boosting, "MANY_ROWS", 8500)  # half as many take half as long
    for n, runs, patience, depth, tries in (
        (1100, 6, 5, 6, 300), (3000, 5, 5, 6, 300), (8000, 2, 9, 6, 300), (9000, 1, 12, 12, 500)
    ):  # fmt: skip
        sizes.clear()
        X, y = pairs(n)
        X = np.column_stack([X, np.random.default_rng(0).random(n)])  # no two rows are alike
        tb.BayesClassifier(members=2, parts=("networks", "boosting")).fit(X, y)
        assert {(size.patience, size.max_depth, size.max_tries) for size in sizes} == {(patience, depth, tries)}
        assert {size.validation_share > 0 for size in sizes} == {n == 9000}
        assert len(sizes) == runs


def test_validation_rows_do_not_depend_on_the_order_of_rows_or_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boosting, "MANY_ROWS", 500)
    X, y = pairs(1500)
    order = np.random.default_rng(2).permutation(len(y))
    model = tb.BayesClassifier(parts=("networks", "boosting")).fit(X, y)
    other = tb.BayesClassifier(parts=("networks", "boosting")).fit(X.iloc[order, ::-1], y[order])
    assert params(model).boosting.count > 1
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X[X.columns[::-1]]), rtol=1e-9)


def test_best_searches_longer() -> None:
    (X, y), (new, truth) = pairs(1500), pairs(4000, seed=1)
    balanced, best = (tb.BayesClassifier(effort).fit(X, y) for effort in ("balanced", "best"))
    assert params(best).boosting.count > 2 * params(balanced).boosting.count
    assert log_loss(best, new, truth) < log_loss(balanced, new, truth)


@pytest.mark.parametrize("K", [2, 3, 7, 12])
def test_weights_of_any_size_have_a_place_in_a_float(K: int) -> None:
    """Weights count as they are, large ones too: what they are worth beside the ridge does not change."""
    columns, (y, w, key), joint = problem(K, 400, K, True)
    some = _core.fit_boosting(columns, (y, 1e6 * w, key), joint, options((6, 6, 4, 4, 300, 0)))[0]
    most = _core.fit_boosting(columns, (y, 1e200 * w, key), joint, options((6, 6, 4, 4, 300, 0)))[0]
    assert len(some) > 1
    assert all(np.isfinite(value).all() for _, _, value in most)
    assert some[0][0].tolist() == most[0][0].tolist()


@pytest.mark.parametrize("table", [rule, sensors, pairs])
def test_the_estimate_for_new_rows(table: Any) -> None:
    (X, y), (new, truth) = table(1500), table(4000, seed=1)
    model = tb.BayesClassifier().fit(X, y)
    reported, truly = params(model), log_loss(model, new, truth)
    assert 0.75 * truly < reported.loss < max(1.35 * truly, truly + 2.5 * reported.loss_error)


def test_noise_is_not_corrected() -> None:
    rng = np.random.default_rng(0)
    X, p = rng.normal(size=(3000, 8)), 1 / (1 + np.exp(-rng.normal(size=3000)))
    X[:, 0] = np.log(p / (1 - p))
    y = (rng.random(3000) < p).astype(int)
    with_them = tb.BayesClassifier().fit(X[:1000], y[:1000])
    without = tb.BayesClassifier(parts=OTHERS).fit(X[:1000], y[:1000])
    assert log_loss(with_them, X[1000:], y[1000:]) < 1.02 * log_loss(without, X[1000:], y[1000:])


def params(model: Any) -> Any:
    return model._parameters().terms[0].params


@pytest.fixture(scope="module")
def learned() -> tuple[Any, Any, Any]:
    X, y = rule(900)
    model = tb.BayesClassifier(members=4).fit(X, y)
    assert params(model).boosting.count > 3
    return model, X, y


def same(a: Any, b: Any, X: Any) -> None:
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=0, atol=1e-9)


def test_they_add_and_are_forgotten(learned: Any) -> None:
    model, X, y = learned
    parts = [model.empty().partial_fit(X[half], y[half]) for half in (slice(0, 500), slice(500, None))]
    both, whole = parts[0].copy().merge(parts[1]), model.empty().partial_fit(X, y)
    same(both, whole, X)
    assert params(both).boosting.count == params(whole).boosting.count > 0
    same(both.forget(X[500:], y[500:]), parts[0], X)


def test_a_weight_of_two_is_the_row_twice(learned: Any) -> None:
    model, X, y = learned
    w = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0)
    times = np.repeat(np.arange(len(y)), w.astype(int))
    once = model.empty().partial_fit(X, y, sample_weight=w)
    assert params(once).boosting is not None
    same(once, model.empty().partial_fit(X.iloc[times], y[times]), X)


def test_rows_in_another_order(learned: Any) -> None:
    _, X, y = learned
    order = np.random.default_rng(1).permutation(len(y))
    same(tb.BayesClassifier(members=4).fit(X, y), tb.BayesClassifier(members=4).fit(X.iloc[order], y[order]), X)


def test_reasons_add_up(learned: Any) -> None:
    model, X, _ = learned
    asked = X[:50]
    reported = model.predictor_.terms(model.predictor_.read(asked)).sum(axis=1) + model.predictor_.offset
    np.testing.assert_allclose(reported, model.predict_joint_log_proba(asked), rtol=0, atol=1e-5)


def test_a_file_keeps_the_answers(learned: Any, tmp_path: Path) -> None:
    model, X, _ = learned
    model.save(tmp_path / "rule.tb")
    np.testing.assert_array_equal(tb.load(tmp_path / "rule.tb").predict_proba(X), model.predict_proba(X))


def test_a_model_that_has_answered_is_pickled_and_copied(learned: Any) -> None:
    model, X, _ = learned
    answers = model.predict_proba(X)
    assert params(model).boosting is not None
    for counterpart in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(counterpart.predict_proba(X), answers)


def test_alone_they_correct_nothing() -> None:
    with pytest.raises(OptionError, match="name another too"):
        tb.BayesClassifier(parts=("boosting",)).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("options", [{"effort": "fast"}, {"weighting": "temperature"}, {"weighting": "none"}])
def test_without_weights_there_is_nothing_to_correct(options: Any) -> None:
    X, y = rule(300)
    assert params(tb.BayesClassifier(**options).fit(X, y)).boosting is None
    with pytest.raises(OptionError, match="boosting needs stacking weights"):
        tb.BayesClassifier(parts=("networks", "boosting"), **options).fit(X, y)


def test_a_missing_value_in_a_complete_column_leaves_the_cell(learned: Any) -> None:
    """It is read with the cuts before it, and the last of none adds nothing."""
    model, X, _ = learned
    found = params(model).boosting
    codes = np.full((X.shape[1], 1), 255, dtype=np.uint8)
    np.testing.assert_array_equal(found.scores(codes), np.zeros((1, 3)))


def test_columns_without_use() -> None:
    """Names of rows, a constant, a column without a value, more levels than bins."""
    X, y = rule(700)
    rng = np.random.default_rng(0)
    X["one"], X["gap"] = "a", np.nan
    X["many"] = pd.Series(rng.integers(0, 90, 700)).map("m{}".format)
    model = tb.BayesClassifier(members=2).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    found = params(model).boosting
    assert found is not None
    used = {model.schema_.name(model.fitted_.terms[0].columns[j]) for j in found.binning_column}
    assert used
    assert not used & {"one", "gap"}


def test_bins_of_a_category_do_not_go_by_the_order_of_its_levels() -> None:
    n = np.array([9, 7, 7, 3] + [8] * 40)
    codes = np.repeat(np.arange(len(n)), n)[None].astype(np.uint8)
    rows = codes.shape[1]
    table = boosting.BoostingRows(
        codes, np.array([len(n)]), np.array([False]), np.array([True]), np.zeros(rows, dtype=np.int32), np.ones(rows),
        np.zeros(rows, dtype=np.uint64), positions(1),
    )  # fmt: skip
    bins = boosting._histogram_bins(table, 0, 32)
    assert bins.tolist() == [1] + [0] * 43 + [NONE]  # the 40 alike have no place together, so none of them has
