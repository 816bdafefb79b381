"""
Bayes' rule on one axis
=======================

Two classes with normal densities. The posterior is a sigmoid when the variances are equal; another prior shifts it
along the axis; with unequal variances it is not monotone.
"""

# %%
import numpy as np
from matplotlib.figure import Figure

from tallybayes import GaussianNB

rng = np.random.default_rng(0)
y = np.repeat(["a", "b"], 500)
x = np.concatenate([rng.normal(0, 1, 500), rng.normal(2, 1, 500)])[:, None]
equal = GaussianNB(variance="shared").fit(x, y)
grid = np.linspace(-6, 8, 300)[:, None]
models = {
    "equal variances": equal,
    "prior of b 0.1": equal.with_prior([0.9, 0.1]),
    "own variances, b three times as wide": GaussianNB().fit(np.concatenate([x[:500], 2 + 3 * (x[500:] - 2)]), y),
}
for name, model in models.items():
    crossing = grid[np.flatnonzero(np.diff(model.predict(grid) == "b")), 0]
    print(f"{name}: boundary at", ", ".join(f"{value:.2f}" for value in crossing))

# %%
figure = Figure(figsize=(7, 5), layout="constrained")
top, bottom = figure.subplots(2, 1, sharex=True)
for k, label in enumerate(equal.classes_):
    top.plot(grid, np.exp(equal.predict_joint_log_proba(grid)[:, k]), label=f"P(x, {label})")
for name, model in models.items():
    bottom.plot(grid, model.predict_proba(grid)[:, 1], label=name)
bottom.axhline(0.5, color="0.7", linewidth=0.8)
bottom.set(xlabel="x", ylabel="P(b | x)")
top.legend()
bottom.legend()
