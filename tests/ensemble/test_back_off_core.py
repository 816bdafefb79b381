"""Back-off chains: the compiled class against sums that spell out cpp/core/ensemble/back_off_chains.hpp."""

import os
import subprocess
import sys

import numpy as np
import pytest

from tallybayes import _core

GRID = np.array([0.25, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 8192.0])
NO_GRID = np.empty(0)
NONE = 255
SIZES = (5, 4, 6)  # levels of the columns
# Views: (column, bins, bin of each level and last of a missing value)
VIEWS = (
    (0, 5, (0, 1, 2, 3, 4, NONE)),
    (1, 5, (0, 1, 2, 3, 4)),  # missing is a bin of its own
    (2, 3, (0, 0, 1, 1, 2, 2, NONE)),  # levels that are joined
    (1, 4, (0, 1, 2, 3, NONE)),
    (0, 3, (2, NONE, 0, 1, 1, NONE)),  # a level that is in no bin
)
CHAINS = ((0, (1, 2)), (2, (0,)), (-1, (1, 0)), (2, ()), (0, (3, 2)), (-1, (4, 3, 2)), (4, (1,)), (-1, ()))
PLANE = np.arange(len(CHAINS), dtype=np.int32)
ONES = np.ones(len(CHAINS))


def description(views=VIEWS, chains=CHAINS, columns=3):
    return [
        columns,
        np.array([v[0] for v in views], np.int32),
        np.cumsum([0, *(len(v[2]) for v in views)]).astype(np.int64),
        np.concatenate([v[2] for v in views]).astype(np.uint8),
        np.array([v[1] for v in views], np.int32),
        np.array([c[0] for c in chains], np.int32),
        np.array([p for c in chains for p in c[1]], np.int32),
        np.cumsum([0, *(len(c[1]) for c in chains)]).astype(np.int64),
    ]


def concentrations_of(i):
    """Where the strengths of chain i are."""
    first = sum(len(c[1]) + 1 for c in CHAINS[:i])
    return slice(first, first + len(CHAINS[i][1]) + 1)


class Rows:
    def __init__(self, n=150, K=3, dtype=np.uint8, seed=0, weights=False, missing=0.1):
        rng = np.random.default_rng(seed)
        self.n, self.K = n, K
        self.y = rng.integers(0, K, n).astype(np.int32)
        codes = np.stack([(rng.integers(0, s, n) + self.y * (rng.random(n) < 0.5)) % s for s in SIZES])
        self.codes = codes.astype(dtype)
        self.codes[rng.random(codes.shape) < missing] = np.iinfo(dtype).max
        self.w = rng.choice([0.25, 0.5, 1.0, 2.5], n) if weights else None
        self.seen = np.array([[self.bin(v, r) for r in range(n)] for v in range(len(VIEWS))])  # bins of the views

    def bin(self, v, r):
        column, _, bins = VIEWS[v]
        return bins[min(int(self.codes[column, r]), len(bins) - 1)]

    @property
    def weight(self):
        return np.ones(self.n) if self.w is None else self.w

    def counted(self, chains):
        out = np.zeros((chains.cells, self.K), np.uint32 if self.w is None else np.float64)
        chains.count(self.codes, self.y, self.w, out)
        return out


def full(rows, i):
    """The rows that chain i counts."""
    child, parents = CHAINS[i]
    views = [*parents, *([child] if child >= 0 else [])]
    return (rows.seen[views] != NONE).all(axis=0) & (rows.y >= 0)


