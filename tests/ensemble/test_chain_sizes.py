"""Where the logs of each chain begin, beside the sizes of the chains one by one."""

from __future__ import annotations

import numpy as np
import pytest

from tallybayes import BayesClassifier
from tallybayes.ensemble.ensemble_distribution import Ensemble


@pytest.mark.parametrize("effort", ["fast", "best"])
def test_logs_begin_where_those_of_the_chains_before_end(effort: str) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(400, 5)), rng.integers(0, 4, 400)])
    model = BayesClassifier(effort).fit(X, rng.integers(0, 3, 400))
    (found,) = (t.distribution for t in model.fitted_.terms if isinstance(t.distribution, Ensemble))
    for chains in (0, 1, len(found.child) // 2, len(found.child)):
        sizes = [int(found.sizes_of(i).sum()) for i in range(chains)]
        np.testing.assert_array_equal(found.log_starts(chains), np.cumsum([0, *sizes]))
