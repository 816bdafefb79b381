"""A fitted model ↔ a document of JSON values and arrays.

Stored are the parameters given to the estimator, the schema, the groups of columns with their distributions, and the
tally. What follows from these (means, log probabilities, factors of covariances) is estimated again when first asked
for, by the code that estimated it before: the same bits.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tallybayes
from tallybayes.distributions.base import Stats
from tallybayes.distributions.records import arrays_of
from tallybayes.errors import ModelFileError, OptionError
from tallybayes.estimators.base import TallyClassifier
from tallybayes.labels import sort_labels
from tallybayes.parameters import context_of, log_prior
from tallybayes.persist.forms import Json, fields, index, items, mapping
from tallybayes.persist.reading import Reader
from tallybayes.persist.writing import Writer, is_label
from tallybayes.plan import Group, same_shape
from tallybayes.priors import plain
from tallybayes.schema import Schema
from tallybayes.tally import Tally

Array = NDArray[Any]

HELD = frozenset(
    ("schema_", "_groups", "_tally", "_closed", "_model", "_door", "classes_", "n_features_in_", "feature_names_in_")
)
# scikit-learn's objects for routing; what was said of each row learned
NOT_STORED = frozenset(("_metadata_request", "loo_log_proba_", "loo_score_"))

PRIORS = ("priors", "class_prior")  # parameters that may be tables with labels: stored as dicts
HEAVY = 1e300  # of a class: sums of some of these are still finite


def estimator(name: object) -> type[TallyClassifier] | None:
    """The public estimator of this name. No other class is ever made from a file, and no other is imported for it."""
    found = getattr(tallybayes, name) if isinstance(name, str) and name in tallybayes.__all__ else None
    return found if isinstance(found, type) and issubclass(found, TallyClassifier) else None


def to_document(model: Any, notes: Mapping[str, Any]) -> tuple[dict[str, Json], list[Array]]:
    """Header and arrays of a model that a file can hold."""
    name = type(model).__name__
    if not isinstance(model, TallyClassifier) or estimator(name) is not type(model):
        raise OptionError(
            f"save takes an estimator of tallybayes; got {name}. Pipelines and classes of your own can be pickled, or "
            "saved with joblib or skops."
        )
    model._require_fit()
    t = model._tally
    if t.K == 0:
        raise ModelFileError(
            f"This {name} has forgotten every row it learned, so there is nothing to save. Delete the file, or learn "
            "other rows first."
        )
    writer = Writer()
    given = model.get_params(deep=False)
    given |= {k: plain(v) for k, v in given.items() if k in PRIORS}
    others = {k: v for k, v in vars(model).items() if k not in given and k not in HELD | NOT_STORED}
    document = {
        "class": name,
        "parameters": {k: writer.value(v, f"The parameter {k!r} of {name}") for k, v in given.items()},
        "schema": writer.schema(model.schema_),
        "groups": [
            {"distribution": writer.value(g.distribution, name)["distribution"], "columns": list(g.columns)}
            for g in model._groups
        ],
        "classes": _write_classes(t.classes, writer),
        "weight": writer.array(t.weight, "The tally"),
        "stats": [{key: writer.array(a, f"The tally's {key!r}") for key, a in arrays_of(s).items()} for s in t.stats],
        "closed": model._closed,
        "attributes": {k: writer.value(v, f"The attribute {k!r} of {name}") for k, v in others.items()},
    }
    header = {
        "tallybayes": tallybayes.__version__,
        "distributions": writer.distributions,
        "model": document,
        "notes": {str(k): writer.value(v, f"The note {k!r}") for k, v in notes.items()},
    }
    try:
        from_document(header, writer.arrays)  # what is written can be read
    except ModelFileError as e:
        raise ModelFileError(f"This {name} cannot be saved. {e}") from e.__cause__
    return header, writer.arrays


def _write_classes(classes: Array, writer: Writer) -> Json:
    for label in classes.tolist():
        writer.label(label, "The target")
    return writer.array(classes, "The target")


def from_document(header: dict[str, Json], arrays: list[Array]) -> tuple[TallyClassifier, dict[str, Any]]:
    """The model, and the notes; whatever the document is, or ModelFileError."""
    with _all_its_fault():
        _, listed, document, notes = fields(header, "Its header", "tallybayes", "distributions", "model", "notes")
        if isinstance(document, dict):
            estimator(document.get("class"))  # imported first: its module brings the distributions that only it uses
        reader = Reader(arrays, listed)
        model = _read_model(document, reader)
        found = {k: reader.value(v, f"The note {k!r:.60}") for k, v in mapping(notes, "notes").items()}
        reader.done()
        return model, found


def _read_model(document: Json, reader: Reader) -> TallyClassifier:
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
    model = cls(**parameters)
    schema = reader.schema(schema_)
    groups = tuple(_read_group(g, schema, reader) for g in items(groups_, "groups"))
    total = Tally(
        reader.value(classes_, "classes"),
        reader.numbers(weight, "weight"),
        _read_stats(groups, items(stats, "stats"), reader),
    )
    if not isinstance(closed, bool):
        raise ModelFileError("'closed' is neither true nor false.")
    for key, value in mapping(others, "attributes").items():
        if key in HELD or hasattr(cls, key) or key in vars(model) or not key.isidentifier() or key.startswith("__"):
            raise ModelFileError(f"{name} cannot have the attribute {key!r:.60}.")
        setattr(model, key, reader.value(value, f"The attribute {key!r}"))
    model._check_held(total)
    check(model, schema, groups, total)
    model._hold(schema, groups, total, closed)
    return model


def _read_group(j: Json, schema: Schema, reader: Reader) -> Group:
    which, columns = fields(j, "A group", "distribution", "columns")
    d = reader.value({"distribution": which}, "A group")
    return Group(d, tuple(index(c, schema.d, "A column of a group") for c in items(columns, "columns")))


def _read_stats(groups: tuple[Group, ...], stats: list[Json], reader: Reader) -> tuple[Any, ...]:
    if len(stats) != len(groups):
        raise ModelFileError(f"It has {len(groups)} groups of columns and {len(stats)} tallies.")
    found = []
    for group, s in zip(groups, stats, strict=True):
        arrays = {key: reader.numbers(a, f"the tally's {key!r:.40}") for key, a in mapping(s, "stats").items()}
        with _no_tally(group):
            found.append(group.distribution.sums_of(arrays))
    return tuple(found)


def check(model: TallyClassifier, schema: Schema, groups: tuple[Group, ...], t: Tally) -> None:
    """Raises an error if the parts do not fit together, or are what no table can have led to."""
    labels = t.classes.tolist() if isinstance(t.classes, np.ndarray) and t.classes.ndim == 1 else []
    if not labels or not all(map(is_label, labels)):
        raise ModelFileError("Its classes are not labels.")
    if sort_labels(labels) != list(range(len(labels))) or len(set(labels)) < len(labels):
        raise ModelFileError("Its classes are not a sorted list of different labels.")
    if t.weight.dtype != np.float64 or t.weight.shape != (t.K,):
        raise ModelFileError("It does not have one weight for each class.")
    if not ((t.weight >= 0) & (t.weight <= HEAVY)).all():
        raise ModelFileError(f"The weights of its classes are not numbers from 0 to {HEAVY:g}.")
    if sorted(j for g in groups for j in g.columns) != list(range(schema.d)) or not all(g.columns for g in groups):
        raise ModelFileError("Its groups do not have each column once.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say was said at the fit
        model._check_options()
        again = model._choose_again(schema, groups)
        if not same_shape(again, groups):
            raise ModelFileError("Its parameters ask for other distributions than those it was fitted with.")
        for s, *both in zip(t.stats, groups, again, strict=True):
            for group in both:  # what counted it, and what the next rows will be counted with
                _check_stats(group, s, t, schema)
        if t.weight.sum() > 0:
            log_prior(t, model._prior())


def _check_stats(group: Group, s: Stats, t: Tally, schema: Schema) -> None:
    name = group.distribution.name
    if group.distribution.needs == "cuts" and not all(j in schema.cuts for j in group.columns):
        raise ModelFileError(f"A column of the distribution {name!r} has no cuts.")
    with _no_tally(group):
        group.distribution.check(s, context_of(t, schema, group))


@contextmanager
def _no_tally(group: Group) -> Iterator[None]:
    try:
        yield
    except ValueError as e:
        raise ModelFileError(f"The tally of {group.distribution.name!r} is not one: {e}.") from None


@contextmanager
def _all_its_fault() -> Iterator[None]:
    """Whatever goes wrong with a file's contents is one kind of error."""
    try:
        yield
    except ModelFileError:
        raise
    except Exception as e:
        raise ModelFileError(f"It is not a valid model: {e}") from e
