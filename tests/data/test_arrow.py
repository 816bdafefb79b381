"""Categories and numbers of Arrow columns, against a dict and a loop."""

import datetime
import decimal
import gc
import math
import resource

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes import _core
from tests.level_oracle import UNSEEN, coded, oracle, smallest
from tests.quick import examples


def check(column, values, known=(), grow=True, **options):
    """arrow_codes of the column is the oracle of the values."""
    codes, new, declared = coded(_core.arrow_codes, column, known, grow, **options)
    expected, expected_new = oracle(values, known, grow)
    assert codes.tolist() == expected
    assert new == expected_new
    assert [type(v) for v in new] == [type(v) for v in expected_new]
    assert codes.dtype == smallest(len(known) + len(new))
    return declared


def not_utf8():
    offsets = pa.py_buffer(np.array([0, 1], np.int32))
    return pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(b"\xff")])


def rss():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


texts = st.lists(
    st.none()
    | st.sampled_from(["", "a", "b", "\0", "a\0", "0123456789abcdef", "0123456789abcdefg", "é" * 8])
    | st.text(st.characters(codec="utf-8"), max_size=40),
    max_size=60,
)
STRING_TYPES = [pa.string(), pa.large_string(), pa.string_view()]


# ---- texts


@pytest.mark.parametrize("kind", STRING_TYPES, ids=str)
@given(values=texts, known=texts, grow=st.booleans(), cut=st.tuples(st.integers(0, 60), st.integers(0, 60)))
@settings(max_examples=examples(150), deadline=None)
def test_pyarrow_texts(kind, values, known, grow, cut):
    known = list(dict.fromkeys(v for v in known if v is not None))
    lo, hi = sorted(min(c, len(values)) for c in cut)
    array = pa.array(values, kind)
    check(array, values, known, grow)
    check(array[lo:hi], values[lo:hi], known, grow)
    chunks = [array[:lo], array[lo:lo], array[lo:hi], array[hi:]]
    check(pa.chunked_array(chunks, kind), values, known, grow)


@pytest.mark.parametrize("kind", STRING_TYPES, ids=str)
@pytest.mark.parametrize("levels", [3, 130, 5000])
@pytest.mark.parametrize("gaps", [False, True])
def test_many_texts(kind, levels, gaps):
    """Rows enough that codes are kept in front of the dictionary, and levels enough that they drive one another out."""
    rng = np.random.default_rng(levels)
    some = ["", "\0", "a\0", "a", "0123456789ab", "0123456789abc", "0123456789abcdef", "0123456789abcdefg"]
    some += [f"{'level ' * (k % 3)}{k}" for k in range(levels)]
    values = [some[k] for k in rng.integers(len(some), size=12_000)]
    values = [None if gaps and k % 7 == 0 else v for k, v in enumerate(values)]
    known = ["a", "not there", some[-1]]
    array = pa.array(values, kind)
    for grow in (True, False):
        check(array, values, known, grow)
        check(pa.chunked_array([array[:5000], array[5000:5100], array[5100:]], kind), values, known, grow)
        check(array[6:], values[6:], known, grow)


@given(values=texts, grow=st.booleans())
@settings(max_examples=examples(100), deadline=None)
def test_frames_texts(values, grow):
    known = ["a", "é" * 8, "0123456789abcdef"]
    check(pl.Series(values, dtype=pl.String), values, known, grow)
    check(pd.Series(values, dtype="str"), values, known, grow)
    check(pd.Series(values, dtype="string[pyarrow]"), values, known, grow)
    check(pd.Series(values, dtype=pd.ArrowDtype(pa.string())), values, known, grow)
    check(pl.Series(values, dtype=pl.Categorical), values, known, grow)
    check(
        pl.concat([pl.Series(values, dtype=pl.String), pl.Series(values, dtype=pl.String)], rechunk=False),
        values * 2,
        known,
        grow,
    )


def test_pandas_object_column_as_arrow():
    values = ["x", None, "y", "x"]
    check(pd.Series(values, dtype=object), values)


