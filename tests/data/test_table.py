"""Every input: whatever the container, the same table comes in."""

from __future__ import annotations

import decimal
import pathlib
import warnings
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import tallybayes as tb
from tallybayes.data.table import MAX_COPIED_ROWS, _frame_of, _from_frame, read_table
from tallybayes.errors import TableError, TallybayesError

LENGTH = [1.0, 2.5, None, 4.0, 0.5, 3.0]
COLOR = ["red", "blue", "red", None, "blue", "blue"]
ALIVE = [True, False, None, True, True, False]
VISITS = [3, 1, 4, 1, 5, 9]
Y = list("abaabb")
ROWS = [
    dict(zip(("length", "color", "alive", "visits"), row, strict=True))
    for row in zip(LENGTH, COLOR, ALIVE, VISITS, strict=True)
]


def in_pandas(**types: Any) -> pd.DataFrame:
    return pd.DataFrame(ROWS).astype({"length": float, "color": object, "alive": object, **types})


def in_polars(**types: Any) -> pl.DataFrame:
    return pl.DataFrame(ROWS).with_columns(*(pl.col(name).cast(t) for name, t in types.items()))


def in_arrow(**types: Any) -> pa.Table:
    plain = {"length": pa.float64(), "color": pa.string(), "alive": pa.bool_(), "visits": pa.int64()}
    return pa.table({name: pa.array([row[name] for row in ROWS], t) for name, t in (plain | types).items()})


def chunked() -> pa.Table:
    whole = in_arrow(color=pa.dictionary(pa.int8(), pa.string()))
    return pa.concat_tables([whole[:2], whole[2:2], whole[2:]])


TABLES = {
    "rows": ROWS,
    "rows without missing keys": [{k: v for k, v in row.items() if v is not None} for row in ROWS],
    "pandas objects": in_pandas(),
    "pandas categories": in_pandas(color="category"),
    "pandas unordered categories": in_pandas(color=pd.CategoricalDtype(["red", "blue"])),
    "pandas nullable": in_pandas(length="Float64", color="string", alive="boolean", visits="Int64"),
    "pandas backed by Arrow": in_pandas(
        length="float64[pyarrow]", color="string[pyarrow]", alive="bool[pyarrow]", visits="int64[pyarrow]"
    ),
    "pandas small types": in_pandas(length="float32", visits="uint8"),
    "pandas reversed columns": in_pandas()[["visits", "alive", "color", "length"]],
    "polars": in_polars(),
    "polars Categorical": in_polars(color=pl.Categorical),
    "polars Enum": in_polars(color=pl.Enum(["blue", "red"])),
    "polars small types": in_polars(length=pl.Float32, visits=pl.Int8),
    "polars decimal": in_polars(visits=pl.Decimal(10, 2)),
    "polars lazy": in_polars().lazy(),
    "pyarrow": in_arrow(),
    "pyarrow large strings": in_arrow(color=pa.large_string()),
    "pyarrow views": in_arrow(color=pa.string_view()),
    "pyarrow dictionary": in_arrow(color=pa.dictionary(pa.int32(), pa.string())),
    "pyarrow chunked": chunked(),
    "pyarrow half floats": in_arrow(length=pa.float16()),
    "pyarrow record batch": in_arrow().combine_chunks().to_batches()[0],
}
KINDS = {"length": "real", "color": "categorical", "alive": "binary", "visits": "count"}


@pytest.mark.filterwarnings("ignore::tallybayes.errors.AmbiguousColumnWarning")
@pytest.mark.parametrize("name", TABLES)
def test_the_same_model_from_every_container(name: str) -> None:
    X = TABLES[name]
    model = tb.NaiveBayes(schema={"visits": "count"}).fit(X, Y)
    assert dict(zip(model.schema_.names or (), model.schema_.kinds, strict=True)) == KINDS
    truth = tb.NaiveBayes(schema={"visits": "count"}).fit(ROWS, Y)
    for there in (X, ROWS, TABLES["polars"]):  # what was learned in one container is asked in another
        np.testing.assert_allclose(
            model.predict_joint_log_proba(there), truth.predict_joint_log_proba(ROWS), rtol=1e-12
        )
    for label, shares in truth.describe("color").items():
        assert model.describe("color")[label] == pytest.approx(shares)


