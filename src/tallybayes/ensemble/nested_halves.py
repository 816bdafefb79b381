"""Nested halves: the whole fit on each half of few rows, judged on the other half.

Leave-one-out is honest about counts, not about what was chosen on the same rows: bins, super-parents, concentrations
and stacking weights. Where rows are few, or columns many, these choices can make noise look like evidence. So the
ensemble is also laid out and estimated on each half of the rows, and predicts the other half. That gives
    shrinkage  a factor of the score: its posterior mean, given the likelihood of the other halves, where half of the
               prior is on 0 (the class prior: nothing to learn) and half is even on [0, 1]. The mean is that of the
               square root, for all rows deserve more trust than a half, unless there are more columns than rows,
    optimism   by how much the log-loss of the other half exceeds the estimated one.
Both count less when more rows are learned later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tallybayes.ensemble.row_sample import RowSample, picked
from tallybayes.ensemble.stacking import row_losses
from tallybayes.utils.array_types import Array, Floats

MAX_ROWS, MAX_WIDE_ROWS = 1000, 4000  # above which leave-one-out is enough; with more columns than rows
MAX_WEAK_ROWS = 20_000  # with columns that tell little of the class
TWICE_ROWS = 400  # up to which rows are halved in two ways
MIN_ROWS, MIN_CLASS_ROWS = 20, 10  # in all, and for each class on average: with fewer, a half tells too little
SHRINKAGE_FACTORS = np.linspace(1.0, 0.0, 41)
SHRINKAGE_PRIOR = np.append(np.full(40, 0.5 / 41), 0.5 + 0.5 / 41)  # of these


class NestedHalves(NamedTuple):
    """See above; error: standard error of the log-loss of the other half; rows: how many there were."""

    shrinkage: float = 1.0
    optimism: float = 0.0
    error: float = 0.0
    rows: float = 0.0


class HalfFit(NamedTuple):
    """A fit on some rows: the log prior, the scores of other rows, and its own estimated log-loss."""

    log_prior: Floats
    score: Callable[[Array], Floats]
    loss: float


def wanted(rows: int, columns: int, classes: int, weak: bool = False) -> bool:
    """Are rows so few that the halves are worth their time? (Of so few all are in the sample.) weak: see layout.py."""
    least, most = (MIN_ROWS, MAX_WIDE_ROWS) if columns > rows else (MIN_CLASS_ROWS * classes, MAX_ROWS)
    most = MAX_WEAK_ROWS if weak else most
    return max(MIN_ROWS, least) <= rows <= most


def nested_halves(sample: RowSample, fit: Callable[[RowSample], HalfFit]) -> NestedHalves:
    """Judge `fit` on the rows of a sample; halves have the same share of each class. Few rows are halved twice."""
    order = np.argsort(sample.label, kind="stable")  # within a class the hashes ascend
    counts = np.bincount(sample.label)
    turn = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    total, estimated = float(sample.weight.sum()), 0.0
    w = sample.weight / total
    even = 2 * np.floor(sample.weight / 2)  # equal rows are one entry: each half has half of them
    losses = np.zeros((len(SHRINKAGE_FACTORS), len(order)))
    splits = (1, 2) if len(order) <= TWICE_ROWS else (1,)
    for run in splits:
        second = np.zeros(len(order), dtype=bool)
        second[order] = turn // run % 2 == 1
        for half in (second, ~second):
            own = even / 2 + np.where(half, sample.weight - even, 0.0)
            learned, asked = np.flatnonzero(sample.weight - own > 0), np.flatnonzero(own > 0)
            found = fit(replace(picked(sample, learned), weight=(sample.weight - own)[learned]))
            score = found.score(np.ascontiguousarray(sample.codes[:, asked]))
            share = own[asked] / sample.weight[asked] / len(splits)
            for i, t in enumerate(SHRINKAGE_FACTORS):
                losses[i, asked] += share * row_losses(found.log_prior + t * score, sample.label[asked])
            estimated += found.loss * float(own.sum()) / total / len(splits)
    mean = (losses * w).sum(axis=1)  # not @: with threads its last bit depends on how many there are
    best = int(np.argmin(mean))
    error = float(np.sqrt(np.square(w * (losses[best] - mean[best])).sum()))
    posterior = SHRINKAGE_PRIOR * np.exp(-total * (mean - mean[best]))
    power = 1.0 if len(sample.codes) > len(order) else 0.5
    shrinkage = float(posterior @ SHRINKAGE_FACTORS**power / posterior.sum())
    return NestedHalves(shrinkage, float(mean[best]) - estimated, error, total)
