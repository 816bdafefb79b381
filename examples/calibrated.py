"""
How reliable are the probabilities?
===================================

Columns that repeat each other make naive Bayes overconfident. Tempering raises the likelihood to a power chosen by
leave-one-out; ``BayesClassifier`` weights its columns.
"""

# %%
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import train_test_split

from tallybayes import BayesClassifier, GaussianNB
from tallybayes.plots import CalibrationDisplay

X, X_new, y, y_new = train_test_split(*load_breast_cancer(return_X_y=True), test_size=0.6, random_state=1)
models = {
    "GaussianNB()": GaussianNB().fit(X, y),
    "GaussianNB(tempered=True)": GaussianNB(tempered=True).fit(X, y),
    "BayesClassifier()": BayesClassifier().fit(X, y),
}
for name, model in models.items():
    proba = model.predict_proba(X_new)
    print(f"{name:<26} log-loss {log_loss(y_new, proba):.3f}, Brier {brier_score_loss(y_new, proba[:, 1]):.3f}")

# %%
figure = Figure(figsize=(11, 3.8), layout="constrained")
for axis, (name, model) in zip(figure.subplots(1, 3), models.items(), strict=True):
    CalibrationDisplay.from_estimator(model, X_new, y_new, n_bins=6).plot(axis)
    axis.set_title(name)
