"""One row at a time as a dict: the same model, and the same answers, as through a table."""

from __future__ import annotations

import copy
import pickle
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import tallybayes as tb
from tallybayes import _core
from tallybayes.distributions import Bernoulli, Categorical, Gaussian, Multinomial, Poisson, Threshold
from tallybayes.distributions.statistics import arrays_of
from tallybayes.errors import TallybayesError, UnseenCategoryWarning
from tests.quick import examples

NAN = float("nan")


def real(rng: Any) -> dict[str, Any]:
    return {"a": rng.normal(), "b": float(rng.normal() * 1e6)}


def sizes(rng: Any) -> dict[str, Any]:
    return {"a": float(np.exp(rng.normal() * 4)), "b": float(rng.choice([-2.0, 0.0, 0.5, 7e200]))}


def words(rng: Any) -> dict[str, Any]:
    return {"a": str(rng.choice(["x", "y", "z"])), "b": str(rng.choice(["p", "q"]))}


def truths(rng: Any) -> dict[str, Any]:
    return {"a": bool(rng.random() < 0.3), "b": bool(rng.random() < 0.6)}


def mixed(rng: Any) -> dict[str, Any]:
    return {"a": real(rng)["a"], "b": words(rng)["a"]}


def everything(rng: Any) -> dict[str, Any]:
    return {**mixed(rng), "c": truths(rng)["a"], "d": int(rng.integers(0, 9))}


def codes(rng: Any) -> dict[str, Any]:
    return {"a": int(rng.integers(0, 4)), "b": int(rng.integers(0, 3))}


MODELS: dict[str, tuple[Any, Any]] = {
    "gaussian": (tb.GaussianNB, real),
    "gaussian, shared, ddof 1": (lambda: tb.GaussianNB(variance="shared", ddof=1, var_smoothing=0.1), real),
    "log-gaussian": (lambda: tb.NaiveBayes("log-gaussian"), sizes),
    "log-gaussian, shared, alpha 0": (lambda: tb.NaiveBayes("log-gaussian", variance="shared", alpha=0.0), sizes),
    "categorical": (lambda: tb.NaiveBayes(alpha=0.5), words),
    "categorical, other": (lambda: tb.NaiveBayes(unseen="other"), words),
    "categorical codes": (tb.CategoricalNB, codes),
    "categorical codes, at least 6": (lambda: tb.CategoricalNB(min_categories=6), codes),
    "bernoulli": (tb.NaiveBayes, truths),
    "mixed": (tb.NaiveBayes, mixed),
    "everything": (tb.NaiveBayes, everything),
    "kernel": (tb.KernelNB, real),
    "poisson": (tb.PoissonNB, codes),
    "uniform prior": (lambda: tb.NaiveBayes(priors="uniform"), mixed),
    "laplace prior": (lambda: tb.NaiveBayes(priors="laplace"), mixed),
}


