"""compact: a model's description as compressed arrays, small enough to stand in a page."""

from __future__ import annotations

import base64
import zlib

import numpy as np

from tallybayes.distributions.context import Json
from tallybayes.export.model_json import described, dumps, predictor_of
from tallybayes.utils.array_types import Array

FORMAT, VERSION = "tallybayes.compact", 1
MIN_NUMBERS = 24  # of a list that becomes an array
INTEGERS = ("u1", "u2", "u4", "i1", "i2", "i4")


def compact(model: object) -> dict[str, Json]:
    """Describe a fitted model in compressed form, for the JavaScript scorer.

    Lists of numbers are arrays of the smallest type that holds them exactly, compressed together. A `BayesClassifier`
    is written as the counts of its networks, from which the scorer smooths the few that a row asks for: P(class | x)
    then agrees with ``predict_proba`` to 1e-6, because Python rounds the logarithms of those tables to 32 bits. Every
    other model agrees to 1e-9, as with `description`.

    Parameters
    ----------
    model : fitted classifier of this library, or Predictor
        What is described.

    Returns
    -------
    dict
        ``format``, ``version``, and ``data``: base64 of raw DEFLATE, as docs/model-json.md has it.

    Raises
    ------
    ExportError
        If the model cannot be described; the message says why.

    See Also
    --------
    description : The whole model as data.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.export import compact
    >>> sorted(compact(NaiveBayes().fit([{"sky": "clear"}, {"sky": "grey"}], ["sail", "stay"])))
    ['data', 'format', 'version']
    """
    return packed(described(predictor_of(model), counts=True))


def packed(found: dict[str, Json]) -> dict[str, Json]:
    """A description, perhaps with arrays, compressed."""
    arrays: list[bytes] = []
    skeleton = _Packer(arrays).pack(found)
    whole = b"".join([dumps(skeleton).encode("ascii"), b"\n", *arrays])
    squeezed = zlib.compress(whole, level=6, wbits=-15)
    return {"format": FORMAT, "version": VERSION, "data": base64.b64encode(squeezed).decode("ascii")}


class _Packer:
    """Replaces arrays by their places, and collects their bytes."""

    def __init__(self, arrays: list[bytes]) -> None:
        self.arrays, self.size = arrays, 0

    def pack(self, value: Json) -> Json:
        if isinstance(value, dict):
            return {key: self.pack(v) for key, v in value.items()}
        if isinstance(value, np.ndarray):
            return self._place(value.ravel(), int(value.size))
        if not isinstance(value, list):
            return value
        found = _as_array(value)
        return [self.pack(v) for v in value] if found is None else self._place(found, list(found.shape))

    def _place(self, a: Array, shape: int | list[int]) -> Json:
        kind = _smallest(a)
        planes = np.ascontiguousarray(a, dtype=f"<{kind}").reshape(-1).view(np.uint8).reshape(a.size, int(kind[1])).T
        start = self.size
        self.arrays.append(planes.tobytes())
        self.size += planes.size
        return {"$": [kind, start, shape]}


def _as_array(value: list[Json]) -> Array | None:
    """A list of numbers, or of equally long lists of them, as an array; None for anything else, and for few numbers."""
    first = value
    while isinstance(first, list) and first and isinstance(first[0], list):
        first = first[0]
    if not first or not isinstance(first[0], int | float | None) or isinstance(first[0], bool):
        return None
    try:
        found = np.array(value, dtype=np.float64)  # None becomes NaN, which no description holds
    except (TypeError, ValueError, OverflowError):
        return None
    flat = np.array(value, dtype=object).ravel()
    if found.size < MIN_NUMBERS or any(type(v) not in (int, float, type(None)) for v in flat):
        return None
    return np.where(np.isnan(found), -np.inf, found)


def _smallest(a: Array) -> str:
    """The smallest type that holds these numbers exactly."""
    whole = a.dtype.kind in "iu" or (np.isfinite(a).all() and np.array_equal(a, np.trunc(a)))
    if whole and not (a.dtype.kind == "f" and np.signbit(a[a == 0]).any()):
        low, high = (int(a.min()), int(a.max())) if a.size else (0, 0)
        for kind in INTEGERS:
            if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
                return kind
    single = a.astype(np.float32)
    return "f4" if np.array_equal(single.astype(np.float64), a) else "f8"
