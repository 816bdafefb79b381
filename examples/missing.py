"""
A medical table with missing values
===================================

Values are deleted at random from the breast cancer table. A Gaussian discriminant integrates missing values out
exactly when it predicts, and estimates each covariance from the rows that have both columns when it learns; a logistic
regression needs imputation.
"""

# %%
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tallybayes import BayesClassifier, RegularizedDiscriminantAnalysis

X, y = load_breast_cancer(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0)
rng = np.random.default_rng(0)
models = {
    "regularised discriminant analysis": RegularizedDiscriminantAnalysis(priors="laplace"),
    "BayesClassifier": BayesClassifier("fast"),
    "mean imputation + logistic regression": make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()),
}

# %%
# The same values are missing for all models. Each model learns complete rows and predicts rows with missing values.
shares = [0.0, 0.2, 0.4, 0.6, 0.8]
losses = {name: [] for name in models}
for model in models.values():
    model.fit(X, y)
for share in shares:
    holes = np.where(rng.random(X_new.shape) < share, np.nan, X_new)
    for name, model in models.items():
        losses[name].append(log_loss(y_new, model.predict_proba(holes)))
for name, values in losses.items():
    print(f"{name:<38}", " ".join(f"{value:.3f}" for value in values))

# %%
figure = Figure(figsize=(7, 3.6), layout="constrained")
axis = figure.subplots()
for name, values in losses.items():
    axis.plot(shares, values, "o-", label=name)
axis.set(xlabel="share of values that are missing", ylabel="log-loss of new rows", ylim=(0, None))
axis.legend()
