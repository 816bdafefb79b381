"""The command check: every instruction set against base, and what it says when one differs."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from tallybayes import _core
from tallybayes.cli import check_command
from tallybayes.cli.commands import app

SETS = _core.isa_choice()[0][1 : _core.isa() + 1]


def test_every_instruction_set_agrees_with_base() -> None:
    before = _core.isa()
    found = check_command.differences()
    assert _core.isa() == before
    assert {row["instruction_set"] for row in found} == set(SETS)
    assert [row for row in found if not row["agrees"]] == []


def test_a_set_that_agrees_is_reported() -> None:
    done = CliRunner().invoke(app, ["check"])
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1].startswith("OK")


@pytest.mark.skipif(not SETS, reason="this processor has the base set only")
def test_a_difference_beyond_the_tolerance_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_command, "TOLERANCE", -1.0)
    done = CliRunner().invoke(app, ["check"])
    assert done.exit_code == 1
    assert "TALLYBAYES_ISA=base" in done.stdout
    assert "too large" in done.stdout
    assert json.loads(CliRunner().invoke(app, ["check", "--json"]).stdout)["ok"] is False
