"""Commands that ask a model: predict, evaluate, explain, sample."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tallybayes.cli import options, output

if TYPE_CHECKING:
    from tallybayes.estimators.base import GenerativeClassifier


@output.answering
@options.spread
def predict(
    model: options.ModelFile,
    data: options.Data,
    proba: Annotated[bool, typer.Option("--proba", help="Also write the probability of each class.")] = False,
    loss: Annotated[
        str | None,
        typer.Option(
            "--loss",
            metavar="FILE",
            help="A table of losses: a row for each decision (its name in the first cell), a column for each true "
            "class. The prediction is then the decision with the lowest expected loss.",
        ),
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option("--prior", help="Another class prior: uniform, or no=0.9,yes=0.1, or 0.9,0.1."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="COLUMN", help="A column to copy beside the predictions. May be repeated."),
    ] = None,
    out: options.Out = None,
    *,
    how: options.Batches,
    json: options.Json = False,
) -> None:
    """Predicts the class of each row, as a table with the column 'prediction'.

    Columns are matched by name; unknown columns are ignored. With --json: one JSON object per line.
    """
    import pyarrow as pa

    from tallybayes.cli.input_tables import Asked, known_data
    from tallybayes.cli.table_writer import write_tables

    known = _under(prior, model)
    answer = _answers(known, loss, model)
    shares = {f"P({label})": k for k, label in enumerate(known.classes_.tolist())} if proba else {}
    twice = {"prediction", *shares}.intersection(keep or [])
    if twice:
        raise typer.BadParameter(f"{min(twice)!r} is the name of a column of predictions.", param_hint="--keep")

    def ask(X: object, _: object) -> pa.Table:
        P = known.predict_proba(X) if proba else None
        columns = {name: source.kept.column(name) for name in keep or []}
        columns["prediction"] = pa.array(answer(X).tolist())
        return pa.table(columns | {name: pa.array(P[:, k]) for name, k in shares.items() if P is not None})

    with known_data(Asked(data, how, keep=keep or []), known) as source:
        write_tables(source.map("answering", ask), out, json)


def _under(prior: str | None, path: str) -> Any:
    """The model, under another prior if one is given."""
    from tallybayes.cli.parsing import read_prior
    from tallybayes.io import load_classifier

    model = load_classifier(path)
    found = read_prior(prior, model.classes_.tolist())
    return model if found is None else model.with_prior(found)


def _answers(model: GenerativeClassifier, loss: str | None, path: str) -> Any:
    """What gives the answers: the model, or the cheapest answer under a table of costs, or under those of its file."""
    if loss is None:
        from tallybayes import load
        from tallybayes.io.decision_documents import decision_of

        decision = decision_of(load(path))
        return model.predict if decision is None else decision.restore(model).predict
    from tallybayes.cli.parsing import read_loss
    from tallybayes.decision import Losses, check_proba
    from tallybayes.estimators import loss as losses

    matrix, answers = losses.read_loss(read_loss(loss, model.classes_.tolist()), None, model.classes_)
    labels = losses.label_array(answers, model.classes_)
    return lambda X: labels[Losses(matrix).chosen(check_proba(model.predict_proba(X)), None)]


@output.answering
@options.spread
def evaluate(
    model: options.ModelFile,
    data: options.Data,
    target: options.KnownTarget = None,
    prior: Annotated[str | None, typer.Option("--prior", help="Another class prior; see predict.")] = None,
    skip_unlabelled: options.SkipUnlabelled = False,
    *,
    how: options.Batches,
    json: options.Json = False,
) -> None:
    """Evaluates a model on labelled rows: accuracy, log-loss, Brier score, calibration error, confusion matrix.

    Use rows that the model has not learned: on learned rows the scores are too good.
    """
    from tallybayes.cli.input_tables import Asked, known_data, target_of
    from tallybayes.evaluation.labelled_rows import Evaluation
    from tallybayes.io import load_notes

    known = _under(prior, model)
    total = Evaluation.none(known.classes_)
    target = target_of(target, load_notes(model))
    with known_data(Asked(data, how, target, skip_unlabelled=skip_unlabelled), known) as source:
        for part in source.map("asking", lambda X, y: Evaluation.of(known, X, y)):
            total = total + part
    output.show(total.text(), total.to_dict(), json)


@output.answering
@options.spread
def explain(
    model: options.ModelFile,
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DATA...]", help="Rows to explain. Without rows, columns are ranked.", show_default=False
        ),
    ] = None,
    against: Annotated[
        str | None, typer.Option("--against", metavar="CLASS", help="The alternative class.  [default: all others]")
    ] = None,
    rows: Annotated[int, typer.Option("--rows", min=1, help="Maximum number of rows: the first.")] = 10,
    most: Annotated[int, typer.Option("--most", min=1, help="Maximum number of columns for and against.")] = 5,
    prior: Annotated[str | None, typer.Option("--prior", help="Another class prior; see predict.")] = None,
    *,
    how: options.Reading,
    json: options.Json = False,
) -> None:
    """Lists the evidence of each column for a prediction; without rows, ranks columns by information."""
    from tallybayes.cli.input_tables import Asked, known_data
    from tallybayes.cli.parsing import label_of

    known = _under(prior, model)
    if not data:
        ranking = known.explain()
        output.show(ranking.text(), _lines(ranking), json)
        return
    rival = None if against is None else label_of(against, known.classes_.tolist(), "--against")
    with known_data(Asked(data, how, rows=rows), known) as source:
        found = next(source.map("explaining", lambda X, _: known.explain(X, against=rival)))
    text = "\n".join(f"Row {i + 1}: {found.text(i, most=most)}" for i in range(len(found)))
    output.show(text, _lines(found), json)


def _lines(found: Any) -> list[dict[str, Any]]:
    """A frame as a list of dicts, for JSON."""
    columns = {name: output.plain(values) for name, values in found.frame("dict").items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@output.answering
def sample(
    model: options.ModelFile,
    n: Annotated[int, typer.Option("-n", "--rows", min=1, help="Number of rows.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="The same seed gives the same rows.")] = 0,
    given: Annotated[
        str | None,
        typer.Option("--class", metavar="CLASS", help="Rows of this class only.  [default: all, by the class prior]"),
    ] = None,
    prior: Annotated[str | None, typer.Option("--prior", help="Another class prior; see predict.")] = None,
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Samples rows from the model, as a table of its columns and the target."""
    from tallybayes.cli.parsing import label_of
    from tallybayes.cli.table_writer import write_tables
    from tallybayes.io import load_notes

    known = _under(prior, model)
    label = None if given is None else label_of(given, known.classes_.tolist(), "--class")
    target = load_notes(model).get("target", "class")
    write_tables(_drawn(known, n, label, seed, str(target)), out, json)


def _drawn(model: GenerativeClassifier, n: int, label: Any, seed: int, target: str) -> Iterator[Any]:
    """In batches, the first of which is what model.sample(n, random_state=seed) gives."""
    from dataclasses import replace

    import numpy as np
    import pyarrow as pa

    from tallybayes.cli.table_files import batch_rows
    from tallybayes.estimators.state import with_fitted

    names = tuple(model.schema_.name(j) for j in range(model.schema_.d))
    fitted = model.fitted_
    model = with_fitted(model, replace(fitted, schema=replace(fitted.schema, container="pyarrow", names=names)))
    random, most = np.random.RandomState(seed), batch_rows(len(names))
    for start in range(0, n, most):
        X, y = model.sample(min(most, n - start), label, random)
        yield X.append_column(target, pa.array(y.tolist()))
