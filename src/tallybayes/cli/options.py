"""The arguments that commands share, each written once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help="CSV, TSV, Parquet, Arrow (Feather) or JSON lines; several files or patterns; '-' reads standard input.",
        show_default=False,
    ),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)]
Target = Annotated[str, typer.Option("--target", "-t", help="The column that holds the classes.", show_default=False)]
KnownTarget = Annotated[
    str | None,
    typer.Option(
        "--target", "-t", help="The column that holds the classes.  [default: as in the fit]", show_default=False
    ),
]
Drop = Annotated[list[str] | None, typer.Option("--drop", help="A column to leave out. May be repeated.")]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="COLUMN=KIND",
        help="What a column is: real, categorical, binary or count. Without it the type says. May be repeated.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", help="csv, tsv, parquet, arrow or jsonl.  [default: by the name, else by the first bytes]"
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="TEXT",
        help="What stands for a missing value in CSV and TSV. May be repeated.  "
        "[default: empty, NA, N/A, NaN, null, None, #N/A]",
    ),
]
BatchRows = Annotated[
    int | None,
    typer.Option(
        "--batch-rows",
        min=1,
        help="Rows read at a time.  [default: 65536, fewer in tables of more than 32 columns]",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="The result as JSON.")]
Out = Annotated[
    str | None,
    typer.Option("--out", "-o", metavar="FILE", help="Write a file instead; its ending says the format."),
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
    int, typer.Option("--rows", min=2, help="At most so many rows, drawn at random where there are more.")
]


@dataclass(frozen=True)
class Reading:
    """How the data are read."""

    paths: list[str]
    drop: list[str]
    format: str | None
    missing: list[str] | None
    batch_rows: int | None = None