def test_a_category_that_is_declared_has_a_share_though_unseen() -> None:
    color = ["red", "blue", "red", "blue"]
    three = pd.CategoricalDtype(["blue", "green", "red", "white"])
    tables = [
        pd.DataFrame({"color": pd.Series(color, dtype=three)}),
        pl.DataFrame({"color": pl.Series(color, dtype=pl.Enum(list(three.categories)))}),
        pa.table({"color": pa.DictionaryArray.from_arrays(pa.array([2, 0, 2, 0]), list(three.categories))}),
    ]
    new = [{"color": "red"}, {"color": "green"}, {"color": "white"}]
    for X in tables:
        model = tb.NaiveBayes(priors="uniform").fit(X, list("aabb"))
        # (1 + 1) / (2 + 4) for red; (0 + 1) / (2 + 4) for an unseen colour
        np.testing.assert_allclose(
            np.exp(model.predict_joint_log_proba(new)), np.array([[2], [1], [1]]) / 12 * [[1, 1]]
        )
    met = pd.DataFrame({"color": pd.Series(color, dtype=three).cat.remove_unused_categories()})
    assert tb.NaiveBayes().fit(met, list("aabb")).describe("color")["a"] == {"blue": 0.5, "red": 0.5}


def test_categories_of_one_polars_column_are_not_those_of_another() -> None:
    X = pl.DataFrame({"a": list("ppqq"), "b": list("wxyz")}).with_columns(pl.all().cast(pl.Categorical))
    model = tb.NaiveBayes().fit(X, [0, 0, 1, 1])
    assert set(model.describe("a")[0]) == {"p", "q"}
    assert model.describe("a")[0]["p"] == pytest.approx(3 / 4)


@pytest.mark.parametrize("gaps", [0.0, 0.1])
@pytest.mark.parametrize("levels", [3, 300])
def test_long_polars_categories_are_the_strings_that_they_show(gaps: float, levels: int) -> None:
    """Such a column is read by its own codes: of a list that it shares with others, in any order, and not all here."""
    rng = np.random.default_rng(levels)
    words = np.array([f"word {v}" for v in range(levels)])
    strings = {}
    for name in ("a", "b"):
        codes = rng.integers(0, levels, 9000)
        strings[name] = np.where(rng.random(9000) < gaps, None, words[codes].astype(object)).tolist()
    y = rng.integers(0, 2, 9000)
    whole = pl.DataFrame(strings)
    table = whole.with_columns(pl.all().cast(pl.Categorical))[1000:]
    want = tb.NaiveBayes().fit(whole[1000:], y[1000:])
    for some in (table, table.rechunk(), pl.concat([table[:5000], table[5000:]], rechunk=False)):
        model = tb.NaiveBayes().fit(some, y[1000:])
        np.testing.assert_allclose(model.predict_proba(whole), want.predict_proba(whole), rtol=1e-12)
        np.testing.assert_array_equal(model.predict_proba(table), model.predict_proba(whole[1000:]))
        np.testing.assert_array_equal(model.predict_proba(table[:10]), model.predict_proba(table)[:10])
    new = pl.DataFrame({"a": ["unseen value"] * 5000, "b": [None] * 5000}).with_columns(pl.all().cast(pl.Categorical))
    old = new.with_columns(pl.all().cast(pl.String))
    with pytest.warns(UserWarning, match="unseen|not seen|categor"):
        found = model.predict_proba(new)
    with pytest.warns(UserWarning, match="unseen|not seen|categor"):
        np.testing.assert_array_equal(found, model.predict_proba(old))


def test_a_column_whose_type_lists_categories_is_no_text() -> None:
    texts = [f"a sentence with the number {i} in it" for i in range(60)]
    for table in (
        pl.DataFrame({"t": texts}).with_columns(pl.all().cast(pl.Categorical)),
        pa.table({"t": pa.array(texts).dictionary_encode()}),
        pd.DataFrame({"t": pd.Categorical(texts)}),
    ):
        assert tb.NaiveBayes().fit(table, [0, 1] * 30).schema_.kinds == ("categorical",)


@pytest.mark.parametrize("integers", [False, True])
def test_pandas_columns_that_are_numbered(integers: bool) -> None:
    X = pd.DataFrame([[1.0, 2.0], [3.0, 5.0], [4.0, 4.0]], columns=[10, 20] if integers else ["10", "20"])
    model = tb.GaussianNB().fit(X, [0, 1, 1])
    assert hasattr(model, "feature_names_in_") is not integers
    np.testing.assert_allclose(model.theta_, [[1.0, 2.0], [3.5, 4.5]])


# --- NumPy ---------------------------------------------------------------------------------------------------------