def rows_of(data: Any, seed: int, count: int, labels: str = "uvw") -> list[tuple[dict[str, Any], str, float]]:
    """Rows with holes in every form, classes and weights."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(count):
        row = data(rng)
        if i:
            for key in list(row):
                what = rng.random()
                if what < 0.1:
                    row[key] = None
                elif what < 0.15 and isinstance(row[key], float):
                    row[key] = NAN
                elif what < 0.25 and len(row) > 1:
                    del row[key]
        found.append((row, str(rng.choice(list(labels))), float(rng.choice([1.0, 0.5, 2.0]))))
    return found


def same(one: Any, table: Any, row: dict[str, Any]) -> None:
    """To the bit."""
    truth = dict(
        zip(
            table.classes_.tolist(),
            table.predict_proba([row or {table.schema_.name(0): None}])[0].tolist(),
            strict=True,
        )
    )
    assert one.predict_proba_one(row) == truth
    assert truth[one.predict_one(row)] == max(truth.values())


def same_state(one: Any, table: Any) -> None:
    """All that was learned, to the bit."""
    assert one.schema_ == table.schema_
    assert one.class_count_.tobytes() == table.class_count_.tobytes()
    for a, b in zip(
        [t.statistics for t in one.fitted_.terms], [t.statistics for t in table.fitted_.terms], strict=True
    ):
        mine, theirs = arrays_of(a), arrays_of(b)
        assert mine.keys() == theirs.keys()
        for key in mine:
            assert mine[key].shape == theirs[key].shape
            assert mine[key].tobytes() == theirs[key].tobytes(), key


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=15)
@given(seed=st.integers(0, 1000))
def test_a_stream_is_a_table(name: str, seed: int) -> None:
    """New classes, new levels, holes and weights, asked at every step."""
    make, data = MODELS[name]
    one, table = make(), make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenCategoryWarning)
        for row, y, w in rows_of(data, seed, 12):
            one.learn_one(row, y, sample_weight=w)
            table.partial_fit([row], [y], sample_weight=[w])
            for probe, _, _ in rows_of(data, seed + 1, 2):
                same(one, table, probe)
        same(one, table, {})
    same_state(one, table)


# --- any mix of columns ------------------------------------------------------------------------------------------

# what a column holds, and the distribution that looks after it; None: by its kind
COLUMNS: dict[str, tuple[Any, Any]] = {
    "real": (lambda rng: float(rng.normal()), None),
    "far away": (lambda rng: 1e9 + float(rng.normal()), None),
    "real, shared": (lambda rng: float(rng.normal()), Gaussian(ddof=1, shared=True, var_smoothing=0.01)),
    "word": (lambda rng: str(rng.choice(list("abcdefgh"))), None),
    "word, other": (lambda rng: str(rng.choice(list("xyz"))), Categorical(alpha=0.3, other=True)),
    "word, alpha 0": (lambda rng: str(rng.choice(list("mn"))), Categorical(alpha=0.0)),
    "truth": (lambda rng: bool(rng.random() < 0.3), None),
    "truth, other": (lambda rng: bool(rng.random() < 0.3), Bernoulli(alpha=2.0, other=True)),
    "truth as number": (lambda rng: bool(rng.random() < 0.3), Gaussian()),
    "truth as level": (lambda rng: bool(rng.random() < 0.3), Categorical()),
    "count": (lambda rng: int(rng.poisson(3.0)), Poisson(alpha=0.5)),
    "words of a text": (lambda rng: int(rng.poisson(1.0)), Multinomial(alpha=0.1)),
    "above": (lambda rng: float(rng.normal()), Threshold(alpha=0.7, threshold=0.2)),
    "cut": (lambda rng: float(rng.normal()), "frequency"),
}
mixes = st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=9)


def mix_of(kinds: list[str], rng: Any, count: int) -> tuple[Any, list[tuple[dict[str, Any], Any, float]]]:
    """A model of columns of these kinds, and rows with holes for it."""
    chosen = {f"{kind} {i}": COLUMNS[kind][1] for i, kind in enumerate(kinds)}
    model = tb.NaiveBayes({name: d for name, d in chosen.items() if d is not None}, alpha=float(rng.choice([0.5, 1.0])))
    rows = []
    for i in range(count):
        row = {name: COLUMNS[kind][0](rng) for name, kind in zip(chosen, kinds, strict=True)}
        hole = rng.random(len(row)) if i else np.ones(len(row))
        for name, h in zip(chosen, hole.tolist(), strict=True):
            if h < 0.1:
                row[name] = None
            elif h < 0.15:
                row[name] = NAN
            elif h < 0.2:
                del row[name]
        rows.append((row, int(rng.integers(0, 3)), float(rng.choice([1.0, 1.0, 0.3, 2.5]))))
    return model, rows


@pytest.mark.filterwarnings("ignore::tallybayes.errors.AmbiguousColumnWarning")
@settings(max_examples=examples(60))
@given(kinds=mixes, seed=st.integers(0, 10_000), priors=st.sampled_from([None, "laplace", "uniform"]))
def test_any_mix_of_columns_is_compiled_and_equals_the_table(kinds: list[str], seed: int, priors: Any) -> None:
    model, stream = mix_of(kinds, np.random.default_rng(seed), 40)
    model.set_params(priors=priors)
    start = stream[:12]
    model.partial_fit([r for r, _, _ in start], [y for _, y, _ in start], sample_weight=[w for *_, w in start])
    one, table = model.copy(), model.copy()
    assert one.one_row == "compiled"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenCategoryWarning)
        for i, (row, y, w) in enumerate(stream[12:]):
            one.learn_one(row, y, sample_weight=w)
            table.partial_fit([row], [y], sample_weight=[w])
            if i % 5 == 0:
                same(one, table, stream[i][0])
        same_state(one, table)
        assert list(one.predict_proba_one(stream[0][0]).values()) == one.predict_proba([stream[0][0]])[0].tolist()


def test_many_columns_and_classes() -> None:
    """More columns than a tile of the kernels, more classes than a vector."""
    rng = np.random.default_rng(0)
    rows = [
        {f"x{j}": float(v) for j, v in enumerate(x)} | {"w": str(i % 9)}
        for i, x in enumerate(rng.normal(size=(80, 61)))
    ]
    y = rng.integers(0, 19, 80).tolist()
    model = tb.NaiveBayes().fit(rows, y)
    table = model.copy()
    assert model.one_row == "compiled"
    for row, label in zip(rows[:20], y, strict=False):
        same(model, table, row)
        model.learn_one(row, label)
        table.partial_fit([row], [label])
    same_state(model, table)


OPEN = [
    (lambda: tb.GaussianNB(), real),
    (lambda: tb.PoissonNB(), codes),
    (lambda: tb.MultinomialNB(), codes),
    (lambda: tb.BernoulliNB(), codes),
    (lambda: tb.CategoricalNB(), codes),
    (lambda: tb.CategoricalNB(min_categories=9), codes),
    (lambda: tb.NaiveBayes(), everything),
    (lambda: tb.NaiveBayes(unseen="other"), everything),
    (lambda: tb.NaiveBayes(distributions="mdl"), everything),
    (lambda: tb.NaiveBayes(distributions={"b": Categorical(alpha=3.0)}), words),
]


@pytest.mark.filterwarnings("ignore::tallybayes.errors.AmbiguousColumnWarning")
@pytest.mark.parametrize(("make", "data"), OPEN, ids=lambda v: "" if v.__name__ == "<lambda>" else v.__name__)
def test_what_is_compiled(make: Any, data: Any) -> None:
    model, rng = make(), np.random.default_rng(1)
    rows, y = [data(rng) for _ in range(30)], rng.integers(0, 2, 30).tolist()
    model.fit(rows, y)
    table = model.copy()
    assert model.one_row == "compiled"
    for row, label in zip(rows, y, strict=True):
        assert model._state.fast_row.learn(row, label, 1.0)
        table.partial_fit([row], [label])
        assert model._state.fast_row.proba(row) is not None
        same(model, table, row)
    same_state(model, table)


class Wide(Gaussian):
    """Counts as its base does, and reads the counts in another way."""

    name = "wide"

    def estimate(self, s: Any, context: Any) -> Any:
        p = super().estimate(s, context)
        return replace(p, terms=_core.gaussian_terms(p.mean, p.var * 4, p.low))


CLOSED = [
    (lambda: tb.KernelNB(bandwidth=0.3), "column 'a': its bandwidth is a multiple of the deviation of all rows"),
    (lambda: tb.NaiveBayes({"b": Wide()}), "column 'b': the distribution 'wide' has no compiled form for one row"),
    (lambda: tb.ComplementNB(), "column 'a': the distribution 'complement' has no compiled form for one row"),
    (
        lambda: tb.GaussianNB(tempered=True),
        "learn_one is compiled; the temperature of a tempered model needs predict_proba",
    ),
]


@pytest.mark.parametrize(("make", "why"), CLOSED)
def test_what_is_not_compiled_gives_the_reason(make: Any, why: str) -> None:
    model, rng = make(), np.random.default_rng(2)
    rows, y = [{"a": abs(v), "b": abs(w)} for v, w in rng.normal(size=(40, 2)).tolist()], [0, 1] * 20
    with pytest.raises(AttributeError, match="not fitted"):
        _ = model.one_row
    model.fit(rows, y)
    table = model.copy()
    assert model.one_row.startswith(why)
    model.learn_one(rows[0], 1)
    table.partial_fit(rows[:1], [1])
    same(model, table, rows[3])
    same_state(model, table)


def test_a_model_without_rows_has_no_fast_path() -> None:
    model = tb.GaussianNB().partial_fit([{"a": 1.0}], [0], classes=[0, 1]).forget([{"a": 1.0}], [0])
    assert model.one_row == "the model has no rows"
    assert model.learn_one({"a": 1.0}, 1).one_row == "compiled"


def test_new_levels_are_appended_without_moving_the_old_ones() -> None:
    start = [{"w": "a", "x": 1.0}, {"w": "b", "x": 2.0}]
    model = tb.NaiveBayes().fit(start, [0, 1])
    assert model.one_row == "compiled"
    fast_row = model._state.fast_row
    part = next(p for p in fast_row.parts if isinstance(p, _core.FastLevels))
    words = [f"word {i}" for i in range(5000)]
    for i, word in enumerate(words):
        assert fast_row.learn({"w": word, "x": float(i)}, i % 2, 1.0)
    assert part.moves <= 12  # each time there is twice the room
    assert model._state.fast_row is fast_row
    assert model.schema_.levels[0].labels == ("a", "b", *words)
    rows = [*start, *({"w": w, "x": float(i)} for i, w in enumerate(words))]
    table = tb.NaiveBayes(schema={"w": "categorical"}).fit(rows, [0, 1] * 2501)
    assert model.fitted_.terms[0].statistics.count.tolist() == table.fitted_.terms[0].statistics.count.tolist()
    assert model._state.fast_row is fast_row  # reading what was learned does not close it
    model.learn_one({"w": 7, "x": 0.0}, 1)
    assert model.schema_.levels[0].labels[-1] == 7
    assert model._state.fast_row is fast_row


def test_what_was_learned_is_there_for_every_reader(tmp_path: Any) -> None:
    rows, y = [{"a": 1.0, "b": "x"}, {"a": 3.0, "b": "y"}, {"a": 2.0, "b": "x"}], [0, 1, 1]
    model = tb.NaiveBayes().fit(rows, y)
    model.predict_proba_one(rows[0])
    truth = model.copy().partial_fit([{"a": 9.0, "b": "new"}], [1])
    assert model._state.fast_row.learn({"a": 9.0, "b": "new"}, 1, 1.0)
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model)), tb.merge_all([model])):
        same_state(other, truth)
    tb.save(model, tmp_path / "model.tally")
    same_state(tb.load(tmp_path / "model.tally"), truth)
    assert str(model.schema_) == str(truth.schema_)
    assert model.merge(truth).class_count_.tolist() == [2.0, 6.0]


def test_a_truth_among_numbers_is_declared_by_the_careful_way() -> None:
    """True equals 1, but its type lists two levels, and a number's does not."""
    start = tb.NaiveBayes(schema={"a": "categorical"}).fit([{"a": 1}, {"a": 5}], [0, 1])
    assert start.one_row == "compiled"
    one, table = start.copy(), start.copy()
    assert one.one_row == "compiled"
    same_state(one.learn_one({"a": True}, 1), table.partial_fit([{"a": True}], [1]))


