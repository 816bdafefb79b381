"""A distribution that a user registers takes part in everything: nothing in the library has a list of its own ones.

`Waiting` defines what it must and no more; `WithForms` has capabilities besides: linear, and a form for other programs.
"""

from __future__ import annotations

import inspect
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import tallybayes as tb
from tallybayes import distributions, plots
from tallybayes.distributions.capabilities import (
    CompiledRow,
    LevelCounts,
    LinearForm,
    LogOddsFeatures,
    NoLikelihood,
    Plotted,
    capability,
)
from tallybayes.errors import ExportError, OptionError

mpl.use("Agg")


@distributions.register
@dataclass(frozen=True)
class Waiting(distributions.SimpleDistribution):
    """p(x) = λ exp(−λ x), λ = (n + 1) / (Σ x + 1)."""

    name = "waiting"
    kinds = ("real", "count")
    parameters = ("rate",)

    def statistics(self, x: Any) -> Sequence[Any]:
        return [x]

    def estimate_one(self, n: Any, statistics: Sequence[Any]) -> Sequence[Any]:
        return [(n + 1) / (statistics[0] + 1)]

    def log_density(self, x: Any, *parameters: Any) -> Any:
        (rate,) = parameters
        return np.where(x >= 0, np.log(rate) - rate * x, -np.inf)

    def draw(self, rng: Any, *parameters: Any) -> Any:
        return rng.exponential(1 / parameters[0])


@distributions.register
@dataclass(frozen=True)
class WithForms(Waiting):
    """The same, which tells that it is linear in x."""

    name = "with-forms"
    capabilities = (LinearForm, LogOddsFeatures)

    def linear(self, p: Any, log_prior: Any) -> Any:  # noqa: ARG002
        rate = np.array([column[0] for column in p["columns"]]).T
        return -rate, np.log(rate).sum(axis=1)

    def features(self) -> Any:
        return "numbers"

    def export(self, p: Any, context: Any) -> Any:
        weight, _ = self.linear(p, np.zeros(context.K))
        return {"form": "linear", "weight": weight.T.tolist(), "bias": np.log(-weight).T.tolist()}


def rows(n: int = 300) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    y = np.array(["calm", "busy"])[rng.integers(0, 2, n)]
    wait, size = rng.exponential(np.where(y == "calm", 1.0, 5.0)), rng.normal(size=n) + (y == "busy")
    return pd.DataFrame({"wait": wait, "size": size, "color": rng.choice(["red", "blue"], n)}), y


X, Y = rows()


def model(name: str = "waiting") -> Any:
    return tb.NaiveBayes({"wait": name, "size": "gaussian"})


FITTED = model().fit(X, Y)
ALONE = tb.NaiveBayes("waiting").fit(X[["wait"]], Y)
LINEAR = tb.NaiveBayes("with-forms").fit(X[["wait"]], Y)


def same(other: Any, than: Any = FITTED) -> None:
    np.testing.assert_allclose(other.predict_joint_log_proba(X), than.predict_joint_log_proba(X), rtol=1e-9)


# --- learning ------------------------------------------------------------------------------------------------------


def test_parts_add_and_rows_are_forgotten() -> None:
    same(model().fit(X[:100], Y[:100]).merge(model().fit(X[100:], Y[100:])))
    same(model().fit(pd.concat([X, X[:9]]), [*Y, *Y[:9]]).forget(X[:9], Y[:9]))
    same(tb.merge_all([FITTED.empty().partial_fit(X[:50], Y[:50]), FITTED.empty().partial_fit(X[50:], Y[50:])]))


def test_left_out_rows_are_judged_by_a_fit_without_them() -> None:
    found = model().fit(X, Y).leave_one_out(X, Y)
    for i in (0, 7, 299):
        without = np.delete(np.arange(len(Y)), i)
        alone = model().fit(X.iloc[without], Y[without]).predict_log_proba(X.iloc[[i]])
        np.testing.assert_allclose(found[i], alone[0], rtol=1e-6)


def test_engines_plan_and_count_it(tmp_path: Path) -> None:
    table = X.assign(target=Y)
    with sqlite3.connect(":memory:") as there:
        table.to_sql("t", there, index=False)
        same(model().learn_from((there, "t"), "target"))
    table.to_parquet(tmp_path / "t.parquet")
    same(model().learn_from(str(tmp_path / "t.parquet"), "target"))
    plan = model().plan(table, "target")
    same(tb.merge_all([plan.copy().partial_fit(X[:150], Y[:150]), plan.copy().partial_fit(X[150:], Y[150:])]))


