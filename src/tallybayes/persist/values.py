"""Values ↔ JSON and arrays. What is not a plain JSON value is an object with one key, which says what it is:

{"tuple": […]}   {"dict": [[key, value], …]}   {"bytes": "hex"}   {"float": "nan" | "inf" | "-inf"}
{"array": 3}         entry 3 of the file's arrays; each is used once
{"objects": […]}     a one-dimensional NumPy array of Python objects;   {"texts": […]}: of NumPy's StringDType
{"distribution": 2}  entry 2 of the file's distributions: the same entry is the same object
{"schema": {…}}
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from tallybayes import distributions
from tallybayes.distributions import Distribution
from tallybayes.errors import ModelFileError
from tallybayes.schema import Cuts, Levels, Schema
from tallybayes.source import Container

Array = NDArray[Any]
Json = Any

DEEP = 32  # levels of nesting; more is an accident, or an attack
BITS = 4096  # of an integer
CONTAINERS: tuple[str, ...] = get_args(Container)
LABELS = "strings, whole numbers, numbers, booleans and bytes"


class Writer:
    """Turns values into JSON; collects the arrays and distributions they refer to."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self.distributions: list[Json] = []
        self._places: dict[int, int] = {}  # of distributions, by identity

    def value(self, v: Any, where: str, depth: int = 0) -> Json:
        """where: what to call the value if it cannot be stored."""
        if depth > DEEP:
            raise ModelFileError(f"{where} is nested more than {DEEP} deep.")
        if isinstance(v, np.generic) and not isinstance(v, np.void):
            v = v.item()
        if v is None or isinstance(v, bool | str):
            return str(v) if isinstance(v, str) else v
        if isinstance(v, int):
            if v.bit_length() > BITS:
                raise ModelFileError(f"{where} holds an integer of {v.bit_length()} bits; at most {BITS} are stored.")
            return int(v)
        if isinstance(v, float):
            return float(v) if math.isfinite(v) else {"float": repr(float(v))}
        if isinstance(v, bytes):
            return {"bytes": v.hex()}
        if isinstance(v, list):
            return [self.value(item, where, depth + 1) for item in v]
        if type(v) is tuple:
            return {"tuple": [self.value(item, where, depth + 1) for item in v]}
        if isinstance(v, dict):
            pairs = [[self.label(k, where), self.value(item, where, depth + 1)] for k, item in v.items()]
            return {"dict": pairs}
        if isinstance(v, np.ndarray):
            return self.array(v, where, depth)
        if isinstance(v, Distribution):
            return {"distribution": self._distribution(v, where, depth)}
        if isinstance(v, Schema):
            return {"schema": self.schema(v)}
        raise ModelFileError(
            f"{where} holds a {type(v).__name__}, which a model file cannot: it holds numbers, strings, lists, dicts, "
            "arrays, and distributions known by name. Give it as one of these, or pickle the model."
        )

    def array(self, a: Array, where: str, depth: int = 0) -> Json:
        if a.dtype.kind == "T" and a.ndim == 1:
            return {"texts": [str(v) for v in a.tolist()]}
        if a.dtype.kind == "O" and a.ndim == 1:
            return {"objects": [self.value(v, where, depth + 1) for v in a.tolist()]}
        if a.dtype.kind not in "biufUS" or a.dtype.itemsize == 0 or a.dtype == np.longdouble != np.float64:
            raise ModelFileError(f"{where} is an array of type {a.dtype}, which a model file cannot hold.")
        self.arrays.append(a)
        return {"array": len(self.arrays) - 1}

    def label(self, v: Any, where: str) -> Json:
        """A class label, the label of a level, or the key of a dict."""
        v = v.item() if isinstance(v, np.generic) else v
        if not isinstance(v, str | bytes | bool | int | float) or v != v:
            raise ModelFileError(
                f"{where} has the label {v!r:.60} of type {type(v).__name__}. A model file holds labels that are "
                f"{LABELS}. Turn it into a string, or pickle the model."
            )
        return self.value(v, where)

    def schema(self, s: Schema) -> Json:
        return {
            "kinds": list(s.kinds),
            "names": None if s.names is None else list(s.names),
            "container": s.container,
            "levels": [
                [
                    j,
                    {
                        "labels": [self.label(v, f"Column {s.name(j)!r}") for v in known.labels],
                        "declared": sorted(known.declared),
                    },
                ]
                for j, known in s.levels.items()
            ],
            "cuts": [
                [j, {"points": self.array(c.points, "Cuts"), "low": float(c.low), "high": float(c.high)}]
                for j, c in s.cuts.items()
            ],
            "ambiguous": list(s.ambiguous),
        }

    def _distribution(self, d: Distribution, where: str, depth: int) -> int:
        if id(d) not in self._places:
            if distributions.known().get(d.name) is not type(d):
                raise ModelFileError(
                    f"{where} has the distribution {type(d).__name__}, which is not known by its name {d.name!r}: put "
                    "@register above the class, here and wherever the file is loaded."
                )
            options = {
                f.name: self.value(getattr(d, f.name), f"{where}: {f.name}", depth + 1)
                for f in dataclasses.fields(d)  # type: ignore[arg-type]
            }
            self.distributions.append({"name": d.name, "options": options})
            self._places[id(d)] = len(self.distributions) - 1
        return self._places[id(d)]


