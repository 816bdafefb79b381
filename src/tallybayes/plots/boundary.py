"""The decision boundary over two columns, with how sure the model is, class ellipses and rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy import ndimage
from scipy.special import logsumexp

from tallybayes.plots import style, text_fitting
from tallybayes.plots.display import Display
from tallybayes.plots.gaussians import class_gaussians, ellipse
from tallybayes.plots.plane import Plane, class_handles, draw_boundary, draw_points, label_axes, make_plane
from tallybayes.plots.plot_tables import container_of, is_ours
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SURE = (0.75, 0.95)  # posterior contours
DEVIATIONS = 2.0  # of the class ellipses


class DecisionBoundaryDisplay(Display):
    """Which class wins where in the plane of two columns, and how surely.

    Colour and name say which class wins; the paler, the less sure. Solid: the boundary. Dotted: where the winner has
    75 % and 95 %. Dashed ellipses (Gaussian columns): two standard deviations of P(x | class). Made by
    `from_estimator`.

    Parameters
    ----------
    plane : Plane
        log P(class | the two columns) on a grid, and some rows.
    gaussians : tuple of (means, covariances), default=None
        Of the two columns in each class, shapes (n_classes, 2) and (n_classes, 2, 2), where they are Gaussian.

    Attributes
    ----------
    plane, gaussians
        As given.
    figure_ : matplotlib Figure
        Drawn when first asked for.
    ax_ : matplotlib Axes
        Drawn when first asked for.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tallybayes import QuadraticDiscriminantAnalysis
    >>> from tallybayes.plots import DecisionBoundaryDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = QuadraticDiscriminantAnalysis().fit(X, y)
    >>> picture = DecisionBoundaryDisplay.from_estimator(model, X, y, features=(2, 3), grid=20)
    >>> list(picture.frame())
    ['x2', 'x3', 'answer', 'P(0)', 'P(1)', 'P(2)']
    """

    _size = (7.4, 4.8)

    def __init__(self, plane: Plane, gaussians: tuple[Floats, Floats] | None = None) -> None:
        self.plane = plane
        self.gaussians = gaussians

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: object = None,
        y: object = None,
        *,
        features: object = None,
        grid: int = 200,
        rest: str = "marginal",
        ax: Axes | None = None,
    ) -> Self:
        """The posterior of a fitted classifier over two of its columns.

        Parameters
        ----------
        estimator : fitted classifier with predict_proba
            A model of tallybayes, or any other.
        X : table, default=None
            Rows to show; they also set the range. Without them, a model of tallybayes shows where its samples lie.
        y : array of shape (n_rows,), default=None
            Their classes.
        features : two columns by name or position, default=None
            Needed if the model has more than two.
        grid : int, default=200
            Points along each numeric column.
        rest : {'marginal', 'typical'}, default='marginal'
            What the other columns are: left out, exactly (models of tallybayes), or fixed at their means and most
            frequent levels.
        ax : matplotlib Axes, default=None
            Where to draw at once; without it, nothing is drawn yet.

        Returns
        -------
        DecisionBoundaryDisplay
            The numbers, and the picture when it is asked for.
        """
        plane = make_plane(estimator, X, y, features, grid, rest)
        gaussians = None
        if is_ours(estimator) and rest == "marginal":
            gaussians = class_gaussians(estimator, plane.x.name, plane.y.name)
        made = cls(plane, gaussians)
        made.container = container_of(estimator)
        return made if ax is None else made.plot(ax)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        points: bool = True,
        contours: bool = True,
        ellipses: bool = True,
        legend: bool = True,
    ) -> Self:
        """Draws the regions; each layer over them can be left away.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; by default into a figure of its own.
        points : bool, default=True
            Whether the rows are shown.
        contours : bool, default=True
            Whether dotted lines show where the winner has 75 % and 95 %.
        ellipses : bool, default=True
            Whether Gaussian columns show two standard deviations of each class.
        legend : bool, default=True
            Whether there is a legend.

        Returns
        -------
        DecisionBoundaryDisplay
            Itself, drawn.
        """
        return self._draw_on(
            ax, partial(self._draw, points=points, contours=contours, ellipses=ellipses, legend=legend)
        )

    def _columns(self) -> Mapping[str, Sequence[object] | Array]:
        p = np.exp(self.plane.log_posterior).reshape(-1, len(self.plane.classes))
        labels = self.plane.classes.tolist()
        cells = {**self.plane.cells(), "answer": [labels[k] for k in p.argmax(axis=1)]}
        return cells | {f"P({label})": p[:, k] for k, label in enumerate(labels)}

    def _draw(
        self, ax: Axes, *, points: bool = True, contours: bool = True, ellipses: bool = True, legend: bool = True
    ) -> list[Axes]:
        plane, log_p = self.plane, self.plane.log_posterior
        draw_regions(ax, plane)
        if contours and plane.smooth:
            self._draw_sureness(ax)
        draw_boundary(ax, plane, log_p, color=style.INK, linewidth=1.5, zorder=2)
        if points:
            draw_points(ax, plane)
        if ellipses and self.gaussians is not None:
            for k, (mean, cov) in enumerate(zip(*self.gaussians, strict=True)):
                ax.plot(*ellipse(mean, cov, DEVIATIONS).T, color="white", linewidth=2.6, zorder=3.5)
                ax.plot(
                    *ellipse(mean, cov, DEVIATIONS).T,
                    color=style.colour(k),
                    linewidth=1.5,
                    linestyle=(0, (4, 1.5)),
                    zorder=3.6,
                )
                ax.plot(
                    *mean,
                    style.marker(k),
                    color=style.colour(k),
                    markersize=9,
                    markeredgecolor="white",
                    markeredgewidth=1.5,
                    zorder=3.7,
                )
        if plane.x.levels and plane.y.levels:
            name_cells(ax, plane)
        else:
            name_regions(ax, plane)
        label_axes(ax, plane)
        if legend:
            self._draw_legend(ax, points, contours, ellipses)
        return []

    def _draw_sureness(self, ax: Axes) -> None:
        """Contours of the winner's log-odds: those of its probability, but smooth."""
        top = np.sort(self.plane.log_posterior, axis=-1)
        odds = np.clip(top[..., -1] - logsumexp(top[..., :-1], axis=-1), -50, 50)
        levels = [float(np.log(p / (1 - p))) for p in SURE]
        if odds.max() <= levels[0] or odds.min() >= levels[-1]:
            return
        lines = ax.contour(
            self.plane.x.at,
            self.plane.y.at,
            odds,
            levels=levels,
            colors=[style.FAINT],
            linewidths=0.8,
            linestyles=["dotted"],
        )
        names = {level: f"{p:.0%}" for level, p in zip(levels, SURE, strict=True)}
        for label in ax.clabel(lines, fmt=names, fontsize=7, inline_spacing=2):
            label.set_path_effects(style.halo(1.5))

    def _draw_legend(self, ax: Axes, points: bool, contours: bool, ellipses: bool) -> None:
        from matplotlib.lines import Line2D

        handles = class_handles(self.plane, points)
        names = [*self.plane.classes.tolist()]
        handles.append(Line2D([], [], color=style.INK, linewidth=1.5))
        names.append("boundary")
        if contours and self.plane.smooth:
            handles.append(Line2D([], [], color=style.FAINT, linewidth=0.9, linestyle="dotted"))
            names.append("so sure of the answer")
        if ellipses and self.gaussians is not None:
            handles.append(Line2D([], [], color=style.INK, linewidth=1.2, linestyle=(0, (4, 1.5))))
            names.append("2 standard deviations")
        style.legend(ax, handles, names)


