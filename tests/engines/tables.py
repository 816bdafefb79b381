"""A table with a column of every kind, for tests of engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa


def table(n: int = 600, seed: int = 0, missing: bool = True) -> Any:
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(3), rng.integers(0, 3, n - 3)])
    gaps = rng.random((4, n)) < (0.1 if missing else 0.0)
    colour = np.where(rng.random(n) < 0.4, np.array(["red", "green", "blü"])[y], rng.choice(["red", "it's", "grey"], n))
    return pa.table(
        {
            "length": pa.array(rng.normal(y, 1.0), mask=gaps[0]),
            "colour": pa.array(colour, mask=gaps[1]),
            "alive": pa.array(rng.random(n) < 0.2 + 0.2 * y, mask=gaps[2]),
            "width": pa.array(rng.gamma(1.0 + y), mask=gaps[3]),
            "weight": rng.integers(1, 4, n).astype(float),
            "kind": np.array(["low", "mid", "high"])[y],
        }
    )


def features(t: Any) -> Any:
    return t.drop_columns(["weight", "kind"])


def fit(model: Any, t: Any, weights: bool = False) -> Any:
    return model.fit(features(t), t["kind"].to_pylist(), t["weight"].to_numpy() if weights else None)
