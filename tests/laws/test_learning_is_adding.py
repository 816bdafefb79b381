"""fit(A ∪ B) = fit(A) + fit(B), and what follows: forgetting, weights, order, decay, threads."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

import tallybayes as tb
from tallybayes.distributions.statistics import arrays_of
from tallybayes.errors import ForgetError, MergeError, TallybayesError
from tests.every_estimator import CUT, ESTIMATORS, LEARNED, labels

NAMES = list(ESTIMATORS)
ALL = {**ESTIMATORS, **LEARNED}
seeds = st.integers(0, 10_000)


def take(X: Any, rows: Any) -> Any:
    return X.iloc[rows].reset_index(drop=True) if hasattr(X, "iloc") else X[rows]


def turned(X: Any, order: Any) -> Any:
    return X.iloc[:, order] if hasattr(X, "iloc") else X[:, order]


def parts(name: str, seed: int, n: int = 60) -> tuple[Any, Any, Any, Any]:
    """A maker, and data whose first half already holds every label and level."""
    make, data = ALL[name]
    rng = np.random.default_rng(seed)
    return make, data(rng, n), labels(rng, n), data(rng, 20)


def arrays(model: Any) -> dict[str, Any]:
    found = {"weight": model.fitted_.weight}
    for i, term in enumerate(model.fitted_.terms):
        found.update({f"{i} {key}": value for key, value in arrays_of(term.statistics).items()})
    return found


def same_tally(a: Any, b: Any, moments: float = 1e-12) -> None:
    """Counts bit for bit; means and squares to rounding."""
    left, right = arrays(a), arrays(b)
    assert left.keys() == right.keys()
    for key, value in left.items():
        if key.split()[-1] in (
            "mean",
            "m2",
            "m3",
            "m4",
            "scatter",
            "third",
            "fourth",
            "gaussian_mean",
            "gaussian_scatter",
        ):
            scale = np.abs(right[key]).max(initial=0)
            np.testing.assert_allclose(value, right[key], rtol=moments, atol=moments * scale, err_msg=key)
        elif key.endswith(" low"):  # the digits of the mean beyond float64
            whole = right[key.replace("low", "mean")]
            np.testing.assert_allclose(value, right[key], rtol=0, atol=moments * np.abs(whole).max(initial=0))
        else:
            np.testing.assert_array_equal(value, right[key], err_msg=key)


def same_answers(a: Any, b: Any, X: Any, tol: float = 1e-9) -> None:
    assert a.classes_.tolist() == b.classes_.tolist()
    np.testing.assert_allclose(a.predict_joint_log_proba(X), b.predict_joint_log_proba(X), rtol=tol, atol=tol)


@pytest.mark.parametrize("name", NAMES)
@given(seed=seeds, cut=st.integers(20, 50))
def test_merge_equals_fit_of_all(name: str, seed: int, cut: int) -> None:
    make, X, y, _ = parts(name, seed)
    rows = np.arange(len(y))
    schema = make().fit(X, y).schema_  # cuts and levels agreed on beforehand
    if name.startswith("NaiveBayes") or name in CUT:
        whole = make().set_params(schema=schema).fit(X, y)
        a = make().set_params(schema=schema).fit(take(X, rows[:cut]), y[:cut])
        b = make().set_params(schema=schema).fit(take(X, rows[cut:]), y[cut:])
    else:
        whole = make().fit(X, y)
        a, b = make().fit(take(X, rows[:cut]), y[:cut]), make().fit(take(X, rows[cut:]), y[cut:])
    before = copy.deepcopy(arrays(a))
    merged = a.copy().merge(b)
    np.testing.assert_equal(arrays(a), before)  # + leaves its operands alone
    same_answers(merged, whole, X)
    same_answers(a.merge(b), whole, X)
    if not re.search("words|mixed|dates", name):  # levels met in another order are numbered in another order
        same_tally(merged, whole)


@pytest.mark.parametrize("name", NAMES)
@given(seed=seeds, steps=st.integers(1, 4))
def test_partial_fit_equals_fit(name: str, seed: int, steps: int) -> None:
    make, X, y, _ = parts(name, seed)
    if name in CUT:  # cuts are chosen by the first batch
        schema = make().fit(X, y).schema_
        maker = lambda: make().set_params(schema=schema)  # noqa: E731
    else:
        maker = make
    whole, bits = maker().fit(X, y), maker()
    for rows in np.array_split(np.arange(len(y)), steps):
        bits.partial_fit(take(X, rows), y[rows])
    same_tally(bits, whole)
    same_answers(bits, whole, X)


@pytest.mark.parametrize("name", list(ALL))
@given(seed=seeds, cut=st.integers(30, 57))
def test_forgetting_undoes_learning(name: str, seed: int, cut: int) -> None:
    make, X, y, _ = parts(name, seed)
    rows = np.arange(len(y))
    before = make().fit(take(X, rows[:cut]), y[:cut])
    answers = before.predict_joint_log_proba(take(X, rows[:cut]))
    model = pickle.loads(pickle.dumps(before)).partial_fit(take(X, rows[cut:]), y[cut:])
    model.forget(take(X, rows[cut:]), y[cut:])
    assert model.classes_.tolist() == before.classes_.tolist()
    np.testing.assert_array_equal(model.fitted_.weight, before.fitted_.weight)
    got = model.predict_joint_log_proba(take(X, rows[:cut]))
    np.testing.assert_allclose(got, answers, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", list(ALL))
def test_a_model_that_forgot_every_row_adds_nothing_and_learns_again(name: str) -> None:
    make, X, y, _ = parts(name, 2)
    whole = make().fit(X, y)
    empty = copy.deepcopy(whole).forget(X, y)
    assert empty.class_count_.sum() == 0
    with pytest.raises(NotFittedError, match="has forgotten every row"):
        empty.predict(X)
    same_answers(whole.copy().merge(empty), whole, X)
    same_answers(empty.copy().merge(whole), whole, X)
    again = empty.partial_fit(X, y)
    np.testing.assert_array_equal(again.class_count_, whole.class_count_)
    if name.split()[0] != "BayesClassifier":  # its bins were made for levels whose names are forgotten
        same_answers(again, whole, X)


@pytest.mark.parametrize("name", list(ALL))
def test_rows_are_forgotten_one_by_one_in_any_order_to_the_last(name: str) -> None:
    """However few are left: columns of few values leave cells that never vary."""
    make, X, y, _ = parts(name, 0)
    rng = np.random.default_rng(0)
    w, order = rng.integers(1, 4, len(y)).astype(float), rng.permutation(len(y))
    model = make().fit(X, y, sample_weight=w)
    plan = model.empty()
    for left in range(len(y) - 1, -1, -1):
        i = order[left : left + 1]
        model.forget(take(X, i), y[i], sample_weight=w[i])
        if left == 30:
            rest = order[:left]
            expected = plan.partial_fit(take(X, rest), y[rest], sample_weight=w[rest])
            same_answers(model, expected, take(X, rest), tol=1e-6)
    assert model.class_count_.sum() == 0


@pytest.mark.parametrize("name", list(ALL))
def test_forgetting_what_was_never_learned_changes_nothing(name: str) -> None:
    make, X, y, new = parts(name, 1)
    model = make().fit(X, y)
    before = copy.deepcopy(arrays(model))
    many = np.repeat(np.arange(20), 40)
    with pytest.raises(ForgetError, match="Nothing was changed"):
        model.forget(take(new, many), np.repeat(y[:20], 40))
    np.testing.assert_equal(arrays(model), before)


@pytest.mark.parametrize("name", list(ALL))
@given(seed=seeds)
def test_weight_two_is_twice_and_weight_zero_is_absent(name: str, seed: int) -> None:
    make, X, y, _ = parts(name, seed)
    w = np.random.default_rng(seed).integers(0, 3, size=len(y)).astype(float)
    w[[list(y).index(c) for c in "abc"]] = 1.0
    repeated = np.repeat(np.arange(len(y)), w.astype(int))
    schema = make().fit(take(X, repeated), y[repeated]).schema_ if name in CUT else None
    maker = (lambda: make().set_params(schema=schema)) if schema else make
    weighted = maker().fit(X, y, sample_weight=w)
    same_answers(weighted, maker().fit(take(X, repeated), y[repeated]), take(X, repeated))


@pytest.mark.parametrize("name", list(ALL))
@given(seed=seeds)
def test_order_of_rows_does_not_matter(name: str, seed: int) -> None:
    make, X, y, _ = parts(name, seed)
    order = np.random.default_rng(seed).permutation(len(y))
    same_answers(make().fit(X, y), make().fit(take(X, order), y[order]), X)


@pytest.mark.parametrize(
    "name",
    [n for n in NAMES if n not in ("MultinomialNB", "ComplementNB") and "mixed" not in n and "BayesNetwork" not in n],
)
@given(seed=seeds)
def test_order_of_columns_does_not_matter(name: str, seed: int) -> None:
    make, X, y, _ = parts(name, seed)
    order = np.random.default_rng(seed).permutation(X.shape[1])
    same_answers(make().fit(X, y), _Permuted(make().fit(turned(X, order), y), order), X)


class _Permuted:
    def __init__(self, model: Any, order: Any) -> None:
        self.model, self.order, self.classes_ = model, order, model.classes_

    def predict_joint_log_proba(self, X: Any) -> Any:
        return self.model.predict_joint_log_proba(turned(X, self.order))


@pytest.mark.parametrize("name", list(ALL))
def test_names_of_classes_do_not_matter(name: str) -> None:
    make, X, y, _ = parts(name, 3)
    back = {"a": 30, "b": -1, "c": 7}
    renamed = make().fit(X, np.array([back[c] for c in y]))
    model = make().fit(X, y)
    order = [renamed.classes_.tolist().index(back[c]) for c in model.classes_]
    # Stacking rounds differently in another order of classes: 1.02e-12 with AVX2, 7e-13 with the base kernels.
    np.testing.assert_allclose(renamed.predict_proba(X)[:, order], model.predict_proba(X), rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_decay_scales_the_past(name: str) -> None:
    make, X, y, _ = parts(name, 4)
    weighted = make().fit(X, y, sample_weight=np.full(len(y), 0.25))
    decayed = make().fit(X, y).decay(0.25)
    same_answers(decayed, weighted, X)
    with pytest.raises(TallybayesError, match="above 0"):
        decayed.decay(0.0)


@pytest.mark.parametrize("name", list(ALL))
def test_same_bits_for_any_number_of_threads(name: str) -> None:
    make, data = ALL[name]
    rng = np.random.default_rng(0)
    X, y = data(rng, 30_000), labels(rng, 30_000)
    w = rng.random(len(y))
    found = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            model = make().fit(X, y, sample_weight=w)
            found.append((arrays(model), model.predict_proba(X), model.predict_joint_log_proba(X)))
    np.testing.assert_equal(found[1], found[0])
    np.testing.assert_equal(found[2], found[0])


@pytest.mark.parametrize("name", list(ALL))
def test_a_model_that_has_answered_is_pickled_and_copied(name: str) -> None:
    make, X, y, other = parts(name, 6, 150)
    model = make().fit(X, y)
    answers = model.predict_proba(other)  # what was compiled for it is not to be in the way
    for counterpart in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), model.copy()):
        np.testing.assert_array_equal(counterpart.predict_proba(other), answers)


@pytest.mark.parametrize("name", list(ALL))
def test_a_failed_call_changes_nothing(name: str) -> None:
    make, X, y, _ = parts(name, 5)
    model = make().fit(X, y)
    before = pickle.dumps(model)
    for bad in (X[:0], "nonsense", [[None]], take(X, [0, 1])):
        with pytest.raises((ValueError, TypeError)):
            model.partial_fit(bad, y[:3])
    with pytest.raises(ValueError):
        model.partial_fit(X, y, sample_weight=-np.ones(len(y)))
    with pytest.raises(ValueError):
        model.fit(X, y[:-1])
    with pytest.raises(MergeError):
        model.merge(tb.GaussianNB().fit(np.eye(7), [0, 1, 0, 1, 0, 1, 0]))
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("name", NAMES)
def test_new_classes_may_appear_and_sum_adds_models(name: str) -> None:
    make, X, y, _ = parts(name, 6)
    if name in CUT:
        schema = make().fit(X, y).schema_
        maker = lambda: make().set_params(schema=schema)  # noqa: E731
    else:
        maker = make
    order = np.argsort(y, kind="stable")
    X, y = take(X, order), y[order]
    whole, streamed = maker().fit(X, y), maker()
    models = []
    for c in ("c", "a", "b"):
        rows = np.flatnonzero(y == c)
        streamed.partial_fit(take(X, rows), y[rows])
        models.append(maker().fit(take(X, rows), y[rows]))
    same_answers(streamed, whole, X)
    same_answers(models[0].copy().merge(models[1:]), whole, X)


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if "A2DE" not in name])
def test_the_only_row_of_a_class_left_out_is_forgotten(name: str) -> None:
    make, table = ESTIMATORS[name]
    X, y = table(np.random.default_rng(3), 60), np.arange(60) % 3
    y[7] = 5
    model = make().fit(X, y)
    one = X.iloc[7:8] if hasattr(X, "iloc") else X[7:8]
    found = model.leave_one_out(one, y[7:8])
    want = model.forget(one, y[7:8]).predict_log_proba(one)
    np.testing.assert_allclose(found[:, :3], want, atol=1e-9)
    assert found[0, 3] == -np.inf


LONELY: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "NaiveBayes": (tb.NaiveBayes, ["kind", "note"]),
    "NaiveBayes other": (lambda: tb.NaiveBayes(unseen="other"), ["kind"]),
    "NaiveBayes tempered": (lambda: tb.NaiveBayes(tempered=True), ["kind", "note"]),
    "TAN": (tb.TAN, ["kind"]),
    "KDB": (tb.KDB, ["kind"]),
}


@pytest.mark.filterwarnings("ignore::tallybayes.errors.UnseenCategoryWarning")
@pytest.mark.parametrize("name", LONELY)
def test_levels_and_words_of_the_only_row_of_a_class_are_unseen_without_it(name: str) -> None:
    """Its level is the first of the column: without it, the codes of the others must not move."""
    make, columns = LONELY[name]
    n = np.arange(40)
    X = pd.DataFrame({"kind": np.array(["b", "c", "d"])[n % 3], "note": [f"some text of sort {i % 4}" for i in n]})
    X.loc[0] = ["a", "aardvarks are rare among the sorts"]
    y = np.where((n % 3 == 0) ^ (n % 7 == 0), "p", "q").astype(object)
    y[0] = "lonely"
    X = X[columns]
    model = make().fit(X, y)
    found = model.leave_one_out(X[:1], y[:1])
    assert found[0, 0] == -np.inf
    np.testing.assert_allclose(found[:, 1:], model.forget(X[:1], y[:1]).predict_log_proba(X[:1]), atol=1e-9)
