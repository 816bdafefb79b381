"""The written model: its fingerprint, and the search for values of removed rows in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tallybayes.distributions.capabilities import LevelCounts, LevelWeights, capability
from tallybayes.io.model_document import to_document
from tallybayes.model.fitted import Fitted
from tallybayes.receipts.removed_rows import RemovedRows
from tallybayes.utils.array_types import Array

if TYPE_CHECKING:
    from tallybayes.estimators.base import GenerativeClassifier


def fingerprint(model: GenerativeClassifier) -> str | None:
    """Compute the SHA-256 of all that a model file holds of a model: not of notes, nor of the library's version.

    Parameters
    ----------
    model : fitted classifier
        What is written.

    Returns
    -------
    str or None
        64 hexadecimal digits; None of a model that has no class left.

    Examples
    --------
    >>> from tallybayes import GaussianNB, from_bytes, to_bytes
    >>> from tallybayes.receipts import fingerprint
    >>> model = GaussianNB().fit([[1.0], [8.0]], ["low", "high"])
    >>> fingerprint(from_bytes(to_bytes(model))) == fingerprint(model)
    True
    """
    if model.fitted_.K == 0:
        return None
    header, arrays = to_document(model, {})
    digest = hashlib.sha256(json.dumps([header["distributions"], header["model"]], sort_keys=True).encode())
    for a in arrays:
        digest.update(f"{a.dtype.newbyteorder('<').str}{a.shape}".encode())
        digest.update(np.asarray(a, a.dtype.newbyteorder("<"), order="C").tobytes())
    return digest.hexdigest()


def residue(model: GenerativeClassifier, rows: RemovedRows) -> dict[str, Any]:
    """How many of the values that may identify somebody are in the written model, by column.

    A text is searched in every text of the file and in every array of it; a number in every number, and in every text.
    A name that remaining rows have too (its count is above 0) is `shared`, not found.
    """
    searched = sum(len(v) for v in rows.texts.values()) + sum(len(v) for v in rows.numbers.values())
    result: dict[str, Any] = {"searched": searched, "found": {}, "shared": 0}
    if model.fitted_.K == 0 or not searched:
        return result
    header, arrays = to_document(model, {})
    document = header["model"]
    texts = {v for v in _values(document) if isinstance(v, str)}
    for a in arrays:
        if a.dtype.kind in "US":
            texts.update(map(str, a.ravel().tolist()))
    held = _held_names(model.fitted_)
    strange = "\0".join(texts - held)
    blobs = [a.tobytes() for a in arrays if a.dtype.kind == "u" and a.dtype.itemsize == 1]
    for name, wanted in rows.texts.items():
        found = 0
        for text in wanted:
            if text in strange or any(text.encode("utf-8", "surrogatepass") in blob for blob in blobs):
                found += 1
            elif text in texts:
                result["shared"] += 1
        if found:
            result["found"][name] = found
    known = {float(v) for v in _values(document) if isinstance(v, int | float) and not isinstance(v, bool)}
    for name, values in rows.numbers.items():
        asked = np.array(sorted(values))
        there = np.isin(asked, sorted(known)) | np.array([repr(v) in strange or f"{v:.17g}" in strange for v in asked])
        for a in arrays:
            if a.dtype.kind in "fiu" and a.size:
                there |= np.isin(asked.astype(a.dtype) if a.dtype.kind == "f" else asked, a)
        if there.any():
            result["found"][name] = result["found"].get(name, 0) + int(there.sum())
    return result


def _values(tree: object) -> Iterator[object]:
    """All leaves of a JSON document."""
    if isinstance(tree, dict):
        for v in tree.values():
            yield from _values(v)
    elif isinstance(tree, list | tuple):
        for v in tree:
            yield from _values(v)
    else:
        yield tree


def _held_names(fitted: Fitted) -> set[str]:
    """Names that remaining rows have, or that were declared: of classes, columns, and levels with a weight."""
    schema = fitted.schema
    held = {str(v) for v in fitted.classes.tolist()} | {schema.name(j) for j in range(schema.d)}
    for term in fitted.terms:
        counted, weighed = capability(term.distribution, LevelCounts), capability(term.distribution, LevelWeights)
        if counted is None or weighed is None:
            continue
        parts: list[Array] = np.split(
            weighed.level_weights(term.statistics), np.cumsum(counted.sizes(term.statistics))[:-1]
        )
        for j, part in zip(term.columns, parts, strict=False):
            levels = schema.levels.get(j)
            if levels is not None:
                weights = part.tolist()
                held.update(
                    str(label)
                    for code, label in enumerate(levels.labels)
                    if code in levels.declared or (code < len(weights) and weights[code] > 0)
                )
    return held
