"""Cuts of real columns (equal width, equal frequency, MDL) and the codes of values, against slow oracles."""

import os
import subprocess
import sys
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from tallybayes import NaiveBayes, _core
from tests.quick import examples

NONE = np.array([])


def columns(x):
    return _core.Columns([x] if np.ndim(x) == 1 else x)


def apart(answer):
    sizes, cuts = answer
    assert sizes.sum() == len(cuts)
    return np.split(cuts, np.cumsum(sizes)[:-1])


def width(x, bins, y=None, w=None):
    return apart(_core.cuts_width(columns(x), y, w, bins))[0]


def frequency(x, bins, y=None, w=None):
    return apart(_core.cuts_frequency(columns(x), y, w, bins))[0]


def mdl(x, y, w=None, K=None):
    return apart(_core.cuts_mdl(columns(x), y, w, K or max(int(y.max(initial=0)) + 1, 1)))[0]


def codes(x, cuts):
    return digitized(columns(x), np.array([len(cuts)]), cuts)[0]


def digitized(cols, sizes, cuts):
    """The codes of each column as an array; −1 is missing."""
    found = _core.digitize(cols, sizes, cuts)
    assert (found.n, found.d) == (cols.n, cols.d)
    packed, unseen = _core.pack_codes(found, sizes + 1, False, 0, found.n)
    assert not unseen.any()
    return np.where(packed == np.iinfo(packed.dtype).max, -1, packed.astype(np.int64))


def labels(values):
    return np.asarray(values, dtype=np.int32)


# ---- the slow oracles


def present(x, y, w):
    x = np.asarray(x, dtype=float)
    y = np.zeros(len(x), dtype=np.int32) if y is None else y
    w = np.ones(len(x)) if w is None else w
    keep = (y >= 0) & (w != 0) & ~np.isnan(x)
    return x[keep], y[keep], w[keep]


def entropy(y, w):
    p = np.array([w[y == c].sum() for c in np.unique(y)]) / w.sum()
    return -(p * np.log2(p)).sum()


def slow_mdl(x, y, w=None):
    """Fayyad and Irani (1993), recursively, every border between distinct values a candidate."""
    x, y, w = present(x, y, w)
    values = np.unique(x)
    if len(values) < 2:
        return []
    borders = values[:-1] / 2 + values[1:] / 2
    borders = np.where((values[:-1] < borders) & (borders <= values[1:]), borders, values[1:])
    N = w.sum()
    left = x < borders[:, None]
    after = sum(np.array([w[s].sum() / N * entropy(y[s], w[s]) for s in side]) for side in (left, ~left))
    best = int(np.flatnonzero(after <= after.min() + 1e-9)[0])
    s = left[best]
    k, k1, k2 = (len(np.unique(v)) for v in (y, y[s], y[~s]))
    e, e1, e2 = entropy(y, w), entropy(y[s], w[s]), entropy(y[~s], w[~s])
    delta = np.log2(3.0**k - 2) - (k * e - k1 * e1 - k2 * e2)
    if k < 2 or not e - after[best] > (np.log2(max(N - 1, 1)) + delta) / N:
        return []
    return [*slow_mdl(x[s], y[s], w[s]), borders[best], *slow_mdl(x[~s], y[~s], w[~s])]


def slow_frequency(x, bins, w=None):
    x, _, w = present(x, None, w)
    values = np.unique(x)
    left = np.cumsum([w[x == v].sum() for v in values])[:-1]
    if len(left) == 0:
        return []
    nearest = {int(np.argmin(abs(left * bins - i * w.sum()))) for i in range(1, bins)}
    return [values[i] / 2 + values[i + 1] / 2 for i in sorted(nearest)]


# ---- MDL


