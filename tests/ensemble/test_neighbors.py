"""k-nearest neighbours: the kernel and the component against slow oracles, and what a BayesClassifier gains by them."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

import tallybayes as tb
from tallybayes import _core
from tallybayes.ensemble import neighbors
from tallybayes.errors import OptionError
from tests.javascript import asked, need_javascript


def nearest_of(points: Any, rows: Any, root: Any, most: int) -> tuple[Any, Any]:
    turned = np.eye(points.shape[1]) if root is None else root
    square = (((rows[:, None] - points[None]) @ turned.T) ** 2).sum(axis=2)
    order = np.argsort(square, axis=1, kind="stable")[:, :most]
    return order, np.take_along_axis(square, order, axis=1)


@pytest.fixture(params=[0, 1, 2], ids=["base", "avx2", "avx512"])
def isa(request: Any) -> Any:
    _core.limit_isa(request.param)
    if _core.isa() != request.param:
        _core.limit_isa(2)
        pytest.skip("not on this processor")
    yield request.param
    _core.limit_isa(2)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize(("count", "d", "n"), [(1, 1, 1), (40, 3, 9), (257, 20, 33)])
@pytest.mark.parametrize("turned", [False, True])
def test_the_kernel_equals_its_definition(count: int, d: int, n: int, turned: bool) -> None:
    rng = np.random.default_rng(count)
    points, rows = rng.normal(size=(count, d)), rng.normal(size=(n, d))
    root = np.tril(rng.normal(size=(d, d))) if turned else None
    most = min(count, 12)
    index, distance = _core.Points(points, root).nearest(rows, most)
    wanted, square = nearest_of(points, rows, root, most)
    np.testing.assert_array_equal(index, wanted)
    np.testing.assert_allclose(distance, square, rtol=1e-12, atol=1e-13)


def test_of_equally_near_points_the_first_comes_first_and_none_is_made_up() -> None:
    points = np.array([[1.0], [0.0], [1.0], [-1.0]])
    index, distance = _core.Points(points).nearest(np.zeros((1, 1)), 6)
    assert index.tolist() == [[1, 0, 2, 3, -1, -1]]
    assert distance.tolist() == [[0.0, 1.0, 1.0, 1.0, np.inf, np.inf]]


def test_the_kernel_refuses_what_cannot_be() -> None:
    points = _core.Points(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="finite"):
        _core.Points(np.full((1, 1), np.nan))
    with pytest.raises(ValueError, match="root"):
        _core.Points(np.zeros((3, 2)), np.zeros((1, 1)))
    with pytest.raises(ValueError, match="dimensions"):
        points.nearest(np.zeros((1, 3)), 1)
    with pytest.raises(ValueError, match="finite"):
        points.nearest(np.full((1, 2), np.inf), 1)
    with pytest.raises(ValueError, match="most"):
        points.nearest(np.zeros((1, 2)), -1)


# --- the part ------------------------------------------------------------------------------------------------------


def spirals(n: int, seed: int = 0, noise: float = 0.2) -> tuple[pd.DataFrame, Any]:
    """Two classes wound around each other."""
    rng = np.random.default_rng(seed)
    y, t = rng.integers(0, 2, n), rng.uniform(1.0, 4.0, n)
    angle = np.pi * (t + y)
    X = pd.DataFrame({"east": t * np.cos(angle), "north": t * np.sin(angle)}) + noise * rng.normal(size=(n, 2))
    return X.assign(color=rng.choice(["red", "green"], n)), y


def part(model: Any) -> Any:
    return model._parameters().terms[0].params.neighbors


def log_loss(model: Any, X: Any, y: Any) -> float:
    return float(-np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean())


@pytest.fixture(scope="module")
def learned() -> tuple[Any, Any, Any]:
    X, y = spirals(600)
    model = tb.BayesClassifier("best", members=4).fit(X, y)
    assert model.weights_["neighbors"] > 0.3
    return model, X, y


def terms_of(near: Any, codes: Any, y: Any = None, unit: Any = None) -> Any:
    """The definition in neighbors.py, row by row; with y and unit without the row itself."""
    p, K = near.normal_scores, len(near.prior)

    def number(code: Any) -> Any:
        own = [(p.value[p.start[i] : p.start[i + 1]], code[j]) for i, j in enumerate(p.column.tolist())]
        z = np.array([value[min(int(v), len(value) - 1)] for value, v in own])
        return z if near.root is None else near.root @ z

    points, out = [number(row) for row in near.codes.T], []
    for r, code in enumerate(codes.T):
        z, weight = number(code), near.weight.copy()
        if y is not None:
            own = [i for i, row in enumerate(near.codes.T) if (row == code).all() and near.label[i] == y[r]]
            weight[own] = np.maximum(weight[own] - unit[r], 0.0)
        away = [(((z - point) ** 2).sum(), i) for i, point in enumerate(points) if weight[i] > 0]
        away.sort()
        n, k = np.zeros(K), near.k
        h = away[k][0] if len(away) > k else np.inf
        for square, i in away[:k]:
            n[near.label[i]] += weight[i] * (max(1 - square / h, 0) ** 2 if h > 0 else 1.0)
        out.append(np.log((n + near.pseudo_count * near.prior) / ((n.sum() + near.pseudo_count) * near.prior)))
    return np.array(out)


@pytest.mark.parametrize("root", [False, True])
def test_terms_are_those_of_a_loop_over_all_rows(learned: Any, root: bool) -> None:
    model, _, _ = learned
    near = part(model)
    d = len(near.normal_scores.column)
    turned = np.tril(np.random.default_rng(0).normal(size=(d, d))) + 2 * np.eye(d)
    near = neighbors.Neighbors(
        near.normal_scores, turned if root else None, near.codes, near.label, near.weight * 1.5, near.prior, 8, 0.3
    )
    data = model.predictor_.read(spirals(30, 5)[0]).of(model.predictor_.fitted.terms[0])
    ((_, codes, _),) = model._parameters().terms[0].params.packed(data)
    np.testing.assert_allclose(near.scores(codes), terms_of(near, codes), rtol=1e-9, atol=1e-9)
    some = np.ascontiguousarray(near.codes[:, ::20])
    own, unit = near.label[::20], np.where(np.arange(some.shape[1]) % 2, 1.0, 1.5)  # of some, half a row is left
    np.testing.assert_allclose(
        near.leave_one_out(some, own, unit), terms_of(near, some, own, unit), rtol=1e-9, atol=1e-9
    )
    others = near.leave_one_out(codes, np.zeros(codes.shape[1], dtype=np.int32), np.ones(codes.shape[1]))
    np.testing.assert_array_equal(others, near.scores(codes))  # no row that was kept: nothing is left out


def test_left_out_is_a_tally_without_the_row(learned: Any) -> None:
    model, X, y = learned
    term = model._parameters().terms[0]
    reported = model.leave_one_out(X[:6], y[:6])
    for i in range(6):
        less = model.copy().forget(X[i : i + 1], y[i : i + 1]).fitted_
        p = term.distribution.reestimate(less.terms[0].statistics, less.context(less.terms[0]), term.params)
        data = model.predictor_.read(X[i : i + 1]).of(term)
        ((_, codes, _),) = p.packed(data)
        joint = term.distribution.scores(codes, p)[0] + np.log((less.weight + 0.5) / (less.weight.sum() + 1.0))
        np.testing.assert_allclose(reported[i], joint - np.logaddexp(*joint), rtol=1e-4, atol=1e-4)  # chains are floats


def test_what_no_cut_can_express() -> None:
    X, y = load_digits(return_X_y=True)
    usual, best = (tb.BayesClassifier(effort, members=4).fit(X[::2], y[::2]) for effort in ("balanced", "best"))
    assert log_loss(best, X[1::2], y[1::2]) < 0.97 * log_loss(usual, X[1::2], y[1::2])


def test_noise_has_no_neighbours() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(600, 4)), rng.integers(0, 2, 600)
    model = tb.BayesClassifier("best", members=4).fit(X, y)
    assert log_loss(model, rng.normal(size=(1000, 4)), rng.integers(0, 2, 1000)) < np.log(2) + 0.03


def test_parts_add_and_are_forgotten(learned: Any) -> None:
    model, X, y = learned
    first, second = (model.empty().partial_fit(X[half], y[half]) for half in (slice(0, 350), slice(350, None)))
    both, whole = first.copy().merge(second), model.empty().partial_fit(X, y)
    np.testing.assert_allclose(both.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-9)
    both.forget(X[350:], y[350:])
    np.testing.assert_allclose(both.predict_proba(X), first.predict_proba(X), rtol=0, atol=1e-9)


def test_reasons_add_up_and_files_keep_the_answers(learned: Any, tmp_path: Path) -> None:
    model, X, _ = learned
    some = X[:40]
    reported = model.predictor_.terms(model.predictor_.read(some)).sum(axis=1) + model.predictor_.offset
    np.testing.assert_allclose(reported, model.predict_joint_log_proba(some), rtol=0, atol=1e-5)
    model.save(tmp_path / "model.tb")
    for counterpart in (tb.load(tmp_path / "model.tb"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(counterpart.predict_proba(X), model.predict_proba(X))
    assert "Neighbors: " in model.summary()


def test_javascript_answers_the_same(learned: Any, tmp_path: Path) -> None:
    need_javascript()
    model, _, _ = learned
    rows = spirals(25, 7)[0].to_dict("records")
    some: list[dict[str, Any]] = [*rows, {}, {"east": 1.0}, {"east": -2.0, "north": None, "color": "blue"}]
    found = asked(tb.export.to_js(model), some, "[model.proba(row), model.evidence(row)]", tmp_path)
    with pytest.warns(UserWarning, match="not seen"):
        np.testing.assert_allclose([p for p, _ in found], model.predict_proba(some), atol=1e-9, rtol=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        terms = model.predictor_.terms(model.predictor_.read(some))
    evidence = np.array([e for _, e in found], dtype=float)
    np.testing.assert_allclose(evidence - evidence[:, :, :1], terms - terms[:, :, :1], atol=1e-8, rtol=1e-8)


@pytest.mark.parametrize("rows", [2, 3, 9, 10, 12, 40])
def test_few_rows(rows: int) -> None:
    X, y = spirals(rows, 2)
    y[:2] = 0, 1
    model = tb.BayesClassifier(parts=("neighbors", "networks"), members=2).fit(X, y)
    assert (part(model) is None) == (rows < 10)
    assert np.isfinite(model.predict_proba(X)).all()
    forgot = model.forget(X[1:], y[1:]) if rows > 2 else model
    assert np.isfinite(forgot.predict_proba(X)).all()


def test_rows_that_are_the_same_in_all_that_is_read() -> None:
    """More of them than neighbours: all distances are 0, and so is that of the next one."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": np.repeat([0.0, 1.0], 200), "id": [f"n{i % 90}" for i in range(400)]})
    y = np.where(rng.random(400) < 0.9, np.repeat([0, 1], 200), 0)
    model = tb.BayesClassifier(parts=("neighbors",), weighting="none").fit(X, y)
    answers = model.predict_proba(pd.DataFrame({"a": [0.0, 1.0], "id": ["n1", "n1"]}))[:, 1]
    assert answers[0] < 0.1
    assert answers[1] > 0.7


