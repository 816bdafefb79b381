"""Parts counted elsewhere with one plan, sent as bytes and merged in any order, are one fit."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.distributions.statistics import arrays_of
from tallybayes.errors import MergeError, ModelFileError, OptionError
from tests.every_estimator import ESTIMATORS, LEARNED, labels
from tests.laws.test_learning_is_adding import arrays, same_answers, same_tally, take

ALL = {**ESTIMATORS, **LEARNED}


def planned(name: str, n: int = 90) -> tuple[Any, Any, Any]:
    make, data = ALL[name]
    rng = np.random.default_rng(7)
    X, y = data(rng, n), labels(rng, n)
    return make().fit(X, y), X, y


def parts_of(plan: Any, X: Any, y: Any, cuts: list[int]) -> list[Any]:
    ends = [0, *cuts, len(y)]
    rows = np.arange(len(y))
    return [plan.copy().partial_fit(take(X, rows[a:b]), y[a:b]) for a, b in pairwise(ends)]


@pytest.mark.parametrize("name", list(ALL))
def test_empty_has_settled_all_and_counted_nothing(name: str) -> None:
    whole, X, y = planned(name)
    plan = tb.from_bytes(tb.to_bytes(whole.empty()))
    assert plan.class_count_.sum() == 0
    before = arrays(whole)
    again = plan.copy().partial_fit(X, y)
    for key, value in arrays(again).items():
        np.testing.assert_array_equal(value, before[key], err_msg=key)
    np.testing.assert_array_equal(again.predict_proba(X), whole.predict_proba(X))
    assert plan.class_count_.sum() == 0  # a model of its own


@pytest.mark.parametrize("name", list(ALL))
def test_parts_sent_as_bytes_and_merged_are_one_fit(name: str) -> None:
    whole, X, y = planned(name)
    plan = tb.to_bytes(whole.empty())
    parts = [tb.to_bytes(part) for part in parts_of(tb.from_bytes(plan), X, y, [1, 13, 14, 60])]
    merged = tb.merge_all(tb.from_bytes(part) for part in parts)
    same_tally(merged, whole)
    same_answers(merged, whole, X)


@pytest.mark.parametrize("name", list(ALL))
def test_the_order_of_parts_does_not_matter(name: str) -> None:
    whole, X, y = planned(name)
    parts = parts_of(whole.empty(), X, y, [20, 40, 55])
    one, two = tb.merge_all(parts), tb.merge_all([parts[2], parts[3], parts[0], parts[1]])
    same_tally(one, two)
    assert one.schema_.levels == two.schema_.levels
    same_answers(one, two, X, 1e-10)


def test_a_level_that_only_one_part_has_is_kept_and_sorted() -> None:
    plan = tb.NaiveBayes().fit([{"sky": "grey"}], ["stay"]).empty()
    parts = [plan.copy().partial_fit([{"sky": sky}], ["sail"]) for sky in ("red", "blue", "clear")]
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        merged = tb.merge_all([parts[i] for i in order])
        assert merged.schema_.levels[0].labels == ("grey", "blue", "clear", "red")
        (term,) = merged.fitted_.terms
        assert arrays_of(term.statistics)["count"].tolist() == [[0, 1, 1, 1], [0, 0, 0, 0]]
        assert merged.predict_proba([{"sky": "red"}])[0].tolist() == [1.0, 0.0]


def test_counting_leaves_the_plan_as_it_is() -> None:
    model = tb.GaussianNB().fit([[1.0], [2.0]], ["a", "b"])
    part = model.empty().partial_fit([[5.0]], ["c"])
    assert model.classes_.tolist() == ["a", "b"]
    assert part.classes_.tolist() == ["a", "b", "c"]
    assert part.class_count_.tolist() == [0.0, 0.0, 1.0]


def test_weights_and_missing_values_count_in_parts() -> None:
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(50, 3)), labels(rng, 50), rng.random(50) + 0.1
    X[rng.random(X.shape) < 0.2] = np.nan
    whole = tb.GaussianNB().fit(X, y, w)
    plan = whole.empty()
    merged = tb.merge_all(
        plan.copy().partial_fit(X[i : i + 9], y[i : i + 9], sample_weight=w[i : i + 9]) for i in range(0, 50, 9)
    )
    same_answers(merged, whole, X)


def test_what_cannot_be_merged_is_refused() -> None:
    a = tb.GaussianNB().fit([[1.0]], ["a"])
    with pytest.raises(MergeError, match="no model to merge"):
        tb.merge_all([])
    with pytest.raises(MergeError, match="Cannot merge a PoissonNB"):
        tb.merge_all([a, tb.PoissonNB().fit([[1.0]], ["a"])])
    with pytest.raises(MergeError, match="different columns"):
        tb.merge_all([a, tb.GaussianNB().fit([[1.0, 2.0]], ["a"])])
    for bad in (a, 3, [a, "b"]):
        with pytest.raises(OptionError, match="merge_all takes"):
            tb.merge_all(bad)  # type: ignore[arg-type]
    assert tb.merge_all([a]) is not a
    assert a.class_count_.tolist() == [1.0]


def test_bytes_that_are_no_model() -> None:
    good = tb.to_bytes(tb.GaussianNB().fit([[1.0]], ["a"]))
    for bad in (b"", good[:-1], good + b"x", bytes(len(good)), good[:40] + b"!" + good[41:]):
        with pytest.raises(ModelFileError, match="These bytes hold no model"):
            tb.from_bytes(bad)
    with pytest.raises(OptionError, match="load"):
        tb.from_bytes("model.tb")  # type: ignore[arg-type]


def test_a_process_can_count_without_scikit_learn() -> None:
    plan = tb.to_bytes(tb.NaiveBayes().fit([{"sky": "grey", "wind": 2.0}], ["stay"]).empty())
    code = (
        "import sys; import tallybayes as tb; plan = tb.from_bytes(sys.stdin.buffer.read());"
        "part = plan.copy().partial_fit([{'sky': 'red', 'wind': 3.0}], ['sail']);"
        "sys.stdout.buffer.write(tb.to_bytes(tb.merge_all([part, part])));"
        "assert 'sklearn' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], input=plan, capture_output=True, check=True)
    assert tb.from_bytes(done.stdout).class_count_.tolist() == [2.0, 0.0]


def test_columns_that_differ_are_not_merged() -> None:
    import pandas as pd

    X, y = pd.DataFrame({"u": [1.0, 2.0, 0.0, 1.0], "v": [0.0, 1.0, 3.0, 4.0]}), ["a", "a", "b", "b"]
    first = tb.GaussianNB().fit(X, y)
    with pytest.raises(MergeError, match="Column 'u' is count in one model and real in the other"):
        tb.NaiveBayes(schema={"u": "count"}).fit(X, y).merge(tb.NaiveBayes().fit(X, y))
    with pytest.raises(MergeError, match="Columns only in one of them: 'u', 'x'"):
        tb.TAN().fit(X, y).merge(tb.TAN().fit(X.rename(columns={"u": "x"}), y))
    with pytest.raises(TypeError, match="unsupported operand"):
        first + 3
