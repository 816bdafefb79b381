"""A fitted model ↔ a document of JSON values and arrays.

Stored are the parameters given to the estimator, the schema, the groups of columns with their distributions, and the
tally. What follows from these (means, log probabilities, factors of covariances) is estimated again when first asked
for, by the code that estimated it before: the same bits.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tallybayes
from tallybayes.errors import ModelFileError, OptionError
from tallybayes.estimators.base import TallyClassifier
from tallybayes.labels import sort_labels
from tallybayes.parameters import context_of, log_prior
from tallybayes.persist.values import Json, Reader, Writer, fields, index, items, mapping
from tallybayes.plan import Group, same_shape
from tallybayes.schema import KINDS, Schema
from tallybayes.tally import Tally

Array = NDArray[Any]

HELD = frozenset(
    ("schema_", "_groups", "_tally", "_closed", "_model", "_door", "classes_", "n_features_in_", "feature_names_in_")
)
NOT_STORED = frozenset(("_metadata_request",))  # scikit-learn's objects for routing


def estimators() -> dict[str, type[TallyClassifier]]:
    """The public estimators of the library by name. No other class is ever made from a file."""
    found = {name: getattr(tallybayes, name) for name in tallybayes.__all__}
    return {k: v for k, v in found.items() if isinstance(v, type) and issubclass(v, TallyClassifier)}


def to_document(model: Any, notes: Mapping[str, Any]) -> tuple[dict[str, Json], list[Array]]:
    """Header and arrays of a model that a file can hold."""
    name = type(model).__name__
    if not isinstance(model, TallyClassifier) or estimators().get(name) is not type(model):
        raise OptionError(
            f"save takes an estimator of tallybayes; got {name}. Pipelines and classes of your own can be pickled, or "
            "saved with joblib or skops."
        )
    model._require_fit()
    writer = Writer()
    t = model._tally
    given = model.get_params(deep=False)
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
        "stats": [{key: writer.array(a, f"The tally's {key!r}") for key, a in s.items()} for s in t.stats],
        "closed": model._closed,
        "attributes": {k: writer.value(v, f"The attribute {k!r} of {name}") for k, v in others.items()},
    }
    with _as_file_error("It cannot be saved"):
        check(model, model.schema_, model._groups, t)
    header = {
        "tallybayes": tallybayes.__version__,
        "distributions": writer.distributions,
        "model": document,
        "notes": {str(k): writer.value(v, f"The note {k!r}") for k, v in notes.items()},
    }
    return header, writer.arrays


def _write_classes(classes: Array, writer: Writer) -> Json:
    for label in classes.tolist():
        writer.label(label, "The target")
    return writer.array(classes, "The target")


def from_document(header: dict[str, Json], arrays: list[Array]) -> tuple[TallyClassifier, dict[str, Any]]:
    """The model, and the notes; whatever the document is, or ModelFileError."""
    with _as_file_error("It is not a valid model"):
        _, listed, document, notes = fields(header, "Its header", "tallybayes", "distributions", "model", "notes")
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
    cls = estimators().get(name) if isinstance(name, str) else None
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
        tuple(
            {key: reader.numbers(a, f"the tally's {key!r:.40}") for key, a in mapping(s, "stats").items()}
            for s in items(stats, "stats")
        ),
    )
    if not isinstance(closed, bool):
        raise ModelFileError("'closed' is neither true nor false.")
    check(model, schema, groups, total)
    for key, value in mapping(others, "attributes").items():
        if key in HELD or hasattr(model, key) or not key.isidentifier() or key.startswith("__"):
            raise ModelFileError(f"{name} cannot have the attribute {key!r:.60}.")
        setattr(model, key, reader.value(value, f"The attribute {key!r}"))
    model._hold(schema, groups, total, closed)
    return model


def _read_group(j: Json, schema: Schema, reader: Reader) -> Group:
    which, columns = fields(j, "A group", "distribution", "columns")
    d = reader.value({"distribution": which}, "A group")
    return Group(d, tuple(index(c, schema.d, "A column of a group") for c in items(columns, "columns")))


# --- what must hold of a model, before it is written and after it was read ----------------------------------------


def check(model: TallyClassifier, schema: Schema, groups: tuple[Group, ...], t: Tally) -> None:
    """Raises some ValueError if the parts do not fit together, or are what no table can have led to."""
    _check_schema(schema)
    labels = t.classes.tolist() if isinstance(t.classes, np.ndarray) and t.classes.ndim == 1 else []
    if not labels or sort_labels(labels) != list(range(len(labels))) or len(set(labels)) < len(labels):
        raise ModelFileError("Its classes are not a sorted list of different labels.")
    if t.weight.dtype != np.float64 or t.weight.shape != (t.K,) or not (t.weight >= 0).all():
        raise ModelFileError("The weights of its classes are not one number of at least 0 each.")
    if not np.isfinite(t.weight.sum()):
        raise ModelFileError("The weights of its classes are not finite.")
    if sorted(j for g in groups for j in g.columns) != list(range(schema.d)) or not all(g.columns for g in groups):
        raise ModelFileError("Its groups do not have each column once.")
    if len(t.stats) != len(groups):
        raise ModelFileError(f"It has {len(groups)} groups of columns and {len(t.stats)} tallies.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say was said at the fit
        model._check_options()
        again = model._choose(schema)
        if not same_shape(again, groups):
            raise ModelFileError("Its parameters ask for other distributions than those it was fitted with.")
        for group in (*groups, *again):
            _check_stats(group, t, schema, groups)
        if t.weight.sum() > 0:
            log_prior(t, model._prior())


def _check_stats(group: Group, t: Tally, schema: Schema, groups: tuple[Group, ...]) -> None:
    at = next(i for i, g in enumerate(groups) if g.columns == group.columns)
    name = group.distribution.name
    if group.distribution.needs == "cuts" and not all(j in schema.cuts for j in group.columns):
        raise ModelFileError(f"A column of the distribution {name!r} has no cuts.")
    try:
        group.distribution.check(t.stats[at], context_of(t, schema, group))
    except ValueError as e:
        raise ModelFileError(f"The tally of {name!r} is not one: {e}.") from None


def _check_schema(s: Schema) -> None:
    if not s.d or not all(kind in KINDS for kind in s.kinds):
        raise ModelFileError("The schema's kinds are not known ones.")
    if s.names is not None and (len(s.names) != s.d or len(set(s.names)) < s.d):
        raise ModelFileError(f"The schema does not have {s.d} different names.")
    for known in s.levels.values():
        if len(known.index()) < len(known):
            raise ModelFileError("The schema has a level twice.")
    for cuts in s.cuts.values():
        p = cuts.points
        if p.dtype != np.float64 or p.ndim != 1 or not np.isfinite([*p, cuts.low, cuts.high]).all():
            raise ModelFileError("The schema's cuts are not finite numbers.")
        if not (np.diff(p) > 0).all() or cuts.low > cuts.high:
            raise ModelFileError("The schema's cuts do not rise.")


class _as_file_error:  # noqa: N801
    """Whatever goes wrong inside is the file's fault: one kind of error."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, e: BaseException | None, trace: Any) -> None:
        if isinstance(e, Exception) and not isinstance(e, ModelFileError):
            raise ModelFileError(f"{self.what}: {e}") from e
