"""The parameters of a network of families."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions.networks.conditional_gaussians import Normal
from tallybayes.distributions.networks.joint_statistics import JointParams, Reals
from tallybayes.utils.array_types import Floats
from tallybayes.utils.cached import cached_property


@dataclass(frozen=True, eq=False)
class FamilyReals(Reals):
    """parent, start: the parents of each real column, as the kernels read them; normals: mean and variance (cells,
    classes) of each; strengths: of back-off, a list for each (None: each cell speaks for itself); terms: of all, as the
    kernels read them."""

    parent: NDArray[np.int32]
    start: NDArray[np.int64]
    normals: list[Normal]
    strengths: list[list[Floats] | None]
    terms: Floats


@dataclass(frozen=True, eq=False)
class FamilyParams(JointParams):
    """The parameters of a network: a table for each family, parents before children.

    Parameters
    ----------
    Those of JointParams, and:
    child : ndarray of int32
        The child of each family.
    parent : ndarray of int32
        The parents of all families, one family after another.
    parent_start : ndarray of int64
        Where those of each family begin, and the end of the last.
    strengths : ndarray or None
        Of back-off, one for each parent; None with Laplace.
    logs : ndarray of shape (cells, K)
        log P(child | class, parents) of one family after another.
    offsets : ndarray of int64
        Where those of each family begin.
    """

    reals: FamilyReals | None
    child: NDArray[np.int32]
    parent: NDArray[np.int32]
    parent_start: NDArray[np.int64]
    strengths: Floats | None
    logs: Floats
    offsets: NDArray[np.int64]

    @cached_property
    def network(self) -> _core.Network:
        """The tables as the kernels read them, checked once."""
        reals = () if self.reals is None else (self.reals.parent, self.reals.start, self.reals.terms)
        return _core.Network(self.sizes, self.child, self.parent, self.parent_start, self.logs, *reals)
