"""The benchmark of accuracy: its scores, its tables, and that a run goes on where it stopped."""

from __future__ import annotations

import json
import os
import threading
import warnings
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from bench.accuracy import __main__ as program
from bench.accuracy.duel import Duel, beyond_noise, row_file
from bench.accuracy.measure import Answered, evaluate, per_row, score
from bench.accuracy.models import MODELS, Model
from bench.accuracy.report import (
    Figures,
    Record,
    compared,
    load,
    markdown,
    merge,
    rows_folder,
    save,
    save_rows,
    summary,
)
from bench.accuracy.tables import Folds, Table, UnfitError, prepare, sample
from bench.accuracy.tuned import CONFIGURATIONS, SPACE, TunedLightGBM, configurations
from bench.accuracy.unit import Allowance, unit
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score
from threadpoolctl import threadpool_info

RNG = np.random.default_rng(5)
Y = RNG.permutation(np.repeat(["no", "yes", "perhaps"], [40, 30, 20]))
FRAME = pd.DataFrame(
    {
        "size [cm]": np.where(RNG.random(90) < 0.1, np.nan, RNG.standard_normal(90) + (Y == "yes") * 2),
        "count": RNG.integers(0, 9, 90),
        "colour": pd.Series(RNG.choice(["red", "blue", "green"], 90)).where(RNG.random(90) > 0.1),
        "sold": Y == "no",
        "nothing": pd.Series([None] * 90, dtype="category"),
        "class": Y,
    }
)


def table(frame: pd.DataFrame = FRAME, max_rows: int = 50_000, folds: Folds = 2) -> Table:
    return prepare("some", frame, max_rows, folds)


def test_scores_are_those_of_scikit_learn_and_of_the_definition() -> None:
    P = RNG.dirichlet([0.2, 0.2, 0.2], 500)
    y = RNG.integers(0, 3, 500)
    P[:20] = np.eye(3)[(y[:20] + 1) % 3]  # surely wrong: probability 0 for the true class
    found = score(y, P)
    true = P[np.arange(500), y]
    assert found["log_loss"] == pytest.approx(log_loss(y, P, labels=[0, 1, 2]), rel=1e-12)
    assert found["log_loss_4"] == pytest.approx(-np.log(np.maximum(true, 1e-4)).mean())
    assert found["error"] == pytest.approx((P.argmax(axis=1) != y).mean())
    assert found["balanced_error"] == pytest.approx(1 - balanced_accuracy_score(y, P.argmax(axis=1)))
    assert found["auc_error"] == pytest.approx(1 - roc_auc_score(y, P, multi_class="ovr", average="macro"))
    assert found["brier"] == pytest.approx(np.square(P - np.eye(3)[y]).sum(axis=1).mean())
    top, right = P.max(axis=1), P.argmax(axis=1) == y
    bins = [np.floor(top * 15).clip(max=14) == b for b in range(15)]
    gaps = [abs(top[b].mean() - right[b].mean()) * b.mean() for b in bins if b.any()]
    assert found["ece"] == pytest.approx(sum(gaps))


@pytest.mark.parametrize("wrong", [np.nan, 0.9])
def test_answers_that_are_no_probabilities_are_a_failure(wrong: float) -> None:
    with pytest.raises(ValueError, match="do not sum to 1"):
        score(np.array([0, 1]), np.array([[0.5, 0.5], [0.5, wrong]]))


def test_a_table_is_put_into_one_form() -> None:
    found = table()
    assert found.numbers == ["x0", "x1"]
    assert found.labels == ["x2", "x3", "x4"]
    assert found.classes == 3
    assert found.X["x2"].isna().sum() == FRAME["colour"].isna().sum()
    assert (np.array(["no", "perhaps", "yes"])[found.y] == Y).all()
    assert str(found) == "some: 90 rows, 2 numbers, 3 labels, 3 classes, 2 folds × 1"
    assert (table(folds=None).folds, table(folds=None).repeats) == (5, 2)


