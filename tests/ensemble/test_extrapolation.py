"""Numbers outside the range of the learned rows."""

import numpy as np
import pytest

import tallybayes as tb


@pytest.mark.parametrize("effort", ["fast", "balanced", "best"])
def test_numbers_outside_the_training_range_count_as_its_ends(effort: str) -> None:
    """Neither bins nor normal scores extrapolate, so evidence does not grow with the distance."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=600) > 1).astype(int)
    model = tb.BayesClassifier(effort).fit(X, y)
    beyond = 100 * X[:200]
    at_ends = np.clip(beyond, X.min(axis=0), X.max(axis=0))
    assert (beyond != at_ends).all(axis=1).mean() > 0.8
    np.testing.assert_array_equal(model.predict_proba(beyond), model.predict_proba(at_ends))
