"""A graph between columns: given in several ways, shown in several ways."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import OptionError, brief
from tallybayes.utils import notebook

Parents = tuple[tuple[int, ...], ...]
Edge = tuple[Hashable, Hashable]  # names of columns: parent, child


@dataclass(frozen=True, repr=False)
class Graph:
    """The arrows of a Bayesian network: which column depends on which. Print it.

    With one target, the class is a parent of every column, and `parents` and `edges` hold the arrows between columns.
    With several targets they hold every arrow: between targets, from targets to columns, and between columns.

    Parameters
    ----------
    columns : tuple of str
        The columns.
    parents : dict from str to tuple of str
        What each column depends on beside the class; with several targets all that each column or target depends on.
    edges : tuple of (str, str, dict)
        (parent, child, {"mutual_information": I(parent; child | class)}), as networkx takes them:
        ``networkx.DiGraph(model.graph_.edges)``. Arrows at a target have no mutual information.
    target : str, default='class'
        What the class is called.
    targets : tuple of str, default=()
        The names of several targets; empty for one.

    Attributes
    ----------
    columns, parents, edges, target, targets
        As above.

    Examples
    --------
    >>> from tallybayes import BayesNetwork
    >>> model = BayesNetwork("x0 -> x1", schema="categorical").fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> print(model.graph_)
    x0 | class
    x1 | class, x0 (0.693 nats)
    """

    columns: tuple[str, ...]
    parents: Mapping[str, tuple[str, ...]]
    edges: tuple[tuple[str, str, dict[str, float]], ...]
    target: str = "class"
    targets: tuple[str, ...] = ()

    def __str__(self) -> str:
        """One line per column: what its distribution is conditioned on."""
        return "\n".join(f"{column} | {given}" if given else column for column, given in self._lines())

    def _lines(self) -> list[tuple[str, str]]:
        """Each column (and each of several targets), and what it depends on."""
        strength = {(a, b): e.get("mutual_information") for a, b, e in self.edges}
        lines = []
        for column in (*self.targets, *self.columns):
            shown = [
                f"{p} ({s:.3g} nats)" if (s := strength.get((p, column))) is not None else p
                for p in self.parents.get(column, ())
            ]
            lines.append((column, ", ".join([self.target] * (not self.targets) + shown)))
        return lines

    def __repr__(self) -> str:
        columns, arrows = len(self.columns), len(self.edges)
        between = f" of {len(self.targets)} targets" if self.targets else " between them"
        return f"Graph({columns} column{'s' * (columns != 1)}, {arrows} arrow{'s' * (arrows != 1)}{between})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return notebook.page(notebook.table(("column", "depends on"), self._lines(), words=(0, 1)))

    def dot(self) -> str:
        """Return the graph in Graphviz's language.

        Returns
        -------
        str
            The text of a digraph.
        """
        heads = self.targets or (self.target,)
        lines = ["digraph network {", *(f"  {_quoted(t)} [shape=doublecircle];" for t in heads)]
        if not self.targets:
            lines += [f"  {_quoted(self.target)} -> {_quoted(c)} [color=gray];" for c in self.columns]
        for a, b, e in self.edges:
            label = f' [label="{e["mutual_information"]:.3g}"]' if "mutual_information" in e else ""
            lines.append(f"  {_quoted(a)} -> {_quoted(b)}{label};")
        return "\n".join([*lines, "}"])

    def to_networkx(self) -> Any:
        """Return the graph as one of networkx, with the targets and all columns.

        Returns
        -------
        networkx.DiGraph
            Arrows go from parent to child.
        """
        import networkx as nx

        g = nx.DiGraph()
        g.add_nodes_from(self.targets or (self.target,))
        g.add_nodes_from(self.columns)
        if not self.targets:
            g.add_edges_from((self.target, c) for c in self.columns)
        g.add_edges_from(self.edges)
        return g

    def with_targets(self, targets: Mapping[str, Sequence[str]], named: Mapping[Hashable, Sequence[str]]) -> Graph:
        """Return this graph between columns with the arrows of several targets.

        Parameters
        ----------
        targets : dict from str to sequence of str
            The targets that each target depends on.
        named : dict from str to sequence of str
            The targets that each column depends on; a column without an entry depends on all.

        Returns
        -------
        Graph
            The graph of all arrows.
        """
        above = {column: tuple(named.get(column) or targets) for column in self.columns}
        parents = {t: tuple(own) for t, own in targets.items()}
        parents |= {column: (*above[column], *self.parents.get(column, ())) for column in self.columns}
        arrows: list[tuple[str, str, dict[str, float]]] = [
            (p, child, {}) for child, own in {**targets, **above}.items() for p in own
        ]
        return replace(self, parents=parents, edges=(*arrows, *self.edges), targets=tuple(targets))


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def read_edges(graph: object) -> list[Edge]:
    """(parent, child) of every arrow of a dict {child: parents}, a networkx.DiGraph, pairs, or "a -> b, c -> b"."""
    if graph is None:
        return []
    if isinstance(graph, str):
        return _read_text(graph)
    if isinstance(graph, Mapping):
        return [(parent, child) for child, parents in graph.items() for parent in _each(parents)]
    if isinstance(graph, list | tuple | set) and graph and all(isinstance(e, str) for e in graph):
        return _read_text(",".join(graph))
    if hasattr(graph, "is_directed") and not graph.is_directed():
        raise OptionError("The graph has no directions. Give a networkx.DiGraph: arrows go from parent to child.")
    edges = getattr(graph, "edges", graph)
    try:
        return _read_pairs(edges() if callable(edges) else edges)
    except (TypeError, IndexError, KeyError):
        raise OptionError(
            "graph must be a dict {column: its parents}, a networkx.DiGraph, pairs (parent, child), or text such as "
            f"'age -> income, job -> income'; got {brief(graph)}."
        ) from None


def _each(parents: object) -> list[Hashable]:
    """One name, or some of them."""
    return [parents] if isinstance(parents, str) or not isinstance(parents, Iterable) else list(parents)


def _read_pairs(edges: Any) -> list[Edge]:
    """Pairs, each with as many dicts after it as there may be; TypeError if they are none."""
    pairs = [tuple(e) for e in edges]
    if any(len(e) < 2 or any(not isinstance(more, Mapping) for more in e[2:]) for e in pairs):
        raise TypeError
    return [(e[0], e[1]) for e in pairs]


def _read_text(text: str) -> list[Edge]:
    out: list[Edge] = []
    for part in re.split(r"[,;\n]", text):
        if not part.strip():
            continue
        names = [name.strip() for name in part.split("->")]
        if len(names) < 2 or not all(names):
            raise OptionError(f"Cannot read {part.strip()!r} in the graph. Write arrows, as in 'age -> income'.")
        out += list(pairwise(names))
    return out


def parents_of(edges: Sequence[Edge], position: Callable[[object], int], names: Sequence[str]) -> Parents:
    """The parents of each column, in the order in which the arrows name them. position: name → number, or an error."""
    parents: list[list[int]] = [[] for _ in names]
    for a, b in edges:
        i, j = position(a), position(b)
        if i == j:
            raise OptionError(f"Column {names[i]!r} cannot be its own parent.")
        if i not in parents[j]:
            parents[j].append(i)
    cycle = find_cycle(parents)
    if cycle:
        raise OptionError(
            f"The graph has a cycle: {' -> '.join(names[j] for j in cycle)}. Take one of these arrows away."
        )
    return tuple(tuple(p) for p in parents)


def find_cycle(parents: Sequence[Sequence[int]]) -> list[int]:
    """The columns of a cycle, along its arrows and back to the first; empty if there is none."""
    state = [0] * len(parents)  # 1: on the way, 2: done
    for start in range(len(parents)):
        path, steps = [start], [iter(parents[start])]
        if state[start]:
            continue
        state[start] = 1
        while path:
            up = next(steps[-1], None)
            if up is None:
                state[path.pop()] = 2
                steps.pop()
            elif state[up] == 1:
                return [up, *reversed(path[path.index(up) :])]
            elif state[up] == 0:
                state[up] = 1
                path.append(up)
                steps.append(iter(parents[up]))
    return []


def shown(parents: Parents, names: Sequence[str], between: NDArray[np.float64] | None, target: str = "class") -> Graph:
    """The graph of chosen parents. between: I(x_i; x_j | y) as a matrix, None if it is not known. A column may be
    called as the target is: then the target gets an underscore."""
    while target in names:
        target += "_"
    edges = tuple(
        (names[i], names[j], {} if between is None else {"mutual_information": float(between[i, j])})
        for j, own in enumerate(parents)
        for i in own
    )
    listed = {names[j]: tuple(names[i] for i in own) for j, own in enumerate(parents)}
    return Graph(tuple(names), listed, edges, target)
