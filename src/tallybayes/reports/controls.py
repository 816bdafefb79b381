"""Controls for the columns of a model: what a usual row has, and the range of numbers.

Medians and modes are those of the learned rows, by the model's counts of bins and levels; where these were not counted,
of rows drawn from the model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tallybayes.data.schema import Cuts, Schema
from tallybayes.distributions.context import Json
from tallybayes.errors import OptionError
from tallybayes.model.fitted import Fitted
from tallybayes.model.forgotten_levels import level_weights
from tallybayes.utils.array_types import Array

DRAWN = 1000  # rows
_NUMBER = r"[-+]?\d+(?:\.\d+)?"
INTERVAL = re.compile(
    rf"(?:<=?|≤|under|below)\s*(?P<below>{_NUMBER})|(?:>=?|≥|over|above)\s*(?P<above>{_NUMBER})|(?P<least>{_NUMBER})\+"
    rf"|[\[(]?(?P<from>{_NUMBER})\s*(?:-|–|to|,|\.\.|<=?\s*\w+\s*<=?)\s*(?:{_NUMBER}|inf)[\])]?"
)


class Slider(NamedTuple):
    """Where it starts, and how it goes over numbers: in steps that are easy to read, by 1 over whole numbers."""

    start: float
    low: float
    high: float
    step: float


def slider(numbers: Array, middle: float | None = None) -> Slider:
    """A slider over these numbers; middle: where it starts, by default their median."""
    if not len(numbers):
        return Slider(0.0, 0.0, 1.0, 0.01)
    low, high = float(numbers.min()), float(numbers.max())
    width = high - low or max(abs(high), 1.0)
    step = 10.0 ** math.floor(math.log10(width / 100)) if 0 < width < 1e300 else 1.0
    if bool(np.all(numbers == np.round(numbers))) and 1 <= width < 1e15:
        step = 1.0
    if low == high:  # nowhere to slide to
        return Slider(low, low, low, step)
    middle = float(np.median(numbers)) if middle is None else middle
    start = round(middle / step) * step if abs(middle / step) < 1e15 else middle
    start, low, high = (
        float(f"{v:.12g}") for v in (start, math.floor(low / step) * step, math.ceil(high / step) * step)
    )
    return Slider(start, low, high, step)


def numbers_of(schema: Schema, j: int, drawn: Array | None) -> Array:
    """The numbers that a slider goes over: the edges of the bins of a column, or what was drawn."""
    if j not in schema.cuts:
        return np.empty(0) if drawn is None else drawn[np.isfinite(drawn)].astype(float)
    cuts = schema.cuts[j]
    points = np.asarray(cuts.points, dtype=float)
    room = (float(np.ptp(points)) / 2 or max(abs(float(points[0])), 1.0)) if len(points) else 1.0
    low = cuts.low if math.isfinite(cuts.low) else points[0] - room if len(points) else 0.0
    high = cuts.high if math.isfinite(cuts.high) else points[-1] + room if len(points) else low + 1.0
    edges = np.array([low, *points, high])
    whole = len(points) > 0 and bool(np.all(2 * points == np.round(2 * points)))  # cuts between whole numbers
    return np.round(edges) if whole and (low == round(low) or not math.isfinite(cuts.low)) else edges


def drawn_values(fitted: Fitted) -> tuple[dict[int, Array], Array]:
    """Values of each column as the model draws them, numbers or codes, and their classes. Of a term that draws nothing
    there are none."""
    rng = np.random.default_rng(0)
    share = np.exp(fitted.prior - fitted.prior.max())
    y = rng.choice(fitted.K, size=DRAWN, p=share / share.sum()).astype(np.int32)
    found: dict[int, Array] = {}
    for term in fitted.terms:
        if all(fitted.schema.kinds[j] == "text" for j in term.columns):
            continue  # no control starts from a text that is drawn
        try:
            drawn = term.distribution.sample(term.params, y, rng)
        except OptionError:
            continue
        found |= dict(zip(term.columns, drawn, strict=True))
    return found, y


def usual_level(size: int, drawn: Array | None, usual: float | None) -> int | None:
    """The code of the most frequent of so many levels."""
    if usual is not None:
        return int(usual)
    codes = np.empty(0, int) if drawn is None else drawn[(drawn >= 0) & (drawn < size)].astype(int)
    return int(np.bincount(codes).argmax()) if len(codes) else None


def interval_order(levels: Sequence[object]) -> list[int]:
    """The places of levels: if half of them are intervals ("<0", "0 to 10", "[10, 20)", "20+"), first and rising."""
    bounds = [_lower_bound(str(v)) for v in levels]
    known = [i for i, low in enumerate(bounds) if low is not None]
    if 2 * len(known) < len(bounds) or len(known) < 2:
        return list(range(len(bounds)))
    return sorted(range(len(bounds)), key=lambda i: (bounds[i] is None, bounds[i] or (0.0, 0)))


def _lower_bound(text: str) -> tuple[float, int] | None:
    """Where an interval begins; what lies above a bound comes after what begins there."""
    found = INTERVAL.fullmatch(text.strip())
    if found is None:
        return None
    if found["below"] is not None:
        return -math.inf, 0
    low = found["above"] or found["least"] or found["from"]
    return float(low), int(found["above"] is not None)


def plain_value(value: object) -> Json:
    """A value as JSON has it; what has no such form is missing."""
    found = value.item() if isinstance(value, np.generic) else value
    return found if isinstance(found, str | bool | int) or (isinstance(found, float) and math.isfinite(found)) else None


def usual_values(fitted: Fitted) -> dict[int, float | int | None]:
    """By column the median of its numbers or the code of its most frequent level; None where most rows have no value.

    A column that is not counted by bin or level (a text, a number with moments) is left out.
    """
    found: dict[int, float | int | None] = {}
    total = float(fitted.weight.sum())
    for term in fitted.terms:
        for j, weights in level_weights(term).items():
            known = float(weights.sum())
            if fitted.schema.kinds[j] == "text" or known <= 0:
                continue
            if known < total / 2:
                found[j] = None
            elif j in fitted.schema.cuts:
                middle = _median(weights, fitted.schema.cuts[j])
                found |= {} if middle is None else {j: middle}
            elif j in fitted.schema.levels:
                found[j] = int(np.argmax(weights))
    return found


def _median(weights: Array, cuts: Cuts) -> float | None:
    """The median of counted bins, interpolated within its bin; the least or greatest number if most rows are in its
    bin: bins of as many rows each are so full only where one number is repeated."""
    edges = np.array([cuts.low, *cuts.points, cuts.high])
    if len(weights) != len(edges) - 1 or not np.isfinite(edges).all():
        return None
    below = np.cumsum(weights)
    half = below[-1] / 2
    at = int(np.searchsorted(below, half))
    if weights[at] > half and at in (0, len(weights) - 1):
        return float(edges[0] if at == 0 else edges[-1])
    part = 1 - (below[at] - half) / weights[at]
    return float(edges[at] + part * (edges[at + 1] - edges[at]))
