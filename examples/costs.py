"""
A lending decision with unequal costs
=====================================

A bank offers a card with a high limit to people who probably earn more than 50,000 dollars a year (the census table
that ships with the library). A card in the wrong hands costs 10, a missed customer costs 2, and a clerk who looks
into a case costs 1 and always decides rightly. :class:`~tallybayes.BayesDecision` takes the decision with the least
expected loss.
"""

# %%
# Fit on one part of the rows, decide for the other.
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.model_selection import train_test_split

from tallybayes import BayesClassifier, BayesDecision
from tallybayes.datasets import load_census

rows, income = load_census()
label = np.where(np.array(income) == ">50K", "high", "low")
X, X_new, y, y_new = train_test_split(
    pd.DataFrame(rows).drop(columns="native-country"), label, train_size=3000, test_size=3000, random_state=0
)

loss = {("card", "low"): 10, ("card", "high"): 0, ("none", "high"): 2, ("none", "low"): 0, ("clerk", ...): 1}
bank = BayesDecision(BayesClassifier("fast"), loss=loss).fit(X, y)
decided = bank.predict(X_new)
print({decision: int((decided == decision).sum()) for decision in ("card", "none", "clerk")})

# %%
# What the decisions really cost per person, beside rules that ignore the costs or the probabilities.
rules = {
    "least expected loss": decided,
    "most probable class": np.where(bank.estimator_.predict(X_new) == "high", "card", "none"),
    "no cards": np.full(len(y_new), "none"),
    "always a clerk": np.full(len(y_new), "clerk"),
}


def cost(decisions):
    return np.mean([loss.get((d, truth), loss.get((d, ...))) for d, truth in zip(decisions, y_new, strict=True)])


costs = {name: cost(decisions) for name, decisions in rules.items()}
for name, value in costs.items():
    print(f"{name:<22} {value:.3f}")

# %%
figure = Figure(figsize=(7, 2.6), layout="constrained")
axis = figure.subplots()
axis.barh(list(costs), list(costs.values()), color=["tab:blue", "0.7", "0.7", "0.7"])
axis.invert_yaxis()
axis.set_xlabel("mean cost of a person, rows that were not learned")
