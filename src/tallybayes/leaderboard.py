"""Which model suits a table? Cross-validates the family beside two baselines and says which to use.

To add a contestant, add a line to CONTESTANTS.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from tallybayes.arrays import Array, Floats
from tallybayes.baselines import LargestClass, Logistic
from tallybayes.errors import LabelError, OptionError, TallybayesError, brief
from tallybayes.estimators.analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from tallybayes.estimators.averaged import AODE
from tallybayes.estimators.bayes import BayesClassifier
from tallybayes.estimators.discriminant import RegularizedDiscriminantAnalysis
from tallybayes.estimators.kdb import KDB
from tallybayes.estimators.naive import NaiveBayes
from tallybayes.estimators.network import TAN
from tallybayes.labels import positions, read_labels
from tallybayes.quality import Scores, row_scores
from tallybayes.schema import Schema, infer_schema
from tallybayes.source import read_table

ROUNDING = 1e-12  # of a loss: two losses closer than this are one


def _any(schema: Schema) -> bool:  # noqa: ARG001
    return True


def _has_numbers(schema: Schema) -> bool:
    return "real" in schema.kinds or "count" in schema.kinds


def _several(schema: Schema) -> bool:
    return schema.d > 1


def _all_numbers(schema: Schema) -> bool:
    return all(kind == "real" for kind in schema.kinds)


@dataclass(frozen=True)
class Contestant:
    """A model that may enter: its name, how it is made for a schema, and which tables it suits. ensemble: it holds many
    networks, so the advice says what a smaller model would cost."""

    name: str
    make: Callable[[Schema], Any]
    suits: Callable[[Schema], bool] = _any
    baseline: bool = False
    ensemble: bool = False


CONTESTANTS: list[Contestant] = [
    Contestant("BayesClassifier", lambda s: BayesClassifier(schema=_kinds(s)), ensemble=True),
    Contestant("BayesClassifier, fast", lambda s: BayesClassifier("fast", schema=_kinds(s)), ensemble=True),
    Contestant("NaiveBayes", lambda s: NaiveBayes(schema=_kinds(s))),
    Contestant("NaiveBayes, mdl cuts", lambda s: NaiveBayes("mdl", schema=_kinds(s)), _has_numbers),
    Contestant("NaiveBayes, kernel", lambda s: NaiveBayes("kernel", schema=_kinds(s)), _has_numbers),
    Contestant("TAN", lambda s: TAN(schema=_kinds(s)), _several),
    Contestant("KDB", lambda s: KDB(schema=_kinds(s)), _several),
    Contestant("AODE", lambda s: AODE(schema=_kinds(s)), _several),
    Contestant("LinearDiscriminantAnalysis", lambda _: LinearDiscriminantAnalysis(), _all_numbers),
    Contestant("QuadraticDiscriminantAnalysis", lambda _: QuadraticDiscriminantAnalysis(), _all_numbers),
    Contestant(
        "RegularizedDiscriminantAnalysis",
        lambda _: RegularizedDiscriminantAnalysis(alpha="auto", shrinkage="auto"),
        _all_numbers,
    ),
    Contestant("logistic regression", Logistic, baseline=True),
    Contestant("largest class", LargestClass, baseline=True),
]


def _kinds(schema: Schema) -> dict[str | int, str]:
    """The kinds alone: levels and cuts are learned from the rows of each fold."""
    return {schema.name(j) if schema.names else j: kind for j, kind in enumerate(schema.kinds)}


@dataclass(frozen=True)
class Entry:
    """One line of the leaderboard.

    Parameters
    ----------
    name : str
        What the model is called.
    baseline : bool
        Whether it is a baseline, and no model of this library.
    scores : Scores
        Accuracy, log-loss, Brier score and calibration error over all folds, with standard errors.
    fit_seconds : ndarray of shape (n_folds,)
        How long each fit took.
    predict_seconds : ndarray of shape (n_folds,)
        How long each prediction took.
    losses : ndarray of shape (n_rows,)
        The log-loss of each row that was scored; NaN of the others.
    error : str, default=''
        Why the model could not be fitted, if it could not.
    ensemble : bool, default=False
        Whether it holds many networks.
    """

    name: str
    baseline: bool
    scores: Scores
    fit_seconds: Floats  # one per fold
    predict_seconds: Floats
    losses: Floats = field(repr=False)
    error: str = ""
    ensemble: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Give the line as plain values, as JSON has them.

        Returns
        -------
        dict
            Name, scores and seconds, each with its standard error; or name and error.
        """
        if self.error:
            return {"name": self.name, "baseline": self.baseline, "error": self.error}
        out = {"name": self.name, "baseline": self.baseline, **self.scores.to_dict()}
        for what, seconds in (("fit_seconds", self.fit_seconds), ("predict_seconds", self.predict_seconds)):
            out |= {what: float(seconds.mean()), f"{what}_se": float(seconds.std() / np.sqrt(len(seconds)))}
        return out


