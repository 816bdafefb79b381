"""The one sentence that each memory promises (docs/deleting-data.md), at a size where every component is active.

720 rows of mixed columns in eight parts; six of them are fitted, and then any order of partial_fit, forget and merge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from tallybayes.errors import ForgetError
from tests.every_estimator import all_components, interactions
from tests.laws.test_every_component_active import active
from tests.laws.test_learning_is_adding import same_answers, same_tally

PARTS, SIZE, FIRST = 8, 90, 7
X, Y = interactions(np.random.default_rng(5), PARTS * SIZE)
WITHOUT_ROWS = ("networks", "naive", "target_encoding", "gaussian", "class_trees")
MODELS: dict[str, Callable[[str], Any]] = {
    "BayesClassifier": lambda memory: (
        tb.BayesClassifier(members=2, parts=WITHOUT_ROWS, memory=memory)
        if memory in ("sums", "hashes")
        else all_components().set_params(memory=memory)
    ),
    "NaiveBayes": lambda memory: tb.NaiveBayes(memory=memory),
    "TAN": lambda memory: tb.TAN(memory=memory),
    "AODE": lambda memory: tb.AODE(memory=memory),
}
# which part, and how it comes if it is not there; one that is there is forgotten
steps = st.lists(
    st.tuples(st.integers(0, PARTS - 1), st.sampled_from(["partial_fit", "merge"])), min_size=2, max_size=5
)


def rows(parts: Any) -> tuple[Any, Any]:
    at = np.concatenate([np.arange(k * SIZE, (k + 1) * SIZE) for k in sorted(parts)])
    return X.iloc[at], Y[at]


def walked(model: Any, way: list[tuple[int, str]], part: Callable[[int], Any]) -> tuple[Any, set[int]]:
    """The model after some steps, and the parts that it has then."""
    there = set(range(FIRST))
    for k, how in way:
        if k in there and len(there) > 1:
            model.forget(*rows([k]))
            there.remove(k)
        elif k not in there:
            model = model.partial_fit(*rows([k])) if how == "partial_fit" else model.merge(part(k))
            there.add(k)
    return model, there


def test_every_component_is_active() -> None:
    active(MODELS["BayesClassifier"]("sample").fit(*rows(range(FIRST))))


@pytest.mark.filterwarnings("ignore::tallybayes.errors.UnseenCategoryWarning")
@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=3)
@given(way=steps)
def test_rows_the_model_is_to_the_bit_the_fit_of_the_rows_that_remain(name: str, way: list[tuple[int, str]]) -> None:
    make = MODELS[name]
    model, there = walked(make("rows").fit(*rows(range(FIRST))), way, lambda k: make("rows").fit(*rows([k])))
    assert tb.to_bytes(model) == tb.to_bytes(make("rows").fit(*rows(there)))
    absent = sorted(set(range(PARTS)) - there)
    if absent:
        with pytest.raises(ForgetError):
            model.forget(*rows(absent[:1]))


@pytest.mark.filterwarnings("ignore::tallybayes.errors.UnseenCategoryWarning")
@pytest.mark.parametrize("memory", ["sums", "hashes", "sample"])
@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=3)
@given(way=steps)
def test_the_statistics_are_those_of_the_rows_that_remain_counted_with_the_same_plan(
    name: str, memory: str, way: list[tuple[int, str]]
) -> None:
    model = MODELS[name](memory).fit(*rows(range(FIRST)))
    plan = model.empty()
    model, there = walked(model, way, lambda k: plan.copy().partial_fit(*rows([k])))
    expected = plan.copy().partial_fit(*rows(there))
    same_tally(model, expected, moments=1e-9)
    same_answers(model, expected, X, tol=1e-6)
    absent = sorted(set(range(PARTS)) - there)
    if memory == "hashes" and absent:
        with pytest.raises(ForgetError):
            model.forget(*rows(absent[:1]))
    if memory == "sample" and name != "BayesClassifier":
        fitted = MODELS[name]("rows").fit(*rows(there))
        np.testing.assert_array_equal(model.relearn().predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize("memory", ["sums", "sample"])
def test_many_rows_are_forgotten_as_if_the_plan_had_never_counted_them(memory: str) -> None:
    """Beyond 8,000 rows, which once were the most that an ensemble kept."""
    X, Y = interactions(np.random.default_rng(0), 9000)
    gone = np.arange(9000) % 9 == 0
    model = tb.BayesClassifier("fast", memory=memory).fit(X, Y)
    expected = model.empty().partial_fit(X[~gone], Y[~gone])
    same_tally(model.forget(X[gone], Y[gone]), expected, moments=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-9)
