"""Make the golden model files of this folder, each with predictions to compare with: python -m tests.golden.make

Before 1.0 the format may change, and these files are made again with it. From 1.0 on the files of a release stay as
they are, and every later version must load them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tallybayes as tb
from tallybayes.datasets import load_watermelon
from tallybayes.distributions import Kernel, Words

HERE = Path(__file__).parent


def models() -> dict[str, tuple[Any, list[dict[str, Any]]]]:
    """name: a fitted model, and rows to predict."""
    rng = np.random.default_rng(11)
    melons, ripe = load_watermelon()
    X, y = rng.normal(size=(30, 3)) + np.arange(30)[:, None] % 3, np.arange(30) % 3
    gaps = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    counts = rng.poisson(2.0, size=(30, 4))
    numbers = [{f"x{j}": float(v) for j, v in enumerate(row)} for row in rng.normal(size=(5, 3))] + [{"x1": 0.5}]
    whole = [{f"x{j}": int(v) for j, v in enumerate(row)} for row in rng.poisson(2.0, size=(5, 4))]
    whole_of_3 = [{f"x{j}": row[f"x{j}"] for j in range(3)} for row in whole]
    wide = rng.normal(size=(8, 260))
    far = [{key: v + 1e10 for key, v in row.items()} for row in numbers]
    mixed = pd.DataFrame(
        {
            "größe": X[:, 0],
            "color": pd.Categorical(np.array(["red", "grün", "蓝"])[y], categories=["red", "grün", "蓝", "never"]),
            "alive": y == 1,
            "visits": counts[:, 0],
        }
    )
    gappy = mixed.assign(größe=gaps[:, 0])
    asked = [{"größe": 0.3, "color": "蓝", "alive": True, "visits": 2}, {"größe": 1.0}, {"color": "never", "visits": 0}]
    hours = pd.date_range("1969-11-30", periods=30, freq="101h", tz="Europe/Berlin")
    dated = pd.DataFrame(
        {"when": hours, "wait": pd.to_timedelta(counts[:, 0], unit="h"), "id": [f"n{i}" for i in range(30)]}
    )
    moments = [{"when": "1970-02-03T04:05"}, {"when": "2070-01-01T00:00+00:00", "id": "n3"}, {"when": None}]
    phrases = np.array(
        [["free money", "win a prize"], ["lunch at noon", "see you"], ["grüne Äpfel", "今天 天气"]], dtype=object
    )
    mails = [{"body": f"{phrases[k, i % 2]} {i % 7}x", "size": float(X[i, 0])} for i, k in enumerate(y.tolist())]
    letters = [
        {"body": "Free lunch, free money!", "size": 0.5},
        {"body": "今天 ÄPFEL"},
        {"body": None, "size": 2.0},
        {"body": ""},
    ]
    chosen = {"sugar": Kernel("scott"), "density": "frequency"}
    v = np.random.default_rng(5).integers(0, 4, (600, 8))
    rule = np.where(v[:, 0] == 0, 0, np.where(v[:, 1] == 3, (v[:, 2] > 1) + (v[:, 3] == 0), v[:, 4] + v[:, 5] > 3))
    cells = [{f"x{j}": int(x) for j, x in enumerate(row)} for row in v[:5]] + [{"x1": 2}]
    return {
        "naive-mixed": (tb.NaiveBayes(schema={"visits": "count"}, unseen="other").fit(mixed, y), asked),
        "naive-melons": (tb.NaiveBayes(chosen, priors={"yes": 0.4, "no": 0.6}).fit(melons, ripe), melons[:6]),
        "naive-dates": (tb.NaiveBayes("gaussian", schema={"when": "date", "id": "id"}).fit(dated, y), moments),
        "naive-text": (tb.NaiveBayes({"body": Words(ngrams=(1, 2), max_words=40)}).fit(mails, y), letters),
        "gaussian": (tb.GaussianNB(variance="shared", ddof=1).fit(gaps + 1e10, y.astype(str)), far),
        "kernel": (tb.KernelNB().fit(gaps, y == 1), numbers),
        "poisson": (tb.PoissonNB().fit(counts, y), whole),
        "categorical": (tb.CategoricalNB(min_categories=9, unseen="other").fit(counts, y), whole),
        "multinomial": (tb.MultinomialNB(alpha=np.array([0.5, 1.0, 1.5, 2.0])).fit(counts, y), whole),
        "complement": (tb.ComplementNB(norm=True).fit(counts, y), whole),
        "bernoulli": (tb.BernoulliNB(binarize=1.5, class_prior=[0.2, 0.3, 0.5]).fit(counts, y), whole),
        "lda": (tb.LinearDiscriminantAnalysis(n_components=1).fit(X + 1e10, y.astype(np.int8)), far),
        "lda-wide": (
            tb.LinearDiscriminantAnalysis(shrinkage="auto").fit(wide, list("abababab")),
            [{f"x{j}": float(v) for j, v in enumerate(wide[0] + 0.1)}],
        ),
        "qda": (tb.QuadraticDiscriminantAnalysis(shrinkage="auto").fit(X, y), numbers[:5]),
        "rda": (tb.RegularizedDiscriminantAnalysis().fit(X, y), numbers),
        "discriminant": (tb.GaussianDiscriminant(own_covariance=0.5, shrinkage=0.1).fit(gaps, y), numbers),
        "discriminant-diagonal": (
            tb.GaussianDiscriminant("diagonal", own_covariance="auto", shrinkage="auto").fit(gaps, y),
            numbers,
        ),
        "tan": (tb.TAN(cuts=None).fit(melons, ripe), melons[:6]),
        "kdb": (tb.KDB(2, schema={"visits": "count"}).fit(mixed, y), asked[:2]),
        "spode": (tb.SPODE().fit(melons, ripe), melons[:6]),
        "aode": (tb.AODE(min_count=2, weighting="information").fit(melons, ripe), melons[:6]),
        "ande": (tb.AnDE(2, "categorical").fit(counts[:, :3], y, sample_weight=0.5 + y), whole_of_3),
        "network": (
            tb.BayesNetwork("x0 -> x1, a -> x2", ["a", "b"], "categorical").fit(counts, np.column_stack([y, y > 0])),
            whole,
        ),
        "bayes": (tb.BayesClassifier(members=2).fit(v, rule), cells),
        "bayes-mixed": (tb.BayesClassifier(members=4).fit(gappy, y), asked),
        "bayes-text": (tb.BayesClassifier("fast", members=3).fit(mails, y), letters),
        "decision": (
            tb.BayesDecision(
                tb.NaiveBayes(tempered=True, priors={"yes": 0.3, "no": 0.7}),
                {("yes", "no"): 20, ("no", "yes"): 1, ("taste it", ...): 0.75},
                reject=0.7,
                reject_label="ask",
            ).fit(melons, ripe),
            melons[:6],
        ),
        "decision-amounts": (
            tb.BayesDecision(
                tb.TAN(),
                {("grün", "red"): 2.0, (..., ...): 0.5},
                amount_loss={("grün", "red"): 1.0, ("red", "grün"): 0.5},
            ).fit(mixed, mixed["color"].astype(str).tolist()),
            asked,
        ),
    }


def predictions(model: Any, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What a model predicts for rows."""
    if not isinstance(model, tb.BayesDecision):
        explanation = model.explain(rows)
        explained = (
            {"explained": [explanation.text(i) for i in range(len(rows))]} if "text" in model.schema_.kinds else {}
        )
        return {"joint": model.predict_joint_log_proba(rows).tolist(), **explained}
    amounts = None if model.amount_loss_ is None else [10.0**i for i in range(len(rows))]
    return {
        "amounts": amounts,
        "proba": model.predict_proba(rows).tolist(),
        "risk": model.conditional_risk(rows, amount=amounts).tolist(),
        "decisions": model.predict(rows, amount=amounts).tolist(),
    }


def main() -> None:
    made = models()  # before the old files go
    for old in (*HERE.glob("*.tb"), *(path for path in HERE.glob("*.json") if path.name != "mass.json")):
        old.unlink()
    for name, (model, rows) in made.items():
        path = HERE / f"{name}.tb"
        tb.save(model, path, notes={"name": name})
        expected = {"rows": rows, "classes": model.classes_.tolist(), **predictions(model, rows)}
        path.with_suffix(".json").write_text(json.dumps(expected, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
