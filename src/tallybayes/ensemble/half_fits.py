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

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.schema import Levels
from tallybayes.distributions.context import Context
from tallybayes.ensemble import fitting, gaussian_copula
from tallybayes.ensemble.ensemble_distribution import Ensemble
from tallybayes.ensemble.ensemble_statistics import EnsembleStatistics
from tallybayes.ensemble.layout import Batches, CountedColumns, Recipe, columns_of, lay_out
from tallybayes.ensemble.row_sample import RowSample, class_order, picked, with_class_ranks
from tallybayes.ensemble.stacking import NestedHalves, row_losses
from tallybayes.utils.array_types import Array, Floats

MAX_ROWS, MAX_WIDE_ROWS = 1000, 4000  # above which leave-one-out is enough; with more columns than rows
MAX_WEAK_ROWS = 20_000  # with columns that tell little of the class
TWICE_ROWS = 400  # up to which rows are halved in two ways
MIN_ROWS, MIN_CLASS_ROWS = 20, 10  # in all, and for each class on average: with fewer, a half tells too little
SHRINKAGE_FACTORS = np.linspace(1.0, 0.0, 41)
SHRINKAGE_PRIOR = np.append(np.full(40, 0.5 / 41), 0.5 + 0.5 / 41)  # of these


class HalfFit(NamedTuple):
    """A fit on some rows: the log prior, the scores of other rows, and its own estimated log-loss."""

    log_prior: Floats
    score: Callable[[Array], Floats]
    loss: float


def choose_layout(
    ensemble: Ensemble,
    s: EnsembleStatistics,
    weight: Floats,
    numeric: NDArray[np.bool_],
    n: int,
    batches: Batches,
    recipe: Recipe,
    seed: int,
) -> tuple[CountedColumns, dict[str, Any]]:
    """The columns of n rows with levels and classes in canonical order, and the fields of a layout for them."""
    order = class_order(s.sample, len(weight))
    rank = np.argsort(order).astype(np.int32)
    ranked = replace(s, single=np.ascontiguousarray(s.single[order]))
    columns = columns_of(ranked, weight[order], ensemble.tokens, n, numeric)
    by_rank = np.append(rank, np.int32(-1))  # −1, no class, reads the last

    def with_ranks() -> Any:
        return ((codes, by_rank[labels], weights) for codes, labels, weights in batches())

    return columns, lay_out(columns, recipe, with_ranks, with_class_ranks(s.sample, rank), seed)


def count_layout(
    ensemble: Ensemble, batches: Batches, K: int, weights: bool, step: Callable[[int], object] | None = None
) -> tuple[Array, gaussian_copula.Statistics]:
    """The counts of chains and the moments of rows."""
    chains, gaussian = ensemble.no_counts(K, weights)
    for codes, labels, w in batches():
        gaussian = ensemble.count(codes, labels, w, chains, gaussian)
        if step is not None:
            step(len(labels))
    return chains, gaussian


def fit_half(
    ensemble: Ensemble,
    sample: RowSample,
    sizes: NDArray[np.int64],
    columns: tuple[NDArray[np.bool_], Sequence[Levels | None]],
    K: int,
    recipe: Recipe,
    seed: int,
) -> HalfFit:
    """The whole fit on the rows of a sample. columns: which are numbers, and the labels of their levels."""
    numeric, levels = columns
    weight = np.bincount(sample.label, weights=sample.weight, minlength=K).astype(np.float64)
    single = np.zeros((K, int(sizes.sum())))
    for own, size, first in zip(sample.codes, sizes.tolist(), (np.cumsum(sizes) - sizes).tolist(), strict=True):
        known = own < size
        np.add.at(single, (sample.label[known], first + own[known].astype(np.intp)), sample.weight[known])
    s = EnsembleStatistics.of(single, sizes, sample, *ensemble.no_counts(K, True))
    n = int(np.ceil(sample.weight.sum()))

    def batches() -> Any:
        yield sample.codes, sample.label, sample.weight

    few = None if recipe.few_rows is None else recipe.few_rows / 2
    recipe = replace(recipe, screened_from=2 * recipe.screened_from, few_rows=few)  # as all rows are
    _, fields = choose_layout(ensemble, s, weight, numeric, n, batches, recipe, seed)
    chosen = replace(ensemble, **fields)
    s = EnsembleStatistics.of(single, sizes, sample, *count_layout(chosen, batches, K, True))
    context = Context(weight, levels)
    p = fitting.estimate(chosen, s, chosen.levels_of(chosen.room_for(s, context), context))
    return HalfFit(fitting.smooth_prior(weight), lambda codes: chosen.scores(codes, p), p.loss)


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