@pytest.mark.parametrize("value", [True, np.bool_(True), 1, np.int64(1), 1.0])
def test_a_truth_of_every_type(value: Any) -> None:
    start = tb.NaiveBayes().fit([{"a": True}, {"a": False}], [0, 1])
    one, table = start.copy(), start.copy()
    assert one.one_row == "compiled"
    assert one._state.fast_row.proba({"a": value}) is not None
    same(one, table, {"a": value})
    assert one._state.fast_row.learn({"a": value}, 1, 1.0)
    same_state(one, table.partial_fit([{"a": value}], [1]))


def test_codes_have_labels_once_a_dict_was_learned() -> None:
    X, y = np.array([[0, 1], [1, 2], [1, 0]]), [0, 1, 1]
    one, table = tb.CategoricalNB().fit(X, y), tb.CategoricalNB().fit(X, y)
    assert one.one_row == "compiled"
    same_state(one.learn_one({"x0": 1, "x1": 2}, 0), table.partial_fit([{"x0": 1, "x1": 2}], [0]))


@pytest.mark.parametrize(
    "value", ["unseen value", 3, 2**60, 2.5, True, np.int64(4), np.str_("unseen value"), b"unseen value"]
)
def test_an_unseen_level_of_every_type(value: Any) -> None:
    for unseen in ("ignore", "other"):
        start = tb.NaiveBayes(unseen=unseen).fit([{"b": "x"}, {"b": "x"}, {"b": "y"}], [0, 0, 1])
        one, table = start.copy(), start.copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenCategoryWarning)
            same(one, table, {"b": value})
            same_state(one.learn_one({"b": value}, 1), table.partial_fit([{"b": value}], [1]))
            same(one, table, {"b": value})


