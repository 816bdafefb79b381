"""The what-if part of a page: what the script needs to know besides the model's description."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tallybayes.data.stored_column import is_unnamed
from tallybayes.distributions.context import Json
from tallybayes.errors import ExportError, OptionError
from tallybayes.export.compact_json import packed
from tallybayes.export.model_json import described, dumps
from tallybayes.model.predictor import Predictor
from tallybayes.reports.html import Child, Markup, join, tag
from tallybayes.reports.usual_row import usual_values
from tallybayes.utils.array_types import Array

DRAWN = 400  # rows drawn from the model, for ranges and usual values
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
    drawn, usual = _drawn(predictor), usual_values(predictor.fitted)
    seen, counts = seen or {}, counts or {}
    order = list(telling) or list(range(len(columns)))
    found = []
    for j, column in enumerate(columns):
        control = _control(column, drawn.get(j), usual.get(j), seen.get(j), counts.get(j, {}))
        there = len(seen.get(j, ())) or sum(counts.get(j, {}).values())
        if there < rows / 2 if rows else usual.get(j, 0) is None:
            control["missing"] = True  # in a usual row
        found.append(control)
    return {
        "columns": found,
        "shown": order[:SHOWN],
        "order": order,
    }


def _drawn(predictor: Predictor) -> Mapping[int, Array]:
    """Values of each column as the model draws them: numbers, or codes. Of a term that draws nothing there are none."""
    fitted, rng = predictor.fitted, np.random.default_rng(0)
    share = np.exp(fitted.prior - fitted.prior.max())
    y = rng.choice(fitted.K, size=DRAWN, p=share / share.sum()).astype(np.int32)
    out: dict[int, Array] = {}
    for term in fitted.terms:
        try:
            drawn = term.distribution.sample(term.params, y, rng)
        except OptionError:
            continue
        out |= dict(zip(term.columns, drawn, strict=True))
    return out


def _control(
    column: Json, drawn: Array | None, usual: float | None, seen: Array | None, counts: Mapping[object, int]
) -> Json:
    """start: what the control shows first; low, high, step: of a slider; hidden: levels that were forgotten."""
    if column["reads"] == "levels":
        hidden = [code for code, v in enumerate(column["levels"]) if is_unnamed(v, code)]
        return {"start": _level(column, drawn, usual, counts), **({"hidden": hidden} if hidden else {})}
    if seen is not None and len(seen):
        return slider(seen)
    numbers = np.empty(0)
    if column["reads"] == "cuts":
        cuts = [float(v) for v in column["cuts"]]
        room = (cuts[-1] - cuts[0]) / 2 or max(abs(cuts[0]), 1.0) if cuts else 1.0
        numbers = np.array([cuts[0] - room, *cuts, cuts[-1] + room]) if cuts else np.array([0.0, 1.0])
        if cuts and all(2 * v == round(2 * v) for v in cuts):  # between whole numbers
            numbers = np.round(numbers)
    elif drawn is not None:
        numbers = drawn[np.isfinite(drawn)].astype(float)
    return slider(numbers, usual)


def _level(column: Json, drawn: Array | None, usual: float | None, counts: Mapping[object, int]) -> int:
    """The code of the most frequent level."""
    often = [counts.get(v, 0) for v in column["levels"]]
    if any(often):
        return int(np.argmax(often))
    if usual is not None:
        return int(usual)
    known = drawn[(drawn >= 0) & (drawn < len(column["levels"]))].astype(int) if drawn is not None else np.empty(0, int)
    return int(np.bincount(known).argmax()) if len(known) else 0


def slider(numbers: Array, middle: float | None = None) -> Json:
    """A slider that goes over these numbers in steps that are easy to read, by 1 over whole numbers; middle: where it
    starts, by default their median."""
    if not len(numbers):
        return {"start": 0.0, "low": 0.0, "high": 1.0, "step": 0.01}
    low, high = float(numbers.min()), float(numbers.max())
    width = high - low or max(abs(high), 1.0)
    step = 10.0 ** math.floor(math.log10(width / 100)) if 0 < width < 1e300 else 1.0
    if bool(np.all(numbers == np.round(numbers))) and 1 <= width < 1e15:
        step = 1.0
    if low == high:  # nowhere to slide to
        return {"start": low, "low": low, "high": low, "step": step}
    middle = float(np.median(numbers)) if middle is None else middle
    start = round(middle / step) * step if abs(middle / step) < 1e15 else middle
    return {
        "start": float(f"{start:.12g}"),
        "low": math.floor(low / step) * step,
        "high": math.ceil(high / step) * step,
        "step": step,
    }


def row_of(values: Mapping[str, object]) -> Json:
    """A row of a table as JSON has it; what has no such form is missing."""
    out: dict[str, Json] = {}
    for name, value in values.items():
        plain = value.item() if hasattr(value, "item") else value
        fine = isinstance(plain, str | bool | int) or (isinstance(plain, float) and math.isfinite(plain))
        out[name] = plain if fine else None
    return out


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
                    tag("input", type="search", id="prior-of", list="class-names", autocomplete="off"),
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
    search = tag("input", type="search", id="find-class", list="class-names", autocomplete="off")
    return join(
        [
            tag("h3", "Probabilities"),
            tag("ul", id="probabilities", class_="bars"),
            tag("p", tag("label", "Show class ", search), id="find-line", hidden=len(classes) <= MOST_OPTIONS),
            tag("h3", "Evidence"),
            tag("p", tag("label", "For ", choice), " against the rest; ×3 multiplies the odds by 3, ÷3 divides them."),
            tag("ul", id="evidence", class_="bars evidence"),
        ]
    )
