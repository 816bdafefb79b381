"""The commands, in the order in which the help shows them. To add one, add it to COMMANDS.

A command is a function with `@answering` (output.py), or `@answering_with_sklearn` if it hands models to scikit-learn.
One that reads tables also has `@spread` (options.py), which shows the fields of its reading options. It imports what it
needs inside: `--help` does not wait for NumPy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tallybayes.cli import (
    check_command,
    export_commands,
    inspect_commands,
    learn_commands,
    predict_commands,
    serve_command,
)
from tallybayes.cli.output import one_line

ClickException: Any = typer.BadParameter.__mro__[2]  # click's own, or typer's copy of it


class _OneLine(TyperGroup):
    """A command that was not understood is answered in one line, with exit code 2."""

    def main(self, args: Sequence[str] | None = None, *_: object, **extra: Any) -> Any:
        """Run a command; what a library complains of is one line."""
        extra |= {"standalone_mode": False, "prog_name": "tallybayes"}
        try:
            code = super().main(args, **extra)
        except ClickException as e:
            context = getattr(e, "ctx", None)
            help_ = f" Try: {context.command_path} --help" if context is not None else ""
            typer.echo(f"tallybayes: {one_line(_misunderstood(e))}{help_}", err=True)
            sys.exit(e.exit_code)
        except SystemExit as e:  # typer's, of a pipe whose reader has seen enough: no fault of the command
            code = 0 if type(sys.stdout).__name__ == "PacifyFlushWrapper" else e.code
        sys.exit(code if isinstance(code, int) else 0)


def _misunderstood(e: Any) -> str:
    """What click says, with the option that may have been meant, if one is near."""
    name, context = getattr(e, "option_name", None), getattr(e, "ctx", None)
    if name is None or context is None:
        text = str(e.format_message())
        return text if text.endswith((".", "?", ")")) else text + "."
    from difflib import get_close_matches

    known = [option for p in context.command.params for option in p.opts if option.startswith("--")]
    near = get_close_matches(name, known, n=1)
    return f"No such option: {name}." + (f" Did you mean {near[0]}?" if near else "")


app = typer.Typer(
    cls=_OneLine,
    add_completion=False,
    rich_markup_mode=None,  # plain help: rich alone would take longer than all the rest of it
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

COMMANDS: dict[str, Callable[..., None]] = {
    "compare": inspect_commands.compare,
    "assumptions": inspect_commands.assumptions,
    "fit": learn_commands.fit,
    "predict": predict_commands.predict,
    "evaluate": predict_commands.evaluate,
    "explain": predict_commands.explain,
    "inspect": inspect_commands.inspect,
    "learn": learn_commands.learn,
    "forget": learn_commands.forget,
    "merge": learn_commands.merge,
    "sample": predict_commands.sample,
    "serve": serve_command.serve,
    "report": export_commands.report,
    "export": export_commands.export,
    "check": check_command.check,
}


def summary(command: Callable[..., None]) -> str:
    """The first paragraph of what a command says of itself, whole: the list of commands would cut it."""
    return " ".join((command.__doc__ or "").split("\n\n")[0].split())


for _name, _command in COMMANDS.items():
    app.command(_name, short_help=summary(_command))(_command)


def _version(asked: bool) -> None:
    if asked:
        from tallybayes import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback answers
        bool, typer.Option("--version", help="The version, and nothing else.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Generative Bayes classifiers for tables: compare, fit, predict, explain, learn, forget, merge.

    Results go to standard output, everything else to standard error. Exit codes: 0 success, 1 an error of the data or
    the model, 2 wrong usage, 130 interrupted by Ctrl-C, which leaves all files unchanged.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)
