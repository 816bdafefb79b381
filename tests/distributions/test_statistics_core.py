from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from tallybayes import _core
from tests import oracle
from tests.quick import examples

INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]
DTYPES = ["f8", "f4", *INTEGERS]
LAYOUTS = ["rows", "columns", "strided rows", "backward", "gaps", "list", "strided list", "unaligned"]
SHAPES = [(50_000, 7, 3), (3_000, 130, 4), (40_000, 2, 1), (600, 900, 3), (30_000, 3, 700)]  # several chunks
close = np.testing.assert_allclose
equal = np.testing.assert_array_equal


def available():
    """The instruction sets of this processor: every kernel is tested with each."""
    found = []
    for k, name in enumerate(["base", "avx2", "avx512"]):
        _core.limit_isa(k)
        if _core.isa() == k:
            found.append(pytest.param(k, id=name))
    _core.limit_isa(2)
    return found


@pytest.fixture(params=available())
def every_isa(request):
    _core.limit_isa(request.param)
    yield
    _core.limit_isa(2)


def laid_out(X, layout):
    """The same table in another place in memory."""
    n, d = X.shape
    if layout == "rows":
        return np.ascontiguousarray(X)
    if layout == "columns":
        return np.asfortranarray(X)
    if layout == "strided rows":
        wide = np.zeros((n, d + 3), X.dtype)
        wide[:, 1 : d + 1] = X
        return wide[:, 1 : d + 1]
    if layout == "backward":
        return np.ascontiguousarray(X[::-1])[::-1]
    if layout == "gaps":
        wide = np.zeros((n, 2 * d), X.dtype)
        wide[:, ::2] = X
        return wide[:, ::2]
    if layout == "list":
        return [np.ascontiguousarray(X[:, j]) for j in range(d)]
    if layout == "strided list":
        return [np.repeat(X[:, j], 3)[::3] for j in range(d)]
    raw = np.zeros(X.nbytes + 1, np.uint8)
    view = raw[1:].view(X.dtype).reshape(X.shape) if X.nbytes else X
    view[...] = X
    return view


def table(rng, n, d, dtype):
    if dtype == "?":
        return rng.random((n, d)) < 0.4
    if dtype[0] == "f":
        return (rng.normal(size=(n, d)) * 3 + 100).astype(dtype)
    return rng.integers(0, 100, (n, d)).astype(dtype)


def labels(rng, n, K):
    """Class codes with a few rows left out, and weights with a few zeros."""
    y = rng.integers(-1, K, n).astype(np.int32)
    w = rng.random(n) * 3
    w[rng.random(n) < 0.1] = 0
    return y, w


def check_moments(X, y, w, K, rtol=1e-11):
    n, mean, low, m2 = _core.moments(_core.Columns(X), y, w, K)
    want = oracle.moments(X, y, w, K)
    close(n, want[0], rtol=1e-13)
    spread = np.sqrt(want[2] / np.maximum(want[0], 1e-300))
    assert (abs(mean - want[1]) <= 1e-13 * (abs(want[1]) + spread)).all()
    equal(mean + low, mean)
    close(m2, want[2], rtol=rtol, atol=1e-300)
    return n, mean, low, m2


# ------------------------------------------------------------------ moments


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.usefixtures("every_isa")
def test_moments_of_every_type_and_layout(dtype, layout):
    rng = np.random.default_rng(1)
    for n, d, K in [(300, 7, 3), (57, 1, 2), (40, 3, 1), (200, 21, 5)]:
        X = laid_out(table(rng, n, d, dtype), layout)
        y, w = labels(rng, n, K)
        check_moments(X, y, None, K)
        check_moments(X, y, w, K)


@pytest.mark.parametrize(("n", "d", "K"), SHAPES)
@pytest.mark.usefixtures("every_isa")
def test_moments_of_several_chunks(n, d, K):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, d)) * np.geomspace(1e-6, 1e6, d) + 1e3
    y, w = labels(rng, n, K)
    check_moments(X, y, None, K)
    check_moments(X, y, w, K)
    check_moments(X.astype(np.float32), y, w, K)


