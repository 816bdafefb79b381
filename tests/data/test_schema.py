"""What each column is: inferred from its type, changed by one argument, found again by name."""

from __future__ import annotations

import copy
import pickle
import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import tallybayes as tb
from tallybayes.data.schema import Cuts, Levels, Schema, align, infer_schema
from tallybayes.data.table import read_table
from tallybayes.errors import AmbiguousColumnWarning, OptionError, TableError

n = 40
FRAME = pd.DataFrame(
    {
        "age": np.linspace(20, 60, n),
        "zip": np.arange(n) % 3,
        "id": np.arange(n),
        "sex": ["f", "m"] * (n // 2),
        "alive": [True, False] * (n // 2),
    }
)
Y = np.arange(n) % 2


def kinds(X: Any, given: Any = None) -> dict[str, str]:
    schema = infer_schema(read_table(X), given)
    return {schema.name(j): kind for j, kind in enumerate(schema.kinds)}


@pytest.mark.parametrize("X", [FRAME, pl.DataFrame(FRAME), FRAME.to_dict("records")], ids=["pandas", "polars", "rows"])
def test_kinds_follow_from_types(X: Any) -> None:
    assert kinds(X) == {"age": "real", "zip": "real", "id": "real", "sex": "categorical", "alive": "binary"}
    assert infer_schema(read_table(X), None).ambiguous == (1,)


@pytest.mark.parametrize("kind", ["real", "categorical", "binary", "count"])
def test_one_argument_changes_a_kind(kind: str) -> None:
    assert kinds(FRAME, {"zip": kind})["zip"] == kind
    assert kinds(np.eye(3), {1: kind}) == {"x0": "real", "x1": kind, "x2": "real"}
    assert kinds(np.eye(3), {"x1": kind})["x1"] == kind
    assert set(kinds(sparse.eye(3, format="csr"), kind).values()) == {kind}


def test_an_ambiguous_column_is_reported_once_and_taken_as_numbers() -> None:
    with pytest.warns(AmbiguousColumnWarning, match=r"'zip'.*schema=\{'zip': 'categorical'\}") as caught:
        model = tb.NaiveBayes("gaussian").fit(FRAME, Y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert set(model.describe("zip")[0]) == {"mean", "variance"}
    assert "categories? declare" in str(model.schema_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(FRAME, Y).predict(FRAME)
        for kind in ("real", "categorical", "count"):
            tb.NaiveBayes(schema={"zip": kind}).fit(FRAME, Y)


@pytest.mark.parametrize(
    ("values", "is_ambiguous"),
    [
        ([0, 1] * 20, True),
        (list(range(12)) * 4, True),
        (list(range(13)) * 4, False),
        ([0, 1, 2], False),
        ([0.0, 1.0] * 20, False),
        (pd.array([0, 1, None, 1] * 10, dtype="Int64"), True),
    ],
)
def test_few_values_of_integers_are_ambiguous(values: Any, is_ambiguous: bool) -> None:
    table = read_table(pd.DataFrame({"a": values}))
    assert infer_schema(table, None).ambiguous == ((0,) if is_ambiguous else ())


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"zipp": "real"}, "There is no column 'zipp'. Columns: 'age', 'zip'"),
        ({"zipp": "id"}, "There is no column 'zipp'. Columns: 'age', 'zip'"),
        ({9: "real"}, "There is no column 9"),
        ({-1: "real"}, "There is no column -1"),
        ({"zip": "nominal"}, "Column 'zip' was given the kind 'nominal'. Allowed: real, categorical, binary, count"),
        ("nominal", "Allowed: real"),
        (["real"], "schema must be a kind, a dict of kinds or a Schema; got list"),
    ],
)
def test_a_schema_that_does_not_fit(given: Any, why: str) -> None:
    with pytest.raises(OptionError, match=re.escape(why)):
        infer_schema(read_table(FRAME), given)


def test_columns_are_found_by_name() -> None:
    schema = infer_schema(read_table(FRAME), None)
    turned = read_table(FRAME[["sex", "alive", "id", "age", "zip"]])
    found = align(turned, schema)
    assert found.names == tuple(FRAME.columns)
    assert found.columns is not None
    np.testing.assert_array_equal(found.columns[0].values, FRAME["age"])
    with pytest.raises(TableError, match=r"unseen at fit time:\n- more\n.*now missing:\n- id\n- sex\n"):
        align(read_table(FRAME.assign(more=1).drop(columns=["sex", "id"])), schema)


def test_keys_of_rows_may_be_left_out_but_not_invented() -> None:
    schema = infer_schema(read_table([{"a": 1.0, "b": "x"}]), None)
    found = align(read_table([{"b": "x"}]), schema)
    assert found.columns is not None
    assert np.isnan(found.columns[0].values).all()
    with pytest.raises(TableError, match="not there at fit: 'c', 'd'"):
        align(read_table([{"c": 1, "d": 2, "a": 3.0}]), schema)


