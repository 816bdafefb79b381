"""Arrow data that breaks its own format is refused, by a file and in memory: pyarrow would read wherever it points."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tallybayes import BayesClassifier, LazyBayes, NaiveBayes, SemiSupervised, StreamingBayes
from tallybayes.errors import LabelError, TableError, TallybayesError

N = 80
WORDS = [f"word {i % 4} and more" for i in range(N)]
Y = ["a", "b"] * (N // 2)


def _offsets(far: int) -> pa.Array:
    """Strings of which one ends outside the buffer, or before it begins."""
    offsets = np.arange(N + 1, dtype=np.int32)
    offsets[N // 2] = far
    return pa.Array.from_buffers(pa.string(), N, [None, pa.py_buffer(offsets), pa.py_buffer(b"x" * N)])


def _view() -> pa.Array:
    """A string view that points outside of its buffers."""
    views = np.zeros((N, 4), dtype=np.int32)
    views[:, 0] = 20  # characters: too long to lie in the view itself
    views[:, 2:] = (7, 1 << 28)  # which buffer, and where in it
    return pa.Array.from_buffers(pa.string_view(), N, [None, pa.py_buffer(views), pa.py_buffer(b"x" * 64)])


def _dictionary(index: int) -> pa.Array:
    """An index that no entry of the dictionary has."""
    indices = np.arange(N, dtype=np.int32) % 2
    indices[-1] = index
    kind = pa.dictionary(pa.int32(), pa.string())
    return pa.DictionaryArray.from_buffers(kind, N, [None, pa.py_buffer(indices)], pa.array(["x", "y"]))


BROKEN: dict[str, Callable[[], pa.Array]] = {
    "offset outside": lambda: _offsets(1 << 30),
    "offset below 0": lambda: _offsets(-(1 << 30)),
    "view outside": _view,
    "index outside": lambda: _dictionary(1 << 28),
    "index below 0": lambda: _dictionary(-7),
}


@pytest.fixture(params=BROKEN)
def broken(request: pytest.FixtureRequest) -> pa.Array:
    return BROKEN[request.param]()


@pytest.mark.parametrize("model", [NaiveBayes, BayesClassifier])
def test_a_table_in_memory(broken: pa.Array, model: type) -> None:
    table = pa.table({"k": broken, "n": np.arange(N)})
    with pytest.raises(TableError, match=r"^Column 'k' is not sound Arrow data: .* Write it again\.$"):
        model().fit(table, Y)
    m = model().fit(pa.table({"k": WORDS, "n": np.arange(N)}), Y)
    with pytest.raises(TableError, match="Column 'k' is not sound Arrow data"):
        m.predict_proba(table)


def test_labels(broken: pa.Array) -> None:
    with pytest.raises(LabelError, match=r"^y is not sound Arrow data"):
        NaiveBayes().fit(np.arange(float(N)).reshape(-1, 1), pa.chunked_array([broken]))


KNOWN = NaiveBayes().fit(pa.table({"k": WORDS}), Y)
ENTRIES: dict[str, Callable[[pa.Array], object]] = {
    "y": lambda bad: NaiveBayes().fit(np.zeros((N, 1)), bad),
    "y of a stream": lambda bad: StreamingBayes().fit(np.zeros((N, 1)), bad),
    "some y": lambda bad: SemiSupervised(NaiveBayes()).fit(np.zeros((N, 1)), bad),
    "X": lambda bad: NaiveBayes().fit(bad, Y),
    "X in chunks": lambda bad: NaiveBayes().fit(pa.chunked_array([bad]), Y),
    "sample_weight": lambda bad: NaiveBayes().fit(np.zeros((N, 1)), Y, sample_weight=bad),
    "classes": lambda bad: NaiveBayes().partial_fit(np.zeros((N, 1)), Y, classes=bad),
    "score": lambda bad: KNOWN.score(pa.table({"k": WORDS}), bad),
    "forget": lambda bad: KNOWN.copy().forget(pa.table({"k": WORDS}), bad),
    "against": lambda bad: KNOWN.explain(pa.table({"k": WORDS}), against=bad),
    "sample": lambda bad: KNOWN.sample(N, y=bad),
    "learn_from": lambda bad: NaiveBayes().learn_from(pa.table({"k": bad, "y": Y}), "y"),
    "target": lambda bad: NaiveBayes().learn_from(pa.table({"x": np.arange(N), "y": bad}), "y"),
    "weight": lambda bad: NaiveBayes().learn_from(pa.table({"k": WORDS, "y": Y, "w": bad}), "y", weight="w"),
    "reader": lambda bad: NaiveBayes().learn_from(pa.table({"k": bad, "y": Y}).to_reader(), "y"),
    "LazyBayes": lambda bad: LazyBayes(NaiveBayes("gaussian"), None, pa.table({"k": bad, "y": Y}), "y"),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_wherever_it_is_given(broken: pa.Array, entry: str) -> None:
    if entry == "LazyBayes":
        pytest.importorskip("duckdb")
    with pytest.raises(TallybayesError):
        ENTRIES[entry](broken)


def test_labels_and_classes_that_are_arrays_of_arrow() -> None:
    large = [10**18 + 1, 10**18 + 2]
    X, y = np.arange(40.0).reshape(-1, 1), pa.array(large * 20)
    assert NaiveBayes().fit(X, y).classes_.tolist() == large
    assert NaiveBayes().partial_fit(X, y, classes=pa.array(large)).classes_.tolist() == large
    some = SemiSupervised(NaiveBayes()).fit(X, pa.array([*large * 10, *[None] * 20]))
    assert some.classes_.tolist() == large


@pytest.fixture
def file(broken: pa.Array, tmp_path: Path) -> Path:
    path = tmp_path / "rows.arrow"
    table = pa.table({"k": broken, "y": Y})
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    return path


def test_a_file_to_learn_from(file: Path) -> None:
    with pytest.raises(TableError, match="rows"):
        NaiveBayes().learn_from(str(file), "y")


def test_a_file_on_the_command_line(file: Path) -> None:
    command = [sys.executable, "-m", "tallybayes", "fit", str(file), "--target", "y", "-o", str(file) + ".model"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode in (1, 2), done
    assert "Traceback" not in done.stderr
    assert "rows.arrow" in done.stderr


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_text_that_is_not_utf8_is_refused_by_every_command(kind: str, tmp_path: Path) -> None:
    """Fit, predict and evaluate alike; the words of the refusal name the file."""
    raw = pa.array([b"ok", b"\xff\xfe"] * (N // 2), pa.binary())
    texts = pa.Array.from_buffers(pa.string(), N, raw.buffers())
    good = pa.table({"k": ["ok", "no"] * (N // 2), "n": np.arange(N), "y": Y})
    bad = good.set_column(0, "k", texts)
    for name, table in (("good", good), ("bad", bad)):
        path = tmp_path / f"{name}.{kind}"
        if kind == "parquet":
            parquet.write_table(table, path)
        else:
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table)
    model = NaiveBayes(schema={"k": "categorical"})
    with pytest.raises(TableError, match=r"bad\.|UTF-?8"):
        model.learn_from(str(tmp_path / f"bad.{kind}"), "y")
    with pytest.raises(TableError, match=r"Column 'k' cannot be read: .*UTF-8"):
        model.fit(bad.drop_columns("y"), Y)
    model.fit(good.drop_columns("y"), Y)
    with pytest.raises(TableError, match=r"UTF-?8"):
        model.predict_to(str(tmp_path / f"bad.{kind}"), str(tmp_path / "out.parquet"))
    with pytest.raises(TableError, match=r"Column 'k' cannot be read: .*UTF-8"):
        model.predict_proba(bad.drop_columns("y"))
