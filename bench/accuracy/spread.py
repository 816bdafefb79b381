"""How far the answers of a model that draws depend on the seed: fits that differ in nothing else."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .models import Model
from .tables import Table

EXPLAINED = 1000  # rows at most whose reasons are compared


def spread(model: Model, table: Table, seeds: int) -> dict[str, float]:
    """Over all pairs of seeds 0, 1, …, on the first fold:

    mean_change  mean |ΔP| over rows and classes
    max_change   the largest |ΔP|
    same_reason  share of rows whose top reason is the same: the column that says most for the class that seed 0
                 answers
    """
    learn, answer = next(iter(table.splits()))[0]
    X, asked = table.X.iloc[learn], table.X.iloc[answer]
    fits = [model.make(table, 1).set_params(random_state=seed).fit(X, table.y[learn]) for seed in range(seeds)]
    chances = [np.asarray(fit.predict_proba(asked)) for fit in fits]
    first = chances[0].argmax(axis=1)[:EXPLAINED]
    reasons = [_top_reason(fit, asked.iloc[:EXPLAINED], first) for fit in fits]
    pairs = list(combinations(range(seeds), 2))
    changes = [np.abs(chances[a] - chances[b]) for a, b in pairs]
    return {
        "mean_change": float(np.mean(changes)),
        "max_change": float(np.max(changes)),
        "same_reason": float(np.mean([reasons[a] == reasons[b] for a, b in pairs])),
    }


def _top_reason(fit: Any, X: Any, answers: NDArray[np.intp]) -> NDArray[np.intp]:
    values = fit.explain(X).values[:, : X.shape[1]]  # what belongs to no column is no reason
    return np.asarray(values[np.arange(len(answers)), :, answers].argmax(axis=1))