class Reader:
    """The way back. Whatever the JSON is: a value, or a ModelFileError."""

    def __init__(self, arrays: list[Array], listed: Json) -> None:
        self._arrays = dict(enumerate(arrays))
        self._distributions: list[Distribution] = []
        for entry in items(listed, "distributions"):
            self._distributions.append(self._distribution(fields(entry, "a distribution", "name", "options")))

    def done(self) -> None:
        if self._arrays:
            raise ModelFileError(f"Its array {min(self._arrays)} belongs to nothing.")

    def value(self, j: Json, where: str, depth: int = 0) -> Any:
        if depth > DEEP:
            raise ModelFileError(f"{where} is nested more than {DEEP} deep.")
        if isinstance(j, list):
            return [self.value(item, where, depth + 1) for item in j]
        if not isinstance(j, dict):
            return scalar(j, where)
        if len(j) != 1:
            raise ModelFileError(f"{where} is not a value.")
        [(kind, inside)] = j.items()
        read = self._kinds().get(kind)
        if read is None:
            raise ModelFileError(f"{where} is a {kind!r:.40}, which this version does not know.")
        return read(inside, where, depth + 1)

    def _kinds(self) -> dict[str, Callable[[Json, str, int], Any]]:
        return {
            "tuple": lambda j, where, depth: tuple(self._values(j, where, depth)),
            "dict": self._dict,
            "bytes": lambda j, where, _: _bytes(j, where),
            "float": lambda j, where, _: _not_finite(j, where),
            "array": lambda j, where, _: self._array(j, where),
            "objects": lambda j, where, depth: _object_array(self._values(j, where, depth)),
            "texts": lambda j, where, _: _text_array(texts(j, where), where),
            "distribution": lambda j, where, _: self._distributions[index(j, len(self._distributions), where)],
            "schema": lambda j, _, __: self.schema(j),
        }

    def _values(self, j: Json, where: str, depth: int) -> list[Any]:
        return [self.value(item, where, depth) for item in items(j, where)]

    def _dict(self, j: Json, where: str, depth: int) -> dict[Any, Any]:
        pairs = [items(pair, where, 2) for pair in items(j, where)]
        found = {self.label(key, where): self.value(v, where, depth) for key, v in pairs}
        if len(found) < len(pairs):
            raise ModelFileError(f"{where} has a key twice.")
        return found

    def _array(self, j: Json, where: str) -> Array:
        found = self._arrays.pop(j, None) if type(j) is int else None
        if found is None:
            raise ModelFileError(f"{where} refers to an array that is not there, or is used elsewhere.")
        return found

    def numbers(self, j: Json, where: str) -> Array:
        """An array of numbers, such as a tally has."""
        [entry] = fields(j, where, "array")
        found = self._array(entry, where)
        if found.dtype.kind not in "fiu":
            raise ModelFileError(f"{where} is an array of type {found.dtype}, not of numbers.")
        return found

    def label(self, j: Json, where: str) -> Any:
        v = self.value(j, where)
        if not isinstance(v, str | bytes | bool | int | float) or v != v:
            raise ModelFileError(f"{where} has a label that is none: {v!r:.60}.")
        return v

    def schema(self, j: Json) -> Schema:
        kinds, names, container, levels, cuts, ambiguous = fields(
            j, "the schema", "kinds", "names", "container", "levels", "cuts", "ambiguous"
        )
        d = len(items(kinds, "kinds"))
        if container not in CONTAINERS:
            raise ModelFileError(f"The schema is of a container {container!r:.40}; known: {', '.join(CONTAINERS)}.")
        return Schema(
            kinds=tuple(texts(kinds, "kinds")),  # type: ignore[arg-type]
            names=None if names is None else tuple(texts(names, "names")),
            container=container,
            levels={column: self._levels(v) for column, v in _by_column(levels, d, "levels")},
            cuts={column: self._cuts(v) for column, v in _by_column(cuts, d, "cuts")},
            ambiguous=tuple(index(v, d, "ambiguous") for v in items(ambiguous, "ambiguous")),
        )

    def _levels(self, j: Json) -> Levels:
        labels, declared = fields(j, "levels", "labels", "declared")
        found = tuple(self.label(v, "levels") for v in items(labels, "levels"))
        return Levels(found, frozenset(index(v, len(found), "declared") for v in items(declared, "declared")))

    def _cuts(self, j: Json) -> Cuts:
        points, low, high = fields(j, "cuts", "points", "low", "high")
        if not isinstance(low, float) or not isinstance(high, float):
            raise ModelFileError("A range of cuts is not two numbers.")
        return Cuts(self.numbers(points, "cuts"), low, high)

    def _distribution(self, parts: list[Json]) -> Distribution:
        name, options = parts
        cls = distributions.known().get(name) if isinstance(name, str) else None
        if cls is None:
            raise ModelFileError(
                f"It uses the distribution {name!r:.60}, which is not registered here. Import the module that "
                "registers it, then load the file."
            )
        allowed = {f.name for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
        found = {key: self.value(v, f"{name}: {key}") for key, v in mapping(options, name).items()}
        if not set(found) <= allowed:
            raise ModelFileError(f"The distribution {name!r} has no option {min(set(found) - allowed)!r:.60}.")
        return cls(**found)


# --- JSON of an expected form, or a ModelFileError ---------------------------------------------------------------


def fields(j: Json, where: str, *names: str) -> list[Json]:
    """The values of an object that has these keys and no others."""
    if not isinstance(j, dict) or set(j) != set(names):
        raise ModelFileError(f"{where} does not have the entries {', '.join(names)}.")
    return [j[name] for name in names]


def mapping(j: Json, where: str) -> dict[str, Json]:
    if not isinstance(j, dict):
        raise ModelFileError(f"{where} is not an object.")
    return j


def items(j: Json, where: str, n: int | None = None) -> list[Json]:
    if not isinstance(j, list) or (n is not None and len(j) != n):
        raise ModelFileError(f"{where} is not a list{'' if n is None else f' of {n}'}.")
    return j


def texts(j: Json, where: str) -> list[str]:
    if not all(isinstance(v, str) for v in items(j, where)):
        raise ModelFileError(f"{where} are not all strings.")
    return items(j, where)


def index(j: Json, n: int, where: str) -> int:
    """A whole number from 0 to n − 1."""
    if type(j) is not int or not 0 <= j < n:
        raise ModelFileError(f"{where} is {j!r:.40}; expected a whole number from 0 to {n - 1}.")
    return j


def scalar(j: Json, where: str) -> Any:
    if isinstance(j, int) and j.bit_length() > BITS:
        raise ModelFileError(f"{where} holds an integer of more than {BITS} bits.")
    if isinstance(j, float) and not math.isfinite(j):  # 1e999 is valid JSON
        raise ModelFileError(f"{where} holds a number too large for a float64.")
    return j


def _by_column(j: Json, d: int, where: str) -> list[tuple[int, Json]]:
    pairs = [items(pair, where, 2) for pair in items(j, where)]
    found = [(index(column, d, where), v) for column, v in pairs]
    if len({column for column, _ in found}) < len(found):
        raise ModelFileError(f"{where} names a column twice.")
    return found


def _bytes(j: Json, where: str) -> bytes:
    try:
        return bytes.fromhex(j)
    except (TypeError, ValueError):
        raise ModelFileError(f"{where} has bytes that are not hexadecimal.") from None


def _not_finite(j: Json, where: str) -> float:
    if j not in ("nan", "inf", "-inf"):
        raise ModelFileError(f"{where} has a float {j!r:.40}; expected nan, inf or -inf.")
    return float(j)


def _object_array(values: list[Any]) -> Array:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _text_array(values: list[str], where: str) -> Array:
    if not hasattr(np.dtypes, "StringDType"):
        raise ModelFileError(f"{where} is an array of NumPy's StringDType, which needs NumPy 2.")
    return np.array(values, dtype=np.dtypes.StringDType())
