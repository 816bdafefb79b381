"""A forgotten outlier that had nearly all of a variance: forget says that digits are lost."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tallybayes as tb
from tallybayes.errors import CancellationWarning

MODELS: dict[str, Callable[[], Any]] = {
    "GaussianNB": tb.GaussianNB,
    "NaiveBayes gaussian": lambda: tb.NaiveBayes({"a": "gaussian", "b": "kernel"}),
    "LinearDiscriminantAnalysis": tb.LinearDiscriminantAnalysis,
    "QuadraticDiscriminantAnalysis": tb.QuadraticDiscriminantAnalysis,
    "GaussianDiscriminant": tb.GaussianDiscriminant,
    "RegularizedDiscriminantAnalysis": tb.RegularizedDiscriminantAnalysis,
}
COUNTED: dict[str, Callable[[], Any]] = {
    "KernelNB": tb.KernelNB,
    "NaiveBayes mdl": lambda: tb.NaiveBayes("mdl"),
    "TAN": tb.TAN,
    "BayesClassifier": tb.BayesClassifier,
}


def rows(far: float) -> tuple[pd.DataFrame, Any]:
    """300 rows and an outlier in column a, the last."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": np.append(rng.normal(size=300), far), "b": rng.normal(size=301)})
    return X, np.where(X.b + np.append(X.a[:-1], 1.0) > 0, "yes", "no")


def quietly_less(plan: Any, X: Any, y: Any) -> Any:
    """Without the last row, and without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", CancellationWarning)
        return plan.copy().forget(X[300:], y[300:])


@pytest.mark.parametrize("one", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_lost_digits_give_a_warning(name: str, one: bool) -> None:
    X, y = rows(1e9)
    model = MODELS[name]().fit(X, y)
    assert model.one_row  # opens the compiled path, where there is one
    less = (lambda: model.forget_one(X.iloc[300].to_dict(), y[300])) if one else lambda: model.forget(X[300:], y[300:])
    with pytest.warns(CancellationWarning, match="'a'"):
        less()
    with pytest.warns(CancellationWarning):
        receipt = MODELS[name]().fit(X, y).forget(X[300:], y[300:], receipt=True)
    assert receipt.remains["variance of 'a'"] == "fit(X, y) on the rows that remain"
    assert "variance of 'b'" not in receipt.remains


@pytest.mark.parametrize("far", [3.0, 1e3])
@pytest.mark.parametrize("name", MODELS)
def test_rows_like_the_others_leave_all_digits(name: str, far: float) -> None:
    X, y = rows(far)
    plan = MODELS[name]().fit(X, y)
    counted = plan.empty().partial_fit(X[:300], y[:300])
    np.testing.assert_allclose(quietly_less(plan, X, y).predict_proba(X), counted.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("name", COUNTED)
def test_counts_lose_no_digit_with_an_outlier(name: str) -> None:
    X, y = rows(1e15)
    plan = COUNTED[name]().fit(X, y)
    counted = plan.empty().partial_fit(X[:300], y[:300])
    np.testing.assert_allclose(quietly_less(plan, X, y).predict_proba(X), counted.predict_proba(X), atol=1e-12)
