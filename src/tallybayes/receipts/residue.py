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
from tallybayes.receipts.removed_rows import DIGITS, MIN_TEXT_LENGTH, RemovedRows
from tallybayes.utils.array_types import Array

if TYPE_CHECKING:
    from tallybayes.data.row_store import RowStore
    from tallybayes.estimators.base import GenerativeClassifier

NOTHING = (
    f"Nothing was searched: no removed value is a text of {MIN_TEXT_LENGTH} characters or a number of {DIGITS} digits."
)


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

    See Also
    --------
    Receipt : A record of what was removed.

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
    What remaining rows have too, as a name whose count is above 0 or in a row that the model keeps, is `shared`, not
    found.
    """
    searched = sum(len(v) for v in rows.texts.values()) + sum(len(v) for v in rows.numbers.values())
    result: dict[str, Any] = {"searched": searched, "found": {}, "shared": 0}
    if not searched:
        result["note"] = NOTHING
    if model.fitted_.K == 0 or not searched:
        return result
    kept = _KeptRows(model)
    written = _Written(model, kept)
    for name, wanted in rows.texts.items():
        found, shared = written.count_texts(wanted, kept)
        result["shared"] += shared
        if found:
            result["found"][name] = found
    for name, values in rows.numbers.items():
        asked = np.array(sorted(values))
        others = np.isin(asked, kept.numbers)
        there = written.has_numbers(asked) & ~others
        result["shared"] += int(others.sum())
        if there.any():
            result["found"][name] = result["found"].get(name, 0) + int(there.sum())
    return result


class _KeptRows:
    """The values of rows that a model keeps (memory='rows', 'sample'): those of remaining rows."""

    def __init__(self, model: GenerativeClassifier) -> None:
        store: RowStore | None = model.__dict__.get("_rows")
        self.names, numbers = set[str](), [np.empty(0)]
        if store is not None and store.matrix is not None:
            numbers.append(store.matrix)
        if store is not None and store.csr is not None:
            numbers.append(store.csr.data)
        for column in (store.columns or ()) if store is not None else ():
            if column.form == "numbers":
                numbers.append(column.values)
            elif column.form != "times":
                used = np.unique(column.values[column.values >= 0]).tolist()
                self.names.update(v for code in used if isinstance(v := column.labels[code], str))
        self.numbers = np.unique(np.concatenate([np.ravel(a).astype(np.float64) for a in numbers]))
        whole = "\0".join(self.names)
        self.texts = whole + "\0" + whole.lower()  # words are looked for in small letters


class _Written:
    """All texts, numbers and arrays of a written model."""

    def __init__(self, model: GenerativeClassifier, kept: _KeptRows) -> None:
        header, self.arrays = to_document(model, {})
        leaves = list(_values(header["model"]))
        self.texts = {v for v in leaves if isinstance(v, str)}
        for a in self.arrays:
            if a.dtype.kind in "US":
                self.texts.update(map(str, a.ravel().tolist()))
        self.known = sorted({float(v) for v in leaves if isinstance(v, int | float) and not isinstance(v, bool)})
        self.blobs = [a.tobytes() for a in self.arrays if a.dtype.kind == "u" and a.dtype.itemsize == 1]
        self.strange = "\0".join(self.texts - _held_names(model.fitted_) - kept.names)

    def count_texts(self, wanted: set[str], kept: _KeptRows) -> tuple[int, int]:
        """How many of these texts are there, and how many more are those of remaining rows."""
        found, shared = 0, 0
        for text in wanted:
            if text in self.strange:
                found += 1
            elif text in kept.texts:
                shared += 1
            elif any(text.encode("utf-8", "surrogatepass") in blob for blob in self.blobs):
                found += 1
            elif text in self.texts:
                shared += 1
        return found, shared

    def has_numbers(self, asked: Array) -> Array:
        """Which of these numbers are there."""
        there = np.isin(asked, self.known) | np.array(
            [repr(v) in self.strange or f"{v:.17g}" in self.strange for v in asked]
        )
        for a in self.arrays:
            if a.dtype.kind in "fiu" and a.size:
                there |= np.isin(asked.astype(a.dtype) if a.dtype.kind == "f" else asked, a)
        return np.asarray(there)


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