@dataclass(frozen=True)
class Comparison:
    """The leaderboard, best log-loss first: which model to use on a table. Made by `compare_models`; print it.

    Parameters
    ----------
    rows : int
        How many rows the table has.
    classes : list
        The labels.
    folds : int
        Into how many parts the rows were split.
    entries : tuple of Entry
        One for each model, best log-loss first; those that could not be fitted last.
    unscored : int, default=0
        Rows whose class was in no training part.

    Attributes
    ----------
    rows, classes, folds, entries, unscored
        As above.
    best : str
        The name of the entry with the lowest log-loss.
    advice : str
        Which to use, and why, in a sentence or two.

    Examples
    --------
    >>> from tallybayes import compare_models
    >>> from tallybayes.datasets import load_watermelon
    >>> found = compare_models(*load_watermelon())
    >>> found.rows, found.classes, found.folds
    (17, ['no', 'yes'], 5)
    >>> found.to_dict()["best"] == found.best == found.entries[0].name
    True
    """

    rows: int
    classes: list[Any]
    folds: int
    entries: tuple[Entry, ...]
    unscored: int = 0  # rows whose class was in no training part

    @property
    def best(self) -> str:
        """str: the name of the entry with the lowest log-loss."""
        return self.entries[0].name

    @property
    def advice(self) -> str:
        """str: which to use, and why, in a sentence or two."""
        return _advice([e for e in self.entries if not e.error])

    def to_dict(self) -> dict[str, Any]:
        """Give the leaderboard as plain values, as JSON has them.

        Returns
        -------
        dict
            With the keys rows, classes, folds, unscored_rows, models, best and advice.
        """
        return {
            "rows": self.rows,
            "classes": self.classes,
            "folds": self.folds,
            "unscored_rows": self.unscored,
            "models": [e.to_dict() for e in self.entries],
            "best": self.best,
            "advice": self.advice,
        }

    def text(self) -> str:
        """Tell the leaderboard as a table, with the advice below it.

        Returns
        -------
        str
            One line for each model, with accuracy, log-loss, Brier score, calibration error and times.
        """
        wide = max(len(e.name) for e in self.entries) + 2
        head = "accuracy", "log-loss", "Brier", "calibration"
        lines = [" " * wide + "".join(f"{h:^17}" for h in head) + f"{'fit':>10}{'predict':>10}"]
        for e in self.entries:
            if e.error:
                lines.append(f"{e.name:<{wide}}{e.error}")
                continue
            s = e.scores
            cells = (s.accuracy, s.log_loss, s.brier, s.calibration_error)
            shown = "".join(f"{c.value:>8.4f} ± {c.se:<6.4f}" for c in cells)
            lines.append(f"{e.name:<{wide}}{shown}{_time(e.fit_seconds):>10}{_time(e.predict_seconds):>10}")
        lines += ["", self.advice]
        data = f"{self.rows:,} rows, {len(self.classes)} classes"
        note = f"{data}, {self.folds}-fold cross-validation; ± is one standard error."
        if self.unscored:
            note += f" {self.unscored} row(s) of classes too rare to be in every training part were not scored."
        return "\n".join([*lines, note])

    __str__ = text


def compare_models(
    X: object,
    y: object,
    *,
    schema: Any = None,
    folds: int = 5,
    random_state: int = 0,
    watch: Callable[[str], None] | None = None,
) -> Comparison:
    """Cross-validate the models that suit the table, and two baselines.

    Parameters
    ----------
    X : table of shape (n_rows, n_columns)
        pandas, polars, pyarrow, NumPy, scipy sparse, or a list of dicts.
    y : array-like of shape (n_rows,)
        The class label of each row.
    schema : None, str, dict or Schema, default=None
        Kinds of columns where the type does not tell: a kind for all of them, or ``{"zip": "categorical"}``. The kinds
        are 'real', 'categorical', 'binary' and 'count'.
    folds : int, default=5
        Into how many parts the rows are split, stratified by class; fewer if no class has so many rows.
    random_state : int, default=0
        What they are split with.
    watch : callable, default=None
        Called with the name of each model before its turn.

    Returns
    -------
    Comparison
        The leaderboard, best log-loss first.

    Raises
    ------
    LabelError
        If there is one class only, or every class has one row only.
    TallybayesError
        If no model can be fitted.

    Examples
    --------
    >>> from tallybayes import compare_models
    >>> from tallybayes.datasets import load_watermelon
    >>> compare_models(*load_watermelon()).best
    'BayesClassifier'
    """
    table = read_table(X)
    codes, labels = read_labels(y, table.n)
    if len(labels) < 2:
        raise LabelError(f"There is nothing to compare: all rows are of class {brief(labels[0])}.")
    found = infer_schema(table, schema)
    parts = _folds(codes, folds, random_state)
    entries = []
    for contestant in CONTESTANTS:
        if contestant.suits(found):
            if watch is not None:
                watch(contestant.name)
            entries.append(_enter(contestant, found, X, labels[codes], parts))
    if all(e.error for e in entries if not e.baseline):
        raise TallybayesError(f"No model can be fitted: {entries[0].error}")
    entries.sort(key=lambda e: (bool(e.error), 0.0 if e.error else e.scores.log_loss.value))
    scored = max(e.scores.n for e in entries)
    return Comparison(table.n, labels.tolist(), len(parts), tuple(entries), table.n - scored)


