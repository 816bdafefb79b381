"""JSON and arrays → values, the way back of value_writer.py. Whatever the JSON is: a value, or an error."""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Callable, Sequence
from typing import Any, get_args

import numpy as np

from tallybayes import distributions
from tallybayes.data.expansion import CALENDAR_PARTS, NUMBER, TEMPORAL_KINDS, Expansion
from tallybayes.data.labels import is_label
from tallybayes.data.schema import KINDS, Cuts, DistributionChoice, Levels, Schema
from tallybayes.data.table import Container
from tallybayes.distributions import Distribution
from tallybayes.errors import ModelFileError
from tallybayes.io.json_checks import Json, fields, index, items, mapping, scalar, texts
from tallybayes.io.value_writer import DEEP
from tallybayes.utils.array_types import Array

CONTAINERS: tuple[Container, ...] = get_args(Container)


class ValueReader:
    """The way back. Whatever the JSON is: a value, or a ModelFileError."""

    def __init__(self, arrays: list[Array], listed: Json) -> None:
        self._arrays = dict(enumerate(arrays))
        self._known = distributions.known()
        self._kinds = self._all_kinds()
        self._distributions: list[Distribution] = []
        for entry in items(listed, "distributions"):
            self._distributions.append(self._distribution(fields(entry, "a distribution", "name", "options")))

    def done(self) -> None:
        """Refuse arrays that nothing has named."""
        if self._arrays:
            raise ModelFileError(f"Its array {min(self._arrays)} belongs to nothing.")

    def value(self, j: Json, where: str, depth: int = 0) -> Any:
        """Read one value of the file.

        Parameters
        ----------
        j : JSON values
            What the file has there.
        where : str
            What to call it in an error.
        depth : int, default=0
            How deep it lies in others.

        Returns
        -------
        object
            Of Python or NumPy.
        """
        if depth > DEEP:
            raise ModelFileError(f"{where} is nested more than {DEEP} deep.")
        if isinstance(j, list):
            return [self.value(item, where, depth + 1) for item in j]
        if not isinstance(j, dict):
            return scalar(j, where)
        if len(j) != 1:
            raise ModelFileError(f"{where} is not a value.")
        [(kind, inside)] = j.items()
        read = self._kinds.get(kind)
        if read is None:
            raise ModelFileError(f"{where} is a {kind!r:.40}, which this version does not know.")
        return read(inside, where, depth + 1)

    def _all_kinds(self) -> dict[str, Callable[[Json, str, int], object]]:
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

    def _values(self, j: Json, where: str, depth: int) -> list[object]:
        return [self.value(item, where, depth) for item in items(j, where)]

    def _dict(self, j: Json, where: str, depth: int) -> dict[object, object]:
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
        """Read an array of numbers, such as a tally has.

        Parameters
        ----------
        j : JSON values
            What the file has there.
        where : str
            What to call it in an error.

        Returns
        -------
        ndarray
            Numbers.
        """
        [entry] = fields(j, where, "array")
        found = self._array(entry, where)
        if found.dtype.kind not in "fiu":
            raise ModelFileError(f"{where} is an array of type {found.dtype}, not of numbers.")
        return found

    def label(self, j: Json, where: str) -> object:
        """Read the label of a class or level.

        Parameters
        ----------
        j : JSON values
            What the file has there.
        where : str
            What to call it in an error.

        Returns
        -------
        object
            A string, bytes, a boolean or a number.
        """
        v = self.value(j, where)
        if not is_label(v):
            raise ModelFileError(f"{where} has a label that is none: {v!r:.60}.")
        return v

    def schema(self, j: Json) -> Schema:
        """Read what the columns are.

        Parameters
        ----------
        j : JSON values
            What the file has there.

        Returns
        -------
        Schema
            Checked.
        """
        kinds, names, container, levels, cuts, ambiguous, chosen, given, extra = fields(
            j, "the schema", "kinds", "names", "container", "levels", "cuts", "ambiguous", "chosen", "given", "extra"
        )
        d = len(items(kinds, "kinds"))
        known = next((c for c in CONTAINERS if c == container), None)
        if known is None:
            raise ModelFileError(f"The schema is of a container {container!r:.40}; known: {', '.join(CONTAINERS)}.")
        found = Schema(
            kinds=tuple(texts(kinds, "kinds")),  # type: ignore[arg-type]
            names=None if names is None else tuple(texts(names, "names")),
            container=known,
            levels={column: self._levels(v) for column, v in _by_column(levels, d, "levels")},
            cuts={column: self._cuts(v) for column, v in _by_column(cuts, d, "cuts")},
            ambiguous=tuple(index(v, d, "ambiguous") for v in items(ambiguous, "ambiguous")),
            chosen={column: _choice(v) for column, v in _by_column(chosen, d, "chosen")},
            expansion=None if given is None else tuple(_given(v) for v in items(given, "given")),
            extra=extra is True,
        )
        _check_schema(found)
        return found

    def _levels(self, j: Json) -> Levels:
        labels, declared = fields(j, "levels", "labels", "declared")
        found = tuple(self.label(v, "levels") for v in items(labels, "levels"))
        codes = frozenset(index(v, len(found), "declared") for v in items(declared, "declared"))
        try:
            return Levels(found, codes)
        except ValueError as e:
            raise ModelFileError(f"The schema has a level twice, or one that is none: {e}.") from None

    def _cuts(self, j: Json) -> Cuts:
        points, low, high = fields(j, "cuts", "points", "low", "high")
        if not isinstance(low, float) or not isinstance(high, float):
            raise ModelFileError("A range of cuts is not two numbers.")
        return Cuts(self.numbers(points, "cuts"), low, high)

    def _distribution(self, parts: list[Json]) -> Distribution:
        name, options = parts
        cls = self._known.get(name) if isinstance(name, str) else None
        if cls is None or not isinstance(name, str):
            raise ModelFileError(
                f"It uses the distribution {name!r:.60}, which is not registered here. Import the module that "
                "registers it, then load the file."
            )
        allowed = {f.name for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
        found = {key: self.value(v, f"{name}: {key}") for key, v in mapping(options, name).items()}
        if not set(found) <= allowed:
            raise ModelFileError(f"The distribution {name!r} has no option {min(set(found) - allowed)!r:.60}.")
        hints = _hints(cls)
        for key, v in found.items():
            if not _fits(v, hints.get(key, Any)):
                raise ModelFileError(f"The option {key!r} of the distribution {name!r} cannot be {v!r:.60}.")
        return cls(**found)


def _choice(j: Json) -> DistributionChoice:
    name, losses, rows = fields(j, "chosen", "name", "losses", "rows")
    found: dict[str, float] = {}
    for pair in items(losses, "losses"):
        candidate, loss = items(pair, "losses", 2)
        if not isinstance(candidate, str) or not isinstance(loss, float) or not math.isfinite(loss):
            raise ModelFileError("The schema's choices are not names and finite numbers.")
        found[candidate] = loss
    if not isinstance(name, str) or type(rows) is not int:
        raise ModelFileError("The schema's choices are not names of distributions.")
    return DistributionChoice(name, found, rows)


def _given(j: Json) -> Expansion:
    name, what, parts, zone = fields(j, "given", "name", "what", "parts", "zone")
    found = next((w for w in ("column", "id", *TEMPORAL_KINDS) if w == what), None)
    if found is None or not isinstance(name, str | None) or not isinstance(zone, str | None):
        raise ModelFileError("The columns that the schema is given are not known ones.")
    known = (NUMBER[found], *CALENDAR_PARTS.get(found, ())) if found in TEMPORAL_KINDS else ()
    own = tuple(texts(parts, "parts"))
    if not set(own) <= set(known) or len(set(own)) < len(own) or own[:1] != known[:1]:
        raise ModelFileError(f"The parts of a {found} are not known ones.")
    return Expansion(name, found, own, zone)  # type: ignore[arg-type]


def _check_given(s: Schema) -> None:
    """Do the columns that are read follow from those that are given?"""
    assert s.expansion is not None
    named = {g.name is None for g in s.expansion}
    names = [name for j, g in enumerate(s.expansion) for name in g.columns(j)]
    if len(named) != 1 or list(s.names or ()) != names:
        raise ModelFileError("The schema's columns are not those that follow from what it is given.")


def _check_schema(s: Schema) -> None:
    if not s.d or not all(kind in KINDS for kind in s.kinds):
        raise ModelFileError("The schema's kinds are not known ones.")
    if s.names is not None and (len(s.names) != s.d or len(set(s.names)) < s.d):
        raise ModelFileError(f"The schema does not have {s.d} different names.")
    if s.expansion is not None:
        _check_given(s)
    for cuts in s.cuts.values():
        p = cuts.points
        finite = np.isfinite(p).all() and np.isfinite([cuts.low, cuts.high]).all()
        if p.dtype != np.float64 or p.ndim != 1 or not finite:
            raise ModelFileError("The schema's cuts are not finite numbers.")
        if not (np.diff(p) > 0).all() or cuts.low > cuts.high:
            raise ModelFileError("The schema's cuts do not rise.")


def _by_column(j: Json, d: int, where: str) -> list[tuple[int, Json]]:
    pairs = [items(pair, where, 2) for pair in items(j, where)]
    found = [(index(column, d, where), v) for column, v in pairs]
    if len({column for column, _ in found}) < len(found):
        raise ModelFileError(f"{where} names a column twice.")
    return found


def _bytes(j: Json, where: str) -> bytes:
    try:
        return bytes.fromhex(j if isinstance(j, str) else "?")
    except ValueError:
        raise ModelFileError(f"{where} has bytes that are not hexadecimal.") from None


def _not_finite(j: Json, where: str) -> float:
    if j not in ("nan", "inf", "-inf"):
        raise ModelFileError(f"{where} has a float {j!r:.40}; expected nan, inf or -inf.")
    return float(j)


def _object_array(values: list[object]) -> Array:
    out = np.empty(len(values), dtype=object)
    for i, v in enumerate(values):  # a slice would look into lists
        out[i] = v
    return out


def _text_array(values: list[str], where: str) -> Array:
    if not hasattr(np.dtypes, "StringDType"):
        raise ModelFileError(f"{where} is an array of NumPy's StringDType, which needs NumPy 2.")
    return np.array(values, dtype=np.dtypes.StringDType())


@functools.cache
def _hints(cls: type) -> dict[str, object]:
    try:
        return typing.get_type_hints(cls)
    except (NameError, TypeError):  # a class from elsewhere, with names that exist only for its type checker
        return {}


def _is_number(v: object) -> bool:
    """One number, or an array of one for each column."""
    numbers = isinstance(v, np.ndarray) and v.ndim <= 1 and v.dtype.kind in "fiu"
    return numbers or (isinstance(v, int | float) and not isinstance(v, bool))


def _fits(v: object, hint: object) -> bool:
    """Is v of the type that the field of a distribution says? What is no simple type is let through."""
    origin, inside = typing.get_origin(hint), get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return any(_fits(v, each) for each in inside)
    if origin is tuple and inside[1:] == (...,):
        return isinstance(v, tuple) and all(_fits(item, inside[0]) for item in v)
    if origin is Sequence:
        return isinstance(v, list | tuple) and all(_fits(item, inside[0]) for item in v)
    if hint is float:
        return _is_number(v)
    if hint in (bool, int, str):
        return isinstance(v, hint)
    return True
