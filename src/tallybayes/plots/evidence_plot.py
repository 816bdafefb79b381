"""Evidence for one prediction as bars: the log-odds contribution of each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tallybayes.errors import OptionError, brief
from tallybayes.explain.evidence import Explanation
from tallybayes.explain.phrases import PRIOR
from tallybayes.plots import style, text_fitting
from tallybayes.plots.display import Display
from tallybayes.plots.plot_tables import container_of, feature_names, is_row, read_row, require_ours
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TOTAL = "(log-odds)"
FOR, AGAINST = style.COLOURS[0], style.COLOURS[6]


class EvidenceDisplay(Display):
    """Evidence for one prediction: the log-odds contribution of each column, strongest first.

    Bars are in nats: they add up, from the prior to the log-odds at the bottom. The numbers at the bars are the factors
    on the odds: ×3 makes the class three times as likely against the other side, ÷3 three times less. Made by
    `from_estimator` or `from_explanation`.

    Parameters
    ----------
    names : list of str
        The columns.
    values : list of str
        The value of each column in the row, as text; "?" where it is missing.
    evidence : array of shape (n_columns,)
        Contribution of each column to the log-odds, in nats.
    prior : float
        Log-odds of the prior.
    total : float
        The log-odds.
    labels : tuple of (label, label)
        The class and its alternative.
    probability : float
        P(class | row).

    Attributes
    ----------
    names, values, evidence, prior, total, labels, probability
        As given.
    title : str
        The two sides and the probability, on one line. In the picture it takes as many lines as it needs.
    figure_ : matplotlib Figure
        Drawn on first access.
    ax_ : matplotlib Axes
        Drawn on first access.

    See Also
    --------
    NomogramDisplay : The evidence of every value of a naive model.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.datasets import load_watermelon
    >>> from tallybayes.plots import EvidenceDisplay
    >>> rows, ripe = load_watermelon()
    >>> picture = EvidenceDisplay.from_estimator(NaiveBayes().fit(rows, ripe), rows, row=0)
    >>> numbers = picture.frame()["contribution"]
    >>> bool(np.isclose(numbers[:-1].sum(), numbers[-1]))
    True
    >>> picture.title
    'yes against no: P = 99.8%'
    """

    def __init__(
        self,
        names: list[str],
        values: list[str],
        evidence: Floats,
        prior: float,
        total: float,
        labels: tuple[object, object],
        probability: float,
    ) -> None:
        self.names = names
        self.values = values
        self.evidence = evidence
        self.prior = prior
        self.total = total
        self.labels = labels
        self.probability = probability

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: object = None,
        *,
        row: Any = 0,
        label: object = None,
        against: object = None,
        ax: Axes | None = None,
    ) -> Self:
        """The evidence of one row, for a class and against the rest or one other class.

        Parameters
        ----------
        estimator : fitted classifier of tallybayes
            The model that is asked.
        X : table, default=None
            The rows that `row` counts in. Not needed where `row` is a row itself.
        row : int, dict or pandas Series, default=0
            The position of a row in X, or the row: a dict from column to value, or a row of a data frame
            (`frame.iloc[3]`).
        label : class label, default=None
            The class that the evidence is for; by default the most probable one of the row.
        against : class label, default=None
            The class that it is compared with; by default all others.
        ax : matplotlib Axes, default=None
            Where to draw at once; without it, nothing is drawn yet.

        Returns
        -------
        EvidenceDisplay
            The numbers, and the picture when it is asked for.
        """
        require_ours(estimator, "EvidenceDisplay")
        if is_row(row):
            X, row = [read_row(row, feature_names(estimator, None), estimator)], 0
        elif X is None:
            raise OptionError("Give X and the position of a row in it, or row= as a dict or a pandas Series.")
        made = cls.from_explanation(estimator.explain(X, against=against), row=row, label=label)
        made.container = container_of(estimator)
        return made if ax is None else made.plot(ax)

    @classmethod
    def from_explanation(cls, explanation: Explanation, *, row: int = 0, label: object = None) -> Self:
        """One row of what `explain` gave.

        Parameters
        ----------
        explanation : Explanation
            What `model.explain(X)` gave back.
        row : int, default=0
            The position of the row.
        label : class label, default=None
            The class that the evidence is for; by default the most probable one of the row.

        Returns
        -------
        EvidenceDisplay
            The numbers, and the picture when it is asked for.
        """
        i = explanation.row_number(row)
        k = explanation.class_number(i, label)
        labels = explanation.classes.tolist()
        rival = (
            explanation.rival if explanation.rival is not None else labels[1 - k] if len(labels) == 2 else "the rest"
        )
        made = cls(
            list(explanation.names),
            [_shown(explanation.cells(j)[i]) if j < explanation.table.d else "" for j in range(len(explanation.names))],
            explanation.values[i, :, k],
            float(explanation.prior[i, k]),
            float(explanation.log_odds[i, k]),
            (labels[k], rival),
            float(explanation.probability[i, k]),
        )
        made.container = explanation.table.container
        return made

    @property
    def title(self) -> str:
        """The two sides and the probability, on one line.

        Returns
        -------
        str
            Such as 'yes against no: P = 99.8%'.
        """
        first, second = map(text_fitting.clean, self.labels)
        return f"{first} against {second}: P = {chance(self.probability)}"

    @property
    def _size(self) -> tuple[float, float]:  # type: ignore[override]
        return 7.2, 1.4 + 0.36 * (min(len(self.names), 10) + 3)

    def plot(self, ax: Axes | None = None, *, most: int = 10) -> Self:
        """Draws the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; by default into a figure of its own.
        most : int, default=10
            How many columns have a bar of their own; the others share one.

        Returns
        -------
        EvidenceDisplay
            Itself, drawn.
        """
        if not isinstance(most, int | np.integer) or most < 1:
            raise OptionError(f"most must be a whole number of at least 1; got {brief(most)}.")
        return self._draw_on(ax, partial(self._draw, most=most))

    def _columns(self) -> Mapping[str, Sequence[object] | Array]:
        return {
            "feature": [PRIOR, *self.names, TOTAL],
            "value": ["", *self.values, ""],
            "contribution": np.array([self.prior, *self.evidence, self.total]),
        }

    def _draw(self, ax: Axes, *, most: int = 10) -> list[Axes]:
        order = np.argsort(-np.abs(self.evidence), kind="stable")
        shown, rest = order[:most], order[most:]
        if len(rest) == 1:
            shown, rest = order, order[:0]
        labels = [
            "prior",
            *(_name(self.names[j], self.values[j]) for j in shown),
            *([f"{len(rest)} others"] if len(rest) else []),
            "log-odds",
        ]
        length = [self.prior, *self.evidence[shown], *([self.evidence[rest].sum()] if len(rest) else []), self.total]
        bars = np.array(length)
        finite = np.abs(bars[np.isfinite(bars)]).max(initial=1.0)
        bars = np.clip(bars, -1.15 * finite, 1.15 * finite)  # what is infinite ends a little beyond the longest
        at = np.arange(len(bars), dtype=float)
        at[-1] += 0.4
        for i, (y, bar) in enumerate(zip(at, bars, strict=True)):
            total = i == len(bars) - 1
            colour = style.INK if total else FOR if bar >= 0 else AGAINST
            ax.barh(
                y,
                bar,
                0.7,
                color=colour,
                hatch="" if bar >= 0 or total else "////",
                edgecolor="white",
                linewidth=0,
                zorder=2,
            )
            ax.annotate(
                _factor(length[i]),
                (bar, y),
                (4 if bar >= 0 else -4, 0),
                textcoords="offset points",
                va="center",
                ha="left" if bar >= 0 else "right",
                fontsize="small",
                color=style.INK,
            )
        ax.axhline(at[-1] - 0.7, color=style.GRID, linewidth=1)
        ax.axvline(0, color=style.INK, linewidth=0.9, zorder=3)
        ax.set_yticks(at, labels)
        ax.set_ylim(at[-1] + 0.55, -0.6)
        low, high = min(float(bars.min()), 0.0), max(float(bars.max()), 0.0)
        inches = ax.get_window_extent().width / ax.figure.dpi
        room = max(0.16, 0.75 / inches) * (high - low)  # for the numbers at the ends, however narrow the axes
        ax.set_xlim(low - room if low < 0 else -0.02 * high, high + room if high > 0 else -0.02 * low)
        style.tidy(ax, "x")
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("against  ←  evidence (nats)  →  for")
        self._draw_title(ax)
        return []

    def _draw_title(self, ax: Axes) -> None:
        """On one line if that has room, else the probability first and each side on its own line, elided to fit."""
        room = _room(ax)
        title = ax.set_title(text_fitting.plain(self.title), fontsize="medium", loc="left")
        for most in range(60, 5, -2):
            if title.get_window_extent().width <= room:
                break
            one, other = text_fitting.distinct(self.labels, most)
            title.set_text(f"P = {chance(self.probability)}: {one}\nagainst {other}")


def _room(ax: Axes) -> float:
    """Pixels that a title has: the width of the axes, or what a layout engine will leave beside the labels."""
    spec = ax.get_subplotspec()
    if ax.figure.get_layout_engine() is None or spec is None:
        return float(ax.get_window_extent().width)
    grid = spec.get_gridspec()
    share = len(spec.colspan) / grid.ncols
    labels = max((t.get_window_extent().width for t in ax.get_yticklabels()), default=0.0)
    return float(ax.figure.bbox.width * share - labels - 0.25 * ax.figure.dpi)


def _name(feature: str, value: str) -> str:
    """On one line if that is short, else the value below the name; no value belongs to no column."""
    if not value:
        return text_fitting.shorten(feature, 33)
    short = text_fitting.width(feature) + text_fitting.width(value) < 30
    return (
        text_fitting.shorten(f"{feature} = {value}", 33)
        if short
        else f"{text_fitting.shorten(feature, 32)}\n= {text_fitting.shorten(value, 30)}"
    )


def _shown(value: object) -> str:
    return "?" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _factor(evidence: float) -> str:
    """×3.2, ÷40, ×10^7"""
    sign, size = "×" if evidence >= 0 else "÷", abs(evidence)
    if np.isinf(size):
        return f"{sign}∞"
    if size > np.log(1e6):
        return f"{sign}10^{size / np.log(10):.0f}"
    return f"{sign}{float(f'{np.exp(size):.2g}'):,g}"


def chance(p: float) -> str:
    """Close to 0 and 1 the digits that count are shown; what rounds to 1 is said to be close, not certain."""
    if 0.001 <= p <= 0.999:
        return f"{p:.1%}"
    return f"{p:.2g}" if p < 0.5 else f"1 − {1 - p:.1g}" if p < 1 else "almost 1"
