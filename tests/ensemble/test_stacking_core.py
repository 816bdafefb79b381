"""Weights of terms by Newton's method: the compiled function against NumPy with the whole Hessian."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes import _core
from tests.quick import examples


# ---- slow and obvious --------------------------------------------------------------------------------------
def parts(terms, y, w, start, centre, ridge, bias_ridge, v, b):
    """(loss of the rows, objective, gradient, Hessian) in v and then b."""
    C = terms.shape[2]
    keep = (y >= 0) & (w > 0) & np.isfinite(start[np.arange(len(y)), np.maximum(y, 0)])
    T, y, w, start = terms[:, keep].astype(float), y[keep], w[keep], start[keep]
    J = start + b + np.einsum("d,dtc->tc", v, T)
    top = J.max(axis=1, keepdims=True)
    P = np.exp(J - top)
    log_sum = top[:, 0] + np.log(P.sum(axis=1))
    P /= P.sum(axis=1, keepdims=True)
    own = np.arange(len(y)), y
    loss = (w * (log_sum - J[own])).sum()
    R = P.copy()
    R[own] -= 1
    G = np.concatenate([T.transpose(1, 2, 0), np.broadcast_to(np.eye(C), (len(y), C, C))], axis=2)  # rows, classes, all
    G = G - np.einsum("tc,tcd->td", P, G)[:, None]  # what the classes share does not matter
    mask = np.concatenate([ridge, np.full(C, bias_ridge)])
    x = np.concatenate([v - centre, b])
    gradient = np.einsum("t,tc,tcd->d", w, R, G) + mask * x
    flat = G.reshape(-1, len(mask))
    hessian = flat.T @ (flat * (w[:, None] * P).reshape(-1, 1)) + np.diag(mask)
    return loss, loss + 0.5 * (mask * x * x).sum(), gradient, hessian


def newton(terms, y, w, start, centre, ridge, bias_ridge):
    D, _, C = terms.shape
    v, b = centre.copy(), np.zeros(C)
    for _ in range(15):
        _, now, g, H = parts(terms, y, w, start, centre, ridge, bias_ridge, v, b)
        s = -np.linalg.lstsq(H, g, rcond=None)[0]
        size = 1.0
        while size > 1e-6:
            after = parts(terms, y, w, start, centre, ridge, bias_ridge, v + size * s[:D], b + size * s[D:])[1]
            if after <= now:
                break
            size /= 2
        else:
            break
        v, b = v + size * s[:D], b + size * s[D:]
    return v, b


# ---- problems ----------------------------------------------------------------------------------------------
def problem(n, C, D, seed=0, shift=-40.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, C, n).astype(np.int32)
    truth = rng.normal(size=(n, C))
    truth[np.arange(n), y] += 1.5
    terms = (truth + rng.normal(size=(D, n, C)) + shift * rng.random((D, n, 1))).astype(np.float32)
    start = np.log(rng.dirichlet(np.full(C, 5.0), n))
    return terms, y, rng.choice([0.0, 0.5, 1.0, 2.0], n), start, np.full(D, 1 / max(D, 1)), rng.uniform(0.1, 5, D), 1.0


def weights(terms, y, w, start, centre, ridge, bias_ridge, steps=8, bounded=None):
    search = _core.StackingProblem(terms, y, w, start, np.zeros(len(y), dtype=bool))
    return search.fit(None, centre, np.append(ridge, bias_ridge), bounded, (steps, None))


def fit(*p):
    return weights(*p, 30)


@pytest.mark.parametrize(("n", "C", "D"), [(0, 2, 3), (1, 1, 1), (7, 3, 0), (341, 3, 4), (1024, 2, 5), (1025, 2, 70)])
@pytest.mark.parametrize("isa", [0, 2])
def test_terms_are_weighted(n, C, D, isa):
    rng = np.random.default_rng(n)
    terms, v = rng.normal(size=(D, n, C)).astype(np.float32), rng.normal(size=D)
    _core.limit_isa(isa)
    try:
        got = _core.weighted_terms(terms, v)
    finally:
        _core.limit_isa(9)
    assert got.shape == (n, C)
    np.testing.assert_allclose(got, np.einsum("d,dtc->tc", v, terms.astype(float)), rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match=r"\(terms,\)"):
        _core.weighted_terms(terms, np.ones(D + 1))


@pytest.mark.parametrize(
    ("n", "C", "D"),
    [(1, 2, 1), (40, 2, 3), (200, 3, 5), (700, 2, 9), (130, 7, 4), (100, 20, 6), (50, 1, 2), (60, 3, 0)],
)
@pytest.mark.parametrize("isa", [0, 2])
def test_the_answer_is_newtons(n, C, D, isa):
    p = problem(n, C, D, seed=n)
    _core.limit_isa(isa)
    try:
        v, b, loss, taken = fit(*p)
    finally:
        _core.limit_isa(2)
    assert v.shape == (D,)
    assert b.shape == (C,)
    assert taken <= 30
    v0, b0 = newton(*p)
    np.testing.assert_allclose(v, v0, rtol=0, atol=2e-4)
    np.testing.assert_allclose(b, b0, rtol=0, atol=2e-4)
    at, _, gradient, _ = parts(*p, v, b)
    np.testing.assert_allclose(loss, at, rtol=1e-5, atol=1e-6)
    assert np.abs(gradient).max(initial=0) < 2e-3 * max(n, 1) ** 0.5


def test_the_default_number_of_steps_is_enough_and_each_step_helps():
    p = problem(500, 4, 8)
    objective = []
    for steps in range(9):
        v, b, _, taken = weights(*p, steps)
        assert taken <= steps
        objective.append(parts(*p, v, b)[1])
    assert np.array_equal(weights(*p)[0], v)
    assert (np.diff(objective) <= 1e-9).all()
    assert objective[-1] - parts(*p, *newton(*p))[1] < 1e-3
    v, b, _, taken = weights(*p, 0)
    assert taken == 0
    assert np.array_equal(v, p[4])
    assert not b.any()


@pytest.mark.parametrize(("n", "C", "D"), [(40, 2, 3), (300, 3, 12), (700, 2, 30), (50, 1, 2)])
def test_weights_that_do_not_fall_below_0(n, C, D):
    """The least with that bound: no slope along free weights, and up where a weight is 0."""
    p = list(problem(n, C, D, seed=n))
    p[0][::3] *= -1  # terms that say the contrary
    bounded = np.arange(D) % 2 == 0
    v, b, loss, _ = weights(*p, 60, bounded)
    assert (v[bounded] >= 0).all()
    at, whole, gradient, _ = parts(*p, v, b)
    np.testing.assert_allclose(loss, at, rtol=1e-5, atol=1e-6)
    stuck = np.append(bounded & (v == 0), np.zeros(C, bool))
    most = 2e-3 * max(n, 1) ** 0.5
    assert np.abs(gradient[~stuck]).max() < most
    assert (gradient[stuck] > -most).all()
    free = fit(*p)
    assert parts(*p, free[0], free[1])[1] <= whole + 1e-9
    if C > 1:
        assert (free[0][bounded] < 0).any()
        assert stuck.any()
    with pytest.raises(ValueError, match="bounded"):
        weights(*p, 8, bounded[:-1])
    with pytest.raises(ValueError, match="below 0"):
        weights(*p[:4], -np.ones(D), *p[5:], 8, bounded)


@pytest.mark.parametrize("bounds", [False, True])
def test_where_they_begin_does_not_matter_for_where_they_end(bounds):
    p = problem(300, 3, 12, seed=1)
    bounded = np.arange(12) % 2 == 0 if bounds else None
    ridge = np.append(p[5], p[6])
    v, b, loss, taken = _core.StackingProblem(*p[:4], np.zeros(len(p[1]), dtype=bool)).fit(
        None, p[4], ridge, bounded, (30, None)
    )
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.1, 3.0):
        away = np.concatenate([np.abs(v + scale * rng.normal(size=12)), b + scale * rng.normal(size=3)])
        again = _core.StackingProblem(*p[:4], np.zeros(len(p[1]), dtype=bool)).fit(
            None, p[4], ridge, bounded, (30, away)
        )
        assert np.allclose(again[0], v, atol=5e-3)
        assert np.allclose(again[1], b, atol=5e-3)
        assert again[2] == pytest.approx(loss, rel=1e-4)
    close = _core.StackingProblem(*p[:4], np.zeros(len(p[1]), dtype=bool)).fit(
        None, p[4], ridge, bounded, (30, np.concatenate([v, b]))
    )
    assert close[3] <= 1 < taken
    with pytest.raises(ValueError, match="first must be"):
        _core.StackingProblem(*p[:4], np.zeros(len(p[1]), dtype=bool)).fit(None, p[4], ridge, bounded, (30, v))
    with pytest.raises(ValueError, match="first must be finite"):
        _core.StackingProblem(*p[:4], np.zeros(len(p[1]), dtype=bool)).fit(
            None, p[4], ridge, bounded, (30, np.full(15, np.nan))
        )
    if bounds:
        with pytest.raises(ValueError, match="begins there"):
            _core.StackingProblem(*p[:4], np.zeros(len(p[1]), dtype=bool)).fit(
                None, p[4], ridge, bounded, (30, np.full(15, -1.0))
            )


def test_a_weight_of_two_is_the_row_twice():
    terms, y, _, start, centre, ridge, bias = problem(150, 3, 4)
    w = np.random.default_rng(5).integers(0, 4, len(y))
    again = np.repeat(np.arange(len(y)), w)
    v, b, loss, _ = fit(terms, y, w.astype(float), start, centre, ridge, bias)
    v2, b2, loss2, _ = fit(np.ascontiguousarray(terms[:, again]), y[again], None, start[again], centre, ridge, bias)
    np.testing.assert_allclose(v, v2, atol=1e-5)
    np.testing.assert_allclose(b, b2, atol=1e-5)
    np.testing.assert_allclose(loss, loss2, rtol=1e-6)


def test_what_classes_have_in_common_does_not_matter():
    terms, *rest = problem(300, 3, 5, shift=0.0)
    terms = np.round(terms * 64) / np.float32(64)  # so that adding thousands loses nothing
    more = np.random.default_rng(1).integers(-4096, 4096, (5, 300, 1)).astype(np.float32)
    for a, b in zip(fit(terms, *rest), fit(terms + more, *rest), strict=True):
        assert np.array_equal(a, b)


def test_classes_that_cannot_be():
    p = list(problem(240, 4, 5, seed=3))
    rng = np.random.default_rng(9)
    impossible = rng.random((240, 4)) < 0.25
    impossible[:5] = True  # rows without any class
    p[3] = np.where(impossible, -np.inf, p[3])
    p[0][:, impossible] = 1e8  # a class that cannot be may say what it likes
    assert impossible[np.arange(240), p[1]].any()
    v, b, loss, _ = fit(*p)
    p[0] = np.where(impossible, np.float32(0), p[0])
    v0, b0 = newton(*p)
    np.testing.assert_allclose(v, v0, atol=2e-4)
    np.testing.assert_allclose(b, b0, atol=2e-4)
    np.testing.assert_allclose(loss, parts(*p, v, b)[0], rtol=1e-5)


def test_unlabelled_rows_take_no_part():
    p = list(problem(100, 3, 4))
    p[1][::3] = -1
    keep = p[1] >= 0
    q = [np.ascontiguousarray(p[0][:, keep]), p[1][keep], p[2][keep], p[3][keep], *p[4:]]
    for a, b in zip(fit(*p), fit(*q), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("rows", [0, 3])
def test_nothing_to_learn_from(rows):
    terms, y, _, start, centre, ridge, bias = problem(3, 2, 2)
    y[:] = -1
    v, b, loss, taken = fit(np.ascontiguousarray(terms[:, :rows]), y[:rows], None, start[:rows], centre, ridge, bias)
    assert np.array_equal(v, centre)
    assert not b.any()
    assert (loss, taken) == (0.0, 0)


def test_without_ridges_flat_directions_stay_where_they_are():
    terms, y, w, start, centre, _, _ = problem(200, 2, 4)
    terms[1] = terms[0]  # the same term twice
    terms[2] = 7.0  # says nothing
    v, b, _, _ = fit(terms, y, w, start, centre, np.zeros(4), 0.0)
    assert v[2] == centre[2]
    assert np.isfinite(v).all()
    assert np.isfinite(b).all()
    gradient = parts(terms, y, w, start, centre, np.zeros(4), 0.0, v, b)[2]
    assert np.abs(gradient).max() < 1e-2


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_extremes_give_numbers(data):
    n, C, D = data.draw(st.integers(1, 20)), data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    values = np.array([0, 1, -1, -30, -1e6, 1e6, 1e-30, 3e38, -3e38], np.float32)
    terms = rng.choice(values[: data.draw(st.integers(4, 9))], (D, n, C))
    start = rng.choice([0.0, -5.0, -1e6, -np.inf, 1e300, -1e300], (n, C))
    w = rng.choice([0.0, 1e-300, 1.0, 1e50], n)
    ridge = rng.choice([0.0, 1e-9, 1.0, 1e100], D)
    centre = rng.choice([0.0, 0.1, 1.0, -1e6], D)
    y = rng.integers(-1, C, n).astype(np.int32)
    v, b, loss, _ = weights(terms, y, w, start, centre, ridge, rng.choice([0.0, 1.0, 1e100]))
    assert np.isfinite(v).all()
    assert np.isfinite(b).all()
    assert loss >= -1e-6 * max(w.max(), 1)  # neither NaN nor nonsense


def test_a_huge_term_is_weighed_like_any_other():
    p = list(problem(300, 3, 3, shift=0.0))
    p[0][1] *= 1e6
    p[4] = np.array([1 / 3, 0.0, 1 / 3])
    v, b, _, _ = fit(*p)
    v0, b0 = newton(*p)
    np.testing.assert_allclose(v * [1, 1e6, 1], v0 * [1, 1e6, 1], atol=1e-3)
    np.testing.assert_allclose(b, b0, atol=1e-3)


def test_same_bits_for_any_number_of_threads():
    code = (
        "import sys; import numpy as np; from tests.ensemble.test_stacking_core import fit, problem\n"
        "for a in fit(*problem(3000, 3, 20)): sys.stdout.buffer.write(np.asarray(a).tobytes())"
    )

    def run(threads):
        env = {**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True).stdout

    assert run(1) == run(3)


# ---- wrong arguments ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("place", "change", "message"),
    [
        (0, lambda a: a[:, :-1].copy(), "y must be"),
        (0, lambda a: a[:, :, :0].copy(), "at least one class"),
        (0, lambda a: np.where(a > -1e9, np.float32(np.nan), a), "finite"),
        (0, lambda a: np.where(a > -1e9, np.float32(np.inf), a), "finite"),
        (1, lambda a: a + np.int32(3), "class"),
        (2, lambda a: a[:-1], "weights"),
        (2, lambda a: a - 1, "weight"),
        (3, lambda a: a[:, :-1].copy(), "start"),
        (3, lambda a: a * np.nan, "start"),
        (3, lambda a: a - a + np.inf, "start"),
        (3, lambda a: a - a - 1.5e308, "start"),
        (4, lambda a: a[:-1], "centre"),
        (4, lambda a: a * np.nan, "centre"),
        (5, lambda a: -a, "ridge"),
        (5, lambda a: a[:-1], "ridge"),
        (6, lambda _: -1.0, "ridge"),
        (6, lambda _: np.nan, "ridge"),
    ],
)
def test_wrong_arguments_are_named(place, change, message):
    p = list(problem(20, 3, 2))
    p[place] = change(p[place])
    with pytest.raises(ValueError, match=message):
        weights(*p)


def test_wrong_steps_and_types():
    p = problem(20, 3, 2)
    with pytest.raises(ValueError, match="steps"):
        weights(*p, -1)
    with pytest.raises(TypeError):
        weights(p[0].astype(float), *p[1:])
    with pytest.raises(TypeError):
        weights(p[0].transpose(0, 2, 1), *p[1:])


@pytest.mark.parametrize(("n", "C", "D"), [(0, 2, 3), (1, 2, 1), (700, 3, 5)])
def test_a_half_is_the_others_left_out(n: int, C: int, D: int) -> None:
    terms, y, w, start, centre, ridge, bias = problem(n, C, D, 7)
    second = np.random.default_rng(3).random(n) < 0.4
    search, pull = _core.StackingProblem(terms, y, w, start, second), np.append(ridge, bias)
    for half in (False, True):
        inside = second == half
        alone = _core.StackingProblem(
            terms, np.where(inside, y, -1).astype(np.int32), w, start, np.zeros(n, dtype=bool)
        )
        v, b, loss, _ = search.fit(half, centre, pull, None, (30, None))
        for got, want in zip((v, b, loss), alone.fit(None, centre, pull, None, (30, None)), strict=False):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
        joint = start + b + np.tensordot(v, terms, axes=1)
        each = w * (np.log(np.exp(joint - joint.max(axis=1, initial=0, keepdims=True)).sum(axis=1))
                    + joint.max(axis=1, initial=0) - joint[np.arange(n), y])  # fmt: skip
        np.testing.assert_allclose(search.loss(half, v, b), each[inside].sum(), rtol=1e-6)
        np.testing.assert_allclose(search.loss(not half, v, b), each[~inside].sum(), rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(search.loss(None, v, b), each.sum(), rtol=1e-6)
    with pytest.raises(ValueError, match="finite"):
        search.loss(None, np.full(D, np.nan), np.zeros(C))
    with pytest.raises(ValueError, match="second"):
        _core.StackingProblem(terms, y, w, start, np.zeros(n + 1, dtype=bool))
