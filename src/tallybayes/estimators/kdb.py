"""KDB: k-dependence Bayes, with k and the columns selected by leave-one-out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.distributions.network import FamilyNetwork
from tallybayes.distributions.reals import Sets, family_real_sets
from tallybayes.distributions.tables import family_sets
from tallybayes.errors import OptionError
from tallybayes.estimators.network import LearnedNetwork, Rows, _network
from tallybayes.parameters import context_of
from tallybayes.plan import Group
from tallybayes.schema import Schema
from tallybayes.structures.learn import by_information, k_dependence
from tallybayes.tally import Tally

Floats = NDArray[np.float64]


class KDB(LearnedNetwork):
    """k-dependence Bayes: each column depends on the class and on up to k others (Sahami 1996), selectively.

    Columns are taken in by falling I(x_j; y); each has as parents the k columns before it with the largest
    I(x_i; x_j | y). One pass counts all pairs, a second the chosen combinations. With `select` a third judges every
    number of columns and every number of parents up to k at once, by exact leave-one-out log-loss, and keeps the best
    (Martínez, Webb, Chen and Zaidi 2016). A column that is not selected says nothing about the class. Columns that stay
    real (cuts=None) are nobody's parents, and have the best k of all discrete columns as theirs.

    Parameters
    ----------
    k : int, default=2
        Most parents of a column, besides the class.
    select : bool, default=True
        Choose the number of columns and of parents; ``k_`` and ``selected_`` say what was chosen.
    schema, smoothing, alpha, cuts, bins, priors, unseen, tempered
        As for TAN.

    Attributes
    ----------
    graph_ : Graph
        Who depends on whom.
    k_ : int
        The number of parents that was chosen.
    selected_ : list of str
        The columns that speak for or against a class, by falling information.
    """

    def __init__(
        self,
        k: int = 2,
        schema: Any = None,
        *,
        select: bool = True,
        smoothing: str = "backoff",
        alpha: float = 1.0,
        cuts: str | None = "mdl",
        bins: int = 10,
        priors: Any = None,
        unseen: str = "ignore",
        tempered: bool = False,
    ) -> None:
        self.k = k
        self.schema = schema
        self.select = select
        self.smoothing = smoothing
        self.alpha = alpha
        self.cuts = cuts
        self.bins = bins
        self.priors = priors
        self.unseen = unseen
        self.tempered = tempered

    def _check_options(self) -> None:
        super()._check_options()
        if not isinstance(self.k, int | np.integer) or isinstance(self.k, bool) or self.k < 0:
            raise OptionError(f"k must be a whole number of at least 0; got {self.k!r}.")
        if not isinstance(self.select, bool | np.bool_):
            raise OptionError(f"select must be True or False; got {self.select!r}.")

    def _learn_parents(
        self, group: Group, schema: Schema, total: Tally, rows: Rows | None
    ) -> tuple[FamilyNetwork, Tally]:
        (stats,), pairs = total.stats, _network(group)
        inner = schema.d - pairs.reals
        between, with_class = pairs.information(stats)
        order = by_information(with_class)
        parents = k_dependence(between, order, int(self.k), inner)
        network = replace(pairs, parents=parents, blind=(), extra=_beyond_pairs(parents[:inner]))
        network = replace(network, real_extra=family_real_sets(parents[inner:], 2))
        counted, real_counted = set(pairs.tables(inner).index()), _each(pairs.real_sets(inner))
        if not (set(network.extra) <= counted and _each(network.real_extra) <= real_counted):
            if rows is None or self.__dict__.get("_tally") is total:
                raise OptionError(
                    f"The network that is best now needs combinations of {int(self.k) + 1} columns that were not "
                    "counted: only those of the network chosen before were. Fit again on the rows."
                )
            data, y, w = rows
            total = replace(total, stats=(network.count_more(stats, data, y, w, total.K),))
        else:
            network = replace(network, extra=pairs.extra, real_extra=pairs.real_extra)
        if not self.select:
            return network, total
        if rows is None:
            raise OptionError("select=True judges by leave-one-out on rows: relearn(X, y) needs them.")
        return self._selected(replace(group, distribution=network), schema, total, order, rows)

    def _selected(
        self, group: Group, schema: Schema, total: Tally, order: list[int], rows: Rows
    ) -> tuple[FamilyNetwork, Tally]:
        network, (data, y, w) = _network(group), rows
        p = network.base(total.stats[0], context_of(total, schema, group))
        losses = network.losses(p, order, data, y, w)
        k, columns = np.unravel_index(int(np.argmin(losses)), losses.shape)
        if losses[k, columns] >= _prior_loss(total, y, w):
            blind, k = tuple(range(schema.d)), np.intp(0)
        else:
            blind = tuple(sorted(order[int(columns) + 1 :]))
        parents = tuple(() if j in blind else own[: int(k)] for j, own in enumerate(network.parents))
        return replace(network, parents=parents, blind=blind), total

    @property
    def k_(self) -> int:
        self._require_attribute("k_")
        network: Any = self._groups[0].distribution
        return max((len(own) for own in network.parents), default=0)

    @property
    def selected_(self) -> list[str]:
        self._require_attribute("selected_")
        (group,) = self._groups
        network = _network(group)
        _, with_class = network.information(self._tally.stats[0])
        return [self.schema_.name(group.columns[j]) for j in by_information(with_class) if j not in network.blind]


def _beyond_pairs(parents: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    return tuple(s for s in family_sets(parents) if len(s) > 2)


def _each(sets: Sets) -> set[tuple[tuple[int, ...], int]]:
    return {(s, j) for s, reals in sets for j in reals}


def _prior_loss(total: Tally, y: NDArray[np.int32], w: Floats | None) -> float:
    """The leave-one-out log-loss of the class frequencies alone."""
    seen = y >= 0
    weight = np.ones(int(seen.sum())) if w is None else w[seen]
    unit = np.minimum(weight, 1.0)
    own, n = total.weight[y[seen]] - unit, total.weight.sum() - unit
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(-(weight * np.log(np.where(n > 0, own / n, 1.0))).sum())
