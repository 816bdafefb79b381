"""Graphs: read, laid out, drawn."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

import tallybayes as tb
from tallybayes.datasets import load_watermelon
from tallybayes.errors import OptionError
from tallybayes.plots import FactorGraphDisplay, NetworkDisplay
from tallybayes.plots.graph_layout import crossings, place
from tallybayes.plots.network_drawing import NODE, NODE_SPACING
from tests.quick import examples


@st.composite
def graphs(draw: Any) -> dict[str, list[str]]:
    n = draw(st.integers(1, 14))
    return {f"v{i}": [f"v{j}" for j in range(i) if draw(st.integers(0, 3)) == 0] for i in range(n)}


@settings(max_examples=examples(60), deadline=None)
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


def test_models_without_one_graph_are_refused() -> None:
    rows, ripe = load_watermelon()
    words = [{k: v for k, v in row.items() if isinstance(v, str)} for row in rows]
    with pytest.raises(OptionError, match="averages"):
        NetworkDisplay.from_estimator(tb.AODE().fit(words, ripe))


def arrows(ax: Any) -> list[FancyArrowPatch]:
    return [p for p in ax.patches if isinstance(p, FancyArrowPatch)]


def test_a_discriminant_is_the_class_above_one_node_of_all_columns() -> None:
    model = tb.LinearDiscriminantAnalysis().fit([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]], [0, 1, 1])
    made = NetworkDisplay.from_estimator(model, target="sort")
    assert [group.columns for group in made.groups.values()] == [("x0", "x1")]
    said = {t.get_text() for t in made.ax_.texts}
    assert said == {"sort", "x0,  x1", "2 columns, one joint distribution"}
    assert len(arrows(made.ax_)) == 1


def test_several_targets_have_their_own_arrows() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 40))
    model = tb.BayesNetwork("a -> x0, b -> x1, a -> b", ["a", "b"], "categorical")
    model.fit(np.column_stack([a, b]), {"a": a, "b": b})
    made = NetworkDisplay.from_estimator(model)
    assert set(made.layout.stops) == {("a", "x0"), ("b", "x1"), ("a", "b")}
    assert made.heads == ("a", "b")
    assert len(arrows(made.ax_)) == 3
    given = NetworkDisplay.from_graph({"x": ["a"]}, targets=["a"])
    assert set(given.layout.stops) == {("a", "x")}
    with pytest.raises(OptionError, match="no node"):
        NetworkDisplay.from_graph({"x": ["a"]}, targets=["b"])


def test_no_line_from_the_class_passes_through_a_node() -> None:
    rows, ripe = load_watermelon()
    words = [{k: v for k, v in row.items() if isinstance(v, str)} for row in rows]
    made = NetworkDisplay.from_estimator(tb.TAN().fit(words, ripe))
    ax = made.ax_
    assert sum(edge[0] == "class" for edge in made.layout.stops) == 6
    for edge, line in zip(made.layout.stops, arrows(ax), strict=True):
        path = line.get_path().to_polygons(closed_only=False)[0]
        points = ax.transData.inverted().transform(line.get_transform().transform(path))
        for node in set(made.layout.nodes) - {*edge}:
            away = np.abs(points - made.drawing.at(node)) - np.array(NODE) / 2
            assert (away > -0.5).any(axis=1).all()


@pytest.mark.parametrize("size", [(3, 7), (12, 3)])
def test_nodes_are_not_stretched_by_the_axes(size: tuple[float, float]) -> None:
    figure = Figure(figsize=size)
    ax = NetworkDisplay.from_graph({"a": [], "b": ["a"]}, ax=figure.add_subplot()).ax_
    figure.draw_without_rendering()
    box = next(p for p in ax.patches if isinstance(p, FancyBboxPatch)).get_window_extent()
    assert box.width / box.height == pytest.approx(NODE[0] / NODE[1], rel=0.02)
    assert box.width <= NODE[0] * figure.dpi / 72 * 1.02


def test_many_columns_that_depend_on_the_class_alone_share_a_plate() -> None:
    made = NetworkDisplay.from_graph({**{f"x{i}": [] for i in range(40)}, "b": ["a"]})
    assert [len(group.columns) for group in made.groups.values()] == [40]
    assert set(made.shown) == {"a", "b"}
    assert made.left_out == ""
    assert "plate: each of 40 columns" in {t.get_text() for t in made.ax_.texts}


def test_generative_and_discriminative_graphs() -> None:
    made = FactorGraphDisplay.from_graph({"a": [], "b": ["a"], "c": []}, target="y")
    ax = made.ax_
    assert len(arrows(ax)) == 4  # y to each, a to b
    assert len(ax.lines) == 7  # each factor with y and its column, that of b with a too
    rng = np.random.default_rng(0)
    wide = FactorGraphDisplay.from_estimator(tb.GaussianNB().fit(rng.normal(size=(20, 9)), [0, 1] * 10))
    assert wide.shown == ["x0", "x1", "x2", "x3", "…", "x8"]
    joint = FactorGraphDisplay.from_estimator(
        tb.LinearDiscriminantAnalysis().fit(rng.normal(size=(20, 3)), [0, 1] * 10)
    )
    assert len(arrows(joint.ax_)) == 1
    model = tb.BayesNetwork(targets=["a", "b"], schema="categorical").fit([[0], [1]], {"a": [0, 1], "b": [1, 0]})
    with pytest.raises(OptionError, match="one target"):
        FactorGraphDisplay.from_estimator(model)


def test_naive_models_depend_on_the_class_alone() -> None:
    model = tb.GaussianNB().fit([[1.0, 2.0], [2.0, 1.0]], [0, 1])
    made = NetworkDisplay.from_estimator(model, target="sort")
    assert made.parents == {"x0": [], "x1": []}
    ax = made.plot().ax_
    assert {t.get_text() for t in ax.texts} == {"sort", "x0", "x1"}
    assert len(arrows(ax)) == 2  # from the class to each


def test_arrows_are_as_thick_as_the_weights() -> None:
    made = NetworkDisplay.from_graph(
        {"a": [], "b": ["a", "class"], "c": ["a", "b"]}, weights={("a", "b"): 0.1, ("b", "c"): 0.8}
    )
    ax = made.plot().ax_
    thick = dict(zip(made.layout.stops, [a.get_linewidth() for a in arrows(ax)], strict=True))
    assert thick["b", "c"] > thick["a", "b"]
    assert {"0.1", "0.8"} <= {t.get_text() for t in ax.texts}


def tree(d: int) -> tuple[dict[str, list[str]], dict[tuple[str, str], float]]:
    """Column i under column i // 2, the weaker the later."""
    parents = {
        f"the column with the number {i}": [f"the column with the number {i // 2}"] if i else [] for i in range(d)
    }
    return parents, {(above[0], child): 1 / i for i, (child, above) in enumerate(parents.items()) if above}


