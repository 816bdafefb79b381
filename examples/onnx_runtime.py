"""
A model as an ONNX graph
========================

``to_onnx`` writes a fitted model for runtimes in other languages and in the browser. The graph takes the raw columns
and gives the label and the probabilities.
"""

# %%
import numpy as np
import onnxruntime
import pandas as pd
from matplotlib.figure import Figure

from tallybayes import NaiveBayes
from tallybayes.datasets import load_census
from tallybayes.export import to_onnx

rows, income = load_census()
columns = ["age", "education", "hours-per-week", "sex"]
X = pd.DataFrame(rows)[columns]
model = NaiveBayes("gaussian").fit(X[:5000], income[:5000])
graph = to_onnx(model).SerializeToString()
session = onnxruntime.InferenceSession(graph)
print(f"{len(graph):,} bytes;", "inputs:", [(i.name, i.type) for i in session.get_inputs()])

# %%
# One array of shape (rows, 1) for each column: strings as objects, numbers as float64.
feed = {
    name: X[[name]][5000:].to_numpy(dtype=object if X[name].dtype == object or X[name].dtype == "str" else np.float64)
    for name in columns
}
label, proba = session.run(None, feed)
own = model.predict_proba(X[5000:])
print(f"largest difference: {np.abs(proba - own).max():.0e}")
print("same labels:", bool((label == model.predict(X[5000:])).all()))

# %%
figure = Figure(figsize=(3.6, 3.4), layout="constrained")
axis = figure.subplots()
axis.plot(own[:, 1], proba[:, 1], ".", markersize=2)
axis.set(xlabel="P(>50K) in Python", ylabel="P(>50K) in onnxruntime", aspect="equal")
