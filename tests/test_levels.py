"""Categories of Python objects and NumPy arrays to codes, against a dict and a loop."""

import decimal
import gc
import math
import resource

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes import _core
from tests.level_oracle import oracle, smallest

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
@settings(max_examples=200, deadline=None)
def test_objects(values, grow):
    expected, new = oracle(values, ["a", 1], grow)
    for rows in [
        values,
        tuple(values),
        as_array(values),
        as_array([v for v in values for _ in range(2)])[::2],
    ]:
        levels = {"a": 0, 1: 1}
        codes = _core.object_codes(rows, levels, grow)
        assert codes.tolist() == expected
        assert list(levels.items()) == list(zip(["a", 1, *new], range(2 + len(new)), strict=True))


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
    levels = {}
    assert _core.object_codes([*missing, "a", np.float32(1.5)], levels, True).tolist() == [-1] * 8 + [0, 1]
    assert list(levels) == ["a", 1.5]
    assert _core.object_codes(np.empty(3, dtype=object), {}, True).tolist() == [-1] * 3


@pytest.mark.parametrize(
    ("bad", "error", "match"),
    [([], TypeError, "row 3 holds a list"), (Awkward(), RuntimeError, "not comparable")],
)
def test_failed_call_changes_nothing(bad, error, match):
    levels = {"a": 0}
    for rows in [["b", "a", "c", bad], as_array(["b", "a", "c", bad])]:
        with pytest.raises(error, match=match):
            _core.object_codes(rows, levels, True)
        assert levels == {"a": 0}


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
            _core.object_codes(rows, {}, True)
    with pytest.raises(ValueError, match="0, 1, 2"):
        _core.object_codes(["a"], {"a": 5}, True)


def test_list_that_shrinks():
    class Shrinks:
        def __hash__(self):
            rows.clear()
            return 0

    rows = ["a", Shrinks(), "b", "c"]
    levels = {}
    with pytest.raises(IndexError):
        _core.object_codes(rows, levels, True)
    assert levels == {}


@pytest.mark.parametrize("levels", [127, 128, 32768])
def test_object_codes_grow_wider(levels):
    values = [(i,) for i in range(levels)] * 2
    codes = _core.object_codes(values, {}, True)
    assert codes.dtype == smallest(levels)
    assert codes.tolist() == list(range(levels)) * 2


# ---- NumPy arrays


@given(
    values=st.lists(st.text(st.characters(codec="utf-8"), max_size=9), max_size=40),
    grow=st.booleans(),
    order=st.sampled_from("<>"),
)
@settings(max_examples=200, deadline=None)
def test_fixed_texts(values, grow, order):
    known = ["a", "", "0123456789abcdefg"]
    array = np.array(values, dtype=f"{order}U9")
    for rows in [array, array[::-1], np.repeat(array, 3)[::3], array[3:]]:
        codes, new = _core.fixed_codes(rows, known, grow)
        expected, expected_new = oracle(rows.tolist(), known, grow)
        assert codes.tolist() == expected
        assert new == expected_new
    encoded = np.array([v.encode() for v in values], dtype="S36")
    codes, new = _core.fixed_codes(encoded, known, grow)
    expected, expected_new = oracle([v.decode() for v in encoded.tolist()], known, grow)
    assert (codes.tolist(), new) == (expected, expected_new)


@pytest.mark.parametrize("width", [0, 1, 3, 4, 5, 15, 16, 17, 40])
def test_fixed_widths(width):
    rng = np.random.default_rng(width)
    for kind in "US":
        values = np.array(["x" * k for k in rng.integers(0, width + 1, 50)], dtype=f"{kind}{width}")
        expected, new = oracle(values.astype("U").tolist())
        codes, got = _core.fixed_codes(values, [], True)
        assert (codes.tolist(), got) == (expected, new)


def test_fixed_texts_refuse():
    with pytest.raises(_core.BadRow) as error:
        _core.fixed_codes(np.array(["a", "\ud800"]), [], True)
    assert error.value.args[1:] == (1, 0)
    with pytest.raises(_core.BadRow, match="UTF-8"):
        _core.fixed_codes(np.array([b"a", b"\xff"]), [], True)
    for rows in [np.array([1, 2]), np.array([["a"]])]:
        with pytest.raises(TypeError):
            _core.fixed_codes(rows, [], True)


@pytest.mark.parametrize("kind", ["f8", "f4", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"])
def test_number_codes(kind):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 12, 500).astype(kind)
    if kind[0] == "f":
        x[::3] /= 4
        x[5::7] = np.nan
        x[6::7] = -0.0
    for rows in [x, x[::-2]]:
        codes, new = _core.number_codes(_core.Columns([rows]), np.array([1.0, 0.25]), True)
        expected, expected_new = oracle(rows.tolist(), [1.0, 0.25])
        assert codes.tolist() == expected
        assert new.tolist() == expected_new
        assert new.dtype == {"f": np.float64, "u": np.uint64 if kind == "u8" else np.int64}.get(kind[0], np.int64)
    codes, new = _core.number_codes(_core.Columns([x]), np.array([1, 3]), False)
    assert codes.tolist() == oracle(x.tolist(), [1, 3], False)[0]
    assert new.shape == (0,)


def test_large_numbers_stay_apart():
    x = np.array([2**53, 2**53 + 1, 2**53, -(2**63), 2**63 - 1])
    codes, new = _core.number_codes(_core.Columns([x]), np.empty(0, np.int64), True)
    assert codes.tolist() == [0, 1, 0, 2, 3]
    assert new.tolist() == [2**53, 2**53 + 1, -(2**63), 2**63 - 1]
    x = np.array([2**64 - 1, 2**64 - 2, 5], np.uint64)
    codes, new = _core.number_codes(_core.Columns([x]), np.array([2**64 - 2, 7], np.uint64), True)
    assert codes.tolist() == [2, 0, 3]
    assert new.tolist() == [2**64 - 1, 5]
    reals = np.array([2.0**63, -(2.0**63), 2.0**64, 1e300, 5e-324, 2.0**63])
    assert _core.number_codes(_core.Columns([reals]), np.empty(0), True)[0].tolist() == [0, 1, 2, 3, 4, 0]


def test_number_codes_refuse():
    with pytest.raises(_core.BadValue) as error:
        _core.number_codes(_core.Columns([np.array([1, np.inf, -np.inf])]), np.empty(0), True)
    assert error.value.args == ("infinite", 1, 0, math.inf)
    for levels, match in [([1.0, 1.0], "twice"), ([0.0, -0.0], "twice"), ([math.nan], "NaN")]:
        with pytest.raises(ValueError, match=match):
            _core.number_codes(_core.Columns([np.ones(1)]), np.array(levels), True)
    with pytest.raises(ValueError, match="one column"):
        _core.number_codes(_core.Columns(np.ones((2, 2))), np.empty(0), True)


# ---- leaks


def test_no_leaks():
    objects = as_array([(i % 50,) for i in range(300)])
    words = np.array(["a", "b", "a much longer text"] * 100)
    numbers = _core.Columns([np.arange(300.0)])

    def work():
        _core.object_codes(objects, {}, True)
        _core.fixed_codes(words, ["x"], True)
        _core.number_codes(numbers, np.empty(0), True)
        with pytest.raises(TypeError):
            _core.object_codes(["a", []], {}, True)
        with pytest.raises(_core.BadRow):
            _core.fixed_codes(np.array([b"\xff"]), [], True)

    def run(times):
        for _ in range(times):
            work()
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    before = run(500)
    assert run(10_000) - before < 4e6
