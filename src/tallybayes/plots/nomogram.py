"""A naive or linear model on one sheet: read off what each value says, add, and read off the probability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import expit, logit

from tallybayes.errors import OptionError
from tallybayes.plots import style, text
from tallybayes.plots.display import Display
from tallybayes.plots.evidence import chance
from tallybayes.plots.scales import Scale, make_scales, stretches
from tallybayes.plots.tables import Columns, Floats, container_of, feature_names, pick_pair, read_row, require_ours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FARTHEST = 8.0  # log-odds on the scale of the sum: 99.97 %
MOST_TURNS = 6
LONGEST = 10.0  # nats shown on one scale: ×22,000; a value beyond is drawn at the end, with an arrow
CHANCES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)


class NomogramDisplay(Display):
    """A nomogram (Možina et al. 2004): a scale for each column, those that can say most first.

    Each value lies at what it adds to the log-odds of class k against class l: to the right it speaks for k. Add the
    values of a row, and the prior; the two scales at the bottom turn the sum into a probability. Two parallel lines
    belong to a column whose evidence turns back: a Gaussian with its own variance in each class does. Columns that
    are not shown, or missing in a row, add 0: they are left out; with a shared covariance, they are at their mean.

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
        self, scales: list[Scale], start: float, labels: tuple[Any, Any], marked: bool = False, hidden: int = 0
    ) -> None:
        self.scales = scales
        self.start = start
        self.labels = labels
        self.marked = marked
        self.hidden = hidden

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, pair: Any = None, row: Any = None, most: int = 10, ax: Axes | None = None
    ) -> Self:
        """X: rows that say over which range numbers are shown; without it the model's own samples do.

        pair: (k, l), the class for and the one against. By default the second class against the first; of more than
        two, the two with most rows. row: one row as a dict, marked in the picture. most: columns shown.
        """
        require_ours(estimator, "NomogramDisplay")
        if not isinstance(most, int | np.integer) or most < 1:
            raise OptionError(f"most must be a whole number of at least 1; got {most!r}.")
        k, l = pick_pair(estimator, pair)  # noqa: E741
        names = feature_names(estimator, None)
        marked = {} if row is None else read_row(row, names)
        scales, start = make_scales(estimator, k, l, None if X is None else Columns(X).called(names), marked)
        order = np.argsort([-s.reach for s in scales], kind="stable").tolist()
        labels = estimator.classes_.tolist()
        shown = [scales[j] for j in order[:most]]
        made = cls(shown, start, (labels[k], labels[l]), row is not None, len(scales) - len(shown))
        made.container = container_of(estimator)
        return made if ax is None else made.plot(ax)

    @property
    def total(self) -> float | None:
        """The log-odds of the marked row, from the columns shown."""
        return self.start + sum(s.mark for s in self.scales) if self.marked else None

    @property
    def _size(self) -> tuple[float, float]:  # type: ignore[override]
        return 9.0, 1.9 + 0.62 * len(self.scales)

    def _columns(self) -> dict[str, Any]:
        mixed = len({s.levels for s in self.scales}) > 1
        return {
            "feature": [s.name for s in self.scales for _ in s.values],
            "value": [str(v) if mixed else v for s in self.scales for v in s.values.tolist()],
            "points": np.concatenate([s.points for s in self.scales]),
        }

    # --- drawing -----------------------------------------------------------------------------------------------

    def _draw(self, ax: Axes) -> list[Any]:
        low, high = self._limits()
        bottom = len(self.scales) + 0.3
        ax.set_axis_off()
        ax.set_ylim(bottom + 1.8, -1.5)
        pen = _Pen(ax, low, high)
        pen.ruler(-0.75, _ticks(low, high), "evidence (nats)")
        ax.plot([0, 0], [-0.75, bottom - 0.7], color=style.GRID, linewidth=1.2, zorder=0)
        for i, scale in enumerate(self.scales):
            pen.name(i, text.wrap(scale.name, 24, 2))
            (_draw_levels if scale.levels else _draw_numbers)(pen, i, scale)
        ax.plot([low, high], [bottom - 0.6] * 2, color=style.GRID, linewidth=1)
        self._draw_sum(pen, bottom)
        if self.hidden:
            note = f"not shown: {self.hidden} with less to say"
            ax.text(high, bottom + 1.6, note, ha="right", va="center", fontsize="x-small", color=style.FAINT)
        pen.write_names()
        return []

    def _limits(self) -> tuple[float, float]:
        ends = [p for s in self.scales for p in s.points if np.isfinite(p)] or [0.0]
        return max(min(*ends, -0.2), -LONGEST), min(max(*ends, 0.2), LONGEST)

    def _draw_sum(self, pen: _Pen, y: float) -> None:
        """The log-odds, on a scale of their own, and the probability below."""
        low, high = -FARTHEST, FARTHEST

        def place(t: Any) -> Floats:
            return np.asarray(pen.low + (np.asarray(t) - low) / (high - low) * (pen.high - pen.low))

        k, l = text.distinct(self.labels, 20)  # noqa: E741
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


