"""_core.Scorer against slow, obvious NumPy: every part, every answer, every instruction set."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.special import gammaln, logsumexp

from tallybayes import _core
from tests.quick import examples

INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]
SHAPES = [(0, 3, 2), (1, 1, 1), (1, 4, 3), (63, 5, 2), (64, 9, 4), (65, 57, 5), (200, 113, 7), (130, 3, 27)]


@pytest.fixture(params=[0, 1, 2], ids=["base", "avx2", "avx512"], autouse=True)
def isa(request):
    """Each test runs with each instruction set that this processor has."""
    _core.limit_isa(request.param)
    if _core.isa() != request.param:
        _core.limit_isa(2)
        pytest.skip("not on this processor")
    yield
    _core.limit_isa(2)


def layouts(X):
    """The same table in every memory order."""
    yield "rows", _core.Columns(np.ascontiguousarray(X))
    yield "columns", _core.Columns(np.asfortranarray(X))
    wide = np.zeros((2 * X.shape[0] + 1, 3 * X.shape[1] + 1), X.dtype)
    wide[: 2 * X.shape[0] : 2, : 3 * X.shape[1] : 3] = X
    yield "strided", _core.Columns(wide[: 2 * X.shape[0] : 2, : 3 * X.shape[1] : 3])
    yield "reversed", _core.Columns(np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1])
    if X.shape[1]:
        yield "list", _core.Columns([X[:, j].copy() for j in range(X.shape[1])])


def log_prior(rng, K):
    p = rng.random(K) + 0.1
    return np.log(p / p.sum())


def gaussian(X, mean, var):
    """sum_j log N(x_j; mean, var) over what is there."""
    X = np.asarray(X, float)
    out = np.zeros((len(X), len(mean)))
    for c in range(len(mean)):
        for j in range(X.shape[1]):
            if var[c, j] > 0:
                term = -0.5 * np.log(2 * np.pi * var[c, j]) - (X[:, j] - mean[c, j]) ** 2 / (2 * var[c, j])
                out[:, c] += np.where(np.isnan(X[:, j]), 0.0, term)
    return out


def discrete(X, sizes, table, other):
    start = np.concatenate([[0], np.cumsum(sizes)])
    out = np.zeros((len(X), table.shape[1]))
    for i in range(len(X)):
        for j in range(X.shape[1]):
            code = int(X[i, j])
            if 0 <= code < sizes[j]:
                out[i] += table[start[j] + code]
            elif code != -1 and other is not None:
                out[i] += other[j]
    return out


def linear(X, weight, bias):
    X = np.asarray(X, float)
    out = np.zeros((len(X), len(weight)))
    for i in range(len(X)):
        for j in range(X.shape[1]):
            if not np.isnan(X[i, j]):
                out[i] += bias[:, j]
                if X[i, j] != 0:
                    out[i] += X[i, j] * weight[:, j]
    return out


def posterior(joint, prior):
    """log posterior; the prior where no class is possible."""
    prior = np.broadcast_to(prior, joint.shape)
    dead = np.all(joint == -np.inf, axis=1, keepdims=True)
    joint = np.where(dead, prior, joint)
    if joint.size == 0:
        return joint
    below = joint - joint.max(axis=1, keepdims=True)  # first: a large common offset would eat the last digits
    return below - logsumexp(below, axis=1, keepdims=True)


def check_answers(scorer, joint, prior, shared=0.0, rtol=1e-12):
    """All five answers of a scorer against a log joint made by NumPy."""
    atol = 1e-13 + rtol * (np.abs(joint[np.isfinite(joint)]).max() if np.isfinite(joint).any() else 0.0)
    same = {"rtol": rtol, "atol": atol}
    expected = posterior(joint, prior)
    shift = np.broadcast_to(shared, len(joint))
    np.testing.assert_allclose(scorer.joint(), joint + shift[:, None], **same)
    np.testing.assert_allclose(scorer.log_proba(), expected, **same)
    proba = scorer.proba()
    np.testing.assert_allclose(proba, np.exp(expected), **same)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=4e-16 * joint.shape[1] + 1e-15)
    with np.errstate(invalid="ignore"):
        evidence = logsumexp(joint, axis=1) + shift if len(joint) else np.zeros(0)
    np.testing.assert_allclose(scorer.log_density(), evidence, **same)
    best = scorer.best()
    assert best.dtype == np.intp
    assert best.shape == (len(joint),)
    top = np.take_along_axis(expected, best[:, None], 1)[:, 0] if len(joint) else np.zeros(0)
    np.testing.assert_allclose(top, expected.max(axis=1, initial=-np.inf), **same)
    np.testing.assert_array_equal(best, np.argmax(scorer.log_proba(), axis=1))


# ---------------------------------------------------------------- Gaussian


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["f8", "f4", *INTEGERS])
def test_gaussian_every_type_and_layout(shape, dtype):
    n, d, K = shape
    rng = np.random.default_rng(n + d)
    X = (rng.normal(size=(n, d)) * 3 + 4).astype(dtype)
    mean, var = rng.normal(size=(K, d)), rng.random((K, d)) + 0.2
    prior = log_prior(rng, K)
    first = None
    for name, cols in layouts(X):
        scorer = _core.Scorer(n, prior)
        scorer.gaussian(cols, mean, var)
        joint = scorer.joint()
        if first is None:
            check_answers(scorer, prior + gaussian(X, mean, var), prior)
            first = joint
        np.testing.assert_array_equal(joint, first, err_msg=name)


@pytest.mark.parametrize("shape", SHAPES)
def test_gaussian_missing(shape):
    n, d, K = shape
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d))
    X[rng.random((n, d)) < 0.2] = np.nan
    X[: n // 3] = np.nan  # rows without anything: the prior
    X[:, 0] = np.nan
    mean, var = rng.normal(size=(K, d)), rng.random((K, d)) + 0.2
    prior = log_prior(rng, K)
    for _, cols in layouts(X):
        scorer = _core.Scorer(n, prior)
        scorer.gaussian(cols, mean, var)
        check_answers(scorer, prior + gaussian(X, mean, var), prior)
    np.testing.assert_allclose(scorer.log_proba()[: n // 3], np.broadcast_to(prior, (n // 3, K)), rtol=1e-14)


def test_a_row_does_not_depend_on_its_neighbours():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 70))
    X[rng.random(X.shape) < 0.003] = np.nan
    mean, var, prior = rng.normal(size=(3, 70)), rng.random((3, 70)) + 0.2, log_prior(rng, 3)
    terms = _core.gaussian_terms(mean, var)

    def answers(rows):
        scorer = _core.Scorer(len(rows), prior)
        scorer.gaussian(_core.Columns(rows), terms)
        return np.hstack([scorer.joint(), scorer.log_proba(), scorer.proba(), scorer.log_density()[:, None]])

    np.testing.assert_array_equal(answers(X), np.vstack([answers(X[i : i + 1]) for i in range(200)]))


def test_gaussian_terms():
    mean, var = np.array([[1.0, 5.0], [2.0, 5.0]]), np.array([[0.5, 0.0], [2.0, 0.0]])
    terms = _core.gaussian_terms(mean, var)
    np.testing.assert_allclose(terms[0], [[1, 0], [2, 0]])
    np.testing.assert_allclose(terms[1], [[1, 0], [0.5, 0]])
    np.testing.assert_allclose(terms[2], [[-0.5 * np.log(np.pi), 0], [-0.5 * np.log(4 * np.pi), 0]])
    with pytest.raises(ValueError, match="column 1: the variance is 0 in some classes only"):
        _core.gaussian_terms(mean, np.array([[0.5, 0.0], [2.0, 1.0]]))
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="column 0, class 1"):
            _core.gaussian_terms(mean, np.array([[0.5, 0.0], [bad, 0.0]]))


def test_constant_column_is_left_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 3))
    X[:, 1] = 7.0
    X[0, 1] = 1e308
    mean, var, prior = rng.normal(size=(2, 3)), np.ones((2, 3)), log_prior(rng, 2)
    mean[:, 1], var[:, 1] = 7.0, 0.0
    scorer = _core.Scorer(70, prior)
    scorer.gaussian(_core.Columns(X), mean, var)
    check_answers(scorer, prior + gaussian(X, mean, var), prior)


@pytest.mark.parametrize("shift", [1e6, 1e10, -1e10])
def test_offset_does_not_matter(shift):
    rng = np.random.default_rng(1)
    X = np.round(rng.normal(size=(100, 6)), 3)
    X = (X + shift) - shift  # what float64 can hold at that offset
    mean, var, prior = (
        np.round(rng.normal(size=(3, 6)) + shift, 3) - shift,
        rng.random((3, 6)) + 0.5,
        log_prior(rng, 3),
    )
    near, far = _core.Scorer(100, prior), _core.Scorer(100, prior)
    near.gaussian(_core.Columns(X), mean, var)
    far.gaussian(_core.Columns(X + shift), mean + shift, var)
    np.testing.assert_allclose(far.log_proba(), near.log_proba(), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("scale", [1e-150, 1e-12, 1e12, 1e150])
def test_scale_does_not_matter(scale):
    rng = np.random.default_rng(2)
    X, mean, var, prior = (
        rng.normal(size=(100, 6)),
        rng.normal(size=(3, 6)),
        rng.random((3, 6)) + 0.5,
        log_prior(rng, 3),
    )
    one, other = _core.Scorer(100, prior), _core.Scorer(100, prior)
    one.gaussian(_core.Columns(X), mean, var)
    other.gaussian(_core.Columns(X * scale), mean * scale, var * scale * scale)
    np.testing.assert_allclose(other.log_proba(), one.log_proba(), rtol=1e-10, atol=1e-10)


def test_tiny_variance():
    scorer = _core.Scorer(2, np.log([0.5, 0.5]))
    tiny = np.full((2, 1), 5e-324)
    scorer.gaussian(_core.Columns(np.array([[0.0], [1.0]])), np.array([[0.0], [1.0]]), tiny)
    np.testing.assert_array_equal(scorer.proba(), [[1, 0], [0, 1]])


@pytest.mark.parametrize("x", [1e200, -1e200, 1.7e308, 1e160])
def test_overflow_is_recomputed(x):
    """The nearer class wins, or at such a distance the wider one; never NaN."""
    X = np.array([[0.0, 0.0], [x, 0.0], [0.0, 0.0]])
    mean, var, prior = (
        np.array([[0.0, 0.0], [1.0, 0.0]]),
        np.array([[1.0, 1.0], [1e-3, 1.0]]),
        np.log([0.4, 0.6]),
    )
    scorer = _core.Scorer(3, prior)
    scorer.gaussian(_core.Columns(X), mean, var)
    assert scorer.best()[1] == 0
    np.testing.assert_array_equal(scorer.proba()[1], [1, 0])
    np.testing.assert_array_equal(scorer.log_proba()[1], [0, -np.inf])
    np.testing.assert_array_equal(scorer.joint()[1], [-np.inf, -np.inf])
    assert scorer.log_density()[1] == -np.inf
    assert np.isfinite(scorer.joint()[[0, 2]]).all()


def test_overflow_with_equal_classes():
    """So far out the prior is below the last digit of the log joint: equal classes come out equal."""
    scorer = _core.Scorer(1, np.log([0.25, 0.75]))
    scorer.gaussian(_core.Columns(np.array([[1e300]])), np.zeros((2, 1)), np.ones((2, 1)))
    np.testing.assert_array_equal(scorer.proba(), [[0.5, 0.5]])


def test_overflow_beside_an_impossible_class():
    """Class 1 would be nearer, but its code was never seen with it."""
    scorer = _core.Scorer(1, np.log([0.5, 0.5]))
    scorer.gaussian(_core.Columns(np.array([[1e200]])), np.array([[0.0], [1e200]]), np.ones((2, 1)))
    scorer.discrete(_core.Columns(np.array([[0]])), np.array([1]), np.array([[0.0, -np.inf]]))
    np.testing.assert_array_equal(scorer.proba(), [[1, 0]])


# ---------------------------------------------------------------- discrete


@pytest.mark.parametrize("K", [1, 2, 3, 4, 5, 8, 9, 20, 25, 49])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_discrete_every_type_and_layout(dtype, K):
    rng = np.random.default_rng(K)
    n, d = 71, 19
    sizes = rng.integers(1, 9, d)
    X = rng.integers(0, 2 if dtype == "?" else 10, (n, d)).astype(dtype)
    if np.dtype(dtype).kind == "i":
        X[rng.random((n, d)) < 0.1] = -1
        X[rng.random((n, d)) < 0.1] = -2
        X[5] = np.iinfo(dtype).min
    if dtype != "?":
        X[6] = np.iinfo(dtype).max
    table = np.log(rng.random((sizes.sum(), K)))
    table[rng.random(table.shape) < 0.02] = -np.inf
    other = np.log(rng.random((d, K)))
    prior = log_prior(rng, K)
    for given_other in (other, None):
        joint = prior + discrete(X, sizes, table, given_other)
        for _, cols in layouts(X):
            scorer = _core.Scorer(n, prior)
            scorer.discrete(cols, sizes, table, given_other)
            check_answers(scorer, joint, prior)


def test_discrete_mixed_types():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 7, (150, 12))
    kinds = ["u1", "u1", "i8", "i2", "i2", "u2", "?", "i4", "i1", "u8", "u4", "u4"]
    columns = [X[:, j].astype(k) for j, k in enumerate(kinds)]
    sizes = np.full(12, 5)
    table, other, prior = np.log(rng.random((60, 3))), np.log(rng.random((12, 3))), log_prior(rng, 3)
    scorer = _core.Scorer(150, prior)
    scorer.discrete(_core.Columns(columns), sizes, table, other)
    check_answers(scorer, prior + discrete(np.stack(columns, 1), sizes, table, other), prior)


def test_discrete_refuses_what_does_not_fit():
    scorer = _core.Scorer(2, np.zeros(2))
    cols = _core.Columns(np.zeros((2, 2), int))
    table = np.zeros((4, 2))
    for sizes in ([2, 3], [2, 1], [-1, 5], [2**62, 2**62], [4]):
        with pytest.raises(ValueError, match="sizes"):
            scorer.discrete(cols, np.array(sizes), table)
    with pytest.raises(TypeError, match="integers"):
        scorer.discrete(_core.Columns(np.zeros((2, 2))), np.array([2, 2]), table)
    with pytest.raises(ValueError, match="other"):
        scorer.discrete(cols, np.array([2, 2]), table, np.zeros((1, 2)))


# ---------------------------------------------------------------- binary, linear


@pytest.mark.parametrize("shape", SHAPES)
def test_binary(shape):
    n, d, K = shape
    rng = np.random.default_rng(d)
    X = rng.normal(size=(n, d))
    X[rng.random((n, d)) < 0.1] = np.nan
    X[rng.random((n, d)) < 0.1] = np.inf
    X[rng.random((n, d)) < 0.1] = 0.25
    no, yes = np.log(rng.random((d, K))), np.log(rng.random((d, K)))
    yes[rng.random((d, K)) < 0.01] = -np.inf
    prior = log_prior(rng, K)
    joint = np.tile(prior, (n, 1))
    for j in range(d):
        term = np.where((X[:, j] > 0.25)[:, None], yes[j], no[j])
        joint += np.where(np.isnan(X[:, j])[:, None], 0.0, term)
    for _, cols in layouts(X):
        scorer = _core.Scorer(n, prior)
        scorer.binary(cols, 0.25, no, yes)
        check_answers(scorer, joint, prior)


@pytest.mark.parametrize("dtype", ["f8", "f4", *INTEGERS])
@pytest.mark.parametrize("shape", SHAPES)
def test_linear(shape, dtype):
    n, d, K = shape
    rng = np.random.default_rng(n)
    X = rng.integers(0, 4, (n, d)).astype(dtype)
    weight, bias, prior = -rng.random((K, d)), rng.normal(size=(K, d)), log_prior(rng, K)
    shared = -gammaln(X.astype(float) + 1).sum(axis=1)
    for _, cols in layouts(X):
        scorer = _core.Scorer(n, prior)
        scorer.linear(cols, weight, bias, True)
        check_answers(scorer, prior + linear(X, weight, bias), prior, shared)


def test_linear_zeros_infinities_and_missing():
    rng = np.random.default_rng(8)
    X = rng.integers(0, 2, (300, 60)) * rng.integers(0, 300, (300, 60)) + 0.5 * rng.integers(0, 2, (300, 60))
    X[rng.random(X.shape) < 0.1] = np.nan
    weight = -rng.random((4, 60))
    weight[rng.random(weight.shape) < 0.05] = -np.inf  # a term never seen with a class
    bias, prior = rng.normal(size=(4, 60)), log_prior(rng, 4)
    shared = -np.nansum(gammaln(X + 1), axis=1)
    scorer = _core.Scorer(300, prior)
    scorer.linear(_core.Columns(X), weight, bias, True)
    check_answers(scorer, prior + linear(X, weight, bias), prior, shared)


def test_linear_overflow():
    scorer = _core.Scorer(2, np.log([0.5, 0.5]))
    scorer.linear(_core.Columns(np.array([[1e308], [1e308]])), np.array([[-5.0], [-4.0]]), np.zeros((2, 1)), True)
    np.testing.assert_array_equal(scorer.proba(), [[0, 1], [0, 1]])
    scorer = _core.Scorer(1, np.log([0.5, 0.5]))
    scorer.linear(_core.Columns(np.array([[1e308]])), np.array([[5.0], [4.0]]), np.zeros((2, 1)), False)
    np.testing.assert_array_equal(scorer.proba(), [[1, 0]])


# ---------------------------------------------------------------- sparse


@pytest.mark.parametrize("K", [1, 2, 3, 4, 7, 20, 24, 25, 61])
@pytest.mark.parametrize("values", ["f8", "f4", "i8", "i4"])
@pytest.mark.parametrize("indices", ["i4", "i8"])
def test_csr(values, indices, K):
    rng = np.random.default_rng(K)
    n, T = 131, 90
    X = rng.integers(0, 4, (n, T)) * (rng.random((n, T)) < 0.2)
    X[3] = X[40:60] = 0
    sparse = csr_matrix(X.astype(values))
    sparse.data[::17] = 0  # stored zeros
    X = sparse.toarray().astype(float)
    csr = _core.Csr(sparse.data, sparse.indices.astype(indices), sparse.indptr.astype(indices), T)
    weight, bias, prior = -rng.random((T, K)), rng.normal(size=K), log_prior(rng, K)
    weight[rng.random(weight.shape) < 0.01] = -np.inf
    joint = np.tile(prior + bias, (n, 1))
    present = joint.copy()
    for i in range(n):
        for t in np.flatnonzero(X[i]):
            joint[i] += X[i, t] * weight[t]
        for t in np.flatnonzero(X[i] > 1):
            present[i] += weight[t]
    scorer = _core.Scorer(n, prior)
    scorer.csr(csr, weight, bias, None, True)
    check_answers(scorer, joint, prior, -gammaln(X + 1).sum(axis=1))
    scorer = _core.Scorer(n, prior)
    scorer.csr(csr, weight, bias, 1.0, False)
    check_answers(scorer, present, prior)


def test_csr_overflow():
    sparse = csr_matrix(np.array([[1e308, 0.0], [0.0, 1.0]]))
    scorer = _core.Scorer(2, np.log([0.5, 0.5]))
    scorer.csr(
        _core.Csr(sparse.data, sparse.indices, sparse.indptr, 2),
        np.array([[-9.0, -8.0], [-1.0, -2.0]]),
        np.zeros(2),
    )
    np.testing.assert_array_equal(scorer.best(), [1, 0])


# ---------------------------------------------------------------- the prior, mixtures of parts, answers


def test_everything_together():
    rng = np.random.default_rng(5)
    n, K = 333, 6
    real, codes, counts = rng.normal(size=(n, 60)), rng.integers(-2, 5, (n, 7)), rng.integers(0, 3, (n, 9))
    real[rng.random(real.shape) < 0.01] = np.nan
    mean, var = rng.normal(size=(K, 60)), rng.random((K, 60)) + 0.3
    table, other = np.log(rng.random((28, K))), np.log(rng.random((7, K)))
    weight, bias = -rng.random((K, 9)), np.zeros((K, 9))
    extra, prior = rng.normal(size=(n, K)), rng.normal(size=(n, K))
    extra[7] = -np.inf
    extra[9, 2] = -np.inf
    prior[9, 4] = -np.inf
    joint = (
        prior
        + gaussian(real, mean, var)
        + discrete(codes, np.full(7, 4), table, other)
        + linear(counts, weight, bias)
        + extra
    )
    scorer = _core.Scorer(n, prior)
    scorer.gaussian(_core.Columns(real), mean, var)
    scorer.discrete(_core.Columns(codes), np.full(7, 4), table, other)
    scorer.linear(_core.Columns(counts), weight, bias, False)
    scorer.added(extra)
    check_answers(scorer, joint, prior)


def test_two_thousand_classes():
    rng = np.random.default_rng(6)
    n, K = 100, 2000
    codes, X = rng.integers(0, 4, (n, 3)), rng.normal(size=(n, 2))
    mean, var, table, prior = (
        rng.normal(size=(K, 2)),
        rng.random((K, 2)) + 0.1,
        np.log(rng.random((12, K))),
        log_prior(rng, K),
    )
    scorer = _core.Scorer(n, prior)
    scorer.gaussian(_core.Columns(X), mean, var)
    scorer.discrete(_core.Columns(codes), np.full(3, 4), table)
    check_answers(scorer, prior + gaussian(X, mean, var) + discrete(codes, np.full(3, 4), table, None), prior)


def test_prior_alone_and_ties():
    scorer = _core.Scorer(3, np.log([0.25, 0.25, 0.25, 0.25]))
    np.testing.assert_array_equal(scorer.best(), [0, 0, 0])
    np.testing.assert_array_equal(scorer.proba(), np.full((3, 4), 0.25))
    scorer = _core.Scorer(2, np.log([0.1, 0.45, 0.45]))
    np.testing.assert_array_equal(scorer.best(), [1, 1])
    one = _core.Scorer(2, np.array([-3.0]))
    np.testing.assert_array_equal(one.proba(), [[1], [1]])
    np.testing.assert_array_equal(one.log_proba(), [[0], [0]])
    np.testing.assert_array_equal(one.joint(), [[-3], [-3]])


def test_no_class_possible():
    prior = np.log([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]])
    prior[1] = -np.inf
    scorer = _core.Scorer(3, prior)
    scorer.added(np.full((3, 2), -np.inf))
    np.testing.assert_allclose(scorer.proba(), [[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]], rtol=1e-15)
    np.testing.assert_array_equal(scorer.best(), [1, 0, 0])
    np.testing.assert_array_equal(scorer.log_density(), [-np.inf] * 3)
    np.testing.assert_array_equal(scorer.joint(), np.full((3, 2), -np.inf))


def test_impossible_class_in_the_prior():
    with np.errstate(divide="ignore"):
        scorer = _core.Scorer(1, np.log([0.0, 0.5, 0.5]))
    np.testing.assert_array_equal(scorer.proba(), [[0, 0.5, 0.5]])
    np.testing.assert_allclose(scorer.log_proba(), [[-np.inf, np.log(0.5), np.log(0.5)]])


def test_log_proba_keeps_small_and_large():
    """-168 stays -168, and the log of a probability just below 1 is not rounded to 0."""
    scorer = _core.Scorer(3, np.array([[0.0, -168.0], [0.0, -5000.0], [-1e5, -1e5 - 50]]))
    expected = [[-math.exp(-168), -168], [0, -5000], [-math.exp(-50), -50]]
    np.testing.assert_allclose(scorer.log_proba(), expected, rtol=1e-14)


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_posterior_of_any_numbers(data):
    number = st.one_of(st.floats(-1e300, 1e300), st.floats(-50, 50), st.just(-np.inf))
    K = data.draw(st.integers(1, 6))
    rows = data.draw(st.lists(st.lists(number, min_size=K, max_size=K), min_size=1, max_size=9))
    joint = np.array(rows)
    prior = np.zeros(K)
    scorer = _core.Scorer(len(joint), prior)
    scorer.added(joint)
    with np.errstate(over="ignore"):
        expected = posterior(joint.astype(np.longdouble), prior).astype(float)
    np.testing.assert_allclose(scorer.log_proba(), expected, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(scorer.proba(), np.exp(expected), rtol=1e-12, atol=1e-300)
    np.testing.assert_array_equal(scorer.best(), np.argmax(joint, axis=1))


def test_exp_is_precise():
    """Through proba of two classes: exp(x) / (1 + exp(x)), from 0 to where float64 ends."""
    x = -np.concatenate([np.linspace(0, 2, 2001), np.linspace(2, 707.9, 20001)])
    got = _core.Scorer(len(x), np.stack([np.zeros_like(x), x], axis=1)).proba()[:, 1]
    wide = np.exp(x.astype(np.longdouble))
    np.testing.assert_allclose(got, (wide / (1 + wide)).astype(float), rtol=6e-16)
    far = _core.Scorer(4, np.array([[0, -708.5], [0, -745.0], [0, -1e300], [0, -np.inf]])).proba()
    np.testing.assert_array_equal(far, [[1, 0]] * 4)


# ---------------------------------------------------------------- bad values, threads, shapes


def first_bad(scorer):
    with pytest.raises(_core.BadValue) as error:
        scorer.proba()
    return error.value.args, scorer.refused


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_the_first_infinity_is_reported(dtype):
    X = np.zeros((5000, 120), dtype)
    X[4000, 1] = np.inf
    X[777, 90] = -np.inf
    X[777, 119] = X[778, 0] = np.inf
    for _, cols in layouts(X):
        scorer = _core.Scorer(5000, np.zeros(2))
        scorer.gaussian(cols, np.zeros((2, 120)), np.ones((2, 120)))
        assert first_bad(scorer) == (("infinite", 777, 90, -np.inf), 0)


def test_the_first_bad_row_of_several_parts():
    n = 3000
    real, counts = np.zeros((n, 2)), np.zeros((n, 2))
    real[1000, 0], counts[990, 1], counts[2999, 0] = np.inf, -3.0, np.nan
    scorer = _core.Scorer(n, np.zeros(2))
    scorer.gaussian(_core.Columns(real), np.zeros((2, 2)), np.ones((2, 2)))
    scorer.linear(_core.Columns(counts), np.zeros((2, 2)), np.zeros((2, 2)), False)
    assert first_bad(scorer) == (("negative", 990, 1, -3.0), 1)
    counts[990, 1], real[1000, 0] = 0.0, 0.0
    assert np.isfinite(scorer.proba()).all()  # the scorer looks at the arrays, and they are fine now
    assert scorer.refused == -1


def test_bad_values_in_csr():
    for value, kind in ((-1.0, "negative"), (np.inf, "infinite"), (np.nan, "infinite")):
        sparse = csr_matrix(np.ones((100, 5)))
        sparse.data[5 * 70 + 3] = value
        for threshold in (None, 0.0):
            scorer = _core.Scorer(100, np.zeros(2))
            scorer.csr(
                _core.Csr(sparse.data, sparse.indices, sparse.indptr, 5),
                np.zeros((5, 2)),
                np.zeros(2),
                threshold,
            )
            if threshold is not None and value == -1:
                assert np.isfinite(scorer.proba()).all()
                continue
            (got, row, col, _), part = first_bad(scorer)
            assert (got, row, col, part) == (kind, 70, 3, 0)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_bad_numbers_to_add(value):
    terms = np.zeros((100, 3))
    terms[65, 2] = value
    scorer = _core.Scorer(100, np.zeros(3))
    scorer.added(terms)
    (kind, row, col, _), _ = first_bad(scorer)
    assert (kind, row, col) == ("infinite", 65, 2)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_broken_prior_is_refused(bad):
    with pytest.raises(ValueError, match="log_prior of class 1 is"):
        _core.Scorer(2, np.array([0.0, bad]))
    prior = np.zeros((100, 3))
    prior[70, 1] = bad
    scorer = _core.Scorer(100, prior)
    scorer.gaussian(_core.Columns(np.full((100, 1), np.nan)), np.zeros((3, 1)), np.ones((3, 1)))
    (kind, row, col, _), part = first_bad(scorer)
    assert (kind, row, col, part) == ("infinite", 70, 1, -1)


def test_one_thread_or_two():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    rng = np.random.default_rng(9)
    n, K = 20_001, 5
    X, codes = rng.normal(size=(n, 70)), rng.integers(-2, 9, (n, 11)).astype("i2")
    X[rng.random(X.shape) < 0.001] = np.nan
    scorer = _core.Scorer(n, log_prior(rng, K))
    scorer.gaussian(_core.Columns(X), rng.normal(size=(K, 70)), rng.random((K, 70)) + 0.1)
    scorer.discrete(_core.Columns(codes), np.full(11, 8), np.log(rng.random((88, K))))
    answers = []
    for threads in (1, 2, 3):
        with threadpoolctl.threadpool_limits(threads, user_api="openmp"):
            answers.append([scorer.joint(), scorer.log_proba(), scorer.proba(), scorer.best(), scorer.log_density()])
    for more in answers[1:]:
        for a, b in zip(answers[0], more, strict=True):
            np.testing.assert_array_equal(a, b)


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="at least one class"):
        _core.Scorer(1, np.zeros(0))
    with pytest.raises(ValueError, match="number of rows"):
        _core.Scorer(2, np.zeros((3, 2)))
    scorer = _core.Scorer(2, np.zeros(2))
    with pytest.raises(ValueError, match="number of rows"):
        scorer.gaussian(_core.Columns(np.zeros((3, 1))), np.zeros((2, 1)), np.ones((2, 1)))
    with pytest.raises(ValueError, match="gaussian"):
        scorer.gaussian(_core.Columns(np.zeros((2, 1))), np.zeros((3, 1)), np.ones((3, 1)))
    with pytest.raises(ValueError, match="weight and bias"):
        scorer.linear(_core.Columns(np.zeros((2, 1))), np.zeros((2, 2)), np.zeros((2, 1)), False)
    with pytest.raises(ValueError, match="no and yes"):
        scorer.binary(_core.Columns(np.zeros((2, 1))), 0.0, np.zeros((2, 2)), np.zeros((1, 2)))
    csr = _core.Csr(np.zeros(0), np.zeros(0, "i4"), np.zeros(3, "i4"), 4)
    with pytest.raises(ValueError, match="terms, classes"):
        scorer.csr(csr, np.zeros((2, 4)), np.zeros(2))
    with pytest.raises(ValueError, match="not stored is a zero"):
        scorer.csr(csr, np.zeros((4, 2)), np.zeros(2), -1.0)
    with pytest.raises(ValueError, match="terms must be"):
        scorer.added(np.zeros((2, 3)))


def test_arrays_live_as_long_as_the_scorer():
    def make():
        scorer = _core.Scorer(50, np.log([0.5, 0.5]))
        scorer.gaussian(_core.Columns(np.ones((50, 3))), np.zeros((2, 3)), np.ones((2, 3)))
        scorer.discrete(_core.Columns(np.zeros((50, 2), int)), np.array([1, 1]), np.zeros((2, 2)), np.zeros((2, 2)))
        return scorer

    scorers = [make() for _ in range(200)]
    np.testing.assert_array_equal(np.vstack([s.proba() for s in scorers]), 0.5)