@pytest.mark.parametrize("share", [0.0001, 0.05, 0.9])
@pytest.mark.usefixtures("every_isa")
def test_missing_values_are_left_out(share):
    rng = np.random.default_rng(3)
    n, d, K = 30_000, 11, 4
    X = rng.normal(size=(n, d)) + 5
    X[rng.random((n, d)) < share] = np.nan
    X[:, 3] = np.nan
    y, w = labels(rng, n, K)
    X[y == 2, 5] = np.nan
    for layout in ["rows", "columns"]:
        for v in [None, w]:
            for found in check_moments(laid_out(X, layout), y, v, K):
                equal(found[:, 3], 0)
    check_moments(X.astype(np.float32), y, w, K)


@pytest.mark.usefixtures("every_isa")
def test_a_constant_has_that_mean_and_no_spread():
    for value in [0.1, -1e200, 1e308, 3.0, 5e-324]:
        for d in [1, 2, 5, 9]:
            X = np.full((70_000 // d, d), value)
            y = np.arange(len(X)).astype(np.int32) % 3
            for w in [None, np.linspace(0.1, 3, len(X))]:
                _, mean, low, m2 = _core.moments(_core.Columns(X), y, w, 3)
                equal(mean, value)
                equal(low, 0)
                equal(m2, 0)


@pytest.mark.usefixtures("every_isa")
def test_far_from_zero_the_spread_survives():
    rng = np.random.default_rng(4)
    X = 1e9 + rng.normal(size=(100_000, 5))
    y = np.zeros(len(X), np.int32)
    check_moments(X, y, None, 1, rtol=1e-10)
    X[0] = 1e13  # the shift is an outlier
    check_moments(X, y, None, 1, rtol=1e-10)


@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.usefixtures("every_isa")
def test_far_from_zero_the_mean_keeps_its_digits(layout):
    rng = np.random.default_rng(4)
    X = 1e10 + rng.normal(size=(5000, 5))
    X[rng.random(X.shape) < 0.05] = np.nan
    y, w = labels(rng, len(X), 2)
    w = np.round(w * 4)
    _, mean, low, _ = _core.moments(_core.Columns(laid_out(X, layout)), y, w, 2)
    for c, j, x, v in oracle.each_cell(X, y, w, 2):
        total = sum(Fraction(a) * Fraction(b) for a, b in zip(x.tolist(), v.tolist(), strict=True))
        exact = total / Fraction(v.sum())
        assert abs(Fraction(mean[c, j]) + Fraction(low[c, j]) - exact) < 1e-14


def near(a, b):
    """The same moments to rounding; low is below that."""
    for i in (0, 1, 3):
        close(a[i], b[i], rtol=1e-12)


def test_weight_two_is_twice_and_zero_is_absent():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(5000, 6))
    y = rng.integers(0, 3, len(X)).astype(np.int32)
    twice = _core.moments(_core.Columns(np.repeat(X, 2, axis=0)), np.repeat(y, 2), None, 3)
    near(_core.moments(_core.Columns(X), y, np.full(len(X), 2.0), 3), twice)
    w = (rng.random(len(X)) < 0.5).astype(float)
    X[w == 0] = np.inf
    part = _core.moments(_core.Columns(X[w == 1]), y[w == 1], None, 3)
    near(_core.moments(_core.Columns(X), y, w, 3), part)


@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.usefixtures("every_isa")
def test_the_first_infinity_is_named(layout, missing):
    X = np.zeros((200_000, 5))
    X[::7, 2] = np.nan if missing else 1
    X[150_000, 4], X[150_000, 1], X[170_000, 0], X[20, 3], X[30, 3] = np.inf, -np.inf, np.inf, np.inf, np.inf
    y = np.zeros(len(X), np.int32)
    y[20] = -1
    w = np.ones(len(X))
    w[30] = 0
    with pytest.raises(_core.BadValue) as e:
        _core.moments(_core.Columns(laid_out(X, layout)), y, w, 1)
    assert e.value.args == ("infinite", 150_000, 1, -np.inf)


def test_squares_too_large_are_an_overflow():
    X = np.ones((10, 3))
    X[4, 1], X[6, 1] = -1e200, 1e199
    with pytest.raises(_core.BadValue) as e:
        _core.moments(_core.Columns(X), np.zeros(10, np.int32), None, 1)
    assert e.value.args == ("overflow", 4, 1, -1e200)
    X[:, 1] = [1.7e308, -1.7e308] * 5
    with pytest.raises(_core.BadValue, match="overflow"):
        _core.moments(_core.Columns(X), np.zeros(10, np.int32), None, 1)


@pytest.mark.parametrize("call", [_core.moments, _core.sums, lambda x, *a: _core.binary_counts(x, 0.0, *a)])
def test_tables_without_rows_or_columns(call):
    for X in [np.zeros((0, 4)), np.zeros((9, 0)), [], np.zeros((0, 0))]:
        cols = _core.Columns(X)
        for K in [0, 1, 3]:
            y = np.zeros(cols.n, np.int32) - (K == 0)
            for a in call(cols, y, None, K):
                assert a.shape == (K, cols.d)
                equal(a, 0)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 60),
    st.integers(0, 20),
    st.integers(1, 9),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=examples(150), deadline=None)
