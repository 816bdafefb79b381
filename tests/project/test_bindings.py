"""The compiled module, as its stub tells it: no function takes a long row of arguments that can be mixed up."""

from __future__ import annotations

import ast
from pathlib import Path

from tallybayes import _core

MOST = 8  # arguments by place, self apart; what belongs together comes as an object that is checked once


def arguments() -> dict[str, list[str]]:
    tree = ast.parse(Path(_core.__file__).with_name("_core.pyi").read_text(encoding="utf-8"))
    found = dict[str, list[str]]()
    for place in [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]:
        for node in place.body:
            if isinstance(node, ast.FunctionDef):
                name = f"{place.name}.{node.name}" if isinstance(place, ast.ClassDef) else node.name
                a = node.args
                names = [each.arg for each in (*a.posonlyargs, *a.args) if each.arg != "self"]
                found[name] = max(found.get(name, []), names, key=len)  # of several overloads the longest
    return found


def test_no_bound_function_takes_more_than_eight_arguments_by_place() -> None:
    found = arguments()
    assert {"fit_boosting", "Scorer.kernel", "JointCounts.__init__"} <= found.keys()
    assert {name: names for name, names in found.items() if len(names) > MOST} == {}
