"""Densities of classes over two columns, as contours and as surfaces, against scipy's Gaussians."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.contour import ContourSet
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from scipy.stats import multivariate_normal, poisson
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB

import tallybayes as tb
from tallybayes.errors import OptionError
from tallybayes.plots import DensityContourDisplay, DensitySurfaceDisplay
from tallybayes.plots.joint_density import heights

BOTH = [DensityContourDisplay, DensitySurfaceDisplay]
X, y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[y]
QDA = tb.QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, NAMES)


def mass(made: Any) -> Any:
    """How much of each class lies on the grid."""
    return made.densities.mass


@pytest.mark.parametrize("kind", BOTH)
def test_the_frame_is_the_gaussian_of_the_two_columns(kind: Any) -> None:
    f = kind.from_estimator(QDA, X, NAMES, features=(3, 0), grid=15).frame("pandas")
    assert len(f) == 225
    for k, label in enumerate(QDA.classes_):
        pick = np.ix_([3, 0], [3, 0])
        expected = multivariate_normal(QDA.means_[k][[3, 0]], QDA.covariance_[k][pick]).pdf(f[["x3", "x0"]])
        np.testing.assert_allclose(f[f"p({label})"], expected, rtol=1e-8, atol=1e-300)


def test_a_contour_holds_its_share() -> None:
    made = DensityContourDisplay.from_estimator(QDA, X, NAMES, features=(0, 1), shares=[0.9, 0.5], grid=200)
    assert made.shares == (0.5, 0.9)
    for k in range(3):
        cov = QDA.covariance_[k][:2, :2]
        peak = 1 / (2 * np.pi * np.sqrt(np.linalg.det(cov)))
        # of a Gaussian in the plane, the share s lies where the density is above (1 − s) of its peak
        np.testing.assert_allclose(made.levels[k], peak * np.array([0.5, 0.1]), rtol=0.02)
    drawn = [c for c in made.ax_.collections if isinstance(c, ContourSet)]
    assert [sorted(c.levels) for c in drawn] == [sorted(levels) for levels in made.levels.tolist()]
    inside = drawn[0].get_paths()[0].vertices  # the outer contour of the first class: 90 %
    away = inside - QDA.means_[0][:2]
    distance = np.einsum("ij,jk,ik->i", away, np.linalg.inv(QDA.covariance_[0][:2, :2]), away)
    np.testing.assert_allclose(distance, -2 * np.log(0.1), rtol=0.05)


def test_heights() -> None:
    density, area = np.array([[4.0, 1.0], [3.0, 2.0]]), np.full((2, 2), 0.1)
    np.testing.assert_array_equal(heights(density, area, (0.3, 0.65, 0.99)), [4.0, 3.0, 1.0])
    np.testing.assert_array_equal(heights(density / 2, area, (0.1, 0.9)), [2.0, 0.0])  # half of it lies elsewhere
    np.testing.assert_array_equal(heights(10 * density, area, (0.3,)), [40.0])  # a peak narrower than the cells


@pytest.mark.parametrize(
    "model",
    [
        tb.GaussianNB(),
        tb.LinearDiscriminantAnalysis(),
        tb.GaussianDiscriminant(own_covariance=0.5),
        tb.KernelNB(),
        tb.NaiveBayes("mdl"),
        tb.NaiveBayes("frequency"),
        tb.TAN(),
        tb.TAN(cuts=None),
        tb.AODE(),
        tb.GaussianNB(priors=[0.0, 0.5, 0.5]),
    ],
    ids=str,
)
def test_every_density_is_one(model: Any) -> None:
    made = DensityContourDisplay.from_estimator(model.fit(X, NAMES), X, NAMES, features=(2, 3), grid=200)
    np.testing.assert_allclose(mass(made), 1.0, atol=0.12)  # some lies outside; steps are not hit exactly
    assert all(made.densities.seen)
    prior = np.exp(made.densities.log_prior)
    np.testing.assert_allclose(prior, getattr(model, "priors", None) or np.full(3, 1 / 3), rtol=1e-8)
    mixed = DensitySurfaceDisplay.from_estimator(model, X, features=(2, 3), mixture=True, grid=9).frame("pandas")
    apart = DensitySurfaceDisplay.from_estimator(model, X, features=(2, 3), grid=9).frame("pandas")
    whole = sum(prior[k] * apart[f"p({label})"] for k, label in enumerate(model.classes_))
    np.testing.assert_allclose(mixed["p"], whole, rtol=1e-7, atol=1e-300)


def test_whole_numbers_have_probabilities() -> None:
    rng = np.random.default_rng(0)
    target = np.arange(200) % 2
    table = pd.DataFrame({"visits": rng.poisson(2 + target), "calls": rng.poisson(5 - target)})
    model = tb.NaiveBayes(schema={"visits": "count", "calls": "count"}).fit(table, target)
    f = DensitySurfaceDisplay.from_estimator(model, table).frame()
    rates = [model.describe(name)[1]["rate"] for name in table]
    expected = poisson(rates[0]).pmf(f["visits"]) * poisson(rates[1]).pmf(f["calls"])
    np.testing.assert_allclose(f["p(1)"], expected, rtol=1e-8)
    with pytest.raises(OptionError, match="no density over the counts"):
        DensityContourDisplay.from_estimator(tb.MultinomialNB().fit(table, target), table)


@pytest.mark.parametrize("kind", BOTH)
def test_a_classifier_of_scikit_learn_takes_part(kind: Any) -> None:
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    theirs, ours = GaussianNB().fit(frame, NAMES), tb.GaussianNB().fit(frame, NAMES)
    one, other = (kind.from_estimator(m, frame, NAMES, features=["b", "a"], grid=11) for m in (theirs, ours))
    np.testing.assert_allclose(one.densities.density, other.densities.density, rtol=1e-6)
    with pytest.raises(OptionError, match="no predict_joint_log_proba"):
        kind.from_estimator(LogisticRegression(max_iter=500).fit(frame, NAMES), frame)


class Joint(LogisticRegression):
    """A classifier of one's own, with a joint and without a word on its prior."""

    def predict_joint_log_proba(self, rows: Any) -> Any:
        return self.predict_log_proba(rows)


