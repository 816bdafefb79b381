"""
Learn and predict inside DuckDB
===============================

The rows stay in the database. ``learn_from`` asks it for the counts; ``to_sql`` writes the fitted model as one SELECT
that the database runs by itself.
"""

# %%
import duckdb
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from tallybayes import NaiveBayes
from tallybayes.datasets import load_census
from tallybayes.engines.sql import DatabaseTable
from tallybayes.export import to_sql

rows, income = load_census()
people = pd.DataFrame(rows).assign(income=income, person=range(len(rows)))
database = duckdb.connect()
database.execute("CREATE TABLE people AS SELECT * FROM people")

# %%
# The sufficient statistics are counted by the database.
source = DatabaseTable(database, "people", move="statistics")
columns = ["age", "education", "occupation", "hours-per-week", "sex"]
model = NaiveBayes("gaussian").learn_from(source, "income", columns=columns)
print(source.choice)
print(dict(zip(model.classes_.tolist(), model.class_count_.tolist(), strict=True)))

# %%
# The model as SQL, and the same probabilities in Python.
statement = to_sql(model, "duckdb", "people", keep=["person"])
print(f"{len(statement):,} characters of SQL")
scored = database.execute(statement).df().sort_values("person")
own = model.predict_proba(people[columns])
print("largest difference:", f"{np.abs(scored.iloc[:, -1].to_numpy() - own[:, -1]).max():.0e}")

# %%
figure = Figure(figsize=(6, 3), layout="constrained")
axis = figure.subplots()
for label in model.classes_:
    axis.hist(scored.iloc[:, -1][people["income"] == label], bins=40, alpha=0.6, label=label)
axis.set(xlabel="P(>50K), computed by DuckDB", ylabel="people")
axis.legend()