def test_of_a_large_graph_the_strongest_arrows_are_drawn_and_the_rest_is_noted() -> None:
    parents, weights = tree(100)
    made = NetworkDisplay.from_graph(parents, weights=weights)
    names = list(parents)
    assert list(made.shown) == names[:30]
    assert made.left_out.startswith("70 of 100 columns and 70 of 99 arrows not shown: the weakest; 'class' is also")
    assert made.left_out in {t.get_text() for t in made.ax_.texts}
    wide, tall = made.figure_.get_size_inches()
    assert wide <= 16
    assert tall <= 14
    assert len(made.frame("dict")["parent"]) == 99  # the numbers are all there
    few = NetworkDisplay.from_graph(parents, weights=weights, max_edges=3)
    assert list(few.shown) == names[:4]
    assert sum(map(len, few.shown.values())) == 3
    everything = NetworkDisplay.from_graph(parents, weights=weights, max_columns=100, max_edges=100)
    assert everything.shown == parents
    assert everything.left_out == "'class' is also a parent of every column below the first row"


def test_a_column_whose_arrows_are_left_out_does_not_seem_to_stand_alone() -> None:
    graph = {"alone": [], "a": [], "b": ["a"], "c": [], "d": ["c"]}
    made = NetworkDisplay.from_graph(graph, weights={("a", "b"): 1.0, ("c", "d"): 2.0}, max_edges=1)
    assert made.shown == {"alone": [], "c": [], "d": ["c"]}