def test_the_target_is_known_by_its_name_or_is_the_last_column() -> None:
    assert (table(FRAME[["class", *FRAME.columns[:-1]]]).y == table().y).all()
    assert (table(FRAME.rename(columns={"class": "ripe?"})).y == table().y).all()
    mixed = table(FRAME.assign(**{"class": np.where(Y == "no", 0, Y.astype(object))}))
    assert mixed.classes == 3


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (
            FRAME.assign(story=[f"{k} times they came, after a long while, and sat down to eat" for k in range(90)]),
            "text",
        ),
        (FRAME.assign(day=pd.Timestamp("2020-01-01")), "holds times"),
        (FRAME.assign(list=[[1]] * 90), "holds lists"),
        (FRAME[["class"]], "no column beside the target"),
        (FRAME.assign(**{"class": "same"}), "1 classes in 90 rows"),
        (FRAME.assign(**{"class": np.arange(90)}), "90 classes in 90 rows"),
    ],
)
def test_what_is_no_table_for_it(frame: pd.DataFrame, why: str) -> None:
    with pytest.raises(UnfitError, match=why):
        table(frame)


def test_a_sample_keeps_the_shares_of_the_classes() -> None:
    y = RNG.permutation(np.repeat([0, 1, 2], [7000, 2990, 10]))
    rows = sample(y, 1000)
    assert np.bincount(y[rows]).tolist() == [700, 299, 1]
    assert (np.diff(rows) > 0).all()
    assert (rows == sample(y, 1000)).all()
    assert (sample(y, 10_000) == np.arange(10_000)).all()


def test_the_fingerprint_differs_for_other_rows_and_other_folds() -> None:
    assert table().fingerprint() == table(FRAME.copy()).fingerprint()
    others = [table(folds=None), table(FRAME.assign(count=FRAME["count"] + 1)), table(max_rows=80)]
    assert len({t.fingerprint() for t in [table(), *others]}) == 4


def test_folds_answer_every_row_once() -> None:
    for folds in table(folds=None).splits():
        assert sorted(np.concatenate([answer for _, answer in folds])) == list(range(90))
        assert all(set(learn) | set(answer) == set(range(90)) for learn, answer in folds)


