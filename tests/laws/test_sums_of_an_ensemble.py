"""BayesClassifier(memory='sums'): no row is kept; statistics are those of the rows that are left, choices stay."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.errors import MergeError, ModelFileError, OptionError
from tallybayes.io.model_document import to_document
from tests.every_estimator import interactions

N, LEFT = 420, 380  # enough for every component that takes part
PARTS = ("networks", "naive", "target_encoding", "gaussian", "class_trees")


def make(**options: Any) -> tb.BayesClassifier:
    return tb.BayesClassifier(members=2, parts=PARTS, memory="sums", **options)


@pytest.fixture(scope="module")
def rows() -> tuple[Any, Any]:
    return interactions(np.random.default_rng(0), N)


@pytest.fixture(scope="module")
def whole(rows: tuple[Any, Any]) -> tb.BayesClassifier:
    return make().fit(*rows)


def statistics(model: Any) -> dict[str, Any]:
    return vars(model.fitted_.terms[0].statistics)


def assert_same(one: Any, other: Any, X: Any) -> None:
    a, b = statistics(one), statistics(other)
    for name in ("single", "chains", "gaussian_n"):
        np.testing.assert_array_equal(a[name], b[name])
    for name in ("gaussian_mean", "gaussian_scatter"):
        np.testing.assert_allclose(a[name], b[name], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-9)


def test_every_component_takes_part(whole: tb.BayesClassifier) -> None:
    ensemble = whole._ensemble()
    assert {part.name for part in ensemble.components} >= {"networks", "naive", "target_encoding", "gaussian"}
    assert (ensemble.child < 0).any()
    assert all(np.abs(own).max() > 0 for own in (ensemble.fixed_weights, ensemble.fixed_biases))


def test_the_fit_is_that_of_a_sample_without_boosting_and_neighbours(rows: Any, whole: tb.BayesClassifier) -> None:
    sampled = tb.BayesClassifier(members=2, parts=PARTS).fit(*rows)
    np.testing.assert_array_equal(whole.predict_proba(rows[0]), sampled.predict_proba(rows[0]))


def test_forgetting_learning_and_merging_change_statistics_alone(rows: Any, whole: tb.BayesClassifier) -> None:
    X, y = rows
    plan = whole.empty()
    left = plan.copy().partial_fit(X[:LEFT], y[:LEFT])
    assert_same(whole.copy().forget(X[LEFT:], y[LEFT:]), left, X)
    assert_same(left.copy().partial_fit(X[LEFT:], y[LEFT:]), whole, X)
    rest = plan.copy().partial_fit(X[LEFT:], y[LEFT:])
    assert_same(left.copy().merge(rest), whole, X)
    assert_same(tb.merge_all([rest, left]), whole, X)
    assert whole.copy().forget(X[LEFT:], y[LEFT:]).weights_ == whole.weights_


def test_a_class_that_comes_later_has_no_bias_and_moves_no_other(rows: Any, whole: tb.BayesClassifier) -> None:
    X = rows[0]
    more = whole.copy().partial_fit(X[:9], ["aa"] * 9)
    np.testing.assert_array_equal(more._ensemble().fixed_biases, np.insert(whole._ensemble().fixed_biases, 1, 0.0))
    merged = tb.merge_all([whole, whole.empty().partial_fit(X[:9], ["aa"] * 9)])
    assert_same(merged, more, X)
    assert_same(more.forget(X[:9], ["aa"] * 9), whole, X)


def test_no_row_is_kept(rows: Any, whole: tb.BayesClassifier) -> None:
    X, y = rows
    for model in (whole, whole.copy().partial_fit(X[:50], y[:50]), pickle.loads(pickle.dumps(whole))):
        held = statistics(model)
        assert held["sample_codes"].size == held["sample_key"].size == held["sample_label"].size == 0
    sampled = tb.BayesClassifier(members=2, parts=PARTS).fit(X, y)
    _, arrays = to_document(whole, {})
    assert N in {n for a in to_document(sampled, {})[1] for n in a.shape}  # what is looked for can be found
    assert N not in {n for a in arrays for n in a.shape}


def test_the_file_gives_the_same_bits(rows: Any, whole: tb.BayesClassifier) -> None:
    read = tb.from_bytes(tb.to_bytes(whole))
    np.testing.assert_array_equal(read.predict_proba(rows[0]), whole.predict_proba(rows[0]))
    assert tb.to_bytes(read.forget(rows[0][:5], rows[1][:5])) == tb.to_bytes(
        whole.copy().forget(*(v[:5] for v in rows))
    )


def test_one_network_is_a_model_of_its_own(rows: Any, whole: tb.BayesClassifier) -> None:
    X, y = rows
    one = whole.network(1)
    counted = tb.from_bytes(tb.to_bytes(whole.empty().partial_fit(X, y).network(1)))
    np.testing.assert_array_equal(one.predict_proba(X), counted.predict_proba(X))
    assert "no rows" in one.summary()
    assert one.score(X, y) > 0.6


def test_texts_beside_other_columns(rows: Any) -> None:
    X, y = rows
    X = X.assign(note=[f"some words of class {label} and {i % 7}" for i, label in enumerate(y)])
    model = tb.BayesClassifier("fast", {"note": "text"}, memory="sums").fit(X, y)
    left = model.empty().partial_fit(X[:LEFT], y[:LEFT])
    np.testing.assert_allclose(
        model.copy().forget(X[LEFT:], y[LEFT:]).predict_proba(X), left.predict_proba(X), atol=1e-9
    )


def test_options_that_need_rows_are_refused(rows: Any, whole: tb.BayesClassifier) -> None:
    X, y = rows
    with pytest.raises(OptionError, match="neighbors and boosting need rows, and memory='sums' keeps none"):
        tb.BayesClassifier(parts=("networks", "neighbors", "boosting"), memory="sums").fit(X, y)
    with pytest.raises(OptionError, match="memory was set to 'sample' after a fit that kept no rows"):
        whole.copy().set_params(memory="sample").partial_fit(X, y)
    with pytest.raises(OptionError, match="weighting was changed"):
        whole.copy().set_params(weighting="none").partial_fit(X, y)
    with pytest.raises(MergeError, match="different bins and networks"):
        whole.copy().merge(make().fit(X[:400], y[:400]))


def test_damaged_choices_in_a_file_are_refused(whole: tb.BayesClassifier) -> None:
    ensemble, term = whole._ensemble(), whole.fitted_.terms[0]
    for name, value in {
        "fixed_weights": ensemble.fixed_weights[1:],
        "fixed_biases": np.full(3, np.nan),
        "fixed_concentrations": -ensemble.fixed_concentrations - 1,
        "fixed_pseudo_counts": ensemble.fixed_pseudo_counts * 0,
        "fixed_numbers": np.full(8, np.inf),
        "boosting": 1,
    }.items():
        damaged = whole.copy()
        bad = replace(term, distribution=replace(ensemble, **{name: value}))
        damaged._set_fitted(replace(whole.fitted_, terms=(bad,)))
        with pytest.raises((ModelFileError, OptionError)):
            tb.from_bytes(tb.to_bytes(damaged))
