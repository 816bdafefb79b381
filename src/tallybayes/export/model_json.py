"""A model as plain JSON values with all that it takes to score a row. What JavaScript, ONNX and the page are made of.

The format is written down in docs/model-json.md; a change that readers would misread raises VERSION.
"""

from __future__ import annotations

import json
import math
from os import PathLike
from pathlib import Path
from typing import cast

from tallybayes import __version__
from tallybayes.data.schema import Schema
from tallybayes.distributions.capabilities import CountsExport, capability
from tallybayes.distributions.context import CODE, NUMBER, TEXT, Exported, Json, plain
from tallybayes.errors import ExportError, brief
from tallybayes.model.predictor import Predictor
from tallybayes.model.term import Term

FORMAT, VERSION = "tallybayes.model", 4
MAX_SAFE_INTEGER = 2**53  # beyond it JavaScript's numbers skip whole numbers


def description(model: object) -> dict[str, Json]:
    """Describe a fitted model as plain JSON values, for a scorer in another language.

    Columns with their levels or cuts, the classes, the log prior, the temperature, and of each distribution its
    parameters in one of a few forms (tables of logarithms, normal densities, networks, …), as docs/model-json.md
    has them. The numbers are those that the model scores with, so that P(class | x) is the same to 1e-9.

    Parameters
    ----------
    model : fitted classifier of this library, or Predictor
        What is described.

    Returns
    -------
    dict
        Of None, booleans, numbers, strings, lists and dicts.

    Raises
    ------
    ExportError
        If the model cannot be described; the message says why.

    See Also
    --------
    compact : The same, smaller.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.export import description
    >>> found = description(NaiveBayes().fit([{"sky": "clear"}, {"sky": "grey"}], ["sail", "stay"]))
    >>> found["classes"], found["columns"]
    (['sail', 'stay'], [{'name': 'sky', 'kind': 'categorical', 'reads': 'levels', 'levels': ['clear', 'grey']}])
    >>> [term["form"] for term in found["terms"]]
    ['table']
    """
    return described(predictor_of(model), counts=False)


def described(predictor: Predictor, counts: bool) -> dict[str, Json]:
    """The description; counts: with counts, as arrays, where a distribution has them instead of tables."""
    fitted, options = predictor.fitted, predictor.options
    schema = fitted.schema
    reads: dict[int, Json] = {}
    terms = [_term(predictor, term, reads, counts) for term in fitted.terms]
    sizes = fitted.sizes()
    return {
        "format": FORMAT,
        "version": VERSION,
        "tallybayes": __version__,
        "estimator": options.who,
        "classes": [_label(v, "The classes") for v in fitted.classes.tolist()],
        "class_weight": plain(fitted.weight),
        "start": plain(predictor.offset),
        "beta": float(options.beta),
        "unseen": options.unseen,
        "given": _given(schema),
        "absent": 0 if schema.container == "sparse" else None,
        "columns": [_column(schema, j, reads[j], sizes.get(j, 0)) for j in range(schema.d)],
        "terms": terms,
    }


def to_json(model: object, path: str | PathLike[str] | None = None, *, compact: bool = False) -> str:
    """Write a fitted model as JSON, for a scorer in another language.

    Parameters
    ----------
    model : fitted classifier of this library, or Predictor
        What is written.
    path : str or path, default=None
        Where to write it too; None only returns it.
    compact : bool, default=False
        Whether to write a :func:`tallybayes.export.compact` model: a `BayesClassifier` takes about a fiftieth of the
        room, and only the scorer of `to_js` and `scorer_source` reads it.

    Returns
    -------
    str
        The text of `tallybayes.export.description`, or of `tallybayes.export.compact`, in ASCII.

    Raises
    ------
    ExportError
        If the model cannot be described; the message says why.

    See Also
    --------
    to_js : A scorer in JavaScript.
    to_onnx : An ONNX graph.

    Examples
    --------
    >>> import json
    >>> from tallybayes import GaussianNB
    >>> from tallybayes.export import to_json
    >>> model = GaussianNB().fit([[1.0], [2.0], [7.0], [8.0]], ["low", "low", "high", "high"])
    >>> json.loads(to_json(model))["terms"][0]["mean"]
    [[7.5, 1.5]]
    """
    from tallybayes.export import compact_json  # which stands on this module

    text = dumps(compact_json.compact(model) if compact else description(model))
    if path is not None:
        Path(path).write_text(text + "\n", encoding="ascii")
    return text


