"""What `compare_models` gives back: the leaderboard, and which model to use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tallybayes.data.output_tables import build_frame
from tallybayes.evaluation.scores import Scores
from tallybayes.utils import notebook
from tallybayes.utils.array_types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tallybayes.plots import ComparisonDisplay

ROUNDING = 1e-12  # of a loss: two losses closer than this are one
TEMPERED = ", tempered"  # how a contestant that is tempered is called, after the name of the one that is not
MEASURES = ("accuracy", "log_loss", "brier", "calibration_error")


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

    def to_dict(self) -> dict[str, object]:
        """Return the line as plain values, as JSON has them.

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


@dataclass(frozen=True, repr=False)
class Comparison:
    """Result of `compare_models`: the models by log-loss, best first. Print it.

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
    container : str, default='numpy'
        What kind of frame `to_frame` gives: that of the table that was compared on.
    leaking_column : str, default=None
        A column that alone tells the class of every row, where the best model makes no mistake: perhaps the answer.

    Attributes
    ----------
    rows, classes, folds, entries, unscored, container, leaking_column
        As above.
    best : str
        The name of the entry with the lowest log-loss.
    advice : str
        Which to use, and why, in a sentence or two.

    See Also
    --------
    tallybayes.compare_models : Makes it.
    tallybayes.plots.ComparisonDisplay : Draws it.

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
    container: str = "numpy"
    leaking_column: str | None = None

    @property
    def best(self) -> str:
        """str: the name of the entry with the lowest log-loss."""
        return self.entries[0].name

    @property
    def advice(self) -> str:
        """str: which to use, and why, in a sentence or two."""
        found = _advice([e for e in self.entries if not e.error])
        if self.leaking_column is None:
            return found
        return (
            f"Column {self.leaking_column!r} alone tells the class of every row: it may be the answer itself. Leave it "
            f"out unless it is known before the class is. {found}"
        )

    def to_dict(self) -> dict[str, object]:
        """Return the leaderboard as plain values, as JSON has them.

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

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the leaderboard as a frame with one line per model, best log-loss first.

        Parameters
        ----------
        backend : {'pandas', 'polars', 'pyarrow', 'dict'}, default=None
            What to give it as; by default the kind of data frame that was compared on, and a dict of arrays if it was
            none.

        Returns
        -------
        data frame or dict of arrays
            With the columns model, baseline, accuracy, log_loss, brier and calibration_error, each with its standard
            error (accuracy_se, …), fit_seconds, predict_seconds, and error: why a model has no figures, else empty.

        Examples
        --------
        >>> from tallybayes import compare_models
        >>> from tallybayes.datasets import load_watermelon
        >>> found = compare_models(*load_watermelon())
        >>> found.to_frame("dict")["model"][0] == found.best
        True
        """
        nothing = float("nan")
        columns: dict[str, list[Any]] = {
            "model": [e.name for e in self.entries],
            "baseline": [e.baseline for e in self.entries],
        }
        for measure in MEASURES:
            found = [None if e.error else getattr(e.scores, measure) for e in self.entries]
            columns[measure] = [nothing if m is None else m.value for m in found]
            columns[f"{measure}_se"] = [nothing if m is None else m.se for m in found]
        for what in ("fit_seconds", "predict_seconds"):
            columns[what] = [nothing if e.error else float(getattr(e, what).mean()) for e in self.entries]
        columns["error"] = [e.error for e in self.entries]
        return build_frame(columns, self.container, backend)

    def plot(self, ax: Axes | None = None, *, measure: str = "log_loss") -> ComparisonDisplay:
        """Draw the leaderboard: a point for each model, with two standard errors to each side.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; by default into a figure of its own.
        measure : {'log_loss', 'accuracy', 'brier', 'calibration_error'}, default='log_loss'
            What is shown.

        Returns
        -------
        ComparisonDisplay
            The picture; a notebook shows it.

        Examples
        --------
        >>> from tallybayes import compare_models
        >>> from tallybayes.datasets import load_watermelon
        >>> compare_models(*load_watermelon()).plot().ax_.get_xlabel()
        'log-loss, lower is better'
        """
        from tallybayes.plots import ComparisonDisplay

        return ComparisonDisplay(self, measure).plot(ax)

    def text(self) -> str:
        """Return the leaderboard as a table, with the advice below it.

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
            shown = "".join(f"{_figure(c.value, 7):>8} ± {_figure(c.se, 6):<6}" for c in cells)
            lines.append(f"{e.name:<{wide}}{shown}{_time(e.fit_seconds):>10}{_time(e.predict_seconds):>10}")
        return "\n".join([*lines, "", self.advice, self._note()])

    __str__ = text

    def _note(self) -> str:
        data = f"{self.rows:,} rows, {len(self.classes)} classes"
        note = f"{data}, {self.folds}-fold cross-validation; ± is one standard error."
        if self.unscored:
            note += f" {self.unscored} row(s) of classes too rare to be in every training part were not scored."
        return note

    def __repr__(self) -> str:
        size = f"{len(self.entries)} models, {self.rows} rows, {self.folds} folds"
        return f"Comparison({size}, best {self.best!r})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows: list[list[str]] = []
        done = [[getattr(e.scores, measure) for measure in MEASURES] for e in self.entries if not e.error]
        most = [max((s.value + s.se for s in each), default=1.0) for each in zip(*done, strict=True)]
        names = [e.name for e in self.entries]
        best = names.index(self.best) if self.best in names else None
        for e in self.entries:
            if e.error:
                rows.append([e.name, "", "", "", "", "", "", e.error])
                continue
            scores = [getattr(e.scores, measure) for measure in MEASURES]
            cells = [
                notebook.bar(c.value, top, f"{c.value:.4f} ± {c.se:.4f}", c.se)
                for c, top in zip(scores, most, strict=True)
            ]
            rows.append([e.name, *cells, _time(e.fit_seconds), _time(e.predict_seconds), ""])
        head = ["", "accuracy", "log-loss", "Brier", "calibration", "fit", "predict", ""]
        about = [notebook.paragraph(self.advice), notebook.paragraph(self._note())]
        return notebook.page(notebook.table(head, rows, words=(0, 7), best=best), *about)