def test_arrow_capsules_and_reuse():
    array = pa.array(["a", "b"])
    stream = pa.chunked_array([array]).__arrow_c_stream__()
    check(stream, ["a", "b"])
    with pytest.raises(ValueError, match="used before"):
        _core.arrow_codes(stream, _core.LevelList(), True)
    pair = array.__arrow_c_array__()
    check(pair, ["a", "b"])
    with pytest.raises(ValueError, match="used before"):
        _core.arrow_codes(pair, _core.LevelList(), True)


@pytest.mark.parametrize("column", [[1, 2], np.array(["a"]), None, "text", pa.string().__arrow_c_schema__()])
def test_no_arrow_column(column):
    with pytest.raises(TypeError, match="expected an Arrow column"):
        _core.arrow_codes(column, _core.LevelList(), True)


@pytest.mark.parametrize("levels", [127, 128, 32767, 32768, 70000])
def test_codes_grow_wider(levels):
    values = [f"level {i}" for i in range(levels)] * 2
    check(pa.array(values), values)
    check(pl.Series(values), values)
    known = values[: levels // 2]
    check(pa.array(values), values, known)
    check(pa.array(values), values, known, grow=False)


def test_a_million_levels():
    values = [f"{i * 7919 % 1_000_003:x}" * (1 + i % 4) for i in range(1_000_000)]
    codes, new, _ = coded(_core.arrow_codes, pa.array(values))
    assert new == list(dict.fromkeys(values))
    assert np.array(new, dtype=object)[codes].tolist() == values


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
@pytest.mark.parametrize(
    "bad",
    [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe2\x82", b"ok then, a long one \x80"],
)
def test_not_utf8(kind, bad):
    size = np.dtype("i4" if kind == pa.string() else "i8")
    offsets = np.cumsum([0, 2, len(bad), 2]).astype(size)
    array = pa.Array.from_buffers(kind, 3, [None, pa.py_buffer(offsets), pa.py_buffer(b"ok" + bad + b"ok")])
    with pytest.raises(_core.BadRow) as error:
        _core.arrow_codes(array, _core.LevelList(["ok"]), True)
    assert error.value.args == ("the text is not valid UTF-8", 1, 0)
    assert _core.arrow_codes(array, _core.LevelList(["ok"]), False)[0].tolist() == [0, UNSEEN, 0]


@pytest.mark.parametrize("offsets", [[0, 5, 3, 2], [0, -1, 2, 2], [0, 9, 1, 2]])
def test_offsets_outside(offsets):
    buffer = pa.py_buffer(np.array(offsets, np.int32))
    array = pa.Array.from_buffers(pa.string(), 3, [None, buffer, pa.py_buffer(b"ab")])
    with pytest.raises(_core.BadRow, match="outside"):
        _core.arrow_codes(array, _core.LevelList(), True)


# ---- dictionaries


def test_declared_levels():
    series = pd.Series(["b", None, "b"], dtype=pd.CategoricalDtype(["c", "b", "a"]))
    codes, new, declared = coded(_core.arrow_codes, series)
    assert (codes.tolist(), new, declared.tolist()) == ([0, -1, 0], ["b"], [])
    codes, new, declared = coded(_core.arrow_codes, series, ["a"], declare=True)
    assert (codes.tolist(), new, declared.tolist()) == ([2, -1, 2], ["c", "b"], [1, 2, 0])
    codes, new, declared = coded(_core.arrow_codes, series, ["a"], False, declare=True)
    assert (codes.tolist(), new, declared.tolist()) == ([-2, -1, -2], [], [])
    enum = pl.Series(["b", None, "b"], dtype=pl.Enum(["c", "b", "a"]))
    codes, new, declared = coded(_core.arrow_codes, enum, declare=True)
    assert (codes.tolist(), new, declared.tolist()) == ([1, -1, 1], ["c", "b", "a"], [0, 1, 2])
    empty = pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([], pa.int8()), ["x", "y"])])
    assert coded(_core.arrow_codes, empty, declare=True)[1] == ["x", "y"]
    assert coded(_core.arrow_codes, pa.array(["a"]), declare=True)[2].tolist() == []


INDEX_TYPES = [
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.uint8(),
    pa.uint16(),
    pa.uint32(),
    pa.uint64(),
]