MATRIX = np.array([[0, 1, 2], [1, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 3]])
CLASSES = np.array([0, 1, 1, 0, 1])
NUMBERS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "g", ">f8", ">f4", ">i2", ">u8", "O"]


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("make", [tb.GaussianNB, tb.CategoricalNB, tb.PoissonNB, tb.KernelNB])
def test_every_type_of_number(make: Any, dtype: str) -> None:
    X = MATRIX.astype(dtype)
    whole = X.astype(np.float64)
    np.testing.assert_allclose(
        make().fit(X, CLASSES).predict_joint_log_proba(X),
        make().fit(whole, CLASSES).predict_joint_log_proba(whole),
        rtol=1e-12,
    )


def layouts(X: Any) -> dict[str, Any]:
    read_only = X.copy()
    read_only.setflags(write=False)
    return {
        "rows": np.ascontiguousarray(X),
        "columns": np.asfortranarray(X),
        "every other row": np.repeat(X, 2, axis=0)[::2],
        "every other column": np.repeat(X, 2, axis=1)[:, ::2],
        "backward": np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
        "transposed": np.ascontiguousarray(X.T).T,
        "read-only": read_only,
        "matrix": np.asmatrix(X),
        "list": X.tolist(),
        "tuples": tuple(map(tuple, X.tolist())),
        "broadcast": np.broadcast_to(X, (2, *X.shape))[1],
    }


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("name", layouts(MATRIX))
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "U3", "S3", "O"])
def test_every_layout(name: str, dtype: str) -> None:
    X = MATRIX.astype(dtype)
    moved = layouts(X)[name]
    model = tb.NaiveBayes()
    np.testing.assert_array_equal(
        model.fit(moved, CLASSES).predict_proba(moved), tb.NaiveBayes().fit(X, CLASSES).predict_proba(X)
    )


def test_a_file_mapped_into_memory(tmp_path: pathlib.Path) -> None:
    np.save(tmp_path / "X.npy", MATRIX.astype(float))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert read_table(mapped).matrix is not None
    model = tb.GaussianNB().fit(mapped, CLASSES)
    np.testing.assert_array_equal(model.theta_, tb.GaussianNB().fit(MATRIX, CLASSES).theta_)
    np.testing.assert_array_equal(model.predict(mapped), model.predict(MATRIX))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1"])
def test_numbers_are_not_copied(dtype: str) -> None:
    X = MATRIX.astype(dtype)
    table = read_table(X)
    assert table.matrix is X
    frame = pd.DataFrame(X.astype(float), columns=list("abc"))
    columns = read_table(frame).columns
    assert columns is not None
    assert np.shares_memory(columns[1].values, frame["b"].to_numpy())


def test_what_is_masked_is_missing() -> None:
    masked = np.ma.masked_array(MATRIX.astype(float), mask=MATRIX == 3)
    holes = np.where(MATRIX == 3, np.nan, MATRIX)
    np.testing.assert_array_equal(
        tb.GaussianNB().fit(masked, CLASSES).theta_, tb.GaussianNB().fit(holes, CLASSES).theta_
    )


def test_numbers_of_every_python_kind_in_one_column() -> None:
    column = read_table([{"a": v} for v in (1, 2.5, decimal.Decimal("0.5"), np.float32(3), np.int8(4), None)]).columns
    assert column is not None
    np.testing.assert_array_equal(column[0].values, [1, 2.5, 0.5, 3, 4, np.nan])
    with pytest.raises(TableError, match="'a' has a number too large"):
        read_table([{"a": 10**400}])


# --- sparse --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "?"])
def test_every_sparse_form(form: str, kind: Any, dtype: str) -> None:
    dense = MATRIX.astype(dtype)
    X = kind(dense).asformat(form)
    model = tb.MultinomialNB().fit(X, CLASSES)
    np.testing.assert_allclose(model.feature_count_, tb.MultinomialNB().fit(dense, CLASSES).feature_count_)
    np.testing.assert_allclose(model.predict_proba(X), model.predict_proba(dense))


def test_sparse_with_duplicates_unsorted_and_explicit_zeros() -> None:
    values, places, ends = np.array([2.0, 1.0, 3.0, 0.0, 4.0]), np.array([2, 0, 2, 1, 1]), np.array([0, 3, 5])
    X = sparse.csr_matrix((values, places, ends), shape=(2, 3))
    for make in (tb.MultinomialNB, tb.PoissonNB, tb.GaussianNB, lambda: tb.BernoulliNB(binarize=3.5), tb.CategoricalNB):
        a, b = make().fit(X, [0, 1]), make().fit(X.toarray(), [0, 1])
        np.testing.assert_allclose(a.predict_joint_log_proba(X), b.predict_joint_log_proba(X.toarray()))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_sparse_with_a_value_that_is_no_number(bad: float) -> None:
    X = sparse.csr_matrix(np.array([[1.0, 0.0], [0.0, bad]]))
    with pytest.raises(TableError, match="'x1'"):
        tb.MultinomialNB().fit(X, [0, 1])


