"""How the text of a table is written, and what a file is: guessed and said, said by options, or named in one line."""

from __future__ import annotations

import gzip
import json
import os
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tallybayes as tb
from tallybayes.cli.commands import app
from tests.command_line import WATERMELON, answer, lines, run

PLAIN = "a,b,y\n1.5,x,u\n2.5,é,v\n3.25,x,u\n0.5,é,v\n"


def kinds(path: Path) -> dict[str, str]:
    return {column["name"]: column["kind"] for column in answer("inspect", path)["columns"]}


def fit(tmp_path: Path, content: str | bytes, *more: Any, name: str = "d.csv", code: int = 0) -> str:
    """What is said on standard error."""
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    said: str = run("fit", tmp_path / name, "-t", "y", "-o", tmp_path / "m.tb", *more, code=code).stderr
    return said


@pytest.fixture
def plain(tmp_path: Path) -> bytes:
    """The model of PLAIN, as it is written; its notes name the same file."""
    assert fit(tmp_path, PLAIN) == ""
    return _without_history(tmp_path / "m.tb")


def _without_history(path: Path) -> bytes:
    tb.save(tb.load(path), path)
    return path.read_bytes()


# --- guessed and said ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "guessed"),
    [
        (PLAIN.replace(",", ";"), "separator ';'. To say it yourself: --separator."),
        (PLAIN.replace(",", "|"), "separator '|'. To"),
        (PLAIN.replace(",", "\t"), "separator tab. To"),
        (PLAIN.replace(",", " "), "separator space. To"),
        (
            PLAIN.replace(",", ";").replace(".", ","),
            "separator ';', decimal sign ','. To say it yourself: --separator,",
        ),
        (PLAIN.encode("cp1252"), "encoding cp1252. To"),
        (PLAIN.encode("utf-16"), "encoding utf-16. To"),
        (PLAIN.encode("utf-32"), "encoding utf-32. To"),
    ],
)
def test_a_guess_is_reported_once_and_reads_the_same(
    tmp_path: Path, plain: bytes, content: str | bytes, guessed: str
) -> None:
    said = fit(tmp_path, content)
    assert said.startswith(f"note: {tmp_path / 'd.csv'}: guessed {guessed}")
    assert said.count("\n") == 1
    assert _without_history(tmp_path / "m.tb") == plain
    answers = run("predict", tmp_path / "m.tb", tmp_path / "d.csv")
    assert answers.stderr == said
    assert answers.stdout.split() == ['"prediction"', '"u"', '"v"', '"u"', '"v"']


def test_what_is_usual_is_not_reported(tmp_path: Path) -> None:
    for content in (PLAIN, "\ufeff" + PLAIN, PLAIN.replace("\n", "\r\n"), "y,a\n" + "u,1.5\nv,2\n"):
        assert fit(tmp_path, content) == ""
    assert fit(tmp_path, PLAIN.replace(",", "\t"), name="d.tsv") == ""


