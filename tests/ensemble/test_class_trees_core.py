"""Class trees grown split by split: the compiled function against a loop over rows."""

import math
import os
import subprocess
import sys
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes import _core
from tests.quick import examples

GRID = np.array([0.5, 2.0, 8.0, 32.0, 128.0])


# ---- slow and obvious --------------------------------------------------------------------------------------
def after(keys, y, w, p, a):
    """Leave-one-out estimates of the true classes in leaves `keys` (None: in no leaf)."""
    n, total = defaultdict(float), defaultdict(float)
    for key, c, weight in zip(keys, y, w, strict=True):
        if key is not None:
            n[key, c] += weight
            total[key] += weight
    out = []
    for key, c, weight, before in zip(keys, y, w, p, strict=True):
        unit = min(weight, 1.0)
        if key is None or total[key] - unit <= 1e-9:
            out.append(before)
        else:
            out.append((n[key, c] - unit + a * before) / (total[key] - unit + a))
    return out


def likelihood(w, p):
    return sum(weight * math.log(q) for weight, q in zip(w, p, strict=True))


def grow(codes, y, w, classes, column, maps, bins, candidates, grid, most_cells):
    """Chosen splits, and by how much each choice was nearest to falling out otherwise."""
    missing = np.iinfo(codes.dtype).max
    rows = [t for t in range(len(y)) if y[t] >= 0 and (w is None or w[t] > 0)]
    labels = [int(y[t]) for t in rows]
    w = [1.0 if w is None else float(w[t]) for t in rows]
    weight = [sum(v for v, c in zip(w, labels, strict=True) if c == k) for k in range(classes)]
    chosen = np.full(candidates.shape[:2], -1, np.int32)
    closest = math.inf
    for m in range(len(candidates)):
        p = [
            (weight[c] - min(v, 1.0) + 1 / classes) / (sum(w) - min(v, 1.0) + 1) for c, v in zip(labels, w, strict=True)
        ]
        keys, cells = [()] * len(rows), classes
        for level in range(candidates.shape[1]):
            found = []
            for s in candidates[m, level]:
                if s < 0 or cells * bins[s] > most_cells:
                    continue
                new = []
                for key, t in zip(keys, rows, strict=True):
                    v = codes[column[s], t]
                    b = maps[s, -1] if v == missing else maps[s, v]
                    new.append(None if key is None or b == 255 else (*key, int(b)))
                for a in grid:
                    q = after(new, labels, w, p, a)
                    found.append((likelihood(w, q), s, new, q))
            if not found:
                continue
            best = max(found, key=lambda f: f[0])
            gain = best[0] - likelihood(w, p)
            closest = min(
                [closest, abs(gain - 0.5)] + [best[0] - f[0] for f in found if f[1] != best[1] and f[0] < best[0]]
            )
            if gain > 0.5:
                chosen[m, level] = best[1]
                keys, p = best[2], best[3]
                cells *= bins[best[1]]
    return chosen, closest


