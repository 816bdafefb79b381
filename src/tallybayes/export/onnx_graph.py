"""A few words for writing ONNX graphs: each gives the name of what it makes. All numbers are float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.utils.array_types import Array

OPSET, ML_OPSET, IR = 17, 3, 8


class OnnxGraph:
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

    def inner(self, name: str) -> OnnxGraph:
        """Begin a graph for a branch, whose names are its own.

        Parameters
        ----------
        name : str
            What its names begin with.

        Returns
        -------
        Graph
            A new one.
        """
        return OnnxGraph(self.onnx, f"{self._name()}_{name}_")

    def constant(self, value: Any) -> str:
        """Put in an array.

        Parameters
        ----------
        value : array-like
            Floats become float64 unless they are float32, whole numbers int64, texts strings.

        Returns
        -------
        str
            The name of the output.
        """
        a = np.asarray(value)
        if a.dtype.kind == "f" and a.dtype != np.float32:
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
        """Put in a node.

        Parameters
        ----------
        kind : str
            The name of the operator.
        *inputs : str
            The names of its inputs.
        domain : str, default=''
            Whose operator it is.
        outputs : int, default=1
            How many outputs it has.
        **attributes : object
            Its attributes.

        Returns
        -------
        str or list of str
            The name of its output, or names if it has several.
        """
        names = [self._name() for _ in range(outputs)]
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def sum(self, x: str, axis: int, keep: bool = False) -> str:
        """Sum along an axis.

        Parameters
        ----------
        x : str
            The name of an input.
        axis : int
            Along which axis.
        keep : bool, default=False
            Whether the axis stays, of length 1.

        Returns
        -------
        str
            The name of the output.
        """
        found: str = self.op("ReduceSum", x, self.constant([axis]), keepdims=int(keep))
        return found

    def largest(self, x: str, axis: int) -> str:
        """Take the largest along an axis.

        Parameters
        ----------
        x : str
            The name of an input.
        axis : int
            Along which axis.

        Returns
        -------
        str
            The name of the output; the axis stays, of length 1.
        """
        found: str = self.op("ReduceMax", x, axes=[axis], keepdims=1)
        return found

    def cast(self, x: str, to: type[Any]) -> str:
        """Change the type of the elements.

        Parameters
        ----------
        x : str
            The name of an input.
        to : type
            A type of NumPy.

        Returns
        -------
        str
            The name of the output.
        """
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(to))
        found: str = self.op("Cast", x, to=kind)
        return found

    def expand(self, x: str, axis: int) -> str:
        """Put in an axis of length 1.

        Parameters
        ----------
        x : str
            The name of an input.
        axis : int
            Where.

        Returns
        -------
        str
            The name of the output.
        """
        found: str = self.op("Unsqueeze", x, self.constant([axis]))
        return found

    def shape(self, x: str, dims: list[int]) -> str:
        """Change the shape.

        Parameters
        ----------
        x : str
            The name of an input.
        dims : list of int
            The new shape; −1 is what is left.

        Returns
        -------
        str
            The name of the output.
        """
        found: str = self.op("Reshape", x, self.constant(np.array(dims, dtype=np.int64)))
        return found

    def where(self, test: str, a: str, b: str) -> str:
        """Take a where the test is true, else b.

        Parameters
        ----------
        test : str
            The name of truth values.
        a : str
            The name of an input.
        b : str
            The name of another.

        Returns
        -------
        str
            The name of the output.
        """
        found: str = self.op("Where", test, a, b)
        return found

    def never(self, x: str) -> str:
        """Return where a logarithm is −∞: IsInf is for float32 in some runtimes.

        Parameters
        ----------
        x : str
            The name of an input.

        Returns
        -------
        str
            The name of truth values.
        """
        found: str = self.op("Equal", x, self.constant(np.full(1, -np.inf)))
        return found

    def log_sum_exp(self, x: str, axis: int) -> str:
        """Take the logarithm of the sum of exponentials.

        Parameters
        ----------
        x : str
            The name of an input.
        axis : int
            Along which axis.

        Returns
        -------
        str
            The name of the output, without the axis; −∞ where all are.
        """
        top = self.largest(x, axis)
        safe = self.where(self.never(top), self.constant(np.zeros(1)), top)
        total = self.op("Log", self.sum(self.op("Exp", self.op("Sub", x, safe)), axis))
        squeezed: str = self.op("Squeeze", safe, self.constant([axis]))
        return str(self.op("Add", total, squeezed))


def take(g: OnnxGraph, table: Array, index: str, axis: int = 0) -> str:
    """Rows of a constant."""
    return str(g.op("Gather", g.constant(table), index, axis=axis))
