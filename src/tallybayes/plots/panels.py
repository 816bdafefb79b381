"""P(x_j | class) of one column: a curve, or bars over whole numbers, levels and intervals, or shares.

The curve needs no formula of the distribution: it is the model's own log joint with all other columns left out, and
without the prior.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from tallybayes.distributions import Distribution
from tallybayes.distributions.capabilities import plot_style
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.model.predictor import Predictor
from tallybayes.plots.plot_tables import TableColumns, pick, rows_of
from tallybayes.utils.array_types import Array, Floats

MOST_LEVELS = 16  # more are summed into one bar
MOST_COUNTS = 60  # whole numbers shown one by one
MOST_BINS = 24  # steps shown; finer intervals are joined
POINTS = 241
MOMENTS = {"mean", "variance"}
Kind = Literal["curve", "whole", "levels", "bins", "shares"]


@dataclass(frozen=True)
class Panel:
    """The densities of one column, as one panel shows them.

    Parameters
    ----------
    name : str
        The column.
    kind : str
        How it is drawn.
    values : ndarray of shape (m,)
        Where the density is evaluated.
    density : ndarray of shape (K, m)
        At these values; for bins, in m intervals.
    edges : ndarray of shape (m + 1,), default=None
        The edges of the intervals, for bins.
    observed : ndarray, default=None
        The same of rows, if they were given.
    bars : ndarray, default=None
        The edges of the observed histogram, where the model has a curve.
    joined : int, default=0
        How many intervals of the model these are, where neighbours were joined.
    """

    name: str
    kind: Kind
    values: Array
    density: Floats
    edges: Floats | None = None
    observed: Floats | None = None
    bars: Floats | None = None
    joined: int = 0

    @property
    def of_levels(self) -> bool:
        """Whether bars for levels are drawn, not a curve."""
        return self.kind in ("levels", "shares")

    @property
    def named(self) -> int:
        """How many values are shown by name; one more stands for all other levels, where there are too many."""
        return len(self.values) - (self.kind == "levels" and str(self.values[-1]).endswith("others)"))

    def of_classes(self, positions: Array) -> Panel:
        """The same panel of some classes only.

        Parameters
        ----------
        positions : ndarray of int
            Of the classes that stay.

        Returns
        -------
        Panel
            With as many densities.
        """
        observed = None if self.observed is None else self.observed[positions]
        return replace(self, density=self.density[positions], observed=observed)


def make_panels(
    model: GenerativeClassifier, table: TableColumns | None, codes: Array | None, names: list[str]
) -> list[Panel]:
    """A panel for each column; shares of counts go together into one."""
    panels, shares = [], []
    sample = None
    for name in names:
        j = model.schema_.position(name)
        d = model.fitted_.term_of(j)[0].distribution
        if plot_style(d) == "share":
            shares.append(name)
            continue
        if table is None and sample is None:
            sample = TableColumns(_sample(model), model)
        shown = table if table is not None else sample
        assert shown is not None
        panel = _panel(model, name, j, d, shown.column(pick(shown.names, name)))
        if table is not None and codes is not None:
            column = table.column(pick(table.names, name))
            if plot_style(d) == "sides":
                sides: Any = panel.values[(column > d.threshold).astype(int)]  # type: ignore[attr-defined]
                column = np.asarray(np.where(np.isnan(column), None, sides))
            panel = _observe(panel, column, codes, len(model.classes_))
        panels.append(panel)
    if shares:
        found = [[model.describe(name)[label]["share"] for name in shares] for label in model.classes_.tolist()]
        panels.append(Panel("share of all counts", "shares", np.array(shares, dtype=object), np.array(found)))
    return panels


def _sample(model: GenerativeClassifier) -> Any:
    """Rows of every class, whatever its prior: they say over which range to draw."""
    labels = np.empty(200 * len(model.classes_), dtype=object)
    labels[:] = np.repeat(np.array(model.classes_, dtype=object), 200)
    return model.sample(len(labels), y=labels, random_state=0)[0]


def _panel(model: GenerativeClassifier, name: str, j: int, d: Distribution, column: Array) -> Panel:
    labels = model.classes_.tolist()
    found = model.describe(name)
    cut = j in model.schema_.cuts
    # a network may hold numbers beside codes; of those it gives moments (or nothing), not probabilities
    facts = set(found[labels[0]])
    real = d.needs == "numbers" or facts >= MOMENTS or (not facts and j not in model.schema_.levels)
    coded = not real and not cut
    if coded or plot_style(d) == "sides":
        values = np.array(list(found[labels[0]]), dtype=object)
        return _few_levels(Panel(name, "levels", values, np.array([[found[c][v] for v in values] for c in labels])))
    low, high = _range(column)
    if cut:
        cuts = model.schema_.cuts[j]
        edges = np.concatenate([[min(cuts.low, low)], cuts.points, [max(cuts.high, high)]])
        return _few_bins(name, edges, np.array([list(found[c].values()) for c in labels]))
    kind: Literal["whole", "curve"] = "whole" if plot_style(d) == "whole" and high - low <= MOST_COUNTS else "curve"
    values = np.arange(np.floor(low), np.ceil(high) + 1) if kind == "whole" else _along(d, low, high)
    return Panel(name, kind, values, column_density(model, name, values))


def _range(column: Array) -> tuple[float, float]:
    seen = column[np.isfinite(column)] if column.dtype != object else np.empty(0)
    return (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 1.0)


def _along(d: Distribution, low: float, high: float) -> Floats:
    """Where a curve is drawn: a little beyond what was seen."""
    pad = 0.06 * (high - low) or max(abs(high), 1.0) * 0.1
    values = np.linspace(low - pad, high + pad, POINTS)
    if plot_style(d) == "positive":  # values of 0 or less have a probability, not a density
        values = np.linspace(max(low - pad, low * 0.5 if low > 0 else high * 1e-3), high + pad, POINTS)
    return np.unique(np.round(values[values >= 0])) if plot_style(d) == "whole" else values


def column_density(model: GenerativeClassifier, name: str, values: Array) -> Floats:
    """p(x_j | k) at the values, shape (K, m)."""
    return np.exp(log_likelihood(model, {name: values}).T)


def log_likelihood(model: GenerativeClassifier, columns: Mapping[str, Array]) -> Floats:
    """log p(x | k) of rows in which only these columns are known, shape (n, K): the log joint without the prior."""
    predictor: Predictor = model.predictor_
    return predictor.likelihood(predictor.read(rows_of({name: values.tolist() for name, values in columns.items()})))


def _few_levels(panel: Panel) -> Panel:
    """The levels with the highest probability in any class; the others as one."""
    if len(panel.values) <= MOST_LEVELS:
        return panel
    order = np.argsort(-panel.density.max(axis=0), kind="stable")
    keep, rest = np.sort(order[: MOST_LEVELS - 1]), order[MOST_LEVELS - 1 :]
    values = np.append(panel.values[keep], f"({len(rest)} others)").astype(object)
    density = np.column_stack([panel.density[:, keep], panel.density[:, rest].sum(axis=1)])
    return Panel(panel.name, "levels", values, density)


def _few_bins(name: str, edges: Floats, share: Floats) -> Panel:
    """Steps of the density; neighbours are joined until few enough are left, each with about as much of the rows."""
    m = share.shape[1]
    if m > MOST_BINS:
        mass = share.mean(axis=0)
        part = np.floor(MOST_BINS * (np.cumsum(mass) - mass / 2) / mass.sum())
        first = np.flatnonzero(np.diff(part, prepend=-1.0))
        edges, share = edges[[*first, -1]], np.add.reduceat(share, first, axis=1)
    density = share / np.maximum(np.diff(edges), 1e-300)
    return Panel(name, "bins", (edges[1:] + edges[:-1]) / 2, density, edges, joined=m if m > MOST_BINS else 0)


def _observe(panel: Panel, column: Array, codes: Array, K: int) -> Panel:
    """Beside the model, what the rows say: shares of levels, or a histogram."""
    if panel.of_levels:
        place = {str(v): i for i, v in enumerate(panel.values)}
        last = panel.named if panel.named < len(place) else None
        gone = np.array([v is None or v != v for v in column])
        at = np.array(
            [
                -1 if g else place.get(_as_level(v), last if last is not None else -1)
                for v, g in zip(column, gone, strict=True)
            ]
        )
        count = np.array(
            [np.bincount(at[(codes == k) & (at >= 0)], minlength=len(place)) for k in range(K)], dtype=float
        )
        return _with(panel, count / np.maximum(count.sum(axis=1, keepdims=True), 1))
    seen = np.isfinite(column)
    edges = panel.edges
    if panel.kind == "whole":
        edges = np.concatenate([panel.values - 0.5, [panel.values[-1] + 0.5]])
    elif edges is None:
        edges = (
            np.histogram_bin_edges(column[seen], bins=min(max(int(np.sqrt(seen.sum() / K)), 6), 30))
            if seen.any()
            else panel.values[[0, -1]]
        )
    height = np.array([_heights(column[seen & (codes == k)], edges) for k in range(K)])
    if panel.kind != "curve":
        return _with(panel, height)
    where = np.searchsorted(edges, panel.values, side="right") - 1
    inside = (where >= 0) & (where < height.shape[1])
    observed = np.where(inside, height[:, np.clip(where, 0, height.shape[1] - 1)], 0.0)
    return _with(panel, observed, edges)


def _heights(values: Array, edges: Floats) -> Floats:
    count, _ = np.histogram(values, bins=edges)
    return np.asarray(count / np.maximum(count.sum() * np.diff(edges), 1e-300), dtype=np.float64)


def _as_level(v: object) -> str:
    return str(int(v)) if isinstance(v, float) and v.is_integer() else str(v)


def _with(panel: Panel, observed: Floats, bars: Floats | None = None) -> Panel:
    return replace(panel, observed=observed, bars=bars)
