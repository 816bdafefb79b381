"""Files that break other programs: the right answer, or one clear line and exit code 1."""

from __future__ import annotations

from pathlib import Path

import pytest

import tallybayes as tb
from tests.command_line import WATERMELON, answer, lines, run

GOOD = "a,b,y\n1.5,x,u\n2.5,z,v\n3,x,u\n"


def fit(tmp_path: Path, content: str | bytes, *more: str, code: int = 0, name: str = "d.csv") -> str:
    """What is said on standard error."""
    data = tmp_path / name
    data.write_bytes(content.encode() if isinstance(content, str) else content)
    said: str = run("fit", data, "-t", "y", "-o", tmp_path / "m.tb", *more, code=code).stderr
    assert (tmp_path / "m.tb").exists() == (code == 0)
    return said


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is empty"),
        ("\n\n", "there is nothing but empty lines"),
        ("a,y\n", "there are no rows"),
        ("a,y\n1,u\n2,v,3\n", "d.csv: line 3 has 3 cells, and the first line names 2"),
        ("a,b,y\n1,2,u\n2,v\n", "d.csv: line 3 has 2 cells, and the first line names 3"),
        ("a,a,y\n1,2,u\n", "several columns are called 'a'"),
        ("a,b\n1,2\n", "There is no column 'y'"),
        ("a,y\n1,u\n2,\n", "the label of row 2, line 3 is missing. Leave such rows out with --skip-unlabelled."),
        ("a,y\n1,\n2,\n", "(row 1, line 2). Leave such rows out"),
        ("y\nu\nv\n", "no column beside the target"),
        ("a,y\n1,0.5\n2,1.5\n", "Unknown label type: continuous"),
        ("a,y\n1,u\ninf,v\n", "'a' has inf (row 2, line 3)"),
        (bytes(range(256)) * 20, "holds bytes that are no text"),
        ('a,y\n1,u\n"x,u\nz,v\n', "d.csv: the quotes in line 3 do not match"),
        ('a,y\n"x\n\nz",v\n1,u,2\n', "d.csv: line 5 has 3 cells"),
        ('a,y\n"x\n\nz",v\n\n1,\n', "the label of row 2, line 6 is missing"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_refused_in_one_line(tmp_path: Path, content: str | bytes, says: str) -> None:
    said = fit(tmp_path, content, code=1)
    assert says in said
    assert said.removesuffix("\n").isprintable()  # nothing that a terminal would obey


@pytest.mark.parametrize("name", ["d.parquet", "d.feather", "d.jsonl"])
@pytest.mark.parametrize("content", [b"", b"garbage", b"PAR1garbagePAR1", b"ARROW1\0\0garbage", b"{", b'{"y": [1]}\n'])
def test_files_that_are_not_what_their_name_promises(tmp_path: Path, name: str, content: bytes) -> None:
    assert "unexpected" not in fit(tmp_path, content, code=1, name=name)


def test_a_bom_is_not_part_of_a_name(tmp_path: Path) -> None:
    fit(tmp_path, b"\xef\xbb\xbf" + b"y,a\nu,1\nv,2\n")
    assert [c["name"] for c in answer("inspect", tmp_path / "m.tb")["columns"]] == ["a"]


def test_markup_formulas_and_newlines_are_text(tmp_path: Path) -> None:
    fit(tmp_path, '<script>alert(1)</script>,[red],y\n=1+1,"a\nb",u\n@SUM(A1),"c ""d""",v\n=1+1,"a\nb",u\n')
    found = answer("inspect", tmp_path / "m.tb")["columns"]
    assert [c["name"] for c in found] == ["<script>alert(1)</script>", "[red]"]
    assert found[0]["levels"] == ["=1+1", "@SUM(A1)"]
    assert found[1]["levels"] == ["a\nb", 'c "d"']
    assert "<script>alert(1)</script>: categorical" in run("inspect", tmp_path / "m.tb").stdout
    assert [row["prediction"] for row in lines("predict", tmp_path / "m.tb", tmp_path / "d.csv")] == ["u", "v", "u"]


def test_codes_for_the_terminal_are_not_passed_on(tmp_path: Path) -> None:
    fit(tmp_path, "\033[31mred,y\nx,u\n\033[2J,v\n")
    assert "\033" not in run("inspect", tmp_path / "m.tb").stdout


def test_one_class_and_only_missing_values(tmp_path: Path) -> None:
    fit(tmp_path, "a,y\n1,u\n2,u\n")
    assert lines("predict", tmp_path / "m.tb", tmp_path / "d.csv", "--proba") == [{"prediction": "u", "P(u)": 1.0}] * 2
    assert "all rows are of class 'u'" in run("compare", tmp_path / "d.csv", "-t", "y", code=1).stderr
    fit(tmp_path, "a,b,y\n,,u\n,NA,v\n,,v\n")
    found = lines("predict", tmp_path / "m.tb", tmp_path / "d.csv", "--proba")
    assert [row["P(v)"] for row in found] == pytest.approx([2 / 3] * 3)


def test_line_ends_of_windows(tmp_path: Path) -> None:
    fit(tmp_path, GOOD.replace("\n", "\r\n"))
    assert tb.load(tmp_path / "m.tb").classes_.tolist() == ["u", "v"]


def test_what_comes_late_in_a_long_file(tmp_path: Path) -> None:
    """After the first megabyte, which decides the types."""
    long = "a,b,y\n" + "1,,u\n2,,v\n" * 150_000
    fit(tmp_path, long + "1.5,7,u\n", "--kind", "a=real")
    model = tb.load(tmp_path / "m.tb")
    assert model.schema_.kinds == ("real", "real")
    assert model.class_count_.tolist() == [150_001.0, 150_000.0]
    (tmp_path / "m.tb").unlink()
    assert "column 'a' was taken for numbers and has 'many' (line 300002)" in fit(tmp_path, long + "many,7,u\n", code=1)
    assert "row 300001, line 300002" in fit(tmp_path, long + "3,7,\n", code=1)
    fit(tmp_path, long + "many,7,u\n", "--kind", "a=categorical")
    assert tb.load(tmp_path / "m.tb").schema_.levels[0].labels == ("1", "2", "many")


def test_numbers_too_large_for_an_integer(tmp_path: Path) -> None:
    fit(tmp_path, "a,y\n99999999999999999999999,u\n2,v\n1,v\n")
    assert tb.load(tmp_path / "m.tb").schema_.kinds == ("real",)


def test_folders_and_pipes_and_nothing(tmp_path: Path) -> None:
    model = tmp_path / "m.tb"
    run("fit", WATERMELON, "-t", "ripe", "-o", model)
    assert "is a folder" in run("predict", model, tmp_path, code=1).stderr
    assert "No file matches" in run("predict", model, tmp_path / "*.csv", code=1).stderr
    assert "standard input is empty" in run("predict", model, "-", code=1, stdin=b"").stderr
    other = tmp_path / "d.jsonl"
    other.write_text("{}")
    assert "different formats: 'csv', 'jsonl'" in run("predict", model, WATERMELON, other, code=1).stderr