def probability(rows, i, r, c, w, concentration, alpha=None, pseudo_count=0.0):
    """P of row r under class c in chain i, when the rows weigh w. concentration: by level, or alpha for Laplace."""
    child, parents = CHAINS[i]
    seen, w = rows.seen, w * full(rows, i)
    if child >= 0:
        if seen[child, r] == NONE:
            return 1.0
        hit, v, own = seen[child] == seen[child, r], VIEWS[child][1], rows.y == c
        p = (w[hit].sum() + 1 / v) / (w.sum() + 1)
    else:
        hit, v, own = rows.y == c, rows.K, np.ones(rows.n, bool)
        p = (w[hit].sum() + 1 / v) / (w.sum() + 1)
    context = own
    for level in range(len(parents) + 1):
        if level:
            at = seen[parents[level - 1]]
            if at[r] == NONE:
                break
            context = context & (at == at[r])
        above, below = w[context & hit].sum(), w[context].sum()
        if alpha is not None:
            p = (above + alpha) / (below + alpha * v) if below + alpha * v > 0 else 1 / v
        elif child >= 0:
            s = concentration[level] * p + pseudo_count / rows.K
            p *= (above + s) / (below * p + s)
        elif level:
            p = (above + concentration[level] * p) / (below + concentration[level])
    return p


@pytest.fixture(params=[0, 1, 2], ids=["base", "avx2", "avx512"])
def isa(request):
    _core.limit_isa(request.param)
    if _core.isa() != request.param:
        pytest.skip("not on this processor")
    yield request.param
    _core.limit_isa(2)


@pytest.fixture
def chains():
    return _core.Chains(*description())


def learn(chains, counts, codes, y, w, grid, rows, alpha, planes, plane, scale, strengths=None, pseudo_count=0.0):
    smoothing = _core.ChainSmoothing(grid, rows, alpha, pseudo_count, strengths)
    return chains.learn(counts, codes, y, w, smoothing, _core.ChainOutputs(planes, plane, scale))


def terms(chains, logs, codes, planes, plane, scale):
    return chains.terms(logs, codes, _core.ChainOutputs(planes, plane, scale))


# ---- right -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("weights", [False, True])
def test_counts(chains, dtype, weights):
    rows = Rows(dtype=dtype, weights=weights)
    rows.y[::7] = -1  # of no class
    found, first = rows.counted(chains), 0
    for i, (child, parents) in enumerate(CHAINS):
        views = [*parents, *([child] if child >= 0 else [])]
        sizes = [VIEWS[v][1] for v in views]
        here = full(rows, i)
        want = np.zeros((*sizes, rows.K))
        np.add.at(want, (*rows.seen[views][:, here], rows.y[here]), rows.weight[here])
        cells = int(np.prod(sizes))
        np.testing.assert_allclose(found[first : first + cells], want.reshape(cells, rows.K), rtol=1e-14)
        first += cells
    assert first == chains.cells
    before = found.copy()
    chains.count(rows.codes, rows.y, rows.w, found)
    np.testing.assert_allclose(found, 2 * before)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize(("K", "dtype", "weights"), [(3, np.uint8, False), (2, np.uint16, True), (5, np.uint32, True)])
