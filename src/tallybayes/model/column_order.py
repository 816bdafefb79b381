"""The same statistics with the columns in the order of another model, matched by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tallybayes.data.schema import Schema
from tallybayes.distributions.networks.averaged_networks import AveragedNetwork
from tallybayes.distributions.statistics import arrays_of, changed
from tallybayes.distributions.univariate.categorical import split
from tallybayes.errors import MergeError
from tallybayes.model.term import Term

if TYPE_CHECKING:
    from tallybayes.model.fitted import Fitted

V = TypeVar("V")
BY_COLUMN = frozenset(
    ("n", "mean", "low", "m2", "zero", "sum", "no", "yes", "scatter")
)  # one entry per column, or pair


def in_order_of(other: Fitted, first: Fitted) -> Fitted:
    """The other model with its columns in the order of the first, if they are the same columns in another order."""
    a, b = first.schema, other.schema
    if a.names is None or b.names is None or a.names == b.names or sorted(a.names) != sorted(b.names):
        return other
    place = {j: a.names.index(name) for j, name in enumerate(b.names)}
    found = {frozenset(place[j] for j in t.columns): t for t in other.terms}
    if len(first.terms) != len(other.terms) or any(frozenset(t.columns) not in found for t in first.terms):
        return replace(other, schema=_schema(b, a, place))  # what differs besides the order is said by those who merge
    terms = []
    for mine in first.terms:
        term = found[frozenset(mine.columns)]
        at = [place[j] for j in term.columns]
        order = [at.index(j) for j in mine.columns]
        terms.append(replace(term, columns=mine.columns, statistics=_statistics(term, order), params=None))
    return replace(other, schema=_schema(b, a, place), terms=tuple(terms), log_prior=None)


def _schema(b: Schema, a: Schema, place: Mapping[int, int]) -> Schema:
    def moved(values: Mapping[int, V]) -> dict[int, V]:
        return dict(sorted((place[j], v) for j, v in values.items()))

    by_name = {g.name: g for g in b.input_columns}
    known = b.expansion is not None and all(g.name in by_name for g in a.input_columns)
    return replace(
        b,
        names=a.names,
        kinds=tuple(moved(dict(enumerate(b.kinds))).values()),
        levels=moved(b.levels),
        cuts=moved(b.cuts),
        chosen=moved(b.chosen),
        ambiguous=tuple(sorted(place[j] for j in b.ambiguous)),
        expansion=tuple(by_name[g.name] for g in a.input_columns) if known else b.expansion,
    )


def _statistics(term: Term, order: Sequence[int]) -> Any:
    """A term's statistics with its columns in another order."""
    if list(order) == list(range(len(order))):
        return term.statistics
    arrays, at = arrays_of(term.statistics), np.asarray(order, dtype=np.intp)
    if set(arrays) == {"count", "sizes"}:
        parts = split(arrays["count"], arrays["sizes"])
        count = np.ascontiguousarray(np.concatenate([parts[j] for j in order], axis=1))
        return changed(term.statistics, {"count": count, "sizes": arrays["sizes"][at]})
    if set(arrays) == {"start", "value", "weight", "K"}:  # entries of a kernel density, one for each column and class
        entries = (at[:, None] * int(arrays["K"]) + np.arange(int(arrays["K"]))).ravel()
        spans = [slice(arrays["start"][e], arrays["start"][e + 1]) for e in entries]
        start = np.concatenate([[0], np.cumsum(np.diff(arrays["start"])[entries])]).astype(np.int64)
        moved = {key: np.concatenate([arrays[key][s] for s in spans]) for key in ("value", "weight")}
        return changed(term.statistics, {"start": start, **moved})
    if set(arrays) == {"single", "sizes", "joint"} and isinstance(term.distribution, AveragedNetwork):
        return _joint_counts(term.distribution, term.statistics, order)
    if not set(arrays) <= BY_COLUMN:
        raise MergeError(
            "The two models have the same columns in another order, and the statistics of the distribution "
            f"{term.distribution.name!r} cannot be put in order. Let both learn with one plan, or fit the second one "
            "with schema=first.schema_."
        )
    return changed(term.statistics, {key: _array(a, at) for key, a in arrays.items()})


def _joint_counts(network: AveragedNetwork, s: Any, order: Sequence[int]) -> Any:
    """Counts of every set of columns up to a size: each table with its axes in the new order."""
    K, sizes, tables = len(s.single), s.sizes, network.tables(len(s.sizes)).index()
    ends = np.cumsum([np.prod(sizes[list(columns)]) for columns in tables]).tolist()
    single, joint = split(s.single, sizes), []
    for columns in tables:
        old = [order[j] for j in columns]
        before = tuple(sorted(old))
        end, shape = ends[tables[before]], sizes[list(before)].tolist()
        block = s.joint[:, end - int(np.prod(shape)) : end].reshape(K, *shape)
        joint.append(block.transpose(0, *(1 + before.index(j) for j in old)).reshape(K, -1))
    moved = {"single": [single[j] for j in order], "joint": joint or [s.joint]}
    arrays = {key: np.ascontiguousarray(np.concatenate(parts, axis=1)) for key, parts in moved.items()}
    return changed(s, {**arrays, "sizes": sizes[list(order)]})


def _array(a: Any, at: Any) -> Any:
    if a.ndim < 2:
        return a
    return np.ascontiguousarray(a[:, at] if a.ndim == 2 else a[:, at][:, :, at])
