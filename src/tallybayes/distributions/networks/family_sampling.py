"""Rows drawn from families: a level or a number for each column, given those drawn for its parents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tallybayes.distributions.networks.conditional_gaussians import Normal
from tallybayes.distributions.networks.families import Families
from tallybayes.distributions.networks.joint_statistics import JointParams
from tallybayes.utils.array_types import Array


def draw_families(
    f: Families, logs: Array, offsets: Array, p: JointParams, y: Array, rng: np.random.Generator
) -> list[Array]:
    """A level of each discrete column for each row, parents first."""
    drawn: list[Array] = [np.empty(0)] * len(p.sizes)
    for i, j in enumerate(f.child.tolist()):
        table = logs[offsets[i] : offsets[i + 1]].reshape(-1, int(p.sizes[j]), p.K)
        cell = drawn_cell(f.parent[f.start[i] : f.start[i + 1]].tolist(), p.sizes, drawn, len(y))
        drawn[j] = draw(table, p.exist[j], cell, y, rng)
    return drawn


def drawn_cell(parents: Sequence[int], sizes: Array, drawn: Sequence[Array], n: int) -> NDArray[np.intp]:
    """The cell of the parents' values that were drawn. A column without a level (−1) has one place."""
    cell = np.zeros(n, dtype=np.intp)
    for i in parents:
        cell = cell * int(sizes[i]) + np.maximum(drawn[i], 0)
    return cell


def draw_real(
    normal: Normal,
    sizes: Array,
    parents: Sequence[int],
    drawn: Sequence[Array],
    y: Array,
    rng: np.random.Generator,
) -> Array:
    """A number for each row, given the levels drawn for its parents."""
    cell = drawn_cell(parents, sizes, drawn, len(y))
    mean, var = normal
    return np.asarray(rng.normal(mean[cell, y], np.sqrt(var[cell, y])))


def draw(table: Array, exist: Array, cell: Array, y: Array, rng: np.random.Generator) -> Array:
    """A level for each row: table (cells, levels, classes) of logs, of which only existing levels are drawn."""
    p = np.where(exist[None, :, None], np.exp(table), 0.0)
    steps = np.cumsum(p, axis=1)
    mine = steps[cell, :, y]
    u = rng.random(len(y)) * mine[:, -1]
    out: Array = np.minimum((u[:, None] >= mine).sum(axis=1), table.shape[1] - 1)
    return np.where(mine[:, -1] > 0, out, -1)
