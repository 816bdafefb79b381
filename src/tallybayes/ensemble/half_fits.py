"""A layout chosen and counted on rows: on all of them, or on the rows of a sample for nested_halves.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.schema import Levels
from tallybayes.distributions.context import Context
from tallybayes.ensemble import fitting, gaussian_copula
from tallybayes.ensemble.canonical_order import class_order, with_class_ranks
from tallybayes.ensemble.ensemble_distribution import Ensemble
from tallybayes.ensemble.ensemble_statistics import EnsembleStatistics
from tallybayes.ensemble.layout import Batches, CountedColumns, Recipe, columns_of, lay_out
from tallybayes.ensemble.nested_halves import HalfFit
from tallybayes.ensemble.row_sample import RowSample
from tallybayes.utils.array_types import Array, Floats


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
