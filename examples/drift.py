"""
Drift in a stream
=================

The relation of the columns and the class is reversed in the middle of a stream. A naive Bayes model without a half-life
adapts slowly; with one, earlier rows lose weight. `half_life="auto"` and `StreamingBayes` need no half-life. All are
evaluated prequentially: predict each row, then learn it.
"""

# %%
import numpy as np
from matplotlib.figure import Figure

from tallybayes import NaiveBayes, StreamingBayes

rng = np.random.default_rng(0)
kinds = {"plan": "categorical", "hours": "real"}


def customer(turned):
    leaves = rng.random() < 0.3
    plan = "basic" if rng.random() < (0.8 if leaves != turned else 0.3) else "premium"
    hours = rng.normal(3.0 if leaves != turned else 6.0, 1.5)
    return {"plan": plan, "hours": hours}, "leaves" if leaves else "stays"


stream = [customer(turned=i >= 2000) for i in range(4000)]

# %%
models = {
    "remembers everything": NaiveBayes(schema=kinds, unseen="other"),
    "half-life of 200 rows": NaiveBayes(schema=kinds, unseen="other", half_life=200),
    "half_life='auto'": NaiveBayes(schema=kinds, unseen="other", half_life="auto"),
    "StreamingBayes": StreamingBayes(schema=kinds),
}
losses = {}
for name, model in models.items():
    model.partial_fit([row for row, _ in stream[:20]], [label for _, label in stream[:20]])
    lost = []
    for row, label in stream[20:]:
        lost.append(-np.log(max(model.predict_proba_one(row)[label], 1e-12)))
        model.learn_one(row, label)
    losses[name] = np.array(lost)
    print(f"{name:<22} log-loss before the turn {np.mean(lost[1000:1980]):.3f}, after it {np.mean(lost[1980:]):.3f}")

change = models["StreamingBayes"].drift_[0]
print(f"A change after {change.row} rows: log-loss {change.loss_before:.2f}, then {change.loss_after:.2f}")

# %%
figure = Figure(figsize=(7, 3.4), layout="constrained")
axis = figure.subplots()
for name, lost in losses.items():
    axis.plot(np.convolve(lost, np.ones(150) / 150, mode="valid"), label=name)
axis.axvline(1980, color="0.6", linestyle=":")
axis.set(xlabel="row", ylabel="log-loss, mean of 150 rows")
axis.legend()
