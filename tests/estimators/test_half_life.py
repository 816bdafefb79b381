"""half_life, decay and forget_one: rows that fade and rows that go, one at a time, against sums multiplied at each."""

from __future__ import annotations

import math
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import tallybayes as tb
from tallybayes.distributions.statistics import arrays_of
from tallybayes.errors import ForgetError, LabelError, OptionError, UnseenCategoryWarning
from tallybayes.model.fitted import GONE
from tests.every_estimator import ESTIMATORS, LEARNED, labels
from tests.model.test_one_row import CLOSED, OPEN, mix_of, mixes, same, same_state
from tests.quick import examples

HALF = st.sampled_from([1, 1.5, 7, 40.0, 1e4])
FADING = {name: pair for name, pair in ESTIMATORS.items() if "half_life" in pair[0]().get_params()}


def near(one: Any, other: Any, rtol: float = 1e-9) -> None:
    """All that was learned, to rounding."""
    assert one.schema_ == other.schema_
    np.testing.assert_allclose(one.class_count_, other.class_count_, rtol=rtol)
    for a, b in zip(
        [t.statistics for t in one.fitted_.terms], [t.statistics for t in other.fitted_.terms], strict=True
    ):
        mine, theirs = arrays_of(a), arrays_of(b)
        for key in mine:
            if key != "low":  # what rounding left of the mean
                np.testing.assert_allclose(mine[key], theirs[key], rtol=rtol, atol=1e-290, err_msg=key)


def near_answers(one: Any, other: Any, row: dict[str, Any]) -> None:
    assert one.predict_proba_one(row) == pytest.approx(other.predict_proba_one(row), rel=1e-9, abs=1e-12)
    assert list(one.predict_proba_one(row).values()) == pytest.approx(one.predict_proba([row])[0].tolist(), rel=1e-9)


def started(kinds: list[str], seed: int, count: int = 40) -> tuple[Any, list[tuple[dict[str, Any], Any, float]]]:
    """A model that has learned twelve rows, open for single ones, and the rows that follow."""
    model, stream = mix_of(kinds, np.random.default_rng(seed), count)
    first = stream[:12]
    model.partial_fit([r for r, _, _ in first], [y for _, y, _ in first], sample_weight=[w for *_, w in first])
    assert model.one_row == "compiled"
    return model, stream[12:]


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenCategoryWarning)
        warnings.simplefilter("ignore", tb.errors.AmbiguousColumnWarning)
        yield


# --- half_life -----------------------------------------------------------------------------------------------------


