"""The posterior as a logistic regression: the sigmoid along β, or along one column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.special import expit

from tallybayes.errors import OptionError, TableError, brief
from tallybayes.plots import style, text_fitting
from tallybayes.plots.display import Display
from tallybayes.plots.plot_tables import (
    TableColumns,
    class_codes,
    container_of,
    feature_names,
    pick,
    pick_pair,
    require_ours,
)
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ROWS = 400  # shown on each side
POINTS = 401  # of the curve


class SigmoidDisplay(Display):
    """P(k | x, and x is of class k or l) = 1 / (1 + exp(−t)) against the linear score t = xᵀa + b.

    a and b are those of `boundary(k, l)`, so the model needs linear boundaries. With `feature`, the curve is over that
    column instead, the other columns marginalised: P(k | x_j, and x is of class k or l). The rows of class k lie along
    the top, those of class l along the bottom: where they overlap, no line separates them. Rows of other classes are
    left out. Made by `from_estimator`.

    Parameters
    ----------
    score : array of shape (n_rows,)
        The linear score t of each row of the two classes.
    codes : array of shape (n_rows,)
        1 for a row of the class that the curve is for, else 0.
    labels : tuple of (label, label)
        The class that the curve is for, and the one against it.
    positions : tuple of (int, int)
        Where they stand in classes_.
    along : tuple of (str, array, array, array), default=None
        The column of the horizontal axis: its name, its value in each row, a grid of its values, and the score on the
        grid.

    Attributes
    ----------
    score, codes, labels, positions, along
        As given.
    figure_ : matplotlib Figure
        Drawn on first access.
    ax_ : matplotlib Axes
        Drawn on first access.

    See Also
    --------
    DecisionBoundaryDisplay : The boundary over two columns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tallybayes import LinearDiscriminantAnalysis
    >>> from tallybayes.plots import SigmoidDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> picture = SigmoidDisplay.from_estimator(model, X, y, pair=(2, 1))
    >>> a, b = model.boundary(2, 1)
    >>> bool(np.allclose(picture.frame()["score"], X[y > 0] @ a + b))
    True
    """

    _size = (6.6, 4.2)

    def __init__(
        self,
        score: Floats,
        codes: Array,
        labels: tuple[object, object],
        positions: tuple[int, int],
        along: tuple[str, Floats, Floats, Floats] | None = None,
    ) -> None:
        self.score = score
        self.codes = codes  # 1: a row of the class that the curve is for
        self.labels = labels
        self.positions = positions
        self.along = along

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: object,
        y: object,
        *,
        pair: object = None,
        feature: object = None,
        ax: Axes | None = None,
    ) -> Self:
        """The score of the rows of two classes.

        Parameters
        ----------
        estimator : fitted classifier of tallybayes
            A model with linear boundaries.
        X : table
            Rows to show.
        y : array of shape (n_rows,)
            Their classes.
        pair : tuple of (label, label), default=None
            (k, l), the class that the curve is for and the one against it. By default the second class against the
            first; of more than two, the two with most rows.
        feature : column by name or position, default=None
            A numeric column for the horizontal axis, the other columns marginalised; by default the axis is the linear
            score of all columns.
        ax : matplotlib Axes, default=None
            Where to draw at once; without it, nothing is drawn yet.

        Returns
        -------
        SigmoidDisplay
            The numbers, and the picture when it is asked for.
        """
        model = require_ours(estimator, "SigmoidDisplay")
        k, l = pick_pair(model, pair)  # noqa: E741
        labels = model.classes_.tolist()
        model.boundary(labels[k], labels[l])  # says why, if the boundaries are not linear
        joint = model.predict_joint_log_proba(X)
        codes = class_codes(y, len(joint), model.classes_)
        here = np.flatnonzero((codes == k) | (codes == l))
        if not len(here):
            raise TableError(f"X has no rows of the classes {brief(labels[k])} and {brief(labels[l])}.")
        # the difference of the log joints is xᵀa + b, also for levels and with values missing
        score, along = joint[here, k] - joint[here, l], None
        if feature is not None:
            table = TableColumns(X, model)
            names = feature_names(model, table)
            name = pick(names, feature)
            values = table.called(names).column(name)
            if values.dtype == object or model.schema_.position(name) in model.schema_.levels:
                raise OptionError(f"feature must be a column of numbers; {name!r} has levels.")
            shown = values[here][np.isfinite(values[here])]
            if not len(shown):
                raise TableError(f"Column {name!r} has no values to show.")
            pad = 0.08 * float(np.ptp(shown)) or 1.0
            grid = np.linspace(shown.min() - pad, shown.max() + pad, POINTS)
            over = np.concatenate([values[here], grid])
            found = model.predict_joint_log_proba([{name: v} for v in over.tolist()])
            both = found[:, k] - found[:, l]
            score, along = both[: len(here)], (name, values[here], grid, both[len(here) :])
        made = cls(score, (codes[here] == k).astype(int), (labels[k], labels[l]), (k, l), along)
        made.container = container_of(model)
        return made if ax is None else made.plot(ax)

    def _columns(self) -> Mapping[str, Sequence[object] | Array]:
        return {
            "class": [self.labels[0] if c else self.labels[1] for c in self.codes],
            **({} if self.along is None else {self.along[0]: self.along[1]}),
            "score": self.score,
            "posterior": expit(self.score),
        }

    def _draw(self, ax: Axes) -> list[Axes]:
        rng = np.random.default_rng(0)
        if self.along is None:
            wide = float(np.clip(np.quantile(np.abs(self.score), 0.98) * 1.1, 6.0, 60.0))
            x = t = np.linspace(-wide, wide, POINTS)
            place = self.score
        else:
            _, place, x, t = self.along
        dotted: style.Look = {"color": style.FAINT, "linewidth": 0.9, "linestyle": (0, (2, 2)), "zorder": 1}
        for i in np.flatnonzero(np.diff(t > 0)):  # where the two classes are equally likely
            ax.axvline(float(np.interp(0, np.sort(t[i : i + 2]), x[i : i + 2][np.argsort(t[i : i + 2])])), **dotted)
        ax.axhline(0.5, **dotted)
        ax.plot(x, expit(t), color=style.INK, linewidth=2.2, zorder=3)
        handles = []
        for side, (code, base, up) in enumerate(((1, 1.06, 1), (0, -0.06, -1))):
            rows = np.flatnonzero(self.codes == code)
            if len(rows) > MOST_ROWS:
                rows = np.sort(rng.choice(rows, MOST_ROWS, replace=False))
            k = self.positions[side]
            at = base + up * rng.uniform(0, 0.14, len(rows))
            look: style.Look = {"marker": style.marker(k), "color": style.colour(k), "edgecolors": style.INK}
            handles.append(
                ax.scatter(np.clip(place[rows], x[0], x[-1]), at, s=20, linewidths=0.4, alpha=0.8, zorder=2, **look)
            )
        ax.set_xlim(x[0] - 0.015 * np.ptp(x), x[-1] + 0.015 * np.ptp(x))
        ax.set_ylim(-0.24, 1.24)
        ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "1"])
        name, other = text_fitting.distinct(self.labels, 20)
        if self.along is None:
            ax.set_xlabel(f"score $x^{{T}}\\beta + \\beta_0$:  {other} ← 0 → {name}")
        else:
            ax.set_xlabel(text_fitting.wrap(self.along[0], 48, 2))
        ax.set_ylabel(f"P({name} | x)")
        style.tidy(ax)
        ax.spines["left"].set_bounds(0, 1)
        style.legend(ax, handles, list(self.labels), "rows of class")
        return []
