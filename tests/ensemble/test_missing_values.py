"""A missing value in a column where a BayesClassifier saw none has no evidence; one that it learned may."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.errors import IdentifierColumnWarning, UnseenCategoryWarning

COLUMNS = ("a", "b", "c", "d")


def rows_of(n: int = 400, seed: int = 0) -> tuple[list[dict[str, Any]], list[str]]:
    """Two columns that repeat each other, one that says something by itself, one that says nothing."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.8
    a = np.where(rng.random(n) < 0.75, y, ~y)
    b = np.where(rng.random(n) < 0.95, a, ~a)
    c = rng.integers(0, 3, n) + (rng.random(n) < 0.4) * y
    found = zip(a, b, c, rng.integers(0, 3, n), strict=True)
    rows = [{"a": f"a{int(i)}", "b": f"b{int(j)}", "c": f"c{k}", "d": f"d{m}"} for i, j, k, m in found]
    return rows, ["yes" if v else "no" for v in y]


def without_rule(rows: Any, y: Any, **options: Any) -> Any:
    """The same model, with the stacked score alone where values are missing."""
    model: Any = tb.BayesClassifier(**options).fit(rows, y)
    for fitted in (model.fitted_, model.predictor_.fitted):
        vars(fitted.terms[0].distribution)["missing_rule"] = None
    return model


def evidence_of(model: Any, rows: Any) -> Any:
    """(rows, columns, classes)"""
    return model.predictor_.terms(model.predictor_.read(rows))


@pytest.mark.parametrize("options", [{"effort": "fast"}, {}, {"parts": ("naive", "class_trees")}, {"members": 1}])
def test_nothing_known_is_the_prior_and_one_cell_its_share(options: Any) -> None:
    rows, y = rows_of()
    model = tb.BayesClassifier(**options).fit(rows, y)
    n = len(y)
    share = (np.array([y.count("no"), y.count("yes")]) + 0.5) / (n + 1)
    np.testing.assert_allclose(model.predict_proba([{}, {"a": None}]), [share, share], rtol=0, atol=1e-12)
    for value in ("a0", "a1"):
        own = [label == "yes" for row, label in zip(rows, y, strict=True) if row["a"] == value]
        assert model.predict_proba([{"a": value}])[0, 1] == pytest.approx(np.mean(own), abs=0.02)


def test_between_the_two_each_has_its_part() -> None:
    """Without parents the networks' mean is that of its cells, each of which is what a row of it alone says."""
    rows, y = rows_of()
    options: Any = {"members": 4, "parents": 0}
    model, old = tb.BayesClassifier(**options).fit(rows, y), without_rule(rows, y, **options)
    asked = [{"a": "a1", "c": "c0"}, {"b": "b0", "c": "c2", "d": "d1"}]
    prior = model.predict_joint_log_proba([{}])
    for row in asked:
        t = (len(row) - 1) / 3
        cells = sum(model.predict_joint_log_proba([{k: v}]) - prior for k, v in row.items())
        wanted = prior + t * (old.predict_joint_log_proba([row]) - prior) + (1 - t) * cells
        np.testing.assert_allclose(model.predict_joint_log_proba([row]), wanted, rtol=0, atol=1e-9)


def test_whole_rows_and_learned_missing_values_are_predicted_as_before() -> None:
    rows, y = rows_of()
    for i, row in enumerate(rows):
        if i % 5 == 0 or (i % 2 and y[i] == "no"):
            row["d"] = None
    model, old = tb.BayesClassifier("fast").fit(rows, y), without_rule(rows, y, effort="fast")
    np.testing.assert_array_equal(model.predict_joint_log_proba(rows), old.predict_joint_log_proba(rows))
    assert sum(row["d"] is None for row in rows) > 80
    # the missing value itself is evidence, beside others that are none
    asked = {"a": "a1", "d": None}
    reported = evidence_of(model, [asked])[0]
    assert np.ptp(reported[3]) > 0.1
    np.testing.assert_array_equal(reported[[1, 2]], 0.0)


@pytest.mark.parametrize("effort", ["fast", "balanced"])
def test_a_missing_value_has_no_evidence_and_the_rest_sums_to_the_prediction(effort: str) -> None:
    rows, y = rows_of()
    for i, row in enumerate(rows):
        row["e"] = float(i % 17) + (y[i] == "yes")
    model = tb.BayesClassifier(effort).fit(rows, y)
    rng = np.random.default_rng(1)
    asked = [{k: v for k, v in row.items() if rng.random() < 0.6} for row in rows[:60]] + [{}]
    reported = evidence_of(model, asked)
    gone = np.array([[k not in row for k in (*COLUMNS, "e")] for row in asked])
    assert gone.any(axis=0).all()
    np.testing.assert_array_equal(reported[:, :-1][gone], 0.0)
    np.testing.assert_array_equal(reported[-1], 0.0)  # nothing is known: what belongs to no column is nothing, too
    assert "missing" not in model.explain(asked).text(60)
    joint = model.predictor_.offset + reported.sum(axis=1)
    wanted = model.predict_log_proba(asked)
    np.testing.assert_allclose(joint - joint[:, :1], wanted - wanted[:, :1], rtol=0, atol=1e-9)


def test_an_unseen_category_is_a_missing_value() -> None:
    rows, y = rows_of()
    model = tb.BayesClassifier("fast").fit(rows, y)
    with pytest.warns(UnseenCategoryWarning):
        found = model.predict_proba([{"a": "a1", "b": "?"}])
    np.testing.assert_array_equal(found, model.predict_proba([{"a": "a1"}]))


def test_an_ignored_column_is_none_that_could_be_known() -> None:
    rows, y = rows_of()
    named: Any = [{"who": f"n{i}", **row} for i, row in enumerate(rows)]
    schema = {"who": "categorical"}
    with pytest.warns(IdentifierColumnWarning):
        model = tb.BayesClassifier("fast", schema=schema).fit(named, y)
    with_name, without = model.predict_proba([named[0]]), model.predict_proba([rows[0]])
    np.testing.assert_array_equal(with_name, without)


def test_rows_with_missing_values_that_came_later_are_left_out_in_turn() -> None:
    rows, y = rows_of()
    some: Any = [{"a": "a1"}, {"b": "b0", "c": "c1"}, {"a": None}]
    model = tb.BayesClassifier("fast").fit(rows, y).partial_fit([*some, *some], ["yes", "no", "yes"] * 2)
    left, asked = model.leave_one_out(some, ["yes", "no", "yes"]), model.predict_log_proba(some)
    np.testing.assert_allclose(left, asked, rtol=0, atol=0.1)
    assert (left != asked).any()
    weight = np.array([y.count("no") + 2, y.count("yes") + 3]) + 0.5
    np.testing.assert_allclose(left[2], np.log(weight / weight.sum()), rtol=0, atol=1e-9)


@pytest.mark.parametrize("weighting", ["none", "temperature", "features"])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_logarithms_of_nothing_make_no_nan(weighting: str, alpha: float) -> None:
    rows, y = rows_of(40)
    model = tb.BayesClassifier(weighting=weighting, smoothing="laplace", alpha=alpha, members=2).fit(rows, y)
    asked = [{}, *({k: row[k]} for row in rows[:6] for k in COLUMNS), *({**row, "b": None} for row in rows[:6])]
    found = model.predict_proba(asked)
    assert np.isfinite(found).all()
    assert not np.isnan(evidence_of(model, asked)).any()
