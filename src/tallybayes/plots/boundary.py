"""The decision boundary over two columns, with how sure the model is, class ellipses and rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy import ndimage
from scipy.special import logit, logsumexp

from tallybayes.errors import OptionError, brief
from tallybayes.plots import style, text_fitting
from tallybayes.plots.display import Display
from tallybayes.plots.gaussians import class_gaussians, ellipse
from tallybayes.plots.plane import Plane, class_handles, draw_boundary, draw_points, label_axes, make_plane
from tallybayes.plots.plot_tables import container_of, is_ours
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POSTERIOR_LEVELS = (0.75, 0.95)  # posterior contours
DEVIATIONS = 2.0  # of the class ellipses
MOST_ELLIPSES = 12  # classes with an ellipse each; more would hide the regions


class DecisionBoundaryDisplay(Display):
    """Decision regions in the plane of two columns, shaded by probability.

    Colour and name show the predicted class; the paler, the lower its posterior. Solid: the boundary. Dotted: where the
    posterior of the predicted class is 75% and 95%. Dashed ellipses (Gaussian columns): two standard deviations of
    P(x | class). Made by `from_estimator`.

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
        Drawn on first access.
    ax_ : matplotlib Axes
        Drawn on first access.

    See Also
    --------
    BoundaryShiftDisplay : Boundaries under several priors or losses.
    DensityContourDisplay : The densities behind the boundary.

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
        levels: Sequence[float] = POSTERIOR_LEVELS,
        ellipses: bool = True,
        segments: bool = False,
        aspect: str = "auto",
        legend: bool = True,
    ) -> Self:
        """Draws the regions; each layer over them can be left out.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; by default into a figure of its own.
        points : bool, default=True
            Whether the rows are shown.
        levels : sequence of float, default=(0.75, 0.95)
            Where dotted contours of the winner's posterior are drawn, each above 0 and below 1; () draws none.
        ellipses : bool, default=True
            Whether Gaussian columns show two standard deviations of each class, for at most 12 classes.
        segments : bool, default=False
            Whether the class means are joined by line segments (Gaussian columns). With a shared spherical covariance
            and `aspect="equal"` each segment is orthogonal to the boundary between its two classes.
        aspect : {'auto', 'equal'}, default='auto'
            'equal' gives one unit the same length on both axes, so that angles are true.
        legend : bool, default=True
            Whether there is a legend.

        Returns
        -------
        DecisionBoundaryDisplay
            Itself, drawn.
        """
        chosen = check_levels(levels)
        check_aspect(aspect, self.plane)
        check_segments(segments, None if self.gaussians is None else self.gaussians[0])
        draw = partial(
            self._draw,
            points=points,
            levels=chosen,
            ellipses=ellipses,
            segments=segments,
            aspect=aspect,
            legend=legend,
        )
        return self._draw_on(ax, draw)

    def _columns(self) -> Mapping[str, Sequence[object] | Array]:
        p = np.exp(self.plane.log_posterior).reshape(-1, len(self.plane.classes))
        labels = self.plane.classes.tolist()
        cells = {**self.plane.cells(), "answer": [labels[k] for k in p.argmax(axis=1)]}
        return cells | {f"P({label})": p[:, k] for k, label in enumerate(labels)}

    def _draw(
        self,
        ax: Axes,
        *,
        points: bool = True,
        levels: Sequence[float] = POSTERIOR_LEVELS,
        ellipses: bool = True,
        segments: bool = False,
        aspect: str = "auto",
        legend: bool = True,
    ) -> list[Axes]:
        plane, log_p = self.plane, self.plane.log_posterior
        ellipses = ellipses and self.gaussians is not None and len(plane.classes) <= MOST_ELLIPSES
        draw_regions(ax, plane)
        levels = self._draw_posterior(ax, levels) if plane.smooth else []
        draw_boundary(ax, plane, log_p, color=style.INK, linewidth=1.5, zorder=2)
        if points:
            draw_points(ax, plane)
        taken = [plane.points] if points else []
        if ellipses:
            taken += self._draw_ellipses(ax)
        if segments and self.gaussians is not None:
            draw_segments(ax, self.gaussians[0])
        if plane.x.levels and plane.y.levels:
            name_cells(ax, plane)
        else:
            name_regions(ax, plane, taken)
        label_axes(ax, plane, aspect)
        if legend:
            self._draw_legend(ax, points, levels, ellipses)
        return []

    def _draw_ellipses(self, ax: Axes) -> list[Floats]:
        """Two standard deviations of each class around its mean; returns where they lie."""
        assert self.gaussians is not None
        outlines = [ellipse(mean, cov, DEVIATIONS) for mean, cov in zip(*self.gaussians, strict=True)]
        for k, (mean, outline) in enumerate(zip(self.gaussians[0], outlines, strict=True)):
            dash: style.Look = {"color": style.colour(k), "linewidth": 1.5, "linestyle": (0, (4, 1.5))}
            ax.plot(*outline.T, color="white", linewidth=2.6, zorder=3.5)
            ax.plot(*outline.T, zorder=3.6, **dash)
            rim: style.Look = {"markersize": 9, "markeredgecolor": "white", "markeredgewidth": 1.5}
            ax.plot(*mean, style.marker(k), color=style.colour(k), zorder=3.7, **rim)
        return outlines

    def _draw_posterior(self, ax: Axes, wanted: Sequence[float]) -> Sequence[float]:
        """Contours of the winner's log-odds: those of its probability, but smooth. Returns the levels that occur."""
        top = np.sort(self.plane.log_posterior, axis=-1)
        odds = np.clip(top[..., -1] - logsumexp(top[..., :-1], axis=-1), -50, 50)
        names = {float(logit(p)): f"{p:.3g}" if p > 0.995 else f"{p:.0%}" for p in wanted}
        levels = [level for level in names if odds.min() < level < odds.max()]
        if not levels:
            return []
        look: style.Look = {"colors": [style.FAINT], "linewidths": 0.8, "linestyles": ["dotted"]}
        lines = ax.contour(self.plane.x.at, self.plane.y.at, odds, levels=levels, **look)
        for label in ax.clabel(lines, fmt=names, fontsize=7, inline_spacing=2):
            label.set_path_effects(style.halo(1.5))
        return [p for p in wanted if float(logit(p)) in levels]

    def _draw_legend(self, ax: Axes, points: bool, levels: Sequence[float], ellipses: bool) -> None:
        from matplotlib.lines import Line2D

        handles, names = class_handles(self.plane, points)
        handles.append(Line2D([], [], color=style.INK, linewidth=1.5))
        names.append("boundary")
        if levels:
            handles.append(Line2D([], [], color=style.FAINT, linewidth=0.9, linestyle="dotted"))
            names.append("posterior of the predicted class")
        if ellipses:
            handles.append(Line2D([], [], color=style.INK, linewidth=1.2, linestyle=(0, (4, 1.5))))
            names.append("2 standard deviations")
        style.legend(ax, handles, names)


