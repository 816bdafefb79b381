"""
LDA, QDA and RDA on one picture
===============================

Three classes with different covariances, 14 rows of each: boundaries, ellipses at two standard deviations, and the
accuracy of each model on new rows. ``python examples/discriminants.py [FILE]``; needs matplotlib (the extra [plot]).
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure

import tallybayes as tb
from tallybayes.plots import DecisionBoundaryDisplay

rng = np.random.default_rng(4)
SHAPES = {
    "a": ([0.0, 0.0], [[1.0, 0.7], [0.7, 1.0]], 14),
    "b": ([2.2, 0.4], [[0.4, -0.2], [-0.2, 0.9]], 14),
    "c": ([1.0, 2.6], [[1.6, 0.0], [0.0, 0.25]], 14),
}
X = np.vstack([rng.multivariate_normal(mean, cov, n) for mean, cov, n in SHAPES.values()])
y = np.repeat(list(SHAPES), [n for _, _, n in SHAPES.values()])
new = np.vstack([rng.multivariate_normal(mean, cov, 4000) for mean, cov, _ in SHAPES.values()])
truth = np.repeat(list(SHAPES), 4000)

MODELS = {
    "LDA: one covariance": tb.LinearDiscriminantAnalysis(),
    "QDA: one for each class": tb.QuadraticDiscriminantAnalysis(),
    "RDA: in between, chosen": tb.RegularizedDiscriminantAnalysis(),
}


def picture() -> Figure:
    figure = Figure(figsize=(12, 4.3), layout="constrained")
    for axis, (name, model) in zip(figure.subplots(1, 3, sharex=True, sharey=True), MODELS.items(), strict=True):
        model.fit(X, y)
        DecisionBoundaryDisplay.from_estimator(model, X, y).plot(
            axis, levels=(), legend=axis.get_subplotspec().is_last_col()
        )
        lost = -np.mean(model.predict_log_proba(new)[np.arange(len(new)), np.searchsorted(model.classes_, truth)])
        chosen = f", w = {model.own_covariance_:g}, γ = {model.shrinkage_:g}" if name.startswith("RDA") else ""
        axis.set_title(
            f"{name}{chosen}\nnew rows: {model.score(new, truth):.1%} right, log-loss {lost:.3f}", fontsize=10
        )
        axis.label_outer()
    return figure


if __name__ == "__main__":
    file = sys.argv[1] if len(sys.argv) > 1 else "discriminants.png"
    figure = picture()
    figure.savefig(file, dpi=110)
    print(f"written: {file}", file=sys.stderr)
