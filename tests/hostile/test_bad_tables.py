"""Any table gets an answer or one clear error that names the column, the row and what to do."""

from __future__ import annotations

import datetime
import decimal
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

import tallybayes as tb
from tallybayes.data.table import read_table
from tallybayes.errors import LabelError, OptionError, TableError, TallybayesError, TextColumnWarning
from tests.quick import examples

Y = ["a", "b", "a"]


@pytest.mark.parametrize(
    ("X", "why"),
    [
        (pd.DataFrame({"t": [datetime.date(2020, 1, 1), "x", None]}), "'t' mixes dates, times or durations .*'x'"),
        ([{"t": datetime.date(2020, 1, 1)}, {"t": 3}, {}], r"'t' mixes dates.* 3 \(row 1\)"),
        ([{"a": 1}, {"a": {"b": {"c": 2}}}, {"a": 3}], r"row 1, key 'a\.b\.c'"),
        (pl.DataFrame({"l": [[1], [2], [3]]}), "'l' holds nested values"),
        (pa.table({"s": [{"a": 1}] * 3}), "'s' holds nested values"),
        (pd.DataFrame({"m": [1, "x", 2]}), "'m' mixes numbers"),
        (pd.DataFrame({"v": [1.0, np.inf, 2.0]}), "'v' has inf"),
        (pd.DataFrame([[1, 2]] * 3, columns=["a", "a"]), "Several columns are called 'a'"),
        ([{"a": 1}, {"a": [1, 2]}, {"a": 3}], "'a' has a nested value"),
        ([{}, {}, {}], "0 feature"),
        ({"a": [1, 2, 3]}, "Got one dict"),
        ([[1.0, 2.0], [1.0], [2.0, 3.0]], "do not form a table"),
        ([1.0, 2.0, 3.0], "Expected 2D array"),
        (np.zeros((0, 2)), "0 sample"),
        (np.zeros((3, 0)), "0 feature"),
        (np.zeros((3, 2), dtype=complex), "Complex data not supported"),
        (np.full((3, 1), 2**60, dtype="datetime64[Y]"), "3,000,000 years"),
        (None, "2D"),
        ("text", "2D"),
        (np.zeros((3, 2, 2)), "2D"),
    ],
)
def test_tables_that_cannot_be_read(X: Any, why: str) -> None:
    with pytest.raises(TallybayesError, match=why):
        tb.NaiveBayes().fit(X, Y)


@pytest.mark.parametrize(
    ("y", "why"),
    [
        (None, "y is None"),
        ([1.5, 2.5, 1.5], "continuous"),
        (["a", None, "b"], "row 1 is missing"),
        ([1.0, np.nan, 2.0], "contains NaN"),
        (["a", "b"], "inconsistent numbers"),
        ([1, "a", 2], "mixes int and str"),
        ([[1, 2]] * 3, "1d array"),
        ([1j, 2j, 3j], "Complex"),
        (np.array([1j, 2j, 3j], dtype=object), "Complex"),
        (np.array([1j, "a", "b"], dtype=object), "Complex"),
        ([{"a": 1}, {"a": 2}, {"a": 1}], "row 0 holds a dict"),
        ([[1], [2, 3], [4]], "one for each row"),
        ([1, [2, 3], 4], "row 1 holds a list"),
        (np.array([{1}, "a", "b"], dtype=object), "row 0 holds a set"),
        (["a", "\ud800", "b"], "label of row 1 cannot be read"),
        (np.array(["a", "b", "x\udfff"], dtype=object), "label of row 2 cannot be read"),
    ],
)
def test_labels_that_cannot_be_read(y: Any, why: str) -> None:
    with pytest.raises(LabelError, match=why):
        tb.NaiveBayes().fit([[1.0], [2.0], [3.0]], y)


@pytest.mark.parametrize("y", [[{"a": 1}, None, None], [[1], [2, 3], None], [None, 0, "\ud800"]])
def test_some_labels_that_cannot_be_read(y: Any) -> None:
    with pytest.raises(LabelError):
        tb.SemiSupervised(tb.NaiveBayes()).fit([[1.0], [2.0], [3.0]], y)


