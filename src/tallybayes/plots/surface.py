"""The density of each class over two columns as a surface: hills in three dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from tallybayes.plots import style, text_fitting
from tallybayes.plots.display import Display
from tallybayes.plots.joint_density import Densities, heights, make_densities
from tallybayes.plots.plot_tables import container_of, pick_class
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    from tallybayes.plots.plane import Plane

Room: TypeAlias = Any  # Axes3D, which has no types

FLOOR = (0.5, 0.9)  # what the contours on the floor hold of their class
FLAT = 0.004  # of the highest point: below this a surface is floor, and not drawn
FADE = 0.08  # of it: from here down a surface fades, and the floor is seen through
TALLEST = 6.0  # a peak is cut at so many times the middle one
LIGHT = np.array([-0.5, -0.55, 0.67])  # where it comes from: the left, the front, above


class DensitySurfaceDisplay(Display):
    """Surface of p(x, y | class) over the plane of two numeric columns, in three dimensions.

    On the floor, contours around the smallest regions that hold 50% and 90% of a class. The name of a class stands on
    its peak. A class that hardly varies would flatten the others: its peak is cut, and the picture states how high it
    is. With `mixture`, one surface: p(x, y) = Σ_k P(k) p(x, y | k), in the colour of the predicted class. Made by
    `from_estimator`.

    Parameters
    ----------
    densities : Densities
        log p(x, y | class) on a grid over the plane, and the prior.
    shown : list of int
        The positions of the classes that are drawn.
    mixture : bool, default=False
        Whether to draw the mixture instead of the classes.

    Attributes
    ----------
    densities, shown, mixture
        As given.
    axes_ : list of matplotlib Axes3D
        The axes in three dimensions, once drawn: those given, or in the place of those given.
    figure_ : matplotlib Figure
        Drawn on first access.
    ax_ : matplotlib Axes
        Drawn on first access.

    See Also
    --------
    DensityContourDisplay : The same from above.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tallybayes import GaussianNB
    >>> from tallybayes.plots import DensitySurfaceDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> picture = DensitySurfaceDisplay.from_estimator(GaussianNB().fit(X, y), X, features=(0, 1), label=2, grid=20)
    >>> frame = picture.frame()
    >>> list(frame), len(frame["p(2)"])
    (['x0', 'x1', 'p(2)'], 400)
    """

    _size = (7.4, 5.2)
    _projection = "3d"

    def __init__(self, densities: Densities, shown: list[int], mixture: bool = False) -> None:
        self.densities = densities
        self.shown = shown
        self.mixture = mixture
        self.axes_: list[Axes] = []

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: object = None,
        y: object = None,
        *,
        features: object = None,
        label: object = None,
        mixture: bool = False,
        grid: int = 60,
        ax: Axes | None = None,
    ) -> Self:
        """The densities of a fitted classifier over two of its columns.

        Parameters
        ----------
        estimator : fitted classifier with predict_joint_log_proba
            A discriminant, a naive Bayes or a network of tallybayes: columns that are not shown are left out, exactly.
            Or another classifier of two columns that tells its prior, such as GaussianNB of scikit-learn.
        X : table, default=None
            Rows that set the range. Without them, it is that of samples of a model of tallybayes.
        y : array of shape (n_rows,), default=None
            Their classes: checked, and not shown.
        features : two columns by name or position, default=None
            Needed if the model has more than two. Both must be numbers.
        label : class label, default=None
            The one class that is shown; by default all.
        mixture : bool, default=False
            Whether one surface is shown, of all classes with their priors.
        grid : int, default=60
            Points along each column.
        ax : matplotlib Axes, default=None
            Where to draw at once; without it, nothing is drawn yet. Flat axes are replaced by axes in three dimensions
            in their place, which are then in `axes_`.

        Returns
        -------
        DensitySurfaceDisplay
            The numbers, and the picture when it is asked for.
        """
        found = make_densities(estimator, X, y, features, grid)
        classes = found.plane.classes
        shown = list(range(len(classes))) if label is None else [pick_class(classes, label)]
        made = cls(found, shown, bool(mixture))
        made.container = container_of(estimator)
        return made if ax is None else made.plot(ax)

    def plot(self, ax: Axes | None = None, *, elev: float = 28.0, azim: float = -58.0, legend: bool = True) -> Self:
        """Draws the surfaces.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; by default into a figure of its own. Flat axes are replaced by axes in three dimensions in
            their place.
        elev : float, default=28.0
            The height of the eye above the floor, in degrees.
        azim : float, default=-58.0
            Where it stands around the picture, in degrees.
        legend : bool, default=True
            Whether there is a legend.

        Returns
        -------
        DensitySurfaceDisplay
            Itself, drawn.
        """
        return self._draw_on(ax, partial(self._draw, elev=elev, azim=azim, legend=legend))

    def _columns(self) -> Mapping[str, Sequence[object] | Array]:
        cells, labels = self.densities.plane.cells(), self.densities.plane.classes.tolist()
        if self.mixture:
            return cells | {"p": self.densities.mixture.ravel()}
        density = self.densities.density
        return cells | {f"p({labels[k]})": density[..., k].ravel() for k in self.shown}

    # --- drawing -----------------------------------------------------------------------------------------------

    def _hills(self) -> list[tuple[Floats, Array]]:
        """Each surface: its heights, and the class whose colour it has at each point."""
        if self.mixture:
            return [(self.densities.mixture, self.densities.plane.log_posterior.argmax(axis=-1))]
        density = self.densities.density
        return [(density[..., k], np.full(density.shape[:2], k)) for k in self.shown]

    def _draw(self, ax: Axes, *, elev: float = 28.0, azim: float = -58.0, legend: bool = True) -> list[Axes]:
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        room: Room = ax if ax.name == "3d" else _in_its_place(ax)
        self.axes_ = [room]
        room.computed_zorder = False  # the floor below, names above: distances of whole artists say nothing here
        room.view_init(elev=elev, azim=azim)
        plane, hills = self.densities.plane, self._hills()
        peaks = np.array([float(z.max()) for z, _ in hills])
        usual = float(np.median(peaks[peaks > 0])) if (peaks > 0).any() else 1.0
        top = min(float(peaks.max()), TALLEST * usual) or 1.0
        # all quadrilaterals in one collection: those are sorted by depth, so that hills may stand in each other
        parts = [_quads(plane.x.at, plane.y.at, np.minimum(z, top), k, top) for z, k in hills]
        corners = np.concatenate([c for c, _ in parts])
        if len(corners):
            faces = np.concatenate([f for _, f in parts])
            edges = faces * [0.72, 0.72, 0.72, 0.6]
            room.add_collection3d(
                Poly3DCollection(corners, facecolors=faces, edgecolors=edges, linewidths=0.25, zorder=2)
            )
        self._draw_floor(room)
        _furnish(room, plane, top)
        if not self.mixture:
            self._name_peaks(room, peaks, top)
        style.note(room, self._note(peaks, top))
        if legend:
            self._draw_legend(room)
        return [room]

    def _note(self, peaks: Floats, top: float) -> str:
        """What the floor shows, and how high the peaks are that are cut."""
        said = [f"on the floor: {' and '.join(f'{s:.0%}' for s in FLOOR)} of each class"]
        labels = self.densities.plane.classes.tolist()
        if not self.mixture:
            high = [(k, peak) for k, peak in zip(self.shown, peaks, strict=True) if peak > 1.0001 * top]
            said += [f"cut: {text_fitting.shorten(labels[k], 20)}, which rises to {peak:.3g}" for k, peak in high]
        return "\n".join([*said, *filter(None, [self.densities.unseen()])])

    def _draw_floor(self, room: Room) -> None:
        from contourpy import contour_generator

        plane, density, area = self.densities.plane, self.densities.density, self.densities.area
        for k in self.shown:
            z = density[..., k] * self.densities.seen[k]
            for height in heights(z, area, FLOOR):
                for line in contour_generator(plane.x.at, plane.y.at, z).lines(float(height)) if height > 0 else ():
                    x, y = np.asarray(line).T
                    look: style.Look = {"color": style.colour(k), "linestyle": style.dashes(k), "linewidth": 1.3}
                    room.plot(x, y, np.zeros(len(x)), zorder=1, **look)

    def _name_peaks(self, room: Room, peaks: Floats, top: float) -> None:
        plane, density = self.densities.plane, self.densities.density
        names = text_fitting.distinct(plane.classes.tolist(), 16, 2)
        look: style.Look = {"fontsize": "small", "fontweight": "bold", "path_effects": style.halo()}
        taken: list[Bbox] = []
        for k, peak in sorted(zip(self.shown, peaks.tolist(), strict=True), key=lambda item: -item[1]):
            i, j = np.unravel_index(int(density[..., k].argmax()), density.shape[:2])
            at = (plane.x.at[j], plane.y.at[i], min(peak, top) + 0.03 * top)
            name = room.text(*at, names[k], ha="center", va="bottom", color=style.INK, zorder=5, **look)
            here = _seen(room, name, at)
            if self.densities.seen[k] and not any(here.overlaps(other) for other in taken):
                taken.append(here)
            else:
                name.remove()  # no room: the legend has it

    def _draw_legend(self, room: Room) -> None:
        from matplotlib.lines import Line2D

        handles = [Line2D([], [], color=style.colour(k), linestyle=style.dashes(k), linewidth=2.2) for k in self.shown]
        names = [self.densities.plane.classes.tolist()[k] for k in self.shown]
        style.legend(room, handles, names)


def _in_its_place(ax: Axes) -> Room:
    """Axes in three dimensions where flat ones are; those stay, empty."""
    ax.set_axis_off()
    spec = ax.get_subplotspec()
    if spec is not None:
        return ax.figure.add_subplot(spec, projection="3d")
    return ax.figure.add_axes(ax.get_position().bounds, projection="3d")


def _seen(room: Room, name: Text, at: tuple[float, float, float]) -> Bbox:
    """The box that a name takes up on the page, standing at a point of the room; rather more: the page may shrink."""
    from matplotlib.transforms import Bbox
    from mpl_toolkits.mplot3d.proj3d import proj_transform

    x, y = room.transData.transform(proj_transform(*at, room.get_proj())[:2])
    here = name.get_window_extent()
    wide, tall = 1.3 * here.width, 1.3 * here.height
    return Bbox.from_bounds(x - wide / 2, y, wide, tall)


def _quads(x: Floats, y: Floats, z: Floats, classes: Array, top: float) -> tuple[Floats, Floats]:
    """The quadrilaterals of a surface that rises above the floor: corners (n, 4, 3) and shaded colours (n, 4)."""
    u, v = np.meshgrid(x, y)
    points = np.stack([u, v, z], axis=-1)
    corners = np.stack([points[:-1, :-1], points[:-1, 1:], points[1:, 1:], points[1:, :-1]], axis=2)
    rises = corners[..., 2].max(axis=2) > FLAT * top
    # slopes as the eye sees them: each axis as long as the picture
    slope = np.gradient(z / top, np.linspace(0, 1, len(y)), np.linspace(0, 1, len(x)))
    normal = np.stack([-slope[1], -slope[0], np.ones_like(z)], axis=-1)
    light = (normal @ LIGHT / np.linalg.norm(normal, axis=-1) / np.linalg.norm(LIGHT))[:-1, :-1]
    palette = np.array([style.rgb(k) for k in range(int(classes.max()) + 1)])
    shade = (0.62 + 0.38 * np.clip(light, -0.4, 1.0))[..., None]
    faces = np.clip(palette[classes[:-1, :-1]] * shade + 0.12 * np.clip(light, 0, 1)[..., None] ** 4, 0, 1)
    solid = 0.88 * np.clip(corners[..., 2].mean(axis=2) / (FADE * top), 0.06, 1.0)[..., None]
    return corners[rises], np.concatenate([faces, solid], axis=-1)[rises]


def _furnish(room: Room, plane: Plane, top: float) -> None:
    """Walls, limits and names of the axes."""
    for axis in (room.xaxis, room.yaxis, room.zaxis):
        axis.pane.set_facecolor((1, 1, 1, 0))
        axis.pane.set_edgecolor(style.GRID)
        axis._axinfo["grid"].update({"color": style.GRID, "linewidth": 0.6})
        axis.set_tick_params(labelsize="small", color=style.FAINT)
    room.set_xlim(plane.x.at[0], plane.x.at[-1])
    room.set_ylim(plane.y.at[0], plane.y.at[-1])
    room.set_zlim(0, 1.08 * top)
    room.locator_params(nbins=5)
    room.set_xlabel(text_fitting.wrap(plane.x.name, 26, 2))
    room.set_ylabel(text_fitting.wrap(plane.y.name, 26, 2))
    room.set_zlabel("density")
    room.set_box_aspect((1.2, 1.2, 0.8), zoom=1.05)
