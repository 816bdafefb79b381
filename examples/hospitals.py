"""
Federated learning: three hospitals, one model
==============================================

No row leaves its hospital. One hospital makes a plan (bins and other choices), each counts its own rows with that
plan, and the statistics are merged. The merged model equals the plan counted on all rows together; it does not equal
a fit on all rows, whose bins would be chosen on all of them.
"""

# %%
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from tallybayes import NaiveBayes, from_bytes, merge_all, to_bytes

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = np.where(y == 0, "malignant", "benign")
X, X_new, y, y_new = train_test_split(X, y, test_size=0.4, random_state=0)
sites = [(X[i::3], y[i::3]) for i in range(3)]

# %%
plan = NaiveBayes("mdl").plan(sites[0][0].assign(target=sites[0][1]), "target")
message = to_bytes(plan)  # what is sent to the others
answers = [to_bytes(from_bytes(message).partial_fit(*site)) for site in sites]  # what they send back
merged = merge_all([from_bytes(answer) for answer in answers])
together = plan.copy().partial_fit(X, y)
print("kilobytes sent by each site:", [len(answer) // 1024 for answer in answers])
print("equal to the plan on all rows:", bool((merged.predict_proba(X_new) == together.predict_proba(X_new)).all()))

# %%
models = {f"hospital {i + 1} alone": NaiveBayes("mdl").fit(*site) for i, site in enumerate(sites)}
models |= {"merged": merged, "a fit on all rows": NaiveBayes("mdl").fit(X, y)}
losses = {name: log_loss(y_new, model.predict_proba(X_new)) for name, model in models.items()}
for name, value in losses.items():
    print(f"{name:<20} {value:.3f}")

# %%
figure = Figure(figsize=(7, 2.6), layout="constrained")
axis = figure.subplots()
axis.barh(list(losses), list(losses.values()), color=["0.7"] * 3 + ["tab:blue", "0.4"])
axis.invert_yaxis()
axis.set_xlabel("log-loss of new patients")