GIVEN = [None, "uniform", "laplace", [0.2, 0.5, 0.3], {"w": 0.3, "u": 0.2, "v": 0.5}, [0.0, 0.5, 0.5]]


@pytest.mark.parametrize("priors", GIVEN, ids=str)
def test_every_form_of_prior(priors: Any) -> None:
    start = tb.NaiveBayes(priors=priors).partial_fit([{"a": 1.0, "b": "x"}], ["u"], classes=["u", "v", "w"])
    one, table = start.copy(), start.copy()
    for row, y, _ in rows_of(mixed, 3, 15):
        one.learn_one(row, y)
        table.partial_fit([row], [y])
        same(one, table, {"a": 0.5, "b": "x"})


@pytest.mark.parametrize("value", [2, np.float32(2.0), np.int8(2), np.float64(2.0), True, np.bool_(True)])
def test_numbers_of_every_type(value: Any) -> None:
    one = tb.GaussianNB().fit([{"a": 1.0}, {"a": 3.0}, {"a": 4.0}], [0, 1, 1])
    truth = one.copy().partial_fit([{"a": float(value)}], [0])
    one.predict_proba_one({"a": 1.0})
    same(one.learn_one({"a": value}, 0), truth, {"a": 2.5})
    assert one.predict_proba_one({"a": value}) == pytest.approx(one.predict_proba_one({"a": float(value)}))