def test_a_table_without_numbers_or_frequent_levels_has_none() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"town": [f"t{v}" for v in rng.integers(0, 60, 300)]})
    y = rng.integers(0, 2, 300)
    model = tb.BayesClassifier("best", members=2).fit(X, y)
    assert "neighbors" not in model.weights_
    with pytest.raises(OptionError, match="None of the components suits this table"):
        tb.BayesClassifier(parts=("neighbors",)).fit(X, y)


def test_uninformative_columns_and_missing_values() -> None:
    X, y = spirals(600)
    odd = X.assign(gaps=np.nan, same=3.0, few=np.where(np.arange(600) % 300, np.nan, X["east"]))
    odd.loc[::7, "north"] = np.nan
    model = tb.BayesClassifier("best", members=2).fit(odd, y)
    assert len(part(model).normal_scores.column) == 5  # east, north, two colors, few
    assert log_loss(model, odd, y) < 0.4


def test_columns_too_many_to_look_through_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbors, "MAX_NUMBERS", 1000)
    X, y = spirals(600)
    model = tb.BayesClassifier("best", members=2).fit(X, y)
    assert part(model) is None
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("weighting", ["temperature", "none", "features"])
def test_it_counts_with_every_weighting(weighting: str) -> None:
    X, y = spirals(400)
    with_it = tb.BayesClassifier("fast", parts=("networks", "neighbors"), weighting=weighting, members=2).fit(X, y)
    assert with_it.weights_["neighbors"] > 0
    without = tb.BayesClassifier("fast", parts=("networks",), weighting=weighting, members=2).fit(X, y)
    more, labels = spirals(500, 4)
    assert log_loss(with_it, more, labels) < log_loss(without, more, labels)


def test_contexts_of_best_are_for_few_rows_and_nearest_ones_for_more() -> None:
    for n, own, other in ((300, "class_trees", "neighbors"), (600, "neighbors", "class_trees")):
        X, y = spirals(n)
        chosen = tb.BayesClassifier("best", members=2).fit(X, y)
        assert own in chosen.weights_
        assert other not in chosen.weights_
        assert other in tb.BayesClassifier("best", members=2, parts=("networks", other)).fit(X, y).weights_
    X, y = spirals(600)
    words = pd.DataFrame({"east": np.where(X["east"] > 0, "e", "w"), "color": X["color"]})
    assert "neighbors" not in tb.BayesClassifier("best", members=2).fit(words, y).weights_