def check_levels(levels: object) -> list[float]:
    """Posterior contours as numbers between 0 and 1, in order."""
    wanted = np.ravel(np.asarray(levels, dtype=object)).tolist()
    if not all(isinstance(p, int | float) and 0 < p < 1 for p in wanted):
        raise OptionError(f"levels must be probabilities between 0 and 1, or (); got {brief(levels)}.")
    return sorted({float(p) for p in wanted})


def check_aspect(aspect: object, plane: Plane) -> None:
    """'equal' needs two axes of numbers."""
    if aspect not in ("auto", "equal"):
        raise OptionError(f"aspect must be 'auto' or 'equal'; got {brief(aspect)}.")
    if aspect == "equal" and (plane.x.levels or plane.y.levels):
        raise OptionError("aspect='equal' needs two columns of numbers: the levels of a category have no unit.")


def check_segments(segments: object, means: Floats | None) -> None:
    """Only Gaussian columns have class means that a segment can join."""
    if segments and means is None:
        raise OptionError(
            "segments=True joins the class means of two Gaussian columns; the model has none of these two."
        )


def draw_segments(ax: Axes, means: Floats) -> None:
    """The segment between the means of each two classes."""
    for k, one in enumerate(means):
        for other in means[k + 1 :]:
            ax.plot(*np.array([one, other]).T, color=style.INK, linewidth=1.1, zorder=3.4)


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


def name_regions(ax: Axes, plane: Plane, taken: Sequence[Floats] = ()) -> None:
    """The winner's name in its largest region, clear of rows and outlines where it can be; so colour is not needed."""
    best = plane.log_posterior.argmax(axis=-1)
    ny, nx = best.shape
    fine = max(1, 120 // min(ny, nx))  # levels are few: look between them
    free = np.ones((ny * fine, nx * fine), dtype=bool)
    for at in taken:
        inside = np.isfinite(at).all(axis=1)
        j = np.interp(at[inside, 0], plane.x.edges, np.arange(nx + 1) * fine)
        i = np.interp(at[inside, 1], plane.y.edges, np.arange(ny + 1) * fine)
        free[np.minimum(i.astype(int), ny * fine - 1), np.minimum(j.astype(int), nx * fine - 1)] = False
    for k, name in enumerate(text_fitting.distinct(plane.classes.tolist(), 14, 2)):
        lines = name.split("\n")
        # half of the text, as shares of the axes
        high, wide = 0.03 * len(lines), 0.01 * max(map(text_fitting.width, lines))
        region = np.kron(best == k, np.ones((fine, fine), dtype=bool))
        for inside in (region & free, region):
            spacing = (1 / (ny * fine * high), 1 / (nx * fine * wide))
            room = ndimage.distance_transform_edt(np.pad(inside, 1), sampling=spacing)
            i, j = np.unravel_index(int(room.argmax()), room.shape)
            if room[i, j] > 0.9:
                x = np.interp((j - 0.5) / fine, np.arange(nx + 1), plane.x.edges)
                y = np.interp((i - 0.5) / fine, np.arange(ny + 1), plane.y.edges)
                _write(ax, float(x), float(y), name)
                break


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
