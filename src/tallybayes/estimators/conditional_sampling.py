"""Rows drawn given some of their columns: the class from its posterior, then the rest from p(rest | given, class)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.encoding import RAW_LIMIT
from tallybayes.data.output_tables import build_table
from tallybayes.distributions.capabilities import IndependentColumns, capability, plot_style
from tallybayes.distributions.multivariate.multivariate_gaussian import GaussianBlock
from tallybayes.distributions.networks.family_network import FamilyNetwork
from tallybayes.distributions.networks.family_sampling import draw_real
from tallybayes.errors import OptionError, TableError, brief, listing
from tallybayes.estimators.generate import _read_as, classes_to_draw, random_generator
from tallybayes.model.predictor import Predictor
from tallybayes.model.term import Term
from tallybayes.utils.array_types import Array, Floats

Known = dict[int, Any]  # by number of the column: a code of a level, or a number


def sample_given(predictor: Predictor, n: object, y: object, random_state: object, given: object) -> tuple[Any, Array]:
    """Rows in which the given columns have these values, and their classes."""
    fitted = predictor.fitted
    rng, rows = random_generator(n, random_state)
    values = _read(predictor, given)
    for term in fitted.terms:
        _check(term)
    known: Known = {j: _code(predictor, j, value) for j, value in values.items()}
    row = {fitted.schema.name(j): value for j, value in values.items()}
    log_prior = None if y is not None else predictor.predict([row], "log_proba")[0]
    codes = classes_to_draw(fitted, rows, y, rng, log_prior)
    columns: list[Any] = [None] * fitted.schema.d
    for term in fitted.terms:
        for i, drawn in enumerate(_draw(predictor, term, codes, known, row, rng)):
            j = term.columns[i]
            needs = _read_as(fitted, term, i)
            if j in values and needs == "cuts":  # the number itself, not any of its interval
                needs, drawn = "numbers", np.full(rows, float(values[j]))
            columns[j] = (needs, drawn)
    return build_table(fitted.schema, columns, rng), fitted.classes[codes]


def _check(term: Term) -> None:
    """Refuses a distribution whose columns cannot be drawn given others."""
    d = term.distribution
    independent = capability(d, IndependentColumns) is not None and plot_style(d) != "share"
    if not (independent or isinstance(d, GaussianBlock | FamilyNetwork)) or d.needs not in (
        "numbers",
        "codes",
        "cuts",
        "levels",
    ):
        raise OptionError(
            f"sample(given=…) needs exact marginals; the distribution {d.name!r} has none to draw from. Naive Bayes of "
            "columns one by one, discriminants, TAN, KDB, SPODE and BayesNetwork have them."
        )


def _read(predictor: Predictor, given: object) -> dict[int, Any]:
    """The given values by number of the column; one value of each."""
    schema = predictor.fitted.schema
    if not isinstance(given, Mapping):
        raise OptionError(f"given must be a dict from column to value; got {brief(given)}.")
    if schema.expansion is not None:
        raise OptionError("sample(given=…) is not for tables with dates or identifiers: columns are made of those.")
    found: dict[int, Any] = {}
    for name, value in given.items():
        if isinstance(value, list | tuple | set | dict | np.ndarray):
            raise OptionError(f"given must hold one value of each column; {name!r} has {brief(value)}.")
        if value is not None and value == value:  # a missing value says nothing
            found[schema.position(name)] = value
    return found


def _code(predictor: Predictor, j: int, value: Any) -> Any:
    """The value as the distribution has it: the code of a level or an interval, or a number."""
    fitted = predictor.fitted
    schema = fitted.schema
    term, i = fitted.term_of(j)
    needs, name = _read_as(fitted, term, i), schema.name(j)
    if needs == "levels" and j in schema.levels:
        labels = list(schema.levels[j].labels)
        if value not in labels:
            raise TableError(f"{brief(value)} is not a level of column {name!r}. Levels: {listing(labels)}.")
        return labels.index(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TableError(f"Column {name!r} has numbers; got {brief(value)} in given.") from None
    if needs == "cuts":
        return int(np.searchsorted(schema.cuts[j].points, number, side="right"))
    if needs == "levels" and not (number.is_integer() and 0 <= number < RAW_LIMIT):
        raise TableError(f"Column {name!r} has whole numbers from 0 on as levels; got {brief(value)} in given.")
    return int(number) if needs == "levels" else number


def _draw(
    predictor: Predictor,
    term: Term,
    y: NDArray[np.int32],
    known: Known,
    row: Mapping[str, object],
    rng: np.random.Generator,
) -> Sequence[Array]:
    d = term.distribution
    here = {i: known[j] for i, j in enumerate(term.columns) if j in known}
    if isinstance(d, GaussianBlock):
        return list(_gaussian(term.params, y, here, rng).T)
    if isinstance(d, FamilyNetwork) and here:
        return _network(predictor, term, y, here, row, rng)
    drawn = list(d.sample(term.params, y, rng))
    for i, value in here.items():
        drawn[i] = np.full(len(y), value)
    return drawn


def _gaussian(p: Any, y: NDArray[np.int32], known: Known, rng: np.random.Generator) -> Floats:
    """N(μ_u + Σ_uk Σ_kk⁻¹ (x_k − μ_k), Σ_uu − Σ_uk Σ_kk⁻¹ Σ_ku) for the unknown columns of each class."""
    d = p.mean.shape[1]
    at = np.array(sorted(known), dtype=np.intp)
    rest = np.setdiff1d(np.arange(d), at)
    x = np.array([known[int(i)] for i in at], dtype=np.float64)
    out = np.empty((len(y), d))
    out[:, at] = x
    for k in np.unique(y).tolist():
        rows = np.flatnonzero(y == k)
        cov, mean = p.covariance(k, list(range(d))), p.mean[k] + p.low[k]
        slope = np.linalg.pinv(cov[np.ix_(at, at)], hermitian=True) @ cov[np.ix_(at, rest)]
        left = cov[np.ix_(rest, rest)] - cov[np.ix_(rest, at)] @ slope
        value, vector = np.linalg.eigh((left + left.T) / 2)
        root = vector * np.sqrt(np.maximum(value, 0.0))
        middle = mean[rest] + (x - mean[at]) @ slope
        out[np.ix_(rows, rest)] = middle + rng.standard_normal((len(rows), len(rest))) @ root.T
    return out


def _network(
    predictor: Predictor,
    term: Term,
    y: NDArray[np.int32],
    known: Known,
    row: Mapping[str, object],
    rng: np.random.Generator,
) -> list[Array]:
    """Discrete columns one after the other, each from its exact marginal given those known; then the numbers."""
    schema, p, network = predictor.fitted.schema, term.params, term.distribution
    sizes = p.sizes
    drawn: list[Array] = [np.full(len(y), known.get(i, -1)) for i in range(len(term.columns))]
    states = [dict(row) for _ in y]
    for i in range(len(sizes)):
        if i in known:
            continue
        name, values = schema.name(term.columns[i]), _values(predictor, term, i)
        likelihood = _by_state(predictor, states, name, values)
        logs = likelihood[np.arange(len(y)), :, y]
        share = np.exp(logs - logs.max(axis=1, keepdims=True)) * p.exist[i][None, : len(values)]
        steps = np.cumsum(share, axis=1)
        found = (rng.random(len(y))[:, None] * steps[:, -1:] >= steps).sum(axis=1)
        drawn[i] = np.minimum(found, len(values) - 1)
        for state, code in zip(states, drawn[i].tolist(), strict=True):
            state[name] = values[code]
    if p.reals is not None:
        assert isinstance(network, FamilyNetwork)
        for r, (normal, own) in enumerate(zip(p.reals.normals, network.real_parents(len(sizes)), strict=True)):
            if len(sizes) + r not in known:
                drawn[len(sizes) + r] = draw_real(normal, sizes, own, drawn, y, rng)
    return drawn


def _values(predictor: Predictor, term: Term, i: int) -> list[object]:
    """A value of each level or interval of column i of a term."""
    schema, j = predictor.fitted.schema, term.columns[i]
    if j in schema.levels:
        return list(schema.levels[j].labels)
    if j in schema.cuts:
        points = schema.cuts[j].points
        ends = [points[0] - 1.0, *points.tolist(), points[-1] + 1.0] if len(points) else [0.0, 0.0]
        return [(a + b) / 2 for a, b in pairwise(ends)]
    return list(range(int(term.params.sizes[i])))


def _by_state(predictor: Predictor, states: list[dict[str, object]], name: str, values: list[object]) -> Floats:
    """log p(known, this value | class), shape (rows, values, classes): each distinct state is asked for once."""
    keys = [tuple(state.items()) for state in states]
    distinct = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    rows = [{**dict(key), name: value} for key in distinct for value in values]
    found = predictor.likelihood(predictor.read(rows)).reshape(len(distinct), len(values), -1)
    return np.asarray(found[[distinct[key] for key in keys]])
