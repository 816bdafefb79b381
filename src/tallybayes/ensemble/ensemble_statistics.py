"""The sufficient statistics of an ensemble, and the parameters estimated from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions.networks.joint_counts import LevelParams, LevelStatistics
from tallybayes.ensemble import gaussian_copula
from tallybayes.ensemble.boosting import BoostedTrees
from tallybayes.ensemble.neighbors import Neighbors
from tallybayes.ensemble.row_sample import RowSample
from tallybayes.ensemble.target_encoding import TargetEncoding
from tallybayes.utils.array_types import Array, Floats
from tallybayes.utils.cached import cached_property


@dataclass(frozen=True, eq=False)
class EnsembleStatistics(LevelStatistics):
    """sample_…: a RowSample; chains: (cells, classes), counts of all back-off chains; gaussian_…: moments by class."""

    sample_codes: Array
    sample_label: NDArray[np.int32]
    sample_weight: Floats
    sample_key: NDArray[np.uint64]
    chains: Array
    gaussian_n: Floats
    gaussian_mean: Floats
    gaussian_scatter: Floats

    @classmethod
    def of(
        cls,
        single: Floats,
        sizes: NDArray[np.int64],
        sample: RowSample,
        chains: Array,
        gaussian: gaussian_copula.Statistics,
    ) -> EnsembleStatistics:
        """The statistics of all components as one record."""
        rows = (sample.codes, sample.label, sample.weight, sample.key)
        return cls(single, sizes, *rows, chains, gaussian.n, gaussian.mean, gaussian.scatter)

    @property
    def sample(self) -> RowSample:
        """The row sample."""
        return RowSample(self.sample_codes, self.sample_label, self.sample_weight, self.sample_key)

    @property
    def gaussian(self) -> gaussian_copula.Statistics:
        """The moments of the Gaussian discriminant."""
        return gaussian_copula.Statistics(self.gaussian_n, self.gaussian_mean, self.gaussian_scatter)


@dataclass(frozen=True, eq=False)
class EnsembleParams(LevelParams):
    """All that is estimated; None for a component that the ensemble has not, or that has nothing to say."""

    concentrations: Floats  # of back-off, for every number of parents of every chain
    logs: Array  # (nodes, classes): the log-probabilities of all chains
    regularisation: gaussian_copula.Regularisation | None
    gaussian: gaussian_copula.Discriminant | None
    target_encoding: TargetEncoding | None
    neighbors: Neighbors | None
    boosting: BoostedTrees | None
    weights: Floats  # stacking weights of the meta-features
    biases: Floats  # of the classes
    chain_weights: Floats  # what the term of each chain is multiplied by
    ridge: float  # of the stacking weights
    steps: int  # Newton steps to them
    loss: float  # estimated log-loss of new rows; of the validation rows themselves where these are few
    loss_error: float  # its standard error
    validation_rows: int  # rows of the sample that chose all this

    @cached_property
    def all_chains(self) -> _core.ChainOutputs:
        """The weighted sum over all chains, made once for many predictions."""
        return _core.ChainOutputs(1, np.zeros(len(self.chain_weights), dtype=np.int32), self.chain_weights)
