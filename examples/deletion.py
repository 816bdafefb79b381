"""
A deletion request, end to end
==============================

A person asks for deletion. With ``memory="rows"`` the model keeps its rows, and forgetting gives the model of a fit
on the rows that remain, to the bit, every choice included. With the default memory the statistics are subtracted, and
choices such as bins and networks stay as they were made.
"""

# %%
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tallybayes import BayesClassifier, to_bytes
from tallybayes.datasets import load_census

rows, income = load_census()
X, y = pd.DataFrame(rows[:1200]), np.array(income[:1200])
X.loc[7, "occupation"] = "lighthouse keeper"  # a value that only this person has
X.loc[7, "age"] = 97
others = np.arange(1200) != 7

# %%
# Forget the person in both memories, and compare with models that never saw the row.
moved = {}
for memory in ("rows", "sample"):
    model = BayesClassifier("fast", memory=memory).fit(X, y)
    model.forget(X[7:8], y[7:8])
    never = BayesClassifier("fast", memory=memory).fit(X[others], y[others])
    moved[memory] = np.abs(model.predict_proba(X[others]) - never.predict_proba(X[others])).max(axis=1)
    left = b"lighthouse keeper" in to_bytes(model)
    print(f"memory={memory!r}: largest difference {moved[memory].max():.1e}, the name is in the file: {left}")

# %%
figure = Figure(figsize=(7, 3), layout="constrained")
axis = figure.subplots()
for memory, difference in moved.items():
    axis.plot(np.sort(difference), np.linspace(0, 1, len(difference)), label=f'memory="{memory}"')
axis.set(xlabel="|P after forgetting − P of a fit that never saw the row|", ylabel="share of rows")
axis.legend()