def test_a_sparse_matrix_is_read_where_it_lies_and_left_as_it_is() -> None:
    sound = sparse.csr_matrix(MATRIX.astype(float))
    assert np.shares_memory(read_table(sound).csr.data, sound.data)
    values, places, ends = np.array([2, 1, 3, 0, 4]), np.array([2, 0, 2, 1, 1]), np.array([0, 3, 5])
    X = sparse.csr_matrix((values.copy(), places.copy(), ends.copy()), shape=(2, 3))
    read = read_table(X).csr
    np.testing.assert_array_equal(read.toarray(), [[1, 0, 5], [0, 4, 0]])
    assert read.has_canonical_format
    for kept, given in ((X.data, values), (X.indices, places), (X.indptr, ends)):
        np.testing.assert_array_equal(kept, given)


def test_the_header_of_a_sparse_matrix_is_checked() -> None:
    X = sparse.csr_matrix(np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 4.0]]))
    assert X.has_canonical_format
    X.indices[:2] = [1, 1]  # it still says that no cell is there twice
    np.testing.assert_array_equal(read_table(X).csr.toarray(), [[0, 3, 0], [0, 3, 4]])


def test_sums_of_duplicates_do_not_wrap() -> None:
    X = sparse.csr_matrix((np.array([2**31 - 1, 2**31 - 1], dtype=np.int32), [0, 0], [0, 2]), shape=(1, 1))
    assert read_table(X).csr[0, 0] == 2**32 - 2


@pytest.mark.parametrize("kind", ["i2", "u4", "i8", "strided"])
def test_indices_of_any_integers(kind: str) -> None:
    X = sparse.csr_matrix(MATRIX.astype(float))
    if kind == "strided":
        X.indices, X.data = np.repeat(X.indices, 2)[::2], np.repeat(X.data, 2)[::2]
    else:
        X.indices = X.indices.astype(kind)
    np.testing.assert_array_equal(tb.GaussianNB().fit(X, CLASSES).theta_, tb.GaussianNB().fit(MATRIX, CLASSES).theta_)


def frames_of_pandas() -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame(rng.normal(size=(6, 3)), columns=["a", "b", "c"])
    apart = numbers.copy()
    for name in "xyz":
        apart[name] = rng.normal(size=6)
    kinds = pd.DataFrame(
        {t: np.arange(6).astype(t) for t in ("i1", "i2", "i4", "i8", "u1", "u8", "f2", "f4", "f8", ">f8")}
    )
    kinds["truth"] = kinds["i8"] > 2
    kinds["text"] = list("abcabc")
    kinds["maybe"] = pd.array([1, None, 3, 4, 5, 6], dtype="Int64")
    kinds["maybe truth"] = pd.array([True, None, False, True, True, False], dtype="boolean")
    kinds["kind"] = pd.Categorical(list("uvwuvw"))
    kinds["kind of numbers"] = pd.Categorical([3, 1, None, 3, 1, 1], categories=[3, 1, 2])
    kinds["old text"] = pd.array(["a", "b", "c", "a", "b", None], dtype="string[python]")
    kinds["arrow text"] = pd.array(["a", "b", "c", "a", "b", None], dtype="string[pyarrow]")
    kinds["thin"] = pd.arrays.SparseArray([0.0, 0.0, 1.0, 0.0, 0.0, 2.0])
    kinds["any"] = np.array([1, "a", None, 2.0, True, "b"], dtype=object)
    kinds["long"] = np.arange(6).astype(np.longdouble)
    return {
        "one block": numbers,
        "every second row": numbers[::2],
        "columns apart": apart,
        "many rows": pd.DataFrame(rng.normal(size=(MAX_COPIED_ROWS + 1, 2)), columns=["a", "b"]),
        "whole numbers": pd.DataFrame(np.arange(6).reshape(3, 2), columns=["a", "b"]),
        "numbers as names": pd.DataFrame(np.zeros((2, 2), dtype="f4")),
        "truths as names": pd.DataFrame({True: [1.0, 2.0], False: [3, 4]}),
        "all kinds": kinds.drop(columns="any"),
        "objects": kinds[["any"]].iloc[[1, 2, 5]],
    }


@pytest.mark.parametrize("name", list(frames_of_pandas()))
def test_the_short_way_of_pandas_frames_is_the_long_way(name: str) -> None:
    frame = frames_of_pandas()[name]
    short, long = read_table(frame), _from_frame(nw.from_native(frame))
    assert (short.n, short.d, short.names, short.container) == (long.n, long.d, long.names, long.container)
    assert short.columns is not None
    assert long.columns is not None
    for a, b in zip(short.columns, long.columns, strict=True):
        assert (a.storage, a.kind, a.integer, a.declared) == (b.storage, b.kind, b.integer, b.declared)
        assert a.values.dtype == b.values.dtype
        assert a.plain() == b.plain()


