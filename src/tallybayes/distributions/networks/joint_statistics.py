"""Sums and parameters of counted sets of columns, the real ones beside them included."""

from __future__ import annotations

from dataclasses import dataclass

from tallybayes import _core
from tallybayes.distributions.networks.conditional_gaussians import (
    Moments,
    RealTables,
)
from tallybayes.distributions.networks.count_tables import Tables
from tallybayes.distributions.networks.joint_counts import (
    LevelParams,
    LevelStatistics,
)
from tallybayes.utils.array_types import Array, Floats


@dataclass(frozen=True, eq=False)
class JointStatistics(LevelStatistics):
    """How often each level, and each combination of levels in the sets that are counted, was seen in each class.

    Parameters
    ----------
    single : ndarray of shape (K, levels)
        The weight of the rows, the levels of all columns side by side.
    sizes : ndarray of int64, of shape (d,)
        How many levels each column has.
    joint : ndarray of shape (K, cells)
        The cells of all tables; whole numbers (uint32) as long as rows have no weights.
    """

    joint: Array


@dataclass(frozen=True, eq=False)
class MixedStatistics(JointStatistics):
    """Of discrete and real columns: the moments of these, (classes, cells · real columns) of one set after another."""

    n: Floats
    mean: Floats
    m2: Floats

    @property
    def moments(self) -> Moments:
        """Weights, means and squares of the real columns."""
        return Moments(self.n, self.mean, self.m2)


@dataclass(frozen=True, eq=False)
class Reals:
    """Real columns: their moments, and mean and variance of each in each class without parents, (columns, classes)."""

    tables: RealTables
    mean: Floats
    var: Floats


@dataclass(frozen=True, eq=False)
class JointParams(LevelParams):
    """What every network reads first.

    Parameters
    ----------
    Those of LevelParams, and:
    joint : ndarray of shape (K, cells)
        The counts of all tables.
    reals : Reals or None
        Of the real columns; None where no column is real.
    """

    joint: Array
    reals: Reals | None

    def counts(self, t: Tables, alpha: float) -> _core.JointCounts:
        """Return the counts as the kernels read them."""
        counts = (self.single, self.joint, self.class_weight, self.sizes)
        return _core.JointCounts(*counts, t.columns, t.starts, self.N, float(alpha))
