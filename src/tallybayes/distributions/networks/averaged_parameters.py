"""The parameters of averaged networks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions.networks.count_tables import Tables
from tallybayes.distributions.networks.joint_statistics import JointParams, Reals
from tallybayes.utils.array_types import Floats
from tallybayes.utils.cached import cached_property


@dataclass(frozen=True, eq=False)
class AveragedReals(Reals):
    """strengths: of back-off to no parent, to one, …, None with Laplace; terms: of the real columns without parents and
    then beside each set of them, as the kernels read them."""

    strengths: list[Floats] | None
    terms: list[Floats]


@dataclass(frozen=True, eq=False)
class AveragedParams(JointParams):
    """The parameters of averaged networks.

    Parameters
    ----------
    Those of JointParams, and:
    tables : Tables
        What was counted.
    alpha : float
        What is added to every count.
    n : int
        How many parents there are, 0 where no column is left to be one.
    W : ndarray
        The weight of each set of parents.
    rank : ndarray of int32
        Of two parents the one with the smaller rank is backed off from last.
    strengths : ndarray of shape (n, columns) or None
        Of back-off; None with Laplace.
    follows : ndarray of bool or None
        [a, b]: level a (of all columns' levels) is there in every row with level b; None if nobody asks.
    """

    reals: AveragedReals | None
    tables: Tables
    alpha: float
    n: int
    W: Floats
    rank: NDArray[np.int32]
    strengths: Floats | None
    follows: NDArray[np.bool_] | None

    @cached_property
    def networks(self) -> _core.Averaged:
        """The counts as the kernels read them, checked once; there are n > 0 parents."""
        return _core.Averaged(self.counts(self.tables, self.alpha), self.n, self.rank, self.strengths)

    @cached_property
    def naive(self) -> _core.Network:
        """Without parents."""
        d = len(self.sizes)
        none = np.empty(0, dtype=np.int32), np.zeros(d + 1, dtype=np.int64)
        return _core.Network(self.sizes, np.arange(d, dtype=np.int32), *none, self.log)