def draw_regions(ax: Axes, plane: Plane, strength: float = 0.32) -> None:
    """The colour of the winner, paler where it is less sure."""
    p = np.exp(plane.log_posterior)
    K = p.shape[-1]
    best, sure = p.argmax(axis=-1), p.max(axis=-1)
    amount = (0.08 + strength * np.clip((sure - 1 / K) / max(1 - 1 / K, 1e-9), 0, 1))[..., None]
    palette = np.array([style.rgb(k) for k in range(K)])
    ax.pcolormesh(
        plane.x.edges, plane.y.edges, 1 - amount + amount * palette[best], shading="flat", zorder=0, rasterized=True
    )


def name_regions(ax: Axes, plane: Plane) -> None:
    """The winner's name in the middle of its largest region, where there is room; so colour is not needed."""
    best = plane.log_posterior.argmax(axis=-1)
    ny, nx = best.shape
    fine = max(1, 120 // min(ny, nx))  # levels are few: look between them
    for k, name in enumerate(text_fitting.distinct(plane.classes.tolist(), 14, 2)):
        lines = name.split("\n")
        high, wide = (
            0.03 * len(lines),
            0.01 * max(map(text_fitting.width, lines)),
        )  # half of the text, as shares of the axes
        inside = np.pad(np.kron(best == k, np.ones((fine, fine), dtype=bool)), 1)
        room = ndimage.distance_transform_edt(inside, sampling=(1 / (ny * fine * high), 1 / (nx * fine * wide)))
        i, j = np.unravel_index(int(room.argmax()), room.shape)
        if room[i, j] > 0.9:
            x = np.interp((j - 0.5) / fine, np.arange(nx + 1), plane.x.edges)
            y = np.interp((i - 0.5) / fine, np.arange(ny + 1), plane.y.edges)
            _write(ax, float(x), float(y), name)


def name_cells(ax: Axes, plane: Plane) -> None:
    """Levels on both sides: the winner's name and its probability in each cell."""
    p = np.exp(plane.log_posterior)
    most = 12 if p.shape[1] <= 6 else 6
    names = text_fitting.distinct(plane.classes.tolist(), most)
    if p.shape[0] * p.shape[1] <= 80:
        for i, j in np.ndindex(*p.shape[:2]):
            _write(ax, float(j), float(i), f"{names[p[i, j].argmax()]}\n{p[i, j].max():.0%}")


def _write(ax: Axes, x: float, y: float, name: str) -> None:
    look: style.Look = {"fontsize": "small", "fontweight": "bold", "color": style.INK, "path_effects": style.halo()}
    ax.text(x, y, name, ha="center", va="center", zorder=5, clip_on=True, **look)
