"""Tables with a column of dates, times, durations or texts, and what an engine must make of them."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import tallybayes as tb

N = 120
ARROW = {
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "interval": pa.duration("us"),
    "time": pa.time64("us"),
    "text": pa.string(),
}
MOMENTS = [kind for kind in ARROW if kind != "text"]


def values(kind: str) -> list[Any]:
    """Before 1970 and long after, with missing values."""
    rng = np.random.default_rng(4)
    out: list[Any] = []
    for i in range(N):
        step = datetime.timedelta(days=int(rng.integers(-9000, 40_000)), seconds=int(rng.integers(0, 86_400)))
        when = datetime.datetime(1970, 1, 1) + step + datetime.timedelta(microseconds=int(rng.integers(0, 10**6)))
        words = " ".join(rng.choice(["free", "money", "lunch", "noon", "you", "win"], int(rng.integers(3, 8))))
        found = {
            "date": when.date(),
            "timestamp": when,
            "timestamptz": when.replace(tzinfo=datetime.UTC),
            "interval": step,
            "time": when.time(),
            "text": f"{words} {i}",
        }
        out.append(None if i % 11 == 0 else found[kind])
    return out


def rows(kind: str) -> pa.Table:
    label = ["low" if i % 3 else "high" for i in range(N)]
    return pa.table({"v": pa.array(values(kind), ARROW[kind]), "x": np.arange(N) % 7 + 0.5, "kind": label})


def check_moments(kind: str, frame_of: Callable[[list[pa.Table]], Any], answers_of: Callable[[Any], pa.Table]) -> None:
    """Learned and answered as here, with a partition that is empty and one whose values are all missing."""
    t = rows(kind)
    gone = t.slice(0, 9).set_column(0, "v", pa.nulls(9, ARROW[kind]))
    parts = [t.slice(0, 70), t.slice(0, 0), gone, t.slice(70)]
    whole, frame = pa.concat_tables(parts), frame_of(parts)
    X = whole.select(["v", "x"])
    here = tb.NaiveBayes({"real": "gaussian"}).fit(X, whole["kind"])
    there = tb.NaiveBayes({"real": "gaussian"}).learn_from(frame, "kind", plan=here.empty())
    np.testing.assert_array_equal(there.class_count_, here.class_count_)
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), rtol=0, atol=1e-12)
    fresh = tb.NaiveBayes({"real": "gaussian"}).learn_from(frame, "kind")
    assert fresh.schema_.names == here.schema_.names
    np.testing.assert_allclose(fresh.predict_proba(X), here.predict_proba(X), rtol=0, atol=1e-12)
    found = answers_of(here.predict_to(frame))
    np.testing.assert_allclose(found["proba_high"].to_numpy(), here.predict_proba(X)[:, 0], rtol=0, atol=1e-12)
