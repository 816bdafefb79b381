"""_core.LevelScores beside NumPy: biases, target encodings and the Gaussian discriminant of packed codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tallybayes import _core
from tallybayes.ensemble.gaussian_copula import NormalScores, tails

K, COLUMNS = 3, 4


def made(freedom: float, seed: int = 0) -> tuple[Any, Any, Any, NormalScores]:
    rng = np.random.default_rng(seed)
    bias = rng.normal(size=K)
    encodings = [(j, rng.normal(size=(size + 1, K)), float(rng.normal())) for j, size in ((3, 5), (0, 2))]
    scale = NormalScores(np.array([1, 1, 2], np.int32), np.array([0, 4, 8, 11], np.int64), rng.normal(size=11))
    root = np.tril(rng.normal(size=(K, 3, 3)))
    return bias, encodings, (rng.normal(size=(K, 3)), root, rng.normal(size=K), freedom), scale


def slow(codes: Any, bias: Any, encodings: Any, density: Any, scale: NormalScores, weight: float) -> Any:
    out = np.tile(bias, (codes.shape[1], 1))
    for j, table, w in encodings:
        out += w * table[np.minimum(codes[j], len(table) - 1)]
    mean, root, constant, freedom = density
    away = np.einsum("kij,nkj->nki", root, scale.read(codes)[:, None] - mean)
    return out + weight * (constant - tails((away**2).sum(axis=2), 3, freedom))


@pytest.mark.parametrize("freedom", [10.0, np.inf])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("n", [0, 1, 63, 65, 1100])
def test_scores_are_those_of_a_loop(n: int, kind: Any, freedom: float) -> None:
    bias, encodings, density, scale = made(freedom)
    codes = np.random.default_rng(n).integers(0, 6, (COLUMNS, n)).astype(kind)
    scores = _core.LevelScores(bias, encodings, ((scale.column, scale.start, scale.value), density, 0.7))
    begin = np.random.default_rng(1).normal(size=(n, K))
    out = begin.copy()
    assert not scores.add(codes, out)
    np.testing.assert_allclose(out - begin, slow(codes, bias, encodings, density, scale, 0.7), rtol=1e-9, atol=1e-9)
    if n:
        codes[2, n - 1] = np.iinfo(kind).max
        out = np.zeros((n, K))
        assert scores.add(codes, out)
        np.testing.assert_allclose(out, slow(codes, bias, encodings, density, scale, 0.7), rtol=1e-9, atol=1e-9)


def test_without_components_only_biases_are_added() -> None:
    out = np.zeros((2, K))
    assert not _core.LevelScores(np.arange(3.0), [], None).add(np.zeros((COLUMNS, 2), np.uint8), out)
    np.testing.assert_array_equal(out, [[0, 1, 2], [0, 1, 2]])


def test_shapes_that_do_not_fit_are_refused() -> None:
    bias, encodings, density, scale = made(10.0)
    line = (scale.column, scale.start, scale.value)
    for wrong in ([(0, np.zeros((3, 2)), 1.0)], [(-1, np.zeros((3, K)), 1.0)], [(0, np.zeros((0, K)), 1.0)]):
        with pytest.raises(ValueError, match="table must be"):
            _core.LevelScores(bias, wrong, None)
    for cut in ((scale.column, scale.start[:-1], scale.value), (scale.column, scale.start, scale.value[:-1])):
        with pytest.raises(ValueError, match="start"):
            _core.LevelScores(bias, [], (cut, density, 1.0))
    with pytest.raises(ValueError, match="mean must be"):
        _core.LevelScores(bias, [], (line, (density[0][:2], *density[1:]), 1.0))
    scores = _core.LevelScores(bias, encodings, (line, density, 1.0))
    with pytest.raises(ValueError, match="codes must be"):
        scores.add(np.zeros((3, 2), np.uint8), np.zeros((2, K)))
    with pytest.raises(ValueError, match="out must be"):
        scores.add(np.zeros((4, 2), np.uint8), np.zeros((1, K)))
