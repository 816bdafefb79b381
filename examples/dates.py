"""
Dates as they are
=================

A column of timestamps is expanded into year, month, day, weekday and hour; each part has its own distribution. Here
the rush hours of weekdays differ from those of weekends.
"""

# %%
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tallybayes import TAN

rng = np.random.default_rng(0)
when = pd.Timestamp("2026-01-05") + pd.to_timedelta(rng.integers(0, 26 * 7 * 24 * 60, 6000), unit="min")
weekend = when.day_of_week >= 5
rush = np.where(weekend, (when.hour >= 11) & (when.hour <= 15), np.isin(when.hour, [7, 8, 16, 17, 18]))
busy = np.where(rng.random(6000) < np.where(rush, 0.85, 0.15), "busy", "quiet")
X = pd.DataFrame({"when": when})

# %%
# TAN lets the hour depend on the weekday; naive Bayes would not.
model = TAN().fit(X[:4000], busy[:4000])
print(f"accuracy on later rows: {model.score(X[4000:], busy[4000:]):.3f}")
print(model.schema_)

# %%
hours = pd.date_range("2026-07-06", periods=7 * 24, freq="h")
proba = model.predict_proba(pd.DataFrame({"when": hours}))[:, 0].reshape(7, 24)
figure = Figure(figsize=(8, 3), layout="constrained")
axis = figure.subplots()
picture = axis.imshow(proba, aspect="auto", vmin=0, vmax=1, cmap="Blues")
axis.set_yticks(range(7), ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
axis.set_xlabel("hour")
figure.colorbar(picture, label="P(busy)")
