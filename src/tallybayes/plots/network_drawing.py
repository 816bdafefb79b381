"""Draws a graph with given positions: nodes of a fixed size in points, arrows around them, numbers on the arrows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tallybayes.plots import style, text_fitting
from tallybayes.plots.graph_layout import Layout
from tallybayes.utils.array_types import Floats
from tallybayes.utils.cached import cached_property

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Point = tuple[float, float]
Edge = tuple[str, str]
NODE = (94.0, 34.0)  # points: of a node
NODE_SPACING = 112.0  # points: from node to node
ROW_SPACING = 46.0  # points: between rows
GROUP = 2.6  # the room of a plate, where a node has 1
NAMES = 7  # columns that a plate lists
MARGIN = 6.0  # points around the graph
LINE_SPACING = 1.25  # of the lines of a name
CLASS_ARROW = "#8c8c8c"
ALONG = (0.62, 0.5, 0.75, 0.38, 0.28)  # where on a curve of its arrow a number may stand, best first


@dataclass(frozen=True)
class Group:
    """Columns drawn as one node.

    Parameters
    ----------
    columns : tuple of str
        The columns.
    joint : bool
        Whether they have one joint distribution; otherwise they are independent given the class, in a plate.
    """

    columns: tuple[str, ...]
    joint: bool

    @property
    def text(self) -> str:
        """The names, as far as they have room."""
        named = [text_fitting.shorten(name, 24) for name in self.columns[:NAMES]]
        more = len(self.columns) - len(named)
        lines = [*named, *([f"… {more} more"] if more > 0 else [])]
        pairs = [lines[i : i + 2] for i in range(0, len(lines), 2)]
        return "\n".join(",  ".join(pair) for pair in pairs)

    @property
    def corner(self) -> str:
        """What stands in the corner: how many columns, and how they are distributed."""
        d = len(self.columns)
        return f"{d} columns, one joint distribution" if self.joint else f"plate: each of {d} columns"


class NetworkDrawing:
    """A graph on axes, in points; smaller where the axes have less room, never stretched."""

    def __init__(
        self,
        layout: Layout,
        weights: Mapping[Edge, float],
        heads: Sequence[str],
        groups: Mapping[str, Group],
    ) -> None:
        self.layout = layout
        self.weights = weights
        self.heads = tuple(heads)
        self.groups = groups

    def box(self, node: str) -> Point:
        """Width and height of a node, in points."""
        if node not in self.groups:
            return NODE
        lines = self.groups[node].text.count("\n") + 1
        return (GROUP * NODE_SPACING - 18, 30.0 + 15.0 * lines)

    @cached_property
    def rows(self) -> list[float]:
        """The middle of each row, in points from the top."""
        heights = [NODE[1]] * int(self.layout.rows)
        for node, (_, row) in self.layout.nodes.items():
            heights[int(row)] = max(heights[int(row)], self.box(node)[1])
        tops = np.cumsum([0.0, *(h + ROW_SPACING for h in heights[:-1])])
        return [float(top + h / 2) for top, h in zip(tops, heights, strict=True)]

    @property
    def size(self) -> Point:
        """Width and height of the whole, in points."""
        last = max(self.rows[int(row)] + self.box(n)[1] / 2 for n, (_, row) in self.layout.nodes.items())
        return 2 * NODE_SPACING * self.layout.width + 2 * MARGIN, last + 2 * MARGIN

    def at(self, node: str) -> Point:
        """The middle of a node, in points."""
        x, row = self.layout.nodes[node]
        return NODE_SPACING * x, self.rows[int(row)]

    def draw(self, ax: Axes) -> None:
        """Draws the graph as large as the axes allow, and at most in its own size."""
        wide, tall = self.size
        points = 72 * np.array(ax.get_window_extent().size) / ax.figure.dpi
        scale = float(min(1.0, points[0] / wide, points[1] / tall))
        ax.set_axis_off()
        ax.set_aspect("equal", adjustable="box")
        half, middle = np.maximum(points / scale, (wide, tall)) / 2, tall / 2 - MARGIN
        ax.set_xlim(-half[0], half[0])
        ax.set_ylim(middle + half[1], middle - half[1])
        nodes = list(self.layout.nodes)
        names = dict(zip(nodes, text_fitting.distinct(nodes, 17, 2), strict=True))
        letters = self._letters(ax, [names[n] for n in nodes if n not in self.groups], scale)
        for node in nodes:
            self._draw_node(ax, node, names[node], letters)
        starts, ends = self._doors()
        ways: dict[Edge, list[Point]] = {}
        for edge, stops in self.layout.stops.items():
            # upright beside the nodes of a row that it passes; sideways only between rows
            passed = [
                (NODE_SPACING * x, self.rows[int(row)] + side * NODE[1] / 2) for x, row in stops for side in (-1, 1)
            ]
            ways[edge] = [starts[edge], *passed, ends[edge]]
            self._draw_arrow(ax, edge, ways[edge], scale)
        self._draw_numbers(ax, ways, max(letters - 1, 4))

    def _doors(self) -> tuple[dict[Edge, Point], dict[Edge, Point]]:
        """Where each edge leaves its parent and reaches its child: side by side, in the order of its ways."""
        starts: dict[Edge, Point] = {}
        ends: dict[Edge, Point] = {}
        stops = self.layout.stops
        for out, here, there, edge_of, way in ((starts, 0, 1, 0, 0.5), (ends, 1, 0, -1, -0.5)):
            for node in self.layout.nodes:
                (x, y), (wide, tall) = self.at(node), self.box(node)
                edges = [e for e in stops if e[here] == node]
                seen = {e: (stops[e] or [self.layout.nodes[e[there]]])[edge_of][0] for e in edges}
                step = min(0.75 * wide / max(len(edges), 1), 24.0)
                for i, e in enumerate(sorted(edges, key=seen.__getitem__)):
                    out[e] = (x + (i - (len(edges) - 1) / 2) * step, y + way * tall)
        return starts, ends

    def _draw_node(self, ax: Axes, node: str, name: str, letters: float) -> None:
        from matplotlib.patches import FancyBboxPatch

        (x, y), (wide, tall) = self.at(node), self.box(node)
        head, group = node in self.heads, self.groups.get(node)
        look: style.Look = {"facecolor": "#eef4fb", "edgecolor": style.COLOURS[0]}
        if head:
            look = {"facecolor": style.INK, "edgecolor": style.INK}
        elif group is not None and not group.joint:
            look = {"facecolor": "white", "edgecolor": style.FAINT}
        corner = 12 if head else 3 if group is not None and not group.joint else 7
        shape = f"round,pad=0,rounding_size={corner}"
        ax.add_patch(
            FancyBboxPatch((x - wide / 2, y - tall / 2), wide, tall, boxstyle=shape, linewidth=1.2, zorder=3, **look)
        )
        text: style.Look = {
            "ha": "center",
            "va": "center",
            "zorder": 5,
            "linespacing": LINE_SPACING,
            "fontsize": letters,
        }
        if group is None:
            ax.text(x, y, name, color="white" if head else style.INK, **text)
            return
        ax.text(x, y - 8, group.text, color=style.INK, **text | {"fontsize": 0.9 * letters})
        small: style.Look = {"ha": "right", "va": "bottom", "fontsize": 0.75 * letters, "color": style.FAINT}
        ax.text(x + wide / 2 - 7, y + tall / 2 - 4, group.corner, zorder=5, **small)

    def _letters(self, ax: Axes, names: list[str], scale: float) -> float:
        """The size of letters with which every name fits into its box."""
        size = 10.0 * scale
        dots = ax.figure.dpi / 72 * scale  # of a point of the drawing
        for name in names:
            probe = ax.text(0, 0, name, fontsize=10.0, linespacing=LINE_SPACING)
            wide, tall = probe.get_window_extent().size
            probe.remove()
            size = min(size, 10.0 * 0.92 * NODE[0] * dots / wide, 10.0 * 0.86 * NODE[1] * dots / tall)
        return max(size, 3.0)

    def _draw_arrow(self, ax: Axes, edge: Edge, points: list[Point], scale: float) -> None:
        """A line that leaves and arrives upright, through its stops."""
        from matplotlib.patches import FancyArrowPatch
        from matplotlib.path import Path

        weight = self.weights.get(edge)
        strongest = max(map(abs, self.weights.values()), default=0.0)
        of_class = edge[0] in self.heads
        thick = 1.1 if weight is None or not strongest else 0.8 + 2.4 * abs(weight) / strongest
        corners, codes = [points[0]], [Path.MOVETO]
        for (x0, y0), (x1, y1) in pairwise(points):
            corners += [(x0, (y0 + y1) / 2), (x1, (y0 + y1) / 2), (x1, y1)]
            codes += [Path.CURVE4] * 3
        line = FancyArrowPatch(
            path=Path(corners, codes),
            arrowstyle="-|>,head_length=0.55,head_width=0.26",
            mutation_scale=(10 + thick) * max(scale, 0.5),
            linewidth=thick * max(scale, 0.5),
            color=CLASS_ARROW if of_class else style.INK,
            capstyle="butt",
            joinstyle="miter",
            zorder=1 if of_class else 2,
        )
        ax.add_patch(line)

    def _draw_numbers(self, ax: Axes, ways: Mapping[Edge, list[Point]], size: float) -> None:
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


def _along(start: Point, end: Point, t: float) -> Point:
    """A point of the curve from start to end, t of the way."""
    (x0, y0), (x1, y1) = start, end
    x = x0 * (1 - t) ** 2 * (1 + 2 * t) + x1 * t**2 * (3 - 2 * t)
    return x, y0 * (1 - t) ** 3 + 1.5 * (y0 + y1) * t * (1 - t) + y1 * t**3


def _curve(start: Point, end: Point) -> Floats:
    return np.array([_along(start, end, t) for t in np.linspace(0, 1, 25)])


def _hidden(at: Floats, half: Floats, taken: list[Floats], lines: list[Floats]) -> float:
    """How much a number there would hide: points of other lines; a number that is there already counts most."""
    numbers = sum(bool((np.abs(at - other) < 2 * half).all()) for other in taken)
    return 1000 * numbers + sum(int((np.abs(line - at) < half).all(axis=1).sum()) for line in lines)


def _number(weight: float) -> str:
    """Two digits, and no powers of ten for what is next to nothing."""
    return f"{weight:.2g}" if abs(weight) >= 0.0005 else "<0.001" if weight > 0 else ">−0.001"
