"""How a prior or a loss moves the decision boundary of one model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np

from tallybayes.errors import OptionError, brief
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.estimators.loss import read_loss
from tallybayes.model.priors import check_priors
from tallybayes.plots import style
from tallybayes.plots.boundary import draw_regions, name_regions
from tallybayes.plots.display import Display
from tallybayes.plots.plane import Plane, class_handles, draw_boundary, draw_points, label_axes, make_plane
from tallybayes.plots.plot_tables import container_of
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AS_FITTED = "as fitted"


class BoundaryShiftDisplay(Display):
    """Decision boundaries of one model under several class priors or losses.

    Nothing is fitted again. A prior P' enters as P'(k | x) ∝ P(k | x) P'(k) / P(k); a loss λ as the decision with the
    least risk R(a | x) = Σ_k λ[a, k] P(k | x). Made by `from_estimator`.

    Parameters
    ----------
    plane : Plane
        log P(class | the two columns) on a grid, and some rows.
    scenarios : dict of {str: (scores, answers)}
        By name: scores of shape (len(y), len(x), n_answers), of which the highest decides, and the decisions.

    Attributes
    ----------
    plane, scenarios
        As given; the first scenario is 'as fitted'.
    figure_ : matplotlib Figure
        Drawn on first access.
    ax_ : matplotlib Axes
        Drawn on first access.

    See Also
    --------
    DecisionBoundaryDisplay : The boundary of the model as fitted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tallybayes import LinearDiscriminantAnalysis
    >>> from tallybayes.plots import BoundaryShiftDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis().fit(X[:, 2:], y)
    >>> picture = BoundaryShiftDisplay.from_estimator(model, X[:, 2:], y, grid=20,
    ...     losses={"a missed 2 costs 20": {(0, 2): 20, (1, 2): 20, (..., ...): 1}})
    >>> picture.frame("pandas")["scenario"].unique().tolist()
    ['as fitted', 'a missed 2 costs 20']
    """

    _size = (7.4, 4.8)

    def __init__(self, plane: Plane, scenarios: Mapping[str, tuple[Floats, list[object]]]) -> None:
        self.plane = plane
        self.scenarios = dict(scenarios)  # name: scores (y, x, answers), of which the highest wins, and the answers

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: object = None,
        y: object = None,
        *,
        priors: Mapping[str, object] | None = None,
        losses: Mapping[str, object] | None = None,
        features: object = None,
        grid: int = 200,
        rest: str = "marginal",
        ax: Axes | None = None,
    ) -> Self:
        """The boundaries of a fitted classifier under priors, or under losses.

        Parameters
        ----------
        estimator : fitted classifier with predict_proba
            A model of tallybayes; for losses, any other too.
        X : table, default=None
            Rows to show; they also set the range. Without them, a model of tallybayes shows where its samples lie.
        y : array of shape (n_rows,), default=None
            Their classes.
        priors : dict, default=None
            {name: one number per class, or a dict by label}.
        losses : dict, default=None
            {name: a loss as BayesDecision takes it}: a matrix λ[decision, class] in the order of classes_, or a dict
            {(decision, class): loss} where ... stands for all that are not named. Either priors or losses are given.
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
        BoundaryShiftDisplay
            The numbers, and the picture when it is asked for.
        """
        if (priors is None) == (losses is None):
            raise OptionError("Give either priors={name: prior, …} or losses={name: loss, …}.")
        given = priors if priors is not None else losses
        if not isinstance(given, Mapping) or not given:
            raise OptionError(f"priors and losses are dicts from a name to a prior or a loss; got {brief(given)}.")
        plane = make_plane(estimator, X, y, features, grid, rest)
        labels = plane.classes.tolist()
        scenarios = {AS_FITTED: (plane.log_posterior, labels)}
        for name, value in given.items():
            if priors is not None:
                scenarios[str(name)] = _under_prior(estimator, plane, value), labels
            else:
                loss, answers = read_loss(value, None, plane.classes)
                scenarios[str(name)] = -np.exp(plane.log_posterior) @ loss.T, answers
        made = cls(plane, scenarios)
        made.container = container_of(estimator)
        return made if ax is None else made.plot(ax)

    def plot(self, ax: Axes | None = None, *, points: bool = True) -> Self:
        """Draws the boundaries over the regions of the model as fitted.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; by default into a figure of its own.
        points : bool, default=True
            Whether the rows are shown.

        Returns
        -------
        BoundaryShiftDisplay
            Itself, drawn.
        """
        return self._draw_on(ax, partial(self._draw, points=points))

    def _columns(self) -> Mapping[str, Sequence[object] | Array]:
        cells = self.plane.cells()
        answers = [[labels[k] for k in s.argmax(axis=-1).ravel()] for s, labels in self.scenarios.values()]
        return {
            "scenario": [name for name in self.scenarios for _ in answers[0]],
            **{name: column * len(answers) for name, column in cells.items()},
            "answer": [label for part in answers for label in part],
        }

    def _draw(self, ax: Axes, *, points: bool = True) -> list[Axes]:
        from matplotlib.lines import Line2D

        draw_regions(ax, self.plane, strength=0.15)
        if points:
            draw_points(ax, self.plane, faint=True)
        handles = []
        for i, (score, _) in enumerate(self.scenarios.values()):
            look: style.Look = {
                "color": style.INK if i == 0 else LINES[(i - 1) % len(LINES)],
                "linestyle": style.dashes(i),
            }
            draw_boundary(ax, self.plane, score, linewidth=1.4 if i == 0 else 2.0, zorder=4, **look)
            handles.append(Line2D([], [], linewidth=2, **look))
        name_regions(ax, self.plane, [self.plane.points] if points else [])
        label_axes(ax, self.plane)
        markers, names = class_handles(self.plane, points)
        style.legend(ax, [*handles, *markers], [*self.scenarios, *names])
        return []


LINES = ("#832db6", "#bd1f01", "#0b6e4f", "#a05a00", "#1f5fa8", "#6b6b6b")  # dark: seen over every region


def _under_prior(model: object, plane: Plane, prior: object) -> Floats:
    new = check_priors(prior, plane.classes)
    if not isinstance(model, GenerativeClassifier):
        raise OptionError(
            f"Priors can be exchanged in models of tallybayes; a {type(model).__name__} does not tell its own."
        )
    old = model.predictor_.fitted.prior
    if not np.isfinite(old).all():
        raise OptionError("A class has prior 0 in this model; its evidence is gone, and no other prior brings it back.")
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(plane.log_posterior + np.log(new) - old, -2000.0))