def _draw_levels(pen: _Pen, y: float, scale: Scale) -> None:
    pen.line(y, scale.points)
    pen.labels(y, scale.points, text.distinct([str(v) for v in scale.values], 16), sides=(-1, 1))
    if scale.value is not None:
        pen.mark(y, scale.mark)


def _draw_numbers(pen: _Pen, y: float, scale: Scale) -> None:
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


class _Pen:
    """Draws scales: lines, ticks, and labels that keep out of each other's way."""

    def __init__(self, ax: Axes, low: float, high: float) -> None:
        self.ax, self.low, self.high = ax, low, high
        inches = ax.get_window_extent().width / ax.figure.dpi
        self.letter = (high - low) * 0.085 / max(inches, 1.0)  # the width of a small letter, in nats
        self.ends = [low, high]  # how far the labels reach
        self.names: list[tuple[float, str]] = []

    def name(self, y: float, name: str) -> None:
        """Written at the end, when it is known how far to the left the labels reach."""
        self.names.append((y, name))

    def write_names(self) -> None:
        left = self.ends[0] - self.letter
        for y, name in self.names:
            self.ax.text(left, y, name, ha="right", va="center", color=style.INK)
        self.ax.set_xlim(left, self.ends[1] + self.letter)

    def ruler(self, y: float, ticks: list[float], name: str) -> None:
        self.name(y, name)
        self.line(y, np.array([self.low, self.high]))
        self.labels(y, np.array(ticks), [f"{t:g}" for t in ticks], sides=(-1,))

    def line(self, y: float, points: Any) -> None:
        finite = np.clip(np.asarray(points, dtype=float), self.low, self.high)
        self.ax.plot(
            [finite.min(), finite.max()], [y, y], color=style.INK, linewidth=1.3, solid_capstyle="round", zorder=2
        )
        for beyond, at, shape in (
            (np.min(points) < self.low - 1e-9, self.low, "<"),
            (np.max(points) > self.high + 1e-9, self.high, ">"),
        ):
            if beyond:
                self.ax.plot([at], [y], shape, color=style.INK, markersize=6, zorder=2)

    def join(self, y: float, at: float) -> None:
        """Where a scale turns back."""
        x = float(np.clip(at, self.low, self.high))
        self.ax.plot([x, x], [y - 0.13, y + 0.13], color=style.INK, linewidth=1.3, zorder=2)

    def labels(self, y: float, points: Floats, names: list[str], sides: tuple[int, ...]) -> None:
        """A tick for each; its name above, else below, else (where neither has room) left away."""
        taken: dict[int, list[tuple[float, float]]] = {side: [] for side in sides}
        for i in np.argsort(-np.abs(points), kind="stable"):  # the ends first: they matter most
            if not self.low - 1e-9 <= points[i] <= self.high + 1e-9:
                continue
            x = float(points[i])
            half = text.width(names[i]) * self.letter / 2 + 0.4 * self.letter
            side = next((s for s in sides if all(x + half < a or x - half > b for a, b in taken[s])), None)
            up = -1 if side is None else side
            self.ax.plot([x, x], [y, y + up * 0.09], color=style.INK, linewidth=1, zorder=2)
            if side is not None:
                taken[side].append((x - half, x + half))
                self.ends = [min(self.ends[0], x - half), max(self.ends[1], x + half)]
                self.ax.annotate(
                    names[i],
                    (x, y),
                    (0, -5 * side),
                    textcoords="offset points",
                    ha="center",
                    va="bottom" if side < 0 else "top",
                    fontsize="small",
                    color=style.INK,
                )

    def mark(self, y: float, at: float) -> None:
        if np.isfinite(at):
            x = float(np.clip(at, self.low, self.high))
            self.ax.plot([x], [y], "o", color=style.COLOURS[6], markeredgecolor=style.INK, markersize=9, zorder=5)


def _ticks(low: float, high: float, most: int = 9) -> list[float]:
    from matplotlib.ticker import MaxNLocator

    found = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return [float(np.round(t, 12)) for t in found if low - 1e-12 <= t <= high + 1e-12]
