"""Options, tables and labels that nobody gives on purpose: a sound model, or an error of this library."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

import tallybayes as tb
from tallybayes.errors import LabelError, OptionError, TableError, TallybayesError
from tests.hostile.random_calls import CLASSES, HOSTILE
from tests.hostile.random_tables import STRANGE, STRANGE_LABELS, strange, strange_labels
from tests.hostile.soundness import kept, sound

N = 30
Y = np.arange(N) % 3
COUNTS = np.random.default_rng(0).integers(0, 4, (N, 2)).astype(float)
AROUND: tuple[Callable[..., Any], ...] = (tb.BayesDecision, tb.SemiSupervised)
EVERY: tuple[Callable[..., Any], ...] = (*(getattr(tb, name) for name in CLASSES), tb.StreamingBayes, *AROUND)


@pytest.fixture(autouse=True)
def _any_warning() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def values() -> list[Any]:
    return [eval(text, {"np": np, "pd": pd}) for text in HOSTILE]


def attempt(call: Callable[[], Any]) -> bool:
    """Whether it succeeds; any error but ours goes on."""
    with suppress(TallybayesError, NotFittedError):
        call()
        return True
    return False


@pytest.mark.parametrize("make", EVERY, ids=lambda make: make.__name__)
def test_every_option_takes_or_refuses_what_is_no_option(make: Callable[..., Any]) -> None:
    refused = 0
    for name in inspect.signature(make).parameters:
        for value in values():
            given = {"estimator": tb.GaussianNB()} if make in AROUND else {}
            model = make(**{**given, name: value})
            repr(model)
            refused += not attempt(lambda model=model: model.fit(COUNTS, Y))
    assert refused


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "partial_fit": lambda model, _: model.partial_fit(COUNTS, Y),
    "partial_fit of balanced classes": lambda model, _: model.set_params(class_weight="balanced").partial_fit(
        COUNTS, Y
    ),
    "learn_one": lambda model, _: model.learn_one({"x0": 1.0, "x1": 2.0}, 0),
    "forget": lambda model, _: model.forget(COUNTS[:1], Y[:1]),
    "forget_one": lambda model, _: model.forget_one({"x0": COUNTS[0, 0], "x1": COUNTS[0, 1]}, 0),
    "relearn": lambda model, _: model.relearn(COUNTS, Y),
    "leave_one_out": lambda model, _: model.leave_one_out(COUNTS, Y),
    "merge": lambda model, other: model.merge(other),
    "merge into": lambda model, other: other.merge(model),
    "merge_all": lambda model, other: tb.merge_all([model, other]),
    "decay": lambda model, _: model.decay(0.5),
    "provenance_": lambda model, _: getattr(model, "provenance_", None),
    "save": lambda model, _: tb.to_bytes(model),
    "save without small counts": lambda model, _: tb.to_bytes(model, min_count=2),
    "predict": lambda model, _: model.predict(COUNTS),
    "copy": lambda model, _: model.copy().predict(COUNTS),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("make", [tb.GaussianNB, tb.TAN, tb.BayesClassifier], ids=lambda make: make.__name__)
def test_options_that_are_set_later_are_taken_or_refused_by_every_call(make: Callable[..., Any], call: str) -> None:
    fitted = make().fit(COUNTS, Y)
    for name in {"memory", "half_life", "tempered", "class_weight"} & set(fitted.get_params()):
        for value in (np.array([]), np.array(["sums", "rows"]), pd.NA, [], {}, pd.DataFrame(), np.ma.masked):
            for model in (fitted.copy().set_params(**{name: value}), make(**{name: value})):
                attempt(lambda model=model: CALLS[call](model, fitted.copy()))


@pytest.mark.parametrize("make", [tb.NaiveBayes, tb.BayesClassifier, tb.StreamingBayes])
@pytest.mark.parametrize("kind", range(len(STRANGE)))
def test_columns_of_rare_types(kind: int, make: Callable[[], Any]) -> None:
    model, other = make(), strange(kind, 2, N)
    if not attempt(lambda: model.fit(strange(kind, 1, N), Y)):
        return
    attempt(lambda: sound(model, other))
    attempt(lambda: model.partial_fit(other, Y))
    attempt(lambda: kept(model, other))
    if make is not tb.StreamingBayes:
        attempt(lambda: sound(model, model.sample(3, random_state=0)[0]))
        attempt(lambda: model.explain(other).text(0))


@pytest.mark.parametrize("make", [tb.GaussianNB, tb.BayesClassifier, tb.StreamingBayes])
@pytest.mark.parametrize("kind", range(len(STRANGE_LABELS)))
def test_labels_of_rare_types(kind: int, make: Callable[[], Any]) -> None:
    model = make()
    if not attempt(lambda: model.fit(COUNTS, strange_labels(kind, 1, N))):
        return
    sound(model, COUNTS)
    attempt(lambda: kept(model, COUNTS))
    assert 0 <= model.score(COUNTS, strange_labels(kind, 1, N)) <= 1
    attempt(lambda: model.partial_fit(COUNTS, strange_labels(kind, 2, N)))
    attempt(lambda: tb.evaluation.check_assumptions(COUNTS, strange_labels(kind, 1, N)))


@pytest.mark.parametrize("text", HOSTILE)
def test_arguments_that_are_none(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # b'x' is a path
    value = eval(text, {"np": np, "pd": pd})
    model = tb.GaussianNB().fit(COUNTS, Y)
    calls: list[Callable[[], Any]] = [
        lambda: model.explain(COUNTS, against=value),
        lambda: model.log_likelihood(COUNTS, Y, kind=value),
        lambda: model.log_likelihood(COUNTS, Y, by_class=value),
        lambda: model.merge(value),
        lambda: tb.merge_all(value),
        lambda: tb.save(model, value) if not isinstance(value, int) else None,
        lambda: tb.load(value) if not isinstance(value, int | str | bytes) else None,  # those name a file
        lambda: model.sample(3, y=value),
        lambda: model.describe(value),
        lambda: model.with_prior(value),
        lambda: model.learn_one({"x0": value, "x1": 1.0}, 0),
        lambda: model.learn_one({"x0": 1.0, "x1": 1.0}, value),
        lambda: model.predict_proba(COUNTS, priors=value),
    ]
    for call in calls:
        attempt(call)
    attempt(lambda: model.set_params(priors=value).predict(COUNTS))


def test_a_function_as_prior_is_refused_after_the_fit_too() -> None:
    model = tb.GaussianNB().fit(COUNTS, Y).set_params(priors=lambda n: n / n.sum())
    with pytest.raises(OptionError, match="priors must be None"):
        model.partial_fit(COUNTS, Y)


def test_options_are_checked_before_a_source_is_read() -> None:
    table = pd.DataFrame({"x0": COUNTS[:, 0], "y": Y})
    calls: list[Callable[[Any], Any]] = [
        lambda model: model.learn_from(table, "y"),
        lambda model: model.plan(table, "y"),
        lambda model: tb.LazyBayes(model, None, table, "y"),
    ]
    for call in calls:
        with pytest.raises(OptionError, match="tempered must be one value, not NAType"):
            call(tb.TAN(tempered=pd.NA))


def test_comparing_models_of_labels_that_scikit_learn_refuses() -> None:
    y = np.array([b"a", b"b", b"c"])[Y]
    comparison = tb.compare_models(COUNTS, y, folds=2)
    texts = tb.compare_models(COUNTS, y.astype(str), folds=2)
    for entry, other in zip(comparison.entries, texts.entries, strict=True):
        assert (entry.name, entry.error) == (other.name, "")
        np.testing.assert_array_equal(entry.losses, other.losses)


def encoded(values: pa.Array) -> pa.ChunkedArray:
    """Six rows of two values, as a dictionary of Arrow."""
    return pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([0, 1] * 3, pa.int32()), values)])


@pytest.mark.parametrize(
    "values",
    [
        pa.array([{"left": 1, "right": 2}, {"left": 2, "right": 3}]),  # what pandas.cut is in Arrow
        pa.array([[1], [2]]),
        pa.array([[1], [2]], pa.list_(pa.int64(), 1)),
        pa.array([[1], [2]], pa.list_view(pa.int64())),
        pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())),
        pa.array([(1, 2, 3), (1, 2, 4)], pa.month_day_nano_interval()),
    ],
    ids=lambda values: str(values.type)[:12],
)
def test_categories_of_arrow_that_are_no_labels(values: pa.Array) -> None:
    column = encoded(values)
    for X in (pa.table({"x": column}), pd.DataFrame({"x": pd.Series(pd.arrays.ArrowExtensionArray(column))})):
        for model in (tb.NaiveBayes(), tb.NaiveBayes(schema="categorical")):
            with pytest.raises(TableError, match="Column 'x'"):
                model.fit(X, list("ababab"))
    with pytest.raises(OptionError, match="sample_weight must be"):
        tb.GaussianNB().fit(np.eye(6), list("ababab"), sample_weight=column)
    with pytest.raises(TableError):
        tb.NaiveBayes().fit([{"x": v} for v in [*values] * 3], list("ababab"))


def test_categories_of_arrow_that_are_dates_or_bytes() -> None:
    for values in (
        pa.array([1, 2], pa.duration("s")),
        pa.array([b"a", b"b"]),
        pa.array([1, 2], pa.time64("us")),
    ):
        column = encoded(values)
        for X in (pa.table({"x": column}), pd.DataFrame({"x": pd.Series(pd.arrays.ArrowExtensionArray(column))})):
            plain = pa.table({"x": pa.array(values.to_pylist() * 3, values.type)})
            found = tb.NaiveBayes().fit(X, list("aababb")).predict_proba(X)
            np.testing.assert_array_equal(found, tb.NaiveBayes().fit(plain, list("aababb")).predict_proba(plain))


def test_a_label_whose_category_is_missing() -> None:
    """Its code, -1, was taken for the last class."""
    y = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0], pa.int32()), pa.array(["a", "b", None]))
    for labels in (y, y.cast(pa.string()).dictionary_encode(null_encoding="encode")):
        with pytest.raises(LabelError, match="the label of row 2 is missing"):
            tb.GaussianNB().fit(np.eye(4), labels)
    with pytest.raises(LabelError, match="is missing"):
        tb.GaussianNB().fit(np.eye(2), pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.nulls(2)))


def test_integers_of_16_bytes_outside_of_a_frame() -> None:
    values = pl.Series([1, 2, 3], dtype=pl.Int128)
    with pytest.raises(TableError, match="Cannot read a Series as a table"):
        tb.GaussianNB().fit(values, list("aba"))
    with pytest.raises(OptionError, match="sample_weight must be one number for each row"):
        tb.GaussianNB().fit(np.eye(3), list("aba"), sample_weight=values)


def test_columns_that_their_own_library_cannot_give() -> None:
    X = pd.DataFrame({"x": pd.Series(np.zeros(4, dtype="V4"))})
    with pytest.raises(TableError, match=r"Column 'x' of type \|V4 cannot be read") as found:
        tb.NaiveBayes().fit(X, list("abab"))
    assert found.value.column == "x"
