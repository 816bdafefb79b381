"""Kernel densities in the compiled core: the tally, its laws, bandwidths, and the log density."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tallybayes import _core
from tests.quick import examples


# ---- slow and obvious -------------------------------------------------------------------------------------
def tally_oracle(X, y, w, K):
    start, value, weight = [0], [], []
    for j in range(X.shape[1]):
        for c in range(K):
            rows = (y == c) & ~np.isnan(X[:, j]) & (w != 0)
            distinct, place = np.unique(X[rows, j] + 0.0, return_inverse=True)
            value += list(distinct)
            weight += list(np.bincount(place, w[rows], len(distinct)))
            start.append(len(value))
    return np.array(start), np.array(value, float), np.array(weight, float)


def log_density_oracle(x, v, w, h):
    """log sum_i w_i phi((x - v_i) / h) / (h sum w), as exactly as long double holds it."""
    x, v, w, h = (np.asarray(a, np.longdouble) for a in (x, v, w, h))
    out = np.empty(len(x), np.longdouble)
    for i, q in enumerate(x):
        e = -(((q - v) / h) ** 2) / 2
        top = e.max()
        out[i] = top + np.log((w * np.exp(e - top)).sum())
    return out - np.log(w.sum()) - np.log(h) - np.log(2 * np.longdouble(np.pi)) / 2


# ---- helpers -----------------------------------------------------------------------------------------------
def tally(X, y=None, w=None, K=1):
    X = np.asarray(X)
    X = X[:, None] if X.ndim == 1 else X
    y = np.zeros(len(X), np.int32) if y is None else np.asarray(y, np.int32)
    return _core.kernel_statistics(_core.Columns(X), y, w, K)


def log_density(x, t, h, K=1, cells=True):
    x = np.asarray(x)
    h = np.full((K, (len(t[0]) - 1) // K), h, float)
    tables = _core.kernel_tables(*t, h, K, cells)
    return scored(x[:, None] if x.ndim == 1 else x, t, tables, K)


def scored(x, t, tables, K):
    scorer = _core.Scorer(len(x), np.zeros(K))
    scorer.kernel(_core.Columns(x), *t, *tables)
    return scorer.joint()


def same(a, b):
    for p, q in zip(a, b, strict=True):
        np.testing.assert_array_equal(p, q)
        assert p.dtype == q.dtype


def close(got, want, tolerance=1e-8):
    """1e-8 in the density, or a few units in the last place of its logarithm."""
    assert not np.isnan(got).any()
    number = want > -1.7e308
    assert (got[~number] < -1.6e308).all()
    got, want = got[number], want[number]
    error = np.abs(got.astype(np.longdouble) - want)
    np.testing.assert_array_less(error, tolerance + 8 * np.finfo(float).eps * np.abs(want))


def places(v, h, rng, n=60):
    """Query points amid the values, between them, and far out on both sides."""
    far = h * np.exp(rng.uniform(-3, 14, n))
    return np.concatenate(
        [
            rng.choice(v, n),
            rng.choice(v, n) + h * rng.normal(size=n),
            rng.uniform(v.min(), v.max(), n),
            v.max() + far,
            v.min() - far,
        ]
    )


# ---- the tally ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "u1"])
def test_tally_is_the_weighted_multiset(weighted, dtype):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 40, (500, 3)).astype(dtype)
    if dtype[0] == "f":
        X = X - 20
        X[rng.random(X.shape) < 0.1] = np.nan
        X[rng.random(X.shape) < 0.05] = -0.0
    y = rng.integers(-1, 4, 500).astype(np.int32)
    w = rng.integers(0, 3, 500).astype(float) if weighted else None
    want = tally_oracle(X.astype(float), y, np.ones(500) if w is None else w, 5)
    for layout in (X, np.asfortranarray(X), X[::-1][::-1]):
        same(tally(layout, y, w, 5), want)


def test_tally_of_many_rows_does_not_depend_on_threads_or_order():
    rng = np.random.default_rng(2)
    X, y, w = (
        rng.normal(size=(20000, 4)),
        rng.integers(0, 3, 20000).astype(np.int32),
        rng.integers(1, 9, 20000) / 4,
    )
    order = rng.permutation(20000)
    same(tally(X, y, w, 3), tally(X[order], y[order], w[order], 3))
    same(tally(X, y, w, 3), tally_oracle(X, y, w, 3))


def test_empty_tallies():
    for X in (np.empty((0, 2)), np.full((5, 2), np.nan)):
        start, value, weight = t = tally(X, K=3)
        assert start.tolist() == [0] * 7
        assert len(value) == len(weight) == 0
        assert (_core.kernel_bandwidth(*t, "silverman", 3) == 0).all()
        np.testing.assert_array_equal(log_density(np.zeros((4, 2)), t, 1.0, 3), np.zeros((4, 3)))
    assert tally(np.empty((3, 0)))[0].tolist() == [0]


def test_infinity_is_refused_at_the_first_row():
    X = np.zeros((40000, 2))
    X[[30000, 700, 700], [0, 1, 0]] = np.inf, -np.inf, np.inf
    with pytest.raises(_core.BadValue) as error:
        tally(X)
    assert error.value.args == ("infinite", 700, 0, np.inf)
    w = np.ones(len(X))
    w[700] = 0
    with pytest.raises(_core.BadValue) as error:
        tally(X, w=w)
    assert error.value.args == ("infinite", 30000, 0, np.inf)
    y = np.zeros(len(X))
    y[[700, 30000]] = -1
    assert tally(X, y)[1].tolist() == [0, 0]
    with pytest.raises(_core.BadValue) as error:
        log_density(X, tally([[1.0, 2.0], [2.0, 3.0]]), 1.0)
    assert error.value.args == ("infinite", 700, 0, np.inf)


def test_arguments_that_do_not_fit_are_refused():
    t = tally([1.0, 2.0])
    with pytest.raises(ValueError, match="length"):
        tally([1.0, 2.0], [0])
    with pytest.raises(ValueError, match="length"):
        tally([1.0, 2.0], w=np.ones(3))
    with pytest.raises(ValueError, match="class"):
        tally([1.0, 2.0], [0, 1])
    with pytest.raises(ValueError, match="start"):
        _core.kernel_combine(np.array([0, 5]), t[1], t[2], *t, 1)
    with pytest.raises(ValueError, match="entries"):
        _core.kernel_combine(*t, *tally([1.0], K=2), 1)
    with pytest.raises(ValueError, match="sign"):
        _core.kernel_combine(*t, *t, 2)
    with pytest.raises(ValueError, match="silverman"):
        _core.kernel_bandwidth(*t, "guess", 1)
    for h in (0.0, -1.0, np.nan, np.inf, 1e-310):
        with pytest.raises(ValueError, match="bandwidth"):
            log_density([1.0], t, h)
    tables = _core.kernel_tables(*t, np.ones((1, 1)), 1)
    with pytest.raises(ValueError, match="columns"):
        scored(np.ones((1, 2)), t, tables, 1)
    with pytest.raises(ValueError, match="fit"):
        scored(np.ones((1, 1)), t, (tables[0], np.array([0, 4]), *tables[2:]), 1)


# ---- laws of adding ----------------------------------------------------------------------------------------
numbers = st.sampled_from([0.0, -0.0, 1.0, 2.5, -3.0, 1e300, -1e-300, float("nan")]) | st.floats(-5, 5)


@st.composite
def table(draw, K=3):
    n = draw(st.integers(0, 30))
    X = draw(hnp.arrays(float, (n, 2), elements=numbers))
    y = draw(hnp.arrays(np.int32, n, elements=st.integers(-1, K - 1)))
    w = draw(st.none() | hnp.arrays(float, n, elements=st.integers(0, 4).map(float)))
    return X, y, w


@given(table(), table())
def test_merging_is_the_tally_of_both_and_subtracting_undoes_it(a, b):
    ones = [np.ones(len(t[0])) if t[2] is None else t[2] for t in (a, b)]
    ta, tb = tally(*a, 3), tally(*b, 3)
    both = _core.kernel_combine(*ta, *tb, 1)
    same(both, tally(np.vstack([a[0], b[0]]), np.r_[a[1], b[1]], np.r_[ones[0], ones[1]], 3))
    same(both, _core.kernel_combine(*tb, *ta, 1))
    same(_core.kernel_combine(*both, *tb, -1), ta)
    same(_core.kernel_combine(*ta, *ta, -1), (np.zeros(7, np.int64), np.empty(0), np.empty(0)))


@given(table(), st.randoms(use_true_random=False))
def test_permuting_rows_changes_nothing(a, random):
    order = list(range(len(a[0])))
    random.shuffle(order)
    same(tally(*a, 3), tally(a[0][order], a[1][order], None if a[2] is None else a[2][order], 3))


def test_subtracting_what_is_not_there_is_refused():
    one, two, other = tally([1.0, 2.0]), tally([1.0, 1.0, 2.0]), tally([3.0])
    for b in (two, other):
        with pytest.raises(ValueError, match="not all there"):
            _core.kernel_combine(*one, *b, -1)


def test_subtracting_fractions_in_another_order_leaves_no_dust():
    w = np.array([0.1, 0.2, 0.3, 0.7, 1e5, 1e-3])
    whole, reverse = tally(np.ones(6), w=w), tally(np.ones(6), w=w[::-1].copy())
    assert len(_core.kernel_combine(*whole, *reverse, -1)[1]) == 0
    assert len(_core.kernel_combine(*reverse, *whole, -1)[1]) == 0


# ---- bandwidths --------------------------------------------------------------------------------------------
def bandwidth_oracle(x, rule):
    n, sd = len(x), np.std(x, ddof=1)
    if rule == "john-langley":
        return (x.max() - x.min()) / np.sqrt(n)
    if rule == "scott":
        return 1.06 * sd * n**-0.2
    iqr = np.subtract(*np.quantile(x, [0.75, 0.25])) / 1.34
    return 0.9 * (min(sd, iqr) or sd) * n**-0.2


@pytest.mark.parametrize("rule", ["silverman", "scott", "john-langley"])
def test_bandwidths_are_those_of_the_repeated_values(rule):
    rng = np.random.default_rng(3)
    for n in (2, 3, 4, 7, 50, 1001):
        for x in (
            rng.normal(size=n),
            rng.integers(0, 4, n).astype(float),
            np.r_[np.zeros(9 * n), rng.normal(size=n)],
        ):
            t = tally(x)
            if len(t[1]) > 1:
                np.testing.assert_allclose(_core.kernel_bandwidth(*t, rule, 1), bandwidth_oracle(x, rule), rtol=1e-12)
    w = rng.integers(1, 5, 200)
    x = rng.normal(size=200)
    h = _core.kernel_bandwidth(*tally(x, w=w.astype(float)), rule, 1)
    np.testing.assert_allclose(h, bandwidth_oracle(np.repeat(x, w), rule), rtol=1e-12)
    for scale in (1e-300, 1e-12, 1e12, 1e300, 2e305):
        np.testing.assert_allclose(
            _core.kernel_bandwidth(*tally(x * scale, w=w.astype(float)), rule, 1) / scale, h, rtol=1e-12
        )
    np.testing.assert_allclose(_core.kernel_bandwidth(*tally(x + 1e10, w=w.astype(float)), rule, 1), h, rtol=1e-5)


def test_silverman_by_hand():
    # Quartiles 2.5 and 14 (type 7); and where they coincide, the standard deviation, as bw.nrd0 in R.
    h = _core.kernel_bandwidth(*tally([1.0, 2, 4, 8, 16, 32]), "silverman", 1)
    np.testing.assert_allclose(h, 0.9 * 11.5 / 1.34 * 6**-0.2)
    sd = np.std([0, 0, 0, 0, 0, 0, 0, 7], ddof=1)
    np.testing.assert_allclose(_core.kernel_bandwidth(*tally([0.0] * 7 + [7.0]), "silverman", 1), 0.9 * sd * 8**-0.2)


@pytest.mark.parametrize("rule", ["silverman", "scott", "john-langley"])
def test_one_distinct_value_has_bandwidth_zero(rule):
    assert _core.kernel_bandwidth(*tally([7.0, 7.0, 7.0]), rule, 1)[0, 0] == 0
    assert _core.kernel_bandwidth(*tally([5e-324, 0.0]), rule, 1)[0, 0] == 0
    h = _core.kernel_bandwidth(*tally([-1.7e308, 1.7e308]), rule, 1)[0, 0]
    assert 5e307 < h < np.inf
    tiny = _core.kernel_bandwidth(*tally([1.0, 2.0], w=np.array([1e-9, 1e-9])), rule, 1)[0, 0]
    assert 0 < tiny < np.inf


def test_bandwidth_has_one_row_per_class():
    X = np.array([[0.0, 0], [1, 5], [0, 10], [3, 10]])
    h = _core.kernel_bandwidth(*tally(X, [0, 0, 1, 1], K=2), "john-langley", 2)
    np.testing.assert_allclose(h, np.array([[1, 5], [3, 0]]) / np.sqrt(2))


# ---- the log density ---------------------------------------------------------------------------------------
def normal(rng, n):
    return rng.normal(size=n)


SHAPES = {
    "normal": normal,
    "uniform": lambda rng, n: rng.random(n),
    "cauchy": lambda rng, n: rng.standard_cauchy(n),
    "lognormal": lambda rng, n: np.exp(3 * rng.normal(size=n)),
    "clusters": lambda rng, n: 1000.0 * rng.integers(0, 5, n) + 1e-3 * rng.normal(size=n),
    "whole numbers": lambda rng, n: rng.integers(0, 100, n).astype(float),
    "outlier": lambda rng, n: np.append(rng.normal(size=n - 1), 1e9),
    "two outliers": lambda rng, n: np.r_[-1e300, rng.normal(size=n - 2), 1e9],
    "offset": lambda rng, n: rng.normal(size=n) + 1e10,
    "one value": lambda rng, n: np.full(n, 3.0),  # noqa: ARG005
}


@pytest.mark.parametrize("width", [1e-9, 1e-3, 0.1, 1, 30, 1e9])
@pytest.mark.parametrize("n", [1, 2, 33, 200, 3000])
@pytest.mark.parametrize("shape", SHAPES)
def test_log_density_is_the_sum_of_all_bumps(shape, n, width):
    rng = np.random.default_rng(n)
    v = SHAPES[shape](rng, max(n, 2))[:n]
    w = rng.integers(1, 4, n) * 0.7
    t = tally(v, w=w)
    h = width * (
        _core.kernel_bandwidth(*tally(v[np.abs(v) < 1e6] if shape != "offset" else v), "silverman", 1)[0, 0] or 1.0
    )
    x = places(v, h, rng, 12)
    want = log_density_oracle(x, t[1], t[2], h)
    for cells in (True, False):
        close(log_density(x, t, h, cells=cells)[:, 0], want)


@pytest.mark.parametrize("isa", [0, 1, 2])
def test_every_instruction_set(isa):
    rng = np.random.default_rng(5)
    v = rng.normal(size=5000)
    t = tally(v)
    x = places(v, 0.1, rng)
    _core.limit_isa(isa)
    try:
        close(log_density(x, t, 0.1)[:, 0], log_density_oracle(x, t[1], t[2], 0.1))
    finally:
        _core.limit_isa(2)


def test_columns_and_classes_add_up_and_missing_values_add_nothing():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(3000, 3)), rng.integers(0, 2, 3000).astype(np.int32)
    t = tally(X, y, None, 4)  # nobody has class 2 or 3
    h = rng.uniform(0.1, 2, (4, 3))
    Q = rng.normal(size=(70, 3)) * 2
    Q[rng.random(Q.shape) < 0.2] = np.nan
    want = np.zeros((70, 4))
    for j in range(3):
        seen = ~np.isnan(Q[:, j])
        for c in range(2):
            want[seen, c] += log_density_oracle(Q[seen, j], X[y == c, j], np.ones((y == c).sum()), h[c, j])
    close(log_density(Q, t, h, 4), want)
    close(log_density(np.asfortranarray(Q), t, h, 4), want)
    f4 = Q.astype("f4")
    np.testing.assert_array_equal(log_density(f4, t, h, 4), log_density(f4.astype(float), t, h, 4))


def test_many_rows_give_the_bits_of_few_rows():
    rng = np.random.default_rng(7)
    t = tally(rng.normal(size=(5000, 2)), rng.integers(0, 3, 5000), None, 3)
    Q = rng.normal(size=(20000, 2))
    tables = _core.kernel_tables(*t, np.full((3, 2), 0.2), 3)
    got = scored(Q, t, tables, 3)
    for i in (0, 63, 64, 12345):
        np.testing.assert_array_equal(scored(Q[i : i + 1], t, tables, 3)[0], got[i])
    kept = pickle.loads(pickle.dumps((t, tables)))
    np.testing.assert_array_equal(scored(Q, kept[0], kept[1], 3), got)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e290])
def test_scale(scale):
    rng = np.random.default_rng(8)
    v = rng.normal(size=3000)
    x = places(v, 0.1, rng)
    close(
        log_density(x * scale, tally(v * scale), 0.1 * scale)[:, 0] + np.log(scale),
        log_density(x, tally(v), 0.1)[:, 0],
    )


def test_the_tail_is_a_parabola_as_far_as_doubles_go():
    for n in (5, 2000):
        v = np.linspace(-1, 1, n)
        t = tally(v)
        for far in (1e3, 1e6, 1e12, 1e100, 1e153):
            u = far - 1
            want = -u * u / 2 - np.log(n) - np.log(2 * np.pi) / 2
            got = log_density(np.array([far, -far]), t, 1.0)[:, 0]
            np.testing.assert_allclose(got, want, rtol=1e-14 if far > 1e10 else 1e-3 / far)
    assert log_density([1.7e308], t, 1.0)[0, 0] == -np.inf


def test_the_end_of_the_range():
    big = 1.79e308
    t = tally(np.r_[-big, big])
    close(
        log_density(np.array([-big, 0.0, big]), t, big)[:, 0],
        log_density_oracle([-big, 0, big], t[1], t[2], big),
    )
    v = np.linspace(-1, 1, 501) * big
    t = tally(v)
    x = np.array([-big, -1e307, 0, 3.0, big])
    for h in (1e308, 1e306, 1e300):
        close(log_density(x, t, h)[:, 0], log_density_oracle(x, t[1], t[2], h))
    t = tally(np.arange(200) * 5e-324)
    close(
        log_density(np.array([0.0, 1e-322, 1e-307]), t, 4.5e-308)[:, 0],
        log_density_oracle([0, 1e-322, 1e-307], t[1], t[2], 4.5e-308),
    )
    assert not np.isnan(log_density(np.array([0.0, 5e-324, 1e-300, 1.0, 1e308]), t, 4.5e-308)).any()


def test_midway_between_far_clusters_both_count():
    """Two tight clusters 2e6 bandwidths apart: log f bends within 1e-6 bandwidths, and both matter there."""
    v = np.r_[np.linspace(-1e-9, 1e-9, 300) - 1e6, np.linspace(-1e-9, 1e-9, 300) + 1e6]
    x = np.array([0.0, 1e-7, -1e-7, 1e-6, 3e-6, 1e-5, 1.0])
    t = tally(v)
    got = log_density(x, t, 1.0)[:, 0]
    want = log_density_oracle(x, t[1], t[2], 1.0)
    np.testing.assert_allclose(got.astype(np.longdouble) - want, 0, atol=3e-4)  # log f is -5e11 here


def test_an_outlier_does_not_cost_memory():
    v = np.append(np.random.default_rng(9).normal(size=20000), 1e9)
    t = tally(v)
    h = _core.kernel_bandwidth(*t, "silverman", 1)
    assert _core.kernel_tables(*t, h, 1)[3].nbytes < 100_000


@pytest.mark.parametrize("n", [40, 300, 2000])
def test_memory_stays_in_proportion_to_the_tally(n):
    rng = np.random.default_rng(n)
    for v in (
        np.sort(rng.normal(size=n)),
        np.repeat(np.arange(n // 35 + 1) * 1e6, 35)[:n] + 1e-7 * rng.random(n),
    ):
        t = tally(v)
        for h in 10.0 ** np.arange(-12, 13):
            assert len(_core.kernel_tables(*t, np.array([[h]]), 1)[2]) <= len(t[1]) + 64


@settings(max_examples=examples(60))
@given(
    hnp.arrays(float, st.integers(1, 120), elements=st.floats(-10, 10) | st.floats(-1e6, 1e6)),
    st.floats(-4, 3).map(lambda e: 10.0**e),
    st.integers(0, 2**32 - 1),
)
def test_any_values(v, h, seed):
    rng = np.random.default_rng(seed)
    w = 10.0 ** rng.uniform(-9, 9, len(v))
    t = tally(v, w=w)
    x = places(v, h, rng, 10)
    close(log_density(x, t, h)[:, 0], log_density_oracle(x, t[1], t[2], h))


@given(table(), hnp.arrays(float, (5, 2), elements=numbers), st.sampled_from([1e-300, 1e-9, 1.0, 1e9, 1e300]))
def test_never_nan(a, Q, h):
    got = log_density(Q, tally(*a, 3), h, 3)
    assert not np.isnan(got).any()
    assert (got < np.inf).all()
