"""A table as the kernels read it: numbers, codes, and what happens between one table and the next."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import tallybayes as tb
from tallybayes import _core
from tallybayes.data import encoding
from tallybayes.data.schema import Levels, infer_schema
from tallybayes.data.table import read_table
from tallybayes.errors import TableError, UnseenCategoryWarning

CODES = np.array([[0, 3], [2, 1], [2, 0], [1, 3], [0, 0], [3, 2]])
Y = [0, 1, 0, 1, 1, 0]
CARRIERS = {
    "int64": lambda X: X,
    "uint8": lambda X: X.astype(np.uint8),
    "float": lambda X: X.astype(float),
    "float32, by column": lambda X: np.asfortranarray(X, dtype=np.float32),
    "objects": lambda X: X.astype(object),
    "pandas": lambda X: pd.DataFrame(X),
    "pandas, other columns": lambda X: pd.DataFrame(X.astype(float)).astype({0: "int8"}),
    "rows": lambda X: [{"x0": int(a), "x1": float(b)} for a, b in X],
    "sparse": lambda X: sparse.csr_matrix(X),
}


@pytest.mark.parametrize("first", CARRIERS)
@pytest.mark.parametrize("second", CARRIERS)
@pytest.mark.filterwarnings("ignore:X .* feature names")
def test_a_number_is_the_same_category_in_every_carrier(first: str, second: str) -> None:
    """What is learned from one carrier is met again, counted and forgotten in another."""
    a, b = CARRIERS[first], CARRIERS[second]
    whole = tb.CategoricalNB().fit(CODES, Y)
    model = tb.CategoricalNB().fit(a(CODES[:3]), Y[:3])
    before = model.predict_joint_log_proba(a(CODES[:3]))
    np.testing.assert_allclose(model.predict_joint_log_proba(b(CODES[:3])), before)
    model.partial_fit(b(CODES[3:]), Y[3:])
    np.testing.assert_array_equal(model.n_categories_, whole.n_categories_)
    np.testing.assert_array_equal(np.stack(model.category_count_), np.stack(whole.category_count_))
    for carrier in (a, b):
        np.testing.assert_allclose(model.predict_proba(carrier(CODES)), whole.predict_proba(CODES))
    model.forget(b(CODES[3:]), Y[3:])
    np.testing.assert_allclose(model.predict_joint_log_proba(b(CODES[:3])), before)


def test_a_code_too_large_to_count_directly_comes_later() -> None:
    model = tb.CategoricalNB().fit(np.array([[0], [1]]), [0, 1]).partial_fit(np.array([[100_000]]), [1])
    assert model.n_categories_.tolist() == [100_001]
    assert model.predict(np.array([[100_000], [0]])).tolist() == [1, 0]
    negative = tb.CategoricalNB().fit(np.array([[0], [1]]), [0, 1]).partial_fit(np.array([[-5], [-5]]), [1, 1])
    assert negative.describe(0)[1]["-5"] == pytest.approx(3 / 6)


LABELS = st.one_of(st.none(), st.sampled_from(["red", "green", "blue", "", "ß", "red "]))


@given(first=st.lists(LABELS, min_size=1, max_size=9), second=st.lists(LABELS, min_size=1, max_size=9))
def test_words_are_numbered_as_they_come_whatever_carries_them(first: Any, second: Any) -> None:
    order = list(dict.fromkeys(v for v in first if v is not None))
    seen = [encoding.MISSING if v is None else order.index(v) if v in order else encoding.UNSEEN for v in second]
    for carrier in (_objects, _pandas, _polars, _arrow, _dictionary):
        table = read_table(carrier(first))
        schema = infer_schema(table, "categorical")
        codes, grown = encoding.levels(table, schema, [0], True, {})
        labels = grown.levels[0].labels
        if carrier is not _dictionary:
            assert list(labels) == order
        assert _decoded(codes, labels, len(first)) == first
        later, kept = encoding.levels(read_table(carrier(second)), grown, [0], False, {})
        assert kept is grown
        found = _decoded(later, labels, len(second))
        assert found == [None if c < 0 else order[c] for c in seen]


def _decoded(codes: Any, labels: Any, n: int) -> list[Any]:
    """Reads the codes with the counting kernel, one row at a time."""
    y = np.arange(n, dtype=np.int32)
    count, _ = _core.counts(codes.columns, y, None, n, np.array([len(labels)], dtype=np.int64), 2**31 - 1)
    return [labels[int(np.argmax(row))] if row.any() else None for row in count]


def _objects(values: Any) -> Any:
    return np.array(values, dtype=object)[:, None] if any(values) else [{"a": v} for v in values]


def _pandas(values: Any) -> Any:
    return pd.DataFrame({"a": pd.Series(values, dtype="string")})


def _polars(values: Any) -> Any:
    return pl.DataFrame({"a": pl.Series(values, dtype=pl.String)})


def _arrow(values: Any) -> Any:
    return pa.table({"a": pa.array(values, pa.large_string())})


def _dictionary(values: Any) -> Any:
    return pa.table({"a": pa.array(values, pa.dictionary(pa.int16(), pa.string()))})


def test_labels_of_several_types_in_one_column() -> None:
    """Words first, numbers later: each keeps its code."""
    known = Levels(("red", 3, "blue", 2.5))
    table = read_table(np.array([[2.5], [3.0], [7.0], [np.nan]]))
    schema = infer_schema(table, "categorical").with_levels({0: known})
    codes, grown = encoding.levels(table, schema, [0], True, {})
    assert grown.levels[0].labels == ("red", 3, "blue", 2.5, 7)
    assert _decoded(codes, grown.levels[0].labels, 4) == [2.5, 3, 7, None]


WORDS = ["red", "green", None, "blue", "red"]
ASKED = {
    "objects": lambda: pd.DataFrame({"a": np.array(WORDS, dtype=object)}),
    "pandas": lambda: _pandas(WORDS),
    "polars": lambda: _polars(WORDS),
    "pyarrow": lambda: _arrow(WORDS),
    "dictionary": lambda: _dictionary(WORDS),
    "category": lambda: pd.DataFrame({"a": pd.Categorical(WORDS)}),
    "enum": lambda: pl.DataFrame({"a": pl.Series(WORDS, dtype=pl.Enum(["blue", "green", "red"]))}),
    "rows": lambda: [{"a": v} for v in WORDS],
    "numbers": lambda: pd.DataFrame({"a": [1.5, 2.0, np.nan, -3.0, 1.5]}),
    "integers": lambda: pd.DataFrame({"a": [10**6, 2, 5, -3, 2]}),
    "booleans": lambda: pd.DataFrame({"a": np.array([True, None, False, None, True], dtype=object)}),
}


@pytest.mark.parametrize("first", ASKED)
@pytest.mark.parametrize("second", ASKED)
@pytest.mark.filterwarnings("ignore:Categories")
def test_asking_makes_no_dictionary(first: str, second: str) -> None:
    """What an answer costs goes by the rows, not by how many levels were learned: nothing is built from those."""
    model = tb.NaiveBayes(schema={"a": "categorical"}).fit(ASKED[first](), [0, 1, 0, 1, 1])
    rows = ASKED[second]()
    model.predict_proba(rows)
    made, levels = _core.dictionaries_made(), model.schema_.levels[0]
    model.predict_proba(rows)
    assert _core.dictionaries_made() == made
    assert model.schema_.levels[0] is levels


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.filterwarnings("ignore:X .* feature names")
def test_asking_about_the_tables_own_integers_makes_no_dictionary(carrier: str) -> None:
    model, rows = tb.CategoricalNB().fit(CODES, Y), CARRIERS[carrier](CODES)
    model.predict_proba(rows)
    made = _core.dictionaries_made()
    model.predict_proba(rows)
    assert _core.dictionaries_made() == made


@pytest.mark.parametrize("carrier", [name for name in ASKED if name not in ("category", "enum", "dictionary")])
def test_learning_what_is_known_keeps_the_levels(carrier: str) -> None:
    model = tb.NaiveBayes(schema={"a": "categorical"}).fit(ASKED[carrier](), [0, 1, 0, 1, 1])
    made, levels = _core.dictionaries_made(), model.schema_.levels[0]
    encoding.level_codes(read_table(ASKED[carrier]()), model.schema_, [0], True, {})
    assert _core.dictionaries_made() == made
    model.partial_fit(ASKED[carrier](), [0, 1, 0, 1, 1])
    assert model.schema_.levels[0] is levels


def test_a_copy_that_learns_leaves_the_other_as_it_was() -> None:
    """Both go on from the same levels, each with labels of its own."""
    model = tb.NaiveBayes().fit([{"a": "red"}, {"a": "blue"}], [0, 1])
    counterpart = model.copy()
    model.partial_fit([{"a": "green"}, {"a": "grey"}], [0, 0])
    counterpart.partial_fit([{"a": "grey"}], [1])
    alone = tb.NaiveBayes().fit([{"a": "red"}, {"a": "blue"}, {"a": "grey"}], [0, 1, 1])
    assert model.schema_.levels[0].labels == ("red", "blue", "green", "grey")
    assert counterpart.schema_.levels[0].labels == ("red", "blue", "grey")
    np.testing.assert_array_equal(counterpart.predict_proba([{"a": "grey"}]), alone.predict_proba([{"a": "grey"}]))
    with pytest.warns(UnseenCategoryWarning):
        counterpart.predict_proba([{"a": "green"}])


def test_numbers_are_read_where_they_lie() -> None:
    X = np.asfortranarray(np.arange(12.0).reshape(4, 3))
    table = read_table(X)
    some = encoding.numbers(table, infer_schema(table, None), [2, 0])
    assert (some.n, some.d) == (4, 2)
    np.testing.assert_array_equal(some.column(0), X[:, 2])
    np.testing.assert_array_equal(some.column(1), X[:, 0])


def test_truth_values_are_numbers_for_a_distribution_of_numbers() -> None:
    values = [True, None, False, True]
    for X in (pd.DataFrame({"a": values}), pl.DataFrame({"a": values}), [{"a": v} for v in values]):
        model = tb.NaiveBayes(schema={"a": "real"}, var_smoothing=0.0).fit(X, [0, 0, 1, 0])
        assert model.describe("a")[0]["mean"] == 1.0
        assert model.describe("a")[1]["mean"] == 0.0


@pytest.mark.parametrize("words", [["x", "y"], pd.Categorical(["x", "y"]), pl.Series(["x", "y"])])
def test_words_are_no_numbers(words: Any) -> None:
    frame = pl.DataFrame({"a": words}) if isinstance(words, pl.Series) else pd.DataFrame({"a": words})
    with pytest.raises(TableError, match=r"Column 'a' has 2 value\(s\) that are not numbers \(first: 'x', row 0\)"):
        tb.GaussianNB().fit(frame, [0, 1])


def test_sparse_blocks_cover_all_rows() -> None:
    X = sparse.random(157, 5, density=0.5, format="csr", random_state=0)
    blocks = list(encoding.Sparse(X).dense_blocks(cells=200))
    assert [span.stop - span.start for span, _ in blocks] == [40, 40, 40, 37]
    whole = np.vstack([np.column_stack([block.column(j) for j in range(5)]) for _, block in blocks])
    np.testing.assert_array_equal(whole, X.toarray())


def test_cuts_are_chosen_once() -> None:
    X = np.arange(20.0)[:, None]
    y = [0] * 10 + [1] * 10
    model = tb.NaiveBayes("mdl").fit(X, y)
    cut = model.schema_.cuts[0]
    assert (cut.low, cut.high) == (0.0, 20.0)  # widened: the range tells no value
    assert cut.points.tolist() == [9.5]
    model.partial_fit(X + 100, y)
    assert model.schema_.cuts[0] is cut


def test_a_warning_names_the_columns_with_unseen_categories() -> None:
    X = pd.DataFrame({"a": ["p", "q"], "b": ["p", "q"], "c": [1.0, 2.0]})
    model = tb.NaiveBayes().fit(X, [0, 1])
    with pytest.warns(UnseenCategoryWarning, match=r"in column\(s\) 'b': ") as caught:
        model.predict(X.assign(b=["z", "y"]))
    assert [w.filename for w in caught] == [__file__]


def test_rows_of_no_weight_alone_change_nothing() -> None:
    for make, X in ((tb.GaussianNB, [[1.0], [2.0], [3.0]]), (tb.CategoricalNB, [[0], [1], [1]])):
        model = make().fit(X, [0, 1, 1])
        before = model.predict_joint_log_proba(X)
        model.partial_fit([[9]], [7], sample_weight=[0.0]).forget([[9]], [8], sample_weight=[0.0])
        np.testing.assert_array_equal(model.predict_joint_log_proba(X), before)
        assert model.classes_.tolist() == [0, 1]
