"""AveragedNetwork: the mean over all sets of n parents of the network in which they are everyone's parents (AnDE)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions.base import Array, Context, Params, Stats
from tallybayes.distributions.joint import GRID, Joint, information, packed
from tallybayes.distributions.network import draw
from tallybayes.distributions.tables import _subsets
from tallybayes.encode import Coded, Data
from tallybayes.errors import OptionError

SUBSUMED = 100.0  # rows that a value must have before another is believed to follow from it


@dataclass(frozen=True)
class AveragedNetwork(Joint):
    """P(x | c) = Σ_S W_S P(x_S | c) Π_{j ∉ S} P(x_j | c, x_S) / Σ_S W_S over the sets S of n columns whose values
    together were met at least min_count times; naive Bayes where there is none.

    With Laplace's correction P(c, x_S) = (n(c, x_S) + α) / (n + α K N_S). Missing values are left out.
    weighting 'information': W_S = I(x_S; y), else 1. subsumption: a value that follows from another one of its row
    (every row with that one has it) is left out.
    """

    n: int = 1
    min_count: float = 1.0
    weighting: str | None = None
    subsumption: bool = False

    name = "averaged network"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weighting not in (None, "information"):
            raise OptionError(f"weighting must be None or 'information'; got {self.weighting!r}.")

    def estimate(self, s: Stats, context: Context) -> Params:
        p = self.base(s, context)
        d = len(p["sizes"])
        t = self.tables(d)
        order = min(self.n, d - 1) if d > 1 else 0
        p.update(columns=t.columns, starts=t.starts, n=order, W=self._weights(s, d, order))
        p["rank"], p["strengths"] = np.arange(d, dtype=np.int32), None
        if order == 0:
            return p
        if self.smoothing == "backoff":
            _, single = information(self.tables(d), p)
            p["rank"] = np.argsort(np.argsort(-single, kind="stable"), kind="stable").astype(np.int32)
            p["strengths"] = _core.averaged_strengths(
                *self._counted(p), order, float(self.alpha), p["rank"], GRID
            )
        if self.subsumption:
            p["implies"] = implications(p, SUBSUMED)
        return p
