"""The tables of the workloads: made fast, the same in every run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

Array = npt.NDArray[Any]
BLOCK = 50_000  # rows made at a time: no temporary the size of X


def gaussians(n: int, d: int, K: int, dtype: str = "float64") -> tuple[Array, Array]:
    """Normal columns around a mean of each class; X (n,d) and y (n,) in 0..K-1."""
    rng = np.random.default_rng(1)
    y = rng.integers(K, size=n)
    mean = 0.5 * rng.standard_normal((K, d))
    X = np.empty((n, d), dtype)
    for a in range(0, n, BLOCK):
        b = min(a + BLOCK, n)
        X[a:b] = rng.standard_normal((b - a, d)) + mean[y[a:b]]
    return X, y


def codes(n: int, d: int, V: int, K: int) -> tuple[Array, Array]:
    """int64 codes 0..V-1 that lean towards a value of each class; X (n,d) and y (n,)."""
    rng = np.random.default_rng(2)
    y = rng.integers(K, size=n)
    favourite = rng.integers(V, size=(K, d))
    X = np.empty((n, d), np.int64)
    for a in range(0, n, BLOCK):
        b = min(a + BLOCK, n)
        lean = rng.random((b - a, d), np.float32) < 0.2
        X[a:b] = np.where(lean, favourite[y[a:b]], rng.integers(V, size=(b - a, d)))
    return X, y


def words(n: int, T: int, per_row: int, K: int) -> tuple[sparse.csr_matrix, Array]:
    """Word counts: exactly `per_row` different terms in a row, frequent terms first (roughly Zipf's law).
    The terms are cut into `per_row` stretches that grow geometrically, and a row has one term of each:
    sorted and without duplicates from the start."""
    rng = np.random.default_rng(3)
    steps = np.arange(per_row + 1)
    edges = np.maximum(T ** (steps / per_row) - 1, steps).astype(np.int32)  # a stretch holds a term at least
    edges[-1] = T
    y = rng.integers(K, size=n)
    index = np.empty((n, per_row), np.int32)
    value = np.empty((n, per_row))
    for a in range(0, n, BLOCK):
        b = min(a + BLOCK, n)
        position = rng.random((b - a, per_row), np.float32) * np.diff(edges)
        index[a:b] = np.minimum(edges[:-1] + position.astype(np.int32), edges[1:] - 1)
        value[a:b] = 1 + (rng.random((b - a, per_row), np.float32) < 0.3)
    start = np.arange(0, n * per_row + 1, per_row, dtype=np.int32)
    return sparse.csr_matrix((value.ravel(), index.ravel(), start), shape=(n, T)), y


def dicts(n: int, d: int, K: int) -> list[tuple[dict[str, float], str]]:
    """Rows as a stream delivers them: a dict of numbers, and a label."""
    X, y = gaussians(n, d, K)
    names = [f"x{j}" for j in range(d)]
    return [(dict(zip(names, row, strict=True)), f"class {c}") for row, c in zip(X.tolist(), y, strict=True)]


def mixed_dicts(n: int) -> list[tuple[dict[str, Any], str]]:
    """The same with 7 numbers, 7 words and 6 truths in each row, of two classes."""
    rng = np.random.default_rng(0)
    names = [f"{kind}{j}" for kind, count in (("number", 7), ("word", 7), ("truth", 6)) for j in range(count)]
    numbers, words, truths = rng.normal(size=(n, 7)), rng.integers(0, 9, (n, 7)), rng.random((n, 6)) < 0.4
    rows = [
        dict(zip(names, [*a, *(f"word {v}" for v in b), *c], strict=True))
        for a, b, c in zip(numbers.tolist(), words.tolist(), truths.tolist(), strict=True)
    ]
    return [(row, f"class {c}") for row, c in zip(rows, rng.integers(0, 2, n).tolist(), strict=True)]


def frame(library: str, X: Array, *, categorical: bool) -> Any:
    """Codes as a table of strings such as "level 3", or of categorical columns with those levels."""
    import pyarrow as pa

    level = pa.array([f"level {v}" for v in range(int(X.max()) + 1)])
    columns = {}
    for j in range(X.shape[1]):
        column = pa.DictionaryArray.from_arrays(pa.array(X[:, j].astype(np.int32)), level)
        columns[f"c{j}"] = column if categorical else column.cast(pa.string())
    arrow = pa.table(columns)
    if library == "pandas":
        return arrow.to_pandas()
    if library == "polars":
        import polars as pl

        return pl.DataFrame(arrow)
    return arrow


def mixed_csv(path: Path, n: int, copies: int = 1) -> None:
    """10 columns of numbers, 10 of words with 8 levels, and `label` with 3 classes; `copies` times over."""
    import pyarrow as pa
    from pyarrow import csv

    rng = np.random.default_rng(5)
    y = rng.integers(3, size=n)
    columns: dict[str, Any] = {}
    for j in range(10):
        columns[f"number {j}"] = np.round(rng.standard_normal(n) + 0.5 * (y == j % 3), 4)
    for j in range(10):
        v = np.where(rng.random(n) < 0.2, (y + j) % 8, rng.integers(8, size=n)).astype(np.int32)
        words = pa.array([f"level {k}" for k in range(8)])
        columns[f"word {j}"] = pa.DictionaryArray.from_arrays(pa.array(v), words).cast(pa.string())
    labels = pa.array([f"class {k}" for k in range(3)])
    columns["label"] = pa.DictionaryArray.from_arrays(pa.array(y.astype(np.int32)), labels).cast(pa.string())
    table = pa.table(columns)
    plain = csv.WriteOptions(include_header=False, quoting_style="none")
    with path.open("wb") as file:
        csv.write_csv(table.slice(0, 0), file, csv.WriteOptions(quoting_style="none"))
        for _ in range(copies):
            csv.write_csv(table, file, plain)


def buffers(arrow: Any) -> list[Array]:
    """The bytes of an Arrow table, as arrays: what reading it once means."""
    found = []
    for column in arrow.columns:
        for chunk in column.chunks:
            found += [np.frombuffer(b, np.uint8) for b in chunk.buffers() if b is not None and b.size]
    return found


def messages(n: int, K: int) -> tuple[list[str], Array]:
    """Short texts of 4 to 24 words out of 60,000 by Zipf's law, of which each class prefers some; and y (n,)."""
    rng = np.random.default_rng(8)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = np.array(["".join(rng.choice(letters, size)) for size in rng.integers(2, 11, size=60_000)])
    share = 1.0 / np.arange(10, len(words) + 10)
    steps = np.cumsum(share / share.sum())
    y = rng.integers(K, size=n)
    length = rng.integers(4, 25, size=n)
    word = np.searchsorted(steps, rng.random(int(length.sum())))
    moved = rng.random(len(word)) < 0.3
    word[moved] = (word[moved] + 7 * np.repeat(y, length)[moved]) % len(words)
    chosen = words[word].tolist()
    ends = np.cumsum(length).tolist()
    return [" ".join(chosen[end - size : end]).capitalize() for end, size in zip(ends, length.tolist(), strict=True)], y


def moments(n: int) -> tuple[Any, Array]:
    """A polars frame of one column of moments over ten years; one class comes at night."""
    import polars as pl

    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    hours = np.where(y == 1, rng.integers(0, 8, n), rng.integers(0, 24, n))
    when = np.datetime64("2016-01-01", "us") + rng.integers(0, 3650, n) * np.timedelta64(86_400_000_000, "us")
    return pl.DataFrame({"when": when + hours * np.timedelta64(3_600_000_000, "us")}), y
