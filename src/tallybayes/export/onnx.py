"""to_onnx: a model as an ONNX graph of float64, made from its description."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any

import numpy as np

from tallybayes.distributions.context import Json
from tallybayes.errors import ExportError, OptionError
from tallybayes.export import onnx_average, onnx_ensemble, onnx_forms
from tallybayes.export.model_json import description
from tallybayes.export.onnx_forms import Form, logs
from tallybayes.export.onnx_graph import IR, ML_OPSET, OPSET, OnnxGraph, take

MISSING = ""  # what stands for a missing value in a column of strings, unless it is a label there
INSTEAD = "\u2205"  # then this does
INSTEAD_OF_IT = "Write it as .js (to_js) or .json (to_json), or fit a NaiveBayes, which has one."
TOGETHER = "(together)"  # the last row of evidence of a BayesClassifier, which belongs to no column
BY_COLUMN: dict[str, Form] = {
    **onnx_forms.BY_COLUMN,
    "network": onnx_forms.network_columns,
    "average": onnx_average.average_columns,
    "ensemble": onnx_ensemble.ensemble_columns,
}
WHOLE: dict[str, Form] = {"average": onnx_average.average, "ensemble": onnx_ensemble.ensemble}


def to_onnx(model: object, path: str | PathLike[str] | None = None, *, evidence: bool = False) -> Any:
    """Write a fitted model as an ONNX graph (float64, opset 17).

    One input for each column, of shape (rows, 1): strings, or float64; NaN is missing, and in a column of strings the
    empty string (unless that is a label of the column; the metadata of the graph say what stands for it then). Outputs:
    ``label`` and ``probabilities`` (with an underscore if a column begins so), which are those of ``predict_proba`` to
    1e-9, missing values included. A date has an input for each of its parts (``when: month``), since a graph has no
    calendar; what names rows has none. A graph cannot refuse a value: it takes an infinity and a negative count as
    they are.

    Parameters
    ----------
    model : fitted classifier of this library, or Predictor
        What is written.
    path : str or path, default=None
        Where to write it too; None only returns it.
    evidence : bool, default=False
        Whether the graph has a third output, ``evidence`` (rows, columns, classes): what each column adds to log P(x,
        class), as `explain` gives it. Of a `BayesClassifier` the last of its columns belongs to none; the metadata
        ``evidence`` of the graph name them. A model of full
        covariances has none.

    Returns
    -------
    onnx.ModelProto
        The model, checked.

    Raises
    ------
    ExportError
        If the model has no such graph; the message says why.
    OptionError
        If the package onnx is not installed.

    See Also
    --------
    to_js : A scorer in JavaScript.
    to_sql : A SELECT.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.export import to_onnx
    >>> graph = to_onnx(NaiveBayes().fit([{"sky": "clear"}, {"sky": "grey"}], ["sail", "stay"]))
    >>> [each.name for each in graph.graph.input], [each.name for each in graph.graph.output]
    (['sky'], ['label', 'probabilities'])
    """
    onnx = _onnx()
    found = description(model)
    if found["unseen"] == "error":
        raise ExportError("This model refuses unseen categories (unseen='error'), and a graph cannot refuse a row.")
    names = {column["name"] for column in found["columns"]}
    if "" in names:
        raise ExportError("A column has no name (''), and an input of a graph must have one.")
    g = OnnxGraph(onnx, _free(names, "tallybayes_"))
    inputs, read = [], []
    marks: dict[str, str] = {}
    for column in found["columns"]:
        kind, name = _input(g, column, marks)
        inputs.append(onnx.helper.make_tensor_value_info(column["name"], kind, ["rows", 1]))
        read.append(name)
    try:
        answers = list(_answers(g, found, _joint(g, found, read)))
        if evidence:
            answers.append(_evidence(g, found, read))
    except ExportError as e:
        raise ExportError(f"This {found['estimator']} has no ONNX graph: {e} {INSTEAD_OF_IT}") from None
    made = _model(onnx, g, inputs, answers, found, marks)
    if path is not None:
        onnx.save(made, fspath(path))
    return made


def _free(names: set[str], wanted: str) -> str:
    """The beginning of names that no column has."""
    while any(name.startswith(wanted) for name in names):
        wanted += "_"
    return wanted


def _onnx() -> Any:
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ImportError:
        raise OptionError("to_onnx needs the package onnx: pip install 'tallybayes[onnx]'.") from None
    return onnx


def _input(g: OnnxGraph, column: Json, marks: dict[str, str]) -> tuple[int, str]:
    """The type of a column's input, and the name of what is read of it."""
    name, double = column["name"], g.onnx.TensorProto.DOUBLE
    if column["reads"] == "number":
        return double, name
    if column["reads"] == "cuts":
        at_most = g.op("LessOrEqual", g.constant(np.array(column["cuts"], dtype=float)[None]), name)
        count = g.sum(g.cast(at_most, np.int64), 1, keep=True) if column["cuts"] else g.constant(np.zeros((1, 1), int))
        return double, g.where(g.op("IsNaN", name), g.constant(-1), count)
    labels = column["levels"]
    if all(isinstance(v, str) for v in labels):
        mark = MISSING if MISSING not in labels else INSTEAD
        if mark != MISSING:
            marks[name] = mark
        keys, codes = [*labels, mark], [*range(len(labels)), -1]
        code = g.op("LabelEncoder", name, domain="ai.onnx.ml", keys_strings=keys, values_int64s=codes, default_int64=-2)
        return g.onnx.TensorProto.STRING, code
    if any(isinstance(v, str) for v in labels):
        raise ExportError(f"Column {name!r} has labels that are strings and others that are not; a graph has one type.")
    same = g.cast(g.op("Equal", name, g.constant(np.array(labels, dtype=float)[None])), np.int64)
    place = g.op("Mul", same, g.constant(np.arange(1, len(labels) + 1)[None]))
    code = g.op("Sub", g.sum(place, 1, keep=True), g.constant(1))
    code = g.where(g.op("Less", code, g.constant(0)), g.constant(-2), code)
    return double, g.where(g.op("IsNaN", name), g.constant(-1), code)


