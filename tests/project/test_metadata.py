"""What the project says of itself outside its code is the same everywhere."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import metadata
from pathlib import Path

import tallybayes as tb

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_version_stands_in_one_place() -> None:
    assert "version" not in PROJECT["project"]
    assert metadata("tallybayes")["Version"] == tb.__version__


def test_the_citation_is_of_the_last_release() -> None:
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    version, date = _releases()[1]
    assert f"\nversion: {version}\n" in cited
    assert f"\ndate-released: {date}\n" in cited
    assert f"license: {PROJECT['project']['license']}\n" in cited


def test_hooks_before_a_commit_run_what_lint_runs() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    lint = (ROOT / "Makefile").read_text(encoding="utf-8").split("\nlint:")[1].split("\n\n")[0]
    tools = set(re.findall(r"\$\(BIN\)/([\w-]+)", lint))
    assert tools == set(re.findall(r"\.venv/bin/([\w-]+)", hooks))


def test_the_changelog_has_this_version() -> None:
    releases = _releases()
    assert releases[0] == ("Unreleased", "")  # what comes next is written there
    last, this = (tuple(int(k) for k in v.split(".")[:3]) for v in (releases[1][0], tb.__version__))
    assert this > last if ".dev" in tb.__version__ else this == last


def _releases() -> list[tuple[str, str]]:
    """The versions of the changelog with their dates, the newest first."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return re.findall(r"^## \[(.*?)\](?: - (\d{4}-\d\d-\d\d))?$", text, re.M)
