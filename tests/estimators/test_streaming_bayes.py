"""StreamingBayes: rows one at a time and in tables, state that is kept, drift that is found."""

from __future__ import annotations

import io
import pickle
import types
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss

import tallybayes as tb
from tallybayes import _core
from tallybayes.errors import ExportError, LabelError, ModelFileError, OptionError, TableError

Stream = list[tuple[dict[str, Any], Any]]


def mixed_stream(n: int, seed: int = 0) -> Stream:
    """Numbers, categories and missing values; the class depends on two columns together."""
    rng = np.random.default_rng(seed)
    found: Stream = []
    for _ in range(n):
        x, color, size = float(rng.normal()), str(rng.choice(["red", "green", "blue"])), int(rng.integers(0, 6))
        row: dict[str, Any] = {"x": None if rng.random() < 0.1 else x, "color": color, "size": size}
        found.append((row, "in" if (x > 0) == (color == "red") else "out"))
    return found


def turning(n: int, at: int, seed: int = 0) -> Stream:
    """The sign of column a decides, and the other way round from row `at` on; b and c say nothing."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 3)).round(6).tolist()
    return [({"a": a, "b": b, "c": c}, "up" if (a > 0) == (i < at) else "down") for i, (a, b, c) in enumerate(rows)]


def learned(stream: Stream) -> tb.StreamingBayes:
    model = tb.StreamingBayes()
    for row, label in stream:
        model.learn_one(row, label)
    return model


def table(stream: Stream) -> tuple[list[dict[str, Any]], list[Any]]:
    return [row for row, _ in stream], [label for _, label in stream]


def test_rows_one_at_a_time_and_in_tables_give_the_same_bits() -> None:
    stream = mixed_stream(700)
    X, y = table(stream)
    one = learned(stream)
    parts = tb.StreamingBayes()
    for a, b in ((0, 1), (1, 100), (100, 400), (400, 700)):
        parts.partial_fit(X[a:b], y[a:b])
    whole = tb.StreamingBayes(schema={"size": "real"}).fit(X, y)
    asked = [row for row, _ in mixed_stream(40, seed=1)]
    expected = one.predict_proba(asked)
    np.testing.assert_array_equal(parts.predict_proba(asked), expected)
    np.testing.assert_array_equal(whole.predict_proba(asked), expected)
    np.testing.assert_array_equal([list(one.predict_proba_one(row).values()) for row in asked], expected)
    np.testing.assert_allclose(expected.sum(axis=1), 1, rtol=1e-14)
    assert one.predict(asked).tolist() == [one.predict_one(row) for row in asked]
    assert one.score(asked, [label for _, label in mixed_stream(40, seed=1)]) > 0.9


def test_predicting_between_rows_changes_nothing() -> None:
    stream = mixed_stream(300)
    quiet, asked = learned(stream), tb.StreamingBayes()
    for i, (row, label) in enumerate(stream):
        if asked.is_fitted:
            asked.predict_proba_one(row if i % 3 else stream[i - 1][0])  # the row to come, or another
        asked.learn_one(row, label)
    np.testing.assert_array_equal(asked.predict_proba(table(stream)[0]), quiet.predict_proba(table(stream)[0]))


def test_the_first_prediction_comes_after_one_row() -> None:
    model = tb.StreamingBayes()
    with pytest.raises(NotFittedError):
        model.predict_proba_one({"a": 1.0})
    with pytest.raises(AttributeError, match="not fitted yet"):
        _ = model.drift_
    model.learn_one({"a": 1.0}, "yes")
    assert model.predict_proba_one({"a": 5.0}) == {"yes": 1.0}
    assert model.n_rows_ == 1


def test_new_classes_new_levels_and_columns_that_vanish() -> None:
    model = learned(mixed_stream(300))
    assert model.predict_one({"color": "purple", "x": 1.0}) in ("in", "out")
    for i in range(60):
        model.learn_one({"color": "purple", "x": float(i % 7)}, "far")
    assert model.predict_one({"color": "purple", "x": 3.0}) == "far"
    assert model.classes_.tolist() == ["far", "in", "out"]
    assert model.predict_proba([{}]).shape == (1, 3)
    for _ in range(20):
        model.learn_one({}, "in")  # nothing is known of the row
    with pytest.raises(TableError, match="keys that were not there"):
        model.learn_one({"colour": "red"}, "in")
    assert model.n_rows_ == 380
    model.ignore_extra().learn_one({"colour": "red"}, "in")
    assert model.n_rows_ == 381


def test_more_levels_than_have_counts() -> None:
    model = tb.StreamingBayes()
    for i in range(900):
        model.learn_one({"id": f"level {i % 300}", "side": "left" if i % 2 else "right"}, i % 2)
    assert model.predict_one({"id": "level 299", "side": "left"}) == 1
    assert len(model.schema_.levels[0]) == 300


@pytest.mark.parametrize("way", ["pickle", "file", "copy"])
def test_what_is_kept_goes_on_with_the_same_bits(way: str) -> None:
    stream = mixed_stream(900)
    model = learned(stream[:700])
    if way == "pickle":
        other: Any = pickle.loads(pickle.dumps(model))
    elif way == "copy":
        other = model.copy()
    else:
        file = io.BytesIO()
        tb.save(model, file, notes={"source": "a test"})
        file.seek(0)
        other = tb.load(file)
    for row, label in stream[700:]:
        model.learn_one(row, label)
        other.learn_one(row, label)
    X, _ = table(stream)
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    assert other.classes_.tolist() == model.classes_.tolist()
    assert other.weights_ == model.weights_


def test_bytes_that_are_no_state_are_refused_or_harmless() -> None:
    state = np.asarray(learned(mixed_stream(60))._learner.bytes())
    rng = np.random.default_rng(0)
    for size in (0, 3, 4, 40, len(state) // 2, len(state) - 1):
        with pytest.raises(ValueError, match="state of a stream learner"):
            _core.StreamLearner.read(state[:size].copy())
    head = 4000  # beyond it lie mostly the values of rows
    for _ in range(150):
        hurt = state.copy()
        where = rng.integers(0, head, 3) if rng.random() < 0.5 else rng.integers(0, len(state), 3)
        hurt[where] = rng.integers(0, 256, 3)
        try:
            found = _core.StreamLearner.read(hurt)
        except ValueError:
            continue
        x = np.array([[0.3, 1.0, 2.0]])
        assert found.columns == 3
        assert np.isfinite(found.predict(x)).all()
        found.learn(x, np.array([0], dtype=np.int32))


def test_a_file_whose_parts_do_not_fit_is_refused() -> None:
    model = learned(mixed_stream(50))
    model._labels = ["in"]
    with pytest.raises(ModelFileError, match="classes"):
        tb.to_bytes(model)
    with pytest.raises(OptionError, match="not fitted yet"):
        tb.to_bytes(tb.StreamingBayes())


def test_drift_is_found_named_and_followed() -> None:
    model, right = tb.StreamingBayes(), []
    for row, label in turning(3000, at=2000):
        right.append(model.is_fitted and model.predict_one(row) == label)
        model.learn_one(row, label)
    assert np.mean(right[1000:2000]) > 0.97
    assert np.mean(right[2500:]) > 0.9
    (first, *_) = model.drift_
    assert 2000 < first.row < 2200
    assert first.loss_after > first.loss_before
    assert next(iter(first.columns)) == "a"
    assert first.columns["a"] > 5 * first.columns["b"]
    assert model.half_life_ <= 1000


def agrawal(which: int, seed: int) -> Any:
    synth = pytest.importorskip("river.datasets.synth")
    return synth.Agrawal(classification_function=which, seed=seed)


def test_abrupt_drift_of_a_generator_is_found_at_once() -> None:
    model = learned([*agrawal(0, 0).take(3000), *agrawal(4, 1).take(1500)])
    (first, *_) = model.drift_
    assert 3000 < first.row < 3150
    assert first.since < 300
    assert first.loss_after > 2 * first.loss_before
    # function 0 decides by age alone, function 4 by salary and loan within bounds of age
    assert set(list(first.columns)[:3]) & {"age", "salary", "loan"}


def test_gradual_drift_of_a_generator_is_found_on_the_way() -> None:
    synth = pytest.importorskip("river.datasets.synth")
    drift = synth.ConceptDriftStream(agrawal(0, 1), agrawal(4, 2), seed=1, position=4000, width=1500)
    found = [change.row for change in learned(list(drift.take(6500))).drift_]
    assert found
    assert all(2500 < row < 6500 for row in found)


def test_drift_there_and_back_is_found_at_each_turn() -> None:
    """Back at a function that it has not forgotten, the loss may not rise: the turns there have to be found."""
    parts = [agrawal(which, seed).take(2000) for seed, which in enumerate((0, 4, 0, 4))]
    found = [change.row for change in learned([pair for part in parts for pair in part]).drift_]
    for turn in (2000, 6000):
        assert any(turn < row < turn + 300 for row in found)
    assert not any(row < 2000 for row in found)


def test_an_interruption_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is heard between two blocks of a table."""
    stream = mixed_stream(3000)
    X, y = table(stream)
    model, asked = learned(stream[:300]), X[:20]
    before, rows = model.predict_proba(asked), model.n_rows_
    blocks = 0

    class Learner:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def grow(self, classes: int) -> None:
            self.inner.grow(classes)

        def learn(self, *block: Any) -> None:
            nonlocal blocks
            blocks += 1
            if blocks == 2:
                raise KeyboardInterrupt
            self.inner.learn(*block)

    real = model._learner
    monkeypatch.setattr(
        model, "_learner", types.SimpleNamespace(copy=lambda: Learner(real.copy()), classes=real.classes)
    )
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit([*X, {"x": 1.0, "color": "mauve"}], [*y, "new"])
    monkeypatch.undo()
    assert blocks == 2
    assert model.n_rows_ == rows
    assert model.classes_.tolist() == ["in", "out"]
    np.testing.assert_array_equal(model.predict_proba(asked), before)
    assert model.partial_fit(X, y).n_rows_ == rows + len(X)


