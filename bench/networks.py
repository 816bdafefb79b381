"""The workloads of networks. Weka and the Java AnDE are quoted, not run: see bench/README.md."""

from __future__ import annotations

from typing import Any

from sklearn import naive_bayes as sk

import tallybayes as tb

from . import data
from .harness import Case, Side, workload
from .workloads import shape

# Milliseconds on 100,000 × 30, 5 values, 3 classes, on a machine where scikit-learn's CategoricalNB.fit takes 103 ms on
# the same table: (fit, predict_proba).
QUOTED = {
    "AODE": ("Weka 3.6", 104.0, 1910.0),
    "TAN": ("Weka 3.6", 1340.0, 330.0),
    "A2DE": ("Java AnDE", 2500.0, 40_000.0),
}
YARDSTICK = 103.0


def make(name: str) -> Any:
    """With Laplace smoothing, as the peers estimate."""
    if name == "TAN":
        return tb.TAN(schema="categorical", smoothing="laplace")
    return tb.AnDE({"AODE": 1, "A2DE": 2}[name], "categorical", smoothing="laplace")


def table(shrink: int) -> tuple[data.Array, data.Array]:
    return data.codes(100_000 // shrink, 30, 5, 3)


def quoted(name: str, which: int, X: data.Array, y: data.Array) -> Side:
    """A figure of another machine, carried over by what CategoricalNB.fit takes here."""
    who, ms = QUOTED[name][0], QUOTED[name][1 + which]
    return Side(f"{who} (quoted)", lambda: sk.CategoricalNB().fit(X, y), times=ms / YARDSTICK)


@workload("AODE fit", ratio=12, model="AODE")
@workload("TAN fit", ratio=100, model="TAN")
@workload("A2DE fit", ratio=20, model="A2DE")
def network_fit(shrink: int, model: str) -> Case:
    X, y = table(shrink)
    return Case(shape(len(y), "30 codes", "3 classes"), ours=lambda: make(model).fit(X, y), peer=quoted(model, 0, X, y))


@workload("AODE predict_proba", ratio=60, model="AODE")
@workload("TAN predict_proba", ratio=60, model="TAN")
@workload("A2DE predict_proba", ratio=15, model="A2DE")
def network_proba(shrink: int, model: str) -> Case:
    X, y = table(shrink)
    fitted = make(model).fit(X, y)
    peer = quoted(model, 1, X, y)
    return Case(shape(len(y), "30 codes", "3 classes"), ours=lambda: fitted.predict_proba(X), peer=peer)


def agrum(X: data.Array, y: data.Array) -> Any:
    import pandas as pd
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    frame = pd.DataFrame(X.astype(str), columns=[f"x{j}" for j in range(X.shape[1])])
    whole = DiscreteTypeProcessor("NoDiscretization", None)
    model = BNClassifier(type_processor=whole, learningMethod="TAN")
    return model.fit(frame, pd.Series(y.astype(str), name="y")), frame


@workload("TAN fit, beside pyAgrum", ratio=300)
def beside_agrum_fit(shrink: int) -> Case:
    X, y = table(shrink)
    some = len(y) // 10
    return Case(
        shape(len(y), "30 codes", "3 classes"),
        ours=lambda: make("TAN").fit(X, y),
        peer=Side("pyAgrum", lambda: agrum(X[:some], y[:some]), times=10.0),
    )


@workload("TAN predict_proba, beside pyAgrum", ratio=1000)
def beside_agrum_proba(shrink: int) -> Case:
    X, y = table(shrink)
    some = len(y) // 100
    model, (peer, frame) = make("TAN").fit(X, y), agrum(X[: len(y) // 10], y[: len(y) // 10])
    return Case(
        shape(len(y), "30 codes", "3 classes"),
        ours=lambda: model.predict_proba(X),
        peer=Side("pyAgrum", lambda: peer.predict_proba(frame[:some]), times=len(y) / some),
    )


@workload("AODE fit, beside scikit-bayes", step="fit")
@workload("AODE predict_proba, beside scikit-bayes", step="proba")
def beside_skbayes(shrink: int, step: str) -> Case:
    from skbn.ande import AnDE

    X, y = table(shrink)
    some = len(y) // 50
    model, peer = make("AODE").fit(X, y), AnDE(n_dependence=1).fit(X[:some], y[:some])
    fits = step == "fit"
    return Case(
        shape(len(y), "30 codes", "3 classes"),
        ours=lambda: make("AODE").fit(X, y) if fits else model.predict_proba(X),
        peer=Side(
            "scikit-bayes",
            lambda: AnDE(n_dependence=1).fit(X[:some], y[:some]) if fits else peer.predict_proba(X[:some]),
            times=len(y) / some,
        ),
    )


@workload("KDB fit, k = 3 with selection", of_limit=10.0)
def kdb_fit(shrink: int) -> Case:
    X, y = table(shrink)
    return Case(
        shape(len(y), "30 codes", "3 classes"),
        ours=lambda: tb.KDB(3, "categorical").fit(X, y),
        limit=Side("AODE fit", lambda: tb.AODE("categorical").fit(X, y)),
    )


@workload("AODE fit, a million rows")
def many_rows(shrink: int) -> Case:
    X, y = data.codes(1_000_000 // shrink, 30, 5, 3)
    return Case(shape(len(y), "30 codes", "3 classes"), ours=lambda: tb.AODE("categorical").fit(X, y))


@workload("AODE, 500 columns: fit and predict", megabytes=1500.0)
def many_columns(shrink: int) -> Case:
    X, y = data.codes(20_000 // shrink, 500, 4, 2)
    return Case(
        shape(len(y), "500 codes", "2 classes"),
        ours=lambda: tb.AODE("categorical").fit(X, y).predict_proba(X),
        once=True,
    )


@workload("A2DE, 2,000 rows of 60 columns: fit", megabytes=100.0)
def compact(shrink: int) -> Case:
    X, y = data.codes(2_000 // shrink, 60, 5, 2)
    return Case(shape(len(y), "60 codes", "2 classes"), ours=lambda: tb.AnDE(2, "categorical").fit(X, y))
