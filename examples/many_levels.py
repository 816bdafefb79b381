"""
Categories with many levels
===========================

Shops, products or postcodes have hundreds of levels, most of them rare. ``BayesClassifier`` gives such a column a
smoothed target encoding, whose amount of smoothing is chosen by leave-one-out; ``NaiveBayes`` smooths its counts.
Neither needs an encoder. The data are simulated from a logistic model, so that a logistic regression on
one-hot columns is correctly specified.
"""

# %%
import warnings

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from tallybayes import BayesClassifier, NaiveBayes
from tallybayes.errors import UnseenCategoryWarning

warnings.simplefilter("ignore", UnseenCategoryWarning)  # some shops are new: their evidence is left out
rng = np.random.default_rng(0)


def sales(n, levels):
    shop = np.minimum(rng.zipf(1.3, n), levels)
    price = rng.normal(size=n)
    returned = rng.random(n) < 1 / (1 + np.exp(1 - QUALITY[shop] - 0.8 * price))
    return pd.DataFrame({"shop": [f"shop {s}" for s in shop], "price": price}), np.where(returned, "returned", "kept")


QUALITY = rng.normal(scale=1.5, size=10_000)
models = {
    "BayesClassifier": BayesClassifier("fast"),
    "NaiveBayes": NaiveBayes("gaussian"),
    "one-hot + logistic regression": make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["shop"]), remainder="passthrough"),
        LogisticRegression(max_iter=1000),
    ),
}

# %%
counts = [30, 300, 3000]
losses = {name: [] for name in models}
for levels in counts:
    (X, y), (X_new, y_new) = sales(3000, levels), sales(3000, levels)
    for name, model in models.items():
        losses[name].append(log_loss(y_new, model.fit(X, y).predict_proba(X_new)))
for name, values in losses.items():
    print(f"{name:<30}", " ".join(f"{value:.3f}" for value in values))

# %%
figure = Figure(figsize=(7, 3.2), layout="constrained")
axis = figure.subplots()
for name, values in losses.items():
    axis.semilogx(counts, values, "o-", label=name)
axis.set(xlabel="levels", ylabel="log-loss of new rows")
axis.legend()