def test_a_column_called_x1_does_not_make_the_names_a_row(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("x0,x1\n1.5,u\n2.5,v\n")
    found = answer("fit", tmp_path / "d.csv", "-t", "x1", "-o", tmp_path / "m.tb")
    assert found["rows"] == 2


def test_commas_between_thousands_are_not_taken_for_decimals(tmp_path: Path) -> None:
    said = fit(tmp_path, "a;y\n" + "1,234;u\n5,678;v\n1,999;u\n")
    assert "guessed separator ';'. To" in said
    assert "column 'a' is taken for categories: 3 of the first 3 values have a ',', such as '1,234'" in said
    assert kinds(tmp_path / "m.tb") == {"a": "categorical"}


def test_spaces_between_words_are_no_separators(tmp_path: Path) -> None:
    fit(tmp_path, "full name,y\nann lee,u\njoe kay,v\n")
    (tmp_path / "new.csv").write_text("full name\nann lee\n")
    result = run("predict", tmp_path / "m.tb", tmp_path / "new.csv")
    assert (result.stdout.split(), result.stderr) == (['"prediction"', '"u"'], "")


def test_a_column_without_a_name_is_reported(tmp_path: Path) -> None:
    assert "--drop ''" in fit(tmp_path, ",a,y\n0,1.5,u\n1,2.5,v\n")
    assert fit(tmp_path, ",a,y\n0,1.5,u\n1,2.5,v\n", "--drop", "") == ""


def test_the_line_of_json_that_is_none(tmp_path: Path) -> None:
    said = fit(tmp_path, '{"a": 1.5, "y": "u"}\n{"a": 2.5, "y": "v"\n', name="d.jsonl", code=1)
    assert said.endswith("(line 2).\n")


def test_no_names_in_the_first_line(tmp_path: Path) -> None:
    data, path = tmp_path / "d.csv", tmp_path / "m.tb"
    data.write_text("1.5,7,u\n2.5,8,v\n3.5,9.5,u\n")
    message = run("fit", data, "-t", "y", "-o", path, code=1).stderr
    assert "say --no-header: the columns are then x0, x1 and so on" in message
    for more in (["--no-header"], []):
        found = run("fit", data, "-t", "x2", "-o", path, "--json", *more)
        assert json.loads(found.stdout)["class_count"] == {"u": 2.0, "v": 1.0}
        assert ("guessed no names in the first line" in found.stderr) == (not more)
    assert [row["prediction"] for row in lines("predict", path, data, "--no-header")] == ["u", "v", "u"]
    data.write_text("inf,7,u\n2.5,8,v\n")
    assert "(row 1, line 1)" in run("fit", data, "-t", "x2", "-o", path, "--no-header", code=1).stderr


# --- said by options -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (PLAIN.replace(",", "_"), ["--separator", "_"]),
        (PLAIN.replace(",", "\t"), ["--separator", "tab"]),
        (PLAIN.replace(",", ";").replace(".", ","), ["--separator", ";", "--decimal", ","]),
        ("a,b,y\n" + '"1,5",x,u\n"2,5",é,v\n"3,25",x,u\n"0,5",é,v\n', ["--decimal", ","]),
        (PLAIN.encode("latin-1"), ["--encoding", "latin-1"]),
        (PLAIN.encode("utf-16-le"), ["--encoding", "utf-16-le"]),
    ],
)
def test_what_is_declared_is_not_guessed(
    tmp_path: Path, plain: bytes, content: str | bytes, options: list[str]
) -> None:
    assert fit(tmp_path, content, *options) == ""
    assert _without_history(tmp_path / "m.tb") == plain


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (["--separator", "ab"], 2, "expected one character such as ; or the word tab; got 'ab'"),
        (["--decimal", ";"], 2, "expected . or , as the decimal sign; got ';'"),
        (["--encoding", "utf-9"], 2, "there is no encoding 'utf-9'"),
        (["--encoding", "ascii"], 1, "d.csv is not text in ascii: line 3 has the byte 0xc3. Say --encoding, such as"),
        (["--separator", ";"], 1, "There is no column 'y'"),
    ],
)
def test_what_cannot_be(tmp_path: Path, options: list[str], code: int, says: str) -> None:
    assert says in fit(tmp_path, PLAIN, *options, code=code)


def test_missing_words_are_added_or_replace_the_usual(tmp_path: Path) -> None:
    content = "a,b,y\n1.5,NA,u\n?,x,v\n,x,u\n"
    fit(tmp_path, content, "--missing", "?")
    found = {c["name"]: c for c in answer("inspect", tmp_path / "m.tb")["columns"]}
    assert (found["a"]["kind"], found["b"]["levels"]) == ("real", ["x"])
    fit(tmp_path, content, "--missing", "?", "--missing", "")
    found = {c["name"]: c for c in answer("inspect", tmp_path / "m.tb")["columns"]}
    assert (found["a"]["kind"], found["b"]["levels"]) == ("real", ["NA", "x"])


# --- numbers that words make categories ------------------------------------------------------------------------------


