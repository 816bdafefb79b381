"""The density p(x, y | class) of two columns over the plane, and the smallest regions that hold a share.

No formula of a distribution is needed: it is the model's own log joint with the other columns left out and a prior that
is the same for all classes. Where a model reads a number as an interval, its probability is spread over the interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from tallybayes.errors import OptionError
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.plots import text_fitting
from tallybayes.plots.plane import Axis, Plane, grid_rows, make_plane
from tallybayes.plots.plot_tables import TableColumns, feature_names, is_ours
from tallybayes.utils.array_types import Floats

PAD = 0.2  # of the range, on each side: densities go on where rows end
SEEN = (0.05, 1.5)  # the mass that a density may have on the grid; else the grid does not show it
CHECKED = 20  # points of the grid on which the joint is compared with p(x)


@dataclass(frozen=True)
class Densities:
    """log p(x, y | class) on the grid of a plane, shape (len(y), len(x), K), and log P(class)."""

    plane: Plane
    log_density: Floats
    log_prior: Floats

    @property
    def density(self) -> Floats:
        """p(x, y | class), shape (len(y), len(x), K)."""
        return np.asarray(np.exp(self.log_density))

    @property
    def mixture(self) -> Floats:
        """p(x, y) = Σ_k P(k) p(x, y | k), shape (len(y), len(x))."""
        return np.asarray(np.exp(logsumexp(self.log_density + self.log_prior, axis=-1)))

    @property
    def area(self) -> Floats:
        """Of the cell around each point of the grid."""
        return np.outer(np.diff(self.plane.y.edges), np.diff(self.plane.x.edges))

    @property
    def mass(self) -> Floats:
        """How much of each class the cells of the grid hold: 1, if it shows the whole of it."""
        return np.asarray((self.density * self.area[..., None]).sum(axis=(0, 1)))

    @property
    def seen(self) -> list[bool]:
        """Does the grid show the class? Not if it lies elsewhere, or is narrower than the cells."""
        return [SEEN[0] <= mass <= SEEN[1] for mass in self.mass.tolist()]

    def unseen(self) -> str:
        """The classes that the grid does not show, in words; empty if it shows all."""
        names = [text_fitting.shorten(v, 20) for v, seen in zip(self.plane.classes, self.seen, strict=True) if not seen]
        return f"not seen: {', '.join(names)} (narrower than the grid, or elsewhere)" if names else ""


def make_densities(model: object, X: object, y: object, features: object, grid: int) -> Densities:
    """For any classifier with predict_joint_log_proba that is a density of two numeric columns."""
    plane = make_plane(model, X, y, features, grid, "marginal", PAD)
    for axis in (plane.x, plane.y):
        if axis.levels:
            raise OptionError(f"A density over the plane needs two columns of numbers; {axis.name!r} has levels.")
    if not hasattr(model, "predict_joint_log_proba"):
        raise OptionError(f"A {type(model).__name__} has no predict_joint_log_proba, so no density of each class.")
    table = None if X is None else TableColumns(X, model)
    names = feature_names(model, table)
    rows = grid_rows(model, [plane.x, plane.y], names, table if table is None else table.called(names), "marginal")
    shape = plane.log_posterior.shape
    wide = np.zeros(shape[:2])
    if is_ours(model):
        likelihood, log_prior = _of_ours(model, rows)
        wide = _log_width(model, plane.x)[None, :] + _log_width(model, plane.y)[:, None]
    else:
        log_prior = _prior_of_another(model)
        likelihood = np.asarray(model.predict_joint_log_proba(rows)) - log_prior
    made = Densities(plane, likelihood.reshape(shape) - wide[..., None], log_prior)
    if all((np.diff(axis.at) == 1).all() for axis in (plane.x, plane.y)) and (made.mass > SEEN[1]).any():
        raise OptionError(
            f"A {type(model).__name__} looks at how counts share a whole: it has no density over the counts. Poisson "
            "naive Bayes has one."
        )
    return made


def _of_ours(model: GenerativeClassifier, rows: Any) -> tuple[Floats, Floats]:
    """log p(row | class) and log P(class), from the joint under a prior that is the same for all."""
    K = len(model.classes_)
    likelihood = model.predict_joint_log_proba(rows, priors=np.full(K, 1 / K)) + np.log(K)
    some = rows[:: max(len(rows) // CHECKED, 1)]
    joint, whole = model.predict_joint_log_proba(some), model.score_samples(some)
    if not np.allclose(logsumexp(joint, axis=1), whole, rtol=1e-6, atol=1e-6):
        raise OptionError(
            f"The scores of a {type(model).__name__} decide between classes, but are no density of a row: its parts "
            "are weighted. Discriminants, naive Bayes and networks have one."
        )
    best = int(likelihood.min(axis=1).argmax())  # where every class is possible, if anywhere
    own = model.predict_joint_log_proba(rows[best : best + 1])[0]
    with np.errstate(invalid="ignore"):
        return likelihood, np.asarray(np.where(np.isneginf(own), -np.inf, own - likelihood[best]))


def _prior_of_another(model: object) -> Floats:
    for name in ("class_log_prior_", "class_prior_", "priors_"):
        found = getattr(model, name, None)
        if found is not None:
            with np.errstate(divide="ignore"):
                return np.asarray(found if "log" in name else np.log(found), dtype=np.float64)
    raise OptionError(f"A {type(model).__name__} does not tell its prior, so its joint cannot be taken apart.")


def _log_width(model: GenerativeClassifier, axis: Axis) -> Floats:
    """Of the interval that the model reads each value as; ∞ where it has met no value. 0 where it reads numbers."""
    cuts = model.schema_.cuts.get(model.schema_.position(axis.name))
    if cuts is None:
        return np.zeros(len(axis.values))
    edges = np.array([min([cuts.low, *cuts.points]), *cuts.points, max([cuts.high, *cuts.points])], dtype=np.float64)
    wide = np.maximum(np.diff(edges), np.finfo(float).tiny)
    at = np.searchsorted(cuts.points, axis.at)
    inside = (axis.at >= edges[0]) & (axis.at <= edges[-1])
    return np.where(inside, np.log(wide[at]), np.inf)


def heights(density: Floats, area: Floats, shares: tuple[float, ...]) -> Floats:
    """The heights above which a density has these shares of its mass: the smallest regions that hold so much.

    A share that reaches beyond the grid has the height 0. A peak too narrow for the grid counts as all there is.
    """
    order = np.argsort(-density, axis=None)
    mass = np.cumsum((density * area).ravel()[order])
    at = np.searchsorted(mass, np.asarray(shares) * max(mass[-1], 1.0))
    return np.where(at < mass.size, density.ravel()[order[np.minimum(at, mass.size - 1)]], 0.0)
