"""What every picture is: an object that holds its numbers, draws them when asked, and hands them out as a frame."""

from __future__ import annotations

import io
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self

from tallybayes.data.output_tables import build_frame
from tallybayes.errors import OptionError
from tallybayes.plots.text_fitting import GLYPH_MISSING, east_asian_font, fit_fonts
from tallybayes.utils.array_types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


class Display(ABC):
    """A picture. `plot` draws it, `frame` gives the numbers in it, `figure_` and `ax_` are matplotlib's.

    Without `ax`, the picture has a figure of its own that pyplot does not know: nothing is left open, and no setting
    of matplotlib is changed. A notebook shows the object as it is.

    Attributes
    ----------
    container : str
        What kind of frame `frame` gives: that of the table that the model was fitted on.
    figure_ : matplotlib Figure
        Drawn on first access.
    ax_ : matplotlib Axes
        Drawn on first access.
    """

    _size: tuple[float, float] = (6.4, 4.4)
    container: str = "numpy"  # what kind of frame frame() gives
    _projection: str | None = None  # of the axes of a figure of its own
    _drawn: tuple[Figure | SubFigure, Axes] | None = None

    def plot(self, ax: Axes | None = None) -> Self:
        """Draws the picture.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; by default into a figure of its own.

        Returns
        -------
        Display
            Itself, drawn.
        """
        return self._draw_on(ax, self._draw)

    def _draw_on(self, ax: Axes | None, draw: Callable[[Axes], list[Axes]]) -> Self:
        require_matplotlib()
        from matplotlib.axes import Axes
        from matplotlib.figure import Figure

        if ax is None:
            ax = Figure(figsize=self._size, layout="constrained").add_subplot(projection=self._projection)
        elif not isinstance(ax, Axes):
            raise OptionError(f"ax must be a matplotlib Axes or None; got {type(ax).__name__}.")
        with east_asian_font(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", GLYPH_MISSING)  # fit_fonts has one warning for all letters
            more = draw(ax)
        fit_fonts([ax, *more])
        self._drawn = (ax.figure, ax)
        return self

    @property
    def ax_(self) -> Axes:
        """The axes; drawn now if that has not been done.

        Returns
        -------
        matplotlib Axes
            Those given, or those of its own figure.
        """
        return self._ensure()[1]

    @property
    def figure_(self) -> Any:
        """The figure; drawn now if that has not been done. `figure_.savefig("file.png")` writes it.

        Returns
        -------
        matplotlib Figure
            That of the axes given, or its own.
        """
        return self._ensure()[0]

    def _ensure(self) -> tuple[Figure | SubFigure, Axes]:
        if self._drawn is None:
            self.plot()
        assert self._drawn is not None
        return self._drawn

    def frame(self, backend: str | None = None) -> Any:
        """The numbers of the picture.

        Parameters
        ----------
        backend : {'pandas', 'polars', 'pyarrow', 'dict'}, default=None
            What to give them as; by default the kind of data frame that the model was fitted on, and a dict of arrays
            if it was none.

        Returns
        -------
        data frame or dict of arrays
            One row for each number or point in the picture.
        """
        return build_frame(self._columns(), self.container, backend)

    @abstractmethod
    def _columns(self) -> Mapping[str, Sequence[object] | Array]:
        """The columns of the frame."""

    @abstractmethod
    def _draw(self, ax: Axes) -> list[Axes]:
        """Draws; returns further axes that it made."""

    def _repr_png_(self) -> bytes:
        """What a notebook shows."""
        out = io.BytesIO()
        self.figure_.savefig(out, format="png", dpi=110)
        return out.getvalue()


def require_matplotlib() -> None:
    """matplotlib is an extra: say so, once and clearly."""
    if find_spec("matplotlib") is None:
        raise ImportError("Pictures need matplotlib, which is not installed. pip install 'tallybayes[plot]'")