def test_moments_of_any_shape(seed, n, d, K, weighted, missing):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d)
    if missing:
        X[rng.random((n, d)) < 0.3] = np.nan
    y, w = labels(rng, n, K)
    check_moments(X, y, w if weighted else None, K)


@pytest.mark.usefixtures("every_isa")
def test_many_classes():
    """Beyond 512 classes the rows are ordered by class first."""
    rng = np.random.default_rng(6)
    n, d, K = 25_000, 17, 600
    X = rng.poisson(4, (n, d)).astype(float)
    y, w = labels(rng, n, K)
    y[rng.random(n) < 0.6] = 7  # one large class, over several chunks
    y[y == 9] = 8  # and an empty one
    X[np.flatnonzero(y == 11)[0]] = 1e7  # the first of its class is an outlier
    for missing in [0, 0.05]:
        X[rng.random(X.shape) < missing] = np.nan
        for v in [None, w]:
            check_moments(X, y, v, K)
            for a, b in zip(_core.sums(_core.Columns(X), y, v, K), oracle.sums(X, y, v, K), strict=True):
                close(a, b, rtol=1e-12)
    X[20_000, 3], X[19_000, 4] = np.inf, -np.inf
    y[20_000], y[19_000] = 0, K - 1
    with pytest.raises(_core.BadValue) as e:
        _core.moments(_core.Columns(X), y, None, K)
    assert e.value.args == ("infinite", 19_000, 4, -np.inf)


# ------------------------------------------------------------------ sums and binary counts


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.usefixtures("every_isa")
def test_sums_and_binary_counts_of_every_type_and_layout(dtype, layout):
    rng = np.random.default_rng(7)
    for n, d, K in [(300, 7, 3), (57, 1, 2), (30_000, 10, 3)]:
        if n > 1000 and (layout not in ("rows", "list") or dtype not in ("f8", "f4", "u1")):
            continue
        X = table(rng, n, d, dtype)
        if dtype[0] == "f" and layout in ("columns", "rows"):
            X[rng.random(X.shape) < 0.01] = np.nan
        X = laid_out(X, layout)
        y, w = labels(rng, n, K)
        for v in [None, w]:
            for a, b in zip(_core.sums(_core.Columns(X), y, v, K), oracle.sums(X, y, v, K), strict=True):
                close(a, b, rtol=1e-12)
            got = _core.binary_counts(_core.Columns(X), 50, y, v, K)
            for a, b in zip(got, oracle.binary_counts(X, 50, y, v, K), strict=True):
                close(a, b, rtol=1e-12)


