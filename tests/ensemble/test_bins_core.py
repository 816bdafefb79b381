"""Random coarse bins of counted levels: the compiled function against loops that draw the same random numbers."""

import itertools
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes import _core
from tests.quick import examples

MASK = (1 << 64) - 1


# ---- slow and obvious --------------------------------------------------------------------------------------
class SplitMix:
    def __init__(self, seed, member, column):
        self.state = seed
        self.state = self.next() ^ member
        self.state = self.next() ^ column
        self.state = self.next()

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def uniform(self):
        return ((self.next() >> 11) + 0.5) * 2.0**-53

    def half_of(self, n):
        if n > 4096:
            z = (sum(self.next().bit_count() for _ in range(64)) - 2048) / 32
            return min(max(math.floor(n / 2 + z * math.sqrt(n) / 2 + 0.5), 0), n)
        ones = sum(self.next().bit_count() for _ in range(n // 64))
        return ones + ((self.next() >> (64 - n % 64)).bit_count() if n % 64 else 0)


def entropy(n):
    p = n[n > 0] / n.sum()
    return -(p * np.log2(p)).sum()


def mdl_cuts(count, depth):
    """The levels (columns of count) before which there is a cut."""
    levels = np.flatnonzero(count.sum(axis=0) > 0)
    total = count[:, levels].sum(axis=1)
    n = total.sum()
    if depth == 0 or n < 4 or len(levels) < 2:
        return []
    best, at = math.inf, None
    for i in range(1, len(levels)):
        left = count[:, levels[:i]].sum(axis=1)
        e = (left.sum() * entropy(left) + (n - left.sum()) * entropy(total - left)) / n
        if e < best - 1e-9:
            best, at = e, i
    left, right = count[:, levels[:at]].sum(axis=1), count[:, levels[at:]].sum(axis=1)
    k, k1, k2 = (total > 0).sum(), (left > 0).sum(), (right > 0).sum()
    delta = math.log2(3.0**k - 2) - (k * entropy(total) - k1 * entropy(left) - k2 * entropy(right))
    if not entropy(total) - best > (math.log2(n - 1) + delta) / n:
        return []
    before, after = count.copy(), count.copy()
    before[:, levels[at] :] = 0
    after[:, : levels[at]] = 0
    return [*mdl_cuts(before, depth - 1), int(levels[at]), *mdl_cuts(after, depth - 1)]


def equal_weight_cuts(weight, q, phase):
    levels = [v for v in range(len(weight)) if weight[v] > 0]
    total = sum(weight[v] for v in levels)
    heavy = {v: len(levels) <= q or weight[v] >= total / q for v in levels}
    light = sum(weight[v] for v in levels if not heavy[v])
    width = light / max(1, q - sum(heavy.values())) if light > 0 else 1.0
    filled, cuts = width * phase, []
    for v, following in itertools.pairwise(levels):
        if not heavy[v]:
            filled += weight[v]
        if filled >= width or heavy[v] or heavy[following]:
            cuts.append(following)
        filled %= width
    return cuts


def from_cuts(cuts, levels):
    cuts = cuts[:63]
    return [sum(c <= v for c in cuts) for v in range(levels)], len(cuts) + 1


def frequent(weight, most):
    levels = [v for v in range(len(weight)) if weight[v] > 0]
    if len(levels) > most:
        keep = sorted(sorted(levels, key=lambda v: (-weight[v], v))[: most - 1])
        bins = most
    else:
        keep, bins = levels, max(len(levels), 1)
    return [keep.index(v) if v in keep else bins - 1 for v in range(len(weight))], bins


def turn_of(seed, members, j, k, choices, mdl_share):
    """Which of the numbers of bins, the phase, and whether classes cut the column, in its turn k."""
    column = SplitMix(seed, members, j)
    u, v, up = column.uniform(), column.uniform(), column.uniform()
    by_class = [int((t + 1) * mdl_share + up) > int(t * mdl_share + up) for t in range(k + 1)]
    plain = k - sum(by_class[:k])
    one, two = (math.sqrt(5) - 1) / 2, math.sqrt(2) - 1
    return int((u + plain * one) % 1.0 * choices), (v + plain * two) % 1.0, by_class[k]


def draw(count, sizes, ordered, turn, low, high, mdl_share, seed):
    members = len(turn)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    maps, bins = np.zeros((members, starts[-1]), np.uint8), np.zeros((members, len(sizes)), np.int32)
    for m in range(members):
        for j, size in enumerate(sizes):
            n = count[:, starts[j] : starts[j + 1]]
            random = SplitMix(seed, m, j)
            step, phase, by_class = turn_of(seed, members, j, turn[m, j], high - low + 1, mdl_share)
            q = low + step
            if ordered[j]:
                cuts = []
                if by_class:
                    half = np.zeros(n.shape)
                    for v in range(size):
                        for c in range(len(n)):
                            half[c, v] = random.half_of(math.ceil(n[c, v])) if n[c, v] > 0 else 0
                    cuts = mdl_cuts(half, 5)
                found = from_cuts(cuts or equal_weight_cuts(n.sum(axis=0), q, phase), size)
            else:
                found = frequent(n.sum(axis=0), min(max(2 * q, 8), 24))
            maps[m, starts[j] : starts[j + 1]], bins[m, j] = found
    return maps, bins


def in_turn(members, columns=1):
    return np.tile(np.arange(members, dtype=np.int32)[:, None], (1, columns))


# ---- tables ------------------------------------------------------------------------------------------------
def table(rng, C, sizes, most=40, whole=True):
    count = rng.integers(0, most, (C, sum(sizes))) * (rng.random((C, sum(sizes))) < 0.6)
    count = count * np.exp(rng.normal(size=count.shape[1]) * 0.7)
    count[: C // 2] *= np.linspace(0, 2, count.shape[1])  # so that levels tell classes apart
    return np.floor(count) if whole else count


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_equals_the_loops(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    sizes = rng.integers(0, 60, data.draw(st.integers(0, 4)))
    ordered = rng.random(len(sizes)) < 0.7
    count = table(rng, data.draw(st.integers(1, 4)), sizes, whole=data.draw(st.booleans()))
    low = data.draw(st.integers(1, 12))
    arguments = (
        count,
        sizes,
        ordered,
        rng.integers(0, 3, (3, len(sizes)), dtype=np.int32),
        low,
        low + data.draw(st.integers(0, 8)),
        data.draw(st.sampled_from([0, 0.5, 1])),
    )
    seed = data.draw(st.integers(0, MASK))
    maps, bins = _core.draw_bins(*arguments, seed)
    maps0, bins0 = draw(*arguments, seed)
    assert np.array_equal(bins, bins0)
    assert np.array_equal(maps, maps0)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("depth", [0, 1, 3, 5])
def test_mdl_bins_equal_the_loops(depth, whole):
    rng = np.random.default_rng(depth)
    several = 0
    for C in (1, 2, 3, 8):
        for size in (0, 1, 2, 17, 90):
            count = table(rng, C, [size], most=200, whole=whole)
            got, bins = _core.mdl_bins(count, depth)
            expected, bins0 = from_cuts(mdl_cuts(count, depth), size)
            assert bins == bins0
            assert got.tolist() == expected
            several += bins > 2
    assert several > 2 or depth < 2


@pytest.mark.parametrize("mdl_share", [0.0, 0.5, 1.0])
def test_laws(mdl_share):
    rng = np.random.default_rng(3)
    sizes = np.array([255, 1, 40, 300, 3, 0, 30])
    ordered = np.array([True, True, True, True, True, True, False])
    count = table(rng, 3, sizes, most=60)
    maps, bins = _core.draw_bins(count, sizes, ordered, in_turn(20, len(sizes)), 4, 9, mdl_share, 11)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    assert maps.shape == (20, sizes.sum())
    assert bins.shape == (20, 7)
    for j, size in enumerate(sizes):
        part = maps[:, starts[j] : starts[j + 1]]
        weight = count[:, starts[j] : starts[j + 1]].sum(axis=0)
        for m in range(20):
            if size:
                assert np.array_equal(
                    np.unique(part[m][weight > 0]), np.arange(bins[m, j])
                )  # every bin holds something
            else:
                assert bins[m, j] == 1
            if ordered[j]:
                assert (np.diff(part[m].astype(int)) >= 0).all()
    assert bins.max() <= 64
    assert (bins[:, 1] == 1).all()
    assert len({maps[m, :255].tobytes() for m in range(20)}) > 2  # members differ
    again = _core.draw_bins(count, sizes, ordered, in_turn(20, len(sizes)), 4, 9, mdl_share, 11)
    assert np.array_equal(again[0], maps)
    assert not np.array_equal(
        _core.draw_bins(count, sizes, ordered, in_turn(20, len(sizes)), 4, 9, mdl_share, 12)[0], maps
    )


def test_members_share_a_column_evenly():
    """Exactly half are cut by class; the others have all numbers of bins, nearly as often, and no two phases alike."""
    count = np.zeros((2, 240))
    count[0, :100] = count[1, 100:] = 60.0  # one cut tells all
    for seed in range(5):
        maps, bins = _core.draw_bins(count, np.array([240]), np.array([True]), in_turn(24), 4, 9, 0.5, seed)
        by_class = bins[:, 0] == 2
        assert by_class.sum() == 12
        assert (np.diff(maps[by_class].astype(int), axis=1).argmax(axis=1) == 99).all()
        width = np.array([np.bincount(m)[1:-1].max() for m in maps[~by_class]])  # of a whole bin
        often = np.bincount(np.abs(width[:, None] - 240 / np.arange(4, 10)).argmin(axis=1), minlength=6)
        assert often.min() >= 1
        assert often.max() <= 3
        assert len({m.tobytes() for m in maps[~by_class]}) == 12


def test_equal_weights_when_no_level_is_heavy():
    _, bins = _core.draw_bins(np.ones((1, 200)), np.array([200]), np.array([True]), in_turn(50), 10, 10, 0.0, 1)
    assert set(bins.ravel().tolist()) == {10, 11}  # the random phase may cut one in two
    maps, _ = _core.draw_bins(np.ones((1, 200)), np.array([200]), np.array([True]), in_turn(1), 10, 10, 0.0, 1)
    assert set(np.bincount(maps[0])[1:-1].tolist()) == {20}


def test_more_bins_than_fit_are_one():
    maps, bins = _core.draw_bins(np.ones((2, 255)), np.array([255]), np.array([True]), in_turn(10), 64, 64, 0.0, 1)
    assert (bins == 64).all()
    assert maps.max() == 63


def test_a_column_without_rows_is_one_bin():
    for ordered in (True, False):
        maps, bins = _core.draw_bins(np.zeros((2, 5)), np.array([5]), np.array([ordered]), in_turn(3), 4, 8, 0.5, 0)
        assert not maps.any()
        assert (bins == 1).all()


def test_huge_weights():
    count = np.array([[1e300, 0, 3e12, 5.5], [1e300, 7e15, 0, 1e-300]])
    for share in (0.0, 1.0):
        maps, bins = _core.draw_bins(count, np.array([4]), np.array([True]), in_turn(4), 2, 3, share, 0)
        assert maps.max() < bins.max() <= 4


def test_same_bits_for_any_number_of_threads():
    code = (
        "import sys; import numpy as np; from tallybayes import _core\n"
        "count = np.random.default_rng(0).poisson(3.0, (3, 600)).astype(float)\n"
        "turn = np.tile(np.arange(20, dtype=np.int32)[:, None], (1, 6))\n"
        "out = _core.draw_bins(count, np.full(6, 100), np.ones(6, bool), turn, 4, 9, 0.5, 5)\n"
        "for a in out: sys.stdout.buffer.write(a.tobytes())"
    )

    def run(threads):
        env = {**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True).stdout

    assert run(1) == run(3)


# ---- wrong arguments ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, np.ones((2, 6)), "count"),
        (0, np.full((2, 7), np.nan), "weight"),
        (0, -np.ones((2, 7)), "weight"),
        (1, np.array([8, -1]), "sizes"),
        (2, np.array([True]), "ordered"),
        (3, in_turn(2, 1), "turn"),
        (3, -in_turn(2, 2), "turn"),
        (4, 0, "low"),
        (4, 9, "low"),
        (5, 65, "high"),
        (6, 1.5, "mdl_share"),
        (6, math.nan, "mdl_share"),
    ],
)
def test_wrong_arguments_are_named(place, value, message):
    arguments = [np.ones((2, 7)), np.array([3, 4]), np.array([True, False]), in_turn(2, 2), 3, 5, 0.5, 0]
    _core.draw_bins(*arguments)
    arguments[place] = value
    with pytest.raises(ValueError, match=message):
        _core.draw_bins(*arguments)


def test_wrong_arguments_of_mdl_bins():
    with pytest.raises(ValueError, match="depth"):
        _core.mdl_bins(np.ones((2, 3)), 7)
    with pytest.raises(ValueError, match="weight"):
        _core.mdl_bins(-np.ones((2, 3)), 2)
