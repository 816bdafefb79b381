"""
Is this row like anything seen?
===============================

A generative model knows p(x). Rows that are improbable under every class are novel, and their predicted class means
little. Here a model of the digits 0 to 4 predicts the digits 5 to 9.
"""

# %%
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from tallybayes import RegularizedDiscriminantAnalysis

X, y = load_digits(return_X_y=True)
known, strange = X[y < 5], X[y >= 5]
seen, unseen, labels, truth = train_test_split(known, y[y < 5], random_state=0)
model = RegularizedDiscriminantAnalysis().fit(seen, labels)
print(f"accuracy on the digits that it knows: {model.score(unseen, truth):.3f}")

# %%
# The share of learned rows that are less probable than a row is its p-value for novelty.
score = model.novelty(seen)
for name, rows in (("digits 0 to 4", unseen), ("digits 5 to 9", strange)):
    print(f"{name}: {np.mean(score.is_novel(rows, significance=0.05)):.0%} novel at the 5 % level")

# %%
figure = Figure(figsize=(7, 3), layout="constrained")
axis = figure.subplots()
axis.hist(model.score_samples(unseen), bins=40, alpha=0.6, density=True, label="digits 0 to 4, not learned")
axis.hist(model.score_samples(strange), bins=40, alpha=0.6, density=True, label="digits 5 to 9")
axis.set(xlabel="log p(x)", ylabel="density")
axis.legend()