@pytest.mark.parametrize("index", INDEX_TYPES, ids=str)
@pytest.mark.parametrize("kind", STRING_TYPES, ids=str)
def test_dictionary_types(index, kind):
    rng = np.random.default_rng(3)
    levels = ["x", "a text of more than sixteen bytes", "", None, "z"]
    rows = [None if i == 5 else int(i) for i in rng.integers(0, 6, 200)]
    values = [None if i is None else levels[i] for i in rows]
    array = pa.DictionaryArray.from_arrays(pa.array(rows, index), pa.array(levels, kind))
    check(array, values)
    assert coded(_core.arrow_codes, array, declare=True)[1] == ["x", "a text of more than sixteen bytes", "", "z"]
    check(array[7:50], values[7:50], ["z"], grow=False)
    sliced = pa.DictionaryArray.from_arrays(pa.array([1, 0], index), pa.array(levels, kind)[1:3])
    check(sliced, ["", "a text of more than sixteen bytes"])
    assert coded(_core.arrow_codes, sliced, declare=True)[1] == levels[1:3]


def test_chunks_with_their_own_dictionaries():
    one = pa.array(["a", "b"]).dictionary_encode()
    two = pa.array(["c", None, "a"]).dictionary_encode()
    column = pa.chunked_array([one, two, two[1:], one])
    check(column, ["a", "b", "c", None, "a", None, "a", "a", "b"])
    _, new, declared = coded(_core.arrow_codes, column, ["z"], declare=True)
    assert (new, declared.tolist()) == (["a", "b", "c"], [1, 2, 3, 1, 1, 2])


@pytest.mark.parametrize("values", [[3, 1, 2**62 + 1], [0.5, -0.0, 2.0], [True, False]])
def test_dictionaries_of_numbers(values):
    rows = [values[0], None, values[1], values[0]]
    check(pd.Series(rows, dtype=pd.CategoricalDtype(values)), rows)
    check(pd.Series(rows, dtype=pd.CategoricalDtype(values)), rows, values[1:], grow=False)


def test_bad_dictionaries():
    infinite = pa.DictionaryArray.from_arrays(pa.array([1, 1, 0], pa.int8()), pa.array([math.inf, 1.0]))
    with pytest.raises(_core.BadValue) as error:
        _core.arrow_codes(infinite, _core.LevelList(), True, declare=True)
    assert error.value.args == ("infinite", 2, 0, math.inf)
    assert _core.arrow_codes(infinite[:2], _core.LevelList(), True)[0].tolist() == [0, 0]
    for bad in [-1, 2]:
        outside = pa.DictionaryArray.from_arrays(pa.array([0, bad], pa.int8()), pa.array(["a", "b"]), safe=False)
        with pytest.raises(_core.BadRow, match="outside"):
            _core.arrow_codes(outside, _core.LevelList(), True)


# ---- numbers and the rest

NUMBER_TYPES = [*INDEX_TYPES, pa.float32(), pa.float64()]


@pytest.mark.parametrize("kind", [*NUMBER_TYPES, pa.float16()], ids=str)
def test_number_categories(kind):
    rng = np.random.default_rng(1)
    values = rng.integers(0, 9, 300).tolist()
    if pa.types.is_floating(kind):
        values = [v / 2 for v in values]
    values[5] = None
    array = pa.array(values, kind)
    check(array, values)
    check(array[3:200], values[3:200], [2, 1], grow=False)


def test_booleans_and_nullable():
    values = [True, None, False, True] * 5
    for column in [
        pd.Series(values, dtype="boolean"),
        pl.Series(values),
        pa.array(values),
        pa.array([None, *values])[1:],
    ]:
        check(column, values)
    big = [2**53 + 1, None, 2**53, -(2**63)]
    check(pd.Series(big, dtype="Int64"), big)
    check(pl.Series(big), big)
    check(pa.array([2**64 - 1, 2**63], pa.uint64()), [2**64 - 1, 2**63], [2**63])
    check(pa.nulls(4), [None] * 4)


