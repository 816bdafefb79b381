"""Columns that were drawn from a model → the kind of table it was fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tallybayes.schema import Cuts, Schema

Array = NDArray[Any]


def build_table(schema: Schema, columns: Sequence[tuple[str, Array]], rng: np.random.Generator) -> Any:
    """columns: for each column what it is ('numbers', 'levels', 'cuts') and its values or codes."""
    values = [_decode(schema, j, needs, a, rng) for j, (needs, a) in enumerate(columns)]
    if schema.container == "sparse":
        return sparse.csr_matrix(np.column_stack(values))
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
    """A value inside its interval: uniform between its edges."""
    edges = np.concatenate([[cuts.low], cuts.points, [cuts.high]])
    low: Array = edges[a]
    width: Array = np.maximum(edges[a + 1] - low, 0.0)
    return np.asarray(low + width * rng.random(len(a)))