@pytest.mark.usefixtures("every_isa")
def test_the_first_negative_or_infinite_value_is_named():
    y = np.zeros(50_000, np.int32)
    for first, kind in [(-2.0, "negative"), (np.inf, "infinite"), (-np.inf, "infinite")]:
        for noise in [0.0, np.nan]:
            X = np.ones((50_000, 6))
            X[::11, 1] = noise
            X[40_000, 4], X[40_001, 0], X[49_999, 0] = first, -1, np.inf
            with pytest.raises(_core.BadValue) as e:
                _core.sums(_core.Columns(X), y, None, 1)
            assert e.value.args == (kind, 40_000, 4, first)
            w = np.ones(len(y))
            w[40_000:] = 0
            _core.sums(_core.Columns(X), y, w, 1)


def test_a_sum_too_large_is_an_overflow():
    with pytest.raises(_core.BadValue, match="overflow"):
        _core.sums(_core.Columns(np.full((4, 1), 1e308)), np.zeros(4, np.int32), None, 1)


def test_minus_zero_is_not_negative():
    _, s = _core.sums(_core.Columns(np.array([[-0.0], [2.0]])), np.zeros(2, np.int32), None, 1)
    assert s[0, 0] == 2


def test_infinities_lie_above_or_below_a_threshold():
    X = np.array([[np.inf], [-np.inf], [np.nan], [0.0], [1.0]])
    n, ones = _core.binary_counts(_core.Columns(X), 0.0, np.zeros(5, np.int32), None, 1)
    assert (n[0, 0], ones[0, 0]) == (4, 2)


# ------------------------------------------------------------------ counts


def check_counts(X, y, w, K, sizes, limit=1 << 20):
    flat, grown = _core.counts(_core.Columns(X), y, w, K, np.asarray(sizes, np.int64), limit)
    want, want_sizes = oracle.counts(X, y, w, K, sizes)
    equal(grown, want_sizes)
    if w is None:
        equal(flat, want)
    else:
        close(flat, want, rtol=1e-12)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.usefixtures("every_isa")
def test_counts_of_every_type_and_layout(dtype, layout):
    rng = np.random.default_rng(8)
    for n, d, K in [(500, 5, 3), (41, 1, 2), (900, 70, 2)]:
        X = rng.integers(0, 2 if dtype == "?" else 23, (n, d)).astype(dtype)
        if dtype[0] == "i":
            X[rng.random(X.shape) < 0.1] = -1
            X[rng.random(X.shape) < 0.003] = -3
        X = laid_out(X, layout)
        y, w = labels(rng, n, K)
        for sizes in [np.zeros(d), np.full(d, 30), np.full(d, 23)]:
            check_counts(X, y, None, K, sizes)
            check_counts(X, y, w, K, sizes)


@pytest.mark.parametrize(("dtype", "top"), [("i1", 127), ("u1", 255), ("i2", 32767), ("u2", 65535)])
def test_counts_up_to_the_largest_code_of_a_type(dtype, top):
    X = np.array([[0], [top], [top - 1], [1], [top]], dtype=dtype)
    check_counts(X, np.zeros(5, np.int32), None, 1, [0])
    check_counts(X, np.array([0, 1, 1, -1, 0], np.int32), np.arange(5.0), 2, [3])


