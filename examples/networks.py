"""
Naive Bayes, SPODE, TAN and KDB of the same table
=================================================

Which column of the watermelons depends on which, and how strongly. ``python examples/networks.py [FILE]``; needs
matplotlib (the extra [plot]).
"""

from __future__ import annotations

import sys

from matplotlib.figure import Figure

import tallybayes as tb
from tallybayes.datasets import load_watermelon
from tallybayes.plots import NetworkDisplay

rows, ripe = load_watermelon()
nominal = [{name: value for name, value in row.items() if isinstance(value, str)} for row in rows]

MODELS = {
    "naive Bayes": tb.NaiveBayes("gaussian"),
    "SPODE: one parent for all": tb.SPODE(),
    "TAN: a tree": tb.TAN(),
    "KDB: up to two parents": tb.KDB(2, select=False),
}


def picture() -> Figure:
    figure = Figure(figsize=(13, 10.5), layout="constrained")
    places = figure.subplot_mosaic([["0", "0"], ["1", "1"], ["2", "3"]], height_ratios=[2, 3, 5])
    for axis, (name, model) in zip(places.values(), MODELS.items(), strict=True):
        NetworkDisplay.from_estimator(model.fit(nominal, ripe), target="ripe").plot(axis)
        axis.set_title(name, loc="left")
    return figure


if __name__ == "__main__":
    file = sys.argv[1] if len(sys.argv) > 1 else "networks.png"
    figure = picture()
    figure.savefig(file, dpi=65)
    print(f"written: {file}", file=sys.stderr)
