"""The baseline of a report: logistic regression on the rows that the model learned, or else cross-validated."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tallybayes.data.labels import positions, read_labels
from tallybayes.data.table import read_table
from tallybayes.errors import OptionError, TallybayesError
from tallybayes.evaluation.baselines import Logistic
from tallybayes.evaluation.leaderboard import rows_of
from tallybayes.reports.learned import ReportedModel
from tallybayes.reports.predicted_rows import Judged
from tallybayes.utils.array_types import Array, Floats
from tallybayes.utils.progress import stage, step

FOLDS = 5
BASELINE_ROWS = 20_000  # that it learns from
TEXT_ROWS = 5_000  # the same of a table with texts
IMPOSSIBLE = -745.0  # log P of a class that it never saw


class Baseline(NamedTuple):
    """log P(class | x) of the first rows; `how` says what it learned from. None: `note` says why not."""

    log_proba: Floats | None
    how: str = ""
    note: str = ""

    @property
    def named(self) -> str:
        """What a sentence calls it."""
        return f"logistic regression, {self.how}"


def logistic(rows: Judged, model: ReportedModel, train: object) -> Baseline:
    """Logistic regression of the rows of a report."""
    texts = "text" in model.predictor_.fitted.schema.kinds
    most = TEXT_ROWS if texts else BASELINE_ROWS
    try:
        if train is not None:
            return _on_training_rows(rows, model, *_pair(train), most)
        return _cross_validated(rows, model, min(most, TEXT_ROWS))
    except TallybayesError as e:
        if isinstance(e, OptionError):
            raise
        return Baseline(None, note=f"Logistic regression is left out: {e}")


def _pair(train: object) -> tuple[Any, Any]:
    if isinstance(train, tuple | list) and len(train) == 2:
        return train[0], train[1]
    raise OptionError(
        f"train takes the rows that the model learned and their classes, (X, y); got {type(train).__name__}."
    )


def _on_training_rows(rows: Judged, model: ReportedModel, X: Any, y: Any, most: int) -> Baseline:
    n = read_table(X).n
    codes, found = read_labels(y, n)
    at = positions(found, model.classes_)[codes]
    if (at < 0).any():
        raise OptionError("train has classes that the model does not know: give the rows that it learned.")
    keep = np.arange(n) if n <= most else np.sort(np.random.default_rng(0).choice(n, most, replace=False))
    if len(np.unique(at[keep])) < 2:
        return Baseline(None, note="Logistic regression is left out: the training rows have one class only.")
    stage("baseline: logistic regression", 1)
    out = _filled(rows.n, len(model.classes_))
    baseline = Logistic(model.predictor_.fitted.schema).fit(rows_of(X, keep), at[keep])
    out[:, baseline.classes_] = baseline.predict_log_proba(rows.X)
    step()
    some = f"{len(keep):,} of the {n:,}" if len(keep) < n else f"the {n:,}"
    how = f"fitted on {some} training rows"
    return Baseline(out, how, f"Logistic regression was {how}.")


def _cross_validated(rows: Judged, model: ReportedModel, most: int) -> Baseline:
    n = min(rows.n, most)
    counts = np.bincount(rows.y[:n], minlength=len(model.classes_))
    if n < 2 * FOLDS or (counts[counts > 0] < FOLDS).any() or (counts > 0).sum() < 2:
        why = "it would need at least five rows of each of two classes"
        return Baseline(None, note=f"Logistic regression is left out: {why}. Give the training rows as train=(X, y).")
    part = np.random.default_rng(0).permutation(np.arange(n) % FOLDS)
    out = _filled(n, len(model.classes_))
    stage("baseline: logistic regression", FOLDS)
    for f in range(FOLDS):
        learn, ask = np.flatnonzero(part != f), np.flatnonzero(part == f)
        if len(np.unique(rows.y[learn])) < 2:
            return Baseline(None, note="Logistic regression is left out: a part of the rows has one class only.")
        found = Logistic(model.predictor_.fitted.schema).fit(rows_of(rows.X, learn), rows.y[learn])
        out[np.ix_(ask, found.classes_)] = found.predict_log_proba(rows_of(rows.X, ask))
        step()
    some = f" on the first {n:,}" if n < rows.n else ""
    note = (
        f"Logistic regression learned the other folds of the rows of this report{some}, not the rows that the model "
        "learned: with fewer of them it looks worse than it is. report(…, train=(X, y)) fits it on the training rows."
    )
    return Baseline(out, f"{FOLDS}-fold cross-validated on these rows", note)


def _filled(n: int, classes: int) -> Array:
    return np.full((n, classes), IMPOSSIBLE)