def test_mdl_iris_as_published():
    X, y = load_iris(return_X_y=True)
    cuts = apart(_core.cuts_mdl(_core.Columns(X), labels(y), None, 3))
    published = [5.55, 6.15], [2.95, 3.35], [2.45, 4.75], [0.8, 1.75]  # e.g. R's discretization::mdlp
    for got, expected in zip(cuts, published, strict=True):
        assert_allclose(got, expected, rtol=1e-12)


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_mdl_against_oracle(data):
    n, K = data.draw(st.integers(0, 80)), data.draw(st.integers(1, 5))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    levels, noise = data.draw(st.sampled_from([2, 5, 20, 1000])), data.draw(st.sampled_from([0.0, 0.1, 0.4]))
    x = rng.integers(0, levels, n).astype(float)
    y = (np.floor(x * data.draw(st.integers(1, 9)) / levels) % K).astype(np.int32)
    y = np.where(rng.random(n) < noise, rng.integers(-1, K, n), y).astype(np.int32)
    x[rng.random(n) < 0.1 * data.draw(st.integers(0, 1))] = np.nan
    w = data.draw(st.sampled_from([None, rng.integers(0, 4, n).astype(float)]))
    assert_array_equal(mdl(x, y, w, K), slow_mdl(x, y, w))


@pytest.mark.parametrize("seed", range(5))
def test_mdl_fractional_weights(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=300)
    y = labels(np.where(rng.random(300) < 0.1, rng.integers(0, 3, 300), np.digitize(x, [-0.5, 0.7])))
    w = rng.random(300) * 3
    got = mdl(x, y, w)
    assert len(got) >= 2
    assert_array_equal(got, slow_mdl(x, y, w))


def test_mdl_many_classes():
    rng = np.random.default_rng(1)
    x = rng.normal(size=600)
    y = labels(np.clip(np.round(50 + 20 * x + rng.normal(size=600)), 0, 99))
    got = mdl(x, y, None, 100)
    assert len(got) >= 2
    assert_array_equal(got, slow_mdl(x, y))


def test_mdl_first_of_equal_cuts():
    # The middle value holds one row of each class: a cut below or above it is equally good.
    x = np.repeat(np.arange(3.0), [20, 2, 20])
    y = labels([0] * 20 + [0, 1] + [1] * 20)
    for values in (x, x / 3, x * 1e-300, x + 7):
        assert_array_equal(codes(values, mdl(values, y)), x >= 1)
        assert_array_equal(codes(values, mdl(values, 1 - y)), x >= 1)


def test_mdl_tiny_and_huge_weights():
    x = np.arange(100.0)
    y = labels(x >= 50)
    for weight in (0.001, 0.01, 0.1, 1e6, 1e290):
        assert_array_equal(mdl(x, y, np.full(100, weight)), slow_mdl(x, y, np.full(100, weight)))
    assert_array_equal(mdl(x, y, np.full(100, 1e-320)), NONE)  # nothing is known, so no cut pays


# ---- laws that hold for all three


def all_cuts(x, y, w=None):
    K = max(int(y.max(initial=0)) + 1, 1)
    return width(x, 7, y, w), frequency(x, 7, y, w), mdl(x, y, w, K)


table = st.integers(1, 60).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(-20, 20), min_size=n, max_size=n).map(lambda v: np.array(v, dtype=float)),
        st.lists(st.integers(0, 2), min_size=n, max_size=n).map(labels),
        st.lists(st.integers(0, 3), min_size=n, max_size=n).map(lambda v: np.array(v, dtype=float)),
        st.permutations(range(n)),
    )
)


@settings(max_examples=examples(100), deadline=None)
@given(table)
def test_laws(t):
    x, y, w, order = t
    order = np.array(order)
    plain = all_cuts(x, y, w)
    times = np.repeat(np.arange(len(x)), w.astype(int))
    missing = np.where(w == 0, np.nan, x)
    absent = np.where(w == 0, -1, y).astype(np.int32)
    infinite = np.where(w == 0, np.inf, x)
    for other in (
        all_cuts(x[order], y[order], w[order]),  # order of the rows
        all_cuts(x[times], y[times]),  # weight 2 = twice, weight 0 = absent
        all_cuts(missing, y, w),
        all_cuts(x, absent, w),
        all_cuts(infinite, y, w),
        all_cuts(x.astype(np.float32), y, w),
        all_cuts(x.astype(np.int8), y, w),
    ):
        for a, b in zip(plain, other, strict=True):
            assert_array_equal(a, b)


