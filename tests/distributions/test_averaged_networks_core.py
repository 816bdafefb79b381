"""AODE, AnDE and SPODE out of counts: the compiled functions against loops that spell out the formulas."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes import _core
from tests.quick import examples

GRID = np.array([0.25, 1.0, 4.0, 16.0, 64.0])


# ---- a tally and its arguments -----------------------------------------------------------------------------
class Tally:
    """Counts of all sets of up to order + 1 columns. Codes are -1 where missing."""

    def __init__(self, X, y, K, sizes, order, w=None, whole=True, levels=None):
        self.X, self.y, self.K, self.order = X, y, K, order
        self.w = np.ones(len(y)) if w is None else w
        self.d = X.shape[1]
        self.sizes = np.array(sizes, np.int64).reshape(self.d)
        self.levels = np.maximum(self.sizes, 1).astype(float) if levels is None else levels
        self.class_weight = np.bincount(y, self.w, K).astype(float)
        self.sets = [s for m in range(2, order + 2) for s in itertools.combinations(range(self.d), m)]
        self.n = {s: self.count(s) for s in [(j,) for j in range(self.d)] + self.sets}
        self.whole = whole

    def count(self, columns):
        out = np.zeros((self.K, *self.sizes[list(columns)]))
        rows = (self.X[:, list(columns)] >= 0).all(axis=1)
        np.add.at(out, (self.y[rows], *self.X[rows][:, list(columns)].T), self.w[rows])
        return out

    @property
    def arguments(self):
        empty = [np.zeros((self.K, 0))]
        single = np.concatenate(empty + [self.n[(j,)].reshape(self.K, -1) for j in range(self.d)], axis=1)
        joint = np.concatenate(empty + [self.n[s].reshape(self.K, -1) for s in self.sets], axis=1)
        columns = np.array([j for s in self.sets for j in s], np.int32)
        starts = np.cumsum([0] + [len(s) for s in self.sets]).astype(np.int64)
        joint = joint.astype(np.uint32 if self.whole else float)
        return [single, joint, self.class_weight, self.sizes, columns, starts, self.levels]

    @property
    def parents(self):
        return list(itertools.combinations(range(self.d), self.order))


def pack(X, dtype=np.uint8):
    return np.ascontiguousarray(X.T).astype(dtype)  # -1 becomes all ones


def networks(t, alpha=1.0, strengths=None, rank=None):
    rank = np.arange(t.d, dtype=np.int32) if rank is None else rank
    return _core.Averaged(_core.JointCounts(*t.arguments, alpha), t.order, rank, strengths)


# ---- slow and obvious --------------------------------------------------------------------------------------
def ratio(a, b, limit):
    return a / b if b > 0 else limit


def minus(n, removed):
    return max(0.0, n - removed)


def level(t, k, x, c, parents, values, alpha, strengths, removed=0.0):
    """P_l(x_k | c, parents) with back-off; l = 0: P0."""
    at = dict(zip(parents, values, strict=True))
    columns = tuple(sorted([k, *parents]))
    n = [t.n[columns][(c, *[at.get(j, v) for j in columns])] for v in range(t.sizes[k])]
    above, below = minus(n[x], removed), minus(sum(n), removed)
    if not parents:
        return ratio(above + alpha, below + alpha * t.levels[k], 1 / t.levels[k])
    before = level(t, k, x, c, parents[:-1], values[:-1], alpha, strengths, removed)
    a = strengths[len(parents) - 1][k]
    return ratio(above + a * before, below + a, before)


def laplace(t, k, x, c, parents, values, alpha):
    at = dict(zip(parents, values, strict=True))
    columns = tuple(sorted([k, *parents]))
    n = [t.n[columns][(c, *[at.get(j, v) for j in columns])] for v in range(t.sizes[k])]
    return ratio(n[x] + alpha, sum(n) + alpha * t.levels[k], 1 / t.levels[k])


def score(t, x, c, alpha, strengths, rank, weights, min_count):
    """One row, one class: log of the average over the usable sets of parents."""
    present = [k for k in range(t.d) if x[k] >= 0]
    terms, used = [], []
    for S, W in zip(t.parents, weights, strict=True):
        if W == 0 or any(x[j] < 0 for j in S) or t.n[S][(slice(None), *x[list(S)])].sum() < min_count:
            continue
        ranked = sorted(S, key=lambda j: (rank[j], j))
        values = [x[j] for j in ranked]
        if strengths is None:
            even = np.prod(t.levels[list(S)])
            Q = 1 / even
            if t.class_weight[c] > 0:
                joint = ratio(t.n[S][(c, *x[list(S)])] + alpha, t.n[S].sum() + alpha * t.K * even, 1 / (t.K * even))
                Q = joint / (t.class_weight[c] / t.class_weight.sum())
            factors = [Q] + [laplace(t, k, x[k], c, ranked, values, alpha) for k in present if k not in S]
        else:
            factors = [level(t, j, x[j], c, ranked[:i], values[:i], alpha, strengths) for i, j in enumerate(ranked)]
            factors += [level(t, k, x[k], c, ranked, values, alpha, strengths) for k in present if k not in S]
        terms.append(sum(log(f) for f in [W, *factors]))
        used.append(W)
    if not used:
        return sum(log(level(t, k, x[k], c, [], [], alpha, strengths)) for k in present)
    top = max(terms)
    return top if top == -math.inf else top + math.log(sum(math.exp(v - top) for v in terms)) - math.log(sum(used))


def log(p):
    return math.log(p) if p > 0 else -math.inf


def scores_oracle(t, X, alpha, strengths, rank, weights, min_count):
    rows = [[score(t, x, c, alpha, strengths, rank, weights, min_count) for c in range(t.K)] for x in X]
    return np.array(rows).reshape(len(X), t.K)


def strengths_oracle(t, alpha, rank, grid):
    out = np.zeros((t.order, t.d))
    for depth in range(1, t.order + 1):
        for k in range(t.d):
            found = []
            for a in grid:
                out[depth - 1, k] = a
                found.append(loo_likelihood(t, k, depth, alpha, out, rank))
            out[depth - 1, k] = grid[np.argmax(found)]
    return out


def loo_likelihood(t, k, depth, alpha, strengths, rank):
    total = 0.0
    for S in itertools.combinations([j for j in range(t.d) if j != k], depth):
        ranked = sorted(S, key=lambda j: (rank[j], j))
        columns = tuple(sorted([k, *S]))
        for cell in np.ndindex(*t.n[columns].shape):
            n, c, at = t.n[columns][cell], cell[0], dict(zip(columns, cell[1:], strict=True))
            if n < 1:
                continue
            values = [at[j] for j in ranked]
            p = level(t, k, at[k], c, ranked, values, alpha, strengths, removed=1.0)
            before = level(t, k, at[k], c, ranked[:-1], values[:-1], alpha, strengths, removed=1.0)
            if n > 1 or before > 0:  # otherwise no strength can help
                total += n * log(p)
    return total


def spode_oracle(t, alpha, strengths):
    """By refitting without each row; a row of weight 2 is two rows, of which one is left out."""
    out = np.zeros(t.d)
    for i, (x, y) in enumerate(zip(t.X, t.y, strict=True)):
        w = t.w.copy()
        w[i] -= min(w[i], 1.0)
        if t.w[i] == 0 or not w[t.y == y].sum() > 0:
            continue
        u = Tally(t.X, t.y, t.K, t.sizes, 1, w, levels=t.levels)
        for p in range(t.d):
            joint = [log(u.class_weight[c]) for c in range(t.K)]
            prior = list(joint)
            for c in range(t.K):
                for k in range(t.d):
                    if x[k] < 0:
                        continue
                    if k == p or x[p] < 0:
                        joint[c] += log(level(u, k, x[k], c, [], [], alpha, strengths))
                    elif strengths is None:
                        joint[c] += log(laplace(u, k, x[k], c, [p], [x[p]], alpha))
                    else:
                        joint[c] += log(level(u, k, x[k], c, [p], [x[p]], alpha, strengths))
            if max(joint) == -math.inf:
                joint = prior
            top = max(joint)
            out[p] += t.w[i] * (top + math.log(sum(math.exp(v - top) for v in joint)) - joint[y])
    return out


# ---- cases -------------------------------------------------------------------------------------------------
@st.composite
def cases(draw, orders=(1, 2, 3), most=5, rows=12):
    order = draw(st.sampled_from(orders))
    d, K, n = draw(st.integers(1, most)), draw(st.integers(1, 3)), draw(st.integers(0, rows))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    sizes = random.integers(1, 4, d)
    missing = draw(st.sampled_from([0.0, 0.2]))

    def table(n):
        X = random.integers(0, sizes, (n, d))
        return np.where(random.random((n, d)) < missing, -1, X)

    whole = draw(st.booleans())
    w = None if whole else random.choice([0.5, 1.0, 2.5], n)
    levels = (sizes + random.integers(0, 2, d)).astype(float)
    t = Tally(table(n), random.integers(0, K, n), K, sizes, order, w, whole, levels)
    strengths = None if draw(st.booleans()) else random.choice([0.0, 0.3, 5.0], (order, d), p=[0.1, 0.5, 0.4])
    alpha = draw(st.sampled_from([0.0, 0.5, 1.0, 1e-200, 1e-300]))
    return t, table(6), alpha, strengths, random


def close(got, want, rtol=1e-10):
    assert not np.isnan(got).any()
    np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-10)


@pytest.fixture(params=[0, 1, 2], ids=["base", "avx2", "avx512"])
def isa(request):
    _core.limit_isa(request.param)
    if _core.isa() != request.param:
        pytest.skip("not on this processor")
    yield request.param
    _core.limit_isa(2)


# ---- scores ------------------------------------------------------------------------------------------------
@settings(max_examples=examples(200))
@given(cases(), st.data())
def test_scores_are_the_formula(case, data):
    t, X, alpha, strengths, random = case
    rank = random.permutation(t.d).astype(np.int32)
    weights = random.choice([0.0, 1.0, 0.3, 1e300], len(t.parents), p=[0.2, 0.4, 0.3, 0.1])
    if data.draw(st.booleans()):
        weights = np.ones(len(t.parents))
    min_count = data.draw(st.sampled_from([0.0, 1.0, 3.0, 1e9]))
    dtype = data.draw(st.sampled_from([np.uint8, np.uint16, np.uint32]))
    got = networks(t, alpha, strengths, rank).scores(pack(X, dtype), weights, min_count)
    close(got, scores_oracle(t, X, alpha, strengths, rank, weights / max(weights.max(initial=0), 1e-300), min_count))


def many(n=3000, d=6, K=3, order=1, sizes=4, seed=0, missing=0.05, w=None):
    random = np.random.default_rng(seed)
    y = random.integers(0, K, n)
    X = (random.integers(0, sizes, (n, d)) + y[:, None] * random.integers(0, 2, (n, d))) % sizes
    X = np.where(random.random((n, d)) < missing, -1, X)
    return Tally(X, y, K, [sizes] * d, order, w, whole=w is None)


def default_scores(t, X, alpha=1.0, strengths=None):
    rank, weights = np.arange(t.d, dtype=np.int32), np.ones(len(t.parents))
    return networks(t, alpha, strengths, rank).scores(pack(X), weights, 1.0)


@pytest.mark.parametrize("K", [1, 2, 3, 4, 5, 8, 9, 17])
@pytest.mark.usefixtures("isa")
def test_scores_for_any_number_of_classes(K):
    t = many(200, 4, K)
    rank, weights = np.arange(t.d), np.ones(t.d)
    close(default_scores(t, t.X[:20]), scores_oracle(t, t.X[:20], 1.0, None, rank, weights, 1.0))
    a = np.full((1, t.d), 3.0)
    close(default_scores(t, t.X[:20], strengths=a), scores_oracle(t, t.X[:20], 1.0, a, rank, weights, 1.0))


@pytest.mark.parametrize("size", [40, 300])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.usefixtures("isa")
def test_scores_beside_a_column_of_many_levels(order, size):
    """Sums over many levels are laid up, and few rows fill only the levels that they have."""
    random = np.random.default_rng(size)
    n, sizes = 400, [3, size, 2, 5]
    y, X = random.integers(0, 3, n), np.stack([random.integers(0, s, n) for s in sizes], axis=1)
    X[random.random(X.shape) < 0.1] = -1
    t, rank = Tally(X, y, 3, sizes, order), np.array([2, 0, 3, 1], np.int32)
    weights = np.ones(len(t.parents))
    for strengths in (None, np.full((order, t.d), 2.0)):
        model = networks(t, 1.0, strengths, rank)
        together = model.scores(pack(X, np.uint16), weights, 1.0)
        close(together[:20], scores_oracle(t, X[:20], 1.0, strengths, rank, weights, 1.0))
        for r in range(20):
            assert (model.scores(pack(X[r : r + 1], np.uint16), weights, 1.0) == together[r]).all()


@pytest.mark.parametrize("order", [1, 2])
def test_a_row_has_the_same_score_in_any_company(order):
    """The same bits in a block of one or of thousands, and in another place."""
    t = many(order=order)
    for strengths in (None, np.full((order, t.d), 2.0)):
        together = default_scores(t, t.X, strengths=strengths)
        again = default_scores(t, np.tile(t.X, (5, 1)), strengths=strengths)
        np.testing.assert_array_equal(again[-len(t.X) :], together)
        for r in range(0, len(t.X), 500):
            np.testing.assert_array_equal(default_scores(t, t.X[r : r + 1], strengths=strengths)[0], together[r])


@pytest.mark.parametrize("alpha", [1.0, 1e-20, 1e-160])
@pytest.mark.usefixtures("isa")
def test_products_below_the_smallest_double(alpha):
    t = many(60, 50, 2, sizes=10)
    X = np.concatenate([t.X[:3], np.random.default_rng(1).integers(0, 10, (3, 50))])
    got = default_scores(t, X, alpha=alpha)
    assert alpha == 1 or got.min() < -750
    close(got, scores_oracle(t, X, alpha, None, np.arange(t.d), np.ones(t.d), 1.0))


def test_more_levels_than_sixteen_bits_of_places():
    random = np.random.default_rng(0)
    sizes = [9000, 9000]
    X = random.integers(0, 9000, (50, 2))
    y = random.integers(0, 5, 50)
    single = np.zeros((5, 18000))
    joint = np.zeros((5, 9000 * 9000), np.uint32)
    for (a, b), c in zip(X, y, strict=True):
        single[c, a] += 1
        single[c, 9000 + b] += 1
        joint[c, a * 9000 + b] += 1
    arguments = [single, joint, np.bincount(y, minlength=5).astype(float), np.array(sizes), np.array([0, 1], np.int32)]
    counts = _core.JointCounts(*arguments, np.array([0, 2]), np.array(sizes, float), 1.0)
    got = _core.Averaged(counts, 1, np.zeros(2, np.int32), None).scores(pack(X, np.uint16), np.ones(2), 1.0)
    own = 2 / (50 + 5 * 9000) * 2 / (1 + 9000) / (np.bincount(y)[y] / 50)
    close(got[np.arange(50), y], np.log(own))


@settings(max_examples=examples(100))
@given(cases())
def test_terms_of_a_network_sum_to_its_score(case):
    t, X, alpha, strengths, random = case
    rank = random.permutation(t.d).astype(np.int32)
    model = networks(t, alpha, strengths, rank)
    for i, S in enumerate(t.parents):
        got = model.terms(pack(X), np.array(S, np.int32))
        here = (X[:, list(S)] >= 0).all(axis=1)
        assert not got[~here].any()
        assert not got[X < 0].any()
        want = model.scores(pack(X[here]), np.eye(len(t.parents))[i], 0.0)
        close(got[here].sum(axis=1), want, 1e-9)
    alone = model.terms(pack(X), np.empty(0, np.int32))
    close(alone.sum(axis=1), model.scores(pack(X), np.zeros(len(t.parents)), 1.0), 1e-9)


def test_a_child_has_its_own_term():
    t = many(200, 4, 3)
    strengths = np.full((1, 4), 2.0)
    X = t.X[(t.X >= 0).all(axis=1)][:10]
    got = networks(t, 1.0, strengths).terms(pack(X), np.array([2], np.int32))
    for r, x in enumerate(X):
        for c in range(3):
            want = [log(level(t, k, x[k], c, [2], [x[2]], 1.0, strengths)) for k in (0, 1, 3)]
            close(got[r, [0, 1, 3], c], want)
            close(got[r, 2, c], log(level(t, 2, x[2], c, [], [], 1.0, strengths)))
    with pytest.raises(ValueError, match="ascending"):
        networks(t).terms(pack(X), np.array([9], np.int32))
    with pytest.raises(ValueError, match="as many as the order"):
        networks(t).terms(pack(X), np.array([0, 1], np.int32))


# ---- strengths ---------------------------------------------------------------------------------------------
@settings(max_examples=examples(100))
@given(cases(most=4))
def test_strengths_are_the_best_of_the_grid(case):
    t, _, alpha, _, random = case
    rank = random.permutation(t.d).astype(np.int32)
    got = networks(t, alpha, None, rank).strengths(GRID)
    assert got.shape == (t.order, t.d)
    want = strengths_oracle(t, alpha, rank, GRID)
    if not np.array_equal(got, want):  # two of the grid as good as each other, or lower levels that were
        for k in range(t.d):
            for depth in range(1, t.order + 1):
                a = np.concatenate([got[: depth - 1], np.zeros((t.order - depth + 1, t.d))])
                a[depth - 1, k] = got[depth - 1, k]
                best = [loo_likelihood(t, k, depth, alpha, a, rank)]
                for g in GRID:
                    a[depth - 1, k] = g
                    best.append(loo_likelihood(t, k, depth, alpha, a, rank))
                assert best[0] >= max(best) - 1e-9


@pytest.mark.usefixtures("isa")
def test_strengths_follow_the_dependence():
    """Columns that are copies want little smoothing, independent ones much."""
    random = np.random.default_rng(0)
    a = random.integers(0, 3, 500)
    X = np.stack([a, a, random.integers(0, 3, 500)], axis=1)
    t = Tally(X, random.integers(0, 2, 500), 2, [3] * 3, 1)
    got = networks(t).strengths(GRID)
    np.testing.assert_array_equal(got, strengths_oracle(t, 1.0, np.arange(3), GRID))
    assert got[0, 0] == GRID[0]
    assert got[0, 2] == GRID[-1]


def test_strengths_of_many_columns_take_a_share_of_the_parents():
    t = many(300, 40, 2, order=2, sizes=2)  # 741 pairs beside each child
    got = networks(t).strengths(GRID)
    assert np.isin(got, GRID).all()
    assert (got[1] > 1).all()  # nothing to be learned from pairs


# ---- super-parents -----------------------------------------------------------------------------------------
@settings(max_examples=examples(100))
@given(cases(orders=(1,), most=4, rows=10))
def test_spode_losses_are_those_of_refitting(case):
    t, _, alpha, strengths, _ = case
    w = None if t.whole else t.w
    got = networks(t, alpha, strengths).spode_losses(pack(t.X), t.y.astype(np.int32), w)
    close(got, spode_oracle(t, alpha, strengths), 1e-9)


@pytest.mark.parametrize("K", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.usefixtures("isa")
def test_spode_losses_for_any_number_of_classes(K, weighted):
    w = np.random.default_rng(1).choice([0.0, 1.0, 1.5], 60) if weighted else None
    t = many(60, 3, K, w=w)
    for strengths in (None, np.full((1, 3), 2.0)):
        got = networks(t, 1.0, strengths).spode_losses(pack(t.X), t.y.astype(np.int32), w)
        close(got, spode_oracle(t, 1.0, strengths), 1e-9)


def test_spode_finds_the_parent_of_all():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 4000)
    a = random.integers(0, 2, 4000)
    X = np.stack([a ^ y ^ (random.random(4000) < 0.2) for _ in range(4)] + [a], axis=1).astype(int)
    t = Tally(X, y, 2, [2] * 5, 1)
    loss = networks(t, 1.0, None).spode_losses(pack(X), y.astype(np.int32), None)
    assert loss.argmin() == 4
    left_out = y.astype(np.int32)
    left_out[:] = -1
    np.testing.assert_array_equal(networks(t, 1.0, None).spode_losses(pack(X), left_out, None), 0)


# ---- arguments that do not fit -----------------------------------------------------------------------------
NAMES = ["single", "joint", "class_weight", "sizes", "columns", "starts", "levels"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("single", np.zeros((2, 3))),
        ("single", np.zeros((0, 12))),
        ("joint", np.zeros((2, 3), np.uint32)),
        ("joint", np.zeros((2, 48), np.int64)),
        ("class_weight", np.ones(3)),
        ("class_weight", np.array([1, -1.0])),
        ("sizes", np.array([4, 4, -4])),
        ("sizes", np.array([4, 4])),
        ("columns", np.array([0, 2, 0, 1, 1, 2], np.int32)),
        ("columns", np.array([0, 1, 0, 2, 2, 1], np.int32)),
        ("columns", np.array([0, 1, 0, 2, 1, 9], np.int32)),
        ("starts", np.array([0, 2, 4])),
        ("starts", np.array([0, 2, 4, 99])),
        ("starts", np.array([0, 4, 2, 6])),
        ("starts", np.zeros(0, np.int64)),
        ("levels", np.zeros(3)),
        ("levels", np.ones(2)),
        ("order", 0),
        ("order", 2),
        ("alpha", -1.0),
        ("alpha", math.nan),
        ("strengths", np.ones((2, 3))),
        ("strengths", np.array([[1, 1, math.inf]])),
        ("rank", np.zeros(2, np.int32)),
        ("weights", np.ones(2)),
        ("weights", np.array([1, 1, -1.0])),
        ("min_count", math.nan),
        ("codes", np.zeros((2, 5), np.uint8)),
        ("codes", np.zeros((3, 5), np.int64)),
    ],
)
def test_arguments_that_do_not_fit_are_refused(name, value):
    t = many(20, 3, 2)
    arguments = dict(zip(NAMES, t.arguments, strict=True))
    arguments |= {"codes": pack(t.X), "order": 1, "alpha": 1.0, "strengths": None, "rank": np.zeros(3, np.int32)}
    arguments |= {"weights": np.ones(3), "min_count": 1.0}

    def scores(**given):
        counts = _core.JointCounts(**{key: given[key] for key in [*NAMES, "alpha"]})
        found = _core.Averaged(counts, **{key: given[key] for key in ("order", "rank", "strengths")})
        return found.scores(given["codes"], given["weights"], given["min_count"])

    scores(**arguments)
    with pytest.raises((ValueError, TypeError)):
        scores(**arguments | {name: value})


def test_labels_and_grids_that_do_not_fit_are_refused():
    t = many(20, 3, 2)
    y = t.y.astype(np.int32)
    for bad_y, w in [(y[:5], None), (y, np.ones(5)), (y + 2, None), (y, np.full(20, math.nan)), (y, -np.ones(20))]:
        with pytest.raises(ValueError):
            networks(t, 1.0, None).spode_losses(pack(t.X), bad_y, w)
    for grid in (np.zeros(0), np.array([-1.0]), np.array([math.nan])):
        with pytest.raises(ValueError):
            networks(t).strengths(grid)


def test_codes_without_a_place_are_missing():
    t = many(50, 3, 2)
    X = t.X[:1].copy()
    X[0, 1] = -1
    codes = pack(X)
    codes[1, 0] = 77
    rank, weights = np.arange(3, dtype=np.int32), np.ones(3)
    got = networks(t, 1.0, None, rank).scores(codes, weights, 1.0)
    np.testing.assert_array_equal(got, default_scores(t, X))
