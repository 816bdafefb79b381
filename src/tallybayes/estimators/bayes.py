"""BayesClassifier: the one to use when you do not want to choose."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tallybayes.distributions.ensemble import Ensemble, smooth_prior
from tallybayes.distributions.joint import packed
from tallybayes.encode import Coded
from tallybayes.errors import OptionError
from tallybayes.estimators.base import TallyClassifier
from tallybayes.plan import Batch, Group
from tallybayes.schema import Schema
from tallybayes.structures.members import Columns, Plan, batches, choose
from tallybayes.tally import Tally

PLANS = {
    "fast": Plan(4, 4, 2, 0, gaussian=False, weighted=False),
    "balanced": Plan(10, 10, 4, 20, gaussian=True, weighted=True),
    "best": Plan(30, 30, 8, 60, gaussian=True, weighted=True),
}


class BayesClassifier(TallyClassifier):
    """An ensemble of small Bayesian networks."""

    _can_be_other = False

    def __init__(
        self,
        effort: str = "balanced",
        schema: Any = None,
        *,
        priors: Any = None,
        unseen: str = "ignore",
        random_state: Any = 0,
    ) -> None:
        self.effort = effort
        self.schema = schema
        self.priors = priors
        self.unseen = unseen
        self.random_state = random_state

    def _check_options(self) -> None:
        if self.effort not in PLANS:
            raise OptionError(f"effort must be one of {', '.join(map(repr, PLANS))}; got {self.effort!r}.")

    def _given_schema(self) -> Any:
        return self.schema

    def _prior(self) -> Any:
        return (lambda t: np.exp(smooth_prior(t.weight))) if self.priors is None else self.priors

    @property
    def _unseen(self) -> str:  # type: ignore[override]
        return self.unseen

    def _choose(self, schema: Schema) -> tuple[Group, ...]:
        return (Group(Ensemble(order=1, method="frequency", bins=255), tuple(range(schema.d))),)

    def _choose_again(self, schema: Schema, groups: tuple[Group, ...]) -> tuple[Group, ...]:  # noqa: ARG002
        return groups

    def _structure(
        self, groups: tuple[Group, ...], batch: Batch, schema: Schema, total: Tally, y: Any, w: Any
    ) -> tuple[tuple[Group, ...], Tally]:
        (group,), data, (s,) = groups, batch.data[0], total.stats
        assert isinstance(data, Coded)
        ensemble = group.distribution
        assert isinstance(ensemble, Ensemble)
        sizes = s["sizes"]
        plan = PLANS[self.effort]
        ends = np.cumsum(sizes)
        split = [s["single"][:, e - z : e] for e, z in zip(ends, sizes, strict=True)]
        missing = np.array([(total.weight - part.sum(axis=1)).sum() > 1e-9 * total.weight.sum() for part in split])
        ordered = np.array([j in schema.cuts for j in group.columns])
        columns = Columns(s["single"], sizes, ordered, missing, [])

        def spans() -> Any:
            return batches(packed(data, sizes), y, w)

        chosen = replace(ensemble, **choose(columns, plan, spans, s, self.random_state or 0))
        stats = {**s, **chosen.start(total.K, w is not None)}
        for codes, part_y, part_w in spans():
            stats = chosen.count(stats, codes, part_y, part_w, total.K)
        return (replace(group, distribution=chosen),), replace(total, stats=(stats,))
