"""A naive or linear model on one sheet: add the log-odds of the values of a row, and read off the probability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.special import expit, logit

from tallybayes.errors import OptionError, brief
from tallybayes.plots import style, text_fitting
from tallybayes.plots.display import Display
from tallybayes.plots.evidence_plot import chance
from tallybayes.plots.pen import Pen, fitting, letter_width
from tallybayes.plots.plot_tables import TableColumns, container_of, feature_names, pick_pair, read_row, require_ours
from tallybayes.plots.scales import Scale, make_scales, stretches
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FARTHEST = 8.0  # log-odds on the scale of the sum: 99.97 %
MOST_TURNS = 6
FIGURE_WIDTH = 9.0  # inches
CROWDED = 1.7  # the height of a scale whose names are moved apart, where 1 is that of others
MAX_SCALE_NATS = 10.0  # nats shown on one scale: ×22,000; a value beyond is drawn at the end, with an arrow
CHANCES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)


class NomogramDisplay(Display):
    """Nomogram (Možina et al. 2004): a scale of log-odds per column, to evaluate a model by hand.

    Each value lies at what it adds to the log-odds of class k against class l: to the right it speaks for k. Add the
    values of a row, and the prior; the two scales at the bottom turn the sum into a probability. Two parallel lines
    belong to a column whose evidence turns back: a Gaussian with its own variance in each class does. Columns that
    are not shown, or missing in a row, add 0: they are left out; with a shared covariance, they are at their mean.
    Names of levels that lie close are moved apart; if there is no room for all, the scale says how many have none.
    Made by `from_estimator`.

    Parameters
    ----------
    scales : list of Scale
        One per column: its values and their contributions to the log-odds.
    start : float
        Log-odds of the prior.
    labels : tuple of (label, label)
        The class for, and the class against.
    marked : bool, default=False
        Whether the values of a row are marked.
    hidden : int, default=0
        Number of columns that are not shown.

    Attributes
    ----------
    scales, start, labels, marked, hidden
        As given.
    total : float or None
        The log-odds of the marked row, from the columns shown; None without a row.
    figure_ : matplotlib Figure
        Drawn on first access.
    ax_ : matplotlib Axes
        Drawn on first access.

    See Also
    --------
    EvidenceDisplay : The evidence of one row.

    References
    ----------
    - Možina, Demšar, Kattan and Zupan (2004), Nomograms for visualization of naive Bayesian classifier. PKDD.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.datasets import load_watermelon
    >>> from tallybayes.plots import NomogramDisplay
    >>> rows, ripe = load_watermelon()
    >>> model = NaiveBayes().fit(rows, ripe)
    >>> picture = NomogramDisplay.from_estimator(model, rows, row=rows[0])
    >>> round(float(picture.total), 3) == round(float(np.diff(model.predict_joint_log_proba(rows[:1])[0])[0]), 3)
    True
    """

    def __init__(
        self, scales: list[Scale], start: float, labels: tuple[object, object], marked: bool = False, hidden: int = 0
    ) -> None:
        self.scales = scales
        self.start = start
        self.labels = labels
        self.marked = marked
        self.hidden = hidden

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: object = None,
        *,
        pair: object = None,
        row: object = None,
        most: int = 10,
        ax: Axes | None = None,
    ) -> Self:
        """The nomogram of a model whose evidence adds up column by column.

        Parameters
        ----------
        estimator : fitted classifier of tallybayes
            A naive Bayes of any kind, or a Gaussian discriminant with a shared covariance.
        X : table, default=None
            Rows that say over which range numbers are shown; without it the model's own samples do.
        pair : tuple of (label, label), default=None
            The class for, and the one against. By default the second class against the first; of more than two, the two
            with most rows.
        row : dict or pandas Series, default=None
            One row, marked in the picture: a dict from column to value, or a row of a data frame (`frame.iloc[3]`).
        most : int, default=10
            How many columns are shown: those that can say most.
        ax : matplotlib Axes, default=None
            Where to draw at once; without it, nothing is drawn yet.

        Returns
        -------
        NomogramDisplay
            The numbers, and the picture when it is asked for.
        """
        model = require_ours(estimator, "NomogramDisplay")
        if not isinstance(most, int | np.integer) or most < 1:
            raise OptionError(f"most must be a whole number of at least 1; got {brief(most)}.")
        k, l = pick_pair(model, pair)  # noqa: E741
        names = feature_names(model, None)
        marked = {} if row is None else read_row(row, names, model)
        scales, start = make_scales(model, k, l, None if X is None else TableColumns(X, model).called(names), marked)
        order = np.argsort([-s.reach for s in scales], kind="stable").tolist()
        labels = model.classes_.tolist()
        shown = [scales[j] for j in order[:most]]
        made = cls(shown, start, (labels[k], labels[l]), row is not None, len(scales) - len(shown))
        made.container = container_of(model)
        return made if ax is None else made.plot(ax)

    @property
    def total(self) -> float | None:
        """The log-odds of the marked row, from the columns shown.

        Returns
        -------
        float or None
            None where no row is marked.
        """
        return self.start + sum(s.mark for s in self.scales) if self.marked else None

    @property
    def _size(self) -> tuple[float, float]:  # type: ignore[override]
        letter = letter_width(*self._limits(), 0.775 * FIGURE_WIDTH)
        return FIGURE_WIDTH, 1.9 + 0.62 * sum(self._tall(s, letter) for s in self.scales)

    def _columns(self) -> Mapping[str, Sequence[object] | Array]:
        mixed = len({s.levels for s in self.scales}) > 1
        return {
            "feature": [s.name for s in self.scales for _ in s.values],
            "value": [str(v) if mixed else v for s in self.scales for v in s.values.tolist()],
            "points": np.concatenate([s.points for s in self.scales]),
        }

    # --- drawing -----------------------------------------------------------------------------------------------

    def _draw(self, ax: Axes) -> list[Axes]:
        low, high = self._limits()
        pen = Pen(ax, low, high)
        tall = np.array([self._tall(s, pen.letter) for s in self.scales])
        at = np.cumsum(tall) - tall / 2 - 0.5
        bottom = float(tall.sum()) + 0.3
        ax.set_axis_off()
        ax.set_ylim(bottom + 1.8, -1.5)
        pen.ruler(-0.75, _ticks(low, high), "evidence (nats)")
        ax.plot([0, 0], [-0.75, bottom - 0.7], color=style.GRID, linewidth=1.2, zorder=0)
        for y, scale in zip(at.tolist(), self.scales, strict=True):
            pen.name(y, text_fitting.wrap(scale.name, 24, 2))
            (_draw_levels if scale.levels else _draw_numbers)(pen, y, scale)
        ax.plot([low, high], [bottom - 0.6] * 2, color=style.GRID, linewidth=1)
        self._draw_sum(pen, bottom)
        if self.hidden:
            note = f"not shown: {self.hidden} with less to say"
            ax.text(high, bottom + 1.6, note, ha="right", va="center", fontsize="x-small", color=style.FAINT)
        pen.write_names()
        return []

    def _tall(self, scale: Scale, letter: float) -> float:
        """Names that are moved apart need more room above and below."""
        return CROWDED if _crowded(scale, letter, *self._limits()) else 1.0

    def _limits(self) -> tuple[float, float]:
        ends = [p for s in self.scales for p in s.points if np.isfinite(p)] or [0.0]
        return max(min(*ends, -0.2), -MAX_SCALE_NATS), min(max(*ends, 0.2), MAX_SCALE_NATS)

    def _draw_sum(self, pen: Pen, y: float) -> None:
        """The log-odds, on a scale of their own, and the probability below."""
        low, high = -FARTHEST, FARTHEST

        def place(t: object) -> Floats:
            return np.asarray(pen.low + (np.asarray(t) - low) / (high - low) * (pen.high - pen.low))

        k, l = text_fitting.distinct(self.labels, 20)  # noqa: E741
        ticks, chances = _ticks(low, high), [p for p in CHANCES if abs(logit(p)) <= FARTHEST]
        pen.name(y, f"log-odds: the sum\n{'+' if self.start >= 0 else '−'} {abs(self.start):.2f} to start with")
        pen.line(y, place([low, high]))
        pen.labels(y, place(ticks), [f"{t:g}" for t in ticks], sides=(-1,))
        pen.name(y + 0.85, f"P({k})\nagainst {l}")
        pen.line(y + 0.85, place([low, high]))
        pen.labels(
            y + 0.85, place([logit(p) for p in chances]), [f"{p:.1%}".replace(".0%", "%") for p in chances], sides=(-1,)
        )
        if self.total is not None and not np.isnan(self.total):
            at = float(place(np.clip(self.total, low, high)))
            pen.mark(y, at)
            pen.mark(y + 0.85, at)
            side = "left" if self.total < -FARTHEST / 2 else "right" if self.total > FARTHEST / 2 else "center"
            pen.ax.plot([at, at], [y, y + 0.85], color=style.INK, linewidth=0.8, linestyle=(0, (2, 2)))
            pen.ax.annotate(
                f"{self.total:.2f}: {chance(float(expit(self.total)))}",
                (at, y + 0.85),
                (0, -9),
                textcoords="offset points",
                ha=side,
                va="top",
                fontsize="small",
                fontweight="bold",
            )


def _draw_levels(pen: Pen, y: float, scale: Scale) -> None:
    pen.line(y, scale.points)
    names = _names(scale)
    if _crowded(scale, pen.letter, pen.low, pen.high):
        chosen = next((i for i, v in enumerate(scale.values) if str(v) == str(scale.value)), None)
        unnamed = pen.all_labels(y, scale.points, names, chosen)
    else:
        pen.labels(y, scale.points, names, sides=(-1, 1))
        unnamed = int((~pen.seen(scale.points)).sum())
    if unnamed:
        pen.aside(y, f"{unnamed} of {len(names)} levels not named")
    if scale.value is not None:
        pen.mark(y, scale.mark)


def _names(scale: Scale) -> list[str]:
    return text_fitting.distinct([str(v) for v in scale.values], 16)


def _crowded(scale: Scale, letter: float, low: float, high: float) -> bool:
    """Are there levels so close that their names need to be moved apart?"""
    inside = int(((scale.points >= low - 1e-9) & (scale.points <= high + 1e-9)).sum())
    return scale.levels and len(fitting(scale.points, _names(scale), (-1, 1), letter, low, high)) < inside


def _draw_numbers(pen: Pen, y: float, scale: Scale) -> None:
    """Where the evidence turns back, the scale goes on below: rising and falling stretches lie apart."""
    parts = stretches(scale.points)
    if len(parts) > MOST_TURNS:
        parts = [(0, len(scale.points) - 1)]  # a wild curve: its ends say enough
    ticks = _ticks(float(scale.values[0]), float(scale.values[-1]), 7)
    value = scale.value
    for i, (a, b) in enumerate(parts):
        at, side = (y, -1) if len(parts) == 1 else ((y - 0.13, -1), (y + 0.13, 1))[i % 2]
        low, high = float(scale.values[a]), float(scale.values[b])
        pen.line(at, scale.points[a : b + 1])
        here = [t for t in ticks if low <= t <= high]
        if not here and len(parts) == 1:
            here = [low, high]
        pen.labels(at, np.array([scale.at(t) for t in here]), [f"{t:.4g}" for t in here], sides=(side,))
        if i:
            pen.join(y, scale.points[a])
        last = i == len(parts) - 1
        if value is not None and (value <= high or last):
            pen.mark(at, scale.mark)
            value = None  # marked once


def _ticks(low: float, high: float, most: int = 9) -> list[float]:
    from matplotlib.ticker import MaxNLocator

    found = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return [float(np.round(t, 12)) for t in found if low - 1e-12 <= t <= high + 1e-12]
