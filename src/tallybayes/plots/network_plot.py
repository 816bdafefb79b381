"""Which column depends on which: the graph of a Bayesian network classifier."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tallybayes.distributions.capabilities import IndependentColumns, capability
from tallybayes.errors import OptionError, brief
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.plots import style
from tallybayes.plots.display import Display
from tallybayes.plots.graph_layout import Layout, Parents, place
from tallybayes.plots.network_drawing import GROUP, Group, NetworkDrawing
from tallybayes.plots.plot_tables import container_of, feature_names, require_ours
from tallybayes.utils.array_types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tallybayes.structure.graph import Graph

WIDEST = 6  # nodes side by side
MOST_COLUMNS, MOST_ARROWS = 30, 60  # shown unless more are asked for
MOST_ALONE = 8  # columns that depend on the class alone; more go into a plate
MOST_BELOW = 12  # columns; with more, arrows from the class go to the first row only
NEGLIGIBLE_WEIGHT = 1e-9  # a weight of less, beside the strongest (or 1), is rounding: no dependence
MAX_FIGURE_SIZE = (16.0, 14.0)  # inches of a figure of its own; deeper graphs are drawn smaller


class NetworkDisplay(Display):
    """Graph of a Bayesian network: the class on top, each column below its parents.

    Grey arrows start at the class. Dark arrows: dependence between columns; with weights (such as the mutual
    information given the class), the thicker the stronger, and the number stands on it. Arrows of weight 0 are not
    drawn. More than 8 columns that depend on the class alone share a plate; columns with a joint distribution share
    one node. Of a large graph the strongest arrows are drawn; what is left out is said below the picture. Made by
    `from_estimator` or `from_graph`.

    Parameters
    ----------
    parents : dict of {str: list of str}
        The columns that each column depends on.
    weights : dict of {(str, str): float}
        Weight of an edge, by (parent, column). Edges without a weight are drawn at full strength.
    target : str or None
        The name of the class; None: it is not drawn.
    max_columns : int, default=30
        Maximum number of columns to draw.
    max_edges : int, default=60
        Maximum number of edges between columns to draw.
    targets : sequence of str, default=()
        Nodes of the graph that are outputs, drawn as the class is.
    joint : sequence of str, default=()
        Columns that are drawn as one node, because they have one joint distribution.

    Attributes
    ----------
    parents, weights, target, targets, joint
        As given: the whole graph, which is also what `frame` gives.
    shown : dict of {str: list of str}
        The part of the graph that is drawn.
    groups : dict of {str: Group}
        Plates and joint nodes: the columns of each.
    layout : Layout
        Where its nodes and lines go.
    left_out : str
        Description of what is not drawn; empty if nothing is left out.
    figure_ : matplotlib Figure
        Drawn on first access.
    ax_ : matplotlib Axes
        Drawn on first access.

    See Also
    --------
    FactorGraphDisplay : A model beside its discriminative counterpart.

    References
    ----------
    - Sugiyama, Tagawa and Toda (1981), Methods for visual understanding of hierarchical system structures.
      IEEE SMC 11.

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
        targets: Sequence[str] = (),
        joint: Sequence[str] = (),
    ) -> None:
        for name, value, least in (("max_columns", max_columns, 1), ("max_edges", max_edges, 0)):
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
                raise OptionError(f"{name} must be a whole number of at least {least}; got {brief(value)}.")
        self.parents = parents
        self.weights = weights
        self.target = target
        self.targets = tuple(targets)
        self.joint = tuple(joint)
        place(parents, WIDEST)  # says where a cycle is, also in what is not drawn
        self.groups = _groups(parents, self.targets, self.joint)
        apart = {column for group in self.groups.values() for column in group.columns}
        single = {name: above for name, above in parents.items() if name not in apart}
        self.shown, self.left_out = _strongest(single, weights, int(max_columns), int(max_edges))
        self.drawing = NetworkDrawing(self._layout(), weights, self.heads, self.groups)

    @property
    def heads(self) -> tuple[str, ...]:
        """The nodes that are classes: the target, or several targets."""
        return self.targets if self.target is None else (self.target, *self.targets)

    @property
    def layout(self) -> Layout:
        """Where nodes and lines go, the class among them."""
        return self.drawing.layout

    def _layout(self) -> Layout:
        nodes: dict[str, list[str]] = {name: list(above) for name, above in self.shown.items()}
        nodes |= {name: [] for name in self.groups}
        if self.target is not None:
            first = [name for name, above in nodes.items() if not above]
            few = len(nodes) <= MOST_BELOW
            for name in nodes if few else first:
                nodes[name].insert(0, self.target)
            nodes = {self.target: [], **nodes}
            if not few and len(first) < len(self.shown):
                more = f"{self.target!r} is also a parent of every column below the first row"
                self.left_out = "; ".join(filter(None, [self.left_out, more]))
        return place(nodes, WIDEST, dict.fromkeys(self.groups, GROUP))

    @classmethod
    def from_graph(
        cls,
        parents: Mapping[Any, Iterable[object]],
        *,
        weights: Mapping[tuple[Any, Any], float] | None = None,
        target: str | None = "class",
        targets: Sequence[str] = (),
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
        targets : sequence of str, default=()
            Columns of the graph that are outputs. Then there is no class above all columns, and `target` is not used.
        max_columns : int, default=30
            How many columns are drawn: those at the strongest arrows.
        max_edges : int, default=60
            How many arrows between columns are drawn: the strongest.
        ax : matplotlib Axes, default=None
            Where to draw at once; without it, nothing is drawn yet.

        Returns
        -------
        NetworkDisplay
            The graph, and the picture when it is asked for.
        """
        if not isinstance(parents, Mapping) or not parents:
            raise OptionError(f"parents must be a dict from column to the columns it depends on; got {brief(parents)}.")
        heads = (targets,) if isinstance(targets, str) else tuple(map(str, targets))
        target = None if heads else target
        made = _read_parents(parents, target)
        absent = [name for name in heads if name not in made]
        if absent:
            raise OptionError(f"targets has {absent[0]!r}, which is no node of the graph.")
        edges = {(p, child) for child, above in made.items() for p in above}
        found = {(str(p), str(child)): float(w) for (p, child), w in (weights or {}).items()}
        surplus = sorted(set(found) - edges)
        if surplus:
            raise OptionError(f"weights has a pair that is no edge of the graph: {brief(surplus[0])}.")
        if not np.isfinite(list(found.values())).all():
            raise OptionError("weights must be finite numbers.")
        display = cls(made, found, target, max_columns=max_columns, max_edges=max_edges, targets=heads)
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
        """The graph of a fitted model, weighted by mutual information given the class.

        For a naive model, the class above every column. For a discriminant, the class above one node of all columns:
        they depend on each other by a covariance. With several targets, their own arrows.

        Parameters
        ----------
        estimator : fitted classifier of tallybayes
            A network with a `graph_`, a naive model or a discriminant.
        target : str or None, default='class'
            The name of the class, drawn above all columns; None leaves it away. Not used with several targets.
        max_columns : int, default=30
            How many columns are drawn: those at the strongest arrows.
        max_edges : int, default=60
            How many arrows between columns are drawn: the strongest.
        ax : matplotlib Axes, default=None
            Where to draw at once; without it, nothing is drawn yet.

        Returns
        -------
        NetworkDisplay
            The graph, and the picture when it is asked for.
        """
        model = require_ours(estimator, "NetworkDisplay.from_estimator")
        parents, weights, targets = _graph_of(model)
        made = _read_parents(parents, None if targets else target)
        joint = () if hasattr(type(model), "graph_") else _joint_columns(model)
        display = cls(
            made,
            weights,
            None if targets else target,
            max_columns=max_columns,
            max_edges=max_edges,
            targets=targets,
            joint=joint,
        )
        display.container = container_of(estimator)
        return display if ax is None else display.plot(ax)

    @property
    def _size(self) -> tuple[float, float]:  # type: ignore[override]
        wide, tall = self.drawing.size
        return min(wide / 72 + 0.3, MAX_FIGURE_SIZE[0]), min(tall / 72 + 0.3, MAX_FIGURE_SIZE[1])

    def _columns(self) -> Mapping[str, Sequence[object] | Array]:
        edges = [(p, child) for child, above in self.parents.items() for p in above]
        return {
            "parent": [p for p, _ in edges],
            "child": [child for _, child in edges],
            "weight": [self.weights.get(edge) for edge in edges],
        }

    def _draw(self, ax: Axes) -> list[Axes]:
        self.drawing.draw(ax)
        if self.left_out:
            style.note(ax, self.left_out)
        return []


def _groups(parents: Parents, targets: Sequence[str], joint: Sequence[str]) -> dict[str, Group]:
    """Columns that are drawn as one node: those with a joint distribution, and many that depend on the class alone."""
    bound = {name for child, above in parents.items() if above for name in (child, *above)}
    alone = [name for name in parents if name not in bound and name not in targets and name not in joint]
    groups = {}
    if joint:
        groups[_free("(joint)", parents)] = Group(tuple(joint), True)
    if len(alone) > MOST_ALONE:
        groups[_free("(plate)", parents)] = Group(tuple(alone), False)
    return groups


def _free(name: str, taken: Iterable[str]) -> str:
    """A name that no column has."""
    known = set(taken)
    while name in known:
        name += "_"
    return name


def _read_parents(parents: Mapping[Any, Iterable[object]], target: str | None) -> dict[str, list[str]]:
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
    least = NEGLIGIBLE_WEIGHT * max([1.0, *(s for s in size.values() if np.isfinite(s))])
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


def _graph_of(
    model: GenerativeClassifier,
) -> tuple[Mapping[str, Sequence[str]], dict[tuple[str, str], float], tuple[str, ...]]:
    """The parents of each column, the mutual information of each arrow where it is known, and several targets."""
    if not hasattr(type(model), "graph_"):
        return {name: [] for name in feature_names(model, None)}, {}, ()
    try:
        graph: Graph = model.graph_
    except AttributeError as e:  # it averages over many
        raise OptionError(str(e)) from None
    information = {(a, b): e["mutual_information"] for a, b, e in graph.edges if "mutual_information" in e}
    nodes = (*graph.targets, *graph.columns)
    return {name: graph.parents.get(name, ()) for name in nodes}, information, graph.targets


def _joint_columns(model: GenerativeClassifier) -> list[str]:
    """The columns that have a joint distribution given the class."""
    terms = model.predictor_.fitted.terms
    names = model.schema_.name
    return [
        names(j)
        for t in terms
        if capability(t.distribution, IndependentColumns) is None and len(t.columns) > 1
        for j in t.columns
    ]