GAPS = {
    "words": pd.Series(["a", pd.NA, "b", "a"], dtype=object),
    "words and NaT": pd.Series(["a", pd.NaT, "b", "a"], dtype=object),
    "numbers": pd.Series([1.5, pd.NA, 2.5, 3.5], dtype=object),
    "integers": pd.Series([1, pd.NA, 2, 3], dtype=object),
    "booleans": pd.Series([True, pd.NA, False, True], dtype=object),
    "decimals": pd.Series([decimal.Decimal(1), decimal.Decimal("sNaN"), decimal.Decimal("2.5"), 3], dtype=object),
    "NumPy's numbers": pd.Series([np.float32(1.5), np.float64("nan"), np.int8(2), 3], dtype=object),
    "NumPy's words": pd.Series([np.str_("a"), np.datetime64("NaT"), np.str_("b"), "a"], dtype=object),
    "bytes": pd.Series([b"a", pd.NA, b"b", b"a"], dtype=object),
    "boolean": pd.Series([True, None, False, True], dtype="boolean"),
    "string": pd.Series(["a", None, "b", "a"], dtype="string"),
    "string[python]": pd.Series(["a", None, "b", "a"], dtype="string[python]"),
    "Int64": pd.Series([1, None, 2, 3], dtype="Int64"),
    "Float32": pd.Series([1.5, None, 2.5, 3.5], dtype="Float32"),
    "sparse": pd.Series(pd.arrays.SparseArray([1.5, np.nan, 2.5, 3.5])),
    "sparse words": pd.Series(pd.arrays.SparseArray(np.array(["a", None, "b", "a"], dtype=object))),
    "category": pd.Series(["a", None, "b", "a"], dtype="category"),
}


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("make", [tb.NaiveBayes, tb.BayesClassifier, tb.AODE], ids=lambda make: make.__name__)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_is_missing_is_missing_for_every_question(gap: str, make: Any) -> None:
    """As if the value were None in a list of dicts, whatever stands for it."""
    y = ["a", "b", "a", "b"]
    X = pd.DataFrame({"v": GAPS[gap], "w": [1.0, 2.0, 0.5, 4.0]})
    plain = [{"v": None if i == 1 else v, "w": w} for i, (v, w) in enumerate(zip(GAPS[gap], X["w"], strict=True))]
    model, counterpart = make().fit(X, y), make().fit(plain, y)
    assert model.schema_.kinds == counterpart.schema_.kinds
    np.testing.assert_allclose(model.predict_proba(X), counterpart.predict_proba(plain))
    np.testing.assert_allclose(model.explain(X).values, counterpart.explain(plain).values)
    np.testing.assert_allclose(model.novelty(X).p_value(X), counterpart.novelty(plain).p_value(plain))
    assert "missing" in model.explain(X).frame("dict")["value"].tolist()
    assert read_table(X).values(0)[1] is None
    model.partial_fit(X, y).forget(X, y)
    np.testing.assert_allclose(model.predict_proba(X), counterpart.predict_proba(plain))


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (pd.Series([object(), "a", "b"], dtype=object), "of type object"),
        (pd.Series([1j, 2.0, 3], dtype=object), "Complex.*real and imaginary"),
        (pd.Series([1j, 2.0, 3]), "Complex.*real and imaginary"),
        (pd.Series([np.datetime64("2020-01-01"), None, "a"], dtype=object), "mixes dates"),
        (pd.Series([{1}, "a", "b"], dtype=object), "nested"),
    ],
)
def test_columns_that_cannot_be_read_are_named(column: Any, why: str) -> None:
    with pytest.raises(TableError, match=why) as caught:
        tb.NaiveBayes().fit(pd.DataFrame({"good": [1.0, 2.0, 3.0], "odd": column}), Y)
    assert caught.value.column == "odd"


def test_errors_name_the_place() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]})
    for X, where in (
        (frame.assign(a=[1.0, np.inf, 2.0]), ("a", 1, np.inf)),
        (frame.assign(b=np.array([1, "x", 2], dtype=object)), ("b", 1, "x")),
        (frame.assign(a=np.array([1, 2, 10**400], dtype=object)), ("a", 2, 10**400)),
        ([{"a": 1}, {"a": [1, 2]}, {"a": 3}], ("a", 1, [1, 2])),
    ):
        with pytest.raises(TableError) as caught:
            tb.NaiveBayes().fit(X, Y)
        e = caught.value
        assert (e.column, e.row, e.value) == where
        again = pickle.loads(pickle.dumps(e))
        assert (str(again), again.column, again.row, again.value) == (str(e), *where)
    with pytest.raises(TableError) as caught:
        tb.NaiveBayes().fit(5, Y)
    assert (caught.value.column, caught.value.row, caught.value.value) == (None, None, None)