def _figure(value: float, width: int) -> str:
    """A number with four decimals, or with as many as fit into so many characters."""
    shown = (f"{value:.{digits}f}" for digits in (4, 3, 2, 1, 0))
    return next((s for s in shown if len(s) <= width), f"{value:.0e}")


def _time(seconds: Floats) -> str:
    s = float(seconds.mean())
    return f"{s:.1f} s" if s >= 1 else f"{1e3 * s:.3g} ms" if s >= 1e-3 else f"{1e6 * s:.0f} µs"


def _advice(entries: Sequence[Entry]) -> str:
    ours = [e for e in entries if not e.baseline]
    best = ours[0]
    text = f"Use {best.name}: its probabilities are the best of the family (log-loss {best.scores.log_loss.value:.4g})"
    if len(ours) > 1:
        difference, se = _difference(ours[1], best)
        sure = "clearly" if difference > 2 * se else "but not clearly"
        text += f", {sure} ahead of {ours[1].name} ({difference:.3g} ± {se:.2g})"
    text += "."
    simple = next((e for e in ours[1:] if not e.ensemble), None)
    if best.ensemble and simple is not None:
        text += " " + _simpler(best, simple)
    text += _tempering({e.name: e for e in ours})
    for e in entries:
        if e.baseline:
            text += " " + _beside(best, e)
    return text


def _tempering(by_name: Mapping[str, Entry]) -> str:
    """What one number does for the probabilities of naive Bayes, where that is clear."""
    for name, plain in by_name.items():
        tempered = by_name.get(f"{name}{TEMPERED}")
        if tempered is not None:
            difference, se = _difference(plain, tempered)
            one, two = plain.scores.log_loss.value, tempered.scores.log_loss.value
            if difference > 2 * se:
                return (
                    f" tempered=True takes {name} from {one:.4g} to {two:.4g}: turn it on where probabilities matter."
                )
    return ""


def _simpler(best: Entry, other: Entry) -> str:
    """What it would cost to take a model that can be read at a glance."""
    difference, se = _difference(other, best)
    text = f"It holds many networks; the best of the smaller models, {other.name}, is "
    if difference > 2 * se:
        return f"{text}worse by {difference:.3g} ± {se:.2g}."
    return (
        f"{text}about as good ({difference:+.3g} ± {se:.2g}): take that if the model should be small, or read at a "
        "glance."
    )


def _difference(a: Entry, b: Entry) -> tuple[float, float]:
    """The mean of loss a − loss b over the same rows, and its standard error."""
    both = np.isfinite(a.losses) & np.isfinite(b.losses)
    d = a.losses[both] - b.losses[both]
    d[np.abs(d) <= ROUNDING * np.abs(b.losses[both])] = 0.0  # the same answer, computed in two ways
    return float(d.mean()), float(d.std() / np.sqrt(len(d)))


def _beside(best: Entry, other: Entry) -> str:
    difference, se = _difference(other, best)
    name = other.name[0].upper() + other.name[1:]
    if difference > 2 * se:
        return f"{name} is worse by {difference:.3g} ± {se:.2g}."
    if difference < -2 * se:
        return f"{name} is better by {-difference:.3g} ± {se:.2g}: take it if probabilities are all you want."
    return f"{name} is about as good ({difference:+.3g} ± {se:.2g})."
