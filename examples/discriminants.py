"""LDA, QDA and RDA on one picture: `python examples/discriminants.py [FILE]`. Needs matplotlib (the extra [plot])."""

from __future__ import annotations

import sys

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import tallybayes as tb

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
COLOURS = dict(zip(SHAPES, ("#0072b2", "#d55e00", "#009e73"), strict=True))


def ellipse(mean: np.ndarray, cov: np.ndarray) -> np.ndarray:
    """The points at two standard deviations."""
    angle = np.linspace(0, 2 * np.pi, 100)
    return mean + 2 * np.column_stack([np.cos(angle), np.sin(angle)]) @ np.linalg.cholesky(cov).T


def main(file: str) -> None:
    side = np.linspace(-3.5, 5.5, 300)
    grid = np.column_stack([v.ravel() for v in np.meshgrid(side, side)])
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), sharex=True, sharey=True)
    for axis, (name, model) in zip(axes, MODELS.items(), strict=True):
        model.fit(X, y)
        best = np.searchsorted(model.classes_, model.predict(grid)).reshape(300, 300)
        axis.contourf(side, side, best, levels=[-0.5, 0.5, 1.5, 2.5], colors=list(COLOURS.values()), alpha=0.15)
        axis.contour(side, side, best, levels=[0.5, 1.5], colors="black", linewidths=0.8)
        for k, (label, colour) in enumerate(COLOURS.items()):
            axis.plot(*X[y == label].T, "o", color=colour, markersize=4)
            # a discriminant's quadratic form holds its precision: A = −½ Σ⁻¹
            axis.plot(
                *ellipse(model.means_[k], np.linalg.inv(-2 * model.quadratic()[0][k])).T, color=colour, linewidth=1
            )
        lost = -np.mean(model.predict_log_proba(new)[np.arange(len(new)), np.searchsorted(model.classes_, truth)])
        chosen = f", α = {model.alpha_:g}, γ = {model.shrinkage_:g}" if name.startswith("RDA") else ""
        axis.set_title(
            f"{name}{chosen}\nnew rows: {model.score(new, truth):.1%} right, log-loss {lost:.3f}", fontsize=10
        )
    figure.tight_layout()
    figure.savefig(file, dpi=110)
    print(f"written: {file}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "discriminants.png")