@pytest.mark.parametrize("kind", BOTH)
def test_another_classifier_shows_its_prior_its_classes_and_its_rows(kind: Any) -> None:
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    with pytest.raises(OptionError, match="Joint does not tell its prior"):
        kind.from_estimator(Joint(max_iter=500).fit(frame, NAMES), frame)
    with pytest.raises(OptionError, match="has classes_; got a GaussianMixture"):
        kind.from_estimator(GaussianMixture(2).fit(frame), frame)
    with pytest.raises(OptionError, match="Give X: a GaussianNB"):
        kind.from_estimator(GaussianNB().fit(frame, NAMES))


def test_the_mixture_is_one_hill_in_the_colours_of_the_likeliest_classes() -> None:
    made = DensitySurfaceDisplay.from_estimator(QDA, X, features=(0, 1), mixture=True, grid=20).plot()
    f = made.frame("pandas")
    parts = DensitySurfaceDisplay.from_estimator(QDA, X, features=(0, 1), grid=20).frame("pandas")
    expected = sum(QDA.priors_[k] * parts[f"p({label})"] for k, label in enumerate(QDA.classes_))
    np.testing.assert_allclose(f[f.columns[-1]], expected, rtol=1e-8)
    [hill] = [c for c in made.ax_.collections if isinstance(c, Poly3DCollection)]
    assert len(np.unique(hill.get_facecolor(), axis=0)) > 2


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("model", "table", "options", "says"),
    [
        (QDA, X, {}, "Choose two"),
        (QDA, X, {"features": (0, 1), "grid": 1}, "grid"),
        (tb.BayesClassifier(), X, {"features": (0, 1)}, "no density of a row"),
        (tb.NaiveBayes(), pd.DataFrame({"n": X[:, 0], "c": np.where(y > 0, "u", "v")}), {}, "'c' has levels"),
    ],
)
def test_what_has_no_density_gives_the_reason(kind: Any, model: Any, table: Any, options: Any, says: str) -> None:
    fitted = model if model is QDA else model.fit(table, NAMES)
    with pytest.raises(OptionError, match=says):
        kind.from_estimator(fitted, table, NAMES, **options)


