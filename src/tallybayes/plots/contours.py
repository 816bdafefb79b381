"""The density of each class over two columns: concentric contours over the rows, with the decision boundary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np

from tallybayes.errors import OptionError, brief
from tallybayes.plots import style
from tallybayes.plots.boundary import check_aspect, check_segments, draw_regions, draw_segments, name_regions
from tallybayes.plots.display import Display
from tallybayes.plots.gaussians import class_gaussians
from tallybayes.plots.joint_density import Densities, heights, make_densities
from tallybayes.plots.plane import draw_boundary, draw_points, label_axes
from tallybayes.plots.plot_tables import container_of, is_ours
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)


class DensityContourDisplay(Display):
    """Contours of p(x, y | class) in the plane of two numeric columns, with the decision boundary.

    Each contour is the edge of the smallest region that holds a share of its class: by default 10, 30, 50, 70 and 90%,
    from the inside out. Those of Gaussians are ellipses. Colour and dashes: the class. Solid: the decision boundary,
    over the pale colour of the predicted class. Contours that do not close leave the picture. Made by `from_estimator`.

    Parameters
    ----------
    densities : Densities
        log p(x, y | class) on a grid over the plane, and the prior.
    shares : tuple of float, default=(0.1, 0.3, 0.5, 0.7, 0.9)
        Probability mass of a class inside each contour.
    means : array of shape (n_classes, 2), default=None
        Of the two columns in each class, where they are Gaussian.

    Attributes
    ----------
    densities, shares, means
        As given.
    levels : array of shape (n_classes, n_shares)
        The density on each contour; 0 where the region is larger than the picture.
    figure_ : matplotlib Figure
        Drawn on first access.
    ax_ : matplotlib Axes
        Drawn on first access.

    See Also
    --------
    DensitySurfaceDisplay : The same in three dimensions.

    References
    ----------
    - Hyndman (1996), Computing and graphing highest density regions. The American Statistician 50.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tallybayes import QuadraticDiscriminantAnalysis
    >>> from tallybayes.plots import DensityContourDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = QuadraticDiscriminantAnalysis().fit(X, y)
    >>> picture = DensityContourDisplay.from_estimator(model, X, y, features=(2, 3), grid=40)
    >>> list(picture.frame()), picture.levels.shape
    (['x2', 'x3', 'answer', 'p(0)', 'p(1)', 'p(2)'], (3, 5))
    """

    _size = (7.4, 4.8)

    def __init__(self, densities: Densities, shares: tuple[float, ...] = SHARES, means: Floats | None = None) -> None:
        self.densities = densities
        self.shares = shares
        self.means = means
        density, area = densities.density, densities.area
        self.levels: Floats = np.array([heights(density[..., k], area, shares) for k in range(density.shape[-1])])

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: object = None,
        y: object = None,
        *,
        features: object = None,
        shares: object = SHARES,
        grid: int = 150,
        ax: Axes | None = None,
    ) -> Self:
        """The densities of a fitted classifier over two of its columns.

        Parameters
        ----------
        estimator : fitted classifier with predict_joint_log_proba
            A discriminant, a naive Bayes or a network of tallybayes: columns that are not shown are left out, exactly.
            Or another classifier of two columns that tells its prior, such as GaussianNB of scikit-learn.
        X : table, default=None
            Rows to show; they also set the range. Without them, a model of tallybayes shows where its samples lie.
        y : array of shape (n_rows,), default=None
            Their classes.
        features : two columns by name or position, default=None
            Needed if the model has more than two. Both must be numbers.
        shares : list of float, default=(0.1, 0.3, 0.5, 0.7, 0.9)
            How much of a class lies inside each contour, between 0 and 1.
        grid : int, default=150
            Points along each column.
        ax : matplotlib Axes, default=None
            Where to draw at once; without it, nothing is drawn yet.

        Returns
        -------
        DensityContourDisplay
            The numbers, and the picture when it is asked for.
        """
        wanted = np.ravel(np.asarray(shares, dtype=object)).tolist()
        if not wanted or not all(isinstance(s, int | float) and 0 < s < 1 for s in wanted):
            raise OptionError(f"shares must be numbers between 0 and 1; got {brief(shares)}.")
        densities = make_densities(estimator, X, y, features, grid)
        plane = densities.plane
        gaussians = class_gaussians(estimator, plane.x.name, plane.y.name) if is_ours(estimator) else None
        made = cls(densities, tuple(sorted({float(s) for s in wanted})), None if gaussians is None else gaussians[0])
        made.container = container_of(estimator)
        return made if ax is None else made.plot(ax)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        points: bool = True,
        boundary: bool = True,
        segments: bool = False,
        aspect: str = "auto",
        legend: bool = True,
    ) -> Self:
        """Draws the contours.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; by default into a figure of its own.
        points : bool, default=True
            Whether the rows are shown.
        boundary : bool, default=True
            Whether the decision boundary is shown, with the winner's pale colour and name.
        segments : bool, default=False
            Whether the class means are joined by line segments (Gaussian columns). With a shared spherical covariance
            and `aspect="equal"` each segment is orthogonal to the boundary between its two classes.
        aspect : {'auto', 'equal'}, default='auto'
            'equal' gives one unit the same length on both axes, so that angles are true.
        legend : bool, default=True
            Whether there is a legend.

        Returns
        -------
        DensityContourDisplay
            Itself, drawn.
        """
        check_aspect(aspect, self.densities.plane)
        check_segments(segments, self.means)
        draw = partial(self._draw, points=points, boundary=boundary, segments=segments, aspect=aspect, legend=legend)
        return self._draw_on(ax, draw)

    def _columns(self) -> Mapping[str, Sequence[object] | Array]:
        plane = self.densities.plane
        labels = plane.classes.tolist()
        best = plane.log_posterior.argmax(axis=-1).ravel()
        density = self.densities.density
        cells = {**plane.cells(), "answer": [labels[k] for k in best]}
        return cells | {f"p({label})": density[..., k].ravel() for k, label in enumerate(labels)}

    def _draw(
        self,
        ax: Axes,
        *,
        points: bool = True,
        boundary: bool = True,
        segments: bool = False,
        aspect: str = "auto",
        legend: bool = True,
    ) -> list[Axes]:
        plane = self.densities.plane
        if boundary:
            draw_regions(ax, plane, strength=0.1)
            draw_boundary(ax, plane, plane.log_posterior, color=style.INK, linewidth=1.6, zorder=2.5)
        if points:
            draw_points(ax, plane, faint=True)
        density = self.densities.density
        for k in range(len(plane.classes)):
            levels = np.unique(self.levels[k])
            levels = levels[(levels > density[..., k].min()) & (levels < density[..., k].max())]
            if len(levels) and self.densities.seen[k]:
                look: style.Look = {"linewidths": np.linspace(1.1, 2.0, len(levels)), "zorder": 3 + 0.01 * k}
                ax.contour(
                    plane.x.at,
                    plane.y.at,
                    density[..., k],
                    levels=levels,
                    colors=[style.colour(k)],
                    linestyles=[style.dashes(k)],
                    **look,
                )
        if segments and self.means is not None:
            draw_segments(ax, self.means)
        if boundary:
            name_regions(ax, plane, [plane.points] if points else [])
        label_axes(ax, plane, aspect)
        if self.densities.unseen():
            style.note(ax, self.densities.unseen())
        if legend:
            self._draw_legend(ax, points, boundary)
        return []

    def _draw_legend(self, ax: Axes, points: bool, boundary: bool) -> None:
        from matplotlib.lines import Line2D

        plane = self.densities.plane
        seen = points and bool((plane.codes >= 0).any())
        handles: list[Artist] = []
        K = len(plane.classes)
        named = K if K <= style.MOST_NAMED else style.MOST_NAMED
        for k in range(named):
            look: style.Look = {"color": style.colour(k), "linestyle": style.dashes(k), "linewidth": 1.6}
            rows: style.Look = {"marker": style.marker(k), "markersize": 6, "markeredgecolor": style.INK}
            handles.append(Line2D([], [], **look, **(rows | {"markeredgewidth": 0.4} if seen else {})))
        names = [*plane.classes.tolist()[:named]]
        if named < K:
            handles.append(Line2D([], [], linestyle=""))
            names.append(f"… {K - named} more classes")
        if boundary and K > 1:
            handles.append(Line2D([], [], color=style.INK, linewidth=1.6))
            names.append("boundary")
        handles.append(Line2D([], [], linestyle=""))
        names.append(f"inside: {', '.join(f'{100 * s:g}' for s in self.shares)}% of a class")
        style.legend(ax, handles, names)