def test_semi_supervised_rows_and_a_temperature() -> None:
    some = Y.astype(object).copy()
    some[::3] = None
    found = tb.SemiSupervised(model()).fit(X, some)
    assert (found.predict(X[::3]) == Y[::3]).mean() > 0.7
    assert model().set_params(tempered=True).fit(X, Y).temperature_ != 1


# --- answering -----------------------------------------------------------------------------------------------------


def test_one_row_explains_why_it_is_not_compiled_and_predicts_alike() -> None:
    assert FITTED.one_row == "column 'wait': the distribution 'waiting' has no compiled form for one row"
    assert tb.NaiveBayes("gaussian").fit(X[["wait"]], Y).one_row == "compiled"
    for i in range(5):
        found = FITTED.predict_proba_one(X.iloc[i].to_dict())
        np.testing.assert_allclose(list(found.values()), FITTED.predict_proba(X.iloc[[i]])[0], rtol=1e-12)


def test_files_hold_it(tmp_path: Path) -> None:
    FITTED.save(tmp_path / "m.tb")
    same(tb.load(tmp_path / "m.tb"))
    same(tb.from_bytes(tb.to_bytes(FITTED)))


def test_explained_evidence_adds_up() -> None:
    found = FITTED.explain(X[:4])
    odds = np.diff(FITTED.predict_log_proba(X[:4]), axis=1)[:, 0]
    prior = np.diff(FITTED.predictor_.offset)[0]
    np.testing.assert_allclose(found.values[:, :, 1].sum(axis=1), odds - prior, rtol=1e-9)
    assert FITTED.feature_importances_[0] > FITTED.feature_importances_[2]


def test_drawn_rows_have_its_mean() -> None:
    drawn, y = FITTED.sample(20_000, random_state=0)
    for label, said in FITTED.describe("wait").items():
        assert drawn["wait"][y == label].mean() == pytest.approx(1 / said["rate"], rel=0.05)
    assert FITTED.novelty(X[:3]) is not None


# --- telling -------------------------------------------------------------------------------------------------------


def test_its_logistic_counterpart_has_its_coefficients() -> None:
    found = LINEAR.logistic()
    np.testing.assert_allclose(found.predict_proba(X[["wait"]]), LINEAR.predict_proba(X[["wait"]]), rtol=1e-9)
    np.testing.assert_allclose(LINEAR.predict_proba(X[["wait"]]), ALONE.predict_proba(X[["wait"]]), rtol=1e-12)
    with pytest.raises(OptionError, match="not linear"):
        ALONE.logistic()
    assert tb.evaluation.count_parameters(ALONE) == 2 + 1
    assert tb.evaluation.discriminative_counterpart(LINEAR).fit(X[["wait"]], Y).predict(X[["wait"]]).shape == Y.shape


def test_a_leaderboard_has_it() -> None:
    found = tb.compare_models(X[["wait"]], Y, folds=2, models={"mine": tb.NaiveBayes("waiting")})
    assert "mine" in str(found)


def test_pictures_show_it() -> None:
    numbers = plots.ClassDensityDisplay.from_estimator(FITTED, features="wait").frame("pandas")
    rate = {label: said["rate"] for label, said in FITTED.describe("wait").items()}
    inside = numbers[(numbers["value"].astype(float) > 0)]
    truth = [rate[c] * np.exp(-rate[c] * float(v)) for c, v in zip(inside["class"], inside["value"], strict=True)]
    np.testing.assert_allclose(inside["density"].astype(float), truth, rtol=1e-6)
    two = tb.NaiveBayes({"wait": "waiting"}).fit(X[["wait", "size"]], Y)
    for picture in (
        plots.EvidenceDisplay.from_estimator(FITTED, X[:1]),
        plots.NomogramDisplay.from_estimator(FITTED),
        plots.NetworkDisplay.from_estimator(FITTED),
        plots.CalibrationDisplay.from_estimator(FITTED, X, Y),
        plots.DecisionBoundaryDisplay.from_estimator(two, X[["wait", "size"]]),
        plots.DensityContourDisplay.from_estimator(two, X[["wait", "size"]]),
    ):
        assert picture.plot().figure_ is not None
    plt.close("all")


def test_a_report_and_a_card_name_it() -> None:
    assert "waiting" in tb.io.model_card(FITTED)
    assert "waiting" in tb.report(FITTED, X, Y).html


