"""The benchmark of accuracy: its scores, its tables, and that a run goes on where it stopped."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from bench.accuracy import __main__ as program
from bench.accuracy.measure import evaluate, score
from bench.accuracy.models import MODELS, Model
from bench.accuracy.report import Duel, Record, load, merge, summary
from bench.accuracy.tables import Table, UnfitError, prepare, sample
from sklearn.metrics import log_loss

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


def table(frame: pd.DataFrame = FRAME, max_rows: int = 50_000, quick: bool = True) -> Table:
    return prepare("some", frame, max_rows, quick)


def test_scores_are_those_of_scikit_learn_and_of_the_definition() -> None:
    P = RNG.dirichlet([0.2, 0.2, 0.2], 500)
    y = RNG.integers(0, 3, 500)
    P[:20] = np.eye(3)[(y[:20] + 1) % 3]  # surely wrong: probability 0 for the true class
    found = score(y, P)
    true = P[np.arange(500), y]
    assert found["log_loss"] == pytest.approx(log_loss(y, P, labels=[0, 1, 2]), rel=1e-12)
    assert found["log_loss_4"] == pytest.approx(-np.log(np.maximum(true, 1e-4)).mean())
    assert found["error"] == pytest.approx((P.argmax(axis=1) != y).mean())
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
    assert (table(quick=False).folds, table(quick=False).repeats) == (5, 2)


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


def test_the_fingerprint_tells_other_rows_and_other_folds() -> None:
    assert table().fingerprint() == table(FRAME.copy()).fingerprint()
    others = [table(quick=False), table(FRAME.assign(count=FRAME["count"] + 1)), table(max_rows=80)]
    assert len({t.fingerprint() for t in [table(), *others]}) == 4


def test_folds_answer_every_row_once() -> None:
    for folds in table(quick=False).splits():
        assert sorted(np.concatenate([answer for _, answer in folds])) == list(range(90))
        assert all(set(learn) | set(answer) == set(range(90)) for learn, answer in folds)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_every_model_answers_mixed_columns_with_holes(model: Model) -> None:
    package = model.name.lower()
    if package in ("lightgbm", "catboost") and find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    try:
        model.make(table())
    except ImportError as error:
        assert "BayesClassifier" in error.msg  # noqa: PT017
        pytest.skip(error.msg)

    def quick(on: Table) -> Any:
        estimator = model.make(on)
        return estimator.set_params(catboostclassifier__iterations=20) if package == "catboost" else estimator

    record = evaluate(replace(model, make=quick), table())
    assert "failed" not in record, record["failed"]
    assert record["error"] < 50 / 90  # what the largest class alone has
    assert record["fit_seconds"] > 0
    assert record["ours"] is model.ours


class Ignorant:
    """Knows the classes that it met, and gives them equal chances."""

    def fit(self, X: Any, y: Any) -> Ignorant:  # noqa: ARG002
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


def test_a_class_that_was_not_learned_has_probability_zero() -> None:
    rare = FRAME.assign(**{"class": np.where(np.arange(90) == 7, "rare", Y)})
    record = evaluate(Model("ignorant", lambda _: Ignorant()), table(rare))
    lost = -np.log(np.finfo(float).eps)
    assert record["classes"] == 4
    # One half has met the rare row and gives 1/4 to all of the other 45; the other half 1/3, and 0 to the rare row.
    assert record["log_loss"] == pytest.approx((45 * np.log(4) + 44 * np.log(3) + lost) / 90)


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
    return program.main(["--data", str(folder), "--out", str(out), "--folds", "quick", "--models", models, *more])


def test_a_run_goes_on_where_it_stopped(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[tuple[str, str]] = []

    def counted(model: Model, on: Table) -> Record:
        calls.append((on.name, model.name))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return evaluate(model, on) | ({"failed": "once"} if len(calls) == 3 else {})

    monkeypatch.setattr(program, "evaluate", counted)
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
            "error": error, "log_loss": loss, "log_loss_4": loss, "brier": error, "ece": 0.0,
            "fit_seconds": 1.0 if ours else 4.0, "predict_seconds": 1.0,
        }
        for k, (error, loss) in enumerate(errors_and_losses)
    }  # fmt: skip


def test_the_summary_counts_wins_draws_and_losses() -> None:
    ours = figures("Ours", True, (0.10, 0.5), (0.20, 0.3), (0.0, 0.1), (0.304, 0.9996), (0.5, 1.0))
    peer = figures("Peer", False, (0.20, 0.6), (0.10, 0.2), (0.0, 0.4), (0.300, 1.0))
    duel = Duel({k[0]: r for k, r in ours.items()}, {k[0]: r for k, r in peer.items()})
    assert duel.tables == ["t0", "t1", "t2", "t3"]  # the peer has no t4
    assert duel.counts("error") == (1, 2, 1)  # 0 beside 0, and 0.4 of a row apart, are draws
    assert duel.counts("log_loss") == (2, 1, 1)
    assert duel.ratio("fit_seconds") == pytest.approx(0.25)
    assert duel.ratio("ece") == 1
    expected = (0.105 / 0.205) * (0.205 / 0.105) * 1 * (0.309 / 0.305)
    assert duel.ratio("error") == pytest.approx(expected**0.25)
    ours["t0", "Ours"]["failed"] = "no luck"
    text = summary(ours | peer)
    assert next(line for line in text.splitlines() if line.startswith("Ours / Peer")).split()[3:6] == [
        "3",
        "0-2-1",
        "1-1-1",
    ]
    assert next(line for line in text.splitlines() if line.startswith("Ours ")).split()[1:3] == ["4", "1"]
    assert "No table has figures of one of ours and of a peer" in summary(peer)
    assert summary({}) == "No figures yet."
