"""Sampled columns and results → the type of table that the model was fitted on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy

from tallybayes.data.expansion import collapse
from tallybayes.data.schema import Cuts, Schema
from tallybayes.errors import OptionError, brief
from tallybayes.utils.array_types import Array
from tallybayes.utils.lazy_imports import nw


def build_table(schema: Schema, columns: Sequence[tuple[str, Array]], rng: np.random.Generator) -> Any:
    """A table like the one in training. columns: ('numbers' | 'levels' | 'cuts', values or codes)."""
    values = [_decode(schema, j, needs, a, rng) for j, (needs, a) in enumerate(columns)]
    names = [schema.name(j) for j in range(schema.d)]
    if schema.expansion is not None:
        names, values = _collapse(schema, names, values)
    if schema.container == "sparse":
        return scipy.sparse.csr_matrix(np.column_stack([v.astype(np.float64) for v in values]))
    if schema.container == "numpy":
        return _matrix(values)
    return _named(schema, dict(zip(names, values, strict=True)))


def _matrix(values: Sequence[Array]) -> Array:
    """Columns as one matrix; of Python objects where they have no common type."""
    if any(v.dtype.kind in "OmM" for v in values) and len({v.dtype for v in values}) > 1:
        values = [_plain(v) for v in values]
    if all(v.dtype != object for v in values):
        return np.column_stack(values)
    out = np.empty((len(values[0]), len(values)), dtype=object)
    for j, v in enumerate(values):
        out[:, j] = v
    return out


def _named(schema: Schema, columns: Mapping[str, Array]) -> Any:
    """Dicts, or a data frame."""
    data = {name: _plain(v).tolist() for name, v in columns.items()}
    if schema.container == "rows":
        return [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]
    temporal = {name: v for name, v in columns.items() if v.dtype.kind in "mM"}
    frame = _framed(data, temporal, schema.container)
    if schema.input_names is None and schema.container == "pandas":  # columns that were numbered, not named
        frame.columns = range(len(columns))
    return frame


def _collapse(schema: Schema, names: Sequence[str], values: Sequence[Array]) -> tuple[list[str], list[Array]]:
    """Inverse of the expansion: dates from their parts; identifiers stay out."""
    assert schema.expansion is not None
    drawn = dict(zip(names, values, strict=True))
    out: dict[str, Array] = {}
    for j, g in enumerate(schema.expansion):
        name = g.called(j)
        if g.what == "column":
            out[name] = drawn[name]
        elif g.what != "id":
            out[name] = collapse({part: drawn[own] for part, own in g.by_part(j).items()}, g)
        elif g.name is None:
            out[name] = np.full(len(values[0]), None, dtype=object)
    return list(out), list(out.values())


def _plain(v: Array) -> Array:
    """Datetimes as Python objects; as NumPy's beyond Python's calendar."""
    if v.dtype.kind not in "mM":
        return v
    out = np.empty(len(v), dtype=object)
    out[:] = [None if np.isnat(t) else t.item() if not isinstance(t.item(), int) else t for t in v]
    return out


def _framed(data: dict[str, list[Any]], temporal: Mapping[str, Array], container: Any) -> Any:
    """A data frame; temporal columns in the library's own type."""
    if container == "pyarrow":
        import pyarrow as pa

        return pa.table({name: pa.array(temporal.get(name, values)) for name, values in data.items()})
    if container == "polars":
        import polars as pl

        return pl.DataFrame({name: pl.Series(name, temporal.get(name, values)) for name, values in data.items()})
    frame = nw.from_dict({name: v for name, v in data.items() if name not in temporal}, backend=container).to_native()
    for name, ticks in temporal.items():
        frame.insert(list(data).index(name), name, ticks)
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
    """An array; labels and missing values stay Python objects."""
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
        exact = numeric and all(v == float(v) for v in labels[:-1])
        if exact and any(isinstance(v, float) for v in labels[:-1]):
            labels[:-1] = [float(v) for v in labels[:-1]]  # a column of polars is of one type
        return labels[a].astype(np.float64) if exact and schema.container == "numpy" else labels[a]
    return a


def _within(cuts: Cuts, a: Array, rng: np.random.Generator) -> Array:
    """A uniform draw inside each interval; −1 is missing."""
    edges = np.concatenate([[cuts.low], cuts.points, [cuts.high]])
    low: Array = edges[a]
    width: Array = np.maximum(edges[a + 1] - low, 0.0)
    return np.where(a < 0, np.nan, low + width * rng.random(len(a)))
