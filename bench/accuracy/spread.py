"""How far answers depend on the seed, and on one row in a hundred: fits that differ in nothing else."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .models import Model
from .tables import Table

LEFT_OUT = 100  # one row in so many
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


def steadiness(model: Model, table: Table) -> dict[str, float]:
    """The first fold with all rows to learn, and without every hundredth of them: mean and largest |ΔP|."""
    learn, answer = next(iter(table.splits()))[0]
    fewer = np.delete(learn, np.arange(LEFT_OUT // 2, len(learn), LEFT_OUT))
    chances = []
    for rows in (learn, fewer):
        fit = model.make(table, 1).fit(table.X.iloc[rows], table.y[rows])
        found = np.zeros((len(answer), table.classes))
        found[:, np.asarray(fit.classes_, dtype=np.intp)] = fit.predict_proba(table.X.iloc[answer])
        chances.append(found)
    change = np.abs(chances[0] - chances[1])
    return {"mean_change": float(change.mean()), "max_change": float(change.max())}


def _top_reason(fit: Any, X: Any, answers: NDArray[np.intp]) -> NDArray[np.intp]:
    values = fit.explain(X).values[:, : X.shape[1]]  # what belongs to no column is no reason
    return np.asarray(values[np.arange(len(answers)), :, answers].argmax(axis=1))
