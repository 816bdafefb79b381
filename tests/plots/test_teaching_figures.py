"""What figures of a lecture need: true angles, posterior levels, segments between means, curves over a column."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import expit
from sklearn.datasets import load_iris

from tallybayes import GaussianDiscriminant, GaussianNB, LinearDiscriminantAnalysis, NaiveBayes
from tallybayes.errors import OptionError
from tallybayes.plots import (
    ClassDensityDisplay,
    DecisionBoundaryDisplay,
    DensityContourDisplay,
    SigmoidDisplay,
)

X, y = load_iris(return_X_y=True)


def _two_spheres() -> GaussianDiscriminant:
    return GaussianDiscriminant.from_parameters([[0.0, 0.0], [2.0, 1.0]], np.eye(2), [0.5, 0.5])


def test_the_segment_between_means_is_orthogonal_to_the_boundary() -> None:
    model = _two_spheres()
    rows = model.sample(300, random_state=0)[0]
    ax = DecisionBoundaryDisplay.from_estimator(model, rows).plot(segments=True, aspect="equal").ax_
    ax.figure.canvas.draw()
    lines = [np.asarray(line.get_xydata()) for line in ax.lines]
    (segment,) = (at for at in lines if at.shape == (2, 2))
    np.testing.assert_allclose(segment, [[0, 0], [2, 1]])
    (boundary,) = (c for c in ax.collections if type(c).__name__ == "LineCollection")
    path = np.concatenate(boundary.get_segments())
    across = np.diff(ax.transData.transform(segment), axis=0)[0]  # on the page, where the eye measures the angle
    along = np.diff(ax.transData.transform(path[[0, -1]]), axis=0)[0]
    assert abs(across @ along) < 0.02 * np.linalg.norm(across) * np.linalg.norm(along)


def test_posterior_contours_are_where_they_are_wanted() -> None:
    model = LinearDiscriminantAnalysis().fit(X[:, :2], y)
    made = DecisionBoundaryDisplay.from_estimator(model, X[:, :2], y)
    texts = {t.get_text() for t in made.plot(levels=(0.6, 0.9)).ax_.texts}
    assert {"60%", "90%"} <= texts
    assert not {"60%", "90%", "75%", "95%"} & {t.get_text() for t in made.plot(levels=()).ax_.texts}


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"levels": [0.5, 2]}, "levels must be probabilities"),
        ({"aspect": "wide"}, "aspect must be"),
        ({"segments": True}, "class means"),
    ],
)
def test_wrong_options_are_refused(option: dict[str, object], said: str) -> None:
    made = DecisionBoundaryDisplay.from_estimator(NaiveBayes("kernel").fit(X[:, :2], y), X[:, :2], y, grid=10)
    with pytest.raises(OptionError, match=said):
        made.plot(**option)  # type: ignore[arg-type]


def test_names_of_regions_keep_clear_of_the_rows() -> None:
    model = GaussianNB().fit(X[:, 2:], y)
    ax = DecisionBoundaryDisplay.from_estimator(model, X[:, 2:], y).plot(ellipses=False).ax_
    names = {t.get_text(): np.array(t.get_position()) for t in ax.texts if t.get_text() in ("0", "1", "2")}
    assert len(names) == 3
    for name, at in names.items():
        assert np.abs((X[:, 2:] - at) / np.ptp(X[:, 2:], axis=0)).max(axis=1).min() > 0.01, name


def test_without_a_boundary_no_region_has_a_name() -> None:
    made = DensityContourDisplay.from_estimator(GaussianNB().fit(X[:, :2], y), X[:, :2], y, grid=40)
    assert not made.plot(boundary=False).ax_.texts
    assert made.plot().ax_.texts


def test_the_sigmoid_over_a_column_is_its_posterior() -> None:
    model = LinearDiscriminantAnalysis().fit(X, y)
    made = SigmoidDisplay.from_estimator(model, X, y, pair=(2, 1), feature=2)
    frame = made.frame()
    np.testing.assert_allclose(frame["x2"], X[y > 0, 2])
    found = model.predict_proba([{"x2": v} for v in X[y > 0, 2]])
    np.testing.assert_allclose(frame["posterior"], found[:, 2] / (found[:, 1] + found[:, 2]), atol=1e-12)
    curve = made.plot().ax_.lines[-1]
    assert made.along is not None
    np.testing.assert_allclose(curve.get_ydata(), expit(made.along[3]))
    assert made.ax_.get_xlabel() == "x2"
    rows = [{"a": "u", "b": "s"}, {"a": "v", "b": "t"}] * 4
    with pytest.raises(OptionError, match="column of numbers"):
        SigmoidDisplay.from_estimator(NaiveBayes().fit(rows, [0, 1] * 4), rows, [0, 1] * 4, feature="a")


def test_density_axes_have_numbers() -> None:
    picture = ClassDensityDisplay.from_estimator(GaussianNB().fit(X, y), features=[0])
    assert len(picture.ax_.get_yticks()) >= 3


def test_many_classes_show_those_with_most_rows() -> None:
    rng = np.random.default_rng(0)
    codes = np.concatenate([np.arange(50), np.arange(10, 40)])
    made = ClassDensityDisplay.from_estimator(GaussianNB().fit(rng.normal(size=(80, 1)) + codes[:, None], codes))
    assert made.classes.tolist() == list(range(10, 40))
    assert any("30 of 50 classes" in t.get_text() for t in made.ax_.texts)
    chosen = ClassDensityDisplay.from_estimator(
        GaussianNB().fit(rng.normal(size=(80, 1)) + codes[:, None], codes), labels=[3, 1]
    )
    assert chosen.classes.tolist() == [1, 3]
    assert len(chosen.panels[0].density) == 2


def test_a_log_gaussian_curve_has_no_density_below_zero() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([np.exp(rng.normal(size=(90, 1))), np.zeros((10, 1))])
    model = NaiveBayes("log-gaussian").fit(x, np.arange(100) % 2)
    (panel,) = ClassDensityDisplay.from_estimator(model, x, np.arange(100) % 2).panels
    assert panel.values.min() > 0
    assert (trapezoid(panel.density, panel.values, axis=1) < 0.97).all()  # the zeros have the rest
