"""The pen that draws scales: lines, ticks, and names that keep out of each other's way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tallybayes.plots import style, text_fitting
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Pen:
    """Draws scales: lines, ticks, and labels that keep out of each other's way."""

    def __init__(self, ax: Axes, low: float, high: float) -> None:
        self.ax, self.low, self.high = ax, low, high
        self.letter = letter_width(low, high, ax.get_window_extent().width / ax.figure.dpi)
        self.ends = [low, high]  # how far the labels reach
        self.names: list[tuple[float, str]] = []

    def name(self, y: float, name: str) -> None:
        """Name a line: at the end, when it is known how far to the left the labels reach.

        Parameters
        ----------
        y : float
            How high on the sheet.
        name : str
            What to write.
        """
        self.names.append((y, name))

    def write_names(self) -> None:
        """Write the names beside the rulers."""
        left = self.ends[0] - self.letter
        for y, name in self.names:
            self.ax.text(left, y, name, ha="right", va="center", color=style.INK)
        self.ax.set_xlim(left, self.ends[1] + self.letter)

    def ruler(self, y: float, ticks: list[float], name: str) -> None:
        """Draw a ruler with its ticks.

        Parameters
        ----------
        y : float
            How high on the sheet.
        ticks : list of float
            Where its ticks are.
        name : str
            What it is called.
        """
        self.name(y, name)
        self.line(y, np.array([self.low, self.high]))
        self.labels(y, np.array(ticks), [f"{t:g}" for t in ticks], sides=(-1,))

    def line(self, y: float, points: Floats) -> None:
        """Draw a line over the span of some points; arrows where it leaves the sheet.

        Parameters
        ----------
        y : float
            How high on the sheet.
        points : ndarray
            Where, along the sheet.
        """
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
        """Draw the place where a scale turns back.

        Parameters
        ----------
        y : float
            How high on the sheet.
        at : float
            Where.
        """
        x = float(np.clip(at, self.low, self.high))
        self.ax.plot([x, x], [y - 0.13, y + 0.13], color=style.INK, linewidth=1.3, zorder=2)

    def labels(self, y: float, points: Floats, names: list[str], sides: tuple[int, ...]) -> None:
        """Draw a tick for each point, and its name above, else below.

        Where neither has room there is none: numbers between two others can be guessed.

        Parameters
        ----------
        y : float
            How high on the sheet.
        points : ndarray
            Where, along the sheet.
        names : list of str
            What to write.
        sides : tuple of int
            Which sides may be taken: 1 above, −1 below.
        """
        places = self._fit(points, names, sides)
        for i in np.flatnonzero(self.seen(points)):
            x, side = float(points[i]), places.get(int(i))
            self.ax.plot([x, x], [y, y + (side or -1) * 0.09], color=style.INK, linewidth=1, zorder=2)
            if side is not None:
                self._write(x, y, 5 * side, names[i], side)

    def seen(self, points: Floats) -> Array:
        """Return which points are on the sheet.

        Parameters
        ----------
        points : ndarray
            Where, along the sheet.

        Returns
        -------
        ndarray of bool
            True for those.
        """
        return (points >= self.low - 1e-9) & (points <= self.high + 1e-9)

    def _fit(self, points: Floats, names: list[str], sides: tuple[int, ...]) -> dict[int, int]:
        """The side of each name that has room right at its tick."""
        return fitting(points, names, sides, self.letter, self.low, self.high)

    def all_labels(self, y: float, points: Floats, names: list[str], first: int | None) -> int:
        """Draw every name, moved aside as far as needed and joined to its tick by a line.

        Names at the ends come before those in the middle.

        Parameters
        ----------
        y : float
            How high on the sheet.
        points : ndarray
            Where, along the sheet.
        names : list of str
            What to write.
        first : int or None
            One that must be there.

        Returns
        -------
        int
            How many have no room even so.
        """
        order = sorted(np.flatnonzero(self.seen(points)).tolist(), key=lambda i: (i != first, -abs(points[i])))
        wide = np.array([(text_fitting.width(name) + 1.2) * self.letter for name in names])
        kept: list[int] = []
        for i in order:
            sides = [sorted([*kept, i], key=lambda j: (points[j], j))[s::2] for s in (0, 1)]
            if all(wide[side].sum() <= self.high - self.low for side in sides):
                kept.append(i)
        kept.sort(key=lambda j: (points[j], j))
        for start, side in ((0, -1), (1, 1)):
            here = kept[start::2]
            for i, x in zip(here, spread(points[here], wide[here], self.low, self.high), strict=True):
                line: style.Look = {"color": style.FAINT, "linewidth": 0.7, "zorder": 1.5}
                self.ax.plot([points[i], points[i], x], [y, y + side * 0.09, y + side * 0.3], **line)
                self._write(x, y + side * 0.3, 1 * side, names[i], side)
        for x in points[self.seen(points)]:
            self.ax.plot([x, x], [y - 0.05, y + 0.05], color=style.INK, linewidth=1, zorder=2)
        return len(points) - len(kept)

    def _write(self, x: float, y: float, away: float, name: str, side: int) -> None:
        """A name at (x, y), so many points further down."""
        half = (text_fitting.width(name) / 2 + 0.4) * self.letter
        self.ends = [min(self.ends[0], x - half), max(self.ends[1], x + half)]
        self.ax.annotate(
            name,
            (x, y),
            (0, -away),
            textcoords="offset points",
            ha="center",
            va="bottom" if side < 0 else "top",
            fontsize="small",
            color=style.INK,
        )

    def aside(self, y: float, words: str) -> None:
        """Write what a scale does not show, at its end.

        Parameters
        ----------
        y : float
            How high on the sheet.
        words : str
            What to write.
        """
        place: style.Look = {"ha": "right", "va": "center", "fontsize": "x-small", "color": style.FAINT}
        self.ax.text(self.high, y, words, path_effects=style.halo(), zorder=3, **place)

    def mark(self, y: float, at: float) -> None:
        """Mark a place on a ruler.

        Parameters
        ----------
        y : float
            How high on the sheet.
        at : float
            Where.
        """
        if np.isfinite(at):
            x = float(np.clip(at, self.low, self.high))
            self.ax.plot([x], [y], "o", color=style.COLOURS[6], markeredgecolor=style.INK, markersize=9, zorder=5)