@pytest.mark.parametrize("missing", [None, NAN, np.nan, np.float32("nan"), pd.NA, pd.NaT])
@pytest.mark.parametrize("column", ["a", "b"])
def test_missing_in_every_form(missing: Any, column: str) -> None:
    model = tb.NaiveBayes().fit([{"a": 1.0, "b": "x"}, {"a": 3.0, "b": "y"}], [0, 1])
    row = {"a": 1.5, "b": "x"}
    without = {k: v for k, v in row.items() if k != column}
    assert model.predict_proba_one({**row, column: missing}) == pytest.approx(model.predict_proba_one(without))
    counterpart = model.copy().learn_one(without, 0)
    model.learn_one({**row, column: missing}, 0)
    assert model.predict_proba_one(row) == pytest.approx(counterpart.predict_proba_one(row))


@pytest.mark.parametrize("y", [0, 0.0, np.int64(0), np.float64(0.0), False])
def test_labels_that_are_equal_are_one_class(y: Any) -> None:
    model = tb.GaussianNB().fit([{"a": 1.0}, {"a": 3.0}], [0, 1])
    model.predict_proba_one({"a": 1.0})
    assert model.learn_one({"a": 1.1}, y).class_count_.tolist() == [2.0, 1.0]


BAD = [
    ({"a": "word"}, 0, 1.0, "not numbers"),
    ({"a": float("inf")}, 0, 1.0, "infinity: column 'a' has inf"),
    ({"a": -float("inf"), "b": "x"}, 0, 1.0, "infinity"),
    ({"a": [1.0]}, 0, 1.0, "nested value"),
    ({"a": 1j}, 0, 1.0, "'a'"),
    ({"a": 10**400}, 0, 1.0, "too large"),
    ({"a": pd.Timestamp("2020-01-01")}, 0, 1.0, "2020-01-01"),
    ({"a": 1.0, "b": {"x": 1}}, 0, 1.0, "nested value"),
    ({"a": 1.0, "b": "x", "c": 1}, 0, 1.0, "not there at fit: 'c'"),
    ({"a": 1.0, "b": "x"}, None, 1.0, "missing"),
    ({"a": 1.0, "b": "x"}, "word", 1.0, "mixes int and str"),
    ({"a": 1.0, "b": "x"}, 0.5, 1.0, "continuous"),
    ({"a": 1.0, "b": "x"}, 0, -1.0, "sample_weight"),
    ({"a": 1.0, "b": "x"}, 0, NAN, "sample_weight"),
    ([1.0, "x"], 0, 1.0, "one row as a dict"),
]


@pytest.mark.parametrize(("row", "y", "w", "why"), BAD)
@pytest.mark.parametrize("open_first", [False, True])
def test_a_failed_call_changes_nothing(row: Any, y: Any, w: float, why: str, open_first: bool) -> None:
    model = tb.NaiveBayes().fit([{"a": 1.0, "b": "x"}, {"a": 3.0, "b": "y"}], [0, 1])
    if open_first:
        model.learn_one({"a": 2.0, "b": "x"}, 0)
    before = pickle.dumps(model)
    answer = model.predict_proba_one({"a": 2.0, "b": "x"})
    with pytest.raises(TallybayesError, match=why):
        model.learn_one(row, y, sample_weight=w)
    assert model.predict_proba_one({"a": 2.0, "b": "x"}) == answer
    assert pickle.loads(before).class_count_.tolist() == model.class_count_.tolist()
    was, now = ([arrays_of(t.statistics) for t in m.fitted_.terms] for m in (pickle.loads(before), model))
    np.testing.assert_equal(was, now)
    assert pickle.loads(before).schema_ == model.schema_


