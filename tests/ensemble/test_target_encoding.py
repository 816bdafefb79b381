"""The pseudo-count of a target encoding has the least leave-one-out log-loss: against a loop over rows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tallybayes.distributions.networks.joint_counts import LevelStatistics
from tallybayes.ensemble.target_encoding import PSEUDO_COUNTS, _alike, choose

LEVELS, K, N = 6, 3, 300


def losses_by_row(n: np.ndarray, code: np.ndarray, y: np.ndarray, unit: np.ndarray, w: np.ndarray) -> list[float]:
    found = []
    for r in PSEUDO_COUNTS:
        total = 0.0
        for level, k, u, weight in zip(code.tolist(), y.tolist(), unit.tolist(), w.tolist(), strict=True):
            if level >= LEVELS:
                continue
            own = n[:, level].copy()
            own[k] = max(own[k] - u, 0.0)
            total -= weight * math.log((own[k] + r / K) / (own.sum() + r))
        found.append(total)
    return found


@pytest.mark.parametrize("weights", ["one", "whole", "half"])
def test_the_pseudo_count_has_the_least_loss(weights: str) -> None:
    rng = np.random.default_rng(5)
    code, y = rng.integers(0, LEVELS, N).astype(np.uint8), rng.integers(0, K, N).astype(np.int32)
    y[code < 2] = code[code < 2]
    w = {"one": np.ones(N), "whole": rng.integers(1, 4, N) * 1.0, "half": rng.choice([0.5, 1.0, 2.0], N)}[weights]
    unit, prior = np.minimum(w, 1.0), np.full(K, 1 / K)
    single = np.zeros((K, LEVELS))
    np.add.at(single, (y, code), w)
    code[::11] = 255  # missing
    expected = losses_by_row(single, code, y, unit, w)
    table = np.concatenate([single.T, np.zeros((1, K))])
    own, total, weight, share = _alike(table, code, y, unit, w, prior)
    assert (len(own) < N) == (weights != "half")
    found = [-float((weight * np.log((own + r * share) / (total + r))).sum()) for r in PSEUDO_COUNTS]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    s = LevelStatistics(single, np.array([LEVELS]))
    chosen = choose(s, np.array([0], dtype=np.int32), code[None, :], y, unit, w, prior)
    assert chosen.pseudo_counts.tolist() == [PSEUDO_COUNTS[int(np.argmin(expected))]]
