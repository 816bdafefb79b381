"""ROC, precision–recall and lift curves, one class against the rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tallybayes.reports import pictures
from tallybayes.reports.html import Markup, apart, tag
from tallybayes.reports.predicted_rows import Judged
from tallybayes.reports.verdict import auc
from tallybayes.utils.array_types import Floats

MOST_CURVES = 6  # classes that have one: the most frequent
POINTS = 150


def section(rows: Judged, classes: Sequence[object]) -> Markup | None:
    """Curves of two classes for the last of them; of more, for the most frequent."""
    n = np.bincount(rows.y, minlength=len(classes))
    which = [len(classes) - 1] if len(classes) == 2 else np.argsort(-n, kind="stable")[:MOST_CURVES].tolist()
    which = [k for k in which if 0 < n[k] < rows.n]
    if not which:
        return None
    roc, recall, lift = [], [], []
    for k in which:
        positive = rows.y == k
        order = np.argsort(-rows.log_proba[:, k], kind="stable")
        hits = np.cumsum(positive[order]).astype(float)
        asked = np.arange(1, rows.n + 1)
        # rows of equal score are one step
        score = rows.log_proba[order, k]
        ends = np.append(np.flatnonzero(np.diff(score)), rows.n - 1)
        hits, asked = hits[ends], asked[ends]
        total = float(n[k])
        roc.append(_thin(np.append(0, (asked - hits) / (rows.n - total)), np.append(0, hits / total)))
        recall.append(_thin(hits / total, hits / asked))
        lift.append(_thin(np.append(0, asked / rows.n), np.append(0, hits / total)))
    names = [str(classes[k]) for k in which]
    areas = [f"{auc(rows.log_proba[:, k], rows.y == k):.3f}" for k in which]
    named = [f"{apart(name)}: {area}" for name, area in zip(names, areas, strict=True)]
    share = n[which[0]] / rows.n if len(which) == 1 else None
    figures = [
        _figure(
            "ROC",
            pictures.lines(roc, "false positive rate", "true positive rate (recall)", "ROC curve", "diagonal"),
            f"AUC {areas[0]}" if len(which) == 1 else f"AUC of {', '.join(named)}",
        ),
        _figure(
            "Precision–recall",
            pictures.lines(recall, "recall", "precision", "Precision–recall curve", share),
            f"Dashed: the share of {apart(names[0])}, the precision of chance." if share else "",
        ),
        _figure(
            "Cumulative gains (lift)",
            pictures.lines(
                lift, "share of rows, most likely first", "share of the class found", "Cumulative gains", "diagonal"
            ),
            _lift(lift[0], names[0]),
        ),
    ]
    what = (
        f"For {names[0]} against the other class."
        if len(classes) == 2
        else "One class against the rest" + (f"; the {len(which)} most frequent." if len(which) < len(classes) else ".")
    )
    keys = [tag("li", tag("span", class_=f"key k{i % 8}"), name) for i, name in enumerate(names)]
    return tag(
        "section",
        tag("h2", "Ranking: ROC, precision–recall, lift", id="ranking"),
        tag("p", what, class_="lead"),
        tag("ul", keys, class_="keys") if len(which) > 1 else None,
        tag("div", figures, class_="grid whole"),
    )


def _figure(head: str, picture: Markup, note: str) -> Markup:
    return tag("figure", tag("h3", head), picture, tag("figcaption", note) if note else None)


def _lift(curve: tuple[Floats, Floats], name: str) -> str:
    found = float(np.interp(0.1, *curve))
    return (
        f"The 10% of rows with the highest probability of {apart(name)} hold {found:.0%} of its rows "
        f"(lift {found / 0.1:.1f})."
    )


def _thin(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    if len(x) <= POINTS:
        return x, y
    keep = np.unique(np.linspace(0, len(x) - 1, POINTS).round().astype(int))
    return x[keep], y[keep]
