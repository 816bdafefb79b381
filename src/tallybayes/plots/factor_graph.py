"""The generative model and its discriminative counterpart as two graphs side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from tallybayes.errors import OptionError, brief
from tallybayes.plots import style, text_fitting
from tallybayes.plots.display import Display
from tallybayes.plots.network_plot import NetworkDisplay
from tallybayes.plots.plot_tables import container_of
from tallybayes.utils.array_types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_DRAWN_COLUMNS = 5  # columns drawn; of more, the first four and the last
NODE_SPACING, ROW, RADIUS, SQUARE = 62.0, 112.0, 22.0, 13.0  # points
DOTS = "…"


class FactorGraphDisplay(Display):
    """Factor graphs of a generative model, p(x, y), and of its discriminative counterpart, P(y | x).

    Left: arrows from the class to the columns, P(y) Π_j P(x_j | y, parents of j). Right: a factor graph, a square for
    each factor f_j of P(y | x) ∝ exp(f_0(y) + Σ_j f_j(y, x_j, parents of j)), such as logistic regression; shaded
    columns are given, not modelled. Of more than five columns the first four and the last are drawn. Made by
    `from_estimator` or `from_graph`.

    Parameters
    ----------
    parents : dict of {str: list of str}
        The columns that each column depends on.
    target : str, default='class'
        The name of the class.
    joint : bool, default=False
        Whether the columns have one joint distribution given the class, as in a discriminant: one node.

    Attributes
    ----------
    parents, target, joint
        As given.
    figure_ : matplotlib Figure
        Drawn on first access.
    ax_ : matplotlib Axes
        Drawn on first access.

    See Also
    --------
    NetworkDisplay : The graph of a Bayesian network.
    tallybayes.evaluation.discriminative_counterpart : The model on the right.

    References
    ----------
    - Ng and Jordan (2002), On discriminative vs. generative classifiers. NIPS.

    Examples
    --------
    >>> from tallybayes.plots import FactorGraphDisplay
    >>> picture = FactorGraphDisplay.from_graph({"x1": [], "x2": ["x1"]})
    >>> picture.frame("pandas").values.tolist()
    [['x1', ''], ['x2', 'x1']]
    """

    def __init__(self, parents: Mapping[str, Sequence[str]], target: str = "class", joint: bool = False) -> None:
        self.parents = parents
        self.target = target
        self.joint = joint

    @classmethod
    def from_graph(cls, parents: Mapping[str, Sequence[str]], *, target: str = "class", ax: Axes | None = None) -> Self:
        """A graph that is given.

        Parameters
        ----------
        parents : dict
            {column: the columns it depends on beside the class}.
        target : str, default='class'
            The name of the class.
        ax : matplotlib Axes, default=None
            Where to draw at once; without it, nothing is drawn yet.

        Returns
        -------
        FactorGraphDisplay
            The graphs, and the picture when it is asked for.
        """
        network = NetworkDisplay.from_graph(parents, target=target)
        made = cls(network.parents, target)
        return made if ax is None else made.plot(ax)

    @classmethod
    def from_estimator(cls, estimator: object, *, target: str = "class", ax: Axes | None = None) -> Self:
        """The graph of a fitted model.

        Parameters
        ----------
        estimator : fitted classifier of tallybayes
            A network with a `graph_`, a naive model or a discriminant, of one target.
        target : str, default='class'
            The name of the class.
        ax : matplotlib Axes, default=None
            Where to draw at once; without it, nothing is drawn yet.

        Returns
        -------
        FactorGraphDisplay
            The graphs, and the picture when it is asked for.
        """
        network = NetworkDisplay.from_estimator(estimator, target=target)
        if network.targets:
            raise OptionError(f"A factor graph needs one target; this model has {brief(list(network.targets))}.")
        made = cls(network.parents, target, bool(network.joint))
        made.container = container_of(estimator)
        return made if ax is None else made.plot(ax)

    @property
    def shown(self) -> list[str]:
        """The columns drawn, with dots for those left out."""
        names = list(self.parents)
        return names if len(names) <= MAX_DRAWN_COLUMNS else [*names[: MAX_DRAWN_COLUMNS - 1], DOTS, names[-1]]

    @property
    def _size(self) -> tuple[float, float]:  # type: ignore[override]
        return (2 * NODE_SPACING * (len(self.shown) + 0.6)) / 72 + 0.4, (ROW + 2 * RADIUS + 64) / 72 + 0.2

    def _columns(self) -> Mapping[str, Sequence[object] | Array]:
        return {"column": list(self.parents), "parents": [", ".join(above) for above in self.parents.values()]}

    def _draw(self, ax: Axes) -> list[Axes]:
        wide = NODE_SPACING * (len(self.shown) + 0.6)
        ax.set_axis_off()
        ax.set_aspect("equal", adjustable="box")
        ax.set_xlim(-wide, wide)
        ax.set_ylim(-ROW / 2 - RADIUS - 56, ROW / 2 + RADIUS + 8)
        self._draw_generative(ax, -wide / 2)
        self._draw_discriminative(ax, wide / 2)
        return []

    def _places(self, middle: float, row: float) -> dict[str, tuple[float, float]]:
        x = NODE_SPACING * (np.arange(len(self.shown)) - (len(self.shown) - 1) / 2)
        return {name: (middle + float(v), row) for name, v in zip(self.shown, x, strict=True)}

    def _draw_generative(self, ax: Axes, middle: float) -> None:
        top = (middle, ROW / 2)
        places = {"x": (middle, -ROW / 2)} if self.joint else self._places(middle, -ROW / 2)
        _node(ax, top, text_fitting.wrap(self.target, 8, 2))
        for name, at in places.items():
            if name == DOTS:
                _dots(ax, at)
                continue
            _node(ax, at, "x" if self.joint else text_fitting.wrap(name, 8, 2))
            _arrow(ax, top, at)
            for p in () if self.joint else self.parents[name]:
                if p in places:
                    _arrow(ax, places[p], at, bend=-0.4)
        given = r"y,pa_j" if any(self.parents.values()) else "y"
        formula = r"$P(y)\,p(x\mid y)$" if self.joint else rf"$P(y)\,\prod_j P(x_j\mid {given})$"
        _caption(ax, middle, "(a) generative: the joint " + formula)

    def _draw_discriminative(self, ax: Axes, middle: float) -> None:
        top = (middle, ROW / 2)
        places = self._places(middle, -ROW / 2)
        for name, (x, y) in places.items():
            if name == DOTS:
                _dots(ax, (x, y))
                continue
            factor = (x + 0.12 * (middle - x), 0.0)
            for other in ((x, y), top, *(places[p] for p in self.parents[name] if p in places)):
                ax.plot([factor[0], other[0]], [0.0, other[1]], color=style.INK, linewidth=1.1, zorder=1)
            _square(ax, factor)
            _node(ax, (x, y), text_fitting.wrap(name, 8, 2), given=True)
        _node(ax, top, text_fitting.wrap(self.target, 8, 2))
        inside = r"y,x_j,pa_j" if any(self.parents.values()) else "y,x_j"
        _caption(ax, middle, rf"(b) discriminative: $P(y\mid x)\propto\exp\,\sum_j f_j({inside})$")


def _node(ax: Axes, at: tuple[float, float], name: str, given: bool = False) -> None:
    from matplotlib.patches import Circle

    face = "#d9d9d9" if given else "white"
    ax.add_patch(Circle(at, RADIUS, facecolor=face, edgecolor=style.INK, linewidth=1.2, zorder=3))
    size = min(9.0, 9.0 * 6.5 / max(max(map(text_fitting.width, name.split("\n"))), 1))
    ax.text(*at, name, ha="center", va="center", fontsize=size, color=style.INK, zorder=4)


def _square(ax: Axes, at: tuple[float, float]) -> None:
    from matplotlib.patches import Rectangle

    corner = (at[0] - SQUARE / 2, at[1] - SQUARE / 2)
    ax.add_patch(Rectangle(corner, SQUARE, SQUARE, facecolor=style.INK, edgecolor=style.INK, zorder=3))


def _dots(ax: Axes, at: tuple[float, float]) -> None:
    ax.text(*at, DOTS, ha="center", va="center", fontsize=14, color=style.INK)


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], bend: float = 0.0) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    a, b = np.array(start), np.array(end)
    middle = (a + b) / 2 + [0, bend * abs(b[0] - a[0])]
    first, last = middle - a, b - middle
    a, b = a + RADIUS * first / np.linalg.norm(first), b - (RADIUS + 1) * last / np.linalg.norm(last)
    path = Path([tuple(a), tuple(middle), tuple(b)], [Path.MOVETO, Path.CURVE3, Path.CURVE3])
    look: style.Look = {"arrowstyle": "-|>,head_length=0.5,head_width=0.25", "mutation_scale": 12, "color": style.INK}
    ax.add_patch(FancyArrowPatch(path=path, linewidth=1.2, zorder=2, **look))


def _caption(ax: Axes, middle: float, words: str) -> None:
    ax.text(middle, -ROW / 2 - RADIUS - 28, words, ha="center", va="top", fontsize=9.5, color=style.INK)