def test_a_word_among_numbers_is_reported(tmp_path: Path) -> None:
    content = "a,b,y\n" + "1.5,x,u\n2.5,z,v\n" * 20 + "unknown,7,u\n?,x,v\n"
    said = fit(tmp_path, content)
    assert said == (
        "note: column 'a' is taken for categories: 2 of the first 42 values are no numbers, the first is 'unknown'. If "
        "that stands for a missing value, say --missing 'unknown'; if it is meant so, --kind a=categorical.\n"
    )
    assert fit(tmp_path, content, "--missing", "unknown", "--missing", "?") == ""
    assert kinds(tmp_path / "m.tb") == {"a": "real", "b": "categorical"}
    assert fit(tmp_path, content, "--kind", "a=categorical") == ""
    assert kinds(tmp_path / "m.tb") == {"a": "categorical", "b": "categorical"}


def test_decimal_commas_in_quotes_are_reported(tmp_path: Path) -> None:
    content = "a,y\n" + '"1,5",u\n"2,5",v\n3,u\n'
    said = fit(tmp_path, content)
    assert "column 'a' is taken for categories: 2 of the first 3 values have a ',', such as '1,5'." in said
    assert "say --decimal ,;" in said
    assert fit(tmp_path, content, "--decimal", ",") == ""
    assert kinds(tmp_path / "m.tb") == {"a": "real"}


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["1.200,50", "800,10", "2.300,00"], "look like numbers with other signs, such as '1.200,50'"),
        (["1,200.50", "2,300.50", "900.5"], "look like numbers with other signs, such as '1,200.50'"),
        (["$900.00", "-$5", "$1,200"], "3 of the first 3 values look like numbers with other signs, such as '$900.00'"),
        (["12%", "5 %", "7.5%"], "look like numbers with other signs, such as '12%'"),
        (
            ["03.01.2025", "04.01.2025", "31.12.2024"],
            "look like days, such as '03.01.2025'. To have them read so, write",
        ),
        (["1/31/25", "2/1/25", "2/2/25"], "look like days, such as '1/31/25'"),
    ],
)
def test_numbers_and_days_in_forms_that_are_not_read_are_reported(tmp_path: Path, cells: list[str], said: str) -> None:
    content = "a;y\n" + "".join(f"{cell};{'uv'[i % 2]}\n" for i, cell in enumerate(cells))
    heard = fit(tmp_path, content, "--separator", ";", "--decimal", ".")
    assert "column 'a' is taken for categories" in heard
    assert said in heard
    assert "taken for categories" not in fit(tmp_path, content, "--separator", ";", "--kind", "a=categorical")


def test_words_are_no_numbers(tmp_path: Path) -> None:
    content = "a;y\n" + "555-1234;u\n12a;v\n$;u\nEUR;v\n" + " " * 100_000 + "x;u\n"
    assert "taken for categories" not in fit(tmp_path, content, "--separator", ";")


# --- rows ------------------------------------------------------------------------------------------------------------


def test_rows_without_a_class_are_left_out_on_request(tmp_path: Path) -> None:
    content = "a,y\n" + "1.5,u\n2.5,\n3.5,v\n4.5,NA\n" * 3 + "inf,u\n"
    message = fit(tmp_path, content, "--skip-unlabelled", "--batch-rows", 5, code=1)
    assert "'a' has inf (row 13, line 14)" in message  # counted with those that were left out
    content = content.replace("inf,u\n", "9,\n" * 7)
    said = fit(tmp_path, content, "--skip-unlabelled", "--batch-rows", 5)
    assert said == "note: 13 of 19 rows have no class and were left out.\n"
    data, path = tmp_path / "d.csv", tmp_path / "m.tb"
    assert tb.load(path).class_count_.tolist() == [3.0, 3.0]
    assert answer("learn", path, data, "--skip-unlabelled")["rows"] == 6
    assert answer("forget", path, data, "--skip-unlabelled")["rows"] == 6
    assert answer("evaluate", path, data, "--skip-unlabelled")["rows"] == 6
    found = answer("compare", data, "-t", "y", "--skip-unlabelled", "--folds", 2)
    assert (found["rows"], found["rows_in_data"]) == (6, 6)
    assert "of 1 rows none has a class in 'y'" in fit(tmp_path, "a,y\n1,\n", "--skip-unlabelled", code=1)


