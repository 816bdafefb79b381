"""What a model has chosen on rows, as opposed to counted, and how each choice is renewed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallybayes.data.schema import Schema

if TYPE_CHECKING:
    from tallybayes.estimators.state import ModelState

FIT = "fit(X, y) on the rows that remain"
RELEARN = "relearn(X, y) with the rows that remain"


def choices(model: ModelState) -> dict[str, str]:
    """What was chosen on the first rows and stays when rows are added or removed, and how it is renewed."""
    schema, given = model.fitted_.schema, model._given_schema()
    found: dict[str, str] = {}
    if not isinstance(given, Schema):
        found["column kinds"] = FIT
    own = given.cuts if isinstance(given, Schema) else {}
    if any(j not in own for j in schema.cuts):
        found["bins"] = FIT
    if any(choice.losses for choice in schema.chosen.values()):
        found["distributions of columns"] = FIT
    what = model._chosen_on_rows()
    if what:
        found[what] = RELEARN if hasattr(model, "relearn") else FIT
    if "temperature_" in vars(model):
        found["temperature"] = "temper(X, y) with the rows that remain"
    return found
