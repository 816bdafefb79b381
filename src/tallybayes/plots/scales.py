"""The numbers of a nomogram: what each value of each column adds to the log-odds of two classes.

Naive models: log P(v | k) − log P(v | l), one column at a time. A Gaussian with a shared covariance: a_j (v − m_j) with
a of `boundary(k, l)` and m the mean over the classes, so that the mean adds 0; the rest of xᵀa + b is the start. Other
models are no sum over columns, and have no nomogram.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.distributions.multivariate.multivariate_gaussian import GaussianBlock
from tallybayes.errors import OptionError
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.plots.panels import log_likelihood
from tallybayes.plots.plot_tables import TableColumns, objects_of, pick
from tallybayes.utils.array_types import Array, Floats

POINTS = 201
CHECKED = 30  # drawn rows on which the sum is compared with the log joint


@dataclass(frozen=True)
class Scale:
    """One column of a nomogram: its values and what each adds to the log-odds; and a marked value.

    Parameters
    ----------
    name : str
        The column.
    levels : bool
        Whether it has levels, not numbers.
    values : ndarray of shape (m,)
        The levels, or a grid of numbers.
    points : ndarray of shape (m,)
        What each adds.
    value : object, default=None
        That of the marked row; None if it has none.
    mark : float, default=0.0
        What that value adds.
    """

    name: str
    levels: bool
    values: Array
    points: Floats
    value: Any = None
    mark: float = 0.0

    @property
    def reach(self) -> float:
        """How much the column can move the log-odds."""
        finite = self.points[np.isfinite(self.points)]
        return float(np.ptp(finite)) if len(finite) else 0.0

    def at(self, number: float) -> float:
        """Return the points of a number between those of the grid.

        Parameters
        ----------
        number : float
            A value of the column.

        Returns
        -------
        float
            What it adds to the log-odds.
        """
        return float(np.interp(number, self.values.astype(float), self.points))


def make_scales(
    model: GenerativeClassifier,
    k: int,
    l: int,  # noqa: E741
    X: TableColumns | None,
    row: dict[str, object],
) -> tuple[list[Scale], float]:
    """A scale for each column, and the log-odds that they are added to. row: the values to mark."""
    schema = model.schema_
    shown = X if X is not None else TableColumns(model.sample(1000, random_state=0)[0], model)
    names = [schema.name(j) for j in range(schema.d)]
    given = [row.get(name) for name in names]
    fitted = model.predictor_.fitted
    block = fitted.terms[0].distribution
    linear = isinstance(block, GaussianBlock) and block.shared
    if linear:
        labels = model.classes_.tolist()
        a, b = model.boundary(labels[k], labels[l])
        middle = np.exp(fitted.prior) @ fitted.terms[0].params.mean
        start = float(b + a @ middle)
        if row:  # it refuses a value that is no number, as for any other question
            log_likelihood(model, {name: objects_of([value]) for name, value in row.items()})
    else:
        _check_sum(model, k, l, names)
        prior = model.predictor_.offset
        start = float(prior[k] - prior[l])

    def points(j: int, values: object) -> Floats:
        if linear:
            return np.asarray(a[j] * (np.asarray(values, dtype=np.float64) - middle[j]))
        log_p = model.predictor_.options.beta * log_likelihood(model, {names[j]: np.asarray(values)})
        with np.errstate(invalid="ignore"):
            found = log_p[:, k] - log_p[:, l]
        return np.where(np.isnan(found), 0.0, found)

    made = []
    for j, name in enumerate(names):
        levels, values, asked = _values(model, j, shown.column(pick(shown.names, name)))
        mark = 0.0 if given[j] is None else float(points(j, np.array([given[j]], dtype=object))[0])
        made.append(Scale(name, levels, values, points(j, asked), given[j], mark))
    return made, start


def _values(model: GenerativeClassifier, j: int, column: Array) -> tuple[bool, Array, Array]:
    """Are they levels; the levels, or a grid over the middle 98% of the column; and what to ask the model for them."""
    schema = model.schema_
    if j in schema.cuts:  # asked in the middle of each interval
        cuts = schema.cuts[j]
        known = [cuts.low, *cuts.points.tolist(), cuts.high]
        edges = np.array([min(known) - 1.0, *cuts.points, max(known) + 1.0])
        return True, objects_of(cuts.labels()), (edges[1:] + edges[:-1]) / 2
    if j in schema.levels:
        levels = objects_of(list(schema.levels[j].labels))
        return True, levels, levels
    if column.dtype == object:  # such as booleans; what the model cannot read as numbers, it refuses
        log_likelihood(model, {schema.name(j): column})
        column = np.array([np.nan if v is None else float(v) for v in column])
    seen = column[np.isfinite(column)]
    if not len(seen):
        return False, np.zeros(1), np.zeros(1)
    if schema.kinds[j] in ("categorical", "binary"):
        levels = objects_of([int(v) if v.is_integer() else v for v in np.unique(seen).tolist()])
        return True, levels, levels
    low, high = np.quantile(seen, [0.01, 0.99])
    if low == high:
        low, high = float(seen.min()), float(seen.max())
    whole = bool((seen == np.round(seen)).all()) and high - low <= POINTS
    values = np.arange(np.floor(low), np.ceil(high) + 1) if whole else np.linspace(low, high, POINTS)
    return False, values, values


def _check_sum(model: GenerativeClassifier, k: int, l: int, names: list[str]) -> None:  # noqa: E741
    """Is the log joint of whole rows the sum of its columns? Asked of the model itself, on rows that it draws."""
    drawn = TableColumns(model.sample(CHECKED, random_state=0)[0], model)
    columns = {name: drawn.column(pick(drawn.names, name)) for name in names}
    joint = log_likelihood(model, columns)
    alone = np.array([log_likelihood(model, {name: column}) for name, column in columns.items()])
    with np.errstate(invalid="ignore"):
        whole = joint[:, k] - joint[:, l]
        parts = (alone[:, :, k] - alone[:, :, l]).sum(axis=0)
        size = 1 + np.abs(alone[:, :, [k, l]]).sum(axis=(0, 2))
        wrong = np.abs(whole - parts) > 1e-6 * size
    if wrong[np.isfinite(whole) & np.isfinite(parts)].any():
        raise OptionError(
            f"A nomogram needs evidence that adds up column by column; in this {type(model).__name__} columns depend "
            "on each other within a class. Naive Bayes and discriminants with a shared covariance have one."
        )


def stretches(points: Floats) -> list[tuple[int, int]]:
    """Where a curve rises or falls throughout, as (first, last) positions; flat parts go with what was before."""
    step = np.sign(np.diff(points))
    out, first, way = [], 0, 0.0
    for i, sign in enumerate(step.tolist()):
        if sign and way and sign != way:
            out.append((first, i))
            first = i
        way = sign or way
    return [*out, (first, len(points) - 1)]