def test_arrows_of_no_weight_are_not_drawn() -> None:
    weights = {("a", "b"): 2.1e-16, ("a", "c"): 0.57, ("b", "c"): 0.0}
    made = NetworkDisplay.from_graph({"a": [], "b": ["a"], "c": ["a", "b"]}, weights=weights)
    assert [edge for edge in made.layout.stops if edge[0] != "class"] == [("a", "c")]
    assert made.left_out == "2 arrows of weight 0 not drawn"
    assert {t.get_text() for t in made.ax_.texts} == {"class", "a", "b", "c", "0.57", made.left_out}
    weak = NetworkDisplay.from_graph({"a": [], "b": ["a"]}, weights={("a", "b"): 4.2e-5})
    assert "<0.001" in {t.get_text() for t in weak.ax_.texts}


def test_numbers_lie_on_white_above_all_lines_and_apart() -> None:
    names = [f"v{i}" for i in range(9)]
    graph = {name: names[max(i - 4, 0) : i] for i, name in enumerate(names)}
    weights = {(p, c): 0.1 + 0.01 * i for i, (p, c) in enumerate((p, c) for c in names for p in graph[c])}
    ax = NetworkDisplay.from_graph(graph, weights=weights).ax_
    ax.figure.draw_without_rendering()
    numbers = [t for t in ax.texts if t.get_text().startswith("0.")]
    assert len(numbers) == len(weights)
    for t in numbers:
        paper = t.get_bbox_patch()
        assert paper is not None
        assert paper.get_facecolor() == (1.0, 1.0, 1.0, 1.0)
        assert t.get_zorder() > max(a.get_zorder() for a in arrows(ax))
    boxes = [t.get_window_extent() for t in numbers]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


@pytest.mark.parametrize("wide", [5, 14])
def test_names_of_two_lines_fit_into_their_boxes_and_do_not_touch(wide: float) -> None:
    names = [f"{letter * 12} {letter.lower() * 12}" for letter in "WMQABC"]
    figure = Figure(figsize=(wide, 3), layout="constrained")
    ax = NetworkDisplay.from_graph({name: [] for name in names}, ax=figure.add_subplot()).ax_
    figure.draw_without_rendering()
    for t in ax.texts:
        x, y = t.get_position()
        box = ax.transData.transform([(x - NODE[0] / 2, y + NODE[1] / 2), (x + NODE[0] / 2, y - NODE[1] / 2)])
        here = t.get_window_extent()
        assert here.x0 >= box[0, 0]
        assert here.x1 <= box[1, 0]
        assert here.height <= abs(box[1, 1] - box[0, 1])
        assert t._linespacing >= 1.2


def test_rows_of_nodes_leave_room_for_the_arrows_between_them() -> None:
    chain = {f"n{i}": [f"n{i - 1}"] if i else [] for i in range(4)}
    ax = NetworkDisplay.from_graph(chain).ax_
    middles = sorted(t.get_position()[1] for t in ax.texts if t.get_text() in chain)
    assert len(middles) == 4
    assert min(np.diff(middles)) >= 2 * NODE[1]


def test_lines_that_pass_a_row_stay_inside_the_picture() -> None:
    names = [f"v{i}" for i in range(12)]
    made = NetworkDisplay.from_graph({name: names[:i] for i, name in enumerate(names)}, max_edges=100)
    low, high = made.ax_.get_xlim()
    passing = [NODE_SPACING * x for stops in made.layout.stops.values() for x, _ in stops]
    assert low < min(passing)
    assert max(passing) < high


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
        ({"a": []}, {"max_columns": 0}, "max_columns"),
        ({"a": []}, {"max_edges": 2.5}, "max_edges"),
    ],
)
def test_bad_graphs(graph: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        NetworkDisplay.from_graph(graph, **options)
