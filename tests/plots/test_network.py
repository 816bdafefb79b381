"""Graphs: read, laid out, drawn."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.patches import FancyArrowPatch

import tallybayes as tb
from tallybayes.datasets import load_watermelon
from tallybayes.errors import OptionError
from tallybayes.plots import NetworkDisplay
from tallybayes.plots.layout import crossings, place


@st.composite
def graphs(draw: Any) -> dict[str, list[str]]:
    n = draw(st.integers(1, 14))
    return {f"v{i}": [f"v{j}" for j in range(i) if draw(st.integers(0, 3)) == 0] for i in range(n)}


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_parents_stand_above_children_and_nodes_apart(parents: dict[str, list[str]]) -> None:
    made = place(parents, 4)
    for child, above in parents.items():
        for p in above:
            assert made.nodes[p][1] < made.nodes[child][1]
            rows = [y for _, y in made.stops[p, child]]
            assert rows == list(np.arange(made.nodes[p][1] + 1, made.nodes[child][1]))
    places = sorted((y, x) for x, y in made.nodes.values())
    assert all(b[0] > a[0] or b[1] - a[1] > 0.99 for a, b in pairwise(places))
    # an edge that passes a row keeps clear of its nodes
    for stops in made.stops.values():
        for x, row in stops:
            assert all(abs(x - u) > 0.6 for u, v in made.nodes.values() if v == row)
    assert max(sum(v == row for _, v in made.nodes.values()) for row in range(int(made.rows))) <= 4


def test_a_tree_is_drawn_without_crossings() -> None:
    tree = {f"n{i}": [f"n{(i - 1) // 2}"] if i else [] for i in reversed(range(15))}
    links = [(p, child) for child, above in tree.items() for p in above]
    made = place(tree, 8)
    rows = [[n for n, (_, y) in sorted(made.nodes.items(), key=lambda item: item[1][0]) if y == r] for r in range(4)]
    assert crossings(rows, links) == 0
    assert crossings([["a", "b"], ["c", "d"]], [("a", "d"), ("b", "c")]) == 1


def test_a_network_shows_its_graph_with_mutual_information() -> None:
    rows, ripe = load_watermelon()
    words = [{k: v for k, v in row.items() if isinstance(v, str)} for row in rows]
    for model in (tb.TAN().fit(words, ripe), tb.KDB(k=2).fit(words, ripe)):
        f = NetworkDisplay.from_estimator(model).frame("dict")
        found = set(zip(f["parent"], f["child"], f["weight"], strict=True))
        assert found == {(a, b, e["mutual_information"]) for a, b, e in model.graph_.edges}
        assert len(found) >= 2


def test_models_without_one_graph_say_so() -> None:
    rows, ripe = load_watermelon()
    words = [{k: v for k, v in row.items() if isinstance(v, str)} for row in rows]
    with pytest.raises(OptionError, match="averages"):
        NetworkDisplay.from_estimator(tb.AODE().fit(words, ripe))
    with pytest.raises(OptionError, match="covariance"):
        NetworkDisplay.from_estimator(
            tb.LinearDiscriminantAnalysis().fit([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]], [0, 1, 1])
        )


def test_naive_models_depend_on_the_class_alone() -> None:
    model = tb.GaussianNB().fit([[1.0, 2.0], [2.0, 1.0]], [0, 1])
    made = NetworkDisplay.from_estimator(model, target="sort")
    assert made.parents == {"x0": [], "x1": []}
    ax = made.plot().ax_
    assert {t.get_text() for t in ax.texts} == {"sort", "x0", "x1"}
    assert len(ax.lines) == 2  # from the class to each


def test_arrows_are_as_thick_as_the_weights() -> None:
    made = NetworkDisplay.from_graph(
        {"a": [], "b": ["a", "class"], "c": ["a", "b"]}, weights={("a", "b"): 0.1, ("b", "c"): 0.8}
    )
    ax = made.plot().ax_
    arrows = [p for p in ax.patches if isinstance(p, FancyArrowPatch)]
    thick = dict(zip(made.layout.stops, [a.get_linewidth() for a in arrows], strict=True))
    assert thick["b", "c"] > thick["a", "b"]
    assert {"0.1", "0.8"} <= {t.get_text() for t in ax.texts}


@pytest.mark.parametrize(
    ("graph", "options", "says"),
    [
        ({}, {}, "parents must be"),
        ([1, 2], {}, "parents must be"),
        ({"a": "b"}, {}, "list of columns"),
        ({"a": 3}, {}, "list of columns"),
        ({"a": ["b"], "b": ["c"], "c": ["a"]}, {}, "cycle.*'a', 'c', 'b'|cycle.*'c', 'b', 'a'|cycle.*'b', 'a', 'c'"),
        ({"a": ["a"]}, {}, "cycle"),
        ({"a": [], "b": ["a"]}, {"weights": {("b", "a"): 1.0}}, "no edge"),
        ({"a": [], "b": ["a"]}, {"weights": {("a", "b"): float("nan")}}, "finite"),
    ],
)
def test_bad_graphs(graph: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        NetworkDisplay.from_graph(graph, **options)