@pytest.mark.parametrize("shares", [[], [0.0], [1.0], ["half"], 2])
def test_bad_shares(shares: Any) -> None:
    with pytest.raises(OptionError, match="shares"):
        DensityContourDisplay.from_estimator(QDA, X, features=(0, 1), shares=shares)


def test_a_class_too_narrow_for_the_grid_is_noted() -> None:
    table = X[:, :2].copy()
    table[y == 0, 0] = 5.0
    model = tb.GaussianNB(var_smoothing=1e-12).fit(table, NAMES)
    for kind in BOTH:
        made = kind.from_estimator(model, table, NAMES, grid=40)
        assert made.densities.seen == [False, True, True]
        texts = [t.get_text() for ax in made.plot().figure_.axes for t in ax.texts]
        assert any("not seen: setosa" in t for t in texts)


def test_a_high_peak_is_cut_and_noted() -> None:
    rng = np.random.default_rng(0)
    target = np.repeat(["wide", "broad", "sharp"], 100)
    table = rng.normal(size=(300, 2)) * np.repeat([1.0, 1.2, 0.15], 100)[:, None]
    made = DensitySurfaceDisplay.from_estimator(tb.GaussianNB().fit(table, target), table, target, grid=80)
    peak = made.densities.density[..., list(made.densities.plane.classes).index("sharp")].max()
    assert any(f"cut: sharp, which rises to {peak:.3g}" in t.get_text() for t in made.plot().axes_[0].texts)
    assert made.axes_[0].get_zlim()[1] < peak / 2


def test_surfaces_stand_in_the_axes_given() -> None:
    figure = Figure(figsize=(12, 4), layout="constrained")
    flat, solid = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2, projection="3d")
    made = DensitySurfaceDisplay.from_estimator(QDA, X, features=(0, 1), label="virginica", grid=20)
    assert made.plot(solid, elev=50, azim=10).axes_ == [solid]
    assert (solid.elev, solid.azim) == (50, 10)
    made.plot(flat)
    assert made.ax_ is flat
    (room,) = made.axes_
    assert room.name == "3d"
    assert room.get_subplotspec() == flat.get_subplotspec()
    assert len([c for c in room.collections if isinstance(c, Poly3DCollection)]) == 1
    assert "virginica" in [t.get_text() for t in room.texts]
    free = Figure().add_axes((0.1, 0.1, 0.4, 0.8))
    np.testing.assert_allclose(made.plot(free).axes_[0].get_position().bounds[0], 0.1, atol=0.2)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("classes", [1, 2, 6])
def test_one_class_two_and_six_with_missing_values_and_long_names(kind: Any, classes: int) -> None:
    rng = np.random.default_rng(0)
    codes = np.arange(240) % classes
    table = rng.normal(size=(240, 2)) + 3 * np.column_stack([np.cos(codes), np.sin(codes)])
    table[::7, 0] = np.nan
    target = np.array([f"a rather long name of a class that ends in {k}" for k in codes])
    made = kind.from_estimator(tb.GaussianNB().fit(table, target), table, target, grid=30)
    made.figure_.draw_without_rendering()
    ax = made.axes_[0] if kind is DensitySurfaceDisplay else made.ax_
    shown = [t.get_text() for t in ax.get_legend().get_texts()]
    assert len([t for t in shown if "a rather" in t]) == classes
    box = ax.get_legend().get_window_extent()
    assert box.x1 <= made.figure_.bbox.x1 + 1
    assert box.y0 >= -1


def test_contours_without_a_boundary_name_no_regions() -> None:
    made = DensityContourDisplay.from_estimator(QDA, X, NAMES, features=(2, 3), grid=40)
    assert made.plot(boundary=True).ax_.texts
    assert not made.plot(boundary=False).ax_.texts