@pytest.mark.parametrize("export", [tb.export.to_json, tb.export.to_js, tb.export.to_onnx, tb.export.to_sql])
def test_other_programs_get_it_or_one_clear_error(export: Any) -> None:
    with pytest.raises(ExportError, match=r"'waiting' has no form for other programs.*wait"):
        export(FITTED)
    assert export(LINEAR) is not None


def test_the_exported_form_predicts_alike() -> None:
    found = json.loads(tb.export.to_json(LINEAR))
    assert [term["form"] for term in found["terms"]] == ["linear"]
    with sqlite3.connect(":memory:") as there:
        X[["wait"]].to_sql("data", there, index=False)
        there.create_function("ln", 1, np.log)
        there.create_function("exp", 1, np.exp)
        answers = pd.read_sql(tb.export.to_sql(LINEAR, "sqlite"), there)
    numbers = answers.select_dtypes("number").to_numpy()
    np.testing.assert_allclose(
        np.sort(numbers[:, -2:], axis=1), np.sort(LINEAR.predict_proba(X[["wait"]]), axis=1), rtol=1e-9
    )


@dataclass(frozen=True)
class Shy(distributions.Gaussian):
    """A Gaussian of one's own that tells others what it is."""

    name = "shy"
    capabilities = (NoLikelihood, Plotted)

    def no_likelihood(self) -> str:
        return "Nobody climbs this."

    def plot_style(self) -> Any:
        return "whole"


@dataclass(frozen=True)
class Twice(distributions.Gaussian):
    """One that counts every row twice, and does not say what a database would have to count."""

    name = "twice"

    def add(self, data: Any, y: Any, w: Any, K: int) -> Any:
        return super().add(data, y, np.full(len(y), 2.0) if w is None else 2 * w, K)


def test_it_describes_itself_to_others() -> None:
    y = np.where(np.arange(len(Y)) % 3 > 0, Y, None)
    with pytest.raises(OptionError, match="Nobody climbs this"):
        tb.SemiSupervised(tb.NaiveBayes({"size": Shy()}), unlabelled=None).fit(X, y)
    model = tb.NaiveBayes({"size": Shy(), "wait": distributions.Gaussian()}).fit(X, Y)
    whole, curve = (p.kind for p in plots.density.make_panels(model, None, None, ["size", "wait"]))
    assert (whole, curve) == ("whole", "curve")
    found = plots.gaussians.class_gaussians(model, "size", "wait")
    assert found is not None
    np.testing.assert_allclose(found[1][:, 0, 0], model.predictor_.fitted.term_of(1)[0].params.var[:, 0])


def test_a_database_counts_only_distributions_with_the_capability() -> None:
    def lazy(own: Any, there: Any) -> Any:
        return tb.LazyBayes(tb.NaiveBayes({"size": own, "wait": distributions.Gaussian()}), there, "t", "target")

    with sqlite3.connect(":memory:") as there:
        X.assign(target=Y).to_sql("t", there, index=False)
        expected = tb.NaiveBayes({"size": Shy(), "wait": distributions.Gaussian()}).fit(X, Y).predict_proba(X[:20])
        np.testing.assert_allclose(lazy(Shy(), there).predict_proba(X[:20]), expected, rtol=1e-9)
        with pytest.raises(OptionError, match="'twice' is no table of counts"):
            lazy(Twice(), there)


def test_a_subclass_that_rewrites_a_verb_names_its_capabilities_again() -> None:
    assert capability(Shy(), CompiledRow) is not None
    assert capability(Twice(), CompiledRow) is None
    assert capability(Shy(), NoLikelihood) is not None
    assert capability(distributions.Gaussian(), NoLikelihood) is None

    @dataclass(frozen=True)
    class Flat(distributions.Categorical):
        name = "flat"

        def score(self, scorer: Any, data: Any, p: Any) -> None:
            super().score(scorer, data, p)

    assert capability(Flat(), CompiledRow) is None
    assert capability(Flat(), LevelCounts) is not None  # of its statistics, which it has not rewritten
    table, rare = pd.DataFrame({"c": list("aab")}), pd.DataFrame({"c": list("xbx")})
    own, usual = ((tb.NaiveBayes({"c": d}) for _ in range(2)) for d in (Flat(), "categorical"))
    merged, expected = (one.fit(table, [0, 1, 1]).merge(two.fit(rare, [0, 0, 1])) for one, two in (own, usual))
    np.testing.assert_array_equal(merged.predict_proba(table), expected.predict_proba(table))
    np.testing.assert_allclose(merged.explain(table).values, expected.explain(table).values)


