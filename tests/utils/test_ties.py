"""Ties up to rounding."""

from __future__ import annotations

import numpy as np

from tallybayes.utils.ties import level_ties


def test_what_differs_by_rounding_is_one_value() -> None:
    scores = np.array([[0.3, 0.1 + 0.2], [0.1, 0.3 + 1e-9]])
    found = level_ties(scores)
    assert found[0, 0] == found[0, 1]
    np.testing.assert_allclose(found, scores, rtol=0, atol=1e-12)
    assert len(np.unique(found)) == 3


def test_infinities_and_no_scores() -> None:
    scores = np.array([np.inf, 1e20, -np.inf, 1e20 + 1e6, np.inf])
    assert level_ties(scores).tolist() == [np.inf, 1e20, -np.inf, 1e20, np.inf]
    assert level_ties(np.empty((0, 3))).shape == (0, 3)
