"""What all pictures keep: nothing global changes, the given axes are used, and matplotlib is asked for when needed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from sklearn.datasets import load_iris

import tallybayes as tb
from tallybayes import NaiveBayes, plots
from tallybayes.datasets import load_watermelon
from tallybayes.errors import MissingFontWarning, OptionError
from tallybayes.plots import display, style, text_fitting
from tallybayes.plots.display import Display

mpl.use("Agg")
data = load_iris(as_frame=True)
X, Y = data.data, data.target_names[data.target]
LDA = tb.LinearDiscriminantAnalysis().fit(X, Y)
NB = tb.NaiveBayes().fit(X, Y)
PAIR = list(X.columns[:2])


@cache
def _board() -> tb.evaluation.Comparison:
    return tb.compare_models(X, Y, folds=2)


PICTURES: dict[str, Callable[..., Display]] = {
    "boundary": lambda **k: plots.DecisionBoundaryDisplay.from_estimator(LDA, X, Y, features=PAIR, grid=20, **k),
    "shift": lambda **k: plots.BoundaryShiftDisplay.from_estimator(
        LDA, X, Y, features=PAIR, grid=20, priors={"few setosa": [0.01, 0.495, 0.495]}, **k
    ),
    "contours": lambda **k: plots.DensityContourDisplay.from_estimator(LDA, X, Y, features=PAIR, grid=20, **k),
    "surface": lambda **k: plots.DensitySurfaceDisplay.from_estimator(LDA, X, Y, features=PAIR, grid=20, **k),
    "density": lambda **k: plots.ClassDensityDisplay.from_estimator(NB, X, Y, features=PAIR, **k),
    "sigmoid": lambda **k: plots.SigmoidDisplay.from_estimator(LDA, X, Y, **k),
    "evidence": lambda **k: plots.EvidenceDisplay.from_estimator(NB, X, **k),
    "nomogram": lambda **k: plots.NomogramDisplay.from_estimator(NB, X, row=dict(X.iloc[0]), **k),
    "network": lambda **k: plots.NetworkDisplay.from_estimator(NB, **k),
    "factors": lambda **k: plots.FactorGraphDisplay.from_estimator(NB, **k),
    "curves": lambda **k: plots.LearningCurvesDisplay.from_estimator(
        tb.LinearDiscriminantAnalysis(), X, Y, sizes=[10, 60], repeats=2, **k
    ),
    "comparison": lambda ax=None: plots.ComparisonDisplay(_board()) if ax is None else _board().plot(ax),
    "prequential": lambda **k: plots.PrequentialDisplay.from_estimator(tb.StreamingBayes(), X, Y, block=50, **k),
    "calibration": lambda **k: plots.CalibrationDisplay.from_estimator({"LDA": LDA, "NB": NB}, X, Y, **k),
}


def test_every_public_picture_is_here() -> None:
    made = {type(make()).__name__ for make in PICTURES.values()}
    assert made == set(plots.__all__)


@pytest.mark.parametrize("name", PICTURES)
def test_nothing_global_changes(name: str) -> None:
    before, open_figures = dict(mpl.rcParams), plt.get_fignums()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = PICTURES[name]()._repr_png_()
    assert shown[:4] == b"\x89PNG"
    assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == open_figures


@pytest.mark.parametrize("name", PICTURES)
def test_the_given_axes_are_used_and_other_axes_left_alone(name: str) -> None:
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    made = PICTURES[name](ax=left)
    assert made.ax_ is left
    assert made.figure_ is figure
    assert not right.has_data()
    again = made.plot(ax=right)
    assert again is made
    assert made.ax_ is right


@pytest.mark.parametrize("name", PICTURES)
def test_a_frame_of_every_library(name: str) -> None:
    made = PICTURES[name]()
    assert isinstance(made.frame(), pd.DataFrame)
    columns = made.frame("dict")
    assert len({len(v) for v in columns.values()}) == 1
    for backend in ("polars", "pyarrow"):
        assert made.frame(backend).shape == made.frame().shape
    with pytest.raises(OptionError, match="backend"):
        made.frame("excel")


def test_drawing_twice_draws_the_same() -> None:
    made = PICTURES["sigmoid"]()
    first, second = ([c.get_offsets() for c in made.plot().ax_.collections] for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", PICTURES)
def test_not_fitted_and_not_a_model(name: str) -> None:
    source = {
        "boundary": lambda m: plots.DecisionBoundaryDisplay.from_estimator(m, X, Y, features=PAIR),
        "shift": lambda m: plots.BoundaryShiftDisplay.from_estimator(m, X, Y, features=PAIR, priors={"a": [1, 0, 0]}),
        "contours": lambda m: plots.DensityContourDisplay.from_estimator(m, X, Y, features=PAIR),
        "surface": lambda m: plots.DensitySurfaceDisplay.from_estimator(m, X, Y, features=PAIR),
        "density": lambda m: plots.ClassDensityDisplay.from_estimator(m, X, Y),
        "sigmoid": lambda m: plots.SigmoidDisplay.from_estimator(m, X, Y),
        "evidence": lambda m: plots.EvidenceDisplay.from_estimator(m, X),
        "nomogram": lambda m: plots.NomogramDisplay.from_estimator(m, X),
        "network": lambda m: plots.NetworkDisplay.from_estimator(m),
        "factors": lambda m: plots.FactorGraphDisplay.from_estimator(m),
        "curves": lambda m: plots.LearningCurvesDisplay.from_estimator(m, X, Y),
        "comparison": plots.ComparisonDisplay,
        "prequential": lambda m: plots.PrequentialDisplay.from_estimator(m, X, Y),
        "calibration": lambda m: plots.CalibrationDisplay.from_estimator(m, X, Y),
    }[name]
    with pytest.raises(OptionError):
        source(3)
    if name not in ("curves", "comparison", "prequential"):
        with pytest.raises(ValueError, match="not fitted"):
            source(tb.NaiveBayes())


def test_without_matplotlib_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    made = PICTURES["network"]()
    monkeypatch.setattr(
        display, "find_spec", lambda name: None if name == "matplotlib" else importlib.util.find_spec(name)
    )
    with pytest.raises(ImportError, match=r"pip install 'tallybayes\[plot\]'"):
        made.plot()
    assert len(made.frame()) == 0  # numbers need no matplotlib


def test_importing_the_library_does_not_import_matplotlib() -> None:
    code = "import sys, tallybayes, tallybayes.plots; print('matplotlib' in sys.modules)"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert out.stdout.strip() == "False"


# --- legends -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", [None, "constrained"])
@pytest.mark.parametrize(("name", "wide"), [("boundary", 12), ("boundary", 27), ("contours", 12), ("calibration", 12)])
def test_a_legend_keeps_clear_of_the_neighbours(name: str, wide: float, layout: Any) -> None:
    figure = Figure(figsize=(wide, 4), layout=layout)
    for ax in figure.subplots(1, 3):
        PICTURES[name](ax=ax)
    figure.draw_without_rendering()
    legends = [ax.get_legend().get_window_extent() for ax in figure.axes]
    for i, box in enumerate(legends):
        assert box.x0 >= -1
        assert box.x1 <= figure.bbox.x1 + 1
        assert box.y0 >= -1
        # without a layout, labels of the neighbours may reach anywhere: that is the caller's
        others = [ax.get_tightbbox() if layout else ax.bbox for j, ax in enumerate(figure.axes) if j != i]
        assert not any(box.overlaps(other) for other in others)
        assert not box.overlaps(figure.axes[i].get_window_extent())


def test_axes_that_are_drawn_on_again_keep_their_size() -> None:
    ax = Figure(figsize=(5, 4)).add_subplot()
    sizes = []
    for _ in range(2):
        PICTURES["boundary"](ax=ax)
        sizes.append(ax.get_position().bounds)
        ax.clear()
    assert sizes[0] == sizes[1]


# --- names ---------------------------------------------------------------------------------------------------------


def test_names_are_cut_to_size() -> None:
    long = "the average number of visits in the first quarter of the year"
    assert text_fitting.width(text_fitting.shorten(long, 20)) == 20
    assert text_fitting.shorten(long, 20).endswith("year")
    assert all(text_fitting.width(line) <= 20 for line in text_fitting.wrap(long, 20, 3).split("\n"))
    assert text_fitting.wrap(long, 20, 2).count("\n") == 1
    assert text_fitting.shorten("西瓜的根蒂与敲声以及纹理", 11) == "西瓜的…纹理"  # East Asian letters take two columns
    assert text_fitting.shorten(" \n\t") == "(empty)"
    assert text_fitting.shorten("a\nb\x00c") == "a bc"
    assert text_fitting.shorten("5$ to 10$") == r"5\$ to 10\$"


def test_names_that_differ_stay_different() -> None:
    names = [f"a rather long class name that ends in a number, {i}" for i in range(10)]
    assert len(set(text_fitting.distinct(names, 12))) == 10
    assert text_fitting.distinct(["a", "b"], 12) == ["a", "b"]
    assert text_fitting.distinct(["a", "a"], 12) == ["a", "a"]


AWFUL = ["$x^2 and $", "_hidden", "", "a\nb", r"\frac{", "%d {} \\", "x" * 300, "é" * 5, "<b>", "None"]


@pytest.mark.parametrize("name", [n for n in PICTURES if n != "curves"])
def test_awful_names_are_drawn(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    target = np.array(AWFUL, dtype=object)[np.arange(200) % 10]
    table = pd.DataFrame(rng.normal(size=(200, 4)) + (np.arange(200) % 10)[:, None], columns=[*AWFUL[:3], AWFUL[6]])
    names = {
        "X": table,
        "Y": target,
        "LDA": tb.LinearDiscriminantAnalysis().fit(table, target),
        "NB": tb.NaiveBayes().fit(table, target),
        "PAIR": AWFUL[:2],
    }
    for key, value in names.items():
        monkeypatch.setitem(globals(), key, value)
    if name == "shift":
        made: Any = plots.BoundaryShiftDisplay.from_estimator(
            LDA, X, Y, features=PAIR, grid=9, losses={v: 1 - np.eye(10) for v in AWFUL}
        )
    else:
        made = PICTURES[name]()
    figure = made.plot().figure_
    with warnings.catch_warnings():
        warnings.filterwarnings("error")
        figure.canvas.draw()
    box = made.ax_.get_legend()
    if box is not None and name in ("boundary", "shift"):
        assert len([t for t in box.get_texts() if t.get_text().strip()]) >= 10  # "_hidden" and "" are there too


def _picture_of_melons() -> plots.ClassDensityDisplay:
    rows, ripe = load_watermelon(language="zh")
    return plots.ClassDensityDisplay.from_estimator(NaiveBayes().fit(rows, ripe), features=["色泽"])


def test_east_asian_names_get_a_font_that_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_fitting, "CJK_FONTS", ("STIXGeneral",))  # stands in for one: matplotlib ships no other
    before = list(mpl.rcParams["font.family"])
    assert _picture_of_melons().ax_.title.get_fontfamily()[-1] == "STIXGeneral"
    assert list(mpl.rcParams["font.family"]) == before


def test_one_warning_names_a_font_if_none_has_the_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_fitting, "CJK_FONTS", ())
    text_fitting._warn_once.cache_clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            _picture_of_melons()._repr_png_()
    assert [w.category for w in caught] == [MissingFontWarning]
    assert "Noto Sans CJK" in str(caught[0].message)
    text_fitting._warn_once.cache_clear()


def test_classes_are_never_marked_by_colour_alone() -> None:
    looks = [(style.marker(k), str(style.dashes(k))) for k in range(10)]
    assert len(set(looks)) == 10
    assert len({style.colour(k) for k in range(10)}) == 10
    assert len({(style.colour(k), style.marker(k)) for k in range(100)}) == 100
    np.testing.assert_allclose(style.rgb(0), [0x3F / 255, 0x90 / 255, 0xDA / 255])
