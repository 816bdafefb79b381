"""The command line gives what Python gives, bit for bit; formats, files, exit codes."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet
from typer.testing import CliRunner

import tallybayes as tb
from tallybayes.cli.commands import COMMANDS, app
from tallybayes.datasets import load_watermelon
from tests.command_line import DATASETS, WATERMELON, answer, lines, run

TABLE = csv.read_csv(WATERMELON)
X, RIPE = TABLE.drop(["ripe"]), TABLE.column("ripe")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "melon.tb"
    run("fit", WATERMELON, "--target", "ripe", "-o", path)
    return path


def probabilities(*args: Any) -> np.ndarray:
    rows = [{k: v for k, v in row.items() if k != "prediction"} for row in lines("predict", *args, "--proba")]
    return np.array([list(row.values()) for row in rows])


def census(tmp_path: Path, rows: int) -> Path:
    path = tmp_path / f"census-{rows}.csv"
    text = gzip.decompress((DATASETS / "census.csv.gz").read_bytes()).decode().splitlines(keepends=True)
    path.write_text("".join(text[: rows + 1]))
    return path


# --- the same as in Python -----------------------------------------------------------------------------------------


def test_fit_and_predict_are_those_of_python(model: Path) -> None:
    python = tb.NaiveBayes().fit(X, RIPE)
    assert np.array_equal(probabilities(model, WATERMELON), python.predict_proba(X))
    assert [row["prediction"] for row in lines("predict", model, WATERMELON)] == python.predict(X).tolist()


def test_fit_makes_the_classifier_that_is_most_often_the_best(tmp_path: Path) -> None:
    path, other = str(tmp_path / "m.tb"), str(tmp_path / "n.tb")
    asked = ["fit", WATERMELON, "-t", "ripe", "-o"]
    assert CliRunner().invoke(app, [*asked, path]).exit_code == 0
    assert type(tb.load(path)) is tb.BayesClassifier
    run(*asked, path, "--model", "NaiveBayes")
    assert CliRunner().invoke(app, [*asked, other, "--schema", path]).exit_code == 0
    assert type(tb.load(other)) is tb.NaiveBayes


@pytest.mark.parametrize(
    ("name", "options", "python"),
    [
        ("NaiveBayes", ["distributions=mdl", "alpha=0.5"], tb.NaiveBayes("mdl", alpha=0.5)),
        ("naive-bayes", ['distributions={"sugar": "kernel"}'], tb.NaiveBayes({"sugar": "kernel"})),
        ("NaiveBayes", ["tempered=true"], tb.NaiveBayes(tempered=True)),
        ("NaiveBayes", ["priors=uniform", "unseen=other"], tb.NaiveBayes(priors="uniform", unseen="other")),
    ],
)
def test_models_and_parameters(tmp_path: Path, name: str, options: list[str], python: Any) -> None:
    path = tmp_path / "m.tb"
    run("fit", WATERMELON, "-t", "ripe", "-o", path, "--model", name, *(v for o in options for v in ("--set", o)))
    assert tb.load(path).get_params() == python.get_params()
    assert np.array_equal(probabilities(path, WATERMELON), python.fit(X, RIPE).predict_proba(X))


def test_every_estimator_can_be_fitted(tmp_path: Path) -> None:
    numbers = tmp_path / "counts.csv"
    numbers.write_text("a,b,y\n1,0,u\n0,1,v\n1,1,u\n0,0,v\n1,0,v\n0,1,u\n")
    fitted = []
    for name in tb.__all__:
        thing = getattr(tb, name)
        if isinstance(thing, type) and hasattr(thing, "partial_fit") and hasattr(thing, "merge"):
            found = answer("fit", numbers, "-t", "y", "-m", name, "-o", tmp_path / "m.tb")
            fitted.append(found["estimator"])
            assert found["class_count"] == {"u": 3.0, "v": 3.0}
    assert len(fitted) >= 12


def test_in_batches_as_partial_fit(tmp_path: Path) -> None:
    """The batches are of a fixed number of rows, wherever the reader cuts the file."""
    data, path = census(tmp_path, 4000), tmp_path / "m.tb"
    assert (
        answer("fit", data, "-t", "target", "-o", path, "--batch-rows", 900, "--set", "distributions=mdl")["rows"]
        == 4000
    )
    table = csv.read_csv(data, convert_options=csv.ConvertOptions(strings_can_be_null=True))
    python = tb.NaiveBayes("mdl")
    for start in range(0, 4000, 900):
        part = table.slice(start, 900)
        python.partial_fit(part.drop(["target"]), part["target"])
    asked = table.drop(["target"])
    assert np.array_equal(tb.load(path).predict_proba(asked), python.predict_proba(asked))
    assert np.array_equal(probabilities(path, data, "--batch-rows", 77), python.predict_proba(asked))


def test_learn_forget_and_merge_are_those_of_python(tmp_path: Path) -> None:
    parts = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for part, rows in zip(parts, (TABLE.slice(0, 10), TABLE.slice(10)), strict=True):
        csv.write_csv(rows, part)
    one, two, both = tmp_path / "1.tb", tmp_path / "2.tb", tmp_path / "3.tb"
    for part, path in zip(parts, (one, two), strict=True):
        run("fit", part, "-t", "ripe", "-o", path)
    a, b = (tb.NaiveBayes().fit(X.slice(s, n), RIPE.slice(s, n)) for s, n in ((0, 10), (10, 7)))
    run("merge", one, two, "-o", both)
    assert np.array_equal(tb.load(both).predict_proba(X), a.copy().merge(b).predict_proba(X))
    grown = answer("learn", one, parts[1])
    assert grown["class_count"] == {"no": 9.0, "yes": 8.0}
    python = a.copy().partial_fit(X.slice(10), RIPE.slice(10))
    assert np.array_equal(tb.load(one).predict_proba(X), python.predict_proba(X))
    run("forget", one, parts[0], "-o", both)
    python.forget(X.slice(0, 10), RIPE.slice(0, 10))
    assert np.array_equal(tb.load(both).predict_proba(X), python.predict_proba(X))
    assert tb.load(one).class_count_.tolist() == [9.0, 8.0]  # -o: the first is as it was
    assert [h["did"] for h in answer("inspect", both)["history"]] == ["fit", "learn", "forget"]


def test_a_schema_from_another_model_makes_cuts_that_merge(tmp_path: Path) -> None:
    data, paths = [tmp_path / "a.csv", tmp_path / "b.csv"], [tmp_path / "a.tb", tmp_path / "b.tb", tmp_path / "c.tb"]
    for path, start in zip(data, (0, 8), strict=True):
        csv.write_csv(TABLE.slice(start, 8), path)
    cut = ["-t", "ripe", "--set", "distributions=width"]
    run("fit", data[0], *cut, "-o", paths[0])
    run("fit", data[1], *cut, "-o", paths[1])
    run("merge", *paths[:2], "-o", paths[2], code=1)
    run("fit", data[1], *cut, "-o", paths[1], "--schema", paths[0])
    assert answer("merge", *paths[:2], "-o", paths[2])["class_count"] == {"no": 8.0, "yes": 8.0}
    run("fit", data[1], *cut, "-o", paths[1], "--schema", paths[0], "--kind", "sugar=real", code=2)


def test_prior_and_loss(model: Path, tmp_path: Path) -> None:
    python = tb.NaiveBayes().fit(X, RIPE).with_prior({"no": 0.9, "yes": 0.1})
    for prior in ("no=0.9,yes=0.1", "0.9,0.1"):
        assert np.array_equal(probabilities(model, WATERMELON, "--prior", prior), python.predict_proba(X))
    loss = tmp_path / "loss.csv"
    loss.write_text("answer,no,yes\nno,0,10\nyes,1,0\ntaste,0.3,0.3\n")
    found = [row["prediction"] for row in lines("predict", model, WATERMELON, "--loss", loss)]
    risk = tb.decision.conditional_risk(tb.NaiveBayes().fit(X, RIPE).predict_proba(X), [[0, 10], [1, 0], [0.3, 0.3]])
    assert found == np.array(["no", "yes", "taste"])[risk.argmin(axis=1)].tolist()
    assert len(set(found)) == 3
    loss.write_text("answer,no,maybe\nno,0,10\n")
    assert "the true classes (no, yes)" in run("predict", model, WATERMELON, "--loss", loss, code=1).stderr
    loss.write_text("answer,no,yes\nno,0,dear\n")
    assert "must be a number; got 'dear'" in run("predict", model, WATERMELON, "--loss", loss, code=1).stderr


def test_evaluate(model: Path) -> None:
    found = answer("evaluate", model, WATERMELON)
    assert found["accuracy"] == tb.NaiveBayes().fit(X, RIPE).score(X, RIPE.to_pylist())
    assert found["confusion"] == [[7, 2], [1, 7]]
    again = answer("evaluate", model, WATERMELON, "--batch-rows", 5)
    assert again["confusion"] == found["confusion"]
    assert again["log_loss"] == pytest.approx(found["log_loss"])
    assert "true class, and what it was taken for:" in run("evaluate", model, WATERMELON).stdout


def test_explain(model: Path) -> None:
    python = tb.NaiveBayes().fit(X, RIPE)
    text = run("explain", model, WATERMELON, "--rows", 2).stdout
    assert text == "".join(f"Row {i + 1}: {python.explain(X.slice(0, 2)).text(i)}\n" for i in range(2))
    frame = python.explain(X.slice(0, 1), against="no").frame("dict")
    found = answer("explain", model, WATERMELON, "--rows", 1, "--against", "no")
    assert [line["contribution"] for line in found] == frame["contribution"].tolist()
    assert run("explain", model).stdout == python.explain().text() + "\n"
    assert {line["feature"] for line in answer("explain", model)} == set(X.column_names)


def test_sample(model: Path) -> None:
    drawn, labels = tb.NaiveBayes().fit(X, RIPE).sample(5, random_state=7)
    found = lines("sample", model, "-n", 5, "--seed", 7)
    assert found == [{**row, "ripe": y} for row, y in zip(drawn.to_pylist(), labels.tolist(), strict=True)]
    table = csv.read_csv(io.BytesIO(run("sample", model, "-n", 70_000, "--class", "yes").stdout_bytes))
    assert table.num_rows == 70_000
    assert set(table["ripe"].to_pylist()) == {"yes"}


def test_sample_from_a_model_that_never_had_names(tmp_path: Path) -> None:
    path = tmp_path / "m.tb"
    tb.save(tb.GaussianNB().fit([[1.0, 2.0], [3.0, 5.0]], [0, 1]), path)
    assert list(lines("sample", path, "-n", 1)[0]) == ["x0", "x1", "class"]


def test_inspect(model: Path) -> None:
    found = answer("inspect", model)
    assert found["estimator"] == "NaiveBayes"
    assert found["target"] == "ripe"
    assert found["columns"][0] == {"name": "color", "kind": "categorical", "levels": ["green", "dark", "light"]}
    assert found["history"] == [{"did": "fit", "files": [WATERMELON], "rows": 17}]
    reported = tb.NaiveBayes().fit(X, RIPE).describe("texture")
    assert answer("inspect", model, "--column", "texture") == {"texture": reported}
    text = run("inspect", model).stdout
    assert "texture: categorical  3 levels" in text
    assert "fit: 17 rows of" in text


def test_a_column_without_values(tmp_path: Path) -> None:
    path, data = tmp_path / "m.tb", tmp_path / "gap.csv"
    data.write_text("a,gap,y\n1.5,,u\n2.5,,v\n")
    run("fit", data, "-t", "y", "-o", path)
    assert "u: nothing, no row had a value" in run("inspect", path, "-c", "gap").stdout
    assert [row["gap"] for row in lines("sample", path, "-n", 2)] == [None, None]


def test_inspect_shows_a_graph(tmp_path: Path) -> None:
    path = tmp_path / "tan.tb"
    run("fit", WATERMELON, "-t", "ripe", "-m", "TAN", "-o", path)
    python = tb.TAN().fit(X, RIPE)
    assert answer("inspect", path)["graph"]["parents"] == {k: list(v) for k, v in python.graph_.parents.items()}
    assert "".join(f"  {line}\n" for line in str(python.graph_).splitlines()) in run("inspect", path).stdout


def test_an_ensemble_is_fitted_and_reports_what_it_did(tmp_path: Path) -> None:
    path = tmp_path / "bayes.tb"
    run("fit", WATERMELON, "-t", "ripe", "-m", "bayes-classifier", "--set", "effort=fast", "-o", path)
    python = tb.BayesClassifier("fast").fit(X, RIPE)
    found = answer("inspect", path)
    assert found["parameters"]["effort"] == "fast"
    assert found["weights"] == python.weights_
    assert found["summary"] == python.summary()
    assert all(f"  {line}\n" in run("inspect", path).stdout for line in python.summary().splitlines() if line)


def test_assumptions_and_compare() -> None:
    python = tb.evaluation.check_assumptions(X, RIPE)
    assert run("assumptions", WATERMELON, "-t", "ripe").stdout == python.text() + "\n"
    assert answer("assumptions", WATERMELON, "-t", "ripe")["rows_in_data"] == 17
    found = answer("compare", WATERMELON, "-t", "ripe", "--folds", 3)
    board = tb.compare_models(X, RIPE, folds=3)
    assert [m["log_loss"] for m in found["models"]] == [e.scores.log_loss.value for e in board.entries]
    assert found["advice"] == board.advice
    assert board.advice in run("compare", WATERMELON, "-t", "ripe", "--folds", 3).stdout


def test_compare_draws_rows_where_there_are_many(tmp_path: Path) -> None:
    found = answer("compare", census(tmp_path, 3000), "-t", "target", "--rows", 200, "--folds", 2)
    assert (found["rows"], found["rows_in_data"]) == (200, 3000)


# --- formats ---------------------------------------------------------------------------------------------------------


def _written(tmp_path: Path, ending: str) -> Path:
    path = tmp_path / f"melon.{ending}"
    rows, ripe = load_watermelon()
    if ending == "parquet":
        parquet.write_table(TABLE, path)
    elif ending in ("feather", "arrow"):
        feather.write_feather(TABLE, str(path))
    elif ending == "tsv":
        csv.write_csv(TABLE, path, csv.WriteOptions(delimiter="\t"))
    elif ending == "jsonl":
        path.write_text("".join(json.dumps({**r, "ripe": y}) + "\n" for r, y in zip(rows, ripe, strict=True)))
    elif ending == "csv.gz":
        path.write_bytes(gzip.compress(Path(WATERMELON).read_bytes()))
    return path


@pytest.mark.parametrize("ending", ["tsv", "parquet", "feather", "arrow", "jsonl", "csv.gz"])
def test_every_format_in(model: Path, tmp_path: Path, ending: str) -> None:
    path, other = _written(tmp_path, ending), tmp_path / "other.tb"
    expected = probabilities(model, WATERMELON)
    run("fit", path, "-t", "ripe", "-o", other)
    assert np.array_equal(probabilities(other, path), expected)
    if ending != "csv.gz":
        form = {"feather": "arrow"}.get(ending, ending)
        piped = run("predict", other, "-", "--proba", "--json", "--format", form, stdin=path.read_bytes()).stdout
        assert len(piped.splitlines()) == 17


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "feather", "jsonl"])
def test_every_format_out(model: Path, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"answers.{ending}"
    path.write_text("what was there")
    result = run("predict", model, WATERMELON, "--proba", "-o", path, "--batch-rows", 6)
    assert result.stdout == ""
    read = {
        "csv": csv.read_csv,
        "tsv": lambda p: csv.read_csv(p, parse_options=csv.ParseOptions(delimiter="\t")),
        "parquet": parquet.read_table,
        "feather": lambda p: feather.read_table(str(p)),
        "jsonl": lambda p: pa.Table.from_pylist([json.loads(line) for line in p.read_text().splitlines()]),
    }[ending](path)
    assert read.column_names == ["prediction", "P(no)", "P(yes)"]
    assert np.array_equal(np.array(read["P(yes)"]), tb.NaiveBayes().fit(X, RIPE).predict_proba(X)[:, 1])
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_an_error_half_way_leaves_the_old_answers(model: Path, tmp_path: Path) -> None:
    bad, out = tmp_path / "bad.csv", tmp_path / "out.csv"
    bad.write_text(Path(WATERMELON).read_text() + "green,curly,dull,clear,flat,hard,inf,0.1,yes\n")
    out.write_text("old")
    message = run("predict", model, bad, "-o", out, "--batch-rows", 6, code=1).stderr
    assert "'density' has inf (row 18, line 19)" in message  # counted from the start of the file, as in an editor
    assert out.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.csv", "melon.tb", "out.csv"]
    before = model.read_bytes()
    run("learn", model, bad, "--batch-rows", 6, code=1)
    assert model.read_bytes() == before


def test_many_files_and_patterns(model: Path, tmp_path: Path) -> None:
    for k, start in enumerate((0, 5, 10)):
        csv.write_csv(TABLE.slice(start, 5 if k < 2 else 7), tmp_path / f"part-{k}.csv")
    whole = tmp_path / "whole.tb"
    assert answer("fit", tmp_path / "part-*.csv", "-t", "ripe", "-o", whole)["rows"] == 17
    assert np.array_equal(probabilities(whole, WATERMELON), probabilities(model, WATERMELON))
    assert answer("fit", tmp_path / "part-1.csv", tmp_path / "part-0.csv", "-t", "ripe", "-o", whole)["rows"] == 10
    (tmp_path / "part-3.csv").write_text("color,ripe\ngreen,yes\n")
    assert (
        "does not have the columns of" in run("fit", tmp_path / "part-*.csv", "-t", "ripe", "-o", whole, code=1).stderr
    )


def test_standard_input_is_recognised_by_its_first_bytes(model: Path, tmp_path: Path) -> None:
    expected = run("predict", model, WATERMELON).stdout
    for ending in ("parquet", "arrow", "jsonl"):
        assert run("predict", model, "-", stdin=_written(tmp_path, ending).read_bytes()).stdout == expected
    assert run("predict", model, "-", stdin=Path(WATERMELON).read_bytes()).stdout == expected


# --- columns ---------------------------------------------------------------------------------------------------------


def test_surplus_columns_are_left_alone_and_missing_ones_named(model: Path, tmp_path: Path) -> None:
    more, less = tmp_path / "more.csv", tmp_path / "less.csv"
    csv.write_csv(TABLE.append_column("id", pa.array(range(17))), more)
    csv.write_csv(TABLE.drop(["sugar", "color"]), less)
    assert run("predict", model, more).stdout == run("predict", model, WATERMELON).stdout
    assert "There is no column 'color', 'sugar' in" in run("predict", model, less, code=1).stderr


def test_columns_are_read_as_the_model_knows_them(tmp_path: Path) -> None:
    """In the second file codes look like numbers; a category is text all the same."""
    one, two, path = tmp_path / "1.csv", tmp_path / "2.csv", tmp_path / "m.tb"
    one.write_text("code,y\nA1,u\n02,v\n02,v\n")
    two.write_text("code\n02\n")
    run("fit", one, "-t", "y", "-o", path)
    result = run("predict", path, two)
    assert result.stdout.split() == ['"prediction"', '"v"']
    assert result.stderr == ""  # 02 is not unseen


def test_kinds_drop_and_missing(tmp_path: Path) -> None:
    data, path = tmp_path / "d.csv", tmp_path / "m.tb"
    data.write_text("id,zip,n,y\n1,02139,3,u\n2,02139,?,v\n3,10001,5,u\n")
    run("fit", data, "-t", "y", "-o", path, "--drop", "id", "--kind", "zip=categorical", "--missing", "?")
    found = {c["name"]: c for c in answer("inspect", path)["columns"]}
    assert found == {
        "zip": {"name": "zip", "kind": "categorical", "levels": ["02139", "10001"]},
        "n": {"name": "n", "kind": "real"},
    }


def test_integer_labels_stay_integers_and_come_late_too(tmp_path: Path) -> None:
    data, path = tmp_path / "d.csv", tmp_path / "m.tb"
    data.write_text("a,y\n" + "1,0\n2,1\n" * 50 + "2.5,7\n")
    run("fit", data, "-t", "y", "-o", path, "--batch-rows", 40)
    assert tb.load(path).classes_.tolist() == [0, 1, 7]
    assert lines("predict", path, data)[0]["prediction"] in (0, 1, 7)


# --- what is said, and where -----------------------------------------------------------------------------------------


def test_notes_go_to_standard_error_in_the_words_of_the_command_line(tmp_path: Path) -> None:
    data = tmp_path / "d.csv"
    data.write_text("shift,y\n" + "1,u\n2,v\n3,u\n" * 5)
    result = run("fit", data, "-t", "y", "-o", tmp_path / "m.tb", "--json")
    assert json.loads(result.stdout)["rows"] == 15
    assert result.stderr.startswith("note: Integer column(s) with few values taken as numbers: 'shift'.")
    assert "--kind shift=categorical" in result.stderr


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (["fit", WATERMELON], 2, "Missing option '--target'"),
        (["fit", WATERMELON, "-t", "ripe", "-o", "x.tb", "-m", "Forest"], 2, "there is no model 'Forest'"),
        (["fit", WATERMELON, "-t", "ripe", "-o", "x.tb", "--set", "alpha"], 2, "expected key=value"),
        (["fit", WATERMELON, "-t", "ripe", "-o", "x.tb", "--set", "beta=1"], 2, "no parameter 'beta'"),
        (["fit", WATERMELON, "-t", "ripe", "-o", "x.tb", "--set", "alpha=-1"], 1, "alpha must be"),
        (["fit", WATERMELON, "-t", "ripe", "-o", "x.tb", *("--set", "alpha=1") * 2], 2, "'alpha' is said twice"),
        (["fit", WATERMELON, "-t", "ripe", "-o", "x.tb", *("--kind", "sugar=real") * 2], 2, "'sugar' is said twice"),
        (["fit", WATERMELON, "-t", "ripe", "-o", "x.tb", "--kind", "color=red"], 2, "expected column=kind"),
        (["fit", WATERMELON, "-t", "ripe", "-o", "x.tb", "--format", "xls"], 2, "expected one of csv"),
        (["fit", WATERMELON, "-t", "ripe", "-o", "nowhere/x.tb"], 1, "No such file"),
        (
            ["fit", "-t", "ripe", "-o", "x.tb", "--kind", "sugar=real", "-m", "GaussianNB", WATERMELON],
            2,
            "use NaiveBayes",
        ),
        (["predict", WATERMELON, WATERMELON], 1, "Cannot load the model file"),
        (["predict", "nothing.tb", WATERMELON], 1, "nothing.tb"),
        (["merge", "one.tb", "-o", "x.tb"], 2, "two or more model files"),
        (["predict"], 2, "Missing argument"),
        (["fit", WATERMELON, "-t", "ripe", "-o", "-"], 2, "not to standard output"),
        (["learn", "m.tb", WATERMELON, "-o", "-"], 2, "not to standard output"),
        (["merge", "one.tb", "two.tb", "-o", "-"], 2, "not to standard output"),
        (["fit", WATERMELON, "-t", "ripe", "-o", "newfolder/"], 1, "add the name of a file"),
        (["melt"], 2, "No such command 'melt'"),
    ],
    ids=str,
)
def test_errors_are_one_line_with_the_right_code(args: list[str], code: int, says: str) -> None:
    assert says.lower() in run(*args, code=code).stderr.lower()


def test_errors_about_a_model(model: Path, tmp_path: Path) -> None:
    assert "not a class. Classes: no, yes" in run("predict", model, WATERMELON, "--prior", "ripe=1", code=2).stderr
    assert "expected 'uniform'" in run("predict", model, WATERMELON, "--prior", "a lot", code=2).stderr
    assert "must end in one of" in run("predict", model, WATERMELON, "-o", tmp_path / "x.xls", code=1).stderr
    said = run("inspect", model, "-c", "colour", code=1).stderr
    assert "no column 'colour' in the model" in said
    assert "Did you mean 'color'?" in said
    assert "'maybe' is not a class" in run("sample", model, "--class", "maybe", code=2).stderr
    other = tmp_path / "other.tb"
    run("fit", WATERMELON, "-t", "color", "-o", other)
    assert "predicts 'ripe'" in run("merge", model, other, "-o", tmp_path / "x.tb", code=1).stderr
    tb.save(tb.NaiveBayes().fit(X, RIPE), other)
    assert "Say --target" in run("learn", other, WATERMELON, code=1).stderr
    extra = tmp_path / "extra.csv"
    extra.write_text(Path(WATERMELON).read_text().replace(",no", ",so"))
    assert "has not learned the class(es) 'so'" in run("evaluate", model, extra, code=1).stderr
    run("forget", model, WATERMELON, WATERMELON, code=1)


def test_forgetting_every_row_is_refused(model: Path) -> None:
    before = model.read_bytes()
    said = run("forget", model, WATERMELON, code=1).stderr
    assert "these 17 rows would leave no rows: delete the file, or learn other rows first." in said
    assert model.read_bytes() == before


@pytest.mark.parametrize("command", ["evaluate", "learn", "forget"])
def test_a_target_that_is_a_column_of_the_model(model: Path, command: str) -> None:
    said = run(command, model, WATERMELON, "-t", "color", code=1).stderr
    assert said == "tallybayes: 'color' is a column of the model, not its target.\n"


def test_a_loss_that_has_an_answer_twice(model: Path, tmp_path: Path) -> None:
    loss = tmp_path / "loss.csv"
    loss.write_text("answer,no,yes\nno,0,1\nyes,1,0\nno,0,9\n")
    assert "the answer 'no' is there twice" in run("predict", model, WATERMELON, "--loss", loss, code=1).stderr


@pytest.mark.parametrize("command", ["predict", "evaluate", "learn", "forget"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_advice_on_a_model_does_not_name_kinds(model: Path, tmp_path: Path, command: str, ending: str) -> None:
    data = tmp_path / f"data.{ending}"
    words = TABLE.set_column(TABLE.column_names.index("sugar"), "sugar", pa.array(["sweet"] * len(TABLE)))
    csv.write_csv(words, data) if ending == "csv" else parquet.write_table(words, data)
    said = run(command, model, data, code=1).stderr
    assert "'sweet'" in said
    assert "he model learned numbers" in said
    assert "--kind" not in said


def test_advice_on_classes_that_are_numbers(tmp_path: Path) -> None:
    data, path = tmp_path / "data.csv", tmp_path / "m.tb"
    data.write_text("a,y\n1.5,0\n2,1\n")
    run("fit", data, "-t", "y", "-o", path)
    data.write_text("a,y\n1.5,0\n2,x\n")
    assert (
        "column 'y' has 'x' (line 3); the classes of the model are whole numbers."
        in run("learn", path, data, code=1).stderr
    )


def test_advice_on_words_where_only_numbers_go(tmp_path: Path) -> None:
    said = run("fit", WATERMELON, "-t", "ripe", "-m", "GaussianNB", "-o", tmp_path / "m.tb", code=1).stderr
    assert "GaussianNB takes numbers only: use --model NaiveBayes, or leave it out with --drop color; if" in said


def test_advice_on_unseen_categories(model: Path, tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text(Path(WATERMELON).read_text().replace("green", "purple"))
    said = run("predict", model, data).stderr
    assert "To refuse them, fit with --set unseen=error; to give them" in said
    assert said.endswith("of a level never seen, fit with --set unseen=other.\n")
    run("fit", WATERMELON, "-t", "ripe", "-o", model, "--set", "unseen=error")
    said = run("predict", model, data, code=1).stderr
    assert "To leave their factors out, fit with --set unseen=ignore; to give them" in said


def test_without_a_command_there_is_help() -> None:
    result = CliRunner().invoke(app, [])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == run("--help").stdout


def test_every_command_has_help_and_json() -> None:
    for name in COMMANDS:
        text = run(name, "--help").stdout
        assert "--json" in text or name in ("serve", "report", "export")  # which write no answer on the screen
        assert text.startswith(f"Usage: tallybayes {name} ")
    assert run("--version").stdout.strip() == tb.__version__


def test_a_report_and_exports_are_written(model: Path, tmp_path: Path) -> None:
    said = run("report", model, WATERMELON, "-o", tmp_path / "r.html", "--title", "Melons").stderr
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<title>Melons</title>" in html
    assert "Confusion matrix" in html
    assert "r.html: 0." in said
    assert "cross-validated on these rows" in html
    run("report", model, WATERMELON, "--train", WATERMELON, "-o", tmp_path / "fair.html")
    assert "fitted on the 17 training rows" in (tmp_path / "fair.html").read_text(encoding="utf-8")
    run("report", model, WATERMELON, "--no-baseline", "-o", tmp_path / "short.html")
    assert "Logistic regression was left out." in (tmp_path / "short.html").read_text(encoding="utf-8")
    assert "name DATA too" in run("report", model, "--train", WATERMELON, code=1).stderr
    run("report", model, "-o", tmp_path / "bare.html")
    bare = (tmp_path / "bare.html").read_text(encoding="utf-8")
    assert "Confusion matrix" not in bare
    assert "<title>NaiveBayes: ripe</title>" in bare
    assert "Predicts ripe (2 classes)" in (tmp_path / "short.html").read_text(encoding="utf-8")
    run("export", model, "-o", tmp_path / "m.json")
    assert json.loads((tmp_path / "m.json").read_text())["classes"] == ["no", "yes"]
    run("export", model, "-o", tmp_path / "m.mjs")
    assert "export const model" in (tmp_path / "m.mjs").read_text(encoding="utf-8")
    assert "none of .json" in run("export", model, "-o", "m.txt", code=2).stderr
    onnx = pytest.importorskip("onnx")
    run("export", model, "-o", tmp_path / "m.onnx")
    assert [each.name for each in onnx.load(tmp_path / "m.onnx").graph.output] == ["label", "probabilities"]


def test_a_file_that_holds_a_decision(tmp_path: Path) -> None:
    rows, ripe = tb.datasets.load_watermelon()
    loss = {("yes", "no"): 20, ("no", "yes"): 1, ("taste it", ...): 0.5}
    decision = tb.BayesDecision(tb.NaiveBayes(), loss).fit(rows, ripe)
    path = tmp_path / "d.tb"
    tb.save(decision, path, notes={"target": "ripe"})
    before = path.read_bytes()
    answers = [line.strip('"') for line in run("predict", path, WATERMELON).stdout.splitlines()[1:]]
    assert answers == decision.predict(rows).tolist()
    said = run("predict", path, WATERMELON, "--prior", "yes=0.99,no=0.01").stdout
    inner = decision.estimator_.with_prior({"yes": 0.99, "no": 0.01})
    assert said.replace('"', "").splitlines()[1:] == decision.restore(inner).predict(rows).tolist()
    for command in (["inspect", path], ["evaluate", path, WATERMELON], ["report", path, "-o", tmp_path / "r.html"]):
        run(*command)
    assert "losses of the BayesDecision are not in it" in run("export", path, "-o", tmp_path / "d.json").stderr
    assert "with its losses" in run("learn", path, WATERMELON, code=1).stderr
    assert path.read_bytes() == before