def letter_width(low: float, high: float, inches: float) -> float:
    """The width of a small letter, in units of a scale from low to high that is so many inches wide."""
    return (high - low) * 0.085 / max(inches, 1.0)


def fitting(
    points: Floats, names: list[str], sides: tuple[int, ...], letter: float, low: float, high: float
) -> dict[int, int]:
    """The side (−1 above, 1 below) of each name that has room right at its point; the ends first: they matter most."""
    taken: dict[int, list[tuple[float, float]]] = {side: [] for side in sides}
    found: dict[int, int] = {}
    for i in np.argsort(-np.abs(points), kind="stable").tolist():
        x = float(points[i])
        if not low - 1e-9 <= x <= high + 1e-9:
            continue
        half = (text_fitting.width(names[i]) / 2 + 0.4) * letter
        side = next((s for s in sides if all(x + half < a or x - half > b for a, b in taken[s])), None)
        if side is not None:
            taken[side].append((x - half, x + half))
            found[i] = side
    return found


def spread(points: Floats, wide: Floats, low: float, high: float) -> list[float]:
    """Where the middles of names of these widths go, in the order of their points: apart, inside, and as near as can
    be. With the widths before it taken off, a name may not lie left of the one before: an isotonic regression."""
    if not len(points):
        return []
    from sklearn.isotonic import isotonic_regression

    before = np.cumsum(wide) - wide / 2
    free = np.clip(isotonic_regression(points - before), low, max(high - wide.sum(), low))
    return [float(x) for x in free + before]