def test_what_a_distribution_names_it_writes() -> None:
    for cls in distributions.known().values():
        for wanted in cls.capabilities:
            for method in (name for name in vars(wanted) if not name.startswith("_")):
                assert callable(getattr(cls, method)), (cls, wanted)
                said, own = (list(inspect.signature(getattr(c, method)).parameters) for c in (wanted, cls))
                assert said == own, (cls, method)


@distributions.register
@dataclass(frozen=True)
class Signs(distributions.Distribution):
    """P(x > 0 | class) of each number, by the five methods of the contract and nothing else."""

    name = "signs"
    kinds = ("real", "count")
    cells = ("above", "seen")

    def add(self, data: Any, y: Any, w: Any, K: int) -> Any:
        out = {key: np.zeros((K, data.d)) for key in self.cells}
        for j in range(data.d):
            x = data.column(j)
            weight = np.where((y >= 0) & ~np.isnan(x), 1.0 if w is None else w, 0.0)
            out["seen"][:, j] = np.bincount(np.maximum(y, 0), weight, K)
            out["above"][:, j] = np.bincount(np.maximum(y, 0), weight * (x > 0), K)
        return out

    def estimate(self, s: Any, context: Any) -> Any:  # noqa: ARG002
        return {"p": (s["above"] + 1) / (s["seen"] + 2)}

    def score(self, scorer: Any, data: Any, p: Any) -> None:
        found = np.zeros((data.n, len(p["p"])))
        for j in range(data.d):
            x = data.column(j)[:, None]
            found += np.where(np.isnan(x), 0.0, np.log(np.where(x > 0, p["p"][:, j], 1 - p["p"][:, j])))
        scorer.added(found, [])

    def sample(self, p: Any, y: Any, rng: Any) -> Any:
        return [np.where(rng.random(len(y)) < p["p"][y, j], 1.0, -1.0) for j in range(p["p"].shape[1])]

    def describe(self, p: Any, j: int, k: int, labels: Any) -> Any:  # noqa: ARG002
        return {"above": float(p["p"][k, j])}


def test_the_five_methods_are_enough(tmp_path: Path) -> None:
    x, y = X[["wait", "size"]] - 1.0, Y
    whole = tb.NaiveBayes(Signs()).fit(x, y)
    p = {k: (np.asarray(x[y == k] > 0).sum(axis=0) + 1) / ((y == k).sum() + 2) for k in ("busy", "calm")}
    above = np.asarray(x > 0)
    logs = np.stack([np.log(np.where(above, p[k], 1 - p[k])).sum(axis=1) + np.log(np.mean(y == k)) for k in p], axis=1)
    np.testing.assert_allclose(whole.predict_joint_log_proba(x), logs)
    parts = tb.NaiveBayes(Signs()).fit(x[:200], y[:200]).merge(tb.NaiveBayes(Signs()).fit(x[200:], y[200:]))
    tb.save(parts.forget(x[:5], y[:5]).partial_fit(x[:5], y[:5]), tmp_path / "model.tb")
    np.testing.assert_allclose(tb.load(tmp_path / "model.tb").predict_joint_log_proba(x), logs)
    assert set(np.sign(whole.sample(20, random_state=0)[0].to_numpy().ravel())) <= {-1.0, 1.0}


class ByClass:
    """What `check` asks of a context."""

    K = 2


@pytest.mark.parametrize(
    ("statistics", "said"),
    [
        ({"above": np.ones((2, 3))}, "'seen' is missing"),
        ({"above": np.full((2, 3), np.nan), "seen": np.ones((2, 3))}, "'above' does not hold finite numbers"),
        ({"above": np.ones((2, 3)), "seen": np.array([["a"], ["b"]])}, "'seen' does not hold finite numbers"),
        ({"above": np.ones((3, 3)), "seen": np.ones((2, 3))}, r"'above' has the shape \(3, 3\)"),
    ],
)
def test_statistics_of_a_file_are_checked_by_default(statistics: Any, said: str) -> None:
    whole: Any = {"above": np.ones((2, 3)), "seen": np.ones((2, 3))}
    context: Any = ByClass()
    Signs().check(whole, context)
    with pytest.raises(ValueError, match=said):
        Signs().check(statistics, context)