def test_a_place_in_several_files(tmp_path: Path) -> None:
    one, two = tmp_path / "1.csv", tmp_path / "2.csv"
    one.write_text("a,y\n1.5,u\n2.5,v\n")
    two.write_text("a,y\n1.5,u\n\ninf,v\n")
    message = run("fit", one, two, "-t", "y", "-o", tmp_path / "m.tb", code=1).stderr
    assert f"'a' has inf (row 2, line 4 of {two})" in message


def test_columns_are_kept_as_they_are_written(tmp_path: Path) -> None:
    path, data = tmp_path / "m.tb", tmp_path / "d.csv"
    fit(tmp_path, "a,y\n1.5,u\n2.5,v\n3.5,u\n")
    data.write_text("id,a,note\n007,1.5,\n008,2.5,fine\n")
    found = run("predict", path, data, "--keep", "id", "--keep", "note", "--keep", "a").stdout.splitlines()
    assert found == ['"id","note","a","prediction"', '"007",,1.5,"u"', '"008","fine",2.5,"v"']
    assert lines("predict", path, data, "--keep", "id")[0] == {"id": "007", "prediction": "u"}
    assert "There is no column 'ids'" in run("predict", path, data, "--keep", "ids", code=1).stderr
    assert "Did you mean 'id'?" in run("predict", path, data, "--keep", "Id", code=1).stderr
    data.write_text("prediction,a\n1,1.5\n")
    assert "the name of a column of predictions" in run("predict", path, data, "--keep", "prediction", code=2).stderr


# --- what a file is --------------------------------------------------------------------------------------------------


def test_a_json_array_is_read(tmp_path: Path, plain: bytes) -> None:
    head, *rows = [line.split(",") for line in PLAIN.split()]
    array = [dict(zip(head, [float(row[0]), *row[1:]], strict=True)) for row in rows]
    fit(tmp_path, json.dumps(array, indent=1), name="d.json")
    assert _without_history(tmp_path / "m.tb") == plain
    piped = run("predict", tmp_path / "m.tb", "-", stdin=json.dumps(array).encode()).stdout
    assert piped == run("predict", tmp_path / "m.tb", tmp_path / "d.json").stdout
    assert "number 2 is 5" in fit(tmp_path, '[{"y": 1}, 5]', name="d.json", code=1)
    assert "is no whole JSON array" in fit(tmp_path, '[{"y": 1}, ', name="d.json", code=1)
    assert "there are no rows" in fit(tmp_path, "[]", name="d.json", code=1)


def test_a_zip_of_one_table_is_read(tmp_path: Path, plain: bytes) -> None:
    with zipfile.ZipFile(tmp_path / "d.zip", "w") as archive:
        archive.writestr("part/d.csv", PLAIN)
    run("fit", tmp_path / "d.zip", "-t", "y", "-o", tmp_path / "m.tb")
    assert _without_history(tmp_path / "m.tb") == plain
    with zipfile.ZipFile(tmp_path / "d.zip", "a") as archive:
        archive.writestr("other.csv", PLAIN)
    message = run("fit", tmp_path / "d.zip", "-t", "y", "-o", tmp_path / "m.tb", code=1).stderr
    assert "more than one file, or none: 'part/d.csv', 'other.csv'. Unpack it first." in message


def test_compressed_text_without_its_ending(tmp_path: Path, plain: bytes) -> None:
    assert fit(tmp_path, gzip.compress(PLAIN.encode())) == ""
    assert _without_history(tmp_path / "m.tb") == plain
    assert "cannot be read" in fit(tmp_path, gzip.compress(PLAIN.encode())[:-9], code=1)


def test_a_model_is_no_table(tmp_path: Path) -> None:
    path = tmp_path / "m.tb"
    run("fit", WATERMELON, "-t", "ripe", "-o", path)
    said = run("predict", path, path, code=1).stderr
    assert said == f"tallybayes: {path} is no table but a model file of tallybayes.\n"
    said = run("predict", path, path, "--format", "csv", code=1).stderr
    assert said == f"tallybayes: {path} is no table but a model file of tallybayes.\n"