@pytest.mark.parametrize("chunks", [1, 2])
def test_the_short_way_of_arrow_tables_is_the_long_way(chunks: int) -> None:
    plain = {t: pa.array([1, 2, None, 4], t) for t in ("int8", "uint16", "int32", "uint64", "float", "double")}
    other = {
        "half": pa.array(np.arange(4).astype("f2")),
        "text": ["a", "b", None, "a"],
        "truth": [True, None, False, True],
    }
    whole = pa.table(plain | {"full": pa.array(np.arange(4))} | other)
    X = pa.concat_tables([whole[:1], whole[1:]]) if chunks == 2 else whole
    short, long = read_table(X), _from_frame(nw.from_native(X))
    assert (short.n, short.d, short.names, short.container) == (long.n, long.d, long.names, long.container)
    for a, b in zip(short.columns or (), long.columns or (), strict=True):
        assert (a.storage, a.kind, a.integer, a.declared) == (b.storage, b.kind, b.integer, b.declared)
        assert a.plain() == b.plain()
        assert a.storage != "numbers" or a.values.dtype == b.values.dtype
    with pytest.raises(TableError, match="Several columns are called 'a'"):
        read_table(pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], ["a", "a"]))


def test_categories_are_read_once_for_all_frames_that_share_them(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = [f"word {i}" for i in range(5000)]
    frame = pd.DataFrame({"w": pd.Categorical.from_codes(np.arange(5000) % 7, labels)})
    model = tb.NaiveBayes().fit(frame, np.arange(5000) % 2)
    expected = model.predict_proba(frame[:20])
    looked_up = []
    find = tb.data.schema.Levels.find
    monkeypatch.setattr(
        tb.data.schema.Levels, "find", lambda self, some: looked_up.append(len(some)) or find(self, some)
    )
    for i in range(20):
        np.testing.assert_array_equal(model.predict_proba(frame[i : i + 1]), expected[i : i + 1])
    assert looked_up == []
    for other in (labels[::-1], [f"new {i}" for i in range(5000)]):  # the same codes mean something else
        moved = frame[:20].assign(w=pd.Categorical.from_codes(np.arange(20) % 7, other))
        words = moved.assign(w=moved["w"].astype(str))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.testing.assert_array_equal(model.predict_proba(moved), model.predict_proba(words))
    np.testing.assert_array_equal(model.predict_proba(frame[:20]), expected)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(np.zeros((2, 2)), columns=["a", "a"]),
        pd.DataFrame(np.zeros((0, 2)), columns=["a", "b"]),
        pd.DataFrame(index=range(3)),
        pd.DataFrame({"a": [1.0], 3: [2.0]}),
        pd.DataFrame({"a": [1.0], "b": [{"nested": 1}]}),
        pd.DataFrame({"a": [1.0], "b": [1j]}),
    ],
    ids=["twice", "no rows", "no columns", "names of two kinds", "nested", "complex"],
)
def test_the_short_way_of_pandas_frames_refuses_as_the_long_way(frame: pd.DataFrame) -> None:
    said = []
    for read in (read_table, lambda X: _from_frame(_frame_of(X))):
        with pytest.raises(TallybayesError) as e:
            read(frame)
        said.append(str(e.value))
    assert said[0] == said[1]


def test_sparse_tables_of_small_integers_and_with_a_cell_twice() -> None:
    from scipy import sparse

    X, y = np.array([[2, 0], [0, 1], [0, 3], [1, 0], [0, 1], [1, 2]]), list("aabbab")
    expected = tb.NaiveBayes("auto").fit(sparse.csr_matrix(X.astype(float)), y).predict_proba(X)
    for kind in (np.uint8, np.uint16, np.int8):
        model = tb.NaiveBayes("auto").fit(sparse.csr_matrix(X.astype(kind)), y)
        np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-12)
    twice = sparse.csr_matrix((np.ones(3), [0, 0, 1], [0, 2, 3, 3, 3, 3, 3]), shape=(6, 2))  # 1 + 1 in the first cell
    assert not twice.has_canonical_format
    for make in (tb.GaussianNB, tb.BernoulliNB, tb.MultinomialNB):
        same = make().fit(twice.toarray(), y).predict_proba(twice.toarray())
        np.testing.assert_allclose(make().fit(twice, y).predict_proba(twice), same, rtol=1e-12)
