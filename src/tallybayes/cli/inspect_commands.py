"""Commands that look at data and at models: compare, assumptions, inspect."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tallybayes.cli import options, output

if TYPE_CHECKING:
    from tallybayes.estimators.base import GenerativeClassifier


@output.answering_with_sklearn
@options.spread
def compare(
    data: options.Data,
    target: options.Target,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Number of folds.")] = 5,
    rows: options.Sampled = 100_000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the folds, and of the sample of rows.")] = 0,
    kind: options.Kinds = None,
    drop: options.Drop = None,
    skip_unlabelled: options.SkipUnlabelled = False,
    *,
    how: options.Reading,
    json: options.Json = False,
) -> None:
    """Cross-validates the models that suit a table and two baselines, and recommends one."""
    from tallybayes import compare_models
    from tallybayes.cli.input_tables import Asked, fresh_data
    from tallybayes.cli.parsing import read_kinds

    kinds = read_kinds(kind or [])
    with fresh_data(Asked(data, how, target, drop or [], skip_unlabelled), kinds) as source:
        X, y, seen = source.sample(rows, seed)
    found = compare_models(X, y, schema=_features(kinds, target), folds=folds, random_state=seed, verbose=True)
    drawn = f"\n{X.num_rows:,} of {seen:,} rows, drawn at random (--rows)." if seen > X.num_rows else ""
    output.show(found.text() + drawn, {"rows_in_data": seen, **found.to_dict()}, json)


@output.answering_with_sklearn
@options.spread
def assumptions(
    data: options.Data,
    target: options.Target,
    rows: options.Sampled = 100_000,
    kind: options.Kinds = None,
    drop: options.Drop = None,
    skip_unlabelled: options.SkipUnlabelled = False,
    *,
    how: options.Reading,
    json: options.Json = False,
) -> None:
    """Tests the assumptions of the models on a table: independence, normality, equal covariances."""
    from tallybayes.cli.input_tables import Asked, fresh_data
    from tallybayes.cli.parsing import read_kinds
    from tallybayes.evaluation import check_assumptions

    kinds = read_kinds(kind or [])
    with fresh_data(Asked(data, how, target, drop or [], skip_unlabelled), kinds) as source:
        X, y, seen = source.sample(rows)
    found = check_assumptions(X, y, schema=_features(kinds, target))
    drawn = f"\n{X.num_rows:,} of {seen:,} rows, drawn at random (--rows)." if seen > X.num_rows else ""
    output.show(found.text() + drawn, {"rows_in_data": seen, **found.to_dict()}, json)


def _features(kinds: dict[str, str], target: str) -> dict[str, str] | None:
    return {name: kind for name, kind in kinds.items() if name != target} or None


@output.answering
def inspect(
    model: options.ModelFile,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", "-c", help="Show the parameters of this column in each class. May be repeated."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Describes a model file: classifier, columns, classes, training data."""
    from tallybayes.io import load_classifier, load_notes

    found, notes = load_classifier(model), load_notes(model)
    if column:
        _require(found, column)
        descriptions = {name: found.describe(name) for name in column}
        output.show("\n\n".join(_described(name, descriptions[name]) for name in column), descriptions, json)
        return
    document = _contents(found, notes)
    output.show(_sheet(found, document), document, json)


def _require(model: GenerativeClassifier, columns: list[str]) -> None:
    from tallybayes.errors import TableError, did_you_mean, listing

    known = [model.schema_.name(j) for j in range(model.schema_.d)]
    for name in columns:
        if name not in known:
            raise TableError(
                f"There is no column {name!r} in the model. Columns: {listing(known)}.{did_you_mean(name, known)}"
            )


def _contents(model: GenerativeClassifier, notes: dict[str, object]) -> dict[str, object]:
    schema = model.schema_
    columns = []
    for j, kind in enumerate(schema.kinds):
        facts: dict[str, Any] = {"name": schema.name(j), "kind": kind}
        if j in schema.levels:
            facts["levels"] = list(schema.levels[j].labels)
        if j in schema.cuts:
            facts["cuts"] = schema.cuts[j].points.tolist()
        columns.append(facts)
    document = {
        "estimator": type(model).__name__,
        "parameters": {key: output.plain(value) for key, value in model.get_params(deep=False).items()},
        "target": notes.get("target"),
        "class_count": dict(zip(map(str, model.classes_.tolist()), model.class_count_.tolist(), strict=True)),
        "columns": columns,
        "history": notes.get("history", []),
    }
    if hasattr(model, "graph_"):  # networks: which column depends on which
        document["graph"] = {"parents": model.graph_.parents, "edges": model.graph_.edges}
    if hasattr(model, "weights_"):  # ensembles: what was counted, and the weight of each component
        document |= {"weights": model.weights_, "summary": model.summary()}
    return document


def _sheet(model: GenerativeClassifier, document: dict[str, Any]) -> str:
    usual = {k: p.default for k, p in signature(type(model)).parameters.items()}
    changed = {k: v for k, v in document["parameters"].items() if v != output.plain(usual[k])}
    options = ", ".join(f"{key}={value!r}" for key, value in changed.items())
    lines = [f"{document['estimator']}({options})"]
    if document["target"] is not None:
        lines.append(f"target: {document['target']}")
    total = sum(document["class_count"].values())
    lines.append("classes:")
    for label, n in document["class_count"].items():
        lines.append(f"  {label}: {n:,.10g} rows ({n / total:.1%})" if total else f"  {label}: no rows left")
    lines += ["columns:", *(f"  {line}" for line in str(model.schema_).splitlines())]
    if "graph" in document:
        lines += ["graph:", *(f"  {line}" for line in str(model.graph_).splitlines())]
    if "summary" in document:
        lines += ["what it did:", *(f"  {line}" if line else "" for line in document["summary"].splitlines())]
    if document["history"]:
        lines.append("trained on:")
        lines += [f"  {h['did']}: {h['rows']:,} rows of {', '.join(h['files'])}" for h in document["history"]]
    return "\n".join(lines)


def _described(name: str, descriptions: dict[object, dict[str, float]]) -> str:
    """One line per class; levels or parameters as they are called."""
    lines = [f"{name}:"]
    for label, facts in descriptions.items():
        said = ", ".join(f"{what} {value:.6g}" for what, value in facts.items())
        lines.append(f"  {label}: {said or 'nothing, no row had a value'}")
    return "\n".join(lines)
