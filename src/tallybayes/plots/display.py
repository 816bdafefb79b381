"""What every picture is: an object that holds its numbers, draws them when asked, and hands them out as a frame."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self

import narwhals.stable.v2 as nw

from tallybayes.errors import OptionError
from tallybayes.plots.text import fit_fonts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

FRAMES = ("pandas", "polars", "pyarrow")


class Display(ABC):
    """A picture. `plot` draws it, `frame` gives the numbers in it, `figure_` and `ax_` are matplotlib's.

    Without `ax`, the picture has a figure of its own that pyplot does not know: nothing is left open, and no setting
    of matplotlib is changed. A notebook shows the object as it is.
    """

    _size: tuple[float, float] = (6.4, 4.4)
    _drawn: tuple[Figure | SubFigure, Axes] | None = None

    def plot(self, ax: Axes | None = None) -> Self:
        """Draws into ax, or into a new figure."""
        return self._draw_on(ax)

    def _draw_on(self, ax: Axes | None, **options: Any) -> Self:
        require_matplotlib()
        from matplotlib.axes import Axes
        from matplotlib.figure import Figure

        if ax is None:
            ax = Figure(figsize=self._size, layout="constrained").add_subplot()
        elif not isinstance(ax, Axes):
            raise OptionError(f"ax must be a matplotlib Axes or None; got {type(ax).__name__}.")
        more = self._draw(ax, **options)
        fit_fonts([ax, *more])
        self._drawn = (ax.figure, ax)
        return self

    @property
    def ax_(self) -> Axes:
        """The axes; drawn now if that has not been done."""
        return self._ensure()[1]

    @property
    def figure_(self) -> Any:
        """The figure; drawn now if that has not been done. `figure_.savefig("file.png")` writes it."""
        return self._ensure()[0]

    def _ensure(self) -> tuple[Figure | SubFigure, Axes]:
        if self._drawn is None:
            self.plot()
        assert self._drawn is not None
        return self._drawn

    def frame(self, backend: str | None = None) -> Any:
        """The numbers of the picture as a data frame of pandas, polars or pyarrow; the first one installed."""
        if backend is None:
            backend = next((name for name in FRAMES if find_spec(name) is not None), None)
            if backend is None:
                raise ImportError("frame() needs pandas, polars or pyarrow; none is installed. pip install pandas")
        elif backend not in FRAMES:
            raise OptionError(f"backend must be one of {FRAMES}; got {backend!r}.")
        return nw.from_dict(self._columns(), backend=backend).to_native()

    @abstractmethod
    def _columns(self) -> dict[str, Any]:
        """The columns of the frame."""

    @abstractmethod
    def _draw(self, ax: Axes, **options: Any) -> list[Any]:
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
