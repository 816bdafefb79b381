"""One model on one table: cross-validated answers, and what they are worth."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.quality import Scores

from .models import Model
from .tables import Table

Floats = NDArray[np.float64]
Record = dict[str, Any]

# scikit-learn's log_loss clips at the eps of float64 too: a class that was ruled out costs 36 nats.
EPS = float(np.finfo(np.float64).eps)
ROBUST = 1e-4


def evaluate(model: Model, table: Table) -> Record:
    """The figures of a model on a table, or the error in their place.

    Each repeat answers all rows once. Its scores are means over all of them, and repeats are averaged:

        error       share of rows whose class does not have the largest probability
        log_loss    −log P_y, P clipped to [eps of float64, 1]: what scikit-learn's log_loss does
        log_loss_4  the same, P clipped to [1e-4, 1]: one row that is surely wrong costs 9 nats, not 36
        brier       Σ_k (P_k − [k = y])², from 0 to 2
        ece         calibration error of the largest probability, 15 bins of equal width
        fit_seconds, predict_seconds   mean over folds; predict_seconds is that of predict_proba

    A class that was not among the rows to learn gets probability 0 before clipping.
    """
    record: Record = {
        "table": table.name,
        "model": model.name,
        "ours": model.ours,
        "rows": len(table.y),
        "features": table.X.shape[1],
        "classes": table.classes,
        "fingerprint": table.fingerprint(),
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return record | _cross_validate(model, table)
    except Exception as error:
        return record | {"failed": " ".join(f"{type(error).__name__}: {error}".split())[:300]}


def _cross_validate(model: Model, table: Table) -> Record:
    fit: list[float] = []
    predict: list[float] = []
    scores: list[dict[str, float]] = []
    for folds in table.splits():
        proba = np.zeros((len(table.y), table.classes))
        for learn, answer in folds:
            estimator = model.make(table)
            start = time.perf_counter()
            estimator.fit(table.X.iloc[learn], table.y[learn])
            fitted = time.perf_counter()
            found = np.asarray(estimator.predict_proba(table.X.iloc[answer]), dtype=np.float64)
            predict.append(time.perf_counter() - fitted)
            fit.append(fitted - start)
            proba[np.ix_(answer, np.asarray(estimator.classes_, dtype=np.intp))] = found
        scores.append(score(table.y, proba))
    means = {name: float(np.mean([s[name] for s in scores])) for name in scores[0]}
    return means | {"fit_seconds": float(np.mean(fit)), "predict_seconds": float(np.mean(predict))}


def score(y: NDArray[np.intp], proba: Floats) -> dict[str, float]:
    if not np.allclose(proba.sum(axis=1), 1, atol=1e-3):  # NaN is caught too
        raise ValueError("predict_proba gave rows that do not sum to 1")
    scores = Scores.none().add(y, np.log(np.clip(proba, EPS, 1)))
    true = proba[np.arange(len(y)), y]
    return {
        "error": 1 - scores.accuracy.value,
        "log_loss": scores.log_loss.value,
        "log_loss_4": float(-np.log(np.clip(true, ROBUST, 1)).mean()),
        "brier": scores.brier.value,
        "ece": scores.calibration_error.value,
    }