@settings(max_examples=examples(60))
@given(kinds=mixes, seed=st.integers(0, 10_000), half_life=HALF)
def test_a_row_makes_those_before_it_fade(kinds: list[str], seed: int, half_life: float) -> None:
    model, stream = started(kinds, seed)
    one, oracle = model.copy().set_params(half_life=half_life), model.copy()
    for i, (row, y, w) in enumerate(stream):
        one.learn_one(row, y, sample_weight=w)
        oracle.decay(0.5 ** (1 / half_life)).partial_fit([row], [y], sample_weight=[w])
        if i % 7 == 0:
            near_answers(one, oracle, stream[i // 2][0])
    near(one, oracle)


@settings(max_examples=examples(40))
@given(kinds=mixes, seed=st.integers(0, 10_000), half_life=HALF, at=st.lists(st.integers(1, 27), max_size=4))
def test_batches_fade_as_single_rows_do(kinds: list[str], seed: int, half_life: float, at: list[int]) -> None:
    model, stream = started(kinds, seed)
    one, batches = (model.copy().set_params(half_life=half_life) for _ in range(2))
    for row, y, w in stream:
        one.learn_one(row, y, sample_weight=w)
    for a, b in zip([0, *sorted(at)], [*sorted(at), len(stream)], strict=True):
        if a < b:
            some = stream[a:b]
            batches.partial_fit([r for r, _, _ in some], [y for _, y, _ in some], sample_weight=[w for *_, w in some])
    near(one, batches)


@pytest.mark.parametrize("name", list(FADING))
def test_fit_is_partial_fit_from_nothing(name: str) -> None:
    """For every estimator that has the parameter; and weights that say the same."""
    make, data = FADING[name]
    rng = np.random.default_rng(0)
    X, y = data(rng, 60), labels(rng, 60)
    whole = make().set_params(half_life=20).fit(X, y)
    weighed = make().fit(X, y, sample_weight=0.5 ** (np.arange(59, -1, -1) / 20))
    np.testing.assert_allclose(whole.predict_log_proba(X), weighed.predict_log_proba(X), rtol=1e-9)
    parts = whole.empty().partial_fit(X[:25], y[:25]).partial_fit(X[25:], y[25:])
    np.testing.assert_allclose(parts.class_count_, whole.class_count_, rtol=1e-12)
    np.testing.assert_allclose(parts.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-7, atol=1e-9)


def test_who_can_fade() -> None:
    assert {type(make()).__name__ for make, _ in FADING.values()} == {
        "NaiveBayes", "GaussianNB", "PoissonNB", "KernelNB", "MultinomialNB", "ComplementNB", "BernoulliNB",
        "CategoricalNB", "GaussianDiscriminant", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis",
        "AODE", "AnDE", "BayesNetwork",
    }  # fmt: skip
    others = {type(make()).__name__ for make, _ in LEARNED.values() if "half_life" in make().get_params()}
    assert others == {"SPODE", "TAN", "KDB"}


@pytest.mark.parametrize("name", ["SPODE", "TAN", "KDB mixed, real"])
def test_what_learns_its_structure_keeps_it_and_fades(name: str) -> None:
    make, data = LEARNED[name]
    rng = np.random.default_rng(0)
    X, y = data(rng, 80), labels(rng, 80)
    one, oracle = make().fit(X[:50], y[:50]).set_params(half_life=20), make().fit(X[:50], y[:50])
    assert one.provenance_ == oracle.provenance_
    for i in range(50, 80):
        row = X.iloc[i].to_dict() if hasattr(X, "iloc") else {f"x{j}": v for j, v in enumerate(X[i])}
        one.learn_one(row, y[i])
    oracle.decay(0.5 ** (30 / 20)).partial_fit(X[50:], y[50:], sample_weight=0.5 ** (np.arange(29, -1, -1) / 20))
    near(one, oracle)
    assert one.one_row != "compiled"


@pytest.mark.parametrize("make", [tb.TAN, tb.KernelNB])
def test_what_counts_whole_rows_gives_the_reason(make: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (60, 3))
    model = make().fit(X, X[:, 0] == X[:, 1])
    assert model.one_row == "compiled"
    assert "whole rows" in model.set_params(half_life=10).one_row
    assert model.set_params(half_life=float("inf")).one_row == "compiled"


@pytest.mark.parametrize(("make", "why"), CLOSED[:4])
def test_what_is_not_compiled_fades_too(make: Any, why: str) -> None:
    model, rng = make(), np.random.default_rng(2)
    rows, y = [{"a": abs(v), "b": abs(w)} for v, w in rng.normal(size=(40, 2)).tolist()], [0, 1] * 20
    model.fit(rows, y)
    assert model.one_row.startswith(why)
    one, oracle = model.copy().set_params(half_life=3), model.copy()
    for row, label in zip(rows[:9], y, strict=False):
        one.learn_one(row, label)
        oracle.decay(0.5 ** (1 / 3)).partial_fit([row], [label])
    near(one, oracle)


def test_a_row_of_weight_0_is_absent_and_weights_do_not_hasten_time() -> None:
    rows = [{"a": 1.0}, {"a": 2.0}, {"a": 4.0}]
    model = tb.NaiveBayes("gaussian", half_life=1).fit(rows, ["u", "v", "u"], sample_weight=[3.0, 0.0, 1.0])
    assert model.class_count_.tolist() == [2.5]
    assert model.learn_one(rows[0], "u", sample_weight=0.0).class_count_.tolist() == [2.5]
    assert model.learn_one(rows[0], "u", sample_weight=8.0).class_count_.tolist() == [9.25]


def test_endless_streams_stay_numbers() -> None:
    """A class and a level that were met once, two thousand half-lives ago; then they come again."""
    rows = [{"a": 1.0, "b": "x"}, {"a": 9.0, "b": "rare"}, {"a": 2.0, "b": "y"}]
    for half_life in (1, 2.0):
        model = tb.NaiveBayes("gaussian", half_life=half_life).fit(rows, ["u", "rare", "v"])
        table = model.copy()
        for i in range(4000):
            model.learn_one({"a": float(i % 5), "b": "xy"[i % 2]}, "uv"[i % 2])
        many = [{"a": float(i % 5), "b": "xy"[i % 2]} for i in range(4000)]
        table.partial_fit(many, ["uv"[i % 2] for i in range(4000)])
        for m in (model, table):
            assert m.class_count_[0] == 0  # "rare", the first by name, has faded away, and stays a class
            assert m.classes_.tolist() == ["rare", "u", "v"]
            assert m.predict_proba_one({"a": 9.0, "b": "rare"})["rare"] == 0
            assert m.class_count_.sum() == pytest.approx(1 / (1 - 0.5 ** (1 / half_life)))
        near(model, table)
        for m in (model, table):
            m.learn_one({"a": 9.0, "b": "rare"}, "rare")
            assert m.predict_one({"a": 9.0, "b": "rare"}) == "rare"
            assert all(math.isfinite(p) for p in m.predict_proba_one({"a": 3.0}).values())
        near(model, table)


def test_the_half_life_may_change_on_the_way() -> None:
    model, stream = started(["real", "word", "count", "cut"], 3)
    one, oracle = model.copy(), model.copy()
    for i, (row, y, w) in enumerate(stream):
        half_life = (None, 5, 5.5, None, 100.0)[i // 6]
        one.set_params(half_life=half_life).learn_one(row, y, sample_weight=w)
        if half_life is not None:
            oracle.decay(0.5 ** (1 / half_life))
        oracle.partial_fit([row], [y], sample_weight=[w])
        near_answers(one, oracle, stream[3][0])
    near(one, oracle)


def test_looking_does_not_change_a_stream() -> None:
    model, stream = started(["real", "word"], 4)
    asked, left_alone = (model.copy().set_params(half_life=9) for _ in range(2))
    for row, y, w in stream:
        asked.learn_one(row, y, sample_weight=w)
        asked.predict_proba([row])
        pickle.dumps(asked)
        left_alone.learn_one(row, y, sample_weight=w)
    same_state(asked, left_alone)


def test_files_copies_and_sums(tmp_path: Any) -> None:
    """They hold the rows as they count now; merging adds two streams that have come to the same moment."""
    model, stream = started(["real", "word"], 5)
    here, there = (model.copy().set_params(half_life=9) for _ in range(2))
    for i, (row, y, w) in enumerate(stream):
        (here, there)[i % 2].learn_one(row, y, sample_weight=w)
    tb.save(here, tmp_path / "m")
    for counterpart in (here.copy(), pickle.loads(pickle.dumps(here)), tb.load(tmp_path / "m")):
        assert counterpart.half_life == 9
        near(counterpart, here, 0)
        near(counterpart.learn_one(*stream[0][:2]), here.copy().partial_fit([stream[0][0]], [stream[0][1]]), 1e-12)
    both = here.copy().merge(there)
    np.testing.assert_allclose(both.class_count_, here.class_count_ + there.class_count_)
    assert tb.merge_all([here, there]).class_count_.tolist() == both.class_count_.tolist()


@pytest.mark.parametrize("half_life", [0, -1, 0.5, float("nan"), -float("inf"), "long", True, [3]])
def test_what_is_no_half_life_is_refused(half_life: Any) -> None:
    model = tb.GaussianNB(half_life=half_life)
    with pytest.raises(OptionError, match="half_life must be None, 'auto' or a number of rows of at least 1"):
        model.fit([[1.0], [2.0]], [0, 1])
    model = tb.GaussianNB().learn_one({"a": 1.0}, 0).learn_one({"a": 2.0}, 1)
    with pytest.raises(OptionError, match="half_life must be"):
        model.set_params(half_life=half_life).learn_one({"a": 3.0}, 0)
    assert model.class_count_.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("half_life", [2, 2.0, np.int64(2), np.float32(2)])
def test_a_half_life_of_every_type_is_compiled(half_life: Any) -> None:
    model = tb.GaussianNB(half_life=half_life).fit([{"a": 1.0}, {"a": 2.0}], [0, 0])
    assert model.one_row == "compiled"
    fast_row = model._state.fast_row
    model.learn_one({"a": 3.0}, 0)
    assert model._state.fast_row is fast_row
    assert model.class_count_[0] == pytest.approx(1 + 0.5**0.5 + 0.5)


def test_weights_of_classes_are_compiled_too() -> None:
    rows, y = [{"a": 1.0, "b": "x"}, {"a": 2.0, "b": "y"}, {"a": 4.0, "b": "x"}], ["u", "v", "u"]
    one = tb.NaiveBayes("gaussian", class_weight={"u": 3.0}).fit(rows, y)
    table = one.copy()
    assert one.one_row == "compiled"
    fast_row = one._state.fast_row
    for row, label in zip(rows, y, strict=True):
        same_state(one.learn_one(row, label, 0.5), table.partial_fit([row], [label], sample_weight=[0.5]))
    same_state(one.forget_one(rows[0], "u", 0.5), table.forget(rows[:1], ["u"], sample_weight=[0.5]))
    assert one._state.fast_row is fast_row
    with pytest.raises(OptionError, match="class_weight must be"):
        one.set_params(class_weight={"u": "x"}).learn_one(rows[0], "u")
    with pytest.raises(OptionError, match="class_weight must be"):
        one.set_params(class_weight={"u": -1.0}).forget_one(rows[0], "u")


@pytest.mark.parametrize("weight", ["much", [1.0, 2.0], {"a": 1}, -1.0, float("nan"), 1e300])
def test_what_is_no_weight_of_a_row_is_refused(weight: Any) -> None:
    model = tb.GaussianNB().learn_one({"a": 1.0}, 0).learn_one({"a": 2.0}, 1)
    for call in (model.learn_one, model.forget_one):
        with pytest.raises(OptionError, match="weight"):
            call({"a": 1.0}, 0, sample_weight=weight)
    assert model.class_count_.tolist() == [1.0, 1.0]


def test_who_goes_over_rows_again_refuses_to_let_them_fade() -> None:
    with pytest.raises(OptionError, match="they cannot fade"):
        tb.SemiSupervised(tb.GaussianNB(half_life=3)).fit([[1.0], [2.0]], [0, None])


def test_rows_that_fade_are_not_counted_in_parts() -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": [1.0, 2.0, 3.0, 4.0], "go": ["u", "v", "u", "v"]})
    model = tb.GaussianNB(half_life=5)
    for call in (lambda: model.learn_from(table, "go"), lambda: model.plan(table, "go")):
        with pytest.raises(OptionError, match="are learned in their order"):
            call()


def test_balanced_classes_weigh_the_same_after_fading() -> None:
    X, y = np.arange(40.0)[:, None], np.arange(40) % 4 == 0
    model = tb.GaussianNB(half_life=10, class_weight="balanced").fit(X, y)
    assert model.class_count_[0] == pytest.approx(model.class_count_[1])


# --- decay ---------------------------------------------------------------------------------------------------------


@settings(max_examples=examples(40))
@given(kinds=mixes, seed=st.integers(0, 10_000))
def test_decay_on_the_fast_path_has_the_bits_of_tables(kinds: list[str], seed: int) -> None:
    one, stream = started(kinds, seed)
    table, known = one.copy(), one.classes_.tolist()
    fast_row = one._state.fast_row
    for i, (row, y, w) in enumerate(stream):
        factor = (0.9, 0.5, 1.0, 1e-3)[i % 4]
        one.decay(factor).learn_one(row, y, sample_weight=w)
        table.decay(factor).partial_fit([row], [y], sample_weight=[w])
        if i % 5 == 0:
            same(one, table, stream[i][0])
    assert one._state.fast_row is fast_row or one.classes_.tolist() != known  # a new class opens another
    same_state(one, table)


def test_codes_have_no_labels_before_a_dict_was_learned() -> None:
    X, y = np.array([[0, 1], [1, 2], [1, 0], [0, 1]]), [0, 1, 1, 0]
    one, table = tb.CategoricalNB().fit(X, y), tb.CategoricalNB().fit(X, y)
    assert one.one_row == "compiled"
    same_state(one.decay(0.5), table.decay(0.5))
    row = {"x0": 1, "x1": 0}
    same_state(one.forget_one(row, 1, 0.25), table.forget([row], [1], sample_weight=[0.25]))
    same_state(one.learn_one(row, 1), table.partial_fit([row], [1]))


def test_a_class_that_decays_to_nothing_has_no_rows() -> None:
    for fast_row in (True, False):
        model = tb.NaiveBayes().fit([{"a": "x"}, {"a": "y"}], ["u", "v"])
        if fast_row:
            assert model.one_row == "compiled"
        for _ in range(30):
            model.decay(1e-9).learn_one({"a": "x"}, "u")
        assert model.class_count_[1] == 0
        assert model.predict_proba_one({"a": "y"}) == {"u": 1.0, "v": 0.0}
        model.decay(GONE / 10)
        with pytest.raises(NotFittedError):
            model.predict([{"a": "x"}])


# --- forget_one ----------------------------------------------------------------------------------------------------


@settings(max_examples=examples(60))
@given(kinds=mixes, seed=st.integers(0, 10_000), order=st.randoms(use_true_random=False))
def test_forget_one_has_the_bits_of_forget(kinds: list[str], seed: int, order: Any) -> None:
    one, stream = started(kinds, seed)
    table = one.copy()
    for row, y, w in stream:
        one.learn_one(row, y, sample_weight=w)
        table.partial_fit([row], [y], sample_weight=[w])
    some = order.sample(stream, 15)
    for i, (row, y, w) in enumerate(some):
        one.forget_one(row, y, sample_weight=w)
        table.forget([row], [y], sample_weight=[w])
        if i % 5 == 0:
            same(one, table, stream[i][0])
    same_state(one, table)


@pytest.mark.parametrize(("make", "data"), OPEN, ids=lambda v: "" if v.__name__ == "<lambda>" else v.__name__)
def test_what_is_forgotten_on_the_fast_path(make: Any, data: Any) -> None:
    model, rng = make(), np.random.default_rng(1)
    rows, y = [data(rng) for _ in range(60)], rng.integers(0, 2, 60).tolist()
    model.fit(rows, y)
    before = model.copy()
    assert model.one_row == "compiled"
    fast_row = model._state.fast_row
    for row, label in zip(rows[:10], y, strict=False):
        model.learn_one(row, label)
    for row, label in zip(rows[:10], y, strict=False):
        assert fast_row.forget(row, label, 1.0)
    near(model, before)
    table = model.copy()
    for row, label in zip(rows, y, strict=True):
        same_state(model.forget_one(row, label), table.forget([row], [label]))
        if not model.class_count_.sum() > 0:
            break
    else:
        assert not model.class_count_.sum() > 0


def test_what_was_not_learned_is_not_forgotten() -> None:
    rows = [{"a": 1.0, "b": "x", "c": True}, {"a": 3.0, "b": "y", "c": False}, {"a": 2.0, "b": "x", "c": True}]
    model = tb.NaiveBayes("gaussian").fit(rows, ["u", "v", "u"])
    assert model.one_row == "compiled"
    before = model.copy()
    for row, y, w, error in [
        ({"a": 1.0, "b": "y"}, "u", 1.0, ForgetError),
        ({"a": 1.0, "b": "unseen value"}, "u", 1.0, ForgetError),
        ({"a": 1.0, "b": "x"}, "u", 2.5, ForgetError),
        ({"a": 1e6, "b": "x"}, "u", 1.0, ForgetError),
        ({"a": 1.0, "c": False}, "u", 1.0, ForgetError),
        ({"a": 1.0}, "unseen value", 1.0, LabelError),
        ({"a": 1.0}, "u", -1.0, OptionError),
    ]:
        with pytest.raises(error):
            model.forget_one(row, y, sample_weight=w)
        same_state(model, before)
    assert model.forget_one(rows[1], "v").classes_.tolist() == ["u"]  # its last row
    assert model.one_row == "compiled"
    with pytest.raises(tb.errors.TableError, match="one row as a dict"):
        model.forget_one([1.0], "u")  # type: ignore[arg-type]


def test_what_is_left_of_a_row_that_fades_is_forgotten() -> None:
    model, stream = started(["real", "word"], 6)
    one, never = (model.copy().set_params(half_life=10) for _ in range(2))
    for i, (row, y, w) in enumerate(stream):
        one.learn_one(row, y, sample_weight=w)
        if i != 4:
            never.learn_one(row, y, sample_weight=w)
        else:
            never.decay(0.5**0.1)
    row, y, w = stream[4]
    one.forget_one(row, y, sample_weight=w * 0.5 ** ((len(stream) - 5) / 10))
    near(one, never, 1e-8)
