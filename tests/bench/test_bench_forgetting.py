"""The benchmark of forgetting measures what it says, on few rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bench import forgetting


def few() -> forgetting.Split:
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "x": rng.normal(size=300).round(6),
            "sky": rng.choice(["clear", "grey", "lighthouse"], 300, p=[0.5, 0.45, 0.05]),
        }
    )
    X["sky"] = X["sky"].astype("category")
    y = np.where(X["x"] + (X["sky"] == "grey") + rng.normal(size=300) > 0.5, "yes", "no")
    return forgetting.Split("few", X[:240], y[:240], X[240:], y[240:])


def test_rows_are_exact_and_sums_are_not_always() -> None:
    split = few()
    for name in ("NaiveBayes, sums", "NaiveBayes, rows"):
        found = {r["deleted"]: r for r in forgetting.measure(split, name, requests=2)}
        assert set(found) == {
            "1 row",
            "0.1% at random",
            "1.0% at random",
            "10.0% at random",
            "one whole level",
            "extreme values",
        }
        assert all(r["p99"] >= r["p50"] > 0 and 0 < r["log_loss"] < 2 for r in found.values())
        if name.endswith("rows"):
            assert max(r["gap"] for r in found.values()) == 0
            assert sum(r["residue"] for r in found.values()) == 0


def test_sisa_fits_only_the_shards_that_had_a_row() -> None:
    pytest.importorskip("lightgbm", reason="LightGBM comes with `make bench`")
    split = few()
    whole = forgetting.Boosting(5).fit(split.X, split.y)
    gone = np.zeros(240, dtype=bool)
    gone[7] = True
    left = whole.request(split.X, split.y, gone)()
    assert sum(a is not b for a, b in zip(whole.parts, left.parts, strict=True)) == 1
    assert sorted(np.concatenate(left.rows).tolist()) == [i for i in range(240) if i != 7]
