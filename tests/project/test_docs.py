"""Every Python block of README.md and docs/ runs and prints what the page says; so do the docstrings and the tour."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tallybayes
from tallybayes import distributions, plots
from tallybayes.cli.commands import COMMANDS, app

ROOT = Path(__file__).parents[2]
ENGLISH = sorted((ROOT / "docs").glob("*.md"))
CHINESE = sorted((ROOT / "docs" / "zh").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "README.zh.md", *ENGLISH, *CHINESE]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"```csv (\S+)\n(.*?)```", re.S)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CHECKED = re.compile(BLOCK.pattern + r"|^\|[^\n]*\| `([^`\n]+)` \|$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def modules() -> list[str]:
    found = pkgutil.walk_packages(tallybayes.__path__, "tallybayes.")
    return ["tallybayes", *(m.name for m in found if not m.name.endswith(("_core", "__main__")))]


def script(name: str) -> Any:
    """A script of docs/, as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture(autouse=True)
def _own_registry() -> Any:
    """A page may register a distribution; the next page starts without it."""
    before = dict(distributions._REGISTRY)
    yield
    distributions._REGISTRY.clear()
    distributions._REGISTRY.update(before)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix().removeprefix("docs/")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_of_a_page_run_in_order(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "page"}
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    for found in BLOCK.finditer(text):
        block, line = found.group(1), text[: found.start()].count("\n") + 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if ">>>" in block:
                test = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), line)
                report: list[str] = []
                failed = runner.run(test, out=report.append, clear_globs=False).failed
                assert failed == 0, "".join(report)
                names.update(test.globs)  # a DocTest works on a copy
            else:
                exec(compile("\n" * line + block, str(page), "exec", dont_inherit=True), names)


@pytest.mark.parametrize(
    "page", [*PAGES, *(ROOT / p for p in ("CHANGELOG.md", "CONTRIBUTING.md", "bench/README.md"))], ids=name_of
)
def test_links_lead_somewhere(page: Path) -> None:
    """To a file, and to a heading in it."""
    broken = []
    for path, anchor in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(f"{path}#{anchor}" if anchor else path)
    assert broken == []


def anchors(page: Path) -> list[str]:
    """Of its headings, as a code host and the site make them."""
    headings = HEADING.findall(FENCED.sub("", page.read_text(encoding="utf-8")))
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings)
    return [re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain]


def test_every_page_is_in_the_contents_of_the_site() -> None:
    """A row in a table of guide.md, explanation.md, reference.md or index.md, each page in one of them."""
    site = script("inventory")
    listed = [name for page in site.CONTENTS if page != "zh/index" for name in site.contents(page)]
    assert sorted(listed) == sorted({p.stem for p in ENGLISH} - {"index"})
    assert sorted(site.contents("zh/index")) == sorted({p.stem for p in CHINESE} - {"index"})
    assert site.strays() == []


def test_each_line_of_the_lecture_notes_holds() -> None:
    """docs/zh/notes.md: the last cell of a row is an expression, true after the blocks above it."""
    names: dict[str, Any] = {"__name__": "page"}
    wrong, held = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block, expression in CHECKED.findall((ROOT / "docs" / "zh" / "notes.md").read_text(encoding="utf-8")):
            if block:
                exec(compile(block, "notes.md", "exec", dont_inherit=True), names)
            elif bool(eval(expression, names)):
                held += 1
            else:
                wrong.append(expression)
    assert wrong == []
    assert held > 120


def test_there_are_pages_to_run() -> None:
    assert len(PAGES) > 7
    tables = "reference commands guide explanation glossary limits speed growth accuracy references stacked-ensemble"
    without = {f"{name}.md" for name in tables.split(" ")}
    assert all(BLOCK.search(p.read_text(encoding="utf-8")) for p in PAGES if p.name not in without)


