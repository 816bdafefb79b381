"""The sample that distributions are chosen on, beside its definition in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tallybayes import _core


def mixed(x: Any) -> Any:
    x = x * np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(29)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(32)
    return x


def hashes(columns: list[Any], y: Any, w: Any, K: int) -> Any:
    there = (y >= 0) if w is None else (y >= 0) & (w > 0)
    out = np.zeros(len(y), dtype=np.uint64)
    for values in ([] if w is None else [w]) + columns:
        x = values.astype(np.float64)
        largest = float(np.abs(x[np.isfinite(x) & there]).max(initial=0.0)) or 1.0
        with np.errstate(over="ignore"):
            x = (x / largest + 0.0).astype(np.float32)
        token = mixed(np.where(x == x, x.view(np.uint32), np.uint32(1)).astype(np.uint64))
        out += mixed(token + np.add.reduce(token[there]))
    classes = np.zeros(K, dtype=np.uint64)
    np.add.at(classes, y[there], mixed(out[there]))
    return mixed(out + classes[np.maximum(y, 0)])


def smallest(key: Any, most: int) -> Any:
    order = np.argsort(key, kind="stable")
    own = key[order]
    new = np.append(True, own[1:] != own[:-1])
    before = np.arange(len(own)) - np.flatnonzero(new)[np.cumsum(new) - 1]
    own = (own + before.astype(np.uint64)) * np.uint64(0xBF58476D1CE4E5B9)
    own ^= own >> np.uint64(29)
    own *= np.uint64(0x94D049BB133111EB)
    return order[np.argsort(own)[:most]]


def oracle(columns: list[Any], y: Any, w: Any, K: int, most: int) -> tuple[Any, Any]:
    key = hashes(columns, y, w, K)
    there = np.flatnonzero((y >= 0) if w is None else (y >= 0) & (w > 0))
    there = there[smallest(key[there], most)] if len(there) > most else there
    return there, key[there]


def columns(kind: str, n: int) -> list[Any]:
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, 3))
    if kind == "few values":
        return list(rng.integers(0, 3, (3, n)))
    if kind == "missing and infinite":
        x[rng.random(x.shape) < 0.1] = np.nan
        x[rng.random(x.shape) < 0.01] = -np.inf
    if kind == "types":
        return [x[:, 0].astype(np.float32), x[:, 1] > 0, (100 * x[:, 2]).astype(np.int8)]
    return list((x * {"tiny": 1e-310, "large": 1e300}.get(kind, 1.0)).T)


@pytest.mark.parametrize("isa", [0, 2])
@pytest.mark.parametrize("kind", ["numbers", "few values", "missing and infinite", "types", "tiny", "large", "rows"])
@pytest.mark.parametrize("n", [1, 100, 101, 3000, 40_000])
def test_the_sample_is_that_of_the_definition(n: int, kind: str, isa: int) -> None:
    rng = np.random.default_rng(n)
    own = columns(kind, n)
    read = _core.Columns(np.column_stack(own) if kind == "rows" else own)
    _core.limit_isa(isa)
    try:
        for y in (rng.integers(0, 3, n), rng.integers(-1, 3, n), np.zeros(n)):
            for w in (None, rng.integers(0, 3, n) / 2, rng.random(n)):
                code = y.astype(np.int32)
                want_rows, want_hashes = oracle(own, code, w, 3, 100)
                rows, found = _core.hashed_sample(read, code, w, 3, 100)
                np.testing.assert_array_equal(rows, want_rows)
                np.testing.assert_array_equal(found, want_hashes)
    finally:
        _core.limit_isa(2)


def test_a_sample_of_equal_rows_has_each_kind_in_its_share() -> None:
    x = np.repeat([1.0, 2.0, 3.0], [6000, 3000, 1000])
    rows, _ = _core.hashed_sample(_core.Columns([x]), np.zeros(10_000, np.int32), None, 1, 1000)
    assert len(np.unique(rows)) == 1000
    np.testing.assert_allclose(np.unique(x[rows], return_counts=True)[1], [600, 300, 100], atol=60)


def test_what_is_not_there_is_refused() -> None:
    x, y = _core.Columns([np.ones(3)]), np.array([0, 1, 2], dtype=np.int32)
    for wrong in ((x, y[:2], None, 3, 1), (x, y, np.ones(2), 3, 1), (x, y, None, 2, 1), (x, y, None, 3, 0)):
        with pytest.raises(ValueError, match=r"length|class|row|weight"):
            _core.hashed_sample(*wrong)
