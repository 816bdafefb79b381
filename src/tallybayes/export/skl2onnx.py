"""Pipelines in ONNX: skl2onnx finds the classifiers of this library, once they are registered with it."""

from __future__ import annotations

from typing import Any

import tallybayes
from tallybayes.errors import ExportError, OptionError
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.export.onnx import to_onnx
from tallybayes.export.onnx_graph import OPSET


def register() -> None:
    """Register the classifiers of this library with skl2onnx, so that it converts pipelines that end in one.

    Then ``skl2onnx.to_onnx(pipeline, X, target_opset=17)`` works. The steps before the classifier give it float64 or
    float32 as they do in Python; its own part of the graph is that of `tallybayes.export.to_onnx`, in float64.

    Raises
    ------
    OptionError
        If the package skl2onnx is not installed.

    Examples
    --------
    >>> from tallybayes.export import skl2onnx
    >>> skl2onnx.register()                                   # doctest: +SKIP
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError:
        raise OptionError("register needs the package skl2onnx: pip install skl2onnx.") from None
    for name in tallybayes.__all__:
        found = getattr(tallybayes, name)
        if isinstance(found, type) and issubclass(found, GenerativeClassifier):
            options = {"zipmap": [False, True, "columns"], "nocl": [True, False], "output_class_labels": [False, True]}
            update_registered_converter(found, f"Tallybayes{name}", _shapes, _convert, options=options, overwrite=True)


def _shapes(operator: Any) -> None:
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType

    classes = operator.raw_operator.classes_
    if classes.dtype.kind == "f":
        raise ExportError("skl2onnx has no classes that are floats. Fit with strings or whole numbers.")
    text = isinstance(classes.tolist()[0], str)
    rows = operator.inputs[0].get_first_dimension()
    operator.outputs[0].type = (StringTensorType if text else Int64TensorType)([rows])
    operator.outputs[1].type = DoubleTensorType([rows, len(classes)])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """The nodes of our graph with names of their own, its inputs the columns of what comes."""
    from onnx import TensorProto, helper, numpy_helper

    if container.target_opset > OPSET:
        raise ExportError(f"The graph of a classifier is of opset {OPSET}: give target_opset={OPSET}.")
    other = [g.called(j) for j, g in enumerate(operator.raw_operator.schema_.expansion or ()) if g.what != "column"]
    if other:
        raise ExportError(
            f"Column {other[0]!r} is a date, or names rows: the model does not read it as it comes, and the columns of "
            "a pipeline are read one by one. Use to_onnx(model), whose inputs are the parts of dates."
        )
    graph = to_onnx(operator.raw_operator).graph
    if any(each.type.tensor_type.elem_type == TensorProto.STRING for each in graph.input):
        raise ExportError(
            "The columns of a pipeline are numbers here, and this model reads strings: use to_onnx(model)."
        )
    names = _new_names(scope, operator, graph)
    for each in graph.initializer:
        container.add_initializer(names[each.name], each.data_type, each.dims, numpy_helper.to_array(each).ravel())
    _columns(scope, operator, container, [names[each.name] for each in graph.input])
    for node in graph.node:
        attributes = {a.name: _renamed(helper.get_attribute_value(a), names) for a in node.attribute}
        container.add_node(
            node.op_type,
            [names[name] for name in node.input],
            [names[name] for name in node.output],
            op_domain=node.domain,
            op_version=3 if node.domain else OPSET,
            name=scope.get_unique_operator_name(node.op_type),
            **attributes,
        )


def _new_names(scope: Any, operator: Any, graph: Any) -> dict[str, str]:
    """Of all that our graph names, in a graph where others have names too."""
    names = {each.name: scope.get_unique_variable_name(each.name) for each in graph.initializer}
    names |= {out: scope.get_unique_variable_name(out) for node in graph.node for out in node.output}
    names |= {each.name: scope.get_unique_variable_name(f"column_{j}") for j, each in enumerate(graph.input)}
    return names | {own.name: to.full_name for own, to in zip(graph.output, operator.outputs, strict=True)}


def _columns(scope: Any, operator: Any, container: Any, wanted: list[str]) -> None:
    """What comes, one matrix or several, as float64, column by column."""
    from onnx import TensorProto

    whole = scope.get_unique_variable_name("whole")
    parts = []
    for given in operator.inputs:
        parts.append(scope.get_unique_variable_name("part"))
        cast = scope.get_unique_operator_name("Cast")
        container.add_node("Cast", given.full_name, parts[-1], to=TensorProto.DOUBLE, op_version=13, name=cast)
    container.add_node("Concat", parts, whole, axis=1, op_version=13, name=scope.get_unique_operator_name("Concat"))
    for j, name in enumerate(wanted):
        at = scope.get_unique_variable_name("at")
        container.add_initializer(at, TensorProto.INT64, [1], [j])
        gather = scope.get_unique_operator_name("Gather")
        container.add_node("Gather", [whole, at], name, axis=1, op_version=13, name=gather)


def _renamed(value: Any, names: dict[str, str]) -> Any:
    """Branches read what is outside of them by its new name."""
    if not hasattr(value, "node"):
        return value
    for node in value.node:
        for i, name in enumerate(node.input):
            node.input[i] = names.get(name, name)
    for made in value.output:
        made.name = names.get(made.name, made.name)
    return value