def test_halves_and_decimals():
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    halves = halves[np.isfinite(halves)]
    check(pa.array(halves), halves.astype(np.float64).tolist())
    values = [decimal.Decimal(t) for t in ("0.00", "1.25", "-1.25", "-0.01", "99999.99", "-12345.67")]
    for kind in [pa.decimal32(9, 2), pa.decimal64(18, 2), pa.decimal128(38, 2), pa.decimal256(60, 2)]:
        check(pa.array([*values, None], kind), [*map(float, values), None])
    large = [decimal.Decimal(7) ** 40, -(decimal.Decimal(7) ** 40), decimal.Decimal(-(10**60))]
    levels = _core.arrow_codes(pa.array(large, pa.decimal256(70, 0)), _core.LevelList(), True)[1]
    np.testing.assert_allclose(levels.labels(), [float(v) for v in large], rtol=1e-15)


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array([datetime.date(2020, 1, 1)]), "date"),
        (pa.array([datetime.datetime(2020, 1, 1)]), "time"),
        (pa.array([datetime.timedelta(1)]), "time"),
        (pa.array([b"x"]), "binary"),
        (pa.array([b"x"], pa.binary(1)), "binary"),
        (pa.array([[1]]), "nested"),
        (pa.table({"a": [1]}), "nested"),
        (pa.array([datetime.date(2020, 1, 1)]).dictionary_encode(), "dictionary<date>"),
        (pd.Series(pd.interval_range(0, 2)), "nested"),
    ],
)
def test_unsupported(column, kind):
    with pytest.raises(TypeError, match=kind):
        _core.arrow_codes(column, _core.LevelList(), True)


# ---- many columns


def test_many_columns():
    rng = np.random.default_rng(0)
    values = [rng.choice([f"{j}/{v}" * (1 + j % 5) for v in range(3 + 50 * j)], 20_000).tolist() for j in range(9)]
    columns = [[pa.array, pl.Series, pd.Series][j % 3](v) for j, v in enumerate(values)]
    known = [v[:2] if v[0] != v[1] else [] for v in values]
    codes, levels, declared = _core.arrow_codes_many(columns, [_core.LevelList(k) for k in known], True)
    for j in range(9):
        expected, expected_new = oracle(values[j], known[j])
        assert codes[j].tolist() == expected
        assert levels[j].labels() == (*known[j], *expected_new)
        assert declared[j].tolist() == []
    category = pd.Series(["a"], dtype=pd.CategoricalDtype(["b", "a"]))
    shared = _core.LevelList()
    _, levels, _ = _core.arrow_codes_many([category, category], [shared, shared], True, [True, False])
    assert [own.labels() for own in levels] == [("b", "a"), ("a",)]
    assert _core.arrow_codes_many([], [], True) == ([], [], [])
    with pytest.raises(ValueError, match="for each column"):
        _core.arrow_codes_many(columns, [_core.LevelList()], True)


def test_error_of_the_first_column():
    bad = not_utf8()
    infinite = pa.array([1.0] * 50_000 + [math.inf])
    for columns, kind in [
        ([infinite, bad, bad], _core.BadValue),
        ([pa.array(["a"]), bad, infinite], _core.BadRow),
    ]:
        for _ in range(20):
            with pytest.raises(kind) as error:
                _core.arrow_codes_many(columns, [_core.LevelList()] * 3, True)
            assert error.value.args[2] == (0 if kind is _core.BadValue else 1)


# ---- leaks


def test_no_leaks():
    texts = pa.array([f"a rather long text {i % 50}" for i in range(2000)])
    bad = not_utf8()
    numbers, views, dates = (
        pa.array(range(5000)),
        pl.Series(texts),
        pa.array([datetime.date(2020, 1, 1)] * 2000),
    )

    def work():
        _core.arrow_codes(texts, _core.LevelList(), True)
        _core.arrow_codes(texts.dictionary_encode(), _core.LevelList(), True)
        _core.arrow_codes(views, _core.LevelList(), True)
        _core.arrow_codes(numbers, _core.LevelList(), True)
        _core.arrow_codes(pa.chunked_array([numbers, numbers]), _core.LevelList(), True)
        for column in (bad, dates):
            with pytest.raises((ValueError, TypeError)):
                _core.arrow_codes(column, _core.LevelList(), True)

    for _ in range(200):
        work()
    gc.collect()
    before, arrow = rss(), pa.total_allocated_bytes()
    for _ in range(500):
        work()
    gc.collect()
    assert pa.total_allocated_bytes() <= arrow
    assert rss() - before < 2e6
