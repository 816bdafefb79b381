"""Scatter matrices and Gaussian scores of the compiled core against slow, obvious NumPy in long double."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from tallybayes import _core

L = np.longdouble
LARGE = [(5000, 20, 4), (3000, 40, 300), (900, 230, 2), (2500, 150, 12), (600, 450, 2), (20000, 3, 2)]


@pytest.fixture(params=[0, 1, 2], ids=["base", "avx2", "avx512"])
def isa(request):
    _core.limit_isa(request.param)
    if _core.isa() != request.param:
        _core.limit_isa(2)
        pytest.skip("not on this processor")
    yield request.param
    _core.limit_isa(2)


def oracle(X, y, w, K):
    """Two passes over the complete rows, in long double."""
    X = np.asarray(X).astype(L)
    n, d = X.shape
    w = np.ones(n) if w is None else w
    counted = (y >= 0) & (w != 0)
    complete = ~np.isnan(X).any(axis=1)
    weight, mean, S = np.zeros(K, L), np.zeros((K, d), L), np.zeros((K, d, d), L)
    for c in range(K):
        rows = counted & complete & (y == c)
        wc, Xc = w[rows].astype(L), X[rows]
        weight[c] = wc.sum()
        if weight[c] > 0:
            mean[c] = Xc[0] + (wc[:, None] * (Xc - Xc[0])).sum(axis=0) / weight[c]
            Z = Xc - mean[c]
            S[c] = (Z * wc[:, None]).T @ Z
    return weight, mean, S, w[counted & ~complete].sum()


def check(X, y, w, K, rtol=1e-12, mean_rtol=1e-14, cols=None):
    """Entries of S are compared on the scale of the two columns' spreads, means on that of the column:
    that is what rounding can promise."""
    cols = _core.Columns(X) if cols is None else cols
    weight, mean, S, skipped = oracle(X, y, w, K)
    deviation = np.sqrt(np.einsum("kii->ki", S) / np.maximum(weight, 1e-300)[:, None])
    for pooled in (True, False):
        n_, mean_, low_, S_, skipped_ = _core.scatter(cols, y, w, K, pooled)
        want = S.sum(axis=0, keepdims=True) if pooled else S
        spread = np.sqrt(np.einsum("kii->ki", want).astype(float))
        scale = spread[:, :, None] * spread[:, None, :]
        assert (S_.shape, S_.dtype) == (want.shape, np.float64)
        np.testing.assert_allclose(n_, weight.astype(float), rtol=1e-13)
        assert np.all(np.abs(mean_ - mean) <= mean_rtol * (np.abs(mean) + deviation))
        assert np.all(np.abs(low_) <= np.finfo(float).eps * np.abs(mean_))
        # the oracle has 11 bits more than a double, the pair 53
        assert np.all(np.abs((mean_ - mean) + low_) <= mean_rtol * deviation + np.finfo(L).eps * np.abs(mean) * 4)
        assert np.all(np.abs(S_ - want) <= rtol * scale)
        np.testing.assert_array_equal(S_, S_.transpose(0, 2, 1))
        np.testing.assert_allclose(skipped_, float(skipped))


def data(n, d, K, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n).astype(np.int32)
    X = rng.normal(size=(n, d)) @ (rng.normal(size=(d, d)) / np.sqrt(max(d, 1))) + rng.normal(size=(K, d))[y]
    return X, y


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 7, 8, 11, 12, 13, 15, 16, 17, 23, 24, 25, 31, 37, 50])
def test_every_width(d):
    X, y = data(300, d, 3, d)
    check(X, y, None, 3)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 127, 128, 129, 257])
@pytest.mark.parametrize("K", [1, 3])
def test_few_rows(n, K):
    X, y = data(n, 6, K, n)
    check(X, y, None, K)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize(("n", "d", "K"), LARGE)
def test_many_rows_chunks_and_batches(n, d, K):
    X, y = data(n, d, K)
    check(X, y, None, K)


def test_weights_are_repetitions_and_zero_is_absence():
    X, y = data(2000, 9, 3)
    rng = np.random.default_rng(1)
    times = rng.integers(0, 4, 2000)
    X[times == 0] = np.where(rng.random((int((times == 0).sum()), 9)) < 0.5, np.nan, np.inf)
    w = times.astype(float)
    check(np.where(times[:, None] == 0, 0.0, X), y, w, 3, cols=_core.Columns(X))
    n, mean, _, S, skipped = _core.scatter(_core.Columns(X), y, w, 3, False)
    again = _core.scatter(_core.Columns(np.repeat(X, times, axis=0)), np.repeat(y, times), None, 3, False)
    np.testing.assert_allclose(n, again[0])
    np.testing.assert_allclose(mean, again[1], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(S, again[3], rtol=1e-11, atol=1e-9)
    assert skipped == 0.0


def test_real_weights():
    X, y = data(4000, 14, 3)
    check(X, y, np.random.default_rng(2).gamma(0.3, size=4000), 3)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_scales(scale):
    X, y = data(4000, 13, 3)
    check(X * scale, y, None, 3)
    check(X * scale ** np.linspace(-1, 1, 13), y, None, 3)


@pytest.mark.usefixtures("isa")
def test_large_offset():
    X, y = data(6000, 13, 3)
    X = X / X.std() + 1e10
    check(X, y, None, 3, rtol=1e-11, mean_rtol=1e-15)
    check(X, y, np.random.default_rng(0).random(6000), 3, rtol=1e-11, mean_rtol=1e-15)


def test_classes_far_apart_and_a_trend():
    X, y = data(6000, 5, 3)
    check(X + y[:, None] * 1e9, y, None, 3, rtol=1e-11)
    check(X + np.arange(6000)[:, None] * 10.0, y, None, 3)
    odd = X.copy()
    odd[:40] = 1e8  # the first rows are not like the others
    check(odd, y, None, 3, rtol=1e-11)


@pytest.mark.usefixtures("isa")
def test_constant_columns_and_one_row_classes_are_exactly_zero():
    X, y = data(3000, 13, 2)
    X[:, 3] = 0.1
    X[:, 12] = np.where(y == 0, 1e10 + 0.3, -7.7)
    y[77] = 2
    w = np.random.default_rng(0).random(3000) + 0.1
    for pooled in (True, False):
        for weights in (None, w):
            _, mean, _, S, _ = _core.scatter(_core.Columns(X), y, weights, 3, pooled)
            assert np.all(S[:, 3] == 0)
            assert np.all(S[:, :, 12] == 0)
            assert (mean[0, 3], mean[1, 12]) == (0.1, -7.7)
            np.testing.assert_array_equal(mean[2], X[77])
            if not pooled:
                assert np.all(S[2] == 0)


@pytest.mark.usefixtures("isa")
def test_rows_with_missing_values_are_left_out():
    X, y = data(5000, 11, 3)
    rng = np.random.default_rng(3)
    X[rng.random(X.shape) < 0.03] = np.nan
    y[rng.random(5000) < 0.1] = -1
    X[y == 2, 4] = np.nan
    check(X, y, None, 3)
    check(X, y, rng.integers(0, 3, 5000).astype(float), 3)


def test_large_matrices_with_missing_rows():
    X, y = data(1500, 200, 12)
    X[::7, 5] = np.nan
    check(X, y, None, 12)


def layouts(X):
    wide = np.zeros((X.shape[0], 2 * X.shape[1]), X.dtype)
    wide[:, ::2] = X
    raw = np.zeros(X.nbytes + 1, np.uint8)[1:].view(X.dtype).reshape(X.shape)
    raw[:] = X
    backward = np.ascontiguousarray(X[::-1])[::-1]
    return {
        "fortran": _core.Columns(np.asfortranarray(X)),
        "every second": _core.Columns(wide[:, ::2]),
        "rows apart": _core.Columns(np.repeat(X, 2, axis=0)[::2]),
        "backward": _core.Columns(backward),
        "list": _core.Columns([np.ascontiguousarray(c) for c in X.T]),
        "unaligned": _core.Columns(raw),
    }


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_layouts_and_types(dtype):
    X, y = data(3000, 14, 3)
    X = X.astype(dtype)
    check(X, y, None, 3)
    wanted = _core.scatter(_core.Columns(X), y, None, 3, False)
    for name, cols in layouts(X).items():
        for a, b in zip(_core.scatter(cols, y, None, 3, False), wanted, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=name)


def test_mixed_columns():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 500))
    columns = [a, rng.integers(0, 9, 500), b.astype(np.float32), rng.random(500) < 0.5]
    y = rng.integers(0, 2, 500).astype(np.int32)
    check(np.column_stack([c.astype(float) for c in columns]), y, None, 2, cols=_core.Columns(columns))


@pytest.mark.parametrize(("n", "d", "K"), [(20000, 12, 3), (4000, 200, 12)])
def test_the_same_bits_for_any_number_of_threads(n, d, K):
    X, y = data(n, d, K)
    X[::97, 3] = np.nan
    cols, w = _core.Columns(X), np.random.default_rng(0).random(n)
    answers = []
    for count in (1, 2, 5):
        with threadpool_limits(count):
            calls = [f(cols, y, w, K, p) for f in (_core.scatter, _core.pairwise_scatter) for p in (True, False)]
            answers.append([a for call in calls for a in call])
    for other in answers[1:]:
        for a, b in zip(answers[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("n", "d"), [(50, 3), (20000, 12), (3000, 500)])
def test_infinity_is_named_by_its_place(n, d):
    X, y = data(n, d, 3)
    X[n // 3, 2] = np.nan
    X[n - 2, 0] = np.inf
    X[n // 2, [1, 2]] = [-np.inf, np.inf]
    y[0] = -1
    X[0, 0] = np.inf
    for f in (_core.scatter, _core.pairwise_scatter):
        for pooled in (True, False):
            with pytest.raises(_core.BadValue) as e:
                f(_core.Columns(X), y, None, 3, pooled)
            assert e.value.args == ("infinite", n // 2, 1, -np.inf)


def test_overflow_is_named():
    X, y = data(100, 3, 2)
    X[40, 1] = 1e200
    for f in (_core.scatter, _core.pairwise_scatter):
        with pytest.raises(_core.BadValue) as e:
            f(_core.Columns(X), y, None, 2, False)
        assert e.value.args == ("overflow", 40, 1, 1e200)


def test_what_cannot_be_is_refused():
    X, y = data(10, 3, 2)
    cols = _core.Columns(X)
    for f in (_core.scatter, _core.pairwise_scatter):
        with pytest.raises(ValueError, match="class code 1"):
            f(cols, np.ones(10, np.int32), None, 1, True)
        with pytest.raises(ValueError, match="weight of row 0"):
            f(cols, y, np.full(10, -1.0), 2, True)
        with pytest.raises(ValueError, match="weight of row 0"):
            f(cols, y, np.full(10, np.nan), 2, True)
        with pytest.raises(ValueError, match="length"):
            f(cols, y[:5], None, 2, True)
        with pytest.raises(ValueError, match="length"):
            f(cols, y, np.ones(3), 2, True)


def test_no_columns():
    y = np.array([0, 1, 1, -1, 0], np.int32)
    n, mean, _, S, skipped = _core.scatter(_core.Columns(np.zeros((5, 0))), y, None, 2, False)
    assert list(n) == [2, 2]
    assert (mean.shape, S.shape, skipped) == ((2, 0), (2, 0, 0), 0)


def test_no_classes():
    y = np.array([-1, -1], np.int32)
    n, mean, _, S, _ = _core.scatter(_core.Columns(np.zeros((2, 3))), y, None, 0, True)
    assert (n.shape, mean.shape) == ((0,), (0, 3))
    np.testing.assert_array_equal(S, np.zeros((1, 3, 3)))


def pairwise_oracle(X, y, w, K):
    X = X.astype(L)
    d = X.shape[1]
    w = np.ones(len(y)) if w is None else w
    n, mean, S = (np.zeros((K, d, d), L) for _ in range(3))
    for c in range(K):
        for i in range(d):
            for j in range(d):
                rows = (y == c) & (w != 0) & ~np.isnan(X[:, i]) & ~np.isnan(X[:, j])
                wr, a, b = w[rows].astype(L), X[rows, i], X[rows, j]
                n[c, i, j] = wr.sum()
                if wr.sum() > 0:
                    mean[c, i, j] = (wr * (a - a[0])).sum() / wr.sum() + a[0]
                    other = (wr * (b - b[0])).sum() / wr.sum() + b[0]
                    S[c, i, j] = (wr * (a - mean[c, i, j]) * (b - other)).sum()
    return n, mean, S


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("offset", [0.0, 1e10])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "d", "K"), [(60, 3, 2), (3000, 13, 3), (0, 2, 1), (1, 1, 1)])
def test_pairwise(offset, weighted, n, d, K):
    X, y = data(n, d, K)
    rng = np.random.default_rng(5)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[: n // 20] = np.nan
    if n > 100:
        X[y == 1, 2] = np.nan
        X[:, 4] = np.where(np.isnan(X[:, 4]), np.nan, 0.1)
    X += offset
    y[rng.random(n) < 0.1] = -1
    w = rng.integers(0, 3, n) * 0.7 if weighted else None
    want = pairwise_oracle(X, y, w, K)
    got = _core.pairwise_scatter(_core.Columns(X), y, w, K, False)
    np.testing.assert_allclose(got[0], want[0].astype(float), rtol=1e-13)
    np.testing.assert_allclose(got[1], want[1].astype(float), rtol=1e-13, atol=1e-14)
    assert np.all(np.abs((got[1] - want[1]) + got[2]) <= 1e-13 + np.finfo(L).eps * np.abs(want[1]) * 4)
    np.testing.assert_allclose(got[3], want[2].astype(float), rtol=1e-10, atol=1e-11 * max(n, 1))
    if n > 100:
        assert np.all(got[3][:, 4] == 0)
    pooled = _core.pairwise_scatter(_core.Columns(X), y, w, K, True)
    np.testing.assert_array_equal(pooled[0], got[0])
    np.testing.assert_array_equal(pooled[1], got[1])
    np.testing.assert_array_equal(pooled[2], got[2])
    np.testing.assert_allclose(pooled[3], got[3].sum(axis=0, keepdims=True), rtol=1e-13, atol=1e-300)


def test_pairwise_of_complete_data_is_the_scatter():
    X, y = data(4000, 30, 4)
    n, mean, _, S, _ = _core.scatter(_core.Columns(X), y, None, 4, False)
    n_, mean_, _, S_ = _core.pairwise_scatter(_core.Columns(X), y, None, 4, False)
    np.testing.assert_array_equal(n_, np.broadcast_to(n[:, None, None], n_.shape))
    np.testing.assert_allclose(mean_, np.broadcast_to(mean[:, :, None], mean_.shape), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(S_, S, rtol=1e-11, atol=1e-9)


def quadratic_oracle(X, mean, low, factor, constant):
    X, mean, factor = X.astype(L), mean.astype(L), factor.astype(L)
    out = np.empty((len(X), len(mean)), L)
    for c in range(len(mean)):
        z = (X - mean[c] - low[c]) @ np.tril(factor[c if len(factor) > 1 else 0]).T
        out[:, c] = constant[c] - (z * z).sum(axis=1) / 2
    return out.astype(float)


def check_quadratic(X, m):
    got = _core.quadratic_scores(_core.Columns(X), *m)
    np.testing.assert_allclose(got, quadratic_oracle(X, *m), rtol=1e-12, atol=1e-12)
    return got


def model(d, K, shared, seed=0):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(1 if shared else K, d, d)) / np.sqrt(max(d, 1))
    mean, low = rng.normal(size=(K, d)), 1e-3 * rng.normal(size=(K, d))
    return mean, low, factor, rng.normal(size=K)  # what is above the diagonal must not matter


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 17, 24, 31, 50])
def test_quadratic_scores_every_width(d, shared):
    X, _ = data(150, d, 2)
    m = model(d, 3, shared)
    check_quadratic(X, m)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9, 31, 33, 63, 64, 65, 129])
@pytest.mark.parametrize("K", [1, 2, 6, 7])
def test_quadratic_scores_every_height(n, K, shared):
    X, _ = data(n, 5, 2)
    m = model(5, K, shared)
    check_quadratic(X, m)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("shared", [False, True])
def test_quadratic_scores_layouts_missing_threads(shared):
    X, _ = data(20000, 9, 2)
    m = model(9, 3, shared)
    X[::1001, 4] = np.nan
    X[5, :] = np.nan
    got = check_quadratic(X, m)
    for cols in layouts(X).values():
        np.testing.assert_array_equal(_core.quadratic_scores(cols, *m), got)
    with threadpool_limits(1):
        np.testing.assert_array_equal(_core.quadratic_scores(_core.Columns(X), *m), got)
    check_quadratic(X.astype(np.float32), m)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("shared", [False, True])
def test_quadratic_scores_with_a_large_offset(shared):
    X, _ = data(500, 9, 2)
    mean, low, factor, constant = model(9, 3, shared)
    check_quadratic(X + 1e10, (mean + 1e10, low, factor, constant))


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("K", [1, 2, 5, 6, 7, 12, 13])
def test_affine_scores(K):
    rng = np.random.default_rng(K)
    for n, d in [(0, 3), (1, 1), (70, 5), (131, 17), (20000, 8)]:
        X = rng.normal(size=(n, d)) + 1e10
        weight, bias, centre = rng.normal(size=(K, d)), rng.normal(size=K), np.full(d, 1e10)
        X[3::50, d - 1] = np.nan
        want = ((X.astype(L) - centre) @ weight.T.astype(L) + bias).astype(float)
        got = _core.affine_scores(_core.Columns(X), weight, bias, centre)
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
        for cols in layouts(X).values():
            np.testing.assert_array_equal(_core.affine_scores(cols, weight, bias, centre), got)


def test_scores_name_the_first_infinity():
    X, _ = data(30000, 7, 2)
    X[29000, 0] = np.inf
    X[20001, [3, 5]] = [np.inf, -np.inf]
    X[20000, 2] = np.nan
    cols = _core.Columns(X)
    calls = (
        lambda: _core.quadratic_scores(cols, *model(7, 2, False)),
        lambda: _core.quadratic_scores(cols, *model(7, 2, True)),
        lambda: _core.affine_scores(cols, np.ones((2, 7)), np.zeros(2), np.zeros(7)),
    )
    for call in calls:
        with pytest.raises(_core.BadValue) as e:
            call()
        assert e.value.args == ("infinite", 20001, 3, np.inf)


def test_scores_refuse_wrong_shapes():
    cols = _core.Columns(np.zeros((4, 3)))
    mean, low, factor, constant = model(3, 2, False)
    wrong = [
        (mean[:, :2].copy(), low, factor, constant),
        (mean, low[:1].copy(), factor, constant),
        (mean, low, factor[:, :2].copy(), constant),
        (mean, low, factor, constant[:1]),
        (np.zeros((3, 3)), np.zeros((3, 3)), factor, np.zeros(3)),
    ]
    for bad in wrong:
        with pytest.raises(ValueError, match="must be"):
            _core.quadratic_scores(cols, *bad)
    with pytest.raises(ValueError, match="must be"):
        _core.affine_scores(cols, mean, constant, np.zeros(2))


def marginal_oracle(x, mean, root, K):
    """log p of the columns that are there, by the inverse of their covariance, in long double as far as NumPy goes."""
    out = np.zeros((len(x), K))
    for k in range(K):
        sigma = (root[k].astype(L) @ root[k].astype(L).T).astype(float)
        for i, row in enumerate(x):
            here = np.flatnonzero(~np.isnan(row) & (np.diag(root[k]) != 0))
            if len(here):
                own, away = sigma[np.ix_(here, here)], row[here] - mean[k, here]
                log_det = np.linalg.slogdet(2 * np.pi * own)[1]
                out[i, k] = -0.5 * (log_det + away @ np.linalg.solve(own, away))
    return out


@pytest.mark.parametrize("share", [0.05, 0.4, 0.8])
@pytest.mark.parametrize("d", [1, 4, 16, 37, 64, 67])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.usefixtures("isa")
def test_marginal_scores_integrate_out_what_is_missing(shared, d, share):
    rng = np.random.default_rng(d)
    n, K = 300, 3
    root = np.tril(rng.normal(size=(1 if shared else K, d, d))) / 4 + np.eye(d)
    unit = 2.0 ** rng.integers(-300, 300, d)  # no square of these is a number
    if d > 4:
        root[:, 2], root[:, :, 2] = 0.0, 0.0  # a column that never varies
    varies = np.flatnonzero(np.diag(root[0]))
    factor = np.zeros_like(root)
    for k, own in enumerate(root):
        factor[k][np.ix_(varies, varies)] = np.tril(np.linalg.inv(own[np.ix_(varies, varies)]))
    mean = rng.normal(size=(K, d)) * 3
    x = rng.normal(size=(n, d)) * 3
    x[rng.random((n, d)) < share] = np.nan
    every = np.repeat(root, K, axis=0) if shared else root
    want = marginal_oracle(x, mean, every, K) - np.where(np.isnan(x), 0, np.log(unit))[:, varies].sum(axis=1)[:, None]
    log_det = np.array([np.log(np.abs(np.diag(own))[varies]).sum() + np.log(unit)[varies].sum() for own in every])
    constant = -log_det - 0.5 * len(varies) * np.log(2 * np.pi)
    p = mean * unit, np.zeros((K, d)), factor / unit, constant
    rows = np.arange(n)[::-1].copy()
    got = _core.marginal_scores(_core.Columns(x * unit), rows, *p)
    np.testing.assert_allclose(got, want[::-1], rtol=1e-10, atol=1e-10)
    for layout in (np.asfortranarray(x * unit), [np.ascontiguousarray(column) for column in (x * unit).T]):
        np.testing.assert_array_equal(_core.marginal_scores(_core.Columns(layout), rows, *p), got)
    with threadpool_limits(1):
        np.testing.assert_array_equal(_core.marginal_scores(_core.Columns(x * unit), rows, *p), got)
    np.testing.assert_array_equal(_core.marginal_scores(_core.Columns(x * unit), rows[7:8].copy(), *p), got[7:8])


def test_marginal_scores_far_away_and_of_rows_that_are_not_there():
    x = np.array([[1e200, np.nan, 0.0], [np.nan, np.nan, np.nan], [np.nan, np.nan, 1e308]])
    for factors in (1, 2):
        p = np.zeros((2, 3)), np.zeros((2, 3)), np.tril(np.ones((factors, 3, 3))), np.zeros(2)
        got = _core.marginal_scores(_core.Columns(x), np.arange(3), *p)
        assert (got[[0, 2]] == -np.inf).all()
        assert (got[1] == 0).all()
        assert _core.marginal_scores(_core.Columns(x), np.empty(0, np.int64), *p).shape == (0, 2)
    for row in (-1, 3):
        with pytest.raises(ValueError, match="rows"):
            _core.marginal_scores(_core.Columns(x), np.array([row]), *p)
