"""A fitted model ↔ a document of JSON values and arrays.

Stored are the parameters given to the estimator, the schema, the groups of columns with their distributions, and the
tally. What follows from these (means, log probabilities, factors of covariances) is estimated again when first asked
for, by the code that estimated it before: the same bits.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import tallybayes
from tallybayes.data.labels import is_label, sort_labels
from tallybayes.data.schema import Schema
from tallybayes.distributions import Distribution
from tallybayes.distributions.base import statistics_from
from tallybayes.distributions.statistics import arrays_of
from tallybayes.errors import ModelFileError, OptionError
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.io.decision_documents import NAME as DECISION
from tallybayes.io.decision_documents import classifier_inside, decision_of, read_decision, write_decision
from tallybayes.io.json_checks import Json, bounded, fields, index, items, mapping
from tallybayes.io.stream_documents import NAME as STREAM
from tallybayes.io.stream_documents import read_stream_learner, stream_learner_of, write_stream_learner
from tallybayes.io.value_reader import ValueReader
from tallybayes.io.value_writer import Writer
from tallybayes.model.fitted import Fitted
from tallybayes.model.priors import plain
from tallybayes.model.term import Term
from tallybayes.utils.array_types import Array

if TYPE_CHECKING:
    from tallybayes.estimators.bayes_decision import BayesDecision
    from tallybayes.estimators.streaming_bayes import StreamingBayes

PRIORS = ("priors", "class_prior")  # parameters that may be tables with labels: stored as dicts
MOST_WEIGHT = 1e300  # of a class: sums of some of these are still finite


def estimator(name: object) -> type[GenerativeClassifier] | None:
    """The public estimator of this name. No other class is ever made from a file, and no other is imported for it."""
    found = getattr(tallybayes, name) if isinstance(name, str) and name in tallybayes.__all__ else None
    return found if isinstance(found, type) and issubclass(found, GenerativeClassifier) else None


def to_document(model: object, notes: Mapping[str, object]) -> tuple[dict[str, Json], list[Array]]:
    """Header and arrays of a model that a file can hold."""
    writer, decision, streaming = Writer(), decision_of(model), stream_learner_of(model)
    if streaming is not None:
        document = write_stream_learner(streaming, writer)
    else:
        document = _document(model if decision is None else classifier_inside(decision), writer)
    header: dict[str, Json] = {
        "tallybayes": tallybayes.__version__,
        "distributions": writer.distributions,
        "model": document if decision is None else write_decision(decision, writer, document),
        "notes": {str(k): writer.value(v, f"The note {k!r}") for k, v in notes.items()},
    }
    try:
        from_document(header, writer.arrays)  # what is written can be read
    except ModelFileError as e:
        raise ModelFileError(f"This {type(model).__name__} cannot be saved. {bounded(e)}") from e.__cause__
    return header, writer.arrays


def _document(model: object, writer: Writer) -> dict[str, Json]:
    name = type(model).__name__
    if name == "SemiSupervised":
        raise OptionError(
            "A SemiSupervised has no model file of its own. Save the classifier that it has fitted, which predicts "
            "the same: save(model.estimator_, path). Steps and likelihoods of EM are kept by pickle only."
        )
    if not isinstance(model, GenerativeClassifier) or estimator(name) is not type(model):
        raise OptionError(
            f"save takes an estimator of tallybayes; got {name}. Pipelines and classes of your own can be pickled, or "
            "saved with joblib or skops."
        )
    fitted = model.fitted_
    if fitted.K == 0:
        raise ModelFileError(
            f"This {name} has forgotten every row it learned, so there is nothing to save. Delete the file, or learn "
            "other rows first."
        )
    given = model.get_params(deep=False)
    given |= {k: plain(v) for k, v in given.items() if k in PRIORS}
    return {
        "class": name,
        "parameters": {k: writer.value(v, f"The parameter {k!r} of {name}") for k, v in given.items()},
        "schema": writer.schema(fitted.schema),
        "groups": [
            {**mapping(writer.value(t.distribution, name), "a distribution"), "columns": list(t.columns)}
            for t in fitted.terms
        ],
        "classes": _write_classes(fitted.classes, writer),
        "weight": writer.array(fitted.weight, "The tally"),
        "stats": [
            {key: writer.array(a, f"The tally's {key!r}") for key, a in arrays_of(t.statistics).items()}
            for t in fitted.terms
        ],
        "closed": fitted.classes_fixed,
        "attributes": {
            k: writer.value(v, f"The attribute {k!r} of {name}") for k, v in model._extra_attributes().items()
        },
    }


def _write_classes(classes: Array, writer: Writer) -> Json:
    for label in classes.tolist():
        writer.label(label, "The target")
    return writer.array(classes, "The target")


def from_document(
    header: dict[str, Json], arrays: list[Array]
) -> tuple[GenerativeClassifier | BayesDecision | StreamingBayes, dict[str, Any]]:
    """The model, and the notes; whatever the document is, or ModelFileError."""
    with _all_its_fault():
        _, listed, document, notes = fields(header, "Its header", "tallybayes", "distributions", "model", "notes")
        decides = isinstance(document, dict) and document.get("class") == DECISION
        inside = document.get("estimator") if decides and isinstance(document, dict) else document
        if isinstance(inside, dict):
            estimator(inside.get("class"))  # imported first: its module brings the distributions that only it uses
        reader = ValueReader(arrays, listed)
        model: GenerativeClassifier | BayesDecision | StreamingBayes
        if isinstance(document, dict) and document.get("class") == STREAM:
            model = read_stream_learner(document, reader)
        else:
            model = read_decision(document, reader, _read_model) if decides else _read_model(document, reader)
        found = {k: reader.value(v, f"The note {k!r:.60}") for k, v in mapping(notes, "notes").items()}
        reader.done()
        return model, found


def _read_model(document: Json, reader: ValueReader) -> GenerativeClassifier:
    name, given, schema_, groups_, classes_, weight, stats, closed, others = fields(
        document, "The model", "class", "parameters", "schema", "groups", "classes", "weight", "stats", "closed",
        "attributes",
    )  # fmt: skip
    cls = estimator(name)
    if cls is None:
        raise ModelFileError(f"It holds a {name!r:.60}, which is no estimator of this version of tallybayes.")
    parameters = {k: reader.value(v, f"The parameter {k!r:.60}") for k, v in mapping(given, "parameters").items()}
    unknown = sorted(set(parameters) - set(cls._get_param_names()))
    if unknown:
        raise ModelFileError(f"{name} has no parameter {unknown[0]!r:.60} in this version of tallybayes.")
    if not isinstance(closed, bool):
        raise ModelFileError("'closed' is neither true nor false.")
    schema = reader.schema(schema_)
    terms = _read_terms(items(groups_, "groups"), items(stats, "stats"), schema, reader)
    fitted = Fitted(schema, reader.value(classes_, "classes"), reader.numbers(weight, "weight"), terms, closed)
    kept = {k: reader.value(v, f"The attribute {k!r:.60}") for k, v in mapping(others, "attributes").items()}
    _check_classes(fitted)
    model = cls(**parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say was said at the fit
        again = model._restore(fitted, kept)
        for term in (*fitted.terms, *again.terms):  # what counted it, and what will count the next rows
            _check_sums(term, fitted)
    return model


def _read_terms(groups: list[Json], tallies: list[Json], schema: Schema, reader: ValueReader) -> tuple[Term, ...]:
    planned = []
    for group in groups:
        which, columns = fields(group, "A group", "distribution", "columns")
        place = tuple(index(c, schema.d, "A column of a group") for c in items(columns, "columns"))
        planned.append(Term(reader.value({"distribution": which}, "A group"), place))
    if sorted(j for t in planned for j in t.columns) != list(range(schema.d)) or not all(t.columns for t in planned):
        raise ModelFileError("Its groups do not have each column once.")
    if len(tallies) != len(planned):
        raise ModelFileError(f"It has {len(planned)} groups of columns and {len(tallies)} tallies.")
    return tuple(_with_statistics(term, held, reader) for term, held in zip(planned, tallies, strict=True))


def _with_statistics(term: Term, held: Json, reader: ValueReader) -> Term:
    arrays = {key: reader.numbers(a, f"the tally's {key!r:.40}") for key, a in mapping(held, "stats").items()}
    with _no_tally(term.distribution):
        return replace(term, statistics=statistics_from(term.distribution, arrays))


def _check_classes(fitted: Fitted) -> None:
    classes, weight = fitted.classes, fitted.weight
    labels = classes.tolist() if isinstance(classes, np.ndarray) and classes.ndim == 1 else []
    if not labels or not all(map(is_label, labels)):
        raise ModelFileError("Its classes are not labels.")
    if sort_labels(labels) != list(range(len(labels))) or len(set(labels)) < len(labels):
        raise ModelFileError("Its classes are not a sorted list of different labels.")
    if weight.dtype != np.float64 or weight.shape != (fitted.K,):
        raise ModelFileError("It does not have one weight for each class.")
    if not ((weight >= 0) & (weight <= MOST_WEIGHT)).all():
        raise ModelFileError(f"The weights of its classes are not numbers from 0 to {MOST_WEIGHT:g}.")


def _check_sums(term: Term, fitted: Fitted) -> None:
    d = term.distribution
    if d.needs == "cuts" and not all(j in fitted.schema.cuts for j in term.columns):
        raise ModelFileError(f"A column of the distribution {d.name!r} has no cuts.")
    with _no_tally(d):
        d.check(term.statistics, fitted.context(term))


@contextmanager
def _no_tally(d: Distribution) -> Iterator[None]:
    try:
        yield
    except ValueError as e:
        raise ModelFileError(f"The tally of {d.name!r} is not one: {e}.") from None


@contextmanager
def _all_its_fault() -> Iterator[None]:
    """Whatever goes wrong with a file's contents is one kind of error."""
    try:
        yield
    except ModelFileError:
        raise
    except Exception as e:
        text = bounded(e)
        raise ModelFileError(f"It is not a valid model: {text}") from (e if text == str(e) else None)
