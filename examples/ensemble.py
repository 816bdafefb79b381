"""
The components of a BayesClassifier
===================================

Above, from a row to its prediction; below, the log-loss on 6,000 new rows of the census table, with one more component
in each step. ``python examples/ensemble.py [FILE]``; needs matplotlib (the extra [plot]).
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

import tallybayes as tb
from tallybayes.datasets import load_census
from tallybayes.plots.style import FAINT, GRID, INK, colour

LEARNED = 4000  # rows of the census table; the other 6,000 are new
COUNTED, CHOSEN, PLAIN = "#dcebf8", "#ffeccb", "#f3f3f3"
BOXES: dict[str, tuple[float, float, float, float, str, str, str]] = {  # left, bottom, width, height
    "table": (0, 3.45, 14, 3.1, "the table", "any columns,\nmissing values", PLAIN),
    "codes": (19, 3.45, 15, 3.1, "codes", "each number in\nup to 255 bins", COUNTED),
    "networks": (
        40, 7.1, 27, 2.7,
        "32 Bayesian networks", "own bins, up to 4 super-parents;\nP(x | class, parents), back-off", COUNTED,
    ),
    "naive": (40, 4.95, 27, 1.75, "naive Bayes", "on finer bins", COUNTED),
    "target_encoding": (40, 2.8, 27, 1.75, "target encoding", "of categories with many levels", COUNTED),
    "gaussian": (40, 0.65, 27, 1.75, "Gaussian discriminant", "on normal scores", COUNTED),
    "weights": (72, 3.45, 17, 3.1, "stacking", "weights by component\nand column", CHOSEN),
    "boosting": (93, 3.45, 15, 3.1, "boosting", "oblivious trees on\nthe residuals", CHOSEN),
    "posterior": (112, 3.45, 14, 3.1, "P(class | x)", "sums of logs,\nnormalised", PLAIN),
    "rows": (82, 0.2, 17, 1.85, "row sample", "at most 64 MB", COUNTED),
}  # fmt: skip
ARROWS = (
    ("table", "codes"), ("codes", "networks"), ("codes", "naive"), ("codes", "target_encoding"),
    ("codes", "gaussian"), ("networks", "weights"), ("naive", "weights"), ("target_encoding", "weights"),
    ("gaussian", "weights"), ("weights", "boosting"), ("boosting", "posterior"),
)  # fmt: skip


def steps() -> dict[str, Any]:
    """Models, each with one component or choice more than the one before."""
    networks = {"parts": ("networks",)}
    return {
        "naive Bayes, MDL cuts": tb.NaiveBayes("mdl"),
        "one network": tb.BayesClassifier(**networks, members=1, weighting="none"),
        "one temperature": tb.BayesClassifier(**networks, members=1, weighting="temperature"),
        "31 more networks": tb.BayesClassifier(**networks, weighting="temperature"),
        "a weight for each column": tb.BayesClassifier(**networks),
        "naive Bayes on finer cuts": tb.BayesClassifier(parts=("networks", "naive")),
        "target encoding": tb.BayesClassifier(parts=("networks", "naive", "target_encoding")),
        "a Gaussian discriminant": tb.BayesClassifier(parts=("networks", "naive", "target_encoding", "gaussian")),
        "boosting": tb.BayesClassifier(),
    }


def picture() -> Figure:
    figure = Figure(figsize=(11.5, 7.8), layout="constrained")
    flow, gains = figure.subfigures(
        2, 1, height_ratios=[10, 10]
    )  # apart: the names of the steps do not narrow the flow
    draw_flow(flow.subplots())
    draw_gains(gains.subplots())
    said = "What each step gains: does a person of the census earn more than 50,000 dollars?"
    gains.suptitle(said, x=0.008, ha="left", fontsize=12, weight="bold", color=INK)
    return figure


def draw_flow(axis: Axes) -> None:
    for left, bottom, width, height, name, what, fill in BOXES.values():
        axis.add_patch(
            FancyBboxPatch(
                (left, bottom), width, height, boxstyle="round,pad=0,rounding_size=0.6", mutation_aspect=0.25,
                facecolor=fill, edgecolor=FAINT, linewidth=0.8,
            )
        )  # fmt: skip
        lines, middle = what.count("\n") + 1, bottom + height / 2
        axis.text(
            left + width / 2, middle + 0.2 + 0.26 * lines, name, ha="center", va="center", weight="bold", color=INK
        )
        axis.text(left + width / 2, middle - 0.38, what, ha="center", va="center", fontsize=8.5, color=INK)
    for a, b in ARROWS:
        arrow(axis, (BOXES[a][0] + BOXES[a][2], middle_of(a)), (BOXES[b][0], aim(a, b)), "-")
    rows = BOXES["rows"]
    for b, along in (("weights", 4.0), ("boosting", 13.0)):
        arrow(axis, (rows[0] + along, rows[1] + rows[3]), (BOXES[b][0] + BOXES[b][2] / 2, BOXES[b][1]), "--")
    axis.text(0, 9.5, "How it works", fontsize=12, weight="bold", color=INK, va="center")
    legend = ((1.05, COUNTED, "counted: adds and subtracts"), (0.1, CHOSEN, "chosen again on the row sample"))
    for y, fill, what in legend:
        axis.add_patch(FancyBboxPatch((0, y), 2, 0.5, boxstyle="square,pad=0", facecolor=fill, edgecolor=FAINT, lw=0.8))
        axis.text(3, y + 0.25, what, va="center", fontsize=8.5, color=INK)
    axis.set(xlim=(-0.5, 126.5), ylim=(-0.3, 10.1))
    axis.axis("off")


def middle_of(name: str) -> float:
    return BOXES[name][1] + BOXES[name][3] / 2


def aim(a: str, b: str) -> float:
    """Arrows that meet in a box meet it a little apart."""
    return middle_of(b) + (0.14 * (middle_of(a) - middle_of(b)) if b == "weights" else 0.0)


def arrow(axis: Axes, start: tuple[float, float], end: tuple[float, float], style: str) -> None:
    axis.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=10, linestyle=style, color=FAINT, shrinkA=2, shrinkB=2, lw=1.1
        )
    )


def draw_gains(axis: Axes) -> None:
    rows, y = load_census()
    left, new = [], []
    for model in steps().values():
        model.fit(rows[:LEARNED], y[:LEARNED])
        left.append(loss(model, model.leave_one_out(rows[:LEARNED], y[:LEARNED]), y[:LEARNED]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tb.errors.UnseenCategoryWarning)
            new.append(loss(model, model.predict_log_proba(rows[LEARNED:]), y[LEARNED:]))
    places = np.arange(len(left))
    axis.hlines(places, np.minimum(left, new), np.maximum(left, new), color=GRID, lw=3, zorder=1)
    axis.plot(left, places, "o", color=colour(0), label=f"the {LEARNED:,} rows learned, leave-one-out", zorder=3)
    axis.plot(new, places, "s", color=colour(2), mfc="white", label=f"{len(y) - LEARNED:,} new rows", zorder=2)
    for place, found in zip(places.tolist(), new, strict=True):
        axis.annotate(
            f"{found:.3f}", (max(found, left[place]), place), (9, 0), textcoords="offset points", va="center",
            fontsize=8.5, color=INK,
        )  # fmt: skip
    names = list(steps())
    axis.set_yticks(places, [*names[:2], *(f"+ {name}" for name in names[2:])])
    axis.invert_yaxis()
    axis.set_xlim(0.27, 0.47)
    axis.set_xlabel("log-loss (less is better); the figure is that of the new rows")
    axis.grid(axis="x", color=GRID)
    axis.set_axisbelow(True)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(length=0)
    axis.legend(loc="lower right", frameon=False, fontsize=9)


def loss(model: Any, log_proba: Any, y: list[str]) -> float:
    return float(-log_proba[np.arange(len(y)), np.searchsorted(model.classes_, y)].mean())


if __name__ == "__main__":
    file = sys.argv[1] if len(sys.argv) > 1 else "ensemble.png"
    figure = picture()
    figure.savefig(file, dpi=110)
    print(f"written: {file}", file=sys.stderr)
