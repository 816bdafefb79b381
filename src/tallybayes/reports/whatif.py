"""The what-if part of a page: what the script needs to know besides the model's description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tallybayes.data.schema import Schema
from tallybayes.data.stored_column import is_unnamed
from tallybayes.distributions.context import Json
from tallybayes.errors import ExportError
from tallybayes.export.compact_json import packed
from tallybayes.export.model_json import described, dumps
from tallybayes.model.predictor import Predictor
from tallybayes.reports.controls import (
    drawn_values,
    interval_order,
    numbers_of,
    plain_value,
    slider,
    usual_level,
    usual_values,
)
from tallybayes.reports.html import Child, Markup, join, tag
from tallybayes.utils.array_types import Array

Seen = tuple[Array, Mapping[object, int]]  # numbers of a column, or how often it has each level
SHOWN = 24  # columns that have a control from the start
MOST_OPTIONS = 20  # classes in a menu; of more one is searched for by its name
PLAIN_BYTES = 200_000  # up to which a description stands in a page as it is
MOST_BYTES = 16_000_000  # of a compact one


def embedded(predictor: Predictor) -> tuple[Json, list[Json]]:
    """The model as it stands in a page, and its columns; compact unless it is small anyway."""
    found = described(predictor, counts=True)
    columns = found["columns"]
    if not any("counts" in term for term in found["terms"]):
        text = dumps(found)
        if len(text) <= PLAIN_BYTES:
            return found, columns
    small = packed(found)
    size = len(small["data"])
    if size > MOST_BYTES:
        raise ExportError(
            f"The tables of this model take {size / 1e6:.1f} MB, and a page holds {MOST_BYTES / 1e6:.0f} MB of them."
        )
    return small, columns


def controls(
    predictor: Predictor,
    columns: Sequence[Json],
    telling: Sequence[int],
    seen: Mapping[int, Array] | None = None,
    counts: Mapping[int, Mapping[object, int]] | None = None,
    rows: int = 0,
) -> Json:
    """Of each column the range of its numbers and a usual value; and which columns are shown first.

    telling: the columns, the most informative first. seen, counts: numbers and levels of columns as so many rows have
    them; else they are those of the learned rows, or, where these were not counted, drawn from the model.
    """
    fitted = predictor.fitted
    (drawn, _), usual = drawn_values(fitted), usual_values(fitted)
    seen, counts = seen or {}, counts or {}
    order = list(telling) or list(range(len(columns)))
    found = []
    for j, column in enumerate(columns):
        own = (seen.get(j, np.empty(0)), counts.get(j, {}))
        control = _control(column, fitted.schema, j, drawn.get(j), usual.get(j), own)
        there = len(seen.get(j, ())) or sum(counts.get(j, {}).values())
        if there < rows / 2 if rows else usual.get(j, 0) is None:
            control["missing"] = True  # in a usual row
        found.append(control)
    return {
        "columns": found,
        "shown": order[:SHOWN],
        "order": order,
    }


def _control(column: Json, schema: Schema, j: int, drawn: Array | None, usual: float | None, seen: Seen) -> Json:
    """start: what the control shows first; low, high, step: of a slider; hidden: levels that were forgotten."""
    if column["reads"] == "text":
        return {"start": "", "missing": True}
    numbers, counts = seen
    if column["reads"] == "levels":
        often = [counts.get(v, 0) for v in column["levels"]]
        most = int(np.argmax(often)) if any(often) else usual_level(len(often), drawn, usual)
        hidden = [code for code, v in enumerate(column["levels"]) if is_unnamed(v, code)]
        found = {"start": most or 0, **({"hidden": hidden} if hidden else {})}
        rising = interval_order(column["levels"])
        return found if rising == sorted(rising) else {**found, "sorted": rising}
    if len(numbers):
        return slider(numbers)._asdict()
    return slider(numbers_of(schema, j, drawn), usual)._asdict()


def row_of(values: Mapping[str, object]) -> Json:
    """A row of a table as JSON has it."""
    return {name: plain_value(value) for name, value in values.items()}


def section(classes: Sequence[object], live: bool = False) -> Markup:
    """The frame that the script fills."""
    return tag(
        "section",
        tag("h2", "What if?", id="what-if"),
        tag(
            "p",
            "Change any value, mark it missing, change the prior: the prediction follows at once. The model itself "
            "computes it in this page; nothing leaves it.",
            class_="lead",
        ),
        tag("p", "This part needs a script, which the browser did not run.", id="no-script", class_="note"),
        tag(
            "div",
            tag("p", "", id="said", role="status", aria_live="polite"),
            tag("div", _answers(classes), class_="panel", id="answers"),
            tag("div", _controls(), class_="panel", id="row-panel"),
            id="play",
            hidden=True,
        ),
        tag("p", "", id="live", class_="note", hidden=not live),
        class_="what-if",
    )


def _controls() -> Child:
    return join(
        [
            tag("h3", "The row"),
            tag(
                "p",
                tag("label", "Start from ", tag("select", id="examples")),
                " ",
                tag("button", "All missing", type="button", id="clear"),
            ),
            tag("div", id="controls"),
            tag(
                "p",
                tag(
                    "label",
                    "Another column ",
                    tag("input", type="search", id="more", list="more-names", autocomplete="off"),
                ),
                tag("datalist", id="more-names"),
                id="more-line",
                hidden=True,
            ),
            tag("h3", "The prior"),
            tag(
                "p",
                tag(
                    "label",
                    "Class ",
                    _class_search("prior-of"),
                ),
                id="prior-line",
                hidden=True,
            ),
            tag("datalist", id="class-names"),
            tag("div", id="priors"),
            tag("p", tag("button", "As learned", type="button", id="learned")),
        ]
    )


def _answers(classes: Sequence[object]) -> Child:
    first = tag("option", "the predicted class", value="")
    some = classes if len(classes) <= MOST_OPTIONS else []
    choice = tag("select", first, [tag("option", str(label), value=str(k)) for k, label in enumerate(some)], id="for")
    search = _class_search("find-class")
    return join(
        [
            tag("h3", "Probabilities"),
            tag("ul", id="probabilities", class_="bars"),
            tag("p", tag("label", "Show class ", search), id="find-line", hidden=len(classes) <= MOST_OPTIONS),
            tag("h3", "Evidence"),
            tag("p", tag("label", "For ", choice), " against the rest; ×3 multiplies the odds by 3, ÷3 divides them."),
            tag("ul", id="evidence", class_="bars evidence"),
            tag(
                "div",
                tag("h3", "Words"),
                tag("p", "What each word does to the odds, compared with the text without it.", class_="note"),
                tag("ul", id="words", class_="bars evidence"),
                id="words-line",
                hidden=True,
            ),
        ]
    )


def _class_search(name: str) -> Markup:
    return tag("input", type="search", id=name, list="class-names", placeholder="its name", autocomplete="off")