def _folds(codes: Array, folds: int, seed: int) -> list[tuple[Array, Array]]:
    from sklearn.model_selection import StratifiedKFold

    if not isinstance(folds, int) or folds < 2:
        raise OptionError(f"folds must be a whole number of at least 2; got {brief(folds)}.")
    folds = min(folds, int(np.bincount(codes).max()))
    if folds < 2:
        raise LabelError("Every class has one row only: nothing can be learned and then tested. More rows are needed.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class rarer than the folds: see Comparison.unscored
        split = StratifiedKFold(folds, shuffle=True, random_state=seed).split(np.zeros(len(codes)), codes)
        return list(split)


def _enter(contestant: Contestant, schema: Schema, X: object, y: Array, parts: Sequence[tuple[Array, Array]]) -> Entry:
    scores, losses = Scores.none(), np.full(len(y), np.nan)
    fit_seconds, predict_seconds = [], []
    try:
        for train, test in parts:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                learned, asked = rows_of(X, train), rows_of(X, test)
                t0 = time.perf_counter()
                model = contestant.make(schema).fit(learned, y[train])
                t1 = time.perf_counter()
                log_proba = model.predict_log_proba(asked)
                t2 = time.perf_counter()
            fit_seconds.append(t1 - t0)
            predict_seconds.append(t2 - t1)
            truth = positions(y[test], model.classes_)
            known = truth >= 0
            scores = scores.add(truth[known], log_proba[known])
            losses[test[known]] = row_scores(truth[known], log_proba[known])[:, 1]
    except (TallybayesError, ValueError) as e:
        return Entry(contestant.name, contestant.baseline, Scores.none(), np.zeros(1), np.zeros(1), losses, str(e))
    seconds = np.array(fit_seconds), np.array(predict_seconds)
    return Entry(contestant.name, contestant.baseline, scores, *seconds, losses, ensemble=contestant.ensemble)


def rows_of(X: Any, index: Array) -> object:
    """Some rows of a table of any kind."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[index].to_native()
    if isinstance(X, list):
        return [X[i] for i in index.tolist()]
    return X[index]


def _time(seconds: Floats) -> str:
    s = float(seconds.mean())
    return f"{s:.1f} s" if s >= 1 else f"{1e3 * s:.3g} ms" if s >= 1e-3 else f"{1e6 * s:.0f} µs"


def _advice(entries: Sequence[Entry]) -> str:
    ours = [e for e in entries if not e.baseline]
    best = ours[0]
    text = f"Use {best.name}: its probabilities are the best of the family (log-loss {best.scores.log_loss.value:.4g})"
    if len(ours) > 1:
        gap, se = _gap(ours[1], best)
        sure = "clearly" if gap > 2 * se else "but not clearly"
        text += f", {sure} ahead of {ours[1].name} ({gap:.3g} ± {se:.2g})"
    text += "."
    simple = next((e for e in ours[1:] if not e.ensemble), None)
    if best.ensemble and simple is not None:
        text += " " + _simpler(best, simple)
    for e in entries:
        if e.baseline:
            text += " " + _beside(best, e)
    return text


def _simpler(best: Entry, other: Entry) -> str:
    """What it would cost to take a model that can be read at a glance."""
    gap, se = _gap(other, best)
    text = f"It holds many networks; the best of the smaller models, {other.name}, is "
    if gap > 2 * se:
        return f"{text}worse by {gap:.3g} ± {se:.2g}."
    return f"{text}about as good ({gap:+.3g} ± {se:.2g}): take that if the model should be small, or read at a glance."


def _gap(a: Entry, b: Entry) -> tuple[float, float]:
    """The mean of loss a − loss b over the same rows, and its standard error."""
    both = np.isfinite(a.losses) & np.isfinite(b.losses)
    d = a.losses[both] - b.losses[both]
    d[np.abs(d) <= ROUNDING * np.abs(b.losses[both])] = 0.0  # the same answer, computed in two ways
    return float(d.mean()), float(d.std() / np.sqrt(len(d)))


def _beside(best: Entry, other: Entry) -> str:
    gap, se = _gap(other, best)
    name = other.name[0].upper() + other.name[1:]
    if gap > 2 * se:
        return f"{name} is worse by {gap:.3g} ± {se:.2g}."
    if gap < -2 * se:
        return f"{name} is better by {-gap:.3g} ± {se:.2g}: take it if probabilities are all you want."
    return f"{name} is about as good ({gap:+.3g} ± {se:.2g})."
