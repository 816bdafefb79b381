"""Two columns as a plane: the grid over it, the posterior on the grid, and the rows that lie in it.

The other columns of a model of tallybayes are left out (`rest="marginal"`): a missing value is integrated out exactly,
so the plane shows P(class | these two columns). `rest="typical"` fixes them at their means and most frequent levels
instead, which any classifier can take.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np

from tallybayes.distributions.capabilities import plot_style
from tallybayes.errors import OptionError, TableError, brief
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.plots import style, text_fitting
from tallybayes.plots.plot_tables import (
    TableColumns,
    class_codes,
    classes_of,
    feature_names,
    is_ours,
    objects_of,
    pick,
    rows_of,
)
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

MOST_POINTS = 1000  # rows shown; more would hide the regions
FEW_COUNTS = 60  # a column of counts with at most this range is shown count by count
PAD = 0.08  # of the range of the rows, on each side
LOWEST = -600.0  # log-probabilities are cut here, so that contours see no −∞


@dataclass(frozen=True)
class Axis:
    """One side of the plane: a grid of numbers, or levels at the positions 0, 1, 2, …"""

    name: str
    values: Array
    levels: bool

    @property
    def at(self) -> Floats:
        """Where the values lie."""
        return np.arange(len(self.values), dtype=np.float64) if self.levels else self.values.astype(np.float64)

    @property
    def edges(self) -> Floats:
        """Where the cells around the values end."""
        at = self.at
        if len(at) == 1:
            return np.array([at[0] - 0.5, at[0] + 0.5])
        middle = (at[1:] + at[:-1]) / 2
        ends = (at[0] - 0.5, at[-1] + 0.5) if self.levels else (at[0], at[-1])
        return np.concatenate([[ends[0]], middle, [ends[1]]])

    def place(self, column: Array) -> Floats:
        """Return where the values of a column lie.

        Parameters
        ----------
        column : ndarray
            Values of a column.

        Returns
        -------
        ndarray of float
            NaN for what is missing or no level.
        """
        if not self.levels:  # `_axis` has made levels of a column that is no numbers
            return column.astype(np.float64)
        where = {str(v): float(i) for i, v in enumerate(self.values)}
        return np.array([np.nan if v is None else where.get(_level(v), np.nan) for v in column])


@dataclass(frozen=True)
class Plane:
    """log P(class | plane) on the grid, shape (len(y), len(x), K), and some rows: places, and classes (−1: unknown)."""

    x: Axis
    y: Axis
    classes: Array
    log_posterior: Floats
    points: Floats
    codes: Array

    @property
    def smooth(self) -> bool:
        """Are both sides numbers, so that lines can be drawn between grid points?"""
        return not self.x.levels and not self.y.levels and min(len(self.x.values), len(self.y.values)) > 1

    def cells(self) -> dict[str, list[object]]:
        """The two columns of the grid, as a frame has them."""
        u, v = np.meshgrid(np.arange(len(self.x.values)), np.arange(len(self.y.values)))
        return {self.x.name: self.x.values[u.ravel()].tolist(), self.y.name: self.y.values[v.ravel()].tolist()}


def _check_asked(X: object, y: object, grid: int, rest: str) -> None:
    if rest not in ("marginal", "typical"):
        raise OptionError(f"rest must be 'marginal' or 'typical'; got {brief(rest)}.")
    if not isinstance(grid, int | np.integer) or not 2 <= grid <= 2000:
        raise OptionError(f"grid must be a whole number from 2 to 2000; got {brief(grid)}.")
    if y is not None and X is None:
        raise OptionError("y was given without X.")


def make_plane(model: object, X: object, y: object, features: object, grid: int, rest: str, pad: float = PAD) -> Plane:
    """pad: how much wider than the rows it is on each side, as a part of their range."""
    classes = classes_of(model)
    _check_asked(X, y, grid, rest)
    table = None if X is None else TableColumns(X, model)
    names = feature_names(model, table)
    if table is not None:
        table.called(names)
    first, second = _two(names, features)
    shown = table
    if table is None:
        if not isinstance(model, GenerativeClassifier):
            raise OptionError(f"Give X: a {type(model).__name__} does not say where its rows lie.")
        shown = TableColumns(model.sample(2000, random_state=0)[0], model)
    assert shown is not None
    columns = [shown.column(pick(shown.names, name)) for name in (first, second)]
    axes = [_axis(model, name, column, grid, pad) for name, column in zip((first, second), columns, strict=True)]
    rows = grid_rows(model, axes, names, shown, rest)
    log_p = _log_posterior(model, rows).reshape(len(axes[1].values), len(axes[0].values), len(classes))
    points, codes = np.empty((0, 2)), np.empty(0, dtype=np.int64)
    if table is not None:
        points = np.column_stack([axis.place(column) for axis, column in zip(axes, columns, strict=True)])
        codes = class_codes(y, table.n, classes) if y is not None else np.full(table.n, -1)
    return Plane(axes[0], axes[1], classes, log_p, points, codes)


def _two(names: list[str], features: Any) -> tuple[str, str]:
    if features is None:
        if len(names) != 2:
            raise OptionError(f"The model has {len(names)} columns. Choose two with features=(…, …): {names[:6]}.")
        return names[0], names[1]
    if isinstance(features, str) or not hasattr(features, "__len__") or len(features) != 2:
        raise OptionError(f"features must be two columns; got {brief(features)}.")
    first, second = (pick(names, f) for f in features)
    if first == second:
        raise OptionError(f"features must be two different columns; got {brief(features)}.")
    return first, second


def _level(v: object) -> str:
    """A level as text."""
    return str(_whole([v])[0])


def _axis(model: object, name: str, column: Array, grid: int, part: float) -> Axis:
    kind = model.schema_.kinds[model.schema_.position(name)] if is_ours(model) else None
    if kind in ("categorical", "binary") or column.dtype == object:
        known = model.schema_.levels.get(model.schema_.position(name)) if is_ours(model) else None
        found: list[object] = (
            list(known.labels) if known is not None else _whole(sorted({v for v in column if v is not None and v == v}))
        )
        return Axis(name, objects_of(found), True)
    seen = column[np.isfinite(column)]
    if not len(seen):
        raise TableError(f"Column {name!r} has no values to show.")
    low, high = float(seen.min()), float(seen.max())
    if kind == "count":
        low, high = max(np.floor(low), 0), np.ceil(high) + 1
        return Axis(
            name, np.unique(np.round(np.linspace(low, high, int(min(high - low + 1, max(grid, FEW_COUNTS)))))), False
        )
    pad = part * (high - low) or max(abs(high), 1.0) * 0.1
    start = low - pad
    if is_ours(model) and high > 0:
        distribution = model.fitted_.term_of(model.schema_.position(name))[0].distribution
        if plot_style(distribution) == "positive":  # values of 0 or less have a probability, not a density
            start = max(start, low * 0.5 if low > 0 else high * 1e-3)
    return Axis(name, np.linspace(start, high + pad, grid), False)


def _whole(values: list[object]) -> list[object]:
    """Codes that went through floats are whole again."""
    return [int(v) if isinstance(v, float) and v.is_integer() else v for v in values]


def grid_rows(model: object, axes: list[Axis], names: list[str], shown: TableColumns | None, rest: str) -> object:
    """A table with a row for each point of the grid, x running fastest."""
    u, v = np.meshgrid(np.arange(len(axes[0].values)), np.arange(len(axes[1].values)))
    columns: dict[str, list[object]] = {
        axes[0].name: axes[0].values[u.ravel()].tolist(),
        axes[1].name: axes[1].values[v.ravel()].tolist(),
    }
    others = [name for name in names if name not in columns]
    if rest == "marginal" and others and not is_ours(model):
        raise OptionError(
            f"A {type(model).__name__} cannot leave columns out. rest='typical' fixes the other columns at their means "
            "and most frequent levels."
        )
    if rest == "typical":
        assert shown is not None
        columns |= {name: [_typical(shown.column(name))] * u.size for name in others}
    if is_ours(model):
        return rows_of(columns)
    assert shown is not None  # others are asked for X before
    ordered = {name: columns[name] for name in names}
    container: Any = shown.table.container
    if container in ("pandas", "polars", "pyarrow"):
        return nw.from_dict(ordered, backend=container).to_native()
    if container == "rows":
        return rows_of(ordered)
    return np.column_stack([np.asarray(c) for c in ordered.values()])


def _typical(column: Array) -> object:
    if column.dtype != object:
        return float(np.nanmean(column)) if np.isfinite(column).any() else np.nan
    return (
        Counter(v for v in column if v is not None).most_common(1)[0][0] if any(v is not None for v in column) else None
    )


def _log_posterior(model: object, rows: object) -> Floats:
    if hasattr(model, "predict_log_proba"):
        found = model.predict_log_proba(rows)
    else:
        assert hasattr(model, "predict_proba")  # or it would have no classes_of
        with np.errstate(divide="ignore"):
            found = np.log(model.predict_proba(rows))
    return np.maximum(np.asarray(found, dtype=np.float64), LOWEST)


# --- drawing -------------------------------------------------------------------------------------------------------


def label_axes(ax: Axes, plane: Plane, aspect: str = "auto") -> None:
    """Names of the columns, and of the levels where there are any; aspect 'equal': one unit is as long on both axes."""
    ax.set_xlabel(text_fitting.wrap(plane.x.name, 48, 2))
    ax.set_ylabel(text_fitting.wrap(plane.y.name, 36, 2))
    if plane.x.levels:
        crowded = sum(min(text_fitting.width(str(v)), 14) + 2 for v in plane.x.values) > 60
        labels = [text_fitting.shorten(v, 18) if crowded else text_fitting.wrap(v, 14, 2) for v in plane.x.values]
        ax.set_xticks(plane.x.at, labels, rotation=40 if crowded else 0, ha="right" if crowded else "center")
    if plane.y.levels:
        ax.set_yticks(plane.y.at, [text_fitting.wrap(v, 18, 2) for v in plane.y.values])
    ax.set_xlim(plane.x.edges[0], plane.x.edges[-1])
    ax.set_ylim(plane.y.edges[0], plane.y.edges[-1])
    if aspect == "equal":
        ax.set_aspect("equal", adjustable="box")


def draw_points(ax: Axes, plane: Plane, faint: bool = False) -> None:
    """Some rows as markers, the class by colour and shape; levels are spread a little, so that rows can be seen."""
    rng = np.random.default_rng(0)
    keep = np.flatnonzero(np.isfinite(plane.points).all(axis=1))
    if len(keep) > MOST_POINTS:
        keep = np.sort(rng.choice(keep, MOST_POINTS, replace=False))
    spread = rng.uniform(-0.3, 0.3, size=(len(keep), 2)) * [plane.x.levels, plane.y.levels]
    at, codes = plane.points[keep] + spread, plane.codes[keep]
    size = float(np.clip(4000 / max(len(keep), 1), 11, 28))
    for k in np.unique(codes):
        look: style.Look = (
            {"marker": ".", "color": style.FAINT} if k < 0 else {"marker": style.marker(k), "color": style.colour(k)}
        )
        ax.scatter(
            at[codes == k, 0],
            at[codes == k, 1],
            s=size,
            edgecolors=style.INK,
            linewidths=0.4,
            alpha=0.4 if faint else 0.95,
            zorder=3,
            **look,
        )


def draw_boundary(ax: Axes, plane: Plane, score: Floats, **look: Any) -> None:
    """The lines between the answers argmax score, each drawn once, so that dashes stay dashes."""
    from matplotlib.collections import LineCollection

    lines = smooth_lines(plane, score) if plane.smooth else cell_lines(plane, score)
    ax.add_collection(LineCollection(lines, **look), autolim=False)


def smooth_lines(plane: Plane, score: Floats) -> list[Floats]:
    """Where the score of the best class equals that of the next one: for each class, the part towards later classes."""
    from contourpy import contour_generator

    x, y, lines = plane.x.at, plane.y.at, []
    for k in np.unique(score.argmax(axis=-1)).tolist():
        others = score.copy()
        others[..., k] = -np.inf
        rival = others.argmax(axis=-1)
        ahead = np.clip(score[..., k] - others.max(axis=-1), -50, 50)
        for line in contour_generator(x, y, ahead).lines(0.0):
            points = np.asarray(line)
            i = np.abs(y[:, None] - points[:, 1]).argmin(axis=0)
            j = np.abs(x[:, None] - points[:, 0]).argmin(axis=0)
            later = rival[i, j] > k
            ends = np.flatnonzero(np.diff(np.concatenate([[0], later.astype(int), [0]])))
            lines += [points[max(a - 1, 0) : b + 1] for a, b in zip(ends[::2], ends[1::2], strict=True)]
    return [line for line in lines if len(line) > 1]


def cell_lines(plane: Plane, score: Floats) -> list[Any]:
    """Sides of cells between different answers, where an axis has levels."""
    answer, x, y = score.argmax(axis=-1), plane.x.edges, plane.y.edges
    down = [((x[j + 1], y[i]), (x[j + 1], y[i + 1])) for i, j in np.argwhere(answer[:, 1:] != answer[:, :-1])]
    across = [((x[j], y[i + 1]), (x[j + 1], y[i + 1])) for i, j in np.argwhere(answer[1:] != answer[:-1])]
    return [*down, *across]


def class_handles(plane: Plane, rows: bool) -> tuple[list[Artist], list[object]]:
    """For the legend: the marker of each class, or a square of its colour, and its name; the first ones if many."""
    from matplotlib.lines import Line2D

    look: style.Look = {"linestyle": "", "markersize": 7, "markeredgecolor": style.INK, "markeredgewidth": 0.4}
    seen = rows and bool((plane.codes >= 0).any())
    K = len(plane.classes)
    shown = K if K <= style.MOST_NAMED else style.MOST_NAMED
    handles: list[Artist] = [
        Line2D([], [], marker=style.marker(k) if seen else "s", color=style.colour(k), **look) for k in range(shown)
    ]
    names: list[object] = [*plane.classes.tolist()[:shown]]
    if shown < K:
        handles.append(Line2D([], [], linestyle=""))
        names.append(f"… {K - shown} more classes")
    return handles, names
