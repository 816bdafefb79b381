"""One model on one table: cross-validated answers, and what they are worth."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from threadpoolctl import threadpool_limits

from tallybayes.evaluation.scores import Scores

from .models import Model
from .spread import spread, steadiness
from .tables import Codes, Table

Floats = NDArray[np.float64]
Record = dict[str, Any]

# scikit-learn's log_loss clips at the eps of float64 too: a class that was ruled out costs 36 nats.
EPS = float(np.finfo(np.float64).eps)
ROBUST = 1e-4
WARNINGS = 5  # that are kept of a unit


class Answered(NamedTuple):
    """The figures, or the error in their place; and of each row (log-loss, wrong), means over repeats."""

    record: Record
    rows: NDArray[np.float32] | None = None


def about(model: Model, table: Table) -> Record:
    return {
        "table": table.name,
        "model": model.name,
        "ours": model.ours,
        "rows": len(table.y),
        "features": table.X.shape[1],
        "classes": table.classes,
        "fingerprint": table.fingerprint(),
    }


def evaluate(model: Model, table: Table, threads: int = 1, seeds: int = 0) -> Answered:
    """The figures of a model on a table, or the error in their place.

    Each repeat answers all rows once. Its scores are means over all of them, and repeats are averaged:

        error       share of rows whose class does not have the largest probability
        balanced_error   1 − balanced accuracy: the mean over classes of the error on their rows
        auc_error   1 − AUC: the mean over classes of one against the rest, ties count half
        log_loss    −log P_y, P clipped to [eps of float64, 1]: what scikit-learn's log_loss does
        log_loss_4  the same, P clipped to [1e-4, 1]: one row that is surely wrong costs 9 nats, not 36
        brier       Σ_k (P_k − [k = y])², from 0 to 2
        ece         calibration error of the largest probability, 15 bins of equal width
        fit_cpu, predict_cpu           seconds of processor time of all threads, means over folds
        fit_seconds, predict_seconds   the same by the clock; predict is predict_proba
        reported    the leave-one-out log-loss that a BayesClassifier says of itself, mean over folds
        warnings    how often each was given, in words
        spread      between seeds, where `seeds` of them are asked for and the model draws
        steadiness  with one row in a hundred left out, where `seeds` are asked for

    A class that was not among the rows to learn gets probability 0 before clipping.
    """
    record = about(model, table)
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            figures, rows = _cross_validate(model, table, threads)
            with threadpool_limits(threads):
                if seeds > 1 and model.draws:
                    figures["spread"] = spread(model, table, seeds)
                if seeds > 1:
                    figures["steadiness"] = steadiness(model, table)
        return Answered(record | figures | {"warnings": _told(heard)}, rows)
    except Exception as error:
        return Answered(record | {"failed": " ".join(f"{type(error).__name__}: {error}".split())[:300]})


def _cross_validate(model: Model, table: Table, threads: int) -> tuple[Record, NDArray[np.float32]]:
    times: list[list[float]] = []
    scores: list[dict[str, float]] = []
    reports: list[float | None] = []
    rows = np.zeros((2, len(table.y)))
    for folds in table.splits():
        proba = np.zeros((len(table.y), table.classes))
        for learn, answer in folds:
            found, seconds, said = _fold(model, table, learn, answer, threads)
            proba[answer] = found
            times.append(seconds)
            reports.append(said)
        scores.append(score(table.y, proba))
        rows += per_row(table.y, proba) / table.repeats
    figures: Record = {name: float(np.mean([s[name] for s in scores])) for name in scores[0]}
    names = ("fit_seconds", "fit_cpu", "predict_seconds", "predict_cpu")
    figures |= dict(zip(names, np.mean(times, axis=0).tolist(), strict=True))
    said_of_itself = [r for r in reports if r is not None]
    if said_of_itself:
        figures["reported"] = float(np.mean(said_of_itself))
    return figures, rows.astype(np.float32)


def _fold(
    model: Model, table: Table, learn: Codes, answer: Codes, threads: int
) -> tuple[Floats, list[float], float | None]:
    """P of each class, the four times, and the log-loss that the model says of itself."""
    estimator = model.make(table, threads)  # which may load a library that the limit must hold for
    X, asked = table.X.iloc[learn], table.X.iloc[answer]
    with threadpool_limits(threads):
        clocks = [_clocks()]
        estimator.fit(X, table.y[learn])
        clocks.append(_clocks())
        found = np.asarray(estimator.predict_proba(asked), dtype=np.float64)
        clocks.append(_clocks())
    (start, start_cpu), (fitted, fitted_cpu), (done, done_cpu) = clocks
    proba = np.zeros((len(answer), table.classes))
    proba[:, np.asarray(estimator.classes_, dtype=np.intp)] = found
    seconds = [fitted - start, fitted_cpu - start_cpu, done - fitted, done_cpu - fitted_cpu]
    return proba, seconds, reported(estimator)


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def reported(estimator: Any) -> float | None:
    """The leave-one-out log-loss that summary() of a BayesClassifier tells; None of other models."""
    predictor = getattr(estimator, "predictor_", None)
    terms: Sequence[Any] = () if predictor is None else predictor.fitted.terms
    losses = [getattr(term.params, "loss", None) for term in terms]
    return float(losses[0]) if len(losses) == 1 and losses[0] is not None else None


def score(y: Codes, proba: Floats) -> dict[str, float]:
    if not np.allclose(proba.sum(axis=1), 1, atol=1e-3):  # NaN is caught too
        raise ValueError("predict_proba gave rows that do not sum to 1")
    scores = Scores.none().add(y, np.log(np.clip(proba, EPS, 1)))
    true = proba[np.arange(len(y)), y]
    wrong = proba.argmax(axis=1) != y
    there = np.unique(y)
    return {
        "error": 1 - scores.accuracy.value,
        "balanced_error": float(np.mean([wrong[y == k].mean() for k in there])),
        "auc_error": float(np.mean([1 - auc(proba[:, k], y == k) for k in there])) if len(there) > 1 else 0.0,
        "log_loss": scores.log_loss.value,
        "log_loss_4": float(-np.log(np.clip(true, ROBUST, 1)).mean()),
        "brier": scores.brier.value,
        "ece": scores.calibration_error.value,
    }


def auc(values: Floats, positive: NDArray[np.bool_]) -> float:
    """The share of pairs of a positive and another row in which the positive one has more; ties count half."""
    ranks = rankdata(values)
    own = int(positive.sum())
    return float((ranks[positive].sum() - own * (own + 1) / 2) / (own * (len(values) - own)))


def per_row(y: Codes, proba: Floats) -> Floats:
    """(2, rows): the log-loss of each row, and 1 where the answer is wrong."""
    true = proba[np.arange(len(y)), y]
    return np.stack([-np.log(np.clip(true, EPS, 1)), (proba.argmax(axis=1) != y).astype(float)])


def _told(heard: Iterable[warnings.WarningMessage]) -> dict[str, int]:
    """How often each was given, those given most first."""
    texts = (" ".join(f"{w.category.__name__}: {w.message}".split())[:200] for w in heard)
    return dict(Counter(texts).most_common(WARNINGS))