def _workbook() -> bytes:
    import io

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
        archive.writestr("[Content_Types].xml", "<Types/>")
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (_workbook(), "an Excel workbook; save the sheet as CSV"),
        (b"PK\x03\x04 and nothing else", "a zip archive that cannot be read"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "an old Excel workbook"),
        (b"SQLite format 3\0" + bytes(100), "an SQLite database"),
        (b"\x80\x04\x95" + bytes(100), "a pickle"),
        (b"\n <!DOCTYPE html><html></html>", "a web page"),
        (b"\x01\x02\x00\x03" * 99, "holds bytes that are no text"),
    ],
)
def test_what_is_no_table_is_named(tmp_path: Path, content: bytes, says: str) -> None:
    for name in ("d.csv", "d", "d.xlsx"):
        said = fit(tmp_path, content, name=name, code=1)
        assert says in said
        assert len(said) < 250 + len(str(tmp_path))


# --- did you mean ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (["fit", WATERMELON, "-t", "Ripe", "-o", "x.tb"], 1, "Did you mean 'ripe'?"),
        (["fit", WATERMELON, "-t", "ripe", "-o", "x.tb", "--drop", "colour"], 1, "Did you mean 'color'?"),
        (["fit", WATERMELON, "--traget", "ripe"], 2, "No such option: --traget. Did you mean --target?"),
        (["fit", WATERMELON, "-t", "ripe", "-o", "x.tb", "-m", "NaivBayes"], 2, "Did you mean 'NaiveBayes'?"),
        (["fit", WATERMELON, "-t", "ripe", "-o", "x.tb", "--set", "alfa=1"], 2, "Did you mean 'alpha'?"),
        (
            ["fit", WATERMELON.replace("melon", "mellon"), "-t", "ripe", "-o", "x.tb"],
            1,
            f"Did you mean {WATERMELON!r}?",
        ),
        (["fit", WATERMELON, "-t", "ripe", "-o", "x.tb", "--batch-rows", "0"], 2, "1. Try: tallybayes fit --help"),
        (["predikt", "m.tb", WATERMELON], 2, "Did you mean 'predict'?"),
    ],
)
def test_did_you_mean(args: list[str], code: int, says: str) -> None:
    assert says in run(*args, code=code).stderr


WORDS = "a,b,y\n" + "".join(f"{i},w{i % 3},{'uv'[i % 2]}\n" for i in range(200))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_wide_text_without_a_mark_is_read(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "t.csv").write_bytes(WORDS.encode(encoding))
    done = run("fit", tmp_path / "t.csv", "-t", "y", "-o", tmp_path / "m.tb")
    assert f"guessed encoding {encoding}" in done.stderr
    assert tb.load(tmp_path / "m.tb").schema_.levels[1].labels == ("w0", "w1", "w2")


