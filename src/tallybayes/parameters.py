"""tally + smoothing + prior → what people read, and what is scored with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import priors as read
from tallybayes.distributions.base import Context, Params
from tallybayes.plan import Group, named
from tallybayes.priors import check_priors
from tallybayes.schema import Levels, Schema
from tallybayes.tally import Tally

__all__ = ["Parameters", "check_priors", "context_of", "estimate", "log_prior", "log_priors"]


@dataclass(frozen=True)
class Parameters:
    """The log prior of each class, and the parameters of each group of columns."""

    log_prior: NDArray[np.float64]
    parts: tuple[Params, ...]


def estimate(tally: Tally, schema: Schema, groups: Sequence[Group], priors: Any) -> Parameters:
    """Reads a tally: nothing here is ever put back into it."""
    parts = []
    for group, s in zip(groups, tally.stats, strict=True):
        with named(schema, group.columns):
            parts.append(group.distribution.estimate(s, context_of(tally, schema, group)))
    return Parameters(log_prior(tally, priors), tuple(parts))


def context_of(tally: Tally, schema: Schema, group: Group) -> Context:
    """Labels, or intervals for a distribution of cut columns: those exist whether or not a value fell into them."""
    needs = group.distribution.needs
    cut = schema.cuts if needs in ("cuts", "codes") else ()
    return Context(tally.weight, [_intervals(schema, j) if j in cut else schema.levels.get(j) for j in group.columns])


def _intervals(schema: Schema, j: int) -> Levels:
    return Levels().extend(range(len(schema.cuts[j].points) + 1), declared=True)


def log_prior(tally: Tally, priors: Any) -> NDArray[np.float64]:
    """See priors.log_prior."""
    return read.log_prior(tally.weight, tally.classes, priors)


def log_priors(tally: Tally, priors: Any) -> NDArray[np.float64]:
    """See priors.log_priors."""
    return read.log_priors(tally.weight, tally.classes, priors)