def test_a_row_of_no_weight_is_no_row() -> None:
    model = tb.NaiveBayes().learn_one({"a": 1.0, "b": "x"}, 0).learn_one({"a": 5.0, "b": "x"}, 1)
    before = model.predict_proba_one({"a": 2.0})
    model.learn_one({"a": 9.0, "b": "new"}, 7, sample_weight=0.0)
    assert model.classes_.tolist() == [0, 1]
    assert model.predict_proba_one({"a": 2.0}) == before


def test_an_unseen_level_is_left_out_with_a_warning() -> None:
    model = tb.NaiveBayes().fit([{"b": "x"}, {"b": "x"}, {"b": "y"}], [0, 0, 1])
    with pytest.warns(UnseenCategoryWarning, match="'b'"):
        assert model.predict_proba_one({"b": "z"}) == pytest.approx({0: 2 / 3, 1: 1 / 3})


def test_a_level_forgotten_is_learned_again() -> None:
    rows, y = [{"b": v} for v in "xxyyz"], [0, 1, 0, 1, 1]
    model = tb.NaiveBayes().fit(rows, y).forget(rows[4:], y[4:])
    model.predict_proba_one({"b": "x"})
    model.learn_one({"b": "z"}, 1)
    same(model, tb.NaiveBayes().fit(rows, y), {"b": "x"})


def test_declared_classes_stay_closed() -> None:
    model = tb.GaussianNB().partial_fit([{"a": 1.0}], [0], classes=[0, 1]).learn_one({"a": 1.0}, 1)
    with pytest.raises(TallybayesError, match="do not exist in the initial classes"):
        model.learn_one({"a": 1.0}, 2)


@pytest.mark.parametrize("how", ["copy", "copy.copy", "deepcopy", "pickle", "merge_all"])
@pytest.mark.parametrize("name", ["gaussian", "categorical", "mixed"])
def test_a_copy_goes_its_own_way(how: str, name: str) -> None:
    make, data = MODELS[name]
    stream = rows_of(data, 5, 30)
    model, truth = make(), make()
    for row, y, w in stream[:15]:
        model.learn_one(row, y, sample_weight=w)
        truth.learn_one(row, y, sample_weight=w)
    counterpart = {
        "copy": lambda: model.copy(),
        "copy.copy": lambda: copy.copy(model),
        "deepcopy": lambda: copy.deepcopy(model),
        "pickle": lambda: pickle.loads(pickle.dumps(model)),
        "merge_all": lambda: tb.merge_all([model]),
    }[how]()
    for row, y, w in stream[15:]:
        model.learn_one(row, y, sample_weight=w)
    probe = stream[0][0]
    assert counterpart.class_count_.tolist() == truth.class_count_.tolist()
    assert counterpart.predict_proba_one(probe) == pytest.approx(truth.predict_proba_one(probe), rel=1e-12)
    for row, y, w in stream[15:]:
        counterpart.learn_one(row, y, sample_weight=w)
    assert counterpart.predict_proba_one(probe) == pytest.approx(model.predict_proba_one(probe), rel=1e-9)


def test_rows_and_tables_take_turns() -> None:
    stream = rows_of(mixed, 8, 40)
    model, truth = tb.NaiveBayes(), tb.NaiveBayes()
    for i, (row, y, _) in enumerate(stream):
        truth.partial_fit([row], [y])
        if i % 3:
            model.learn_one(row, y)
        else:
            model.partial_fit([row], [y])
    gone = stream[10:20]
    model.forget([r for r, _, _ in gone], [y for _, y, _ in gone]).decay(0.5)
    truth.forget([r for r, _, _ in gone], [y for _, y, _ in gone]).decay(0.5)
    same(model, truth, {"a": 0.3, "b": "y"})
    merged = model.copy().merge(model)
    model.learn_one({"a": 9.0, "b": "x"}, "u")
    np.testing.assert_allclose(merged.class_count_, 2 * truth.class_count_)


def test_a_model_of_numbered_columns_takes_keys_x0_x1() -> None:
    model = tb.GaussianNB().fit(np.array([[1.0, 2.0], [3.0, 5.0], [2.0, 2.0]]), [0, 1, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict_proba_one({"x1": 5.0, "x0": 3.0})[1] == pytest.approx(1.0)
        assert model.learn_one({"x0": 3.0, "x1": 4.0}, 1).class_count_.tolist() == [2.0, 2.0]


def test_before_the_first_row() -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        tb.GaussianNB().predict_proba_one({"a": 1.0})
    with pytest.raises(TallybayesError, match="0 feature"):
        tb.GaussianNB().learn_one({}, 0)
