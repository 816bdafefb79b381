"""Commands that make and change model files: fit, learn, forget, merge."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tallybayes.cli import options, output

if TYPE_CHECKING:
    from tallybayes.cli.input_tables import Asked
    from tallybayes.estimators.base import TallyClassifier


@output.answering
@options.spread
def fit(
    data: options.Data,
    target: options.Target,
    out: options.OutModel,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="The classifier, such as NaiveBayes; by default BayesClassifier, or that of --schema.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the classifier. May be repeated."),
    ] = None,
    kind: options.Kinds = None,
    schema: Annotated[
        str | None,
        typer.Option(
            "--schema",
            metavar="MODEL",
            help="Take kinds, levels and cuts from this model file, so that the two can be merged.",
        ),
    ] = None,
    drop: options.Drop = None,
    skip_unlabelled: options.SkipUnlabelled = False,
    *,
    how: options.Batches,
    json: options.Json = False,
) -> None:
    """Learns a model from a table and writes it into a file.

    The rows are read in batches, so the table may be larger than memory. The first batch (65,536 rows) decides the kind
    of each column and the cuts of 'mdl', 'frequency' and 'width'; later batches may bring new classes and categories.
    """
    from tallybayes import save
    from tallybayes.cli.input_tables import Asked, fresh_data, known_data
    from tallybayes.cli.parsing import make_model, read_kinds
    from tallybayes.io import load_classifier

    if schema and kind:
        raise typer.BadParameter("--schema says what the columns are; --kind cannot say it again.", param_hint="--kind")
    kinds = read_kinds(kind or [])
    like = load_classifier(schema) if schema else None
    said = like.schema_ if like else {name: k for name, k in kinds.items() if name != target}
    made = make_model(model or (type(like).__name__ if like else "BayesClassifier"), set_ or [], said)
    asked = Asked(data, how, target, drop or [], skip_unlabelled)
    with known_data(asked, like) if like else fresh_data(asked, kinds) as source, _advising(made):
        for _ in source.map("learning", made.partial_fit):
            pass
        rows = source.used
    with _changing(out, "fit"):
        save(made, out, notes={"target": target, "history": [_done("fit", data, rows)]})
    _report(made, out, f"Learned {rows:,} rows", {"rows": rows}, json)


@contextmanager
def _advising(made: Any) -> Iterator[None]:
    """A classifier for numbers alone has no --kind: what it cannot take is for another, or left out."""
    from tallybayes.errors import TableError

    try:
        yield
    except TableError as e:
        if "schema" in made.get_params(deep=False):
            raise
        advice = (
            rf"{type(made).__name__} takes numbers only: use --model NaiveBayes, or leave it out with --drop \1; if "
            "they stand for gaps, say --missing."
        )
        raise type(e)(re.sub(output.NOT_NUMBERS, advice, str(e))) from None


@output.answering
@options.spread
def learn(
    model: options.ModelFile,
    data: options.Data,
    target: options.KnownTarget = None,
    out: options.InPlace = None,
    skip_unlabelled: options.SkipUnlabelled = False,
    *,
    how: options.Batches,
    json: options.Json = False,
) -> None:
    """Adds rows to what a model has learned.

    All of the rows or none: if a row is refused the model file stays as it was.
    """
    from tallybayes.cli.input_tables import Asked

    _change("learn", model, Asked(data, how, target, skip_unlabelled=skip_unlabelled), out, json)


@output.answering
@options.spread
def forget(
    model: options.ModelFile,
    data: options.Data,
    target: options.KnownTarget = None,
    out: options.InPlace = None,
    skip_unlabelled: options.SkipUnlabelled = False,
    *,
    how: options.Batches,
    json: options.Json = False,
) -> None:
    """Removes rows from the statistics of a model; bins, structure and level names stay.

    Rows that were never learned are refused where the counts show it, and then the model file stays as it was.
    """
    from tallybayes.cli.input_tables import Asked

    _change("forget", model, Asked(data, how, target, skip_unlabelled=skip_unlabelled), out, json)


def _change(how: str, path: str, asked: Asked, out: str | None, json: bool) -> None:
    from tallybayes import save
    from tallybayes.cli.input_tables import known_data, target_of
    from tallybayes.errors import ForgetError
    from tallybayes.io import load_classifier, load_notes

    with _changing(out or path, how):
        model, notes = load_classifier(path, changing=True), load_notes(path)
        target = target_of(asked.target, notes)
        step = model.partial_fit if how == "learn" else model.forget
        with known_data(replace(asked, target=target), model) as source:
            for _ in source.map(how + "ing" if how == "learn" else "forgetting", step):
                pass
            rows = source.used
        if not model.class_count_.sum() > 0:
            raise ForgetError(
                f"Forgetting these {rows:,} rows would leave no rows: delete the file, or learn other rows first."
            )
        history = [*_history(notes), _done(how, asked.paths, rows)]
        save(model, out or path, notes={**notes, "target": target, "history": history})
    did = "Learned" if how == "learn" else "Forgot"
    _report(model, out or path, f"{did} {rows:,} rows", {"rows": rows}, json)


@output.answering
def merge(
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL...", help="Two or more model files.", show_default=False)
    ],
    out: options.OutModel,
    json: options.Json = False,
) -> None:
    """Adds models: the result has learned what each of them has learned."""
    from tallybayes import save
    from tallybayes.errors import MergeError
    from tallybayes.io import load_classifier, load_notes

    if len(models) < 2:
        raise typer.BadParameter("two or more model files are needed.", param_hint="MODEL...")
    with _changing(out, "merge"):  # it may be one of those that are read
        total, notes = load_classifier(models[0], changing=True), load_notes(models[0])
        history = _history(notes)
        for path in models[1:]:
            other = load_notes(path)
            if notes.get("target") != other.get("target"):
                raise MergeError(
                    f"{models[0]} predicts {notes.get('target')!r} and {path} predicts {other.get('target')!r}: "
                    "they do not add."
                )
            total.merge(load_classifier(path, changing=True))
            history += _history(other)
        save(total, out, notes={**notes, "history": history})
    _report(total, out, f"Merged {len(models)} models", {"models": len(models)}, json)


@contextmanager
def _changing(path: str, how: str) -> Iterator[None]:
    """From reading a model file to writing it again nobody else changes it: the second waits, and says for whom."""
    from tallybayes.io.file_lock import held

    def waiting(holder: str) -> None:
        output.note(f"{path} is being changed by {holder}; waiting until that is done. Ctrl-C stops waiting.")

    with held(path, f"tallybayes {how}", waiting):
        yield


def _history(notes: dict[str, object]) -> list[object]:
    found = notes.get("history")
    return list(found) if isinstance(found, list) else []


def _done(what: str, data: list[str], rows: int) -> dict[str, object]:
    return {"did": what, "files": list(data), "rows": rows}


def _report(model: TallyClassifier, path: str, what: str, facts: dict[str, object], as_json: bool) -> None:
    counts = dict(zip(map(str, model.classes_.tolist()), model.class_count_.tolist(), strict=True))
    shown = ", ".join(f"{label}: {n:,.10g}" for label, n in list(counts.items())[:10])
    more = f" and {len(counts) - 10} more" if len(counts) > 10 else ""
    holds = f"{path} holds a {type(model).__name__} of {model.n_features_in_} columns"
    text = f"{what}. {holds}; rows by class: {shown}{more}."
    output.show(text, {"model": path, "estimator": type(model).__name__, **facts, "class_count": counts}, as_json)
