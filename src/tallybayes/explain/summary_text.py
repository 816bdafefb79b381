"""An explanation in words: one row in lines, several on the page of a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tallybayes.explain.phrases import PRIOR, factor, odds, shown, strength
from tallybayes.utils import notebook

if TYPE_CHECKING:
    from tallybayes.explain.evidence import Explanation

CLIPPED = 20.0  # nats: the longest bar
NEGLIGIBLE = float(np.log(1.02))  # nats: a feature of less is added to the others
SHOWN = 10  # rows of an explanation that a notebook shows


def row(of: Explanation, i: int, k: int, chance: str, most: int) -> str:
    """The evidence of row i for class k, strongest first; chance: P of the class; most: features on each side."""
    rest = "the rest" if of.rival is None else repr(of.rival)
    lines = [f"{of.classes.tolist()[k]!r} against {rest}: {odds(of.log_odds[i, k])}, P = {chance}"]
    lines.append(f"  prior: {odds(of.prior[i, k])}")
    evidence, together = of.values[i, : of.table.d, k], of.values[i, of.table.d :, k]
    lines += [f"  together: {factor(says)}, {strength(says)}" for says in together.tolist() if factor(says)[1:] != "1"]
    order = np.argsort(-np.abs(evidence), kind="stable")
    for head, side in (("for", evidence > 0), ("against", evidence < 0)):
        found = [j for j in order.tolist() if side[j]]
        listed = [j for j in found[:most] if abs(evidence[j]) >= NEGLIGIBLE]
        lines.append(f"  evidence {head}:" + ("" if found else " none"))
        lines += [f"    {_says(of, i, j, float(evidence[j]))}" for j in listed]
        if len(found) > len(listed):
            rest_of = float(evidence[found[len(listed) :]].sum())
            lines.append(f"    {len(found) - len(listed)} more, together {factor(rest_of)}")
    return "\n".join(lines)


def _says(of: Explanation, i: int, j: int, evidence: float) -> str:
    columns = of.table.columns
    a_word = columns is not None and columns[j].kind == "text" and columns[j].values[i] is None
    held = of.table.values(j)[i]
    value = "" if a_word else " is missing" if held is None else f" = {shown(held)}"
    return f"{of.names[j]}{value}: {factor(evidence)}, {strength(evidence)}"


def page(of: Explanation) -> str:
    """HTML: of one row all its evidence, of several the strongest of each."""
    if len(of) == 1 and len(of.classes) > 1:
        return _of_one(of)
    rows = [_line(of, i) for i in range(min(len(of), SHOWN))]
    table = notebook.table(("row", "prediction", "P", "strongest for", "strongest against"), rows, words=(0, 1, 3, 4))
    more = f"{len(of) - SHOWN:,} more rows" if len(of) > SHOWN else ""
    return notebook.page(notebook.heading(repr(of)), table, notebook.paragraph(more))


def _of_one(of: Explanation) -> str:
    k = of.class_number(0, None)
    evidence = of.values[0, :, k]
    most = float(np.abs(np.clip(evidence, -CLIPPED, CLIPPED)).max(initial=1.0))
    first, *_ = of.text(0).splitlines()
    rows = [
        (
            of.names[j],
            shown(of.cells(j)[0]) if j < of.table.d else "",
            notebook.bar(float(np.clip(evidence[j], -CLIPPED, CLIPPED)), most, factor(float(evidence[j])), both=True),
            strength(evidence[j]),
        )
        for j in np.argsort(-np.abs(evidence), kind="stable").tolist()
    ]
    prior = (PRIOR, "", odds(of.prior[0, k]), "")
    head = ("feature", "value", "odds", "strength")
    return notebook.page(notebook.heading(first), notebook.table(head, [prior, *rows], words=(0, 1, 3)))


def _line(of: Explanation, i: int) -> tuple[object, ...]:
    """One row in a few words: its answer, and what speaks most for and against it."""
    k = of.class_number(i, None)
    evidence = of.values[i, : of.table.d, k]
    most, least = int(np.argmax(evidence)), int(np.argmin(evidence))
    says = [_says(of, i, j, float(evidence[j])) for j in (most, least)]
    signed = (says[0] if evidence[most] > 0 else "", says[1] if evidence[least] < 0 else "")
    label = i if of.index is None else of.index[i]
    return (label, of.classes.tolist()[k], f"{of.probability[i, k]:.3g}", *signed)
