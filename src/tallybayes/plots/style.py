"""What all pictures share: colours that colour-blind readers tell apart, and never colour alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tallybayes.plots.text_fitting import distinct, wrap

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend
    from matplotlib.patheffects import AbstractPathEffect
    from matplotlib.text import Annotation
    from matplotlib.transforms import Bbox, Transform

Look: TypeAlias = dict[str, Any]  # options of an artist besides its data

# Petroff (2021), Accessible color sequences for data visualization, the ten-colour set: distinct in all three kinds
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
Dashes: TypeAlias = Literal["solid"] | tuple[float, tuple[float, ...]]
DASHES: tuple[Dashes, ...] = (
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
BESIDE = 0.4  # a legend that takes more of the width of its axes goes below them
MOST_NAMED = 20  # classes in a legend; the others are counted
MOST_ACROSS = 6  # names side by side in a legend that lies below


def colour(k: int) -> str:
    return COLOURS[k % len(COLOURS)]


def marker(k: int) -> str:
    return MARKERS[k % len(MARKERS)]


def dashes(k: int) -> Dashes:
    return DASHES[k % len(DASHES)]


def hatch(k: int) -> str:
    return HATCHES[k % len(HATCHES)]


def rgb(k: int) -> NDArray[np.float64]:
    """The colour of class k as three numbers between 0 and 1."""
    code = colour(k)
    return np.array([int(code[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def halo(size: float = 2.5) -> list[AbstractPathEffect]:
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


def legend(ax: Axes, handles: Sequence[Artist], names: Sequence[object], title: object = None) -> Legend:
    """Outside the picture, where it hides nothing: beside it, or below where that would cost too much of its width.

    The room is made. A layout engine does that by itself; without one, the axes give up what the legend needs, so that
    it stays clear of their neighbours. Long names are wrapped.
    """
    labels = distinct(names, 26, 2)
    # matplotlib leaves out labels with a leading underscore; a zero-width space keeps them
    labels = ["\u200b" + label if label.startswith("_") else label for label in labels]
    look: Look = {
        "title": None if title is None else wrap(title, 26, 2),
        "loc": "upper left",
        "borderaxespad": 0.0,
        "frameon": False,
        "fontsize": "small",
        "title_fontsize": "small",
        "handlelength": 2.4,
        "labelspacing": 0.6,
    }
    full, under = _whole_place(ax), space_below(ax) + 4 / 72
    box = ax.legend(handles, labels, bbox_to_anchor=(1.01, 1.0), **look)
    size, room = box.get_window_extent(), ax.get_window_extent()
    wide, tall = size.width / room.width, 0.0
    if wide > BESIDE:
        look |= {"columnspacing": 1.2, "bbox_to_anchor": (0.0, 0.0), "bbox_transform": _below(ax, under)}
        for across in range(min(len(labels), MOST_ACROSS), 0, -1):
            box = ax.legend(handles, labels, ncols=across, **look)
            if box.get_window_extent().width <= room.width:
                break
        tall = box.get_window_extent().height / room.height
    if wide <= BESIDE or wide < tall:  # below it would cost even more
        look |= {"bbox_to_anchor": (1.01, 1.0), "bbox_transform": ax.transAxes}
        box = ax.legend(handles, labels, **look)
        _give_up(ax, full, right=size.width + 0.03 * room.width)
    else:
        _give_up(ax, full, below=box.get_window_extent().height + 4 / 72 * ax.figure.dpi)
    box.set_alignment("left")
    return box


def note(ax: Axes, words: str) -> Annotation:
    """What the picture leaves out, in small letters below all that the axes have."""
    look: Look = {"fontsize": "x-small", "color": FAINT, "ha": "right", "va": "top"}
    place = _below(ax, space_below(ax) + 3 / 72)
    return ax.annotate(words, (1.0, 0.0), xycoords=place, annotation_clip=False, **look)


def space_below(ax: Axes) -> float:
    """How far ticks, labels and the like reach below the axes, in inches."""
    whole = ax.get_tightbbox()  # as it is now: what is put below is measured before it is there
    below = 0.0 if whole is None else float(ax.get_window_extent().y0 - whole.y0)
    return max(below, 0.0) / ax.figure.dpi


def _below(ax: Axes, inches: float) -> Transform:
    """Coordinates of the axes, so many inches lower: they stay there when a layout changes the height."""
    from matplotlib.transforms import ScaledTranslation

    return ax.transAxes + ScaledTranslation(0, -inches, ax.figure.dpi_scale_trans)


def _whole_place(ax: Axes) -> Bbox:
    """Where the axes are before they give up room; drawn on again, they give it up once and not twice."""
    here, spec = ax.get_position(), ax.get_subplotspec()
    if spec is None:
        return here
    given = spec.get_position(ax.figure)  # type: ignore[arg-type]
    inside = given.x0 - 1e-9 <= here.x0 and here.x1 <= given.x1 + 1e-9
    return given if inside and given.y0 - 1e-9 <= here.y0 and here.y1 <= given.y1 + 1e-9 else here


def _give_up(ax: Axes, full: Bbox, right: float = 0.0, below: float = 0.0) -> None:
    """Makes the axes smaller by so many pixels, where nothing else lays the figure out."""
    if ax.figure.get_layout_engine() is not None:
        return
    whole = ax.figure.bbox
    wide = full.width - right / whole.width
    tall = full.height - below / whole.height
    ax.set_position((full.x0, full.y1 - tall, max(wide, 0.2 * full.width), max(tall, 0.2 * full.height)))
    ax.set_in_layout(True)  # set_position takes them out of bbox_inches="tight"
