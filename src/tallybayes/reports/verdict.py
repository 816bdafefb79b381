"""The verdict on top of a report: what the model predicts, how well, whether its probabilities hold, and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from tallybayes import __version__
from tallybayes.model.fitted import Fitted
from tallybayes.reports.baseline import Baseline
from tallybayes.reports.html import Markup, apart, tag
from tallybayes.reports.predicted_rows import Judged, columns_of
from tallybayes.utils.array_types import Array, Floats

SURE = 2.0  # standard errors from which a difference is stated
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def section(rows: Judged, fitted: Fitted, prior: Floats, baseline: Baseline, target: str | None) -> Markup:
    """What a manager reads."""
    classes = fitted.classes.tolist()
    right = float((rows.log_proba.argmax(axis=1) == rows.y).mean())
    largest = int(np.argmax(np.bincount(rows.y, minlength=len(classes))))
    guess = float((rows.y == largest).mean())
    area = macro_auc(rows)
    tiles = [
        _tile("Accuracy", f"{right:.1%}", f"always {apart(classes[largest])}: {guess:.1%}"),
        _tile(
            "AUC",
            "–" if area is None else f"{area:.3f}",
            "0.5 is chance" if len(classes) == 2 else "mean over classes, one against the rest",
        ),
        _tile(
            "Log-loss",
            f"{_losses(rows.y, rows.log_proba).mean():.3f}",
            f"the prior alone: {_losses(rows.y, prior).mean():.3f} (nats)",
        ),
        _tile("Overconfidence", _signed(_bias(rows)[0]), "mean confidence − accuracy; 0 is best"),
    ]
    warnings = _warnings(rows, prior, baseline, right, guess)
    ahead = _better(rows, baseline)
    return tag(
        "section",
        tag("h2", "Verdict", id="verdict"),
        tag("p", _what(rows, fitted, target), class_="lead"),
        tag("div", tiles, class_="tiles"),
        tag("p", calibration_sentence(rows)),
        tag("p", ahead) if ahead else None,
        [tag("p", text, class_="warn") for text in warnings],
    )


def _tile(name: str, value: str, beside: str) -> Markup:
    return tag(
        "div", tag("span", name, class_="note"), tag("strong", value), tag("span", beside, class_="note"), class_="tile"
    )


def _what(rows: Judged, fitted: Fitted, target: str | None) -> str:
    named = f"Predicts {apart(target)}" if target else "Predicts the class"
    learned, K = float(fitted.weight.sum()), fitted.K
    now = datetime.now(UTC)
    date = f"{now.day}\u00a0{MONTHS[now.month - 1]}\u00a0{now.year}"  # as one word, at the end of a line too
    judged = f"{rows.n:,} of {rows.of:,}" if rows.n < rows.of else f"{rows.n:,}"
    how = ", each predicted by leave-one-out" if rows.left_out else ""
    return (
        f"{named} ({K:,} classes) from {columns_of(fitted.schema)}. Trained on {learned:,.10g} rows, "
        f"evaluated on {judged} rows{how}. {date}, tallybayes {__version__}."
    )


def _signed(v: float) -> str:
    """A share with its sign, unless it is 0 as written."""
    return "0.0%" if abs(v) < 0.0005 else f"{v:+.1%}".replace("-", "−")


def calibration_sentence(rows: Judged) -> str:
    """Whether its probabilities can be taken at their word."""
    bias, error = _bias(rows)
    sure, right = np.exp(rows.log_proba.max(axis=1)).mean(), (rows.log_proba.argmax(axis=1) == rows.y).mean()
    fact = f"its predictions have a mean probability of {sure:.1%}, and {right:.1%} of them are right"
    if abs(bias) <= max(SURE * min(error, 0.01), 0.005):
        return f"Well calibrated on average: {fact}."
    if abs(bias) <= SURE * error:
        return f"Calibrated on average as far as {rows.n:,} rows can tell ({_signed(bias)} ± {error:.1%}): {fact}."
    return f"{'Overconfident' if bias > 0 else 'Underconfident'} by {abs(bias):.1%} (± {error:.1%}): {fact}."


def _warnings(rows: Judged, prior: Floats, baseline: Baseline, right: float, guess: float) -> list[str]:
    out = []
    own = _losses(rows.y, rows.log_proba)
    if right < guess:
        out.append(f"Warning: it is right less often ({right:.1%}) than guessing the largest class ({guess:.1%}).")
    beside = ("the prior alone, which looks at no column,", prior), (f"{baseline.named},", baseline.log_proba)
    for name, other in beside:
        if other is None:
            continue
        mean, error = _more(own, rows.y, other)
        if mean > 0:
            more = _right_more_often(rows, other)
            out.append(f"Warning: {name} has a lower log-loss, by {_by(mean, error)}{more}.")
    if rows.left_out:
        out.append(
            "These rows are as many of each class as the model learned, so they are predicted by leave-one-out. What "
            "was chosen on them (bins, structure, weights) stays: rows that the model has not seen are the better test."
        )
    return out


def _right_more_often(rows: Judged, other: Floats) -> str:
    """How much more often another model is right, on the rows of both."""
    y, own = rows.y[: len(other)], rows.log_proba[: len(other)]
    mine, its = float((own.argmax(axis=1) == y).mean()), float((other.argmax(axis=1) == y).mean())
    return f", and is right more often: {its:.1%} against {mine:.1%}" if its > mine else ""


def _better(rows: Judged, baseline: Baseline) -> str | None:
    """By how much it beats the baseline, where it does."""
    if baseline.log_proba is None:
        return None
    mean, error = _more(_losses(rows.y, rows.log_proba), rows.y, baseline.log_proba)
    return None if mean > 0 else f"Its log-loss is below that of {baseline.named}, by {_by(-mean, error)}."


def _more(own: Floats, y: Array, other: Floats) -> tuple[float, float]:
    """How much more a model loses than another one on the rows of both, with its standard error."""
    n = len(other)
    more = own[:n] - _losses(y[:n], other)
    return float(more.mean()), float(more.std() / np.sqrt(max(n, 1)))


def _by(mean: float, error: float) -> str:
    return f"{mean:.4f} ± {error:.4f} ({'clearly' if mean > SURE * error else 'within the noise'})"


def _losses(y: Array, log_proba: Floats) -> Floats:
    return np.asarray(-np.maximum(log_proba[np.arange(len(y)), y], -745.0))


def _bias(rows: Judged) -> tuple[float, float]:
    over = np.exp(rows.log_proba.max(axis=1)) - (rows.log_proba.argmax(axis=1) == rows.y)
    return float(over.mean()), float(over.std() / np.sqrt(max(rows.n, 1)))


def auc(score: Floats, positive: Array) -> float | None:
    """The share of pairs of a positive and another row in which the positive has the higher score; ties are half."""
    p, n = int(positive.sum()), int((~positive).sum())
    if not p or not n:
        return None
    _, place, count = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]
    return float((rank[positive].sum() - p * (p + 1) / 2) / (p * n))


def macro_auc(rows: Judged) -> float | None:
    """AUC of two classes, or the mean over the classes that occur, one against the rest."""
    K = rows.log_proba.shape[1]
    each: Sequence[float | None] = [auc(rows.log_proba[:, k], rows.y == k) for k in ([K - 1] if K == 2 else range(K))]
    found = [v for v in each if v is not None]
    return float(np.mean(found)) if found else None
