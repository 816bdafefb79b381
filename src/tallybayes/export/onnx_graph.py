"""A few words for writing ONNX graphs: each gives the name of what it makes. All numbers are float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.arrays import Array

OPSET, ML_OPSET, IR = 17, 3, 8


class Graph:
    """Nodes and constants, as they are written. prefix: how all of its names begin."""

    def __init__(self, onnx: Any, prefix: str = "") -> None:
        self.onnx, self.prefix = onnx, prefix
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._count = 0
        self._known: dict[tuple[object, ...], str] = {}

    def _name(self) -> str:
        self._count += 1
        return f"{self.prefix}t{self._count}"

    def inner(self, name: str) -> Graph:
        """A graph for a branch, whose names are its own."""
        return Graph(self.onnx, f"{self._name()}_{name}_")

    def constant(self, value: Any) -> str:
        """An array: floats as float64, whole numbers as int64, texts as strings."""
        a = np.asarray(value)
        if a.dtype.kind == "f":
            a = a.astype(np.float64)
        elif a.dtype.kind in "iu":
            a = a.astype(np.int64)
        elif a.dtype.kind in "UO":
            a = a.astype(object)
        key = (a.dtype.str, a.shape, a.tobytes() if a.dtype.kind != "O" else tuple(a.ravel().tolist()))
        if key not in self._known:
            name = self._known[key] = self._name()
            self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(a).reshape(a.shape), name))
        return self._known[key]

    def op(self, kind: str, *inputs: str, domain: str = "", outputs: int = 1, **attributes: Any) -> Any:
        """A node; the name of its output, or names if it has several."""
        names = [self._name() for _ in range(outputs)]
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def sum(self, x: str, axis: int, keep: bool = False) -> str:
        """Sum along an axis."""
        found: str = self.op("ReduceSum", x, self.constant([axis]), keepdims=int(keep))
        return found

    def largest(self, x: str, axis: int) -> str:
        """Kept, of length 1."""
        found: str = self.op("ReduceMax", x, axes=[axis], keepdims=1)
        return found

    def cast(self, x: str, to: type[Any]) -> str:
        """Change the type of the elements."""
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(to))
        found: str = self.op("Cast", x, to=kind)
        return found

    def expand(self, x: str, axis: int) -> str:
        """Put in an axis of length 1."""
        found: str = self.op("Unsqueeze", x, self.constant([axis]))
        return found

    def shape(self, x: str, dims: list[int]) -> str:
        """Change the shape."""
        found: str = self.op("Reshape", x, self.constant(np.array(dims, dtype=np.int64)))
        return found

    def where(self, test: str, a: str, b: str) -> str:
        """Take a where the test is true, else b."""
        found: str = self.op("Where", test, a, b)
        return found

    def never(self, x: str) -> str:
        """Where a logarithm is −∞. (IsInf is for float32 in some runtimes.)"""
        found: str = self.op("Equal", x, self.constant(np.full(1, -np.inf)))
        return found

    def log_sum_exp(self, x: str, axis: int) -> str:
        """The axis goes; −∞ where all are."""
        top = self.largest(x, axis)
        safe = self.where(self.never(top), self.constant(np.zeros(1)), top)
        total = self.op("Log", self.sum(self.op("Exp", self.op("Sub", x, safe)), axis))
        squeezed: str = self.op("Squeeze", safe, self.constant([axis]))
        return str(self.op("Add", total, squeezed))


def take(g: Graph, table: Array, index: str, axis: int = 0) -> str:
    """Rows of a constant."""
    return str(g.op("Gather", g.constant(table), index, axis=axis))
