"""Which column depends on which: the graph of a Bayesian network classifier."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tallybayes.distributions.capabilities import IndependentColumns, capability
from tallybayes.errors import OptionError, brief
from tallybayes.estimators.base import TallyClassifier
from tallybayes.plots import style, text_fitting
from tallybayes.plots.display import Display
from tallybayes.plots.graph_layout import Layout, Parents, place
from tallybayes.plots.plot_tables import container_of, feature_names, require_ours
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from tallybayes.structure.graph import Graph

Points = dict[tuple[str, str], tuple[float, float]]  # of each edge
WIDEST = 6  # nodes side by side
BOX = (0.88, 0.52)  # of a node, where 1 is the distance to the next
MOST_COLUMNS, MOST_ARROWS = 30, 60  # shown unless more are asked for
NOTHING = 1e-9  # a weight of less, beside the strongest (or 1), is rounding: no dependence
LARGEST = (16.0, 14.0)  # inches of a figure of its own; deeper graphs are drawn smaller
SPACING = 1.25  # of the lines of a name
ALONG = (0.62, 0.5, 0.75, 0.38, 0.28)  # where on a curve of its arrow a number may stand, best first


class NetworkDisplay(Display):
    """The class on top, and below it every column under the columns that it depends on.

    Thin grey lines: the class, on which all columns depend. Arrows: dependence between columns; with weights (such as
    the mutual information given the class), the thicker the stronger, and the number stands on it. Arrows of weight 0
    are not drawn. Of a large graph the strongest arrows are drawn; what is left out is said below the picture. Made by
    `from_estimator` or `from_graph`.

    Parameters
    ----------
    parents : dict of {str: list of str}
        The columns that each column depends on.
    weights : dict of {(str, str): float}
        The weight of an arrow, by (parent, column). Arrows without one are drawn as strong as any.
    target : str or None
        The name of the class; None leaves it away.
    max_columns : int, default=30
        How many columns are drawn.
    max_edges : int, default=60
        How many arrows are drawn.

    Attributes
    ----------
    parents, weights, target
        As given: the whole graph, which is also what `frame` gives.
    shown : dict of {str: list of str}
        The part of the graph that is drawn.
    layout : Layout
        Where its nodes and lines go.
    left_out : str
        What is not drawn, in words; empty if all is.
    figure_ : matplotlib Figure
        Drawn when first asked for.
    ax_ : matplotlib Axes
        Drawn when first asked for.

    Examples
    --------
    >>> from tallybayes.plots import NetworkDisplay
    >>> picture = NetworkDisplay.from_graph({"root": [], "sound": ["root"], "color": ["root"]},
    ...     weights={("root", "sound"): 0.31, ("root", "color"): 0.12})
    >>> picture.frame("pandas").values.tolist()
    [['root', 'sound', 0.31], ['root', 'color', 0.12]]
    >>> NetworkDisplay.from_graph(picture.parents, weights=picture.weights, max_edges=1).left_out
    '1 of 3 columns and 1 of 2 arrows not shown: the weakest'
    """

    def __init__(
        self,
        parents: Parents,
        weights: Mapping[tuple[str, str], float],
        target: str | None,
        *,
        max_columns: int = MOST_COLUMNS,
        max_edges: int = MOST_ARROWS,
    ) -> None:
        for name, value, least in (("max_columns", max_columns, 1), ("max_edges", max_edges, 0)):
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
                raise OptionError(f"{name} must be a whole number of at least {least}; got {brief(value)}.")
        self.parents = parents
        self.weights = weights
        self.target = target
        place(parents, WIDEST)  # says where a cycle is, also in what is not drawn
        self.shown, self.left_out = _strongest(parents, weights, int(max_columns), int(max_edges))
        self.layout: Layout = place(self.shown, WIDEST)

    @classmethod
    def from_graph(
        cls,
        parents: Mapping[Any, Iterable[object]],
        *,
        weights: Mapping[tuple[Any, Any], float] | None = None,
        target: str | None = "class",
        max_columns: int = MOST_COLUMNS,
        max_edges: int = MOST_ARROWS,
        ax: Axes | None = None,
    ) -> Self:
        """A graph that is given.

        Parameters
        ----------
        parents : dict
            {column: the columns it depends on}. Columns that are only parents need no entry.
        weights : dict, default=None
            {(parent, column): a number}, for all arrows, some or none.
        target : str or None, default='class'
            The name of the class, drawn above all columns; None leaves it away.
        max_columns : int, default=30
            How many columns are drawn: those at the strongest arrows.
        max_edges : int, default=60
            How many arrows are drawn: the strongest.
        ax : matplotlib Axes, default=None
            Where to draw at once; without it, nothing is drawn yet.

        Returns
        -------
        NetworkDisplay
            The graph, and the picture when it is asked for.
        """
        if not isinstance(parents, Mapping) or not parents:
            raise OptionError(f"parents must be a dict from column to the columns it depends on; got {brief(parents)}.")
        made = _read_parents(parents, target)
        edges = {(p, child) for child, above in made.items() for p in above}
        found = {(str(p), str(child)): float(w) for (p, child), w in (weights or {}).items()}
        surplus = sorted(set(found) - edges)
        if surplus:
            raise OptionError(f"weights has a pair that is no edge of the graph: {brief(surplus[0])}.")
        if not np.isfinite(list(found.values())).all():
            raise OptionError("weights must be finite numbers.")
        display = cls(made, found, target, max_columns=max_columns, max_edges=max_edges)
        return display if ax is None else display.plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        *,
        target: str | None = "class",
        max_columns: int = MOST_COLUMNS,
        max_edges: int = MOST_ARROWS,
        ax: Axes | None = None,
    ) -> Self:
        """The graph_ of a fitted network, weighted by mutual information given the class.

        For a naive model, the class above every column.

        Parameters
        ----------
        estimator : fitted classifier of tallybayes
            A network with a `graph_`, or a naive model.
        target : str or None, default='class'
            The name of the class, drawn above all columns; None leaves it away.
        max_columns : int, default=30
            How many columns are drawn: those at the strongest arrows.
        max_edges : int, default=60
            How many arrows are drawn: the strongest.
        ax : matplotlib Axes, default=None
            Where to draw at once; without it, nothing is drawn yet.

        Returns
        -------
        NetworkDisplay
            The graph, and the picture when it is asked for.
        """
        parents, weights = _graph_of(require_ours(estimator, "NetworkDisplay.from_estimator"))
        made = cls.from_graph(parents, weights=weights, target=target, max_columns=max_columns, max_edges=max_edges)
        made.container = container_of(estimator)
        return made if ax is None else made.plot(ax)

    @property
    def _size(self) -> tuple[float, float]:  # type: ignore[override]
        rows = self.layout.rows + (self.target is not None)
        wide, tall = max(3.1 * self.layout.width + 0.4, 3.0), max(1.2 * rows, 1.5)
        return min(wide, LARGEST[0]), min(tall, LARGEST[1])

    def _columns(self) -> Mapping[str, Sequence[object] | Array]:
        edges = [(p, child) for child, above in self.parents.items() for p in above]
        return {
            "parent": [p for p, _ in edges],
            "child": [child for _, child in edges],
            "weight": [self.weights.get(edge) for edge in edges],
        }

    # --- drawing -----------------------------------------------------------------------------------------------

    def _draw(self, ax: Axes) -> list[Axes]:
        top = -1.0 if self.target is not None else 0.0
        wide = max(self.layout.width, 1.0)
        ax.set_axis_off()
        ax.set_xlim(-wide, wide)
        ax.set_ylim(self.layout.rows - 0.6, top - 0.4)
        nodes = self.layout.nodes
        names = dict(zip(nodes, text_fitting.distinct(list(nodes), 15, 2), strict=True))
        target = None if self.target is None else text_fitting.wrap(self.target, 15, 2)
        size = _letters(ax, [*names.values(), *([] if target is None else [target])])
        for node, (x, y) in nodes.items():
            _box(ax, x, y, names[node], size, False)
        if target is not None:
            _box(ax, 0.0, top, target, size, True)
            for x, y in nodes.values():
                ax.plot([0, x], [top, y], color=style.GRID, linewidth=1.1, zorder=0)
        starts, ends = self._doors()
        ways: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for edge, stops in self.layout.stops.items():
            # upright beside the nodes of a row that it passes; sideways only between rows
            passed = [(x, y + side * BOX[1] / 2) for x, y in stops for side in (-1, 1)]
            ways[edge] = [starts[edge], *passed, ends[edge]]
            self._draw_arrow(ax, edge, ways[edge])
        self._draw_numbers(ax, ways, max(size - 1.5, 4))
        if self.left_out:
            style.note(ax, self.left_out)
        return []

    def _doors(self) -> tuple[Points, Points]:
        """Where each edge leaves its parent and reaches its child: side by side, in the order of its ways."""
        starts: Points = {}
        ends: Points = {}
        for out, here, there, edge_of, y in ((starts, 0, 1, 0, BOX[1] / 2), (ends, 1, 0, -1, -BOX[1] / 2)):
            for node, (x, row) in self.layout.nodes.items():
                edges = [e for e in self.layout.stops if e[here] == node]
                seen = {e: (self.layout.stops[e] or [self.layout.nodes[e[there]]])[edge_of][0] for e in edges}
                step = min(0.7 * BOX[0] / max(len(edges), 1), 0.24)
                for i, e in enumerate(sorted(edges, key=seen.__getitem__)):
                    out[e] = (x + (i - (len(edges) - 1) / 2) * step, row + y)
        return starts, ends

    def _draw_arrow(self, ax: Axes, edge: tuple[str, str], points: list[tuple[float, float]]) -> None:
        """A line that leaves and arrives upright, through its stops."""
        from matplotlib.patches import FancyArrowPatch
        from matplotlib.path import Path

        weight = self.weights.get(edge)
        strongest = max(map(abs, self.weights.values()), default=0.0)
        thick = 1.3 if weight is None or not strongest else 0.8 + 2.6 * abs(weight) / strongest
        corners, codes = [points[0]], [Path.MOVETO]
        for (x0, y0), (x1, y1) in pairwise(points):
            corners += [(x0, (y0 + y1) / 2), (x1, (y0 + y1) / 2), (x1, y1)]
            codes += [Path.CURVE4] * 3
        line = FancyArrowPatch(
            path=Path(corners, codes),
            arrowstyle="-|>",
            mutation_scale=10 + thick,
            linewidth=thick,
            color=style.INK,
            alpha=0.85,
            capstyle="butt",
            joinstyle="miter",
            zorder=2,
        )
        ax.add_patch(line)

    def _draw_numbers(self, ax: Axes, ways: Mapping[Any, list[tuple[float, float]]], size: float) -> None:
        """Each on its own arrow, on white, where it hides the least of other arrows and no other number."""
        lines = {edge: np.concatenate([_curve(*part) for part in pairwise(points)]) for edge, points in ways.items()}
        pixels = {edge: ax.transData.transform(line) for edge, line in lines.items()}
        taken: list[Floats] = []
        for edge, points in ways.items():
            weight = self.weights.get(edge)
            if weight is None:
                continue
            number = ax.text(0, 0, _number(weight), ha="center", va="center", fontsize=size, color=style.INK, zorder=4)
            number.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.8})
            half = np.array(number.get_window_extent().size) / 2 + 2
            foreign = [line for other, line in pixels.items() if other != edge]
            foreign.append(pixels[edge][-4:])  # its own head
            spots = [_along(a, b, t) for a, b in reversed(list(pairwise(points))) for t in ALONG]
            costs = [_hidden(ax.transData.transform(spot), half, taken, foreign) for spot in spots]
            number.set_position(spots[int(np.argmin(costs))])
            taken.append(ax.transData.transform(number.get_position()))


def _along(start: tuple[float, float], end: tuple[float, float], t: float) -> tuple[float, float]:
    """A point of the curve from start to end, t of the way."""
    (x0, y0), (x1, y1) = start, end
    x = x0 * (1 - t) ** 2 * (1 + 2 * t) + x1 * t**2 * (3 - 2 * t)
    return x, y0 * (1 - t) ** 3 + 1.5 * (y0 + y1) * t * (1 - t) + y1 * t**3


def _curve(start: tuple[float, float], end: tuple[float, float]) -> Floats:
    return np.array([_along(start, end, t) for t in np.linspace(0, 1, 25)])


def _hidden(at: Floats, half: Floats, taken: list[Floats], lines: list[Floats]) -> float:
    """How much a number there would hide: points of other lines; a number that is there already counts most."""
    numbers = sum(bool((np.abs(at - other) < 2 * half).all()) for other in taken)
    return 1000 * numbers + sum(int((np.abs(line - at) < half).all(axis=1).sum()) for line in lines)


def _number(weight: float) -> str:
    """Two digits, and no powers of ten for what is next to nothing."""
    return f"{weight:.2g}" if abs(weight) >= 0.0005 else "<0.001" if weight > 0 else ">−0.001"


def _read_parents(parents: Mapping[object, Iterable[object]], target: str | None) -> dict[str, list[str]]:
    """With an entry for every column, and without the class."""
    made: dict[str, list[str]] = {}
    for child, above in parents.items():
        if isinstance(above, str) or not isinstance(above, Iterable):
            raise OptionError(f"The parents of {brief(child)} must be a list of columns; got {brief(above)}.")
        names = list(dict.fromkeys(str(p) for p in above))
        made[str(child)] = [p for p in names if p != target]
    for above in list(made.values()):
        for p in above:
            made.setdefault(p, [])
    return made


def _strongest(
    parents: Parents, weights: Mapping[tuple[str, str], float], columns: int, arrows: int
) -> tuple[dict[str, list[str]], str]:
    """The part of a graph to draw, and in words what is left out. A column of which arrows are left out is drawn only
    at an arrow of its own: alone it would seem to depend on nothing."""
    edges = [(p, child) for child, above in parents.items() for p in above]
    size = {edge: abs(weights.get(edge, np.inf)) for edge in edges}
    least = NOTHING * max([1.0, *(s for s in size.values() if np.isfinite(s))])
    real = sorted((e for e in edges if size[e] > least), key=lambda e: -size[e])
    kept = _as_many(real, columns, arrows)
    shown = {node for edge in kept for node in edge}
    bound = {node for edge in real for node in edge}
    alone = [name for name in parents if name not in bound]  # those that depend on the class alone
    shown |= set(alone[: max(columns - len(shown), 0)])
    shown = shown or set(list(parents)[:columns])  # no arrow may be drawn, or one needs two columns
    part = {name: [p for p in above if (p, name) in set(kept)] for name, above in parents.items() if name in shown}
    return part, _left_out(len(parents) - len(shown), len(parents), len(real) - len(kept), len(edges), len(real))


def _as_many(edges: list[tuple[str, str]], columns: int, arrows: int) -> list[tuple[str, str]]:
    """The first of these arrows that go between so many columns."""
    kept: list[tuple[str, str]] = []
    shown: set[str] = set()
    for edge in edges:
        if len(kept) < arrows and len(shown | {*edge}) <= columns:
            kept.append(edge)
            shown |= {*edge}
    return kept


def _left_out(columns: int, d: int, arrows: int, edges: int, real: int) -> str:
    weak = [f"{columns} of {d} columns"] * bool(columns) + [f"{arrows} of {edges} arrows"] * bool(arrows)
    said = [f"{' and '.join(weak)} not shown" + (": the weakest" if arrows else "")] if weak else []
    if edges > real:
        said.append(f"{edges - real} arrow{'s' * (edges - real > 1)} of weight 0 not drawn")
    return "; ".join(said)


def _letters(ax: Axes, names: list[str]) -> float:
    """The size of letters with which every name fits into its box."""
    box = ax.transData.transform([BOX, (0.0, 0.0)])
    room = np.abs(box[0] - box[1]) * [0.94, 0.86]
    size = 10.0
    for name in names:
        probe = ax.text(0, 0, name, fontsize=10.0, linespacing=SPACING)
        wide, tall = probe.get_window_extent().size
        probe.remove()
        size = min(size, 10.0 * room[0] / wide, 10.0 * room[1] / tall)
    return max(size, 3.0)


def _box(ax: Axes, x: float, y: float, name: str, size: float, target: bool) -> Artist:
    from matplotlib.patches import FancyBboxPatch

    round_ = "round,pad=0,rounding_size=0.1" if not target else "round,pad=0,rounding_size=0.25"
    box = FancyBboxPatch(
        (x - BOX[0] / 2, y - BOX[1] / 2),
        *BOX,
        boxstyle=round_,
        linewidth=1.2,
        zorder=3,
        facecolor=style.INK if target else "#eef4fb",
        edgecolor=style.INK if target else style.COLOURS[0],
    )
    ax.add_patch(box)
    ax.text(
        x,
        y,
        name,
        ha="center",
        va="center",
        fontsize=size,
        color="white" if target else style.INK,
        zorder=5,
        linespacing=SPACING,
    )
    return box


def _graph_of(model: TallyClassifier) -> tuple[Mapping[str, Sequence[str]], dict[tuple[str, str], float]]:
    """The parents of each column, and the mutual information of each arrow where it is known."""
    if hasattr(type(model), "graph_"):
        try:
            graph: Graph = model.graph_
        except AttributeError as e:  # it averages over many
            raise OptionError(str(e)) from None
        told = {(a, b): e["mutual_information"] for a, b, e in graph.edges if "mutual_information" in e}
        return {name: graph.parents.get(name, ()) for name in graph.columns}, told
    if any(capability(t.distribution, IndependentColumns) is None for t in model.predictor_.fitted.terms):
        raise OptionError(
            f"In a {type(model).__name__} all columns depend on each other by a covariance; there is no graph to draw."
        )
    return {name: [] for name in feature_names(model, None)}, {}
