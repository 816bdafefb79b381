"""Commands that make and change model files: fit, learn, forget, merge."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tallybayes.cli import options, output

if TYPE_CHECKING:
    from tallybayes.cli.input_tables import Asked
    from tallybayes.estimators.base import GenerativeClassifier
    from tallybayes.receipts import Receipt, RecordedForgetting


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
    """Fits a model to a table and writes it to a model file.

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
            "they stand for missing values, say --missing."
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
    """Adds rows to a model file.

    If a row is refused, no row is learned and the model file is unchanged.
    """
    from tallybayes.cli.input_tables import Asked

    _change("learn", model, Asked(data, how, target, skip_unlabelled=skip_unlabelled), out, json)


@output.answering
@options.spread
def forget(
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help="A model file; optional with --verify.", show_default=False),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DATA...",
            help="The rows to forget, in files as for learn. With --verify: rows to find among those removed; needs a "
            "receipt that has the key of its hashes.",
            show_default=False,
        ),
    ] = None,
    target: options.KnownTarget = None,
    out: options.InPlace = None,
    skip_unlabelled: options.SkipUnlabelled = False,
    receipt: Annotated[
        str | None,
        typer.Option("--receipt", metavar="FILE", help="Write a deletion receipt into this file, as JSON."),
    ] = None,
    receipt_key: Annotated[
        bool,
        typer.Option(
            "--receipt-key",
            help="Include the key of the row hashes in the receipt. With it anyone who has a row, or guesses one, can "
            "check whether it was removed.",
        ),
    ] = False,
    sign: Annotated[
        str | None,
        typer.Option("--sign", metavar="KEY", help="Sign the receipt with this Ed25519 private key, a PEM file."),
    ] = None,
    verify: Annotated[
        str | None,
        typer.Option("--verify", metavar="RECEIPT", help="Verify this receipt and forget nothing."),
    ] = None,
    public_key: Annotated[
        str | None,
        typer.Option(
            "--public-key",
            metavar="KEY",
            help="With --verify: the Ed25519 public key that it must be signed with, a PEM file or 64 hexadecimal "
            "digits.",
        ),
    ] = None,
    *,
    how: options.Batches,
    json: options.Json = False,
) -> None:
    """Removes rows from the statistics of a model, with a deletion receipt on request; or verifies a receipt.

    Rows that were never learned are refused where the counts show it, and the model file is then unchanged. The receipt
    lists the choices that were made with the rows and stay, and how to make them again.
    """
    from tallybayes.cli.input_tables import Asked

    if verify is not None:
        if receipt or receipt_key or sign or out:
            raise typer.BadParameter("it checks a receipt and writes none.", param_hint="--verify")
        _verify(verify, model, Asked(data or [], how, target, skip_unlabelled=skip_unlabelled), public_key, json)
        return
    if model is None or not data:
        raise typer.BadParameter("a model file and rows are needed.", param_hint="MODEL DATA...")
    if public_key is not None:
        raise typer.BadParameter("it goes with --verify.", param_hint="--public-key")
    if receipt is None and (receipt_key or sign):
        raise typer.BadParameter("say --receipt FILE too.", param_hint="--sign" if sign else "--receipt-key")
    wanted = None if receipt is None else Wanted(receipt, receipt_key, sign)
    _change("forget", model, Asked(data, how, target, skip_unlabelled=skip_unlabelled), out, json, wanted)


@dataclass(frozen=True)
class Wanted:
    """The receipt that is asked for: where it goes, whether with the key of its hashes, and who signs it."""

    path: str
    key: bool
    sign: str | None


