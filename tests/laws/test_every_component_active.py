"""The laws of learning on a BayesClassifier in which every component is active: boosting, neighbours, target encoding,
the Gaussian discriminant and class trees do nothing on the few rows of the other laws."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import tallybayes as tb
from tallybayes.distributions.base import same_statistics
from tests.every_estimator import all_components, interactions
from tests.laws.test_learning_is_adding import arrays, same_answers, same_tally, take

N, CUT = 360, 240
SEEDS = (0, 1)


@pytest.fixture(scope="module", params=SEEDS)
def learned(request: pytest.FixtureRequest) -> tuple[Any, Any, Any]:
    X, y = interactions(np.random.default_rng(request.param), N)
    return all_components().fit(X, y), X, y


def active(model: Any) -> None:
    """Every component takes part in the predictions of this model."""
    p = model.predictor_.fitted.terms[0].params
    for component in (p.target_encoding, p.gaussian, p.neighbors, p.boosting):
        assert component is not None
    assert p.boosting.count > 0
    parts = {"networks", "uniform_networks", "naive", "class_trees", "target_encoding", "neighbors", "gaussian"}
    assert set(model.weights_) == parts
    assert {name for name, own in model.weights_.items() if np.any(list(np.atleast_1d(_numbers(own))))} >= {
        "networks",
        "target_encoding",
        "neighbors",
    }


def _numbers(own: Any) -> Any:
    return list(own.values()) if isinstance(own, dict) else own


def halves(X: Any, y: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    rows = np.arange(len(y))
    return (take(X, rows[:CUT]), y[:CUT]), (take(X, rows[CUT:]), y[CUT:])


def test_every_component_is_active(learned: Any) -> None:
    model, X, y = learned
    active(model)
    (A, a), (B, b) = halves(X, y)
    active(all_components().fit(A, a))
    active(model.copy().forget(B, b))


def test_merged_parts_are_one_fit(learned: Any) -> None:
    model, X, y = learned
    (A, a), (B, b) = halves(X, y)
    plan = tb.from_bytes(tb.to_bytes(model.empty()))
    here, there = plan.copy().partial_fit(A, a), plan.copy().partial_fit(B, b)
    for merged in (here.copy().merge(there), there.copy().merge(here), plan.copy().partial_fit(A, a).partial_fit(B, b)):
        same_tally(merged, model)
        same_answers(merged, model, X)


def test_forgetting_undoes_learning(learned: Any) -> None:
    _, X, y = learned
    (A, a), (B, b) = halves(X, y)
    before = all_components().fit(A, a)
    after = before.copy().partial_fit(B, b).forget(B, b)
    np.testing.assert_array_equal(after.fitted_.weight, before.fitted_.weight)
    same_answers(after, before, X)


def test_forgetting_keeps_the_layout_and_the_statistics_of_what_is_left(learned: Any) -> None:
    """fit(A ∪ B).forget(B) against fit(A): statistics as of A alone, in the bins and networks of A ∪ B."""
    model, X, y = learned
    (A, a), (B, b) = halves(X, y)
    left = model.copy().forget(B, b)
    same_layout = model.empty().partial_fit(A, a)
    same_tally(left, same_layout, 1e-9)
    same_answers(left, same_layout, X)
    assert same_statistics(left._ensemble(), model._ensemble())
    alone = all_components().fit(A, a)
    np.testing.assert_array_equal(left.class_count_, alone.class_count_)
    for column in ("town", "color"):  # the counts of categories do not depend on a layout
        np.testing.assert_array_equal(category_counts(left, column, X), category_counts(alone, column, X))
    assert np.abs(left.predict_proba(X) - alone.predict_proba(X)).mean() < 0.1


def category_counts(model: Any, column: str, X: Any) -> Any:
    """(classes, labels) in the order of the labels; a label that the model has not seen counts 0."""
    j = model.schema_.names.index(column)
    (term,) = model.fitted_.terms
    at, s = term.columns.index(j), term.statistics
    first = int(s.sizes[:at].sum())
    own = dict(zip(model.schema_.levels[j].labels, s.single[:, first : first + int(s.sizes[at])].T, strict=False))
    return [own.get(label, np.zeros(len(s.single))).tolist() for label in sorted(X[column].unique())]


def test_weight_two_is_twice_and_weight_zero_is_absent(learned: Any) -> None:
    _, X, y = learned
    w = np.random.default_rng(3).integers(0, 3, size=len(y)).astype(float)
    w[np.unique(y, return_index=True)[1]] = 1.0
    repeated = np.repeat(np.arange(len(y)), w.astype(int))
    weighted, twice = all_components().fit(X, y, sample_weight=w), all_components().fit(take(X, repeated), y[repeated])
    active(weighted)
    same_answers(weighted, twice, take(X, repeated), 1e-6)


def test_order_of_rows_does_not_matter(learned: Any) -> None:
    model, X, y = learned
    order = np.random.default_rng(4).permutation(len(y))
    same_answers(all_components().fit(take(X, order), y[order]), model, X, 1e-6)


def test_same_bits_for_any_number_of_threads(learned: Any) -> None:
    _, X, y = learned
    found = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            model = all_components().fit(X, y)
            found.append((arrays(model), model.predict_joint_log_proba(X), model.leave_one_out(X, y)))
    np.testing.assert_equal(found[1], found[0])
    np.testing.assert_equal(found[2], found[0])


def test_pickles_copies_and_files_predict_the_same_bits(learned: Any) -> None:
    model, X, y = learned
    predictions = model.predict_joint_log_proba(X)
    counterparts = (
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        model.copy(),
        tb.from_bytes(tb.to_bytes(model)),
    )
    for counterpart in counterparts:
        np.testing.assert_array_equal(counterpart.predict_joint_log_proba(X), predictions)
        np.testing.assert_array_equal(counterpart.leave_one_out(X[:40], y[:40]), model.leave_one_out(X[:40], y[:40]))
    (A, a), _ = halves(X, y)
    later = [counterpart.partial_fit(A, a).predict_joint_log_proba(X) for counterpart in counterparts]
    for found in later[1:]:
        np.testing.assert_array_equal(found, later[0])


def test_one_row_is_predicted_as_in_a_table(learned: Any) -> None:
    model, X, _ = learned
    table = model.predict_proba(X[:5])
    for row, want in zip(X[:5].to_dict("records"), table, strict=True):
        found = model.predict_proba_one(row)
        np.testing.assert_array_equal([found[c] for c in model.classes_], want)
