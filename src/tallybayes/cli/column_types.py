"""The types that columns of a file are read as, from what is said of them or what a model knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa


def types_of_kinds(kinds: Mapping[str, object]) -> dict[str, pa.DataType]:
    """Categories as text, as they are written; numbers as numbers. What is binary shows by itself."""
    by_kind = {"real": pa.float64(), "count": pa.float64()}
    by_kind |= dict.fromkeys(("categorical", "text", "date", "id"), pa.string())
    return {name: by_kind[kind] for name, kind in kinds.items() if isinstance(kind, str) and kind in by_kind}


def types_of_model(model: Any, target: str | None) -> dict[str, pa.DataType]:
    """Columns as the model knows them, so that a file need not show again what they are."""
    schema = model.schema_
    out = {}
    for j in range(schema.d if schema.names is not None else 0):
        labels = schema.levels[j].labels if j in schema.levels else None
        found = pa.float64() if labels is None else type_of_labels(labels)
        if schema.kinds[j] == "text":  # its labels are words
            found = pa.string()
        if found is not None:
            out[schema.names[j]] = found
    for g in schema.expansion or ():  # dates and times as they are written: the library reads them
        if g.name is not None and g.what not in ("column", "id"):
            out[g.name] = pa.string()
    if target is not None:
        found = type_of_labels(model.classes_.tolist(), pa.int64())
        if found is not None:
            out[target] = found
    return out


def _exact_integers(labels: Sequence[Any]) -> pa.DataType | None:
    """The integer type of labels that a float64 would round; None where it has them all."""
    least, largest = min(labels), max(labels)
    if max(-least, largest) <= 1 << 53:
        return None
    return pa.int64() if largest < 1 << 63 else pa.uint64() if least >= 0 else None


def type_of_labels(labels: Sequence[object], numbers: pa.DataType | None = None) -> pa.DataType | None:
    """None: let the file say."""
    kinds = {next((t for t in (str, bool, int, float) if isinstance(v, t)), None) for v in labels}
    if kinds == {int}:
        return _exact_integers(labels) or numbers or pa.float64()
    if kinds and kinds <= {int, float}:
        return pa.float64()
    return pa.string() if kinds == {str} else pa.bool_() if kinds == {bool} else None