def _joint(g: OnnxGraph, found: Json, read: list[str]) -> str:
    K = len(found["classes"])
    total = g.constant(np.zeros((1, K)))
    for term in found["terms"]:
        form = WHOLE.get(term["form"], onnx_forms.score)
        total = g.op("Add", total, form(g, term, [read[j] for j in term["columns"]], K))
    if found["beta"] != 1:
        total = g.op("Mul", total, g.constant(np.full(1, found["beta"])))
    rows = g.op("Shape", found["columns"][0]["name"])  # there may be columns that say nothing, and no others
    return str(g.op("Add", total, g.op("Expand", g.constant(logs(found["start"])[None]), rows)))


def _evidence(g: OnnxGraph, found: Json, read: list[str]) -> str:
    """(rows, columns, classes); of an ensemble one column more."""
    K, by_column, order = len(found["classes"]), list[str](), list[int]()
    for term in found["terms"]:
        if term["form"] not in BY_COLUMN:
            raise ExportError("its columns are scored together, and their shares of the evidence take no graph.")
        by_column.append(BY_COLUMN[term["form"]](g, term, [read[j] for j in term["columns"]], K))
        order += term["columns"] + [len(read)] * (term["form"] == "ensemble")
    whole = g.op("Concat", *by_column, axis=1)
    if found["beta"] != 1:
        whole = g.op("Mul", whole, g.constant(np.full(1, found["beta"])))
    return str(g.op("Gather", whole, g.constant(np.argsort(order)), axis=1))


def _answers(g: OnnxGraph, found: Json, joint: str) -> tuple[str, str]:
    """Label and probabilities; the prior's where a row is impossible in every class."""
    start = logs(found["start"])
    top = g.largest(joint, 1)
    possible = g.where(g.never(top), g.constant(start[None]), joint)
    each = g.op("Exp", g.op("Sub", possible, g.largest(possible, 1)))
    share = g.op("Div", each, g.sum(each, 1, keep=True))
    best = g.op("ArgMax", share, axis=1, keepdims=0)
    labels = found["classes"]
    if any(isinstance(v, bool) for v in labels):
        labels = [int(v) for v in labels]
    return take(g, np.array(labels, dtype=object if isinstance(labels[0], str) else None), best), share


def _model(onnx: Any, g: OnnxGraph, inputs: list[Any], answers: list[str], found: Json, marks: dict[str, str]) -> Any:
    kinds = onnx.TensorProto
    first = found["classes"][0]
    kind = kinds.STRING if isinstance(first, str) else kinds.DOUBLE if isinstance(first, float) else kinds.INT64
    wanted = ("label", "probabilities", "evidence")[: len(answers)]
    names = [_free({each.name for each in inputs}, name) for name in wanted]
    for name, own in zip(names, answers, strict=True):
        g.nodes.append(onnx.helper.make_node("Identity", [own], [name]))
    outputs = [
        onnx.helper.make_tensor_value_info(names[0], kind, ["rows"]),
        onnx.helper.make_tensor_value_info(names[1], kinds.DOUBLE, ["rows", len(found["classes"])]),
    ]
    facts = {"classes": repr(found["classes"]), "missing": repr(marks)}
    if len(answers) > 2:
        columns = [column["name"] for column in found["columns"]]
        columns += [TOGETHER] * any(term["form"] == "ensemble" for term in found["terms"])
        facts["evidence"] = repr(columns)
        shape = ["rows", len(columns), len(found["classes"])]
        outputs.append(onnx.helper.make_tensor_value_info(names[2], kinds.DOUBLE, shape))
    graph = onnx.helper.make_graph(g.nodes, found["estimator"], inputs, outputs, g.constants)
    opsets = [onnx.helper.make_opsetid("", OPSET), onnx.helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    made = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=IR, producer_name="tallybayes")
    made.producer_version = found["tallybayes"]
    onnx.helper.set_model_props(made, facts)
    onnx.checker.check_model(made)
    return made