def test_true_is_no_number_of_a_column() -> None:
    schema = Schema(("real", "real"))
    assert [schema.position(1), schema.position("x1"), schema.position(np.int64(1))] == [1, 1, 1]
    with pytest.raises(OptionError, match="no column True"):
        schema.position(True)


def test_columns_without_names_go_by_position() -> None:
    model = tb.GaussianNB().fit(np.array([[1.0, 5.0], [2.0, 7.0]]), [0, 1])
    with pytest.raises(TableError, match="X has 3 features, but GaussianNB is expecting 2 features"):
        model.predict(np.zeros((1, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model.predict([{"x1": 7.0, "x0": 2.0}]), [1])
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        model.predict(pd.DataFrame([[1.0, 5.0]], columns=["a", "b"]))


def test_another_models_schema_brings_its_levels_and_cuts() -> None:
    first = tb.NaiveBayes("width", {"zip": "categorical"}).fit(FRAME, Y)
    half = tb.NaiveBayes("width", first.schema_).fit(pl.DataFrame(FRAME[:9]), Y[:9])
    np.testing.assert_array_equal(half.schema_.cuts[0].points, first.schema_.cuts[0].points)
    assert half.schema_.container == "polars"
    assert tb.merge_all([first, half]).class_count_.sum() == n + 9
    with pytest.raises(TableError, match="now missing"):
        tb.NaiveBayes(schema=first.schema_).fit(FRAME[["age"]], Y)


def test_levels_grow_by_appending() -> None:
    levels = Levels().extend(["b", "a"]).extend(["a", "c"], declared=True)
    assert levels.labels == ("b", "a", "c")
    assert levels.declared == {1, 2}
    assert levels.index() == {"b": 0, "a": 1, "c": 2}
    assert len(Levels().extend([3, 3.0, np.int64(3)])) == 1


def test_levels_never_change_and_share_their_labels() -> None:
    first = Levels(["a", "b"], frozenset({1}))
    longer = first.extend(["c"])
    assert (first.labels, longer.labels) == (("a", "b"), ("a", "b", "c"))
    assert longer.known.shares(first.known)
    assert first.extend(["d"]).labels == ("a", "b", "d")
    assert longer.labels == ("a", "b", "c")
    assert first.extend(["a"]) is first
    assert first.extend(["b"], declared=True) is first
    assert first.extend(v for v in ["a"]).declared == {1}
    assert first.extend((v for v in ["a", "e"]), declared=True).declared == {0, 1, 2}
    assert longer.find(["c", "z", "a"]).tolist() == [2, -2, 0]


def test_levels_are_equal_by_their_labels() -> None:
    first = Levels(["a", "b"], frozenset({1}))
    counterpart = Levels().extend(["a"]).extend(["b"], declared=True)
    assert first == counterpart
    assert hash(first) == hash(counterpart)
    assert first != Levels(["a", "b"])
    assert first != Levels(["b", "a"], frozenset({1}))
    assert first != first.extend(["c"])
    assert first != ("a", "b")
    for made in (copy.copy(first), copy.deepcopy(first), pickle.loads(pickle.dumps(first))):
        assert made == first
        assert made.extend(["c"]).index() == {"a": 0, "b": 1, "c": 2}
    assert repr(Levels(["a"])) == "Levels(labels=('a',), declared=frozenset())"


def test_intervals_have_names() -> None:
    assert Cuts(np.array([1.0, 2.5]), 0.0, 9.0).labels() == ["< 1", "1 to 2.5", ">= 2.5"]
    assert Cuts(np.array([]), 0.0, 9.0).labels() == ["any"]


def test_a_schema_can_be_printed() -> None:
    text = str(
        Schema(
            ("categorical", "real"),
            ("sky", "wind"),
            levels={0: Levels(tuple("abcdefgh"))},
            cuts={1: Cuts(np.array([1.0]), 0, 2)},
        )
    )
    assert text == "sky: categorical  8 levels: a, b, c, d, e, f, …\nwind: real  cut into 2: < 1, >= 1"


def test_columns_that_do_not_match_are_refused_with_advice() -> None:
    X = pd.DataFrame({"Age": [1.0, 2.0, 3.0], "b": [1.0, 3.0, 2.0]})
    model = tb.NaiveBayes().fit(X, [0, 1, 0])
    for other, said in (
        (X.assign(c=1), r"say model.ignore_extra\(\), which does"),
        (X.rename(columns={"Age": "age"}), "'age' was not there at fit. Did you mean 'Age'?"),
        (X[["b"]], "may hold NaN or None in every row"),
        ([{"age": 3.0}], r"ignore_extra\(\) leaves such keys out. Did you mean 'Age'?"),
    ):
        with pytest.raises(TableError, match=said):
            model.predict(other)
    assert model.copy().ignore_extra().predict(X.assign(c=1)).tolist() == model.predict(X).tolist()
    with pytest.raises(TableError, match=r"There is no column 'age' .* Did you mean 'Age'\?"):
        tb.NaiveBayes().learn_from(X, "age")
