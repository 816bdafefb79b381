"""How close the tally kernels come to merely reading their table.

    python bench/tallies.py [moments] [counts] [csr] [labels]

One line per workload: our time, the time to read the same memory once with the same threads, the ratio.
Minimum of repeats, the two interleaved.
"""

import sys
import time

import numpy as np

from tallybayes import _core

REPEATS = 7
rng = np.random.default_rng(0)


def timed(f):
    start = time.perf_counter()
    f()
    return 1e3 * (time.perf_counter() - start)


def show(name, ours, *tables):
    tables = [_core.Columns(t) for t in tables]
    best = limit = np.inf
    for _ in range(REPEATS):
        best = min(best, timed(ours))
        limit = min(limit, timed(lambda: [_core.stream(t) for t in tables]))
    print(f"{name:42s} {best:8.2f} ms   read once {limit:7.2f} ms   ratio {best / limit:6.2f}", flush=True)


def classes(n, K):
    return rng.integers(0, K, n).astype(np.int32)


def moments():
    X = rng.normal(size=(1_000_000, 50))

    def case(name, X, K, w=None):
        cols = _core.Columns(X)
        y = classes(cols.n, K)
        show(f"moments {name}, {K} classes", lambda: _core.moments(cols, y, w, K), X)

    for K in [5, 50, 2000]:
        case("f64 1M×50", X, K)
    case("f64 1M×50 weighted", X, 5, rng.random(len(X)))
    case("f64 1M×50 5 % missing", np.where(rng.random(X.shape) < 0.05, np.nan, X), 5)
    case("f32 1M×50", X.astype(np.float32), 5)
    case("f64 1M×50 F order", np.asfortranarray(X), 5)
    case("f64 100k×500", X.reshape(100_000, 500), 10)
    case("f32 100k×500", X.reshape(100_000, 500).astype(np.float32), 10)


def counts():
    X = rng.integers(0, 8, (1_000_000, 30))
    sizes = np.zeros(30, np.int64)

    def case(name, X, K=4, w=None):
        cols = _core.Columns(X)
        y = classes(cols.n, K)
        show(f"counts {name}, {K} classes", lambda: _core.counts(cols, y, w, K, sizes, 1 << 20), X)

    case("i64 1M×30", X)
    case("i64 1M×30 weighted", X, w=rng.random(len(X)))
    case("u8 30 columns of 1M", [np.ascontiguousarray(c) for c in X.T.astype(np.uint8)])
    case("i64 1M×30", X, K=2000)


def csr():
    n, d, nnz = 200_000, 50_000, 100
    data = rng.integers(1, 5, n * nnz).astype(float)
    indices = np.sort(rng.integers(0, d, (n, nnz)), axis=1).astype(np.int32).ravel()
    m = _core.Csr(data, indices, np.arange(0, n * nnz + 1, nnz, dtype=np.int32), d)
    memory = data.reshape(-1, nnz), indices.reshape(-1, nnz)
    for K in [2, 20, 2000]:
        y = classes(n, K)
        show(f"csr_sums 200k×50k, {K} classes", lambda y=y, K=K: _core.csr_sums(m, y, None, K, None), *memory)


def labels():
    for name, y in [
        ("few", rng.integers(0, 5, 1_000_000)),
        ("few, far", rng.integers(0, 5, 1_000_000) * 10**12),
    ]:
        show(f"integer_levels 1M, {name}", lambda y=y: _core.integer_levels(y), y[:, None])


if __name__ == "__main__":
    known = {f.__name__: f for f in (moments, counts, csr, labels)}
    for name in sys.argv[1:] or known:
        known[name]()
