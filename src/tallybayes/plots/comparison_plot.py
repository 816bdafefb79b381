"""Which model suits a table: the leaderboard as points with their errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tallybayes.errors import OptionError, brief
from tallybayes.evaluation.comparison import Comparison
from tallybayes.plots import style, text_fitting
from tallybayes.plots.display import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = {
    "log_loss": "log-loss, lower is better",
    "accuracy": "accuracy, higher is better",
    "brier": "Brier score, lower is better",
    "calibration_error": "calibration error, lower is better",
}


class ComparisonDisplay(Display):
    """Scores of compared models with error bars of two standard errors, best first.

    Models of this library are filled points, others hollow ones. Models without figures are named below the axes.

    Parameters
    ----------
    comparison : Comparison
        Result of `compare_models`.
    measure : {'log_loss', 'accuracy', 'brier', 'calibration_error'}, default='log_loss'
        What is shown.

    Attributes
    ----------
    comparison : Comparison
        As given.
    measure : str
        As given.
    figure_ : matplotlib Figure
        Drawn on first access.
    ax_ : matplotlib Axes
        Drawn on first access.

    See Also
    --------
    tallybayes.compare_models : Makes the comparison.

    Examples
    --------
    >>> from tallybayes import compare_models
    >>> from tallybayes.datasets import load_watermelon
    >>> from tallybayes.plots import ComparisonDisplay
    >>> picture = ComparisonDisplay(compare_models(*load_watermelon()), "accuracy")
    >>> sorted(picture.frame("dict"))
    ['accuracy', 'accuracy_se', 'baseline', 'model']
    """

    def __init__(self, comparison: Comparison, measure: str = "log_loss") -> None:
        if not isinstance(comparison, Comparison):
            raise OptionError(f"comparison must be what compare_models gives; got {brief(comparison)}.")
        if measure not in NAMES:
            raise OptionError(f"measure must be one of {', '.join(NAMES)}; got {brief(measure)}.")
        self.comparison = comparison
        self.measure = measure
        self.container = comparison.container
        self._size = (6.8, 1.2 + 0.32 * max(len(comparison.entries), 3))

    def _columns(self) -> dict[str, Any]:
        found: dict[str, Any] = self.comparison.to_frame("dict")
        return {name: found[name] for name in ("model", "baseline", self.measure, f"{self.measure}_se")}

    def _draw(self, ax: Axes) -> list[Axes]:
        shown = [e for e in self.comparison.entries if not e.error]
        for i, e in enumerate(shown):
            found = getattr(e.scores, self.measure)
            look: style.Look = {"color": style.colour(0), "markersize": 7, "markeredgecolor": style.INK}
            look |= {"markerfacecolor": "white"} if e.baseline else {}
            ax.errorbar(found.value, i, xerr=2 * found.se, fmt="o", elinewidth=1.6, capsize=3, **look)
        ax.set_yticks(range(len(shown)), text_fitting.distinct([e.name for e in shown], 32, 1))
        ax.set_ylim(len(shown) - 0.5, -0.5)
        ax.set_xlabel(NAMES[self.measure])
        style.tidy(ax, "x")
        absent = [e.name for e in self.comparison.entries if e.error]
        if absent:
            style.note(ax, f"without figures: {text_fitting.shorten(', '.join(absent), 70)}")
        return []
