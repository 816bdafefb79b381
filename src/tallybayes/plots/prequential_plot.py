"""How a model does along a stream: prequential log-loss or accuracy, drift, and the half-life in force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tallybayes.data.table import read_table
from tallybayes.errors import OptionError, brief
from tallybayes.evaluation.prequential_evaluation import Prequential, prequential
from tallybayes.plots import style
from tallybayes.plots.display import Display
from tallybayes.utils.array_types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = {"log_loss": "prequential log-loss", "accuracy": "prequential accuracy"}
FOREVER = 1e5  # where a half-life of ∞ is drawn


class PrequentialDisplay(Display):
    """Prequential log-loss or accuracy of one or several models, block by block.

    Dotted lines: changes that the first model with ``drift_`` has found. The grey steps, on the right axis: its
    half-life in force, where it has one. Made by `from_estimator`, or from what `prequential` gave.

    Parameters
    ----------
    results : dict of {str: Prequential}
        By model: the result of `prequential`.
    measure : {'log_loss', 'accuracy'}, default='log_loss'
        What is shown.

    Attributes
    ----------
    results : dict
        As given.
    measure : str
        As given.
    figure_ : matplotlib Figure
        Drawn on first access.
    ax_ : matplotlib Axes
        Drawn on first access.

    See Also
    --------
    tallybayes.evaluation.prequential : Computes the numbers.

    Examples
    --------
    >>> from tallybayes import StreamingBayes
    >>> from tallybayes.plots import PrequentialDisplay
    >>> stream = [({"hour": float(i % 24)}, "night" if i % 24 < 6 else "day") for i in range(600)]
    >>> picture = PrequentialDisplay.from_estimator({"adaptive": StreamingBayes()}, stream, block=200)
    >>> picture.frame()["rows"].tolist()
    [200, 400, 599]
    """

    _size = (7.2, 3.8)

    def __init__(self, results: Mapping[str, Prequential], measure: str = "log_loss") -> None:
        if measure not in NAMES:
            raise OptionError(f"measure must be 'log_loss' or 'accuracy'; got {brief(measure)}.")
        if not results:
            raise OptionError("results must have at least one model.")
        self.results = dict(results)
        self.measure = measure

    @classmethod
    def from_estimator(
        cls,
        models: object,
        stream: Any,
        y: object = None,
        *,
        measure: str = "log_loss",
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Evaluate models on a stream.

        Parameters
        ----------
        models : classifier, or dict of {str: classifier}
            They learn the stream.
        stream : list of (dict, label), or a table
            The rows in their order.
        y : array-like of shape (n_rows,), default=None
            The labels of a table.
        measure : {'log_loss', 'accuracy'}, default='log_loss'
            What is shown.
        ax : matplotlib Axes, default=None
            Where to draw at once; without it, nothing is drawn yet.
        **options
            Those of `prequential`: block, batch, window, max_rows.

        Returns
        -------
        PrequentialDisplay
            The results, and the picture when it is asked for.
        """
        named = dict(models) if isinstance(models, Mapping) else {type(models).__name__: models}
        if y is None and len(named) > 1:
            stream = list(stream)  # each model reads it
        made = cls({name: prequential(model, stream, y, **options) for name, model in named.items()}, measure)
        made.container = "numpy" if y is None else read_table(stream).container
        return made if ax is None else made.plot(ax)

    def _columns(self) -> Mapping[str, Sequence[object] | Array]:
        found: dict[str, list[Any]] = {"model": [], "rows": [], "accuracy": [], "log_loss": [], "half_life": []}
        for name, result in self.results.items():
            found["model"] += [name] * len(result.blocks["rows"])
            for key, values in result.blocks.items():
                found[key] += values
        return found

    def _draw(self, ax: Axes) -> list[Axes]:
        handles, more = [], []
        for m, (_, result) in enumerate(self.results.items()):
            look: style.Look = {"color": style.colour(m), "linestyle": style.dashes(m)}
            handles += ax.plot(result.blocks["rows"], result.blocks[self.measure], linewidth=1.7, zorder=3, **look)
        for change in next((r.drift for r in self.results.values() if r.drift), []):
            ax.axvline(change.row, color=style.FAINT, linewidth=0.8, linestyle=":", zorder=1)
        ax.set_xlabel("rows learned")
        ax.set_ylabel(NAMES[self.measure])
        style.tidy(ax, "y")
        style.legend(ax, handles, list(self.results))
        memory = next((r for r in self.results.values() if np.isfinite(_steps(r)).any()), None)
        if memory is not None:
            right = ax.twinx()
            right.step(memory.blocks["rows"], _steps(memory), where="pre", color=style.FAINT, linewidth=1.0, alpha=0.7)
            right.set_yscale("log")
            right.set_ylim(30, 3 * FOREVER)
            right.set_yticks([1e2, 1e3, 1e4, FOREVER], ["100", "1,000", "10,000", "∞"])
            right.minorticks_off()
            right.set_ylabel("half-life in force")
            more.append(right)
        return more


def _steps(result: Prequential) -> Array:
    found: Array = np.minimum(np.array(result.blocks["half_life"], dtype=float), FOREVER)
    return found
