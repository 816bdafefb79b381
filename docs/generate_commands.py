"""Writes docs/commands.md from the commands: `make commands`. A test compares the page with what this makes."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from typer.main import get_command

from tallybayes.cli.commands import COMMANDS, app, root

PAGE = Path(__file__).parent / "commands.md"
HEAD = """# Commands

{about}

This page is written by `make commands` from the commands themselves, as `tallybayes COMMAND --help` shows them. How
they work together: [the command line](command-line.md).

| command | |
|---|---|
{table}
"""


def page() -> str:
    commands: dict[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
    table = "\n".join(f"| [`{name}`](#{name}) | {_first(f)} |" for name, f in COMMANDS.items())
    sections = [_section(name, commands[name], function) for name, function in COMMANDS.items()]
    return "\n".join([HEAD.format(about=_prose(root), table=table), *sections])


def _section(name: str, command: Any, function: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
    needed = "".join(f" {_long(p)} …" for p in options if p.required)
    usage = f"tallybayes {name} {' '.join(_called(p) for p in arguments)}{needed} [OPTIONS]"
    lines = [f"## {name}", "", _prose(function), "", f"    {usage}", "", "| | |", "|---|---|"]
    lines += [f"| `{_called(p)}` | {_cell(p.help)} |" for p in arguments]
    lines += [f"| {', '.join(f'`{o}`' for o in p.opts)} | {_cell(p.help)}{_default(p)} |" for p in options]
    return "\n".join(lines) + "\n"


def _prose(function: Any) -> str:
    return inspect.cleandoc(function.__doc__ or "")


def _first(function: Any) -> str:
    return _cell(_prose(function).split("\n\n")[0])


def _long(p: Any) -> str:
    return next(o for o in p.opts if o.startswith("--"))


def _called(p: Any) -> str:
    return str(p.metavar or p.name.upper())


def _cell(text: str | None) -> str:
    return re.sub(r"\s+", " ", text or "").replace("|", "\\|")


def _default(p: Any) -> str:
    if p.required:
        return " **Required.**"
    return "" if p.default is None or isinstance(p.default, bool) else f" [default: {p.default}]"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
