"""What an ensemble sums, and what it reads from its sums."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions.networks.joint_counts import LevelParams, LevelStatistics
from tallybayes.ensemble import gaussian_copula, neighbors, target_encoding
from tallybayes.ensemble.boosting import Corrections
from tallybayes.ensemble.row_sample import KeptRows
from tallybayes.utils.array_types import Array, Floats


@dataclass(frozen=True, eq=False)
class EnsembleStatistics(LevelStatistics):
    """row…: a KeptRows; chains: (cells, classes), the counts of all chains; z_…: the sums of the Gaussian part.

    An ensemble of no parts has them too: of no cell, and of no dimension.
    """

    rows: Array
    row_label: NDArray[np.int32]
    row_weight: Floats
    row_key: NDArray[np.uint64]
    chains: Array
    z_n: Floats
    z_mean: Floats
    z_scatter: Floats

    @classmethod
    def of(
        cls, single: Floats, sizes: NDArray[np.int64], kept: KeptRows, chains: Array, normal: gaussian_copula.Statistics
    ) -> EnsembleStatistics:
        """Put the sums of all parts together.

        Parameters
        ----------
        single : ndarray of shape (K, levels)
            The weight of each level.
        sizes : ndarray of int64
            How many levels each column has.
        kept : KeptRows
            The rows that choose.
        chains : ndarray
            The counts of all chains.
        normal : Sums
            Those of the Gaussian part.

        Returns
        -------
        EnsembleStatistics
            One record.
        """
        rows = (kept.rows, kept.label, kept.weight, kept.key)
        return cls(single, sizes, *rows, chains, normal.n, normal.mean, normal.scatter)

    @property
    def kept(self) -> KeptRows:
        """The rows that are kept to choose by."""
        return KeptRows(self.rows, self.row_label, self.row_weight, self.row_key)

    @property
    def normal(self) -> gaussian_copula.Statistics:
        """The sums of the Gaussian part."""
        return gaussian_copula.Statistics(self.z_n, self.z_mean, self.z_scatter)


@dataclass(frozen=True, eq=False)
class EnsembleParams(LevelParams):
    """strengths: of back-off, of all rungs; logs: (rungs, classes). normal: λ, γ and ν of the Gaussian part; gaussian:
    its densities, None where a covariance has no inverse. levels: the terms of categories with many levels, None where
    there are none. nearest: the kept rows that are looked through, None where none are. corrections: None where none
    helps. weights: of the planes; biases: of the classes; scale: what the term of each chain is multiplied by. ridge,
    steps: how the weights were found; loss: the leave-one-out log-loss of so many kept rows, the judges; where weights
    were learned, what they tell of new rows (ensemble_weights.py);
    loss_error: its standard error."""

    strengths: Floats
    logs: Array
    normal: tuple[float, float, float] | None
    gaussian: gaussian_copula.Normals | None
    levels: target_encoding.LevelTerms | None
    nearest: neighbors.Nearest | None
    corrections: Corrections | None
    weights: Floats
    biases: Floats
    scale: Floats
    ridge: float
    steps: int
    loss: float
    loss_error: float
    judges: int

    @cached_property
    def together(self) -> _core.ChainPlanes:
        """All chains in one plane, each times its scale: made once for many questions."""
        return _core.ChainPlanes(1, np.zeros(len(self.scale), dtype=np.int32), self.scale)
