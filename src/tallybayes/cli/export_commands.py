"""Commands that make something of a model for others: report, export."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from tallybayes.cli import options, output
from tallybayes.errors import OptionError

FORMS = (".json", ".js", ".mjs", ".onnx")


@output.answering_with_sklearn
@options.spread
def report(
    model: options.ModelFile,
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DATA...]",
            help="Labelled rows. Without rows, the report describes the model only.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="The HTML file to write.", show_default=False)
    ] = "report.html",
    target: options.KnownTarget = None,
    title: Annotated[str | None, typer.Option("--title", help="The title of the page.")] = None,
    train: Annotated[
        list[str] | None,
        typer.Option(
            "--train",
            metavar="FILE",
            help="The rows that the model was trained on, for the logistic regression beside it. May be repeated.",
            show_default=False,
        ),
    ] = None,
    no_baseline: Annotated[bool, typer.Option("--no-baseline", help="Leave out the logistic regression.")] = False,
    rows: options.Sampled = 20_000,
    skip_unlabelled: options.SkipUnlabelled = False,
    *,
    how: options.Reading,
) -> None:
    """Writes a report of a model as one HTML file: performance, effects of columns, what-if analysis.

    The page works offline. Use rows that the model has not learned: on learned rows the scores are too good.
    """
    from tallybayes import report as make_report
    from tallybayes.cli.input_tables import Asked, known_data, target_of
    from tallybayes.io import load_classifier, load_notes

    known = load_classifier(model)
    notes = load_notes(model)
    if not data:
        if train or no_baseline:
            raise OptionError("--train and --no-baseline are about the regression beside scores: name DATA too.")
        kept = notes.get("target") if target is None else target
        found = make_report(known, target=kept if isinstance(kept, str) else None, title=title)
    else:
        named = target_of(target, notes)

        def sampled(paths: list[str]) -> tuple[object, object]:
            with known_data(Asked(paths, how, named, skip_unlabelled=skip_unlabelled), known) as source:
                X, y, _ = source.sample(rows)
            return X, y

        learned = None if train is None else sampled(train)
        found = make_report(known, *sampled(data), train=learned, baseline=not no_baseline, target=named, title=title)
    found.save(out)
    output.note(f"{out}: {len(found.html) / 1e6:.2f} MB")


@output.answering
def export(
    model: options.ModelFile,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="The file to write; its suffix is the format: .json (the model as data), .js or .mjs (a module that "
            "scores rows), .onnx (a graph).",
            show_default=False,
        ),
    ],
) -> None:
    """Exports a model as JSON, as a JavaScript module, or as an ONNX graph."""
    from pathlib import Path

    from tallybayes.export import to_js, to_json, to_onnx
    from tallybayes.io import load, load_classifier
    from tallybayes.io.decision_documents import decision_of

    kind = Path(out).suffix.lower()
    if kind not in FORMS:
        raise typer.BadParameter(f"{out!r} ends in none of {', '.join(FORMS)}.", param_hint="--out")
    write: Callable[[object, str], object] = to_onnx if kind == ".onnx" else to_json if kind == ".json" else to_js
    write(load_classifier(model), out)
    output.note(f"{out}: {Path(out).stat().st_size / 1e6:.2f} MB")
    if decision_of(load(model)) is not None:
        output.note(
            "the losses of the BayesDecision are not in it: its label is the most probable class. Apply the losses to "
            "the probabilities: the decision with the least sum of loss × probability."
        )