def dumps(value: Json) -> str:
    """JSON in ASCII without spaces, which may stand in a script too: nothing in it ends one."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def predictor_of(model: object) -> Predictor:
    """The predictor of a model, or what was given, if it is one."""
    if isinstance(model, Predictor):
        return model
    found = getattr(model, "predictor_") if hasattr(type(model), "predictor_") else None  # noqa: B009
    if not isinstance(found, Predictor):
        if hasattr(type(model), "conditional_risk"):
            raise ExportError(
                f"A {type(model).__name__} cannot be exported: its losses would be lost. Export the classifier inside, "
                "model.estimator_. Its prediction is the most probable class, not the decision: apply the losses to "
                "the exported probabilities, and take the decision with the least sum of loss × probability."
            )
        raise ExportError(
            f"Expected a fitted classifier of tallybayes; got {brief(model)}. Of a pipeline or a wrapper, export the "
            "classifier inside: model[-1], model.estimator_."
        )
    return found


def _term(predictor: Predictor, term: Term, reads: dict[int, Json], counts: bool) -> Json:
    """A term as its distribution exports it; how its columns are read goes into `reads`."""
    fitted, found = predictor.fitted, cast("Exported | str | None", None)
    able = capability(term.distribution, CountsExport) if counts else None
    if able is not None and term.statistics is not None:
        found = able.export_counts(term.statistics, term.params)
    if found is None:
        found = term.distribution.export(term.params, fitted.context(term))
    if isinstance(found, str):
        names = ", ".join(fitted.schema.name(j) for j in term.columns[:3])
        more = ", …" if len(term.columns) > 3 else ""
        raise ExportError(f"This {predictor.options.who} cannot be exported: {found}. (Columns: {names}{more})")
    usual = NUMBER if term.distribution.needs == "numbers" else CODE
    how = found.get("reads", [usual] * len(term.columns))
    cut = fitted.schema.cuts if term.distribution.needs in ("cuts", "codes") else {}
    for j, each in zip(term.columns, how, strict=True):
        reads[j] = {"cuts": plain(cut[j].points)} if each == CODE and j in cut else each
    rest = {key: value for key, value in found.items() if key not in ("form", "reads")}
    return {"form": found["form"], "columns": list(term.columns), **rest}


def _column(schema: Schema, j: int, reads: Json, size: int) -> Json:
    column: dict[str, Json] = {"name": schema.name(j), "kind": schema.kinds[j]}
    if isinstance(reads, dict):
        return column | {"reads": "cuts", **reads}
    if reads == NUMBER:
        return column | {"reads": "number"}
    if reads == TEXT:
        return column | {"reads": "text"}
    labels = schema.levels[j].labels if j in schema.levels else range(size)
    return column | {"reads": "levels", "levels": [_label(v, f"Column {schema.name(j)!r}") for v in labels]}


def _given(schema: Schema) -> Json:
    """The columns of a table that are read as others: dates as their parts; names of rows not at all."""
    return [
        {"name": g.called(j), "what": g.what, "parts": g.by_part(j), "zone": g.zone}
        for j, g in enumerate(schema.expansion or ())
        if g.what != "column"
    ]


def _label(value: object, where: str) -> Json:
    """A label as JSON has it."""
    label = value.item() if hasattr(value, "item") else value
    whole = isinstance(label, int) and abs(label) <= MAX_SAFE_INTEGER
    if isinstance(label, bool | str) or whole or (isinstance(label, float) and math.isfinite(label)):
        return label
    raise ExportError(
        f"{where} has the label {label!r:.60}, which other programs do not read as we do: strings, booleans and "
        "numbers of up to 53 bits can be exported. Use such labels, and fit again."
    )
