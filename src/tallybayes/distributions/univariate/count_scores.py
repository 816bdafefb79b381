"""What all distributions of counts share: parameters that a count is multiplied by, and how they score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tallybayes import _core
from tallybayes.data.encoding import Data, Numbers, Sparse
from tallybayes.distributions.statistics import Record
from tallybayes.utils.array_types import Array
from tallybayes.utils.cached import cached_property


@dataclass(frozen=True)
class CountParams(Record):
    """What a count is multiplied by, by class and column (K, d)."""

    weight: Array

    @cached_property
    def by_term(self) -> Array:
        """(d, K); kept for the next rows: a long vocabulary takes its time to turn."""
        return np.ascontiguousarray(self.weight.T)


def one_column(a: Array, j: int) -> Array:
    """Column j alone."""
    return np.ascontiguousarray(a[:, j : j + 1])


def linear_scores(scorer: _core.Scorer, data: Data, p: CountParams, bias: Array | None, factorial: bool) -> None:
    """Adds Σ_j x_j weight_cj + bias_cj."""
    if isinstance(data, Sparse):
        data = data.distinct() if factorial else data
        constant = np.zeros(len(p.weight)) if bias is None else bias.sum(axis=1)
        scorer.csr(data.view, p.by_term, constant, None, factorial)
    else:
        assert isinstance(data, Numbers)
        scorer.linear(data.columns, p.weight, np.zeros_like(p.weight) if bias is None else bias, factorial)
