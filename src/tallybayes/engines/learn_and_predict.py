"""plan, learn, answer: what the methods of the classifiers do with a source."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from tallybayes.data.labels import read_labels, union
from tallybayes.engines.recognise import open_source
from tallybayes.engines.source import ColumnRoles, RowSource
from tallybayes.engines.survey import Survey
from tallybayes.errors import OptionError, brief, is_number, listening
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.estimators.learning import schema_of
from tallybayes.estimators.row_memory import names_to_read
from tallybayes.estimators.state import with_fitted

Model = TypeVar("Model", bound=GenerativeClassifier)

SAMPLE_ROWS = 100_000  # rows that choices are made on
SAMPLE_PIECES = 16  # parts of a source that are looked at before learning, where it has parts


def plan(
    model: Model,
    source: object,
    target: str | Sequence[str],
    weight: str | None = None,
    columns: Sequence[str] | None = None,
    rows: int = SAMPLE_ROWS,
    pieces: int | None = None,
) -> Model:
    """An empty model with schema, levels, classes, cuts, structure and choices settled."""
    if not _whole(rows):
        raise OptionError(f"rows must be a whole number of at least 1; got {brief(rows)}.")
    if pieces is not None and not _whole(pieces):
        raise OptionError(f"pieces must be None or a whole number of at least 1; got {brief(pieces)}.")
    here, roles = resolve_columns(model, source, target, weight, columns, fresh=True)
    _read_twice(here, model)
    return choose_on_sample(model, here.survey(roles, int(rows), pieces), roles, to_send=True)


def choose_on_sample(model: Model, survey: Survey, roles: ColumnRoles, to_send: bool = False) -> Model:
    """What a model chooses on the rows of a survey, with the labels that it found, and no rows.

    to_send: models of it may leave the place of their rows, so no distribution is chosen that keeps values of rows.
    """
    X, y, w = roles.split(survey.sample)
    chosen = model.copy()
    if to_send:
        chosen._for_plan = True
    if isinstance(model.class_weight, Mapping):  # weights by label: some of the classes may be in other rows
        chosen.partial_fit(X, y, sample_weight=w)
    else:
        chosen.fit(X, y, w)
    chosen = chosen.empty()
    chosen.__dict__.pop("_for_plan", None)
    fitted = chosen.fitted_
    schema, names = fitted.schema, fitted.schema.names or ()
    levels = {}
    for j, name in enumerate(names):
        found = survey.labels.get(name)
        if j in schema.levels and found is not None:
            levels[j] = schema.levels[j].extend(found.to_pylist())
    if len(roles.target) == 1 and survey.labels.get(roles.target[0]) is not None and not fitted.classes_fixed:
        found = survey.labels[roles.target[0]]
        if found is not None and len(found):
            fitted = fitted.reclass(union(fitted.classes, read_labels(found, len(found))[1]))
    return with_fitted(chosen, replace(fitted, schema=schema.with_levels(levels)))


def learn(
    model: Model,
    source: object,
    target: str | Sequence[str],
    weight: str | None,
    columns: Sequence[str] | None,
    given: Model | None,
) -> Model:
    """A model of the rows of a source alone, counted as `model` counts, or as the given plan does."""
    fresh = not model.__sklearn_is_fitted__()
    if given is not None and not (fresh and type(given) is type(model)):
        what = "a model that has learned nothing yet" if not fresh else f"a plan of a {type(model).__name__}"
        raise OptionError(f"plan= goes with {what}; got {brief(given)}. model.plan(source, target) makes one.")
    here, roles = resolve_columns(given or model, source, target, weight, columns, fresh and given is None)
    with here.reading_once():
        base = (given or model) if given is not None or not fresh else _chosen(model, here, roles)
        here = here.with_model_types(base, roles)
        try:
            return here.count(base, roles)
        except BaseException as e:  # an interrupt too
            so_far = "" if here.rows_read is None else f" after {here.rows_read:,} rows"
            e.add_note(
                f"learn_from stopped{so_far} of {here.where}. The model is as it was before: learn_from learns all "
                "rows of a source or none, and cannot be resumed. To keep what is done, learn from parts, such as one "
                "file at a time."
            )
            raise


def _chosen(model: Model, here: RowSource, roles: ColumnRoles) -> Model:
    """A plan, made on the first rows, or on a sample where a model chooses something on rows."""
    first = here.head(roles)
    with listening():  # what there is to say of columns is said by the fit
        schema = schema_of(model, roles.split(first.sample)[0])
    if model._chooses_on_rows(schema):
        _read_twice(here, model)
        first = here.survey(roles, SAMPLE_ROWS, SAMPLE_PIECES)
    return choose_on_sample(model, first, roles)


def read_batches(
    model: GenerativeClassifier,
    source: object,
    target: str | Sequence[str],
    weight: str | None,
    columns: Sequence[str] | None,
) -> Iterator[tuple[object, object, object]]:
    """The rows of a source, with labels and weights, in batches, as a fitted model reads them."""
    here, roles = resolve_columns(model, source, target, weight, columns, fresh=False)
    here, rows = here.with_model_types(model, roles), 0
    for batch in here.read(roles.columns):
        if batch.num_rows:
            rows += batch.num_rows
            yield roles.split(batch)
    if not rows:
        raise here.no_rows()


def predict(
    model: GenerativeClassifier, source: object, to: str | os.PathLike[str] | None, keep: Sequence[str]
) -> object:
    """The answers for the rows of a source: written into a file, or given back as a reader of batches."""
    names = model.fitted_.schema.needed_names
    if getattr(model, "targets", None) is not None:
        raise OptionError("predict_to answers for one target; this network has several targets. Use predict.")
    here = open_source(source)
    keep = column_names("keep", keep)
    features = tuple(names if names is not None else (n for n in here.names if n not in {*keep, *here.index}))
    roles = ColumnRoles(features, keep=keep)
    here.require(roles.columns)
    made = {"prediction", *(f"proba_{label}" for label in model.classes_.tolist())}
    both = sorted(made & set(keep))
    if both:
        raise OptionError(f"The answer has a column {both[0]!r} of its own: it cannot keep one of that name.")
    if to is not None and any(_same_file(to, path) for path in here.files):
        raise OptionError(f"predict_to would overwrite {os.fspath(to)!r}, which it reads. Write into another file.")
    return here.with_model_types(model, roles).deliver(model, roles, to)


def _same_file(one: str | os.PathLike[str], other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them is not there yet
        return False


def resolve_columns(
    model: GenerativeClassifier,
    source: object,
    target: str | Sequence[str],
    weight: str | None,
    columns: Sequence[str] | None,
    fresh: bool,
) -> tuple[RowSource, ColumnRoles]:
    """The source, and which of its columns are what. Every way to learn from a source passes here."""
    model._check_options()
    if model.half_life is not None:
        raise OptionError(
            "Rows that fade (half_life) are learned in their order, and rows counted in parts or by a database have "
            "none. Learn them with fit, partial_fit or learn_one, or set half_life=None."
        )
    here = open_source(source)
    targets = column_names("target", target)
    if not targets:
        raise OptionError("target must be the name of a column; got an empty list.")
    here.require([*targets, *([] if weight is None else [weight])])
    known = None if fresh else model.fitted_.schema.needed_names
    read = None if fresh else names_to_read(model, here.names)
    if fresh:
        kinds = getattr(model, "schema", {}) if hasattr(model, "schema") else None
        here = here.with_declared_kinds(kinds if kinds is None or isinstance(kinds, Mapping) else {}, targets)
    features = _features(here, read, {*targets, weight}, columns)
    if known is not None and not set(known) <= set(features) <= set(model.fitted_.schema.input_names or ()):
        raise OptionError(f"The model has learned the columns {brief(list(known))}; columns= says others.")
    return here, ColumnRoles(features, targets, weight)


def _features(
    here: RowSource, known: tuple[str, ...] | None, others: set[str | None], columns: Sequence[str] | None
) -> tuple[str, ...]:
    """The columns that are features. known: those that the model reads; others: the targets and the weight."""
    rest = known or tuple(name for name in here.names if name not in others | here.index)
    features = rest if columns is None else column_names("columns", columns)
    here.require(features)
    both = [name for name in features if name in others]
    if both:
        raise OptionError(f"{both[0]!r} is both a feature and the target or the weight. Leave it out of columns=.")
    if not features:
        raise OptionError(f"There is no column besides {brief(list(others - {None}))} in {here.where}: no feature.")
    return features


def column_names(what: str, names: object) -> tuple[str, ...]:
    """Names of columns, as they are given: one, or several."""
    several = isinstance(names, Iterable) and not isinstance(names, str) and getattr(names, "ndim", 1) > 0
    given: list[object] = list(names) if several else [names]  # type: ignore[call-overload]
    labels = " (The labels themselves, one for each row, go to fit(X, y).)" if what == "target" and several else ""
    found = tuple(name for name in given if isinstance(name, str))
    if len(found) < len(given):
        raise OptionError(f"{what} must be the name of a column, or a list of names; got {brief(names)}.{labels}")
    twice = next((name for name in found if found.count(name) > 1), None)
    if twice is not None:
        raise OptionError(f"{what} names the column {brief(twice)} more than once.{labels}")
    return found


def _whole(value: object) -> bool:
    return is_number(value) and value >= 1 and value == int(value)  # type: ignore[operator, call-overload]


def _read_twice(source: RowSource, model: GenerativeClassifier) -> None:
    if source.once:
        raise OptionError(
            f"{type(model).__name__} chooses cuts, distributions or a structure on rows before it counts them, and "
            f"{source.where} can be read only once. Give plan=model.plan(a sample, target), or a source "
            "that can be read again, such as a file."
        )