def test_commands_of_a_page_print_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines after `$ ` in console blocks, in order, in a folder with watermelon.csv and the files that it shows."""
    text = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    shutil.copy(ROOT / "src" / "tallybayes" / "datasets" / "watermelon.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    for name, content in FILE.findall(text):
        (tmp_path / name).write_text(content, encoding="utf-8")
    ran = 0
    for block in CONSOLE.findall(text):
        for step in block.removeprefix("$ ").split("\n$ "):
            command, _, expected = step.partition("\n")
            program, *args = shlex.split(command)
            assert program == "tallybayes"
            result = CliRunner().invoke(app, args)
            assert result.exit_code == 0, result.stderr
            assert doctest.OutputChecker().check_output(expected, result.output, FLAGS), result.output
            ran += 1
    assert ran > 8


def test_the_page_of_commands_is_fresh() -> None:
    """`make commands` writes it: a command or an option without a place there fails here."""
    generate = script("generate_commands")
    assert generate.PAGE.read_text(encoding="utf-8") == generate.page(), "run `make commands`"
    assert all(f"\n## {name}\n" in generate.page() for name in COMMANDS)


def test_the_mathematics_names_files_that_are_there() -> None:
    text = (ROOT / "docs" / "mathematics.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/*]+\.(?:py|cpp|hpp))`", text)
    assert len(named) > 20
    places = (ROOT, ROOT / "src" / "tallybayes")
    assert [path for path in named if not any(list(place.glob(path)) for place in places)] == []


@pytest.mark.parametrize("name", modules())
def test_docstrings(name: str) -> None:
    if name == "tallybayes.engines.spark_params":  # the one module that imports an extra when it is loaded
        pytest.importorskip("pyspark")
    assert doctest.testmod(importlib.import_module(name), optionflags=FLAGS).failed == 0


def test_every_public_name_has_a_page() -> None:
    """docs/conf.py makes one for each name of the inventory, and a table of all of them."""
    groups = script("inventory").groups()
    whole = [name for names in groups.values() for name in names]
    assert len(set(whole)) == len(whole)
    assert {f"tallybayes.{name}" for name in tallybayes.__all__} <= set(whole)
    assert {f"tallybayes.plots.{name}" for name in plots.__all__} <= set(whole)
    text = (ROOT / "docs" / "distributions.md").read_text(encoding="utf-8") + (ROOT / "docs" / "text.md").read_text(
        "utf-8"
    )
    ours = distributions.registered()[: distributions.registered().index("frequency") + 1]  # then what tests registered
    assert [name for name in ours if f'"{name}"' not in text] == []


def test_every_error_advises_what_to_do() -> None:
    """The table of errors and warnings that the site has is made of their docstrings."""
    table = script("inventory").errors()
    rows = [line.split(" | ") for line in table.splitlines()[2:]]
    assert len(rows) > 15
    assert [row[0] for row in rows if len(row) != 4 or not row[1].strip() or not row[2].strip()] == []


def test_classifiers_share_the_pages_of_their_methods() -> None:
    """No public method is left out of a classifier's page, and none is there twice."""
    site = script("inventory")
    shared = next(base for base in tallybayes.NaiveBayes.__mro__ if "forget" in vars(base))
    for name in site.groups()["Classifiers"]:
        page = site.members(getattr(tallybayes, name.rsplit(".", 1)[1]), shared)
        listed = [*page["own"], *(n for names in page["shared"].values() for n in names)]
        assert len(set(listed)) == len(listed)
        assert {"fit", "predict", "forget", "save", "explain"} <= set(listed)


def test_the_tour() -> None:
    run = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo.py")],
        capture_output=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "PYTHONIOENCODING": "utf-8"},
    )
    out = run.stdout.decode("utf-8")
    assert run.returncode == 0, run.stderr.decode("utf-8", "replace")[-2000:]
    for line in (
        "ripe      0.0524",
        "not ripe  6.86e-05",
        "NaiveBayes('mdl')",
        "32 Bayesian networks",
        "counts equal, to the last bit:",
    ):
        assert line in out
    assert re.search(r"to the last bit: +yes", out)
    assert re.search(r"sum against whole: \d\.\de-1\d", out)
    assert "\033" not in out  # no colour where there is no terminal
    assert max(map(len, out.splitlines())) <= 80
