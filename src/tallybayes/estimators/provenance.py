"""What a model has chosen on rows, as opposed to counted: on which rows, and how each choice is renewed.

Each choice has an origin: how many rows there were, when, and a hash of their statistics. `forget` notes in every
origin how much was removed since, and drops the hash: whoever has the rows that remain could check a guess of the
removed ones with it. A model file has no times, so that its bytes depend on the model alone.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tallybayes.data.schema import Schema
from tallybayes.distributions.statistics import arrays_of
from tallybayes.errors import is_number
from tallybayes.estimators import row_memory
from tallybayes.estimators.parameters import memory_of
from tallybayes.model.fitted import Fitted

if TYPE_CHECKING:
    from tallybayes.estimators.state import ModelState

RELEARN = "relearn(X, y) with the rows that remain"
OF_PLAN = "relearn(X, y) with all rows that remain, or a new plan with which they are counted again"
TEMPER = "temper(X, y) with the rows that remain"
FIRST = "fit"  # the origin of every choice that has none of its own
Origin = dict[str, Any]  # rows, weight, hash, removed; time, which no file has


@dataclass(frozen=True)
class Choice:
    """One choice that a model has made on rows.

    Parameters
    ----------
    rows : int or None
        How many rows it was made on; None: not known.
    time : str or None
        When: UTC, ISO 8601; it is not compared. None after the model was read from a file, whose bytes do not depend on
        the time.
    hash : str or None
        SHA-256 of the statistics of these rows; with ``memory='rows'`` of the rows. None once rows were forgotten: with
        the rows that remain it would let a guess of the others be checked.
    forgotten : bool or None
        Whether forgotten rows took part in it; None: it cannot be known, because rows were added and forgotten since,
        or because a plan has made it.
    renew : str
        How it is made again without them; empty if it always follows the rows.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> rows = [{"sky": "clear"}, {"sky": "grey"}, {"sky": "grey"}]
    >>> model = NaiveBayes().fit(rows, ["sail", "stay", "sail"]).forget(rows[:1], ["sail"])
    >>> choice = model.provenance_["column kinds"]
    >>> choice.rows, choice.forgotten, choice.renew
    (3, True, 'relearn(X, y) with the rows that remain')
    """

    rows: int | None
    time: str | None = field(compare=False)
    hash: str | None
    forgotten: bool | None
    renew: str


def choices(model: ModelState) -> dict[str, str]:
    """What was chosen on the first rows and stays when rows are added or removed, and how it is renewed."""
    schema, given = model.fitted_.schema, model._given_schema()
    found: dict[str, str] = {}
    if not isinstance(given, Schema):
        found["column kinds"] = RELEARN
    own = given.cuts if isinstance(given, Schema) else {}
    if any(j not in own for j in schema.cuts):
        found["bins"] = RELEARN
    if any(choice.losses for choice in schema.chosen.values()):
        found["distributions of columns"] = RELEARN
    what = model._chosen_on_rows()
    if what:
        found[what] = RELEARN
    if "temperature_" in vars(model):
        found["temperature"] = TEMPER
    if row_memory.holds_all(model):  # the model has the rows for it
        return dict.fromkeys(found, "relearn()")
    origins = model.__dict__.get("_origins", {})
    planned = {name for name in found if _of_plan(origins.get(name) or origins.get(FIRST))}
    return {name: OF_PLAN if name in planned and renew == RELEARN else renew for name, renew in found.items()}


def _of_plan(origin: Origin | None) -> bool:
    """Whether it was chosen for a plan, whose rows may be elsewhere."""
    return origin is not None and origin["weight"] == 0


def provenance(model: ModelState) -> dict[str, Choice]:
    """Each choice, with the rows that it was made on."""
    names, origins = choices(model), model.__dict__.get("_origins", {})
    if memory_of(model) == "rows":
        kept = row_memory.rows_of(model)
        digest = hashlib.sha256(kept.key.tobytes() + kept.w.tobytes()).hexdigest()
        time = origins.get(FIRST, {}).get("time")
        return {name: Choice(kept.n, time, digest, False, "") for name in names}
    now = float(model.fitted_.weight.sum())
    return {name: _choice(origins.get(name) or origins.get(FIRST), now, renew) for name, renew in names.items()}


def _choice(origin: Origin | None, now: float, renew: str) -> Choice:
    if origin is None:
        return Choice(None, None, None, None, renew)
    removed, weight = origin["removed"], origin["weight"]
    nothing_added = abs(now + removed - weight) <= 1e-9 * weight
    forgotten = False if removed == 0 else True if nothing_added else None
    return Choice(origin["rows"], origin.get("time"), origin["hash"], forgotten, renew)


def note_choices(model: ModelState, fitted: Fitted, rows: int, *names: str) -> None:
    """Remember that choices were made on these rows; none named: all of them."""
    origin = {
        "rows": rows,
        "weight": float(fitted.weight.sum()),
        "hash": None if memory_of(model) == "rows" else _hash(fitted),  # there the rows themselves are hashed
        "removed": 0.0,
        "time": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    }
    before = model.__dict__.get("_origins", {}) if names else {}
    model.__dict__["_origins"] = {**before, **dict.fromkeys(names or (FIRST,), origin)}


def note_removed(model: ModelState, weight: float) -> None:
    """Remember that rows were forgotten which may have taken part in the choices."""
    origins = model.__dict__.get("_origins")
    if origins:
        model.__dict__["_origins"] = {
            name: {**origin, "removed": origin["removed"] + weight, "hash": None} for name, origin in origins.items()
        }


def removed_of(model: ModelState) -> float:
    """The weight of the rows that were forgotten since the first choice."""
    return float(model.__dict__.get("_origins", {}).get(FIRST, {}).get("removed", 0.0))


def note_emptied(model: ModelState) -> None:
    """A plan has none of its rows, and no hash by which a guess of them could be checked."""
    origins = model.__dict__.get("_origins", {})
    model.__dict__["_origins"] = {name: {**origin, "weight": 0.0, "hash": None} for name, origin in origins.items()}


def without_times(origins: dict[str, Origin]) -> dict[str, Origin]:
    """As a file has them."""
    return {name: {k: v for k, v in origin.items() if k != "time"} for name, origin in origins.items()}


def check_origins(origins: object) -> None:
    """ValueError if a file's origins are none."""
    if not isinstance(origins, dict):
        raise ValueError("its origins are no dict")
    for name, origin in origins.items():
        fits = (
            isinstance(name, str) and isinstance(origin, dict) and set(origin) == {"rows", "weight", "hash", "removed"}
        )
        numbers = fits and all(
            is_number(origin[key]) and 0 <= origin[key] < np.inf for key in ("rows", "weight", "removed")
        )
        if not numbers or not (origin["hash"] is None or isinstance(origin["hash"], str)):
            raise ValueError(f"the origin of {name!r:.40} is none")


def _hash(fitted: Fitted) -> str:
    """SHA-256 of classes, their weights and all statistics."""
    digest = hashlib.sha256(repr(fitted.classes.tolist()).encode("utf-8", "surrogatepass"))
    digest.update(fitted.weight.tobytes())
    for term in fitted.terms:
        _update(digest, term.statistics)
    return digest.hexdigest()


def _update(digest: Any, value: Any) -> None:
    if value is None or isinstance(value, int | float | str):
        digest.update(repr(value).encode("utf-8", "surrogatepass"))
    elif isinstance(value, np.ndarray) and value.dtype != object:
        digest.update(np.ascontiguousarray(value).data)
    elif isinstance(value, list | tuple | np.ndarray):
        for v in value:
            _update(digest, v)
    else:
        for name, v in arrays_of(value).items():
            digest.update(name.encode())
            _update(digest, v)
