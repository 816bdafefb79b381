"""The arguments that commands share, each written once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help="CSV, TSV, Parquet, Arrow (Feather), JSON lines or a JSON array, also zipped; several files or patterns; "
        "'-' reads standard input.",
        show_default=False,
    ),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)]
Target = Annotated[str, typer.Option("--target", "-t", help="The column of class labels.", show_default=False)]
KnownTarget = Annotated[
    str | None,
    typer.Option("--target", "-t", help="The column of class labels.  [default: that of the fit]", show_default=False),
]
Drop = Annotated[list[str] | None, typer.Option("--drop", help="A column to ignore. May be repeated.")]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="COLUMN=KIND",
        help="The kind of a column: real, categorical, binary, count, text, date or id. By default its type decides. "
        "May be repeated.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="The result as JSON.")]
Out = Annotated[
    str | None,
    typer.Option(
        "--out", "-o", metavar="FILE", help="Write to this file; its suffix is the format.  [default: standard output]"
    ),
]


def _a_file(path: str | None) -> str | None:
    if path == "-":
        raise typer.BadParameter("a model is written into a file, not to standard output. Give it a name.")
    return path


OutModel = Annotated[
    str,
    typer.Option("--out", "-o", metavar="MODEL", help="The model file to write.", show_default=False, callback=_a_file),
]
InPlace = Annotated[
    str | None,
    typer.Option(
        "--out", "-o", metavar="MODEL", help="The model file to write.  [default: MODEL itself]", callback=_a_file
    ),
]
Sampled = Annotated[
    int, typer.Option("--rows", min=2, help="Maximum number of rows; of more, a random sample is used.")
]


SkipUnlabelled = Annotated[
    bool, typer.Option("--skip-unlabelled", help="Skip rows whose class is missing, instead of refusing them.")
]


@dataclass(frozen=True)
class Reading:
    """How files are read, as said on the command line. None: to be found out."""

    format: Annotated[
        str | None,
        typer.Option(
            "--format", help="csv, tsv, parquet, arrow or jsonl.  [default: by the suffix, else by the first bytes]"
        ),
    ] = None
    separator: Annotated[
        str | None,
        typer.Option(
            "--separator",
            metavar="CHARACTER",
            help="The separator of text files; 'tab' for a tab.  [default: detected among , ; tab | space]",
        ),
    ] = None
    decimal: Annotated[
        str | None,
        typer.Option(
            "--decimal", metavar="CHARACTER", help="The decimal sign of text files, . or ,  [default: detected]"
        ),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(
            "--encoding", help="The encoding of text files, such as utf-8 or cp1252.  [default: UTF-8, else detected]"
        ),
    ] = None
    missing: Annotated[
        list[str] | None,
        typer.Option(
            "--missing",
            metavar="TEXT",
            help="A further marker of missing values in CSV and TSV, besides an empty cell, NA, N/A, n/a, NaN, nan, "
            "null, NULL, None and #N/A. May be repeated; after --missing '' only the given markers count.",
        ),
    ] = None
    no_header: Annotated[
        bool,
        typer.Option("--no-header", help="The first line is a row, and the columns are named x0, x1 and so on."),
    ] = False


@dataclass(frozen=True)
class Batches(Reading):
    """The same for commands that need not have all rows at once."""

    batch_rows: Annotated[
        int | None,
        typer.Option(
            "--batch-rows",
            min=1,
            help="Rows per batch.  [default: 65536, fewer in tables of more than 32 columns]",
        ),
    ] = None


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes a `Reading`: typer is shown the fields of it, each an option, in its place."""
    hints = get_type_hints(command, include_extras=True)
    shown: dict[str, Parameter] = {}
    name, made = "", Reading
    for parameter in signature(command).parameters.values():
        hint = hints[parameter.name]
        if isinstance(hint, type) and issubclass(hint, Reading):
            name, made = parameter.name, hint
            kinds = get_type_hints(hint, include_extras=True)
            for option in fields(hint):
                shown[option.name] = Parameter(
                    option.name, Parameter.KEYWORD_ONLY, default=option.default, annotation=kinds[option.name]
                )
        else:
            shown[parameter.name] = parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hint)

    @functools.wraps(command)
    def run(**given: Any) -> None:
        reading = made(**{option.name: given.pop(option.name) for option in fields(made)})
        command(**given, **{name: reading})

    run.__signature__ = Signature(list(shown.values()))  # type: ignore[attr-defined]
    run.__annotations__ = {key: parameter.annotation for key, parameter in shown.items()}
    return run
