"""Which numbers have a dimension in the Gaussian discriminant of a BayesClassifier."""

from __future__ import annotations

import numpy as np

import tallybayes as tb


def test_a_number_that_is_nearly_constant_has_no_dimension() -> None:
    """Its few other values would lie so many standard deviations away that they outweighed all other columns."""
    rng = np.random.default_rng(3)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 3)) + 2 * y[:, None]
    X[:, 2] = 0.0
    X[[1, 3, 5, 7], 2] = 1.0  # four rows of class 1
    model = tb.BayesClassifier(members=2).fit(X, y)
    ensemble = model.fitted_.terms[0].distribution
    assert len(ensemble.score_column) == 2
    rare = np.where(np.arange(3) == 2, 1.0, X[:20])
    plain = np.where(np.arange(3) == 2, 0.0, X[:20])
    evidence = np.log(model.predict_proba(rare) / model.predict_proba(plain))
    assert np.abs(evidence[:, 1] - evidence[:, 0]).max() < 3
