"""Categories of Python objects and NumPy arrays to codes, against a dict and a loop."""

import decimal
import gc
import math
import resource
import threading

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes import _core
from tests.level_oracle import coded, oracle, smallest
from tests.quick import examples

# ---- Python objects


class Awkward:
    """Equal to everything, but says no when asked; for errors in the middle of a call."""

    def __hash__(self):
        return hash("a")

    def __eq__(self, other):
        raise RuntimeError("not comparable")


def as_array(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


@given(
    values=st.lists(
        st.none() | st.integers() | st.text(max_size=3) | st.floats() | st.tuples(st.integers(0, 1)),
        max_size=40,
    ),
    grow=st.booleans(),
)
@settings(max_examples=examples(200), deadline=None)
def test_objects(values, grow):
    expected, new = oracle(values, ["a", 1], grow)
    for rows in [
        values,
        tuple(values),
        as_array(values),
        as_array([v for v in values for _ in range(2)])[::2],
    ]:
        codes, got = coded(_core.object_codes, rows, ["a", 1], grow)
        assert codes.tolist() == expected
        assert got == new


def test_missing_objects():
    missing = [
        None,
        math.nan,
        np.float32("nan"),
        np.float64("nan"),
        pd.NA,
        pd.NaT,
        decimal.Decimal("nan"),
        np.datetime64("NaT"),
    ]
    codes, new = coded(_core.object_codes, [*missing, "a", np.float32(1.5)])
    assert codes.tolist() == [-1] * 8 + [0, 1]
    assert new == ["a", 1.5]
    assert coded(_core.object_codes, np.empty(3, dtype=object))[0].tolist() == [-1] * 3


@pytest.mark.parametrize(
    ("bad", "error", "match"),
    [([], TypeError, "row 3 holds a list"), (Awkward(), RuntimeError, "not comparable")],
)
def test_failed_call_changes_nothing(bad, error, match):
    levels = _core.LevelList(["a"])
    for rows in [["b", "a", "c", bad], as_array(["b", "a", "c", bad])]:
        with pytest.raises(error, match=match):
            _core.object_codes(rows, levels, True)
        assert levels.labels() == ("a",)
        assert levels.extend(["x"])[1].shares(levels)  # nothing was appended behind its back
        levels = _core.LevelList(["a"])


def test_object_codes_refuses():
    for rows in [
        np.array([1, 2]),
        np.array(["a"]),
        np.empty((2, 2), dtype=object),
        5,
        "text",
        pd.Series(["a"]),
    ]:
        with pytest.raises(TypeError, match="object array"):
            _core.object_codes(rows, _core.LevelList(), True)
    with pytest.raises(TypeError, match="expected a LevelList, got dict"):
        _core.object_codes(["a"], {"a": 5}, True)


def test_list_that_shrinks():
    class Shrinks:
        def __hash__(self):
            rows.clear()
            return 0

    rows = ["a", Shrinks(), "b", "c"]
    with pytest.raises(IndexError):
        _core.object_codes(rows, _core.LevelList(), True)


@pytest.mark.parametrize("levels", [127, 128, 32768])
def test_object_codes_grow_wider(levels):
    values = [(i,) for i in range(levels)] * 2
    codes, _ = _core.object_codes(values, _core.LevelList(), True)
    assert codes.dtype == smallest(levels)
    assert codes.tolist() == list(range(levels)) * 2


# ---- NumPy arrays


@given(
    values=st.lists(st.text(st.characters(codec="utf-8"), max_size=9), max_size=40),
    grow=st.booleans(),
    order=st.sampled_from("<>"),
)
@settings(max_examples=examples(200), deadline=None)
def test_fixed_texts(values, grow, order):
    known = ["a", "", "0123456789abcdefg"]
    array = np.array(values, dtype=f"{order}U9")
    for rows in [array, array[::-1], np.repeat(array, 3)[::3], array[3:]]:
        codes, new = coded(_core.fixed_codes, rows, known, grow)
        expected, expected_new = oracle(rows.tolist(), known, grow)
        assert codes.tolist() == expected
        assert new == expected_new
    encoded = np.array([v.encode() for v in values], dtype="S36")
    codes, new = coded(_core.fixed_codes, encoded, known, grow)
    expected, expected_new = oracle([v.decode() for v in encoded.tolist()], known, grow)
    assert (codes.tolist(), new) == (expected, expected_new)


@pytest.mark.parametrize("width", [0, 1, 3, 4, 5, 15, 16, 17, 40])
def test_fixed_widths(width):
    rng = np.random.default_rng(width)
    for kind in "US":
        values = np.array(["x" * k for k in rng.integers(0, width + 1, 50)], dtype=f"{kind}{width}")
        expected, new = oracle(values.astype("U").tolist())
        codes, got = coded(_core.fixed_codes, values)
        assert (codes.tolist(), got) == (expected, new)


def test_fixed_texts_refuse():
    with pytest.raises(_core.BadRow) as error:
        _core.fixed_codes(np.array(["a", "\ud800"]), _core.LevelList(), True)
    assert error.value.args[1:] == (1, 0)
    with pytest.raises(_core.BadRow, match="UTF-8"):
        _core.fixed_codes(np.array([b"a", b"\xff"]), _core.LevelList(), True)
    for rows in [np.array([1, 2]), np.array([["a"]])]:
        with pytest.raises(TypeError):
            _core.fixed_codes(rows, _core.LevelList(), True)


@pytest.mark.parametrize("kind", ["f8", "f4", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"])
def test_number_codes(kind):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 12, 500).astype(kind)
    if kind[0] == "f":
        x[::3] /= 4
        x[5::7] = np.nan
        x[6::7] = -0.0
    for rows in [x, x[::-2]]:
        codes, new = coded(_core.number_codes, _core.Columns([rows]), [1.0, 0.25])
        expected, expected_new = oracle(rows.tolist(), [1.0, 0.25])
        assert codes.tolist() == expected
        assert new == expected_new
        assert all(type(v) is (int if v == int(v) else float) for v in new)
    codes, new = coded(_core.number_codes, _core.Columns([x]), [1, 3], False)
    assert codes.tolist() == oracle(x.tolist(), [1, 3], False)[0]
    assert new == []


def test_large_numbers_stay_apart():
    x = np.array([2**53, 2**53 + 1, 2**53, -(2**63), 2**63 - 1])
    codes, new = coded(_core.number_codes, _core.Columns([x]))
    assert codes.tolist() == [0, 1, 0, 2, 3]
    assert new == [2**53, 2**53 + 1, -(2**63), 2**63 - 1]
    x = np.array([2**64 - 1, 2**64 - 2, 5], np.uint64)
    codes, new = coded(_core.number_codes, _core.Columns([x]), [2**64 - 2, 7])
    assert codes.tolist() == [2, 0, 3]
    assert new == [2**64 - 1, 5]
    reals = np.array([2.0**63, -(2.0**63), 2.0**64, 1e300, 5e-324, 2.0**63])
    assert coded(_core.number_codes, _core.Columns([reals]))[0].tolist() == [0, 1, 2, 3, 4, 0]
    assert coded(_core.number_codes, _core.Columns([reals]), [2**64, 10**300 + 1])[0].tolist() == [2, 3, 0, 4, 5, 2]


def test_number_codes_refuse():
    with pytest.raises(_core.BadValue) as error:
        _core.number_codes(_core.Columns([np.array([1, np.inf, -np.inf])]), _core.LevelList(), True)
    assert error.value.args == ("infinite", 1, 0, math.inf)
    with pytest.raises(ValueError, match="one column"):
        _core.number_codes(_core.Columns(np.ones((2, 2))), _core.LevelList(), True)


# ---- lists of levels

labels = st.none() | st.integers(-3, 2**70) | st.text(max_size=3) | st.floats() | st.binary(max_size=1) | st.booleans()


@given(steps=st.lists(st.tuples(st.integers(0, 9), st.lists(labels, max_size=6)), max_size=12))
@settings(max_examples=examples(200), deadline=None)
def test_lists_of_levels_go_their_own_ways(steps):
    """Any list may be extended at any time, whoever shares its store: each is what a dict would be."""
    made = [(_core.LevelList(), [])]
    for which, new in steps:
        levels, expected = made[which % len(made)]
        new = [v for v in new if v is not None and v == v]
        codes, more = oracle(new, expected)
        found, longer = levels.extend(new)
        assert found.tolist() == codes
        assert _core.object_codes(new, levels, False)[0].tolist() == oracle(new, expected, False)[0]
        made.append((longer, expected + more))
    for levels, expected in made:
        assert levels.labels() == tuple(expected)
        assert [type(v) for v in levels.labels()] == [type(v) for v in expected]
        assert levels.find(expected).tolist() == list(range(len(expected)))


def test_the_last_list_appends_and_an_earlier_one_goes_its_own_way():
    first = _core.LevelList(["a"])
    _, second = first.extend(["b", (1,)])
    assert second.shares(first)
    assert (len(first), first.find(["b", (1,)]).tolist()) == (1, [-2, -2])
    _, other = first.extend(["c"])
    assert not other.shares(first)
    assert (first.labels(), second.labels(), other.labels()) == (("a",), ("a", "b", (1,)), ("a", "c"))
    _, again = first.extend(["b"])  # as the store goes on anyway
    assert again.shares(first)
    assert again.labels() == ("a", "b")
    assert second.extend(["a", "b"])[1] is second


def test_equal_labels_are_one():
    threes, ones = [3, 3.0, np.int64(3), np.float32(3), decimal.Decimal(3)], [True, 1, np.True_]
    codes, levels = _core.LevelList().extend(threes + ones)
    assert (codes.tolist(), levels.labels()) == ([0, 0, 0, 0, 0, 1, 1, 1], (3, True))
    assert levels.extend(["3", b"3", decimal.Decimal("0.1"), 0.1])[0].tolist() == [2, 3, 4, 5]


def test_levels_that_cannot_be():
    for bad, error, match in [
        (["a", "a"], ValueError, "level 1 is listed twice"),
        ([1, True], ValueError, "level 1 is listed twice"),
        ([0.0, -0.0], ValueError, "level 1 is listed twice"),
        (["a", None], ValueError, "level 1 is None or NaN"),
        ([math.nan], ValueError, "level 0 is None or NaN"),
        ([[]], TypeError, "unhashable"),
    ]:
        with pytest.raises(error, match=match):
            _core.LevelList(bad)


def test_levels_are_read_while_others_are_learned():
    """Threads that read without the interpreter's lock, and one that appends."""
    words = np.array([f"word {i % 3000}" for i in range(60_000)])
    _, levels = _core.LevelList().extend([f"word {i}" for i in range(1000)])
    expected = [i % 3000 if i % 3000 < 1000 else -2 for i in range(60_000)]
    answers, stop = [], threading.Event()

    def read():
        while not stop.is_set():
            answers.append(_core.fixed_codes(words, levels, False)[0])

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    longer = levels
    for step in range(300):
        _, longer = longer.extend([f"new {step} {i}" for i in range(100)])
    stop.set()
    for reader in readers:
        reader.join()
    assert longer.shares(levels)
    assert len(longer) == 31_000
    assert answers
    assert all(codes.tolist() == expected for codes in answers)


# ---- leaks


def test_no_leaks():
    objects = as_array([(i % 50,) for i in range(300)])
    words = np.array(["a", "b", "a much longer text"] * 100)
    numbers = _core.Columns([np.arange(300.0)])

    def work():
        coded(_core.object_codes, objects)
        coded(_core.fixed_codes, words, ["x"])
        coded(_core.number_codes, numbers)
        with pytest.raises(TypeError):
            _core.object_codes(["a", []], _core.LevelList(), True)
        with pytest.raises(_core.BadRow):
            _core.fixed_codes(np.array([b"\xff"]), _core.LevelList(), True)

    def run(times):
        for _ in range(times):
            work()
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    before = run(500)
    assert run(10_000) - before < 4e6


@pytest.mark.parametrize("late", [(), (20_000,), (16_384,), (150_000, 99_999), (199_999,)])
@pytest.mark.parametrize("levels", [3, 16, 40, 124, 300])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_codes_by_appearance_where_most_are_known(dtype, levels, late):
    """The first rows have nearly all numbers; those that come late are met in any of the blocks that threads share."""
    levels = min(levels, np.iinfo(dtype).max - len(late))
    values = np.random.default_rng(levels).integers(levels, size=200_000).astype(dtype)
    for k, row in enumerate(late):
        values[row] = levels + k
    here, where, place = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(where)
    number = np.empty(len(here), int)
    number[order] = np.arange(len(here))
    for threads in (1, 0):
        _core.limit_threads(threads)
        codes, first = _core.appearance_codes(_core.Columns([values]), levels + len(late))
        assert (first == where[order]).all()
        assert (np.asarray(codes) == number[place]).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("size", [1, 9, 250])
def test_codes_by_appearance(dtype, size):
    rng = np.random.default_rng(size)
    values = rng.integers(0, size, 5000).astype(dtype)
    there = rng.random(5000) < 0.7
    for columns, here in (([values], np.ones(5000, bool)), ([values, there], there), ([values[::-1]], None)):
        shown = values[::-1] if here is None else values
        here = np.ones(5000, bool) if here is None else here
        seen = list(dict.fromkeys(shown[here].tolist()))
        codes, first = _core.appearance_codes(_core.Columns(columns), size)
        np.testing.assert_array_equal(codes, [seen.index(v) if h else -1 for v, h in zip(shown, here, strict=True)])
        np.testing.assert_array_equal(shown[first], seen)
        assert [int(np.flatnonzero((shown == v) & here)[0]) for v in seen] == first.tolist()
    with pytest.raises(ValueError, match="too large"):
        _core.appearance_codes(_core.Columns([np.full(3000, size, dtype)]), size)
    with pytest.raises(ValueError, match="8, 16 or 32 bits"):
        _core.appearance_codes(_core.Columns([values.astype(np.int32)]), size)
