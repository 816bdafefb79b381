"""Which column depends on which: the graph of a Bayesian network classifier."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tallybayes.errors import OptionError
from tallybayes.plots import style, text
from tallybayes.plots.display import Display
from tallybayes.plots.layout import Layout, Parents, place
from tallybayes.plots.tables import container_of, feature_names, require_ours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tallybayes.structures.graph import Graph

WIDEST = 6  # nodes side by side
BOX = (0.88, 0.52)  # of a node, where 1 is the distance to the next


class NetworkDisplay(Display):
    """The class on top, and below it every column under the columns that it depends on.

    Thin grey lines: the class, on which all columns depend. Arrows: dependence between columns; with weights (such as
    the mutual information given the class), the thicker the stronger, and the number stands beside it.

    Examples
    --------
    >>> from tallybayes.plots import NetworkDisplay
    >>> picture = NetworkDisplay.from_graph({"root": [], "sound": ["root"], "color": ["root"]},
    ...     weights={("root", "sound"): 0.31, ("root", "color"): 0.12})
    >>> picture.frame("pandas").values.tolist()
    [['root', 'sound', 0.31], ['root', 'color', 0.12]]
    """

    def __init__(self, parents: Parents, weights: Mapping[tuple[str, str], float], target: str | None) -> None:
        self.parents = parents
        self.weights = weights
        self.target = target
        self.layout: Layout = place(parents, WIDEST)

    @classmethod
    def from_graph(
        cls,
        parents: Mapping[Any, Iterable[Any]],
        *,
        weights: Mapping[tuple[Any, Any], float] | None = None,
        target: str | None = "class",
        ax: Axes | None = None,
    ) -> Self:
        """parents: {column: the columns it depends on}. weights: {(parent, column): a number}. target: the name of the
        class, drawn above all columns; None leaves it away."""
        if not isinstance(parents, Mapping) or not parents:
            raise OptionError(f"parents must be a dict from column to the columns it depends on; got {parents!r}.")
        made: dict[str, list[str]] = {}
        for child, above in parents.items():
            if isinstance(above, str) or not isinstance(above, Iterable):
                raise OptionError(f"The parents of {child!r} must be a list of columns; got {above!r}.")
            names = list(dict.fromkeys(str(p) for p in above))
            made[str(child)] = [p for p in names if p != target]
        for above in list(made.values()):
            for p in above:
                made.setdefault(p, [])
        edges = {(p, child) for child, above in made.items() for p in above}
        found = {(str(p), str(child)): float(w) for (p, child), w in (weights or {}).items()}
        surplus = sorted(set(found) - edges)
        if surplus:
            raise OptionError(f"weights has a pair that is no edge of the graph: {surplus[0]!r}.")
        if not np.isfinite(list(found.values())).all():
            raise OptionError("weights must be finite numbers.")
        display = cls(made, found, target)
        return display if ax is None else display.plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, target: str | None = "class", ax: Axes | None = None) -> Self:
        """The graph_ of a fitted network, weighted by mutual information given the class; for a naive model, the class
        above every column."""
        require_ours(estimator, "NetworkDisplay.from_estimator")
        parents, weights = _graph_of(estimator)
        made = cls.from_graph(parents, weights=weights, target=target)
        made.container = container_of(estimator)
        return made if ax is None else made.plot(ax)

    @property
    def _size(self) -> tuple[float, float]:  # type: ignore[override]
        rows = self.layout.rows + (self.target is not None)
        return max(3.1 * self.layout.width + 0.4, 3.0), max(1.2 * rows, 1.5)

    def _columns(self) -> dict[str, Any]:
        edges = [(p, child) for child, above in self.parents.items() for p in above]
        return {
            "parent": [p for p, _ in edges],
            "child": [child for _, child in edges],
            "weight": [self.weights.get(edge) for edge in edges],
        }

    # --- drawing -----------------------------------------------------------------------------------------------

    def _draw(self, ax: Axes) -> list[Any]:
        top = -1.0 if self.target is not None else 0.0
        wide = max(self.layout.width, 1.0)
        ax.set_axis_off()
        ax.set_xlim(-wide, wide)
        ax.set_ylim(self.layout.rows - 0.6, top - 0.4)
        inches = ax.get_window_extent().width / ax.figure.dpi / (2 * wide)
        size = float(np.clip(inches * BOX[0] * 72 / (15 * 0.62), 4, 10))
        nodes = self.layout.nodes
        for name, (x, y) in zip(text.distinct(list(nodes), 15, 2), nodes.values(), strict=True):
            _box(ax, x, y, name, size, False)
        if self.target is not None:
            _box(ax, 0.0, top, text.wrap(self.target, 15, 2), size, True)
            for x, y in nodes.values():
                ax.plot([0, x], [top, y], color=style.GRID, linewidth=1.1, zorder=0)
        starts, ends = self._doors()
        for edge, stops in self.layout.stops.items():
            # upright beside the nodes of a row that it passes; sideways only between rows
            passed = [(x, y + side * BOX[1] / 2) for x, y in stops for side in (-1, 1)]
            self._draw_edge(ax, edge, [starts[edge], *passed, ends[edge]], size)
        return []

    def _doors(self) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Where each edge leaves its parent and reaches its child: side by side, in the order of its ways."""
        starts: dict[Any, Any] = {}
        ends: dict[Any, Any] = {}
        for out, here, there, edge_of, y in ((starts, 0, 1, 0, BOX[1] / 2), (ends, 1, 0, -1, -BOX[1] / 2)):
            for node, (x, row) in self.layout.nodes.items():
                edges = [e for e in self.layout.stops if e[here] == node]
                seen = {e: (self.layout.stops[e] or [self.layout.nodes[e[there]]])[edge_of][0] for e in edges}
                step = min(0.7 * BOX[0] / max(len(edges), 1), 0.24)
                for i, e in enumerate(sorted(edges, key=seen.__getitem__)):
                    out[e] = (x + (i - (len(edges) - 1) / 2) * step, row + y)
        return starts, ends

    def _draw_edge(self, ax: Axes, edge: tuple[str, str], points: list[tuple[float, float]], size: float) -> None:
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
        if weight is not None:
            (x0, y0), (x1, y1) = points[-2:]
            t = 0.75  # along the last curve: near the child, where edges lie apart
            x = x0 * (1 - t) ** 2 * (1 + 2 * t) + x1 * t**2 * (3 - 2 * t)
            y = y0 * (1 - t) ** 3 + 1.5 * (y0 + y1) * t * (1 - t) + y1 * t**3
            look: dict[str, Any] = {"fontsize": max(size - 1.5, 4), "color": style.INK, "path_effects": style.halo(3)}
            ax.text(x, y, f"{weight:.2g}", ha="center", va="center", zorder=4, **look)


def _box(ax: Axes, x: float, y: float, name: str, size: float, target: bool) -> Any:
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
        linespacing=1.0,
    )
    return box


def _graph_of(model: Any) -> tuple[Mapping[str, Sequence[str]], dict[tuple[str, str], float]]:
    """The parents of each column, and the mutual information of each arrow where it is known."""
    if hasattr(type(model), "graph_"):
        try:
            graph: Graph = model.graph_
        except AttributeError as e:  # it averages over many
            raise OptionError(str(e)) from None
        told = {(a, b): e["mutual_information"] for a, b, e in graph.edges if "mutual_information" in e}
        return {name: graph.parents.get(name, ()) for name in graph.columns}, told
    together = [t for t in model.predictor_.fitted.terms if t.distribution.column(t.params, 0) is None]
    if together:
        raise OptionError(
            f"In a {type(model).__name__} all columns depend on each other by a covariance; there is no graph to draw."
        )
    return {name: [] for name in feature_names(model, None)}, {}