def test_advice_suits_the_moment() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]})
    words = frame.assign(a=pd.Categorical(["1", None, "z"], categories=["z", "1"]))
    with pytest.raises(TableError, match="Declare it categorical"):
        tb.NaiveBayes(schema={"a": "real"}).fit(words, Y)
    model = tb.NaiveBayes().fit(frame, Y)
    with pytest.raises(TableError, match="The model learned numbers there") as caught:
        model.predict(words)
    assert (caught.value.column, caught.value.row, caught.value.value) == ("a", 0, "1")
    assert "Declare" not in str(caught.value)
    binned = tb.NaiveBayes("mdl").fit(frame, Y)
    with pytest.raises(TableError, match="The model learned numbers there"):
        binned.predict_proba(words)


def test_advice_suits_rows_that_come_later_and_texts() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]})
    model = tb.NaiveBayes().fit(frame, Y)
    calls: list[Callable[[], object]] = [
        lambda: model.learn_one({"a": "1.0", "b": "x"}, Y[0]),
        lambda: model.partial_fit(frame.assign(a="1.0"), Y),
        lambda: model.forget(frame.assign(a="1.0"), Y),
    ]
    for call in calls:
        with pytest.raises(TableError, match="The model learned numbers there: give numbers") as caught:
            call()
        assert (caught.value.column, caught.value.row, caught.value.value) == ("a", 0, "1.0")
    with pytest.raises(OptionError, match="such as 'categorical', or give numbers there"):
        tb.NaiveBayes({"b": "gaussian"}).fit(frame, Y)
    texts = ["a good day", "a bad day", "no day at all"]
    for counting in (tb.MultinomialNB(), tb.BernoulliNB()):
        with (
            warnings.catch_warnings(action="error"),  # the error says it
            pytest.raises(TableError, match=r"NaiveBayes\(\) reads their words, and CountVectorizer"),
        ):
            counting.fit(texts, Y)
    for model in (tb.CategoricalNB(), tb.TAN()):
        with pytest.warns(TextColumnWarning, match="takes each text as a category") as warned:
            model.fit(pd.DataFrame({"a": texts}), Y)
        assert ("schema=" in str(warned[0].message)) == isinstance(model, tb.TAN)  # the other has no such option
    reading = tb.NaiveBayes().fit(texts, Y)
    with pytest.raises(TableError, match=r"Give a list of texts, \['one day'\]"):
        reading.predict("one day")
    with pytest.raises(TableError, match=r"missing values alone\. Texts are a list"):
        reading.predict([None])
    assert reading.predict([{}]).shape == reading.predict(["one day"]).shape == (1,)


def test_categories_that_are_numbers_are_numbers_where_numbers_are_wanted() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    model = tb.NaiveBayes().fit(frame, Y)
    np.testing.assert_array_equal(model.predict_proba(frame.astype("category")), model.predict_proba(frame))


def _broken(form: str, part: str, value: Any) -> Any:
    """A sparse matrix of that format with something in its arrays that does not belong there."""
    X = sparse.csr_matrix(np.arange(1.0, 16.0).reshape(3, 5)).asformat(form)
    if part == "lists":
        X.rows[1][0] = value
    elif part == "keys":
        X._dict[1, value] = 1.0
    elif part in ("indices", "indptr", "row", "col"):
        getattr(X, part)[1] = value
    else:
        setattr(X, part.removeprefix("new "), value)
    return X