@settings(max_examples=examples(300), deadline=None)
@given(table, st.floats(1e-5, 1e5), st.floats(-1e3, 1e3))
def test_same_codes_in_any_unit(t, c, shift):
    x, y, w, _ = t
    here, there, moved = (all_cuts(v, y, w) for v in (x, x * c, x + shift))
    distinct = len(np.unique(x + shift)) == len(np.unique(x))
    for a, b, m in zip(here, there, moved, strict=True):
        seen = w > 0  # the law is about the values the cuts were found from
        assert_array_equal(codes(x, a)[seen], codes(x * c, b)[seen])
        if distinct:
            assert_array_equal(codes(x, a)[seen], codes(x + shift, m)[seen])


@pytest.mark.parametrize("x", [[], [3.5], [2.0] * 9, [np.nan] * 5, [np.nan, 1.0, np.nan], [0.0, -0.0]])
def test_nothing_to_cut(x):
    x = np.array(x, dtype=float)
    for cuts in all_cuts(x, labels(np.arange(len(x)) % 2)):
        assert_array_equal(cuts, NONE)
    assert_array_equal(codes(x, NONE), np.where(np.isnan(x), -1, 0))


def test_no_columns_and_no_rows():
    y = np.zeros(0, dtype=np.int32)
    for X in (np.zeros((0, 3)), np.zeros((0, 0))):
        cols = _core.Columns(X)
        for sizes, cuts in (
            _core.cuts_width(cols, None, None, 4),
            _core.cuts_frequency(cols, None, None, 4),
            _core.cuts_mdl(cols, y, None, 2),
        ):
            assert_array_equal(sizes, np.zeros(X.shape[1]))
            assert len(cuts) == 0
        assert digitized(cols, sizes, cuts).shape == (X.shape[1], 0)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1.0, np.nextafter(1.0, 2)),
        (1e308, 1.7e308),
        (-1.7e308, 1.7e308),
        (0.0, 5e-324),
        (5e-324, 1e-323),
        (-5e-324, 0.0),
        (np.nextafter(-1.0, -2), -1.0),
        (2.0**53, 2.0**53 + 2),
    ],
)
def test_neighbours_are_parted(a, b):
    x = np.repeat([a, b], 50)
    for cuts in (frequency(x, 2), mdl(x, labels(x == b)), width(x, 2)):
        assert len(cuts) == 1
        assert a < cuts[0] <= b
        assert_array_equal(codes(x, cuts), x == b)


# ---- equal width, equal frequency


def test_width_is_equal_steps():
    assert_array_equal(width(np.array([0.0, 3.0, 10.0]), 5), [2, 4, 6, 8])
    assert_array_equal(width(np.array([-1.0, 1.0]), 4), [-0.5, 0, 0.5])
    assert_array_equal(width(np.array([0.0, 10.0]), 1), NONE)
    assert_allclose(width(np.array([-1.7e308, 0, 1.7e308]), 4), [-0.85e308, 0, 0.85e308])
    for c in (1.0, 0.1, 1 / 3, 0.7, 1e-310, 1.7e307):
        x = np.arange(11) * c
        assert_array_equal(codes(x, width(x, 10)), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9])


def test_width_of_a_range_of_few_floats():
    for x in (1e16 + np.arange(0, 12, 2.0), 1 + np.arange(40) * 2.0**-52, np.arange(-3, 3) * 5e-324):
        for bins in (2, 3, 5, 50):
            cuts = width(x, bins)
            assert np.all(np.diff(cuts) > 0)
            assert np.all((x.min() < cuts) & (cuts <= x.max()))
            assert 1 <= len(cuts) < bins


@settings(max_examples=examples(100), deadline=None)
@given(table, st.integers(1, 70))
def test_frequency_against_oracle(t, bins):
    x, _, w, _ = t
    assert_array_equal(frequency(x, bins), slow_frequency(x, bins))
    assert_array_equal(frequency(x, bins, w=w), slow_frequency(x, bins, w))


def test_frequency_balances():
    x = np.random.default_rng(0).normal(size=10_000)
    assert_array_equal(np.bincount(codes(x, frequency(x, 10))), np.full(10, 1000))
    assert_array_equal(np.unique(codes(np.arange(5.0), frequency(np.arange(5.0), 100))), np.arange(5))


# ---- digitising


