"""
Explain a prediction to a person
================================

Each column contributes to the log-odds; the contributions and the prior add up to the prediction. They show a person
which facts counted for and against, and how much.
"""

# %%
import pandas as pd
from matplotlib.figure import Figure

from tallybayes import NaiveBayes
from tallybayes.datasets import load_census
from tallybayes.plots import EvidenceDisplay

rows, income = load_census()
X = pd.DataFrame(rows).drop(columns=["fnlwgt", "education-num"])
model = NaiveBayes(tempered=True).fit(X[:5000], income[:5000])
person = X[5008:5009]
print(model.explain(person))

# %%
# What would change it: the same person with other values.
row = person.iloc[0].to_dict()
for change in ({}, {"education": "Masters"}, {"hours-per-week": 60}, {"marital-status": "Married-civ-spouse"}):
    print(f"{change or 'as it is'!s:<48} P(>50K) = {model.predict_proba_one(row | change)['>50K']:.2f}")

# %%
figure = Figure(figsize=(8, 4.5), layout="constrained")
EvidenceDisplay.from_estimator(model, person).plot(figure.subplots())
