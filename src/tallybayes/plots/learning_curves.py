"""Which of two classifiers is better with how many rows: their learning curves on one picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tallybayes.errors import OptionError, brief
from tallybayes.evaluation.counterpart import LearningCurves, learning_curves
from tallybayes.plots import style, text_fitting
from tallybayes.plots.display import Display
from tallybayes.utils.array_types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = {"error": "error on new rows", "log_loss": "log-loss on new rows"}


class LearningCurvesDisplay(Display):
    """Error or log-loss on held-out rows against the number of rows learned, for a pair of classifiers.

    Shaded: two standard errors to each side. The dashed line: `curves.crossing`, from where on the second is better
    for good; there is none where the repeats cannot tell the two apart. Made by `from_estimator`, or from the curves
    that `learning_curves` gave.

    Parameters
    ----------
    curves : LearningCurves
        Result of `learning_curves`.
    measure : {'error', 'log_loss'}, default='error'
        What is shown.

    Attributes
    ----------
    curves : LearningCurves
        As given.
    measure : str
        As given.
    figure_ : matplotlib Figure
        Drawn on first access.
    ax_ : matplotlib Axes
        Drawn on first access.

    See Also
    --------
    tallybayes.evaluation.learning_curves : Computes the curves.

    References
    ----------
    - Ng and Jordan (2002), On discriminative vs. generative classifiers. NIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tallybayes import LinearDiscriminantAnalysis
    >>> from tallybayes.plots import LearningCurvesDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> picture = LearningCurvesDisplay.from_estimator(LinearDiscriminantAnalysis(), X, y, sizes=[10, 100], repeats=2)
    >>> picture.frame()["size"].tolist()
    [10, 100, 10, 100]
    """

    _size = (6.8, 4.2)

    def __init__(self, curves: LearningCurves, measure: str = "error") -> None:
        if measure not in NAMES:
            raise OptionError(f"measure must be 'error' or 'log_loss'; got {brief(measure)}.")
        self.curves = curves
        self.measure = measure
        self.container = curves.container

    @classmethod
    def from_estimator(
        cls, pair: object, X: object, y: object, *, measure: str = "error", ax: Axes | None = None, **options: Any
    ) -> Self:
        """Learns the curves of a pair, which takes a fit for each size and repeat.

        Parameters
        ----------
        pair : classifier of tallybayes, or two classifiers
            One is shown beside its discriminative counterpart; two beside each other. They need not be fitted.
        X : table
            The rows to learn from and to hold out.
        y : array of shape (n_rows,)
            Their classes.
        measure : {'error', 'log_loss'}, default='error'
            What is shown.
        ax : matplotlib Axes, default=None
            Where to draw at once; without it, nothing is drawn yet.
        **options
            Those of `learning_curves`: sizes, repeats, test_size, random_state.

        Returns
        -------
        LearningCurvesDisplay
            The curves, and the picture when it is asked for.
        """
        if measure not in NAMES:
            raise OptionError(f"measure must be 'error' or 'log_loss'; got {brief(measure)}.")
        made = cls(learning_curves(pair, X, y, **options), measure)
        return made if ax is None else made.plot(ax)

    def _columns(self) -> Mapping[str, Sequence[object] | Array]:
        found: dict[str, Any] = self.curves.frame("dict")
        return found

    def _draw(self, ax: Axes) -> list[Axes]:
        sizes, mean = self.curves.sizes, self.curves.mean(self.measure)
        spread = np.nan_to_num(self.curves.standard_error(self.measure))
        handles, names = [], []
        for m, name in enumerate(self.curves.names):
            look: style.Look = {"color": style.colour(m), "linestyle": style.dashes(m), "marker": style.marker(m)}
            low, high = np.maximum(mean[m] - 2 * spread[m], 0.0), mean[m] + 2 * spread[m]
            ax.fill_between(sizes, low, high, color=style.colour(m), alpha=0.18, linewidth=0, zorder=1)
            handles += ax.plot(
                sizes, mean[m], linewidth=1.9, markersize=6, markeredgecolor=style.INK, markeredgewidth=0.4, **look
            )
            count = self.curves.parameters[m]
            names.append(name if count is None else f"{name} ({count} parameters)")
        ax.set_xscale("log")
        ax.set_xlim(sizes[0] / 1.12, sizes[-1] * 1.12)
        self._draw_ticks(ax)
        ax.set_ylim(bottom=0)
        crossing = self.curves.crossing(self.measure)
        if crossing is not None:
            ax.axvline(crossing, color=style.FAINT, linewidth=1, linestyle=(0, (4, 2)), zorder=0)
            right = crossing**2 > float(sizes[0]) * float(sizes[-1])
            again = " again" if self.curves.winner(self.measure)[0] == 1 else ""
            ax.annotate(
                f"{text_fitting.shorten(self.curves.names[1], 22)}\nahead{again} from ≈ {crossing:.0f} rows",
                (crossing, 1),
                (-5 if right else 5, -3),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                ha="right" if right else "left",
                va="top",
                fontsize="small",
                color=style.INK,
                path_effects=style.halo(),
            )
        ax.set_xlabel("rows learned")
        ax.set_ylabel(NAMES[self.measure])
        if self.measure == "error":
            from matplotlib.ticker import PercentFormatter

            ax.yaxis.set_major_formatter(PercentFormatter(1.0))
        style.tidy(ax, "y")
        style.legend(ax, handles, names)
        return []

    def _draw_ticks(self, ax: Axes) -> None:
        """The sizes themselves, as far as they have room."""
        from matplotlib.ticker import NullLocator

        shown: list[int] = []
        for size in self.curves.sizes.tolist():
            if not shown or np.log(size / shown[-1]) > np.log(self.curves.sizes[-1] / self.curves.sizes[0]) / 12:
                shown.append(size)
        ax.set_xticks(shown, [f"{size:,}" for size in shown])
        ax.xaxis.set_minor_locator(NullLocator())
