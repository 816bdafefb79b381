"""
A model as an ONNX graph, in Python and in a browser
====================================================

``to_onnx`` writes a fitted model for runtimes in other languages and in the browser. The graph takes the raw columns
and gives the label and the probabilities; a missing number is NaN, a missing text the empty string.
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

# %%
# In a browser the same file runs in onnxruntime-web (npm). A page with two fields, beside ``income.onnx`` (the bytes of
# ``graph``) and the files of that package on any web server; nothing that is typed leaves the page:
#
# .. code-block:: html
#
#    <script src="onnxruntime-web/dist/ort.wasm.min.js"></script>
#    <p>Age <input id="age" type="number" value="45"> Hours <input id="hours" type="number" value="50"></p>
#    <p id="result"></p>
#    <script type="module">
#      const session = await ort.InferenceSession.create("income.onnx");
#      const number = (field) =>
#        new ort.Tensor("float64", Float64Array.of(field.value === "" ? NaN : Number(field.value)), [1, 1]);
#      const text = (value) => new ort.Tensor("string", [value], [1, 1]);
#      async function show() {
#        const { label, probabilities } = await session.run({
#          age: number(age), education: text("Masters"), "hours-per-week": number(hours), sex: text("Female"),
#        });
#        result.textContent = `${label.data[0]}: ${Array.from(probabilities.data, (p) => p.toFixed(4)).join(", ")}`;
#      }
#      document.oninput = show;
#      show();
#    </script>
#
# The probabilities are those of Python:
person = {"age": 45, "education": "Masters", "hours-per-week": 50, "sex": "Female"}
print({label: round(p, 4) for label, p in model.predict_proba_one(person).items()})