@pytest.mark.usefixtures("every_isa")
def test_tables_grow_while_counting():
    rng = np.random.default_rng(9)
    n = 70_000
    X = np.stack([np.arange(n) // 7000, np.arange(n) % 3, rng.integers(0, 300, n), np.arange(n)], axis=1)
    y = rng.integers(0, 3, n).astype(np.int32)
    for layout in ["rows", "list"]:
        check_counts(laid_out(X, layout), y, None, 3, [0, 0, 5, 0])
        check_counts(laid_out(X[:, :3], layout), y, None, 3, [0, 0, 5])


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.usefixtures("every_isa")
def test_rows_of_few_levels_are_counted_in_pairs(dtype):
    rng = np.random.default_rng(13)
    for d, K in [(2, 3), (9, 2), (16, 1), (31, 5), (140, 2)]:
        n = 6000
        X = rng.integers(0, 2 if dtype == "?" else 1 + np.arange(d) % 9, (n, d)).astype(dtype)
        y, _ = labels(rng, n, K)
        check_counts(X, y, None, K, np.zeros(d))
        if dtype == "?":
            continue
        X[3000, d // 2], X[5000, 0] = 99, 40  # levels that come late
        check_counts(X, y, None, K, np.zeros(d))
        if dtype[0] == "i":
            X[4000, d - 1], X[4500, 1] = -1, -3
            check_counts(X, y, None, K, np.zeros(d))


def test_many_classes_and_many_levels():
    rng = np.random.default_rng(10)
    n = 20_000
    X = rng.integers(0, 65_536, (n, 3))
    y = rng.integers(0, 50, n).astype(np.int32)
    check_counts(X, y, None, 50, [0, 65_536, 10])
    y = rng.integers(0, 3000, n).astype(np.int32)
    check_counts(laid_out(rng.integers(0, 6, (n, 9)), "list"), y, None, 3000, [0] * 9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("layout", ["rows", "list"])
def test_the_first_code_beyond_the_limit_is_named(weighted, layout):
    n = 100_000
    X = np.zeros((n, 12), np.int64)
    X[99_999, 0], X[80_000, 11], X[80_000, 9], X[5, 1], X[6, 1] = 2**62, 10, 12, 2**62, 2**62
    y = np.zeros(n, np.int32)
    y[5] = y[6] = -1
    cols = _core.Columns(laid_out(X, layout))
    with pytest.raises(_core.BadValue) as e:
        _core.counts(cols, y, np.ones(n) if weighted else None, 1, np.zeros(12, np.int64), 10)
    assert e.value.args == ("code", 80_000, 9, 12)
    y[80_000:] = -1
    flat, sizes = _core.counts(cols, y, np.ones(n) if weighted else None, 1, np.zeros(12, np.int64), 10)
    equal(sizes, 1)
    equal(flat, 80_000 - 2)


def test_unsigned_codes_beyond_int64_are_not_missing():
    X = np.array([[2**64 - 1]], np.uint64)
    with pytest.raises(_core.BadValue, match="code"):
        _core.counts(_core.Columns(X), np.zeros(1, np.int32), None, 1, np.zeros(1, np.int64), 10)


def test_counts_refuse_floats_and_wrong_sizes():
    y = np.zeros(3, np.int32)
    with pytest.raises(TypeError, match="float"):
        _core.counts(_core.Columns(np.zeros((3, 1))), y, None, 1, np.zeros(1, np.int64), 10)
    for sizes, limit in [([0, 0], 10), ([-1], 10), ([11], 10), ([0], -1), ([0], 2**40)]:
        with pytest.raises(ValueError):
            _core.counts(_core.Columns(np.zeros((3, 1), int)), y, None, 1, np.array(sizes), limit)


def test_counts_without_rows_or_columns():
    check_counts(np.zeros((0, 3), int), np.zeros(0, np.int32), None, 2, [0, 4, 1])
    check_counts(np.zeros((5, 0), int), np.zeros(5, np.int32), None, 2, [])
    check_counts(np.zeros((5, 0), int), np.zeros(5, np.int32), np.ones(5), 2, [])
    check_counts(np.full((5, 2), -1), np.zeros(5, np.int32), np.ones(5), 2, [0, 2])


# ------------------------------------------------------------------ sparse sums


def as_csr(m):
    return _core.Csr(m.data, m.indices, m.indptr, m.shape[1])


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4"])
@pytest.mark.parametrize("index", ["i4", "i8"])
@pytest.mark.usefixtures("every_isa")
def test_sparse_sums(dtype, index):
    rng = np.random.default_rng(11)
    for n, d, K in [(400, 30, 3), (20_000, 40, 2), (300, 50, 400), (5, 3, 1)]:
        m = sp.random(n, d, density=0.2, format="csr", random_state=1)
        m = sp.csr_matrix((np.ceil(m.data * 5).astype(dtype), m.indices, m.indptr), m.shape)
        m.indices, m.indptr = m.indices.astype(index), m.indptr.astype(index)
        y, w = labels(rng, n, K)
        for v in [None, w]:
            for threshold in [None, 0.0, 2.5]:
                got = _core.csr_sums(as_csr(m), y, v, K, threshold)
                close(got, oracle.csr_sums(m, y, v, K, threshold), rtol=1e-12)


def test_bad_sparse_values_are_named():
    m = sp.csr_matrix(np.ones((6, 4)))
    m.data[9], m.data[10], m.data[4] = -1, np.nan, np.inf
    y = np.array([0, -1, 0, 0, 0, 0], np.int32)
    with pytest.raises(_core.BadValue) as e:
        _core.csr_sums(as_csr(m), y, None, 1, None)
    assert e.value.args == ("negative", 2, 1, -1)
    with pytest.raises(_core.BadValue) as e:
        _core.csr_sums(as_csr(m), y, None, 1, 0.0)
    assert e.value.args[:3] == ("infinite", 2, 2)
    assert np.isnan(e.value.args[3])
    with pytest.raises(ValueError, match="negative"):
        _core.csr_sums(as_csr(m), y, None, 1, -1.0)


def test_check_csr():
    m = sp.csr_matrix(np.eye(5))
    assert _core.check_csr(as_csr(m))  # the indices of each row rise
    for indices in ([1, 0, 2], [0, 0, 2]):
        for kind in (np.int32, np.int64):
            rows = _core.Csr(np.ones(3), np.array(indices, kind), np.array([0, 2, 3], kind), 5)
            assert not _core.check_csr(rows)
            assert _core.check_csr(_core.Csr(np.ones(3), np.array([2, 0, 1], kind), np.array([0, 1, 3], kind), 5))
    for indices, indptr in [
        ([0, 1, 2, 3, 5], m.indptr),
        ([0, 1, 2, 3, -1], m.indptr),
        (m.indices, [0, 2, 1, 3, 4, 5]),
        (m.indices, [0, 1, 2, 3, 4, 6]),
        (m.indices, [1, 1, 2, 3, 4, 5]),
    ]:
        with pytest.raises(ValueError):
            _core.check_csr(_core.Csr(m.data, np.array(indices, np.int32), np.array(indptr, np.int32), 5))


# ------------------------------------------------------------------ labels


@pytest.mark.parametrize("n", [0, 1, 1000, 200_000])
def test_class_weights(n):
    rng = np.random.default_rng(12)
    y, w = labels(rng, n, 5)
    close(_core.class_weights(y, None, 5), oracle.class_weights(y, None, 5))
    close(_core.class_weights(y, w, 5), oracle.class_weights(y, w, 5), rtol=1e-12)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_levels(dtype):
    rng = np.random.default_rng(13)
    if dtype == "?":
        cases = [rng.random(1000) < 0.5, np.zeros(3, bool)]
    else:
        info = np.iinfo(dtype)
        top = min(info.max, 2**63 - 1)
        cases = [
            rng.integers(0, 7, 100_000).astype(dtype),
            rng.integers(info.min, top, 3000, dtype=dtype, endpoint=True),
            np.array([top, info.min, 0, top], dtype),
            rng.integers(0, 100, 300).astype(dtype)[::3],
        ]
    for y in [*cases, np.zeros(0, dtype)]:
        levels, codes = np.unique(y, return_inverse=True)
        got_codes, got_levels = _core.integer_levels(y)
        assert got_codes.dtype == np.int32
        assert got_levels.dtype == np.int64
        equal(got_levels, levels.astype(np.int64))
        equal(got_codes, codes)


def test_integer_levels_of_many_far_values():
    rng = np.random.default_rng(14)
    y = rng.integers(-(2**62), 2**62, 150_000)
    y[::2] = y[1::2]
    levels, codes = np.unique(y, return_inverse=True)
    got = _core.integer_levels(y)
    equal(got[0], codes)
    equal(got[1], levels)


def test_integer_levels_refuse_what_does_not_fit():
    with pytest.raises(ValueError, match="2\\^63"):
        _core.integer_levels(np.array([1, 2**63], np.uint64))
    with pytest.raises(TypeError):
        _core.integer_levels(np.zeros(3))


# ------------------------------------------------------------------ all of them

X50 = np.random.default_rng(15).poisson(3, (50_000, 6)).astype(float)
Y50 = np.random.default_rng(16).integers(0, 4, len(X50)).astype(np.int32)
MANY = np.random.default_rng(18).integers(0, 900, len(X50)).astype(np.int32)
W50 = np.random.default_rng(17).random(len(X50))
CSR50 = sp.csr_matrix(X50)
EVERY = {
    "moments": lambda w: _core.moments(_core.Columns(X50), Y50, w, 4),
    "moments of columns": lambda w: _core.moments(_core.Columns(np.asfortranarray(X50)), Y50, w, 4),
    "moments, missing": lambda w: _core.moments(_core.Columns(np.where(X50 == 2, np.nan, X50)), Y50, w, 4),
    "moments, many classes": lambda w: _core.moments(_core.Columns(X50), MANY, w, 900),
    "sums": lambda w: _core.sums(_core.Columns(X50 / 3), Y50, w, 4),
    "binary_counts": lambda w: _core.binary_counts(_core.Columns(X50), 2.0, Y50, w, 4),
    "counts": lambda w: _core.counts(_core.Columns(X50.astype(int)), Y50, w, 4, np.zeros(6, np.int64), 99),
    "csr_sums": lambda w: (_core.csr_sums(as_csr(CSR50), Y50, w, 4, None),),
    "class_weights": lambda w: (_core.class_weights(Y50, w, 4),),
    "integer_levels": lambda _: _core.integer_levels(Y50.astype(np.int64) * 10**9),
}


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("w", [None, W50], ids=["", "weighted"])
def test_the_same_bits_on_any_number_of_threads(name, w):
    answers = []
    for threads in [1, 2, 5, 2]:
        with threadpool_limits(threads, "openmp"):
            assert _core.threads() == threads
            answers.append(EVERY[name](w))
    for other in answers[1:]:
        for a, b in zip(answers[0], other, strict=True):
            equal(a.view(np.int64) if a.itemsize == 8 else a, b.view(np.int64) if b.itemsize == 8 else b)


def calls(y, w):
    """Every tally of a small table with these labels and weights."""
    X = _core.Columns(np.ones((3, 2)))
    yield lambda: _core.moments(X, y, w, 2)
    yield lambda: _core.sums(X, y, w, 2)
    yield lambda: _core.binary_counts(X, 0.0, y, w, 2)
    yield lambda: _core.counts(_core.Columns(np.ones((3, 2), int)), y, w, 2, np.zeros(2, np.int64), 10)
    yield lambda: _core.csr_sums(as_csr(sp.csr_matrix(np.ones((3, 2)))), y, w, 2, None)
    if len(y) == 3 or w is not None:
        yield lambda: _core.class_weights(y, w, 2)


@pytest.mark.parametrize(
    ("y", "w"),
    [
        ([0, 2, 1], None),
        ([0, 1], None),
        ([0, 1, 1], [1, 2]),
        ([0, 1, 1], [1, -1, 1]),
        ([0, 1, 1], [1, np.nan, 1]),
        ([0, 1, 1], [1, np.inf, 1]),
    ],
    ids=[
        "class too large",
        "short labels",
        "short weights",
        "negative weight",
        "NaN weight",
        "infinite weight",
    ],
)
def test_labels_and_weights_that_do_not_fit(y, w):
    y, w = np.array(y, np.int32), None if w is None else np.array(w, float)
    for call in calls(y, w):
        with pytest.raises(ValueError, match=r"class code|length|weights"):
            call()


def test_labels_and_weights_are_not_converted():
    for y, w in [
        (np.zeros(3, np.int64), None),
        (np.zeros(3, np.int32), np.ones(3, np.float32)),
        ([0, 1, 1], None),
    ]:
        for call in calls(y, w):
            with pytest.raises(TypeError):
                call()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_stream_reads_every_layout(layout):
    assert _core.stream(_core.Columns(laid_out(np.full((50, 5), 2, np.uint8), layout))) > 0


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("levels", [3, 100, 70_000])
def test_counts_of_codes(dtype, order, levels):
    """As counts, or None: of a number that is negative or too large, wherever it is, in rows that do not count too."""
    rng = np.random.default_rng(levels)
    levels = min(levels, np.iinfo(dtype).max)
    y = rng.integers(-1, 3, size=9000).astype(np.int32)
    X = np.asarray(rng.integers(levels, size=(9000, 18)), dtype, order=order)
    X[1, 2] = levels - 1  # the largest is there
    limit = min(levels + 1, np.iinfo(dtype).max)
    sizes = np.zeros(18, np.int64)
    for rows in (9000, 40):
        columns = _core.Columns(X[:rows])
        count, size = _core.counts(columns, y[:rows], None, 3, sizes, limit)
        found = _core.counts_of_codes(columns, y[:rows], 3, sizes, limit)
        assert found is not None
        np.testing.assert_array_equal(found[0], count)
        np.testing.assert_array_equal(found[1], size)
        for i in (0, rows - 1, int(np.flatnonzero(y[:rows] < 0)[0])):
            for bad in (-1, -2, limit, np.iinfo(dtype).max):
                if np.iinfo(dtype).min <= bad and not 0 <= bad < limit:
                    kept, X[i, 17] = X[i, 17], bad
                    assert _core.counts_of_codes(columns, y[:rows], 3, sizes, limit) is None
                    X[i, 17] = kept


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("levels", [1, 8, 30])
@pytest.mark.parametrize("K", [1, 4, 16])
@pytest.mark.parametrize("gaps", ["", "rows", "codes", "both"])
def test_counts_of_bytes_by_bits(dtype, levels, K, gaps):
    """Columns of bytes, of which whole blocks of 512 rows are counted as sets; rows and codes that are missing."""
    rng = np.random.default_rng(levels)
    for n in (511, 512, 9000, 40_000):
        X = np.asfortranarray(rng.integers(levels, size=(n, 3)).astype(dtype))
        y = rng.integers(-1 if gaps in ("rows", "both") else 0, K, size=n).astype(np.int32)
        if gaps in ("codes", "both") and dtype == np.int8:
            X[rng.random(X.shape) < 0.1] = -1
            X[n // 2, 1] = -7
        for isa in (0, 1, 2):
            _core.limit_isa(isa)
            try:
                found, sizes = _core.counts(_core.Columns(X), y, None, K, np.full(3, levels, np.int64), 99)
            finally:
                _core.limit_isa(2)
            want = np.zeros((K, 3, levels))
            i, j = np.nonzero((X.astype(int) >= 0) & (y[:, None] >= 0))
            np.add.at(want, (y[i], j, X[i, j]), 1)
            assert sizes.tolist() == [levels] * 3
            np.testing.assert_array_equal(found, want.reshape(K, -1))
