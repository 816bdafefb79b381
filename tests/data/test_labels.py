"""y in every form: the codes and the sorted labels are those of np.unique."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import DataConversionWarning

import tallybayes as tb
from tallybayes.data.labels import encode_labels, positions, read_labels, recode, union
from tallybayes.errors import LabelError, OptionError, TableError

WORDS = ["pear", "fig", "pear", "apple", "fig"]
INTS = [7, -1, 7, 0, -1]
BOOLS = [True, False, True, True, False]


def forms() -> dict[str, tuple[Any, list[Any]]]:
    found: dict[str, tuple[Any, list[Any]]] = {}
    for what, values in (("words", WORDS), ("ints", INTS), ("bools", BOOLS)):
        backward = pd.CategoricalDtype(sorted(set(values), reverse=True))
        found |= {
            f"{what} list": (values, values),
            f"{what} tuple": (tuple(values), values),
            f"{what} array": (np.array(values), values),
            f"{what} objects": (np.array(values, dtype=object), values),
            f"{what} strided": (np.repeat(values, 3)[::3], values),
            f"{what} backward": (np.array(values[::-1])[::-1], values),
            f"{what} pandas": (pd.Series(values, index=[9, 8, 7, 6, 5]), values),
            f"{what} pandas category": (pd.Series(values, dtype="category"), values),
            f"{what} pandas Categorical": (
                pd.Categorical(values, dtype=backward),
                values,
            ),
            f"{what} pandas index": (pd.Index(values), values),
            f"{what} polars": (pl.Series(values), values),
            f"{what} pyarrow": (pa.array(values), values),
            f"{what} pyarrow chunked": (pa.chunked_array([values[:2], values[2:]]), values),
        }
    for dtype in ("i1", "i2", "i4", ">i4", ">i8", "f4", "f8", "f2", "g", ">f8"):
        found[f"ints {dtype}"] = (np.array(INTS, dtype=dtype), INTS)
    for dtype in ("u1", "u8", ">u2"):
        found[f"ints {dtype}"] = (np.array([3, 0, 3, 200, 0], dtype=dtype), [3, 0, 3, 200, 0])
    read_only = np.array(INTS)
    read_only.setflags(write=False)
    return found | {
        "ints read-only": (read_only, INTS),
        "ints nullable": (pd.Series(INTS, dtype="Int64"), INTS),
        "bools nullable": (pd.Series(BOOLS, dtype="boolean"), BOOLS),
        "words nullable": (pd.Series(WORDS, dtype="string"), WORDS),
        "words in Arrow": (pd.Series(WORDS, dtype="string[pyarrow]"), WORDS),
        "words polars Categorical": (pl.Series(WORDS, dtype=pl.Categorical), WORDS),
        "words polars Enum": (pl.Series(WORDS, dtype=pl.Enum(["pear", "fig", "apple"])), WORDS),
        "words dictionary": (pa.array(WORDS).dictionary_encode(), WORDS),
        "words StringDType": (np.array(WORDS, dtype=np.dtypes.StringDType()), WORDS),
        "bytes": (np.array(WORDS, dtype="S"), [w.encode() for w in WORDS]),
        "range": (range(5), list(range(5))),
        "whole floats": ([1.0, 2.0, 1.0, 3.0, 2.0], [1, 2, 1, 3, 2]),
        "whole floats as objects": (np.array([1.0, 2.0, 1.0, 3.0, 2.0], dtype=object), [1, 2, 1, 3, 2]),
        "numpy scalars": ([np.int64(3), np.int64(1)] * 2 + [np.int64(3)], [3, 1, 3, 1, 3]),
    }


FORMS = forms()


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_labels(name: str) -> None:
    y, values = FORMS[name]
    classes, codes = np.unique(np.array(values, dtype=object), return_inverse=True)
    got, found = read_labels(y, len(values))
    assert found.tolist() == classes.tolist()
    assert got.dtype == np.int32
    np.testing.assert_array_equal(got, codes)
    model = tb.GaussianNB().fit(np.arange(5.0)[:, None], y)
    assert model.predict([[0.0]])[0] in set(values)


def test_a_column_vector_is_flattened_with_a_warning() -> None:
    for y in (np.array(WORDS)[:, None], pd.DataFrame({"y": WORDS}), pl.DataFrame({"y": WORDS})):
        with pytest.warns(DataConversionWarning, match="column-vector"):
            _, found = read_labels(y, 5)
        assert found.tolist() == ["apple", "fig", "pear"]


@pytest.mark.parametrize(
    ("y", "why"),
    [
        ([1, 2, None], "row 2 is missing"),
        (pl.Series([1, None, 2]), "NaN .row 1"),
        (pd.Series([1, 2, None], dtype="Int64"), "NaN .row 2"),
        (pd.Series(["a", None, "b"], dtype="category"), "row 1 is missing"),
        (pa.chunked_array([["a", None, "b"]]), "row 1 is missing"),
        (np.ma.masked_array([1, 2, 1], [False, True, False]), "masked"),
        ([0.5, 1.0, 2.0], "continuous"),
        (np.array([0.5, 1.0, 2.0], dtype=object), "continuous"),
        ([1.0, np.inf, 2.0], "infinity .row 1"),
        (np.array([1, 2**63 + 1, 2], dtype=np.uint64), "strings"),
        (np.array(["2020"] * 3, dtype="datetime64[Y]"), "Unknown label type"),
        ([[1], [2, 3], [4]], "inhomogeneous"),
        (["a", 1, 2.5], "mixes|continuous"),
        ("abc", "1d array"),
        (np.zeros((3, 2)), "1d array"),
        ([1, 2], "X has 3 rows and y has 2"),
    ],
)
def test_labels_that_are_refused(y: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_labels(y, 3)


def test_predictions_are_labels_of_the_same_type() -> None:
    X = np.arange(4.0)[:, None]
    for y in (["no", "yes"] * 2, [True, False] * 2, [3, 9] * 2, np.array([3, 9] * 2, dtype=np.int16)):
        found = tb.GaussianNB().fit(X, y).predict(X)
        assert found.dtype == np.asarray(y).dtype


def test_longer_words_may_come_later() -> None:
    model = tb.GaussianNB().partial_fit([[1.0]], ["b"]).partial_fit([[5.0], [6.0]], ["a long word"] * 2)
    assert model.predict([[5.5], [1.0]]).tolist() == ["a long word", "b"]


def test_union_and_positions() -> None:
    a, b = np.array(["d", "b"]), np.array(["aaaa", "b"])
    assert union(a, b).tolist() == ["aaaa", "b", "d"]
    assert positions(np.array(["d", "x"]), union(a, b)).tolist() == [2, -1]
    assert recode(np.array([1, -1, 0], np.int32), a, union(a, b)).tolist() == [1, -1, 2]
    assert union(np.array([2, 1]), np.array([3], dtype=np.int8)).tolist() == [1, 2, 3]
    with pytest.raises(LabelError, match="mixes int and str"):
        union(np.array([1]), np.array(["a"]))


def test_many_labels() -> None:
    values = np.random.default_rng(0).integers(-(2**40), 2**40, size=5000)
    codes, found = encode_labels(values)
    np.testing.assert_array_equal(found[codes], values)
    assert (np.diff(found) > 0).all()


@pytest.mark.parametrize(
    "classes", [["b", "a"], ("a", "b", "a"), {"a", "b"}, np.array(["a", "b"]), pl.Series(["a", "b"])]
)
def test_classes_are_declared_in_any_form(classes: Any) -> None:
    model = tb.GaussianNB().partial_fit([[1.0]], ["b"], classes=classes)
    assert model.classes_.tolist() == ["a", "b"]
    assert model.partial_fit([[2.0]], ["a"], classes=classes).class_count_.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("classes", [[["a", "b"]], [], ["a", None], ["a", 1], ["a"]])
def test_classes_that_are_refused(classes: Any) -> None:
    model = tb.GaussianNB()
    with pytest.raises(LabelError):
        model.partial_fit([[1.0]], ["b"], classes=classes)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("make", [list, np.array], ids=["list", "array"])
def test_a_label_with_half_a_surrogate_pair(make: Any) -> None:
    with pytest.raises(LabelError, match="label of row 1 cannot be read: the text holds half of a surrogate"):
        tb.GaussianNB().fit([[1.0], [2.0]], make(["x", "a\ud800"]))


def test_text_that_is_not_utf8() -> None:
    _, ends, data = pa.array([b"u", b"\xff\xfe"]).buffers()
    broken = pa.StringArray.from_buffers(2, ends, data)
    with pytest.raises(TableError, match=r"Column 'b' cannot be read: .*UTF-8 \(row 1\)"):
        tb.NaiveBayes().fit(pa.table({"a": [1.0, 2.0], "w": ["u", "v"], "b": broken}), [0, 1])
    with pytest.raises(LabelError, match=r"y cannot be read: .*UTF-8 \(row 1\)"):
        tb.GaussianNB().fit([[1.0], [2.0]], pa.chunked_array([broken]))


def test_a_column_s_name_is_not_the_labels() -> None:
    frame = pd.DataFrame({"tenure": [1.0, 2.0, 8.0], "churned": ["yes", "yes", "no"]})
    with pytest.raises(LabelError, match=r"fit\(table.drop\(columns='churned'\), table\['churned'\]\), or learn_from"):
        tb.NaiveBayes().fit(frame, "churned")
    for y in (frame["churned"], [1, 0, 1], np.array(["a", "b", "a"])):
        with pytest.raises(OptionError, match=r"labels themselves, one for each row, go to fit\(X, y\)"):
            tb.NaiveBayes().learn_from(frame[["tenure"]], y)
