"""The prior and what each feature says sum to the log joint and to the log-odds, for every estimator."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.every_estimator import ESTIMATORS, labels

NAMES = list(ESTIMATORS)


def with_gaps(X: Any, rng: np.random.Generator) -> Any:
    """Some values missing, where the table can say so."""
    if hasattr(X, "iloc"):
        X = X.copy()
        X.loc[rng.random(len(X)) < 0.3, "length"] = np.nan
        X.loc[rng.random(len(X)) < 0.3, "color" if "color" in X else "when"] = None
        return X
    if X.dtype == object:
        return np.where(rng.random(X.shape) < 0.2, None, X)
    return np.where(rng.random(X.shape) < 0.2, np.nan, X) if X.dtype.kind == "f" else X


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_evidence_sums_to_the_log_joint_and_the_log_odds(name: str, seed: int) -> None:
    make, data = ESTIMATORS[name]
    rng = np.random.default_rng(seed)
    X, y = data(rng, 40), labels(rng, 40)
    model = make().fit(X, y)
    Z = with_gaps(data(rng, 20), rng)
    found = model.explain(Z)
    joint = model.predict_joint_log_proba(Z)
    total = found.log_prior + found.log_likelihood.sum(axis=1)
    scale = 1 + np.abs(found.log_likelihood).sum(axis=1)
    assert np.max(np.abs(total - joint) / scale) < 1e-12
    others = [np.logaddexp.reduce(np.delete(joint, k, axis=1), axis=1) for k in range(3)]
    np.testing.assert_allclose(
        found.prior + found.values.sum(axis=1), joint - np.stack(others, axis=1), rtol=0, atol=1e-11 * scale.max()
    )
    one = model.explain(Z, against="b")
    np.testing.assert_allclose(
        one.prior + one.values.sum(axis=1), joint - joint[:, [1]], rtol=0, atol=1e-12 * scale.max()
    )
    np.testing.assert_allclose(found.probability, model.predict_proba(Z), atol=1e-12)


# A mean of networks is split by the chain rule, in the order of the columns; a graph names columns by their place.
@pytest.mark.parametrize("name", [n for n in NAMES if not re.search("mixed|dates|AODE|A2DE|Network", n)])
def test_the_order_of_columns_does_not_matter(name: str) -> None:
    make, data = ESTIMATORS[name]
    rng = np.random.default_rng(3)
    X, y = data(rng, 60), labels(rng, 60)
    Z, turn = with_gaps(data(rng, 20), rng), np.array([2, 0, 3, 1])
    a, b = make().fit(X, y), make().fit(X[:, turn], y)
    np.testing.assert_allclose(b.explain(Z[:, turn]).values, a.explain(Z).values[:, turn], atol=1e-10)
    ranked, again = a.explain(), b.explain()
    assert (np.abs(again.information - ranked.information[turn]) <= 6 * ranked.error.max() + 1e-10).all()