def test_bytes_that_no_code_page_of_windows_has(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(WORDS.encode().replace(b"w1", b"w\x81"))
    assert "guessed encoding latin-1" in run("fit", tmp_path / "t.csv", "-t", "y", "-o", tmp_path / "m.tb").stderr
    assert tb.load(tmp_path / "m.tb").schema_.levels[1].labels == ("w0", "w\x81", "w2")


def test_text_that_changes_its_encoding_late(tmp_path: Path) -> None:
    """Beyond what is looked at for a guess: the column is named, and what to say."""
    path = tmp_path / "t.csv"
    path.write_bytes(WORDS.encode() + b"1,w1,u\n" * 200_000 + b"1,\xff\xfe,u\n")
    said = run("fit", path, "-t", "y", "-o", tmp_path / "m.tb", code=1).stderr
    assert "column 'b' is not text in UTF-8. Say --encoding, such as --encoding cp1252." in said
    said = run("fit", path, "-t", "y", "--encoding", "ascii", "-o", tmp_path / "m.tb", code=1).stderr
    assert "it is not text in ascii all through" in said
    path.write_bytes(WORDS.encode().replace(b"w1", b"\xff"))
    said = run("fit", path, "-t", "y", "--encoding", "utf-8", "-o", tmp_path / "m.tb", code=1).stderr
    assert "not text in" in said


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    run("fit", WATERMELON, "-t", "ripe", "-o", tmp_path / "m.tb")
    said = run("predict", tmp_path / "m.tb", tmp_path / "nowhere" / "t.csv", code=1).stderr
    assert said.endswith("nowhere/t.csv'.\n")
    said = run("predict", tmp_path / "m.tb", WATERMELON, "-o", tmp_path / "nowhere" / "t.csv", code=1).stderr
    assert said.endswith("nowhere/t.csv: no such file or directory\n")


def test_a_named_pipe_is_read(tmp_path: Path) -> None:
    run("fit", WATERMELON, "-t", "ripe", "-o", tmp_path / "m.tb")
    os.mkfifo(tmp_path / "pipe.csv")
    text = Path(WATERMELON).read_text()
    writer = threading.Thread(target=(tmp_path / "pipe.csv").write_text, args=(text,), daemon=True)
    writer.start()
    found = lines("predict", tmp_path / "m.tb", tmp_path / "pipe.csv")
    writer.join(10)
    assert found == lines("predict", tmp_path / "m.tb", WATERMELON)


def test_values_as_python_writes_them(tmp_path: Path) -> None:
    options = ("--set", "priors=None", "--set", "tempered=False", "-o", tmp_path / "m.tb")
    run("fit", WATERMELON, "-t", "ripe", *options)
    found = tb.load(tmp_path / "m.tb").get_params()
    assert found["priors"] is None
    assert found["tempered"] is False


@pytest.mark.parametrize("cell", ["1.5", "9007199254740993.5", "1e19"])
def test_whole_numbers_that_end_in_another(tmp_path: Path, cell: str) -> None:
    """What was taken for whole numbers in the first rows are numbers in all."""
    rows = "".join(f"{i % 1000},{'uv'[i % 2]}\n" for i in range(200_000))
    (tmp_path / "t.csv").write_text(f"a,y\n{rows}{cell},u\n")
    run("fit", tmp_path / "t.csv", "-t", "y", "-o", tmp_path / "m.tb", "--model", "GaussianNB")
    mean = tb.load(tmp_path / "m.tb").theta_[0, 0]
    assert mean == pytest.approx((sum(range(0, 1000, 2)) * 200 + float(cell)) / 100_001)


def test_json_that_has_another_type_than_the_model(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(WORDS)
    run("fit", tmp_path / "t.csv", "-t", "y", "-o", tmp_path / "m.tb")
    for cell, says in (("x", "not numbers"), ([1], "nested values")):
        (tmp_path / "t.jsonl").write_text("".join(json.dumps({"a": cell, "b": "w1"}) + "\n" for _ in range(3)))
        assert says in run("predict", tmp_path / "m.tb", tmp_path / "t.jsonl", code=1).stderr


def test_a_traceback_for_those_who_want_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLYBAYES_DEBUG", "1")
    with pytest.raises(FileNotFoundError):
        CliRunner().invoke(app, ["inspect", str(tmp_path / "nowhere.tb")], catch_exceptions=False)


def test_chinese_files_are_recognised_and_western_ones_are_not_taken_for_them() -> None:
    from tallybayes.cli.csv_dialect import _encoding

    chinese = "色泽,根蒂,好瓜\n青绿,蜷缩,是\n乌黑,稍蜷,否\n"
    for encoding in ("gb18030", "gbk", "gb2312"):
        assert _encoding(chinese.encode(encoding)) == "gb18030"
    assert _encoding(chinese.encode()) == "utf-8"
    for western in ("Größe,Süße\nmäßig,groß\n", "café,naïve,déjà\nété,où,ça\n", "ÄÖÜ,straße\n"):
        assert _encoding(western.encode("cp1252")) == "cp1252"