@pytest.mark.parametrize("isa", [0, 1, 2])
@pytest.mark.parametrize("m", [0, 1, 2, 7, 8, 47, 48, 49, 127, 128, 1000, 32767, 32768])
def test_codes_count_the_cuts_up_to_x(m, isa):
    rng = np.random.default_rng(m)
    cuts = np.sort(rng.normal(size=m))
    x = np.concatenate([rng.normal(size=777), cuts[:500], [np.nan, 1.7e308, -1.7e308, 0.0, -0.0]])
    expected = np.where(np.isnan(x), -1, np.searchsorted(cuts, x, side="right"))
    _core.limit_isa(isa)
    try:
        got = codes(x, cuts)
    finally:
        _core.limit_isa(2)
    assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"])
def test_any_type_and_memory_order(dtype):
    rng = np.random.default_rng(3)
    X = (rng.random((3000, 19)) * 60).astype(dtype)
    y, w = labels(rng.integers(-1, 3, 3000)), rng.integers(0, 3, 3000).astype(float)
    big = np.zeros((6000, 38), dtype=dtype)
    big[::2, ::2] = X
    forms = [X, np.asfortranarray(X), big[::2, ::2], X[::-1][::-1], list(X.T.copy())]
    cols = [_core.Columns(f) for f in forms]
    whole = _core.Columns(X.astype(float))
    for find, last in ((_core.cuts_width, 6), (_core.cuts_frequency, 6), (_core.cuts_mdl, 3)):
        expected = find(whole, y, w, last)
        answers = [find(c, y, w, last) for c in cols]
        for a in answers:
            for part, want in zip(a, expected, strict=True):
                assert_array_equal(part, want)
        got = [digitized(c, *expected) for c in cols]
        want = [np.searchsorted(c, X[:, j].astype(float), side="right") for j, c in enumerate(apart(expected))]
        for g in got:
            assert_array_equal(g, np.array(want))


def test_values_at_odd_addresses():
    x = np.frombuffer(b"-" + np.arange(50.0).tobytes(), offset=1)
    assert_array_equal(codes(x, np.array([10.0, 20.0])), np.digitize(x, [10, 20]))
    X = np.frombuffer(b"-" + np.arange(900.0).tobytes(), offset=1).reshape(50, 18)
    assert_array_equal(_core.cuts_width(_core.Columns(X), None, None, 2)[1], X.mean(axis=0))


def test_codes_of_columns_with_few_and_many_cuts_lie_side_by_side():
    X = np.random.default_rng(0).random((101, 3))
    cuts = [np.array([0.5]), np.linspace(0, 1, 40_000), np.linspace(0, 1, 300)]
    X[3, 1] = np.nan
    got = digitized(_core.Columns(X), np.array([len(c) for c in cuts]), np.concatenate(cuts))
    want = [np.searchsorted(c, X[:, j], side="right") for j, c in enumerate(cuts)]
    want[1][3] = -1
    assert_array_equal(got, want)


# ---- errors


def test_first_infinity_is_named():
    X = np.random.default_rng(0).normal(size=(40_000, 4))
    X[30_001, 2], X[30_001, 1], X[35_000, 0] = np.inf, -np.inf, np.inf
    cols, y = _core.Columns(X), np.zeros(40_000, dtype=np.int32)
    for call in (
        lambda: _core.cuts_width(cols, None, None, 3),
        lambda: _core.cuts_frequency(cols, None, None, 3),
        lambda: _core.cuts_mdl(cols, y, None, 2),
        lambda: _core.digitize(cols, np.zeros(4, dtype=np.int64), NONE),
    ):
        with pytest.raises(_core.BadValue) as error:
            call()
        assert error.value.args == ("infinite", 30_001, 1, -np.inf)


