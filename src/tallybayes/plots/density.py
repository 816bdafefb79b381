"""The distribution of each column given the class: curves, bars and intervals, over the rows if given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tallybayes.errors import OptionError
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.plots import style, text_fitting
from tallybayes.plots.display import Display
from tallybayes.plots.panels import Panel, make_panels
from tallybayes.plots.plot_tables import (
    TableColumns,
    class_codes,
    container_of,
    feature_names,
    pick,
    pick_class,
    require_ours,
)
from tallybayes.utils.array_types import Array

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.ticker import PercentFormatter

MOST_PANELS = 6  # columns shown if none are chosen
TOGETHER = 4  # up to so many classes share one pair of axes; more get a line each
MOST_CLASSES = 30  # classes shown if none are chosen: those with most rows


class ClassDensityDisplay(Display):
    """P(x_j | class) for each column: a curve for numbers, bars for whole numbers, levels and intervals.

    Up to four classes lie over each other. More have a line each, where every curve is scaled to the same height; and
    levels become a table of percentages. With X and y, the observed shares are drawn behind in grey or in outline. More
    than 24 intervals of a column are joined into 24; the picture states that, and which columns and classes are not
    shown. Made by `from_estimator`.

    Parameters
    ----------
    panels : list of Panel
        One for each column: values, and the density of each class at them.
    classes : array of shape (n_classes,)
        The class labels.
    columns : int, default=None
        Number of columns of the model; by default those of the panels.
    n_classes : int, default=None
        Number of classes of the model; by default those shown.

    Attributes
    ----------
    panels, classes
        As given.
    shown, hidden : int
        Number of columns that are shown and hidden.
    n_classes : int
        Number of classes of the model.
    axes_ : list of matplotlib Axes
        Of each panel, once it is drawn.
    figure_ : matplotlib Figure
        Drawn on first access.
    ax_ : matplotlib Axes
        Drawn when first asked for: the whole, which the panels divide among them.

    See Also
    --------
    DensityContourDisplay : Densities over two columns.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.datasets import load_watermelon
    >>> from tallybayes.plots import ClassDensityDisplay
    >>> rows, ripe = load_watermelon()
    >>> picture = ClassDensityDisplay.from_estimator(NaiveBayes().fit(rows, ripe), features=["texture"])
    >>> picture.frame("pandas")[["class", "value", "density"]].round(3).values.tolist()[:3]
    [['no', 'clear', 0.25], ['no', 'slightly blurry', 0.417], ['no', 'blurry', 0.333]]
    """

    def __init__(
        self, panels: list[Panel], classes: Array, *, columns: int | None = None, n_classes: int | None = None
    ) -> None:
        self.panels = panels
        self.classes = classes
        self.shown = sum(len(p.values) if p.kind == "shares" else 1 for p in panels)
        self.hidden = 0 if columns is None else max(columns - self.shown, 0)
        self.n_classes = len(classes) if n_classes is None else n_classes
        self.axes_: list[Axes] = []

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: object = None,
        y: object = None,
        *,
        features: Any = None,
        labels: object = None,
        ax: Axes | None = None,
    ) -> Self:
        """The densities of a fitted model, column by column.

        Parameters
        ----------
        estimator : fitted classifier of tallybayes
            The model that is shown.
        X : table, default=None
            Rows to compare it with; together with y, or not at all.
        y : array of shape (n_rows,), default=None
            Their classes.
        features : str, int, or list of them, default=None
            Columns by name or position; by default the first six.
        labels : list of class labels, default=None
            The classes that are shown; by default all of them, or of more than 30 those with most rows.
        ax : matplotlib Axes, default=None
            Where to draw at once; without it, nothing is drawn yet.

        Returns
        -------
        ClassDensityDisplay
            The numbers, and the picture when it is asked for.
        """
        model = require_ours(estimator, "ClassDensityDisplay")
        if (X is None) != (y is None):
            raise OptionError("Give both X and y, or neither.")
        table = None if X is None else TableColumns(X, model)
        names = feature_names(model, table)
        if table is not None:
            table.called(names)
        if features is None:
            chosen = names[:MOST_PANELS]
        else:
            wanted = [features] if isinstance(features, str | int) else list(features)
            chosen = [pick(names, f) for f in wanted]
        if not chosen:
            raise OptionError("features is empty. Name at least one column.")
        codes = None if table is None else class_codes(y, table.n, model.classes_)
        panels = make_panels(model, table, codes, chosen)
        shown = _chosen_classes(model, labels)
        made = cls(
            [panel.of_classes(shown) for panel in panels],
            model.classes_[shown],
            columns=len(names) if features is None else None,
            n_classes=len(model.classes_),
        )
        made.container = container_of(model)
        return made if ax is None else made.plot(ax)

    @property
    def _many(self) -> bool:
        return len(self.classes) > TOGETHER

    @property
    def _size(self) -> tuple[float, float]:  # type: ignore[override]
        rows, columns = self._grid()
        tall = 2.7 if not self._many else 1.2 + 0.34 * len(self.classes)
        if any(p.of_levels for p in self.panels):
            tall = max(tall, 1.1 + 0.3 * max(len(p.values) for p in self.panels if p.of_levels))
        return min(4.3 * columns + (0 if self._many else 1.6), 14.0), min(tall * rows, 18.0)

    def _grid(self) -> tuple[int, int]:
        n = len(self.panels)
        columns = 1 if n == 1 else 2 if n in (2, 4) else 3
        return -(-n // columns), columns

    def _columns(self) -> Mapping[str, Sequence[object] | Array]:
        out: dict[str, list[Any]] = {"feature": [], "class": [], "value": [], "density": []}
        observed: list[object] = []
        for panel in self.panels:
            for k, label in enumerate(self.classes.tolist()):
                m = len(panel.values)
                out["feature"] += [panel.name] * m
                out["class"] += [label] * m
                out["value"] += [str(v) for v in panel.values] if self._mixed() else panel.values.tolist()
                out["density"] += panel.density[k].tolist()
                observed += [None] * m if panel.observed is None else panel.observed[k].tolist()
        return out if all(p.observed is None for p in self.panels) else {**out, "observed": observed}

    def _mixed(self) -> bool:
        """Are there levels beside numbers? Then all values are text: a column of a frame has one type."""
        return len({p.of_levels for p in self.panels}) > 1

    def _draw(self, ax: Axes) -> list[Axes]:
        rows, columns = self._grid()
        if len(self.panels) == 1:
            self.axes_ = [ax]
        else:
            ax.set_axis_off()
            spec = ax.get_subplotspec()
            if spec is None:
                raise OptionError(
                    f"{len(self.panels)} columns need axes from subplots(), or features= with one column."
                )
            inner = spec.subgridspec(rows, columns)
            self.axes_ = [ax.figure.add_subplot(inner[i // columns, i % columns]) for i in range(len(self.panels))]
        for i, (panel, place) in enumerate(zip(self.panels, self.axes_, strict=True)):
            draw = (
                (_levels_table if panel.of_levels else _lines)
                if self._many
                else (_levels if panel.of_levels else _together)
            )
            draw(place, panel, self.classes, i % columns == 0)
            place.set_title(text_fitting.wrap(panel.name, 34, 2), fontsize="medium")
            if panel.joined:
                style.note(place, f"{panel.joined} intervals, joined into {len(panel.values)}")
        if not self._many:
            self._draw_legend(self.axes_[min(columns, len(self.panels)) - 1])
        left_out = []
        if self.hidden:
            left_out.append(f"{self.shown} of {self.shown + self.hidden} columns; features=[…] chooses others")
        if len(self.classes) < self.n_classes:
            left_out.append(f"{len(self.classes)} of {self.n_classes} classes; labels=[…] chooses others")
        if left_out:
            style.note(self.axes_[-1], "\n".join(left_out))
        return self.axes_

    def _draw_legend(self, ax: Axes) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        handles: list[Artist] = []
        for k in range(len(self.classes)):
            look: style.Look = {"color": style.colour(k), "linestyle": style.dashes(k)}
            levels = all(p.of_levels for p in self.panels)
            handles.append(_patch(k) if levels else Line2D([], [], linewidth=2, **look))
        names = self.classes.tolist()
        if any(p.observed is not None for p in self.panels):
            handles.append(Patch(facecolor="none", edgecolor=style.FAINT, linewidth=0.8))
            names = [*names, "rows"]
        style.legend(ax, handles, names)


def _chosen_classes(model: GenerativeClassifier, labels: object) -> Array:
    """The positions of the classes that are shown, in the order of classes_."""
    K = len(model.classes_)
    if labels is not None:
        wanted = [labels] if isinstance(labels, str) or not isinstance(labels, Iterable) else list(labels)
        if not wanted:
            raise OptionError("labels is empty. Name at least one class.")
        return np.unique([pick_class(model.classes_, label) for label in wanted])
    order = np.argsort(-np.asarray(model.class_count_), kind="stable")
    return np.sort(order[:MOST_CLASSES]) if K > MOST_CLASSES else np.arange(K)


def _patch(k: int) -> Artist:
    from matplotlib.patches import Patch

    return Patch(facecolor=style.colour(k), hatch=style.hatch(k), edgecolor="white", linewidth=0)


def _together(ax: Axes, panel: Panel, classes: Array, first: bool) -> None:
    """Numbers, few classes: one over the other."""
    for k in range(len(classes)):
        look: style.Look = {"color": style.colour(k), "linestyle": style.dashes(k), "linewidth": 1.9}
        if panel.observed is not None:
            bars = _bars(panel)
            height = panel.observed[k] if panel.bars is None else _at(panel, k, bars)
            ax.stairs(height, bars, fill=True, color=style.colour(k), alpha=0.16, zorder=1)
            ax.stairs(height, bars, color=style.colour(k), alpha=0.55, linewidth=0.7, zorder=1.1)
        if panel.kind == "bins":
            ax.stairs(panel.density[k], panel.edges, zorder=3, **look)
        else:
            dots: style.Look = {"marker": style.marker(k), "markersize": 4.5} if panel.kind == "whole" else {}
            ax.plot(panel.values, panel.density[k], zorder=3, **look, **dots)
    ax.set_ylim(0, _top(panel))
    style.tidy(ax)
    ax.locator_params(axis="y", nbins=4)
    if first:
        ax.set_ylabel("probability" if panel.kind == "whole" else "density")


def _lines(ax: Axes, panel: Panel, classes: Array, first: bool) -> None:
    """Numbers, many classes: a line each, the name beside it."""
    K = len(classes)
    for k in range(K):
        base, tall = K - 1 - k, 0.85 / max(float(panel.density[k].max()), 1e-300)
        x, p = panel.values.astype(float), panel.density[k]
        if panel.kind == "bins":
            assert panel.edges is not None
            x, p = np.repeat(panel.edges, 2)[1:-1], np.repeat(p, 2)
        ax.fill_between(x, base, base + tall * p, color=style.colour(k), alpha=0.45, linewidth=0, zorder=2)
        dots: style.Look = {"marker": style.marker(k), "markersize": 3} if panel.kind == "whole" else {}
        ax.plot(x, base + tall * p, color=style.INK, linewidth=0.9, zorder=3, **dots)
        if panel.observed is not None:
            bars = _bars(panel)
            height = panel.observed[k] if panel.bars is None else _at(panel, k, bars)
            ax.stairs(
                base + np.minimum(tall * height, 1.3), bars, baseline=base, color=style.FAINT, linewidth=0.7, zorder=1
            )
    ax.set_yticks(range(K), text_fitting.distinct(text_names(classes), 16, 2)[::-1] if first else [""] * K)
    ax.set_ylim(-0.1, K + 0.05)
    style.tidy(ax)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)


def text_names(classes: Array) -> list[str]:
    return [text_fitting.clean(v) for v in classes.tolist()]


def _levels(ax: Axes, panel: Panel, classes: Array, first: bool) -> None:  # noqa: ARG001
    """Levels, few classes: bars side by side, lying, so that names have room."""
    K, m = len(classes), len(panel.values)
    thick = 0.8 / K
    for k in range(K):
        at = np.arange(m) + (k - (K - 1) / 2) * thick
        ax.barh(
            at,
            panel.density[k],
            thick * 0.92,
            color=style.colour(k),
            hatch=style.hatch(k),
            edgecolor="white",
            linewidth=0,
            zorder=2,
        )
        if panel.observed is not None:
            ax.barh(at, panel.observed[k], thick * 0.92, facecolor="none", edgecolor=style.INK, linewidth=0.8, zorder=3)
    ax.set_yticks(range(m), text_fitting.distinct(panel.values.tolist(), 18, 2))
    ax.set_ylim(m - 0.5, -0.5)
    named = panel.named
    if named < m and (longest := float(panel.density[:, :named].max())) < 0.5 * float(panel.density[:, -1].max()):
        ax.set_xlim(0, 1.25 * longest)  # the sum of all others would hide the levels that have a name
        for k in range(K):
            place = named + (k - (K - 1) / 2) * thick
            look: style.Look = {"fontsize": "x-small", "ha": "right", "va": "center", "path_effects": style.halo()}
            ax.text(1.23 * longest, place, f"{panel.density[k, -1]:.0%}", color=style.INK, zorder=4, **look)
    style.tidy(ax, "x")
    ax.xaxis.set_major_formatter(_percent())
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)


def _levels_table(ax: Axes, panel: Panel, classes: Array, first: bool) -> None:
    """Levels, many classes: percentages, shaded."""
    from matplotlib.colors import LinearSegmentedColormap

    shade = LinearSegmentedColormap.from_list("paper", ["#ffffff", style.COLOURS[0]])
    top = max(float(panel.density[:, : panel.named].max()), 1e-300)
    ax.pcolormesh(panel.density, cmap=shade, vmin=0, vmax=top, edgecolors="white", linewidth=1)
    digits = 0 if top > 0.05 else 1
    for k, v in np.ndindex(*panel.density.shape):
        ax.text(
            v + 0.5,
            k + 0.5,
            f"{100 * panel.density[k, v]:.{digits}f}",
            ha="center",
            va="center",
            fontsize="x-small",
            color=style.INK,
        )
    K, m = panel.density.shape
    ax.set_yticks(np.arange(K) + 0.5, text_fitting.distinct(text_names(classes), 16, 2) if first else [""] * K)
    tilt = sum(min(text_fitting.width(str(v)), 14) + 2 for v in panel.values) > 34
    names = text_fitting.distinct(panel.values.tolist(), 14)
    ax.set_xticks(
        np.arange(m) + 0.5, names, rotation=40 if tilt else 0, ha="right" if tilt else "center", rotation_mode="anchor"
    )
    ax.set_xlabel("percent", fontsize="small", color=style.FAINT)
    ax.set_ylim(K, 0)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _bars(panel: Panel) -> Array:
    if panel.bars is not None:
        return panel.bars
    if panel.edges is not None:
        return panel.edges
    return np.concatenate([panel.values - 0.5, [panel.values[-1] + 0.5]])


def _at(panel: Panel, k: int, bars: Array) -> Array:
    """The observed heights bar by bar, from those at the points of the curve."""
    assert panel.observed is not None
    where = np.clip(np.searchsorted(panel.values, (bars[1:] + bars[:-1]) / 2), 0, len(panel.values) - 1)
    return np.asarray(panel.observed[k][where])


def _top(panel: Panel) -> float:
    """A class that hardly varies must not flatten the others."""
    peaks = np.sort(
        np.array(
            [
                panel.density.max(axis=1),
                panel.density.max(axis=1) if panel.observed is None else panel.observed.max(axis=1),
            ]
        ).max(axis=0)
    )
    middle = float(np.median(peaks[peaks > 0])) if (peaks > 0).any() else 1.0
    return 1.06 * max(min(float(peaks[-1]), 6 * middle), 1e-300)


def _percent() -> PercentFormatter:
    from matplotlib.ticker import PercentFormatter

    return PercentFormatter(1.0, decimals=None)