def test_no_drift_is_reported_where_there_is_none() -> None:
    model = learned(mixed_stream(3000))
    assert model.drift_ == []


def three_gaussians(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    y = rng.integers(0, 3, n)
    return (rng.normal(size=(3, 5)) * 1.2)[y] + rng.normal(size=(n, 5)), y


def equal_levels(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Two of eight categories decide, and only together."""
    X = rng.integers(0, 4, (n, 8))
    y = np.where(rng.random(n) < 0.2, rng.integers(0, 2, n), X[:, 0] == X[:, 1])
    return np.array(["a", "b", "c", "d"], dtype=object)[X], y


@pytest.mark.parametrize(("table_of", "most"), [(three_gaussians, 1.01), (equal_levels, 1.05)])
def test_a_stream_without_drift_ends_within_one_percent_of_batch_models(table_of: Any, most: float) -> None:
    """In accuracy; in log-loss too, but where categories decide only together."""
    X, y = table_of(np.random.default_rng(1), 8000)
    stream = tb.StreamingBayes().fit(X[:4000], y[:4000])
    for batch in (tb.NaiveBayes("frequency"), tb.TAN(), tb.BayesClassifier("fast")):
        batch.fit(X[:4000], y[:4000])
        assert stream.score(X[4000:], y[4000:]) > batch.score(X[4000:], y[4000:]) - 0.01
    p, q = stream.predict_proba(X[4000:]), batch.predict_proba(X[4000:])
    assert log_loss(y[4000:], p) < most * log_loss(y[4000:], q)


@pytest.mark.parametrize("change", ["columns", "levels", "classes", "unit"])
def test_names_and_units_do_not_matter(change: str) -> None:
    """Levels and classes get room in the order in which they come, and 1024 is a shift of bits."""
    columns = {"x": "b", "color": "a", "size": "c"} if change == "columns" else {}
    levels = {"red": "zinc", "green": "amber", "blue": "mint"} if change == "levels" else {}
    classes = {"in": "z", "out": "a"} if change == "classes" else {"in": "in", "out": "out"}
    unit = 1024 if change == "unit" else 1

    def renamed(row: dict[str, Any]) -> dict[str, Any]:
        x = None if row["x"] is None else row["x"] * unit
        new = {"x": x, "color": levels.get(row["color"], row["color"]), "size": row["size"]}
        return {columns.get(name, name): value for name, value in new.items()}

    stream, asked = mixed_stream(600), [row for row, _ in mixed_stream(40, seed=1)]
    one, other = learned(stream), learned([(renamed(row), classes[label]) for row, label in stream])
    p, q = one.predict_proba(asked), other.predict_proba([renamed(row) for row in asked])
    at = [other.classes_.tolist().index(classes[label]) for label in one.classes_]
    np.testing.assert_array_equal(p, q[:, at])


def test_memory_does_not_grow_with_the_stream() -> None:
    rng = np.random.default_rng(0)
    model = tb.StreamingBayes().fit(rng.normal(size=(200, 2)), rng.integers(0, 2, 200))
    fixed = len(model._learner.bytes()) - 200 * 400
    model.partial_fit(rng.normal(size=(3000, 2)), rng.integers(0, 2, 3000))
    assert len(model._learner.bytes()) < fixed + 48 * 16384 * 16 * 2  # what full trees could take


@pytest.mark.parametrize("name", ["merge", "forget", "forget_one", "decay"])
def test_what_depends_on_no_order_is_refused_by_name(name: str) -> None:
    model = learned(mixed_stream(20))
    assert not hasattr(model, name)
    with pytest.raises(AttributeError, match=rf"has no {name}: its trees .* NaiveBayes\(half_life='auto'\) can"):
        getattr(model, name)
    with pytest.raises(AttributeError, match="has no attribute 'merges'"):
        _ = model.merges
    with pytest.raises(OptionError, match="one is a StreamingBayes"):
        tb.merge_all([model, model])


@pytest.mark.parametrize("export", ["to_json", "to_js", "to_onnx"])
def test_exports_are_refused_by_name(export: str) -> None:
    with pytest.raises(ExportError, match="StreamingBayes"):
        getattr(tb.export, export)(learned(mixed_stream(20)))


def test_refusals() -> None:
    with pytest.raises(TableError, match="infinity"):
        tb.StreamingBayes().fit([[1.0], [np.inf]], [0, 1])
    model = tb.StreamingBayes().fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(TableError, match="infinity"):
        model.learn_one({"x0": float("inf")}, 1)
    with pytest.raises(LabelError, match="1001 classes"):
        model.partial_fit(np.zeros((1001, 1)), np.arange(1001))
    with pytest.raises(TableError, match="not numbers"):
        model.learn_one({"x0": "one"}, 1)
    assert model.n_rows_ == 2
    assert model.classes_.tolist() == [0, 1]