# ---- tables ------------------------------------------------------------------------------------------------
def problem(
    rng, n, C, d=4, splits=10, members=3, depth=5, tries=3, levels=6, dtype=np.uint8, weighted=False, gaps=True
):
    codes = rng.integers(0, levels, (d, n)).astype(dtype)
    upper = (codes >= levels // 2).sum(axis=0)  # every column says a little
    y = ((upper + rng.random(n)) * C / (d + 1)).astype(np.int32)
    if gaps:
        codes[rng.random((d, n)) < 0.1] = np.iinfo(dtype).max
        y[rng.random(n) < 0.05] = -1
    w = rng.choice([0.0, 0.5, 1.0, 2.0, 3.7], n) if weighted else None
    bins = rng.integers(1, 5, splits).astype(np.int32)
    maps = np.sort(rng.integers(0, 100, (splits, levels + 1)) % bins[:, None], axis=1).astype(np.uint8)
    if gaps:
        maps[rng.random(maps.shape) < 0.1] = 255
    column = rng.integers(0, d, splits).astype(np.int32)
    candidates = rng.integers(-1, splits, (members, depth, tries)).astype(np.int32)
    return [codes, y, w, C, column, maps, bins, candidates, GRID, 1e9]


def ours(codes, y, w, C, column, maps, bins, candidates, grid, most_cells):
    return _core.grow_class_trees(
        codes, y, w, C, _core.Splits(column, maps, bins), (candidates, None), grid, most_cells
    )


def agrees(arguments):
    got = ours(*arguments)
    expected, closest = grow(*arguments)
    assert got.shape == expected.shape
    assert np.array_equal(got, expected) or closest < 1e-7
    return got


@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_equals_the_loop(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    arguments = problem(
        rng,
        data.draw(st.integers(0, 60)),
        data.draw(st.integers(1, 4)),
        dtype=data.draw(st.sampled_from([np.uint8, np.uint16, np.uint32])),
        weighted=data.draw(st.booleans()),
        gaps=data.draw(st.booleans()),
    )
    arguments[-1] = data.draw(st.sampled_from([0.0, 40.0, 1e9]))
    agrees(arguments)


@pytest.mark.parametrize("isa", [0, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_rows_and_contexts(isa, weighted):
    rng = np.random.default_rng(4)
    arguments = problem(rng, 700, 3, d=8, splits=12, depth=8, weighted=weighted)
    _core.limit_isa(isa)
    try:
        chosen = agrees(arguments)
    finally:
        _core.limit_isa(2)
    assert (chosen >= 0).sum() > 4


def test_contexts_that_must_be_numbered_anew():
    """More bins than rows: leaves are found by hashing."""
    rng = np.random.default_rng(0)
    n = 150
    codes = rng.integers(0, 60, (3, n)).astype(np.uint8)
    codes[:, 75:] = codes[:, :75]  # no row is alone
    y = np.tile(rng.integers(0, 2, 75), 2).astype(np.int32)
    maps = np.tile(np.arange(61, dtype=np.uint8), (3, 1))
    candidates = np.array([[[0, 1], [1, 2], [2, 0], [0, 1]]], np.int32)
    column, bins = np.arange(3, dtype=np.int32), np.full(3, 61, np.int32)
    chosen = agrees([codes, y, None, 2, column, maps, bins, candidates, GRID, 1e12])
    assert (chosen[0, :2] >= 0).all()


def test_an_informative_column_is_taken_and_noise_is_not():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, (2, 400)).astype(np.uint8)
    y = codes[0].astype(np.int32)
    maps = np.array([[0, 1, 255]] * 2, np.uint8)
    candidates = np.array([[[1, -1], [1, 0], [0, 1]]], np.int32)
    chosen = ours(
        codes, y, None, 2, np.array([0, 1], np.int32), maps, np.array([2, 2], np.int32), candidates, GRID, 100
    )
    assert chosen.tolist() == [[-1, 0, 0]] or chosen.tolist() == [[-1, 0, -1]]


def test_a_weight_of_two_is_the_row_twice():
    rng = np.random.default_rng(2)
    codes, y, _, *rest = problem(rng, 200, 3)
    w = rng.integers(0, 4, 200)
    again = np.repeat(np.arange(200), w)
    one = ours(codes, y, w.astype(float), *rest)
    two = ours(np.ascontiguousarray(codes[:, again]), y[again], None, *rest)
    assert np.array_equal(one, two)


def test_cells_stay_within_bounds():
    rng = np.random.default_rng(3)
    arguments = problem(rng, 500, 3, members=10, depth=8)
    free = ours(*arguments)
    bins = arguments[6]

    def cells(chosen):
        return max(3 * np.prod([bins[s] for s in row if s >= 0]) for row in chosen)

    assert cells(free) > 50
    arguments[-1] = 50
    assert 3 < cells(ours(*arguments)) <= 50


def test_extreme_strengths_weights_and_depths():
    rng = np.random.default_rng(6)
    arguments = problem(rng, 300, 4, depth=40, weighted=True)
    arguments[8] = np.array([1e-6, 1e6])
    for w in (None, arguments[2], arguments[2] * 1e200, arguments[2] * 1e-200):
        arguments[2] = w
        chosen = ours(*arguments)
        assert ((chosen >= -1) & (chosen < 10)).all()


def test_same_bits_for_any_number_of_threads():
    code = (
        "import sys; import numpy as np; from tests.ensemble.test_class_trees_core import ours, problem\n"
        "out = ours(*problem(np.random.default_rng(0), 900, 3, members=12))\n"
        "sys.stdout.buffer.write(out.tobytes())"
    )

    def run(threads):
        env = {**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True).stdout

    assert run(1) == run(3)


# ---- wrong arguments ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("place", "change", "message"),
    [
        (0, lambda a: a + np.uint8(6), "code has no level"),
        (1, lambda a: a[:-1], "y: one"),
        (1, lambda a: a + np.int32(3), "class"),
        (2, lambda _: np.ones(3), "weights"),
        (2, lambda _: -np.ones(30), "weight"),
        (3, lambda _: 0, "classes"),
        (4, lambda a: a + np.int32(4), "column"),
        (4, lambda a: a[:-1], "map"),
        (5, lambda a: np.full_like(a, 9), "bin beyond"),
        (6, lambda a: a * 0, "bins"),
        (6, lambda a: a[:-1], "bins"),
        (7, lambda a: a + np.int32(10), "candidate"),
        (7, lambda a: a - np.int32(2), "candidate"),
        (8, lambda a: a[:0], "grid"),
        (8, lambda a: a * 0, "grid"),
        (8, lambda a: a * np.nan, "grid"),
        (9, lambda _: np.nan, "most_cells"),
    ],
)
def test_wrong_arguments_are_named(place, change, message):
    arguments = problem(np.random.default_rng(0), 30, 3, gaps=False)
    arguments[place] = change(arguments[place])
    with pytest.raises(ValueError, match=message):
        ours(*arguments)


def test_wrong_type_of_codes():
    arguments = problem(np.random.default_rng(0), 30, 3)
    arguments[0] = arguments[0].astype(np.int8)
    with pytest.raises(TypeError, match="codes must be"):
        ours(*arguments)


@pytest.mark.parametrize("weighted", [False, True])
def test_each_member_looks_at_its_part_of_the_rows(weighted):
    rng = np.random.default_rng(5)
    codes, y, w, C, column, maps, bins, candidates, grid, most = problem(rng, 700, 3, weighted=weighted)
    part = rng.random((len(candidates), len(y))) < 0.5
    splits = _core.Splits(column, maps, bins)
    together = _core.grow_class_trees(codes, y, w, C, splits, (candidates, part), grid, most)
    for m, some in enumerate(part):
        rows = np.ascontiguousarray(codes[:, some]), y[some], None if w is None else w[some]
        alone = _core.grow_class_trees(*rows, C, splits, (candidates[m : m + 1], None), grid, most)
        assert np.array_equal(together[m], alone[0])
    assert not np.array_equal(together, _core.grow_class_trees(codes, y, w, C, splits, (candidates, None), grid, most))
    with pytest.raises(ValueError, match="part must be"):
        _core.grow_class_trees(codes, y, w, C, splits, (candidates, part[1:]), grid, most)
