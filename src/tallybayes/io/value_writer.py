"""Values → JSON and arrays. What is not a plain JSON value is an object with one key, which says what it is:

{"tuple": […]}   {"dict": [[key, value], …]}   {"bytes": "hex"}   {"float": "nan" | "inf" | "-inf"}
{"array": 3}         entry 3 of the file's arrays; each is used once
{"objects": […]}     a one-dimensional NumPy array of Python objects;   {"texts": […]}: of NumPy's StringDType
{"distribution": 2}  entry 2 of the file's distributions: the same entry is the same object
{"schema": {…}}
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

import numpy as np

from tallybayes import distributions
from tallybayes.data.labels import SAVABLE_LABELS, is_label
from tallybayes.data.schema import Schema
from tallybayes.distributions import Distribution
from tallybayes.errors import ModelFileError, OptionError, brief
from tallybayes.io.container import storable
from tallybayes.io.json_checks import BITS, Json
from tallybayes.utils.array_types import Array

DEEP = 32  # levels of nesting; more is an accident, or an attack


def read_notes(notes: object) -> Mapping[str, object]:
    """What is kept beside a model, as it comes: a dict, or None for nothing."""
    if notes is None:
        return {}
    if not isinstance(notes, Mapping):
        raise OptionError(f"notes must be a dict, such as {{'source': 'the river'}}; got {brief(notes)}.")
    return notes


class Writer:
    """Turns values into JSON; collects the arrays and distributions they refer to."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self.distributions: list[Json] = []
        self._known = distributions.known()
        self._places: dict[int, int] = {}  # of distributions, by identity

    def value(self, v: object, where: str, depth: int = 0) -> Json:
        """Write one value.

        Parameters
        ----------
        v : object
            Any value.
        where : str
            What to call it if it cannot be stored.
        depth : int, default=0
            How deep it lies in others.

        Returns
        -------
        JSON values
            For `ValueReader.value`.
        """
        if depth > DEEP:
            raise ModelFileError(f"{where} is nested more than {DEEP} deep.")
        if isinstance(v, np.generic) and not isinstance(v, np.void):
            v = v.item()
        if v is None or isinstance(v, bool | str | int | float | bytes):
            return _single(v, where)
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
        """Describe an array as the file does: its place among the arrays, or its labels one by one.

        Parameters
        ----------
        a : ndarray
            Numbers or labels.
        where : str
            What to call it if it cannot be stored.
        depth : int, default=0
            How deep it lies in others.

        Returns
        -------
        JSON values
            For `ValueReader.value`.
        """
        if a.dtype.kind == "T" and a.ndim == 1:
            return {"texts": [str(v) for v in a.tolist()]}
        if a.dtype.kind == "O" and a.ndim == 1:
            return {"objects": [self.value(v, where, depth + 1) for v in a.tolist()]}
        if not storable(a.dtype):
            raise ModelFileError(f"{where} is an array of type {a.dtype}, which a model file cannot hold.")
        self.arrays.append(a)
        return {"array": len(self.arrays) - 1}

    def label(self, v: object, where: str) -> Json:
        """Write a class label, the label of a level, or the key of a dict.

        Parameters
        ----------
        v : object
            A label.
        where : str
            What to call it if it cannot be stored.

        Returns
        -------
        JSON values
            For `Reader.label`.
        """
        v = v.item() if isinstance(v, np.generic) else v
        if not is_label(v):
            raise ModelFileError(
                f"{where} has the label {v!r:.60} of type {type(v).__name__}. A model file holds labels that are "
                f"{SAVABLE_LABELS}. Turn it into a string, or pickle the model."
            )
        return self.value(v, where)

    def schema(self, s: Schema) -> Json:
        """Write what the columns are.

        Parameters
        ----------
        s : Schema
            What the columns are.

        Returns
        -------
        JSON values
            For `Reader.schema`.
        """
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
            "chosen": [
                [j, {"name": c.name, "losses": [[name, float(v)] for name, v in c.losses.items()], "rows": c.rows}]
                for j, c in s.chosen.items()
            ],
            "given": None
            if s.expansion is None
            else [{"name": g.name, "what": g.what, "parts": list(g.parts), "zone": g.zone} for g in s.expansion],
            "extra": s.extra,
        }

    def _distribution(self, d: Distribution, where: str, depth: int) -> int:
        if id(d) not in self._places:
            if self._known.get(d.name) is not type(d):
                raise ModelFileError(
                    f"{where} has the distribution {type(d).__name__}, which is not known by its name {d.name!r}: put "
                    "@register above the class, here and wherever the file is loaded."
                )
            held = {f.name: getattr(d, f.name) for f in dataclasses.fields(d)}  # type: ignore[arg-type]
            options = {key: self.value(v, f"{where}: {key}", depth + 1) for key, v in held.items()}
            self.distributions.append({"name": d.name, "options": options})
            self._places[id(d)] = len(self.distributions) - 1
        return self._places[id(d)]


def _single(v: bool | str | int | float | bytes | None, where: str) -> Json:
    """A value that holds no others."""
    if isinstance(v, str):
        return str(v)
    if v is None or isinstance(v, bool):
        return v
    if isinstance(v, bytes):
        return {"bytes": v.hex()}
    if isinstance(v, int):
        if v.bit_length() > BITS:
            raise ModelFileError(f"{where} holds an integer of {v.bit_length()} bits; at most {BITS} are stored.")
        return int(v)
    return float(v) if math.isfinite(v) else {"float": repr(float(v))}