def _verify(path: str, model_path: str | None, asked: Asked, public_key: str | None, json: bool) -> None:
    from pathlib import Path

    from tallybayes.cli.input_tables import known_data, target_of
    from tallybayes.errors import ReceiptError
    from tallybayes.io import load_classifier, load_notes
    from tallybayes.receipts import Receipt

    found = Receipt.from_json(Path(path).read_bytes())
    model = None if model_path is None else load_classifier(model_path)
    problems = found.problems(model, public_key=public_key)
    if model is not None and model_path is not None and asked.paths:
        target = target_of(asked.target, load_notes(model_path))
        with known_data(replace(asked, target=target), model) as source:
            for X, y in source.map("reading", lambda X, y: (X, y)):
                if not found.covers(model, X, y):
                    problems.append("Not all of these rows are among those removed.")
                    break
    if problems:
        raise ReceiptError(f"{path}: {' '.join(problems)}")
    who = "not signed" if found.signature is None else f"signed with the key {found.public_key}"
    given = "" if public_key is not None or found.signature is None else " (say --public-key to check whose it is)"
    about = "" if model is None else " The model is the one after it."
    text = (
        f"{path} is sound: {len(found.hashes):,} rows removed from a {found.estimator} at {found.time}, {who}{given}."
        f"{about} {found.guarantee}"
    )
    facts = {"rows": len(found.hashes), "time": found.time, "public_key": found.public_key, "residue": found.residue}
    output.show(text, {"receipt": path, "estimator": found.estimator, **facts}, json)


def _change(how: str, path: str, asked: Asked, out: str | None, json: bool, wanted: Wanted | None = None) -> None:
    from tallybayes import save
    from tallybayes.cli.input_tables import known_data, target_of
    from tallybayes.errors import ForgetError
    from tallybayes.io import load_classifier, load_notes

    with _changing(out or path, how):
        model, notes = load_classifier(path, changing=True), load_notes(path)
        target = target_of(asked.target, notes)
        recorded = None if wanted is None else _recorded(model, wanted)
        forget = model.forget if recorded is None else recorded.forget
        doing, step = ("learning", model.partial_fit) if how == "learn" else ("forgetting", forget)
        with known_data(replace(asked, target=target), model) as source:
            for _ in source.map(doing, step):
                pass
            rows = source.used
        if not model.class_count_.sum() > 0:
            raise ForgetError(
                f"Forgetting these {rows:,} rows would leave no rows: delete the file, or learn other rows first."
            )
        history = [*_history(notes), _done(how, asked.paths, rows)]
        notes = {**notes, "target": target, "history": history}
        if recorded is None or wanted is None:
            save(model, out or path, notes=notes)
        else:
            made = recorded.receipt(sign=wanted.sign)
            save(model, out or path, notes=notes)
            _write_receipt(made, wanted)
    did = "Learned" if how == "learn" else "Forgot"
    facts: dict[str, object] = {"rows": rows, **({} if wanted is None else {"receipt": wanted.path})}
    _report(model, out or path, f"{did} {rows:,} rows", facts, json)


def _write_receipt(made: Receipt, wanted: Wanted) -> None:
    from tallybayes.io import atomic_files

    atomic_files.write(wanted.path, [made.to_json(key=wanted.key).encode("utf-8", "backslashreplace")])


def _recorded(model: GenerativeClassifier, wanted: Wanted) -> RecordedForgetting:
    """What forgets and takes notes; a key that is none is refused while nothing is changed."""
    from tallybayes.receipts import RecordedForgetting, load_key

    if wanted.sign is not None:
        load_key(wanted.sign)
    return RecordedForgetting(model)


@output.answering
def merge(
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL...", help="Two or more model files.", show_default=False)
    ],
    out: options.OutModel,
    json: options.Json = False,
) -> None:
    """Merges models by adding their statistics."""
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


def _report(model: GenerativeClassifier, path: str, what: str, facts: dict[str, object], as_json: bool) -> None:
    counts = dict(zip(map(str, model.classes_.tolist()), model.class_count_.tolist(), strict=True))
    shown = ", ".join(f"{label}: {n:,.10g}" for label, n in list(counts.items())[:10])
    more = f" and {len(counts) - 10} more" if len(counts) > 10 else ""
    d = model.n_features_in_
    holds = f"{path} holds a {type(model).__name__} of {d:,} column{'s' if d != 1 else ''}"
    text = f"{what}. {holds}; rows by class: {shown}{more}."
    output.show(text, {"model": path, "estimator": type(model).__name__, **facts, "class_count": counts}, as_json)