PACKAGES = {
    "LightGBM": "lightgbm", "LightGBM tuned": "lightgbm", "XGBoost": "xgboost", "CatBoost": "catboost",
    "EBM": "interpret", "RealMLP": "pytabkit",
}  # fmt: skip
QUICK: dict[str, dict[str, int]] = {
    "CatBoost": {"catboostclassifier__iterations": 20},
    "EBM": {"explainableboostingclassifier__max_rounds": 50, "explainableboostingclassifier__outer_bags": 2},
}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_every_model_answers_mixed_columns_with_holes(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    package = PACKAGES.get(model.name)
    if package is not None and find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    monkeypatch.setattr("bench.accuracy.tuned.CONFIGURATIONS", 2)

    def quick(on: Table, threads: int) -> Any:
        estimator, options = model.make(on, threads), QUICK.get(model.name)
        return estimator.set_params(**options) if options else estimator

    record, rows = evaluate(replace(model, make=quick), table())
    assert "failed" not in record, record["failed"]
    assert record["error"] < 50 / 90  # what the largest class alone has
    assert record["fit_cpu"] >= 0
    assert record["ours"] is model.ours
    assert ("reported" in record) is model.name.startswith("BayesClassifier")
    assert rows is not None
    assert rows.mean(axis=1) == pytest.approx([record["log_loss"], record["error"]], rel=1e-5)


def test_the_search_is_the_same_every_time_and_inside_its_space() -> None:
    found = configurations()
    assert found == configurations()
    assert len(found) == CONFIGURATIONS == 15
    assert found[0] == {}
    for options in found[1:]:
        assert all(low <= options[name] <= high for name, (_, low, high) in SPACE.items())


def test_the_tuned_model_refits_what_was_best_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lightgbm")
    monkeypatch.setattr("bench.accuracy.tuned.CONFIGURATIONS", 3)
    on = table()
    model = TunedLightGBM(1).fit(on.X, on.y)
    assert model.best_ != {}
    assert model._model.n_estimators == model.best_["n_estimators"] < 1000
    few = [0, int(np.flatnonzero(on.y == 1)[0])]
    assert TunedLightGBM(1).fit(on.X.iloc[few], on.y[few]).best_ == {}  # nothing can be set aside


class Ignorant:
    """Knows the classes that it met, and gives them equal chances."""

    def fit(self, X: Any, y: Any) -> Ignorant:  # noqa: ARG002
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


def test_a_class_that_was_not_learned_has_probability_zero() -> None:
    rare = FRAME.assign(**{"class": np.where(np.arange(90) == 7, "rare", Y)})
    record, rows = evaluate(Model("ignorant", lambda *_: Ignorant()), table(rare))
    lost = -np.log(np.finfo(float).eps)
    assert record["classes"] == 4
    # One half has met the rare row and gives 1/4 to all of the other 45; the other half 1/3, and 0 to the rare row.
    assert record["log_loss"] == pytest.approx((45 * np.log(4) + 44 * np.log(3) + lost) / 90)
    assert rows is not None
    assert rows[0, 7] == pytest.approx(lost)


class Loud(Ignorant):
    """Warns, and says how many threads a library may use while it learns."""

    def fit(self, X: Any, y: Any) -> Ignorant:
        warnings.warn("so few rows", UserWarning, stacklevel=2)
        self.threads = {pool["num_threads"] for pool in threadpool_info()}
        assert self.threads <= {1}, self.threads
        return super().fit(X, y)


class Slow(Ignorant):
    def predict_proba(self, X: Any) -> Any:
        threading.Event().wait(60)
        return super().predict_proba(X)


class Dead(Ignorant):
    def predict_proba(self, X: Any) -> Any:  # noqa: ARG002
        os._exit(7)


def loud(on: Table, threads: int) -> Any:  # noqa: ARG001
    return Loud()


def slow(on: Table, threads: int) -> Any:  # noqa: ARG001
    return Slow()


def dead(on: Table, threads: int) -> Any:  # noqa: ARG001
    return Dead()


def test_warnings_are_counted_and_threads_limited() -> None:
    record, _ = evaluate(Model("loud", loud), table())
    assert record["warnings"] == {"UserWarning: so few rows": 2}
    assert "loud: UserWarning: so few rows  [1 table(s): some]" in summary({("some", "loud"): record})


@pytest.mark.parametrize(
    ("make", "limit", "why"),
    [(loud, 60.0, None), (slow, 0.5, "stopped: it took more than 0.5 s"), (dead, 60.0, "died with exit code 7")],
)
def test_a_unit_has_a_process_and_a_limit(make: Any, limit: float, why: str | None) -> None:
    record, rows = unit(Model("m", make), table(), Allowance(limit=limit))
    assert (rows is None) is (why is not None)
    assert why is None or why in record["failed"]
    assert record["fingerprint"] == table().fingerprint()
    assert (record.get("limit") == 0.5) is (make is slow)  # only with more time it is tried again


def test_seeds_are_compared() -> None:
    best = next(m for m in MODELS if m.name == "BayesClassifier best")  # the others draw nothing
    record, _ = evaluate(best, table(), seeds=2)
    spread = record["spread"]
    assert 0 < spread["mean_change"] <= spread["max_change"] <= 1
    assert 0 <= spread["same_reason"] <= 1
    text = summary({("some", best.name): record})
    assert "Between seeds" in text
    assert "The leave-one-out log-loss that the model reports" in text
    same = replace(best, make=lambda *_: Steady())
    assert evaluate(same, table(), seeds=2)[0]["spread"] == {"mean_change": 0, "max_change": 0, "same_reason": 1}


def test_steadiness_is_the_change_by_one_row_in_a_hundred(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.accuracy.report.STEADY_PEER", "RandomForest")  # LightGBM comes with `make bench` only
    on = prepare("some", pd.concat([FRAME] * 6, ignore_index=True), 50_000, 2)
    peer, ours = (next(m for m in MODELS if m.name == name) for name in ("RandomForest", "NaiveBayes mdl"))
    figures = {("some", m.name): evaluate(m, on, seeds=2)[0] for m in (peer, ours)}
    learn, answer = next(iter(on.splits()))[0]
    fewer = [row for place, row in enumerate(learn) if place % 100 != 50]
    assert len(learn) - len(fewer) == 3
    one, two = (ours.make(on, 1).fit(on.X.iloc[r], on.y[r]).predict_proba(on.X.iloc[answer]) for r in (learn, fewer))
    change = np.abs(one - two)
    assert change.max() > 0
    found = figures["some", ours.name]["steadiness"]
    assert found == pytest.approx({"mean_change": change.mean(), "max_change": change.max()})
    ratio = found["mean_change"] / figures["some", peer.name]["steadiness"]["mean_change"]
    text = summary(figures)
    lines = text[text.index("With one row in a hundred left out") :].splitlines()
    assert next(line for line in lines if line.startswith(ours.name)).endswith(f"{ratio:.2f}")
    assert "steadiness" not in evaluate(ours, on)[0]


class Steady(Ignorant):
    def set_params(self, random_state: int) -> Steady:  # noqa: ARG002
        return self

    def explain(self, X: Any) -> Any:
        return SimpleNamespace(values=np.ones((len(X), 2, len(self.classes_))))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    data.mkdir()
    FRAME.to_parquet(data / "small.parquet")
    pd.concat([FRAME] * 3).to_parquet(data / "larger.parquet")
    FRAME.to_parquet(data / "some_text.parquet")
    (data / "broken.parquet").write_text("no parquet")
    return data


def run(folder: Path, models: str, *more: str) -> int:
    out = folder.parent / "out.json"
    fixed = ["--data", str(folder), "--out", str(out), "--folds", "quick", "--limit", "0"]
    return program.main([*fixed, "--models", models, *more])


def test_a_run_goes_on_where_it_stopped(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[tuple[str, str]] = []

    def counted(model: Model, on: Table, allowed: Allowance) -> Answered:
        calls.append((on.name, model.name))
        if len(calls) == 2:
            raise KeyboardInterrupt
        record, rows = unit(model, on, allowed)
        return Answered(record | {"failed": "once"}) if len(calls) == 3 else Answered(record, rows)

    monkeypatch.setattr(program, "unit", counted)
    assert run(folder, "mdl,logistic") == 130  # stopped by a person within the second
    assert list(load(folder.parent / "out.json")) == [("small", "NaiveBayes mdl")]
    assert run(folder, "mdl,logistic") == 1  # the third fails
    assert run(folder, "mdl,logistic") == 0  # only that is tried again
    assert run(folder, "mdl,logistic") == 0  # nothing is left
    small, larger = [[(name, m) for m in ("NaiveBayes mdl", "LogisticRegression")] for name in ("small", "larger")]
    assert calls == [*small, small[1], *larger, small[1]]
    found = capsys.readouterr()
    assert "stopped; the same command goes on" in found.err
    assert "some_text: left out, its name says that it is text" in found.out
    assert "broken: left out, it cannot be read" in found.out
    assert "small: 90 rows, 3 numbers, 2 labels, 3 classes, 2 folds × 1" in found.out
    assert "NaiveBayes mdl / LogisticRegression" in found.out
    saved = json.loads((folder.parent / "out.json").read_text())
    assert len(saved["results"]) == 4
    assert saved["machine"]["cores"] >= 1
    assert program.main(["--report", str(folder.parent / "out.json")]) == 0
    assert capsys.readouterr().out.strip() in found.out


def test_figures_of_other_folds_are_not_mixed_in(folder: Path) -> None:
    run(folder, "mdl", "--only", "small")
    with pytest.raises(SystemExit, match="other rows or folds"):
        run(folder, "mdl", "--only", "small", "--folds", "full")
    a = {("t", "A"): {"fingerprint": "1"}}
    with pytest.raises(SystemExit, match="t: the figures of B are of other rows"):
        merge([a, {("t", "B"): {"fingerprint": "2"}}])


def test_nothing_to_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "no such model") == 2
    assert "there are:\n  BayesClassifier fast" in capsys.readouterr().err
    assert run(folder, "mdl", "--only", "none") == 2
    assert "no table matches 'none'" in capsys.readouterr().err
    assert run(folder / "nowhere", "mdl") == 2
    assert "no *.parquet file" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="is no file of this benchmark"):
        load(folder / "broken.parquet")
    with pytest.raises(SystemExit, match="cannot be read"):
        load(folder / "nowhere")


def figures(name: str, ours: bool, *errors_and_losses: tuple[float, float]) -> dict[tuple[str, str], Record]:
    return {
        (f"t{k}", name): {
            "table": f"t{k}", "model": name, "ours": ours, "rows": 100, "fingerprint": f"{k}",
            "error": error, "balanced_error": error, "auc_error": error,
            "log_loss": loss, "log_loss_4": loss, "brier": error, "ece": 0.0,
            "fit_cpu": 1.0 if ours else 4.0, "predict_cpu": 1.0,
        }
        for k, (error, loss) in enumerate(errors_and_losses)
    }  # fmt: skip


def test_the_table_of_the_page_has_a_line_for_each_of_ours_and_each_peer() -> None:
    ours = figures("BayesClassifier fast", True, (0.1, 0.5), (0.1, 0.5), (0.2, 0.4))
    peers = figures("LightGBM", False, (0.2, 1.0), (0.1, 1.0), (0.1, 0.1)) | figures("Third", False, (0.2, 1.0))
    head, rule, *lines = markdown(ours | peers, {"lightgbm": "4.7.0", "third": None}).splitlines()
    assert head.count("|") == rule.count("|") == lines[0].count("|")
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    name = '`BayesClassifier("fast")`'
    assert [line[:3] for line in cells] == [[name, "LightGBM 4.7", "3"], [name, "Third", "1"]]
    assert cells[0][4] == "1–1–1"
    assert cells[0][6] == "2–0–1"
    assert cells[1][3].startswith("0.5")
    assert cells[1][4] == "1–0–0"


def test_the_summary_counts_wins_draws_and_losses() -> None:
    ours = figures("Ours", True, (0.10, 0.5), (0.20, 0.3), (0.0, 0.1), (0.304, 0.9996), (0.5, 1.0))
    peer = figures("Peer", False, (0.20, 0.6), (0.10, 0.2), (0.0, 0.4), (0.300, 1.0))
    duel = Duel({k[0]: r for k, r in ours.items()}, {k[0]: r for k, r in peer.items()})
    assert duel.tables == ["t0", "t1", "t2", "t3"]  # the peer has no t4
    assert duel.counts("error") == (1, 2, 1)  # 0 beside 0, and 0.4 of a row apart, are draws
    assert duel.counts("log_loss") == (2, 1, 1)
    assert duel.ratio("fit_cpu") == pytest.approx(0.25)
    assert duel.ratio("ece") == 1
    expected = (0.105 / 0.205) * (0.205 / 0.105) * 1 * (0.309 / 0.305)
    assert duel.ratio("error") == pytest.approx(expected**0.25)
    assert duel.median("error") == pytest.approx((1 + 0.309 / 0.305) / 2)
    ours["t0", "Ours"]["failed"] = "no luck"
    text = summary(ours | peer)
    assert next(line for line in text.splitlines() if line.startswith("Ours / Peer")).split()[3:] == [
        *("3", "0-2-1", "0-0", "of", "0", "1-1-1", "0-0", "of", "0"),
    ]
    assert next(line for line in text.splitlines() if line.startswith("Ours ")).split()[1:3] == ["4", "1"]
    assert "No table has figures of one of ours and of a peer" in summary(peer)
    assert summary({}) == "No figures yet."


def test_a_difference_counts_beyond_noise_only() -> None:
    noise = RNG.standard_normal(400).astype(np.float32)
    assert beyond_noise(noise, noise) == 0
    assert beyond_noise(noise, noise + 1) == 1  # every row by as much
    assert beyond_noise(noise + np.float32(0.2), np.zeros(400, np.float32)) == -1
    assert beyond_noise(noise - noise.mean(), np.zeros(400, np.float32)) == 0
    y = np.array([0, 1, 1])
    found = per_row(y, np.array([[0.5, 0.5], [0.75, 0.25], [0.0, 1.0]]))
    assert found[0] == pytest.approx([np.log(2), np.log(4), 0])
    assert found[1].tolist() == [0, 1, 0]


def with_rows(figures: Figures, path: Path, cost: float) -> Figures:
    """The figures written to a file and read again, each of 100 rows that cost about as much."""
    for record in figures.values():
        noise = np.tile([-0.01, 0.01], 50)
        save_rows(path, record, np.stack([cost + noise, np.zeros(100)]).astype(np.float32))
    save(path, figures)
    return load(path)


def test_a_run_is_compared_with_an_earlier_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    before = with_rows(figures("A/B: c", True, (0.2, 0.5), (0.2, 0.5), (0.2, 0.5)), old, 0.5)
    now = with_rows(figures("A/B: c", True, (0.1, 0.4), (0.2, 0.4)), new, 0.4)
    assert program.main(["--report", str(new), "--against", str(old)]) == 0
    text = compared(now, before)
    assert text in capsys.readouterr().out
    line = next(line for line in text.splitlines() if line.startswith("A/B: c: now / before"))
    assert line.split()[5:] == ["2", "1-1-0", "0-0", "of", "2", "2-0-0", "2-0", "of", "2"]
    (rows_folder(old) / row_file("t0", "A/B: c")).write_bytes(b"broken")
    assert Duel({"t0": now["t0", "A/B: c"]}, {"t0": before["t0", "A/B: c"]}).sure("log_loss") == (0, 0, 0)
    before["t1", "A/B: c"]["fingerprint"] = "other"
    assert "1 table(s) are left out: the files have other rows" in compared(now, before)
    assert compared(now, {}) == "No model answered a table in both files."
    old.write_text('{"results": []}')
    with pytest.raises(SystemExit, match="form 1, not 3"):
        load(old)


def test_what_took_too_long_is_tried_again_with_more_time_only() -> None:
    figures: Figures = {("t", "slow"): {"failed": "stopped", "limit": 5.0}, ("t", "bad"): {"failed": "no"}}
    wanted = {limit: program._wanted(figures, "t", "slow", limit) for limit in (4.0, 5.0, 6.0, 0.0)}
    assert wanted == {4.0: False, 5.0: False, 6.0: True, 0.0: True}
    assert program._wanted(figures, "t", "bad", 1.0)
    assert program._wanted(figures, "t", "new", 1.0)


@pytest.mark.parametrize("wrong", [["--folds", "1"], ["--folds", "many"], ["--threads", "0"], ["--limit", "-1"]])
def test_options_that_make_no_sense(wrong: list[str]) -> None:
    with pytest.raises(SystemExit):
        program.main(wrong)