@pytest.mark.parametrize(
    ("form", "part", "value", "why"),
    [
        ("csr", "indices", 10**8, "row 0 has a value in column 100000000 of 5"),
        ("csr", "indices", 99, "row 0 has a value in column 99 of 5"),
        ("csr", "indices", 5, "column 5 of 5"),
        ("csr", "indices", -1, "column -1 of 5"),
        ("csr", "indptr", 9, ""),
        ("csr", "indptr", 10**8, "indptr falls"),
        ("csr", "indptr", -5, "indptr falls"),
        ("csr", "new indptr", np.array([0, 5, 10, 20]), "does not lead from 0 to its 15"),
        ("csr", "new indptr", np.array([0, 5, 15]), "in 3 steps"),
        ("csr", "new indptr", np.array([1, 5, 10, 15]), "from 0"),
        ("csr", "new indptr", np.array([0.0, 5.0, 10.0, 15.0]), "arrays of integers"),
        ("csr", "new indices", np.arange(15).reshape(3, 5) % 5, "flat arrays"),
        ("csr", "new indices", np.arange(15.0) % 5, "arrays of integers"),
        ("csr", "new data", np.ones(3), "its 3 stored values"),
        ("csc", "indices", 10**8, "column 0 has a value in row 100000000 of 3"),
        ("csc", "indptr", 10**8, "indptr falls"),
        ("bsr", "indices", 10**8, "of 5"),
        ("coo", "row", 10**8, "is in row 100000000 of 3"),
        ("coo", "col", -3, "is in column -3 of 5"),
        ("coo", "new data", np.ones(2), "2 stored values"),
        ("lil", "lists", 10**8, "row 1 has a value in column 100000000"),
        ("dok", "keys", 10**8, "not sound"),
    ],
)
@pytest.mark.parametrize("array", [False, True])
def test_sparse_matrices_that_point_outside(form: str, part: str, value: Any, why: str, array: bool) -> None:
    good = np.arange(1.0, 16.0).reshape(3, 5)
    X = _broken(form, part, value)
    if array and part != "keys":
        wrapped = getattr(sparse, f"{form}_array")(good)
        for name in ("data", "indices", "indptr", "coords", "rows"):
            if hasattr(X, name):
                setattr(wrapped, name, getattr(X, name))
        X = wrapped
    if part == "indptr" and value == 9:  # rows of other lengths: odd, but a matrix
        assert tb.GaussianNB().fit(X, Y).predict_proba(X).shape == (3, 2)
        return
    for make in (tb.GaussianNB, tb.MultinomialNB, tb.NaiveBayes, tb.BayesClassifier):
        with pytest.raises(TableError, match=why):
            make().fit(X, Y)
    model = tb.GaussianNB().fit(good, Y)
    for ask in (model.predict, model.explain, model.score_samples):
        with pytest.raises(TableError, match=why):
            ask(X)


def test_sparse_matrices_of_no_numbers() -> None:
    with pytest.raises(TableError, match="Complex"):
        tb.GaussianNB().fit(sparse.csr_matrix([[1j]]), ["a"])
    X = sparse.csr_matrix([[1.0]])
    X.data = np.array(["a"], dtype=object)
    with pytest.raises(TableError, match="type object"):
        tb.GaussianNB().fit(X, ["a"])


def test_columns_at_predict() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]})
    model = tb.NaiveBayes().fit(frame, Y)
    same = model.predict_proba(frame)
    np.testing.assert_array_equal(model.predict_proba(frame[["b", "a"]]), same)
    np.testing.assert_array_equal(model.predict_proba(pl.DataFrame(frame)), same)
    with pytest.raises(TallybayesError, match="missing:\n- b"):
        model.predict(frame[["a"]])
    with pytest.raises(TallybayesError, match="unseen at fit time:\n- c"):
        model.predict(frame.assign(c=1))
    with pytest.raises(TallybayesError, match=r"2 value.s. that are not numbers .first: 'x', row 0"):
        model.predict(pd.DataFrame({"a": ["x", "z"], "b": ["x", "y"]}))
    with pytest.raises(TallybayesError, match="expecting 2 features"):
        tb.GaussianNB().fit(np.eye(2), [0, 1]).predict([[1.0]])


def test_options_that_are_wrong() -> None:
    X = pd.DataFrame({"age": [1.0, 2.0, 3.0], "zip": [1, 2, 3]})
    for arguments, why in (
        ({"schema": {"agee": "real"}}, "no column 'agee'"),
        ({"schema": {"age": "number"}}, "Allowed: real, categorical, binary, count"),
        ({"distributions": {"age": "normal"}}, "'normal' is not a distribution"),
        ({"distributions": {"age": "bernoulli"}}, "takes binary or categorical"),
        ({"alpha": -1.0, "schema": "categorical"}, "alpha must be"),
        ({"ddof": 2}, "ddof must be"),
        ({"variance": "both"}, "variance must be"),
        ({"unseen": "guess"}, "unseen must be"),
        ({"var_smoothing": -1.0}, "var_smoothing"),
    ):
        with pytest.raises(TallybayesError, match=why):
            tb.NaiveBayes(**arguments).fit(X, Y)