def test_bad_arguments():
    x, y, w = columns(np.arange(4.0)), labels([0, 1, 0, 1]), np.ones(4)
    one = np.array([1])
    for bins in (0, -1, 10**7):
        with pytest.raises(ValueError, match="bins must be from 1 to 1000000, not"):
            _core.cuts_width(x, None, None, bins)
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="row 3 has weight"):
            _core.cuts_frequency(x, None, np.array([1, 1, 1, bad]), 2)
    with pytest.raises(ValueError, match="1e300"):
        _core.cuts_frequency(x, None, np.full(4, 1e308), 2)
    with pytest.raises(ValueError, match="row 1 has class code 1"):
        _core.cuts_mdl(x, y, None, 1)
    with pytest.raises(ValueError, match="at least one class"):
        _core.cuts_mdl(x, y, None, 0)
    with pytest.raises(ValueError, match="another length"):
        _core.cuts_mdl(x, y[:3], None, 2)
    with pytest.raises(ValueError, match="another length"):
        _core.cuts_mdl(x, y, w[:3], 2)
    with pytest.raises(TypeError):
        _core.cuts_mdl(x, y.astype(np.int64), None, 2)
    for sizes, cuts, what in (
        (np.array([1, 1]), w[:2], "every column"),
        (one, NONE, "add up"),
        (one, w[:2], "add up"),
        (-one, NONE, "add up"),
        (one, np.array([np.nan]), "ascend"),
        (2 * one, np.array([2.0, 1.0]), "ascend"),
    ):
        with pytest.raises(ValueError, match=what):
            _core.digitize(x, sizes, cuts)


# ---- threads and time

SAME_BITS = """
import hashlib
import numpy as np
from tallybayes import _core
rng = np.random.default_rng(5)
X = rng.normal(size=(30_000, 11))
y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=30_000) > 1).astype(np.int32)
w = rng.random(30_000)
cols = _core.Columns(X)
found = [_core.cuts_width(cols, y, w, 9), _core.cuts_frequency(cols, y, w, 9), _core.cuts_mdl(cols, y, w, 2)]
parts = [a for f in found for a in f] + [
    _core.pack_codes(_core.digitize(cols, *f), f[0] + 1, False, 0, len(X))[0] for f in found
]
print(hashlib.sha256(b"".join(p.tobytes() for p in parts)).hexdigest())
"""


def test_same_bits_for_any_number_of_threads():
    def run(threads):
        env = {**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.run([sys.executable, "-c", SAME_BITS], env=env, check=True, capture_output=True).stdout

    assert run(1) == run(2) == run(5)


def test_mdl_of_a_million_values_in_half_a_second():
    rng = np.random.default_rng(0)
    x = rng.normal(size=1_000_000)
    y = labels(rng.random(1_000_000) < 1 / (1 + np.exp(-3 * x)))
    took = []
    for _ in range(3):
        start = time.process_time()
        cuts = mdl(x, y)
        took.append(time.process_time() - start)
    assert len(cuts) > 10
    assert min(took) < 0.5


@given(
    st.lists(st.floats(-1e12, 1e12).map(lambda v: round(v, 7)), min_size=2, max_size=40),
    st.integers(2, 9),
    st.sampled_from([_core.cuts_frequency, _core.cuts_width]),
)
@settings(max_examples=examples(100))
def test_rounded_cuts_separate_the_same_rows_and_are_short(values, bins, find):
    """Oracle: no decimal with fewer digits lies in the middle half of the interval."""
    x, y = np.array(values), np.zeros(len(values), dtype=np.int32)
    sizes, exact = find(columns(x), y, None, bins)
    found = np.asarray(_core.round_cuts(columns(x), y, None, sizes, exact))
    assert_array_equal(np.searchsorted(found, x, side="right"), np.searchsorted(exact, x, side="right"))
    assert (np.diff(found) > 0).all()
    for cut in found.tolist() if find is _core.cuts_frequency else ():
        a, b = Fraction(float(x[x < cut].max())), Fraction(float(x[x >= cut].min()))
        exponent = Decimal(repr(cut)).normalize().as_tuple().exponent
        if cut == 0 or b - a < max(abs(a), abs(b)) / 10**12:
            continue
        coarser, middle, near = Fraction(10) ** (exponent + 1), (a + b) / 2, (b - a) / 4 * Fraction(999, 1000)
        assert abs(round(middle / coarser) * coarser - middle) > near


def test_a_cut_does_not_give_back_its_neighbours():
    """2 · cut − neighbour was the salary of a forgotten row."""
    x = np.array([31_000.0, 42_000.0, 123_456.789])
    model = NaiveBayes("frequency").fit(np.tile(x, 20)[:, None], np.tile([0, 1, 0], 20))
    cuts = model.schema_.cuts[0]
    for cut in [*cuts.points, cuts.low, cuts.high]:
        for neighbour in x:
            assert not np.isclose(2 * cut - neighbour, 123_456.789, rtol=1e-6) or neighbour == 123_456.789
            assert cut != neighbour
