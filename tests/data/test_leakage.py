"""The target, left among the columns: one warning, and none of anything else."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tallybayes as tb
from tallybayes.errors import TargetColumnWarning

N = 300
rng = np.random.default_rng(0)
CODES = rng.integers(0, 3, N)
NAMES = np.array(["red", "green", "blue"])[CODES]
NOISE = rng.normal(size=N)


def frame(target: Any) -> pd.DataFrame:
    return pd.DataFrame({"noise": NOISE, "more": rng.integers(0, 3, N) % 3, "answer": target})


FORMS: dict[str, tuple[Any, Any]] = {
    "matrix": (np.column_stack([NOISE, CODES]), CODES),
    "matrix, whole": (np.column_stack([np.arange(N) % 7, CODES]), CODES.astype(float)),
    "pandas, strings": (frame(NAMES), NAMES),
    "pandas, categories": (frame(pd.Categorical(NAMES)), NAMES),
    "pandas, numbers": (frame(CODES), CODES),
    "pandas, truth": (frame(CODES > 1), CODES > 1),
    "pandas, objects": (frame(NAMES.astype(object)), pd.Series(NAMES)),
    "polars": (pl.from_pandas(frame(NAMES)), NAMES),
    "pyarrow": (pa.Table.from_pandas(frame(NAMES)), NAMES),
    "rows": (frame(NAMES).to_dict("records"), NAMES.tolist()),
}


def reported(X: Any, y: Any, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        tb.NaiveBayes("gaussian").fit(X, y, **options)
    return [str(w.message) for w in heard if issubclass(w.category, TargetColumnWarning)]


@pytest.mark.parametrize("form", list(FORMS))
def test_a_column_that_is_the_target_gives_a_warning(form: str) -> None:
    X, y = FORMS[form]
    name = "x1" if "matrix" in form else "answer"
    assert reported(X, y) == [
        f"The same as y in every row: column(s) {name!r}. This is target leakage: leave it out of X, unless it is "
        "known before the class is."
    ]


def test_nothing_else_gives_a_warning() -> None:
    almost = NAMES.astype(object).copy()
    almost[N // 2 + 1] = "blue" if almost[N // 2 + 1] != "blue" else "red"
    gaps = NAMES.astype(object).copy()
    gaps[0] = None
    for target in (
        almost,
        gaps,
        np.char.upper(NAMES.astype(str)),
        pd.to_datetime("2024-01-01") + pd.to_timedelta(CODES, "D"),
    ):
        assert reported(frame(target), NAMES) == []
    assert reported(frame(CODES.astype(str)), CODES) == []  # "1" is not 1
    assert reported(CODES[:, None], CODES) == []  # a table of one column is an example
    assert reported(frame(NAMES)[:40], NAMES[:40]) == []
    assert reported(FORMS["matrix"][0], NAMES) == []


def test_rows_that_do_not_count_are_not_compared() -> None:
    X, weight = frame(NAMES), np.ones(N)
    X.loc[5, "answer"], weight[5] = "none", 0.0
    assert reported(X, NAMES) == []
    assert len(reported(X, NAMES, sample_weight=weight)) == 1


def test_a_batch_is_not_compared() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tb.GaussianNB().partial_fit(np.column_stack([NOISE, CODES]), CODES)
