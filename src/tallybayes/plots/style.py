"""What all pictures share: colours that colour-blind readers tell apart, and never colour alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.plots.text import distinct, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Petroff (2021), Accessible color sequences for data visualization, the ten-colour set: told apart in all three kinds
# of colour blindness. Class 11 starts again, with another marker and line.
COLOURS = (
    "#3f90da",
    "#ffa90e",
    "#bd1f01",
    "#94a4a2",
    "#832db6",
    "#a96b59",
    "#e76300",
    "#b9ac70",
    "#717581",
    "#92dadd",
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "p")  # 11, coprime to 10: (colour, marker) repeats at 110
DASHES: tuple[Any, ...] = (
    "solid",
    (0, (5, 2)),
    (0, (1.5, 1.5)),
    (0, (6, 2, 1.5, 2)),
    (0, (10, 3)),
    (0, (4, 1.5, 1.5, 1.5, 1.5, 1.5)),
    (0, (2.5, 2.5)),
)
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----", "oooo", "||||", "++++", "**")
INK = "#222222"
FAINT = "#767676"
GRID = "#e4e4e4"


def colour(k: int) -> str:
    return COLOURS[k % len(COLOURS)]


def marker(k: int) -> str:
    return MARKERS[k % len(MARKERS)]


def dashes(k: int) -> Any:
    return DASHES[k % len(DASHES)]


def hatch(k: int) -> str:
    return HATCHES[k % len(HATCHES)]


def rgb(k: int) -> NDArray[np.float64]:
    """The colour of class k as three numbers between 0 and 1."""
    code = colour(k)
    return np.array([int(code[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def halo(size: float = 2.5) -> list[Any]:
    """A white rim that keeps text readable on anything."""
    from matplotlib import patheffects

    return [patheffects.withStroke(linewidth=size, foreground="white")]


def tidy(ax: Axes, grid: str | None = None) -> None:
    """Fewer lines: no frame at the top and the right; a faint grid behind the data on one axis or both."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(colors=INK)
    ax.tick_params(which="both", color=FAINT)
    if grid is not None:
        ax.grid(axis=grid, color=GRID, linewidth=0.8)  # type: ignore[arg-type]
        ax.set_axisbelow(True)


def legend(ax: Axes, handles: Sequence[Any], names: Sequence[Any], title: Any = None) -> Any:
    """Beside the picture, where it hides nothing; long names are wrapped."""
    labels = distinct(names, 26, 2)
    # matplotlib leaves out labels with a leading underscore; a zero-width space keeps them
    labels = ["\u200b" + label if label.startswith("_") else label for label in labels]
    box = ax.legend(
        handles,
        labels,
        title=None if title is None else wrap(title, 26, 2),
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0.0,
        frameon=False,
        fontsize="small",
        title_fontsize="small",
        handlelength=2.4,
        labelspacing=0.6,
    )
    box._legend_box.align = "left"  # type: ignore[attr-defined]
    return box
