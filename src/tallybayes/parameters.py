"""tally + smoothing + prior → what people read, and what is scored with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions.base import Context, Params
from tallybayes.errors import OptionError
from tallybayes.plan import Group, named
from tallybayes.schema import Levels, Schema
from tallybayes.tally import Tally

Array = NDArray[Any]


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
    """counted: n_k / n;  'laplace': (n_k + 1) / (n + K);  'uniform': 1 / K;  as given, or as a function reads it."""
    K = tally.K
    if priors is None:
        return _core.log_prior(tally.weight, 0.0)
    if callable(priors):
        found = priors(tally)
    elif isinstance(priors, str):
        if priors == "uniform":
            found = np.full(K, 1.0 / K)
        elif priors == "laplace":
            return _core.log_prior(tally.weight, 1.0)
        else:
            raise OptionError(f"priors must be None, 'uniform', 'laplace' or one number per class; got {priors!r}.")
    else:
        found = check_priors(priors, tally.classes)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(found))


def log_priors(tally: Tally, priors: Any) -> NDArray[np.float64]:
    """The same for one prior for all rows, or for an array (rows, classes); a frame's columns go by label."""
    if isinstance(priors, str | Mapping) or (found := _numbers(priors)).ndim != 2:
        return log_prior(tally, priors)
    names = getattr(priors, "column_names", getattr(priors, "columns", None))
    if names is not None:
        labels, names = tally.classes.tolist(), list(names)
        if sorted(map(str, names)) != sorted(map(str, labels)):
            raise OptionError(f"The columns of priors must be the classes {labels}; got {names}.")
        found = found[:, [list(map(str, names)).index(str(label)) for label in labels]]
    if found.shape[1] != tally.K:
        raise OptionError(f"Number of priors must match number of classes: got {found.shape[1]} for {tally.K} classes.")
    bad = ~np.isfinite(found).all(axis=1) | (found < 0).any(axis=1) | ~np.isclose(found.sum(axis=1), 1.0)
    if bad.any():
        row = int(np.argmax(bad))
        raise OptionError(
            f"The priors of each row must be non-negative and sum to 1; row {row} is {found[row].tolist()}."
        )
    with np.errstate(divide="ignore"):
        return np.ascontiguousarray(np.log(found))


def _numbers(priors: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(priors, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(
            f"priors must be None, 'uniform', 'laplace' or one number per class; got {priors!r:.200}."
        ) from None


def check_priors(priors: Any, classes: Array) -> NDArray[np.float64]:
    """Priors as an array in the order of the classes; a dict goes by label."""
    if isinstance(priors, Mapping):
        labels = classes.tolist()
        if set(priors) != set(labels):
            raise OptionError(
                f"priors must name each class once. Number of priors must match number of classes: got "
                f"{sorted(map(str, priors))}, the classes are {[str(v) for v in labels]}."
            )
        priors = [priors[label] for label in labels]
    found = _numbers(priors)
    if found.shape != (len(classes),):
        raise OptionError(
            f"Number of priors must match number of classes: got {found.size} for {len(classes)} classes "
            f"({', '.join(map(str, classes[:5].tolist()))}{', …' if len(classes) > 5 else ''})."
        )
    if not np.isfinite(found).all() or (found < 0).any():
        raise OptionError(f"Priors must be non-negative; got {found.tolist()}.")
    if not np.isclose(found.sum(), 1.0):
        raise OptionError(f"The sum of the priors should be 1; got {found.sum():g}.")
    return found
