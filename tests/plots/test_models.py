"""Densities, sigmoid, evidence, nomogram: each number of a picture against the model that it is of."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy.stats import norm, poisson
from sklearn.datasets import load_iris

import tallybayes as tb
from tallybayes.datasets import load_watermelon
from tallybayes.errors import LabelError, OptionError, TableError
from tallybayes.plots import ClassDensityDisplay, EvidenceDisplay, NomogramDisplay, SigmoidDisplay
from tallybayes.plots.evidence_plot import chance
from tallybayes.plots.pen import spread
from tallybayes.plots.scales import stretches
from tests.every_estimator import ESTIMATORS, labels

X, y = load_iris(return_X_y=True)
rows, ripe = load_watermelon()
MELONS = tb.NaiveBayes().fit(rows, ripe)
TOGETHER = ("GaussianDiscriminant",)  # full covariances of their own: no sum over columns


# --- densities -----------------------------------------------------------------------------------------------------


def test_a_gaussian_column_is_its_curve() -> None:
    model = tb.GaussianNB(var_smoothing=0).fit(X, y)
    f = ClassDensityDisplay.from_estimator(model, features=2).frame("pandas")
    for k in range(3):
        part, seen = f[f["class"] == k], X[y == k][:, 2]
        np.testing.assert_allclose(part["density"], norm(seen.mean(), seen.std()).pdf(part["value"]), rtol=1e-9)


def test_a_class_with_prior_0_has_densities_and_scales_all_the_same() -> None:
    never = tb.GaussianNB(priors=[0.0, 0.5, 0.5]).fit(X, y)
    always = tb.GaussianNB().fit(X, y)
    a, b = (ClassDensityDisplay.from_estimator(m, X, y).frame("pandas") for m in (never, always))
    np.testing.assert_allclose(a["density"], b["density"])
    one, other = (NomogramDisplay.from_estimator(m, X, pair=(0, 1)) for m in (never, always))
    np.testing.assert_allclose(one.scales[0].points, other.scales[0].points)
    assert one.start == -np.inf
    with pytest.raises(OptionError, match="adds up"):
        NomogramDisplay.from_estimator(tb.QuadraticDiscriminantAnalysis(priors=[0, 0.5, 0.5]).fit(X, y), X, pair=(0, 1))


def test_columns_are_matched_by_position_where_one_side_has_no_names() -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    named, bare = tb.GaussianNB().fit(frame, y), tb.GaussianNB().fit(X, y)
    expected = ClassDensityDisplay.from_estimator(bare, X, y, features=1).panels[0].observed
    for model, table in ((named, X), (bare, frame), (named, frame[list("dcba")])):
        found = ClassDensityDisplay.from_estimator(model, table, y, features=1).panels[0].observed
        np.testing.assert_array_equal(found, expected)


def test_a_discriminant_shows_its_marginals() -> None:
    model = tb.GaussianDiscriminant(own_covariance=1.0).fit(X, y)
    f = ClassDensityDisplay.from_estimator(model, X, y, features=[3]).frame("pandas")
    part, seen = f[f["class"] == 1], X[y == 1][:, 3]
    np.testing.assert_allclose(
        part["density"], norm(seen.mean(), seen.std()).pdf(part["value"]), rtol=1e-8, atol=1e-300
    )


def test_whole_numbers_levels_and_intervals_sum_to_one() -> None:
    rng = np.random.default_rng(0)
    target = rng.integers(0, 2, 300)
    table = pd.DataFrame(
        {
            "visits": rng.poisson(2 + target),
            "color": rng.choice(["red", "blue", "grey"], 300),
            "height": rng.normal(target * 2, 1),
        }
    )
    model = tb.NaiveBayes({"height": "mdl"}, schema={"visits": "count"}).fit(table, target)
    made = ClassDensityDisplay.from_estimator(model, table, target)
    visits, color, height = made.panels
    rate = model.describe("visits")[1]["rate"]
    np.testing.assert_allclose(visits.density[1], poisson(rate).pmf(visits.values), rtol=1e-9)
    assert dict(zip(color.values, color.density[0], strict=True)) == pytest.approx(model.describe("color")[0])
    np.testing.assert_allclose((height.density * np.diff(height.edges)).sum(axis=1), 1.0)
    np.testing.assert_allclose((height.observed * np.diff(height.edges)).sum(axis=1), 1.0)
    expected = table[target == 0]["color"].value_counts(normalize=True)
    assert dict(zip(color.values, color.observed[0], strict=True)) == pytest.approx(expected.to_dict())
    np.testing.assert_allclose(visits.observed[0].sum(), 1.0)
    bars = made.plot().axes_[1].patches
    np.testing.assert_allclose([b.get_width() for b in bars[:3]], color.density[0])


def test_many_levels_are_summed_up() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"town": rng.choice([f"town {i}" for i in range(40)], 500)})
    target = rng.integers(0, 2, 500)
    (panel,) = ClassDensityDisplay.from_estimator(tb.NaiveBayes().fit(table, target), table, target).panels
    assert len(panel.values) == 16
    assert panel.values[-1] == "(25 others)"
    np.testing.assert_allclose(panel.density.sum(axis=1), 1.0)
    np.testing.assert_allclose(panel.observed.sum(axis=1), 1.0)


def test_many_intervals_are_joined_and_their_probability_kept() -> None:
    rng = np.random.default_rng(0)
    target = rng.integers(0, 2, 2000)
    table = pd.DataFrame({f"c{j}": rng.normal(size=2000) + target for j in range(8)})
    model = tb.BayesClassifier().fit(table, target)
    made = ClassDensityDisplay.from_estimator(model, table, target)
    (panel, *_) = made.panels
    assert panel.joined == len(model.describe("c0")[0]) > 100
    assert 10 < len(panel.values) <= 24
    wide = np.diff(panel.edges)
    np.testing.assert_allclose((panel.density * wide).sum(axis=1), 1.0)
    np.testing.assert_allclose((panel.observed * wide).sum(axis=1), 1.0)
    inner = panel.edges[5]  # what the model says below an edge that was kept
    cuts = model.schema_.cuts[0].points
    below = sum(list(model.describe("c0")[1].values())[: np.searchsorted(cuts, inner) + 1])
    np.testing.assert_allclose((panel.density * wide)[1, :5].sum(), below)
    said = [t.get_text() for ax in made.plot().axes_ for t in ax.texts]
    assert f"{panel.joined} intervals, joined into {len(panel.values)}" in said
    assert "6 of 8 columns; features=[…] chooses others" in said
    chosen = ClassDensityDisplay.from_estimator(model, features=["c7"])
    assert chosen.hidden == 0
    assert not any("columns" in t.get_text() for t in chosen.ax_.texts)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_has_densities(name: str) -> None:
    make, data = ESTIMATORS[name]
    rng = np.random.default_rng(2)
    table, target = data(rng, 40), labels(rng, 40)
    model = make().fit(table, target)
    for known in ((table, target), (None, None)):
        made = ClassDensityDisplay.from_estimator(model, *known)
        assert all(np.isfinite(p.density).all() and (p.density >= 0).all() for p in made.panels)
    if name in ("KernelNB", "NaiveBayes mixed", "MultinomialNB"):
        made.plot()


def test_ten_classes_have_a_line_each() -> None:
    rng = np.random.default_rng(0)
    target = np.arange(300) % 10
    model = tb.GaussianNB().fit(rng.normal(size=(300, 1)) + target[:, None], target)
    ax = ClassDensityDisplay.from_estimator(model).plot().ax_
    assert [t.get_text() for t in ax.get_yticklabels()] == [str(k) for k in range(9, -1, -1)]
    assert len(ax.lines) == 10


def test_levels_of_many_classes_are_a_table_of_percentages() -> None:
    rng = np.random.default_rng(0)
    target = np.array(["one", "two", "three", "four", "five", "six"])[np.arange(120) % 6]
    table = pd.DataFrame({"few": np.array(["a", "b"])[rng.integers(0, 2, 120)], "n": rng.normal(size=120)})
    table["rare"] = [f"level {i % 40:02}, with a long name" for i in range(120)]
    model = tb.NaiveBayes(schema={"rare": "categorical"}).fit(table, target)
    ax = ClassDensityDisplay.from_estimator(model, features=["few"]).plot().ax_
    said = [t.get_text() for t in ax.texts]
    expected = [f"{100 * p:.0f}" for label in model.classes_ for p in model.describe("few")[label].values()]
    assert said == expected
    assert [t.get_text() for t in ax.get_yticklabels()] == sorted(target[:6])
    assert [t.get_text() for t in ax.get_xticklabels()] == [*model.describe("few")["one"]]
    assert ax.get_ylim() == (6, 0)  # the first class on top
    ax = ClassDensityDisplay.from_estimator(model, features=["rare"]).plot().ax_
    assert {t.get_rotation() for t in ax.get_xticklabels()} == {40.0}  # names too long to stand side by side
    both = ClassDensityDisplay.from_estimator(model, table, target, features=["n", "few"]).plot().axes_
    assert len(both[0].lines) == 6
    assert [t.get_text() for t in both[1].get_yticklabels()] == [""] * 6  # the names stand beside the first


def test_intervals_of_many_classes_are_steps() -> None:
    target = np.arange(300) % 6
    table = np.random.default_rng(0).normal(size=(300, 1)) + target[:, None]
    made = ClassDensityDisplay.from_estimator(tb.NaiveBayes("frequency").fit(table, target))
    (panel,) = made.panels
    for k, line in enumerate(made.plot().ax_.lines):
        p = panel.density[k]
        np.testing.assert_array_equal(line.get_xdata(), np.repeat(panel.edges, 2)[1:-1])
        np.testing.assert_allclose(line.get_ydata() - (5 - k), np.repeat(0.85 * p / p.max(), 2), atol=1e-12)


def test_several_columns_need_axes_that_can_be_split() -> None:
    model = tb.GaussianNB().fit(X, y)
    free = Figure().add_axes((0.1, 0.1, 0.8, 0.8))
    with pytest.raises(OptionError, match=r"4 columns need axes from subplots\(\), or features= with one column"):
        ClassDensityDisplay.from_estimator(model, ax=free)
    assert ClassDensityDisplay.from_estimator(model, features=0, ax=free).axes_ == [free]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"X": X}, "both X and y"),
        ({"features": []}, "at least one"),
        ({"features": ["width"]}, "no column 'width'"),
        ({"features": [True]}, "no column True"),
    ],
)
def test_bad_questions_about_densities(options: dict[str, Any], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        ClassDensityDisplay.from_estimator(tb.GaussianNB().fit(X, y), **options)


# --- sigmoid -------------------------------------------------------------------------------------------------------


def test_the_sigmoid_of_two_classes_is_predict_proba() -> None:
    model = tb.LinearDiscriminantAnalysis().fit(X[50:], y[50:])
    f = SigmoidDisplay.from_estimator(model, X[50:], y[50:]).frame("pandas")
    np.testing.assert_allclose(f["posterior"], model.predict_proba(X[50:])[:, 1], atol=1e-12)
    a, b = model.boundary(2, 1)
    np.testing.assert_allclose(f["score"], X[50:] @ a + b, rtol=1e-8)


def test_of_many_rows_the_sigmoid_draws_four_hundred_a_class() -> None:
    many, of = np.tile(X[50:], (9, 1)), np.tile(y[50:], 9)
    made = SigmoidDisplay.from_estimator(tb.LinearDiscriminantAnalysis().fit(many, of), many, of).plot()
    assert len(made.frame("pandas")) == 900
    assert [len(c.get_offsets()) for c in made.ax_.collections] == [400, 400]


def test_levels_and_missing_values_have_a_score_too() -> None:
    words = [{k: v for k, v in row.items() if isinstance(v, str)} for row in rows]
    words[0] = {"color": "green"}
    model = tb.CategoricalNB().fit(pd.DataFrame(words), ripe)
    f = SigmoidDisplay.from_estimator(model, words, ripe, pair=("yes", "no")).frame("pandas")
    np.testing.assert_allclose(f["posterior"], model.predict_proba(words)[:, 1], atol=1e-12)


def test_the_sigmoid_needs_a_line_and_a_pair() -> None:
    model = tb.LinearDiscriminantAnalysis().fit(X, y)
    assert SigmoidDisplay.from_estimator(model, X[:60], y[:60]).labels == (0, 1)  # the two with most rows, in order
    for pair, says in (
        (("a", "b"), "not a class"),
        ((0, 0), "different"),
        ((0,), "two class labels"),
        ("01", "two class"),
    ):
        with pytest.raises(OptionError, match=says):
            SigmoidDisplay.from_estimator(model, X, y, pair=pair)
    with pytest.raises(OptionError, match="not linear"):
        SigmoidDisplay.from_estimator(tb.QuadraticDiscriminantAnalysis().fit(X, y), X, y)
    with pytest.raises(TableError, match="no rows of the classes"):
        SigmoidDisplay.from_estimator(model, X[100:], y[100:], pair=(0, 1))
    with pytest.raises(OptionError, match="one class"):
        SigmoidDisplay.from_estimator(tb.GaussianNB(variance="shared").fit(X[:5], y[:5]), X[:5], y[:5])


# --- evidence ------------------------------------------------------------------------------------------------------


def test_bars_are_the_explanation_and_add_up() -> None:
    made = EvidenceDisplay.from_estimator(MELONS, rows, row=3, label="no")
    explained = MELONS.explain(rows)
    f = made.frame("pandas")
    np.testing.assert_allclose(f["contribution"][1:-1], explained.values[3, :, 0])
    np.testing.assert_allclose(f["contribution"][:-1].sum(), f["contribution"].iloc[-1])
    p = MELONS.predict_proba(rows[3:4])[0, 0]
    np.testing.assert_allclose(f["contribution"].iloc[-1], np.log(p / (1 - p)))
    ax = made.plot(most=3).ax_
    bars = np.array([b.get_width() for b in ax.patches])
    order = np.argsort(-np.abs(explained.values[3, :, 0]))
    np.testing.assert_allclose(bars[1:4], explained.values[3, order[:3], 0])
    np.testing.assert_allclose(bars[:-1].sum(), bars[-1])
    assert [t.get_text() for t in ax.get_yticklabels()][-2:] == ["5 others", "log-odds"]
    assert "no against yes" in ax.get_title(loc="left")


LONG = ["ripe, as far as the " + "W" * 40 + " can tell", "not ripe, as far as the " + "M" * 40 + " can tell"]


@pytest.mark.parametrize("layout", [None, "constrained"])
@pytest.mark.parametrize("side_by_side", [1, 3])
def test_the_title_stays_in_its_place_and_keeps_the_probability(layout: Any, side_by_side: int) -> None:
    model = tb.NaiveBayes().fit(rows, np.where(np.array(ripe) == "yes", *LONG))
    figure = Figure(figsize=(5 * side_by_side, 4), layout=layout)
    for ax in np.ravel(figure.subplots(1, side_by_side)):
        EvidenceDisplay.from_estimator(model, rows, row=0, ax=ax)
    figure.draw_without_rendering()
    places = [t.get_window_extent() for ax in figure.axes for t in [ax.title, ax._left_title] if t.get_text()]
    assert len(places) == side_by_side
    assert all(a.x1 <= b.x0 for a, b in pairwise(places))
    assert places[-1].x1 <= figure.bbox.x1
    said = figure.axes[0].get_title(loc="left")
    assert said.startswith("P = 99.8%: ripe")
    assert "against not ripe" in said


def test_what_rounds_to_one_is_not_shown_as_certain() -> None:
    assert [chance(p) for p in (0.5, 1e-5, 1 - 1e-5, 1.0)] == ["50.0%", "1e-05", "1 − 1e-05", "almost 1"]


def test_a_row_may_be_a_row_of_a_frame() -> None:
    frame = pd.DataFrame(rows)
    model = tb.NaiveBayes().fit(frame, ripe)
    by_place = EvidenceDisplay.from_estimator(model, frame, row=5)
    expected = np.diff(model.predict_joint_log_proba(frame[5:6])[0])[0]
    for row in (frame.iloc[5], dict(rows[5])):
        given = EvidenceDisplay.from_estimator(model, row=row)
        np.testing.assert_allclose(given.evidence, by_place.evidence)
        assert given.values == by_place.values
        assert NomogramDisplay.from_estimator(model, frame, row=row).total == pytest.approx(expected)
    gone = frame.iloc[5].copy()
    gone["texture"] = pd.NA
    named = {name: value for name, value in rows[5].items() if name != "texture"}
    one, other = (NomogramDisplay.from_estimator(model, frame, row=r).total for r in (gone, named))
    assert one == pytest.approx(other)


def test_a_row_that_shares_no_name_with_the_model_goes_by_position() -> None:
    model = tb.GaussianNB().fit(X, y)
    expected = NomogramDisplay.from_estimator(model, X, row={f"x{j}": X[60, j] for j in range(4)}).total
    for row in (pd.Series(X[60]), pd.Series(X[60], index=list("abcd"))):
        assert NomogramDisplay.from_estimator(model, X, row=row).total == pytest.approx(expected)
    with pytest.raises(OptionError, match="no column 'c'"):
        NomogramDisplay.from_estimator(model, X, row=pd.Series(X[60, :3], index=list("cde")))
    with pytest.raises(OptionError, match="Give X"):
        EvidenceDisplay.from_estimator(model)


def test_impossible_values_end_beyond_the_longest_bar() -> None:
    model = tb.NaiveBayes(alpha=0).fit([{"a": "x", "b": "u"}, {"a": "z", "b": "v"}, {"a": "z", "b": "u"}], [0, 1, 1])
    made = EvidenceDisplay.from_estimator(model, [{"a": "x", "b": "u"}])
    assert np.isinf(made.frame("dict")["contribution"]).any()
    ax = made.plot().ax_
    assert np.isfinite([b.get_width() for b in ax.patches]).all()
    assert any("∞" in t.get_text() for t in ax.texts)


def test_one_column_that_is_left_over_has_a_bar_of_its_own() -> None:
    made = EvidenceDisplay.from_estimator(MELONS, rows, row=3)
    names = [t.get_text() for t in made.plot(most=len(made.names) - 1).ax_.get_yticklabels()]
    assert len(names) == len(made.names) + 2  # the prior, and the sum
    assert not any("other" in name for name in names)


def test_bad_questions_about_evidence() -> None:
    with pytest.raises(OptionError, match="row must be"):
        EvidenceDisplay.from_estimator(MELONS, rows, row=17)
    with pytest.raises(LabelError, match="not a class"):
        EvidenceDisplay.from_estimator(MELONS, rows, label="maybe")
    with pytest.raises(LabelError, match="not a class"):
        EvidenceDisplay.from_estimator(MELONS, rows, against="maybe")
    with pytest.raises(OptionError, match="most"):
        EvidenceDisplay.from_estimator(MELONS, rows).plot(most=0)


# --- nomogram ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ESTIMATORS)
def test_marked_values_sum_to_the_log_odds(name: str) -> None:
    make, data = ESTIMATORS[name]
    rng = np.random.default_rng(3)
    table, target = data(rng, 60), labels(rng, 60)
    model = make().fit(table, target)
    frame = table if isinstance(table, pd.DataFrame) else pd.DataFrame(np.asarray(table))
    row = dict(
        zip([f"x{j}" for j in range(4)] if frame is not table else frame.columns, frame.iloc[5].tolist(), strict=True)
    )
    if any(part in name for part in ("Quadratic", "DE", "Network", "KDB", "TAN")) or name in TOGETHER:
        with pytest.raises(OptionError, match="adds up column by column"):
            NomogramDisplay.from_estimator(model, table)
        return
    made = NomogramDisplay.from_estimator(model, table, pair=("b", "c"), row=row)
    joint = model.predict_joint_log_proba([row])[0]
    assert made.total == pytest.approx(joint[1] - joint[2], abs=1e-8)
    if name in ("GaussianNB", "KernelNB", "NaiveBayes mixed"):
        made.plot()


def test_scales_are_log_ratios_strongest_first() -> None:
    made = NomogramDisplay.from_estimator(MELONS, rows)
    scale = next(s for s in made.scales if s.name == "texture")
    p = MELONS.describe("texture")
    expected = [np.log(p["yes"][v] / p["no"][v]) for v in scale.values]
    np.testing.assert_allclose(scale.points, expected)
    reach = [s.reach for s in made.scales]
    assert reach == sorted(reach, reverse=True)
    assert made.total is None
    assert NomogramDisplay.from_estimator(MELONS, rows, most=2).hidden == 6


def crowd(levels: int) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"town": rng.choice([f"town {i}" for i in range(levels)], 1000), "n": rng.normal(size=1000)})
    return frame, rng.integers(0, 2, 1000)


def test_levels_that_lie_close_all_have_their_names_apart() -> None:
    frame, target = crowd(14)
    ax = NomogramDisplay.from_estimator(tb.NaiveBayes().fit(frame, target), frame).ax_
    ax.figure.draw_without_rendering()
    names = [t for t in ax.texts if t.get_text().startswith("town ")]
    assert {t.get_text() for t in names} == {f"town {i}" for i in range(14)}
    boxes = [t.get_window_extent() for t in names]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert not any("not named" in t.get_text() for t in ax.texts)


def test_levels_for_which_there_is_no_room_are_counted_and_that_of_the_row_is_named() -> None:
    frame, target = crowd(90)
    model = tb.NaiveBayes().fit(frame, target)
    scale = next(s for s in NomogramDisplay.from_estimator(model, frame).scales if s.levels)
    middle = scale.values[np.argmin(np.abs(scale.points))]  # would be the first to go
    ax = NomogramDisplay.from_estimator(model, frame, row={"town": middle}).ax_
    names = [t.get_text() for t in ax.texts if t.get_text().startswith("town ")]
    assert middle in names
    assert f"{90 - len(names)} of 90 levels not named" in [t.get_text() for t in ax.texts]
    assert 10 < len(names) < 90


def test_spread_moves_no_further_than_needed() -> None:
    np.testing.assert_allclose(spread(np.array([0.0, 5.0]), np.array([2.0, 2.0]), -9, 9), [0, 5])
    np.testing.assert_allclose(spread(np.array([0.0, 0.0, 0.0]), np.array([2.0, 2.0, 2.0]), -9, 9), [-2, 0, 2])
    np.testing.assert_allclose(spread(np.array([9.0, 9.0]), np.array([2.0, 2.0]), -9, 9), [6, 8])
    assert spread(np.empty(0), np.empty(0), 0, 1) == []


def test_missing_values_add_nothing() -> None:
    made = NomogramDisplay.from_estimator(MELONS, rows, row={"texture": "clear", "sugar": None})
    joint = MELONS.predict_joint_log_proba([{"texture": "clear"}])[0]
    assert made.total == pytest.approx(joint[1] - joint[0], abs=1e-10)


def test_intervals_are_levels() -> None:
    model = tb.NaiveBayes("frequency").fit(X, y)
    made = NomogramDisplay.from_estimator(model, X, pair=(2, 1))
    for scale in made.scales:
        found = model.describe(scale.name)
        assert scale.levels
        np.testing.assert_allclose(scale.points, [np.log(found[2][v] / found[1][v]) for v in scale.values])


def test_models_that_do_not_add_up_have_no_nomogram() -> None:
    with pytest.raises(OptionError, match="adds up column by column"):
        NomogramDisplay.from_estimator(tb.QuadraticDiscriminantAnalysis().fit(X, y), X)
    for options, says in (
        ({"row": [1, 2]}, "dict"),
        ({"row": {"weight": 1}}, "no column 'weight'"),
        ({"most": 0}, "most"),
        ({"pair": ("yes", "perhaps")}, "not a class"),
    ):
        with pytest.raises(OptionError, match=says):
            NomogramDisplay.from_estimator(MELONS, rows, **options)


FLOWERS = pd.DataFrame(X, columns=list("abcd"))
LINEAR = [tb.GaussianNB().fit(FLOWERS, y), tb.LinearDiscriminantAnalysis().fit(FLOWERS, y)]


@pytest.mark.parametrize("model", LINEAR)
def test_values_that_are_no_numbers_are_refused_as_by_predict(model: Any) -> None:
    for value, says in (("wide", "not numbers"), ("5.1", "not numbers"), (np.inf, "infinity"), ([1], "nested")):
        with pytest.raises(TableError, match=says):
            NomogramDisplay.from_estimator(model, row={"a": value})
    with pytest.raises(TableError, match="'a' has 150 value"):
        NomogramDisplay.from_estimator(model, FLOWERS.assign(a="wide"))


@pytest.mark.parametrize("model", LINEAR)
def test_a_scale_without_rows_to_span_it(model: Any) -> None:
    """No value; nearly always the same; always the same, between two ticks; booleans, which are read as numbers."""
    rare = np.where(np.arange(150) == 7, 4.0, 0.0)
    for given, ends in ((np.nan, (0, 0)), (rare, (0, 4)), (4.37, (4.37, 4.37)), (X[:, 0] > 5, (0, 1))):
        made = NomogramDisplay.from_estimator(model, FLOWERS.assign(a=given)).plot()
        [scale] = [s for s in made.scales if s.name == "a"]
        assert (scale.values[0], scale.values[-1]) == ends
        if given is not np.nan:
            expected = NomogramDisplay.from_estimator(model, FLOWERS, row={"a": ends[1]}).scales
            np.testing.assert_allclose(scale.points[-1], next(s.mark for s in expected if s.name == "a"))
    made = NomogramDisplay.from_estimator(LINEAR[0], FLOWERS.assign(a=4.37)).plot()
    assert "4.37" in [t.get_text() for t in made.ax_.texts]


def test_a_row_with_the_missing_value_of_pandas_leaves_its_column_out() -> None:
    for model in LINEAR:
        with_gap, without = (NomogramDisplay.from_estimator(model, row=r) for r in ({"a": pd.NA, "b": 3.0}, {"b": 3.0}))
        assert with_gap.total == without.total


def test_columns_for_which_there_is_no_room_are_counted() -> None:
    made = NomogramDisplay.from_estimator(LINEAR[0], FLOWERS, most=2).plot()
    assert "not shown: 2 with less to say" in [t.get_text() for t in made.ax_.texts]


def test_a_curve_that_turns_often_is_one_line() -> None:
    model = tb.KernelNB(bandwidth=0.01).fit(X[:100], y[:100])
    made = NomogramDisplay.from_estimator(model, X[:100]).plot()
    assert max(len(stretches(s.points)) for s in made.scales) > 6
    assert all(np.isfinite(s.points).all() for s in made.scales)


def test_stretches() -> None:
    assert stretches(np.array([0.0, 1, 2])) == [(0, 2)]
    assert stretches(np.array([0.0, 1, 1, 0])) == [(0, 2), (2, 3)]
    assert stretches(np.array([3.0])) == [(0, 0)]
    assert stretches(np.array([1.0, 1, 1])) == [(0, 2)]


def test_a_column_that_no_row_had_a_value_in() -> None:
    columns = {"a": [1.0, 2.0, 3.0, 4.0], "none": [np.nan] * 4, "c": ["p", "q", "p", "q"]}
    frame, given = pd.DataFrame(columns), ["u", "u", "v", "v"]
    for model in (tb.NaiveBayes(), tb.TAN(), tb.TAN(cuts=None)):
        for known in ((), (frame, given)):
            shown = ClassDensityDisplay.from_estimator(model.fit(frame, given), *known)
            assert [panel.name for panel in shown.panels] == list(columns)
