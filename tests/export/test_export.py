"""A model as data and as JavaScript: the same answers as Python's, row by row."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import tallybayes as tb
from tallybayes.distributions import Categorical
from tallybayes.errors import ExportError
from tallybayes.export.model_json import FORMAT, VERSION, description
from tests.every_estimator import ESTIMATORS, LEARNED, as_read, labels
from tests.javascript import asked, need_javascript

EVERY = {**ESTIMATORS, **LEARNED}


def plain_rows(X: Any, gaps: Any = None) -> list[list[Any]]:
    """Rows of plain values; None where it is missing."""
    table = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X)
    rows = [[v.item() if hasattr(v, "item") else v for v in row] for row in table.itertuples(index=False)]
    if gaps is None:
        return rows
    return [[None if g else v for v, g in zip(row, gap, strict=True)] for row, gap in zip(rows, gaps, strict=True)]


def as_python_reads(model: Any, rows: list[list[Any]]) -> Any:
    """The rows as a table of the kind that the model learned."""
    if model.schema_.names is not None:
        return [dict(zip(model.schema_.names, row, strict=True)) for row in rows]
    if any(isinstance(v, str) for row in rows for v in row):
        return np.array(rows, dtype=object)
    return np.array([[np.nan if v is None else v for v in row] for row in rows], dtype=float)


def by_name(model: Any, rows: list[list[Any]]) -> list[dict[str, Any]]:
    names = [model.schema_.name(j) for j in range(model.schema_.d)]
    return [dict(zip(names, row, strict=True)) for row in rows]


@pytest.mark.parametrize("name", EVERY)
def test_javascript_answers_as_python_does(name: str, tmp_path: Path) -> None:
    need_javascript()
    make, data = EVERY[name]
    rng = np.random.default_rng(5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make().fit(data(rng, 80), labels(rng, 80))
        rows = plain_rows(as_read(model, data(rng, 25)))
        X = as_read(model, data(rng, 25))
        rows += [*plain_rows(X, rng.random((25, X.shape[1])) < 0.3), [None] * X.shape[1]]
        read = as_python_reads(model, rows)
        expected = model.predict_proba(read)
        terms = model.predictor_.terms(model.predictor_.read(read))
    small = f"model.small = scorer(await unpack({tb.export.to_json(model, compact=True)}));"
    ask = "[model.proba(row), model.evidence(row), model.small.proba(row)]"
    found = asked(f"{tb.export.to_js(model)}\n{small}", by_name(model, rows), ask, tmp_path)
    np.testing.assert_allclose([p for p, _, _ in found], expected, atol=1e-9, rtol=0)
    counted = isinstance(model, tb.BayesClassifier)  # which the compact export smooths from counts
    np.testing.assert_allclose([p for _, _, p in found], expected, atol=1e-6 if counted else 1e-9, rtol=0)
    evidence = np.array([e for _, e, _ in found], dtype=float)
    # what all classes share may be left out
    np.testing.assert_allclose(evidence - evidence[:, :, :1], terms - terms[:, :, :1], atol=1e-8, rtol=1e-8)


def census_like(n: int = 60) -> tuple[list[dict[str, Any]], list[str]]:
    rng = np.random.default_rng(2)
    rows = [
        {"job": ["clerk", "farmer", "cook"][int(rng.integers(3))], "age": float(rng.normal(40, 9)), "own": bool(i % 2)}
        for i in range(n)
    ]
    return rows, ["rich" if r["age"] + 10 * r["own"] > 44 else "poor" for r in rows]


@pytest.mark.parametrize("effort", ["fast", "balanced"])
def test_every_level_of_a_category_with_many_goes_along(effort: str, tmp_path: Path) -> None:
    need_javascript()
    rng = np.random.default_rng(4)
    towns = rng.integers(0, 30, 300)
    rows = [{"town": f"t{z}", "size": float(rng.normal())} for z in towns]
    model = tb.BayesClassifier(effort, members=2).fit(rows, (rng.random(300) < towns % 7 / 7).astype(int))
    assert max(model.weights_["target_encoding"].values()) > 0
    some: list[dict[str, Any]] = [*rows[:40], {}, {"town": "t3"}, {"size": 0.5}]
    found = asked(tb.export.to_js(model), some, "model.proba(row)", tmp_path)
    np.testing.assert_allclose(found, model.predict_proba(some), atol=1e-9, rtol=0)


ODD = [{"job": "king", "age": 30.0, "own": True}, {"age": 50.0}, {"job": "cook", "age": None, "own": None}]


@pytest.mark.parametrize("unseen", ["ignore", "other"])
def test_an_unseen_category_is_taken_as_the_model_takes_it(unseen: str, tmp_path: Path) -> None:
    need_javascript()
    rows, y = census_like()
    model = tb.NaiveBayes(unseen=unseen).fit(rows, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = model.predict_proba(ODD)
    found = asked(tb.export.to_js(model), ODD, "[model.proba(row), model.unseen(row)]", tmp_path)
    np.testing.assert_allclose([p for p, _ in found], expected, atol=1e-12)
    assert [names for _, names in found] == [["job"], [], []]


def test_it_is_refused_where_the_model_refuses_it(tmp_path: Path) -> None:
    need_javascript()
    rows, y = census_like()
    module = tb.export.to_js(tb.NaiveBayes(unseen="error").fit(rows, y))
    refused, fine, *_ = asked(module, ODD, "model.proba(row)", tmp_path)
    assert "unseen category" in refused
    assert len(fine) == 2


def test_values_of_the_wrong_kind_are_refused(tmp_path: Path) -> None:
    need_javascript()
    rows, y = census_like()
    module = tb.export.to_js(tb.NaiveBayes().fit(rows, y))
    ask = "model.proba(row.age === 1 ? {age: 1 / 0} : row)"
    words, endless, strange = asked(module, [{"age": "forty"}, {"age": 1}, {"Age": 3}], ask, tmp_path)
    assert "takes numbers" in words
    assert "infinite" in endless
    assert 'no column "Age"' in strange


def test_temperature_prior_and_levels_that_are_gone(tmp_path: Path) -> None:
    need_javascript()
    rows, y = census_like()
    alone = [{"job": "monk", "age": 33.0, "own": True}]
    model = tb.TAN(tempered=True, priors={"rich": 0.2, "poor": 0.8}).fit([*rows, *alone], [*y, "poor"])
    model.forget(alone, ["poor"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = model.predict_proba([*rows, *alone])
        other = model.predict_proba([*rows, *alone], priors=[0.5, 0.5])
    found = asked(
        tb.export.to_js(model), [*rows, *alone], "[model.proba(row), model.proba(row, {prior: [0.5, 0.5]})]", tmp_path
    )
    np.testing.assert_allclose([p for p, _ in found], expected, atol=1e-12)
    np.testing.assert_allclose([p for _, p in found], other, atol=1e-12)


def test_values_that_follow_from_others_are_left_out(tmp_path: Path) -> None:
    need_javascript()
    rng = np.random.default_rng(0)
    town = rng.choice(["Bonn", "Ulm", "Lyon", "Nice"], 700)
    X = pd.DataFrame(
        {"town": town, "land": np.where(np.isin(town, ["Bonn", "Ulm"]), "de", "fr"), "n": rng.choice(list("abc"), 700)}
    )
    y = np.where(rng.random(700) < np.where(town == "Ulm", 0.8, 0.3), "yes", "no")
    model = tb.AODE(subsumption=True).fit(X, y)
    rows = plain_rows(X.head(40))
    found = asked(tb.export.to_js(model), by_name(model, rows), "model.proba(row)", tmp_path)
    assert description(model)["terms"][0]["follows"]
    np.testing.assert_allclose(found, model.predict_proba(X.head(40)), atol=1e-12)


def test_numbers_whose_logarithm_is_normal(tmp_path: Path) -> None:
    need_javascript()
    rng = np.random.default_rng(0)
    X = np.exp(rng.normal(size=(60, 2))) * (rng.random((60, 2)) < 0.8)
    model = tb.NaiveBayes("log-gaussian").fit(X, np.arange(60) % 3)
    rows = [*X.tolist(), [None, 2.0], [-1.0, 1e300]]
    expected = model.predict_proba(np.array([[np.nan if v is None else v for v in row] for row in rows], dtype=float))
    np.testing.assert_allclose(asked(tb.export.to_js(model), rows, "model.proba(row)", tmp_path), expected, atol=1e-12)


def test_labels_of_every_type(tmp_path: Path) -> None:
    need_javascript()
    rows = [
        {"a": v, "b": w, "__proto__": i} for i, (v, w) in enumerate([(True, 1), (False, 2), (True, 1), (False, 0.5)])
    ]
    model = tb.NaiveBayes(schema={"b": "categorical"}).fit(rows, [True, False, True, False])
    ask = [*rows, {"a": 1, "b": True}, {"a": "True", "b": "1"}, {"a": None, "b": 1.0}, {}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [model.predict_proba([row])[0] for row in ask]
    found = asked(
        tb.export.to_js(model),
        [list(r.values()) for r in rows] + ask[4:],
        "[model.proba(row), model.predict(row)]",
        tmp_path,
    )
    np.testing.assert_allclose([p for p, _ in found], expected, atol=1e-12)
    assert found[0][1] is True


def test_a_row_of_a_sparse_model_has_zeros_where_it_has_no_value(tmp_path: Path) -> None:
    need_javascript()
    from scipy import sparse

    rng = np.random.default_rng(0)
    X = rng.poisson(0.4, (40, 6)).astype(float)
    y = np.where(X[:, 0] > 0, "a", "b")
    for model in (tb.BernoulliNB(), tb.MultinomialNB()):
        model.fit(sparse.csr_matrix(X), y)
        rows = [{f"x{j}": v for j, v in enumerate(row.tolist()) if v} for row in X]
        found = asked(tb.export.to_js(model), rows, "model.proba(row)", tmp_path)
        np.testing.assert_allclose(found, model.predict_proba(sparse.csr_matrix(X)), atol=1e-12)


def test_the_description_is_json_of_a_version() -> None:
    rows, y = census_like()
    model = tb.NaiveBayes({"job": Categorical(alpha=0.0)}).fit([*rows, {"job": "pope"}], [*y, "rich"])
    found = json.loads(tb.export.to_json(model))
    assert (found["format"], found["version"]) == (FORMAT, VERSION)
    assert found == description(model)
    (job,) = [t for t in found["terms"] if t["columns"] == [0]]
    assert [None, pytest.approx(-3.4, abs=1)] == job["log"][0][found["columns"][0]["levels"].index("pope")]  # log 0


def test_the_scorer_reads_its_own_version_only(tmp_path: Path) -> None:
    rows, y = census_like()
    model = tb.NaiveBayes().fit(rows, y)
    script = tb.export.to_js(model)
    assert f'"version":{VERSION}' in script
    for other in (VERSION - 1, VERSION + 1):
        changed = script.replace(f'"version":{VERSION}', f'"version":{other}')
        with pytest.raises(Exception, match="export the model again"):
            asked(changed, rows[:3], "model.proba(row)", tmp_path)


def test_the_text_may_stand_in_a_script(tmp_path: Path) -> None:
    nasty = ["</script><script>alert(1)</script>", "<!--", "a\u2028b", "'\"&amp;", "\ud800"]
    model = tb.NaiveBayes().fit([{"<b>": v} for v in nasty], ["</script>", "b", "b", "b", "b"])
    for text in (tb.export.to_json(model), tb.export.to_js(model).split("export const description")[1]):
        assert "<" not in text
        assert text.isascii()
    assert [c["levels"] for c in json.loads(tb.export.to_json(model))["columns"]] == [nasty]
    need_javascript()
    found = asked(tb.export.to_js(model), [{"<b>": v} for v in nasty[:4]], "model.proba(row)", tmp_path)
    np.testing.assert_allclose(found, model.predict_proba([{"<b>": v} for v in nasty[:4]]), atol=1e-12)


def test_one_class_one_row(tmp_path: Path) -> None:
    need_javascript()
    model = tb.NaiveBayes().fit([{"a": "x", "b": 2.0}], ["only"])
    assert asked(tb.export.to_js(model), [{"a": "x"}, {}], "model.proba(row)", tmp_path) == [[1], [1]]


def test_files_are_written(tmp_path: Path) -> None:
    model = tb.GaussianNB().fit([[1.0], [2.0]], ["ä", "b"])
    assert tb.export.to_json(model, tmp_path / "m.json") + "\n" == (tmp_path / "m.json").read_text()
    assert tb.export.to_js(model, tmp_path / "m.mjs") == (tmp_path / "m.mjs").read_text(encoding="utf-8")


class Own(tb.distributions.SimpleDistribution):
    name = "own"
    parameters = ("rate",)

    def statistics(self, x: Any) -> Any:
        return [x]

    def estimate_one(self, n: Any, sums: Any) -> Any:
        return [n / sums[0]]

    def log_density(self, x: Any, rate: Any) -> Any:
        return np.log(rate) - rate * x

    def draw(self, rng: Any, rate: Any) -> Any:
        return rng.exponential(1 / rate)


def test_what_cannot_be_exported_gives_the_reason() -> None:
    X = np.array([[1.0], [2.0], [3.0]])
    with pytest.raises(ExportError, match="'own' has no form"):
        tb.export.to_json(tb.NaiveBayes(Own()).fit(X, [0, 1, 1]))
    with pytest.raises(ExportError, match="the label b'x'"):
        tb.export.to_json(tb.NaiveBayes().fit([{"a": b"x"}, {"a": b"y"}], [0, 1]))
    with pytest.raises(ExportError, match="Expected a fitted classifier"):
        tb.export.to_js(object())
    wide = np.random.default_rng(0).normal(size=(6, 700))
    with pytest.raises(ExportError, match="more than the rows"):
        tb.export.to_json(tb.LinearDiscriminantAnalysis().fit(wide, [0, 0, 0, 1, 1, 1]))
    many = pd.DataFrame({f"c{j}": [f"{i % 250}" for i in range(700)] for j in range(10)})
    with pytest.raises(ExportError, match="at most 4,000,000"):
        tb.export.to_json(tb.AODE("categorical").fit(many, [0, 1] * 350))
    with pytest.raises(NotFittedError, match="not fitted"):
        tb.export.to_json(tb.GaussianNB())


@pytest.mark.parametrize(
    "make",
    [
        tb.LinearDiscriminantAnalysis,
        tb.QuadraticDiscriminantAnalysis,
        lambda: tb.GaussianDiscriminant(own_covariance=0.5),
        lambda: tb.GaussianDiscriminant("diagonal", own_covariance=0.5),
        tb.GaussianNB,
        lambda: tb.GaussianNB(variance="shared"),
        tb.KernelNB,
    ],
    ids=["LDA", "QDA", "RDA", "diagonal", "GaussianNB", "shared variance", "KernelNB"],
)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_scorer_agrees_far_outside_the_data(make: Any, classes: int, tmp_path: Path) -> None:
    rng, y = np.random.default_rng(0), np.arange(60) % classes
    model = make().fit(rng.normal(size=(60, 2)) + y[:, None], y)
    sizes = [1e3, 1e8, 1e12, 1e20, 1e40, 1e140, 1e153, 1e154, 1.3e154, 1e155, 1e200, 1e300, 1.7e308]
    rows = [row for s in sizes for row in ([s, s], [-s, s], [s, 0.5])]
    found = asked(tb.export.to_js(model), rows, "model.proba(row)", tmp_path)
    np.testing.assert_allclose(found, [model.predict_proba([row])[0] for row in rows], atol=1e-9)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tb.TAN(cuts=None, root="a"),
        lambda: tb.SPODE(cuts=None, superparent="a"),
        lambda: tb.KDB(2, cuts=None),
        lambda: tb.AODE(cuts=None),
        lambda: tb.AnDE(2, cuts=None),
        lambda: tb.BayesNetwork({"b": ["a"], "z": ["a", "b"]}, cuts=None),
    ],
    ids=["TAN", "SPODE", "KDB", "AODE", "AnDE", "BayesNetwork"],
)
def test_the_scorer_of_a_network_agrees_far_outside_the_data(make: Any, tmp_path: Path) -> None:
    rng, y = np.random.default_rng(0), np.arange(300) % 3
    a = rng.random(300) < 0.2 + 0.2 * y
    table = pd.DataFrame({"a": np.where(a, "u", "v"), "b": rng.choice(["p", "q"], 300)})
    table["x"] = rng.normal(size=300) * (1 + y) * (1 + a)
    table["z"] = rng.normal(size=300) * (2 - y / 2)
    model = make().fit(table, y)
    sizes = [1e140, 1e150, 1e153, 1.3e154, 1e155, 1e200, 1e300]
    known = [(a, b) for a in ("u", "v", None) for b in ("p", None)]
    numbers = [(x, z) for s in sizes for x, z in ((s, 0.0), (s, s / 10), (None, -s))]
    rows = [{"a": a, "b": b, "x": x, "z": z} for a, b in known for x, z in numbers]
    found = asked(tb.export.to_js(model), rows, "model.proba(row)", tmp_path)
    here = model.predict_proba(pd.DataFrame(rows))
    assert (here.max(axis=1) == 1).all()
    np.testing.assert_allclose(found, here, atol=1e-9)


def test_the_losses_of_a_decision_are_not_dropped_in_silence() -> None:
    rows, y = [{"sky": "clear"}, {"sky": "grey"}], ["sail", "stay"]
    model = tb.BayesDecision(tb.NaiveBayes(), loss={("sail", "stay"): 9, ("stay", "sail"): 1}).fit(rows, y)
    for export in (tb.export.to_json, tb.export.to_js, tb.export.to_onnx, tb.export.to_sql):
        with pytest.raises(ExportError, match="apply the losses to the exported probabilities"):
            export(model)