cells = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=True, allow_infinity=True),
    st.text(max_size=3),
    st.binary(max_size=2),
    st.dates(),
    st.lists(st.integers(), max_size=2),
)


@settings(max_examples=examples(300), suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=st.lists(st.dictionaries(st.sampled_from("abc"), cells, max_size=3), min_size=1, max_size=6),
    y=st.lists(st.one_of(st.none(), st.integers(-2, 2), st.sampled_from("xy"), st.floats()), min_size=1, max_size=6),
)
def test_any_rows_give_an_answer_or_one_clear_error(rows: Any, y: Any) -> None:
    """No crash, no NaN: a model, or an error of this library (or a plain TypeError or ValueError)."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = tb.NaiveBayes().fit(rows, (y * 6)[: len(rows)])
        except (ValueError, TypeError):
            return
        p = model.predict_proba(rows)
        assert np.isfinite(p).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0)


@settings(max_examples=examples(200))
@given(data=st.data(), n=st.integers(1, 8), d=st.integers(1, 3))
def test_any_numbers_give_probabilities(data: Any, n: int, d: int) -> None:
    number = st.one_of(st.floats(allow_infinity=False), st.sampled_from([0.0, -0.0, 1e308, -1e308, 5e-324, 1e-300]))
    X = np.array(data.draw(st.lists(st.lists(number, min_size=d, max_size=d), min_size=n, max_size=n)))
    y = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    for make in (
        tb.GaussianNB,
        tb.KernelNB,
        tb.BernoulliNB,
        lambda: tb.NaiveBayes("mdl"),
        lambda: tb.NaiveBayes("width"),
    ):
        try:
            p = make().fit(X, y).predict_proba(X)
        except TableError:  # squares beyond float64
            assert np.nanmax(np.abs(X)) > 1e100 or np.nanmin(np.abs(X[X != 0])) < 1e-100
            continue
        assert np.isfinite(p).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("X", "why"),
    [
        (np.zeros((3, 2), dtype="V4"), r"Got an array of type \|V4\. Allowed: numbers"),
        (np.array([[1, 2], [1], [2]], dtype=object), "The rows have different lengths"),
        ([{1: 1.0, "1": 2.0}] * 3, "Several columns are called '1'"),
        (sparse.coo_array(np.array([1.0, 2.0, 3.0])), r"a sparse array with 1 dimension\(s\)"),
        (sparse.csr_matrix((0, 2)), r"0 sample\(s\) \(shape=\(0, 2\)\)"),
        (sparse.csr_matrix((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\)"),
        (pd.DataFrame({"a": pd.Categorical([(1, 2), (1, 3), (1, 2)])}), "Column 'a' is of type category of tuple"),
    ],
)
def test_more_tables_that_cannot_be_read(X: Any, why: str) -> None:
    with pytest.raises(TableError, match=why):
        tb.NaiveBayes().fit(X, Y)


@pytest.mark.parametrize(
    ("model", "X", "why"),
    [
        (tb.NaiveBayes(schema={"a": "imaginary"}), [{"a": 1.0}] * 3, "Column 'a' was given the kind 'imaginary'"),
        (tb.NaiveBayes("bernoulli"), np.eye(3), "takes binary or categorical columns, not numbers. Name the columns"),
        (tb.NaiveBayes(schema={0: "id"}), sparse.csr_matrix(np.eye(3)), "A sparse matrix has no dates and no ids"),
    ],
)
def test_what_a_column_cannot_be(model: Any, X: Any, why: str) -> None:
    with pytest.raises(OptionError, match=why):
        model.fit(X, Y)


def test_a_binary_column_has_two_values() -> None:
    model = tb.NaiveBayes(schema={"u": "binary"})
    with pytest.raises(TableError, match=r"'u' is binary but has 3 values \('a', 'b', 'c'\)\. Declare it categorical"):
        model.fit([{"u": "a"}, {"u": "b"}, {"u": "c"}], Y)
    model.fit([{"u": "a"}, {"u": "b"}, {"u": "a"}], Y)
    before = model.predict_proba([{"u": "a"}])
    with pytest.raises(TableError, match="is binary but has 3 values"):
        model.partial_fit([{"u": "c"}], ["a"])
    np.testing.assert_array_equal(model.predict_proba([{"u": "a"}]), before)