@pytest.mark.parametrize("pseudo_count", [0.0, 1.0])
@pytest.mark.parametrize(("n", "missing"), [(120, 0.1), (400, 0.0)])  # complete rows are joined
def test_logs_and_left_out_terms(chains, K, dtype, weights, pseudo_count, n, missing):
    rows = Rows(n=n, K=K, dtype=dtype, weights=weights, missing=missing)
    counts = rows.counted(chains)
    strengths, logs, left = learn(
        chains, counts, rows.codes, rows.y, rows.w, GRID, 1000, 1.0, len(CHAINS), PLANE, ONES, pseudo_count=pseudo_count
    )
    assert logs.shape == (chains.orders, K)
    assert logs.dtype == left.dtype == np.float32
    scored = terms(chains, logs, rows.codes, len(CHAINS), PLANE, ONES)
    for i, (child, parents) in enumerate(CHAINS):
        concentration = strengths[concentrations_of(i)]
        assert len(concentration) == len(parents) + 1
        assert set(concentration[child < 0 :].tolist()) <= set(GRID.tolist())
        for r in range(0, rows.n, n // 17):
            less = rows.weight.copy()
            less[r] -= min(less[r], 1.0)
            for c in range(K):
                want = [
                    np.log(probability(rows, i, r, c, w, concentration, pseudo_count=pseudo_count))
                    for w in (rows.weight, less)
                ]
                np.testing.assert_allclose([scored[i, r, c], left[i, r, c]], want, atol=3e-5)


@pytest.mark.parametrize("pseudo_count", [0.0, 1.0])
def test_strengths_are_the_best_of_the_grid(chains, pseudo_count):
    """By the leave-one-out log-likelihood of the own class, level by level."""
    rows = Rows(n=150)
    strengths, _, _ = learn(
        chains,
        rows.counted(chains),
        rows.codes,
        rows.y,
        None,
        GRID,
        1000,
        1.0,
        len(CHAINS),
        PLANE,
        ONES,
        pseudo_count=pseudo_count,
    )
    for i in (0, 2, 6):
        child, parents = CHAINS[i]
        concentration = strengths[concentrations_of(i)].copy()
        for level in range(child < 0, len(parents) + 1):
            sums = []
            for a in GRID:
                tried = np.append(
                    concentration[:level], [a] + [1e12] * (len(parents) - level)
                )  # what comes later adds nothing
                total = 0.0
                for r in range(rows.n):
                    views = [*parents[:level], *([child] if child >= 0 else [])]
                    if (rows.seen[views, r] == NONE).any() if views else False:
                        continue
                    less = np.ones(rows.n)
                    less[r] = 0
                    same = (
                        full(rows, i)
                        & (less > 0)
                        & (rows.seen[list(parents[:level])] == rows.seen[list(parents[:level]), r][:, None]).all(axis=0)
                    )
                    if not (same & (rows.y == rows.y[r]) if child >= 0 else same).any():
                        continue  # no other row is there: nothing to choose by
                    total += np.log(probability(rows, i, r, rows.y[r], less, tried, pseudo_count=pseudo_count))
                sums.append(total)
            assert sums[GRID.tolist().index(concentration[level])] >= max(sums) - 1e-3


def test_given_strengths(chains):
    rows = Rows(n=60)
    counts = rows.counted(chains)
    given = np.random.default_rng(1).choice([0.0, 0.3, 7.0], len(CHAINS) + sum(len(p) for _, p in CHAINS))
    same, logs, left = learn(chains, counts, rows.codes, rows.y, None, GRID, 0, 1.0, len(CHAINS), PLANE, ONES, given)
    np.testing.assert_array_equal(same[1:], given[1:])
    scored = terms(chains, logs, rows.codes, len(CHAINS), PLANE, ONES)
    for i in range(len(CHAINS)):
        concentration = given[concentrations_of(i)]
        for r in range(0, rows.n, 5):
            p = [probability(rows, i, r, c, rows.weight, np.maximum(concentration, 1e-30)) for c in range(rows.K)]
            np.testing.assert_allclose(np.maximum(scored[i, r], -60), np.maximum(np.log(p), -60), atol=3e-5)
    assert np.isfinite(left).all()
    # the rows that are asked need not be all that were counted
    some = np.ascontiguousarray(rows.codes[:, 7:30])
    _, _, part = learn(chains, counts, some, rows.y[7:30], None, GRID, 0, 1.0, len(CHAINS), PLANE, ONES, given)
    np.testing.assert_array_equal(part, left[:, 7:30])


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("alpha", [1.0, 0.3, 0.0])
def test_laplace(chains, alpha):
    rows = Rows(n=60)
    counts = rows.counted(chains)
    _, floats, left = learn(chains, counts, rows.codes, rows.y, None, NO_GRID, 0, alpha, len(CHAINS), PLANE, ONES)
    logs = chains.laplace(counts, alpha)
    scored = terms(chains, logs, rows.codes, len(CHAINS), PLANE, ONES)
    np.testing.assert_allclose(np.maximum(floats, -60), np.maximum(logs, -60), atol=1e-5)  # floats have no log 0
    for i in range(len(CHAINS)):
        for r in range(0, rows.n, 5):
            less = np.ones(rows.n)
            less[r] = 0
            for c in range(rows.K):
                p, q = (probability(rows, i, r, c, w, None, alpha) for w in (rows.weight, less))
                np.testing.assert_allclose(np.exp(scored[i, r, c]), p, rtol=1e-12)
                if q > 0:
                    np.testing.assert_allclose(left[i, r, c], np.log(q), atol=3e-5)


def test_laplace_equals_families_to_the_last_bit():
    """The columns themselves, without missing values: FamilyNetwork's logs."""
    rng = np.random.default_rng(3)
    codes = np.stack([rng.integers(0, s, 90) for s in SIZES]).astype(np.uint8)
    y = rng.integers(0, 3, 90).astype(np.int32)
    views = [(j, s, (*range(s), NONE)) for j, s in enumerate(SIZES)]
    sets, sizes = [(0, 1), (0, 2), (1, 2), (0, 1, 2)], np.array(SIZES, np.int64)
    columns = np.array([j for own in sets for j in own], np.int32)
    starts = np.cumsum([0, *map(len, sets)]).astype(np.int64)
    joint = np.zeros((3, sum(int(np.prod(sizes[list(own)])) for own in sets)), np.uint32)
    _core.count_tables(codes, y, None, sizes, columns, starts, joint)
    single = np.concatenate(
        [[np.bincount(c[y == k], minlength=s) for k in range(3)] for c, s in zip(codes, SIZES, strict=True)], axis=1
    ).astype(float)
    families = [(0, (), ()), (1, (0,), (0,)), (2, (0, 1), (1, 3))]  # child, parents, table of each level
    for alpha in (1.0, 0.7, 0.0):
        counted = _core.JointCounts(single, joint, np.ones(3), sizes, columns, starts, sizes.astype(float), alpha)
        logs, offsets = _core.Families(
            counted,
            np.array([f[0] for f in families], np.int32), np.array([p for f in families for p in f[1]], np.int32),
            np.array([0, 0, 1, 3], np.int64), np.array([t for f in families for t in f[2]], np.int64),
        ).logs(None)  # fmt: skip
        own = _core.Chains(*description(views, [(j, p) for j, p, _ in families]))
        counts = np.zeros((own.cells, 3), np.uint32)
        own.count(codes, y, None, counts)
        found, first = own.laplace(counts, alpha), 0
        for i, (j, parents, _) in enumerate(families):
            bins = np.cumprod([SIZES[j], *(SIZES[p] for p in parents)])
            last = first + int(bins.sum())  # the longest level comes last
            np.testing.assert_array_equal(found[last - int(bins[-1]) : last], logs[offsets[i] : offsets[i + 1]])
            first = last


@pytest.mark.parametrize("k", [1, 2, 3, 7, 50])
def test_the_evidence_of_a_rare_value_is_bounded_by_its_rows(k):
    """k rows of one class multiply the odds by 2 k + 1 at most where the classes are as many; without a row besides, by
    whatever the strength of frequent values says."""
    one = _core.Chains(*description([(0, 3, (0, 1, 2, NONE))], [(0, ())], 1))
    y = (np.arange(4000) % 2).astype(np.int32)
    codes = (np.arange(4000) // 2 % 2).astype(np.uint8)[None].copy()
    codes[0, np.flatnonzero(y == 1)[:k]] = 2
    counts = np.zeros((one.cells, 2), np.uint32)
    one.count(codes, y, None, counts)
    plane, scale = np.zeros(1, np.int32), np.ones(1)
    for pseudo_count in (0.0, 1.0):
        _, logs, _ = learn(one, counts, codes, y, None, GRID, 1000, 1.0, 1, plane, scale, pseudo_count=pseudo_count)
        says = float(logs[2, 1] - logs[2, 0])
        assert (0 < says <= np.log(2 * k + 1) + 1e-6) if pseudo_count else says > 0
    with pytest.raises(ValueError, match="pseudo_count"):
        _core.ChainSmoothing(GRID, 10, 1.0, -1.0)


# ---- planes ------------------------------------------------------------------------------------------------------
@pytest.mark.usefixtures("isa")
def test_planes_and_scales(chains):
    rows = Rows(n=70)
    counts = rows.counted(chains)
    learned = (rows.codes, rows.y, None, GRID, 1000, 1.0)
    _, logs, each = learn(chains, counts, *learned, len(CHAINS), PLANE, ONES)
    alone = terms(chains, logs, rows.codes, len(CHAINS), PLANE, ONES)
    plane, scale = np.array([0, 2, 2, 0, 2, 0, 2, 0], np.int32), np.linspace(-1, 2, len(CHAINS))
    _, again, left = learn(chains, counts, *learned, 3, plane, scale)
    together = terms(chains, logs, rows.codes, 3, plane, scale)
    np.testing.assert_array_equal(again, logs)
    for p in range(3):
        own = plane == p
        np.testing.assert_allclose(together[p], np.tensordot(scale[own], alone[own], 1), atol=1e-12)
        np.testing.assert_allclose(left[p], np.tensordot(scale[own], each[own], 1), atol=2e-5)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("n", [70, 600])  # few rows, and those of whole chains at a time
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
@pytest.mark.usefixtures("isa")
def test_few_rows_score_as_among_many(chains, dtype, n, K):
    rows = Rows(n=n, K=K, dtype=dtype)
    _, logs, _ = learn(
        chains,
        rows.counted(chains),
        rows.codes,
        rows.y,
        None,
        GRID,
        1000,
        1.0,
        len(CHAINS),
        PLANE,
        ONES,
        pseudo_count=1.0,
    )
    whole = terms(chains, logs, rows.codes, len(CHAINS), PLANE, ONES)
    for few in (1, 3, 4, 5):
        for first in range(0, 60, few):
            some = np.ascontiguousarray(rows.codes[:, first : first + few])
            np.testing.assert_array_equal(
                terms(chains, logs, some, len(CHAINS), PLANE, ONES), whole[:, first : first + few]
            )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_each_parent_adds(chains, dtype):
    rows = Rows(n=70)
    counts = rows.counted(chains)
    _, logs, _ = learn(chains, counts, rows.codes, rows.y, None, GRID, 1000, 1.0, len(CHAINS), PLANE, ONES)
    logs = logs.astype(dtype)
    whole = terms(chains, logs, rows.codes, len(CHAINS), PLANE, ONES)
    for i in (2, 5, 7):
        plane, scale = np.zeros(len(CHAINS), np.int32), np.zeros(len(CHAINS))
        plane[i], scale[i] = -1, 1.5
        found = terms(chains, logs, rows.codes, 4, plane, scale)  # three columns, and what is left
        np.testing.assert_allclose(found.sum(axis=0), 1.5 * whole[i], atol=1e-12)
        first = sum(
            int(np.cumprod([VIEWS[c][1] if c >= 0 else 1, *(VIEWS[v][1] for v in p)]).sum()) for c, p in CHAINS[:i]
        )
        np.testing.assert_array_equal(found[3], np.tile(1.5 * logs[first].astype(float), (rows.n, 1)))
        untouched = set(range(3)) - {VIEWS[v][0] for v in CHAINS[i][1]}
        assert not found[sorted(untouched)].any()


# ---- the same whatever the machine -------------------------------------------------------------------------------
def test_instruction_sets_agree(chains):
    rows, found = Rows(n=5000, weights=True), []
    try:
        for isa in (0, 1, 2):
            _core.limit_isa(isa)
            counts = rows.counted(chains)
            learned = learn(
                chains, counts, rows.codes, rows.y, rows.w, GRID, 1000, 1.0, len(CHAINS), PLANE, ONES, pseudo_count=1.0
            )
            found.append((counts, *learned, terms(chains, learned[1], rows.codes, len(CHAINS), PLANE, ONES)))
    finally:
        _core.limit_isa(2)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def digest():
    import hashlib

    h = hashlib.blake2b()
    rows, chains = Rows(n=9000), _core.Chains(*description())
    counts = rows.counted(chains)
    learned = learn(chains, counts, rows.codes, rows.y, None, GRID, 1000, 1.0, 3, PLANE % 3, ONES)
    for a in (counts, *learned, chains.laplace(counts, 1.0), terms(chains, learned[1], rows.codes, 3, PLANE % 3, ONES)):
        h.update(a.tobytes())
    return h.hexdigest()


def test_any_number_of_threads_gives_the_same_bits():
    run = "from tests.ensemble.test_back_off_core import digest; print(digest())"
    found = {
        subprocess.run(
            [sys.executable, "-c", run],
            env={**os.environ, "OMP_NUM_THREADS": n},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for n in ("1", "2", "3")
    }
    assert len(found) == 1


def test_weights_of_any_size(chains):
    """A float has no room for them; shares are what they were."""
    rows = Rows(n=80, weights=True)
    base = None
    for factor in (1e6, 1e30, 1e45, 1e200):
        counts = rows.counted(chains) * factor
        args = (rows.codes, rows.y, rows.w * factor, GRID, 1000, 1.0, len(CHAINS), PLANE, ONES)
        strengths = np.zeros(len(CHAINS) + sum(len(p) for _, p in CHAINS))
        _, logs, left = learn(chains, counts, *args, strengths)
        assert np.isfinite(logs).all()
        assert np.isfinite(left).all()
        base = logs if base is None else base
        np.testing.assert_allclose(np.maximum(logs, -10), np.maximum(base, -10), atol=1e-3)
    tiny = rows.counted(chains) * 1e-300
    _, logs, left = learn(chains, tiny, rows.codes, rows.y, rows.w * 1e-300, GRID, 1000, 1.0, len(CHAINS), PLANE, ONES)
    assert np.isfinite(logs).all()
    assert np.isfinite(left).all()


# ---- safe --------------------------------------------------------------------------------------------------------
BAD = [
    (1, [9, 1, 2, 1, 0], "no column"),
    (1, [-1, 1, 2, 1, 0], "no column"),
    (2, [0, 6, 11, 18, 23], "a start and bins"),
    (2, [0, 6, 6, 18, 23, 29], "no map"),
    (2, [1, 6, 11, 18, 23, 29], "start"),
    (2, [0, 6, 11, 18, 23, 40], "no map"),
    (2, [0, 6, 11, 18, 23, -1], "no map"),
    (2, [0, 6, 11, 40, 23, 29], "no map"),
    (4, [5, 5, 3, 4, 0], "1 to 254"),
    (4, [5, 5, 3, 4, 255], "1 to 254"),
    (4, [5, 5, 2, 4, 3], "bin is not there"),
    (4, [5, 5], "bins"),
    (5, [5, 2, -1, 2, 0, -1, 4, -1], "child"),
    (5, [-2, 2, -1, 2, 0, -1, 4, -1], "child"),
    (5, [0], "parent_start"),
    (6, [5] * 11, "parent"),
    (6, [-1] * 11, "parent"),
    (6, [0], "parent_start"),
    (7, [0, 2, 1, 5, 5, 7, 10, 11, 11], "fall"),
    (7, [0, 2, 3, 5, 5, 7, 10, 11, 12], "end with"),
    (7, [1, 2, 3, 5, 5, 7, 10, 11, 11], "parent_start"),
    (7, [], "parent_start"),
]


@pytest.mark.parametrize(("which", "value", "message"), BAD)
def test_descriptions_that_are_none(which, value, message):
    good = description()
    good[which] = np.array(value, good[which].dtype)
    with pytest.raises(ValueError, match=message):
        _core.Chains(*good)


def test_too_many_cells():
    views = [(0, 200, (*range(200), NONE)), (0, 1, (0, NONE))]
    for parents in ((0, 0, 0, 0), (0, 0, 0, *[1] * 300)):  # the second has few cells, but 300 levels of them
        with pytest.raises(Exception, match="too many cells"):
            _core.Chains(*description(views, [(0, parents)], 1))


@pytest.mark.parametrize("which", range(1, 8))
def test_descriptions_of_other_types(which):
    good = description()
    good[which] = good[which].astype(np.float32)
    with pytest.raises(TypeError):
        _core.Chains(*good)


def test_arguments_that_do_not_fit(chains):
    rows = Rows(n=20)
    counts = rows.counted(chains)
    n, strengths = len(CHAINS), np.ones(len(CHAINS) + sum(len(p) for _, p in CHAINS))
    good = {
        "counts": counts, "codes": rows.codes, "y": rows.y, "w": None, "grid": GRID, "rows": 9, "alpha": 1.0,
        "planes": n, "plane": PLANE, "scale": ONES, "strengths": None,
    }  # fmt: skip
    _, logs, _ = learn(chains=chains, **good)

    def put(a, v):
        b = a.copy()
        b[0] = v
        return b

    bad = {
        "counts": [counts[:-1], counts.astype(np.int64), counts.astype(np.float32), counts[:, :1], counts.T],
        "codes": [rows.codes[:2], rows.codes.astype(np.int8), rows.codes.astype(float), rows.codes[0], rows.codes.T],
        "y": [rows.y[:-1], put(rows.y, 3), rows.y.astype(np.int64), rows.y[:, None]],
        "w": [np.ones(19), np.full(20, -1.0), np.full(20, np.nan), np.full(20, np.inf), np.ones(20, np.float32)],
        "grid": [put(GRID, np.nan), put(GRID, -1.0), put(GRID, np.inf), GRID.astype(np.float32)],
        "rows": [-1],
        "alpha": [-1.0, np.nan, np.inf],
        "planes": [0, n - 1, -1],
        "plane": [put(PLANE, n), put(PLANE, -1), PLANE[1:], PLANE.astype(np.int64), put(PLANE, 2**31 - 1)],
        "scale": [ONES[1:], ONES.astype(np.float32)],
        "strengths": [strengths[1:], put(strengths, -1.0), put(strengths, np.nan), put(strengths, np.inf)],
    }
    for name, values in bad.items():
        for value in values:
            with pytest.raises((ValueError, TypeError)):
                learn(chains=chains, **{**good, name: value})
    good = {"logs": logs, "codes": rows.codes, "planes": n, "plane": PLANE, "scale": ONES}
    bad = {name: bad[name] for name in ("codes", "planes", "plane", "scale")}
    bad["logs"] = [logs[:-1], logs.astype(np.float16), logs.T, logs.astype(np.int32)]
    bad["plane"].append(np.full(n, -1, np.int32))  # a chain of a child has no parents that add
    for name, values in bad.items():
        for value in values:
            with pytest.raises((ValueError, TypeError)):
                terms(chains=chains, **{**good, name: value})
    for value in (counts[:-1], counts.astype(np.float32), counts.astype(float)[::2]):
        with pytest.raises((ValueError, TypeError)):
            chains.laplace(value, 1.0)
    for alpha in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="alpha"):
            chains.laplace(counts, alpha)
    frozen = counts.copy()
    frozen.flags.writeable = False
    for out in (counts[:-1], counts.astype(np.int64), frozen, counts.T):
        with pytest.raises((ValueError, TypeError)):
            chains.count(rows.codes, rows.y, None, out)
    with pytest.raises(ValueError, match="float64"):
        chains.count(rows.codes, rows.y, np.ones(20), counts)


def test_nothing_at_all():
    none = _core.Chains(*description(chains=[]))
    assert (none.cells, none.orders) == (0, 0)
    empty = np.empty(0, np.int32)
    rows = Rows(n=4)
    strengths, logs, left = learn(
        none, rows.counted(none), rows.codes, rows.y, None, GRID, 9, 1.0, 2, empty, np.empty(0)
    )
    assert strengths.shape == (0,)
    assert logs.shape == (0, 3)
    assert not left.any()
    chains, nobody = _core.Chains(*description()), Rows(n=0)
    counts = nobody.counted(chains)
    _, logs, left = learn(chains, counts, nobody.codes, nobody.y, None, GRID, 9, 1.0, len(CHAINS), PLANE, ONES)
    assert left.shape == (len(CHAINS), 0, 3)
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(chains.laplace(counts, 0.0)[:5], np.log(1 / 5))
