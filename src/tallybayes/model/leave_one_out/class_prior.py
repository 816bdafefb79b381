"""The prior of the classes for a row that is left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tallybayes.utils.array_types import Array


@dataclass(frozen=True)
class LeftPrior:
    """Counted, so that a row that leaves changes it, or given."""

    weight: Array  # (K): the rows of each class
    added: float = 0.0  # to each class, when it is counted
    given: Array | None = None  # (K): its logarithm; None: counted

    def without(self, y: Array, unit: Array) -> tuple[Array, Array]:
        """Return the log prior without each row."""
        if self.given is not None:
            return self.given, self.given[y]
        weight = self.weight + self.added
        with np.errstate(divide="ignore"):
            return np.log(weight), np.log(weight[y] - unit)
