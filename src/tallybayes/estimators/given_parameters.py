"""Models from given parameters: few weighted rows whose maximum-likelihood estimates are those parameters.

So such a model has sufficient statistics like any other: it predicts, samples, draws and saves. A Gaussian N(μ, Σ) is
that of the rows μ ± √d (column i of the root of Σ); a table of probabilities is that of a row for each level with its
probability as weight, the other columns missing; a network that of all rows with their joint probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tallybayes.errors import OptionError, brief, is_number, listing
from tallybayes.structure.graph import parents_of, read_edges
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from tallybayes.estimators.base import GenerativeClassifier
    from tallybayes.estimators.bayes_network import BayesNetwork
    from tallybayes.estimators.gaussian_discriminant import GaussianDiscriminant
    from tallybayes.estimators.naive_bayes import NaiveBayes

MAX_COMBINATIONS = 1_000_000  # combinations of levels of a network
SUM = 1e-6  # how far from 1 given probabilities may sum
MOMENTS = {"mean", "variance"}
Rows = list[dict[str, object]]
Model = TypeVar("Model", bound="GenerativeClassifier")
Naive = TypeVar("Naive", bound="NaiveBayes")
Network = TypeVar("Network", bound="BayesNetwork")


def discriminant(
    cls: type,
    means: object,
    covariance: object,
    priors: object,
    classes: object,
    feature_names: Sequence[str] | None,
) -> GaussianDiscriminant:
    """A GaussianDiscriminant with these means and covariances."""
    from tallybayes.estimators.gaussian_discriminant import GaussianDiscriminant as Own

    if cls is not Own:
        raise OptionError(f"{cls.__name__} estimates its covariances. Use GaussianDiscriminant.from_parameters(…).")
    mean = _numbers(means, "means", 2)
    K, d = mean.shape
    cov = _numbers(covariance, "covariance", 2, 3)
    if cov.shape not in ((d, d), (K, d, d)):
        raise OptionError(
            f"covariance must have the shape {(d, d)}, or {(K, d, d)} with one for each class; got {cov.shape}."
        )
    shared = cov.ndim == 2
    labels, prior = _labels_and_prior(K, classes, priors)
    X = np.empty((K, 2 * d, d))
    for k in range(K):
        root = math.sqrt(d) * _root(cov if shared else cov[k], k)
        X[k] = mean[k] + np.concatenate([root.T, -root.T])
    rows: Any = X.reshape(-1, d)
    if feature_names is not None:
        names = [str(name) for name in feature_names]
        if len(set(names)) < len(names) or len(names) != d:
            raise OptionError(f"feature_names must be {d} different names; got {brief(feature_names)}.")
        rows = [dict(zip(names, row, strict=True)) for row in rows.tolist()]
    model = Own(own_covariance=0.0 if shared else 1.0, priors=prior, tol=0.0)
    return _made(model, rows, np.repeat(labels, 2 * d), np.full(2 * d * K, 1 / (2 * d)))


def _labels_and_prior(K: int, classes: object, priors: object) -> tuple[Array, dict[Any, float]]:
    """Labels, by default 0 to K − 1, and the prior of each, by default uniform."""
    labels = np.arange(K) if classes is None else np.array(list(classes) if isinstance(classes, Sequence) else classes)
    if labels.shape != (K,) or len(set(labels.tolist())) < K:
        raise OptionError(f"classes must be {K} different labels, one for each row of means; got {brief(classes)}.")
    share = np.full(K, 1 / K) if priors is None else _numbers(priors, "priors", 1)
    if share.shape != (K,):
        raise OptionError(f"priors must be {K} numbers, one for each row of means; got {brief(priors)}.")
    return labels, _prior(dict(zip(labels.tolist(), share.tolist(), strict=True)))


def naive(cls: type[Naive], priors: object, tables: object) -> Naive:
    """A NaiveBayes with these tables."""
    prior = _prior(priors)
    rows: Rows = []
    labels: list[Hashable] = []
    weights: list[float] = []
    kinds: dict[str, str] = {}
    for column, table in _tables(tables).items():
        if set(table) != set(prior):
            raise OptionError(
                f"The table of column {column!r} must have an entry for each class {listing(list(prior))}; got "
                f"{brief(list(table))}."
            )
        kinds[column] = "real" if all(set(t) == MOMENTS for t in table.values()) else "categorical"
        levels = list(dict.fromkeys(level for t in table.values() for level in t))
        for label, own in table.items():
            if kinds[column] == "real":
                mean, deviation = _moments(own, column)
                found = [(mean - deviation, 0.5), (mean + deviation, 0.5)]
            else:
                share = _shares(own, f"The probabilities of column {column!r} in class {label!r}")
                found = [(level, share.get(level, 0.0)) for level in levels]
            rows += [{column: value} for value, _ in found]
            weights += [w for _, w in found]
            labels += [label] * len(found)
    model = cls("gaussian", kinds, alpha=0.0, var_smoothing=0.0, priors=prior)
    return _made(model, _filled(rows, list(kinds)), np.array(labels), np.array(weights))


def network(cls: type[Network], priors: object, tables: object, graph: object) -> Network:
    """A BayesNetwork with these conditional probability tables."""
    prior, given = _prior(priors), _tables(tables)
    names = list(given)
    parents = parents_of(read_edges(graph), lambda name: _position(name, names), names)
    levels = {name: list(dict.fromkeys(v for t in given[name].values() for v in t)) for name in names}
    if len(prior) * math.prod(map(len, levels.values())) > MAX_COMBINATIONS:
        raise OptionError(f"The network has more than {MAX_COMBINATIONS:,} combinations of levels; use a smaller one.")
    cells = {
        name: _cells(name, given[name], [names[i] for i in own], levels, prior)
        for name, own in zip(names, parents, strict=True)
    }
    rows: Rows = []
    labels: list[Hashable] = []
    weights: list[float] = []
    for label in prior:
        for values in product(*levels.values()):
            weight = 1.0
            for name, value, own in zip(names, values, parents, strict=True):
                weight *= cells[name][(label, *(values[i] for i in own))].get(value, 0.0)
            rows.append(dict(zip(names, values, strict=True)))
            labels.append(label)
            weights.append(weight)
    kinds = dict.fromkeys(names, "categorical")
    model = cls(graph, schema=kinds, smoothing="laplace", alpha=0.0, priors=prior)
    return _made(model, rows, np.array(labels), np.array(weights))


def _made(model: Model, rows: object, y: Array, weights: Floats) -> Model:
    model.fit(rows, y, sample_weight=weights)
    model.__dict__["_given_parameters"] = True
    return model


def _filled(rows: Rows, names: list[str]) -> Rows:
    """Every row with every column, in their order; missing where nothing is said."""
    return [{name: row.get(name) for name in names} for row in rows]


def _numbers(given: object, what: str, *dimensions: int) -> Floats:
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"{what} must be numbers; got {brief(given)}.") from None
    if found.ndim not in dimensions or not found.size or not np.isfinite(found).all():
        raise OptionError(
            f"{what} must be finite numbers in {' or '.join(map(str, dimensions))} dimensions; got {brief(given)}."
        )
    return found


def _root(cov: Floats, k: int) -> Floats:
    """Lower triangular L with L Lᵀ = Σ."""
    try:
        if not np.allclose(cov, cov.T, rtol=1e-9, atol=1e-12 * np.abs(cov).max()):
            raise np.linalg.LinAlgError
        return np.asarray(np.linalg.cholesky(cov), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise OptionError(f"covariance must be symmetric and positive definite; that of class {k} is not.") from None


def _prior(given: object) -> dict[Any, float]:
    if not isinstance(given, Mapping) or not given:
        raise OptionError(f"priors must be a dict from label to probability; got {brief(given)}.")
    return _shares(given, "priors")


def _shares(given: Mapping[Any, object], what: str) -> dict[Any, float]:
    """Probabilities that sum to 1."""
    for p in given.values():
        if not is_number(p) or not 0 <= float(p) <= 1:  # type: ignore[arg-type]
            raise OptionError(f"{what} must be probabilities from 0 to 1; got {brief(p)}.")
    total = math.fsum(float(p) for p in given.values())  # type: ignore[arg-type]
    if abs(total - 1) > SUM:
        raise OptionError(f"{what} must sum to 1; got {total:.6g}.")
    return {key: float(p) / total for key, p in given.items()}  # type: ignore[arg-type]


def _tables(given: object) -> dict[str, dict[Any, dict[Any, Any]]]:
    good = isinstance(given, Mapping) and len(given) > 0
    if not isinstance(given, Mapping) or not good or not all(isinstance(t, Mapping) for t in given.values()):
        raise OptionError(
            f"tables must be a dict from column to its table, as describe() gives it; got {brief(given)}."
        )
    for column, table in given.items():
        if not table or not all(isinstance(own, Mapping) and own for own in table.values()):
            raise OptionError(f"The table of column {column!r} must be a dict of dicts from level to probability.")
    return {str(column): {key: dict(own) for key, own in table.items()} for column, table in given.items()}


def _moments(given: Mapping[str, Any], column: str) -> tuple[float, float]:
    mean, variance = given["mean"], given["variance"]
    if not (is_number(mean) and is_number(variance) and math.isfinite(mean) and 0 < variance < math.inf):
        raise OptionError(f"Column {column!r} needs a mean and a variance above 0; got {brief(dict(given))}.")
    return float(mean), math.sqrt(variance)


def _position(name: object, names: list[str]) -> int:
    if name not in names:
        raise OptionError(f"The graph names {name!r}, which has no table. Columns: {listing(names)}.")
    return names.index(str(name))


def _cells(
    name: str,
    table: dict[Any, dict[Any, Any]],
    own: list[str],
    levels: Mapping[str, list[Any]],
    prior: Mapping[Any, float],
) -> dict[tuple[Any, ...], dict[Any, float]]:
    """P(level | class, parents) by (class, values of the parents)."""
    given = {(key if isinstance(key, tuple) else (key,)): t for key, t in table.items()}
    found = {}
    for cell in product(prior, *(levels[p] for p in own)):
        if cell not in given:
            raise OptionError(
                f"The table of column {name!r} has no entry for {brief(cell)}: its keys are the class"
                + (f" and the values of {listing(own)}." if own else ".")
            )
        found[cell] = _shares(given[cell], f"The probabilities of column {name!r} given {brief(cell)}")
    surplus = next((key for key in given if key not in found), None)
    if surplus is not None:
        raise OptionError(
            f"The table of column {name!r} has an entry for {brief(surplus)}: no combination of class and parents."
        )
    return found
