"""Columns that were drawn from a model, or say something of it → the kind of table it was fitted on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy

from tallybayes.arrays import Array
from tallybayes.errors import OptionError, brief
from tallybayes.later import nw
from tallybayes.schema import Cuts, Schema


def build_table(schema: Schema, columns: Sequence[tuple[str, Array]], rng: np.random.Generator) -> Any:
    """columns: for each column what it is ('numbers', 'levels', 'cuts') and its values or codes."""
    values = [_decode(schema, j, needs, a, rng) for j, (needs, a) in enumerate(columns)]
    if schema.container == "sparse":
        return scipy.sparse.csr_matrix(np.column_stack([v.astype(np.float64) for v in values]))
    if schema.container == "numpy":
        if any(v.dtype == object for v in values):
            out = np.empty((len(values[0]), len(values)), dtype=object)
            for j, v in enumerate(values):
                out[:, j] = v
            return out
        return np.column_stack(values)
    data = {schema.name(j): v.tolist() for j, v in enumerate(values)}
    if schema.container == "rows":
        return [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]
    frame = nw.from_dict(data, backend=schema.container).to_native()
    if schema.names is None:  # pandas, with columns that were numbered, not named
        frame.columns = range(schema.d)
    return frame


def build_frame(columns: Mapping[str, Sequence[object] | Array], container: str, backend: str | None = None) -> Any:
    """Named columns as a data frame of the given library; without one, of the library that the container belongs to.

    Where that has no data frames (NumPy, sparse matrices, dicts): a dict of arrays.
    """
    if backend not in (None, "pandas", "polars", "pyarrow", "dict"):
        raise OptionError(f"backend must be None, 'pandas', 'polars', 'pyarrow' or 'dict'; got {brief(backend)}.")
    library: Any = backend or (container if container in ("pandas", "polars", "pyarrow") else "dict")
    if library == "dict":
        return {name: _column(values) for name, values in columns.items()}
    try:
        return nw.from_dict({name: _column(v).tolist() for name, v in columns.items()}, backend=library).to_native()
    except ModuleNotFoundError:
        raise OptionError(f"backend={library!r}: {library} is not installed. backend='dict' needs nothing.") from None


def _column(values: Sequence[object] | Array) -> Array:
    """An array; labels and what is missing stay Python objects."""
    if isinstance(values, np.ndarray):
        return values
    if all(isinstance(v, bool) for v in values) or all(
        isinstance(v, int | float) and not isinstance(v, bool) for v in values
    ):
        return np.asarray(values)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _decode(schema: Schema, j: int, needs: str, a: Array, rng: np.random.Generator) -> Array:
    if needs == "cuts":
        return _within(schema.cuts[j], a, rng)
    if needs == "levels" and j in schema.levels:
        labels = np.empty(len(schema.levels[j]) + 1, dtype=object)
        labels[:-1] = schema.levels[j].labels
        numeric = all(isinstance(v, int | float) and not isinstance(v, bool) for v in labels[:-1])
        return labels[a].astype(np.float64) if numeric and schema.container == "numpy" else labels[a]
    return a


def _within(cuts: Cuts, a: Array, rng: np.random.Generator) -> Array:
    """A value inside its interval: uniform between its edges; −1 is missing."""
    edges = np.concatenate([[cuts.low], cuts.points, [cuts.high]])
    low: Array = edges[a]
    width: Array = np.maximum(edges[a + 1] - low, 0.0)
    return np.where(a < 0, np.nan, low + width * rng.random(len(a)))
